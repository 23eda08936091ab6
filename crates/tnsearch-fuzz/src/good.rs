//! Good files of every kind, made by our own writers.

use serde_json::json;
use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
use tnsearch::certificate::{Claim, prove};
use tnsearch::graph::{Structure, Template};
use tnsearch::network::Network;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::tensor::{AnyTensor, Kind, Reshape, Tensor};
use tnsearch_io::output::Output;
use tnsearch_io::{Dtype, Picture, Table, npy_bytes, weights, write_tensor};
use tnsearch_verify::{Array, fingerprint};

/// A small tensor of that shape.
pub fn tensor(dims: &[usize]) -> Tensor {
    let count = dims.iter().product::<usize>();
    let entries = (0..count).map(|k| ((k * 37 + 11) % 101) as f64 / 50.0 - 0.9).collect();
    Tensor::new(dims.to_vec(), entries).expect("a tensor")
}

/// What a writer leaves in a file of that name.
fn written(name: &str, write: impl FnOnce(&Output)) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    write(&Output::check(&path).expect("an output"));
    std::fs::read(&path).expect("what was written")
}

pub fn npy() -> Vec<Vec<u8>> {
    let any = |dims: &[usize]| AnyTensor::from(tensor(dims));
    let types = [
        Dtype::F64,
        Dtype::F32,
        Dtype::F16,
        Dtype::I16,
        Dtype::U8,
        Dtype::Bool,
        Dtype::C64,
        Dtype::C128,
    ];
    let mut files: Vec<Vec<u8>> =
        types.iter().map(|&t| npy_bytes(&any(&[2, 3, 2]), t).expect("a file")).collect();
    let header = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 2), }          \n";
    let mut old = b"\x93NUMPY\x02\x00".to_vec();
    old.extend((header.len() as u32).to_le_bytes());
    old.extend(header.bytes());
    old.extend([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
    files.push(old);
    files
}

pub fn mask() -> Vec<Vec<u8>> {
    let flags = Tensor::new(vec![2, 3, 2], (0..12).map(|k| f64::from(k % 5 == 0)).collect())
        .expect("flags");
    [Dtype::Bool, Dtype::U8, Dtype::F64]
        .iter()
        .map(|&t| npy_bytes(&flags.clone().into(), t).expect("a file"))
        .collect()
}

/// A zip archive with one stored member, as `numpy.savez` writes it.
pub fn npz() -> Vec<Vec<u8>> {
    npy()
        .into_iter()
        .take(3)
        .map(|member| {
            let name = b"x.npy";
            let sum = crc32(&member);
            let size = (member.len() as u32).to_le_bytes();
            let common = |out: &mut Vec<u8>| {
                out.extend([20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                out.extend(sum.to_le_bytes());
                out.extend(size);
                out.extend(size);
                out.extend((name.len() as u16).to_le_bytes());
                out.extend([0, 0]);
            };
            let mut zip = b"PK\x03\x04".to_vec();
            common(&mut zip);
            zip.extend(name);
            zip.extend(&member);
            let start = zip.len() as u32;
            zip.extend(b"PK\x01\x02\x14\0");
            common(&mut zip);
            zip.extend([0; 14 - 4]);
            zip.extend([0; 4]);
            zip.extend(name);
            let size = zip.len() as u32 - start;
            zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
            zip.extend(size.to_le_bytes());
            zip.extend(start.to_le_bytes());
            zip.extend([0, 0]);
            zip
        })
        .collect()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| {
            (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg())
        })
    })
}

pub fn safetensors() -> Vec<Vec<u8>> {
    let kinds = [Kind::F64, Kind::F32, Kind::C32];
    kinds
        .iter()
        .map(|&kind| {
            let any = AnyTensor::from(tensor(&[2, 3, 2])).to_kind(kind).expect("a kind");
            written("x.safetensors", |to| write_tensor(to, &any).expect("written"))
        })
        .collect()
}

pub fn models() -> Vec<Vec<u8>> {
    let (a, b) = (tensor(&[4, 3]), tensor(&[2, 2]));
    let tensors = [("a.weight", &a), ("b.bias", &b)];
    [Dtype::F32, Dtype::F16]
        .iter()
        .map(|&dtype| {
            written("m.safetensors", |to| weights::write(to, &tensors, dtype).expect("written"))
        })
        .collect()
}

fn picture(channels: usize) -> Picture {
    let samples = (0..6 * 5 * channels).map(|k| (k % 17) as f64 / 16.0).collect();
    Picture::new(6, 5, channels, samples).expect("a picture")
}

pub fn png() -> Vec<Vec<u8>> {
    [1, 3].iter().map(|&c| picture(c).to_png().expect("a picture")).collect()
}

pub fn jpeg() -> Vec<Vec<u8>> {
    let one =
        |c| written("x.jpg", |to| tnsearch_io::picture::write(to, &picture(c)).expect("written"));
    vec![one(1), one(3)]
}

pub fn csv() -> Vec<Vec<u8>> {
    let names = ["a", "b", "the y"].map(str::to_owned).to_vec();
    let table = Table::new(names, (0..12).map(|k| f64::from(k) / 7.0 - 0.3).collect());
    let mut bytes = Vec::new();
    tnsearch_io::table::write(&mut bytes, &table).expect("written");
    vec![bytes, b"x,y\n1,2\n3,4e5\n".to_vec(), b"\xef\xbb\xbf\"p, q\" , r\r\n 1 ,2\r\n".to_vec()]
}

fn structures() -> Vec<Structure> {
    let of = |name: &str, order: usize| {
        let template = Arc::new(Template::parse(name, order).expect("a template"));
        let ranks = (0..template.edges().len()).map(|k| 1 + k % 3).collect();
        Structure::identity(template, ranks).expect("a structure")
    };
    vec![of("ring", 4), of("path", 3), of("tucker", 3), of("ht", 4), of("peps:2x2", 4)]
}

pub fn templates() -> Vec<Vec<u8>> {
    structures().iter().map(|s| graph(s.template()).into_bytes()).collect()
}

/// A template as a graph of one's own.
pub fn graph(template: &Template) -> String {
    let vertices: Vec<_> =
        (0..template.vertices()).map(|v| json!({"mode": template.is_external(v)})).collect();
    json!({"vertices": vertices, "edges": template.edges()}).to_string()
}

pub fn structure_files() -> Vec<Vec<u8>> {
    let grouped = br#"{"template":{"vertices":[{"mode":true},{"mode":true}],"edges":[[0,1]]},"permutation":[0,1,0],"edges":[[0,1,2]]}"#;
    let mut files: Vec<Vec<u8>> =
        structures().iter().map(|s| serde_json::to_vec(&s.to_file()).expect("JSON")).collect();
    files.push(grouped.to_vec());
    files
}

/// The matrix that certificates are of, and the shape of the other tensor.
pub const MATRIX: ([usize; 2], [f64; 4]) = ([2, 2], [2.0, 0.0, 0.0, 1.0]);
pub const CUBE: [usize; 3] = [2, 3, 2];

/// The entries of the other tensor.
pub fn cube() -> Vec<f64> {
    (0..12).map(|k| f64::from(k * k % 7) - 2.0).collect()
}

/// Certificates of a 2 x 2 matrix and of a tensor of three modes.
pub fn certificates() -> Vec<Vec<u8>> {
    let goal = Objective::MaxError(0.1);
    let made = |dims: Vec<usize>, data: Vec<f64>, template: Template, least: f64| {
        let array = Array::real(dims.clone(), data.clone()).expect("as many as it says");
        let norm = data.iter().map(|x| x * x).sum::<f64>().sqrt();
        let target =
            Target::new(Tensor::new(dims.clone(), data).expect("a tensor")).expect("finite");
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        let claim = Claim::new(&Arc::new(template), 3, goal, Some(goal.lower_bound(least)), false);
        let proof = prove(&claim.expect("a claim"), &bound, 1000, &Stop::new()).expect("a proof");
        let mut file = serde_json::to_value(&proof).expect("JSON");
        let data = json!({"dims": dims, "dtype": "f64", "sha256": fingerprint(&array, "f64"), "norm": norm});
        let more = json!({"format": "tnsearch-certificate", "version": 1, "tnsearch": "0", "says": "it",
                          "data": data, "reshaped": null});
        let fields = file.as_object_mut().zip(more.as_object());
        fields.into_iter().for_each(|(to, from)| to.extend(from.clone()));
        file.to_string().into_bytes()
    };
    let (dims, matrix) = (MATRIX.0.to_vec(), MATRIX.1.to_vec());
    vec![
        made(dims.clone(), matrix.clone(), Template::path(2).expect("a path"), 8.0),
        made(dims, matrix, Template::any_tree(2).expect("trees"), 4.0),
        made(CUBE.to_vec(), cube(), Template::ring(3).expect("a ring"), 18.0),
        made(CUBE.to_vec(), cube(), Template::parse("tucker", 3).expect("a Tucker network"), 22.0),
    ]
}

pub fn networks() -> Vec<Vec<u8>> {
    let mut files = Vec::new();
    for structure in structures() {
        let dims: Vec<usize> = (0..structure.permutation().len()).map(|k| 2 + k % 2).collect();
        let core = |v| tensor(&structure.core_dims(v, &dims));
        let cores: Vec<Tensor> = (0..structure.template().vertices()).map(core).collect();
        let network = Network::new(structure, dims.clone(), cores).expect("a network");
        let mut bytes = Vec::new();
        tnsearch_io::network::write(&mut bytes, &network, 0.25).expect("written");
        files.push(bytes);
        if let Ok(Some(reshape)) = Reshape::shape(&[dims.iter().product()], dims, false) {
            let mut bytes = Vec::new();
            tnsearch_io::network::write_reshaped(&mut bytes, &network, 0.25, Some(&reshape))
                .expect("written");
            files.push(bytes);
        }
    }
    files
}

/// The journal of a small search, and the same without checksums.
pub fn journals() -> Vec<Vec<u8>> {
    use tnsearch::search::{Search, SearchSettings, StrategySpec};
    use tnsearch_io::journal::{BeginRecord, Header, JournalWriter};
    let target = Target::new(tensor(&[3, 3, 3])).expect("a target");
    let template = Arc::new(Template::ring(3).expect("a ring"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.jsonl");
    let mut settings = SearchSettings::default();
    settings.strategy = StrategySpec::new("random");
    (settings.max_rank, settings.budget.max_evaluations) = (Some(2), Some(4));
    settings.budget.threads = Some(1);
    settings.certificate_nodes = 0;
    let search =
        Search::new(&target).template(template).settings(settings).check().expect("a search");
    let header =
        Header::of(&search, &target, &tnsearch::problem::Measure::RSE, None).expect("a header");
    let (mut writer, _) = JournalWriter::open(&path, &header, false).expect("a journal");
    writer
        .begin(&BeginRecord { input: "X.npy".into(), command: vec!["tnsearch".into()] })
        .expect("written");
    search.listen(&mut writer).prepare().expect("a search").run().expect("an answer");
    drop(writer);
    let sealed = std::fs::read(&path).expect("a journal");
    let plain = |line: &str| match line.rfind(",\"crc\":\"") {
        Some(at) => format!("{}}}\n", &line[..at]),
        None => format!("{line}\n"),
    };
    let text = String::from_utf8(sealed.clone()).expect("text");
    let plain: String = text.lines().map(plain).collect();
    vec![sealed, plain.into_bytes()]
}
