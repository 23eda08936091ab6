//! PNG and JPEG files as samples, within a limit on memory. Of what stands beside the pixels only the turn of the
//! camera is read: profiles and texts are passed over, compressed or not.

use super::turn::Turn;
use super::{Picture, PictureFormat, one_line};
use crate::{MemoryLimit, Problem};
use std::fs::File;
use std::io::{self, BufReader, Read};
use tnsearch::tensor::Kind;
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;

/// What may stand beside the pixels of a PNG: palettes and the camera's notes. These take 64 KB at most in practice.
const BESIDE: usize = 1 << 20;

/// The longest side that other programs write and read; beyond it the decoder's own sums of sides and blocks overflow.
pub(super) const JPEG_SIDE: usize = 65_500;

/// The samples of a file as they are in it.
struct Raw {
    frame: Frame,
    bytes: Vec<u8>,
    turn: Turn,
}

/// What a header says of the pixels.
#[derive(Clone, Copy)]
struct Frame {
    height: usize,
    width: usize,
    /// Samples of a pixel: with those of transparency, and without.
    all: usize,
    channels: usize,
    bits: u8,
}

impl Frame {
    /// The frame of a picture that is not empty and fits: its samples in the file, the same as numbers, and `beside`.
    fn new(
        (height, width): (u32, u32),
        all: u8,
        bits: u8,
        beside: u64,
        limit: MemoryLimit,
    ) -> Result<Self, Problem> {
        if height == 0 || width == 0 {
            return Err(Problem::Damaged(format!("a picture of {height} x {width} pixels")));
        }
        // Grey and colour, either with transparency.
        let channels: u8 = if all > 2 { 3 } else { 1 };
        let pixels = u128::from(height) * u128::from(width);
        let (entries, file) = (pixels * u128::from(channels), pixels * u128::from(all));
        let needed = 8 * entries + file * u128::from(bits / 8) + u128::from(beside);
        limit.check_bytes(entries, needed)?;
        let refused = |_| limit.refused(entries, Kind::F64);
        // What the decoders take for rows and blocks is less than what becomes of it: where the system would not give
        // as much, they would end the process.
        let room = usize::try_from(needed).map_err(|_| limit.refused(entries, Kind::F64))?;
        Vec::<u8>::new().try_reserve_exact(room).map_err(refused)?;
        let side = |n: u32| usize::try_from(n).map_err(|_| limit.refused(entries, Kind::F64));
        let (height, width) = (side(height)?, side(width)?);
        Ok(Frame { height, width, all: all.into(), channels: channels.into(), bits })
    }

    fn samples(&self) -> usize {
        self.height * self.width * self.channels
    }

    /// Room for the samples as they are in the file.
    fn buffer(&self, limit: MemoryLimit) -> Result<Vec<u8>, Problem> {
        let length = self.height * self.width * self.all * usize::from(self.bits / 8);
        let mut bytes = self.room(length, limit)?;
        bytes.resize(length, 0);
        Ok(bytes)
    }

    fn room<T>(&self, length: usize, limit: MemoryLimit) -> Result<Vec<T>, Problem> {
        let mut room = Vec::new();
        let refused = |_| limit.refused(self.samples() as u128, Kind::F64);
        room.try_reserve_exact(length).map_err(refused)?;
        Ok(room)
    }
}

/// Reads the picture in a file of that many bytes.
pub(crate) fn decode(
    file: &File,
    length: u64,
    format: PictureFormat,
    limit: MemoryLimit,
) -> Result<Picture, Problem> {
    let raw = match format {
        PictureFormat::Jpeg => jpeg(file, length, limit)?,
        _ => png(file, limit)?,
    };
    let Frame { all, channels, bits, .. } = raw.frame;
    let mut samples = raw.frame.room(raw.frame.samples(), limit)?;
    let (mut was_transparent, bytes) = (false, usize::from(bits / 8));
    let value = |sample: &[u8]| match *sample {
        [high, low] => f64::from(u16::from_be_bytes([high, low])) / 65535.0,
        _ => f64::from(sample[0]) / 255.0,
    };
    let sides = (raw.frame.height, raw.frame.width);
    let (height, width) = raw.turn.seen(sides, |row, column| {
        let start = (row * raw.frame.width + column) * all * bytes;
        let pixel = &raw.bytes[start..start + all * bytes];
        let mut parts = pixel.chunks_exact(bytes).map(value);
        match all > channels {
            false => samples.extend(parts),
            true => {
                let colours: [f64; 3] = std::array::from_fn(|k| {
                    if k < channels { parts.next().unwrap_or(0.0) } else { 0.0 }
                });
                let alpha = parts.next().unwrap_or(1.0);
                was_transparent |= alpha < 1.0;
                samples.extend(colours[..channels].iter().map(|x| x * alpha + (1.0 - alpha)));
            }
        }
    });
    let picture = Picture::new(height, width, channels, samples)
        .ok_or_else(|| Problem::Damaged("it has another number of samples than it says".into()))?;
    Ok(Picture { bits, was_transparent, ..picture })
}

fn png(file: &File, limit: MemoryLimit) -> Result<Raw, Problem> {
    let mut decoder =
        png::Decoder::new_with_limits(BufReader::new(file), png::Limits { bytes: BESIDE });
    // Both hold what is small in the file and gigabytes unpacked.
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_ignore_text_chunk(true);
    // Palettes become colours, and samples of fewer bits than 8 get 8.
    decoder.set_transformations(png::Transformations::EXPAND);
    let header = decoder.read_header_info().map_err(png_problem)?;
    let sides = (header.height, header.width);
    // Eight bytes for a pixel at most, and one that says how the row was filtered.
    let row = usize::try_from(8 * u64::from(header.width) + 1).unwrap_or(usize::MAX);
    let (colour, depth) = (header.color_type, header.bit_depth);
    // What EXPAND makes of it, transparency aside: a first look, before anything is read.
    let samples = if colour == png::ColorType::Indexed { 3 } else { colour.samples() as u8 };
    let bits = if depth == png::BitDepth::Sixteen { 16 } else { 8 };
    Frame::new(sides, samples, bits, 0, limit)?;
    decoder.set_limits(png::Limits { bytes: BESIDE.saturating_add(row) });
    let mut reader = decoder.read_info().map_err(png_problem)?;
    let (colour, depth) = reader.output_color_type();
    let bits = if depth == png::BitDepth::Sixteen { 16 } else { 8 };
    let frame = Frame::new(sides, colour.samples() as u8, bits, 0, limit)?;
    let turn = reader.info().exif_metadata.as_deref().and_then(Turn::from_exif);
    let mut bytes = frame.buffer(limit)?;
    if reader.output_buffer_size() != Some(bytes.len()) {
        return Err(Problem::Damaged("it has another number of samples than it says".into()));
    }
    reader.next_frame(&mut bytes).map_err(png_problem)?;
    Ok(Raw { frame, bytes, turn: turn.unwrap_or(Turn::NONE) })
}

/// The file is held whole, and what stands beside the pixels once more.
fn jpeg(file: &File, length: u64, limit: MemoryLimit) -> Result<Raw, Problem> {
    let beside = length.saturating_mul(2);
    limit.check_file(beside)?;
    let mut held = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let mut file = file;
    file.read_to_end(&mut held).map_err(io_problem)?;
    // Its own limits on sides are other ones.
    let options = DecoderOptions::default().set_strict_mode(false);
    let options = options.set_max_width(usize::MAX).set_max_height(usize::MAX);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(&held), options);
    decoder.decode_headers().map_err(problem)?;
    let headers = decoder.dimensions().zip(decoder.input_colorspace());
    let turn = decoder.exif().and_then(|notes| Turn::from_exif(notes)).unwrap_or(Turn::NONE);
    // What stands beside the pixels is held by the one that read it, which has to go before room is asked for.
    drop(decoder);
    let Some(((width, height), colours)) = headers else {
        return Err(Problem::Damaged("it has no frame".into()));
    };
    if width.max(height) > JPEG_SIDE {
        return Err(Problem::Damaged(format!(
            "a picture of {height} x {width} pixels, but a JPEG has sides of {JPEG_SIDE} at most"
        )));
    }
    let (width, height) = (width as u32, height as u32);
    // Whatever is neither grey nor transparent becomes red, green and blue.
    let (colours, all) = match colours {
        ColorSpace::Luma => (colours, 1),
        ColorSpace::LumaA => (colours, 2),
        ColorSpace::RGBA => (colours, 4),
        _ => (ColorSpace::RGB, 3),
    };
    // The decoder may hold the coefficients of all blocks, of two bytes each; blocks are up to 32 pixels a side.
    let blocks = |side: u32| u64::from(side).next_multiple_of(32);
    let beside = beside + 2 * u64::from(all) * blocks(width) * blocks(height);
    let frame = Frame::new((height, width), all, 8, beside, limit)?;
    let mut bytes = frame.buffer(limit)?;
    let options = options.jpeg_set_out_colorspace(colours);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(&held), options);
    decoder.decode_headers().map_err(problem)?;
    if decoder.output_buffer_size() != Some(bytes.len()) {
        return Err(Problem::Damaged(format!("pixels of type {colours:?} are not known")));
    }
    decoder.decode_into(&mut bytes).map_err(problem)?;
    Ok(Raw { frame, bytes, turn })
}

/// What is wrong with a JPEG, in our words.
fn problem(e: DecodeErrors) -> Problem {
    match e {
        DecodeErrors::ExhaustedData => Problem::Truncated("the picture ends too early".into()),
        e => Problem::Damaged(one_line(&format!("{e:?}"))),
    }
}

fn png_problem(e: png::DecodingError) -> Problem {
    match e {
        png::DecodingError::IoError(e) => io_problem(e),
        png::DecodingError::LimitsExceeded => {
            Problem::Damaged("more than 1 MB of notes stand beside the pixels".into())
        }
        e => Problem::Damaged(one_line(&e)),
    }
}

fn io_problem(e: io::Error) -> Problem {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => Problem::Truncated("the picture ends too early".into()),
        _ => Problem::Io(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_picture_takes_is_counted() {
        // Ten pixels of three colours and their transparency, 16 bits: 8 bytes each in the file, 24 as numbers.
        let fits = |bytes| {
            let limit = MemoryLimit::new(Some(bytes));
            Frame::new((2, 5), 4, 16, 7, limit).map(|f| (f.channels, f.samples()))
        };
        assert_eq!(fits(327).unwrap(), (3, 30));
        let said = fits(326).unwrap_err().to_string();
        assert!(
            said.starts_with("its 30 entries need 327 bytes of memory as 64-bit numbers"),
            "{said}"
        );
        let grey = Frame::new((2, 5), 1, 8, 0, MemoryLimit::new(Some(90))).unwrap();
        assert_eq!((grey.channels, grey.samples()), (1, 10));
        assert!(Frame::new((0, 5), 1, 8, 0, MemoryLimit::new(None)).is_err());
        // What no system gives is refused in one line, not by an abort.
        let none = MemoryLimit::new(Some(u64::MAX));
        let said = Frame::new((1 << 20, 1 << 31), 4, 16, 0, none).err().unwrap().to_string();
        assert!(said.ends_with("the system does not give as much"), "{said}");
    }
}
