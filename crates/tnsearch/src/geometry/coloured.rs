//! Graphs whose vertices have colours and whose edges have labels, connected or not.

use super::Internal;
use crate::graph::{GraphError, Template};

/// A simple graph with a colour for each vertex and a label for each edge. A symmetry keeps both.
///
/// ```
/// use tnsearch::geometry::ColouredGraph;
/// // Two separate edges: each can be turned round, and the two can change places.
/// let graph = ColouredGraph::new(vec![0; 4], &[(0, 1, 0), (2, 3, 0)]).unwrap();
/// assert_eq!(graph.automorphisms().unwrap().order().to_string(), "8");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColouredGraph {
    colours: Vec<usize>,
    /// The neighbours of each vertex and the labels of the edges to them, sorted.
    near: Vec<Vec<(usize, usize)>>,
}

impl ColouredGraph {
    /// A graph from the colours of its vertices and its edges `(u, v, label)`.
    pub fn new(
        colours: Vec<usize>,
        edges: &[(usize, usize, usize)],
    ) -> Result<ColouredGraph, GraphError> {
        let n = colours.len();
        let mut near = vec![Vec::new(); n];
        for &(u, v, label) in edges {
            if u >= n || v >= n || u == v {
                return Err(GraphError::BadGraph(format!(
                    "edge [{u},{v}] must join two different ones of the {n} vertices"
                )));
            }
            near[u].push((v, label));
            near[v].push((u, label));
        }
        for (u, list) in near.iter_mut().enumerate() {
            list.sort_unstable();
            if let Some(w) = list.windows(2).find(|w| w[0].0 == w[1].0) {
                return Err(GraphError::BadGraph(format!("edge [{u},{}] stands twice", w[0].0)));
            }
        }
        Ok(ColouredGraph { colours, near })
    }

    /// A template: external vertices have colour 0, internal ones colour 1 (free), or each a colour of its
    /// own (fixed).
    pub fn of_template(template: &Template, internal: Internal) -> ColouredGraph {
        let colours = (0..template.vertices())
            .map(|v| match internal {
                _ if template.is_external(v) => 0,
                Internal::Free => 1,
                Internal::Fixed => 1 + v,
            })
            .collect();
        let mut near = vec![Vec::new(); template.vertices()];
        for &(u, v) in template.edges() {
            near[u].push((v, 0));
            near[v].push((u, 0));
        }
        near.iter_mut().for_each(|list| list.sort_unstable());
        ColouredGraph { colours, near }
    }

    /// The same graph with these vertices told apart from all others, so that a symmetry fixes each.
    pub fn with_fixed(mut self, vertices: &[usize]) -> ColouredGraph {
        let first = self.colours.iter().max().map_or(0, |c| c + 1);
        for (k, &v) in vertices.iter().enumerate() {
            self.colours[v] = first + k;
        }
        self
    }

    /// The number of vertices.
    pub fn vertices(&self) -> usize {
        self.colours.len()
    }

    /// The colour of each vertex.
    pub fn colours(&self) -> &[usize] {
        &self.colours
    }

    /// The neighbours of a vertex with the labels of the edges to them, sorted.
    pub fn near(&self, vertex: usize) -> &[(usize, usize)] {
        &self.near[vertex]
    }

    /// Whether two vertices are joined.
    pub fn joined(&self, u: usize, v: usize) -> bool {
        self.near[u].binary_search_by_key(&v, |e| e.0).is_ok()
    }

    /// Whether `p` (vertex `v` goes to `p[v]`) is a symmetry: a bijection that keeps colours, edges and labels.
    pub fn is_automorphism(&self, p: &[usize]) -> bool {
        let n = self.vertices();
        let mut hit = vec![false; n];
        let bijection =
            p.len() == n && p.iter().all(|&v| v < n && !std::mem::replace(&mut hit[v], true));
        let keeps = |v: usize| {
            let (here, there) = (&self.near[v], &self.near[p[v]]);
            let label = |u: usize| there.binary_search_by_key(&u, |e| e.0).ok().map(|k| there[k].1);
            self.colours[v] == self.colours[p[v]]
                && here.len() == there.len()
                && here.iter().all(|&(u, l)| label(p[u]) == Some(l))
        };
        bijection && (0..n).all(keeps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_graphs_are_refused() {
        let bad = |edges: &[(usize, usize, usize)]| {
            ColouredGraph::new(vec![0; 3], edges).unwrap_err().to_string()
        };
        assert!(bad(&[(0, 3, 0)]).contains("edge [0,3]"));
        assert!(bad(&[(1, 1, 0)]).contains("two different"));
        assert!(bad(&[(0, 1, 0), (1, 0, 2)]).contains("stands twice"));
    }

    #[test]
    fn symmetries_keep_colours_edges_and_labels() {
        let path = [(0, 1, 0), (1, 2, 0)];
        let plain = ColouredGraph::new(vec![0; 3], &path).unwrap();
        assert!(plain.is_automorphism(&[2, 1, 0]));
        assert!(!plain.is_automorphism(&[1, 0, 2]));
        assert!(!plain.is_automorphism(&[0, 1]) && !plain.is_automorphism(&[0, 0, 0]));
        assert!(!plain.is_automorphism(&[0, 1, 3]));
        let coloured = ColouredGraph::new(vec![0, 0, 1], &path).unwrap();
        assert!(!coloured.is_automorphism(&[2, 1, 0]));
        let labelled = ColouredGraph::new(vec![0; 3], &[(0, 1, 0), (1, 2, 1)]).unwrap();
        assert!(!labelled.is_automorphism(&[2, 1, 0]));
    }
}
