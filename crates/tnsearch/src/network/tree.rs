//! Contraction trees: in which order the cores of a network are merged.

use crate::graph::ModeGraph;

/// Up to this many vertices a tree is found by exact dynamic programming over all subsets when it is
/// needed once (3^16 / 2 splits: about a tenth of a second).
pub const EXACT_ONCE: usize = 16;
/// The same where a tree is planned for every structure of a search (3^11 / 2 splits: under a
/// millisecond).
pub const EXACT_OFTEN: usize = 11;

/// A binary tree over the vertices of a network. Nodes are numbered children first; the last node is
/// the root.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The nodes, children before parents.
    pub nodes: Vec<Node>,
    /// Estimated cost of one ALS sweep along the tree, in multiply-adds.
    pub cost: f64,
}

/// A node of a contraction tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A vertex of the network.
    Leaf(usize),
    /// The merger of two earlier nodes.
    Pair(usize, usize),
}

/// What a tree costs, from tables over vertex sets. Merging B and C into A touches each index of the
/// three blocks in two of them, so it costs `sqrt(|B| |C| |A|)` multiply-adds, |S| being the number of
/// entries of the merged block of S; contracting X's environment of A down to B or C costs the same.
/// The doubled network (for the Gram matrices) has the edges squared and no modes.
struct Costs<'g> {
    graph: &'g ModeGraph,
    log_dims: Vec<f64>,
}

impl Costs<'_> {
    /// `(sqrt(entries of the merged block), product of its cut edges)` of a vertex set.
    fn block(&self, inside: impl Fn(usize) -> bool) -> (f64, f64) {
        let modes: f64 =
            (0..self.graph.modes()).filter(|&v| inside(v)).map(|v| self.log_dims[v]).sum();
        let cut: f64 = self
            .graph
            .edges()
            .iter()
            .filter(|e| inside(e.0) != inside(e.1))
            .map(|e| (e.2 as f64).ln())
            .sum();
        (((modes + cut) / 2.0).exp(), cut.exp())
    }
}

fn split_cost(whole: (f64, f64), left: (f64, f64), right: (f64, f64)) -> f64 {
    whole.0 * left.0 * right.0 + whole.1 * left.1 * right.1
}

impl Tree {
    /// The cheapest tree: exact up to `exact` vertices, beyond that the best over intervals of a few
    /// linear orders of the vertices.
    pub fn best(graph: &ModeGraph, dims: &[usize], exact: usize) -> Tree {
        let log_dims = dims.iter().map(|&d| (d as f64).ln()).collect();
        let costs = Costs { graph, log_dims };
        if graph.vertices() <= exact {
            return exact_tree(&costs);
        }
        let orders = linear_orders(graph);
        let trees = orders.iter().map(|order| interval_tree(&costs, order));
        trees
            .min_by(|a, b| a.cost.total_cmp(&b.cost))
            .unwrap_or_else(|| unreachable!("three orders"))
    }

    /// The root's two children.
    ///
    /// # Panics
    /// If the network has a single vertex.
    pub fn halves(&self) -> (usize, usize) {
        match self.nodes.last() {
            Some(&Node::Pair(b, c)) => (b, c),
            _ => panic!("a network has at least two vertices"),
        }
    }

    /// The vertices below a node, left to right.
    pub fn leaves(&self, node: usize) -> Vec<usize> {
        match self.nodes[node] {
            Node::Leaf(v) => vec![v],
            Node::Pair(b, c) => {
                let mut all = self.leaves(b);
                all.extend(self.leaves(c));
                all
            }
        }
    }
}

/// Dynamic programming over all vertex sets.
fn exact_tree(costs: &Costs) -> Tree {
    let v = costs.graph.vertices();
    let full = (1usize << v) - 1;
    let block: Vec<(f64, f64)> = (0..=full).map(|set| costs.block(|u| set >> u & 1 == 1)).collect();
    let mut best = vec![(0.0f64, 0usize); full + 1];
    for set in 1..=full {
        if set & (set - 1) == 0 {
            continue;
        }
        let (mut low, mut split) = (f64::INFINITY, 0);
        // Each split once: the part with the set's lowest vertex goes left.
        let lowest = set & set.wrapping_neg();
        let rest = set ^ lowest;
        let mut sub = rest;
        while sub > 0 {
            sub = (sub - 1) & rest;
            let (left, right) = (lowest | sub, rest ^ sub);
            let cost =
                best[left].0 + best[right].0 + split_cost(block[set], block[left], block[right]);
            if cost < low || split == 0 {
                (low, split) = (cost, left);
            }
        }
        best[set] = (low, split);
    }
    let mut nodes = Vec::with_capacity(2 * v - 1);
    build(&mut nodes, full, &|set| match set & (set - 1) {
        0 => Err(set.trailing_zeros() as usize),
        _ => Ok((best[set].1, set ^ best[set].1)),
    });
    Tree { nodes, cost: best[full].0 }
}

/// Dynamic programming over the intervals of one linear order.
fn interval_tree(costs: &Costs, order: &[usize]) -> Tree {
    let v = order.len();
    let mut place = vec![0; v];
    for (p, &u) in order.iter().enumerate() {
        place[u] = p;
    }
    let at = |i: usize, j: usize| i * (v + 1) + j;
    let mut block = vec![(0.0, 0.0); (v + 1) * (v + 1)];
    let mut best = vec![(0.0f64, 0usize); (v + 1) * (v + 1)];
    for len in 1..=v {
        for i in 0..=v - len {
            let j = i + len;
            block[at(i, j)] = costs.block(|u| (i..j).contains(&place[u]));
            if len == 1 {
                continue;
            }
            let (mut low, mut split) = (f64::INFINITY, i + 1);
            for mid in i + 1..j {
                let cost = best[at(i, mid)].0
                    + best[at(mid, j)].0
                    + split_cost(block[at(i, j)], block[at(i, mid)], block[at(mid, j)]);
                if cost < low {
                    (low, split) = (cost, mid);
                }
            }
            best[at(i, j)] = (low, split);
        }
    }
    let mut nodes = Vec::with_capacity(2 * v - 1);
    build(&mut nodes, (0, v), &|(i, j)| match j - i {
        1 => Err(order[i]),
        _ => {
            let mid = best[at(i, j)].1;
            Ok(((i, mid), (mid, j)))
        }
    });
    Tree { nodes, cost: best[at(0, v)].0 }
}

/// Lays a tree out children first; `split` gives a part's two parts, or its single vertex.
fn build<S: Copy>(
    nodes: &mut Vec<Node>,
    part: S,
    split: &impl Fn(S) -> Result<(S, S), usize>,
) -> usize {
    let node = match split(part) {
        Err(vertex) => Node::Leaf(vertex),
        Ok((left, right)) => {
            let left = build(nodes, left, split);
            let right = build(nodes, right, split);
            Node::Pair(left, right)
        }
    };
    nodes.push(node);
    nodes.len() - 1
}

/// Linear orders that keep neighbours near: as numbered, breadth first, and greedily by connection.
fn linear_orders(graph: &ModeGraph) -> Vec<Vec<usize>> {
    let v = graph.vertices();
    let weight = |a: usize, b: usize| {
        let key = (a.min(b), a.max(b));
        graph.edges().iter().find(|e| (e.0, e.1) == key).map_or(0.0, |e| (e.2 as f64).ln())
    };
    let mut breadth: Vec<usize> = Vec::with_capacity(v);
    for start in 0..v {
        if breadth.contains(&start) {
            continue;
        }
        breadth.push(start);
        let mut next = breadth.len() - 1;
        while next < breadth.len() {
            let u = breadth[next];
            for w in 0..v {
                if weight(u, w) > 0.0 && !breadth.contains(&w) {
                    breadth.push(w);
                }
            }
            next += 1;
        }
    }
    // Grow from an end vertex: always the vertex that closes most of the open width.
    let degree = |u: usize| (0..v).map(|w| weight(u, w)).sum::<f64>();
    let start = (0..v).min_by(|&a, &b| degree(a).total_cmp(&degree(b))).unwrap_or(0);
    let mut greedy = vec![start];
    while greedy.len() < v {
        let inside = |w: usize| greedy.contains(&w);
        let opened = |u: usize| {
            (0..v).map(|w| if inside(w) { -weight(u, w) } else { weight(u, w) }).sum::<f64>()
        };
        let next = (0..v).filter(|&u| !inside(u)).min_by(|&a, &b| opened(a).total_cmp(&opened(b)));
        greedy.extend(next);
    }
    vec![(0..v).collect(), breadth, greedy]
}
