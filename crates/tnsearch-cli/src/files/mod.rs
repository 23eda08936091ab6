//! Reading tensors and networks from files, and writing them.

mod dtype;
pub mod entries;
mod error;
mod literal;
mod memory;
pub mod network;
pub mod npy;
mod npz;
pub mod output;
mod safetensors;
#[cfg(test)]
mod tests;

pub use dtype::{Dtype, Layout};
pub use error::{FileError, Problem, io_text};
pub use memory::MemoryLimit;
pub use safetensors::SafetensorsFile;

use npz::Npz;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use tnsearch::tensor::{AnyTensor, Kind};

/// A tensor and how the file had it.
#[derive(Debug)]
pub struct Loaded {
    /// The tensor, not yet checked for NaN, order and the like.
    pub tensor: AnyTensor,
    /// How its entries lie in the file.
    pub layout: Layout,
}

/// An array in an archive.
#[derive(Debug)]
pub struct Listed {
    /// Its name.
    pub key: String,
    /// How its entries lie in the file, or why it cannot be read.
    pub layout: Result<Layout, Problem>,
}

/// Reads `X.npy`, `X.npz:key` or `X.safetensors:key`; the key can be left out where there is only
/// one array. The format is told from the file's first bytes. The tensor is of the kind asked for; without one, of
/// 64-bit numbers, complex where the file has complex ones.
pub fn read_tensor(
    name: &str,
    kind: Option<Kind>,
    limit: MemoryLimit,
) -> Result<Loaded, FileError> {
    let (path, key) = split_key(name);
    let read = || -> Result<(Layout, AnyTensor), Problem> {
        match open(&path)? {
            Opened::Npy(mut file, length) => {
                if let Some(key) = &key {
                    return Err(Problem::KeyNotPossible(key.clone()));
                }
                let layout = npy::read_header(&mut file, length)?;
                let tensor = layout.read(&mut file, kind, limit)?;
                Ok((layout, tensor))
            }
            Opened::Npz(mut npz) => {
                let key = the_key(key.as_deref(), npz.keys())?;
                npz.read(&key, kind, limit)
            }
            Opened::Safetensors(mut file) => {
                let key = the_key(key.as_deref(), file.keys())?;
                file.read(&key, kind, limit)
            }
        }
    };
    let (layout, tensor) = read().map_err(|p| p.of(&path))?;
    Ok(Loaded { tensor, layout })
}

/// The arrays in an archive, or nothing for a .npy file.
pub fn list_arrays(path: &Path) -> Result<Vec<Listed>, FileError> {
    let listed = |keys: Vec<String>, layout: &mut dyn FnMut(&str) -> Result<Layout, Problem>| {
        keys.into_iter().map(|key| Listed { layout: layout(&key), key }).collect()
    };
    match open(path).map_err(|p| p.of(path))? {
        Opened::Npy(..) => Ok(Vec::new()),
        Opened::Npz(mut npz) => Ok(listed(npz.keys(), &mut |key| npz.layout(key))),
        Opened::Safetensors(file) => Ok(listed(file.keys(), &mut |key| file.layout(key))),
    }
}

/// Opens a safetensors file; none if the file has another format.
pub fn open_safetensors(path: &Path) -> Result<Option<SafetensorsFile>, FileError> {
    match open(path).map_err(|p| p.of(path))? {
        Opened::Safetensors(file) => Ok(Some(file)),
        _ => Ok(None),
    }
}

/// Splits `FILE:KEY`. A colon that belongs to the path of an existing file stays there.
pub fn split_key(name: &str) -> (PathBuf, Option<String>) {
    let whole = PathBuf::from(name);
    if whole.exists() {
        return (whole, None);
    }
    for (at, _) in name.rmatch_indices(':') {
        let path = PathBuf::from(&name[..at]);
        if path.is_file() {
            return (path, Some(name[at + 1..].to_owned()));
        }
    }
    // Nothing exists: the error should name the archive, not a file called `X.npz:key`.
    for extension in [".npz:", ".safetensors:", ".npy:"] {
        if let Some((path, key)) = name.split_once(extension) {
            let dotted = extension.trim_end_matches(':');
            return (PathBuf::from(format!("{path}{dotted}")), Some(key.to_owned()));
        }
    }
    (whole, None)
}

fn the_key(asked: Option<&str>, mut have: Vec<String>) -> Result<String, Problem> {
    match asked {
        Some(key) => Ok(key.to_owned()),
        None if have.len() == 1 => Ok(have.remove(0)),
        None => Err(Problem::KeyNeeded(have)),
    }
}

enum Opened {
    Npy(BufReader<File>, u64),
    Npz(Npz),
    Safetensors(SafetensorsFile),
}

fn open(path: &Path) -> Result<Opened, Problem> {
    // Opening a pipe would wait for its writer: look before.
    let about = std::fs::metadata(path).map_err(|e| match e.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Problem::Missing,
        _ => Problem::Io(e),
    })?;
    if about.is_dir() {
        return Err(Problem::NotAFile("a directory"));
    }
    if !about.is_file() {
        return Err(Problem::NotAFile("a pipe or a device"));
    }
    let (mut file, length) = (File::open(path)?, about.len());
    let mut start = Vec::new();
    (&mut file).take(9).read_to_end(&mut start)?;
    file.rewind()?;
    let named =
        |extension: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension));
    if start.starts_with(npy::MAGIC) {
        Ok(Opened::Npy(BufReader::with_capacity(1 << 16, file), length))
    } else if start.starts_with(b"PK\x03\x04") || start.starts_with(b"PK\x05\x06") {
        Ok(Opened::Npz(Npz::open(file)?))
    } else if start.is_empty() {
        Err(Problem::Truncated("the file is empty".into()))
    } else if npy::MAGIC.starts_with(&start) {
        Err(Problem::Truncated("it ends within its header".into()))
    } else if named("safetensors") || start.get(8) == Some(&b'{') {
        Ok(Opened::Safetensors(SafetensorsFile::open(file, length)?))
    } else if named("npy") {
        Err(Problem::Format("a .npy file: it does not start with numpy's signature"))
    } else if named("npz") {
        Err(Problem::Format("a .npz file: it is no zip archive"))
    } else {
        Err(Problem::Format("a .npy, .npz or .safetensors file"))
    }
}
