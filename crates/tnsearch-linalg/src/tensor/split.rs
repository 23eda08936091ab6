//! How modes are to be split, as it is written on a command line.

use super::{MOST_MODES, ReshapeError, size};
use std::str::FromStr;

/// Modes up to this side are left whole by `auto`.
const SMALL: usize = 8;
/// `auto` stops where there are so many modes: all trees on 12 modes take seconds.
const AUTO_MODES: usize = 12;

const SPLITS: &str = "auto, primes, none, a number such as 4, or one entry per mode such as 4x4,8";
const SHAPES: &str = "sides such as 4^8, 16x16x3 or 4^4x3";

/// How modes are split into factors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Split {
    /// No mode.
    None,
    /// Large modes, the largest first, each into two factors that are as equal as possible, and again; as long as
    /// there are at most twelve modes.
    Auto,
    /// Every mode into its prime factors.
    Primes,
    /// Every mode into factors of this size, and what is left.
    Each(usize),
    /// The factors of each mode.
    PerMode(Vec<Vec<usize>>),
}

impl FromStr for Split {
    type Err = ReshapeError;

    /// `auto`, `primes`, `none`, `4`, or `4x4,8,2^3`: one entry per mode.
    fn from_str(text: &str) -> Result<Self, ReshapeError> {
        let unknown =
            || ReshapeError::Unknown { what: "split", text: text.to_owned(), expected: SPLITS };
        match text {
            "none" => return Ok(Split::None),
            "auto" => return Ok(Split::Auto),
            "primes" => return Ok(Split::Primes),
            _ => {}
        }
        if let Ok(each) = text.parse::<usize>() {
            return if each > 1 { Ok(Split::Each(each)) } else { Err(unknown()) };
        }
        let entries = text.split(',').map(|entry| sides(entry).ok_or_else(unknown));
        Ok(Split::PerMode(entries.collect::<Result<_, _>>()?))
    }
}

/// A shape as it is written: `4^8`, `16x16x3`.
pub fn parse_shape(text: &str) -> Result<Vec<usize>, ReshapeError> {
    sides(text).ok_or_else(|| ReshapeError::Unknown {
        what: "shape",
        text: text.to_owned(),
        expected: SHAPES,
    })
}

/// `4x4`, `4^3x2`: sides of at least 1.
fn sides(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split('x') {
        let (side, times) = match part.split_once('^') {
            Some((side, times)) => (side, times.trim().parse::<usize>().ok()?),
            None => (part, 1),
        };
        let side: usize = side.trim().parse().ok().filter(|&s| s > 0)?;
        // No more are possible, and 2^1000000 is no reason to take memory.
        all.extend(std::iter::repeat_n(side, times.min(10 * MOST_MODES)));
    }
    (!all.is_empty()).then_some(all)
}

impl Split {
    /// The factors of each mode.
    pub(super) fn factors(&self, dims: &[usize]) -> Result<Vec<Vec<usize>>, ReshapeError> {
        match self {
            Split::None => Ok(dims.iter().map(|&d| vec![d]).collect()),
            Split::Auto => Ok(auto(dims)),
            Split::Primes => Ok(dims.iter().map(|&d| primes(d)).collect()),
            Split::Each(each) => Ok(dims.iter().map(|&d| equal(d, *each)).collect()),
            Split::PerMode(entries) => {
                let (found, modes) = (entries.len(), dims.len());
                if found != modes {
                    return Err(ReshapeError::Entries { found, modes, dims: dims.to_vec() });
                }
                for (mode, (factors, &side)) in entries.iter().zip(dims).enumerate() {
                    let product = size(factors);
                    if product != side as u128 {
                        let factors = factors.clone();
                        return Err(ReshapeError::Factors { mode, side, factors, product });
                    }
                }
                Ok(entries.clone())
            }
        }
    }
}

/// The prime factors of a side, falling; a side of 1 is its own.
pub fn primes(mut side: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    let mut p = 2;
    while p <= side / p {
        while side.is_multiple_of(p) {
            factors.push(p);
            side /= p;
        }
        p += 1;
    }
    if side > 1 || factors.is_empty() {
        factors.push(side);
    }
    factors.reverse();
    factors
}

/// Factors of one size, then the rest.
fn equal(mut side: usize, each: usize) -> Vec<usize> {
    let mut factors = Vec::new();
    while side > 1 && side.is_multiple_of(each) {
        factors.push(each);
        side /= each;
    }
    if side > 1 || factors.is_empty() {
        factors.push(side);
    }
    factors
}

/// Two factors that are as equal as possible, the smaller first; none of a prime.
fn halves(side: usize) -> Option<(usize, usize)> {
    let small = (2..=side.isqrt()).rev().find(|d| side.is_multiple_of(*d))?;
    Some((small, side / small))
}

fn auto(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut factors: Vec<Vec<usize>> = dims.iter().map(|&d| vec![d]).collect();
    let mut modes = dims.len();
    while modes < AUTO_MODES {
        let places = factors.iter().enumerate();
        let large = places.flat_map(|(n, f)| (0..f.len()).map(move |k| (n, k)));
        // The largest that can be split, the first of equal ones.
        let best = large
            .filter(|&(n, k)| factors[n][k] > SMALL)
            .filter_map(|(n, k)| Some((factors[n][k], n, k, halves(factors[n][k])?)))
            .reduce(|a, b| if b.0 > a.0 { b } else { a });
        let Some((_, n, k, (a, b))) = best else { break };
        factors[n].splice(k..=k, [a, b]);
        modes += 1;
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::super::Reshape;
    use super::*;

    fn split(text: &str, dims: &[usize]) -> String {
        let made = text.parse::<Split>().and_then(|s| Reshape::split(dims, &s, false));
        match made {
            Ok(Some(r)) => format!("{:?}", r.to()),
            Ok(None) => "same".to_owned(),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn modes_are_split_as_asked() {
        assert_eq!(split("primes", &[12, 1, 7]), "[3, 2, 2, 1, 7]");
        assert_eq!(split("4", &[768, 10, 4]), "[4, 4, 4, 4, 3, 10, 4]");
        assert_eq!(split("4x4,8", &[16, 8]), "[4, 4, 8]");
        assert_eq!(split("2^4, 2x4", &[16, 8]), "[2, 2, 2, 2, 2, 4]");
        assert_eq!(split("auto", &[256, 256]), "[4, 4, 4, 4, 4, 4, 4, 4]");
        assert_eq!(split("auto", &[64, 12, 10, 60]), "[8, 8, 3, 4, 2, 5, 6, 2, 5]");
        assert_eq!(split("auto", &[8, 7, 97]), "same");
        assert_eq!(split("auto", &[1 << 20]), "[4, 8, 4, 8, 4, 8, 4, 8]");
        assert_eq!(split("primes", &[2, 3]), "same");
    }

    #[test]
    fn every_split_multiplies_to_the_side() {
        for side in 1..200 {
            for factors in [primes(side), equal(side, 2), equal(side, 6), auto(&[side]).concat()] {
                assert_eq!(factors.iter().product::<usize>(), side, "{factors:?}");
                assert!(side == 1 || !factors.contains(&1), "{side}: {factors:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_numbers() {
        for (text, dims, words) in [
            ("4x4,8", &[16, 12][..], "mode 1 has side 12, but 8 = 8"),
            ("4x5,8", &[16, 8], "mode 0 has side 16, but 4 x 5 = 20"),
            ("4x4", &[16, 8], "1 entries for 2 modes of shape 16 x 8; give one entry per mode"),
            ("primes", &[1 << 17, 1 << 16], "33 modes after splitting; at most 32 are possible"),
            ("halves", &[16, 8], "unknown split 'halves'; use auto, primes, none, a number"),
            ("1", &[16], "unknown split '1'"),
            ("4x,8", &[16, 8], "unknown split '4x,8'"),
            ("4^-1", &[16, 8], "unknown split"),
            ("0x4,8", &[16, 8], "unknown split"),
        ] {
            let said = split(text, dims);
            assert!(said.starts_with(words), "{text}: {said}");
        }
        assert_eq!(parse_shape("4^3x2").unwrap(), [4, 4, 4, 2]);
        assert!(parse_shape("4^3y2").unwrap_err().to_string().starts_with("unknown shape '4^3y2'"));
        let shape = |text: &str| {
            let to = parse_shape(text)?;
            Reshape::shape(&[16, 16], to, false).map(|_| ())
        };
        assert_eq!(
            shape("4^5").unwrap_err().to_string(),
            "shape 4 x 4 x 4 x 4 x 4 has 1024 entries, but the tensor, 16 x 16, has 256"
        );
        assert_eq!(
            shape("2^33").unwrap_err().to_string(),
            "33 modes after splitting; at most 32 are possible"
        );
        assert!(shape("2^1000000000").is_err());
        assert_eq!(shape("4^4"), Ok(()));
    }
}
