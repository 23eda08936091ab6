//! Dense tensors in row-major order, real or complex.

mod any;
mod axis_plan;
mod digits;
mod fine;
mod kind;
mod names;
#[doc(hidden)]
pub mod power;
#[doc(hidden)]
pub mod raw;
mod reshape;
mod scalar;
mod split;
mod storage;

pub use any::AnyTensor;
#[doc(hidden)]
pub use axis_plan::AxisPlan;
pub use digits::PictureSteps;
#[doc(hidden)]
pub use fine::Fine;
pub use kind::Kind;
pub use names::ModeNames;
pub use num_complex::Complex;
pub use power::power_of_two;
pub use reshape::{MOST_MODES, Reshape, ReshapeError};
pub use scalar::Scalar;
pub use split::{Split, parse_shape, primes};
pub use storage::SharedEntries;

use serde::{Deserialize, Serialize};
use storage::Storage;
use thiserror::Error;

/// Why an array cannot be used as a tensor.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum TensorError {
    /// The number of entries is not the product of the dimensions.
    #[error("a tensor of dimensions {dims:?} has {expected} entries, but {found} were given")]
    Length {
        /// The dimensions asked for.
        dims: Vec<usize>,
        /// Their product.
        expected: u128,
        /// The number of entries given.
        found: usize,
    },
    /// A NaN or an infinity.
    #[error("the entry at index {index:?} is {value}; every entry must be a finite number")]
    NotFinite {
        /// Where it is.
        index: Vec<usize>,
        /// What it is, in words.
        value: String,
    },
    /// An entry has an imaginary part, where real numbers were asked for.
    #[error(
        "the entry at index {index:?} is {value}; complex numbers cannot be made real, use complex128"
    )]
    Imaginary {
        /// Where it is.
        index: Vec<usize>,
        /// What it is, in words.
        value: String,
    },
    /// An axis of length zero.
    #[error("dimension {axis} is 0 in shape {dims:?}; a tensor needs at least one entry")]
    Empty {
        /// The axis of length zero.
        axis: usize,
        /// The dimensions given.
        dims: Vec<usize>,
    },
    /// Fewer than two modes.
    #[error(
        "the array has {order} mode(s), shape {dims:?}; a network needs at least 2 (reshape it first)"
    )]
    Order {
        /// The order found.
        order: usize,
        /// The dimensions given.
        dims: Vec<usize>,
    },
    /// Every entry is zero, so that no relative error is defined.
    #[error("every entry is zero; the relative error of a zero tensor is not defined")]
    Zero,
}

/// A dense tensor, row-major (the last index runs fastest), of 64-bit real numbers unless it is said otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Raw<T>", bound(deserialize = "T: Scalar + Deserialize<'de>"))]
pub struct Tensor<T = f64> {
    dims: Vec<usize>,
    data: Storage<T>,
}

/// A tensor as it is read: not checked yet.
#[derive(Deserialize)]
struct Raw<T> {
    dims: Vec<usize>,
    data: Vec<T>,
}

impl<T: Scalar> TryFrom<Raw<T>> for Tensor<T> {
    type Error = TensorError;

    fn try_from(raw: Raw<T>) -> Result<Self, TensorError> {
        Tensor::new(raw.dims, raw.data)
    }
}

impl<T: Scalar> Tensor<T> {
    /// A tensor of the given dimensions from its entries in row-major order.
    ///
    /// ```
    /// use tnsearch_linalg::tensor::Tensor;
    /// let t = Tensor::new(vec![2, 3], vec![0., 1., 2., 3., 4., 5.]).unwrap();
    /// assert_eq!(t.at(&[1, 2]), 5.0);
    /// assert!(Tensor::new(vec![2, 3], vec![0.0]).is_err());
    /// ```
    pub fn new(dims: Vec<usize>, data: Vec<T>) -> Result<Self, TensorError> {
        let expected = size(&dims);
        if expected != data.len() as u128 {
            let found = data.len();
            return Err(TensorError::Length { dims, expected, found });
        }
        Ok(Tensor { dims, data: data.into() })
    }

    /// A tensor whose entries stay where they are; they are copied only where they are to be changed.
    pub fn shared(dims: Vec<usize>, data: SharedEntries<T>) -> Result<Self, TensorError> {
        let (expected, found) = (size(&dims), (*data).as_ref().len());
        match expected == found as u128 {
            true => Ok(Tensor { dims, data: Storage::Shared(data) }),
            false => Err(TensorError::Length { dims, expected, found }),
        }
    }

    /// A tensor of zeros. The caller has checked that it fits in memory.
    pub fn zeros(dims: Vec<usize>) -> Self {
        let data = vec![T::ZERO; dims.iter().product()];
        Tensor { dims, data: data.into() }
    }

    /// Checks that the tensor can be searched: order at least 2, no empty axis, finite, not zero.
    pub fn check(&self) -> Result<(), TensorError> {
        let dims = || self.dims.clone();
        if let Some(axis) = self.dims.iter().position(|&d| d == 0) {
            return Err(TensorError::Empty { axis, dims: dims() });
        }
        if self.order() < 2 {
            return Err(TensorError::Order { order: self.order(), dims: dims() });
        }
        if let Some(flat) = self.data.iter().position(|&v| !Scalar::is_finite(v)) {
            let (index, value) = (unflatten(flat, &self.dims), self.data[flat].to_string());
            return Err(TensorError::NotFinite { index, value });
        }
        if self.data.iter().all(|&v| v == T::ZERO) {
            return Err(TensorError::Zero);
        }
        Ok(())
    }

    /// The dimensions I_1, ..., I_N.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The entries in row-major order.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// The entries in row-major order, to be changed.
    pub fn data_mut(&mut self) -> &mut [T] {
        self.data.to_mut()
    }

    /// The entries, without the shape.
    pub fn into_data(self) -> Vec<T> {
        self.data.into_vec()
    }

    /// The number of modes N.
    pub fn order(&self) -> usize {
        self.dims.len()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Whether there is no entry at all.
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The entry at an index.
    ///
    /// # Panics
    /// If the index is out of range.
    pub fn at(&self, index: &[usize]) -> T {
        assert_eq!(index.len(), self.order(), "an index needs one number per mode");
        let mut flat = 0;
        for (&i, &d) in index.iter().zip(&self.dims) {
            assert!(i < d, "index {i} is outside dimension {d}");
            flat = flat * d + i;
        }
        self.data[flat]
    }

    /// The same entries at the same indices in a larger shape, with others drawn from `fill` in its order.
    ///
    /// # Panics
    /// If the shape has another number of axes, or a shorter one.
    pub fn widened(&self, shape: Vec<usize>, mut fill: impl FnMut() -> T) -> Tensor<T> {
        assert_eq!(self.dims.len(), shape.len(), "the same axes");
        assert!(self.dims.iter().zip(&shape).all(|(old, new)| old <= new), "no axis shrinks");
        let len = shape.iter().product();
        let mut data = Vec::with_capacity(len);
        let mut index = vec![0; shape.len()];
        let mut old = self.data.iter();
        for _ in 0..len {
            let inside = index.iter().zip(&self.dims).all(|(i, d)| i < d);
            // In row-major order the old entries come up one after the other.
            data.push(if inside { old.next().copied().unwrap_or(T::ZERO) } else { fill() });
            for (i, &d) in index.iter_mut().zip(&shape).rev() {
                *i += 1;
                if *i < d {
                    break;
                }
                *i = 0;
            }
        }
        Tensor { dims: shape, data: data.into() }
    }

    /// The squared Frobenius norm, `sum |x|^2` (pairwise summation).
    pub fn norm_squared(&self) -> f64 {
        sum_of_squares(&self.data)
    }

    /// The tensor with its axes reordered: axis `k` of the result is axis `axes[k]` of this one.
    pub fn permuted(&self, axes: &[usize]) -> Tensor<T> {
        let plan = AxisPlan::new(&self.dims, axes);
        let mut data = vec![T::ZERO; self.data.len()];
        plan.apply(&self.data, &mut data);
        Tensor { dims: axes.iter().map(|&a| self.dims[a]).collect(), data: data.into() }
    }

    /// The same numbers as another kind, each part rounded to its precision. Refused where an imaginary part would
    /// be lost.
    pub fn converted<U: Scalar>(&self) -> Result<Tensor<U>, TensorError> {
        if !U::KIND.is_complex()
            && let Some(flat) = self.data.iter().position(|&x| x.im() != 0.0)
        {
            let (index, value) = (unflatten(flat, &self.dims), self.data[flat].to_string());
            return Err(TensorError::Imaginary { index, value });
        }
        let data = self.data.iter().map(|&x| U::from_parts(x.re(), x.im())).collect::<Vec<U>>();
        Ok(Tensor { dims: self.dims.clone(), data: Storage::Owned(data) })
    }
}

/// The number of entries of a tensor of these dimensions (saturating, so that it never overflows).
pub fn size(dims: &[usize]) -> u128 {
    dims.iter().fold(1u128, |n, &d| n.saturating_mul(d as u128))
}

/// Pairwise sum of `|x|^2`: its rounding error grows with the logarithm of the length.
pub fn sum_of_squares<T: Scalar>(v: &[T]) -> f64 {
    if v.len() <= 256 {
        return v.iter().map(|x| x.abs_squared()).sum();
    }
    let (a, b) = v.split_at(v.len() / 2);
    sum_of_squares(a) + sum_of_squares(b)
}

/// The same of so many numbers that come one after the other, whose squares are given: the same bits, and no copy of them.
pub fn sum_of_given_squares(n: usize, squares: &mut impl Iterator<Item = f64>) -> f64 {
    if n <= 256 {
        return squares.take(n).sum();
    }
    let first = sum_of_given_squares(n / 2, squares);
    first + sum_of_given_squares(n - n / 2, squares)
}

/// The multi-index of a position in row-major order.
pub fn unflatten(mut flat: usize, dims: &[usize]) -> Vec<usize> {
    let mut index = vec![0; dims.len()];
    for (i, &d) in index.iter_mut().zip(dims).rev() {
        *i = flat % d;
        flat /= d;
    }
    index
}
