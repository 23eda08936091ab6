//! `tnsearch decompose`: a fixed format, without a search.

use super::data::ReshapeOptions;
use super::describe::{ErrorReport, MEASURE, StructureReport, line, structure_lines};
use super::options::{DtypeOptions, count, load_graph, memory, real, seed, vertex};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::duration;
use crate::{Exit, interrupt, terminal};
use anyhow::bail;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tnsearch::SettingError;
use tnsearch::decompose::{
    DecomposeError, DecomposeSettings, Iterating, Limits, Method, Shares, allowed, tree_families,
};
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_io::{MemoryLimit, network, output::Output};

/// Decompose a tensor into a fixed format, without a search.
///
/// The modes stay where --perm puts them; the ranks follow from the error, or are given.
#[derive(Debug, Args)]
#[command(after_help = "Methods:
  tt-svd      tensor train by SVDs              tr-als      tensor ring by ALS, all ranks alike
  tr-svd      tensor ring by SVDs               tr-als-ar   the same, ranks grown one at a time
  tr-lm       the smallest ring of many such    bayes-tr    tensor ring, ranks shrunk by Bayesian
  ht-svd      hierarchical Tucker by SVDs                   inference
  hosvd       Tucker by SVDs                    tree-svd    any tree (--template) by SVDs
  cp-als      sum of products of vectors (CP) by ALS

Examples:
  tnsearch decompose X.npy --method tt-svd --max-rse 1e-4 -o net.safetensors
  tnsearch decompose X.npy --method hosvd --max-re 0.01 --max-seconds 10
  tnsearch decompose X.npy --method tr-als --ranks 3,2,4,2 --perm 0,2,1,3
  tnsearch decompose X.npy --method tree-svd --template star --json -")]
pub struct Decompose {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    /// tt-svd, tr-svd, tr-lm, ht-svd, hosvd, tree-svd, tr-als, tr-als-ar, bayes-tr or cp-als
    #[arg(long, value_name = "METHOD", value_parser = method)]
    method: Method,
    #[arg(long, value_name = "NAME|FILE", help = format!("The tree of tree-svd: {}, or a JSON file with a graph", tree_families()))]
    template: Option<String>,
    /// The vertex of mode 0, of mode 1, ... [default: the modes in order]
    #[arg(long = "permutation", visible_alias = "perm", value_name = "V,V,...", value_delimiter = ',', value_parser = vertex)]
    perm: Vec<usize>,
    /// Choose the ranks so that the RSE is at most this [default: 1e-4]
    #[arg(long, value_name = "RSE", value_parser = real, allow_negative_numbers = true, conflicts_with = "ranks")]
    max_rse: Option<f64>,
    /// The same as the root of it: at most this part of the norm is missed, 0.1 for 10 %
    #[arg(long, value_name = "RE", value_parser = real, allow_negative_numbers = true, conflicts_with_all = ["ranks", "max_rse"])]
    max_re: Option<f64>,
    /// How the methods by SVDs share the error out: so that the parameters are fewest, or in equal parts
    #[arg(long, value_name = "optimal|equal", value_parser = shares, default_value = "optimal", hide_default_value = true)]
    shares: Shares,
    /// The ranks instead: along the path or ring (the closing edge last), of other trees in the order of
    /// the template's edges; one number for all alike
    #[arg(long, value_name = "R,R,...", value_delimiter = ',', value_parser = count::<usize>, allow_negative_numbers = true)]
    ranks: Vec<usize>,
    #[command(flatten)]
    iteration: Iteration,
    /// The seed of the random starts (tr-als, tr-als-ar, bayes-tr, cp-als)
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Fitting")]
    seed: u64,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Write the network (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

/// Options of the methods that iterate.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Fitting")]
struct Iteration {
    /// Independent starts of each fit of tr-als; the best counts [default: 4]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    restarts: Option<usize>,
    /// Sweeps of one fit at most [default: 200; inference of bayes-tr 300]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    max_sweeps: Option<usize>,
    /// A fit ends when its error falls by less than this fraction over some sweeps [default: 0.01]
    #[arg(long, value_name = "T", value_parser = real, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// The ranks that bayes-tr starts from [default: 7]
    #[arg(long, value_name = "R", value_parser = count::<usize>, allow_negative_numbers = true)]
    max_rank: Option<usize>,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    method: String,
    max_rse: Option<f64>,
    target_reached: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    rounding: Option<&'a str>,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    sweeps: usize,
    seconds: f64,
    seed: u64,
    interrupted: bool,
    settings: Option<Iterating>,
    input: &'a str,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: Option<&'a PathBuf>,
    version: &'a str,
}

pub fn run(args: &Decompose) -> anyhow::Result<Exit> {
    // A wrong number is refused before a large file is read.
    let settings = args.settings()?;
    let wanted = args.reshaping.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let time = args.check_seconds()?;
    let tensor = tensor_path(&args.tensor);
    let template_file = args.template.as_deref().unwrap_or_default();
    check_distinct(
        &[("the tensor", &tensor), ("the template", Path::new(template_file))],
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let data = wanted.load(&args.tensor, args.numbers.dtype, None, limit)?;
    let target = &data.target;
    let dims = target.dims();
    let given = args.template.as_deref().map(|spec| load_graph(spec, dims.len())).transpose()?;
    let template = settings.template(dims.len(), given.map(Arc::new))?;
    let goal = settings.goal(&template)?;

    let interrupt = interrupt::on_ctrl_c();
    let limits = Limits::none().with(|l| {
        l.max_bytes = target.left_of(Some(limit.bytes()));
        l.stop = interrupt.within_seconds(time.unwrap_or(f64::INFINITY));
    });
    let begun = Instant::now();
    let found = match settings.run(target, &template, &limits) {
        Err(DecomposeError::Interrupted) if !interrupt.is_set() => {
            let words = "the time was up before there was a result; nothing is written";
            terminal::note("--max-seconds", words);
            return Ok(Exit::NotReached);
        }
        Err(DecomposeError::Interrupted) => {
            terminal::note("interrupted", "there was no result yet; nothing is written");
            return Ok(Exit::Interrupted);
        }
        found => found?,
    };
    let seconds = begun.elapsed().as_secs_f64();

    let reshape = data.reshape.as_ref();
    data.confirm(&found.network, found.rse)?;
    let saved = output.map_or(Ok(()), |o| {
        o.write(|w| network::write_reshaped(w, &found.network, found.rse, reshape))
    });
    let structure = found.network.structure();
    let target_reached = goal.rse().is_none_or(|eps| found.rse <= eps);
    let rounding = goal.rse().filter(|_| !target_reached);
    let rounding = rounding.and_then(|eps| target.kind().too_coarse_for(eps));
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        dtype: target.kind(),
        reshaped: reshape,
        method: args.method.to_string(),
        max_rse: goal.rse(),
        target_reached,
        rounding: rounding.as_deref(),
        error: ErrorReport::new(&MEASURE, found.rse),
        sweeps: found.sweeps,
        seconds,
        seed: args.seed,
        interrupted: found.interrupted,
        settings: settings.iterating()?,
        input: &args.tensor,
        output: args.output.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        data.lines(&mut out, &args.tensor);
        structure_lines(&mut out, structure, dims, data.names(), &MEASURE, found.rse);
        let sweeps = match args.method.iterates() {
            true => format!(", {} sweeps", found.sweeps),
            false => String::new(),
        };
        line(&mut out, "method", format!("{}{sweeps}, in {}", args.method, duration(seconds)));
        if let Some(eps) = goal.rse().filter(|_| !target_reached) {
            line(
                &mut out,
                "not reached",
                format!("{} <= {eps:e}; this is the best found", MEASURE.name),
            );
        }
        if let Some(rounding) = &rounding {
            line(&mut out, "rounding", rounding);
        }
        if let Some(path) = &args.output {
            line(&mut out, "written", path.display());
        }
        out
    })?;
    saved?;
    Ok(match (interrupt.is_set(), target_reached) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::NotReached,
    })
}

impl Decompose {
    /// What is asked for, refused where it does not go with the method.
    fn settings(&self) -> anyhow::Result<DecomposeSettings> {
        let rse = allowed(self.max_re, self.max_rse)?;
        let settings = DecomposeSettings::new(self.method).with(|s| {
            s.permutation = self.perm.clone();
            s.max_rse = rse.unwrap_or(s.max_rse);
            s.shares = self.shares;
            s.ranks = self.ranks.clone();
            s.restarts = self.iteration.restarts;
            s.max_sweeps = self.iteration.max_sweeps;
            s.tolerance = self.iteration.tolerance;
            s.max_rank = self.iteration.max_rank;
            s.seed = self.seed;
        });
        settings.check(self.template.is_some())?;
        Ok(settings)
    }

    /// The time allowed.
    fn check_seconds(&self) -> anyhow::Result<Option<f64>> {
        match self.max_seconds {
            Some(s) if !(s > 0.0 && s.is_finite()) => {
                bail!("max-seconds is {s}; it must be above 0")
            }
            seconds => Ok(seconds),
        }
    }
}

fn shares(text: &str) -> Result<Shares, String> {
    match text {
        "optimal" => Ok(Shares::Optimal),
        "equal" => Ok(Shares::Equal),
        _ => Err("use optimal or equal".into()),
    }
}

fn method(text: &str) -> Result<Method, String> {
    text.parse().map_err(|e: SettingError| e.expected.into_owned())
}
