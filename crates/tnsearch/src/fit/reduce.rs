//! Ranks beyond what an end of their edge can carry: fitted without, and given back as zeros.

use crate::dispatch;
use crate::graph::ModeGraph;
use crate::tensor::{AnyTensor, Scalar};
use std::borrow::Cow;

/// The graph that is fitted in the place of another: the same tensors with fewer parameters
/// ([`ModeGraph::useful_ranks`]).
pub(super) struct Reduced<'g> {
    given: &'g ModeGraph,
    /// Shapes of the cores with all edges of the given graph, those of rank 1 too.
    shapes: Option<Vec<Vec<usize>>>,
    pub graph: Cow<'g, ModeGraph>,
}

impl<'g> Reduced<'g> {
    /// Cuts the ranks down; the graph itself where there is nothing to cut.
    pub fn new(given: &'g ModeGraph, dims: &[usize]) -> Self {
        let ranks = given.useful_ranks(dims);
        if given.edges().iter().zip(&ranks).all(|(e, r)| e.2 == *r) {
            return Reduced { given, shapes: None, graph: Cow::Borrowed(given) };
        }
        let edges = given.edges().iter().zip(&ranks).map(|(&(u, v, _), &r)| (u, v, r)).collect();
        let graph = given.with_edges(edges);
        let shape = |v: usize| {
            let edges = given.incident(v).map(|e| ranks[e]);
            edges.chain(dims.get(v).copied().filter(|_| v < given.modes())).collect()
        };
        let shapes = (0..given.vertices()).map(shape).collect();
        Reduced { given, shapes: Some(shapes), graph: Cow::Owned(graph) }
    }

    /// Whether ranks were cut.
    pub fn differs(&self) -> bool {
        self.shapes.is_some()
    }

    /// Cores of the reduced graph as cores of the given one: zero where a rank was cut.
    pub fn restore(&self, cores: Vec<AnyTensor>, dims: &[usize]) -> Vec<AnyTensor> {
        let Some(shapes) = &self.shapes else { return cores };
        let vertices = cores.into_iter().zip(shapes).enumerate();
        let restored = vertices.map(|(v, (core, shape))| {
            let core = core.reshaped(shape.clone());
            let core = core.unwrap_or_else(|e| unreachable!("axes of length 1 came back: {e}"));
            dispatch!(core, core => core.widened(self.given.core_dims(v, dims), || Scalar::ZERO).into())
        });
        restored.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::tests::{erased, random_cores, typed};
    use crate::network::contract;

    #[test]
    fn ranks_are_cut_to_what_an_end_can_carry() {
        // A leaf of dimension 2 carries 2; then the vertex between carries 2 * 3 to the other side.
        let path = ModeGraph::new(3, 0, vec![(0, 1, 5), (1, 2, 9)]);
        assert_eq!(path.useful_ranks(&[2, 3, 7]), [2, 6]);
        // An internal vertex at the end of an edge carries nothing, one between two passes the smaller on.
        let dangling = ModeGraph::new(2, 2, vec![(0, 1, 2), (0, 2, 4), (2, 3, 3)]);
        assert_eq!(dangling.useful_ranks(&[2, 2]), [2, 1, 1]);
        let ring = ModeGraph::new(3, 0, vec![(0, 1, 7), (0, 2, 2), (1, 2, 2)]);
        assert_eq!(ring.useful_ranks(&[3, 3, 3]), [6, 2, 2]);
    }

    #[test]
    fn restored_cores_give_the_same_tensor() {
        let dims = [2, 3, 2];
        for edges in [
            vec![(0, 1, 7), (0, 2, 2), (1, 2, 2)],
            vec![(0, 3, 5), (1, 3, 4), (2, 3, 3)],
            vec![(0, 1, 2), (1, 2, 4), (0, 3, 2)],
        ] {
            let given = ModeGraph::new(3, 1, edges);
            let reduced = Reduced::new(&given, &dims);
            assert!(reduced.graph.params(&dims) < given.params(&dims));
            let cores = random_cores::<f64>(&reduced.graph, &dims, 1);
            let x = contract(&reduced.graph, &dims, &cores);
            let back = typed::<f64>(&reduced.restore(erased(cores), &dims));
            let z = contract(&given, &dims, &back);
            assert!(x.data().iter().zip(z.data()).all(|(x, z)| (x - z).abs() < 1e-12));
        }
    }
}
