//! Networks as safetensors files: one array `core.<vertex>` each, the structure in the metadata.
//!
//! numpy alone reads them:
//!
//! ```python
//! import json, struct, numpy as np
//! raw = open("net.safetensors", "rb").read()
//! size = 8 + struct.unpack("<Q", raw[:8])[0]
//! header = json.loads(raw[8:size])
//! structure = json.loads(header.pop("__metadata__")["structure"])
//! cores = {}
//! for name, core in header.items():
//!     start, end = core["data_offsets"]
//!     entries = np.frombuffer(raw[size + start:size + end], "<f8")
//!     cores[int(name.split(".")[1])] = entries.reshape(core["shape"])
//! ```

use crate::cores::half_bytes;
use crate::entries::write_entries;
use crate::formats::safetensors::{self, SafetensorsFile, framed};
use crate::registry::{Archive, find};
use crate::{Array, Dtype, FileError, MemoryLimit, Problem};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;
use tnsearch::dispatch;
use tnsearch::graph::{Structure, StructureFile};
use tnsearch::network::Network;
use tnsearch::tensor::{AnyTensor, Complex, Kind, Reshape, Tensor, size};

/// The mark of our networks, in the metadata.
const FORMAT: &str = "tnsearch-network";

/// What the axes of the cores are, in the metadata of every network.
const AXES: &str = "the axes of core.<vertex> are the edges [u,v,rank] of 'structure' at that \
                    vertex, in their order there, then its mode if it has one";

/// The same where some vertices carry several modes.
const GROUPED_AXES: &str = "the axes of core.<vertex> are the edges [u,v,rank] of 'structure' at that \
                            vertex, in their order there, then its modes in increasing order";

/// What comes after it where the cores are complex numbers of two 64-bit parts, for which the format has no type.
const COMPLEX_AXES: &str =
    "; a last axis of length 2 holds the real and the imaginary part of each entry";

/// A network read from a file.
#[derive(Debug)]
#[non_exhaustive]
pub struct StoredNetwork {
    /// The network.
    pub network: Network,
    /// Its error on the tensor it was fitted to.
    pub rse: f64,
    /// How the tensor was reshaped before: the network's modes are those after that.
    pub reshape: Option<Reshape>,
    /// What the tensor was before it was compressed; none where the network is for a tensor of numbers.
    pub origin: Option<Origin>,
    /// The version of the program that wrote it.
    pub written_by: String,
}

/// What a compressed tensor was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// A picture, of samples from 0 to 1 in the network; else an array.
    pub picture: bool,
    /// The type of its samples or entries in its file.
    pub dtype: Dtype,
}

/// What a network file can hold beside the network and its error.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extras<'a> {
    /// How the tensor was reshaped before: the file remembers its own shape.
    pub reshape: Option<&'a Reshape>,
    /// What the tensor was before it was compressed.
    pub origin: Option<Origin>,
    /// Write the cores as 16-bit numbers, which they are ([`crate::Precision::round`]).
    pub half: bool,
}

impl StoredNetwork {
    /// The shape of the tensor that the network stands for.
    pub fn shape(&self) -> &[usize] {
        self.reshape.as_ref().map_or(self.network.dims(), Reshape::from)
    }
}

/// Writes a network and its error. The same network gives the same bytes (the safetensors crate
/// would write the metadata in any order).
pub fn write(to: &mut dyn Write, network: &Network, rse: f64) -> io::Result<()> {
    write_reshaped(to, network, rse, None)
}

/// The same of a tensor that was reshaped before: the file remembers its own shape.
pub fn write_reshaped(
    to: &mut dyn Write,
    network: &Network,
    rse: f64,
    reshape: Option<&Reshape>,
) -> io::Result<()> {
    write_with(to, network, rse, &Extras { reshape, ..Extras::default() })
}

/// Writes a network with more about it.
pub fn write_with(
    to: &mut dyn Write,
    network: &Network,
    rse: f64,
    extras: &Extras<'_>,
) -> io::Result<()> {
    let half = extras.half && !network.kind().is_complex();
    let kind = network.kind();
    let axes = if network.structure().is_grouped() { GROUPED_AXES } else { AXES };
    let mut notes = json!({
        "format": FORMAT,
        "version": "1",
        "tnsearch": env!("CARGO_PKG_VERSION"),
        "structure": serde_json::to_string(&network.structure().to_file())?,
        "dims": serde_json::to_string(network.dims())?,
        "rse": format!("{rse:e}"),
        "params": network.params().to_string(),
        "axes": axes,
    });
    if let Some(reshape) = extras.reshape {
        notes["reshaped"] = serde_json::to_string(reshape)?.into();
    }
    if let Some(origin) = &extras.origin {
        notes["origin"] = serde_json::to_string(origin)?.into();
    }
    let dtype = match kind {
        _ if half => "F16",
        Kind::F32 => "F32",
        Kind::F64 | Kind::C64 => "F64",
        Kind::C32 => "C64",
    };
    let parts = kind == Kind::C64;
    if parts {
        notes["complex"] = "true".into();
        notes["axes"] = format!("{axes}{COMPLEX_AXES}").into();
    }
    let mut header = format!("{{\"__metadata__\":{notes}");
    let mut start = 0;
    for (vertex, core) in network.cores().iter().enumerate() {
        let end = start + if half { 2 * core.len() } else { core.bytes() };
        let shape: Vec<usize> = core.dims().iter().copied().chain(parts.then_some(2)).collect();
        let info = json!({"dtype": dtype, "shape": shape, "data_offsets": [start, end]});
        header += &format!(",\"core.{vertex}\":{info}");
        start = end;
    }
    header.push('}');
    to.write_all(&framed(header))?;
    for core in network.cores() {
        match half {
            true => to.write_all(&half_bytes(core))?,
            false => dispatch!(core, core => write_entries(to, core.data()))?,
        }
    }
    Ok(())
}

/// Whether a file is marked as one of our networks; an error where it cannot be read at all.
pub fn is_network(path: &Path) -> Result<bool, FileError> {
    let file = open(path).map_err(|p| p.of(path))?;
    Ok(file.is_some_and(|file| is_marked(&file)))
}

fn is_marked(file: &SafetensorsFile) -> bool {
    file.notes().get("format").is_some_and(|f| f == FORMAT)
}

/// Opens a safetensors file; none if the file has another format.
fn open(path: &Path) -> Result<Option<SafetensorsFile>, Problem> {
    let found = find(path)?;
    match std::ptr::eq(found.format, &safetensors::FORMAT) {
        true => SafetensorsFile::open(found.file, found.length).map(Some),
        false => Ok(None),
    }
}

/// Reads a network.
pub fn read(path: &Path, limit: MemoryLimit) -> Result<StoredNetwork, FileError> {
    let not = || Problem::NotANetwork("it is no safetensors file".to_owned());
    let read = || read_from(&mut open(path)?.ok_or_else(not)?, limit);
    read().map_err(|p| p.of(path))
}

fn read_from(file: &mut SafetensorsFile, limit: MemoryLimit) -> Result<StoredNetwork, Problem> {
    let not = Problem::NotANetwork;
    if !is_marked(file) {
        return Err(not(format!("its metadata has no \"format\": \"{FORMAT}\"")));
    }
    let notes = file.notes();
    let note =
        |name: &str| notes.get(name).ok_or_else(|| not(format!("its metadata has no '{name}'")));
    let version = note("version")?;
    if version != "1" {
        return Err(not(format!("its format version is {version}; this program knows version 1")));
    }
    let bad = |name: &str, e: &dyn std::fmt::Display| not(format!("bad '{name}': {e}"));
    let structure: StructureFile =
        serde_json::from_str(note("structure")?).map_err(|e| bad("structure", &e))?;
    let structure = Structure::from_file(&structure).map_err(|e| bad("structure", &e))?;
    let dims: Vec<usize> = serde_json::from_str(note("dims")?).map_err(|e| bad("dims", &e))?;
    let rse: f64 = note("rse")?.parse().map_err(|e| bad("rse", &e))?;
    if !(rse.is_finite() && rse >= 0.0) {
        return Err(bad("rse", &format!("no error is {rse}")));
    }
    let reshape: Option<Reshape> = match notes.get("reshaped") {
        Some(text) => Some(serde_json::from_str(text).map_err(|e| bad("reshaped", &e))?),
        None => None,
    };
    if let Some(other) = reshape.as_ref().filter(|r| r.to() != dims) {
        return Err(bad("reshaped", &format!("it ends in {:?}, not {dims:?}", other.to())));
    }

    let origin: Option<Origin> = match notes.get("origin") {
        Some(text) => Some(serde_json::from_str(text).map_err(|e| bad("origin", &e))?),
        None => None,
    };

    let keys = file.keys();
    let shapes = keys.iter().map(|key| Ok(size(&file.layout(key)?.dims)));
    let entries = shapes.sum::<Result<u128, Problem>>()?;
    limit.check(entries, Kind::F64)?;
    let parts = notes.get("complex").is_some_and(|c| c == "true");
    let mut cores = Vec::new();
    for vertex in 0..structure.template().vertices() {
        let key = format!("core.{vertex}");
        if !keys.contains(&key) {
            return Err(not(format!("'{key}' is missing")));
        }
        let kind = match file.layout(&key)?.dtype {
            Dtype::F16 | Dtype::F32 => Kind::F32,
            Dtype::C64 => Kind::C32,
            _ => Kind::F64,
        };
        let Array { tensor: core, .. } = file.read(&key, Some(kind), limit)?;
        let core = match parts {
            true => joined(core).ok_or_else(|| not(format!("'{key}' has no parts to join")))?,
            false => core,
        };
        if dispatch!(&core, core => core.data().iter().any(|x| !x.is_finite())) {
            return Err(not(format!("'{key}' has an entry that is no finite number")));
        }
        cores.push(core);
    }
    let network = Network::new(structure, dims, cores).map_err(|e| not(e.to_string()))?;
    let written_by = notes.get("tnsearch").cloned().unwrap_or_else(|| "unknown".to_owned());
    Ok(StoredNetwork { network, rse, reshape, origin, written_by })
}

/// A complex core from one with a last axis of two parts.
fn joined(core: AnyTensor) -> Option<AnyTensor> {
    let core = core.into_f64().ok()?;
    let (&last, dims) = core.dims().split_last()?;
    if last != 2 {
        return None;
    }
    let entries = core.data().as_chunks::<2>().0.iter().map(|&[re, im]| Complex::new(re, im));
    Tensor::new(dims.to_vec(), entries.collect()).ok().map(AnyTensor::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Precision;
    use std::sync::Arc;
    use tnsearch::graph::Template;

    fn example() -> Network {
        let ring = Arc::new(Template::ring(3).unwrap());
        let structure = Structure::new(ring, vec![2, 0, 1], vec![2, 1, 3]).unwrap();
        let dims = vec![4, 5, 6];
        let core = |v: usize| {
            let shape = structure.core_dims(v, &dims);
            let data = (0..shape.iter().product()).map(|k: usize| 1.0 / (k + v + 1) as f64);
            Tensor::new(shape.clone(), data.collect()).unwrap()
        };
        let cores = (0..3).map(core).collect();
        Network::new(structure, dims, cores).unwrap()
    }

    fn bytes(network: &Network) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, network, 1.25e-30).unwrap();
        bytes
    }

    fn read_bytes(bytes: &[u8]) -> Result<StoredNetwork, FileError> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("net.safetensors");
        std::fs::write(&path, bytes).unwrap();
        read(&path, MemoryLimit::new(Some(1 << 30)))
    }

    /// The file with a text in its header replaced by another of the same length.
    fn edited(from: &str, to: &str) -> String {
        assert_eq!(from.len(), to.len());
        let mut bytes = bytes(&example());
        let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).expect(from);
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        read_bytes(&bytes).unwrap_err().problem.to_string()
    }

    #[test]
    fn networks_come_back_bit_for_bit() {
        let stored = read_bytes(&bytes(&example())).unwrap();
        assert_eq!(stored.network, example());
        assert_eq!(stored.rse, 1.25e-30);
        assert_eq!(stored.written_by, env!("CARGO_PKG_VERSION"));
    }

    #[test]
    fn the_shape_before_a_split_is_remembered() {
        let reshape = Reshape::shape(&[20, 6], vec![4, 5, 6], true).unwrap();
        let mut written = Vec::new();
        write_reshaped(&mut written, &example(), 0.5, reshape.as_ref()).unwrap();
        let stored = read_bytes(&written).unwrap();
        assert_eq!(stored.reshape, reshape);
        assert_eq!(stored.shape(), [20, 6]);
        assert_eq!(read_bytes(&bytes(&example())).unwrap().shape(), [4, 5, 6]);
        // The split of another network is no split of this one.
        let other = Reshape::shape(&[20, 6], vec![5, 4, 6], true).unwrap();
        let mut wrong = Vec::new();
        write_reshaped(&mut wrong, &example(), 0.5, other.as_ref()).unwrap();
        let refused = read_bytes(&wrong).unwrap_err().to_string();
        assert!(
            refused.contains("bad 'reshaped': it ends in [5, 4, 6], not [4, 5, 6]"),
            "{refused}"
        );
    }

    #[test]
    fn cores_of_16_bits_and_the_origin_come_back() {
        let half = Precision::F16.round(&example()).unwrap();
        let origin = Some(Origin { picture: true, dtype: Dtype::U16 });
        let mut written = Vec::new();
        let extras = Extras { origin, half: true, ..Extras::default() };
        write_with(&mut written, &half, 0.5, &extras).unwrap();
        let stored = read_bytes(&written).unwrap();
        assert_eq!((stored.network, stored.origin), (half.clone(), origin));
        let mut wide = Vec::new();
        write(&mut wide, &half, 0.5).unwrap();
        let entries: usize = half.cores().iter().map(AnyTensor::len).sum();
        assert!(written.len() + 2 * entries - wide.len() < 80);
        let at = written.windows(3).position(|w| w == b"u16").unwrap();
        written[at..at + 3].copy_from_slice(b"u17");
        assert!(read_bytes(&written).unwrap_err().to_string().contains("bad 'origin'"));
    }

    #[test]
    fn networks_of_every_kind_come_back_bit_for_bit() {
        for kind in Kind::ALL {
            let turn = |core: &AnyTensor| {
                // Imaginary parts too.
                let core = core.clone().to_kind(Kind::C64).unwrap();
                let core = core.into_typed::<Complex<f64>>().unwrap();
                let data = core.data().iter().map(|x| x * Complex::new(0.6, -0.8)).collect();
                let turned = AnyTensor::from(Tensor::new(core.dims().to_vec(), data).unwrap());
                match kind.is_complex() {
                    true => turned.to_kind(kind).unwrap(),
                    false => AnyTensor::from(core).to_kind(kind).unwrap(),
                }
            };
            let cores = example().cores().iter().map(turn).collect();
            let network =
                Network::new(example().structure().clone(), vec![4, 5, 6], cores).unwrap();
            let written = bytes(&network);
            let stored = read_bytes(&written).unwrap();
            assert_eq!(stored.network, network, "{kind}");
            assert_eq!(stored.network.kind(), kind);
            // For others to read: complex128 as pairs of F64, complex64 as the format's own type.
            let file = ::safetensors::SafeTensors::deserialize(&written).unwrap();
            let core = file.tensor("core.1").unwrap();
            assert_eq!(core.data().len(), network.cores()[1].bytes());
            assert_eq!(core.shape().len(), 3 + usize::from(kind == Kind::C64));
        }
    }

    #[test]
    fn vertices_with_several_modes_come_back() {
        let all = [
            (vec![vec![0, 2], vec![], vec![1]], vec![(0, 1, 2), (1, 2, 3)]),
            (vec![vec![2, 1, 0]], vec![]),
        ];
        for (groups, edges) in all {
            let structure = Structure::from_groups("graph", &groups, &edges).unwrap();
            let dims = vec![4, 5, 6];
            let core = |v: usize| Tensor::zeros(structure.core_dims(v, &dims));
            let cores: Vec<Tensor> = (0..groups.len()).map(core).collect();
            let network = Network::new(structure, dims, cores).unwrap();
            let written = bytes(&network);
            assert!(
                String::from_utf8_lossy(&written).contains("then its modes in increasing order")
            );
            assert_eq!(read_bytes(&written).unwrap().network, network);
        }
    }

    #[test]
    fn the_format_is_that_of_the_safetensors_crate() {
        let bytes = bytes(&example());
        let file = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.len(), 3);
        let core = file.tensor("core.1").unwrap();
        assert_eq!(core.shape(), example().cores()[1].dims());
        let first = example().core::<f64>(1).unwrap().data()[0].to_le_bytes();
        assert_eq!(core.data()[..8], first);
    }

    #[test]
    fn what_is_no_network_is_refused() {
        assert!(edited("tnsearch-network", "another-network!").contains("\"format\""));
        assert!(edited("core.2", "core.7").ends_with("'core.2' is missing"));
        assert!(edited("\"dims\":\"[4,5,6]\"", "\"dims\":\"[4,6,5]\"").contains("has shape"));
        assert!(edited("[4,5,6]", "[4,0,6]").contains("dimension 0"));
        assert!(edited("\\\"ring\\\"", "\\\"rong\\\"").contains("bad 'structure'"));
        for rse in ["infinity", "-1.25e-3"] {
            assert!(edited("1.25e-30", rse).contains("bad 'rse': no error is "), "{rse}");
        }
        let plain = b"\x02\0\0\0\0\0\0\0{}";
        assert!(read_bytes(plain).unwrap_err().to_string().contains("not a network"));
    }

    #[test]
    fn a_network_is_known_by_its_mark() {
        let dir = tempfile::tempdir().unwrap();
        let is = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            is_network(&path).unwrap()
        };
        assert!(is("net.safetensors", &bytes(&example())));
        assert!(!is("plain.safetensors", b"\x02\0\0\0\0\0\0\0{}"));
        assert!(is_network(&dir.path().join("nothing")).is_err());
    }

    #[test]
    fn truncation_and_damage_never_panic() {
        let whole = bytes(&example());
        for length in (0..whole.len()).step_by(7) {
            assert!(read_bytes(&whole[..length]).is_err());
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x15;
            let _ = read_bytes(&damaged);
        }
    }
}
