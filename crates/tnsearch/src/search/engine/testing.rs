//! What the engine's own tests work with: an executor that does what it is told, and strategies whose way is known.

use super::assembly::Assembly;
use super::run::{Job, Slot};
use super::speculate::{Key, key};
use super::{Driver, Engine, ErrorBound};
use crate::fit::{Effort, FitError, FitSettings, Fitted, Request};
use crate::graph::{ModeGraph, Structure, Template};
use crate::problem::Objective;
use crate::search::{Ask, Executor, Generation, Outcome, Strategy, Ticket};
use crate::tensor::Tensor;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(super) const DIMS: [usize; 4] = [3; 4];

/// The weight of the error in the objective of these tests.
pub(super) const LAMBDA: f64 = 10.0;

/// What comes of a request: the result, or nothing yet. The last argument says whether it was cancelled.
type Reply = Box<dyn FnMut(Ticket, &Request, bool) -> Option<Result<Fitted, FitError>>>;

/// What an executor was told.
#[derive(Default)]
pub(super) struct Desk {
    pub submitted: Vec<(Ticket, Request)>,
    pub cancelled: Vec<Ticket>,
    /// How long results were to be waited for.
    pub waits: Vec<Duration>,
    waiting: VecDeque<(Ticket, Request)>,
    idle: usize,
}

impl Desk {
    /// The codes of the structures submitted, in order.
    pub fn codes(&self) -> Vec<usize> {
        self.submitted.iter().map(|(_, request)| code(&request.graph)).collect()
    }
}

pub(super) struct TestExecutor {
    pub desk: Rc<RefCell<Desk>>,
    pub workers: usize,
    pub room: usize,
    pub single_starts: bool,
    pub reply: Reply,
}

impl TestExecutor {
    /// So many workers, which do all they are told at once.
    pub fn new(workers: usize) -> Self {
        TestExecutor {
            desk: Rc::default(),
            workers,
            room: workers,
            single_starts: false,
            reply: Box::new(|_, request, _| Some(Ok(fitted(&request.graph, 0.5)))),
        }
    }

    /// The same with other replies.
    pub fn replying(
        self,
        reply: impl FnMut(Ticket, &Request, bool) -> Option<Result<Fitted, FitError>> + 'static,
    ) -> Self {
        TestExecutor { reply: Box::new(reply), ..self }
    }
}

impl Executor for TestExecutor {
    fn workers(&self) -> usize {
        self.workers
    }

    fn room(&self) -> usize {
        self.room
    }

    fn makes_single_starts(&self) -> bool {
        self.single_starts
    }

    fn submit(&mut self, ticket: Ticket, request: Request) {
        let mut desk = self.desk.borrow_mut();
        desk.submitted.push((ticket, request.clone()));
        desk.waiting.push_back((ticket, request));
    }

    fn next(&mut self, wait: Duration) -> Option<(Ticket, Result<Fitted, FitError>)> {
        let mut desk = self.desk.borrow_mut();
        desk.waits.push(wait);
        for at in 0..desk.waiting.len() {
            let (ticket, request) = desk.waiting[at].clone();
            let cancelled = desk.cancelled.contains(&ticket);
            if let Some(result) = (self.reply)(ticket, &request, cancelled) {
                desk.waiting.remove(at);
                desk.idle = 0;
                return Some((ticket, result));
            }
        }
        desk.idle += 1;
        assert!(desk.idle < 1000, "the engine waits for nothing");
        None
    }

    fn cancel(&mut self, ticket: Ticket) {
        self.desk.borrow_mut().cancelled.push(ticket);
    }
}

/// A ring of its own for every number below 10,000: one digit and 2 for each rank.
pub(super) fn structure(code: usize) -> Structure {
    assert!(code < 10_000, "{code}");
    let ranks = [1000, 100, 10, 1].map(|unit| 2 + code / unit % 10);
    Structure::identity(Arc::new(Template::ring(4).unwrap()), ranks.to_vec()).unwrap()
}

/// The number of such a ring.
pub(super) fn code(graph: &ModeGraph) -> usize {
    let ring = Template::ring(4).unwrap();
    ring.edges().iter().fold(0, |code, &(u, v)| {
        let mut edges = graph.edges().iter();
        let rank = edges.find(|e| (e.0, e.1) == (u.min(v), u.max(v))).unwrap().2;
        10 * code + rank - 2
    })
}

/// Cores of the right shapes and that error.
pub(super) fn fitted(graph: &ModeGraph, error: f64) -> Fitted {
    let core = |v: usize| {
        let dims = graph.core_dims(v, &DIMS);
        let entries = vec![1.0; dims.iter().product()];
        Tensor::new(dims, entries).unwrap().into()
    };
    Fitted {
        cores: (0..graph.vertices()).map(core).collect(),
        error,
        sweeps: 3,
        restarts: 1,
        rescued: false,
        interrupted: false,
        graph: None,
    }
}

/// Says nothing about any structure.
pub(super) struct Nothing;

impl ErrorBound for Nothing {
    fn error(&self, _: &ModeGraph, _: f64) -> f64 {
        0.0
    }
}

/// Asks for so many structures at a time, named by a number and their index. What became of them decides on the next
/// number: three times that one, and the index of the first that was fitted, or their count where none was.
#[derive(Clone)]
pub(super) struct Branching {
    pub node: usize,
    pub width: usize,
    pub ends: fn(usize) -> bool,
}

impl Branching {
    pub fn new(width: usize) -> Self {
        Branching { node: 1, width, ends: |_| false }
    }
}

impl Strategy for Branching {
    fn name(&self) -> &str {
        "branching"
    }

    fn ask(&mut self) -> Ask {
        if (self.ends)(self.node) {
            return Ask::Done;
        }
        Generation::new((0..self.width).map(|k| structure(2 * self.node + k)).collect()).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let first = outcomes.iter().position(|o| o.error.is_some());
        self.node = 3 * self.node + first.unwrap_or(self.width);
    }

    fn fork(&self) -> Option<Box<dyn Strategy>> {
        Some(Box::new(self.clone()))
    }
}

/// Asks for given generations; one without structures is a thought.
#[derive(Clone)]
pub(super) struct Listing(pub Vec<Generation>);

impl Listing {
    /// One generation of these structures.
    pub fn of(codes: impl IntoIterator<Item = usize>) -> Self {
        Listing::each([codes.into_iter().collect()])
    }

    /// One generation for each list of structures.
    pub fn each(lists: impl IntoIterator<Item = Vec<usize>>) -> Self {
        let generation =
            |codes: Vec<usize>| Generation::new(codes.into_iter().map(structure).collect());
        Listing(lists.into_iter().map(generation).collect())
    }
}

impl Strategy for Listing {
    fn name(&self) -> &str {
        "listing"
    }

    fn ask(&mut self) -> Ask {
        if self.0.is_empty() {
            return Ask::Done;
        }
        let next = self.0.remove(0);
        if next.structures.is_empty() { Ask::Thinking } else { next.ask() }
    }

    fn tell(&mut self, _: &[Outcome]) {}
}

/// An engine with so many runs of a strategy, whatever the sizes of the structures.
pub(super) fn engine<'a>(runs: usize, strategy: impl Strategy + Clone + 'static) -> Engine<'a> {
    with_fit(runs, strategy, FitSettings::default())
}

pub(super) fn with_fit<'a>(
    runs: usize,
    strategy: impl Strategy + Clone + 'static,
    fit: FitSettings,
) -> Engine<'a> {
    let objective = Objective::Lambda(LAMBDA).check().unwrap();
    Engine::new(&DIMS, objective, fit.check().unwrap())
        .max_phi(1e9)
        .runs(5, runs, |_| strategy.clone())
}

/// A job of run 0 at that place of its first generation.
pub(super) fn job(driver: &Driver<'_, '_>, code: usize, index: usize) -> Job {
    let place = Slot { generation: 1, run: 0, index };
    driver.engine.rules.job(place, structure(code), Effort::Full, None, false).unwrap()
}

/// Adds a fit of run 0: one that is asked for, or a guess.
pub(super) fn add(
    driver: &mut Driver<'_, '_>,
    code: usize,
    index: Option<usize>,
    in_parts: bool,
) -> Key {
    let job = Arc::new(job(driver, code, index.unwrap_or(0)));
    let (request, key) = (driver.request(&job).unwrap().unwrap(), key(&job));
    let assembly = Assembly::new(job, index, request, in_parts);
    if index.is_some() {
        driver.ready.insert(assembly.urgency(), (0, key.clone()));
    }
    driver.fits[0].insert(key.clone(), assembly);
    key
}

/// Asks a run, and asks for the fits that it then waits for.
pub(super) fn begin(driver: &mut Driver<'_, '_>, run: usize) {
    driver.ask(run).unwrap();
    driver.engine.runs[run].take_wave(&driver.engine.rules, usize::MAX);
    driver.request_wave(run).unwrap();
}
