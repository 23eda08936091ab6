//! Brute force for the tests of symmetries.
#![allow(dead_code, reason = "each test file uses a part")]

use tnsearch::geometry::ColouredGraph;

pub fn coloured(colours: Vec<usize>, edges: &[(usize, usize)]) -> ColouredGraph {
    let labelled: Vec<_> = edges.iter().map(|&(u, v)| (u, v, 0)).collect();
    ColouredGraph::new(colours, &labelled).unwrap()
}

/// Every permutation of 0..n.
pub fn permutations(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for k in 0..n {
        let grown = |p: Vec<usize>| {
            (0..=k).map(move |at| {
                let mut q = p.clone();
                q.insert(at, k);
                q
            })
        };
        all = all.into_iter().flat_map(grown).collect();
    }
    all
}

/// All symmetries: every permutation, tried against every pair of vertices.
pub fn brute_force(graph: &ColouredGraph) -> Vec<Vec<usize>> {
    let n = graph.vertices();
    let mut label = vec![vec![None; n]; n];
    for (u, row) in label.iter_mut().enumerate() {
        graph.near(u).iter().for_each(|&(v, l)| row[v] = Some(l));
    }
    let keeps = |p: &Vec<usize>| {
        (0..n).all(|u| {
            graph.colours()[u] == graph.colours()[p[u]]
                && (0..u).all(|v| label[u][v] == label[p[u]][p[v]])
        })
    };
    permutations(n).into_iter().filter(keeps).collect()
}

/// The number of symmetries, by extending partial maps vertex by vertex; no refinement, no group theory.
pub fn count_by_backtracking(n: usize, edges: &[(usize, usize)]) -> u64 {
    let mut joined = vec![0u32; n];
    for &(u, v) in edges {
        joined[u] |= 1 << v;
        joined[v] |= 1 << u;
    }
    fn extend(joined: &[u32], image: &mut Vec<usize>, used: u32) -> u64 {
        let k = image.len();
        if k == joined.len() {
            return 1;
        }
        let mut count = 0;
        for v in 0..joined.len() {
            let fits = used >> v & 1 == 0
                && joined[v].count_ones() == joined[k].count_ones()
                && (0..k).all(|j| joined[k] >> j & 1 == joined[v] >> image[j] & 1);
            if fits {
                image.push(v);
                count += extend(joined, image, used | 1 << v);
                image.pop();
            }
        }
        count
    }
    extend(&joined, &mut Vec::new(), 0)
}
