//! Fits by a formula, and a bound on its errors.

use super::*;
use crate::tensor::Tensor;
use std::sync::atomic::AtomicUsize;

pub(super) const DIMS: [usize; 5] = [3, 4, 3, 2, 3];

/// Fits by formula: a valley around a hidden ring, roughened by a hash of (seed, key). Counts its calls
/// and can be slow, refuse large structures, fail, or set a flag after some calls.
#[derive(Default)]
pub(super) struct Formula {
    pub calls: Mutex<Vec<(u64, String)>>,
    pub slow: bool,
    pub refuse_above: Option<u128>,
    pub fail_on: Option<fn(&ModeGraph) -> Option<FitError>>,
    pub flag_after: Option<(usize, Stop)>,
    pub most_running: AtomicUsize,
    pub running: AtomicUsize,
}

impl Evaluator for Formula {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_running.fetch_max(running, Ordering::SeqCst);
        let result = self.result(&request.graph, request.seed, stop);
        self.running.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

/// How far a structure is from the hidden ring, as the error of its best fit.
fn valley(graph: &ModeGraph) -> f64 {
    let mut miss = 0.0;
    for (u, v) in [(0, 2), (2, 4), (1, 4), (1, 3), (0, 3)] {
        let rank = graph.edges().iter().find(|e| (e.0, e.1) == (u, v)).map_or(1, |e| e.2);
        miss += 3usize.saturating_sub(rank) as f64;
    }
    (miss / 10.0).powi(2)
}

impl Formula {
    pub fn slow() -> Self {
        Formula { slow: true, ..Formula::default() }
    }

    fn result(&self, graph: &ModeGraph, seed: u64, stop: &Stop) -> Result<Fitted, FitError> {
        let calls = {
            let mut calls = self.calls.lock().unwrap();
            calls.push((seed, graph.to_string()));
            calls.len()
        };
        let mut rng = rng::stream(seed, &graph.to_bytes());
        if self.slow {
            // Fits end in another order than they began.
            std::thread::sleep(Duration::from_micros(rng.clone().random_range(0..400)));
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
            return Err(crate::MemoryError::new("fitting", 9e6, 1e6).into());
        }
        let error = valley(graph) * rng.random_range(0.5..1.0) + 1e-9;
        let cores = (0..graph.vertices()).map(|v| {
            let dims = graph.core_dims(v, &DIMS);
            let n = dims.iter().product();
            Tensor::new(dims, (0..n).map(|_| rng.random::<f64>()).collect()).unwrap().into()
        });
        Ok(Fitted {
            cores: cores.collect(),
            error,
            sweeps: 3,
            restarts: 1,
            rescued: false,
            interrupted: false,
            graph: None,
        })
    }
}

/// A lower bound on the errors of [`Formula`]: this fraction of half the valley, which is the least it can come out at.
#[derive(Clone, Copy)]
pub(super) struct Slack(pub f64);

impl ErrorBound for Slack {
    fn error(&self, graph: &ModeGraph, _: f64) -> f64 {
        0.5 * self.0 * valley(graph)
    }
}

#[test]
fn no_formula_goes_below_its_bound() {
    let (formula, ring) = (Formula::default(), Arc::new(Template::ring(5).unwrap()));
    let mut rng = rng::stream(4, b"slack");
    for seed in 0..500 {
        let ranks = (0..5).map(|_| rng.random_range(1..=4)).collect();
        let graph = Structure::identity(ring.clone(), ranks).unwrap().canonical().graph;
        let error = formula.result(&graph, seed, &Stop::new()).unwrap().error;
        let low = Slack(1.0).error(&graph, f64::INFINITY);
        assert!(low <= error && low >= 0.5 * (error - 2e-9), "{low} {error}");
    }
}
