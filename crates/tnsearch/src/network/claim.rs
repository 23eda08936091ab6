//! What is said about a network, checked against its cores before anybody is told.

use super::tree::{EXACT_ONCE, Tree};
use super::{Network, contraction_bytes};
use crate::dispatch;
use crate::problem::Target;
use crate::tensor::{AnyTensor, Complex, Kind, Scalar, power, sum_of_squares, unflatten};
use thiserror::Error;

/// A network is not what was said about it. That is a fault of the program, never of what was asked.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// A core holds an entry that is infinite or no number.
    #[error(
        "the network found cannot be used: core {vertex} holds entries that are not finite; nothing is written \
         (a fault of tnsearch: please report it)"
    )]
    NotFinite {
        /// The vertex of the core.
        vertex: usize,
    },
    /// The cores have another error than was said.
    #[error(
        "the network found is not what was claimed: its RSE was computed as {claimed:e}, but its cores give {found:e}; \
         nothing is written (a fault of tnsearch: please report it)"
    )]
    Error {
        /// The RSE that was said.
        claimed: f64,
        /// That of the cores, or of a part of them.
        found: f64,
    },
}

/// How much of a claim was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Confirmed {
    /// The cores are finite, and the error over all entries is the one that was said.
    Whole,
    /// The cores are finite, and the error over a part of the entries is no larger than was said of all: the whole tensor
    /// takes too much memory or work.
    Part,
    /// The cores are finite: even a part takes too much.
    Finite,
}

/// How far the root of an RSE may be from what it was said to be, where the terms that add up to an entry are about as
/// large as the entry itself: rounding in two orders of summation.
const ROUNDING: f64 = 1e-12;
/// Multiply-adds of a contraction that is worth the check: a second or so.
const MOST_WORK: f64 = 2e9;
/// Entries of the part that is looked at where all are too many.
const PART: usize = 1 << 14;

impl Target {
    /// Checks a network and its RSE against the tensor once more, along another way than fits and decompositions take: by one
    /// contraction of the network itself.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::fit::{FitSettings, Run, fit_network};
    /// use tnsearch::graph::{Structure, Template};
    /// use tnsearch::network::Confirmed;
    /// use tnsearch::problem::Target;
    /// use tnsearch::tensor::Tensor;
    /// let x = Target::new(Tensor::new(vec![2, 2], vec![2.0, 0.0, 0.0, 1.0]).unwrap()).unwrap();
    /// let path = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![1]).unwrap();
    /// let settings = FitSettings::default().check().unwrap();
    /// let fitted = fit_network(&x, &path, &settings, 0, None, &Run::default()).unwrap();
    /// assert_eq!(x.confirm(&fitted.network, fitted.rse, None), Ok(Confirmed::Whole));
    /// assert!(x.confirm(&fitted.network, 0.1, None).is_err());
    /// ```
    pub fn confirm(
        &self,
        network: &Network,
        rse: f64,
        max_bytes: Option<u64>,
    ) -> Result<Confirmed, ClaimError> {
        network.check_finite()?;
        // The tensor is there already.
        let max_bytes = self.left_of(max_bytes);
        if !affordable(network, max_bytes) {
            return self.confirm_part(network, rse, max_bytes);
        }
        let Ok(found) = self.rse_of_network(network, max_bytes) else {
            return Ok(Confirmed::Finite);
        };
        let apart = |tolerance: f64| !agrees(found, rse, tolerance);
        if apart(rounding(self.kind(), network)) && apart(cancellation(self, network, max_bytes)) {
            return Err(ClaimError::Error { claimed: rse, found });
        }
        Ok(Confirmed::Whole)
    }

    /// The same by a part of the entries, of which the error is no larger than that of all.
    fn confirm_part(
        &self,
        network: &Network,
        rse: f64,
        max_bytes: Option<u64>,
    ) -> Result<Confirmed, ClaimError> {
        let picks = picks(self.dims());
        let part = network.sliced(&picks);
        if self.shrunk().is_some() || !affordable(&part, max_bytes) {
            return Ok(Confirmed::Finite);
        }
        let Ok((z, exponent)) = part.to_scaled_tensor(max_bytes) else {
            return Ok(Confirmed::Finite);
        };
        let z = z.times_power_of_two(exponent - self.exponent());
        let off = |k: usize| -> Option<Complex<f64>> {
            let at = unflatten(k, part.dims()).into_iter().zip(&picks).map(|(i, p)| p[i]);
            let flat = at.zip(self.dims()).fold(0, |flat, (i, d)| flat * d + i);
            let measured = self.measured().is_none_or(|mask| mask.contains(flat));
            measured.then(|| self.tensor().entry(flat) - z.entry(k))
        };
        let off: Vec<Complex<f64>> = (0..z.len()).filter_map(off).collect();
        let all = match self.measured() {
            Some(mask) => self.squares_on(mask),
            None => self.norm_squared(),
        };
        let found = sum_of_squares(&off) / all;
        // What is no number is above all.
        let within = |tolerance: f64| found.sqrt() <= rse.sqrt() + tolerance;
        if !within(rounding(self.kind(), network))
            && !within(cancellation(self, network, max_bytes))
        {
            return Err(ClaimError::Error { claimed: rse, found });
        }
        Ok(Confirmed::Part)
    }
}

impl Network {
    /// Refuses cores with entries that are infinite or no numbers.
    pub fn check_finite(&self) -> Result<(), ClaimError> {
        match self.cores.iter().position(|core| core.first_not_finite().is_some()) {
            Some(vertex) => Err(ClaimError::NotFinite { vertex }),
            None => Ok(()),
        }
    }

    /// Checks that this network is as near to another one as was said, or nearer: `||Y - Z||^2 / ||Y||^2`, Y the other. Below
    /// `floor` nothing can be said.
    pub fn confirm_near(
        &self,
        other: &Network,
        rse: f64,
        floor: f64,
        max_bytes: Option<u64>,
    ) -> Result<Confirmed, ClaimError> {
        self.check_finite()?;
        let half = max_bytes.map(|max| max / 2);
        if !affordable(self, half) || !affordable(other, half) {
            return Ok(Confirmed::Finite);
        }
        let Ok((y, size)) = other.to_scaled_tensor(half) else { return Ok(Confirmed::Finite) };
        // The zero network is near to nothing.
        let Ok(target) = Target::new(y) else { return Ok(Confirmed::Finite) };
        let Ok((z, exponent)) = self.to_scaled_tensor(half) else { return Ok(Confirmed::Finite) };
        let found = target.rse_of(&z.times_power_of_two(exponent - size));
        // What is no number is above all.
        let within = |tolerance: f64| found.sqrt() <= rse.max(floor).sqrt() + tolerance;
        if !within(rounding(other.kind(), self))
            && !within(cancellation(&target, &self.shifted(-size), half))
        {
            return Err(ClaimError::Error { claimed: rse, found });
        }
        Ok(Confirmed::Whole)
    }
}

impl Network {
    /// The same times a power of two.
    fn shifted(&self, exponent: i64) -> Network {
        let by = power::shares(exponent, self.cores.len());
        let cores = self.cores.iter().zip(by).map(|(core, by)| core.clone().times_power_of_two(by));
        Network { cores: cores.collect(), ..self.clone() }
    }
}

/// What rounding alone does, with the coarser of two kinds of numbers.
fn rounding(kind: Kind, network: &Network) -> f64 {
    kind.tolerance(ROUNDING).max(network.kind().tolerance(ROUNDING))
}

/// Whether the dense tensor of a network takes little enough memory and work.
fn affordable(network: &Network, max_bytes: Option<u64>) -> bool {
    let graph = network.structure().canonical().graph;
    let tree = Tree::best(&graph.plain(), &graph.merged_dims(network.dims()), EXACT_ONCE);
    let bytes = contraction_bytes(&graph, network.dims(), network.kind());
    tree.cost <= MOST_WORK && max_bytes.is_none_or(|max| bytes <= max as f64)
}

/// Two RSEs of one network: their roots are no further apart than the tensors that were computed.
fn agrees(found: f64, claimed: f64, tolerance: f64) -> bool {
    (found.sqrt() - claimed.sqrt()).abs() <= tolerance
}

/// What rounding does to a network whose terms are much larger than their sum, in units of `||X||`: the tensor of its
/// cores without signs, times the rounding of each sum.
fn cancellation(target: &Target, network: &Network, max_bytes: Option<u64>) -> f64 {
    let ranks = network.structure().ranks().iter().map(|&r| r as f64).sum::<f64>();
    let unit = network.kind().epsilon() * (ranks + 4.0 * network.cores().len() as f64);
    let picks = match affordable(network, max_bytes) {
        true => network.dims().iter().map(|&d| (0..d).collect()).collect(),
        false => picks(network.dims()),
    };
    let Ok(z) = target.dense_of(&without_signs(&network.sliced(&picks)), max_bytes) else {
        return 0.0;
    };
    unit * (z.norm_squared() / target.norm_squared()).sqrt()
}

fn without_signs(network: &Network) -> Network {
    let positive = |core: &AnyTensor| -> AnyTensor {
        let mut core = core.clone();
        dispatch!(&mut core, t => {
            t.data_mut().iter_mut().for_each(|x| *x = Scalar::from_parts(Scalar::abs(*x), 0.0));
        });
        core
    };
    Network { cores: network.cores.iter().map(positive).collect(), ..network.clone() }
}

/// Some indices of each mode, spread over its length, whose products are few.
fn picks(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut sides = dims.to_vec();
    while sides.iter().map(|&s| s as f64).product::<f64>() > PART as f64 {
        let longest = (0..sides.len()).max_by_key(|&n| sides[n]).unwrap_or(0);
        if sides[longest] == 1 {
            break;
        }
        sides[longest] = sides[longest].div_ceil(2);
    }
    let spread = |(&d, &s): (&usize, &usize)| (0..s).map(|k| k * d / s).collect();
    dims.iter().zip(&sides).map(spread).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Structure, Template};
    use crate::problem::Mask;
    use crate::rng;
    use crate::tensor::Tensor;
    use std::sync::Arc;

    /// A path of three with normal entries, its tensor with noise, and the RSE by the definition.
    fn example<T: Scalar>(dims: [usize; 3], exponent: i64) -> (Network, Tensor<T>, f64) {
        let mut rng = rng::stream(4, b"claim");
        let structure =
            Structure::identity(Arc::new(Template::path(3).unwrap()), vec![2, 3]).unwrap();
        let cores = (0..3).map(|v| {
            let shape = structure.core_dims(v, &dims);
            let data = (0..shape.iter().product()).map(|_| T::normal(&mut rng)).collect();
            Tensor::<T>::new(shape, data).unwrap()
        });
        let mut cores: Vec<Tensor<T>> = cores.collect();
        let near = Network::new(structure.clone(), dims.to_vec(), cores.clone()).unwrap();
        let z = near.to_tensor(None).unwrap();
        let z: &Tensor<T> = z.typed().unwrap();
        let noisy = z.data().iter().map(|z| *z + T::normal(&mut rng).scale(0.01));
        let x = Tensor::<T>::new(dims.to_vec(), noisy.collect()).unwrap();
        let off: Vec<T> = x.data().iter().zip(z.data()).map(|(x, z)| *x - *z).collect();
        let rse = sum_of_squares(&off) / x.norm_squared();
        power::spread(&mut cores, exponent);
        let mut far = x;
        power::multiply(far.data_mut(), exponent);
        (Network::new(structure, dims.to_vec(), cores).unwrap(), far, rse)
    }

    fn claims_of<T: Scalar>(exponents: &[i64]) {
        for &exponent in exponents {
            let (network, x, rse) = example::<T>([6, 5, 4], exponent);
            let target = Target::new(x).unwrap();
            assert_eq!(target.confirm(&network, rse, None), Ok(Confirmed::Whole), "2^{exponent}");
            // What rounding of 32 bits cannot tell is no fault.
            let near = if T::KIND.epsilon() > 1e-10 { 4.0 } else { 1.01 };
            for wrong in [rse * near, rse / near, 0.0, 1.0, f64::NAN] {
                assert!(target.confirm(&network, wrong, None).is_err(), "{wrong} at 2^{exponent}");
            }
            let mut cores = network.cores().to_vec();
            dispatch!(&mut cores[1], t => t.data_mut()[3] = Scalar::from_parts(f64::INFINITY, 0.0));
            let spoiled = Network { cores, ..network };
            let refused = target.confirm(&spoiled, rse, None);
            assert_eq!(refused, Err(ClaimError::NotFinite { vertex: 1 }));
        }
    }

    #[test]
    fn claims_are_checked_whatever_the_size_of_the_entries() {
        claims_of::<f64>(&[0, 1018, -1000, 600, -700]);
        claims_of::<Complex<f64>>(&[0, 1018, -1000]);
        claims_of::<f32>(&[0, 120, -100]);
        claims_of::<Complex<f32>>(&[0, 120, -100]);
    }

    #[test]
    fn a_part_is_no_worse_than_the_whole() {
        let (network, x, rse) = example::<f64>([40, 50, 60], 900);
        let target = Target::new(x).unwrap();
        // Less than the dense tensor takes beside X and the differences, more than a part.
        let bytes = Some(2_500_000);
        assert_eq!(target.confirm(&network, rse, bytes), Ok(Confirmed::Part));
        assert!(target.confirm(&network, rse / 50.0, bytes).is_err());
        assert_eq!(target.confirm(&network, rse / 50.0, Some(1000)), Ok(Confirmed::Finite));
        // On the entries that errors are measured on alone.
        let mask: Vec<bool> = (0..target.entries()).map(|k| k % 7 != 3).collect();
        let mask = Mask::new(vec![40, 50, 60], mask).unwrap();
        let x = target.tensor().clone().times_power_of_two(900);
        let holes = Target::with_holes(x, &mask).unwrap();
        let on_mask = holes.rse_of_network(&network, None).unwrap();
        assert_eq!(holes.confirm(&network, on_mask, None), Ok(Confirmed::Whole));
        assert_eq!(holes.confirm(&network, on_mask, bytes), Ok(Confirmed::Part));
        assert!(holes.confirm(&network, on_mask * 1.001, None).is_err());
    }

    #[test]
    fn terms_that_cancel_are_no_fault() {
        // a b + (1 - a) b with a of 10^9: an RSE of rounding that no order of summation gives again.
        let path = Arc::new(Template::path(2).unwrap());
        let structure = Structure::identity(path, vec![2]).unwrap();
        let (n, a) = (50, 1.234_567_89e9);
        let u = (0..2 * n).map(|k| if k < n { a } else { 1.0 - a }).collect();
        let v = (0..2 * n).map(|k| ((k % n) as f64 + 0.1).sqrt()).collect::<Vec<f64>>();
        let x: Vec<f64> = (0..n * n).map(|k| v[k % n]).collect();
        let core = |data| Tensor::new(vec![2, n], data).unwrap();
        let network = Network::new(structure, vec![n, n], vec![core(u), core(v)]).unwrap();
        let target = Target::new(Tensor::new(vec![n, n], x).unwrap()).unwrap();
        assert_eq!(target.confirm(&network, 0.0, None), Ok(Confirmed::Whole));
        assert!(target.confirm(&network, 1e-8, None).is_err());
    }
}
