//! Searching structures: strategies propose, the engine has them fitted and keeps the best.

mod asked;
mod builder;
mod description;
mod engine;
mod error;
mod executor;
mod first;
mod incumbents;
mod settings;
mod splits;
mod strategies;
mod strategy;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use asked::AskedSearch;
pub use builder::{CheckedSearch, PreparedSearch, Search};
pub use description::{
    Bounds, Context, Description, Graphs, MakePlan, OptionDescription, OptionKind, Plan, PlanFor,
    StrategySpec, option, register_strategy, strategies as all_strategies,
};
pub use engine::{
    Best, BestOfFormats, Counts, Doing, EndRecord, Engine, ErrorBound, Evaluation, Event,
    FormatBest, GenerationRecord, Grounds, HistoryPoint, Listener, ListenerError, NoAnswer,
    OtherFormat, ParetoPoint, Progress, RunSummary, SearchResult, ShrunkSummary, Stage, StageClock,
    Stages, StoppedBy, chosen_format, missed, nearest,
};
pub(crate) use engine::{carried, grown};
pub use error::SearchError;
pub use executor::{
    Evaluator, Executor, ExecutorDescription, FitEvaluator, FromWorkers, Local, MakeExecutor,
    Remote, Ticket, ToWorkers, evaluator_for, executors, register_executor, wire,
};
pub use first::InHand;
pub use incumbents::incumbents;
pub use settings::{Budget, Resolved, SearchSettings};
pub use splits::SplitSummary;
pub use strategies::{
    Annealing, AnnealingSettings, Begin, CheckedAnnealing, CheckedExact, CheckedGreedy,
    CheckedRandom, CheckedTnale, CheckedTnga, CheckedTnls, CheckedTrees, CheckedWalk, Cp, Exact,
    ExactSettings, ExactThenTnls, Formats, FormatsSettings, GoOn, Greedy, GreedySettings,
    RandomSearch, RandomSettings, Tnale, TnaleSettings, Tnga, TngaSettings, Tnls, TnlsSettings,
    Trees, TreesSettings, Walk, WalkSettings, sample_neighbour,
};
pub use strategy::{Adapting, Ask, Found, Generation, Outcome, Source, Strategy, WalkId};
