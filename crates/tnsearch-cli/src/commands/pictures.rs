//! Pictures as tensors: the options of every command that takes a tensor.

use clap::{Args, ValueEnum};
use tnsearch_app::tensorise::AskedPicture;

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
    /// What is asked for.
    pub fn asked(&self) -> AskedPicture {
        let tensorise = self.tensorise.map(|named| match named {
            Named::Vdt => "vdt".to_owned(),
            Named::Reshape => "reshape".to_owned(),
            Named::None => "none".to_owned(),
        });
        let (factors, resize) = (self.factors.clone(), self.resize.clone());
        let (grey, crop) = (self.grey, self.crop);
        AskedPicture { tensorise, factors, grey, resize, crop }
    }
}
