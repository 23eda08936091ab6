//! The examples do what they say.

#[path = "../examples/counts.rs"]
mod counts;
#[path = "../examples/own_executor.rs"]
mod own_executor;
#[path = "../examples/own_loss.rs"]
mod own_loss;
#[path = "../examples/own_strategy.rs"]
mod own_strategy;
#[path = "../examples/positive_rings.rs"]
mod positive_rings;
#[path = "../examples/search_file.rs"]
mod search_file;

use rand::RngExt as _;
use tnsearch::prelude::*;
use tnsearch::problem::KlDivergence;
use tnsearch_io::{output::Output, write_tensor};

/// i + j + k + l.
fn sums() -> Tensor {
    let sum = |n: usize| (n / 64 + n / 16 % 4 + n / 4 % 4 + n % 4) as f64;
    Tensor::new(vec![4; 4], (0..256).map(sum).collect()).unwrap()
}

#[test]
fn a_file_is_searched_and_its_network_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("X.npy");
    write_tensor(&Output::check(&path).unwrap(), &sums().into()).unwrap();
    let (params, error) = search_file::search_file(path.to_str().unwrap(), 1e-8).unwrap();
    // A train of ranks 2 is a ring with one edge of rank 1.
    assert!(params <= 48 && error <= 1e-8, "{params} {error}");
    assert!(dir.path().join("X.npy.safetensors").is_file());
}

#[test]
fn a_strategy_of_ones_own_finds_an_answer() {
    let found = own_strategy::search(&Target::new(sums()).unwrap()).unwrap();
    assert_eq!(found.strategy, "descent");
    assert!(found.target_reached && found.counts.pruned > 0);
    assert!(found.best.unwrap().score.params <= 56);
}

#[test]
fn a_loss_of_ones_own_is_not_misled_by_outliers() {
    let [squared, huber] = own_loss::search().unwrap();
    assert!(huber < 0.5 * squared, "{squared} {huber}");
}

#[test]
fn a_hidden_ring_without_negative_entries_is_found_by_its_divergence() {
    for seed in 0..2 {
        let short = StrategySpec::new("tnls").set("iterations", 12).set("samples", 40);
        let (same, said) = positive_rings::found(seed, short).unwrap();
        assert!(same, "ring {seed}: {said}");
    }
}

#[test]
fn counts_are_predicted_better_by_their_deviance() {
    // Few trips here, many there, none at all in between: 8 places, 6 days, 12 hours.
    let mut rng = tnsearch::rng::stream(1, b"counts");
    let busy = |n: usize, k: usize| (3.0 * (n as f64 * 0.7 + k as f64).sin()).exp();
    let mean =
        |k: usize| 0.3 * busy(k / 72, 0) * busy(k / 12 % 6, 1).sqrt() * busy(k % 12, 2).sqrt();
    let mut poisson = |mean: f64| {
        let (mut count, mut left) = (0.0, rng.random::<f64>());
        while left >= (-mean.min(500.0)).exp() {
            left *= rng.random::<f64>();
            count += 1.0;
        }
        count
    };
    let x = Tensor::new(vec![8, 6, 12], (0..576).map(|k| poisson(mean(k))).collect()).unwrap();
    for block in [None, Some(2)] {
        let known = counts::mask(x.dims(), 0.3, block, 1).unwrap();
        assert!((0.1..0.5).contains(&(1.0 - known.count() as f64 / 576.0)));
        let [squares, deviance] = counts::compare(&x, &known, 2).unwrap();
        assert!(deviance.deviance < squares.deviance, "{squares:?} {deviance:?}");
    }
}

#[test]
fn without_bounds_any_graph_is_grown() {
    let x = Target::new(sums()).unwrap();
    let search =
        Search::new(&x).template(Template::formats(4).unwrap()).loss(KlDivergence).max_error(1e-3);
    let found = search.seed(1).run().unwrap();
    assert_eq!((found.strategy.as_str(), found.measure.name.as_ref()), ("greedy", "KL"));
    assert!(found.target_reached && found.lower_bound.is_none() && found.counts.pruned == 0);
    for (template, strategy) in [("ring", "exact"), ("any-tree", "auto"), ("ring", "walk")] {
        let search =
            Search::new(&x).template(Template::parse(template, 4).unwrap()).loss(KlDivergence);
        let refused = search.strategy(StrategySpec::new(strategy)).run().err().unwrap().to_string();
        assert!(refused.contains("squared error"), "{refused}");
    }
}

#[test]
fn an_executor_of_ones_own_gives_the_same_answer() {
    let [here, there] = own_executor::search(&Target::new(sums()).unwrap()).unwrap();
    assert_eq!((here.counts, &here.runs), (there.counts, &there.runs));
    let (here, there) = (here.best.unwrap(), there.best.unwrap());
    assert_eq!((here.fitted, here.structure), (there.fitted, there.structure));
}
