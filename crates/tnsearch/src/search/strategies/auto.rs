//! Exact search while it is affordable, TNLS from the best it found where it is not.

use super::{CheckedTnls, Effort, Exact, Outcome, Strategy, Tnls};
use crate::graph::{Structure, Template};
use std::sync::Arc;

/// Exact search first; where its budget ends without an answer, or with one that is far from any proof, TNLS goes
/// on, starting at the structure that came nearest.
pub struct Auto {
    exact: Exact,
    tnls: Option<Tnls>,
    template: Arc<Template>,
    settings: CheckedTnls,
    seed: u64,
}

impl Auto {
    /// The strategy from its two halves.
    pub fn new(exact: Exact, template: Arc<Template>, settings: CheckedTnls, seed: u64) -> Self {
        Auto { exact, tnls: None, template, settings, seed }
    }
}

impl Strategy for Auto {
    /// The half at work.
    fn name(&self) -> &'static str {
        match &self.tnls {
            None => self.exact.name(),
            Some(tnls) => tnls.name(),
        }
    }

    fn ask(&mut self) -> Vec<Structure> {
        if let Some(tnls) = &mut self.tnls {
            return tnls.ask();
        }
        let asked = self.exact.ask();
        if !asked.is_empty() || self.exact.thinking() || !self.exact.wants_more() {
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

    fn thinking(&self) -> bool {
        self.tnls.is_none() && self.exact.thinking()
    }

    fn effort(&self) -> Effort {
        match &self.tnls {
            None => self.exact.effort(),
            Some(tnls) => tnls.effort(),
        }
    }

    fn only_below(&self) -> Option<f64> {
        self.tnls.as_ref().and_then(Tnls::only_below)
    }

    fn lower_bound(&self) -> Option<f64> {
        self.exact.lower_bound()
    }
}
