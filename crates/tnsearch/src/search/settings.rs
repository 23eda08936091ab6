//! The runner's settings, checked once.

use crate::SettingError;
use crate::error::{count, positive};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// Budgets and limits of a search, over all its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunnerSettings {
    /// Fit at most this many structures. The cut is made in the order in which they are proposed, so it
    /// does not depend on the number of threads.
    pub max_evaluations: Option<u64>,
    /// End after this many seconds, with the best so far; the time before a resume does not count.
    pub max_seconds: Option<f64>,
    /// Structures with `params >= max_phi * prod(dims)` are not fitted. 10 in the authors' program.
    pub max_phi: f64,
    /// Structures are not fitted whose ALS sweep would take more than this many multiply-adds an entry of the
    /// tensor ([`crate::fit::sweep_cost`]); none: all are.
    pub max_cost: Option<f64>,
    /// Threads; none: one a processor.
    pub threads: Option<usize>,
    /// Fits at the same time, where memory is short; none: one a thread.
    pub max_parallel: Option<usize>,
}

impl Default for RunnerSettings {
    fn default() -> Self {
        RunnerSettings {
            max_evaluations: None,
            max_seconds: None,
            max_phi: 10.0,
            max_cost: None,
            threads: None,
            max_parallel: None,
        }
    }
}

impl RunnerSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedRunner, SettingError> {
        if self.max_evaluations == Some(0) {
            return Err(SettingError::new("max-evaluations", 0, "it must be at least 1"));
        }
        self.threads.map_or(Ok(()), |n| count("threads", n))?;
        self.max_parallel.map_or(Ok(()), |n| count("max-parallel", n))?;
        // Above this the thread library would fail, or bring the machine down.
        if let Some(n) = self.threads.filter(|&n| n > 4096) {
            return Err(SettingError::new("threads", n, "it must be at most 4096"));
        }
        self.max_seconds.map_or(Ok(()), |s| positive("max-seconds", s))?;
        if self.max_phi.is_nan() || self.max_phi <= 0.0 {
            return Err(SettingError::new("max-phi", self.max_phi, "it must be above 0"));
        }
        self.max_cost.map_or(Ok(()), |cost| positive("max-cost", cost))?;
        Ok(CheckedRunner(self))
    }
}

/// Settings that were checked; reads like [`RunnerSettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedRunner(RunnerSettings);

impl Deref for CheckedRunner {
    type Target = RunnerSettings;

    fn deref(&self) -> &RunnerSettings {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_budgets_that_allow_nothing() {
        let bad = |change: fn(&mut RunnerSettings)| {
            let mut s = RunnerSettings::default();
            change(&mut s);
            s.check().unwrap_err().to_string()
        };
        assert_eq!(
            bad(|s| s.max_evaluations = Some(0)),
            "max-evaluations is 0; it must be at least 1"
        );
        assert_eq!(
            bad(|s| s.max_seconds = Some(-1.0)),
            "max-seconds is -1; it must be a positive number"
        );
        assert!(bad(|s| s.max_seconds = Some(f64::NAN)).starts_with("max-seconds is NaN"));
        assert!(bad(|s| s.threads = Some(0)).starts_with("threads is 0"));
        assert!(bad(|s| s.threads = Some(1_000_000)).starts_with("threads is 1000000"));
        assert!(bad(|s| s.max_parallel = Some(0)).starts_with("max-parallel is 0"));
        assert!(bad(|s| s.max_phi = 0.0).starts_with("max-phi is 0"));
        assert!(bad(|s| s.max_cost = Some(-1.0)).starts_with("max-cost is -1"));
        assert!(RunnerSettings::default().check().is_ok());
    }
}
