//! `tnsearch decompress`: the picture or array that was compressed.

use super::describe::line;
use super::options::memory;
use super::outputs::{ReportOptions, check_distinct};
use super::reconstruct::of_network;
use crate::Exit;
use crate::text::shape;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use tnsearch_app::reconstruct::decompress;
use tnsearch_io::network::Origin;
use tnsearch_io::{Dtype, MemoryLimit, network, output::Output, picture};

/// Write the picture or array that was compressed, with its shape and type.
///
/// A picture is written as .png (with as many bits as it had) or .jpg, numbers below 0 and above 1 cut off; or as the .npy
/// array of its samples, 0 to 255 or 65535. An array is written as .npy, whole numbers rounded.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch decompress photo.safetensors -o photo.png
  tnsearch decompress field.safetensors -o field.npy")]
pub struct Decompress {
    /// The network, as 'compress' writes it
    network: PathBuf,
    /// The file to write: .png or .jpg for a picture, .npy
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    shape: &'a [usize],
    dtype: Dtype,
    picture: bool,
    params: u128,
    rse: f64,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
}

pub fn run(args: &Decompress) -> anyhow::Result<Exit> {
    check_distinct(
        &[("the network", &args.network)],
        &[("--output", Some(&args.output)), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = Output::check(&args.output)?;
    let limit = MemoryLimit::new(args.max_memory);
    let stored = network::read(&args.network, limit)?;
    let dims = stored.shape();
    let as_picture = picture::is_picture_name(&args.output);
    let reshape = stored.reshape.as_ref();
    let made = decompress(&stored.network, reshape, stored.origin, as_picture, limit);
    made.map_err(|e| of_network(&args.network, e))?.write(&output)?;
    let Some(Origin { picture, dtype }) = stored.origin else { return Ok(Exit::Done) };
    let params = stored.network.params();
    let (input, output) = (&args.network, &args.output);
    let summary = Summary { shape: dims, dtype, picture, params, rse: stored.rse, input, output };
    report.write(&summary, || {
        let mut out = String::new();
        let what = if picture { "picture" } else { "array" };
        let (path, shape, kind) = (args.output.display(), shape(dims), dtype.name());
        let text = format!("{path}, {what} {shape} of {kind}, from {params} params");
        line(&mut out, "written", text);
        out
    })?;
    Ok(Exit::Done)
}
