//! One of several independent runs.

use super::batch::Job;
use super::lineage::Lineage;
use super::{CheckedObjective, Counts, Effort, Outcome, Score, Strategy};
use crate::graph::ModeGraph;
use std::collections::HashMap;

/// One strategy and what the runner knows about it.
pub(super) struct Run<'a> {
    pub seed: u64,
    pub strategy: Box<dyn Strategy + 'a>,
    /// Whether the strategy has proposed nothing more.
    pub finished: bool,
    /// What became of every structure it proposed and that was fitted.
    cache: HashMap<ModeGraph, (Effort, Outcome)>,
    pub counts: Counts,
    pub best: Option<Score>,
    /// Cores that later fits begin at.
    pub lineage: Lineage,
}

impl<'a> Run<'a> {
    pub(super) fn new(seed: u64, strategy: Box<dyn Strategy + 'a>) -> Self {
        let (counts, cache) = (Counts::default(), HashMap::new());
        let lineage = Lineage::default();
        Run { seed, strategy, finished: false, cache, counts, best: None, lineage }
    }

    /// What became of a structure that was fitted with no less effort.
    pub(super) fn cached(&self, graph: &ModeGraph, effort: Effort) -> Option<Outcome> {
        self.cache.get(graph).filter(|(spent, _)| *spent >= effort).map(|&(_, outcome)| outcome)
    }

    /// Remembers the outcome of a job.
    pub(super) fn learn(&mut self, objective: CheckedObjective, job: &Job, outcome: Outcome) {
        // More effort starts anew, and may end worse.
        let earlier = self.cache.get(&job.graph).map(|&(_, outcome)| outcome);
        let better = earlier.filter(|e| e.loss < outcome.loss).unwrap_or(outcome);
        self.cache.insert(job.graph.clone(), (job.effort, better));
        if let Some(rse) = outcome.rse {
            let score = Score { loss: outcome.loss, error: rse, params: outcome.params };
            if self.best.is_none_or(|best| objective.better(&score, &best)) {
                self.best = Some(score);
            }
        }
    }
}
