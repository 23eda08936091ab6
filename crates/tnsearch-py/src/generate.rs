//! `tnsearch.generate`: random tensors with a known structure, and examples.

use crate::errors::raise;
use crate::network::PyNetwork;
use crate::{array, options, template, work};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tnsearch_app::generate::{AskedTensor, From};

/// A tensor, and the network that is hidden in it, where there is one.
#[pyfunction]
#[pyo3(signature = (graph, given))]
pub fn generate<'py>(
    py: Python<'py>,
    graph: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Option<PyNetwork>)> {
    let asked: AskedTensor = options::read(given)?;
    let order = asked.dims().map_err(raise)?.len();
    let graph = graph.map(|graph| template::template(graph, order)).transpose()?;
    let done = work::interruptible(py, |_| asked.make(graph))?;
    done.interrupted.map_or(Ok(()), Err)?;
    let made = done.result.map_err(raise)?;
    let hidden = match made.from {
        From::Hidden { network, rse } => Some(PyNetwork::new(*network, Some(rse), None)),
        From::Example(_) => None,
    };
    Ok((array::array(py, made.tensor.into())?, hidden))
}
