//! Why a decomposition could not be made.

use crate::fit::FitError;
use crate::graph::GraphError;
use crate::network::NetworkError;
use crate::problem::Target;
use crate::tensor::TensorError;
use crate::{MemoryError, SettingError};
use thiserror::Error;

/// Why truncation, spectra and bounds do not go with holes.
const HOLES: &str = "cuts of a tensor with holes bound nothing";

/// Refuses a tensor with holes.
pub(super) fn check_whole(target: &Target, method: &'static str) -> Result<(), DecomposeError> {
    match target.is_whole() {
        true => Ok(()),
        false => Err(DecomposeError::Holes { method }),
    }
}

/// Why a decomposition could not be made.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum DecomposeError {
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The template has a cycle.
    #[error(
        "template '{template}' is no tree ({edges} edges between {vertices} vertices); \
         use path, star, tree, ht or a graph without cycles"
    )]
    NotATree {
        /// The template's name.
        template: String,
        /// Its number of edges.
        edges: usize,
        /// Its number of vertices.
        vertices: usize,
    },
    /// A network with a hyperedge is not taken apart by SVDs.
    #[error(
        "a cp has no cores that truncated SVDs could give; use decompose --method cp-als on the tensor"
    )]
    Hyperedge,
    /// Template, permutation or ranks do not go together.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The tensor is not one that the method can work on.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The method needs every entry.
    #[error("the tensor has holes, and {method} needs every entry: {HOLES}")]
    Holes {
        /// The method.
        method: &'static str,
    },
    /// A fit on the way could not be made.
    #[error(transparent)]
    Fit(FitError),
    /// The decomposition would take more memory than it may.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// An SVD did not converge (no finite matrix is known for which that happens).
    #[error("the singular value decomposition of a {rows} x {columns} matrix did not converge")]
    NoConvergence {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// Options do not go together.
    #[error("{0}")]
    Asked(String),
    /// Interrupted before there was a result.
    #[error("interrupted")]
    Interrupted,
}

impl From<GraphError> for DecomposeError {
    fn from(error: GraphError) -> Self {
        DecomposeError::Network(error.into())
    }
}

impl From<FitError> for DecomposeError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Interrupted => DecomposeError::Interrupted,
            error => DecomposeError::Fit(error),
        }
    }
}
