//! Synthetic data, examples of tensors as users have them, and the experiments of the paper.

pub mod examples;
pub mod reproduce;
pub mod synthetic;

pub use examples::{Example, ExampleError};
pub use synthetic::{Generated, Synthetic, SyntheticError};
