//! What the command line and the Python package both do, printing nothing: tensors from files, pictures, functions and
//! hidden networks; what is made of a search (its summary, its certificate, its page); claims checked; and compression.

pub mod certificate;
pub mod compare;
pub mod compress;
pub mod examples;
pub mod facts;
pub mod fields;
pub mod generate;
pub mod load;
pub mod models;
pub mod outputs;
pub mod page;
pub mod pick;
pub mod reconstruct;
pub mod structures;
pub mod summary;
pub mod synthetic;
pub mod tensorise;
pub mod text;
pub mod tgp;
mod threads;
pub mod verify;
pub mod words;

pub use examples::{Example, ExampleError};
pub use synthetic::{Generated, Synthetic, SyntheticError};
pub use tensorise::{Tensorise, TensoriseError, Tensorised};
