//! Fitting the cores of a given structure: minimise `RSE = ||X - Z||^2 / ||X||^2` over the cores.

mod adam;
mod adapt;
mod als;
mod asked;
mod control;
mod cp;
mod dense;
mod direct;
mod door;
pub(crate) mod grouped;
mod lm;
mod losses;
mod network;
mod observed;
mod plan;
mod reduce;
mod request;
mod settings;
mod solve;
mod starts;
mod workspace;

pub use adapt::Adapt;
pub use asked::AskedFit;
pub(crate) use door::fit_merging;
pub use door::{Run, fit};
pub use network::{FittedNetwork, NetworkFitError, RESCUE_ALONE, fit_network};
pub use request::{Effort, Request};
pub use settings::{CheckedFit, FitSettings, Method};

use crate::graph::ModeGraph;
use crate::network::tree::{EXACT_OFTEN, Tree};
use crate::problem::Target;
use crate::tensor::{AnyTensor, Kind, TensorError};
use crate::{MemoryError, SettingError, dispatch};
use plan::{Plan, Walk};
use reduce::Reduced;
use serde::{Deserialize, Serialize};
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
    /// A cp can be fitted by the squared error on all entries alone, and not be walked over.
    #[error(
        "a cp is fitted by the squared error on all entries, and keeps its structure; use another template"
    )]
    Hyperedge,
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
    if let Some(rank) = plain.rank_of_cp() {
        return cp::bytes_needed(&dims, rank, target.kind());
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
    /// Cores that took no sweep and no start.
    pub(crate) fn without_work(cores: Vec<AnyTensor>, error: f64) -> Self {
        let (rescued, interrupted, graph) = (false, false, None);
        Fitted { cores, error, sweeps: 0, restarts: 0, rescued, interrupted, graph }
    }

    /// This or a later start, whichever is better; their work is added up.
    fn or_later(self, later: Fitted) -> Fitted {
        let (sweeps, restarts) = (self.sweeps + later.sweeps, self.restarts + later.restarts);
        let best = if later.error < self.error { later } else { self };
        Fitted { sweeps, restarts, ..best }
    }

    /// The best of several starts, in their order; their work is added up. None of none.
    pub fn best_of<'f>(starts: impl IntoIterator<Item = &'f Fitted>) -> Option<Fitted> {
        starts.into_iter().cloned().reduce(Fitted::or_later)
    }
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
    if graph.rank_of_cp().is_some() {
        return match target.is_whole() {
            true => cp::error_of(target, graph, cores, max_bytes),
            false => Err(FitError::Hyperedge),
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

/// Multiply-adds, times two, of the contractions of one ALS sweep (the solves not counted); one of complex numbers
/// counts as one.
pub fn sweep_flops(target: &Target, graph: &ModeGraph) -> Result<f64, FitError> {
    if graph.is_grouped() {
        return sweep_flops(&grouped::merged(target, graph, None)?, &graph.plain());
    }
    if graph.vertices() == 1 {
        return Ok(0.0);
    }
    if let Some(rank) = graph.rank_of_cp() {
        return Ok(2.0 * cp::sweep_cost(target.dims(), rank));
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
    if let Some(rank) = graph.rank_of_cp() {
        return cp::sweep_cost(dims, rank);
    }
    let graph = &Reduced::new(graph, dims).graph;
    let width = |v| graph.incident(v).map(|e| graph.edges()[e].2 as f64).product::<f64>();
    let solves = (0..graph.vertices()).map(|v| width(v).powi(3) / 3.0);
    Tree::best(graph, dims, EXACT_OFTEN).cost + solves.sum::<f64>()
}

#[cfg(test)]
mod tests;
