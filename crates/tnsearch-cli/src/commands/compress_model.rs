//! `tnsearch compress-model`: the weights of a model, made smaller.

mod command;
mod summary;

use super::options::{check_threads, count, memory, real, seed};
use super::outputs::{ReportOptions, check_distinct};
use crate::{Exit, hold, interrupt, terminal};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tnsearch_io::weights::{PartFile, WeightsFile, journal_path, part_path, shown};
use tnsearch_io::{Dtype, MemoryLimit, output::Output};
use tnsearch_models::{
    Calibration, Cost, Event, Goal, Job, LeftAlone, ModelError, Settings, Weigh, Why, layers,
    restore,
};

/// Make the weights of a model smaller, within one budget over all its layers.
///
/// MODEL is a safetensors file. Every matrix, embedding and kernel that gains becomes a sum of Kronecker products and an SVD,
/// or a tree of cores; the rest is left alone. OUTPUT holds the cores and says what they are; 'decompress-model' gives dense
/// weights back. One layer at a time is in memory.
#[derive(Debug, Args)]
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
    goal: GoalOptions,
    /// With --max-loss: by how much the loss may rise
    #[arg(long, value_name = "RISE", default_value_t = 0.01, value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    allow: f64,
    /// What is kept low with --keep-re and --max-loss: params, bytes or multiply-adds (of applying each layer to one input)
    #[arg(long, value_name = "COST", default_value = "params", value_parser = str::parse::<Cost>, help_heading = "Objective")]
    cost: Cost,
    /// How the errors of layers are added up: each (as they are, and no layer above twice the error asked for), layer (each
    /// relative to its layer, and the same cap), or norm (as they are, without a cap: layers of small norm may be lost
    /// altogether, which can ruin a model) [default: each with --keep-re and no --calibration, else layer]
    #[arg(long, value_name = "WAY", value_parser = str::parse::<Weigh>, help_heading = "Objective")]
    weigh: Option<Weigh>,
    /// Measure errors on the outputs of each layer: a safetensors file with a tensor for each, NAME for inputs (one to a row)
    /// or NAME.covariance
    #[arg(long, value_name = "FILE", help_heading = "Objective")]
    calibration: Option<PathBuf>,
    /// Leave smaller tensors alone
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = count::<u64>, help_heading = "Formats")]
    min_entries: u64,
    /// Look for no trees on factors of the sides
    #[arg(long, help_heading = "Formats")]
    no_trees: bool,
    /// Look for no Kronecker products
    #[arg(long, help_heading = "Formats")]
    no_products: bool,
    /// The numbers of the cores: f16, bf16, f32 or f64 [default: those of each layer]
    #[arg(long, value_name = "TYPE", value_parser = cores, help_heading = "Output")]
    cores: Option<Dtype>,
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
    /// Same seed, same model, same settings: same bits
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Budgets")]
    seed: u64,
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

/// What is to be reached.
#[derive(Debug, Clone, Args)]
#[group(id = "model-goal", multiple = false)]
struct GoalOptions {
    /// The least cost with a relative error (RE) of all layers together of at most this, and of no layer of more than twice
    /// it (but see --weigh norm) [default: 0.05]
    #[arg(long, value_name = "RE", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    keep_re: Option<f64>,
    /// The least error with at most so many numbers in all, those that are left alone included. No layer has an error of its
    /// own to keep: one that loses most of its norm is warned about
    #[arg(long, value_name = "N", value_parser = count::<u64>, allow_negative_numbers = true, help_heading = "Objective")]
    max_params: Option<u64>,
    /// The least error with at most so many bytes of numbers, e.g. 40MB
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Objective")]
    max_bytes: Option<u64>,
    /// The least error with at most so many multiply-adds of applying each layer to one input
    #[arg(long, value_name = "N", value_parser = count::<u64>, allow_negative_numbers = true, help_heading = "Objective")]
    max_multiply_adds: Option<u64>,
    /// The least cost with which the loss that a command measures rises by at most --allow. It is run with the path of a
    /// dense model file in place of {}, or at its end; the last line it prints is the loss (smaller is better)
    #[arg(long, value_name = "COMMAND", help_heading = "Objective")]
    max_loss: Option<String>,
}

impl CompressModel {
    fn settings(&self) -> anyhow::Result<Settings> {
        let options = &self.goal;
        let (goal, cost) = match (options.max_params, options.max_bytes, options.max_multiply_adds)
        {
            (Some(n), ..) => (Goal::MaxCost(n), Cost::Params),
            (_, Some(n), _) => (Goal::MaxCost(n), Cost::Bytes),
            (.., Some(n)) => (Goal::MaxCost(n), Cost::MultiplyAdds),
            _ if options.max_loss.is_some() => (Goal::MaxLoss(self.allow), self.cost),
            _ => (Goal::KeepRe(options.keep_re.unwrap_or(0.05)), self.cost),
        };
        let mut settings = Settings::new(goal);
        settings.cost = cost;
        // An error that is asked for is that of all weights; else what counts is what the network does.
        let as_they_are = self.calibration.is_none() && matches!(goal, Goal::KeepRe(_));
        let weigh = if as_they_are { Weigh::Each } else { Weigh::Layer };
        settings.weigh = self.weigh.unwrap_or(weigh);
        settings.min_entries = self.min_entries;
        settings.trees = !self.no_trees;
        settings.products = !self.no_products;
        settings.cores = self.cores;
        settings.seed = self.seed;
        Ok(settings.check()?)
    }
}

pub fn run(args: &CompressModel) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let settings = args.settings()?;
    check_threads(args.threads)?;
    let mut inputs = vec![("the model", args.model.as_path())];
    inputs.extend(args.calibration.as_deref().map(|path| ("--calibration", path)));
    check_distinct(
        &inputs,
        &[
            ("--output", Some(&args.output)),
            ("the file in which --output grows", Some(&part_path(&args.output))),
            ("the journal of --output", Some(&journal_path(&args.output))),
            ("--dense", args.dense.as_deref()),
            ("--report", args.page.as_deref()),
            ("--json", args.summary.json_path()),
        ],
    )?;
    let report = args.summary.check()?;
    PartFile::check(&args.output)?;
    let page = args.page.as_deref().map(Output::check).transpose()?;
    args.dense.as_deref().map(PartFile::check).transpose()?;
    let file = WeightsFile::open(&args.model)?;
    let (found, _) = layers(&file, &settings);
    let calibration = match &args.calibration {
        Some(path) => Some(Calibration::new(WeightsFile::open(path)?, &found)?),
        None => None,
    };
    // Here, where a thread that the system does not give is an error; the first use of the pool would panic.
    rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads.unwrap_or(0))
        .build_global()
        .map_err(|e| anyhow::anyhow!("cannot start the threads: {e}"))?;
    let stop = interrupt::on_ctrl_c();
    let job = Job {
        file: &file,
        calibration: calibration.as_ref(),
        settings: settings.clone(),
        output: &args.output,
        command: args.goal.max_loss.as_deref(),
        resume: args.resume,
        max_bytes: MemoryLimit::new(args.max_memory).bytes(),
        stop: &stop,
    };
    let display = Display::new(args.summary.quiet, args.progress);
    let command = args.goal.max_loss.clone();
    let mut evaluate =
        |path: &std::path::Path| command::loss(command.as_deref().unwrap_or_default(), path);
    let evaluate: Option<tnsearch_models::job::Evaluate<'_>> =
        if args.goal.max_loss.is_some() { Some(&mut evaluate) } else { None };
    let outcome = job.run(evaluate, &mut |event| {
        display.show(&event);
        if let Event::Layer { number, writing, .. } = &event {
            hold::at(&format!("{} {number}", if *writing { "cores" } else { "front" }), &stop);
        }
    });
    display.finish();
    let outcome = match outcome {
        Err(ModelError::Interrupted) => {
            let text = format!(
                "what was done is kept beside {}; go on with --resume",
                args.output.display()
            );
            terminal::note("interrupted", &text);
            return Ok(Exit::Interrupted);
        }
        other => other?,
    };
    note_quantised(&file, &outcome.alone);
    if let Some(dense) = &args.dense {
        let limit = MemoryLimit::new(args.max_memory).bytes();
        match restore(&WeightsFile::open(&args.output)?, dense, limit, &stop, &mut |_| ()) {
            Err(ModelError::Interrupted) => return Ok(Exit::Interrupted),
            other => other?,
        };
    }
    let summary =
        summary::Summary::new(args, &settings, &file, &outcome, begun.elapsed().as_secs_f64());
    if let Some(page) = &page {
        page.write(|w| w.write_all(summary.page().as_bytes()))?;
    }
    summary.warnings().iter().for_each(|said| terminal::note("warning", said));
    report.write(&summary, || summary.text())?;
    Ok(if outcome.reached { Exit::Done } else { Exit::NotReached })
}

/// Says that whole numbers were left alone.
fn note_quantised(file: &WeightsFile, alone: &[LeftAlone]) {
    let quantised: Vec<&LeftAlone> = alone.iter().filter(|l| l.why == Why::Quantised).collect();
    let Some(first) = quantised.first() else { return };
    let name = shown(&file.entries()[first.index].name);
    let (those, text) = match quantised.len() {
        1 => ("it", format!("'{name}' is")),
        n => ("them", format!("{n} tensors such as '{name}' are")),
    };
    let text = format!(
        "{text} left alone: whole numbers need their scales; store {those} as f16 or f32 to compress {those}"
    );
    terminal::note("note", &text);
}

/// A type of cores.
fn cores(text: &str) -> Result<Dtype, String> {
    match text {
        "f16" => Ok(Dtype::F16),
        "bf16" => Ok(Dtype::Bf16),
        "f32" => Ok(Dtype::F32),
        "f64" => Ok(Dtype::F64),
        _ => Err("use f16, bf16, f32 or f64".to_owned()),
    }
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
                format!("{doing} layer {} of {of}: {}", number + 1, shown(&layer.name))
            }
            Event::Warning(said) => return terminal::note("warning", said),
            Event::Resumed(layers) => format!("going on behind {layers} layers"),
            Event::Measuring { re } if *re > 0.0 => format!("measuring the model at RE {re:.3}"),
            Event::Measuring { .. } => "measuring the uncompressed model".to_owned(),
            Event::Trial(trial) => {
                if let Some(said) = &trial.failed {
                    let text = format!(
                        "the evaluation command failed at RE {:.3}, which counts as too much: {said}",
                        trial.re
                    );
                    terminal::note("warning", &text);
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
