//! A structure: template, permutation, ranks.

use super::{GraphError, ModeGraph, Template, VertexFile};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A template, the vertex each mode sits on, and the rank of each edge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    template: Arc<Template>,
    permutation: Vec<usize>,
    ranks: Vec<usize>,
}

/// A structure's canonical form and how its template's vertices map onto it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// The edge-labelled graph on the modes.
    pub graph: ModeGraph,
    /// For each vertex of the template its vertex in `graph`; none for an internal vertex that lost
    /// all its edges (its core is the number 1).
    pub vertex: Vec<Option<usize>>,
}

/// The JSON form of a structure (DESIGN section 5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructureFile {
    /// A template's name or graph.
    pub template: TemplateRef,
    /// The vertex of mode 0, of mode 1, ...
    pub permutation: Vec<usize>,
    /// `[u, v, rank]`; edges of the template that are left out have rank 1.
    pub edges: Vec<[usize; 3]>,
}

/// How a file names a template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TemplateRef {
    /// By name: `"ring"`, `"peps:2x3"`.
    Name(String),
    /// By its graph.
    Graph {
        /// Its vertices.
        vertices: Vec<VertexFile>,
        /// Its edges `[u, v]`.
        edges: Vec<[usize; 2]>,
    },
}

impl Structure {
    /// A structure from its parts: `permutation[n]` is the vertex of mode `n`, `ranks[e]` the rank of
    /// edge `e` of the template.
    pub fn new(
        template: Arc<Template>,
        permutation: Vec<usize>,
        ranks: Vec<usize>,
    ) -> Result<Self, GraphError> {
        let mut sorted = permutation.clone();
        sorted.sort_unstable();
        let external = template.external_vertices();
        if sorted != external {
            return Err(GraphError::BadPermutation {
                permutation,
                reason: format!("it must name each of the external vertices {external:?} once"),
            });
        }
        if ranks.len() != template.edges().len() {
            return Err(GraphError::BadRank(format!(
                "{} ranks for {} edges",
                ranks.len(),
                template.edges().len()
            )));
        }
        if let Some(e) = ranks.iter().position(|&r| r == 0) {
            let (u, v) = template.edges()[e];
            return Err(GraphError::BadRank(format!(
                "edge [{u},{v}] has rank 0; ranks are at least 1"
            )));
        }
        Ok(Structure { template, permutation, ranks })
    }

    /// The template.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// The vertex of mode 0, of mode 1, ...
    pub fn permutation(&self) -> &[usize] {
        &self.permutation
    }

    /// The rank of each of the template's edges.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// The edges `[u, v, rank]` between the template's vertices.
    pub fn edges(&self) -> Vec<[usize; 3]> {
        let edges = self.template.edges().iter().zip(&self.ranks);
        edges.map(|(&(u, v), &r)| [u, v, r]).collect()
    }

    /// The mode at each vertex (none at internal vertices).
    pub fn modes(&self) -> Vec<Option<usize>> {
        let mut mode = vec![None; self.template.vertices()];
        for (n, &v) in self.permutation.iter().enumerate() {
            mode[v] = Some(n);
        }
        mode
    }

    /// The shape of the core at a vertex: its edges in the template's order (rank-1 edges included),
    /// then its mode if it has one.
    pub fn core_dims(&self, vertex: usize, dims: &[usize]) -> Vec<usize> {
        let edges = self.template.edges().iter().zip(&self.ranks);
        let mut shape: Vec<usize> =
            edges.filter(|((u, v), _)| *u == vertex || *v == vertex).map(|(_, &r)| r).collect();
        if let Some(n) = self.permutation.iter().position(|&v| v == vertex) {
            shape.push(dims[n]);
        }
        shape
    }

    /// The number of entries of all cores.
    pub fn params(&self, dims: &[usize]) -> u128 {
        let sizes =
            (0..self.template.vertices()).map(|v| crate::tensor::size(&self.core_dims(v, dims)));
        sizes.fold(0u128, u128::saturating_add)
    }

    /// phi = params / product of the dimensions, the paper's complexity term.
    pub fn phi(&self, dims: &[usize]) -> f64 {
        self.params(dims) as f64 / crate::tensor::size(dims) as f64
    }

    /// The canonical form.
    pub fn canonical(&self) -> Canonical {
        let modes = self.permutation.len();
        let mut vertex: Vec<Option<usize>> = self.modes();
        let mut next = modes;
        for (v, slot) in vertex.iter_mut().enumerate() {
            let linked = self.edges().iter().any(|e| (e[0] == v || e[1] == v) && e[2] > 1);
            if slot.is_none() && linked {
                *slot = Some(next);
                next += 1;
            }
        }
        let edges = self
            .edges()
            .into_iter()
            .filter(|e| e[2] > 1)
            .filter_map(|[u, v, r]| Some((vertex[u]?, vertex[v]?, r)));
        let graph = ModeGraph::new(modes, next - modes, edges.collect());
        Canonical { graph, vertex }
    }

    /// The JSON form.
    pub fn to_file(&self) -> StructureFile {
        todo!()
    }
}
