//! Searching structures: strategies propose, the runner evaluates and keeps the best.

mod batch;
mod driver;
mod error;
mod evaluator;
mod history;
mod journal;
mod lane;
mod ledger;
mod lineage;
mod result;
mod run;
mod runner;
mod settings;
mod strategies;
mod strategy;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use error::SearchError;
pub use evaluator::{Evaluator, FitEvaluator, RseBound};
pub use history::{HistoryPoint, ParetoPoint};
pub use journal::{
    BeginRecord, EndRecord, EvaluationRecord, FoundRecord, GenerationRecord, Journal, JournalError,
    JournalLine,
};
pub use result::{Best, Counts, Observer, Progress, RunSummary, SearchResult, StoppedBy};
pub use runner::Runner;

use crate::problem::{CheckedObjective, LowerBound, Objective, Score};
pub use settings::{CheckedRunner, RunnerSettings};
pub use strategies::{
    Annealing, AnnealingSettings, Auto, CheckedAnnealing, CheckedExact, CheckedGreedy,
    CheckedRandom, CheckedTnale, CheckedTnga, CheckedTnls, Exact, ExactSettings, Greedy,
    GreedySettings, RandomSearch, RandomSettings, Tnale, TnaleSettings, Tnga, TngaSettings, Tnls,
    TnlsSettings, sample_neighbour,
};
pub use strategy::{Effort, Outcome, Source, Strategy};
