//! The safetensors format: a JSON header, then the entries of all arrays.

use crate::registry::{Archive, Format, Opened, Sign};
use crate::{Array, Dtype, Layout, MemoryLimit, Problem};
use safetensors::tensor::{Dtype as Stored, Metadata, TensorInfo};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use tnsearch::tensor::Kind;

/// The format.
pub static FORMAT: Format = Format {
    name: ".safetensors",
    extensions: &["safetensors"],
    // The length of the header, then the header, which is JSON.
    recognise: |start| if start.get(8) == Some(&b'{') { Sign::Likely } else { Sign::None },
    lacks: None,
    open: |file, length| Ok(Opened::Archive(Box::new(SafetensorsFile::open(file, length)?))),
    write: None,
    picture: None,
};

/// The format's own limit on its header.
const MAX_HEADER: u64 = 100_000_000;

/// The start of a file with this header: its length, and the header filled with blanks so that the entries start at a
/// multiple of 8 bytes.
pub(crate) fn framed(header: String) -> Vec<u8> {
    let length = header.len().next_multiple_of(8);
    let mut bytes = (length as u64).to_le_bytes().to_vec();
    bytes.extend(header.into_bytes());
    bytes.resize(8 + length, b' ');
    bytes
}

/// An open safetensors file; only its header is in memory.
pub(crate) struct SafetensorsFile {
    file: BufReader<File>,
    header: Metadata,
    /// Where the entries start.
    start: u64,
}

impl SafetensorsFile {
    /// Opens a file of `length` bytes and checks that its header describes exactly its data.
    pub fn open(file: File, length: u64) -> Result<Self, Problem> {
        let mut file = BufReader::new(file);
        let within = || Problem::Truncated("it ends within its header".into());
        let mut n = [0u8; 8];
        file.read_exact(&mut n).map_err(|_| within())?;
        let n = u64::from_le_bytes(n);
        if n > MAX_HEADER || n + 8 > length {
            return Err(within());
        }
        let mut header = vec![0u8; n as usize];
        file.read_exact(&mut header)?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|e| Problem::Damaged(format!("bad safetensors header: {e}")))?;
        let (promised, found) = (header.data_len() as u128, length - 8 - n);
        if promised > u128::from(found) {
            return Err(Problem::Truncated(format!(
                "the header promises {promised} bytes of data, but the file has {found}"
            )));
        }
        if promised < u128::from(found) {
            return Err(Problem::TooLong { promised, found });
        }
        Ok(SafetensorsFile { file, header, start: 8 + n })
    }

    /// What the writer noted.
    pub fn notes(&self) -> HashMap<String, String> {
        self.header.metadata().clone().unwrap_or_default()
    }

    fn info(&self, key: &str) -> Result<&TensorInfo, Problem> {
        let unknown = || Problem::UnknownKey { key: key.to_owned(), have: self.keys() };
        self.header.info(key).ok_or_else(unknown)
    }
}

impl Archive for SafetensorsFile {
    fn keys(&self) -> Vec<String> {
        self.header.offset_keys()
    }

    fn layout(&mut self, key: &str) -> Result<Layout, Problem> {
        let info = self.info(key)?;
        let dtype = match info.dtype {
            Stored::BOOL => Dtype::Bool,
            Stored::I8 => Dtype::I8,
            Stored::I16 => Dtype::I16,
            Stored::I32 => Dtype::I32,
            Stored::I64 => Dtype::I64,
            Stored::U8 => Dtype::U8,
            Stored::U16 => Dtype::U16,
            Stored::U32 => Dtype::U32,
            Stored::U64 => Dtype::U64,
            Stored::F16 => Dtype::F16,
            Stored::BF16 => Dtype::Bf16,
            Stored::F32 => Dtype::F32,
            Stored::F64 => Dtype::F64,
            Stored::C64 => Dtype::C64,
            other => return Err(Problem::Dtype(format!("{other:?}"))),
        };
        Ok(Layout { dims: info.shape.clone(), dtype, big_endian: false, fortran: false })
    }

    fn read(
        &mut self,
        key: &str,
        kind: Option<Kind>,
        limit: MemoryLimit,
    ) -> Result<Array, Problem> {
        let layout = self.layout(key)?;
        let (from, to) = self.info(key)?.data_offsets;
        layout.check_length((to - from) as u64)?;
        self.file.seek(SeekFrom::Start(self.start + from as u64))?;
        layout.read(&mut self.file, kind, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_as_much_as_its_header_says() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.safetensors");
        let header = r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;
        let said = |promised: usize, data: usize| {
            let mut bytes = (promised as u64).to_le_bytes().to_vec();
            bytes.extend(header.as_bytes());
            bytes.resize(bytes.len() + data, 0);
            std::fs::write(&path, &bytes).unwrap();
            let made = SafetensorsFile::open(File::open(&path).unwrap(), bytes.len() as u64);
            made.map(|file| file.start).map_err(|e| e.to_string())
        };
        let own = header.len();
        assert_eq!(said(own, 2), Ok(8 + own as u64));
        let within = Err("truncated: it ends within its header".to_owned());
        assert_eq!((said(own + 1, 0), said(usize::MAX / 2, 0)), (within.clone(), within));
        let short = "truncated: the header promises 2 bytes of data, but the file has 1";
        assert_eq!(said(own, 1), Err(short.to_owned()));
        assert!(said(own, 3).is_err_and(|e| !e.starts_with("truncated")));
    }
}
