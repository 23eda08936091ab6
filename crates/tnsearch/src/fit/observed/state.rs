//! The cores of a start over observed entries, and the tables that follow from them.

use super::halt::{Halt, Pace};
use super::join::lay_out;
use super::plan::{Leaf, Plan};
use crate::network::tree::Node;
use crate::problem::Stop;
use crate::rng::Rng;
use crate::tensor::{AxisPlan, Scalar, Tensor, power, sum_of_squares};
use rayon::prelude::*;

/// Entries predicted as one part.
const STRIPE: usize = 4096;

/// Cores and tables of one start.
pub(super) struct State<'p, T: Scalar> {
    pub plan: &'p Plan<'p, T>,
    /// By node of the tree: cores as `[mode, edges]` at the leaves, products above.
    blocks: Vec<Vec<T>>,
    /// By vertex: the node of its leaf.
    node: Vec<usize>,
    /// Room for environments, by depth.
    spare: Vec<Vec<T>>,
    /// The network's tensor is `scale` times the contraction of the cores.
    pub scale: f64,
    /// Whether work is spread over the threads of the current pool.
    pub spread: bool,
    /// What ends it.
    halt: Halt,
}

/// A vertex whose environment is ready.
pub(super) struct Visit<'v, T> {
    pub vertex: usize,
    pub leaf: &'v Leaf,
    /// `[mode, edges]`.
    pub core: &'v mut [T],
    /// The environment: rows as the leaf's entries say.
    pub rows: &'v [T],
    pub scale: &'v mut f64,
    /// What ends the work at it.
    pub halt: &'v Halt,
}

/// The errors of cores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Errors {
    /// On the entries that are fitted, relative to these.
    pub fitted: f64,
    /// On the entries held out, relative to these; else the same.
    pub measured: f64,
}

impl Errors {
    /// Those of cores that nothing is known of.
    pub const UNKNOWN: Errors = Errors { fitted: f64::NAN, measured: f64::NAN };
}

impl<'p, T: Scalar> State<'p, T> {
    /// All cores zero.
    pub fn new(plan: &'p Plan<'p, T>, spread: bool) -> Self {
        let mut node = vec![0; plan.leaves.len()];
        let mut blocks: Vec<Vec<T>> = Vec::with_capacity(plan.nodes.len());
        for (k, kind) in plan.nodes.iter().enumerate() {
            blocks.push(match *kind {
                Node::Leaf(v) => {
                    node[v] = k;
                    vec![T::ZERO; plan.leaves[v].width * plan.leaves[v].dim]
                }
                Node::Pair(..) => Vec::new(),
            });
        }
        let (spare, halt) = (Vec::new(), Halt::default());
        State { plan, blocks, node, spare, scale: 1.0, spread, halt }
    }

    /// Ends what it computes when the stop is set; goes on to the end where none is given.
    pub fn obey(&mut self, stop: Option<&Stop>) {
        self.halt = Halt::new(stop);
    }

    /// What ends it.
    pub fn halt(&self) -> &Halt {
        &self.halt
    }

    /// Whether a stop ended what was computed: blocks and errors are of no use then, the cores are what they were made.
    pub fn halted(&self) -> bool {
        self.halt.seen()
    }

    /// The core of a vertex as `[mode, edges]`.
    pub fn core(&self, vertex: usize) -> &[T] {
        &self.blocks[self.node[vertex]]
    }

    /// The same, to be changed.
    pub fn core_mut(&mut self, vertex: usize) -> &mut [T] {
        &mut self.blocks[self.node[vertex]]
    }

    /// Independent normal entries of standard deviation `sigma`.
    pub fn randomise(&mut self, rng: &mut Rng, sigma: f64) {
        self.scale = 1.0;
        for v in 0..self.node.len() {
            self.core_mut(v).iter_mut().for_each(|g| *g = T::normal(rng).scale(sigma));
        }
    }

    /// Takes cores shaped as [`crate::graph::ModeGraph::core_dims`].
    pub fn set_cores(&mut self, cores: &[&Tensor<T>]) {
        self.scale = 1.0;
        for (v, core) in cores.iter().enumerate() {
            let plan = self.moved(v, core.dims(), true);
            plan.apply(core.data(), self.core_mut(v));
        }
    }

    /// Takes the cores of a network divided by a power of two.
    pub fn set_cores_of(&mut self, cores: &[&Tensor<T>], exponent: i64) {
        match exponent {
            0 => self.set_cores(cores),
            _ => self.set_cores(&power::divided(cores, exponent).iter().collect::<Vec<_>>()),
        }
    }

    /// The cores, shaped as [`crate::graph::ModeGraph::core_dims`], the scale spread evenly over them.
    pub fn cores(&self) -> Vec<Tensor<T>> {
        let share = self.scale.abs().powf(1.0 / self.node.len() as f64);
        let cores = (0..self.node.len()).map(|v| {
            let dims = self.plan.graph.core_dims(v, self.plan.dims);
            let mut from = dims.clone();
            if v < self.plan.graph.modes() {
                from.rotate_right(1);
            }
            let mut data = vec![T::ZERO; self.core(v).len()];
            self.moved(v, &from, false).apply(self.core(v), &mut data);
            data.iter_mut().for_each(|g| *g = g.scale(share));
            Tensor::new(dims, data).unwrap_or_else(|e| unreachable!("{e}"))
        });
        cores.collect()
    }

    /// Moves a core's mode from the last axis to the first, or back.
    fn moved(&self, vertex: usize, dims: &[usize], to_front: bool) -> AxisPlan {
        let mut axes: Vec<usize> = (0..dims.len()).collect();
        match (vertex < self.plan.graph.modes(), to_front) {
            (false, _) => {}
            (true, true) => axes.rotate_right(1),
            (true, false) => axes.rotate_left(1),
        }
        AxisPlan::new(dims, &axes)
    }

    /// Multiplies all cores alike, so that the network's tensor is multiplied by a positive number.
    pub fn multiply_cores(&mut self, factor: f64) {
        let share = factor.powf(1.0 / self.node.len() as f64);
        for v in 0..self.node.len() {
            self.core_mut(v).iter_mut().for_each(|g| *g = g.scale(share));
        }
    }

    /// Scales all cores alike so that the network is as large as X on the entries fitted.
    pub fn rescale_to_target(&mut self) {
        self.refresh();
        let z = self.predicted();
        let factor = (self.plan.norm_squared / sum_of_squares(&z[..self.plan.fitted])).sqrt();
        if !self.halted() && factor.is_finite() && factor > 0.0 {
            self.multiply_cores(factor);
        }
    }

    /// All cores, one after the other.
    pub fn flat(&self) -> Vec<T> {
        (0..self.node.len()).flat_map(|v| self.core(v).iter().copied()).collect()
    }

    /// Sets the cores to `to + factor * (to - from)`, each one after the other.
    pub fn set_between(&mut self, from: &[T], to: &[T], factor: f64) {
        let mut pairs = from.iter().zip(to);
        for v in 0..self.node.len() {
            for (g, (from, to)) in self.core_mut(v).iter_mut().zip(&mut pairs) {
                *g = *to + (*to - *from).scale(factor);
            }
        }
    }

    /// Adds a step to all cores.
    pub fn add(&mut self, step: &[T]) {
        let mut step = step.iter();
        for v in 0..self.node.len() {
            self.core_mut(v).iter_mut().zip(&mut step).for_each(|(g, s)| *g += *s);
        }
    }

    /// Computes every block from the cores.
    pub fn refresh(&mut self) {
        (0..self.blocks.len()).for_each(|node| self.renew(node));
    }

    fn renew(&mut self, node: usize) {
        let plan = self.plan;
        if let (Some(join), &Node::Pair(b, c)) = (&plan.up[node], &plan.nodes[node]) {
            let mut out = std::mem::take(&mut self.blocks[node]);
            join.run(&self.blocks[b], &self.blocks[c], &mut out, (self.spread, &self.halt));
            self.blocks[node] = out;
        }
    }

    /// Walks over all vertices until `visit` says no, or a stop is seen; with `changing`, blocks follow the cores that visits change. The
    /// blocks must be fresh, and are after a whole walk.
    pub fn walk(&mut self, changing: bool, visit: &mut dyn FnMut(Visit<'_, T>) -> bool) -> bool {
        let root = self.plan.nodes.len() - 1;
        let Node::Pair(b, c) = self.plan.nodes[root] else { unreachable!("two vertices or more") };
        for (child, other) in [(b, c), (c, b)] {
            let rows = std::mem::take(&mut self.blocks[other]);
            let go_on = self.descend(child, &rows, 0, changing, visit);
            self.blocks[other] = rows;
            if !go_on {
                return false;
            }
        }
        true
    }

    fn descend(
        &mut self,
        node: usize,
        rows: &[T],
        depth: usize,
        changing: bool,
        visit: &mut dyn FnMut(Visit<'_, T>) -> bool,
    ) -> bool {
        let plan = self.plan;
        match plan.nodes[node] {
            // What was halted has no environments to be visited with.
            _ if self.halted() => false,
            Node::Leaf(vertex) => {
                let mut core = std::mem::take(&mut self.blocks[node]);
                let (leaf, scale, halt) = (&plan.leaves[vertex], &mut self.scale, &self.halt);
                let go_on = visit(Visit { vertex, leaf, core: &mut core, rows, scale, halt });
                self.blocks[node] = core;
                go_on
            }
            Node::Pair(b, c) => {
                if self.spare.len() <= depth {
                    self.spare.push(Vec::new());
                }
                for (child, other) in [(b, c), (c, b)] {
                    let Some(join) = &plan.down[child] else { unreachable!("below a child") };
                    let mut below = std::mem::take(&mut self.spare[depth]);
                    join.run(rows, &self.blocks[other], &mut below, (self.spread, &self.halt));
                    let go_on = self.descend(child, &below, depth + 1, changing, visit);
                    self.spare[depth] = below;
                    if !go_on {
                        return false;
                    }
                }
                if changing {
                    self.renew(node);
                }
                true
            }
        }
    }

    /// The network's tensor at every entry, those fitted and those held out. The blocks must be fresh. Of no use where it was
    /// halted.
    pub fn predicted(&self) -> Vec<T> {
        let plan = self.plan;
        let Some(&Node::Pair(b, c)) = plan.nodes.last() else { unreachable!("two vertices") };
        let width = plan.half_width;
        let mut right = vec![T::ZERO; self.blocks[c].len()];
        for (to, row) in right.chunks_exact_mut(width).zip(self.blocks[c].chunks_exact(width)) {
            lay_out(row, plan.half_order.as_deref(), to);
        }
        let (left, scale) = (&self.blocks[b], self.scale);
        let [rows_b, rows_c] = &plan.halves;
        let mut z = vec![T::ZERO; plan.x.len()];
        let stripe = |pace: &mut Pace<'_>, (stripe, z): (usize, &mut [T])| {
            if pace.halted((z.len() * width) as f64) {
                return;
            }
            for (k, z) in z.iter_mut().enumerate() {
                let k = stripe * STRIPE + k;
                let (p, q) = (rows_b.of_entry[k] as usize, rows_c.of_entry[k] as usize);
                let a = &left[p * width..(p + 1) * width];
                let b = &right[q * width..(q + 1) * width];
                *z = a.iter().zip(b).map(|(a, b)| *a * *b).sum::<T>().scale(scale);
            }
        };
        match self.spread {
            true => {
                let stripes = z.par_chunks_mut(STRIPE).enumerate();
                stripes.for_each_init(|| self.halt.pace(), stripe);
            }
            false => {
                let mut pace = self.halt.pace();
                z.chunks_mut(STRIPE).enumerate().for_each(|work| stripe(&mut pace, work));
            }
        }
        z
    }

    /// The errors of the cores, no numbers where it was halted. The blocks must be fresh.
    pub fn errors(&self) -> Errors {
        let plan = self.plan;
        let mut z = self.predicted();
        if self.halted() {
            return Errors::UNKNOWN;
        }
        z.iter_mut().zip(&plan.x).for_each(|(z, x)| *z = *x - *z);
        let fitted = sum_of_squares(&z[..plan.fitted]) / plan.norm_squared;
        let measured = match plan.holds_out() {
            true => sum_of_squares(&z[plan.fitted..]) / plan.held_norm_squared,
            false => fitted,
        };
        Errors { fitted, measured }
    }
}
