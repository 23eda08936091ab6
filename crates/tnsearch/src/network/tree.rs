//! Contraction trees: in which order the cores of a network are merged.

use crate::graph::ModeGraph;
use std::cell::RefCell;

/// Up to this many vertices a tree is found by exact dynamic programming over all subsets when it is
/// needed once (3^16 / 2 splits: about a tenth of a second).
pub const EXACT_ONCE: usize = 16;
/// The same where a tree is planned for every structure of a search (3^11 / 2 splits: under a
/// millisecond).
pub const EXACT_OFTEN: usize = 11;

/// Above this many vertices the intervals of an order are not all looked at: each is halved.
const MANY: usize = 256;

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
    ///
    /// The last one that a thread asked for is kept: what a fit takes is counted before it is planned, along the same tree.
    pub fn best(graph: &ModeGraph, dims: &[usize], exact: usize) -> Tree {
        Tree::best_until(graph, dims, exact, &|| false)
            .unwrap_or_else(|| unreachable!("nothing ends it"))
    }

    /// The same; none where `stopped` ended it.
    pub fn best_until(
        graph: &ModeGraph,
        dims: &[usize],
        exact: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Option<Tree> {
        type Last = (ModeGraph, Vec<usize>, usize, Tree);
        thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
        let known = LAST.with_borrow(|last| match last {
            Some((g, d, e, tree)) if (g, &d[..], *e) == (graph, dims, exact) => Some(tree.clone()),
            _ => None,
        });
        known.or_else(|| {
            let tree = Tree::planned(graph, dims, exact, stopped)?;
            let new = (graph.clone(), dims.to_vec(), exact, tree.clone());
            LAST.set(Some(new));
            Some(tree)
        })
    }

    fn planned(
        graph: &ModeGraph,
        dims: &[usize],
        exact: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Option<Tree> {
        let log_dims = dims.iter().map(|&d| (d as f64).ln()).collect();
        let costs = Costs { graph, log_dims };
        if graph.vertices() <= exact {
            return Some(exact_tree(&costs));
        }
        let orders = linear_orders(graph, stopped)?;
        let split = if graph.vertices() <= MANY { interval_tree } else { halved_tree };
        let trees = orders.iter().map(|order| split(&costs, order, stopped));
        let trees: Vec<Tree> = trees.collect::<Option<_>>()?;
        trees.into_iter().min_by(|a, b| a.cost.total_cmp(&b.cost))
    }

    /// The root's two children; none where the network has a single vertex.
    pub fn halves(&self) -> Option<(usize, usize)> {
        match self.nodes.last() {
            Some(&Node::Pair(b, c)) => Some((b, c)),
            _ => None,
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

impl Tree {
    /// Which vertices are below a node.
    pub fn below(&self, node: usize) -> Vec<bool> {
        let mut inside = vec![false; self.nodes.len() / 2 + 1];
        let mut todo = vec![node];
        while let Some(node) = todo.pop() {
            match self.nodes[node] {
                Node::Leaf(v) => inside[v] = true,
                Node::Pair(b, c) => todo.extend([b, c]),
            }
        }
        inside
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
fn interval_tree(costs: &Costs, order: &[usize], stopped: &dyn Fn() -> bool) -> Option<Tree> {
    let v = order.len();
    let mut place = vec![0; v];
    for (p, &u) in order.iter().enumerate() {
        place[u] = p;
    }
    let at = |i: usize, j: usize| i * (v + 1) + j;
    let mut block = vec![(0.0, 0.0); (v + 1) * (v + 1)];
    let mut best = vec![(0.0f64, 0usize); (v + 1) * (v + 1)];
    for len in 1..=v {
        if stopped() {
            return None;
        }
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
    Some(Tree { nodes, cost: best[at(0, v)].0 })
}

/// The intervals of one linear order, each in halves: where there are too many vertices for anything better.
fn halved_tree(costs: &Costs, order: &[usize], stopped: &dyn Fn() -> bool) -> Option<Tree> {
    let mut nodes = Vec::with_capacity(2 * order.len() - 1);
    build(&mut nodes, (0, order.len()), &|(i, j)| match j - i {
        1 => Err(order[i]),
        _ => Ok(((i, (i + j) / 2), ((i + j) / 2, j))),
    });
    let mut tree = Tree { nodes, cost: 0.0 };
    let block = |node: usize| {
        let inside = tree.below(node);
        (!stopped()).then(|| costs.block(|u| inside[u]))
    };
    let blocks: Vec<(f64, f64)> = (0..tree.nodes.len()).map(block).collect::<Option<_>>()?;
    let pair = |(k, node): (usize, &Node)| match *node {
        Node::Pair(b, c) => split_cost(blocks[k], blocks[b], blocks[c]),
        Node::Leaf(_) => 0.0,
    };
    tree.cost = tree.nodes.iter().enumerate().map(pair).sum();
    Some(tree)
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
fn linear_orders(graph: &ModeGraph, stopped: &dyn Fn() -> bool) -> Option<Vec<Vec<usize>>> {
    let v = graph.vertices();
    // The neighbours of each vertex in increasing order, with the logarithm of the rank between them.
    let mut near: Vec<Vec<(usize, f64)>> = vec![Vec::new(); v];
    for &(a, b, rank) in graph.edges() {
        near[a].push((b, (rank as f64).ln()));
        near[b].push((a, (rank as f64).ln()));
    }
    near.iter_mut().for_each(|near| near.sort_by_key(|n| n.0));
    let mut breadth: Vec<usize> = Vec::with_capacity(v);
    let mut seen = vec![false; v];
    for start in 0..v {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        breadth.push(start);
        let mut next = breadth.len() - 1;
        while next < breadth.len() {
            for &(w, weight) in &near[breadth[next]] {
                if weight > 0.0 && !std::mem::replace(&mut seen[w], true) {
                    breadth.push(w);
                }
            }
            next += 1;
        }
    }
    // Grow from an end vertex: always the vertex that closes most of the open width.
    let degree = |u: usize| near[u].iter().map(|n| n.1).sum::<f64>();
    let start = (0..v).min_by(|&a, &b| degree(a).total_cmp(&degree(b))).unwrap_or(0);
    let mut greedy = vec![start];
    let mut inside = vec![false; v];
    inside[start] = true;
    while greedy.len() < v {
        if stopped() {
            return None;
        }
        let opened = |u: usize| {
            near[u].iter().map(|&(w, weight)| if inside[w] { -weight } else { weight }).sum::<f64>()
        };
        let all = (0..v).filter(|&u| !inside[u]).map(|u| (opened(u), u));
        let Some((_, next)) = all.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        inside[next] = true;
        greedy.push(next);
    }
    Some(vec![(0..v).collect(), breadth, greedy])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_that_is_kept_is_the_one_asked_for() {
        let ring = |rank: usize| {
            ModeGraph::new(4, 0, vec![(0, 1, rank), (1, 2, 2), (2, 3, rank), (0, 3, 3)])
        };
        let asked =
            [(ring(2), [2; 4]), (ring(5), [2; 4]), (ring(2), [9, 2, 2, 2]), (ring(2), [2; 4])];
        for exact in [EXACT_OFTEN, 2] {
            for (graph, dims) in &asked {
                let planned = Tree::planned(graph, dims, exact, &|| false).unwrap();
                assert_eq!(Tree::best(graph, dims, exact), planned);
                assert_eq!(Tree::best(graph, dims, exact), planned);
            }
        }
    }

    #[test]
    fn many_vertices_are_halved_and_each_is_there_once() {
        let n = 600;
        // A ring, numbered so that neighbours are far apart.
        let at = |k: usize| (k * 7) % n;
        let edges = (0..n).map(|k| (at(k), at((k + 1) % n))).map(|(a, b)| (a.min(b), a.max(b), 2));
        let mut edges: Vec<(usize, usize, usize)> = edges.collect();
        edges.sort_unstable();
        let graph = ModeGraph::new(4, n - 4, edges);
        let tree = Tree::best(&graph, &[2; 4], EXACT_OFTEN);
        let root = tree.nodes.len() - 1;
        let mut all = tree.leaves(root);
        all.sort_unstable();
        assert_eq!(all, (0..n).collect::<Vec<_>>());
        assert!(tree.below(root).iter().all(|inside| *inside));
        let (left, right) = tree.halves().unwrap();
        let (a, b) = (tree.below(left), tree.below(right));
        assert!((0..n).all(|v| a[v] != b[v]));
        // Breadth first from a vertex, an interval of the ring has four neighbours outside at most.
        assert!(tree.cost.is_finite() && tree.cost < 1e6, "{}", tree.cost);
    }
}
