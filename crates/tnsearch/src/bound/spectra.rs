//! Cut spectra: the singular values of the unfoldings of a tensor, computed when first asked for.

use super::compressed::{Compressed, Small};
use super::sketch::{FIRST, Sketch, sketch};
use super::table::Table;
use super::{Spectrum, needs_svd};
use crate::problem::{Objective, Stop, Target};
use crate::tensor::{AxisPlan, Kind, Scalar, Tensor, sum_of_squares};
use crate::{dispatch, linalg};
use rayon::prelude::*;
use std::any::Any;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A set of modes, as bits.
pub type ModeSet = u64;

/// The largest order whose cuts are known: more entries than `2^26` numbers hardly fit into memory.
const MAX_ORDER: usize = 26;
/// Up to this order all cuts may be computed in advance.
const PREPARED_ORDER: usize = 20;

/// A Gram matrix and its eigenvalues that take no more than this are computed whole (some hundredths of a second).
const WHOLE_FLOPS: f64 = 5e8;
/// Shorter sides are: a sketch would save nothing.
const WHOLE_SIDE: usize = 96;
/// Floating-point operations of a sketch for each entry, about: products to and fro, with the first columns and as many again.
const SKETCH_FLOPS: f64 = (8 * FIRST * 2) as f64;
/// A sketch misses at most this part of the error that matters.
const SMALL_PART: f64 = 0.01;
/// Projections of groups lose at most this part.
const PROJECTED: f64 = 0.06;
/// Tensors of fewer entries are not projected.
const COMPRESSED: usize = 1 << 18;
/// The error that matters where none is given.
const MATTERS: f64 = 1e-4;

/// How far rounding takes the residual that a fit of 64-bit numbers reports from the true one, relative to `||X||`.
const FIT_ROUNDING: f64 = 2e-13;

/// How spectra are computed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SpectraSettings {
    /// Of unfoldings whose smaller side is longer than this, and of those that [`SpectraSettings::matters`] allows,
    /// only the leading singular values are computed, and tails are bounded from two sides.
    pub max_side: usize,
    /// The error (RSE) that spectra are compared with: of large unfoldings only the singular values that can tell are
    /// computed. None: all of them, up to `max_side`.
    pub matters: Option<f64>,
    /// Take singular values from a QR in blocks and an SVD rather than from the smaller Gram matrix. Needed only for
    /// errors below about 1e-10: the Gram route knows each squared singular value to about 1e-15 of the sum of
    /// all, which is what an RSE is measured in.
    pub svd: bool,
}

impl Default for SpectraSettings {
    fn default() -> Self {
        SpectraSettings { max_side: 2048, matters: None, svd: false }
    }
}

/// The spectra of a tensor's cuts.
pub struct Spectra {
    target: Target,
    settings: SpectraSettings,
    /// By the modes of the side without mode 0, shifted by one.
    known: Table<Option<Spectrum>>,
    left_out: Counters,
    /// Projections of groups of modes, where they were made.
    compressed: OnceLock<Option<Compressed>>,
    /// A good order of the modes, once it was asked for.
    pub(super) good_order: OnceLock<Vec<usize>>,
    /// Set when the preparation was ended: what is not known then is not computed any more.
    abandoned: AtomicBool,
    /// And when this is set.
    stop: Stop,
    /// Bytes that may be taken beside the tensor.
    pub(super) room: f64,
}

impl Spectra {
    /// The spectra of a tensor, none computed yet. Of one with holes none ever is: its cuts bound nothing.
    pub fn new(target: &Target, settings: SpectraSettings) -> Self {
        let order = target.dims().len();
        let cuts = if order <= MAX_ORDER && target.is_whole() { 1usize << (order - 1) } else { 0 };
        let (target, stop, left_out) = (target.clone(), Stop::new(), Counters::default());
        let known = Table::new(cuts);
        let (compressed, good_order) = (OnceLock::new(), OnceLock::new());
        let abandoned = AtomicBool::new(false);
        let room = f64::INFINITY;
        Spectra { target, settings, known, left_out, compressed, good_order, abandoned, stop, room }
    }

    /// Takes no more than so many bytes beside the tensor for what is of use but not needed.
    pub(super) fn with_room(mut self, bytes: f64) -> Self {
        self.room = bytes;
        self
    }

    /// Computes no more when this is set; what is not known then bounds nothing.
    pub fn stoppable(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// The error that spectra are compared with.
    pub(super) fn matters(&self) -> f64 {
        self.settings.matters.unwrap_or(MATTERS)
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

    /// The number of singular values of a cut: the shorter side of its unfolding.
    pub fn side(&self, set: ModeSet) -> usize {
        let dims = self.target.dims();
        let inside = (0..dims.len()).filter(|n| set >> n & 1 == 1).map(|n| dims[n] as u128);
        let rows = inside.fold(1u128, u128::saturating_mul);
        let side = rows.min((self.target.entries() as u128).div_ceil(rows.max(1)));
        usize::try_from(side).unwrap_or(usize::MAX)
    }

    /// The same spectra for an error that matters: see [`SpectraSettings::matters`].
    pub fn mattering(mut self, eps: Option<f64>) -> Self {
        self.settings.matters = eps;
        self
    }

    /// The spectrum of a cut; none for the empty cut, and for what is left out ([`Spectra::left_out`]).
    pub fn of(&self, set: ModeSet) -> Option<&Spectrum> {
        if self.known.is_empty() {
            return None;
        }
        let cut = (self.normal(set) >> 1) as usize;
        if cut == 0 || cut >= self.known.len() {
            return None;
        }
        if let Some(known) = self.known.get(cut) {
            return known.as_ref();
        }
        if self.abandoned.load(Ordering::Relaxed) || !self.stop.has_time_for(self.flops(cut)) {
            self.left_out.late.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.known.get_or_init(cut, || self.compute(self.normal(set))).as_ref()
    }

    /// The same for those who ask for few cuts and look after their time themselves: also where the preparation of all was
    /// given up.
    pub(crate) fn of_few(&self, set: ModeSet, until: &Stop) -> Option<&Spectrum> {
        let cut = (self.normal(set) >> 1) as usize;
        if cut == 0 || cut >= self.known.len() {
            return None;
        }
        let in_time = |stop: &Stop| stop.has_time_for(self.flops(cut));
        if self.known.get(cut).is_none() && !(in_time(until) && in_time(&self.stop)) {
            return None;
        }
        self.known.get_or_init(cut, || self.compute(self.normal(set))).as_ref()
    }

    /// Projects groups of modes that stand side by side in an order, where the tensor is large and an error matters: of
    /// all cuts asked for from now on the spectra are those of smaller tensors, known from two sides.
    pub(super) fn compress(&self, order: &[usize]) {
        // What a projection misses is the difference of two squares: too coarse where squares are.
        let Some(eps) = self.settings.matters.filter(|_| !self.tiny_matters()) else { return };
        self.compressed.get_or_init(|| {
            let large = self.target.entries() >= COMPRESSED;
            let budget = PROJECTED * eps * self.target.norm_squared();
            let new = || dispatch!(self.target.tensor(), x => Compressed::new(x, order, budget, &self.stop));
            // The tensor of wide numbers, unfolded, and projected.
            let wide = if self.target.kind().is_complex() { Kind::C64 } else { Kind::F64 };
            let bytes = 3.0 * (wide.bytes() * self.target.entries()) as f64;
            if large && bytes <= self.room { new() } else { None }
        });
    }

    /// The spectrum of a cut where it was computed before.
    pub fn known(&self, set: ModeSet) -> Option<&Spectrum> {
        let cut = (self.normal(set) >> 1) as usize;
        (cut < self.known.len()).then(|| self.known.get(cut))??.as_ref()
    }

    /// Computes all cuts in parallel on the current thread pool, until it is told to stop. What is left out
    /// then bounds nothing. A cut that would take longer than the time left is not begun. Those of single modes and of
    /// the first modes against the others, which direct methods ask for, come before all others.
    pub fn prepare(&self, stop: &Stop) {
        let order = self.order();
        let asked = |cut: usize| {
            let ones = cut.count_ones() as usize;
            // Beside mode 0: one mode, or all but some; the last ones.
            ones == 1 || ones + 2 >= order || ones + cut.trailing_zeros() as usize == order - 1
        };
        let compute = |cut: usize| match stop.is_set() {
            false if stop.has_time_for(self.flops(cut)) => drop(self.of((cut as ModeSet) << 1)),
            false => {}
            true => self.abandoned.store(true, Ordering::Relaxed),
        };
        for first in [true, false] {
            (1..self.known.len()).into_par_iter().filter(|&k| asked(k) == first).for_each(compute);
        }
    }

    /// What was asked for and is not known, with the reason.
    pub fn left_out(&self) -> LeftOut {
        LeftOut {
            late: self.left_out.late.load(Ordering::Relaxed),
            failed: self.left_out.failed.load(Ordering::Relaxed),
            too_many_modes: self.known.is_empty(),
        }
    }

    /// Floating-point operations of [`Spectra::prepare`], about: for every cut a Gram matrix and its
    /// eigenvalues, or a sketch.
    pub fn prepare_flops(&self) -> f64 {
        if self.order() > PREPARED_ORDER {
            return f64::INFINITY;
        }
        (1..self.known.len()).map(|cut| self.flops(cut)).sum()
    }

    /// Those of one cut, by the modes of the side without mode 0, shifted by one.
    fn flops(&self, cut: usize) -> f64 {
        let dims = self.target.dims();
        let entries = self.target.entries() as f64;
        let inside = (1..dims.len()).filter(|n| cut >> (n - 1) & 1 == 1);
        let rows: f64 = inside.map(|n| dims[n] as f64).product();
        let side = rows.min(entries / rows);
        match self.sketches(side as usize, entries) {
            true => SKETCH_FLOPS * entries,
            false => whole_flops(side, entries),
        }
    }

    /// Bytes that computing one cut takes: a copy of the tensor and the square of its smaller side or a sketch, of
    /// 64-bit parts whatever the tensor has; two copies and some squares more for an SVD.
    pub fn bytes(&self) -> f64 {
        let entries = self.target.entries() as f64;
        let side = entries.sqrt().min(self.settings.max_side as f64);
        let number = if self.target.kind().is_complex() { Kind::C64 } else { Kind::F64 };
        let sketch = if self.sketches(entries.sqrt() as usize, entries) { entries } else { 0.0 };
        let svd = if self.settings.svd { 2.0 * entries + 5.0 * side * side } else { 0.0 };
        number.bytes() as f64 * (entries + sketch + svd + 3.0 * side * side)
    }

    /// Whether only the leading values of an unfolding are computed at first.
    fn sketches(&self, side: usize, entries: f64) -> bool {
        let large = || side > WHOLE_SIDE && whole_flops(side as f64, entries) > WHOLE_FLOPS;
        side > self.settings.max_side || (self.settings.matters.is_some() && large())
    }

    /// Whether an error matters that squares do not see.
    fn tiny_matters(&self) -> bool {
        self.settings.matters.is_some_and(|eps| needs_svd(Objective::MaxError(eps)))
    }

    fn compute(&self, set: ModeSet) -> Option<Spectrum> {
        dispatch!(self.target.tensor(), x => self.compute_of(x, set))
    }

    /// The spectrum of a cut of a tensor in the place of X.
    fn compute_small<W: Scalar>(
        &self,
        x: &Tensor<W>,
        small: &Small,
        set: ModeSet,
    ) -> Option<Spectrum> {
        let inside = |a: &usize| small.axes[*a] & set != 0;
        let (rows, columns): (Vec<usize>, Vec<usize>) = (0..small.axes.len()).partition(inside);
        let m: usize = rows.iter().map(|&a| x.dims()[a]).product();
        let (side, long) = (m.min(x.len() / m), m.max(x.len() / m));
        let axes: Vec<usize> = match side == m {
            true => rows.into_iter().chain(columns).collect(),
            false => columns.into_iter().chain(rows).collect(),
        };
        let mut copy = vec![W::ZERO; x.len()];
        AxisPlan::new(x.dims(), &axes).apply(x.data(), &mut copy);
        let about = Shape { side, long, whole: self.side(set), missed: small.missed };
        self.unfolding(&copy, about, set, self.target.kind())
    }

    fn compute_of<T: Scalar>(&self, x: &Tensor<T>, set: ModeSet) -> Option<Spectrum> {
        let compressed = self.compressed.get().and_then(Option::as_ref);
        if let Some(small) = compressed.and_then(|c| c.of_cut(x, set)) {
            let found = dispatch!(&small.tensor, x => self.compute_small(x, &small, set));
            if found.is_none() {
                self.count_missing();
            }
            return found;
        }
        let dims = self.target.dims();
        let inside = |n: &usize| set >> n & 1 == 1;
        let (rows, columns): (Vec<usize>, Vec<usize>) = (0..dims.len()).partition(inside);
        let length = |modes: &[usize]| modes.iter().map(|&n| dims[n]).product::<usize>();
        let (m, n) = (length(&rows), length(&columns));
        let side = m.min(n);
        if rows.is_empty() || columns.is_empty() {
            return None;
        }
        // The longer side runs along the rows of the matrix.
        let axes: Vec<usize> = match m <= n {
            true => rows.into_iter().chain(columns).collect(),
            false => columns.into_iter().chain(rows).collect(),
        };
        let order = AxisPlan::new(dims, &axes);
        // Numbers of 64 bits that lie right need no copy.
        let wide = (x as &dyn Any).downcast_ref::<Tensor<T::Wide>>();
        let about = Shape { side, long: m.max(n), whole: side, missed: 0.0 };
        let found = match wide.filter(|_| order.is_identity()) {
            Some(x) => self.unfolding(x.data(), about, set, T::KIND),
            None => {
                let mut copy = vec![T::Wide::ZERO; m * n];
                order.apply_map(x.data(), &mut copy, Scalar::widen);
                self.unfolding(&copy, about, set, T::KIND)
            }
        };
        if found.is_none() {
            self.count_missing();
        }
        found
    }

    /// Counts a spectrum that is not there: the stop ended it, or it did not converge.
    fn count_missing(&self) {
        let why = if self.stop.is_set() { &self.left_out.late } else { &self.left_out.failed };
        why.fetch_add(1, Ordering::Relaxed);
    }

    /// The spectrum of an unfolding, whole or as far as it matters.
    fn unfolding<W: Scalar>(
        &self,
        data: &[W],
        shape: Shape,
        set: ModeSet,
        kind: Kind,
    ) -> Option<Spectrum> {
        let Shape { side, long, whole: all_values, missed } = shape;
        let about = Rounding { side: all_values, long, by_svd: self.settings.svd, kind };
        let whole = || {
            let squares = match self.settings.svd {
                true => squares_by_svd(data, side, long, self.tiny_matters(), &self.stop),
                false => squares_by_gram(data, side, long, &self.stop),
            };
            Some(spectrum(squares?, missed, self.target.norm_squared(), about))
        };
        if !self.sketches(side, data.len() as f64) {
            return whole();
        }
        let tiny = self.settings.svd && self.tiny_matters();
        let about = Rounding { by_svd: tiny, ..about };
        let all = self.target.norm_squared();
        let made = |s: &Sketch| spectrum(s.squares.clone(), s.missed + missed, all, about);
        let eps = self.matters();
        let mut before = sum_of_squares(data);
        let mut last = None;
        let enough = |s: &Sketch| {
            let spectrum = made(s);
            // Where more columns find little more, that is noise; it does not matter if the rank is clear.
            let noise = s.missed > 0.5 * std::mem::replace(&mut before, s.missed);
            let clear = spectrum.rank(eps) == spectrum.reach(eps);
            let enough = s.missed <= SMALL_PART * eps * all || (noise && clear);
            last = Some(spectrum);
            enough || self.stop.is_set()
        };
        let most = (side / 3).max(2 * FIRST).min(side);
        if let Some(found) = sketch(data, (side, long), set, most, tiny, enough) {
            return Some(made(&found));
        }
        // So many values matter that all of them are as cheap, where there is room for them.
        match side <= self.settings.max_side {
            true => whole(),
            false => last,
        }
    }
}

/// An unfolding: its shorter and longer side, how many singular values that of X has, and how much of X it misses.
#[derive(Clone, Copy)]
struct Shape {
    side: usize,
    long: usize,
    whole: usize,
    missed: f64,
}

/// Why spectra that were asked for are not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// So many times there was no more time.
    pub late: usize,
    /// So many factorisations did not converge.
    pub failed: usize,
    /// The tensor has too many modes for any.
    pub too_many_modes: bool,
}

impl LeftOut {
    /// In words; none where nothing was left out.
    pub fn text(&self) -> Option<String> {
        let mut said = Vec::new();
        if self.too_many_modes {
            said.push(format!("cuts are known up to order {MAX_ORDER}"));
        }
        if self.late > 0 {
            said.push(format!("{} times a cut was not computed for want of time", self.late));
        }
        if self.failed > 0 {
            said.push(format!("the singular values of {} cuts did not converge", self.failed));
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}

#[derive(Default)]
struct Counters {
    late: AtomicUsize,
    failed: AtomicUsize,
}

/// Floating-point operations of a Gram matrix and its eigenvalues.
fn whole_flops(side: f64, entries: f64) -> f64 {
    2.0 * entries * side + 8.0 * side.powi(3)
}

/// Squared singular values as eigenvalues of the smaller Gram matrix, largest first.
fn squares_by_gram<T: Scalar>(
    data: &[T],
    side: usize,
    long: usize,
    stop: &Stop,
) -> Option<Vec<f64>> {
    let gram = linalg::gram_until(data, side, long, Some(&|| stop.is_set()))?;
    let work = move || linalg::eigenvalues(&gram, side);
    let values = stop.wait_for(8.0 * (side as f64).powi(3), work)??;
    Some(values.into_iter().rev().map(|v| v.max(0.0)).collect())
}

/// Squared singular values from an SVD, largest first. That of the kernels takes what is small for zero where a matrix is
/// long: where a tiny error matters their values are not looked at, else they count as far as they are right.
fn squares_by_svd<T: Scalar>(
    data: &[T],
    side: usize,
    long: usize,
    tiny: bool,
    stop: &Stop,
) -> Option<Vec<f64>> {
    let squares = |values: Vec<f64>| Some(values.into_iter().map(|v| v * v).collect());
    let right = || -> Option<Vec<f64>> {
        let triangle = linalg::triangle_until(data, (side, long), Some(&|| stop.is_set()))?;
        let work = move || linalg::singular_values(&triangle, side, side);
        stop.wait_for(10.0 * (side as f64).powi(3), work)?
    };
    if tiny {
        return squares(right()?);
    }
    let flops = 10.0 * data.len() as f64 * side as f64;
    let values = match flops < Stop::SHORT {
        true => linalg::singular_values(data, side, long)?,
        false => {
            let own = data.to_vec();
            stop.wait_for(flops, move || linalg::singular_values(&own, side, long))??
        }
    };
    if long < 2 * side {
        return squares(values);
    }
    let right = right()?;
    let norm = sum_of_squares(&values).sqrt();
    let most = 0.5 * rounding(side, long) * norm;
    let apart = values.iter().zip(&right).any(|(a, b)| (a - b).abs() > most);
    squares(if apart { right } else { values })
}

/// What rounding does to a singular value in units of the root of the sum of all squares, and to a square in units of
/// that sum: "a few ulp", taken as 4 times the number of values and the root of the length. Tests see far less.
fn rounding(side: usize, long: usize) -> f64 {
    4.0 * (side as f64 + (long as f64).sqrt()) * f64::EPSILON
}

/// What the rounding of a spectrum depends on: the sides, the route, and the kind of number that fits have.
#[derive(Clone, Copy)]
struct Rounding {
    side: usize,
    long: usize,
    by_svd: bool,
    kind: Kind,
}

/// Tails and their slack. Rounding moves an eigenvalue of the Gram matrix by a few ulp of `||X||^2`, and a
/// singular value by a few ulp of the largest, eta ([`rounding`]); its square then by `2 sigma eta + eta^2`.
///
/// An error that a fit reports is rounded too, and a structure must not be ruled out for that: the entries of
/// an ill-conditioned network come out wrong by some 1e-14 of `||X||` (tests see 4e-14). Spectra are always computed
/// with 64 bits; fits of 32-bit numbers round 2^29 times as much.
fn spectrum(squares: Vec<f64>, missed: f64, norm_squared: f64, about: Rounding) -> Spectrum {
    let squares: Vec<f64> = squares.into_iter().map(|s| s / norm_squared).collect();
    let count = about.side as f64;
    let eta = rounding(about.side, about.long);
    let fit = 2.0 * about.kind.tolerance(FIT_ROUNDING);
    let slack = match about.by_svd {
        true => (count * eta * eta, 2.0 * eta * count.sqrt() + fit),
        false => (eta, fit),
    };
    Spectrum::new(&squares, missed / norm_squared, about.side, slack)
}

#[cfg(test)]
mod tests;
