//! What is proven: over which structures, for which error, and how the answer stands to it. Made once, by what proves it;
//! worded here and in [`over`](super::over); shown by everything in the same words.

use super::figure::at_most;
use super::over::{Over, OverFile, Place};
use super::{LowerBound, Measure, Objective, Score};
use crate::graph::Structure;
use serde::{Deserialize, Serialize};

/// What is known when a statement is made.
#[derive(Debug, Clone)]
pub struct Known<'a> {
    /// The structures that a proof is about; none where it is about none that are known.
    pub over: Option<Over>,
    /// What was asked for.
    pub objective: Objective,
    /// What the error is called.
    pub measure: &'a Measure,
    /// What no such structure can go below, where that was proven.
    pub bound: Option<LowerBound>,
    /// Where it is proven that none of them is what was asked for: the rank that it takes, if that is known.
    pub impossible: Option<Option<Needed>>,
    /// Why nothing was proven, where nothing was.
    pub unproven: Unproven,
    /// The answer, if it is what was asked for.
    pub answer: Option<(&'a Structure, Score)>,
}

/// What is proven.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::{Structure, Template};
/// use tnsearch::problem::{Known, Measure, Objective, Over, Score, Statement, Unproven};
/// let objective = Objective::MaxError(0.01);
/// let ring = Structure::identity(Arc::new(Template::ring(4).unwrap()), vec![2; 4]).unwrap();
/// let said = Statement::of(Known {
///     over: Some(Over::Trees),
///     objective,
///     measure: &Measure::RSE,
///     bound: Some(objective.lower_bound(60.0)),
///     impossible: None,
///     unproven: Unproven::Unknown,
///     answer: Some((&ring, Score { loss: 0.5, error: 0.001, params: 48 })),
/// });
/// // A bound over trees is none for a ring.
/// assert!(!said.is_optimal() && said.gap().is_none());
/// assert!(said.text().ends_with("it has a cycle, and is smaller than any of these can be"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Statement {
    /// The structures that it is about.
    pub over: Option<Over>,
    /// What was asked for.
    pub objective: Objective,
    /// What the error is called.
    pub measure: Measure,
    /// What is proven about them.
    pub proven: Proven,
    /// The answer, where it is what was asked for: its numbers, and whether it is one of these structures.
    pub answer: Option<(Score, Place)>,
}

/// What is proven about some structures.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Proven {
    /// Nothing, and why.
    Nothing(Unproven),
    /// None of them can go below this.
    AtLeast(LowerBound),
    /// The answer is one of them, and none can go below it.
    Optimal(LowerBound),
    /// None of them is what was asked for; the rank that it takes, where that is known.
    Impossible(Option<Needed>),
}

/// The rank that structures need at least.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needed {
    /// The rank.
    pub rank: usize,
    /// Why, for a sentence: "mode 2 alone needs rank 12".
    pub because: String,
}

/// Why nothing is proven.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unproven {
    /// The search has not ended.
    Open,
    /// It was interrupted before anything was proven.
    Interrupted,
    /// Its time was up before anything was proven.
    TimeUp,
    /// Another error than the squared one was asked for.
    OtherLoss,
    /// The tensor has holes.
    Holes,
    /// The structures searched are not those of the template.
    AllGraphs,
    /// The cuts would take too much memory or time, or are too many.
    TooLarge,
    /// No proof was asked for.
    NotAsked,
    /// No structure with ranks up to the largest of the proof is what was asked for; the search used larger ones, about
    /// which nothing is proven.
    LargerRanks(Option<Needed>),
    /// It is not on record.
    #[serde(other)]
    Unknown,
}

/// A statement as files hold it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// `nothing`, `lower_bound`, `optimal` or `impossible`.
    pub proven: String,
    /// The structures that it is about; none where nothing is proven.
    pub over: Option<OverFile>,
    /// Whether the answer is one of them: `inside`, `cyclic`, `ranks`, `elsewhere`, `undecided`; none where there is no answer
    /// that is what was asked for, or nothing is proven.
    #[serde(default)]
    pub answer: Option<String>,
    /// Why nothing is proven, where nothing is.
    #[serde(default)]
    pub reason: Option<Unproven>,
    /// Where none of them is what was asked for: the rank that it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed: Option<Needed>,
    /// The same in words.
    pub text: String,
}

impl Statement {
    /// What follows from what is known.
    pub fn of(known: Known<'_>) -> Self {
        let Known { over, objective, measure, bound, impossible, unproven, answer } = known;
        let place = |structure: &Structure| match &over {
            Some(over) => over.place(structure),
            // They are those of the strategy, and so is the answer.
            None => Place::Inside,
        };
        let answer = answer.map(|(structure, score)| (score, place(structure)));
        let met = |bound: &LowerBound| {
            answer.as_ref().is_some_and(|(score, at)| at.is_inside() && bound.is_met_by(score))
        };
        let proven = match (impossible, bound) {
            (Some(needed), _) => Proven::Impossible(needed),
            (None, Some(bound)) if met(&bound) => Proven::Optimal(bound),
            (None, Some(bound)) => Proven::AtLeast(bound),
            (None, None) => Proven::Nothing(unproven),
        };
        Statement { over, objective, measure: measure.clone(), proven, answer }
    }

    /// Whether the answer is proven optimal among the structures it is about.
    pub fn is_optimal(&self) -> bool {
        matches!(self.proven, Proven::Optimal(_))
    }

    /// What none of the structures can go below.
    pub fn bound(&self) -> Option<LowerBound> {
        match self.proven {
            Proven::AtLeast(bound) | Proven::Optimal(bound) => Some(bound),
            _ => None,
        }
    }

    /// The structures that something is proven about.
    pub fn bound_over(&self) -> Option<&Over> {
        self.over.as_ref().filter(|_| !matches!(self.proven, Proven::Nothing(_)))
    }

    /// How many times the bound the answer is; none where it is not one of the structures that the bound is about.
    pub fn gap(&self) -> Option<f64> {
        let (score, _) = self.answer.as_ref().filter(|(_, at)| at.is_inside())?;
        self.bound().filter(|bound| !bound.says_nothing())?.gap(score)
    }

    /// What the structures are called, to stand after "every" and "no".
    pub fn class(&self) -> String {
        self.over
            .as_ref()
            .map_or_else(|| "structure that the strategy searches".into(), Over::class)
    }

    /// What is proven about the structures, without a word about the answer.
    pub fn claim(&self) -> String {
        let class = self.class();
        match &self.proven {
            Proven::Nothing(why) => self.nothing(why),
            Proven::Impossible(needed) => self.impossible(needed.as_ref()),
            Proven::AtLeast(bound) | Proven::Optimal(bound) => {
                bound.text(&class, &self.measure, at_most)
            }
        }
    }

    /// All of it in one sentence, without its capital and its point.
    pub fn text(&self) -> String {
        match &self.proven {
            Proven::Optimal(_) => format!("optimal: no {} is better", self.class()),
            _ => self.claim() + &self.relation(),
        }
    }

    /// The same as a sentence of its own.
    pub fn sentence(&self) -> String {
        let text = self.text();
        let mut letters = text.chars();
        let first: String = letters.next().map_or(String::new(), |c| c.to_uppercase().collect());
        format!("{first}{}.", letters.as_str())
    }

    /// The same in a few words: what is proven, and about what.
    pub fn short(&self) -> String {
        let class = self.class();
        match &self.proven {
            Proven::Nothing(Unproven::Open) => "nothing yet".to_owned(),
            Proven::Nothing(_) => "nothing".to_owned(),
            Proven::Impossible(_) => format!("no {class} is what was asked for"),
            Proven::Optimal(_) => format!("optimal: no {class} is better"),
            Proven::AtLeast(bound) if bound.says_nothing() => "nothing".to_owned(),
            Proven::AtLeast(bound) => {
                format!("{} for every {class}", bound.short_text(&self.measure, at_most))
            }
        }
    }

    /// The bound as a number for people, no more than it is.
    pub fn value(&self) -> Option<String> {
        let bound = self.bound()?;
        Some(bound.params.map_or_else(|| at_most(bound.value()), |params| params.to_string()))
    }

    /// The name of the line that a plot may draw at the bound. It is about some structures, so it must not stand across the
    /// points of others: see [`Over::holds`].
    pub fn line(&self) -> Option<String> {
        self.bound().filter(|bound| !bound.says_nothing())?;
        Some(format!("proven: no {} below", self.class()))
    }

    /// How the answer stands to a bound that it does not meet, or to what is impossible for others.
    fn relation(&self) -> String {
        let Some((score, at)) = &self.answer else { return String::new() };
        let why = match at {
            Place::Inside => {
                let bound = self.bound().filter(|bound| bound.params.is_some());
                let gap = bound.and(self.gap());
                return gap.map_or_else(String::new, |g| format!(" (found is {g:.3} times that)"));
            }
            Place::Cyclic => "it has a cycle".to_owned(),
            Place::Ranks(rank) => format!("it has an edge of rank {rank}"),
            Place::Elsewhere => "it has another format".to_owned(),
            Place::Undecided => {
                return match self.bound() {
                    Some(_) => "; whether the answer is one of these is not known".to_owned(),
                    None => String::new(),
                };
            }
        };
        let none = format!("; the answer is none of these: {why}");
        let Some(bound) = self.bound() else {
            let said = matches!(self.proven, Proven::Impossible(_));
            return if said { none } else { String::new() };
        };
        let value = self.objective.value(score).unwrap_or(f64::INFINITY);
        let most = bound.value() - self.objective.margin(bound.value());
        let (than_any, none_is) = match (bound.params, bound.error) {
            (Some(_), _) => ("is smaller than any of these can be", "none of these is smaller"),
            (_, Some(_)) => (
                "has a smaller error than any of these can have",
                "none of these has a smaller error",
            ),
            _ => (
                "has a smaller loss than any of these can have",
                "none of these has a smaller loss",
            ),
        };
        match () {
            () if bound.says_nothing() => none,
            () if value < most => format!("{none}, and {than_any}"),
            () if bound.is_met_by(score) => format!("{none}; {none_is}"),
            () => format!("{none}, so how much it could be improved is not known"),
        }
    }

    /// That none of the structures is what was asked for, why, and what to do about it.
    fn impossible(&self, needed: Option<&Needed>) -> String {
        let class = self.class();
        let Some(eps) = self.objective.max_error() else {
            return format!("no {class} has so few params");
        };
        let more = match needed {
            Some(Needed { rank, because }) => {
                format!(": {because}; use --max-rank {rank} or more")
            }
            None => "; it takes a larger --max-rank or another template".to_owned(),
        };
        format!("no {class} reaches {}{more}", self.error(eps))
    }

    /// An error asked for by the name people use, no more than it is.
    fn error(&self, eps: f64) -> String {
        match &self.measure.root {
            Some(root) => format!("{} {}", root.name, at_most(eps.sqrt())),
            None => format!("{} {}", self.measure.name, at_most(eps)),
        }
    }

    fn nothing(&self, why: &Unproven) -> String {
        let said = match why {
            Unproven::Open => "nothing yet: no lower bound is on record",
            Unproven::Interrupted => {
                "nothing: the search was interrupted before anything was proven"
            }
            Unproven::TimeUp => "nothing: the time was up before anything was proven",
            Unproven::OtherLoss => {
                let name = &self.measure.name;
                return format!(
                    "nothing: the cuts of a tensor bound only the squared error, not {name}"
                );
            }
            Unproven::Holes => "nothing: bounds do not hold with holes",
            Unproven::AllGraphs => {
                "nothing: the strategy leaves the template, and no bound is about all graphs"
            }
            Unproven::TooLarge => {
                "nothing: the cuts of this tensor are too many, or take too much memory or time"
            }
            Unproven::NotAsked => "nothing: no proof was asked for",
            Unproven::LargerRanks(needed) => {
                let (class, because) = (self.class(), needed.as_ref().map(|n| &n.because));
                let because = because.map_or_else(String::new, |b| format!(" ({b})"));
                let eps = self.objective.max_error().unwrap_or(0.0);
                let error = self.error(eps);
                return format!(
                    "nothing about the ranks used: no {class} reaches {error}{because}, and of larger ranks nothing is \
                     proven"
                );
            }
            Unproven::Unknown => "nothing: no lower bound was computed",
        };
        said.to_owned()
    }

    /// As files hold it.
    pub fn record(&self) -> StatementRecord {
        let proven = match &self.proven {
            Proven::Nothing(_) => "nothing",
            Proven::AtLeast(_) => "lower_bound",
            Proven::Optimal(_) => "optimal",
            Proven::Impossible(_) => "impossible",
        };
        let over = self.bound_over().map(Over::to_file);
        let answer = self.answer.as_ref().filter(|_| over.is_some());
        StatementRecord {
            proven: proven.to_owned(),
            over,
            answer: answer.map(|(_, at)| at.name().to_owned()),
            reason: match &self.proven {
                Proven::Nothing(why) => Some(why.clone()),
                _ => None,
            },
            needed: match &self.proven {
                Proven::Impossible(needed) => needed.clone(),
                _ => None,
            },
            text: self.text(),
        }
    }
}

#[cfg(test)]
mod tests;
