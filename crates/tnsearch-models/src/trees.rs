//! A layer as a tree network on the factors of its sides: all trees at once, from the spectra of its cuts.
//!
//! Rows and columns are split into factors, which are the modes; a kernel of a convolution has its own. Truncated SVDs on a tree
//! lose at most the sum of the tails of its cuts, which the search over all trees minimises for a price ([`Pricing`]).

use super::sum::Wanted;
use super::term::{Term, multiply_adds, tree_einsum};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tnsearch::bound::{ModeTree, Pricing, Spectra, SpectraSettings};
use tnsearch::decompose::{Goal, Limits, tree_svd};
use tnsearch::fit::{FitSettings, Request, Run, fit};
use tnsearch::graph::Structure;
use tnsearch::network::Network;
use tnsearch::problem::{Stop, Target};
use tnsearch::tensor::{Scalar, Tensor};

/// Layers of more entries get no tree.
pub const LARGEST: usize = 1 << 22;
/// Those of more than this are split into fewer modes, and their trees are not fitted.
const LARGE: usize = 1 << 18;
/// Trees of a layer.
const TREES: usize = 10;
/// Sweeps of the fit of the tree that is written.
const SWEEPS: usize = 30;

/// A tree for a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TreeChoice {
    /// The sides of the modes, rows first.
    pub modes: Vec<usize>,
    /// How many of them are rows.
    pub rows: usize,
    /// The modes at each vertex.
    pub groups: Vec<Vec<usize>>,
    /// Its edges with their ranks.
    pub edges: Vec<[usize; 3]>,
    /// The entries of its cores.
    pub params: u64,
    /// The multiply-adds of applying it.
    pub multiply_adds: u64,
    /// The squared error of its SVDs, or what it is at most.
    pub error: f64,
}

impl TreeChoice {
    /// The shapes of its cores.
    pub fn shapes(&self) -> Vec<Vec<usize>> {
        let shape = |(v, modes): (usize, &Vec<usize>)| -> Vec<usize> {
            let at = self.edges.iter().filter(|e| e[0] == v || e[1] == v);
            at.map(|e| e[2]).chain(modes.iter().map(|&n| self.modes[n])).collect()
        };
        self.groups.iter().enumerate().map(shape).collect()
    }

    /// What the axes of its cores are.
    pub fn einsum(&self) -> String {
        tree_einsum(&self.groups, &self.edges)
    }

    fn structure(&self) -> Option<Structure> {
        let edges: Vec<_> = self.edges.iter().map(|e| (e[0], e[1], e[2])).collect();
        Structure::from_groups("any-tree", &self.groups, &edges).ok()
    }
}

/// The sides of the modes of a layer, and how many are rows.
fn modes_of(shape: &[usize], entries: usize) -> (Vec<usize>, usize) {
    let mut sides: Vec<Vec<usize>> = shape.iter().map(|&d| vec![d]).collect();
    let most = if entries > LARGE { 4 } else { 6 };
    loop {
        let count = sides.iter().flatten().filter(|d| **d > 1).count();
        // The largest side that has two factors, into two as equal as possible.
        let all = sides
            .iter()
            .enumerate()
            .flat_map(|(a, s)| s.iter().enumerate().map(move |(k, &d)| (d, a, k)));
        let factor = |d: usize| (2..=d.isqrt()).rev().find(|f| d.is_multiple_of(*f));
        let best = all
            .filter(|(d, ..)| *d >= 8 && factor(*d).is_some())
            .max_by_key(|(d, a, k)| (*d, usize::MAX - a, usize::MAX - k));
        let Some((d, axis, k)) = best.filter(|_| count < most) else { break };
        let f = factor(d).unwrap_or(d);
        sides[axis].splice(k..=k, [f, d / f]);
    }
    let rows = sides[0].iter().filter(|d| **d > 1).count();
    (sides.into_iter().flatten().filter(|d| *d > 1).collect(), rows)
}

/// A tensor as a target, if it can be one.
fn target<T: Scalar>(w: &[T], modes: &[usize]) -> Option<Target> {
    Target::new(T::erase(Tensor::new(modes.to_vec(), w.to_vec()).ok()?)).ok()
}

/// Trees for a layer of this shape, smaller than it. None where it was stopped.
pub fn trees<T: Scalar>(
    w: &[T],
    shape: &[usize],
    wanted: Wanted<'_>,
    stop: &Stop,
) -> Option<Vec<TreeChoice>> {
    let (modes, rows) = modes_of(shape, w.len());
    if w.len() > LARGEST || modes.len() < 3 || rows == 0 || rows == modes.len() {
        return Some(Vec::new());
    }
    let Some(target) = target(w, &modes) else { return Some(Vec::new()) };
    // That of the weights themselves, which is what the budget counts: a target may be scaled.
    let norm = target.norm_squared() * target.scale() * target.scale();
    if !norm.is_normal() {
        // Squares of such weights are no numbers: no error can be told, so no tree is offered.
        return Some(Vec::new());
    }
    let least = (wanted.enough / norm).max(1e-8);
    let mut settings = SpectraSettings::default();
    settings.matters = Some(least);
    let spectra = Spectra::new(&target, settings).stoppable(stop);
    let pricing = Pricing::new(&spectra, None, stop);
    let mut found = Vec::new();
    for priced in pricing.curve(least, 0.9, TREES) {
        if stop.is_set() {
            return None;
        }
        if priced.tree.edges.is_empty() || priced.params >= w.len() as u128 {
            continue;
        }
        if let Some(mut choice) = described(&priced.tree, &modes, rows, priced.tails * norm) {
            if w.len() <= LARGE {
                // Ranks that the SVDs do not have are not written.
                let Some((_, rse)) = svd(&target, &choice, stop) else { continue };
                choice.error = rse * norm;
            }
            found.push(choice);
        }
    }
    if stop.is_set() { None } else { Some(found) }
}

fn described(tree: &ModeTree, modes: &[usize], rows: usize, error: f64) -> Option<TreeChoice> {
    let structure = tree.structure().ok()?;
    let (groups, edges) = (structure.groups(), structure.edges());
    let params = u64::try_from(structure.params(modes)).ok()?;
    let modes = modes.to_vec();
    let mut choice = TreeChoice { modes, rows, groups, edges, params, multiply_adds: 0, error };
    choice.multiply_adds =
        multiply_adds(&choice.einsum(), &choice.shapes(), &choice.modes, rows).ok()?;
    Some(choice)
}

/// The network of a tree by truncated SVDs, and its RSE. None where its ranks are not those asked for.
fn svd(target: &Target, choice: &TreeChoice, stop: &Stop) -> Option<(Network, f64)> {
    let structure = choice.structure()?;
    let template = Arc::clone(structure.template());
    let goal = Goal::ranks(structure.ranks().to_vec()).ok()?;
    let limits = Limits::none().with(|l| l.stop = stop.clone());
    let found = tree_svd(target, &template, structure.permutation(), &goal, &limits).ok()?;
    (found.network.structure().edges() == choice.edges).then_some((found.network, found.rse))
}

/// The term of a tree: by SVDs, then by a fit where the layer is not large. None where it was stopped.
pub fn tree_term<T: Scalar>(
    w: &[T],
    choice: &TreeChoice,
    seed: u64,
    stop: &Stop,
) -> Option<Term<T>> {
    let target = target(w, &choice.modes)?;
    let (network, rse) = svd(&target, choice, stop)?;
    let polished = || -> Option<Network> {
        let (graph, cores) = network.to_mode_graph();
        let settings = FitSettings::default().with(|s| {
            s.restarts = 1;
            s.rescue = 0;
            s.max_sweeps = SWEEPS;
        });
        let request = Request::new(graph, settings.check().ok()?, seed).beginning_at(cores);
        let fitted = fit(&target, &request, &Run::until(stop)).ok()?;
        let better = !fitted.interrupted && fitted.error < rse;
        let (structure, dims) = (network.structure().clone(), choice.modes.clone());
        Network::from_fitted(structure, dims, fitted.cores).ok().filter(|_| better)
    };
    let better = if w.len() <= LARGE { polished() } else { None };
    if stop.is_set() {
        return None;
    }
    Term::of_network(better.as_ref().unwrap_or(&network))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_split_evenly_and_kernels_keep_theirs() {
        assert_eq!(modes_of(&[768, 3072], 768 * 3072), (vec![24, 32, 48, 64], 2));
        assert_eq!(modes_of(&[64, 32, 3, 3], 64 * 32 * 9), (vec![8, 8, 4, 8, 3, 3], 2));
        assert_eq!(modes_of(&[7, 1, 11], 77), (vec![7, 11], 1));
    }

    #[test]
    fn no_tree_is_offered_where_errors_are_no_numbers() {
        let weights = |scale: f64| -> Vec<f64> {
            (0..256).map(|k| scale * ((k / 16 + k % 16) as f64 + 1.0)).collect()
        };
        let of = |scale: f64| {
            let rate = |_: &super::super::pairing::Pairing| 1.0;
            let wanted = Wanted { rate: &rate, most: 1e9, enough: 0.0, seed: 0 };
            trees(&weights(scale), &[16, 16], wanted, &Stop::new()).unwrap()
        };
        assert!(!of(1.0).is_empty());
        for scale in [1e200, 1e-200] {
            assert!(of(scale).is_empty(), "{scale}");
        }
        // As large as they may be.
        assert!(of(1e150).iter().all(|tree| tree.error.is_finite()));
    }

    #[test]
    fn trees_lose_what_they_say() {
        // A product of three small matrices over factors of both sides.
        let part = |a: usize, b: usize, seed: usize| ((a * 7 + b * 3 + seed) % 11) as f64 - 4.7;
        let entry = |p: usize| {
            let (i, j) = (p / 48, p % 48);
            part(i / 6, j / 8, 1) * part(i % 6, j % 8, 5) + 0.2 * part(i, j, 2)
        };
        // Whatever their size: targets are scaled.
        for size in [1.0, 1e6, 1e-7] {
            trees_of((0..36 * 48).map(|p| size * entry(p)).collect());
        }
    }

    fn trees_of(w: Vec<f64>) {
        let all: f64 = w.iter().map(|x| x * x).sum();
        let (stop, rate) = (Stop::new(), |_: &super::super::pairing::Pairing| 1.0);
        let wanted = Wanted { rate: &rate, most: 1e9, enough: 1e-6 * all, seed: 0 };
        let found = trees(&w, &[36, 48], wanted, &stop).unwrap();
        assert!(found.len() > 2, "{found:?}");
        for choice in &found {
            let term = tree_term(&w, choice, 0, &stop).unwrap();
            assert_eq!(term.params(), choice.params);
            let shapes: Vec<Vec<usize>> = term.cores.iter().map(|c| c.dims().to_vec()).collect();
            assert_eq!((shapes, &term.einsum), (choice.shapes(), &choice.einsum()));
            let z = term.dense().unwrap();
            let lost: f64 = w.iter().zip(z.data()).map(|(a, b)| (a - b).powi(2)).sum();
            assert!(lost <= choice.error * (1.0 + 1e-6) + 1e-9 * all, "{lost} {choice:?}");
        }
        stop.set();
        assert!(trees(&w, &[36, 48], wanted, &stop).is_none());
    }
}
