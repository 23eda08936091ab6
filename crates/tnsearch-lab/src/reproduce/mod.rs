//! The paper's synthetic experiments: every method on the same tensors with the same evaluator.
//!
//! An [`Experiment`] is a list of [`Task`]s, each of which gives one [`Cell`], and a way to make tables and
//! figures of the cells. Tasks do not depend on each other, so a caller can keep the cells that are done and go on
//! later. A method of one's own takes part as a [`Method`] like any other.

mod cell;
mod comparison;
mod experiment;
mod figures;
mod method;
mod published;
mod ranks_only;
mod table;
mod trial;

pub use cell::{Cell, Setup};
pub use experiment::{Experiment, Options, Output, Task};
pub use method::Method;
pub use trial::Trial;

use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::decompose::DecomposeError;
use tnsearch::fit::FitError;
use tnsearch::graph::GraphError;
use tnsearch::search::SearchError;

/// Why an experiment could not be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// No experiment has this name.
    #[error("unknown experiment '{name}'; use {known}", known = Experiment::NAMES.join(", "))]
    Unknown {
        /// The name given.
        name: String,
    },
    /// An option is out of range.
    #[error("{name} is {value}; {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// The value given.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A tensor could not be generated.
    #[error(transparent)]
    Synthetic(#[from] crate::SyntheticError),
    /// A tensor or a fit's setting is wrong.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A search failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A decomposition failed.
    #[error(transparent)]
    Decompose(#[from] DecomposeError),
    /// The interrupt flag was set.
    #[error("interrupted")]
    Interrupted,
}

impl From<GraphError> for ReproduceError {
    fn from(error: GraphError) -> Self {
        ReproduceError::Synthetic(error.into())
    }
}
