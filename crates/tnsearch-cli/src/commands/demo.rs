//! `tnsearch demo`: a search end to end, on a tensor made for it.

use super::describe::{ErrorReport, MEASURE, StructureReport, line};
use super::outputs::ReportOptions;
use super::search::proof;
use crate::progress::Display;
use crate::text::{duration, number};
use crate::{Exit, interrupt};
use anyhow::anyhow;
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tnsearch::graph::{Structure, Template};
use tnsearch::network::draw;
use tnsearch::problem::{Objective, Target};
use tnsearch::search::{Best, Budget, Search, SearchResult, StoppedBy};
use tnsearch_app::Synthetic;
use tnsearch_io::{network, output::Output, write_tensor};

/// The tensor and the search of the demonstration: the paper's section 5.1.
const ORDER: usize = 6;
const DIMENSION: usize = 3;
const RANKS: (usize, usize) = (2, 3);
const HIDDEN_SEED: u64 = 6;
const MAX_RSE: f64 = 1e-4;

/// Hide a tensor ring in a tensor, search for it, and show what was found against what was hidden.
///
/// The tensor has order 6 and dimension 3, as in the paper's section 5.1; the search is the default one and
/// ends with a proof. Writes a picture of the network found, tnsearch-demo.svg; with -o also the tensor and
/// the network.
#[derive(Debug, Args)]
pub struct Demo {
    /// A directory for tnsearch-demo.svg, tnsearch-demo.npy and tnsearch-demo.safetensors
    #[arg(long, short, value_name = "DIR", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

#[derive(Serialize)]
struct Summary<'a> {
    hidden: StructureReport,
    found: StructureReport,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    efficiency: f64,
    samples: u64,
    evaluations: u64,
    seconds: f64,
    stopped_by: StoppedBy,
    #[serde(serialize_with = "crate::commands::outputs::lossy")]
    picture: &'a Path,
}

/// What the demonstration writes.
struct Files {
    picture: Output,
    picture_path: PathBuf,
    /// The tensor and the network, where a directory was given.
    data: Option<(Output, Output)>,
}

pub fn run(args: &Demo) -> anyhow::Result<Exit> {
    let report = args.report.check()?;
    let files = Files::check(args.output.as_deref())?;
    let dims = vec![DIMENSION; ORDER];
    let ring = Arc::new(Template::ring(ORDER)?);
    let made = Synthetic::new(ring.clone(), dims.clone(), RANKS).generate(HIDDEN_SEED)?;
    let target = Target::new(made.tensor.clone())?;

    let stop = interrupt::on_ctrl_c();
    let result = {
        let objective = Objective::MaxError(MAX_RSE);
        let mut display =
            Display::new(args.report.quiet, false, &Budget::default(), objective, &MEASURE);
        let search = Search::new(&target).template(ring.clone()).objective(objective).seed(1);
        search.stop(&stop).listen(&mut display).run()?
    };
    let interrupted = result.stopped_by == StoppedBy::Interrupted;
    let Some(best) = &result.best else {
        return match interrupted {
            true => Ok(Exit::Interrupted),
            false => Err(anyhow!("the demonstration found nothing")),
        };
    };
    let hidden = made.structure();
    let original = Structure::identity(ring.clone(), best.structure.ranks().to_vec())?;
    let pictures = [("found", &best.structure), ("original order", &original)];
    let svg = tnsearch_report::networks_svg(&pictures, &dims);
    files.picture.write(|w| w.write_all(svg.as_bytes()))?;
    if let Some((tensor, net)) = &files.data {
        write_tensor(tensor, &made.tensor.clone().into())?;
        let found = best.network(&dims)?;
        net.write(|w| network::write(w, &found, best.score.error))?;
    }
    let summary = Summary {
        hidden: StructureReport::new(hidden, &dims),
        found: StructureReport::new(&best.structure, &dims),
        error: ErrorReport::new(&result.measure, best.score.error),
        efficiency: hidden.params(&dims) as f64 / best.score.params as f64,
        samples: result.counts.samples,
        evaluations: result.counts.evaluations,
        seconds: result.seconds,
        stopped_by: result.stopped_by,
        picture: &files.picture_path,
    };
    report.write(&summary, || text(args, hidden, best, &result, &dims, &files.picture_path))?;
    Ok(if interrupted { Exit::Interrupted } else { Exit::Done })
}

impl Files {
    fn check(directory: Option<&Path>) -> anyhow::Result<Files> {
        let path = |name: &str| directory.unwrap_or(Path::new("")).join(name);
        let picture_path = path("tnsearch-demo.svg");
        let data = match directory {
            Some(_) => Some((
                Output::check(&path("tnsearch-demo.npy"))?,
                Output::check(&path("tnsearch-demo.safetensors"))?,
            )),
            None => None,
        };
        Ok(Files { picture: Output::check(&picture_path)?, picture_path, data })
    }
}

fn text(
    args: &Demo,
    hidden: &Structure,
    best: &Best,
    result: &SearchResult,
    dims: &[usize],
    picture: &Path,
) -> String {
    let mut out = String::new();
    let entries: usize = dims.iter().product();
    let _ = writeln!(
        out,
        "A tensor of {entries} entries was made from a ring of {} params whose modes were shuffled.\n\
         (m0:3) is mode 0 of dimension 3, --4-- an edge of rank 4, dots an edge of rank 1.\n",
        hidden.params(dims)
    );
    let _ = writeln!(out, "hidden:\n\n{}", draw(hidden, dims));
    let _ = writeln!(out, "found:\n\n{}", draw(&best.structure, dims));
    let (params, hidden_params) = (best.score.params, hidden.params(dims));
    line(&mut out, "params", format!("{entries} -> {params} (hidden: {hidden_params})"));
    line(&mut out, "error", result.measure.text(best.score.error, number));
    let verdict = match best.graph == hidden.canonical().graph {
        true => "the hidden structure itself, turned or mirrored perhaps",
        false if params < hidden_params => "a smaller network than the hidden one",
        false if params == hidden_params => "another network of the same size",
        false => "a larger network than the hidden one",
    };
    line(&mut out, "verdict", verdict);
    let (counts, time) = (result.counts, duration(result.seconds));
    line(
        &mut out,
        "searched",
        format!(
            "{} structure(s) proposed, {} fitted, in {time}",
            counts.samples, counts.evaluations
        ),
    );
    line(&mut out, "proof", proof(result));
    line(&mut out, "picture", picture.display());
    let next = match &args.output {
        Some(dir) => {
            let file = |name: &str| dir.join(name).display().to_string();
            let (net, npy) = (file("tnsearch-demo.safetensors"), file("tnsearch-demo.npy"));
            format!("tnsearch info {net}\n  tnsearch search {npy} --max-re 0.01")
        }
        None => "tnsearch search YOUR.npy --max-re 0.01 -o net.safetensors".to_owned(),
    };
    let _ = writeln!(out, "\nNext:\n  {next}");
    out
}
