//! Small changes of the best tree, those that the spectra promise most of first.
//!
//! Lowering the rank of an edge from r to r - 1 adds about `sigma_r^2` of its split to the error, in a fit some part
//! of that, which is learned. So the error of a neighbour is foretold as that of the best plus this part of the
//! change of the sum of tails, and only what should be better is asked for.

use super::CheckedObjective;
use crate::bound::{ModeSet, ModeTree, Pricing, Spectra};
use crate::problem::{Score, Stop};
use std::collections::HashSet;

/// A fitted tree.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub tree: ModeTree,
    /// The sum of its tails.
    pub tails: f64,
    pub params: u128,
    pub error: f64,
}

/// The part of a change of tails that a fit feels, before anything is learned.
const FELT: f64 = 0.6;
/// What is foretold to miss the error by no more than this part is tried.
const DOUBT: f64 = 0.12;
/// Failures in a row before it ends.
const PATIENCE: usize = 40;
/// Sums of tails, in units of that of the best, at which other trees are looked for.
const OTHERS: [f64; 4] = [0.9, 1.0, 1.15, 1.4];
/// How many times others are looked for with other prices; fewer where that takes long.
const TWISTS: u64 = 6;
/// Up to this order.
const QUICK: usize = 10;

/// Improves one tree step by step.
pub(super) struct Polish {
    best: Found,
    objective: CheckedObjective,
    /// Of the tensor.
    entries: f64,
    felt: f64,
    failures: usize,
    /// Whether other trees were looked for since the best was found.
    looked: bool,
}

impl Polish {
    pub fn new(best: Found, objective: CheckedObjective, entries: f64) -> Self {
        Polish { best, objective, entries, felt: FELT, failures: 0, looked: false }
    }

    /// What is minimised, and by how much the error is missed, relatively.
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
        let now = self.value(self.best.params, self.best.error).unwrap_or(f64::INFINITY);
        let look = !std::mem::replace(&mut self.looked, true);
        let mut all: Vec<(f64, ModeTree, f64)> = Vec::new();
        let mut add = |tree: ModeTree, tails: f64, felt: f64| {
            let params = tree.params(dims);
            let error = (self.best.error + felt * (tails - self.best.tails)).max(0.0);
            if let Some(value) = self.value(params, error)
                && value < now
                && !seen.contains(&tree)
            {
                all.push((value, tree, tails));
            }
        };
        for (tree, tails) in neighbours(&self.best, spectra) {
            add(tree, tails, self.felt);
        }
        if look {
            let twists = if dims.len() <= QUICK { TWISTS } else { 1 };
            for twist in 0..=twists {
                let pricing =
                    Pricing::new(spectra, self.objective.max_error(), stop).twisted(twist);
                for times in OTHERS {
                    let budget = times * self.best.tails;
                    if let Some(other) = pricing.within(budget) {
                        let other = pricing.trimmed(&other, budget);
                        add(other.tree, other.tails, 0.8 * self.felt);
                    }
                }
            }
        }
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.total_cmp(&b.2)));
        // The boldest and the safest: the first by what is foretold, and those of the smallest error.
        let bold = count.div_ceil(2).min(all.len());
        let mut safe = all.split_off(bold);
        safe.sort_by(|a, b| a.2.total_cmp(&b.2));
        all.extend(safe.into_iter().take(count - bold));
        all.into_iter().map(|(_, tree, tails)| (tree, tails)).collect()
    }

    /// Learns from what became of them, and goes on from the best.
    pub fn learn(&mut self, told: &[Found]) {
        let felt = told.iter().filter(|f| f.tree.modes == self.best.tree.modes).filter_map(|f| {
            let change = f.tails - self.best.tails;
            let part = (f.error - self.best.error) / change;
            (change.abs() > 0.0 && part.is_finite()).then_some(part.clamp(0.1, 1.5))
        });
        let felt: Vec<f64> = felt.collect();
        if !felt.is_empty() {
            let mean = felt.iter().sum::<f64>() / felt.len() as f64;
            self.felt = 0.5 * (self.felt + mean);
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
            false => self.failures += told.len().max(1),
        }
    }

    fn beats(&self, found: &Found) -> bool {
        let reached = self.objective.reached(found.params, found.error);
        let score = |f: &Found| self.score(f.params, f.error);
        reached && self.objective.better(&score(found), &score(&self.best))
    }
}

/// A tree of rank 1 everywhere: the smallest there is.
pub(super) fn alone(modes: usize) -> ModeTree {
    let edges = (1..modes).map(|n| (0, n, 1)).collect();
    ModeTree { modes: (0..modes).map(|n| 1 << n).collect(), edges }
}

/// All changes of one rank by one or two, and of two ranks by one each, with their sums of tails.
fn neighbours(of: &Found, spectra: &Spectra) -> Vec<(ModeTree, f64)> {
    let splits = of.tree.splits();
    // What each change of one edge adds to the sum of tails.
    let step = |e: usize, by: isize| -> Option<(usize, isize, f64)> {
        let set: ModeSet = splits[e];
        let (rank, spectrum) = (of.tree.edges[e].2, spectra.of(set)?);
        let to = rank.checked_add_signed(by).filter(|r| (1..=spectra.side(set)).contains(r))?;
        Some((e, by, spectrum.tail(to) - spectrum.tail(rank)))
    };
    let edges = 0..splits.len();
    let ones: Vec<(usize, isize, f64)> =
        edges.clone().flat_map(|e| [-1, 1].into_iter().filter_map(move |by| step(e, by))).collect();
    let made = |steps: &[(usize, isize, f64)]| {
        let mut tree = of.tree.clone();
        for &(e, by, _) in steps {
            tree.edges[e].2 = tree.edges[e].2.saturating_add_signed(by).max(1);
        }
        (tree, of.tails + steps.iter().map(|s| s.2).sum::<f64>())
    };
    let mut found: Vec<(ModeTree, f64)> = ones.iter().map(|one| made(&[*one])).collect();
    found.extend(edges.filter_map(|e| step(e, -2)).map(|two| made(&[two])));
    for (k, a) in ones.iter().enumerate() {
        let others = ones[k + 1..].iter().filter(|b| b.0 != a.0);
        found.extend(others.map(|b| made(&[*a, *b])));
    }
    found
}
