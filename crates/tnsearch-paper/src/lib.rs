//! The paper's experiments: every method on the same tensors with the same evaluator.
//!
//! An [`Experiment`] is a list of [`Task`]s, each of which gives one [`Cell`], and a way to make tables and
//! figures of the cells. Tasks do not depend on each other, so a caller can keep the cells that are done and go on
//! later. A method of one's own takes part as a [`Method`] like any other.

mod cell;
mod comparison;
mod experiment;
mod experiments;
mod figures;
mod gallery_table;
mod method;
mod options;
mod pictures;
mod processes;
mod published;
mod ranks_only;
mod table;
mod tasks;
mod trial;
mod uniform;

pub use cell::{Cell, Made, Setup, Shown};
pub use experiment::{Experiment, Output};
pub use method::Method;
pub use options::Options;
pub use tasks::Task;
pub use trial::Trial;

use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::decompose::DecomposeError;
use tnsearch::fit::FitError;
use tnsearch::graph::GraphError;
use tnsearch::problem::Measure;
use tnsearch::search::SearchError;

/// What the paper measures errors by.
static MEASURE: Measure = Measure::RSE;
/// The error of the synthetic experiments.
const MAX_RSE: f64 = 1e-4;
/// The weight of the error in the paper's loss, in the synthetic experiments.
const LAMBDA: f64 = 200.0;
/// The paper's largest rank in the synthetic experiments.
const MAX_RANK: usize = 7;

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
    /// The experiment needs pictures.
    #[error(
        "this experiment needs pictures: --data DIR, with {folder}/*.png in it (or --quick, which draws its own)"
    )]
    NoData {
        /// Where they are looked for in the data.
        folder: String,
    },
    /// The experiment needs tables.
    #[error(
        "this experiment needs tables: --data DIR, with {folder}/ccpp.csv, mg.csv and protein.csv in it (or --quick, which makes its own)"
    )]
    NoTables {
        /// Where they are looked for in the data.
        folder: &'static str,
    },
    /// A Gaussian process could not be trained or made smaller.
    #[error(transparent)]
    Tgp(#[from] tnsearch_tgp::TgpError),
    /// The folder of the pictures cannot be read, or holds none.
    #[error("no pictures in {folder}: {why}")]
    Folder {
        /// The folder.
        folder: String,
        /// Why.
        why: String,
    },
    /// A picture without colours where they are needed.
    #[error("picture {name} is grey; this experiment needs colours")]
    Grey {
        /// The picture.
        name: String,
    },
    /// A picture or a table could not be read.
    #[error(transparent)]
    Picture(#[from] tnsearch_io::FileError),
    /// A picture does not become a tensor.
    #[error(transparent)]
    Tensorise(#[from] tnsearch_app::tensorise::TensoriseError),
    /// Nothing of a picture can be removed.
    #[error(transparent)]
    Mask(#[from] tnsearch::problem::MaskError),
    /// The data are no tensor.
    #[error(transparent)]
    Data(#[from] tnsearch::problem::DataError),
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// A tensor could not be generated.
    #[error(transparent)]
    Synthetic(#[from] tnsearch_app::SyntheticError),
    /// A tensor or a fit's setting is wrong.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A search failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// A network is no tensor.
    #[error(transparent)]
    Network(#[from] tnsearch::network::NetworkError),
    /// A decomposition failed.
    #[error(transparent)]
    Decompose(#[from] DecomposeError),
    /// Holes could not be filled.
    #[error(transparent)]
    Complete(#[from] tnsearch::complete::CompleteError),
    /// The interrupt flag was set.
    #[error("interrupted")]
    Interrupted,
}

impl From<GraphError> for ReproduceError {
    fn from(error: GraphError) -> Self {
        ReproduceError::Synthetic(error.into())
    }
}
