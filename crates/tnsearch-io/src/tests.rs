//! Files made byte by byte, read back, cut short and damaged.

use super::*;
use crate::formats::npy;
use rand::{Rng, RngExt};
use std::io::Write;
use tempfile::TempDir;
use tnsearch::tensor::{AnyTensor, Complex, Kind, Tensor};

/// A real tensor.
#[derive(Debug)]
struct Loaded {
    tensor: Tensor,
}

/// Reads a real tensor as it is by default.
fn read_tensor(name: &str, limit: MemoryLimit) -> Result<Loaded, FileError> {
    let tensor = super::read_tensor(name, None, limit)?.tensor;
    Ok(Loaded { tensor: tensor.into_f64().expect("64-bit real numbers by default") })
}

fn limit() -> MemoryLimit {
    MemoryLimit::new(None)
}

/// A .npy file of a given version, type string, order, shape and bytes.
pub(crate) fn npy_bytes(
    version: u8,
    descr: &str,
    fortran: bool,
    shape: &str,
    data: &[u8],
) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let descr = if descr.starts_with('[') { descr.to_owned() } else { format!("'{descr}'") };
    let header =
        format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}     \n");
    let mut bytes = npy::MAGIC.to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn doubles(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn in_file(dir: &TempDir, name: &str, bytes: &[u8]) -> String {
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn read(bytes: &[u8]) -> Result<Loaded, FileError> {
    let dir = tempfile::tempdir().unwrap();
    read_tensor(&in_file(&dir, "X.npy", bytes), limit())
}

fn error(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().problem.to_string()
}

fn npz_bytes(arrays: &[(&str, Vec<u8>)], deflate: bool) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let method = match deflate {
        true => zip::CompressionMethod::Deflated,
        false => zip::CompressionMethod::Stored,
    };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in arrays {
        writer.start_file(format!("{name}.npy"), options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn safetensors_bytes(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn every_type_in_both_byte_orders() {
    macro_rules! check {
        ($($descr:literal: $t:ty = [$($v:expr),*]);* $(;)?) => {$({
            let values: Vec<$t> = vec![$($v),*];
            let expected: Vec<f64> = values.iter().map(|&v| v.to_string().parse().unwrap()).collect();
            let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
            for (mark, data) in [("<", little), (">", big)] {
                for version in 1..=3 {
                    let descr = format!("{mark}{}", $descr);
                    let file = npy_bytes(version, &descr, false, "(2, 2)", &data);
                    assert_eq!(read(&file).unwrap().tensor.data(), expected, "{descr}");
                }
            }
        })*};
    }
    check! {
        "i1": i8 = [-128, 0, 1, 127];
        "i2": i16 = [-32768, 0, 258, 32767];
        "i4": i32 = [i32::MIN, 0, 16909060, i32::MAX];
        "i8": i64 = [-(1 << 53), 0, 72623859790382856, 1 << 53];
        "u1": u8 = [0, 1, 128, 255];
        "u2": u16 = [0, 258, 32768, 65535];
        "u4": u32 = [0, 1, 16909060, u32::MAX];
        "u8": u64 = [0, 1, 1 << 53, 1 << 63];
        "f8": f64 = [-1.5, 0.1, 1e300, 5e-324];
    }
    // Decimal text of an f32 is not its exact value as a double.
    let data: Vec<u8> = [0.1f32, -2.5, 1e30, 3.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    let loaded = read(&npy_bytes(1, ">f4", false, "(4, 1)", &data)).unwrap();
    assert_eq!(loaded.tensor.data(), [f64::from(0.1f32), -2.5, f64::from(1e30f32), 3.0]);
    let halves = [0xbe00u16, 0x0001, 0x7bff, 0x3c00];
    let data: Vec<u8> = halves.iter().flat_map(|v| v.to_be_bytes()).collect();
    let loaded = read(&npy_bytes(1, ">f2", false, "(2, 2)", &data)).unwrap();
    assert_eq!(loaded.tensor.data(), [-1.5, 2f64.powi(-24), 65504.0, 1.0]);
    let loaded = read(&npy_bytes(1, "|b1", false, "(2, 2)", &[0, 1, 2, 0])).unwrap();
    assert_eq!(loaded.tensor.data(), [0., 1., 1., 0.]);
}

#[test]
fn complex_numbers_in_both_byte_orders_and_both_orders_of_entries() {
    let dir = tempfile::tempdir().unwrap();
    let values: Vec<Complex<f64>> =
        (0..6).map(|k| Complex::new(0.1 * f64::from(k), 1.5 - f64::from(k))).collect();
    let at = |name: &str, kind| super::read_tensor(name, kind, limit());
    for big in [false, true] {
        let (mark, turn) = (if big { ">" } else { "<" }, |b: &mut [u8]| b.reverse());
        let bytes = |single: bool| -> Vec<u8> {
            let parts = values.iter().flat_map(|v| [v.re, v.im]);
            let part = |x: f64| {
                let mut b = match single {
                    true => (x as f32).to_le_bytes().to_vec(),
                    false => x.to_le_bytes().to_vec(),
                };
                if big {
                    turn(&mut b);
                }
                b
            };
            parts.flat_map(part).collect()
        };
        let c16 = npy_bytes(1, &format!("{mark}c16"), false, "(2, 3)", &bytes(false));
        let path = in_file(&dir, "X.npy", &c16);
        let read = at(&path, None).unwrap();
        assert_eq!((read.layout.dtype.name(), read.tensor.kind()), ("complex128", Kind::C64));
        assert_eq!(read.tensor.typed::<Complex<f64>>().unwrap().data(), values);
        // Fortran order: the first index runs fastest.
        let turned = npy_bytes(1, &format!("{mark}c16"), true, "(3, 2)", &bytes(false));
        let turned = at(&in_file(&dir, "F.npy", &turned), None).unwrap().tensor;
        assert_eq!(turned.permuted(&[1, 0]), read.tensor);
        let c8 = npy_bytes(1, &format!("{mark}c8"), false, "(2, 3)", &bytes(true));
        let single = at(&in_file(&dir, "S.npy", &c8), Some(Kind::C32)).unwrap().tensor;
        assert_eq!(single, read.tensor.clone().to_kind(Kind::C32).unwrap());
        // In an archive too.
        let npz = in_file(&dir, "X.npz", &npz_bytes(&[("x", c16)], true));
        assert_eq!(at(&format!("{npz}:x"), None).unwrap().tensor, read.tensor);
    }
    let refused = at(
        &in_file(&dir, "X.npy", &{
            let mut file = Vec::new();
            npy::write(&mut file, &Tensor::new(vec![2, 3], values.clone()).unwrap().into())
                .unwrap();
            file
        }),
        Some(Kind::F64),
    );
    let text = refused.unwrap_err().problem.to_string();
    assert_eq!(
        text,
        "the entry at index [0, 0] is 0+1.5i; complex numbers cannot be made real, use complex128"
    );
}

#[test]
fn every_kind_is_written_and_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let values: Vec<f64> = (0..12).map(|k| f64::from(k) / 7.0).collect();
    let real = AnyTensor::from(Tensor::new(vec![3, 4], values).unwrap());
    for kind in Kind::ALL {
        let tensor = real.clone().to_kind(kind).unwrap();
        let mut file = Vec::new();
        npy::write(&mut file, &tensor).unwrap();
        let path = in_file(&dir, "K.npy", &file);
        assert_eq!(super::read_tensor(&path, Some(kind), limit()).unwrap().tensor, tensor);
        // Complex numbers without imaginary parts are real ones.
        let back = super::read_tensor(&path, Some(Kind::F64), limit()).unwrap().tensor;
        assert_eq!(back, tensor.to_kind(Kind::F64).unwrap());
        // What they need is counted in their own bytes.
        let scarce = super::read_tensor(
            &path,
            Some(kind),
            MemoryLimit::new(Some(12 * kind.bytes() as u64 - 1)),
        );
        assert!(matches!(scarce.unwrap_err().problem, Problem::Memory { .. }), "{kind}");
    }
}

#[test]
fn fortran_order_gives_the_same_tensor() {
    let (a, b, c) = (2, 3, 4);
    let value = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f64;
    let mut data = Vec::new();
    for k in 0..c {
        for j in 0..b {
            for i in 0..a {
                data.push(value(i, j, k));
            }
        }
    }
    let tensor = read(&npy_bytes(1, "<f8", true, "(2, 3, 4)", &doubles(&data))).unwrap().tensor;
    for i in 0..a {
        for j in 0..b {
            for k in 0..c {
                assert_eq!(tensor.at(&[i, j, k]), value(i, j, k));
            }
        }
    }
}

#[test]
fn large_arrays_cross_the_buffer() {
    let (rows, columns) = (211, 97);
    let values: Vec<f64> = (0..rows * columns).map(|i| i as f64 / 7.0).collect();
    let mut file = Vec::new();
    let tensor = Tensor::new(vec![rows, columns], values.clone()).unwrap();
    npy::write(&mut file, &tensor.into()).unwrap();
    assert_eq!(file.len() % 64, (8 * values.len()) % 64, "entries start at a multiple of 64");
    assert_eq!(read(&file).unwrap().tensor.data(), values);
    let file = npy_bytes(2, "<f8", true, "(97, 211)", &doubles(&values));
    let turned = read(&file).unwrap().tensor.permuted(&[1, 0]);
    assert_eq!(turned.data(), values);
}

#[test]
fn bad_npy_files_get_one_clear_line() {
    let npy = |descr: &str, shape: &str| npy_bytes(1, descr, false, shape, &[0; 48]);
    assert!(error(b"hello, world").starts_with("not a .npy file"));
    assert!(error(b"").starts_with("truncated"));
    assert!(
        error(&npy("|O", "(2, 3)")).contains("'|O' (pickled Python objects) are not supported")
    );
    assert!(error(&npy("[('a', '<f8'), ('b', '<i4')]", "(2, 3)")).contains("structured"));
    assert!(error(&npy("<U3", "(2, 3)")).contains("(text)"));
    assert!(error(&npy("<c32", "(2, 3)")).contains("(complex long double)"));
    assert!(error(&npy("<f16", "(2, 3)")).contains("(long double)"));
    assert!(error(&npy("g", "(2, 3)")).contains("entries of type 'g' are not supported"));
    assert!(error(&npy("|V8", "(2, 3)")).contains("(raw bytes)"));
    assert!(error(&npy("<f8", "(2, 2)")).starts_with("damaged: the header promises 32 bytes"));
    assert!(error(&npy("<f8", "(-2, 3)")).starts_with("damaged: its npy header"));
    assert!(error(&npy("<f8", "6")).starts_with("damaged: its npy header has no shape"));
    let twice = npy("<f8", "(9, 9), 'shape': (2, 3)");
    assert_eq!(read(&twice).unwrap_or_else(|e| panic!("{e}")).tensor.dims(), [2, 3], "as numpy");
    let huge = error(&npy("<f8", "(1000, 1000, 1000)"));
    assert!(huge.contains("truncated: the header promises 1000000000 entries"), "{huge}");
    let overflow = error(&npy("<f8", &format!("({0}, {0}, {0})", u64::MAX)));
    assert!(overflow.starts_with("truncated"), "{overflow}");
    let mut version = npy("<f8", "(2, 3)");
    version[6] = 9;
    assert!(error(&version).contains("version 9.0 is not known"));
}

#[test]
fn what_does_not_fit_is_refused_with_a_figure() {
    let dir = tempfile::tempdir().unwrap();
    let path = in_file(&dir, "X.npy", &npy_bytes(1, "|u1", false, "(1000, 1000000)", &[]));
    // A sparse file: 1 GB long, nothing on the disk.
    let file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() + 1_000_000_000).unwrap();
    let problem = read_tensor(&path, MemoryLimit::new(Some(3_000_000_000))).unwrap_err().problem;
    assert_eq!(
        problem.to_string(),
        "its 1000000000 entries need 8.00 GB of memory as 64-bit numbers, but only 3.00 GB is \
         allowed by --max-memory"
    );
}

#[test]
fn missing_files_and_directories() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let text = |name: &str| read_tensor(name, limit()).unwrap_err().to_string();
    assert_eq!(text(path), format!("{path}: it is a directory, not a file"));
    assert_eq!(text(&format!("{path}/X.npy")), format!("{path}/X.npy: no such file"));
    assert_eq!(text(&format!("{path}/X.npz:key")), format!("{path}/X.npz: no such file"));
    assert_eq!(text("/dev/zero"), "/dev/zero: it is a pipe or a device, not a file");
}

#[test]
fn archives_and_their_keys() {
    let dir = tempfile::tempdir().unwrap();
    let array = |x: f64| npy_bytes(1, "<f8", false, "(1, 2)", &doubles(&[x, 1.0]));
    for deflate in [false, true] {
        let bytes = npz_bytes(&[("first", array(5.0)), ("b:c", array(6.0))], deflate);
        let path = in_file(&dir, "a:b.npz", &bytes);
        let first =
            |key: &str| read_tensor(&format!("{path}{key}"), limit()).map(|l| l.tensor.data()[0]);
        assert_eq!(first(":first").unwrap(), 5.0);
        assert_eq!(first(":first.npy").unwrap(), 5.0);
        assert_eq!(first(":b:c").unwrap(), 6.0);
        let text = first("").unwrap_err().problem.to_string();
        assert_eq!(text, "name one of its arrays as FILE:KEY; it has 'first', 'b:c'");
        let text = first(":none").unwrap_err().problem.to_string();
        assert_eq!(text, "there is no array 'none' in it; it has 'first', 'b:c'");
    }
    let one = in_file(&dir, "one.npz", &npz_bytes(&[("x", array(7.0))], true));
    assert_eq!(read_tensor(&one, limit()).unwrap().tensor.data(), [7.0, 1.0]);
    let none = in_file(&dir, "none.npz", &npz_bytes(&[], true));
    assert!(read_tensor(&none, limit()).unwrap_err().to_string().ends_with("it has no arrays"));
    let npy = in_file(&dir, "X.npy", &array(8.0));
    let text = read_tensor(&format!("{npy}:x"), limit()).unwrap_err().problem.to_string();
    assert_eq!(text, "a .npy file holds one array without a name; leave out ':x'");
}

#[test]
fn safetensors_files() {
    let dir = tempfile::tempdir().unwrap();
    let header = r#"{"__metadata__":{"note":"x"},
        "h":{"dtype":"BF16","shape":[2,1],"data_offsets":[0,4]},
        "d":{"dtype":"F64","shape":[1,2],"data_offsets":[4,20]},
        "e":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[20,21]}}"#;
    let mut data: Vec<u8> =
        [1.5, -2.0].iter().flat_map(|&v| half::bf16::from_f64(v).to_le_bytes()).collect();
    data.extend(doubles(&[0.1, 0.2]));
    data.push(0);
    let path = in_file(&dir, "m.safetensors", &safetensors_bytes(header, &data));
    let get = |key: &str| read_tensor(&format!("{path}{key}"), limit()).map(|l| l.tensor);
    assert_eq!(get(":h").unwrap().data(), [1.5, -2.0]);
    assert_eq!(get(":d").unwrap().data(), [0.1, 0.2]);
    assert!(get(":e").unwrap_err().problem.to_string().contains("F8_E4M3"));
    assert!(get(":f").unwrap_err().problem.to_string().ends_with("it has 'h', 'd', 'e'"));
    assert!(get("").unwrap_err().problem.to_string().contains("'h', 'd', 'e'"));
    assert_eq!(list_arrays(path.as_ref()).unwrap().len(), 3);
}

/// Every format's smallest useful file.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let data = doubles(&[1., 2., 3., 4., 5., 6.]);
    let npy = npy_bytes(1, "<f8", false, "(2, 3)", &data);
    let header = r#"{"x":{"dtype":"F64","shape":[2,3],"data_offsets":[0,48]}}"#;
    vec![
        ("X.npz", npz_bytes(&[("x", npy.clone())], true)),
        ("X.npz", npz_bytes(&[("x", npy.clone())], false)),
        ("X.safetensors", safetensors_bytes(header, &data)),
        ("X.npy", npy_bytes(3, ">f8", true, "(2, 3)", &data)),
        ("X.npy", npy),
    ]
}

#[test]
fn every_truncation_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in samples() {
        assert!(read_tensor(&in_file(&dir, name, &bytes), limit()).is_ok());
        for length in 0..bytes.len() {
            let read = read_tensor(&in_file(&dir, name, &bytes[..length]), limit());
            let text = read.expect_err(name).to_string();
            assert!(!text.contains('\n'), "{text}");
        }
    }
}

#[test]
fn damage_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = tnsearch::rng::stream(1, b"damage");
    for (name, bytes) in samples() {
        for _ in 0..600 {
            let mut damaged = bytes.clone();
            for _ in 0..rng.random_range(1..4) {
                let at = rng.random_range(0..damaged.len());
                damaged[at] ^= (rng.next_u32() as u8).max(1);
            }
            let path = in_file(&dir, name, &damaged);
            let _ = read_tensor(&path, MemoryLimit::new(Some(1 << 30)));
            let _ = list_arrays(path.as_ref());
        }
    }
}
