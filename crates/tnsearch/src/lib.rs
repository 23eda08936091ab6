//! # tnsearch
//!
//! Finds the smallest tensor network that represents a tensor: which graph vertex each mode sits
//! on (the permutation), how wide each edge is (the ranks), and the cores.
//!
//! Data flows one way: a [`problem::Target`] is given to a [`Search`], whose engine asks a
//! [`search::Strategy`] for [`graph::Structure`]s, has each fitted with a method of [`fit`], and returns
//! the best with its cores.
//!
//! The library computes: it prints nothing and touches no file.

pub mod bound;
pub mod certificate;
pub mod certify;
pub mod complete;
pub mod decompose;
pub mod fit;
pub mod geometry;
pub mod graph;
pub mod network;
pub mod options;
pub mod problem;
mod range;
mod registry;
pub mod search;
mod settings;
mod threads;

pub use search::Search;
use tnsearch_linalg::error;
pub use tnsearch_linalg::{MemoryError, SettingError, dispatch, linalg, rng, tensor};

/// What most programs need: `use tnsearch::prelude::*;`.
pub mod prelude {
    pub use crate::fit::{FitSettings, Method};
    pub use crate::graph::{Structure, Template};
    pub use crate::network::Network;
    pub use crate::problem::{Objective, Stop, Target};
    pub use crate::search::{Search, SearchResult, SearchSettings, StrategySpec};
    pub use crate::tensor::Tensor;
}
