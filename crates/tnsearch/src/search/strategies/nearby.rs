//! Near an answer: one rank less, or one less and another more, on any pair of modes.
//!
//! Walks move many ranks at once and stop where their own steps bring nothing; what they end at may still have a rank to
//! spare. So the neighbours of the best that have fewer parameters are fitted, the smallest first; the search goes to the
//! best that reaches the error, and ends where none does. For an error that is to be reached.

use super::{Ask, CheckedObjective, Effort, Generation, Outcome, Strategy};
use crate::graph::{ModeGraph, Structure};
use crate::problem::Score;
use std::collections::HashSet;

/// How near to the error a quick fit must come for one with all its starts: times the error.
const NEAR: f64 = 1.3;

/// The strategy.
pub struct Nearby {
    objective: CheckedObjective,
    dims: Vec<usize>,
    max_rank: usize,
    at: Structure,
    /// Where the best that there is stands.
    best: Option<Score>,
    /// Which of the neighbours come next.
    stage: Stage,
    asked: Vec<Structure>,
    /// What came near in a quick fit.
    near: Vec<(f64, Structure)>,
    seen: HashSet<ModeGraph>,
    /// Fits that may still be made.
    left: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Stage {
    /// One rank less.
    Less,
    /// One rank less, another one more.
    Exchanged,
    /// Those of the latter that came near.
    Again,
    Done,
}

impl Nearby {
    /// A search around a structure of a graph that joins every pair, on a tensor of these dimensions, with so many fits.
    pub fn new(
        at: Structure,
        dims: &[usize],
        objective: CheckedObjective,
        max_rank: usize,
        fits: usize,
    ) -> Self {
        Nearby {
            objective,
            dims: dims.to_vec(),
            max_rank,
            at,
            best: None,
            stage: Stage::Less,
            asked: Vec::new(),
            near: Vec::new(),
            seen: HashSet::new(),
            left: fits,
        }
    }

    /// The structure with one rank less, and another one more.
    fn changed(&self, less: usize, more: Option<usize>) -> Option<Structure> {
        let mut ranks = self.at.ranks().to_vec();
        ranks[less] = ranks[less].checked_sub(1).filter(|&r| r > 0)?;
        if let Some(more) = more {
            ranks[more] += 1;
            if more == less || ranks[more] > self.max_rank {
                return None;
            }
        }
        Structure::new(self.at.template().clone(), self.at.permutation().to_vec(), ranks).ok()
    }

    /// The neighbours of a stage that are smaller than the best and were not tried, the smallest first.
    fn neighbours(&mut self) -> Vec<Structure> {
        let edges = 0..self.at.ranks().len();
        let all: Vec<Structure> = match self.stage {
            Stage::Less => edges.filter_map(|e| self.changed(e, None)).collect(),
            Stage::Exchanged => {
                let pairs = edges.clone().flat_map(|e| edges.clone().map(move |f| (e, f)));
                pairs.filter_map(|(e, f)| self.changed(e, Some(f))).collect()
            }
            Stage::Again => {
                let mut near = std::mem::take(&mut self.near);
                near.sort_by(|a, b| a.0.total_cmp(&b.0));
                near.into_iter().map(|(_, s)| s).collect()
            }
            Stage::Done => Vec::new(),
        };
        let most = self.best.as_ref().map_or(u128::MAX, |best| best.params);
        let (again, seen) = (self.stage == Stage::Again, &mut self.seen);
        let dims = &self.dims;
        let fresh =
            |s: &Structure| s.params(dims) < most && (again || seen.insert(s.canonical().graph));
        let mut fresh: Vec<Structure> = all.into_iter().filter(fresh).collect();
        if !again {
            fresh.sort_by_key(|s| s.params(&self.dims));
        }
        fresh.truncate(self.left);
        fresh
    }

    fn next_stage(&self) -> Stage {
        match self.stage {
            Stage::Less => Stage::Exchanged,
            Stage::Exchanged => Stage::Again,
            Stage::Again | Stage::Done => Stage::Done,
        }
    }
}

impl Strategy for Nearby {
    fn name(&self) -> &str {
        "nearby"
    }

    fn hear(&mut self, best: &Score) {
        self.best = Some(*best).filter(|best| self.objective.reached(best.params, best.error));
    }

    fn ask(&mut self) -> Ask {
        // Without an answer there is nothing to make smaller.
        let Some(best) = self.best else { return Ask::Done };
        self.asked = self.neighbours();
        while self.asked.is_empty() && self.stage != Stage::Done {
            self.stage = self.next_stage();
            self.asked = self.neighbours();
        }
        let effort = match self.stage {
            Stage::Exchanged => Effort::Quick,
            _ => Effort::Full,
        };
        Generation::new(self.asked.clone()).effort(effort).only_below(best.loss).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let mut taken: Option<(u128, Structure)> = None;
        for (structure, outcome) in std::mem::take(&mut self.asked).into_iter().zip(outcomes) {
            let Some(error) = outcome.error else { continue };
            self.left = self.left.saturating_sub(1);
            let params = outcome.params;
            if self.objective.reached(params, error) {
                if taken.as_ref().is_none_or(|(least, _)| params < *least) {
                    taken = Some((params, structure));
                }
            } else if self.stage == Stage::Exchanged
                && self.objective.max_error().is_some_and(|eps| error <= NEAR * eps)
            {
                self.near.push((error, structure));
            }
        }
        match taken {
            Some((_, structure)) => {
                (self.at, self.stage) = (structure, Stage::Less);
                self.near.clear();
            }
            None => self.stage = self.next_stage(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::problem::Objective;
    use crate::search::Source;
    use std::sync::Arc;

    const DIMS: [usize; 3] = [4, 4, 4];

    /// The ranks it ends at, from these, where those that `reaches` says reach the error; and how many were fitted.
    fn ended(
        ranks: [usize; 3],
        fits: usize,
        reaches: impl Fn(&[usize]) -> bool,
    ) -> (Vec<usize>, usize) {
        let any = Arc::new(Template::any(3).unwrap());
        let at = Structure::identity(any, ranks.to_vec()).unwrap();
        let objective = Objective::MaxError(0.1).check().unwrap();
        let score = |s: &Structure| {
            let params = s.params(&DIMS);
            objective.score(
                params,
                params as f64 / 64.0,
                if reaches(s.ranks()) { 0.1 } else { 0.5 },
            )
        };
        let mut best = (score(&at), at.clone());
        let (mut nearby, mut fitted) = (Nearby::new(at, &DIMS, objective, 5, fits), 0);
        nearby.hear(&best.0);
        while let Ask::Generation(generation) = nearby.ask() {
            fitted += generation.structures.len();
            let mut outcomes = Vec::new();
            for s in &generation.structures {
                let found = score(s);
                if objective.better(&found, &best.0) {
                    best = (found, s.clone());
                }
                let (loss, error, params) = (found.loss, Some(found.error), found.params);
                outcomes.push(Outcome { loss, error, params, source: Source::Evaluated });
            }
            nearby.tell(&outcomes);
            nearby.hear(&best.0);
        }
        (best.1.ranks().to_vec(), fitted)
    }

    #[test]
    fn ranks_to_spare_are_dropped_and_exchanged() {
        assert_eq!(ended([3, 3, 3], 99, |r| r.iter().all(|&r| r >= 2)).0, [2, 2, 2]);
        // One less alone does not do: the sum must be kept, and the more uneven it is the fewer params there are.
        let sum = |r: &[usize]| r.iter().sum::<usize>() >= 9;
        let (ranks, _) = ended([3, 3, 3], 99, sum);
        assert_eq!(ranks.iter().sum::<usize>(), 9);
        assert!(ranks != [3, 3, 3], "{ranks:?}");
    }

    #[test]
    fn it_ends_with_its_fits_and_where_nothing_smaller_does() {
        assert_eq!(ended([3, 3, 3], 2, |r| r == [3, 3, 3]).1, 2);
        let (ranks, fitted) = ended([3, 3, 3], 99, |r| r == [3, 3, 3]);
        assert_eq!(ranks, [3, 3, 3]);
        assert!((3..=9).contains(&fitted), "{fitted}");
    }
}
