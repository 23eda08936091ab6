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
    use crate::problem::Objective;
    use crate::search::Engine;
    use crate::search::engine::testing::{Listing, TestExecutor, code, fitted};

    /// A search whose fits have these errors.
    fn search(eps: f64, errors: &'static [(usize, f64)]) -> SearchResult {
        let mut bench = TestExecutor::new(1).replying(|_, request, _| {
            let found = errors.iter().find(|(c, _)| *c == code(&request.graph)).unwrap();
            Some(Ok(fitted(&request.graph, found.1)))
        });
        let objective = Objective::MaxError(eps).check().unwrap();
        let fit = crate::fit::FitSettings::default().check().unwrap();
        let engine = Engine::new(&[3; 4], objective, fit).max_phi(1e9);
        engine.runs(5, 1, |_| Listing::of(errors.iter().map(|e| e.0))).run(&mut bench).unwrap()
    }

    #[test]
    fn an_answer_that_misses_what_was_asked_for_says_so_and_no_other_does() {
        let text = |result: &SearchResult| result.missed_text(|x| x.to_string());
        let missed = search(0.01, &[(7, 0.25), (8, 0.36)]);
        assert_eq!(
            text(&missed).unwrap(),
            "the target was NOT reached: RE 0.5, not 0.1; no other of the 2 structures fitted came nearer"
        );
        let one = search(0.01, &[(7, 0.25)]);
        assert!(text(&one).unwrap().ends_with("; it is the one structure fitted"));
        // Direct fits are among those fitted.
        let direct = Counts { direct: 3, ..one.counts };
        let more = text(&SearchResult { counts: direct, ..one });
        assert!(more.unwrap().contains("of the 4 structures fitted"));
        assert_eq!(text(&search(0.3, &[(7, 0.25)])), None);
        let nothing = SearchResult { best: None, ..missed };
        assert_eq!(text(&nothing), None);
    }

    #[test]
    fn a_kind_of_number_is_to_blame_only_where_it_is_too_coarse() {
        let missed = search(1e-16, &[(7, 0.25)]);
        assert!(missed.rounding_text(Kind::F32).unwrap().contains("f64"));
        assert_eq!(missed.rounding_text(Kind::F64), None);
        assert_eq!(search(1e-16, &[(7, 0.0)]).rounding_text(Kind::F32), None, "it was reached");
        let other = Measure::new("kl", "KL", "divergence", None);
        let other = SearchResult { measure: other, ..missed };
        assert_eq!(other.rounding_text(Kind::F32), None, "of another error nothing is known");
    }

    #[test]
    fn the_end_that_is_told_is_the_result() {
        let result = search(0.3, &[(7, 0.25), (8, 0.36)]);
        let end = result.end_record();
        let best = result.best.as_ref().unwrap();
        assert_eq!(end.best.as_ref(), Some(&best.evaluation));
        assert_eq!((end.counts, end.seconds), (result.counts, result.seconds));
        assert_eq!((end.target_reached, end.stopped_by), (true, StoppedBy::Finished));
        assert_eq!(end.stages, Some(result.stages));
        let network = best.network(&[3; 4]).unwrap();
        assert_eq!(network.structure(), &best.structure);
    }
}
