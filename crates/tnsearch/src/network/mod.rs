//! Networks (a structure with its cores) and their contraction.

mod contract;
pub mod contraction;
pub mod tree;

pub use contract::{Labels, contract};
