//! Contraction of a whole network to its dense tensor.

use super::contraction::{Contraction, Label, Scratch};
use super::tree::{EXACT_ONCE, Node, Tree};
use crate::graph::ModeGraph;
use crate::tensor::Tensor;

/// The numbering of a network's indices: mode `n` is label `n`, edge `e` is label `modes + e`.
#[derive(Debug, Clone)]
pub struct Labels {
    /// The length of each label.
    pub lengths: Vec<usize>,
    modes: usize,
}

impl Labels {
    /// The labels of a network.
    pub fn new(graph: &ModeGraph, dims: &[usize]) -> Self {
        let lengths = dims.iter().copied().chain(graph.edges().iter().map(|e| e.2)).collect();
        Labels { lengths, modes: graph.modes() }
    }

    /// The label of an edge.
    pub fn edge(&self, e: usize) -> Label {
        self.modes + e
    }

    /// The labels of the edges at a vertex.
    pub fn edges_at(&self, graph: &ModeGraph, vertex: usize) -> Vec<Label> {
        graph.incident(vertex).map(|e| self.edge(e)).collect()
    }
}

/// The dense tensor of a network given on a mode graph (cores shaped as [`ModeGraph::core_dims`]):
/// `Z = sum over all edges of the product of the cores`. The order of the mergers is found by exact
/// dynamic programming up to 16 vertices.
///
/// ```
/// use tnsearch::{graph::ModeGraph, network::contract, tensor::Tensor};
/// let graph = ModeGraph::new(2, 0, vec![(0, 1, 2)]);
/// let a = Tensor::new(vec![2, 2], vec![1., 2., 3., 4.]).unwrap(); // edge x mode 0
/// let b = Tensor::new(vec![2, 1], vec![10., 1.]).unwrap(); // edge x mode 1
/// assert_eq!(contract(&graph, &[2, 1], &[a, b]).data(), [13., 24.]);
/// ```
///
/// # Panics
/// If the cores do not fit the graph.
pub fn contract(graph: &ModeGraph, dims: &[usize], cores: &[Tensor]) -> Tensor {
    assert_eq!(cores.len(), graph.vertices(), "one core a vertex");
    let tree = Tree::best(graph, dims, EXACT_ONCE);
    let labels = Labels::new(graph, dims);
    let mut scratch = Scratch::default();
    let mut parts: Vec<Option<(Vec<Label>, Vec<f64>)>> = Vec::with_capacity(tree.nodes.len());
    for (k, node) in tree.nodes.iter().enumerate() {
        let part = match *node {
            Node::Leaf(v) => {
                assert_eq!(cores[v].dims(), graph.core_dims(v, dims), "core {v}");
                let mut own = labels.edges_at(graph, v);
                if v < graph.modes() {
                    own.push(v);
                }
                (own, cores[v].data().to_vec())
            }
            Node::Pair(b, c) => {
                let (Some(b), Some(c)) = (parts[b].take(), parts[c].take()) else {
                    unreachable!("children come before their parent, once")
                };
                let want: Vec<Label> = (0..graph.modes()).collect();
                let want = (k + 1 == tree.nodes.len()).then_some(&want[..]);
                let plan = Contraction::plan(&b.0, &c.0, &labels.lengths, want);
                scratch.reserve(&plan);
                let mut out = vec![0.0; plan.result_len()];
                plan.run(&b.1, &c.1, &mut out, &mut scratch);
                (plan.labels().to_vec(), out)
            }
        };
        parts.push(Some(part));
    }
    let data = parts.pop().flatten().map(|p| p.1).unwrap_or_default();
    Tensor::new(dims.to_vec(), data).unwrap_or_else(|e| unreachable!("{e}"))
}
