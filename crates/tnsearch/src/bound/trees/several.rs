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
        let top = Top { width: 1.0, cost: 0.0, bare: 0, below: Vec::new() };
        self.extend(Index::MAX, rest, root, limit, top, &mut tops);
        let root_mode = 1 << self.fronts.sets.root();
        let tree = |top: &Branch| {
            let mut tree = ModeTree { modes: vec![root_mode | top.bare], edges: Vec::new() };
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
