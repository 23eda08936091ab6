//! The tensor of a function: an array, what is known of it, and the shape in which it is taken.

pub use tnsearch_app::load::Data;

use crate::array;
use crate::errors::raise;
use crate::options::Memory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Deserialize;
use tnsearch::problem::MaskError;
use tnsearch::tensor::{AnyTensor, Kind, Reshape, Split, parse_shape};
use tnsearch_app::load::{self, Known, LoadError, Marks, as_picture};
use tnsearch_io::MemoryLimit;

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

/// Warns of slices without an observed entry.
pub fn warn(data: &Data, py: Python<'_>) -> PyResult<()> {
    match data.empty_text() {
        Some(text) => py.import("warnings")?.call_method1("warn", (text,)).map(drop),
        None => Ok(()),
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

    /// The same with a kind of number, unless one is asked for.
    pub fn or_kind(self, kind: Option<Kind>) -> Self {
        DataOptions { dtype: self.dtype.or(kind.map(|k| k.name().to_owned())), ..self }
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
                let tensor = as_picture(tensor, known).map_err(raise)?;
                let same = known.from() == tensor.dims();
                (tensor, Some(known.clone()).filter(|_| same))
            }
            None => {
                let reshape = self.reshape(tensor.dims())?;
                (tensor, reshape)
            }
        };
        let holes = inside.is_some() || self.nan_missing || remove.is_some();
        let nan_missing = self.nan_missing;
        let known = holes.then_some(Known { inside, nan_missing, remove });
        x.py().detach(|| Data::new(tensor, reshape, known, limit)).map_err(explained)
    }
}

/// The tensor in the shape in which it is taken, if memory allows.
pub fn reshaped(
    tensor: AnyTensor,
    reshape: Option<&Reshape>,
    limit: MemoryLimit,
) -> PyResult<AnyTensor> {
    load::reshaped(tensor, reshape, limit).map_err(raise)
}

/// A number that is no finite one may be a hole.
fn explained(e: LoadError) -> PyErr {
    match e.is_nan() {
        true => PyValueError::new_err(format!(
            "{e}; where NaN is missing, give mask=np.isnan(X) or nan_missing=True"
        )),
        false => raise(e),
    }
}
