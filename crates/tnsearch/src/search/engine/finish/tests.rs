use super::*;
use crate::bound::{CutBound, Spectra, SpectraSettings};
use crate::graph::Template;
use crate::problem::{Objective, Stop, Target};
use crate::rng::stream;
use crate::search::engine::bench::{Bench, Listing, engine, fitted, structure};
use crate::tensor::{Scalar, Tensor};
use std::cell::Cell;

/// A relaxed problem of some hundred nodes.
fn problem(stop: &Stop, hurry: &Stop) -> Relaxation {
    let mut rng = stream(1, b"relaxed");
    let data: Vec<f64> = (0..81).map(|_| f64::normal(&mut rng)).collect();
    let target = Target::new(Tensor::new(vec![3; 4], data).unwrap()).unwrap();
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    let ring = Arc::new(Template::ring(4).unwrap());
    let objective = Objective::MaxError(0.3).check().unwrap();
    Relaxation::stoppable(ring, objective, &bound, 5, stop, hurry)
}

fn free() -> Relaxation {
    problem(&Stop::new(), &Stop::new())
}

#[test]
fn a_certificate_made_in_slices_is_that_made_at_once() {
    let mut whole = free();
    let end = whole.next(u64::MAX);
    assert!(matches!(end, Next::Candidate(_)) && whole.expanded() > 20, "{}", whole.expanded());
    let mut floors = Vec::new();
    for nodes in [0, 1, 2, 7, 8, 20, whole.expanded(), u64::MAX] {
        let mut at_once = free();
        let expected = at_once.next(nodes);
        for slice in [1, 2, 3, 7, u64::MAX] {
            let mut relaxation = free();
            assert_eq!(
                relaxed(&mut relaxation, nodes, slice, || false),
                expected,
                "{nodes} {slice}"
            );
            assert_eq!(relaxation.expanded(), at_once.expanded(), "{nodes} {slice}");
        }
        floors.extend(match expected {
            Next::Spent(floor) => Some(floor),
            _ => None,
        });
    }
    assert!(floors.len() == 6 && floors.is_sorted() && floors[0] < floors[5], "{floors:?}");
}

#[test]
fn a_certificate_ends_when_it_is_asked_to() {
    for looks in 0..5 {
        let (mut relaxation, seen) = (free(), Cell::new(0));
        let next = relaxed(&mut relaxation, u64::MAX, 2, || {
            seen.set(seen.get() + 1);
            seen.get() > looks
        });
        assert!(matches!(next, Next::Spent(_)));
        assert_eq!(relaxation.expanded(), 2 * (looks + 1));
    }
}

#[test]
fn a_certificate_ends_where_it_is_in_a_hurry_or_there_is_no_more_room() {
    let (stop, hurry) = (Stop::new(), Stop::new());
    for token in [&stop, &hurry] {
        let mut relaxation = problem(&stop, &hurry);
        token.set();
        let next = relaxed(&mut relaxation, 20, 1, || false);
        assert!(matches!(next, Next::Spent(_)) && relaxation.expanded() == 0);
    }
    // Room for some nodes.
    let mut small = free().within(20_000.0);
    let next = relaxed(&mut small, u64::MAX, 1, || false);
    assert!(matches!(next, Next::Spent(_)) && small.is_full() && small.expanded() > 0);
}

/// Everything is on record; when that is told, a stop is asked for or not.
#[test]
fn after_a_stop_only_the_answer_is_fitted_again() {
    for stops in [false, true] {
        let stop = Stop::new();
        let errors = [(1111, 0.5), (7, 0.2)];
        let mut bench = Bench::new(2);
        let mut records: Vec<Evaluation> = Vec::new();
        let reply = move |_, request: &crate::fit::Request, _| {
            let error =
                errors.iter().find(|(c, _)| structure(*c).canonical().graph == request.graph);
            Some(Ok(fitted(&request.graph, error.unwrap().1)))
        };
        let listing = || Listing::of(errors.map(|(code, _)| code));
        let whole = engine(1, listing()).front(true).listen(&mut records);
        let whole = whole.run(&mut Bench::new(2).replying(reply)).unwrap();
        assert_eq!((whole.pareto.len(), whole.front.len(), records.len()), (2, 2, 2));
        let mut listener = |event: &Event<'_>| {
            if stops && matches!(event, Event::Generation(_)) {
                stop.set();
            }
        };
        bench = bench.replying(reply);
        let again = engine(1, listing()).front(true).resume(records).listen(&mut listener);
        let again = again.stop(&stop).run(&mut bench).unwrap();
        let (best, same) = (again.best.unwrap(), whole.best.unwrap());
        assert_eq!((&best.fitted, &best.structure), (&same.fitted, &same.structure));
        let front: Vec<&Fitted> = again.front.iter().map(|b| &b.fitted).collect();
        let expected: Vec<&Fitted> = whole.front.iter().map(|b| &b.fitted).collect();
        let sent = bench.desk.borrow().submitted.len();
        match stops {
            true => assert!(front.is_empty() && sent == 1, "{sent}"),
            false => assert!(front == expected && sent == 3, "{sent}"),
        }
    }
}

#[test]
fn the_record_of_the_answer_has_the_error_of_its_cores() {
    let mut records: Vec<Evaluation> = Vec::new();
    let first = engine(1, Listing::of([7])).listen(&mut records).run(&mut Bench::new(1)).unwrap();
    // Fits that have a limit on time may end elsewhere the next time.
    let mut bench = Bench::new(1).replying(|_, request, _| Some(Ok(fitted(&request.graph, 0.25))));
    let again = engine(1, Listing::of([7])).resume(records).run(&mut bench).unwrap();
    for (result, error) in [(first, 0.5), (again, 0.25)] {
        let best = result.best.unwrap();
        assert_eq!((best.evaluation.error, best.fitted.error), (error, error));
        assert_eq!(best.evaluation.loss, best.phi + 10.0 * error);
        assert_eq!(best.evaluation.loss, best.score.loss);
    }
}
