//! `tnsearch report`: a page about one search or several, from their journals.

use super::options::memory;
use super::outputs::{check_distinct, tensor_path};
use crate::{Exit, terminal};
use clap::Args;
use std::path::{Path, PathBuf};
use tnsearch_app::load::Source;
use tnsearch_app::page;
use tnsearch_io::journal::JournalFile;
use tnsearch_io::lines;
use tnsearch_io::{MemoryLimit, output::Output};

/// Show a search, or several, as a page.
///
/// The page is one HTML file that needs nothing else: no network, no other file. It says in plain words what
/// was asked and found, how it compares and how sure that is, and draws the network and the search. A journal
/// is written by 'search --journal'; of a running search the page shows the state so far.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch search X.npy --journal run.jsonl
  tnsearch report run.jsonl -o report.html
  tnsearch report run.jsonl --x X.npy -o report.html
      with what only the tensor can tell: its cut spectra, TT-SVD and TR-SVD
  tnsearch report seed1.jsonl seed2.jsonl seed3.jsonl -o report.html
      curves with bands over the seeds, and the best in full")]
pub struct Report {
    /// The journals
    #[arg(value_name = "JOURNAL", required = true)]
    journals: Vec<PathBuf>,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// The tensor that was searched, for its cut spectra and for TT-SVD and TR-SVD to compare with
    #[arg(long, value_name = "TENSOR")]
    x: Option<String>,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    max_memory: Option<u64>,
    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
}

pub fn run(args: &Report) -> anyhow::Result<Exit> {
    let x = args.x.as_deref().map(tensor_path);
    let mut inputs: Vec<(&str, &Path)> =
        args.journals.iter().map(|j| ("the journal", j.as_path())).collect();
    inputs.extend(x.as_deref().map(|x| ("--x", x)));
    check_distinct(&inputs, &[("--output", Some(&args.output))])?;
    let output = Output::check(&args.output)?;
    let limit = MemoryLimit::new(args.max_memory);
    let read = args.journals.iter().map(|path| page::read(path));
    let mut searches = read.collect::<Result<Vec<_>, _>>()?;
    args.journals.iter().zip(&searches).for_each(|(path, search)| warn(path, &search.journal));
    if let Some(x) = &args.x {
        page::add_facts(&mut searches, &Source::File(x.clone()), limit)?;
    }
    let html = tnsearch_report::page::page(&searches);
    output.write(|w| w.write_all(html.as_bytes()))?;
    if !args.quiet {
        terminal::print(&format!(
            "written     {} ({:.0} kB)\n",
            args.output.display(),
            html.len() as f64 / 1e3
        ))?;
    }
    Ok(Exit::Done)
}

/// Says what of a journal is damaged.
pub fn warn(path: &Path, journal: &JournalFile) {
    for said in lines::warnings(path, &journal.damaged, "it is left out") {
        terminal::note("warning", &said);
    }
}
