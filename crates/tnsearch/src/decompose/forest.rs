//! The cores of a structure without cycles, by [`tree_svd`].

use super::{DecomposeError, Goal, Limits, tree_svd};
use crate::dispatch;
use crate::graph::{ModeGraph, Structure, Template};
use crate::problem::Target;
use crate::tensor::{AnyTensor, Scalar, Tensor};
use std::sync::Arc;

/// Fits the cores of a mode graph without cycles by truncated SVDs: the cores and their RSE. None where the
/// graph has a cycle, or ranks larger than the unfoldings they belong to.
pub fn forest_svd(
    target: &Target,
    graph: &ModeGraph,
    limits: &Limits,
) -> Result<Option<(Vec<AnyTensor>, f64)>, DecomposeError> {
    let tree = Structure::of_graph(graph)?;
    let template = tree.template();
    if !template.is_tree() {
        return Ok(None);
    }
    let goal = Goal::ranks(tree.ranks().to_vec())?;
    let found = tree_svd(target, template, tree.permutation(), &goal, limits)?;
    let (same, cores) = found.network.to_mode_graph();
    Ok((same == *graph).then_some((cores, found.rse)))
}

/// The cores of any mode graph from truncated SVDs: those of a forest in it (the edges of largest rank that close no
/// cycle), its other edges filled with what `fill` gives for a core of that root mean square. With them the RSE of the
/// forest alone, that is of the cores with the others filled by zeros; where the graph is a forest, that of the cores.
pub(crate) fn spanning_svd(
    target: &Target,
    graph: &ModeGraph,
    limits: &Limits,
    mut fill: impl FnMut(f64) -> f64,
) -> Result<(Vec<AnyTensor>, f64), DecomposeError> {
    let dims = target.dims();
    let mut edges: Vec<(usize, usize, usize)> = graph.edges().to_vec();
    edges.sort_by_key(|e| std::cmp::Reverse(e.2));
    let mut part: Vec<usize> = (0..graph.vertices()).collect();
    let mut join = |u: usize, v: usize| {
        let (p, q) = (part[u], part[v]);
        part.iter_mut().filter(|x| **x == q).for_each(|x| *x = p);
        p != q
    };
    edges.retain(|&(u, v, _)| join(u, v));
    edges.extend((1..graph.vertices()).filter(|&v| join(0, v)).map(|v| (0, v, 1)));
    let external = (0..graph.vertices()).map(|v| v < graph.modes()).collect();
    let ends = edges.iter().map(|&(u, v, _)| (u, v)).collect();
    let template = Arc::new(Template::from_graph("tree", external, ends)?);
    let rank = |&(u, v): &(usize, usize)| {
        edges.iter().find(|e| (e.0.min(e.1), e.0.max(e.1)) == (u, v)).map_or(1, |e| e.2)
    };
    let goal = Goal::ranks(template.edges().iter().map(rank).collect())?;
    let permutation: Vec<usize> = (0..graph.modes()).collect();
    let found = tree_svd(target, &template, &permutation, &goal, limits)?;
    let ranks = found.ranks();
    // Both have their edges in order: axes of length 1 come and go.
    let kept = |(u, v, _): (usize, usize, usize)| {
        template.edges().binary_search(&(u, v)).map_or(1, |e| ranks[e])
    };
    let cores = found.network.cores().iter().enumerate().map(|(v, core)| {
        let mut shape: Vec<usize> = graph.incident(v).map(|e| kept(graph.edges()[e])).collect();
        shape.extend(dims.get(v).copied().filter(|_| v < graph.modes()));
        let rms = core.rms();
        let full = graph.core_dims(v, dims);
        dispatch!(core, core => {
            let shaped = Tensor::new(shape, core.data().to_vec())?;
            Ok(shaped.widened(full, || Scalar::from_parts(fill(rms), 0.0)).into())
        })
    });
    Ok((cores.collect::<Result<_, DecomposeError>>()?, found.rse))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{FitSettings, Request, Run, fit};
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
            let request = Request::new(graph.clone(), settings.clone(), 1).beginning_at(cores);
            let fitted = fit(&target, &request, &Run::default()).unwrap();
            assert!(fitted.error <= rse * (1.0 + 1e-12), "{graph}: {} {rse}", fitted.error);
            // A truncation for each edge of the tree, those of rank 1 that join its parts included.
            let edges = (graph.vertices() - 1) as f64;
            assert!(rse <= edges * fitted.error * (1.0 + 1e-12), "{graph}: {} {rse}", fitted.error);
        }
    }

    #[test]
    fn any_graph_begins_at_the_error_of_its_forest() {
        let target = noise(&[2, 3, 3, 2, 2]);
        for graph in [
            ModeGraph::new(5, 0, vec![(0, 1, 2), (1, 2, 3), (2, 3, 2), (3, 4, 2)]),
            ModeGraph::new(5, 0, vec![(0, 1, 2), (1, 2, 3), (2, 3, 2), (3, 4, 2), (0, 4, 3)]),
            ModeGraph::new(5, 0, vec![(0, 1, 9), (0, 2, 2)]),
            ModeGraph::new(5, 2, vec![(0, 5, 2), (1, 5, 2), (5, 6, 3), (2, 6, 2), (0, 6, 2)]),
        ] {
            let none = Limits::none();
            let (cores, rse) = spanning_svd(&target, &graph, &none, |_| 0.0).unwrap();
            for (v, core) in cores.iter().enumerate() {
                assert_eq!(core.dims(), graph.core_dims(v, target.dims()), "{graph}");
            }
            let typed: Vec<Tensor> = cores.iter().map(|c| c.typed().unwrap()).cloned().collect();
            let z = crate::network::contract(&graph, target.dims(), &typed);
            assert!((target.rse_of(&z.into()) - rse).abs() < 1e-12, "{graph}");
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
