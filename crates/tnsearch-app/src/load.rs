//! The tensor of a command or a function, and the shape in which it is taken.

mod error;
mod holes;
mod recorded;

pub use error::LoadError;
pub use holes::{Holes, Marks};
pub use recorded::{Source, read_as, recorded};

use crate::Tensorise;
use crate::structures::Loaded;
use crate::tensorise::{AskedPicture, Method, prepared};
use crate::text::shape;
use std::path::Path;
use tnsearch::MemoryError;
use tnsearch::network::{Network, NetworkError};
use tnsearch::problem::{Holed, Measure, Target};
use tnsearch::search::CheckedSearch;
use tnsearch::tensor::{
    AnyTensor, Kind, ModeNames, Reshape, ReshapeError, Split, parse_shape, size,
};
use tnsearch_io::network::Origin;
use tnsearch_io::{Array, Dtype, MemoryLimit, Picture, Problem, picture, read_tensor, split_key};

/// What a tensor is called that is no file.
pub const ARRAY: &str = "an array";

/// What should be said about a file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// Its numbers became others.
    Warning(String),
    /// What was made of it.
    Note(String),
}

/// Another shape for the tensor, in the words of users.
#[derive(Debug, Clone, Default)]
pub struct AskedShape {
    /// Split modes into factors: `auto`, `primes`, `none`, `4`, or one entry per mode such as `4x4,8`.
    pub split: Option<String>,
    /// Take the tensor in another shape of as many entries, such as `4^8` or `16x16x3`.
    pub reshape: Option<String>,
    /// Let the first index run fastest when modes are split.
    pub column_major: bool,
    /// How a picture becomes a tensor.
    pub pictures: AskedPicture,
}

/// What is asked about the shape, read before a large file is.
#[derive(Debug)]
pub struct Wanted {
    what: Option<NewShape>,
    pictures: Option<Tensorise>,
    text: String,
    column_major: bool,
    holes: Option<Holes>,
}

#[derive(Debug)]
enum NewShape {
    Split(Split),
    Shape(Vec<usize>),
}

/// A tensor as it is searched or fitted.
#[derive(Debug)]
pub struct Data {
    /// The tensor.
    pub target: Target,
    /// How it was reshaped; none where it has its own shape.
    pub reshape: Option<Reshape>,
    /// What is known of it, where that is not all.
    pub holed: Option<Holed>,
    /// What its file holds.
    pub origin: Origin,
    /// Whether a shape was asked for, its own included.
    pub shape_asked: bool,
    /// What was asked for that changed nothing.
    pub idle: Option<String>,
    /// What should be said about its file.
    pub notes: Vec<Note>,
    /// What may be used for it.
    pub limit: MemoryLimit,
}

/// A tensor as it was read, and how it is reshaped.
struct Read {
    tensor: AnyTensor,
    reshape: Option<Reshape>,
    origin: Origin,
    notes: Vec<Note>,
}

impl AskedShape {
    /// Refuses words that are no split or shape.
    pub fn check(&self) -> Result<Wanted, LoadError> {
        let (what, text) = match (&self.split, &self.reshape) {
            (Some(text), _) => (Some(NewShape::Split(named("--split", text, text.parse())?)), text),
            (_, Some(text)) => {
                (Some(NewShape::Shape(named("--reshape", text, parse_shape(text))?)), text)
            }
            _ if self.column_major => {
                return Err(LoadError::Asked(
                    "--column-major says how modes are split; it needs --split or --reshape".into(),
                ));
            }
            _ => (None, &String::new()),
        };
        let pictures = self.pictures.check()?;
        let (text, column_major) = (text.clone(), self.column_major);
        Ok(Wanted { what, pictures, text, column_major, holes: None })
    }
}

/// The option and what was given stand before what is wrong with it.
fn named<T>(option: &str, text: &str, made: Result<T, ReshapeError>) -> Result<T, LoadError> {
    made.map_err(|e| match e {
        ReshapeError::Unknown { .. } => LoadError::of(option, e),
        e => LoadError::of(format_args!("{option} {text}"), e),
    })
}

impl Wanted {
    /// The same for data with holes.
    #[must_use]
    pub fn with_holes(self, holes: impl Into<Option<Holes>>) -> Self {
        Wanted { holes: holes.into(), ..self }
    }

    /// The reshape of a tensor with these dimensions.
    fn reshape(&self, dims: &[usize]) -> Result<Option<Reshape>, LoadError> {
        let (text, column_major) = (&self.text, self.column_major);
        match &self.what {
            None => Ok(None),
            Some(NewShape::Split(split)) => {
                named("--split", text, Reshape::split(dims, split, column_major))
            }
            Some(NewShape::Shape(to)) => {
                named("--reshape", text, Reshape::shape(dims, to.clone(), column_major))
            }
        }
    }

    /// Reads a tensor and reshapes it as asked, or as the structure that goes with it was made.
    pub fn load(
        &self,
        name: &str,
        dtype: Option<Kind>,
        given: Option<&Loaded>,
        limit: MemoryLimit,
    ) -> Result<Data, LoadError> {
        let known = given.and_then(|g| g.reshape.as_ref());
        let read = self.read(name, dtype, known, limit)?;
        if let Some(given) = given {
            given.check_shape(read.reshape.as_ref().map_or(read.tensor.dims(), Reshape::to))?;
        }
        self.reshaped(name, read, limit)
    }

    /// The same with the reshape that it had before, unless another is asked for.
    pub fn load_as(
        &self,
        name: &str,
        dtype: Option<Kind>,
        known: Option<&Reshape>,
        limit: MemoryLimit,
    ) -> Result<Data, LoadError> {
        self.reshaped(name, self.read(name, dtype, known, limit)?, limit)
    }

    fn reshaped(&self, name: &str, read: Read, limit: MemoryLimit) -> Result<Data, LoadError> {
        let path = split_key(name).0;
        let Read { tensor, reshape, origin, notes } = read;
        let same = |r: &Reshape| r.to() == r.from();
        let unchanged = self.what.is_some() && reshape.as_ref().is_none_or(same);
        let idle = unchanged.then(|| format!("'{}' leaves the modes as they are", self.text));
        let known = self.holes.as_ref().map(|holes| holes.known(tensor.dims(), limit));
        let known = known.transpose()?;
        let data = Data::new(tensor, reshape, known, limit).map_err(|e| e.within(&path))?;
        let shape_asked = self.what.is_some() || self.pictures.is_some() || data.reshape.is_some();
        Ok(Data { origin, shape_asked, idle, notes, ..data })
    }

    /// The tensor of a file; of a picture, or an array that is to be taken as one, after what is done to it first.
    fn read(
        &self,
        name: &str,
        dtype: Option<Kind>,
        known: Option<&Reshape>,
        limit: MemoryLimit,
    ) -> Result<Read, LoadError> {
        let known = known.filter(|_| self.what.is_none() && self.pictures.is_none());
        let mut notes = Vec::new();
        if let Some(reshape) = known.filter(|r| r.picture().is_some()) {
            let (own, origin) = picture_of(name, limit, &mut notes)?;
            let tensor = as_prepared(own, reshape, dtype)?;
            let reshape = Some(reshape.clone()).filter(|r| r.from() == tensor.dims());
            return Ok(Read { tensor, reshape, origin, notes });
        }
        if self.pictures.is_none() && !picture::is_picture(&split_key(name).0)? {
            let read = read_tensor(name, dtype, limit)?;
            notes.extend(read.rounded_text().map(|t| Note::Warning(format!("{name}: {t}"))));
            let Array { tensor, layout, .. } = read;
            let origin = Origin { picture: false, dtype: layout.dtype };
            let reshape = match known {
                Some(known) => Some(known.clone()).filter(|r| r.from() == tensor.dims()),
                None => self.reshape(tensor.dims())?,
            };
            return Ok(Read { tensor, reshape, origin, notes });
        }
        let mut how = self.pictures.clone().unwrap_or_default();
        if self.what.is_some() {
            how.method = Method::Plain;
        }
        let (own, origin) = picture_of(name, limit, &mut notes)?;
        let made = how.apply(own).map_err(|e| LoadError::of(name, e))?;
        let (steps, dims) = (made.reshape.picture(), made.picture.dims());
        let reshape = match (self.reshape(&dims)?, steps) {
            (Some(split), Some(steps)) => split.of_picture(steps),
            _ => made.reshape,
        };
        let tensor = AnyTensor::from(made.picture.into_tensor());
        let tensor = tensor.to_kind(dtype.unwrap_or(Kind::F64))?;
        Ok(Read { tensor, reshape: Some(reshape), origin, notes })
    }
}

/// What of a tensor is known: which entries (none: all), whether NaN is missing, and what is removed of them: a share, and the
/// seed that decides which.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Which entries are known; none: all.
    pub inside: Option<Vec<bool>>,
    /// Whether NaN is missing.
    pub nan_missing: bool,
    /// The share of entries to be removed, and the seed that decides which.
    pub remove: Option<(f64, u64)>,
}

impl Data {
    /// A tensor in the shape in which it is taken, if memory allows; `known` where it has holes.
    pub fn new(
        tensor: AnyTensor,
        reshape: Option<Reshape>,
        known: Option<Known>,
        limit: MemoryLimit,
    ) -> Result<Self, LoadError> {
        let dtype = match tensor.kind() {
            Kind::F32 => Dtype::F32,
            Kind::F64 => Dtype::F64,
            Kind::C32 => Dtype::C64,
            Kind::C64 => Dtype::C128,
        };
        let (target, holed) = match known {
            Some(Known { inside, nan_missing, remove }) => {
                // The tensor as it is and as it is fitted, and which entries are known.
                let copies = if reshape.as_ref().is_some_and(Reshape::copies) { 3 } else { 2 };
                let bytes = (copies * tensor.bytes() + 8 * tensor.len()) as f64;
                MemoryError::check("a tensor with holes", bytes, Some(limit.bytes()))?;
                let holed = Holed::new(tensor, inside, nan_missing, remove)?;
                (holed.target(reshape.as_ref())?, Some(holed))
            }
            None => (Target::new(reshaped(tensor, reshape.as_ref(), limit)?)?, None),
        };
        let origin = Origin { picture: false, dtype };
        let (shape_asked, idle, notes) = (reshape.is_some(), None, Vec::new());
        Ok(Data { target, reshape, holed, origin, shape_asked, idle, notes, limit })
    }

    /// The same as a search takes it: in the split that it chose, where it did.
    #[must_use]
    pub fn searched_by(self, search: &CheckedSearch<'_>) -> Self {
        match search.split() {
            None => self,
            Some(split) => {
                let (target, reshape) = (search.target().clone(), Some(split.reshape.clone()));
                Data { target, reshape, ..self }
            }
        }
    }

    /// A shape whose entries nobody needs.
    pub fn of_shape(dims: Vec<usize>, limit: MemoryLimit) -> Result<Self, Problem> {
        let (target, origin) =
            (Target::of_shape(dims)?, Origin { picture: false, dtype: Dtype::F64 });
        let (reshape, holed, idle, notes) = (None, None, None, Vec::new());
        let shape_asked = false;
        Ok(Data { target, reshape, holed, origin, shape_asked, idle, notes, limit })
    }

    /// The RSE of a network, which its file holds, whatever it was fitted by.
    pub fn rse_of(
        &self,
        found: &Network,
        measure: &Measure,
        error: f64,
    ) -> Result<f64, NetworkError> {
        match *measure == Measure::RSE {
            true => Ok(error),
            false => self.target.rse_of_network(found, Some(self.limit.bytes())),
        }
    }

    /// What the modes are called.
    pub fn names(&self) -> ModeNames<'_> {
        ModeNames::new(self.reshape.as_ref())
    }

    /// Slices without an observed entry, in words.
    pub fn empty_text(&self) -> Option<String> {
        self.holed.as_ref().and_then(Holed::empty_text)
    }
}

/// The tensor in the shape in which it is taken, if memory allows.
pub fn reshaped(
    tensor: AnyTensor,
    reshape: Option<&Reshape>,
    limit: MemoryLimit,
) -> Result<AnyTensor, Problem> {
    let Some(reshape) = reshape else { return Ok(tensor) };
    if reshape.copies() {
        // A reordered copy stands beside it.
        let entries = 2 * size(reshape.to()).max(tensor.len() as u128);
        limit.check(entries, tensor.kind())?;
    }
    Ok(reshape.apply(tensor))
}

/// The picture in a file, or that an array is, and what the file holds.
fn picture_of(
    name: &str,
    limit: MemoryLimit,
    notes: &mut Vec<Note>,
) -> Result<(Picture, Origin), LoadError> {
    let path = split_key(name).0;
    if !picture::is_picture(&path)? {
        let Array { tensor, layout, .. } = read_tensor(name, None, limit)?;
        let read = Picture::from_tensor(&tensor).map_err(|e| LoadError::of(path.display(), e))?;
        return Ok((read, Origin { picture: false, dtype: layout.dtype }));
    }
    let read = picture::read(&path, limit)?;
    if read.was_transparent {
        let path = path.display();
        notes.push(Note::Note(format!("{path}: what is transparent is laid over white")));
    }
    let dtype = if read.bits == 16 { Dtype::U16 } else { Dtype::U8 };
    Ok((read, Origin { picture: true, dtype }))
}

/// The tensor of a picture after what was done to it before.
fn as_prepared(
    own: Picture,
    reshape: &Reshape,
    kind: Option<Kind>,
) -> Result<AnyTensor, LoadError> {
    let steps = reshape.picture().unwrap_or_default();
    let tensor = AnyTensor::from(prepared(own, steps).into_tensor());
    Ok(tensor.to_kind(kind.unwrap_or(Kind::F64))?)
}

/// The array of a picture after what was done to it before; other arrays as they are.
pub fn as_picture(tensor: AnyTensor, known: &Reshape) -> Result<AnyTensor, LoadError> {
    if known.picture().is_none() {
        return Ok(tensor);
    }
    let picture = Picture::from_tensor(&tensor).map_err(|e| LoadError::Asked(e.to_string()))?;
    as_prepared(picture, known, Some(tensor.kind()))
}

/// A reshape in words.
pub fn reshape_text(reshape: &Reshape) -> String {
    let order = if reshape.column_major() { ", column-major" } else { "" };
    let order = if reshape.digit_sides().is_some() { ", digits of row and column" } else { order };
    let padded = match reshape.padded_shape() {
        padded if padded != reshape.from() => format!(" -> {} (edges repeated)", shape(padded)),
        _ => String::new(),
    };
    let names = reshape.names().join(" ");
    format!("{}{padded} -> {}{order}: {names}", shape(reshape.from()), shape(reshape.to()))
}

/// Refuses a network for a tensor of another shape; both shapes are named.
pub fn check_shape(
    path: &Path,
    what: &str,
    known: &[usize],
    dims: &[usize],
) -> Result<(), LoadError> {
    if known == dims {
        return Ok(());
    }
    let (known, dims) = (shape(known), shape(dims));
    Err(LoadError::of(path.display(), format!("{what} is for a tensor {known}, not {dims}")))
}
