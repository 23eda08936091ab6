//! The file formats for tensors, and what all of them share: finding out which one a file has, naming an array,
//! reading it, writing it.
//!
//! A format is one file in `formats/` with one [`Format`], and one line in [`FORMATS`].

use crate::formats::{npy, npz, pictures, safetensors};
use crate::output::{Output, OutputError};
use crate::picture::PictureFormat;
use crate::{Array, Dtype, FileError, Layout, MemoryLimit, Problem};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use tnsearch::tensor::{AnyTensor, Kind};

/// All formats. Where several could be meant, the first is.
pub static FORMATS: [&Format; 5] =
    [&npy::FORMAT, &npz::FORMAT, &safetensors::FORMAT, &pictures::PNG, &pictures::JPEG];

/// How many of a file's first bytes a format may look at.
const START: u64 = 16;

/// A file format for tensors.
#[derive(Debug)]
pub struct Format {
    /// Its name in messages: `.npy`.
    pub name: &'static str,
    /// How names of its files end, without the dot; the first is the usual one.
    pub extensions: &'static [&'static str],
    /// What the first bytes say (16 at most, fewer of a shorter file).
    pub recognise: fn(start: &[u8]) -> Sign,
    /// What a file with the right name lacks where its first bytes say nothing; none where the name is enough.
    pub lacks: Option<&'static str>,
    /// Opens a file of that many bytes.
    pub open: fn(File, u64) -> Result<Opened, Problem>,
    /// Writes one array, if the format can be written.
    pub write: Option<WriteArray>,
    /// Which pictures it holds; none of formats for tensors.
    pub picture: Option<PictureFormat>,
}

/// Writes an array.
pub type WriteArray = fn(&mut dyn Write, &AnyTensor) -> io::Result<()>;

/// What the first bytes of a file say about a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// Only this format starts so.
    Sure,
    /// Files of this format may start so.
    Likely,
    /// The whole file is the beginning of this format's signature.
    CutShort,
    /// Nothing.
    None,
}

/// A file that was opened.
pub enum Opened {
    /// It holds one array without a name.
    Single(Box<dyn Single>),
    /// It holds arrays with names.
    Archive(Box<dyn Archive>),
}

/// An open file with one array.
pub trait Single {
    /// Reads it as the kind asked for, or its own.
    fn read(&mut self, kind: Option<Kind>, limit: MemoryLimit) -> Result<Array, Problem>;
}

/// An open file of named arrays.
pub trait Archive {
    /// Their names, in the file's order.
    fn keys(&self) -> Vec<String>;

    /// How the entries of one lie in the file.
    fn layout(&mut self, key: &str) -> Result<Layout, Problem>;

    /// Reads one as the kind asked for, or its own.
    fn read(&mut self, key: &str, kind: Option<Kind>, limit: MemoryLimit)
    -> Result<Array, Problem>;
}

/// An array in an archive.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub key: String,
    /// How its entries lie in the file, or why it cannot be read.
    pub layout: Result<Layout, Problem>,
}

/// Reads `FILE` or `FILE:KEY`; the key can be left out where there is only one array. The format is told from the
/// file's first bytes, and from its name where they do not say. The tensor is of the kind asked for; without one, of
/// 64-bit numbers, complex where the file has complex ones. It is not yet checked for NaN, order and the like.
pub fn read_tensor(name: &str, kind: Option<Kind>, limit: MemoryLimit) -> Result<Array, FileError> {
    let (path, key) = split_key(name);
    let read = || -> Result<Array, Problem> {
        let found = find(&path)?;
        let format = found.format.name;
        match (found.open()?, key) {
            (Opened::Single(mut file), None) => file.read(kind, limit),
            (Opened::Single(_), Some(key)) => Err(Problem::KeyNotPossible { format, key }),
            (Opened::Archive(mut file), Some(key)) => file.read(&key, kind, limit),
            (Opened::Archive(mut file), None) => match file.keys().as_slice() {
                [only] => file.read(only, kind, limit),
                several => Err(Problem::KeyNeeded(several.to_vec())),
            },
        }
    };
    read().map_err(|p| p.of(&path))
}

/// The arrays in an archive; nothing where the file holds one array without a name.
pub fn list_arrays(path: &Path) -> Result<Vec<Listed>, FileError> {
    match find(path).and_then(Recognised::open).map_err(|p| p.of(path))? {
        Opened::Single(_) => Ok(Vec::new()),
        Opened::Archive(mut file) => {
            let keys = file.keys().into_iter();
            Ok(keys.map(|key| Listed { layout: file.layout(&key), key }).collect())
        }
    }
}

/// Writes a tensor in the format that the file's name asks for, or else as .npy.
pub fn write_tensor(to: &Output, tensor: &AnyTensor) -> Result<(), OutputError> {
    let named = FORMATS.iter().filter(|f| f.names(to.path())).find_map(|f| f.write);
    let write = named.unwrap_or(npy::write);
    to.write(|w| write(w, tensor))
}

/// Writes a tensor as .npy with entries of any type: whole numbers are rounded and cut off at the ends of their range.
pub fn write_npy_as(to: &Output, tensor: &AnyTensor, dtype: Dtype) -> Result<(), OutputError> {
    to.write(|w| npy::write_as(w, tensor, dtype))
}

/// What [`write_npy_as`] writes.
pub fn npy_bytes(tensor: &AnyTensor, dtype: Dtype) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(128 + tensor.len() * dtype.bytes());
    npy::write_as(&mut bytes, tensor, dtype)?;
    Ok(bytes)
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
    let extensions = FORMATS.iter().flat_map(|f| f.extensions);
    let ends = extensions.filter_map(|e| Some(name.find(&format!(".{e}:"))? + 1 + e.len()));
    match ends.min() {
        Some(end) => (PathBuf::from(&name[..end]), Some(name[end + 1..].to_owned())),
        None => (whole, None),
    }
}

/// A file and the format it has.
pub(crate) struct Recognised {
    pub format: &'static Format,
    pub file: File,
    pub length: u64,
}

impl Recognised {
    fn open(self) -> Result<Opened, Problem> {
        (self.format.open)(self.file, self.length)
    }
}

/// Finds out which format a file has.
pub(crate) fn find(path: &Path) -> Result<Recognised, Problem> {
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
    (&mut file).take(START).read_to_end(&mut start)?;
    file.rewind()?;
    let format = recognise(path, &start)?;
    Ok(Recognised { format, file, length })
}

/// The format of a file with this name and these first bytes.
fn recognise(path: &Path, start: &[u8]) -> Result<&'static Format, Problem> {
    let with = |sign: Sign| FORMATS.into_iter().find(|f| (f.recognise)(start) == sign);
    let named = FORMATS.into_iter().find(|f| f.names(path));
    if let Some(format) = with(Sign::Sure) {
        return Ok(format);
    }
    if start.is_empty() {
        return Err(Problem::Truncated("the file is empty".into()));
    }
    if with(Sign::CutShort).is_some() {
        return Err(Problem::Truncated("it ends within its header".into()));
    }
    if let Some(format) = named.filter(|f| f.lacks.is_none()).or_else(|| with(Sign::Likely)) {
        return Ok(format);
    }
    Err(Problem::Format(match named {
        Some(Format { name, lacks: Some(lacks), .. }) => format!("a {name} file: {lacks}"),
        _ => format!("a {} file", names()),
    }))
}

/// The names of all formats: `.npy, .npz, .safetensors, .png or .jpg`.
fn names() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|f| f.name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

impl Format {
    /// Whether a path ends as names of this format do.
    pub(crate) fn names(&self, path: &Path) -> bool {
        let ends = |e: &&str| path.extension().is_some_and(|x| x.eq_ignore_ascii_case(e));
        self.extensions.iter().any(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::tensor::Tensor;

    #[test]
    fn bytes_are_those_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.npy");
        let x: AnyTensor = Tensor::new(vec![2, 2], vec![1.0, -2.6, 300.0, 0.4]).unwrap().into();
        for dtype in [Dtype::F64, Dtype::F32, Dtype::I16, Dtype::U8] {
            write_npy_as(&Output::check(&path).unwrap(), &x, dtype).unwrap();
            assert_eq!(npy_bytes(&x, dtype).unwrap(), std::fs::read(&path).unwrap(), "{dtype:?}");
        }
    }

    #[test]
    fn an_archive_that_is_not_there_is_named_without_its_key() {
        for (name, file, key) in [
            ("/no/X.npz:key", "/no/X.npz", Some("key")),
            ("/no/X.npz:a:b", "/no/X.npz", Some("a:b")),
            ("/no/X.npz:", "/no/X.npz", Some("")),
            ("/no/X.dat:key", "/no/X.dat:key", None),
        ] {
            assert_eq!(split_key(name), (file.into(), key.map(str::to_owned)), "{name}");
        }
    }

    #[test]
    fn formats_are_told_from_the_first_bytes_and_then_the_name() {
        let of = |name: &str, start: &[u8]| {
            recognise(name.as_ref(), start).map(|f| f.name).map_err(|p| p.to_string())
        };
        assert_eq!(of("X.npz", b"\x93NUMPY\x01\0").unwrap(), ".npy");
        assert_eq!(of("X.npy", b"PK\x03\x04").unwrap(), ".npz");
        assert_eq!(of("X", b"\x02\0\0\0\0\0\0\0{}").unwrap(), ".safetensors");
        assert_eq!(of("X.SafeTensors", b"anything").unwrap(), ".safetensors");
        assert_eq!(
            of("X", b"anything").unwrap_err(),
            "not a .npy, .npz, .safetensors, .png or .jpg file"
        );
        assert_eq!(of("X.npz", b"anything").unwrap_err(), "not a .npz file: it is no zip archive");
        assert_eq!(of("X.safetensors", b"").unwrap_err(), "truncated: the file is empty");
        assert_eq!(of("X.txt", b"\x93NUM").unwrap_err(), "truncated: it ends within its header");
    }

    #[test]
    fn every_format_has_a_name_of_its_own() {
        for (k, format) in FORMATS.iter().enumerate() {
            assert_eq!(format.name, format!(".{}", format.extensions[0]));
            let others = FORMATS[..k].iter().flat_map(|f| f.extensions);
            assert!(others.into_iter().all(|e| !format.extensions.contains(e)), "{}", format.name);
        }
    }

    #[test]
    fn every_type_is_written_as_it_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("X.npy");
        let tensor = Tensor::new(vec![2, 3], vec![0.2, 1.0, 2.5, 126.7, 3e9, -7.6]).unwrap();
        let of = |dtype: Dtype| {
            write_npy_as(&Output::check(&path).unwrap(), &tensor.clone().into(), dtype).unwrap();
            let read = read_tensor(path.to_str().unwrap(), None, MemoryLimit::new(None)).unwrap();
            assert_eq!(read.layout.dtype, dtype);
            (0..6).map(|k| read.tensor.entry(k).re).collect::<Vec<_>>()
        };
        assert_eq!(of(Dtype::Bool), [0.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
        assert_eq!(of(Dtype::U8), [0.0, 1.0, 3.0, 127.0, 255.0, 0.0]);
        assert_eq!(of(Dtype::I16), [0.0, 1.0, 3.0, 127.0, 32767.0, -8.0]);
        assert_eq!(of(Dtype::U64), [0.0, 1.0, 3.0, 127.0, 3e9, 0.0]);
        assert_eq!(of(Dtype::F64), tensor.data());
        assert_eq!(of(Dtype::C64)[2..4], [2.5, f64::from(126.7f32)]);
        assert_eq!(of(Dtype::F16)[1..3], [1.0, 2.5]);
    }

    #[test]
    fn tensors_are_written_in_a_format_that_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let tensor = Tensor::new(vec![2, 3], vec![0.1, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let tensor = AnyTensor::from(tensor);
        for name in ["X.npy", "X", "X.safetensors"] {
            let path = dir.path().join(name);
            write_tensor(&Output::check(&path).unwrap(), &tensor).unwrap();
            let read = read_tensor(path.to_str().unwrap(), None, MemoryLimit::new(None)).unwrap();
            assert_eq!(read.tensor, tensor);
        }
    }
}
