//! Decompositions into a fixed format: given a tensor, an arrangement of its modes and either the ranks or
//! an error, they return a network. No search over structures is made.
//!
//! [`tree_svd`] works for every tree (path, star, binary tree, hierarchical Tucker) and needs no iteration;
//! [`tt_svd`] and [`ht_svd`] are two of its cases. [`tr_svd`] is the same for a ring,
//! [`tr_lm`] the smallest of its variants.

mod bayes_tr;
pub(crate) mod compress;
mod cp_als;
mod error;
mod forest;
mod goal;
mod method;
mod reorder;
mod ring;
mod rooted;
mod round;
mod sketch;
mod spend;
mod terms;
mod tr_als;
mod tr_lm;
mod tr_svd;

mod tree_svd;
mod truncate;
mod variational;
pub(crate) mod water;

pub use bayes_tr::{BayesSettings, CheckedBayes, bayes_tr};
pub use cp_als::cp_als;
pub use error::DecomposeError;
pub use forest::forest_svd;
pub(crate) use forest::spanning_svd;
pub use goal::{Goal, Limits, Shares};
pub use method::{DecomposeSettings, Iterating, Method, allowed, tree_families};
pub(crate) use reorder::path_order;
pub use ring::ring_ranks;
pub use round::{RoundGoal, Rounded, round, round_onto};
pub use sketch::{Widths, sketched_train};
pub(crate) use terms::Fewest;
pub use tr_als::{tr_als, tr_als_ar};
pub use tr_lm::tr_lm;
pub use tr_svd::tr_svd;

pub use tree_svd::{hosvd, ht_svd, tree_svd, tt_svd, tucker};

use crate::network::Network;

/// What a decomposition found.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decomposition {
    /// The network, its modes in the tensor's order.
    pub network: Network,
    /// Its RSE, `||X - Z||^2 / ||X||^2`, from an explicit residual.
    pub rse: f64,
    /// Sweeps over the cores that were made; 0 for the methods without iteration.
    pub sweeps: usize,
    /// Whether it was interrupted: this is then the best so far.
    pub interrupted: bool,
}

impl Decomposition {
    /// The rank of each edge of the template.
    pub fn ranks(&self) -> &[usize] {
        self.network.structure().ranks()
    }
}
