//! What commands report to people: a network in lines of text.

pub use tnsearch_app::fields::{ErrorReport, MEASURE, StructureReport};

use crate::text::{number, shape};
use std::fmt::Write as _;
use tnsearch::graph::Structure;
use tnsearch::network::draw_named;
use tnsearch::problem::Measure;
use tnsearch::tensor::{ModeNames, size};

/// A line of the summary: what, and what about it.
pub fn line(out: &mut String, name: &str, text: impl std::fmt::Display) {
    let _ = writeln!(out, "{name:<12}{text}");
}

/// The lines about a structure: its size, its error, its permutation and its picture.
pub fn structure_lines(
    out: &mut String,
    structure: &Structure,
    dims: &[usize],
    names: ModeNames<'_>,
    measure: &Measure,
    error: f64,
) {
    size_line(out, structure, dims);
    line(out, "error", measure.text(error, number));
    picture_lines(out, structure, dims, names);
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
pub fn picture_lines(
    out: &mut String,
    structure: &Structure,
    dims: &[usize],
    names: ModeNames<'_>,
) {
    line(out, "permutation", permutation_text(structure, names));
    let edges = structure.edges().into_iter().filter(|e| e[2] > 1);
    let edges: Vec<String> = edges.map(|[u, v, r]| format!("{u}-{v}: {r}")).collect();
    let edges = if edges.is_empty() { "all 1".to_owned() } else { edges.join(", ") };
    line(out, "ranks", format!("{edges} (edges between vertices)"));
    let _ = write!(out, "\n{}\n", draw_named(structure, dims, names));
}

/// Where the modes sit.
fn permutation_text(structure: &Structure, names: ModeNames<'_>) -> String {
    if !structure.is_grouped() {
        let vertices: Vec<String> = structure.permutation().iter().map(usize::to_string).collect();
        let (first, second, vertices) = (names.bare(0), names.bare(1), vertices.join(", "));
        return format!("modes {first}, {second}, ... on vertices {vertices}");
    }
    let groups = structure.groups().into_iter().enumerate().filter(|(_, modes)| !modes.is_empty());
    let text = |(v, modes): (usize, Vec<usize>)| {
        let plural = if modes.len() == 1 { "" } else { "s" };
        let list: Vec<_> = modes.iter().map(|&n| names.bare(n)).collect();
        format!("mode{plural} {} on vertex {v}", list.join(", "))
    };
    groups.map(text).collect::<Vec<_>>().join("; ")
}

/// A tensor in words.
pub fn tensor_text(name: &str, dims: &[usize]) -> String {
    // A name may hold anything, and a terminal obeys it.
    let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{name}, {} ({} entries)", shape(dims), size(dims))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn several_modes_at_a_vertex_are_named() {
        let groups = [vec![0, 2], vec![], vec![1]];
        let s = Structure::from_groups("mine", &groups, &[(0, 1, 2), (1, 2, 2)]).unwrap();
        assert_eq!(
            permutation_text(&s, ModeNames::new(None)),
            "modes 0, 2 on vertex 0; mode 1 on vertex 2"
        );
        let report = json!(StructureReport::new(&s, &[2, 3, 4]));
        assert_eq!(report["permutation"], json!([0, 2, 0]));
        assert_eq!(report["template"]["edges"], json!([[0, 1], [1, 2]]));
    }
}
