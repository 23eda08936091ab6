//! One record of a fitted structure, unchanged from the fit to the journal and the report; and the other things
//! that a search tells those who listen.

use super::{NoAnswer, OtherFormat, Stages, StoppedBy};
use crate::fit::Effort;
use crate::problem::{LowerBound, Score, StatementRecord};
use serde::{Deserialize, Serialize};

/// One finished evaluation.
///
/// A resumed search runs its strategies again from the seed; where one proposes a structure whose run
/// and key are on record, the result is taken from the record. So the records may be any part of those
/// of the first search, in any order, and the strategies' random states need not be kept. Cores are not
/// recorded: the best structure is fitted again at the end, which gives the same cores.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The run that proposed the structure, from 0.
    pub run: usize,
    /// The structure's canonical key ([`crate::graph::ModeGraph`] as text).
    #[serde(default)]
    pub key: String,
    /// The vertex of mode 0, of mode 1, ... as it was proposed.
    pub permutation: Vec<usize>,
    /// The rank of each edge of the template as it was proposed.
    pub ranks: Vec<usize>,
    /// Its parameters.
    pub params: u64,
    /// The error of the fit: the value of the problem's loss.
    #[serde(rename = "rse", alias = "error")]
    pub error: f64,
    /// The loss of the objective.
    pub loss: f64,
    /// Sweeps over all restarts.
    #[serde(default)]
    pub sweeps: usize,
    /// Restarts made.
    #[serde(default)]
    pub restarts: usize,
    /// Seconds since the search began, the time before a resume included.
    #[serde(default)]
    pub seconds: f64,
    /// How much work the fit was given; left out where it was all.
    #[serde(default, skip_serializing_if = "Effort::is_full")]
    pub effort: Effort,
    /// Its format, where it is not a structure of the graph searched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<OtherFormat>,
}

impl Evaluation {
    /// The numbers by which it is compared.
    pub fn score(&self) -> Score {
        Score { loss: self.loss, error: self.error, params: self.params.into() }
    }
}

/// What became of the proposed structures, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Structures fitted from truncated SVDs before the search began; not among the others.
    #[serde(default)]
    pub direct: u64,
    /// Structures proposed; the sum of those below.
    pub samples: u64,
    /// Structures fitted.
    pub evaluations: u64,
    /// Structures that had been proposed before in their run.
    pub cached: u64,
    /// Structures known without a fit not to be the answer.
    pub pruned: u64,
    /// Structures too large to be fitted.
    pub refused: u64,
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
    pub best: Option<Evaluation>,
    /// Whether it is what was asked for.
    pub target_reached: bool,
    /// What is proven.
    pub lower_bound: Option<LowerBound>,
    /// Whether the answer is proven optimal.
    pub certified_optimal: bool,
    /// Whether it is proven that no structure is what was asked for.
    pub proven_impossible: bool,
    /// What is proven, over which structures. Left out before version 0.4.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<StatementRecord>,
    /// Why there is no answer, where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_answer: Option<NoAnswer>,
    /// The largest rank that the answer might have, where the search was told one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rank: Option<usize>,
    /// Where the time of this part went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stages: Option<Stages>,
}
