//! What stands on top of the page: the numbers everybody asks for, and what to know before trusting them.

use super::digest::{Digest, State};
use super::html::marked_up;
use super::words;
use crate::plot::{at_most, escape, short as number};
use std::fmt::Write as _;
use tnsearch::problem::{Measure, Proven};
use tnsearch::search::StoppedBy;
use tnsearch::tensor::size;

/// The numbers everybody asks for first.
pub(super) fn tiles(digest: &Digest<'_>) -> String {
    let measure = &marked_up(digest.measure());
    let mut out = String::from("<dl class=\"tiles\">\n");
    let mut tile = |name: &str, value: String, more: String, class: &str| {
        let _ = writeln!(
            out,
            "<div class=\"tile {class}\"><dt>{name}</dt><dd><b>{value}</b><span>{more}</span></dd></div>"
        );
    };
    if let Some(found) = digest.found.as_ref().filter(|_| !digest.target_reached) {
        let (target, more) = words::missed(digest, found);
        tile("target", target, more, "bad");
        let score = digest.journal().header.objective.score_text(&found.score(), measure, number);
        tile("best so far", score, String::new(), "small");
    }
    if let Some(found) = digest.found.as_ref().filter(|_| digest.target_reached) {
        let dims = &digest.journal().header.dims;
        let phi = found.structure.phi(dims);
        tile(
            "compression",
            format!("{}×", number(1.0 / phi)),
            // No minus before a zero.
            format!("log₁₀ CR {:.3}", 0.0 - phi.log10()),
            "",
        );
        tile(
            "parameters",
            number(found.params as f64),
            format!("of {}", number(size(dims) as f64)),
            "",
        );
        // The error people speak of is the root, where it has a name.
        let squared = format!("{} {}", measure.name, number(found.error));
        match &measure.root {
            Some(r) => {
                tile(&format!("error ({})", r.name), number(found.error.sqrt()), squared, "");
            }
            None => {
                let name = format!("error ({})", measure.name);
                tile(&name, number(found.error), String::new(), "");
            }
        }
    }
    let (proof, more, class) = proof(digest, measure);
    tile("proof", proof, more, class);
    let more = match digest.counted {
        true => format!("of {} proposed", number(digest.counts.samples as f64)),
        false => format!("in {}", words::seconds(digest.seconds)),
    };
    tile("fitted", number(digest.counts.evaluations as f64), more, "");
    out + "</dl>\n"
}

/// What is proven, in a word, and about what.
fn proof(digest: &Digest<'_>, measure: &Measure) -> (String, String, &'static str) {
    let statement = &digest.statement;
    let about = escape(&statement.class());
    match (&statement.proven, statement.bound()) {
        (Proven::Impossible(_), _) => {
            ("impossible".into(), format!("proven for every {about}"), "bad")
        }
        (Proven::Optimal(_), _) => {
            ("optimal ✓".to_owned(), format!("proven: no {about} is better"), "good")
        }
        (_, None) => ("–".to_owned(), "nothing is proven".to_owned(), ""),
        (_, Some(bound)) if bound.says_nothing() => {
            ("–".to_owned(), "the cuts prove nothing".to_owned(), "")
        }
        // Beside an answer that is none of these the bound would read as one of it.
        (_, Some(bound))
            if digest.target_reached && statement.gap().is_none() && outside(digest) =>
        {
            let least = bound.short_text(measure, at_most);
            ("not about this".to_owned(), format!("proven: {least} for every {about}"), "small")
        }
        (_, Some(bound)) => match (bound.params, statement.gap()) {
            (Some(p), Some(gap)) => {
                let gap = format!("{}×", number((gap * 1000.0).round() / 1000.0));
                (gap, format!("above the bound of {} for every {about}", number(p as f64)), "")
            }
            _ => {
                let found = digest.found.as_ref().filter(|_| digest.target_reached);
                let beside = found.filter(|_| bound.loss.is_some() && statement.gap().is_some());
                let beside = beside.map(|f| format!("; found {}", number(f.loss)));
                let of = bound.of(measure);
                let more =
                    format!("proven for the {of} of every {about}{}", beside.unwrap_or_default());
                (format!("≥ {}", statement.value().unwrap_or_default()), more, "")
            }
        },
    }
}

/// Whether the answer is none of the structures that the proof is about, or that is not known.
fn outside(digest: &Digest<'_>) -> bool {
    digest.statement.answer.as_ref().is_some_and(|(_, at)| !at.is_inside())
}

/// What the reader must know before trusting the page.
pub(super) fn warnings(digest: &Digest<'_>) -> String {
    let mut out = String::new();
    let mut warn = |text: &str| {
        let _ = writeln!(out, "<p class=\"warn\" role=\"note\">{text}</p>");
    };
    match digest.state {
        State::Open if digest.journal().begins.is_empty() => {
            warn(
                "This journal does not say whether the search has ended, nor what became of the structures that \
                  were not fitted.",
            );
        }
        State::Open => warn(
            "This search has not ended: it is still running, or it was broken off. What follows is the state at \
             the last line of its journal.",
        ),
        State::Ended(StoppedBy::Interrupted) => {
            warn(
                "The search was interrupted; what follows is the best so far. With a journal, <code>--resume</code> \
                 continues it.",
            );
        }
        State::Ended(StoppedBy::MaxSeconds) => {
            warn("The search ended because its time was up (<code>--max-seconds</code>).");
        }
        State::Ended(StoppedBy::MaxEvaluations) => {
            warn(
                "The search ended because its budget of fits was spent (<code>--max-evaluations</code>).",
            );
        }
        State::Ended(_) => {}
    }
    if digest.journal().torn {
        warn("The last line of the journal was torn and is left out.");
    }
    out
}
