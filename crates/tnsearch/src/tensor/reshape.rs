//! Another shape for the same entries: modes split into factors, or any shape of as many entries.

use super::{AnyTensor, size};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use thiserror::Error;

/// The most modes that a tensor may have after it was reshaped.
pub const MOST_MODES: usize = 24;

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
/// mode that stayed as it was keeps its name.
///
/// ```
/// use tnsearch::tensor::{AnyTensor, Reshape, Split, Tensor};
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
}

/// As it is read: not checked yet.
#[derive(Deserialize)]
struct Raw {
    from: Vec<usize>,
    to: Vec<usize>,
    names: Vec<String>,
    #[serde(default)]
    column_major: bool,
}

impl TryFrom<Raw> for Reshape {
    type Error = ReshapeError;

    fn try_from(Raw { from, to, names, column_major }: Raw) -> Result<Self, ReshapeError> {
        let bad = |reason: String| Err(ReshapeError::Damaged(reason));
        if names.len() != to.len() {
            return bad(format!("{} names for {} modes", names.len(), to.len()));
        }
        let wrong = |n: &&String| n.is_empty() || n.len() > 40 || !n.chars().all(named);
        if let Some(name) = names.iter().find(wrong) {
            return bad(format!("{name:?} is no name of a mode"));
        }
        check_sizes(&from, &to)?;
        Ok(Reshape { from, to, names, column_major })
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
        let made = Reshape { from: dims.to_vec(), to, names, column_major };
        Ok((made.to != made.from).then_some(made))
    }

    /// Another shape of as many entries. None where it is the same.
    pub fn shape(
        dims: &[usize],
        to: Vec<usize>,
        column_major: bool,
    ) -> Result<Option<Self>, ReshapeError> {
        check_sizes(dims, &to)?;
        let names = names(dims, &to);
        let made = Reshape { from: dims.to_vec(), to, names, column_major };
        Ok((made.to != made.from).then_some(made))
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
        self.moved(tensor, &self.to)
    }

    /// The tensor in its own shape again.
    ///
    /// # Panics
    /// If its shape is not [`Reshape::to`].
    pub fn undo(&self, tensor: AnyTensor) -> AnyTensor {
        assert_eq!(tensor.dims(), self.to, "the shape that was made");
        self.moved(tensor, &self.from)
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

fn factor_name(base: &str, k: usize, of: usize) -> String {
    if of == 1 { base.to_owned() } else { format!("{base}.{k}") }
}

/// The names of the new modes: modes are read from both shapes until their sizes agree, and those between two such
/// places are made of one another.
fn names(from: &[usize], to: &[usize]) -> Vec<String> {
    let mut names = Vec::with_capacity(to.len());
    let (mut a, mut b) = (0, 0);
    while b < to.len() {
        let (first, begin) = (a, b);
        let (mut old, mut new) = (1u128, 1u128);
        if a < from.len() {
            (old, a) = (from[a] as u128, a + 1);
        }
        (new, b) = (new * to[b] as u128, b + 1);
        while old != new || (b == to.len() && a < from.len()) {
            if b == to.len() || (old < new && a < from.len()) {
                (old, a) = (old.saturating_mul(from[a] as u128), a + 1);
            } else {
                (new, b) = (new.saturating_mul(to[b] as u128), b + 1);
            }
        }
        // Modes of length 1 at the end belong to what is there.
        if a == from.len() && to[b..].iter().all(|&d| d == 1) {
            b = to.len();
        }
        let numbers: Vec<String> = (first..a).map(|n| n.to_string()).collect();
        let base = match numbers.len() {
            0 => "one".to_owned(),
            _ => format!("m{}", numbers.join("+")),
        };
        names.extend((begin..b).map(|k| factor_name(&base, k - begin, b - begin)));
    }
    names
}

/// What the modes of a tensor are called in pictures and words: `m0`, `m1`, ..., or by the factors they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeNames<'r>(Option<&'r Reshape>);

impl<'r> ModeNames<'r> {
    /// The names of a tensor's modes, of one that was reshaped or not.
    pub fn new(reshape: Option<&'r Reshape>) -> Self {
        ModeNames(reshape)
    }

    /// The name of a mode: `m3`, `m0.1`.
    pub fn of(&self, mode: usize) -> Cow<'r, str> {
        match self.0.and_then(|r| r.names.get(mode)) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("m{mode}")),
        }
    }

    /// The name after the word "mode": `3`, `0.1`.
    pub fn bare(&self, mode: usize) -> Cow<'r, str> {
        match self.of(mode) {
            Cow::Borrowed(name) => Cow::Borrowed(name.strip_prefix('m').unwrap_or(name)),
            Cow::Owned(name) => Cow::Owned(name.trim_start_matches('m').to_owned()),
        }
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
    fn names_say_what_modes_are_made_of() {
        let of = |from: &[usize], to: &[usize]| names(from, to).join(" ");
        assert_eq!(of(&[16, 4], &[4, 4, 4]), "m0.0 m0.1 m1");
        assert_eq!(of(&[4, 4, 3], &[16, 3]), "m0+1 m2");
        assert_eq!(of(&[6, 6], &[4, 9]), "m0+1.0 m0+1.1");
        assert_eq!(of(&[2, 1], &[2]), "m0+1");
        assert_eq!(of(&[2, 3], &[2, 3, 1]), "m0 m1.0 m1.1");
        assert_eq!(of(&[], &[1, 1]), "one.0 one.1");
        let split = Reshape::shape(&[16, 4], vec![4, 4, 4], false).unwrap();
        let names = ModeNames::new(split.as_ref());
        assert_eq!([names.of(1), names.bare(1), names.bare(2)], ["m0.1", "0.1", "1"]);
        assert_eq!([ModeNames::default().of(12), ModeNames::default().bare(12)], ["m12", "12"]);
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
