//! `tnsearch tgp compress`.

use super::super::declared::Options;
use super::super::describe::{StructureReport, line, picture_lines};
use super::super::options::{load_template, template_help};
use super::super::outputs::check_distinct;
use super::{Means, mse_text};
use crate::text::{duration, number};
use crate::{Exit, interrupt};
use clap::Args;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;
use tnsearch::tensor::ModeNames;
use tnsearch_app::tgp::{CompressSummary, compress};
use tnsearch_io::{MemoryLimit, output::Output, table};
use tnsearch_tgp::{CompressSettings, Model};

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
    #[command(flatten)]
    settings: Options<CompressSettings>,
    #[arg(long, value_name = "NAME|FILE", help = template_help(" [default: several formats for the tensor, any graph for the data]"), help_heading = "Search")]
    template: Option<String>,
    #[command(flatten)]
    means: Means,
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    #[serde(flatten)]
    summary: &'a CompressSummary,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    model: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    input: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    version: &'a str,
}

pub fn run(args: &Compress) -> anyhow::Result<Exit> {
    let ctrl_c = interrupt::on_ctrl_c();
    let means = args.means.checked(&ctrl_c)?;
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
    let settings = args.settings.0.clone().with(|s| s.template = template.map(Arc::new));
    let (found, about) = compress(&model, &table, settings, &means, &mut |text| {
        args.means.show("compress", text);
    })?;
    output.write(|w| found.model.write(w))?;
    let (structure, dims) = (found.model.mean.structure(), found.model.mean.dims());
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        summary: &about,
        model: &args.model,
        input: &args.table,
        output: &args.output,
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        let before = &about.before;
        line(
            &mut out,
            "before",
            format!("{} params, MSE {}", before.params, mse_text(&before.into())),
        );
        if let Some(p) = &about.plain {
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
                    mse_text(&(&p.figures).into())
                ),
            );
        }
        let how = if about.tuned { "cores fitted to the data" } else { "reparameterised" };
        line(
            &mut out,
            "found",
            format!(
                "{} params, MSE {}, {how}",
                found.model.mean.params(),
                mse_text(&about.figures)
            ),
        );
        if !about.target_reached {
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
            format!(
                "{}, {} structures fitted to the data",
                duration(about.seconds),
                about.evaluations
            ),
        );
        line(&mut out, "written", args.output.display());
        out
    })?;
    Ok(match about.target_reached {
        _ if ctrl_c.is_set() => Exit::Interrupted,
        true => Exit::Done,
        false => Exit::NotReached,
    })
}
