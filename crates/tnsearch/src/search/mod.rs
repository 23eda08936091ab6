//! Searching structures: strategies propose, the runner evaluates and keeps the best.

mod annealing;
mod auto;
mod batch;
mod climb;
mod driver;
mod error;
mod evaluator;
mod exact;
mod greedy;
mod history;
mod journal;
mod lane;
mod ledger;
mod lineage;
mod neighbourhood;
mod objective;
mod random;
mod result;
mod run;
mod runner;
mod settings;
mod strategy;
mod tnale;
mod tnga;
mod tnls;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use annealing::{Annealing, AnnealingSettings, CheckedAnnealing};
pub use auto::Auto;
pub use error::SearchError;
pub use evaluator::{Evaluator, FitEvaluator, RseBound};
pub use exact::{CheckedExact, Exact, ExactSettings};
pub use greedy::{CheckedGreedy, Greedy, GreedySettings};
pub use history::{HistoryPoint, ParetoPoint};
pub use journal::{EvaluationRecord, Journal, JournalError};
pub use neighbourhood::sample_neighbour;
pub use objective::{CheckedObjective, Objective};
pub use random::{CheckedRandom, RandomSearch, RandomSettings};
pub use result::{
    Best, Counts, LowerBound, Observer, Progress, RunSummary, Score, SearchResult, StoppedBy,
};
pub use runner::Runner;
pub use settings::{CheckedRunner, RunnerSettings};
pub use strategy::{Effort, Outcome, Source, Strategy};
pub use tnale::{CheckedTnale, Tnale, TnaleSettings};
pub use tnga::{CheckedTnga, Tnga, TngaSettings};
pub use tnls::{CheckedTnls, Tnls, TnlsSettings};
