//! `tnsearch reproduce`: the paper's experiments.

use super::options::{check_threads, count, method, seed};
use crate::text::duration;
use crate::{Exit, interrupt, terminal};
use anyhow::{anyhow, bail};
use clap::Args;
use serde_json::json;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tnsearch::fit::Method;
use tnsearch::search::Budget;
use tnsearch_io::lines::{Kind, LinesFile, warnings};
use tnsearch_io::{Picture, io_text, output::Output};
use tnsearch_paper::{Cell, Experiment, Options, ReproduceError, Setup, Task};

/// The file of results. Other programs may search otherwise, so their results are not mixed.
static KIND: Kind = Kind {
    format: "tnsearch-reproduce",
    name: "file of results",
    ordered: false,
    settle: |_, _| {},
};
/// Its name in the folder.
const RESULTS: &str = "results.jsonl";

/// Rerun one of the paper's experiments.
///
/// table2 (rings, all methods), table3 (trees, lattices, HT, MERA), fig-cover (ranks under different maps of the
/// modes), fig-convergence (loss against evaluations), fig-lambda (the weight of the error); on pictures of --data:
/// table-compression, table-completion; on tables of --data: table-tgp. Tables (Markdown, CSV) and pictures (SVG, PNG) go to the folder, with the
/// paper's numbers beside ours. What is done stays done: the same command goes on where it was stopped.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch reproduce table2 --quick -o /tmp/table2      see it work, within a minute
  tnsearch reproduce table2 -o results/table2           all of it: about an hour on 2 cores
  tnsearch reproduce table3 -o results/table3           90 minutes; --only TNLS for a part of it
  tnsearch reproduce table-compression --data DIR --only TNLS -o results/compression
  tnsearch reproduce table-tgp --data DIR --only ours -o results/tgp")]
pub struct Reproduce {
    /// table2, table3, fig-cover, fig-convergence, fig-lambda, table-compression, table-completion or table-tgp
    name: String,
    /// The folder of the measured data, for experiments on pictures (images/bsd-gray256/*.png, images/usc-sipi/*.png) and models
    /// (regression/*.csv)
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The folder for the results; made if it is not there
    #[arg(long, short, value_name = "DIR")]
    output: PathBuf,
    /// A small version that shows how it works
    #[arg(long)]
    quick: bool,
    /// Tensors of each kind, or pictures [default: as in the paper]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    trials: Option<usize>,
    /// Runs of each sampling method on each tensor; in table3, TNLS makes four times as many [default: 5]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    runs: Option<usize>,
    /// Another seed, other tensors
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true)]
    seed: u64,
    /// How structures are fitted, by all methods: als, lm, or adam as in the paper
    #[arg(long, value_name = "METHOD", default_value = "als", value_parser = method)]
    fit: Method,
    /// Short starts for each start of a fit, of which the best goes on [default: 8 in table3 (als, lm), else 1]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    scouts: Option<usize>,
    /// Only results whose names contain this, such as TNLS or "mera-8 A"; the others can follow later
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Results made at the same time, each with its share of the threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<usize>, allow_negative_numbers = true)]
    at_once: usize,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Show progress where standard error is no terminal, too
    #[arg(long)]
    progress: bool,
    /// No progress
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Reproduce) -> anyhow::Result<Exit> {
    let options = Options::default().with(|o| {
        o.quick = args.quick;
        o.trials = args.trials;
        o.runs = args.runs;
        o.seed = args.seed;
        o.data = args.data.clone();
    });
    let experiment = Experiment::new(&args.name, options, Vec::new())?;
    let asked = |t: &&Task| args.only.as_ref().is_none_or(|text| t.key.contains(text));
    if let Some(text) = args.only.as_ref().filter(|_| !experiment.tasks.iter().any(|t| asked(&t))) {
        let example = experiment.tasks.first().map_or("", |t| &t.key);
        bail!("--only {text:?} is in the name of no result; names are like {example:?}");
    }
    let interrupt = interrupt::on_ctrl_c();
    let scouts = args.scouts.unwrap_or(experiment.scouts(args.fit));
    check_threads(args.threads)?;
    let budget = Budget::default().with(|b| b.threads = args.threads);
    let at_once = args.at_once.min(budget.threads());
    let threads = if at_once > 1 { Some(budget.threads() / at_once) } else { args.threads };
    let setup = Setup::new(args.fit, scouts, threads, interrupt)?;
    let folder = &args.output;
    if folder.exists() && !folder.is_dir() {
        bail!("{} is a file; --output needs a folder", folder.display());
    }
    std::fs::create_dir_all(folder)
        .map_err(|e| anyhow!("cannot make the folder {}: {}", folder.display(), io_text(&e)))?;
    let header = json!({
        "format": KIND.format,
        "version": 1,
        "tnsearch": env!("CARGO_PKG_VERSION"),
        "experiment": experiment.name,
        "quick": args.quick,
        "seed": args.seed,
        "fit": *setup.fit,
    });
    let (mut results, mut cells) =
        LinesFile::open(&folder.join(RESULTS), &KIND, &header, true, |_| Ok(Vec::<Cell>::new()))?;
    for said in warnings(results.path(), results.damaged(), "that result is made again") {
        terminal::note("warning", &said);
    }
    let done: HashSet<String> = cells.iter().map(|c| c.key.clone()).collect();
    let left: Vec<&Task> =
        experiment.tasks.iter().filter(asked).filter(|t| !done.contains(&t.key)).collect();
    let shown = !args.quiet && (args.progress || std::io::stderr().is_terminal());
    let work = Work { folder, setup: &setup, left: &left, next: AtomicUsize::new(0) };
    let desk = Mutex::new(Desk {
        results: &mut results,
        cells: &mut cells,
        progress: Progress::new(shown, &left),
    });
    let exit = work.run(&desk, at_once)?;
    write(folder, &experiment, &cells, &setup)?;
    let made: HashSet<&str> = cells.iter().map(|c| c.key.as_str()).collect();
    let count = experiment.tasks.iter().filter(|t| made.contains(t.key.as_str())).count();
    if !args.quiet {
        terminal::print(&format!(
            "{} of {} results; tables and pictures in {}\n",
            count,
            experiment.tasks.len(),
            folder.display()
        ))?;
    }
    Ok(exit)
}

/// What is to be made.
struct Work<'w> {
    folder: &'w Path,
    setup: &'w Setup,
    left: &'w [&'w Task],
    /// The number of the result that nobody has begun yet.
    next: AtomicUsize,
}

/// Where what was made is put down.
struct Desk<'d> {
    results: &'d mut LinesFile,
    cells: &'d mut Vec<Cell>,
    progress: Progress,
}

impl Work<'_> {
    /// Makes all results, some at the same time.
    fn run(&self, desk: &Mutex<Desk>, at_once: usize) -> anyhow::Result<Exit> {
        let ends: Vec<anyhow::Result<Exit>> = std::thread::scope(|scope| {
            let start = |_| {
                let thread = std::thread::Builder::new();
                thread.spawn_scoped(scope, || self.one_by_one(desk))
            };
            // Where the system has no more, fewer do it; where not one, this thread.
            let workers: Vec<_> = (0..at_once).map_while(|k| start(k).ok()).collect();
            if workers.is_empty() {
                return vec![self.one_by_one(desk)];
            }
            let lost = || Err(anyhow!("a thread ended before its work was done"));
            workers.into_iter().map(|w| w.join().unwrap_or_else(|_| lost())).collect()
        });
        let mut exit = Exit::Done;
        for end in ends {
            if matches!(end?, Exit::Interrupted) {
                exit = Exit::Interrupted;
            }
        }
        Ok(exit)
    }

    fn one_by_one(&self, desk: &Mutex<Desk>) -> anyhow::Result<Exit> {
        let lock = || desk.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.left.get(number) else { return Ok(Exit::Done) };
            lock().progress.begin(number, task);
            let made = match task.make(self.setup) {
                Ok(made) => made,
                Err(error) => {
                    // The others end with what they are at.
                    self.next.store(self.left.len(), Ordering::Relaxed);
                    return match error {
                        ReproduceError::Interrupted => Ok(Exit::Interrupted),
                        other => Err(anyhow!("{}: {other}", task.key)),
                    };
                }
            };
            let desk = &mut *lock();
            // First the pictures: a result that is there has its own.
            if let Some(shown) = &made.pictures {
                write_pictures(self.folder, &task.files(shown))?;
            }
            desk.results.append(&made.cell)?;
            desk.results.sync()?;
            desk.cells.push(made.cell);
        }
    }
}

/// Writes pictures under their names in the folder.
fn write_pictures(folder: &Path, files: &[(String, &Picture)]) -> anyhow::Result<()> {
    for (name, picture) in files {
        let path = folder.join(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(|e| {
                anyhow!("cannot make the folder {}: {}", parent.display(), io_text(&e))
            })?;
        }
        tnsearch_io::picture::write(&Output::check(&path)?, picture)?;
    }
    Ok(())
}

/// Writes the tables and pictures of the results there are.
fn write(
    folder: &Path,
    experiment: &Experiment,
    cells: &[Cell],
    setup: &Setup,
) -> anyhow::Result<()> {
    let output = experiment.output(cells, setup);
    let name = experiment.name;
    let mut markdown = output.markdown;
    for (file, _) in &output.figures {
        markdown += &format!("![{name}]({file})\n");
    }
    let texts = [(format!("{name}.md"), markdown), (format!("{name}.csv"), output.csv)];
    for (file, text) in texts.into_iter().chain(output.figures) {
        Output::check(&folder.join(file))?.write(|w| w.write_all(text.as_bytes()))?;
    }
    Ok(())
}

/// A line for each result on standard error: which, and how long the rest may take.
struct Progress {
    shown: bool,
    count: usize,
    begun: Instant,
    /// The work of all results, and of those done.
    work: f64,
    done: f64,
}

/// What a result costs against others, very roughly: fits of a larger order take longer, and there are more of
/// them.
fn work(task: &Task) -> f64 {
    (task.order as f64).powi(6)
}

impl Progress {
    fn new(shown: bool, left: &[&Task]) -> Self {
        let work = left.iter().map(|t| work(t)).sum();
        Progress { shown, count: left.len(), begun: Instant::now(), work, done: 0.0 }
    }

    fn begin(&mut self, number: usize, task: &Task) {
        let spent = self.begun.elapsed().as_secs_f64();
        let rest = spent / self.done * (self.work - self.done);
        let left = match self.done > 0.0 {
            true => format!(", about {} left", duration(rest)),
            false => String::new(),
        };
        self.done += work(task);
        if self.shown {
            terminal::note(
                &format!("{} of {}", number + 1, self.count),
                &format!("{} ({}{left})", task.key, duration(spent)),
            );
        }
    }
}
