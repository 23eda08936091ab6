//! The lines of a journal after the first.

use serde::{Deserialize, Serialize};
use tnsearch::search::{EndRecord, Evaluation, GenerationRecord};

/// The beginning of a search, or of a part of it after a resume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeginRecord {
    /// The tensor, as the user named it.
    pub input: String,
    /// The command, word by word.
    pub command: Vec<String>,
}

/// A line of a journal after the first.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A finished evaluation.
    Evaluation(Evaluation),
    /// The state after a generation: `{"generation": {...}}`.
    Generation(GenerationRecord),
    /// A beginning: `{"begin": {...}}`.
    Begin(BeginRecord),
    /// An end: `{"end": {...}}`.
    End(Box<EndRecord>),
}

/// The lines that are no evaluations.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Named<G, B, E> {
    Generation(G),
    Begin(B),
    End(E),
}

impl Line {
    /// Reads a line.
    pub fn parse(line: &[u8]) -> Result<Self, serde_json::Error> {
        // Every evaluation that was ever written begins like this.
        if line.starts_with(b"{\"run\"") {
            return serde_json::from_slice(line).map(Line::Evaluation);
        }
        Ok(match serde_json::from_slice(line)? {
            Named::Generation(record) => Line::Generation(record),
            Named::Begin(record) => Line::Begin(record),
            Named::End(record) => Line::End(Box::new(record)),
        })
    }
}

/// A generation as it is written.
pub(super) fn generation(record: &GenerationRecord) -> impl Serialize + '_ {
    Named::<_, (), ()>::Generation(record)
}

/// A beginning as it is written.
pub(super) fn begin(record: &BeginRecord) -> impl Serialize + '_ {
    Named::<(), _, ()>::Begin(record)
}

/// An end as it is written.
pub(super) fn end(record: &EndRecord) -> impl Serialize + '_ {
    Named::<(), (), _>::End(record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::fit::Effort;
    use tnsearch::problem::Objective;
    use tnsearch::search::{Counts, Stages, StoppedBy};

    fn evaluation() -> Evaluation {
        Evaluation {
            run: 2,
            key: "4+0:0-1x3".into(),
            permutation: vec![0, 2, 1, 3],
            ranks: vec![1, 3, 1, 1],
            params: 30,
            error: 0.1 + 0.2,
            loss: f64::MIN_POSITIVE / 3.0,
            sweeps: 12,
            restarts: 4,
            seconds: 1.0 / 3.0,
            effort: Effort::Quick,
            format: None,
        }
    }

    #[test]
    fn an_evaluation_survives_its_line_bit_for_bit() {
        let line = serde_json::to_string(&evaluation()).unwrap();
        assert!(line.contains("\"rse\":0.30000000000000004"), "{line}");
        assert_eq!(Line::parse(line.as_bytes()).unwrap(), Line::Evaluation(evaluation()));
    }

    #[test]
    fn other_lines_are_told_apart() {
        let counts =
            Counts { direct: 0, samples: 9, evaluations: 4, cached: 2, pruned: 3, refused: 0 };
        let bound = Some(Objective::MaxError(0.1).lower_bound(40.0));
        let state = GenerationRecord { number: 3, counts, lower_bound: bound, seconds: 0.5 };
        let first = BeginRecord { input: "X.npy".into(), command: vec!["tnsearch".into()] };
        let last = EndRecord {
            strategy: "tnls".into(),
            stopped_by: StoppedBy::MaxSeconds,
            counts,
            seconds: 1.5,
            best: Some(evaluation()),
            target_reached: true,
            lower_bound: None,
            certified_optimal: false,
            proven_impossible: false,
            statement: None,
            no_answer: None,
            max_rank: None,
            stages: Some(Stages { walks: 1.25, ..Stages::default() }),
        };
        let text = |line: &dyn erased::Write| line.write();
        assert_eq!(Line::parse(&text(&generation(&state))).unwrap(), Line::Generation(state));
        assert_eq!(Line::parse(&text(&begin(&first))).unwrap(), Line::Begin(first.clone()));
        assert_eq!(Line::parse(&text(&end(&last))).unwrap(), Line::End(Box::new(last.clone())));
        assert!(Line::parse(b"{\"run\":1}").unwrap_err().to_string().contains("permutation"));
        assert!(Line::parse(b"{\"what\":1}").is_err());
    }

    mod erased {
        /// Anything that serde writes.
        pub trait Write {
            fn write(&self) -> Vec<u8>;
        }

        impl<T: serde::Serialize> Write for T {
            fn write(&self) -> Vec<u8> {
                serde_json::to_vec(self).unwrap()
            }
        }
    }
}
