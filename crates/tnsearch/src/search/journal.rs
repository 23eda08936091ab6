//! The record of every finished evaluation, from which a search can be resumed.

use super::Effort;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// One finished evaluation, as a journal keeps it.
///
/// A resumed search runs its strategies again from the seed; where one proposes a structure whose run
/// and key are on record, the result is taken from the record. So the records may be any part of those
/// of the first search, in any order, and the strategies' random states need not be kept. Cores are not
/// recorded: the best structure is fitted again at the end, which gives the same cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRecord {
    /// The run that proposed the structure, from 0.
    pub run: usize,
    /// The structure's canonical key ([`crate::graph::ModeGraph`] as text).
    pub key: String,
    /// The vertex of mode 0, of mode 1, ... as it was proposed.
    pub permutation: Vec<usize>,
    /// The rank of each edge of the template as it was proposed.
    pub ranks: Vec<usize>,
    /// Its parameters.
    pub params: u64,
    /// The RSE of the fit; 1 where the fit was refused.
    pub rse: f64,
    /// The loss.
    pub loss: f64,
    /// Sweeps over all restarts.
    pub sweeps: usize,
    /// Restarts made.
    pub restarts: usize,
    /// Seconds since the search began, the time before a resume included.
    pub seconds: f64,
    /// Whether the fit was refused for its size.
    pub refused: bool,
    /// How much work the fit was given; left out where it was all.
    #[serde(default, skip_serializing_if = "Effort::is_full")]
    pub effort: Effort,
}

/// Where the records go. The command line keeps them in a file.
pub trait Journal: Send {
    /// Keeps one record. After an error the journal is not used again; the search goes on.
    fn append(&mut self, record: &EvaluationRecord) -> Result<(), JournalError>;
}

/// A journal that could not be written, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct JournalError(String);

impl JournalError {
    /// An error that reads like this.
    pub fn new(message: impl fmt::Display) -> Self {
        JournalError(message.to_string())
    }
}

/// Keeps the records in memory.
impl Journal for Vec<EvaluationRecord> {
    fn append(&mut self, record: &EvaluationRecord) -> Result<(), JournalError> {
        self.push(record.clone());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_json_bit_for_bit() {
        let record = EvaluationRecord {
            run: 2,
            key: "4+0:0-1x3".into(),
            permutation: vec![0, 2, 1, 3],
            ranks: vec![1, 3, 1, 1],
            params: 30,
            rse: 0.1 + 0.2,
            loss: f64::MIN_POSITIVE / 3.0,
            sweeps: 12,
            restarts: 4,
            seconds: 1.0 / 3.0,
            refused: false,
            effort: Effort::Quick,
        };
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<EvaluationRecord>(&line).unwrap(), record);
    }
}
