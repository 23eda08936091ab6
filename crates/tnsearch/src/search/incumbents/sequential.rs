//! Tensors too large for spectra: trees taken apart by truncated SVDs, whose ranks are the structure.

use super::Candidate;
use super::tree::TreeIn;
use crate::decompose::{Decomposition, Goal, Limits, tree_svd};
use crate::graph::Template;
use crate::problem::{Objective, Target};
use std::sync::Arc;

/// Errors that are tried where none is asked for.
const ERRORS: [f64; 9] = [0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6];

/// What the trees in a template give, with the modes in a good order and in that of the tensor.
pub(super) fn found(
    target: &Target,
    template: &Arc<Template>,
    objective: Objective,
    good: &[usize],
    max_rank: usize,
    limits: &Limits,
) -> Vec<Candidate> {
    let mut all = Vec::new();
    for tree in TreeIn::all_in(template) {
        let mut orders = vec![good.to_vec(), (0..good.len()).collect()];
        orders.dedup();
        for order in orders {
            all.extend(in_order(target, &tree, order, objective, max_rank, limits));
        }
    }
    all
}

/// The best of one tree with its modes in one order.
fn in_order(
    target: &Target,
    tree: &TreeIn,
    order: Vec<usize>,
    objective: Objective,
    max_rank: usize,
    limits: &Limits,
) -> Option<Candidate> {
    let template = &tree.template;
    let external = (0..template.vertices()).map(|v| template.is_external(v)).collect();
    let edges = tree.edges.iter().map(|&e| template.edges()[e]).collect();
    let alone = Arc::new(Template::from_graph("tree", external, edges).ok()?);
    let mut permutation = vec![0; order.len()];
    order.iter().zip(&tree.external).for_each(|(&n, &v)| permutation[n] = v);
    let entries = target.entries() as f64;
    let mut best: Option<(f64, Decomposition)> = None;
    let errors = match objective {
        Objective::MaxError(eps) => vec![eps],
        _ => ERRORS.to_vec(),
    };
    for eps in errors {
        let goal = Goal::max_rse(eps).ok()?;
        let Ok(found) = tree_svd(target, &alone, &permutation, &goal, limits) else { break };
        let params = found.network.params() as f64;
        let value = match objective {
            Objective::MaxError(_) => params,
            Objective::Lambda(lambda) => params + lambda * entries * found.rse,
            Objective::MaxParams(most) if params > most as f64 => break,
            Objective::MaxParams(_) => found.rse,
        };
        if best.as_ref().is_some_and(|b| value >= b.0) {
            break;
        }
        best = Some((value, found));
    }
    let (value, found) = best?;
    // The template alone has the tree's edges in the same order.
    let ranks: Vec<usize> = found.ranks().iter().map(|&r| r.min(max_rank)).collect();
    let structure = tree.structure(&order, &ranks)?;
    let sure = objective.max_error().is_some() && ranks == found.ranks();
    Some(Candidate { value, sure, order, structure })
}
