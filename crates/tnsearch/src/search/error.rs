//! What can go wrong before or during a search.

use crate::SettingError;
use crate::bound::BoundError;
use crate::fit::FitError;
use crate::graph::GraphError;
use thiserror::Error;

/// Why a search could not be made.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// No structure can be as small as asked for.
    #[error(
        "max-params is {max_params}, too few: with all ranks 1 this template has {least} params"
    )]
    TooFewParams {
        /// The budget given.
        max_params: u128,
        /// The parameters of the smallest network.
        least: u128,
    },
    /// A strategy that needs bounds cannot have them.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// A strategy asked for bounds that nobody computed.
    #[error("this strategy needs the bounds of the tensor's cuts, which are not at hand")]
    NoBounds,
    /// A strategy proposed a structure that does not fit the tensor.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A fit failed for a reason that no other structure would cure.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(String),
    /// An executor could not be made.
    #[error("the executor cannot be made: {0}")]
    Executor(String),
}

impl From<std::io::Error> for SearchError {
    fn from(e: std::io::Error) -> Self {
        SearchError::Executor(e.to_string())
    }
}
