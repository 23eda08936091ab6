//! `tnsearch tgp train`.

use super::super::declared::Options;
use super::super::describe::{StructureReport, line, size_line};
use super::super::outputs::check_distinct;
use super::{Means, mse_text};
use crate::text::{duration, number};
use crate::{Exit, interrupt};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tnsearch_app::tgp::{ProcessError, TrainSummary, train};
use tnsearch_io::{MemoryLimit, output::Output, table};
use tnsearch_tgp::{Event, Model, TgpError, TrainSettings};

/// Train a model on a table.
///
/// 80 rows of 100 (by seed) are for learning, of which a tenth decides when to end, and 20 for the test. Features and response
/// are standardised by the mean and the deviation of the rows for learning, which the model keeps.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch tgp train train.csv --inducing 12 --tt-rank 10 -o model.safetensors
  tnsearch tgp train train.csv --inducing 8 --bound-steps 5 -o model.safetensors --resume")]
pub struct Train {
    /// The table: CSV with a header, the response last
    table: PathBuf,
    /// The model to write (safetensors); also written whenever a better one was found
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Go on with the model in --output, where there is one; it stays where nothing better is found
    #[arg(long, help_heading = "Output")]
    resume: bool,
    #[command(flatten)]
    settings: Options<TrainSettings>,
    #[command(flatten)]
    means: Means,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    #[serde(flatten)]
    summary: &'a TrainSummary,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    version: &'a str,
}

pub fn run(args: &Train) -> anyhow::Result<Exit> {
    let ctrl_c = interrupt::on_ctrl_c();
    let means = args.means.checked(&ctrl_c)?;
    let report = args.means.report.check()?;
    check_distinct(
        &[("the table", &args.table)],
        &[("--output", Some(&args.output)), ("--json", args.means.report.json_path())],
    )?;
    let limit = MemoryLimit::new(args.means.max_memory);
    let table = table::read(&args.table, limit)?;
    let from = match args.resume && args.output.exists() {
        true => Some(Model::read(&args.output, limit)?),
        false => None,
    };
    let output = Output::check(&args.output)?;
    let settings = args.settings.0.clone().with(|s| s.max_bytes = Some(limit.bytes()));
    let mut kept = Ok(());
    let trained = train(&table, &settings, from, &means, &mut |event| match event {
        Event::Evidence { step, evidence } => {
            args.means.show("evidence", &format!("step {step}: {evidence:.2}"));
        }
        Event::Sweep { sweep, bound, train_mse, validation_mse, best } => {
            let star = if best.is_some() { " *" } else { "" };
            let bound = bound.map_or(String::new(), |b| format!("bound {b:.1}, "));
            let text =
                format!("{bound}MSE {train_mse:.4} training, {validation_mse:.4} validation{star}");
            args.means.show(&format!("sweep {sweep}"), &text);
            if let Some(model) = best {
                kept = output.write(|w| model.write(w));
            }
        }
        _ => {}
    });
    let (trained, about) = match trained {
        Err(ProcessError::Tgp(TgpError::Stopped)) if ctrl_c.is_set() => {
            return Ok(Exit::Interrupted);
        }
        other => other?,
    };
    kept?;
    let model = &trained.model;
    output.write(|w| model.write(w))?;
    let (structure, dims) = (model.mean.structure(), model.mean.dims());
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        summary: &about,
        input: &args.table,
        output: &args.output,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let [train, validation, test] = about.rows;
        let (path, count, response) = (args.table.display(), about.features.len(), &about.response);
        line(&mut out, "table", format!("{path}, {count} features for '{response}'"));
        line(&mut out, "rows", format!("{train} to train, {validation} to choose, {test} to test"));
        size_line(&mut out, structure, dims);
        line(&mut out, "MSE", mse_text(&about.figures));
        let unknown =
            || "not known: the grid has so many points that it is lost in rounding".to_owned();
        line(&mut out, "bound", about.figures.bound.map_or_else(unknown, number));
        let lengths: Vec<String> = about.kernel.lengths.iter().map(|&l| number(l)).collect();
        let (signal, noise) = (number(about.kernel.signal), number(about.kernel.noise));
        line(
            &mut out,
            "kernel",
            format!("lengths {}; signal {signal}, noise {noise}", lengths.join(", ")),
        );
        line(&mut out, "time", format!("{}, {} sweeps", duration(about.seconds), about.sweeps));
        line(&mut out, "written", args.output.display());
        out
    })?;
    Ok(if ctrl_c.is_set() { Exit::Interrupted } else { Exit::Done })
}
