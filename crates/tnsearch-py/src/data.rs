//! The tensor of a function: an array, what is known of it, and the shape in which it is taken.

use crate::array;
use crate::errors::raise;
use crate::options::Memory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use tnsearch::problem::{DataError, Holed, MaskError, Target};
use tnsearch::tensor::{AnyTensor, Kind, Reshape, Split, TensorError, parse_shape, size};
use tnsearch_app::tensorise::prepared;
use tnsearch_io::{MemoryLimit, Picture};

/// What is asked about the data, as `python/tnsearch/_data.py` makes it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataOptions {
    split: Option<String>,
    reshape: Option<String>,
    column_major: bool,
    dtype: Option<String>,
    /// What True means in a mask.
    mask_marks: Marks,
    pub nan_missing: bool,
    max_memory: Memory,
}

/// What True means in a mask, as on the command line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Marks {
    /// Missing, as in NumPy's masked arrays.
    #[default]
    Missing,
    /// Observed.
    Observed,
}

/// A tensor as it is searched or fitted.
pub struct Data {
    /// The tensor.
    pub target: Target,
    /// How it was reshaped; none where it has its own shape.
    pub reshape: Option<Reshape>,
    /// What is known of it, where that is not all.
    pub holed: Option<Holed>,
}

impl Data {
    /// Warns of slices without an observed entry.
    pub fn warn(&self, py: Python<'_>) -> PyResult<()> {
        match self.holed.as_ref().and_then(Holed::empty_text) {
            Some(text) => py.import("warnings")?.call_method1("warn", (text,)).map(drop),
            None => Ok(()),
        }
    }
}

impl DataOptions {
    /// What may be used.
    pub fn limit(&self) -> PyResult<MemoryLimit> {
        self.max_memory.limit()
    }

    /// The kind of number asked for.
    pub fn kind(&self) -> PyResult<Option<Kind>> {
        self.dtype.as_deref().map(str::parse).transpose().map_err(raise)
    }

    pub fn is_default(&self) -> bool {
        self.split.is_none() && self.reshape.is_none()
    }

    /// The reshape of a tensor with these dimensions.
    pub fn reshape(&self, dims: &[usize]) -> PyResult<Option<Reshape>> {
        let made = match (&self.split, &self.reshape) {
            (Some(_), Some(_)) => {
                let text = "split and reshape were both given; they exclude each other";
                return Err(PyValueError::new_err(text));
            }
            (Some(text), None) => text
                .parse::<Split>()
                .and_then(|split| Reshape::split(dims, &split, self.column_major)),
            (None, Some(text)) => {
                parse_shape(text).and_then(|to| Reshape::shape(dims, to, self.column_major))
            }
            (None, None) if self.column_major => {
                let text =
                    "column_major says how modes are split; it goes with split or reshape alone";
                return Err(PyValueError::new_err(text));
            }
            (None, None) => return Ok(None),
        };
        made.map_err(raise)
    }

    /// Which entries are known: those that neither the mask nor the array itself, a masked one, says are missing. None
    /// where all are.
    fn inside(
        &self,
        dims: &[usize],
        mask: Option<&Bound<'_, PyAny>>,
        masked: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Vec<bool>>> {
        if mask.is_none() && self.mask_marks != Marks::default() {
            let text = "mask_marks says what True means in mask; it goes with mask alone";
            return Err(PyValueError::new_err(text));
        }
        let given = [(mask, self.mask_marks), (masked, Marks::Missing)];
        let mut inside: Option<Vec<bool>> = None;
        for (mask, marks) in given {
            let Some((found, marked)) = mask.map(array::mask).transpose()? else { continue };
            if found != dims {
                return Err(raise(MaskError::Shape { found, expected: dims.to_vec() }));
            }
            let known = marked.iter().map(|&marked| marked == (marks == Marks::Observed));
            inside = Some(match inside {
                Some(others) => others.into_iter().zip(known).map(|(a, b)| a && b).collect(),
                None => known.collect(),
            });
        }
        Ok(inside)
    }

    /// An array of which every entry is known as data; masked arrays are refused.
    pub fn load_whole(&self, x: &Bound<'_, PyAny>, known: Option<&Reshape>) -> PyResult<Data> {
        self.load(array::as_numpy(x)?.as_any(), None, known, None)
    }

    /// An array as data, a masked one too, whose masked entries are missing. `known` is the reshape of a network it goes
    /// with, which counts where no other is asked for;
    /// `remove`, a share of the entries to be removed and the seed that decides which.
    pub fn load(
        &self,
        x: &Bound<'_, PyAny>,
        mask: Option<&Bound<'_, PyAny>>,
        known: Option<&Reshape>,
        remove: Option<(f64, u64)>,
    ) -> PyResult<Data> {
        let limit = self.limit()?;
        let (x, masked) = array::unmasked(x)?;
        let x = &x;
        let tensor = array::tensor(x, self.kind()?)?;
        let inside = self.inside(tensor.dims(), mask, masked.as_ref())?;
        let known = known.filter(|_| self.is_default());
        let (tensor, reshape) = match known {
            Some(known) => {
                let tensor = as_picture(tensor, known)?;
                let same = known.from() == tensor.dims();
                (tensor, Some(known.clone()).filter(|_| same))
            }
            None => {
                let reshape = self.reshape(tensor.dims())?;
                (tensor, reshape)
            }
        };
        let holes = inside.is_some() || self.nan_missing || remove.is_some();
        x.py().detach(|| match holes {
            true => {
                // What is known, and that in the shape in which it is fitted.
                limit.check(2 * tensor.len() as u128, tensor.kind()).map_err(raise)?;
                let holed = Holed::new(tensor, inside, self.nan_missing, remove).map_err(raise)?;
                let target = holed.target(reshape.as_ref()).map_err(|e| match e {
                    DataError::Tensor(e) => explained(e),
                    e => raise(e),
                })?;
                Ok(Data { target, reshape, holed: Some(holed) })
            }
            false => {
                let tensor = reshaped(tensor, reshape.as_ref(), limit)?;
                let target = Target::new(tensor).map_err(explained)?;
                Ok(Data { target, reshape, holed: None })
            }
        })
    }
}

/// The tensor in the shape in which it is taken, if memory allows.
pub fn reshaped(
    tensor: AnyTensor,
    reshape: Option<&Reshape>,
    limit: MemoryLimit,
) -> PyResult<AnyTensor> {
    let Some(reshape) = reshape else { return Ok(tensor) };
    if reshape.copies() {
        // A reordered copy stands beside it.
        let entries = 2 * size(reshape.to()).max(tensor.len() as u128);
        limit.check(entries, tensor.kind()).map_err(raise)?;
    }
    Ok(reshape.apply(tensor))
}

/// The array of a picture after what was done to it before; other arrays as they are.
fn as_picture(tensor: AnyTensor, known: &Reshape) -> PyResult<AnyTensor> {
    let Some(steps) = known.picture() else { return Ok(tensor) };
    let kind = tensor.kind();
    let picture = Picture::from_tensor(&tensor).map_err(raise)?;
    AnyTensor::from(prepared(picture, steps).into_tensor()).to_kind(kind).map_err(raise)
}

/// A number that is no finite one may be a hole.
pub fn explained(e: TensorError) -> PyErr {
    match &e {
        TensorError::NotFinite { value, .. } if value.contains("NaN") => PyValueError::new_err(
            format!("{e}; where NaN is missing, give mask=np.isnan(X) or nan_missing=True"),
        ),
        _ => raise(e),
    }
}
