//! Template graphs, permutations, structures and their canonical form.

mod mode_graph;
mod structure;
mod template;

pub use mode_graph::ModeGraph;
pub use structure::{Canonical, Structure, StructureFile, TemplateRef};
pub use template::{Template, VertexFile};

use thiserror::Error;

/// Why a template or a structure is refused.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The name is not one of the templates.
    #[error(
        "unknown template '{0}'; use path, ring, star, tree, complete, peps:RxC, ht, mera or a JSON file"
    )]
    UnknownTemplate(String),
    /// The template cannot have this many modes.
    #[error("template '{template}' cannot carry {order} modes: {reason}")]
    Order {
        /// The template's name.
        template: String,
        /// The order asked for.
        order: usize,
        /// What would be right.
        reason: String,
    },
    /// The template carries another number of modes than the tensor has.
    #[error(
        "template '{template}' has {external} external vertices, but the tensor has {order} modes"
    )]
    ModeCount {
        /// The template's name.
        template: String,
        /// Its number of external vertices.
        external: usize,
        /// The order of the tensor.
        order: usize,
    },
    /// The graph is not simple, not connected, or names a vertex it does not have.
    #[error("bad graph: {0}")]
    BadGraph(String),
    /// The permutation is not a bijection from modes to external vertices.
    #[error("bad permutation {permutation:?}: {reason}")]
    BadPermutation {
        /// The permutation given.
        permutation: Vec<usize>,
        /// What is wrong with it.
        reason: String,
    },
    /// A rank is zero, or there is not one rank an edge.
    #[error("bad rank: {0}")]
    BadRank(String),
}
