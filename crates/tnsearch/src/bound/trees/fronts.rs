//! The dynamic programme over sets of modes.
//!
//! A *bundle* on a set S of modes is what may hang together at a vertex under construction: its width w (the product
//! of its axes' lengths) and the cost c of the cores behind them. A bare mode is `(I_n, 0)`; a subtree hung on an edge
//! of rank r is `(r, r w' + c')` for some bundle `(w', c')` on its modes, plus what the edge is priced at; bundles on
//! disjoint sets make `(w1 w2, c1 + c2)`. A tree hung up at the vertex of mode 0 costs `I_0 w + c` for some bundle
//! on all other modes: so sets with mode 0 need not be looked at (with [`Sets::Arcs`]: with the first of the order). Of the bundles on a set only the Pareto front can be
//! part of the best tree, since all later costs grow with w and with c.

use super::super::ModeSet;
use super::ModeTree;
use super::sets::{Index, Sets};
use crate::problem::Stop;

/// Where a bundle comes from: its first part (with the lowest mode), and the bundle on the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The set of the first part, and which of that set's parts.
    pub first: u32,
    pub part: u32,
    /// Which bundle on the rest.
    pub rest: u32,
}

/// A bundle of the front of its set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bundle {
    pub width: f64,
    pub cost: f64,
    pub link: Link,
}

/// One axis of a bundle: a bare mode, or a subtree hung on an edge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The rank of the edge; 0: a bare mode.
    pub rank: usize,
    pub width: f64,
    pub cost: f64,
    /// The bundle at the top of the subtree.
    pub inner: Link,
}

/// A rank that an edge may have, and what it is priced at.
pub(super) type Choice = (usize, f64);

/// The fronts of all sets, for one choice of ranks per edge or several.
pub(super) struct Fronts {
    dims: Vec<usize>,
    pub sets: Sets,
    pub parts: Vec<Vec<Part>>,
    pub bundles: Vec<Vec<Bundle>>,
}

/// What a dynamic programme is about.
#[derive(Clone, Copy)]
pub(super) struct Problem<'p> {
    pub dims: &'p [usize],
    /// The sets of modes that an edge may have behind it.
    pub sets: &'p Sets,
    /// The ranks that an edge with these modes behind it may have, rising.
    pub choices: &'p (dyn Fn(ModeSet) -> Vec<Choice> + 'p),
    /// Trees that cost more than this need not be found.
    pub limit: f64,
    /// The most bundles kept for a set; `usize::MAX`: all, as a proof needs.
    pub most: usize,
    pub stop: &'p Stop,
}

const NOTHING: Link = Link { first: 0, part: 0, rest: 0 };

impl Fronts {
    /// Solves the problem; none if it was told to stop.
    pub fn new(problem: &Problem) -> Option<Fronts> {
        let Problem { dims, sets, choices, limit, most, stop } = *problem;
        let mut parts: Vec<Vec<Part>> = vec![Vec::new(); sets.len()];
        let mut bundles: Vec<Vec<Bundle>> = vec![Vec::new(); sets.len()];
        bundles[0] = vec![Bundle { width: 1.0, cost: 0.0, link: NOTHING }];
        let mut found: Vec<Bundle> = Vec::new();
        for set in 1..sets.len() {
            if set % 16 == 0 && stop.is_set() {
                return None;
            }
            found.clear();
            let modes = sets.modes(set);
            if modes.is_power_of_two() {
                let width = dims[modes.trailing_zeros() as usize] as f64;
                parts[set].push(Part { rank: 0, width, cost: 0.0, inner: NOTHING });
                found.push(Bundle { width, cost: 0.0, link: link(set, 0, 0) });
            }
            sets.each_split(set, |first, rest| {
                join((&parts[first], &bundles[rest]), first, limit, &mut found);
            });
            thin(&mut found, most);
            for (rank, price) in choices(modes) {
                let width = rank as f64;
                let total = |b: &Bundle| width * b.width + b.cost + price;
                let best = found.iter().min_by(|a, b| total(a).total_cmp(&total(b)));
                if let Some(best) = best.filter(|b| total(b) + width <= limit) {
                    parts[set].push(Part { rank, width, cost: total(best), inner: best.link });
                }
            }
            let hung = parts[set].iter().enumerate().filter(|(_, part)| part.rank > 0);
            found.extend(hung.map(|(k, part)| {
                let Part { width, cost, .. } = *part;
                Bundle { width, cost, link: link(set, k, 0) }
            }));
            thin(&mut found, most);
            bundles[set] = found.clone();
        }
        Some(Fronts { dims: dims.to_vec(), sets: sets.clone(), parts, bundles })
    }

    /// The least cost of a tree, and the bundle below mode 0 that it has; none above the limit.
    pub fn best(&self) -> Option<(f64, Link)> {
        let root = self.dims[self.sets.root()] as f64;
        let total = |b: &Bundle| root * b.width + b.cost;
        let best = self.bundles.last()?.iter().min_by(|a, b| total(a).total_cmp(&total(b)))?;
        Some((total(best), best.link))
    }

    /// The best tree.
    pub fn tree(&self) -> Option<ModeTree> {
        let (_, link) = self.best()?;
        let mut tree = ModeTree { modes: vec![1 << self.sets.root()], edges: Vec::new() };
        self.build(&mut tree, 0, self.bundles.len() - 1, link);
        Some(tree)
    }

    /// Adds what a bundle is made of to a vertex.
    fn build(&self, tree: &mut ModeTree, vertex: usize, set: Index, link: Link) {
        let (mut set, mut link) = (set, link);
        while set != 0 {
            let first = link.first as Index;
            let part = &self.parts[first][link.part as usize];
            if part.rank == 0 {
                tree.modes[vertex] |= self.sets.modes(first);
            } else {
                let child = tree.modes.len();
                tree.modes.push(0);
                tree.edges.push((vertex, child, part.rank));
                self.build(tree, child, first, part.inner);
            }
            set = self.sets.minus(set, first);
            link = self.bundles[set][link.rest as usize].link;
        }
    }
}

fn link(first: Index, part: usize, rest: usize) -> Link {
    Link { first: first as u32, part: part as u32, rest: rest as u32 }
}

/// All bundles of a part and a bundle on the rest.
fn join((parts, rest): (&[Part], &[Bundle]), first: Index, limit: f64, found: &mut Vec<Bundle>) {
    for (p, part) in parts.iter().enumerate() {
        for (b, bundle) in rest.iter().enumerate() {
            let (width, cost) = (part.width * bundle.width, part.cost + bundle.cost);
            if width + cost <= limit {
                found.push(Bundle { width, cost, link: link(first, p, b) });
            }
        }
    }
    // The lists of large sets are cut down on the way, so that they stay short.
    if found.len() > 4096 {
        thin(found, usize::MAX);
    }
}

/// Keeps the Pareto front, by rising width, and of it at most so many, evenly over the logarithm of the width.
fn thin(found: &mut Vec<Bundle>, most: usize) {
    found.sort_unstable_by(|a, b| a.width.total_cmp(&b.width).then(a.cost.total_cmp(&b.cost)));
    let mut least = f64::INFINITY;
    found.retain(|b| {
        let better = b.cost < least;
        least = least.min(b.cost);
        better
    });
    if found.len() > most {
        let len = found.len();
        let mut at = 0;
        found.retain(|_| {
            at += 1;
            (at - 1) * most / len != at * most / len
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(width: f64, cost: f64) -> Bundle {
        Bundle { width, cost, link: link(0, 0, 0) }
    }

    fn numbers(bundles: &[Bundle]) -> Vec<(f64, f64)> {
        bundles.iter().map(|b| (b.width, b.cost)).collect()
    }

    #[test]
    fn fronts_are_thinned_to_what_nothing_beats() {
        let mut found: Vec<Bundle> =
            [(4.0, 1.0), (1.0, 9.0), (2.0, 5.0), (2.0, 7.0), (3.0, 5.0), (5.0, 2.0)]
                .map(|(w, c)| bundle(w, c))
                .into();
        thin(&mut found, usize::MAX);
        assert_eq!(numbers(&found), [(1.0, 9.0), (2.0, 5.0), (4.0, 1.0)]);
        // So many of a long front, evenly, the widest and cheapest among them.
        let long =
            || (0..10).map(|k| bundle(f64::from(k), 10.0 - f64::from(k))).collect::<Vec<_>>();
        let mut found = long();
        thin(&mut found, 4);
        assert_eq!(numbers(&found).iter().map(|n| n.0).collect::<Vec<_>>(), [2.0, 4.0, 7.0, 9.0]);
        let mut found = long();
        thin(&mut found, 10);
        assert_eq!(found.len(), 10);
    }

    #[test]
    fn parts_and_bundles_are_joined_up_to_the_limit() {
        let part = Part { rank: 2, width: 2.0, cost: 3.0, inner: link(0, 0, 0) };
        let rest = [bundle(1.0, 1.0), bundle(3.0, 4.0), bundle(4.0, 4.0)];
        let mut found = Vec::new();
        // Width and cost: 2 + 4, 6 + 7, 8 + 7.
        join((&[part], &rest), 5, 13.0, &mut found);
        assert_eq!(numbers(&found), [(2.0, 4.0), (6.0, 7.0)]);
        assert_eq!((found[1].link.first, found[1].link.part, found[1].link.rest), (5, 0, 1));
        // Long lists are cut down to their front on the way.
        let many: Vec<Bundle> = (0..4096).map(|_| bundle(1.0, 1.0)).collect();
        let mut found = Vec::new();
        join((&[part], &many), 5, 100.0, &mut found);
        assert_eq!(found.len(), 4096);
        join((&[part], &rest), 5, 100.0, &mut found);
        assert_eq!(numbers(&found), [(2.0, 4.0)]);
    }
}
