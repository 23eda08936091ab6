//! Tensors with a known structure, for the tests of bounds and of exact search.
#![allow(dead_code, reason = "each test binary uses its part")]

use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_distr::{Distribution, StandardNormal};
use std::collections::HashSet;
use std::sync::Arc;
use tnsearch::graph::{ModeGraph, Structure, Template};
use tnsearch::network::contract;
use tnsearch::problem::Target;
use tnsearch::rng::Rng;
use tnsearch::tensor::{AnyTensor, Tensor};

/// How many cases to run: what TNSEARCH_CASES says, or so many.
pub fn cases(default: u64) -> u64 {
    match std::env::var("TNSEARCH_CASES") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("TNSEARCH_CASES is '{text}'")),
        Err(_) => default,
    }
}

/// A graph with an internal vertex and a cycle through it, as a user would write it.
pub fn json_graph(order: usize) -> Template {
    let edges = match order {
        3 => "[[0,3],[1,3],[2,3],[0,1]]",
        4 => "[[0,1],[1,2],[0,2],[0,4],[1,4],[2,4],[3,4]]",
        5 => "[[0,1],[0,5],[1,5],[2,5],[3,5],[3,4]]",
        _ => panic!("no graph of order {order}"),
    };
    let mode = r#"{"mode":true},"#.repeat(order);
    let text = format!(r#"{{"vertices":[{mode}{{"mode":false}}],"edges":{edges}}}"#);
    Template::from_json("mine", &text).unwrap()
}

/// A tensor of a structure, with noise.
pub struct Hidden {
    pub structure: Structure,
    pub graph: ModeGraph,
    /// One core per vertex of the graph.
    pub cores: Vec<Tensor>,
    pub target: Target,
    /// The RSE of these cores: what the noise takes away.
    pub rse: f64,
}

/// A random structure.
pub fn structure(template: &Arc<Template>, max_rank: usize, rng: &mut Rng) -> Structure {
    let mut permutation = template.external_vertices();
    permutation.shuffle(rng);
    let ranks = template.edges().iter().map(|_| rng.random_range(1..=max_rank)).collect();
    Structure::new(template.clone(), permutation, ranks).unwrap()
}

fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

impl Hidden {
    /// Cores N(0, 1); on every edge the last component is `weak` times as large. The noise is relative.
    pub fn new(
        structure: Structure,
        dims: &[usize],
        weak: f64,
        noise: f64,
        rng: &mut Rng,
    ) -> Hidden {
        let graph = structure.canonical().graph;
        let core = |v: usize, rng: &mut Rng| {
            let shape = graph.core_dims(v, dims);
            let n = shape.iter().product();
            Tensor::new(shape, (0..n).map(|_| normal(rng)).collect()).unwrap()
        };
        let mut cores: Vec<Tensor> = (0..graph.vertices()).map(|v| core(v, rng)).collect();
        for (e, &(u, _, rank)) in graph.edges().iter().enumerate() {
            let axis = graph.incident(u).position(|k| k == e).unwrap();
            scale(&mut cores[u], axis, rank - 1, weak);
        }
        let clean = contract(&graph, dims, &cores);
        let level = noise * (clean.norm_squared() / clean.len() as f64).sqrt();
        let mut x = clean.clone();
        x.data_mut().iter_mut().for_each(|x| *x += level * normal(rng));
        let lost: f64 = x.data().iter().zip(clean.data()).map(|(a, b)| (a - b).powi(2)).sum();
        let rse = lost / x.norm_squared();
        Hidden { structure, graph, cores, target: Target::new(x).unwrap(), rse }
    }

    /// The cores as a fit takes them.
    pub fn erased(&self) -> Vec<AnyTensor> {
        self.cores.iter().cloned().map(AnyTensor::from).collect()
    }

    /// The structure with one rank less on an edge of rank 3 or more, and the cores without that
    /// component; none where there is no such edge.
    pub fn narrowed(&self, rng: &mut Rng) -> Option<(ModeGraph, Vec<Tensor>)> {
        let edges = self.graph.edges();
        let wide: Vec<usize> = (0..edges.len()).filter(|&e| edges[e].2 > 2).collect();
        let e = *wide.get(rng.random_range(0..wide.len().max(1)))?;
        let (u, v, rank) = edges[e];
        let mut fewer = edges.to_vec();
        fewer[e].2 = rank - 1;
        let mut cores = self.cores.clone();
        for w in [u, v] {
            let axis = self.graph.incident(w).position(|k| k == e).unwrap();
            cores[w] = without_last(&cores[w], axis);
        }
        Some((ModeGraph::new(self.graph.modes(), self.graph.internal(), fewer), cores))
    }
}

/// The stride of an axis and its length.
fn along(core: &Tensor, axis: usize) -> (usize, usize) {
    (core.dims()[axis + 1..].iter().product(), core.dims()[axis])
}

fn scale(core: &mut Tensor, axis: usize, index: usize, factor: f64) {
    let (stride, length) = along(core, axis);
    for (k, x) in core.data_mut().iter_mut().enumerate() {
        if k / stride % length == index {
            *x *= factor;
        }
    }
}

fn without_last(core: &Tensor, axis: usize) -> Tensor {
    let (stride, length) = along(core, axis);
    let mut dims = core.dims().to_vec();
    dims[axis] -= 1;
    let entries = core.data().iter().enumerate();
    let kept = entries.filter(|(k, _)| k / stride % length != length - 1).map(|(_, &x)| x);
    Tensor::new(dims, kept.collect()).unwrap()
}

/// A structure among all.
pub struct Entry {
    pub graph: ModeGraph,
    pub params: u128,
}

/// Every structure of a template with ranks up to `max_rank`, once each, by params: all permutations,
/// all ranks, equal graphs dropped.
pub fn every_structure(template: &Arc<Template>, max_rank: usize, dims: &[usize]) -> Vec<Entry> {
    let mut all = Vec::new();
    let mut seen = HashSet::new();
    let edges = template.edges().len();
    let mut permutation = template.external_vertices();
    permutations(&mut permutation, 0, &mut |permutation| {
        for code in 0..max_rank.pow(edges as u32) {
            let ranks = (0..edges).map(|e| 1 + code / max_rank.pow(e as u32) % max_rank).collect();
            let structure = Structure::new(template.clone(), permutation.to_vec(), ranks).unwrap();
            let graph = structure.canonical().graph;
            if seen.insert(graph.clone()) {
                all.push(Entry { graph, params: structure.params(dims) });
            }
        }
    });
    all.sort_by_key(|entry| entry.params);
    all
}

fn permutations(p: &mut [usize], from: usize, visit: &mut impl FnMut(&[usize])) {
    if from == p.len() {
        return visit(p);
    }
    for k in from..p.len() {
        p.swap(from, k);
        permutations(p, from + 1, visit);
        p.swap(from, k);
    }
}
