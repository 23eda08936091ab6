//! A fit in parts: the starts of one structure on several workers.
//!
//! The starts of a fit are made one after the other until one is good enough. Where workers are idle they are made at
//! the same time, and put together as if they had been made in turn: a start counts only if none before it was good
//! enough. So the result is that of the whole fit, bit for bit.

use super::run::{Job, Slot};
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
pub(super) type Urgency = (u64, Reverse<u128>, Slot);

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
        if self.whole.is_some() {
            return None;
        }
        let first = self.parts.iter().position(|part| !matches!(part, Part::Done(_)))?;
        matches!(self.parts[first], Part::Waiting).then_some(first)
    }

    /// The first part that nobody works on.
    pub fn waiting(&self) -> Option<usize> {
        if self.whole.is_some() {
            return None;
        }
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
        // What comes after the whole is known changes nothing.
        if self.whole.is_some() {
            return;
        }
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
    settings.is_enough(start.error)
}

/// Whether a request is the best of its starts and no more. A time limit is one for all of them.
fn splits(request: &Request) -> bool {
    let settings = &request.settings;
    request.effort.is_full() && settings.rescue == 0 && settings.max_seconds.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Effort, FitSettings};
    use crate::graph::{Structure, Template};
    use crate::problem::Score;

    fn assembly() -> Assembly {
        let ring = Arc::new(Template::ring(4).unwrap());
        let structure = Structure::identity(ring, vec![2; 4]).unwrap();
        let graph = structure.canonical().graph;
        let settings = FitSettings { restarts: 4, enough_rse: 0.1, ..FitSettings::default() };
        let request = Request::new(graph.clone(), Arc::new(settings.check().unwrap()), 1);
        let place = Slot { generation: 1, run: 0, index: 0 };
        let at_best = Score { loss: 0.5, error: 0.0, params: 40 };
        let (effort, parent, params, phi) = (request.effort, None, 40, 0.5);
        let job = Job {
            place,
            effort,
            structure,
            parent,
            far: None,
            walk: None,
            asked: None,
            graph,
            params,
            phi,
            at_best,
        };
        Assembly::new(Arc::new(job), None, request, true)
    }

    fn start(error: f64) -> Result<Fitted, FitError> {
        Ok(Fitted {
            cores: Vec::new(),
            error,
            sweeps: 3,
            restarts: 1,
            rescued: false,
            interrupted: false,
            graph: None,
        })
    }

    /// The error, sweeps and restarts of the whole, and the parts used.
    fn whole(assembly: Assembly) -> Option<(f64, usize, usize, u64)> {
        let (result, used) = assembly.into_result()?;
        let fitted = result.unwrap();
        Some((fitted.error, fitted.sweeps, fitted.restarts, used))
    }

    #[test]
    fn starts_count_as_if_made_in_turn_whatever_their_order() {
        // Start 1 is good enough: 0 and 1 count, whenever they come, and 2 and 3 never.
        let errors = [0.7, 0.05, 0.01, 0.02];
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2], [2, 1, 3, 0]] {
            let mut a = assembly();
            for k in order {
                a.land(k, start(errors[k]));
            }
            assert!(a.needed().is_none() && a.waiting().is_none(), "{order:?}");
            assert_eq!(whole(a), Some((0.05, 6, 2, 2)), "{order:?}");
        }
        // None is: the best of all.
        let mut a = assembly();
        [0.9, 0.4, 0.6, 0.4].into_iter().enumerate().for_each(|(k, e)| a.land(k, start(e)));
        assert_eq!(whole(a), Some((0.4, 12, 4, 4)));
    }

    #[test]
    fn only_starts_alone_are_made_in_parts() {
        let of = |in_parts: bool, effort: Effort, change: &dyn Fn(&mut FitSettings)| {
            let (a, mut settings) = (assembly(), FitSettings::default());
            settings.restarts = 4;
            change(&mut settings);
            let settings = Arc::new(settings.check().unwrap());
            let mut request = Request::new(a.job.graph.clone(), settings, 1);
            request.effort = effort;
            let mut made = Assembly::new(a.job.clone(), None, request, in_parts);
            (made.parts.len(), made.send(0, Ticket(1)).start)
        };
        let one = (1, None);
        assert_eq!(of(true, Effort::Full, &|_| {}), (4, Some(0)));
        assert_eq!(of(true, Effort::Full, &|s| s.restarts = 1), one);
        assert_eq!(of(false, Effort::Full, &|_| {}), one);
        assert_eq!(of(true, Effort::Quick, &|_| {}), one);
        assert_eq!(of(true, Effort::Full, &|s| s.rescue = 1), one);
        assert_eq!(of(true, Effort::Full, &|s| s.max_seconds = Some(9.0)), one);
    }

    #[test]
    fn an_error_counts_for_the_parts_up_to_it_and_only_then() {
        let error = || Err(FitError::Modes { structure: 1, tensor: 2 });
        let mut a = assembly();
        a.land(2, error());
        assert!(a.result().is_none(), "one before it may be good enough");
        a.land(0, start(0.5));
        assert!(a.result().is_none());
        a.land(1, start(0.4));
        assert_eq!(a.into_result(), Some((error(), 3)));
        let mut a = assembly();
        a.land(2, error());
        a.land(0, start(0.05));
        assert_eq!(whole(a), Some((0.05, 3, 1, 1)));
    }

    #[test]
    fn what_is_on_its_way_is_known_and_only_the_best_cores_are_kept() {
        let mut a = assembly();
        assert_eq!(a.send(1, Ticket(7)).start, Some(1));
        a.send(3, Ticket(9));
        a.send(0, Ticket(8));
        assert_eq!(a.flying().collect::<Vec<_>>(), [Ticket(8), Ticket(7), Ticket(9)]);
        a.land(1, start(0.5));
        a.drop_part(3);
        assert_eq!(a.flying().collect::<Vec<_>>(), [Ticket(8)]);
        a.land(0, start(0.1));
        assert!(a.best_so_far().is_none(), "all are put together");
        assert_eq!(a.result().unwrap().as_ref().unwrap().error, 0.1);
        // What comes later changes nothing.
        a.land(3, start(0.0));
        assert_eq!(whole(a), Some((0.1, 3, 1, 1)));
    }

    #[test]
    fn what_is_missing_is_known() {
        let mut a = assembly();
        assert_eq!((a.needed(), a.waiting()), (Some(0), Some(0)));
        a.send(0, Ticket(1));
        assert_eq!((a.needed(), a.waiting()), (None, Some(1)));
        a.land(2, start(0.3));
        assert_eq!((a.needed(), a.best_so_far().unwrap().error), (None, 0.3));
        a.land(0, start(0.5));
        assert_eq!((a.needed(), a.waiting()), (Some(1), Some(1)));
        a.land(1, Err(FitError::Modes { structure: 1, tensor: 2 }));
        assert!(a.result().unwrap().is_err(), "the first error is that of the fit");
    }
}
