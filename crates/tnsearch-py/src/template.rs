//! Templates by name, as a graph, or in a file.

use crate::errors::raise;
use crate::structure::to_json;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::path::Path;
use tnsearch::graph::{GraphError, Template};
use tnsearch_io::text::shown;

/// The template that is named, given as a dict `{"vertices": ..., "edges": ...}`, or in a JSON file, for a tensor of that
/// order.
pub fn template(given: &Bound<'_, PyAny>, order: usize) -> PyResult<Template> {
    let template = match given.cast::<PyString>() {
        Ok(name) => match Template::parse(name.to_str()?, order) {
            Err(GraphError::UnknownTemplate(_)) if name.to_str()?.ends_with(".json") => own(given)?,
            known => known.map_err(raise)?,
        },
        Err(_) => own(given)?,
    };
    template.check_order(order).map_err(raise)?;
    Ok(template)
}

/// A template that has an order of its own: a dict, or in a JSON file.
pub fn own(given: &Bound<'_, PyAny>) -> PyResult<Template> {
    let path = given.py().import("pathlib")?.getattr("PurePath")?;
    if given.is_instance_of::<PyString>() || given.is_instance(&path)? {
        return read(Path::new(given.str()?.to_str()?));
    }
    Template::from_json("template", &to_json(given)?).map_err(raise)
}

fn read(path: &Path) -> PyResult<Template> {
    let name = path.display().to_string();
    let text =
        tnsearch_io::small::read_text(path).map_err(|e| PyOSError::new_err(e.to_string()))?;
    Template::from_json(&name, &text)
        .map_err(|e| PyValueError::new_err(shown(&format!("{name}: {e}"))))
}
