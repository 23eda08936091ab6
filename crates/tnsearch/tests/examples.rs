//! The examples do what they say.

#[path = "../examples/own_executor.rs"]
mod own_executor;
#[path = "../examples/own_loss.rs"]
mod own_loss;
#[path = "../examples/own_strategy.rs"]
mod own_strategy;
#[path = "../examples/search_file.rs"]
mod search_file;

use tnsearch::problem::Target;
use tnsearch::tensor::Tensor;
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
fn an_executor_of_ones_own_gives_the_same_answer() {
    let [here, there] = own_executor::search(&Target::new(sums()).unwrap()).unwrap();
    assert_eq!((here.counts, &here.runs), (there.counts, &there.runs));
    let (here, there) = (here.best.unwrap(), there.best.unwrap());
    assert_eq!((here.fitted, here.structure), (there.fitted, there.structure));
}
