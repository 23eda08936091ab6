//! What no tree can go below.

use super::super::{ModeSet, Spectra};
use super::cheap::{Contracted, LEFT};
use super::fronts::{Choice, Fronts, Problem};
use super::sets::Sets;
use super::{ModeTree, counted};
use crate::problem::{Objective, Stop};
use crate::tensor::size;
use std::sync::OnceLock;

/// Up to this order every tree is looked at.
pub const ALL_TREES: usize = 14;
/// The smallest error that anything is said about.
const LEAST: f64 = 1e-16;
/// How exactly an error or a loss is bounded, relatively.
const EXACTLY: f64 = 1e-10;
/// Errors that are looked at to bound a loss.
const LOOKS: usize = 80;

/// Lower bounds over all trees: any topology, any ranks, vertices with none, one or several modes.
///
/// With `r_e = rank_eps(S_e)` on every edge, the dynamic programme gives the least number of parameters P(eps) of any
/// tree whose RSE is at most eps. Since P falls as eps grows, it bounds the other objectives as well: within P
/// parameters no error below `inf {eps : P(eps) <= P}` can be had, and no loss below
/// `min over eps of P(eps) / entries + lambda eps`.
pub struct TreeBound<'s> {
    spectra: &'s Spectra,
    dims: Vec<usize>,
    stop: Stop,
    /// Where not every tree is looked at: the modes that are not contracted.
    left: Option<usize>,
    contracted: OnceLock<Option<Contracted>>,
}

impl<'s> TreeBound<'s> {
    /// Bounds for the tensor of these spectra; when the stop is set, weaker ones.
    pub fn new(spectra: &'s Spectra, stop: &Stop) -> Self {
        let dims = counted(spectra.target()).to_vec();
        let left = (dims.len() > ALL_TREES).then_some(LEFT);
        TreeBound { spectra, dims, stop: stop.clone(), left, contracted: OnceLock::new() }
    }

    /// The bounds of a part of the modes, as there are beyond [`ALL_TREES`].
    pub(crate) fn of_part(spectra: &'s Spectra, left: usize, stop: &Stop) -> Self {
        TreeBound { left: Some(left), ..TreeBound::new(spectra, stop) }
    }

    /// The tensor of a part of the modes; none where every tree is looked at, or it was told to stop.
    pub(crate) fn contracted(&self) -> Option<&Contracted> {
        let left = self.left?;
        let make = || Contracted::new(self.spectra, &self.dims, left, &self.stop);
        self.contracted.get_or_init(make).as_ref()
    }

    pub(super) fn dims(&self) -> &[usize] {
        &self.dims
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Whether every tree is looked at; beyond that order bounds are weaker.
    pub fn is_whole(&self) -> bool {
        self.left.is_none()
    }

    /// The least rank of an edge between these modes and the others in a network with that error; 1 where the cut
    /// is not known.
    pub(super) fn rank(&self, set: ModeSet, eps: f64) -> usize {
        self.spectra.of(set).map_or(1, |s| s.rank(eps).max(1))
    }

    /// No tree with an RSE of at most `eps` has fewer parameters.
    pub fn params(&self, eps: f64) -> u128 {
        // One entry for each entry of a mode: no network has less (a product is no less than the sum, but for ones).
        let trivial: u128 = self.dims.iter().filter(|&&d| d > 1).map(|&d| d as u128).sum();
        let bound = match self.is_whole() {
            // Sums of whole numbers.
            true => self.fronts(eps).and_then(|f| f.best()).map(|(value, _)| value.round() as u128),
            false => self.contracted().map(|c| c.params(eps, &self.stop)),
        };
        bound.unwrap_or(0).max(trivial)
    }

    /// A tree with as few parameters as no tree can go below, whether or not a fit confirms it; none where not all
    /// are looked at.
    pub fn tree(&self, eps: f64) -> Option<ModeTree> {
        self.fronts(eps)?.tree()
    }

    pub(super) fn fronts(&self, eps: f64) -> Option<Fronts> {
        if !self.is_whole() {
            return None;
        }
        least(&self.dims, &|set| self.rank(set, eps), None, &self.stop)
    }

    /// The value that no tree can go below, in the units of [`Objective::value`]; none where nothing is proven.
    pub fn value(&self, objective: Objective) -> Option<f64> {
        match objective {
            Objective::MaxError(eps) => Some(self.params(eps) as f64),
            Objective::MaxParams(most) => Some(self.error(most)),
            Objective::Lambda(lambda) => Some(self.loss(lambda)),
        }
    }

    /// No tree of at most so many parameters has a smaller RSE.
    pub fn error(&self, most: u128) -> f64 {
        let possible = |eps: f64| self.params(eps) <= most;
        if possible(LEAST) {
            return 0.0;
        }
        // P(low) is more than allowed: whatever is allowed has an error above low.
        let (mut low, mut high) = (LEAST, 1.0f64);
        while high / low > 1.0 + EXACTLY && !self.stop.is_set() {
            let middle = (low * high).sqrt();
            match possible(middle) {
                true => high = middle,
                false => low = middle,
            }
        }
        low
    }

    /// No tree has a smaller `phi + lambda RSE`.
    pub fn loss(&self, lambda: f64) -> f64 {
        self.intervals(lambda).iter().map(|i| i.value(lambda)).fold(f64::INFINITY, f64::min)
    }

    /// Errors, growing, that show that no tree has a smaller loss than this: one whose error lies between two of them has at least
    /// the parameters of the larger. None where that is not shown.
    pub fn steps(&self, lambda: f64, loss: f64) -> Option<Vec<f64>> {
        let mut all = self.intervals(lambda);
        if all.iter().any(|i| i.value(lambda) < loss) {
            return None;
        }
        all.sort_by(|a, b| a.from.total_cmp(&b.from));
        // As few as will do.
        let (mut errors, mut from) = (Vec::new(), 0.0);
        for (k, interval) in all.iter().enumerate() {
            let longer = all.get(k + 1).is_some_and(|next| next.phi + lambda * from >= loss);
            if !longer {
                errors.push(interval.to);
                from = interval.to;
            }
        }
        Some(errors)
    }

    /// What is known of trees whose errors lie in intervals, the smaller where the loss may be least.
    fn intervals(&self, lambda: f64) -> Vec<Interval> {
        let entries = size(&self.dims) as f64;
        let phi = |eps: f64| self.params(eps) as f64 / entries;
        let above = |i: &Interval| i.phi + lambda * i.to;
        let mut all = vec![
            Interval { from: 0.0, to: LEAST, phi: phi(LEAST) },
            Interval { from: LEAST, to: 1.0, phi: phi(1.0) },
        ];
        for _ in 0..LOOKS {
            let value = |k: usize| all[k].value(lambda);
            let Some(at) = (0..all.len()).min_by(|&a, &b| value(a).total_cmp(&value(b))) else {
                break;
            };
            let Interval { from, to, phi: upper } = all[at];
            let done = above(&all[at]) <= all[at].value(lambda) * (1.0 + EXACTLY);
            if done || to / from.max(LEAST) <= 1.0 + EXACTLY || self.stop.is_set() {
                break;
            }
            // Below what the error costs least anyway, one step is as good as the smallest.
            let middle = (from.max(LEAST) * to).sqrt();
            all[at] = Interval { from: middle, to, phi: upper };
            all.push(Interval { from, to: middle, phi: phi(middle) });
        }
        all
    }
}

/// Trees whose error lies in an interval have at least the parameters of its upper end.
struct Interval {
    from: f64,
    to: f64,
    phi: f64,
}

impl Interval {
    /// The least loss in it.
    fn value(&self, lambda: f64) -> f64 {
        self.phi + lambda * self.from
    }
}

/// The fronts of all sets where each edge has its least rank; with a limit, trees up to it can be read off them, else
/// the best.
pub(super) fn least(
    dims: &[usize],
    rank: &dyn Fn(ModeSet) -> usize,
    limit: Option<f64>,
    stop: &Stop,
) -> Option<Fronts> {
    let choices = |set: ModeSet| -> Vec<Choice> { vec![(rank(set), 0.0)] };
    let sets = Sets::All { modes: dims.len() };
    // The tensor itself is a tree.
    let all = size(dims) as f64;
    let mut problem = Problem { dims, sets: &sets, choices: &choices, limit: all, most: 4, stop };
    problem.limit = match limit {
        Some(limit) => limit.min(all),
        // Any tree is a limit to the others; a few bundles per set find a good one.
        None => Fronts::new(&problem)?.best().map_or(all, |(value, _)| value),
    };
    problem.most = usize::MAX;
    Fronts::new(&problem)
}

#[cfg(test)]
mod tests {
    use super::super::brute;
    use super::*;
    use crate::bound::SpectraSettings;

    /// The errors that show a loss: between two of them every tree has so many parameters that its loss is not less.
    #[test]
    fn steps_show_the_loss_and_no_more() {
        for seed in 0..3 {
            let target = brute::noisy(&[3, 2, 4, 2], seed, 0.1);
            let spectra = Spectra::new(&target, SpectraSettings::default());
            let bound = TreeBound::new(&spectra, &Stop::new());
            let entries = target.entries() as f64;
            for lambda in [0.5, 2.0, 10.0, 100.0] {
                let least = bound.loss(lambda);
                assert!(bound.steps(lambda, least * (1.0 + 1e-6)).is_none());
                for part in [0.3, 0.8, 1.0] {
                    let loss = part * least;
                    let steps = bound.steps(lambda, loss).unwrap();
                    assert!(steps.is_sorted() && steps.last() == Some(&1.0), "{steps:?}");
                    let froms = [0.0].into_iter().chain(steps.iter().copied());
                    let mut shown = froms.zip(&steps);
                    assert!(shown.all(|(from, &to)| {
                        let phi = bound.params(to) as f64 / entries;
                        phi + lambda * from >= loss * (1.0 - 1e-12)
                    }));
                    // As few as will do: none can be left out.
                    for k in 0..steps.len() - 1 {
                        let from = if k == 0 { 0.0 } else { steps[k - 1] };
                        let phi = bound.params(steps[k + 1]) as f64 / entries;
                        assert!(phi + lambda * from < loss, "{seed} {lambda} {part} {k}");
                    }
                }
            }
        }
    }

    /// A part of the modes bounds all of them, from below the bound of all.
    #[test]
    fn the_bound_of_a_part_is_one() {
        let target = brute::noisy(&[3, 2, 3, 2, 4], 1, 0.1);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let stop = Stop::new();
        let (whole, part) =
            (TreeBound::new(&spectra, &stop), TreeBound::of_part(&spectra, 4, &stop));
        assert!(whole.is_whole() && whole.contracted().is_none());
        assert!(!part.is_whole() && part.tree(0.1).is_none());
        assert_eq!(part.contracted().unwrap().left.len(), 4);
        for eps in [1e-6, 1e-3, 0.1, 0.9] {
            let contracted = part.contracted().unwrap().params(eps, &stop);
            // Never less than one entry for each entry of a mode.
            assert_eq!(part.params(eps), contracted.max(14));
            assert!(part.params(eps) <= whole.params(eps));
        }
    }
}
