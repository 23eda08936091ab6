//! Why a file of lines is refused.

use crate::text::shown;
use crate::{Problem, io_text};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a file of lines is refused, and which.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("journal {}: {problem}", path.display())]
#[non_exhaustive]
pub struct LinesError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: LinesProblem,
}

/// Why a file of lines is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LinesProblem {
    /// It is a directory.
    #[error("it is a directory")]
    Directory,
    /// Another process has locked it.
    #[error("another process is using it")]
    InUse,
    /// It has records and was not to be continued.
    #[error("it has the record of a search; use --resume to continue it, or another file")]
    NotEmpty,
    /// There is nothing in it.
    #[error("it is empty: the search has not begun to write it")]
    Empty,
    /// It is another file.
    #[error("not a {0} of tnsearch")]
    Foreign(&'static str),
    /// It was written by a later program.
    #[error(
        "it has version {found}, and this program reads versions 1 to {known}; use a newer tnsearch"
    )]
    Newer {
        /// Its version.
        found: u64,
        /// The newest that is known.
        known: u64,
    },
    /// The first line lacks something.
    #[error("its first line is damaged ({})", shown(.0))]
    Header(String),
    /// It belongs to something else.
    #[error("it was made with {name} {then}, now {name} {now}")]
    Differs {
        /// The first field of the first line that differs.
        name: String,
        /// What it says in the file.
        then: String,
        /// What it would be now.
        now: String,
    },
    /// It belongs to another tensor.
    #[error("it was made with a tensor of the same shape but other entries")]
    OtherEntries,
    /// The system refused.
    #[error("{0}")]
    Io(String),
}

/// A line that is not used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line} is damaged ({reason})")]
#[non_exhaustive]
pub struct Damage {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl Damage {
    /// The longest reason that is kept: it may repeat what stands in the line.
    const LONGEST: usize = 200;

    pub(crate) fn new(line: usize, reason: &str) -> Self {
        let reason: String = shown(reason).chars().take(Self::LONGEST).collect();
        Damage { line, reason }
    }
}

/// A line of warning for each damaged line, or for the first ones and how many there are more; `then` says what is done
/// about it.
pub fn warnings(path: &Path, damaged: &[Damage], then: &str) -> Vec<String> {
    const MOST: usize = 5;
    let file = shown(&path.to_string_lossy());
    let of = |what: &dyn std::fmt::Display| format!("{file}: {what}: {then}");
    let mut said: Vec<String> = damaged.iter().take(MOST).map(|d| of(d)).collect();
    if let Some(more) = damaged.len().checked_sub(MOST).filter(|more| *more > 0) {
        said.push(of(&format!("{more} more lines are damaged")));
    }
    said
}

impl LinesProblem {
    /// The error of this problem in that file.
    pub fn of(self, path: impl AsRef<Path>) -> LinesError {
        LinesError { path: path.as_ref().to_owned(), problem: self }
    }
}

impl From<Problem> for LinesProblem {
    fn from(problem: Problem) -> Self {
        LinesProblem::Io(problem.to_string())
    }
}

impl From<io::Error> for LinesProblem {
    fn from(e: io::Error) -> Self {
        LinesProblem::Io(io_text(&e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_damaged_lines_the_first_are_named() {
        let said = |count: usize| {
            let damaged: Vec<Damage> = (1..=count).map(|line| Damage::new(line, "torn")).collect();
            warnings(Path::new("a.jsonl"), &damaged, "it is not used")
        };
        assert_eq!([said(0).len(), said(4).len(), said(5).len()], [0, 4, 5]);
        assert_eq!([said(6).len(), said(9).len()], [6, 6]);
        assert_eq!(said(9)[5], "a.jsonl: 4 more lines are damaged: it is not used");
        assert!(said(1)[0].starts_with("a.jsonl: ") && said(1)[0].ends_with(": it is not used"));
    }
}
