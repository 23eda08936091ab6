use super::testing::{Branching, Listing, Nothing, TestExecutor, code, engine, fitted, with_fit};
use super::*;
use crate::fit::FitSettings;
use std::cell::Cell;

/// How long the engine was ready to wait for results, each time it looked for some. Each fit takes three looks.
fn waits(engine: Engine<'_>, workers: usize) -> Vec<bool> {
    let looks = Cell::new(0);
    let mut bench = TestExecutor::new(workers).replying(move |_, request, _| {
        looks.set(looks.get() + 1);
        (looks.get() % 3 == 0).then(|| Ok(fitted(&request.graph, 0.5)))
    });
    let desk = bench.desk.clone();
    engine.run(&mut bench).unwrap();
    let desk = desk.borrow();
    assert!(desk.waits.iter().all(|&wait| wait == TICK || wait.is_zero()));
    desk.waits.iter().map(|&wait| wait == TICK).collect()
}

#[test]
fn results_are_waited_for_only_where_there_is_nothing_else_to_do() {
    let (no, yes) = (false, true);
    // Asked; nothing to do twice, then the result and no other; ended; a second generation likewise.
    let one = [no, yes, yes, no, no];
    let two = [one, one].concat();
    assert_eq!(waits(engine(1, Listing::each([vec![1], vec![2]])), 1), two);
    // With a budget, a generation is planned, asked for and ended one after the other.
    let one = [no, no, yes, yes, no, no];
    let two = [one, one].concat();
    let engine_with = engine(1, Listing::each([vec![1], vec![2]])).max_evaluations(Some(9));
    assert_eq!(waits(engine_with, 1), two);
    // A thought is not waited for.
    assert_eq!(waits(engine(1, Listing::each([vec![], vec![], vec![]])), 1), [no, no, no]);
}

#[test]
fn as_long_as_there_is_more_to_guess_no_result_is_waited_for() {
    // What is asked for first takes five looks, the only guess none.
    let looks = Cell::new(0);
    let mut bench = TestExecutor::new(4).replying(move |_, request, _| {
        looks.set(looks.get() + usize::from(code(&request.graph) == 2));
        (code(&request.graph) != 2 || looks.get() == 5).then(|| Ok(fitted(&request.graph, 0.0)))
    });
    let desk = bench.desk.clone();
    let short = Branching { ends: |node| node > 3, ..Branching::new(1) };
    let result = engine(1, short).prune(Nothing).run(&mut bench).unwrap();
    assert_eq!((desk.borrow().codes(), result.counts.evaluations), (vec![2, 6], 2));
    let waits: Vec<bool> = desk.borrow().waits.iter().map(|&wait| wait == TICK).collect();
    let (no, yes) = (false, true);
    // With the guess's result there may be more to guess: that is looked at before anything is waited for.
    assert_eq!(waits, [no, no, no, yes, yes, no, no, no]);
}

#[test]
fn generations_are_told_when_they_have_ended_in_every_run() {
    let mut runs =
        [Listing::each([vec![], vec![1], vec![], vec![2]]), Listing::each([vec![3], vec![4]])]
            .into_iter();
    let (mut told, mut last) = (Vec::new(), 0);
    let mut listener = |event: &Event<'_>| match event {
        Event::Generation(g) => told.push((g.number, g.counts.evaluations)),
        Event::Progress(p) => last = p.generation,
        _ => {}
    };
    let fit = FitSettings::default();
    let mut both = with_fit(0, Listing::of([]), fit);
    both = both.runs(5, 2, |_| runs.next().unwrap());
    let result = both.listen(&mut listener).run(&mut TestExecutor::new(3)).unwrap();
    // The third was only a thought of one run, the other had ended.
    assert_eq!(told, [(1, 1), (2, 3), (4, 4)]);
    assert_eq!((last, result.counts.evaluations), (4, 4));
}
