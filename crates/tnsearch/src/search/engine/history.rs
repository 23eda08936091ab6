//! What a search leaves behind besides its answer: how the best improved, and the Pareto front.

use crate::problem::Score;
use serde::{Deserialize, Serialize};

/// A moment of the search: the best structure so far and what it took to get there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HistoryPoint {
    /// Structures fitted.
    pub evaluations: u64,
    /// Structures proposed.
    pub samples: u64,
    /// The best structure's loss.
    pub loss: f64,
    /// Its error.
    #[serde(rename = "rse")]
    pub error: f64,
    /// Its parameters.
    pub params: u128,
    /// Seconds since the search began, the time before a resume included.
    pub seconds: f64,
}

/// A structure that no evaluated structure beats in both parameters and error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ParetoPoint {
    /// Its parameters.
    pub params: u128,
    /// Its error.
    #[serde(rename = "rse")]
    pub error: f64,
}

/// The improvements of the best, in the order the structures were proposed, and a last point.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    points: Vec<HistoryPoint>,
    /// Evaluations end in any order; the history's clock never runs back.
    seconds: f64,
}

impl History {
    /// Notes when an evaluation ended.
    pub(super) fn at(&mut self, seconds: f64) {
        self.seconds = self.seconds.max(seconds);
    }

    /// Notes a new best.
    pub(super) fn improved(&mut self, evaluations: u64, samples: u64, best: Score) {
        let Score { loss, error, params } = best;
        let seconds = self.seconds;
        self.points.push(HistoryPoint { evaluations, samples, loss, error, params, seconds });
    }

    /// The points, with one more for the end.
    pub(super) fn finish(
        mut self,
        evaluations: u64,
        samples: u64,
        seconds: f64,
    ) -> Vec<HistoryPoint> {
        if let Some(&last) = self.points.last()
            && (last.evaluations, last.samples) != (evaluations, samples)
        {
            self.points.push(HistoryPoint { evaluations, samples, seconds, ..last });
        }
        self.points
    }
}

/// The non-dominated points seen: params ascending, error descending.
#[derive(Debug, Clone, Default)]
pub(super) struct Pareto(Vec<ParetoPoint>);

impl Pareto {
    /// Adds a point unless another is as good in both.
    pub(super) fn add(&mut self, params: u128, error: f64) {
        let at = self.0.partition_point(|p| p.params < params);
        let dominated = at.checked_sub(1).is_some_and(|k| self.0[k].error <= error)
            || self.0.get(at).is_some_and(|p| p.params == params && p.error <= error);
        if dominated {
            return;
        }
        let beaten = self.0[at..].iter().take_while(|p| p.error >= error).count();
        self.0.splice(at..at + beaten, [ParetoPoint { params, error }]);
    }

    /// The front.
    pub(super) fn into_points(self) -> Vec<ParetoPoint> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_front_is_what_nothing_dominates(points in prop::collection::vec((0u128..12, 0u8..12), 0..40)) {
            let points: Vec<(u128, f64)> = points.iter().map(|&(p, r)| (p, f64::from(r))).collect();
            let mut front = Pareto::default();
            points.iter().for_each(|&(p, r)| front.add(p, r));
            let mut expected: Vec<(u128, f64)> = points.iter().copied()
                .filter(|&(p, r)| !points.iter().any(|&(q, s)| (q <= p && s < r) || (q < p && s <= r)))
                .collect();
            expected.sort_by_key(|p| p.0);
            expected.dedup();
            let found: Vec<(u128, f64)> =
                front.into_points().iter().map(|p| (p.params, p.error)).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_last_point_is_added_once_and_time_never_runs_back() {
        let best = Score { loss: 1.0, error: 0.5, params: 3 };
        let mut history = History::default();
        history.at(2.0);
        history.improved(1, 1, best);
        history.at(1.5);
        history.improved(2, 3, Score { loss: 0.5, ..best });
        let points = history.clone().finish(2, 3, 9.0);
        assert_eq!(points.iter().map(|p| p.seconds).collect::<Vec<_>>(), [2.0, 2.0]);
        let points = history.finish(5, 8, 9.0);
        let end = points[2];
        assert_eq!((end.evaluations, end.samples, end.loss, end.seconds), (5, 8, 0.5, 9.0));
        assert!(History::default().finish(0, 4, 1.0).is_empty());
    }
}
