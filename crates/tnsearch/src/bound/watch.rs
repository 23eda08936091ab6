//! Stops that a loop of short steps looks at.

use crate::problem::Stop;
use std::cell::Cell;

/// Stops that are looked at every now and then: a look takes about as long as a node.
pub(super) struct Watch {
    stops: Vec<Stop>,
    /// Nodes until the next look.
    left: Cell<u32>,
    seen: Cell<bool>,
}

impl Watch {
    /// Nodes from one look to the next.
    const NODES: u32 = 64;

    /// Ends when one of these does.
    pub fn new<const N: usize>(stops: [Stop; N]) -> Self {
        Watch { stops: stops.into(), left: Cell::new(0), seen: Cell::new(false) }
    }

    /// Whether one is set now: before a step that takes long.
    pub fn look(&self) -> bool {
        self.left.set(0);
        self.is_set()
    }

    /// Whether one was set, when they were looked at last.
    pub fn is_set(&self) -> bool {
        match self.left.get() {
            0 => {
                self.left.set(Self::NODES - 1);
                self.seen.set(self.seen.get() || self.stops.iter().any(Stop::is_set));
            }
            left => self.left.set(left - 1),
        }
        self.seen.get()
    }
}
