//! What a search reports: JSON for programs, text for people.

use super::{Search, words};
use crate::Exit;
use crate::commands::certificate;
use crate::commands::data::Data;
use crate::commands::describe::{ErrorReport, Named, StructureReport, line, structure_lines};
use crate::commands::outputs::{Folder, Report};
use crate::text::{duration, number, shape};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use tnsearch::bound::{CutBound, NeededReport};
use tnsearch::certificate::{Claim, NoCertificate, prove};
use tnsearch::fit::{Effort, FitSettings};
use tnsearch::graph::{Template, TemplateRef};
use tnsearch::problem::{LowerBound, Measure, Objective, Over, OverFile, StatementRecord, Stop};
use tnsearch::search::{
    Budget, CheckedSearch, Counts, FormatBest, Graphs, HistoryPoint, NoAnswer, ParetoPoint,
    Resolved, RunSummary, SearchResult, ShrunkSummary, StoppedBy, StrategySpec, chosen_format,
};
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_io::{network, output::Output};

/// The JSON summary (`docs/formats.md`).
#[derive(Serialize)]
struct Summary<'a> {
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
    shrunk: Option<&'a ShrunkSummary>,
    stopped_by: StoppedBy,
    lower_bound: Named<'a, Option<LowerBound>>,
    bound_over: Option<OverFile>,
    statement: StatementRecord,
    no_answer: Option<NoAnswer>,
    certified_optimal: bool,
    proven_impossible: bool,
    needed_rank: Option<NeededReport>,
    edges_at_max_rank: Option<usize>,
    history: Named<'a, Vec<HistoryPoint>>,
    pareto: Named<'a, Vec<PointReport>>,
    formats: Vec<FormatReport<'a>>,
    chosen: Option<String>,
    input: &'a str,
    objective: Named<'a, Objective>,
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
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: Option<&'a PathBuf>,
    version: &'a str,
}

/// A point of the Pareto front.
#[derive(Serialize)]
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
#[derive(Serialize)]
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
#[derive(Serialize)]
struct Budgets<'a> {
    #[serde(flatten)]
    budget: &'a Budget,
    max_phi: f64,
    max_cost: Option<f64>,
}

/// What was asked, for when the answer is there.
pub(super) struct Described<'a> {
    args: &'a Search,
    template: Arc<Template>,
    data: &'a Data,
    settings: Resolved,
    strategy_settings: serde_json::Value,
    fit: FitSettings,
    max_cost: Option<f64>,
    leaves_template: bool,
    all_trees: bool,
}

impl<'a> Described<'a> {
    pub fn new(
        args: &'a Search,
        search: &CheckedSearch<'_>,
        template: &Arc<Template>,
        data: &'a Data,
    ) -> Self {
        Described {
            args,
            template: template.clone(),
            data,
            settings: search.settings().clone(),
            strategy_settings: search.strategy_settings(),
            fit: FitSettings::clone(search.fit()),
            max_cost: search.max_cost(),
            leaves_template: search.graphs() == Graphs::All,
            all_trees: matches!(search.graphs(), Graphs::Trees | Graphs::Formats),
        }
    }

    /// What a lower bound is about.
    fn bounded(&self) -> anyhow::Result<Arc<Template>> {
        Ok(match self.all_trees {
            true => Arc::new(Template::any_tree(self.template.order())?),
            false => self.template.clone(),
        })
    }

    /// Writes a certificate of what was proven.
    fn certify(
        &self,
        result: &SearchResult,
        bound: Option<&CutBound>,
        output: &Output,
        stop: &Stop,
    ) -> anyhow::Result<()> {
        let template = self.bounded()?;
        let (max_rank, objective) = (self.settings.max_rank, self.settings.objective);
        let (proven, impossible) = (result.lower_bound, result.proven_impossible);
        let made = match bound {
            None => Err(NoCertificate::NothingProven),
            Some(bound) => Claim::new(&template, max_rank, objective, proven, impossible)
                .and_then(|claim| prove(&claim, bound, self.args.proof.cases(), stop)),
        };
        certificate::write(output, &made, &template, self.data)
    }

    /// Writes the network and the reports.
    pub fn finish(
        &self,
        result: SearchResult,
        output: Option<&Output>,
        front: Option<&Folder>,
        report: &Report,
        certificate: Option<(&Output, Option<&CutBound>, &Stop)>,
    ) -> anyhow::Result<Exit> {
        let (args, data, measure) = (self.args, self.data, &result.measure);
        let (dims, reshape) = (data.target.dims(), data.reshape.as_ref());
        let best = result.best.as_ref();
        let mut saved = Ok(());
        if let Some(best) = best.filter(|best| !best.fitted.cores.is_empty()) {
            let found = best.network(dims)?;
            let rse = data.rse_of(&found, measure, best.score.error)?;
            data.confirm(&found, rse)?;
            saved = output.map_or(Ok(()), |output| {
                output.write(|w| network::write_reshaped(w, &found, rse, reshape))
            });
        }
        let written = self.write_front(&result, front)?;
        let answer = match best {
            Some(best) => best.structure.to_file().template,
            None => self.template.to_ref(),
        };
        let pareto = result.pareto.iter().map(|p| PointReport::new(p, &answer)).collect();
        let asked = Some(&self.template).filter(|_| !self.all_trees);
        let format_preserved = best.and_then(|b| asked?.holds(&b.graph));
        let summary = Summary {
            strategy: &result.strategy,
            structure: match best {
                Some(best) => StructureReport::new(&best.structure, dims),
                None => StructureReport::nothing(self.template.to_ref(), dims),
            },
            dtype: data.target.kind(),
            reshaped: reshape,
            seed: args.seed,
            error: ErrorReport::new(measure, best.map(|b| b.score.error)),
            loss: best.map(|b| b.score.loss),
            counts: result.counts,
            speculative: result.speculative,
            seconds: result.seconds,
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
            pareto: Named::new(measure, &pareto)?,
            formats: result.formats.iter().map(|f| FormatReport::new(f, measure)).collect(),
            chosen: chosen_format(&result.formats, self.settings.objective, measure, number),
            input: &args.tensor,
            objective: Named::new(measure, &self.settings.objective)?,
            target_reached: result.target_reached,
            rounding: result.rounding_text(self.data.target.kind()),
            format_preserved,
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
            output: args.output.as_ref(),
            version: env!("CARGO_PKG_VERSION"),
        };
        report.write(&summary, || self.text(&result, format_preserved, written))?;
        saved?;
        if let Some((output, bound, stop)) = certificate {
            self.certify(&result, bound, output, stop)?;
        }
        Ok(match result.stopped_by {
            StoppedBy::Interrupted => Exit::Interrupted,
            _ if result.target_reached => Exit::Done,
            _ => Exit::NotReached,
        })
    }

    /// Writes the networks of the Pareto front; how many.
    fn write_front(&self, result: &SearchResult, folder: Option<&Folder>) -> anyhow::Result<usize> {
        let Some(folder) = folder else { return Ok(0) };
        let (dims, reshape) = (self.data.target.dims(), self.data.reshape.as_ref());
        for best in &result.front {
            let found = best.network(dims)?;
            let output = folder.file(&format!("params-{}.safetensors", best.score.params))?;
            let rse = self.data.rse_of(&found, &result.measure, best.score.error)?;
            self.data.confirm(&found, rse)?;
            output.write(|w| network::write_reshaped(w, &found, rse, reshape))?;
        }
        Ok(result.front.len())
    }

    /// The summary for people.
    fn text(
        &self,
        result: &SearchResult,
        format_preserved: Option<bool>,
        written: usize,
    ) -> String {
        let (args, settings) = (self.args, &self.settings);
        let mut out = String::new();
        self.data.lines(&mut out, &args.tensor);
        let objective = settings.objective.text(&result.measure);
        let runs = if args.runs > 1 { format!(", {} runs", args.runs) } else { String::new() };
        let (name, rank, seed) = (self.template.name(), settings.max_rank, settings.seed);
        let strategy = &settings.strategy.name;
        let asked = match self.all_trees {
            true if self.template.is_formats() => {
                format!("{objective}; several formats, seed {seed}{runs}")
            }
            true => format!("{objective}; all trees, seed {seed}{runs}"),
            false => {
                let ranks = match settings.widest_rank {
                    Some(_) => String::new(),
                    None => format!(", ranks up to {rank}"),
                };
                format!("{objective}; {name}{ranks}, {strategy}, seed {seed}{runs}")
            }
        };
        line(&mut out, "asked", asked);
        if let Some(hint) = args.objective.hint() {
            line(&mut out, "mind", hint);
        }
        if let Some(ShrunkSummary { dims, lost, .. }) = &result.shrunk {
            let (small, name) = (shape(dims), &result.measure.name);
            line(&mut out, "shrunk", format!("to {small}, which loses {name} {}", number(*lost)));
        }
        self.found_lines(&mut out, result);
        self.format_lines(&mut out, result);
        let Counts { direct, samples, evaluations, cached, pruned, refused } = result.counts;
        let mut counts = format!("{samples} structures: {evaluations} evaluated, {cached} cached");
        for (n, what) in [(pruned, "pruned"), (refused, "refused as too large")] {
            if n > 0 {
                counts += &format!(", {n} {what}");
            }
        }
        if direct > 0 {
            counts = format!("{direct} by direct methods first; {counts}");
        }
        line(&mut out, "searched", format!("{counts}, in {}", duration(result.seconds)));
        if *strategy == StrategySpec::default().name && samples > 0 {
            line(&mut out, "strategy", format!("chosen for you: {}", words::chosen(result)));
        }
        if self.leaves_template && result.best.is_some() {
            let preserved = match format_preserved {
                Some(true) => {
                    format!("preserved: it is a {name} under some permutation, or a part of one")
                }
                Some(false) => format!("not preserved: it is no {name} under any permutation"),
                None => format!("not known: whether it is a {name} takes too long to find out"),
            };
            line(&mut out, "format", preserved);
        }
        line(&mut out, "proof", words::proof(result));
        if result.runs.len() > 1 {
            let reached = result.runs.iter().filter(|r| r.target_reached).count();
            let found =
                result.best.as_ref().map_or(String::new(), |b| format!(", best is run {}", b.run));
            line(&mut out, "runs", format!("{reached} of {} reached the target{found}", args.runs));
        }
        line(&mut out, "ended by", result.stopped_by.name().replace('_', "-"));
        if let (Some(path), Some(_)) = (&args.output, &result.best) {
            line(&mut out, "written", path.display());
        }
        if let Some(folder) = &args.pareto {
            let (all, folder) = (result.pareto.len(), folder.display());
            line(
                &mut out,
                "pareto",
                format!("{written} of {all} networks of the front in {folder}"),
            );
        }
        if let Some(path) = &args.page {
            line(&mut out, "report", path.display());
        }
        out
    }

    fn found_lines(&self, out: &mut String, result: &SearchResult) {
        let Some(best) = &result.best else {
            let why = result.no_answer.map_or_else(String::new, |why| why.text());
            return line(out, "found", format!("nothing: {why}"));
        };
        let (objective, measure) = (self.settings.objective, &result.measure);
        let found = result
            .missed_text(number)
            .unwrap_or_else(|| objective.score_text(&best.score, measure, number));
        line(out, "found", found);
        if let Some(rounding) = result.rounding_text(self.data.target.kind()) {
            line(out, "rounding", rounding);
        }
        let (dims, names) = (self.data.target.dims(), self.data.names());
        structure_lines(out, &best.structure, dims, names, measure, best.score.error);
        let reached = result.target_reached;
        let capped = match result.max_rank {
            Some(most) => words::capped(&best.structure, dims, most, objective, reached),
            None if best.structure.template().vertices() == 1 => Some(
                "only the tensor itself, as one core, is small enough and near enough".to_owned(),
            ),
            None => None,
        };
        // What is proven best is so for these ranks, and where it is impossible the proof says what it takes.
        if let Some(capped) = capped
            && !result.certified_optimal
            && !result.proven_impossible
        {
            line(out, "mind", capped);
        }
    }

    /// A line for each format, where there were several, and why the first was chosen.
    fn format_lines(&self, out: &mut String, result: &SearchResult) {
        let (objective, measure) = (self.settings.objective, &result.measure);
        let mut name = "formats";
        let width = result.formats.iter().map(|f| f.format.len()).max().unwrap_or(0);
        for best in &result.formats {
            let missed = if best.target_reached { "" } else { ", target not reached" };
            let score = objective.score_text(&best.score, measure, number);
            let said = format!(
                "{:<width$}  {score}{missed}, after {}",
                best.format,
                duration(best.seconds)
            );
            line(out, std::mem::take(&mut name), said);
        }
        if let Some(why) = chosen_format(&result.formats, objective, measure, number) {
            line(out, "chosen", why);
        }
    }
}
