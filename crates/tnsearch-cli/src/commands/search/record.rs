//! What a search leaves for others to look at: the lines of its journal besides the evaluations, and its page.

use super::Search;
use crate::commands::facts::facts;
use crate::files::{MemoryLimit, output::Output};
use crate::journal::DiskJournal;
use crate::{hold, interrupt};
use serde_json::Value;
use tnsearch::bound::CutBound;
use tnsearch::fit::{Interrupt, Target};
use tnsearch::search::{
    BeginRecord, EndRecord, EvaluationRecord, FoundRecord, GenerationRecord, Journal, JournalError,
    SearchResult,
};
use tnsearch_report::journal::{Header, JournalFile};
use tnsearch_report::page::{self, Digest};

/// The journal on disk, where there is one, and a copy of what goes into it where a page is to be made.
pub struct Recorder {
    disk: Option<DiskJournal>,
    kept: Option<Kept>,
    /// Nothing more is written after a failure.
    failed: bool,
}

#[derive(Default)]
struct Kept {
    begin: BeginRecord,
    records: Vec<EvaluationRecord>,
    generations: Vec<GenerationRecord>,
}

impl Recorder {
    /// Starts to record; `records` are those of the search before a resume.
    pub fn begin(
        args: &Search,
        mut disk: Option<DiskJournal>,
        records: &[EvaluationRecord],
    ) -> Result<Self, JournalError> {
        let words = std::env::args_os().map(|a| a.to_string_lossy().into_owned());
        // However the program was called, this is its name.
        let command = ["tnsearch".to_owned()].into_iter().chain(words.skip(1)).collect();
        let begin = BeginRecord { input: args.tensor.clone(), command };
        if let Some(disk) = &mut disk {
            disk.begin(begin.clone())?;
        }
        let kept = args.page.as_ref().map(|_| Kept {
            begin,
            records: records.to_vec(),
            generations: Vec::new(),
        });
        Ok(Recorder { disk, kept, failed: false })
    }

    /// Whether anything is to be recorded.
    pub fn wanted(&self) -> bool {
        self.disk.is_some() || self.kept.is_some()
    }

    /// Records the end.
    pub fn end(&mut self, result: &SearchResult) -> Result<EndRecord, JournalError> {
        let end = end_record(result);
        if let (Some(disk), false) = (&mut self.disk, self.failed || result.journal_error.is_some())
        {
            disk.end(end.clone())?;
        }
        Ok(end)
    }

    /// Writes the page, if one was asked for.
    #[expect(clippy::too_many_arguments, reason = "the last step needs all that was made before")]
    pub fn page(
        self,
        args: &Search,
        header: &Value,
        end: EndRecord,
        target: &Target,
        bound: Option<&CutBound<'_>>,
        limit: MemoryLimit,
        interrupt: &Interrupt,
        output: &Output,
    ) -> anyhow::Result<()> {
        let Some(kept) = self.kept else { return Ok(()) };
        let name = args.journal.as_ref().and_then(|p| p.file_name()).map_or_else(
            || "none: the page was written by the search itself".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        let journal = JournalFile {
            header: Header::parse(header.to_string().as_bytes())?,
            begins: vec![kept.begin],
            records: kept.records,
            generations: kept.generations,
            end: Some(end),
            torn: false,
        };
        let mut search = page::Search { name, journal, facts: None };
        let found = Digest::new(&search).found;
        search.facts =
            found.map(|found| facts(target, bound, &search.journal, &found, limit, interrupt));
        let html = page::page(&[search]);
        Ok(output.write(|w| w.write_all(html.as_bytes()))?)
    }
}

impl Journal for Recorder {
    fn append(&mut self, record: &EvaluationRecord) -> Result<(), JournalError> {
        if let Some(kept) = &mut self.kept {
            kept.records.push(record.clone());
        }
        let written = self.on_disk(|disk| disk.append(record));
        hold::evaluation(interrupt::requested);
        written
    }

    fn generation(&mut self, record: &GenerationRecord) -> Result<(), JournalError> {
        if let Some(kept) = &mut self.kept {
            kept.generations.push(*record);
        }
        self.on_disk(|disk| disk.generation(record))
    }
}

impl Recorder {
    fn on_disk(
        &mut self,
        write: impl FnOnce(&mut DiskJournal) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let written = self.disk.as_mut().map_or(Ok(()), write);
        self.failed |= written.is_err();
        written
    }
}

fn end_record(result: &SearchResult) -> EndRecord {
    let best = result.best.as_ref().map(|best| FoundRecord {
        run: best.run,
        permutation: best.structure.permutation().to_vec(),
        ranks: best.structure.ranks().to_vec(),
        params: best.score.params.try_into().unwrap_or(u64::MAX),
        rse: best.score.rse,
        loss: best.score.loss,
    });
    EndRecord {
        strategy: result.strategy.to_owned(),
        stopped_by: result.stopped_by,
        counts: result.counts,
        seconds: result.seconds,
        best,
        target_reached: result.target_reached,
        lower_bound: result.lower_bound,
        certified_optimal: result.certified_optimal,
        proven_impossible: result.proven_impossible,
    }
}
