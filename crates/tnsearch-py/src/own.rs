//! Evaluations by functions of the user: what they are asked, and what they answer.

use crate::errors::raise;
use crate::network::PyNetwork;
use crate::structure::PyStructure;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tnsearch::fit::Fitted;
use tnsearch::graph::Structure;
use tnsearch::problem::{Loss, Measure};
use tnsearch::search::wire::{Asked, answer_to_bytes};

/// An error that only the user's function knows. Structures are evaluated elsewhere; nothing is bounded.
#[derive(Debug)]
pub struct OwnLoss;

impl Loss for OwnLoss {
    fn measure(&self) -> Measure {
        Measure::new("error", "error", "error by a function of one's own", None)
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        (x - z).powi(2)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        2.0 * (z - x)
    }
}

/// The structure that a request asks about, and the seed of its fit.
#[pyfunction]
pub fn describe_request(request: &[u8]) -> PyResult<(PyStructure, u64)> {
    let Asked { request, .. } = Asked::from_bytes(request).map_err(raise)?;
    Ok((PyStructure(Structure::of_graph(&request.graph).map_err(raise)?), request.seed))
}

/// The answer to a request: the error of its structure, its network where there is one, and whether it was cut short.
#[pyfunction]
#[pyo3(signature = (request, error, network=None, interrupted=false))]
pub fn own_answer<'py>(
    py: Python<'py>,
    request: &[u8],
    error: f64,
    network: Option<PyRef<'_, PyNetwork>>,
    interrupted: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    if !(error.is_finite() && error >= 0.0) {
        let text = format!(
            "the error of a structure is {error}; it must be a finite number of at least 0"
        );
        return Err(PyValueError::new_err(text));
    }
    let Asked { request, .. } = Asked::from_bytes(request).map_err(raise)?;
    let cores = match network {
        None => Vec::new(),
        Some(network) => {
            let (graph, cores) = network.network.to_mode_graph();
            if graph != request.graph {
                let text = "the network has another structure than was asked for; give one of trial.structure";
                return Err(PyValueError::new_err(text));
            }
            cores
        }
    };
    let fitted =
        Fitted { cores, error, sweeps: 0, restarts: 1, rescued: false, interrupted, graph: None };
    Ok(PyBytes::new(py, &answer_to_bytes(&Ok(fitted))))
}
