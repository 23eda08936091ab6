//! Which entries of a tensor are missing: the options of commands that take data with holes.

use super::describe::line;
use crate::text::number;
use anyhow::bail;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tnsearch::problem::Holed;
use tnsearch_app::load::{self, Holes};

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Marks {
    /// Missing, as in numpy's masked arrays.
    #[default]
    Missing,
    /// Observed.
    Observed,
}

impl HoleOptions {
    /// The options, where there are any.
    pub fn check(&self) -> Option<Holes> {
        let any = self.mask.is_some() || self.nan_missing;
        any.then(|| self.holes(None))
    }

    /// The same, with some entries removed.
    pub fn removing(&self, share: f64, seed: u64) -> anyhow::Result<Holes> {
        if !(share > 0.0 && share < 1.0) {
            bail!("--missing is {share}; it must be above 0 and below 1");
        }
        Ok(self.holes(Some((share, seed))))
    }

    fn holes(&self, remove: Option<(f64, u64)>) -> Holes {
        let (mask, nan_missing) = (self.mask.clone(), self.nan_missing);
        Holes { mask, marks: self.marks(), nan_missing, remove }
    }

    /// The same with another mask.
    pub fn with_mask(&self, mask: &str, observed: bool) -> Self {
        let mask_marks = if observed { Marks::Observed } else { Marks::Missing };
        HoleOptions { mask: Some(mask.to_owned()), mask_marks, ..self.clone() }
    }

    /// What true means in the mask.
    pub fn marks(&self) -> load::Marks {
        match self.mask_marks {
            Marks::Missing => load::Marks::Missing,
            Marks::Observed => load::Marks::Observed,
        }
    }

    /// The mask's file, if there is one.
    pub fn mask_path(&self) -> Option<&str> {
        self.mask.as_deref()
    }
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

/// The path of a mask, for messages about files that are the same.
pub fn mask_path(options: &HoleOptions) -> PathBuf {
    options.mask_path().map_or(PathBuf::new(), |name| tnsearch_io::split_key(name).0)
}
