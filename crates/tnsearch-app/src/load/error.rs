//! What can be wrong with a tensor, or what goes with it.

use crate::TensoriseError;
use std::error::Error;
use std::fmt::Display;
use std::path::Path;
use thiserror::Error;
use tnsearch::MemoryError;
use tnsearch::graph::GraphError;
use tnsearch::problem::{DataError, MaskError};
use tnsearch::tensor::TensorError;
use tnsearch_io::lines::LinesError;
use tnsearch_io::{FileError, Problem};

/// Why a tensor, or what goes with it, could not be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A journal cannot be read.
    #[error(transparent)]
    Journal(#[from] LinesError),
    /// A picture cannot be taken so.
    #[error(transparent)]
    Picture(#[from] TensoriseError),
    /// The tensor cannot be searched or fitted.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// What is known of it is nothing that can be.
    #[error(transparent)]
    Mask(#[from] MaskError),
    /// It would take too much memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// It would take too much memory, or is otherwise wrong.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// A structure is none, or for another tensor.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// Something is wrong with what a file holds, or an option says.
    #[error("{name}: {error}")]
    Of {
        /// The file, or the option.
        name: String,
        /// What is wrong.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
    /// What was asked for cannot be.
    #[error("{0}")]
    Asked(String),
}

impl LoadError {
    /// What is wrong with a file or an option.
    pub fn of(name: impl Display, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        LoadError::Of { name: name.to_string(), error: error.into() }
    }

    /// Whether it is that an entry is NaN, which may be a hole.
    pub fn is_nan(&self) -> bool {
        matches!(self, LoadError::Tensor(TensorError::NotFinite { value, .. }) if value.contains("NaN"))
    }

    /// The same about a file.
    pub(super) fn within(self, path: &Path) -> Self {
        let hint = if self.is_nan() { "; with --nan-missing NaN is taken as missing" } else { "" };
        match self {
            LoadError::Tensor(e) => {
                LoadError::Asked(format!("{}{hint}", Problem::from(e).of(path)))
            }
            LoadError::Problem(e) => e.of(path).into(),
            LoadError::Mask(e) => Self::of(path.display(), e),
            LoadError::Memory(e) => Self::of(path.display(), e),
            e => e,
        }
    }
}

impl From<DataError> for LoadError {
    fn from(e: DataError) -> Self {
        match e {
            DataError::Tensor(e) => e.into(),
            DataError::Mask(e) => e.into(),
            e => LoadError::Asked(e.to_string()),
        }
    }
}
