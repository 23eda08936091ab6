//! What one run still wants fitted of a generation, the most promising first.

use super::run::Job;
use crate::problem::{CheckedObjective, Score};
use std::collections::VecDeque;
use std::sync::Arc;

/// Structures of one run that are asked for at a time where the rest may be pruned after it. A constant, so that
/// what is pruned does not depend on the number of workers.
const WAVE: usize = 2;

/// The same where fits are given up early: then one costs little, and idle workers cannot guess what comes next.
const WIDE_WAVE: usize = 32;

/// The jobs of one run in one round.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    jobs: Vec<Arc<Job>>,
    /// Indices of its jobs, in the order in which they are to be fitted.
    queue: VecDeque<usize>,
    /// Only a loss below this matters to the strategy; none: every loss does.
    only_below: Option<f64>,
    /// The smallest loss of the round so far.
    low: f64,
    /// The run's best answer so far.
    best: Option<Score>,
}

impl Lane {
    /// A lane for a run; with `only_below`, the jobs of the least possible loss come first.
    pub fn new(
        jobs: Vec<Arc<Job>>,
        only_below: Option<f64>,
        low: f64,
        best: Option<Score>,
    ) -> Self {
        let mut queue: Vec<usize> = (0..jobs.len()).collect();
        if only_below.is_some() {
            queue.sort_by(|&a, &b| jobs[a].at_best.loss.total_cmp(&jobs[b].at_best.loss));
        }
        Lane { jobs, queue: queue.into(), only_below, low, best }
    }

    /// Whether all jobs are handed out or pruned.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a structure can neither move the strategy nor be the run's answer, at its best.
    fn rules_out(&self, objective: CheckedObjective, at_best: &Score) -> bool {
        let moves_nothing =
            self.only_below.is_some_and(|b| at_best.loss >= b || at_best.loss > self.low);
        moves_nothing && self.best.is_some_and(|best| !objective.better(at_best, &best))
    }

    /// Hands out the next jobs, at most `limit`; those ruled out by now go to `prune`.
    pub fn next(
        &mut self,
        objective: CheckedObjective,
        limit: usize,
        mut prune: impl FnMut(usize),
    ) -> Vec<usize> {
        let carried = |job: &Arc<Job>| job.parent.as_ref().is_some_and(|p| p.near.is_some());
        let wave = match self.only_below {
            Some(_) if self.jobs.first().is_some_and(carried) => WIDE_WAVE,
            Some(_) => WAVE,
            None => usize::MAX,
        };
        let mut taken = Vec::new();
        while taken.len() < wave {
            let Some(&job) = self.queue.front() else { break };
            if self.rules_out(objective, &self.jobs[job].at_best) {
                prune(job);
            } else if taken.len() < limit {
                taken.push(job);
            } else {
                break;
            }
            self.queue.pop_front();
        }
        taken
    }

    /// Takes the result of a fit into account.
    pub fn learn(&mut self, objective: CheckedObjective, score: Score) {
        self.low = self.low.min(score.loss);
        if self.best.is_none_or(|best| objective.better(&score, &best)) {
            self.best = Some(score);
        }
    }
}
