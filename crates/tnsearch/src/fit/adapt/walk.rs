//! A walk over ranks, edges and places of modes from one network: each step changes one thing, is improved by few
//! sweeps and by more the better it looks, and is taken where it pays.

use super::net::Net;
use super::price::{FALL, Goal};
use super::sweep::{Pairs, Terms};
use crate::fit::als::als_sweep;
use crate::fit::plan::{Plan, Walk as Way};
use crate::fit::solve::Solver;
use crate::fit::workspace::Workspace;
use crate::linalg::narrowed;
use crate::network::contraction::Label;
use crate::network::parts::Part;
use crate::problem::{Stop, Target};
use crate::rng::Rng;
use crate::tensor::{Scalar, Tensor};
use rand::RngExt as _;

/// The standard deviation of new entries of a core, in units of the root mean square of those it had.
const FILL: f64 = 0.1;

/// After so many sweeps a step may still be so many times as dear as where it began.
const RACE: [(usize, f64); 5] = [(2, 1.15), (4, 1.05), (6, 1.02), (9, 1.005), (14, 1.001)];

/// Sweeps of a step at most.
const MOST_SWEEPS: usize = 24;

/// How much dearer error gets from sweep to sweep as long as what was asked for is not met.
const RAISE: f64 = 1.5;

/// Of a hundred steps so many are sweeps over all pairs; the others change one rank or swap two modes.
pub(super) const SELDOM: usize = 3;

/// The same where ranks are large, and a step by one is small.
pub(super) const OFTEN: usize = 25;

/// How much the largest rank grows at a time where all grow together.
const GROWTH: f64 = 1.15;

/// Ordinary sweeps in between.
const BETWEEN: usize = 2;

/// How dear error is while ranks grow, in units of its price: what is too much is taken back.
const DEAR: f64 = 3.0;

/// Sweeps over pairs that lower ranks, how many ordinary ones may follow each, and how much dearer error is after one that
/// lost too much.
const TRIMS: usize = 3;
const TRIM_SWEEPS: usize = 8;
const DEARER: f64 = 1.5;

/// How dear error is in the first of them, in units of what it costs along the front: one edge alone loses more for a rank.
const CHEAP: f64 = 0.4;

/// A network with its error.
#[derive(Debug, Clone)]
pub(super) struct State<T> {
    pub net: Net<T>,
    pub error: f64,
}

/// What changes in a step.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Step {
    Swap(usize, usize),
    Rank(usize, usize, usize),
    Sweep(f64),
}

pub(super) struct Walk<'r, T: Scalar> {
    pub target: &'r Target,
    pub x: &'r Tensor<T>,
    pub pairs: Pairs<'r, T>,
    /// Vertices that may be joined, `u < v`.
    pub joins: Vec<(usize, usize)>,
    pub goal: Goal,
    pub max_rank: usize,
    pub swaps: bool,
    /// Of a hundred steps so many are sweeps over all pairs.
    pub sweeping: usize,
    pub max_bytes: Option<u64>,
    /// Structures are not entered whose sweep takes more multiply-adds per entry.
    pub max_cost: f64,
    pub rng: Rng,
    pub stop: &'r Stop,
    pub sweeps: usize,
}

impl<T: Scalar> Walk<'_, T> {
    fn terms(&self, factor: f64, rank: Option<usize>) -> Terms {
        let mut price = self.goal.price();
        price.error *= factor;
        Terms { price, max_rank: self.max_rank, swaps: self.swaps, rank, enough: 0.0 }
    }

    /// A sweep over all pairs.
    pub fn pair_sweep(&mut self, state: &mut State<T>, factor: f64) {
        self.sweep_by(state, self.terms(factor, None));
    }

    fn sweep_by(&mut self, state: &mut State<T>, terms: Terms) {
        let joins = &self.joins;
        // Of very many pairs only those that are joined: the others come one at a time.
        let many = joins.len() > 2 * state.net.vertices();
        let there = state.net.lengths.clone();
        let edge = |u, v| there[state.net.edge(u, v)] > 1;
        let joined: Vec<(usize, usize)> =
            joins.iter().copied().filter(|&(u, v)| !many || edge(u, v)).collect();
        let may = |u: usize, v: usize| joined.contains(&(u.min(v), u.max(v)));
        if let Some(error) = self.pairs.sweep(&mut state.net, &may, &terms, self.stop) {
            state.error = error;
        }
        self.sweeps += 1;
    }

    /// Ordinary sweeps with the ranks as they are, while `go_on` wants more; whether they could be made.
    pub fn als(&mut self, state: &mut State<T>, mut go_on: impl FnMut(usize, f64) -> bool) -> bool {
        let graph = state.net.graph();
        let cores = state.net.to_cores();
        let data = (self.target, self.x);
        let until = Some(self.stop);
        let plan = Plan::new_until(data, &graph, Way::Changing, self.max_bytes, until);
        let Ok(plan) = plan else { return false };
        if plan.tree.cost > self.max_cost * self.x.len() as f64
            || (self.stop.remaining().is_some() && !self.stop.has_time_for(plan.sweep_flops()))
        {
            return false;
        }
        let mut ws = Workspace::new(&plan);
        ws.obey(Some(self.stop));
        ws.set_cores(&cores.iter().collect::<Vec<_>>());
        ws.refresh();
        let width = plan.leaves.iter().map(|l| l.width).max().unwrap_or(1);
        let dim = plan.leaves.iter().map(|l| l.dim).max().unwrap_or(1);
        let mut solver = Solver::new(width, dim);
        let mut sweep = 0;
        loop {
            state.error = als_sweep(&mut ws, &mut solver, || self.stop.is_set()).rse;
            sweep += 1;
            self.sweeps += 1;
            if self.stop.is_set() || !state.error.is_finite() || !go_on(sweep, state.error) {
                break;
            }
        }
        // Of a first sweep that a stop cut short nothing is known.
        if ws.halted() && sweep == 1 {
            return false;
        }
        state.net.set_cores(&ws.cores());
        state.error.is_finite()
    }

    /// Sweeps over pairs while the price of error rises, until what was asked for is met (for `MaxParams`: until the
    /// parameters are used).
    pub fn raise(&mut self, state: &mut State<T>, most: usize) {
        if !self.goal.moves() {
            return;
        }
        let mut best = state.clone();
        for _ in 0..most {
            let merit = |s: &State<T>| self.goal.merit(s.net.params(), s.error);
            if merit(state) < merit(&best) {
                best = state.clone();
            }
            let done = self.goal.is_enough(state.net.params(), state.error);
            if done || self.stop.is_set() {
                break;
            }
            self.goal.weight *= RAISE;
            self.pair_sweep(state, 1.0);
            let mut last = f64::INFINITY;
            self.als(state, |sweep, error| {
                let more = error < 0.99 * last;
                last = error;
                more && sweep < 4
            });
        }
        let merit = |s: &State<T>| self.goal.merit(s.net.params(), s.error);
        if merit(&best) < merit(state) {
            *state = best;
        }
    }

    /// Sweeps over pairs in which the largest rank grows little by little, until what was asked for is met or no rank grows:
    /// so none takes what others would need less of, and the order of the modes is found while sweeps are cheap.
    pub fn grow(&mut self, state: &mut State<T>) {
        let largest = |net: &Net<T>| net.graph().edges().iter().map(|e| e.2).max().unwrap_or(1);
        let mut cap = largest(&state.net).min(self.max_rank);
        let largest_params = self.largest_params(&state.net);
        let enough = self.goal.max_error().unwrap_or(0.0);
        let dear = if self.goal.moves() { 1.0 } else { DEAR };
        let mut best = state.clone();
        let mut idle = 0;
        while idle < 2 && !self.stop.is_set() {
            if self.goal.moves() && self.goal.is_enough(state.net.params(), state.error) {
                break;
            }
            // The last bit by as much as is missing, if parameters grow as the error falls.
            let missing = if enough > 0.0 { (state.error / enough).sqrt() } else { GROWTH };
            cap = ((cap as f64 * missing.min(GROWTH)).ceil() as usize).max(2).min(self.max_rank);
            self.goal.fair_at_goal(largest_params, state.error);
            let before = (state.net.params(), state.error);
            let terms = Terms { max_rank: cap, enough, ..self.terms(dear, None) };
            self.sweep_by(state, terms);
            self.als(state, |sweep, _| sweep < BETWEEN);
            let grown = state.net.params() > before.0 || state.error < 0.99 * before.1;
            idle = if grown || cap < self.max_rank { 0 } else { idle + 1 };
            let merit = |s: &State<T>| self.goal.merit(s.net.params(), s.error);
            if merit(state) < merit(&best) {
                best = state.clone();
            }
        }
        if !self.goal.moves() {
            self.pair_sweep(state, 1.0);
            self.als(state, |sweep, _| sweep < BETWEEN);
        }
        let merit = |s: &State<T>| self.goal.merit(s.net.params(), s.error);
        if merit(&best) < merit(state) {
            *state = best;
        }
        self.goal.fair(state.net.params() as f64, state.error);
    }

    /// Where the error is smaller than it need be, ranks are lowered together for as long as it is kept.
    pub fn trim(&mut self, state: &mut State<T>) {
        let Some(eps) = self.goal.max_error().filter(|&eps| state.error <= eps) else { return };
        let mut factor = CHEAP;
        for _ in 0..TRIMS {
            if self.stop.is_set() || state.error <= 0.0 {
                break;
            }
            let mut next = state.clone();
            self.goal.fair(next.net.params() as f64, next.error);
            let price = factor * (next.error / eps).powi(2) / FALL;
            let terms = Terms { enough: f64::INFINITY, ..self.terms(price, None) };
            self.sweep_by(&mut next, terms);
            let fewer = next.net.params() < state.net.params();
            let mut last = f64::INFINITY;
            let swept = self.als(&mut next, |sweep, error| {
                let falls = error < 0.995 * last;
                last = error;
                sweep < TRIM_SWEEPS && (!fewer || error > eps) && falls
            });
            match swept && next.error <= eps && (fewer || next.error < state.error) {
                true => *state = next,
                false => factor *= DEARER,
            }
        }
        self.goal.fair(state.net.params() as f64, state.error);
    }

    /// The parameters of a network where all ranks are as large as they may be.
    fn largest_params(&self, net: &Net<T>) -> f64 {
        let degree = |v: usize| self.joins.iter().filter(|&&(a, b)| a == v || b == v).count();
        let rank = self.max_rank as f64;
        let core = |v: usize| net.dim(v) as f64 * net.stretch_of(v) * rank.powi(degree(v) as i32);
        (0..net.vertices()).map(core).sum()
    }

    /// Makes steps from a state; the best state seen.
    pub fn walk(&mut self, from: State<T>, steps: usize) -> State<T> {
        let mut best = from.clone();
        let mut at = from;
        for _ in 0..steps {
            if self.stop.is_set() {
                break;
            }
            let Some(step) = self.propose(&at.net) else { continue };
            let Some(next) = self.make(&at, step) else { continue };
            let merit = |s: &State<T>| self.goal.merit(s.net.params(), s.error);
            let better = merit(&next) < merit(&best);
            let price = self.goal.price();
            let soft = |s: &State<T>| price.of(s.net.params() as f64, s.error);
            if better || soft(&next) < soft(&at) {
                at = next;
            }
            if better {
                best = at.clone();
            }
            self.goal.adjust(at.net.params(), at.error);
        }
        best
    }

    fn propose(&mut self, net: &Net<T>) -> Option<Step> {
        let kind = self.rng.random_range(0..100);
        let modes = net.mode.len();
        if kind < 25 && self.swaps && modes > 1 {
            let u = self.rng.random_range(0..modes);
            let v = (u + 1 + self.rng.random_range(0..modes - 1)) % modes;
            return Some(Step::Swap(u, v));
        }
        if kind >= 100 - self.sweeping {
            return Some(Step::Sweep(self.rng.random_range(0.5..1.5)));
        }
        if self.joins.is_empty() {
            return None;
        }
        let (u, v) = self.joins[self.rng.random_range(0..self.joins.len())];
        let now = net.lengths[net.edge(u, v)];
        let most = if now > 8 {
            3
        } else if now > 3 {
            2
        } else {
            1
        };
        let by = self.rng.random_range(1..=most);
        let rank = if kind < 61 || now == 1 { now + by } else { now - by };
        (rank != now && (1..=self.max_rank).contains(&rank)).then_some(Step::Rank(u, v, rank))
    }

    /// The state after a step, if it looked well to the end.
    fn make(&mut self, at: &State<T>, step: Step) -> Option<State<T>> {
        let mut next = at.clone();
        match step {
            Step::Swap(u, v) => {
                let joined = self.joins.contains(&(u.min(v), u.max(v)));
                swap(&mut next.net, u, v, &mut self.rng);
                if joined {
                    let terms = Terms { swaps: false, ..self.terms(1.0, None) };
                    self.pairs.one(&mut next.net, (u, v), &terms);
                }
            }
            Step::Rank(u, v, rank) => {
                let terms = Terms { swaps: false, ..self.terms(1.0, Some(rank)) };
                if self.pairs.one(&mut next.net, (u, v), &terms).is_none() {
                    resize(&mut next.net, u, v, rank, &mut self.rng)?;
                }
            }
            Step::Sweep(factor) => {
                self.pair_sweep(&mut next, factor);
                self.pair_sweep(&mut next, 1.0);
            }
        }
        let price = self.goal.price();
        let begun = price.of(at.net.params() as f64, at.error);
        let params = next.net.params() as f64;
        let mut last = f64::INFINITY;
        let ran = self.als(&mut next, |sweep, error| {
            let now = price.of(params, error);
            if sweep >= MOST_SWEEPS {
                return false;
            }
            let limit = RACE.iter().find(|(s, _)| *s == sweep);
            let stalled = now > last * 0.9998 && now < begun;
            last = now;
            limit.is_none_or(|(_, times)| now < times * begun) && !stalled
        });
        ran.then_some(next)
    }
}

/// Two modes swap their vertices; the cores stay, but for the lengths of the modes.
fn swap<T: Scalar>(net: &mut Net<T>, u: usize, v: usize, rng: &mut Rng) {
    let (m, n) = (net.mode[u], net.mode[v]);
    for (w, old, new) in [(u, m, n), (v, n, m)] {
        let rest: Vec<Label> = net.cores[w].labels.iter().copied().filter(|&l| l != old).collect();
        let order: Vec<Label> = [old].into_iter().chain(rest.iter().copied()).collect();
        let mut data = net.cores[w].ordered(&order, &net.lengths).data;
        let width = net.size(&rest);
        let rms = (data.iter().map(|x| x.abs_squared()).sum::<f64>() / data.len() as f64).sqrt();
        data.resize_with(width * net.lengths[new], || T::normal(rng).scale(rms));
        let labels = [new].into_iter().chain(rest).collect();
        net.cores[w] = Part::new(labels, data);
    }
    net.mode.swap(u, v);
}

/// Gives an edge another rank: small random entries where it grows, the SVD across the edge where it shrinks.
fn resize<T: Scalar>(
    net: &mut Net<T>,
    u: usize,
    v: usize,
    rank: usize,
    rng: &mut Rng,
) -> Option<()> {
    let edge = net.edge(u, v);
    let now = net.lengths[edge];
    // [edge, rest] of both cores.
    let mut parts = Vec::new();
    for w in [u, v] {
        let rest: Vec<Label> = net.cores[w].labels.iter().copied().filter(|&l| l != edge).collect();
        let mut order = rest.clone();
        if now > 1 {
            order.insert(0, edge);
        }
        let data = net.cores[w].ordered(&order, &net.lengths).data;
        parts.push((rest, data));
    }
    if rank < now {
        (parts[0].1, parts[1].1) = narrowed(&parts[0].1, &parts[1].1, now, rank)?;
    } else {
        for (_, data) in &mut parts {
            let rms =
                (data.iter().map(|x| x.abs_squared()).sum::<f64>() / data.len() as f64).sqrt();
            let len = data.len() / now * rank;
            data.resize_with(len, || T::normal(rng).scale(FILL * rms));
        }
    }
    net.resize(edge, rank);
    for (w, (rest, data)) in [u, v].into_iter().zip(parts) {
        let labels = (rank > 1).then_some(edge).into_iter().chain(rest).collect();
        net.cores[w] = Part::new(labels, data);
    }
    Some(())
}
