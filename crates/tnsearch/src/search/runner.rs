//! The runner: a search, from its parts.

use super::driver::Search;
use super::run::Run;
use super::{
    CheckedObjective, CheckedRunner, Effort, EvaluationRecord, Evaluator, Journal, Objective,
    Observer, RseBound, SearchError, SearchResult, Strategy,
};
use crate::SettingError;
use crate::bound::Relaxation;
use crate::problem::Stop;
use crate::rng;
use std::collections::HashMap;

/// Runs strategies: fits what they propose, in parallel, within budgets, and keeps the best.
///
/// Several independent runs advance together, one generation each a round; every run has its own strategy
/// and its own cache, so that a run alone finds what it finds among others (unless a budget, which they
/// share, cuts it short). The result does not depend on the number of threads.
///
/// ```no_run
/// use std::sync::Arc;
/// use tnsearch::fit::{FitSettings};
/// use tnsearch::problem::{Target};
/// use tnsearch::graph::Template;
/// use tnsearch::search::{FitEvaluator, Runner, Tnls, TnlsSettings};
/// use tnsearch::problem::{Objective};
/// # fn example(target: Target) -> Result<(), Box<dyn std::error::Error>> {
/// let template = Arc::new(Template::ring(target.dims().len())?);
/// let evaluator = FitEvaluator { target: &target, settings: FitSettings::default().check()? };
/// let tnls = TnlsSettings::default().check()?;
/// let result = Runner::new(target.dims(), Objective::MaxError(1e-4).check()?, &evaluator)
///     .runs(1, 5, |seed| Tnls::new(template.clone(), tnls.clone(), seed))
///     .search()?;
/// if let Some(best) = result.best {
///     println!("{:?}: {} params", best.structure.edges(), best.score.params);
/// }
/// # Ok(()) }
/// ```
pub struct Runner<'a> {
    pub(super) dims: Vec<usize>,
    pub(super) objective: CheckedObjective,
    pub(super) evaluator: &'a dyn Evaluator,
    pub(super) bound: Option<&'a dyn RseBound>,
    pub(super) certificate: Option<(Box<dyn FnOnce() -> Relaxation + 'a>, u64)>,
    pub(super) settings: CheckedRunner,
    pub(super) runs: Vec<Run<'a>>,
    pub(super) journal: Option<&'a mut dyn Journal>,
    pub(super) records: HashMap<(usize, String, Effort), EvaluationRecord>,
    pub(super) observer: Option<&'a mut dyn Observer>,
    pub(super) interrupt: Stop,
}

impl<'a> Runner<'a> {
    /// A runner for a tensor of these dimensions, without strategies yet.
    pub fn new(dims: &[usize], objective: CheckedObjective, evaluator: &'a dyn Evaluator) -> Self {
        Runner {
            dims: dims.to_vec(),
            objective,
            evaluator,
            bound: None,
            certificate: None,
            settings: CheckedRunner::default(),
            runs: Vec::new(),
            journal: None,
            records: HashMap::new(),
            observer: None,
            interrupt: Stop::new(),
        }
    }

    /// Adds `count` independent runs; run k has the seed [`rng::derived_seed`]`(seed, k)`, which also
    /// seeds its fits.
    pub fn runs<S: Strategy + 'a>(
        mut self,
        seed: u64,
        count: usize,
        mut strategy: impl FnMut(u64) -> S,
    ) -> Self {
        for seed in (0..count).map(|k| rng::derived_seed(seed, k)) {
            self.runs.push(Run::new(seed, Box::new(strategy(seed))));
        }
        self
    }

    /// Sets budgets and limits.
    pub fn settings(mut self, settings: CheckedRunner) -> Self {
        self.settings = settings;
        self
    }

    /// Does not fit what this bound rules out. The strategies' way and the answer stay the same; of each
    /// generation the most promising structures are fitted first, so that the rest can be pruned.
    pub fn prune(mut self, bound: &'a dyn RseBound) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Proves a lower bound when the search is over, unless a strategy has: the relaxed problem, and how
    /// many of its nodes may be expanded for it.
    pub fn certify(mut self, relaxation: impl FnOnce() -> Relaxation + 'a, nodes: u64) -> Self {
        self.certificate = Some((Box::new(relaxation), nodes));
        self
    }

    /// Keeps a record of every evaluation.
    pub fn journal(mut self, journal: &'a mut dyn Journal) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Continues a search from (any part of) its records: the strategies run again from their seeds, and
    /// what is on record is not fitted again. Counts, history and result are those of an uninterrupted
    /// search. The tensor, the settings and the seed must be those of the first search.
    pub fn resume(mut self, records: impl IntoIterator<Item = EvaluationRecord>) -> Self {
        self.records.extend(records.into_iter().map(|r| ((r.run, r.key.clone(), r.effort), r)));
        self
    }

    /// Reports progress.
    pub fn observer(mut self, observer: &'a mut dyn Observer) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Ends the search with the best so far when this flag is set.
    pub fn interrupt(mut self, interrupt: &Stop) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    /// Runs the strategies to their end, or to that of a budget.
    pub fn search(self) -> Result<SearchResult, SearchError> {
        if self.runs.is_empty() {
            return Err(SettingError::new("runs", 0, "it must be at least 1").into());
        }
        let least = self.dims.iter().fold(0u128, |sum, &d| sum + d as u128);
        if let Objective::MaxParams(max_params) = self.objective.get()
            && max_params < least
        {
            return Err(SearchError::TooFewParams { max_params, least });
        }
        // A pool of its own: waiting for it cannot block a pool the caller is part of.
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.settings.threads.unwrap_or(0))
            .thread_name(|k| format!("tnsearch-{k}"))
            .build()
            .map_err(|e| SearchError::Threads(e.to_string()))?;
        Search::new(self, &pool, &Stop::new()).run()
    }
}
