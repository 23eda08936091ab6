//! What a search looks for, and the order of structures that leads there.

use crate::SettingError;
use crate::error::positive;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Deref;

/// What missing the error by as much again costs, in units of phi: 200 * 1e-4, as in the paper.
const MISS: f64 = 0.02;

/// The numbers by which fitted structures are compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// The loss of the objective.
    pub loss: f64,
    /// The error: the value of the problem's [`Loss`](super::Loss).
    #[serde(rename = "rse")]
    pub error: f64,
    /// The parameters.
    pub params: u128,
}

/// What counts as the smallest network.
///
/// Each objective has two orders. The *loss* guides the strategies: a number for every structure,
/// continuous in the error, so that a walk through infeasible structures still knows where to go. The
/// *answer* is what the search returns of everything it fitted.
///
/// | objective | loss | answer |
/// | --- | --- | --- |
/// | `Lambda(l)` | `phi + l * error` (the paper's equation) | the smallest loss |
/// | `MaxError(eps)` | `phi + 0.02 * max(0, error / eps - 1)` | fewest params with `error <= eps`; ties: smaller error |
/// | `MaxParams(P)` | `error` within the budget, `1 + params / P` beyond it | smallest error with `params <= P`; ties: fewer params |
///
/// For `MaxError` the loss is phi alone once the error is reached, and rises from there with the weight
/// the paper gives it (at `eps = 1e-4` it is that of `lambda = 200`); where nothing reaches the error,
/// the answer is the smallest loss. (A product such as `phi * sqrt(error / eps)` lets walks fall towards
/// rank 1: tried, see `docs/tnls.md`.) For
/// `MaxParams`, a structure beyond the budget is known to be so without a fit; its loss is above that
/// of every structure within (an error is at most 1) and falls towards the budget. Remaining ties go to
/// the structure that was proposed first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Objective {
    /// Minimise phi + lambda * error.
    Lambda(f64),
    /// Fewest parameters with an error of at most this.
    #[serde(rename = "max_rse", alias = "max_error")]
    MaxError(f64),
    /// Smallest error with at most this many parameters.
    MaxParams(u128),
}

impl Objective {
    /// Checks the objective's number.
    ///
    /// ```
    /// use tnsearch::problem::Objective;
    /// let objective = Objective::Lambda(200.0).check().unwrap();
    /// assert_eq!(objective.loss(30, 0.5, 0.01), 2.5);
    /// assert!(Objective::MaxError(0.0).check().is_err());
    /// ```
    pub fn check(self) -> Result<CheckedObjective, SettingError> {
        match self {
            Objective::Lambda(l) => positive("lambda", l)?,
            Objective::MaxError(e) if !(e > 0.0 && e < 1.0) => {
                let expected = "it must be above 0 and below 1 (the zero network has an RSE of 1)";
                return Err(SettingError::new("max-rse", e, expected));
            }
            Objective::MaxParams(p) if p == 0 || p > u128::from(u64::MAX) => {
                return Err(SettingError::new("max-params", p, "it must be from 1 to 2^64 - 1"));
            }
            _ => {}
        }
        Ok(CheckedObjective(self))
    }

    /// The error that is to be reached, if one is.
    pub fn max_error(self) -> Option<f64> {
        match self {
            Objective::MaxError(eps) => Some(eps),
            _ => None,
        }
    }

    /// The budget of parameters, if there is one.
    pub fn max_params(self) -> Option<u128> {
        match self {
            Objective::MaxParams(budget) => Some(budget),
            _ => None,
        }
    }

    /// The weight of the error against phi, if it has one.
    pub fn lambda(self) -> Option<f64> {
        match self {
            Objective::Lambda(lambda) => Some(lambda),
            _ => None,
        }
    }

    /// The objective as files hold it: whole numbers in JSON end at 2^64 - 1.
    pub fn recorded(self) -> Self {
        match self {
            Objective::MaxParams(p) => Objective::MaxParams(p.min(u64::MAX.into())),
            other => other,
        }
    }

    /// What a number that no structure can go below means: see [`Objective::value`] for its units.
    pub fn lower_bound(self, value: f64) -> LowerBound {
        let mut bound = LowerBound { params: None, error: None, loss: None };
        match self {
            // Parameters are whole; the sum was of whole numbers.
            Objective::MaxError(_) => bound.params = Some((value - 1e-6).ceil().max(0.0) as u128),
            Objective::MaxParams(_) => bound.error = Some(value),
            Objective::Lambda(_) => bound.loss = Some(value),
        }
        bound
    }

    /// What is minimised over the structures that are what was asked for: the parameters (`MaxError`), the error
    /// (`MaxParams`) or the loss (`Lambda`). None for a score that is no answer.
    pub fn value(self, score: &Score) -> Option<f64> {
        match self {
            Objective::MaxError(eps) => (score.error <= eps).then_some(score.params as f64),
            Objective::MaxParams(_) => Some(score.error),
            Objective::Lambda(_) => Some(score.loss),
        }
    }

    /// The same for parameters and an error that nothing can go below, in a tensor of so many entries; none where
    /// they rule out that it is an answer.
    pub fn least_value(self, params: f64, entries: f64, error: f64) -> Option<f64> {
        match self {
            _ if params == f64::INFINITY => None,
            Objective::Lambda(lambda) => Some(params / entries + lambda * error),
            Objective::MaxError(_) => Some(params),
            Objective::MaxParams(budget) => (params <= budget as f64).then_some(error),
        }
    }

    /// By how much a value may miss a bound and still count as meeting it: what rounding takes.
    pub fn margin(self, bound: f64) -> f64 {
        match self {
            Objective::MaxError(_) => 0.0,
            Objective::MaxParams(_) => error_margin(bound),
            Objective::Lambda(_) => loss_margin(bound),
        }
    }
}

/// A checked [`Objective`]; reads like one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CheckedObjective(Objective);

impl Deref for CheckedObjective {
    type Target = Objective;

    fn deref(&self) -> &Objective {
        &self.0
    }
}

impl CheckedObjective {
    /// The objective.
    pub fn get(self) -> Objective {
        self.0
    }

    /// The number the strategies minimise, of a structure with these parameters and this error.
    pub fn loss(self, params: u128, phi: f64, error: f64) -> f64 {
        match self.0 {
            Objective::Lambda(lambda) => phi + lambda * error,
            Objective::MaxError(eps) => phi + MISS * (error / eps - 1.0).max(0.0),
            Objective::MaxParams(_) => self.loss_beyond_budget(params).unwrap_or(error),
        }
    }

    /// The error with which a structure of that many parameters has that loss, 0 where it has it already; none where the
    /// objective is not a loss that both weigh in.
    pub fn error_at(self, phi: f64, loss: f64) -> Option<f64> {
        match self.0 {
            Objective::Lambda(lambda) => Some((loss - phi).max(0.0) / lambda),
            _ => None,
        }
    }

    /// Parameters and error with their loss.
    pub fn score(self, params: u128, phi: f64, error: f64) -> Score {
        Score { loss: self.loss(params, phi, error), error, params }
    }

    /// The loss of a structure beyond the parameter budget, known without a fit; none where the
    /// structure is within, or where there is no such budget.
    pub fn loss_beyond_budget(self, params: u128) -> Option<f64> {
        let budget = self.0.max_params().filter(|budget| params > *budget)?;
        Some(1.0 + params as f64 / budget as f64)
    }

    /// Whether a structure is what was asked for. Every structure is, for `Lambda`.
    pub fn reached(self, params: u128, error: f64) -> bool {
        match self.0 {
            Objective::Lambda(_) => true,
            Objective::MaxError(eps) => error <= eps,
            Objective::MaxParams(budget) => params <= budget,
        }
    }

    /// Whether `a` is strictly the better answer of two fitted structures.
    pub fn better(self, a: &Score, b: &Score) -> bool {
        self.compare(a, b) == Ordering::Less
    }

    /// The order of what a search returns, best first: where neither reaches the error asked for, the nearer one. Strategies
    /// go by [`CheckedObjective::compare`].
    pub fn compare_answers(self, a: &Score, b: &Score) -> Ordering {
        match () {
            () if self.nearer(a, b) => Ordering::Less,
            () if self.nearer(b, a) => Ordering::Greater,
            () => self.compare(a, b),
        }
    }

    /// Whether `a` is nearer to the error asked for than `b` where neither reaches it: the smaller error, then fewer
    /// parameters. What a search returns then; its strategies go by [`CheckedObjective::better`]. Never so for other
    /// objectives.
    pub fn nearer(self, a: &Score, b: &Score) -> bool {
        let missed = |s: &Score| self.0.max_error().is_some_and(|eps| s.error > eps);
        missed(a) && missed(b) && (a.error, a.params) < (b.error, b.params)
    }

    /// The order of answers, best first.
    pub fn compare(self, a: &Score, b: &Score) -> Ordering {
        let by_loss = || a.loss.total_cmp(&b.loss);
        match self.0 {
            Objective::Lambda(_) => by_loss(),
            Objective::MaxError(eps) => match (a.error <= eps, b.error <= eps) {
                (true, true) => a.params.cmp(&b.params).then(a.error.total_cmp(&b.error)),
                (false, false) => by_loss(),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
            },
            Objective::MaxParams(_) => by_loss().then(a.params.cmp(&b.params)),
        }
    }
}

/// What no structure of the template (with ranks up to the largest allowed) can go below: one of the three.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LowerBound {
    /// On the parameters of every structure that reaches the error (`MaxError`).
    pub params: Option<u128>,
    /// On the error of every structure within the budget (`MaxParams`).
    #[serde(rename = "rse")]
    pub error: Option<f64>,
    /// On the loss of every structure (`Lambda`).
    pub loss: Option<f64>,
}

impl LowerBound {
    /// Whether a score meets the bound, so that nothing can be better: losses to within a part in 10^9, errors
    /// to within that and what rounding takes from the bound (see `bound::Spectrum::slack`).
    pub fn is_met_by(&self, score: &Score) -> bool {
        self.params.is_some_and(|p| score.params <= p)
            || self.error.is_some_and(|e| score.error <= e + error_margin(e))
            || self.loss.is_some_and(|l| score.loss <= l + loss_margin(l))
    }

    /// How many times the bound a score is; none where that is no number.
    pub fn gap(&self, score: &Score) -> Option<f64> {
        let gap = match (self.params, self.error, self.loss) {
            (Some(p), ..) => score.params as f64 / p as f64,
            (_, Some(e), _) => score.error / e,
            (_, _, loss) => score.loss / loss?,
        };
        gap.is_finite().then_some(gap)
    }

    /// The bound as a number: parameters, an error or a loss.
    pub fn value(&self) -> f64 {
        self.params.map(|p| p as f64).or(self.error).or(self.loss).unwrap_or(0.0)
    }
}

/// By how much an error may miss its bound and still count as meeting it.
fn error_margin(bound: f64) -> f64 {
    1e-9 * bound + 4e-12
}

/// By how much a loss may miss its bound and still count as meeting it.
fn loss_margin(bound: f64) -> f64 {
    1e-9 * bound.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The dense size used below.
    const SIZE: f64 = 1000.0;

    fn score(objective: CheckedObjective, params: u128, rse: f64) -> Score {
        objective.score(params, params as f64 / SIZE, rse)
    }

    #[test]
    fn refuses_numbers_that_mean_nothing() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Objective::Lambda(bad).check().is_err(), "{bad}");
            assert!(Objective::MaxError(bad).check().is_err(), "{bad}");
        }
        assert!(Objective::MaxParams(0).check().is_err());
        let error = Objective::MaxError(2.0).check().unwrap_err().to_string();
        assert!(error.contains("max-rse is 2") && error.contains("below 1"), "{error}");
    }

    #[test]
    fn max_rse_weighs_error_against_parameters_without_a_cliff() {
        let eps = 1e-4;
        let o = Objective::MaxError(eps).check().unwrap();
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
        let o = Objective::MaxError(1e-2).check().unwrap();
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
        for o in [Objective::Lambda(5.0), Objective::MaxError(0.1), Objective::MaxParams(50)] {
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

    #[test]
    fn only_rounding_may_part_an_error_from_its_bound() {
        let met = |bound: f64, error: f64| {
            let bound = Objective::MaxParams(16).lower_bound(bound);
            bound.is_met_by(&Score { loss: error, error, params: 8 })
        };
        assert!(met(1e-3, 1e-3) && met(1e-3, 1e-3 + 1e-12) && met(0.0, 1e-12));
        // Small, but another structure may well be exact.
        assert!(!met(0.0, 4e-10) && !met(1e-3, 1.001e-3));
    }
}
