//! `tnsearch pick`: one point of a search's Pareto front as a network.

use super::data::{for_journal, read_as};
use super::describe::{ErrorReport, MEASURE, StructureReport, line, structure_lines, tensor_text};
use super::options::{count, memory, read_text, real};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use super::report::warn;
use super::structures::is_journal;
use crate::text::number;
use crate::{Exit, interrupt, terminal};
use anyhow::{anyhow, bail};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tnsearch::fit::{Effort, FitError, FitSettings, Request, Run, fit};
use tnsearch::graph::{Structure, StructureFile, TemplateRef};
use tnsearch::network::Network;
use tnsearch::problem::Target;
use tnsearch::rng::derived_seed;
use tnsearch::tensor::{Kind, ModeNames, Reshape};
use tnsearch_io::journal::JournalFile;
use tnsearch_io::{MemoryLimit, network, output::Output};

/// Make a network of one point of a search's Pareto front.
///
/// A search evaluates many structures; those that no other beats in both params and error are its front. The point is
/// fitted again with the search's own settings and seed, which gives the same network (nearly the same where the search
/// began fits at the cores of others, or changed structures while they were fitted).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch pick out.json --max-re 0.05 -o coarse.safetensors
      the smallest network of a search with an error of at most 5 %, from its JSON summary
  tnsearch pick run.jsonl --params 2000 -o small.safetensors
      the best one with at most 2000 params, from its journal
  tnsearch pick out.json --max-re 0.05 --x moved/X.npy -o coarse.safetensors")]
pub struct Pick {
    /// The JSON summary of a search, or its journal
    search: PathBuf,
    #[command(flatten)]
    which: Which,
    /// The tensor [default: as the search named it]
    #[arg(long, value_name = "TENSOR")]
    x: Option<String>,
    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    /// Write the network (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

/// Which point.
#[derive(Debug, Clone, Args)]
#[group(id = "which", required = true, multiple = false)]
struct Which {
    /// The smallest error with at most this many params
    #[arg(long, value_name = "P", value_parser = count::<u128>, allow_negative_numbers = true)]
    params: Option<u128>,
    /// The fewest params with a relative error (RE) of at most this
    #[arg(long, value_name = "RE", value_parser = real, allow_negative_numbers = true)]
    max_re: Option<f64>,
    /// The same by the RSE, which is the square of the RE
    #[arg(long, value_name = "RSE", value_parser = real, allow_negative_numbers = true)]
    max_rse: Option<f64>,
}

/// A point and how it was fitted.
struct Point {
    params: u128,
    rse: f64,
    structure: Structure,
    seed: u64,
    effort: Effort,
}

/// Why a point of a search by another loss is not made.
const BY_ANOTHER: &str = "it is by another loss than the squared error; use 'search --pareto', or 'fit --loss' with its structure";

/// A search on record.
struct Recorded {
    points: Vec<Point>,
    fit: FitSettings,
    target: Target,
    reshape: Option<Reshape>,
    input: String,
}

/// The part of a search's JSON that this command needs.
#[derive(Deserialize)]
struct SummaryFile {
    template: TemplateRef,
    dims: Vec<usize>,
    dtype: Kind,
    #[serde(default)]
    reshaped: Option<Reshape>,
    pareto: Vec<PointFile>,
    runs: Vec<RunFile>,
    fit: FitSettings,
    input: String,
}

#[derive(Deserialize)]
struct PointFile {
    params: u128,
    /// Searches by another loss have its name here.
    rse: Option<f64>,
    permutation: Option<Vec<usize>>,
    #[serde(default)]
    edges: Vec<[usize; 3]>,
    #[serde(default)]
    run: usize,
    template: Option<TemplateRef>,
    #[serde(default)]
    effort: Effort,
}

#[derive(Deserialize)]
struct RunFile {
    seed: u64,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    /// The error that the search had.
    rse_recorded: f64,
    target_reached: bool,
    seed: u64,
    interrupted: bool,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    search: &'a PathBuf,
    input: &'a str,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: Option<&'a PathBuf>,
    version: &'a str,
}

pub fn run(args: &Pick) -> anyhow::Result<Exit> {
    let limit = MemoryLimit::new(args.max_memory);
    let eps = args.which.eps()?;
    let x = args.x.as_deref().map(tensor_path);
    let mut inputs = vec![("the search", args.search.as_path())];
    inputs.extend(x.as_deref().map(|x| ("--x", x)));
    check_distinct(
        &inputs,
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let text = read_text(&args.search)?;
    let recorded = match is_journal(text.lines().next().unwrap_or_default()) {
        true => from_journal(&args.search, args.x.as_deref(), limit)?,
        false => from_summary(&args.search, &text, args.x.as_deref(), limit)?,
    };
    // The tensor that a search names is an input as any other.
    check_distinct(
        &[("the tensor", &tensor_path(&recorded.input))],
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let point = args.which.point(&recorded.points)?;
    let (target, reshape) = (&recorded.target, recorded.reshape.as_ref());
    let dims = target.dims();

    let interrupt = interrupt::on_ctrl_c();
    let stop = interrupt.within_seconds(args.max_seconds.unwrap_or(f64::INFINITY));
    let settings = recorded.fit.clone().with(|s| s.max_bytes = Some(limit.bytes())).check()?;
    let graph = point.structure.canonical().graph;
    let mut request = Request::new(graph, Arc::new(settings), point.seed);
    // A walk is not made again: the structure it ended at is fitted.
    if matches!(point.effort, Effort::Quick | Effort::Direct) {
        request.effort = point.effort;
    }
    let fitted = match fit(target, &request, &Run::until(&stop)) {
        Err(FitError::Interrupted) => {
            terminal::note("interrupted", "there was no result yet; nothing is written");
            return Ok(Exit::Interrupted);
        }
        fitted => fitted?,
    };
    let found = Network::from_fitted(point.structure.clone(), dims.to_vec(), fitted.cores)?;
    let rse = fitted.error;
    target.confirm(&found, rse, Some(limit.bytes()))?;
    let saved =
        output.map_or(Ok(()), |o| o.write(|w| network::write_reshaped(w, &found, rse, reshape)));
    let target_reached = eps.is_none_or(|eps| rse <= eps);
    let summary = Summary {
        structure: StructureReport::new(&point.structure, dims),
        dtype: target.kind(),
        reshaped: reshape,
        error: ErrorReport::new(&MEASURE, rse),
        rse_recorded: point.rse,
        target_reached,
        seed: point.seed,
        interrupted: fitted.interrupted,
        search: &args.search,
        input: &recorded.input,
        output: args.output.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let own = reshape.map_or(dims, Reshape::from);
        line(&mut out, "tensor", tensor_text(&recorded.input, own));
        let of = recorded.points.len();
        line(&mut out, "picked", format!("{} params, of {of} points", point.params));
        let names = ModeNames::new(reshape);
        structure_lines(&mut out, &point.structure, dims, names, &MEASURE, rse);
        if rse != point.rse {
            let then = number(point.rse);
            line(&mut out, "mind", format!("the search had {} {then}", MEASURE.name));
        }
        if let Some(path) = &args.output {
            line(&mut out, "written", path.display());
        }
        out
    })?;
    saved?;
    Ok(match (interrupt.is_set(), target_reached) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::NotReached,
    })
}

impl Which {
    fn eps(&self) -> anyhow::Result<Option<f64>> {
        let eps = match (self.max_re, self.max_rse) {
            (Some(re), _) => Some(("max-re", re, re * re)),
            (None, Some(rse)) => Some(("max-rse", rse, rse)),
            (None, None) => None,
        };
        match eps {
            Some((name, given, eps)) if !(given > 0.0 && eps < 1.0) => {
                bail!("{name} is {given}; it must be above 0 and below 1")
            }
            eps => Ok(eps.map(|e| e.2)),
        }
    }

    /// The point asked for; `points` by rising params and falling error.
    fn point<'p>(&self, points: &'p [Point]) -> anyhow::Result<&'p Point> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            bail!("the search has no points: nothing was fitted")
        };
        match (self.params, self.eps()?) {
            (Some(params), _) => points.iter().rfind(|p| p.params <= params).ok_or_else(|| {
                anyhow!("params is {params}; the smallest network of the search has {}", first.params)
            }),
            (None, eps) => points.iter().find(|p| Some(p.rse) <= eps).ok_or_else(|| {
                let (rse, re) = (number(last.rse), number(last.rse.sqrt()));
                anyhow!("no network of the search has so small an error; the smallest is RSE {rse} (RE {re})")
            }),
        }
    }
}

fn from_summary(
    path: &Path,
    text: &str,
    x: Option<&str>,
    limit: MemoryLimit,
) -> anyhow::Result<Recorded> {
    let named = |e: &dyn std::fmt::Display| anyhow!("{}: {e}", path.display());
    let file: SummaryFile = serde_json::from_str(text)
        .map_err(|e| named(&format!("{e}; give the JSON summary of a search, or its journal")))?;
    let mut points = Vec::new();
    for point in file.pareto {
        let permutation = point.permutation.ok_or_else(|| {
            named(&"its points have no structures; it was written by a version before 0.3")
        })?;
        let template = point.template.unwrap_or_else(|| file.template.clone());
        let structure = StructureFile { template, permutation, edges: point.edges };
        let structure = Structure::from_file(&structure).map_err(|e| named(&e))?;
        structure.check_order(file.dims.len()).map_err(|e| named(&e))?;
        let run = file.runs.get(point.run).ok_or_else(|| named(&"a point of no run"))?;
        let rse = point.rse.ok_or_else(|| named(&BY_ANOTHER))?;
        let (params, seed) = (point.params, run.seed);
        points.push(Point { params, rse, structure, seed, effort: point.effort });
    }
    let input = x.map_or(file.input, str::to_owned);
    let tensor = read_as(&input, file.dtype, file.reshaped.as_ref(), limit)?;
    super::data::check_shape(path, "the search", &file.dims, tensor.dims())?;
    Ok(Recorded { points, fit: file.fit, target: tensor, reshape: file.reshaped, input })
}

fn from_journal(path: &Path, x: Option<&str>, limit: MemoryLimit) -> anyhow::Result<Recorded> {
    let journal = JournalFile::open(path)?;
    warn(path, &journal);
    let named = |e: &dyn std::fmt::Display| anyhow!("{}: {e}", path.display());
    let header = &journal.header;
    if header.measure != MEASURE {
        return Err(named(&BY_ANOTHER));
    }
    let input = match x.or(journal.input()) {
        Some(input) => input.to_owned(),
        None => bail!("{}: it does not name its tensor; give --x", path.display()),
    };
    let target = for_journal(&input, header, limit)?.ok_or_else(|| {
        anyhow!("{input} is not the tensor of the journal: its dimensions or entries differ")
    })?;
    let mut all: Vec<Point> = Vec::new();
    for record in &journal.records {
        let Some(structure) = journal.structure(record) else { continue };
        let seed = derived_seed(header.seed, record.run);
        let (params, rse) = (record.params.into(), record.error);
        all.push(Point { params, rse, structure, seed, effort: record.effort });
    }
    all.sort_by(|a, b| a.params.cmp(&b.params).then(a.rse.total_cmp(&b.rse)));
    let mut points: Vec<Point> = Vec::new();
    for point in all {
        if points.last().is_none_or(|last| point.rse < last.rse) {
            points.push(point);
        }
    }
    // What follows from the objective is not written down.
    let mut fit = header.fit.clone();
    let enough = header.objective.max_error();
    if let Some(fields) = fit.as_object_mut() {
        let default = FitSettings::default().enough_rse;
        fields.insert("enough_rse".to_owned(), enough.unwrap_or(default).into());
        fields.insert("max_bytes".to_owned(), serde_json::Value::Null);
    }
    let fit = serde_json::from_value(fit).map_err(|e| named(&e))?;
    Ok(Recorded { points, fit, target, reshape: header.reshaped.clone(), input })
}
