//! One token that ends work: asked for from outside, or because the time is up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Asks running work to end soon: Ctrl-C, a deadline, an error elsewhere.
///
/// Clones are the same token. A [`Stop::child`] stops with its parent, and can be stopped alone; a token made by
/// [`Stop::within`] stops by itself when its time is up. So one value replaces flags, clocks and lists of both:
///
/// ```
/// use std::time::Duration;
/// use tnsearch::problem::{Reason, Stop};
/// let ctrl_c = Stop::new();
/// let search = ctrl_c.within(Duration::from_secs(3600));
/// let (one, other) = (search.child(), search.child());
/// one.set();
/// assert!(one.is_set() && !other.is_set());
/// ctrl_c.set();
/// assert_eq!(other.reason(), Some(Reason::Asked));
/// assert_eq!(Stop::new().within(Duration::ZERO).reason(), Some(Reason::Deadline));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    asked: AtomicBool,
    deadline: Option<Instant>,
    parent: Option<Stop>,
}

/// Why work was to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// [`Stop::set`] was called, here or on a token above.
    Asked,
    /// The time was up, here or on a token above.
    Deadline,
}

impl Stop {
    /// A token that nothing has stopped.
    pub fn new() -> Self {
        Stop::default()
    }

    /// A token that stops with this one, and can be stopped without it.
    pub fn child(&self) -> Stop {
        Stop(Arc::new(Inner { parent: Some(self.clone()), ..Inner::default() }))
    }

    /// A child that also stops when this much time has passed.
    pub fn within(&self, time: Duration) -> Stop {
        let deadline = Instant::now().checked_add(time);
        Stop(Arc::new(Inner { deadline, parent: Some(self.clone()), ..Inner::default() }))
    }

    /// The same for a number of seconds; one that cannot be told (too large, not a number) never passes.
    pub fn within_seconds(&self, seconds: f64) -> Stop {
        Duration::try_from_secs_f64(seconds).map_or_else(|_| self.child(), |time| self.within(time))
    }

    /// Asks for a stop.
    pub fn set(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Whether work is to end.
    pub fn is_set(&self) -> bool {
        self.reason().is_some()
    }

    /// Why work is to end; none while it may go on. A stop that was asked for counts before the time.
    pub fn reason(&self) -> Option<Reason> {
        if self.is_asked() {
            return Some(Reason::Asked);
        }
        let mut token = Some(self);
        while let Some(Stop(inner)) = token {
            if inner.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Some(Reason::Deadline);
            }
            token = inner.parent.as_ref();
        }
        None
    }

    fn is_asked(&self) -> bool {
        let mut token = Some(self);
        while let Some(Stop(inner)) = token {
            if inner.asked.load(Ordering::Relaxed) {
                return true;
            }
            token = inner.parent.as_ref();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_above_counts_and_asking_counts_before_it() {
        let root = Stop::new();
        let late = root.within(Duration::ZERO);
        let below = late.child().child();
        assert_eq!(below.reason(), Some(Reason::Deadline));
        assert_eq!(root.reason(), None);
        root.clone().set();
        assert_eq!(below.reason(), Some(Reason::Asked));
    }

    #[test]
    fn times_that_cannot_be_told_never_pass() {
        for seconds in [f64::INFINITY, f64::NAN, -1.0, 1e300] {
            assert!(!Stop::new().within_seconds(seconds).is_set(), "{seconds}");
        }
        assert!(Stop::new().within_seconds(0.0).is_set());
    }
}
