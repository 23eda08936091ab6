//! Which entries of a tensor are missing: the options of commands that take data with holes.

use super::describe::line;
use crate::text::number;
use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tnsearch::problem::{DataError, Holed, MaskError, Target};
use tnsearch::tensor::{AnyTensor, Kind, Reshape, TensorError};
use tnsearch_io::{MemoryLimit, Problem, read_tensor};

/// Data with holes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Holes")]
pub struct HoleOptions {
    /// An array of the tensor's shape that says which entries are missing (bool, or zeros and ones)
    #[arg(long, value_name = "M.npy")]
    mask: Option<String>,
    /// What true means in the mask: missing (as in numpy's masked arrays) or observed
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Marks::Missing, requires = "mask")]
    mask_marks: Marks,
    /// Take NaN as missing
    #[arg(long)]
    nan_missing: bool,
}

/// What true means in a mask.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// Missing, as in numpy's masked arrays.
    #[default]
    Missing,
    /// Observed.
    Observed,
}

/// Which entries of a tensor are known, as far as a command was told.
#[derive(Debug, Clone)]
pub struct Holes {
    options: HoleOptions,
    /// The share of entries to be removed, and the seed that decides which.
    pub remove: Option<(f64, u64)>,
}

impl HoleOptions {
    /// The options, where there are any.
    pub fn check(&self) -> Option<Holes> {
        let any = self.mask.is_some() || self.nan_missing;
        any.then(|| Holes { options: self.clone(), remove: None })
    }

    /// The same, with some entries removed.
    pub fn removing(&self, share: f64, seed: u64) -> anyhow::Result<Holes> {
        if !(share > 0.0 && share < 1.0) {
            bail!("--missing is {share}; it must be above 0 and below 1");
        }
        Ok(Holes { options: self.clone(), remove: Some((share, seed)) })
    }

    /// The same with another mask.
    pub fn with_mask(&self, mask: &str, observed: bool) -> Self {
        let mask_marks = if observed { Marks::Observed } else { Marks::Missing };
        HoleOptions { mask: Some(mask.to_owned()), mask_marks, ..self.clone() }
    }

    /// What true means in the mask.
    pub fn marks(&self) -> Marks {
        self.mask_marks
    }

    /// The mask's file, if there is one.
    pub fn mask_path(&self) -> Option<&str> {
        self.mask.as_deref()
    }
}

impl Holes {
    /// What is known of a tensor, in its own shape.
    pub fn of(&self, tensor: AnyTensor, path: &Path, limit: MemoryLimit) -> anyhow::Result<Holed> {
        let read = |name: &String| self.read_mask(name, tensor.dims(), limit);
        let known = self.options.mask.as_ref().map(read).transpose()?;
        Holed::new(tensor, known, self.options.nan_missing, self.remove)
            .map_err(|e| anyhow!("{}: {e}", path.display()))
    }

    fn read_mask(
        &self,
        name: &str,
        dims: &[usize],
        limit: MemoryLimit,
    ) -> anyhow::Result<Vec<bool>> {
        let mask = read_tensor(name, Some(Kind::F64), limit)?.tensor;
        if mask.dims() != dims {
            let (found, expected) = (mask.dims().to_vec(), dims.to_vec());
            bail!("{name}: {}", MaskError::Shape { found, expected });
        }
        let values: Vec<f64> = (0..mask.len()).map(|k| mask.entry(k).re).collect();
        if let Some(bad) = values.iter().find(|v| **v != 0.0 && **v != 1.0) {
            bail!("{name}: a mask is of true and false (or ones and zeros), and this holds {bad}");
        }
        let observed = self.options.mask_marks == Marks::Observed;
        Ok(values.iter().map(|&v| (v == 1.0) == observed).collect())
    }
}

/// The data in the shape in which it is fitted.
pub fn target_of(holed: &Holed, reshape: Option<&Reshape>, path: &Path) -> anyhow::Result<Target> {
    holed.target(reshape).map_err(|e| match e {
        DataError::Tensor(e) => explained(e, path),
        e => anyhow!("{}: {e}", path.display()),
    })
}

/// The lines about the holes.
pub fn lines(holed: &Holed, out: &mut String) {
    let (missing, all) = (holed.missing(), holed.whole.len());
    let share = number(100.0 * missing as f64 / all as f64);
    let removed = holed
        .removed
        .as_ref()
        .map_or(String::new(), |removed| format!(", {} of them removed here", removed.count()));
    line(out, "holes", format!("{share} % missing ({missing} of {all} entries{removed})"));
}

/// A number that is no finite one may be a hole.
pub fn explained(e: TensorError, path: &Path) -> anyhow::Error {
    let nan = matches!(&e, TensorError::NotFinite { value, .. } if value.contains("NaN"));
    let hint = if nan { "; with --nan-missing NaN is taken as missing" } else { "" };
    anyhow!("{}{hint}", Problem::from(e).of(path))
}

/// The path of a mask, for messages about files that are the same.
pub fn mask_path(options: &HoleOptions) -> PathBuf {
    options.mask_path().map_or(PathBuf::new(), |name| tnsearch_io::split_key(name).0)
}
