//! The squared error: what least squares fit and cuts bound.

use super::{Description, Loss, Measure};
use std::sync::Arc;

pub(super) const SQUARED: Description = Description {
    name: "squared",
    summary: "squared error, by least squares: ||X - Z||^2 / ||X||^2",
    parameter: None,
    make: |_, _| Ok(Arc::new(SquaredError)),
};

/// `||X - Z||_F^2 / ||X||_F^2`: what the paper's program minimises. The paper's image tables print its square root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SquaredError;

impl Loss for SquaredError {
    fn measure(&self) -> Measure {
        Measure::RSE
    }

    fn spec(&self) -> Option<String> {
        Some(SQUARED.name.to_owned())
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        (x - z) * (x - z)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        2.0 * (z - x)
    }

    fn second_derivative(&self, _: f64, _: f64) -> f64 {
        2.0
    }

    fn is_squared_error(&self) -> bool {
        true
    }
}
