//! Budgets, refusals, errors and reports.

use super::*;

#[test]
fn the_budget_of_evaluations_is_exact_and_cuts_in_order() {
    let objective = Objective::Lambda(20.0);
    let mut threads = workers(&Arc::default(), 2);
    let whole = engine(objective).runs(5, 2, tnls).run(&mut threads).unwrap();
    let all = whole.counts.evaluations;
    for max in [1, 2, 3, 17, all - 1, all, all + 1] {
        let mut results = Vec::new();
        for threads in [1, 4] {
            let formula = Arc::new(Formula::slow());
            let engine = engine(objective).runs(5, 2, tnls).max_evaluations(Some(max));
            let result = engine.run(&mut workers(&formula, threads)).unwrap();
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
    let formula = Arc::new(Formula { refuse_above: Some(90), ..Formula::default() });
    let engine = engine(Objective::Lambda(20.0)).runs(5, 2, tnls).max_evaluations(Some(25));
    let result = engine.run(&mut workers(&formula, 2)).unwrap();
    assert_eq!(result.counts.evaluations, 25);
    assert!(result.counts.refused > 0);
    assert_eq!(result.stopped_by, StoppedBy::MaxEvaluations);
}

#[test]
fn time_runs_out_with_the_best_so_far() {
    // From the 21st call on a fit ends only when it is stopped, so nothing but the time ends the search. However
    // slow the machine, some limit leaves time for a fit.
    for limit in (0..).map(|k| 0.05 * f64::powi(2.0, k)) {
        let flag_after = Some((20, Stop::new()));
        let formula = Arc::new(Formula { flag_after, ..Formula::default() });
        let mut records: Vec<Evaluation> = Vec::new();
        let result = engine(Objective::Lambda(20.0))
            .runs(5, 1, tnls)
            .listen(&mut records)
            .stop(&Stop::new().within_seconds(limit))
            .run(&mut workers(&formula, 2))
            .unwrap();
        assert_eq!(result.stopped_by, StoppedBy::MaxSeconds);
        // The clock of the result began before that of the limit.
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
    let result = engine(Objective::Lambda(20.0))
        .runs(5, 1, tnls)
        .stop(&Stop::new().within_seconds(f64::MIN_POSITIVE))
        .run(&mut workers(&Arc::new(Formula::slow()), 2))
        .unwrap();
    assert_eq!(result.stopped_by, StoppedBy::MaxSeconds);
    assert!(result.counts.samples < 121, "it was not finished");
}

#[test]
fn time_before_a_resume_is_told_but_not_counted_against_the_limit() {
    let mut threads = workers(&Arc::default(), 2);
    let mut records: Vec<Evaluation> = Vec::new();
    let first = engine(Objective::Lambda(20.0))
        .runs(5, 1, tnls)
        .listen(&mut records)
        .run(&mut threads)
        .unwrap();
    // Thirty years before, and three to go.
    records.iter_mut().for_each(|r| r.seconds += 1e9);
    records.truncate(40);
    let again = engine(Objective::Lambda(20.0))
        .runs(5, 1, tnls)
        .resume(records)
        .stop(&Stop::new().within_seconds(1e8))
        .run(&mut threads)
        .unwrap();
    assert!(again.seconds > 1e9);
    assert_eq!(again.stopped_by, StoppedBy::Finished);
    let (again, first) = (timeless(again), timeless(first));
    assert_eq!((again.counts, again.best), (first.counts, first.best));
}

#[test]
fn nothing_beyond_the_parameter_budget_is_fitted() {
    let mut threads = workers(&Arc::default(), 2);
    let result = engine(Objective::MaxParams(80)).runs(5, 2, tnls).run(&mut threads).unwrap();
    assert!(result.counts.pruned > 0 && result.counts.evaluations > 0);
    assert!(result.pareto.iter().all(|p| p.params <= 80));
    assert!(result.target_reached && result.best.unwrap().score.params <= 80);

    let least = DIMS.iter().sum::<usize>() as u128;
    let smallest = engine(Objective::MaxParams(least)).runs(5, 1, tnls).run(&mut threads).unwrap();
    assert!(smallest.best.is_none_or(|best| best.score.params == least));
    let engine = engine(Objective::MaxParams(least - 1)).runs(5, 2, tnls);
    let error = engine.run(&mut threads).unwrap_err();
    assert_eq!(error, SearchError::TooFewParams { max_params: 14, least: 15 });
}

#[test]
fn a_target_out_of_reach_leaves_the_best_by_loss() {
    let engine = engine(Objective::MaxError(1e-12)).runs(5, 1, tnls);
    let result = engine.run(&mut workers(&Arc::default(), 2)).unwrap();
    assert!(!result.target_reached && !result.runs[0].target_reached);
    let best = result.best.unwrap();
    assert_eq!(best.score.loss, result.history.last().unwrap().loss);
}

#[test]
fn large_structures_are_refused_and_valued_as_the_zero_network() {
    let formula = Arc::new(Formula::default());
    let mut threads = workers(&formula, 2);
    let ring = Arc::new(Template::ring(5).unwrap());
    let told = Told::default();
    // phi = 15 * 144 / 216 = 10: the first that is too large.
    let large = Structure::new(ring.clone(), vec![0, 1, 2, 3, 4], vec![12; 5]).unwrap();
    let result = engine(Objective::Lambda(20.0))
        .runs(1, 1, |_| Script(vec![vec![large.clone()]], told.clone()))
        .run(&mut threads)
        .unwrap();
    assert!(result.best.is_none() && !result.target_reached && result.history.is_empty());
    assert_eq!((result.counts.samples, result.counts.refused), (1, 1));
    let outcome = Outcome { loss: 10.0 + 20.0, error: None, params: 2160, source: Source::Refused };
    assert_eq!(*told.lock().unwrap(), [outcome]);
    assert!(formula.calls.lock().unwrap().is_empty());

    // A structure for another order is an error, not a panic.
    let ring = Arc::new(Template::ring(4).unwrap());
    let other = Structure::new(ring, vec![0, 1, 2, 3], vec![1; 4]).unwrap();
    let error = engine(Objective::Lambda(20.0))
        .runs(1, 1, |_| Script(vec![vec![other.clone()]], told.clone()))
        .run(&mut threads)
        .unwrap_err();
    assert!(error.to_string().contains("4 external vertices, but the tensor has 5"), "{error}");
}

#[test]
fn an_error_of_a_fit_ends_the_search() {
    let error = FitError::Modes { structure: 1, tensor: 2 };
    fn fail(_: &ModeGraph) -> Option<FitError> {
        Some(FitError::Modes { structure: 1, tensor: 2 })
    }
    let formula = Arc::new(Formula { fail_on: Some(fail), ..Formula::default() });
    let mut threads = workers(&formula, 2);
    let result = engine(Objective::Lambda(20.0)).runs(5, 2, tnls).run(&mut threads);
    assert_eq!(result.unwrap_err(), SearchError::Fit(error));
    let result = engine(Objective::Lambda(20.0)).run(&mut threads);
    assert_eq!(result.unwrap_err().to_string(), "runs is 0; it must be at least 1");
}

#[test]
fn a_full_disk_does_not_lose_the_search() {
    struct Full(usize);
    impl Listener for Full {
        fn hear(&mut self, _: &Event<'_>) -> Result<(), ListenerError> {
            self.0 += 1;
            if self.0 > 3 { Err(ListenerError::new("no space left")) } else { Ok(()) }
        }
    }
    let mut threads = workers(&Arc::default(), 2);
    let whole = engine(Objective::Lambda(20.0)).runs(5, 1, tnls).run(&mut threads).unwrap();
    let (mut full, mut other) = (Full(0), Vec::new());
    let mut result = engine(Objective::Lambda(20.0))
        .runs(5, 1, tnls)
        .listen(&mut full)
        .listen(&mut other)
        .run(&mut threads)
        .unwrap();
    assert_eq!(result.listener_error.take().unwrap().to_string(), "no space left");
    assert_eq!(full.0, 4, "a listener that failed is left alone");
    assert_eq!(other.len() as u64, result.counts.evaluations, "the others are not");
    assert_eq!(timeless(result), timeless(whole));
}

#[test]
fn progress_grows_and_ends_at_the_result() {
    let objective = Objective::MaxError(1e-3).check().unwrap();
    let mut seen: Vec<Progress> = Vec::new();
    let mut listener = |event: &Event<'_>| {
        if let Event::Progress(progress) = event {
            seen.push(**progress);
        }
    };
    let result = engine(objective.get())
        .runs(5, 2, tnls)
        .listen(&mut listener)
        .run(&mut workers(&Arc::new(Formula::slow()), 2))
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
        let told = Told::default();
        let result = engine(Objective::Lambda(20.0))
            .runs(1, 1, |_| Script(vec![generation.clone()], told.clone()))
            .max_evaluations(max_evaluations)
            .run(&mut workers(&Arc::default(), 2))
            .unwrap();
        (result, told.lock().unwrap().clone())
    };
    let (result, told) = search(None);
    let counts = Counts { direct: 0, samples: 7, evaluations: 3, cached: 3, pruned: 0, refused: 1 };
    assert_eq!(result.counts, counts);
    use Source::{Cached, Evaluated, Refused};
    let sources: Vec<Source> = told.iter().map(|o| o.source).collect();
    assert_eq!(sources, [Evaluated, Cached, Evaluated, Refused, Evaluated, Cached, Cached]);
    assert_eq!((told[0].loss, told[2].error), (told[1].loss, told[6].error));

    // The third fit is beyond the budget: the four before it count, the two behind it do not.
    let (result, told) = search(Some(2));
    let counts = Counts { direct: 0, samples: 4, evaluations: 2, cached: 1, pruned: 0, refused: 1 };
    assert_eq!((result.counts, result.runs[0].counts), (counts, counts));
    assert!(told.is_empty(), "a generation that was cut is not told");
}

#[test]
fn a_fit_that_saw_the_flag_is_no_evaluation() {
    /// Asks for the end, runs until it is stopped and then gives what it has, as if it were done.
    struct CutShort(Stop);
    impl Evaluator for CutShort {
        fn evaluate(&self, _: &Request, stop: &Stop) -> Result<Fitted, FitError> {
            self.0.set();
            while !stop.is_set() {
                std::thread::sleep(Duration::from_millis(1));
            }
            Ok(Fitted {
                cores: Vec::new(),
                error: 0.5,
                sweeps: 1,
                restarts: 1,
                rescued: false,
                interrupted: false,
                graph: None,
            })
        }
    }
    let mut records: Vec<Evaluation> = Vec::new();
    let stop = Stop::new();
    let result = engine(Objective::Lambda(20.0))
        .stop(&stop)
        .runs(5, 1, tnls)
        .listen(&mut records)
        .run(&mut Local::new(Arc::new(CutShort(stop.clone())), 2).unwrap())
        .unwrap();
    assert_eq!(result.stopped_by, StoppedBy::Interrupted);
    assert!(records.is_empty(), "its error is not that of an undisturbed fit");
    assert_eq!(result.counts.samples, 0);
    let best = result.best.expect("better than nothing");
    assert!(best.fitted.interrupted && best.score.error == 0.5);
}

/// A small tensor is worth little memory: a path whose ranks are in the hundreds is not swept over by Gram matrices of
/// gigabytes, whatever the machine has.
#[test]
fn fits_take_no_more_memory_than_the_tensor_is_worth() {
    let entry = |k: usize| ((k * k % 1009) as f64).sin();
    let x = crate::tensor::Tensor::new(vec![2; 14], (0..1 << 14).map(entry).collect()).unwrap();
    let target = crate::problem::Target::new(x).unwrap();
    let path = Arc::new(Template::path(14).unwrap());
    let ranks: Vec<usize> = (1..14).map(|k: u32| 1 << k.min(14 - k)).collect();
    let structure = Structure::identity(path.clone(), ranks).unwrap();
    for asked in [None, Some(1 << 40), Some(1 << 20)] {
        let settings = SearchSettings::default().with(|s| s.budget.max_bytes = asked);
        let checked =
            crate::Search::new(&target).template(path.clone()).settings(settings).check().unwrap();
        let limit = checked.fit().max_bytes.unwrap();
        assert!(limit <= (1 << 29) + (1 << 20) && asked.is_none_or(|bytes| limit <= bytes));
        let mut request = Request::new(structure.canonical().graph, checked.fit().clone(), 1);
        let fits = FitEvaluator::new(&target);
        for walk in [false, true] {
            request.adapt = walk.then(|| {
                Arc::new(crate::fit::Adapt::new(Objective::MaxError(1e-6), 64, Vec::new()))
            });
            let refused = fits.evaluate(&request, &Stop::new());
            assert!(matches!(refused, Err(FitError::Memory(_))), "{asked:?} {walk}");
        }
    }
}

/// What a search is busy with is said before its first structure is proposed, and of each generation.
#[test]
fn a_search_says_what_it_does() {
    let entry = |k: usize| ((k * k % 97) as f64 / 97.0).sin();
    let x = crate::tensor::Tensor::new(vec![3; 4], (0..81).map(entry).collect()).unwrap();
    let target = crate::problem::Target::new(x).unwrap();
    for strategy in ["auto", "walk", "tnls"] {
        let (mut said, mut samples) = (Vec::new(), Vec::new());
        let mut listener = |event: &Event<'_>| match event {
            Event::Doing(doing) => said.push(doing.to_string()),
            Event::Progress(_) => samples.push(said.len()),
            _ => {}
        };
        let settings = SearchSettings::default().with(|s| {
            s.strategy = StrategySpec::new(strategy);
            s.budget.max_evaluations = Some(20);
            (s.objective, s.max_rank) = (Objective::MaxError(0.05), Some(3));
        });
        let search =
            crate::Search::new(&target).template(Template::ring(4).unwrap()).settings(settings);
        search.listen(&mut listener).run().unwrap();
        let first = [
            "making a first answer",
            "looking for a smaller",
            "computing the spectra of up to 7 cuts",
        ];
        let said: Vec<String> = said.into_iter().skip_while(|s| s.starts_with(first[0])).collect();
        for (said, start) in said.iter().zip(&first[1..]) {
            assert!(said.starts_with(start), "{strategy}: {said}");
        }
        assert!(said[2].contains("direct methods") && said.len() > 3, "{strategy}: {said:?}");
        assert!(samples.first().is_none_or(|&before| before >= 4), "{strategy}: {samples:?}");
        assert!(said.iter().any(|s| s.contains(" at work")), "{strategy}: {said:?}");
    }
}
