//! The options that settings declare, for those who compare them with signatures.

use crate::structure::from_json;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use tnsearch::options::Declared;
use tnsearch_models::AskedModel;
use tnsearch_tgp::{CompressSettings, TrainSettings};

fn defaults<T: Declared>() -> Map<String, Value> {
    let all = serde_json::to_value(T::default()).unwrap_or_default();
    T::OPTIONS.iter().map(|o| (o.field.to_owned(), all[o.field].clone())).collect()
}

/// The options of a command that its settings declare, with their defaults.
#[pyfunction]
pub fn declared_options<'py>(py: Python<'py>, command: &str) -> PyResult<Bound<'py, PyAny>> {
    let declared = match command {
        "compress-model" => defaults::<AskedModel>(),
        "tgp train" => defaults::<TrainSettings>(),
        "tgp compress" => defaults::<CompressSettings>(),
        _ => return Err(PyValueError::new_err(format!("'{command}' declares no options"))),
    };
    from_json(py, &declared)
}
