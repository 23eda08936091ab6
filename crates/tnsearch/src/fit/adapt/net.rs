//! A network whose ranks change: cores with named axes, and the contractions they are made of.

use super::pair::Split;
use crate::fit::plan::entries_needed;
use crate::graph::ModeGraph;
use crate::network::contraction::{Label, Scratch};
use crate::network::parts::{Part, View, entries};
use crate::network::tree::{EXACT_OFTEN, Node, Tree};
use crate::rng::Rng;
use crate::tensor::{Scalar, Tensor, sum_of_squares};

/// The cores of a network, one per vertex. A vertex below the number of modes carries one of them, and modes may swap
/// their vertices. The label of mode n is n; the edge between u and v has a label of its own, and a twin for the doubled
/// network. An edge of rank 1 is no axis of its cores.
#[derive(Debug, Clone)]
pub(super) struct Net<T> {
    /// The mode of each vertex that carries one.
    pub mode: Vec<usize>,
    pub cores: Vec<Part<T>>,
    /// The length of each label; 1 for an edge that is not there.
    pub lengths: Vec<usize>,
    /// How many times as long each mode counts in parameters: more than 1 where the tensor was shrunk.
    pub stretch: Vec<f64>,
}

impl<T: Scalar> Net<T> {
    /// A network from cores shaped as [`ModeGraph::core_dims`].
    pub fn new(graph: &ModeGraph, dims: &[usize], cores: &[&Tensor<T>]) -> Self {
        let (modes, vertices) = (graph.modes(), graph.vertices());
        let mut lengths = vec![1; vertices + 2 * vertices * vertices];
        lengths[..modes].copy_from_slice(&dims[..modes]);
        let stretch = vec![1.0; modes];
        let mut net = Net { mode: (0..modes).collect(), cores: Vec::new(), lengths, stretch };
        for &(u, v, rank) in graph.edges() {
            net.set_rank(edge_label(vertices, u, v), vertices, rank);
        }
        for (v, core) in cores.iter().enumerate() {
            let edges = graph.incident(v).map(|e| {
                let (a, b, _) = graph.edges()[e];
                edge_label(vertices, a, b)
            });
            let labels = edges.chain((v < modes).then_some(v)).collect();
            net.cores.push(Part::new(labels, core.data().to_vec()));
        }
        net
    }

    /// Cores of independent normal entries.
    pub fn random(graph: &ModeGraph, dims: &[usize], rng: &mut Rng) -> Self {
        let cores: Vec<Tensor<T>> = (0..graph.vertices())
            .map(|v| {
                let shape = graph.core_dims(v, dims);
                let len = shape.iter().product();
                let data = (0..len).map(|_| T::normal(rng)).collect();
                Tensor::new(shape, data).unwrap_or_else(|e| unreachable!("{e}"))
            })
            .collect();
        Net::new(graph, dims, &cores.iter().collect::<Vec<_>>())
    }

    pub fn vertices(&self) -> usize {
        self.cores.len()
    }

    /// The label of the edge between two vertices, whether it is there or not.
    pub fn edge(&self, u: usize, v: usize) -> Label {
        edge_label(self.vertices(), u, v)
    }

    /// The vertices that an edge's label joins.
    pub fn ends(&self, label: Label) -> (usize, usize) {
        let v = self.vertices();
        ((label - v) / v, (label - v) % v)
    }

    /// The second copy of an edge's label.
    pub fn twin(&self, label: Label) -> Label {
        label + self.vertices() * self.vertices()
    }

    fn set_rank(&mut self, label: Label, vertices: usize, rank: usize) {
        self.lengths[label] = rank;
        self.lengths[label + vertices * vertices] = rank;
    }

    /// Changes the length of an edge's axis.
    pub fn resize(&mut self, label: Label, rank: usize) {
        self.set_rank(label, self.vertices(), rank);
    }

    /// The edges at a vertex that are there.
    pub fn edges_at(&self, v: usize) -> Vec<Label> {
        self.cores[v].labels.iter().copied().filter(|&l| l >= self.vertices()).collect()
    }

    pub fn size(&self, labels: &[Label]) -> usize {
        entries(labels, &self.lengths)
    }

    /// The dimension of a vertex's mode, 1 where it has none.
    pub fn dim(&self, v: usize) -> usize {
        self.mode.get(v).map_or(1, |&m| self.lengths[m])
    }

    pub fn params(&self) -> u128 {
        (0..self.vertices()).map(|v| self.core_params(v).round() as u128).sum()
    }

    /// The parameters of a core.
    pub fn core_params(&self, vertex: usize) -> f64 {
        self.cores[vertex].data.len() as f64 * self.stretch_of(vertex)
    }

    /// How many times as long the mode of a vertex counts.
    pub fn stretch_of(&self, vertex: usize) -> f64 {
        self.mode.get(vertex).map_or(1.0, |&mode| self.stretch[mode])
    }

    /// The graph on the vertices as they are numbered here, each edge between vertices renamed.
    fn graph_as(&self, name: impl Fn(usize) -> usize) -> ModeGraph {
        let vertices = self.vertices();
        let pairs = (0..vertices).flat_map(|u| (u + 1..vertices).map(move |v| (u, v)));
        let edges = pairs.map(|(u, v)| (name(u), name(v), self.lengths[self.edge(u, v)]));
        let edges = edges.filter(|e| e.2 > 1).collect();
        ModeGraph::new(self.mode.len(), vertices - self.mode.len(), edges)
    }

    /// The vertex of the mode graph that a vertex is.
    fn name(&self, v: usize) -> usize {
        self.mode.get(v).copied().unwrap_or(v)
    }

    /// The mode graph as it is now.
    pub fn graph(&self) -> ModeGraph {
        self.graph_as(|v| self.name(v))
    }

    /// The cores, shaped as [`ModeGraph::core_dims`] of [`Net::graph`].
    pub fn to_cores(&self) -> Vec<Tensor<T>> {
        let mut cores: Vec<Option<Tensor<T>>> = vec![None; self.vertices()];
        for v in 0..self.vertices() {
            let labels = self.core_labels(v);
            let shape = labels.iter().map(|&l| self.lengths[l]).collect();
            let data = self.cores[v].ordered(&labels, &self.lengths).data;
            let core = Tensor::new(shape, data).unwrap_or_else(|e| unreachable!("{e}"));
            cores[self.name(v)] = Some(core);
        }
        cores.into_iter().flatten().collect()
    }

    /// Takes cores shaped as [`ModeGraph::core_dims`] of [`Net::graph`].
    pub fn set_cores(&mut self, cores: &[Tensor<T>]) {
        for v in 0..self.vertices() {
            let labels = self.core_labels(v);
            self.cores[v] = Part::new(labels, cores[self.name(v)].data().to_vec());
        }
    }

    /// The labels of a core as the mode graph orders them.
    fn core_labels(&self, v: usize) -> Vec<Label> {
        let mut edges = self.edges_at(v);
        edges.sort_unstable_by_key(|&l| {
            let (a, b) = self.ends(l);
            let (a, b) = (self.name(a), self.name(b));
            (a.min(b), a.max(b))
        });
        edges.into_iter().chain(self.mode.get(v).copied()).collect()
    }

    /// Takes the cores of a split.
    pub fn take(&mut self, (u, v): (usize, usize), split: Split<T>) {
        let Split { swapped, rank, u: mut a, v: mut b, .. } = split;
        let norm = |b: &Part<T>| sum_of_squares(&b.data).sqrt();
        let (na, nb) = (norm(&a), norm(&b));
        // Alike, so that none grows from pair to pair.
        if na > 0.0 && nb > 0.0 && (na * nb).is_finite() {
            let same = (na * nb).sqrt();
            a.data.iter_mut().for_each(|x| *x = x.scale(same / na));
            b.data.iter_mut().for_each(|x| *x = x.scale(same / nb));
        }
        self.resize(self.edge(u, v), rank);
        (self.cores[u], self.cores[v]) = (a, b);
        if swapped {
            self.mode.swap(u, v);
        }
    }

    /// A product over the labels that two blocks share.
    pub fn contract<'v>(
        &self,
        a: impl Into<View<'v, T>>,
        b: impl Into<View<'v, T>>,
        conj: (bool, bool),
        want: Option<&[Label]>,
        scratch: &mut Scratch<T>,
    ) -> Part<T> {
        a.into().times(b.into(), conj, want, &self.lengths, scratch)
    }

    /// A block with itself over everything but its edges, the first copy conjugated.
    pub fn squared(&self, block: &Part<T>, scratch: &mut Scratch<T>) -> Part<T> {
        let v = self.vertices();
        let twin = |&l: &Label| if l >= v { self.twin(l) } else { l };
        let labels = block.labels.iter().map(twin).collect();
        let other = Part::new(labels, block.data.clone());
        self.contract(block, &other, (true, false), None, scratch)
    }

    /// The cheapest tree for the ranks as they are, and the entries that merging along it takes, about: as for ordinary sweeps.
    pub fn tree(&self) -> (Tree, f64) {
        let tree = Tree::best(&self.graph_as(|v| v), &self.dims(), EXACT_OFTEN);
        let entries = self.entries_along(&tree);
        (tree, entries)
    }

    /// The entries that merging along a tree takes with the ranks as they are.
    pub fn entries_along(&self, tree: &Tree) -> f64 {
        entries_needed(&self.dims(), &self.graph_as(|v| v), tree)
    }

    /// The dimension of the mode of each vertex that carries one.
    fn dims(&self) -> Vec<usize> {
        self.mode.iter().map(|&m| self.lengths[m]).collect()
    }
}

fn edge_label(vertices: usize, u: usize, v: usize) -> Label {
    vertices + u.min(v) * vertices + u.max(v)
}

/// The merged blocks of a tree's nodes (M), and these squared (S).
pub(super) struct Merged<T> {
    pub tree: Tree,
    /// The parent of each node.
    pub above: Vec<Option<usize>>,
    /// The node of each vertex.
    pub leaf: Vec<usize>,
    pub block: Vec<Part<T>>,
    pub square: Vec<Part<T>>,
}

impl<T: Scalar> Merged<T> {
    pub fn new(net: &Net<T>, tree: Tree, scratch: &mut Scratch<T>) -> Self {
        let nodes = tree.nodes.len();
        let (mut above, mut leaf) = (vec![None; nodes], vec![0; net.vertices()]);
        for (k, node) in tree.nodes.iter().enumerate() {
            match *node {
                Node::Leaf(v) => leaf[v] = k,
                Node::Pair(b, c) => (above[b], above[c]) = (Some(k), Some(k)),
            }
        }
        let empty = || (0..nodes).map(|_| Part::one()).collect();
        let mut merged = Merged { tree, above, leaf, block: empty(), square: empty() };
        for node in 0..nodes - 1 {
            merged.renew(node, net, scratch);
        }
        merged
    }

    /// Computes M and S of a node from those below it.
    pub fn renew(&mut self, node: usize, net: &Net<T>, scratch: &mut Scratch<T>) {
        match self.tree.nodes[node] {
            Node::Leaf(v) => {
                self.block[node] = net.cores[v].clone();
                self.square[node] = net.squared(&self.block[node], scratch);
            }
            Node::Pair(b, c) => {
                let plain = (false, false);
                self.block[node] =
                    net.contract(&self.block[b], &self.block[c], plain, None, scratch);
                let block = &self.block[node];
                let cut = block.labels.iter().filter(|&&l| l >= net.vertices());
                let cut = cut.map(|&l| net.lengths[l] as f64).product::<f64>();
                let shared =
                    self.block[b].labels.iter().filter(|l| self.block[c].labels.contains(l));
                let joined = shared.map(|&l| net.lengths[l] as f64).product::<f64>();
                let from_block = block.data.len() as f64 * cut;
                self.square[node] = if from_block < (cut * joined).powi(2) {
                    net.squared(block, scratch)
                } else {
                    net.contract(&self.square[b], &self.square[c], plain, None, scratch)
                };
            }
        }
    }

    /// The same for a vertex and all above it, below another node.
    pub fn renew_up(&mut self, v: usize, top: usize, net: &Net<T>, scratch: &mut Scratch<T>) {
        let mut node = self.leaf[v];
        while node != top {
            self.renew(node, net, scratch);
            match self.above[node] {
                Some(next) => node = next,
                None => break,
            }
        }
    }

    /// The nodes that hang off the way from below a node down to a vertex.
    pub fn off_the_way(&self, v: usize, top: usize) -> Vec<usize> {
        let mut off = Vec::new();
        let mut node = self.leaf[v];
        while let Some(up) = self.above[node].filter(|&up| up != top) {
            if let Node::Pair(b, c) = self.tree.nodes[up] {
                off.push(if b == node { c } else { b });
            }
            node = up;
        }
        off
    }
}
