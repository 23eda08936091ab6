//! `tnsearch.verify`: every claim about a network and its tensor, computed anew along another path.

use crate::data::DataOptions;
use crate::errors::raise;
use crate::report::Given as Structured;
use crate::structure::from_json;
use crate::{options, work};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use tnsearch_app::certificate::CASES;
use tnsearch_app::verify::{Claims, read_certificate, read_summary};
use tnsearch_verify::Certificate;

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

/// JSON, or the file that it is in.
#[derive(FromPyObject)]
pub enum Contents {
    Text(String),
    File(PathBuf),
}

/// What came of each claim, as a dict. The summary and the certificate are JSON, or files.
#[pyfunction]
#[pyo3(signature = (x, net, summary, certificate, mask, given))]
pub fn verify<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    net: Option<&Bound<'py, PyAny>>,
    summary: Option<Contents>,
    certificate: Option<Contents>,
    mask: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    let asked: Options = options::read(given)?;
    let summary: Option<Value> = match summary {
        Some(Contents::File(path)) => Some(read_summary(&path).map_err(raise)?),
        Some(Contents::Text(text)) => {
            Some(serde_json::from_str(&text).map_err(|e| bad("the summary", &e))?)
        }
        None => None,
    };
    let certificate = match certificate {
        Some(Contents::File(path)) => Some(read_certificate(&path).map_err(raise)?),
        Some(Contents::Text(text)) => {
            Some(Certificate::parse(&text).map_err(|e| bad("the certificate", &e))?)
        }
        None => None,
    };
    let net = net.map(Structured::of).transpose()?;
    let network = match &net {
        Some(Structured { network: Some(network), .. }) => {
            let inside = network.get();
            Some((&inside.network, inside.reshape.as_ref(), inside.rse))
        }
        Some(_) => {
            let text = "net is a structure; what is checked is a Network";
            return Err(PyTypeError::new_err(text));
        }
        None => None,
    };
    let claims = Claims {
        network,
        summary: summary.as_ref(),
        certificate: certificate.as_ref(),
        loss: asked.loss,
        template: asked.template,
        max_rank: asked.max_rank,
    };
    let remove = asked.missing.map(|share| (share, asked.seed));
    let known = claims.reshape().map_err(raise)?;
    let data = asked.data.or_kind(claims.kind()).load(x, mask, known.as_ref(), remove)?;
    if let Some(net) = &net {
        net.check_shape(data.target.dims())?;
    }
    let cases = asked.max_cases.unwrap_or(CASES);
    let done = work::interruptible(py, |stop| {
        let stop = stop.within_seconds(asked.max_seconds.unwrap_or(f64::INFINITY));
        claims.verify(&data, cases, &stop)
    })?;
    done.interrupted.map_or(Ok(()), Err)?;
    let found = done.result.map_err(raise)?;
    let values = json!({"verdict": found.outcome(asked.strict), "claims": found});
    from_json(py, &values)
}

fn bad(what: &str, e: &dyn std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{what}: {e}"))
}
