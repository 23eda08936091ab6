//! What the runner promises holds for every strategy.

use super::*;

const NAMES: [&str; 7] =
    ["tnls", "random", "annealing", "tnga-plus", "tnga-star", "tnale", "greedy"];

/// A short search of a strategy, by its name.
fn strategy(name: &str, objective: Objective, seed: u64) -> Box<dyn Strategy> {
    let ring = Arc::new(Template::ring(5).unwrap());
    let objective = objective.check().unwrap();
    let max_rank = 4;
    match name {
        "tnls" => Box::new(tnls(seed)),
        "random" => {
            let settings = RandomSettings { iterations: 4, samples: 15, max_rank };
            Box::new(RandomSearch::new(ring, settings.check().unwrap(), seed))
        }
        "annealing" => {
            let settings =
                AnnealingSettings { iterations: 6, samples: 8, max_rank, ..Default::default() };
            Box::new(Annealing::new(ring, settings.check().unwrap(), seed))
        }
        "tnga-plus" | "tnga-star" => {
            let settings =
                TngaSettings { generations: 4, population: 15, max_rank: 3, ..Default::default() };
            let settings = settings.check().unwrap();
            Box::new(match name {
                "tnga-plus" => Tnga::plus(ring, settings, seed),
                _ => Tnga::star(5, settings, seed).unwrap(),
            })
        }
        "tnale" => {
            let settings = TnaleSettings { max_rank, iterations: 2, ..Default::default() };
            Box::new(Tnale::new(&ring, &DIMS, objective, settings.check().unwrap(), seed))
        }
        _ => {
            let settings = GreedySettings { max_rank: 3 }.check().unwrap();
            Box::new(Greedy::new(5, objective, settings).unwrap())
        }
    }
}

fn search(
    name: &str,
    objective: Objective,
    formula: &Formula,
    settings: RunnerSettings,
    records: Vec<EvaluationRecord>,
    journal: &mut Vec<EvaluationRecord>,
) -> SearchResult {
    let runs = runner(objective, formula, settings)
        .runs(5, 2, |seed| strategy(name, objective, seed))
        .resume(records)
        .journal(journal);
    timeless(runs.search().unwrap())
}

#[test]
fn threads_and_interruptions_change_nothing() {
    for (name, objective) in NAMES.iter().flat_map(|n| OBJECTIVES.map(|o| (*n, o))) {
        let with = |threads| RunnerSettings { threads: Some(threads), ..settings() };
        let slow = Formula { slow: true, ..Formula::default() };
        let mut records = Vec::new();
        let whole = search(name, objective, &slow, with(1), vec![], &mut records);
        assert_eq!(whole.strategy, name);
        assert_eq!(whole.stopped_by, StoppedBy::Finished);
        assert_eq!(records.len() as u64, whole.counts.evaluations);
        assert!(whole.best.is_some() && records.len() > 10, "{name}: {}", records.len());
        assert_eq!(search(name, objective, &slow, with(3), vec![], &mut vec![]), whole, "{name}");
        // What a kill leaves on record: every prefix, in steps.
        let quick = Formula::default();
        for n in (0..=records.len()).step_by(1 + records.len() / 12) {
            let mut more = Vec::new();
            let resumed =
                search(name, objective, &quick, with(2), records[..n].to_vec(), &mut more);
            assert_eq!(resumed, whole, "{name} {objective:?} after {n}");
            assert_eq!(more.len(), records.len() - n, "only what was missing is fitted");
        }
    }
}

#[test]
fn proposals_keep_to_the_space_that_was_asked_for() {
    for name in NAMES {
        let complete = ["tnga-star", "greedy"].contains(&name);
        let mut s = strategy(name, Objective::MaxError(1e-3), 3);
        for _ in 0..1000 {
            let asked = s.ask();
            if asked.is_empty() {
                break;
            }
            for structure in &asked {
                let most = if name == "tnls" { 5 } else { 4 };
                assert!(structure.ranks().iter().all(|r| (1..=most).contains(r)), "{name}");
                let expected = if complete { "complete" } else { "ring" };
                assert_eq!(structure.template().name(), expected, "{name}");
            }
            // Losses that depend on the structure alone.
            let outcome = |structure: &Structure| {
                let params = structure.params(&DIMS);
                let mut rng = rng::stream(1, &structure.canonical().graph.to_bytes());
                let rse = rng.random_range(0.5..1.0) / params as f64;
                let loss = 200.0 * rse;
                Outcome { loss, rse: Some(rse), params, source: Source::Evaluated }
            };
            s.tell(&asked.iter().map(outcome).collect::<Vec<_>>());
        }
        assert!(s.ask().is_empty(), "{name} ends");
    }
}

#[test]
fn what_costs_too_much_is_refused() {
    let formula = Formula::default();
    let told = Told::default();
    let complete = Arc::new(Template::complete(5).unwrap());
    let make = |rank| Structure::identity(complete.clone(), vec![rank; 10]).unwrap();
    let graph = make(2).canonical().graph;
    let cost = crate::fit::sweep_cost(&graph, &DIMS);
    // A little more than rank 2 costs; rank 3 costs much more.
    let limit = RunnerSettings { max_cost: Some(1.01 * cost / 216.0), ..settings() };
    let result = runner(Objective::Lambda(20.0), &formula, limit)
        .runs(1, 1, |_| Script(vec![vec![make(2), make(3)]], told.clone()))
        .search()
        .unwrap();
    assert_eq!((result.counts.evaluations, result.counts.refused), (1, 1));
    let told = told.lock().unwrap();
    assert_eq!(
        told.iter().map(|o| o.source).collect::<Vec<_>>(),
        [Source::Evaluated, Source::Refused]
    );
    assert_eq!(told[1].loss, make(3).phi(&DIMS) + 20.0, "valued as the zero network");
    assert!(make(3).phi(&DIMS) < 10.0, "not for its parameters");
}
