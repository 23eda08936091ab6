//! The page in plain words.

use super::digest::{Digest, Found, State};
use crate::plot::{escape, short as number};
use std::fmt::Write as _;
use tnsearch::graph::{Family, Template};
use tnsearch::problem::Objective;
use tnsearch::search::StoppedBy;
use tnsearch::tensor::size;

/// What the template asked for is called in a sentence.
pub(super) fn template(digest: &Digest<'_>) -> String {
    name(&digest.journal().header.template)
}

fn name(template: &Template) -> String {
    match template.family() {
        Some(Family::Path) => "tensor train (path)".to_owned(),
        Some(Family::Ring) => "tensor ring".to_owned(),
        Some(Family::Star) => "star network".to_owned(),
        Some(Family::Tree) => "tree network".to_owned(),
        Some(Family::Complete) => "fully connected network".to_owned(),
        Some(Family::Peps { rows, cols }) => format!("{rows} × {cols} lattice (PEPS)"),
        Some(Family::Ht) => "hierarchical Tucker network".to_owned(),
        Some(Family::Mera) => "MERA network".to_owned(),
        _ => "network on your own graph".to_owned(),
    }
}

/// The tensor's name: as the user gave it, else the journal's.
pub(super) fn tensor(digest: &Digest<'_>) -> String {
    digest.journal().input().map_or_else(|| "the tensor".to_owned(), str::to_owned)
}

/// Text, not markup.
pub(super) fn title(digest: &Digest<'_>) -> String {
    let tensor = tensor(digest);
    let header = &digest.journal().header;
    let form = match header.searched == header.template {
        true => name(&header.template),
        // It left the format asked for, or may have.
        false => match digest
            .found
            .as_ref()
            .and_then(|f| header.template.holds(&f.structure.canonical().graph))
        {
            Some(true) => name(&header.template),
            _ => "network of another format".to_owned(),
        },
    };
    match &digest.found {
        Some(found) if digest.target_reached => {
            let phi = found.structure.phi(&digest.journal().header.dims);
            match phi < 1.0 {
                true => {
                    format!("{tensor}: {} times smaller as a {form}", number(1.0 / phi))
                }
                false => format!("{tensor} as a {form}"),
            }
        }
        Some(_) => format!("{tensor}: the target was not reached"),
        None => format!("{tensor}: nothing was fitted"),
    }
}

/// The strategy at work, as a word.
pub(super) fn strategy<'a>(digest: &'a Digest<'_>) -> &'a str {
    let journal = digest.journal();
    journal.end.as_ref().map_or(journal.header.strategy.as_str(), |end| end.strategy.as_str())
}

fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", number(n as f64), if n == 1 { one } else { many })
}

fn error(rse: f64) -> String {
    format!("RSE {} (relative error RE {})", number(rse), number(rse.sqrt()))
}

/// Headings and paragraphs, as markup.
pub(super) fn summary(digest: &Digest<'_>) -> Vec<(&'static str, String)> {
    let mut parts = vec![("Asked", asked(digest)), ("Found", found(digest))];
    if let Some(text) = compared(digest) {
        parts.push(("Compared", text));
    }
    parts.push(("Proven", certificate(digest)));
    parts.push(("Searched", effort(digest)));
    parts
}

fn asked(digest: &Digest<'_>) -> String {
    let header = &digest.journal().header;
    let dims = &header.dims;
    let free = match header.searched == header.template {
        true => "",
        false => " Its strategy may leave that format: it searches all graphs.",
    };
    let shape: Vec<String> = dims.iter().map(usize::to_string).collect();
    let rank = header.max_rank().map_or(String::new(), |r| format!(", with ranks up to {r}"));
    let aim = match header.objective {
        Objective::MaxError(eps) => format!(
            "the one with the fewest parameters whose squared relative error (RSE) is at most {}",
            number(eps)
        ),
        Objective::MaxParams(p) => {
            format!(
                "the one with the smallest error among those with at most {} parameters",
                number(p as f64)
            )
        }
        Objective::Lambda(l) => format!(
            "the one with the smallest loss φ + {} · RSE, where φ is its share of the tensor's entries",
            number(l)
        ),
    };
    format!(
        "The tensor <b>{}</b> has {} modes, {}, which is {} numbers. Of all ways to write it as a {}{rank}, \
         the search was for {aim}.{free}",
        escape(&tensor(digest)),
        dims.len(),
        escape(&shape.join(" × ")),
        number(size(dims) as f64),
        escape(&template(digest)),
    )
}

fn found(digest: &Digest<'_>) -> String {
    let header = &digest.journal().header;
    let Some(found) = &digest.found else {
        return "Nothing: no structure was fitted.".to_owned();
    };
    let phi = found.structure.phi(&header.dims);
    let ratio = match phi < 1.0 {
        true => format!("{} times fewer numbers than the tensor has", number(1.0 / phi)),
        false if phi == 1.0 => "as many numbers as the tensor has".to_owned(),
        false => format!("{} times more numbers than the tensor has", number(phi)),
    };
    let start = match digest.target_reached {
        true => "A network with",
        false => "The target was <b>not reached</b>. The closest network has",
    };
    let format = match header.searched == header.template {
        true => "",
        false => match header.template.holds(&found.structure.canonical().graph) {
            Some(true) => " It has the format asked for, under some order of the modes.",
            Some(false) => " It does <b>not</b> have the format asked for.",
            None => " Whether it has the format asked for was not decided.",
        },
    };
    format!(
        "{start} <b>{} parameters</b>, {ratio}, at an {}.{format}",
        number(found.params as f64),
        error(found.rse)
    )
}

/// Where the modes sit, for the caption of the picture (text, not markup).
pub(super) fn where_modes_sit(found: &Found) -> String {
    let template = found.structure.template();
    let modes = found.structure.modes();
    let order: Vec<String> = modes.iter().flatten().map(|n| format!("m{n}")).collect();
    match template.family() {
        Some(Family::Complete) => "Every mode may be joined to every other.".to_owned(),
        Some(Family::Ring) => format!("Round the ring stand {}.", order.join(", ")),
        Some(Family::Path) => format!("Along the train stand {}.", order.join(", ")),
        _ => format!("On the vertices in their order stand {}.", order.join(", ")),
    }
}

fn compared(digest: &Digest<'_>) -> Option<String> {
    let found = digest.found.as_ref()?;
    let facts = digest.search.facts.as_ref()?;
    let mut sentences = Vec::new();
    for peer in &facts.peers {
        let name = escape(&peer.name);
        if peer.least_rse.is_some() {
            let reaches = match digest.journal().header.objective {
                Objective::MaxError(eps) => peer.rse <= eps,
                _ => peer.rse <= found.rse * 1.001,
            };
            sentences.push(match (reaches, peer.least_rse) {
                (true, _) if !digest.target_reached => format!(
                    "With the modes in their original order the same ranks <b>reach what was asked for</b> (RSE {}, {} \
                     parameters): the search missed it; search longer, or with other seeds.",
                    number(peer.rse),
                    number(peer.params as f64)
                ),
                (true, _) => format!("With the modes in their original order the same ranks do as well (RSE {}).", number(peer.rse)),
                (false, Some(least)) if least > 0.99 * peer.rse => format!(
                    "With the modes in their original order the same ranks reach RSE {} and no less, which is proven.",
                    number(peer.rse)
                ),
                (false, Some(least)) if least > found.rse && least > 0.0 => format!(
                    "With the modes in their original order the same ranks reach only RSE {}; below {} they cannot, which is proven.",
                    number(peer.rse),
                    number(least)
                ),
                _ => format!("With the modes in their original order the same ranks reached only RSE {}.", number(peer.rse)),
            });
            continue;
        }
        if !digest.target_reached {
            sentences.push(format!(
                "{name} reaches RSE {} with {} parameters.",
                number(peer.rse),
                number(peer.params as f64)
            ));
            continue;
        }
        let times = peer.params as f64 / found.params.max(1) as f64;
        let relation = match times {
            t if t > 1.005 => format!("<b>{} times more</b>", number((t * 100.0).round() / 100.0)),
            t if t < 0.995 => format!("{} times fewer", number((100.0 / t).round() / 100.0)),
            _ => "as many".to_owned(),
        };
        sentences
            .push(format!("{name} needs {} parameters, {relation}.", number(peer.params as f64)));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// What is proven about the answer, as markup.
pub(super) fn certificate(digest: &Digest<'_>) -> String {
    let journal = digest.journal();
    let header = &journal.header;
    let scope = header.max_rank().map_or(String::new(), |r| format!(" with ranks up to {r}"));
    let what = escape(&template(digest));
    if journal.end.as_ref().is_some_and(|end| end.proven_impossible) {
        return format!("It is proven that <b>no {what}{scope}</b> is what was asked for.");
    }
    let Some(bound) = digest.lower_bound else {
        return match digest.state {
            State::Open => "Nothing yet: the journal has no lower bound on record.".to_owned(),
            State::Ended(_) => "Nothing: no lower bound was computed.".to_owned(),
        };
    };
    if journal.end.as_ref().is_some_and(|end| end.certified_optimal) {
        return format!(
            "<b>Optimal.</b> The singular values of the tensor's unfoldings rule out every better {what}{scope}: \
             whoever searches longer will find none."
        );
    }
    let found = digest.found.as_ref().filter(|_| digest.target_reached);
    match (bound.params, bound.error, bound.loss) {
        (Some(params), ..) => {
            let gap = found.map_or(String::new(), |f| {
                let gap = f.params as f64 / params.max(1) as f64;
                let save = 100.0 * (1.0 - 1.0 / gap);
                format!(
                    " The one found has {} times that: at most {} % could still be saved.",
                    number((gap * 1000.0).round() / 1000.0),
                    number((save * 10.0).round() / 10.0)
                )
            });
            format!(
                "Every {what}{scope} that reaches the error has <b>at least {} parameters</b>.{gap}",
                number(params as f64)
            )
        }
        (_, Some(rse), _) => format!(
            "Every {what}{scope} within the budget has an RSE of <b>at least {}</b>.",
            number(rse)
        ),
        (_, _, loss) => format!(
            "Every {what}{scope} has a loss of <b>at least {}</b>.",
            number(loss.unwrap_or(0.0))
        ),
    }
}

fn effort(digest: &Digest<'_>) -> String {
    let counts = digest.counts;
    let mut text = format!(
        "{} fitted in {}",
        plural(counts.evaluations, "structure was", "structures were"),
        seconds(digest.seconds)
    );
    if digest.counted {
        let _ = write!(text, ", of {} proposed", number(counts.samples as f64));
        let mut rest = Vec::new();
        for (n, what) in [
            (counts.pruned, "ruled out by a bound without a fit"),
            (counts.cached, "known from before"),
            (counts.refused, "too large"),
        ] {
            if n > 0 {
                rest.push(format!("{} {what}", number(n as f64)));
            }
        }
        if !rest.is_empty() {
            let _ = write!(text, "; {}", rest.join(", "));
        }
    }
    let runs = digest.journal().header.runs;
    if runs > 1 {
        let _ = write!(text, ". {} independent runs were made side by side", number(runs as f64));
    }
    text + "."
}

/// A time span in words.
pub(super) fn seconds(s: f64) -> String {
    let whole = s.round().max(0.0) as u64;
    match whole {
        0 if s < 0.095 => format!("{} ms", number((s * 1000.0).ceil())),
        0..10 => format!("{s:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// The numbers everybody asks for first.
pub(super) fn tiles(digest: &Digest<'_>) -> String {
    let mut out = String::from("<dl class=\"tiles\">\n");
    let mut tile = |name: &str, value: String, more: String, class: &str| {
        let _ = writeln!(
            out,
            "<div class=\"tile {class}\"><dt>{name}</dt><dd><b>{value}</b><span>{more}</span></dd></div>"
        );
    };
    if let Some(found) = &digest.found {
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
        tile("error (RSE)", number(found.rse), format!("RE {}", number(found.rse.sqrt())), "");
    }
    let end = digest.journal().end.as_ref();
    let (proof, more, class) = match (end, digest.lower_bound, &digest.found) {
        (Some(end), ..) if end.proven_impossible => ("impossible".into(), "proven".into(), "bad"),
        (Some(end), ..) if end.certified_optimal => {
            ("optimal ✓".to_owned(), "proven".to_owned(), "good")
        }
        (_, Some(bound), Some(found)) if digest.target_reached => {
            match (bound.params, bound.error, bound.loss) {
                (Some(p), ..) => {
                    let gap = found.params as f64 / p.max(1) as f64;
                    (
                        format!("{}×", number((gap * 1000.0).round() / 1000.0)),
                        format!("above the bound of {}", number(p as f64)),
                        "",
                    )
                }
                (_, Some(r), _) => (format!("≥ {}", number(r)), "proven for the RSE".into(), ""),
                (_, _, l) => (
                    format!("≥ {}", number(l.unwrap_or(0.0))),
                    format!("proven for the loss; found {}", number(found.loss)),
                    "",
                ),
            }
        }
        (_, Some(bound), _) => {
            let (value, what) = match (bound.params, bound.error, bound.loss) {
                (Some(p), ..) => (p as f64, "params"),
                (_, Some(r), _) => (r, "RSE"),
                (_, _, l) => (l.unwrap_or(0.0), "loss"),
            };
            (format!("≥ {}", number(value)), format!("proven for the {what}"), "")
        }
        _ => ("–".to_owned(), "no bound on record".to_owned(), ""),
    };
    tile("proof", proof, more, class);
    let more = match digest.counted {
        true => format!("of {} proposed", number(digest.counts.samples as f64)),
        false => format!("in {}", seconds(digest.seconds)),
    };
    tile("fitted", number(digest.counts.evaluations as f64), more, "");
    out + "</dl>\n"
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
        State::Ended(StoppedBy::Finished) => {}
    }
    if digest.journal().torn {
        warn("The last line of the journal was torn and is left out.");
    }
    out
}
