//! What is known about the inputs of layers: a file with a tensor for each.

use super::layer::Layer;
use super::metric::Metric;
use thiserror::Error;
use tnsearch::tensor::Scalar;
use tnsearch_io::weights::{WeightsFile, is_float, shown};
use tnsearch_io::{FileError, Problem};

/// A part of the mean weight that every input gets, so that none is free.
const RIDGE: f64 = 1e-3;

/// A calibration that does not go with the model.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A tensor of the wrong shape.
    #[error(
        "{file}: '{name}' has shape {found:?}; layer '{layer}' has {inputs} inputs, so it needs {expected}"
    )]
    Shape {
        /// The file.
        file: String,
        /// The tensor.
        name: String,
        /// The layer.
        layer: String,
        /// Its inputs.
        inputs: usize,
        /// The shape found.
        found: Vec<usize>,
        /// What would be right.
        expected: &'static str,
    },
    /// A covariance that is none.
    #[error("{file}: '{name}' is no covariance: its diagonal must be at least 0, and not all 0")]
    Covariance {
        /// The file.
        file: String,
        /// The tensor.
        name: String,
    },
    /// Nothing in it is of use.
    #[error(
        "{file}: no tensor in it is called as a layer that is compressed, such as '{example}' (inputs, one to a row) or '{example}.covariance'"
    )]
    Nothing {
        /// The file.
        file: String,
        /// The name of a layer.
        example: String,
    },
}

/// The covariances of inputs, by layer.
#[derive(Debug)]
pub struct Calibration {
    file: WeightsFile,
}

impl Calibration {
    /// A file whose tensors are called as the layers, `NAME` for inputs (one to a row) or `NAME.covariance`; checked against
    /// the layers.
    pub fn new(file: WeightsFile, layers: &[Layer]) -> Result<Self, CalibrationError> {
        let calibration = Calibration { file };
        let mut found = false;
        for layer in layers {
            if let Some((k, covariance)) = calibration.find(layer) {
                found = true;
                calibration.check(layer, k, covariance)?;
            }
        }
        let file = calibration.file.path().display().to_string();
        match layers.first() {
            Some(first) if !found => {
                Err(CalibrationError::Nothing { file, example: shown(&first.name) })
            }
            _ => Ok(calibration),
        }
    }

    /// Its hash.
    pub fn fingerprint(&self) -> &str {
        self.file.fingerprint()
    }

    /// Whether it knows a layer.
    pub fn knows(&self, layer: &Layer) -> bool {
        self.find(layer).is_some()
    }

    fn find(&self, layer: &Layer) -> Option<(usize, bool)> {
        let covariance = self.file.find(&format!("{}.covariance", layer.name)).map(|k| (k, true));
        covariance.or_else(|| self.file.find(&layer.name).map(|k| (k, false)))
    }

    fn check(&self, layer: &Layer, k: usize, covariance: bool) -> Result<(), CalibrationError> {
        let entry = &self.file.entries()[k];
        let (file, name) = (self.file.path().display().to_string(), shown(&entry.name));
        if !entry.dtype().is_some_and(is_float) {
            return Err(Problem::Dtype(entry.stored.clone()).of(self.file.path()).into());
        }
        let (shape, n) = (&entry.shape[..], layer.columns);
        let fits = match covariance {
            true => shape == [n, n],
            false => shape.len() >= 2 && shape.last() == Some(&n) && entry.count() > 0,
        };
        if fits {
            return Ok(());
        }
        let expected = if covariance { "inputs x inputs" } else { "samples x inputs" };
        let (layer, inputs, found) = (shown(&layer.name), n, entry.shape.clone());
        Err(CalibrationError::Shape { file, name, layer, inputs, found, expected })
    }

    /// The metric of a layer; none where it is not known.
    pub fn metric<T: Scalar>(&self, layer: &Layer) -> Result<Option<Metric<T>>, CalibrationError> {
        let Some((k, covariance)) = self.find(layer) else { return Ok(None) };
        let numbers: Vec<T> = self.file.read(k)?;
        let metric = match covariance {
            true => Metric::of_covariance(&numbers, layer.columns),
            false => Metric::of_samples(&numbers, layer.columns),
        };
        if !metric.is_sound() {
            let file = self.file.path().display().to_string();
            let name = shown(&self.file.entries()[k].name);
            return Err(CalibrationError::Covariance { file, name });
        }
        Ok(Some(metric.with_ridge(RIDGE)))
    }
}
