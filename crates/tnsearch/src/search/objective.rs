//! What a search looks for, and the order of structures that leads there.

use super::{Score, SearchError};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What missing the error by as much again costs, in units of phi: 200 * 1e-4, as in the paper.
const MISS: f64 = 0.02;

/// What counts as the smallest network.
///
/// Each objective has two orders. The *loss* guides the strategies: a number for every structure,
/// continuous in the error, so that a walk through infeasible structures still knows where to go. The
/// *answer* is what the search returns of everything it fitted.
///
/// | objective | loss | answer |
/// | --- | --- | --- |
/// | `Lambda(l)` | `phi + l * RSE` (the paper's equation) | the smallest loss |
/// | `MaxRse(eps)` | `phi + 0.02 * max(0, RSE / eps - 1)` | fewest params with `RSE <= eps`; ties: smaller RSE |
/// | `MaxParams(P)` | `RSE` within the budget, `1 + params / P` beyond it | smallest RSE with `params <= P`; ties: fewer params |
///
/// For `MaxRse` the loss is phi alone once the error is reached, and rises from there with the weight
/// the paper gives it (at `eps = 1e-4` it is that of `lambda = 200`); where nothing reaches the error,
/// the answer is the smallest loss. (A product such as `phi * sqrt(RSE / eps)` lets walks fall towards
/// rank 1: tried, see `docs/tnls.md`.) For
/// `MaxParams`, a structure beyond the budget is known to be so without a fit; its loss is above that
/// of every structure within (an RSE is at most 1) and falls towards the budget. Remaining ties go to
/// the structure that was proposed first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Minimise phi + lambda * RSE.
    Lambda(f64),
    /// Fewest parameters with an RSE of at most this.
    MaxRse(f64),
    /// Smallest RSE with at most this many parameters.
    MaxParams(u128),
}

impl Objective {
    /// Checks the objective's number.
    ///
    /// ```
    /// use tnsearch::search::Objective;
    /// let objective = Objective::Lambda(200.0).check().unwrap();
    /// assert_eq!(objective.loss(30, 0.5, 0.01), 2.5);
    /// assert!(Objective::MaxRse(0.0).check().is_err());
    /// ```
    pub fn check(self) -> Result<CheckedObjective, SearchError> {
        match self {
            Objective::Lambda(l) if !(l > 0.0 && l.is_finite()) => {
                Err(SearchError::setting("lambda", l, "it must be a positive number"))
            }
            Objective::MaxRse(e) if !(e > 0.0 && e < 1.0) => Err(SearchError::setting(
                "max-rse",
                e,
                "it must be above 0 and below 1 (the zero network has an RSE of 1)",
            )),
            Objective::MaxParams(p) if p == 0 || p > u128::from(u64::MAX) => {
                Err(SearchError::setting("max-params", p, "it must be from 1 to 2^64 - 1"))
            }
            _ => Ok(CheckedObjective(self)),
        }
    }
}

/// A checked [`Objective`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckedObjective(Objective);

impl CheckedObjective {
    /// The objective.
    pub fn get(self) -> Objective {
        self.0
    }

    /// The number the strategies minimise, of a structure with these parameters and this error.
    pub fn loss(self, params: u128, phi: f64, rse: f64) -> f64 {
        match self.0 {
            Objective::Lambda(lambda) => phi + lambda * rse,
            Objective::MaxRse(eps) => phi + MISS * (rse / eps - 1.0).max(0.0),
            Objective::MaxParams(_) => self.loss_beyond_budget(params).unwrap_or(rse),
        }
    }

    /// The loss of a structure beyond the parameter budget, known without a fit; none where the
    /// structure is within, or where there is no such budget.
    pub fn loss_beyond_budget(self, params: u128) -> Option<f64> {
        match self.0 {
            Objective::MaxParams(budget) if params > budget => {
                Some(1.0 + params as f64 / budget as f64)
            }
            _ => None,
        }
    }

    /// Whether a structure is what was asked for. Every structure is, for `Lambda`.
    pub fn reached(self, params: u128, rse: f64) -> bool {
        match self.0 {
            Objective::Lambda(_) => true,
            Objective::MaxRse(eps) => rse <= eps,
            Objective::MaxParams(budget) => params <= budget,
        }
    }

    /// Whether `a` is strictly the better answer of two fitted structures.
    pub fn better(self, a: &Score, b: &Score) -> bool {
        self.compare(a, b) == Ordering::Less
    }

    /// The order of answers, best first.
    pub(super) fn compare(self, a: &Score, b: &Score) -> Ordering {
        let by_loss = || a.loss.total_cmp(&b.loss);
        match self.0 {
            Objective::Lambda(_) => by_loss(),
            Objective::MaxRse(eps) => match (a.rse <= eps, b.rse <= eps) {
                (true, true) => a.params.cmp(&b.params).then(a.rse.total_cmp(&b.rse)),
                (false, false) => by_loss(),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
            },
            Objective::MaxParams(_) => by_loss().then(a.params.cmp(&b.params)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dense size used below.
    const SIZE: f64 = 1000.0;

    fn score(objective: CheckedObjective, params: u128, rse: f64) -> Score {
        Score { loss: objective.loss(params, params as f64 / SIZE, rse), rse, params }
    }

    #[test]
    fn refuses_numbers_that_mean_nothing() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Objective::Lambda(bad).check().is_err(), "{bad}");
            assert!(Objective::MaxRse(bad).check().is_err(), "{bad}");
        }
        assert!(Objective::MaxParams(0).check().is_err());
        let error = Objective::MaxRse(2.0).check().unwrap_err().to_string();
        assert!(error.contains("max-rse is 2") && error.contains("below 1"), "{error}");
    }

    #[test]
    fn max_rse_weighs_error_against_parameters_without_a_cliff() {
        let eps = 1e-4;
        let o = Objective::MaxRse(eps).check().unwrap();
        // Continuous at the target, flat below it.
        let at = o.loss(100, 0.1, eps);
        assert_eq!(at, 0.1);
        assert_eq!(o.loss(100, 0.1, 1e-12), at);
        assert!((o.loss(100, 0.1, eps * (1.0 + 1e-9)) - at).abs() < 1e-9);
        // The slope is that of the paper's lambda.
        let paper = Objective::Lambda(200.0).check().unwrap();
        let (near, far) = (2.0 * eps, 0.5);
        let rise = o.loss(100, 0.1, far) - o.loss(100, 0.1, near);
        assert!((rise - (paper.loss(100, 0.1, far) - paper.loss(100, 0.1, near))).abs() < 1e-9);
    }

    #[test]
    fn max_rse_answers_with_the_fewest_params_that_reach_it() {
        let o = Objective::MaxRse(1e-2).check().unwrap();
        let small = score(o, 100, 9e-3);
        let exact = score(o, 101, 1e-12);
        let tiny = score(o, 10, 1.1e-2);
        assert!(o.better(&small, &exact) && !o.better(&exact, &small));
        // The infeasible one has the smaller loss, and still is no answer.
        assert!(tiny.loss < small.loss && o.better(&small, &tiny) && !o.better(&tiny, &small));
        // Ties in params: the smaller error; full ties: neither.
        let closer = score(o, 100, 8e-3);
        assert!(o.better(&closer, &small) && !o.better(&small, &small));
        // Nothing feasible: the loss decides.
        let worse = score(o, 10, 0.5);
        assert!(o.better(&tiny, &worse));
        assert!(o.reached(100, 1e-2) && !o.reached(100, 1.1e-2));
    }

    #[test]
    fn max_params_falls_towards_the_budget() {
        let o = Objective::MaxParams(100).check().unwrap();
        assert_eq!(o.loss_beyond_budget(100), None);
        let (near, far) = (o.loss_beyond_budget(101).unwrap(), o.loss_beyond_budget(400).unwrap());
        assert!(2.0 < near && near < far);
        assert_eq!(o.loss(100, 0.1, 0.3), 0.3);
        assert_eq!(o.loss(400, 0.4, 0.0), far);
        let (a, b) = (score(o, 90, 0.2), score(o, 20, 0.3));
        assert!(o.better(&a, &b));
        assert!(o.better(&score(o, 80, 0.2), &a), "equal errors: fewer params");
    }

    #[test]
    fn the_order_of_answers_is_total() {
        for o in [Objective::Lambda(5.0), Objective::MaxRse(0.1), Objective::MaxParams(50)] {
            let o = o.check().unwrap();
            let all: Vec<Score> = (1..8u128)
                .flat_map(|p| [0.0, 0.05, 0.1, 0.2, 1.0].map(|r| score(o, p * 10, r)))
                .collect();
            for a in &all {
                for b in &all {
                    assert_eq!(o.compare(a, b), o.compare(b, a).reverse());
                    for c in &all {
                        if o.better(a, b) && o.better(b, c) {
                            assert!(o.better(a, c), "{a:?} {b:?} {c:?}");
                        }
                    }
                }
            }
        }
    }
}
