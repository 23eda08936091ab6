//! Small changes of the best tree, those that promise most first.
//!
//! Lowering the rank of an edge from r to r - 1 adds `sigma_r^2` of its split to the sum of tails, and some part of that to
//! the error of a fit: all of it where no other edge loses the same, next to nothing where one does. That part is
//! learned for each split, from fits of the best tree with one rank changed. Then the error of a tree with several changes
//! is foretold as the sum of theirs, and only what should be better is asked for.

use super::CheckedObjective;
use crate::bound::{ModeSet, ModeTree, Pricing, Spectra};
use crate::problem::{Score, Stop};
use std::collections::{HashMap, HashSet};

/// A fitted tree.
#[derive(Debug, Clone)]
pub(super) struct FittedTree {
    pub tree: ModeTree,
    /// The sum of its tails.
    pub tails: f64,
    pub params: u128,
    pub error: f64,
}

/// The part of a change of tails that a fit feels, where nothing is known.
const FELT: f64 = 0.6;
/// What is foretold to miss the error by no more than this part is tried.
const DOUBT: f64 = 0.04;
/// Failures in a row before it ends.
const PATIENCE: usize = 24;
/// Edges whose single changes are all fitted; of larger trees those that cost most.
const MEASURED: usize = 10;
/// Sums of tails, in units of that of the best, at which other trees are looked for.
const OTHERS: [f64; 4] = [0.9, 1.0, 1.15, 1.4];
/// How many times others are looked for with other prices; fewer where that takes long.
const TWISTS: u64 = 6;
/// Up to this order.
const QUICK: usize = 10;

/// A change of one rank: the edge, by how much, and what it adds to the sum of tails.
type Step = (usize, isize, f64);

/// Improves one tree step by step.
pub(super) struct Polish {
    best: FittedTree,
    objective: CheckedObjective,
    /// Of the tensor.
    entries: f64,
    /// The part of a change of tails that a fit feels, for the rank of a split lowered or raised.
    felt: HashMap<(ModeSet, bool), f64>,
    failures: usize,
    /// Whether other trees were looked for since the best was found.
    looked: bool,
}

impl Polish {
    pub fn new(best: FittedTree, objective: CheckedObjective, entries: f64) -> Self {
        let felt = HashMap::new();
        Polish { best, objective, entries, felt, failures: 0, looked: false }
    }

    /// What is minimised; none where the error is missed, or the parameters, by more than doubt allows.
    fn value(&self, params: u128, error: f64) -> Option<f64> {
        let allowed = match self.objective.max_error() {
            Some(eps) if error <= eps * (1.0 + DOUBT) => error.min(eps),
            _ => error,
        };
        if !self.objective.reached(params, allowed) {
            return None;
        }
        self.objective.value(&self.score(params, allowed))
    }

    fn score(&self, params: u128, error: f64) -> Score {
        self.objective.score(params, params as f64 / self.entries, error)
    }

    /// The next trees to be fitted, with their sums of tails; none where nothing promises more.
    pub fn next(
        &mut self,
        spectra: &Spectra,
        dims: &[usize],
        seen: &HashSet<ModeTree>,
        count: usize,
        stop: &Stop,
    ) -> Vec<(ModeTree, f64)> {
        if self.failures >= PATIENCE {
            return Vec::new();
        }
        let splits: Vec<ModeSet> =
            self.best.tree.splits().into_iter().map(|set| spectra.normal(set)).collect();
        let steps = self.steps(&splits, spectra);
        let unknown = self.unknown(&splits, &steps, dims);
        let unknown: Vec<_> =
            unknown.into_iter().filter(|(tree, _)| !seen.contains(tree)).collect();
        if !unknown.is_empty() {
            return unknown;
        }
        let now = self.value(self.best.params, self.best.error).unwrap_or(f64::INFINITY);
        let mut all: Vec<(f64, ModeTree, f64)> = Vec::new();
        let mut add = |tree: ModeTree, tails: f64, error: f64| {
            let value = self.value(tree.params(dims), error.max(0.0));
            if let Some(value) = value.filter(|v| *v < now)
                && !seen.contains(&tree)
            {
                all.push((value, tree, tails));
            }
        };
        for steps in several(&steps) {
            let (tree, tails) = self.made(&steps);
            let felt = |&(e, by, change): &Step| change * self.part(splits[e], by);
            add(tree, tails, self.best.error + steps.iter().map(felt).sum::<f64>());
        }
        if !self.looked {
            let ratio = 0.9 * self.best.error / self.best.tails;
            for (tree, tails) in self.others(spectra, dims, stop) {
                add(tree, tails, ratio * tails);
            }
        }
        self.looked = true;
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.total_cmp(&b.2)));
        all.truncate(count);
        all.into_iter().map(|(_, tree, tails)| (tree, tails)).collect()
    }

    /// Other trees whose sums of tails are about that of the best.
    fn others(&self, spectra: &Spectra, dims: &[usize], stop: &Stop) -> Vec<(ModeTree, f64)> {
        let twists = if dims.len() <= QUICK { TWISTS } else { 1 };
        let mut found = Vec::new();
        for twist in 0..=twists {
            let pricing = Pricing::new(spectra, self.objective.max_error(), stop).twisted(twist);
            for budget in OTHERS.map(|times| times * self.best.tails) {
                if let Some(other) = pricing.within(budget) {
                    let other = pricing.trimmed(&other, budget);
                    found.push((other.tree, other.tails));
                }
            }
        }
        found
    }

    /// The part of a change that is felt.
    fn part(&self, split: ModeSet, by: isize) -> f64 {
        self.felt.get(&(split, by > 0)).copied().unwrap_or(FELT)
    }

    /// All changes of one rank.
    fn steps(&self, splits: &[ModeSet], spectra: &Spectra) -> Vec<Step> {
        let step = |e: usize, by: isize| -> Option<Step> {
            let (rank, spectrum) = (self.best.tree.edges[e].2, spectra.of(splits[e])?);
            let most = spectra.side(splits[e]);
            let to = rank.checked_add_signed(by).filter(|r| (1..=most).contains(r))?;
            Some((e, by, spectrum.tail(to) - spectrum.tail(rank)))
        };
        let edges = 0..splits.len();
        edges.flat_map(|e| [-2, -1, 1].into_iter().filter_map(move |by| step(e, by))).collect()
    }

    /// Single changes of which nothing is known yet, of the edges that cost most.
    fn unknown(&self, splits: &[ModeSet], steps: &[Step], dims: &[usize]) -> Vec<(ModeTree, f64)> {
        let saved = |e: usize| {
            let rank = self.best.tree.edges[e].2;
            let less = self.best.tree.with_rank(e, rank.max(2) - 1).params(dims);
            self.best.params.saturating_sub(less)
        };
        let mut edges: Vec<usize> = (0..splits.len()).collect();
        edges.sort_by_key(|&e| std::cmp::Reverse(saved(e)));
        edges.truncate(MEASURED);
        let single = |s: &&Step| s.1.abs() == 1 && edges.contains(&s.0);
        let new = |s: &&Step| !self.felt.contains_key(&(splits[s.0], s.1 > 0));
        // What changes nothing about the tails needs no fit to be known.
        let counts = |s: &&Step| s.2.abs() > 1e-3 * self.best.error;
        let chosen = steps.iter().filter(single).filter(new).filter(counts);
        chosen.map(|step| self.made(&[*step])).collect()
    }

    fn made(&self, steps: &[Step]) -> (ModeTree, f64) {
        let mut tree = self.best.tree.clone();
        for &(e, by, _) in steps {
            tree.edges[e].2 = tree.edges[e].2.saturating_add_signed(by).max(1);
        }
        (tree, self.best.tails + steps.iter().map(|s| s.2).sum::<f64>())
    }

    /// Learns from what became of them, and goes on from the best.
    pub fn learn(&mut self, told: &[FittedTree], spectra: &Spectra) {
        for found in told {
            self.feel(found, spectra);
        }
        let mut improved = false;
        for found in told {
            if self.beats(found) {
                self.best = found.clone();
                improved = true;
            }
        }
        match improved {
            true => (self.failures, self.looked) = (0, false),
            false => self.failures += 1,
        }
    }

    /// Learns what part of its changes a tree of the same shape as the best felt.
    fn feel(&mut self, found: &FittedTree, spectra: &Spectra) {
        let pairs = self.best.tree.edges.iter().zip(&found.tree.edges);
        let other = found.tree.modes != self.best.tree.modes;
        if other || pairs.clone().any(|(a, b)| (a.0, a.1) != (b.0, b.1)) {
            return;
        }
        let splits = self.best.tree.splits();
        let changed =
            pairs.zip(splits).filter(|((a, b), _)| a.2 != b.2).filter_map(|((a, b), set)| {
                let spectrum = spectra.of(set)?;
                Some((spectra.normal(set), b.2 > a.2, spectrum.tail(b.2) - spectrum.tail(a.2)))
            });
        let changed: Vec<(ModeSet, bool, f64)> = changed.collect();
        let change = found.error - self.best.error;
        if let [(set, up, tails)] = changed[..] {
            let part = change / tails;
            if part.is_finite() {
                self.felt.insert((set, up), part.clamp(0.0, 1.5));
            }
            return;
        }
        // Of several, each takes its share of what was not foretold.
        let by = |up: bool| if up { 1 } else { -1 };
        let foretold: f64 = changed.iter().map(|&(s, up, t)| t * self.part(s, by(up))).sum();
        let all: f64 = changed.iter().map(|c| c.2.abs()).sum();
        for &(set, up, tails) in changed.iter().filter(|_| all > 0.0) {
            let part = self.part(set, by(up)) + 0.5 * (change - foretold) / all * tails.signum();
            self.felt.insert((set, up), part.clamp(0.0, 1.5));
        }
    }

    fn beats(&self, found: &FittedTree) -> bool {
        let reached = self.objective.reached(found.params, found.error);
        let score = |f: &FittedTree| self.score(f.params, f.error);
        reached && self.objective.better(&score(found), &score(&self.best))
    }
}

/// A tree of rank 1 everywhere: the smallest there is.
pub(super) fn alone(modes: usize) -> ModeTree {
    let edges = (1..modes).map(|n| (0, n, 1)).collect();
    ModeTree { modes: (0..modes).map(|n| 1 << n).collect(), edges }
}

/// All changes of up to three ranks.
fn several(steps: &[Step]) -> Vec<Vec<Step>> {
    let mut found: Vec<Vec<Step>> = steps.iter().map(|s| vec![*s]).collect();
    let mut begin = 0;
    for _ in 0..2 {
        let end = found.len();
        for k in begin..end {
            let last = found[k].last().map_or(0, |s| s.0);
            for step in steps.iter().filter(|s| s.0 > last) {
                let mut more = found[k].clone();
                more.push(*step);
                found.push(more);
            }
        }
        begin = end;
    }
    found
}
