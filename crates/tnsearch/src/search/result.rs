//! What a search returns, and what it reports on the way.

use super::{HistoryPoint, JournalError, Outcome, ParetoPoint, Source};
use crate::fit::Fitted;
use crate::graph::{ModeGraph, Structure};
use crate::problem::{LowerBound, Score};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What became of the proposed structures, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Structures proposed; the sum of the others.
    pub samples: u64,
    /// Structures fitted.
    pub evaluations: u64,
    /// Structures that had been proposed before in their run.
    pub cached: u64,
    /// Structures known without a fit not to be the answer.
    pub pruned: u64,
    /// Structures too large to be fitted.
    pub refused: u64,
}

impl Counts {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.samples += 1;
        *match outcome.source {
            Source::Evaluated => &mut self.evaluations,
            Source::Cached => &mut self.cached,
            Source::Pruned => &mut self.pruned,
            Source::Refused => &mut self.refused,
        } += 1;
    }
}

/// The best structure and its cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The structure as it was proposed.
    pub structure: Structure,
    /// Its canonical form, on whose vertices the cores sit.
    pub graph: ModeGraph,
    /// Its cores and their RSE.
    pub fitted: Fitted,
    /// Its loss, RSE and parameters.
    pub score: Score,
    /// params / product of the dimensions.
    pub phi: f64,
    /// The run that found it, from 0.
    pub run: usize,
    /// That run's seed: one run with this seed finds it again.
    pub seed: u64,
}

/// One of several independent runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Its seed.
    pub seed: u64,
    /// What became of its structures.
    pub counts: Counts,
    /// Its best; none where it fitted nothing.
    pub best: Option<Score>,
    /// Whether that is what was asked for.
    pub target_reached: bool,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoppedBy {
    /// Every strategy had finished.
    Finished,
    /// The budget of evaluations was spent.
    MaxEvaluations,
    /// The time was up.
    MaxSeconds,
    /// The interrupt flag was set (Ctrl-C).
    Interrupted,
}

impl StoppedBy {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            StoppedBy::Finished => "finished",
            StoppedBy::MaxEvaluations => "max_evaluations",
            StoppedBy::MaxSeconds => "max_seconds",
            StoppedBy::Interrupted => "interrupted",
        }
    }
}

impl fmt::Display for StoppedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResult {
    /// The strategy's name.
    pub strategy: &'static str,
    /// The answer; none where nothing could be fitted (interrupted before the first fit was done, or
    /// every structure refused or beyond the budget).
    pub best: Option<Best>,
    /// Whether the answer is what was asked for (always so for `Lambda`, if there is an answer).
    pub target_reached: bool,
    /// What became of the structures, over all runs.
    pub counts: Counts,
    /// The runs.
    pub runs: Vec<RunSummary>,
    /// Why the search ended.
    pub stopped_by: StoppedBy,
    /// How long it took, the time before a resume included.
    pub seconds: f64,
    /// How the best improved, over all runs, in the order the structures were proposed.
    pub history: Vec<HistoryPoint>,
    /// The Pareto front of everything evaluated, by params.
    pub pareto: Vec<ParetoPoint>,
    /// A proven lower bound, where one was computed.
    pub lower_bound: Option<LowerBound>,
    /// Whether it is proven that no structure is what was asked for.
    pub proven_impossible: bool,
    /// Whether the answer is proven optimal.
    pub certified_optimal: bool,
    /// Why the journal is incomplete, if it is.
    pub journal_error: Option<JournalError>,
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What became of the structures so far.
    pub counts: Counts,
    /// The best so far.
    pub best: Option<Score>,
    /// Whether that is what was asked for.
    pub target_reached: bool,
    /// The generation, from 1 (the same for all runs).
    pub generation: u64,
    /// The structures that all strategies together will propose, where they know.
    pub planned_samples: Option<u64>,
    /// What a strategy has proven so far that no structure can go below ([`super::Strategy::lower_bound`]).
    pub lower_bound: Option<f64>,
    /// Seconds since the search began, the time before a resume included.
    pub seconds: f64,
}

/// Sees the progress of a search after each evaluation and each generation. It is called from the thread
/// that called [`super::Runner::search`] and cannot change the result. Any `FnMut(&Progress)` is one.
pub trait Observer {
    /// Called with the state of the search.
    fn on_progress(&mut self, progress: &Progress);
}

impl<F: FnMut(&Progress)> Observer for F {
    fn on_progress(&mut self, progress: &Progress) {
        self(progress);
    }
}
