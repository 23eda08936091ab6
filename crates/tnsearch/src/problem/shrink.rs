//! A smaller tensor in the place of X: every mode projected on its leading singular vectors.
//!
//! Let `P` project mode n on the span of the orthonormal columns of `U_n` (I_n x d_n), for all n, and let
//! `C = U_1^H ... U_N^H X` be what is left of X, d_1 x ... x d_N. For a network Z on the small modes, whose tensor on
//! the full ones is `U Z`,
//!
//! `||X - U Z||^2 = ||X - P X||^2 + ||C - Z||^2`,
//!
//! so answers for C are answers for X with an error that is larger by exactly what was lost. For *any* network Z on the
//! full modes, `||X - Z|| >= ||P X - P Z|| = ||C - U^H Z||`, and `U^H Z` has the structure of Z: what no network of a
//! structure can go below for C, it cannot for X either. Both hold for whatever orthonormal bases. And the best network
//! within the range of P has an error of at most `||X - P X||^2` more than the best one, since P Z has it.
//!
//! The modes are projected one after the other, each on the leading eigenvectors of the Gram matrix of what is left
//! (sequentially truncated HOSVD): the losses add up. A Gram matrix does not see what is below a few ulp of `||X||^2`:
//! where less may be lost, what a basis loses is computed, and where that is too much the basis comes from an SVD.
//! The first mode of a large tensor gets its basis from a sketch where that shows one, and comes first.

mod along;
mod sketched;

use self::along::{Along, Spread};
use super::{Objective, Stop, Target};
use crate::tensor::{AnyTensor, Kind, Scalar, Tensor, sum_of_squares};
use crate::{dispatch, linalg};
use rayon::prelude::*;
use std::borrow::Cow;

/// Smaller tensors are searched as they are.
const MIN_ENTRIES: usize = 4096;
/// Shorter modes are left as they are.
const MIN_LEN: usize = 4;
/// Modes whose Gram matrix (on its smaller side) is larger are left as they are: its eigenvectors take seconds.
const MAX_SIDE: usize = 1024;
/// What may be lost, as a part of what can matter.
const PART: f64 = 0.01;
/// What rounding alone loses, in ulp of `||X||`: what data of a low rank have beyond it.
const ROUNDING: f64 = 4.0;
/// The same for all modes together, where no error is asked for.
const ALL_ROUNDING: f64 = 16.0;
/// The same where numbers have 32 bits, as an RSE.
const ROUNDING_32: f64 = 1e-13;
/// Where a mode may lose less than so many times what a Gram matrix does not see, what it loses is computed.
const DOUBT: f64 = 100.0;
/// Entries that a precise spectrum takes, in squares of the mode's length.
const PRECISE: usize = 32;

/// What shrinking may use.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ShrinkLimits {
    /// Bytes of memory; where it needs more, nothing is shrunk. None: no limit.
    pub max_bytes: Option<u64>,
    /// Threads; none: one per processor. The result does not depend on them.
    pub threads: Option<usize>,
    /// When this is set, nothing is shrunk.
    pub stop: Stop,
}

/// What a small tensor has to do with the full one: a basis for each mode, and what is outside of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Shrunk {
    full_dims: Vec<usize>,
    /// `U_n`, I_n x d_n; none where the mode was left as it is.
    bases: Vec<Option<AnyTensor>>,
    lost: f64,
}

impl Shrunk {
    /// The dimensions of X.
    pub fn full_dims(&self) -> &[usize] {
        &self.full_dims
    }

    /// The basis `U_n` of a mode, I_n x d_n with orthonormal columns; none where the mode was left as it is.
    pub fn basis(&self, mode: usize) -> Option<&AnyTensor> {
        self.bases.get(mode)?.as_ref()
    }

    /// `||X - P X||^2 / ||X||^2`, from an explicit residual.
    pub fn lost(&self) -> f64 {
        self.lost
    }

    /// What errors and parameters need: answers cannot be expanded with it.
    pub(super) fn without_bases(full_dims: Vec<usize>, lost: f64) -> Shrunk {
        let bases = vec![None; full_dims.len()];
        Shrunk { full_dims, bases, lost }
    }

    /// The same for a small tensor whose modes were merged: it has no bases, for a merged mode has none of its own.
    pub(super) fn merged(&self, groups: &[Vec<usize>]) -> Shrunk {
        let length = |group: &Vec<usize>| group.iter().map(|&n| self.full_dims[n]).product();
        Shrunk::without_bases(groups.iter().map(length).collect(), self.lost)
    }

    /// A core, or any tensor, with the axis of a mode brought to its full length: `U_n` times it along that axis.
    ///
    /// # Panics
    /// If the axis is not as long as the small mode, or of another kind of number.
    pub fn expand(&self, core: AnyTensor, axis: usize, mode: usize) -> AnyTensor {
        let Some(basis) = self.basis(mode) else { return core };
        dispatch!(core, core => expand(&core, axis, basis).into())
    }
}

fn expand<T: Scalar>(core: &Tensor<T>, axis: usize, basis: &AnyTensor) -> Tensor<T> {
    let basis = basis.typed::<T>().expect("core and basis are of one kind");
    let mut dims = core.dims().to_vec();
    assert_eq!(dims[axis], basis.dims()[1], "the axis of a small mode");
    dims[axis] = basis.dims()[0];
    let data = Along::new(&dims, axis).expand(core.data(), basis.data());
    Tensor::new(dims, data).unwrap_or_else(|e| unreachable!("{e}"))
}

impl Target {
    /// The same target with a smaller tensor in the place of X, where that loses next to nothing and pays: at most half
    /// the entries are left. None where it does not, where a limit forbids it, and for targets that were shrunk already.
    ///
    /// What may be lost follows from what is looked for, so that it changes no answer by more than about a hundredth of
    /// what can matter. For an error to be reached, a hundredth of it. For a number of parameters P, a hundredth of an
    /// error that no network has less than: the core of mode n has at most P entries, so the mode a rank of at most
    /// `P / I_n`. For `phi + lambda * RSE`, a hundredth of a loss that no network has less than, by the same argument.
    /// Modes that are rank-deficient up to rounding are shrunk in any case. In no case is more lost than that, whatever
    /// Gram matrices can tell apart.
    ///
    /// ```
    /// use tnsearch::problem::{Objective, ShrinkLimits, Target};
    /// use tnsearch::tensor::Tensor;
    /// // x_ijk = i + 2 j + 4 k has rank 2 in every mode.
    /// let entry = |n: usize| (n / 256 + 2 * (n / 16 % 16) + 4 * (n % 16)) as f64;
    /// let x = Target::new(Tensor::new(vec![16; 3], (0..4096).map(entry).collect()).unwrap()).unwrap();
    /// let small = x.shrink(Objective::MaxError(1e-4), &ShrinkLimits::default()).unwrap();
    /// assert_eq!((small.dims(), small.full_dims()), (&[2; 3][..], &[16; 3][..]));
    /// assert!(small.lost() < 1e-20);
    /// ```
    pub fn shrink(&self, objective: Objective, limits: &ShrinkLimits) -> Option<Target> {
        let entries = self.entries();
        let long = self.dims().iter().any(|&d| d >= MIN_LEN);
        if self.shrunk().is_some() || !self.is_whole() || entries < MIN_ENTRIES || !long {
            return None;
        }
        let wide = if self.kind().is_complex() { Kind::C64 } else { Kind::F64 };
        // Two tensors that are smaller than X, and some Gram matrices.
        let bytes = 2.0 * (self.kind().bytes() * entries) as f64
            + (wide.bytes() * 12 * MAX_SIDE.min(self.widest()).pow(2)) as f64;
        let limit = limits.max_bytes.map_or(f64::INFINITY, |limit| limit as f64);
        let room = limit - bytes - self.held_bytes() as f64;
        if room < 0.0 {
            return None;
        }
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = limits.threads.unwrap_or_else(processors);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
        let work =
            || dispatch!(self.tensor(), x => self.shrink_of(x, objective, (&limits.stop, room)));
        pool.install(work)
    }

    fn widest(&self) -> usize {
        self.dims().iter().copied().max().unwrap_or(1)
    }

    fn shrink_of<T: Scalar>(
        &self,
        x: &Tensor<T>,
        objective: Objective,
        (stop, room): (&Stop, f64),
    ) -> Option<Target> {
        let dims = x.dims();
        let mut modes: Vec<usize> = (0..dims.len()).filter(|&n| dims[n] >= MIN_LEN).collect();
        // Short modes are cheap to look at, and make the tensor smaller for the others. Where long ones tell what
        // can matter, they come first.
        modes.sort_by_key(|&n| dims[n]);
        if objective.max_error().is_none() {
            modes.reverse();
        }
        let sketches = objective.max_error().is_some() && sketched::is_sketched(dims);
        if sketches {
            // What is left is small enough for the others.
            modes.sort_by_key(|&n| n != 0);
        }
        let mut allowance = Allowance::new(objective, dims, modes.len());
        let mut small: Cow<Tensor<T>> = Cow::Borrowed(x);
        let mut bases: Vec<Option<Tensor<T>>> = vec![None; dims.len()];
        for mode in modes {
            let norm_squared = self.norm_squared();
            let sketch = (sketches && mode == 0)
                .then(|| sketched::basis(&small, &mut allowance, norm_squared, (stop, room)));
            let basis = match sketch.flatten() {
                None => leading(&small, mode, &mut allowance, norm_squared, (stop, room))?,
                sketched => sketched,
            };
            let Some(basis) = basis else { continue };
            let along = Along::new(small.dims(), mode);
            let mut dims = small.dims().to_vec();
            dims[mode] = basis.dims()[1];
            let data = along.project(small.data(), basis.data());
            small = Cow::Owned(Tensor::new(dims, data).unwrap_or_else(|e| unreachable!("{e}")));
            bases[mode] = Some(basis);
        }
        if small.len() > x.len() / 2 || stop.is_set() {
            return None;
        }
        let lost = distance(x, &small, &bases) / self.norm_squared();
        if lost > allowance.most(self.kind()) {
            return None;
        }
        let bases = bases.into_iter().map(|basis| basis.map(AnyTensor::from)).collect();
        let shrunk = Shrunk { full_dims: dims.to_vec(), bases, lost };
        Some(self.with_small(small.into_owned().into(), shrunk))
    }
}

/// What may be lost in all, relative to `||X||^2`, and by whom.
#[derive(Clone)]
struct Allowance {
    objective: Objective,
    entries: f64,
    full_dims: Vec<usize>,
    /// What may be lost in all, for what is known of the spectra.
    total: f64,
    spent: f64,
    /// Modes still to be looked at.
    modes: usize,
}

impl Allowance {
    fn new(objective: Objective, dims: &[usize], modes: usize) -> Self {
        let entries = dims.iter().map(|&d| d as f64).product();
        let total = objective.max_error().map_or(0.0, |eps| PART * eps);
        Allowance { objective, entries, full_dims: dims.to_vec(), total, spent: 0.0, modes }
    }

    /// What the next mode may lose.
    fn share(&self) -> f64 {
        (self.total - self.spent).max(0.0) / self.modes.max(1) as f64
    }

    /// Learns from the spectrum of a mode what no network can go below: `tails[r]` is what is beyond rank r, known to
    /// `floor`.
    fn learn(&mut self, mode: usize, tails: &[f64], floor: f64) {
        let len = self.full_dims[mode] as f64;
        let tail = |r: usize| tails.get(r).map_or(0.0, |tail| (tail - floor).max(0.0));
        let matters = match self.objective {
            Objective::MaxError(eps) => eps,
            Objective::MaxParams(params) => tail((params as f64 / len) as usize),
            Objective::Lambda(lambda) => {
                let loss = |r: usize| len * r as f64 / self.entries + lambda * tail(r);
                (1..=tails.len()).map(loss).fold(f64::INFINITY, f64::min) / lambda
            }
        };
        self.total = self.total.max(PART * matters);
    }

    /// What may be lost in all, rounding included. An error that was asked for leaves nothing to it.
    fn most(&self, kind: Kind) -> f64 {
        let rounding = match self.objective.max_error() {
            Some(_) => (ROUNDING * f64::EPSILON).powi(2),
            None if kind.epsilon() > f64::EPSILON => ROUNDING_32,
            None => (ALL_ROUNDING * f64::EPSILON).powi(2) * self.widest().sqrt(),
        };
        self.total.max(rounding)
    }

    fn widest(&self) -> f64 {
        self.full_dims.iter().copied().max().unwrap_or(1) as f64
    }

    fn spend(&mut self, lost: f64) {
        self.spent += lost;
        self.modes = self.modes.saturating_sub(1);
    }
}

/// The leading singular vectors of a mode of what is left of X, as many as its share asks for, I_n x d_n; `Some(None)`
/// where it has to stay as it is, and none where a stop came first or nothing converged.
fn leading<T: Scalar>(
    x: &Tensor<T>,
    mode: usize,
    allowance: &mut Allowance,
    norm_squared: f64,
    (stop, room): (&Stop, f64),
) -> Option<Option<Tensor<T>>> {
    let along = Along::new(x.dims(), mode);
    let (len, rest) = (along.len(), along.rest());
    // Eigenvectors, or an SVD, in units of matrix products; they cannot be interrupted.
    let side = len.min(rest);
    let flops = match len <= rest {
        true => 25.0 * (side as f64).powi(3),
        false => 10.0 * (x.len() * side) as f64 + 25.0 * (side as f64).powi(3),
    };
    if side > MAX_SIDE || !stop.has_time_for(flops) {
        allowance.spend(0.0);
        return Some(None);
    }
    // An eigenvalue is known to a few ulp of the sum of all; so is what is beyond a rank, for each value left out.
    let floor = 4.0 * len as f64 * f64::EPSILON;
    let spread = match len <= rest {
        true => {
            let most = (allowance.share().max(floor)) * norm_squared;
            let known = allowance.objective.max_error().is_some();
            along.spread(x.data(), known.then_some(most), stop)?
        }
        false => along.spread_of_tall(x.data())?,
    };
    let before = allowance.clone();
    let found = choose(mode, len, spread, allowance, norm_squared, floor);
    let share = Allowance { total: allowance.total, ..before.clone() }.share();
    let Some(basis) = found.as_ref().filter(|_| share < DOUBT * floor) else {
        return Some(found);
    };
    // Less may be lost than squares tell apart.
    let least = (ROUNDING * f64::EPSILON).powi(2) * (len as f64).sqrt();
    if along.outside(x.data(), basis.data(), stop)? <= share.max(least) * norm_squared {
        return Some(found);
    }
    let flops = flops + 4.0 * (x.len() * side) as f64;
    *allowance = before;
    if !stop.has_time_for(flops) || (PRECISE * T::Wide::KIND.bytes() * side * side) as f64 > room {
        allowance.spend(0.0);
        return Some(None);
    }
    let spread = along.precise_spread(x.data(), stop)?;
    Some(choose(mode, len, spread, allowance, norm_squared, least))
}

/// The leading vectors of a mode, as many as its share asks for, I_n x d_n; none where it has to stay as it is. Of what is
/// below `floor` nothing is known.
fn choose<T: Scalar>(
    mode: usize,
    len: usize,
    spread: Spread<T::Wide>,
    allowance: &mut Allowance,
    norm_squared: f64,
    floor: f64,
) -> Option<Tensor<T>> {
    let Spread::Known { squares, vectors } = spread else {
        allowance.spend(0.0);
        return None;
    };
    let mut tails = vec![0.0; squares.len() + 1];
    for k in (0..squares.len()).rev() {
        tails[k] = tails[k + 1] + squares[k] / norm_squared;
    }
    allowance.learn(mode, &tails, floor);
    let share = allowance.share().max(floor);
    let rank = tails.partition_point(|&tail| tail > share).max(1);
    allowance.spend(tails[rank]);
    if rank == len {
        return None;
    }
    // The vectors lie one after the other.
    let entry = |at: usize| {
        let v = vectors[at % rank * len + at / rank];
        T::from_parts(v.re(), v.im())
    };
    let basis = Tensor::new(vec![len, rank], (0..len * rank).map(entry).collect());
    Some(basis.unwrap_or_else(|e| unreachable!("{e}")))
}

/// `||X - U C||^2`, entry by entry; the full tensor is formed in stripes of its first mode.
fn distance<T: Scalar>(x: &Tensor<T>, small: &Tensor<T>, bases: &[Option<Tensor<T>>]) -> f64 {
    /// Entries formed at a time.
    const STRIPE: usize = 1 << 18;
    let mut z = Cow::Borrowed(small.data());
    let mut dims = small.dims().to_vec();
    for (mode, basis) in bases.iter().enumerate().skip(1).rev() {
        let Some(basis) = basis else { continue };
        dims[mode] = basis.dims()[0];
        z = Cow::Owned(Along::new(&dims, mode).expand(&z, basis.data()));
    }
    let row = x.len() / x.dims()[0];
    let height = (STRIPE / row).clamp(1, x.dims()[0]);
    let stripes = x.data().par_chunks(height * row).enumerate();
    let parts: Vec<f64> = stripes
        .map(|(k, x)| {
            let z: Cow<[T]> = match &bases[0] {
                None => Cow::Borrowed(&z[k * height * row..][..x.len()]),
                Some(basis) => {
                    let (rows, rank) = (x.len() / row, basis.dims()[1]);
                    let u = &basis.data()[k * height * rank..][..rows * rank];
                    let mut out = vec![T::ZERO; x.len()];
                    let (u, z) =
                        (linalg::Factor::row_major(u, rank), linalg::Factor::row_major(&z, row));
                    linalg::matmul((rows, row, rank), &mut out, u, z);
                    Cow::Owned(out)
                }
            };
            let rest: Vec<T> = x.iter().zip(z.iter()).map(|(x, z)| *x - *z).collect();
            sum_of_squares(&rest)
        })
        .collect();
    parts.iter().sum()
}

#[cfg(test)]
mod tests;
