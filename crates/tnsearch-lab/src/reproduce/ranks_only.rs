//! The smallest ranks for a fixed place of every mode, by enumeration: for small orders.

use super::{ReproduceError, Setting};
use tnsearch::graph::Structure;
use tnsearch::problem::Objective;
use tnsearch::search::{Outcome, Strategy};

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
        setting: &Setting,
        permutation: &[usize],
        max_rank: usize,
    ) -> Result<Self, ReproduceError> {
        let Objective::MaxError(eps) = setting.objective.get() else {
            let (value, expected) =
                (format!("{:?}", setting.objective), "it must be a largest RSE");
            return Err(ReproduceError::Option { name: "objective", value, expected });
        };
        let (template, dims) = (&setting.trial.template, setting.trial.target.dims());
        let edges = template.edges().len();
        let mut left = Vec::new();
        let mut ranks = vec![1; edges];
        loop {
            let structure = Structure::new(template.clone(), permutation.to_vec(), ranks.clone())?;
            if setting.bound.rse(&structure.canonical().graph, eps) <= eps {
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
    fn name(&self) -> &'static str {
        "ranks-only"
    }

    fn ask(&mut self) -> Vec<Structure> {
        if self.reached {
            return Vec::new();
        }
        let keep = self.left.len().saturating_sub(AT_ONCE);
        self.left.split_off(keep).into_iter().rev().collect()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.reached |= outcomes.iter().any(|o| o.rse.is_some_and(|rse| rse <= self.eps));
    }
}
