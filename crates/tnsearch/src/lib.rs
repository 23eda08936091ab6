//! # tnsearch
//!
//! Finds the smallest tensor network that represents a tensor: which graph vertex each mode sits
//! on (the permutation), how wide each edge is (the ranks), and the cores.
//!
//! Data flows one way: a [`tensor::Tensor`] is given to a [`search::Runner`], which asks a
//! [`search::Strategy`] for [`graph::Structure`]s, fits each with a method of [`fit`], and returns
//! the best [`network::Network`].
//!
//! The library computes: it prints nothing and touches no file.

pub mod bound;
pub mod decompose;
mod error;
pub mod fit;
pub mod geometry;
pub mod graph;
pub mod linalg;
pub mod network;
pub mod problem;
pub mod rng;
pub mod search;
pub mod tensor;

pub use error::{MemoryError, SettingError};
