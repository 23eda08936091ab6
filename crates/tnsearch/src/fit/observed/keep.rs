//! The best cores on the way: by the entries held out, where there are any.

use super::state::{Errors, State};
use crate::tensor::Scalar;

/// A fall of the error on held-out entries by less than this fraction is none.
const LEAST: f64 = 1e-4;

/// Keeps the best cores of a start, and says when held-out entries are predicted no better.
pub(super) struct Keep<T> {
    holds_out: bool,
    window: usize,
    since: usize,
    mark: f64,
    best: Option<(Errors, Vec<T>, f64)>,
}

impl<T: Scalar> Keep<T> {
    /// Sweeps without a better prediction after which a start ends.
    pub const SWEEPS: usize = 10;

    pub fn new(holds_out: bool, window: usize) -> Self {
        Keep { holds_out, window, since: 0, mark: f64::INFINITY, best: None }
    }

    /// Looks at the cores after a sweep; true if they have been getting no better for long.
    pub fn after(&mut self, state: &State<T>, errors: Errors) -> bool {
        let best = self.best.as_ref().map_or(f64::INFINITY, |best| best.0.measured);
        if errors.measured < best {
            self.best = Some((errors, state.flat(), state.scale));
        }
        self.since += 1;
        if errors.measured < (1.0 - LEAST) * self.mark {
            (self.mark, self.since) = (errors.measured, 0);
        }
        self.holds_out && self.since >= self.window
    }

    /// Puts the best cores back; their errors. The blocks are fresh.
    pub fn settle(&self, state: &mut State<T>) -> Errors {
        if let Some((errors, cores, scale)) = &self.best {
            state.set_between(cores, cores, 0.0);
            state.scale = *scale;
            state.refresh();
            return *errors;
        }
        Errors::UNKNOWN
    }
}
