//! What a journal tells, worked out once: the best, how it came about, the Pareto front.

use super::{Peer, Search};
use tnsearch::graph::Structure;
use tnsearch::problem::{
    CheckedObjective, Known, LowerBound, Measure, Over, Score, Statement, Unproven,
};
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
    /// What is proven so far, over which structures.
    pub statement: Statement,
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
        let target_reached = journal
            .end
            .as_ref()
            .map_or_else(|| found.as_ref().is_some_and(reached), |end| end.target_reached);
        Digest {
            search,
            state: journal.end.as_ref().map_or(State::Open, |end| State::Ended(end.stopped_by)),
            statement: statement(journal, found.as_ref().filter(|_| target_reached)),
            target_reached,
            found,
            counts,
            counted: known.is_some(),
            seconds: journal.end.as_ref().map_or(last, |end| end.seconds),
            front: front(journal),
            formats: objective.map_or(Vec::new(), |objective| formats(journal, objective)),
            improvements,
        }
    }

    /// What a plot may call a line at the bound: none where something drawn is no structure that the bound is about, since it
    /// may well lie beyond.
    pub(super) fn bound_line(&self) -> Option<(String, LowerBound)> {
        let (over, journal) = (self.statement.bound_over()?, self.journal());
        let (name, bound) = (self.statement.line()?, self.statement.bound()?);
        let about = |record| journal.structure(record).is_some_and(|s| over.holds(&s));
        // Peers have names of their own; none may stand where the line says that there is nothing.
        let peer = |peer: &Peer| {
            bound.params.is_none_or(|least| peer.params >= least)
                && bound.error.is_none_or(|least| peer.error >= least)
        };
        let peers = self.search.facts.iter().flat_map(|facts| &facts.peers).all(peer);
        (peers && journal.records.iter().all(about)).then_some((name, bound))
    }

    /// The largest rank that the answer might have, where the search was told one.
    pub(super) fn max_rank(&self) -> Option<usize> {
        let (header, found) = (&self.journal().header, self.found.as_ref()?);
        if let Some(end) = self.journal().end.as_ref().filter(|end| end.statement.is_some()) {
            return end.max_rank;
        }
        // Before that was on record: where direct methods began, walks went as far as was of use.
        let most = usize::try_from(header.max_rank()?).ok()?;
        let wider = header.direct || found.structure.ranks().iter().any(|&rank| rank > most);
        let trees = header.template.is_any_tree() || header.template.is_formats();
        (!wider && !trees).then_some(most)
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

/// What a journal proves. Before that was on record it follows from what was asked: a search of several formats, or of all
/// trees, has bounds over trees.
fn statement(journal: &JournalFile, answer: Option<&Found>) -> Statement {
    let (header, end) = (&journal.header, journal.end.as_ref());
    let recorded = end.and_then(|end| end.statement.as_ref());
    let over = recorded.and_then(|said| said.over.as_ref());
    let over = over.and_then(|over| Over::from_file(over, header.dims.len()).ok());
    let over =
        over.or_else(|| Over::of_search(&header.template, &header.searched, header.max_rank()));
    let unproven = recorded.and_then(|said| said.reason.clone());
    Statement::of(Known {
        over,
        objective: header.objective,
        measure: &header.measure,
        bound: match end {
            Some(end) => end.lower_bound,
            None => journal.generations.iter().rev().find_map(|g| g.lower_bound),
        },
        impossible: end
            .filter(|end| end.proven_impossible && answer.is_none())
            .map(|_| recorded.and_then(|said| said.needed.clone())),
        unproven: match end {
            None => Unproven::Open,
            Some(_) => unproven.unwrap_or(Unproven::Unknown),
        },
        answer: answer.map(|found| (&found.structure, found.score())),
    })
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
        let Some(structure) = journal.structure(record) else { continue };
        let format = (journal.format_of(record), &structure);
        formats.add(objective, format, record.score(), record.seconds);
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
