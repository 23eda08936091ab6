//! Fits of graphs some of whose vertices carry several modes, and of the graph that is a single vertex.
//!
//! With the modes of each vertex merged into one, the graph is a plain one and the tensor a reordered X; a core's modes
//! come last and in the same order in both, so that cores go from one to the other as they lie.

use super::{FitError, Fitted, check_bytes, observed};
use crate::graph::ModeGraph;
use crate::problem::Target;
use crate::tensor::AnyTensor;

/// Fits a graph by fitting its plain form to the merged tensor, with the cores to begin at in that form.
///
/// `merged` makes or finds the merged tensor.
pub(super) fn fit_merged(
    graph: &ModeGraph,
    dims: &[usize],
    warm: Option<&[AnyTensor]>,
    merged: impl FnOnce() -> Result<Target, FitError>,
    fit: impl FnOnce(&Target, &ModeGraph, Option<&[AnyTensor]>) -> Result<Fitted, FitError>,
) -> Result<Fitted, FitError> {
    if graph.modes() != dims.len() {
        return Err(FitError::Modes { structure: graph.modes(), tensor: dims.len() });
    }
    let warm = warm.map(|cores| merged_cores(graph, dims, cores)).transpose()?;
    let fitted = fit(&merged()?, &graph.plain(), warm.as_deref())?;
    // Cores that are on another graph than was asked for are on the same groups.
    let found = fitted.graph.map(|plain| graph.regrouped(&plain));
    let on = found.as_ref().unwrap_or(graph);
    let cores = fitted.cores.into_iter().enumerate();
    let cores = cores.map(|(v, core)| shaped(core, on.core_dims(v, dims))).collect();
    Ok(Fitted { cores, graph: found, ..fitted })
}

/// The cores of a graph as cores of its plain form.
pub(super) fn merged_cores(
    graph: &ModeGraph,
    dims: &[usize],
    cores: &[AnyTensor],
) -> Result<Vec<AnyTensor>, FitError> {
    let (plain, short) = (graph.plain(), graph.merged_dims(dims));
    let merged = cores.iter().enumerate().map(|(vertex, core)| {
        let expected = graph.core_dims(vertex, dims);
        if vertex >= graph.vertices() || core.dims() != expected {
            let found = core.dims().to_vec();
            return Err(FitError::WarmStart { vertex, found, expected });
        }
        Ok(shaped(core.clone(), plain.core_dims(vertex, &short)))
    });
    merged.collect()
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
    let error = match target.is_whole() {
        true => target.lost(),
        false => observed::fit_single(target, &mut core),
    };
    let core = core.times_power_of_two(target.exponent());
    Ok(Fitted { restarts: 1, ..Fitted::without_work(vec![core], error) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    #[test]
    fn a_graph_that_a_fit_changed_comes_back_on_its_groups() {
        let x = Tensor::new(vec![2, 3, 2, 2], (1..25).map(f64::from).collect()).unwrap();
        let target = Target::new(x).unwrap();
        let asked = ModeGraph::grouped(vec![vec![0, 2], vec![1], vec![3]], 0, vec![(0, 1, 2)]);
        let make = || merged(&target, &asked, None);
        let fitted = fit_merged(&asked, target.dims(), None, make, |target, graph, _| {
            assert_eq!((target.dims(), graph.to_string()), (&[4, 3, 2][..], "3+0:0-1x2".into()));
            // It ends on another graph, with an internal vertex.
            let found = ModeGraph::new(3, 1, vec![(0, 3, 5), (1, 3, 2), (2, 3, 3)]);
            let core = |v| Tensor::<f64>::zeros(found.core_dims(v, target.dims())).into();
            let fitted = Fitted::without_work((0..4).map(core).collect(), 1.0);
            Ok(Fitted { graph: Some(found), ..fitted })
        });
        let fitted = fitted.unwrap();
        let found = fitted.graph.unwrap();
        assert_eq!(found.to_string(), "4+1/0.2,1,3:0-3x5,1-3x2,2-3x3");
        let shapes: Vec<_> = fitted.cores.iter().map(AnyTensor::dims).collect();
        assert_eq!(shapes, [&[5, 2, 2][..], &[2, 3], &[3, 2], &[5, 2, 3]]);
    }
}
