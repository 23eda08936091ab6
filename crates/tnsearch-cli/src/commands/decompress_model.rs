//! `tnsearch decompress-model`: the dense weights of a compressed model.

use super::describe::line;
use super::options::memory;
use super::outputs::ReportOptions;
use crate::{Exit, interrupt};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tnsearch_app::models::{Restored, decompress_model};
use tnsearch_io::MemoryLimit;
use tnsearch_models::ModelError;

/// Write the dense weights of a compressed model: names, types and order as they were.
///
/// One tensor at a time is in memory.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch decompress-model small.safetensors -o dense.safetensors")]
pub struct DecompressModel {
    /// The model, as 'compress-model' writes it
    model: PathBuf,
    /// The file to write (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Refuse a tensor that needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Summary<'a> {
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    #[serde(flatten)]
    restored: Restored,
}

pub fn run(args: &DecompressModel) -> anyhow::Result<Exit> {
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory).bytes();
    let (others, stop) = ([("--json", args.report.json_path())], interrupt::on_ctrl_c());
    let restored = match decompress_model(&args.model, &args.output, &others, limit, &stop) {
        Err(ModelError::Interrupted) => return Ok(Exit::Interrupted),
        other => other?,
    };
    let Restored { tensors, decompressed, .. } = restored;
    let summary = Summary { input: &args.model, output: &args.output, restored };
    report.write(&summary, || {
        let mut out = String::new();
        let text = format!(
            "{}, {tensors} tensors, {decompressed} of them from cores",
            args.output.display()
        );
        line(&mut out, "written", text);
        out
    })?;
    Ok(Exit::Done)
}
