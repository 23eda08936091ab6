//! `tnsearch bound`: what no fit of a structure can go below.

use super::certify::{self, Certify};
use super::cuts::{self, Cut};
use super::describe::{
    ErrorReport, MEASURE, StructureReport, line, picture_lines, size_line, tensor_text,
};
use super::options::{
    DtypeOptions, ObjectiveOptions, check_threads, count, load_structure, load_target, memory,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::{duration, number};
use crate::{Exit, hold, interrupt};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use tnsearch::bound::{CutBound, Spectra};
use tnsearch::problem::Stop;
use tnsearch::tensor::Kind;
use tnsearch_io::MemoryLimit;

/// Cuts in the JSON.
const LISTED: usize = 10;
/// Cuts in the text.
const SHOWN: usize = 5;
/// Up to this order a structure needs all cuts, so they are computed in parallel; beyond it only some.
const ALL_CUTS: usize = 10;
/// Up to this many entries the slower, more accurate route takes a few seconds at most.
const SVD_ENTRIES: usize = 100_000;

/// Prove how small the error of a structure can be at best.
///
/// Every cut of the network between some modes and the others is as wide as the product of the ranks it
/// crosses; the tensor, unfolded the same way, has singular values beyond that width, and no fit can
/// reach them. The structure is a JSON file as for 'fit'.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch bound X.npy --structure s.json
  tnsearch bound X.npy --structure s.json --json -
  tnsearch bound X.npy --template any-tree --max-rse 1e-4
      how many params any tree needs at least, as 'certify' says")]
pub struct Bound {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    /// The structure (JSON)
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "template",
        conflicts_with = "template"
    )]
    structure: Option<PathBuf>,
    /// Bound all trees instead, for an objective: any-tree (others: 'certify')
    #[arg(long, value_name = "NAME", value_parser = ["any-tree"])]
    template: Option<String>,
    #[command(flatten)]
    objective: ObjectiveOptions,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    cuts: &'a [Cut],
    seconds: f64,
    input: &'a str,
    version: &'a str,
}

pub fn run(args: &Bound) -> anyhow::Result<Exit> {
    let Some(structure) = &args.structure else {
        let Bound { tensor, numbers, objective, template, threads, max_memory, report, .. } = args;
        return certify::run(&Certify::of_template(
            tensor.clone(),
            *numbers,
            objective.clone(),
            template.clone(),
            (*threads, *max_memory),
            report.clone(),
        ));
    };
    check_threads(args.threads)?;
    check_distinct(
        &[("the tensor", &tensor_path(&args.tensor)), ("--structure", structure)],
        &[("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let structure = load_structure(structure)?;
    let target = load_target(&args.tensor, args.numbers.dtype, limit)?;
    let dims = target.dims();
    structure.check_order(dims.len())?;

    // There is nothing to save before the end.
    interrupt::end_on_ctrl_c()?;
    let begun = Instant::now();
    let limits = cuts::limits(args.threads, limit);
    hold::at("preparation", &Stop::new());
    let spectra = Spectra::within(&target, target.entries() <= SVD_ENTRIES, &limits)?;
    if dims.len() <= ALL_CUTS {
        spectra.prepare_within(&limits, &Stop::new())?;
    }
    let bound = CutBound::new(spectra);
    let cuts = bound.cuts(&structure.canonical().graph);
    let seconds = begun.elapsed().as_secs_f64();

    let error = cuts.first().map_or(0.0, |cut| cut.rse);
    let worst: Vec<Cut> = cuts.iter().take(LISTED).map(Cut::new).collect();
    let summary = Summary {
        structure: StructureReport::new(&structure, dims),
        dtype: target.kind(),
        error: ErrorReport::new(&MEASURE, error),
        cuts: &worst,
        seconds,
        input: &args.tensor,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        line(&mut out, "tensor", tensor_text(&args.tensor, dims));
        size_line(&mut out, &structure, dims);
        picture_lines(&mut out, &structure, dims);
        let says = match error > 0.0 {
            true => format!("every network of this structure has {}", at_least(error)),
            false => "no cut rules out an exact network of this structure".to_owned(),
        };
        line(&mut out, "bound", says);
        let mut name = "because";
        for cut in worst.iter().take(SHOWN).filter(|cut| cut.rse > 0.0) {
            line(&mut out, std::mem::take(&mut name), cut.bound_text(dims.len()));
        }
        let used = cuts.iter().filter(|cut| bound.spectra().of(cut.modes).is_some()).count();
        let left_out = match cuts.len() - used {
            0 => String::new(),
            n => format!(", {n} more were too large"),
        };
        line(&mut out, "computed", format!("{used} cuts{left_out}, in {}", duration(seconds)));
        out
    })?;
    Ok(Exit::Done)
}

/// The error and its root: `RSE >= 4 (RE >= 2)`.
fn at_least(error: f64) -> String {
    let root = MEASURE.root.as_ref();
    let root = root.map(|root| format!(" ({} >= {})", root.name, number(error.sqrt())));
    format!("{} >= {}{}", MEASURE.name, number(error), root.unwrap_or_default())
}
