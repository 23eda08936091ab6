//! What a layer can be, from cheap to dear: its front of params, multiply-adds and error.

use super::layer::{Cost, Layer, Settings, pairing_work};
use super::metric::{Metric, norm_squared};
use super::pairing::Pairing;
use super::screen::screen;
use super::sum::{Family, Sum, Wanted, most_ranks};
use super::term::{Term, product_form};
use super::trees::{LARGEST, TreeChoice, tree_term, trees};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tnsearch::problem::Stop;
use tnsearch::tensor::Scalar;

/// What is known about a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Front {
    /// Its place in the file.
    pub index: usize,
    /// Its squared norm, in its metric where it has one.
    pub norm: f64,
    /// Whether it has a metric.
    pub weighted: bool,
    /// The pairings of its sums.
    pub pairings: Vec<Pairing>,
    /// Sums of Kronecker products and SVDs.
    pub families: Vec<Family>,
    /// Trees.
    pub trees: Vec<TreeChoice>,
}

/// How a layer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recipe {
    /// As it is.
    Dense,
    /// A sum: the family, and the rank of its SVD.
    Sum(usize, usize),
    /// A tree.
    Tree(usize),
}

/// A point of the front.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Numbers that are stored.
    pub params: u64,
    /// Multiply-adds of applying it to one input.
    pub multiply_adds: u64,
    /// Its squared error, in the metric where the layer has one.
    pub error: f64,
    /// What it is.
    pub recipe: Recipe,
}

/// The shape of a term: its modes, what the axes of its cores are, and their shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermShape {
    /// The factors of rows, then of columns.
    pub modes: Vec<usize>,
    /// The axes of the cores.
    pub einsum: String,
    /// The shapes of the cores.
    pub cores: Vec<Vec<usize>>,
}

/// Limits that the goal puts on a layer: costs above `most` and squared errors below `enough` are of no use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// The most it may cost.
    pub most: f64,
    /// The part of its squared norm below which an error is small enough.
    pub enough: f64,
}

/// The cost of a rank of each pairing.
fn rates(layer: &Layer, cost: Cost) -> impl Fn(&Pairing) -> f64 + Sync {
    let layer = layer.clone();
    move |p: &Pairing| match cost {
        Cost::MultiplyAdds => pairing_work(p) as f64,
        _ => layer.cost(cost, p.entries() as u64, 0),
    }
}

/// Looks for what a layer can be. None where it was stopped.
pub fn front<T: Scalar>(
    mut w: Vec<T>,
    layer: &Layer,
    metric: Option<&Metric<T>>,
    settings: &Settings,
    reach: Reach,
    stop: &Stop,
) -> Option<Front> {
    let norm = norm_squared(&w, metric);
    let rate = rates(layer, settings.cost);
    let seed = settings.seed ^ layer.index as u64;
    let wanted = Wanted { rate: &rate, most: reach.most, enough: reach.enough * norm, seed };
    let sides = (layer.rows, layer.columns);
    // Trees know no metric.
    let trees = match settings.trees && metric.is_none() && norm > 0.0 {
        true => trees(&w, &layer.shape, wanted, stop)?,
        false => Vec::new(),
    };
    let pairings = match settings.products {
        true => screen(&mut w, sides, wanted, stop)?,
        false => Vec::new(),
    };
    let families = Sum::new(w, sides, &pairings, metric, wanted, stop).families()?;
    let weighted = metric.is_some();
    Some(Front { index: layer.index, norm, weighted, pairings, families, trees })
}

impl Front {
    /// Its points, that of the layer as it is included; none dearer than that, and no two of one cost.
    pub fn points(&self, layer: &Layer, cost: Cost) -> Vec<Point> {
        let dense = layer.entries();
        let whole =
            Point { params: dense, multiply_adds: dense, error: 0.0, recipe: Recipe::Dense };
        let mut points = vec![whole];
        let plain = Pairing::plain(layer.rows, layer.columns);
        let mut work: HashMap<Pairing, u64> = HashMap::new();
        for (k, family) in self.families.iter().enumerate() {
            let (mut params, mut multiply_adds) = (0, 0);
            for (p, rank) in family.products.iter().filter(|p| p.1 > 0) {
                params += p.entries() as u64 * *rank as u64;
                multiply_adds += *work.entry(*p).or_insert_with(|| pairing_work(p)) * *rank as u64;
            }
            let mut error = family.base;
            for rank in 0..=family.squares.len() {
                if rank > 0 {
                    params += plain.entries() as u64;
                    multiply_adds += plain.entries() as u64;
                    error = (error - family.squares[rank - 1]).max(0.0);
                }
                if params > 0 {
                    points.push(Point {
                        params,
                        multiply_adds,
                        error,
                        recipe: Recipe::Sum(k, rank),
                    });
                }
            }
        }
        for (k, tree) in self.trees.iter().enumerate() {
            let (params, multiply_adds) = (tree.params, tree.multiply_adds);
            points.push(Point {
                params,
                multiply_adds,
                error: tree.error,
                recipe: Recipe::Tree(k),
            });
        }
        let of = |p: &Point| match p.recipe {
            Recipe::Dense => layer.dense_cost(cost),
            _ => layer.cost(cost, p.params, p.multiply_adds),
        };
        points.sort_by(|a, b| of(a).total_cmp(&of(b)).then(a.error.total_cmp(&b.error)));
        let mut best = f64::INFINITY;
        points.retain(|p| {
            let better = p.error < best;
            best = best.min(p.error);
            better || p.recipe == Recipe::Dense
        });
        let end = points.iter().position(|p| p.recipe == Recipe::Dense).unwrap_or(0);
        points.truncate(end + 1);
        points
    }

    /// The shapes of the terms of a recipe.
    pub fn terms(&self, recipe: Recipe, layer: &Layer) -> Vec<TermShape> {
        match recipe {
            Recipe::Dense => Vec::new(),
            Recipe::Sum(family, rank) => {
                let products = self.families[family].products.iter().copied();
                let plain = (Pairing::plain(layer.rows, layer.columns), rank);
                let all = std::iter::once(plain).chain(products).filter(|p| p.1 > 0);
                all.map(|(p, rank)| {
                    let (einsum, modes, cores) = product_form(&p, rank);
                    TermShape { modes, einsum, cores: cores.to_vec() }
                })
                .collect()
            }
            Recipe::Tree(k) => {
                let tree = &self.trees[k];
                let (modes, einsum, cores) = (tree.modes.clone(), tree.einsum(), tree.shapes());
                vec![TermShape { modes, einsum, cores }]
            }
        }
    }

    /// What a recipe is called.
    pub fn name(&self, recipe: Recipe) -> String {
        match recipe {
            Recipe::Dense => "as it is".to_owned(),
            Recipe::Tree(k) => {
                let modes: Vec<String> = self.trees[k].modes.iter().map(usize::to_string).collect();
                let ranks: Vec<String> =
                    self.trees[k].edges.iter().map(|e| e[2].to_string()).collect();
                format!("tree on {}, ranks {}", modes.join("x"), ranks.join(","))
            }
            Recipe::Sum(family, rank) => {
                let product = |(p, rank): &(Pairing, usize)| {
                    let one = format!("kron {}x{} (x) {}x{}", p.r1, p.c1, p.r2, p.c2);
                    if *rank > 1 { format!("{rank} {one}") } else { one }
                };
                let products =
                    self.families[family].products.iter().filter(|p| p.1 > 0).map(product);
                let plain = (rank > 0).then(|| format!("svd {rank}"));
                plain.into_iter().chain(products).collect::<Vec<_>>().join(" + ")
            }
        }
    }
}

/// The terms of a recipe for a layer, with the numbers of its front. None where it was stopped.
pub fn terms<T: Scalar>(
    w: Vec<T>,
    layer: &Layer,
    metric: Option<&Metric<T>>,
    settings: &Settings,
    (front, recipe, reach): (&Front, Recipe, Reach),
    stop: &Stop,
) -> Option<Vec<Term<T>>> {
    let seed = settings.seed ^ layer.index as u64;
    match recipe {
        Recipe::Dense => Some(Vec::new()),
        Recipe::Tree(k) => Some(vec![tree_term(&w, &front.trees[k], seed, stop)?]),
        Recipe::Sum(family, rank) => {
            let rate = rates(layer, settings.cost);
            let enough = reach.enough * front.norm;
            let wanted = Wanted { rate: &rate, most: reach.most, enough, seed };
            let sides = (layer.rows, layer.columns);
            let sum = Sum::new(w, sides, &front.pairings, metric, wanted, stop);
            let products = sum.terms(front.families[family].step, rank)?;
            Some(products.into_iter().map(Term::of_product).collect())
        }
    }
}

/// The bytes that a layer's front and cores take at most.
pub fn bytes_needed(layer: &Layer, weighted: bool, settings: &Settings, reach: Reach) -> u64 {
    let number = if layer.is_wide() { 8.0 } else { 4.0 };
    let (entries, sides) = (layer.entries() as f64, (layer.rows + layer.columns) as f64);
    let plain = Pairing::plain(layer.rows, layer.columns);
    let rate = rates(layer, settings.cost);
    let k = most_ranks(&plain, &rate, reach.most) as f64;
    // The matrix; vectors of two computations and what is between; small matrices of 64 bits; bands.
    let mut numbers = entries + 3.0 * sides * k + 3.0 * layer.columns as f64 * k;
    if weighted {
        numbers += entries + 2.0 * (layer.columns as f64).powi(2);
    }
    if settings.trees && !weighted && entries <= LARGEST as f64 {
        // The tensor, a permuted copy in each thread, and a Gram matrix of the wider cut.
        numbers += 6.0 * entries;
    }
    (number * numbers + 8.0 * 6.0 * k * k + 32e6) as u64
}
