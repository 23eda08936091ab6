//! Tensors from pictures, and pictures from tensors.
//!
//! [`Method::Reshape`] splits rows and columns into factors, in column-major order, as the authors of the paper do:
//! 256 x 256 becomes 4^8. [`Method::Vdt`] (visual data tensorisation) writes rows and columns in digits and makes mode k of
//! digit k of both: each mode is a scale, from quarters of the picture down to blocks of pixels. Colours are a last mode of
//! side 3. Sides that have large prime factors are made a little longer, or shorter, first.
//!
//! ```
//! use tnsearch_io::Picture;
//! use tnsearch_app::tensorise::{Tensorise, to_picture};
//!
//! let samples: Vec<f64> = (0..7 * 5).map(|k| k as f64 / 35.0).collect();
//! let picture = Picture::new(7, 5, 1, samples).unwrap();
//! let made = Tensorise::default().apply(picture.clone()).unwrap();
//! let tensor = made.reshape.apply(made.picture.clone().into_tensor().into());
//! assert_eq!(to_picture(tensor, &made.reshape).unwrap(), picture);
//! ```

mod asked;

pub use asked::AskedPicture;

use std::str::FromStr;
use thiserror::Error;
use tnsearch::tensor::{AnyTensor, PictureSteps, Reshape, ReshapeError, Split, primes};
use tnsearch_io::Picture;
use tnsearch_io::picture::NoPicture;

/// Sides are made so that they have no larger prime factors.
const LARGEST_PRIME: usize = 7;
/// No more digits than this: with colours there are 12 modes then, and all trees on 12 modes take seconds.
const MOST_DIGITS: usize = 11;
/// The longest side that a picture may be resized to.
const LONGEST: usize = 65_535;

/// How a picture becomes a tensor.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tensorise {
    /// Which entries become which.
    pub method: Method,
    /// Make colours grey first.
    pub grey: bool,
    /// Resize to so many rows and columns first.
    pub resize: Option<[usize; 2]>,
    /// What happens to sides that do not have small factors.
    pub sides: Sides,
}

/// Which entries of a picture become which of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// The picture itself: H x W, or H x W x 3.
    Plain,
    /// Rows and columns split into factors, column-major; these, or as [`Split::Auto`] does.
    Reshape(Option<Split>),
    /// Digits of rows and columns merged, most significant first; of these sizes, or the prime factors of the sides.
    Vdt(Option<Vec<[usize; 2]>>),
}

impl Default for Method {
    fn default() -> Self {
        Method::Vdt(None)
    }
}

/// What happens to sides that do not have the factors that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sides {
    /// The last row and column are repeated, and cut off again on the way back.
    #[default]
    Pad,
    /// Only the middle is taken.
    Crop,
}

/// Why a picture does not become a tensor as asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TensoriseError {
    /// The factors do not fit.
    #[error(transparent)]
    Reshape(#[from] ReshapeError),
    /// A picture of that size cannot be made.
    #[error("a picture cannot be resized to {} x {}; sides are 1 to {LONGEST}", .0[0], .0[1])]
    Size([usize; 2]),
    /// Options do not go together, or are none.
    #[error("{0}")]
    Asked(String),
    /// What was written names no digits.
    #[error("unknown digits '{0}'; use sizes such as 2x2,2x2,4x3 or 2x2^8, rows x columns")]
    Digits(String),
}

/// A picture as it becomes a tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensorised {
    /// The picture: grey, resized and cropped as asked.
    pub picture: Picture,
    /// How its tensor, H x W or H x W x 3, is reshaped, and back; of [`Method::Plain`] it changes nothing.
    pub reshape: Reshape,
}

impl Tensorise {
    /// The default with some changes.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Prepares a picture, and says how its tensor is reshaped.
    pub fn apply(&self, picture: Picture) -> Result<Tensorised, TensoriseError> {
        let too_long = |sides: &&[usize; 2]| sides.iter().any(|s| !(1..=LONGEST).contains(s));
        if let Some(&sides) = self.resize.as_ref().filter(too_long) {
            return Err(TensoriseError::Size(sides));
        }
        let grey = self.grey && picture.channels() > 1;
        let steps = PictureSteps { grey, resize: self.resize, crop: None };
        let picture = prepared(picture, steps);
        let own = [picture.height(), picture.width()];
        let sides = match (self.sides, &self.method) {
            (_, Method::Plain) => own,
            (_, Method::Vdt(Some(digits))) => wanted(digits),
            (_, Method::Reshape(Some(Split::PerMode(f)))) if f.len() >= 2 => {
                [0, 1].map(|k| f[k].iter().fold(1, |p: usize, &x| p.saturating_mul(x)))
            }
            (_, Method::Reshape(Some(_))) => own,
            (Sides::Pad, _) => own.map(longer),
            (Sides::Crop, _) => own.map(shorter),
        };
        if self.sides == Sides::Pad && (0..2).any(|k| sides[k] < own[k]) {
            let (sides, dims) = (sides.map(|s| s as u128), picture.dims());
            return Err(ReshapeError::Digits { sides, dims }.into());
        }
        let crop = [0, 1].map(|k| own[k].min(sides[k]));
        let crop = (self.sides == Sides::Crop && crop != own).then_some(crop);
        let steps = PictureSteps { crop, ..steps };
        let picture = prepared(picture, PictureSteps { crop, ..PictureSteps::default() });
        let reshape = self.reshape(&picture.dims(), sides)?;
        Ok(Tensorised { picture, reshape: reshape.of_picture(steps) })
    }

    fn reshape(&self, dims: &[usize], sides: [usize; 2]) -> Result<Reshape, ReshapeError> {
        let padded: Vec<usize> = sides.iter().chain(&dims[2..]).copied().collect();
        match &self.method {
            Method::Plain => Reshape::padded(dims, dims, dims.to_vec(), false),
            Method::Vdt(Some(digits)) => Reshape::digits(dims, digits.clone()),
            Method::Vdt(None) if sides[0] * sides[1] < 4 => {
                Reshape::padded(dims, dims, dims.to_vec(), false)
            }
            Method::Vdt(None) => Reshape::digits(dims, digits(sides)),
            Method::Reshape(split) => {
                let mut split = split.clone().unwrap_or(Split::Auto);
                // Colours need not be named.
                if let Split::PerMode(factors) = &mut split {
                    factors.extend(dims.iter().skip(factors.len().max(2)).map(|&d| vec![d]));
                }
                let to = match Reshape::split(&padded, &split, true)? {
                    Some(split) => split.to().to_vec(),
                    None => padded.clone(),
                };
                Reshape::padded(dims, &padded, to, true)
            }
        }
    }
}

/// A picture after what was done to it before.
pub fn prepared(picture: Picture, steps: PictureSteps) -> Picture {
    let picture = if steps.grey { picture.grey() } else { picture };
    let picture = match steps.resize {
        Some([height, width]) => picture.resized(height, width),
        None => picture,
    };
    match steps.crop {
        Some([height, width]) => picture.cropped(height, width),
        None => picture,
    }
}

/// The picture that a tensor stands for.
///
/// # Panics
/// If the tensor does not have the shape [`Reshape::to`].
pub fn to_picture(tensor: AnyTensor, reshape: &Reshape) -> Result<Picture, NoPicture> {
    Picture::from_tensor(&reshape.undo(tensor))
}

/// Whether a side has no large prime factor.
fn is_smooth(side: usize) -> bool {
    primes(side)[0] <= LARGEST_PRIME
}

/// The next side without a large prime factor.
fn longer(side: usize) -> usize {
    (side..).find(|&s| is_smooth(s)).unwrap_or(side)
}

/// The same, not longer.
fn shorter(side: usize) -> usize {
    (1..=side).rev().find(|&s| is_smooth(s)).unwrap_or(side)
}

/// The sides that digits give.
fn wanted(digits: &[[usize; 2]]) -> [usize; 2] {
    [0, 1].map(|k| digits.iter().fold(1, |p: usize, d| p.saturating_mul(d[k])))
}

/// The prime factors of both sides, falling, side by side from the finest digit on; where there are too many, neighbours
/// are made one, the smallest and finest first.
fn digits(sides: [usize; 2]) -> Vec<[usize; 2]> {
    let [rows, columns] = sides.map(primes);
    let count = rows.len().max(columns.len());
    let digit = |of: &[usize], k: usize| match (k + of.len()).checked_sub(count) {
        Some(at) => of[at],
        None => 1,
    };
    let mut digits: Vec<[usize; 2]> =
        (0..count).map(|k| [digit(&rows, k), digit(&columns, k)]).collect();
    while digits.len() > MOST_DIGITS {
        let size = |k: usize| digits[k].iter().chain(&digits[k + 1]).product::<usize>();
        let Some(at) = (0..digits.len() - 1).rev().min_by_key(|&k| size(k)) else { break };
        let next = digits.remove(at + 1);
        digits[at] = [0, 1].map(|k| digits[at][k] * next[k]);
    }
    digits
}

/// Digits as they are written: `2x2,2x2,4x3`, `2x2^8`.
pub fn parse_digits(text: &str) -> Result<Vec<[usize; 2]>, TensoriseError> {
    let parse = |part: &str| -> Option<Vec<[usize; 2]>> {
        let (pair, times) = match part.split_once('^') {
            Some((pair, times)) => (pair, times.trim().parse::<usize>().ok()?),
            None => (part, 1),
        };
        let (rows, columns) = pair.split_once('x')?;
        let side = |text: &str| usize::from_str(text.trim()).ok().filter(|&s| s > 0);
        // More than any tensor can have modes is too many all the same.
        Some(vec![[side(rows)?, side(columns)?]; times.min(100)])
    };
    let parts = text.split(',').map(parse).collect::<Option<Vec<_>>>();
    let digits = parts.map(|p| p.concat()).filter(|d| !d.is_empty());
    digits.ok_or_else(|| TensoriseError::Digits(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn picture(height: usize, width: usize, channels: usize) -> Picture {
        let samples = (0..height * width * channels).map(|k| (k * 37 % 101) as f64 / 100.0);
        Picture::new(height, width, channels, samples.collect()).unwrap()
    }

    fn shape(how: &Tensorise, height: usize, width: usize, channels: usize) -> Vec<usize> {
        how.apply(picture(height, width, channels)).unwrap().reshape.to().to_vec()
    }

    fn reshape() -> Tensorise {
        Tensorise::default().with(|t| t.method = Method::Reshape(None))
    }

    #[test]
    fn sides_become_the_factors_of_the_paper() {
        let vdt = Tensorise::default();
        assert_eq!(shape(&vdt, 256, 256, 1), [4; 8]);
        assert_eq!(shape(&vdt, 256, 256, 3), [4, 4, 4, 4, 4, 4, 4, 4, 3]);
        assert_eq!(shape(&vdt, 512, 768, 3), [6, 4, 4, 4, 4, 4, 4, 4, 4, 3]);
        assert_eq!(shape(&reshape(), 256, 256, 1), [4; 8]);
        // 321 and 481 are no sides for digits: 324 = 3^4 2^2 and 486 = 3^5 2 are.
        assert_eq!(shape(&vdt, 321, 481, 1), [9, 9, 9, 9, 6, 4]);
        // 320 = 5 2^6 and 480 = 5 3 2^5 are shorter.
        let crop = Tensorise::default().with(|t| t.sides = Sides::Crop);
        assert_eq!(shape(&crop, 321, 481, 1), [25, 6, 4, 4, 4, 4, 4]);
        assert_eq!(shape(&vdt, 1, 1, 1), [1, 1]);
        assert_eq!(shape(&vdt, 1, 8, 1), [2, 2, 2]);
        assert_eq!(shape(&vdt, 8192, 8192, 1).len(), MOST_DIGITS);
        assert_eq!(digits([8, 2]), [[2, 1], [2, 1], [2, 2]]);
    }

    /// By the definitions: column-major reshape, and digits of row and column.
    #[test]
    fn entries_go_where_the_definitions_say() {
        let own = picture(256, 256, 1);
        let of = |how: &Tensorise| {
            let made = how.apply(own.clone()).unwrap();
            made.reshape.apply(made.picture.into_tensor().into()).into_f64().unwrap()
        };
        let (columns, vdt) = (of(&reshape()), of(&Tensorise::default()));
        for (row, column) in [(0, 0), (1, 0), (0, 1), (200, 99), (255, 254), (37, 128)] {
            let value = own.samples()[row * 256 + column];
            let flat = row + 256 * column;
            let index: Vec<usize> = (0..8).map(|k| flat >> (2 * k) & 3).collect();
            assert_eq!(columns.at(&index), value);
            let digit = |k: usize| 2 * (row >> (7 - k) & 1) + (column >> (7 - k) & 1);
            assert_eq!(vdt.at(&(0..8).map(digit).collect::<Vec<_>>()), value);
        }
    }

    #[test]
    fn edges_are_repeated() {
        let made = Tensorise::default().apply(picture(11, 13, 1)).unwrap();
        assert_eq!(made.reshape.padded_shape(), [12, 14]);
        let whole = Reshape::padded(&[11, 13], &[12, 14], vec![12, 14], false).unwrap();
        let larger = whole.apply(made.picture.clone().into_tensor().into()).into_f64().unwrap();
        let samples = made.picture.samples();
        assert_eq!(larger.at(&[11, 13]), samples[10 * 13 + 12]);
        assert_eq!(larger.at(&[11, 4]), samples[10 * 13 + 4]);
        assert_eq!(larger.at(&[3, 13]), samples[3 * 13 + 12]);
    }

    #[test]
    fn factors_are_taken_as_given_or_refused() {
        let digits = |text: &str| {
            Tensorise::default().with(|t| {
                t.method = Method::Vdt(Some(parse_digits(text).unwrap()));
            })
        };
        assert_eq!(shape(&digits("4x2,3x5"), 12, 10, 3), [8, 15, 3]);
        assert_eq!(shape(&digits("2x2^3"), 7, 5, 1), [4, 4, 4]);
        let small = digits("2x2^2").apply(picture(7, 4, 1)).unwrap_err().to_string();
        assert_eq!(small, "the digits give 4 x 4, too few for 7 x 4");
        let cropped = digits("2x2^2").with(|t| t.sides = Sides::Crop);
        assert_eq!(cropped.apply(picture(7, 9, 1)).unwrap().picture.dims(), [4, 4]);
        let split = |text: &str| {
            Tensorise::default().with(|t| {
                t.method = Method::Reshape(Some(text.parse().unwrap()));
            })
        };
        assert_eq!(shape(&split("4x3,5x2"), 12, 10, 3), [4, 3, 5, 2, 3]);
        assert_eq!(shape(&split("4x3,5x2"), 11, 9, 1), [4, 3, 5, 2]);
        let small = split("4x3,5x2").apply(picture(13, 9, 1)).unwrap_err().to_string();
        assert_eq!(small, "the digits give 12 x 10, too few for 13 x 9");
        for wrong in ["", "2", "2x", "0x2", "2x2^-1", "2x2;2x2", "2x2^0"] {
            assert!(parse_digits(wrong).is_err(), "{wrong}");
        }
        let huge = Tensorise::default().with(|t| t.resize = Some([0, 5]));
        assert!(huge.apply(picture(2, 2, 1)).unwrap_err().to_string().contains("0 x 5"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn pictures_come_back_exactly(
            height in 1usize..40,
            width in 1usize..40,
            colour in any::<bool>(),
            how in 0usize..5,
            crop in any::<bool>(),
        ) {
            let method = match how {
                0 => Method::Plain,
                1 => Method::Reshape(None),
                2 => Method::Reshape(Some(Split::PerMode(vec![vec![4, 10], vec![8, 5]]))),
                3 => Method::Vdt(None),
                _ => Method::Vdt(Some(vec![[4, 3], [5, 2], [2, 7]])),
            };
            let sides = if crop { Sides::Crop } else { Sides::Pad };
            let own = picture(height, width, if colour { 3 } else { 1 });
            let made = Tensorise::default().with(|t| (t.method, t.sides) = (method, sides)).apply(own.clone()).unwrap();
            prop_assert!(crop || made.picture == own);
            let tensor = made.reshape.apply(made.picture.clone().into_tensor().into());
            prop_assert_eq!(tensor.dims(), made.reshape.to());
            // What a file remembers is enough, and the picture can be prepared again.
            let text = serde_json::to_string(&made.reshape).unwrap();
            let read: Reshape = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&to_picture(tensor, &read).unwrap(), &made.picture);
            prop_assert_eq!(prepared(own, read.picture().unwrap()), made.picture);
        }
    }
}
