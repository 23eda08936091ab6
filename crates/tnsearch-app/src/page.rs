//! The page about a search, from what happens in it, or about several, from their journals.

use crate::facts::facts;
use crate::load::{LoadError, Source, recorded};
use std::ffi::OsStr;
use std::path::Path;
use thiserror::Error;
use tnsearch::bound::{BoundError, BoundLimits, CutBound, Spectra, needs_svd};
use tnsearch::problem::{Stop, Target};
use tnsearch::search::{Evaluation, Event, Listener, ListenerError};
use tnsearch_io::MemoryLimit;
use tnsearch_io::journal::{BeginRecord, Header, JournalFile};
use tnsearch_io::output::{Output, OutputError};
use tnsearch_report::page::{self, Digest, Search};

/// Why there is no page.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PageError {
    /// The tensor cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// Its cuts cannot be computed.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// It is another tensor.
    #[error("{0} is not the tensor of the journal: its dimensions or entries differ")]
    Another(String),
}

/// Keeps what a journal would.
#[derive(Debug)]
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
    ) -> Result<(), OutputError> {
        let name = name.map_or_else(
            || "none: the page was written by the search itself".to_owned(),
            |name| name.to_string_lossy().into_owned(),
        );
        let mut search = Search { name, journal: self.0, facts: None };
        let found = Digest::new(&search).found;
        search.facts =
            found.map(|found| facts(target, bound, &search.journal, &found, limit, stop));
        let html = page::page(&[search]);
        output.write(|w| w.write_all(html.as_bytes()))
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

/// A journal on disk.
pub fn read(path: &Path) -> Result<Search, LoadError> {
    let journal = JournalFile::open(path)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Ok(Search { name, journal, facts: None })
}

/// Adds what the tensor tells to every search that was made with it.
pub fn add_facts(searches: &mut [Search], x: &Source, limit: MemoryLimit) -> Result<(), PageError> {
    let never = Stop::new();
    let limits = BoundLimits::default().with(|l| l.max_bytes = Some(limit.bytes()));
    let mut known: Vec<(String, Target)> = Vec::new();
    let mut found_one = false;
    for search in searches.iter_mut() {
        let header = &search.journal.header;
        let target = match known.iter().find(|(print, _)| *print == header.sha256) {
            Some((_, target)) => target.clone(),
            None => {
                let Some(target) = recorded(x, header, limit)? else { continue };
                known.push((header.sha256.clone(), target.clone()));
                target
            }
        };
        found_one = true;
        let Some(found) = Digest::new(search).found else { continue };
        let svd = needs_svd(search.journal.header.objective);
        let bound = match Spectra::within(&target, svd, &limits) {
            Ok(spectra) => {
                spectra.prepare_within(&limits, &never)?;
                Some(CutBound::new(spectra))
            }
            Err(_) => None,
        };
        search.facts = Some(facts(&target, bound.as_ref(), &search.journal, &found, limit, &never));
    }
    match found_one {
        true => Ok(()),
        false => Err(PageError::Another(x.name().to_owned())),
    }
}
