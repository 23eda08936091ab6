//! `tnsearch reconstruct`: from a network back to the tensor.

use super::describe::line;
use super::options::memory;
use super::outputs::{ReportOptions, check_distinct};
use crate::Exit;
use crate::text::shape;
use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_app::reconstruct::{ReconstructError, reconstruct};
use tnsearch_io::{MemoryLimit, network, output::Output, write_tensor};

/// Write the dense tensor of a network, in the original mode order and shape.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch reconstruct net.safetensors -o X.npy
  tnsearch reconstruct net.safetensors -o picture.png")]
pub struct Reconstruct {
    /// The network, as 'search' and 'fit' write it
    network: PathBuf,
    /// The tensor to write: .npy, numbers of the kind that the network has, of a picture its H x W or H x W x 3; or .png
    /// or .jpg, 8 bits, numbers below 0 and above 1 cut off
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
    dims: &'a [usize],
    dtype: Kind,
    entries: usize,
    params: u128,
    reshaped: Option<&'a Reshape>,
    norm: f64,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
}

pub fn run(args: &Reconstruct) -> anyhow::Result<Exit> {
    check_distinct(
        &[("the network", &args.network)],
        &[("--output", Some(&args.output)), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = Output::check(&args.output)?;
    let limit = MemoryLimit::new(args.max_memory);
    let stored = network::read(&args.network, limit)?;
    let dims = stored.shape();
    let tensor = reconstruct(&stored.network, stored.reshape.as_ref(), limit);
    let tensor = tensor.map_err(|e| of_network(&args.network, e))?;
    write_tensor(&output, &tensor)?;
    let summary = Summary {
        dims,
        dtype: tensor.kind(),
        entries: tensor.len(),
        params: stored.network.params(),
        reshaped: stored.reshape.as_ref(),
        norm: tensor.norm(),
        input: &args.network,
        output: &args.output,
    };
    report.write(&summary, || {
        let mut out = String::new();
        let (shape, params) = (shape(dims), stored.network.params());
        line(
            &mut out,
            "written",
            format!("{}, {shape}, from {params} params", args.output.display()),
        );
        out
    })?;
    Ok(Exit::Done)
}

/// The file stands before what is wrong with what is in it.
pub fn of_network(path: &Path, error: ReconstructError) -> anyhow::Error {
    match error {
        ReconstructError::Network(e) => e.into(),
        e => anyhow!("{}: {e}", path.display()),
    }
}
