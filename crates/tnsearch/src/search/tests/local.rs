//! The threads of this machine: what becomes of requests that are cancelled, and of faults.

use super::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Against a hang: nothing else depends on it.
const LONG: Duration = Duration::from_secs(120);

/// Says which fit has begun (by its seed), and ends it when it is told to or stopped.
struct Doors {
    begun: Mutex<Sender<u64>>,
    end: Mutex<Receiver<()>>,
    formula: Formula,
}

impl Evaluator for Doors {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        let _ = self.begun.lock().unwrap().send(request.seed);
        let end = self.end.lock().unwrap();
        while !stop.is_set() && end.recv_timeout(Duration::from_millis(5)).is_err() {}
        self.formula.evaluate(request, &Stop::new())
    }
}

/// One thread, and what tells of it and moves it.
fn doors() -> (Local, Receiver<u64>, Sender<()>) {
    let ((begun, has_begun), (end, ends)) = (channel(), channel());
    let doors =
        Doors { begun: Mutex::new(begun), end: Mutex::new(ends), formula: Formula::default() };
    (Local::new(Arc::new(doors), 1).unwrap(), has_begun, end)
}

fn request(seed: u64) -> Request {
    let structure = Structure::identity(Arc::new(Template::ring(5).unwrap()), vec![2; 5]).unwrap();
    let fit = Arc::new(FitSettings::default().check().unwrap());
    Request::new(structure.canonical().graph, fit, seed)
}

fn next(local: &mut Local) -> (u64, Result<Fitted, FitError>) {
    let (ticket, result) = local.next(LONG).expect("a result");
    (ticket.0, result)
}

#[test]
fn a_cancelled_request_that_waits_is_given_up_at_once() {
    let (mut local, begun, end) = doors();
    (0..4).for_each(|k| local.submit(Ticket(k), request(k)));
    assert_eq!(begun.recv_timeout(LONG), Ok(0));
    // The one thread is at work on another, which goes on.
    for k in [2, 1] {
        local.cancel(Ticket(k));
        local.cancel(Ticket(k));
        assert_eq!(next(&mut local), (k, Err(FitError::Interrupted)));
    }
    end.send(()).unwrap();
    let (ticket, result) = next(&mut local);
    assert!(ticket == 0 && !result.unwrap().interrupted);
    assert_eq!(begun.recv_timeout(LONG), Ok(3), "no other was begun");
    end.send(()).unwrap();
    assert!(matches!(next(&mut local), (3, Ok(_))));
    // What is done or unknown cannot be cancelled.
    (0..9).for_each(|k| local.cancel(Ticket(k)));
    assert_eq!(local.next(Duration::ZERO), None, "one result per ticket");
}

#[test]
fn a_cancelled_request_under_way_is_cut_short_alone() {
    let (mut local, begun, end) = doors();
    (0..2).for_each(|k| local.submit(Ticket(k), request(k)));
    assert_eq!(begun.recv_timeout(LONG), Ok(0));
    local.cancel(Ticket(0));
    let (ticket, result) = next(&mut local);
    assert!(ticket == 0 && result.unwrap().interrupted, "its error is not that of a whole fit");
    assert_eq!(begun.recv_timeout(LONG), Ok(1));
    end.send(()).unwrap();
    let (ticket, result) = next(&mut local);
    assert!(ticket == 1 && !result.unwrap().interrupted);
}

#[test]
fn threads_end_with_the_executor_whatever_is_under_way() {
    let (mut local, begun, _end) = doors();
    (0..5).for_each(|k| local.submit(Ticket(k), request(k)));
    assert_eq!(begun.recv_timeout(LONG), Ok(0));
    // Ends when the fit under way has seen the stop; those that wait are never begun.
    drop(local);
    assert!(begun.recv_timeout(LONG).is_err());
}

/// Fits by formula, and has a fault.
#[derive(Default)]
struct Faulty(Formula, AtomicUsize);

impl Evaluator for Faulty {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        assert!(self.1.fetch_add(1, Ordering::SeqCst) != 30, "a fault in fit 30");
        self.0.evaluate(request, stop)
    }
}

#[test]
fn a_panic_surfaces_where_the_search_was_called() {
    for workers in [1, 3] {
        let mut local = Local::new(Arc::new(Faulty::default()), workers).unwrap();
        let search = || engine(Objective::Lambda(20.0)).runs(5, 2, tnls).run(&mut local);
        let panic = catch_unwind(AssertUnwindSafe(search)).unwrap_err();
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or(panic.downcast_ref::<&str>().copied());
        assert_eq!(message, Some("a fault in fit 30"));
        // The threads are still there.
        local.submit(Ticket(u64::MAX), request(1));
        while next(&mut local).0 != u64::MAX {}
    }
}
