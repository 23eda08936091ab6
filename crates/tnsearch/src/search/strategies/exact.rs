//! Exact search: fit the structures that the cuts do not rule out, the smallest first.
//!
//! The relaxed problem ([`Relaxation`]) hands out structures in the order of what they cannot go below, so the
//! first that a fit confirms is optimal. Where fits fail at structures the cuts allow, the search goes on up
//! the list; the value of the first of them stays the proven bound, and the difference is the gap. Where the
//! nodes are spent before anything was found, the most promising structures are fitted without a proof.
//!
//! For an error that is to be reached, most fits that fail do so at once and most that succeed do so from the
//! first start. So structures are fitted quickly at first, up to the first that reaches the error; then the
//! smaller ones that failed get all their starts, the nearest to the error first.

use super::climb::Climb;
use super::{Ask, CheckedObjective, Effort, Generation, Outcome, SettingError, Strategy};
use crate::bound::{Candidate, Next, Relaxation};
use crate::graph::{ModeGraph, Structure};
use crate::problem::Score;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::Deref;

/// Nodes expanded in one ask: a fraction of a second.
const SLICE: u64 = 1_000;

/// The settings of an exact search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExactSettings {
    /// Nodes of the relaxed problem that may be expanded in all; then the search ends with what it has.
    pub nodes: u64,
    /// Structures that may be proposed in all.
    pub candidates: usize,
    /// Of those that a quick fit did not bring to the error, how many may be fitted with full effort.
    pub retries: usize,
    /// Structures that may be proposed on the way up from the nearest, where none of all these reaches the
    /// error.
    pub growth: usize,
}

impl Default for ExactSettings {
    fn default() -> Self {
        ExactSettings { nodes: 5_000_000, candidates: 20_000, retries: 64, growth: 1_000 }
    }
}

impl ExactSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedExact, SettingError> {
        if self.nodes == 0 {
            return Err(SettingError::new("nodes", 0, "it must be at least 1"));
        }
        if self.candidates == 0 {
            return Err(SettingError::new("candidates", 0, "it must be at least 1"));
        }
        Ok(CheckedExact(self))
    }
}

/// Settings that were checked; reads like [`ExactSettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedExact(ExactSettings);

impl Deref for CheckedExact {
    type Target = ExactSettings;

    fn deref(&self) -> &ExactSettings {
        &self.0
    }
}

/// The exact strategy.
pub struct Exact {
    relaxation: Relaxation,
    objective: CheckedObjective,
    settings: CheckedExact,
    asked: Vec<Candidate>,
    effort: Effort,
    /// What a quick fit did not bring to the error, with the error it reached.
    failed: Vec<(f64, Candidate)>,
    /// How many of these ask for some full fits before an answer is known.
    patience: usize,
    retried: usize,
    seen: HashSet<ModeGraph>,
    proposed: usize,
    generation: u32,
    /// The value of the best that a fit has confirmed.
    incumbent: f64,
    /// The least value of all structures proposed.
    floor: f64,
    /// The structure nearest to the target so far.
    nearest: Option<(f64, Structure)>,
    /// Once the relaxed problem has no more to give: what is left to try while there is no answer, the best
    /// last.
    spare: Option<Vec<Candidate>>,
    /// The way up, once there is nothing else.
    climb: Option<Climb>,
    /// Whether the last ask ended for want of nodes in its slice.
    thinking: bool,
    name: &'static str,
}

/// Structures tried without a proof where the nodes are spent.
const SPARE: usize = 64;

/// Quick fits that fail before some get full effort; twice as many before the next time.
const PATIENCE: usize = 8;

/// Full fits in one ask.
const RETRIES: usize = 4;

impl Exact {
    /// The strategy on a relaxed problem that nothing was taken from yet.
    pub fn new(
        relaxation: Relaxation,
        objective: CheckedObjective,
        settings: CheckedExact,
    ) -> Self {
        Exact {
            relaxation,
            objective,
            settings,
            asked: Vec::new(),
            effort: Effort::Full,
            failed: Vec::new(),
            patience: PATIENCE,
            retried: 0,
            seen: HashSet::new(),
            proposed: 0,
            generation: 0,
            incumbent: f64::INFINITY,
            floor: f64::INFINITY,
            nearest: None,
            spare: None,
            climb: None,
            thinking: false,
            name: "exact",
        }
    }

    /// The same by another name, where it is one of several strategies.
    pub(super) fn named(mut self, name: &'static str) -> Self {
        self.name = name;
        self
    }

    /// The structure to go on from: the one climbed to, or the one of the smallest loss.
    pub fn nearest(&self) -> Option<&Structure> {
        self.nearest.as_ref().map(|(_, structure)| structure)
    }

    /// Whether a local search could do better: there is no answer, or one that was climbed to, far from any
    /// proof.
    pub fn wants_more(&self) -> bool {
        !self.has_answer() || self.climb.is_some()
    }

    /// Whether a fit has confirmed a structure that is what was asked for.
    pub fn has_answer(&self) -> bool {
        self.incumbent.is_finite()
    }

    /// What an outcome is worth in the units of the relaxed problem; none where it is no answer.
    fn value(&self, outcome: &Outcome) -> Option<f64> {
        let Outcome { loss, error, params, .. } = *outcome;
        self.objective.value(&Score { loss, error: error?, params })
    }

    /// Whether a structure of this value is no better than what was found (losses and errors: than what
    /// counts as meeting it, see [`super::LowerBound::is_met_by`]).
    fn settled(&self, value: f64) -> bool {
        value + self.objective.margin(value) >= self.incumbent
    }

    fn next_candidate(&mut self) -> Option<Candidate> {
        if let Some(spare) = &mut self.spare {
            return if self.incumbent.is_finite() { None } else { spare.pop() };
        }
        if self.relaxation.floor().is_some_and(|floor| !self.settled(floor)) {
            let left = self.settings.nodes.saturating_sub(self.relaxation.expanded());
            match self.relaxation.next(left.min(SLICE)) {
                Next::Candidate(candidate) if !self.settled(candidate.value) => {
                    self.floor = self.floor.min(candidate.value);
                    return Some(candidate);
                }
                // The runner is about to end.
                Next::Spent(_) if self.relaxation.interrupted() => {
                    self.thinking = true;
                    return None;
                }
                Next::Spent(_)
                    if left > SLICE && !self.relaxation.is_full() && !self.relaxation.hurried() =>
                {
                    self.thinking = true;
                    return None;
                }
                Next::Spent(_) if !self.has_answer() => {
                    let mut promising = self.relaxation.promising();
                    promising.truncate(SPARE);
                    promising.reverse();
                    return self.spare.insert(promising).pop();
                }
                // The next best is no better than what was found, or there is no more time.
                _ => {}
            }
        }
        self.spare = Some(Vec::new());
        None
    }

    /// The structures nearest to the error among those that only a quick fit was made for, and that are
    /// better than what was found.
    fn ask_again(&mut self) {
        let mut failed = std::mem::take(&mut self.failed);
        failed.retain(|(_, candidate)| !self.settled(candidate.value));
        let count = RETRIES.min(self.settings.retries - self.retried).min(failed.len());
        failed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.failed = failed.split_off(count);
        self.retried += count;
        self.effort = Effort::Full;
        self.asked = failed.into_iter().map(|(_, candidate)| candidate).collect();
    }

    /// The next steps of the way up (and down again), for an error that nothing else has reached.
    fn ask_climb(&mut self) -> Ask {
        if self.climb.is_none()
            && !self.has_answer()
            && let (Some(_), Some(nearest)) = (self.objective.max_error(), self.nearest())
        {
            let max_rank = self.relaxation.max_rank();
            self.climb = Some(Climb::new(nearest.clone(), max_rank, self.settings.growth));
        }
        self.effort = Effort::Quick;
        let structures = self.climb.as_mut().map_or(Vec::new(), |climb| climb.ask().to_vec());
        Generation::new(structures).effort(self.effort).ask()
    }

    /// The next structures of the relaxed problem.
    fn ask_next(&mut self) {
        self.effort = match self.objective.max_error() {
            Some(_) => Effort::Quick,
            None => Effort::Full,
        };
        // One at first, since one is mostly enough; more at a time when it is not.
        let wanted = 1usize << (self.generation / 2).min(3);
        while self.proposed < self.settings.candidates && self.asked.len() < wanted {
            let Some(candidate) = self.next_candidate() else { break };
            // The relaxed problem knows some symmetries of the template; the others are seen here.
            if self.seen.insert(candidate.structure.canonical().graph) {
                self.proposed += 1;
                self.asked.push(candidate);
            }
        }
        self.generation += u32::from(!self.asked.is_empty());
    }
}

impl Strategy for Exact {
    fn name(&self) -> &str {
        self.name
    }

    fn ask(&mut self) -> Ask {
        self.asked.clear();
        self.thinking = false;
        if self.climb.is_some() {
            return self.ask_climb();
        }
        if !self.has_answer() && self.failed.len() >= self.patience {
            self.patience *= 2;
            self.ask_again();
        }
        if self.asked.is_empty() {
            self.ask_next();
        }
        if self.asked.is_empty() && !self.thinking {
            self.ask_again();
        }
        match (self.asked.is_empty(), self.thinking) {
            (true, true) => Ask::Thinking,
            (true, false) => self.ask_climb(),
            (false, _) => {
                let structures = self.asked.iter().map(|c| c.structure.clone()).collect();
                Generation::new(structures).effort(self.effort).ask()
            }
        }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        if let Some(climb) = &mut self.climb {
            let objective = self.objective;
            climb.tell(outcomes, |o| o.error.is_some_and(|e| objective.reached(o.params, e)));
            let at = climb.at().clone();
            let found = outcomes.iter().filter_map(|outcome| self.value(outcome));
            let found = found.fold(f64::INFINITY, f64::min);
            if found < self.incumbent {
                self.incumbent = found;
                self.nearest = Some((f64::NEG_INFINITY, at));
            }
            return;
        }
        for (candidate, outcome) in std::mem::take(&mut self.asked).into_iter().zip(outcomes) {
            if self.nearest.as_ref().is_none_or(|(loss, _)| outcome.loss < *loss) {
                self.nearest = Some((outcome.loss, candidate.structure.clone()));
            }
            if let Some(value) = self.value(outcome) {
                self.incumbent = self.incumbent.min(value);
            } else if let (Effort::Quick, Some(error)) = (self.effort, outcome.error) {
                self.failed.push((error, candidate));
            }
        }
    }

    fn hear(&mut self, best: &Score) {
        let value = self.objective.value(best);
        self.incumbent = self.incumbent.min(value.unwrap_or(f64::INFINITY));
    }

    fn lower_bound(&self) -> Option<f64> {
        let open = self.relaxation.floor().unwrap_or(f64::INFINITY);
        Some(self.floor.min(open))
    }
}
