//! Entries and sums of a network as NumPy has them, without its dense tensor.

use crate::errors::raise;
use crate::network::PyNetwork;
use crate::{array, work};
use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyEllipsis, PySlice, PyTuple};
use tnsearch::tensor::{AnyTensor, Kind, Reshape};
use tnsearch_io::MemoryLimit;

/// NumPy's name of a kind of number.
pub fn dtype_name(kind: Kind) -> &'static str {
    match kind {
        Kind::F32 => "float32",
        Kind::F64 => "float64",
        Kind::C32 => "complex64",
        Kind::C64 => "complex128",
    }
}

/// What is taken of a mode.
enum Pick {
    /// One index: the mode is gone.
    One(usize),
    Some(Vec<usize>),
}

/// `net[key]`.
pub fn item<'py>(
    net: &Bound<'py, PyNetwork>,
    key: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = net.py();
    let inside = net.get();
    let picks = picks(key, inside.own())?;
    let shape: Vec<usize> = picks
        .iter()
        .filter_map(|pick| match pick {
            Pick::One(_) => None,
            Pick::Some(indices) => Some(indices.len()),
        })
        .collect();
    if shape.contains(&0) {
        let dtype = dtype_name(inside.network.kind());
        return py.import("numpy")?.call_method1("empty", (shape, dtype));
    }
    let indices: Vec<Vec<usize>> = picks
        .into_iter()
        .map(|pick| match pick {
            Pick::One(index) => vec![index],
            Pick::Some(indices) => indices,
        })
        .collect();
    let done = work::interruptible(py, |_| {
        let limit = MemoryLimit::new(None).bytes();
        inside.network.select(inside.reshape.as_ref(), &indices, Some(limit))
    })?;
    done.interrupted.map_or(Ok(()), Err)?;
    shaped(py, done.result.map_err(raise)?, shape)
}

/// A tensor as an array of another shape; a number where that has no modes.
fn shaped(py: Python<'_>, tensor: AnyTensor, shape: Vec<usize>) -> PyResult<Bound<'_, PyAny>> {
    let number = shape.is_empty();
    let made = array::array(py, tensor)?.call_method1("reshape", (PyTuple::new(py, shape)?,))?;
    if number { made.get_item(PyTuple::empty(py)) } else { Ok(made) }
}

fn picks(key: &Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Vec<Pick>> {
    let keys: Vec<Bound<'_, PyAny>> = match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let dots = keys.iter().filter(|key| key.is_instance_of::<PyEllipsis>()).count();
    let given = keys.len() - dots;
    if dots > 1 {
        return Err(PyIndexError::new_err("an index has one '...' at most"));
    }
    if given > shape.len() {
        let text = format!("{given} indices were given; the tensor has {} modes", shape.len());
        return Err(PyIndexError::new_err(text));
    }
    let all = |side: &usize| Pick::Some((0..*side).collect());
    let (mut picks, mut sides) = (Vec::new(), shape.iter().enumerate());
    for key in &keys {
        if key.is_instance_of::<PyEllipsis>() {
            picks.extend(sides.by_ref().take(shape.len() - given).map(|(_, side)| all(side)));
        } else if let Some((mode, side)) = sides.next() {
            picks.push(pick(key, mode, *side)?);
        }
    }
    picks.extend(sides.map(|(_, side)| all(side)));
    Ok(picks)
}

fn pick(key: &Bound<'_, PyAny>, mode: usize, side: usize) -> PyResult<Pick> {
    if let Ok(slice) = key.cast::<PySlice>() {
        let at = slice.indices(side as isize)?;
        let indices = (0..at.slicelength as isize).map(|k| (at.start + k * at.step) as usize);
        return Ok(Pick::Some(indices.collect()));
    }
    let whole = !key.is_instance_of::<PyBool>() && key.hasattr("__index__")?;
    let Some(index) = whole.then(|| key.call_method0("__index__").ok()).flatten() else {
        let text = format!(
            "indices are integers, slices and ..., and not a {}; entries(...) takes an array of indices",
            key.get_type()
        );
        return Err(PyIndexError::new_err(text));
    };
    let index: i64 = index.extract().map_err(|_| out_of_range(&index, mode, side))?;
    match wrapped(index, side) {
        Some(index) => Ok(Pick::One(index)),
        None => Err(out_of_range(key, mode, side)),
    }
}

/// An index from the end where it is negative.
fn wrapped(index: i64, side: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(side as i64)? } else { index };
    usize::try_from(index).ok().filter(|&index| index < side)
}

fn out_of_range(index: &Bound<'_, PyAny>, mode: usize, side: usize) -> PyErr {
    PyIndexError::new_err(format!("index {index} is out of range for mode {mode} of length {side}"))
}

/// The entries at the rows of an array of indices.
pub fn entries<'py>(
    net: &Bound<'py, PyNetwork>,
    indices: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = net.py();
    let inside = net.get();
    let (own, order) = (inside.own(), inside.own().len());
    let numpy = py.import("numpy")?;
    let made = numpy.call_method1("asarray", (indices,))?;
    let kind: String = made.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind != "i" && kind != "u" {
        let text = format!("indices have dtype {}; they must be integers", made.getattr("dtype")?);
        return Err(PyTypeError::new_err(text));
    }
    // What 64 bits with a sign cannot hold is no index, not a negative one.
    let made = match kind == "u" {
        true => numpy.call_method1("minimum", (&made, i64::MAX))?,
        false => made,
    };
    let made = numpy.call_method1("ascontiguousarray", (made, "int64"))?;
    let table = made.cast_into::<PyArray2<i64>>().ok().filter(|table| table.shape()[1] == order);
    let Some(table) = table else {
        let text = format!(
            "indices must have the shape (m, {order}): one row per entry, one column per mode"
        );
        return Err(PyValueError::new_err(text));
    };
    let read =
        table.try_readonly().map_err(|e| PyValueError::new_err(format!("the indices: {e}")))?;
    let mut rows = Vec::with_capacity(read.len());
    for (k, &index) in read.as_slice()?.iter().enumerate() {
        let (mode, side) = (k % order, own[k % order]);
        match wrapped(index, side) {
            Some(index) => rows.push(index),
            None => {
                let text =
                    format!("index {index} is out of range for mode {mode} of length {side}");
                return Err(PyIndexError::new_err(text));
            }
        }
    }
    let done = work::interruptible(py, |_| {
        let rows = match &inside.reshape {
            Some(reshape) => rows.chunks(order).flat_map(|row| reshape.index_of(row)).collect(),
            None => rows,
        };
        inside.network.entries(&rows)
    })?;
    done.interrupted.map_or(Ok(()), Err)?;
    array::array(py, done.result)
}

/// `net @ other`, or `other @ net`.
pub fn matmul<'py>(
    net: &Bound<'py, PyNetwork>,
    other: &Bound<'py, PyAny>,
    reflected: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = net.py();
    let order = net.get().own().len();
    let other = py.import("numpy")?.call_method1("asarray", (other,))?;
    let ndim: usize = other.getattr("ndim")?.extract()?;
    if ndim != 1 && ndim != 2 {
        let text = format!("a network is multiplied by a vector or a matrix, not by {ndim} modes");
        return Err(PyValueError::new_err(text));
    }
    let (mode, matrix) = match reflected {
        false => (order - 1, other),
        true if ndim == 2 => (order.saturating_sub(2), other.getattr("T")?),
        true => (order.saturating_sub(2), other),
    };
    sums(net, vec![(mode, matrix)], None)
}

/// Sums over several modes.
pub fn apply<'py>(
    net: &Bound<'py, PyNetwork>,
    vectors: &Bound<'py, PyDict>,
    max_memory: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let order = net.get().own().len();
    let mut given: Vec<(usize, Bound<'py, PyAny>)> = Vec::new();
    for (mode, vector) in vectors.iter() {
        let index: i64 = mode.extract()?;
        let Some(index) = wrapped(index, order) else {
            let text = format!("there is no mode {mode}; the tensor has {order} modes");
            return Err(PyIndexError::new_err(text));
        };
        if given.iter().any(|(other, _)| *other == index) {
            return Err(PyValueError::new_err(format!("mode {index} was given twice")));
        }
        given.push((index, net.py().import("numpy")?.call_method1("asarray", (vector,))?));
    }
    sums(net, given, max_memory)
}

/// The sums over modes times vectors (which take the mode away) and matrices (which leave their columns).
fn sums<'py>(
    net: &Bound<'py, PyNetwork>,
    given: Vec<(usize, Bound<'py, PyAny>)>,
    max_memory: Option<u64>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = net.py();
    let inside = net.get();
    let mut kind = inside.network.kind();
    for (_, matrix) in &given {
        kind = wider(py, kind, matrix)?;
    }
    let (mut matrices, mut gone) = (Vec::new(), Vec::new());
    for (mode, matrix) in given {
        let (mut tensor, side) = (array::tensor(&matrix, Some(kind))?, inside.own()[mode]);
        if tensor.order() == 1 {
            gone.push(mode);
            let rows = tensor.len();
            tensor = tensor.reshaped(vec![rows, 1]).map_err(raise)?;
        }
        if tensor.order() != 2 || tensor.dims()[0] != side {
            let text = format!(
                "mode {mode} has length {side}; what it is multiplied by has the shape {}",
                matrix.getattr("shape")?
            );
            return Err(PyValueError::new_err(text));
        }
        if tensor.is_empty() {
            return Err(PyValueError::new_err("a matrix without columns leaves nothing"));
        }
        matrices.push((mode, tensor));
    }
    let done = work::interruptible(py, |_| {
        let limit = MemoryLimit::new(max_memory).bytes();
        let reshape: Option<&Reshape> = inside.reshape.as_ref();
        inside.network.applied(reshape, &matrices, Some(limit))
    })?;
    done.interrupted.map_or(Ok(()), Err)?;
    let made = done.result.map_err(raise)?;
    let left = made.dims().iter().enumerate().filter(|(mode, _)| !gone.contains(mode));
    let shape = left.map(|(_, &side)| side).collect();
    shaped(py, made, shape)
}

/// The kind of numbers that products of both have.
fn wider(py: Python<'_>, kind: Kind, other: &Bound<'_, PyAny>) -> PyResult<Kind> {
    let dtype = other.getattr("dtype")?;
    let both = py.import("numpy")?.call_method1("result_type", (dtype_name(kind), dtype));
    let name: String = match both {
        Ok(both) => both.getattr("name")?.extract()?,
        Err(_) => return Ok(Kind::F64),
    };
    Ok(match name.as_str() {
        "float32" => Kind::F32,
        "complex64" => Kind::C32,
        name if name.starts_with("complex") => Kind::C64,
        _ => Kind::F64,
    })
}
