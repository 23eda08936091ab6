//! `tnsearch round`: a smaller network near a given one.

use super::data::reshape_text;
use super::describe::{ErrorReport, MEASURE, StructureReport, line, picture_lines, size_line};
use super::options::{count, load_graph, memory, real, vertex};
use super::outputs::{ReportOptions, check_distinct};
use crate::text::{duration, number, shape};
use crate::{Exit, interrupt, terminal};
use anyhow::bail;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tnsearch::decompose::{
    DecomposeError, Limits, RoundGoal, Rounded, allowed, round, round_onto, tree_families,
};
use tnsearch::graph::Template;
use tnsearch::problem::{Stop, at_least};
use tnsearch::tensor::{Kind, ModeNames, Reshape};
use tnsearch_io::network::StoredNetwork;
use tnsearch_io::{MemoryLimit, network, output::Output};

/// Round a network: smaller ranks, without forming the tensor.
///
/// The error is that against the network given. Trees are rounded by SVDs with an exact account of what is lost;
/// graphs with cycles by alternating least squares between networks, where errors below an RE of about 1e-7 cannot be
/// seen. The tensor itself is never formed: forty modes of size 4 are no trouble.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch round net.safetensors --max-re 0.01 -o small.safetensors
      the smallest ranks found with an error of at most 1 % of the network
  tnsearch round ring.safetensors --max-re 1e-6 --template path -o train.safetensors
      a ring as a tensor train
  tnsearch round net.safetensors --max-params 5000 -o small.safetensors")]
pub struct Round {
    /// The network, as 'search', 'fit' and 'decompose' write it
    network: PathBuf,
    #[command(flatten)]
    goal: GoalOptions,
    #[arg(long, value_name = "NAME|FILE", help = format!("A tree to carry the network onto: {}, or a JSON file with a graph [default: its own graph]", tree_families()))]
    template: Option<String>,
    /// The vertex of mode 0, of mode 1, ... on that tree [default: neighbours near each other]
    #[arg(long = "permutation", visible_alias = "perm", value_name = "V,V,...", value_delimiter = ',', value_parser = vertex, requires = "template")]
    perm: Vec<usize>,
    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    /// Write the network (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

/// What the rounded network is to reach.
#[derive(Debug, Clone, Args)]
#[group(id = "goal", required = true, multiple = false)]
struct GoalOptions {
    /// Fewest params with a relative error (RE) of at most this, against the network: 0.01 is one percent
    #[arg(long, value_name = "RE", value_parser = real, allow_negative_numbers = true)]
    max_re: Option<f64>,
    /// The same by the RSE, which is the square of the RE
    #[arg(long, value_name = "RSE", value_parser = real, allow_negative_numbers = true)]
    max_rse: Option<f64>,
    /// Smallest error with at most this many params
    #[arg(long, value_name = "P", value_parser = count::<u128>, allow_negative_numbers = true)]
    max_params: Option<u128>,
    /// The ranks: along the path or ring (the closing edge last), of others in the order of the template's edges; one
    /// number for all alike
    #[arg(long, value_name = "R,R,...", value_delimiter = ',', value_parser = count::<usize>, allow_negative_numbers = true)]
    ranks: Vec<usize>,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    /// Errors below this are not seen.
    rse_floor: f64,
    /// Against the tensor that the network given was fitted to.
    rse_tensor_at_most: f64,
    params_before: u128,
    max_rse: Option<f64>,
    target_reached: bool,
    sweeps: usize,
    interrupted: bool,
    seconds: f64,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: Option<&'a PathBuf>,
    version: &'a str,
}

pub fn run(args: &Round) -> anyhow::Result<Exit> {
    let limit = MemoryLimit::new(args.max_memory);
    let eps = allowed(args.goal.max_re, args.goal.max_rse)?;
    if let Some(seconds) = args.max_seconds.filter(|s| s.is_nan() || *s <= 0.0) {
        bail!("max-seconds is {seconds}; it must be above 0");
    }
    let template_file = Path::new(args.template.as_deref().unwrap_or_default());
    check_distinct(
        &[("the network", &args.network), ("the template", template_file)],
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let stored = network::read(&args.network, limit)?;
    let template = match &args.template {
        Some(spec) => Some(Arc::new(load_graph(spec, stored.network.dims().len())?)),
        None => None,
    };
    let graph = template.as_ref().unwrap_or(stored.network.structure().template());
    let goal = args.goal.goal(graph, eps)?;

    let interrupt = interrupt::on_ctrl_c();
    let stop = interrupt.within_seconds(args.max_seconds.unwrap_or(f64::INFINITY));
    let begun = Instant::now();
    let found = match args.rounded(&stored, template.as_ref(), &goal, limit, &stop) {
        Err(DecomposeError::Interrupted) if interrupt.is_set() => {
            terminal::note("interrupted", "there was no result yet; nothing is written");
            return Ok(Exit::Interrupted);
        }
        Err(DecomposeError::Interrupted) => {
            bail!("the time was up before there was a result; nothing is written")
        }
        found => found?,
    };
    let seconds = begun.elapsed().as_secs_f64();

    let reshape = stored.reshape.as_ref();
    let near = (found.rse, found.floor, Some(limit.bytes()));
    found.network.confirm_near(&stored.network, near.0, near.1, near.2)?;
    let at_most = found.against_tensor(stored.rse);
    let saved = output.map_or(Ok(()), |o| {
        o.write(|w| network::write_reshaped(w, &found.network, at_most, reshape))
    });
    let (structure, dims) = (found.network.structure(), found.network.dims());
    let target_reached = goal.rse().is_none_or(|eps| found.rse <= eps);
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        dtype: found.network.kind(),
        reshaped: reshape,
        error: ErrorReport::new(&MEASURE, found.rse),
        rse_floor: found.floor,
        rse_tensor_at_most: at_most,
        params_before: stored.network.params(),
        max_rse: goal.rse(),
        target_reached,
        sweeps: found.sweeps,
        interrupted: found.interrupted,
        seconds,
        input: &args.network,
        output: args.output.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let (name, before) = (args.network.display(), stored.network.params());
        line(&mut out, "network", format!("{name}, {}, {before} params", shape(stored.shape())));
        if let Some(reshape) = reshape {
            line(&mut out, "reshaped", reshape_text(reshape));
        }
        let after = found.network.params();
        line(&mut out, "rounded", format!("{before} -> {after} params"));
        size_line(&mut out, structure, dims);
        let error = match found.rse < found.floor {
            true => format!(
                "{} below {}, which is all that can be seen",
                MEASURE.name,
                at_least(found.floor)
            ),
            false => MEASURE.text(found.rse, number),
        };
        line(&mut out, "error", format!("{error}, against the network"));
        let tensor = MEASURE.text(at_most, at_least);
        line(&mut out, "", format!("at most {tensor} against the tensor it was fitted to"));
        picture_lines(&mut out, structure, dims, ModeNames::new(reshape));
        let sweeps = match found.sweeps {
            0 => "truncated SVDs".to_owned(),
            n => format!("{n} sweeps"),
        };
        line(&mut out, "method", format!("{sweeps}, in {}", duration(seconds)));
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

impl Round {
    fn rounded(
        &self,
        stored: &StoredNetwork,
        template: Option<&Arc<Template>>,
        goal: &RoundGoal,
        limit: MemoryLimit,
        stop: &Stop,
    ) -> Result<Rounded, DecomposeError> {
        let limits = Limits::none().with(|l| {
            l.max_bytes = Some(limit.bytes());
            l.stop = stop.clone();
        });
        match template {
            None => round(&stored.network, goal, &limits),
            Some(template) => {
                let perm = (!self.perm.is_empty()).then_some(&self.perm[..]);
                round_onto(&stored.network, template, perm, goal, &limits)
            }
        }
    }
}

impl GoalOptions {
    fn goal(&self, template: &Template, eps: Option<f64>) -> anyhow::Result<RoundGoal> {
        if let Some(eps) = eps {
            return Ok(RoundGoal::max_rse(eps)?);
        }
        if let Some(params) = self.max_params {
            return Ok(RoundGoal::max_params(params));
        }
        Ok(RoundGoal::ranks_along(template, &self.ranks)?)
    }
}
