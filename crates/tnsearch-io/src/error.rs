//! What can be wrong with a file, in one line each.

use crate::text::{bytes, count, shown};
use std::path::{Path, PathBuf};
use thiserror::Error;
use tnsearch::tensor::TensorError;

/// A problem and the file that has it.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
#[non_exhaustive]
pub struct FileError {
    /// The file, with the key of the array where one was named.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Problem {
    /// There is no such file.
    #[error("no such file")]
    Missing,
    /// It is a directory, a pipe or a device.
    #[error("it is {0}, not a file")]
    NotAFile(&'static str),
    /// It is longer than such files are.
    #[error("it is longer than {}, the most that is read of it", bytes(u128::from(*.0)))]
    Long(u64),
    /// The system refused.
    #[error("{}", io_text(.0))]
    Io(#[from] std::io::Error),
    /// None of the formats that can be read.
    #[error("not {}", shown(.0))]
    Format(String),
    /// It ends too early.
    #[error("truncated: {}", shown(.0))]
    Truncated(String),
    /// It is longer than it says.
    #[error(
        "damaged: the header promises {promised} bytes of data, but there are {found}; save it again"
    )]
    TooLong {
        /// Bytes the header promises.
        promised: u128,
        /// Bytes found.
        found: u64,
    },
    /// It contradicts its own format.
    #[error("damaged: {}", shown(.0))]
    Damaged(String),
    /// Its entries are no numbers that can be read.
    #[error(
        "entries of type {} are not supported; use a boolean, integer, real or complex \
         type (f16, bf16, f32, f64, complex64, complex128), e.g. X.astype('f8')", shown(.0)
    )]
    Dtype(String),
    /// It would take too much memory.
    #[error(
        "its {} entries need {} of memory as {numbers}, but only {} is {why}",
        count(*entries), bytes(*needed), bytes(u128::from(*limit))
    )]
    Memory {
        /// Number of entries.
        entries: u128,
        /// Bytes needed.
        needed: u128,
        /// The kind of number, in words.
        numbers: &'static str,
        /// Bytes there are.
        limit: u64,
        /// Where the limit comes from.
        why: &'static str,
    },
    /// Its bytes alone would take too much memory.
    #[error(
        "reading it takes {} of memory, but only {} is {why}",
        bytes(u128::from(*needed)), bytes(u128::from(*limit))
    )]
    File {
        /// Bytes needed.
        needed: u64,
        /// Bytes there are.
        limit: u64,
        /// Where the limit comes from.
        why: &'static str,
    },
    /// The system has no memory for so many entries.
    #[error(
        "its {} entries need {} of memory as 64-bit numbers, and the system does not give as much",
        count(*.0), bytes(.0.saturating_mul(8))
    )]
    NotGiven(u128),
    /// There is no such array in the archive.
    #[error("there is no array '{}' in it; it has {}", shown(.key), listed(.have))]
    UnknownKey {
        /// The key asked for.
        key: String,
        /// The keys there are.
        have: Vec<String>,
    },
    /// The archive has several arrays and none was named.
    #[error("name one of its arrays as FILE:KEY; it has {}", listed(.0))]
    KeyNeeded(Vec<String>),
    /// A key was given, but the file is no archive.
    #[error("a {format} file holds one array without a name; leave out ':{}'", shown(.key))]
    KeyNotPossible {
        /// The file's format.
        format: &'static str,
        /// The key asked for.
        key: String,
    },
    /// The array cannot be searched or fitted.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A table of numbers that is none.
    #[error(transparent)]
    Table(#[from] crate::table::TableError),
    /// A safetensors file that is not the model that was expected.
    #[error("not a {}", shown(.0))]
    NotAModel(String),
    /// A safetensors file that is not one of our networks.
    #[error("not a network written by tnsearch: {}", shown(.0))]
    NotANetwork(String),
}

impl Problem {
    /// The error of this problem in that file.
    pub fn of(self, path: impl AsRef<Path>) -> FileError {
        FileError { path: path.as_ref().to_owned(), problem: self }
    }
}

/// The system's own words for an error, without the number it likes to add.
pub fn io_text(e: &std::io::Error) -> String {
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    match chars.next() {
        Some(c) => c.to_lowercase().chain(chars).collect(),
        None => "input/output error".to_owned(),
    }
}

/// At most a dozen names, in quotes.
fn listed(names: &[String]) -> String {
    const MOST: usize = 12;
    if names.is_empty() {
        return "no arrays".to_owned();
    }
    let shown: Vec<_> = names.iter().take(MOST).map(|n| format!("'{}'", shown(n))).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
