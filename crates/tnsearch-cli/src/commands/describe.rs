//! What commands report: the JSON that other programs read, and the text that people read.

use crate::text::{number, shape};
use serde::Serialize;
use std::fmt::Write as _;
use tnsearch::graph::{Structure, TemplateRef};
use tnsearch::network::draw;
use tnsearch::problem::Measure;
use tnsearch::tensor::size;

/// A structure and its size on a tensor, flattened into the JSON of every command.
#[derive(Debug, Serialize)]
pub struct StructureReport {
    template: TemplateRef,
    order: usize,
    dims: Vec<usize>,
    permutation: Option<Vec<usize>>,
    edges: Option<Vec<[usize; 3]>>,
    params: Option<u128>,
    phi: Option<f64>,
    log10_cr: Option<f64>,
}

impl StructureReport {
    /// The report of a structure.
    pub fn new(structure: &Structure, dims: &[usize]) -> Self {
        let phi = structure.phi(dims);
        StructureReport {
            template: structure.template().to_ref(),
            order: dims.len(),
            dims: dims.to_vec(),
            permutation: Some(structure.permutation().to_vec()),
            edges: Some(structure.edges()),
            params: Some(structure.params(dims)),
            phi: Some(phi),
            log10_cr: Some(-phi.log10()),
        }
    }

    /// The report where no structure was found.
    pub fn nothing(template: TemplateRef, dims: &[usize]) -> Self {
        StructureReport {
            template,
            order: dims.len(),
            dims: dims.to_vec(),
            permutation: None,
            edges: None,
            params: None,
            phi: None,
            log10_cr: None,
        }
    }
}

/// A line of the summary: what, and what about it.
pub fn line(out: &mut String, name: &str, text: impl std::fmt::Display) {
    let _ = writeln!(out, "{name:<12}{text}");
}

/// The lines about a structure: its size, its error, its permutation and its picture.
pub fn structure_lines(out: &mut String, structure: &Structure, dims: &[usize], error: f64) {
    size_line(out, structure, dims);
    line(out, "error", Measure::RSE.text(error, number));
    picture_lines(out, structure, dims);
}

/// The line about the size of a structure.
pub fn size_line(out: &mut String, structure: &Structure, dims: &[usize]) {
    let (params, dense, phi) = (structure.params(dims), size(dims), structure.phi(dims));
    let ratio = match phi <= 1.0 {
        true => format!("{} times smaller", number(1.0 / phi)),
        false => format!("{} times larger", number(phi)),
    };
    line(out, "params", format!("{dense} -> {params}, {ratio} (log10 CR {:.3})", -phi.log10()));
}

/// The lines about where modes sit and how wide edges are, and the picture.
pub fn picture_lines(out: &mut String, structure: &Structure, dims: &[usize]) {
    let permutation: Vec<String> = structure.permutation().iter().map(usize::to_string).collect();
    line(out, "permutation", format!("modes 0, 1, ... on vertices {}", permutation.join(", ")));
    let edges = structure.edges().into_iter().filter(|e| e[2] > 1);
    let edges: Vec<String> = edges.map(|[u, v, r]| format!("{u}-{v}: {r}")).collect();
    let edges = if edges.is_empty() { "all 1".to_owned() } else { edges.join(", ") };
    line(out, "ranks", format!("{edges} (edges between vertices)"));
    let _ = write!(out, "\n{}\n", draw(structure, dims));
}

/// A tensor in words.
pub fn tensor_text(name: &str, dims: &[usize]) -> String {
    // A name may hold anything, and a terminal obeys it.
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{name}, {} ({} entries)", shape(dims), size(dims))
}
