//! The result is a function of seed and settings: of threads, company and interruptions it is not.

use super::*;

#[test]
fn finds_the_hidden_ring() {
    let formula = Formula::default();
    let ring = Arc::new(Template::ring(5).unwrap());
    let paper = TnlsSettings::default().check().unwrap();
    let result = runner(Objective::MaxError(1e-4), &formula, settings())
        .runs(1, 5, |seed| Tnls::new(ring.clone(), paper.clone(), seed))
        .search()
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
fn the_result_does_not_depend_on_threads() {
    for objective in OBJECTIVES {
        let search = |threads, max_parallel| {
            let formula = Formula { slow: true, ..Formula::default() };
            let settings = RunnerSettings { threads: Some(threads), max_parallel, ..settings() };
            let result = runner(objective, &formula, settings).runs(7, 2, tnls).search();
            let most = formula.most_running.load(Ordering::SeqCst);
            assert!(most <= max_parallel.unwrap_or(threads).min(threads), "{most} fits at once");
            timeless(result.unwrap())
        };
        let one = search(1, None);
        assert!(one.best.is_some() && one.history.len() > 2 && one.pareto.len() > 2);
        assert_eq!(one, search(2, None));
        assert_eq!(one, search(4, None));
        assert_eq!(one, search(4, Some(2)));
    }
}

#[test]
fn every_structure_of_a_run_is_fitted_once() {
    let formula = Formula::default();
    let result = runner(Objective::Lambda(20.0), &formula, settings()).runs(3, 3, tnls).search();
    let counts = result.unwrap().counts;
    let mut calls = formula.calls.into_inner().unwrap();
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
        let formula = Formula::default();
        let all = runner(objective, &formula, settings()).runs(11, 3, tnls).search().unwrap();
        let mut alone = Vec::new();
        for k in 0..3 {
            let seed = rng::derived_seed(11, k);
            let one = runner(objective, &formula, settings()).runs(seed, 1, tnls).search().unwrap();
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
        let formula = Formula { slow: true, refuse_above: Some(180), ..Formula::default() };
        let mut records: Vec<EvaluationRecord> = Vec::new();
        let settings = RunnerSettings { threads: Some(4), ..settings() };
        let quick = Formula { refuse_above: Some(180), ..Formula::default() };
        let search = |formula: &Formula,
                      resumed: Vec<EvaluationRecord>,
                      journal: &mut Vec<EvaluationRecord>| {
            let run = runner(objective, formula, settings.clone()).runs(5, 2, tnls);
            timeless(run.resume(resumed).journal(journal).search().unwrap())
        };
        let whole = search(&formula, Vec::new(), &mut records);
        assert_eq!(records.len() as u64, whole.counts.evaluations);
        // Every prefix, as a kill leaves them.
        for n in 0..=records.len() {
            let mut more = Vec::new();
            assert_eq!(search(&quick, records[..n].to_vec(), &mut more), whole, "first {n}");
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
            assert_eq!(search(&quick, part, &mut more), whole);
            assert_eq!(more.len(), records.len() - n);
        }
    }
}

#[test]
fn an_interrupted_search_can_be_resumed() {
    let objective = Objective::Lambda(20.0);
    let whole = Formula::default();
    let whole = runner(objective, &whole, settings()).runs(5, 2, tnls).search().unwrap();
    for n in [1, 2, 9, 30, 61] {
        let flag = Arc::new(Stop::new());
        let formula =
            Formula { flag_after: Some((n, flag.clone())), slow: true, ..Formula::default() };
        let mut records = Vec::new();
        let part = runner(objective, &formula, settings())
            .runs(5, 2, tnls)
            .interrupt(&flag)
            .journal(&mut records)
            .search()
            .unwrap();
        assert_eq!(part.stopped_by, StoppedBy::Interrupted);
        assert_eq!(part.counts.evaluations, records.len() as u64);
        assert!(records.len() <= n && records.len() + 2 >= n, "{} of {n}", records.len());
        // The best so far is kept, with its cores.
        let best = part.best.map(|b| (b.score.loss, b.fitted.rse));
        let least = records.iter().min_by(|a, b| a.loss.total_cmp(&b.loss));
        assert_eq!(best, least.map(|r| (r.loss, r.rse)));

        let formula = Formula::default();
        let resumed =
            runner(objective, &formula, settings()).runs(5, 2, tnls).resume(records).search();
        assert_eq!(timeless(resumed.unwrap()), timeless(whole.clone()));
    }
}

#[test]
fn the_front_and_the_history_agree_with_the_records() {
    let formula = Formula::default();
    let mut records = Vec::new();
    let result = runner(Objective::Lambda(20.0), &formula, settings())
        .runs(5, 2, tnls)
        .journal(&mut records)
        .search()
        .unwrap();
    for point in &result.pareto {
        assert!(records.iter().any(|r| u128::from(r.params) == point.params && r.rse == point.rse));
        assert!(!records.iter().any(|r| u128::from(r.params) <= point.params && r.rse < point.rse));
    }
    assert!(result.pareto.is_sorted_by(|a, b| a.params < b.params && a.rse > b.rse));
    assert!(result.history.windows(2).all(|w| w[1].loss <= w[0].loss));
    let last = result.history.last().unwrap();
    assert_eq!((last.samples, last.evaluations), (242, result.counts.evaluations));
    let least = records.iter().map(|r| r.loss).fold(f64::INFINITY, f64::min);
    assert_eq!(last.loss, least);
}
