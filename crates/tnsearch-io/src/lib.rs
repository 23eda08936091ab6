//! The files of tnsearch: tensors in several formats ([`registry`]), pictures ([`picture`]), networks ([`network`]), journals of
//! searches ([`journal`]), and outputs that are whole or not there ([`output`]).
//!
//! Nothing is printed here. Errors are one line that names the file and what is wrong with it.
//!
//! ```
//! use tnsearch::tensor::Tensor;
//! use tnsearch_io::{MemoryLimit, output::Output, read_tensor, write_tensor};
//!
//! let dir = tempfile::tempdir().unwrap();
//! let path = dir.path().join("X.npy");
//! let tensor = Tensor::new(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap().into();
//! write_tensor(&Output::check(&path).unwrap(), &tensor).unwrap();
//! let read = read_tensor(path.to_str().unwrap(), None, MemoryLimit::new(None)).unwrap();
//! assert_eq!(read.tensor, tensor);
//! ```

mod array;
mod cores;
mod dtype;
mod entries;
mod error;
mod faults;
mod formats;
pub mod journal;
pub mod lines;
mod literal;
mod memory;
pub mod named;
pub mod network;
pub mod output;
pub mod picture;
pub mod registry;
pub mod small;
pub mod table;
#[cfg(test)]
mod tests;
pub mod text;
pub mod verify;
pub mod weights;

pub use array::{Array, Layout, is_rounded, rounded_text};
pub use cores::{Precision, PrecisionError};
pub use dtype::Dtype;
pub use error::{FileError, Problem, io_text};
pub use memory::{MemoryLimit, parse_memory};
pub use picture::Picture;
pub use registry::{
    Listed, list_arrays, npy_bytes, read_tensor, split_key, write_npy_as, write_tensor,
};
pub use table::Table;
