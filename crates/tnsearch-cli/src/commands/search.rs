//! `tnsearch search`: the smallest network for a tensor.

mod record;
mod strategies;
mod summary;

use record::Recorder;
pub use summary::proof;

use strategies::{Plan, Setting, StrategyOptions};

use super::bounds;
use super::options::{
    DtypeOptions, FitOptions, ObjectiveOptions, count, load_target, load_template, memory, method,
    real, seed,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::files::{MemoryLimit, output::Output};
use crate::journal::{self, DiskJournal};
use crate::progress::Display;
use crate::{Exit, interrupt, terminal};
use anyhow::bail;
use clap::Args;
use serde_json::{Value, json};
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tnsearch::bound::{CutBound, Relaxation};
use tnsearch::fit::{CheckedFit, Method};
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::{CheckedObjective, Objective};
use tnsearch::problem::{Stop, Target};
use tnsearch::rng;
use tnsearch::search::{CheckedRunner, FitEvaluator, Runner, RunnerSettings};
use tnsearch::tensor::size;

/// Structures that may be under way at a time; each takes some hundred bytes.
const MAX_GENERATION: usize = 1_000_000;

/// Find the smallest network for a tensor.
///
/// TENSOR is a .npy file, or an array in an archive as FILE.npz:KEY or FILE.safetensors:KEY.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch search X.npy --max-rse 1e-4 -o net.safetensors
      fewest params with a squared relative error of at most 1e-4, as a tensor ring
  tnsearch search weights.safetensors:layer.3 --template path --max-params 20000 --max-rank 32
      smallest error with at most 20000 params, as a tensor train
  tnsearch search X.npz:x --template ring --lambda 200 --runs 5 --seed 1 --json out.json
      the paper's objective and settings, best of five runs
  tnsearch search X.npy --journal run.jsonl --resume --max-seconds 3600
      an hour at a time; finished work is never repeated")]
pub struct Search {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,

    #[command(flatten)]
    objective: ObjectiveOptions,

    /// path, ring, star, tree, complete, peps:RxC, ht, mera, or a JSON file with a graph
    #[arg(long, value_name = "NAME|FILE", default_value = "ring", help_heading = "Search")]
    template: String,
    /// The largest rank of an edge; larger tensors may need more
    #[arg(long, value_name = "R", default_value_t = 7, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Search")]
    max_rank: usize,
    #[command(flatten)]
    strategy: StrategyOptions,
    /// Independent runs with derived seeds; the best counts
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Search")]
    runs: usize,
    /// Same seed, same data, same settings: same result, at any number of threads
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Search")]
    seed: u64,
    /// Fit every structure that is proposed, also where a bound proves that it cannot win
    #[arg(long, help_heading = "Search")]
    no_prune: bool,
    /// Nodes that may be expanded after the search to prove a lower bound; 0: prove none (200000 take seconds)
    #[arg(long, value_name = "N", default_value_t = 200_000, help_heading = "Search")]
    certificate_nodes: u64,

    /// How cores are fitted: als, adam or lm
    #[arg(long, value_name = "METHOD", default_value = "als", value_parser = method, help_heading = "Fitting")]
    fit: Method,
    #[command(flatten)]
    fitting: FitOptions,

    /// Do not fit structures with this many times the tensor's entries as params, or more
    #[arg(long, value_name = "PHI", default_value_t = 10.0, value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_phi: f64,
    /// Nor those of which an ALS sweep takes more than this many multiply-adds an entry of the tensor [default:
    /// no limit; tnga-star and greedy: 1000]
    #[arg(long, value_name = "COST", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_cost: Option<f64>,
    /// Fit at most this many structures
    #[arg(long, value_name = "N", value_parser = count::<u64>, allow_negative_numbers = true, help_heading = "Budgets")]
    max_evaluations: Option<u64>,
    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Threads [default: one a processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,

    /// Keep a record of every evaluation in this file
    #[arg(long, value_name = "FILE", help_heading = "Journal")]
    journal: Option<PathBuf>,
    /// Continue the search in the journal; starts anew where there is none
    #[arg(long, requires = "journal", help_heading = "Journal")]
    resume: bool,

    /// Write the network found (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write a page about the search: pictures and plain words in one HTML file
    #[arg(long = "report", value_name = "FILE", help_heading = "Output")]
    page: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
    /// Show progress also where standard error is no terminal
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    progress: bool,
}

/// The settings of a search, all checked.
struct Settings {
    objective: CheckedObjective,
    plan: Plan,
    fit: CheckedFit,
    runner: RunnerSettings,
}

pub fn run(args: &Search) -> anyhow::Result<Exit> {
    let limit = MemoryLimit::new(args.max_memory);
    let mut settings = args.settings(limit)?;
    check_distinct(
        &[("the tensor", &tensor_path(&args.tensor)), ("the template", Path::new(&args.template))],
        &[
            ("--output", args.output.as_deref()),
            ("--json", args.report.json_path()),
            ("--journal", args.journal.as_deref()),
            ("--report", args.page.as_deref()),
        ],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let page = args.page.as_deref().map(Output::check).transpose()?;

    let target = load_target(&args.tensor, args.numbers.dtype, limit)?;
    let dims = target.dims();
    let template = Arc::new(load_template(&args.template, dims.len())?);
    if let Objective::MaxParams(budget) = settings.objective.get() {
        let least =
            Structure::identity(template.clone(), vec![1; template.edges().len()])?.params(dims);
        if budget < least {
            bail!(
                "--max-params {budget} is too few: with all ranks 1 this template has {least} params"
            );
        }
    }
    // As many fits at a time as memory allows: a fit holds a few copies of the tensor.
    let fits = u128::from(limit.bytes()) / size(dims).saturating_mul(8 * 4);
    settings.runner.max_parallel = Some(usize::try_from(fits).unwrap_or(usize::MAX).max(1));
    let budgets = settings.runner.clone().check()?;
    let header = args.header(&settings, &template, &target);
    let (disk, records) = match &args.journal {
        Some(path) => {
            let (journal, records) = DiskJournal::open(path, &header, args.resume)?;
            (Some(journal), records)
        }
        None => (None, Vec::new()),
    };
    let mut recorder = Recorder::begin(args, disk, &records)?;

    let interrupt = interrupt::on_ctrl_c()?;
    let begun = Instant::now();
    let clock = Clock::start(&interrupt, args.max_seconds);
    let bound = args.bound(&settings, &target, &template, limit, &clock)?;
    let open_bytes = limit.bytes() as f64 / 4.0 / args.runs as f64;
    let relaxation = |bound, hurry| {
        let (objective, max_rank) = (settings.objective, args.max_rank);
        Relaxation::stoppable(template.clone(), objective, bound, max_rank, &clock.late, hurry)
            .within(open_bytes)
    };
    // All runs start from the same relaxed problem; its tables are made once.
    let shared: OnceCell<Relaxation> = OnceCell::new();
    let relax = |bound| shared.get_or_init(|| relaxation(bound, &clock.hurry)).clone();
    let prepared;
    let mut result = {
        let evaluator = FitEvaluator { target: &target, settings: settings.fit.clone() };
        let mut display = Display::new(args.report.quiet, args.progress, &settings.runner);
        let setting = Setting {
            template: &template,
            dims,
            objective: settings.objective,
            bound: bound.as_ref(),
            relax: &relax,
        };
        let strategies = (0..args.runs)
            .map(|k| settings.plan.strategy(&setting, rng::derived_seed(args.seed, k)));
        let mut strategies = strategies.collect::<Result<Vec<_>, _>>()?.into_iter();
        prepared = begun.elapsed().as_secs_f64();
        let mut runner = Runner::new(dims, settings.objective, &evaluator)
            .runs(args.seed, args.runs, |_| {
                strategies.next().unwrap_or_else(|| unreachable!("one a run"))
            })
            .settings(args.left_after(prepared, &settings)?)
            .resume(records)
            .observer(&mut display)
            .interrupt(&interrupt);
        if recorder.wanted() {
            runner = runner.journal(&mut recorder);
        }
        // Where Ctrl-C came during the preparation, the spectra are still to be computed: then no proof.
        if let Some(bound) = bound.as_ref().filter(|_| !interrupt.is_set()) {
            if !args.no_prune {
                runner = runner.prune(bound);
            }
            // A bound over the template says nothing about other graphs.
            if args.certificate_nodes > 0 && !settings.plan.leaves_template() {
                runner = runner.certify(|| relaxation(bound, &clock.late), args.certificate_nodes);
            }
        }
        runner.search()?
    };
    result.seconds += prepared;
    let end = recorder.end(&result);
    if let Some(e) = result.journal_error.as_ref().or(end.as_ref().err()) {
        terminal::note("warning", &format!("the journal is incomplete: {e}"));
    }
    let exit = summary::finish(
        args,
        &settings,
        &budgets,
        &template,
        (dims, target.kind()),
        result,
        output.as_ref(),
        &report,
    )?;
    if let (Some(page), Ok(end)) = (&page, end) {
        recorder.page(args, &header, end, &target, bound.as_ref(), limit, &interrupt, page)?;
    }
    Ok(exit)
}

/// What is told when the time is running out, and when it is up.
struct Clock {
    /// A third of it is spent: proofs give way to fits.
    hurry: Stop,
    late: Stop,
}

impl Clock {
    fn start(stop: &Stop, max_seconds: Option<f64>) -> Self {
        let seconds = max_seconds.unwrap_or(f64::INFINITY);
        let late = stop.within_seconds(seconds);
        Clock { hurry: late.within_seconds(seconds / 3.0), late }
    }
}

impl Search {
    fn settings(&self, limit: MemoryLimit) -> anyhow::Result<Settings> {
        let objective = self.objective.check()?;
        let enough_rse = match objective.get() {
            Objective::MaxError(eps) => Some(eps),
            _ => None,
        };
        let plan = self.strategy.plan(self.max_rank, self.runs)?;
        let runner = RunnerSettings {
            max_evaluations: self.max_evaluations,
            max_seconds: self.max_seconds,
            threads: self.threads,
            max_phi: self.max_phi,
            max_cost: self.max_cost.or(plan.max_cost()),
            ..RunnerSettings::default()
        };
        runner.clone().check()?;
        // Exact search fits few structures, so each is worth more.
        let rescue = if plan.exact().is_some() { 8 } else { 0 };
        Ok(Settings {
            objective,
            plan,
            fit: self.fitting.settings(self.fit, rescue, enough_rse, None, limit)?,
            runner,
        })
    }

    /// The budgets, less the time that the preparation took.
    fn left_after(&self, seconds: f64, settings: &Settings) -> anyhow::Result<CheckedRunner> {
        let max_seconds = self.max_seconds.map(|s| (s - seconds).max(s / 100.0));
        Ok(RunnerSettings { max_seconds, ..settings.runner.clone() }.check()?)
    }

    /// The bound from the tensor's cuts, in at most a third of the time allowed; none where they take too much memory,
    /// which only exact search cannot do without.
    fn bound(
        &self,
        settings: &Settings,
        target: &Target,
        template: &Template,
        limit: MemoryLimit,
        clock: &Clock,
    ) -> anyhow::Result<Option<CutBound>> {
        let svd = bounds::needs_svd(settings.objective.get());
        let spectra =
            bounds::check_template(template).and_then(|()| bounds::spectra(target, svd, limit));
        let spectra = match spectra {
            Ok(spectra) => spectra,
            Err(e) if settings.plan.needs_bounds() => return Err(e),
            Err(_) => return Ok(None),
        };
        let spectra = spectra.stoppable(&clock.late);
        bounds::prepare(&spectra, self.threads, limit, &clock.hurry)?;
        Ok(Some(CutBound::new(spectra)))
    }

    /// All that decides the result: what the first line of a journal holds. Budgets, threads and
    /// memory may change from one part of a search to the next.
    fn header(&self, settings: &Settings, template: &Template, target: &Target) -> Value {
        let mut fit = json!(*settings.fit);
        if let Some(fields) = fit.as_object_mut() {
            fields.remove("max_bytes");
            // This follows from the objective.
            fields.remove("enough_rse");
        }
        json!({
            "format": journal::FORMAT,
            "version": journal::VERSION,
            "tnsearch": env!("CARGO_PKG_VERSION"),
            "data": {"dims": target.dims(), "sha256": journal::fingerprint(target)},
            "template": template.to_ref(),
            "objective": settings.objective.get(),
            "strategy": self.strategy.name,
            "settings": settings.plan.settings(),
            "exact": settings.plan.exact().map(|exact| (**exact).clone()),
            "fit": fit,
            "max_phi": settings.runner.max_phi,
            "max_cost": settings.runner.max_cost,
            "seed": self.seed,
            "runs": self.runs,
        })
    }
}
