//! The page about a compressed picture.

use super::{bytes_text, rounding_text};
use crate::commands::data::{Data, reshape_text};
use crate::text::{duration, number, shape};
use std::io;
use tnsearch::tensor::AnyTensor;
use tnsearch_app::compress::{CompressSummary, Compressed, difference, own_shape};
use tnsearch_io::Picture;
use tnsearch_io::text::bytes;
use tnsearch_report::page::{Shown, SideBySide, Tile};

/// The page.
pub(super) fn html(
    input: &str,
    data: &Data,
    made: &Compressed,
    summary: &CompressSummary,
) -> io::Result<String> {
    let picture = |tensor: &AnyTensor| Picture::from_tensor(tensor).map_err(io::Error::other);
    let original = picture(&own_shape(&data.target, data.reshape.as_ref()))?;
    let reconstruction = picture(&made.dense)?;
    let (apart, factor) = difference(&original, &reconstruction);
    let shown = |name: &str, caption: String, picture: &Picture| -> io::Result<Shown> {
        Ok(Shown {
            name: name.to_owned(),
            caption,
            png: picture.to_png()?,
            width: picture.width(),
            height: picture.height(),
        })
    };
    let sides = shape(&summary.shape);
    let pictures = [
        shown("Original", format!("{sides}, {}.", bytes(summary.bytes_before.into())), &original)?,
        shown(
            "Reconstruction",
            format!("From {} params, {}.", summary.params, bytes(summary.bytes.into())),
            &reconstruction,
        )?,
        shown(
            "Difference",
            format!(
                "Reconstruction less original, {factor} times as large; grey where they agree."
            ),
            &apart,
        )?,
    ];
    let tile =
        |name: &str, value: String, more: String| Tile { name: name.to_owned(), value, more };
    let entries: usize = summary.shape.iter().product();
    let ratio = summary.bytes_before as f64 / summary.bytes as f64;
    let than = if ratio >= 1.0 { "smaller" } else { "larger" };
    let tiles = [
        tile("PSNR", format!("{:.2} dB", summary.psnr), "peak 1".to_owned()),
        tile("error (RE)", number(summary.re), format!("RSE {}", number(summary.rse))),
        tile(
            "numbers",
            format!("{}\u{d7} fewer", number(entries as f64 / summary.params as f64)),
            format!("log\u{2081}\u{2080} CR {:.3}", summary.log10_cr),
        ),
        tile(
            "file",
            bytes(summary.bytes.into()),
            format!(
                "{}\u{d7} {than} than the input",
                number(if ratio >= 1.0 { ratio } else { 1.0 / ratio })
            ),
        ),
        tile("time", duration(summary.seconds), String::new()),
    ];
    let mut notes =
        vec![format!("File: {}.", bytes_text(summary)), format!("RE {}.", rounding_text(summary))];
    if let Some(reshape) = &data.reshape {
        notes.push(format!("Modes: {}.", reshape_text(reshape)));
    }
    let name = input.rsplit(['/', '\\']).next().unwrap_or(input);
    let reached = if summary.target_reached { "" } else { " (target not reached)" };
    let page = SideBySide {
        title: &format!("{name}, compressed{reached}"),
        tiles: &tiles,
        pictures: &pictures,
        network: (made.network.structure(), made.network.dims(), data.names()),
        notes: &notes,
    };
    Ok(page.html())
}
