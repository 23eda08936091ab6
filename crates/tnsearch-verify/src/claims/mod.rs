//! Every claim of a summary: checked, or said to be unchecked, or refused where others contradict it.
//!
//! [`verify`] goes through the fields of a summary. A field is one of three things: a *claim* about the tensor, the network or
//! what no structure can go below, which is computed anew; a *record* of how a run went ([`RECORDS`]: seeds, times, settings,
//! what else was tried), which no file can show and which is only compared with the rest; or unknown here, which is said.
//! Nothing is passed over.

mod class;
mod cuts;
mod errors;
mod findings;
mod proof;
mod records;
mod run;
mod structure;

pub use findings::{Finding, Findings, Outcome};
pub use proof::{Bounded, Least, Made};
pub use records::RECORDS;

use crate::certificate::{Certificate, Class, Graph};
use crate::{Array, Contracted, Limits, Network, Unchecked};
use serde_json::Value;

/// What is given to be checked.
pub struct Given<'a> {
    /// The tensor, in the shape in which it was taken.
    pub x: &'a Array,
    /// Which of its entries errors are measured on; none: all.
    pub known: Option<&'a [bool]>,
    /// The kind of number its entries were taken as.
    pub dtype: &'a str,
    /// How it was reshaped, as in a network's file, or null.
    pub reshaped: Value,
    /// The network.
    pub network: Option<Stored>,
    /// The summary of the command that made it.
    pub summary: Option<&'a Value>,
    /// A certificate.
    pub certificate: Option<&'a Certificate>,
    /// Of entries that were removed on purpose: all entries as they were, and which were removed.
    pub removed: Option<(Array, Vec<bool>)>,
    /// The loss that was asked for, where it is not the squared error: `huber:0.5`.
    pub loss: Option<&'a str>,
    /// What the lower bound is about, where that is said otherwise than by the summary.
    pub template: Option<Value>,
    /// The largest rank that it is about.
    pub max_rank: Option<u64>,
}

/// A network and what its file says.
#[derive(Debug, Clone)]
pub struct Stored {
    /// The network.
    pub network: Network,
    /// The kind of number of its cores.
    pub dtype: String,
    /// Its template, by name or as a graph.
    pub template: Value,
    /// How its tensor was reshaped, or null.
    pub reshaped: Value,
    /// Its error, where that is on record.
    pub rse: Option<f64>,
}

/// What the checks cannot do themselves. What comes from here is checked as if it came from anywhere.
pub trait Tools {
    /// A certificate for a claim.
    fn prove(&self, claim: &Bounded) -> Made;
    /// The graph of a template whose name is not known here.
    fn graph(&self, name: &str, order: usize) -> Option<Graph>;
    /// A network that a summary names.
    fn network(&self, name: &str) -> Result<Network, String>;
}

/// The command whose summary it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Search,
    Certify,
    Bound,
    Complete,
    Round,
    Pick,
    Compress,
    Generate,
    /// `fit`, `decompose`, and whatever has the fields of these.
    Fit,
}

impl Command {
    /// By the fields that no other has.
    fn of(summary: &Value) -> Self {
        let by = [
            ("binding_cuts", Command::Certify),
            ("cuts", Command::Bound),
            ("rse_tensor_at_most", Command::Round),
            ("rse_recorded", Command::Pick),
            ("empty_slices", Command::Complete),
            ("re_unrounded", Command::Compress),
            ("strategy", Command::Search),
            ("norm", Command::Generate),
        ];
        let known = by.into_iter().find(|(field, _)| summary.get(field).is_some());
        known.map_or(Command::Fit, |(_, command)| command)
    }
}

/// The checks of one call.
struct Checks<'a> {
    given: &'a Given<'a>,
    tools: &'a dyn Tools,
    limits: &'a Limits<'a>,
    command: Command,
    /// The network, where it is one, and the tensor that it stands for.
    network: Option<&'a Network>,
    tensor: Option<Result<Contracted, Unchecked>>,
    /// The structure that a summary is about, without cores.
    about: Option<Network>,
    found: Findings,
}

/// Checks all claims of what is given.
pub fn verify(given: &Given<'_>, tools: &dyn Tools, limits: &Limits<'_>) -> Findings {
    let command = given.summary.map_or(Command::Fit, Command::of);
    let (network, tensor, about, found) = (None, None, None, Findings::default());
    let mut checks = Checks { given, tools, limits, command, network, tensor, about, found };
    if let Some(stored) = &given.network {
        checks.file(stored);
    }
    if let Some(summary) = given.summary {
        checks.structure(summary);
        checks.errors(summary);
        checks.run(summary);
        checks.cuts(summary);
    }
    checks.proof(given.summary);
    if let Some(summary) = given.summary {
        checks.others(summary);
    }
    checks.found
}

impl Checks<'_> {
    /// The graph that a template stands for.
    fn class(&self, template: &Value) -> Option<Class> {
        let order = self.given.x.dims.len();
        class::class_of(template, order, &|name| self.tools.graph(name, order))
    }

    /// Every field that nothing was said about: on record, or unknown.
    fn others(&mut self, summary: &Value) {
        for (name, value) in summary.as_object().into_iter().flatten() {
            if self.found.has(name) || value.is_null() {
                continue;
            }
            let of = |table: &[(&str, &'static str)]| {
                table.iter().find(|(known, _)| known == name).map(|(_, why)| *why)
            };
            match (of(RECORDS), of(records::LEFT)) {
                (Some(why), _) => self.found.recorded(name, value, why),
                (None, why) => {
                    let why = why.unwrap_or("this field is not known here");
                    self.found.not_checked(name, value.clone(), why);
                }
            }
        }
    }

    /// Fields of a part of a summary that are not known here.
    fn strangers(&mut self, name: &str, part: &Value, known: &[&str]) {
        let parts: Vec<&Value> = match part {
            Value::Array(items) => items.iter().collect(),
            one => vec![one],
        };
        let fields = parts.into_iter().filter_map(Value::as_object).flatten();
        let mut seen: Vec<&String> = Vec::new();
        for (field, value) in fields {
            if !known.contains(&&**field) && !seen.contains(&field) {
                seen.push(field);
                let claim = format!("{name}.{field}");
                self.found.not_checked(&claim, value.clone(), "this field is not known here");
            }
        }
    }
}

/// A number of a field.
fn number(value: &Value, field: &str) -> Option<f64> {
    value.get(field).and_then(Value::as_f64)
}

/// Whether two numbers are the same but for rounding.
fn close(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-15
}

/// Whether a number is the root of another, as a program writes both.
fn is_root(root: f64, square: f64) -> bool {
    (root - square.sqrt()).abs() <= 1e-12 * root.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_summary_is_of_the_command_whose_fields_it_has() {
        for (field, command) in [
            ("binding_cuts", Command::Certify),
            ("cuts", Command::Bound),
            ("rse_tensor_at_most", Command::Round),
            ("rse_recorded", Command::Pick),
            ("empty_slices", Command::Complete),
            ("re_unrounded", Command::Compress),
            ("strategy", Command::Search),
            ("norm", Command::Generate),
            ("rse", Command::Fit),
        ] {
            assert_eq!(Command::of(&json!({ field: null })), command, "{field}");
        }
    }

    #[test]
    fn numbers_are_the_same_but_for_rounding() {
        assert!(
            close(f64::INFINITY, f64::INFINITY)
                && close(3.0, 3.0 + 2e-9)
                && close(-3.0, -3.0 - 2e-9)
        );
        assert!(close(1e-15, 0.0) && close(0.0, -1e-15) && !close(2e-15, 0.0));
        assert!(!close(3.0, 3.0 + 4e-9) && !close(3.0, -3.0) && !close(1.0, f64::NAN));
        assert!(is_root(3.0, 9.0) && is_root(1e-5, 1e-10) && is_root(0.0, 0.0));
        assert!(!is_root(3.0, 9.0 + 1e-10) && !is_root(-3.0, 9.0) && !is_root(0.0, 1e-30));
        assert!(!is_root(1e-30, 0.0) && !is_root(1.0, f64::NAN));
    }
}
