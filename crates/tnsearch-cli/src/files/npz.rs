//! The .npz format: a zip archive of .npy files.

use super::{Layout, MemoryLimit, Problem, npy};
use std::fs::File;
use std::io::{BufReader, Read};
use tnsearch::tensor::{AnyTensor, Kind};
use zip::ZipArchive;
use zip::result::ZipError;

/// An open .npz archive.
pub struct Npz {
    archive: ZipArchive<BufReader<File>>,
    entries: Vec<Entry>,
}

struct Entry {
    key: String,
    index: usize,
}

impl Npz {
    /// Opens an archive and lists its arrays.
    pub fn open(file: File) -> Result<Self, Problem> {
        let archive = ZipArchive::new(BufReader::new(file)).map_err(problem)?;
        let entries = archive.file_names().enumerate().filter_map(|(index, name)| {
            Some(Entry { key: name.ok()?.strip_suffix(".npy")?.to_owned(), index })
        });
        let entries = entries.collect();
        Ok(Npz { archive, entries })
    }

    /// The names of its arrays, in the archive's order.
    pub fn keys(&self) -> Vec<String> {
        self.entries.iter().map(|e| e.key.clone()).collect()
    }

    /// The layout of an array.
    pub fn layout(&mut self, key: &str) -> Result<Layout, Problem> {
        self.with(key, |entry, length| npy::read_header(entry, length))
    }

    /// Reads an array.
    pub fn read(
        &mut self,
        key: &str,
        kind: Option<Kind>,
        limit: MemoryLimit,
    ) -> Result<(Layout, AnyTensor), Problem> {
        self.with(key, |entry, length| {
            let layout = npy::read_header(entry, length)?;
            let tensor = layout.read(entry, kind, limit)?;
            // The archive's checksum is compared at the end of the entry.
            let more = entry.read(&mut [0u8]).map_err(|e| Problem::Damaged(e.to_string()))?;
            match more {
                0 => Ok((layout, tensor)),
                _ => Err(Problem::Damaged("an entry is longer than the archive says".into())),
            }
        })
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

fn problem(e: ZipError) -> Problem {
    match e {
        ZipError::Io(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Problem::Truncated("the archive ends too early".into())
        }
        ZipError::Io(e) => Problem::Io(e),
        e => Problem::Damaged(e.to_string()),
    }
}
