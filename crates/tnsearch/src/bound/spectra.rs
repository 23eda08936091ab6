//! Cut spectra: the singular values of the unfoldings of a tensor, computed when first asked for.

use crate::problem::{Stop, Target};
use crate::tensor::{AxisPlan, Kind, Scalar, Tensor};
use crate::{dispatch, linalg};
use rayon::prelude::*;
use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A set of modes, as bits.
pub type ModeSet = u64;

/// The largest order whose cuts are kept (each kept cut takes a few words).
const MAX_ORDER: usize = 20;

/// How far rounding takes the residual that a fit of 64-bit numbers reports from the true one, relative to `||X||`.
const FIT_ROUNDING: f64 = 2e-13;

/// How spectra are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SpectraSettings {
    /// Unfoldings whose smaller side is longer than this are left out: they bound nothing.
    pub max_side: usize,
    /// Take singular values from an SVD rather than from the smaller Gram matrix. Needed only for errors
    /// below about 1e-10: the Gram route knows each squared singular value to about 1e-15 of the sum of
    /// all, which is what an RSE is measured in.
    pub svd: bool,
}

impl Default for SpectraSettings {
    fn default() -> Self {
        SpectraSettings { max_side: 2048, svd: false }
    }
}

/// The spectrum of one cut: how much of the tensor lies beyond the k largest singular values.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// `tails[k] = sum over j > k of sigma_j^2 / ||X||^2`, down to the last.
    tails: Vec<f64>,
    /// By how much rounding can have raised a tail t: `absolute + root * sqrt(t)`.
    absolute: f64,
    root: f64,
}

impl Spectrum {
    /// `tau(k) / ||X||^2` as computed.
    pub fn tail(&self, k: usize) -> f64 {
        self.tails.get(k).copied().unwrap_or(0.0)
    }

    /// A lower bound on the RSE of any tensor whose unfolding has rank at most k: the tail less the slack.
    pub fn bound(&self, k: usize) -> f64 {
        self.certain(self.tail(k)).max(0.0)
    }

    /// The least rank with which an RSE of `eps` is not ruled out.
    pub fn rank(&self, eps: f64) -> usize {
        self.tails.partition_point(|&t| self.certain(t) > eps)
    }

    /// What is taken off the tail beyond k for rounding.
    pub fn slack(&self, k: usize) -> f64 {
        self.tail(k) - self.certain(self.tail(k))
    }

    fn certain(&self, tail: f64) -> f64 {
        tail - self.absolute - self.root * tail.sqrt()
    }

    /// The squared singular values relative to their sum, falling.
    pub fn values(&self) -> Vec<f64> {
        self.tails.iter().zip(self.tails[1..].iter().chain([&0.0])).map(|(a, b)| a - b).collect()
    }
}

/// The spectra of a tensor's cuts.
pub struct Spectra {
    target: Target,
    settings: SpectraSettings,
    /// By the modes of the side without mode 0, shifted by one.
    known: Vec<OnceLock<Option<Spectrum>>>,
    /// Set when the preparation was ended: what is not known then is not computed any more.
    abandoned: AtomicBool,
    /// And when this is set.
    stop: Stop,
}

impl Spectra {
    /// The spectra of a tensor, none computed yet.
    pub fn new(target: &Target, settings: SpectraSettings) -> Self {
        let order = target.dims().len();
        let cuts = if order <= MAX_ORDER { 1usize << (order - 1) } else { 0 };
        let known = (0..cuts).map(|_| OnceLock::new()).collect();
        let (target, stop) = (target.clone(), Stop::new());
        Spectra { target, settings, known, abandoned: AtomicBool::new(false), stop }
    }

    /// Computes no more when this is set; what is not known then bounds nothing.
    pub fn stoppable(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// The tensor.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.target.dims().len()
    }

    /// The same cut named by its side without mode 0.
    ///
    /// # Panics
    /// For tensors with more modes than [`ModeSet`] has bits.
    pub fn normal(&self, set: ModeSet) -> ModeSet {
        let all = ModeSet::MAX >> (ModeSet::BITS as usize - self.order());
        if set & 1 == 1 { all & !set } else { set }
    }

    /// The spectrum of a cut; none for the empty cut and for unfoldings that are too large.
    pub fn of(&self, set: ModeSet) -> Option<&Spectrum> {
        if self.known.is_empty() {
            return None;
        }
        let slot = self.known.get((self.normal(set) >> 1) as usize)?;
        let stopped = || {
            let flops = self.flops((self.normal(set) >> 1) as usize);
            self.abandoned.load(Ordering::Relaxed) || !self.stop.has_time_for(flops)
        };
        if slot.get().is_none() && stopped() {
            return None;
        }
        slot.get_or_init(|| self.compute(self.normal(set))).as_ref()
    }

    /// Computes all cuts in parallel on the current thread pool, until it is told to stop. What is left out
    /// then bounds nothing. A cut that would take longer than the time left is not begun.
    pub fn prepare(&self, stop: &Stop) {
        (1..self.known.len()).into_par_iter().for_each(|cut| match stop.is_set() {
            false if stop.has_time_for(self.flops(cut)) => drop(self.of((cut as ModeSet) << 1)),
            false => {}
            true => self.abandoned.store(true, Ordering::Relaxed),
        });
    }

    /// The number of cuts, and how many of them were not computed (so far).
    pub fn missing(&self) -> (usize, usize) {
        let cuts = self.known.get(1..).unwrap_or_default();
        (cuts.len(), cuts.iter().filter(|slot| slot.get().is_none()).count())
    }

    /// Floating-point operations of [`Spectra::prepare`], about: for every cut a Gram matrix and its
    /// eigenvalues.
    pub fn prepare_flops(&self) -> f64 {
        (1..self.known.len()).map(|cut| self.flops(cut)).sum()
    }

    /// Those of one cut, by the modes of the side without mode 0, shifted by one.
    fn flops(&self, cut: usize) -> f64 {
        let dims = self.target.dims();
        let entries: f64 = dims.iter().map(|&d| d as f64).product();
        let inside = (1..dims.len()).filter(|n| cut >> (n - 1) & 1 == 1);
        let rows: f64 = inside.map(|n| dims[n] as f64).product();
        let side = rows.min(entries / rows);
        if side > self.settings.max_side as f64 {
            0.0
        } else {
            2.0 * entries * side + 8.0 * side.powi(3)
        }
    }

    /// Bytes that computing one cut takes: a copy of the tensor and the square of its smaller side, both of 64-bit
    /// parts whatever the tensor has.
    pub fn bytes(&self) -> f64 {
        let entries = self.target.entries() as f64;
        let side = entries.sqrt().min(self.settings.max_side as f64);
        let number = if self.target.kind().is_complex() { Kind::C64 } else { Kind::F64 };
        number.bytes() as f64 * (entries + 3.0 * side * side)
    }

    fn compute(&self, set: ModeSet) -> Option<Spectrum> {
        dispatch!(self.target.tensor(), x => self.compute_of(x, set))
    }

    fn compute_of<T: Scalar>(&self, x: &Tensor<T>, set: ModeSet) -> Option<Spectrum> {
        let dims = self.target.dims();
        let inside = |n: &usize| set >> n & 1 == 1;
        let (rows, columns): (Vec<usize>, Vec<usize>) = (0..dims.len()).partition(inside);
        let length = |modes: &[usize]| modes.iter().map(|&n| dims[n]).product::<usize>();
        let (m, n) = (length(&rows), length(&columns));
        let side = m.min(n);
        if rows.is_empty() || columns.is_empty() || side > self.settings.max_side {
            return None;
        }
        // The longer side runs along the rows of the matrix.
        let axes: Vec<usize> = match m <= n {
            true => rows.into_iter().chain(columns).collect(),
            false => columns.into_iter().chain(rows).collect(),
        };
        let long = m.max(n);
        let order = AxisPlan::new(dims, &axes);
        let squares = |data: &[T::Wide]| match self.settings.svd {
            true => squares_by_svd(data, side, long),
            false => squares_by_gram(data, side, long),
        };
        // Numbers of 64 bits that lie right need no copy.
        let wide = (x as &dyn Any).downcast_ref::<Tensor<T::Wide>>();
        let squares = match wide.filter(|_| order.is_identity()) {
            Some(x) => squares(x.data())?,
            None => {
                let mut copy = vec![T::Wide::ZERO; m * n];
                order.apply_map(x.data(), &mut copy, Scalar::widen);
                squares(&copy)?
            }
        };
        let about = Rounding { long, by_svd: self.settings.svd, kind: T::KIND };
        Some(spectrum(squares, self.target.norm_squared(), about))
    }
}

/// Squared singular values as eigenvalues of the smaller Gram matrix, largest first.
fn squares_by_gram<T: Scalar>(data: &[T], side: usize, long: usize) -> Option<Vec<f64>> {
    let values = linalg::eigenvalues(&linalg::gram(data, side, long), side)?;
    Some(values.into_iter().rev().map(|v| v.max(0.0)).collect())
}

/// Squared singular values from an SVD, largest first.
fn squares_by_svd<T: Scalar>(data: &[T], side: usize, long: usize) -> Option<Vec<f64>> {
    let values = linalg::singular_values(data, side, long)?;
    Some(values.into_iter().map(|v| v * v).collect())
}

/// What the rounding of a spectrum depends on: the longer side, the route, and the kind of number that fits have.
struct Rounding {
    long: usize,
    by_svd: bool,
    kind: Kind,
}

/// Tails and their slack. Rounding moves an eigenvalue of the Gram matrix by a few ulp of `||X||^2`, and a
/// singular value by a few ulp of the largest, eta; its square then by `2 sigma eta + eta^2`. "A few" is
/// taken as 4 times the number of values and the root of the length: tests see far less.
///
/// An error that a fit reports is rounded too, and a structure must not be ruled out for that: the entries of
/// an ill-conditioned network come out wrong by some 1e-14 of `||X||` (tests see 4e-14). Spectra are always computed
/// with 64 bits; fits of 32-bit numbers round 2^29 times as much.
fn spectrum(squares: Vec<f64>, norm_squared: f64, about: Rounding) -> Spectrum {
    let mut tails: Vec<f64> = Vec::with_capacity(squares.len());
    let mut sum = 0.0;
    for square in squares.iter().rev() {
        sum += square / norm_squared;
        tails.push(sum);
    }
    tails.reverse();
    let count = squares.len() as f64;
    let eta = 4.0 * (count + (about.long as f64).sqrt()) * f64::EPSILON;
    let fit = 2.0 * about.kind.tolerance(FIT_ROUNDING);
    match about.by_svd {
        true => {
            Spectrum { tails, absolute: count * eta * eta, root: 2.0 * eta * count.sqrt() + fit }
        }
        false => Spectrum { tails, absolute: eta, root: fit },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::{Complex, unflatten};
    use rand_distr::{Distribution, StandardNormal};

    fn random(dims: &[usize], seed: u64) -> Target {
        let mut rng = stream(seed, b"spectra");
        let n = dims.iter().product();
        let data: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
        Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
    }

    #[test]
    fn the_gram_route_agrees_with_the_svd_far_within_the_slack() {
        for (dims, seed) in
            [(vec![2, 3, 4, 2], 1), (vec![3; 6], 2), (vec![5, 1, 7, 2, 2], 3), (vec![2; 9], 4)]
        {
            let target = random(&dims, seed);
            let gram = Spectra::new(&target, SpectraSettings::default());
            let svd = Spectra::new(&target, SpectraSettings { svd: true, ..Default::default() });
            for set in 1..(1u64 << dims.len()) - 1 {
                let (a, b) = (gram.of(set).unwrap(), svd.of(set).unwrap());
                assert_eq!(a.tails.len(), b.tails.len());
                assert!((a.tail(0) - 1.0).abs() < 1e-12 && a.tail(a.tails.len()) == 0.0);
                for k in 0..a.tails.len() {
                    assert!((a.tail(k) - b.tail(k)).abs() < a.slack(k) / 3.0, "{dims:?} {set} {k}");
                }
            }
        }
    }

    /// The spectra of every kind against an SVD of each unfolding, laid out by its definition.
    fn agrees_with_unfoldings<T: Scalar>() {
        let dims = [2, 3, 2, 4];
        let mut rng = stream(7, b"kinds");
        let data: Vec<T> = (0..48).map(|_| T::normal(&mut rng)).collect();
        let target = Target::new(Tensor::new(dims.to_vec(), data.clone()).unwrap()).unwrap();
        for svd in [false, true] {
            let spectra = Spectra::new(&target, SpectraSettings { svd, ..Default::default() });
            for set in 1..(1u64 << 4) - 1 {
                let side = |at: &[usize], inside: bool| {
                    let modes = (0..4).filter(|n| (set >> n & 1 == 1) == inside);
                    modes.fold(0, |k, n| k * dims[n] + at[n])
                };
                let length = |inside: bool| -> usize {
                    (0..4).filter(|n| (set >> n & 1 == 1) == inside).map(|n| dims[n]).product()
                };
                let mut unfolding = faer::Mat::<Complex<f64>>::zeros(length(true), length(false));
                for (flat, x) in data.iter().enumerate() {
                    let at = unflatten(flat, &dims);
                    unfolding[(side(&at, true), side(&at, false))] = Complex::new(x.re(), x.im());
                }
                let values = unfolding.singular_values().unwrap();
                let s = spectra.of(set).unwrap();
                for k in 0..values.len() {
                    let tail: f64 = values[k..].iter().map(|s| s * s).sum();
                    let want = tail / target.norm_squared();
                    // As exact as for 64-bit numbers, whatever the kind.
                    assert!((s.tail(k) - want).abs() < 1e-13, "{} {set} {k}", T::KIND);
                    assert!(s.bound(k) <= want);
                }
            }
        }
    }

    #[test]
    fn spectra_of_every_kind_are_those_of_the_unfoldings() {
        agrees_with_unfoldings::<f32>();
        agrees_with_unfoldings::<f64>();
        agrees_with_unfoldings::<Complex<f32>>();
        agrees_with_unfoldings::<Complex<f64>>();
    }

    #[test]
    fn a_rank_is_decided_with_the_slack_in_favour_of_the_smaller() {
        // diag(4, 3, 0...) : squares 16, 9; tails 1, 9/25, 0.
        let mut x = Tensor::<f64>::zeros(vec![3, 4]);
        (x.data_mut()[0], x.data_mut()[5]) = (4.0, 3.0);
        let target = Target::new(x).unwrap();
        for svd in [false, true] {
            let spectra = Spectra::new(&target, SpectraSettings { svd, ..Default::default() });
            let s = spectra.of(0b10).unwrap();
            let edge = 9.0 / 25.0;
            assert_eq!(s.rank(0.5), 1);
            assert_eq!(s.rank(edge), 1, "right at the threshold the smaller rank stays possible");
            assert_eq!(s.rank(edge - 2.0 * s.slack(1)), 2);
            assert_eq!((s.rank(0.0), s.bound(2)), (2, 0.0));
            assert!(s.bound(1) <= edge && s.bound(1) > edge - 1e-12);
        }
    }

    #[test]
    fn what_is_not_computed_in_time_bounds_nothing_and_is_counted() {
        let target = random(&[3, 4, 5, 2], 6);
        let spectra = || Spectra::new(&target, SpectraSettings::default());
        let late = Stop::new().within(std::time::Duration::ZERO);
        let stopped = spectra().stoppable(&late);
        stopped.prepare(&Stop::new());
        assert_eq!((stopped.of(0b10), stopped.missing()), (None, (7, 7)));
        let abandoned = spectra();
        abandoned.prepare(&late);
        assert_eq!((abandoned.of(0b10), abandoned.missing()), (None, (7, 7)));
        let whole = spectra().stoppable(&Stop::new().within_seconds(1e9));
        whole.prepare(&Stop::new().within_seconds(1e9));
        assert_eq!(whole.missing(), (7, 0));
    }

    #[test]
    fn both_sides_of_a_cut_are_one_and_too_large_cuts_bound_nothing() {
        let target = random(&[3, 4, 5], 5);
        let spectra = Spectra::new(&target, SpectraSettings { max_side: 4, ..Default::default() });
        assert_eq!(spectra.of(0b011).map(Spectrum::values), None, "sides 12 and 5");
        assert_eq!(spectra.of(0b100).map(Spectrum::values), None, "the same cut");
        assert_eq!(spectra.of(0b001), spectra.of(0b110));
        assert_eq!(spectra.of(0b001).unwrap().values().len(), 3);
        assert!(spectra.of(0).is_none() && spectra.of(0b111).is_none());
    }
}
