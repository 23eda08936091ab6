//! Walks: fits that may change their structure, and go on from one another.
//!
//! The cores of the best walks of a run are held. Those of any other are computed again when a walk goes on from it, from
//! the one it went on from itself, and so on: what a walk ends at is a function of the seed and its ancestors, so that a
//! resumed search has it too.

use super::run::{Job, Resolved};
use super::{Driver, Event};
use crate::fit::{FitError, Fitted, Request};
use crate::search::strategy::WalkId;
use crate::tensor::AnyTensor;
use std::collections::HashMap;
use std::sync::Arc;

/// Walks of a run whose cores are held.
const HELD: usize = 16;

/// The walks of a run.
#[derive(Default)]
pub(super) struct Walks {
    /// All that began, by name.
    jobs: HashMap<WalkId, Arc<Job>>,
    /// The cores of the best, with their losses.
    held: Vec<(f64, WalkId, Arc<Vec<AnyTensor>>)>,
}

impl Walks {
    /// A walk begins.
    pub fn began(&mut self, job: &Arc<Job>) {
        self.jobs.insert(job.place.walk(), job.clone());
    }

    fn cores(&self, walk: WalkId) -> Option<Arc<Vec<AnyTensor>>> {
        self.held.iter().find(|(_, held, _)| *held == walk).map(|(.., cores)| cores.clone())
    }

    /// Holds the cores that a walk ended at, if they are among the best.
    fn hold(&mut self, loss: f64, walk: WalkId, cores: Arc<Vec<AnyTensor>>) {
        self.held.push((loss, walk, cores));
        self.held.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.held.truncate(HELD);
    }
}

impl Driver<'_, '_> {
    /// A walk has ended well.
    pub(super) fn walk_ended(&mut self, run: usize, index: usize, job: &Arc<Job>, fitted: Fitted) {
        let Some((found, fitted)) = self.engine.rules.found_by(job, fitted) else {
            return self.take(run, index, Resolved::Refused);
        };
        let loss = self.engine.rules.objective.loss(found.params, found.phi, fitted.error);
        // Answers as large as the tensor are none.
        let too_large = found.phi >= self.engine.rules.max_phi;
        if too_large || !(fitted.error.is_finite() && loss.is_finite()) {
            return self.take(run, index, Resolved::Refused);
        }
        let evaluation = self.evaluation(&found, loss, &fitted);
        self.tell(&Event::Evaluated(&evaluation));
        let walks = &mut self.walks[run];
        walks.began(job);
        walks.hold(loss, job.place.walk(), Arc::new(fitted.cores.clone()));
        self.account.keep(&found, evaluation.score(), fitted);
        self.take(run, index, Resolved::Found(Arc::new(found), Arc::new(evaluation)));
        self.tell_progress();
    }

    /// The cores that a walk of a run ended at: as they are held, or computed again.
    pub(super) fn walked(
        &mut self,
        run: usize,
        walk: WalkId,
    ) -> Result<Arc<Vec<AnyTensor>>, FitError> {
        match self.walks[run].cores(walk) {
            Some(cores) => Ok(cores),
            None => self.walk_again(run, walk, true).map(|fitted| Arc::new(fitted.cores)),
        }
    }

    /// The request of a walk that begins at these cores.
    pub(super) fn walk_request(&self, job: &Job, warm: Option<Arc<Vec<AnyTensor>>>) -> Request {
        let seed = job.walk_seed(self.engine.runs[job.place.run].seed);
        let mut request = Request::new(job.graph.clone(), self.engine.fit.clone(), seed);
        request.effort = job.effort;
        request.adapt = job.walk.as_ref().map(|(settings, _)| settings.clone());
        request.warm = warm;
        request
    }

    /// Makes a walk once more, and those it went on from whose cores are not at hand. Not an evaluation: its result is
    /// known.
    pub(super) fn walk_again(
        &mut self,
        run: usize,
        walk: WalkId,
        stoppable: bool,
    ) -> Result<Fitted, FitError> {
        let walks = &self.walks[run];
        let job = |walk| walks.jobs.get(&walk).cloned().ok_or(FitError::Interrupted);
        // The walk itself, the one it went on from, and so on, to one whose cores are held.
        let mut missing = vec![job(walk)?];
        let mut warm = None;
        while let Some(from) = missing.last().and_then(|job| job.walk.as_ref()?.1) {
            warm = walks.cores(from);
            if warm.is_some() {
                break;
            }
            missing.push(job(from)?);
        }
        let mut last = None;
        for job in missing.iter().rev() {
            let request = self.walk_request(job, warm.take());
            let fitted = self.compute_again(request, stoppable)?;
            let found = self.engine.rules.found_by(job, fitted);
            let (_, fitted) = found.ok_or(FitError::Interrupted)?;
            warm = Some(Arc::new(fitted.cores.clone()));
            last = Some(fitted);
        }
        last.ok_or(FitError::Interrupted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Adapt;
    use crate::problem::Objective;
    use crate::search::engine::testing::{
        Branching, Listing, TestExecutor, engine, fitted, job, structure,
    };
    use crate::search::strategy::Adapting;
    use crate::search::{Generation, engine::Evaluation};

    fn walk(index: usize) -> WalkId {
        WalkId { generation: 1, index }
    }

    #[test]
    fn the_cores_of_the_best_walks_are_held_whenever_they_ended() {
        let cores = |k: usize| Arc::new(fitted(&structure(k).canonical().graph, 0.5).cores);
        // Their losses; two are the same, of which the first in order is held.
        let losses: Vec<f64> =
            (0..HELD + 2).map(|k| [k, HELD - 1][usize::from(k == HELD)] as f64).collect();
        for backwards in [false, true] {
            let mut walks = Walks::default();
            let mut order: Vec<usize> = (0..HELD + 2).collect();
            if backwards {
                order.reverse();
            }
            for k in order {
                walks.hold(losses[k], walk(k), cores(k));
            }
            for k in 0..HELD + 2 {
                let held = walks.cores(walk(k));
                assert_eq!(held.is_some(), k < HELD, "{k}");
                assert!(held.is_none_or(|held| held == cores(k)));
            }
        }
    }

    fn walk_job(driver: &Driver<'_, '_>, index: usize, from: Option<usize>) -> Arc<Job> {
        let adapt = Adapt::new(Objective::Lambda(1.0), 9, Vec::new());
        let walk = Some((Arc::new(adapt), from.map(walk)));
        Arc::new(Job { walk, ..job(driver, index, index) })
    }

    /// A walk is made again from the nearest before it whose cores are held, or from the first of them.
    #[test]
    fn a_walk_is_made_again_from_what_it_went_on_from() {
        for held in [None, Some(0), Some(1)] {
            let mut bench = TestExecutor::new(1).replying(|_, request, _| {
                let graph = Some(request.graph.clone());
                Some(Ok(Fitted { graph, ..fitted(&request.graph, 0.5) }))
            });
            let desk = bench.desk.clone();
            let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
            for (k, from) in [(0, None), (1, Some(0)), (2, Some(1))] {
                let job = walk_job(&driver, k, from);
                driver.walks[0].began(&job);
            }
            let cores = |k: usize| Arc::new(fitted(&structure(k).canonical().graph, 0.5).cores);
            if let Some(k) = held {
                driver.walks[0].hold(1.0, walk(k), cores(k));
            }
            let again = driver.walked(0, walk(2)).unwrap();
            assert_eq!(again, cores(2));
            let first = held.map_or(0, |k| k + 1);
            let desk = desk.borrow();
            assert_eq!(desk.codes(), (first..3).collect::<Vec<_>>(), "{held:?}");
            for (code, (_, request)) in (first..3).zip(&desk.submitted) {
                let warm = code.checked_sub(1).map(cores);
                assert_eq!(request.warm, warm, "{held:?}");
                assert!(request.adapt.is_some());
            }
            assert_eq!(driver.walked(0, walk(9)), Err(FitError::Interrupted));
        }
    }

    /// A walk may end at a larger structure than it began at, but not at one that would have been refused.
    #[test]
    fn a_walk_that_ends_too_large_is_refused() {
        let phi = structure(23).phi(&crate::search::engine::testing::DIMS);
        for (max_phi, well) in [(phi, false), (phi * 1.001, true)] {
            let strategy =
                Listing(vec![Generation::walks([(structure(7), None)], Adapting::new(9, 3))]);
            let mut bench = TestExecutor::new(1).replying(|_, _, _| {
                let graph = structure(23).canonical().graph;
                Some(Ok(Fitted { graph: Some(graph.clone()), ..fitted(&graph, 0.25) }))
            });
            let mut told: Vec<Evaluation> = Vec::new();
            let engine = engine(1, strategy).max_phi(max_phi).listen(&mut told);
            let result = engine.run(&mut bench).unwrap();
            assert_eq!((result.best.is_some(), told.len()), (well, usize::from(well)));
            assert_eq!(result.counts.refused, u64::from(!well));
        }
    }
}
