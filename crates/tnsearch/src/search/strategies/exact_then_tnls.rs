//! Exact search while it is affordable, TNLS from the best it found where it is not.

use super::tnls::{self, C1, C2, ITERATIONS, SAMPLES};
use super::{Ask, CheckedExact, CheckedTnls, Exact, ExactSettings, Outcome, Strategy, Tnls};
use crate::SettingError;
use crate::graph::Template;
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
    summary: "exact while it is affordable, then tnls",
    bounds: Bounds::Useful,
    plan: |options, max_rank| {
        let spend = ExactSettings { nodes: 1_000_000, candidates: 256, retries: 24, growth: 0 };
        Ok(Box::new(plan(options, max_rank, spend)?))
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
    Ok(Both { tnls, exact: ExactSettings { nodes, ..spend }.check()? })
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
