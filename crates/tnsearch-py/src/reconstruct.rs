//! `tnsearch.reconstruct`: from a network back to its tensor, or to the picture that it came from.

use crate::errors::raise;
use crate::network::PyNetwork;
use crate::options::Memory;
use crate::{array, options, work};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use std::path::PathBuf;
use tnsearch::tensor::Reshape;
use tnsearch_app::outputs::check_distinct;
use tnsearch_app::reconstruct::{self as app, ReconstructError};
use tnsearch_io::{Picture, output::Output, write_tensor};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    /// The file that the network is from.
    input: Option<PathBuf>,
    output: Option<PathBuf>,
    max_memory: Memory,
}

/// What is wrong with a network, said of it.
pub fn of_network(error: ReconstructError) -> PyErr {
    match error {
        e @ (ReconstructError::Size(_) | ReconstructError::Network(_)) => raise(e),
        e => PyValueError::new_err(format!("the network: {e}")),
    }
}

/// Writes the tensor of a network as the command does, or returns it; of a picture its pixels, of 8 bits.
#[pyfunction]
pub fn reconstruct<'py>(
    py: Python<'py>,
    net: &Bound<'py, PyNetwork>,
    given: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let asked: Options = options::read(given)?;
    let input = asked.input.as_deref().map(|path| ("the network", path));
    check_distinct(input.as_slice(), &[("--output", asked.output.as_deref())]).map_err(raise)?;
    let (inside, limit) = (net.get(), asked.max_memory.limit()?);
    let output = asked.output.as_deref().map(Output::check).transpose().map_err(raise)?;
    let reshape = inside.reshape.as_ref();
    let done = work::interruptible(py, |_| {
        let tensor = app::reconstruct(&inside.network, reshape, limit)?;
        let written = output.as_ref().map(|output| write_tensor(output, &tensor));
        Ok((tensor, written))
    })?;
    done.interrupted.map_or(Ok(()), Err)?;
    let (tensor, written) = done.result.map_err(of_network)?;
    if let Some(written) = written {
        return written.map(|()| None).map_err(raise);
    }
    let picture = inside.origin.is_some_and(|origin| origin.picture)
        || reshape.is_some_and(|reshape: &Reshape| reshape.picture().is_some());
    if !picture {
        return array::array(py, tensor).map(Some);
    }
    let picture = Picture::from_tensor(&tensor).map_err(raise)?;
    let pixels = PyArray1::from_vec(py, picture.bytes()).reshape(picture.dims())?;
    Ok(Some(pixels.into_any()))
}
