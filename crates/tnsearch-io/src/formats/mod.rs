//! The file formats for tensors, one file each: how it is recognised, read and written, and what is said of a
//! damaged file. [`crate::registry::FORMATS`] lists them.

pub mod npy;
pub mod npz;
pub mod pictures;
pub mod safetensors;
