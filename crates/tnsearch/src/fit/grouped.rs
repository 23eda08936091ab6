//! Fits of graphs some of whose vertices carry several modes, and of the graph that is a single vertex.
//!
//! With the modes of each vertex merged into one, the graph is a plain one and the tensor a reordered X; a core's modes
//! come last and in the same order in both, so that cores go from one to the other as they lie.

use super::{FitError, Fitted, check_bytes};
use crate::dispatch;
use crate::graph::ModeGraph;
use crate::problem::{Loss, Target};
use crate::tensor::{AnyTensor, Scalar};

/// Fits a graph by fitting its plain form to the merged tensor, with the cores to begin at in that form.
///
/// `merged` makes or finds the merged tensor.
pub(crate) fn fit_merged(
    graph: &ModeGraph,
    dims: &[usize],
    warm: Option<&[AnyTensor]>,
    merged: impl FnOnce() -> Result<Target, FitError>,
    fit: impl FnOnce(&Target, &ModeGraph, Option<&[AnyTensor]>) -> Result<Fitted, FitError>,
) -> Result<Fitted, FitError> {
    if graph.modes() != dims.len() {
        return Err(FitError::Modes { structure: graph.modes(), tensor: dims.len() });
    }
    let (plain, short) = (graph.plain(), graph.merged_dims(dims));
    let warm = warm.map(|cores| {
        let cores = cores.iter().enumerate().map(|(v, core)| {
            let expected = graph.core_dims(v, dims);
            if v >= graph.vertices() || core.dims() != expected {
                let found = core.dims().to_vec();
                return Err(FitError::WarmStart { vertex: v, found, expected });
            }
            Ok(shaped(core.clone(), plain.core_dims(v, &short)))
        });
        cores.collect::<Result<Vec<_>, _>>()
    });
    let warm = warm.transpose()?;
    let fitted = fit(&merged()?, &plain, warm.as_deref())?;
    let cores = fitted.cores.into_iter().enumerate();
    let cores = cores.map(|(v, core)| shaped(core, graph.core_dims(v, dims))).collect();
    Ok(Fitted { cores, ..fitted })
}

/// The merged tensor of a graph, if it may be as large.
pub(crate) fn merged(
    target: &Target,
    graph: &ModeGraph,
    max_bytes: Option<u64>,
) -> Result<Target, FitError> {
    check_bytes(target.tensor().bytes() as f64, max_bytes)?;
    Ok(target.merged(&graph.groups()))
}

fn shaped(core: AnyTensor, dims: Vec<usize>) -> AnyTensor {
    core.reshaped(dims).unwrap_or_else(|e| unreachable!("merged modes change no size: {e}"))
}

/// The fit of a single vertex: the tensor itself is its core.
pub(super) fn fit_single(target: &Target, graph: &ModeGraph) -> Result<Fitted, FitError> {
    if graph.modes() != target.dims().len() {
        return Err(FitError::Modes { structure: graph.modes(), tensor: target.dims().len() });
    }
    let mut core = target.tensor().clone();
    let scale = target.scale();
    if scale != 1.0 {
        dispatch!(&mut core, core => core.data_mut().iter_mut().for_each(|x| *x = x.scale(scale)));
    }
    let restarts = 1;
    Ok(Fitted {
        cores: vec![core],
        error: 0.0,
        sweeps: 0,
        restarts,
        rescued: false,
        interrupted: false,
        graph: None,
    })
}

/// The error of the tensor itself by a loss.
pub(super) fn loss_of_itself(target: &Target, loss: &dyn Loss) -> f64 {
    let scale = target.scale();
    let x: Vec<f64> = (0..target.entries()).map(|k| target.tensor().entry(k).re * scale).collect();
    x.iter().map(|&x| loss.value(x, x)).sum::<f64>() / loss.baseline(&x)
}
