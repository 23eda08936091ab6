//! Walks: fits that choose their ranks, move modes and add or drop edges, each going on from the best so far.
//!
//! A walk ([`Generation::walks`]) changes the structure while it fits its cores, so that ranks need no search. What is
//! left to the strategy is where walks begin and when to give up: the first generation begins at the structures given,
//! or at random ones; each later one goes on from the best found, with another seed, and sends one walk off from a
//! random permutation of the modes. It ends when so many generations in turn have brought nothing.

use super::settings::count;
use super::{Ask, CheckedObjective, Formats, Generation, GoOn, Outcome, SettingError, Strategy};
use crate::graph::{Structure, Template};
use crate::problem::Score;
use crate::rng::{self, Rng};
use crate::search::SearchError;
use crate::search::description::OptionKind::Count;
use crate::search::description::{
    Context, Description, OptionDescription, Plan, option, settings_from,
};
use crate::search::strategy::{Adapting, Found, WalkId};
use rand::seq::SliceRandom as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// A loss that falls by less than this part brings nothing.
const PROGRESS: f64 = 1e-4;

/// Structures that walks begin at, at most.
const STARTS: usize = 4;

/// Over all graphs, the walks on a ring have this part of the patience.
const RING_PART: usize = 4;

/// The settings of walks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WalkSettings {
    /// The largest rank R.
    pub max_rank: usize,
    /// Steps of one walk.
    pub steps: usize,
    /// Walks at a time.
    pub width: usize,
    /// Generations in turn that may bring nothing.
    pub patience: usize,
}

impl Default for WalkSettings {
    fn default() -> Self {
        WalkSettings { max_rank: 7, steps: 20, width: 2, patience: 12 }
    }
}

impl WalkSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedWalk, SettingError> {
        count("max-rank", self.max_rank)?;
        count("steps", self.steps)?;
        count("width", self.width)?;
        count("patience", self.patience)?;
        Ok(CheckedWalk(self))
    }
}

/// Settings that were checked; reads like [`WalkSettings`].
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedWalk(WalkSettings);

impl Deref for CheckedWalk {
    type Target = WalkSettings;

    fn deref(&self) -> &WalkSettings {
        &self.0
    }
}

pub(super) const STEPS: OptionDescription = option(
    "steps",
    "N",
    Count,
    "Steps of one walk: a rank more or less, two modes that swap, an edge that comes or goes",
);
pub(super) const WIDTH: OptionDescription = option("width", "N", Count, "Walks at a time");
pub(super) const PATIENCE: OptionDescription =
    option("patience", "N", Count, "Generations in turn that may bring nothing");

/// Walks of a template.
pub(crate) const WALK: Description = Description {
    options: &[STEPS, WIDTH, PATIENCE],
    finds_ranks: true,
    any_graph: true,
    least_squares: true,
    ..Description::new(
        "walk",
        "fits that choose their ranks, move modes, add and drop edges",
        |options, plan| {
            Ok(Box::new(settings_from::<WalkSettings>(options, plan.max_rank)?.check()?))
        },
    )
};

impl CheckedWalk {
    /// The same with ranks up to this.
    pub(super) fn up_to(&self, max_rank: usize) -> Self {
        CheckedWalk(WalkSettings { max_rank, ..self.0.clone() })
    }
}

impl Plan for CheckedWalk {
    fn settings(&self) -> Value {
        json!(self.0)
    }

    fn at_once(&self) -> (&'static str, usize) {
        ("width", self.width)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        let (template, objective) = (context.template.clone(), context.objective);
        let walk = self.up_to(context.widest_rank.max(self.max_rank));
        let starts = context.starts.unwrap_or_default();
        let in_graph = |graph: &Arc<Template>| -> Vec<Structure> {
            starts.iter().filter(|s| s.template() == graph).take(STARTS).cloned().collect()
        };
        if !template.is_any() || template.order() < 3 {
            let starts = in_graph(&template);
            return Ok(Box::new(Walk::new(template, objective, walk, starts, seed)));
        }
        // Over all graphs a ring comes first, from whose best the edges are set free.
        let ring = Arc::new(Template::ring(template.order())?);
        let mut short = walk.clone();
        short.0.patience = walk.patience.div_ceil(RING_PART);
        let first = Walk::new(ring.clone(), objective, short, in_graph(&ring), seed);
        let go_on: GoOn = Box::new(move |best| {
            let cores = best.and_then(|(_, cores)| cores);
            let best =
                best.and_then(|(s, _)| Structure::in_template(&template, &s.canonical().graph));
            let starts = best.into_iter().collect();
            Some(Box::new(Walk::new(template, objective, walk, starts, seed).going_on(cores)))
        });
        Ok(Box::new(Formats::new(objective, vec![Box::new(first)], go_on)))
    }
}

/// The strategy.
pub struct Walk {
    template: Arc<Template>,
    objective: CheckedObjective,
    settings: CheckedWalk,
    /// Where walks begin that nothing was found for yet.
    starts: Vec<Structure>,
    /// The walk that the first of these was found by, at whose cores it begins: then all go on from the best.
    from: Option<WalkId>,
    /// The best that was found.
    best: Option<(Score, Structure, WalkId)>,
    found: Vec<Option<Found>>,
    /// Generations in turn that brought nothing.
    idle: usize,
    /// Whether only the ranks of what it began at are walked over.
    ranks_only: bool,
    rng: Rng,
}

impl Walk {
    /// Walks that begin at these structures of the template, or at a random one where there are none.
    pub fn new(
        template: Arc<Template>,
        objective: CheckedObjective,
        settings: CheckedWalk,
        starts: Vec<Structure>,
        seed: u64,
    ) -> Self {
        let starts = starts.into_iter().filter(|s| *s.template() == template).collect();
        let rng = rng::stream(seed, b"walk");
        Walk {
            template,
            objective,
            settings,
            starts,
            from: None,
            best: None,
            found: Vec::new(),
            idle: 0,
            ranks_only: false,
            rng,
        }
    }

    /// The same where the first start was found by another walk of the run: from its cores, and with no other starts.
    pub(super) fn going_on(mut self, from: Option<WalkId>) -> Self {
        self.from = from.filter(|_| !self.starts.is_empty());
        self
    }

    /// Short walks over the ranks of one structure, on its own graph.
    pub(super) fn polish(
        structure: &Structure,
        objective: CheckedObjective,
        max_rank: usize,
        seed: u64,
    ) -> Result<Self, SettingError> {
        let settings = WalkSettings { max_rank, steps: 10, width: 2, patience: 1 }.check()?;
        let (template, start) = (structure.template().clone(), vec![structure.clone()]);
        let walk = Walk::new(template, objective, settings, start, seed);
        Ok(Walk { ranks_only: true, ..walk })
    }

    /// A random permutation, with rank 1 everywhere.
    fn random(&mut self) -> Option<Structure> {
        let mut permutation = self.template.external_vertices();
        permutation.shuffle(&mut self.rng);
        let ranks = vec![1; self.template.edges().len()];
        Structure::new(self.template.clone(), permutation, ranks).ok()
    }

    fn walks(&self, starts: Vec<(Structure, Option<WalkId>)>) -> Ask {
        let WalkSettings { max_rank, steps, .. } = *self.settings;
        let mut adapting = Adapting::new(max_rank, steps);
        (adapting.swaps, adapting.grows) = (!self.ranks_only, !self.ranks_only);
        Generation::walks(starts, adapting).ask()
    }
}

impl Strategy for Walk {
    fn name(&self) -> &str {
        "walk"
    }

    fn ask(&mut self) -> Ask {
        let mut starts: Vec<(Structure, Option<WalkId>)> = Vec::new();
        match &self.best {
            _ if self.idle >= self.settings.patience => return Ask::Done,
            Some((_, structure, walk)) => {
                let on = (structure.clone(), Some(*walk));
                starts.resize(self.settings.width.saturating_sub(1).max(1), on);
            }
            None => {
                let given = std::mem::take(&mut self.starts).into_iter().enumerate();
                starts.extend(given.map(|(k, s)| (s, self.from.filter(|_| k == 0))));
            }
        }
        let stays = self.ranks_only || self.from.is_some();
        if stays {
            starts.extend(starts.first().cloned());
        }
        while starts.len() < self.settings.width && !stays {
            let Some(random) = self.random() else { break };
            starts.push((random, None));
        }
        self.walks(starts)
    }

    fn tell_found(&mut self, found: &[Option<Found>]) {
        self.found = found.to_vec();
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let before = self.best.as_ref().map(|(score, ..)| *score);
        for (found, outcome) in std::mem::take(&mut self.found).into_iter().zip(outcomes) {
            let (Some(found), Some(error)) = (found, outcome.error) else { continue };
            let score = Score { loss: outcome.loss, error, params: outcome.params };
            if self.best.as_ref().is_none_or(|(best, ..)| self.objective.better(&score, best)) {
                self.best = Some((score, found.structure, found.walk));
            }
        }
        let progress = match (before, &self.best) {
            (Some(before), Some((now, ..))) => {
                let reached = |s: &Score| self.objective.reached(s.params, s.error);
                now.loss < before.loss * (1.0 - PROGRESS) || reached(now) != reached(&before)
            }
            (None, now) => now.is_some(),
            (Some(_), None) => false,
        };
        self.idle = if progress { 0 } else { self.idle + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Objective;
    use crate::search::testing::{generation, told};

    fn walk(starts: Vec<Structure>) -> Walk {
        let settings = WalkSettings { width: 3, patience: 2, ..WalkSettings::default() };
        let ring = Arc::new(Template::ring(4).unwrap());
        let objective = Objective::Lambda(1.0).check().unwrap();
        Walk::new(ring, objective, settings.check().unwrap(), starts, 1)
    }

    fn found(structure: &Structure, index: usize) -> Option<Found> {
        let walk = WalkId { generation: 1, index };
        Some(Found { structure: structure.clone(), walk })
    }

    #[test]
    fn goes_on_from_the_best_until_nothing_comes_of_it() {
        let ring = Arc::new(Template::ring(4).unwrap());
        let start = Structure::identity(ring, vec![2; 4]).unwrap();
        let mut walk = walk(vec![start.clone()]);
        let first = generation(&mut walk);
        assert_eq!((first.structures.len(), &first.structures[0]), (3, &start));
        assert!(first.from.iter().all(Option::is_none) && first.adapt.is_some());
        let ended: Vec<_> = (0..3).map(|k| found(&first.structures[k], k)).collect();
        walk.tell_found(&ended);
        walk.tell(&[told(0.5), told(0.2), told(0.3)]);
        let second = generation(&mut walk);
        let best = Some(WalkId { generation: 1, index: 1 });
        assert_eq!(second.from, [best, best, None]);
        assert_eq!(second.structures[0], first.structures[1]);
        // Twice nothing better.
        for _ in 0..2 {
            walk.ask();
            walk.tell_found(&ended);
            walk.tell(&[told(0.5), told(0.5), told(0.2)]);
        }
        assert_eq!(walk.ask(), Ask::Done);
    }

    #[test]
    fn without_starts_it_begins_at_random() {
        let mut walk = walk(Vec::new());
        let first = generation(&mut walk);
        assert_eq!(first.structures.len(), 3);
        assert_ne!(first.structures[0], first.structures[1]);
    }
}
