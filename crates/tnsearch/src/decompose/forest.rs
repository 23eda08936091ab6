//! The cores of a structure without cycles, by [`tree_svd`].

use super::{DecomposeError, Goal, Limits, tree_svd};
use crate::graph::{ModeGraph, Template};
use crate::problem::Target;
use crate::tensor::AnyTensor;
use std::sync::Arc;

/// Fits the cores of a mode graph without cycles by truncated SVDs: the cores and their RSE. None where the
/// graph has a cycle, or ranks larger than the unfoldings they belong to.
pub fn forest_svd(
    target: &Target,
    graph: &ModeGraph,
    limits: &Limits,
) -> Result<Option<(Vec<AnyTensor>, f64)>, DecomposeError> {
    let Some(joints) = joints(graph) else { return Ok(None) };
    let ranked: Vec<(usize, usize, usize)> =
        graph.edges().iter().copied().chain(joints.iter().map(|&(u, v)| (u, v, 1))).collect();
    let external = (0..graph.vertices()).map(|v| v < graph.external()).collect();
    let edges = ranked.iter().map(|&(u, v, _)| (u, v)).collect();
    let template = Arc::new(Template::from_graph("tree", external, edges)?);
    // The template keeps its edges in order.
    let rank = |&(u, v): &(usize, usize)| {
        ranked.iter().find(|e| (e.0.min(e.1), e.0.max(e.1)) == (u, v)).map_or(1, |e| e.2)
    };
    let goal = Goal::ranks(template.edges().iter().map(rank).collect())?;
    let found = tree_svd(target, &template, &graph.vertex_of_modes(), &goal, limits)?;
    let (same, cores) = found.network.to_mode_graph();
    Ok((same == *graph).then_some((cores, found.rse)))
}

/// Edges of rank 1 that make one tree of a forest; none where there is a cycle.
fn joints(graph: &ModeGraph) -> Option<Vec<(usize, usize)>> {
    let mut part: Vec<usize> = (0..graph.vertices()).collect();
    let mut join = |u: usize, v: usize| {
        let (p, q) = (part[u], part[v]);
        part.iter_mut().filter(|x| **x == q).for_each(|x| *x = p);
        p != q
    };
    if !graph.edges().iter().all(|&(u, v, _)| join(u, v)) {
        return None;
    }
    Some((1..graph.vertices()).filter(|&v| join(0, v)).map(|v| (0, v)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{FitSettings, fit};
    use crate::problem::Stop;
    use crate::rng;
    use crate::tensor::Tensor;
    use rand::Rng;

    fn noise(dims: &[usize]) -> Target {
        let mut stream = rng::stream(3, b"forest");
        let entries = dims.iter().product();
        let data = (0..entries).map(|_| stream.next_u32() as f64 / 2e9 - 1.0).collect();
        Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
    }

    #[test]
    fn cores_have_the_error_they_say_and_are_near_the_best() {
        let target = noise(&[2, 3, 3, 2, 2]);
        let trees = [
            ModeGraph::new(5, 0, vec![(0, 1, 2), (1, 2, 3), (2, 3, 2), (3, 4, 2)]),
            // Two parts, and a mode alone.
            ModeGraph::new(5, 0, vec![(0, 3, 2), (1, 2, 2)]),
            ModeGraph::new(5, 0, vec![]),
            // With a vertex that carries no mode.
            ModeGraph::new(5, 1, vec![(0, 5, 2), (1, 5, 2), (2, 5, 2), (3, 4, 2)]),
        ];
        for graph in trees {
            let (cores, rse) = forest_svd(&target, &graph, &Limits::none()).unwrap().unwrap();
            // No sweep: a warm start gives back the error of the cores themselves or better.
            let settings = FitSettings { restarts: 1, ..FitSettings::default() }.check().unwrap();
            let fitted = fit(&target, &graph, &settings, 1, Some(&cores), &Stop::new()).unwrap();
            assert!(fitted.error <= rse * (1.0 + 1e-12), "{graph}: {} {rse}", fitted.error);
            // A truncation for each edge of the tree, those of rank 1 that join its parts included.
            let edges = (graph.vertices() - 1) as f64;
            assert!(rse <= edges * fitted.error * (1.0 + 1e-12), "{graph}: {} {rse}", fitted.error);
        }
    }

    #[test]
    fn cycles_and_ranks_beyond_an_unfolding_are_not_for_it() {
        let target = noise(&[2, 3, 3, 2, 2]);
        let triangle = ModeGraph::new(5, 0, vec![(0, 1, 2), (1, 2, 2), (0, 2, 2)]);
        let wide = ModeGraph::new(5, 0, vec![(0, 1, 3)]);
        for graph in [triangle, wide] {
            assert!(forest_svd(&target, &graph, &Limits::none()).unwrap().is_none(), "{graph}");
        }
    }
}
