//! Synthetic data and the experiments of the paper.

pub mod reproduce;
pub mod synthetic;

pub use synthetic::{Generated, Synthetic, SyntheticError};
