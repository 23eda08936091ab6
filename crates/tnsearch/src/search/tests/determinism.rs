//! The result is a function of seed and settings: of workers, company and interruptions it is not.

use super::*;

#[test]
fn finds_the_hidden_ring() {
    let formula = Arc::new(Formula::default());
    let ring = Arc::new(Template::ring(5).unwrap());
    let paper = TnlsSettings::default().check().unwrap();
    let result = engine(Objective::MaxError(1e-4))
        .runs(1, 5, |seed| Tnls::new(ring.clone(), paper.clone(), seed))
        .run(&mut workers(&formula, 2))
        .unwrap();
    let best = result.best.unwrap();
    assert!(result.target_reached && best.score.error <= 1e-4);
    assert_eq!(result.stopped_by, StoppedBy::Finished);
    assert_eq!(best.graph, best.structure.canonical().graph);
    assert_eq!(best.graph.to_string(), "5+0:0-2x3,0-3x3,1-3x3,1-4x3,2-4x3");
    assert_eq!(best.phi, best.score.params as f64 / 216.0);
    assert_eq!(result.strategy, "tnls");
}

#[test]
fn the_result_does_not_depend_on_workers() {
    for objective in OBJECTIVES {
        let search = |threads| {
            let formula = Arc::new(Formula::slow());
            let result = engine(objective).runs(7, 2, tnls).run(&mut workers(&formula, threads));
            let most = formula.most_running.load(Ordering::SeqCst);
            assert!(most <= threads, "{most} fits at once");
            timeless(result.unwrap())
        };
        let one = search(1);
        assert!(one.best.is_some() && one.history.len() > 2 && one.pareto.len() > 2);
        assert_eq!(one, search(2));
        assert_eq!(one, search(4));
    }
}

#[test]
fn every_structure_of_a_run_is_fitted_once() {
    let formula = Arc::new(Formula::default());
    let result = engine(Objective::Lambda(20.0)).runs(3, 3, tnls).run(&mut workers(&formula, 2));
    let counts = result.unwrap().counts;
    let mut calls = formula.calls.lock().unwrap().clone();
    assert_eq!(calls.len() as u64, counts.evaluations);
    calls.sort();
    calls.dedup();
    assert_eq!(calls.len() as u64, counts.evaluations, "a structure was fitted twice");
    assert!(counts.cached > 0);
    assert_eq!(counts.samples, 3 * 121);
    assert_eq!(counts.samples, counts.evaluations + counts.cached + counts.pruned + counts.refused);
}

#[test]
fn a_run_among_others_is_the_run_alone() {
    for objective in OBJECTIVES {
        let mut threads = workers(&Arc::default(), 2);
        let all = engine(objective).runs(11, 3, tnls).run(&mut threads).unwrap();
        let mut alone = Vec::new();
        for k in 0..3 {
            let seed = rng::derived_seed(11, k);
            let one = engine(objective).runs(seed, 1, tnls).run(&mut threads).unwrap();
            assert_eq!(all.runs[k], one.runs[0]);
            alone.push(one.best.unwrap());
        }
        let best = all.best.unwrap();
        let expected = &alone[best.run];
        assert_eq!(best.fitted, expected.fitted);
        assert_eq!(best.structure, expected.structure);
        assert_eq!((best.score, best.seed), (expected.score, expected.seed));
        let objective = objective.check().unwrap();
        assert!(alone.iter().all(|other| !objective.better(&other.score, &best.score)));
    }
}

#[test]
fn a_resume_from_any_records_ends_like_the_whole_search() {
    for objective in OBJECTIVES {
        let refuse_above = Some(180);
        let slow = Arc::new(Formula { slow: true, refuse_above, ..Formula::default() });
        let quick = Arc::new(Formula { refuse_above, ..Formula::default() });
        let (mut slow, mut quick) = (workers(&slow, 4), workers(&quick, 4));
        let search =
            |executor: &mut Local, resumed: Vec<Evaluation>, records: &mut Vec<Evaluation>| {
                let engine = engine(objective).runs(5, 2, tnls).resume(resumed).listen(records);
                timeless(engine.run(executor).unwrap())
            };
        let mut records: Vec<Evaluation> = Vec::new();
        let whole = search(&mut slow, Vec::new(), &mut records);
        assert_eq!(records.len() as u64, whole.counts.evaluations);
        // Every prefix, as a kill leaves them.
        for n in 0..=records.len() {
            let mut more = Vec::new();
            assert_eq!(search(&mut quick, records[..n].to_vec(), &mut more), whole, "first {n}");
            assert_eq!(more.len(), records.len() - n, "only what was missing is fitted");
        }
        // Any subset in any order.
        let mut rng = rng::stream(1, b"subsets");
        for _ in 0..10 {
            let mut part: Vec<_> =
                records.iter().filter(|_| rng.random_bool(0.5)).cloned().collect();
            part.shuffle(&mut rng);
            let mut more = Vec::new();
            let n = part.len();
            assert_eq!(search(&mut quick, part, &mut more), whole);
            assert_eq!(more.len(), records.len() - n);
        }
    }
}

#[test]
fn an_interrupted_search_can_be_resumed() {
    let objective = Objective::Lambda(20.0);
    let mut undisturbed = workers(&Arc::default(), 2);
    let whole = engine(objective).runs(5, 2, tnls).run(&mut undisturbed).unwrap();
    for n in [1, 2, 9, 30, 61] {
        let flag = Stop::new();
        let flag_after = Some((n, flag.clone()));
        let formula = Arc::new(Formula { flag_after, slow: true, ..Formula::default() });
        let mut records = Vec::new();
        let part = engine(objective)
            .runs(5, 2, tnls)
            .stop(&flag)
            .listen(&mut records)
            .run(&mut workers(&formula, 2))
            .unwrap();
        assert_eq!(part.stopped_by, StoppedBy::Interrupted);
        assert_eq!(part.counts.evaluations, records.len() as u64);
        assert!(records.len() <= n && records.len() + 2 >= n, "{} of {n}", records.len());
        // The best so far is kept, with its cores.
        let best = part.best.map(|b| (b.score.loss, b.fitted.error));
        let least = records.iter().min_by(|a, b| a.loss.total_cmp(&b.loss));
        assert_eq!(best, least.map(|r| (r.loss, r.error)));

        let resumed = engine(objective).runs(5, 2, tnls).resume(records).run(&mut undisturbed);
        assert_eq!(timeless(resumed.unwrap()), timeless(whole.clone()));
    }
}

#[test]
fn the_front_and_the_history_agree_with_the_records() {
    let mut records: Vec<Evaluation> = Vec::new();
    let result = engine(Objective::Lambda(20.0))
        .runs(5, 2, tnls)
        .listen(&mut records)
        .run(&mut workers(&Arc::default(), 2))
        .unwrap();
    for point in &result.pareto {
        let (params, error) = (point.params, point.error);
        assert!(records.iter().any(|r| u128::from(r.params) == params && r.error == error));
        assert!(!records.iter().any(|r| u128::from(r.params) <= params && r.error < error));
    }
    assert!(result.pareto.is_sorted_by(|a, b| a.params < b.params && a.error > b.error));
    assert!(result.history.windows(2).all(|w| w[1].loss <= w[0].loss));
    let last = result.history.last().unwrap();
    assert_eq!((last.samples, last.evaluations), (242, result.counts.evaluations));
    let least = records.iter().map(|r| r.loss).fold(f64::INFINITY, f64::min);
    assert_eq!(last.loss, least);
}
