//! Checks what tnsearch claims, along another path than the one that made the claim.
//!
//! This crate depends on no other crate of the project and on none that computes: networks are contracted by plain loops
//! with compensated sums ([`Network::contract`]), singular values come from one-sided Jacobi rotations ([`spectrum`]),
//! parameters are counted here, and a [`Certificate`] is gone through node by node. What goes in are plain numbers. So
//! nobody has to trust a search to trust its result.
//!
//! Memory is estimated before it is taken, and long loops ask a [`Limits::stop`]: what was not checked is said so
//! ([`Unchecked`]).

mod arrays;
mod certificate;
pub mod claims;
mod contract;
mod errors;
mod facts;
mod families;
mod network;
mod part;
mod proof;
mod rotations;
mod spectrum;
mod sums;
mod trees;

pub use arrays::Array;
pub use certificate::{
    Certificate, Class, Cut, DataFacts, Graph, Node, Place, Refused, Statement, Vertex,
};
pub use contract::Contracted;
pub use errors::{Measure, error, rse};
pub use facts::{Verdict, agree, fingerprint};
pub use families::family;
pub use network::{Malformed, Network};
pub use part::Contraction;
pub use spectrum::{Tails, spectrum};
pub use sums::Sum;

use thiserror::Error;

/// What a check may use.
pub struct Limits<'a> {
    /// Bytes.
    pub bytes: u64,
    /// Asked again and again; a check ends where it says true.
    pub stop: &'a dyn Fn() -> bool,
}

/// Why something was not checked. That says nothing about whether it holds.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Unchecked {
    /// It would take more memory than allowed.
    #[error("it needs {} MB", needed.div_ceil(1_000_000))]
    Memory {
        /// Bytes that it takes, about.
        needed: u128,
    },
    /// It was told to stop.
    #[error("it was interrupted")]
    Stopped,
    /// The values that it needs were not found.
    #[error("its singular values did not converge")]
    Unsettled,
    /// It would take too long.
    #[error("it would take {operations:.0e} operations")]
    Long {
        /// Multiplications, about.
        operations: f64,
    },
}

impl Limits<'_> {
    /// Refuses what needs more bytes than allowed.
    pub(crate) fn check(&self, needed: u128) -> Result<(), Unchecked> {
        match needed > u128::from(self.bytes) {
            true => Err(Unchecked::Memory { needed }),
            false => Ok(()),
        }
    }

    /// Ends where it is told to.
    pub(crate) fn poll(&self) -> Result<(), Unchecked> {
        if (self.stop)() { Err(Unchecked::Stopped) } else { Ok(()) }
    }
}
