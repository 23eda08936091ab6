//! The buffers of one fit in progress, and the steps that work on them.

use super::als::look_every;
use super::plan::{Leaf, Plan, Source, Step};
use crate::graph::ModeGraph;
use crate::linalg::{Factor, matmul};
use crate::network::contraction::Scratch;
use crate::problem::Stop;
use crate::rng::Rng;
use crate::tensor::{AxisPlan, Scalar, Tensor, power, sum_of_squares};

/// The cores of a fit and everything a sweep writes to: allocated once, used for all sweeps.
pub(super) struct Workspace<'p, T: Scalar> {
    plan: &'p Plan<'p, T>,
    buffers: Vec<Vec<T>>,
    scratch: Scratch<T>,
    /// What a walk takes for X, where it is not X.
    instead_of_x: Option<Vec<T>>,
    /// The network's tensor is `scale` times the contraction of the cores.
    pub scale: f64,
}

/// A vertex whose environment is ready.
pub(super) struct Visit<'v, T> {
    pub vertex: usize,
    /// `[mode, edges]`, to be changed if the walk allows it.
    pub core: &'v mut [T],
    /// `t = <dZ/dG, X>`, like the core.
    pub rhs: &'v [T],
    /// `H = <dZ/dG, dZ/dG>`, width x width, row-major, for cores without the network's scale.
    pub gram: &'v [T],
    pub width: usize,
    pub scale: &'v mut f64,
}

impl<'p, T: Scalar> Workspace<'p, T> {
    /// Buffers for a plan, with all cores zero.
    pub fn new(plan: &'p Plan<'p, T>) -> Self {
        let buffers = plan.buffer_lens.iter().map(|&len| vec![T::ZERO; len]).collect();
        Workspace { plan, buffers, scratch: plan.scratch(), instead_of_x: None, scale: 1.0 }
    }

    pub fn plan(&self) -> &'p Plan<'p, T> {
        self.plan
    }

    /// Independent normal entries of standard deviation `sigma`.
    pub fn randomise(&mut self, rng: &mut Rng, sigma: f64) {
        self.scale = 1.0;
        for leaf in &self.plan.leaves {
            for entry in &mut self.buffers[leaf.core] {
                *entry = T::normal(rng).scale(sigma);
            }
        }
    }

    /// Takes cores shaped as [`ModeGraph::core_dims`].
    pub fn set_cores(&mut self, cores: &[&Tensor<T>]) {
        self.scale = 1.0;
        for (v, leaf) in self.plan.leaves.iter().enumerate() {
            let to = move_mode(self.plan.graph, v, cores[v].dims(), true);
            to.apply(cores[v].data(), &mut self.buffers[leaf.core]);
        }
    }

    /// The cores, shaped as [`ModeGraph::core_dims`], the scale spread evenly over them.
    pub fn cores(&self) -> Vec<Tensor<T>> {
        let share = self.scale.abs().powf(1.0 / self.plan.leaves.len() as f64);
        let cores = self.plan.leaves.iter().enumerate().map(|(v, leaf)| {
            let mut shape = self.plan.graph.core_dims(v, self.plan.dims);
            let to_shape = shape.clone();
            if v < self.plan.graph.modes() {
                shape.rotate_right(1);
            }
            let back = move_mode(self.plan.graph, v, &shape, false);
            let mut data = vec![T::ZERO; self.buffers[leaf.core].len()];
            back.apply(&self.buffers[leaf.core], &mut data);
            data.iter_mut().for_each(|x| *x = x.scale(share));
            Tensor::new(to_shape, data).unwrap_or_else(|e| unreachable!("{e}"))
        });
        cores.collect()
    }

    /// Takes the cores of a network divided by a power of two.
    pub fn set_cores_of(&mut self, cores: &[&Tensor<T>], exponent: i64) {
        match exponent {
            0 => self.set_cores(cores),
            _ => self.set_cores(&power::divided(cores, exponent).iter().collect::<Vec<_>>()),
        }
    }

    /// Multiplies the network's tensor by a positive number, by changing all cores alike.
    pub fn multiply_cores(&mut self, factor: f64) {
        if factor == 1.0 {
            return;
        }
        let share = factor.powf(1.0 / self.plan.leaves.len() as f64);
        for leaf in &self.plan.leaves {
            self.buffers[leaf.core].iter_mut().for_each(|x| *x = x.scale(share));
        }
    }

    /// Sets all cores to zero.
    pub fn set_zero(&mut self) {
        for leaf in &self.plan.leaves {
            self.buffers[leaf.core].fill(T::ZERO);
        }
    }

    /// The core of a vertex as `[mode, edges]`.
    pub fn core_mut(&mut self, vertex: usize) -> &mut [T] {
        &mut self.buffers[self.plan.leaves[vertex].core]
    }

    /// Writes all cores one after the other.
    pub fn copy_cores_to(&self, out: &mut [T]) {
        let mut rest = out;
        for leaf in &self.plan.leaves {
            let core = &self.buffers[leaf.core];
            let (head, tail) = rest.split_at_mut(core.len());
            head.copy_from_slice(core);
            rest = tail;
        }
    }

    /// All cores one after the other, and the scale.
    pub fn kept(&self) -> (Vec<T>, f64) {
        let mut cores = vec![T::ZERO; self.plan.core_lens().iter().sum()];
        self.copy_cores_to(&mut cores);
        (cores, self.scale)
    }

    /// Puts them back.
    pub fn put_back(&mut self, (cores, scale): &(Vec<T>, f64)) {
        self.set_cores_between(cores, cores, 0.0);
        self.scale = *scale;
    }

    /// Sets the cores to `to + factor * (to - from)`.
    pub fn set_cores_between(&mut self, from: &[T], to: &[T], factor: f64) {
        let mut pairs = from.iter().zip(to);
        for leaf in &self.plan.leaves {
            for (x, (from, to)) in self.buffers[leaf.core].iter_mut().zip(&mut pairs) {
                *x = *to + (*to - *from).scale(factor);
            }
        }
    }

    /// Adds `factor` times a step to all cores, which lie one after the other in it.
    pub fn add_to_cores(&mut self, step: &[T], factor: f64) {
        let mut step = step.iter();
        for leaf in &self.plan.leaves {
            for (x, s) in self.buffers[leaf.core].iter_mut().zip(&mut step) {
                *x += s.scale(factor);
            }
        }
    }

    /// Scales all cores alike so that the network's norm is that of X.
    pub fn rescale_to_target(&mut self) {
        self.refresh();
        let (mut norm_squared, mut ended) = (0.0, false);
        let stop = self.scratch.stop().cloned();
        let stopped = || stop.as_ref().is_some_and(Stop::is_set);
        self.walk(|Visit { vertex, core, gram, width, .. }| {
            if vertex == 0 {
                let every = look_every(width);
                for (k, g) in core.chunks_exact(width).enumerate() {
                    ended |= every.is_some_and(|every| k % every == 0) && stopped();
                    if ended {
                        return;
                    }
                    for (row, gi) in gram.chunks_exact(width).zip(g) {
                        let hg: T = row.iter().zip(g).map(|(h, g)| *h * *g).sum();
                        norm_squared += (gi.conj() * hg).re();
                    }
                }
            }
        });
        let factor = (self.plan.norm_squared / norm_squared).sqrt();
        if !ended && !self.halted() && factor.is_finite() && factor > 0.0 {
            self.multiply_cores(factor);
        }
    }

    /// M of a node of the tree.
    pub fn block(&self, node: usize) -> &[T] {
        &self.buffers[self.plan.block[node].0]
    }

    /// Ends what it computes when the stop is set; goes on to the end where none is given.
    pub fn obey(&mut self, stop: Option<&Stop>) {
        self.scratch.obey(stop);
    }

    /// Whether a stop ended what was computed: the blocks and environments are of no use, the cores are what they were made.
    pub fn halted(&self) -> bool {
        self.scratch.halted()
    }

    /// Computes every block from the cores.
    pub fn refresh(&mut self) {
        for node in 0..self.plan.renew.len() {
            self.renew(node);
        }
    }

    /// Computes what the error of the cores needs: every block, but not their squares. Nothing else may be asked for then.
    pub fn refresh_blocks(&mut self) {
        let plan = self.plan;
        for (steps, (block, _)) in plan.renew.iter().zip(&plan.block) {
            for step in steps {
                match step {
                    Step::Contract { dst, .. } | Step::Reorder { dst, .. } if dst != block => {}
                    step => self.step(step),
                }
            }
        }
    }

    fn renew(&mut self, node: usize) {
        let plan = self.plan;
        for step in &plan.renew[node] {
            self.step(step);
        }
    }

    /// Walks over all vertices, handing each to `visit` when its environment is ready.
    pub fn walk(&mut self, mut visit: impl FnMut(Visit<'_, T>)) {
        self.walk_while(|vertex| {
            visit(vertex);
            true
        });
    }

    /// The same until `visit` says no. The cores are what the visits made them, but the blocks are not fresh then.
    pub fn walk_while(&mut self, mut visit: impl FnMut(Visit<'_, T>) -> bool) {
        let plan = self.plan;
        for step in &plan.walk {
            match step {
                // What was halted has no environments to be visited with.
                _ if self.scratch.halted() => return,
                Step::Visit(vertex) => {
                    if !self.visit(*vertex, &mut visit) {
                        return;
                    }
                }
                Step::Renew(node) => self.renew(*node),
                step => self.step(step),
            }
        }
    }

    /// As [`Workspace::walk`] with another tensor in the place of X, of as many entries in the same order; gives it
    /// back.
    pub fn walk_with(&mut self, x: Vec<T>, visit: impl FnMut(Visit<'_, T>)) -> Vec<T> {
        assert_eq!(x.len(), self.plan.x.len(), "in the place of X");
        self.instead_of_x = Some(x);
        self.walk(visit);
        self.instead_of_x.take().unwrap_or_default()
    }

    fn visit(&mut self, vertex: usize, visit: &mut impl FnMut(Visit<'_, T>) -> bool) -> bool {
        let Leaf { core, rhs, gram, width, .. } = self.plan.leaves[vertex];
        let mut own = std::mem::take(&mut self.buffers[core]);
        let go_on = visit(Visit {
            vertex,
            core: &mut own,
            rhs: &self.buffers[rhs],
            gram: &self.buffers[gram],
            width,
            scale: &mut self.scale,
        });
        self.buffers[core] = own;
        go_on
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Contract { a, b, dst, plan } => {
                let mut out = std::mem::take(&mut self.buffers[*dst]);
                let read = |source: &Source| match *source {
                    Source::X => self.instead_of_x.as_deref().unwrap_or(&self.plan.x),
                    Source::Buffer(k) => &self.buffers[k][..],
                };
                plan.run(read(a), read(b), &mut out, &mut self.scratch);
                self.buffers[*dst] = out;
            }
            Step::Reorder { src, dst, plan } => {
                let mut out = std::mem::take(&mut self.buffers[*dst]);
                self.scratch.reorder(plan, &self.buffers[*src], &mut out);
                self.buffers[*dst] = out;
            }
            Step::Visit(_) | Step::Renew(_) => unreachable!("handled by the walk"),
        }
    }

    /// The explicit residual `||X - Z||^2`. The blocks must be fresh.
    pub fn residual(&self) -> f64 {
        let mut total = 0.0;
        self.stripes(|x, z| {
            z.iter_mut().zip(x).for_each(|(z, x)| *z = *x - z.scale(self.scale));
            total += sum_of_squares(z);
        });
        total
    }

    /// The RSE from the explicit residual, that of the full tensor where X was shrunk. The blocks must be fresh.
    pub fn rse(&self) -> f64 {
        self.plan.lost + self.residual() / self.plan.norm_squared
    }

    /// Writes a function of each entry of X and of the network's tensor, in the plan's order. The blocks must be
    /// fresh.
    pub fn each_entry(&self, out: &mut [T], mut entry: impl FnMut(T, T) -> T) {
        let mut out = out.iter_mut();
        self.stripes(|x, z| {
            for ((out, x), z) in (&mut out).zip(x).zip(z.iter()) {
                *out = entry(*x, z.scale(self.scale));
            }
        });
    }

    /// Hands out X and the contraction of the cores stripe by stripe, so that Z is never held whole.
    fn stripes(&self, mut take: impl FnMut(&[T], &mut [T])) {
        /// Entries of Z held at a time.
        const STRIPE: usize = 1 << 18;
        let (rows, columns, cut) = self.plan.root;
        let lay_out = |(buffer, order): &(usize, AxisPlan)| {
            let mut out = vec![T::ZERO; self.buffers[*buffer].len()];
            order.apply(&self.buffers[*buffer], &mut out);
            out
        };
        let [left, right] = [lay_out(&self.plan.halves[0]), lay_out(&self.plan.halves[1])];
        let height = (STRIPE / columns).clamp(1, rows);
        let mut z = vec![T::ZERO; height * columns];
        for (left, x) in left.chunks(height * cut).zip(self.plan.x.chunks(height * columns)) {
            let m = x.len() / columns;
            matmul(
                (m, columns, cut),
                &mut z,
                Factor::row_major(left, cut),
                Factor::row_major(&right, columns),
            );
            take(x, &mut z[..x.len()]);
        }
    }
}

/// Moves a core's mode from the last axis to the first, or back.
fn move_mode(graph: &ModeGraph, vertex: usize, dims: &[usize], to_front: bool) -> AxisPlan {
    let mut axes: Vec<usize> = (0..dims.len()).collect();
    match (vertex < graph.modes(), to_front) {
        (false, _) => {}
        (true, true) => axes.rotate_right(1),
        (true, false) => axes.rotate_left(1),
    }
    AxisPlan::new(dims, &axes)
}
