//! All graphs of a few vertices, one of each kind: what statements about every graph are checked on.

use super::{ColouredGraph, GeometryError};
use canonical_form::Canonize;
use std::collections::HashSet;

/// There are 261,080 connected graphs on 9 vertices and 11.7 million on 10.
const MAX_VERTICES: usize = 9;

/// A graph as its adjacency bits, row after row, for the canonical-form crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bits(Vec<u16>);

impl Canonize for Bits {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn apply_morphism(&self, p: &[usize]) -> Self {
        let mut rows = vec![0; self.0.len()];
        for (v, &row) in self.0.iter().enumerate() {
            rows[p[v]] = image(row, p);
        }
        Bits(rows)
    }

    fn invariant_neighborhood(&self, v: usize) -> impl Iterator<Item = (usize, u64)> {
        let row = self.0[v];
        (0..self.0.len()).filter(move |u| row >> u & 1 == 1).map(|u| (u, 0))
    }
}

fn image(set: u16, p: &[usize]) -> u16 {
    (0..p.len()).filter(|v| set >> v & 1 == 1).fold(0, |s, v| s | 1 << p[v])
}

impl Bits {
    fn edges(&self) -> Vec<(usize, usize)> {
        let n = self.0.len();
        let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
        pairs.filter(|&(u, v)| self.0[u] >> v & 1 == 1).collect()
    }

    /// This graph with one more vertex, joined to a set.
    fn grown(&self, set: u16) -> Bits {
        let n = self.0.len();
        let mut rows = self.0.clone();
        rows.iter_mut().enumerate().for_each(|(v, row)| *row |= (set >> v & 1) << n);
        rows.push(set);
        Bits(rows)
    }

    /// One set of vertices of each kind that symmetries map to each other.
    fn sets(&self) -> Result<Vec<u16>, GeometryError> {
        let n = self.0.len();
        let edges: Vec<_> = self.edges().iter().map(|&(u, v)| (u, v, 0)).collect();
        let group = ColouredGraph::new(vec![0; n], &edges)?.automorphisms()?;
        let generators: Vec<&[usize]> = group.generators().collect();
        let mut seen = vec![false; 1 << n];
        let mut sets = Vec::new();
        for set in 0..1 << n {
            if seen[set as usize] {
                continue;
            }
            sets.push(set);
            let mut open = vec![set];
            while let Some(set) = open.pop() {
                if !std::mem::replace(&mut seen[set as usize], true) {
                    open.extend(generators.iter().map(|p| image(set, p)));
                }
            }
        }
        Ok(sets)
    }
}

/// The edges of every graph on `vertices` vertices, one of each kind.
pub fn graphs(vertices: usize) -> Result<Vec<Vec<(usize, usize)>>, GeometryError> {
    census(vertices, false)
}

/// The edges of every connected graph on `vertices` vertices, one of each kind: 1, 1, 2, 6, 21, 112, 853, 11117
/// on 1 to 8 vertices. Each is made from a smaller one by a vertex, since every connected graph has a vertex
/// that leaves it connected.
///
/// ```
/// assert_eq!(tnsearch::geometry::connected_graphs(5).unwrap().len(), 21);
/// ```
pub fn connected_graphs(vertices: usize) -> Result<Vec<Vec<(usize, usize)>>, GeometryError> {
    census(vertices, true)
}

fn census(vertices: usize, connected: bool) -> Result<Vec<Vec<(usize, usize)>>, GeometryError> {
    if vertices > MAX_VERTICES {
        return Err(GeometryError::TooLarge { vertices, limit: MAX_VERTICES });
    }
    if vertices == 0 {
        return Ok(Vec::new());
    }
    let mut all = vec![Bits(vec![0])];
    for _ in 1..vertices {
        let mut seen = HashSet::new();
        let mut grown = Vec::new();
        for graph in &all {
            let sets = graph.sets()?;
            for set in sets.into_iter().filter(|&set| set > 0 || !connected) {
                let canonical = graph.grown(set).canonical();
                if seen.insert(canonical.clone()) {
                    grown.push(canonical);
                }
            }
        }
        all = grown;
    }
    Ok(all.iter().map(Bits::edges).collect())
}
