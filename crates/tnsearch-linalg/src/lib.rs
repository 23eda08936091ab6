//! Dense tensors, the numbers they are made of, and linear algebra on them, for `tnsearch`.
//!
//! A crate of its own because it changes rarely and takes long to compile: every factorisation is made here, once for
//! each kind of number, so that the crates above compile calls and no kernels. Users find all of it in `tnsearch`.

#[doc(hidden)]
pub mod error;
pub mod linalg;
pub mod rng;
pub mod tensor;

pub use error::{MemoryError, SettingError};
