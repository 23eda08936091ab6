//! `tnsearch.Network`: a structure with its cores.

use crate::errors::raise;
use crate::options::Memory;
use crate::structure::{PyStructure, from_json, to_json};
use crate::{array, index, work};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use tnsearch::network::Network;
use tnsearch::tensor::{Kind, ModeNames, Reshape};
use tnsearch_io::network::{self as file, Extras, Origin};
use tnsearch_io::{MemoryLimit, output::Output};
use tnsearch_report::{network_layout, network_svg_named};

/// A network, and what its file says beside it.
#[pyclass(name = "Network", module = "tnsearch", frozen, subclass)]
pub struct PyNetwork {
    pub network: Network,
    /// Its error on the tensor it was fitted to.
    pub rse: Option<f64>,
    pub reshape: Option<Reshape>,
    pub origin: Option<Origin>,
    /// Whether its cores are written with 16 bits.
    pub half: bool,
}

impl PyNetwork {
    pub fn new(network: Network, rse: Option<f64>, reshape: Option<Reshape>) -> Self {
        PyNetwork { network, rse, reshape, origin: None, half: false }
    }

    /// The shape of the tensor it stands for.
    pub fn own(&self) -> &[usize] {
        self.reshape.as_ref().map_or(self.network.dims(), Reshape::from)
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
        let cores = cores
            .iter()
            .map(|core| array::owned(array::tensor_as_it_is(core)?))
            .collect::<PyResult<Vec<_>>>()?;
        let kind = cores.iter().map(|c| c.kind()).reduce(wider).unwrap_or(Kind::F64);
        let cores = cores.into_iter().map(|c| c.to_kind(kind)).collect::<Result<Vec<_>, _>>();
        let cores = cores.map_err(raise)?;
        // The modes come last in every core, in increasing order.
        let mut dims = vec![0; structure.0.permutation().len()];
        for (vertex, core) in cores.iter().enumerate() {
            let modes = structure.0.modes_at(vertex);
            // The hub of a CP is a vector of ones.
            let edges = match structure.0.template().copy_vertex() == Some(vertex) {
                true => 1,
                false => structure.0.template().incident(vertex).count(),
            };
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
    fn load(py: Python<'_>, path: PathBuf, max_memory: Option<Memory>) -> PyResult<Self> {
        let limit = max_memory.unwrap_or_default().limit()?;
        let done = work::interruptible(py, |_| file::read(&path, limit))?;
        done.interrupted.map_or(Ok(()), Err)?;
        let stored = done.result.map_err(raise)?;
        Ok(PyNetwork {
            network: stored.network,
            rse: Some(stored.rse),
            reshape: stored.reshape,
            origin: stored.origin,
            half: false,
        })
    }

    /// Writes the network as the command line does; what was there before is replaced only by a whole file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let output = Output::check(&path).map_err(raise)?;
        let extras =
            Extras { reshape: self.reshape.as_ref(), origin: self.origin, half: self.half };
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
        self.own().to_vec()
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

    /// The kind of number, as a dtype of NumPy.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("numpy")?.call_method1("dtype", (index::dtype_name(self.network.kind()),))
    }

    /// The number of modes of the tensor it stands for.
    #[getter]
    fn ndim(&self) -> usize {
        self.own().len()
    }

    /// The number of entries of the tensor it stands for.
    #[getter]
    fn size(&self) -> u128 {
        tnsearch::tensor::size(self.own())
    }

    fn __len__(&self) -> usize {
        self.own().first().copied().unwrap_or(0)
    }

    /// Entries of the tensor by integers, slices and `...`, as NumPy has them: only what is asked for is contracted.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        index::item(slf, key)
    }

    /// The entries at the rows of an integer array (m, ndim).
    fn entries<'py>(
        slf: &Bound<'py, Self>,
        indices: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        index::entries(slf, indices)
    }

    /// `net @ v`: the sum over the last mode times a vector, or a matrix; the same as `net.to_dense() @ v`.
    fn __matmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        index::matmul(slf, other, false)
    }

    /// `v @ net`: the sum over the last mode but one; the same as `v @ net.to_dense()`.
    fn __rmatmul__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        index::matmul(slf, other, true)
    }

    /// Sums over several modes at once: a dict of modes, each with a vector, which takes it away, or a matrix (K, M), which
    /// leaves M. The dense tensor is not formed.
    #[pyo3(signature = (vectors, *, max_memory=None))]
    fn apply<'py>(
        slf: &Bound<'py, Self>,
        vectors: &Bound<'py, PyDict>,
        max_memory: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        index::apply(slf, vectors, max_memory)
    }

    /// NumPy's arithmetic does not make it dense unasked; `np.asarray` and `to_dense` do.
    #[classattr]
    fn __array_ufunc__() -> Option<u8> {
        None
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err(
                "the dense tensor of a network is always a new array",
            ));
        }
        let dense = self.to_dense(py, None)?;
        match dtype {
            Some(dtype) => dense.call_method1("astype", (dtype,)),
            None => Ok(dense),
        }
    }

    /// A `quimb.tensor.TensorNetwork` of the cores: the outer indices `k0, k1, ...` are the modes in their order
    /// (those of `dims`), each core has the tag `CORE<vertex>` and the tag `I<mode>` of each of its modes.
    ///
    /// With `kind="mps"` it is a `quimb.tensor.MatrixProductState` whose sites are the modes in their order: for paths with
    /// one mode on each vertex. Where the modes stand on the path in another order, neighbours are swapped by SVDs that
    /// drop nothing.
    #[pyo3(signature = (*, outer="k{}", kind=None))]
    fn to_quimb<'py>(
        slf: &Bound<'py, Self>,
        outer: &str,
        kind: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        part(slf.py(), "_interop")?.call_method1("to_quimb", (slf, outer, kind))
    }

    /// A network of the tensors of a `quimb.tensor.TensorNetwork`. `outer` are its outer indices in the order of the
    /// modes; without it they are taken by the number at their end (`k0, k1, ...`).
    #[staticmethod]
    #[pyo3(signature = (tn, *, outer=None, rse=None))]
    fn from_quimb<'py>(
        tn: &Bound<'py, PyAny>,
        outer: Option<Bound<'py, PyAny>>,
        rse: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        part(tn.py(), "_interop")?.call_method1("from_quimb", (tn, outer, rse))
    }

    /// The cores as tensorly has them, and a permutation: `(tt, permutation)` with
    /// `tl.tt_to_tensor(tt).transpose(permutation)` the dense tensor. Paths become a `TTTensor`, rings a `TRTensor`
    /// (`tl.tr_to_tensor`), Tucker networks a `TuckerTensor` (`tl.tucker_to_tensor`; their permutation changes nothing).
    fn to_tensorly<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        part(slf.py(), "_interop")?.call_method1("to_tensorly", (slf,))
    }

    /// A network of a `TTTensor`, `TRTensor` or `TuckerTensor` of tensorly, or of what they are made of (a list of
    /// cores of three axes; a core and its factors). With a permutation `p` it stands for the dense tensor
    /// `.transpose(p)`.
    #[staticmethod]
    #[pyo3(signature = (factors, permutation=None, *, rse=None))]
    fn from_tensorly<'py>(
        factors: &Bound<'py, PyAny>,
        permutation: Option<Bound<'py, PyAny>>,
        rse: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        part(factors.py(), "_interop")?.call_method1("from_tensorly", (factors, permutation, rse))
    }

    /// `(subscripts, operands)` for `np.einsum(subscripts, *operands)`, which gives the tensor in the shape `dims`.
    /// Beyond 52 letters the others of Unicode follow, as `opt_einsum` has them (NumPy does not take those).
    fn einsum<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        part(slf.py(), "_interop")?.call_method1("einsum", (slf,))
    }

    /// The order in which to contract the cores: a list of tuples, for `np.einsum(..., optimize=["einsum_path", *path])`
    /// or `opt_einsum.contract(..., optimize=path)`. `optimizer` is a name that opt_einsum or cotengra knows, or an
    /// optimizer of theirs.
    #[pyo3(signature = (optimizer=None))]
    fn contraction_path<'py>(
        slf: &Bound<'py, Self>,
        optimizer: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match optimizer {
            Some(optimizer) => {
                part(slf.py(), "_interop")?.call_method1("contraction_path", (slf, optimizer))
            }
            None => part(slf.py(), "_interop")?.call_method1("contraction_path", (slf, "auto")),
        }
    }

    /// The cores as new PyTorch tensors.
    #[pyo3(signature = (*, device=None, requires_grad=false))]
    fn to_torch<'py>(
        slf: &Bound<'py, Self>,
        device: Option<Bound<'py, PyAny>>,
        requires_grad: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        part(slf.py(), "_interop")?.call_method1("to_torch", (slf, device, requires_grad))
    }

    /// The cores as JAX arrays. Those of 64 bits need `jax.config.update("jax_enable_x64", True)` before.
    fn to_jax<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        part(slf.py(), "_interop")?.call_method1("to_jax", (slf,))
    }

    /// Draws the network with matplotlib, on the axes given or new ones, and returns these.
    #[pyo3(signature = (ax=None))]
    fn plot<'py>(
        slf: &Bound<'py, Self>,
        ax: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        part(slf.py(), "_plots")?.call_method1("plot_network", (slf, ax))
    }

    /// The drawing of the network as SVG.
    fn svg(&self) -> String {
        let names = ModeNames::new(self.reshape.as_ref());
        network_svg_named(self.network.structure(), self.network.dims(), names)
    }

    /// Where `plot` puts the vertices.
    fn _layout(&self) -> Vec<(f64, f64)> {
        network_layout(self.network.structure())
    }

    /// What the modes are called: `m0, m1, ...`, or the factors that they are of those that were split.
    #[getter]
    fn mode_names(&self) -> Vec<String> {
        let names = ModeNames::new(self.reshape.as_ref());
        (0..self.network.dims().len()).map(|n| names.of(n).into_owned()).collect()
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        part(slf.py(), "_html")?.call_method1("network_html", (slf,))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let this = slf.get();
        let parts = (this.structure(), PyNetwork::cores(slf)?, this.rse);
        let more = from_json(slf.py(), &(&this.reshape, &this.origin))?;
        let made = slf.py().get_type::<PyNetwork>().getattr("_restore")?;
        Ok((made, (parts.into_pyobject(slf.py())?.into_any(), more)))
    }

    /// From what `__reduce__` gives.
    #[staticmethod]
    fn _restore(
        parts: (PyStructure, Vec<Bound<'_, PyAny>>, Option<f64>),
        more: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (structure, cores, rse) = parts;
        let (reshape, origin): (Option<Reshape>, Option<Origin>) =
            serde_json::from_str(&to_json(more)?).map_err(raise)?;
        let made = PyNetwork::from_cores(structure, cores, rse)?;
        if reshape.as_ref().is_some_and(|r| r.to() != made.network.dims()) {
            return Err(PyValueError::new_err("the shapes do not fit together"));
        }
        Ok(PyNetwork { reshape, origin, ..made })
    }

    fn __repr__(&self) -> String {
        let (name, params) = (self.network.structure().template().name(), self.network.params());
        let ranks = self.network.structure().ranks();
        format!("Network({name}, dims={:?}, ranks={ranks:?}, params={params})", self.network.dims())
    }
}

/// A function, and what it is called with to make a network again.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>, Bound<'py, PyAny>));

/// The kind that holds both.
fn wider(a: Kind, b: Kind) -> Kind {
    let double = [a, b].iter().any(|k| matches!(k, Kind::F64 | Kind::C64));
    match (a.is_complex() || b.is_complex(), double) {
        (false, false) => Kind::F32,
        (false, true) => Kind::F64,
        (true, false) => Kind::C32,
        (true, true) => Kind::C64,
    }
}

/// A Python file of the package.
fn part<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(format!("tnsearch.{name}"))
}
