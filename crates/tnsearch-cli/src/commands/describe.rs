//! What commands report: the JSON that other programs read, and the text that people read.

use crate::text::{number, shape};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt::Write as _;
use tnsearch::graph::{Structure, TemplateRef};
use tnsearch::network::draw_named;
use tnsearch::problem::Measure;
use tnsearch::tensor::{ModeNames, size};

/// A structure and its size on a tensor, flattened into the JSON of every command.
#[derive(Debug, Serialize)]
pub struct StructureReport {
    template: TemplateRef,
    order: usize,
    dims: Option<Vec<usize>>,
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
            template: structure.to_file().template,
            order: dims.len(),
            dims: Some(dims.to_vec()),
            permutation: Some(structure.permutation().to_vec()),
            edges: Some(structure.edges()),
            params: Some(structure.params(dims)),
            phi: Some(phi),
            log10_cr: Some(-phi.log10()),
        }
    }

    /// The report of a structure whose dimensions are not known.
    pub fn bare(structure: &Structure) -> Self {
        StructureReport {
            order: structure.permutation().len(),
            dims: None,
            permutation: Some(structure.permutation().to_vec()),
            edges: Some(structure.edges()),
            ..Self::nothing(structure.to_file().template, &[])
        }
    }

    /// The report where no structure was found.
    pub fn nothing(template: TemplateRef, dims: &[usize]) -> Self {
        StructureReport {
            template,
            order: dims.len(),
            dims: Some(dims.to_vec()),
            permutation: None,
            edges: None,
            params: None,
            phi: None,
            log10_cr: None,
        }
    }
}

/// What errors are measured by, until a command takes another loss.
pub static MEASURE: Measure = Measure::RSE;

/// An error in the JSON of a command, by the names of its measure: `{"rse": 4.0, "re": 2.0}`.
#[derive(Debug, Clone, Copy)]
pub struct ErrorReport<'m> {
    measure: &'m Measure,
    error: Option<f64>,
}

impl<'m> ErrorReport<'m> {
    /// The report of an error, where there is one.
    pub fn new(measure: &'m Measure, error: impl Into<Option<f64>>) -> Self {
        ErrorReport { measure, error: error.into() }
    }
}

impl Serialize for ErrorReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let error = (&self.measure.id, self.error);
        let root = self.measure.root.as_ref().map(|root| (&root.id, self.error.map(f64::sqrt)));
        serializer.collect_map([error].into_iter().chain(root))
    }
}

/// A part of the library's JSON by the names of a measure: its fields are those of the squared error.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Named<'a, T: Serialize> {
    /// As it is.
    Same(&'a T),
    /// With other names.
    Other(Value),
}

impl<'a, T: Serialize> Named<'a, T> {
    /// The part by the names of a measure.
    pub fn new(measure: &Measure, part: &'a T) -> serde_json::Result<Self> {
        if measure.id == MEASURE.id {
            return Ok(Named::Same(part));
        }
        let mut value = serde_json::to_value(part)?;
        rename(&mut value, measure);
        Ok(Named::Other(value))
    }
}

fn rename(value: &mut Value, measure: &Measure) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, measure)),
        Value::Object(fields) => {
            for (mut name, mut value) in std::mem::take(fields) {
                rename(&mut value, measure);
                if name == MEASURE.id || name.strip_prefix("max_") == Some(&MEASURE.id) {
                    name = name.replace(&*MEASURE.id, &measure.id);
                }
                fields.insert(name, value);
            }
        }
        _ => {}
    }
}

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

    #[test]
    fn errors_go_by_the_names_of_their_measure() {
        let json = |measure, error: Option<f64>| json!(ErrorReport::new(measure, error));
        assert_eq!(json(&MEASURE, Some(0.25)), json!({"rse": 0.25, "re": 0.5}));
        assert_eq!(json(&MEASURE, None), json!({"rse": null, "re": null}));
        let kl = Measure::new("kl", "KL", "Kullback-Leibler divergence", None);
        assert_eq!(json(&kl, Some(0.25)), json!({"kl": 0.25}));
        let part = json!([{"rse": 0.5, "params": 3, "at": {"max_rse": 1.0, "coarse": 2}}]);
        let named = |measure| json!(Named::new(measure, &part).unwrap());
        assert_eq!(named(&MEASURE), part);
        let other = json!([{"kl": 0.5, "params": 3, "at": {"max_kl": 1.0, "coarse": 2}}]);
        assert_eq!(named(&kl), other);
    }
}
