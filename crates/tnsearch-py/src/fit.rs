//! `tnsearch.fit`: the cores of one structure.

use crate::data::{DataOptions, warn};
use crate::errors::raise;
use crate::network::PyNetwork;
use crate::report::{Given, structure_values};
use crate::structure::from_json;
use crate::{options, work};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;
use std::time::Instant;
use tnsearch::fit::{AskedFit, FitSettings, RESCUE_ALONE, Run, fit_network};
use tnsearch::problem::{Loss as _, LossSpec};
use tnsearch::search::Budget;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    data: DataOptions,
    fit: AskedFit,
    loss: LossSpec,
    seed: u64,
    max_seconds: Option<f64>,
    threads: Option<usize>,
}

/// Fits one structure: what was found as a dict, and the network.
#[pyfunction]
#[pyo3(signature = (x, structure, mask, given))]
pub fn fit<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    structure: &Bound<'py, PyAny>,
    mask: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, PyNetwork)> {
    let begun = Instant::now();
    let asked: Options = options::read(given)?;
    let limit = asked.data.limit()?;
    let settings = asked.fit.settings(asked.max_seconds, limit.bytes());
    let rescue = asked.fit.rescue.unwrap_or(RESCUE_ALONE);
    let settings = settings.with(|s| s.rescue = rescue).check().map_err(raise)?;
    Budget::default().with(|b| b.threads = asked.threads).check().map_err(raise)?;
    let structure = Given::of(structure)?;
    let data = asked.data.load(x, mask, structure.reshape.as_ref(), None)?;
    warn(&data, py)?;
    structure.check_shape(data.target.dims())?;
    let (structure, target) = (&structure.structure, &data.target);
    let loss = asked.loss.for_target(target).map_err(raise)?;
    let measure = loss.measure();
    // What it took to take the tensor is part of the limit.
    let left = |s: f64| (s - begun.elapsed().as_secs_f64()).max(s / 20.0);
    let timed = FitSettings::clone(&settings).with(|s| s.max_seconds = s.max_seconds.map(left));
    let timed = timed.check().map_err(raise)?;
    let done = work::interruptible(py, |stop| {
        let run = Run::until(stop).by(&*loss);
        fit_network(target, structure, &timed, asked.seed, asked.threads, &run)
    })?;
    let fitted = match (done.result, done.interrupted) {
        (Err(_), Some(signal)) => return Err(signal),
        (found, _) => found.map_err(raise)?,
    };
    py.detach(|| target.confirm(&fitted.network, fitted.rse, settings.max_bytes)).map_err(raise)?;
    let mut values = structure_values(structure, target.dims());
    values["measure"] = json!(measure);
    values["error"] = json!(fitted.error);
    values["rse"] = json!(fitted.rse);
    values["sweeps"] = fitted.sweeps.into();
    values["restarts"] = fitted.restarts.into();
    values["interrupted"] = fitted.interrupted.into();
    values["method"] = json!(timed.method);
    values["seed"] = asked.seed.into();
    values["seconds"] = begun.elapsed().as_secs_f64().into();
    let network = PyNetwork::new(fitted.network, Some(fitted.rse), data.reshape);
    Ok((from_json(py, &values)?, network))
}
