//! All trees at once: the least number of parameters over every tree there is, and trees that reach an error.
//!
//! A *tree* here has any topology; its vertices carry none, one or several modes. Every edge e splits the modes into
//! `S_e` and the rest, so a network with an RSE of at most eps has `r_e >= rank_eps(S_e)` whatever the rest looks
//! like, and truncated SVDs reach an RSE of at most the sum of the tails `tau_{S_e}(r_e) / ||X||^2`. Both are sums
//! over edges and vertices, so the best tree is found by dynamic programming over sets of modes ([`Fronts`]).

mod affinity;
mod cheap;
mod curve;
mod fronts;
mod least;
mod sets;
mod several;
mod tree;

#[cfg(test)]
mod brute;

pub(crate) use affinity::order as good_order;
pub(crate) use cheap::LEFT;
pub use curve::{Priced, Pricing};
pub use least::{ALL_TREES, TreeBound};
pub use tree::ModeTree;

use crate::problem::Target;

/// The dimensions that parameters are counted with.
pub(crate) fn counted(target: &Target) -> &[usize] {
    target.full_dims()
}
