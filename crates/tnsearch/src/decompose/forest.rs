//! The cores of a structure without cycles, by [`tree_svd`].

use super::{DecomposeError, Goal, Limits, tree_svd};
use crate::graph::{ModeGraph, Structure};
use crate::problem::Target;
use crate::tensor::AnyTensor;

/// Fits the cores of a mode graph without cycles by truncated SVDs: the cores and their RSE. None where the
/// graph has a cycle, or ranks larger than the unfoldings they belong to.
pub fn forest_svd(
    target: &Target,
    graph: &ModeGraph,
    limits: &Limits,
) -> Result<Option<(Vec<AnyTensor>, f64)>, DecomposeError> {
    let tree = Structure::of_graph(graph)?;
    let template = tree.template();
    if template.edges().len() + 1 != template.vertices() {
        return Ok(None);
    }
    let goal = Goal::ranks(tree.ranks().to_vec())?;
    let found = tree_svd(target, template, tree.permutation(), &goal, limits)?;
    let (same, cores) = found.network.to_mode_graph();
    Ok((same == *graph).then_some((cores, found.rse)))
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
