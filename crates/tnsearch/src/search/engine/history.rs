//! What a search leaves behind besides its answer: how the best improved, and the Pareto front.

use crate::fit::Effort;
use crate::graph::Structure;
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
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ParetoPoint {
    /// Its parameters.
    pub params: u128,
    /// Its error.
    pub error: f64,
    /// The structure.
    pub structure: Structure,
    /// The run that proposed it, from 0.
    pub run: usize,
    /// How much work its fit was given.
    pub effort: Effort,
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

/// The non-dominated points seen, each with what belongs to it: params ascending, error descending.
#[derive(Debug, Clone)]
pub(super) struct Pareto<P>(Vec<(u128, f64, P)>);

impl<P> Default for Pareto<P> {
    fn default() -> Self {
        Pareto(Vec::new())
    }
}

impl<P> Pareto<P> {
    /// Adds a point unless another is as good in both; of equals the one stays that `first` says.
    pub(super) fn add(
        &mut self,
        params: u128,
        error: f64,
        point: P,
        first: impl Fn(&P, &P) -> bool,
    ) {
        let at = self.0.partition_point(|p| p.0 < params);
        if let Some(same) = self.0.get_mut(at).filter(|p| (p.0, p.1) == (params, error)) {
            if first(&point, &same.2) {
                same.2 = point;
            }
            return;
        }
        let dominated = at.checked_sub(1).is_some_and(|k| self.0[k].1 <= error)
            || self.0.get(at).is_some_and(|p| p.0 == params && p.1 <= error);
        if dominated {
            return;
        }
        let beaten = self.0[at..].iter().take_while(|p| p.1 >= error).count();
        self.0.splice(at..at + beaten, [(params, error, point)]);
    }

    /// The front.
    pub(super) fn into_points(self) -> Vec<(u128, f64, P)> {
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
            points.iter().enumerate().for_each(|(k, &(p, r))| front.add(p, r, k, |_, _| false));
            let mut expected: Vec<(u128, f64)> = points.iter().copied()
                .filter(|&(p, r)| !points.iter().any(|&(q, s)| (q <= p && s < r) || (q < p && s <= r)))
                .collect();
            expected.sort_by_key(|p| p.0);
            expected.dedup();
            let front = front.into_points();
            // Of equal points the first is kept.
            for (p, r, k) in &front {
                prop_assert_eq!(points.iter().position(|q| q == &(*p, *r)), Some(*k));
            }
            let found: Vec<(u128, f64)> = front.iter().map(|p| (p.0, p.1)).collect();
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
