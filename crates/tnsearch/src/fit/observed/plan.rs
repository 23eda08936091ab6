//! What the sweeps of one structure over the observed entries need: made once, used for all starts.
//!
//! Along a contraction tree of the cores, every node has a *block*: the product of the cores below it, one row over the
//! edges that leave it per combination of indices of its modes that occurs among the entries. Its *environment* is the
//! product of all other cores, one row per combination of all other modes. A leaf's environment holds the rows a_k of
//! the least-squares problem of its core: `z_k = <a_k, g_i>`, i the index of entry k along the core's mode.

use super::index::Rows;
use super::join::{Edges, Join, order};
use crate::MemoryError;
use crate::fit::{FitError, check_bytes};
use crate::graph::ModeGraph;
use crate::network::tree::{EXACT_OFTEN, Node, Tree};
use crate::problem::{Mask, Target};
use crate::tensor::{Scalar, Tensor, sum_of_squares, unflatten};

/// Rows of a Gram matrix that are summed as one part; parts are summed in their order, whatever the threads.
pub(super) const PART: usize = 8192;

/// A core and the entries that each slice of it has to do with.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The product of its ranks.
    pub width: usize,
    /// The length of its mode; 1 where it has none.
    pub dim: usize,
    /// How a row of the environment is laid out in the order of the core's edges.
    pub order: Option<Vec<u32>>,
    /// The row of the environment and the number of each fitted entry, slice by slice.
    pub entries: Vec<(u32, u32)>,
    /// Where the slices begin in `entries`, and their end.
    pub slices: Vec<usize>,
}

impl Leaf {
    /// The entries of a slice.
    pub fn slice(&self, index: usize) -> &[(u32, u32)] {
        &self.entries[self.slices[index]..self.slices[index + 1]]
    }
}

/// The layout of all blocks and environments, and the products that make them.
#[derive(Debug)]
pub(super) struct Plan<'p, T> {
    pub graph: &'p ModeGraph,
    pub dims: &'p [usize],
    pub nodes: Vec<Node>,
    /// The product that makes the block of a node from its children's; none for leaves and the root.
    pub up: Vec<Option<Join>>,
    /// The product that makes the environment of a node from its parent's and its sibling's block; none for the root
    /// and its children.
    pub down: Vec<Option<Join>>,
    /// By vertex.
    pub leaves: Vec<Leaf>,
    /// The rows of the root's two children that make each entry, and how a row of the second is laid out like the first.
    pub halves: [Rows; 2],
    pub half_order: Option<Vec<u32>>,
    pub half_width: usize,
    /// The values of the entries: those fitted, then those held out.
    pub x: Vec<T>,
    /// How many are fitted.
    pub fitted: usize,
    /// The sums of their squares: fitted, and measured.
    pub norm_squared: f64,
    pub held_norm_squared: f64,
    /// About how many bytes one start takes.
    pub bytes: f64,
    /// Multiply-adds of a sweep.
    pub cost: f64,
}

impl<'p, T: Scalar> Plan<'p, T> {
    pub fn new(
        (target, x): (&'p Target, &Tensor<T>),
        graph: &'p ModeGraph,
        max_bytes: Option<u64>,
    ) -> Result<Self, FitError> {
        let dims = target.dims();
        if graph.modes() != dims.len() {
            return Err(FitError::Modes { structure: graph.modes(), tensor: dims.len() });
        }
        let all = target.fitted().is_none().then(|| Mask::all(dims).ok()).flatten();
        let Some(fitted_mask) = target.fitted().or(all.as_ref()) else {
            unreachable!("a target has entries")
        };
        let held = target.held();
        let entries = fitted_mask.count() + held.map_or(0, Mask::count);
        let tree = Tree::best(graph, dims, EXACT_OFTEN);
        let bytes = needed_bytes::<T>(&tree, graph, dims, entries);
        check_bytes(bytes + target.held_bytes() as f64, max_bytes)?;
        if u32::try_from(entries).is_err() {
            // Rows are numbered with 32 bits.
            let (what, limit) = ("fitting so many entries", 8.0 * f64::from(u32::MAX));
            return Err(MemoryError::new(what, bytes, limit).into());
        }
        let flat: Vec<usize> =
            fitted_mask.positions().chain(held.into_iter().flat_map(Mask::positions)).collect();
        let values: Vec<T> = flat.iter().map(|&k| x.data()[k]).collect();
        let fitted = fitted_mask.count();
        let mut modes: Vec<Vec<u32>> = vec![Vec::with_capacity(entries); dims.len()];
        for &k in &flat {
            let index = unflatten(k, dims);
            modes.iter_mut().zip(index).for_each(|(mode, i)| mode.push(i as u32));
        }
        let mut plan = Plan {
            graph,
            dims,
            nodes: tree.nodes,
            up: Vec::new(),
            down: Vec::new(),
            leaves: Vec::new(),
            halves: [Rows::single(0), Rows::single(0)],
            half_order: None,
            half_width: 1,
            norm_squared: sum_of_squares(&values[..fitted]),
            held_norm_squared: sum_of_squares(&values[fitted..]),
            x: values,
            fitted,
            bytes,
            cost: 0.0,
        };
        plan.lay_out(modes);
        Ok(plan)
    }

    /// The number of entries of each core.
    pub fn core_lens(&self) -> Vec<usize> {
        self.leaves.iter().map(|leaf| leaf.width * leaf.dim).collect()
    }

    /// Whether errors are measured on entries that are not fitted.
    pub fn holds_out(&self) -> bool {
        self.x.len() > self.fitted
    }

    fn lay_out(&mut self, mut modes: Vec<Vec<u32>>) {
        let ranks: Vec<usize> = self.graph.edges().iter().map(|e| e.2).collect();
        let (count, all) = (self.nodes.len(), self.x.len());
        let mut blocks: Vec<(Rows, Edges)> = Vec::with_capacity(count);
        for (k, node) in self.nodes.iter().enumerate() {
            let (join, rows, edges) = match *node {
                Node::Leaf(v) => {
                    let edges = self.graph.incident(v).collect();
                    let rows = match v < self.graph.modes() {
                        true => {
                            Rows { of_entry: std::mem::take(&mut modes[v]), count: self.dims[v] }
                        }
                        false => Rows::single(all),
                    };
                    (None, rows, edges)
                }
                Node::Pair(..) if k + 1 == count => (None, Rows::single(0), Vec::new()),
                Node::Pair(b, c) => {
                    let parts = (&blocks[b], &blocks[c]);
                    let (left, right) = ((&parts.0.0, &parts.0.1), (&parts.1.0, &parts.1.1));
                    let (join, rows, edges) = Join::new(left, right, &ranks, all);
                    self.cost += join.cost();
                    (Some(join), rows, edges)
                }
            };
            self.up.push(join);
            blocks.push((rows, edges));
        }
        self.down = (0..count).map(|_| None).collect();
        self.leaves = (0..self.graph.vertices()).map(|_| Leaf::default()).collect();
        let Some(&Node::Pair(b, c)) = self.nodes.last() else {
            unreachable!("a network of two vertices or more")
        };
        for (child, other) in [(b, c), (c, b)] {
            let (rows, edges) = blocks[other].clone();
            self.descend(child, &rows, &edges, &blocks, &ranks);
        }
        self.half_order = order(&blocks[c].1, &blocks[b].1, &ranks);
        self.half_width = blocks[b].1.iter().map(|&e| ranks[e]).product();
        let mut take = |k: usize| std::mem::replace(&mut blocks[k].0, Rows::single(0));
        self.halves = [take(b), take(c)];
    }

    /// Plans the environments below a node, given its own.
    fn descend(
        &mut self,
        node: usize,
        rows: &Rows,
        edges: &Edges,
        blocks: &[(Rows, Edges)],
        ranks: &[usize],
    ) {
        match self.nodes[node] {
            Node::Leaf(v) => {
                let own: Edges = self.graph.incident(v).collect();
                let width: usize = own.iter().map(|&e| ranks[e]).product();
                let index = &blocks[node].0;
                let dim = index.count;
                let mut slices = vec![0; dim + 1];
                index.of_entry[..self.fitted].iter().for_each(|&i| slices[i as usize + 1] += 1);
                (0..dim).for_each(|i| slices[i + 1] += slices[i]);
                let mut next = slices.clone();
                let mut entries = vec![(0, 0); self.fitted];
                for (k, &i) in index.of_entry[..self.fitted].iter().enumerate() {
                    entries[next[i as usize]] = (rows.of_entry[k], k as u32);
                    next[i as usize] += 1;
                }
                let (n, w, dims) = (self.fitted as f64, width as f64, dim as f64);
                self.cost += n * w * w / 2.0 + dims * w.powi(3) / 3.0;
                self.leaves[v] =
                    Leaf { width, dim, order: order(edges, &own, ranks), entries, slices };
            }
            Node::Pair(b, c) => {
                for (child, other) in [(b, c), (c, b)] {
                    let sibling = (&blocks[other].0, &blocks[other].1);
                    let (join, rows, edges) = Join::new((rows, edges), sibling, ranks, self.fitted);
                    self.cost += join.cost();
                    self.down[child] = Some(join);
                    self.descend(child, &rows, &edges, blocks, ranks);
                }
            }
        }
    }
}

impl Default for Leaf {
    fn default() -> Self {
        Leaf { width: 1, dim: 1, order: None, entries: Vec::new(), slices: vec![0, 0] }
    }
}

/// About how many bytes a start takes: blocks, the environments on the way to a leaf, Gram matrices, and the lists of
/// rows. A table has at most a row per entry and one per combination of indices.
fn needed_bytes<T: Scalar>(tree: &Tree, graph: &ModeGraph, dims: &[usize], entries: usize) -> f64 {
    let (n, number) = (entries as f64, T::KIND.bytes() as f64);
    let (mut blocks, mut environments, mut grams, mut lists) = (0.0, 0.0f64, 0.0f64, 0.0);
    for (k, node) in tree.nodes.iter().enumerate() {
        let inside = tree.leaves(k);
        let combinations = |within: bool| -> f64 {
            let modes = (0..graph.modes()).filter(|v| inside.contains(v) == within);
            modes.map(|v| dims[v] as f64).product::<f64>().min(n)
        };
        let cut = graph.edges().iter().filter(|e| inside.contains(&e.0) != inside.contains(&e.1));
        let width: f64 = cut.map(|e| e.2 as f64).product();
        if k + 1 < tree.nodes.len() {
            blocks += combinations(true) * width;
            environments += combinations(false) * width;
            lists += 4.0 * (2.0 * n + combinations(true) + combinations(false));
        }
        if let Node::Leaf(_) = node {
            lists += 8.0 * n;
            let parts = n / PART as f64 + combinations(true);
            grams = grams.max(3.0 * width * width * parts);
        }
    }
    number * (blocks + environments + grams + 4.0 * n) + lists
}
