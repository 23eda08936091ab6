//! The data a network is fitted to.

use crate::tensor::{Tensor, TensorError, sum_of_squares};
use std::sync::Arc;

/// A checked tensor, ready to be fitted many times. Clones share its entries.
///
/// Entries far from 1 (beyond about a million, or below a millionth) are scaled by a power of two, so that no
/// square overflows or vanishes; fits give the scale back to the cores.
#[derive(Debug, Clone)]
pub struct Target(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tensor: Tensor,
    norm_squared: f64,
    /// X is 2^exponent times `tensor`.
    exponent: i32,
}

impl Target {
    /// Checks the tensor (order, finite, not zero) and keeps its norm.
    pub fn new(mut tensor: Tensor) -> Result<Self, TensorError> {
        tensor.check()?;
        let largest = tensor.data().iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let mut exponent = largest.log2().floor() as i32;
        if exponent.abs() <= 20 {
            exponent = 0;
        } else {
            // In two steps, since 2^1074 is not a number.
            let (half, rest) = (exponent / 2, exponent - exponent / 2);
            for x in tensor.data_mut() {
                *x = *x * 2f64.powi(-half) * 2f64.powi(-rest);
            }
        }
        let norm_squared = tensor.norm_squared();
        Ok(Target(Arc::new(Inner { tensor, norm_squared, exponent })))
    }

    /// The tensor X, divided by [`Target::scale`].
    pub fn tensor(&self) -> &Tensor {
        &self.0.tensor
    }

    /// What the tensor was divided by: a power of two, 1 for ordinary entries.
    pub fn scale(&self) -> f64 {
        2f64.powi(self.0.exponent)
    }

    /// The RSE of a dense tensor of the same shape against X itself.
    ///
    /// # Panics
    /// If it has another number of entries.
    pub fn rse_of(&self, z: &Tensor) -> f64 {
        assert_eq!(z.len(), self.tensor().len(), "same shape");
        let scale = self.scale();
        let pairs = self.tensor().data().iter().zip(z.data());
        let rows: Vec<f64> = pairs.map(|(x, z)| x - z / scale).collect();
        sum_of_squares(&rows) / self.0.norm_squared
    }

    /// Its dimensions.
    pub fn dims(&self) -> &[usize] {
        self.tensor().dims()
    }

    /// `||X||_F^2`, of the scaled tensor.
    pub fn norm_squared(&self) -> f64 {
        self.0.norm_squared
    }
}
