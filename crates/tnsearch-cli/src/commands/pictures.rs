//! Pictures as tensors: the options of every command that takes a tensor.

use crate::terminal;
use anyhow::anyhow;
use clap::{Args, ValueEnum};
use tnsearch::tensor::{AnyTensor, Kind, Reshape};
use tnsearch_app::Tensorise;
use tnsearch_app::tensorise::{AskedPicture, prepared};
use tnsearch_io::network::Origin;
use tnsearch_io::{Array, Dtype, MemoryLimit, Picture, picture, read_tensor, split_key};

/// How a picture becomes a tensor.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Pictures")]
pub struct PictureOptions {
    /// How a picture (or an array H x W or H x W x 3) becomes a tensor: vdt makes mode k of digit k of row and column,
    /// reshape splits rows and columns as the authors do [default: vdt for .png and .jpg]
    #[arg(long, value_name = "METHOD", value_enum, conflicts_with_all = ["split", "reshape"])]
    tensorise: Option<Named>,
    /// The digits of vdt, rows x columns, as 2x2,2x2,4x3 or 2x2^8; of reshape the factors of each side, as 4x4,8x2
    /// [default: small factors of the sides]
    #[arg(long, value_name = "LIST", requires = "tensorise")]
    factors: Option<String>,
    /// Make colours grey first
    #[arg(long)]
    grey: bool,
    /// Resize a picture first, rows x columns
    #[arg(long, value_name = "HxW")]
    resize: Option<String>,
    /// Take the middle of a picture whose sides do not have small factors [default: repeat its edges; they are cut off
    /// on the way back]
    #[arg(long)]
    crop: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Named {
    Vdt,
    Reshape,
    None,
}

impl PictureOptions {
    /// What is asked for; none where nothing is.
    pub fn check(&self) -> anyhow::Result<Option<Tensorise>> {
        let tensorise = self.tensorise.map(|named| match named {
            Named::Vdt => "vdt".to_owned(),
            Named::Reshape => "reshape".to_owned(),
            Named::None => "none".to_owned(),
        });
        let (factors, resize) = (self.factors.clone(), self.resize.clone());
        let (grey, crop) = (self.grey, self.crop);
        Ok(AskedPicture { tensorise, factors, grey, resize, crop }.check()?)
    }
}

/// The picture in a file, or that an array is, and what the file holds.
pub fn picture_of(name: &str, limit: MemoryLimit) -> anyhow::Result<(Picture, Origin)> {
    let path = split_key(name).0;
    if !picture::is_picture(&path)? {
        let Array { tensor, layout, .. } = read_tensor(name, None, limit)?;
        let read = Picture::from_tensor(&tensor).map_err(|e| anyhow!("{}: {e}", path.display()))?;
        return Ok((read, Origin { picture: false, dtype: layout.dtype }));
    }
    let read = picture::read(&path, limit)?;
    if read.was_transparent {
        let path = path.display();
        terminal::note("note", &format!("{path}: what is transparent is laid over white"));
    }
    let dtype = if read.bits == 16 { Dtype::U16 } else { Dtype::U8 };
    Ok((read, Origin { picture: true, dtype }))
}

/// The tensor of a picture after what was done to it before.
pub fn read_prepared(
    name: &str,
    kind: Option<Kind>,
    reshape: &Reshape,
    limit: MemoryLimit,
) -> anyhow::Result<(AnyTensor, Origin)> {
    let steps = reshape.picture().unwrap_or_default();
    let (own, origin) = picture_of(name, limit)?;
    let tensor = AnyTensor::from(prepared(own, steps).into_tensor());
    Ok((tensor.to_kind(kind.unwrap_or(Kind::F64))?, origin))
}
