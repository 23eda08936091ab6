//! What the user can choose about an experiment.

use std::path::PathBuf;

/// What the user can choose; by default the paper's experiments in full, with seed 0.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// A small version that shows the experiment works.
    pub quick: bool,
    /// Tensors of each kind; none: as many as in the paper.
    pub trials: Option<usize>,
    /// Runs of each sampling method on each tensor (four times as many of TNLS in Table 3); none: 5.
    pub runs: Option<usize>,
    /// Another seed, other tensors and other searches.
    pub seed: u64,
    /// Where the measured data are, for the experiments on pictures (`images/` in it) and models (`regression/`).
    pub data: Option<PathBuf>,
}

impl Options {
    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn trials(&self, paper: usize) -> usize {
        self.trials.unwrap_or(if self.quick { 1 } else { paper })
    }

    pub(super) fn runs(&self) -> usize {
        self.runs.unwrap_or(if self.quick { 2 } else { 5 })
    }
}
