//! `tnsearch tgp predict`.

use super::super::describe::line;
use super::super::options::{check_threads, count, memory};
use super::super::outputs::{ReportOptions, check_distinct};
use crate::Exit;
use crate::text::number;
use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
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
    rows: usize,
    params: u128,
    /// Where the response is known: in its units, and standardised by the model's rows.
    mse: Option<f64>,
    mse_standardised: Option<f64>,
    /// The share of rows within two standard deviations.
    within_two_sd: Option<f64>,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    model: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    version: &'a str,
}

pub fn run(args: &Predict) -> anyhow::Result<Exit> {
    check_threads(args.threads)?;
    check_distinct(
        &[("the model", &args.model), ("the table", &args.table)],
        &[("--output", Some(&args.output)), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let model = Model::read(&args.model, limit)?;
    let table = table::read_for(&args.table, limit, Some(&model.names))?;
    let output = Output::check(&args.output)?;
    let (_, response) = model.columns(&table)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build();
    let pool = pool.map_err(|e| anyhow!("cannot start the threads: {e}"))?;
    let predicted = pool.install(|| model.predict(&table))?;
    let pairs = || predicted.mean.iter().zip(&predicted.deviation);
    let cells = pairs().flat_map(|(m, s)| [*m, *s]).collect();
    let written = Table::new(vec!["mean".to_owned(), "sd".to_owned()], cells);
    output.write(|w| table::write(w, &written))?;
    let rows = table.rows();
    let known = response.filter(|_| rows > 0);
    let errors =
        known.map(|c| pairs().enumerate().map(move |(r, (m, s))| (table.row(r)[c] - m, *s)));
    let (mut squares, mut within) = (0.0, 0usize);
    if let Some(errors) = errors {
        for (error, sd) in errors {
            squares += error * error;
            within += usize::from(error.abs() <= 2.0 * sd);
        }
    }
    let n = rows as f64;
    let scale = model.standard.scale.last().copied().unwrap_or(1.0);
    let mse = known.map(|_| squares / n);
    let summary = Summary {
        rows,
        params: model.mean.params(),
        mse,
        mse_standardised: mse.map(|e| e / (scale * scale)),
        within_two_sd: known.map(|_| within as f64 / n),
        model: &args.model,
        input: &args.table,
        output: &args.output,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        line(&mut out, "predicted", format!("{rows} rows with {} params", summary.params));
        if let (Some(mse), Some(standardised), Some(within)) =
            (mse, summary.mse_standardised, summary.within_two_sd)
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
