//! The settings of a completion, checked once.

use crate::SettingError;
use crate::error::count;
use crate::fit::FitSettings;
use crate::graph::Template;
use std::ops::Deref;
use std::sync::Arc;

/// How the holes of a tensor are filled.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CompleteSettings {
    /// The share of the observed entries that is held out to choose the structure.
    pub held_out: f64,
    /// How many times entries are held out: with more than one, the observed entries are parted in so many, and each
    /// part is held out once. Five where 1 would hold out fewer than 40 entries.
    pub folds: usize,
    /// Where more entries are fitted, ranks grow on so many of them first, and then go on growing on all.
    pub first_entries: usize,
    /// The format; none: several are tried.
    pub template: Option<Arc<Template>>,
    /// The largest rank of an edge.
    pub max_rank: usize,
    /// How structures are fitted; its ridge is the first that is tried.
    pub fit: FitSettings,
    /// Sweeps over all observed entries at the end.
    pub last_sweeps: usize,
    /// Decides what is held out and how fits begin.
    pub seed: u64,
    /// End after this many seconds with the best so far.
    pub max_seconds: Option<f64>,
}

impl Default for CompleteSettings {
    fn default() -> Self {
        let fit =
            FitSettings { restarts: 1, max_sweeps: 60, tolerance: 1e-3, ..FitSettings::default() };
        CompleteSettings {
            held_out: 0.1,
            folds: 1,
            first_entries: 1 << 16,
            template: None,
            max_rank: 64,
            fit,
            last_sweeps: 3,
            seed: 0,
            max_seconds: None,
        }
    }
}

impl CompleteSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedComplete, SettingError> {
        if !(self.held_out > 0.0 && self.held_out < 1.0) {
            let expected = "it must be above 0 and below 1";
            return Err(SettingError::new("held-out", self.held_out, expected));
        }
        count("folds", self.folds)?;
        count("first-entries", self.first_entries)?;
        count("max-rank", self.max_rank)?;
        self.fit.clone().check()?;
        crate::search::Budget { max_seconds: self.max_seconds, ..Default::default() }.check()?;
        Ok(CheckedComplete(self))
    }
}

/// Settings that were checked; reads like [`CompleteSettings`].
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedComplete(CompleteSettings);

impl Deref for CheckedComplete {
    type Target = CompleteSettings;

    fn deref(&self) -> &CompleteSettings {
        &self.0
    }
}
