//! The plan of a fit: which contractions a sweep makes, in which order, on which buffers.
//!
//! The vertices are split in halves, recursively (a [`Tree`]). For a node A of the tree
//! - `M[A]` is the merged block of its cores: its modes and its cut edges;
//! - `T[A]` is X contracted with every core outside A: again its modes and its cut edges;
//! - `S[A]` is the block contracted with itself over its modes: its cut edges, twice;
//! - `H[A]` is the doubled network outside A: its cut edges, twice.
//!
//! Of complex numbers the conjugate is taken wherever a core stands for its own derivative: in T, and in the first of
//! the two copies that S and H are made of. For the children B, C of A: `T[B] = T[A] * conj(M[C])`,
//! `S[A] = conj(M[A]) * M[A]`, `H[B] = H[A] * S[C]`, and at a leaf v, `T[v]` is the
//! right-hand side and `H[v]` the Gram matrix of the least-squares problem for core v. A sweep walks
//! the tree depth first, refreshing M and S on the way back, so that all cores share the large
//! products: the root's two are `|X| x cut width` each.

use super::{FitError, check_bytes};
use crate::graph::ModeGraph;
use crate::network::Labels;
use crate::network::contraction::{Contraction, Label, Scratch, reorder};
use crate::network::tree::{EXACT_OFTEN, Node, Tree};
use crate::problem::{Stop, Target};
use crate::tensor::{AxisPlan, Kind, Scalar, Tensor};
use std::borrow::Cow;

/// Plans of more vertices look at a stop.
const MANY: usize = 32;

/// Neither factor is conjugated.
const PLAIN: (bool, bool) = (false, false);

/// A buffer of the workspace.
pub(super) type Buffer = usize;

/// Where an operand is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    /// The tensor itself, in the plan's order of modes.
    X,
    /// A buffer of the workspace.
    Buffer(Buffer),
}

/// One step of a sweep.
#[derive(Debug)]
pub(super) enum Step {
    /// `dst = a * b`.
    Contract { a: Source, b: Source, dst: Buffer, plan: Box<Contraction> },
    /// `dst = src` with its axes reordered.
    Reorder { src: Buffer, dst: Buffer, plan: AxisPlan },
    /// The environment of this vertex is ready: T and H are in its buffers.
    Visit(usize),
    /// M and S of this node are to be computed again.
    Renew(usize),
}

/// The least-squares problem of one core: `H g_i = t_i` for every index i of its mode.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The core, as `[mode, edges]`.
    pub core: Buffer,
    /// The right-hand side T, like the core.
    pub rhs: Buffer,
    /// The Gram matrix H, `[edges, edges]`.
    pub gram: Buffer,
    /// Product of the ranks at the vertex.
    pub width: usize,
    /// The dimension of its mode (1 at internal vertices).
    pub dim: usize,
}

/// Everything about fitting one structure to one tensor that does not change from sweep to sweep.
pub(super) struct Plan<'x, T: Scalar> {
    /// X with its modes in the order of the tree's leaves, as a matrix (left half, right half).
    pub x: Cow<'x, [T]>,
    /// `||X||^2`; of the full tensor where this one was shrunk.
    pub norm_squared: f64,
    /// What shrinking lost of it, relative.
    pub lost: f64,
    pub graph: &'x ModeGraph,
    pub dims: &'x [usize],
    pub leaves: Vec<Leaf>,
    /// How M and S of a node are computed from those below it, for every node but the root.
    pub renew: Vec<Vec<Step>>,
    /// Visits every vertex once.
    pub walk: Vec<Step>,
    /// The two halves' blocks and how to lay them out as matrices (modes, edges) and (edges, modes).
    pub halves: [(Buffer, AxisPlan); 2],
    /// Rows (modes of the left half), columns (right half) and cut width of X's root split.
    pub root: (usize, usize, usize),
    pub buffer_lens: Vec<usize>,
    /// About how many bytes a fit takes.
    pub bytes: f64,
    pub tree: Tree,
    pub labels: Labels,
    /// M of every node but the root: its buffer and labels.
    pub block: Vec<(Buffer, Vec<Label>)>,
}

/// What happens to the cores while they are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Walk {
    /// Each core changes when it is visited: the blocks are renewed on the way.
    Changing,
    /// No core changes.
    Reading,
}

impl<'x, T: Scalar> Plan<'x, T> {
    /// Plans the fit; refuses one that needs more memory than `max_bytes`, before taking it.
    pub fn new(
        (target, x): (&'x Target, &'x Tensor<T>),
        graph: &'x ModeGraph,
        kind: Walk,
        max_bytes: Option<u64>,
    ) -> Result<Self, FitError> {
        Plan::new_until((target, x), graph, kind, max_bytes, None)
    }

    /// The same; looks at a stop, which ends it: plans of very many vertices take seconds.
    pub fn new_until(
        (target, x): (&'x Target, &'x Tensor<T>),
        graph: &'x ModeGraph,
        kind: Walk,
        max_bytes: Option<u64>,
        stop: Option<&Stop>,
    ) -> Result<Self, FitError> {
        let dims = x.dims();
        if graph.modes() != dims.len() {
            return Err(FitError::Modes { structure: graph.modes(), tensor: dims.len() });
        }
        let stop = stop.filter(|_| graph.vertices() > MANY);
        let stopped = || stop.is_some_and(Stop::is_set);
        let ended = || FitError::Interrupted;
        let tree = Tree::best_until(graph, dims, EXACT_OFTEN, &stopped).ok_or_else(ended)?;
        // A single vertex is the tensor itself (`fit_single`): nothing is contracted.
        let (left, right) = tree.halves().ok_or(FitError::OneVertex)?;
        let bytes = T::KIND.bytes() as f64
            * entries_until(dims, graph, &tree, &stopped).ok_or_else(ended)?;
        check_bytes(bytes + target.held_bytes() as f64, max_bytes)?;
        let mut builder = Builder::new(graph, dims, &tree, &stopped);
        builder.blocks().ok_or_else(ended)?;
        let root = tree.nodes.len() - 1;
        let x_labels = builder.modes_below(root);
        let mut walk = Vec::new();
        builder.descend(root, (Source::X, &x_labels), None, kind, &mut walk).ok_or_else(ended)?;
        let (rows, columns) = (builder.modes_below(left), builder.modes_below(right));
        let cut = builder.shared_edges(left, right);
        let half = |node: usize, first: &[Label], then: &[Label]| {
            let (buffer, has) = &builder.block[node];
            let want: Vec<Label> = first.iter().chain(then).copied().collect();
            (*buffer, reorder(has, &want, &builder.labels.lengths))
        };
        let halves = [half(left, &rows, &cut), half(right, &cut, &columns)];
        let root_shape = (builder.size(&rows), builder.size(&columns), builder.size(&cut));
        let to_tree = AxisPlan::new(dims, &x_labels);
        let x = match to_tree.is_identity() {
            true => Cow::Borrowed(x.data()),
            false => {
                let mut copy = vec![T::ZERO; x.len()];
                to_tree.apply(x.data(), &mut copy);
                Cow::Owned(copy)
            }
        };
        let Builder { leaves, renew, buffer_lens, labels, block, .. } = builder;
        Ok(Plan {
            x,
            norm_squared: target.norm_squared(),
            lost: target.lost(),
            graph,
            dims,
            leaves,
            renew,
            walk,
            halves,
            root: root_shape,
            buffer_lens,
            bytes,
            tree,
            labels,
            block,
        })
    }

    /// The number of entries of each core.
    pub fn core_lens(&self) -> Vec<usize> {
        self.leaves.iter().map(|l| l.width * l.dim).collect()
    }

    /// Scratch that serves every step.
    pub fn scratch(&self) -> Scratch<T> {
        let mut scratch = Scratch::default();
        for step in self.renew.iter().flatten().chain(&self.walk) {
            if let Step::Contract { plan, .. } = step {
                scratch.reserve(plan);
            }
        }
        scratch
    }

    /// Floating-point operations of an ALS sweep in real numbers, about: the contractions, and a Cholesky factor for each
    /// core.
    pub fn sweep_flops(&self) -> f64 {
        let solves = self.leaves.iter().map(|l| (l.width as f64).powi(3) / 3.0 * 2.0);
        let factor = if T::KIND.is_complex() { 4.0 } else { 1.0 };
        factor * (self.walk_flops() + solves.sum::<f64>())
    }

    /// Floating-point operations of computing the error of given cores.
    pub fn residual_flops(&self) -> f64 {
        let blocks = self.renew.iter().zip(&self.block).flat_map(|(steps, (block, _))| {
            steps.iter().map(move |step| match step {
                Step::Contract { plan, dst, .. } if dst == block => plan.flops(),
                _ => 0.0,
            })
        });
        let (rows, columns, cut) = self.root;
        blocks.sum::<f64>() + 2.0 * rows as f64 * columns as f64 * cut as f64
    }

    /// Floating-point operations of the contractions of one walk.
    pub fn walk_flops(&self) -> f64 {
        let flops = |step: &Step| match step {
            Step::Contract { plan, .. } => plan.flops(),
            _ => 0.0,
        };
        let of = |step: &Step| match step {
            Step::Renew(node) => self.renew[*node].iter().map(flops).sum(),
            _ => flops(step),
        };
        self.walk.iter().map(of).sum()
    }
}

/// About how many bytes a fit takes beside the tensor itself.
pub(super) fn bytes_needed(dims: &[usize], graph: &ModeGraph, kind: Kind) -> f64 {
    kind.bytes() as f64 * entries_needed(dims, graph, &Tree::best(graph, dims, EXACT_OFTEN))
}

/// The numbers a fit holds at once, estimated from the sizes of its blocks: X's copy, M and T of every node,
/// S and H of every node, scratch of the largest; the factor of the widest solve, and some copies of the cores.
pub(super) fn entries_needed(dims: &[usize], graph: &ModeGraph, tree: &Tree) -> f64 {
    entries_until(dims, graph, tree, &|| false).unwrap_or(f64::INFINITY)
}

/// The same; none where `stopped` ended it.
fn entries_until(
    dims: &[usize],
    graph: &ModeGraph,
    tree: &Tree,
    stopped: &dyn Fn() -> bool,
) -> Option<f64> {
    let (mut total, mut largest) = (dims.iter().map(|&d| d as f64).product::<f64>(), 0.0f64);
    let (mut widest, mut params) = (0.0f64, 0.0);
    for node in 0..tree.nodes.len() - 1 {
        if stopped() {
            return None;
        }
        let inside = tree.below(node);
        let modes: f64 =
            (0..graph.modes()).filter(|&v| inside[v]).map(|v| dims[v] as f64).product();
        let cut = graph.edges().iter().filter(|e| inside[e.0] != inside[e.1]);
        let cut: f64 = cut.map(|e| e.2 as f64).product();
        total += 2.0 * modes * cut + 2.0 * cut * cut;
        largest = largest.max(modes * cut).max(cut * cut);
        if matches!(tree.nodes[node], Node::Leaf(_)) {
            widest = widest.max(cut);
            params += modes * cut;
        }
    }
    Some(total + 3.0 * largest + widest * widest + 4.0 * params)
}

/// Collects the steps and buffers of a plan.
struct Builder<'b> {
    graph: &'b ModeGraph,
    tree: &'b Tree,
    /// Modes, edges, and the edges once more (for the doubled network).
    labels: Labels,
    buffer_lens: Vec<usize>,
    /// M of every node: its buffer and labels.
    block: Vec<(Buffer, Vec<Label>)>,
    /// S of every node.
    square: Vec<(Buffer, Vec<Label>)>,
    /// How M and S of every node are computed from those below.
    renew: Vec<Vec<Step>>,
    leaves: Vec<Leaf>,
    /// Ends it.
    stopped: &'b dyn Fn() -> bool,
}

impl<'b> Builder<'b> {
    fn new(
        graph: &'b ModeGraph,
        dims: &[usize],
        tree: &'b Tree,
        stopped: &'b dyn Fn() -> bool,
    ) -> Self {
        let mut labels = Labels::new(graph, dims);
        labels.lengths.extend(graph.edges().iter().map(|e| e.2));
        Builder {
            graph,
            tree,
            labels,
            buffer_lens: Vec::new(),
            block: Vec::new(),
            square: Vec::new(),
            renew: Vec::new(),
            leaves: Vec::new(),
            stopped,
        }
    }

    fn buffer(&mut self, len: usize) -> Buffer {
        self.buffer_lens.push(len);
        self.buffer_lens.len() - 1
    }

    fn size(&self, labels: &[Label]) -> usize {
        labels.iter().map(|&l| self.labels.lengths[l]).product()
    }

    /// The second copy of an edge label.
    fn twin(&self, label: Label) -> Label {
        label + self.graph.edges().len()
    }

    /// The modes below a node, in leaf order.
    fn modes_below(&self, node: usize) -> Vec<Label> {
        self.tree.leaves(node).into_iter().filter(|&v| v < self.graph.modes()).collect()
    }

    fn shared_edges(&self, b: usize, c: usize) -> Vec<Label> {
        let (b, c) = (self.tree.leaves(b), self.tree.leaves(c));
        let edges = self.graph.edges().iter().enumerate();
        edges
            .filter(|(_, e)| {
                (b.contains(&e.0) && c.contains(&e.1)) || (b.contains(&e.1) && c.contains(&e.0))
            })
            .map(|(k, _)| self.labels.edge(k))
            .collect()
    }

    fn contract(
        &mut self,
        (a, a_labels): (Source, &[Label]),
        (b, b_labels): (Source, &[Label]),
        conj: (bool, bool),
        want: Option<&[Label]>,
        dst: Option<Buffer>,
    ) -> (Step, Buffer, Vec<Label>) {
        let plan = Contraction::plan(a_labels, b_labels, &self.labels.lengths, want);
        let plan = plan.conjugated(conj.0, conj.1);
        let dst = dst.unwrap_or_else(|| self.buffer(plan.result_len()));
        let labels = plan.labels().to_vec();
        (Step::Contract { a, b, dst, plan: Box::new(plan) }, dst, labels)
    }

    /// Lays out M and S of every node and the steps that compute them; none where it was ended.
    fn blocks(&mut self) -> Option<()> {
        let tree = self.tree;
        self.leaves = (0..self.graph.vertices()).map(|_| Leaf::default()).collect();
        for (k, node) in tree.nodes.iter().enumerate() {
            if (self.stopped)() {
                return None;
            }
            let root = k + 1 == tree.nodes.len();
            let mut renew = Vec::new();
            let (block, square) = match *node {
                Node::Leaf(v) => {
                    let edges = self.labels.edges_at(self.graph, v);
                    let (width, dim) = (
                        self.size(&edges),
                        if v < self.graph.modes() { self.labels.lengths[v] } else { 1 },
                    );
                    let core = self.buffer(width * dim);
                    let rhs = self.buffer(width * dim);
                    let gram = self.buffer(width * width);
                    self.leaves[v] = Leaf { core, rhs, gram, width, dim };
                    let mut own: Vec<Label> = (0..self.graph.modes()).filter(|&m| m == v).collect();
                    own.extend(&edges);
                    ((core, own.clone()), self.squared((core, &own), &edges, &mut renew))
                }
                Node::Pair(..) if root => break,
                Node::Pair(b, c) => {
                    let (mb, mc) = (self.block[b].clone(), self.block[c].clone());
                    let (step, dst, labels) = self.contract(
                        (Source::Buffer(mb.0), &mb.1),
                        (Source::Buffer(mc.0), &mc.1),
                        PLAIN,
                        None,
                        None,
                    );
                    renew.push(step);
                    let edges: Vec<Label> =
                        labels.iter().copied().filter(|&l| l >= self.graph.modes()).collect();
                    // S from the children's S, or from M itself: whichever is cheaper.
                    let cut = self.size(&edges) as f64;
                    let from_block = self.size(&labels) as f64 * cut;
                    let joined = self.size(&self.shared_edges(b, c)) as f64;
                    let square = if from_block < (cut * joined).powi(2) {
                        self.squared((dst, &labels), &edges, &mut renew)
                    } else {
                        let (sb, sc) = (self.square[b].clone(), self.square[c].clone());
                        let (step, dst, labels) = self.contract(
                            (Source::Buffer(sb.0), &sb.1),
                            (Source::Buffer(sc.0), &sc.1),
                            PLAIN,
                            None,
                            None,
                        );
                        renew.push(step);
                        (dst, labels)
                    };
                    ((dst, labels), square)
                }
            };
            self.block.push(block);
            self.square.push(square);
            self.renew.push(renew);
        }
        Some(())
    }

    /// A block contracted with itself over its modes, its first copy conjugated.
    fn squared(
        &mut self,
        (block, labels): (Buffer, &[Label]),
        edges: &[Label],
        renew: &mut Vec<Step>,
    ) -> (Buffer, Vec<Label>) {
        let twins: Vec<Label> =
            labels.iter().map(|&l| if edges.contains(&l) { self.twin(l) } else { l }).collect();
        let (source, twin) = (Source::Buffer(block), Source::Buffer(block));
        let (step, dst, out) =
            self.contract((source, labels), (twin, &twins), (true, false), None, None);
        renew.push(step);
        (dst, out)
    }

    /// The steps that visit every vertex below a node, given its T and H (none at the root); none where it was ended.
    fn descend(
        &mut self,
        node: usize,
        t: (Source, &[Label]),
        h: Option<(Buffer, &[Label])>,
        kind: Walk,
        steps: &mut Vec<Step>,
    ) -> Option<()> {
        if (self.stopped)() {
            return None;
        }
        match self.tree.nodes[node] {
            Node::Leaf(v) => steps.push(Step::Visit(v)),
            Node::Pair(b, c) => {
                for (child, other) in [(b, c), (c, b)] {
                    let below = match self.tree.nodes[child] {
                        Node::Leaf(v) => Some(v),
                        Node::Pair(..) => None,
                    };
                    let m = self.block[other].clone();
                    let want = below.map(|_| self.block[child].1.clone());
                    let dst = below.map(|v| self.leaves[v].rhs);
                    let m = (Source::Buffer(m.0), &m.1[..]);
                    let (step, t_buffer, t_labels) =
                        self.contract(t, m, (false, true), want.as_deref(), dst);
                    steps.push(step);
                    let (h_buffer, h_labels) = self.doubled(other, h, below, steps);
                    self.descend(
                        child,
                        (Source::Buffer(t_buffer), &t_labels),
                        Some((h_buffer, &h_labels)),
                        kind,
                        steps,
                    )?;
                }
            }
        }
        if kind == Walk::Changing && node + 1 < self.tree.nodes.len() {
            steps.push(Step::Renew(node));
        }
        Some(())
    }

    /// H of a child: `H[A] * S[other]`, which is `S[other]` itself below the root.
    fn doubled(
        &mut self,
        other: usize,
        h: Option<(Buffer, &[Label])>,
        below: Option<usize>,
        steps: &mut Vec<Step>,
    ) -> (Buffer, Vec<Label>) {
        let s = self.square[other].clone();
        let want: Option<Vec<Label>> = below.map(|v| {
            let edges = self.labels.edges_at(self.graph, v);
            let twins: Vec<Label> = edges.iter().map(|&l| self.twin(l)).collect();
            edges.into_iter().chain(twins).collect()
        });
        let dst = below.map(|v| self.leaves[v].gram);
        match (h, dst) {
            (Some((buffer, labels)), _) => {
                let (step, dst, labels) = self.contract(
                    (Source::Buffer(buffer), labels),
                    (Source::Buffer(s.0), &s.1),
                    PLAIN,
                    want.as_deref(),
                    dst,
                );
                steps.push(step);
                (dst, labels)
            }
            (None, None) => s,
            (None, Some(dst)) => {
                let want = want.unwrap_or_default();
                let plan = reorder(&s.1, &want, &self.labels.lengths);
                steps.push(Step::Reorder { src: s.0, dst, plan });
                (dst, want)
            }
        }
    }
}

impl Default for Leaf {
    fn default() -> Self {
        Leaf { core: 0, rhs: 0, gram: 0, width: 1, dim: 1 }
    }
}
