//! The default strategy, `auto`: what direct methods give, exact search while it is affordable, then walks from the best
//! of all. Where a search begins at random (`--no-direct`), or is about another error than the squared one on all entries,
//! it is exact search with a small budget, then TNLS.
//!
//! Where no template is named, [`super::formats`] stands for it, and [`super::trees`] for template `any-tree`.

use super::exact_then_tnls::{self, Both, NODES};
use super::tnls::{C1, C2, ITERATIONS, SAMPLES};
use super::walk::{PATIENCE, STEPS, WIDTH};
use super::{
    CheckedWalk, Cp, Exact, ExactSettings, Formats, GoOn, Race, Strategy, Tnls, Walk, WalkSettings,
};
use crate::SettingError;
use crate::bound::needed_rank;
use crate::graph::Structure;
use crate::problem::Objective;
use crate::search::SearchError;
use crate::search::description::{
    Bounds, Context, Description, OptionDescription, Plan, PlanFor, settings_from,
};
use serde_json::{Map, Value};

/// The default.
pub(crate) const AUTO: Description = Description {
    options: &[NODES, STEPS, WIDTH, PATIENCE, ITERATIONS, SAMPLES, C1, C2],
    bounds: Bounds::Useful,
    finds_ranks: true,
    rescue: 8,
    ..Description::new(
        "auto",
        "direct methods, exact search while it is affordable, then walks (tnls with --no-direct)",
        plan,
    )
};

/// The options of walks, and those of TNLS.
const OF_WALKS: [OptionDescription; 3] = [STEPS, WIDTH, PATIENCE];
const OF_TNLS: [OptionDescription; 4] = [ITERATIONS, SAMPLES, C1, C2];

/// What exact search may spend: seconds.
const SPEND: ExactSettings =
    ExactSettings { nodes: 1_000_000, candidates: 256, retries: 24, growth: 0 };

/// Structures that walks begin at.
const WALKS_FROM: usize = 4;

/// Races up to such ranks have slow sweeps.
const SLOW: usize = 16;

/// Choices of the ranks at one vertex beyond which exact search is left out.
const MOST_WAYS: f64 = 2e5;

fn plan(options: &Map<String, Value>, plan: PlanFor) -> Result<Box<dyn Plan>, SettingError> {
    let (dead, instead) = match plan.walks {
        true => (
            &OF_TNLS[..],
            "the default search walks from direct methods and does not use it; use --strategy tnls or --no-direct with it",
        ),
        false => (
            &OF_WALKS[..],
            "this search has no walks, which begin with direct methods, by the squared error on all entries, on templates \
             with a mode on every vertex; use --samples and --iterations",
        ),
    };
    if let Some(option) = dead.iter().find(|option| options.contains_key(option.name)) {
        return Err(SettingError::new(option.name, &options[option.name], instead));
    }
    let (walks, max_rank) = (plan.walks, plan.max_rank);
    let walk = settings_from::<WalkSettings>(options, max_rank)?.check()?;
    let both = exact_then_tnls::both(options, max_rank, SPEND)?;
    Ok(Box::new(Default { walk, both, walks }))
}

/// The parts with their settings.
struct Default {
    walk: CheckedWalk,
    /// Exact search comes first. TNLS goes on from it where there is nothing to begin with, and on templates with internal
    /// vertices, which walks do not know.
    both: Both,
    walks: bool,
}

impl Default {
    /// Races of walks, where there are cycles and large ranks.
    fn race(&self, context: &Context<'_>, seed: u64) -> Option<Race> {
        let walk = self.walk.up_to(context.widest_rank);
        Race::new(context.template, context.dims, context.objective, &walk, context.starts?, seed)
    }

    /// Whether exact search has a chance: some structure of the largest rank may reach the error, and a vertex is placed
    /// in not too many ways.
    fn can_end(&self, context: &Context<'_>) -> bool {
        let Some(bound) = context.bound else { return false };
        let possible = context.objective.max_error().is_none_or(|eps| {
            let needed = needed_rank(context.template, bound.spectra(), eps);
            needed.is_none_or(|needed| needed.rank <= self.both.tnls.max_rank)
        });
        let degree = |v: usize| context.template.incident(v).count() as i32;
        let degrees = (0..context.template.vertices()).map(degree);
        let ways = (self.both.tnls.max_rank as f64).powi(degrees.max().unwrap_or(0));
        possible && ways <= MOST_WAYS
    }
}

impl Plan for Default {
    fn settings(&self) -> Value {
        if self.walks { self.walk.settings() } else { self.both.settings() }
    }

    fn exact(&self) -> Option<Value> {
        self.both.exact()
    }

    fn at_once(&self) -> (&'static str, usize) {
        if self.walks { self.walk.at_once() } else { self.both.at_once() }
    }

    /// Where a race follows whose sweeps take long, only what reaches the error by SVDs alone is an answer soon:
    /// the first of the trees, and the last, which truncated SVDs gave.
    fn first(&self, context: &Context<'_>) -> Vec<Structure> {
        let starts = context.starts.unwrap_or_default();
        match self.race(context, 0) {
            Some(race) if race.uniform() >= SLOW => {
                let mut trees = starts.iter().filter(|s| s.canonical().graph.is_forest());
                let (first, last) = (trees.next(), trees.next_back());
                first.into_iter().chain(last).cloned().collect()
            }
            _ => starts.to_vec(),
        }
    }

    /// Exact search where it can end, then walks from the best of all that was found.
    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        if context.template.copy_vertex().is_some() {
            return Ok(Box::new(Cp::new(context, context.widest_rank)?));
        }
        let Some(starts) = context.starts else { return self.both.strategy(context, seed) };
        let (objective, template) = (context.objective, context.template.clone());
        let (walk, tnls) = (self.walk.up_to(context.widest_rank), self.both.tnls.clone());
        let race = self.race(context, seed);
        let mut parts: Vec<Box<dyn Strategy>> = Vec::new();
        // What is as large as the answer in hand has larger ranks than exact search knows.
        let beyond = race.as_ref().is_some_and(|race| race.uniform() > tnls.max_rank);
        if !beyond
            && self.can_end(context)
            && let Some(relaxation) = context.relaxation()
        {
            parts.push(Box::new(Exact::new(relaxation, objective, self.both.exact.clone())));
        }
        let mut starts = starts.to_vec();
        let go_on: GoOn = Box::new(move |best| {
            starts.splice(0..0, best.map(|(structure, _)| structure.clone()));
            starts.truncate(WALKS_FROM);
            if let Some(race) = race {
                // Where error has a price, ranks need not grow to reach one: walks that begin with nothing and a low cap end
                // with less than races do (docs/strategies.md).
                if let Objective::Lambda(_) = objective.get() {
                    let low = walk.up_to(race.low_cap());
                    return Some(Box::new(Walk::new(template, objective, low, Vec::new(), seed)));
                }
                return Some(Box::new(race));
            }
            if template.vertices() == template.order() {
                return Some(Box::new(Walk::new(template, objective, walk, starts, seed)));
            }
            let fits = |s: &&Structure| s.ranks().iter().all(|&r| r <= tnls.max_rank);
            let start = best.map(|(structure, _)| structure).filter(fits).cloned();
            Some(match start {
                Some(start) => Box::new(Tnls::starting_at(start, tnls, seed)),
                None => Box::new(Tnls::new(template, tnls, seed)),
            })
        });
        Ok(Box::new(Formats::new(objective, parts, go_on)))
    }
}
