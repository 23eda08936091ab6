//! Tests of the engine with an evaluator that is a formula.

mod carried;
mod determinism;
mod executors;
mod formula;
mod independence;
mod limits;
mod local;
mod remote;
mod small;
mod speculation;
mod splits;
mod strategies;
mod values;
mod walks;

use super::*;
use crate::fit::{FitError, FitSettings, Fitted, Request};
use crate::graph::{ModeGraph, Structure, Template};
use crate::problem::{Objective, Stop};
use crate::rng;
use formula::{DIMS, Formula, Slack};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn tnls(seed: u64) -> Tnls {
    let settings = TnlsSettings { iterations: 6, samples: 20, max_rank: 5, ..Default::default() };
    Tnls::new(Arc::new(Template::ring(5).unwrap()), settings.check().unwrap(), seed)
}

/// An engine without strategies yet.
fn engine<'a>(objective: Objective) -> Engine<'a> {
    let fit = FitSettings::default().check().unwrap();
    Engine::new(&DIMS, objective.check().unwrap(), fit)
}

/// So many workers that fit by a formula.
fn workers(formula: &Arc<Formula>, workers: usize) -> Local {
    Local::new(formula.clone(), workers).unwrap()
}

/// The result without what depends on the clock and on the number of workers.
fn timeless(mut result: SearchResult) -> SearchResult {
    result.seconds = 0.0;
    result.stages = Stages::default();
    result.history.iter_mut().for_each(|p| p.seconds = 0.0);
    result.formats.iter_mut().for_each(|f| f.seconds = 0.0);
    if let Some(best) = &mut result.best {
        best.evaluation.seconds = 0.0;
    }
    result.speculative = 0;
    result
}

const OBJECTIVES: [Objective; 3] =
    [Objective::Lambda(20.0), Objective::MaxError(1e-3), Objective::MaxParams(80)];

/// What a script was told.
type Told = Arc<Mutex<Vec<Outcome>>>;

/// Proposes given generations and keeps what it is told.
struct Script(Vec<Vec<Structure>>, Told);

impl Strategy for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn ask(&mut self) -> Ask {
        if self.0.is_empty() { Ask::Done } else { Generation::new(self.0.remove(0)).ask() }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.1.lock().unwrap().extend(outcomes);
    }
}
