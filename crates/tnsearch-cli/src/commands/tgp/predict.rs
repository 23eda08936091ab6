//! `tnsearch tgp predict`.

use super::super::describe::line;
use super::super::options::{count, memory};
use super::super::outputs::{ReportOptions, check_distinct};
use crate::Exit;
use crate::text::number;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tnsearch_app::tgp::{PredictSummary, predict};
use tnsearch_io::{MemoryLimit, Table, output::Output, table};
use tnsearch_tgp::Model;

/// Predict the rows of a table.
///
/// Writes mean and standard deviation (noise included) of every row, in the units of the response. Columns are found by the
/// names of the model's, which standardises them as its own training rows were; others are left aside. Where the response is
/// there too, the errors are measured.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  tnsearch tgp predict model.safetensors new.csv -o predictions.csv")]
pub struct Predict {
    /// The model, as 'tgp train' and 'tgp compress' write it
    model: PathBuf,
    /// The table: CSV with a header
    table: PathBuf,
    /// The predictions to write: CSV with columns mean and sd
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    summary: PredictSummary,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    model: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    version: &'a str,
}

pub fn run(args: &Predict) -> anyhow::Result<Exit> {
    check_distinct(
        &[("the model", &args.model), ("the table", &args.table)],
        &[("--output", Some(&args.output)), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let model = Model::read(&args.model, limit)?;
    let table = table::read_for(&args.table, limit, Some(&model.names))?;
    let output = Output::check(&args.output)?;
    let (predicted, about) = predict(&model, &table, args.threads)?;
    let pairs = predicted.mean.iter().zip(&predicted.deviation);
    let cells = pairs.flat_map(|(m, s)| [*m, *s]).collect();
    let written = Table::new(vec!["mean".to_owned(), "sd".to_owned()], cells);
    output.write(|w| table::write(w, &written))?;
    let summary = Summary {
        summary: about,
        model: &args.model,
        input: &args.table,
        output: &args.output,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        line(&mut out, "predicted", format!("{} rows with {} params", about.rows, about.params));
        if let (Some(mse), Some(standardised), Some(within)) =
            (about.mse, about.mse_standardised, about.within_two_sd)
        {
            let root = number(mse.sqrt());
            line(
                &mut out,
                "MSE",
                format!("{} ({standardised:.4} standardised), root {root}", number(mse)),
            );
            line(
                &mut out,
                "within",
                format!("{:.1} % of rows are within two standard deviations", 100.0 * within),
            );
        }
        line(&mut out, "written", args.output.display());
        out
    })?;
    Ok(Exit::Done)
}
