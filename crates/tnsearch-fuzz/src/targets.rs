//! The readers, each with the good files it begins with.

use crate::{LIMIT, good};
use std::path::{Path, PathBuf};
use tnsearch::graph::{Structure, StructureFile, Template};
use tnsearch::problem::Mask;
use tnsearch::tensor::Kind;
use tnsearch_io::journal::JournalFile;
use tnsearch_io::weights::WeightsFile;
use tnsearch_io::{
    Dtype, MemoryLimit, list_arrays, network, npy_bytes, read_tensor, table, text::shown,
};
use tnsearch_verify::{Array, Class, Limits};

/// Why an input was not accepted, or what is wrong with how it was.
#[derive(Debug)]
pub enum No {
    /// The reader's own words.
    Refused(String),
    /// What was accepted is not what comes back.
    Wrong(String),
}

type Answer = Result<(), No>;

/// A reader to be tried.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Good files.
    pub good: fn() -> Vec<Vec<u8>>,
    /// Reads an input; files go into the folder.
    pub read: fn(&[u8], &Path) -> Answer,
}

/// All targets.
pub static TARGETS: [Target; 14] = [
    Target { name: "npy", good: good::npy, read: |bytes, folder| tensors(bytes, folder, "x.npy") },
    Target { name: "npz", good: good::npz, read: |bytes, folder| tensors(bytes, folder, "x.npz") },
    Target {
        name: "safetensors",
        good: good::safetensors,
        read: |bytes, folder| tensors(bytes, folder, "x.safetensors"),
    },
    Target { name: "png", good: good::png, read: |bytes, folder| tensors(bytes, folder, "x.png") },
    Target {
        name: "jpeg",
        good: good::jpeg,
        read: |bytes, folder| tensors(bytes, folder, "x.jpg"),
    },
    Target { name: "csv", good: good::csv, read: csv },
    Target { name: "template", good: good::templates, read: template },
    Target { name: "structure", good: good::structure_files, read: structure },
    Target { name: "network", good: good::networks, read: networks },
    Target { name: "weights", good: good::models, read: models },
    Target { name: "journal", good: good::journals, read: journal },
    Target { name: "mask", good: good::mask, read: mask },
    Target { name: "certificate", good: good::certificates, read: certificate },
    Target { name: "text", good: good::structure_files, read: text },
];

fn refused(e: impl std::fmt::Display) -> No {
    No::Refused(e.to_string())
}

/// What the library says of a value that is no file's: its shells print it this way.
fn told(e: impl std::fmt::Display) -> No {
    No::Refused(shown(&e.to_string()))
}

fn limit() -> MemoryLimit {
    MemoryLimit::new(Some(LIMIT))
}

fn put(bytes: &[u8], folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).expect("the input is written");
    path
}

fn same(what: &str, same: bool) -> Answer {
    if same { Ok(()) } else { Err(No::Wrong(format!("{what} is not what comes back"))) }
}

fn tensors(bytes: &[u8], folder: &Path, name: &str) -> Answer {
    let path = put(bytes, folder, name);
    let shown = path.to_string_lossy().into_owned();
    let arrays = list_arrays(&path).map_err(refused)?;
    let names: Vec<String> = match &arrays[..] {
        [] | [_] => vec![shown],
        many => many.iter().take(4).map(|a| format!("{shown}:{}", a.key)).collect(),
    };
    for name in names {
        let read = read_tensor(&name, None, limit()).map_err(refused)?;
        let dtype = match read.tensor.kind() {
            Kind::F32 => Dtype::F32,
            Kind::F64 => Dtype::F64,
            Kind::C32 => Dtype::C64,
            Kind::C64 => Dtype::C128,
        };
        let again = put(&npy_bytes(&read.tensor, dtype).map_err(refused)?, folder, "again.npy");
        let back = read_tensor(&again.to_string_lossy(), None, limit()).map_err(refused)?;
        let bits = |t: &tnsearch::tensor::AnyTensor| {
            (0..t.len())
                .map(|k| t.entry(k))
                .map(|z| (z.re.to_bits(), z.im.to_bits()))
                .collect::<Vec<_>>()
        };
        same(
            "a tensor",
            back.tensor.dims() == read.tensor.dims() && bits(&back.tensor) == bits(&read.tensor),
        )?;
    }
    Ok(())
}

fn csv(bytes: &[u8], _: &Path) -> Answer {
    let read = table::parse(bytes).map_err(refused)?;
    let mut again = Vec::new();
    table::write(&mut again, &read).map_err(refused)?;
    let back = table::parse(&again[..])
        .map_err(|e| No::Wrong(format!("its own table is refused: {e}")))?;
    same("a table", back == read)
}

fn template(bytes: &[u8], _: &Path) -> Answer {
    let text = String::from_utf8(bytes.to_vec()).map_err(refused)?;
    let read = Template::from_json("own", &text).map_err(told)?;
    let back = Template::from_json("own", &good::graph(&read));
    same("a template", back.is_ok_and(|back| back == read))
}

fn structure(bytes: &[u8], _: &Path) -> Answer {
    let file: StructureFile = serde_json::from_slice(bytes).map_err(told)?;
    let read = Structure::from_file(&file).map_err(told)?;
    read.canonical();
    let back = Structure::from_file(&read.to_file());
    same("a structure", back.is_ok_and(|back| back.canonical().graph == read.canonical().graph))
}

fn networks(bytes: &[u8], folder: &Path) -> Answer {
    let path = put(bytes, folder, "net.safetensors");
    network::is_network(&path).map_err(refused)?;
    let read = network::read(&path, limit()).map_err(refused)?;
    let mut again = Vec::new();
    network::write_reshaped(&mut again, &read.network, read.rse, read.reshape.as_ref())
        .map_err(refused)?;
    let back = network::read(&put(&again, folder, "again.safetensors"), limit());
    let back = back.map_err(|e| No::Wrong(format!("its own network is refused: {e}")))?;
    same("a network", back.network == read.network && back.reshape == read.reshape)
}

fn models(bytes: &[u8], folder: &Path) -> Answer {
    let file = WeightsFile::open(&put(bytes, folder, "m.safetensors")).map_err(refused)?;
    for k in 0..file.entries().len() {
        let mut copy = Vec::new();
        file.copy(k, &mut copy).map_err(refused)?;
        same("a tensor of a model", copy.len() as u64 == file.entries()[k].bytes())?;
        file.read::<f64>(k).map_err(refused)?;
    }
    Ok(())
}

fn journal(bytes: &[u8], _: &Path) -> Answer {
    let read = JournalFile::parse(bytes).map_err(refused)?;
    if let Some(said) =
        read.damaged.iter().map(ToString::to_string).find(|s| s.contains(char::is_control))
    {
        return Err(No::Wrong(format!("not one plain line: {said:?}")));
    }
    for record in &read.records {
        let fine = record.error.is_finite() && read.structure(record).is_some();
        same(
            "a record",
            fine && read.consistent(record).is_some_and(|c| c.params == record.params),
        )?;
    }
    Ok(())
}

fn mask(bytes: &[u8], folder: &Path) -> Answer {
    let path = put(bytes, folder, "mask.npy");
    let read = read_tensor(&path.to_string_lossy(), None, limit()).map_err(refused)?;
    let flags = (0..read.tensor.len()).map(|k| read.tensor.entry(k).re != 0.0).collect();
    Mask::new(read.tensor.dims().to_vec(), flags).map_err(refused)?;
    Ok(())
}

/// A certificate of the good matrix that is taken must be true: rank 1 leaves an RSE of 0.2, and rank 2 has 8 params. One of the
/// other good tensor is taken or not.
fn certificate(bytes: &[u8], _: &Path) -> Answer {
    let text = String::from_utf8(bytes.to_vec()).map_err(refused)?;
    let read = tnsearch_verify::Certificate::parse(&text).map_err(told)?;
    let limits = Limits { bytes: LIMIT, stop: &|| false };
    read.check_cases(&limits).map_err(told)?.map_err(told)?;
    let cube = read.data.dims == good::CUBE;
    let (dims, data) = if cube {
        (&good::CUBE[..], good::cube())
    } else {
        (&good::MATRIX.0[..], good::MATRIX.1.to_vec())
    };
    let x = Array::real(dims.to_vec(), data).expect("as many as it says");
    read.check(&x, "f64", &limits).map_err(told)?.map_err(told)?;
    if cube {
        return same("a certificate", true);
    }
    let path = matches!(&read.template, Class::Graph(g) if g.vertices.len() == 2);
    // A loss: rank 1 has 4 of 4 params, rank 2 has 8.
    if let Some((lambda, loss)) = read.lambda.zip(read.loss) {
        let least = (1.0 + 0.2 * lambda).min(2.0);
        let said = loss <= least * (1.0 + 1e-9) || read.max_rank == Some(1) || !path;
        return same("what a certificate says", said);
    }
    let least = if read.max_rse < 0.2 { 8 } else { 4 };
    let said = read.params.is_some_and(|p| p <= least) || read.max_rank == Some(1) || !path;
    same("what a certificate says", said)
}

fn text(bytes: &[u8], folder: &Path) -> Answer {
    let path = put(bytes, folder, "text.json");
    let text = tnsearch_io::small::read_text(&path).map_err(refused)?;
    same("a text", text.as_bytes() == bytes)
}
