//! The data a network is fitted to.

mod facts;
mod shape;

pub(crate) use facts::Facts;

use super::{Mask, MaskError, Shrunk};
use crate::dispatch;
use crate::network::{Network, NetworkError};
use crate::tensor::{
    AnyTensor, Kind, Scalar, Tensor, TensorError, power, power_of_two, size, sum_of_given_squares,
};
use std::sync::Arc;
use thiserror::Error;

/// Why data cannot be fitted.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum DataError {
    /// The tensor is wrong.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The mask is wrong.
    #[error(transparent)]
    Mask(#[from] MaskError),
}

/// A checked tensor, ready to be fitted many times. Clones share its entries.
///
/// A *shrunk* one ([`Target::shrink`]) holds a smaller tensor in the place of X: its entries and [`Target::dims`] are
/// those of the small one, while every error is that of X, and parameters are counted with [`Target::full_dims`].
///
/// Entries far from 1 (beyond about a million, or below a millionth) are scaled by a power of two, so that no
/// square overflows or vanishes; fits give the scale back to the cores.
///
/// One *with holes* ([`Target::with_holes`]) is known in part: networks are fitted to the entries that were observed
/// ([`Target::fitted`]). Of these some may be held out ([`Target::holding_out`]): they are not fitted, and the error is
/// measured on them. Cuts of such a tensor bound nothing, so nothing is pruned or proven.
///
/// ```
/// use tnsearch::problem::Target;
/// use tnsearch::tensor::{Complex, Kind, Tensor};
/// let real = Target::new(Tensor::new(vec![1, 2], vec![3.0, 4.0]).unwrap()).unwrap();
/// assert_eq!((real.kind(), real.norm_squared()), (Kind::F64, 25.0));
/// let entries = vec![Complex::new(0.0, 1.0), Complex::new(1.0, 1.0)];
/// let complex = Target::new(Tensor::new(vec![1, 2], entries).unwrap()).unwrap();
/// assert_eq!((complex.kind(), complex.norm_squared()), (Kind::C64, 3.0));
/// ```
#[derive(Debug, Clone)]
pub struct Target(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Shared by those that only differ in the entries they use.
    tensor: Arc<AnyTensor>,
    norm_squared: f64,
    /// X is 2^exponent times `tensor`.
    exponent: i32,
    /// What the small tensor has to do with X, where it is one.
    shrunk: Option<Shrunk>,
    /// What is known of X, where that is not all.
    holes: Option<Holes>,
    /// Bytes of the tensors that it was made from, which are there as long as it is.
    beside: u64,
    /// The dimensions of X, where it has no entries ([`Target::of_shape`]).
    shape: Option<Vec<usize>>,
}

/// Which entries of a tensor with holes are used, and what for.
#[derive(Debug, Clone)]
struct Holes {
    /// Those that networks are fitted to.
    fitted: Mask,
    /// Those that errors are measured on, where they are others.
    held: Option<Mask>,
}

impl Holes {
    fn rearranged(&self, dims: &[usize], position: &[usize]) -> Holes {
        let rearranged = |mask: &Mask| mask.rearranged(dims.to_vec(), position);
        Holes { fitted: rearranged(&self.fitted), held: self.held.as_ref().map(rearranged) }
    }
}

/// The lower median of some numbers, and 1.4826 times their median distance from it, which is the standard deviation
/// where they are normal; 0 of nothing.
pub(super) fn robust(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let median = |values: &mut [f64]| match values.len() {
        0 => 0.0,
        n => *values.select_nth_unstable_by((n - 1) / 2, f64::total_cmp).1,
    };
    let mut values: Vec<f64> = values.collect();
    let middle = median(&mut values);
    values.iter_mut().for_each(|x| *x = (*x - middle).abs());
    (middle, 1.4826 * median(&mut values))
}

impl Target {
    /// Checks the tensor (order, finite, not zero) and keeps its norm.
    pub fn new(tensor: impl Into<AnyTensor>) -> Result<Self, TensorError> {
        let mut tensor = tensor.into();
        tensor.check()?;
        let exponent = dispatch!(&mut tensor, t => normalise(t));
        let norm_squared = tensor.norm_squared();
        let (tensor, shrunk, holes, beside) = (Arc::new(tensor), None, None, 0);
        Ok(Target(Arc::new(Inner::new(tensor, (norm_squared, exponent), shrunk, holes, beside))))
    }

    /// A tensor of which only the entries in the mask are known; the others may be anything, NaN included. Where the mask
    /// is of all entries, that is [`Target::new`].
    ///
    /// ```
    /// use tnsearch::{problem::{Mask, Target}, tensor::Tensor};
    /// let x = Tensor::new(vec![2, 2], vec![1.0, f64::NAN, 2.0, 7.0]).unwrap();
    /// let mask = Mask::new(vec![2, 2], vec![true, false, true, false]).unwrap();
    /// let target = Target::with_holes(x, &mask).unwrap();
    /// assert_eq!((target.fitted().unwrap().count(), target.norm_squared()), (2, 5.0));
    /// ```
    pub fn with_holes(tensor: impl Into<AnyTensor>, mask: &Mask) -> Result<Self, DataError> {
        let mut tensor = tensor.into();
        if tensor.dims() != mask.dims() {
            let (found, expected) = (mask.dims().to_vec(), tensor.dims().to_vec());
            return Err(MaskError::Shape { found, expected }.into());
        }
        if mask.is_all() {
            return Ok(Target::new(tensor)?);
        }
        dispatch!(&mut tensor, t => keep_only(t, mask));
        let Target(inner) = Target::new(tensor)?;
        let inner = Arc::into_inner(inner).unwrap_or_else(|| unreachable!("just made"));
        let holes = Some(Holes { fitted: mask.clone(), held: None });
        Ok(Target(Arc::new(Inner { holes, ..inner })))
    }

    /// The same data with some of its known entries held out: networks are fitted to the others, and their error is
    /// that of the entries held out, relative to these.
    pub fn holding_out(&self, held: &Mask) -> Result<Self, DataError> {
        if self.dims() != held.dims() {
            let (found, expected) = (held.dims().to_vec(), self.dims().to_vec());
            return Err(MaskError::Shape { found, expected }.into());
        }
        let known = |k: usize| self.known().is_none_or(|known| known.contains(k));
        let entries = 0..self.entries();
        let dims = self.dims().to_vec();
        let fitted = entries.clone().map(|k| known(k) && !held.contains(k)).collect();
        let fitted = Mask::new(dims.clone(), fitted)?;
        let held = Mask::new(dims, entries.map(|k| known(k) && held.contains(k)).collect())?;
        let (tensor, exponent) = (self.0.tensor.clone(), self.0.exponent);
        let norm_squared = self.squares_on(&fitted);
        if norm_squared == 0.0 || self.squares_on(&held) == 0.0 {
            return Err(TensorError::Zero.into());
        }
        let holes = Some(Holes { fitted, held: Some(held) });
        let (shrunk, beside) = (None, self.0.beside + self.mask_bytes());
        Ok(Target(Arc::new(Inner::new(tensor, (norm_squared, exponent), shrunk, holes, beside))))
    }

    /// The same data fitted on these entries alone, its error measured on those; of both only what is known counts.
    pub(crate) fn fitting_only(&self, fitted: &Mask, held: &Mask) -> Result<Self, DataError> {
        let both = fitted.as_slice().iter().zip(held.as_slice()).map(|(a, b)| *a || *b);
        let known = Mask::new(fitted.dims().to_vec(), both.collect())?;
        let Inner { tensor, exponent, .. } = &*self.0;
        let holes = Some(Holes { fitted: known, held: None });
        let (tensor, exponent, shrunk) = (tensor.clone(), *exponent, None);
        let norm_squared = self.norm_squared();
        let beside = self.0.beside + self.mask_bytes();
        let inner = Inner::new(tensor, (norm_squared, exponent), shrunk, holes, beside);
        Target(Arc::new(inner)).holding_out(held)
    }

    /// The same data with its outliers brought in: entries further than 3 robust standard deviations (1.4826 times the
    /// median distance) from the median of the fitted ones are moved there. None where that changes nothing, or leaves
    /// nothing but zeros, and for complex numbers.
    pub(crate) fn tamed(&self) -> Option<Target> {
        let x = self.tensor().as_f64()?;
        let fitted = |k: usize| self.fitted().is_none_or(|fitted| fitted.contains(k));
        let (middle, spread) = robust((0..x.len()).filter(|&k| fitted(k)).map(|k| x.data()[k]));
        let (low, high) = (middle - 3.0 * spread, middle + 3.0 * spread);
        let outlies = |k: usize| fitted(k) && !(low..=high).contains(&x.data()[k]);
        if spread == 0.0 || !(0..x.len()).any(outlies) {
            return None;
        }
        let tame = |(k, x): (usize, &f64)| if outlies(k) { x.clamp(low, high) } else { *x };
        let data: Vec<f64> = x.data().iter().enumerate().map(tame).collect();
        let norm_squared = (0..data.len()).filter(|&k| fitted(k)).map(|k| data[k] * data[k]).sum();
        let tensor = Arc::new(Tensor::new(x.dims().to_vec(), data).ok()?.into());
        let (exponent, holes) = (self.0.exponent, self.0.holes.clone());
        let (shrunk, beside) = (None, self.held_bytes());
        let inner = Inner::new(tensor, (norm_squared, exponent), shrunk, holes, beside);
        (norm_squared > 0.0).then(|| Target(Arc::new(inner)))
    }

    /// Whether every entry is known and none is held out: what direct methods, bounds and shrinking need.
    pub fn is_whole(&self) -> bool {
        self.0.holes.is_none() && self.has_entries()
    }

    /// The entries that networks are fitted to; none: all.
    pub fn fitted(&self) -> Option<&Mask> {
        self.0.holes.as_ref().map(|holes| &holes.fitted)
    }

    /// The entries that were held out: the error is measured on them.
    pub fn held(&self) -> Option<&Mask> {
        self.0.holes.as_ref()?.held.as_ref()
    }

    /// The entries that errors are measured on: those held out, else those fitted; none: all.
    pub fn measured(&self) -> Option<&Mask> {
        self.held().or(self.fitted())
    }

    /// The entries whose value is known, fitted or held out; none: all.
    pub fn known(&self) -> Option<Mask> {
        let Holes { fitted, held } = self.0.holes.as_ref()?;
        let Some(held) = held else { return Some(fitted.clone()) };
        let both = fitted.as_slice().iter().zip(held.as_slice()).map(|(a, b)| *a || *b);
        Mask::new(fitted.dims().to_vec(), both.collect()).ok()
    }

    /// The tensor with each group of modes as one mode, in the order of the groups; within a group the last mode runs
    /// fastest. The norm and the scale stay as they are.
    ///
    /// ```
    /// use tnsearch::{problem::Target, tensor::Tensor};
    /// let x = Target::new(Tensor::new(vec![2, 1, 3], (1..7).map(f64::from).collect()).unwrap()).unwrap();
    /// let merged = x.merged(&[vec![2], vec![0, 1]]);
    /// assert_eq!(merged.dims(), [3, 2]);
    /// assert_eq!(merged.tensor().as_f64().unwrap().data(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    /// ```
    ///
    /// # Panics
    /// If the groups are not each mode once.
    pub fn merged(&self, groups: &[Vec<usize>]) -> Target {
        let Inner { norm_squared, exponent, .. } = *self.0;
        let axes = groups.concat();
        let in_order = axes.iter().copied().eq(0..self.dims().len());
        let tensor = if in_order { self.tensor().clone() } else { self.tensor().permuted(&axes) };
        let dims: Vec<usize> =
            groups.iter().map(|g| g.iter().map(|&n| self.dims()[n]).product()).collect();
        let tensor = Arc::new(tensor.reshaped(dims.clone()).expect("each mode once"));
        let shrunk = self.shrunk().map(|shrunk| shrunk.merged(groups));
        let holes = self.0.holes.as_ref().map(|h| h.rearranged(&dims, &self.positions(&axes)));
        let beside = self.held_bytes();
        Target(Arc::new(Inner::new(tensor, (norm_squared, exponent), shrunk, holes, beside)))
    }

    /// Where each entry was, before the modes were brought into this order.
    fn positions(&self, axes: &[usize]) -> Vec<usize> {
        let flat = (0..self.entries()).map(|k| k as f64).collect();
        let flat = Tensor::new(self.dims().to_vec(), flat).expect("as many entries");
        flat.permuted(axes).data().iter().map(|&k| k as usize).collect()
    }

    /// The same entries, all of them known, in another shape; none where a copy takes more than `max_bytes`.
    pub(crate) fn in_shape(&self, dims: &[usize], max_bytes: Option<u64>) -> Option<Self> {
        let Inner { norm_squared, exponent, .. } = *self.0;
        let bytes = self.tensor().bytes() as u64;
        if max_bytes.is_some_and(|most| bytes > most) || !self.is_whole() {
            return None;
        }
        let tensor = Arc::new(self.tensor().clone().reshaped(dims.to_vec()).ok()?);
        let size = (norm_squared, exponent);
        Some(Target(Arc::new(Inner::new(tensor, size, None, None, self.held_bytes()))))
    }

    /// The same with a small tensor in the place of X.
    pub(super) fn with_small(&self, tensor: AnyTensor, shrunk: Shrunk) -> Self {
        let Inner { norm_squared, exponent, .. } = *self.0;
        let (tensor, beside) = (Arc::new(tensor), self.held_bytes());
        Target(Arc::new(Inner::new(tensor, (norm_squared, exponent), Some(shrunk), None, beside)))
    }

    /// The tensor X, or the small one in its place, divided by [`Target::scale`].
    pub fn tensor(&self) -> &AnyTensor {
        &self.0.tensor
    }

    /// The kind of its numbers: what everything about it is computed with.
    pub fn kind(&self) -> Kind {
        self.0.tensor.kind()
    }

    /// The number of its entries.
    pub fn entries(&self) -> usize {
        let all = |shape: &Vec<usize>| usize::try_from(size(shape)).unwrap_or(usize::MAX);
        self.0.shape.as_ref().map_or(self.0.tensor.len(), all)
    }

    /// What the tensor was divided by: a power of two, 1 for ordinary entries.
    pub fn scale(&self) -> f64 {
        power_of_two(self.exponent())
    }

    /// The exponent of [`Target::scale`].
    pub fn exponent(&self) -> i64 {
        i64::from(self.0.exponent)
    }

    /// The dense tensor of a network in the units of [`Target::tensor`], [`Target::scale`] taken off: nothing overflows or
    /// vanishes where the network is about as large as X. Refused where it takes more than `max_bytes`.
    pub fn dense_of(
        &self,
        network: &Network,
        max_bytes: Option<u64>,
    ) -> Result<AnyTensor, NetworkError> {
        let (z, exponent) = network.to_scaled_tensor(max_bytes)?;
        Ok(z.times_power_of_two(exponent - self.exponent()))
    }

    /// The RSE of a network, as [`Target::rse_of`] of its dense tensor, whatever the size of its entries.
    pub fn rse_of_network(
        &self,
        network: &Network,
        max_bytes: Option<u64>,
    ) -> Result<f64, NetworkError> {
        Ok(self.rse_in_units(&self.dense_of(network, max_bytes)?))
    }

    /// The RSE of a dense tensor of the same shape against X itself, of whatever kind it is. For a shrunk target:
    /// that of the full tensor it stands for. For one with holes: on the entries that errors are measured on.
    ///
    /// # Panics
    /// If it has another number of entries.
    pub fn rse_of(&self, z: &AnyTensor) -> f64 {
        match self.exponent() {
            0 => self.rse_in_units(z),
            exponent => self.rse_in_units(&z.clone().times_power_of_two(-exponent)),
        }
    }

    /// The same for a tensor in the units of the one at hand.
    pub(crate) fn rse_in_units(&self, z: &AnyTensor) -> f64 {
        assert_eq!(z.len(), self.entries(), "same shape");
        if let Some(measured) = self.measured() {
            return self.rse_among(measured, z);
        }
        self.relative(dispatch!(self.tensor(), x => match z.typed() {
            Some(z) => self.residual(x, z),
            None => self.mixed_residual(z),
        }))
    }

    /// The RSE of a dense tensor of the same shape on some entries: `sum |x - z|^2 / sum |x|^2` over these. Holes count
    /// as zeros: take entries that are known.
    ///
    /// # Panics
    /// If it has another number of entries.
    pub fn rse_on(&self, mask: &Mask, z: &AnyTensor) -> f64 {
        match self.exponent() {
            0 => self.rse_among(mask, z),
            exponent => self.rse_among(mask, &z.clone().times_power_of_two(-exponent)),
        }
    }

    fn rse_among(&self, mask: &Mask, z: &AnyTensor) -> f64 {
        let square = |k: usize| Scalar::abs_squared(self.tensor().entry(k) - z.entry(k));
        sum_of_given_squares(mask.count(), &mut mask.positions().map(square))
            / self.squares_on(mask)
    }

    /// The sum of the squares of some entries.
    pub(crate) fn squares_on(&self, mask: &Mask) -> f64 {
        let square = |k: usize| Scalar::abs_squared(self.tensor().entry(k));
        sum_of_given_squares(mask.count(), &mut mask.positions().map(square))
    }

    /// The RSE of a network from its squared distance to the tensor at hand: `lost + residual / ||X||^2`.
    pub fn relative(&self, residual: f64) -> f64 {
        self.lost() + residual / self.0.norm_squared
    }

    fn residual<T: Scalar>(&self, x: &Tensor<T>, z: &Tensor<T>) -> f64 {
        let squares = x.data().iter().zip(z.data()).map(|(x, z)| (*x - *z).abs_squared());
        sum_of_given_squares(x.len(), &mut { squares })
    }

    fn mixed_residual(&self, z: &AnyTensor) -> f64 {
        let square = |k: usize| Scalar::abs_squared(self.tensor().entry(k) - z.entry(k));
        sum_of_given_squares(z.len(), &mut (0..z.len()).map(square))
    }

    /// Bytes that its entries take, and those of the tensors that it was made from: X, where a small or a reordered tensor
    /// stands in its place.
    pub fn held_bytes(&self) -> u64 {
        (self.tensor().bytes() as u64 + self.mask_bytes()).saturating_add(self.0.beside)
    }

    fn mask_bytes(&self) -> u64 {
        let masks = self.0.holes.as_ref().map_or(0, |holes| 1 + u64::from(holes.held.is_some()));
        masks * self.entries() as u64
    }

    /// The same, where so many bytes more are held as long as it is.
    pub(crate) fn standing_beside(self, bytes: u64) -> Self {
        let Inner { norm_squared, exponent, .. } = *self.0;
        let (tensor, beside) = (self.0.tensor.clone(), self.0.beside.saturating_add(bytes));
        let (shrunk, holes) = (self.0.shrunk.clone(), self.0.holes.clone());
        Target(Arc::new(Inner::new(tensor, (norm_squared, exponent), shrunk, holes, beside)))
    }

    /// What its entries leave of a limit on memory.
    pub fn left_of(&self, max_bytes: Option<u64>) -> Option<u64> {
        max_bytes.map(|max| max.saturating_sub(self.held_bytes()))
    }

    /// The dimensions of the tensor at hand: what fits, spectra and decompositions compute with.
    pub fn dims(&self) -> &[usize] {
        self.0.shape.as_deref().unwrap_or(self.tensor().dims())
    }

    /// The dimensions of X: what parameters are counted with. Those of the tensor at hand unless it was shrunk.
    pub fn full_dims(&self) -> &[usize] {
        self.shrunk().map_or(self.dims(), Shrunk::full_dims)
    }

    /// What the small tensor has to do with X, where this is a shrunk target.
    pub fn shrunk(&self) -> Option<&Shrunk> {
        self.0.shrunk.as_ref()
    }

    /// What was lost by shrinking, relative to `||X||^2`: no error goes below it. 0 for X itself.
    pub fn lost(&self) -> f64 {
        self.shrunk().map_or(0.0, Shrunk::lost)
    }

    /// What is left of an RSE once the loss by shrinking is taken off: what a network may be away from the tensor at
    /// hand, relative to `||X||^2`.
    pub fn net(&self, rse: f64) -> f64 {
        (rse - self.lost()).max(0.0)
    }

    /// `||X||_F^2`, of the scaled tensor; of X itself also where the tensor was shrunk.
    pub fn norm_squared(&self) -> f64 {
        self.0.norm_squared
    }
}

/// Sets what is not in the mask to zero.
fn keep_only<T: Scalar>(tensor: &mut Tensor<T>, mask: &Mask) {
    let entries = tensor.data_mut().iter_mut().zip(mask.as_slice());
    entries.filter(|(_, inside)| !**inside).for_each(|(x, _)| *x = T::ZERO);
}

/// Divides entries that are far from 1 by a power of two; its exponent.
fn normalise<T: Scalar>(tensor: &mut Tensor<T>) -> i32 {
    let exponent = power::exponent(tensor.data()).filter(|e| e.abs() > 20).unwrap_or(0);
    if exponent != 0 {
        power::multiply(tensor.data_mut(), -exponent);
    }
    exponent as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Complex, sum_of_squares};

    #[test]
    fn squares_that_come_one_by_one_sum_to_the_same_bits() {
        for n in [0usize, 1, 255, 256, 257, 1000, 4099] {
            let values: Vec<f64> = (0..n).map(|k| (k as f64 * 1.7).sin()).collect();
            let mut squares = values.iter().map(|x| x * x);
            let sum = sum_of_given_squares(n, &mut squares);
            assert_eq!(sum.to_bits(), sum_of_squares(&values).to_bits(), "{n}");
            assert!(squares.next().is_none());
        }
    }

    #[test]
    fn what_a_tensor_was_made_from_counts_once() {
        let data = (0..24).map(|k| 1.0 + f64::from(k)).collect();
        let x = Target::new(Tensor::new(vec![2, 3, 4], data).unwrap()).unwrap();
        assert_eq!((x.held_bytes(), x.left_of(Some(200))), (192, Some(8)));
        // A reordered tensor stands beside X.
        assert_eq!(x.merged(&[vec![2], vec![0, 1]]).held_bytes(), 2 * 192);
        // One that only leaves out entries shares them, and has two masks.
        let held = Mask::new(vec![2, 3, 4], (0..24).map(|k| k % 5 == 0).collect()).unwrap();
        let part = x.holding_out(&held).unwrap();
        assert_eq!(part.held_bytes(), 192 + 2 * 24);
        assert!(std::ptr::eq(part.tensor(), x.tensor()));
        assert_eq!(x.standing_beside(100).held_bytes(), 292);
    }

    fn extremes<T: Scalar>(largest: f64) {
        for power in [largest, 1e-30] {
            let entries = (1..=6).map(|k| T::from_parts(power * k as f64 / 6.0, -power / 7.0));
            let x = Tensor::<T>::new(vec![2, 3], entries.collect()).unwrap();
            let target = Target::new(x.clone()).unwrap();
            assert!((0.2..60.0).contains(&target.norm_squared()), "{}", target.norm_squared());
            assert!(target.rse_of(&x.clone().into()) < 10.0 * T::KIND.epsilon().powi(2));
            // Against another kind: the same numbers.
            let wide = AnyTensor::from(x).to_kind(Kind::C64).unwrap();
            assert!(target.rse_of(&wide) < 10.0 * T::KIND.epsilon().powi(2));
        }
    }

    #[test]
    fn every_kind_is_scaled_by_a_power_of_two() {
        extremes::<f32>(1e38);
        extremes::<f64>(1e300);
        extremes::<Complex<f32>>(1e38);
        extremes::<Complex<f64>>(1e300);
    }
}
