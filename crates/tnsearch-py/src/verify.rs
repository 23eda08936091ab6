//! `tnsearch.verify`: every claim about a network and its tensor, computed anew along another path.

use crate::data::DataOptions;
use crate::report::Given as Structured;
use crate::structure::from_json;
use crate::{options, work};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Value, json};
use tnsearch::tensor::Reshape;
use tnsearch_io::verify::{self as numbers, Prover};
use tnsearch_verify::claims::{self, Given};
use tnsearch_verify::{Certificate, Limits};

/// Cases that a proof may have where none is given.
const CASES: usize = 200_000;

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    data: DataOptions,
    loss: Option<String>,
    template: Option<Value>,
    max_rank: Option<u64>,
    max_cases: Option<usize>,
    missing: Option<f64>,
    seed: u64,
    strict: bool,
    max_seconds: Option<f64>,
}

/// What came of each claim, as a dict. The summary and the certificate are JSON.
#[pyfunction]
#[pyo3(signature = (x, net, summary, certificate, mask, given))]
pub fn verify<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    net: Option<&Bound<'py, PyAny>>,
    summary: Option<&str>,
    certificate: Option<&str>,
    mask: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: Options = options::read(given)?;
    let limit = asked.data.limit()?;
    let bad = |what: &str, e: &dyn std::fmt::Display| PyValueError::new_err(format!("{what}: {e}"));
    let summary: Option<Value> =
        summary.map(serde_json::from_str).transpose().map_err(|e| bad("the summary", &e))?;
    let certificate = certificate.map(Certificate::parse).transpose();
    let certificate = certificate.map_err(|e| bad("the certificate", &e))?;
    let net = net.map(Structured::of).transpose()?;
    let network = match &net {
        Some(net) => match &net.network {
            Some(network) => Some(network.clone()),
            None => {
                let text = "net is a structure; what is checked is a Network";
                return Err(PyTypeError::new_err(text));
            }
        },
        None => None,
    };
    let known: Option<Reshape> = match (&net, &certificate) {
        (Some(net), _) => net.reshape.clone(),
        (None, Some(c)) => serde_json::from_value(c.reshaped.clone())
            .map_err(|e| bad("the certificate's 'reshaped'", &e))?,
        (None, None) => None,
    };
    let remove = asked.missing.map(|share| (share, asked.seed));
    let data = asked.data.load(x, mask, known.as_ref(), remove)?;
    if let Some(net) = &net {
        net.check_shape(data.target.dims())?;
    }
    let json = |e: serde_json::Error| PyValueError::new_err(e.to_string());
    let stored = match network.as_ref().map(|network| network.get()) {
        Some(inside) => Some(
            numbers::stored(&inside.network, inside.reshape.as_ref(), inside.rse).map_err(json)?,
        ),
        None => None,
    };
    let target = &data.target;
    let reshaped = numbers::reshaped(data.reshape.as_ref()).map_err(json)?;
    let done = work::interruptible(py, |stop| {
        let stop = stop.within_seconds(asked.max_seconds.unwrap_or(f64::INFINITY));
        let (x, known) = (numbers::tensor(target), numbers::known(target));
        let removed = data.holed.as_ref().and_then(|holed| {
            let removed = holed.removed.as_ref()?;
            if data.reshape.as_ref().is_some_and(Reshape::copies) {
                return None;
            }
            let mut whole = numbers::array(&holed.whole, 1.0);
            whole.dims = target.dims().to_vec();
            Some((whole, removed.as_slice().to_vec()))
        });
        let given = Given {
            x: &x,
            known: known.as_deref(),
            dtype: target.kind().name(),
            reshaped,
            network: stored,
            summary: summary.as_ref(),
            certificate: certificate.as_ref(),
            removed,
            loss: asked.loss.as_deref(),
            template: asked.template,
            max_rank: asked.max_rank,
        };
        let read = |name: &str| Err(format!("the network before, '{name}', is not read here"));
        let cases = asked.max_cases.unwrap_or(CASES);
        let reshape = data.reshape.as_ref();
        let prover = Prover { target, reshape, cases, limit, stop: &stop, read: &read };
        let asks = || stop.is_set();
        claims::verify(&given, &prover, &Limits { bytes: limit.bytes(), stop: &asks })
    })?;
    done.interrupted.map_or(Ok(()), Err)?;
    let found = done.result;
    let values = json!({"verdict": found.outcome(asked.strict), "claims": found});
    from_json(py, &values)
}
