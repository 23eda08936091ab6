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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_looked_at_every_64_nodes_and_when_asked() {
        // The first look is at once, the next after 64 nodes.
        let watch = Watch::new([Stop::new(), Stop::after_looks(1)]);
        assert!((0..64).all(|_| !watch.is_set()));
        assert!(watch.is_set() && watch.is_set());
        let watch = Watch::new([Stop::after_looks(1)]);
        assert!(!watch.is_set() && watch.look());
        let never = Watch::new([Stop::new()]);
        assert!((0..200).all(|_| !never.is_set() && !never.look()));
    }
}
