//! Parts that the JSON of several commands has: structures, errors, files.

use serde::{Serialize, Serializer};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tnsearch::graph::{Structure, TemplateRef};
use tnsearch::problem::Measure;

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
pub enum Named<T: Serialize> {
    /// As it is.
    Same(T),
    /// With other names.
    Other(Value),
}

impl<T: Serialize> Named<T> {
    /// The part by the names of a measure.
    pub fn new(measure: &Measure, part: T) -> serde_json::Result<Self> {
        if measure.id == MEASURE.id {
            return Ok(Named::Same(part));
        }
        let mut value = serde_json::to_value(&part)?;
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

/// What a summary names: a path, or none.
pub trait Pathed {
    /// The path.
    fn path(&self) -> Option<&Path>;
}

impl Pathed for &PathBuf {
    fn path(&self) -> Option<&Path> {
        Some(self)
    }
}

impl Pathed for &Path {
    fn path(&self) -> Option<&Path> {
        Some(self)
    }
}

impl Pathed for Option<&PathBuf> {
    fn path(&self) -> Option<&Path> {
        self.map(PathBuf::as_path)
    }
}

/// Writes a path into a summary: what is no text in its name (on Unix any bytes may be) as U+FFFD.
pub fn lossy<S: serde::Serializer>(named: &impl Pathed, to: S) -> Result<S::Ok, S::Error> {
    named.path().map(Path::to_string_lossy).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
