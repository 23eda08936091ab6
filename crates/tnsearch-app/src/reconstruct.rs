//! The way back from a network: to its tensor, and to the picture or array that was compressed.

use thiserror::Error;
use tnsearch::network::{Network, NetworkError};
use tnsearch::tensor::{AnyTensor, Kind, Reshape, size, unflatten};
use tnsearch_io::network::Origin;
use tnsearch_io::output::{Output, OutputError};
use tnsearch_io::picture::{self, NoPicture};
use tnsearch_io::{Dtype, MemoryLimit, Picture, Problem, write_npy_as};

/// Why there is no way back.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReconstructError {
    /// The tensor is too large.
    #[error(transparent)]
    Size(Problem),
    /// The network could not be contracted.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// Cores that are no numbers, or a tensor beyond the range of its kind.
    #[error(
        "entry {index:?} of its tensor is {value}, not a finite number of {kind}; nothing is written"
    )]
    NotFinite {
        /// Which entry.
        index: Vec<usize>,
        /// What it is.
        value: String,
        /// The kind of its numbers.
        kind: Kind,
    },
    /// Its tensor has not the shape of a picture.
    #[error(transparent)]
    Shape(#[from] NoPicture),
    /// The network stands for no picture or array.
    #[error("it was not made by 'compress'; 'reconstruct' gives its tensor")]
    NotCompressed,
    /// A picture is asked for where there is none.
    #[error("it holds an array of type {}; write it as .npy", .0.name())]
    Array(Dtype),
}

/// The dense tensor of a network in the shape that it had before its modes were split; every entry a finite number.
pub fn reconstruct(
    network: &Network,
    reshape: Option<&Reshape>,
    limit: MemoryLimit,
) -> Result<AnyTensor, ReconstructError> {
    let dims = reshape.map_or(network.dims(), Reshape::from);
    limit.check(size(dims), network.kind()).map_err(ReconstructError::Size)?;
    let tensor = network.to_tensor(Some(limit.bytes()))?;
    if let Some(flat) = tensor.first_not_finite() {
        return Err(ReconstructError::NotFinite {
            index: unflatten(flat, tensor.dims()),
            value: tensor.entry(flat).to_string(),
            kind: tensor.kind(),
        });
    }
    Ok(match reshape {
        Some(reshape) => reshape.undo(tensor),
        None => tensor,
    })
}

/// What was compressed.
#[derive(Debug, Clone, PartialEq)]
pub enum Decompressed {
    /// A picture, with as many bits as it had.
    Picture(Picture),
    /// An array, and its type.
    Array(AnyTensor, Dtype),
}

/// What a network was made from by compression: a picture where that is asked for, else the array, of a picture that of its
/// samples, in whole steps.
pub fn decompress(
    network: &Network,
    reshape: Option<&Reshape>,
    origin: Option<Origin>,
    as_picture: bool,
    limit: MemoryLimit,
) -> Result<Decompressed, ReconstructError> {
    let Origin { picture, dtype } = origin.ok_or(ReconstructError::NotCompressed)?;
    if as_picture && !picture {
        return Err(ReconstructError::Array(dtype));
    }
    let tensor = reconstruct(network, reshape, limit)?;
    if !picture {
        return Ok(Decompressed::Array(tensor, dtype));
    }
    let mut made = Picture::from_tensor(&tensor)?;
    made.bits = if dtype == Dtype::U16 { 16 } else { 8 };
    Ok(match as_picture {
        true => Decompressed::Picture(made),
        false => Decompressed::Array(made.steps().into_tensor().into(), dtype),
    })
}

impl Decompressed {
    /// Writes it: a picture as the name says, an array as .npy.
    pub fn write(&self, output: &Output) -> Result<(), OutputError> {
        match self {
            Decompressed::Picture(made) => picture::write(output, made),
            Decompressed::Array(tensor, dtype) => write_npy_as(output, tensor, *dtype),
        }
    }
}
