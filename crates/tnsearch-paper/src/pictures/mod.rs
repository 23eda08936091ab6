//! The pictures of the experiments: files of a folder or, for quick versions, drawn by a formula.

mod gallery;
mod look;

pub(super) use gallery::Gallery;
pub(super) use look::Scene;

use super::ReproduceError;
use std::path::PathBuf;
use tnsearch::tensor::Split;
use tnsearch_app::tensorise::{Method, Tensorise};
use tnsearch_io::{MemoryLimit, Picture};

/// The sides of the paper's pictures.
const SIDE: usize = 256;

/// What becomes of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Its sides in factors of 4, column-major, as the authors do it.
    Reshape,
    /// Visual data tensorisation: a mode for each scale.
    Vdt,
    /// The same with colours, and so many entries of a hundred removed.
    Missing(u8),
}

impl Variant {
    pub fn name(self) -> &'static str {
        match self {
            Variant::Reshape => "reshape",
            Variant::Vdt => "vdt",
            Variant::Missing(70) => "missing-70",
            Variant::Missing(90) => "missing-90",
            Variant::Missing(_) => "missing",
        }
    }

    /// The share that is removed.
    pub fn missing(self) -> Option<f64> {
        match self {
            Variant::Missing(percent) => Some(f64::from(percent) / 100.0),
            _ => None,
        }
    }
}

/// Where a picture comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// A file.
    File(PathBuf),
    /// A formula: the number of the picture and its side.
    Drawn(usize, usize),
}

/// A picture and what becomes of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shot {
    pub name: String,
    pub variant: Variant,
    pub(super) origin: Origin,
}

impl Shot {
    fn side(&self) -> usize {
        match self.origin {
            Origin::File(_) => SIDE,
            Origin::Drawn(_, side) => side,
        }
    }

    /// The modes of its tensor.
    pub fn order(&self) -> usize {
        let digits = self.side().ilog2() as usize;
        digits + usize::from(self.variant.missing().is_some())
    }

    /// The picture as the experiment takes it.
    fn picture(&self) -> Result<Picture, ReproduceError> {
        let picture = match &self.origin {
            Origin::File(path) => tnsearch_io::picture::read(path, MemoryLimit::new(None))?,
            Origin::Drawn(number, side) => drawn(*number, *side),
        };
        let colours = self.variant.missing().is_some();
        if colours && picture.channels() == 1 {
            return Err(ReproduceError::Grey { name: self.name.clone() });
        }
        Ok(if colours { picture } else { picture.grey() })
    }

    /// How it becomes a tensor.
    fn tensorise(&self) -> Tensorise {
        let side = self.side();
        let fours = vec![4; side.ilog2() as usize / 2];
        Tensorise::default().with(|t| {
            t.resize = Some([side, side]);
            t.method = match self.variant {
                Variant::Reshape => {
                    Method::Reshape(Some(Split::PerMode(vec![fours.clone(), fours])))
                }
                _ => Method::Vdt(None),
            };
        })
    }
}

/// A picture by a formula: a slope, a disc and stripes, other ones for every number; in three colours.
fn drawn(number: usize, side: usize) -> Picture {
    let n = side as f64;
    let (a, b) = (0.3 + 0.1 * number as f64, 0.6 - 0.1 * number as f64);
    let mut samples = Vec::with_capacity(3 * side * side);
    for row in 0..side {
        for column in 0..side {
            let (y, x) = (row as f64 / n, column as f64 / n);
            let disc = if (x - a).powi(2) + (y - b).powi(2) < 0.06 { 0.4 } else { 0.0 };
            let stripes = 0.1 * (2.0 * std::f64::consts::PI * (3.0 + number as f64) * x).sin();
            for colour in 0..3 {
                let slope = 0.3 * if colour == 1 { x } else { y };
                samples.push((0.2 + slope + disc + stripes).clamp(0.0, 1.0));
            }
        }
    }
    Picture::new(side, side, 3, samples).unwrap_or_else(|| unreachable!("three colours a pixel"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_pictures_differ_and_become_small_tensors() {
        let shot = |number: usize, variant| Shot {
            name: number.to_string(),
            variant,
            origin: Origin::Drawn(number, 16),
        };
        let of = |shot: &Shot| shot.tensorise().apply(shot.picture().unwrap()).unwrap();
        let [a, b] = [0, 1].map(|n| of(&shot(n, Variant::Reshape)));
        assert_ne!(a.picture, b.picture);
        assert_eq!(a.reshape.to(), [4; 4]);
        assert_eq!(of(&shot(0, Variant::Vdt)).reshape.to(), [4; 4]);
        let colours = shot(2, Variant::Missing(90));
        assert_eq!((of(&colours).reshape.to(), colours.order()), (&[4, 4, 4, 4, 3][..], 5));
    }
}
