//! `tnsearch.compress` and `decompress`: arrays and pictures as networks.

use crate::data::{DataOptions, reshaped};
use crate::errors::raise;
use crate::network::PyNetwork;
use crate::options::Memory;
use crate::reconstruct::of_network;
use crate::report::{add, structure_values};
use crate::structure::from_json;
use crate::{array, options, template, work};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Instant;
use tnsearch::problem::Target;
use tnsearch::search::Event;
use tnsearch::tensor::{AnyTensor, Kind, Reshape};
use tnsearch_app::compress::{Beside, CompressSettings, Goal, Plan};
use tnsearch_app::reconstruct::{self, Decompressed};
use tnsearch_app::tensorise::{AskedPicture, Method};
use tnsearch_io::network::{Extras, Origin, write_with};
use tnsearch_io::{
    Dtype, MemoryLimit, Picture, Precision, npy_bytes, picture, read_tensor, split_key,
};

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    data: DataOptions,
    picture: AskedPicture,
    max_re: Option<f64>,
    psnr: Option<f64>,
    max_params: Option<u64>,
    cores: Option<String>,
    seed: u64,
    max_seconds: f64,
    threads: Option<usize>,
}

impl Options {
    fn goal(&self) -> PyResult<Option<Goal>> {
        match (self.max_re, self.psnr, self.max_params) {
            (None, None, None) => Ok(None),
            (Some(re), None, None) => Ok(Some(Goal::Re(re))),
            (None, Some(psnr), None) => Ok(Some(Goal::Psnr(psnr))),
            (None, None, Some(params)) => Ok(Some(Goal::MaxParams(params.into()))),
            _ => Err(PyValueError::new_err("only one of max_re, psnr and max_params is asked for")),
        }
    }

    fn precision(&self) -> PyResult<Precision> {
        let cores = self.cores.as_deref().unwrap_or("f32");
        cores.parse().map_err(|e: String| PyValueError::new_err(format!("cores is '{cores}'; {e}")))
    }
}

/// What is compressed: the tensor as it is searched.
struct Source {
    tensor: AnyTensor,
    reshape: Option<Reshape>,
    origin: Origin,
    /// The bytes of the array, or of the file.
    bytes: u64,
}

/// A file or an array.
enum Input {
    Picture(Picture, u64),
    Array(AnyTensor, Dtype, u64),
}

impl Input {
    fn of(x: &Bound<'_, PyAny>, limit: MemoryLimit) -> PyResult<Self> {
        let Some(name) = path_of(x)? else {
            let numpy = x.py().import("numpy")?;
            let dtype = match x.getattr_opt("dtype")? {
                Some(dtype) => numpy.call_method1("dtype", (dtype,)).ok(),
                None => None,
            };
            let name = dtype.map(|dtype| dtype.getattr("name")?.extract::<String>()).transpose()?;
            let tensor = array::tensor(x, None)?;
            let usual = if tensor.kind().is_complex() { Dtype::C128 } else { Dtype::F64 };
            // NumPy writes int8, uint8 and float32 where files of ours have i8, u8 and f32.
            let name =
                name.map(|n| n.replace("uint", "u").replace("int", "i").replace("float", "f"));
            let dtype = name.and_then(|name| Dtype::try_from(name).ok()).unwrap_or(usual);
            let bytes = (tensor.len() * dtype.bytes()) as u64;
            return Ok(Input::Array(tensor, dtype, bytes));
        };
        let (path, key) = split_key(&name);
        let size = std::fs::metadata(&path).map_or(0, |about| about.len());
        if picture::is_picture(&path).map_err(raise)? {
            return Ok(Input::Picture(picture::read(&path, limit).map_err(raise)?, size));
        }
        let read = read_tensor(&name, None, limit).map_err(raise)?;
        let bytes = match key {
            None => size,
            Some(_) => (read.tensor.len() * read.layout.dtype.bytes()) as u64,
        };
        Ok(Input::Array(read.tensor, read.layout.dtype, bytes))
    }

    fn source(self, asked: &Options, limit: MemoryLimit) -> PyResult<Source> {
        let how = asked.picture.check().map_err(raise)?;
        let (own, origin, bytes) = match (self, &how) {
            (Input::Array(tensor, dtype, bytes), None) => {
                let reshape = asked.data.reshape(tensor.dims())?;
                let tensor = reshaped(tensor, reshape.as_ref(), limit)?;
                let origin = Origin { picture: false, dtype };
                return Ok(Source { tensor, reshape, origin, bytes });
            }
            (Input::Array(tensor, dtype, bytes), Some(_)) => {
                let own = Picture::from_tensor(&tensor).map_err(raise)?;
                (own, Origin { picture: false, dtype }, bytes)
            }
            (Input::Picture(own, bytes), _) => {
                let dtype = if own.bits == 16 { Dtype::U16 } else { Dtype::U8 };
                (own, Origin { picture: true, dtype }, bytes)
            }
        };
        let mut how = how.unwrap_or_default();
        if !asked.data.is_default() {
            how.method = Method::Plain;
        }
        let made = how.apply(own).map_err(raise)?;
        let (steps, dims) = (made.reshape.picture(), made.picture.dims());
        let reshape = match (asked.data.reshape(&dims)?, steps) {
            (Some(split), Some(steps)) => split.of_picture(steps),
            _ => made.reshape,
        };
        let tensor = AnyTensor::from(made.picture.into_tensor());
        let tensor = tensor.to_kind(Kind::F64).map_err(raise)?;
        let tensor = reshaped(tensor, Some(&reshape), limit)?;
        Ok(Source { tensor, reshape: Some(reshape), origin, bytes })
    }
}

/// The name of a file, where that is given instead of an array.
fn path_of(x: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    if !x.hasattr("__fspath__")? && !x.is_instance_of::<pyo3::types::PyString>() {
        return Ok(None);
    }
    x.py().import("os")?.call_method1("fspath", (x,))?.extract().map(Some)
}

/// Compresses an array or a picture: what was found as a dict, and the network.
#[pyfunction]
#[pyo3(signature = (x, graph, given))]
pub fn compress<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    graph: Option<&Bound<'py, PyAny>>,
    given: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, PyNetwork)> {
    let begun = Instant::now();
    let asked: Options = options::read(given)?;
    let limit = asked.data.limit()?;
    let (goal, cores) = (asked.goal()?, asked.precision()?);
    let source = Input::of(x, limit)?.source(&asked, limit)?;
    let Source { tensor, reshape, origin, bytes } = source;
    let target = py.detach(|| Target::new(tensor)).map_err(raise)?;
    let dims = target.dims();
    let graph = graph.map(|graph| template::template(graph, dims.len())).transpose()?;
    let settings = CompressSettings {
        goal,
        template: graph.map(Arc::new),
        cores,
        seed: asked.seed,
        max_seconds: asked.max_seconds,
        threads: asked.threads,
        max_bytes: limit.bytes(),
    };
    let done = work::interruptible(py, |stop| {
        let plan = Plan::new(&target, reshape.as_ref(), origin, settings)?;
        plan.run(begun, stop, &mut |_: &Event<'_>| ())
    })?;
    let made = match (done.result, done.interrupted) {
        (Err(_), Some(signal)) => return Err(signal),
        (made, _) => made.map_err(raise)?,
    };
    let half = cores == Precision::F16;
    let mut file = Vec::new();
    let extras = Extras { reshape: reshape.as_ref(), origin: Some(origin), half };
    write_with(&mut file, &made.network, made.rse, &extras).map_err(raise)?;
    let mut values = structure_values(made.network.structure(), dims);
    let summary = made.summary(Beside {
        origin,
        cores,
        bytes_before: Some(bytes),
        bytes: file.len() as u64,
        seconds: begun.elapsed().as_secs_f64(),
        seed: asked.seed,
    });
    add(&mut values, &summary)?;
    let network = PyNetwork {
        origin: Some(origin),
        half,
        ..PyNetwork::new(made.network, Some(made.rse), reshape)
    };
    Ok((from_json(py, &values)?, network))
}

/// The array that was compressed, with its shape and type, as the bytes of a .npy file.
#[pyfunction]
#[pyo3(signature = (net, max_memory))]
pub fn decompress<'py>(
    py: Python<'py>,
    net: &Bound<'py, PyNetwork>,
    max_memory: Option<Memory>,
) -> PyResult<Bound<'py, PyBytes>> {
    let (inside, limit) = (net.get(), max_memory.unwrap_or_default().limit()?);
    let done = work::interruptible(py, |_| {
        let (reshape, origin) = (inside.reshape.as_ref(), inside.origin);
        match reconstruct::decompress(&inside.network, reshape, origin, false, limit) {
            Ok(Decompressed::Array(tensor, dtype)) => npy_bytes(&tensor, dtype).map_err(raise),
            Ok(Decompressed::Picture(_)) => unreachable!("an array was asked for"),
            Err(e) => Err(of_network(e)),
        }
    })?;
    done.interrupted.map_or(Ok(()), Err)?;
    Ok(PyBytes::new(py, &done.result?))
}
