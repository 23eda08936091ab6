//! Templates by name, as a graph, or in a file.

use crate::errors::raise;
use crate::structure::to_json;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::Path;
use tnsearch::graph::{GraphError, Template};

/// The template that is named, given as a dict `{"vertices": ..., "edges": ...}`, or in a JSON file, for a tensor of that
/// order.
pub fn template(given: &Bound<'_, PyAny>, order: usize) -> PyResult<Template> {
    let path = given.py().import("pathlib")?.getattr("PurePath")?;
    let (name, is_path) = match given.is_instance(&path)? {
        true => (Some(given.str()?), true),
        false => (given.cast::<PyString>().ok().cloned(), false),
    };
    let template = match name {
        None => Template::from_json("template", &to_json(given)?).map_err(raise)?,
        Some(name) => {
            let name = name.to_str()?;
            match Template::parse(name, order) {
                Err(GraphError::UnknownTemplate(_)) if is_path || name.ends_with(".json") => {
                    read(Path::new(name))?
                }
                known => known.map_err(raise)?,
            }
        }
    };
    template.check_order(order).map_err(raise)?;
    Ok(template)
}

fn read(path: &Path) -> PyResult<Template> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|e| PyOSError::new_err(format!("{name}: {}", tnsearch_io::io_text(&e))))?;
    Template::from_json(&name, &text).map_err(|e| PyValueError::new_err(format!("{name}: {e}")))
}
