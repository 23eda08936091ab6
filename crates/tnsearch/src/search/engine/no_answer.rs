//! Why a search came back with nothing, or with less than was asked for, in words that are true.

use super::{Counts, ParetoPoint, StoppedBy};
use crate::problem::{Measure, Objective, Score};
use serde::{Deserialize, Serialize};

/// Why nothing was found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NoAnswer {
    /// The time was up before the first fit was done.
    TimeUp {
        /// Structures that were too large, or would have taken longer than the time left.
        refused: u64,
    },
    /// It was interrupted before the first fit was done.
    Interrupted,
    /// Every structure proposed was too large to be fitted.
    TooLarge {
        /// Structures of this many times the tensor's entries, or more, are not fitted.
        max_phi: f64,
        /// Nor those of which a sweep takes more multiply-adds per entry.
        max_cost: Option<f64>,
        /// Whether some would have taken more memory than there is.
        memory: bool,
    },
    /// Every structure proposed was ruled out without a fit.
    RuledOut,
    /// The fits that may be made were spent.
    FitsSpent,
    /// No structure was proposed.
    NothingProposed,
}

/// What the engine knows of what it refused.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Refusals {
    /// Fits that would have taken too much memory.
    pub memory: u32,
    /// Fits that would have taken longer than the time left.
    pub time: u32,
}

impl NoAnswer {
    pub(super) fn new(
        stopped_by: StoppedBy,
        counts: &Counts,
        refusals: Refusals,
        (max_phi, max_cost): (f64, Option<f64>),
    ) -> Self {
        match stopped_by {
            StoppedBy::Interrupted => NoAnswer::Interrupted,
            StoppedBy::MaxSeconds => NoAnswer::TimeUp { refused: counts.refused },
            _ if refusals.time > 0 => NoAnswer::TimeUp { refused: counts.refused },
            _ if counts.refused > 0 => {
                NoAnswer::TooLarge { max_phi, max_cost, memory: refusals.memory > 0 }
            }
            StoppedBy::MaxEvaluations => NoAnswer::FitsSpent,
            _ if counts.samples > 0 => NoAnswer::RuledOut,
            _ => NoAnswer::NothingProposed,
        }
    }

    /// In words, to stand after "nothing:".
    pub fn text(&self) -> String {
        match *self {
            NoAnswer::TimeUp { refused: 0 } => {
                "the time was up before the first fit was done".to_owned()
            }
            NoAnswer::TimeUp { refused } => format!(
                "the time was up before the first fit was done; {refused} of the structures proposed were too large \
                 for the time left, or for any; try more --max-seconds"
            ),
            NoAnswer::Interrupted => "it was interrupted before the first fit was done".to_owned(),
            NoAnswer::TooLarge { max_phi, max_cost, memory } => {
                let cost = max_cost.map_or_else(String::new, |cost| {
                    format!(
                        " or a sweep takes more than {cost} multiply-adds per entry (--max-cost)"
                    )
                });
                let memory =
                    if memory { "; some would have taken more memory than there is" } else { "" };
                format!(
                    "every structure proposed was too large: none is fitted that has {max_phi} times the tensor's \
                     entries as params or more (--max-phi){cost}{memory}"
                )
            }
            NoAnswer::RuledOut => {
                "every structure proposed was ruled out without a fit: by a bound, or by its params"
                    .to_owned()
            }
            NoAnswer::FitsSpent => {
                "the fits that were allowed were spent (--max-evaluations)".to_owned()
            }
            NoAnswer::NothingProposed => "no structure was proposed".to_owned(),
        }
    }
}

/// The nearest to what was asked for of all that was fitted.
pub fn nearest(front: &[ParetoPoint]) -> Option<(u128, f64)> {
    let point = front.iter().min_by(|a, b| a.error.total_cmp(&b.error))?;
    Some((point.params, point.error))
}

/// That the target was missed, by how much, and what the answer is instead: the nearest of what was fitted where that is so,
/// else the best of size and error together, with the nearest beside it. `nearest` is the params and the error of the
/// nearest, `fitted` how many were.
pub fn missed(
    answer: &Score,
    nearest: Option<(u128, f64)>,
    fitted: u64,
    objective: Objective,
    measure: &Measure,
    number: impl Fn(f64) -> String,
) -> String {
    let (name, of): (&str, fn(f64) -> f64) = match &measure.root {
        Some(root) => (&root.name, f64::sqrt),
        None => (&measure.name, |error| error),
    };
    let by = match objective.max_error() {
        Some(eps) => format!(": {name} {}, not {}", number(of(answer.error)), number(of(eps))),
        None => String::new(),
    };
    let all = match fitted {
        0 | 1 => "the one structure fitted".to_owned(),
        n => format!("the {n} structures fitted"),
    };
    let what = match nearest.filter(|(_, error)| *error < answer.error) {
        None if fitted <= 1 => format!("; it is {all}"),
        None => format!("; no other of {all} came nearer"),
        Some((params, error)) => {
            let error = number(of(error));
            format!(
                "; of {all} it is the best in size and error together, and the nearest has {name} {error} with {params} \
                 params"
            )
        }
    };
    format!("the target was NOT reached{by}{what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_what_ended_it() {
        let counts = |samples, refused| Counts { samples, refused, ..Counts::default() };
        let limits = (1.0, Some(1000.0));
        let why = |by, counts, refusals| NoAnswer::new(by, &counts, refusals, limits);
        let none = Refusals::default();
        // Time and Ctrl-C come first, whatever was refused.
        for refused in [0, 3] {
            let said = why(StoppedBy::MaxSeconds, counts(3, refused), none);
            assert_eq!(said, NoAnswer::TimeUp { refused });
            assert!(
                said.text().starts_with("the time was up") && !said.text().contains("max-rank")
            );
            assert_eq!(
                why(StoppedBy::Interrupted, counts(3, refused), none),
                NoAnswer::Interrupted
            );
        }
        // What was refused for want of time was not too large.
        let late = Refusals { time: 1, memory: 0 };
        assert!(matches!(why(StoppedBy::Finished, counts(3, 3), late), NoAnswer::TimeUp { .. }));
        let large = why(StoppedBy::Finished, counts(3, 3), Refusals { memory: 1, time: 0 }).text();
        assert!(
            large.contains("1 times the tensor's entries")
                && large.contains("more than 1000 multiply-adds")
                && large.contains("more memory"),
            "{large}"
        );
        assert_eq!(why(StoppedBy::MaxEvaluations, counts(3, 0), none), NoAnswer::FitsSpent);
        assert_eq!(why(StoppedBy::Finished, counts(3, 0), none), NoAnswer::RuledOut);
        assert_eq!(why(StoppedBy::Finished, counts(0, 0), none), NoAnswer::NothingProposed);
    }

    #[test]
    fn the_nearest_is_called_so_only_where_it_is() {
        let answer = Score { loss: 1.0, error: 0.04, params: 30 };
        let eps = Objective::MaxError(1e-4);
        let said = |nearest, fitted| {
            missed(&answer, nearest, fitted, eps, &Measure::RSE, |x| x.to_string())
        };
        assert_eq!(
            said(Some((30, 0.04)), 12),
            "the target was NOT reached: RE 0.2, not 0.01; no other of the 12 structures fitted came nearer"
        );
        assert_eq!(
            said(Some((90, 0.01)), 12),
            "the target was NOT reached: RE 0.2, not 0.01; of the 12 structures fitted it is the best in size and \
             error together, and the nearest has RE 0.1 with 90 params"
        );
        assert!(said(None, 1).ends_with("it is the one structure fitted"));
        let kl = Measure::new("kl", "KL", "divergence", None);
        let text = missed(&answer, None, 3, eps, &kl, |x| x.to_string());
        assert!(text.contains("KL 0.04, not 0.0001"), "{text}");
    }
    #[test]
    fn the_nearest_of_a_front_has_the_smallest_error() {
        use crate::search::engine::testing::structure;
        let point = |params, error| ParetoPoint {
            params,
            error,
            structure: structure(7),
            run: 0,
            effort: crate::fit::Effort::Full,
        };
        assert_eq!(nearest(&[]), None);
        assert_eq!(nearest(&[point(30, 0.5), point(40, 0.2), point(60, 0.3)]), Some((40, 0.2)));
    }
}
