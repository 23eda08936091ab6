//! The two ways in which a request can be refused that all parts of the library share.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use thiserror::Error;

/// A setting is out of range.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{name} is {value}; {expected}")]
#[non_exhaustive]
pub struct SettingError {
    /// The setting's name, as on the command line.
    pub name: Cow<'static, str>,
    /// The value given.
    pub value: String,
    /// What would be right.
    pub expected: Cow<'static, str>,
}

impl SettingError {
    /// The refusal of a value.
    ///
    /// ```
    /// let refused = tnsearch_linalg::SettingError::new("max-rank", 0, "it must be at least 1");
    /// assert_eq!(refused.to_string(), "max-rank is 0; it must be at least 1");
    /// let refused = tnsearch_linalg::SettingError::new("max-phi", -1e300, "it must be above 0");
    /// assert_eq!(refused.to_string(), "max-phi is -1e300; it must be above 0");
    /// ```
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        value: impl fmt::Display,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        let value = value.to_string();
        // Not hundreds of zeros.
        let value = match value.parse() {
            Ok(number) if value.len() > LONGEST => figure(number),
            _ => value,
        };
        SettingError { name: name.into(), value, expected: expected.into() }
    }
}

/// The most digits that are of use in a number.
const LONGEST: usize = 24;

/// A number as it was given, or nearly: very large and very small ones with an exponent.
pub fn figure(x: f64) -> String {
    let plain = x.to_string();
    if plain.len() > LONGEST { format!("{x:e}") } else { plain }
}

/// Something would take more memory than it may. Refused before anything is allocated.
#[derive(Debug, Clone, PartialEq, Error, Serialize, Deserialize)]
#[error("{what} needs about {} of memory, but the limit is {}", megabytes(*needed), megabytes(*limit))]
#[non_exhaustive]
pub struct MemoryError {
    /// What was to be done, e.g. "contracting the network".
    pub what: Cow<'static, str>,
    /// Estimated need, in bytes.
    pub needed: f64,
    /// The limit, in bytes.
    pub limit: f64,
}

impl MemoryError {
    /// The refusal of so many bytes.
    pub fn new(what: impl Into<Cow<'static, str>>, needed: f64, limit: f64) -> Self {
        MemoryError { what: what.into(), needed, limit }
    }

    /// Refuses what needs more bytes than the limit, if there is one.
    pub fn check(what: &'static str, needed: f64, limit: Option<u64>) -> Result<(), Self> {
        match limit.map(|limit| limit as f64) {
            Some(limit) if needed > limit => Err(MemoryError { what: what.into(), needed, limit }),
            _ => Ok(()),
        }
    }
}

fn megabytes(bytes: f64) -> String {
    let mb = (bytes / 1e6).ceil();
    if mb < 1e9 { format!("{mb:.0} MB") } else { format!("{mb:.1e} MB") }
}

/// A number of things, of which there must be one.
pub fn count(name: &'static str, n: usize) -> Result<(), SettingError> {
    match n {
        0 => Err(SettingError::new(name, 0, "it must be at least 1")),
        _ => Ok(()),
    }
}

/// A factor by which something shrinks, or stays as it is.
pub fn shrinkage(name: &'static str, c: f64) -> Result<(), SettingError> {
    match c > 0.0 && c <= 1.0 {
        true => Ok(()),
        false => Err(SettingError::new(name, c, "it must be above 0 and at most 1")),
    }
}

/// A number above zero.
pub fn positive(name: &'static str, x: f64) -> Result<(), SettingError> {
    match x > 0.0 && x.is_finite() {
        true => Ok(()),
        false => Err(SettingError::new(name, x, "it must be a positive number")),
    }
}

/// A probability.
pub fn probability(name: &'static str, p: f64) -> Result<(), SettingError> {
    match (0.0..=1.0).contains(&p) {
        true => Ok(()),
        false => Err(SettingError::new(name, p, "it must be from 0 to 1")),
    }
}
