//! `tnsearch space`: how large a search is, before it is started.

mod rate;
mod table;

use super::describe::line;
use super::options::{
    check_threads, count, graph_help, load_graph, load_target, memory, read_text, whole,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::Exit;
use crate::text::{number, power, span};
use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use rate::Rate;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tnsearch::geometry::{Internal, Space as Size, SpaceReport};
use tnsearch::graph::{Family, Template};
use tnsearch_io::{MemoryLimit, output::Output};
use tnsearch_report::space::{bounds_figure, growth_figure};

/// Show how large the search space of a template is.
///
/// Counts the template's symmetries, the different ways of placing the modes, and the structures with
/// ranks up to a largest one; compares them with the paper's bounds; and says how long trying them all
/// would take, where a tensor is given to measure it on.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch space --template ring --order 8 --max-rank 7
  tnsearch space --template peps:3x3 --x X.npy          and how long trying them all takes
  tnsearch space --table                                the paper's Table 1 for orders 4 to 12
  tnsearch space --figure bounds -o bounds.svg          the paper's bounds over d, N and R
  tnsearch space --figure space -o space.svg            the growth for all templates")]
pub struct Space {
    #[arg(long, value_name = "NAME|FILE", help = graph_help(""), default_value = "ring")]
    template: String,
    /// The number of modes [default: what the tensor or the template says]
    #[arg(long, value_name = "N", value_parser = whole, allow_negative_numbers = true)]
    order: Option<usize>,
    /// The largest rank of an edge
    #[arg(long, value_name = "R", default_value_t = 7, value_parser = count::<usize>, allow_negative_numbers = true)]
    max_rank: usize,
    /// Whether symmetries may exchange internal vertices (as caches do) or not (as the paper codes HT and MERA)
    #[arg(long, value_name = "FREE|FIXED", default_value = "free")]
    internal: InternalOption,
    /// A tensor to measure on how long an evaluation takes: X.npy, X.npz:key or X.safetensors:key
    #[arg(long, value_name = "TENSOR", help_heading = "Measuring")]
    x: Option<String>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Measuring")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Measuring")]
    max_memory: Option<u64>,
    /// Print the paper's Table 1 with exact values instead (Markdown)
    #[arg(long, conflicts_with_all = ["template", "order", "max_rank", "internal", "x", "figure", "json"], help_heading = "Output")]
    table: bool,
    /// Draw the paper's bounds, or the growth for all templates, instead
    #[arg(long, value_name = "BOUNDS|SPACE", requires = "output", conflicts_with_all = ["template", "order", "internal", "x", "json"], help_heading = "Output")]
    figure: Option<FigureOption>,
    /// Where the table or the figure (SVG) goes
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

/// What symmetries may do with internal vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum InternalOption {
    Free,
    Fixed,
}

impl From<InternalOption> for Internal {
    fn from(option: InternalOption) -> Internal {
        match option {
            InternalOption::Free => Internal::Free,
            InternalOption::Fixed => Internal::Fixed,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FigureOption {
    Bounds,
    Space,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    space: SpaceReport,
    rate: Option<Rate>,
    log10_exhaustive_seconds: Option<f64>,
    input: Option<&'a str>,
    version: &'a str,
}

pub fn run(args: &Space) -> anyhow::Result<Exit> {
    if args.table || args.figure.is_some() {
        return draw(args);
    }
    if args.output.is_some() {
        bail!("--output is for --table and --figure; use --json FILE for a summary");
    }
    check_threads(args.threads)?;
    let tensor = args.x.as_deref().map(tensor_path);
    let mut inputs = vec![("the template", Path::new(&args.template))];
    inputs.extend(tensor.as_deref().map(|path| ("the tensor", path)));
    check_distinct(&inputs, &[("--json", args.report.json_path())])?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let target = args.x.as_deref().map(|x| load_target(x, None, limit)).transpose()?;
    let order = match (args.order, target.as_ref().map(|t| t.dims().len())) {
        (Some(asked), Some(has)) if asked != has => {
            bail!("--order is {asked}, but the tensor has {has} modes")
        }
        (asked, has) => asked.or(has),
    };
    let template = Arc::new(template(&args.template, order)?);
    let size = Size::new(template.clone(), args.max_rank, args.internal.into())?;
    let rate = match &target {
        Some(target) => Some(rate::measure(target, &template, args.max_rank, args.threads, limit)?),
        None => None,
    };
    let exhaustive = rate.as_ref().map(|r| size.log10_size - r.per_second.log10());
    let summary = Summary {
        space: SpaceReport::new(&template, &size, args.internal.into()),
        rate,
        log10_exhaustive_seconds: exhaustive,
        input: args.x.as_deref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || text(&summary, &template))?;
    Ok(Exit::Done)
}

fn text(summary: &Summary, template: &Template) -> String {
    let s = &summary.space;
    let mut out = String::new();
    let internal = match s.vertices - s.order {
        0 => String::new(),
        n if s.internal == Internal::Free => format!(" ({n} internal, free to change places)"),
        n => format!(" ({n} internal, each fixed)"),
    };
    let degrees = match s.least_degree == s.largest_degree {
        true => format!("degree {}", s.least_degree),
        false => format!("degrees {} to {}", s.least_degree, s.largest_degree),
    };
    let (name, vertices, edges) = (template.name(), s.vertices, s.edge_count);
    let about = format!("{name}, {vertices} vertices{internal}, {}", many(edges, "edge"));
    line(&mut out, "template", format!("{about}, {degrees}"));
    let mut symmetries = exact(Some(&s.automorphisms), s.log10_automorphisms);
    if s.mode_symmetries != s.automorphisms {
        symmetries += &format!(", which move the modes in {} ways", s.mode_symmetries);
    }
    line(&mut out, "symmetries", symmetries);
    let placements = exact(Some(&s.structures), s.log10_structures);
    let ways = if s.structures == "1" { "way" } else { "different ways" };
    line(&mut out, "placements", format!("{placements} {ways} to put {} modes on it", s.order));
    let space = exact(s.search_space.as_deref(), s.log10_search_space);
    line(&mut out, "structures", format!("{space} with ranks up to {}", s.max_rank));
    if let (Some(low), Some(high)) = (s.log10_lower_bound, s.log10_upper_bound) {
        let beyond = if internal.is_empty() { "" } else { ", taken over to internal vertices" };
        let (low, high) = (power(low), power(high));
        line(&mut out, "bounds", format!("{low} to {high} (the paper's Theorem 3.1{beyond})"));
    }
    match (&summary.rate, summary.log10_exhaustive_seconds) {
        (Some(rate), Some(log10)) => {
            let (n, seconds) = (rate.samples, number(rate.seconds));
            let per_second = number(rate.per_second);
            let measured =
                format!("{per_second} structures per second (measured: {n} in {seconds} s)");
            line(&mut out, "rate", measured);
            line(&mut out, "to try all", format!("{} at this rate", span(log10)));
        }
        _ => line(&mut out, "to try all", "not measured; --x X.npy measures it on a tensor"),
    }
    out
}

/// All digits where they fit on a line, and the size where they are many.
fn exact(digits: Option<&str>, log10: f64) -> String {
    match digits {
        Some(digits) if digits.len() <= 6 => digits.to_owned(),
        Some(digits) if digits.len() <= 60 => format!("{digits} ({})", power(log10)),
        _ => power(log10),
    }
}

fn many(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The template named or in a file, with the order given or its own.
fn template(spec: &str, order: Option<usize>) -> anyhow::Result<Template> {
    match (Family::parse(spec), order) {
        (Ok(family), order) => match order.or(family.order()) {
            Some(order) => Ok(family.build(order)?),
            None => bail!("template '{spec}' has any order; give one with --order N"),
        },
        (Err(_), _) if !spec.ends_with(".json") && !Path::new(spec).exists() => {
            Ok(load_graph(spec, order.unwrap_or(0))?)
        }
        (Err(_), _) => {
            let text = read_text(Path::new(spec))?;
            let template = Template::from_json(spec, &text).map_err(|e| anyhow!("{spec}: {e}"))?;
            let has = template.order();
            match order {
                Some(asked) if asked != has => {
                    bail!("template '{spec}' has {has} external vertices, but the order is {asked}")
                }
                _ => Ok(template),
            }
        }
    }
}

/// `--table` and `--figure`.
fn draw(args: &Space) -> anyhow::Result<Exit> {
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let text = match args.figure {
        Some(FigureOption::Bounds) => bounds_figure()?,
        Some(FigureOption::Space) => growth_figure(args.max_rank)?,
        None => table::table()?,
    };
    match (output, args.output.as_deref()) {
        (Some(output), Some(path)) => {
            output.write(|w| w.write_all(text.as_bytes()))?;
            if !args.report.quiet {
                let mut out = String::new();
                line(&mut out, "written", path.display());
                crate::terminal::print(&out)?;
            }
        }
        _ => crate::terminal::print(&text)?,
    }
    Ok(Exit::Done)
}
