//! What a search over formats does where fits are quick: growth from rank 1 over all graphs, exact search of rings, and a look
//! around the best. Each finds some answers that walks pass by. For an error that is to be reached.

use super::{CheckedObjective, Exact, ExactSettings, Greedy, GreedySettings, Nearby, Strategy};
use crate::bound::{CutBound, Relaxation};
use crate::graph::{Structure, Template};
use crate::problem::Stop;
use crate::search::description::Context;
use std::sync::Arc;

/// Fits of growth, and as many around the best, times the entries of the tensor; and the most of them.
const WORK: usize = 1 << 18;
const MOST_FITS: usize = 160;

/// With fewer fits than this nothing comes of it.
const LEAST_FITS: usize = 8;

/// Growth fits every pair of modes at each step.
const MOST_MODES: usize = 8;

/// The most modes of rings that are searched exactly, and what that may spend: some milliseconds.
const MOST_PLACES: usize = 6;
const SPEND: ExactSettings = ExactSettings { nodes: 5_000, candidates: 48, retries: 8, growth: 0 };

/// A tensor so small that fits are quick, and what is asked of it.
#[derive(Clone)]
pub(super) struct Small {
    dims: Vec<usize>,
    objective: CheckedObjective,
    bound: Option<CutBound>,
    stop: Stop,
    /// The largest rank of what is grown, and of exact search.
    widest: usize,
    max_rank: usize,
    fits: usize,
}

impl Small {
    /// The tensor of a context; none where it is not small, or no error is given.
    pub(super) fn new(context: &Context<'_>, max_rank: usize) -> Option<Self> {
        let fits = (WORK / context.entries.max(1)).min(MOST_FITS);
        let modes = (3..=MOST_MODES).contains(&context.dims.len());
        let is_small = modes && fits >= LEAST_FITS && context.objective.max_error().is_some();
        is_small.then(|| Small {
            dims: context.dims.to_vec(),
            objective: context.objective,
            bound: context.bound.cloned(),
            stop: context.stop.clone(),
            widest: context.widest_rank,
            max_rank,
            fits,
        })
    }

    /// One rank at a time, over all graphs.
    pub(super) fn greedy(self) -> Option<Box<dyn Strategy>> {
        let settings = GreedySettings { max_rank: self.widest }.check().ok()?;
        let greedy = Greedy::new(self.dims.len(), self.objective, settings).ok()?;
        Some(Box::new(greedy.among_others(&self.dims, self.fits).ok()?))
    }

    /// Rings, in the order of what the cuts say they have at least.
    pub(super) fn exact(self) -> Option<Box<dyn Strategy>> {
        let order = Some(self.dims.len()).filter(|order| *order <= MOST_PLACES)?;
        let ring = Arc::new(Template::ring(order).ok()?);
        let (bound, stop) = (self.bound?, &self.stop);
        let ranks = self.max_rank.min(self.widest);
        let rings = Relaxation::stoppable(ring, self.objective, &bound, ranks, stop, stop);
        let exact = Exact::new(rings, self.objective, SPEND.check().ok()?);
        Some(Box::new(exact.named("rings")))
    }

    /// Around the best.
    pub(super) fn nearby(self, best: &Structure) -> Option<Box<dyn Strategy>> {
        let every_pair = Arc::new(Template::any(self.dims.len()).ok()?);
        let at = Structure::in_template(&every_pair, &best.canonical().graph)?;
        let Small { dims, objective, widest, fits, .. } = self;
        Some(Box::new(Nearby::new(at, &dims, objective, widest, fits)))
    }
}
