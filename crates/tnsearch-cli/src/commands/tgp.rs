//! `tnsearch tgp`: tensor-train Gaussian processes, trained, used and made smaller.

mod compress;
mod predict;
mod train;

use super::options::{check_seconds, check_threads, count, memory, real};
use super::outputs::ReportOptions;
use crate::{Exit, terminal};
use anyhow::anyhow;
use clap::{Args, Subcommand};
use std::io::IsTerminal;
use tnsearch::problem::Stop;

/// Gaussian process regression whose mean is a tensor network.
///
/// Tables are CSV with a header, the response last. 'train' learns a model with inducing points on a grid and a tensor train
/// for its mean, 'predict' uses it, 'compress' finds a smaller network for the mean.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch tgp train train.csv --inducing 12 --tt-rank 10 -o model.safetensors
  tnsearch tgp predict model.safetensors new.csv -o predictions.csv
  tnsearch tgp compress model.safetensors train.csv --max-mse-loss 0.01 -o small.safetensors")]
pub struct Tgp {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Train(train::Train),
    Predict(predict::Predict),
    Compress(compress::Compress),
}

pub fn run(args: &Tgp) -> anyhow::Result<Exit> {
    match &args.command {
        Command::Train(args) => train::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Compress(args) => compress::run(args),
    }
}

/// What work may use, and how it is shown.
#[derive(Debug, Args)]
struct Means {
    /// End after this many seconds with the best so far [default: none to train, 120 to compress]
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    /// Show progress where standard error is no terminal, too
    #[arg(long, help_heading = "Output")]
    progress: bool,
    #[command(flatten)]
    report: ReportOptions,
}

impl Means {
    fn check(&self) -> anyhow::Result<()> {
        check_seconds(self.max_seconds)?;
        Ok(check_threads(self.threads)?)
    }

    /// The stop of the work: Ctrl-C, or the time.
    fn stop(&self, ctrl_c: &Stop) -> Stop {
        self.max_seconds.map_or_else(|| ctrl_c.child(), |s| ctrl_c.within_seconds(s))
    }

    /// Runs on as many threads as asked for.
    fn install<R: Send>(&self, work: impl FnOnce() -> R + Send) -> anyhow::Result<R> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.threads.unwrap_or(0)).build();
        Ok(pool.map_err(|e| anyhow!("cannot start the threads: {e}"))?.install(work))
    }

    /// Whether progress is shown.
    fn shown(&self) -> bool {
        !self.report.quiet && (self.progress || std::io::stderr().is_terminal())
    }

    /// Shows a line of progress.
    fn show(&self, kind: &str, text: &str) {
        if self.shown() {
            terminal::note(kind, text);
        }
    }
}
