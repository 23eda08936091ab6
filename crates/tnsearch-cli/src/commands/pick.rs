//! `tnsearch pick`: one point of a search's Pareto front as a network.

use super::describe::{ErrorReport, MEASURE, StructureReport, line, structure_lines, tensor_text};
use super::options::{count, memory, real};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::number;
use crate::{Exit, interrupt, terminal};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tnsearch::fit::FitError;
use tnsearch::tensor::{Kind, ModeNames, Reshape};
use tnsearch_app::load::Source;
use tnsearch_app::pick::{self, PickError, Recorded};
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
    let which = args.which.asked();
    which.check()?;
    let x = args.x.as_deref().map(tensor_path);
    let mut inputs = vec![("the search", args.search.as_path())];
    inputs.extend(x.as_deref().map(|x| ("--x", x)));
    check_distinct(
        &inputs,
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let recorded = Recorded::read(&args.search)?;
    recorded.warnings.iter().for_each(|said| terminal::note("warning", said));
    let source = match &args.x {
        Some(x) => Source::File(x.clone()),
        None => recorded.source()?,
    };
    // The tensor that a search names is an input as any other.
    check_distinct(
        &[("the tensor", &tensor_path(source.name()))],
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let (target, reshape) = (&recorded.target(&source, limit)?, recorded.reshape.as_ref());
    let dims = target.dims();

    let interrupt = interrupt::on_ctrl_c();
    let stop = interrupt.within_seconds(args.max_seconds.unwrap_or(f64::INFINITY));
    let picked = match recorded.pick(&which, target, limit, &stop) {
        Err(PickError::Fit(FitError::Interrupted)) => {
            terminal::note("interrupted", "there was no result yet; nothing is written");
            return Ok(Exit::Interrupted);
        }
        picked => picked?,
    };
    let (found, rse) = (&picked.network, picked.rse);
    let saved =
        output.map_or(Ok(()), |o| o.write(|w| network::write_reshaped(w, found, rse, reshape)));
    let summary = Summary {
        structure: StructureReport::new(found.structure(), dims),
        dtype: target.kind(),
        reshaped: reshape,
        error: ErrorReport::new(&MEASURE, rse),
        rse_recorded: picked.rse_recorded,
        target_reached: picked.target_reached,
        seed: picked.seed,
        interrupted: picked.interrupted,
        search: &args.search,
        input: source.name(),
        output: args.output.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let own = reshape.map_or(dims, Reshape::from);
        line(&mut out, "tensor", tensor_text(source.name(), own));
        let (params, of) = (found.structure().params(dims), picked.points);
        line(&mut out, "picked", format!("{params} params, of {of} points"));
        let names = ModeNames::new(reshape);
        structure_lines(&mut out, found.structure(), dims, names, &MEASURE, rse);
        if rse != picked.rse_recorded {
            let then = number(picked.rse_recorded);
            line(&mut out, "mind", format!("the search had {} {then}", MEASURE.name));
        }
        if let Some(path) = &args.output {
            line(&mut out, "written", path.display());
        }
        out
    })?;
    saved?;
    Ok(match (interrupt.is_set(), picked.target_reached) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::NotReached,
    })
}

impl Which {
    fn asked(&self) -> pick::Which {
        pick::Which { params: self.params, max_re: self.max_re, max_rse: self.max_rse }
    }
}
