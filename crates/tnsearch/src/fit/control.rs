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
    /// The error of the best start before this one, where it may be compared with that.
    pub rival: f64,
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
    give_up: Option<f64>,
    sweeps: usize,
}

/// After so many sweeps a start may still be so many times above what it has to come below.
const RACE: [(usize, f64); 6] =
    [(2, 1.25), (3, 1.12), (5, 1.06), (8, 1.025), (12, 1.01), (20, 1.003)];

impl Progress {
    /// Sweeps over which the error must fall by the tolerance.
    const WINDOW: usize = 10;

    pub fn new(settings: &FitSettings) -> Self {
        Progress {
            stop_rse: settings.ends_at(),
            keep: 1.0 - settings.tolerance,
            window: Self::WINDOW,
            since: 0,
            mark: f64::INFINITY,
            give_up: settings.give_up,
            sweeps: 0,
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
        self.sweeps += 1;
        let limit = RACE.iter().find(|(sweeps, _)| *sweeps == self.sweeps);
        if let (Some((_, times)), Some(give_up)) = (limit, self.give_up)
            && rse > times * give_up
        {
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
