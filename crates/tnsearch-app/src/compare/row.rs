//! A line of a comparison, and which lines stand above which.

use serde::Serialize;
use std::cmp::Ordering;
use tnsearch::network::Network;
use tnsearch::problem::Objective;
use tnsearch::search::StoppedBy;

/// Errors so near to each other, relative, are one.
const SAME: f64 = 1e-9;

/// What kind of method a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sort {
    /// The search where nothing is said.
    Default,
    /// A fixed format without a search.
    Decompose,
    /// A search by another strategy.
    Search,
}

/// What a method gave.
pub(super) struct Found {
    pub network: Network,
    pub rse: f64,
    pub stopped_by: StoppedBy,
}

/// One method.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Row {
    /// Its name.
    pub method: String,
    /// What kind it is of.
    pub sort: Sort,
    /// The name of the graph of its answer.
    pub template: Option<String>,
    /// The parameters of its answer; none where there is none.
    pub params: Option<u128>,
    /// Minus the decimal logarithm of params over the tensor's entries.
    pub log10_cr: Option<f64>,
    /// The squared relative error.
    pub rse: Option<f64>,
    /// The root of it.
    pub re: Option<f64>,
    /// How long it took.
    pub seconds: f64,
    /// Whether its answer is what was asked for.
    pub target_reached: bool,
    /// Whether no other method has a better one.
    pub won: bool,
    /// What ended it; none where it failed.
    pub stopped_by: Option<StoppedBy>,
    /// Why there is no answer.
    pub reason: Option<String>,
}

impl Row {
    pub(super) fn new(
        sort: Sort,
        method: String,
        found: Result<Found, String>,
        dims: &[usize],
        seconds: f64,
        objective: Objective,
    ) -> Self {
        let (found, reason) = match found {
            Ok(found) => (Some(found), None),
            Err(reason) => (None, Some(reason)),
        };
        let structure = found.as_ref().map(|f| f.network.structure());
        let params = structure.map(|s| s.params(dims));
        let rse = found.as_ref().map(|f| f.rse);
        let reached = |params: u128, rse: f64| {
            objective.max_error().is_none_or(|eps| rse <= eps)
                && objective.max_params().is_none_or(|most| params <= most)
        };
        Row {
            method,
            sort,
            template: structure.map(|s| s.template().name().to_owned()),
            params,
            log10_cr: structure.map(|s| -s.phi(dims).log10()),
            rse,
            re: rse.map(f64::sqrt),
            seconds,
            target_reached: params.zip(rse).is_some_and(|(params, rse)| reached(params, rse)),
            won: false,
            stopped_by: found.map(|f| f.stopped_by),
            reason,
        }
    }

    /// Which of two answers stands above: the one that was reached, then by what was to be small.
    fn compare(&self, other: &Row, objective: Objective) -> Ordering {
        let last = |row: &Row| (row.params.is_none(), !row.target_reached);
        let params = self.params.cmp(&other.params);
        let error = self.rse.unwrap_or(1.0).total_cmp(&other.rse.unwrap_or(1.0));
        let by_params = self.target_reached && objective.max_error().is_some();
        last(self).cmp(&last(other)).then(match by_params {
            true => params.then(error),
            false => error.then(params),
        })
    }

    /// Whether it is as good as the best.
    fn equals(&self, best: &Row, objective: Objective) -> bool {
        self.target_reached
            && match (objective.max_error(), self.rse, best.rse) {
                (Some(_), ..) => self.params == best.params,
                (None, Some(a), Some(b)) => a <= b * (1.0 + SAME),
                _ => false,
            }
    }
}

/// Puts the best first; methods that are alike stay in their order, and all that nothing is better than have won.
pub(super) fn rank(rows: &mut [Row], objective: Objective) {
    rows.sort_by(|a, b| a.compare(b, objective));
    let Some(best) = rows.first().cloned().filter(|best| best.target_reached) else { return };
    for row in rows {
        row.won = row.equals(&best, objective);
    }
}
