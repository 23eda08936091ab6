//! The tensor of a command, and the shape in which it is taken.

pub use tnsearch_app::load::reshape_text;

use super::describe::{line, tensor_text};
use super::holes;
use super::pictures::PictureOptions;
use crate::terminal;
use clap::Args;
use std::ops::Deref;
use tnsearch::network::Network;
use tnsearch::search::CheckedSearch;
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_app::load::{self, AskedShape, Holes, Note};
use tnsearch_app::structures::Loaded;
use tnsearch_io::{Array, MemoryLimit};

/// Another shape for the tensor: its modes split into factors.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Shape")]
pub struct ReshapeOptions {
    /// Split modes into factors: auto (large modes), primes, 4 (factors of 4 and the rest), one entry per mode such as
    /// 4x4,8, or none
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
pub struct Data(load::Data);

/// What a command asks about the shape, read before a large file is.
pub struct Wanted(load::Wanted);

impl ReshapeOptions {
    /// Refuses words that are no split or shape.
    pub fn check(&self) -> anyhow::Result<Wanted> {
        let asked = AskedShape {
            split: self.split.clone(),
            reshape: self.reshape.clone(),
            column_major: self.column_major,
            pictures: self.pictures.asked(),
        };
        Ok(Wanted(asked.check()?))
    }
}

impl Wanted {
    /// The same for data with holes.
    pub fn with_holes(self, holes: impl Into<Option<Holes>>) -> Self {
        Wanted(self.0.with_holes(holes))
    }

    /// Reads a tensor and reshapes it as asked, or as the structure that goes with it was made.
    pub fn load(
        &self,
        name: &str,
        dtype: Option<Kind>,
        given: Option<&Loaded>,
        limit: MemoryLimit,
    ) -> anyhow::Result<Data> {
        Ok(Data::told(self.0.load(name, dtype, given, limit)?))
    }

    /// The same with the reshape that it had before, unless another is asked for.
    pub fn load_as(
        &self,
        name: &str,
        dtype: Option<Kind>,
        known: Option<&Reshape>,
        limit: MemoryLimit,
    ) -> anyhow::Result<Data> {
        Ok(Data::told(self.0.load_as(name, dtype, known, limit)?))
    }
}

impl Deref for Data {
    type Target = load::Data;

    fn deref(&self) -> &load::Data {
        &self.0
    }
}

impl Data {
    /// Says what is to be said about its file.
    fn told(data: load::Data) -> Self {
        for note in &data.notes {
            match note {
                Note::Warning(text) => terminal::note("warning", text),
                Note::Note(text) => terminal::note("note", text),
            }
        }
        Data(data)
    }

    /// The same as a search takes it: in the split that it chose, where it did.
    pub fn searched_by(self, search: &CheckedSearch<'_>) -> Self {
        Data(self.0.searched_by(search))
    }

    /// Checks a network against what is said about it, before that is said or written.
    pub fn confirm(&self, found: &Network, rse: f64) -> anyhow::Result<()> {
        self.target.confirm(found, rse, Some(self.limit.bytes()))?;
        Ok(())
    }

    /// Warns of slices without an observed entry.
    pub fn warn(&self) {
        if let Some(text) = self.empty_text() {
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
