//! The one call that wires a search: spectra, pruning, strategy, runs, resume, certificate.

use super::description::{Bounds, Context, Description, Graphs, Plan};
use super::engine::{
    Doing, Engine, Evaluation, Event, Grounds, Listener, SearchResult, ShrunkSummary, Stage,
    StageClock,
};
use super::executor::{Evaluator, Executor, Local, evaluator_for};
use super::first::{InHand, first_answer};
use super::incumbents::{starts, usual_formats, usual_trees};
use super::splits::{Chosen, SplitSummary, chosen};
use super::strategies;
use super::{
    Begin, Budget, PlanFor, Resolved, SearchError, SearchSettings, Strategy, StrategySpec,
};
use crate::SettingError;
use crate::bound::{BoundLimits, CutBound, NeededRank, Relaxation, check_template, needed_rank};
use crate::decompose::{Decomposition, Limits};
use crate::fit::{self, CheckedFit, FitSettings, Fitted};
use crate::graph::{ModeGraph, Structure, Template};
use crate::network::expand_cores;
use crate::problem::{
    CheckedObjective, Known, Loss, Objective, Over, ShrinkLimits, SquaredError, Statement, Stop,
    Target, Unproven, check_domain,
};
use crate::rng;
use crate::tensor::size;
use serde_json::Value;
use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

type Make<'a> = dyn Fn(&Context<'_>, u64) -> Result<Box<dyn Strategy>, SearchError> + 'a;

/// Makes an executor for the tensor that is fitted and the loss.
type MakeExecutor<'a> =
    dyn FnOnce(&Target, &Arc<dyn Loss>) -> Result<Box<dyn Executor + 'a>, SearchError> + 'a;

/// Who makes the fits, where that is not done by this machine's threads.
enum Elsewhere<'a> {
    /// One that holds the data already.
    Given(&'a mut dyn Executor),
    /// One that is told the data.
    Made(Box<MakeExecutor<'a>>),
}

/// A search for the smallest network of a tensor.
///
/// ```
/// use tnsearch::prelude::*;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // x_ijk = i + 2 j + 4 k has rank 2 in every unfolding.
/// let entry = |n: usize| (n / 9 + 2 * (n / 3 % 3) + 4 * (n % 3)) as f64;
/// let x = Target::new(Tensor::new(vec![3; 3], (0..27).map(entry).collect())?)?;
/// let found = Search::new(&x).template(Template::path(3)?).max_error(1e-10).seed(1).run()?;
/// let best = found.best.ok_or("nothing")?;
/// assert_eq!(best.structure.ranks(), [2, 2]);
/// assert!(found.certified_optimal);
/// # Ok(()) }
/// ```
pub struct Search<'a> {
    target: Target,
    template: Option<Arc<Template>>,
    settings: SearchSettings,
    own: Option<(Description, Box<Make<'a>>)>,
    loss: Arc<dyn Loss>,
    evaluator: Option<Arc<dyn Evaluator>>,
    executor: Option<Elsewhere<'a>>,
    records: Vec<Evaluation>,
    listeners: Vec<&'a mut dyn Listener>,
    stop: Stop,
    begun: Option<Instant>,
    speculate: bool,
    front: bool,
    /// The split that was chosen, and a network of it.
    split: Option<(SplitSummary, Decomposition)>,
}

impl<'a> Search<'a> {
    /// The search with default settings: the fewest parameters with a relative error of at most 1 %, in whichever format
    /// has them. It is the search of the command line and of Python where nothing is said, bit for bit (where memory
    /// suffices: those have a limit on it).
    ///
    /// ```
    /// use tnsearch::prelude::*;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let entry = |n: usize| 1.0 / (1 + n / 16 + n / 4 % 4 + n % 4) as f64;
    /// let x = Target::new(Tensor::new(vec![4; 3], (0..64).map(entry).collect())?)?;
    /// let found = Search::new(&x).max_re(0.01).run()?;
    /// assert!(found.target_reached);
    /// # Ok(()) }
    /// ```
    pub fn new(target: &Target) -> Self {
        Search {
            target: target.clone(),
            template: None,
            settings: SearchSettings::default(),
            own: None,
            loss: Arc::new(SquaredError),
            evaluator: None,
            executor: None,
            records: Vec::new(),
            listeners: Vec::new(),
            stop: Stop::new(),
            begun: None,
            speculate: true,
            front: false,
            split: None,
        }
    }

    /// Searches one template; else several formats, of which the best is chosen (a ring with strategies other than the
    /// default).
    pub fn template(mut self, template: impl Into<Arc<Template>>) -> Self {
        self.template = Some(template.into());
        self
    }

    /// Takes all settings at once.
    pub fn settings(mut self, settings: SearchSettings) -> Self {
        self.settings = settings;
        self
    }

    /// What counts as the smallest network.
    pub fn objective(mut self, objective: Objective) -> Self {
        self.settings.objective = objective;
        self
    }

    /// The fewest parameters with a relative error of at most this.
    pub fn max_re(self, re: f64) -> Self {
        self.max_error(re * re)
    }

    /// The fewest parameters with an error of at most this, the square of the relative error by default.
    pub fn max_error(self, eps: f64) -> Self {
        self.objective(Objective::MaxError(eps))
    }

    /// How structures are proposed.
    pub fn strategy(mut self, strategy: StrategySpec) -> Self {
        self.settings.strategy = strategy;
        self
    }

    /// A strategy of one's own, made for each run from its context and seed; `graphs` says what it searches.
    pub fn own_strategy<S: Strategy + 'static>(
        mut self,
        graphs: Graphs,
        make: impl Fn(&Context<'_>, u64) -> Result<S, SearchError> + 'a,
    ) -> Self {
        let description = Description {
            graphs,
            ..Description::new("own", "a strategy of one's own", |_, _| {
                unreachable!("made by its own function")
            })
        };
        let make = move |context: &Context<'_>, seed| {
            make(context, seed).map(|s| Box::new(s) as Box<dyn Strategy>)
        };
        self.own = Some((description, Box::new(make)));
        self
    }

    /// The largest rank of an edge.
    pub fn max_rank(mut self, max_rank: usize) -> Self {
        self.settings.max_rank = Some(max_rank);
        self
    }

    /// Same seed, same data, same settings: same result, at any number of workers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// Independent runs with derived seeds; the best counts.
    pub fn runs(mut self, runs: usize) -> Self {
        self.settings.runs = runs;
        self
    }

    /// How structures are fitted.
    pub fn fit(mut self, fit: FitSettings) -> Self {
        self.settings.fit = fit;
        self
    }

    /// Whether a smaller tensor is searched in the place of X where that pays (the default): see [`Target::shrink`].
    /// Never with another loss or evaluator than the default, or an executor that holds the data already.
    pub fn shrink(mut self, shrink: bool) -> Self {
        self.settings.shrink = shrink;
        self
    }

    /// Whether structures are left out that a bound proves cannot win (the default).
    pub fn prune(mut self, prune: bool) -> Self {
        self.settings.prune = prune;
        self
    }

    /// What the search may use.
    pub fn budget(mut self, change: impl FnOnce(&mut Budget)) -> Self {
        change(&mut self.settings.budget);
        self
    }

    /// Continues a search from (any part of) its evaluations.
    pub fn resume(mut self, records: impl IntoIterator<Item = Evaluation>) -> Self {
        self.records.extend(records);
        self
    }

    /// Tells a listener what happens: a journal, a progress bar, any closure.
    pub fn listen(mut self, listener: &'a mut dyn Listener) -> Self {
        self.listeners.push(listener);
        self
    }

    /// Ends the search with the best so far when this is set.
    pub fn stop(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Whether the networks of the whole Pareto front are returned with the answer ([`SearchResult::front`]).
    pub fn front(mut self, keep: bool) -> Self {
        self.front = keep;
        self
    }

    /// Counts the time from an earlier moment than its preparation: what it took to read the tensor is then part of the
    /// limit.
    pub fn begun(mut self, begun: Instant) -> Self {
        self.begun = Some(begun);
        self
    }

    /// Whether idle workers fit what may be asked for next (the default). It changes no result.
    pub fn speculate(mut self, speculate: bool) -> Self {
        self.speculate = speculate;
        self
    }

    /// How far a network is from the data: another loss than the squared error. Cuts bound only the squared error, so
    /// nothing is pruned or proven then; `auto` is then its local half, and `exact` is refused.
    pub fn loss(mut self, loss: impl Loss + 'static) -> Self {
        self.loss = Arc::new(loss);
        self
    }

    /// Fits in another way, on this machine's threads.
    pub fn evaluator(mut self, evaluator: Arc<dyn Evaluator>) -> Self {
        self.evaluator = Some(evaluator);
        self
    }

    /// Has the fits made elsewhere than on this machine's threads, by what holds the data: nothing is shrunk.
    pub fn executor(mut self, executor: &'a mut dyn Executor) -> Self {
        self.executor = Some(Elsewhere::Given(executor));
        self
    }

    /// Has the fits made elsewhere, by an executor that is made for the tensor that is really fitted (a smaller one in
    /// the place of X, where that pays) and the loss: the answer is that of this machine's threads, bit for bit.
    /// [`Remote`](super::Remote) with a [`Job`](super::wire::Job) is one.
    pub fn executor_for(
        mut self,
        make: impl FnOnce(&Target, &Arc<dyn Loss>) -> Result<Box<dyn Executor + 'a>, SearchError> + 'a,
    ) -> Self {
        self.executor = Some(Elsewhere::Made(Box::new(make)));
        self
    }

    /// Whether the squared error on all entries is asked for: only that is bounded by cuts, and given by direct methods.
    fn is_plain(&self) -> bool {
        self.loss.is_squared_error() && self.target.is_whole()
    }

    /// Whether large modes may be split into factors (the default): [`SearchSettings::split`].
    pub fn split(mut self, split: bool) -> Self {
        self.settings.split = split;
        self
    }

    /// Where nothing is said about shape, template and ranks: the tensor in the split that is better than its own shape.
    fn in_better_shape(mut self) -> Result<Self, SearchError> {
        let held = self.evaluator.is_some() || matches!(self.executor, Some(Elsewhere::Given(_)));
        let free =
            self.template.is_none() && self.own.is_none() && self.settings.max_rank.is_none();
        let several = self.settings.default_template() == "formats";
        if held || !free || !several || !self.settings.split || !self.is_plain() {
            return Ok(self);
        }
        let budget = &self.settings.budget;
        budget.check()?;
        let objective = self.settings.objective.check()?;
        let begun = *self.begun.get_or_insert_with(Instant::now);
        let seconds = budget.max_seconds.unwrap_or(f64::INFINITY);
        let left = (seconds - begun.elapsed().as_secs_f64()).max(0.0);
        let stop = self.stop.within_seconds(SPLIT_PART * left);
        let limits = Limits { max_bytes: self.target.left_of(budget.max_bytes), stop };
        if let Some(found) = chosen(&self.target, objective, (&limits, budget.threads())) {
            let Chosen { target, train, summary } = found;
            self.target = target;
            self.split = Some((summary, train));
        }
        Ok(self)
    }

    /// Checks everything. Nothing is computed yet, but for the shape in which a tensor of long modes is searched.
    pub fn check(self) -> Result<CheckedSearch<'a>, SearchError> {
        self.in_better_shape()?.checked()
    }

    fn checked(self) -> Result<CheckedSearch<'a>, SearchError> {
        let (dims, plain) = (self.target.dims(), self.is_plain());
        let (template, settings) = match (&self.own, &self.template) {
            // It knows its graphs, and has no ranks but those it is given.
            (Some(_), template) => {
                let ring = || Template::ring(dims.len()).map(Arc::new);
                let template = match template.clone().map_or_else(ring, Ok)? {
                    // Formats are chosen between by their bounds.
                    formats if formats.is_formats() && !plain => {
                        Arc::new(Template::any(dims.len())?)
                    }
                    other => other,
                };
                let paper = StrategySpec::new(strategies::TNLS.name);
                let own = self.settings.clone().with(|s| s.strategy = paper);
                (template, own.resolved(self.settings.strategy.clone(), dims))
            }
            _ => self.settings.resolve(self.template.clone(), dims, plain)?,
        };
        let description = match &self.own {
            Some((own, _)) => own,
            None => settings.strategy.description()?,
        };
        let (graphs, bounds, max_cost) =
            (description.graphs, description.bounds, description.max_cost);
        if bounds == Bounds::Needed && !plain {
            let expected = "it needs bounds, and cuts bound only the squared error on all entries; use auto, tnls or greedy";
            return Err(
                SettingError::new("strategy", format!("'{}'", description.name), expected).into()
            );
        }
        let (objective, fit) = self.settings.check(description.rescue)?;
        // What is good enough is decided here and in the fits alike.
        let fit = fit.for_target(&self.target).into_owned();
        let fit = within_room(&fit, &self.target)?;
        let plan = match &self.own {
            Some(_) => None,
            None => {
                let walked = template.vertices() == template.order();
                let (max_rank, walks) = (settings.max_rank, settings.direct && plain && walked);
                Some(settings.strategy.check(PlanFor { max_rank, walks })?)
            }
        };
        self.settings.check_at_once(plan.as_ref().map_or(("runs", 1), |plan| plan.at_once()))?;
        template.check_order(dims.len())?;
        check_domain(&self.target, &*self.loss)?;
        if let Some(max_params) = objective.max_params() {
            let ranks = vec![1; template.edges().len()];
            let least = Structure::identity(template.clone(), ranks)?.params(dims);
            if max_params < least {
                return Err(SearchError::TooFewParams { max_params, least });
            }
        }
        let max_cost = self.settings.max_cost.or(max_cost);
        Ok(CheckedSearch {
            search: self,
            template,
            settings,
            objective,
            fit,
            plan,
            graphs,
            bounds,
            max_cost,
        })
    }

    /// Checks, prepares and runs the search.
    pub fn run(self) -> Result<SearchResult, SearchError> {
        self.check()?.prepare()?.run()
    }
}

/// A search whose settings were checked.
pub struct CheckedSearch<'a> {
    search: Search<'a>,
    template: Arc<Template>,
    settings: Resolved,
    objective: CheckedObjective,
    fit: CheckedFit,
    plan: Option<Box<dyn Plan>>,
    graphs: Graphs,
    bounds: Bounds,
    max_cost: Option<f64>,
}

impl<'a> CheckedSearch<'a> {
    /// The settings, with nothing left out.
    pub fn settings(&self) -> &Resolved {
        &self.settings
    }

    /// The tensor that is searched, in the shape in which it is.
    pub fn target(&self) -> &Target {
        &self.search.target
    }

    /// The split that was chosen, where it was not asked for: all that is said about structures is about its modes.
    pub fn split(&self) -> Option<&SplitSummary> {
        self.search.split.as_ref().map(|(split, _)| split)
    }

    /// The objective.
    pub fn objective(&self) -> CheckedObjective {
        self.objective
    }

    /// The template: the one asked for, or what takes its place where there are no bounds to choose formats by.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// The settings of fits, with all that follows from the others.
    pub fn fit(&self) -> &CheckedFit {
        &self.fit
    }

    /// Which graphs are searched.
    pub fn graphs(&self) -> Graphs {
        self.graphs
    }

    /// The graph whose structures are proposed.
    pub fn searched(&self) -> Result<Arc<Template>, SearchError> {
        Ok(match self.graphs {
            Graphs::Template | Graphs::Trees | Graphs::Formats => self.template.clone(),
            Graphs::All => Arc::new(Template::complete(self.search.target.dims().len())?),
        })
    }

    /// All settings of the strategy, for reports.
    pub fn strategy_settings(&self) -> Value {
        self.plan.as_ref().map_or(Value::Null, |plan| plan.settings())
    }

    /// Those of exact search, where it is a part of the strategy.
    pub fn exact_settings(&self) -> Option<Value> {
        self.plan.as_ref().and_then(|plan| plan.exact())
    }

    /// Structures are not fitted whose sweep takes more multiply-adds per entry.
    pub fn max_cost(&self) -> Option<f64> {
        self.max_cost
    }

    /// The evaluations that the search continues from.
    pub fn records(&self) -> &[Evaluation] {
        &self.search.records
    }

    /// Continues a search from (any part of) its evaluations.
    pub fn resume(mut self, records: impl IntoIterator<Item = Evaluation>) -> Self {
        self.search.records.extend(records);
        self
    }

    /// Tells a listener what happens.
    pub fn listen(mut self, listener: &'a mut dyn Listener) -> Self {
        self.search.listeners.push(listener);
        self
    }

    /// The smaller tensor to be searched in the place of X, if that is to be and pays.
    fn shrunk(&self, stop: &Stop) -> Option<Target> {
        let Search { target, evaluator, executor, .. } = &self.search;
        let settings = &self.settings;
        let held_elsewhere = evaluator.is_some() || matches!(executor, Some(Elsewhere::Given(_)));
        if !settings.shrink || held_elsewhere || !self.search.is_plain() {
            return None;
        }
        let Budget { max_bytes, threads, .. } = settings.budget;
        let limits = ShrinkLimits { max_bytes, threads, stop: stop.clone() };
        target.shrink(settings.objective, &limits)
    }

    /// Shrinks the tensor and computes what bounds need, in at most a third of the time allowed.
    pub fn prepare(mut self) -> Result<PreparedSearch<'a>, SearchError> {
        let mut listeners = std::mem::take(&mut self.search.listeners);
        let Search { target, stop, .. } = &self.search;
        let (template, settings) = (&self.template, &self.settings);
        let begun = self.search.begun.unwrap_or_else(Instant::now);
        let budget = &settings.budget;
        let seconds = budget.max_seconds.unwrap_or(f64::INFINITY);
        let late = stop.within_seconds((seconds - begun.elapsed().as_secs_f64()).max(0.0));
        let mut stages = StageClock::reading_since(begun);
        let plain = self.search.is_plain();
        let in_hand = plain.then(|| {
            enter(&mut listeners, &mut stages, Stage::Direct);
            tell(&mut listeners, Doing::Sketching);
            self.first(begun)
        });
        let clock = Instant::now();
        enter(&mut listeners, &mut stages, Stage::Spectra);
        if settings.shrink {
            tell(&mut listeners, Doing::Shrinking);
        }
        let shrunk = self.shrunk(&late.within_part(0.5));
        let shrunk = shrunk.map(|target| (target, clock.elapsed().as_secs_f64()));
        let hurry = late.within_part(1.0 / 3.0);
        let target = shrunk.as_ref().map_or(target, |(small, _)| small);
        let wanted = settings.prune || self.certifies() || self.bounds != Bounds::Optional;
        let limits = BoundLimits { max_bytes: budget.max_bytes, threads: budget.threads };
        let bound = match wanted && plain {
            false => None,
            true => {
                // What is not prepared is computed when it is asked for, in half of the time at most.
                let half = late.within_part(0.5);
                let stops = (&half, &hurry);
                let cuts = 1u64.checked_shl(target.dims().len() as u32 - 1).unwrap_or(u64::MAX);
                tell(&mut listeners, Doing::Cuts(cuts - 1));
                match CutBound::prepared(target, template, settings.objective, &limits, stops) {
                    Ok(bound) => Some(bound),
                    Err(e) if self.bounds == Bounds::Needed => return Err(e.into()),
                    // Without bounds nothing is pruned or proven; the search is the same.
                    Err(_) => None,
                }
            }
        };
        self.search.listeners = listeners;
        let in_hand = in_hand.flatten();
        Ok(PreparedSearch { checked: self, in_hand, shrunk, bound, late, hurry, begun, stages })
    }

    /// A first answer where the entries are many, in a part of the time: reading counts, and yet there is some.
    fn first(&self, begun: Instant) -> Option<InHand> {
        let Search { target, stop, .. } = &self.search;
        let budget = &self.settings.budget;
        let seconds = budget.max_seconds.unwrap_or(f64::INFINITY);
        let left = (seconds - begun.elapsed().as_secs_f64()).max(0.0);
        let stop = stop.within_seconds((FIRST_PART * left).max(LEAST_PART * seconds));
        let limits = Limits { max_bytes: target.left_of(budget.max_bytes), stop };
        let searched = self.searched().ok()?;
        let (widest, threads) = (self.settings.widest(), budget.threads());
        let among = (&searched, self.graphs);
        if let Some((_, train)) = &self.search.split {
            return InHand::new(train.clone(), among);
        }
        let found = first_answer(target, among, self.objective, widest, (&limits, threads))?;
        let most = phi_allowed(self.settings.max_phi, target.dims(), &self.template);
        (found.structure.phi(target.dims()) < most).then_some(found)
    }

    /// The structures that bounds of this search are about; none where its strategy leaves the template.
    pub fn over(&self) -> Option<Over> {
        let template = &self.template;
        match self.graphs {
            Graphs::Trees | Graphs::Formats => Some(Over::Trees),
            Graphs::Template => Some(Over::new(template, self.proven_rank())),
            Graphs::All => None,
        }
    }

    /// The largest rank of what is proven. What bounds say of a CP holds for every rank, unless a largest is asked for.
    fn proven_rank(&self) -> usize {
        let any = self.template.copy_vertex().is_some() && self.settings.widest_rank.is_some();
        if any { usize::MAX } else { self.settings.max_rank }
    }

    /// Whether a lower bound is to be proven: one over the template says nothing about other graphs.
    fn certifies(&self) -> bool {
        self.settings.certificate_nodes > 0
            && self.graphs == Graphs::Template
            && check_template(&self.template).is_ok()
    }
}

/// A search that can begin.
pub struct PreparedSearch<'a> {
    checked: CheckedSearch<'a>,
    /// What is there before the search.
    in_hand: Option<InHand>,
    /// The smaller tensor in the place of X, and the seconds it took.
    shrunk: Option<(Target, f64)>,
    bound: Option<CutBound>,
    /// Set when the time is up.
    late: Stop,
    /// Set when a third of it is spent: proofs give way to fits.
    hurry: Stop,
    begun: Instant,
    stages: StageClock,
}

impl PreparedSearch<'_> {
    /// What is searched: the tensor, or the smaller one in its place.
    pub fn target(&self) -> &Target {
        self.shrunk.as_ref().map_or(&self.checked.search.target, |(small, _)| small)
    }

    /// The bounds from the tensor's cuts, where they could be computed.
    pub fn bound(&self) -> Option<&CutBound> {
        self.bound.as_ref()
    }

    /// Why nothing can be proven, where that is known by now.
    fn unproven(&self) -> Option<Unproven> {
        let CheckedSearch { search, settings, graphs, .. } = &self.checked;
        match () {
            () if !search.loss.is_squared_error() => Some(Unproven::OtherLoss),
            () if !search.target.is_whole() => Some(Unproven::Holes),
            () if *graphs == Graphs::All => Some(Unproven::AllGraphs),
            () if self.late.is_set() => None,
            () if settings.certificate_nodes == 0 => Some(Unproven::NotAsked),
            () if self.bound.is_none() => Some(Unproven::TooLarge),
            () => None,
        }
    }

    /// The rank that the template needs at least for the error asked for, where that is above the largest allowed: then
    /// nothing can be the answer, which is known before the first fit.
    pub fn needed_rank(&self) -> Option<NeededRank> {
        let CheckedSearch { template, settings, .. } = &self.checked;
        let (eps, bound) = (settings.objective.max_error()?, self.bound.as_ref()?);
        let templates = self.checked.graphs == Graphs::Template;
        needed_rank(template, bound.spectra(), eps)
            .filter(|needed| templates && needed.rank > settings.widest())
    }

    /// That nothing can be the answer, where that is known before the first fit.
    pub fn impossible(&self) -> Option<Statement> {
        let needed = self.needed_rank()?;
        Some(Statement::of(Known {
            over: self.checked.over(),
            objective: self.checked.objective.get(),
            measure: &self.checked.search.loss.measure(),
            bound: None,
            impossible: Some(Some(needed.into())),
            unproven: Unproven::Unknown,
            answer: None,
        }))
    }

    /// Runs the search.
    pub fn run(self) -> Result<SearchResult, SearchError> {
        let certifies = self.checked.certifies();
        let searched = self.checked.searched()?;
        let (over, unproven) = (self.checked.over(), self.unproven());
        let proven_rank = self.checked.proven_rank();
        let PreparedSearch { checked, in_hand, shrunk, bound, late, hurry, begun, mut stages } =
            self;
        let CheckedSearch {
            search,
            template,
            settings,
            objective,
            fit,
            plan,
            max_cost,
            graphs,
            ..
        } = checked;
        let Search {
            target,
            own,
            loss,
            evaluator,
            executor,
            records,
            mut listeners,
            stop,
            speculate,
            front,
            split,
            ..
        } = search;
        let (dims, budget) = (target.dims(), &settings.budget);
        let small = shrunk.as_ref().map_or(&target, |(small, _)| small);
        // However long the preparation took, something is to be fitted.
        let left = budget.max_seconds.map(|s| (s - begun.elapsed().as_secs_f64()).max(s / 20.0));
        let ending = stop.within_seconds(left.unwrap_or(f64::INFINITY));
        let open_bytes = budget.max_bytes.map(|bytes| bytes as f64 / 4.0 / settings.runs as f64);
        let relaxation = |bound: &CutBound, hurry: &Stop| {
            let relaxation = Relaxation::stoppable(
                template.clone(),
                objective,
                bound,
                settings.max_rank,
                &ending,
                hurry,
            );
            match open_bytes {
                Some(bytes) => relaxation.within(bytes),
                None => relaxation,
            }
        };
        // All runs start from the same relaxed problem; its tables are made once.
        let shared: OnceCell<Relaxation> = OnceCell::new();
        let relax = |bound: &CutBound| shared.get_or_init(|| relaxation(bound, &hurry)).clone();
        let widest_rank = settings.widest();
        let plain = loss.is_squared_error() && target.is_whole();
        let direct = settings.direct && own.is_none() && plain;
        if direct {
            enter(&mut listeners, &mut stages, Stage::Direct);
            tell(&mut listeners, Doing::Direct);
        }
        let starts = direct.then(|| {
            let max_bytes = small.left_of(budget.max_bytes);
            let limits = Limits { max_bytes, stop: ending.within_part(0.5) };
            let templates = match graphs {
                Graphs::Template if template.is_any() => usual_formats(dims.len()),
                Graphs::Template => vec![template.clone()],
                Graphs::Trees => usual_trees(dims.len()),
                Graphs::All => vec![searched.clone()],
                Graphs::Formats => usual_formats(dims.len()),
            };
            let grouped = matches!(graphs, Graphs::Trees | Graphs::Formats);
            let templates = (&templates[..], grouped);
            starts(small, bound.as_ref(), templates, objective, widest_rank, &limits)
        });
        let context = Context {
            starts: starts.as_deref(),
            widest_rank,
            entries: small.entries(),
            template: &template,
            dims,
            objective,
            bound: bound.as_ref(),
            stop: &ending,
            relaxation: &relax,
        };
        let strategy = |seed: u64| match (&own, &plan) {
            (Some((_, make)), _) => make(&context, seed),
            (None, Some(plan)) => plan.strategy(&context, seed),
            (None, None) => unreachable!("one of both was checked"),
        };
        let strategies = (0..settings.runs).map(|k| strategy(rng::derived_seed(settings.seed, k)));
        let strategies = strategies.collect::<Result<Vec<_>, _>>()?;
        // Every run, so that one alone finds what it finds among others.
        let first = match &plan {
            Some(plan) if own.is_none() => plan.first(&context),
            _ => starts.clone().unwrap_or_default(),
        };
        let begin = |then| Begin::new(first.clone(), then);
        let mut strategies = strategies.into_iter().map(begin).collect::<Vec<_>>().into_iter();
        let mut engine = Engine::new(dims, objective, fit.for_target(small).into_owned())
            .runs(settings.seed, settings.runs, |_| {
                strategies.next().unwrap_or_else(|| unreachable!("one per run"))
            })
            .max_evaluations(budget.max_evaluations)
            .max_phi(phi_allowed(settings.max_phi, dims, &template))
            .max_cost(max_cost)
            .speculate(speculate)
            .front(front)
            .resume(records)
            .measure(loss.measure())
            .home(searched.clone())
            .takes_whole(
                matches!(graphs, Graphs::Trees | Graphs::Formats) && settings.max_phi >= 1.0,
            )
            .in_hand(in_hand, !settings.direct || own.is_some())
            .stop(&ending)
            .begun(begun)
            .clock(stages);
        let needed = || {
            let (eps, bound) = (settings.objective.max_error()?, bound.as_ref()?);
            let needed = needed_rank(&template, bound.spectra(), eps);
            needed.filter(|needed| needed.rank > proven_rank)
        };
        engine = engine.grounds(Grounds {
            over,
            wider: widest_rank > proven_rank,
            max_rank: Some(settings.max_rank)
                .filter(|_| settings.widest_rank.is_none() && graphs_have_limits(graphs)),
            unproven,
            needed: Some(Box::new(needed)),
        });
        for listener in listeners {
            engine = engine.listen(listener);
        }
        if shrunk.is_some() {
            engine = engine.shrunk(small.dims(), |graph, fitted| {
                expanded(&target, small, graph, fitted, budget.max_bytes, &late)
            });
        }
        // Where a stop was asked for during the preparation, the spectra are still to be computed: then no proof.
        if let Some(bound) = bound.as_ref().filter(|_| !stop.is_set()) {
            if settings.prune {
                engine = engine.prune(bound.clone());
            }
            if certifies {
                engine = engine.certify(|| relaxation(bound, &late), settings.certificate_nodes);
            }
        }
        let mut made: Box<dyn Executor + '_>;
        let executor = match executor {
            Some(Elsewhere::Given(executor)) => executor,
            Some(Elsewhere::Made(make)) => {
                made = make(small, &loss)?;
                &mut *made
            }
            None => {
                let together = budget.max_bytes.map_or(u64::MAX, |bytes| bytes);
                let together = together.min(room(&target, TOGETHER));
                let evaluator =
                    evaluator.unwrap_or_else(|| evaluator_for(small, loss, Some(together)));
                let entry = target.kind().bytes() as u128;
                let workers = budget.workers(size(small.dims()).saturating_mul(entry));
                let threads = Local::new(evaluator, workers);
                made = Box::new(threads.map_err(|e| SearchError::Threads(e.to_string()))?);
                &mut *made
            }
        };
        let mut result = engine.run(executor)?;
        result.split = split.map(|(split, _)| split);
        result.shrunk = shrunk.map(|(small, seconds)| ShrunkSummary {
            dims: small.dims().to_vec(),
            lost: small.lost(),
            seconds,
        });
        Ok(result)
    }
}

/// Whether ranks are held to the largest: trees of any topology have the ranks they need.
fn graphs_have_limits(graphs: Graphs) -> bool {
    !matches!(graphs, Graphs::Trees | Graphs::Formats)
}

/// Bytes that one fit may take beside the tensor, whatever its limit, and in copies of the tensor where that is more: a
/// structure that needs so much for so small a tensor takes longer to sweep over than anybody waits.
const ALONE: (u64, u64) = (1 << 29, 64);

/// The same for all fits at a time.
const TOGETHER: (u64, u64) = (3 << 29, 128);

/// The bytes of a tensor and of what may be taken beside it.
fn room(target: &Target, (least, copies): (u64, u64)) -> u64 {
    let tensor = target.tensor().bytes() as u64;
    target.held_bytes().saturating_add(least.max(tensor.saturating_mul(copies)))
}

/// Settings of fits with no more memory than a tensor of that size is worth.
fn within_room(fit: &CheckedFit, target: &Target) -> Result<CheckedFit, SettingError> {
    let most = room(target, ALONE);
    let max_bytes = Some(fit.max_bytes.map_or(most, |bytes| bytes.min(most)));
    FitSettings { max_bytes, ..FitSettings::clone(fit) }.check()
}

/// From how many times the tensor's size on a structure is too large: as asked, but for tensors so small (a vector, 2 x 2)
/// that every structure would be.
fn phi_allowed(asked: f64, dims: &[usize], template: &Template) -> f64 {
    let internal = template.vertices().saturating_sub(template.order());
    let least = dims.iter().map(|&d| d as f64).sum::<f64>() + internal as f64;
    let least = least / dims.iter().map(|&d| d as f64).product::<f64>();
    if asked < 1.0 { asked } else { asked.max(least.next_up()) }
}

/// The part of the time left that a first answer may take, and of all where that is more.
const FIRST_PART: f64 = 0.4;
const LEAST_PART: f64 = 0.2;
/// The part of the time left in which splits are looked at.
const SPLIT_PART: f64 = 0.3;

/// Begins another stage.
fn enter(listeners: &mut [&mut dyn Listener], clock: &mut StageClock, stage: Stage) {
    if clock.enter(stage) {
        for listener in listeners {
            let _ = listener.hear(&Event::Stage(stage));
        }
    }
}

/// Tells all listeners what is done. One that fails says so at the next event.
fn tell(listeners: &mut [&mut dyn Listener], doing: Doing<'_>) {
    for listener in listeners {
        let _ = listener.hear(&Event::Doing(&doing));
    }
}

/// The answer for the small tensor as one for the full one. Its error is computed anew from its cores where memory and
/// time allow it; what it is known to be without that differs by rounding only.
fn expanded(
    full: &Target,
    small: &Target,
    graph: &ModeGraph,
    fitted: Fitted,
    max_bytes: Option<u64>,
    late: &Stop,
) -> Fitted {
    /// What the residual takes for each entry, about.
    const FLOPS: f64 = 200.0;
    let cores = expand_cores(small, graph, fitted.cores);
    let error = match late.has_time_for(FLOPS * full.entries() as f64) {
        true => fit::error_of(full, graph, &cores, max_bytes).unwrap_or(fitted.error),
        false => fitted.error,
    };
    Fitted { cores, error, ..fitted }
}
