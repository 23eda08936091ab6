//! What a search begins with: the structures that direct methods give in each of its templates.

use super::cuts::Cuts;
use super::ring::RingIn;
use super::unfolded::unfolded;
use super::{Aim, incumbents, net};
use crate::bound::{BoundLimits, CutBound, MAX_MODES, Spectra, needs_svd};
use crate::decompose::{Decomposition, Goal, Limits, tr_svd, tree_svd, tt_svd};
use crate::graph::{ModeGraph, Structure, Template};
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
    usual_formats(order).into_iter().filter(|t| t.is_tree()).collect()
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
        let more = taken_apart(target, templates, eps, max_rank, limits, &all);
        all.extend(more);
    }
    all
}

/// Larger tensors are not taken apart before a search: it takes more than a few seconds.
const TAKEN_APART: usize = 1 << 22;

/// And by all methods only these.
const BY_ALL: usize = 1 << 20;

/// The structure of a TT-SVD in the tensor's own order, in each of these templates that holds it; and those that truncated
/// SVDs on the templates give in that order, where they are smaller than all that there are: they lower their ranks for as
/// long as the error is kept, which the tails of cuts do not know.
fn taken_apart(
    target: &Target,
    templates: &[Arc<Template>],
    eps: f64,
    max_rank: usize,
    limits: &Limits,
    others: &[Structure],
) -> Vec<Structure> {
    let Ok(goal) = Goal::max_rse(eps) else { return Vec::new() };
    let (dims, order) = (target.full_dims(), target.dims().len());
    let own: Vec<usize> = (0..order).collect();
    let graph_of = |made: Decomposition| {
        let graph = made.network.to_mode_graph().0;
        (!graph.edges().iter().any(|edge| edge.2 > max_rank)).then_some(graph)
    };
    let train = tt_svd(target, &own, &goal, limits).ok().and_then(graph_of);
    let hold = |graph: &ModeGraph| -> Vec<Structure> {
        templates.iter().filter_map(|t| Structure::in_template(t, graph)).collect()
    };
    let mut found: Vec<Structure> = train.iter().flat_map(hold).collect();
    if target.entries() > BY_ALL {
        return found;
    }
    let mut least = others.iter().chain(&found).map(|s| s.params(dims)).min().unwrap_or(u128::MAX);
    for template in templates {
        let external = template.external_vertices();
        let edges = template.edges().len();
        let is_tree = template.is_tree() && external.len() == order;
        let made = match is_tree {
            // The path has its train.
            true if found.iter().any(|s| s.template() == template) => continue,
            true => tree_svd(target, template, &external, &goal, limits),
            false if edges == order && RingIn::in_template(template).is_some() => {
                tr_svd(target, &own, &goal, limits)
            }
            false => continue,
        };
        let graph = made.ok().and_then(graph_of);
        let Some(made) = graph.and_then(|g| Structure::in_template(template, &g)) else { continue };
        if made.params(dims) < least {
            least = made.params(dims);
            found.push(made);
        }
    }
    found
}
