//! Structures inside a template that direct methods give, without a fit: what every search can begin with.
//!
//! For a tree the ranks follow from the spectra of its cuts ([`water`](crate::decompose)), whatever the order of the
//! modes, so orders can be compared in microseconds. Orders begin with the one of the tensor and those that mutual
//! information suggests, and are improved by swaps. Graphs with cycles contain trees; rings have ranks of their own.
//! Where there are too many cuts, or their spectra would take too long, trees are taken apart by truncated SVDs with the
//! modes in one good order.

mod cuts;
mod mutual;
mod ring;
mod sequential;
mod starts;
#[cfg(test)]
mod tests;
mod tree;
mod unfolded;

use crate::bound::{ALL_TREES, MAX_MODES, Spectra, good_order};
use crate::decompose::Limits;
use crate::decompose::water::Water;
use crate::graph::{Structure, Template};
use crate::problem::{Objective, Target};
use crate::tensor::size;
use cuts::Cuts;
use ring::RingIn;
pub(super) use starts::{starts, usual_formats, usual_trees};
use std::sync::Arc;
use tree::TreeIn;

/// The most structures given.
const MOST: usize = 8;

/// What ranks are to do.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Aim {
    /// Few parameters that lose at most this part.
    Error(f64),
    /// Lose little with at most this many parameters.
    Params(f64),
    /// The least `params + price * lost`.
    Price(f64),
}

impl Aim {
    fn of(objective: Objective, entries: f64) -> Self {
        match objective {
            Objective::MaxError(eps) => Aim::Error(eps),
            Objective::MaxParams(params) => Aim::Params(params as f64),
            Objective::Lambda(lambda) => Aim::Price(lambda * entries),
        }
    }

    /// What is to be small.
    fn value(self, water: &Water, ranks: &[usize]) -> f64 {
        match self {
            Aim::Error(_) => water.params(ranks),
            Aim::Params(_) => water.lost(ranks),
            Aim::Price(price) => water.params(ranks) + price * water.lost(ranks),
        }
    }

    /// This, and what sweeps may bring to it: less is lost than the sum of tails says.
    fn bolder(self) -> Vec<Aim> {
        match self {
            Aim::Error(eps) => {
                [1.0, 1.3, 1.6, 2.0].map(|k| Aim::Error((k * eps).min(1.0))).to_vec()
            }
            Aim::Params(_) => vec![self],
            Aim::Price(price) => vec![self, Aim::Price(0.7 * price)],
        }
    }

    /// This, and what leaves room for what a bound does not see.
    fn safer(self) -> Vec<Aim> {
        match self {
            Aim::Error(eps) => {
                [4.0, 20.0, 100.0, 500.0, 2500.0].map(|k| Aim::Error(eps / k)).to_vec()
            }
            other => vec![other],
        }
    }
}

/// A structure that was found.
struct Candidate {
    /// What is to be small.
    value: f64,
    /// Whether truncated SVDs alone make it what was asked for.
    sure: bool,
    /// Its modes along the tree or ring.
    order: Vec<usize>,
    structure: Structure,
}

/// Structures of the template that direct methods give for the objective: at most a handful, the best predicted first,
/// ranks up to `max_rank` and none of no use. No fit is made. Empty where nothing was found in time, or where the
/// largest ranks do not reach the error.
///
/// With an error, the first one reaches it by truncated SVDs alone (where a tree in the template can); the others are
/// smaller, and may need sweeps for that.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::bound::{Spectra, SpectraSettings};
/// use tnsearch::problem::{Objective, Target};
/// use tnsearch::{decompose::Limits, graph::Template, search::incumbents, tensor::Tensor};
/// // x_ijk = i + j + k has rank 2 in every unfolding.
/// let sum = |n: usize| (n / 16 + n / 4 % 4 + n % 4) as f64;
/// let x = Target::new(Tensor::new(vec![4; 3], (0..64).map(sum).collect()).unwrap()).unwrap();
/// let spectra = Spectra::new(&x, SpectraSettings::default());
/// let path = Arc::new(Template::path(3).unwrap());
/// let found = incumbents(&x, &spectra, &path, Objective::MaxError(1e-9), 8, &Limits::none());
/// assert_eq!(found[0].ranks(), [2, 2]);
/// ```
pub fn incumbents(
    target: &Target,
    spectra: &Spectra,
    template: &Arc<Template>,
    objective: Objective,
    max_rank: usize,
    limits: &Limits,
) -> Vec<Structure> {
    let objective = net(target, objective);
    let dims = target.full_dims();
    let order = dims.len();
    // A copy vertex is no core that SVDs could give.
    let copies = template.copy_vertex().is_some();
    if copies || template.order() != order || order > MAX_MODES || order != spectra.order() {
        return Vec::new();
    }
    let aim = Aim::of(objective, size(dims) as f64);
    let mut found = match order > ALL_TREES {
        true => Vec::new(),
        false => climbed(target, spectra, template, (objective, aim), max_rank, limits),
    };
    if found.is_empty() {
        let good = good_order(spectra, &limits.stop.within_part(0.5));
        found = sequential::found(target, template, objective, good, max_rank, limits);
    }
    best_of(found, target, aim)
}

/// What orders of the modes lead to that are improved by swaps, each judged by the spectra of its cuts.
fn climbed(
    target: &Target,
    spectra: &Spectra,
    template: &Arc<Template>,
    (objective, aim): (Objective, Aim),
    max_rank: usize,
    limits: &Limits,
) -> Vec<Candidate> {
    let dims = target.full_dims();
    let order = dims.len();
    let cuts = Cuts::new(target, spectra, objective.max_error(), limits);
    let identity: Vec<usize> = (0..order).collect();
    let mutual = mutual::mutual(&cuts, order);
    let ring = RingIn::in_template(template);
    let mut found: Vec<Candidate> = Vec::new();
    for tree in TreeIn::all_in(template) {
        // The order of the tensor on the template's vertices in their order.
        let mut starts = vec![tree.external.clone()];
        let numbers = template.external_vertices();
        starts[0].iter_mut().for_each(|v| *v = numbers.binary_search(v).unwrap_or(0));
        starts.push(identity.clone());
        starts.extend(mutual.as_ref().map(|m| mutual::line(m)));
        starts.extend(mutual.as_ref().map(|m| mutual::circle(m)));
        let climb = |start: &[usize]| tree.climb(&cuts, dims, start, aim, max_rank);
        // Rings need room of their own.
        let (orders, each) = if ring.is_some() { (1, 3) } else { (2, MOST) };
        found.extend(best_orders(starts, orders, each, climb));
    }
    if let Some(ring) = ring {
        let mut starts = vec![identity.clone()];
        starts.extend(mutual.as_ref().map(|m| mutual::circle(m)));
        // The best train, closed.
        let best = found.iter().min_by(|a, b| a.value.total_cmp(&b.value));
        starts.extend(best.map(|f| f.order.clone()));
        let climb = |start: &[usize]| ring.climb(&cuts, dims, start, aim, max_rank);
        found.extend(best_orders(starts, 1, MOST, climb));
    }
    found
}

/// The objective without what shrinking lost, which is not there to be spent. (Parameters are counted in full, also where
/// the tensor was shrunk.)
fn net(target: &Target, objective: Objective) -> Objective {
    match objective {
        Objective::MaxError(eps) => Objective::MaxError(target.net(eps)),
        other => other,
    }
}

/// What the best of several starts lead to: so many orders of the modes, so many structures of each.
fn best_orders(
    mut starts: Vec<Vec<usize>>,
    orders: usize,
    each: usize,
    climb: impl Fn(&[usize]) -> Vec<Candidate>,
) -> Vec<Candidate> {
    starts.sort();
    starts.dedup();
    let mut ends: Vec<Vec<Candidate>> = starts.iter().map(|start| climb(start)).collect();
    ends.retain(|end| !end.is_empty());
    ends.sort_by(|a, b| a[0].value.total_cmp(&b[0].value));
    ends.dedup_by(|a, b| a[0].structure.canonical().graph == b[0].structure.canonical().graph);
    ends.into_iter().take(orders).flat_map(|end| end.into_iter().take(each)).collect()
}

/// The best of all, each once, without ranks of no use.
fn best_of(mut found: Vec<Candidate>, target: &Target, aim: Aim) -> Vec<Structure> {
    let dims = target.full_dims();
    found.sort_by(|a, b| a.value.total_cmp(&b.value));
    // The best that needs no luck comes first.
    if let Some(sure) = found.iter().position(|f| f.sure) {
        found[..=sure].rotate_right(1);
    }
    let mut seen = std::collections::HashSet::new();
    let mut chosen = Vec::new();
    for Candidate { structure, .. } in found {
        let structure = structure.without_useless_ranks(target.dims());
        let params = structure.params(dims);
        let beyond = matches!(aim, Aim::Params(most) if params as f64 > most);
        let as_large = params >= size(dims);
        if beyond || as_large || !seen.insert(structure.canonical().graph) {
            continue;
        }
        chosen.push(structure);
        if chosen.len() == MOST {
            break;
        }
    }
    chosen
}
