//! `tnsearch compare`: every method on one tensor, side by side.

use super::data::ReshapeOptions;
use super::describe::line;
use super::options::{DtypeOptions, count, memory, real, seed};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::{duration, number};
use crate::{Exit, hold, interrupt, terminal};
use clap::Args;
use indicatif::ProgressBar;
use serde::Serialize;
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tnsearch::problem::{AskedObjective, Measure, Objective};
use tnsearch::search::AskedSearch;
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_app::compare::{AskedComparison, Comparison, Contender, Row, Step, contenders};
use tnsearch_io::MemoryLimit;

/// Compare all methods on one tensor: the default search, fixed formats without a search, other strategies.
///
/// Each has the same budget, and does what 'search' and 'decompose' do by that name. Those that reach the error stand
/// first, the fewest params at the top.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch compare X.npy --max-re 0.1
  tnsearch compare X.npy --max-params 5000 --max-seconds 30 --json out.json
  tnsearch compare X.npy --max-re 0.01 --methods default,tt-svd,hosvd,tnls --max-evaluations 50")]
pub struct Compare {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    /// Fewest params with a relative error (RE) of at most this: 0.01 is one percent [default: 0.01]
    #[arg(long, group = "objective", value_name = "RE", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    max_re: Option<f64>,
    /// The same by the RSE, which is the square of the RE
    #[arg(long, group = "objective", value_name = "RSE", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    max_rse: Option<f64>,
    /// Smallest error with at most this many params
    #[arg(long, group = "objective", value_name = "P", value_parser = count::<u128>, allow_negative_numbers = true, help_heading = "Objective")]
    max_params: Option<u128>,
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help = methods_help(), help_heading = "Methods")]
    methods: Vec<String>,
    /// The largest rank of an edge in searches [default: as in 'search']
    #[arg(long, value_name = "R", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Methods")]
    max_rank: Option<usize>,
    /// Searches begin at random, as in the paper: not with what truncated SVDs give
    #[arg(long, help_heading = "Methods")]
    no_direct: bool,
    /// The seed of all methods
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Methods")]
    seed: u64,
    /// Each method ends after this many seconds with its best so far [default: 10; none where --max-evaluations is given]
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Each search fits at most this many structures
    #[arg(long, value_name = "N", value_parser = count::<u64>, allow_negative_numbers = true, help_heading = "Budgets")]
    max_evaluations: Option<u64>,
    /// Threads of searches [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
    /// Show progress also where standard error is no terminal
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    progress: bool,
}

fn methods_help() -> String {
    let names: Vec<String> = contenders().iter().map(Contender::name).collect();
    format!("Only these of: {} [default: all]", names.join(", "))
}

#[derive(Serialize)]
struct Summary<'a> {
    order: usize,
    dims: &'a [usize],
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    objective: Objective,
    rows: &'a [Row],
    verdict: String,
    target_reached: bool,
    interrupted: bool,
    max_seconds: Option<f64>,
    max_evaluations: Option<u64>,
    seed: u64,
    seconds: f64,
    input: &'a str,
    version: &'a str,
}

pub fn run(args: &Compare) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let limit = MemoryLimit::new(args.max_memory);
    // Wrong numbers and names are refused before a large file is read.
    let compare = args.asked().check(limit)?;
    let wanted = args.reshaping.check()?;
    check_distinct(
        &[("the tensor", &tensor_path(&args.tensor))],
        &[("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let data = wanted.load(&args.tensor, args.numbers.dtype, None, limit)?;
    let stop = interrupt::on_ctrl_c();
    let mut shown = Shown::new(args.report.quiet, args.progress);
    let found = compare.run(&data.target, &stop, |step| {
        if let Step::Begin { number, .. } = step {
            hold::at(&format!("method {number}"), &stop);
        }
        shown.hear(step);
    });
    drop(shown);
    let target_reached = found.rows.iter().any(|row| row.target_reached);
    let budget = compare.search();
    let summary = Summary {
        order: data.target.dims().len(),
        dims: data.target.dims(),
        dtype: data.target.kind(),
        reshaped: data.reshape.as_ref(),
        objective: found.objective,
        rows: &found.rows,
        verdict: found.verdict(),
        target_reached,
        interrupted: found.interrupted,
        max_seconds: budget.max_seconds,
        max_evaluations: budget.max_evaluations,
        seed: args.seed,
        seconds: begun.elapsed().as_secs_f64(),
        input: &args.tensor,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        data.lines(&mut out, &args.tensor);
        text(&mut out, &found, budget, summary.seconds);
        out
    })?;
    Ok(match (found.interrupted, target_reached) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::NotReached,
    })
}

fn text(out: &mut String, found: &Comparison, budget: &AskedSearch, seconds: f64) {
    line(out, "objective", found.objective.text(&Measure::RSE));
    let limits = [
        budget.max_seconds.map(|s| format!("{} s", number(s))),
        budget.max_evaluations.map(|n| format!("{n} evaluations")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let (methods, took) = (found.rows.len(), duration(seconds));
    let each = limits.join(" and ");
    line(out, "compared", format!("{methods} methods, at most {each} each, in {took}"));
    out.push_str(&format!("\n{found}\n"));
    line(out, "verdict", found.verdict());
}

impl Compare {
    fn asked(&self) -> AskedComparison {
        let objective = AskedObjective {
            max_re: self.max_re,
            max_rse: self.max_rse,
            max_params: self.max_params,
            ..AskedObjective::default()
        };
        AskedComparison {
            search: AskedSearch {
                objective,
                max_rank: self.max_rank,
                seed: self.seed,
                direct: !self.no_direct,
                max_evaluations: self.max_evaluations,
                max_seconds: self.max_seconds,
                threads: self.threads,
                ..AskedSearch::default()
            },
            methods: self.methods.clone(),
        }
    }
}

/// Progress on standard error: one line that changes on a terminal, a line for each method elsewhere if asked.
enum Shown {
    Hidden,
    Bar(ProgressBar),
    Lines,
}

impl Shown {
    fn new(quiet: bool, asked: bool) -> Self {
        match std::io::stderr().is_terminal() {
            _ if quiet => Shown::Hidden,
            true => {
                let bar = ProgressBar::new_spinner();
                bar.enable_steady_tick(Duration::from_millis(200));
                Shown::Bar(bar)
            }
            false if asked => Shown::Lines,
            false => Shown::Hidden,
        }
    }

    fn hear(&mut self, step: Step<'_>) {
        match (self, step) {
            (Shown::Bar(bar), Step::Begin { number, of, method }) => {
                bar.set_message(format!("{number} of {of} methods: {method}"));
            }
            (Shown::Lines, Step::End(row)) => {
                let what = match (&row.reason, row.params, row.re) {
                    (None, Some(params), Some(re)) => format!("{params} params, RE {}", number(re)),
                    (reason, ..) => reason.clone().unwrap_or_default(),
                };
                let took = duration(row.seconds);
                terminal::note("progress", &format!("{}: {what}, in {took}", row.method));
            }
            _ => {}
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if let Shown::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
