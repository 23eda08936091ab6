//! When a start ends: stops, convergence, stalling.

use super::FitSettings;
use crate::problem::Stop;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What can end a start from outside.
pub(super) struct Control<'c> {
    /// The caller's stop, and the time limit of the fit.
    pub stop: &'c Stop,
    /// The first start that was good enough; later ones are no longer needed.
    pub winner: &'c AtomicUsize,
    pub start: usize,
}

impl Control<'_> {
    /// Whether this start should end now.
    pub fn stopped(&self) -> bool {
        self.winner.load(Ordering::Relaxed) < self.start || self.stop.is_set()
    }
}

/// Watches the error of a start: ends it when it is small enough or no longer falls.
pub(super) struct Progress {
    stop_rse: f64,
    keep: f64,
    window: usize,
    since: usize,
    mark: f64,
}

impl Progress {
    /// Sweeps over which the error must fall by the tolerance.
    const WINDOW: usize = 10;

    pub fn new(settings: &FitSettings) -> Self {
        Progress {
            stop_rse: settings.stop_rse,
            keep: 1.0 - settings.tolerance,
            window: Self::WINDOW,
            since: 0,
            mark: f64::INFINITY,
        }
    }

    /// The same with another window.
    pub fn with_window(settings: &FitSettings, window: usize) -> Self {
        Progress { window, ..Self::new(settings) }
    }

    /// Takes the error after a sweep; true when the start is finished.
    pub fn finished(&mut self, rse: f64) -> bool {
        if rse <= self.stop_rse || !rse.is_finite() {
            return true;
        }
        self.since += 1;
        if self.since < self.window {
            return false;
        }
        let stalled = self.keep < 1.0 && rse > self.keep * self.mark;
        self.mark = rse;
        self.since = 0;
        stalled
    }
}
