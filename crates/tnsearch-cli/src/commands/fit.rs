//! `tnsearch fit`: the cores of one given structure.

use super::data::ReshapeOptions;
use super::describe::{ErrorReport, StructureReport, line, structure_lines};
use super::holes::{HoleOptions, mask_path};
use super::options::{
    DtypeOptions, FitOptions, LossOptions, check_threads, count, memory, method, real, seed,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::duration;
use crate::{Exit, interrupt, terminal};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use tnsearch::fit::{
    FitError, FitSettings, Method, NetworkFitError, RESCUE_ALONE, Run, fit_network,
};
use tnsearch::problem::Loss as _;
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_app::structures::load_structure;
use tnsearch_io::{MemoryLimit, network, output::Output};

/// Fit the cores of one given structure.
///
/// The structure is a JSON file {"template":"ring","permutation":[vertex of mode 0, ...],
/// "edges":[[u,v,rank],...]}; edges of the template that are left out have rank 1. The JSON summary of a search
/// and a network will do as well: the tensor is then split as theirs was.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch fit X.npy --structure s.json -o net.safetensors
  tnsearch fit Y.npy --structure net.safetensors -o other.safetensors
      another tensor of the same shape, with the structure of a network
  tnsearch fit X.npy --structure s.json --method lm --restarts 8 --json -
  tnsearch fit counts.npy --structure s.json --loss poisson
      cores without negative entries, by the deviance of counts")]
pub struct Fit {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    #[command(flatten)]
    holes: HoleOptions,
    /// The structure: a structure file, the JSON of a search, or a network
    #[arg(long, value_name = "FILE")]
    structure: PathBuf,
    /// als, adam or lm
    #[arg(long, value_name = "METHOD", default_value = "als", value_parser = method, help_heading = "Fitting")]
    method: Method,
    #[command(flatten)]
    fitting: FitOptions,
    #[command(flatten)]
    loss: LossOptions,
    /// The seed of the random starts
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Fitting")]
    seed: u64,
    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    /// Write the network (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    seed: u64,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    sweeps: usize,
    restarts: usize,
    seconds: f64,
    method: Method,
    interrupted: bool,
    input: &'a str,
    settings: &'a FitSettings,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: Option<&'a PathBuf>,
    version: &'a str,
}

pub fn run(args: &Fit) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let limit = MemoryLimit::new(args.max_memory);
    let settings = args.fitting.asked(args.method).settings(args.max_seconds, limit.bytes());
    let rescue = args.fitting.rescue.unwrap_or(RESCUE_ALONE);
    let settings = settings.with(|s| s.rescue = rescue).check()?;
    check_threads(args.threads)?;
    let wanted = args.reshaping.check()?.with_holes(args.holes.check());
    check_distinct(
        &[
            ("the tensor", &tensor_path(&args.tensor)),
            ("--structure", &args.structure),
            ("--mask", &mask_path(&args.holes)),
        ],
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let given = load_structure(&args.structure, limit)?;
    let data = wanted.load(&args.tensor, args.numbers.dtype, Some(&given), limit)?;
    data.warn();
    let (structure, target) = (&given.structure, &data.target);
    let dims = target.dims();
    let loss = args.loss.spec().for_target(target)?;
    let measure = loss.measure();

    let interrupt = interrupt::on_ctrl_c();
    let begun = Instant::now();
    // What it took to read the tensor is part of the limit.
    let left = |s: f64| (s - started.elapsed().as_secs_f64()).max(s / 20.0);
    let timed = FitSettings::clone(&settings).with(|s| s.max_seconds = s.max_seconds.map(left));
    let timed = timed.check()?;
    let run = Run::until(&interrupt).by(&*loss);
    let fitted = match fit_network(target, structure, &timed, args.seed, args.threads, &run) {
        Err(NetworkFitError::Fit(FitError::Interrupted)) if interrupt.is_set() => {
            terminal::note("interrupted", "there was no result yet; nothing is written");
            return Ok(Exit::Interrupted);
        }
        Err(NetworkFitError::Fit(FitError::Interrupted | FitError::Time)) => {
            let words =
                "one sweep takes longer than that: there is no result, and nothing is written";
            terminal::note("--max-seconds", words);
            return Ok(Exit::NotReached);
        }
        fitted => fitted?,
    };
    let seconds = begun.elapsed().as_secs_f64();

    let (found, rse) = (&fitted.network, fitted.rse);
    data.confirm(found, rse)?;
    let saved = output.map_or(Ok(()), |o| {
        o.write(|w| network::write_reshaped(w, found, rse, data.reshape.as_ref()))
    });
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        dtype: target.kind(),
        reshaped: data.reshape.as_ref(),
        seed: args.seed,
        error: ErrorReport::new(&measure, fitted.error),
        sweeps: fitted.sweeps,
        restarts: fitted.restarts,
        seconds,
        method: args.method,
        interrupted: fitted.interrupted,
        input: &args.tensor,
        settings: &settings,
        output: args.output.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        data.lines(&mut out, &args.tensor);
        structure_lines(&mut out, structure, dims, data.names(), &measure, fitted.error);
        let (method, starts, sweeps) = (args.method, fitted.restarts, fitted.sweeps);
        let time = duration(seconds);
        line(&mut out, "fitted", format!("{method}, {starts} starts, {sweeps} sweeps, in {time}"));
        if let Some(path) = &args.output {
            line(&mut out, "written", path.display());
        }
        out
    })?;
    saved?;
    Ok(if interrupt.is_set() { Exit::Interrupted } else { Exit::Done })
}
