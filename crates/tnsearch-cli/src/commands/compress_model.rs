//! `tnsearch compress-model`: the weights of a model, made smaller.

mod shown;

use super::declared::Options;
use super::options::{count, memory};
use super::outputs::ReportOptions;
use crate::{Exit, hold, interrupt, terminal};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tnsearch_app::models::{ModelOrder, compress_model};
use tnsearch_io::weights::{journal_path, shown as named};
use tnsearch_io::{MemoryLimit, output::Output};
use tnsearch_models::{AskedModel, Event, ModelError, Summary};

/// Make the weights of a model smaller, within one budget over all its layers.
///
/// MODEL is a safetensors file. Every matrix, embedding and kernel that gains becomes a sum of Kronecker products and an SVD,
/// or a tree of cores; the rest is left alone. OUTPUT holds the cores and says what they are; 'decompress-model' gives dense
/// weights back. One layer at a time is in memory.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("model-goal").args(["keep_re", "max_params", "max_bytes", "max_multiply_adds", "max_loss"]))]
#[command(after_help = "Examples:
  tnsearch compress-model model.safetensors --keep-re 0.05 -o small.safetensors --report small.html
  tnsearch compress-model model.safetensors --max-params 200000 --calibration acts.safetensors -o small.safetensors
      errors are measured on the outputs of each layer, for the inputs in acts.safetensors
  tnsearch compress-model model.safetensors --max-loss 'python eval.py' --allow 0.01 -o small.safetensors
      as small as goes while the number that eval.py prints for a model file rises by 0.01 at most
  tnsearch decompress-model small.safetensors -o dense.safetensors")]
pub struct CompressModel {
    /// The model (safetensors)
    model: PathBuf,
    /// The file to write: cores and what they are (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    #[command(flatten)]
    asked: Options<AskedModel>,
    /// Measure errors on the outputs of each layer: a safetensors file with a tensor for each, NAME for inputs (one to a row)
    /// or NAME.covariance
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    calibration: Option<PathBuf>,
    /// Write the dense weights, too (safetensors)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    dense: Option<PathBuf>,
    /// Write a page with the table of layers
    #[arg(long = "report", value_name = "FILE", help_heading = "Output")]
    page: Option<PathBuf>,
    #[command(flatten)]
    summary: ReportOptions,
    /// Go on with a run that was ended: OUTPUT.journal and OUTPUT.part
    #[arg(long, help_heading = "Budgets")]
    resume: bool,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse a layer that needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    /// Show progress also where standard error is no terminal
    #[arg(long, help_heading = "Output")]
    progress: bool,
}

/// The JSON of the command.
#[derive(Serialize)]
struct Reported<'a> {
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    #[serde(flatten)]
    summary: &'a Summary,
}

pub fn run(args: &CompressModel) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let report = args.summary.check()?;
    let page = args.page.as_deref().map(Output::check).transpose()?;
    let stop = interrupt::on_ctrl_c();
    let order = ModelOrder {
        model: &args.model,
        output: &args.output,
        calibration: args.calibration.as_deref(),
        dense: args.dense.as_deref(),
        others: &[("--report", args.page.as_deref()), ("--json", args.summary.json_path())],
        asked: &args.asked.0,
        resume: args.resume,
        threads: args.threads,
        max_bytes: MemoryLimit::new(args.max_memory).bytes(),
        stop: &stop,
    };
    let display = Display::new(args.summary.quiet, args.progress);
    let made = compress_model(&order, begun, None, &mut |event| {
        display.show(&event);
        if let Event::Layer { number, writing, .. } = &event {
            hold::at(&format!("{} {number}", if *writing { "cores" } else { "front" }), &stop);
        }
    });
    display.finish();
    let summary = match made {
        Err(ModelError::Interrupted) => {
            // None where only the dense weights were still to be written.
            if journal_path(&args.output).exists() {
                let text = format!(
                    "what was done is kept beside {}; go on with --resume",
                    args.output.display()
                );
                terminal::note("interrupted", &text);
            }
            return Ok(Exit::Interrupted);
        }
        made => made?,
    };
    if let Some(text) = summary.quantised() {
        terminal::note("note", &text);
    }
    if let Some(page) = &page {
        page.write(|w| w.write_all(shown::page(&summary, &args.model).as_bytes()))?;
    }
    summary.warnings().iter().for_each(|said| terminal::note("warning", said));
    let reported = Reported { input: &args.model, output: &args.output, summary: &summary };
    report.write(&reported, || shown::text(&summary, &args.output))?;
    Ok(if summary.target_reached { Exit::Done } else { Exit::NotReached })
}

/// Shows how it comes along.
enum Display {
    Hidden,
    Bar(ProgressBar),
    Lines,
}

impl Display {
    fn new(quiet: bool, asked: bool) -> Self {
        if quiet {
            return Display::Hidden;
        }
        match std::io::stderr().is_terminal() {
            true => {
                let bar = ProgressBar::new_spinner();
                if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
                    bar.set_style(style);
                }
                bar.enable_steady_tick(Duration::from_millis(200));
                Display::Bar(bar)
            }
            false if asked => Display::Lines,
            false => Display::Hidden,
        }
    }

    fn show(&self, event: &Event<'_>) {
        let text = match event {
            Event::Layer { layer, number, of, writing } => {
                let doing = if *writing { "writing" } else { "looking at" };
                format!("{doing} layer {} of {of}: {}", number + 1, named(&layer.name))
            }
            Event::Warning(said) => return terminal::note("warning", said),
            Event::Resumed(layers) => format!("going on behind {layers} layers"),
            Event::Measuring { re } if *re > 0.0 => format!("measuring the model at RE {re:.3}"),
            Event::Measuring { .. } => "measuring the uncompressed model".to_owned(),
            Event::Trial(trial) => {
                if let Some(said) = trial.warning() {
                    terminal::note("warning", &said);
                }
                match trial.loss {
                    Some(loss) => format!("loss {loss} at RE {:.3}", trial.re),
                    None => return,
                }
            }
            _ => return,
        };
        match self {
            Display::Hidden => {}
            Display::Bar(bar) => bar.set_message(text),
            Display::Lines => terminal::note("progress", &text),
        }
    }

    fn finish(&self) {
        if let Display::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
