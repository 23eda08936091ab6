//! The example of a strategy outside the crate is short and works.

#[path = "../examples/own_strategy.rs"]
#[expect(dead_code, reason = "an example's main is not called")]
mod own_strategy;

use std::sync::Arc;
use tnsearch::fit::Target;
use tnsearch::graph::Template;
use tnsearch_lab::Synthetic;

#[test]
fn plugs_into_the_runner() {
    let ring = Arc::new(Template::ring(5).unwrap());
    let hidden = Synthetic::new(ring, vec![3; 5], (2, 2)).generate(1).unwrap();
    let params = hidden.structure().params(&[3; 5]);
    let found = own_strategy::search(&Target::new(hidden.tensor).unwrap()).unwrap();
    let best = found.best.unwrap();
    assert!(found.target_reached && best.score.params <= params, "{:?}", best.score);
    assert_eq!(found.strategy, "descent");
    assert!(found.counts.cached > 0 && found.counts.evaluations > 0);
    let lines = include_str!("../examples/own_strategy.rs").lines().count();
    assert!(lines < 60, "{lines} lines");
}
