//! `tnsearch generate`: a random tensor with a known structure.

use super::describe::{MEASURE, StructureReport, line, structure_lines};
use super::options::{count, graph_help, load_graph, real, seed, vertex};
use super::outputs::{ReportOptions, check_distinct};
use crate::Exit;
use crate::text::shape;
use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tnsearch::tensor::ModeNames;
use tnsearch_app::{Example, Synthetic};
use tnsearch_io::{Dtype, network, output::Output, weights, write_tensor};

/// Make a random tensor from a hidden network, as in the paper's section 5.1.
///
/// Ranks are uniform in a range, cores independent normal numbers, and the modes are shuffled (or placed). With
/// --example instead a tensor as users have it, which no network gives exactly.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch generate --template ring --order 6 --dim 3 --ranks 1..4 --seed 1 -o X.npy --structure hidden.json
  tnsearch generate --template mera --order 8 --sigma 0.3162 --noise-db 40 -o X.npy --network hidden.safetensors
  tnsearch generate --example heisenberg --order 14 --seed 3 -o state.npy
  tnsearch generate --example field --dims 50,60,70,40 -o field.npy
  tnsearch generate --example layer --dims 768,3072 -o model.safetensors")]
pub struct Generate {
    #[arg(long, value_name = "NAME|FILE", help = graph_help(""), default_value = "ring")]
    template: String,
    /// A tensor that is not made from a network: heisenberg (the ground state of a periodic chain), smooth (a function of
    /// five variables), field (four modes, noisy), signal (2^N samples, noisy),
    /// weights (a matrix) or layer (a matrix with a Kronecker product in it)
    #[arg(long, value_name = "NAME", value_parser = example, conflicts_with_all = ["template", "ranks", "perm", "sigma", "noise_db", "structure", "network"])]
    example: Option<Example>,
    /// The number of modes [default: 6; of an example its own]
    #[arg(long, value_name = "N", value_parser = count::<usize>, conflicts_with = "dims")]
    order: Option<usize>,
    /// The dimension of every mode [default: 3; of an example its own]
    #[arg(long, value_name = "I", value_parser = count::<usize>, conflicts_with = "dims")]
    dim: Option<usize>,
    /// The dimension of each mode, instead of --order and --dim: 3,4,5
    #[arg(long, value_name = "I,I,...", value_delimiter = ',', value_parser = count::<usize>)]
    dims: Vec<usize>,
    /// The smallest and the largest rank
    #[arg(long, value_name = "LO..HI", default_value = "1..4", value_parser = range)]
    ranks: (usize, usize),
    /// The vertex of mode 0, of mode 1, ... [default: a random permutation]
    #[arg(long, value_name = "V,V,...", value_delimiter = ',', value_parser = vertex)]
    perm: Vec<usize>,
    /// Standard deviation of the cores' entries (the paper: variance 1 for path and ring, 0.1 for the others)
    #[arg(long, value_name = "SD", default_value_t = 1.0, value_parser = real, allow_negative_numbers = true)]
    sigma: f64,
    /// Add Gaussian noise at this signal-to-noise ratio
    #[arg(long, value_name = "DB", value_parser = real, allow_negative_numbers = true)]
    noise_db: Option<f64>,
    /// Same seed, same tensor
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    seed: u64,
    /// The tensor to write (.npy; an example also as .safetensors of one tensor 'weight', for compress-model)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Write the hidden structure (JSON)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    structure: Option<PathBuf>,
    /// Write the hidden network, cores included (safetensors)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    network: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    seed: u64,
    norm: f64,
    rse: f64,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
}

#[derive(Serialize)]
struct ExampleSummary<'a> {
    example: &'a str,
    dims: &'a [usize],
    seed: u64,
    norm: f64,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
}

pub fn run(args: &Generate) -> anyhow::Result<Exit> {
    if let Some(example) = args.example {
        return make_example(args, example);
    }
    check_distinct(
        &[("the template", Path::new(&args.template))],
        &[
            ("--output", Some(&args.output)),
            ("--structure", args.structure.as_deref()),
            ("--network", args.network.as_deref()),
            ("--json", args.report.json_path()),
        ],
    )?;
    let report = args.report.check()?;
    let output = Output::check(&args.output)?;
    let structure_file = args.structure.as_deref().map(Output::check).transpose()?;
    let network_file = args.network.as_deref().map(Output::check).transpose()?;
    let dims = match args.dims.is_empty() {
        true => vec![args.dim.unwrap_or(3); args.order.unwrap_or(6)],
        false => args.dims.clone(),
    };
    let template = Arc::new(load_graph(&args.template, dims.len())?);
    let recipe = Synthetic::new(template, dims.clone(), args.ranks).with(|s| {
        s.permutation = (!args.perm.is_empty()).then(|| args.perm.clone());
        s.sigma = args.sigma;
        s.noise_db = args.noise_db;
    });
    let made = recipe.generate(args.seed)?;
    made.tensor.check().map_err(|e| anyhow!("sigma {} does not go: {e}", args.sigma))?;
    write_tensor(&output, &made.tensor.clone().into())?;
    if let Some(file) = structure_file {
        let text = serde_json::to_string(&made.structure().to_file())?;
        file.write(|w| w.write_all(format!("{text}\n").as_bytes()))?;
    }
    // The RSE of the hidden network itself: what the noise takes away.
    let rse = match args.noise_db {
        None => 0.0,
        Some(_) => {
            let clean = made.network.to_tensor(None)?;
            let clean = clean.as_f64().map(|z| z.data()).unwrap_or_default();
            let noise = made.tensor.data().iter().zip(clean).map(|(x, z)| (x - z).powi(2));
            noise.sum::<f64>() / made.tensor.norm_squared()
        }
    };
    if let Some(file) = network_file {
        file.write(|w| network::write(w, &made.network, rse))?;
    }
    let summary = Summary {
        structure: StructureReport::new(made.structure(), &dims),
        seed: args.seed,
        norm: made.tensor.norm_squared().sqrt(),
        rse,
        output: &args.output,
    };
    report.write(&summary, || {
        let mut out = String::new();
        line(&mut out, "written", format!("{}, {}", args.output.display(), shape(&dims)));
        let names = ModeNames::default();
        structure_lines(&mut out, made.structure(), &dims, names, &MEASURE, rse);
        out
    })?;
    Ok(Exit::Done)
}

/// A tensor that is not made from a network.
fn make_example(args: &Generate, example: Example) -> anyhow::Result<Exit> {
    check_distinct(&[], &[("--output", Some(&args.output)), ("--json", args.report.json_path())])?;
    let report = args.report.check()?;
    let output = Output::check(&args.output)?;
    let dims = match args.dims.is_empty() {
        true => vec![args.dim.unwrap_or(example.dim()); args.order.unwrap_or(example.order())],
        false => args.dims.clone(),
    };
    let tensor = example.make(&dims, args.seed)?;
    match args.output.extension().is_some_and(|e| e == "safetensors") {
        true => weights::write(&output, &[("weight", &tensor)], Dtype::F32)?,
        false => write_tensor(&output, &tensor.clone().into())?,
    }
    let summary = ExampleSummary {
        example: example.name(),
        dims: &dims,
        seed: args.seed,
        norm: tensor.norm_squared().sqrt(),
        output: &args.output,
    };
    report.write(&summary, || {
        let mut out = String::new();
        line(&mut out, "written", format!("{}, {}", args.output.display(), shape(&dims)));
        line(&mut out, "example", example.name());
        out
    })?;
    Ok(Exit::Done)
}

fn example(text: &str) -> Result<Example, String> {
    let found = Example::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, it)| it);
    found.ok_or_else(|| format!("use {}", Example::ALL.map(|(name, _)| name).join(", ")))
}

/// `LO..HI`, both included.
fn range(text: &str) -> Result<(usize, usize), String> {
    let bad = || "it must be a range such as 1..4".to_owned();
    let (lo, hi) = text.split_once("..").ok_or_else(bad)?;
    let side = |s: &str| s.trim_start_matches('=').parse().map_err(|_| bad());
    Ok((side(lo)?, side(hi)?))
}
