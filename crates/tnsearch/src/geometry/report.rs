//! The size of a search space as it is reported.

use super::{Internal, Space, lemma_ln, log10};
use crate::graph::{Template, TemplateRef};
use serde::Serialize;

/// The size of a search space: counts as decimal digits, since they have many.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are those of Space; see docs/formats.md")]
pub struct SpaceReport {
    pub template: TemplateRef,
    pub order: usize,
    pub vertices: usize,
    pub edge_count: usize,
    pub least_degree: usize,
    pub largest_degree: usize,
    pub max_rank: usize,
    pub internal: Internal,
    pub automorphisms: String,
    pub log10_automorphisms: f64,
    pub mode_symmetries: String,
    pub structures: String,
    pub log10_structures: f64,
    pub search_space: Option<String>,
    pub log10_search_space: f64,
    pub log10_upper_bound: Option<f64>,
    pub log10_lower_bound: Option<f64>,
    pub log10_automorphisms_bound: Option<f64>,
}

impl SpaceReport {
    /// The report of a space.
    pub fn new(template: &Template, space: &Space, internal: Internal) -> Self {
        let lemma = lemma_ln(space.vertices, space.degrees.largest);
        SpaceReport {
            template: template.to_ref(),
            order: space.order,
            vertices: space.vertices,
            edge_count: space.edges,
            least_degree: space.degrees.least,
            largest_degree: space.degrees.largest,
            max_rank: space.max_rank,
            internal,
            automorphisms: space.automorphisms.to_string(),
            log10_automorphisms: log10(&space.automorphisms),
            mode_symmetries: space.mode_symmetries.to_string(),
            structures: space.structures.to_string(),
            log10_structures: log10(&space.structures),
            search_space: space.size.as_ref().map(ToString::to_string),
            log10_search_space: space.log10_size,
            log10_upper_bound: space.log10_bounds.map(|b| b.1),
            log10_lower_bound: space.log10_bounds.map(|b| b.0),
            log10_automorphisms_bound: lemma.map(|l| l / std::f64::consts::LN_10),
        }
    }
}
