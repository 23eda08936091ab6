//! A search in words that follow from its facts.

use crate::commands::cuts::impossible;
use crate::text::number;
use tnsearch::graph::Structure;
use tnsearch::problem::{Measure, Objective};
use tnsearch::search::{ParetoPoint, SearchResult, StoppedBy};

/// Which part of `auto` gave the answer, and why it was that one.
pub fn chosen(result: &SearchResult) -> String {
    let finished = result.stopped_by == StoppedBy::Finished;
    let said = match result.strategy.as_str() {
        "exact" if result.certified_optimal => "exact search, which proved its answer",
        "exact" if result.proven_impossible => "exact search: the cuts rule every structure out",
        "exact" if finished => "exact search; it has tried what it may, and the proof leaves a gap",
        "exact" => "exact search, as far as it came",
        "tnls" if result.proven_impossible => {
            "the cuts rule every structure out, so TNLS looked for the nearest"
        }
        "tnls" if result.lower_bound.is_none() => {
            "TNLS: no bounds were computed for this tensor, so exact search could not begin"
        }
        "tnls" => {
            "exact search found no answer among its first structures, so TNLS went on from the nearest"
        }
        other => return other.to_owned(),
    };
    said.to_owned()
}

/// That the target was missed, and by how much.
pub fn missed(error: f64, objective: Objective, measure: &Measure) -> String {
    let by = objective.max_error().map(|eps| match &measure.root {
        Some(root) => {
            let (name, reached) = (&root.name, number(error.sqrt()));
            format!(": {name} {reached}, not {}", number(eps.sqrt()))
        }
        None => format!(": {} {}, not {}", measure.name, number(error), number(eps)),
    });
    format!("the target was NOT reached; this is the closest{}", by.unwrap_or_default())
}

/// That edges stand at the largest rank allowed, if some do that could use a larger one.
pub fn capped(
    structure: &Structure,
    dims: &[usize],
    max_rank: usize,
    objective: Objective,
    reached: bool,
) -> Option<String> {
    let (at, of) = (structure.edges_at(max_rank, dims), structure.ranks().len());
    let are = if at == 1 { "is" } else { "are" };
    let may = match (reached, objective.max_error()) {
        (false, _) => "may reach the target",
        (true, Some(_)) => "may give fewer params",
        (true, None) => "may give a better answer",
    };
    (at > 0)
        .then(|| format!("{at} of {of} edges {are} at --max-rank {max_rank}; a larger one {may}"))
}

/// What is proven about the answer, in words; `class` is what was searched ("ring with ranks up to 7").
pub fn proof(result: &SearchResult, objective: Objective, class: &str) -> String {
    let measure = &result.measure;
    if result.proven_impossible {
        return match objective.max_error() {
            Some(eps) => impossible(class, measure, eps, result.needed_rank),
            None => format!("no {class} has so few params"),
        };
    }
    let Some(bound) = result.lower_bound else { return "no lower bound was computed".to_owned() };
    if result.certified_optimal {
        return format!("optimal: no {class} is better");
    }
    let text = bound.text(class, measure, number);
    let found = result.best.as_ref().filter(|_| result.target_reached);
    let (Some(best), Some(_)) = (found, bound.params) else { return text };
    let gap =
        bound.gap(&best.score).map_or(String::new(), |g| format!(" (found is {g:.3} times that)"));
    // Where the proof leaves a gap, what the fits below the answer came to.
    let smaller = |p: &&ParetoPoint| p.params < best.score.params;
    let nearest = result.pareto.iter().filter(smaller).max_by_key(|p| p.params);
    let tried = nearest.map_or(String::new(), |p| {
        let error = measure.short_text(p.error, number);
        format!("; of the smaller ones fitted none came below {error}")
    });
    format!("{text}{gap}{tried}")
}
