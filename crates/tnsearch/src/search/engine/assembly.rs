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
    /// Put together, and how many parts counted.
    whole: Option<(Result<Fitted, FitError>, u64)>,
    /// How often it was interrupted though nobody asked for that.
    pub lost: u32,
}

impl Assembly {
    /// A fit that may be made in parts, or is made whole.
    pub fn new(job: Arc<Job>, index: Option<usize>, request: Request, in_parts: bool) -> Self {
        let splits = in_parts && splits(&request);
        let count = if splits { request.settings.restarts } else { 1 };
        Assembly {
            job,
            index,
            request,
            parts: (0..count).map(|_| Part::Waiting).collect(),
            whole: None,
            lost: 0,
        }
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

    /// Takes the result of a part; with it the whole may be known.
    pub fn land(&mut self, part: usize, result: Result<Fitted, FitError>) {
        self.parts[part] = Part::Done(result);
        self.whole = self.put_together();
        if self.whole.is_some() {
            // Only the best of the cores are kept.
            self.parts.iter_mut().for_each(|part| {
                if let Part::Done(made) = part {
                    *made = Err(FitError::Interrupted);
                }
            });
        }
    }

    /// The parts on their way.
    pub fn flying(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.parts.iter().filter_map(|part| match part {
            Part::Flying(ticket) => Some(*ticket),
            _ => None,
        })
    }

    /// The result, once nothing that is missing could change it.
    pub fn result(&self) -> Option<&Result<Fitted, FitError>> {
        self.whole.as_ref().map(|(result, _)| result)
    }

    /// The result, and how many parts counted for it.
    pub fn into_result(self) -> Option<(Result<Fitted, FitError>, u64)> {
        self.whole
    }

    /// The best of the parts that are made, where the whole is not.
    pub fn best_so_far(&self) -> Option<Fitted> {
        let made = self.parts.iter().filter_map(|part| match part {
            Part::Done(Ok(start)) => Some(start),
            _ => None,
        });
        Fitted::best_of(made)
    }

    fn put_together(&self) -> Option<(Result<Fitted, FitError>, u64)> {
        if let [Part::Done(whole)] = &self.parts[..] {
            return Some((whole.clone(), 1));
        }
        let mut done = Vec::new();
        for part in &self.parts {
            match part {
                Part::Done(Ok(start)) => done.push(start),
                Part::Done(Err(error)) => return Some((Err(error.clone()), done.len() as u64 + 1)),
                _ => return None,
            }
            if done.last().is_some_and(|start| enough(&self.request.settings, start)) {
                break;
            }
        }
        let used = done.len() as u64;
        Fitted::best_of(done).map(|best| (Ok(best), used))
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
