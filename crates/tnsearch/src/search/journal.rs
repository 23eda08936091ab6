//! The record of every finished evaluation, from which a search can be resumed, and of what else happened,
//! for those who look at a search.

use super::{Counts, Effort, LowerBound, StoppedBy};
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
    /// The RSE of the fit.
    pub rse: f64,
    /// The loss.
    pub loss: f64,
    /// Sweeps over all restarts.
    pub sweeps: usize,
    /// Restarts made.
    pub restarts: usize,
    /// Seconds since the search began, the time before a resume included.
    pub seconds: f64,
    /// How much work the fit was given; left out where it was all.
    #[serde(default, skip_serializing_if = "Effort::is_full")]
    pub effort: Effort,
}

/// The state of a search at the end of a generation in which structures were proposed. A resume has no use for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GenerationRecord {
    /// The generation, from 1.
    pub number: u64,
    /// What became of the structures so far.
    pub counts: Counts,
    /// What a strategy has proven so far.
    pub lower_bound: Option<LowerBound>,
    /// Seconds since the search began, the time before a resume included.
    pub seconds: f64,
}

/// The beginning of a search, or of a part of it after a resume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginRecord {
    /// The tensor, as the user named it.
    pub input: String,
    /// The command, word by word.
    pub command: Vec<String>,
}

/// The end of a search, or of a part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndRecord {
    /// The strategy at work in the end.
    pub strategy: String,
    /// Why it ended.
    pub stopped_by: StoppedBy,
    /// What became of the structures.
    pub counts: Counts,
    /// Seconds, the preparation of bounds and the time before a resume included.
    pub seconds: f64,
    /// The answer.
    pub best: Option<FoundRecord>,
    /// Whether it is what was asked for.
    pub target_reached: bool,
    /// What is proven.
    pub lower_bound: Option<LowerBound>,
    /// Whether the answer is proven optimal.
    pub certified_optimal: bool,
    /// Whether it is proven that no structure is what was asked for.
    pub proven_impossible: bool,
}

/// The answer of a search in its [`EndRecord`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundRecord {
    /// The run that found it, from 0.
    pub run: usize,
    /// The vertex of mode 0, of mode 1, ...
    pub permutation: Vec<usize>,
    /// The rank of each edge of the template.
    pub ranks: Vec<usize>,
    /// Its parameters.
    pub params: u64,
    /// Its RSE.
    pub rse: f64,
    /// Its loss.
    pub loss: f64,
}

/// A line of a journal after the first.
#[derive(Debug, Clone, PartialEq)]
pub enum JournalLine {
    /// A finished evaluation.
    Evaluation(EvaluationRecord),
    /// The state after a generation: `{"generation": {...}}`.
    Generation(GenerationRecord),
    /// A beginning: `{"begin": {...}}`.
    Begin(BeginRecord),
    /// An end: `{"end": {...}}`.
    End(EndRecord),
}

/// The lines that are no evaluations.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Named {
    Generation(GenerationRecord),
    Begin(BeginRecord),
    End(EndRecord),
}

impl JournalLine {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Self, JournalError> {
        // Every evaluation that was ever written begins like this.
        if line.starts_with(b"{\"run\"") {
            return serde_json::from_slice(line).map(Self::Evaluation).map_err(JournalError::new);
        }
        let named = serde_json::from_slice(line).map_err(JournalError::new)?;
        Ok(match named {
            Named::Generation(record) => Self::Generation(record),
            Named::Begin(record) => Self::Begin(record),
            Named::End(record) => Self::End(record),
        })
    }

    /// The line as it is written, without its end.
    pub fn write(self) -> Result<String, JournalError> {
        let text = match self {
            Self::Evaluation(record) => serde_json::to_string(&record),
            Self::Generation(record) => serde_json::to_string(&Named::Generation(record)),
            Self::Begin(record) => serde_json::to_string(&Named::Begin(record)),
            Self::End(record) => serde_json::to_string(&Named::End(record)),
        };
        text.map_err(JournalError::new)
    }
}

/// Where the records go. The command line keeps them in a file.
pub trait Journal: Send {
    /// Keeps one record. After an error the journal is not used again; the search goes on.
    fn append(&mut self, record: &EvaluationRecord) -> Result<(), JournalError>;

    /// Keeps the state after a generation. A journal that is only there to resume from need not.
    fn generation(&mut self, _record: &GenerationRecord) -> Result<(), JournalError> {
        Ok(())
    }
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
            effort: Effort::Quick,
        };
        let line = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<EvaluationRecord>(&line).unwrap(), record);
        let parsed = JournalLine::parse(line.as_bytes()).unwrap();
        assert_eq!(parsed, JournalLine::Evaluation(record));
    }

    #[test]
    fn other_lines_are_told_apart() {
        let counts = Counts { samples: 9, evaluations: 4, cached: 2, pruned: 3, refused: 0 };
        let bound = LowerBound { params: Some(40), rse: None, loss: None };
        let generation =
            GenerationRecord { number: 3, counts, lower_bound: Some(bound), seconds: 0.5 };
        let begin = BeginRecord { input: "X.npy".into(), command: vec!["tnsearch".into()] };
        let best = FoundRecord {
            run: 0,
            permutation: vec![1, 0],
            ranks: vec![2],
            params: 12,
            rse: 1e-9,
            loss: 0.25,
        };
        let end = EndRecord {
            strategy: "tnls".into(),
            stopped_by: StoppedBy::MaxSeconds,
            counts,
            seconds: 1.5,
            best: Some(best),
            target_reached: true,
            lower_bound: None,
            certified_optimal: false,
            proven_impossible: false,
        };
        for line in
            [JournalLine::Generation(generation), JournalLine::Begin(begin), JournalLine::End(end)]
        {
            let text = line.clone().write().unwrap();
            assert_eq!(JournalLine::parse(text.as_bytes()).unwrap(), line, "{text}");
        }
        assert!(JournalLine::parse(b"{\"run\":1}").unwrap_err().to_string().contains("key"));
        assert!(JournalLine::parse(b"{\"what\":1}").is_err());
    }
}
