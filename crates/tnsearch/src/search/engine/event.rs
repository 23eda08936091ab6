//! What a search tells while it runs: journal, progress bar and report listen to the same stream.

use super::{Counts, EndRecord, Evaluation, GenerationRecord, Stage};
use crate::problem::Score;
use std::fmt;
use thiserror::Error;

/// Something that happened in a search.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Event<'e> {
    /// A structure was fitted because its strategy asked for it.
    Evaluated(&'e Evaluation),
    /// A generation of every run has ended.
    Generation(&'e GenerationRecord),
    /// How far the search is: after each evaluation and each generation.
    Progress(&'e Progress),
    /// What it is busy with from now on: said when that changes, also before the first structure is proposed.
    Doing(&'e Doing<'e>),
    /// Another stage has begun: its time is counted from now on ([`super::Stages`]).
    Stage(Stage),
    /// The search has ended.
    End(&'e EndRecord),
}

/// What a search is busy with, in words by `Display`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Doing<'e> {
    /// A first answer is made from sketches.
    Sketching,
    /// A smaller tensor is sought that can take the place of X.
    Shrinking,
    /// The spectra of so many cuts are computed, those that there is time for.
    Cuts(u64),
    /// Direct methods look for structures to begin with.
    Direct,
    /// A strategy's structures are fitted.
    Fitting {
        /// Its name.
        strategy: &'e str,
        /// How many it has asked for.
        structures: usize,
        /// Whether these are fits that change their structure.
        walks: bool,
    },
    /// A lower bound is sought.
    Proving,
}

impl fmt::Display for Doing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doing::Sketching => f.write_str("making a first answer by sketches"),
            Doing::Shrinking => f.write_str("looking for a smaller tensor in its place"),
            Doing::Cuts(cuts) => write!(f, "computing the spectra of up to {cuts} cuts"),
            Doing::Direct => f.write_str("looking for structures by direct methods"),
            Doing::Fitting { strategy, structures, walks } => {
                let (what, s) = match walks {
                    true => ("walk", if *structures == 1 { "" } else { "s" }),
                    false => ("structure", if *structures == 1 { "" } else { "s" }),
                };
                write!(f, "{strategy}: {structures} {what}{s} at work")
            }
            Doing::Proving => f.write_str("proving a lower bound"),
        }
    }
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// What became of the structures so far.
    pub counts: Counts,
    /// The best so far.
    pub best: Option<Score>,
    /// Whether that is what was asked for.
    pub target_reached: bool,
    /// Generations that have ended (the same for all runs).
    pub generation: u64,
    /// The structures that all strategies together will propose, where they know.
    pub planned_samples: Option<u64>,
    /// What a strategy has proven so far that no structure can go below ([`crate::search::Strategy::lower_bound`]).
    pub lower_bound: Option<f64>,
    /// Seconds since the search began, the time before a resume included.
    pub seconds: f64,
}

/// Hears the events of a search. It is called from the thread that runs the search and cannot change its result. Any
/// `FnMut(&Event)` is one.
pub trait Listener {
    /// Takes an event. After an error the listener hears nothing more, and the search goes on.
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError>;
}

impl<F: FnMut(&Event<'_>)> Listener for F {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError> {
        self(event);
        Ok(())
    }
}

/// Keeps the evaluations in memory: all that a search can be resumed from.
impl Listener for Vec<Evaluation> {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError> {
        if let Event::Evaluated(evaluation) = event {
            self.push((*evaluation).clone());
        }
        Ok(())
    }
}

/// Why a listener has given up (a disk that is full), in one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ListenerError(String);

impl ListenerError {
    /// An error that reads like this.
    pub fn new(message: impl fmt::Display) -> Self {
        ListenerError(message.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_search_does_is_said_in_the_number_it_is_done() {
        let fitting =
            |structures, walks| Doing::Fitting { strategy: "tnls", structures, walks }.to_string();
        assert_eq!(fitting(1, false), "tnls: 1 structure at work");
        assert_eq!(fitting(2, false), "tnls: 2 structures at work");
        assert_eq!(fitting(1, true), "tnls: 1 walk at work");
        assert_eq!(fitting(3, true), "tnls: 3 walks at work");
        assert_eq!(Doing::Cuts(12).to_string(), "computing the spectra of up to 12 cuts");
        let others = [Doing::Sketching, Doing::Shrinking, Doing::Direct, Doing::Proving];
        let said: std::collections::BTreeSet<String> =
            others.iter().map(ToString::to_string).collect();
        assert!(said.len() == 4 && said.iter().all(|text| !text.is_empty()));
    }

    #[test]
    fn a_vector_hears_evaluations_and_an_error_reads_as_it_was_written() {
        let mut heard: Vec<Evaluation> = Vec::new();
        heard.hear(&Event::Stage(Stage::Walks)).unwrap();
        assert!(heard.is_empty());
        assert_eq!(ListenerError::new("the disk is full").to_string(), "the disk is full");
    }
}
