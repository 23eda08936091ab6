//! Which entries of a tensor are missing: the options of commands that take data with holes.

use super::describe::line;
use crate::text::number;
use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tnsearch::dispatch;
use tnsearch::problem::{DataError, Mask, MaskError, Target};
use tnsearch::tensor::{AnyTensor, Kind, Reshape, Scalar, Tensor, TensorError};
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

    /// What true means in the mask.
    pub fn marks(&self) -> Marks {
        self.mask_marks
    }

    /// The mask's file, if there is one.
    pub fn mask_path(&self) -> Option<&str> {
        self.mask.as_deref()
    }
}

/// A tensor as it was read, what is known of it, and what was removed from that.
#[derive(Debug, Clone)]
pub struct Holed {
    /// All known entries; zero where nothing is known.
    pub whole: AnyTensor,
    /// Which entries are known to the fit, in the tensor's own shape.
    pub observed: Mask,
    /// Which were removed.
    pub removed: Option<Mask>,
}

impl Holes {
    /// What is known of a tensor, in its own shape.
    pub fn of(
        &self,
        mut tensor: AnyTensor,
        path: &Path,
        limit: MemoryLimit,
    ) -> anyhow::Result<Holed> {
        let dims = tensor.dims().to_vec();
        let mut known = vec![true; tensor.len()];
        if let Some(name) = &self.options.mask {
            known = self.read_mask(name, &dims, limit)?;
        }
        if self.options.nan_missing {
            (0..tensor.len()).filter(|&k| is_nan(&tensor, k)).for_each(|k| known[k] = false);
        }
        let named = |e: MaskError| anyhow!("{}: {e}", path.display());
        let observed = Mask::new(dims, known).map_err(named)?;
        let (observed, removed) = match self.remove {
            None => (observed, None),
            Some((share, seed)) => {
                let (left, removed) = observed.without(share, seed).map_err(named)?;
                (left, Some(removed))
            }
        };
        let inside =
            |k: usize| observed.contains(k) || removed.as_ref().is_some_and(|r| r.contains(k));
        clear(&mut tensor, inside);
        Ok(Holed { whole: tensor, observed, removed })
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

impl Holed {
    /// The data in the shape in which it is fitted.
    pub fn target(&self, reshape: Option<&Reshape>, path: &Path) -> anyhow::Result<Target> {
        let (mut tensor, mut mask) = (self.whole.clone(), self.observed.clone());
        if let Some(reshape) = reshape {
            tensor = reshape.apply(tensor);
            let flags = as_numbers(&mask).map_err(|e| anyhow!("{e}"))?;
            let flags = reshape.apply(flags);
            let inside = (0..flags.len()).map(|k| flags.entry(k).re == 1.0).collect();
            mask = Mask::new(flags.dims().to_vec(), inside)?;
        }
        Target::with_holes(tensor, &mask).map_err(|e| match e {
            DataError::Tensor(e) => explained(e, path),
            e => anyhow!("{}: {e}", path.display()),
        })
    }

    /// Entries in all that are missing.
    pub fn missing(&self) -> usize {
        self.whole.len() - self.observed.count()
    }

    /// The lines about the holes.
    pub fn lines(&self, out: &mut String) {
        let (missing, all) = (self.missing(), self.whole.len());
        let share = number(100.0 * missing as f64 / all as f64);
        let removed = self
            .removed
            .as_ref()
            .map_or(String::new(), |removed| format!(", {} of them removed here", removed.count()));
        line(out, "holes", format!("{share} % missing ({missing} of {all} entries{removed})"));
    }

    /// The slices without an observed entry in words, if there are any.
    pub fn empty_text(&self) -> Option<String> {
        const MOST: usize = 8;
        let empty = self.observed.empty_slices();
        let named: Vec<String> =
            empty.iter().take(MOST).map(|(mode, i)| format!("index {i} of mode {mode}")).collect();
        let more = match empty.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!empty.is_empty()).then(|| {
            format!(
                "no entry is observed at {}{more}; they are predicted by the mean of the others",
                named.join(", ")
            )
        })
    }
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

/// A mask as ones and zeros.
pub fn as_numbers(mask: &Mask) -> Result<AnyTensor, TensorError> {
    let ones = mask.as_slice().iter().map(|&inside| f64::from(u8::from(inside)));
    Ok(Tensor::new(mask.dims().to_vec(), ones.collect())?.into())
}

fn is_nan(tensor: &AnyTensor, k: usize) -> bool {
    let entry = tensor.entry(k);
    entry.re.is_nan() || entry.im.is_nan()
}

/// Sets what is not known to zero.
fn clear(tensor: &mut AnyTensor, known: impl Fn(usize) -> bool) {
    dispatch!(tensor, t => {
        for (k, x) in t.data_mut().iter_mut().enumerate() {
            if !known(k) {
                *x = Scalar::ZERO;
            }
        }
    });
}
