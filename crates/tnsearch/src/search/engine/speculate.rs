//! What idle workers do: fit what the sequential rule may ask for next.
//!
//! The rule of a generation waits for one or two fits before it decides what comes next. But what can come is known:
//! each fit either fails or comes out at the bound that its cuts leave (which, for data that is a network, it nearly
//! always does). So the run is copied, told the one or the other, and followed until it waits again; the jobs it then
//! waits for are the guesses, the likeliest first. A guess is a fit like any other. Its result is used if the rule asks
//! for it, and thrown away if not: counted as `speculative`, never as an evaluation.

use super::assembly::Assembly;
use super::flight::Flight;
use super::rules::Rules;
use super::run::{Job, Resolved, Run};
use super::{Driver, Evaluation};
use crate::fit::Effort;
use crate::graph::ModeGraph;
use crate::search::Ticket;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

/// Copies of a run that are followed for each guess that is wanted.
const COPIES_PER_GUESS: usize = 3;

/// Guesses, with their cores, that are kept for a run.
const MOST_KEPT: usize = 64;

/// What tells the fits of a run apart.
pub(super) type Key = (ModeGraph, Effort);

/// What is known about the future of a run.
#[derive(Default)]
pub(super) struct Foresight {
    /// Whether anything has happened to the run since guesses were last made.
    pub changed: bool,
}

impl Driver<'_, '_> {
    /// Gives work to workers that have none: first the starts of fits that are waited for, then guesses.
    pub(super) fn speculate(&mut self) {
        // One worker has enough to do with what is asked for.
        if !self.engine.speculates || self.idle() == 0 || self.executor.workers() == 1 {
            return;
        }
        while self.idle() > 0 {
            let waited_for = |(k, key, a): (usize, &Key, &Assembly)| {
                a.index?;
                Some((a.waiting()?, a.job.place, k, key.clone()))
            };
            let fits = self.fits.iter().enumerate();
            let fits = fits.flat_map(|(k, fits)| fits.iter().map(move |(key, a)| (k, key, a)));
            // The second starts of all before the third of any.
            let next = fits.filter_map(waited_for).min_by_key(|(part, place, ..)| (*part, *place));
            let Some((part, _, k, key)) = next else { break };
            self.send(k, &key, part);
        }
        if self.engine.rules.bound.is_none() {
            return;
        }
        let runs = self.engine.runs.len();
        let share = self.executor.workers().div_ceil(runs).max(2);
        for k in 0..runs {
            if self.idle() == 0 {
                return;
            }
            if std::mem::take(&mut self.foresight[k].changed) {
                self.guess(k, share);
            }
        }
    }

    /// Has made what a run may ask for next.
    fn guess(&mut self, k: usize, most: usize) {
        let guesses = self.guesses(k, most);
        self.drop_guesses(k, &guesses);
        for job in guesses {
            let key = key(&job);
            if !self.fits[k].contains_key(&key) {
                let Ok(Some(request)) = self.request(&job) else { continue };
                let in_parts = self.executor.makes_single_starts();
                self.fits[k].insert(key.clone(), Assembly::new(job, None, request, in_parts));
            }
            while let Some(part) =
                self.fits[k].get(&key).filter(|a| a.index.is_none()).and_then(Assembly::waiting)
            {
                if self.idle() == 0 {
                    // There may be room for the rest the next time.
                    self.foresight[k].changed = true;
                    return;
                }
                self.send(k, &key, part);
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
        if let Some(record) = self.engine.records.get(&(k, job.graph.to_string(), job.effort)) {
            return Some(evaluated(&self.engine.rules, job, record.error));
        }
        match self.fits[k].get(&key(job))?.result()? {
            Ok(fitted) if fitted.error.is_finite() => {
                Some(evaluated(&self.engine.rules, job, fitted.error))
            }
            _ => Some(Resolved::Refused),
        }
    }

    /// Gives up the guesses of a run that are no longer likely. Those that are done may be of use later.
    fn drop_guesses(&mut self, k: usize, likely: &[Arc<Job>]) {
        let likely: HashSet<Key> = likely.iter().map(|job| key(job)).collect();
        let guessed = self.fits[k].iter().filter(|(_, a)| a.index.is_none());
        let full = guessed.clone().count() > MOST_KEPT;
        let unlikely: Vec<Key> = guessed
            .filter(|(key, a)| !likely.contains(key) && (full || a.result().is_none()))
            .map(|(key, _)| key.clone())
            .collect();
        for key in unlikely {
            self.speculative += 1;
            self.give_up(k, &key);
        }
    }

    /// Gives up what can wait, the last begun first, where every worker is busy: what is asked for comes first.
    pub(super) fn make_room(&mut self) {
        if self.idle() > 0 {
            return;
        }
        let can_wait = |(ticket, flight): (&Ticket, &Flight)| {
            let Flight::Part { run, key, part } = flight else { return None };
            let assembly = self.fits[*run].get(key).filter(|a| a.can_wait(*part))?;
            Some((assembly.index.is_none(), *ticket))
        };
        // Guesses before starts of fits that are waited for.
        let Some((_, ticket)) = self.flights.iter().filter_map(can_wait).max() else { return };
        if let Some(Flight::Part { run, key, part }) = self.flights.insert(ticket, Flight::Nothing)
            && let Some(assembly) = self.fits[run].get_mut(&key)
        {
            assembly.drop_part(part);
        }
        self.executor.cancel(ticket);
    }
}

pub(super) fn key(job: &Job) -> Key {
    (job.graph.clone(), job.effort)
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
