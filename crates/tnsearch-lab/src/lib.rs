//! Synthetic data, examples of tensors as users have them, tensors of pictures, Gaussian processes, and the experiments of the
//! paper.

pub mod compress;
pub mod examples;
pub mod model;
pub mod reproduce;
pub mod synthetic;
pub mod tensorise;
pub mod tgp;

pub use examples::{Example, ExampleError};
pub use synthetic::{Generated, Synthetic, SyntheticError};
pub use tensorise::{Tensorise, TensoriseError, Tensorised};
