//! The interface of a search strategy.

use crate::fit::Effort;
use crate::graph::Structure;
use crate::problem::Score;

/// Proposes structures and learns from what became of them; the engine does the rest.
///
/// One ask is one generation. The engine answers every generation with one tell, one outcome per
/// structure, in the same order; then it asks again. A strategy must be a pure function of its settings,
/// its seed and what it was told, never of time: that is what makes a resumed search end like an
/// uninterrupted one, and a search on a thousand workers like one on a single thread.
pub trait Strategy: Send {
    /// The strategy's name on the command line and in reports.
    fn name(&self) -> &str;

    /// What it wants to know next.
    fn ask(&mut self) -> Ask;

    /// What became of the structures of the last ask, in its order; nothing after [`Ask::Thinking`].
    fn tell(&mut self, outcomes: &[Outcome]);

    /// Which structures the walks of the last ask ended at ([`Generation::adapt`]), in its order; none for those that
    /// ended nowhere. Said before [`Strategy::tell`], of such generations only.
    fn tell_found(&mut self, _found: &[Option<Found>]) {}

    /// What became of the structures that were fitted before it was asked for the first time ([`Source::Direct`]).
    fn tell_first(&mut self, _structures: &[Structure], _outcomes: &[Outcome]) {}

    /// Hears the best that other strategies of the same run have found, before it is asked: what cannot be better need not
    /// be proposed.
    fn hear(&mut self, _best: &Score) {}

    /// Whether it ends by itself where it cannot be better than what it heard of: then it is not given up because what it
    /// has found so far is far behind.
    fn ends_itself(&self) -> bool {
        false
    }

    /// The same strategy in the same state, to be told what *might* come: the engine uses it to fit, on workers
    /// that would be idle, what may be asked for next. None (the default): it cannot be copied.
    fn fork(&self) -> Option<Box<dyn Strategy>> {
        None
    }

    /// What no structure can go below, where the strategy has proven it, in the units of
    /// [`crate::problem::Objective::value`].
    fn lower_bound(&self) -> Option<f64> {
        None
    }

    /// How many structures it will propose in all, where it knows (for progress bars).
    fn planned_samples(&self) -> Option<u64> {
        None
    }
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn ask(&mut self) -> Ask {
        (**self).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        (**self).tell(outcomes);
    }

    fn tell_found(&mut self, found: &[Option<Found>]) {
        (**self).tell_found(found);
    }

    fn tell_first(&mut self, structures: &[Structure], outcomes: &[Outcome]) {
        (**self).tell_first(structures, outcomes);
    }

    fn hear(&mut self, best: &Score) {
        (**self).hear(best);
    }

    fn ends_itself(&self) -> bool {
        (**self).ends_itself()
    }

    fn fork(&self) -> Option<Box<dyn Strategy>> {
        (**self).fork()
    }

    fn lower_bound(&self) -> Option<f64> {
        (**self).lower_bound()
    }

    fn planned_samples(&self) -> Option<u64> {
        (**self).planned_samples()
    }
}

/// What a strategy wants next.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// These structures, fitted.
    Generation(Generation),
    /// More time: it is told of nothing and asked again. So a strategy that computes for long lets the engine look
    /// at its clock and report progress.
    Thinking,
    /// Nothing more.
    Done,
}

impl Ask {
    /// The structures asked for, if any.
    pub fn structures(&self) -> &[Structure] {
        match self {
            Ask::Generation(generation) => &generation.structures,
            _ => &[],
        }
    }
}

/// Names a walk of a run: what it ended at can be gone on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WalkId {
    pub(super) generation: u64,
    pub(super) index: usize,
}

/// What a walk ended at.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The structure, on the template of the one it began at.
    pub structure: Structure,
    /// The walk.
    pub walk: WalkId,
}

/// What walks may do ([`crate::fit::Adapt`] for each of them).
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Adapting {
    /// The largest rank of an edge.
    pub max_rank: usize,
    /// Whether modes may swap their vertices.
    pub swaps: bool,
    /// Whether edges of the template that are not there (of rank 1) may come.
    pub grows: bool,
    /// Steps of each walk.
    pub steps: usize,
    /// Whether ranks grow together, little by little ([`crate::fit::Adapt::gently`]).
    pub gently: bool,
}

impl Adapting {
    /// Ranks up to a largest one, swaps, edges that come and go, and so many steps.
    pub fn new(max_rank: usize, steps: usize) -> Self {
        Adapting { max_rank, swaps: true, grows: true, steps, gently: false }
    }
}

/// Structures to be fitted together, none of which depends on the outcome of another.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Generation {
    /// The structures.
    pub structures: Vec<Structure>,
    /// How much work their fits are worth. A structure that was fitted quickly is fitted again where it is
    /// proposed with full effort.
    pub effort: Effort,
    /// The structure from whose cores the fits begin: one that was fitted before in this run, with the same template
    /// and permutation and no larger ranks. None: from random cores. Fits that are only quick have no parent. A
    /// structure keeps the result of its first full fit in a run, whatever parent a later generation names.
    pub parent: Option<Structure>,
    /// The structure that these were drawn around, fitted before in this run: with [`FitSettings::carry`] the fits begin
    /// at its cores, brought to the ranks and places of modes of each, instead of at random.
    ///
    /// [`FitSettings::carry`]: crate::fit::FitSettings::carry
    pub near: Option<Box<Structure>>,
    /// A loss beyond which it does not matter how large it is: with [`FitSettings::carry`] fits far above it are given up.
    ///
    /// [`FitSettings::carry`]: crate::fit::FitSettings::carry
    pub far: Option<f64>,
    /// Where only a loss below this matters to the strategy, and of those of this generation only the
    /// smallest: the engine may then prune what a bound rules out, and the strategy's way stays the same.
    /// None: every loss matters.
    pub only_below: Option<f64>,
    /// Not fits of these structures but walks that begin at them, and how they go. Each is a walk of its own, also where
    /// one structure stands twice.
    pub adapt: Option<Adapting>,
    /// The walks that these begin where they ended, in the order of the structures, which are what those found; none:
    /// from the start.
    pub from: Vec<Option<WalkId>>,
}

impl Generation {
    /// Structures worth full effort, from random cores, each of whose losses matters.
    pub fn new(structures: Vec<Structure>) -> Self {
        Generation {
            structures,
            effort: Effort::Full,
            parent: None,
            near: None,
            far: None,
            only_below: None,
            adapt: None,
            from: Vec::new(),
        }
    }

    /// Walks that begin at these structures: anew, or where earlier walks ended.
    pub fn walks(
        starts: impl IntoIterator<Item = (Structure, Option<WalkId>)>,
        adapting: Adapting,
    ) -> Self {
        let (structures, from) = starts.into_iter().unzip();
        let effort = Effort::Adapt;
        Generation { effort, adapt: Some(adapting), from, ..Generation::new(structures) }
    }

    /// The same where only the smallest loss, and only one below this, matters.
    pub fn only_below(mut self, loss: f64) -> Self {
        self.only_below = Some(loss);
        self
    }

    /// The same with another effort.
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// The same with fits that begin at the cores of a structure fitted before.
    pub fn parent(mut self, parent: Structure) -> Self {
        self.parent = Some(parent);
        self
    }

    /// The same drawn around a structure fitted before.
    pub fn near(mut self, centre: Structure) -> Self {
        self.near = Some(Box::new(centre));
        self
    }

    /// The same where losses beyond this are all alike to the strategy.
    pub fn far(mut self, loss: Option<f64>) -> Self {
        self.far = loss;
        self
    }

    /// To be returned from [`Strategy::ask`]; [`Ask::Done`] where there is no structure.
    pub fn ask(self) -> Ask {
        if self.structures.is_empty() { Ask::Done } else { Ask::Generation(self) }
    }
}

/// What became of a proposed structure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The number to minimise ([`crate::problem::CheckedObjective::loss`]). Where the structure was not fitted,
    /// a value that it cannot go below (pruned), or that of the zero network (refused).
    pub loss: f64,
    /// The error of its fit, where there was one.
    pub error: Option<f64>,
    /// Its number of parameters.
    pub params: u128,
    /// How the loss was obtained.
    pub source: Source,
}

/// How the loss of a structure was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The structure was fitted: an evaluation.
    Evaluated,
    /// It was fitted from truncated SVDs before the search began ([`crate::fit::Effort::Direct`]).
    Direct,
    /// The same structure had been proposed before in this run.
    Cached,
    /// It is known without a fit that it cannot be the answer.
    Pruned,
    /// It is too large to be fitted.
    Refused,
}
