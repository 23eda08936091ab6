//! The geometry of the search space (section 3 of the paper): symmetries of templates, how many structures
//! there are, how far apart two of them are, and what lies around one. See `docs/theory.md`.
//!
//! A structure places the modes on the vertices of a template. In the paper's words it is `G = g G0`, where
//! `g` sends a vertex to its mode; `g` is the inverse of [`crate::graph::Structure::permutation`]. Two such
//! `g` give the same graph exactly when they differ by an automorphism of the template, so structures are
//! the left cosets `g Aut(G0)`.

mod automorphism;
mod ball;
mod census;
mod coloured;
mod count;
mod elements;
mod metric;
mod nearest;
mod paper_bounds;
mod partition;
mod placements;
mod report;

pub use automorphism::Automorphisms;
pub use ball::Reached;
pub use census::{connected_graphs, graphs};
pub use coloured::ColouredGraph;
pub use count::{Space, factorial, log10};
pub use elements::Elements;
pub use metric::{Distance, word_length, word_metric};
pub use paper_bounds::{
    Degrees, gamma, krasikov_ln, lemma_ln, ln_factorial, theorem_at_ln, theorem_ln,
};
pub use placements::{Internal, Placements};
pub use report::SpaceReport;

use crate::graph::GraphError;
use num_bigint::BigUint;
use thiserror::Error;

/// Why a question about the search space is not answered.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GeometryError {
    /// The graph is too large.
    #[error("the graph has {vertices} vertices; symmetries are looked for up to {limit}")]
    TooLarge {
        /// Its vertices.
        vertices: usize,
        /// How many are possible.
        limit: usize,
    },
    /// A copy vertex: there is nothing to place, and one rank.
    #[error(
        "all orders of the modes of a cp are the same, and it has one rank: its structures are as many as its ranks"
    )]
    Hyperedge,
    /// The graph looks more alike than it is.
    #[error(
        "the symmetries of this graph with {vertices} vertices were not settled within {steps} steps"
    )]
    TooHard {
        /// Its vertices.
        vertices: usize,
        /// Steps of the search.
        steps: usize,
    },
    /// There are too many things to go through one by one.
    #[error("{what}: there are {count}, and at most {limit} are gone through")]
    TooMany {
        /// What is counted.
        what: String,
        /// How many there are (about).
        count: String,
        /// How many are possible.
        limit: u64,
    },
    /// Two structures of different templates.
    #[error("the structures have different templates, {0} and {1}; a distance needs one template")]
    TemplatesDiffer(String, String),
    /// A structure with several modes at a vertex.
    #[error(
        "some vertex carries several modes; distances are known between structures with one mode at each"
    )]
    Grouped,
    /// A permutation, or a graph, that means nothing.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl GeometryError {
    fn too_many(what: impl Into<String>, count: &BigUint, limit: u64) -> Self {
        let count = match count.bits() {
            0..64 => count.to_string(),
            _ => format!("10^{:.1}", log10(count)),
        };
        GeometryError::TooMany { what: what.into(), count, limit }
    }
}
