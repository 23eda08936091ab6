//! Methods without a search: to an error, or the smallest error within a number of params.

use std::sync::Arc;
use tnsearch::decompose::{DecomposeError, DecomposeSettings, Decomposition, Limits, Method};
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::{Objective, Reason, Stop, Target};
use tnsearch::search::StoppedBy;

/// Halvings of the range of errors, on a logarithmic scale from 1 to [`LEAST`].
const HALVINGS: usize = 14;
/// The smallest RSE that is asked for to use up a number of params.
const LEAST: f64 = 1e-14;

/// A decomposition that is what is asked for, or the nearest to it that the method has. `tree` is that of the method for
/// any tree.
///
/// An error is given to the method. Within P params it is the smallest error: that of the largest uniform rank of `tr-als`,
/// and of other methods the answer to the smallest eps, by halving `log eps`, whose params are at most P.
pub(super) fn decomposed(
    settings: &DecomposeSettings,
    tree: Option<Arc<Template>>,
    target: &Target,
    objective: Objective,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let template = settings.template(target.dims().len(), tree)?;
    let to = |eps: f64| settings.clone().with(|s| s.max_rse = eps).run(target, &template, limits);
    match (objective.max_error(), objective.max_params()) {
        (Some(eps), _) => to(eps),
        (None, Some(most)) if settings.method == Method::TrAls => {
            let rank = uniform_rank(&template, target, most)?;
            settings.clone().with(|s| s.ranks = vec![rank]).run(target, &template, limits)
        }
        (None, Some(most)) => within(most, target, limits, to),
        (None, None) => {
            Err(DecomposeError::Asked("it needs an error or a number of params".into()))
        }
    }
}

/// The largest rank whose graph with that rank on every edge has at most so many params; at least 1.
fn uniform_rank(
    template: &Arc<Template>,
    target: &Target,
    most: u128,
) -> Result<usize, DecomposeError> {
    let params = |rank: usize| {
        let structure = Structure::identity(template.clone(), vec![rank; template.edges().len()])?;
        Ok::<_, DecomposeError>(structure.params(target.full_dims()))
    };
    let mut rank = 1;
    while params(rank + 1)? <= most {
        rank += 1;
    }
    Ok(rank)
}

/// The smallest error within so many params: errors are halved until the next would be beyond them.
fn within(
    most: u128,
    target: &Target,
    limits: &Limits,
    to: impl Fn(f64) -> Result<Decomposition, DecomposeError>,
) -> Result<Decomposition, DecomposeError> {
    let params = |made: &Decomposition| made.network.structure().params(target.full_dims());
    // The largest error of all: every rank is 1.
    let mut best = to(1.0f64.next_down())?;
    if params(&best) > most {
        return Ok(best);
    }
    let (mut low, mut high) = (LEAST.ln(), 0.0);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        match to(f64::exp(middle)) {
            Err(DecomposeError::Interrupted) => best.interrupted = true,
            Err(e) => return Err(e),
            Ok(made) if params(&made) <= most => {
                high = middle;
                let interrupted = made.interrupted;
                best = if made.rse < best.rse { made } else { best };
                best.interrupted = interrupted;
            }
            Ok(made) => {
                low = middle;
                best.interrupted = made.interrupted;
            }
        }
        if best.interrupted || limits.stop.is_set() {
            best.interrupted = true;
            break;
        }
    }
    Ok(best)
}

/// Why there is nothing, in words.
pub(super) fn reason(error: &DecomposeError, stop: &Stop) -> String {
    match error {
        DecomposeError::Interrupted if stop.reason() == Some(Reason::Deadline) => {
            "the time was up before there was a result".to_owned()
        }
        error => error.to_string(),
    }
}

/// Why a method ended early.
pub(super) fn stopped_by(stop: &Stop) -> StoppedBy {
    match stop.reason() {
        Some(Reason::Asked) => StoppedBy::Interrupted,
        _ => StoppedBy::MaxSeconds,
    }
}
