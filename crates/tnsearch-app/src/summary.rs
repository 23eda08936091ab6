//! What a search reports to other programs, and what is made of its answer.

use crate::fields::{ErrorReport, Named, StructureReport};
use crate::load::Data;
use crate::text::number;
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tnsearch::bound::{CutBound, NeededReport};
use tnsearch::certificate::{Certificate, Claim, NoCertificate, prove};
use tnsearch::fit::{Effort, FitSettings};
use tnsearch::graph::{GraphError, Template, TemplateRef};
use tnsearch::problem::{LowerBound, Measure, Objective, Over, OverFile, StatementRecord, Stop};
use tnsearch::search::{
    Budget, CheckedSearch, Counts, FormatBest, Graphs, HistoryPoint, NoAnswer, ParetoPoint,
    Resolved, RunSummary, SearchResult, ShrunkSummary, Stages, StoppedBy, chosen_format,
};
use tnsearch::tensor::{Kind, Reshape};

/// The JSON summary (`docs/formats.md`).
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    strategy: &'a str,
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    seed: u64,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    loss: Option<f64>,
    #[serde(flatten)]
    counts: Counts,
    speculative: u64,
    seconds: f64,
    stages: Stages,
    shrunk: Option<&'a ShrunkSummary>,
    stopped_by: StoppedBy,
    lower_bound: Named<&'a Option<LowerBound>>,
    bound_over: Option<OverFile>,
    statement: StatementRecord,
    no_answer: Option<NoAnswer>,
    certified_optimal: bool,
    proven_impossible: bool,
    needed_rank: Option<NeededReport>,
    edges_at_max_rank: Option<usize>,
    history: Named<&'a Vec<HistoryPoint>>,
    pareto: Named<Vec<PointReport>>,
    formats: Vec<FormatReport<'a>>,
    chosen: Option<String>,
    input: &'a str,
    objective: Named<&'a Objective>,
    target_reached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounding: Option<String>,
    format_preserved: Option<bool>,
    run: Option<usize>,
    run_seed: Option<u64>,
    runs: &'a [RunSummary],
    settings: &'a serde_json::Value,
    fit: &'a FitSettings,
    budgets: Budgets<'a>,
    #[serde(serialize_with = "crate::fields::lossy")]
    output: Option<&'a PathBuf>,
    version: &'a str,
}

/// A point of the Pareto front.
#[derive(Debug, Serialize)]
struct PointReport {
    params: u128,
    rse: f64,
    permutation: Vec<usize>,
    edges: Vec<[usize; 3]>,
    run: usize,
    /// Left out where it is that of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    template: Option<TemplateRef>,
    #[serde(skip_serializing_if = "Effort::is_full")]
    effort: Effort,
}

impl PointReport {
    fn new(point: &ParetoPoint, answer: &TemplateRef) -> Self {
        let file = point.structure.to_file();
        PointReport {
            params: point.params,
            rse: point.error,
            permutation: file.permutation,
            edges: file.edges,
            run: point.run,
            template: Some(file.template).filter(|own| own != answer),
            effort: point.effort,
        }
    }
}

/// The best of one format.
#[derive(Debug, Serialize)]
struct FormatReport<'a> {
    format: &'a str,
    params: u128,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    seconds: f64,
    target_reached: bool,
}

impl<'a> FormatReport<'a> {
    fn new(best: &'a FormatBest, measure: &'a Measure) -> Self {
        let FormatBest { format, score, seconds, target_reached } = best;
        FormatReport {
            format,
            params: score.params,
            error: ErrorReport::new(measure, score.error),
            seconds: *seconds,
            target_reached: *target_reached,
        }
    }
}

/// What the search might use, and what it did not fit.
#[derive(Debug, Serialize)]
struct Budgets<'a> {
    #[serde(flatten)]
    budget: &'a Budget,
    max_phi: f64,
    max_cost: Option<f64>,
}

/// What was asked, for when the answer is there.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The template, as it was searched.
    pub template: Arc<Template>,
    /// The settings.
    pub settings: Resolved,
    /// Whether the answer may be of another graph than the template.
    pub leaves_template: bool,
    /// Whether all trees were searched, or several formats.
    pub all_trees: bool,
    strategy_settings: Value,
    fit: FitSettings,
    max_cost: Option<f64>,
    begun: Instant,
}

impl Asked {
    /// What a search is asked that began at that time.
    pub fn new(search: &CheckedSearch<'_>, begun: Instant) -> Self {
        Asked {
            template: search.template().clone(),
            settings: search.settings().clone(),
            leaves_template: search.graphs() == Graphs::All,
            all_trees: matches!(search.graphs(), Graphs::Trees | Graphs::Formats),
            strategy_settings: search.strategy_settings(),
            fit: FitSettings::clone(search.fit()),
            max_cost: search.max_cost(),
            begun,
        }
    }

    /// What a lower bound is about.
    pub fn bounded(&self) -> Result<Arc<Template>, GraphError> {
        Ok(match self.all_trees {
            true => Arc::new(Template::any_tree(self.template.order())?),
            false => self.template.clone(),
        })
    }

    /// The time for what comes after the search: some more than it had, so that it can say something.
    pub fn time_after(&self, stop: &Stop) -> Stop {
        let more = 1.05 * self.settings.budget.max_seconds.unwrap_or(f64::INFINITY) + 0.5;
        stop.within_seconds((more - self.begun.elapsed().as_secs_f64()).max(0.0))
    }

    /// A certificate of what was proven, of at most so many cases, and the template that it is about.
    pub fn certificate(
        &self,
        result: &SearchResult,
        bound: Option<&CutBound>,
        cases: usize,
        stop: &Stop,
    ) -> Result<(Result<Certificate, NoCertificate>, Arc<Template>), GraphError> {
        let template = self.bounded()?;
        let (max_rank, objective) = (self.settings.max_rank, self.settings.objective);
        let (proven, impossible) = (result.lower_bound, result.proven_impossible);
        let made = match bound {
            None => Err(NoCertificate::NothingProven),
            Some(bound) => Claim::new(&template, max_rank, objective, proven, impossible)
                .and_then(|claim| prove(&claim, bound, cases, &self.time_after(stop))),
        };
        Ok((made, template))
    }

    /// Whether the answer is of the template that was asked for; none where there is neither, or it takes too long to find out.
    pub fn format_preserved(&self, result: &SearchResult) -> Option<bool> {
        let asked = Some(&self.template).filter(|_| !self.all_trees);
        result.best.as_ref().and_then(|best| asked?.holds(&best.graph))
    }

    /// The summary: `input` is what the tensor is called, `output` the file that the network goes to.
    pub fn summary<'a>(
        &'a self,
        result: &'a SearchResult,
        data: &'a Data,
        input: &'a str,
        output: Option<&'a PathBuf>,
    ) -> serde_json::Result<Summary<'a>> {
        let (measure, best) = (&result.measure, result.best.as_ref());
        let dims = data.target.dims();
        let answer = match best {
            Some(best) => best.structure.to_file().template,
            None => self.template.to_ref(),
        };
        let pareto = result.pareto.iter().map(|p| PointReport::new(p, &answer)).collect();
        Ok(Summary {
            strategy: &result.strategy,
            structure: match best {
                Some(best) => StructureReport::new(&best.structure, dims),
                None => StructureReport::nothing(self.template.to_ref(), dims),
            },
            dtype: data.target.kind(),
            reshaped: data.reshape.as_ref(),
            seed: self.settings.seed,
            error: ErrorReport::new(measure, best.map(|b| b.score.error)),
            loss: best.map(|b| b.score.loss),
            counts: result.counts,
            speculative: result.speculative,
            seconds: result.seconds,
            stages: result.stages,
            shrunk: result.shrunk.as_ref(),
            stopped_by: result.stopped_by,
            lower_bound: Named::new(measure, &result.lower_bound)?,
            bound_over: result.statement.bound_over().map(Over::to_file),
            statement: result.statement.record(),
            no_answer: result.no_answer,
            certified_optimal: result.certified_optimal,
            proven_impossible: result.proven_impossible,
            needed_rank: result.needed_rank.map(NeededReport::new),
            edges_at_max_rank: best
                .and_then(|b| Some(b.structure.edges_at(result.max_rank?, dims))),
            history: Named::new(measure, &result.history)?,
            pareto: Named::new(measure, pareto)?,
            formats: result.formats.iter().map(|f| FormatReport::new(f, measure)).collect(),
            chosen: chosen_format(&result.formats, self.settings.objective, measure, number),
            input,
            objective: Named::new(measure, &self.settings.objective)?,
            target_reached: result.target_reached,
            rounding: result.rounding_text(data.target.kind()),
            format_preserved: self.format_preserved(result),
            run: best.map(|b| b.run),
            run_seed: best.map(|b| b.seed),
            runs: &result.runs,
            settings: &self.strategy_settings,
            fit: &self.fit,
            budgets: Budgets {
                budget: &self.settings.budget,
                max_phi: self.settings.max_phi,
                max_cost: self.max_cost,
            },
            output,
            version: env!("CARGO_PKG_VERSION"),
        })
    }
}
