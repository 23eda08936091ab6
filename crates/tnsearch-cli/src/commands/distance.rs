//! `tnsearch distance`: how far apart two structures are.

use super::describe::line;
use super::options::memory;
use super::outputs::{ReportOptions, check_distinct};
use super::space::InternalOption;
use crate::Exit;
use crate::text::number;
use clap::Args;
use serde::Serialize;
use std::borrow::Cow;
use std::path::PathBuf;
use tnsearch::geometry::{Internal, Placements};
use tnsearch::graph::TemplateRef;
use tnsearch_app::structures::load_structure;
use tnsearch_io::MemoryLimit;

/// Show how far apart two structures of one template are.
///
/// The distance is the paper's semi-metric (its equation 6): the fewest swaps of modes on consecutive
/// vertices that turn a way of writing the first into a way of writing the second. It depends on how the
/// template's vertices are numbered. A structure is a structure file, the JSON summary of a search, or a network.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch distance a.json b.json
  tnsearch distance hidden.json found.json --json -
  tnsearch distance hidden.json net.safetensors")]
pub struct Distance {
    /// A structure: a structure file, the JSON of a search, or a network
    a: PathBuf,
    /// Another one of the same template
    b: PathBuf,
    /// Whether symmetries may exchange internal vertices (as caches do) or not (as the paper codes HT and MERA)
    #[arg(long, value_name = "FREE|FIXED", default_value = "free")]
    internal: InternalOption,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    template: TemplateRef,
    order: usize,
    internal: Internal,
    distance: u64,
    swaps: Option<usize>,
    rank_distance: Option<f64>,
    same_network: bool,
    inputs: [Cow<'a, str>; 2],
    version: &'a str,
}

pub fn run(args: &Distance) -> anyhow::Result<Exit> {
    check_distinct(
        &[("the first structure", &args.a), ("the second structure", &args.b)],
        &[("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let load = |path| load_structure(path, limit).map(|loaded| loaded.structure);
    let (a, b) = (load(&args.a)?, load(&args.b)?);
    let placements = Placements::new(a.template().clone(), args.internal.into())?;
    let distance = placements.distance(&a, &b)?;
    let summary = Summary {
        template: a.template().to_ref(),
        order: a.template().order(),
        internal: args.internal.into(),
        distance: distance.semi_metric,
        swaps: distance.swaps,
        rank_distance: distance.ranks,
        same_network: a.canonical().graph == b.canonical().graph,
        inputs: [args.a.to_string_lossy(), args.b.to_string_lossy()],
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let (name, order) = (a.template().name(), a.template().order());
        let symmetries = placements.automorphisms().order();
        let symmetries = match symmetries.bits() {
            0..64 => format!("{symmetries} symmetries"),
            _ => "more than 10^19 symmetries".to_owned(),
        };
        line(&mut out, "template", format!("{name} of order {order}, {symmetries}"));
        let steps = match summary.distance {
            0 => "0: the modes are placed alike".to_owned(),
            d => format!("{d} (swaps of modes on consecutive vertices, at least)"),
        };
        line(&mut out, "distance", steps);
        if let Some(swaps) = summary.swaps {
            line(&mut out, "swaps", format!("{swaps} of any two modes, at least"));
        }
        if let Some(ranks) = summary.rank_distance {
            line(&mut out, "ranks", format!("{} apart (Euclidean)", number(ranks)));
        }
        let verdict = match (summary.same_network, summary.distance) {
            (true, 0) => "the same structure",
            (true, _) => "the same network: they differ in edges of rank 1 only",
            (false, _) => "two structures",
        };
        line(&mut out, "so", verdict);
        out
    })?;
    Ok(Exit::Done)
}
