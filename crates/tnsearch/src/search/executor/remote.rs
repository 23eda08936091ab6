//! Workers elsewhere, reached through channels: whoever holds the other ends ships the bytes.

use super::wire::{Asked, Job, answer_from_bytes};
use super::{Executor, Ticket};
use crate::fit::{FitError, Fitted, Request};
use crate::problem::{Reason, Stop};
use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

/// How long cut-short results are waited for when the time of a search is up before it has a single one, in seconds.
const PATIENCE: f64 = 2.0;

/// Requests at hand for each worker: enough that those who ship them can put short ones together.
const AT_HAND: usize = 64;

/// What is sent to those who ship it. The channel ends with the search.
#[derive(Debug)]
pub enum ToWorkers {
    /// What every worker is made from; it comes first, and once.
    Job(Job),
    /// A request ([`Asked::to_bytes`]).
    Submit(Ticket, Vec<u8>),
    /// A result is not needed any more. Nothing has to come back for it.
    Cancel(Ticket),
}

/// What comes back, in any order. What comes for a ticket that was cancelled, or a second time, is left out.
#[derive(Debug)]
pub enum FromWorkers {
    /// What [`Worker::run`](super::wire::Worker::run) gave.
    Answer(Ticket, Vec<u8>),
    /// A request that cannot be evaluated at all, and why: the search ends with that.
    Failed(Ticket, String),
    /// There are now so many workers.
    Workers(usize),
}

/// Runs requests elsewhere.
pub struct Remote {
    workers: usize,
    single_starts: bool,
    to: Sender<ToWorkers>,
    from: Receiver<FromWorkers>,
    until: Stop,
    under_way: BTreeSet<Ticket>,
    /// Those under way whose results are waited for only for some time.
    unneeded: BTreeSet<Ticket>,
    patience: Option<Stop>,
    ready: VecDeque<(Ticket, Result<Fitted, FitError>)>,
    /// Whether the engine has had any result.
    any: bool,
}

impl Remote {
    /// So many workers behind these channels, which are told the job at once.
    pub fn new(
        job: Job,
        workers: usize,
        to: Sender<ToWorkers>,
        from: Receiver<FromWorkers>,
    ) -> Self {
        let single_starts = job.makes_single_starts();
        // Where nobody listens, the first request says so.
        let _ = to.send(ToWorkers::Job(job));
        Remote {
            workers: workers.max(1),
            single_starts,
            to,
            from,
            until: Stop::new(),
            under_way: BTreeSet::new(),
            unneeded: BTreeSet::new(),
            patience: None,
            ready: VecDeque::new(),
            any: false,
        }
    }

    /// The same for workers that fit in their own way: they get whole fits.
    pub fn with_whole_fits(mut self) -> Self {
        self.single_starts = false;
        self
    }

    fn give_up(&mut self, tickets: BTreeSet<Ticket>, error: &FitError) {
        for ticket in tickets {
            self.under_way.remove(&ticket);
            self.unneeded.remove(&ticket);
            self.ready.push_back((ticket, Err(error.clone())));
        }
    }

    fn take(&mut self, message: FromWorkers) {
        let (ticket, result) = match message {
            FromWorkers::Workers(workers) => {
                self.workers = workers.max(1);
                return;
            }
            FromWorkers::Failed(ticket, why) => (ticket, Err(FitError::Elsewhere(why))),
            FromWorkers::Answer(ticket, bytes) => {
                let result = answer_from_bytes(&bytes).unwrap_or_else(|e| {
                    Err(FitError::Elsewhere(format!("a worker's answer: {e}")))
                });
                (ticket, result)
            }
        };
        if self.under_way.remove(&ticket) {
            self.unneeded.remove(&ticket);
            self.any |= result.is_ok();
            self.ready.push_back((ticket, result));
        }
    }
}

impl Executor for Remote {
    fn workers(&self) -> usize {
        self.workers
    }

    fn room(&self) -> usize {
        self.workers.saturating_mul(AT_HAND)
    }

    fn makes_single_starts(&self) -> bool {
        self.single_starts
    }

    fn until(&mut self, stop: &Stop) {
        self.until = stop.clone();
    }

    fn submit(&mut self, ticket: Ticket, request: Request) {
        self.under_way.insert(ticket);
        let seconds_left = self.until.remaining().map(|left| left.as_secs_f64());
        let bytes = Asked { request, seconds_left }.to_bytes();
        if self.to.send(ToWorkers::Submit(ticket, bytes)).is_err() {
            let gone = FitError::Elsewhere("the workers are gone".into());
            self.give_up([ticket].into(), &gone);
        }
    }

    fn next(&mut self, wait: Duration) -> Option<(Ticket, Result<Fitted, FitError>)> {
        if self.patience.as_ref().is_some_and(Stop::is_set) {
            let unneeded = self.unneeded.clone();
            self.give_up(unneeded, &FitError::Interrupted);
        }
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        match self.from.recv_timeout(wait) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                let all = self.under_way.clone();
                self.give_up(all, &FitError::Elsewhere("the workers are gone".into()));
            }
        }
        self.ready.pop_front()
    }

    fn cancel(&mut self, ticket: Ticket) {
        if !self.under_way.contains(&ticket) {
            return;
        }
        // Workers end by themselves when the time is up, and what they have then may be all there is.
        if !self.any && self.until.reason() == Some(Reason::Deadline) {
            self.patience.get_or_insert_with(|| Stop::new().within_seconds(PATIENCE));
            self.unneeded.insert(ticket);
            return;
        }
        // Where nobody listens any more, nothing is left to be cancelled.
        let _ = self.to.send(ToWorkers::Cancel(ticket));
        self.give_up([ticket].into(), &FitError::Interrupted);
    }
}
