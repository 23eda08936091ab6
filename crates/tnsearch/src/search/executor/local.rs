//! The threads of this machine.

use super::{Evaluator, Executor, Ticket};
use crate::fit::{FitError, Fitted, Request};
use crate::problem::Stop;
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

type FitResult = Result<Fitted, FitError>;
/// What a worker sends: a result, or what a panic carried.
type Sent = (Ticket, Result<FitResult, Box<dyn Any + Send>>);

/// Runs requests on threads of this process, first come, first served.
pub struct Local {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    results: Receiver<Sent>,
    /// Sends the results of requests that no worker has begun.
    unbegun: Sender<Sent>,
    stops: HashMap<Ticket, Stop>,
    stop: Stop,
    until: Stop,
    single_starts: bool,
}

struct Shared {
    queue: Mutex<Queue>,
    more: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Ticket, Request, Stop)>,
    closed: bool,
}

impl Local {
    /// Starts so many threads (at least one), which evaluate requests until the executor is dropped. Where the system has no
    /// more, fewer do: results do not depend on their number. An error where not one could be started.
    pub fn new(evaluator: Arc<dyn Evaluator>, threads: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared { queue: Mutex::default(), more: Condvar::new() });
        let (unbegun, results) = mpsc::channel();
        let single_starts = evaluator.makes_single_starts();
        let mut local = Local {
            shared,
            threads: Vec::new(),
            results,
            unbegun,
            stops: HashMap::new(),
            stop: Stop::new(),
            until: Stop::new(),
            single_starts,
        };
        for k in 0..threads.max(1) {
            let (shared, results) = (local.shared.clone(), local.unbegun.clone());
            let evaluator = evaluator.clone();
            let thread = std::thread::Builder::new().name(format!("tnsearch-{k}"));
            match thread.spawn(move || shared.work(&*evaluator, &results)) {
                Ok(thread) => local.threads.push(thread),
                Err(error) if local.threads.is_empty() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(local)
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        // Nothing panics while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes requests until there will be no more.
    fn work(&self, evaluator: &dyn Evaluator, results: &Sender<Sent>) {
        loop {
            let mut queue = self.lock();
            let (ticket, request, stop) = loop {
                if let Some(next) = queue.waiting.pop_front() {
                    break next;
                }
                if queue.closed {
                    return;
                }
                queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            };
            drop(queue);
            let result = catch_unwind(AssertUnwindSafe(|| {
                if stop.is_set() {
                    return Err(FitError::Interrupted);
                }
                let result = evaluator.evaluate(&request, &stop);
                // A fit that saw the stop may have been cut short: its error is not the one that an undisturbed
                // search would find.
                match stop.is_set() {
                    true => result.map(|fitted| Fitted { interrupted: true, ..fitted }),
                    false => result,
                }
            }));
            if results.send((ticket, result)).is_err() {
                return;
            }
        }
    }
}

impl Executor for Local {
    fn workers(&self) -> usize {
        self.threads.len()
    }

    fn makes_single_starts(&self) -> bool {
        self.single_starts
    }

    fn until(&mut self, stop: &Stop) {
        self.until = stop.clone();
    }

    fn submit(&mut self, ticket: Ticket, request: Request) {
        let stop = self.stop.knowing(&self.until);
        self.stops.insert(ticket, stop.clone());
        self.shared.lock().waiting.push_back((ticket, request, stop));
        self.shared.more.notify_one();
    }

    fn next(&mut self, wait: Duration) -> Option<(Ticket, FitResult)> {
        let (ticket, result) = self.results.recv_timeout(wait).ok()?;
        self.stops.remove(&ticket);
        match result {
            Ok(result) => Some((ticket, result)),
            // A fault of the program: it surfaces where the search was called.
            Err(panic) => resume_unwind(panic),
        }
    }

    fn cancel(&mut self, ticket: Ticket) {
        let Some(stop) = self.stops.get(&ticket) else { return };
        stop.set();
        let mut queue = self.shared.lock();
        if let Some(at) = queue.waiting.iter().position(|(waiting, ..)| *waiting == ticket) {
            queue.waiting.remove(at);
            // The receiver is our own.
            let _ = self.unbegun.send((ticket, Ok(Err(FitError::Interrupted))));
        }
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.stop.set();
        {
            let mut queue = self.shared.lock();
            queue.closed = true;
            queue.waiting.clear();
        }
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // A worker catches every panic of a fit.
            let _ = thread.join();
        }
    }
}
