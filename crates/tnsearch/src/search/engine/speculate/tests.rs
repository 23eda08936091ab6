use super::*;
use crate::MemoryError;
use crate::fit::{FitError, FitSettings};
use crate::search::engine::testing::{
    Branching, Desk, Listing, Nothing, TestExecutor, add, begin, code, engine, fitted, structure,
    with_fit,
};
use std::cell::RefCell;
use std::rc::Rc;

fn too_large() -> FitError {
    FitError::Memory(MemoryError::new("it", 2.0, 1.0))
}

/// What a job may come out at: so many times the least loss it can have.
fn at(driver: &Driver<'_, '_>, job: &Job, times: f64) -> Resolved {
    let Resolved::Evaluated(e) = evaluated(&driver.engine.rules, job, 0.0) else { unreachable!() };
    Resolved::Evaluated(Arc::new(Evaluation { loss: times * job.at_best.loss, ..(*e).clone() }))
}

/// Lets so many fits of run 0 come out at their bounds and so many not.
fn learn(driver: &mut Driver<'_, '_>, hits: usize, misses: usize) {
    let job = crate::search::engine::testing::job(driver, 1, 0);
    for k in 0..hits + misses {
        let resolved = if k < hits { at(driver, &job, 1.0) } else { Resolved::Refused };
        driver.foresight[0].learn(&job, &resolved);
    }
}

fn codes(guesses: &[Arc<Job>]) -> Vec<usize> {
    guesses.iter().map(|job| code(&job.graph)).collect()
}

fn sent(desk: &Rc<RefCell<Desk>>) -> Vec<usize> {
    desk.borrow().codes()
}

fn cancelled(desk: &Rc<RefCell<Desk>>) -> Vec<Ticket> {
    desk.borrow().cancelled.clone()
}

#[test]
fn a_fit_is_as_likely_to_come_out_at_its_bound_as_those_before_it_were() {
    let mut bench = TestExecutor::new(1);
    let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
    let job = crate::search::engine::testing::job(&driver, 77, 0);
    assert!(job.at_best.loss > 2.0);
    // Nothing is known; then a loss at its bound, one near to it, one too far off, a refusal, one below.
    let told =
        [(1.0, 2.0), (1.0 + NEAR, 3.0), (1.0 + 1.1 * NEAR, 3.0), (f64::NAN, 3.0), (0.9, 4.0)];
    let chance = |driver: &Driver<'_, '_>| driver.foresight[0].chance();
    assert_eq!(chance(&driver), 0.5);
    for (k, (times, hits)) in told.into_iter().enumerate() {
        let resolved = if times.is_nan() { Resolved::Refused } else { at(&driver, &job, times) };
        driver.foresight[0].learn(&job, &resolved);
        assert_eq!(chance(&driver), hits / (k as f64 + 3.0), "{times}");
        assert!(driver.foresight[0].changed && driver.foresight[0].moved);
    }
}

/// The numbers of all futures down to some depth, the likeliest first, from the probabilities written out.
fn likeliest(width: i32, chance: f64) -> Vec<usize> {
    let mut all = vec![(1.0, 1)];
    let mut level = all.clone();
    for _ in 0..5 {
        let next = level.iter().flat_map(|&(now, node)| {
            (0..=width).map(move |k| {
                let hit = if k < width { chance } else { 1.0 };
                (now * (1.0 - chance).powi(k) * hit, 3 * node + k as usize)
            })
        });
        level = next.collect();
        all.extend(&level);
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().map(|(_, node)| node).collect()
}

#[test]
fn what_is_likeliest_to_be_asked_for_is_guessed_first() {
    // Two fits at a time, of which three of five, or one of three, come out at their bounds.
    for (hits, misses, chance) in [(2, 1, 0.6), (0, 1, 1.0 / 3.0)] {
        let mut bench = TestExecutor::new(4);
        let mut driver = Driver::new(engine(1, Branching::new(2)), &mut bench);
        begin(&mut driver, 0);
        learn(&mut driver, hits, misses);
        let nodes = &likeliest(2, chance)[1..5];
        let expected: Vec<usize> = nodes.iter().flat_map(|node| [2 * node, 2 * node + 1]).collect();
        // What is under way already is no guess; and there are as many as are wanted.
        assert_eq!(codes(&driver.guesses(0, 8)), expected, "{chance}");
        assert_eq!(codes(&driver.guesses(0, 2)), expected[..2], "{chance}");
    }
}

#[test]
fn futures_that_end_cost_a_guess_nothing_but_a_look() {
    // Whatever is not at its bound ends the search; one of four is. So every second future has nothing to fit.
    let strategy = Branching { ends: |node| node > 1 && node % 3 == 1, ..Branching::new(1) };
    let mut bench = TestExecutor::new(4);
    let mut driver = Driver::new(engine(1, strategy), &mut bench);
    begin(&mut driver, 0);
    learn(&mut driver, 0, 2);
    let expected = [3, 9, 27, 81, 243, 729].map(|node| 2 * node);
    assert_eq!(codes(&driver.guesses(0, 6)), expected);
}

#[test]
fn guesses_go_on_from_what_is_known() {
    let results = [
        (Ok(0.3), 9),
        // What is no number is refused when it is asked for, as what is too large is.
        (Ok(f64::NAN), 10),
        (Err(too_large()), 10),
    ];
    for (result, next) in results {
        let mut bench = TestExecutor::new(4);
        let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        begin(&mut driver, 0);
        assert_eq!(codes(&driver.guesses(0, 1)), [2 * 3]);
        let key = add(&mut driver, 2 * 3, None, false);
        let graph = structure(2 * 3).canonical().graph;
        let result = result.map(|error| fitted(&graph, error));
        driver.fits[0].get_mut(&key).unwrap().land(0, result);
        assert_eq!(codes(&driver.guesses(0, 1)), [2 * next]);
    }
    // The same for what is on record.
    let mut bench = TestExecutor::new(4);
    let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
    begin(&mut driver, 0);
    let job = crate::search::engine::testing::job(&driver, 2 * 3, 0);
    let record = driver.evaluation(&job, 1.0, &fitted(&job.graph, 0.3));
    driver.engine.records.insert((0, job.record_key(), Effort::Full), record);
    assert_eq!(codes(&driver.guesses(0, 1)), [2 * 9]);
}

#[test]
fn no_more_is_sent_than_there_is_room_for_the_largest_first() {
    for (workers, room) in [(3, 3), (3, 4)] {
        let mut bench = TestExecutor { room, ..TestExecutor::new(workers) };
        let desk = bench.desk.clone();
        let mut driver = Driver::new(engine(1, Listing::of([11, 55, 33, 77, 22])), &mut bench);
        begin(&mut driver, 0);
        assert!(!driver.dispatch());
        let order = [77, 55, 33, 22, 11];
        assert_eq!(sent(&desk), order[..room]);
        assert_eq!(driver.idle(), 0);
        // A result makes room for one more.
        let (ticket, request) = desk.borrow().submitted[1].clone();
        driver.land(ticket, Ok(fitted(&request.graph, 0.5)));
        assert!(!driver.dispatch());
        assert_eq!(sent(&desk), order[..room + 1]);
        assert_eq!((driver.speculative, cancelled(&desk)), (room as u64, vec![]));
    }
}

#[test]
fn a_guess_gives_way_to_what_is_asked_for() {
    // Where no request waits near the workers, one guess ends before the fit is sent; else at the same time.
    for room in [2, 4] {
        let mut bench = TestExecutor { room, ..TestExecutor::new(2) };
        let desk = bench.desk.clone();
        let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        let guesses = [11, 22].map(|code| add(&mut driver, code, None, false));
        guesses.iter().for_each(|key| driver.send(0, key, 0));
        add(&mut driver, 33, Some(0), false);
        let last = desk.borrow().submitted[1].0;
        for _ in 0..3 {
            driver.dispatch();
            assert_eq!(cancelled(&desk), [last], "the last begun, once");
        }
        assert_eq!(sent(&desk).len(), if room == 2 { 2 } else { 3 });
        assert_eq!(driver.fits[0][&guesses[1]].waiting(), Some(0), "it can be begun again");
        driver.land(last, Err(FitError::Interrupted));
        driver.dispatch();
        assert_eq!(sent(&desk)[..3], [11, 22, 33]);
        assert_eq!(cancelled(&desk), [last]);
    }
}

#[test]
fn what_is_asked_for_gives_way_to_nothing() {
    let mut bench = TestExecutor { room: 4, ..TestExecutor::new(2) };
    let desk = bench.desk.clone();
    let mut driver = Driver::new(engine(1, Listing::of([11, 22, 33, 44, 55])), &mut bench);
    begin(&mut driver, 0);
    assert!(!driver.dispatch());
    assert_eq!((sent(&desk).len(), cancelled(&desk)), (4, vec![]));
}

#[test]
fn idle_workers_make_the_second_start_of_all_before_the_third_of_any() {
    let fit = FitSettings { restarts: 3, rescue: 0, ..FitSettings::default() };
    let starts = [(77, 0), (11, 0), (77, 1), (11, 1), (77, 2), (11, 2)];
    for workers in 2..8 {
        for speculate in [true, false] {
            let mut bench = TestExecutor::new(workers);
            let desk = bench.desk.clone();
            let engine = with_fit(1, Branching::new(1), fit.clone()).speculate(speculate);
            let mut driver = Driver::new(engine, &mut bench);
            add(&mut driver, 77, Some(0), true);
            add(&mut driver, 11, Some(1), true);
            // Starts of a guess are not needed.
            add(&mut driver, 55, None, true);
            assert!(!driver.dispatch());
            let requests = &desk.borrow().submitted;
            let sent: Vec<(usize, usize)> =
                requests.iter().map(|(_, r)| (code(&r.graph), r.start.unwrap())).collect();
            let most = if speculate { workers.min(6) } else { 2 };
            assert_eq!(sent, starts[..most], "{workers} {speculate}");
        }
    }
}

#[test]
fn fits_are_made_in_parts_where_there_are_workers_enough() {
    for speculate in [true, false] {
        for single_starts in [true, false] {
            for workers in 1..5 {
                let mut bench = TestExecutor { single_starts, ..TestExecutor::new(workers) };
                let engine = engine(1, Branching::new(1)).speculate(speculate);
                let driver = Driver::new(engine, &mut bench);
                for wave in 1..12 {
                    let enough = workers > 1 && wave < 2 * workers;
                    let expected = speculate && single_starts && enough;
                    assert_eq!(driver.makes_parts(wave), expected, "{workers} {wave}");
                }
            }
        }
    }
}

#[test]
fn idle_workers_guess_and_say_whether_there_is_more_to_guess() {
    let search = |workers: usize, strategy: Branching, prunes: bool, speculate: bool| {
        let mut bench = TestExecutor::new(workers);
        let desk = bench.desk.clone();
        let mut engine = engine(1, strategy).speculate(speculate);
        if prunes {
            engine = engine.prune(Nothing);
        }
        let mut driver = Driver::new(engine, &mut bench);
        begin(&mut driver, 0);
        let more = driver.dispatch();
        let changed = driver.foresight[0].changed;
        let again = driver.dispatch();
        (sent(&desk), more, changed, again)
    };
    let endless = || Branching::new(1);
    // As many as there are workers; more could be guessed.
    let (sent, more, changed, again) = search(3, endless(), true, true);
    assert_eq!((sent.len(), &sent[..2]), (3, &[2, 6][..]));
    assert!(!more && changed && !again);
    // Where little is left to come, workers stay idle: then it is looked at once more, and no more.
    let short = Branching { ends: |node| node > 5, ..Branching::new(1) };
    let (sent, more, changed, again) = search(9, short, true, true);
    assert_eq!(sent, [2, 6, 8]);
    assert!(more && !changed && !again);
    // Without a bound, without idle workers, and where it is not wanted, nothing is.
    for (workers, prunes, speculate) in [(3, false, true), (3, true, false), (1, true, true)] {
        let (sent, more, _, again) = search(workers, endless(), prunes, speculate);
        assert_eq!((sent.len(), more, again), (1, false, false), "{workers} {prunes}");
    }
}

#[test]
fn one_run_at_a_time_is_guessed_for_the_one_behind_first() {
    // Which runs have changed, how far they are and which have ended; and for which there are guesses.
    let cases = [
        ([true, true], [1, 1], [false, false], Some(0)),
        ([false, true], [1, 1], [false, false], Some(1)),
        ([true, false], [1, 1], [false, false], Some(0)),
        ([true, true], [5, 4], [false, false], Some(1)),
        ([true, true], [1, 1], [true, false], Some(1)),
        ([false, false], [1, 1], [false, false], None),
        ([true, false], [1, 1], [true, false], None),
    ];
    for (changed, asked, finished, expected) in cases {
        let mut bench = TestExecutor::new(7);
        let desk = bench.desk.clone();
        let engine = engine(2, Branching::new(1)).prune(Nothing);
        let mut driver = Driver::new(engine, &mut bench);
        [0, 1].into_iter().for_each(|k| begin(&mut driver, k));
        for k in 0..2 {
            driver.foresight[k].changed = changed[k];
            driver.engine.runs[k].asked = asked[k];
            driver.engine.runs[k].finished = finished[k];
        }
        driver.dispatch();
        let seeds = [0, 1].map(|k| driver.engine.runs[k].seed);
        let desk = desk.borrow();
        let guesses: Vec<u64> = desk.submitted[2..].iter().map(|(_, r)| r.seed).collect();
        // Half of the workers, or all where the other run has ended; two are at work.
        let count = if finished.contains(&true) { 5 } else { 4 };
        let expected = expected.map_or(vec![], |k| vec![seeds[k]; count]);
        assert_eq!(guesses, expected, "{changed:?} {asked:?} {finished:?}");
    }
}

/// A run whose first fit is under way, and so many guesses that are done.
fn kept(driver: &mut Driver<'_, '_>, count: usize) -> Vec<Key> {
    begin(driver, 0);
    let done = (0..count).map(|k| {
        let key = add(driver, 5000 + k, None, false);
        let graph = structure(5000 + k).canonical().graph;
        driver.fits[0].get_mut(&key).unwrap().land(0, Ok(fitted(&graph, 0.5)));
        key
    });
    done.collect()
}

#[test]
fn as_many_guesses_are_kept_as_may_be() {
    // How many are kept, whether the run has moved on; whether more is guessed, and how many of the old are left.
    let (one_less, full) = (MOST_KEPT - 1, MOST_KEPT);
    let cases = [
        (one_less, false, true, one_less),
        (one_less, true, true, one_less),
        (full, false, false, full),
        (full, true, true, 0),
    ];
    for (count, moved, guesses, left) in cases {
        let mut bench = TestExecutor::new(4);
        let desk = bench.desk.clone();
        let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        let old = kept(&mut driver, count);
        driver.foresight[0].moved = moved;
        driver.guess(0, 2);
        assert_eq!(sent(&desk), if guesses { vec![6, 8] } else { vec![] }, "{count} {moved}");
        let still = old.iter().filter(|key| driver.fits[0].contains_key(key)).count();
        assert_eq!(still, left, "{count} {moved}");
        assert!(!driver.foresight[0].moved, "that is known now");
    }
}

#[test]
fn guesses_that_are_no_longer_likely_are_given_up() {
    for full in [false, true] {
        let mut bench = TestExecutor::new(9);
        let desk = bench.desk.clone();
        let mut driver = Driver::new(engine(1, Branching::new(1)), &mut bench);
        let done = kept(&mut driver, if full { MOST_KEPT } else { 3 });
        let likely = add(&mut driver, 11, None, false);
        let unlikely = add(&mut driver, 22, None, false);
        let asked = add(&mut driver, 33, Some(1), false);
        [&likely, &unlikely, &asked].into_iter().for_each(|key| driver.send(0, key, 0));
        let jobs = [&likely, &done[0]].map(|key| driver.fits[0][key].job.clone());
        driver.drop_guesses(0, &jobs);
        let there = |key: &Key| driver.fits[0].contains_key(key);
        assert!(there(&likely) && there(&asked) && !there(&unlikely));
        // Those that are done may be of use later, while there is room.
        assert!(there(&done[0]) && done[1..].iter().all(|key| there(key) != full));
        let tickets: Vec<Ticket> = desk.borrow().submitted.iter().map(|(t, _)| *t).collect();
        assert_eq!(cancelled(&desk), [tickets[1]]);
        assert!(matches!(driver.flights[&tickets[1]], Flight::Nothing));
        assert!(matches!(driver.flights[&tickets[0]], Flight::Part { .. }));
    }
}
