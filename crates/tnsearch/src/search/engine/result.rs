//! What a search returns.

use super::{
    Counts, EndRecord, Evaluation, FormatBest, HistoryPoint, ListenerError, NoAnswer, ParetoPoint,
    Stages, missed, nearest,
};
use crate::bound::NeededRank;
use crate::fit::Fitted;
use crate::graph::{ModeGraph, Structure};
use crate::network::{Network, NetworkError};
use crate::problem::{LowerBound, Measure, Score, Statement};
use crate::search::splits::SplitSummary;
use crate::tensor::Kind;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The best structure and its cores.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Best {
    /// The structure as it was proposed.
    pub structure: Structure,
    /// Its canonical form, on whose vertices the cores sit.
    pub graph: ModeGraph,
    /// Its cores and their error.
    pub fitted: Fitted,
    /// Its loss, error and parameters.
    pub score: Score,
    /// params / product of the dimensions.
    pub phi: f64,
    /// The record of its evaluation.
    pub evaluation: Evaluation,
    /// The run that found it, from 0.
    pub run: usize,
    /// That run's seed: one run with this seed finds it again.
    pub seed: u64,
}

impl Best {
    /// The network: the structure with its cores, for a tensor of these dimensions.
    pub fn network(&self, dims: &[usize]) -> Result<Network, NetworkError> {
        Network::from_fitted(self.structure.clone(), dims.to_vec(), self.fitted.cores.clone())
    }
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

/// The smaller tensor that was searched ([`crate::problem::Target::shrink`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShrunkSummary {
    /// Its dimensions.
    pub dims: Vec<usize>,
    /// What was lost by it: the least RSE that any answer can have.
    pub lost: f64,
    /// How long it took.
    pub seconds: f64,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StoppedBy {
    /// Every strategy had finished.
    Finished,
    /// The budget of evaluations was spent.
    MaxEvaluations,
    /// The time was up.
    MaxSeconds,
    /// It was asked to stop (Ctrl-C).
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
#[non_exhaustive]
pub struct SearchResult {
    /// The strategy's name.
    pub strategy: String,
    /// The answer; none where nothing could be fitted (interrupted before the first fit was done, or
    /// every structure refused or beyond the budget).
    pub best: Option<Best>,
    /// Why there is none, where there is none.
    pub no_answer: Option<NoAnswer>,
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
    /// The networks of the front, by params, where they were asked for ([`Engine::front`](super::Engine::front)); those
    /// that could not be fitted again before a stop are left out.
    pub front: Vec<Best>,
    /// The best of each format, the best first, where structures of several were fitted; else empty.
    pub formats: Vec<FormatBest>,
    /// What is proven, over which structures, and how the answer stands to it: the next four follow from it.
    pub statement: Statement,
    /// A proven lower bound over [the structures it is about](Statement::over), where one was computed.
    pub lower_bound: Option<LowerBound>,
    /// Whether it is proven that none of those structures is what was asked for.
    pub proven_impossible: bool,
    /// Where that is proven: the rank that the template needs at least, if it is above the largest allowed.
    pub needed_rank: Option<NeededRank>,
    /// Whether the answer is one of those structures, and none of them is better.
    pub certified_optimal: bool,
    /// The largest rank that the answer may have, where it was told one.
    pub max_rank: Option<usize>,
    /// Fits made by idle workers that nothing asked for in the end. Depends on the number of workers.
    pub speculative: u64,
    /// What the error is called.
    pub measure: Measure,
    /// The smaller tensor that was searched in the place of X, where it was one.
    pub shrunk: Option<ShrunkSummary>,
    /// The split in which it was searched, where it was not asked for: then structures, dimensions and networks are those
    /// of the split tensor.
    pub split: Option<SplitSummary>,
    /// Where the time went.
    pub stages: Stages,
    /// Why a listener gave up (a journal is incomplete), if one did.
    pub listener_error: Option<ListenerError>,
}

impl SearchResult {
    /// The end as the listeners hear it.
    pub fn end_record(&self) -> EndRecord {
        EndRecord {
            strategy: self.strategy.clone(),
            stopped_by: self.stopped_by,
            counts: self.counts,
            seconds: self.seconds,
            best: self.best.as_ref().map(|best| best.evaluation.clone()),
            target_reached: self.target_reached,
            lower_bound: self.lower_bound,
            certified_optimal: self.certified_optimal,
            proven_impossible: self.proven_impossible,
            statement: Some(self.statement.record()),
            no_answer: self.no_answer,
            max_rank: self.max_rank,
            stages: Some(self.stages),
        }
    }

    /// That what was asked for was missed, by how much, and what the answer is instead; none where it was reached, or
    /// nothing was fitted.
    pub fn missed_text(&self, number: impl Fn(f64) -> String) -> Option<String> {
        let best = self.best.as_ref().filter(|_| !self.target_reached)?;
        let (fitted, objective) =
            (self.counts.evaluations + self.counts.direct, self.statement.objective);
        let nearest = nearest(&self.pareto);
        Some(missed(&best.score, nearest, fitted, objective, &self.measure, number))
    }

    /// What networks of a kind of number can reach, where that is why the error was missed.
    pub fn rounding_text(&self, kind: Kind) -> Option<String> {
        let eps = self.statement.objective.max_error().filter(|_| !self.target_reached)?;
        (self.measure == Measure::RSE).then(|| kind.too_coarse_for(eps))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_search_ended_has_one_name_everywhere() {
        use StoppedBy::{Finished, Interrupted, MaxEvaluations, MaxSeconds};
        let names = ["finished", "max_evaluations", "max_seconds", "interrupted"];
        for (why, name) in [Finished, MaxEvaluations, MaxSeconds, Interrupted].iter().zip(names) {
            assert_eq!((why.name(), why.to_string()), (name, name.to_owned()));
            assert_eq!(serde_json::to_value(why).unwrap(), name);
        }
    }
}
