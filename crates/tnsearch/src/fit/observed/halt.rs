//! A stop within the steps of a fit: looked at every now and then, and remembered once it was set.

use crate::problem::Stop;
use std::sync::atomic::{AtomicBool, Ordering};

/// Multiply-adds between two looks of a thread: some milliseconds.
const APART: f64 = 1e7;

/// Whether a stop was seen. What was computed since then is of no use.
#[derive(Debug, Default)]
pub(super) struct Halt {
    stop: Option<Stop>,
    seen: AtomicBool,
}

/// How much one thread has done since it looked.
pub(super) struct Pace<'h> {
    halt: &'h Halt,
    since: f64,
}

impl Halt {
    /// Looks at a stop; at none where none is given. What was halted goes on.
    pub fn new(stop: Option<&Stop>) -> Self {
        Halt { stop: stop.cloned(), seen: AtomicBool::new(false) }
    }

    /// Whether the stop was seen.
    pub fn seen(&self) -> bool {
        self.seen.load(Ordering::Relaxed)
    }

    /// Looks now.
    pub fn look(&self) -> bool {
        let set = self.seen() || self.stop.as_ref().is_some_and(Stop::is_set);
        if set {
            self.seen.store(true, Ordering::Relaxed);
        }
        set
    }

    /// For one thread's work.
    pub fn pace(&self) -> Pace<'_> {
        Pace { halt: self, since: 0.0 }
    }
}

impl Pace<'_> {
    /// Before work of so many multiply-adds: whether it is not to be done any more.
    pub fn halted(&mut self, work: f64) -> bool {
        self.since += work;
        if self.since < APART {
            return self.halt.seen();
        }
        self.since = 0.0;
        self.halt.look()
    }
}
