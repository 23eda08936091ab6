//! `tnsearch verify`: what was claimed, computed anew along another path.

mod lines;

use super::data::{Data, ReshapeOptions};
use super::describe::line;
use super::holes::HoleOptions;
use super::options::{
    DtypeOptions, LossOptions, check_seconds, count, load_graph, memory, real, seed, template_help,
};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::{Exit, interrupt};
use anyhow::{anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tnsearch::tensor::Kind;
use tnsearch_app::certificate::CASES;
use tnsearch_app::load::Holes;
use tnsearch_app::structures::{Loaded, Source, load_structure};
use tnsearch_app::verify::{self, Claims};
use tnsearch_io::MemoryLimit;
use tnsearch_verify::claims::{Findings, Outcome};

/// Check what was claimed about a network: everything is computed anew, along another path.
///
/// The parameters are counted, the network is contracted by plain loops and compared with the tensor, where its modes sit and
/// what its template is are looked at, and lower bounds are proven again. The code that does so (the crate
/// tnsearch-verify) shares nothing with the search. The tensor must be taken as it was: with the same mask, and the same --split or
/// --reshape where the network does not say it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch verify X.npy net.safetensors out.json
      every claim of a search, a fit, a decomposition: one line each
  tnsearch verify X.npy net.safetensors out.json --certificate c.json
      the lower bound by the certificate that 'search --certificate' or 'certify --certificate' wrote
  tnsearch verify X.npy --certificate c.json
      the certificate alone

A claim holds, does not hold (or contradicts another), or was not checked, and then it is said why. What a summary has on record of
a run (its time, its seed, what else it tried) is compared with the rest and listed: no file can show it.

Exit codes: 0 every claim was checked and holds; 1 some claim does not hold; 3 nothing wrong was found, but some claim was not
checked; 2 bad input; 130 on Ctrl-C.")]
pub struct Verify {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    /// The network, as 'search', 'fit', 'decompose', 'complete' and 'round' write it
    network: Option<PathBuf>,
    /// The JSON summary that goes with it
    summary: Option<PathBuf>,
    /// A certificate: the lower bound that it proves
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    #[command(flatten)]
    holes: HoleOptions,
    /// Remove this share of the entries, as 'complete --missing' did
    #[arg(long, value_name = "SHARE", value_parser = real, allow_negative_numbers = true, help_heading = "Holes")]
    missing: Option<f64>,
    /// The seed that decided which
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Holes")]
    seed: u64,
    #[command(flatten)]
    loss: LossOptions,
    #[arg(long, value_name = "NAME|FILE", help = template_help(" that the lower bound is about [default: as the summary says]"), help_heading = "Proof")]
    template: Option<String>,
    /// The largest rank that the lower bound is about [default: as the summary says]
    #[arg(long, value_name = "R", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Proof")]
    max_rank: Option<usize>,
    /// Count what is only on record as not checked, too
    #[arg(long, help_heading = "Proof")]
    strict: bool,
    /// Cases that a proof may have where there is no certificate
    #[arg(long, value_name = "N", default_value_t = CASES, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Proof")]
    max_cases: usize,
    /// End after this many seconds; what was not checked by then is said
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Check nothing that needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    input: &'a str,
    /// The numbers that its entries were taken as.
    dtype: &'a str,
    network: Option<&'a Path>,
    summary: Option<&'a Path>,
    certificate: Option<&'a Path>,
    /// No claim that was checked is wrong.
    holds: bool,
    /// What came of all claims.
    verdict: Outcome,
    claims: &'a Findings,
    seconds: f64,
    version: &'a str,
}

pub fn run(args: &Verify) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    check_seconds(args.max_seconds)?;
    if args.network.is_none() && args.certificate.is_none() {
        bail!("what is to be checked? give a network (net.safetensors) or --certificate FILE");
    }
    let wanted = args.reshaping.check()?.with_holes(args.holes_of(None)?);
    let tensor = tensor_path(&args.tensor);
    let files = [&args.network, &args.summary, &args.certificate];
    let files = files.map(|f| f.as_deref().unwrap_or(Path::new("")));
    check_distinct(
        &[
            ("the tensor", &tensor),
            ("the network", files[0]),
            ("the summary", files[1]),
            ("--certificate", files[2]),
        ],
        &[("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    let summary = args.summary.as_deref().map(verify::read_summary).transpose()?;
    let certificate = args.certificate.as_deref().map(verify::read_certificate).transpose()?;
    let loaded = args.network.as_deref().map(|path| load_structure(path, limit)).transpose()?;
    let network = match &loaded {
        Some(Loaded { source: Source::Network(network), reshape, rse, .. }) => {
            Some((&**network, reshape.as_ref(), *rse))
        }
        Some(other) => {
            let summary = matches!(other.source, Source::Summary);
            let what = if summary { "a summary" } else { "a structure" };
            let path = args.network.as_deref().unwrap_or(Path::new("")).display();
            bail!("{path}: this is {what}; what is checked is a network (net.safetensors)");
        }
        None => None,
    };
    let wanted = match summary.as_ref().and_then(|s| s["mask"].as_str()) {
        Some(mask) => wanted.with_holes(args.holes_of(Some((mask, summary.as_ref())))?),
        None => wanted,
    };
    let loss = args.loss.spec();
    let claimed = Claims {
        network,
        summary: summary.as_ref(),
        certificate: certificate.as_ref(),
        loss: (!loss.is_default()).then(|| loss.to_string()),
        template: None,
        max_rank: args.max_rank.map(|r| r as u64),
    };
    let dtype = args.numbers.dtype.or(claimed.kind());
    let data = match &loaded {
        Some(_) => wanted.load(&args.tensor, dtype, loaded.as_ref(), limit)?,
        None => wanted.load_as(&args.tensor, dtype, claimed.reshape()?.as_ref(), limit)?,
    };
    let template = match &args.template {
        Some(spec) if spec == "any-tree" => Some(json!("any-tree")),
        Some(spec) => {
            let graph = load_graph(spec, data.target.dims().len())?;
            Some(serde_json::to_value(graph.to_ref())?)
        }
        None => None,
    };
    let interrupt = interrupt::on_ctrl_c();
    let seconds = args.max_seconds.unwrap_or(f64::INFINITY) - begun.elapsed().as_secs_f64();
    let stop = interrupt.within_seconds(seconds.max(0.0));
    let claims = Claims { template, ..claimed }
        .verify(&data, args.max_cases, &stop)
        .map_err(|e| anyhow!("{}: {e}", tensor.display()))?;
    let verdict = claims.outcome(args.strict);
    let summary = Summary {
        input: &args.tensor,
        dtype: data.target.kind().name(),
        network: args.network.as_deref(),
        summary: args.summary.as_deref(),
        certificate: args.certificate.as_deref(),
        holds: verdict != Outcome::DoesNotHold,
        verdict,
        claims: &claims,
        seconds: begun.elapsed().as_secs_f64(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || text(args, &data, &claims))?;
    Ok(match verdict {
        _ if interrupt.is_set() => Exit::Interrupted,
        Outcome::Holds => Exit::Done,
        Outcome::DoesNotHold => Exit::NotReached,
        Outcome::NotChecked => Exit::Unchecked,
    })
}

impl Verify {
    /// The holes as they were given, or as a summary says.
    fn holes_of(&self, said: Option<(&str, Option<&Value>)>) -> anyhow::Result<Option<Holes>> {
        let holes = match said.filter(|_| self.holes.mask_path().is_none()) {
            Some((mask, summary)) => {
                let marks = summary.and_then(|s| s["mask_marks"].as_str());
                self.holes.with_mask(mask, marks == Some("observed"))
            }
            None => self.holes.clone(),
        };
        match self.missing {
            Some(share) => Ok(Some(holes.removing(share, self.seed)?)),
            None => Ok(holes.check()),
        }
    }
}

fn text(args: &Verify, data: &Data, claims: &Findings) -> String {
    let mut out = String::new();
    data.lines(&mut out, &args.tensor);
    if args.numbers.dtype.is_none() && matches!(data.target.kind(), Kind::F32 | Kind::C32) {
        let kind = data.target.kind().name();
        line(
            &mut out,
            "read as",
            format!("{kind}, as the files given say; with --dtype otherwise"),
        );
    }
    lines::write(&mut out, claims);
    out
}
