//! What a decomposition is to reach, and what it may use.

use super::{DecomposeError, Decomposition};
use crate::problem::Stop;
use crate::tensor::{Kind, Scalar};
use crate::{MemoryError, SettingError};

/// What rounding adds to the residual of a network of 64-bit numbers, relative to `||X||`, about; see [`keeping`].
const ROUNDING: f64 = 4e-16;
/// At least this part of an error (RE) is shared out, however near it is to rounding.
const LEAST: f64 = 0.5;
/// So often a little less is asked for where rounding takes a network beyond the error.
const TRIES: usize = 3;

/// What a decomposition is to reach: an error, or given ranks. Checked when it is made.
///
/// ```
/// use tnsearch::decompose::Goal;
/// assert!(Goal::max_rse(1e-4).is_ok());
/// assert!(Goal::max_rse(1.0).unwrap_err().to_string().contains("max-rse is 1"));
/// assert!(Goal::ranks(vec![2, 0]).is_err());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    pub(super) aim: Aim,
    pub(super) shares: Shares,
}

/// How an error is shared out among the truncations of a decomposition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shares {
    /// Every truncation may lose as much as every other.
    Equal,
    /// The ranks that need the fewest parameters, by the tails of all the unfoldings at once; what the error then
    /// leaves is used up by lowering ranks one at a time.
    #[default]
    Optimal,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Aim {
    MaxRse(f64),
    Ranks(Vec<usize>),
}

impl Goal {
    /// The smallest ranks the method finds with `RSE <= eps`. With eps = 0, singular values that cannot be
    /// told from zero are dropped and nothing else.
    pub fn max_rse(eps: f64) -> Result<Self, DecomposeError> {
        if !(0.0..1.0).contains(&eps) {
            return Err(
                SettingError::new("max-rse", eps, "it must be at least 0 and below 1").into()
            );
        }
        Ok(Goal { aim: Aim::MaxRse(eps), shares: Shares::default() })
    }

    /// These ranks, one for each of the template's edges in its order. A rank that is larger than the
    /// unfolding it belongs to is lowered to its size.
    pub fn ranks(ranks: Vec<usize>) -> Result<Self, DecomposeError> {
        if ranks.contains(&0) {
            let value = format!("{ranks:?}");
            return Err(SettingError::new("ranks", value, "every rank is at least 1").into());
        }
        Ok(Goal { aim: Aim::Ranks(ranks), shares: Shares::default() })
    }

    /// The same with the error shared out in that way (given ranks are not changed by it).
    pub fn sharing(mut self, shares: Shares) -> Self {
        self.shares = shares;
        self
    }

    /// The error asked for, if one was.
    pub fn rse(&self) -> Option<f64> {
        match self.aim {
            Aim::MaxRse(eps) => Some(eps),
            Aim::Ranks(_) => None,
        }
    }

    /// The error asked for, by a method that takes no ranks.
    pub(super) fn needs_rse(&self, method: &'static str) -> Result<f64, DecomposeError> {
        self.rse().ok_or_else(|| {
            let expected = format!("{method} chooses the ranks itself and needs max-rse");
            SettingError::new("ranks", "given", expected).into()
        })
    }

    /// The ranks asked for, if they were, after a check that there is one per edge.
    pub(super) fn ranks_for(&self, edges: usize) -> Result<Option<&[usize]>, DecomposeError> {
        match &self.aim {
            Aim::MaxRse(_) => Ok(None),
            Aim::Ranks(ranks) if ranks.len() == edges => Ok(Some(ranks)),
            Aim::Ranks(ranks) => {
                let expected = format!("the template has {edges} edges and needs a rank for each");
                Err(SettingError::new("ranks", format!("{ranks:?}"), expected).into())
            }
        }
    }
}

/// What may be thrown away in a row of truncations that are all orthogonal projections: their squared errors
/// add up to that of the whole, so each may take its share of what is left.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    left: f64,
    edges: usize,
}

impl Budget {
    /// A budget of `eps * ||X||^2`, less the rounding of the residual, for this many truncations.
    pub fn new(eps: f64, norm_squared: f64, edges: usize, kind: Kind) -> Self {
        let rounding = kind.tolerance(ROUNDING);
        // It is no part of what truncations lose: the squares add up.
        let left = (eps - rounding.powi(2)).max(LEAST.powi(2) * eps);
        Budget { left: left * norm_squared, edges }
    }

    /// What is left of it.
    pub fn left(&self) -> f64 {
        self.left
    }

    /// A part of it, for the same truncations.
    pub fn part(&self, part: f64) -> Self {
        Budget { left: part * self.left, ..self.clone() }
    }

    /// What the next truncation may throw away, if it counts as this many.
    pub fn share(&self, weight: usize) -> f64 {
        self.left * weight as f64 / self.edges.max(weight) as f64
    }

    /// Takes what it did throw away.
    pub fn spend(&mut self, lost: f64, weight: usize) {
        self.left = (self.left - lost).max(0.0);
        self.edges = self.edges.saturating_sub(weight);
    }
}

/// Makes a decomposition that keeps its error: where rounding takes it beyond, a little less is asked for. Where that
/// does not help either, the nearest.
pub(super) fn keeping(
    goal: &Goal,
    limits: &Limits,
    mut method: impl FnMut(&Goal) -> Result<Decomposition, DecomposeError>,
) -> Result<Decomposition, DecomposeError> {
    let mut best = method(goal)?;
    let Some(eps) = goal.rse() else { return Ok(best) };
    let mut asked = eps.sqrt();
    let mut last = best.rse;
    for _ in 0..TRIES {
        if best.rse <= eps || best.interrupted || limits.stop.is_set() {
            break;
        }
        asked -= 1.5 * (last.sqrt() - eps.sqrt()).max(0.0);
        if asked < LEAST * eps.sqrt() {
            break;
        }
        let less = Goal { aim: Aim::MaxRse(asked.powi(2)), ..goal.clone() };
        match method(&less) {
            Err(DecomposeError::Interrupted) => break,
            found => {
                let found = found?;
                last = found.rse;
                if found.rse < best.rse {
                    best = found;
                }
            }
        }
    }
    Ok(best)
}

/// What a decomposition may use.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Limits {
    /// Refuse to take more than about this many bytes beside the tensor.
    pub max_bytes: Option<u64>,
    /// End soon when this is set.
    pub stop: Stop,
}

impl Limits {
    /// No limit.
    pub fn none() -> Self {
        Limits::default()
    }

    /// Refuses a step that holds this many numbers of the kind at once.
    pub(super) fn check_entries<T: Scalar>(&self, entries: f64) -> Result<(), DecomposeError> {
        let bytes = T::KIND.bytes() as f64 * entries;
        Ok(MemoryError::check("the decomposition", bytes, self.max_bytes)?)
    }

    /// Ends a method before a step that cannot be interrupted and takes longer than the time left.
    pub(super) fn check_time(&self, flops: f64) -> Result<(), DecomposeError> {
        if self.stop.has_time_for(flops) { Ok(()) } else { Err(DecomposeError::Interrupted) }
    }

    /// Ends a method that has nothing to show yet.
    pub(super) fn check_stop(&self) -> Result<(), DecomposeError> {
        if self.stop.is_set() { Err(DecomposeError::Interrupted) } else { Ok(()) }
    }
}
