//! The end of a search: its answer, its cores, its certificate.

use super::no_answer::Refusals;
use super::run::{Job, Slot};
use super::{
    Best, Doing, Driver, Evaluation, Event, NoAnswer, ParetoPoint, RunSummary, SearchResult, Stage,
    StoppedBy,
};
use crate::bound::{Candidate, Next, Relaxation};
use crate::fit::{Effort, FitError, Fitted};
use crate::graph::Structure;
use crate::problem::{LowerBound, Proven, Reason, Score};
use crate::search::SearchError;
use crate::search::first::InHand;
use crate::tensor::size;
use std::cmp::Ordering;
use std::sync::Arc;

/// Nodes of a certificate between two looks at the stop; few in tests, whose problems are small.
const SLICE: u64 = if cfg!(test) { 10 } else { 10_000 };

/// A point of the front: its parameters, its error, and where they come from.
type OnFront = (u128, f64, (Arc<Job>, Arc<Evaluation>));

impl Driver<'_, '_> {
    pub(super) fn finish(mut self) -> Result<SearchResult, SearchError> {
        self.account.settle();
        let best = self.best()?;
        let objective = self.engine.rules.objective;
        let reaches = |best: &Best| objective.reached(best.score.params, best.score.error);
        let best = match self.or_in_hand(best)? {
            Some(best) if reaches(&best) => Some(best),
            missed => self.whole()?.or(missed),
        };
        let points = std::mem::take(&mut self.account.pareto).into_points();
        let front = self.front(&points)?;
        let proven = self.certificate();
        let reached =
            |score: Option<&Score>| score.is_some_and(|s| objective.reached(s.params, s.error));
        let target_reached = reached(best.as_ref().map(|b| &b.score));
        let stopped_by = self.stopped_by.unwrap_or(StoppedBy::Finished);
        let (statement, needed_rank) = self.statement(proven, best.as_ref(), stopped_by);
        let (seconds, counts) = (self.seconds(), self.account.counts);
        let runs = self.engine.runs.iter().map(|run| RunSummary {
            seed: run.seed,
            counts: run.counts,
            best: run.best,
            target_reached: reached(run.best.as_ref()),
        });
        let history = std::mem::take(&mut self.account.history);
        let rules = &self.engine.rules;
        let refusals = Refusals { memory: self.out_of_memory, time: self.out_of_time };
        let limits = (rules.max_phi, rules.max_cost);
        let no_answer =
            best.is_none().then(|| NoAnswer::new(stopped_by, &counts, refusals, limits));
        let mut result = SearchResult {
            strategy: self.engine.runs[0].strategy.name().to_owned(),
            target_reached,
            best,
            counts,
            runs: runs.collect(),
            no_answer,
            stopped_by,
            seconds,
            history: history.finish(counts.evaluations, counts.samples, seconds),
            pareto: points.into_iter().map(point).collect(),
            front,
            formats: std::mem::take(&mut self.account.formats).finish(objective),
            lower_bound: statement.bound(),
            proven_impossible: matches!(statement.proven, Proven::Impossible(_)),
            needed_rank,
            certified_optimal: statement.is_optimal(),
            statement,
            max_rank: self.engine.grounds.max_rank,
            speculative: self.speculative,
            measure: self.engine.measure.clone(),
            shrunk: None,
            split: None,
            stages: self.engine.clock.stages(),
            listener_error: None,
        };
        self.tell(&Event::End(&result.end_record()));
        result.listener_error = self.listener_error;
        Ok(result)
    }

    /// The answer with its cores.
    fn best(&mut self) -> Result<Option<Best>, SearchError> {
        let mut cores = self.account.take_cores();
        let mut leader = self.account.leader.take();
        let objective = self.engine.rules.objective;
        let further = |score: &Score| match &leader {
            Some((_, best)) => objective.compare_answers(score, &best.score()).is_lt(),
            None => true,
        };
        if let Some((job, score, fitted)) = self.cut_short.take_if(|(_, score, _)| further(score)) {
            let evaluation = self.evaluation(&job, score.loss, &fitted);
            (leader, cores) = (Some((job, Arc::new(evaluation))), Some(fitted));
        }
        let Some((job, evaluation)) = leader else { return Ok(None) };
        // A best that came from a journal is fitted again, not to be interrupted: without cores
        // there is no answer.
        let fitted = match cores {
            Some(fitted) => fitted,
            None if job.walk.is_some() => {
                self.walk_again(job.place.run, job.place.walk(), false)?
            }
            None => self.fit_again(job.place.run, &job.structure, job.effort, false)?,
        };
        Ok(Some(self.answer(&job, &evaluation, fitted)))
    }

    /// The score of an answer that was there before the search.
    pub(super) fn score_of(&self, answer: &InHand) -> Score {
        let InHand { structure, fitted } = answer;
        let dims = &self.engine.rules.dims;
        let (params, phi) = (structure.params(dims), structure.phi(dims));
        self.engine.rules.objective.score(params, phi, fitted.error)
    }

    /// What was found, or what was there before where that is better.
    fn or_in_hand(&mut self, found: Option<Best>) -> Result<Option<Best>, SearchError> {
        let Some((answer, last_resort)) = self.engine.in_hand.take() else { return Ok(found) };
        let (objective, score) = (self.engine.rules.objective, self.score_of(&answer));
        let is_better = |best: &Best| {
            !last_resort && objective.compare_answers(&score, &best.score) == Ordering::Less
        };
        if found.as_ref().is_some_and(|best| !is_better(best)) {
            return Ok(found);
        }
        let InHand { structure, fitted } = answer;
        let place = Slot { generation: self.entered, run: 0, index: 0 };
        let job = self.engine.rules.job(place, structure, Effort::Direct, None, false)?;
        let evaluation = self.evaluation(&job, score.loss, &fitted);
        let format = (job.structure.template().name(), &job.structure);
        self.account.formats.add(objective, format, score, evaluation.seconds);
        let (structure, graph, phi) = (job.structure, job.graph, job.phi);
        let seed = self.engine.runs[0].seed;
        Ok(Some(Best { structure, graph, fitted, score, phi, evaluation, run: 0, seed }))
    }

    /// Where all strategies ended, or the evaluations, without an answer that is what was asked for, and vertices may carry several modes: the
    /// tensor itself, as one vertex. Nothing smaller was near enough.
    fn whole(&mut self) -> Result<Option<Best>, SearchError> {
        let dims = self.engine.rules.dims.clone();
        let affordable = self.engine.rules.objective.loss_beyond_budget(size(&dims)).is_none();
        let by_itself = [StoppedBy::Finished, StoppedBy::MaxEvaluations];
        let ended =
            self.stopped_by.is_some_and(|by| by_itself.contains(&by)) && self.out_of_time == 0;
        if !(self.engine.takes_whole && affordable && ended) {
            return Ok(None);
        }
        let all: Vec<usize> = (0..dims.len()).collect();
        let structure = Structure::from_groups("any-tree", &[all], &[])?;
        let place = Slot { generation: self.entered, run: 0, index: 0 };
        let job = self.engine.rules.job(place, structure, Effort::Quick, None, false)?;
        let fitted = self.fit_again(0, &job.structure, job.effort, false)?;
        let loss = self.engine.rules.objective.loss(job.params, job.phi, fitted.error);
        let evaluation = self.evaluation(&job, loss, &fitted);
        Ok(Some(self.answer(&job, &evaluation, fitted)))
    }

    /// The networks of the Pareto front, where they are asked for. Cores that came from a journal are fitted again, as
    /// long as no stop is set: points whose cores are not at hand then are left out.
    fn front(&mut self, points: &[OnFront]) -> Result<Vec<Best>, SearchError> {
        if !self.engine.keeps_front {
            return Ok(Vec::new());
        }
        let mut kept = self.account.take_front();
        let mut front = Vec::new();
        for (_, _, (job, evaluation)) in points {
            let at = kept.iter().position(|(place, _)| *place == job.place);
            let fitted = match at {
                Some(k) => kept.swap_remove(k).1,
                None if self.engine.stop.is_set() => continue,
                None => {
                    let run = job.place.run;
                    let again = match job.walk.is_some() {
                        true => self.walk_again(run, job.place.walk(), true),
                        false => self.fit_again(run, &job.structure, job.effort, true),
                    };
                    match again {
                        Err(FitError::Interrupted) => continue,
                        fitted => fitted?,
                    }
                }
            };
            front.push(self.answer(job, evaluation, fitted));
        }
        Ok(front)
    }

    fn answer(&self, job: &Job, evaluation: &Evaluation, fitted: Fitted) -> Best {
        // Of a tensor that was shrunk, the cores are those of the small one.
        let fitted = match &self.engine.expand {
            Some(expand) => expand(&job.graph, fitted),
            None => fitted,
        };
        // Same as recorded, unless fits have a time limit; the cores' own error is the true one.
        let score = self.engine.rules.objective.score(job.params, job.phi, fitted.error);
        let run = job.place.run;
        Best {
            score,
            evaluation: Evaluation { error: score.error, loss: score.loss, ..evaluation.clone() },
            fitted,
            structure: job.structure.clone(),
            graph: job.graph.clone(),
            phi: job.phi,
            run,
            seed: self.engine.runs[run].seed,
        }
    }

    /// The best lower bound a strategy has proven, or that of the certificate; and whether it shows that
    /// nothing is what was asked for.
    fn certificate(&mut self) -> (Option<LowerBound>, bool) {
        let objective = self.engine.rules.objective;
        self.note_proven();
        let proven = self.engine.runs.iter().filter_map(|run| run.strategy.lower_bound());
        let nothing = proven.reduce(f64::max) == Some(f64::INFINITY);
        // Whatever was said on the way still holds.
        if nothing || self.most_proven.is_some() {
            return (self.most_proven.map(|value| objective.lower_bound(value)), nothing);
        }
        let Some((make, nodes)) = self.engine.certificate.take() else { return (None, false) };
        if self.engine.stop.reason() == Some(Reason::Asked) {
            return (None, false);
        }
        self.enter_stage(Stage::Proof);
        self.tell(&Event::Doing(&Doing::Proving));
        let asked = || self.engine.stop.reason() == Some(Reason::Asked);
        match relaxed(&mut make(), nodes, SLICE, asked) {
            Next::Candidate(Candidate { value, .. }) | Next::Spent(value) => {
                (Some(objective.lower_bound(value)), false)
            }
            Next::Nothing => (None, true),
        }
    }
}

/// Where a relaxed problem comes to within so many nodes, made slice by slice; `asked` is looked at between them.
fn relaxed(relaxation: &mut Relaxation, nodes: u64, slice: u64, asked: impl Fn() -> bool) -> Next {
    loop {
        let next = relaxation.next(slice.min(nodes.saturating_sub(relaxation.expanded())));
        let ends = relaxation.expanded() >= nodes
            || relaxation.is_full()
            || relaxation.hurried()
            || asked();
        if ends || !matches!(next, Next::Spent(_)) {
            return next;
        }
    }
}

fn point((params, error, (job, _)): OnFront) -> ParetoPoint {
    let (structure, run, effort) = (job.structure.clone(), job.place.run, job.effort);
    ParetoPoint { params, error, structure, run, effort }
}

#[cfg(test)]
mod tests;
