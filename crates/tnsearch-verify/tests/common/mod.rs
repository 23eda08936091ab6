//! What the tests of certificates share: tensors, all structures of small graphs, and documents as files have them.
#![allow(dead_code, reason = "each test file uses a part")]

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng as StdRng;
use rand_distr::{Distribution as _, StandardNormal};
use serde_json::{Value, json};
use std::sync::Arc;
use tnsearch::bound::CutBound;
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::Target;
use tnsearch::tensor::Tensor;
use tnsearch_verify::{Array, Certificate, Limits, fingerprint};

pub const MAX_RANK: usize = 3;

/// A tensor with large and small parts: widths of all sizes.
pub fn tensor(dims: &[usize], seed: u64) -> (Target, Array) {
    let mut rng = StdRng::seed_from_u64(seed);
    let entries = dims.iter().product();
    let scales: Vec<Vec<f64>> = dims
        .iter()
        .map(|&d| (0..d).map(|i| 0.6f64.powi(i as i32 * rng.random_range(1..3))).collect())
        .collect();
    let data: Vec<f64> = (0..entries)
        .map(|mut k: usize| {
            let mut scale = 1.0;
            for (d, s) in dims.iter().zip(&scales).rev() {
                scale *= s[k % d];
                k /= d;
            }
            let x: f64 = StandardNormal.sample(&mut rng);
            scale * x
        })
        .collect();
    let array = Array::real(dims.to_vec(), data.clone()).unwrap();
    (Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap(), array)
}

/// Named graphs, and one of its own with vertices that carry no mode.
pub fn templates(order: usize) -> Vec<Template> {
    let mut all: Vec<Template> = ["path", "ring", "star", "tree", "tucker", "ht", "complete"]
        .iter()
        .map(|name| Template::parse(name, order).unwrap())
        .collect();
    let external: Vec<bool> = (0..order + 2).map(|v| v < order).collect();
    let mut edges: Vec<(usize, usize)> = (0..order).map(|v| (v, order + v % 2)).collect();
    edges.push((order, order + 1));
    edges.push((0, 1));
    all.push(Template::from_graph("own", external, edges).unwrap());
    all
}

pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    if n == 0 {
        return vec![Vec::new()];
    }
    let shorter = permutations(n - 1);
    let put = |p: &Vec<usize>| {
        let p = p.clone();
        (0..n).map(move |at| [&p[..at], &[n - 1], &p[at..]].concat()).collect::<Vec<_>>()
    };
    shorter.iter().flat_map(put).collect()
}

/// The parameters of all structures, and the errors that their cuts leave.
pub fn all(template: &Arc<Template>, bound: &CutBound, dims: &[usize]) -> Vec<(u128, f64)> {
    let (external, edges) = (template.external_vertices(), template.edges().len());
    let mut found = Vec::new();
    for p in permutations(external.len()) {
        let permutation: Vec<usize> = p.iter().map(|&k| external[k]).collect();
        for code in 0..MAX_RANK.pow(edges as u32) {
            let ranks = (0..edges).map(|e| code / MAX_RANK.pow(e as u32) % MAX_RANK + 1).collect();
            let s = Structure::new(template.clone(), permutation.clone(), ranks).unwrap();
            found.push((s.params(dims), bound.rse(&s.canonical().graph, f64::INFINITY)));
        }
    }
    found
}

/// The fewest parameters of a structure that no cut rules out.
pub fn least_of(all: &[(u128, f64)], eps: f64) -> Option<u128> {
    all.iter().filter(|(_, rse)| *rse <= eps).map(|(params, _)| *params).min()
}

/// The same, by trying all.
pub fn brute(template: &Arc<Template>, bound: &CutBound, dims: &[usize], eps: f64) -> Option<u128> {
    least_of(&all(template, bound, dims), eps)
}

pub fn document(made: &tnsearch::certificate::Certificate, x: &Array) -> Value {
    let mut document = serde_json::to_value(made).unwrap();
    let norm = x.re.iter().map(|x| x * x).sum::<f64>().sqrt();
    let data =
        json!({"dims": x.dims, "dtype": "f64", "sha256": fingerprint(x, "f64"), "norm": norm});
    let more = json!({"format": "tnsearch-certificate", "version": 1, "tnsearch": "0", "says": "",
                      "data": data, "reshaped": null});
    let fields = document.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    // Of a loss: other fields, and another version.
    if let Some(priced) = fields.remove("priced") {
        ["max_rse", "params"].iter().for_each(|name| drop(fields.remove(*name)));
        fields.extend(priced.as_object().unwrap().clone());
        fields.insert("version".to_owned(), json!(2));
    }
    if fields.contains_key("contracted") {
        fields.insert("version".to_owned(), json!(3));
    }
    document
}

/// Whether a certificate is taken.
pub fn holds(document: &Value, x: &Array) -> bool {
    let limits = Limits { bytes: u64::MAX, stop: &|| false };
    let parsed = Certificate::parse(&document.to_string());
    parsed.is_ok_and(|c| c.check(x, "f64", &limits).unwrap().is_ok_and(|s| s.unchecked.is_empty()))
}

/// Whether its cases are.
pub fn closes(document: &Value) -> bool {
    let limits = Limits { bytes: u64::MAX, stop: &|| false };
    Certificate::parse(&document.to_string()).is_ok_and(|c| c.check_cases(&limits).unwrap().is_ok())
}
