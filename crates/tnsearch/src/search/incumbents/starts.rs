//! What a search begins with: the structures that direct methods give in each of its templates.

use super::cuts::Cuts;
use super::unfolded::unfolded;
use super::{Aim, incumbents, net};
use crate::bound::{BoundLimits, CutBound, MAX_MODES, Spectra, needs_svd};
use crate::decompose::{Goal, Limits, tt_svd};
use crate::graph::{Structure, Template};
use crate::problem::{CheckedObjective, Target};
use crate::tensor::size;
use std::sync::Arc;

/// The formats whose direct methods a search over several begins with.
pub fn usual_formats(order: usize) -> Vec<Arc<Template>> {
    let named = ["path", "ring", "tucker", "ht"].into_iter();
    named.filter_map(|name| Template::parse(name, order).ok().map(Arc::new)).collect()
}

/// Those of them without cycles.
pub fn usual_trees(order: usize) -> Vec<Arc<Template>> {
    usual_formats(order).into_iter().filter(|t| t.edges().len() + 1 == t.vertices()).collect()
}

/// What direct methods give in each of these templates, and where modes may share vertices (`grouped`) what the SVD of an
/// unfolding gives, which comes first: it takes the least time.
pub fn starts(
    target: &Target,
    bound: Option<&CutBound>,
    (templates, grouped): (&[Arc<Template>], bool),
    objective: CheckedObjective,
    max_rank: usize,
    limits: &Limits,
) -> Vec<Structure> {
    let own;
    let spectra = match bound {
        Some(bound) => bound.spectra(),
        None => {
            let within = BoundLimits { max_bytes: limits.max_bytes, threads: None };
            match Spectra::within(target, needs_svd(objective.get()), &within) {
                Ok(spectra) => own = spectra.stoppable(&limits.stop),
                Err(_) => return Vec::new(),
            }
            &own
        }
    };
    let of = |template| incumbents(target, spectra, template, objective.get(), max_rank, limits);
    let mut all: Vec<Structure> = Vec::new();
    let (dims, order) = (target.full_dims(), target.dims().len());
    if grouped && (3..=MAX_MODES).contains(&order) && order == spectra.order() {
        let objective = net(target, objective.get());
        let aim = Aim::of(objective, size(dims) as f64);
        let cuts = Cuts::new(target, spectra, objective.max_error(), limits);
        all.extend(unfolded(&cuts, dims, aim, max_rank));
    }
    all.extend(templates.iter().flat_map(of));
    if let Some(eps) = objective.max_error().filter(|_| target.entries() <= TAKEN_APART) {
        all.extend(trains(target, templates, eps, max_rank, limits));
    }
    all
}

/// Larger tensors are not taken apart before a search: it takes more than a few seconds.
const TAKEN_APART: usize = 1 << 22;

/// The structure of a TT-SVD in the tensor's own order, in each of these templates that holds it.
fn trains(
    target: &Target,
    templates: &[Arc<Template>],
    eps: f64,
    max_rank: usize,
    limits: &Limits,
) -> Vec<Structure> {
    let order: Vec<usize> = (0..target.dims().len()).collect();
    let made = Goal::max_rse(eps).and_then(|goal| tt_svd(target, &order, &goal, limits));
    let Ok(made) = made else { return Vec::new() };
    let (graph, _) = made.network.to_mode_graph();
    if graph.edges().iter().any(|edge| edge.2 > max_rank) {
        return Vec::new();
    }
    templates.iter().filter_map(|template| Structure::in_template(template, &graph)).collect()
}
