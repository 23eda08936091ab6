//! `_core.Engine`: a search on a thread of its own. The calling thread takes its messages, so that callbacks, progress
//! and Ctrl-C are where Python wants them, and the interpreter's lock is free while it waits.

use crate::errors;
use crate::outcome::{Outcome, outcome};
use crate::search::Order;
use crate::structure::from_json;
use crate::worker::PyJob;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tnsearch::fit::{FitError, Fitted, Request};
use tnsearch::problem::Stop;
use tnsearch::search::wire::Job;
use tnsearch::search::{
    Event, Executor, FromWorkers, Listener, ListenerError, Progress, Remote, Ticket, ToWorkers,
};

/// An error that can leave its thread.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What a search has to say to Python.
pub enum Message {
    /// Something happened, and the search waits until it was heard ([`Hub::acknowledge`]).
    Event(u64, Value),
    /// How far it is; only the newest is kept.
    Progress(Value),
    /// What workers are made from.
    Job(Job),
    /// A request to be evaluated elsewhere.
    Submit(Ticket, Vec<u8>),
    /// Its result is not needed any more.
    Cancel(Ticket),
    /// It is over.
    End,
}

/// Messages of a search that nobody has taken yet.
#[derive(Default)]
pub struct Hub {
    state: Mutex<State>,
    more: Condvar,
    heard: Condvar,
}

#[derive(Default)]
struct State {
    messages: VecDeque<Message>,
    woken: bool,
    /// Events sent, and events heard.
    sent: u64,
    heard: u64,
    /// Nobody listens any more.
    left: bool,
    /// Nothing more will be said.
    ended: bool,
    /// How often the search has waited for an answer in vain since the last one.
    in_vain: u32,
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a message.
    pub fn send(&self, message: Message) {
        let mut state = self.lock();
        if let Message::Progress(_) = message {
            state.messages.retain(|m| !matches!(m, Message::Progress(_)));
        }
        state.ended |= matches!(message, Message::End);
        state.messages.push_back(message);
        self.more.notify_all();
    }

    /// Leaves an event and waits until it was heard.
    fn tell(&self, event: Value) {
        let mut state = self.lock();
        state.sent += 1;
        let number = state.sent;
        state.messages.push_back(Message::Event(number, event));
        self.more.notify_all();
        while state.heard < number && !state.left {
            state = self.heard.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn take(&self, wait: Duration) -> Vec<Message> {
        let until = Instant::now() + wait;
        let mut state = self.lock();
        while state.messages.is_empty() && !std::mem::take(&mut state.woken) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.more.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.messages.drain(..).collect()
    }

    fn acknowledge(&self, number: u64) {
        let mut state = self.lock();
        state.heard = state.heard.max(number);
        self.heard.notify_all();
    }

    fn wake(&self) {
        self.lock().woken = true;
        self.more.notify_all();
    }

    /// The search has waited for an answer in vain.
    fn waited(&self) {
        let mut state = self.lock();
        state.in_vain = state.in_vain.saturating_add(1);
        self.more.notify_all();
    }

    /// There was an answer, or a new request.
    fn busy(&self) {
        self.lock().in_vain = 0;
    }

    /// Whether nothing will come without an answer: it has waited twice in vain since the last one. The first time may
    /// have begun before that answer came; the second has seen it.
    fn idle(&self) -> bool {
        let state = self.lock();
        state.in_vain >= 2 && state.messages.is_empty()
    }

    fn leave(&self) {
        self.lock().left = true;
        self.heard.notify_all();
    }
}

/// Workers that Python ships requests to: what [`Remote`] sends goes on to the hub.
pub struct Shipped {
    remote: Remote,
    sent: Receiver<ToWorkers>,
    hub: Arc<Hub>,
    whole: bool,
}

impl Shipped {
    /// So many workers; `answers` is where their results come in.
    pub fn new(
        hub: &Arc<Hub>,
        job: Job,
        workers: usize,
        whole: bool,
        answers: Receiver<FromWorkers>,
    ) -> Self {
        let (to, sent) = mpsc::channel();
        let remote = Remote::new(job, workers, to, answers);
        let remote = if whole { remote.with_whole_fits() } else { remote };
        let shipped = Shipped { remote, sent, hub: hub.clone(), whole };
        shipped.pass_on();
        shipped
    }

    fn pass_on(&self) {
        for sent in self.sent.try_iter() {
            self.hub.send(match sent {
                ToWorkers::Job(job) => Message::Job(job),
                ToWorkers::Submit(ticket, request) => Message::Submit(ticket, request),
                ToWorkers::Cancel(ticket) => Message::Cancel(ticket),
            });
        }
    }
}

impl Executor for Shipped {
    fn workers(&self) -> usize {
        self.remote.workers()
    }

    fn room(&self) -> usize {
        // Whoever evaluates in a way of his own is given what he can do at a time.
        if self.whole { self.remote.workers() } else { self.remote.room() }
    }

    fn makes_single_starts(&self) -> bool {
        self.remote.makes_single_starts()
    }

    fn until(&mut self, stop: &Stop) {
        self.remote.until(stop);
    }

    fn submit(&mut self, ticket: Ticket, request: Request) {
        self.hub.busy();
        self.remote.submit(ticket, request);
        self.pass_on();
    }

    fn next(&mut self, wait: Duration) -> Option<(Ticket, Result<Fitted, FitError>)> {
        self.pass_on();
        let next = self.remote.next(wait);
        self.pass_on();
        match &next {
            Some(_) => self.hub.busy(),
            // A mere look is no wait: the search has other things to do.
            None if !wait.is_zero() => self.hub.waited(),
            None => {}
        }
        next
    }

    fn cancel(&mut self, ticket: Ticket) {
        self.remote.cancel(ticket);
        self.pass_on();
    }
}

/// Tells Python what happens, as far as it asked.
pub struct Teller {
    pub hub: Arc<Hub>,
    pub events: bool,
    pub progress: bool,
}

impl Listener for Teller {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError> {
        match event {
            Event::Evaluated(evaluation) if self.events => {
                let mut value = json!(evaluation);
                value["event"] = "evaluated".into();
                self.hub.tell(value);
            }
            Event::Generation(generation) if self.events => {
                let mut value = json!(generation);
                value["event"] = "generation".into();
                self.hub.tell(value);
            }
            Event::Progress(progress) if self.progress => {
                self.hub.send(Message::Progress(progress_value(progress)));
            }
            _ => {}
        }
        Ok(())
    }
}

fn progress_value(p: &Progress) -> Value {
    json!({
        "samples": p.counts.samples,
        "evaluations": p.counts.evaluations,
        "pruned": p.counts.pruned,
        "generation": p.generation,
        "planned_samples": p.planned_samples,
        "params": p.best.map(|b| b.params),
        "error": p.best.map(|b| b.error),
        "loss": p.best.map(|b| b.loss),
        "target_reached": p.target_reached,
        "lower_bound": p.lower_bound,
        "seconds": p.seconds,
    })
}

type Ended = std::thread::Result<Result<Outcome, Failure>>;

/// A search under way.
#[pyclass(module = "tnsearch._core", frozen)]
pub struct Engine {
    hub: Arc<Hub>,
    stop: Stop,
    thread: Mutex<Option<JoinHandle<Ended>>>,
    answers: Sender<FromWorkers>,
}

#[pymethods]
impl Engine {
    /// Begins a search; `options` is what `tnsearch.search` was asked.
    #[new]
    fn new(x: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> PyResult<Self> {
        let order = Order::new(x, options)?;
        let (hub, stop) = (Arc::new(Hub::default()), Stop::new());
        let (answers, results) = mpsc::channel();
        let thread = {
            let (hub, stop) = (hub.clone(), stop.clone());
            std::thread::Builder::new().name("tnsearch".to_owned()).spawn(move || {
                let ended = catch_unwind(AssertUnwindSafe(|| order.run(&hub, &stop, results)));
                hub.send(Message::End);
                ended
            })
        };
        let thread = thread
            .map_err(|e| PyRuntimeError::new_err(format!("no thread could be started: {e}")))?;
        Ok(Engine { hub, stop, thread: Mutex::new(Some(thread)), answers })
    }

    /// What the search has to say, waiting for it for so many seconds at most. Raises what a signal's handler raises,
    /// before anything is taken.
    fn messages<'py>(&self, py: Python<'py>, timeout: f64) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let wait = Duration::try_from_secs_f64(timeout).unwrap_or_default();
        py.check_signals()?;
        let taken = py.detach(|| self.hub.take(wait));
        let said = |message: Message| -> PyResult<Bound<'py, PyTuple>> {
            match message {
                Message::Event(number, value) => {
                    ("event", number, from_json(py, &value)?).into_pyobject(py)
                }
                Message::Progress(value) => ("progress", from_json(py, &value)?).into_pyobject(py),
                Message::Job(job) => ("job", PyJob(job)).into_pyobject(py),
                Message::Submit(ticket, request) => {
                    ("submit", ticket.0, PyBytes::new(py, &request)).into_pyobject(py)
                }
                Message::Cancel(ticket) => ("cancel", ticket.0).into_pyobject(py),
                Message::End => ("end",).into_pyobject(py),
            }
        };
        taken.into_iter().map(said).collect()
    }

    /// The same at the end of a list (or a deque): a signal that comes when this returns finds them there.
    fn collect<'py>(&self, inbox: &Bound<'py, PyAny>, timeout: f64) -> PyResult<()> {
        for message in self.messages(inbox.py(), timeout)? {
            inbox.call_method1("append", (message,))?;
        }
        Ok(())
    }

    /// Whether the search is over: nothing more will be said.
    fn ended(&self) -> bool {
        self.hub.lock().ended
    }

    /// A worker's answer to a request.
    fn answer(&self, ticket: u64, answer: Vec<u8>) {
        // Where the search is over, nobody needs it.
        let _ = self.answers.send(FromWorkers::Answer(Ticket(ticket), answer));
        self.hub.busy();
    }

    /// A request cannot be evaluated at all: the search ends with that.
    fn fail(&self, ticket: u64, why: String) {
        let _ = self.answers.send(FromWorkers::Failed(Ticket(ticket), why));
    }

    /// There are now so many workers.
    fn set_workers(&self, workers: usize) {
        let _ = self.answers.send(FromWorkers::Workers(workers));
    }

    /// Whether the search waits for answers, and has said all it has to say.
    fn idle(&self) -> bool {
        self.hub.idle()
    }

    /// An event was heard, and all before it: the search goes on.
    fn acknowledge(&self, number: u64) {
        self.hub.acknowledge(number);
    }

    /// Makes `messages` return at once. May be called from any thread.
    fn wake(&self) {
        self.hub.wake();
    }

    /// Ends the search with the best so far; it waits for nobody to hear of events any more.
    fn stop(&self) {
        self.stop.set();
        self.hub.leave();
        self.hub.wake();
    }

    /// What the search found, once it has ended: a dict, the network (or None), the networks of the front.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(thread) = thread else {
            return Err(PyRuntimeError::new_err("the result was taken before"));
        };
        self.hub.leave();
        match py.detach(|| thread.join()) {
            Ok(Ok(Ok(found))) => outcome(py, found),
            Ok(Ok(Err(error))) => Err(errors::raised(&*error)),
            Ok(Err(panic)) | Err(panic) => Err(errors::fault(&*panic)),
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Nobody waits for it: it ends by itself, soon.
        self.stop.set();
        self.hub.leave();
    }
}
