//! Idle workers fit what may be asked for next, and nobody can tell from the result.

use super::strategies::{all, short};
use super::*;

/// What a search is worth: its result but for the clock, and what was told, in order of place in the result.
fn search(
    (description, objective): (&Description, Objective),
    slack: f64,
    speculate: bool,
    executor: &mut dyn Executor,
) -> (SearchResult, Vec<(usize, String)>) {
    let mut records: Vec<Evaluation> = Vec::new();
    let result = engine(objective)
        .runs(5, 2, |seed| short(description, objective, seed))
        .prune(Slack(slack))
        .speculate(speculate)
        .listen(&mut records)
        .run(executor)
        .unwrap();
    let what = format!("{} {objective:?}", description.name);
    assert_eq!(result.counts.evaluations, records.len() as u64, "{what}");
    if !speculate {
        assert_eq!(result.speculative, 0, "{what}");
    }
    let mut told: Vec<_> =
        records.into_iter().map(|r| (r.run, format!("{} {:?}", r.key, r.effort))).collect();
    told.sort();
    assert!(told.windows(2).all(|w| w[0] != w[1]), "{what}: one is told twice");
    (timeless(result), told)
}

#[test]
fn speculation_changes_nothing() {
    // A bound that is nearly met, and one that says little.
    for slack in [1.0, 0.3] {
        let executors = [1, 2, 3, 8].map(|n| workers(&Arc::new(Formula::slow()), n));
        let mut executors = executors;
        for case in all() {
            let what = format!("{} {:?} slack {slack}", case.0.name, case.1);
            let (alone, told) = search(case, slack, false, &mut executors[0]);
            for executor in &mut executors {
                let workers = executor.workers();
                for speculate in [false, true] {
                    let (result, same) = search(case, slack, speculate, executor);
                    assert_eq!(result, alone, "{what}: {workers} workers, {speculate}");
                    assert_eq!(same, told, "{what}: {workers} workers, {speculate}");
                }
            }
        }
    }
}

/// The walk with pruning is the walk without: so the tests above are about a true bound.
#[test]
fn pruning_by_the_bound_changes_no_answer() {
    let mut threads = workers(&Arc::default(), 2);
    let mut pruned = 0;
    for (description, objective) in all() {
        let plain = engine(objective)
            .runs(5, 2, |seed| short(description, objective, seed))
            .run(&mut threads)
            .unwrap();
        let (result, _) = search((description, objective), 1.0, true, &mut threads);
        let (best, expected) = (result.best.unwrap(), plain.best.unwrap());
        let what = format!("{} {objective:?}", description.name);
        assert_eq!((best.score, &best.graph), (expected.score, &expected.graph), "{what}");
        assert_eq!(result.counts.samples, plain.counts.samples, "{what}");
        assert!(result.counts.evaluations <= plain.counts.evaluations, "{what}");
        pruned += result.counts.pruned - plain.counts.pruned;
    }
    assert!(pruned > 100, "{pruned}");
}

/// A budget is spent in the order of the rule, whatever was guessed before.
#[test]
fn a_budget_with_pruning_does_not_depend_on_workers() {
    for objective in OBJECTIVES {
        let search = |max, workers: usize, speculate: bool| {
            let formula = Arc::new(Formula::slow());
            let mut records: Vec<Evaluation> = Vec::new();
            let result = engine(objective)
                .runs(5, 2, tnls)
                .prune(Slack(0.9))
                .max_evaluations(Some(max))
                .speculate(speculate)
                .listen(&mut records)
                .run(&mut super::workers(&formula, workers))
                .unwrap();
            assert_eq!(records.len() as u64, result.counts.evaluations);
            timeless(result)
        };
        let all = search(u64::MAX, 1, false).counts.evaluations;
        for max in [1, 2, 3, 17, all - 1, all, all + 1] {
            let one = search(max, 1, false);
            let spent = one.counts.evaluations;
            // With one evaluation left of two that go together, the first may rule out the second.
            let (fewer, enough) = (max < all && spent < all, spent == max.min(all));
            match one.stopped_by {
                StoppedBy::MaxEvaluations => {
                    assert!(fewer && enough, "{objective:?} {max}: {spent}")
                }
                _ => assert!(max > 3 && (fewer || enough), "{objective:?} {max}: {spent}"),
            }
            for speculate in [false, true] {
                assert_eq!(one, search(max, 8, speculate), "{objective:?} {max} {speculate}");
            }
        }
    }
}

/// What is on record is neither fitted nor guessed again.
#[test]
fn a_resume_with_speculation_ends_like_the_whole_search() {
    for objective in OBJECTIVES {
        let search = |executor: &mut Local, records: Vec<Evaluation>, more: &mut Vec<_>| {
            let engine = engine(objective).runs(5, 2, tnls).prune(Slack(0.9)).listen(more);
            timeless(engine.resume(records).run(executor).unwrap())
        };
        let mut records: Vec<Evaluation> = Vec::new();
        let mut threads = workers(&Arc::new(Formula::slow()), 4);
        let whole = search(&mut threads, vec![], &mut records);
        for n in (0..=records.len()).step_by(5) {
            let mut more = Vec::new();
            assert_eq!(search(&mut threads, records[..n].to_vec(), &mut more), whole, "first {n}");
            assert_eq!(more.len(), records.len() - n, "only what was missing is told");
        }
        let formula = Arc::new(Formula::default());
        search(&mut workers(&formula, 4), records, &mut Vec::new());
        let calls = formula.calls.lock().unwrap();
        // The best structure is fitted once more, for its cores; the rest are guesses of what nobody asked for.
        let told = |call: &(u64, String)| calls.iter().filter(|c| *c == call).count();
        assert!(calls.iter().all(|call| told(call) == 1), "{calls:?}");
    }
}
