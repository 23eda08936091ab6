//! `tnsearch.tgp`: Gaussian processes whose mean is a network.

use crate::errors::raise;
use crate::network::PyNetwork;
use crate::options::Memory;
use crate::structure::from_json;
use crate::{array, options, template, work};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use tnsearch::tensor::{AnyTensor, Kind, Tensor};
use tnsearch_app::fields::StructureReport;
use tnsearch_app::tgp::{self, Means, ProcessError};
use tnsearch_io::output::Output;
use tnsearch_io::{Table, table};
use tnsearch_tgp::{CompressSettings, Model, TrainSettings};

/// A trained model.
#[pyclass(name = "Process", module = "tnsearch._core", frozen)]
pub struct PyProcess(Model);

/// What training and compressing are asked beside their settings.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options<S: Default> {
    settings: S,
    max_seconds: Option<f64>,
    threads: Option<usize>,
    max_memory: Memory,
}

/// A table of names and an array of rows.
fn table_of(names: Vec<String>, rows: &Bound<'_, PyAny>) -> PyResult<Table> {
    let cells = array::tensor(rows, Some(Kind::F64))?;
    let AnyTensor::F64(cells) = cells else { unreachable!("of 64 bits") };
    match *cells.dims() {
        [_, columns] if columns == names.len() => {
            Table::checked(names, cells.into_data()).map_err(raise)
        }
        ref dims => Err(PyValueError::new_err(format!(
            "the table has shape {dims:?}; it needs rows of {} columns",
            names.len()
        ))),
    }
}

/// What is said about a model: its structure, and what came about.
#[derive(Serialize)]
struct Summary<'a, S> {
    #[serde(flatten)]
    structure: StructureReport,
    #[serde(flatten)]
    summary: &'a S,
    version: &'a str,
}

fn values<'py, S: Serialize>(
    py: Python<'py>,
    model: &Model,
    summary: &S,
) -> PyResult<Bound<'py, PyAny>> {
    let structure = StructureReport::new(model.mean.structure(), model.mean.dims());
    from_json(py, &Summary { structure, summary, version: env!("CARGO_PKG_VERSION") })
}

/// What work gave, or why nothing; where Ctrl-C ended it before there was a model, that.
fn ended<T>(done: work::Done<Result<T, ProcessError>>) -> PyResult<T> {
    match (done.result, done.interrupted) {
        (Err(_), Some(signal)) => Err(signal),
        (result, _) => result.map_err(raise),
    }
}

/// Trains a model on a table whose last column is the response, or goes on with one.
#[pyfunction]
#[pyo3(signature = (names, rows, before, given))]
pub fn tgp_train<'py>(
    py: Python<'py>,
    names: Vec<String>,
    rows: &Bound<'py, PyAny>,
    before: Option<&Bound<'py, PyProcess>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, PyProcess)> {
    let asked: Options<TrainSettings> = options::read(given)?;
    let limit = asked.max_memory.limit()?;
    let table = table_of(names, rows)?;
    let settings = asked.settings.with(|s| s.max_bytes = Some(limit.bytes()));
    let from = before.map(|model| model.get().0.clone());
    let (max_seconds, threads) = (asked.max_seconds, asked.threads);
    let (trained, summary) = ended(work::interruptible(py, |stop| {
        let means = Means { max_seconds, threads, stop: stop.clone() };
        tgp::train(&table, &settings, from, &means, &mut |_| ())
    })?)?;
    Ok((values(py, &trained.model, &summary)?, PyProcess(trained.model)))
}

/// Mean and standard deviation of every row of a table, and what is said about them.
#[pyfunction]
#[pyo3(signature = (model, names, rows, threads))]
pub fn tgp_predict<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyProcess>,
    names: Vec<String>,
    rows: &Bound<'py, PyAny>,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let table = table_of(names, rows)?;
    let model = &model.get().0;
    let done = work::interruptible(py, |_| tgp::predict(model, &table, threads))?;
    done.interrupted.map_or(Ok(()), Err)?;
    let (predicted, summary) = done.result.map_err(raise)?;
    let column =
        |x: Vec<f64>| array::array(py, Tensor::new(vec![x.len()], x).map_err(raise)?.into());
    Ok((column(predicted.mean)?, column(predicted.deviation)?, from_json(py, &summary)?))
}

/// A smaller model. The table is the one it was trained with.
#[pyfunction]
#[pyo3(signature = (model, names, rows, graph, given))]
pub fn tgp_compress<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyProcess>,
    names: Vec<String>,
    rows: &Bound<'py, PyAny>,
    graph: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, PyProcess)> {
    let asked: Options<CompressSettings> = options::read(given)?;
    let table = table_of(names, rows)?;
    // As the command does when it reads the table.
    let fits = asked.max_memory.limit()?.check(table.cells.len() as u128, Kind::F64);
    fits.map_err(|e| raise(e.of("the table")))?;
    let model = &model.get().0;
    let order = model.mean.dims().len();
    let graph = graph.map(|graph| template::template(graph, order).map(Arc::new)).transpose()?;
    let settings = asked.settings.with(|s| s.template = graph);
    let (max_seconds, threads) = (asked.max_seconds, asked.threads);
    let (found, summary) = ended(work::interruptible(py, |stop| {
        let means = Means { max_seconds, threads, stop: stop.clone() };
        tgp::compress(model, &table, settings, &means, &mut |_| ())
    })?)?;
    Ok((values(py, &found.model, &summary)?, PyProcess(found.model)))
}

/// A CSV file with a header: its names and rows. Cells of columns that are not needed may be anything.
#[pyfunction]
#[pyo3(signature = (path, needed, max_memory))]
pub fn read_table<'py>(
    py: Python<'py>,
    path: PathBuf,
    needed: Option<Vec<String>>,
    max_memory: Option<Memory>,
) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
    let limit = max_memory.unwrap_or_default().limit()?;
    let read = table::read_for(&path, limit, needed.as_deref()).map_err(raise)?;
    let dims = vec![read.rows(), read.columns()];
    let rows = Tensor::new(dims, read.cells).map_err(raise)?;
    Ok((read.names, array::array(py, rows.into())?))
}

#[pymethods]
impl PyProcess {
    /// Reads a model file, such as the command line writes.
    #[staticmethod]
    #[pyo3(signature = (path, max_memory))]
    fn load(path: PathBuf, max_memory: Option<Memory>) -> PyResult<Self> {
        let limit = max_memory.unwrap_or_default().limit()?;
        Model::read(&path, limit).map(PyProcess).map_err(raise)
    }

    /// Writes the model as the command line does.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let output = Output::check(&path).map_err(raise)?;
        output.write(|w| self.0.write(w)).map_err(raise)
    }

    /// The names of its columns, the response last.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names.clone()
    }

    /// The mean of the function at the inducing points, standardised.
    #[getter]
    fn network(&self) -> PyNetwork {
        PyNetwork::new(self.0.mean.clone(), None, None)
    }

    /// Its figures, where it was measured.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.0.figures)
    }
}
