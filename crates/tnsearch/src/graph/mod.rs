//! Template graphs, permutations, structures and their canonical form.

mod canonical;
mod caps;
mod embed;
mod families;
mod mode_graph;
mod structure;
mod template;

pub use canonical::Canonical;
pub use families::{FAMILIES, Family, FamilyDescription, Layout, MAX_ORDER, family_list};
pub use mode_graph::ModeGraph;
pub use structure::{Structure, StructureFile, TemplateRef};
pub use template::{Template, VertexFile};

use thiserror::Error;

/// The most terms that a sum of products of vectors needs for any tensor of these dimensions: the product of all but the
/// largest (saturating).
pub(crate) fn most_terms(dims: &[usize]) -> usize {
    let largest = (0..dims.len()).max_by_key(|&n| dims[n]);
    let others = (0..dims.len()).filter(|&n| Some(n) != largest);
    others.fold(1usize, |terms, n| terms.saturating_mul(dims[n]))
}

/// Why a template or a structure is refused.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The name is not one of the templates.
    #[error("unknown template '{0}'; use {known} or a JSON file", known = family_list())]
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
    /// The structure, some of whose vertices carry several modes, has another number of modes than the tensor.
    #[error("the structure carries {modes} modes, but the tensor has {order} modes")]
    GroupedModes {
        /// The modes it carries.
        modes: usize,
        /// The order of the tensor.
        order: usize,
    },
    /// The modes of the vertices are not each mode once.
    #[error("bad modes {groups:?} of the vertices: {reason}")]
    BadGroups {
        /// The modes of each vertex.
        groups: Vec<Vec<usize>>,
        /// What is wrong with them.
        reason: String,
    },
    /// The graph is not simple, not connected, or names a vertex it does not have.
    #[error("bad graph: {0}")]
    BadGraph(String),
    /// The permutation does not map the modes onto the external vertices.
    #[error("bad permutation {permutation:?}: {reason}")]
    BadPermutation {
        /// The permutation given.
        permutation: Vec<usize>,
        /// What is wrong with it.
        reason: String,
    },
    /// An edge of a structure is not one of the template's, or stands twice.
    #[error("bad edge [{u},{v}]: {reason}")]
    BadEdge {
        /// One end.
        u: usize,
        /// The other end.
        v: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A rank is zero, or there is not one rank per edge.
    #[error("bad rank: {0}")]
    BadRank(String),
}

#[cfg(test)]
pub(crate) mod testing {
    //! Random structures for property tests.

    pub(crate) use super::families::tests::all;
    use super::*;
    use crate::rng::Rng;
    use rand::RngExt as _;
    use std::sync::Arc;

    /// `0..n` in random order.
    pub(crate) fn shuffled(n: usize, rng: &mut Rng) -> Vec<usize> {
        let mut p: Vec<usize> = (0..n).collect();
        for k in (1..n).rev() {
            p.swap(k, rng.random_range(0..=k));
        }
        p
    }

    /// A random permutation and ranks in `1..=max_rank`.
    pub(crate) fn random(template: &Arc<Template>, max_rank: usize, rng: &mut Rng) -> Structure {
        let external = template.external_vertices();
        let order = shuffled(external.len(), rng);
        let permutation = order.iter().map(|&k| external[k]).collect();
        let ranks = template.edges().iter().map(|_| rng.random_range(1..=max_rank)).collect();
        Structure::new(template.clone(), permutation, ranks).unwrap()
    }
}
