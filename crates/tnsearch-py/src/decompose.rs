//! `tnsearch.decompose` and `round`: networks without a search.

use crate::data::DataOptions;
use crate::errors::{pythonic, raise};
use crate::network::PyNetwork;
use crate::options::Memory;
use crate::report::structure_values;
use crate::structure::from_json;
use crate::{options, template, work};
use pyo3::exceptions::{PyTimeoutError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;
use tnsearch::decompose::{
    DecomposeError, DecomposeSettings, Limits, RoundGoal, Shares, allowed, round_onto,
};
use tnsearch::search::Budget;
use tnsearch_io::MemoryLimit;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    data: DataOptions,
    method: String,
    permutation: Vec<usize>,
    max_re: Option<f64>,
    max_rse: Option<f64>,
    shares: Option<String>,
    ranks: Vec<usize>,
    restarts: Option<usize>,
    max_sweeps: Option<usize>,
    tolerance: Option<f64>,
    max_rank: Option<usize>,
    seed: u64,
    max_seconds: Option<f64>,
}

impl Options {
    fn settings(&self) -> PyResult<DecomposeSettings> {
        let rse = allowed(self.max_re, self.max_rse).map_err(raise)?;
        if rse.is_some() && !self.ranks.is_empty() {
            return Err(PyValueError::new_err(
                "ranks and an error were both given; they exclude each other",
            ));
        }
        let shares = match self.shares.as_deref() {
            None | Some("optimal") => Shares::Optimal,
            Some("equal") => Shares::Equal,
            Some(other) => {
                let text = format!("shares is '{other}'; use 'optimal' or 'equal'");
                return Err(PyValueError::new_err(text));
            }
        };
        let method = self.method.parse().map_err(raise)?;
        Ok(DecomposeSettings::new(method).with(|s| {
            s.permutation = self.permutation.clone();
            s.max_rse = rse.unwrap_or(s.max_rse);
            s.shares = shares;
            s.ranks = self.ranks.clone();
            s.restarts = self.restarts;
            s.max_sweeps = self.max_sweeps;
            s.tolerance = self.tolerance;
            s.max_rank = self.max_rank;
            s.seed = self.seed;
        }))
    }
}

/// A decomposition that ended without a result: by Ctrl-C, by time, or by an error.
fn ended(error: DecomposeError, signal: Option<PyErr>) -> PyErr {
    match (error, signal) {
        (DecomposeError::Interrupted, Some(signal)) => signal,
        (DecomposeError::Interrupted, None) => PyTimeoutError::new_err(
            "the time was up before there was a result; give more max_seconds",
        ),
        (error, _) => raise(error),
    }
}

fn check_seconds(seconds: Option<f64>) -> PyResult<f64> {
    Budget::default().with(|b| b.max_seconds = seconds).check().map_err(raise)?;
    Ok(seconds.unwrap_or(f64::INFINITY))
}

/// Decomposes a tensor in a fixed format: what was found as a dict, and the network.
#[pyfunction]
#[pyo3(signature = (x, graph, given))]
pub fn decompose<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    graph: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, PyNetwork)> {
    let asked: Options = options::read(given)?;
    let settings = asked.settings()?;
    settings.check(graph.is_some()).map_err(raise)?;
    let seconds = check_seconds(asked.max_seconds)?;
    let bytes = asked.data.limit()?.bytes();
    let data = asked.data.load_whole(x, None)?;
    let (target, dims) = (&data.target, data.target.dims());
    let graph = graph.map(|graph| template::template(graph, dims.len())).transpose()?;
    let template = settings.template(dims.len(), graph.map(Arc::new)).map_err(raise)?;
    let goal = settings.goal(&template).map_err(raise)?;
    let done = work::interruptible(py, |stop| {
        let limits = Limits::none().with(|l| {
            l.max_bytes = target.left_of(Some(bytes));
            l.stop = stop.within_seconds(seconds);
        });
        settings.run(target, &template, &limits)
    })?;
    let found = done.result.map_err(|e| ended(e, done.interrupted))?;
    py.detach(|| target.confirm(&found.network, found.rse, Some(bytes))).map_err(raise)?;
    let mut values = structure_values(found.network.structure(), dims);
    values["method"] = settings.method.to_string().into();
    values["max_rse"] = json!(goal.rse());
    let missed = goal.rse().filter(|eps| found.rse > *eps);
    values["target_reached"] = missed.is_none().into();
    let rounding = missed.and_then(|eps| target.kind().too_coarse_for(eps));
    values["rounding"] = json!(rounding.map(|text| pythonic(&text)));
    values["rse"] = json!(found.rse);
    values["sweeps"] = found.sweeps.into();
    values["seed"] = asked.seed.into();
    values["interrupted"] = found.interrupted.into();
    values["settings"] = json!(settings.iterating().map_err(raise)?);
    let network = PyNetwork::new(found.network, Some(found.rse), data.reshape);
    Ok((from_json(py, &values)?, network))
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct RoundOptions {
    max_re: Option<f64>,
    max_rse: Option<f64>,
    max_params: Option<u64>,
    ranks: Vec<usize>,
    permutation: Vec<usize>,
    max_seconds: Option<f64>,
    max_memory: Memory,
}

impl RoundOptions {
    fn check(&self) -> PyResult<Option<f64>> {
        let given = [
            self.max_re.is_some(),
            self.max_rse.is_some(),
            self.max_params.is_some(),
            !self.ranks.is_empty(),
        ];
        match given.iter().filter(|given| **given).count() {
            1 => allowed(self.max_re, self.max_rse).map_err(raise),
            _ => Err(PyValueError::new_err(
                "one of max_re, max_rse, max_params and ranks says what the rounded network is to reach",
            )),
        }
    }
}

/// A smaller network near a given one: what was found as a dict, and the network.
#[pyfunction]
#[pyo3(signature = (net, graph, given))]
pub fn round<'py>(
    py: Python<'py>,
    net: &Bound<'py, PyNetwork>,
    graph: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, PyNetwork)> {
    let asked: RoundOptions = options::read(given)?;
    let eps = asked.check()?;
    let seconds = check_seconds(asked.max_seconds)?;
    let limit: MemoryLimit = asked.max_memory.limit()?;
    let inside = net.get();
    let before = &inside.network;
    let template = graph.map(|graph| template::template(graph, before.dims().len())).transpose()?;
    let template = template.map(Arc::new);
    let on = template.as_ref().unwrap_or(before.structure().template());
    let goal = match (eps, asked.max_params) {
        (Some(eps), _) => RoundGoal::max_rse(eps).map_err(raise)?,
        (_, Some(params)) => RoundGoal::max_params(params.into()),
        _ => RoundGoal::ranks_along(on, &asked.ranks).map_err(raise)?,
    };
    let done = work::interruptible(py, |stop| {
        let limits = Limits::none().with(|l| {
            l.max_bytes = Some(limit.bytes());
            l.stop = stop.within_seconds(seconds);
        });
        match &template {
            None => tnsearch::decompose::round(before, &goal, &limits),
            Some(template) => {
                let perm = (!asked.permutation.is_empty()).then_some(&asked.permutation[..]);
                round_onto(before, template, perm, &goal, &limits)
            }
        }
    })?;
    let found = done.result.map_err(|e| ended(e, done.interrupted))?;
    let near = || found.network.confirm_near(before, found.rse, found.floor, Some(limit.bytes()));
    py.detach(near).map_err(raise)?;
    let at_most = inside.rse.map(|rse| found.against_tensor(rse));
    let mut values = structure_values(found.network.structure(), found.network.dims());
    values["rse"] = json!(found.rse);
    values["rse_floor"] = json!(found.floor);
    values["rse_tensor_at_most"] = json!(at_most);
    values["params_before"] = crate::report::whole(before.params()).into();
    values["max_rse"] = json!(goal.rse());
    values["target_reached"] = goal.rse().is_none_or(|eps| found.rse <= eps).into();
    values["sweeps"] = found.sweeps.into();
    values["interrupted"] = found.interrupted.into();
    let network = PyNetwork::new(found.network, at_most, inside.reshape.clone());
    Ok((from_json(py, &values)?, network))
}
