//! What the engine promises holds for every strategy there is.

use super::*;
use crate::bound::{CutBound, Relaxation, Spectra, SpectraSettings};
use crate::network::contract;
use crate::problem::Target;
use crate::tensor::Tensor;
use std::sync::LazyLock;

/// The largest rank: over all graphs there is more to fit, and large ranks are refused.
fn max_rank(description: &Description) -> usize {
    if description.graphs == Graphs::All { 3 } else { 4 }
}

/// Bounds for the strategies that work with them. They are those of a tensor that the formula knows nothing about:
/// what a strategy proposes is then not what it finds, and it comes through all its phases.
static BOUND: LazyLock<CutBound> = LazyLock::new(|| {
    let edges = vec![(0, 2, 2), (2, 4, 2), (1, 4, 2), (1, 3, 2), (0, 3, 2)];
    let graph = ModeGraph::new(5, 0, edges);
    let mut rng = rng::stream(1, b"a tensor for bounds");
    let cores = (0..5).map(|v| {
        let dims = graph.core_dims(v, &DIMS);
        let n = dims.iter().product();
        Tensor::new(dims, (0..n).map(|_| rng.random::<f64>() - 0.5).collect()).unwrap()
    });
    let target = Target::new(contract(&graph, &DIMS, &cores.collect::<Vec<_>>())).unwrap();
    CutBound::new(Spectra::new(&target, SpectraSettings::default()))
});

/// A strategy with so little to do that its search is short, by its description.
pub(super) fn short(
    description: &Description,
    objective: Objective,
    seed: u64,
) -> Box<dyn Strategy> {
    const LESS: [(&str, usize); 5] =
        [("iterations", 4), ("samples", 12), ("generations", 4), ("population", 15), ("nodes", 60)];
    let mut spec = StrategySpec::new(description.name);
    for (option, value) in LESS {
        if description.options.iter().any(|o| o.name == option) {
            spec = spec.set(option, value);
        }
    }
    let template = Arc::new(Template::ring(5).unwrap());
    let (objective, max_rank) = (objective.check().unwrap(), max_rank(description));
    let relaxation =
        |bound: &CutBound| Relaxation::new(template.clone(), objective, bound, max_rank);
    let context = Context {
        template: &template,
        dims: &DIMS,
        objective,
        bound: Some(&BOUND),
        starts: None,
        widest_rank: max_rank,
        entries: DIMS.iter().product(),
        stop: &Stop::new(),
        relaxation: &relaxation,
    };
    // Nothing to walk from.
    let plan = PlanFor { max_rank, walks: false };
    spec.check(plan).unwrap().strategy(&context, seed).unwrap()
}

/// Every strategy with every objective.
pub(super) fn all() -> impl Iterator<Item = (&'static Description, Objective)> {
    all_strategies().into_iter().flat_map(|d| OBJECTIVES.map(|o| (d, o)))
}

fn search(
    (description, objective): (&Description, Objective),
    executor: &mut Local,
    records: Vec<Evaluation>,
    more: &mut Vec<Evaluation>,
) -> SearchResult {
    let engine = engine(objective)
        .runs(5, 2, |seed| short(description, objective, seed))
        .resume(records)
        .listen(more);
    timeless(engine.run(executor).unwrap())
}

#[test]
fn workers_and_interruptions_change_nothing() {
    let slow = Arc::new(Formula::slow());
    let (mut one, mut three) = (workers(&slow, 1), workers(&slow, 3));
    let mut quick = workers(&Arc::default(), 2);
    for case in all() {
        let name = case.0.name;
        let mut records = Vec::new();
        let whole = search(case, &mut one, vec![], &mut records);
        match case.0.bounds {
            Bounds::Optional => assert_eq!(whole.strategy, name),
            // The part of it that was at work in the end.
            _ => assert!(
                ["exact", "tnls", "trees", "walk", "greedy", "rings", "nearby"]
                    .contains(&whole.strategy.as_str()),
                "{name}"
            ),
        }
        assert_eq!(whole.stopped_by, StoppedBy::Finished);
        assert_eq!(records.len() as u64, whole.counts.evaluations);
        // With bounds, the first structure fitted may be proven to be the best.
        let least = if case.0.bounds == Bounds::Optional { 10 } else { 1 };
        assert!(whole.best.is_some() && records.len() > least, "{name}: {}", records.len());
        assert_eq!(search(case, &mut three, vec![], &mut vec![]), whole, "{name}");
        // What a kill leaves on record: every prefix, in steps.
        for n in (0..=records.len()).step_by(1 + records.len() / 12) {
            let mut more = Vec::new();
            let resumed = search(case, &mut quick, records[..n].to_vec(), &mut more);
            assert_eq!(resumed, whole, "{name} {:?} after {n}", case.1);
            assert_eq!(more.len(), records.len() - n, "only what was missing is fitted");
        }
    }
}

#[test]
fn proposals_keep_to_the_space_that_was_asked_for() {
    for description in all_strategies() {
        let (name, most) = (description.name, max_rank(description));
        let mut s = short(description, Objective::MaxError(1e-3), 3);
        let mut ended = false;
        // More asks than any of them needs.
        for _ in 0..10_000 {
            let ask = s.ask();
            ended = ask == Ask::Done;
            if ended {
                break;
            }
            let asked = ask.structures();
            for structure in asked {
                let any_rank = matches!(description.graphs, Graphs::Trees | Graphs::Formats);
                let within = structure.ranks().iter().all(|r| (1..=most).contains(r));
                assert!(within || any_rank, "{name}");
                let expected: &[&str] = match description.graphs {
                    Graphs::All => &["complete"],
                    Graphs::Template => &["ring"],
                    Graphs::Trees => &["any-tree"],
                    Graphs::Formats => &["any-tree", "cp", "ring", "any"],
                };
                assert!(expected.contains(&structure.template().name()), "{name}");
            }
            // Losses that depend on the structure alone.
            let outcome = |structure: &Structure| {
                let params = structure.params(&DIMS);
                let mut rng = rng::stream(1, &structure.canonical().graph.to_bytes());
                let error = rng.random_range(0.5..1.0) / params as f64;
                let loss = 200.0 * error;
                Outcome { loss, error: Some(error), params, source: Source::Evaluated }
            };
            s.tell(&asked.iter().map(outcome).collect::<Vec<_>>());
        }
        assert!(ended && s.ask() == Ask::Done, "{name} ends");
    }
}

/// A copy goes on as the original would, and leaves it alone.
#[test]
fn a_copy_of_a_strategy_is_the_same_strategy() {
    let told = |ask: &Ask| -> Vec<Outcome> {
        let loss = |s: &Structure| s.phi(&DIMS) + 1.0 / s.ranks()[0] as f64;
        ask.structures().iter().map(|s| testing::told(loss(s))).collect()
    };
    let mut copied = 0;
    for (description, objective) in all() {
        let mut alone = short(description, objective, 9);
        let mut s = short(description, objective, 9);
        for _ in 0..40 {
            let mut copy = s.fork();
            copied += usize::from(copy.is_some());
            let (ask, expected) = (s.ask(), alone.ask());
            assert_eq!(ask, expected, "{}: disturbed by its copy", description.name);
            if let Some(copy) = &mut copy {
                assert_eq!(copy.ask(), ask, "{}", description.name);
                // Told something else, in the middle of the original's generation.
                let worse = |o: &Outcome| Outcome { loss: 9.0 - o.loss, ..*o };
                copy.tell(&told(&ask).iter().map(worse).collect::<Vec<_>>());
                copy.ask();
            }
            if ask == Ask::Done {
                break;
            }
            s.tell(&told(&ask));
            alone.tell(&told(&ask));
        }
    }
    assert!(copied > 100, "{copied}");
}

#[test]
fn what_costs_too_much_is_refused() {
    let told = Told::default();
    let complete = Arc::new(Template::complete(5).unwrap());
    let make = |rank| Structure::identity(complete.clone(), vec![rank; 10]).unwrap();
    let graph = make(2).canonical().graph;
    let cost = crate::fit::sweep_cost(&graph, &DIMS);
    let result = engine(Objective::Lambda(20.0))
        .runs(1, 1, |_| Script(vec![vec![make(2), make(3)]], told.clone()))
        // A little more than rank 2 costs; rank 3 costs much more.
        .max_cost(Some(1.01 * cost / 216.0))
        .run(&mut workers(&Arc::default(), 2))
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
