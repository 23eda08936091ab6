//! Searches over all trees, on tensors that a random tree was hidden in and on tensors without any structure.

mod hidden;

use hidden::{Hidden, cases};
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_distr::{Distribution, StandardNormal};
use tnsearch::Search;
use tnsearch::bound::{Spectra, SpectraSettings, TreeBound};
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::rng::{Rng, stream};
use tnsearch::search::{SearchError, SearchResult, StrategySpec};
use tnsearch::tensor::Tensor;

/// A tree of any topology, some vertices with two modes, some with none.
fn random_tree(dims: &[usize], rng: &mut Rng) -> Structure {
    let mut modes: Vec<usize> = (0..dims.len()).collect();
    modes.shuffle(rng);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    while !modes.is_empty() {
        let count = if rng.random_bool(0.25) { 2.min(modes.len()) } else { 1 };
        groups.push(modes.split_off(modes.len() - count));
    }
    let internal = rng.random_range(0..2usize);
    groups.resize(groups.len() + internal, Vec::new());
    groups.shuffle(rng);
    let join = |v: usize, rng: &mut Rng| (rng.random_range(0..v), v, rng.random_range(2..4usize));
    let edges: Vec<_> = (1..groups.len()).map(|v| join(v, rng)).collect();
    let degree = |v: usize| edges.iter().filter(|e| e.0 == v || e.1 == v).count();
    let useful = (0..groups.len()).all(|v| !groups[v].is_empty() || degree(v) >= 3);
    match Structure::from_groups("graph", &groups, &edges) {
        Ok(tree) if useful => tree,
        _ => random_tree(dims, rng),
    }
}

fn search(target: &Target, objective: Objective) -> SearchResult {
    let order = target.dims().len();
    let search = Search::new(target).template(Template::any_tree(order).unwrap());
    search.objective(objective).seed(1).run().unwrap()
}

fn bound(target: &Target, objective: Objective) -> f64 {
    let spectra = Spectra::new(target, SpectraSettings::default());
    TreeBound::new(&spectra, &Stop::new()).value(objective).unwrap()
}

#[test]
fn hidden_trees_are_found_and_mostly_proven() {
    let (mut proven, mut all) = (0, 0);
    for seed in 0..cases(8) {
        let mut rng = stream(seed, b"hidden trees");
        let order = 5 + (seed % 3) as usize;
        let dims: Vec<usize> = (0..order).map(|_| rng.random_range(2..5usize)).collect();
        let structure = random_tree(&dims, &mut rng);
        let hidden = Hidden::new(structure, &dims, 1.0, 1e-2, &mut rng);
        let objective = Objective::MaxError(1.05 * hidden.rse);
        let found = search(&hidden.target, objective);
        let best = found.best.as_ref().unwrap();
        let made = hidden.structure.params(&dims);
        assert!(
            found.target_reached && best.score.params <= made,
            "{seed}: {} {made}",
            best.score.params
        );
        let least = bound(&hidden.target, objective) as u128;
        assert!(least <= best.score.params, "{seed}");
        assert_eq!(found.lower_bound.unwrap().params, Some(least), "{seed}");
        assert_eq!(found.certified_optimal, least == best.score.params);
        all += 1;
        proven += u64::from(found.certified_optimal);
    }
    assert!(4 * proven >= 3 * all, "{proven} of {all}");
}

#[test]
fn every_objective_keeps_to_its_bound_and_comes_near() {
    let mut rng = stream(5, b"objectives");
    let dims = [3, 4, 2, 3, 2];
    let structure = random_tree(&dims, &mut rng);
    let target = Hidden::new(structure, &dims, 0.3, 0.1, &mut rng).target;
    for objective in [
        Objective::MaxParams(40),
        Objective::MaxParams(25),
        Objective::Lambda(1.0),
        Objective::Lambda(20.0),
    ] {
        let found = search(&target, objective);
        let best = found.best.as_ref().unwrap();
        let value = objective.value(&best.score).unwrap();
        let least = bound(&target, objective);
        assert!(value >= least * (1.0 - 1e-9), "{objective:?}: {value} {least}");
        assert!(value <= 2.0 * least + 1e-9, "{objective:?}: {value} {least}");
        assert!(found.target_reached);
        let text = format!("{:?}", found.lower_bound.unwrap());
        assert!((found.lower_bound.unwrap().value() - least).abs() <= 1e-9 * least, "{text}");
    }
}

#[test]
fn where_nothing_is_smaller_the_tensor_itself_is_the_proven_answer() {
    let mut rng = stream(6, b"noise");
    let data: Vec<f64> = (0..72).map(|_| StandardNormal.sample(&mut rng)).collect();
    let target = Target::new(Tensor::new(vec![3, 4, 2, 3], data).unwrap()).unwrap();
    let found = search(&target, Objective::MaxError(1e-8));
    let best = found.best.as_ref().unwrap();
    assert_eq!((best.score.params, found.certified_optimal), (72, true));
    assert!(best.score.error < 1e-20);
    assert_eq!(best.structure.template().vertices(), 1);
}

#[test]
fn same_seed_same_answer_at_any_number_of_threads() {
    let mut rng = stream(7, b"threads");
    let dims = [3, 2, 4, 2, 3];
    let structure = random_tree(&dims, &mut rng);
    let target = Hidden::new(structure, &dims, 0.2, 0.05, &mut rng).target;
    let run = |threads| {
        let search =
            Search::new(&target).template(Template::any_tree(5).unwrap()).max_error(2e-3).seed(3);
        let found = search.budget(|b| b.threads = Some(threads)).run().unwrap();
        let best = found.best.unwrap();
        (best.structure, best.fitted.cores, found.counts)
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn only_its_own_strategy_searches_all_trees() {
    let target = Target::new(Tensor::new(vec![2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap()).unwrap();
    let search = Search::new(&target).template(Template::any_tree(2).unwrap());
    let refused = search.strategy(StrategySpec::new("tnls")).run().unwrap_err();
    assert!(matches!(refused, SearchError::Setting(_)));
    assert_eq!(
        refused.to_string(),
        "strategy is 'tnls'; template any-tree is searched by trees (or auto)"
    );
}
