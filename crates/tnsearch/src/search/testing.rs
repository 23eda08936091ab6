//! What the tests of strategies share.

use super::{Outcome, Source};

/// The outcome of a fit with this loss.
pub(super) fn told(loss: f64) -> Outcome {
    Outcome { loss, rse: Some(loss), params: 1, source: Source::Evaluated }
}
