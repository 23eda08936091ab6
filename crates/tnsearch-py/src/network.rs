//! `tnsearch.Network`: a structure with its cores.

use crate::errors::raise;
use crate::structure::PyStructure;
use crate::{array, work};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use tnsearch::network::Network;
use tnsearch::tensor::Reshape;
use tnsearch_io::network::{self as file, Extras, Origin};
use tnsearch_io::{MemoryLimit, output::Output};

/// A network, and what its file says beside it.
#[pyclass(name = "Network", module = "tnsearch", frozen, subclass)]
pub struct PyNetwork {
    pub network: Network,
    /// Its error on the tensor it was fitted to.
    pub rse: Option<f64>,
    pub reshape: Option<Reshape>,
    pub origin: Option<Origin>,
}

impl PyNetwork {
    pub fn new(network: Network, rse: Option<f64>, reshape: Option<Reshape>) -> Self {
        PyNetwork { network, rse, reshape, origin: None }
    }
}

#[pymethods]
impl PyNetwork {
    /// From a structure and one core per vertex, shaped as `Structure.core_shape` says.
    #[new]
    #[pyo3(signature = (structure, cores, rse=None))]
    fn from_cores(
        structure: PyStructure,
        cores: Vec<Bound<'_, PyAny>>,
        rse: Option<f64>,
    ) -> PyResult<Self> {
        let vertices = structure.0.template().vertices();
        if cores.len() != vertices {
            let text =
                format!("{} cores were given; the structure has {vertices} vertices", cores.len());
            return Err(PyValueError::new_err(text));
        }
        let mut cores =
            cores.iter().map(|c| array::tensor(c, None)).collect::<PyResult<Vec<_>>>()?;
        let complex = cores.iter().any(|c| c.kind().is_complex());
        if complex {
            let kind = tnsearch::tensor::Kind::C64;
            cores = cores
                .into_iter()
                .map(|c| c.to_kind(kind))
                .collect::<Result<_, _>>()
                .map_err(raise)?;
        }
        // The modes come last in every core, in increasing order.
        let mut dims = vec![0; structure.0.permutation().len()];
        for (vertex, core) in cores.iter().enumerate() {
            let modes = structure.0.modes_at(vertex);
            let edges = structure.0.template().incident(vertex).count();
            if core.order() != edges + modes.len() {
                let (found, expected) = (core.order(), edges + modes.len());
                let text = format!(
                    "core {vertex} has {found} axes; it needs {expected}: {edges} edges and {} modes",
                    modes.len()
                );
                return Err(PyValueError::new_err(text));
            }
            for (k, &mode) in modes.iter().enumerate() {
                dims[mode] = core.dims()[edges + k];
            }
        }
        let network = Network::new(structure.0, dims, cores).map_err(raise)?;
        Ok(PyNetwork::new(network, rse, None))
    }

    /// Reads a network file, such as the command line writes.
    #[staticmethod]
    #[pyo3(signature = (path, *, max_memory=None))]
    fn load(py: Python<'_>, path: PathBuf, max_memory: Option<u64>) -> PyResult<Self> {
        let done = work::interruptible(py, |_| file::read(&path, MemoryLimit::new(max_memory)))?;
        done.interrupted.map_or(Ok(()), Err)?;
        let stored = done.result.map_err(raise)?;
        Ok(PyNetwork {
            network: stored.network,
            rse: Some(stored.rse),
            reshape: stored.reshape,
            origin: stored.origin,
        })
    }

    /// Writes the network as the command line does; what was there before is replaced only by a whole file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let output = Output::check(&path).map_err(raise)?;
        let extras = Extras { reshape: self.reshape.as_ref(), origin: self.origin, half: false };
        let rse = self.rse.unwrap_or(f64::NAN);
        if rse.is_nan() {
            return Err(PyValueError::new_err(
                "the network has no error to be saved with it; give Network(structure, cores, rse=...)",
            ));
        }
        output.write(|w| file::write_with(w, &self.network, rse, &extras)).map_err(raise)
    }

    /// The structure.
    #[getter]
    fn structure(&self) -> PyStructure {
        PyStructure(self.network.structure().clone())
    }

    /// The dimensions of its modes.
    #[getter]
    fn dims(&self) -> Vec<usize> {
        self.network.dims().to_vec()
    }

    /// The shape of the tensor it stands for: `dims`, unless that was reshaped before.
    #[getter]
    fn shape(&self) -> Vec<usize> {
        self.reshape.as_ref().map_or(self.network.dims(), Reshape::from).to_vec()
    }

    /// Whether the tensor was reshaped before it was fitted.
    #[getter]
    fn reshaped(&self) -> bool {
        self.reshape.is_some()
    }

    /// The cores, one array per vertex of the template, read-only and without copies: first the edges at the vertex in
    /// the order of `structure.edges`, then its modes.
    #[getter]
    fn cores<'py>(slf: &Bound<'py, Self>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        slf.get().network.cores().iter().map(|core| array::view(slf, core)).collect()
    }

    /// The number of entries of all cores.
    #[getter]
    fn params(&self) -> u128 {
        self.network.params()
    }

    /// The bytes of all cores.
    #[getter]
    fn nbytes(&self) -> usize {
        self.network.cores().iter().map(|core| core.bytes()).sum()
    }

    /// The squared relative error on the tensor it was fitted to; None where it is not known.
    #[getter]
    fn rse(&self) -> Option<f64> {
        self.rse
    }

    /// The dense tensor, in the shape of the one that was fitted.
    #[pyo3(signature = (*, max_memory=None))]
    fn to_dense<'py>(
        &self,
        py: Python<'py>,
        max_memory: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let done = work::interruptible(py, |_| {
            let bytes = MemoryLimit::new(max_memory).bytes();
            let dense = self.network.to_tensor(Some(bytes))?;
            Ok::<_, tnsearch::network::NetworkError>(match &self.reshape {
                Some(reshape) => reshape.undo(dense),
                None => dense,
            })
        })?;
        done.interrupted.map_or(Ok(()), Err)?;
        array::array(py, done.result.map_err(raise)?)
    }

    fn __repr__(&self) -> String {
        let (name, params) = (self.network.structure().template().name(), self.network.params());
        let ranks = self.network.structure().ranks();
        format!("Network({name}, dims={:?}, ranks={ranks:?}, params={params})", self.network.dims())
    }
}
