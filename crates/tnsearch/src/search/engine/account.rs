//! The account of a search: counts, the best, how it improved, the Pareto front.
//!
//! Results are entered in the order in which structures were proposed, whenever their fits ended; so
//! the account does not depend on the number of workers.

use super::formats::BestOfFormats;
use super::history::{History, Pareto};
use super::run::{Closed, Job, Resolved, Slot, Step};
use super::{Counts, Evaluation};
use crate::fit::Fitted;
use crate::problem::{CheckedObjective, Score};
use std::cmp::Ordering;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Account {
    objective: CheckedObjective,
    pub counts: Counts,
    pub history: History,
    pub pareto: Pareto<(Arc<Job>, Arc<Evaluation>)>,
    /// The cores of what may be on the front, where they are asked for.
    front: Option<Pareto<(Slot, Fitted)>>,
    pub formats: BestOfFormats,
    /// The best structure so far.
    pub leader: Option<(Arc<Job>, Arc<Evaluation>)>,
    /// The cores of the best fit that ended so far.
    kept: Option<(Score, Slot, Fitted)>,
    /// What came nearest to an error that nothing has reached, and its cores.
    nearest: Option<(Arc<Job>, Arc<Evaluation>)>,
    kept_nearest: Option<(Score, Slot, Fitted)>,
}

impl Account {
    /// With `front`, the cores of the whole Pareto front are kept.
    pub fn new(objective: CheckedObjective, front: bool) -> Self {
        Account {
            objective,
            counts: Counts::default(),
            history: History::default(),
            pareto: Pareto::default(),
            front: front.then(Pareto::default),
            formats: BestOfFormats::default(),
            leader: None,
            kept: None,
            nearest: None,
            kept_nearest: None,
        }
    }

    /// The cores on the front that were kept, by their places.
    pub fn take_front(&mut self) -> Vec<(Slot, Fitted)> {
        let front = self.front.take().unwrap_or_default();
        front.into_points().into_iter().map(|(_, _, kept)| kept).collect()
    }

    /// Keeps the cores of a fit that has just ended if it is the best yet. Only one set of cores is held
    /// at a time (unless those of the front are asked for); which one is left in the end does not depend on the order
    /// in which fits end.
    pub fn keep(&mut self, job: &Job, score: Score, fitted: Fitted) {
        if let Some(front) = &mut self.front {
            let kept = (job.place, fitted.clone());
            front.add(score.params, score.error, kept, |new, old| new.0 < old.0);
        }
        self.keep_nearest(job, score, &fitted);
        let beats = |other: &Score, place: Slot| {
            self.objective.compare(&score, other).then(job.place.cmp(&place)) == Ordering::Less
        };
        if self.leader.as_ref().is_none_or(|(j, e)| beats(&e.score(), j.place))
            && self.kept.as_ref().is_none_or(|(other, place, _)| beats(other, *place))
        {
            self.kept = Some((score, job.place, fitted));
        }
    }

    /// The same for what is nearest to an error that is missed, as long as nothing reaches it.
    fn keep_nearest(&mut self, job: &Job, score: Score, fitted: &Fitted) {
        let Some(eps) = self.objective.max_error() else { return };
        let best = self.kept.as_ref().map(|(best, ..)| *best);
        if score.error <= eps || best.is_some_and(|best| best.error <= eps) {
            self.kept_nearest = None;
            return;
        }
        let further = |(other, place, _): &(Score, Slot, Fitted)| {
            self.objective.nearer(&score, other)
                || (!self.objective.nearer(other, &score) && job.place < *place)
        };
        if self.kept_nearest.as_ref().is_none_or(further) {
            self.kept_nearest = Some((score, job.place, fitted.clone()));
        }
    }

    /// Where the error asked for was missed, its leader is what came nearest to it.
    pub fn settle(&mut self) {
        let Some((_, evaluation)) = &self.leader else { return };
        let missed = |eps: f64| evaluation.error > eps;
        if self.objective.max_error().is_some_and(missed) && self.nearest.is_some() {
            self.leader = self.nearest.take();
            self.kept = self.kept_nearest.take().or(self.kept.take());
        }
    }

    /// Enters a generation of a run; generations are entered in their order, and those of one number in the order
    /// of the runs.
    pub fn enter(&mut self, closed: &Closed) {
        for (step, outcome) in closed.round.steps.iter().zip(&closed.outcomes) {
            let Some(outcome) = outcome else { continue };
            self.counts.add(outcome);
            let Step::Job(k) = step else { continue };
            match &closed.round.resolved[*k] {
                Some(Resolved::Evaluated(evaluation)) => {
                    self.evaluated(&closed.round.jobs[*k], evaluation);
                }
                Some(Resolved::Found(found, evaluation)) => self.evaluated(found, evaluation),
                _ => {}
            }
        }
    }

    fn evaluated(&mut self, job: &Arc<Job>, evaluation: &Arc<Evaluation>) {
        let score = evaluation.score();
        self.history.at(evaluation.seconds);
        let point = (job.clone(), evaluation.clone());
        self.pareto.add(score.params, score.error, point, |_, _| false);
        let nearest = self.nearest.as_ref();
        if nearest.is_none_or(|(_, e)| self.objective.nearer(&score, &e.score())) {
            self.nearest = Some((job.clone(), evaluation.clone()));
        }
        let format = (job.structure.template().name(), &job.structure);
        self.formats.add(self.objective, format, score, evaluation.seconds);
        if self.leader.as_ref().is_none_or(|(_, e)| self.objective.better(&score, &e.score())) {
            self.history.improved(self.counts.evaluations, self.counts.samples, score);
            self.leader = Some((job.clone(), evaluation.clone()));
        }
    }

    /// The cores of the best structure, unless its result came from a journal.
    pub fn take_cores(&mut self) -> Option<Fitted> {
        let place = self.leader.as_ref()?.0.place;
        self.kept.take().filter(|kept| kept.1 == place).map(|kept| kept.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Effort;
    use crate::graph::{Structure, Template};
    use crate::problem::Objective;

    fn job(index: usize) -> Arc<Job> {
        let ring = Arc::new(Template::ring(4).unwrap());
        let structure = Structure::new(ring, vec![0, 1, 2, 3], vec![2; 4]).unwrap();
        let graph = structure.canonical().graph;
        Arc::new(Job {
            place: Slot { generation: 1, run: 0, index },
            effort: Effort::Full,
            structure,
            parent: None,
            far: None,
            walk: None,
            asked: None,
            graph,
            params: 40,
            phi: 0.5,
            at_best: Score { loss: 0.5, error: 0.0, params: 40 },
        })
    }

    fn score(error: f64) -> Score {
        Score { loss: 0.5 + error, error, params: 40 }
    }

    /// A fit that can be told from others by its sweeps.
    fn fitted(error: f64, sweeps: usize) -> Fitted {
        Fitted {
            cores: Vec::new(),
            error,
            sweeps,
            restarts: 1,
            rescued: false,
            interrupted: false,
            graph: None,
        }
    }

    fn evaluation(job: &Job, error: f64) -> Arc<Evaluation> {
        Arc::new(Evaluation {
            run: 0,
            key: job.graph.to_string(),
            permutation: job.structure.permutation().to_vec(),
            ranks: job.structure.ranks().to_vec(),
            params: 40,
            error,
            loss: score(error).loss,
            sweeps: 0,
            restarts: 1,
            seconds: 0.0,
            effort: job.effort,
            format: None,
        })
    }

    #[test]
    fn of_equal_fits_the_cores_of_the_first_proposed_are_kept() {
        let errors = [0.5, 0.1, 0.1, 0.3, 0.1];
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 1, 3], [3, 2, 1, 4, 0]] {
            let mut account = Account::new(Objective::Lambda(1.0).check().unwrap(), false);
            // The fits end in this order...
            for k in order {
                account.keep(&job(k), score(errors[k]), fitted(errors[k], k));
            }
            // ...and are entered in that of their proposal.
            for (k, &error) in errors.iter().enumerate() {
                let job = job(k);
                account.evaluated(&job, &evaluation(&job, error));
            }
            assert_eq!(account.leader.as_ref().unwrap().0.place.index, 1);
            assert_eq!(account.take_cores().unwrap().sweeps, 1, "{order:?}");
        }
    }

    #[test]
    fn of_equal_points_of_the_front_the_cores_of_the_first_proposed_are_kept() {
        let scores = [(40, 0.5), (40, 0.1), (60, 0.05), (40, 0.1), (60, 0.3)];
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 4, 0, 2, 1]] {
            let mut account = Account::new(Objective::Lambda(1.0).check().unwrap(), true);
            for k in order {
                let (params, error) = scores[k];
                let score = Score { loss: error, error, params };
                account.keep(&job(k), score, fitted(error, k));
            }
            let front = account.take_front();
            let kept: Vec<_> = front.iter().map(|(place, f)| (place.index, f.sweeps)).collect();
            assert_eq!(kept, [(1, 1), (2, 2)], "{order:?}");
        }
        assert!(
            Account::new(Objective::Lambda(1.0).check().unwrap(), false).take_front().is_empty()
        );
    }

    #[test]
    fn a_best_from_a_journal_has_no_cores() {
        let mut account = Account::new(Objective::Lambda(1.0).check().unwrap(), false);
        let (first, second) = (job(0), job(1));
        account.evaluated(&first, &evaluation(&first, 0.1));
        account.keep(&second, score(0.3), fitted(0.3, 1));
        account.evaluated(&second, &evaluation(&second, 0.3));
        assert_eq!(account.leader.as_ref().unwrap().0.place.index, 0);
        assert!(account.take_cores().is_none());
    }

    /// Runs advance at their own speed: the place in the order of proposal counts, not when a fit ended.
    #[test]
    fn the_order_is_generation_by_generation_and_run_by_run() {
        let place = |generation, run, index| Slot { generation, run, index };
        let ordered = [place(1, 0, 3), place(1, 1, 0), place(2, 0, 0), place(2, 0, 1)];
        assert!(ordered.is_sorted_by(|a, b| a < b));
    }
    /// As long as an error is missed, the cores of what came nearest to it are at hand, in whatever order fits end.
    #[test]
    fn of_fits_that_miss_the_error_the_cores_of_the_nearest_are_kept() {
        let objective = Objective::MaxError(0.1).check().unwrap();
        let errors = [0.5, 0.3, 0.3, 0.4, 0.3];
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 1, 3], [3, 2, 1, 4, 0]] {
            let mut account = Account::new(objective, false);
            for k in order {
                account.keep(&job(k), score(errors[k]), fitted(errors[k], k));
            }
            for (k, &error) in errors.iter().enumerate() {
                let job = job(k);
                account.evaluated(&job, &evaluation(&job, error));
            }
            account.settle();
            assert_eq!(account.leader.as_ref().unwrap().0.place.index, 1);
            assert_eq!(account.take_cores().unwrap().sweeps, 1, "{order:?}");
        }
    }

    /// Once the error is reached, or reached to the last bit, only the cores of the best are held.
    #[test]
    fn cores_that_missed_the_error_are_let_go_when_it_is_reached() {
        let objective = Objective::MaxError(0.1).check().unwrap();
        for reached in [0.05, 0.1] {
            let mut account = Account::new(objective, false);
            account.keep(&job(0), score(0.3), fitted(0.3, 0));
            assert!(account.kept_nearest.is_some());
            account.keep(&job(1), score(reached), fitted(reached, 1));
            assert!(account.kept_nearest.is_none());
            account.keep(&job(2), score(0.2), fitted(0.2, 2));
            assert!(account.kept_nearest.is_none());
        }
        // No other objective has any.
        let mut account = Account::new(Objective::Lambda(1.0).check().unwrap(), false);
        account.keep(&job(0), score(0.3), fitted(0.3, 0));
        assert!(account.kept_nearest.is_none());
    }
}
