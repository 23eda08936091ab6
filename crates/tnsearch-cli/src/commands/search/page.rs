//! The page about a search, from what happens in it.

use super::super::facts::facts;
use std::ffi::OsStr;
use tnsearch::bound::CutBound;
use tnsearch::problem::{Stop, Target};
use tnsearch::search::{Evaluation, Event, Listener, ListenerError};
use tnsearch_io::journal::{BeginRecord, Header, JournalFile};
use tnsearch_io::{MemoryLimit, output::Output};
use tnsearch_report::page::{self, Digest};

/// Keeps what a journal would.
pub struct PageListener(JournalFile);

impl PageListener {
    /// `records` are those of the search before a resume.
    pub fn new(header: Header, begin: BeginRecord, records: &[Evaluation]) -> Self {
        let mut journal = JournalFile::new(header);
        journal.begins.push(begin);
        journal.records = records.to_vec();
        PageListener(journal)
    }

    /// Writes the page; `name` is the journal's, where there is one.
    pub fn write(
        self,
        name: Option<&OsStr>,
        target: &Target,
        bound: Option<&CutBound>,
        limit: MemoryLimit,
        stop: &Stop,
        output: &Output,
    ) -> anyhow::Result<()> {
        let name = name.map_or_else(
            || "none: the page was written by the search itself".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        let mut search = page::Search { name, journal: self.0, facts: None };
        let found = Digest::new(&search).found;
        search.facts =
            found.map(|found| facts(target, bound, &search.journal, &found, limit, stop));
        let html = page::page(&[search]);
        Ok(output.write(|w| w.write_all(html.as_bytes()))?)
    }
}

impl Listener for PageListener {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError> {
        match event {
            Event::Evaluated(evaluation) => self.0.records.push((*evaluation).clone()),
            Event::Generation(generation) => self.0.generations.push(**generation),
            Event::End(end) => self.0.end = Some((*end).clone()),
            _ => {}
        }
        Ok(())
    }
}
