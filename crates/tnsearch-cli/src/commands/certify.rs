//! `tnsearch certify`: what no structure of a template can go below, and how near a network comes.

use super::certificate::{self, CertificateOptions};
use super::cuts::{self, Words as _};
use super::data::{Data, ReshapeOptions};
use super::describe::{MEASURE, StructureReport, line, picture_lines, size_line};
use super::options::{
    DtypeOptions, ObjectiveOptions, check_seconds, check_threads, count, load_graph, load_template,
    memory, real, template_help,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::{duration, number, shape};
use crate::{Exit, hold, interrupt};
use anyhow::bail;
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tnsearch::bound::{Cut, NeededReport, check_template};
use tnsearch::certify::{Certificate, CertifySettings, Compared, NetReport, certify};
use tnsearch::graph::Template;
use tnsearch::problem::{LowerBound, Objective, Over, OverFile, Place, Statement, StatementRecord};
use tnsearch::tensor::{Kind, ModeNames, Reshape};
use tnsearch_app::structures::{Loaded, Source, load_structure};
use tnsearch_io::MemoryLimit;

/// Binding cuts in the JSON.
const LISTED: usize = 10;
/// Binding cuts in the text.
const SHOWN: usize = 5;

/// Prove how small a network can be at best, and how near a given one comes.
///
/// Runs the relaxed problem: which is the best structure that no cut of the tensor rules out? Nothing of
/// the template, with ranks up to --max-rank, can be better. With --net the network's error is computed
/// anew and compared; of the JSON summary of a search the error on record counts, and a bare structure is fitted.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch certify X.npy --template ring --max-re 0.01
      how many params a tensor ring with that error needs at least
  tnsearch certify X.npy --template any-tree --max-re 0.01
      how many params any tree needs at least, whatever its topology
  tnsearch certify X.npy --max-re 0.01 --net net.safetensors
      whether the network found is the smallest of its template there can be, and the gap if not

Exit codes: 0 a bound was given; 1 the network does not reach the target; 2 bad input;
130 on Ctrl-C (the bound so far is given).")]
pub struct Certify {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    #[command(flatten)]
    objective: ObjectiveOptions,
    #[arg(long, value_name = "NAME|FILE", help = template_help(" [default: that of the network, or ring]"))]
    template: Option<String>,
    /// The largest rank of an edge
    #[arg(long, value_name = "R", default_value_t = 7, value_parser = count::<usize>, allow_negative_numbers = true)]
    max_rank: usize,
    /// Take the tensor as it is, also where a smaller one in its place would do: every mode projected on its leading
    /// singular vectors
    #[arg(long)]
    no_shrink: bool,
    /// What to compare with the bound: a network as 'search' and 'fit' write it, the JSON of a search, or a structure
    #[arg(long, value_name = "FILE")]
    net: Option<PathBuf>,
    /// Nodes of the branch and bound that may be expanded
    #[arg(long, value_name = "N", default_value_t = 5_000_000, value_parser = count::<u64>, allow_negative_numbers = true, help_heading = "Budgets")]
    nodes: u64,
    /// End after this many seconds with what is proven by then
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    #[command(flatten)]
    proof: CertificateOptions,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    relaxed: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    objective: Objective,
    max_rank: usize,
    lower_bound: Option<LowerBound>,
    bound_over: OverFile,
    statement: StatementRecord,
    nodes: u64,
    complete: bool,
    proven_impossible: bool,
    needed_rank: Option<NeededReport>,
    net: Option<&'a NetReport>,
    binding_cuts: &'a [Cut],
    seconds: f64,
    input: &'a str,
    version: &'a str,
}

impl Certify {
    /// The command for a template and nothing else.
    pub fn of_template(
        tensor: String,
        numbers: DtypeOptions,
        reshaping: ReshapeOptions,
        objective: ObjectiveOptions,
        template: Option<String>,
        (threads, max_memory, max_seconds): (Option<usize>, Option<u64>, Option<f64>),
        report: ReportOptions,
    ) -> Self {
        let (net, max_rank, nodes, no_shrink) = (None, 7, 1, false);
        let proof = CertificateOptions::default();
        Certify {
            tensor,
            numbers,
            reshaping,
            objective,
            template,
            max_rank,
            net,
            nodes,
            threads,
            max_memory,
            max_seconds,
            no_shrink,
            proof,
            report,
        }
    }
}

pub fn run(args: &Certify) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    args.objective.loss.check_bounds()?;
    let objective = args.objective.check()?;
    check_threads(args.threads)?;
    check_seconds(args.max_seconds)?;
    let wanted = args.reshaping.check()?;
    let tensor = tensor_path(&args.tensor);
    let mut inputs = vec![("the tensor", tensor.as_path())];
    inputs.extend(args.net.as_deref().map(|net| ("--net", net)));
    let outputs = [("--json", args.report.json_path()), ("--certificate", args.proof.path())];
    check_distinct(&inputs, &outputs)?;
    let report = args.report.check()?;
    let output = args.proof.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let net = args.net.as_deref().map(|path| load_structure(path, limit)).transpose()?;
    let data = wanted.load(&args.tensor, args.numbers.dtype, net.as_ref(), limit)?;
    let target = &data.target;
    let dims = target.dims();
    let template = match (&args.template, &net) {
        (Some(spec), _) if spec == "any-tree" => Arc::new(load_template(spec, dims.len())?),
        (Some(spec), _) => Arc::new(load_graph(spec, dims.len())?),
        (None, Some(net)) if net.structure.is_grouped() => bail!(
            "some vertex of the network carries several modes; say with --template which structures the proof \
             is about"
        ),
        (None, Some(net)) => net.structure.template().clone(),
        (None, None) => Arc::new(load_template("ring", dims.len())?),
    };
    check_template(&template)?;

    let interrupt = interrupt::on_ctrl_c();
    let seconds = args.max_seconds.unwrap_or(f64::INFINITY) - begun.elapsed().as_secs_f64();
    let stop = &interrupt.within_seconds(seconds.max(0.0));
    hold::at("preparation", stop);
    let settings = CertifySettings::default().with(|s| {
        s.max_rank = args.max_rank;
        s.nodes = args.nodes;
        s.shrink = !args.no_shrink;
        s.cases = output.as_ref().map(|_| args.proof.cases());
        s.limits = cuts::limits(args.threads, limit);
    });
    let compared = net.as_ref().map(compared);
    let proof = certify(target, &template, objective, &settings, compared, stop)?;
    let seconds = begun.elapsed().as_secs_f64();

    let net = proof.net.as_ref();
    let summary = Summary {
        relaxed: match &proof.relaxed {
            Some(structure) => StructureReport::new(structure, dims),
            None => StructureReport::nothing(template.to_ref(), dims),
        },
        dtype: target.kind(),
        reshaped: data.reshape.as_ref(),
        objective: objective.get(),
        max_rank: args.max_rank,
        lower_bound: proof.bound,
        bound_over: Over::new(&template, args.max_rank).to_file(),
        statement: proof.statement.record(),
        nodes: proof.nodes,
        complete: proof.complete,
        proven_impossible: proof.impossible,
        needed_rank: proof.needed.map(NeededReport::new),
        net,
        binding_cuts: &proof.binding[..proof.binding.len().min(LISTED)],
        seconds,
        input: &args.tensor,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = text(args, objective.get(), &template, &data, &proof, seconds);
        preparation_lines(&mut out, &proof);
        out
    })?;
    if let (Some(output), Some(made)) = (&output, &proof.certificate) {
        certificate::write(output, made, &template, &data)?;
    }
    Ok(match net {
        _ if interrupt.is_set() => Exit::Interrupted,
        Some(net) if !net.reaches => Exit::NotReached,
        _ => Exit::Done,
    })
}

/// What a file holds that is compared with the bound.
fn compared(net: &Loaded) -> Compared<'_> {
    match (&net.source, net.rse) {
        (Source::Network(network), _) => Compared::Network(network),
        (_, Some(rse)) => Compared::Recorded(&net.structure, rse),
        (_, None) => Compared::Structure(&net.structure),
    }
}

fn text(
    args: &Certify,
    objective: Objective,
    template: &Template,
    data: &Data,
    proof: &Certificate,
    seconds: f64,
) -> String {
    let mut out = String::new();
    let (dims, names) = (data.target.dims(), data.names());
    let class = proof.statement.class();
    data.lines(&mut out, &args.tensor);
    line(&mut out, "asked", format!("{}; {class}", objective.text(&MEASURE)));
    line(&mut out, "proven", proof.statement.claim());
    if let Some(hint) = args.objective.hint() {
        line(&mut out, "mind", hint);
    }
    if let Some(net) = &proof.net {
        let name = args.net.as_deref().map_or(String::new(), |p| p.display().to_string());
        let error = MEASURE.short_text(net.rse, number);
        line(&mut out, "network", format!("{name}: {} params, {error}", net.params));
        line(&mut out, "verdict", verdict(net, proof));
    }
    if let Some(relaxed) = &proof.relaxed {
        line(
            &mut out,
            "relaxed",
            "the best structure that no cut rules out (whether a fit confirms it is another matter):",
        );
        size_line(&mut out, relaxed, dims);
        picture_lines(&mut out, relaxed, dims, names);
        binding_lines(&mut out, &proof.binding, objective, dims.len(), names);
    }
    if template.is_any_tree() {
        let end = match proof.complete {
            true => "all trees, by dynamic programming over sets of modes",
            false => "all trees; for so many modes the bound is that of a part of them",
        };
        line(&mut out, "searched", format!("{end}, in {}", duration(seconds)));
        return out;
    }
    let end = ended(proof, args.nodes);
    line(&mut out, "searched", format!("{} nodes, {end}, in {}", proof.nodes, duration(seconds)));
    out
}

/// What was made of the tensor before, and what of it was left out.
fn preparation_lines(out: &mut String, proof: &Certificate) {
    if let Some((dims, lost)) = &proof.shrunk {
        let (dims, lost) = (shape(dims), number(*lost));
        line(out, "shrunk", format!("to {dims}, which loses {} {lost}", MEASURE.name));
    }
    if let Some(left_out) = &proof.left_out {
        line(out, "left out", left_out);
    }
}

/// How the relaxed problem ended, and what would take it further.
fn ended(proof: &Certificate, nodes: u64) -> &'static str {
    match proof {
        Certificate { complete: true, .. } => "solved",
        Certificate { full: true, .. } => {
            "not solved: no more open nodes can be held, so more --nodes prove no more"
        }
        _ if proof.nodes >= nodes => "not solved; more --nodes may prove more",
        _ => "not solved: it was interrupted, or the time was up",
    }
}

fn verdict(net: &NetReport, proof: &Certificate) -> String {
    if !net.reaches {
        return "it does NOT reach the target".to_owned();
    }
    let statement: &Statement = &proof.statement;
    let class = statement.class();
    let why = match statement.answer.as_ref().map(|(_, at)| *at) {
        Some(Place::Inside) | None => None,
        Some(Place::Cyclic) => Some("it has a cycle".to_owned()),
        Some(Place::Ranks(rank)) => Some(format!("it has an edge of rank {rank}")),
        Some(_) => Some("it is of another graph".to_owned()),
    };
    match (net.gap, why) {
        _ if proof.impossible => format!("it does what no {class} can"),
        _ if net.certified_optimal => format!("optimal: no {class} is better"),
        (_, Some(why)) => format!("not comparable: the bound is about every {class}, and {why}"),
        (Some(gap), None) => format!("not proven optimal: {gap:.3} times the bound"),
        (None, None) => "not proven optimal: nothing is proven yet".to_owned(),
    }
}

/// Why the relaxed optimum cannot be smaller.
fn binding_lines(
    out: &mut String,
    binding: &[Cut],
    objective: Objective,
    order: usize,
    names: ModeNames<'_>,
) {
    let mut name = "because";
    for cut in binding.iter().take(SHOWN) {
        let says = match cut.needed {
            Some(needed) => {
                format!("{} needs rank {needed}, and has {}", cut.sides(order, names), cut.width)
            }
            None => cut.bound_text(order, names),
        };
        line(out, std::mem::take(&mut name), says);
    }
    match binding.len().saturating_sub(SHOWN) {
        0 if binding.is_empty() => line(out, name, "no cut is tight: the tensor asks for no more"),
        0 => {}
        n => line(out, "", format!("and {n} more cuts")),
    }
    if objective.max_error().is_some() && !binding.is_empty() {
        line(out, "", "(no edge across these cuts can be any narrower)");
    }
}
