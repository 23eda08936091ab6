//! A search in words that follow from its facts.

use crate::text::number;
use tnsearch::graph::Structure;
use tnsearch::problem::Objective;
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

/// What is proven about the answer, in the statement's words; where the proof leaves a gap, also what the fits below the
/// answer came to.
pub fn proof(result: &SearchResult) -> String {
    let (text, measure) = (result.statement.text(), &result.measure);
    let found = result.best.as_ref().filter(|_| result.target_reached);
    let bound = result.lower_bound.and_then(|bound| bound.params);
    let (Some(best), Some(_), false) = (found, bound, result.certified_optimal) else {
        return text;
    };
    let smaller = |p: &&ParetoPoint| p.params < best.score.params;
    let nearest = result.pareto.iter().filter(smaller).max_by_key(|p| p.params);
    let tried = nearest.map_or(String::new(), |p| {
        let error = measure.short_text(p.error, number);
        format!("; of the smaller ones fitted none came below {error}")
    });
    format!("{text}{tried}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Synthetic;
    use std::sync::Arc;
    use tnsearch::graph::Template;
    use tnsearch::problem::Target;
    use tnsearch::search::Search;

    const EPS: Objective = Objective::MaxError(1e-4);

    /// A search that was answered; the tests change what it found.
    fn result() -> SearchResult {
        let ring = Arc::new(Template::ring(4).unwrap());
        let made = Synthetic::new(ring.clone(), vec![3; 4], (2, 2)).generate(1).unwrap();
        let target = Target::new(made.tensor).unwrap();
        Search::new(&target).template(ring).objective(EPS).run().unwrap()
    }

    #[test]
    fn what_is_said_about_auto_agrees_with_the_proof() {
        let mut r = result();
        assert!(r.certified_optimal);
        assert!(chosen(&r).contains("proved its answer"));
        assert_eq!(proof(&r), "optimal: no ring with ranks up to 7 is better");
        // A gap, and no proof of the answer.
        r.certified_optimal = false;
        assert!(chosen(&r).contains("the proof leaves a gap"));
        // Nothing can be the answer: then nobody says that the cuts bound nothing.
        (r.proven_impossible, r.lower_bound, r.target_reached) = (true, None, false);
        for strategy in ["exact", "tnls"] {
            r.strategy = strategy.to_owned();
            assert!(chosen(&r).contains("the cuts rule every structure out"), "{}", chosen(&r));
        }
        // No bounds at all.
        r.proven_impossible = false;
        assert!(chosen(&r).contains("no bounds were computed"));
        // A strategy that this text knows nothing of goes by its name.
        r.strategy = "my-own".to_owned();
        assert_eq!(chosen(&r), "my-own");
    }

    #[test]
    fn a_cap_is_said_with_what_it_may_hide() {
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
