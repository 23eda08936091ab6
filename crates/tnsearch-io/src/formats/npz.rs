//! The .npz format: a zip archive of .npy files.

use super::npy;
use crate::registry::{Archive, Format, Opened, Sign};
use crate::{Array, Layout, MemoryLimit, Problem};
use std::fs::File;
use std::io::{BufReader, Read};
use tnsearch::tensor::Kind;
use zip::ZipArchive;
use zip::result::ZipError;

/// The format.
pub static FORMAT: Format = Format {
    name: ".npz",
    extensions: &["npz"],
    // The second is an archive without entries.
    recognise: |start| match start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        true => Sign::Sure,
        false => Sign::None,
    },
    lacks: Some("it is no zip archive"),
    open: |file, _| Ok(Opened::Archive(Box::new(Npz::open(file)?))),
    write: None,
    picture: None,
};

/// An open .npz archive.
struct Npz {
    archive: ZipArchive<BufReader<File>>,
    entries: Vec<Entry>,
}

struct Entry {
    key: String,
    index: usize,
}

impl Npz {
    /// Opens an archive and lists its arrays.
    fn open(file: File) -> Result<Self, Problem> {
        let archive = ZipArchive::new(BufReader::new(file)).map_err(problem)?;
        let entries = archive.file_names().enumerate().filter_map(|(index, name)| {
            Some(Entry { key: name.ok()?.strip_suffix(".npy")?.to_owned(), index })
        });
        let entries = entries.collect();
        Ok(Npz { archive, entries })
    }

    fn with<T>(
        &mut self,
        key: &str,
        f: impl FnOnce(&mut dyn Read, u64) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        // `X.npz:a` and `X.npz:a.npy` both name the entry a.npy.
        let wanted = |e: &&Entry| e.key == key || key.strip_suffix(".npy") == Some(e.key.as_str());
        let Some(entry) = self.entries.iter().find(wanted) else {
            return Err(Problem::UnknownKey { key: key.to_owned(), have: self.keys() });
        };
        let mut file = self.archive.by_index(entry.index).map_err(problem)?;
        let length = file.size();
        f(&mut file, length)
    }
}

impl Archive for Npz {
    fn keys(&self) -> Vec<String> {
        self.entries.iter().map(|e| e.key.clone()).collect()
    }

    fn layout(&mut self, key: &str) -> Result<Layout, Problem> {
        self.with(key, |entry, length| npy::read_header(entry, length))
    }

    fn read(
        &mut self,
        key: &str,
        kind: Option<Kind>,
        limit: MemoryLimit,
    ) -> Result<Array, Problem> {
        self.with(key, |entry, length| {
            let array = npy::read_header(entry, length)?.read(entry, kind, limit)?;
            // The archive's checksum is compared at the end of the entry.
            let more = entry.read(&mut [0u8]).map_err(|e| Problem::Damaged(e.to_string()))?;
            match more {
                0 => Ok(array),
                _ => Err(Problem::Damaged("an entry is longer than the archive says".into())),
            }
        })
    }
}

fn problem(e: ZipError) -> Problem {
    match e {
        ZipError::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Problem::Truncated("the archive ends too early".into())
        }
        ZipError::Io(e) => Problem::Io(e),
        e => Problem::Damaged(e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn archives_that_end_too_early_are_damaged_or_cannot_be_read_are_told_apart() {
        let said = |e: ZipError| problem(e).to_string();
        let early = said(ZipError::Io(ErrorKind::UnexpectedEof.into()));
        assert_eq!(early, "truncated: the archive ends too early");
        assert!(matches!(problem(ZipError::Io(Error::from_raw_os_error(5))), Problem::Io(_)));
        assert!(said(ZipError::InvalidArchive("no end".into())).starts_with("damaged: "));
    }
}
