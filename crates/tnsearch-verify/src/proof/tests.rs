use super::*;
use crate::certificate::Vertex;
use serde_json::{Value, json};

/// Two modes on a graph of its own with these edges, the rest of its vertices internal.
fn certificate(vertices: usize, edges: &[[usize; 2]], tree: Value) -> Certificate {
    let vertices: Vec<Value> = (0..vertices).map(|v| json!({"mode": v < 2})).collect();
    let made = json!({
        "format": "tnsearch-certificate", "version": 1, "tnsearch": "0", "says": "", "reshaped": null,
        "data": {"dims": [2, 2], "dtype": "f64", "sha256": "", "norm": 5.0},
        "template": {"vertices": vertices, "edges": edges},
        "max_rank": 900, "max_rse": 0.1, "params": null, "lost": 0.0, "cuts": [], "tree": tree,
    });
    Certificate::parse(&made.to_string()).unwrap()
}

fn said(certificate: &Certificate, stop: &dyn Fn() -> bool) -> String {
    let checked = certificate.check_cases(&Limits { bytes: u64::MAX, stop });
    checked.unwrap().map_or_else(|refused| refused.to_string(), |nodes| nodes.to_string())
}

#[test]
fn graphs_have_a_largest_size() {
    let pairs = (0..33).flat_map(|u| (u + 1..33).map(move |v| [u, v]));
    let pairs: Vec<[usize; 2]> = pairs.collect();
    let of = |vertices: usize, edges: usize| {
        said(&certificate(vertices, &pairs[..edges], json!([])), &|| false).contains("is larger")
    };
    assert_eq!([of(64, 1), of(65, 1), of(33, 512), of(33, 513)], [false, true, false, true]);
}

#[test]
fn a_stop_is_asked_for_every_256_nodes() {
    let tree: Vec<Value> = (0..300).map(|k| json!({"split": [0, 899 - k]})).collect();
    let asked = std::cell::Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        false
    };
    let found = said(&certificate(2, &[[0, 1]], json!(tree)), &stop);
    assert!(found.ends_with("the tree ends, and 301 cases are open"), "{found}");
    assert_eq!(asked.get(), 2);
}

#[test]
fn what_parts_nothing_is_refused() {
    let of = |node: Value| {
        let graph = [[0, 1], [1, 2]];
        said(&certificate(3, &graph, json!([node])), &|| false)
    };
    let nothing = |edge: usize, rank: u64| {
        format!("node 0 of the tree: edge {edge} has nothing to be split at {rank}")
    };
    for (edge, rank) in [(0, 0), (0, 900), (0, 901), (2, 5), (3, 5)] {
        assert_eq!(of(json!({"split": [edge, rank]})), nothing(edge, rank));
    }
    for (edge, rank) in [(0, 1), (1, 899)] {
        assert!(of(json!({"split": [edge, rank]})).ends_with("2 cases are open"));
    }
    assert!(of(json!({"fill": 1})).ends_with("2 cases are open"));
    for vertex in [2, 3] {
        let found = of(json!({ "fill": vertex }));
        assert!(found.ends_with(&format!("vertex {vertex} is not free")), "{found}");
    }
    let twice = json!([{"fill": 1}, {"fill": 1}]);
    let found = said(&certificate(3, &[[0, 1], [1, 2]], twice), &|| false);
    assert!(found.ends_with("vertex 1 is not free"), "{found}");
}

#[test]
fn a_symmetry_keeps_edges_modes_and_ranks() {
    let graph = |modes: &[bool], edges: &[[usize; 2]]| Graph {
        vertices: modes.iter().map(|&mode| Vertex { mode }).collect(),
        edges: edges.to_vec(),
    };
    let ring = graph(&[true; 4], &[[0, 1], [1, 2], [2, 3], [3, 0]]);
    let is = |graph: &Graph, case: &Case, image: &[usize]| {
        let (cuts, alone) = (Vec::new(), vec![1; 4]);
        let dims = &[2, 2, 2, 2];
        Proof { dims, graph, cuts, price: None, alone, goal: None }.is_symmetry(case, image)
    };
    let free = Case { at: vec![None; 4], least: vec![1; 4], most: vec![7; 4] };
    for (image, expected) in [
        (&[0, 1, 2, 3][..], true),
        (&[1, 2, 3, 0], true),
        (&[0, 3, 2, 1], true),
        (&[1, 0, 2, 3], false),
        (&[0, 1, 0, 1], false),
        (&[0, 1, 2], false),
        (&[0, 1, 2, 4], false),
    ] {
        assert_eq!(is(&ring, &free, image), expected, "{image:?}");
    }
    // Modes stay where they are.
    let placed = Case { at: vec![Some(0), None, None, None], ..free.clone() };
    assert!(is(&ring, &placed, &[0, 3, 2, 1]) && !is(&ring, &placed, &[1, 2, 3, 0]));
    let mut ranked = free.clone();
    ranked.least[0] = 2;
    assert!(is(&ring, &ranked, &[1, 0, 3, 2]) && !is(&ring, &ranked, &[1, 2, 3, 0]));
    let mut ranked = free.clone();
    ranked.most[0] = 6;
    assert!(is(&ring, &ranked, &[1, 0, 3, 2]) && !is(&ring, &ranked, &[1, 2, 3, 0]));
    let two = graph(&[true, false], &[[0, 1]]);
    let case = Case { at: vec![None; 1], least: vec![1], most: vec![7] };
    assert!(is(&two, &case, &[0, 1]) && !is(&two, &case, &[1, 0]));
}
