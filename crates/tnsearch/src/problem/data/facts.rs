//! What a target is beside its entries, so that it can be made again elsewhere, bit for bit.

use super::{DataError, Holes, Inner, Mask, Shrunk, Target};
use crate::problem::MaskError;
use crate::tensor::{AnyTensor, Kind, TensorError, raw, size};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// All that is known of a target but its entries and the bases of a shrunk one, which no fit needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub kind: Kind,
    pub dims: Vec<usize>,
    norm_squared: f64,
    exponent: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shrunk: Option<Small>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fitted: Option<Bits>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<Bits>,
}

/// What a small tensor has to do with X, as far as errors and parameters go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Small {
    full_dims: Vec<usize>,
    lost: f64,
}

/// A mask, eight entries in a byte.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Bits {
    #[serde(serialize_with = "raw::as_bytes", deserialize_with = "raw::to_vec")]
    bits: Vec<u8>,
}

impl Bits {
    fn of(mask: &Mask) -> Self {
        let byte = |eight: &[bool]| {
            eight.iter().enumerate().fold(0, |byte, (k, &inside)| byte | u8::from(inside) << k)
        };
        Bits { bits: mask.as_slice().chunks(8).map(byte).collect() }
    }

    fn mask(&self, dims: &[usize]) -> Result<Mask, MaskError> {
        let inside = (0..8 * self.bits.len()).map(|k| self.bits[k / 8] >> (k % 8) & 1 == 1);
        let entries = usize::try_from(size(dims)).unwrap_or(usize::MAX);
        Mask::new(dims.to_vec(), inside.take(entries).collect())
    }
}

impl Target {
    /// What is known of it beside its entries.
    pub(crate) fn facts(&self) -> Facts {
        let Inner { tensor, norm_squared, exponent, shrunk, holes, .. } = &*self.0;
        let small = |s: &Shrunk| Small { full_dims: s.full_dims().to_vec(), lost: s.lost() };
        Facts {
            kind: tensor.kind(),
            dims: self.dims().to_vec(),
            norm_squared: *norm_squared,
            exponent: *exponent,
            shrunk: shrunk.as_ref().map(small),
            fitted: holes.as_ref().map(|holes| Bits::of(&holes.fitted)),
            held: holes.as_ref().and_then(|holes| holes.held.as_ref()).map(Bits::of),
        }
    }

    /// The target that these facts and entries are of. One that was shrunk has no bases.
    pub(crate) fn from_facts(tensor: AnyTensor, facts: &Facts) -> Result<Self, DataError> {
        let Facts { kind, dims, norm_squared, exponent, shrunk, fitted, held } = facts;
        tensor.check()?;
        if tensor.kind() != *kind || tensor.dims() != dims {
            let (expected, found) = (size(dims), tensor.len());
            return Err(TensorError::Length { dims: dims.clone(), expected, found }.into());
        }
        // So that no fit divides by it.
        if !(norm_squared.is_finite() && *norm_squared > 0.0) {
            return Err(TensorError::Zero.into());
        }
        let shrunk = match shrunk {
            Some(small) if small.full_dims.len() != dims.len() => {
                let (order, dims) = (small.full_dims.len(), small.full_dims.clone());
                return Err(TensorError::Order { order, dims }.into());
            }
            Some(small) => Some(Shrunk::without_bases(small.full_dims.clone(), small.lost)),
            None => None,
        };
        let held = held.as_ref().map(|bits| bits.mask(dims)).transpose()?;
        let fitted = fitted.as_ref().map(|bits| bits.mask(dims)).transpose()?;
        let holes = fitted.map(|fitted| Holes { fitted, held });
        // What it was made from is elsewhere.
        let (tensor, norm_squared, exponent, beside) =
            (Arc::new(tensor), *norm_squared, *exponent, 0);
        Ok(Target(Arc::new(Inner::new(tensor, (norm_squared, exponent), shrunk, holes, beside))))
    }
}
