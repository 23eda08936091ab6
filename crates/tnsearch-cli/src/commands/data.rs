//! The tensor of a command, and the shape in which it is taken.

use super::describe::{line, tensor_text};
use super::holes::{self, Holes, explained, target_of};
use super::pictures::{PictureOptions, picture_of, read_prepared};
use super::structures::Loaded;
use crate::terminal;
use crate::text::shape;
use anyhow::{anyhow, bail};
use clap::Args;
use std::path::Path;
use tnsearch::MemoryError;
use tnsearch::network::Network;
use tnsearch::problem::{Holed, Measure, Target};
use tnsearch::tensor::{
    AnyTensor, Kind, ModeNames, Reshape, ReshapeError, Split, parse_shape, size,
};
use tnsearch_app::Tensorise;
use tnsearch_app::tensorise::Method;
use tnsearch_io::journal::{Header, fingerprint};
use tnsearch_io::network::Origin;
use tnsearch_io::{Array, MemoryLimit, Problem, picture, read_tensor, split_key};

/// Another shape for the tensor: its modes split into factors.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Shape")]
pub struct ReshapeOptions {
    /// Split modes into factors: auto (large modes), primes, 4 (factors of 4 and the rest), or one entry per mode
    /// such as 4x4,8
    #[arg(long, value_name = "SPLIT", conflicts_with = "reshape")]
    split: Option<String>,
    /// Take the tensor in another shape of as many entries, such as 4^8 or 16x16x3
    #[arg(long, value_name = "SHAPE")]
    reshape: Option<String>,
    /// Let the first index run fastest when modes are split, as in Fortran and Matlab [default: the last, as in C
    /// and numpy]
    #[arg(long)]
    column_major: bool,
    #[command(flatten)]
    pictures: PictureOptions,
}

/// A tensor that was read, as it is searched or fitted.
pub struct Data {
    /// The tensor.
    pub target: Target,
    /// How it was reshaped; none where it has its own shape.
    pub reshape: Option<Reshape>,
    /// What is known of it, where that is not all.
    pub holed: Option<Holed>,
    /// What its file holds.
    pub origin: Origin,
    /// What was asked for that changed nothing.
    idle: Option<String>,
    /// What may be used for it.
    limit: MemoryLimit,
}

/// A tensor as it was read, and how it is reshaped.
struct Source {
    tensor: AnyTensor,
    reshape: Option<Reshape>,
    origin: Origin,
}

/// What a command asks about the shape, read before a large file is.
pub struct Wanted {
    what: Option<Way>,
    pictures: Option<Tensorise>,
    text: String,
    column_major: bool,
    holes: Option<Holes>,
}

enum Way {
    Split(Split),
    Shape(Vec<usize>),
}

impl ReshapeOptions {
    /// Refuses words that are no split or shape.
    pub fn check(&self) -> anyhow::Result<Wanted> {
        let (what, text) = match (&self.split, &self.reshape) {
            (Some(text), _) => (Some(Way::Split(named("--split", text, text.parse())?)), text),
            (_, Some(text)) => {
                (Some(Way::Shape(named("--reshape", text, parse_shape(text))?)), text)
            }
            _ if self.column_major => {
                bail!("--column-major says how modes are split; it needs --split or --reshape")
            }
            _ => (None, &String::new()),
        };
        let pictures = self.pictures.check()?;
        let (text, column_major) = (text.clone(), self.column_major);
        Ok(Wanted { what, pictures, text, column_major, holes: None })
    }
}

/// The option and what was given stand before what is wrong with it.
fn named<T>(option: &str, text: &str, made: Result<T, ReshapeError>) -> anyhow::Result<T> {
    made.map_err(|e| match e {
        ReshapeError::Unknown { .. } => anyhow!("{option}: {e}"),
        e => anyhow!("{option} {text}: {e}"),
    })
}

impl Wanted {
    /// The same for data with holes.
    pub fn with_holes(self, holes: impl Into<Option<Holes>>) -> Self {
        Wanted { holes: holes.into(), ..self }
    }

    /// The reshape of a tensor with these dimensions.
    fn reshape(&self, dims: &[usize]) -> anyhow::Result<Option<Reshape>> {
        let (text, column_major) = (&self.text, self.column_major);
        match &self.what {
            None => Ok(None),
            Some(Way::Split(split)) => {
                named("--split", text, Reshape::split(dims, split, column_major))
            }
            Some(Way::Shape(to)) => {
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
    ) -> anyhow::Result<Data> {
        let known = given.and_then(|g| g.reshape.as_ref());
        let source = self.read(name, dtype, known, limit)?;
        if let Some(given) = given {
            given.check_shape(source.reshape.as_ref().map_or(source.tensor.dims(), Reshape::to))?;
        }
        self.reshaped(name, source, limit)
    }

    /// The same with the reshape that it had before, unless another is asked for.
    pub fn load_as(
        &self,
        name: &str,
        dtype: Option<Kind>,
        known: Option<&Reshape>,
        limit: MemoryLimit,
    ) -> anyhow::Result<Data> {
        self.reshaped(name, self.read(name, dtype, known, limit)?, limit)
    }

    fn reshaped(&self, name: &str, source: Source, limit: MemoryLimit) -> anyhow::Result<Data> {
        let path = split_key(name).0;
        let Source { tensor, reshape, origin } = source;
        let same = |r: &Reshape| r.to() == r.from();
        let unchanged = self.what.is_some() && reshape.as_ref().is_none_or(same);
        let idle = unchanged.then(|| format!("'{}' leaves the modes as they are", self.text));
        if let Some(holes) = &self.holes {
            // The tensor as it is and as it is fitted, and which entries are known.
            let copies = if reshape.as_ref().is_some_and(Reshape::copies) { 3 } else { 2 };
            let bytes = copies * tensor.bytes() + 8 * tensor.len();
            MemoryError::check("a tensor with holes", bytes as f64, Some(limit.bytes()))
                .map_err(|e| anyhow!("{}: {e}", path.display()))?;
            let holed = holes.of(tensor, &path, limit)?;
            let target = target_of(&holed, reshape.as_ref(), &path)?;
            return Ok(Data { target, reshape, holed: Some(holed), origin, idle, limit });
        }
        let tensor = match &reshape {
            Some(reshape) => {
                if reshape.copies() {
                    // A reordered copy stands beside it.
                    let entries = 2 * size(reshape.to()).max(tensor.len() as u128);
                    limit.check(entries, tensor.kind()).map_err(|p: Problem| p.of(&path))?;
                }
                reshape.apply(tensor)
            }
            None => tensor,
        };
        let target = Target::new(tensor).map_err(|e| explained(e, &path))?;
        Ok(Data { target, reshape, holed: None, origin, idle, limit })
    }

    /// The tensor of a file; of a picture, or an array that is to be taken as one, after what is done to it first.
    fn read(
        &self,
        name: &str,
        dtype: Option<Kind>,
        known: Option<&Reshape>,
        limit: MemoryLimit,
    ) -> anyhow::Result<Source> {
        let known = known.filter(|_| self.is_default());
        if let Some(reshape) = known.filter(|r| r.picture().is_some()) {
            let (tensor, origin) = read_prepared(name, dtype, reshape, limit)?;
            let reshape = Some(reshape.clone()).filter(|r| r.from() == tensor.dims());
            return Ok(Source { tensor, reshape, origin });
        }
        if self.pictures.is_none() && !picture::is_picture(&split_key(name).0)? {
            let read = read_tensor(name, dtype, limit)?;
            warn_rounded(name, &read);
            let Array { tensor, layout, .. } = read;
            let origin = Origin { picture: false, dtype: layout.dtype };
            let reshape = match known {
                Some(known) => Some(known.clone()).filter(|r| r.from() == tensor.dims()),
                None => self.reshape(tensor.dims())?,
            };
            return Ok(Source { tensor, reshape, origin });
        }
        let mut how = self.pictures.clone().unwrap_or_default();
        if self.what.is_some() {
            how.method = Method::Plain;
        }
        let (own, origin) = picture_of(name, limit)?;
        let made = how.apply(own).map_err(|e| anyhow!("{name}: {e}"))?;
        let (steps, dims) = (made.reshape.picture(), made.picture.dims());
        let reshape = match (self.reshape(&dims)?, steps) {
            (Some(split), Some(steps)) => split.of_picture(steps),
            _ => made.reshape,
        };
        let tensor = AnyTensor::from(made.picture.into_tensor());
        let tensor = tensor.to_kind(dtype.unwrap_or(Kind::F64))?;
        Ok(Source { tensor, reshape: Some(reshape), origin })
    }

    fn is_default(&self) -> bool {
        self.what.is_none() && self.pictures.is_none()
    }
}

impl Data {
    /// The RSE of a network, which its file holds, whatever it was fitted by.
    pub fn rse_of(&self, found: &Network, measure: &Measure, error: f64) -> anyhow::Result<f64> {
        Ok(match *measure == Measure::RSE {
            true => error,
            false => self.target.rse_of_network(found, Some(self.limit.bytes()))?,
        })
    }

    /// Checks a network against what is said about it, before that is said or written.
    pub fn confirm(&self, found: &Network, rse: f64) -> anyhow::Result<()> {
        self.target.confirm(found, rse, Some(self.limit.bytes()))?;
        Ok(())
    }

    /// What the modes are called.
    pub fn names(&self) -> ModeNames<'_> {
        ModeNames::new(self.reshape.as_ref())
    }

    /// Warns of slices without an observed entry.
    pub fn warn(&self) {
        if let Some(text) = self.holed.as_ref().and_then(Holed::empty_text) {
            terminal::note("warning", &text);
        }
    }

    /// The lines about the tensor: its own shape, and that in which it was taken.
    pub fn lines(&self, out: &mut String, name: &str) {
        let own = self.reshape.as_ref().map_or(self.target.dims(), Reshape::from);
        line(out, "tensor", tensor_text(name, own));
        if let Some(reshape) = self.reshape.as_ref().filter(|_| self.idle.is_none()) {
            line(out, "reshaped", reshape_text(reshape));
        }
        if let Some(idle) = &self.idle {
            line(out, "reshaped", idle);
        }
        if let Some(holed) = &self.holed {
            holes::lines(holed, out);
        }
    }
}

/// Says where whole numbers became others.
pub fn warn_rounded(name: &str, read: &Array) {
    if let Some(text) = read.rounded_text() {
        terminal::note("warning", &format!("{name}: {text}"));
    }
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
pub fn check_shape(path: &Path, what: &str, known: &[usize], dims: &[usize]) -> anyhow::Result<()> {
    if known != dims {
        let (known, dims) = (shape(known), shape(dims));
        bail!("{}: {what} is for a tensor {known}, not {dims}", path.display());
    }
    Ok(())
}

/// The tensor of a search that is on record, in the shape and of the kind of number that it was searched with. None
/// where it is another tensor.
pub fn for_journal(
    name: &str,
    header: &Header,
    limit: MemoryLimit,
) -> anyhow::Result<Option<Target>> {
    let path = split_key(name).0;
    // The search may have been made with another kind of number than the file has.
    for kind in [None].into_iter().chain(Kind::ALL.map(Some)) {
        let tensor = match read_reshaped(name, kind, header.reshaped.as_ref(), limit) {
            Ok(tensor) => tensor,
            Err(_) if kind.is_some() => continue,
            Err(e) => return Err(e),
        };
        if tensor.dims() != header.dims {
            return Ok(None);
        }
        let target = Target::new(tensor).map_err(|e| Problem::from(e).of(&path))?;
        if fingerprint(&target) == header.sha256 {
            return Ok(Some(target));
        }
    }
    Ok(None)
}

/// A tensor as numbers of that kind, reshaped as it was where it has the shape for that.
pub fn read_as(
    name: &str,
    kind: Kind,
    reshape: Option<&Reshape>,
    limit: MemoryLimit,
) -> anyhow::Result<Target> {
    let tensor = read_reshaped(name, Some(kind), reshape, limit)?;
    Ok(Target::new(tensor).map_err(|e| Problem::from(e).of(split_key(name).0))?)
}

/// A tensor as it was taken before: its picture prepared, its shape changed where it has the one for that.
fn read_reshaped(
    name: &str,
    kind: Option<Kind>,
    reshape: Option<&Reshape>,
    limit: MemoryLimit,
) -> anyhow::Result<AnyTensor> {
    let tensor = match reshape.filter(|r| r.picture().is_some()) {
        Some(reshape) => read_prepared(name, kind, reshape, limit)?.0,
        None => read_tensor(name, kind, limit)?.tensor,
    };
    Ok(match reshape {
        Some(reshape) if reshape.from() == tensor.dims() => reshape.apply(tensor),
        _ => tensor,
    })
}
