//! The account of a search: counts, the best, how it improved, the Pareto front.
//!
//! Results are entered in the order in which structures were proposed, whenever their fits ended; so
//! the account does not depend on the number of threads.

use super::batch::Job;
use super::history::{History, Pareto};
use super::{CheckedObjective, Counts, Effort, Outcome, Score, Source};
use crate::fit::Fitted;
use crate::graph::{ModeGraph, Structure};
use std::cmp::Ordering;

/// The result of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    /// The RSE of its fit; none where it was refused.
    pub rse: Option<f64>,
    /// When the fit ended.
    pub seconds: f64,
}

/// The best structure so far.
#[derive(Debug)]
pub(super) struct Leader {
    pub score: Score,
    pub sequence: u64,
    pub structure: Structure,
    pub graph: ModeGraph,
    pub phi: f64,
    pub run: usize,
    pub seed: u64,
    pub effort: Effort,
}

impl Leader {
    pub(super) fn new(job: &Job, score: Score) -> Self {
        Leader {
            score,
            sequence: job.sequence,
            structure: job.structure.clone(),
            graph: job.graph.clone(),
            phi: job.phi,
            run: job.run,
            seed: job.seed,
            effort: job.effort,
        }
    }
}

/// The cores of the best fit that ended so far.
#[derive(Debug)]
struct Kept {
    score: Score,
    sequence: u64,
    fitted: Fitted,
}

#[derive(Debug)]
pub(super) struct Ledger {
    objective: CheckedObjective,
    pub counts: Counts,
    pub history: History,
    pub pareto: Pareto,
    pub leader: Option<Leader>,
    kept: Option<Kept>,
}

impl Ledger {
    pub(super) fn new(objective: CheckedObjective) -> Self {
        Ledger {
            objective,
            counts: Counts::default(),
            history: History::default(),
            pareto: Pareto::default(),
            leader: None,
            kept: None,
        }
    }

    /// What a strategy is told of a job that was fitted or refused.
    pub(super) fn outcome(&self, job: &Job, done: &Done) -> Outcome {
        let rse = done.rse.unwrap_or(1.0);
        let loss = self.objective.loss(job.params, job.phi, rse);
        let source = if done.rse.is_some() { Source::Evaluated } else { Source::Refused };
        Outcome { loss, rse: done.rse, params: job.params, source }
    }

    /// Keeps the cores of a fit that has just ended if it is the best yet. Only one set of cores is held
    /// at a time; which one is left in the end does not depend on the order in which fits end.
    pub(super) fn keep(&mut self, job: &Job, score: Score, fitted: Fitted) {
        let beats = |other: &Score, sequence: u64| {
            let order = self.objective.compare(&score, other);
            order.then(job.sequence.cmp(&sequence)) == Ordering::Less
        };
        if self.leader.as_ref().is_none_or(|l| beats(&l.score, l.sequence))
            && self.kept.as_ref().is_none_or(|k| beats(&k.score, k.sequence))
        {
            self.kept = Some(Kept { score, sequence: job.sequence, fitted });
        }
    }

    /// Enters a job's result; jobs are entered in the order of their sequence.
    pub(super) fn enter(&mut self, job: &Job, done: &Done) -> Outcome {
        let outcome = self.outcome(job, done);
        self.counts.add(&outcome);
        self.history.at(done.seconds);
        if let Some(rse) = done.rse {
            let score = Score { loss: outcome.loss, error: rse, params: job.params };
            self.pareto.add(job.params, rse);
            if self.leader.as_ref().is_none_or(|l| self.objective.better(&score, &l.score)) {
                self.history.improved(self.counts.evaluations, self.counts.samples, score);
                self.leader = Some(Leader::new(job, score));
            }
        }
        outcome
    }

    /// The cores of the best structure, unless its result came from a journal.
    pub(super) fn take_cores(&mut self) -> Option<Fitted> {
        let sequence = self.leader.as_ref()?.sequence;
        self.kept.take().filter(|kept| kept.sequence == sequence).map(|kept| kept.fitted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::problem::Objective;
    use std::sync::Arc;

    fn job(sequence: u64) -> Job {
        let ring = Arc::new(Template::ring(4).unwrap());
        let structure = Structure::new(ring, vec![0, 1, 2, 3], vec![2; 4]).unwrap();
        let graph = structure.canonical().graph;
        let at_best = Score { loss: 0.5, error: 0.0, params: 40 };
        Job {
            run: 0,
            seed: 1,
            sequence,
            effort: Effort::Full,
            structure,
            parent: None,
            graph,
            params: 40,
            phi: 0.5,
            at_best,
        }
    }

    /// A fit that can be told from others by its sweeps.
    fn fitted(rse: f64, sweeps: usize) -> Fitted {
        Fitted { cores: Vec::new(), rse, sweeps, restarts: 1, rescued: false, interrupted: false }
    }

    #[test]
    fn of_equal_fits_the_cores_of_the_first_proposed_are_kept() {
        let rses = [0.5, 0.1, 0.1, 0.3, 0.1];
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 1, 3], [3, 2, 1, 4, 0]] {
            let mut ledger = Ledger::new(Objective::Lambda(1.0).check().unwrap());
            // The fits end in this order...
            for k in order {
                let score = Score { loss: 0.5 + rses[k], error: rses[k], params: 40 };
                ledger.keep(&job(k as u64), score, fitted(rses[k], k));
            }
            // ...and are entered in that of their proposal.
            for (k, &rse) in rses.iter().enumerate() {
                ledger.enter(&job(k as u64), &Done { rse: Some(rse), seconds: 0.0 });
            }
            assert_eq!(ledger.leader.as_ref().unwrap().sequence, 1);
            assert_eq!(ledger.take_cores().unwrap().sweeps, 1, "{order:?}");
        }
    }

    #[test]
    fn a_best_from_a_journal_has_no_cores() {
        let mut ledger = Ledger::new(Objective::Lambda(1.0).check().unwrap());
        ledger.enter(&job(0), &Done { rse: Some(0.1), seconds: 0.0 });
        let score = Score { loss: 0.8, error: 0.3, params: 40 };
        ledger.keep(&job(1), score, fitted(0.3, 1));
        ledger.enter(&job(1), &Done { rse: Some(0.3), seconds: 0.0 });
        assert_eq!(ledger.leader.as_ref().unwrap().sequence, 0);
        assert!(ledger.take_cores().is_none());
    }
}
