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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Objective;
    use crate::search::engine::Driver;
    use crate::search::engine::run::Parent;
    use crate::search::engine::testing::{Branching, TestExecutor, engine, job, structure};

    /// Jobs of these least losses, drawn around a structure or not.
    fn jobs(losses: &[f64], carried: bool) -> Vec<Arc<Job>> {
        let mut bench = TestExecutor::new(1);
        let driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        let parent = Arc::new(Parent { structure: structure(1), near: carried.then_some(9.0) });
        let make = |(k, &loss): (usize, &f64)| {
            let mut job = job(&driver, k, k);
            (job.at_best.loss, job.parent) = (loss, Some(parent.clone()));
            Arc::new(job)
        };
        losses.iter().enumerate().map(make).collect()
    }

    fn objective() -> CheckedObjective {
        Objective::Lambda(1.0).check().unwrap()
    }

    fn score(loss: f64) -> Score {
        Score { loss, error: 0.1, params: 10 }
    }

    /// What is handed out and what is pruned.
    fn next(lane: &mut Lane, limit: usize) -> (Vec<usize>, Vec<usize>) {
        let mut pruned = Vec::new();
        (lane.next(objective(), limit, |job| pruned.push(job)), pruned)
    }

    #[test]
    fn only_what_can_neither_move_the_strategy_nor_be_the_answer_is_pruned() {
        // The least loss of a job, that which matters, the least of the round, the best of the run; whether it is pruned.
        let cases = [
            (5.0, Some(4.0), 3.0, Some(2.0), true),
            // It may move the strategy: below what matters, and at least as good as what the round has.
            (3.0, Some(4.0), 3.0, Some(2.0), false),
            (3.5, Some(4.0), 3.0, Some(2.0), true),
            (2.5, Some(4.0), 3.0, Some(2.0), false),
            (4.0, Some(4.0), 9.0, Some(2.0), true),
            (3.9, Some(4.0), 9.0, Some(2.0), false),
            // It may be the answer.
            (5.0, Some(4.0), 3.0, Some(6.0), false),
            (5.0, Some(4.0), 3.0, Some(5.0), true),
            (5.0, Some(4.0), 3.0, None, false),
            // Every loss matters.
            (5.0, None, 3.0, Some(2.0), false),
        ];
        for (loss, only_below, low, best, prunes) in cases {
            let mut lane = Lane::new(jobs(&[loss], false), only_below, low, best.map(score));
            let expected = if prunes { (vec![], vec![0]) } else { (vec![0], vec![]) };
            assert_eq!(next(&mut lane, 9), expected, "{loss} {only_below:?} {low} {best:?}");
            assert!(lane.is_empty());
        }
    }

    #[test]
    fn so_many_are_handed_out_at_a_time_the_most_promising_first() {
        let losses: Vec<f64> = (0..40).map(|k| f64::from((k * 7) % 40)).collect();
        let mut sorted: Vec<usize> = (0..40).collect();
        sorted.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
        for (only_below, carried, wave) in
            [(Some(99.0), false, WAVE), (Some(99.0), true, WIDE_WAVE), (None, true, 40)]
        {
            for limit in [1, 2, 3, 31, 33, 99] {
                let mut lane = Lane::new(jobs(&losses, carried), only_below, 99.0, None);
                let order: Vec<usize> =
                    if only_below.is_some() { sorted.clone() } else { (0..40).collect() };
                let (taken, pruned) = next(&mut lane, limit);
                assert_eq!((&taken[..], pruned), (&order[..wave.min(limit)], vec![]));
                assert_eq!(lane.is_empty(), taken.len() == 40);
            }
        }
    }

    #[test]
    fn what_is_learnt_prunes_the_rest() {
        let mut lane = Lane::new(jobs(&[1.0, 2.0, 3.0, 4.0], false), Some(99.0), 99.0, None);
        assert_eq!(next(&mut lane, 1), (vec![0], vec![]));
        lane.learn(objective(), score(3.0));
        assert_eq!(next(&mut lane, 1), (vec![1], vec![]));
        // Neither a worse result nor the order of results makes a difference.
        lane.learn(objective(), score(5.0));
        assert_eq!(next(&mut lane, 9), (vec![2], vec![3]));
    }
}
