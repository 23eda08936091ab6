//! A tensor of any kind of number: the form in which data, cores and networks are handed around.

use super::{Kind, Scalar, Tensor, TensorError};
use num_complex::Complex;
use serde::{Deserialize, Serialize};

/// A dense tensor of one of the four kinds of numbers.
///
/// Searches, reports and files need not know of what kind the numbers are; what computes asks once
/// ([`dispatch!`](crate::dispatch)) and goes on with a [`Tensor<T>`].
///
/// ```
/// use tnsearch_linalg::tensor::{AnyTensor, Kind, Tensor};
/// let x = AnyTensor::from(Tensor::new(vec![2], vec![1.0, 2.0]).unwrap());
/// assert_eq!(x.kind(), Kind::F64);
/// assert_eq!(x.as_f64().unwrap().data(), [1.0, 2.0]);
/// assert!(x.typed::<f32>().is_none());
/// assert_eq!(tnsearch_linalg::dispatch!(&x, t => t.len()), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnyTensor {
    /// Real, 32 bits.
    F32(Tensor<f32>),
    /// Real, 64 bits.
    F64(Tensor<f64>),
    /// Complex, two numbers of 32 bits.
    #[serde(rename = "complex64")]
    C32(Tensor<Complex<f32>>),
    /// Complex, two numbers of 64 bits.
    #[serde(rename = "complex128")]
    C64(Tensor<Complex<f64>>),
}

/// Evaluates an expression for the tensor behind an [`AnyTensor`](crate::tensor::AnyTensor), of whatever kind it is:
/// `dispatch!(any, tensor => expression)`.
#[macro_export]
macro_rules! dispatch {
    ($any:expr, $tensor:pat => $body:expr) => {
        match $any {
            $crate::tensor::AnyTensor::F32($tensor) => $body,
            $crate::tensor::AnyTensor::F64($tensor) => $body,
            $crate::tensor::AnyTensor::C32($tensor) => $body,
            $crate::tensor::AnyTensor::C64($tensor) => $body,
        }
    };
}

impl<T: Scalar> From<Tensor<T>> for AnyTensor {
    fn from(tensor: Tensor<T>) -> Self {
        T::erase(tensor)
    }
}

impl<T: Scalar> PartialEq<Tensor<T>> for AnyTensor {
    fn eq(&self, other: &Tensor<T>) -> bool {
        self.typed() == Some(other)
    }
}

impl AnyTensor {
    /// A single number of that kind, as a tensor without modes.
    pub fn number(kind: Kind, value: Complex<f64>) -> AnyTensor {
        fn one<T: Scalar>(value: Complex<f64>) -> AnyTensor {
            let one = Tensor::new(Vec::new(), vec![T::from_parts(value.re, value.im)]);
            one.unwrap_or_else(|e| unreachable!("{e}")).into()
        }
        match kind {
            Kind::F32 => one::<f32>(value),
            Kind::F64 => one::<f64>(value),
            Kind::C32 => one::<Complex<f32>>(value),
            Kind::C64 => one::<Complex<f64>>(value),
        }
    }

    /// The kind of its numbers.
    pub fn kind(&self) -> Kind {
        match self {
            AnyTensor::F32(_) => Kind::F32,
            AnyTensor::F64(_) => Kind::F64,
            AnyTensor::C32(_) => Kind::C32,
            AnyTensor::C64(_) => Kind::C64,
        }
    }

    /// The tensor, if its numbers are of this kind.
    pub fn typed<T: Scalar>(&self) -> Option<&Tensor<T>> {
        T::of(self)
    }

    /// The tensor itself, if its numbers are of this kind; else what it was.
    pub fn into_typed<T: Scalar>(self) -> Result<Tensor<T>, AnyTensor> {
        T::take(self)
    }

    /// The tensor, if it is of 64-bit real numbers.
    pub fn as_f64(&self) -> Option<&Tensor<f64>> {
        self.typed()
    }

    /// The tensor itself, if it is of 64-bit real numbers; else what it was.
    pub fn into_f64(self) -> Result<Tensor<f64>, AnyTensor> {
        self.into_typed()
    }

    /// The dimensions.
    pub fn dims(&self) -> &[usize] {
        dispatch!(self, t => t.dims())
    }

    /// The number of modes.
    pub fn order(&self) -> usize {
        self.dims().len()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        dispatch!(self, t => t.len())
    }

    /// Whether there is no entry at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of its entries.
    pub fn bytes(&self) -> usize {
        self.len() * self.kind().bytes()
    }

    /// The squared Frobenius norm, [`Tensor::norm_squared`].
    pub fn norm_squared(&self) -> f64 {
        dispatch!(self, t => t.norm_squared())
    }

    /// Checks that it can be searched, [`Tensor::check`].
    pub fn check(&self) -> Result<(), TensorError> {
        dispatch!(self, t => t.check())
    }

    /// The tensor with its axes reordered, [`Tensor::permuted`].
    pub fn permuted(&self, axes: &[usize]) -> AnyTensor {
        dispatch!(self, t => t.permuted(axes).into())
    }

    /// The same entries in another shape.
    pub fn reshaped(self, dims: Vec<usize>) -> Result<AnyTensor, TensorError> {
        dispatch!(self, t => Ok(Tensor::new(dims, t.into_data())?.into()))
    }

    /// The entry at a position in row-major order.
    ///
    /// # Panics
    /// If there is none.
    pub fn entry(&self, flat: usize) -> Complex<f64> {
        dispatch!(self, t => Complex::new(t.data()[flat].re(), t.data()[flat].im()))
    }

    /// The first entry that is not finite, as a position in row-major order.
    pub fn first_not_finite(&self) -> Option<usize> {
        dispatch!(self, t => t.data().iter().position(|&x| !Scalar::is_finite(x)))
    }

    /// The same numbers as another kind, each part rounded to its precision. A complex tensor becomes a real one
    /// only if no entry has an imaginary part.
    pub fn to_kind(self, kind: Kind) -> Result<AnyTensor, TensorError> {
        if self.kind() == kind {
            return Ok(self);
        }
        dispatch!(self, t => match kind {
            Kind::F32 => t.converted::<f32>().map(AnyTensor::from),
            Kind::F64 => t.converted::<f64>().map(AnyTensor::from),
            Kind::C32 => t.converted::<Complex<f32>>().map(AnyTensor::from),
            Kind::C64 => t.converted::<Complex<f64>>().map(AnyTensor::from),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_converted_and_imaginary_parts_never_lost() {
        let real = AnyTensor::from(Tensor::new(vec![3], vec![1.0, -0.5, 0.1]).unwrap());
        for kind in Kind::ALL {
            let as_kind = real.clone().to_kind(kind).unwrap();
            assert_eq!((as_kind.kind(), as_kind.bytes()), (kind, 3 * kind.bytes()));
            assert!((as_kind.entry(2) - real.entry(2)).re.abs() <= kind.epsilon());
            let back = as_kind.to_kind(Kind::F64).unwrap();
            assert_eq!(back == real, kind.epsilon() == f64::EPSILON);
        }
        let i = Complex::new(0.0, 1.0);
        let complex =
            AnyTensor::from(Tensor::new(vec![1, 2], vec![Complex::new(1.0, 0.0), i]).unwrap());
        let refused = complex.clone().to_kind(Kind::F32).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the entry at index [0, 1] is 0+1i; complex numbers cannot be made real, use complex128"
        );
        assert_eq!(complex.clone().to_kind(Kind::C32).unwrap().entry(1), i);
    }
}
