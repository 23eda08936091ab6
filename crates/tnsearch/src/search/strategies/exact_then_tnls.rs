//! Exact search while it is affordable, TNLS from the best it found where it is not.

use super::tnls::{self, C1, C2, ITERATIONS, SAMPLES};
use super::{Ask, CheckedExact, CheckedTnls, Exact, ExactSettings, Outcome, Strategy, Tnls};
use crate::SettingError;
use crate::graph::Template;
use crate::search::SearchError;
use crate::search::description::OptionKind::Count;
use crate::search::description::{Bounds, Context, Description, OptionDescription, Plan, option};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Exact search.
pub(crate) const EXACT: Description = Description {
    options: &OPTIONS,
    bounds: Bounds::Needed,
    rescue: 8,
    ..Description::new(
        "exact",
        "proven best first; where that ends without an answer, tnls goes on",
        |options, plan| Ok(Box::new(both(options, plan.max_rank, ExactSettings::default())?)),
    )
};

pub(super) const NODES: OptionDescription =
    option("nodes", "N", Count, "Nodes of the branch and bound that exact search may expand");
const OPTIONS: [OptionDescription; 5] = [NODES, ITERATIONS, SAMPLES, C1, C2];

/// Both halves with their settings.
pub(super) struct Both {
    pub(super) tnls: CheckedTnls,
    pub(super) exact: CheckedExact,
}

/// Both halves from options; `spend` is what exact search may spend where nothing is said.
pub(super) fn both(
    options: &Map<String, Value>,
    max_rank: usize,
    spend: ExactSettings,
) -> Result<Both, SettingError> {
    let nodes = match options.get("nodes") {
        None => spend.nodes,
        Some(nodes) => nodes.as_u64().ok_or_else(|| {
            SettingError::new("nodes", nodes, "it must be a whole number of at least 1")
        })?,
    };
    let exact = ExactSettings { nodes, ..spend }.check()?;
    Ok(Both { tnls: tnls::checked(options, max_rank)?, exact })
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
/// on, starting at the structure that came nearest.
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
