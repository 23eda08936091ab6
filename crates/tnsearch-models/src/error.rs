//! Why a model could not be compressed.

use super::calibration::CalibrationError;
use super::term::TermError;
use thiserror::Error;
use tnsearch::SettingError;
use tnsearch_io::lines::LinesError;
use tnsearch_io::output::OutputError;
use tnsearch_io::text::bytes;
use tnsearch_io::{FileError, Problem};

/// Why a model could not be compressed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The model.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is known about inputs.
    #[error(transparent)]
    Calibration(Box<CalibrationError>),
    /// The journal.
    #[error(transparent)]
    Journal(#[from] LinesError),
    /// The output.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// Two files that have to be different are one.
    #[error("{0}")]
    SameFile(String),
    /// Cores that do not go with their description.
    #[error("{0}")]
    Term(#[from] TermError),
    /// There is nothing to compress.
    #[error("{file}: no tensor in it can be compressed: {why}")]
    Nothing {
        /// The model.
        file: String,
        /// What there is.
        why: String,
    },
    /// The budget is too small.
    #[error(
        "{limit} {unit} are too few: what is left alone takes {alone}, and the layers at least {least}"
    )]
    TooFew {
        /// The limit given.
        limit: u64,
        /// Of what.
        unit: &'static str,
        /// What is not compressed takes so many.
        alone: u64,
        /// The smallest layers take so many.
        least: u64,
    },
    /// A layer needs more memory than there is.
    #[error("layer '{layer}' needs about {} of memory, but only {} may be taken; use --no-trees, or a smaller goal", bytes(u128::from(*needed)), bytes(u128::from(*limit)))]
    Memory {
        /// The layer.
        layer: String,
        /// Bytes it needs.
        needed: u64,
        /// Bytes there are.
        limit: u64,
    },
    /// A layer could not be computed.
    #[error(
        "layer '{layer}' cannot be decomposed: its numbers are too large, too small or not numbers"
    )]
    Numbers {
        /// The layer.
        layer: String,
    },
    /// The cores of a layer do not fit their type.
    #[error(
        "the cores of layer '{layer}' are too large or too small for {cores}; use --cores bf16, f32 or f64"
    )]
    Cores {
        /// The layer.
        layer: String,
        /// The type.
        cores: String,
    },
    /// The evaluation command fails on the model as it is.
    #[error("the evaluation command fails on the uncompressed model: {0}")]
    Evaluation(String),
    /// The system gives no threads.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// It was interrupted; what was done is in the journal.
    #[error("interrupted")]
    Interrupted,
}

impl From<CalibrationError> for ModelError {
    fn from(e: CalibrationError) -> Self {
        ModelError::Calibration(Box::new(e))
    }
}

impl ModelError {
    /// The system's refusal to read a file.
    pub(super) fn reading(file: &tnsearch_io::weights::WeightsFile, e: std::io::Error) -> Self {
        Problem::Io(e).of(file.path()).into()
    }
}
