//! All that decides the result of a search, and what it may use: one serialisable value.

use super::StrategySpec;
use crate::SettingError;
use crate::error::{count, positive};
use crate::fit::{CheckedFit, FitSettings};
use crate::problem::{CheckedObjective, Objective};
use serde::{Deserialize, Serialize};

/// Structures that may be under way at a time; each takes some hundred bytes.
const MAX_AT_ONCE: usize = 1_000_000;

/// The settings of a [`crate::Search`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SearchSettings {
    /// What counts as the smallest network.
    pub objective: Objective,
    /// How structures are proposed.
    pub strategy: StrategySpec,
    /// The largest rank R of an edge.
    pub max_rank: usize,
    /// Walks and direct methods may use ranks up to this, where it is more; what is proven is proven for `max_rank`.
    pub widest_rank: Option<usize>,
    /// Whether the search begins with what direct methods give (truncated SVDs in the orders that the spectra suggest), so
    /// that it ends with nothing worse, and `auto` goes on with walks. Else it begins at random, as in the paper.
    pub direct: bool,
    /// Independent runs with derived seeds; the best counts.
    pub runs: usize,
    /// Same seed, same data, same settings: same result, at any number of workers.
    pub seed: u64,
    /// Whether structures are left out that a bound proves cannot win.
    pub prune: bool,
    /// Whether a smaller tensor is searched in the place of X where that pays ([`crate::problem::Target::shrink`]).
    pub shrink: bool,
    /// Nodes that may be expanded after the search to prove a lower bound; 0: prove none.
    pub certificate_nodes: u64,
    /// How structures are fitted. Its `enough_rse` follows from the objective.
    pub fit: FitSettings,
    /// Levenberg-Marquardt starts where ALS was not good enough; none: as the strategy's description says.
    pub rescue: Option<usize>,
    /// Structures with `params >= max_phi * prod(dims)` are not fitted. 10 in the authors' program.
    pub max_phi: f64,
    /// Structures are not fitted whose ALS sweep would take more than this many multiply-adds per entry of the
    /// tensor ([`crate::fit::sweep_cost`]); none: as the strategy's description says.
    pub max_cost: Option<f64>,
    /// What it may use. Changes no result but where the search ends.
    pub budget: Budget,
}

/// What a search may use. May change from one part of a search to the next.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Budget {
    /// Fit at most this many structures.
    pub max_evaluations: Option<u64>,
    /// End after this many seconds, with the best so far; the time before a resume does not count.
    pub max_seconds: Option<f64>,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
    /// Bytes of memory; none: no limit.
    pub max_bytes: Option<u64>,
}

impl Default for SearchSettings {
    fn default() -> Self {
        SearchSettings {
            objective: Objective::MaxError(1e-4),
            strategy: StrategySpec::default(),
            max_rank: 7,
            widest_rank: None,
            direct: true,
            runs: 1,
            seed: 0,
            prune: true,
            shrink: true,
            certificate_nodes: 200_000,
            fit: FitSettings::default(),
            rescue: None,
            max_phi: 10.0,
            max_cost: None,
            budget: Budget::default(),
        }
    }
}

impl Budget {
    /// Checks every number.
    pub fn check(&self) -> Result<(), SettingError> {
        if self.max_evaluations == Some(0) {
            return Err(SettingError::new("max-evaluations", 0, "it must be at least 1"));
        }
        self.threads.map_or(Ok(()), |n| count("threads", n))?;
        // Above this the system would fail, or the machine come down.
        if let Some(n) = self.threads.filter(|&n| n > 4096) {
            return Err(SettingError::new("threads", n, "it must be at most 4096"));
        }
        self.max_seconds.map_or(Ok(()), |s| positive("max-seconds", s))
    }

    /// The threads to use: those asked for, or one per processor.
    pub fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(processors)
    }

    /// As many fits at a time as threads and memory allow: a fit holds a few copies of the tensor.
    pub(super) fn workers(&self, tensor_bytes: u128) -> usize {
        let fits = self
            .max_bytes
            .map_or(u128::MAX, |b| u128::from(b) / tensor_bytes.saturating_mul(4).max(1));
        self.threads().min(usize::try_from(fits).unwrap_or(usize::MAX)).max(1)
    }
}

impl SearchSettings {
    /// The largest rank that anything in the search may use: `widest_rank` where that is more than `max_rank`.
    pub fn widest(&self) -> usize {
        self.widest_rank.map_or(self.max_rank, |widest| widest.max(self.max_rank))
    }

    /// Checks everything but the strategy, and gives the objective and the settings of fits that follow.
    pub(super) fn check(
        &self,
        default_rescue: usize,
    ) -> Result<(CheckedObjective, CheckedFit), SettingError> {
        let objective = self.objective.check()?;
        count("runs", self.runs)?;
        count("max-rank", self.max_rank)?;
        if self.max_phi.is_nan() || self.max_phi <= 0.0 {
            return Err(SettingError::new("max-phi", self.max_phi, "it must be above 0"));
        }
        self.max_cost.map_or(Ok(()), |cost| positive("max-cost", cost))?;
        self.budget.check()?;
        Ok((objective, self.fit_settings(default_rescue).check()?))
    }

    /// Checks everything that can be checked without data.
    pub fn check_all(&self) -> Result<(), SettingError> {
        let description = self.strategy.description()?;
        self.check(description.rescue)?;
        self.check_at_once(self.strategy.check(self.max_rank)?.at_once())
    }

    /// The settings of fits: a fit that has reached the error need not go on.
    fn fit_settings(&self, default_rescue: usize) -> FitSettings {
        let of = &self.fit;
        FitSettings {
            enough_rse: self.objective.max_error().unwrap_or(of.enough_rse),
            rescue: self.rescue.unwrap_or(default_rescue),
            max_bytes: of.max_bytes.or(self.budget.max_bytes),
            ..of.clone()
        }
    }

    /// Refuses more structures at a time than memory is meant for.
    pub(super) fn check_at_once(
        &self,
        (option, at_once): (&str, usize),
    ) -> Result<(), SettingError> {
        if self.runs.saturating_mul(at_once) <= MAX_AT_ONCE {
            return Ok(());
        }
        let expected = format!(
            "times {option} {at_once} it is more than {MAX_AT_ONCE} structures at a time; use fewer of either"
        );
        Err(SettingError::new("runs", self.runs, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_budgets_that_allow_nothing() {
        let bad = |change: fn(&mut SearchSettings)| {
            let mut s = SearchSettings::default();
            change(&mut s);
            s.check(0).unwrap_err().to_string()
        };
        assert_eq!(
            bad(|s| s.budget.max_evaluations = Some(0)),
            "max-evaluations is 0; it must be at least 1"
        );
        assert_eq!(
            bad(|s| s.budget.max_seconds = Some(-1.0)),
            "max-seconds is -1; it must be a positive number"
        );
        assert!(bad(|s| s.budget.max_seconds = Some(f64::NAN)).starts_with("max-seconds is NaN"));
        assert!(bad(|s| s.budget.threads = Some(0)).starts_with("threads is 0"));
        assert!(bad(|s| s.budget.threads = Some(1_000_000)).starts_with("threads is 1000000"));
        assert!(bad(|s| s.max_phi = 0.0).starts_with("max-phi is 0"));
        assert!(bad(|s| s.max_cost = Some(-1.0)).starts_with("max-cost is -1"));
        assert!(bad(|s| s.runs = 0).starts_with("runs is 0"));
        assert!(SearchSettings::default().check(0).is_ok());
        let many = SearchSettings { runs: 2_000_000, ..SearchSettings::default() };
        assert!(many.check_at_once(("samples", 1)).unwrap_err().to_string().contains("samples 1"));
    }

    #[test]
    fn settings_survive_json_and_defaults_fill_in() {
        let settings = SearchSettings {
            objective: Objective::Lambda(200.0),
            strategy: StrategySpec::new("tnls").set("samples", 5),
            ..SearchSettings::default()
        };
        let json = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<SearchSettings>(&json).unwrap(), settings);
        assert_eq!(
            serde_json::from_str::<SearchSettings>("{}").unwrap(),
            SearchSettings::default()
        );
    }

    #[test]
    fn memory_limits_the_workers() {
        let budget = |max_bytes| Budget { threads: Some(8), max_bytes, ..Budget::default() };
        assert_eq!(budget(None).workers(1000), 8);
        assert_eq!(budget(Some(12_000)).workers(1000), 3);
        assert_eq!(budget(Some(1)).workers(1000), 1);
    }
}
