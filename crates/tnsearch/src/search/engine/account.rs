//! The account of a search: counts, the best, how it improved, the Pareto front.
//!
//! Results are entered in the order in which structures were proposed, whenever their fits ended; so
//! the account does not depend on the number of workers.

use super::history::{History, Pareto};
use super::run::{Closed, Job, Place, Resolved, Step};
use super::{Counts, Evaluation};
use crate::fit::Fitted;
use crate::problem::{CheckedObjective, Score};
use std::cmp::Ordering;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Account {
    objective: CheckedObjective,
    pub counts: Counts,
    pub history: History,
    pub pareto: Pareto,
    /// The best structure so far.
    pub leader: Option<(Arc<Job>, Arc<Evaluation>)>,
    /// The cores of the best fit that ended so far.
    kept: Option<(Score, Place, Fitted)>,
}

impl Account {
    pub fn new(objective: CheckedObjective) -> Self {
        Account {
            objective,
            counts: Counts::default(),
            history: History::default(),
            pareto: Pareto::default(),
            leader: None,
            kept: None,
        }
    }

    /// Keeps the cores of a fit that has just ended if it is the best yet. Only one set of cores is held
    /// at a time; which one is left in the end does not depend on the order in which fits end.
    pub fn keep(&mut self, job: &Job, score: Score, fitted: Fitted) {
        let beats = |other: &Score, place: Place| {
            self.objective.compare(&score, other).then(job.place.cmp(&place)) == Ordering::Less
        };
        if self.leader.as_ref().is_none_or(|(j, e)| beats(&e.score(), j.place))
            && self.kept.as_ref().is_none_or(|(other, place, _)| beats(other, *place))
        {
            self.kept = Some((score, job.place, fitted));
        }
    }

    /// Enters a generation of a run; generations are entered in their order, and those of one number in the order
    /// of the runs.
    pub fn enter(&mut self, closed: &Closed) {
        for (step, outcome) in closed.round.steps.iter().zip(&closed.outcomes) {
            let Some(outcome) = outcome else { continue };
            self.counts.add(outcome);
            let Step::Job(k) = step else { continue };
            if let Some(Resolved::Evaluated(evaluation)) = &closed.round.resolved[*k] {
                self.evaluated(&closed.round.jobs[*k], evaluation);
            }
        }
    }

    fn evaluated(&mut self, job: &Arc<Job>, evaluation: &Arc<Evaluation>) {
        let score = Score { params: job.params, ..evaluation.score() };
        self.history.at(evaluation.seconds);
        self.pareto.add(score.params, score.error);
        if self.leader.as_ref().is_none_or(|(_, e)| self.objective.better(&score, &e.score())) {
            self.history.improved(self.counts.evaluations, self.counts.samples, score);
            self.leader = Some((job.clone(), evaluation.clone()));
        }
    }

    /// The cores of the best structure, unless its result came from a journal.
    pub fn take_cores(&mut self) -> Option<Fitted> {
        let place = self.leader.as_ref()?.0.place;
        self.kept.take().filter(|kept| kept.1 == place).map(|kept| kept.2)
    }
}
