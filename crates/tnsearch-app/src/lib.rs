//! What the command line and the Python package both do, printing nothing: tensors from pictures, functions and hidden
//! networks, and compression.

pub mod compress;
pub mod examples;
pub mod generate;
pub mod models;
pub mod reconstruct;
pub mod synthetic;
pub mod tensorise;
pub mod tgp;
mod threads;

pub use examples::{Example, ExampleError};
pub use synthetic::{Generated, Synthetic, SyntheticError};
pub use tensorise::{Tensorise, TensoriseError, Tensorised};
