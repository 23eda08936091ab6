use super::*;
use crate::bound::{CutBound, Spectra, SpectraSettings};
use crate::graph::Template;
use crate::problem::{Objective, Stop, Target};
use crate::rng::stream;
use crate::search::engine::testing::{Listing, TestExecutor, engine, fitted, structure};
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
        let mut bench = TestExecutor::new(2);
        let mut records: Vec<Evaluation> = Vec::new();
        let reply = move |_, request: &crate::fit::Request, _| {
            let error =
                errors.iter().find(|(c, _)| structure(*c).canonical().graph == request.graph);
            Some(Ok(fitted(&request.graph, error.unwrap().1)))
        };
        let listing = || Listing::of(errors.map(|(code, _)| code));
        let whole = engine(1, listing()).front(true).listen(&mut records);
        let whole = whole.run(&mut TestExecutor::new(2).replying(reply)).unwrap();
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
    let first =
        engine(1, Listing::of([7])).listen(&mut records).run(&mut TestExecutor::new(1)).unwrap();
    // Fits that have a limit on time may end elsewhere the next time.
    let mut bench =
        TestExecutor::new(1).replying(|_, request, _| Some(Ok(fitted(&request.graph, 0.25))));
    let again = engine(1, Listing::of([7])).resume(records).run(&mut bench).unwrap();
    for (result, error) in [(first, 0.5), (again, 0.25)] {
        let best = result.best.unwrap();
        assert_eq!((best.evaluation.error, best.fitted.error), (error, error));
        assert_eq!(best.evaluation.loss, best.phi + 10.0 * error);
        assert_eq!(best.evaluation.loss, best.score.loss);
    }
}

/// A strategy that has proven so much by each generation.
#[derive(Clone)]
struct Proving(Vec<(usize, Option<f64>)>, Option<f64>);

impl crate::search::Strategy for Proving {
    fn name(&self) -> &str {
        "proving"
    }

    fn ask(&mut self) -> crate::search::Ask {
        if self.0.is_empty() {
            return crate::search::Ask::Done;
        }
        let (code, proven) = self.0.remove(0);
        self.1 = proven;
        crate::search::Generation::new(vec![structure(code)]).ask()
    }

    fn tell(&mut self, _: &[crate::search::Outcome]) {}

    fn lower_bound(&self) -> Option<f64> {
        self.1
    }
}

/// Whatever becomes of a strategy, what it proved holds: the end never knows less than was said on the way.
#[test]
fn the_end_knows_all_that_was_proven_on_the_way() {
    let (none, inf) = (None, Some(f64::INFINITY));
    for (proven, all, most, impossible) in [
        ([Some(3.0), Some(9.0), inf], false, Some(9.0), false),
        ([Some(3.0), Some(9.0), inf], true, None, true),
        ([Some(9.0), Some(3.0), Some(4.0)], true, Some(9.0), false),
        ([Some(9.0), none, none], true, Some(9.0), false),
        ([none, none, none], true, None, false),
    ] {
        let strategy = Proving([1, 2, 3].into_iter().zip(proven).collect(), None);
        let objective = Objective::MaxError(1e-3).check().unwrap();
        let fit = crate::fit::FitSettings::default().check().unwrap();
        let mut said: Vec<f64> = Vec::new();
        let mut listener = |event: &Event<'_>| {
            if let Event::Progress(p) = event {
                said.extend(p.lower_bound);
            }
        };
        let engine = crate::search::Engine::new(&[3; 4], objective, fit).max_phi(1e9);
        let grounds = crate::search::Grounds { wider: !all, ..Default::default() };
        let engine = engine.runs(5, 1, |_| strategy.clone()).grounds(grounds);
        let result = engine.listen(&mut listener).run(&mut TestExecutor::new(1)).unwrap();
        assert_eq!(result.lower_bound.map(|b| b.value()), most, "{proven:?}");
        assert_eq!(result.proven_impossible, impossible, "{proven:?}");
        assert!(said.is_sorted() && (impossible || said.last().copied() == most), "{said:?}");
    }
}

/// Where the error is missed, the answer is what came nearest to it, by its error alone; its cores are its own, also where
/// fits end in another order, or come from a journal.
#[test]
fn where_the_error_is_missed_the_smallest_error_is_the_answer() {
    // More ranks, and an error that is a little smaller: by the loss the first is better.
    let errors = [(1111, 0.30), (2, 0.31), (3333, 0.29), (9, 0.29)];
    let reply = move |_, request: &crate::fit::Request, _| {
        let found = errors.iter().find(|(c, _)| structure(*c).canonical().graph == request.graph);
        Some(Ok(fitted(&request.graph, found.unwrap().1)))
    };
    let run = |eps: f64, records: Vec<Evaluation>, told: &mut Vec<Evaluation>| {
        let objective = Objective::MaxError(eps).check().unwrap();
        let fit = crate::fit::FitSettings::default().check().unwrap();
        let engine = crate::search::Engine::new(&[3; 4], objective, fit).max_phi(1e9);
        let engine = engine.runs(5, 1, |_| Listing::of(errors.map(|(code, _)| code)));
        let (mut bench, known) = (TestExecutor::new(3).replying(reply), records.len());
        let result = engine.resume(records).listen(told).run(&mut bench).unwrap();
        // What was just fitted is not fitted again; of what came from a journal the answer is.
        let fits = if known == 0 { errors.len() } else { 1 };
        assert_eq!(bench.desk.borrow().submitted.len(), fits, "{eps}");
        result
    };
    for eps in [0.28, 0.1, 1e-6] {
        let mut told = Vec::new();
        let first = run(eps, Vec::new(), &mut told);
        let again = run(eps, told, &mut Vec::new());
        for result in [first, again] {
            let best = result.best.unwrap();
            assert!(!result.target_reached);
            assert_eq!(best.score.error, 0.29, "{eps}");
            // Of the same error the one with fewer parameters.
            assert_eq!(best.structure, structure(9), "{eps}");
            assert_eq!(best.fitted, fitted(&best.graph, 0.29), "{eps}");
        }
    }
    // What reaches it, also to the last bit, comes before all that is nearer to nothing.
    for eps in [0.305, 0.30, 0.29] {
        let result = run(eps, Vec::new(), &mut Vec::new());
        assert!(result.target_reached);
        let least = result.best.unwrap().score.params;
        let dims = [3; 4];
        let reaching = errors.iter().filter(|e| e.1 <= eps).map(|e| structure(e.0).params(&dims));
        assert_eq!(Some(least), reaching.min(), "{eps}");
    }
}

/// Structures that take too long are not too large.
#[test]
fn a_search_whose_fits_were_all_too_long_was_ended_by_the_time() {
    for (error, why) in [
        (FitError::Time, StoppedBy::MaxSeconds),
        (FitError::NoSweep, StoppedBy::Finished),
        (FitError::OneVertex, StoppedBy::Finished),
    ] {
        let mut bench = TestExecutor::new(1).replying(move |_, _, _| Some(Err(error.clone())));
        let result = engine(1, Listing::of([1, 2])).run(&mut bench).unwrap();
        assert_eq!(result.stopped_by, why);
        assert_eq!((result.counts.refused, result.best.is_none()), (2, true));
    }
}

/// An answer that was there before: a ring with that error.
fn in_hand(code: usize, error: f64) -> Option<InHand> {
    let structure = structure(code);
    let fitted = fitted(&structure.canonical().graph, error);
    Some(InHand { structure, fitted })
}

/// What is told on the way is the better of both; the answer, too, unless what was there is only a last resort.
#[test]
fn what_was_there_before_is_the_answer_where_nothing_better_is_found() {
    // The error in hand of the same ring that is found with 0.5, whether that is better.
    for (error, better) in [(0.25, true), (0.5, false), (0.75, false)] {
        for last_resort in [false, true] {
            let (mut said, mut targets) = (None, Vec::new());
            let mut listener = |event: &Event<'_>| {
                if let Event::Progress(p) = event {
                    said = p.best;
                    targets.push(p.target_reached);
                }
            };
            let engine = engine(1, Listing::of([7])).in_hand(in_hand(7, error), last_resort);
            let result = engine.listen(&mut listener).run(&mut TestExecutor::new(1)).unwrap();
            let best = result.best.unwrap();
            let expected = if better && !last_resort { error } else { 0.5 };
            assert_eq!((best.score.error, best.fitted.error), (expected, expected));
            assert_eq!(best.score.loss, best.phi + 10.0 * expected, "{error}");
            assert_eq!((best.evaluation.error, best.evaluation.loss), (expected, best.score.loss));
            let direct = better && !last_resort;
            let effort = if direct { Effort::Direct } else { Effort::Full };
            assert_eq!(best.evaluation.effort, effort);
            assert_eq!(said.unwrap().error, error.min(0.5));
            assert!(targets.iter().all(|reached| *reached));
            assert_eq!((result.counts.evaluations, best.seed), (1, result.runs[0].seed));
        }
    }
}

#[test]
fn what_was_there_before_is_the_answer_where_nothing_is_found() {
    for last_resort in [false, true] {
        let mut bench = TestExecutor::new(1).replying(|_, _, _| Some(Err(FitError::NoSweep)));
        let mut said = Vec::new();
        let mut listener = |event: &Event<'_>| {
            if let Event::Progress(p) = event {
                said.push((p.best.map(|best| best.error), p.target_reached));
            }
        };
        let engine = engine(1, Listing::of([7])).in_hand(in_hand(1111, 0.25), last_resort);
        let result = engine.listen(&mut listener).run(&mut bench).unwrap();
        let best = result.best.unwrap();
        assert_eq!((best.structure, best.score.error), (structure(1111), 0.25));
        assert!(result.target_reached && result.no_answer.is_none());
        assert!(said.iter().all(|said| *said == (Some(0.25), true)) && !said.is_empty());
    }
}

/// Of two formats, one in hand and one found, both are named.
#[test]
fn the_format_in_hand_is_one_of_those_compared() {
    let path = Arc::new(Template::path(4).unwrap());
    let path = Structure::identity(path, vec![2; 3]).unwrap();
    let cores = fitted(&path.canonical().graph, 0.01);
    let answer = InHand { structure: path.clone(), fitted: cores };
    let engine = engine(1, Listing::of([7])).in_hand(Some(answer), false);
    let result = engine.run(&mut TestExecutor::new(1)).unwrap();
    let names: Vec<&str> = result.formats.iter().map(|f| &*f.format).collect();
    assert_eq!((names, result.best.unwrap().structure), (vec!["path", "ring"], path));
}

/// The tensor as one vertex is an answer where all is over, nothing was found, and it may be as large.
#[test]
fn the_tensor_itself_is_the_answer_only_where_nothing_else_can_be() {
    let run = |objective: Objective, takes: bool, error: FitError, stop: &Stop| {
        let ends = stop.clone();
        let mut bench = TestExecutor::new(1).replying(move |_, request, cancelled| {
            if request.graph.vertices() == 1 {
                return Some(Ok(fitted(&request.graph, 0.0)));
            }
            // Where a stop is to come, it comes while a fit is at work.
            if error == FitError::Interrupted {
                ends.set();
                return cancelled.then_some(Err(FitError::Interrupted));
            }
            Some(Err(error.clone()))
        });
        let fit = crate::fit::FitSettings::default().check().unwrap();
        let engine = crate::search::Engine::new(&[3; 4], objective.check().unwrap(), fit);
        let engine = engine.max_phi(1e9).runs(5, 1, |_| Listing::of([0])).stop(stop);
        engine.takes_whole(takes).run(&mut bench).unwrap()
    };
    let eps = Objective::MaxError(0.1);
    let result = run(eps, true, FitError::NoSweep, &Stop::new());
    let best = result.best.unwrap();
    assert_eq!((best.score.params, best.score.error, best.graph.vertices()), (81, 0.0, 1));
    assert!(result.target_reached && result.no_answer.is_none());
    // As large as may be, and one parameter less.
    for (budget, there) in [(81, true), (80, false)] {
        let result = run(Objective::MaxParams(budget), true, FitError::NoSweep, &Stop::new());
        assert_eq!(result.best.is_some(), there, "{budget}");
    }
    // Nobody allowed it; there was no time for others; it was interrupted.
    for (takes, error) in
        [(false, FitError::NoSweep), (true, FitError::Time), (true, FitError::Interrupted)]
    {
        let result = run(eps, takes, error.clone(), &Stop::new());
        assert!(result.best.is_none() && result.no_answer.is_some(), "{error:?}");
    }
}

/// Each point of a front that came from a journal has its own cores again.
#[test]
fn a_walk_on_the_front_is_made_again_where_it_came_from_a_journal() {
    use crate::search::Generation;
    use crate::search::strategy::Adapting;
    let ends = [(3333, 0.2), (7, 0.4)];
    let walks = || {
        let starts = ends.map(|(code, _)| (structure(code), None));
        Listing(vec![Generation::walks(starts, Adapting::new(9, 3))])
    };
    let reply = move |_, request: &crate::fit::Request, _| {
        let end = ends.iter().find(|(c, _)| structure(*c).canonical().graph == request.graph);
        let graph = Some(request.graph.clone());
        Some(Ok(Fitted { graph, ..fitted(&request.graph, end.unwrap().1) }))
    };
    let mut records: Vec<Evaluation> = Vec::new();
    let whole = engine(1, walks()).front(true).listen(&mut records);
    let whole = whole.run(&mut TestExecutor::new(1).replying(reply)).unwrap();
    assert_eq!((whole.front.len(), records.len()), (2, 2));
    let mut bench = TestExecutor::new(1).replying(reply);
    let again = engine(1, walks()).front(true).resume(records).run(&mut bench).unwrap();
    let cores = |result: &SearchResult| {
        result.front.iter().map(|b| (b.structure.clone(), b.fitted.clone())).collect::<Vec<_>>()
    };
    assert_eq!(cores(&again), cores(&whole));
    assert!(bench.desk.borrow().submitted.iter().all(|(_, request)| request.adapt.is_some()));
}

/// A certificate is made when nothing was proven on the way, and not after Ctrl-C; its end is told.
#[test]
fn a_certificate_is_made_unless_somebody_asked_for_the_end() {
    use crate::search::Stage;
    for stops in [false, true] {
        let stop = Stop::new();
        let mut told = Vec::new();
        let mut listener = |event: &Event<'_>| match event {
            Event::Generation(_) if stops => stop.set(),
            Event::Stage(stage) => told.push(*stage),
            _ => {}
        };
        let objective = Objective::MaxError(0.3).check().unwrap();
        let fit = crate::fit::FitSettings::default().check().unwrap();
        let engine = crate::search::Engine::new(&[3; 4], objective, fit).max_phi(1e9);
        let engine = engine.runs(5, 1, |_| Listing::each([vec![7], vec![8]]));
        let engine = engine.certify(free, u64::MAX).stop(&stop).listen(&mut listener);
        let result = engine.run(&mut TestExecutor::new(1)).unwrap();
        let Next::Candidate(Candidate { value, .. }) = free().next(u64::MAX) else { panic!() };
        let expected = (!stops).then(|| objective.lower_bound(value));
        assert_eq!(result.lower_bound, expected);
        assert_eq!(told.contains(&Stage::Proof), !stops);
        assert!(!result.proven_impossible);
    }
}

/// A strategy that proposes one structure and has proven so much.
fn proving(run: usize, proven: [Option<f64>; 2]) -> Proving {
    Proving(vec![(run + 1, proven[run])], None)
}

/// Of several runs the most is told that any has proven, and each generation has what was proven by then.
#[test]
fn of_several_runs_the_most_that_was_proven_counts() {
    for (proven, most) in [
        ([Some(3.0), Some(9.0)], Some(9.0)),
        ([Some(9.0), Some(3.0)], Some(9.0)),
        ([None, Some(3.0)], Some(3.0)),
        ([None, None], None),
    ] {
        let mut said = Vec::new();
        let mut listener = |event: &Event<'_>| {
            if let Event::Generation(g) = event {
                said.push(g.lower_bound.map(|b| b.value()));
            }
        };
        let objective = Objective::MaxError(1e-3).check().unwrap();
        let fit = crate::fit::FitSettings::default().check().unwrap();
        let engine = crate::search::Engine::new(&[3; 4], objective, fit).max_phi(1e9);
        let mut run = 0..;
        let engine = engine.runs(5, 2, |_| proving(run.next().unwrap(), proven));
        let result = engine.listen(&mut listener).run(&mut TestExecutor::new(1)).unwrap();
        assert_eq!(result.lower_bound.map(|b| b.value()), most, "{proven:?}");
        assert_eq!(said, [most], "{proven:?}");
    }
}

/// A strategy that proves something by what it is told.
#[derive(Clone)]
struct Learning(Listing, Option<f64>);

impl crate::search::Strategy for Learning {
    fn name(&self) -> &str {
        "learning"
    }

    fn ask(&mut self) -> crate::search::Ask {
        self.0.ask()
    }

    fn tell(&mut self, _: &[crate::search::Outcome]) {
        self.1 = Some(self.1.unwrap_or(0.0) + 3.0);
    }

    fn lower_bound(&self) -> Option<f64> {
        self.1
    }
}

/// The record of a generation has what was proven by its outcomes.
#[test]
fn a_generation_is_told_with_what_it_has_proven() {
    let mut said = Vec::new();
    let mut listener = |event: &Event<'_>| {
        if let Event::Generation(g) = event {
            said.push(g.lower_bound.map(|b| b.value()));
        }
    };
    let objective = Objective::MaxError(1e-3).check().unwrap();
    let fit = crate::fit::FitSettings::default().check().unwrap();
    let engine = crate::search::Engine::new(&[3; 4], objective, fit).max_phi(1e9);
    let strategy = Learning(Listing::each([vec![1], vec![2]]), None);
    let engine = engine.runs(5, 1, |_| strategy.clone()).listen(&mut listener);
    engine.run(&mut TestExecutor::new(1)).unwrap();
    assert_eq!(said, [Some(3.0), Some(6.0)]);
}
