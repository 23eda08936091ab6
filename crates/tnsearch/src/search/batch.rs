//! Fitting many structures at once.

use super::lineage::grown;
use super::{Effort, Evaluator, Score};
use crate::fit::{FitError, Fitted};
use crate::graph::{ModeGraph, Structure};
use crate::network::Network;
use crate::problem::Stop;
use rayon::ThreadPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often a caller that waits for fits can look at its clock and its interrupt flag.
const TICK: Duration = Duration::from_millis(20);

/// A structure to be fitted.
#[derive(Debug)]
pub(super) struct Job {
    /// The run that proposed it.
    pub run: usize,
    /// That run's seed.
    pub seed: u64,
    /// Its place in the order of all jobs of the search.
    pub sequence: u64,
    /// How much work its fit is worth.
    pub effort: Effort,
    /// The structure as it was proposed.
    pub structure: Structure,
    /// The structure whose cores its fit begins at, if any.
    pub parent: Option<Arc<Structure>>,
    /// Its canonical form.
    pub graph: ModeGraph,
    /// Its parameters.
    pub params: u128,
    /// params / product of the dimensions.
    pub phi: f64,
    /// The best it can be: a lower bound on its RSE (0 where nothing is pruned), and the loss of that.
    pub at_best: Score,
}

/// What a caller sees while a batch is fitted.
pub(super) enum Event {
    /// A fit has ended: the job's place in the batch, and its result.
    Done(usize, Result<Fitted, FitError>),
    /// Some time has passed.
    Tick,
}

/// Threads and what they run.
pub(super) struct Batch<'a> {
    pub pool: &'a ThreadPool,
    pub max_parallel: usize,
    pub evaluator: &'a dyn Evaluator,
    /// The parent's network of each run, where the jobs have one.
    pub parents: &'a [Option<Arc<Network>>],
    /// Once set, no fit is started and those that run return soon.
    pub stop: &'a Stop,
}

impl Batch<'_> {
    /// Fits the jobs, started in their order, each by the next thread that is free. The events come in
    /// the order in which fits end, on the calling thread.
    pub(super) fn evaluate(&self, jobs: &[&Job], mut on_event: impl FnMut(Event)) {
        let workers = self.pool.current_num_threads().min(self.max_parallel).min(jobs.len());
        let next = AtomicUsize::new(0);
        let (next, evaluator, stop) = (&next, self.evaluator, self.stop);
        let parents = self.parents;
        // Each worker takes jobs until none is left: more fits than workers never hold memory at once,
        // whatever a fit does with the pool's other threads.
        self.pool.in_place_scope(|scope| {
            let (sender, results) = mpsc::channel();
            for _ in 0..workers {
                let sender = sender.clone();
                scope.spawn(move |_| {
                    while !stop.is_set() {
                        let k = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(k) else { break };
                        let parent = parents[job.run].as_deref().filter(|_| job.parent.is_some());
                        let cores = parent.and_then(|p| grown(p, &job.structure, job.seed));
                        let mut result = match cores {
                            Some(cores) => {
                                evaluator.evaluate_from(&job.graph, job.seed, &cores, stop)
                            }
                            None => evaluator.evaluate(&job.graph, job.seed, job.effort, stop),
                        };
                        // A fit that saw the flag may have been cut short: its error is not the one
                        // that an undisturbed search would find.
                        if stop.is_set() {
                            result = result.map(|fitted| Fitted { interrupted: true, ..fitted });
                        }
                        if sender.send((k, result)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            loop {
                match results.recv_timeout(TICK) {
                    Ok((k, result)) => on_event(Event::Done(k, result)),
                    Err(RecvTimeoutError::Timeout) => on_event(Event::Tick),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
    }
}
