//! NumPy arrays in and out. Large arrays of a kind we compute with are read where they are.

use crate::errors::raise;
use numpy::{
    Complex32, Complex64, Element, PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;
use tnsearch::dispatch;
use tnsearch::tensor::{AnyTensor, Kind, Scalar, Tensor, size};
use tnsearch_io::{MemoryLimit, is_rounded, rounded_text};

/// Smaller arrays are copied: then nobody can change them in the middle of a search.
const SHARED_BYTES: usize = 1 << 20;

/// An array as a tensor of that kind: by default 64 bits, complex where the array is. Anything that NumPy makes an array
/// of, or that has `__dlpack__`, is taken; what has no numbers is refused.
pub fn tensor(array: &Bound<'_, PyAny>, kind: Option<Kind>) -> PyResult<AnyTensor> {
    taken(&as_numpy(array)?, kind)
}

/// The same in the array's own kind, where we compute with it.
pub fn tensor_as_it_is(array: &Bound<'_, PyAny>) -> PyResult<AnyTensor> {
    let array = as_numpy(array)?;
    let own = own_kind(&array)?;
    taken(&array, own)
}

/// The kind of an array's entries; none for those that we do not compute with.
fn own_kind(array: &Bound<'_, PyUntypedArray>) -> PyResult<Option<Kind>> {
    let dtype = array.dtype();
    Ok(match (dtype.kind(), dtype.itemsize()) {
        (b'f', 4) => Some(Kind::F32),
        (b'f', 8) => Some(Kind::F64),
        (b'c', 8) => Some(Kind::C32),
        (b'c', 16) => Some(Kind::C64),
        (b'b' | b'i' | b'u' | b'f' | b'c', _) => None,
        _ => {
            let text = format!(
                "the array has dtype {dtype}; it must have numbers (float, complex, int or bool)"
            );
            return Err(PyTypeError::new_err(text));
        }
    })
}

fn taken(array: &Bound<'_, PyUntypedArray>, kind: Option<Kind>) -> PyResult<AnyTensor> {
    let own = own_kind(array)?;
    let complex = array.dtype().kind() == b'c';
    let wanted = kind.unwrap_or(if complex { Kind::C64 } else { Kind::F64 });
    // What NumPy converts is converted by it; but imaginary parts are never dropped.
    let through = match wanted {
        wanted if own == Some(wanted) => wanted,
        wanted if complex && !wanted.is_complex() => Kind::C64,
        wanted => wanted,
    };
    warn_rounded(array, wanted)?;
    let taken = match through {
        Kind::F32 => held::<f32>(array)?,
        Kind::F64 => held::<f64>(array)?,
        Kind::C32 => held::<Complex32>(array)?,
        Kind::C64 => held::<Complex64>(array)?,
    };
    taken.to_kind(wanted).map_err(raise)
}

/// Warns where entries are whole numbers that a kind cannot hold.
fn warn_rounded(array: &Bound<'_, PyUntypedArray>, kind: Kind) -> PyResult<()> {
    fn count<T: Element + Copy + Into<i128>>(
        array: &Bound<'_, PyUntypedArray>,
        kind: Kind,
    ) -> PyResult<u64> {
        let array = contiguous::<T>(array)?;
        let read =
            array.try_readonly().map_err(|e| PyValueError::new_err(format!("the array: {e}")))?;
        Ok(read.as_slice()?.iter().filter(|&&v| is_rounded(v.into(), kind)).count() as u64)
    }
    let single = matches!(kind, Kind::F32 | Kind::C32);
    let rounded = match (array.dtype().kind(), array.dtype().itemsize()) {
        (b'i', 8) => count::<i64>(array, kind)?,
        (b'u', 8) => count::<u64>(array, kind)?,
        (b'i', 4) if single => count::<i32>(array, kind)?,
        (b'u', 4) if single => count::<u32>(array, kind)?,
        _ => 0,
    };
    match rounded_text(rounded, array.len(), kind) {
        Some(text) => array.py().import("warnings")?.call_method1("warn", (text,)).map(drop),
        None => Ok(()),
    }
}

/// A mask: an array of bool of that shape.
pub fn mask(array: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Vec<bool>)> {
    let array = as_numpy(array)?;
    if array.dtype().kind() != b'b' {
        let text = format!("the mask has dtype {}; it must be bool", array.dtype());
        return Err(PyTypeError::new_err(text));
    }
    // A bool of NumPy may be any byte.
    let bytes = array.call_method1("view", ("u1",))?.cast_into::<PyUntypedArray>()?;
    let array = contiguous::<u8>(&bytes)?;
    let read = array.try_readonly().map_err(|e| PyValueError::new_err(format!("the mask: {e}")))?;
    Ok((array.shape().to_vec(), read.as_slice()?.iter().map(|&byte| byte != 0).collect()))
}

/// A masked array of NumPy as its entries and its mask, which is none where nothing is masked; anything else as it is.
pub fn unmasked<'py>(
    object: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)> {
    let ma = object.py().import("numpy")?.getattr("ma")?;
    if !object.is_instance(&ma.getattr("MaskedArray")?)? {
        return Ok((object.clone(), None));
    }
    let (data, mask) =
        (ma.call_method1("getdata", (object,))?, ma.call_method1("getmaskarray", (object,))?);
    let any = mask.call_method0("any")?.is_truthy()?;
    Ok((data, Some(mask).filter(|_| any)))
}

/// A NumPy array of whatever it is.
pub fn as_numpy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let py = object.py();
    let numpy = py.import("numpy")?;
    if object.is_instance(&numpy.getattr("ma")?.getattr("MaskedArray")?)? {
        return match unmasked(object)? {
            (data, None) => Ok(data.cast_into::<PyUntypedArray>()?),
            _ => Err(PyTypeError::new_err(
                "masked arrays are taken by search, fit and complete alone: here what is masked would be used; give X.filled(0)",
            )),
        };
    }
    if object.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "X is a string; it must be an array of numbers (np.load reads a .npy file)",
        ));
    }
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    // Arrays of other libraries (PyTorch, JAX, CuPy): without a copy where they are in this machine's memory.
    let object = &py.import("tnsearch._arrays")?.call_method1("shared", (object,))?;
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        return Ok(array.clone());
    }
    let made = numpy.call_method1("asarray", (object,)).map_err(|e| {
        let text = format!("NumPy makes no array of a {}: {e}", object.get_type());
        PyTypeError::new_err(text)
    })?;
    let array = made.cast_into::<PyUntypedArray>()?;
    if array.dtype().kind() == b'O' {
        let text = format!(
            "X is a {} that NumPy makes an array of objects of; it must be an array of numbers",
            object.get_type()
        );
        return Err(PyTypeError::new_err(text));
    }
    Ok(array)
}

/// The array in row-major order with entries of one type, itself where it is so.
fn contiguous<'py, T: Element>(
    array: &Bound<'py, PyUntypedArray>,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    let py = array.py();
    let dtype = numpy::dtype::<T>(py);
    // Contiguous, aligned, and no subclass.
    let made = py.import("numpy")?.call_method1("require", (array, &dtype, ["C", "A", "E"]))?;
    made.cast_into::<PyArrayDyn<T>>()
        .map_err(|_| PyValueError::new_err("the array has a type of its own; give np.asarray(X)"))
}

/// An array that is kept as long as it is read.
struct Held<T> {
    _array: Py<PyAny>,
    start: *const T,
    len: usize,
}

// SAFETY: the array is kept by its reference, its entries are only read, and plain numbers can be read from any thread.
// That nobody writes to them meanwhile is the caller's promise (documented), as with every NumPy function that
// releases the lock.
unsafe impl<T: Send> Send for Held<T> {}
// SAFETY: as above: what is only read may be read by several threads.
unsafe impl<T: Sync> Sync for Held<T> {}

impl<T> AsRef<[T]> for Held<T> {
    fn as_ref(&self) -> &[T] {
        // SAFETY: `start` is the first of `len` entries of a contiguous array that `_array` keeps alive.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

fn held<T: Element + Scalar>(array: &Bound<'_, PyUntypedArray>) -> PyResult<AnyTensor> {
    if !(array.is_c_contiguous() && array.dtype().is_equiv_to(&numpy::dtype::<T>(array.py()))) {
        // It is copied into another order, or to other numbers.
        MemoryLimit::new(None).check(size(array.shape()), T::KIND).map_err(raise)?;
    }
    let array = contiguous::<T>(array)?;
    let dims = array.shape().to_vec();
    let read =
        array.try_readonly().map_err(|e| PyValueError::new_err(format!("the array: {e}")))?;
    let entries = read.as_slice()?;
    let aligned = entries.as_ptr().is_aligned();
    if std::mem::size_of_val(entries) < SHARED_BYTES || !aligned {
        return Ok(Tensor::new(dims, entries.to_vec()).map_err(raise)?.into());
    }
    let held = Held {
        start: entries.as_ptr(),
        len: entries.len(),
        _array: array.clone().into_any().unbind(),
    };
    Ok(Tensor::shared(dims, Arc::new(held)).map_err(raise)?.into())
}

/// A tensor whose entries are its own: nobody else can change them.
pub fn owned(tensor: AnyTensor) -> PyResult<AnyTensor> {
    let dims = tensor.dims().to_vec();
    Ok(dispatch!(tensor, t => Tensor::new(dims, t.into_data()).map_err(raise)?.into()))
}

/// A tensor as a new array, without a copy of its entries.
pub fn array(py: Python<'_>, tensor: AnyTensor) -> PyResult<Bound<'_, PyAny>> {
    fn made<'py, T: Element + Scalar>(
        py: Python<'py>,
        t: Tensor<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dims = t.dims().to_vec();
        let flat = PyArray1::from_vec(py, t.into_data());
        Ok(flat.reshape(dims)?.into_any())
    }
    match tensor {
        AnyTensor::F32(t) => made(py, t),
        AnyTensor::F64(t) => made(py, t),
        AnyTensor::C32(t) => made(py, t),
        AnyTensor::C64(t) => made(py, t),
    }
}

/// A tensor inside a Python object as an array that reads its entries where they are, and cannot be written to.
pub fn view<'py, O>(owner: &Bound<'py, O>, tensor: &AnyTensor) -> PyResult<Bound<'py, PyAny>> {
    fn made<'py, T: Element + Scalar>(
        owner: &Bound<'py, PyAny>,
        tensor: &Tensor<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = ndarray::ArrayViewD::from_shape(tensor.dims(), tensor.data())
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        // SAFETY: the entries belong to the owner, which is frozen: they neither move nor change as long as it lives.
        let array = unsafe { PyArrayDyn::borrow_from_array(&view, owner.clone()) };
        array.call_method1("setflags", (false,))?;
        Ok(array.into_any())
    }
    dispatch!(tensor, t => made(owner.as_any(), t))
}
