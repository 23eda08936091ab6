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
    // One that is spent ends the search before anything else is looked at.
    let spent = engine(1, Listing::each([vec![1], vec![2]])).max_evaluations(Some(1));
    assert_eq!(waits(spent, 1), [&one[..], &[no]].concat());
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

#[test]
fn settings_that_mean_nothing_are_refused_before_anything_is_fitted() {
    let run = |engine: Engine<'_>| {
        let mut bench = TestExecutor::new(1);
        let result = engine.run(&mut bench);
        assert_eq!(bench.desk.borrow().submitted.len(), usize::from(result.is_ok()));
        result.map(|r| r.counts.evaluations).map_err(|e| e.to_string())
    };
    let one = || engine(1, Listing::of([7]));
    assert_eq!(run(one()), Ok(1));
    let refused = |engine| run(engine).unwrap_err();
    assert_eq!(refused(engine(0, Listing::of([7]))), "runs is 0; it must be at least 1");
    let most = one().max_evaluations(Some(0));
    assert_eq!(refused(most), "max-evaluations is 0; it must be at least 1");
    assert_eq!(run(one().max_evaluations(Some(1))), Ok(1));
    for phi in [0.0, -1.0, f64::NAN] {
        assert_eq!(refused(one().max_phi(phi)), format!("max-phi is {phi}; it must be above 0"));
    }
    for cost in [0.0, -1.0, f64::NAN] {
        assert!(refused(one().max_cost(Some(cost))).starts_with("max-cost is"), "{cost}");
    }
    assert_eq!(run(one().max_cost(Some(1e9))), Ok(1));
    // Four modes of 3 take 12 parameters at least.
    let budget = |params| {
        let objective = crate::problem::Objective::MaxParams(params).check().unwrap();
        let fit = FitSettings::default().check().unwrap();
        let engine = Engine::new(&super::testing::DIMS, objective, fit);
        let mut bench = TestExecutor::new(1);
        engine.runs(5, 1, |_| Listing::of([7])).run(&mut bench).map(|r| r.counts.pruned)
    };
    assert_eq!(budget(12), Ok(1));
    assert_eq!(budget(11), Err(SearchError::TooFewParams { max_params: 11, least: 12 }));
}

/// An error of a fit ends the search, and nothing stays under way.
#[test]
fn a_fit_that_fails_ends_the_search_with_its_error() {
    let error = FitError::Modes { structure: 1, tensor: 2 };
    let said = error.clone();
    let mut bench = TestExecutor::new(2).replying(move |_, request, _| {
        let fails = code(&request.graph) == 1;
        Some(if fails { Err(said.clone()) } else { Ok(fitted(&request.graph, 0.5)) })
    });
    let result = engine(1, Listing::each([vec![1, 2], vec![3]])).run(&mut bench);
    assert_eq!(result.unwrap_err().to_string(), error.to_string());
    assert!(!bench.desk.borrow().codes().contains(&3));
}

/// The seconds of a search count from where it was begun, and go on from those before a resume.
#[test]
fn seconds_count_from_the_beginning() {
    let begun = Instant::now().checked_sub(Duration::from_secs(1000)).unwrap();
    let mut told: Vec<Evaluation> = Vec::new();
    let first = engine(1, Listing::of([7])).begun(begun).listen(&mut told);
    let first = first.run(&mut TestExecutor::new(1)).unwrap();
    assert!(first.seconds >= 1000.0 && told[0].seconds >= 1000.0);
    let clock = StageClock::reading_since(begun);
    let again = engine(1, Listing::of([7])).resume(told.clone()).clock(clock);
    let again = again.run(&mut TestExecutor::new(1)).unwrap();
    assert!(again.seconds >= told[0].seconds);
    assert!(again.stages.reading >= 1000.0, "{:?}", again.stages);
}

/// Counts that are told on the way are those of the end, however structures were answered.
#[test]
fn what_is_counted_on_the_way_is_what_is_counted_in_the_end() {
    let mut last = Counts::default();
    let mut listener = |event: &Event<'_>| {
        if let Event::Progress(p) = event {
            let sum = |c: &Counts| c.evaluations + c.cached + c.pruned + c.refused;
            assert!(p.counts.samples >= last.samples && sum(&p.counts) == p.counts.samples);
            last = p.counts;
        }
    };
    // Twice in a generation, twice in all, too large.
    let lists = [vec![1, 1, 2], vec![2, 3, 9999]];
    let strategy = Listing::each(lists);
    let phi = |code| super::testing::structure(code).phi(&super::testing::DIMS);
    let engine = engine(1, strategy).max_phi(phi(9999)).listen(&mut listener);
    let result = engine.run(&mut TestExecutor::new(1)).unwrap();
    let counts = Counts { samples: 6, evaluations: 3, cached: 2, refused: 1, ..Counts::default() };
    assert_eq!((result.counts, last, result.runs[0].counts), (counts, counts, counts));
}

/// The time is counted for what is done: direct fits, those that a strategy proposes, walks.
#[test]
fn a_stage_begins_where_other_work_does() {
    use super::testing::structure;
    use crate::search::Generation;
    use crate::search::strategy::Adapting;
    let fits = |code: usize, effort| Generation::new(vec![structure(code)]).effort(effort);
    let walks = Generation::walks([(structure(3), None)], Adapting::new(9, 3));
    let both = Listing(vec![
        fits(1, Effort::Direct),
        fits(2, Effort::Full),
        fits(4, Effort::Quick),
        walks,
        fits(5, Effort::Full),
    ]);
    let (mut stages, mut walking) = (Vec::new(), Vec::new());
    let mut listener = |event: &Event<'_>| match event {
        Event::Stage(stage) => stages.push(*stage),
        Event::Doing(Doing::Fitting { structures, walks, .. }) => {
            walking.push((*structures, *walks))
        }
        _ => {}
    };
    let mut bench = TestExecutor::new(1).replying(|_, request, _| {
        let graph = request.adapt.as_ref().map(|_| request.graph.clone());
        Some(Ok(Fitted { graph, ..fitted(&request.graph, 0.5) }))
    });
    let result = engine(1, both).listen(&mut listener).run(&mut bench).unwrap();
    assert_eq!(stages, [Stage::Direct, Stage::Exact, Stage::Walks, Stage::Exact]);
    assert_eq!(walking, [(1, false), (1, false), (1, false), (1, true), (1, false)]);
    // Direct fits are counted apart.
    let counts = Counts { direct: 1, samples: 4, evaluations: 4, ..Counts::default() };
    assert_eq!(result.counts, counts);
}

/// A strategy that knows how many structures it will propose, or does not.
#[derive(Clone)]
struct Planned(Listing, Option<u64>);

impl Strategy for Planned {
    fn name(&self) -> &str {
        "planned"
    }

    fn ask(&mut self) -> crate::search::Ask {
        self.0.ask()
    }

    fn tell(&mut self, _: &[crate::search::Outcome]) {}

    fn planned_samples(&self) -> Option<u64> {
        self.1
    }
}

#[test]
fn what_all_runs_will_propose_is_known_where_each_of_them_knows() {
    for (plans, all) in
        [([Some(3), Some(4)], Some(7)), ([None, Some(4)], None), ([Some(3), None], None)]
    {
        let mut told = Vec::new();
        let mut listener = |event: &Event<'_>| {
            if let Event::Progress(p) = event {
                told.push(p.planned_samples);
            }
        };
        let mut next = plans.into_iter();
        let engine = with_fit(0, Listing::of([]), FitSettings::default());
        let engine = engine.runs(5, 2, |_| Planned(Listing::of([7]), next.next().unwrap()));
        engine.listen(&mut listener).run(&mut TestExecutor::new(1)).unwrap();
        assert!(!told.is_empty() && told.iter().all(|planned| *planned == all), "{told:?}");
    }
}

/// What a strategy only thinks about is a generation, too: those who wait see it move.
#[test]
fn thoughts_are_counted_as_generations() {
    let (mut told, mut generations) = (Vec::new(), 0);
    let mut listener = |event: &Event<'_>| match event {
        Event::Progress(p) => told.push(p.generation),
        Event::Generation(_) => generations += 1,
        _ => {}
    };
    let thinking = Listing::each([vec![], vec![], vec![]]);
    engine(1, thinking).listen(&mut listener).run(&mut TestExecutor::new(1)).unwrap();
    assert_eq!((told, generations), (vec![1, 2, 3], 0));
}

/// The last that is told has all that counts: also what came twice in a generation that a stop ended.
#[test]
fn the_last_progress_of_a_search_that_was_stopped_is_its_result() {
    let stop = Stop::new();
    let ends = stop.clone();
    let mut bench = TestExecutor::new(2).replying(move |_, request, cancelled| {
        if code(&request.graph) == 1 {
            return Some(Ok(fitted(&request.graph, 0.5)));
        }
        ends.set();
        cancelled.then_some(Err(FitError::Interrupted))
    });
    let mut last = None;
    let mut listener = |event: &Event<'_>| {
        if let Event::Progress(p) = event {
            last = Some(p.counts);
        }
    };
    let engine = engine(1, Listing::of([1, 1, 2])).stop(&stop).listen(&mut listener);
    let result = engine.run(&mut bench).unwrap();
    let counts = Counts { samples: 2, evaluations: 1, cached: 1, ..Counts::default() };
    assert_eq!((result.counts, last), (counts, Some(counts)));
}

/// A strategy whose generation has no structure has come to its end, and is not asked again.
#[derive(Clone)]
struct Empty(bool);

impl Strategy for Empty {
    fn name(&self) -> &str {
        "empty"
    }

    fn ask(&mut self) -> crate::search::Ask {
        assert!(!std::mem::replace(&mut self.0, true), "it is asked again");
        crate::search::Ask::Generation(crate::search::Generation::new(Vec::new()))
    }

    fn tell(&mut self, _: &[crate::search::Outcome]) {}
}

#[test]
fn a_generation_of_nothing_is_the_end() {
    let result = engine(1, Empty(false)).run(&mut TestExecutor::new(1)).unwrap();
    assert_eq!((result.counts, result.stopped_by), (Counts::default(), StoppedBy::Finished));
    assert_eq!(result.no_answer, Some(NoAnswer::NothingProposed));
}
