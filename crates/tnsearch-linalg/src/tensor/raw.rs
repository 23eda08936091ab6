//! Tensors as the bytes of their entries: what goes to other processes.

use super::{AnyTensor, Complex, Kind, Scalar, Tensor, TensorError, size};
use crate::dispatch;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

impl AnyTensor {
    /// The bytes of its entries, in row-major order, as this machine holds them.
    ///
    /// ```
    /// use tnsearch_linalg::tensor::{AnyTensor, Kind, Tensor};
    /// let x = AnyTensor::from(Tensor::new(vec![1, 2], vec![1.0, -0.0]).unwrap());
    /// let again = AnyTensor::from_bytes(Kind::F64, vec![1, 2], x.as_bytes()).unwrap();
    /// assert_eq!(again.as_bytes(), x.as_bytes());
    /// assert!(AnyTensor::from_bytes(Kind::F32, vec![1, 2], x.as_bytes()).is_err());
    /// ```
    pub fn as_bytes(&self) -> &[u8] {
        dispatch!(self, t => bytemuck::cast_slice(t.data()))
    }

    /// A tensor from such bytes.
    pub fn from_bytes(kind: Kind, dims: Vec<usize>, bytes: &[u8]) -> Result<Self, TensorError> {
        /// The parts of the numbers: one each, or two.
        fn parts<const N: usize, P>(bytes: &[u8], part: impl Fn([u8; N]) -> P) -> Vec<P> {
            bytes.as_chunks().0.iter().map(|&bytes| part(bytes)).collect()
        }
        fn pairs<P: Copy>(parts: Vec<P>) -> Vec<Complex<P>> {
            parts.as_chunks().0.iter().map(|&[re, im]| Complex { re, im }).collect()
        }
        fn made<T: Scalar>(dims: Vec<usize>, entries: Vec<T>) -> Result<AnyTensor, TensorError> {
            Ok(Tensor::new(dims, entries)?.into())
        }
        let expected = size(&dims);
        if expected.checked_mul(kind.bytes() as u128) != Some(bytes.len() as u128) {
            return Err(TensorError::Length { dims, expected, found: bytes.len() / kind.bytes() });
        }
        match kind {
            Kind::F32 => made(dims, parts(bytes, f32::from_ne_bytes)),
            Kind::F64 => made(dims, parts(bytes, f64::from_ne_bytes)),
            Kind::C32 => made(dims, pairs(parts(bytes, f32::from_ne_bytes))),
            Kind::C64 => made(dims, pairs(parts(bytes, f64::from_ne_bytes))),
        }
    }
}

/// A tensor on its way: the bytes are not copied.
#[derive(Debug, Serialize, Deserialize)]
pub struct RawTensor<'a> {
    kind: Kind,
    dims: Vec<usize>,
    #[serde(borrow, serialize_with = "as_bytes")]
    data: &'a [u8],
}

/// Writes bytes as bytes, not as a list of numbers.
pub fn as_bytes<S: Serializer>(bytes: &impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes.as_ref())
}

/// Reads what was written so.
pub fn to_vec<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    <&[u8]>::deserialize(deserializer).map(<[u8]>::to_vec)
}

impl<'a> From<&'a AnyTensor> for RawTensor<'a> {
    fn from(tensor: &'a AnyTensor) -> Self {
        RawTensor { kind: tensor.kind(), dims: tensor.dims().to_vec(), data: tensor.as_bytes() }
    }
}

impl TryFrom<RawTensor<'_>> for AnyTensor {
    type Error = TensorError;

    fn try_from(raw: RawTensor<'_>) -> Result<Self, TensorError> {
        AnyTensor::from_bytes(raw.kind, raw.dims, raw.data)
    }
}
