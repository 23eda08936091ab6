//! Pairs of vertices whose cores are solved as one block and split by the price of its rank; sweeps over all of them.

use super::net::{Merged, Net};
use super::pair::{DAMPING, Pair, Split};
use super::price::Price;
use crate::fit::solve::Solver;
use crate::network::contraction::{Label, Scratch};
use crate::network::parts::{Part, View, contract_all, cost_of_all};
use crate::network::tree::Node;
use crate::problem::Stop;
use crate::tensor::Scalar;

/// Blocks wider than this are not solved as one.
const MAX_WIDTH: usize = 900;

/// Multiply-adds per entry of X that the environment of a pair may take.
const MAX_COST: f64 = 10_000.0;

/// Multiply-adds of one turn of the two cores of a pair at most.
const MAX_TURN: f64 = 3e8;

/// The same, beyond which cores have one turn less: ordinary sweeps follow.
const LONG_TURN: f64 = 1e7;

/// Solvers of larger systems are made anew for each sweep over pairs.
const KEPT: usize = 256;

/// A swap of two modes is looked at where the spectrum puts its loss below this many times that without it.
const NEAR: f64 = 1.05;

/// What a pair may become.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub price: Price,
    pub max_rank: usize,
    /// Whether modes may swap their vertices.
    pub swaps: bool,
    /// The rank that the edge is to have whatever it costs.
    pub rank: Option<usize>,
    /// An error at which no rank grows any more.
    pub enough: f64,
}

/// Where the environment of a pair comes from: T and H of a node above both.
struct Above<'a, T> {
    node: usize,
    t: View<'a, T>,
    h: Option<&'a Part<T>>,
}

/// Solves pairs of one tensor; holds the scratch space.
pub(super) struct Pairs<'x, T: Scalar> {
    /// Its entries.
    x: &'x [T],
    norm_squared: f64,
    /// How many numbers may be held beside it.
    room: f64,
    scratch: Scratch<T>,
    solver: Solver<T>,
    solver_size: (usize, usize),
}

impl<'x, T: Scalar> Pairs<'x, T> {
    /// For a tensor, within so many numbers beside it; ends what it computes when the stop is set.
    pub fn new((x, norm_squared): (&'x [T], f64), room: f64, stop: &Stop) -> Self {
        let (mut scratch, solver) = (Scratch::default(), Solver::new(1, 1));
        scratch.obey(Some(stop));
        Pairs { x, norm_squared, room, scratch, solver, solver_size: (1, 1) }
    }

    /// One sweep over all pairs that `joins` allows; the error after it, where any pair was solved.
    pub fn sweep(
        &mut self,
        net: &mut Net<T>,
        joins: &dyn Fn(usize, usize) -> bool,
        terms: &Terms,
        stop: &Stop,
    ) -> Option<f64> {
        let mut merged = self.merged(net)?;
        let (modes, node) = (modes(net), merged.tree.nodes.len() - 1);
        let mut error = None;
        let above = Above { node, t: View { labels: &modes, data: self.x }, h: None };
        self.descend(net, &mut merged, &above, (joins, terms, stop), &mut error);
        self.release();
        error
    }

    /// Gives back what ordinary sweeps, which come next, have no use for.
    fn release(&mut self) {
        self.scratch.release();
        if self.solver_size.0.max(self.solver_size.1) > KEPT {
            (self.solver, self.solver_size) = (Solver::new(1, 1), (1, 1));
        }
    }

    /// The merged blocks of a network; none where they take too much memory.
    fn merged(&mut self, net: &Net<T>) -> Option<Merged<T>> {
        let (tree, entries) = net.tree();
        (entries <= self.room).then(|| Merged::new(net, tree, &mut self.scratch))
    }

    /// One pair alone; the error after it, where it could be solved as one.
    pub fn one(&mut self, net: &mut Net<T>, pair: (usize, usize), terms: &Terms) -> Option<f64> {
        let error = self.alone(net, pair, terms);
        self.release();
        error
    }

    fn alone(&mut self, net: &mut Net<T>, (u, v): (usize, usize), terms: &Terms) -> Option<f64> {
        let mut merged = self.merged(net)?;
        let (modes, node) = (modes(net), merged.tree.nodes.len() - 1);
        let x = View { labels: &modes, data: self.x };
        // From the root: the nodes off both ways are all there is.
        let mut top = node;
        loop {
            let Node::Pair(b, c) = merged.tree.nodes[top] else { return None };
            let inside = |k: usize| {
                let leaves = merged.tree.leaves(k);
                leaves.contains(&u) && leaves.contains(&v)
            };
            match (inside(b), inside(c)) {
                (true, _) => top = b,
                (_, true) => top = c,
                _ => break,
            }
        }
        let (mut t, mut h): (Option<Part<T>>, Option<Part<T>>) = (None, None);
        let mut at = node;
        while at != top {
            let Node::Pair(b, c) = merged.tree.nodes[at] else { return None };
            let (next, other) = if merged.tree.leaves(b).contains(&u) { (b, c) } else { (c, b) };
            let from = t.as_ref().map_or(x, View::from);
            t = Some(net.contract(
                from,
                &merged.block[other],
                (false, true),
                None,
                &mut self.scratch,
            ));
            let square = &merged.square[other];
            h = Some(match &h {
                Some(h) => net.contract(h, square, (false, false), None, &mut self.scratch),
                None => square.clone(),
            });
            at = next;
        }
        let above = Above { node: top, t: t.as_ref().map_or(x, View::from), h: h.as_ref() };
        self.pair(net, &mut merged, &above, (u, v), terms)
    }

    fn descend(
        &mut self,
        net: &mut Net<T>,
        merged: &mut Merged<T>,
        above: &Above<'_, T>,
        rules: (&dyn Fn(usize, usize) -> bool, &Terms, &Stop),
        error: &mut Option<f64>,
    ) {
        let (joins, terms, stop) = rules;
        let Node::Pair(b, c) = merged.tree.nodes[above.node] else { return };
        let (left, right) = (merged.tree.leaves(b), merged.tree.leaves(c));
        for &u in &left {
            for &v in &right {
                if joins(u, v) && !stop.is_set() {
                    *error = self.pair(net, merged, above, (u, v), terms).or(*error);
                }
            }
        }
        for (child, other) in [(b, c), (c, b)] {
            let inner = merged.tree.leaves(child);
            let any = inner.iter().any(|&u| inner.iter().any(|&v| u < v && joins(u, v)));
            if !any || stop.is_set() {
                continue;
            }
            let t =
                net.contract(above.t, &merged.block[other], (false, true), None, &mut self.scratch);
            let square = &merged.square[other];
            let h = match above.h {
                Some(h) => net.contract(h, square, (false, false), None, &mut self.scratch),
                None => square.clone(),
            };
            let below = Above { node: child, t: View::from(&t), h: Some(&h) };
            self.descend(net, merged, &below, rules, error);
            merged.renew(child, net, &mut self.scratch);
        }
    }

    /// The least-squares problem of a pair, where it can be solved as one.
    fn problem(
        &mut self,
        net: &Net<T>,
        merged: &Merged<T>,
        above: &Above<'_, T>,
        (u, v): (usize, usize),
    ) -> Option<Pair<T>> {
        let edge = net.edge(u, v);
        let outer = |w: usize| -> Vec<Label> {
            net.edges_at(w).into_iter().filter(|&l| l != edge).collect()
        };
        let outer = (outer(u), outer(v));
        let width = net.size(&outer.0) as f64 * net.size(&outer.1) as f64;
        if width > MAX_WIDTH as f64 {
            return None;
        }
        let mut off = merged.off_the_way(u, above.node);
        off.extend(merged.off_the_way(v, above.node));
        let mut pair = Pair {
            u,
            v,
            outer,
            width: width as usize,
            gram: Vec::new(),
            rhs: Vec::new(),
            old: Vec::new(),
            old_error: 0.0,
        };
        let labels = pair.labels(net);
        let hanging = off.iter().map(|&k| (View::from(&merged.block[k]), true));
        let blocks: Vec<_> = [(above.t, false)].into_iter().chain(hanging).collect();
        let names: Vec<&[Label]> = blocks.iter().map(|b| b.0.labels).collect();
        let (flops, largest) = cost_of_all(&names, &net.lengths);
        if flops > MAX_COST * self.x.len() as f64 {
            return None;
        }
        let squares = above.h.into_iter().chain(off.iter().map(|&k| &merged.square[k]));
        let squares: Vec<_> = squares.map(|b| (View::from(b), false)).collect();
        let names: Vec<&[Label]> = squares.iter().map(|b| b.0.labels).collect();
        let (flops, doubled) = cost_of_all(&names, &net.lengths);
        if flops > MAX_COST * self.x.len() as f64 {
            return None;
        }
        // Beside the merged blocks: products on the way, and what `Pair::entries` counts.
        let own = pair.entries(net) + 2.0 * (largest + doubled);
        if self.room.is_finite() && net.entries_along(&merged.tree) + own > self.room {
            return None;
        }
        pair.rhs = contract_all(&blocks, &labels, &net.lengths, &mut self.scratch).data;
        let edges = pair.edges();
        let twins = edges.iter().map(|&l| net.twin(l));
        let doubled: Vec<Label> = edges.iter().copied().chain(twins).collect();
        pair.gram = contract_all(&squares, &doubled, &net.lengths, &mut self.scratch).data;
        let (a, b) = (&net.cores[u], &net.cores[v]);
        pair.old = net.contract(a, b, (false, false), Some(&labels), &mut self.scratch).data;
        pair.old_error = pair.error_of(&pair.old, self.norm_squared);
        // What a stop has ended is no problem to be solved.
        (!self.scratch.halted() && pair.old_error.is_finite()).then_some(pair)
    }

    /// Solves a pair and takes the best of its splits; the error after it. Where a stop ended it, nothing changes.
    fn pair(
        &mut self,
        net: &mut Net<T>,
        merged: &mut Merged<T>,
        above: &Above<'_, T>,
        (u, v): (usize, usize),
        terms: &Terms,
    ) -> Option<f64> {
        let pair = self.problem(net, merged, above, (u, v))?;
        self.room(pair.width, pair.rhs.len() / pair.width);
        let block = pair.solve(&mut self.solver);
        let white = pair.whiten(net, &block)?;
        let edge = net.edge(u, v);
        let now = net.lengths[edge];
        let most = if pair.old_error > terms.enough { terms.max_rank } else { now };
        let bounds = terms.rank.map_or((1, terms.max_rank.min(most)), |r| (r, r));
        let forced = terms.rank.is_some();
        let spectrum =
            |swapped| pair.split(net, &white, swapped, &terms.price, bounds, self.norm_squared);
        let mut ways = vec![spectrum(false)?];
        if terms.swaps && u.max(v) < net.mode.len() {
            ways.extend(spectrum(true).filter(|way| way.0 < NEAR * ways[0].0));
        }
        let old_params = net.core_params(u) + net.core_params(v);
        let old = terms.price.of(old_params, pair.old_error);
        let mut best: Option<(f64, Split<T>)> = None;
        let mut splits: Vec<(Split<T>, usize)> = Vec::new();
        if !forced {
            // The cores as they are, each in turn at its best.
            splits.push((
                Split {
                    swapped: false,
                    rank: now,
                    u: net.cores[u].clone(),
                    v: net.cores[v].clone(),
                    error: pair.old_error,
                    params: old_params,
                },
                1,
            ));
        }
        splits.extend(ways.iter().map(|(_, spectrum)| (pair.cores(net, &white, spectrum), 2)));
        // What turns of the cores take comes on top of the merged blocks and the pair.
        let left = match self.room.is_finite() {
            true => self.room - net.entries_along(&merged.tree) - pair.entries(net),
            false => f64::INFINITY,
        };
        for (split, rounds) in splits {
            let rounds = if pair.turn_entries(net, split.rank) <= left { rounds } else { 0 };
            let split = self.refine(net, &pair, split, rounds);
            let loss = terms.price.of(split.params, split.error);
            if split.error.is_finite() && best.as_ref().is_none_or(|b| loss < b.0) {
                best = Some((loss, split));
            }
        }
        net.resize(edge, now);
        if self.scratch.halted() {
            return None;
        }
        match best {
            Some((loss, split)) if loss < old || forced => {
                // Ranks do not grow beyond what there is room for.
                if !self.has_room(net, merged, edge, split.rank) {
                    return (!forced).then_some(pair.old_error);
                }
                let error = split.error;
                net.take((u, v), split);
                merged.renew_up(u, above.node, net, &mut self.scratch);
                merged.renew_up(v, above.node, net, &mut self.scratch);
                Some(error)
            }
            _ => Some(pair.old_error),
        }
    }

    /// Whether merged blocks fit where an edge has this rank.
    fn has_room(&self, net: &mut Net<T>, merged: &Merged<T>, edge: Label, rank: usize) -> bool {
        if self.room.is_infinite() {
            return true;
        }
        let now = net.lengths[edge];
        net.resize(edge, rank);
        let needed = net.entries_along(&merged.tree);
        net.resize(edge, now);
        needed <= self.room
    }

    fn room(&mut self, width: usize, columns: usize) {
        let (n, c) = self.solver_size;
        if width > n || columns > c {
            self.solver_size = (n.max(width), c.max(columns));
            self.solver = Solver::new(self.solver_size.0, self.solver_size.1);
        }
    }

    /// Improves the two cores of a split in turn, the rest held fixed; leaves the edge at the split's rank.
    fn refine(
        &mut self,
        net: &mut Net<T>,
        pair: &Pair<T>,
        mut split: Split<T>,
        rounds: usize,
    ) -> Split<T> {
        net.resize(net.edge(pair.u, pair.v), split.rank);
        // Each turn contracts H with a squared core: where that takes long, ordinary sweeps do it for less.
        let cost = (pair.width * pair.width) as f64 * (split.rank * split.rank) as f64;
        let rounds = match cost {
            _ if cost > MAX_TURN => 0,
            _ if cost > LONG_TURN => rounds.saturating_sub(1),
            _ => rounds,
        };
        let edges = pair.edges();
        let twins = edges.iter().map(|&l| net.twin(l));
        let labels = edges.iter().copied().chain(twins).collect();
        let gram = Part::new(labels, pair.gram.clone());
        let rhs = Part::new(pair.labels(net), pair.rhs.clone());
        for turn in 0..2 * rounds {
            let second = turn % 2 == 0;
            let (mine, other) = if second { (&split.v, &split.u) } else { (&split.u, &split.v) };
            let (mode, own): (Vec<Label>, Vec<Label>) =
                mine.labels.iter().partition(|&&l| l < net.vertices());
            let order: Vec<Label> = mode.iter().chain(&own).copied().collect();
            let doubled: Vec<Label> =
                own.iter().copied().chain(own.iter().map(|&l| net.twin(l))).collect();
            let square = net.squared(other, &mut self.scratch);
            let h = net.contract(&gram, &square, (false, false), Some(&doubled), &mut self.scratch);
            let t = net.contract(&rhs, other, (false, true), Some(&order), &mut self.scratch);
            let mut core = mine.ordered(&order, &net.lengths).data;
            let width = net.size(&own);
            self.room(width, core.len() / width);
            let damping = DAMPING.max(1e3 * T::KIND.epsilon());
            self.solver.solve(&h.data, &t.data, &mut core, width, damping);
            let block = Part::new(order, core);
            *(if second { &mut split.v } else { &mut split.u }) = block;
        }
        let plain = (false, false);
        let block = net.contract(&split.u, &split.v, plain, Some(&rhs.labels), &mut self.scratch);
        split.error = pair.error_of(&block.data, self.norm_squared);
        split
    }
}

/// The labels of the modes, in the order of the tensor.
fn modes<T: Scalar>(net: &Net<T>) -> Vec<Label> {
    (0..net.mode.len()).collect()
}
