//! `tnsearch._core.Worker`: fits structures for a search that runs in another process.

use crate::array;
use crate::errors::raise;
use crate::network::PyNetwork;
use crate::work;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;
use tnsearch::fit::FitSettings;
use tnsearch::graph::Structure;
use tnsearch::network::Network;
use tnsearch::search::wire;
use tnsearch::tensor::Kind;

/// Made once from a job; then it answers requests.
#[pyclass(name = "Worker", module = "tnsearch._core", frozen)]
pub struct PyWorker(wire::Worker, Vec<usize>);

#[pymethods]
impl PyWorker {
    /// From a job's header and the bytes of its entries: anything with a buffer (bytes, a mapped file, an array). Large
    /// ones are read where they are.
    #[new]
    fn new(py: Python<'_>, header: &[u8], entries: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (kind, dims) = wire::Worker::shape(header).map_err(raise)?;
        let dtype = match kind {
            Kind::F32 => "f4",
            Kind::F64 => "f8",
            Kind::C32 => "c8",
            Kind::C64 => "c16",
        };
        let flat = py.import("numpy")?.call_method1("frombuffer", (entries, dtype))?;
        let tensor = array::tensor(&flat.call_method1("reshape", (dims.clone(),))?, Some(kind))?;
        let worker = py.detach(|| wire::Worker::with_tensor(header, tensor)).map_err(raise)?;
        Ok(PyWorker(worker, dims))
    }

    /// The answer to a request that has waited so many seconds since it was submitted.
    #[pyo3(signature = (request, waited=0.0))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        request: &[u8],
        waited: f64,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let done = work::interruptible(py, |stop| self.0.run(request, waited, stop))?;
        done.interrupted.map_or(Ok(()), Err)?;
        Ok(PyBytes::new(py, &done.result.map_err(raise)?))
    }

    /// The network that answers a request, fitted by least squares as far as its settings allow: whether it is good
    /// enough is for others to say. And whether it was cut short.
    fn fit(&self, py: Python<'_>, request: &[u8], waited: f64) -> PyResult<(PyNetwork, bool)> {
        let mut asked = wire::Asked::from_bytes(request).map_err(raise)?;
        let settings =
            FitSettings::clone(&asked.request.settings).with(|s| s.enough_rse = s.stop_rse);
        asked.request.settings = Arc::new(settings.check().map_err(raise)?);
        let bytes = asked.to_bytes();
        let done = work::interruptible(py, |stop| self.0.run(&bytes, waited, stop))?;
        done.interrupted.map_or(Ok(()), Err)?;
        let answer = wire::answer_from_bytes(&done.result.map_err(raise)?).map_err(raise)?;
        let fitted = answer.map_err(raise)?;
        let structure = Structure::of_graph(&asked.request.graph).map_err(raise)?;
        let network =
            Network::from_fitted(structure, self.1.clone(), fitted.cores).map_err(raise)?;
        Ok((PyNetwork::new(network, Some(fitted.error), None), fitted.interrupted))
    }
}

/// What workers are made from, as `Worker` takes it: the header, and a read-only array of the bytes of the entries,
/// which are not copied as long as the owner of the job lives.
#[pyclass(name = "Job", module = "tnsearch._core", frozen)]
pub struct PyJob(pub wire::Job);

#[pymethods]
impl PyJob {
    /// Everything but the entries.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.header())
    }

    /// The tensor that is fitted, read-only and without a copy.
    #[getter]
    fn entries<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        array::view(slf, slf.get().0.tensor())
    }
}
