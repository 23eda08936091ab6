//! Reading the journal of a search, running or finished, for those who look at it.

use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use thiserror::Error;
use tnsearch::graph::{Structure, Template, TemplateRef};
use tnsearch::problem::Objective;
use tnsearch::search::{BeginRecord, EndRecord, EvaluationRecord, GenerationRecord, JournalLine};

/// The mark of our journals, in their first line.
pub const FORMAT: &str = "tnsearch-journal";
/// The newest version that is written and read. Version 1 had evaluations only.
pub const VERSION: u64 = 2;

/// The strategies that search the complete graph, whatever the template.
const LEAVING: [&str; 2] = ["tnga-star", "greedy"];

/// Why a journal cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JournalProblem {
    /// There is nothing in it.
    #[error("it is empty: the search has not begun to write it")]
    Empty,
    /// It is another file.
    #[error("not a journal of tnsearch")]
    Foreign,
    /// It was written by a later program.
    #[error(
        "it has version {0}, and this program reads versions 1 to {VERSION}; use a newer tnsearch"
    )]
    Newer(u64),
    /// The first line lacks something.
    #[error("its first line is damaged ({0})")]
    Header(String),
    /// A line in the middle cannot be read.
    #[error("line {line} is damaged ({reason})")]
    Damaged {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
}

/// What a search was asked: the first line of its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The program's version.
    pub tnsearch: String,
    /// The tensor's dimensions.
    pub dims: Vec<usize>,
    /// The fingerprint of its entries.
    pub sha256: String,
    /// The template that was asked for.
    pub template: Arc<Template>,
    /// The graph whose structures were proposed: the template, or the complete graph with strategies that leave
    /// the template.
    pub searched: Arc<Template>,
    /// What was looked for.
    pub objective: Objective,
    /// The strategy, as on the command line.
    pub strategy: String,
    /// The settings of the strategies and of the fits, as they stand in the file.
    pub settings: Value,
    /// Those of the fits.
    pub fit: Value,
    /// The seed.
    pub seed: u64,
    /// The number of independent runs.
    pub runs: u64,
    /// The largest rank of an edge.
    pub max_rank: Option<u64>,
}

#[derive(Deserialize)]
struct FirstLine {
    tnsearch: String,
    data: Data,
    template: TemplateRef,
    objective: Objective,
    strategy: String,
    settings: Value,
    #[serde(default)]
    fit: Value,
    seed: u64,
    runs: u64,
}

#[derive(Deserialize)]
struct Data {
    dims: Vec<usize>,
    sha256: String,
}

/// A journal.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalFile {
    /// The first line.
    pub header: Header,
    /// Each beginning: one more for each resume.
    pub begins: Vec<BeginRecord>,
    /// The evaluations, in the order in which they ended.
    pub records: Vec<EvaluationRecord>,
    /// The state after each generation.
    pub generations: Vec<GenerationRecord>,
    /// The end, if it is the last line: nothing was done since.
    pub end: Option<EndRecord>,
    /// Whether the last line was torn (a crash, or a search that is just writing).
    pub torn: bool,
}

impl JournalFile {
    /// Reads the bytes of a journal. A last line that was torn is left out.
    pub fn parse(bytes: &[u8]) -> Result<Self, JournalProblem> {
        if bytes.is_empty() {
            return Err(JournalProblem::Empty);
        }
        let mut lines = bytes.split_inclusive(|&b| b == b'\n').enumerate();
        let first = lines.next().map_or(&[][..], |(_, line)| line);
        let mut journal = JournalFile {
            header: Header::parse(first)?,
            begins: Vec::new(),
            records: Vec::new(),
            generations: Vec::new(),
            end: None,
            torn: false,
        };
        let last = bytes.split_inclusive(|&b| b == b'\n').count() - 1;
        for (k, line) in lines {
            let whole = line.last() == Some(&b'\n');
            match JournalLine::parse(line.trim_ascii()) {
                Ok(line) if whole => journal
                    .add(line)
                    .map_err(|reason| JournalProblem::Damaged { line: k + 1, reason })?,
                _ if k == last => journal.torn = true,
                Ok(_) => {}
                Err(e) => {
                    let reason = e.to_string();
                    return Err(JournalProblem::Damaged { line: k + 1, reason });
                }
            }
        }
        Ok(journal)
    }

    fn add(&mut self, line: JournalLine) -> Result<(), String> {
        self.end = None;
        match line {
            JournalLine::Evaluation(record) => {
                self.structure(&record.permutation, &record.ranks).ok_or("no such structure")?;
                self.records.push(record);
            }
            JournalLine::Generation(generation) => self.generations.push(generation),
            JournalLine::Begin(begin) => self.begins.push(begin),
            JournalLine::End(end) => {
                if let Some(best) = &end.best {
                    self.structure(&best.permutation, &best.ranks).ok_or("no such structure")?;
                }
                self.end = Some(end);
            }
        }
        Ok(())
    }

    /// A structure of the graph that was searched; none where the numbers are not one.
    pub fn structure(&self, permutation: &[usize], ranks: &[usize]) -> Option<Structure> {
        Structure::new(self.header.searched.clone(), permutation.to_vec(), ranks.to_vec()).ok()
    }

    /// The tensor as the user named it, where that is on record.
    pub fn input(&self) -> Option<&str> {
        self.begins.last().map(|b| b.input.as_str()).filter(|name| !name.is_empty())
    }
}

impl Header {
    /// Reads the first line.
    pub fn parse(line: &[u8]) -> Result<Self, JournalProblem> {
        let value: Value =
            serde_json::from_slice(line.trim_ascii()).map_err(|_| JournalProblem::Foreign)?;
        if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(JournalProblem::Foreign);
        }
        let bad = |reason: String| JournalProblem::Header(reason);
        match value.get("version").and_then(Value::as_u64) {
            Some(1..=VERSION) => {}
            Some(newer) if newer > VERSION => return Err(JournalProblem::Newer(newer)),
            _ => return Err(bad("it has no version".to_owned())),
        }
        let first: FirstLine = serde_json::from_value(value).map_err(|e| bad(e.to_string()))?;
        let dims = first.data.dims;
        let entries = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d).filter(|_| d > 0));
        if dims.len() < 2 || entries.is_none() {
            return Err(bad(format!("dimensions {dims:?} are those of no tensor")));
        }
        let template =
            Template::from_ref(&first.template, dims.len()).map_err(|e| bad(e.to_string()))?;
        let template = Arc::new(template);
        let searched = match LEAVING.contains(&first.strategy.as_str()) {
            true => Arc::new(Template::complete(dims.len()).map_err(|e| bad(e.to_string()))?),
            false => template.clone(),
        };
        let objective = first.objective;
        objective.check().map_err(|e| bad(e.to_string()))?;
        Ok(Header {
            tnsearch: first.tnsearch,
            dims,
            sha256: first.data.sha256,
            template,
            searched,
            objective,
            strategy: first.strategy,
            max_rank: first.settings.get("max_rank").and_then(Value::as_u64),
            settings: first.settings,
            fit: first.fit,
            seed: first.seed,
            runs: first.runs,
        })
    }
}
