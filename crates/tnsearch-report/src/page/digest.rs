//! What a journal tells, worked out once: the best, how it came about, the Pareto front.

use super::Search;
use tnsearch::graph::Structure;
use tnsearch::problem::{CheckedObjective, LowerBound, Measure, Score};
use tnsearch::search::{BestOfFormats, Counts, Evaluation, FormatBest, StoppedBy};
use tnsearch_io::journal::JournalFile;

/// Whether a search has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has, and why.
    Ended(StoppedBy),
    /// Its journal has no end: it is running, was broken off, or was written by a program before version 2.
    Open,
}

/// The best structure of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The structure.
    pub structure: Structure,
    /// Its parameters.
    pub params: u128,
    /// Its error.
    pub error: f64,
    /// Its loss.
    pub loss: f64,
    /// The run that found it.
    pub run: usize,
    /// What its format is called, where it is not the graph searched.
    pub format: Option<String>,
}

impl Found {
    fn new(journal: &JournalFile, record: &Evaluation) -> Option<Self> {
        Some(Found {
            structure: journal.structure(record)?,
            params: record.params.into(),
            error: record.error,
            loss: record.loss,
            run: record.run,
            format: record.format.as_ref().map(|other| other.name.clone()),
        })
    }

    /// Its numbers.
    pub fn score(&self) -> Score {
        Score { loss: self.loss, error: self.error, params: self.params }
    }
}

/// A moment at which the best so far improved: the index of its record.
pub(super) type Improvement = usize;

/// A search and what follows from its journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest<'a> {
    /// The search.
    pub search: &'a Search,
    /// Whether it has ended.
    pub state: State,
    /// The best so far.
    pub found: Option<Found>,
    /// Whether that is what was asked for.
    pub target_reached: bool,
    /// What became of the structures; only the evaluations where the journal says no more.
    pub counts: Counts,
    /// Whether the counts of pruned and cached structures are known.
    pub counted: bool,
    /// What is proven so far.
    pub lower_bound: Option<LowerBound>,
    /// Seconds so far.
    pub seconds: f64,
    /// The records at which the best so far improved, over all runs.
    pub(super) improvements: Vec<Improvement>,
    /// The records on the Pareto front, params ascending.
    pub(super) front: Vec<usize>,
    /// The best of each format, the best first, where there are several.
    pub(super) formats: Vec<FormatBest>,
}

impl<'a> Digest<'a> {
    /// Works out what a journal tells.
    pub fn new(search: &'a Search) -> Self {
        let journal = &search.journal;
        let objective = journal.header.objective.check().ok();
        let improvements = improvements(journal, objective, None);
        let best = improvements.last().map(|&k| &journal.records[k]);
        let mut found = best.and_then(|record| Found::new(journal, record));
        if let Some(end) = journal.end.as_ref().and_then(|end| end.best.as_ref()) {
            found = Found::new(journal, end);
        }
        let evaluations = journal.records.len() as u64;
        let known = journal
            .end
            .as_ref()
            .map(|end| end.counts)
            .or_else(|| journal.generations.last().map(|g| g.counts))
            .filter(|counts| counts.evaluations >= evaluations || journal.end.is_some());
        let counts =
            known.unwrap_or(Counts { samples: evaluations, evaluations, ..Counts::default() });
        let last = journal.records.iter().map(|r| r.seconds).fold(0.0, f64::max);
        let reached = |f: &Found| objective.is_some_and(|o| o.reached(f.params, f.error));
        Digest {
            search,
            state: journal.end.as_ref().map_or(State::Open, |end| State::Ended(end.stopped_by)),
            target_reached: journal
                .end
                .as_ref()
                .map_or_else(|| found.as_ref().is_some_and(reached), |end| end.target_reached),
            found,
            counts,
            counted: known.is_some(),
            lower_bound: match &journal.end {
                Some(end) => end.lower_bound,
                None => journal.generations.iter().rev().find_map(|g| g.lower_bound),
            },
            seconds: journal.end.as_ref().map_or(last, |end| end.seconds),
            front: front(journal),
            formats: objective.map_or(Vec::new(), |objective| formats(journal, objective)),
            improvements,
        }
    }

    /// What its errors are called.
    pub fn measure(&self) -> &'a Measure {
        &self.search.journal.header.measure
    }

    /// Its journal.
    pub fn journal(&self) -> &'a JournalFile {
        &self.search.journal
    }
}

/// The records at which the best so far improved, of one run or over all.
pub(super) fn improvements(
    journal: &JournalFile,
    objective: Option<CheckedObjective>,
    run: Option<usize>,
) -> Vec<Improvement> {
    let Some(objective) = objective else { return Vec::new() };
    let mut best: Option<Score> = None;
    let mut out = Vec::new();
    for (k, record) in journal.records.iter().enumerate() {
        if run.is_some_and(|run| run != record.run) {
            continue;
        }
        let score = record.score();
        if best.is_none_or(|best| objective.better(&score, &best)) {
            best = Some(score);
            out.push(k);
        }
    }
    out
}

/// The best of each format.
fn formats(journal: &JournalFile, objective: CheckedObjective) -> Vec<FormatBest> {
    let mut formats = BestOfFormats::default();
    for record in &journal.records {
        formats.add(objective, journal.format_of(record), record.score(), record.seconds);
    }
    formats.finish(objective)
}

/// The records that no other beats in both params and error.
fn front(journal: &JournalFile) -> Vec<usize> {
    let records = &journal.records;
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&records[a], &records[b]);
        a.params.cmp(&b.params).then(a.error.total_cmp(&b.error))
    });
    let mut least = f64::INFINITY;
    order.retain(|&k| {
        let better = records[k].error < least;
        least = least.min(records[k].error);
        better
    });
    order
}
