//! What a worker does with a request.

use super::merged::MergedTargets;
use super::room::Room;
use crate::fit::{self, FitError, Fitted, Request, Run};
use crate::problem::{Loss, SquaredError, Stop, Target};
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

/// What fits this tensor by that loss.
///
/// `together` is what all fits may take at a time.
pub fn evaluator_for(
    target: &Target,
    loss: Arc<dyn Loss>,
    together: Option<u64>,
) -> Arc<dyn Evaluator> {
    Arc::new(FitEvaluator { loss, together, ..FitEvaluator::new(target) })
}

/// Whether that one knows requests for a single start.
pub(super) fn makes_single_starts(target: &Target, loss: &dyn Loss) -> bool {
    loss.is_squared_error() && target.is_whole()
}

/// Fits with [`fit::fit`], within the memory that all fits may take together.
#[derive(Debug, Clone)]
pub struct FitEvaluator {
    target: Target,
    loss: Arc<dyn Loss>,
    merged: MergedTargets,
    room: Room,
    /// Bytes that all fits may take at a time; none: as many as one.
    together: Option<u64>,
}

impl FitEvaluator {
    /// Fits to this tensor by the squared error.
    pub fn new(target: &Target) -> Self {
        FitEvaluator {
            target: target.clone(),
            loss: Arc::new(SquaredError),
            merged: MergedTargets::default(),
            room: Room::default(),
            together: None,
        }
    }
}

impl Evaluator for FitEvaluator {
    fn makes_single_starts(&self) -> bool {
        makes_single_starts(&self.target, &*self.loss)
    }

    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        let (target, max_bytes) = (&self.target, request.settings.max_bytes);
        let run = Run::until(stop).by(&*self.loss);
        if !self.makes_single_starts() {
            return fit::fit(target, request, &run);
        }
        let limit = target.left_of(max_bytes);
        let bytes = limit.map_or(0.0, |limit| fit::request_bytes(target, request, limit));
        let limit = target.left_of(self.together).or(limit);
        let held = self.room.take(bytes, limit);
        // Reordered tensors are kept only where there is room for them too.
        if limit.is_some_and(|limit| held.all() + self.merged.bytes() as f64 > limit as f64) {
            self.merged.clear();
        }
        let merge = || self.merged.of(target, &request.graph, max_bytes);
        fit::fit_merging(target, request, &run, merge)
    }
}
