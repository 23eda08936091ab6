//! Fits of tensors generated from every template, with the true structure, reach RSE < 1e-8: always for
//! trees and longer rings, nearly always where short cycles make swamps.

use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_distr::{Distribution, StandardNormal};
use std::sync::Arc;
use tnsearch::fit::{FitSettings, Request, Run, fit};
use tnsearch::graph::{Structure, Template};
use tnsearch::network::contract;
use tnsearch::problem::Target;
use tnsearch::rng::stream;
use tnsearch::tensor::Tensor;

/// A tensor of a random structure of the template: dimension 3, ranks 1 to 4, cores N(0, 1).
fn hidden(template: &Arc<Template>, seed: u64) -> (Structure, Target) {
    let mut rng = stream(seed, b"hidden");
    let mut permutation = template.external_vertices();
    permutation.shuffle(&mut rng);
    let ranks = template.edges().iter().map(|_| rng.random_range(1..=4usize)).collect();
    let structure = Structure::new(template.clone(), permutation, ranks).unwrap();
    let graph = structure.canonical().graph;
    let dims = vec![3; graph.modes()];
    let cores: Vec<Tensor> = (0..graph.vertices())
        .map(|v| {
            let shape = graph.core_dims(v, &dims);
            let n = shape.iter().product();
            Tensor::new(shape, (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()).unwrap()
        })
        .collect();
    let target = Target::new(contract(&graph, &dims, &cores)).unwrap();
    (structure, target)
}

/// Fits ten hidden tensors with their true structure; at least so many must come out exact.
fn recovers(template: Template, at_least: usize) {
    let template = Arc::new(template);
    let settings = FitSettings::default().with(|s| s.rescue = 8).check().unwrap();
    let errors: Vec<f64> = (0..10)
        .map(|seed| {
            let (structure, target) = hidden(&template, seed);
            let graph = structure.canonical().graph;
            let request = Request::new(graph.clone(), settings.clone(), seed);
            fit(&target, &request, &Run::default()).unwrap().error
        })
        .collect();
    let exact = errors.iter().filter(|&&rse| rse < 1e-8).count();
    assert!(exact >= at_least, "{}: {exact} of 10, RSE {errors:?}", template.name());
}

#[test]
fn path_8() {
    recovers(Template::path(8).unwrap(), 10);
}

#[test]
fn ring_8() {
    recovers(Template::ring(8).unwrap(), 10);
}

#[test]
fn star_5() {
    recovers(Template::star(5).unwrap(), 10);
}

#[test]
fn tree_7() {
    recovers(Template::tree(7).unwrap(), 10);
}

#[test]
fn complete_4() {
    recovers(Template::complete(4).unwrap(), 9);
}

#[test]
fn peps_2x3() {
    recovers(Template::peps(2, 3).unwrap(), 9);
}

#[test]
fn ht_6() {
    recovers(Template::ht(6).unwrap(), 10);
}

#[test]
fn mera_8() {
    recovers(Template::mera(8).unwrap(), 8);
}

#[test]
fn a_graph_with_an_internal_vertex() {
    // A triangle of modes 0, 1, 2 with mode 3 and all of them joined to a vertex without a mode.
    let edges = vec![(0, 1), (1, 2), (0, 2), (0, 4), (1, 4), (2, 4), (3, 4)];
    recovers(Template::from_graph("kite", vec![true, true, true, true, false], edges).unwrap(), 9);
}
