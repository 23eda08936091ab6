//! A search under way: rounds of asking, sorting out, fitting and telling.

mod finish;
mod generation;
mod parents;

use super::batch::{Batch, Event, Job};
use super::lane::Lane;
use super::ledger::{Done, Leader, Ledger};
use super::{
    Counts, Effort, EvaluationRecord, JournalError, Outcome, Progress, Runner, Score, SearchError,
    SearchResult, Source, StoppedBy,
};
use crate::fit::{FitError, Fitted, Interrupt, sweep_cost};
use crate::graph::{GraphError, ModeGraph, Structure};
use crate::tensor::size;
use rayon::ThreadPool;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// A proposed structure on its way to its outcome.
enum Step {
    /// Answered already: cached, pruned or refused.
    Known(Outcome),
    /// To be fitted: an index into the round's jobs.
    Job(usize),
    /// The same structure as an earlier one of this generation.
    SameAs(usize),
}

/// What became of a job.
#[derive(Debug, Clone, Copy)]
enum Resolved {
    /// It was fitted, or found on record.
    Done(Done),
    /// A bound ruled it out.
    Pruned,
}

/// One generation of every run that has not finished, in the order of the runs.
#[derive(Default)]
struct Round {
    steps: Vec<(usize, Step)>,
    jobs: Vec<Job>,
}

/// A search under way.
pub(super) struct Search<'a, 'p> {
    runner: Runner<'a>,
    pool: &'p ThreadPool,
    /// Seen by running fits; set for an interrupt, a deadline or an error.
    stop: &'p Interrupt,
    begun: Instant,
    /// Seconds spent before a resume.
    before: f64,
    ledger: Ledger,
    seen: Seen,
    next_sequence: u64,
    generation: u64,
    stopped_by: Option<StoppedBy>,
    journal_error: Option<JournalError>,
    /// The best of the fits that a stop cut short, as long as none was finished.
    cut_short: Option<(Leader, Score, Fitted)>,
}

/// The state shown to the observer: the ledger's, and what this round has added so far.
#[derive(Default)]
struct Seen {
    counts: Counts,
    best: Option<Score>,
}

impl<'a, 'p> Search<'a, 'p> {
    pub(super) fn new(runner: Runner<'a>, pool: &'p ThreadPool, stop: &'p Interrupt) -> Self {
        Search {
            before: runner.records.values().map(|r| r.seconds).fold(0.0, f64::max),
            ledger: Ledger::new(runner.objective),
            runner,
            pool,
            stop,
            begun: Instant::now(),
            seen: Seen::default(),
            next_sequence: 0,
            generation: 0,
            stopped_by: None,
            journal_error: None,
            cut_short: None,
        }
    }

    pub(super) fn run(mut self) -> Result<SearchResult, SearchError> {
        loop {
            self.watch();
            if self.stopped_by.is_some() {
                break;
            }
            let round = self.plan()?;
            if round.steps.is_empty() && self.runner.runs.iter().all(|run| run.finished) {
                self.stopped_by = Some(StoppedBy::Finished);
                break;
            }
            let resolved = self.resolve(&round)?;
            let outcomes = self.enter(&round, &resolved);
            if self.stopped_by.is_none() {
                for (run, outcomes) in self.runner.runs.iter_mut().zip(&outcomes) {
                    if !run.finished {
                        run.strategy.tell(outcomes);
                    }
                }
                if !round.steps.is_empty() {
                    self.record_generation();
                }
            }
            self.observe();
        }
        self.finish()
    }

    /// Asks every strategy and sorts out which of the structures must be fitted.
    fn plan(&mut self) -> Result<Round, SearchError> {
        self.generation += 1;
        self.seen.counts = self.ledger.counts;
        let mut round = Round::default();
        for k in 0..self.runner.runs.len() {
            if self.runner.runs[k].finished {
                continue;
            }
            let asked = self.runner.runs[k].strategy.ask();
            self.runner.runs[k].finished =
                asked.is_empty() && !self.runner.runs[k].strategy.thinking();
            let effort = self.runner.runs[k].strategy.effort();
            let parent = self.runner.runs[k].strategy.parent().filter(|_| effort.is_full());
            let parent = parent.cloned().map(Arc::new);
            let mut first: HashMap<ModeGraph, usize> = HashMap::new();
            for structure in asked {
                let job = Job { parent: parent.clone(), ..self.job(k, structure, effort)? };
                let step = if let Some(outcome) = self.runner.runs[k].cached(&job.graph, effort) {
                    Step::Known(Outcome { source: Source::Cached, ..outcome })
                } else if let Some(&same) = first.get(&job.graph) {
                    Step::SameAs(same)
                } else if let Some(outcome) = self.verdict_without_fit(&job) {
                    Step::Known(outcome)
                } else {
                    first.insert(job.graph.clone(), round.jobs.len());
                    self.runner.runs[k].lineage.planned(&job);
                    round.jobs.push(Job { sequence: self.next_sequence, ..job });
                    self.next_sequence += 1;
                    Step::Job(round.jobs.len() - 1)
                };
                if let Step::Known(outcome) = &step {
                    self.seen.counts.add(outcome);
                }
                round.steps.push((k, step));
            }
        }
        Ok(round)
    }

    fn job(&self, run: usize, structure: Structure, effort: Effort) -> Result<Job, GraphError> {
        let dims = &self.runner.dims;
        if structure.permutation().len() != dims.len() {
            return Err(GraphError::ModeCount {
                template: structure.template().name().to_owned(),
                external: structure.permutation().len(),
                order: dims.len(),
            });
        }
        let (params, phi) = (structure.params(dims), structure.phi(dims));
        let graph = structure.canonical().graph;
        let seed = self.runner.runs[run].seed;
        let rse = match (self.runner.bound, self.runner.runs[run].strategy.only_below()) {
            (Some(bound), Some(_)) => bound.rse(&graph, f64::INFINITY),
            _ => 0.0,
        };
        let at_best = Score { loss: self.runner.objective.loss(params, phi, rse), rse, params };
        let (sequence, parent) = (0, None);
        Ok(Job { run, seed, sequence, effort, structure, parent, graph, params, phi, at_best })
    }

    /// The outcome of a structure that need not be fitted whatever else is: one beyond the parameter budget,
    /// or too large for any use. (What bounds rule out depends on what else was found: see [`Lane`].)
    fn verdict_without_fit(&self, job: &Job) -> Option<Outcome> {
        let objective = self.runner.objective;
        let outcome = |loss, source| Outcome { loss, rse: None, params: job.params, source };
        if let Some(loss) = objective.loss_beyond_budget(job.params) {
            return Some(outcome(loss, Source::Pruned));
        }
        let costs = |limit: f64| {
            let dims = &self.runner.dims;
            sweep_cost(&job.graph, dims) > limit * size(dims) as f64
        };
        let settings = &self.runner.settings;
        if job.phi >= settings.max_phi || settings.max_cost.is_some_and(costs) {
            return Some(outcome(objective.loss(job.params, job.phi, 1.0), Source::Refused));
        }
        None
    }

    /// Fits the jobs, finds them on record or prunes them; none for those that a budget or an interrupt
    /// left out.
    fn resolve(&mut self, round: &Round) -> Result<Vec<Option<Resolved>>, SearchError> {
        let jobs = &round.jobs;
        let objective = self.runner.objective;
        let mut resolved = vec![None; jobs.len()];
        let mut lanes: Vec<Lane> = self.lanes(round);
        while self.stopped_by.is_none() {
            let budget = self.runner.settings.max_evaluations.unwrap_or(u64::MAX);
            let left = budget.saturating_sub(self.seen.counts.evaluations);
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            let mut wave: Vec<usize> = Vec::new();
            for lane in &mut lanes {
                let prune = |job: usize| resolved[job] = Some(Resolved::Pruned);
                wave.extend(lane.next(objective, jobs, left - wave.len(), prune));
            }
            if wave.is_empty() {
                if lanes.iter().any(|lane| !lane.is_empty()) {
                    self.stopped_by = Some(StoppedBy::MaxEvaluations);
                }
                break;
            }
            let mut fresh = Vec::new();
            for &k in &wave {
                match self.runner.records.get(&(
                    jobs[k].run,
                    jobs[k].graph.to_string(),
                    jobs[k].effort,
                )) {
                    Some(record) => {
                        let rse = Some(record.rse);
                        let seconds = record.seconds;
                        let done = self.note(&jobs[k], Done { rse, seconds });
                        resolved[k] = Some(Resolved::Done(done));
                    }
                    None => fresh.push(k),
                }
            }
            self.fit(jobs, &fresh, &mut resolved)?;
            for k in wave {
                if let Some(Resolved::Done(Done { rse: Some(rse), .. })) = resolved[k] {
                    let loss = objective.loss(jobs[k].params, jobs[k].phi, rse);
                    lanes[jobs[k].run]
                        .learn(objective, Score { loss, rse, params: jobs[k].params });
                }
            }
        }
        Ok(resolved)
    }

    /// One lane a run. What is known of the round already counts: cached structures too.
    fn lanes(&self, round: &Round) -> Vec<Lane> {
        let known = |k: usize| {
            let losses = round.steps.iter().filter_map(move |(run, step)| match step {
                Step::Known(outcome) if *run == k => Some(outcome.loss),
                _ => None,
            });
            losses.fold(f64::INFINITY, f64::min)
        };
        let runs = self.runner.runs.iter().enumerate();
        runs.map(|(k, run)| {
            let only_below = self.runner.bound.and_then(|_| run.strategy.only_below());
            Lane::new(&round.jobs, k, only_below, known(k), run.best)
        })
        .collect()
    }

    /// Fits some of the jobs.
    fn fit(
        &mut self,
        jobs: &[Job],
        which: &[usize],
        resolved: &mut [Option<Resolved>],
    ) -> Result<(), SearchError> {
        if which.is_empty() {
            return Ok(());
        }
        self.watch();
        let Some(parents) = self.parents(jobs, which)? else { return Ok(()) };
        let batch = Batch {
            pool: self.pool,
            parents: &parents,
            max_parallel: self.runner.settings.max_parallel.unwrap_or(usize::MAX),
            evaluator: self.runner.evaluator,
            stop: self.stop,
        };
        let mut failure: Option<(usize, FitError)> = None;
        // The largest first, so that no thread is left alone with one at the end.
        let mut which = which.to_vec();
        which.sort_by_key(|&k| std::cmp::Reverse(jobs[k].params));
        let chosen: Vec<&Job> = which.iter().map(|&k| &jobs[k]).collect();
        batch.evaluate(&chosen, |event| {
            if let Event::Done(k, result) = event {
                match result {
                    Ok(fitted) if fitted.interrupted => self.cut_short(chosen[k], fitted),
                    Ok(fitted) => {
                        let done = self.fitted(chosen[k], fitted);
                        resolved[which[k]] = Some(Resolved::Done(done));
                    }
                    Err(FitError::Memory { .. }) => {
                        resolved[which[k]] = Some(Resolved::Done(self.refused(chosen[k])));
                    }
                    Err(FitError::Interrupted) => {}
                    // Of several errors the first in order, so that the message is the same every time.
                    Err(error) if failure.as_ref().is_none_or(|(first, _)| k < *first) => {
                        failure = Some((k, error));
                        self.stop.set();
                    }
                    Err(_) => {}
                }
            }
            self.watch();
        });
        failure.map_or(Ok(()), |(_, error)| Err(error.into()))
    }

    /// A fit has ended well.
    fn fitted(&mut self, job: &Job, fitted: Fitted) -> Done {
        // An error that is no number cannot be compared or written down.
        if !fitted.rse.is_finite() {
            return self.refused(job);
        }
        let done = self.note(job, Done { rse: Some(fitted.rse), seconds: self.seconds() });
        self.record(job, &done, fitted.sweeps, fitted.restarts);
        let loss = self.ledger.outcome(job, &done).loss;
        if job.parent.is_some() {
            self.runner.runs[job.run].lineage.fitted(job, loss, &fitted.cores);
        }
        self.ledger.keep(job, Score { loss, rse: fitted.rse, params: job.params }, fitted);
        self.observe();
        done
    }

    /// A fit was refused. That is not written down: with more memory it may not be the next time.
    fn refused(&mut self, job: &Job) -> Done {
        self.note(job, Done { rse: None, seconds: self.seconds() })
    }

    /// A fit was stopped on its way: no evaluation, but better than nothing if there is nothing else.
    fn cut_short(&mut self, job: &Job, fitted: Fitted) {
        let loss = self.runner.objective.loss(job.params, job.phi, fitted.rse);
        let score = Score { loss, rse: fitted.rse, params: job.params };
        let first = self.ledger.leader.is_none() && self.seen.best.is_none();
        let better = |(_, best, _): &(_, Score, _)| self.runner.objective.better(&score, best);
        if first && self.cut_short.as_ref().is_none_or(better) {
            self.cut_short = Some((Leader::new(job, score), score, fitted));
        }
    }

    /// Adds a result to what the observer sees.
    fn note(&mut self, job: &Job, done: Done) -> Done {
        let outcome = self.ledger.outcome(job, &done);
        self.seen.counts.add(&outcome);
        if let Some(rse) = done.rse {
            let score = Score { loss: outcome.loss, rse, params: job.params };
            if self.seen.best.is_none_or(|best| self.runner.objective.better(&score, &best)) {
                self.seen.best = Some(score);
            }
        }
        done
    }

    /// Writes a result to the journal. A journal that fails is given up; the search goes on.
    fn record(&mut self, job: &Job, done: &Done, sweeps: usize, restarts: usize) {
        let Some(journal) = &mut self.runner.journal else { return };
        let record = EvaluationRecord {
            run: job.run,
            key: job.graph.to_string(),
            permutation: job.structure.permutation().to_vec(),
            ranks: job.structure.ranks().to_vec(),
            params: job.params.try_into().unwrap_or(u64::MAX),
            rse: done.rse.unwrap_or(1.0),
            loss: self.ledger.outcome(job, done).loss,
            sweeps,
            restarts,
            seconds: done.seconds,
            effort: job.effort,
        };
        if let Err(error) = journal.append(&record) {
            self.runner.journal = None;
            self.journal_error = Some(error);
        }
    }

    /// Enters a round's results in the order of proposal; the outcomes of each run.
    fn enter(&mut self, round: &Round, resolved: &[Option<Resolved>]) -> Vec<Vec<Outcome>> {
        let mut outcomes = vec![Vec::new(); self.runner.runs.len()];
        for (run, step) in &round.steps {
            let (outcome, entered) = match step {
                Step::Known(outcome) => (*outcome, false),
                Step::Job(k) | Step::SameAs(k) => {
                    let job = &round.jobs[*k];
                    let first = matches!(step, Step::Job(_));
                    match resolved[*k] {
                        Some(Resolved::Done(done)) if first => {
                            let outcome = self.ledger.enter(job, &done);
                            self.runner.runs[*run].learn(self.runner.objective, job, outcome);
                            (outcome, true)
                        }
                        Some(Resolved::Done(done)) => {
                            let outcome = self.ledger.outcome(job, &done);
                            (Outcome { source: Source::Cached, ..outcome }, false)
                        }
                        Some(Resolved::Pruned) => {
                            let (loss, params) = (job.at_best.loss, job.params);
                            (Outcome { loss, rse: None, params, source: Source::Pruned }, false)
                        }
                        // The budget ends the search here, whatever would have come for free behind;
                        // with pruning, fits are not made in the order of proposal.
                        None if self.stopped_by == Some(StoppedBy::MaxEvaluations)
                            && self.runner.bound.is_none() =>
                        {
                            break;
                        }
                        None => continue,
                    }
                }
            };
            if !entered {
                self.ledger.counts.add(&outcome);
            }
            self.runner.runs[*run].counts.add(&outcome);
            outcomes[*run].push(outcome);
        }
        self.seen.counts = self.ledger.counts;
        outcomes
    }

    /// Stops the fits when the time is up or the interrupt flag is set.
    fn watch(&mut self) {
        if self.stopped_by.is_some() {
            return;
        }
        if self.runner.interrupt.is_set() {
            self.stopped_by = Some(StoppedBy::Interrupted);
        } else if self
            .runner
            .settings
            .max_seconds
            .is_some_and(|s| self.begun.elapsed().as_secs_f64() >= s)
        {
            self.stopped_by = Some(StoppedBy::MaxSeconds);
        }
        if self.stopped_by.is_some() {
            self.stop.set();
        }
    }

    fn seconds(&self) -> f64 {
        self.before + self.begun.elapsed().as_secs_f64()
    }

    fn observe(&mut self) {
        let proven = self.runner.runs.iter().filter_map(|run| run.strategy.lower_bound());
        let runs_bound = proven.filter(|b| b.is_finite()).reduce(f64::max);
        let runs = self.runner.runs.iter();
        let progress = Progress {
            counts: self.seen.counts,
            best: self.seen.best,
            target_reached: self.reached(self.seen.best.as_ref()),
            generation: self.generation,
            planned_samples: runs
                .map(|r| r.strategy.planned_samples())
                .try_fold(0u64, |sum, n| n.map(|n| sum.saturating_add(n))),
            lower_bound: runs_bound,
            seconds: self.seconds(),
        };
        if let Some(observer) = &mut self.runner.observer {
            observer.on_progress(&progress);
        }
    }

    fn reached(&self, score: Option<&Score>) -> bool {
        score.is_some_and(|s| self.runner.objective.reached(s.params, s.rse))
    }
}
