//! `tnsearch tgp train`.

use super::super::describe::{StructureReport, line, size_line};
use super::super::options::{count, real, seed, whole};
use super::super::outputs::check_distinct;
use super::Means;
use crate::text::{duration, number};
use crate::{Exit, interrupt};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use tnsearch_io::{MemoryLimit, output::Output, table};
use tnsearch_tgp::{Event, Figures, Kernel, Model, TgpError, TrainSettings, train};

/// Train a model on a table.
///
/// 80 rows of 100 (by seed) are for learning, of which a tenth decides when to end, and 20 for the test. Features and response
/// are standardised by the mean and the deviation of the rows for learning, which the model keeps.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch tgp train train.csv --inducing 12 --tt-rank 10 -o model.safetensors
  tnsearch tgp train train.csv --inducing 8 --bound-steps 5 -o model.safetensors --resume")]
pub struct Train {
    /// The table: CSV with a header, the response last
    table: PathBuf,
    /// The model to write (safetensors); also written whenever a better one was found
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// Go on with the model in --output, where there is one; it stays where nothing better is found
    #[arg(long, help_heading = "Output")]
    resume: bool,
    /// Inducing points of each feature; several numbers, one for each: 12,12,8,4
    #[arg(long, value_name = "M", value_delimiter = ',', default_value = "8", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Model")]
    inducing: Vec<usize>,
    /// The rank of the tensor train
    #[arg(long, value_name = "R", default_value_t = 10, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Model")]
    tt_rank: usize,
    /// Sweeps over the cores at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    sweeps: usize,
    /// Do not try shorter and longer lengths, which the validation rows decide on
    #[arg(long, help_heading = "Training")]
    no_stretch: bool,
    /// Rows on which hyperparameters begin, by the exact evidence
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    evidence_rows: usize,
    /// Steps of Adam on the bound by all hyperparameters after each sweep (0: as the evidence gave them)
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole, allow_negative_numbers = true, help_heading = "Training")]
    bound_steps: usize,
    /// Rows of a minibatch of these steps
    #[arg(long, value_name = "N", default_value_t = 2048, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Training")]
    batch: usize,
    /// The rate of these steps
    #[arg(long, value_name = "RATE", default_value_t = 0.02, value_parser = real, allow_negative_numbers = true, help_heading = "Training")]
    rate: f64,
    /// Which rows are for what, and where cores begin
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Training")]
    seed: u64,
    #[command(flatten)]
    means: Means,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    #[serde(flatten)]
    figures: Measured,
    kernel: &'a Kernel,
    rows: [usize; 3],
    features: &'a [String],
    response: &'a str,
    sweeps: usize,
    stopped: bool,
    seconds: f64,
    seed: u64,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    version: &'a str,
}

/// Figures without the params, which the structure has.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Measured {
    bound: Option<f64>,
    train_mse: f64,
    validation_mse: f64,
    test_mse: f64,
    test_mse_respective: f64,
}

impl Measured {
    pub fn new(f: &Figures) -> Self {
        Measured {
            bound: f.bound,
            train_mse: f.train_mse,
            validation_mse: f.validation_mse,
            test_mse: f.test_mse,
            test_mse_respective: f.test_mse_respective,
        }
    }

    pub fn text(&self) -> String {
        format!(
            "{:.4} training, {:.4} validation, {:.4} test (standardised)",
            self.train_mse, self.validation_mse, self.test_mse
        )
    }
}

pub fn run(args: &Train) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    args.means.check()?;
    let report = args.means.report.check()?;
    check_distinct(
        &[("the table", &args.table)],
        &[("--output", Some(&args.output)), ("--json", args.means.report.json_path())],
    )?;
    let limit = MemoryLimit::new(args.means.max_memory);
    let table = table::read(&args.table, limit)?;
    let from = match args.resume && args.output.exists() {
        true => Some(Model::read(&args.output, limit)?),
        false => None,
    };
    let output = Output::check(&args.output)?;
    let settings = TrainSettings::default().with(|s| {
        s.inducing.clone_from(&args.inducing);
        (s.rank, s.sweeps, s.evidence_rows) = (args.tt_rank, args.sweeps, args.evidence_rows);
        (s.bound_steps, s.batch, s.rate) = (args.bound_steps, args.batch, args.rate);
        s.stretch = !args.no_stretch;
        s.shares.seed = args.seed;
        s.max_bytes = Some(limit.bytes());
    });
    let ctrl_c = interrupt::on_ctrl_c();
    let stop = args.means.stop(&ctrl_c);
    let mut kept = Ok(());
    let trained = args.means.install(|| {
        train(&table, &settings, from, &stop, &mut |event| match event {
            Event::Evidence { step, evidence } => {
                args.means.show("evidence", &format!("step {step}: {evidence:.2}"));
            }
            Event::Sweep { sweep, bound, train_mse, validation_mse, best } => {
                let star = if best.is_some() { " *" } else { "" };
                let bound = bound.map_or(String::new(), |b| format!("bound {b:.1}, "));
                let text = format!(
                    "{bound}MSE {train_mse:.4} training, {validation_mse:.4} validation{star}"
                );
                args.means.show(&format!("sweep {sweep}"), &text);
                if let Some(model) = best {
                    kept = output.write(|w| model.write(w));
                }
            }
            _ => {}
        })
    })?;
    let trained = match trained {
        Err(TgpError::Stopped) if ctrl_c.is_set() => return Ok(Exit::Interrupted),
        other => other?,
    };
    kept?;
    let model = &trained.model;
    output.write(|w| model.write(w))?;
    let (structure, dims) = (model.mean.structure(), model.mean.dims());
    let Some(figures) = &model.figures else { anyhow::bail!("the model was not measured") };
    let measured = Measured::new(figures);
    let (response, features) =
        model.names.split_last().map_or(("", &[][..]), |(y, x)| (y.as_str(), x));
    let seconds = begun.elapsed().as_secs_f64();
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        figures: measured,
        kernel: &model.kernel,
        rows: trained.rows,
        features,
        response,
        sweeps: model.sweeps,
        stopped: trained.stopped,
        seconds,
        seed: args.seed,
        input: &args.table,
        output: &args.output,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let [train, validation, test] = trained.rows;
        let (path, count) = (args.table.display(), features.len());
        line(&mut out, "table", format!("{path}, {count} features for '{response}'"));
        line(&mut out, "rows", format!("{train} to train, {validation} to choose, {test} to test"));
        size_line(&mut out, structure, dims);
        line(&mut out, "MSE", measured.text());
        let unknown =
            || "not known: the grid has so many points that it is lost in rounding".to_owned();
        line(&mut out, "bound", measured.bound.map_or_else(unknown, number));
        let lengths: Vec<String> = model.kernel.lengths.iter().map(|&l| number(l)).collect();
        let (signal, noise) = (number(model.kernel.signal), number(model.kernel.noise));
        line(
            &mut out,
            "kernel",
            format!("lengths {}; signal {signal}, noise {noise}", lengths.join(", ")),
        );
        line(&mut out, "time", format!("{}, {} sweeps", duration(seconds), model.sweeps));
        line(&mut out, "written", args.output.display());
        out
    })?;
    Ok(if ctrl_c.is_set() { Exit::Interrupted } else { Exit::Done })
}
