//! Rings of one rank on every edge, the modes in their own order: what TRALS (Wang et al. 2017) fits.

use tnsearch::graph::Structure;
use tnsearch::search::{Ask, Context, Generation, Outcome, SearchError, Strategy};

/// Ranks in turn that may bring nothing.
const PATIENCE: usize = 2;

/// Proposes rank 1, 2, 3, ... until the loss has risen for some of them, or to the largest rank.
pub(super) struct Uniform {
    /// The largest first.
    left: Vec<Structure>,
    best: f64,
    idle: usize,
}

impl Uniform {
    pub fn new(context: &Context<'_>, max_rank: usize) -> Result<Self, SearchError> {
        let edges = context.template.edges().len();
        let ring = |rank| Structure::identity(context.template.clone(), vec![rank; edges]);
        let left = (1..=max_rank).rev().map(ring).collect::<Result<_, _>>()?;
        Ok(Uniform { left, best: f64::INFINITY, idle: 0 })
    }
}

impl Strategy for Uniform {
    fn name(&self) -> &str {
        "uniform"
    }

    fn ask(&mut self) -> Ask {
        match self.left.pop() {
            Some(next) if self.idle < PATIENCE => Generation::new(vec![next]).ask(),
            _ => Ask::Done,
        }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let low = outcomes.iter().map(|o| o.loss).fold(f64::INFINITY, f64::min);
        self.idle = if low < self.best { 0 } else { self.idle + 1 };
        self.best = self.best.min(low);
    }
}
