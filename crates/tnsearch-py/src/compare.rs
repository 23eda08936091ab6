//! `tnsearch.compare`: every method on one tensor, side by side.

use crate::data::DataOptions;
use crate::errors::{pythonic, raise};
use crate::structure::from_json;
use crate::{options, work};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;
use tnsearch::search::AskedSearch;
use tnsearch_app::compare::{AskedComparison, Step};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    data: DataOptions,
    search: AskedSearch,
    methods: Vec<String>,
}

/// Compares methods: rows and verdict as a dict. `hear` is called with a line as each method begins.
#[pyfunction]
#[pyo3(signature = (x, given, hear=None))]
pub fn compare<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    given: &Bound<'py, PyDict>,
    hear: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Options { data, search, methods } = options::read(given)?;
    let compare = AskedComparison { search, methods }.check(data.limit()?).map_err(raise)?;
    let data = data.load_whole(x, None)?;
    let done = work::interruptible(py, |stop| {
        compare.run(&data.target, stop, |step| {
            if let (Step::Begin { number, of, method }, Some(hear)) = (step, &hear) {
                let line = format!("{number} of {of} methods: {method}");
                // A line that cannot be shown is no reason to end.
                Python::attach(|py| drop(hear.call1(py, (line,))));
            }
        })
    })?;
    let mut found = done.result;
    if let (true, Some(signal)) = (found.rows.is_empty(), done.interrupted) {
        return Err(signal);
    }
    for row in &mut found.rows {
        row.reason = row.reason.take().map(|reason| pythonic(&reason));
    }
    let used = compare.search();
    let values = json!({
        "rows": found.rows,
        "verdict": found.verdict(),
        "table": found.to_string(),
        "objective": found.objective.recorded(),
        "target_reached": found.rows.iter().any(|row| row.target_reached),
        "interrupted": found.interrupted,
        "max_seconds": used.max_seconds,
        "max_evaluations": used.max_evaluations,
        "seed": used.seed,
    });
    from_json(py, &values)
}
