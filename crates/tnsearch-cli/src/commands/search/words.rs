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

/// How many edges stand at the largest rank allowed; none of a tree of any topology, which has the ranks it needs.
pub fn edges_at(structure: &Structure, dims: &[usize], max_rank: usize) -> Option<usize> {
    let bounded = structure.template().name() != "any-tree";
    bounded.then(|| structure.edges_at(max_rank, dims))
}

/// That edges stand at the largest rank allowed, if some do that could use a larger one.
pub fn capped(
    structure: &Structure,
    dims: &[usize],
    max_rank: usize,
    objective: Objective,
    reached: bool,
) -> Option<String> {
    let (at, of) = (edges_at(structure, dims, max_rank)?, structure.ranks().len());
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tnsearch::bound::NeededRank;
    use tnsearch::graph::Template;
    use tnsearch::problem::Target;
    use tnsearch::search::Search;
    use tnsearch_lab::Synthetic;

    const EPS: Objective = Objective::MaxError(1e-4);
    const CLASS: &str = "ring with ranks up to 7";

    /// A search that was answered; the tests change what it found.
    fn result() -> SearchResult {
        let ring = Arc::new(Template::ring(4).unwrap());
        let made = Synthetic::new(ring.clone(), vec![3; 4], (2, 2)).generate(1).unwrap();
        let target = Target::new(made.tensor).unwrap();
        Search::new(&target, ring).objective(EPS).run().unwrap()
    }

    #[test]
    fn what_is_said_about_auto_agrees_with_the_proof() {
        let mut r = result();
        assert!(r.certified_optimal);
        assert!(chosen(&r).contains("proved its answer"));
        assert_eq!(proof(&r, EPS, CLASS), "optimal: no ring with ranks up to 7 is better");
        // A gap, and no proof of the answer.
        r.certified_optimal = false;
        r.lower_bound = Some(EPS.lower_bound(50.0));
        assert!(chosen(&r).contains("the proof leaves a gap"));
        assert!(proof(&r, EPS, CLASS).contains("at least 50 params (found is "));
        // Nothing can be the answer: then nobody says that the cuts bound nothing.
        (r.proven_impossible, r.lower_bound, r.target_reached) = (true, None, false);
        for strategy in ["exact", "tnls"] {
            r.strategy = strategy.to_owned();
            assert!(chosen(&r).contains("the cuts rule every structure out"), "{}", chosen(&r));
        }
        assert!(
            proof(&r, EPS, CLASS)
                .starts_with("no ring with ranks up to 7 reaches RE 0.0100; it takes")
        );
        r.needed_rank = Some(NeededRank { rank: 9, modes: 0b1, width: 9, edges: 1, alone: true });
        assert!(
            proof(&r, EPS, CLASS).ends_with("mode 0 alone needs rank 9; use --max-rank 9 or more")
        );
        // No bounds at all.
        r.proven_impossible = false;
        assert!(chosen(&r).contains("no bounds were computed"));
        assert_eq!(proof(&r, EPS, CLASS), "no lower bound was computed");
        // A strategy that this text knows nothing of goes by its name.
        r.strategy = "my-own".to_owned();
        assert_eq!(chosen(&r), "my-own");
    }

    #[test]
    fn a_bound_of_zero_is_no_proof() {
        let (mut r, budget) = (result(), Objective::MaxParams(500));
        r.certified_optimal = false;
        r.lower_bound = Some(budget.lower_bound(0.0));
        let said = proof(&r, budget, CLASS);
        assert!(
            said.starts_with("nothing: the cuts of the tensor allow") && !said.contains(">="),
            "{said}"
        );
    }

    #[test]
    fn a_miss_is_said_with_its_size_and_a_cap_with_what_it_may_hide() {
        let rse = Measure::RSE;
        let said = missed(0.04, EPS, &rse);
        assert_eq!(said, "the target was NOT reached; this is the closest: RE 0.200, not 0.0100");
        assert!(missed(0.04, Objective::MaxParams(9), &rse).ends_with("this is the closest"));
        let ring = Arc::new(Template::ring(4).unwrap());
        let structure = Structure::identity(ring, vec![2, 3, 3, 1]).unwrap();
        let said = |most, reached| capped(&structure, &[9; 4], most, EPS, reached);
        assert_eq!(
            said(3, true).unwrap(),
            "2 of 4 edges are at --max-rank 3; a larger one may give fewer params"
        );
        assert!(said(3, false).unwrap().ends_with("may reach the target"));
        assert_eq!(said(4, true), None);
    }
}
