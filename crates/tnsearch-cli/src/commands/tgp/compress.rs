//! `tnsearch tgp compress`.

use super::super::describe::{StructureReport, line, picture_lines};
use super::super::options::{count, load_template, real, seed, template_help};
use super::super::outputs::check_distinct;
use super::Means;
use super::train::Measured;
use crate::text::{duration, number};
use crate::{Exit, interrupt};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tnsearch::problem::{LowerBound, Over, OverFile, StatementRecord};
use tnsearch::tensor::ModeNames;
use tnsearch_io::{MemoryLimit, output::Output, table};
use tnsearch_tgp::{CompressSettings, Figures, FrontPoint, Model, compress};

/// Find a smaller network for the mean of a model.
///
/// The smallest network is looked for whose mean squared error on the validation rows (a part of those for learning, by the
/// model's seed; never the test rows) is at most so much more. First the tensor of the mean is searched and reparameterised, as
/// in the paper; then structures are searched whose cores are fitted to the training rows themselves, which takes far fewer
/// params. Both are reported.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch tgp compress model.safetensors train.csv --max-mse-loss 0.01 -o small.safetensors
  tnsearch tgp compress model.safetensors train.csv --no-tune --template ring -o ring.safetensors")]
pub struct Compress {
    /// The model, as 'tgp train' writes it
    model: PathBuf,
    /// The table that it was trained with
    table: PathBuf,
    /// The smaller model to write (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    /// How much the mean squared error on the validation rows may rise, in standardised units
    #[arg(long, value_name = "LOSS", default_value_t = 0.01, value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    max_mse_loss: f64,
    /// Do not fit cores to the data: reparameterise the mean alone
    #[arg(long, help_heading = "Search")]
    no_tune: bool,
    /// In the search of the tensor all inducing points count alike, as in the paper; else as the data do
    #[arg(long, help_heading = "Search")]
    plain_metric: bool,
    #[arg(long, value_name = "NAME|FILE", help = template_help(" [default: several formats for the tensor, any graph for the data]"), help_heading = "Search")]
    template: Option<String>,
    /// The largest rank
    #[arg(long, value_name = "R", default_value_t = 14, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Search")]
    max_rank: usize,
    /// The seed of the searches
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Search")]
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
    tuned: bool,
    target_reached: bool,
    max_mse_loss: f64,
    before: Figures,
    plain: Option<PlainSummary>,
    pareto: &'a [FrontPoint],
    evaluations: u64,
    stopped: bool,
    seconds: f64,
    seed: u64,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    model: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    version: &'a str,
}

/// What the search of the tensor gave.
#[derive(Serialize)]
struct PlainSummary {
    #[serde(flatten)]
    figures: Figures,
    rse: f64,
    max_rse: f64,
    lower_bound: Option<LowerBound>,
    bound_over: Option<OverFile>,
    statement: StatementRecord,
    certified_optimal: bool,
    evaluations: u64,
}

pub fn run(args: &Compress) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    args.means.check()?;
    check_distinct(
        &[("the model", &args.model), ("the table", &args.table)],
        &[("--output", Some(&args.output)), ("--json", args.means.report.json_path())],
    )?;
    let report = args.means.report.check()?;
    let limit = MemoryLimit::new(args.means.max_memory);
    let model = Model::read(&args.model, limit)?;
    let table = table::read(&args.table, limit)?;
    let output = Output::check(&args.output)?;
    let order = model.mean.dims().len();
    let template = args.template.as_deref().map(|t| load_template(t, order)).transpose()?;
    let settings = CompressSettings::default().with(|s| {
        s.max_mse_loss = args.max_mse_loss;
        (s.tune, s.by_data) = (!args.no_tune, !args.plain_metric);
        s.template = template.map(Arc::new);
        (s.max_rank, s.seed, s.threads) = (args.max_rank, args.seed, args.means.threads);
    });
    let ctrl_c = interrupt::on_ctrl_c();
    let seconds = args.means.max_seconds.unwrap_or(120.0);
    let stop = ctrl_c.within_seconds(seconds);
    let found = args.means.install(|| {
        compress(&model, &table, &settings, &stop, &mut |text| args.means.show("compress", text))
    })??;
    output.write(|w| found.model.write(w))?;
    let Some(figures) = &found.model.figures else { anyhow::bail!("the model was not measured") };
    let (structure, dims) = (found.model.mean.structure(), found.model.mean.dims());
    let target_reached = figures.params < found.before.params;
    let plain = found.plain.as_ref().map(|(p, figures)| PlainSummary {
        figures: *figures,
        rse: p.rse,
        max_rse: p.max_rse,
        lower_bound: p.lower_bound,
        bound_over: p.statement.bound_over().map(Over::to_file),
        statement: p.statement.record(),
        certified_optimal: p.certified_optimal,
        evaluations: p.evaluations,
    });
    let measured = Measured::new(figures);
    let seconds = begun.elapsed().as_secs_f64();
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        figures: measured,
        tuned: found.tuned,
        target_reached,
        max_mse_loss: args.max_mse_loss,
        before: found.before,
        plain,
        pareto: &found.front,
        evaluations: found.evaluations,
        stopped: found.stopped,
        seconds,
        seed: args.seed,
        model: &args.model,
        input: &args.table,
        output: &args.output,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let before = &found.before;
        line(
            &mut out,
            "before",
            format!("{} params, MSE {}", before.params, Measured::new(before).text()),
        );
        if let Some(p) = &summary.plain {
            let bound = match p.bound_over {
                Some(_) => format!("; at RSE {}: {}", number(p.max_rse), p.statement.text),
                None => String::new(),
            };
            line(
                &mut out,
                "the tensor",
                format!(
                    "{} params, MSE {}{bound}",
                    p.figures.params,
                    Measured::new(&p.figures).text()
                ),
            );
        }
        let how = if found.tuned { "cores fitted to the data" } else { "reparameterised" };
        line(
            &mut out,
            "found",
            format!("{} params, MSE {}, {how}", figures.params, measured.text()),
        );
        if !target_reached {
            line(
                &mut out,
                "mind",
                "nothing smaller is good enough; the model is written as it was",
            );
        }
        picture_lines(&mut out, structure, dims, ModeNames::new(None));
        line(
            &mut out,
            "time",
            format!("{}, {} structures fitted to the data", duration(seconds), found.evaluations),
        );
        line(&mut out, "written", args.output.display());
        out
    })?;
    Ok(match target_reached {
        _ if ctrl_c.is_set() => Exit::Interrupted,
        true => Exit::Done,
        false => Exit::NotReached,
    })
}
