//! The smallest ranks for a fixed place of every mode, by enumeration: for small orders.

use tnsearch::SettingError;
use tnsearch::graph::Structure;
use tnsearch::search::{Ask, Context, Generation, Outcome, SearchError, Strategy};

/// Structures asked for at a time.
const AT_ONCE: usize = 4;

/// Proposes what the cuts do not rule out, the fewest parameters first, until one reaches the error.
pub(super) struct RanksOnly {
    /// The smallest last.
    left: Vec<Structure>,
    eps: f64,
    reached: bool,
}

impl RanksOnly {
    pub fn new(
        context: &Context<'_>,
        permutation: &[usize],
        max_rank: usize,
    ) -> Result<Self, SearchError> {
        let Some(eps) = context.objective.max_error() else {
            let value = format!("{:?}", context.objective.get());
            return Err(SettingError::new("objective", value, "it must be a largest error").into());
        };
        let bound = context.bound.ok_or(SearchError::NoBounds)?;
        let (template, dims) = (context.template, context.dims);
        let edges = template.edges().len();
        let mut left = Vec::new();
        let mut ranks = vec![1; edges];
        loop {
            let structure = Structure::new(template.clone(), permutation.to_vec(), ranks.clone())?;
            if bound.rse(&structure.canonical().graph, eps) <= eps {
                left.push(structure);
            }
            // The next in the order of counting; the end where all are at their largest.
            let Some(e) = ranks.iter().position(|&r| r < max_rank) else { break };
            ranks[..e].fill(1);
            ranks[e] += 1;
        }
        left.sort_by_key(|s| (std::cmp::Reverse(s.params(dims)), s.ranks().to_vec()));
        Ok(RanksOnly { left, eps, reached: false })
    }
}

impl Strategy for RanksOnly {
    fn name(&self) -> &str {
        "ranks-only"
    }

    fn ask(&mut self) -> Ask {
        if self.reached {
            return Ask::Done;
        }
        let keep = self.left.len().saturating_sub(AT_ONCE);
        Generation::new(self.left.split_off(keep).into_iter().rev().collect()).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.reached |= outcomes.iter().any(|o| o.error.is_some_and(|error| error <= self.eps));
    }
}
