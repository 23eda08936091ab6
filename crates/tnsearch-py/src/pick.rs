//! `tnsearch.pick`: one point of a search's Pareto front as a network.

use crate::errors::raise;
use crate::network::PyNetwork;
use crate::options::Memory;
use crate::report::structure_values;
use crate::structure::from_json;
use crate::verify::Contents;
use crate::{array, options, work};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;
use std::path::PathBuf;
use tnsearch::search::Budget;
use tnsearch_app::load::Source;
use tnsearch_app::pick::{Recorded, Which};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    params: Option<u64>,
    max_re: Option<f64>,
    max_rse: Option<f64>,
    max_seconds: Option<f64>,
    max_memory: Memory,
}

/// A point as a network: the numbers as a dict, and the network. The search is a summary (JSON, or its file) or a journal.
#[pyfunction]
#[pyo3(signature = (search, x, given))]
pub fn pick<'py>(
    py: Python<'py>,
    search: Contents,
    x: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, PyNetwork)> {
    let asked: Options = options::read(given)?;
    Budget::default().with(|b| b.max_seconds = asked.max_seconds).check().map_err(raise)?;
    let limit = asked.max_memory.limit()?;
    let (max_re, max_rse) = (asked.max_re, asked.max_rse);
    let which = Which { params: asked.params.map(u128::from), max_re, max_rse };
    which.check().map_err(raise)?;
    let recorded = match search {
        Contents::File(path) => Recorded::read(&path),
        Contents::Text(text) => Recorded::of_summary(&text),
    };
    let recorded = recorded.map_err(raise)?;
    for said in &recorded.warnings {
        py.import("warnings")?.call_method1("warn", (said,))?;
    }
    let source = match x {
        Some(x) => match x.extract::<PathBuf>() {
            Ok(path) => Source::File(path.to_string_lossy().into_owned()),
            Err(_) => Source::Array(array::tensor(array::as_numpy(x)?.as_any(), None)?),
        },
        None => recorded.source().map_err(raise)?,
    };
    let target = py.detach(|| recorded.target(&source, limit)).map_err(raise)?;
    let done = work::interruptible(py, |stop| {
        let stop = stop.within_seconds(asked.max_seconds.unwrap_or(f64::INFINITY));
        recorded.pick(&which, &target, limit, &stop)
    })?;
    let picked = match (done.result, done.interrupted) {
        (Err(_), Some(signal)) => return Err(signal),
        (picked, _) => picked.map_err(raise)?,
    };
    let mut values = structure_values(picked.network.structure(), target.dims());
    values["rse"] = json!(picked.rse);
    values["rse_recorded"] = json!(picked.rse_recorded);
    values["target_reached"] = picked.target_reached.into();
    values["seed"] = picked.seed.into();
    values["interrupted"] = picked.interrupted.into();
    values["points"] = picked.points.into();
    let network = PyNetwork::new(picked.network, Some(picked.rse), recorded.reshape.clone());
    Ok((from_json(py, &values)?, network))
}
