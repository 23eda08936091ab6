//! The cores that fits begin at, where a strategy names a parent.

use super::Search;
use crate::fit::{FitError, Fitted};
use crate::graph::Structure;
use crate::network::Network;
use crate::problem::Stop;
use crate::search::batch::Job;
use crate::search::lineage::grown;
use crate::search::{Effort, SearchError};
use std::sync::Arc;

impl Search<'_, '_> {
    /// The parent's network of every run that has one of these jobs; none where an interrupt came first.
    pub(super) fn parents(
        &mut self,
        jobs: &[Job],
        which: &[usize],
    ) -> Result<Option<Vec<Option<Arc<Network>>>>, SearchError> {
        let mut parents: Vec<Option<Arc<Network>>> = vec![None; self.runner.runs.len()];
        for job in which.iter().map(|&k| &jobs[k]) {
            let (run, Some(parent)) = (job.run, &job.parent) else { continue };
            if parents[run].is_none() {
                match self.network(run, parent, &self.runner.interrupt.clone()) {
                    Ok(network) => parents[run] = network,
                    Err(FitError::Interrupted) => {
                        self.watch();
                        return Ok(None);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(Some(parents))
    }

    /// The network of a structure that was fitted before in a run: as it is held, or fitted again.
    fn network(
        &mut self,
        run: usize,
        structure: &Structure,
        interrupt: &Stop,
    ) -> Result<Option<Arc<Network>>, FitError> {
        let dims = &self.runner.dims;
        if let Some(network) = self.runner.runs[run].lineage.network(structure, dims) {
            return Ok(Some(network));
        }
        let fitted = self.fit_again(run, structure, Effort::Full, interrupt)?;
        // Cut short, it is not what it was.
        if fitted.interrupted || interrupt.is_set() {
            return Err(FitError::Interrupted);
        }
        let dims = &self.runner.dims;
        Ok(self.runner.runs[run].lineage.hold(structure, dims, fitted.cores))
    }

    /// Fits a structure once more, from its parent if it has one. Not an evaluation: its result is known.
    pub(super) fn fit_again(
        &mut self,
        run: usize,
        structure: &Structure,
        effort: Effort,
        interrupt: &Stop,
    ) -> Result<Fitted, FitError> {
        // Back to an ancestor whose cores are at hand, or to the first; then forward.
        let (mut missing, mut network) = (Vec::new(), None);
        let lineage = &mut self.runner.runs[run].lineage;
        let mut next = lineage.parent_of(structure).filter(|_| effort.is_full()).cloned();
        while let Some(ancestor) = next {
            network = lineage.network(&ancestor, &self.runner.dims);
            if network.is_some() {
                break;
            }
            next = lineage.parent_of(&ancestor).cloned();
            missing.push(ancestor);
        }
        for ancestor in missing.iter().rev() {
            let fitted =
                self.fit_from(run, ancestor, Effort::Full, network.as_deref(), interrupt)?;
            if fitted.interrupted || interrupt.is_set() {
                return Err(FitError::Interrupted);
            }
            let dims = &self.runner.dims;
            network = self.runner.runs[run].lineage.hold(ancestor, dims, fitted.cores);
        }
        self.fit_from(run, structure, effort, network.as_deref(), interrupt)
    }

    fn fit_from(
        &self,
        run: usize,
        structure: &Structure,
        effort: Effort,
        parent: Option<&Network>,
        interrupt: &Stop,
    ) -> Result<Fitted, FitError> {
        let (graph, seed) = (structure.canonical().graph, self.runner.runs[run].seed);
        let evaluator = self.runner.evaluator;
        self.pool.install(|| match parent.and_then(|parent| grown(parent, structure, seed)) {
            Some(cores) => evaluator.evaluate_from(&graph, seed, &cores, interrupt),
            None => evaluator.evaluate(&graph, seed, effort, interrupt),
        })
    }
}
