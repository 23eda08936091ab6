//! Template graphs: the formats a tensor network can have.

use super::GraphError;
use serde::{Deserialize, Serialize};

/// A simple connected graph whose *external* vertices carry one mode each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    name: String,
    external: Vec<bool>,
    edges: Vec<(usize, usize)>,
}

/// A vertex of a JSON template: `{"mode": true}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct VertexFile {
    /// Whether the vertex carries a mode.
    pub mode: bool,
}

impl Template {
    /// A template from its vertices (whether each carries a mode) and edges.
    pub fn from_graph(
        name: &str,
        external: Vec<bool>,
        edges: Vec<(usize, usize)>,
    ) -> Result<Self, GraphError> {
        let n = external.len();
        let mut sorted = Vec::with_capacity(edges.len());
        for &(u, v) in &edges {
            if u >= n || v >= n {
                return Err(GraphError::BadGraph(format!(
                    "edge [{u},{v}] names a vertex that is not there (vertices are 0 to {})",
                    n.saturating_sub(1)
                )));
            }
            if u == v {
                return Err(GraphError::BadGraph(format!(
                    "edge [{u},{v}] joins a vertex to itself"
                )));
            }
            sorted.push((u.min(v), u.max(v)));
        }
        sorted.sort_unstable();
        if let Some(w) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return Err(GraphError::BadGraph(format!("edge [{},{}] stands twice", w[0].0, w[0].1)));
        }
        let template = Template { name: name.to_owned(), external, edges: sorted };
        if let Some(v) = template.unreachable_vertex() {
            return Err(GraphError::BadGraph(format!(
                "it is not connected: vertex {v} cannot be reached from vertex 0"
            )));
        }
        Ok(template)
    }

    /// The template's name, as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of modes it carries (its external vertices).
    pub fn order(&self) -> usize {
        self.external.iter().filter(|&&e| e).count()
    }

    /// The number of vertices, internal ones included.
    pub fn vertices(&self) -> usize {
        self.external.len()
    }

    /// Whether a vertex carries a mode.
    pub fn is_external(&self, vertex: usize) -> bool {
        self.external[vertex]
    }

    /// The external vertices in increasing order: the identity permutation.
    pub fn external_vertices(&self) -> Vec<usize> {
        (0..self.vertices()).filter(|&v| self.external[v]).collect()
    }

    /// The edges `(u, v)`, `u < v`, sorted.
    pub fn edges(&self) -> &[(usize, usize)] {
        &self.edges
    }

    fn unreachable_vertex(&self) -> Option<usize> {
        let n = self.vertices();
        let mut seen = vec![false; n];
        let mut stack = vec![0];
        while let Some(v) = stack.pop() {
            if v >= n || std::mem::replace(&mut seen[v], true) {
                continue;
            }
            for &(a, b) in &self.edges {
                if a == v {
                    stack.push(b);
                } else if b == v {
                    stack.push(a);
                }
            }
        }
        seen.iter().position(|s| !s)
    }

    /// The cycle 0-1-...-(n-1)-0 (tensor ring).
    pub fn ring(n: usize) -> Result<Self, GraphError> {
        let mut edges: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
        if n > 2 {
            edges.push((0, n - 1));
        }
        Self::from_graph("ring", vec![true; n], edges)
    }
}
