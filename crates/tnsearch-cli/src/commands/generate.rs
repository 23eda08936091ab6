//! `tnsearch generate`: a random tensor with a known structure.

use super::describe::{MEASURE, StructureReport, line, structure_lines};
use super::options::{count, graph_help, load_graph, real, seed, vertex};
use super::outputs::{ReportOptions, check_distinct};
use crate::Exit;
use crate::text::shape;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tnsearch::SettingError;
use tnsearch::tensor::ModeNames;
use tnsearch_app::Example;
use tnsearch_app::generate::{AskedTensor, From};
use tnsearch_io::{network, output::Output};

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
    #[arg(long, value_name = "NAME|FILE", help = graph_help(" [default: ring]"))]
    template: Option<String>,
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
    /// The smallest and the largest rank [default: 1..4]
    #[arg(long, value_name = "LO..HI", value_parser = range)]
    ranks: Option<(usize, usize)>,
    /// The vertex of mode 0, of mode 1, ... [default: a random permutation]
    #[arg(long, value_name = "V,V,...", value_delimiter = ',', value_parser = vertex)]
    perm: Vec<usize>,
    /// Standard deviation of the cores' entries (the paper: variance 1 for path and ring, 0.1 for the others)
    /// [default: 1]
    #[arg(long, value_name = "SD", value_parser = real, allow_negative_numbers = true)]
    sigma: Option<f64>,
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
    check_distinct(
        &[("the template", Path::new(args.template.as_deref().unwrap_or_default()))],
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
    let asked = AskedTensor {
        example: args.example.map(|example| example.name().to_owned()),
        order: args.order,
        dim: args.dim,
        dims: args.dims.clone(),
        ranks: args.ranks,
        perm: args.perm.clone(),
        sigma: args.sigma,
        noise_db: args.noise_db,
        seed: args.seed,
    };
    let dims = asked.dims()?;
    let template = args.template.as_deref().map(|name| load_graph(name, dims.len()));
    let made = asked.make(template.transpose()?)?;
    made.write(&output)?;
    let (seed, output) = (args.seed, &args.output);
    let norm = made.tensor.norm_squared().sqrt();
    let written = |out: &mut String| {
        line(out, "written", format!("{}, {}", output.display(), shape(&dims)));
    };
    let (network, rse) = match &made.from {
        From::Hidden { network, rse } => (network, *rse),
        From::Example(example) => {
            let example = example.name();
            let summary = ExampleSummary { example, dims: &dims, seed, norm, output };
            report.write(&summary, || {
                let mut out = String::new();
                written(&mut out);
                line(&mut out, "example", example);
                out
            })?;
            return Ok(Exit::Done);
        }
    };
    let hidden = network.structure();
    if let Some(file) = structure_file {
        let text = serde_json::to_string(&hidden.to_file())?;
        file.write(|w| w.write_all(format!("{text}\n").as_bytes()))?;
    }
    if let Some(file) = network_file {
        file.write(|w| network::write(w, network, rse))?;
    }
    let structure = StructureReport::new(hidden, &dims);
    report.write(&Summary { structure, seed, norm, rse, output }, || {
        let mut out = String::new();
        written(&mut out);
        structure_lines(&mut out, hidden, &dims, ModeNames::default(), &MEASURE, rse);
        out
    })?;
    Ok(Exit::Done)
}

fn example(text: &str) -> Result<Example, String> {
    text.parse().map_err(|e: SettingError| e.expected.into_owned())
}

/// `LO..HI`, both included.
fn range(text: &str) -> Result<(usize, usize), String> {
    let bad = || "it must be a range such as 1..4".to_owned();
    let (lo, hi) = text.split_once("..").ok_or_else(bad)?;
    let side = |s: &str| s.trim_start_matches('=').parse().map_err(|_| bad());
    Ok((side(lo)?, side(hi)?))
}
