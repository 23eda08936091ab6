//! Pictures: PNG and JPEG files, and arrays of samples from 0 to 1.

mod decode;
mod resample;
mod turn;

pub(crate) use decode::decode;

use crate::output::{Output, OutputError};
use crate::registry::find;
use crate::{Dtype, FileError, MemoryLimit, Problem};
use std::io::{self, Write};
use std::path::Path;
use tnsearch::dispatch;
use tnsearch::tensor::{AnyTensor, Kind, Scalar, Tensor};

/// The weights of red, green and blue in grey (ITU-R BT.601).
const GREY: [f64; 3] = [0.299, 0.587, 0.114];

/// How good JPEG files are made, of 100.
const JPEG_QUALITY: u8 = 95;

/// A format of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// PNG, of 8 or 16 bits.
    Png,
    /// JPEG.
    Jpeg,
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    height: usize,
    width: usize,
    channels: usize,
    samples: Vec<f64>,
    /// The bits of a sample in the file that it came from: 8 or 16.
    pub bits: u8,
    /// Some of it was transparent in the file, and was laid over white.
    pub was_transparent: bool,
}

/// A tensor is no picture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a picture needs real numbers of shape H x W or H x W x 3, not {kind} of shape {dims:?}")]
pub struct NoPicture {
    dims: Vec<usize>,
    kind: Kind,
}

impl Picture {
    /// A picture from its samples, `[row, column, channel]` in row-major order, 1 channel (grey) or 3 (red, green, blue).
    /// None where their number is not the product of the sides, or a side is 0.
    pub fn new(height: usize, width: usize, channels: usize, samples: Vec<f64>) -> Option<Self> {
        let whole = matches!(channels, 1 | 3) && height > 0 && width > 0;
        let right = height.checked_mul(width)?.checked_mul(channels)? == samples.len();
        let picture = Picture { height, width, channels, samples, bits: 8, was_transparent: false };
        (whole && right).then_some(picture)
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// 1 (grey) or 3 (red, green, blue).
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// `[row, column, channel]` in row-major order, from 0 to 1.
    pub fn samples(&self) -> &[f64] {
        &self.samples
    }

    /// The shape of its tensor: H x W, or H x W x 3.
    pub fn dims(&self) -> Vec<usize> {
        match self.channels {
            1 => vec![self.height, self.width],
            _ => vec![self.height, self.width, self.channels],
        }
    }

    /// Its tensor, H x W or H x W x 3.
    pub fn into_tensor(self) -> Tensor {
        Tensor::new(self.dims(), self.samples).unwrap_or_else(|e| unreachable!("checked: {e}"))
    }

    /// The picture of a tensor H x W, H x W x 1 or H x W x 3. Numbers below 0 and above 1 stay as they are until they
    /// are written.
    pub fn from_tensor(tensor: &AnyTensor) -> Result<Self, NoPicture> {
        let no = || NoPicture { dims: tensor.dims().to_vec(), kind: tensor.kind() };
        let (height, width, channels) = match *tensor.dims() {
            [height, width] => (height, width, 1),
            [height, width, channels] => (height, width, channels),
            _ => return Err(no()),
        };
        if tensor.kind().is_complex() {
            return Err(no());
        }
        let samples = dispatch!(tensor, t => t.data().iter().map(|x| x.re()).collect());
        Picture::new(height, width, channels, samples).ok_or_else(no)
    }

    /// The same in grey, `0.299 R + 0.587 G + 0.114 B` (not rounded).
    pub fn grey(self) -> Self {
        if self.channels == 1 {
            return self;
        }
        let mixed = |rgb: &[f64; 3]| rgb.iter().zip(GREY).map(|(x, w)| x * w).sum();
        let samples = self.samples.as_chunks::<3>().0.iter().map(mixed).collect();
        Picture { channels: 1, samples, ..self }
    }

    /// The same with other sides: bicubic (Catmull-Rom), over as many samples as fall together where it gets smaller.
    pub fn resized(self, height: usize, width: usize) -> Self {
        if (height, width) == (self.height, self.width) {
            return self;
        }
        let from = (self.height, self.width, self.channels);
        let samples = resample::resampled(&self.samples, from, (height, width));
        Picture { height, width, samples, ..self }
    }

    /// Its middle, of at most that many rows and columns.
    pub fn cropped(self, height: usize, width: usize) -> Self {
        let (height, width) = (height.clamp(1, self.height), width.clamp(1, self.width));
        let (top, left) = ((self.height - height) / 2, (self.width - width) / 2);
        let row = |r: usize| {
            let start = (r * self.width + left) * self.channels;
            &self.samples[start..start + width * self.channels]
        };
        let samples = (top..top + height).flat_map(row).copied().collect();
        Picture { height, width, samples, ..self }
    }

    /// The samples of 8 bits: cut off below 0 and above 1, and rounded.
    pub fn bytes(&self) -> Vec<u8> {
        self.samples.iter().map(|x| (x.clamp(0.0, 1.0) * 255.0).round() as u8).collect()
    }

    /// The samples as the whole numbers that a file holds: 0 to 255, or 65535 where it has 16 bits.
    pub fn steps(self) -> Self {
        let most = if self.bits == 16 { 65535.0 } else { 255.0 };
        let samples = self.samples.iter().map(|x| (x.clamp(0.0, 1.0) * most).round()).collect();
        Picture { samples, ..self }
    }

    /// The type of its samples in the file that it came from.
    pub(crate) fn dtype(&self) -> Dtype {
        if self.bits == 16 { Dtype::U16 } else { Dtype::U8 }
    }

    /// Writes it as PNG, of 16 bits where it has so many, or as JPEG.
    pub(crate) fn encode(&self, to: &mut dyn Write, format: PictureFormat) -> io::Result<()> {
        match format {
            PictureFormat::Png => self.encode_png(to),
            PictureFormat::Jpeg => self.encode_jpeg(to),
        }
    }

    fn encode_jpeg(&self, to: &mut dyn Write) -> io::Result<()> {
        let most = decode::JPEG_SIDE;
        let too_long = || io::Error::other(format!("a JPEG has sides of {most} at most; use .png"));
        let side = |n: usize| u16::try_from(n).ok().filter(|_| n <= most).ok_or_else(too_long);
        let colour = match self.channels {
            1 => jpeg_encoder::ColorType::Luma,
            _ => jpeg_encoder::ColorType::Rgb,
        };
        let (width, height) = (side(self.width)?, side(self.height)?);
        let encoder = jpeg_encoder::Encoder::new(to, JPEG_QUALITY);
        let written = encoder.encode(&self.bytes(), width, height, colour);
        written.map_err(|e| match e {
            jpeg_encoder::EncodingError::IoError(e) => e,
            e => io::Error::other(one_line(&e)),
        })
    }

    fn encode_png(&self, to: &mut dyn Write) -> io::Result<()> {
        let too_long = |_| io::Error::other("a side is too long for a picture");
        let side = |n: usize| u32::try_from(n).map_err(too_long);
        let mut encoder = png::Encoder::new(to, side(self.width)?, side(self.height)?);
        encoder.set_color(match self.channels {
            1 => png::ColorType::Grayscale,
            _ => png::ColorType::Rgb,
        });
        let (depth, bytes) = match self.bits {
            16 => (png::BitDepth::Sixteen, self.wide_bytes()),
            _ => (png::BitDepth::Eight, self.bytes()),
        };
        encoder.set_depth(depth);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&bytes)?;
            writer.finish()
        });
        written.map_err(|e| match e {
            png::EncodingError::IoError(e) => e,
            e => io::Error::other(one_line(&e)),
        })
    }

    /// Samples of 16 bits, the high byte first.
    fn wide_bytes(&self) -> Vec<u8> {
        let wide = |x: &f64| ((x.clamp(0.0, 1.0) * 65535.0).round() as u16).to_be_bytes();
        self.samples.iter().flat_map(wide).collect()
    }

    /// The bytes of a PNG file.
    pub fn to_png(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes, PictureFormat::Png)?;
        Ok(bytes)
    }
}

/// Whether a file is a picture that can be read; an error where it cannot be read at all.
pub fn is_picture(path: &Path) -> Result<bool, FileError> {
    let found = find(path).map_err(|p| p.of(path))?;
    Ok(found.format.picture.is_some())
}

/// Whether a file with that name would be written as a picture.
pub fn is_picture_name(path: &Path) -> bool {
    crate::registry::FORMATS.iter().any(|f| f.picture.is_some() && f.names(path))
}

/// Reads a PNG or JPEG file. Palettes are expanded, a photograph is turned as its camera says, and what is transparent
/// is laid over white. What needs too much memory is refused before it is decoded.
pub fn read(path: &Path, limit: MemoryLimit) -> Result<Picture, FileError> {
    let read = || {
        let found = find(path)?;
        match found.format.picture {
            Some(format) => decode(&found.file, found.length, format, limit),
            None => Err(Problem::Format("a picture (.png or .jpg)".to_owned())),
        }
    };
    read().map_err(|p| p.of(path))
}

/// Writes a picture in the format that the file's name asks for, or else as PNG.
pub fn write(to: &Output, picture: &Picture) -> Result<(), OutputError> {
    let formats = crate::registry::FORMATS.iter().filter(|f| f.names(to.path()));
    let format = formats.filter_map(|f| f.picture).next().unwrap_or(PictureFormat::Png);
    to.write(|w| picture.encode(w, format))
}

fn one_line(e: &dyn std::fmt::Display) -> String {
    e.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
