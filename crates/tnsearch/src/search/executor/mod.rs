//! Where fits are computed: on this machine's threads, or anywhere else.
//!
//! The engine decides what is fitted and in which order results count; an executor only runs [`Request`]s. Since a
//! result is a pure function of its request, it makes no difference to the answer where, how often or in which
//! order they are run.

mod evaluator;
mod local;
mod merged;
mod named;
mod remote;
mod room;
pub mod wire;

pub use evaluator::{Evaluator, FitEvaluator, evaluator_for};
pub use local::Local;
pub use named::{ExecutorDescription, MakeExecutor, executors, register_executor};
pub use remote::{FromWorkers, Remote, ToWorkers};

use crate::fit::{FitError, Fitted, Request};
use crate::problem::Stop;
use std::time::Duration;

/// The name of a request under way, chosen by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// Runs fit requests. `crates/tnsearch/examples/own_executor.rs` is one outside the crate.
pub trait Executor {
    /// How many requests can be worked on at a time.
    fn workers(&self) -> usize;

    /// How many requests that are needed in any case it takes at a time: those that are worked on, and those that wait
    /// near the workers, so that none of these waits for the next one. By default as many as there are workers.
    fn room(&self) -> usize {
        self.workers()
    }

    /// Whether it knows requests for a single start ([`Request::start`]); the default does not, and gets whole fits.
    fn makes_single_starts(&self) -> bool {
        false
    }

    /// Until when results of requests submitted from now on are of use. A fit that could not make one sweep by then may
    /// be refused with [`FitError::Time`]; the default takes no notice.
    fn until(&mut self, _stop: &Stop) {}

    /// Takes a request. Each one submitted has exactly one result, also one that was cancelled.
    fn submit(&mut self, ticket: Ticket, request: Request);

    /// The next result, in whichever order they come; none where nothing has come within `wait`.
    fn next(&mut self, wait: Duration) -> Option<(Ticket, Result<Fitted, FitError>)>;

    /// The result is not needed any more: it may be given up, with [`FitError::Interrupted`], or come as it is so far
    /// with [`Fitted::interrupted`] set.
    fn cancel(&mut self, ticket: Ticket);
}
