//! `tnsearch compress`: a picture or an array as one network file.

mod page;

use super::data::{Data, ReshapeOptions};
use super::describe::{MEASURE, line};
use super::options::{count, load_template, memory, real, seed, template_help};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::progress::Display;
use crate::text::{duration, number};
use crate::{Exit, interrupt};
use anyhow::bail;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tnsearch::MemoryError;
use tnsearch::graph::TemplateRef;
use tnsearch::search::StoppedBy;
use tnsearch::tensor::Reshape;
use tnsearch_app::compress::{
    Beside, CompressError, CompressSettings, CompressSummary, Compressed, Goal, Plan,
};
use tnsearch_io::network::Extras;
use tnsearch_io::text::bytes;
use tnsearch_io::{MemoryLimit, Precision, network, output::Output, split_key};

/// Compress a picture or an array into one network file.
///
/// INPUT is a .png or .jpg, a .npy, or an array in an archive as FILE.npz:KEY or FILE.safetensors:KEY. 'decompress' gives it
/// back, with its shape and type.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch compress photo.png -o photo.safetensors --psnr 30 --page photo.html
      fewest params with 30 dB, and a page: original, reconstruction, difference
  tnsearch compress field.npy -o field.safetensors --max-re 0.01 --cores f16
      one percent off, numbers of 16 bits; what these lose is measured and printed
  tnsearch decompress photo.safetensors -o photo2.png")]
pub struct Compress {
    /// The picture or array: X.png, X.jpg, X.npy, X.npz:key or X.safetensors:key
    input: String,
    /// The network file to write (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: PathBuf,
    #[command(flatten)]
    goal: GoalOptions,
    /// The numbers in the file: f16, f32 or f64
    #[arg(long, value_name = "TYPE", default_value_t, value_parser = str::parse::<Precision>, help_heading = "Output")]
    cores: Precision,
    /// Write a page with the original, the reconstruction and the magnified difference (pictures only)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    page: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    #[arg(long, value_name = "NAME|FILE", help = template_help(" [default: several formats, of which the best is chosen; tensor trains above 262144 entries]"), help_heading = "Search")]
    template: Option<String>,
    /// Same seed, same data, same settings: same result, where the time does not end it
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Search")]
    seed: u64,
    /// End the search after this many seconds with the best so far
    #[arg(long, value_name = "S", default_value_t = 20.0, value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: f64,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
}

/// What is to be reached.
#[derive(Debug, Clone, Copy, Args)]
#[group(id = "goal", multiple = false)]
struct GoalOptions {
    /// Fewest params with a relative error (RE) of at most this: 0.01 is one percent [default for arrays: 0.01]
    #[arg(long = "max-re", visible_alias = "re", value_name = "RE", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    re: Option<f64>,
    /// Fewest params with a PSNR of at least this many dB; the peak is 1 for pictures, the largest absolute value for arrays
    /// [default for pictures: 30]
    #[arg(long, value_name = "DB", value_parser = real, allow_negative_numbers = true, help_heading = "Objective")]
    psnr: Option<f64>,
    /// Smallest error with at most this many params
    #[arg(long, value_name = "P", value_parser = count::<u128>, allow_negative_numbers = true, help_heading = "Objective")]
    max_params: Option<u128>,
}

impl GoalOptions {
    fn goal(self) -> Option<Goal> {
        match (self.re, self.psnr, self.max_params) {
            (Some(re), ..) => Some(Goal::Re(re)),
            (_, Some(psnr), _) => Some(Goal::Psnr(psnr)),
            (.., Some(params)) => Some(Goal::MaxParams(params)),
            _ => None,
        }
    }
}

/// The JSON of the command.
#[derive(Serialize)]
struct Reported<'a> {
    input: &'a str,
    #[serde(flatten)]
    summary: &'a CompressSummary,
    reshaped: Option<&'a Reshape>,
    template: TemplateRef,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: &'a PathBuf,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    page: Option<&'a PathBuf>,
    version: &'a str,
}

pub fn run(args: &Compress) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let limit = MemoryLimit::new(args.max_memory);
    let wanted = args.reshaping.check()?;
    let template_file = Path::new(args.template.as_deref().unwrap_or_default());
    check_distinct(
        &[("the input", &tensor_path(&args.input)), ("the template", template_file)],
        &[
            ("--output", Some(&args.output)),
            ("--page", args.page.as_deref()),
            ("--json", args.report.json_path()),
        ],
    )?;
    let report = args.report.check()?;
    let output = Output::check(&args.output)?;
    let page = args.page.as_deref().map(Output::check).transpose()?;
    let data = wanted.load(&args.input, None, None, limit)?;
    let picture = data.origin.picture;
    if page.is_some() && !picture {
        bail!("--page shows pictures; {} is an array", args.input);
    }
    if page.is_some() {
        // The picture, what became of it and their difference, as samples and while they are written.
        let needed = 9.0 * data.target.tensor().bytes() as f64;
        MemoryError::check("a page about this picture", needed, Some(limit.bytes()))?;
    }
    let dims = data.target.dims();
    let template = args.template.as_deref().map(|name| load_template(name, dims.len()));
    let asked = CompressSettings {
        goal: args.goal.goal(),
        template: template.transpose()?.map(Arc::new),
        cores: args.cores,
        seed: args.seed,
        max_seconds: args.max_seconds,
        threads: args.threads,
        max_bytes: limit.bytes(),
    };
    let plan = Plan::new(&data.target, data.reshape.as_ref(), data.origin, asked)?;
    let stop = interrupt::on_ctrl_c();
    let made = {
        let (quiet, settings) = (args.report.quiet, plan.settings());
        let mut display =
            Display::new(quiet, false, &settings.budget, settings.objective, &MEASURE);
        match plan.run(begun, &stop, &mut display) {
            Err(CompressError::Interrupted) => return Ok(Exit::Interrupted),
            made => made?,
        }
    };
    let extras = Extras {
        reshape: data.reshape.as_ref(),
        origin: Some(data.origin),
        half: args.cores == Precision::F16,
    };
    output.write(|w| network::write_with(w, &made.network, made.rse, &extras))?;
    let (path, key) = split_key(&args.input);
    let summary = made.summary(Beside {
        origin: data.origin,
        cores: args.cores,
        bytes_before: if key.is_none() { Some(file_bytes(&path)?) } else { None },
        bytes: file_bytes(&args.output)?,
        seconds: begun.elapsed().as_secs_f64(),
        seed: args.seed,
    });
    if let Some(page) = &page {
        page.write(|w| w.write_all(page::html(&args.input, &data, &made, &summary)?.as_bytes()))?;
    }
    let reported = Reported {
        input: &args.input,
        summary: &summary,
        reshaped: data.reshape.as_ref(),
        template: made.network.structure().to_file().template,
        output: &args.output,
        page: args.page.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&reported, || args.text(&data, &made, &summary))?;
    Ok(match made.stopped_by {
        StoppedBy::Interrupted => Exit::Interrupted,
        _ if made.target_reached => Exit::Done,
        _ => Exit::NotReached,
    })
}

impl Compress {
    fn text(&self, data: &Data, made: &Compressed, summary: &CompressSummary) -> String {
        let mut out = String::new();
        data.lines(&mut out, &self.input);
        let structure = made.network.structure();
        let (name, vertices) = (structure.template().name(), structure.template().vertices());
        line(&mut out, "found", format!("{name} with {vertices} cores"));
        if !summary.target_reached {
            let asked = match made.goal {
                Goal::Re(re) => format!("RE {re}"),
                Goal::Psnr(psnr) => format!("{psnr} dB"),
                Goal::MaxParams(params) => format!("{params} params"),
            };
            let said = format!(
                "{asked} was NOT reached; this is the best of what was tried (more --max-seconds may help)"
            );
            line(&mut out, "mind", said);
        }
        let entries: usize = summary.shape.iter().product();
        let (params, ratio) = (summary.params, entries as f64 / summary.params as f64);
        line(
            &mut out,
            "params",
            format!(
                "{entries} -> {params}, {} times smaller (log10 CR {:.3})",
                number(ratio),
                summary.log10_cr
            ),
        );
        line(
            &mut out,
            "error",
            format!("{}, {}", MEASURE.text(summary.rse, number), rounding_text(summary)),
        );
        line(&mut out, "PSNR", format!("{:.2} dB, {}", summary.psnr, peak_text(summary)));
        line(&mut out, "bytes", bytes_text(summary));
        line(&mut out, "time", duration(summary.seconds));
        line(&mut out, "written", self.output.display());
        if let Some(page) = &self.page {
            line(&mut out, "page", page.display());
        }
        out
    }
}

/// What rounding the cores cost.
fn rounding_text(summary: &CompressSummary) -> String {
    let before = summary.re_unrounded;
    match summary.cores.as_str() {
        "f64" => "cores of 64 bits".to_owned(),
        cores => {
            format!("{before:.6} before the cores were rounded to {cores}, {:.6} after", summary.re)
        }
    }
}

/// What the PSNR refers to.
fn peak_text(summary: &CompressSummary) -> String {
    match summary.picture {
        true => "peak 1, of the picture as 'decompress' writes it".to_owned(),
        false => format!("peak {}, the largest absolute value", number(summary.peak)),
    }
}

/// The file before and after.
fn bytes_text(summary: &CompressSummary) -> String {
    let (before, after) = (summary.bytes_before, summary.bytes);
    let ratio = before as f64 / after as f64;
    let said = match ratio >= 1.0 {
        true => format!("{} times smaller", number(ratio)),
        false => format!("{} times larger", number(1.0 / ratio)),
    };
    format!("{} -> {}, {said} ({} cores)", bytes(before.into()), bytes(after.into()), summary.cores)
}

fn file_bytes(path: &Path) -> anyhow::Result<u64> {
    let about = std::fs::metadata(path).map_err(|e| tnsearch_io::Problem::from(e).of(path))?;
    Ok(about.len())
}
