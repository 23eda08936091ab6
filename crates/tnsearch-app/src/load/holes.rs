//! Which entries of a tensor are missing, as files say.

use super::{Known, LoadError};
use serde::{Deserialize, Serialize};
use tnsearch::problem::MaskError;
use tnsearch::tensor::Kind;
use tnsearch_io::{MemoryLimit, read_tensor};

/// What true means in a mask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// Missing, as in numpy's masked arrays.
    #[default]
    Missing,
    /// Observed.
    Observed,
}

/// Which entries of a tensor are known, as far as a command was told.
#[derive(Debug, Clone, Default)]
pub struct Holes {
    /// The file of a mask.
    pub mask: Option<String>,
    /// What true means in it.
    pub marks: Marks,
    /// Whether NaN is missing.
    pub nan_missing: bool,
    /// The share of entries to be removed, and the seed that decides which.
    pub remove: Option<(f64, u64)>,
}

impl Holes {
    /// What is known of a tensor, in its own shape.
    pub fn known(&self, dims: &[usize], limit: MemoryLimit) -> Result<Known, LoadError> {
        let inside =
            self.mask.as_ref().map(|name| self.read_mask(name, dims, limit)).transpose()?;
        Ok(Known { inside, nan_missing: self.nan_missing, remove: self.remove })
    }

    fn read_mask(
        &self,
        name: &str,
        dims: &[usize],
        limit: MemoryLimit,
    ) -> Result<Vec<bool>, LoadError> {
        let mask = read_tensor(name, Some(Kind::F64), limit)?.tensor;
        if mask.dims() != dims {
            let (found, expected) = (mask.dims().to_vec(), dims.to_vec());
            return Err(LoadError::of(name, MaskError::Shape { found, expected }));
        }
        let values: Vec<f64> = (0..mask.len()).map(|k| mask.entry(k).re).collect();
        if let Some(bad) = values.iter().find(|v| **v != 0.0 && **v != 1.0) {
            let text =
                format!("a mask is of true and false (or ones and zeros), and this holds {bad}");
            return Err(LoadError::of(name, text));
        }
        let observed = self.marks == Marks::Observed;
        Ok(values.iter().map(|&v| (v == 1.0) == observed).collect())
    }
}
