//! What a worker does with a request.

use super::direct::fit_direct;
use super::merged::MergedTargets;
use super::room::Room;
use crate::decompose::{Limits, forest_svd};
use crate::fit::grouped::fit_merged;
use crate::fit::{self, Effort, FitError, FitSettings, Fitted, Request};
use crate::graph::ModeGraph;
use crate::problem::{Loss, Stop, Target};
use crate::tensor::AnyTensor;
use std::sync::Arc;

/// Fits structures. Called from several threads at once.
///
/// The result must be a pure function of the request. [`FitError::Memory`] and [`FitError::NoSweep`] say that this
/// structure is too large, [`FitError::Time`] that it is for the time left (the search goes on without it), [`FitError::Interrupted`] that the stop was seen; every other error ends the
/// search.
pub trait Evaluator: Send + Sync {
    /// Fits the cores of one structure.
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError>;

    /// Whether it knows requests for a single start ([`Request::start`]); the default does not, and gets whole fits.
    fn makes_single_starts(&self) -> bool {
        false
    }
}

/// What fits this tensor by that loss: least squares where it is the squared error on all entries.
///
/// `together` is what all fits may take at a time.
pub fn evaluator_for(
    target: &Target,
    loss: Arc<dyn Loss>,
    together: Option<u64>,
) -> Arc<dyn Evaluator> {
    match makes_single_starts(target, &*loss) {
        true => Arc::new(FitEvaluator { together, ..FitEvaluator::new(target) }),
        false => Arc::new(LossEvaluator::new(target, loss)),
    }
}

/// Whether that one knows requests for a single start.
pub(super) fn makes_single_starts(target: &Target, loss: &dyn Loss) -> bool {
    loss.is_squared_error() && target.is_whole()
}

/// Fits with [`fit::fit`]; a quick fit of a structure without cycles is made by truncated SVDs, and improved only
/// where they do not reach the error.
#[derive(Debug, Clone)]
pub struct FitEvaluator {
    target: Target,
    merged: MergedTargets,
    room: Room,
    /// Bytes that all fits may take at a time; none: as many as one.
    together: Option<u64>,
}

impl FitEvaluator {
    /// Fits to this tensor.
    pub fn new(target: &Target) -> Self {
        FitEvaluator {
            target: target.clone(),
            merged: MergedTargets::default(),
            room: Room::default(),
            together: None,
        }
    }
}

impl Evaluator for FitEvaluator {
    fn makes_single_starts(&self) -> bool {
        true
    }

    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        let warm = request.warm.as_ref().map(|cores| cores.as_slice());
        let graph = &request.graph;
        let limit = self.target.left_of(request.settings.max_bytes);
        let bytes = limit.map_or(0.0, |limit| fit::request_bytes(&self.target, request, limit));
        let limit = self.target.left_of(self.together).or(limit);
        let held = self.room.take(bytes, limit);
        // Reordered tensors are kept only where there is room for them too.
        if limit.is_some_and(|limit| held.all() + self.merged.bytes() as f64 > limit as f64) {
            self.merged.clear();
        }
        if !graph.is_grouped() {
            return evaluate(&self.target, graph, warm, request, stop);
        }
        let merged = || self.merged.of(&self.target, graph, request.settings.max_bytes);
        fit_merged(graph, self.target.dims(), warm, merged, |target, graph, warm| {
            evaluate(target, graph, warm, request, stop)
        })
    }
}

/// Fits a plain graph as the request says: whole, one start, or quickly.
fn evaluate(
    target: &Target,
    graph: &ModeGraph,
    warm: Option<&[AnyTensor]>,
    request: &Request,
    stop: &Stop,
) -> Result<Fitted, FitError> {
    let Request { settings, seed, effort, start, .. } = request;
    if let Some(adapt) = &request.adapt {
        return fit::adapt::adapt(target, graph, settings, adapt, *seed, warm, stop);
    }
    if effort.is_full() || warm.is_some() {
        return match *start {
            Some(start) => fit::fit_start(target, graph, settings, *seed, warm, start, stop),
            None => fit::fit(target, graph, settings, *seed, warm, stop),
        };
    }
    if *effort == Effort::Direct {
        return fit_direct(target, graph, request, stop);
    }
    let quick = FitSettings::clone(settings);
    let settings = FitSettings { restarts: 1, scouts: 1, rescue: 0, ..quick };
    let limits = Limits { max_bytes: target.left_of(settings.max_bytes), stop: stop.clone() };
    // Where the SVDs take too much memory, or a stop came, a start is made as for any other graph.
    let svd = forest_svd(target, graph, &limits).ok().flatten();
    let as_it_is = |(cores, error): (Vec<AnyTensor>, f64)| Fitted {
        cores,
        error,
        sweeps: 0,
        restarts: 0,
        rescued: false,
        interrupted: false,
        graph: None,
    };
    let svd = match svd {
        Some(found) if settings.is_enough(found.1) => return Ok(as_it_is(found)),
        other => other,
    };
    let warm = svd.as_ref().map(|(cores, _)| &cores[..]);
    let fitted = fit::fit(target, graph, &settings.check()?, *seed, warm, stop)?;
    // Near rounding, sweeps may spoil what SVDs gave.
    Ok(match svd {
        Some(found) if found.1 < fitted.error => {
            let Fitted { sweeps, restarts, interrupted, .. } = fitted;
            Fitted { sweeps, restarts, interrupted, ..as_it_is(found) }
        }
        _ => fitted,
    })
}

/// Fits by a loss of one's own, with [`fit::fit_loss`].
#[derive(Debug, Clone)]
pub struct LossEvaluator {
    target: Target,
    loss: Arc<dyn Loss>,
}

impl LossEvaluator {
    /// Fits to this tensor by that loss.
    pub fn new(target: &Target, loss: Arc<dyn Loss>) -> Self {
        LossEvaluator { target: target.clone(), loss }
    }
}

impl Evaluator for LossEvaluator {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        let Request { graph, settings, seed, effort, warm, .. } = request;
        let data = (&self.target, &*self.loss);
        let warm = warm.as_ref().map(|cores| cores.as_slice());
        if effort.is_full() {
            return fit::fit_loss(data, graph, settings, *seed, warm, stop);
        }
        let quick =
            FitSettings { restarts: 1, scouts: 1, rescue: 0, ..FitSettings::clone(settings) };
        fit::fit_loss(data, graph, &quick.check()?, *seed, warm, stop)
    }
}
