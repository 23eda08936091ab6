//! What a search tells on its way.

use super::rules::Rules;
use super::run::{Closed, Job, Resolved, Round, Step};
use super::{Counts, Doing, Driver, Event, GenerationRecord, Progress, Stage};
use crate::fit::Effort;
use crate::problem::Score;

/// What has happened so far: the account's state, and what is not entered yet.
#[derive(Default)]
pub(super) struct Seen {
    pub counts: Counts,
    pub best: Option<Score>,
}

impl Seen {
    /// A generation was planned: what is answered already.
    pub fn planned(&mut self, round: &Round) {
        for step in &round.steps {
            if let Step::Known(outcome) = step {
                self.counts.add(outcome);
            }
        }
    }

    /// A job was fitted, found on record, or refused.
    pub fn resolved(&mut self, rules: &Rules, job: &Job, resolved: &Resolved) {
        let outcome = rules.outcome(job, resolved);
        self.counts.add(&outcome);
        if let Some(error) = outcome.error {
            let score = Score { loss: outcome.loss, error, params: job.params };
            if self.best.is_none_or(|best| rules.objective.better(&score, &best)) {
                self.best = Some(score);
            }
        }
    }

    /// A generation has ended: what was pruned on the way, and what came twice.
    pub fn closed(&mut self, closed: &Closed) {
        for (step, outcome) in closed.round.steps.iter().zip(&closed.outcomes) {
            let Some(outcome) = outcome else { continue };
            let counted = match step {
                Step::Known(_) => true,
                Step::Job(k) => !matches!(closed.round.resolved[*k], Some(Resolved::Pruned)),
                Step::SameAs(_) => false,
            };
            if !counted {
                self.counts.add(outcome);
            }
        }
    }
}

impl Driver<'_, '_> {
    /// Seconds since the search began, the time before a resume included.
    pub(super) fn seconds(&self) -> f64 {
        self.before + self.engine.begun.elapsed().as_secs_f64()
    }

    /// Tells all listeners. One that fails hears nothing more; the search goes on.
    pub(super) fn tell(&mut self, event: &Event<'_>) {
        let mut listeners = std::mem::take(&mut self.engine.listeners);
        listeners.retain_mut(|listener| match listener.hear(event) {
            Ok(()) => true,
            Err(error) => {
                self.listener_error.get_or_insert(error);
                false
            }
        });
        self.engine.listeners = listeners;
    }

    /// Tells the state after a generation.
    pub(super) fn tell_generation(&mut self) {
        let proven = self.proven.iter().flatten().copied().filter(|b| b.is_finite());
        let objective = self.engine.rules.objective;
        let record = GenerationRecord {
            number: self.entered,
            counts: self.account.counts,
            lower_bound: proven.reduce(f64::max).map(|value| objective.lower_bound(value)),
            seconds: self.seconds(),
        };
        self.tell(&Event::Generation(&record));
    }

    /// Tells what a run has asked for.
    pub(super) fn tell_doing(&mut self, k: usize) {
        let run = &self.engine.runs[k];
        let Some(round) = run.round.as_ref().filter(|round| !round.jobs.is_empty()) else { return };
        let walks = round.jobs.iter().any(|job| job.walk.is_some());
        let (strategy, structures) = (run.strategy.name().to_owned(), round.jobs.len());
        let stage = match round.jobs[0].effort {
            _ if walks => Stage::Walks,
            Effort::Direct => Stage::Direct,
            _ => Stage::Exact,
        };
        self.enter_stage(stage);
        self.tell(&Event::Doing(&Doing::Fitting { strategy: &strategy, structures, walks }));
    }

    /// Counts the time for another stage, and says so.
    pub(super) fn enter_stage(&mut self, stage: Stage) {
        if self.engine.clock.enter(stage) {
            self.tell(&Event::Stage(stage));
        }
    }

    /// The better of what was found and what was there already.
    fn best_so_far(&self) -> Option<Score> {
        let objective = self.engine.rules.objective;
        let in_hand = self.engine.in_hand.as_ref().map(|(answer, _)| self.score_of(answer));
        match (self.seen.best, in_hand) {
            (Some(found), Some(in_hand)) if objective.better(&in_hand, &found) => Some(in_hand),
            (found, in_hand) => found.or(in_hand),
        }
    }

    /// Keeps the most of what strategies have proven: it holds whatever becomes of them.
    pub(super) fn note_proven(&mut self) {
        let now = self.engine.runs.iter().filter_map(|run| run.strategy.lower_bound());
        let all = now.chain(self.most_proven).filter(|bound| bound.is_finite());
        self.most_proven = all.reduce(f64::max);
    }

    /// Tells how far the search is.
    pub(super) fn tell_progress(&mut self) {
        self.note_proven();
        let runs = &self.engine.runs;
        let best = self.best_so_far();
        let progress = Progress {
            counts: self.seen.counts,
            best,
            target_reached: best
                .is_some_and(|s| self.engine.rules.objective.reached(s.params, s.error)),
            generation: self.entered,
            planned_samples: runs
                .iter()
                .map(|run| run.strategy.planned_samples())
                .try_fold(0u64, |sum, n| n.map(|n| sum.saturating_add(n))),
            lower_bound: self.most_proven,
            seconds: self.seconds(),
        };
        self.tell(&Event::Progress(&progress));
    }
}
