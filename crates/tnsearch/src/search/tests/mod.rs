//! Tests of the runner with an evaluator that is a formula.

mod determinism;
mod limits;
mod strategies;

use super::*;
use crate::fit::{FitError, Fitted};
use crate::graph::{ModeGraph, Structure, Template};
use crate::problem::Stop;
use crate::rng;
use crate::tensor::Tensor;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const DIMS: [usize; 5] = [3, 4, 3, 2, 3];

/// Fits by formula: a valley around a hidden ring, roughened by a hash of (seed, key). Counts its calls
/// and can be slow, refuse large structures, fail, or set a flag after some calls.
#[derive(Default)]
struct Formula {
    calls: Mutex<Vec<(u64, String)>>,
    slow: bool,
    refuse_above: Option<u128>,
    fail_on: Option<fn(&ModeGraph) -> Option<FitError>>,
    flag_after: Option<(usize, Arc<Stop>)>,
    running: AtomicUsize,
    most_running: AtomicUsize,
}

impl Evaluator for Formula {
    fn evaluate(
        &self,
        graph: &ModeGraph,
        seed: u64,
        _: Effort,
        stop: &Stop,
    ) -> Result<Fitted, FitError> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let result = self.result(graph, seed, stop);
        self.running.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

impl Formula {
    fn result(&self, graph: &ModeGraph, seed: u64, stop: &Stop) -> Result<Fitted, FitError> {
        let calls = {
            let mut calls = self.calls.lock().unwrap();
            calls.push((seed, graph.to_string()));
            calls.len()
        };
        let mut rng = rng::stream(seed, &graph.to_bytes());
        if self.slow {
            // Fits end in another order than they began.
            std::thread::sleep(Duration::from_micros(rng.clone().random_range(0..1500)));
        }
        if let Some((n, flag)) = &self.flag_after
            && calls > *n
        {
            flag.set();
            while !stop.is_set() {
                std::thread::sleep(Duration::from_millis(1));
            }
            return Err(FitError::Interrupted);
        }
        if let Some(error) = self.fail_on.and_then(|fail| fail(graph)) {
            return Err(error);
        }
        let params = graph.params(&DIMS);
        if self.refuse_above.is_some_and(|most| params > most) {
            return Err(crate::MemoryError { what: "fitting", needed: 9e6, limit: 1e6 }.into());
        }
        let mut miss = 0.0;
        for (u, v) in [(0, 2), (2, 4), (1, 4), (1, 3), (0, 3)] {
            let rank = graph.edges().iter().find(|e| (e.0, e.1) == (u, v)).map_or(1, |e| e.2);
            miss += 3usize.saturating_sub(rank) as f64;
        }
        let rse = (miss / 10.0).powi(2) * rng.random_range(0.5..1.0) + 1e-9;
        let cores = (0..graph.vertices()).map(|v| {
            let dims = graph.core_dims(v, &DIMS);
            let n = dims.iter().product();
            Tensor::new(dims, (0..n).map(|_| rng.random::<f64>()).collect()).unwrap().into()
        });
        Ok(Fitted {
            cores: cores.collect(),
            rse,
            sweeps: 3,
            restarts: 1,
            rescued: false,
            interrupted: false,
        })
    }
}

fn settings() -> RunnerSettings {
    RunnerSettings { threads: Some(2), ..RunnerSettings::default() }
}

fn tnls(seed: u64) -> Tnls {
    let settings = TnlsSettings { iterations: 6, samples: 20, max_rank: 5, ..Default::default() };
    Tnls::new(Arc::new(Template::ring(5).unwrap()), settings.check().unwrap(), seed)
}

fn runner<'a>(
    objective: Objective,
    evaluator: &'a Formula,
    settings: RunnerSettings,
) -> Runner<'a> {
    Runner::new(&DIMS, objective.check().unwrap(), evaluator).settings(settings.check().unwrap())
}

/// The result without what the clock says.
fn timeless(mut result: SearchResult) -> SearchResult {
    result.seconds = 0.0;
    result.history.iter_mut().for_each(|p| p.seconds = 0.0);
    result
}

const OBJECTIVES: [Objective; 3] =
    [Objective::Lambda(20.0), Objective::MaxError(1e-3), Objective::MaxParams(80)];

/// What a script was told.
type Told = Arc<Mutex<Vec<Outcome>>>;

/// Proposes given generations and keeps what it is told.
struct Script(Vec<Vec<Structure>>, Told);

impl Strategy for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn ask(&mut self) -> Vec<Structure> {
        if self.0.is_empty() { Vec::new() } else { self.0.remove(0) }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.1.lock().unwrap().extend(outcomes);
    }
}
