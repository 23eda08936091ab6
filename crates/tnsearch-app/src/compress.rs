//! What compression is asked for, and how near its result is.

mod plan;
mod summary;

pub use plan::{CompressError, CompressSettings, Compressed, Plan, own_shape};
pub use summary::{Beside, CompressSummary};

use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::decompose::{
    self, DecomposeError, Decomposition, Limits, RoundGoal, hosvd, ht_svd, tt_svd,
};
use tnsearch::dispatch;
use tnsearch::network::Network;
use tnsearch::problem::{CheckedObjective, Objective, Score, Target};
use tnsearch::tensor::{AnyTensor, Scalar, sum_of_given_squares};
use tnsearch_io::Picture;

/// What a compressed tensor is to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// Fewest params with this relative error `||X - Z|| / ||X||` at most.
    Re(f64),
    /// Fewest params with this PSNR in dB at least.
    Psnr(f64),
    /// Smallest error with so many params at most.
    MaxParams(u128),
}

/// A goal that cannot be reached.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GoalError {
    /// A number is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// Samples of so few bits are rounded by more.
    #[error(
        "psnr is {psnr}; samples of {bits} bits are rounded, which alone gives {limit:.1} dB; use less, or --re"
    )]
    Rounded {
        /// The PSNR asked for.
        psnr: f64,
        /// The bits of a sample.
        bits: u8,
        /// The PSNR of rounding.
        limit: f64,
    },
    /// Even zeros reach it.
    #[error("psnr is {psnr}; zeros alone reach {zeros:.1} dB; use more")]
    Zeros {
        /// The PSNR asked for.
        psnr: f64,
        /// The PSNR of zeros.
        zeros: f64,
    },
}

/// How a tensor is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The peak of the PSNR: 1 for pictures, the largest absolute value of an array.
    pub peak: f64,
    /// The bits of a sample that results are rounded to; none of arrays.
    pub bits: Option<u8>,
}

impl Scale {
    /// That of an array.
    pub fn of_array(x: &AnyTensor) -> Self {
        let largest = |x: &AnyTensor| dispatch!(x, t => t.data().iter().map(|v| v.abs_squared()).fold(0.0, f64::max).sqrt());
        Scale { peak: largest(x), bits: None }
    }

    /// That of a picture with samples from 0 to 1.
    pub fn of_picture(bits: u8) -> Self {
        Scale { peak: 1.0, bits: Some(bits) }
    }

    /// The PSNR for a squared distance over so many entries: `10 log10(peak^2 n / ||X - Z||^2)`.
    pub fn psnr(&self, distance_squared: f64, entries: usize) -> f64 {
        10.0 * (self.peak * self.peak * entries as f64 / distance_squared).log10()
    }
}

impl Goal {
    /// The objective of a search of X, or of X with repeated edges, of which the squared norm is `searched`: an error over
    /// all of it that is small enough is small enough over X alone.
    pub fn objective(
        self,
        x: &AnyTensor,
        searched: f64,
        scale: Scale,
    ) -> Result<Objective, GoalError> {
        let own = x.norm_squared();
        let rse = match self {
            Goal::MaxParams(params) => return Ok(Objective::MaxParams(params).check()?.get()),
            Goal::Re(re) if !(re > 0.0 && re < 1.0) => {
                let expected = "it must be above 0 and below 1 (zeros have an RE of 1)";
                return Err(SettingError::new("re", re, expected).into());
            }
            Goal::Re(re) => re * re * own / searched,
            Goal::Psnr(psnr) => {
                if !psnr.is_finite() || psnr <= 0.0 {
                    let expected = "it must be a number of dB above 0";
                    return Err(SettingError::new("psnr", psnr, expected).into());
                }
                let entries = x.len();
                let allowed = scale.peak.powi(2) * 10f64.powf(-psnr / 10.0);
                // Rounding to whole steps has a variance of a twelfth of a step squared.
                let rounding = match scale.bits {
                    Some(bits) => (scale.peak / (2f64.powi(i32::from(bits)) - 1.0)).powi(2) / 12.0,
                    None => 0.0,
                };
                if allowed <= rounding {
                    let (bits, limit) = (scale.bits.unwrap_or(0), scale.psnr(rounding, 1));
                    return Err(GoalError::Rounded { psnr, bits, limit });
                }
                let rse = (allowed - rounding) * entries as f64 / own;
                if rse >= 1.0 {
                    return Err(GoalError::Zeros { psnr, zeros: scale.psnr(own, entries) });
                }
                rse * own / searched
            }
        };
        Ok(Objective::MaxError(rse).check()?.get())
    }
}

/// Larger tensors are searched as tensor trains where no format is named: over several, a search of seconds gets nowhere.
const LARGE: usize = 1 << 18;
/// The error of the train that is rounded to a number of params.
const FINE: f64 = 1e-4;

/// The template that is searched where none is named.
pub fn default_template(entries: usize) -> &'static str {
    if entries > LARGE { "path" } else { "formats" }
}

/// A network that may be the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The network.
    pub network: Network,
    /// Its RSE.
    pub rse: f64,
}

impl Candidate {
    fn score(&self, objective: CheckedObjective) -> Score {
        objective.score(self.network.params(), self.network.phi(), self.rse)
    }

    /// The better of two, of which there may be none.
    pub fn better(
        objective: CheckedObjective,
        first: Option<Candidate>,
        second: Option<Candidate>,
    ) -> Option<Candidate> {
        match (first, second) {
            (Some(a), Some(b)) => {
                let second = objective.better(&b.score(objective), &a.score(objective));
                Some(if second { b } else { a })
            }
            (a, b) => a.or(b),
        }
    }
}

/// The best of what truncated SVDs give in the order of the modes: tensor train, hierarchical Tucker, Tucker; with a budget
/// of params a train that is rounded to it. None where the time was up.
pub fn direct(target: &Target, objective: CheckedObjective, limits: &Limits) -> Option<Candidate> {
    let order: Vec<usize> = (0..target.dims().len()).collect();
    if let Some(params) = objective.get().max_params() {
        let goal = decompose::Goal::max_rse(FINE).ok()?;
        let train = tt_svd(target, &order, &goal, limits).ok()?;
        let rounded =
            decompose::round(&train.network, &RoundGoal::max_params(params), limits).ok()?;
        let rse = target.rse_of_network(&rounded.network, limits.max_bytes).ok()?;
        return Some(Candidate { network: rounded.network, rse });
    }
    let goal = decompose::Goal::max_rse(objective.get().max_error()?).ok()?;
    let made = |made: Result<Decomposition, DecomposeError>| {
        made.ok().map(|d| Candidate { network: d.network, rse: d.rse })
    };
    [tt_svd, ht_svd, hosvd].into_iter().fold(None, |best, method| {
        Candidate::better(objective, best, made(method(target, &order, &goal, limits)))
    })
}

/// The squared distance of two tensors of one shape, `||X - Z||^2`, computed with 64 bits and without a copy of either.
pub fn distance_squared(x: &AnyTensor, z: &AnyTensor) -> f64 {
    distance_to(x, z, |part| part)
}

/// The same to Z as a file of so many bits a sample holds it: rounded, and cut off below 0 and above 1. The PSNR of a
/// picture is measured on that.
pub fn distance_as_written(x: &AnyTensor, z: &AnyTensor, bits: u8) -> f64 {
    let steps = 2f64.powi(i32::from(bits)) - 1.0;
    distance_to(x, z, |part| (part.clamp(0.0, 1.0) * steps).round() / steps)
}

fn distance_to(x: &AnyTensor, z: &AnyTensor, seen: impl Fn(f64) -> f64) -> f64 {
    dispatch!(x, x => dispatch!(z, z => {
        let mut squares = x.data().iter().zip(z.data()).map(|(a, b)| {
            let (re, im) = (a.re() - seen(b.re()), a.im() - b.im());
            re * re + im * im
        });
        sum_of_given_squares(x.data().len(), &mut squares)
    }))
}

/// The difference of two pictures of one size, so many times as large, around a middle grey; and the factor, chosen
/// so that all but the largest two in a hundred are within the range.
pub fn difference(original: &Picture, other: &Picture) -> (Picture, f64) {
    const FACTORS: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0];
    let apart: Vec<f64> = original
        .samples()
        .iter()
        .zip(other.samples())
        .map(|(x, z)| z.clamp(0.0, 1.0) - x)
        .collect();
    let mut sizes: Vec<f64> = apart.iter().map(|d| d.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let large = sizes.get(sizes.len() * 98 / 100).copied().unwrap_or(0.0);
    let fits = |f: &&f64| **f * large <= 0.5 + 1e-9;
    let factor = FACTORS.iter().rev().find(fits).copied().unwrap_or(1.0);
    let samples = apart.iter().map(|d| 0.5 + factor * d).collect();
    let (height, width) = (original.height(), original.width());
    let shown = Picture::new(height, width, original.channels(), samples);
    (shown.unwrap_or_else(|| unreachable!("as many samples")), factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::tensor::{Complex, Kind, Tensor};

    fn tensor(values: &[f64]) -> AnyTensor {
        Tensor::new(vec![1, values.len()], values.to_vec()).unwrap().into()
    }

    fn allowed(goal: Goal, x: &AnyTensor, scale: Scale) -> f64 {
        goal.objective(x, x.norm_squared(), scale).unwrap().max_error().unwrap()
    }

    #[test]
    fn goals_become_squared_errors() {
        let x = tensor(&[0.5, 1.0, 0.25, 0.75]);
        let picture = Scale::of_picture(8);
        assert!((allowed(Goal::Re(0.1), &x, picture) - 0.01).abs() < 1e-15);
        // By the definition: the mean square that gives 30 dB, less the rounding.
        let mean = 1e-3 - 1.0 / (12.0 * 255.0 * 255.0);
        let rse = mean * 4.0 / x.norm_squared();
        assert!((allowed(Goal::Psnr(30.0), &x, picture) / rse - 1.0).abs() < 1e-12);
        let array = Scale::of_array(&tensor(&[2.0, -4.0]));
        assert_eq!(array, Scale { peak: 4.0, bits: None });
        // Repeated edges: less may be wrong over all of it.
        let more = Goal::Re(0.1).objective(&x, 2.0 * x.norm_squared(), picture).unwrap();
        assert!((more.max_error().unwrap() - 0.005).abs() < 1e-15);
        for (goal, words) in [
            (Goal::Re(1.0), "re is 1; it must be above 0 and below 1"),
            (Goal::Re(f64::NAN), "re is NaN"),
            (Goal::Psnr(-3.0), "psnr is -3; it must be a number of dB above 0"),
            (
                Goal::Psnr(60.0),
                "psnr is 60; samples of 8 bits are rounded, which alone gives 58.9 dB",
            ),
            (Goal::Psnr(1.0), "psnr is 1; zeros alone reach 3.3 dB"),
        ] {
            let said = goal.objective(&x, x.norm_squared(), picture).unwrap_err().to_string();
            assert!(said.starts_with(words), "{said}");
        }
    }

    #[test]
    fn distances_and_psnr_are_those_of_the_definition() {
        let (x, z) = (tensor(&[1.0, 2.0, 3.0, 4.0]), tensor(&[1.0, 2.5, 3.0, 3.0]));
        assert_eq!(distance_squared(&x, &z), 1.25);
        let psnr = Scale { peak: 4.0, bits: None }.psnr(1.25, 4);
        assert!((psnr - 10.0 * (16.0f64 / (1.25 / 4.0)).log10()).abs() < 1e-12);
        let single = z.to_kind(Kind::F32).unwrap();
        assert_eq!(distance_squared(&x, &single), 1.25);
        let turned = Tensor::new(vec![1, 1], vec![Complex::new(0.0, 1.0)]).unwrap();
        assert_eq!(distance_squared(&tensor(&[1.0]), &turned.into()), 2.0);
    }

    #[test]
    fn direct_methods_give_what_was_asked_for() {
        let wave = |k: usize| 2.0 + (k as f64 / 7.0).sin() + 0.1 * ((k * k) as f64).cos();
        let x = Tensor::new(vec![4, 5, 6, 3], (0..360).map(wave).collect()).unwrap();
        let target = Target::new(x.clone()).unwrap();
        let error = Objective::MaxError(1e-2).check().unwrap();
        let found = direct(&target, error, &Limits::none()).unwrap();
        let dense = found.network.to_tensor(None).unwrap();
        let rse = distance_squared(&x.clone().into(), &dense) / x.norm_squared();
        assert!(rse <= 1e-2 && (rse - found.rse).abs() < 1e-12);
        let train = tt_svd(
            &target,
            &[0, 1, 2, 3],
            &decompose::Goal::max_rse(1e-2).unwrap(),
            &Limits::none(),
        );
        assert!(found.network.params() <= train.unwrap().network.params());
        let few =
            direct(&target, Objective::MaxParams(60).check().unwrap(), &Limits::none()).unwrap();
        assert!(few.network.params() <= 60 && few.rse < 0.2);
        let smaller = Candidate::better(error, Some(few.clone()), Some(found.clone()));
        // What does not reach the error is no better for being small.
        assert_eq!(smaller, Some(found));
        assert_eq!(Candidate::better(error, None, Some(few.clone())), Some(few));
    }

    #[test]
    fn differences_are_magnified_as_far_as_they_fit() {
        let flat = |x: f64| Picture::new(10, 10, 1, vec![x; 100]).unwrap();
        let (shown, factor) = difference(&flat(0.5), &flat(0.51));
        assert_eq!(factor, 50.0);
        assert!((shown.samples()[0] - 1.0).abs() < 1e-9);
        assert_eq!(difference(&flat(0.2), &flat(0.9)).1, 1.0);
        // 0.5 is written as 128 of 255, 1.2 as 1.
        let written = distance_as_written(&tensor(&[0.5, 0.75]), &tensor(&[0.5, 1.2]), 8);
        assert_eq!(written, (0.5f64 - 128.0 / 255.0).powi(2) + 0.0625);
    }
}
