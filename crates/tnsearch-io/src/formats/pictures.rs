//! PNG and JPEG as tensors: H x W or H x W x 3, samples from 0 to 1.

use crate::picture::{Picture, PictureFormat, decode};
use crate::registry::{Format, Opened, Sign, Single};
use crate::{Array, Layout, MemoryLimit, Problem};
use std::fs::File;
use std::io;
use tnsearch::tensor::{AnyTensor, Kind};

/// PNG.
pub static PNG: Format = Format {
    name: ".png",
    extensions: &["png"],
    recognise: |start| starts(start, b"\x89PNG\r\n\x1a\n"),
    lacks: Some("it does not start with PNG's signature"),
    open: |file, length| Ok(open(file, length, PictureFormat::Png)),
    write: Some(|to, tensor| picture(tensor)?.encode(to, PictureFormat::Png)),
    picture: Some(PictureFormat::Png),
};

/// JPEG.
pub static JPEG: Format = Format {
    name: ".jpg",
    extensions: &["jpg", "jpeg"],
    recognise: |start| starts(start, b"\xff\xd8\xff"),
    lacks: Some("it does not start with JPEG's signature"),
    open: |file, length| Ok(open(file, length, PictureFormat::Jpeg)),
    write: Some(|to, tensor| picture(tensor)?.encode(to, PictureFormat::Jpeg)),
    picture: Some(PictureFormat::Jpeg),
};

fn starts(start: &[u8], signature: &[u8]) -> Sign {
    match start {
        _ if start.starts_with(signature) => Sign::Sure,
        _ if !start.is_empty() && signature.starts_with(start) => Sign::CutShort,
        _ => Sign::None,
    }
}

fn open(file: File, length: u64, format: PictureFormat) -> Opened {
    Opened::Single(Box::new(PictureFile { file, length, format }))
}

fn picture(tensor: &AnyTensor) -> io::Result<Picture> {
    Picture::from_tensor(tensor).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))
}

struct PictureFile {
    file: File,
    length: u64,
    format: PictureFormat,
}

impl Single for PictureFile {
    fn read(&mut self, kind: Option<Kind>, limit: MemoryLimit) -> Result<Array, Problem> {
        let picture = decode(&self.file, self.length, self.format, limit)?;
        let (dims, dtype) = (picture.dims(), picture.dtype());
        let kind = kind.unwrap_or(Kind::F64);
        if kind != Kind::F64 {
            // The samples, and the numbers they become.
            let entries = picture.samples().len() as u128;
            limit.check_bytes(entries, entries * (8 + kind.bytes() as u128))?;
        }
        let layout = Layout { dims, dtype, big_endian: false, fortran: false };
        let tensor = AnyTensor::from(picture.into_tensor());
        Ok(Array { layout, tensor: tensor.to_kind(kind)?, rounded: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_there_cut_short_or_missing() {
        let of = |start: &[u8]| starts(start, b"\xff\xd8\xff");
        assert_eq!([of(b"\xff\xd8\xff\xe0"), of(b"\xff\xd8\xff")], [Sign::Sure; 2]);
        assert_eq!([of(b"\xff\xd8"), of(b"\xff")], [Sign::CutShort; 2]);
        assert_eq!([of(b""), of(b"\xff\xd9"), of(b"x")], [Sign::None; 3]);
    }

    #[test]
    fn other_kinds_of_numbers_take_more_memory() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.png");
        let grey = Picture::new(5, 6, 1, vec![0.5; 30]).unwrap();
        std::fs::write(&path, grey.to_png().unwrap()).unwrap();
        // 8 bytes for each number and 1 for each sample, or 8 and those of the kind.
        for (kind, each) in [(Kind::F64, 9), (Kind::F32, 12), (Kind::C32, 16), (Kind::C64, 24)] {
            let read = |bytes: u64| {
                let (file, format) = (File::open(&path).unwrap(), PictureFormat::Png);
                let length = file.metadata().unwrap().len();
                let mut file = PictureFile { file, length, format };
                file.read(Some(kind), MemoryLimit::new(Some(bytes)))
            };
            assert_eq!(read(30 * each).unwrap().tensor.kind(), kind);
            assert!(read(30 * each - 1).is_err(), "{kind}");
        }
    }
}
