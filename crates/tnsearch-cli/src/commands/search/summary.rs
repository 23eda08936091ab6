//! What a search reports: JSON for programs, text for people.

use super::Search;
use crate::Exit;
use crate::commands::describe::{
    ErrorReport, Named, StructureReport, line, structure_lines, tensor_text,
};
use crate::commands::outputs::Report;
use crate::text::{duration, number};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use tnsearch::fit::FitSettings;
use tnsearch::graph::Template;
use tnsearch::problem::{LowerBound, Objective, Target};
use tnsearch::search::{
    Budget, CheckedSearch, Counts, Graphs, HistoryPoint, ParetoPoint, RunSummary, SearchResult,
    SearchSettings, StoppedBy,
};
use tnsearch::tensor::Kind;
use tnsearch_io::{network, output::Output};

/// The JSON summary (`docs/formats.md`).
#[derive(Serialize)]
struct Summary<'a> {
    strategy: &'a str,
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    seed: u64,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    loss: Option<f64>,
    #[serde(flatten)]
    counts: Counts,
    speculative: u64,
    seconds: f64,
    stopped_by: StoppedBy,
    lower_bound: Named<'a, Option<LowerBound>>,
    certified_optimal: bool,
    proven_impossible: bool,
    history: Named<'a, Vec<HistoryPoint>>,
    pareto: Named<'a, Vec<ParetoPoint>>,
    input: &'a str,
    objective: Named<'a, Objective>,
    target_reached: bool,
    format_preserved: Option<bool>,
    run: Option<usize>,
    run_seed: Option<u64>,
    runs: &'a [RunSummary],
    settings: &'a serde_json::Value,
    fit: &'a FitSettings,
    budgets: Budgets<'a>,
    output: Option<&'a PathBuf>,
    version: &'a str,
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
    dims: Vec<usize>,
    settings: SearchSettings,
    strategy_settings: serde_json::Value,
    fit: FitSettings,
    max_cost: Option<f64>,
    leaves_template: bool,
    all_trees: bool,
    dtype: Kind,
}

impl<'a> Described<'a> {
    pub fn new(
        args: &'a Search,
        search: &CheckedSearch<'_>,
        template: &Arc<Template>,
        target: &Target,
    ) -> Self {
        Described {
            args,
            template: template.clone(),
            dims: target.dims().to_vec(),
            settings: search.settings().clone(),
            strategy_settings: search.strategy_settings(),
            fit: FitSettings::clone(search.fit()),
            max_cost: search.max_cost(),
            leaves_template: search.graphs() == Graphs::All,
            all_trees: search.graphs() == Graphs::Trees,
            dtype: target.kind(),
        }
    }

    /// Writes the network and the reports.
    pub fn finish(
        &self,
        result: SearchResult,
        output: Option<&Output>,
        report: &Report,
    ) -> anyhow::Result<Exit> {
        let (args, dims, measure) = (self.args, &self.dims[..], &result.measure);
        let best = result.best.as_ref();
        let mut saved = Ok(());
        if let (Some(best), Some(output)) = (best, output) {
            let found = best.network(dims)?;
            saved = output.write(|w| network::write(w, &found, best.score.error));
        }
        let asked = Some(&self.template).filter(|_| !self.all_trees);
        let format_preserved = best.and_then(|b| asked?.holds(&b.graph));
        let summary = Summary {
            strategy: &result.strategy,
            structure: match best {
                Some(best) => StructureReport::new(&best.structure, dims),
                None => StructureReport::nothing(self.template.to_ref(), dims),
            },
            dtype: self.dtype,
            seed: args.seed,
            error: ErrorReport::new(measure, best.map(|b| b.score.error)),
            loss: best.map(|b| b.score.loss),
            counts: result.counts,
            speculative: result.speculative,
            seconds: result.seconds,
            stopped_by: result.stopped_by,
            lower_bound: Named::new(measure, &result.lower_bound)?,
            certified_optimal: result.certified_optimal,
            proven_impossible: result.proven_impossible,
            history: Named::new(measure, &result.history)?,
            pareto: Named::new(measure, &result.pareto)?,
            input: &args.tensor,
            objective: Named::new(measure, &self.settings.objective)?,
            target_reached: result.target_reached,
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
        report.write(&summary, || self.text(&result, format_preserved))?;
        saved?;
        Ok(match result.stopped_by {
            StoppedBy::Interrupted => Exit::Interrupted,
            _ if result.target_reached => Exit::Done,
            _ => Exit::NotReached,
        })
    }

    /// The summary for people.
    fn text(&self, result: &SearchResult, format_preserved: Option<bool>) -> String {
        let (args, settings) = (self.args, &self.settings);
        let mut out = String::new();
        line(&mut out, "tensor", tensor_text(&args.tensor, &self.dims));
        let objective = settings.objective.text(&result.measure);
        let runs = if args.runs > 1 { format!(", {} runs", args.runs) } else { String::new() };
        let (name, rank, seed) = (self.template.name(), settings.max_rank, settings.seed);
        let strategy = &settings.strategy.name;
        let asked = match self.all_trees {
            true => format!("{objective}; all trees, seed {seed}{runs}"),
            false => {
                format!("{objective}; {name}, ranks up to {rank}, {strategy}, seed {seed}{runs}")
            }
        };
        line(&mut out, "asked", asked);
        self.found_lines(&mut out, result);
        let Counts { samples, evaluations, cached, pruned, refused } = result.counts;
        let mut counts = format!("{samples} structures: {evaluations} evaluated, {cached} cached");
        for (n, what) in [(pruned, "pruned"), (refused, "refused as too large")] {
            if n > 0 {
                counts += &format!(", {n} {what}");
            }
        }
        line(&mut out, "searched", format!("{counts}, in {}", duration(result.seconds)));
        if strategy == "auto" && samples > 0 {
            line(&mut out, "strategy", format!("chosen for you: {}", chosen(result)));
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
        let class = match self.all_trees {
            true => Class::Trees,
            false => Class::Template { max_rank: rank },
        };
        line(&mut out, "proof", proof(result, class));
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
        if let Some(path) = &args.page {
            line(&mut out, "report", path.display());
        }
        out
    }

    fn found_lines(&self, out: &mut String, result: &SearchResult) {
        let Some(best) = &result.best else {
            let why = match result.stopped_by {
                _ if result.counts.evaluations + result.counts.refused > 0 => {
                    "every structure proposed was too large; try a smaller --max-rank or more --iterations"
                }
                StoppedBy::Interrupted => "it was interrupted before the first fit was done",
                StoppedBy::MaxSeconds => "the time was up before the first fit was done",
                _ => "no structure was proposed",
            };
            return line(out, "found", format!("nothing: {why}"));
        };
        let found = match result.target_reached {
            true => format!("loss {}", number(best.score.loss)),
            false => "the target was NOT reached; this is the closest".to_owned(),
        };
        line(out, "found", found);
        structure_lines(out, &best.structure, &self.dims, &result.measure, best.score.error);
    }
}

/// Which half of `auto` gave the answer.
fn chosen(result: &SearchResult) -> &'static str {
    match result.strategy.as_str() {
        "exact" if result.stopped_by == StoppedBy::Finished => {
            "exact search: the cuts leave few enough structures"
        }
        "exact" => "exact search, as far as it came",
        _ if result.lower_bound.is_none() => "TNLS: the cuts of this tensor bound nothing",
        _ => {
            "exact search found no answer among its first structures, so TNLS went on from the nearest"
        }
    }
}

/// What a proof is about.
#[derive(Clone, Copy)]
pub enum Class {
    /// The structures of a template.
    Template {
        /// Their largest rank.
        max_rank: usize,
    },
    /// All trees.
    Trees,
}

/// What is proven about the answer, in words.
pub fn proof(result: &SearchResult, class: Class) -> String {
    let measure = &result.measure;
    let (name, class) = match class {
        Class::Trees => ("tree", "tree of any topology and ranks".to_owned()),
        Class::Template { max_rank } => {
            ("structure", format!("structure of this template with ranks up to {max_rank}"))
        }
    };
    if result.proven_impossible {
        return format!("no {class} reaches the target");
    }
    let Some(bound) = result.lower_bound else { return "no lower bound was computed".to_owned() };
    if result.certified_optimal {
        return format!("optimal: no {class} is better");
    }
    let text = bound.text(name, measure, number);
    let found = result.best.as_ref().filter(|_| result.target_reached);
    let (Some(best), Some(_)) = (found, bound.params) else { return text };
    let gap =
        bound.gap(&best.score).map_or(String::new(), |g| format!(" (found is {g:.3} times that)"));
    // Where the proof leaves a gap, what the fits below the answer came to.
    let smaller = |p: &&ParetoPoint| p.params < best.score.params;
    let nearest = result.pareto.iter().filter(smaller).max_by_key(|p| p.params);
    let tried = nearest.map_or(String::new(), |p| {
        format!("; of the smaller ones fitted none came below {} {}", measure.name, number(p.error))
    });
    format!("{text}{gap}{tried}")
}
