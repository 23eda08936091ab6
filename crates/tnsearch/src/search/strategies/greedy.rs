//! Greedy: one rank at a time (Hashemizadeh, Liu, Miller and Rabusseau, 2020).
//!
//! Starts with rank 1 everywhere, on the complete graph: every pair of modes may be joined, so the answer need
//! not have the template's format. A step fits the structures with one rank more on one edge, each from the
//! cores of the structure before it ([`Generation::parent`]), and goes to the one with the smallest loss. It
//! ends
//!
//! - with [`Objective::MaxError`](crate::problem::Objective::MaxError), when the error is met (or nothing larger can be fitted);
//! - with the other objectives, when no step lowers the loss.
//!
//! The paper chooses the step of the smallest error; the loss of all three objectives orders steps so but for
//! what the parameters weigh. (Its splitting of vertices is for formats with internal vertices and not here.)
//! Only the best step matters, so the rest may be pruned.

use super::neighbourhood::structure;
use super::settings::count;
use super::{Ask, CheckedObjective, Generation, Outcome, SettingError, Source, Strategy};
use crate::graph::{GraphError, Structure, Template};
use crate::problem::Score;
use crate::search::SearchError;
use crate::search::description::{Context, Description, Graphs, Plan};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// The settings of the greedy search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GreedySettings {
    /// The largest rank R.
    pub max_rank: usize,
}

impl Default for GreedySettings {
    fn default() -> Self {
        GreedySettings { max_rank: 7 }
    }
}

impl GreedySettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedGreedy, SettingError> {
        count("max-rank", self.max_rank)?;
        Ok(CheckedGreedy(self))
    }
}

/// Settings that were checked; reads like [`GreedySettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedGreedy(GreedySettings);

impl Deref for CheckedGreedy {
    type Target = GreedySettings;

    fn deref(&self) -> &GreedySettings {
        &self.0
    }
}

/// Structures over the complete graph are not fitted where a sweep costs more than this many multiply-adds per
/// entry of the tensor: with few parameters they can still take hours.
pub(super) const MAX_COST: f64 = 1000.0;

/// One rank at a time, over all graphs.
pub(crate) const GREEDY: Description = Description {
    graphs: Graphs::All,
    max_cost: Some(MAX_COST),
    any_graph: true,
    ..Description::new("greedy", "one rank at a time", |_, plan| {
        Ok(Box::new(GreedySettings { max_rank: plan.max_rank }.check()?))
    })
};

impl Plan for CheckedGreedy {
    fn settings(&self) -> Value {
        json!(self.0)
    }

    fn strategy(&self, context: &Context<'_>, _: u64) -> Result<Box<dyn Strategy>, SearchError> {
        Ok(Box::new(Greedy::new(context.dims.len(), context.objective, self.clone())?))
    }
}

/// The greedy strategy.
#[derive(Debug)]
pub struct Greedy {
    template: Arc<Template>,
    objective: CheckedObjective,
    settings: CheckedGreedy,
    /// Where it is; none before the first structure was told.
    current: Option<(Structure, f64)>,
    finished: bool,
    asked: Vec<Structure>,
    /// The params of the best that others have, where what is larger cannot be better.
    below: u128,
    dims: Vec<usize>,
    /// How many structures it may still propose, about.
    left: usize,
}

impl Greedy {
    /// The strategy for tensors of an order. There is nothing random about it but its fits.
    pub fn new(
        order: usize,
        objective: CheckedObjective,
        settings: CheckedGreedy,
    ) -> Result<Self, GraphError> {
        let template = Arc::new(Template::complete(order)?);
        Ok(Greedy {
            template,
            objective,
            settings,
            current: None,
            finished: false,
            asked: Vec::new(),
            below: u128::MAX,
            dims: Vec::new(),
            left: usize::MAX,
        })
    }

    /// The same as one of several strategies that search all graphs, on a tensor of these dimensions: it ends where it cannot
    /// be better than what the others have, or has proposed so many structures.
    pub(super) fn among_others(mut self, dims: &[usize], most: usize) -> Result<Self, GraphError> {
        self.template = Arc::new(Template::any(dims.len())?);
        self.dims = dims.to_vec();
        self.left = most;
        Ok(self)
    }

    /// One rank more on each edge that may have it.
    fn steps(&self, from: &Structure) -> Vec<Structure> {
        let may = |e: &usize| from.ranks()[*e] < self.settings.max_rank;
        let step = |e: usize| {
            let mut ranks = from.ranks().to_vec();
            ranks[e] += 1;
            structure(&self.template, from.permutation().to_vec(), ranks)
        };
        let small = |s: &Structure| self.dims.is_empty() || s.params(&self.dims) < self.below;
        (0..from.ranks().len()).filter(may).map(step).filter(small).collect()
    }

    /// Whether a step is taken although the loss does not fall.
    fn climbs(&self) -> bool {
        self.objective.max_error().is_some()
    }
}

impl Strategy for Greedy {
    fn name(&self) -> &str {
        "greedy"
    }

    fn ask(&mut self) -> Ask {
        self.asked = match &self.current {
            _ if self.finished || self.left == 0 => Vec::new(),
            Some((current, _)) => self.steps(current),
            None => {
                let ranks = vec![1; self.template.edges().len()];
                vec![structure(&self.template, self.template.external_vertices(), ranks)]
            }
        };
        self.left = self.left.saturating_sub(self.asked.len());
        let generation = Generation::new(self.asked.clone());
        match &self.current {
            None => generation.only_below(f64::INFINITY).ask(),
            Some((current, loss)) => {
                let only_below = if self.climbs() { f64::INFINITY } else { *loss };
                generation.parent(current.clone()).only_below(only_below).ask()
            }
        }
    }

    fn hear(&mut self, best: &Score) {
        if self.climbs() && self.objective.reached(best.params, best.error) {
            self.below = best.params;
        }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let told = std::mem::take(&mut self.asked).into_iter().zip(outcomes);
        // A structure that could not be fitted is nowhere to go on from.
        let fitted = told.filter(|(_, o)| matches!(o.source, Source::Evaluated | Source::Cached));
        // The first of the smallest.
        let best = fitted.reduce(|a, b| if b.1.loss < a.1.loss { b } else { a });
        let taken = best.filter(|(_, outcome)| {
            self.climbs() || self.current.as_ref().is_none_or(|(_, loss)| outcome.loss < *loss)
        });
        match taken {
            Some((structure, outcome)) => {
                self.current = Some((structure, outcome.loss));
                self.finished = self.climbs()
                    && outcome.error.is_some_and(|e| self.objective.reached(outcome.params, e));
            }
            None => self.finished = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Objective;
    use crate::search::testing::{asked, generation};

    fn greedy(objective: Objective) -> Greedy {
        let settings = GreedySettings { max_rank: 3 }.check().unwrap();
        Greedy::new(4, objective.check().unwrap(), settings).unwrap()
    }

    fn told(loss: f64, error: f64) -> Outcome {
        Outcome { loss, error: Some(error), params: 1, source: Source::Evaluated }
    }

    #[test]
    fn tries_every_edge_and_takes_the_best() {
        let mut g = greedy(Objective::MaxError(0.1));
        let Generation { structures: first, parent, .. } = generation(&mut g);
        assert_eq!(parent, None);
        assert_eq!(first.iter().map(|s| s.ranks().to_vec()).collect::<Vec<_>>(), [vec![1; 6]]);
        g.tell(&[told(5.0, 0.9)]);
        let Generation { structures: steps, parent, .. } = generation(&mut g);
        assert_eq!(parent.as_ref(), Some(&first[0]));
        for (e, step) in steps.iter().enumerate() {
            let expected: Vec<usize> = (0..6).map(|k| 1 + usize::from(k == e)).collect();
            assert_eq!((step.ranks(), steps.len()), (&expected[..], 6));
        }
        // Worse than where it was, and still it goes on: the error is not met.
        g.tell(&[9.0, 8.0, 6.0, 6.0, 7.0, 8.0].map(|loss| told(loss, 0.8)));
        assert_eq!(asked(&mut g)[2].ranks(), [1, 1, 3, 1, 1, 1], "the first of the smallest");
        g.tell(&[9.0, 8.0, 5.0, 6.0, 7.0, 8.0].map(|loss| told(loss, 0.5)));
        // Edge 2 has rank 3 now, which is the most.
        let steps = generation(&mut g);
        assert_eq!((steps.structures.len(), steps.only_below), (5, Some(f64::INFINITY)));
        g.tell(&[4.0, 3.0, 5.0, 5.0, 5.0].map(|loss| told(loss, 0.1)));
        assert!(asked(&mut g).is_empty(), "the error is met");
    }

    #[test]
    fn ends_where_no_step_lowers_the_loss() {
        let mut g = greedy(Objective::Lambda(1.0));
        g.ask();
        g.tell(&[told(5.0, 0.9)]);
        assert_eq!(generation(&mut g).only_below, Some(5.0));
        g.tell(&[told(5.0, 0.1); 6]);
        assert!(asked(&mut g).is_empty());
    }

    #[test]
    fn what_could_not_be_fitted_is_no_step() {
        let mut g = greedy(Objective::MaxError(0.1));
        g.ask();
        g.tell(&[told(5.0, 0.9)]);
        g.ask();
        let refused = Outcome { error: None, source: Source::Refused, ..told(1.0, 1.0) };
        g.tell(&[refused, told(4.0, 0.5), refused, refused, refused, refused]);
        assert_eq!(generation(&mut g).parent.unwrap().ranks(), [1, 2, 1, 1, 1, 1]);
        g.tell(&[refused; 6]);
        assert!(asked(&mut g).is_empty());
    }
}
