//! Brute force over all trees of a few modes, and what follows for the dynamic programme.

use super::super::{ModeSet, Spectra, SpectraSettings};
use super::{ModeTree, Pricing, TreeBound};
use crate::decompose::{Limits, forest_svd};
use crate::graph::ModeGraph;
use crate::problem::{Objective, Stop, Target};
use crate::rng::stream;
use crate::tensor::{Tensor, unflatten};
use rand_distr::{Distribution, StandardNormal};

/// A sum of two products, plus noise.
pub(super) fn noisy(dims: &[usize], seed: u64, noise: f64) -> Target {
    let mut rng = stream(seed, b"noisy");
    let mut vector =
        |len: usize| -> Vec<f64> { (0..len).map(|_| StandardNormal.sample(&mut rng)).collect() };
    let factors: Vec<Vec<Vec<f64>>> =
        (0..2).map(|_| dims.iter().map(|&d| vector(d)).collect()).collect();
    let entries: usize = dims.iter().product();
    let small = vector(entries);
    let entry = |k: usize| {
        let at = unflatten(k, dims);
        let product = |f: &Vec<Vec<f64>>| f.iter().zip(&at).map(|(v, &i)| v[i]).product::<f64>();
        factors.iter().map(product).sum::<f64>() + noise * small[k]
    };
    Target::new(Tensor::new(dims.to_vec(), (0..entries).map(entry).collect()).unwrap()).unwrap()
}

/// All partitions of so many modes into groups.
fn partitions(modes: usize) -> Vec<Vec<ModeSet>> {
    let mut all = vec![Vec::new()];
    for n in 0..modes {
        let mut next = Vec::new();
        for partition in &all {
            for k in 0..=partition.len() {
                let mut more: Vec<ModeSet> = partition.clone();
                if k == more.len() {
                    more.push(0);
                }
                more[k] |= 1 << n;
                next.push(more);
            }
        }
        all = next;
    }
    all
}

/// The edges of every labelled tree of so many vertices, from their Pruefer codes.
fn labelled_trees(vertices: usize) -> Vec<Vec<(usize, usize)>> {
    if vertices < 3 {
        return vec![(1..vertices).map(|v| (0, v)).collect()];
    }
    let codes = (0..vertices.pow(vertices as u32 - 2)).map(|code| {
        (0..vertices - 2).map(|k| code / vertices.pow(k as u32) % vertices).collect::<Vec<_>>()
    });
    codes
        .map(|code| {
            let mut degree = vec![1; vertices];
            code.iter().for_each(|&v| degree[v] += 1);
            let mut edges = Vec::new();
            for &v in &code {
                let leaf = (0..vertices).find(|&u| degree[u] == 1).unwrap();
                edges.push((leaf, v));
                degree[leaf] -= 1;
                degree[v] -= 1;
            }
            let last: Vec<usize> = (0..vertices).filter(|&u| degree[u] == 1).collect();
            edges.push((last[0], last[1]));
            edges
        })
        .collect()
}

/// Every tree on so many modes: all groups, all topologies, all vertices without modes that have three edges or more.
pub(super) fn all_trees(modes: usize) -> Vec<ModeTree> {
    let mut found = Vec::new();
    for groups in partitions(modes) {
        for internal in 0..=groups.len().saturating_sub(2) {
            let vertices = groups.len() + internal;
            for edges in labelled_trees(vertices) {
                let degree = |v: usize| edges.iter().filter(|e| e.0 == v || e.1 == v).count();
                if (groups.len()..vertices).all(|v| degree(v) >= 3) {
                    let mut modes = groups.clone();
                    modes.resize(vertices, 0);
                    let edges = edges.iter().map(|&(u, v)| (u, v, 1)).collect();
                    found.push(ModeTree { modes, edges });
                }
            }
        }
    }
    found
}

fn with_ranks(tree: &ModeTree, rank: impl Fn(ModeSet) -> usize) -> ModeTree {
    let mut tree = tree.clone();
    let splits = tree.splits();
    tree.edges.iter_mut().zip(splits).for_each(|(e, set)| e.2 = rank(set));
    tree
}

/// A tree whatever its vertices are called: what stands together, and the edges by what they split, with their ranks.
pub(super) fn key(tree: &ModeTree, modes: usize) -> (Vec<ModeSet>, Vec<(ModeSet, usize)>) {
    let all = (1 << modes) - 1;
    let normal = |set: ModeSet| if set & 1 == 1 { all & !set } else { set };
    let splits = tree.splits().into_iter().map(normal);
    let mut splits: Vec<(ModeSet, usize)> = splits.zip(tree.edges.iter().map(|e| e.2)).collect();
    let mut modes: Vec<ModeSet> = tree.modes.iter().copied().filter(|m| *m != 0).collect();
    modes.sort_unstable();
    splits.sort_unstable();
    (modes, splits)
}

#[test]
fn there_are_as_many_trees_as_counted_by_hand() {
    // Two modes: together, or an edge. Three: together; 3 x one edge; 3 paths, and a star round a vertex without a mode.
    assert_eq!([1, 2, 3].map(|n| all_trees(n).len()), [1, 2, 8]);
    // Each is a structure of its own, with as many parameters.
    let dims = [3, 4, 2, 5];
    for tree in all_trees(4) {
        let ranked = with_ranks(&tree, |set| 2 + set.count_ones() as usize);
        let params = ranked.structure().unwrap().params(&dims);
        assert_eq!(params, ranked.params(&dims), "{ranked:?}");
    }
}

#[test]
fn no_tree_goes_below_the_least_and_one_meets_it() {
    for (dims, seed) in [
        (vec![3, 4], 0),
        (vec![4, 2, 5], 1),
        (vec![3, 4, 2, 3], 2),
        (vec![2, 3, 2, 4, 2], 3),
        (vec![4, 3, 3, 2, 5], 4),
    ] {
        let trees = all_trees(dims.len());
        for noise in [0.0, 0.05, 1.0] {
            let target = noisy(&dims, seed, noise);
            let spectra = Spectra::new(&target, SpectraSettings::default());
            let bound = TreeBound::new(&spectra, &Stop::new());
            for eps in [1e-9, 1e-3, 1e-2, 0.1, 0.4] {
                let rank = |set| spectra.of(set).unwrap().rank(eps).max(1);
                let params = |t: &ModeTree| with_ranks(t, rank).params(&dims);
                let brute = trees.iter().map(params).min().unwrap();
                assert_eq!(bound.params(eps), brute, "{dims:?} {noise} {eps}");
                let tree = bound.tree(eps).unwrap();
                assert_eq!(tree.params(&dims), brute);
                assert_eq!(with_ranks(&tree, rank), tree);
            }
        }
    }
}

#[test]
fn the_other_objectives_are_bounded_by_the_best_of_all_trees_and_ranks() {
    let dims = [3, 2, 4];
    let target = noisy(&dims, 7, 0.3);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let bound = TreeBound::new(&spectra, &Stop::new());
    // Every tree with every rank, and the largest of its tails.
    let mut all: Vec<(u128, f64)> = Vec::new();
    for tree in all_trees(3) {
        let edges = tree.edges.len() as u32;
        for code in 0..6usize.pow(edges) {
            let mut tree = tree.clone();
            let rank = |k: usize| code / 6usize.pow(k as u32) % 6 + 1;
            tree.edges.iter_mut().enumerate().for_each(|(k, e)| e.2 = rank(k));
            let splits = tree.splits();
            let tail =
                |(s, e): (&ModeSet, &(usize, usize, usize))| spectra.of(*s).unwrap().bound(e.2);
            let worst = splits.iter().zip(&tree.edges).map(tail).fold(0.0, f64::max);
            all.push((tree.params(&dims), worst));
        }
    }
    for most in [9u128, 12, 15, 18, 22, 24] {
        let within = all.iter().filter(|t| t.0 <= most).map(|t| t.1);
        let brute = within.fold(f64::INFINITY, f64::min);
        let found = bound.error(most);
        assert!(found <= brute && found >= brute * (1.0 - 1e-8) - 1e-15, "{most}: {found} {brute}");
    }
    for lambda in [0.1, 1.0, 5.0, 100.0] {
        let loss = |t: &(u128, f64)| t.0 as f64 / 24.0 + lambda * t.1;
        let brute = all.iter().map(loss).fold(f64::INFINITY, f64::min);
        let found = bound.value(Objective::Lambda(lambda)).unwrap();
        assert!(found <= brute * (1.0 + 1e-12) && found >= brute * (1.0 - 1e-6), "{found} {brute}");
    }
}

#[test]
fn priced_trees_are_the_best_of_all_and_svds_keep_what_they_promise() {
    let dims = [3, 4, 2, 3];
    let trees = all_trees(4);
    let target = noisy(&dims, 11, 0.2);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let pricing = Pricing::new(&spectra, None, &Stop::new());
    for price in [10.0, 50.0, 200.0, 1000.0] {
        let mut brute = f64::INFINITY;
        for tree in &trees {
            let splits = tree.splits();
            for code in 0..6usize.pow(splits.len() as u32) {
                let ranked = {
                    let mut t = tree.clone();
                    let rank = |k: usize| code / 6usize.pow(k as u32) % 6 + 1;
                    t.edges.iter_mut().enumerate().for_each(|(k, e)| e.2 = rank(k));
                    t
                };
                let tails = ranked.tails(&spectra).unwrap();
                brute = brute.min(ranked.params(&dims) as f64 + price * tails);
            }
        }
        let found = pricing.tree(price).unwrap();
        let total = found.params as f64 + price * found.tails;
        assert!((total - brute).abs() < 1e-9 * brute, "{price}: {total} {brute}");
    }
    for budget in [1e-3, 1e-2, 0.1] {
        let found = pricing.within(budget).unwrap();
        assert!(found.tails <= budget);
        let trimmed = pricing.trimmed(&found, 3.0 * budget);
        assert!(trimmed.params <= found.params && trimmed.tails <= 3.0 * budget);
        // Where each vertex has a mode at most, its SVDs are those of a mode graph.
        if found.tree.modes.iter().all(|m| m.count_ones() <= 1) {
            let place = |v: usize| match found.tree.modes[v] {
                0 => 4 + (0..v).filter(|&u| found.tree.modes[u] == 0).count(),
                set => set.trailing_zeros() as usize,
            };
            let internal = found.tree.modes.iter().filter(|m| **m == 0).count();
            let edges = found.tree.edges.iter().map(|&(u, v, r)| (place(u), place(v), r)).collect();
            let graph = ModeGraph::new(4, internal, edges);
            let (_, rse) = forest_svd(&target, &graph, &Limits::none()).unwrap().unwrap();
            assert!(rse <= found.tails + 1e-12, "{rse} {}", found.tails);
        }
    }
}

/// What may come next of a tree: one rank changed by one, with its params and tails.
fn neighbours(
    tree: &ModeTree,
    up: bool,
    spectra: &Spectra,
    dims: &[usize],
) -> Vec<(ModeTree, f64, f64)> {
    let splits = tree.splits();
    let each = (0..tree.edges.len()).filter_map(|e| {
        let rank = tree.edges[e].2;
        let next = match up {
            true if rank < spectra.side(splits[e]) => rank + 1,
            false if rank > 1 => rank - 1,
            _ => return None,
        };
        let mut tree = tree.clone();
        tree.edges[e].2 = next;
        let (params, tails) = (tree.params(dims) as f64, tree.tails(spectra).unwrap());
        Some((tree, params, tails))
    });
    each.collect()
}

#[test]
fn trees_grow_and_shrink_by_the_step_that_is_worth_most() {
    let dims = [3, 4, 2, 3];
    for seed in 0..6 {
        let target = noisy(&dims, seed, 0.4);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let pricing = Pricing::new(&spectra, None, &Stop::new());
        let from = pricing.tree(30.0).unwrap();
        // Up: the most error for a parameter, as long as it is affordable.
        let most = from.params + 25;
        let (mut at, mut params, mut tails) = (from.tree.clone(), from.params as f64, from.tails);
        loop {
            let open = neighbours(&at, true, &spectra, &dims).into_iter();
            let open = open.filter(|n| n.1 <= most as f64 && n.2 < tails);
            let gain = |n: &(ModeTree, f64, f64)| (tails - n.2) / (n.1 - params).max(1.0);
            let Some(next) = open.max_by(|a, b| gain(a).total_cmp(&gain(b))) else { break };
            (at, params, tails) = next;
        }
        let grown = pricing.grown(&from, most);
        assert!(grown.params > from.params && grown.tails < from.tails, "seed {seed}");
        assert_eq!(
            (grown.tree, grown.params as f64, grown.tails),
            (at, params, tails),
            "seed {seed}"
        );
        // Down: the least error for a parameter, within the budget.
        let budget = 3.0 * from.tails + 0.05;
        let (mut at, mut params, mut tails) = (from.tree.clone(), from.params as f64, from.tails);
        loop {
            let open =
                neighbours(&at, false, &spectra, &dims).into_iter().filter(|n| n.2 <= budget);
            let loss = |n: &(ModeTree, f64, f64)| (n.2 - tails) / (params - n.1).max(1.0);
            let Some(next) = open.min_by(|a, b| loss(a).total_cmp(&loss(b))) else { break };
            (at, params, tails) = next;
        }
        let trimmed = pricing.trimmed(&from, budget);
        assert_eq!(
            (trimmed.tree, trimmed.params as f64, trimmed.tails),
            (at, params, tails),
            "seed {seed}"
        );
        // For so many parameters: the best comes first, and is no worse than one tree grown.
        let found = pricing.affordable(most);
        assert!(found.len() <= 4 && found.iter().all(|f| f.params <= most), "seed {seed}");
        assert!(found.is_sorted_by(|a, b| a.tails <= b.tails));
        let first = found.first().expect("there is one");
        assert!(first.tails <= grown.tails * (1.0 + 1e-12), "{} {}", first.tails, grown.tails);
        // Between all and nothing the price is sought closely: as good as the best of many prices.
        let budget = 0.05;
        let within = pricing.within(budget).unwrap();
        let prices = (0..400).map(|k| 10f64.powf(f64::from(k) / 50.0));
        let all = prices.filter_map(|p| pricing.tree(p)).filter(|p| p.tails <= budget);
        let least = all.map(|p| p.params).min().unwrap();
        assert!(within.tails <= budget && within.params <= least, "{} {least}", within.params);
    }
}

#[test]
fn beyond_all_trees_arcs_give_answers_and_a_bound_that_holds() {
    let dims = vec![2; 15];
    let target = noisy(&dims, 3, 1e-3);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let stop = Stop::new();
    let (bound, pricing) =
        (TreeBound::new(&spectra, &stop), Pricing::new(&spectra, Some(1e-2), &stop));
    assert!(!bound.is_whole() && bound.tree(1e-2).is_none());
    assert!(bound.several(1e-2, 3, u128::MAX).is_empty());
    let found = pricing.within(1e-2).unwrap();
    let least = bound.params(1e-2);
    assert!(least >= 30 && least <= found.params, "{least} {}", found.params);
    // A sum of two products: ranks of 2 at most, and two entries per mode at least.
    assert!(found.params <= 8 * 15 && found.tails <= 1e-2, "{}", found.params);
}
