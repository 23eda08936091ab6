//! Another shape for the same entries: modes split into factors, or any shape of as many entries.

use super::digits::{interleaved, resized, separated};
use super::names::{factor_name, names};
use super::{AnyTensor, PictureSteps, size};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The most modes that a tensor may have after it was reshaped.
pub const MOST_MODES: usize = 32;

/// Why a tensor cannot be reshaped as asked.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReshapeError {
    /// The factors of a mode do not multiply to its side.
    #[error("mode {mode} has side {side}, but {} = {product}", product_text(.factors))]
    Factors {
        /// The mode.
        mode: usize,
        /// Its side.
        side: usize,
        /// The factors given.
        factors: Vec<usize>,
        /// What they multiply to.
        product: u128,
    },
    /// Not one entry per mode.
    #[error("{found} entries for {modes} modes of shape {}; give one entry per mode", product_text(.dims))]
    Entries {
        /// The entries given.
        found: usize,
        /// The modes there are.
        modes: usize,
        /// Their sides.
        dims: Vec<usize>,
    },
    /// The new shape has more or fewer entries.
    #[error(
        "shape {} has {} entries, but the tensor, {}, has {}",
        product_text(.to), size(.to), product_text(.from), size(.from)
    )]
    Shape {
        /// The tensor's shape.
        from: Vec<usize>,
        /// The shape asked for.
        to: Vec<usize>,
    },
    /// Digits that do not give the sides of the first two modes.
    #[error(
        "the digits give {} x {}, too few for {}", .sides[0], .sides[1], product_text(.dims)
    )]
    Digits {
        /// The products of the digits.
        sides: [u128; 2],
        /// The tensor's shape.
        dims: Vec<usize>,
    },
    /// Too many modes.
    #[error("{modes} modes after splitting; at most {MOST_MODES} are possible")]
    TooMany {
        /// How many there would be.
        modes: usize,
    },
    /// What was written is no split or shape.
    #[error("unknown {what} '{text}'; use {expected}")]
    Unknown {
        /// `split` or `shape`.
        what: &'static str,
        /// What was written.
        text: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A description of a reshape that contradicts itself.
    #[error("bad reshape: {0}")]
    Damaged(String),
}

/// `4 x 4 x 2`.
fn product_text(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

/// A tensor's own shape, that in which it is searched, and what the new modes are called.
///
/// The entries stay in their order: row-major (the last index runs fastest, as numpy's `reshape`), or column-major
/// (the first does, `order="F"`). Factor k of mode n is called `mn.k`, modes n and n + 1 made one `mn+n+1`; a
/// mode that stayed as it was keeps its name. A tensor of a picture may be made larger first, by repeating its last row
/// and column, and its modes may be digits of row and column ([`Reshape::digits`]), called `dk`.
///
/// ```
/// use tnsearch_linalg::tensor::{AnyTensor, Reshape, Split, Tensor};
/// let split = Reshape::split(&[6, 2], &"2x3,2".parse::<Split>().unwrap(), false).unwrap().unwrap();
/// assert_eq!((split.to(), split.names().join(" ")), (&[2, 3, 2][..], "m0.0 m0.1 m1".to_owned()));
/// let x = AnyTensor::from(Tensor::new(vec![6, 2], (0..12).map(f64::from).collect()).unwrap());
/// let y = split.apply(x.clone());
/// assert_eq!(y.dims(), [2, 3, 2]);
/// assert_eq!(split.undo(y), x);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw")]
pub struct Reshape {
    from: Vec<usize>,
    to: Vec<usize>,
    names: Vec<String>,
    column_major: bool,
    /// The shape after the last entries were repeated; none where it is `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    padded: Option<Vec<usize>>,
    /// The digits of rows and columns that are merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    digits: Option<Vec<[usize; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<PictureSteps>,
}

/// As it is read: not checked yet.
#[derive(Deserialize)]
struct Raw {
    from: Vec<usize>,
    to: Vec<usize>,
    names: Vec<String>,
    #[serde(default)]
    column_major: bool,
    #[serde(default)]
    padded: Option<Vec<usize>>,
    #[serde(default)]
    digits: Option<Vec<[usize; 2]>>,
    #[serde(default)]
    picture: Option<PictureSteps>,
}

impl TryFrom<Raw> for Reshape {
    type Error = ReshapeError;

    fn try_from(raw: Raw) -> Result<Self, ReshapeError> {
        let Raw { from, to, names, column_major, padded, digits, picture } = raw;
        let bad = |reason: String| Err(ReshapeError::Damaged(reason));
        if names.len() != to.len() {
            return bad(format!("{} names for {} modes", names.len(), to.len()));
        }
        let wrong = |n: &&String| n.is_empty() || n.len() > 40 || !n.chars().all(named);
        if let Some(name) = names.iter().find(wrong) {
            return bad(format!("{name:?} is no name of a mode"));
        }
        let sides = padded.as_ref().unwrap_or(&from);
        if sides.len() != from.len() || sides.iter().zip(&from).any(|(p, f)| p < f || *f == 0) {
            return bad(format!("{} cannot become {}", product_text(&from), product_text(sides)));
        }
        check_sizes(sides, &to)?;
        if let Some(digits) = &digits
            && (sides.len() < 2
                || sides[..2] != products(digits).map(|p| p as usize)
                || to != merged(digits, &sides[2..]))
        {
            return bad(format!("its digits do not give {}", product_text(&to)));
        }
        Ok(Reshape { from, to, names, column_major, padded, digits, picture })
    }
}

/// What names of modes are made of.
fn named(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '_' | '-')
}

/// Refuses shapes of different size, or with too many modes.
fn check_sizes(from: &[usize], to: &[usize]) -> Result<(), ReshapeError> {
    if to.len() > MOST_MODES {
        return Err(ReshapeError::TooMany { modes: to.len() });
    }
    if size(from) != size(to) || to.contains(&0) || size(to) == u128::MAX {
        return Err(ReshapeError::Shape { from: from.to_vec(), to: to.to_vec() });
    }
    Ok(())
}

/// The sides that digits of rows and columns give.
fn products(digits: &[[usize; 2]]) -> [u128; 2] {
    [0, 1].map(|of| size(&digits.iter().map(|d| d[of]).collect::<Vec<_>>()))
}

/// The sides of merged digits, and of the modes that stay.
fn merged(digits: &[[usize; 2]], rest: &[usize]) -> Vec<usize> {
    digits.iter().map(|[a, b]| a.saturating_mul(*b)).chain(rest.iter().copied()).collect()
}

impl Reshape {
    /// Splits modes into factors, of which the last runs fastest (column-major: the first). None where nothing changes.
    pub fn split(
        dims: &[usize],
        split: &super::Split,
        column_major: bool,
    ) -> Result<Option<Self>, ReshapeError> {
        let factors = split.factors(dims)?;
        let (mut to, mut names) = (Vec::new(), Vec::new());
        for (n, parts) in factors.iter().enumerate() {
            to.extend(parts);
            names.extend((0..parts.len()).map(|k| factor_name(&format!("m{n}"), k, parts.len())));
        }
        if to.len() > MOST_MODES && to.len() > dims.len() {
            return Err(ReshapeError::TooMany { modes: to.len() });
        }
        let made = Reshape::plain(dims, to, names, column_major);
        Ok((made.to != made.from).then_some(made))
    }

    fn plain(from: &[usize], to: Vec<usize>, names: Vec<String>, column_major: bool) -> Self {
        let (padded, digits, picture) = (None, None, None);
        Reshape { from: from.to_vec(), to, names, column_major, padded, digits, picture }
    }

    /// Another shape of as many entries. None where it is the same.
    pub fn shape(
        dims: &[usize],
        to: Vec<usize>,
        column_major: bool,
    ) -> Result<Option<Self>, ReshapeError> {
        let made = Reshape::padded(dims, dims, to, column_major)?;
        Ok((made.to != made.from).then_some(made))
    }

    /// Another shape of as many entries as `padded` has, to which the tensor is made larger first: the last entry along
    /// each mode is repeated, and cut off again on the way back.
    pub fn padded(
        dims: &[usize],
        padded: &[usize],
        to: Vec<usize>,
        column_major: bool,
    ) -> Result<Self, ReshapeError> {
        if dims.len() != padded.len() || dims.iter().zip(padded).any(|(d, p)| d > p || *d == 0) {
            return Err(ReshapeError::Shape { from: dims.to_vec(), to: padded.to_vec() });
        }
        check_sizes(padded, &to)?;
        let names = names(padded, &to);
        let padded = (padded != dims).then(|| padded.to_vec());
        Ok(Reshape { padded, ..Reshape::plain(dims, to, names, column_major) })
    }

    /// Modes that are digits of the first two (the rows and columns of a picture): these are written as digits, most
    /// significant first, of which number k takes `digits[k][0]` and `digits[k][1]` values, and digit k of both becomes
    /// mode k, of side `digits[k][0] * digits[k][1]`. So 256 x 256 with eight `[2, 2]` is 4^8, and each mode a scale. The
    /// other modes stay as they are. Sides smaller than the digits give are made larger, as in [`Reshape::padded`].
    ///
    /// ```
    /// use tnsearch_linalg::tensor::{AnyTensor, Reshape, Tensor};
    /// let x = AnyTensor::from(Tensor::new(vec![4, 4], (0..16).map(f64::from).collect()).unwrap());
    /// let y = Reshape::digits(&[4, 4], vec![[2, 2], [2, 2]]).unwrap().apply(x);
    /// // The first block of 2 x 2.
    /// assert_eq!(y.as_f64().unwrap().data()[..4], [0.0, 1.0, 4.0, 5.0]);
    /// ```
    pub fn digits(dims: &[usize], digits: Vec<[usize; 2]>) -> Result<Self, ReshapeError> {
        let sides = products(&digits);
        let enough = dims.len() >= 2 && (0..2).all(|k| sides[k] >= dims[k] as u128);
        if !enough || sides.iter().any(|&s| s > u128::from(u32::MAX)) {
            return Err(ReshapeError::Digits { sides, dims: dims.to_vec() });
        }
        let rest = &dims[2..];
        let padded: Vec<usize> =
            sides.iter().map(|&s| s as usize).chain(rest.iter().copied()).collect();
        let to = merged(&digits, rest);
        check_sizes(&padded, &to)?;
        let names = (0..digits.len()).map(|k| format!("d{k}"));
        let names = names.chain((2..dims.len()).map(|n| format!("m{n}"))).collect();
        let padded = (padded != dims).then_some(padded);
        Ok(Reshape { padded, digits: Some(digits), ..Reshape::plain(dims, to, names, false) })
    }

    /// The same, with what was done to the picture before.
    pub fn of_picture(self, steps: PictureSteps) -> Self {
        Reshape { picture: Some(steps), ..self }
    }

    /// What was done to the picture before; none where the tensor is that of a file as it is.
    pub fn picture(&self) -> Option<PictureSteps> {
        self.picture
    }

    /// The shape after the last entries were repeated; the tensor's own where none were.
    pub fn padded_shape(&self) -> &[usize] {
        self.padded.as_ref().unwrap_or(&self.from)
    }

    /// The digits of rows and columns that are merged; none where modes are only split.
    pub fn digit_sides(&self) -> Option<&[[usize; 2]]> {
        self.digits.as_deref()
    }

    /// Whether it takes a reordered copy of the entries.
    pub fn copies(&self) -> bool {
        self.column_major || self.padded.is_some() || self.digits.is_some()
    }

    /// The tensor's own shape.
    pub fn from(&self) -> &[usize] {
        &self.from
    }

    /// The shape in which it is searched.
    pub fn to(&self) -> &[usize] {
        &self.to
    }

    /// What the new modes are called.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the first index runs fastest.
    pub fn column_major(&self) -> bool {
        self.column_major
    }

    /// The tensor in the new shape.
    ///
    /// # Panics
    /// If its shape is not [`Reshape::from`].
    pub fn apply(&self, tensor: AnyTensor) -> AnyTensor {
        assert_eq!(tensor.dims(), self.from, "the shape to be changed");
        let tensor = resized(tensor, self.padded_shape());
        match &self.digits {
            Some(digits) => interleaved(tensor, digits, &self.to),
            None => self.moved(tensor, &self.to),
        }
    }

    /// The tensor in its own shape again.
    ///
    /// # Panics
    /// If its shape is not [`Reshape::to`].
    pub fn undo(&self, tensor: AnyTensor) -> AnyTensor {
        assert_eq!(tensor.dims(), self.to, "the shape that was made");
        let padded = match &self.digits {
            Some(digits) => separated(tensor, digits, self.padded_shape()),
            None => self.moved(tensor, self.padded_shape()),
        };
        resized(padded, &self.from)
    }

    fn moved(&self, tensor: AnyTensor, to: &[usize]) -> AnyTensor {
        let reshaped = |tensor: AnyTensor, dims| {
            tensor.reshaped(dims).unwrap_or_else(|e| unreachable!("as many entries: {e}"))
        };
        if !self.column_major {
            return reshaped(tensor, to.to_vec());
        }
        // Column-major is row-major with the axes reversed.
        let reversed = |tensor: &AnyTensor| {
            let axes: Vec<usize> = (0..tensor.order()).rev().collect();
            tensor.permuted(&axes)
        };
        reversed(&reshaped(reversed(&tensor), to.iter().rev().copied().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tensor, unflatten};
    use super::*;
    use proptest::prelude::*;

    fn counted(dims: &[usize]) -> Tensor {
        let entries = dims.iter().product::<usize>();
        Tensor::new(dims.to_vec(), (0..entries).map(|k| k as f64).collect()).unwrap()
    }

    #[test]
    fn what_contradicts_itself_is_not_read() {
        let read = |text: &str| serde_json::from_str::<Reshape>(text).map_err(|e| e.to_string());
        let good = r#"{"from":[4],"to":[2,2],"names":["m0.0","m0.1"],"column_major":true}"#;
        let reshape = read(good).unwrap();
        assert_eq!(serde_json::to_string(&reshape).unwrap(), good);
        for (from, to, words) in [
            ("[4]", "[5]", "shape 2 x 2 has 4 entries, but the tensor, 5, has 5"),
            ("\"m0.1\"", "\"\\u001b\"", "is no name of a mode"),
            (",\"m0.1\"", "", "1 names for 2 modes"),
            ("[2,2]", "[4,1,0]", "2 names for 3 modes"),
        ] {
            let error = read(&good.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    proptest! {
        /// Entry by entry, by the definition of both orders.
        #[test]
        fn entries_keep_their_place(
            sides in prop::collection::vec(prop::collection::vec(1usize..4, 1..3), 1..4),
            column_major in any::<bool>(),
        ) {
            let from: Vec<usize> = sides.iter().map(|f| f.iter().product()).collect();
            let to: Vec<usize> = sides.concat();
            prop_assume!(to != from);
            let reshape = Reshape::shape(&from, to.clone(), column_major).unwrap().unwrap();
            let x = counted(&from);
            let y = reshape.apply(x.clone().into());
            let y = y.as_f64().unwrap();
            prop_assert_eq!(y.dims(), &to[..]);
            let flat = |index: &[usize], dims: &[usize]| -> usize {
                let mut steps: Vec<(usize, usize)> = index.iter().copied().zip(dims.iter().copied()).collect();
                if column_major {
                    steps.reverse();
                }
                steps.iter().fold(0, |at, (i, d)| at * d + i)
            };
            for k in 0..x.len() {
                let index = unflatten(k, &from);
                let other = (0..x.len()).map(|j| unflatten(j, &to)).find(|j| flat(j, &to) == flat(&index, &from));
                prop_assert_eq!(x.at(&index), y.at(&other.unwrap()));
            }
            prop_assert_eq!(reshape.undo(y.clone().into()), x);
        }
    }
}
