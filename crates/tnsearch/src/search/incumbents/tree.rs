//! Trees inside a template: what a placement of the modes costs, from cut spectra alone, and placements that cost
//! little.

use super::cuts::Cuts;
use super::mutual::steps;
use super::{Aim, Candidate};
use crate::bound::ModeSet;
use crate::decompose::water::Water;
use crate::graph::{Structure, Template};
use std::sync::Arc;

/// Placements that one climb looks at, at most.
const LOOKS: usize = 6000;

/// A tree inside a template: all its vertices, some of its edges.
pub(super) struct TreeIn {
    pub template: Arc<Template>,
    /// The template's edges in it.
    pub edges: Vec<usize>,
    /// The external vertices on one side of each edge, by their numbers in `external`.
    sides: Vec<u64>,
    /// The external vertices in the order of a walk through the tree: near ones are near.
    pub external: Vec<usize>,
}

impl TreeIn {
    /// The tree of these edges.
    pub fn new(template: &Arc<Template>, edges: Vec<usize>) -> Self {
        let walk = walk(template, &edges);
        let external: Vec<usize> = walk.into_iter().filter(|&v| template.is_external(v)).collect();
        let sides = edges.iter().map(|&cut| {
            let others: Vec<usize> = edges.iter().copied().filter(|&e| e != cut).collect();
            let reached = reached(template, &others, template.edges()[cut].0);
            let inside = external.iter().enumerate().filter(|(_, v)| reached[**v]);
            inside.fold(0u64, |set, (k, _)| set | 1 << k)
        });
        let sides = sides.collect();
        TreeIn { template: template.clone(), edges, sides, external }
    }

    /// Trees that span a template: the template itself where it is one, else one that goes deep and one that goes wide.
    pub fn all_in(template: &Arc<Template>) -> Vec<TreeIn> {
        let edges = template.edges();
        if edges.len() + 1 == template.vertices() {
            return vec![TreeIn::new(template, (0..edges.len()).collect())];
        }
        let mut found: Vec<Vec<usize>> = Vec::new();
        for deep in [true, false] {
            let tree = spanning(template, deep);
            if !found.contains(&tree) {
                found.push(tree);
            }
        }
        found.into_iter().map(|edges| TreeIn::new(template, edges)).collect()
    }

    /// The ranks of the tree as a problem of water-filling, for modes in that order along `external`; none where a cut
    /// is not known.
    fn water(&self, cuts: &Cuts<'_>, dims: &[usize], order: &[usize], cap: usize) -> Option<Water> {
        let mut curves = Vec::with_capacity(self.edges.len());
        for side in &self.sides {
            let inside = order.iter().enumerate().filter(|(k, _)| side >> k & 1 == 1);
            curves.push(cuts.curve(inside.fold(0 as ModeSet, |set, (_, &n)| set | 1 << n))?);
        }
        let mut sizes = vec![1.0; self.template.vertices()];
        order.iter().zip(&self.external).for_each(|(&n, &v)| sizes[v] = dims[n] as f64);
        let ends: Vec<(usize, usize)> =
            self.edges.iter().map(|&e| self.template.edges()[e]).collect();
        Some(Water::new(&ends, sizes, &curves, cap))
    }

    /// The structure with that order of modes and these ranks of the tree's edges; all others are 1.
    pub fn structure(&self, order: &[usize], ranks: &[usize]) -> Option<Structure> {
        let mut permutation = vec![0; order.len()];
        order.iter().zip(&self.external).for_each(|(&n, &v)| permutation[n] = v);
        let mut all = vec![1; self.template.edges().len()];
        self.edges.iter().zip(ranks).for_each(|(&e, &r)| all[e] = r);
        Structure::new(self.template.clone(), permutation, all).ok()
    }

    /// The best structure that swaps, moves and reversals lead to from an order of the modes, and those with smaller
    /// ranks in the same order that a fit may bring to the error.
    pub fn climb(
        &self,
        cuts: &Cuts<'_>,
        dims: &[usize],
        start: &[usize],
        aim: Aim,
        cap: usize,
    ) -> Vec<Candidate> {
        let mut order = start.to_vec();
        let Some(mut water) = self.water(cuts, dims, &order, cap) else { return Vec::new() };
        let Some(mut ranks) = quick(&water, aim) else { return Vec::new() };
        let mut value = aim.value(&water, &ranks);
        let mut looks = 0;
        loop {
            // At a fixed price of what is lost, a neighbour is judged by a short descent.
            let price = price(&water, aim, &ranks);
            let priced =
                |water: &Water, ranks: &[usize]| water.params(ranks) + price * water.lost(ranks);
            // The ranks of the edges: which of them are one choice depends on where modes of length 1 are.
            let (mut now, mut here, mut at) =
                (priced(&water, &ranks), order.clone(), water.of_edges(&ranks));
            let mut changed = false;
            for step in steps(order.len()) {
                if looks >= LOOKS || cuts.stopped() {
                    break;
                }
                looks += 1;
                let trial = step.apply(&here);
                let Some(water) = self.water(cuts, dims, &trial, cap) else { continue };
                let mut ranks = water.of_choices(&at);
                water.priced(price, &mut ranks);
                let cost = priced(&water, &ranks);
                if cost < now * (1.0 - 1e-9) {
                    (now, here, at, changed) = (cost, trial, water.of_edges(&ranks), true);
                }
            }
            let Some(new) = self.water(cuts, dims, &here, cap).filter(|_| changed) else { break };
            let Some(found) = quick(&new, aim) else { break };
            let better = aim.value(&new, &found);
            if better >= value {
                break;
            }
            (order, water, ranks, value) = (here, new, found, better);
        }
        let mut found = Vec::new();
        let sure = matches!(aim, Aim::Error(_));
        for (k, aim) in aim.bolder().into_iter().enumerate() {
            if let Some(ranks) = solve(&water, aim)
                && let Some(structure) = self.structure(&order, &water.of_edges(&ranks))
            {
                let value = aim.value(&water, &ranks);
                found.push(Candidate {
                    value,
                    sure: sure && k == 0,
                    order: order.clone(),
                    structure,
                });
            }
        }
        found
    }
}

/// The ranks for an aim, with little work.
fn quick(water: &Water, aim: Aim) -> Option<Vec<usize>> {
    match aim {
        Aim::Error(eps) => water.quickly_within(eps),
        aim => solve(water, aim),
    }
}

/// The ranks for an aim.
fn solve(water: &Water, aim: Aim) -> Option<Vec<usize>> {
    match aim {
        Aim::Error(eps) => water.within_error(eps),
        Aim::Params(params) => water.within_params(params),
        Aim::Price(price) => Some(water.at_price(price)),
    }
}

/// About what a part of the tensor is worth in parameters where these ranks are right.
fn price(water: &Water, aim: Aim, ranks: &[usize]) -> f64 {
    if let Aim::Price(price) = aim {
        return price;
    }
    let worth = (0..ranks.len()).filter(|&c| ranks[c] > 1).filter_map(|c| {
        let gain = water.curve(c).tail(ranks[c] - 1) - water.curve(c).tail(ranks[c]);
        (gain > 0.0).then(|| (water.saving(c, ranks) / gain).ln())
    });
    let all: Vec<f64> = worth.collect();
    match all.len() {
        0 => water.params(ranks) / water.lost(ranks).max(1e-12),
        n => (all.iter().sum::<f64>() / n as f64).exp(),
    }
}

/// The vertices reached from one over these edges.
fn reached(template: &Template, edges: &[usize], from: usize) -> Vec<bool> {
    let mut seen = vec![false; template.vertices()];
    let mut stack = vec![from];
    while let Some(v) = stack.pop() {
        if !std::mem::replace(&mut seen[v], true) {
            stack.extend(edges.iter().filter_map(|&e| other(template.edges()[e], v)));
        }
    }
    seen
}

fn other((a, b): (usize, usize), v: usize) -> Option<usize> {
    if a == v { Some(b) } else { (b == v).then_some(a) }
}

/// The vertices in the order of a walk through a tree that begins at an end and finishes small branches first.
fn walk(template: &Template, edges: &[usize]) -> Vec<usize> {
    let degree =
        |v: usize| edges.iter().filter(|&&e| other(template.edges()[e], v).is_some()).count();
    let start = (0..template.vertices()).min_by_key(|&v| (degree(v) > 1, v)).unwrap_or(0);
    let mut order = Vec::with_capacity(template.vertices());
    let mut stack = vec![start];
    while let Some(v) = stack.pop() {
        if order.contains(&v) {
            continue;
        }
        order.push(v);
        let mut next: Vec<usize> = edges
            .iter()
            .filter_map(|&e| other(template.edges()[e], v))
            .filter(|w| !order.contains(w))
            .collect();
        let size = |w: usize| {
            let others: Vec<usize> = edges
                .iter()
                .copied()
                .filter(|&e| other(template.edges()[e], v).is_none())
                .collect();
            reached(template, &others, w).iter().filter(|r| **r).count()
        };
        next.sort_by_key(|&w| (std::cmp::Reverse(size(w)), std::cmp::Reverse(w)));
        stack.extend(next);
    }
    order
}

/// The edges of a spanning tree: depth or breadth first from vertex 0, neighbours in their order.
fn spanning(template: &Template, deep: bool) -> Vec<usize> {
    let mut seen = vec![false; template.vertices()];
    let mut tree = Vec::new();
    let mut open: std::collections::VecDeque<(usize, Option<usize>)> = [(0, None)].into();
    while let Some((v, by)) = if deep { open.pop_back() } else { open.pop_front() } {
        if std::mem::replace(&mut seen[v], true) {
            continue;
        }
        tree.extend(by);
        let mut next: Vec<(usize, Option<usize>)> = template
            .incident(v)
            .filter_map(|e| Some((other(template.edges()[e], v)?, Some(e))))
            .filter(|(w, _)| !seen[*w])
            .collect();
        next.sort_unstable();
        if deep {
            next.reverse();
        }
        open.extend(next);
    }
    tree.sort_unstable();
    tree
}
