//! `tnsearch tgp`: tensor-train Gaussian processes, trained, used and made smaller.

mod compress;
mod predict;
mod train;

use super::options::{count, memory, real};
use super::outputs::ReportOptions;
use crate::{Exit, terminal};
use clap::{Args, Subcommand};
use std::io::IsTerminal;
use tnsearch::problem::Stop;
use tnsearch_app::tgp::{self, Measured};

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
    /// What the work may use; Ctrl-C ends it.
    fn checked(&self, stop: &Stop) -> anyhow::Result<tgp::Means> {
        let (max_seconds, threads) = (self.max_seconds, self.threads);
        let means = tgp::Means { max_seconds, threads, stop: stop.clone() };
        means.check()?;
        Ok(means)
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

/// Errors in words.
fn mse_text(m: &Measured) -> String {
    format!(
        "{:.4} training, {:.4} validation, {:.4} test (standardised)",
        m.train_mse, m.validation_mse, m.test_mse
    )
}
