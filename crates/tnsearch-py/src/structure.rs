//! `tnsearch.Structure`: a template, the vertex of each mode, the rank of each edge.

use crate::errors::raise;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use tnsearch::graph::{Structure, StructureFile};
use tnsearch_io::text::shown;

/// A structure, as the files of the command line have it.
#[pyclass(name = "Structure", module = "tnsearch", frozen, from_py_object)]
#[derive(Clone)]
pub struct PyStructure(pub Structure);

/// The JSON text of a Python object.
pub fn to_json(object: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(text.to_str()?.to_owned());
    }
    object.py().import("json")?.call_method1("dumps", (object,))?.extract()
}

/// A Python object from JSON.
pub fn from_json<'py>(
    py: Python<'py>,
    value: &impl serde::Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let text = serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    py.import("json")?.call_method1("loads", (text,))
}

/// A whole number of at least 0: one that is none is a `ValueError`, not an overflow.
pub struct Whole(pub usize);

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Whole).map_err(|e: PyErr| {
            match e.is_instance_of::<PyOverflowError>(object.py()) {
                true => PyValueError::new_err(format!(
                    "{} is out of range; it must be a whole number of at least 0",
                    *object
                )),
                false => e,
            }
        })
    }
}

fn plain(numbers: Vec<Whole>) -> Vec<usize> {
    numbers.into_iter().map(|n| n.0).collect()
}

impl PyStructure {
    fn parse(text: &str) -> PyResult<Self> {
        let file: StructureFile = serde_json::from_str(text).map_err(|e| {
            // It names fields as they were given.
            let e = shown(&e.to_string());
            PyValueError::new_err(format!(
                "no structure: {e}; it must be like {{\"template\": \"ring\", \"permutation\": [0, 1, 2], \"edges\": [[0, 1, 2]]}}"
            ))
        })?;
        Ok(PyStructure(Structure::from_file(&file).map_err(raise)?))
    }
}

#[pymethods]
impl PyStructure {
    /// From its parts, or from one dict (or JSON text) with all of them.
    #[new]
    #[pyo3(signature = (template, permutation=None, edges=None))]
    fn new(
        template: &Bound<'_, PyAny>,
        permutation: Option<Vec<Whole>>,
        edges: Option<Vec<[Whole; 3]>>,
    ) -> PyResult<Self> {
        if let Ok(same) = template.extract::<PyStructure>() {
            return Ok(same);
        }
        let (permutation, edges) = match (permutation, edges) {
            (None, None) => return PyStructure::parse(&to_json(template)?),
            (Some(permutation), Some(edges)) => {
                let edges = edges.into_iter().map(|edge| edge.map(|n| n.0)).collect::<Vec<_>>();
                (plain(permutation), edges)
            }
            _ => {
                return Err(PyTypeError::new_err(
                    "Structure(template, permutation, edges) takes all three, or one dict with all of them",
                ));
            }
        };
        let name = match template.cast::<PyString>() {
            Ok(name) => serde_json::Value::from(name.to_str()?),
            Err(_) => serde_json::from_str(&to_json(template)?)
                .map_err(|e| PyValueError::new_err(e.to_string()))?,
        };
        let json =
            serde_json::json!({"template": name, "permutation": permutation, "edges": edges});
        PyStructure::parse(&json.to_string())
    }

    /// The template: its name, or its graph as a dict.
    #[getter]
    fn template<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.0.to_file().template)
    }

    /// The vertex of mode 0, of mode 1, ...
    #[getter]
    fn permutation(&self) -> Vec<usize> {
        self.0.permutation().to_vec()
    }

    /// The edges `[u, v, rank]` between vertices of the template.
    #[getter]
    fn edges(&self) -> Vec<[usize; 3]> {
        self.0.edges()
    }

    /// The rank of each edge.
    #[getter]
    fn ranks(&self) -> Vec<usize> {
        self.0.ranks().to_vec()
    }

    /// The number of modes.
    #[getter]
    fn order(&self) -> usize {
        self.0.permutation().len()
    }

    /// The modes at each vertex.
    #[getter]
    fn modes(&self) -> Vec<Vec<usize>> {
        self.0.groups()
    }

    /// The shape of the core of a vertex for a tensor of these dimensions: its edges in order, then its modes.
    fn core_shape(&self, vertex: Whole, dims: Vec<Whole>) -> PyResult<Vec<usize>> {
        let (vertex, dims) = (vertex.0, plain(dims));
        self.check(&dims)?;
        if vertex >= self.0.template().vertices() {
            let n = self.0.template().vertices();
            return Err(PyValueError::new_err(format!(
                "vertex is {vertex}; there are {n}, from 0"
            )));
        }
        Ok(self.0.core_dims(vertex, &dims))
    }

    /// The number of entries of all cores for a tensor of these dimensions.
    fn params(&self, dims: Vec<Whole>) -> PyResult<u128> {
        let dims = plain(dims);
        self.check(&dims)?;
        Ok(self.0.params(&dims))
    }

    /// The structure as the dict that its JSON file holds.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.0.to_file())
    }

    fn __eq__(&self, other: &PyStructure) -> bool {
        self.0 == other.0
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{Hash, Hasher};
        let mut hasher = std::hash::DefaultHasher::new();
        (self.0.permutation(), self.0.ranks(), self.0.template().edges()).hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        let (template, edges) = (self.0.template().name(), self.0.edges());
        format!("Structure({template:?}, permutation={:?}, edges={edges:?})", self.0.permutation())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        Ok((py.get_type::<PyStructure>().into_any(), (self.to_dict(py)?,)))
    }
}

impl PyStructure {
    fn check(&self, dims: &[usize]) -> PyResult<()> {
        self.0.check_order(dims.len()).map_err(raise)
    }
}
