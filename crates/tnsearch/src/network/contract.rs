//! Contraction of a whole network to its dense tensor.

use super::contraction::{Contraction, Label, Scratch};
use super::cp;
use super::tree::{EXACT_ONCE, Node, Tree};
use crate::graph::ModeGraph;
use crate::tensor::{Kind, Scalar, Tensor, power};

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

/// About how many bytes [`contract`] takes with numbers of that kind: every block it makes, and a reordered copy of
/// the largest.
pub fn contraction_bytes(graph: &ModeGraph, dims: &[usize], kind: Kind) -> f64 {
    let (graph, dims) = (&graph.plain(), &graph.merged_dims(dims)[..]);
    if let Some(rank) = graph.rank_of_cp() {
        return kind.bytes() as f64 * cp::dense_entries(dims, rank);
    }
    let tree = Tree::best(graph, dims, EXACT_ONCE);
    let entries = |node: usize| -> f64 {
        let inside = tree.below(node);
        let modes = (0..graph.modes()).filter(|&v| inside[v]).map(|v| dims[v] as f64);
        let cut = graph.edges().iter().filter(|e| inside[e.0] != inside[e.1]);
        modes.product::<f64>() * cut.map(|e| e.2 as f64).product::<f64>()
    };
    let blocks = (0..tree.nodes.len()).map(entries);
    kind.bytes() as f64 * (blocks.clone().sum::<f64>() + blocks.fold(0.0, f64::max))
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
pub fn contract<T: Scalar>(graph: &ModeGraph, dims: &[usize], cores: &[Tensor<T>]) -> Tensor<T> {
    let (mut tensor, exponent) = contract_scaled(graph, dims, cores);
    if exponent != 0 {
        power::multiply(tensor.data_mut(), exponent);
    }
    tensor
}

/// The same divided by a power of two, and its exponent: 0 unless the cores are so large or small that products of them
/// may leave the range of numbers.
pub(crate) fn contract_scaled<T: Scalar>(
    graph: &ModeGraph,
    dims: &[usize],
    cores: &[Tensor<T>],
) -> (Tensor<T>, i64) {
    // One core is the tensor, to the last bit of its smallest entry.
    if cores.len() < 2 || !power::is_extreme(cores) {
        return (contract_plain(graph, dims, cores), 0);
    }
    // A hub has nothing to scale.
    let factors = if graph.rank_of_cp().is_some() { graph.modes() } else { cores.len() };
    let mut near = cores[..factors].to_vec();
    let exponent = power::normalise(&mut near);
    near.extend_from_slice(&cores[factors..]);
    (contract_plain(graph, dims, &near), exponent)
}

fn contract_plain<T: Scalar>(graph: &ModeGraph, dims: &[usize], cores: &[Tensor<T>]) -> Tensor<T> {
    assert_eq!(cores.len(), graph.vertices(), "one core per vertex");
    if let Some(rank) = graph.rank_of_cp() {
        let factors: Vec<&[T]> = cores[..graph.modes()].iter().map(Tensor::data).collect();
        let data = cp::dense(&factors, dims, rank);
        return Tensor::new(dims.to_vec(), data).unwrap_or_else(|e| unreachable!("{e}"));
    }
    let tree = Tree::best(&graph.plain(), &graph.merged_dims(dims), EXACT_ONCE);
    let labels = Labels::new(graph, dims);
    let mut scratch = Scratch::default();
    let mut parts: Vec<Option<(Vec<Label>, Vec<T>)>> = Vec::with_capacity(tree.nodes.len());
    for (k, node) in tree.nodes.iter().enumerate() {
        let part = match *node {
            Node::Leaf(v) => {
                assert_eq!(cores[v].dims(), graph.core_dims(v, dims), "core {v}");
                let mut own = labels.edges_at(graph, v);
                own.extend(graph.modes_at(v));
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
                let mut out = vec![T::ZERO; plan.result_len()];
                plan.run(&b.1, &c.1, &mut out, &mut scratch);
                (plan.labels().to_vec(), out)
            }
        };
        parts.push(Some(part));
    }
    let data = parts.pop().flatten().map(|p| p.1).unwrap_or_default();
    Tensor::new(dims.to_vec(), data).unwrap_or_else(|e| unreachable!("{e}"))
}
