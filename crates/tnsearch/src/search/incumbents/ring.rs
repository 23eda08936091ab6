//! Rings: ranks from the cuts of all arcs, and orders in which they are small.
//!
//! An arc of a ring is cut off by two edges e and f, so its unfolding has rank `r_e r_f` at most: to lose no more than
//! eps there, `r_e r_f >= rank_eps(arc)`. The ranks with the fewest parameters that satisfy this for all arcs are the
//! least that any ring in that order needs; a fit shows whether they are enough.

use super::cuts::Cuts;
use super::mutual::steps;
use super::{Aim, Candidate};
use crate::graph::{Structure, Template};
use std::sync::Arc;

/// Orders that one climb looks at, at most.
const LOOKS: usize = 1500;
/// What all arcs together lose, in units of what the worst of them does: about.
const ARCS: f64 = 2.0;

/// A closed way through all vertices of a template, each of which carries a mode.
pub(super) struct RingIn {
    template: Arc<Template>,
    /// The vertices along it.
    vertices: Vec<usize>,
}

impl RingIn {
    /// The ring in a template that is one, or has all edges; none in others, and none of fewer than 3 vertices.
    pub fn in_template(template: &Arc<Template>) -> Option<Self> {
        let n = template.vertices();
        let all = template.order() == n && n >= 3;
        let degree = |v: usize| template.incident(v).count();
        if all && template.edges().len() == n * (n - 1) / 2 {
            return Some(RingIn { template: template.clone(), vertices: (0..n).collect() });
        }
        if !all || (0..n).any(|v| degree(v) != 2) {
            return None;
        }
        let mut vertices = vec![0];
        while vertices.len() < n {
            let last = vertices[vertices.len() - 1];
            let near = template.incident(last).map(|e| template.edges()[e]);
            let near = near.map(|(a, b)| if a == last { b } else { a });
            vertices.push(near.into_iter().find(|w| !vertices.contains(w))?);
        }
        Some(RingIn { template: template.clone(), vertices })
    }

    /// The best structures that swaps, moves and reversals lead to from an order of the modes.
    pub fn climb(
        &self,
        cuts: &Cuts<'_>,
        dims: &[usize],
        start: &[usize],
        aim: Aim,
        cap: usize,
    ) -> Vec<Candidate> {
        let mut order = start.to_vec();
        let solve = |order: &[usize], aim: Aim| {
            let arcs = Arcs::new(cuts, dims, order, cap)?;
            arcs.ranks(aim)
        };
        let Some((_, mut value)) = solve(&order, aim) else { return Vec::new() };
        let (mut looks, mut changed) = (0, true);
        while changed {
            changed = false;
            for step in steps(order.len()) {
                if looks >= LOOKS || cuts.stopped() {
                    break;
                }
                looks += 1;
                let trial = step.apply(&order);
                if let Some((_, now)) = solve(&trial, aim).filter(|s| s.1 < value * (1.0 - 1e-9)) {
                    (order, value, changed) = (trial, now, true);
                }
            }
        }
        // The least ranks are seldom enough: those that lose less at every arc too.
        let mut found = Vec::new();
        for aim in aim.safer() {
            if let Some((along, value)) = solve(&order, aim)
                && let Some(structure) = self.structure(&order, &along)
            {
                found.push(Candidate { value, sure: false, order: order.clone(), structure });
            }
        }
        found
    }

    /// The structure with that order of modes and these ranks along the ring, the closing one last.
    fn structure(&self, order: &[usize], along: &[usize]) -> Option<Structure> {
        let n = order.len();
        let mut permutation = vec![0; n];
        order.iter().zip(&self.vertices).for_each(|(&mode, &v)| permutation[mode] = v);
        let mut ranks = vec![1; self.template.edges().len()];
        for (k, &rank) in along.iter().enumerate() {
            let (u, v) = (self.vertices[k], self.vertices[(k + 1) % n]);
            let edge = self.template.edges().binary_search(&(u.min(v), u.max(v))).ok()?;
            ranks[edge] = rank;
        }
        Structure::new(self.template.clone(), permutation, ranks).ok()
    }
}

/// The arcs of a ring with its modes in some order.
struct Arcs {
    /// What the arc between edges i and j > i loses at each rank, where edge k joins places k and k + 1.
    curves: Vec<Vec<Arc<crate::decompose::water::Curve>>>,
    sizes: Vec<f64>,
    cap: usize,
}

impl Arcs {
    fn new(cuts: &Cuts<'_>, dims: &[usize], order: &[usize], cap: usize) -> Option<Self> {
        let n = order.len();
        let mut curves = Vec::with_capacity(n);
        for i in 0..n {
            let mut row = Vec::with_capacity(n - i);
            let mut set = 0;
            for &mode in &order[i + 1..] {
                set |= 1 << mode;
                row.push(cuts.curve(set)?);
            }
            curves.push(row);
        }
        Some(Arcs { curves, sizes: order.iter().map(|&m| dims[m] as f64).collect(), cap })
    }

    fn params(&self, ranks: &[usize]) -> f64 {
        let n = ranks.len();
        (0..n).map(|k| self.sizes[k] * (ranks[(k + n - 1) % n] * ranks[k]) as f64).sum()
    }

    /// Ranks for an aim, and their value.
    fn ranks(&self, aim: Aim) -> Option<(Vec<usize>, f64)> {
        let valued = |ranks: Vec<usize>, value: f64| Some((ranks, value));
        match aim {
            Aim::Error(eps) => {
                let ranks = self.least(eps)?;
                let params = self.params(&ranks);
                valued(ranks, params)
            }
            Aim::Params(params) => {
                // The smallest loss whose ranks are within the budget.
                let (mut low, mut high) = (1e-12f64.ln(), 0.0);
                let mut best = self.least(1.0).filter(|r| self.params(r) <= params)?;
                for _ in 0..20 {
                    let middle = (low + high) / 2.0;
                    match self.least(middle.exp()).filter(|r| self.params(r) <= params) {
                        Some(ranks) => (best, high) = (ranks, middle),
                        None => low = middle,
                    }
                }
                valued(best, high.exp())
            }
            Aim::Price(price) => {
                let at = |k: i32| {
                    let eps = 10f64.powf(-f64::from(k) / 4.0);
                    let ranks = self.least(eps)?;
                    let value = self.params(&ranks) + price * ARCS * eps;
                    Some((ranks, value))
                };
                let found = (0..40).map_while(at);
                found.min_by(|a, b| a.1.total_cmp(&b.1))
            }
        }
    }

    /// Few parameters with no arc that loses more than `eps`; none where the largest ranks do not do that.
    fn least(&self, eps: f64) -> Option<Vec<usize>> {
        let n = self.sizes.len();
        let mut need = vec![vec![1usize; n]; n];
        for (i, row) in self.curves.iter().enumerate() {
            for (k, curve) in row.iter().enumerate() {
                let rank = curve.rank_within(eps);
                need[i][i + 1 + k] = rank;
                need[i + 1 + k][i] = rank;
            }
        }
        let most = need.iter().flatten().copied().max().unwrap_or(1);
        if most > self.cap.saturating_mul(self.cap) {
            return None;
        }
        let root = (most as f64).sqrt().ceil() as usize;
        let mut best = self.settled(&need, vec![root.min(self.cap); n], None)?;
        let mut params = self.params(&best);
        let mut changed = true;
        while changed {
            changed = false;
            for edge in 0..n {
                for other in
                    [best[edge] + 1, best[edge] + 2, best[edge].max(2) - 1, best[edge].max(3) - 2]
                {
                    let mut trial = best.clone();
                    trial[edge] = other.min(self.cap);
                    let Some(ranks) = self.settled(&need, trial, Some(edge)) else { continue };
                    let now = self.params(&ranks);
                    if now < params {
                        (best, params, changed) = (ranks, now, true);
                    }
                }
            }
        }
        Some(best)
    }

    /// The ranks raised where an arc needs it, then each lowered as far as the others allow; one of them is fixed.
    fn settled(
        &self,
        need: &[Vec<usize>],
        mut ranks: Vec<usize>,
        fixed: Option<usize>,
    ) -> Option<Vec<usize>> {
        let n = ranks.len();
        let least = |ranks: &[usize], e: usize| {
            (0..n).filter(|&f| f != e).map(|f| need[e][f].div_ceil(ranks[f])).max().unwrap_or(1)
        };
        for e in (0..n).filter(|&e| Some(e) != fixed) {
            ranks[e] = ranks[e].max(least(&ranks, e));
        }
        for e in (0..n).filter(|&e| Some(e) != fixed) {
            ranks[e] = least(&ranks, e);
        }
        let kept = (0..n).all(|e| ranks[e] <= self.cap && ranks[e] >= least(&ranks, e));
        kept.then_some(ranks)
    }
}
