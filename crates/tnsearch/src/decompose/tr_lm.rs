//! Low-storage tensor ring by SVDs (Mickelin & Karaman 2018, "On algorithms for and computing with the tensor
//! ring decomposition").

use super::compress::compressed;
use super::error::check_whole;
use super::goal::keeping;
use super::spend::Choice;
use super::tr_svd::{Opened, Taken, ring_template};
use super::truncate::Keep;
use super::{DecomposeError, Decomposition, Goal, Limits, Shares, tr_svd, tree_svd};
use crate::dispatch;
use crate::graph::Template;
use crate::problem::Target;
use crate::tensor::{Scalar, Tensor};
use std::sync::Arc;

/// Tensor ring by TR-LM: [`tr_svd`] from every vertex of the ring and with every way to split the
/// rank of the first truncation in two factors; the network with the fewest parameters is kept (the first of
/// equal ones). Needs a largest RSE.
///
/// N times (number of divisors) as much work as TR-SVD, and never a larger network.
///
/// ```
/// use tnsearch::decompose::{Goal, Limits, tr_lm, tr_svd};
/// use tnsearch::{problem::Target, tensor::Tensor};
/// let entries = (0..6 * 3 * 4).map(|k| (k as f64).sqrt().sin()).collect();
/// let x = Target::new(Tensor::new(vec![6, 3, 4], entries).unwrap()).unwrap();
/// let goal = Goal::max_rse(1e-3).unwrap();
/// let small = tr_lm(&x, &[0, 1, 2], &goal, &Limits::none()).unwrap();
/// let plain = tr_svd(&x, &[0, 1, 2], &goal, &Limits::none()).unwrap();
/// assert!(small.rse <= 1e-3 && small.network.params() <= plain.network.params());
/// ```
pub fn tr_lm(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let eps = goal.needs_rse("tr-lm")?;
    check_whole(target, "TR-LM")?;
    let template = ring_template(target, permutation)?;
    if target.dims().len() == 2 {
        return tree_svd(target, &template, permutation, goal, limits);
    }
    if goal.shares == Shares::Equal {
        return keeping(goal, limits, |goal| {
            let eps = goal.needs_rse("tr-lm")?;
            dispatch!(target.tensor(), x => {
                smallest((target, x), &template, permutation, eps, limits)
            })
        });
    }
    let plain = tr_svd(target, permutation, goal, limits)?;
    let found = keeping(goal, limits, |goal| {
        compressed(target, goal.needs_rse("tr-lm")?, limits, |(target, dims), eps| {
            dispatch!(target.tensor(), x => {
                of_all_openings((target, x), dims, &template, permutation, eps, limits)
            })
        })
    });
    Ok(match found {
        Err(DecomposeError::Interrupted) => plain,
        found => match found? {
            found
                if found.network.params() < plain.network.params()
                    && (found.rse <= eps || found.rse <= plain.rse) =>
            {
                found
            }
            found => Decomposition { interrupted: found.interrupted, ..plain },
        },
    })
}

/// The smallest ring over all openings and splits, each with its ranks chosen as [`tr_svd`] does.
fn of_all_openings<T: Scalar>(
    (target, x): (&Target, &Tensor<T>),
    dims: &[usize],
    template: &Arc<Template>,
    permutation: &[usize],
    eps: f64,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let divisors = |rank: usize| {
        let left = (1..=rank).filter(|d| rank.is_multiple_of(*d));
        left.map(|left| (left, rank / left)).collect()
    };
    let mut best: Option<(u128, Opened<T>, Taken<T>)> = None;
    for start in 0..target.dims().len() {
        let ring = Opened::new((target, x), template, permutation, start, limits)?;
        let taken = match ring.smallest(dims, eps, divisors) {
            Err(DecomposeError::Interrupted) if best.is_some() => break,
            taken => taken?,
        };
        let params = taken.params_with(&ring.counted(dims));
        if best.as_ref().is_none_or(|b| params < b.0) {
            best = Some((params, ring, taken));
        }
    }
    let (_, ring, taken) = best.ok_or(DecomposeError::Interrupted)?;
    Ok(Decomposition { interrupted: limits.stop.is_set(), ..ring.finish(taken) })
}

/// The smallest ring over all openings and splits.
fn smallest<T: Scalar>(
    (target, x): (&Target, &Tensor<T>),
    template: &Arc<Template>,
    permutation: &[usize],
    eps: f64,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let mut best: Option<(Opened<T>, Taken<T>)> = None;
    for start in 0..target.dims().len() {
        let ring = Opened::new((target, x), template, permutation, start, limits)?;
        let first = ring.first(Keep::Within(ring.budget(eps).share(2)))?;
        let mut budget = ring.budget(eps);
        budget.spend(first.lost, 2);
        let mut here: Option<Taken<T>> = None;
        for left in (1..=first.rank).filter(|d| first.rank.is_multiple_of(*d)) {
            let mut shares = Choice::Shares(budget.clone());
            let taken = ring.rest(&first, (left, first.rank / left), &mut shares);
            let taken = match taken {
                // Interrupted: the best so far stands.
                Err(DecomposeError::Interrupted) if best.is_some() || here.is_some() => break,
                taken => taken?,
            };
            let smallest = here.as_ref().or(best.as_ref().map(|b| &b.1)).map(Taken::params);
            if smallest.is_none_or(|p| taken.params() < p) {
                here = Some(taken);
            }
        }
        best = here.map(|taken| (ring, taken)).or(best);
        if limits.stop.is_set() {
            break;
        }
    }
    let (ring, taken) = best.ok_or(DecomposeError::Interrupted)?;
    Ok(Decomposition { interrupted: limits.stop.is_set(), ..ring.finish(taken) })
}
