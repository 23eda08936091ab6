//! A fit in parts: the starts of one structure on several workers.
//!
//! The starts of a fit are made one after the other until one is good enough. Where workers are idle they are made at
//! the same time, and put together as if they had been made in turn: a start counts only if none before it was good
//! enough. So the result is that of the whole fit, bit for bit.

use super::run::{Job, Place};
use crate::fit::{CheckedFit, FitError, Fitted, Request};
use crate::search::Ticket;
use std::cmp::Reverse;
use std::sync::Arc;

/// Where a part of a fit is.
#[derive(Debug)]
enum Part {
    /// Not begun, or given up for something more urgent.
    Waiting,
    /// On a worker.
    Flying(Ticket),
    /// Made.
    Done(Result<Fitted, FitError>),
}

/// The order of fits, the first first.
pub(super) type Urgency = (u64, Reverse<u128>, Place);

/// A fit on its way.
#[derive(Debug)]
pub(super) struct Assembly {
    pub job: Arc<Job>,
    /// The job's place in the round, where its run waits for it; none for a guess.
    pub index: Option<usize>,
    request: Request,
    /// One per start, or one for all.
    parts: Vec<Part>,
}

impl Assembly {
    /// A fit that may be made in parts, or is made whole.
    pub fn new(job: Arc<Job>, index: Option<usize>, request: Request, in_parts: bool) -> Self {
        let splits = in_parts && splits(&request);
        let count = if splits { request.settings.restarts } else { 1 };
        Assembly { job, index, request, parts: (0..count).map(|_| Part::Waiting).collect() }
    }

    /// Which of the fits that runs wait for come first: those of runs that are behind, and of these the largest, so
    /// that no worker is left alone with one at the end.
    pub fn urgency(&self) -> Urgency {
        (self.job.place.generation, Reverse(self.job.params), self.job.place)
    }

    /// The part without which nothing is known, if it is not on its way.
    pub fn needed(&self) -> Option<usize> {
        let first = self.parts.iter().position(|part| !matches!(part, Part::Done(_)))?;
        matches!(self.parts[first], Part::Waiting).then_some(first)
    }

    /// The first part that nobody works on.
    pub fn waiting(&self) -> Option<usize> {
        self.parts.iter().position(|part| matches!(part, Part::Waiting))
    }

    /// The request of a part, which is on its way from now on.
    pub fn send(&mut self, part: usize, ticket: Ticket) -> Request {
        self.parts[part] = Part::Flying(ticket);
        let start = (self.parts.len() > 1).then_some(part);
        Request { start, ..self.request.clone() }
    }

    /// A part was given up.
    pub fn drop_part(&mut self, part: usize) {
        self.parts[part] = Part::Waiting;
    }

    /// Takes the result of a part.
    pub fn land(&mut self, part: usize, result: Result<Fitted, FitError>) {
        self.parts[part] = Part::Done(result);
    }

    /// The parts on their way.
    pub fn flying(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Flying(ticket) => Some(*ticket),
            _ => None,
        })
    }

    /// How many parts counted for the result.
    pub fn used(&self) -> u64 {
        let settings = &self.request.settings;
        let good = |part: &Part| matches!(part, Part::Done(Ok(start)) if enough(settings, start));
        let last = self.parts.iter().position(good).map_or(self.parts.len(), |at| at + 1);
        self.parts[..last].iter().filter(|part| matches!(part, Part::Done(_))).count() as u64
    }

    /// The result, once nothing that is missing could change it.
    pub fn result(&self) -> Option<Result<Fitted, FitError>> {
        if let [Part::Done(whole)] = &self.parts[..] {
            return Some(whole.clone());
        }
        let mut done = Vec::new();
        for part in &self.parts {
            match part {
                Part::Done(Ok(start)) if enough(&self.request.settings, start) => {
                    done.push(start);
                    return Fitted::best_of(done).map(Ok);
                }
                Part::Done(Ok(start)) => done.push(start),
                Part::Done(Err(error)) => return Some(Err(error.clone())),
                _ => return None,
            }
        }
        Fitted::best_of(done).map(Ok)
    }
}

fn enough(settings: &CheckedFit, start: &Fitted) -> bool {
    start.error <= settings.stop_rse.max(settings.enough_rse)
}

/// Whether a request is the best of several starts and no more. A time limit is one for all of them.
fn splits(request: &Request) -> bool {
    let settings = &request.settings;
    request.effort.is_full()
        && settings.restarts > 1
        && settings.rescue == 0
        && settings.max_seconds.is_none()
}
