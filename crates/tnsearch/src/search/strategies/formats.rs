//! Several formats in one search: a strategy for each, in turn, and others that go on from the best of all.

use super::cp::Cp;
use super::small::Small;
use super::trees::{Trees, TreesSettings};
use super::walk::{Walk, WalkSettings};
use super::{Formats, GoOn, Race, SettingError, Strategy};
use crate::graph::{Structure, Template};
use crate::search::SearchError;
use crate::search::description::OptionKind::{Count, Whole};
use crate::search::description::{
    Bounds, Context, Description, Graphs, OptionDescription, Plan, option, settings_from,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Tensors with more entries are not walked over: a step takes seconds.
const MOST_ENTRIES: usize = 1 << 21;

/// Tensors of more modes are not walked over on all graphs.
const MOST_MODES: usize = 12;

/// Generations of walks in turn that may bring nothing, where there are other formats.
const PATIENCE: usize = 3;

/// The most terms of a CP, unless others are asked for.
const MOST_TERMS: usize = 65536;

/// The settings of a search over formats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FormatsSettings {
    /// The largest rank of what is proven about templates; walks go further.
    pub max_rank: usize,
    /// Trees that may be proposed in all.
    pub trees: usize,
    /// Steps of one walk.
    pub steps: usize,
    /// Generations of walks in turn that may bring nothing.
    pub patience: usize,
    /// The most terms of a CP; 0: none is tried.
    #[serde(default = "most_terms")]
    pub terms: usize,
}

fn most_terms() -> usize {
    MOST_TERMS
}

impl Default for FormatsSettings {
    fn default() -> Self {
        let (trees, walk) = (TreesSettings::default(), WalkSettings::default());
        FormatsSettings {
            max_rank: 7,
            trees: trees.trees,
            steps: walk.steps,
            patience: PATIENCE,
            terms: MOST_TERMS,
        }
    }
}

const OPTIONS: [OptionDescription; 4] = [
    option("trees", "N", Count, "Trees that may be proposed in all"),
    option("steps", "N", Count, "Steps of one walk"),
    option("patience", "N", Count, "Generations of walks in turn that may bring nothing"),
    option("terms", "N", Whole, "The most terms of a CP; 0: none is tried"),
];

/// Several formats: all trees, CP, rings, then all graphs from the best.
pub(crate) const FORMATS: Description = Description {
    options: &OPTIONS,
    graphs: Graphs::Formats,
    bounds: Bounds::Useful,
    max_cost: Some(super::greedy::MAX_COST),
    finds_ranks: true,
    ..Description::new(
        "formats",
        "all trees, cp, rings, then all graphs from the best; the strategy where no template is named",
        |options, plan| {
            let settings = settings_from::<FormatsSettings>(options, plan.max_rank)?;
            super::settings::count("trees", settings.trees)?;
            super::settings::count("steps", settings.steps)?;
            super::settings::count("patience", settings.patience)?;
            Ok(Box::new(settings))
        },
    )
};

impl FormatsSettings {
    fn walk(&self, widest: usize) -> Result<super::CheckedWalk, SettingError> {
        let mut walk = WalkSettings::default();
        (walk.max_rank, walk.steps, walk.patience) = (widest, self.steps, self.patience);
        walk.check()
    }
}

impl Plan for FormatsSettings {
    fn settings(&self) -> Value {
        json!(self)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        let (order, objective) = (context.dims.len(), context.objective);
        let walk = self.walk(context.widest_rank)?;
        let walked = context.entries <= MOST_ENTRIES;
        let mut parts: Vec<Box<dyn Strategy>> = Vec::new();
        if let Some(bound) = context.bound {
            let mut settings = TreesSettings::default();
            (settings.max_rank, settings.trees) = (self.max_rank, self.trees);
            parts.push(Box::new(Trees::new(bound, objective, settings.check()?, context.stop)));
        }
        if order >= 3 && self.terms > 0 {
            parts.push(Box::new(Cp::new(context, self.terms)?.cheap()));
        }
        let ring = Arc::new(Template::ring(order.max(3))?);
        if walked && order >= 3 {
            let starts = context.starts.unwrap_or_default();
            parts.push(match Race::new(&ring, context.dims, objective, &walk, starts, seed) {
                Some(race) => Box::new(race),
                None => {
                    let starts = starts.iter().filter(|s| *s.template() == ring).cloned().collect();
                    Box::new(Walk::new(ring, objective, walk.clone(), starts, seed))
                }
            });
        }
        let any = Arc::new(Template::any(order)?);
        let free = walked && (3..=MOST_MODES).contains(&order);
        let go_on: GoOn = Box::new(move |best| {
            let (best, cores) = best?;
            let graph = best.canonical().graph;
            if let Some(start) = Structure::in_template(&any, &graph).filter(|_| free) {
                let walk = Walk::new(any, objective, walk, vec![start], seed);
                return Some(Box::new(walk.going_on(cores)));
            }
            Some(Box::new(Walk::polish(best, objective, walk.max_rank, seed).ok()?))
        });
        let small = Small::new(context, self.max_rank);
        let (rings, grown, near) = (small.clone(), small.clone(), small);
        let formats = Formats::new(objective, parts, Box::new(move |_| grown?.greedy()))
            .always(Box::new(move |_| rings?.exact()))
            .knowing_first()
            .then(go_on)
            .then(Box::new(move |best| near?.nearby(best?.0)));
        Ok(Box::new(formats))
    }
}
