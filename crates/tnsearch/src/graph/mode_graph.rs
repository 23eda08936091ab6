//! The canonical form of a structure: an edge-labelled graph on the modes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A structure written on the modes themselves: vertex `n < modes` carries mode `n`, the vertices
/// `modes..modes + internal` carry none, edges are `(u, v, rank)` with `u < v` and `rank >= 2`, sorted.
///
/// Two structures are equal when their mode graphs are; this is the key of caches and journals, and
/// the form in which a structure is fitted, so that every way of writing a structure gives the same
/// cores.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModeGraph {
    modes: usize,
    internal: usize,
    edges: Vec<(usize, usize, usize)>,
}

impl ModeGraph {
    /// A mode graph from its edges, which are brought into order; edges of rank 1 are dropped.
    ///
    /// # Panics
    /// If an edge names a vertex that is not there, or a vertex twice, or has rank 0.
    pub fn new(modes: usize, internal: usize, edges: Vec<(usize, usize, usize)>) -> Self {
        let mut edges: Vec<_> = edges
            .into_iter()
            .filter(|e| e.2 != 1)
            .map(|(u, v, r)| (u.min(v), u.max(v), r))
            .collect();
        edges.sort_unstable();
        for &(u, v, r) in &edges {
            assert!(u < v && v < modes + internal && r > 1, "bad edge ({u}, {v}, {r})");
        }
        assert!(
            edges.windows(2).all(|w| (w[0].0, w[0].1) != (w[1].0, w[1].1)),
            "an edge stands twice"
        );
        ModeGraph { modes, internal, edges }
    }

    /// A mode graph from edges that are in order already.
    pub(super) fn from_sorted(
        modes: usize,
        internal: usize,
        edges: Vec<(usize, usize, usize)>,
    ) -> Self {
        debug_assert!(edges.iter().all(|&(u, v, r)| u < v && v < modes + internal && r > 1));
        debug_assert!(edges.windows(2).all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1)));
        ModeGraph { modes, internal, edges }
    }

    /// The number of modes.
    pub fn modes(&self) -> usize {
        self.modes
    }

    /// The number of vertices without a mode.
    pub fn internal(&self) -> usize {
        self.internal
    }

    /// All vertices: those with a mode first.
    pub fn vertices(&self) -> usize {
        self.modes + self.internal
    }

    /// The edges `(u, v, rank)`, `u < v`, `rank >= 2`, sorted.
    pub fn edges(&self) -> &[(usize, usize, usize)] {
        &self.edges
    }

    /// The edges at a vertex, as indices into [`ModeGraph::edges`], in order.
    pub fn incident(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.edges.len())
            .filter(move |&e| self.edges[e].0 == vertex || self.edges[e].1 == vertex)
    }

    /// The shape of the core at a vertex: its edges in order, then its mode (if it has one).
    pub fn core_dims(&self, vertex: usize, dims: &[usize]) -> Vec<usize> {
        let mut shape: Vec<usize> = self.incident(vertex).map(|e| self.edges[e].2).collect();
        if vertex < self.modes {
            shape.push(dims[vertex]);
        }
        shape
    }

    /// The ranks that are of use, in the order of the edges. At a vertex of dimension d (1 without a mode) whose
    /// other edges have the ranks s, t, ..., an edge cannot carry more than `d s t ...`: any tensor of this graph
    /// is one of the same graph with the rank cut down to that, and so on until nothing changes.
    pub fn useful_ranks(&self, dims: &[usize]) -> Vec<usize> {
        let mut ranks: Vec<usize> = self.edges.iter().map(|e| e.2).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for vertex in 0..self.vertices() {
                let dim = dims[..self.modes].get(vertex).copied().unwrap_or(1);
                for edge in self.incident(vertex) {
                    let others = self.incident(vertex).filter(|&e| e != edge);
                    let held = others.fold(dim, |held, e| held.saturating_mul(ranks[e]));
                    if held < ranks[edge] {
                        ranks[edge] = held;
                        changed = true;
                    }
                }
            }
        }
        ranks
    }

    /// The number of entries of all cores (saturating); internal vertices that lost all their edges
    /// are not in the graph and not counted.
    ///
    /// # Panics
    /// If `dims` has fewer entries than there are modes.
    pub fn params(&self, dims: &[usize]) -> u128 {
        let mut size = vec![1u128; self.vertices()];
        for (s, &d) in size.iter_mut().zip(&dims[..self.modes]) {
            *s = d as u128;
        }
        for &(u, v, r) in &self.edges {
            size[u] = size[u].saturating_mul(r as u128);
            size[v] = size[v].saturating_mul(r as u128);
        }
        size.into_iter().fold(0, u128::saturating_add)
    }

    /// The graph as bytes: equal graphs, equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

impl fmt::Display for ModeGraph {
    /// `4+0:0-1x3,0-3x2,...`: modes, internal vertices, edges with their ranks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}:", self.modes, self.internal)?;
        for (k, (u, v, r)) in self.edges.iter().enumerate() {
            write!(f, "{}{u}-{v}x{r}", if k == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for ModeGraph {
    type Err = String;

    /// Reads what [`ModeGraph`] writes; the message says what is wrong.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is no mode graph such as 3+0:0-1x2,1-2x4");
        let number = |word: &str| word.parse::<usize>().map_err(|_| bad());
        let (head, tail) = text.split_once(':').ok_or_else(bad)?;
        let (modes, internal) = head.split_once('+').ok_or_else(bad)?;
        let (modes, internal) = (number(modes)?, number(internal)?);
        let vertices = modes.checked_add(internal).ok_or_else(bad)?;
        let mut edges: Vec<(usize, usize, usize)> = Vec::new();
        for word in tail.split(',').filter(|word| !word.is_empty()) {
            let (ends, rank) = word.split_once('x').ok_or_else(bad)?;
            let (u, v) = ends.split_once('-').ok_or_else(bad)?;
            let edge = (number(u)?, number(v)?, number(rank)?);
            let in_order = edges.last().is_none_or(|last| (last.0, last.1) < (edge.0, edge.1));
            if !(edge.0 < edge.1 && edge.1 < vertices && edge.2 > 1 && in_order) {
                return Err(bad());
            }
            edges.push(edge);
        }
        Ok(ModeGraph { modes, internal, edges })
    }
}

impl Serialize for ModeGraph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModeGraph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_read_as_it_is_written() {
        let graph = ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 12), (0, 1, 5)]);
        assert_eq!(graph.to_string().parse(), Ok(graph.clone()));
        assert_eq!("2+0:".parse(), Ok(ModeGraph::new(2, 0, vec![])));
        let json = serde_json::to_string(&graph).unwrap();
        assert_eq!(serde_json::from_str::<ModeGraph>(&json).unwrap(), graph);
        for bad in
            ["", "3", "3+0", "2+0:0-1", "2+0:0-2x3", "2+0:1-0x3", "2+0:0-1x1", "3+0:1-2x2,0-1x2"]
        {
            assert!(bad.parse::<ModeGraph>().is_err(), "{bad}");
        }
    }
}
