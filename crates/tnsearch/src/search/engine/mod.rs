//! The engine: everything around strategies. It asks them, has fitted what they ask for, prunes, keeps budgets,
//! history and the best, tells them, and tells those who listen.
//!
//! **Order.** Each run follows the sequential rule of its generation ([`lane`]) and depends only on its own results, so
//! runs advance as fast as their fits end; the account is written generation by generation and run by run. Counts,
//! walks and the answer are therefore the same with one worker and with a thousand. Where a budget of evaluations is
//! shared, the runs advance together instead, since then it matters who comes first.
//!
//! **Speculation.** Where the rule allows only one or two fits at a time, idle workers make the starts of a fit at the
//! same time ([`assembly`]), and fit what may be asked for next ([`speculate`]). Such a result is used only if the rule
//! asks for it.

mod account;
mod assembly;
mod carry;
mod event;
mod finish;
mod flight;
mod formats;
mod grounds;
mod history;
mod lane;
mod no_answer;
mod progress;
mod record;
mod result;
mod rules;
mod run;
mod speculate;
mod stages;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod walks;
mod warm;

pub(crate) use carry::carried;
pub use event::{Doing, Event, Listener, ListenerError, Progress};
pub use formats::{BestOfFormats, FormatBest, OtherFormat, chosen_format};
pub use grounds::Grounds;
pub use history::{HistoryPoint, ParetoPoint};
pub use no_answer::{NoAnswer, missed, nearest};
pub use record::{Counts, EndRecord, Evaluation, GenerationRecord};
pub use result::{Best, RunSummary, SearchResult, ShrunkSummary, StoppedBy};
pub use rules::ErrorBound;
pub use stages::{Stage, StageClock, Stages};
pub(crate) use warm::grown;

use super::executor::{Executor, Ticket};
use super::first::InHand;
use super::{SearchError, Strategy};
use crate::SettingError;
use crate::bound::Relaxation;
use crate::error::positive;
use crate::fit::{CheckedFit, Effort, FitError, Fitted};
use crate::graph::{ModeGraph, Template};
use crate::problem::{CheckedObjective, Measure, Reason, Score, Stop};
use crate::rng;
use account::Account;
use assembly::{Assembly, Urgency};
use flight::Flight;
use rules::Rules;
use run::{Closed, Job, Run};
use speculate::{Foresight, Key};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use walks::Walks;
use warm::Lineage;

/// Makes the cores of the answer those of the full tensor.
type Expand<'a> = dyn Fn(&ModeGraph, Fitted) -> Fitted + 'a;

/// How often the engine looks at its stop while it waits for fits.
const TICK: Duration = Duration::from_millis(20);

/// A search from its parts: strategies and what surrounds them. [`crate::Search`] puts them together; this is for
/// those who bring a strategy, an executor or a bound of their own.
///
/// ```no_run
/// use std::sync::Arc;
/// use tnsearch::fit::FitSettings;
/// use tnsearch::graph::Template;
/// use tnsearch::problem::{Objective, Target};
/// use tnsearch::search::{Engine, FitEvaluator, Local, Tnls, TnlsSettings};
/// # fn example(target: Target) -> Result<(), Box<dyn std::error::Error>> {
/// let template = Arc::new(Template::ring(target.dims().len())?);
/// let (tnls, fit) = (TnlsSettings::default().check()?, FitSettings::default().check()?);
/// let mut threads = Local::new(Arc::new(FitEvaluator::new(&target)), 4)?;
/// let result = Engine::new(target.dims(), Objective::MaxError(1e-4).check()?, fit)
///     .runs(1, 5, |seed| Tnls::new(template.clone(), tnls.clone(), seed))
///     .run(&mut threads)?;
/// if let Some(best) = result.best {
///     println!("{:?}: {} params", best.structure.edges(), best.score.params);
/// }
/// # Ok(()) }
/// ```
pub struct Engine<'a> {
    rules: Rules,
    fit: Arc<CheckedFit>,
    max_evaluations: Option<u64>,
    runs: Vec<Run>,
    certificate: Option<(Box<dyn FnOnce() -> Relaxation + 'a>, u64)>,
    expand: Option<Box<Expand<'a>>>,
    records: HashMap<(usize, String, Effort), Evaluation>,
    listeners: Vec<&'a mut dyn Listener>,
    speculates: bool,
    keeps_front: bool,
    measure: Measure,
    grounds: Grounds<'a>,
    home: Option<Arc<Template>>,
    /// Whether the tensor itself, as one vertex, is an answer where there is no other.
    takes_whole: bool,
    /// An answer that is there already, and whether it counts only where there is no other.
    in_hand: Option<(InHand, bool)>,
    stop: Stop,
    begun: Instant,
    clock: StageClock,
}

impl<'a> Engine<'a> {
    /// An engine for a tensor of these dimensions, without strategies yet. For numbers of another kind than f64 the
    /// settings are those of [`CheckedFit::for_target`].
    pub fn new(dims: &[usize], objective: CheckedObjective, fit: CheckedFit) -> Self {
        Engine {
            rules: Rules {
                dims: dims.to_vec(),
                data_dims: dims.to_vec(),
                objective,
                bound: None,
                max_phi: 10.0,
                carry: fit.carry,
                max_cost: None,
                cuts_in_order: false,
            },
            fit: Arc::new(fit),
            max_evaluations: None,
            runs: Vec::new(),
            certificate: None,
            expand: None,
            records: HashMap::new(),
            listeners: Vec::new(),
            speculates: true,
            keeps_front: false,
            measure: Measure::RSE,
            grounds: Grounds::default(),
            home: None,
            takes_whole: false,
            in_hand: None,
            stop: Stop::new(),
            begun: Instant::now(),
            clock: StageClock::reading_since(Instant::now()),
        }
    }

    /// Adds `count` independent runs; run k has the seed [`rng::derived_seed`]`(seed, k)`, which also
    /// seeds its fits. A run alone finds what it finds among others (unless a budget, which they share, cuts it
    /// short).
    pub fn runs<S: Strategy + 'static>(
        mut self,
        seed: u64,
        count: usize,
        mut strategy: impl FnMut(u64) -> S,
    ) -> Self {
        for seed in (0..count).map(|k| rng::derived_seed(seed, k)) {
            self.runs.push(Run::new(self.runs.len(), seed, Box::new(strategy(seed))));
        }
        self
    }

    /// Fits at most this many structures. The cut is made in the order in which they are proposed, so it does not
    /// depend on the number of workers.
    pub fn max_evaluations(mut self, most: Option<u64>) -> Self {
        self.max_evaluations = most;
        self
    }

    /// Does not fit structures with `params >= max_phi * prod(dims)`; 10 by default, as in the authors' program.
    pub fn max_phi(mut self, max_phi: f64) -> Self {
        self.rules.max_phi = max_phi;
        self
    }

    /// Does not fit structures whose ALS sweep would take more than this many multiply-adds per entry of the
    /// tensor ([`crate::fit::sweep_cost`]); none: all are.
    pub fn max_cost(mut self, max_cost: Option<f64>) -> Self {
        self.rules.max_cost = max_cost;
        self
    }

    /// Does not fit what this bound rules out. The strategies' way and the answer stay the same; of each
    /// generation the most promising structures are fitted first, so that the rest can be pruned.
    pub fn prune(mut self, bound: impl ErrorBound + 'static) -> Self {
        self.rules.bound = Some(Arc::new(bound));
        self
    }

    /// Whether the cores of the whole Pareto front are returned with the answer ([`SearchResult::front`]).
    pub fn front(mut self, keep: bool) -> Self {
        self.keeps_front = keep;
        self
    }

    /// Whether idle workers fit what may be asked for next (the default). It changes no result.
    pub fn speculate(mut self, speculate: bool) -> Self {
        self.speculates = speculate;
        self
    }

    /// Proves a lower bound when the search is over, unless a strategy has: the relaxed problem, and how
    /// many of its nodes may be expanded for it.
    pub fn certify(mut self, relaxation: impl FnOnce() -> Relaxation + 'a, nodes: u64) -> Self {
        self.certificate = Some((Box::new(relaxation), nodes));
        self
    }

    /// The executor fits a smaller tensor, of these dimensions: parameters are counted with those of the full one. At
    /// the end `expand` makes the answer's cores on its graph those of the full tensor.
    pub fn shrunk(
        mut self,
        dims: &[usize],
        expand: impl Fn(&ModeGraph, Fitted) -> Fitted + 'a,
    ) -> Self {
        self.rules.data_dims = dims.to_vec();
        self.expand = Some(Box::new(expand));
        self
    }

    /// Tells a listener what happens: a journal, a progress bar, any closure.
    pub fn listen(mut self, listener: &'a mut dyn Listener) -> Self {
        self.listeners.push(listener);
        self
    }

    /// Continues a search from (any part of) its evaluations: the strategies run again from their seeds, and
    /// what is on record is not fitted again. Counts, history and result are those of an uninterrupted
    /// search. The tensor, the settings and the seed must be those of the first search.
    pub fn resume(mut self, records: impl IntoIterator<Item = Evaluation>) -> Self {
        self.records.extend(records.into_iter().map(|r| ((r.run, r.key.clone(), r.effort), r)));
        self
    }

    /// Ends the search with the best so far when this is set.
    pub fn stop(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// What the error is called; the squared relative error by default.
    pub fn measure(mut self, measure: Measure) -> Self {
        self.measure = measure;
        self
    }

    /// What the bounds of its strategies and of its certificate speak of.
    pub fn grounds(mut self, grounds: Grounds<'a>) -> Self {
        self.grounds = grounds;
        self
    }

    /// The graph searched: a structure of another is recorded with its own.
    pub fn home(mut self, template: Arc<Template>) -> Self {
        self.home = Some(template);
        self
    }

    /// Where all strategies end without any answer, it is the tensor itself, as one vertex that carries all modes.
    pub fn takes_whole(mut self, takes: bool) -> Self {
        self.takes_whole = takes;
        self
    }

    /// An answer that is there already, for the full tensor: the answer in the end where nothing better is found, or, as a
    /// last resort, nothing at all. The strategies are not told of it.
    pub fn in_hand(mut self, answer: Option<InHand>, last_resort: bool) -> Self {
        self.in_hand = answer.map(|answer| (answer, last_resort));
        self
    }

    /// The clock of the stages before this one.
    pub fn clock(mut self, clock: StageClock) -> Self {
        self.clock = clock;
        self
    }

    /// Counts the seconds of the search from an earlier moment than its making.
    pub fn begun(mut self, begun: Instant) -> Self {
        self.begun = begun;
        self
    }

    /// Runs the strategies to their end, or to that of a budget.
    pub fn run(mut self, executor: &mut dyn Executor) -> Result<SearchResult, SearchError> {
        if self.runs.is_empty() {
            return Err(SettingError::new("runs", 0, "it must be at least 1").into());
        }
        if self.max_evaluations == Some(0) {
            return Err(SettingError::new("max-evaluations", 0, "it must be at least 1").into());
        }
        if self.rules.max_phi.is_nan() || self.rules.max_phi <= 0.0 {
            return Err(
                SettingError::new("max-phi", self.rules.max_phi, "it must be above 0").into()
            );
        }
        self.rules.max_cost.map_or(Ok(()), |cost| positive("max-cost", cost))?;
        let least = self.rules.dims.iter().fold(0u128, |sum, &d| sum + d as u128);
        if let Some(max_params) = self.rules.objective.max_params().filter(|p| *p < least) {
            return Err(SearchError::TooFewParams { max_params, least });
        }
        self.rules.cuts_in_order = self.max_evaluations.is_some() && self.rules.bound.is_none();
        Driver::new(self, executor).drive()
    }
}

/// A search under way.
struct Driver<'a, 'e> {
    engine: Engine<'a>,
    executor: &'e mut dyn Executor,
    flights: HashMap<Ticket, Flight>,
    next_ticket: u64,
    /// Generations of each run that have ended and are not entered yet.
    closed: Vec<VecDeque<Closed>>,
    /// Cores that later fits of each run begin at.
    lineages: Vec<Lineage>,
    /// The walks of each run.
    walks: Vec<Walks>,
    /// The fits of each run under way, and its guesses.
    fits: Vec<HashMap<Key, Assembly>>,
    /// Fits that runs wait for and whose next part is to be sent.
    ready: BTreeMap<Urgency, (usize, Key)>,
    foresight: Vec<Foresight>,
    account: Account,
    /// Generations entered.
    entered: u64,
    /// What the runs have proven by the generations entered.
    proven: Vec<Option<f64>>,
    /// The most of what was ever proven, infinity left out.
    most_proven: Option<f64>,
    /// Seconds spent before a resume.
    before: f64,
    seen: progress::Seen,
    /// Requests sent that nothing came of so far.
    speculative: u64,
    stopped_by: Option<StoppedBy>,
    /// Fits refused because they would take longer than the time left.
    out_of_time: u32,
    /// Fits refused because they would take more memory than there is.
    out_of_memory: u32,
    /// Of several errors of fits the first in order, so that the message is the same every time.
    failure: Option<(run::Slot, FitError)>,
    listener_error: Option<ListenerError>,
    /// The best of the fits that a stop cut short, as long as none was finished.
    cut_short: Option<(Arc<Job>, Score, Fitted)>,
}

impl<'a, 'e> Driver<'a, 'e> {
    fn new(engine: Engine<'a>, executor: &'e mut dyn Executor) -> Self {
        let runs = engine.runs.len();
        Driver {
            before: engine.records.values().map(|r| r.seconds).fold(0.0, f64::max),
            account: Account::new(engine.rules.objective, engine.keeps_front),
            engine,
            executor,
            flights: HashMap::new(),
            next_ticket: 0,
            closed: (0..runs).map(|_| VecDeque::new()).collect(),
            lineages: (0..runs).map(|_| Lineage::default()).collect(),
            walks: (0..runs).map(|_| Walks::default()).collect(),
            fits: (0..runs).map(|_| HashMap::new()).collect(),
            ready: BTreeMap::new(),
            foresight: (0..runs).map(|_| Foresight::default()).collect(),
            entered: 0,
            proven: vec![None; runs],
            most_proven: None,
            seen: progress::Seen::default(),
            speculative: 0,
            stopped_by: None,
            out_of_time: 0,
            out_of_memory: 0,
            failure: None,
            listener_error: None,
            cut_short: None,
        }
    }

    fn drive(mut self) -> Result<SearchResult, SearchError> {
        self.executor.until(&self.engine.stop);
        loop {
            self.look_at_stop();
            if self.stopped_by.is_some() || self.failure.is_some() {
                break;
            }
            let moved = match self.engine.max_evaluations {
                Some(most) => self.advance_together(most),
                None => self.advance_freely(),
            };
            let moved = match moved {
                Ok(moved) => moved,
                // Nothing stays under way: the executor may serve another search.
                Err(error) => {
                    self.land_all();
                    return Err(error);
                }
            };
            self.enter_generations();
            if self.stopped_by.is_some() || self.failure.is_some() {
                continue;
            }
            if self.engine.runs.iter().all(|run| run.finished) {
                // Where all that was left would have taken too long, it was the time that ended it.
                let late = self.out_of_time > 0 && self.account.leader.is_none();
                let why = if late { StoppedBy::MaxSeconds } else { StoppedBy::Finished };
                self.stopped_by = Some(why);
                break;
            }
            let more = self.dispatch();
            let mut wait = if moved || more { Duration::ZERO } else { TICK };
            while let Some((ticket, result)) = self.executor.next(wait) {
                self.land(ticket, result);
                wait = Duration::ZERO;
            }
        }
        self.land_all();
        if let Some((_, error)) = self.failure.take() {
            return Err(error.into());
        }
        self.enter_the_rest();
        // What is still to be fitted is needed.
        self.executor.until(&Stop::new());
        self.finish()
    }

    /// Whether it is time to end.
    fn look_at_stop(&mut self) {
        if self.stopped_by.is_none() {
            self.stopped_by = self.engine.stop.reason().map(|reason| match reason {
                Reason::Asked => StoppedBy::Interrupted,
                Reason::Deadline => StoppedBy::MaxSeconds,
            });
        }
    }

    /// Advances every run as far as it comes without waiting, one ask each; whether any moved.
    fn advance_freely(&mut self) -> Result<bool, SearchError> {
        let mut moved = false;
        for k in 0..self.engine.runs.len() {
            moved |= self.ask(k)?;
            loop {
                if self.engine.runs[k].take_wave(&self.engine.rules, usize::MAX) == 0 {
                    break;
                }
                self.request_wave(k)?;
            }
            moved |= self.close(k);
        }
        Ok(moved)
    }

    /// The same where all runs share a budget: generation by generation, and within one wave by wave.
    fn advance_together(&mut self, most: u64) -> Result<bool, SearchError> {
        let runs = 0..self.engine.runs.len();
        if self.engine.runs.iter().all(|run| run.round.is_none()) {
            for k in runs {
                self.ask(k)?;
            }
            return Ok(true);
        }
        if self.engine.runs.iter().any(|r| r.round.as_ref().is_some_and(|r| !r.wave.is_empty())) {
            return Ok(false);
        }
        let left = most.saturating_sub(self.seen.counts.evaluations);
        let mut left = usize::try_from(left).unwrap_or(usize::MAX);
        let mut taken = 0;
        for k in runs.clone() {
            let wave = self.engine.runs[k].take_wave(&self.engine.rules, left);
            left -= wave;
            taken += wave;
        }
        if taken > 0 {
            for k in runs {
                self.request_wave(k)?;
            }
        } else if self.engine.runs.iter().any(Run::has_more) {
            self.stopped_by = Some(StoppedBy::MaxEvaluations);
        } else {
            for k in runs {
                self.close(k);
            }
        }
        Ok(true)
    }

    /// Asks a run that waits for nothing; whether it was asked.
    fn ask(&mut self, k: usize) -> Result<bool, SearchError> {
        let run = &mut self.engine.runs[k];
        if run.finished || run.round.is_some() {
            return Ok(false);
        }
        run.ask(&self.engine.rules)?;
        self.foresight[k].changed = true;
        if run.finished {
            // Nothing that was guessed will be asked for.
            let guesses: Vec<Key> = self.fits[k].keys().cloned().collect();
            guesses.iter().for_each(|key| drop(self.give_up(k, key)));
            return Ok(true);
        }
        if let Some(round) = &run.round {
            self.seen.planned(round);
            for job in &round.jobs {
                self.lineages[k].planned(job);
            }
        }
        self.tell_doing(k);
        Ok(true)
    }

    /// Ends the generation of a run if all of it is resolved; whether it was.
    fn close(&mut self, k: usize) -> bool {
        if !self.engine.runs[k].is_resolved() {
            return false;
        }
        let closed = self.engine.runs[k].close(&self.engine.rules);
        if let Some(closed) = &closed {
            self.seen.closed(closed);
        }
        self.foresight[k].changed = true;
        // A generation in which a strategy was only thinking leaves nothing behind.
        self.closed[k].extend(closed.filter(|closed| !closed.round.steps.is_empty()));
        true
    }

    /// Enters the generations that have ended in every run, in their order.
    fn enter_generations(&mut self) {
        loop {
            let number = self.entered + 1;
            let mut runs = self.engine.runs.iter();
            let ended = runs.all(|run| run.finished || run.ended >= number);
            // A run that has ended one of that number, if only by a thought.
            let some = self.engine.runs.iter().any(|run| run.ended >= number);
            if !ended || !some {
                return;
            }
            let mut proposed = false;
            for k in 0..self.closed.len() {
                if self.closed[k].front().is_none_or(|c| c.round.number != number) {
                    continue;
                }
                let Some(closed) = self.closed[k].pop_front() else { continue };
                proposed = true;
                self.proven[k] = closed.lower_bound;
                self.note_proven();
                self.account.enter(&closed);
            }
            self.entered = number;
            if proposed {
                self.tell_generation();
            }
            self.tell_progress();
        }
    }

    /// Enters what ended and what was under way when the search was stopped.
    fn enter_the_rest(&mut self) {
        let mut cut = false;
        // Whatever else ended the search, what was fitted counts.
        self.engine.rules.cuts_in_order &= self.stopped_by == Some(StoppedBy::MaxEvaluations);
        for k in 0..self.engine.runs.len() {
            let closed = self.engine.runs[k].close_early(&self.engine.rules, &mut cut);
            self.closed[k].extend(closed);
        }
        let mut rest: Vec<(u64, usize, Closed)> = Vec::new();
        for (k, closed) in self.closed.iter_mut().enumerate() {
            rest.extend(closed.drain(..).map(|c| (c.round.number, k, c)));
        }
        rest.sort_by_key(|(number, run, _)| (*number, *run));
        let some = !rest.is_empty();
        for (_, k, closed) in rest {
            self.proven[k] = closed.lower_bound;
            self.account.enter(&closed);
        }
        if some {
            self.seen.counts = self.account.counts;
            self.tell_progress();
        }
    }
}
