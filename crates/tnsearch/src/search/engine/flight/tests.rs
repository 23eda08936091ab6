use super::*;
use crate::MemoryError;
use crate::fit::Adapt;
use crate::problem::{Objective, Stop};
use crate::search::engine::testing::{
    Branching, LAMBDA, Listing, Nothing, TestExecutor, add, begin, code, engine, fitted, job,
    structure, with_fit,
};
use crate::search::strategy::Adapting;
use crate::search::{Generation, NoAnswer};
use std::cell::Cell;
use std::rc::Rc;

/// Replies with an error so often, then with results.
fn failing(times: usize, error: FitError) -> TestExecutor {
    let left = Cell::new(times);
    TestExecutor::new(4).replying(move |_, request, _| {
        let fails = left.get() > 0;
        left.set(left.get().saturating_sub(1));
        Some(if fails { Err(error.clone()) } else { Ok(fitted(&request.graph, 0.5)) })
    })
}

#[test]
fn a_search_ends_where_fit_after_fit_takes_longer_than_the_time_left() {
    let most = MOST_OUT_OF_TIME as usize;
    for (count, stopped_by) in [(most, StoppedBy::Finished), (most + 1, StoppedBy::MaxSeconds)] {
        // Where not one was fitted, it is the time that ended it in any case.
        let fits = usize::from(stopped_by == StoppedBy::Finished);
        let listing = Listing::of(0..count + fits);
        let result = engine(1, listing).run(&mut failing(count, FitError::Time)).unwrap();
        assert_eq!((result.stopped_by, result.best.is_some()), (stopped_by, fits == 1), "{count}");
        assert_eq!(result.counts.refused, count as u64);
    }
}

#[test]
fn what_ended_a_search_first_is_what_ended_it() {
    // Ten fits have no time; then a stop comes, and with it no fit that is left has.
    let (stop, told) = (Stop::new(), Cell::new(0));
    let ends = stop.clone();
    let bench = TestExecutor { room: 40, ..TestExecutor::new(4) };
    let mut bench = bench.replying(move |_, _, cancelled| {
        told.set(told.get() + 1);
        if told.get() > 10 {
            ends.set();
        }
        (told.get() <= 10 || cancelled).then_some(Err(FitError::Time))
    });
    let result = engine(1, Listing::of(0..40)).stop(&stop).run(&mut bench).unwrap();
    assert_eq!((result.stopped_by, result.counts.refused), (StoppedBy::Interrupted, 40));
}

#[test]
fn a_fit_that_is_lost_is_made_again_but_not_for_ever() {
    let lost = |times| {
        let mut bench = failing(times, FitError::Interrupted);
        let result = engine(1, Listing::of([7])).run(&mut bench);
        (result, bench.desk.borrow().submitted.len())
    };
    let most = MOST_LOST as usize;
    for times in [0, 1, most] {
        let (result, sent) = lost(times);
        let result = result.unwrap();
        assert_eq!((result.best.unwrap().score.error, sent), (0.5, times + 1));
        assert_eq!((result.counts.evaluations, result.stopped_by), (1, StoppedBy::Finished));
    }
    let (result, sent) = lost(most + 1);
    let said = result.unwrap_err().to_string();
    assert_eq!(said, "a fit was given up 4 times, though nobody asked for that");
    assert_eq!(sent, most + 1);
}

#[test]
fn a_guess_that_is_lost_and_a_fit_lost_after_a_stop_fail_nothing() {
    for stopped_by in [None, Some(StoppedBy::Interrupted)] {
        let mut bench = TestExecutor::new(4);
        let desk = bench.desk.clone();
        let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        begin(&mut driver, 0);
        let asked = driver.fits[0].keys().next().unwrap().clone();
        let guess = add(&mut driver, 55, None, false);
        driver.stopped_by = stopped_by;
        let key = if stopped_by.is_some() { asked } else { guess };
        for _ in 0..3 * MOST_LOST {
            driver.send(0, &key, 0);
            let ticket = desk.borrow().submitted.last().unwrap().0;
            driver.land(ticket, Err(FitError::Interrupted));
        }
        assert!(driver.failure.is_none() && driver.fits[0][&key].waiting() == Some(0));
    }
}

#[test]
fn of_several_errors_the_first_in_order_is_told() {
    let mut bench = TestExecutor::new(4);
    let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
    let place = |index| Slot { generation: 1, run: 0, index };
    let error = |k| FitError::Modes { structure: k, tensor: 9 };
    for (index, k, told) in [(4, 1, 1), (6, 2, 1), (4, 3, 1), (2, 4, 4), (3, 5, 4)] {
        driver.fail(place(index), error(k));
        assert_eq!(driver.failure.as_ref().unwrap().1, error(told));
    }
}

#[test]
fn what_follows_from_a_job_itself_is_not_taken_from_its_record() {
    let mut bench = TestExecutor::new(2);
    let driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
    let job = job(&driver, 7, 0);
    let mut record = driver.evaluation(&job, 99.0, &fitted(&job.graph, 0.5));
    record.params = 1;
    let result =
        engine(1, Listing::of([7])).resume([record]).run(&mut TestExecutor::new(2)).unwrap();
    let best = result.best.unwrap();
    let (params, loss) = (job.params, job.phi + LAMBDA * 0.5);
    assert_eq!((best.evaluation.params, best.score.params), (params as u64, params));
    assert_eq!((result.history[0].loss, result.runs[0].best.unwrap().loss), (loss, loss));
    assert_eq!((result.history[0].params, result.pareto[0].params), (params, params));
}

fn walks(code: usize) -> Listing {
    Listing(vec![Generation::walks([(structure(code), None)], Adapting::new(9, 3))])
}

/// A walk from one ring that ends at another.
fn walked(to: usize, error: f64) -> Fitted {
    let graph = structure(to).canonical().graph;
    Fitted { graph: Some(graph.clone()), ..fitted(&graph, error) }
}

#[test]
fn nor_is_what_follows_from_where_a_walk_ended() {
    let end = structure(23);
    let bench = || TestExecutor::new(2).replying(|_, _, _| Some(Ok(walked(23, 0.25))));
    let mut told: Vec<Evaluation> = Vec::new();
    let first = engine(1, walks(7)).listen(&mut told).run(&mut bench()).unwrap();
    let params = end.params(&crate::search::engine::testing::DIMS);
    assert_eq!((told.len(), told[0].params as u128), (1, params));
    (told[0].params, told[0].loss) = (1, 99.0);
    let again = engine(1, walks(7)).resume(told).run(&mut bench()).unwrap();
    for result in [first, again] {
        let best = result.best.unwrap();
        assert_eq!((best.evaluation.params as u128, &best.graph), (params, &end.canonical().graph));
        assert_eq!((result.history[0].params, result.history[0].loss), (params, best.score.loss));
        assert_eq!((best.score.params, best.score.error), (params, 0.25));
    }
}

#[test]
fn a_fit_without_a_finite_loss_is_refused() {
    let huge = f64::MAX / LAMBDA * 2.0;
    for (error, evaluations) in [(0.5, 1), (f64::NAN, 0), (f64::INFINITY, 0), (huge, 0)] {
        let reply = move |_: Ticket, request: &Request, _: bool| {
            Some(Ok(Fitted {
                graph: request.adapt.as_ref().map(|_| request.graph.clone()),
                ..fitted(&request.graph, error)
            }))
        };
        for strategy in [Listing::of([7]), walks(7)] {
            let result =
                engine(1, strategy).run(&mut TestExecutor::new(2).replying(reply)).unwrap();
            let counts = (result.counts.evaluations, result.counts.refused);
            assert_eq!(counts, (evaluations, 1 - evaluations), "{error}");
        }
    }
}

#[test]
fn what_is_too_large_to_be_swept_over_is_refused() {
    let memory = MemoryError::new("it", 2.0, 1.0);
    for error in [FitError::NoSweep, memory.into()] {
        for strategy in [Listing::of([7]), walks(7)] {
            let result = engine(1, strategy).run(&mut failing(1, error.clone())).unwrap();
            assert_eq!((result.counts.refused, result.stopped_by), (1, StoppedBy::Finished));
            assert!(result.best.is_none());
            // Only the memory that there is not is said to be to blame.
            let blamed = matches!(result.no_answer, Some(NoAnswer::TooLarge { memory: true, .. }));
            assert_eq!(blamed, matches!(error, FitError::Memory(_)), "{error:?}");
        }
    }
}

#[test]
fn a_fit_near_another_begins_there_once_and_is_given_up_where_it_cannot_win() {
    let settings = FitSettings { restarts: 4, rescue: 3, ..FitSettings::default() };
    let mut bench = TestExecutor::new(2);
    let driver = Driver::new(with_fit(1, Branching::new(1), settings), &mut bench);
    let dims = crate::search::engine::testing::DIMS.to_vec();
    let (old, new) = (structure(1111), structure(2222));
    let network =
        Network::from_fitted(old.clone(), dims, fitted(&old.canonical().graph, 0.5).cores).unwrap();
    let phi = new.phi(&crate::search::engine::testing::DIMS);
    for near in [Some(phi + 2.0), None] {
        let parent = Parent { structure: old.clone(), near };
        let mut request = Request::new(new.canonical().graph, driver.engine.fit.clone(), 1);
        driver.begin_at(&mut request, &new, &parent, &network).unwrap();
        assert!(request.warm.is_some());
        let s = &request.settings;
        match near {
            Some(_) => {
                assert_eq!((s.restarts, s.rescue), (1, 0));
                // The error that makes up the loss that it is to come below.
                assert!((s.give_up.unwrap() - 2.0 / LAMBDA).abs() < 1e-12);
            }
            None => assert_eq!((s.restarts, s.rescue, s.give_up), (4, 3, None)),
        }
    }
}

#[test]
fn a_fit_from_random_cores_is_given_up_only_far_from_what_matters() {
    let mut bench = TestExecutor::new(2);
    let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
    let mut job = job(&driver, 7, 0);
    assert_eq!(driver.request(&job).unwrap().unwrap().settings.give_up, None);
    job.far = Some(job.phi + 3.0);
    let give_up = driver.request(&job).unwrap().unwrap().settings.give_up.unwrap();
    assert!((give_up - COLD * 3.0 / LAMBDA).abs() < 1e-12, "{give_up}");
}

#[test]
fn a_fit_that_a_stop_cuts_short_was_no_speculation() {
    let stop = Stop::new();
    let ends = stop.clone();
    let mut bench = TestExecutor::new(1).replying(move |_, request, cancelled| {
        ends.set();
        cancelled.then(|| Ok(Fitted { interrupted: true, ..fitted(&request.graph, 0.5) }))
    });
    let result = engine(1, Listing::of([7])).stop(&stop).run(&mut bench).unwrap();
    assert_eq!((result.speculative, result.counts.samples), (0, 0));
    assert!(result.best.unwrap().fitted.interrupted);
    // A guess that is cut short was one.
    let mut bench = TestExecutor::new(4);
    let desk = bench.desk.clone();
    let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
    let guess = add(&mut driver, 55, None, false);
    driver.send(0, &guess, 0);
    let (ticket, request) = desk.borrow().submitted[0].clone();
    driver.land(ticket, Ok(Fitted { interrupted: true, ..fitted(&request.graph, 0.5) }));
    assert_eq!(driver.speculative, 1);
    assert!(driver.cut_short.is_none() && driver.fits[0][&guess].waiting() == Some(0));
}

#[test]
fn what_is_given_up_is_called_back() {
    let settings = FitSettings { restarts: 3, rescue: 0, ..FitSettings::default() };
    let mut bench = TestExecutor::new(4);
    let desk = bench.desk.clone();
    let mut driver = Driver::new(with_fit(1, Branching::new(1), settings), &mut bench);
    let guess = add(&mut driver, 55, None, true);
    [0, 1].into_iter().for_each(|part| driver.send(0, &guess, part));
    let tickets: Vec<Ticket> = desk.borrow().submitted.iter().map(|(t, _)| *t).collect();
    assert!(driver.give_up(0, &guess).is_some() && driver.give_up(0, &guess).is_none());
    assert_eq!(desk.borrow().cancelled, tickets);
    assert!(tickets.iter().all(|t| matches!(driver.flights[t], Flight::Nothing)));
    // What still comes is for nobody.
    for ticket in tickets {
        driver.land(ticket, Ok(fitted(&structure(55).canonical().graph, 0.0)));
    }
    assert!(driver.flights.is_empty() && driver.fits[0].is_empty());
}

fn walk_job(driver: &Driver<'_, '_>, index: usize) -> Arc<Job> {
    let adapt = Adapt::new(Objective::Lambda(LAMBDA), 9, Vec::new());
    let walk = Some((Arc::new(adapt), None));
    Arc::new(Job { walk, ..job(driver, 7, index) })
}

#[test]
fn of_fits_cut_short_the_best_is_kept_where_there_is_nothing_better() {
    // Errors of fits that are cut short, the best that was finished by then, and what is kept.
    let steps = [
        (0.5, None, 0.5, 0.5),
        (0.6, None, 0.5, 0.5),
        (0.4, None, 0.4, 0.4),
        // Only a walk may have come further than all that was finished.
        (0.35, Some(0.3), 0.4, 0.4),
        (0.2, Some(0.3), 0.2, 0.4),
        (0.25, Some(0.3), 0.2, 0.4),
        (0.1, Some(0.1), 0.2, 0.4),
    ];
    for walks in [true, false] {
        let mut bench = TestExecutor::new(4);
        let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        for (index, (error, best, walk, fit)) in steps.into_iter().enumerate() {
            let job = match walks {
                true => walk_job(&driver, index),
                false => Arc::new(job(&driver, 7, index)),
            };
            let score = |error| driver.engine.rules.objective.score(job.params, job.phi, error);
            driver.seen.best = best.map(score);
            driver.keep_cut_short(job.clone(), fitted(&job.graph, error));
            let (kept, score, fitted) = driver.cut_short.as_ref().unwrap();
            let expected = if walks { walk } else { fit };
            assert_eq!((score.error, fitted.error), (expected, expected), "{walks} {error}");
            assert_eq!((kept.params, score.params), (job.params, job.params));
        }
    }
}

#[test]
fn a_leader_is_better_than_what_is_cut_short() {
    let mut bench = TestExecutor::new(4);
    let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
    let job = Arc::new(job(&driver, 7, 0));
    let record = driver.evaluation(&job, 9.0, &fitted(&job.graph, 0.9));
    driver.account.leader = Some((job.clone(), Arc::new(record)));
    driver.keep_cut_short(job.clone(), fitted(&job.graph, 0.1));
    assert!(driver.cut_short.is_none());
}

/// What comes of a fit made again: the request, the tickets cancelled and the result.
fn again(
    own: Option<f64>,
    stopped: bool,
    stoppable: bool,
    interrupted: bool,
) -> (Option<f64>, usize, Result<Fitted, FitError>) {
    let polls = Rc::new(Cell::new(0));
    let mut bench = TestExecutor::new(2).replying(move |_, request, _| {
        polls.set(polls.get() + 1);
        (polls.get() > 5).then(|| Ok(Fitted { interrupted, ..fitted(&request.graph, 0.5) }))
    });
    let desk = bench.desk.clone();
    let stop = Stop::new();
    let settings = FitSettings { max_seconds: own, ..FitSettings::default() };
    let engine = with_fit(1, Branching::new(1), settings).stop(&stop);
    let mut driver = Driver::new(engine, &mut bench);
    if stopped {
        stop.set();
    }
    let result = driver.fit_again(0, &structure(7), Effort::Full, stoppable);
    assert!(driver.flights.is_empty());
    let desk = desk.borrow();
    assert_eq!(desk.submitted.len(), 1);
    assert!(desk.cancelled.iter().all(|t| *t == desk.submitted[0].0));
    (desk.submitted[0].1.settings.max_seconds, desk.cancelled.len(), result)
}

#[test]
fn a_fit_made_again_obeys_the_stop_unless_the_answer_needs_it() {
    for own in [None, Some(0.25), Some(5.0)] {
        for interrupted in [false, true] {
            // Without a stop it is made as it was.
            for stoppable in [false, true] {
                let (seconds, cancelled, result) = again(own, false, stoppable, interrupted);
                assert_eq!((seconds, cancelled), (own, 0));
                assert_eq!(result.is_ok(), !(interrupted && stoppable));
            }
            // For the answer's cores it gets a second at most, and counts as it is.
            let (seconds, cancelled, result) = again(own, true, false, interrupted);
            let most = own.unwrap_or(LAST_SECONDS).min(LAST_SECONDS);
            assert_eq!((seconds, cancelled), (Some(most), 0));
            assert_eq!(result.unwrap().interrupted, interrupted);
            // Else it is called back, once, and what is cut short is nothing.
            let (seconds, cancelled, result) = again(own, true, true, interrupted);
            assert_eq!((seconds, cancelled), (own, 1));
            assert_eq!(result.is_ok(), !interrupted);
        }
    }
}

#[test]
fn a_fit_made_again_that_is_lost_is_made_once_more() {
    let most = MOST_LOST as usize;
    for stoppable in [false, true] {
        for (times, well) in [(1, true), (most, true), (most + 1, false)] {
            let mut bench = failing(times, FitError::Interrupted);
            let desk = bench.desk.clone();
            let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
            let result = driver.fit_again(0, &structure(7), Effort::Full, stoppable);
            assert_eq!(result.is_ok(), well, "{times}");
            assert!(well || result != Err(FitError::Interrupted));
            let expected = if well { times + 1 } else { times };
            assert_eq!(desk.borrow().submitted.len(), expected);
            assert!(driver.flights.is_empty());
        }
    }
    // One that was called back is not.
    let stop = Stop::new();
    stop.set();
    let mut bench = failing(1, FitError::Interrupted);
    let mut driver = Driver::new(engine(1, Branching::new(1)).stop(&stop), &mut bench);
    let result = driver.fit_again(0, &structure(7), Effort::Full, true);
    assert_eq!(result, Err(FitError::Interrupted));
    assert_eq!(bench.desk.borrow().submitted.len(), 1);
}

#[test]
fn what_comes_while_a_fit_is_made_again_is_taken() {
    let mut bench = TestExecutor::new(2);
    let desk = bench.desk.clone();
    let mut driver = Driver::new(engine(1, Branching::new(1)).prune(Nothing), &mut bench);
    begin(&mut driver, 0);
    driver.dispatch();
    let count = desk.borrow().submitted.len();
    assert_eq!(count, 2, "one that is asked for and a guess");
    let fitted = driver.fit_again(0, &structure(99), Effort::Full, true).unwrap();
    assert_eq!(fitted.cores.len(), 4);
    assert!(driver.engine.runs[0].is_resolved(), "the fit that was asked for");
    let guesses = driver.fits[0].values().filter(|a| a.result().is_some()).count();
    assert_eq!((guesses, driver.flights.len()), (1, 0));
    assert_eq!(code(&desk.borrow().submitted[count].1.graph), 99);
}

/// The best of a generation is at hand when the next begins at it: no fit is made twice.
#[test]
fn a_parent_that_was_the_best_is_not_fitted_again() {
    for (errors, requests) in [([0.2, 0.5], 4), ([0.5, 0.2], 5)] {
        let first = Generation::new(vec![structure(1111)]);
        let next = |codes: [usize; 2], parent: usize| {
            Generation::new(codes.map(structure).to_vec()).parent(structure(parent))
        };
        let strategy = Listing(vec![first, next([2222, 3333], 1111), next([4444, 4444], 2222)]);
        let mut bench = TestExecutor::new(1).replying(move |_, request, _| {
            let error = match code(&request.graph) {
                2222 => errors[0],
                3333 => errors[1],
                _ => 0.9,
            };
            Some(Ok(fitted(&request.graph, error)))
        });
        let desk = bench.desk.clone();
        let result = engine(1, strategy).run(&mut bench).unwrap();
        assert_eq!(result.counts.evaluations, 4);
        let desk = desk.borrow();
        // The root has no parent, so its cores were not held; 2222 only where it was the best.
        assert_eq!(desk.submitted.len(), requests + 1, "{:?}", desk.codes());
        assert!(desk.submitted.last().unwrap().1.warm.is_some());
    }
}

/// Of a fit in parts that a stop ends, the best part that is done is an answer that was cut short.
#[test]
fn the_parts_that_were_done_before_a_stop_are_not_lost() {
    let settings = FitSettings { restarts: 3, rescue: 0, ..FitSettings::default() };
    let stop = Stop::new();
    let ends = stop.clone();
    let bench = TestExecutor { single_starts: true, ..TestExecutor::new(4) };
    let mut bench = bench.replying(move |_, request, cancelled| {
        let errors = [0.5, 0.25];
        if let Some(error) = request.start.and_then(|start| errors.get(start)) {
            ends.set();
            return Some(Ok(fitted(&request.graph, *error)));
        }
        cancelled.then_some(Err(FitError::Interrupted))
    });
    let result = with_fit(1, Listing::of([7]), settings).stop(&stop).run(&mut bench).unwrap();
    let best = result.best.unwrap();
    assert_eq!((best.score.error, best.fitted.interrupted), (0.25, true));
    assert_eq!((result.counts.evaluations, result.stopped_by), (0, StoppedBy::Interrupted));
}
