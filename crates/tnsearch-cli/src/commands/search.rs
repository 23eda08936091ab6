//! `tnsearch search`: the smallest network for a tensor.

mod strategy;
mod summary;

pub use tnsearch_app::words::proof;

use self::strategy::StrategyOptions;
use super::certificate::CertificateOptions;
use super::data::ReshapeOptions;
use super::holes::{HoleOptions, mask_path};
use super::options::{
    DtypeOptions, FitOptions, ObjectiveOptions, count, load_template, memory, method, real, seed,
    template_help,
};
use super::outputs::{Folder, ReportOptions, check_distinct, tensor_path};
use crate::cluster::{Broker, Where};
use crate::progress::Display;
use crate::{Exit, hold, interrupt, terminal};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tnsearch::fit::Method;
use tnsearch::problem::{Loss as _, Over};
use tnsearch::search::wire::Job;
use tnsearch::search::{AskedSearch, Search as Run, SearchError};
use tnsearch_app::page::PageListener;
use tnsearch_app::summary::Asked;
use tnsearch_io::journal::{BeginRecord, Header, JournalWriter};
use tnsearch_io::{MemoryLimit, output::Output};

/// Find the smallest network for a tensor.
///
/// TENSOR is a .npy file, an array in an archive as FILE.npz:KEY or FILE.safetensors:KEY, or a picture (.png, .jpg).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch search X.npy --max-re 0.01 -o net.safetensors
      fewest params with a relative error of at most 1 %, in whichever format has them
  tnsearch search X.npy --template ring --max-re 0.01
      the same as a tensor ring, proven optimal or with the gap that is left
  tnsearch search weights.safetensors:layer.3 --template path --max-params 20000 --max-rank 32
      smallest error with at most 20000 params, as a tensor train
  tnsearch search X.npz:x --template ring --lambda 200 --runs 5 --seed 1 --json out.json
      the paper's objective on rings, best of five runs (--strategy tnls: its algorithm, too)
  tnsearch search picture.png --grey --resize 256x256 --tensorise reshape --lambda 5
      a picture as the paper takes it, 4^8; 'reconstruct' gives 256 x 256 back
  tnsearch search weights.npy --split auto --max-rse 1e-2
      large modes are split into factors first
  tnsearch search counts.npy --loss poisson --lambda 0.1
      a network without negative entries for counts, by their deviance
  tnsearch search X.npy --max-rse 1e-4 --pareto front --json out.json
      the networks along the way too, smaller ones with larger errors; 'pick' makes one of them later
  tnsearch search X.npy --journal run.jsonl --resume --max-seconds 3600
      an hour at a time; finished work is never repeated")]
pub struct Search {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    #[command(flatten)]
    holes: HoleOptions,

    #[command(flatten)]
    objective: ObjectiveOptions,

    #[arg(long, value_name = "NAME|FILE", help = template_help(" [default: several formats, of which the best is chosen; ring for strategies other than auto]"), help_heading = "Search")]
    template: Option<String>,
    /// The largest rank of an edge [default: as large as is of use; proofs, and strategies other than auto: 7]
    #[arg(long, value_name = "R", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Search")]
    max_rank: Option<usize>,
    #[command(flatten)]
    strategy: StrategyOptions,
    /// Independent runs with derived seeds; the best counts
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Search")]
    runs: usize,
    /// Same seed, same data, same settings: same result, at any number of threads
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Search")]
    seed: u64,
    /// Fit every structure that is proposed, also where a bound proves that it cannot win
    #[arg(long, help_heading = "Search")]
    no_prune: bool,
    /// Search the tensor as it is, also where a smaller one in its place would do: every mode projected on its leading
    /// singular vectors
    #[arg(long, help_heading = "Search")]
    no_shrink: bool,
    /// Begin at random, as in the paper: not with what truncated SVDs give in the orders that the spectra suggest
    #[arg(long, help_heading = "Search")]
    no_direct: bool,
    /// Nodes that may be expanded after the search to prove a lower bound; 0: prove none (200000 take seconds)
    #[arg(long, value_name = "N", default_value_t = 200_000, help_heading = "Search")]
    certificate_nodes: u64,

    /// How cores are fitted: als, adam or lm
    #[arg(long, value_name = "METHOD", default_value = "als", value_parser = method, help_heading = "Fitting")]
    fit: Method,
    #[command(flatten)]
    fitting: FitOptions,

    /// Do not fit structures with this many times the tensor's entries as params, or more [default: 1; for
    /// the paper's strategies 10, as there]
    #[arg(long, value_name = "PHI", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_phi: Option<f64>,
    /// Nor those of which an ALS sweep takes more than this many multiply-adds per entry of the tensor [default:
    /// no limit; tnga-star and greedy: 1000]
    #[arg(long, value_name = "COST", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_cost: Option<f64>,
    /// Fit at most this many structures
    #[arg(long, value_name = "N", value_parser = count::<u64>, allow_negative_numbers = true, help_heading = "Budgets")]
    max_evaluations: Option<u64>,
    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Threads [default: one per processor]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true, help_heading = "Budgets")]
    threads: Option<usize>,
    /// Fit on the workers of a cluster, through the Python package tnsearch: dask://HOST:PORT, ray://HOST:PORT, mpi, or
    /// processes:N of this machine. The answer is the same
    #[arg(long, value_name = "WHERE", help_heading = "Budgets")]
    cluster: Option<Where>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,

    /// Keep a record of every evaluation in this file
    #[arg(long, value_name = "FILE", help_heading = "Journal")]
    journal: Option<PathBuf>,
    /// Continue the search in the journal; starts anew where there is none
    #[arg(long, requires = "journal", help_heading = "Journal")]
    resume: bool,

    /// Write the network found (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write every network of the Pareto front (error against params) into this folder, named by its params
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pareto: Option<PathBuf>,
    /// Write a page about the search: pictures and plain words in one HTML file
    #[arg(long = "report", value_name = "FILE", help_heading = "Output")]
    page: Option<PathBuf>,
    #[command(flatten)]
    proof: CertificateOptions,
    #[command(flatten)]
    report: ReportOptions,
    /// Show progress also where standard error is no terminal
    #[arg(long, conflicts_with = "quiet", help_heading = "Output")]
    progress: bool,
}

pub fn run(args: &Search) -> anyhow::Result<Exit> {
    let begun = Instant::now();
    let limit = MemoryLimit::new(args.max_memory);
    let asked = args.asked()?;
    // Wrong numbers are refused before a large file is read.
    let settings = asked.settings(limit.bytes())?;
    let wanted = args.reshaping.check()?.with_holes(args.holes.check());
    check_distinct(
        &[
            ("the tensor", &tensor_path(&args.tensor)),
            ("the template", Path::new(args.template.as_deref().unwrap_or_default())),
            ("--mask", &mask_path(&args.holes)),
        ],
        &[
            ("--output", args.output.as_deref()),
            ("--json", args.report.json_path()),
            ("--journal", args.journal.as_deref()),
            ("--report", args.page.as_deref()),
            ("--certificate", args.proof.path()),
        ],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let page = args.page.as_deref().map(Output::check).transpose()?;
    let proof = args.proof.check()?;

    let data = wanted.load(&args.tensor, args.numbers.dtype, None, limit)?;
    let target = &data.target;
    data.warn();
    let settings = settings.with(|s| s.split = !data.shape_asked);
    let template = args.template.as_deref();
    let template = template.map(|name| load_template(name, target.dims().len())).transpose()?;
    let front = args.pareto.as_deref().map(Folder::check).transpose()?;
    let mut broker = match &args.cluster {
        Some(Where::Workers(place)) => Some(Broker::start(place)?),
        _ => None,
    };
    let stop = interrupt::on_ctrl_c();
    let (mut display, mut journal, mut shown) = (None, None, None);
    let mut held = hold::AfterEvaluations(stop.clone());
    let quiet = args.report.quiet;
    let loss = args.objective.loss.spec().for_target(target)?;
    let measure = loss.measure();
    let mut search = Run::new(target).settings(settings.clone()).stop(&stop);
    if let Some(template) = template {
        search = search.template(template);
    }
    let mut search = search.begun(begun).loss(loss).front(args.pareto.is_some());
    if let Some(broker) = &mut broker {
        search = search.executor_for(|target, loss| {
            Ok(Box::new(broker.connect(Job::new(target, &**loss).map_err(SearchError::from)?)))
        });
    }
    if let Some(Where::Registered(executor, rest)) = &args.cluster {
        search = search.executor_for(|target, loss| (executor.make)(rest, target, loss));
    }
    let mut search = search.check()?;
    let data = data.searched_by(&search);
    if let (Some(split), false) = (search.split(), quiet) {
        terminal::note("note", &split.text());
    }
    let target = &data.target;
    let template = search.template().clone();
    let about = Some(Over::new(&template, search.settings().max_rank));
    let shows = Display::new(quiet, args.progress, &settings.budget, settings.objective, &measure);
    search = search.listen(display.insert(shows.about(about)));
    // The fingerprint of a large tensor takes a while.
    let header = || Header::of(&search, target, &measure, data.reshape.as_ref());
    let header = (args.journal.is_some() || page.is_some()).then(header).transpose()?;
    let begin = args.begin();
    if let (Some(path), Some(header)) = (&args.journal, &header) {
        let (mut writer, read) = JournalWriter::open(path, header, args.resume)?;
        writer.warnings().iter().for_each(|said| terminal::note("warning", said));
        writer.begin(&begin)?;
        search = search.resume(read.records).listen(journal.insert(writer));
    }
    if let (Some(header), true) = (header, page.is_some()) {
        let listener = PageListener::new(header, begin, search.records());
        search = search.listen(shown.insert(listener));
    }
    let described = summary::Described { args, data: &data, asked: Asked::new(&search, begun) };
    hold::at("preparation", &stop.within_seconds(args.max_seconds.unwrap_or(f64::INFINITY)));
    let prepared = search.listen(&mut held).prepare()?;
    if let (Some(impossible), false) = (prepared.impossible(), quiet) {
        // Before the fits that cannot get there.
        terminal::note("note", &impossible.text());
    }
    let (bound, searched) = (prepared.bound().cloned(), prepared.target().clone());
    let result = prepared.run()?;
    if let Some(e) = &result.listener_error {
        terminal::note("warning", &format!("the journal is incomplete: {e}"));
    }
    let proof = proof.as_ref().map(|file| (file, bound.as_ref(), &stop));
    let exit = described.finish(result, output.as_ref(), front.as_ref(), &report, proof)?;
    if let (Some(page), Some(shown)) = (&page, shown) {
        let name = args.journal.as_deref().and_then(Path::file_name);
        shown.write(
            name,
            &searched,
            bound.as_ref(),
            limit,
            &described.asked.time_after(&stop),
            page,
        )?;
    }
    Ok(exit)
}

impl Search {
    /// What is asked, in the words that all shells share.
    fn asked(&self) -> anyhow::Result<AskedSearch> {
        Ok(AskedSearch {
            objective: self.objective.asked(),
            template: self.template.clone(),
            max_rank: self.max_rank,
            strategy: self.strategy.spec()?,
            runs: self.runs,
            seed: self.seed,
            prune: !self.no_prune,
            shrink: !self.no_shrink,
            direct: !self.no_direct,
            certificate_nodes: self.certificate_nodes,
            fit: self.fitting.asked(self.fit),
            max_phi: self.max_phi,
            max_cost: self.max_cost,
            max_evaluations: self.max_evaluations,
            max_seconds: self.max_seconds,
            threads: self.threads,
        })
    }

    /// The command as it was given; however the program was called, this is its name.
    fn begin(&self) -> BeginRecord {
        let words = std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned());
        let command = ["tnsearch".to_owned()].into_iter().chain(words).collect();
        BeginRecord { input: self.tensor.clone(), command }
    }
}
