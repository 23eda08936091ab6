//! Synthetic data and the experiments of the paper.

mod contract;
pub mod synthetic;

pub use synthetic::{Generated, Synthetic, SyntheticError};
