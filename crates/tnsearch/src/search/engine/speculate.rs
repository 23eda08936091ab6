//! What idle workers do: fit what the sequential rule may ask for next.
//!
//! The rule of a generation waits for one or two fits before it decides what comes next. But what can come is known:
//! each fit either fails or comes out at the bound that its cuts leave (which, for data that is a network, it nearly
//! always does). So the run is copied, told the one or the other, and followed until it waits again; the jobs it then
//! waits for are the guesses, the likeliest first, by how often the fits of the run came out at their bounds. A guess is a fit like any other. Its result is used if the rule asks
//! for it, and thrown away if not: counted as `speculative`, never as an evaluation.

use super::assembly::Assembly;
use super::flight::Flight;
use super::rules::Rules;
use super::run::{Job, Resolved, Run};
use super::{Driver, Evaluation};
use crate::fit::Effort;
use crate::graph::ModeGraph;
use crate::search::Ticket;
use crate::search::strategy::WalkId;
use std::collections::HashSet;
use std::sync::Arc;

/// Copies of a run that are followed for each guess that is wanted.
const COPIES_PER_GUESS: usize = 3;

/// A loss this near to its bound is at its bound.
const NEAR: f64 = 1e-3;

/// Guesses, with their cores, that are kept for a run.
const MOST_KEPT: usize = 64;

/// What tells the fits of a run apart.
pub(super) type Key = (ModeGraph, Effort, Option<WalkId>);

/// What is known about the future of a run.
#[derive(Default)]
pub(super) struct Foresight {
    /// Whether anything has happened to the run since guesses were last made.
    pub changed: bool,
    /// Whether a fit that it asked for has ended since then.
    moved: bool,
    /// Fits that came out at their bound, and fits that did not.
    hits: u32,
    misses: u32,
}

impl Foresight {
    /// A fit that was asked for has ended.
    pub fn learn(&mut self, job: &Job, resolved: &Resolved) {
        (self.changed, self.moved) = (true, true);
        match resolved {
            Resolved::Evaluated(e) if e.loss <= job.at_best.loss * (1.0 + NEAR) => self.hits += 1,
            _ => self.misses += 1,
        }
    }

    /// How likely the next fit comes out at its bound.
    fn chance(&self) -> f64 {
        f64::from(self.hits + 1) / f64::from(self.hits + self.misses + 2)
    }
}

/// A copy of a run in one of its futures.
struct Future {
    run: Run,
    chance: f64,
}

impl Driver<'_, '_> {
    /// Gives work to workers that have none: what runs wait for, those behind first; then further starts of those
    /// fits; then guesses. Whether there is more to guess.
    pub(super) fn dispatch(&mut self) -> bool {
        let (workers, room) = (self.executor.workers().max(1), self.executor.room().max(1));
        while self.flights.len() < room
            && let Some((_, (k, key))) = self.ready.pop_first()
        {
            if let Some(part) = self.fits[k].get(&key).and_then(Assembly::needed) {
                self.send(k, &key, part);
            }
        }
        let waiting = self.ready.len() + self.flights.len().saturating_sub(workers);
        let given_up = self.flights.values().filter(|f| matches!(f, Flight::Nothing)).count();
        self.make_room(waiting.saturating_sub(given_up));
        // One worker has enough to do with what is asked for.
        if !self.engine.speculates || workers == 1 {
            return false;
        }
        while self.idle() > 0
            && let Some((k, key, part)) = self.next_start()
        {
            self.send(k, &key, part);
        }
        if self.engine.rules.bound.is_none() || self.idle() == 0 {
            return false;
        }
        // One run at a time, the one behind first: to look ahead takes longer than to hand out what is asked for.
        let runs = self.engine.runs.iter();
        let changed = runs.filter(|run| !run.finished && self.foresight[run.index].changed);
        let Some(k) = changed.min_by_key(|run| run.asked).map(|run| run.index) else {
            return false;
        };
        self.foresight[k].changed = false;
        let active = self.engine.runs.iter().filter(|run| !run.finished).count();
        self.guess(k, self.executor.workers().div_ceil(active).max(2));
        self.idle() > 0
    }

    /// Of the fits that runs wait for, the next start that nobody works on: the second of all before the third of any.
    fn next_start(&self) -> Option<(usize, Key, usize)> {
        let fits = self.fits.iter().enumerate();
        let fits = fits.flat_map(|(k, fits)| fits.iter().map(move |(key, a)| (k, key, a)));
        let waited_for = fits.filter(|(.., a)| a.index.is_some());
        let starts = waited_for.filter_map(|(k, key, a)| Some((a.waiting()?, a.job.place, k, key)));
        let first = starts.min_by_key(|(part, place, ..)| (*part, *place));
        first.map(|(part, _, k, key)| (k, key.clone(), part))
    }

    /// Whether the fits of a wave this long are made in parts: where there are workers enough.
    pub(super) fn makes_parts(&self, wave: usize) -> bool {
        let workers = self.executor.workers();
        self.engine.speculates
            && self.executor.makes_single_starts()
            && workers > 1
            && wave < 2 * workers
    }

    /// Has made what a run may ask for next.
    fn guess(&mut self, k: usize, most: usize) {
        // Where enough is kept, nothing more is guessed until the run has moved on: an executor that works on what came
        // last would never come to what is asked for.
        let kept = self.fits[k].values().filter(|a| a.index.is_none()).count();
        let moved = std::mem::take(&mut self.foresight[k].moved);
        if kept >= MOST_KEPT && !moved {
            return;
        }
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
        let chance = self.foresight[k].chance();
        let mut futures: Vec<Future> =
            run.fork().map(|run| Future { run, chance: 1.0 }).into_iter().collect();
        for _ in 0..COPIES_PER_GUESS * most {
            // The likeliest first; of equal ones the first that was thought of.
            let likeliest = (0..futures.len())
                .rev()
                .max_by(|&a, &b| futures[a].chance.total_cmp(&futures[b].chance));
            let Some(at) = likeliest.filter(|_| guesses.len() < most) else { break };
            let mut future = futures.swap_remove(at);
            if !self.follow(k, &mut future.run) {
                continue;
            }
            let Some(round) = &future.run.round else { continue };
            if round.jobs.iter().any(|job| job.parent.is_some()) {
                continue;
            }
            let waits: Vec<(usize, Arc<Job>)> =
                round.wave.iter().map(|&j| (j, round.jobs[j].clone())).collect();
            guesses.extend(waits.iter().map(|w| w.1.clone()).filter(|job| seen.insert(key(job))));
            // One of them comes out at its bound, or none does.
            for hope in (0..waits.len()).map(Some).chain([None]) {
                let before = hope.unwrap_or(waits.len()) as i32;
                let chance = (1.0 - chance).powi(before) * hope.map_or(1.0, |_| chance);
                let Some(mut run) = future.run.fork() else { continue };
                for (place, (index, job)) in waits.iter().enumerate() {
                    run.resolve(rules, *index, guess(rules, job, hope == Some(place)));
                }
                futures.push(Future { run, chance: future.chance * chance });
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
        let full = guessed.clone().count() >= MOST_KEPT;
        let unlikely: Vec<Key> = guessed
            .filter(|(key, a)| !likely.contains(key) && (full || a.result().is_none()))
            .map(|(key, _)| key.clone())
            .collect();
        for key in unlikely {
            self.give_up(k, &key);
        }
    }

    /// Gives up guesses, the last begun first, where every worker is busy: what is asked for comes first.
    fn make_room(&mut self, most: usize) {
        let is_guess = |(ticket, flight): (&Ticket, &Flight)| {
            let Flight::Part { run, key, .. } = flight else { return None };
            let guess = self.fits[*run].get(key).is_some_and(|a| a.index.is_none());
            guess.then_some(*ticket)
        };
        let mut guesses: Vec<Ticket> = self.flights.iter().filter_map(is_guess).collect();
        guesses.sort_unstable_by(|a, b| b.cmp(a));
        for ticket in guesses.into_iter().take(most) {
            if let Some(Flight::Part { run, key, part }) =
                self.flights.insert(ticket, Flight::Nothing)
                && let Some(assembly) = self.fits[run].get_mut(&key)
            {
                assembly.drop_part(part);
            }
            self.executor.cancel(ticket);
        }
    }
}

pub(super) fn key(job: &Job) -> Key {
    (job.graph.clone(), job.effort, job.walk.as_ref().map(|_| job.place.walk()))
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
        format: None,
    }))
}

#[cfg(test)]
mod tests;
