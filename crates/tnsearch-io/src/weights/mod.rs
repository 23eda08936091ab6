//! The weights of a model in a safetensors file, one tensor at a time: never the whole file in memory.
//!
//! Numbers of f16, bf16, f32 and f64 are read as the kind of number that is asked for; tensors of any other type are
//! copied byte for byte. Names are kept as they are, and shown without control characters ([`shown`]).

mod header;
mod notes;
mod part;

pub use crate::text::shown;
pub use header::{Entry, header_bytes};
pub use notes::Notes;
pub use part::{PartFile, discard, journal_path, part_path};

use crate::output::{Output, OutputError};
use crate::{Dtype, FileError, Problem};
use half::{bf16, f16};
use sha2::{Digest as _, Sha256};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tnsearch::tensor::{Scalar, Tensor};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 20;
/// The format's own limit on its header.
const MAX_HEADER: u64 = 100_000_000;

/// An open file of weights; only its header is in memory.
#[derive(Debug)]
pub struct WeightsFile {
    path: PathBuf,
    file: File,
    /// In the order of their bytes.
    entries: Vec<Entry>,
    notes: Notes,
    /// Where the entries start.
    start: u64,
    /// The text of its header.
    header: Vec<u8>,
    fingerprint: OnceLock<String>,
}

impl WeightsFile {
    /// Opens a file, and checks that its header describes exactly its data: no bytes that two tensors share, none that
    /// belong to no tensor.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::try_open(path).map_err(|problem| problem.of(path))
    }

    fn try_open(path: &Path) -> Result<Self, Problem> {
        // Opening a pipe would wait for who writes into it: look before.
        match path.metadata() {
            Ok(about) if about.is_dir() => return Err(Problem::NotAFile("a directory")),
            Ok(about) if !about.is_file() => return Err(Problem::NotAFile("a pipe or a device")),
            _ => {}
        }
        let file = File::open(path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Problem::Missing,
            _ => Problem::Io(e),
        })?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(Problem::NotAFile("a pipe or a device"));
        }
        let length = about.len();
        let mut reader = BufReader::new(&file);
        let mut size = [0u8; 8];
        let not_one = || Problem::Format("a safetensors file".into());
        reader.read_exact(&mut size).map_err(|_| not_one())?;
        let size = u64::from_le_bytes(size);
        let mut first = [0u8; 1];
        let begins = reader.read_exact(&mut first).is_ok() && first[0] == b'{';
        if !begins || size == 0 {
            return Err(not_one());
        }
        if size > MAX_HEADER || size + 8 > length {
            return Err(Problem::Truncated("it ends within its header".into()));
        }
        let mut text = vec![0u8; size as usize];
        text[0] = first[0];
        reader.read_exact(&mut text[1..])?;
        let (entries, notes) = header::parse(&text)?;
        header::check(&entries, length - 8 - size)?;
        Ok(WeightsFile {
            path: path.to_owned(),
            file,
            entries,
            notes,
            start: 8 + size,
            header: text,
            fingerprint: OnceLock::new(),
        })
    }

    /// Its tensors, in the order of their bytes.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// What its writer noted.
    pub fn notes(&self) -> &Notes {
        &self.notes
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A hash of all its bytes, read once in a stream: what a resumed run compares. (Bytes that cannot be read are found
    /// when their tensor is.)
    pub fn fingerprint(&self) -> &str {
        self.fingerprint.get_or_init(|| {
            let mut hash = Sha256::new();
            hash.update(&self.header);
            for k in 0..self.entries.len() {
                let read = self.blocks(k, |bytes| {
                    hash.update(bytes);
                    Ok(())
                });
                hash.update([u8::from(read.is_ok())]);
            }
            hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
        })
    }

    /// The place of a tensor.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.entries.iter().position(|entry| entry.name == name)
    }

    /// Hands the bytes of a tensor on, some at a time (whole numbers of at most 16 bytes each).
    fn blocks(&self, k: usize, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let entry = &self.entries[k];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(self.start + entry.start))?;
        let mut left = entry.bytes();
        let mut block = vec![0u8; BLOCK.min(left as usize)];
        while left > 0 {
            let now = (block.len() as u64).min(left) as usize;
            file.read_exact(&mut block[..now])?;
            take(&block[..now])?;
            left -= now as u64;
        }
        Ok(())
    }

    /// The numbers of a tensor.
    pub fn read<T: Scalar>(&self, k: usize) -> Result<Vec<T>, FileError> {
        let entry = &self.entries[k];
        let Some(dtype) = entry.dtype() else {
            return Err(Problem::Dtype(entry.stored.clone()).of(&self.path));
        };
        let mut numbers: Vec<T> = Vec::new();
        let count = entry.count() as usize;
        if numbers.try_reserve_exact(count).is_err() {
            return Err(Problem::NotGiven(count as u128).of(&self.path));
        }
        let read = self.blocks(k, |bytes| {
            dtype.decode(bytes, false, &mut numbers);
            Ok(())
        });
        read.map_err(|e| Problem::Io(e).of(&self.path))?;
        match numbers.iter().position(|x| !x.is_finite()) {
            Some(at) => {
                let name = shown(&entry.name);
                let what = format!("tensor '{name}' has a number that is not finite at {at}");
                Err(Problem::Damaged(what).of(&self.path))
            }
            None => Ok(numbers),
        }
    }

    /// Copies the bytes of a tensor.
    pub fn copy(&self, k: usize, to: &mut dyn Write) -> io::Result<()> {
        self.blocks(k, |bytes| to.write_all(bytes))
    }
}

/// A type that weights can have and be compressed.
pub fn is_float(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::Bf16 | Dtype::F32 | Dtype::F64)
}

/// The bytes of numbers in a type of weights, little-endian, each rounded to the nearest.
///
/// ```
/// use tnsearch_io::{Dtype, weights::encode};
/// let mut bytes = Vec::new();
/// encode(Dtype::Bf16, &[1.0f32], &mut bytes);
/// assert_eq!(bytes, [0x80, 0x3f]);
/// ```
pub fn encode<T: Scalar>(dtype: Dtype, numbers: &[T], out: &mut Vec<u8>) {
    match dtype {
        Dtype::Bf16 => {
            numbers.iter().for_each(|x| out.extend(bf16::from_f64(x.re()).to_le_bytes()))
        }
        other => numbers.iter().for_each(|x| other.encode(x.re(), 0.0, out)),
    }
}

/// The numbers in some bytes of a type of weights, as [`encode`] makes them.
pub fn decode<T: Scalar>(dtype: Dtype, bytes: &[u8]) -> Vec<T> {
    let mut numbers = Vec::with_capacity(bytes.len() / dtype.bytes());
    dtype.decode(bytes, false, &mut numbers);
    numbers
}

/// A number as a type of weights holds it.
pub fn rounded<T: Scalar>(dtype: Dtype, number: T) -> T {
    let re = match dtype {
        Dtype::Bf16 => bf16::from_f64(number.re()).to_f64(),
        Dtype::F16 => f16::from_f64(number.re()).to_f64(),
        Dtype::F32 => f64::from(number.re() as f32),
        _ => return number,
    };
    T::from_parts(re, 0.0)
}

/// Writes some tensors as a file of weights, in this order and type.
pub fn write(
    output: &Output,
    tensors: &[(&str, &Tensor)],
    dtype: Dtype,
) -> Result<(), OutputError> {
    let (mut entries, mut at) = (Vec::new(), 0);
    for (name, tensor) in tensors {
        let (bytes, dims) = ((tensor.len() * dtype.bytes()) as u64, tensor.dims().to_vec());
        entries.push(Entry::new((*name).to_owned(), dtype.stored().to_owned(), dims, at, bytes));
        at += bytes;
    }
    output.write(|w| {
        w.write_all(&header_bytes(&entries, &Notes::new()))?;
        for (_, tensor) in tensors {
            let mut bytes = Vec::with_capacity(tensor.len() * dtype.bytes());
            encode(dtype, tensor.data(), &mut bytes);
            w.write_all(&bytes)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        std::fs::write(&path, bytes).unwrap();
        (dir, path)
    }

    fn with_header(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    fn refusal(header: &str, data: usize) -> String {
        let (_dir, path) = written(&with_header(header, data));
        WeightsFile::open(&path).unwrap_err().problem.to_string()
    }

    #[test]
    fn files_of_the_safetensors_crate_are_read() {
        use safetensors::tensor::{Dtype as Stored, TensorView};
        let halves: Vec<u8> =
            [1.5f32, -2.0, 0.25].iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect();
        let brain: Vec<u8> =
            [3.0f32, -0.5].iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect();
        let whole = [7u8, 255];
        let odd = "\u{7b2c} layer\n\"quoted\"";
        let views = HashMap::from([
            (odd, TensorView::new(Stored::F16, vec![3, 1], &halves).unwrap()),
            ("b", TensorView::new(Stored::BF16, vec![2], &brain).unwrap()),
            ("int8", TensorView::new(Stored::U8, vec![2], &whole).unwrap()),
        ]);
        let notes = HashMap::from([("format".to_owned(), "pt".to_owned())]);
        let (_dir, path) = written(&safetensors::serialize(views, Some(notes)).unwrap());
        let file = WeightsFile::open(&path).unwrap();
        assert_eq!(file.notes().get("format").map(String::as_str), Some("pt"));
        let at = |name: &str| file.find(name).unwrap();
        assert_eq!(file.read::<f64>(at(odd)).unwrap(), [1.5, -2.0, 0.25]);
        assert_eq!(file.read::<f32>(at("b")).unwrap(), [3.0, -0.5]);
        let mut copy = Vec::new();
        file.copy(at("int8"), &mut copy).unwrap();
        assert_eq!(copy, whole);
        assert!(!is_float(file.entries()[at("int8")].dtype().unwrap()));
    }

    #[test]
    fn headers_that_do_not_fit_in_the_file_are_refused_whatever_they_say() {
        let empty = with_header("{}", 0);
        let of = |bytes: &[u8]| {
            let (_dir, path) = written(bytes);
            WeightsFile::open(&path).map(|f| f.entries.len()).map_err(|e| e.problem.to_string())
        };
        assert_eq!(of(&empty), Ok(0), "a header that ends where the file does");
        let ends = Err("truncated: it ends within its header".to_owned());
        for size in [3u64, 1 << 20, MAX_HEADER, MAX_HEADER + 1, u64::MAX] {
            let mut bytes = empty.clone();
            bytes[..8].copy_from_slice(&size.to_le_bytes());
            assert_eq!(of(&bytes), ends, "{size}");
        }
        let said = WeightsFile::open(Path::new("/no/such/file")).unwrap_err().problem.to_string();
        assert_eq!(said, "no such file");
    }

    #[test]
    fn several_tensors_lie_one_behind_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.safetensors");
        let tensors: Vec<Tensor> =
            (1..4).map(|n| Tensor::new(vec![n], vec![n as f64; n]).unwrap()).collect();
        let named: Vec<(&str, &Tensor)> = ["a", "b", "c"].into_iter().zip(&tensors).collect();
        write(&Output::check(&path).unwrap(), &named, Dtype::F64).unwrap();
        let file = WeightsFile::open(&path).unwrap();
        let places: Vec<(u64, u64)> = file.entries.iter().map(|e| (e.start, e.end)).collect();
        assert_eq!(places, [(0, 8), (8, 24), (24, 48)]);
    }

    #[test]
    fn shared_and_scattered_tensors_are_told() {
        let shared = r#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}"#;
        let said = refusal(shared, 16);
        assert!(said.contains("'a' and 'b' share bytes 8 to 16"), "{said}");
        let hole = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[16,24]}}"#;
        let said = refusal(hole, 24);
        assert!(said.contains("bytes 8 to 16 belong to no tensor"), "{said}");
        let strided = r#"{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,24]}}"#;
        let said = refusal(strided, 24);
        assert!(said.contains("'a' of type F32 and shape 2 x 2 has 24 bytes, not 16"), "{said}");
        assert!(said.contains("contiguous"), "{said}");
        let twice = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        assert!(refusal(twice, 8).contains("two tensors are called 'a'"));
        let one = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
        assert!(refusal(one, 3).contains("promises 4 bytes of data, but the file has 3"));
        assert!(refusal(one, 5).contains("there are 5"));
        assert!(
            refusal(r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#, 4)
                .contains("'a'")
        );
        assert!(refusal(r#"{"a":7}"#, 4).contains("'a'"));
        assert!(refusal("{]", 4).contains("bad safetensors header"));
        let (_dir, path) = written(b"PK\x03\x04 what is this");
        let said = WeightsFile::open(&path).unwrap_err().to_string();
        assert!(said.ends_with("not a safetensors file"), "{said}");
        assert!(WeightsFile::open(&path.join("none")).is_err());
    }

    #[test]
    fn what_is_not_finite_is_named() {
        let mut bytes = with_header(r#"{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, 0);
        bytes.extend(1f32.to_le_bytes());
        bytes.extend(f32::NAN.to_le_bytes());
        let (_dir, path) = written(&bytes);
        let said = WeightsFile::open(&path).unwrap().read::<f32>(0).unwrap_err().to_string();
        assert!(said.ends_with("tensor 'w' has a number that is not finite at 1"), "{said}");
    }

    #[test]
    fn any_damage_is_refused_without_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        let none = dir.path().join("none");
        std::fs::write(&none, b"\0\0\0\0\0\0\0\0{}").unwrap();
        assert!(WeightsFile::open(&none).is_err(), "a header of no bytes");
        let bytes = with_header(
            r#"{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#,
            8,
        );
        for length in 0..bytes.len() {
            let (_dir, path) = written(&bytes[..length]);
            assert!(WeightsFile::open(&path).is_err(), "{length}");
        }
        for at in 0..bytes.len() - 8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x15;
            let (_dir, path) = written(&damaged);
            let _ = WeightsFile::open(&path);
        }
    }

    #[test]
    fn numbers_survive_their_own_type() {
        for dtype in [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64] {
            let numbers = [0.1, -3.25, 65000.0].map(|x: f64| rounded(dtype, x));
            let mut bytes = Vec::new();
            encode(dtype, &numbers, &mut bytes);
            assert_eq!(bytes.len(), 3 * dtype.bytes());
            let mut back: Vec<f64> = Vec::new();
            dtype.decode(&bytes, false, &mut back);
            assert_eq!(back, numbers);
        }
    }

    #[test]
    fn weights_are_floats_that_come_back() {
        let floats = [Dtype::F16, Dtype::Bf16, Dtype::F32, Dtype::F64];
        for dtype in floats {
            let mut bytes = Vec::new();
            encode(dtype, &[1.5f64, -2.0, 0.25], &mut bytes);
            assert_eq!(bytes.len(), 3 * dtype.bytes());
            assert_eq!(decode::<f64>(dtype, &bytes), [1.5, -2.0, 0.25], "{dtype:?}");
            assert!(is_float(dtype));
        }
        assert!(![Dtype::U8, Dtype::I64, Dtype::C64].into_iter().any(is_float));
    }

    #[test]
    fn a_file_is_known_by_its_bytes() {
        let header = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
        let of = |change: usize| {
            let mut bytes = with_header(header, 2);
            let end = bytes.len() - 1;
            bytes[end] = change as u8;
            let (_dir, path) = written(&bytes);
            WeightsFile::open(&path).unwrap().fingerprint().to_owned()
        };
        assert_eq!((of(0).len(), of(0)), (64, of(0)));
        assert_ne!(of(0), of(1));
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_directories_are_no_weights() {
        let problem = |path: &str| WeightsFile::open(path.as_ref()).unwrap_err().problem;
        assert!(matches!(problem("/dev/null"), Problem::NotAFile("a pipe or a device")));
        assert!(matches!(problem("/"), Problem::NotAFile("a directory")));
        assert!(matches!(problem("/none/such"), Problem::Missing));
    }
}
