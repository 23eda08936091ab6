//! A way to an answer where the cuts allow structures that no fit brings to the error: widen edges one at a
//! time until the error is reached, then narrow them again while it stays reached.

use super::Outcome;
use crate::graph::Structure;

/// Steps from one structure to its best neighbour, one rank at a time.
#[derive(Debug)]
pub(super) struct Climb {
    at: Structure,
    max_rank: usize,
    /// Whether edges are widened still.
    up: bool,
    asked: Vec<Structure>,
    /// Structures that may still be proposed.
    left: usize,
}

impl Climb {
    /// A climb from a structure that does not reach the error, with a budget of proposals.
    pub(super) fn new(from: Structure, max_rank: usize, left: usize) -> Self {
        Climb { at: from, max_rank, up: true, asked: Vec::new(), left }
    }

    /// Where it stands.
    pub(super) fn at(&self) -> &Structure {
        &self.at
    }

    /// The neighbours to be fitted; none at the end.
    pub(super) fn ask(&mut self) -> &[Structure] {
        let (template, ranks) = (self.at.template(), self.at.ranks());
        let changed = (0..ranks.len()).filter_map(|e| {
            let mut ranks = ranks.to_vec();
            match self.up {
                true => ranks[e] += 1,
                false => ranks[e] -= 1,
            }
            let possible = (1..=self.max_rank).contains(&ranks[e]);
            let permutation = self.at.permutation().to_vec();
            possible.then(|| Structure::new(template.clone(), permutation, ranks).ok())?
        });
        self.asked = changed.take(self.left).collect();
        self.left -= self.asked.len();
        &self.asked
    }

    /// Goes to the best of the neighbours: the smallest that reaches the error, or the one of the least loss.
    pub(super) fn tell(&mut self, outcomes: &[Outcome], reaches: impl Fn(&Outcome) -> bool) {
        let asked = std::mem::take(&mut self.asked);
        let best = asked.into_iter().zip(outcomes).filter(|(_, o)| self.up || reaches(o)).min_by(
            |(_, a), (_, b)| {
                let by_error = reaches(b).cmp(&reaches(a));
                let by_size = match reaches(a) && reaches(b) {
                    true => a.params.cmp(&b.params),
                    false => a.loss.total_cmp(&b.loss),
                };
                by_error.then(by_size)
            },
        );
        match best {
            Some((structure, outcome)) => {
                self.at = structure;
                self.up &= !reaches(outcome);
            }
            // Nothing narrower reaches it.
            None => self.left = 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::search::Source;
    use std::sync::Arc;

    #[test]
    fn it_widens_what_is_needed_and_narrows_what_is_not() {
        // The error is reached where edges 0 and 2 have at least rank 3; edge 1 starts too wide.
        let path = Arc::new(Template::path(4).unwrap());
        let start = Structure::identity(path, vec![1, 4, 1]).unwrap();
        let mut climb = Climb::new(start, 5, 1000);
        let missing = |s: &Structure| -> usize {
            [0, 2].iter().map(|&e| 3usize.saturating_sub(s.ranks()[e])).sum()
        };
        let mut last = None;
        loop {
            let asked = climb.ask().to_vec();
            if asked.is_empty() {
                break;
            }
            let outcomes: Vec<Outcome> = asked
                .iter()
                .map(|s| Outcome {
                    loss: missing(s) as f64,
                    error: Some(missing(s) as f64),
                    params: s.params(&[2; 4]),
                    source: Source::Evaluated,
                })
                .collect();
            climb.tell(&outcomes, |o| o.loss == 0.0);
            last = Some(climb.at.clone());
        }
        assert_eq!(last.unwrap().ranks(), [3, 1, 3]);
    }

    #[test]
    fn it_ends_with_its_budget_and_at_the_largest_ranks() {
        let path = Arc::new(Template::path(3).unwrap());
        let start = Structure::identity(path, vec![1, 1]).unwrap();
        for (max_rank, budget, expected) in [(3, 100, 6), (9, 5, 5)] {
            let mut climb = Climb::new(start.clone(), max_rank, budget);
            let mut asked = 0;
            loop {
                let count = climb.ask().len();
                if count == 0 {
                    break;
                }
                asked += count;
                let fail =
                    Outcome { loss: 1.0, error: Some(1.0), params: 9, source: Source::Evaluated };
                climb.tell(&vec![fail; count], |_| false);
            }
            assert_eq!(asked, expected);
        }
    }
}
