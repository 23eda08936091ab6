//! Automorphism groups against brute force: on every graph up to 7 vertices, on every connected graph up to 8,
//! and on large graphs whose groups are known.

mod census;

use census::{brute_force, coloured, count_by_backtracking};
use num_bigint::BigUint;
use std::collections::HashSet;
use tnsearch::geometry::{ColouredGraph, Internal, connected_graphs, factorial, graphs};
use tnsearch::graph::Template;

/// The order, the members, the generators, the orbits and the enumeration of a group, all against brute force.
fn check(graph: &ColouredGraph) {
    let all = brute_force(graph);
    let group = graph.automorphisms().unwrap();
    assert_eq!(*group.order(), BigUint::from(all.len()), "{graph:?}");
    let elements: HashSet<Vec<usize>> = group.elements(10_000).unwrap().collect();
    assert_eq!(elements, all.iter().cloned().collect(), "{graph:?}");
    assert!(group.generators().all(|p| all.iter().any(|q| q == p)));
    // Each generator at least doubles the group.
    assert!(1usize << group.generators().count() <= all.len());
    for v in 0..graph.vertices() {
        assert_eq!(Some(group.orbits()[v]), all.iter().map(|p| p[v]).min());
    }
}

#[test]
fn every_graph_up_to_7_vertices() {
    let mut found = Vec::new();
    for n in 1..=7 {
        let all = graphs(n).unwrap();
        found.push(all.len());
        for edges in &all {
            check(&coloured(vec![0; n], edges));
        }
    }
    // The number of graphs on n vertices (OEIS A000088).
    assert_eq!(found, [1, 2, 4, 11, 34, 156, 1044]);
}

#[test]
fn every_graph_up_to_6_vertices_with_two_colours() {
    for n in 1..=6 {
        for edges in graphs(n).unwrap() {
            for inside in 0u32..1 << n {
                let internal: Vec<bool> = (0..n).map(|v| inside >> v & 1 == 1).collect();
                check(&coloured(internal.iter().map(|&i| usize::from(i)).collect(), &edges));
                let own = |(v, &i): (usize, &bool)| if i { 1 + v } else { 0 };
                check(&coloured(internal.iter().enumerate().map(own).collect(), &edges));
            }
        }
    }
}

#[test]
fn labels_of_edges_are_kept() {
    // Every way of labelling the edges of the graphs on 5 vertices with two labels.
    for edges in graphs(5).unwrap() {
        for labels in 0usize..1 << edges.len() {
            let labelled: Vec<_> =
                edges.iter().enumerate().map(|(e, &(u, v))| (u, v, labels >> e & 1)).collect();
            check(&ColouredGraph::new(vec![0; 5], &labelled).unwrap());
        }
    }
}

/// Must show 2: all 12,113 of them, and the sum of n!/|Aut| is the number of labelled connected graphs.
#[test]
fn every_connected_graph_up_to_8_vertices() {
    // OEIS A001349 and A001187.
    let kinds = [1, 1, 2, 6, 21, 112, 853, 11_117];
    let labelled = [1u64, 1, 4, 38, 728, 26_704, 1_866_256, 251_548_592];
    let mut total = 0;
    for n in 1..=8 {
        let all = connected_graphs(n).unwrap();
        assert_eq!(all.len(), kinds[n - 1]);
        total += all.len();
        let mut sum = BigUint::ZERO;
        for edges in &all {
            let group = coloured(vec![0; n], edges).automorphisms().unwrap();
            assert_eq!(*group.order(), count_by_backtracking(n, edges).into(), "{edges:?}");
            sum += factorial(n) / group.order();
        }
        assert_eq!(sum, labelled[n - 1].into());
    }
    assert_eq!(total, 12_113);
    assert!(connected_graphs(0).unwrap().is_empty());
    assert!(connected_graphs(10).unwrap_err().to_string().contains("up to 9"));
}

fn order(n: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> BigUint {
    let edges: Vec<_> = edges.into_iter().collect();
    coloured(vec![0; n], &edges).automorphisms().unwrap().order().clone()
}

#[test]
fn large_graphs_with_known_groups() {
    let two = BigUint::from(2u32);
    assert_eq!(order(700, (1..700).map(|v| (v - 1, v))), two);
    assert_eq!(order(700, (0..700).map(|v| (v, (v + 1) % 700))), 1400u32.into());
    assert_eq!(order(300, (1..300).map(|v| (0, v))), factorial(299));
    assert_eq!(order(90, (0..90).flat_map(|u| (0..u).map(move |v| (u, v)))), factorial(90));
    // The complete binary tree of depth 8: each of the 255 inner vertices can swap its halves.
    assert_eq!(order(511, (1..511).map(|v| ((v - 1) / 2, v))), two.pow(255));
    let lattice = |rows: usize, cols: usize| {
        let at = move |r: usize, c: usize| r * cols + c;
        let across = (0..rows).flat_map(move |r| (1..cols).map(move |c| (at(r, c - 1), at(r, c))));
        let down = (1..rows).flat_map(move |r| (0..cols).map(move |c| (at(r - 1, c), at(r, c))));
        order(rows * cols, across.chain(down))
    };
    assert_eq!((lattice(20, 20), lattice(15, 30)), (8u32.into(), 4u32.into()));
    // 100 separate triangles: each in 6 ways, and in any order. No edges at all.
    let triangles =
        (0..100).flat_map(|t| [(0, 1), (1, 2), (0, 2)].map(|(u, v)| (3 * t + u, 3 * t + v)));
    assert_eq!(order(300, triangles), BigUint::from(6u32).pow(100) * factorial(100));
    assert_eq!(order(200, []), factorial(200));
    assert_eq!(order(0, []), 1u32.into());
    // Two triangles and a hexagon: all vertices look alike to refinement.
    let hexagon = (0..6).map(|v| (6 + v, 6 + (v + 1) % 6));
    let both = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)].into_iter().chain(hexagon);
    assert_eq!(order(12, both), (72u32 * 12).into());
    // Petersen's graph, the 6-cube and the 4 x 4 rook's graph against its twin, Shrikhande's.
    let petersen = (0..5).flat_map(|v| [(v, (v + 1) % 5), (v, v + 5), (5 + v, 5 + (v + 2) % 5)]);
    assert_eq!(order(10, petersen), 120u32.into());
    let cube =
        (0..64usize).flat_map(|v| (0..6).map(move |b| (v, v ^ 1 << b))).filter(|e| e.0 < e.1);
    assert_eq!(order(64, cube), (64u32 * 720).into());
    let pairs = || (0..16usize).flat_map(|u| (0..u).map(move |v| (u, v)));
    let rook = pairs().filter(|&(u, v)| u / 4 == v / 4 || u % 4 == v % 4);
    assert_eq!(order(16, rook), 1152u32.into());
    let steps = [(0, 1), (1, 0), (1, 1), (0, 3), (3, 0), (3, 3)];
    let apart = |u: usize, v: usize| ((4 + u / 4 - v / 4) % 4, (4 + u % 4 - v % 4) % 4);
    let shrikhande = pairs().filter(|&(u, v)| steps.contains(&apart(u, v)));
    assert_eq!(order(16, shrikhande), 192u32.into());
}

#[test]
fn templates_with_internal_vertices() {
    let orders = |template: &Template| {
        [Internal::Free, Internal::Fixed].map(|internal| {
            let group = ColouredGraph::of_template(template, internal).automorphisms().unwrap();
            group.order().to_string()
        })
    };
    // HT of 8 modes: 7 inner vertices can swap their halves, 4 of them only leaves.
    assert_eq!(orders(&Template::ht(8).unwrap()), ["128", "16"]);
    assert_eq!(orders(&Template::ht(2).unwrap()), ["2", "2"]);
    // MERA of 8 modes: the picture can be turned over, and the modes of a disentangler swapped.
    assert_eq!(orders(&Template::mera(8).unwrap()), ["16", "8"]);
    assert_eq!(orders(&Template::ring(6).unwrap()), ["12", "12"]);
}

#[test]
fn what_is_too_large_is_refused() {
    let path = |n: usize| (1..n).map(|v| (v - 1, v)).collect::<Vec<_>>();
    let error = coloured(vec![0; 3000], &path(3000)).automorphisms().unwrap_err().to_string();
    assert_eq!(error, "the graph has 3000 vertices; symmetries are looked for up to 2048");
    let star: Vec<_> = (1..30).map(|v| (0, v)).collect();
    let group = coloured(vec![0; 30], &star).automorphisms().unwrap();
    let error = group.elements(1000).unwrap_err().to_string();
    assert_eq!(error, "symmetries: there are 10^30.9, and at most 1000 are gone through");
}
