//! `tnsearch complete`: the missing entries of a tensor.

use super::data::ReshapeOptions;
use super::describe::{ErrorReport, MEASURE, StructureReport, line, structure_lines};
use super::holes::{HoleOptions, mask_path};
use super::options::{
    DtypeOptions, check_threads, count, graph_help, load_graph, memory, real, seed,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::{duration, number};
use crate::{Exit, interrupt, terminal};
use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tnsearch::complete::{CompleteMethod, CompleteSettings, FormatTried, HeldOut, OneRank, Step};
use tnsearch::network::Network;
use tnsearch::problem::{Holed, Recovered};
use tnsearch::tensor::{AnyTensor, Kind, Reshape};
use tnsearch_app::load::Marks;
use tnsearch_io::{MemoryLimit, network, output::Output, write_tensor};

/// What the summary says about proofs.
const PROVEN: &str = "bounds do not hold with holes: nothing is proven";

/// Fill the holes of a tensor.
///
/// Which entries are missing is said by --mask, by NaN with --nan-missing, or decided here with --missing, which
/// removes a share of what is there and measures how well it is recovered. Of the observed entries some are held
/// out: the structure that predicts these best is fitted to all, and fills the holes. Observed entries stay as they are.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch complete X.npy --mask M.npy -o full.npy
      true in M: missing (say --mask-marks observed where it is the other way)
  tnsearch complete X.npy --nan-missing -o full.npy --json out.json
  tnsearch complete X.npy --missing 0.9 --seed 1
      takes 90 % away and measures how well they come back
  tnsearch complete X.npy --missing 0.9 --seed 1 --method trals --rank 8
      the peer: a ring with one rank, by least squares")]
pub struct Complete {
    /// The tensor: X.npy, X.npz:key, X.safetensors:key, or a picture (.png, .jpg)
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    #[command(flatten)]
    holes: HoleOptions,
    /// Remove this share of the entries at random (by seed), and measure the error on them
    #[arg(long, value_name = "SHARE", value_parser = real, allow_negative_numbers = true, help_heading = "Holes")]
    missing: Option<f64>,

    /// choose: ranks grow while entries held out are predicted better; trals: a tensor ring with the same rank
    /// everywhere (Wang et al. 2017)
    #[arg(long, value_name = "METHOD", value_enum, default_value_t = Method::Choose, help_heading = "Method")]
    method: Method,
    /// The rank of trals
    #[arg(long, value_name = "R", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Method")]
    rank: Option<usize>,
    /// The share of the observed entries held out to choose the structure; where that is fewer than 40
    /// entries, each is held out once, in 5 folds [default: 0.1]
    #[arg(long, value_name = "SHARE", value_parser = real, allow_negative_numbers = true, help_heading = "Method")]
    held_out: Option<f64>,
    /// Part the observed entries in so many and hold each part out once [default: a share, see --held-out]
    #[arg(long, value_name = "K", value_parser = count::<usize>, allow_negative_numbers = true, conflicts_with = "held_out", help_heading = "Method")]
    folds: Option<usize>,
    #[arg(long, value_name = "NAME|FILE", help = graph_help(" [default: ring and tucker, of which the better is chosen]"), help_heading = "Method")]
    template: Option<String>,
    /// The largest rank of an edge [default: 64]
    #[arg(long, value_name = "R", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Method")]
    max_rank: Option<usize>,
    /// How strongly the slices of a core are pulled to their mean; others are tried [default: 0.01; trals: 0]
    #[arg(long, value_name = "RIDGE", value_parser = real, allow_negative_numbers = true, help_heading = "Method")]
    ridge: Option<f64>,
    /// Sweeps of one fit at most
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Method")]
    max_sweeps: Option<usize>,
    /// Decides what is removed, what is held out and how fits begin
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Method")]
    seed: u64,

    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: f64,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,

    /// Write the tensor with its holes filled, in its own shape (.npy), or the picture (.png, .jpg)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write the network (safetensors)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    network: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
    /// Show progress also where standard error is no terminal
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    progress: bool,
}

/// How the structure is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Method {
    Choose,
    Trals,
}

impl From<Method> for CompleteMethod {
    fn from(method: Method) -> CompleteMethod {
        match method {
            Method::Choose => CompleteMethod::Choose,
            Method::Trals => CompleteMethod::Trals,
        }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    method: CompleteMethod,
    entries: usize,
    observed: usize,
    missing: usize,
    empty_slices: Vec<(usize, usize)>,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    held_out: Option<HeldOut>,
    ridge: f64,
    recovered: Option<Recovered>,
    formats: &'a [FormatTried],
    structures: usize,
    sweeps: usize,
    proven: &'a str,
    seconds: f64,
    seed: u64,
    out_of_time: bool,
    interrupted: bool,
    input: &'a str,
    mask: Option<&'a str>,
    mask_marks: Option<Marks>,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    output: Option<&'a PathBuf>,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    network: Option<&'a PathBuf>,
    version: &'a str,
}

pub fn run(args: &Complete) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let limit = MemoryLimit::new(args.max_memory);
    let settings = args.settings(limit)?;
    check_threads(args.threads)?;
    let wanted = args.reshaping.check()?;
    let holes = match args.missing {
        Some(share) => args.holes.removing(share, args.seed)?,
        None => args.holes.check().ok_or_else(|| {
            anyhow!("which entries are missing? use --mask M.npy, --nan-missing or --missing SHARE")
        })?,
    };
    check_distinct(
        &[("the tensor", &tensor_path(&args.tensor)), ("--mask", &mask_path(&args.holes))],
        &[
            ("--output", args.output.as_deref()),
            ("--network", args.network.as_deref()),
            ("--json", args.report.json_path()),
        ],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let stored = args.network.as_deref().map(Output::check).transpose()?;
    let data = wanted.with_holes(holes).load(&args.tensor, args.numbers.dtype, None, limit)?;
    let holed = data.holed.as_ref().ok_or_else(|| anyhow!("no holes were asked for"))?;
    if holed.missing() == 0 {
        bail!("{}: nothing is missing", args.tensor);
    }
    data.warn();
    let settings = match &args.template {
        Some(name) => {
            let template = Arc::new(load_graph(name, data.target.dims().len())?);
            settings.with(|s| s.template = Some(template))
        }
        None => settings,
    };
    let stop = interrupt::on_ctrl_c();
    let left = (args.max_seconds - begun.elapsed().as_secs_f64()).max(args.max_seconds / 20.0);
    let settings = settings.with(|s| s.max_seconds = Some(left));
    let checked = settings.check()?;
    let ring = OneRank { rank: args.rank, ridge: args.ridge, max_sweeps: args.max_sweeps };
    let mut shown = Shown::new(args.report.quiet, args.progress);
    let tell = &mut |step| shown.hear(step);
    let way = CompleteMethod::from(args.method);
    let found = way.fill(&data.target, &checked, ring, args.threads, &stop, tell)?;
    data.confirm(&found.network, found.rse)?;
    let left = data.target.left_of(Some(limit.bytes()));
    let full = filled(holed, &found.network, data.reshape.as_ref(), left)?;
    let recovered = holed.recovered(&full);
    let saved = output.map_or(Ok(()), |o| write_tensor(&o, &full));
    let kept = stored.map_or(Ok(()), |o| {
        o.write(|w| network::write_reshaped(w, &found.network, found.rse, data.reshape.as_ref()))
    });
    let seconds = begun.elapsed().as_secs_f64();
    let (structure, dims) = (found.network.structure(), data.target.dims());
    let interrupted = stop.is_set();
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        dtype: data.target.kind(),
        reshaped: data.reshape.as_ref(),
        method: args.method.into(),
        entries: holed.whole.len(),
        observed: holed.observed.count(),
        missing: holed.missing(),
        empty_slices: holed.observed.empty_slices(),
        error: ErrorReport::new(&MEASURE, found.rse),
        held_out: found.held_out,
        ridge: found.ridge,
        recovered,
        formats: &found.formats,
        structures: found.structures,
        sweeps: found.sweeps,
        proven: PROVEN,
        seconds,
        seed: args.seed,
        out_of_time: found.interrupted && !interrupted,
        interrupted,
        input: &args.tensor,
        mask: args.holes.mask_path(),
        mask_marks: args.holes.mask_path().map(|_| args.holes.marks()),
        output: args.output.as_ref(),
        network: args.network.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        data.lines(&mut out, &args.tensor);
        structure_lines(&mut out, structure, dims, data.names(), &MEASURE, found.rse);
        if let Some(HeldOut { entries, folds, rse, rmse, .. }) = found.held_out {
            let folds = if folds > 1 { format!(", in {folds} folds") } else { String::new() };
            let (re, rmse) = (number(rse.sqrt()), number(rmse));
            let text = format!("{entries} observed entries{folds}: RE {re}, RMSE {rmse}");
            line(&mut out, "held out", text + " (what to expect of the predictions)");
        }
        if let Some(Recovered { entries, re, rmse, psnr, .. }) = recovered {
            let psnr = psnr.map_or(String::new(), |p| format!(", PSNR {p:.2} dB"));
            let text =
                format!("{entries} removed entries: RE {}, RMSE {}", number(re), number(rmse));
            line(&mut out, "recovered", text + &psnr);
        }
        line(&mut out, "proof", PROVEN);
        let (structures, sweeps, time) = (found.structures, found.sweeps, duration(seconds));
        line(&mut out, "fitted", format!("{structures} structures, {sweeps} sweeps, in {time}"));
        for path in [&args.output, &args.network].into_iter().flatten() {
            line(&mut out, "written", path.display());
        }
        out
    })?;
    saved?;
    kept?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Done })
}

impl Complete {
    fn settings(&self, limit: MemoryLimit) -> anyhow::Result<CompleteSettings> {
        CompleteMethod::from(self.method).check(self.rank)?;
        let settings = CompleteSettings::default().with(|s| {
            s.held_out = self.held_out.unwrap_or(s.held_out);
            s.folds = self.folds.unwrap_or(s.folds);
            s.max_rank = self.max_rank.unwrap_or(s.max_rank);
            s.seed = self.seed;
            s.max_seconds = Some(self.max_seconds);
            s.fit.ridge = self.ridge.unwrap_or(s.fit.ridge);
            s.fit.max_sweeps = self.max_sweeps.unwrap_or(s.fit.max_sweeps);
            s.fit.max_bytes = Some(limit.bytes());
        });
        settings.clone().check()?;
        Ok(settings)
    }
}

/// The tensor in its own shape: observed entries as they are, the others predicted.
fn filled(
    holed: &Holed,
    network: &Network,
    reshape: Option<&Reshape>,
    max_bytes: Option<u64>,
) -> anyhow::Result<AnyTensor> {
    let z = network.to_tensor(max_bytes)?;
    let z = match reshape {
        Some(reshape) => reshape.undo(z),
        None => z,
    };
    holed.filled(z).ok_or_else(|| anyhow!("the network has numbers of another kind"))
}

/// Shows how far it is.
struct Shown {
    shown: bool,
    last: Instant,
}

impl Shown {
    const EVERY: Duration = Duration::from_secs(2);

    fn new(quiet: bool, asked: bool) -> Self {
        let shown = !quiet && (asked || std::io::stderr().is_terminal());
        Shown { shown, last: Instant::now() }
    }

    fn hear(&mut self, step: Step) {
        if !self.shown || self.last.elapsed() < Self::EVERY {
            return;
        }
        self.last = Instant::now();
        let Step { structures, rse, params, .. } = step;
        let re = number(rse.sqrt());
        let text =
            format!("{structures} structures, best {params} params, RE {re} on entries held out");
        terminal::note("progress", &text);
    }
}
