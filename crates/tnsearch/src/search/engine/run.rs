//! One of several independent runs: what its strategy asked for, and the sequential rule by which it is answered.
//!
//! A run depends on nothing but its strategy and the results of its own fits, so it can be copied and told what
//! might come ([`Run::fork`]): that is how the engine finds work for idle workers.

use super::lane::Lane;
use super::rules::Rules;
use super::{Counts, Evaluation};
use crate::fit::{Adapt, Effort};
use crate::graph::{ModeGraph, Structure};
use crate::problem::Score;
use crate::rng;
use crate::search::strategy::{Found, WalkId};
use crate::search::{Ask, Generation, Outcome, SearchError, Source, Strategy};
use rand::RngExt as _;
use std::collections::HashMap;
use std::sync::Arc;

/// Where a structure stands in the order of all that were asked for: generation by generation, run by run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot {
    pub generation: u64,
    pub run: usize,
    pub index: usize,
}

impl Slot {
    /// The name of the walk at this place.
    pub fn walk(&self) -> WalkId {
        WalkId { generation: self.generation, index: self.index }
    }
}

/// A structure fitted before, at whose cores others begin.
#[derive(Debug)]
pub(super) struct Parent {
    pub structure: Structure,
    /// Whether they may be any structures of the template, and the loss that they are to come below; none: the same
    /// with larger ranks.
    pub near: Option<f64>,
}

/// A structure to be fitted.
#[derive(Debug)]
pub(super) struct Job {
    pub place: Slot,
    /// How much work its fit is worth.
    pub effort: Effort,
    /// The structure as it was proposed.
    pub structure: Structure,
    /// The structure whose cores its fit begins at, if any.
    pub parent: Option<Arc<Parent>>,
    /// The loss far above which its fit is given up.
    pub far: Option<f64>,
    /// How it may change the structure, and the walk it goes on from, where it is one.
    pub walk: Option<(Arc<Adapt>, Option<WalkId>)>,
    /// The graph that the walk began at, where this is what it ended at.
    pub asked: Option<ModeGraph>,
    /// Its canonical form.
    pub graph: ModeGraph,
    pub params: u128,
    /// params / product of the dimensions.
    pub phi: f64,
    /// The best it can be: a lower bound on its error (0 where nothing is pruned), and the loss of that.
    pub at_best: Score,
}

impl Job {
    /// By what its result is found on record: walks from one structure are told apart by their places.
    pub fn record_key(&self) -> String {
        let graph = self.asked.as_ref().unwrap_or(&self.graph);
        match &self.walk {
            None => graph.to_string(),
            Some(_) => format!("{graph}~{}.{}", self.place.generation, self.place.index),
        }
    }

    /// The seed of a walk, in a run with that seed.
    pub fn walk_seed(&self, seed: u64) -> u64 {
        let label = format!("walk {}.{}", self.place.generation, self.place.index);
        rng::stream(seed, label.as_bytes()).random()
    }
}

/// A proposed structure on its way to its outcome.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// Answered already: cached, pruned or refused.
    Known(Outcome),
    /// To be fitted: an index into the round's jobs.
    Job(usize),
    /// The same structure as an earlier one of this generation.
    SameAs(usize),
}

/// What became of a job.
#[derive(Debug, Clone)]
pub(super) enum Resolved {
    /// It was fitted, or found on record.
    Evaluated(Arc<Evaluation>),
    /// A walk ended at this structure.
    Found(Arc<Job>, Arc<Evaluation>),
    /// It is too large.
    Refused,
    /// A bound ruled it out.
    Pruned,
}

/// One generation of a run.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub number: u64,
    pub steps: Vec<Step>,
    pub jobs: Vec<Arc<Job>>,
    pub resolved: Vec<Option<Resolved>>,
    lane: Lane,
    /// Jobs that the sequential rule waits for.
    pub wave: Vec<usize>,
}

impl Round {
    fn empty(number: u64, best: Option<Score>) -> Self {
        let lane = Lane::new(Vec::new(), None, f64::INFINITY, best);
        let (steps, jobs) = (Vec::new(), Vec::new());
        Round { number, steps, jobs, resolved: Vec::new(), lane, wave: Vec::new() }
    }

    /// What its walks ended at.
    fn found(&self) -> Vec<Option<Found>> {
        let found = |resolved: &Option<Resolved>| match resolved {
            Some(Resolved::Found(job, _)) => {
                Some(Found { structure: job.structure.clone(), walk: job.place.walk() })
            }
            _ => None,
        };
        self.resolved.iter().map(found).collect()
    }

    /// The outcome of a step, where it is known.
    fn outcome(&self, rules: &Rules, step: &Step) -> Option<Outcome> {
        let (k, first) = match step {
            Step::Known(outcome) => return Some(*outcome),
            Step::Job(k) => (*k, true),
            Step::SameAs(k) => (*k, false),
        };
        let (job, resolved) = (&self.jobs[k], self.resolved[k].as_ref()?);
        let outcome = rules.outcome(job, resolved);
        Some(match (resolved, first) {
            (Resolved::Evaluated(_) | Resolved::Refused, false) => {
                Outcome { source: Source::Cached, ..outcome }
            }
            _ => outcome,
        })
    }
}

/// A generation that has ended, with the outcome of each step; none for those that a stop left out.
#[derive(Debug)]
pub(super) struct Closed {
    pub round: Round,
    pub outcomes: Vec<Option<Outcome>>,
    /// What the strategy has proven by then.
    pub lower_bound: Option<f64>,
}

/// What became of every structure that a run proposed and that was fitted. A copy shares what was known when it was
/// made.
#[derive(Clone, Default)]
struct Memory {
    shared: Arc<HashMap<ModeGraph, (Effort, Outcome)>>,
    own: HashMap<ModeGraph, (Effort, Outcome)>,
}

impl Memory {
    fn get(&self, graph: &ModeGraph) -> Option<&(Effort, Outcome)> {
        self.own.get(graph).or_else(|| self.shared.get(graph))
    }

    fn insert(&mut self, graph: ModeGraph, known: (Effort, Outcome)) {
        match Arc::get_mut(&mut self.shared) {
            Some(shared) => shared.insert(graph, known),
            None => self.own.insert(graph, known),
        };
    }
}

/// One strategy and what is known about it.
pub(super) struct Run {
    pub index: usize,
    pub seed: u64,
    pub strategy: Box<dyn Strategy>,
    /// Whether the strategy has proposed nothing more.
    pub finished: bool,
    pub counts: Counts,
    pub best: Option<Score>,
    pub round: Option<Round>,
    /// Generations asked for, and ended.
    pub asked: u64,
    pub ended: u64,
    memory: Memory,
}

impl Run {
    pub fn new(index: usize, seed: u64, strategy: Box<dyn Strategy>) -> Self {
        Run {
            index,
            seed,
            strategy,
            finished: false,
            counts: Counts::default(),
            best: None,
            round: None,
            asked: 0,
            ended: 0,
            memory: Memory::default(),
        }
    }

    /// The same run in the same state, if its strategy can be copied.
    pub fn fork(&self) -> Option<Run> {
        Some(Run {
            strategy: self.strategy.fork()?,
            round: self.round.clone(),
            memory: self.memory.clone(),
            ..*self
        })
    }

    /// Asks the strategy and sorts out which of its structures must be fitted.
    pub fn ask(&mut self, rules: &Rules) -> Result<(), SearchError> {
        self.asked += 1;
        match self.strategy.ask() {
            Ask::Generation(generation) if !generation.structures.is_empty() => {
                self.round = Some(self.plan(generation, rules)?);
            }
            Ask::Generation(_) | Ask::Done => self.finished = true,
            Ask::Thinking => self.round = Some(Round::empty(self.asked, self.best)),
        }
        Ok(())
    }

    fn plan(&self, generation: Generation, rules: &Rules) -> Result<Round, SearchError> {
        let Generation { structures, effort, parent, near, far, only_below, adapt, from } =
            generation;
        let near = near.filter(|_| rules.carry).map(|structure| Parent {
            structure: *structure,
            near: Some(only_below.unwrap_or(f64::INFINITY)),
        });
        let parent = parent.map(|structure| Parent { structure, near: None }).or(near);
        let only_below = only_below.filter(|_| rules.bound.is_some());
        let parent = parent.filter(|_| effort.is_full()).map(Arc::new);
        let mut round = Round::empty(self.asked, self.best);
        let mut first: HashMap<ModeGraph, usize> = HashMap::new();
        let mut low = f64::INFINITY;
        for structure in structures {
            let index = round.jobs.len();
            let place = Slot { generation: self.asked, run: self.index, index };
            let mut job =
                rules.job(place, structure, effort, parent.clone(), only_below.is_some())?;
            job.far = far.filter(|_| rules.carry && job.parent.is_none());
            if let Some(adapt) = &adapt {
                let joins = if adapt.grows { job.structure.joins() } else { Vec::new() };
                let objective = rules.objective.get();
                let adapt = Arc::new(Adapt {
                    swaps: adapt.swaps,
                    steps: adapt.steps,
                    gently: adapt.gently,
                    max_cost: rules.max_cost,
                    ..Adapt::new(objective, adapt.max_rank, joins)
                });
                job.walk = Some((adapt, from.get(index).copied().flatten()));
                round.jobs.push(Arc::new(job));
                round.steps.push(Step::Job(index));
                continue;
            }
            let known = self.memory.get(&job.graph).filter(|(spent, _)| *spent >= effort);
            let step = if let Some((_, outcome)) = known {
                Step::Known(Outcome { source: Source::Cached, ..*outcome })
            } else if let Some(&same) = first.get(&job.graph) {
                Step::SameAs(same)
            } else if let Some(outcome) = rules.verdict_without_fit(&job) {
                Step::Known(outcome)
            } else {
                first.insert(job.graph.clone(), index);
                round.jobs.push(Arc::new(job));
                Step::Job(index)
            };
            if let Step::Known(outcome) = &step {
                low = low.min(outcome.loss);
            }
            round.steps.push(step);
        }
        // What is known of the round already counts: cached structures too.
        round.lane = Lane::new(round.jobs.clone(), only_below, low, self.best);
        round.resolved = vec![None; round.jobs.len()];
        Ok(round)
    }

    /// Hands out the next jobs of the sequential rule, at most `limit`, where none is waited for; those ruled out
    /// by now are pruned. How many were handed out.
    pub fn take_wave(&mut self, rules: &Rules, limit: usize) -> usize {
        let Some(round) = &mut self.round else { return 0 };
        if !round.wave.is_empty() {
            return 0;
        }
        let resolved = &mut round.resolved;
        round.wave =
            round.lane.next(rules.objective, limit, |job| resolved[job] = Some(Resolved::Pruned));
        round.wave.len()
    }

    /// Whether every job of the round is resolved.
    pub fn is_resolved(&self) -> bool {
        self.round.as_ref().is_some_and(|r| r.wave.is_empty() && r.lane.is_empty())
    }

    /// Whether jobs are left that nothing was decided about.
    pub fn has_more(&self) -> bool {
        self.round.as_ref().is_some_and(|r| !r.lane.is_empty())
    }

    /// Takes the result of a job that is waited for.
    pub fn resolve(&mut self, rules: &Rules, job: usize, resolved: Resolved) {
        let Some(round) = &mut self.round else { return };
        round.wave.retain(|&k| k != job);
        if let Resolved::Evaluated(evaluation) | Resolved::Found(_, evaluation) = &resolved {
            round.lane.learn(rules.objective, evaluation.score());
        }
        round.resolved[job] = Some(resolved);
    }

    /// Ends the generation: remembers its outcomes and tells the strategy.
    pub fn close(&mut self, rules: &Rules) -> Option<Closed> {
        let closed = self.end_round(rules, None)?;
        self.ended = closed.round.number;
        let outcomes: Vec<Outcome> = closed.outcomes.iter().flatten().copied().collect();
        if closed.round.jobs.iter().any(|job| job.walk.is_some()) {
            self.strategy.tell_found(&closed.round.found());
        }
        self.strategy.tell(&outcomes);
        Some(Closed { lower_bound: self.strategy.lower_bound(), ..closed })
    }

    /// Ends a generation in the middle: what is known counts, and the strategy is not told. With `cut`, nothing behind
    /// the first unknown outcome counts; whether there was one.
    pub fn close_early(&mut self, rules: &Rules, cut: &mut bool) -> Option<Closed> {
        self.end_round(rules, Some(cut))
    }

    fn end_round(&mut self, rules: &Rules, mut cut: Option<&mut bool>) -> Option<Closed> {
        let round = self.round.take()?;
        let mut outcomes = Vec::with_capacity(round.steps.len());
        for step in &round.steps {
            let mut outcome = round.outcome(rules, step);
            if let Some(cut) = cut.as_deref_mut() {
                *cut |= outcome.is_none() && rules.cuts_in_order;
                outcome = outcome.filter(|_| !*cut);
            }
            if let Some(outcome) = &outcome {
                self.counts.add(outcome);
                if let Step::Job(k) = step {
                    self.remember(rules, &round.jobs[*k], outcome);
                }
            }
            outcomes.push(outcome);
        }
        Some(Closed { round, outcomes, lower_bound: self.strategy.lower_bound() })
    }

    /// Remembers the outcome of a job that was fitted or refused.
    fn remember(&mut self, rules: &Rules, job: &Job, outcome: &Outcome) {
        if outcome.source == Source::Pruned {
            return;
        }
        if job.walk.is_some() {
            return self.remember_best(rules, outcome);
        }
        // More effort starts anew, and may end worse.
        let earlier = self.memory.get(&job.graph).map(|&(_, outcome)| outcome);
        let both = [*outcome].into_iter().chain(earlier);
        let better = both.min_by(|a, b| a.loss.total_cmp(&b.loss)).unwrap_or(*outcome);
        self.memory.insert(job.graph.clone(), (job.effort, better));
        self.remember_best(rules, outcome);
    }

    fn remember_best(&mut self, rules: &Rules, outcome: &Outcome) {
        if let Some(error) = outcome.error {
            let score = Score { loss: outcome.loss, error, params: outcome.params };
            if self.best.is_none_or(|best| rules.objective.better(&score, &best)) {
                self.best = Some(score);
            }
        }
    }
}

impl Counts {
    pub(super) fn add(&mut self, outcome: &Outcome) {
        if outcome.source == Source::Direct {
            self.direct += 1;
            return;
        }
        self.samples += 1;
        *match outcome.source {
            Source::Direct => return,
            Source::Evaluated => &mut self.evaluations,
            Source::Cached => &mut self.cached,
            Source::Pruned => &mut self.pruned,
            Source::Refused => &mut self.refused,
        } += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::engine::testing::{Listing, TestExecutor, code, engine, fitted, structure};
    use std::sync::Mutex;

    /// Keeps what it is told.
    #[derive(Clone)]
    struct Heard(Listing, Arc<Mutex<Vec<Outcome>>>);

    impl Strategy for Heard {
        fn name(&self) -> &str {
            "heard"
        }

        fn ask(&mut self) -> Ask {
            self.0.ask()
        }

        fn tell(&mut self, outcomes: &[Outcome]) {
            self.1.lock().unwrap().extend(outcomes);
        }
    }

    /// More effort starts anew and may end worse: the better of both is remembered.
    #[test]
    fn what_was_known_is_not_forgotten_for_a_worse_fit() {
        for (quick, full) in [(0.25, 0.5), (0.5, 0.25), (0.5, 0.5)] {
            let ask = |effort| Generation::new(vec![structure(7)]).effort(effort);
            let efforts = [Effort::Quick, Effort::Quick, Effort::Full, Effort::Full, Effort::Quick];
            let heard = Arc::default();
            let strategy = Heard(Listing(efforts.map(ask).to_vec()), Arc::clone(&heard));
            let mut bench = TestExecutor::new(1).replying(move |_, request, _| {
                assert_eq!(code(&request.graph), 7);
                let error = if request.effort.is_full() { full } else { quick };
                Some(Ok(fitted(&request.graph, error)))
            });
            let result = engine(1, strategy).run(&mut bench).unwrap();
            assert_eq!((result.counts.evaluations, result.counts.cached), (2, 3));
            let told: Vec<(f64, Source)> =
                heard.lock().unwrap().iter().map(|o| (o.error.unwrap(), o.source)).collect();
            use Source::{Cached, Evaluated};
            let best = quick.min(full);
            let sources = [Evaluated, Cached, Evaluated, Cached, Cached];
            let errors = [quick, quick, full, best, best];
            assert_eq!(told, errors.into_iter().zip(sources).collect::<Vec<_>>());
            assert_eq!(result.best.unwrap().score.error, best);
        }
    }
}
