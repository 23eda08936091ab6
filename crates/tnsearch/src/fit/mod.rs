//! Fitting the cores of a given structure: minimise `RSE = ||X - Z||^2 / ||X||^2` over the cores.

mod adam;
pub mod adapt;
mod alone;
mod als;
mod asked;
mod control;
pub(crate) mod grouped;
mod lm;
mod losses;
mod observed;
mod plan;
mod reduce;
mod request;
mod settings;
mod solve;
mod starts;
mod workspace;

pub use adapt::Adapt;
pub use alone::{AloneError, FittedNetwork, RESCUE_ALONE, fit_structure};
pub use asked::AskedFit;
pub use losses::fit_loss;
pub use request::{Effort, Request};
pub use settings::{CheckedFit, FitSettings, Method};

use crate::graph::ModeGraph;
use crate::network::tree::{EXACT_OFTEN, Tree};
use crate::problem::{Stop, Target};
use crate::tensor::{AnyTensor, Kind, Scalar, Tensor, TensorError};
use crate::{MemoryError, SettingError, dispatch};
use control::Control;
use lm::Lm;
use observed::Which;
use plan::{Plan, Walk};
use reduce::Reduced;
use serde::{Deserialize, Serialize};
use starts::Starts;
use std::borrow::Cow;
use thiserror::Error;
use workspace::Workspace;

/// Why a fit could not be made.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FitError {
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The tensor cannot be fitted.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// The structure has another number of modes than the tensor.
    #[error("the structure has {structure} modes, but the tensor has {tensor}")]
    Modes {
        /// Modes of the structure.
        structure: usize,
        /// Modes of the tensor.
        tensor: usize,
    },
    /// The fit would take more memory than it may.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Not one sweep of the fit would be done in the time left.
    #[error("fitting this structure takes longer than the time left")]
    Time,
    /// Not one sweep can be made over the structure that a walk begins at.
    #[error(
        "no sweep can be made over this structure: it would take more than max-cost allows, or its numbers are too large"
    )]
    NoSweep,
    /// The structure is a single vertex, whose core is the tensor: there is nothing to sweep over.
    #[error("the structure is a single vertex, the tensor itself: there is nothing to sweep over")]
    OneVertex,
    /// The given cores do not fit the structure.
    #[error("warm start: core {vertex} has shape {found:?}, the structure needs {expected:?}")]
    WarmStart {
        /// The vertex of the mode graph.
        vertex: usize,
        /// The shape given.
        found: Vec<usize>,
        /// The shape needed.
        expected: Vec<usize>,
    },
    /// The given cores are of another kind of number than the tensor.
    #[error("warm start: core {vertex} is of kind {found}, the tensor of kind {expected}")]
    WarmKind {
        /// The vertex of the mode graph.
        vertex: usize,
        /// The kind given.
        found: Kind,
        /// The kind needed.
        expected: Kind,
    },
    /// What was asked for needs every entry.
    #[error("the tensor has holes: {0}; cuts of a tensor with holes bound nothing")]
    Holes(Cow<'static, str>),
    /// The fit was interrupted before it had a result.
    #[error("interrupted")]
    Interrupted,
    /// Workers elsewhere could not evaluate it at all.
    #[error("{0}")]
    Elsewhere(String),
}

/// Refuses a fit that needs more bytes than its limit.
fn check_bytes(needed: f64, limit: Option<u64>) -> Result<(), FitError> {
    Ok(MemoryError::check("fitting this structure", needed, limit)?)
}

/// About how many bytes what a request asks for takes beside the tensor: sweeps, or the truncated SVDs that come before them. Of a
/// walk over ranks, which grow on the way, what few go beyond, or all there is.
pub fn request_bytes(target: &Target, request: &Request, limit: u64) -> f64 {
    /// Copies of the tensor that truncated SVDs hold.
    const SVD: f64 = 4.0;
    /// Those that walks do, and bytes beside them.
    const WALK: (f64, f64) = (16.0, 32e6);
    let (tensor, sweeps) = (target.tensor().bytes() as f64, fit_bytes(target, &request.graph));
    match request.effort {
        _ if request.adapt.is_some() => (WALK.0 * tensor + WALK.1).max(sweeps).min(limit as f64),
        Effort::Quick | Effort::Direct if SVD * tensor <= limit as f64 => sweeps.max(SVD * tensor),
        _ => sweeps,
    }
}

/// About how many bytes a fit of a graph takes, beside the tensor.
fn fit_bytes(target: &Target, graph: &ModeGraph) -> f64 {
    let (plain, dims) = (graph.plain(), graph.merged_dims(target.dims()));
    if graph.modes() != target.dims().len() || plain.vertices() == 1 {
        return target.tensor().bytes() as f64;
    }
    // Where modes are merged, X is reordered.
    let merged = if graph.is_grouped() { target.tensor().bytes() as f64 } else { 0.0 };
    let reduced = Reduced::new(&plain, &dims);
    merged + plan::bytes_needed(&dims, &reduced.graph, target.kind())
}

/// What a fit found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// One core per vertex of the mode graph, shaped as [`ModeGraph::core_dims`], of the tensor's kind.
    pub cores: Vec<AnyTensor>,
    /// The error of these cores, from an explicit residual.
    #[serde(rename = "rse")]
    pub error: f64,
    /// Sweeps (ALS), steps (Adam) or iterations (LM), over all restarts made.
    pub sweeps: usize,
    /// Restarts made: fewer than asked for when one reached the stopping error.
    pub restarts: usize,
    /// Whether the cores come from the Levenberg-Marquardt starts made after those of ALS.
    pub rescued: bool,
    /// Whether an interrupt cut the fit short: this is then the best so far.
    pub interrupted: bool,
    /// The graph that the cores are on, where it is another than was asked for ([`Effort::Adapt`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<ModeGraph>,
}

impl Fitted {
    /// The best of several starts, in their order; their work is added up. None of none.
    pub fn best_of<'f>(starts: impl IntoIterator<Item = &'f Fitted>) -> Option<Fitted> {
        let mut best: Option<&Fitted> = None;
        let (mut sweeps, mut restarts) = (0, 0);
        for start in starts {
            sweeps += start.sweeps;
            restarts += start.restarts;
            if best.is_none_or(|best| start.error < best.error) {
                best = Some(start);
            }
        }
        best.map(|best| Fitted { sweeps, restarts, ..best.clone() })
    }
}

/// A rescue is made where one of its iterations costs at most this: some milliseconds.
const RESCUE_FLOPS: f64 = 4e7;

/// A method that improves the cores of a workspace until they are good enough or stall.
trait Improve<T: Scalar>: Sync {
    /// Whether the method changes each core as it is visited.
    fn walk(&self) -> Walk;

    /// Entries the method needs beside the plan's buffers.
    fn extra_entries(&self, _plan: &Plan<T>) -> f64 {
        0.0
    }

    /// Improves the cores in place; the number of sweeps made.
    fn improve(&self, ws: &mut Workspace<T>, settings: &FitSettings, control: &Control) -> usize;
}

/// Fits the cores of `graph` to `target`: the best of several starts, one after the other, ending
/// early when one reaches the stopping error. With `warm`, the first start begins at those cores.
/// Where vertices carry several modes, X is reordered first, and fitted as a tensor of merged modes.
///
/// The result is a pure function of the target, the graph, the settings and `seed`, whatever the
/// number of threads (unless a time limit or an interrupt cuts it short).
pub fn fit(
    target: &Target,
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
    warm: Option<&[AnyTensor]>,
    stop: &Stop,
) -> Result<Fitted, FitError> {
    if graph.is_grouped() {
        let make = || grouped::merged(target, graph, settings.max_bytes);
        return grouped::fit_merged(graph, target.dims(), warm, make, |target, graph, warm| {
            fit(target, graph, settings, seed, warm, stop)
        });
    }
    if graph.vertices() == 1 {
        return grouped::fit_single(target, graph);
    }
    let settings = &settings.for_target(target);
    dispatch!(target.tensor(), x => {
        let task = Task { target, x, graph, settings, seed, warm, stop };
        match target.is_whole() {
            true => task.fit(|s| s.in_turn()),
            false => task.without_useless_ranks(|task| observed::fit(task, Which::InTurn)),
        }
    })
}

/// One start of [`fit`] alone, and no rescue. [`Fitted::best_of`] puts starts together.
pub fn fit_start(
    target: &Target,
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
    warm: Option<&[AnyTensor]>,
    start: usize,
    stop: &Stop,
) -> Result<Fitted, FitError> {
    if graph.is_grouped() {
        let make = || grouped::merged(target, graph, settings.max_bytes);
        return grouped::fit_merged(graph, target.dims(), warm, make, |target, graph, warm| {
            fit_start(target, graph, settings, seed, warm, start, stop)
        });
    }
    if graph.vertices() == 1 {
        return grouped::fit_single(target, graph);
    }
    let settings = &settings.for_target(target);
    dispatch!(target.tensor(), x => {
        let task = Task { target, x, graph, settings, seed, warm, stop };
        task.without_useless_ranks(|task| match target.is_whole() {
            true => Starts::new(task, stop)?.only(start),
            false => observed::fit(task, Which::Only(start)),
        })
    })
}

/// As [`fit`], with the starts made in parallel on the current thread pool. Same result.
pub fn fit_parallel(
    target: &Target,
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
    warm: Option<&[AnyTensor]>,
    stop: &Stop,
) -> Result<Fitted, FitError> {
    if graph.is_grouped() {
        let make = || grouped::merged(target, graph, settings.max_bytes);
        return grouped::fit_merged(graph, target.dims(), warm, make, |target, graph, warm| {
            fit_parallel(target, graph, settings, seed, warm, stop)
        });
    }
    if graph.vertices() == 1 {
        return grouped::fit_single(target, graph);
    }
    let settings = &settings.for_target(target);
    dispatch!(target.tensor(), x => {
        let task = Task { target, x, graph, settings, seed, warm, stop };
        match target.is_whole() {
            true => task.fit(|s| s.in_parallel()),
            false => task.without_useless_ranks(|task| observed::fit(task, Which::Parallel)),
        }
    })
}

/// The error of given cores, shaped as [`ModeGraph::core_dims`], from an explicit residual: what a fit would report for
/// them. Refused where it takes more than `max_bytes`.
pub fn error_of(
    target: &Target,
    graph: &ModeGraph,
    cores: &[AnyTensor],
    max_bytes: Option<u64>,
) -> Result<f64, FitError> {
    if graph.is_grouped() {
        if graph.modes() != target.dims().len() {
            return Err(FitError::Modes { structure: graph.modes(), tensor: target.dims().len() });
        }
        let cores = grouped::merged_cores(graph, target.dims(), cores)?;
        let merged = grouped::merged(target, graph, max_bytes)?;
        return error_of(&merged, &graph.plain(), &cores, max_bytes);
    }
    if graph.vertices() == 1 {
        let expected = target.dims().to_vec();
        return match cores {
            [core] if core.dims() == expected => Ok(target.rse_of(core)),
            _ => {
                let found = cores.first().map_or(Vec::new(), |core| core.dims().to_vec());
                Err(FitError::WarmStart { vertex: 0, found, expected })
            }
        };
    }
    if !target.is_whole() {
        return observed::error_of(target, graph, cores, max_bytes);
    }
    dispatch!(target.tensor(), x => {
        let plan = Plan::new((target, x), graph, Walk::Reading, max_bytes)?;
        let mut ws = Workspace::new(&plan);
        ws.set_cores_of(&starts::checked_cores(graph, target.dims(), cores)?, target.exponent());
        ws.refresh_blocks();
        Ok(ws.rse())
    })
}

/// What is to be fitted, and how.
struct Task<'r, T> {
    target: &'r Target,
    /// Its tensor.
    x: &'r Tensor<T>,
    graph: &'r ModeGraph,
    settings: &'r CheckedFit,
    seed: u64,
    warm: Option<&'r [AnyTensor]>,
    stop: &'r Stop,
}

/// Makes all starts, in turn or in parallel.
type Run<T> = fn(&Starts<T>) -> Result<Fitted, FitError>;

impl<T> Clone for Task<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Task<'_, T> {}

impl<T: Scalar> Task<'_, T> {
    fn fit(self, run: Run<T>) -> Result<Fitted, FitError> {
        self.without_useless_ranks(|task| task.fit_as_given(run))
    }

    /// Fits the structure without the ranks that are of no use; one that begins at given cores is fitted as it is.
    fn without_useless_ranks(
        self,
        fit: impl FnOnce(Task<'_, T>) -> Result<Fitted, FitError>,
    ) -> Result<Fitted, FitError> {
        let Task { graph, settings, .. } = self;
        let dims = self.target.dims();
        if self.warm.is_some() || graph.modes() != dims.len() {
            return fit(self);
        }
        let reduced = Reduced::new(graph, dims);
        // The cores come back with all their ranks.
        let bytes = T::KIND.bytes() as f64 * graph.params(dims) as f64;
        check_bytes(bytes, settings.max_bytes.filter(|_| reduced.differs()))?;
        let fitted = fit(Task { graph: &reduced.graph, ..self })?;
        Ok(Fitted { cores: reduced.restore(fitted.cores, dims), ..fitted })
    }

    /// Fits with the chosen method, and again with Levenberg-Marquardt where that is asked for and needed.
    fn fit_as_given(self, run: Run<T>) -> Result<Fitted, FitError> {
        let settings = self.settings;
        // The time limit of the fit is one for all its starts; only the caller's stop is an interruption.
        let limit = settings.max_seconds.map(|s| self.stop.within_seconds(s));
        let limit = limit.as_ref().unwrap_or(self.stop);
        let starts = Starts::new(self, limit)?;
        let first = run(&starts)?;
        let rescue = settings.rescue > 0
            && settings.method == Method::Als
            && !T::KIND.is_complex()
            && !starts.enough(first.error)
            && !first.interrupted
            && !limit.is_set()
            && Lm::iteration_flops(&starts.plan) <= RESCUE_FLOPS;
        if !rescue {
            return Ok(first);
        }
        drop(starts);
        let lm = FitSettings {
            method: Method::Lm,
            restarts: settings.rescue,
            scouts: 1,
            max_sweeps: settings.max_sweeps.min(200),
            tolerance: settings.tolerance.min(1e-3),
            ..FitSettings::clone(settings)
        };
        let lm = lm.check()?;
        let starts = Starts::new(Task { settings: &lm, warm: None, ..self }, limit);
        let second = match starts.and_then(|s| run(&s)) {
            Ok(second) => Fitted { rescued: true, ..second },
            // Too large after all, or interrupted: the first answer stands.
            Err(_) => return Ok(first),
        };
        let (sweeps, restarts) = (first.sweeps + second.sweeps, first.restarts + second.restarts);
        let interrupted = second.interrupted;
        let best = if second.error < first.error { second } else { first };
        Ok(Fitted { sweeps, restarts, interrupted, ..best })
    }
}

/// Multiply-adds, times two, of the contractions of one ALS sweep (the solves not counted); one of complex numbers
/// counts as one.
pub fn sweep_flops(target: &Target, graph: &ModeGraph) -> Result<f64, FitError> {
    if graph.is_grouped() {
        return sweep_flops(&grouped::merged(target, graph, None)?, &graph.plain());
    }
    if graph.vertices() == 1 {
        return Ok(0.0);
    }
    if !target.is_whole() {
        return observed::sweep_flops(target, graph);
    }
    dispatch!(target.tensor(), x => {
        Ok(Plan::new((target, x), graph, Walk::Changing, None)?.walk_flops())
    })
}

/// About how many multiply-adds one ALS sweep takes: the contractions along the cheapest tree, and for each core
/// a Cholesky factorisation as large as the product of its ranks (a third of its cube), ranks of no use left out.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::{Structure, Template};
/// let tree = Arc::new(Template::parse("tree", 7).unwrap());
/// let graph = Structure::identity(tree, vec![7; 6]).unwrap().canonical().graph;
/// let an_entry = tnsearch::fit::sweep_cost(&graph, &[3; 7]) / 3f64.powi(7);
/// assert_eq!(an_entry.round(), 109.0);
/// ```
pub fn sweep_cost(graph: &ModeGraph, dims: &[usize]) -> f64 {
    let (graph, dims) = (&graph.plain(), &graph.merged_dims(dims)[..]);
    let graph = &Reduced::new(graph, dims).graph;
    let width = |v| graph.incident(v).map(|e| graph.edges()[e].2 as f64).product::<f64>();
    let solves = (0..graph.vertices()).map(|v| width(v).powi(3) / 3.0);
    Tree::best(graph, dims, EXACT_OFTEN).cost + solves.sum::<f64>()
}

#[cfg(test)]
mod tests;
