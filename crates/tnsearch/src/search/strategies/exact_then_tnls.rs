//! Exact search while it is affordable, TNLS from the best it found where it is not.

use super::tnls::{self, C1, C2, ITERATIONS, SAMPLES};
use super::{
    Ask, CheckedExact, CheckedTnls, Exact, ExactSettings, Formats, GoOn, Outcome, Strategy, Tnls,
    Walk, WalkSettings,
};
use crate::SettingError;
use crate::bound::needed_rank;
use crate::graph::{Structure, Template};
use crate::search::SearchError;
use crate::search::description::OptionKind::Count;
use crate::search::description::{
    Bounds, Context, Description, Graphs, OptionDescription, Plan, option,
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Exact search with a budget that is spent within seconds.
pub(crate) const AUTO: Description = Description {
    name: "auto",
    summary: "direct methods, exact search while it is affordable, then walks (tnls with --no-direct)",
    bounds: Bounds::Useful,
    plan: |options, max_rank| {
        let spend = ExactSettings { nodes: 1_000_000, candidates: 256, retries: 24, growth: 0 };
        Ok(Box::new(Both { walks: true, ..plan(options, max_rank, spend)? }))
    },
    ..EXACT
};

/// Exact search.
pub(crate) const EXACT: Description = Description {
    name: "exact",
    summary: "proven best first; where that ends without an answer, tnls goes on",
    options: &OPTIONS,
    graphs: Graphs::Template,
    bounds: Bounds::Needed,
    rescue: 8,
    max_cost: None,
    plan: |options, max_rank| Ok(Box::new(plan(options, max_rank, ExactSettings::default())?)),
};

/// Structures that walks begin at.
const WALKS_FROM: usize = 4;

/// Choices of the ranks at one vertex beyond which exact search of `auto` is left out.
const MOST_WAYS: f64 = 2e5;

const OPTIONS: [OptionDescription; 5] = [
    option("nodes", "N", Count, "Nodes of the branch and bound that exact search may expand"),
    ITERATIONS,
    SAMPLES,
    C1,
    C2,
];

/// Both halves with their settings.
struct Both {
    tnls: CheckedTnls,
    exact: CheckedExact,
    /// Whether walks go on from direct methods and exact search, where there are such starts.
    walks: bool,
}

fn plan(
    options: &Map<String, Value>,
    max_rank: usize,
    spend: ExactSettings,
) -> Result<Both, SettingError> {
    let tnls = tnls::plan(options, max_rank)?;
    let nodes = match options.get("nodes") {
        None => spend.nodes,
        Some(nodes) => nodes.as_u64().ok_or_else(|| {
            SettingError::new("nodes", nodes, "it must be a whole number of at least 1")
        })?,
    };
    Ok(Both { tnls, exact: ExactSettings { nodes, ..spend }.check()?, walks: false })
}

impl Both {
    /// Exact search where it can end, then walks from the best of all that was found; on templates with internal vertices,
    /// which walks do not know, TNLS.
    fn with_walks(
        &self,
        context: &Context<'_>,
        seed: u64,
    ) -> Result<Box<dyn Strategy>, SearchError> {
        let (objective, template) = (context.objective, context.template.clone());
        let mut parts: Vec<Box<dyn Strategy>> = Vec::new();
        if self.can_end(context)
            && let Some(relaxation) = context.relaxation()
        {
            parts.push(Box::new(Exact::new(relaxation, objective, self.exact.clone())));
        }
        let starts = context.starts.unwrap_or_default().to_vec();
        let walk = WalkSettings { max_rank: context.widest_rank, ..WalkSettings::default() };
        let (walk, tnls) = (walk.check()?, self.tnls.clone());
        let go_on: GoOn = Box::new(move |best| {
            let mut starts = starts;
            starts.splice(0..0, best.map(|(structure, _)| structure.clone()));
            starts.truncate(WALKS_FROM);
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

    /// Whether exact search has a chance: some structure of the largest rank may reach the error, and a vertex is placed
    /// in not too many ways.
    fn can_end(&self, context: &Context<'_>) -> bool {
        let Some(bound) = context.bound else { return false };
        let possible = context.objective.max_error().is_none_or(|eps| {
            let needed = needed_rank(context.template, bound.spectra(), eps);
            needed.is_none_or(|needed| needed.rank <= self.tnls.max_rank)
        });
        let degree = |v: usize| context.template.incident(v).count() as i32;
        let degrees = (0..context.template.vertices()).map(degree);
        let ways = (self.tnls.max_rank as f64).powi(degrees.max().unwrap_or(0));
        possible && ways <= MOST_WAYS
    }
}

impl Plan for Both {
    fn settings(&self) -> Value {
        self.tnls.settings()
    }

    fn exact(&self) -> Option<Value> {
        Some(json!(*self.exact))
    }

    fn at_once(&self) -> (&'static str, usize) {
        self.tnls.at_once()
    }

    /// Without bounds there is no exact search, and TNLS begins.
    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        if self.walks && context.starts.is_some() {
            return self.with_walks(context, seed);
        }
        let Some(relaxation) = context.relaxation() else {
            return self.tnls.strategy(context, seed);
        };
        let exact = Exact::new(relaxation, context.objective, self.exact.clone());
        let (template, tnls) = (context.template.clone(), self.tnls.clone());
        Ok(Box::new(ExactThenTnls::new(exact, template, tnls, seed)))
    }
}

/// Exact search first; where its budget ends without an answer, or with one that is far from any proof, TNLS goes
/// on, starting at the structure that came nearest. What `--strategy exact` and, with smaller budgets, `auto` mean.
pub struct ExactThenTnls {
    exact: Exact,
    tnls: Option<Tnls>,
    template: Arc<Template>,
    settings: CheckedTnls,
    seed: u64,
}

impl ExactThenTnls {
    /// The strategy from its two halves.
    pub fn new(exact: Exact, template: Arc<Template>, settings: CheckedTnls, seed: u64) -> Self {
        ExactThenTnls { exact, tnls: None, template, settings, seed }
    }
}

impl Strategy for ExactThenTnls {
    /// The half at work.
    fn name(&self) -> &str {
        match &self.tnls {
            None => self.exact.name(),
            Some(tnls) => tnls.name(),
        }
    }

    fn ask(&mut self) -> Ask {
        if let Some(tnls) = &mut self.tnls {
            return tnls.ask();
        }
        let asked = self.exact.ask();
        if asked != Ask::Done || !self.exact.wants_more() {
            return asked;
        }
        let settings = self.settings.clone();
        let tnls = self.tnls.insert(match self.exact.nearest() {
            Some(start) => Tnls::starting_at(start.clone(), settings, self.seed),
            None => Tnls::new(self.template.clone(), settings, self.seed),
        });
        tnls.ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        match &mut self.tnls {
            None => self.exact.tell(outcomes),
            Some(tnls) => tnls.tell(outcomes),
        }
    }

    fn lower_bound(&self) -> Option<f64> {
        self.exact.lower_bound()
    }
}
