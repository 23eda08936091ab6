//! `tnsearch bound`: what no fit of a structure can go below.

use super::certify::{self, Certify};
use super::cuts::{self, Words as _};
use super::data::ReshapeOptions;
use super::describe::{ErrorReport, MEASURE, StructureReport, line, picture_lines, size_line};
use super::options::{
    DtypeOptions, ObjectiveOptions, check_seconds, check_threads, count, memory, real,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::duration;
use crate::{Exit, hold};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use tnsearch::bound::{Cut, bound_structure};
use tnsearch::problem::{Stop, at_most};
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_app::structures::load_structure;
use tnsearch_io::MemoryLimit;

/// Cuts in the JSON.
const LISTED: usize = 10;
/// Cuts in the text.
const SHOWN: usize = 5;
/// Prove how small the error of a structure can be at best.
///
/// Every cut of the network between some modes and the others is as wide as the product of the ranks it
/// crosses; the tensor, unfolded the same way, has singular values beyond that width, and no fit can
/// reach them. The structure is a file as for 'fit'.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch bound X.npy --structure s.json
  tnsearch bound X.npy --structure net.safetensors
      how much better another fit of a network's structure could be
  tnsearch bound X.npy --structure s.json --json -
  tnsearch bound X.npy --template any-tree --max-re 0.01
      how many params any tree needs at least, as 'certify' says")]
pub struct Bound {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    /// The structure: a structure file, the JSON of a search, or a network
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
    /// End after this many seconds with what is proven by then
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
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
    reshaped: Option<&'a Reshape>,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    cuts: &'a [Cut],
    seconds: f64,
    input: &'a str,
    version: &'a str,
}

pub fn run(args: &Bound) -> anyhow::Result<Exit> {
    let Some(structure) = &args.structure else {
        let Bound { tensor, numbers, reshaping, objective, template, report, .. } = args;
        let (threads, max_memory) = (&args.threads, &args.max_memory);
        return certify::run(&Certify::of_template(
            tensor.clone(),
            *numbers,
            reshaping.clone(),
            objective.clone(),
            template.clone(),
            (*threads, *max_memory, args.max_seconds),
            report.clone(),
        ));
    };
    let begun = Instant::now();
    args.objective.loss.check_bounds()?;
    check_threads(args.threads)?;
    check_seconds(args.max_seconds)?;
    let wanted = args.reshaping.check()?;
    check_distinct(
        &[("the tensor", &tensor_path(&args.tensor)), ("--structure", structure)],
        &[("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let given = load_structure(structure, limit)?;
    let data = wanted.load(&args.tensor, args.numbers.dtype, Some(&given), limit)?;
    let (structure, target) = (&given.structure, &data.target);
    let dims = target.dims();

    // Ctrl-C just ends it: there is nothing to save before the end.
    let seconds = args.max_seconds.unwrap_or(f64::INFINITY) - begun.elapsed().as_secs_f64();
    let stop = Stop::new().within_seconds(seconds.max(0.0));
    let limits = cuts::limits(args.threads, limit);
    hold::at("preparation", &stop);
    let found = bound_structure(target, structure, &limits, &stop)?;
    let (cuts, used, error) = (&found.cuts, found.used, found.rse);
    let seconds = begun.elapsed().as_secs_f64();

    let worst: Vec<Cut> = cuts.iter().take(LISTED).map(Cut::new).collect();
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        dtype: target.kind(),
        reshaped: data.reshape.as_ref(),
        error: ErrorReport::new(&MEASURE, error),
        cuts: &worst,
        seconds,
        input: &args.tensor,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        data.lines(&mut out, &args.tensor);
        size_line(&mut out, structure, dims);
        picture_lines(&mut out, structure, dims, data.names());
        line(&mut out, "bound", says(error, used));
        let mut name = "because";
        for cut in worst.iter().take(SHOWN).filter(|cut| cut.rse > 0.0) {
            line(&mut out, std::mem::take(&mut name), cut.bound_text(dims.len(), data.names()));
        }
        let left_out = match cuts.len() - used {
            0 => String::new(),
            n if stop.is_set() => format!(", {n} more were too large or not done in time"),
            n => format!(", {n} more were too large"),
        };
        line(&mut out, "computed", format!("{used} cuts{left_out}, in {}", duration(seconds)));
        out
    })?;
    Ok(Exit::Done)
}

/// What so many cuts say.
fn says(error: f64, used: usize) -> String {
    match used {
        0 => "nothing is known: every cut is too large to be computed".to_owned(),
        _ if error > 0.0 => format!("every network of this structure has {}", at_least(error)),
        _ => "no cut rules out an exact network of this structure".to_owned(),
    }
}

/// The error and its root: `RSE >= 4 (RE >= 2)`.
fn at_least(error: f64) -> String {
    let root = MEASURE.root.as_ref();
    let root = root.map(|root| format!(" ({} >= {})", root.name, at_most(error.sqrt())));
    format!("{} >= {}{}", MEASURE.name, at_most(error), root.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_said_to_be_more_than_it_is() {
        assert_eq!(at_least(0.015376), "RSE >= 0.0153 (RE >= 0.124)");
        assert_eq!(at_least(0.25), "RSE >= 0.250 (RE >= 0.500)");
        assert!(says(0.019999, 3).ends_with("RSE >= 0.0199 (RE >= 0.141)"));
    }
}
