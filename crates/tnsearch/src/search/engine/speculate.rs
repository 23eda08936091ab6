//! What idle workers do: fit what the sequential rule may ask for next.
//!
//! The rule of a generation waits for one or two fits before it decides what comes next. But what can come is known:
//! each fit either fails or comes out at the bound that its cuts leave (which, for data that is a network, it nearly
//! always does). So the run is copied, told the one or the other, and followed until it waits again; the jobs it then
//! waits for are the guesses, the likeliest first. A guess is a fit like any other. Its result is used if the rule asks
//! for it, and thrown away if not: counted as `speculative`, never as an evaluation.

use super::flight::Flight;
use super::rules::Rules;
use super::run::{Job, Resolved, Run};
use super::{Driver, Evaluation};
use crate::fit::{Effort, FitError, Fitted};
use crate::graph::ModeGraph;
use crate::search::Ticket;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// Copies of a run that are followed for each guess that is wanted.
const COPIES_PER_GUESS: usize = 3;

/// Results, with their cores, that are kept for a run. No more is guessed then until the run has moved on: an executor
/// that works on what came last would never come to what is asked for.
const MOST_KEPT: usize = 64;

type Key = (ModeGraph, Effort);

/// What was fitted for a run before it asked.
#[derive(Default)]
pub(super) struct Foresight {
    fitted: HashMap<Key, Result<Fitted, FitError>>,
    /// Whether anything has happened to the run since guesses were last made.
    pub changed: bool,
}

impl Foresight {
    /// Keeps the result of a guess; how many others were given up for it.
    pub fn keep(&mut self, job: &Job, result: Result<Fitted, FitError>) -> u64 {
        u64::from(self.fitted.insert(key(job), result).is_some())
    }

    /// The run has moved on: makes room for other guesses where there is none. How many results were of no use.
    pub fn moved_on(&mut self) -> u64 {
        if self.is_full() { self.forget() } else { 0 }
    }

    fn is_full(&self) -> bool {
        self.fitted.len() >= MOST_KEPT
    }

    /// The result of a job, if it was guessed. A fit that begins at given cores never is.
    pub fn take(&mut self, job: &Job) -> Option<Result<Fitted, FitError>> {
        if job.parent.is_some() { None } else { self.fitted.remove(&key(job)) }
    }

    /// Forgets everything; how many results were of no use.
    pub fn forget(&mut self) -> u64 {
        self.fitted.drain().count() as u64
    }
}

impl Driver<'_, '_> {
    /// Gives work to workers that have none.
    pub(super) fn speculate(&mut self) {
        if !self.engine.speculates || self.engine.rules.bound.is_none() {
            return;
        }
        let workers = self.executor.workers();
        let mut idle = workers.saturating_sub(self.flights.len());
        // One worker has enough to do with what is asked for.
        if idle == 0 || workers == 1 {
            return;
        }
        let runs = self.engine.runs.len();
        let share = workers.div_ceil(runs).max(2);
        for k in 0..runs {
            if !std::mem::take(&mut self.foresight[k].changed) || self.foresight[k].is_full() {
                continue;
            }
            let guesses = self.guesses(k, share);
            self.drop_guesses(k, &guesses);
            for job in guesses {
                if idle == 0 {
                    // There may be room for the rest the next time.
                    self.foresight[k].changed = true;
                    break;
                }
                if !self.is_under_way(k, &job)
                    && !self.is_on_record(k, &job)
                    && let Ok(Some(request)) = self.request(&job)
                {
                    self.submit(Flight::Guess { run: k, job, cancelled: false }, request);
                    idle -= 1;
                }
            }
        }
    }

    /// The jobs that a run may ask for next, the likeliest first: at most so many that are not fitted yet.
    fn guesses(&self, k: usize, most: usize) -> Vec<Arc<Job>> {
        let (rules, run) = (&self.engine.rules, &self.engine.runs[k]);
        let mut guesses: Vec<Arc<Job>> = Vec::new();
        let mut seen: HashSet<Key> = HashSet::new();
        if let Some(round) = &run.round {
            // What begins at given cores depends on them, too.
            if round.jobs.iter().any(|job| job.parent.is_some()) {
                return guesses;
            }
            seen.extend(round.wave.iter().map(|&j| key(&round.jobs[j])));
        }
        let mut copies: VecDeque<Run> = run.fork().into_iter().collect();
        let mut followed = 0;
        while let Some(mut copy) = copies.pop_front() {
            followed += 1;
            if guesses.len() >= most || followed > COPIES_PER_GUESS * most {
                break;
            }
            if !self.follow(k, &mut copy) {
                continue;
            }
            let Some(round) = &copy.round else { continue };
            let waits: Vec<(usize, Arc<Job>)> =
                round.wave.iter().map(|&j| (j, round.jobs[j].clone())).collect();
            guesses.extend(waits.iter().map(|w| w.1.clone()).filter(|job| seen.insert(key(job))));
            // The first succeeds; none does; a later one does.
            let hopes = std::iter::once(Some(0)).chain([None]).chain((1..waits.len()).map(Some));
            for hope in hopes {
                let Some(mut branch) = copy.fork() else { continue };
                for (place, (index, job)) in waits.iter().enumerate() {
                    branch.resolve(rules, *index, guess(rules, job, hope == Some(place)));
                }
                copies.push_back(branch);
            }
        }
        guesses
    }

    /// Advances a copy of run `k` by what is known until it waits for fits; whether it does.
    fn follow(&self, k: usize, copy: &mut Run) -> bool {
        let rules = &self.engine.rules;
        // A generation may need no fit at all; a run that needs none for long is not worth following.
        for _ in 0..4 {
            if copy.round.is_none() && copy.ask(rules).is_err() {
                return false;
            }
            loop {
                copy.take_wave(rules, usize::MAX);
                let Some(round) = &copy.round else { return false };
                let known: Vec<(usize, Resolved)> = round
                    .wave
                    .iter()
                    .filter_map(|&j| Some((j, self.known(k, &round.jobs[j])?)))
                    .collect();
                if known.is_empty() {
                    break;
                }
                known.into_iter().for_each(|(j, resolved)| copy.resolve(rules, j, resolved));
            }
            if !copy.is_resolved() {
                return true;
            }
            copy.close(rules);
        }
        false
    }

    /// The result of a job that was guessed already, or is on record.
    fn known(&self, k: usize, job: &Job) -> Option<Resolved> {
        let on_record = self.engine.records.get(&(k, job.graph.to_string(), job.effort));
        let error = match self.foresight[k].fitted.get(&key(job)) {
            _ if on_record.is_some() => on_record?.error,
            Some(Ok(fitted)) if fitted.error.is_finite() => fitted.error,
            Some(_) => return Some(Resolved::Refused),
            None => return None,
        };
        Some(evaluated(&self.engine.rules, job, error))
    }

    fn is_on_record(&self, k: usize, job: &Job) -> bool {
        self.engine.records.contains_key(&(k, job.graph.to_string(), job.effort))
    }

    fn is_under_way(&self, k: usize, job: &Job) -> bool {
        self.flights.values().any(|flight| match flight {
            Flight::Guess { run, job: other, .. } => *run == k && same(other, job),
            Flight::Job { run, job: index } => {
                let round = self.engine.runs[*run].round.as_ref();
                *run == k && round.is_some_and(|round| same(&round.jobs[*index], job))
            }
            Flight::Again => false,
        })
    }

    /// Gives up the guesses of a run that are no longer likely.
    fn drop_guesses(&mut self, k: usize, likely: &[Arc<Job>]) {
        let mut unlikely: Vec<Ticket> = Vec::new();
        for (ticket, flight) in &mut self.flights {
            if let Flight::Guess { run, job, cancelled } = flight
                && *run == k
                && !*cancelled
                && !likely.iter().any(|other| same(other, job))
            {
                *cancelled = true;
                unlikely.push(*ticket);
            }
        }
        unlikely.into_iter().for_each(|ticket| self.executor.cancel(ticket));
    }

    /// Takes a guess under way for a job that is asked for now; whether there was one.
    pub(super) fn adopt(&mut self, k: usize, index: usize, wanted: &Job) -> bool {
        let flight = self.flights.values_mut().find(|flight| match flight {
            Flight::Guess { run, job, cancelled } => *run == k && !*cancelled && same(job, wanted),
            _ => false,
        });
        flight.map(|flight| *flight = Flight::Job { run: k, job: index }).is_some()
    }

    /// Gives up a guess, the last one made, where every worker is busy: what is asked for comes first.
    pub(super) fn make_room(&mut self) {
        if self.flights.len() < self.executor.workers() {
            return;
        }
        let mut guesses: Vec<(&Ticket, &mut bool)> = Vec::new();
        for (ticket, flight) in &mut self.flights {
            if let Flight::Guess { cancelled, .. } = flight
                && !*cancelled
            {
                guesses.push((ticket, cancelled));
            }
        }
        if let Some((&ticket, cancelled)) = guesses.into_iter().max_by_key(|(ticket, _)| **ticket) {
            *cancelled = true;
            self.executor.cancel(ticket);
        }
    }
}

fn key(job: &Job) -> Key {
    (job.graph.clone(), job.effort)
}

/// Whether two jobs have the same result.
fn same(a: &Job, b: &Job) -> bool {
    a.effort == b.effort && a.graph == b.graph && a.parent.is_none() && b.parent.is_none()
}

/// What a fit that is not done may come out at.
fn guess(rules: &Rules, job: &Job, succeeds: bool) -> Resolved {
    match succeeds {
        true => evaluated(rules, job, job.at_best.error),
        false => Resolved::Refused,
    }
}

fn evaluated(rules: &Rules, job: &Job, error: f64) -> Resolved {
    Resolved::Evaluated(Arc::new(Evaluation {
        run: job.place.run,
        key: String::new(),
        permutation: Vec::new(),
        ranks: Vec::new(),
        params: job.params.try_into().unwrap_or(u64::MAX),
        error,
        loss: rules.objective.loss(job.params, job.phi, error),
        sweeps: 0,
        restarts: 0,
        seconds: 0.0,
        effort: job.effort,
    }))
}
