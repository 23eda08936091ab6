//! Budgets, refusals, errors and reports.

use super::*;

#[test]
fn the_budget_of_evaluations_is_exact_and_cuts_in_order() {
    let objective = Objective::Lambda(20.0);
    let formula = Formula::default();
    let whole = runner(objective, &formula, settings()).runs(5, 2, tnls).search().unwrap();
    let all = whole.counts.evaluations;
    for max in [1, 2, 3, 17, all - 1, all, all + 1] {
        let mut results = Vec::new();
        for threads in [1, 4] {
            let formula = Formula { slow: true, ..Formula::default() };
            let settings =
                RunnerSettings { max_evaluations: Some(max), threads: Some(threads), ..settings() };
            let result = runner(objective, &formula, settings).runs(5, 2, tnls).search().unwrap();
            assert_eq!(result.counts.evaluations, max.min(all));
            assert_eq!(formula.calls.lock().unwrap().len() as u64, max.min(all));
            let cut = if max < all { StoppedBy::MaxEvaluations } else { StoppedBy::Finished };
            assert_eq!(result.stopped_by, cut);
            results.push(timeless(result));
        }
        assert_eq!(results[0], results[1]);
        // The history up to the cut is that of the whole search.
        let improvements = whole.history.iter().filter(|p| p.evaluations <= max).count();
        let losses = |h: &[HistoryPoint]| h.iter().map(|p| p.loss).collect::<Vec<_>>();
        let expected = &losses(&whole.history)[..improvements];
        assert!(losses(&results[0].history).starts_with(expected), "max {max}");
    }
}

#[test]
fn a_refused_fit_does_not_spend_the_budget() {
    let formula = Formula { refuse_above: Some(90), ..Formula::default() };
    let settings = RunnerSettings { max_evaluations: Some(25), ..settings() };
    let result =
        runner(Objective::Lambda(20.0), &formula, settings).runs(5, 2, tnls).search().unwrap();
    assert_eq!(result.counts.evaluations, 25);
    assert!(result.counts.refused > 0);
    assert_eq!(result.stopped_by, StoppedBy::MaxEvaluations);
}

#[test]
fn time_runs_out_with_the_best_so_far() {
    // From the 21st call on a fit ends only when it is stopped, so nothing but the time ends the search. However
    // slow the machine, some limit leaves time for a fit.
    for limit in (0..).map(|k| 0.05 * f64::powi(2.0, k)) {
        let flag = Arc::new(Interrupt::new());
        let formula = Formula { flag_after: Some((20, flag)), ..Formula::default() };
        let settings = RunnerSettings { max_seconds: Some(limit), ..settings() };
        let mut records = Vec::new();
        let result = runner(Objective::Lambda(20.0), &formula, settings)
            .runs(5, 1, tnls)
            .journal(&mut records)
            .search()
            .unwrap();
        assert_eq!(result.stopped_by, StoppedBy::MaxSeconds);
        assert!(result.seconds >= limit && result.counts.evaluations <= 20);
        assert_eq!(result.counts.evaluations, records.len() as u64);
        if let Some(least) = records.iter().map(|r| r.loss).min_by(f64::total_cmp) {
            assert_eq!(result.best.unwrap().score.loss, least);
            assert_eq!(result.history.last().unwrap().seconds, result.seconds);
            return;
        }
    }
}

#[test]
fn a_time_that_is_up_at_once_ends_the_search() {
    let formula = Formula { slow: true, ..Formula::default() };
    let settings = RunnerSettings { max_seconds: Some(f64::MIN_POSITIVE), ..settings() };
    let result =
        runner(Objective::Lambda(20.0), &formula, settings).runs(5, 1, tnls).search().unwrap();
    assert_eq!(result.stopped_by, StoppedBy::MaxSeconds);
    assert!(result.counts.samples < 121, "it was not finished");
}

#[test]
fn time_before_a_resume_is_told_but_not_counted_against_the_limit() {
    let formula = Formula::default();
    let mut records = Vec::new();
    let first = runner(Objective::Lambda(20.0), &formula, settings())
        .runs(5, 1, tnls)
        .journal(&mut records)
        .search()
        .unwrap();
    // Thirty years before, and three to go.
    records.iter_mut().for_each(|r| r.seconds += 1e9);
    records.truncate(40);
    let settings = RunnerSettings { max_seconds: Some(1e8), ..settings() };
    let again = runner(Objective::Lambda(20.0), &formula, settings)
        .runs(5, 1, tnls)
        .resume(records)
        .search()
        .unwrap();
    assert_eq!(again.stopped_by, StoppedBy::Finished);
    assert_eq!((again.counts, again.best), (first.counts, first.best));
    assert!(again.seconds > 1e9);
}

#[test]
fn nothing_beyond_the_parameter_budget_is_fitted() {
    let formula = Formula::default();
    let result =
        runner(Objective::MaxParams(80), &formula, settings()).runs(5, 2, tnls).search().unwrap();
    assert!(result.counts.pruned > 0 && result.counts.evaluations > 0);
    assert!(result.pareto.iter().all(|p| p.params <= 80));
    assert!(result.target_reached && result.best.unwrap().score.params <= 80);

    let least = DIMS.iter().sum::<usize>() as u128;
    let error = runner(Objective::MaxParams(least - 1), &formula, settings())
        .runs(5, 2, tnls)
        .search()
        .unwrap_err();
    assert_eq!(error, SearchError::TooFewParams { max_params: 14, least: 15 });
}

#[test]
fn a_target_out_of_reach_leaves_the_best_by_loss() {
    let formula = Formula::default();
    let result =
        runner(Objective::MaxError(1e-12), &formula, settings()).runs(5, 1, tnls).search().unwrap();
    assert!(!result.target_reached && !result.runs[0].target_reached);
    let best = result.best.unwrap();
    assert_eq!(best.score.loss, result.history.last().unwrap().loss);
}

#[test]
fn large_structures_are_refused_and_valued_as_the_zero_network() {
    let formula = Formula::default();
    let ring = Arc::new(Template::ring(5).unwrap());
    let told = Told::default();
    // phi = 15 * 144 / 216 = 10: the first that is too large.
    let large = Structure::new(ring.clone(), vec![0, 1, 2, 3, 4], vec![12; 5]).unwrap();
    let result = runner(Objective::Lambda(20.0), &formula, settings())
        .runs(1, 1, |_| Script(vec![vec![large.clone()]], told.clone()))
        .search()
        .unwrap();
    assert!(result.best.is_none() && !result.target_reached && result.history.is_empty());
    assert_eq!((result.counts.samples, result.counts.refused), (1, 1));
    let outcome = Outcome { loss: 10.0 + 20.0, rse: None, params: 2160, source: Source::Refused };
    assert_eq!(*told.lock().unwrap(), [outcome]);
    assert!(formula.calls.lock().unwrap().is_empty());

    // A structure for another order is an error, not a panic.
    let ring = Arc::new(Template::ring(4).unwrap());
    let other = Structure::new(ring, vec![0, 1, 2, 3], vec![1; 4]).unwrap();
    let error = runner(Objective::Lambda(20.0), &formula, settings())
        .runs(1, 1, |_| Script(vec![vec![other.clone()]], told.clone()))
        .search()
        .unwrap_err();
    assert!(error.to_string().contains("4 external vertices, but the tensor has 5"), "{error}");
}

#[test]
fn an_error_of_a_fit_ends_the_search() {
    let error = FitError::Modes { structure: 1, tensor: 2 };
    fn fail(_: &ModeGraph) -> Option<FitError> {
        Some(FitError::Modes { structure: 1, tensor: 2 })
    }
    let formula = Formula { fail_on: Some(fail), ..Formula::default() };
    let result = runner(Objective::Lambda(20.0), &formula, settings()).runs(5, 2, tnls).search();
    assert_eq!(result.unwrap_err(), SearchError::Fit(error));
    let result = runner(Objective::Lambda(20.0), &formula, settings()).search();
    assert_eq!(result.unwrap_err().to_string(), "runs is 0; it must be at least 1");
}

#[test]
fn a_full_disk_does_not_lose_the_search() {
    struct Full(usize);
    impl Journal for Full {
        fn append(&mut self, _: &EvaluationRecord) -> Result<(), JournalError> {
            self.0 += 1;
            if self.0 > 3 { Err(JournalError::new("no space left")) } else { Ok(()) }
        }
    }
    let formula = Formula::default();
    let whole = runner(Objective::Lambda(20.0), &formula, settings()).runs(5, 1, tnls).search();
    let mut full = Full(0);
    let mut result = runner(Objective::Lambda(20.0), &formula, settings())
        .runs(5, 1, tnls)
        .journal(&mut full)
        .search()
        .unwrap();
    assert_eq!(result.journal_error.take().unwrap().to_string(), "no space left");
    assert_eq!(timeless(result), timeless(whole.unwrap()));
    assert_eq!(full.0, 4, "a journal that failed is left alone");
}

#[test]
fn progress_grows_and_ends_at_the_result() {
    let formula = Formula { slow: true, ..Formula::default() };
    let objective = Objective::MaxError(1e-3).check().unwrap();
    let mut seen: Vec<Progress> = Vec::new();
    let mut observer = |p: &Progress| seen.push(*p);
    let result = runner(objective.get(), &formula, settings())
        .runs(5, 2, tnls)
        .observer(&mut observer)
        .search()
        .unwrap();
    for pair in seen.windows(2) {
        assert!(pair[0].counts.samples <= pair[1].counts.samples);
        assert!(pair[0].counts.evaluations <= pair[1].counts.evaluations);
        assert!(pair[0].generation <= pair[1].generation && pair[0].seconds <= pair[1].seconds);
        if let (Some(a), Some(b)) = (pair[0].best, pair[1].best) {
            assert!(!objective.better(&a, &b), "the best got worse");
        }
    }
    let last = seen.last().unwrap();
    assert_eq!(last.counts, result.counts);
    assert_eq!(last.best, Some(result.best.unwrap().score));
    assert_eq!((last.planned_samples, last.generation), (Some(242), 7));
    assert!(seen.len() as u64 >= result.counts.evaluations);
}

#[test]
fn a_generation_is_told_in_order_and_counted_up_to_the_cut() {
    let ring = Arc::new(Template::ring(5).unwrap());
    let of = |rank| Structure::new(ring.clone(), vec![0, 1, 2, 3, 4], vec![rank; 5]).unwrap();
    // The ring read backwards: the same structure in other words.
    let same = Structure::new(ring.clone(), vec![4, 3, 2, 1, 0], vec![2; 5]).unwrap();
    let generation = vec![of(2), same, of(1), of(12), of(3), of(2), of(1)];
    let search = |max_evaluations| {
        let (formula, told) = (Formula::default(), Told::default());
        let result = runner(
            Objective::Lambda(20.0),
            &formula,
            RunnerSettings { max_evaluations, ..settings() },
        )
        .runs(1, 1, |_| Script(vec![generation.clone()], told.clone()))
        .search()
        .unwrap();
        (result, told.lock().unwrap().clone())
    };
    let (result, told) = search(None);
    let counts = Counts { samples: 7, evaluations: 3, cached: 3, pruned: 0, refused: 1 };
    assert_eq!(result.counts, counts);
    use Source::{Cached, Evaluated, Refused};
    let sources: Vec<Source> = told.iter().map(|o| o.source).collect();
    assert_eq!(sources, [Evaluated, Cached, Evaluated, Refused, Evaluated, Cached, Cached]);
    assert_eq!((told[0].loss, told[2].rse), (told[1].loss, told[6].rse));

    // The third fit is beyond the budget: the four before it count, the two behind it do not.
    let (result, told) = search(Some(2));
    let counts = Counts { samples: 4, evaluations: 2, cached: 1, pruned: 0, refused: 1 };
    assert_eq!((result.counts, result.runs[0].counts), (counts, counts));
    assert!(told.is_empty(), "a generation that was cut is not told");
}

#[test]
fn a_fit_that_saw_the_flag_is_no_evaluation() {
    /// Asks for the end, runs until it is stopped and then gives what it has, as if it were done.
    struct CutShort(Interrupt);
    impl Evaluator for CutShort {
        fn evaluate(
            &self,
            _: &ModeGraph,
            _: u64,
            _: Effort,
            stop: &Stop,
        ) -> Result<Fitted, FitError> {
            self.0.set();
            while !stop.is_set() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(Fitted {
                cores: Vec::new(),
                rse: 0.5,
                sweeps: 1,
                restarts: 1,
                rescued: false,
                interrupted: false,
            })
        }
    }
    let mut records = Vec::new();
    let evaluator = CutShort(Interrupt::new());
    let result = Runner::new(&DIMS, Objective::Lambda(20.0).check().unwrap(), &evaluator)
        .settings(settings().check().unwrap())
        .interrupt(&evaluator.0)
        .runs(5, 1, tnls)
        .journal(&mut records)
        .search()
        .unwrap();
    assert_eq!(result.stopped_by, StoppedBy::Interrupted);
    assert!(records.is_empty(), "its error is not that of an undisturbed fit");
    assert_eq!(result.counts.samples, 0);
    let best = result.best.expect("better than nothing");
    assert!(best.fitted.interrupted && best.score.error == 0.5);
}
