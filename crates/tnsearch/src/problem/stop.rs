//! One token that ends work: asked for from outside, or because the time is up.

use crate::linalg::{Factor, matmul};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
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
    /// Until when results are of use, where that stops nothing.
    hint: Option<Stop>,
    /// A test's clock: how often the token may be looked at before its time is up.
    #[cfg(test)]
    looks: Option<std::sync::atomic::AtomicU64>,
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
    /// Work of fewer operations is over before anybody would wait for it ([`Stop::wait_for`]).
    pub(crate) const SHORT: f64 = 2e9;

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

    /// A child that knows until when results are of use, [`Stop::remaining`], and is not stopped by that.
    pub fn knowing(&self, until: &Stop) -> Stop {
        let hint = Some(until.clone());
        Stop(Arc::new(Inner { hint, parent: Some(self.clone()), ..Inner::default() }))
    }

    /// The time left until the first deadline, here or above; none where there is none.
    pub fn remaining(&self) -> Option<Duration> {
        self.first_deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    fn first_deadline(&self) -> Option<Instant> {
        let mut first: Option<Instant> = None;
        let mut token = Some(self);
        while let Some(Stop(inner)) = token {
            let hint = inner.hint.as_ref().and_then(Stop::first_deadline);
            first = [first, inner.deadline, hint].into_iter().flatten().min();
            token = inner.parent.as_ref();
        }
        first
    }

    /// A child that stops when this part of the time left has passed; where there is no deadline, it has none either.
    pub fn within_part(&self, part: f64) -> Stop {
        self.remaining().map_or_else(|| self.child(), |left| self.within(left.mul_f64(part)))
    }

    /// Whether a computation that cannot be interrupted may begin: it may always where there is no deadline, and else
    /// if so many operations of a matrix product, one thread's, take no longer than the time that is left. So a limit
    /// on time is kept, and nothing depends on the machine's speed where there is none.
    pub fn has_time_for(&self, flops: f64) -> bool {
        match self.remaining() {
            None => !self.is_set(),
            Some(left) => !self.is_set() && flops <= left.as_secs_f64() * flops_per_second(),
        }
    }

    /// Does work that cannot be interrupted, of about so many operations of a matrix product. None where the stop was set
    /// before it was done: long work is then left to itself on a thread of its own, and ends unheard.
    pub(crate) fn wait_for<R: Send + 'static>(
        &self,
        flops: f64,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> Option<R> {
        if self.is_set() {
            return None;
        }
        if flops < Stop::SHORT {
            return Some(work());
        }
        // Where there is no thread to be had, it is done here.
        let (send, done) = mpsc::channel();
        let work = Arc::new(Mutex::new(Some(work)));
        let thread = std::thread::Builder::new().name("tnsearch-long".to_owned());
        let theirs = work.clone();
        let spawned = thread.spawn(move || {
            if let Some(work) = take(&theirs) {
                // Nobody may be there to hear it any more.
                let _ = send.send(work());
            }
        });
        let Ok(thread) = spawned else { return take(&work).map(|work| work()) };
        loop {
            match done.recv_timeout(LOOK) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Timeout) if !self.is_set() => {}
                Err(RecvTimeoutError::Timeout) => return None,
                // It ended without a word: a panic, which is one here as well.
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => return None,
                },
            }
        }
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
            #[cfg(test)]
            if inner.looks.as_ref().is_some_and(|looks| !look(looks)) {
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

/// How often a stop is looked at while work goes on elsewhere.
const LOOK: Duration = Duration::from_millis(20);

/// The speed of matrix products on one thread, measured once in a process and only where there is a deadline.
fn flops_per_second() -> f64 {
    static SPEED: OnceLock<f64> = OnceLock::new();
    /// The side of the matrices; some milliseconds.
    const SIDE: usize = 192;
    *SPEED.get_or_init(|| {
        let a = vec![1.0f64; SIDE * SIDE];
        let mut c = vec![0.0; SIDE * SIDE];
        let mut product = || {
            let begun = Instant::now();
            let factor = Factor::row_major(&a, SIDE);
            matmul((SIDE, SIDE, SIDE), &mut c, factor, factor);
            begun.elapsed().as_secs_f64().max(1e-9)
        };
        // The first warms up.
        product();
        let seconds = product().min(product());
        2.0 * (SIDE as f64).powi(3) / seconds
    })
}

#[cfg(test)]
fn look(looks: &std::sync::atomic::AtomicU64) -> bool {
    looks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
}

#[cfg(test)]
impl Stop {
    /// A token whose time is up after it was looked at so often: a clock for tests.
    pub(crate) fn after_looks(looks: u64) -> Stop {
        Stop(Arc::new(Inner { looks: Some(looks.into()), ..Inner::default() }))
    }
}

/// What lies there, for the first who asks.
fn take<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
impl Stop {
    /// How often a token made by [`Stop::after_looks`] may still be looked at.
    pub(crate) fn looks_left(&self) -> u64 {
        self.0.looks.as_ref().map_or(0, |looks| looks.load(Ordering::Relaxed))
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
    fn what_cannot_be_interrupted_begins_only_in_time() {
        let free = Stop::new();
        assert!(free.has_time_for(1e300) && free.child().has_time_for(f64::INFINITY));
        assert_eq!((free.remaining(), free.within_part(0.5).remaining()), (None, None));
        let hour = free.within(Duration::from_secs(3600));
        assert!(hour.child().has_time_for(1e6) && !hour.child().has_time_for(1e30));
        let half = hour.within_part(0.5).remaining().unwrap();
        assert!(half <= Duration::from_secs(1800) && half > Duration::from_secs(1000));
        // The nearest of all deadlines counts, wherever it is.
        assert!(hour.within(Duration::from_secs(9000)).remaining().unwrap().as_secs() <= 3600);
        assert!(!free.within(Duration::ZERO).has_time_for(0.0));
        // One that only knows when is not stopped then.
        let knows = free.knowing(&free.within(Duration::ZERO));
        assert!(!knows.is_set() && !knows.child().has_time_for(1.0));
        free.set();
        assert!(!hour.has_time_for(0.0) && !free.has_time_for(0.0));
    }

    #[test]
    fn work_that_goes_on_is_not_waited_for() {
        let free = Stop::new();
        assert_eq!(free.wait_for(1.0, || 3), Some(3));
        assert_eq!(free.wait_for(1e12, || 4), Some(4));
        // Work that ends only when it is let go: it is left after the third look.
        let (release, held) = mpsc::channel::<()>();
        let (ended, end) = mpsc::channel();
        let stop = Stop::after_looks(3);
        let done = stop.wait_for(1e12, move || {
            let _ = held.recv();
            let _ = ended.send(());
        });
        assert!(done.is_none() && end.try_recv().is_err(), "it was waited for");
        drop(release);
        assert_eq!(end.recv(), Ok(()));
        assert_eq!(stop.wait_for(1.0, || 5), None);
    }

    #[test]
    fn a_clock_that_counts_looks() {
        let stop = Stop::after_looks(2);
        assert!(!stop.is_set() && !stop.child().is_set() && stop.is_set());
    }

    #[test]
    fn times_that_cannot_be_told_never_pass() {
        for seconds in [f64::INFINITY, f64::NAN, -1.0, 1e300] {
            assert!(!Stop::new().within_seconds(seconds).is_set(), "{seconds}");
        }
        assert!(Stop::new().within_seconds(0.0).is_set());
    }
}
