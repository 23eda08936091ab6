//! The .npy format, versions 1.0 to 3.0 (numpy's NEP 1).

use crate::entries::write_entries;
use crate::literal::Literal;
use crate::registry::{Format, Opened, Sign, Single};
use crate::{Array, Dtype, Layout, MemoryLimit, Problem};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use tnsearch::dispatch;
use tnsearch::tensor::{AnyTensor, Kind, Scalar};

/// The format.
pub static FORMAT: Format = Format {
    name: ".npy",
    extensions: &["npy"],
    recognise,
    lacks: Some(SIGNATURE),
    open: |file, length| Ok(Opened::Single(Box::new(Npy { file, length }))),
    write: Some(write),
    picture: None,
};

/// The first bytes of every .npy file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// What is wrong where they are not there.
const SIGNATURE: &str = "it does not start with numpy's signature";

/// Longer headers are no headers of arrays of numbers.
const MAX_HEADER: u64 = 16 << 20;

fn recognise(start: &[u8]) -> Sign {
    match start {
        _ if start.starts_with(MAGIC) => Sign::Sure,
        _ if !start.is_empty() && MAGIC.starts_with(start) => Sign::CutShort,
        _ => Sign::None,
    }
}

struct Npy {
    file: File,
    length: u64,
}

impl Single for Npy {
    fn read(&mut self, kind: Option<Kind>, limit: MemoryLimit) -> Result<Array, Problem> {
        let mut file = BufReader::with_capacity(1 << 16, &self.file);
        read_header(&mut file, self.length)?.read(&mut file, kind, limit)
    }
}

/// Reads the header of an array that has `length` bytes in all, and leaves `from` at its first
/// entry. The array's length has been checked against `length`.
pub fn read_header(from: &mut (impl Read + ?Sized), length: u64) -> Result<Layout, Problem> {
    let mut start = [0u8; 8];
    exact(from, &mut start)?;
    if &start[..6] != MAGIC {
        return Err(Problem::Format(format!("a .npy file: {SIGNATURE}")));
    }
    let (header_length, used) = match (start[6], start[7]) {
        (1, _) => {
            let mut n = [0u8; 2];
            exact(from, &mut n)?;
            (u64::from(u16::from_le_bytes(n)), 10)
        }
        (2 | 3, _) => {
            let mut n = [0u8; 4];
            exact(from, &mut n)?;
            (u64::from(u32::from_le_bytes(n)), 12)
        }
        (major, minor) => {
            return Err(Problem::Damaged(format!(
                "npy format version {major}.{minor} is not known; versions 1.0 to 3.0 are"
            )));
        }
    };
    if header_length > MAX_HEADER || header_length + used > length {
        return Err(Problem::Truncated(format!(
            "its header should have {header_length} bytes, but the file has {length} in all"
        )));
    }
    let mut header = vec![0u8; header_length as usize];
    exact(from, &mut header)?;
    // Versions 1 and 2 are Latin-1; names beyond ASCII occur only in structured types.
    let layout = parse_header(&String::from_utf8_lossy(&header))?;
    layout.check_length(length - used - header_length)?;
    Ok(layout)
}

fn exact(from: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> Result<(), Problem> {
    from.read_exact(buffer).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => Problem::Truncated("it ends within its header".into()),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Problem::Damaged(e.to_string()),
        _ => Problem::Io(e),
    })
}

fn parse_header(text: &str) -> Result<Layout, Problem> {
    let bad = |what: &str| Problem::Damaged(format!("its npy header {what}"));
    let dict = Literal::parse(text).ok_or_else(|| bad("cannot be read"))?;
    let (dtype, big_endian) = match dict.get("descr") {
        Some(Literal::Text(descr)) => parse_descr(descr)?,
        Some(Literal::Sequence(fields)) => {
            return Err(Problem::Dtype(format!("'structured' ({} fields)", fields.len())));
        }
        _ => return Err(bad("has no type of entries ('descr')")),
    };
    let Some(Literal::Bool(fortran)) = dict.get("fortran_order") else {
        return Err(bad("does not say the order of entries ('fortran_order')"));
    };
    let Some(Literal::Sequence(shape)) = dict.get("shape") else {
        return Err(bad("has no shape"));
    };
    let dims = shape.iter().map(|d| match d {
        Literal::Int(d) => usize::try_from(*d).ok(),
        _ => None,
    });
    let dims = dims.collect::<Option<Vec<_>>>().ok_or_else(|| bad("has a bad shape"))?;
    Ok(Layout { dims, dtype, big_endian, fortran: *fortran })
}

/// A numpy type string such as `<f8`: the type, and whether it is big-endian.
fn parse_descr(descr: &str) -> Result<(Dtype, bool), Problem> {
    let unknown = || Problem::Dtype(format!("'{descr}'"));
    let (big_endian, kind) = match descr.split_at_checked(1).ok_or_else(unknown)? {
        ("<" | "|", kind) => (false, kind),
        (">", kind) => (true, kind),
        ("=", kind) => (cfg!(target_endian = "big"), kind),
        _ => (cfg!(target_endian = "big"), descr),
    };
    let dtype = match kind {
        // With numpy's letters for the same, such as `f` for `f4`.
        "b1" | "?" => Dtype::Bool,
        "i1" | "b" => Dtype::I8,
        "i2" | "h" => Dtype::I16,
        "i4" | "i" => Dtype::I32,
        "i8" | "q" => Dtype::I64,
        "u1" | "B" => Dtype::U8,
        "u2" | "H" => Dtype::U16,
        "u4" | "I" => Dtype::U32,
        "u8" | "Q" => Dtype::U64,
        "f2" | "e" => Dtype::F16,
        "f4" | "f" => Dtype::F32,
        "f8" | "d" => Dtype::F64,
        "c8" | "F" => Dtype::C64,
        "c16" | "D" => Dtype::C128,
        _ => {
            let what = match kind.split_at_checked(1).unwrap_or_default() {
                ("O", _) => " (pickled Python objects)",
                ("U" | "S" | "a", _) => " (text)",
                ("c", "20" | "24" | "32") => " (complex long double)",
                ("f", "10" | "12" | "16") => " (long double)",
                ("M" | "m", _) => " (dates)",
                ("V", _) => " (raw bytes)",
                _ => "",
            };
            return Err(Problem::Dtype(format!("'{descr}'{what}")));
        }
    };
    Ok((dtype, big_endian))
}

/// Writes a tensor, row-major, little-endian (format version 1.0), as `<f4`, `<f8`, `<c8` or `<c16`.
pub fn write(to: &mut dyn Write, tensor: &AnyTensor) -> io::Result<()> {
    let dtype = match tensor.kind() {
        Kind::F32 => Dtype::F32,
        Kind::F64 => Dtype::F64,
        Kind::C32 => Dtype::C64,
        Kind::C64 => Dtype::C128,
    };
    write_header(to, tensor.dims(), dtype)?;
    dispatch!(tensor, tensor => write_entries(to, tensor.data()))
}

/// The same with entries of any type: whole numbers are rounded.
pub fn write_as(to: &mut dyn Write, tensor: &AnyTensor, dtype: Dtype) -> io::Result<()> {
    write_header(to, tensor.dims(), dtype)?;
    let mut bytes = Vec::new();
    dispatch!(tensor, tensor => for chunk in tensor.data().chunks(8192) {
        bytes.clear();
        chunk.iter().for_each(|x| dtype.encode(x.re(), x.im(), &mut bytes));
        to.write_all(&bytes)?;
    });
    Ok(())
}

fn write_header(to: &mut dyn Write, dims: &[usize], dtype: Dtype) -> io::Result<()> {
    let shape = match dims {
        [d] => format!("({d},)"),
        _ => format!("({})", dims.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let order = if dtype.bytes() == 1 { '|' } else { '<' };
    let descr = format!("{order}{}", dtype.npy_name());
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // The entries start at a multiple of 64 bytes; the header ends with a newline.
    let padding = 63 - (10 + header.len()) % 64;
    header.extend(std::iter::repeat_n(' ', padding));
    header.push('\n');
    let length = u16::try_from(header.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many dimensions"))?;
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(header.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_wrong_while_a_header_is_read_is_told_apart() {
        struct Failing(io::ErrorKind);
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(self.0.into())
            }
        }
        let problem = |kind| exact(&mut Failing(kind), &mut [0]).unwrap_err();
        assert!(matches!(problem(io::ErrorKind::UnexpectedEof), Problem::Truncated(_)));
        assert!(matches!(problem(io::ErrorKind::InvalidData), Problem::Damaged(_)));
        assert!(matches!(problem(io::ErrorKind::InvalidInput), Problem::Damaged(_)));
        assert!(matches!(problem(io::ErrorKind::PermissionDenied), Problem::Io(_)));
    }

    #[test]
    fn a_header_ends_before_the_file_does() {
        let whole = crate::tests::npy_bytes(1, "<f8", false, "(0,)", &[]);
        let said = |length: usize| {
            let found = read_header(&mut &whole[..length], length as u64);
            found.map(|layout| layout.dims).map_err(|e| e.to_string())
        };
        let (all, header) = (whole.len(), whole.len() - 10);
        assert_eq!(said(all), Ok(vec![0]));
        let short = format!(
            "truncated: its header should have {header} bytes, but the file has {} in all",
            all - 1
        );
        assert_eq!(said(all - 1), Err(short));
        // The order of the bytes of one is none.
        for (dtype, name) in [(Dtype::U8, "'|u1'"), (Dtype::I8, "'|i1'"), (Dtype::F64, "'<f8'")] {
            let mut bytes = Vec::new();
            write_header(&mut bytes, &[2, 3], dtype).unwrap();
            assert!(String::from_utf8_lossy(&bytes).contains(name), "{name}");
            assert_eq!(bytes.len() % 64, 0);
            bytes.clear();
            write_header(&mut bytes, &[7], dtype).unwrap();
            assert!(String::from_utf8_lossy(&bytes).contains("'shape': (7,), "));
        }
    }

    #[test]
    fn types_are_those_of_numpy() {
        let of = |descr: &str| parse_descr(descr).map_err(|e| e.to_string());
        let native = cfg!(target_endian = "big");
        assert_eq!(of("<f8").unwrap(), (Dtype::F64, false));
        assert_eq!(of(">i4").unwrap(), (Dtype::I32, true));
        assert_eq!(
            (of("=u2").unwrap(), of("d").unwrap()),
            ((Dtype::U16, native), (Dtype::F64, native))
        );
        for (descr, what) in [
            ("|O", "pickled Python objects"),
            ("<U3", "text"),
            ("<c32", "complex long double"),
            ("<f16", "long double"),
            ("<M8[ns]", "dates"),
            ("|V8", "raw bytes"),
        ] {
            assert!(of(descr).unwrap_err().contains(&format!("'{descr}' ({what})")), "{descr}");
        }
        assert!(of("").is_err() && of("<x4").unwrap_err().contains("'<x4'"));
    }
}
