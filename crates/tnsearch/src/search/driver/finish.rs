//! The end of a search: its answer, its cores, its certificate.

use super::Search;
use crate::bound::{Candidate, Next};
use crate::fit::FitError;
use crate::problem::Stop;
use crate::problem::{LowerBound, Score};
use crate::search::{Best, RunSummary, SearchError, SearchResult, StoppedBy};

impl Search<'_, '_> {
    /// The best lower bound a strategy has proven, or that of the certificate; and whether it shows that
    /// nothing is what was asked for.
    fn certificate(&mut self) -> (Option<LowerBound>, bool) {
        let objective = self.runner.objective.get();
        let proven = self.runner.runs.iter().filter_map(|run| run.strategy.lower_bound());
        if let Some(value) = proven.reduce(f64::max) {
            let bound = value.is_finite().then(|| objective.lower_bound(value));
            return (bound, value == f64::INFINITY);
        }
        let Some((make, nodes)) = self.runner.certificate.take() else { return (None, false) };
        if self.runner.interrupt.is_set() {
            return (None, false);
        }
        let mut relaxation = make();
        loop {
            /// Nodes between two looks at the interrupt flag.
            const SLICE: u64 = 10_000;
            match relaxation.next(SLICE.min(nodes.saturating_sub(relaxation.expanded()))) {
                Next::Spent(_)
                    if relaxation.expanded() < nodes
                        && !relaxation.is_full()
                        && !relaxation.hurried()
                        && !self.runner.interrupt.is_set() => {}
                Next::Candidate(Candidate { value, .. }) | Next::Spent(value) => {
                    return (Some(objective.lower_bound(value)), false);
                }
                Next::Nothing => return (None, true),
            }
        }
    }

    pub(super) fn finish(mut self) -> Result<SearchResult, SearchError> {
        let mut cores = self.ledger.take_cores();
        let mut leader = self.ledger.leader.take();
        if let (None, Some((only, _, fitted))) = (&leader, self.cut_short.take()) {
            (leader, cores) = (Some(only), Some(fitted));
        }
        let best = leader.map(|leader| {
            let (seed, run, effort) = (leader.seed, leader.run, leader.effort);
            // A best that came from a journal is fitted again, not to be interrupted: without cores
            // there is no answer.
            let fitted = match cores {
                Some(fitted) => fitted,
                None => self.fit_again(run, &leader.structure, effort, &Stop::new())?,
            };
            // Same as recorded, unless fits have a time limit; the cores' own error is the true one.
            let (params, rse) = (leader.score.params, fitted.rse);
            let loss = self.runner.objective.loss(params, leader.phi, rse);
            Ok::<_, FitError>(Best {
                score: Score { loss, error: rse, params },
                fitted,
                structure: leader.structure,
                graph: leader.graph,
                phi: leader.phi,
                run,
                seed,
            })
        });
        let best = best.transpose()?;
        let (lower_bound, proven_impossible) = self.certificate();
        let met = |best: &Best| lower_bound.is_some_and(|bound| bound.is_met_by(&best.score));
        let target_reached = self.reached(best.as_ref().map(|b| &b.score));
        let certified_optimal = target_reached && best.as_ref().is_some_and(met);
        let seconds = self.seconds();
        let counts = self.ledger.counts;
        let runs = self.runner.runs.iter().map(|run| RunSummary {
            seed: run.seed,
            counts: run.counts,
            best: run.best,
            target_reached: self.reached(run.best.as_ref()),
        });
        Ok(SearchResult {
            strategy: self.runner.runs[0].strategy.name(),
            target_reached,
            best,
            counts,
            runs: runs.collect(),
            stopped_by: self.stopped_by.unwrap_or(StoppedBy::Finished),
            seconds,
            history: self.ledger.history.finish(counts.evaluations, counts.samples, seconds),
            pareto: self.ledger.pareto.into_points(),
            lower_bound,
            proven_impossible,
            certified_optimal,
            journal_error: self.journal_error,
        })
    }
}
