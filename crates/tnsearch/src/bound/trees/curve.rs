//! Trees for a price on the error: those that minimise `params + mu * (sum of tails)`.
//!
//! Truncated SVDs reach an RSE of at most the sum of the tails, so each such tree is an answer without a fit, for
//! every error above its sum. A fit mostly does better: trees of a lower price than the error allows are what to try.

use super::super::{ModeSet, Spectra};
use super::fronts::{Choice, Fronts, Problem};
use super::least::ALL_TREES;
use super::sets::Sets;
use super::{ModeTree, affinity, counted};
use crate::problem::Stop;
use crate::rng;
use crate::tensor::size;
use rand::Rng as _;

/// The most ranks that are looked at for an edge.
const RANKS: usize = 12;
/// Prices from about one parameter for all of the error to one for this part of it.
const FINEST: f64 = 1e-14;

/// A tree and what its SVDs lose at most.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Priced {
    /// The tree.
    pub tree: ModeTree,
    /// Its parameters.
    pub params: u128,
    /// The sum of its tails: an RSE that truncated SVDs reach.
    pub tails: f64,
}

/// Finds trees for prices. Up to order 14 over all trees, beyond that over those whose edges cut a good order of the
/// modes into arcs.
pub struct Pricing<'s> {
    spectra: &'s Spectra,
    dims: Vec<usize>,
    sets: Sets,
    /// Ranks that cannot reach this error are not looked at.
    eps: Option<f64>,
    /// Not 0: each set's price is changed by a factor of its own, so that other trees come out.
    twist: u64,
    stop: Stop,
}

impl<'s> Pricing<'s> {
    /// Trees for the tensor of these spectra, where the error is to be at most `eps`.
    pub fn new(spectra: &'s Spectra, eps: Option<f64>, stop: &Stop) -> Self {
        let dims = counted(spectra.target()).to_vec();
        let sets = match dims.len() <= ALL_TREES {
            true => Sets::All { modes: dims.len() },
            false => Sets::arcs(affinity::order(spectra, stop).to_vec()),
        };
        if let Sets::Arcs { order, .. } = &sets {
            spectra.compress(order);
        }
        let pricing = Pricing { spectra, dims, sets, eps, twist: 0, stop: stop.clone() };
        pricing.ask();
        pricing
    }

    /// The same with prices that differ from set to set by up to a factor of 2, for trees that are nearly as good.
    pub fn twisted(mut self, twist: u64) -> Self {
        self.twist = twist;
        self
    }

    /// The price of an error at a cut.
    fn price(&self, set: ModeSet, price: f64) -> f64 {
        match self.twist {
            0 => price,
            twist => {
                let label = self.spectra.normal(set).to_le_bytes();
                let bits = rng::stream(twist, &label).next_u32();
                price * (2.0 * f64::from(bits) / f64::from(u32::MAX) - 1.0).exp2()
            }
        }
    }

    /// Computes the spectra of arcs, in parallel: all of them will be needed.
    fn ask(&self) {
        if matches!(self.sets, Sets::Arcs { .. }) {
            crate::threads::each((1..self.sets.len()).collect(), |set| {
                self.spectra.of(self.sets.modes(set));
            });
        }
    }

    /// The ranks of an edge that may be of use at a price.
    fn choices(&self, set: ModeSet, price: f64, limit: f64) -> Vec<Choice> {
        let Some(spectrum) = self.spectra.of(set) else { return Vec::new() };
        let most = self.spectra.side(set);
        let price = self.price(set, price);
        // Less would be too dear, or cannot reach the error.
        let least = spectrum.reach(limit / price).max(self.eps.map_or(1, |eps| spectrum.rank(eps)));
        let least = least.clamp(1, most);
        // One more costs two parameters at least.
        let gain = |r: usize| price * (spectrum.tail(r) - spectrum.tail(r + 1));
        let mut last = least;
        // (The largest gains nothing.)
        while gain(last) >= 2.0 {
            last += 1;
        }
        let count = last - least + 1;
        let ranks: Vec<usize> = match count <= RANKS {
            true => (least..=last).collect(),
            false => {
                let step = |k: usize| (count as f64).powf(k as f64 / (RANKS - 1) as f64);
                (0..RANKS).map(|k| least + step(k) as usize - 1).collect()
            }
        };
        let mut choices: Vec<Choice> =
            ranks.into_iter().map(|r| (r, price * spectrum.tail(r))).collect();
        choices.dedup_by_key(|c| c.0);
        choices
    }

    /// The tree for a price of the error; none where there is none smaller than the tensor itself, or no more time.
    pub fn tree(&self, price: f64) -> Option<Priced> {
        let all = size(&self.dims) as f64;
        let choices = |set: ModeSet| self.choices(set, price, all);
        let most = match self.dims.len() {
            ..=8 => 48,
            9..=12 => 16,
            _ => 8,
        };
        let problem = Problem {
            dims: &self.dims,
            sets: &self.sets,
            choices: &choices,
            limit: all,
            most,
            stop: &self.stop,
        };
        let tree = Fronts::new(&problem)?.tree()?.simplified(&self.dims);
        self.priced(tree)
    }

    /// A tree with its numbers.
    pub fn priced(&self, tree: ModeTree) -> Option<Priced> {
        let (params, tails) = (tree.params(&self.dims), tree.tails(self.spectra)?);
        Some(Priced { tree, params, tails })
    }

    /// The smallest tree found whose sum of tails is at most `budget`, and one of the next larger sum, if any.
    pub fn within(&self, budget: f64) -> Option<Priced> {
        let (mut low, mut high) = (1.0f64, 1.0 / (budget * FINEST.sqrt()).max(FINEST));
        let mut best = self.tree(high).filter(|p| p.tails <= budget)?;
        while high / low >= 1.05 {
            let middle = (low * high).sqrt();
            let Some(found) = self.tree(middle) else { break };
            if found.tails <= budget {
                high = middle;
                if found.params <= best.params {
                    best = found;
                }
            } else {
                low = middle;
            }
        }
        Some(best)
    }

    /// Trees of at most so many parameters with sums of tails as small as were found, the smallest first.
    pub fn affordable(&self, most: u128) -> Vec<Priced> {
        let (mut low, mut high) = (1.0f64, 1.0 / FINEST);
        let mut found: Vec<Priced> = Vec::new();
        while high / low >= 1.02 {
            let middle = (low * high).sqrt();
            let Some(tree) = self.tree(middle) else { break };
            if tree.params <= most {
                low = middle;
                let grown = self.grown(&tree, most);
                if !found.iter().any(|f| f.tree == grown.tree) {
                    found.push(grown);
                }
            } else {
                high = middle;
            }
        }
        found.sort_by(|a, b| a.tails.total_cmp(&b.tails));
        found.truncate(4);
        found
    }

    /// The tree with some ranks raised, those that gain most for each parameter first, up to so many parameters.
    pub fn grown(&self, from: &Priced, most: u128) -> Priced {
        let mut at = from.clone();
        loop {
            let raise = |e: usize| {
                let tree = at.tree.with_rank(e, at.tree.edges[e].2 + 1);
                self.priced(tree).filter(|p| p.params <= most && p.tails < at.tails)
            };
            let rate = |p: &Priced| (at.tails - p.tails) / (p.params - at.params).max(1) as f64;
            let raised = (0..at.tree.edges.len()).filter_map(raise);
            match raised.max_by(|a, b| rate(a).total_cmp(&rate(b))) {
                Some(next) => at = next,
                None => return at,
            }
        }
    }

    /// The tree with some ranks lowered, the cheapest in error first, until the sum of tails would exceed the budget.
    pub fn trimmed(&self, from: &Priced, budget: f64) -> Priced {
        let mut at = from.clone();
        loop {
            let edges = 0..at.tree.edges.len();
            let lower = |e: usize| {
                let rank = at.tree.edges[e].2;
                let tree = (rank > 1).then(|| at.tree.with_rank(e, rank - 1))?;
                self.priced(tree).filter(|p| p.tails <= budget)
            };
            let rate = |p: &Priced| (p.tails - at.tails) / (at.params - p.params).max(1) as f64;
            let next = edges.filter_map(lower).min_by(|a, b| rate(a).total_cmp(&rate(b)));
            match next {
                Some(next) => at = next,
                None => return at,
            }
        }
    }

    /// Distinct trees along rising sums of tails, from one budget to another, each trimmed to its budget: about so many.
    pub fn curve(&self, from: f64, to: f64, count: usize) -> Vec<Priced> {
        let mut found: Vec<Priced> = Vec::new();
        for k in 0..count {
            let budget = from * (to / from).powf(k as f64 / (count - 1).max(1) as f64);
            let Some(tree) = self.within(budget) else { continue };
            let tree = self.trimmed(&tree, budget);
            if !found.iter().any(|f| f.tree == tree.tree) {
                found.push(tree);
            }
            if self.stop.is_set() {
                break;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;
