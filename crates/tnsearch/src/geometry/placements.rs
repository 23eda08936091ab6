//! The ways of placing modes on a template: the set G0 of the paper's equation 2, with its symmetries.

use super::elements::inverse;
use super::{Automorphisms, ColouredGraph, GeometryError};
use crate::graph::{GraphError, ModeGraph, Structure, Template};
use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a symmetry may do with the internal vertices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Internal {
    /// Exchange them: structures are equal up to the names of internal vertices, as for caches and journals.
    #[default]
    Free,
    /// Nothing: each stays where it is (how the paper codes HT and MERA).
    Fixed,
}

/// A template and its symmetries.
#[derive(Debug, Clone)]
pub struct Placements {
    template: Arc<Template>,
    internal: Internal,
    group: Automorphisms,
    /// The external vertices, and for each vertex its number among them.
    external: Vec<usize>,
    number: Vec<usize>,
}

impl Placements {
    /// Finds the symmetries of a template.
    pub fn new(template: Arc<Template>, internal: Internal) -> Result<Self, GeometryError> {
        if template.copy_vertex().is_some() {
            return Err(GeometryError::Hyperedge);
        }
        let group = ColouredGraph::of_template(&template, internal).automorphisms()?;
        let external = template.external_vertices();
        let mut number = vec![usize::MAX; template.vertices()];
        external.iter().enumerate().for_each(|(k, &v)| number[v] = k);
        Ok(Placements { template, internal, group, external, number })
    }

    /// The template.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// What symmetries may do with internal vertices.
    pub fn internal(&self) -> Internal {
        self.internal
    }

    /// The symmetries of the template's vertices, Aut(G0).
    pub fn automorphisms(&self) -> &Automorphisms {
        &self.group
    }

    /// The symmetries that leave every mode where it is and move internal vertices only. They do not change a
    /// placement; there are none but the identity where each internal vertex is told by its modes.
    pub fn idle(&self) -> Result<Automorphisms, GeometryError> {
        ColouredGraph::of_template(&self.template, self.internal)
            .with_fixed(&self.external)
            .automorphisms()
    }

    /// The number of ways in which symmetries move the modes: |Aut(G0)| over the number of [`Self::idle`] ones.
    pub fn mode_symmetries(&self) -> Result<BigUint, GeometryError> {
        Ok(self.group.order() / self.idle()?.order())
    }

    /// The graph that a permutation (the vertex of each mode) makes on the modes, without ranks: what the
    /// paper calls `g G0`. Equal exactly for permutations that differ by a symmetry.
    pub fn graph(&self, permutation: &[usize]) -> Result<ModeGraph, GeometryError> {
        self.numbered(permutation)?;
        let ranks = vec![2; self.template.edges().len()];
        let structure = Structure::new(self.template.clone(), permutation.to_vec(), ranks)?;
        if self.internal == Internal::Free {
            return Ok(structure.canonical().graph);
        }
        let modes = self.external.len();
        let mut next = modes;
        let mut names = vec![0; self.template.vertices()];
        for (name, mode) in names.iter_mut().zip(structure.groups()) {
            *name = mode.first().copied().unwrap_or(next);
            next += usize::from(mode.is_empty());
        }
        let edges = self.template.edges().iter().map(|&(u, v)| (names[u], names[v], 2)).collect();
        Ok(ModeGraph::new(modes, next - modes, edges))
    }

    /// A permutation in the numbers 0..N of the external vertices.
    pub(super) fn numbered(&self, permutation: &[usize]) -> Result<Vec<usize>, GeometryError> {
        if permutation.len() > self.external.len() {
            return Err(GeometryError::Grouped);
        }
        let mut sorted = permutation.to_vec();
        sorted.sort_unstable();
        if sorted != self.external {
            return Err(GeometryError::Graph(GraphError::BadPermutation {
                permutation: permutation.to_vec(),
                reason: format!(
                    "it must name each of the external vertices {:?} once",
                    self.external
                ),
            }));
        }
        Ok(permutation.iter().map(|&v| self.number[v]).collect())
    }

    /// A permutation of numbers 0..N as one of external vertices.
    pub(super) fn named(&self, numbers: &[usize]) -> Vec<usize> {
        numbers.iter().map(|&k| self.external[k]).collect()
    }

    /// What a symmetry of the vertices does to the numbers of the external ones.
    pub(super) fn on_modes(&self, symmetry: &[usize]) -> Vec<usize> {
        self.external.iter().map(|&v| self.number[symmetry[v]]).collect()
    }

    /// The double coset of two placements: `g1^-1 g2` on the numbers of the external vertices.
    pub(super) fn between(&self, a: &[usize], b: &[usize]) -> Result<Vec<usize>, GeometryError> {
        let (a, b) = (self.numbered(a)?, inverse(&self.numbered(b)?));
        Ok(b.iter().map(|&mode| a[mode]).collect())
    }
}
