//! Trees in the order of their parameters, beginning with the fewest that no cut rules out.

use super::fronts::Fronts;
use super::least::least;
use super::sets::Index;
use super::{ModeTree, TreeBound};

/// By how much a rank may exceed the least.
const MORE: usize = 3;
/// Trees that are made before those of a limit are sorted.
const MADE: usize = 50_000;
/// The first limit beyond the least number, and how it grows.
const STEP: f64 = 0.01;

/// A subtree below an edge.
#[derive(Clone)]
struct Branch {
    cost: f64,
    rank: usize,
    /// The bare modes of its top, and the subtrees below.
    bare: super::super::ModeSet,
    below: Vec<Branch>,
}

/// What is being put together at a vertex.
#[derive(Clone)]
struct Top {
    width: f64,
    cost: f64,
    bare: super::super::ModeSet,
    below: Vec<Branch>,
}

struct Search<'a> {
    fronts: &'a Fronts,
    dims: &'a [usize],
    left: usize,
}

impl TreeBound<'_> {
    /// About `count` trees (with their ranks) that no cut rules out for an RSE of `eps`, the fewest parameters first, none
    /// with `below` or more; ranks are at most three above the least. Empty where not all trees are looked at.
    pub fn several(&self, eps: f64, count: usize, below: u128) -> Vec<(u128, ModeTree)> {
        if !self.is_whole() {
            return Vec::new();
        }
        let least_value = self.params(eps) as f64;
        if below as f64 <= least_value {
            return Vec::new();
        }
        let mut found: Vec<(u128, ModeTree)> = Vec::new();
        let mut part = 0.0;
        loop {
            let limit = (least_value * (1.0 + part)).floor().min(below as f64 - 1.0);
            let rank = |set| self.rank(set, eps);
            let fronts = least(self.dims(), &rank, Some(limit), self.stop());
            let Some(fronts) = fronts.filter(|_| !self.stop().is_set()) else { return found };
            let mut search = Search { fronts: &fronts, dims: self.dims(), left: MADE };
            let trees = search.trees(limit);
            let spent = search.left == 0;
            if !spent || found.is_empty() {
                let dims = self.dims();
                // A tree with an edge of no use is another tree, written with more.
                let useful = |t: &ModeTree| t.clone().simplified(dims).edges.len() == t.edges.len();
                found = trees.into_iter().filter(useful).map(|t| (t.params(dims), t)).collect();
                found.sort_by_key(|(params, _)| *params);
            }
            if spent || found.len() >= count || limit >= below as f64 - 1.0 {
                found.truncate(count);
                return found;
            }
            part = if part == 0.0 { STEP } else { 2.0 * part };
        }
    }
}

impl Search<'_> {
    /// All trees of at most so many parameters.
    fn trees(&mut self, limit: f64) -> Vec<ModeTree> {
        let root = self.dims[self.fronts.sets.root()] as f64;
        // The root has a mode of its own, so all others may hang on one edge.
        let (rest, mut tops) = (self.fronts.sets.len() - 1, Vec::new());
        // All trees are looked at: mode 0 is the root's.
        let top = Top { width: 1.0, cost: 0.0, bare: 1, below: Vec::new() };
        self.extend(Index::MAX, rest, root, limit, top, &mut tops);
        let tree = |top: &Branch| {
            let mut tree = ModeTree { modes: vec![top.bare], edges: Vec::new() };
            top.below.iter().for_each(|branch| add(&mut tree, 0, branch));
            tree
        };
        tops.iter().map(tree).collect()
    }

    /// All vertices with what hangs below them on a set, of which each entry of the width costs `weight`.
    fn vertex(&mut self, set: Index, weight: f64, limit: f64) -> Vec<Branch> {
        let mut found = Vec::new();
        let top = Top { width: 1.0, cost: 0.0, bare: 0, below: Vec::new() };
        self.extend(set, set, weight, limit, top, &mut found);
        found
    }

    /// The least cost at which a top can be completed on the modes that are left.
    fn completed(&self, rest: Index, weight: f64, width: f64, cost: f64) -> f64 {
        let bundles = self.fronts.bundles[rest].iter();
        bundles.map(|b| weight * width * b.width + cost + b.cost).fold(f64::INFINITY, f64::min)
    }

    /// Adds all ways to complete a top on a set. A vertex with nothing but an edge to all of `whole` is none.
    fn extend(
        &mut self,
        whole: Index,
        set: Index,
        weight: f64,
        limit: f64,
        top: Top,
        found: &mut Vec<Branch>,
    ) {
        if self.left == 0 {
            return;
        }
        if set == 0 {
            self.left -= 1;
            let cost = weight * top.width + top.cost;
            found.push(Branch { cost, rank: weight as usize, bare: top.bare, below: top.below });
            return;
        }
        let mut ways: Vec<(Index, Index)> = Vec::new();
        self.fronts.sets.each_split(set, |first, rest| ways.push((first, rest)));
        if set != whole || self.fronts.sets.modes(set).is_power_of_two() {
            ways.push((set, 0));
        }
        for (first, rest) in ways {
            let modes = self.fronts.sets.modes(first);
            if modes.is_power_of_two() {
                let width = top.width * self.dims[modes.trailing_zeros() as usize] as f64;
                if self.completed(rest, weight, width, top.cost) <= limit {
                    let top = Top { width, bare: top.bare | modes, ..top.clone() };
                    self.extend(whole, rest, weight, limit, top, found);
                }
            }
            // On an edge: a vertex of its own.
            let hung = self.fronts.parts[first].iter().find(|part| part.rank > 0);
            let Some((least, inside)) = hung.map(|part| (part.rank, part.cost)) else { continue };
            if first == whole {
                continue;
            }
            for rank in least..=least + MORE {
                let width = top.width * rank as f64;
                let without = self.completed(rest, weight, width, top.cost);
                if without + inside > limit {
                    break;
                }
                for branch in self.vertex(first, rank as f64, limit - without) {
                    let mut top = top.clone();
                    (top.width, top.cost) = (width, top.cost + branch.cost);
                    top.below.push(branch);
                    self.extend(whole, rest, weight, limit, top, found);
                }
            }
        }
    }
}

fn add(tree: &mut ModeTree, above: usize, branch: &Branch) {
    let vertex = tree.modes.len();
    tree.modes.push(branch.bare);
    tree.edges.push((above, vertex, branch.rank));
    branch.below.iter().for_each(|below| add(tree, vertex, below));
}

#[cfg(test)]
mod tests {
    use super::super::brute::{all_trees, key, noisy};
    use super::*;
    use crate::bound::{Spectra, SpectraSettings};
    use crate::problem::Stop;
    use std::collections::HashSet;

    /// Every tree of use whose ranks are at most three above the least, below a number of parameters.
    fn brute(dims: &[usize], rank: impl Fn(u64) -> usize, below: u128) -> Vec<(u128, ModeTree)> {
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        for tree in all_trees(dims.len()) {
            let least: Vec<usize> = tree.splits().into_iter().map(&rank).collect();
            for code in 0..4usize.pow(least.len() as u32) {
                let mut tree = tree.clone();
                for (k, edge) in tree.edges.iter_mut().enumerate() {
                    edge.2 = least[k] + code / 4usize.pow(k as u32) % 4;
                }
                let params = tree.params(dims);
                let useful = || tree.clone().simplified(dims).edges.len() == tree.edges.len();
                if params < below && useful() && seen.insert(key(&tree, dims.len())) {
                    found.push((params, tree));
                }
            }
        }
        found.sort_by_key(|f| f.0);
        found
    }

    #[test]
    fn several_are_all_that_there_are_in_order() {
        let dims = [3, 4, 2, 3];
        for (noise, eps) in [(0.05, 1e-2), (0.05, 0.1), (1.0, 1e-2), (1.0, 0.1), (1.0, 0.5)] {
            let target = noisy(&dims, 2, noise);
            let spectra = Spectra::new(&target, SpectraSettings::default());
            let bound = TreeBound::new(&spectra, &Stop::new());
            let rank = |set| spectra.of(set).unwrap().rank(eps).max(1);
            let least = bound.params(eps);
            let every = brute(&dims, rank, u128::MAX);
            assert_eq!(every[0].0, least);
            let last = every.last().unwrap().0;
            for more in [1, 2, 7, 15, 40, last + 1 - least] {
                let found = bound.several(eps, usize::MAX, least + more);
                assert!(found.is_sorted_by(|a, b| a.0 <= b.0));
                assert!(found.iter().all(|(params, tree)| tree.params(&dims) == *params));
                let keys: HashSet<_> = found.iter().map(|f| key(&f.1, 4)).collect();
                assert_eq!(keys.len(), found.len(), "none stands twice");
                let want = every.iter().take_while(|f| f.0 < least + more);
                assert_eq!(keys, want.map(|f| key(&f.1, 4)).collect(), "{noise} {eps} {more}");
            }
            // So many of them: those of the fewest parameters.
            let some = every.len() / 2;
            let found = bound.several(eps, some, u128::MAX);
            let numbers = |all: &[(u128, ModeTree)]| all.iter().map(|f| f.0).collect::<Vec<_>>();
            assert_eq!(numbers(&found), numbers(&every[..some]));
            assert!(bound.several(eps, 5, least).is_empty());
        }
    }

    #[test]
    fn the_limit_grows_until_there_are_enough() {
        let target = noisy(&[2, 3, 2, 3, 2], 4, 0.5);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let bound = TreeBound::new(&spectra, &Stop::new());
        let found = bound.several(0.05, 40, u128::MAX);
        assert_eq!((found.len(), found[0].0), (40, bound.params(0.05)));
        // None is left out before the last.
        let last = found[39].0;
        let before = bound.several(0.05, usize::MAX, last);
        assert_eq!(before, found[..before.len()]);
        assert!(before.len() == 40 || found[before.len()].0 == last);
    }

    #[test]
    fn no_more_are_made_than_allowed() {
        let dims = [3, 4, 2, 3];
        let target = noisy(&dims, 2, 0.5);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let bound = TreeBound::new(&spectra, &Stop::new());
        let limit = 2.0 * bound.params(0.1) as f64;
        let rank = |set| bound.rank(set, 0.1);
        let fronts = least(&dims, &rank, Some(limit), &Stop::new()).unwrap();
        let made = |left: usize| {
            let mut search = Search { fronts: &fronts, dims: &dims, left };
            (search.trees(limit).len(), search.left)
        };
        let (all, left) = made(100_000);
        assert!(all > 20, "{all}");
        // Branches below count as well.
        assert!(left < 100_000 - all && 100_000 - left < 50 * all, "{left}");
        for few in [1, 5, 17] {
            let (trees, left) = made(few);
            assert!(trees <= few && left == 0, "{few}: {trees} {left}");
        }
    }

    #[test]
    fn without_time_there_are_none() {
        // With so many sets of modes the stop is looked at.
        let target = noisy(&[3, 1, 4, 2, 2, 2], 1, 0.2);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        assert!(!TreeBound::new(&spectra, &Stop::new()).several(1e-3, 5, 1000).is_empty());
        let stop = Stop::new();
        stop.set();
        let bound = TreeBound::new(&spectra, &stop);
        assert!(bound.several(1e-3, 5, 1000).is_empty());
        // What needs no cut: one entry for each of a mode's, but for a mode of one.
        assert_eq!(bound.params(1e-3), 3 + 4 + 2 + 2 + 2);
        assert_eq!((bound.error(13), bound.error(12)), (0.0, 1e-16));
        assert_eq!(bound.loss(10.0), 13.0 / 96.0);
    }
}
