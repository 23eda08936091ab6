//! The cuts of a graph that are looked at where there are too many sets of modes: what one or two edges cut off, and a few
//! vertices that hang together.

/// The most that are looked at.
const MOST: usize = 1024;
/// Vertices that hang together, at most.
const TOGETHER: u32 = 3;

/// One side of a cut of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    /// Its vertices, as bits.
    pub vertices: u64,
    /// The edges that leave it.
    pub edges: Vec<usize>,
}

/// Those of a graph of at most 64 vertices, the ones with the fewest edges first.
pub(super) fn sides(external: &[bool], edges: &[(usize, usize)]) -> Vec<Side> {
    let all = u64::MAX >> (64 - external.len());
    let modes = (0..external.len()).filter(|&v| external[v]).fold(0u64, |set, v| set | 1 << v);
    let mut sets: Vec<u64> = Vec::new();
    for e in 0..edges.len() {
        sets.extend(components(all, edges, &[e]));
        for f in e + 1..edges.len() {
            sets.extend(components(all, edges, &[e, f]));
        }
    }
    let mut together: Vec<u64> = (0..external.len()).map(|v| 1 << v).collect();
    let mut at = 0;
    while at < together.len() && together.len() < 4 * MOST {
        let set = together[at];
        at += 1;
        if set.count_ones() == TOGETHER {
            continue;
        }
        for &(a, b) in edges {
            let grown = set | 1 << a | 1 << b;
            if (set >> a ^ set >> b) & 1 == 1 && !together.contains(&grown) {
                together.push(grown);
            }
        }
    }
    sets.extend(together);
    let splits = |set: &u64| set & modes != 0 && !set & modes != 0;
    // A cut is named by either side: by that without vertex 0.
    let mut sets: Vec<u64> =
        sets.into_iter().filter(splits).map(|s| if s & 1 == 1 { all & !s } else { s }).collect();
    sets.sort_unstable();
    sets.dedup();
    let crosses = |set: u64, e: &(usize, usize)| (set >> e.0 ^ set >> e.1) & 1 == 1;
    let leaving = |set: u64| (0..edges.len()).filter(|&e| crosses(set, &edges[e])).collect();
    let mut found: Vec<Side> =
        sets.into_iter().map(|set| Side { vertices: set, edges: leaving(set) }).collect();
    found.sort_by_key(|side| (side.edges.len(), side.vertices.count_ones(), side.vertices));
    found.truncate(MOST);
    found
}

/// What hangs together without some edges.
fn components(all: u64, edges: &[(usize, usize)], without: &[usize]) -> Vec<u64> {
    let mut found = Vec::new();
    let mut left = all;
    while left != 0 {
        let mut set = left & left.wrapping_neg();
        loop {
            let mut grown = set;
            for (e, &(a, b)) in edges.iter().enumerate() {
                if !without.contains(&e) && (grown >> a ^ grown >> b) & 1 == 1 {
                    grown |= 1 << a | 1 << b;
                }
            }
            if grown == set {
                break;
            }
            set = grown;
        }
        found.push(set);
        left &= !set;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;

    fn of(name: &str, order: usize) -> Vec<Side> {
        let template = Template::parse(name, order).unwrap();
        let external: Vec<bool> =
            (0..template.vertices()).map(|v| template.is_external(v)).collect();
        sides(&external, template.edges())
    }

    #[test]
    fn rings_and_paths_are_cut_into_all_their_arcs() {
        let ring = of("ring", 16);
        assert_eq!(ring.len(), 16 * 15 / 2);
        assert!(ring.iter().all(|s| s.edges.len() == 2));
        // One edge: what is before it. Two: what is between them.
        let path = of("path", 16);
        assert_eq!(path.iter().filter(|s| s.edges.len() == 1).count(), 15);
        assert_eq!(path.iter().filter(|s| s.edges.len() == 2).count(), 15 * 14 / 2);
        assert_eq!(path.len(), 15 + 105);
    }

    #[test]
    fn every_edge_of_a_tree_is_a_cut_and_every_side_is_left_by_its_edges() {
        for (name, order) in [("tree", 15), ("ht", 16), ("star", 15), ("tucker", 17)] {
            let template = Template::parse(name, order).unwrap();
            let found = of(name, order);
            for e in 0..template.edges().len() {
                assert!(found.iter().any(|s| s.edges == [e]), "{name} {e}");
            }
            for side in &found {
                let inside = |v: usize| side.vertices >> v & 1 == 1;
                let leaves = |&e: &usize| {
                    let (a, b) = template.edges()[e];
                    inside(a) != inside(b)
                };
                let edges: Vec<usize> = (0..template.edges().len()).filter(leaves).collect();
                assert_eq!(edges, side.edges);
                let external = template.external_vertices();
                assert!(
                    external.iter().any(|&v| inside(v)) && !external.iter().all(|&v| inside(v))
                );
            }
        }
        assert!(of("complete", 20).len() <= MOST);
    }
}
