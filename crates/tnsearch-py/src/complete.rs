//! `tnsearch.complete`: the missing entries of a tensor.

use crate::data::{DataOptions, warn};
use crate::errors::raise;
use crate::network::PyNetwork;
use crate::report::structure_values;
use crate::structure::from_json;
use crate::{array, options, template, work};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use std::time::Instant;
use tnsearch::complete::{CompleteMethod, CompleteSettings, OneRank};
use tnsearch::problem::MaskError;
use tnsearch::search::Budget;
use tnsearch::tensor::Reshape;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    data: DataOptions,
    method: Option<String>,
    missing: Option<f64>,
    rank: Option<usize>,
    held_out: Option<f64>,
    folds: Option<usize>,
    max_rank: Option<usize>,
    ridge: Option<f64>,
    max_sweeps: Option<usize>,
    seed: u64,
    max_seconds: Option<f64>,
    threads: Option<usize>,
}

/// What was found as a dict, the filled tensor, and the network.
type Completed<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, PyNetwork);

/// Fills the holes of a tensor.
#[pyfunction]
#[pyo3(signature = (x, mask, graph, given))]
pub fn complete<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    graph: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Completed<'py>> {
    let begun = Instant::now();
    let asked: Options = options::read(given)?;
    let limit = asked.data.limit()?;
    let way: CompleteMethod =
        asked.method.as_deref().map_or(Ok(CompleteMethod::default()), str::parse).map_err(raise)?;
    way.check(asked.rank).map_err(raise)?;
    if asked.held_out.is_some() && asked.folds.is_some() {
        let text = "held_out and folds were both given; they exclude each other";
        return Err(PyValueError::new_err(text));
    }
    Budget::default().with(|b| b.threads = asked.threads).check().map_err(raise)?;
    let settings = CompleteSettings::default().with(|s| {
        s.held_out = asked.held_out.unwrap_or(s.held_out);
        s.folds = asked.folds.unwrap_or(s.folds);
        s.max_rank = asked.max_rank.unwrap_or(s.max_rank);
        s.seed = asked.seed;
        s.max_seconds = asked.max_seconds;
        s.fit.ridge = asked.ridge.unwrap_or(s.fit.ridge);
        s.fit.max_sweeps = asked.max_sweeps.unwrap_or(s.fit.max_sweeps);
        s.fit.max_bytes = Some(limit.bytes());
    });
    settings.clone().check().map_err(raise)?;
    let masked = array::unmasked(x)?.1.is_some();
    if mask.is_none() && !masked && !asked.data.nan_missing && asked.missing.is_none() {
        return Err(PyTypeError::new_err(
            "which entries are missing? give mask (True where an entry is missing), a masked array, nan_missing=True or missing=SHARE",
        ));
    }
    let remove = match asked.missing {
        Some(value) if !(value > 0.0 && value < 1.0) => {
            return Err(raise(MaskError::Share { name: "missing", value }));
        }
        share => share.map(|share| (share, asked.seed)),
    };
    let data = asked.data.load(x, mask, None, remove)?;
    let Some(holed) = data.holed.as_ref().filter(|holed| holed.missing() > 0) else {
        return Err(PyValueError::new_err("nothing is missing"));
    };
    warn(&data, py)?;
    let (target, dims) = (&data.target, data.target.dims());
    let graph = graph.map(|graph| template::template(graph, dims.len())).transpose()?;
    let left = |s: f64| (s - begun.elapsed().as_secs_f64()).max(s / 20.0);
    let settings = settings.with(|s| {
        s.template = graph.map(Arc::new);
        s.max_seconds = s.max_seconds.map(left);
    });
    let settings = settings.check().map_err(raise)?;
    let ring = OneRank { rank: asked.rank, ridge: asked.ridge, max_sweeps: asked.max_sweeps };
    let done = work::interruptible(py, |stop| {
        let found = way.fill(target, &settings, ring, asked.threads, stop, &mut |_| ());
        let found = found.map_err(raise)?;
        target.confirm(&found.network, found.rse, Some(limit.bytes())).map_err(raise)?;
        let z = found.network.to_tensor(Some(limit.bytes())).map_err(raise)?;
        let z = data.reshape.as_ref().map_or(z.clone(), |reshape: &Reshape| reshape.undo(z));
        let full = holed.filled(z).ok_or_else(|| {
            PyValueError::new_err("the network has numbers of another kind than the tensor")
        })?;
        Ok::<_, PyErr>((found, full))
    })?;
    let (found, full) = match (done.result, &done.interrupted) {
        (Err(_), Some(signal)) => return Err(signal.clone_ref(py)),
        (found, _) => found?,
    };
    let interrupted = done.interrupted.is_some();
    let mut values = structure_values(found.network.structure(), dims);
    values["method"] = json!(way);
    values["entries"] = holed.whole.len().into();
    values["observed"] = holed.observed.count().into();
    values["missing"] = holed.missing().into();
    values["empty_slices"] = json!(holed.observed.empty_slices());
    values["rse"] = json!(found.rse);
    values["held_out"] = json!(found.held_out);
    values["ridge"] = json!(found.ridge);
    values["recovered"] = json!(holed.recovered(&full));
    values["formats"] = json!(found.formats);
    values["structures"] = found.structures.into();
    values["sweeps"] = found.sweeps.into();
    values["seed"] = asked.seed.into();
    values["out_of_time"] = (found.interrupted && !interrupted).into();
    values["interrupted"] = interrupted.into();
    values["seconds"] = begun.elapsed().as_secs_f64().into();
    let network = PyNetwork::new(found.network, Some(found.rse), data.reshape.clone());
    Ok((from_json(py, &values)?, array::array(py, full)?, network))
}
