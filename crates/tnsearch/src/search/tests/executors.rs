//! Executors that hand out results in any order, and give up what was cancelled in any way.

use super::strategies::{all, short};
use super::*;
use crate::rng::Rng;
use std::collections::HashSet;

/// Which of the requests at hand is worked on next.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    First,
    Last,
    Shuffled,
}

/// What comes of a request that was cancelled.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cancelled {
    /// Its result, as if nothing had been said.
    Done,
    /// Nothing.
    GivenUp,
    /// What there is so far.
    CutShort,
}

/// Works on requests only when it is asked for a result: everything it does is decided by the engine alone.
struct Inline {
    formula: Formula,
    workers: usize,
    order: Order,
    cancelled: Cancelled,
    /// Whether nothing comes at every second call, so that the engine sees one result at a time.
    pauses: bool,
    paused: bool,
    /// Requests that are needed and that it takes for each worker.
    at_hand: usize,
    waiting: Vec<(Ticket, Request)>,
    given_up: HashSet<Ticket>,
    submitted: HashSet<Ticket>,
    results: usize,
    idle: usize,
    rng: Rng,
}

impl Inline {
    fn new(workers: usize, order: Order, cancelled: Cancelled) -> Self {
        Inline {
            formula: Formula::default(),
            workers,
            order,
            cancelled,
            pauses: false,
            paused: false,
            at_hand: 1,
            waiting: Vec::new(),
            given_up: HashSet::new(),
            submitted: HashSet::new(),
            results: 0,
            idle: 0,
            rng: rng::stream(workers as u64, b"inline"),
        }
    }

    fn result(&self, ticket: Ticket, request: &Request) -> Result<Fitted, FitError> {
        let cancelled = self.given_up.contains(&ticket).then_some(self.cancelled);
        if cancelled == Some(Cancelled::GivenUp) {
            return Err(FitError::Interrupted);
        }
        let fitted = self.formula.evaluate(request, &Stop::new())?;
        Ok(match cancelled {
            // Better than anything that is true: it must not count.
            Some(Cancelled::CutShort) => Fitted { error: 0.0, interrupted: true, ..fitted },
            _ => fitted,
        })
    }
}

impl Executor for Inline {
    fn workers(&self) -> usize {
        self.workers
    }

    fn room(&self) -> usize {
        self.workers * self.at_hand
    }

    fn submit(&mut self, ticket: Ticket, request: Request) {
        assert!(self.submitted.insert(ticket), "{ticket:?} twice");
        self.waiting.push((ticket, request));
    }

    fn next(&mut self, _: Duration) -> Option<(Ticket, Result<Fitted, FitError>)> {
        self.paused = self.pauses && !self.paused;
        self.idle = if self.waiting.is_empty() { self.idle + 1 } else { 0 };
        assert!(self.idle < 10_000, "the engine waits for nothing");
        if self.waiting.is_empty() || self.paused {
            return None;
        }
        let last = self.waiting.len() - 1;
        let at = match self.order {
            Order::First => 0,
            Order::Last => last,
            Order::Shuffled => self.rng.random_range(0..=last),
        };
        let (ticket, request) = self.waiting.remove(at);
        self.results += 1;
        Some((ticket, self.result(ticket, &request)))
    }

    fn cancel(&mut self, ticket: Ticket) {
        assert!(self.submitted.contains(&ticket), "{ticket:?} was never submitted");
        self.given_up.insert(ticket);
    }
}

impl Drop for Inline {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.waiting.is_empty(), "the engine left {} behind", self.waiting.len());
            assert_eq!(self.submitted.len(), self.results, "one result per ticket");
        }
    }
}

/// Every executor of so many workers.
fn executors(workers: usize) -> impl Iterator<Item = Inline> {
    let orders = [Order::First, Order::Last, Order::Shuffled];
    let cancels = [Cancelled::Done, Cancelled::GivenUp, Cancelled::CutShort];
    let all = orders.into_iter().flat_map(move |o| cancels.map(|c| Inline::new(workers, o, c)));
    all.flat_map(|executor| {
        let mut slower = Inline::new(executor.workers, executor.order, executor.cancelled);
        slower.pauses = true;
        let mut ahead = Inline::new(executor.workers, executor.order, executor.cancelled);
        ahead.at_hand = 9;
        [executor, slower, ahead]
    })
}

#[test]
fn the_order_of_results_changes_nothing() {
    for (description, objective) in all() {
        let search = |executor: &mut Inline| {
            let mut records: Vec<Evaluation> = Vec::new();
            let result = engine(objective)
                .runs(5, 2, |seed| short(description, objective, seed))
                .prune(Slack(0.9))
                .listen(&mut records)
                .run(executor)
                .unwrap();
            assert_eq!(records.len() as u64, result.counts.evaluations);
            timeless(result)
        };
        let alone = search(&mut Inline::new(1, Order::First, Cancelled::Done));
        for mut executor in [2, 8].into_iter().flat_map(executors) {
            let what = format!("{:?} {:?}", executor.order, executor.cancelled);
            let what = format!("{} {objective:?} {what}", description.name);
            assert_eq!(search(&mut executor), alone, "{what}");
        }
    }
}

/// Here nothing depends on time, so it can be counted: guesses are made, and many come true.
#[test]
fn idle_workers_do_guess_and_what_is_asked_for_was_often_guessed() {
    let search = |workers, speculate| {
        let mut executor = Inline::new(workers, Order::First, Cancelled::GivenUp);
        let result = engine(Objective::MaxError(1e-3))
            .runs(5, 1, tnls)
            .prune(Slack(1.0))
            .speculate(speculate)
            .run(&mut executor)
            .unwrap();
        (result, executor.results as u64)
    };
    for (workers, speculate) in [(1, true), (8, false)] {
        let (result, requests) = search(workers, speculate);
        assert_eq!((result.speculative, requests), (0, result.counts.evaluations));
    }
    let (result, requests) = search(8, true);
    assert!(result.speculative > 0);
    assert_eq!(requests, result.counts.evaluations + result.speculative);
}

#[test]
fn a_budget_of_evaluations_is_cut_at_the_same_place() {
    let search = |executor: &mut Inline, max| {
        let engine = engine(Objective::Lambda(20.0)).runs(5, 3, tnls).prune(Slack(0.9));
        timeless(engine.max_evaluations(Some(max)).run(executor).unwrap())
    };
    for max in [1, 4, 11] {
        let alone = search(&mut Inline::new(1, Order::First, Cancelled::Done), max);
        assert_eq!((alone.counts.evaluations, alone.stopped_by), (max, StoppedBy::MaxEvaluations));
        for mut executor in executors(8) {
            assert_eq!(search(&mut executor, max), alone, "{max} {:?}", executor.order);
        }
    }
}

/// A stop in the middle: what is under way is called back, each ticket once, and the best so far is the answer.
#[test]
fn a_stop_leaves_nothing_under_way() {
    for (n, mut executor) in [1, 2, 8].into_iter().flat_map(executors).enumerate() {
        let stop = Stop::new();
        let mut heard = 0;
        let mut records: Vec<Evaluation> = Vec::new();
        let mut listener = |event: &Event<'_>| {
            heard += usize::from(matches!(event, Event::Evaluated(_)));
            if heard == 3 + n % 10 {
                stop.set();
            }
        };
        let result = engine(Objective::Lambda(20.0))
            .runs(5, 2, tnls)
            .prune(Slack(0.9))
            .stop(&stop)
            .listen(&mut listener)
            .listen(&mut records)
            .run(&mut executor)
            .unwrap();
        assert_eq!(result.stopped_by, StoppedBy::Interrupted);
        assert_eq!(result.counts.evaluations, records.len() as u64);
        let least = records.iter().map(|r| r.loss).fold(f64::INFINITY, f64::min);
        assert_eq!(result.best.unwrap().score.loss, least);
    }
}

/// Of several errors the first in the order of proposal is told, whenever they come.
#[test]
fn the_error_told_does_not_depend_on_the_order_of_results() {
    fn fail(graph: &ModeGraph) -> Option<FitError> {
        let edges = graph.edges().len();
        (edges > 3).then_some(FitError::Modes { structure: edges, tensor: 5 })
    }
    let search = |executor: &mut Inline| {
        executor.formula.fail_on = Some(fail);
        engine(Objective::Lambda(20.0)).runs(5, 2, tnls).run(executor).unwrap_err()
    };
    let alone = search(&mut Inline::new(1, Order::First, Cancelled::Done));
    // Where the engine sees one result at a time, runs are not equally far when the first error comes.
    for mut executor in executors(8).filter(|e| !e.pauses) {
        assert_eq!(search(&mut executor), alone, "{:?}", executor.order);
    }
}
