//! `tnsearch info`: what is in a file.

use super::data::{reshape_text, warn_rounded};
use super::describe::{
    ErrorReport, MEASURE, StructureReport, line, picture_lines, size_line, structure_lines,
    tensor_text,
};
use super::options::memory;
use super::outputs::{Report, ReportOptions, check_distinct, tensor_path};
use crate::Exit;
use crate::text::{number, shape};
use clap::Args;
use serde::Serialize;
use std::path::Path;
use tnsearch::tensor::{Kind, ModeNames, Reshape, unflatten};
use tnsearch_app::structures::{Loaded, Source, is_binary, load_structure};
use tnsearch_io::network::{self, StoredNetwork};
use tnsearch_io::{
    Array, Layout, Listed, MemoryLimit, list_arrays, read_tensor, small, split_key,
    text::{bytes, shown},
};

/// Show what is in a network file, a tensor file, an archive, a structure file or the JSON of a search.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch info net.safetensors      structure, params, compression, and a drawing
  tnsearch info out.json             the structure that a search found
  tnsearch info X.npy                dimensions, type, norm
  tnsearch info model.safetensors    the arrays in an archive
  tnsearch info model.safetensors:layer.3")]
pub struct Info {
    /// A network, X.npy, X.npz or X.safetensors, the latter two with or without :key, or a JSON file with a structure
    file: String,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    max_memory: Option<u64>,
    #[command(flatten)]
    report: ReportOptions,
}

pub fn run(args: &Info) -> anyhow::Result<Exit> {
    let (path, key) = split_key(&args.file);
    check_distinct(
        &[("the file", &tensor_path(&args.file))],
        &[("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    if key.is_none() {
        if is_json(&path)? {
            return structure_info(args, &load_structure(&path, limit)?, &report);
        }
        if network::is_network(&path)? {
            return network_info(args, &network::read(&path, limit)?, &report);
        }
        let arrays = list_arrays(&path)?;
        if arrays.len() > 1 {
            return archive_info(args, &arrays, &report);
        }
    }
    tensor_info(args, limit, &report)
}

#[derive(Serialize)]
struct NetworkSummary<'a> {
    kind: &'a str,
    #[serde(flatten)]
    structure: StructureReport,
    compression: f64,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    written_by: &'a str,
    input: &'a str,
}

fn network_info(args: &Info, stored: &StoredNetwork, report: &Report) -> anyhow::Result<Exit> {
    let (structure, dims) = (stored.network.structure(), stored.network.dims());
    let summary = NetworkSummary {
        kind: "network",
        structure: StructureReport::new(structure, dims),
        compression: 1.0 / stored.network.phi(),
        dtype: stored.network.kind(),
        reshaped: stored.reshape.as_ref(),
        error: ErrorReport::new(&MEASURE, stored.rse),
        written_by: &stored.written_by,
        input: &args.file,
    };
    report.write(&summary, || {
        let mut out = String::new();
        let (name, vertices) = (structure.template().name(), structure.template().vertices());
        line(&mut out, "network", format!("{}, {name} with {vertices} cores", args.file));
        line(&mut out, "tensor", shape(stored.shape()));
        let names = ModeNames::new(stored.reshape.as_ref());
        if let Some(reshape) = &stored.reshape {
            line(&mut out, "reshaped", reshape_text(reshape));
        }
        structure_lines(&mut out, structure, dims, names, &MEASURE, stored.rse);
        line(&mut out, "written by", format!("tnsearch {}", stored.written_by));
        out
    })?;
    Ok(Exit::Done)
}

/// Whether a file is one of JSON: text that begins with a brace.
fn is_json(path: &Path) -> anyhow::Result<bool> {
    if is_binary(path)? {
        return Ok(false);
    }
    let start = small::start(path, 64)?;
    Ok(start.is_none_or(|start| start.trim_ascii_start().starts_with(b"{")))
}

#[derive(Serialize)]
struct StructureSummary<'a> {
    kind: &'a str,
    #[serde(flatten)]
    structure: StructureReport,
    reshaped: Option<&'a Reshape>,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    input: &'a str,
}

fn structure_info(args: &Info, loaded: &Loaded, report: &Report) -> anyhow::Result<Exit> {
    let structure = &loaded.structure;
    let (kind, of) = match loaded.source {
        Source::Summary => ("summary", "the structure of a summary"),
        _ => ("structure", "a structure"),
    };
    let summary = StructureSummary {
        kind,
        structure: match &loaded.dims {
            Some(dims) => StructureReport::new(structure, dims),
            None => StructureReport::bare(structure),
        },
        reshaped: loaded.reshape.as_ref(),
        error: ErrorReport::new(&MEASURE, loaded.rse),
        input: &args.file,
    };
    report.write(&summary, || {
        let mut out = String::new();
        let (name, vertices) = (structure.template().name(), structure.template().vertices());
        line(&mut out, kind, format!("{}, {of}: {name} with {vertices} cores", args.file));
        let dims = loaded.dims.as_deref().unwrap_or_default();
        if let Some(dims) = &loaded.dims {
            let own = loaded.reshape.as_ref().map_or(&dims[..], Reshape::from);
            line(&mut out, "tensor", shape(own));
            if let Some(reshape) = &loaded.reshape {
                line(&mut out, "reshaped", reshape_text(reshape));
            }
            size_line(&mut out, structure, dims);
        }
        if let Some(rse) = loaded.rse {
            line(&mut out, "error", MEASURE.text(rse, number));
        }
        picture_lines(&mut out, structure, dims, loaded.names());
        out
    })?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct TensorSummary<'a> {
    kind: &'a str,
    order: usize,
    dims: &'a [usize],
    dtype: &'a str,
    fortran_order: bool,
    big_endian: bool,
    entries: usize,
    dense_bytes: usize,
    norm: Option<f64>,
    /// The first entry that is no finite number.
    not_finite_at: Option<Vec<usize>>,
    input: &'a str,
}

fn tensor_info(args: &Info, limit: MemoryLimit, report: &Report) -> anyhow::Result<Exit> {
    let read = read_tensor(&args.file, None, limit)?;
    warn_rounded(&args.file, &read);
    let Array { tensor, layout, .. } = read;
    let bad = tensor.first_not_finite();
    let norm = tensor.norm();
    let summary = TensorSummary {
        kind: "tensor",
        order: tensor.order(),
        dims: tensor.dims(),
        dtype: layout.dtype.name(),
        fortran_order: layout.fortran,
        big_endian: layout.big_endian,
        entries: tensor.len(),
        dense_bytes: tensor.bytes(),
        norm: Some(norm).filter(|n| n.is_finite()),
        not_finite_at: bad.map(|flat| unflatten(flat, tensor.dims())),
        input: &args.file,
    };
    report.write(&summary, || {
        let mut out = String::new();
        line(&mut out, "tensor", tensor_text(&args.file, tensor.dims()));
        line(&mut out, "type", type_text(&layout));
        line(&mut out, "dense", format!("{} in memory", bytes(tensor.bytes() as u128)));
        let beyond = norm.is_infinite() && bad.is_none();
        line(&mut out, "norm", if beyond { "above 1.79e308".to_owned() } else { number(norm) });
        if let Err(e) = tensor.check() {
            line(&mut out, "problem", e);
        }
        out
    })?;
    Ok(Exit::Done)
}

fn type_text(layout: &Layout) -> String {
    let order = if layout.fortran { ", Fortran order" } else { "" };
    let bytes = if layout.big_endian { ", big-endian" } else { "" };
    format!("{}{order}{bytes}", layout.dtype.name())
}

#[derive(Serialize)]
struct ArchiveSummary<'a> {
    kind: &'a str,
    arrays: Vec<ArraySummary<'a>>,
    input: &'a str,
}

#[derive(Serialize)]
struct ArraySummary<'a> {
    key: &'a str,
    dims: Option<&'a [usize]>,
    dtype: Option<&'a str>,
    problem: Option<String>,
}

fn archive_info(args: &Info, arrays: &[Listed], report: &Report) -> anyhow::Result<Exit> {
    let about = |listed: &'_ Listed| -> String {
        match &listed.layout {
            Ok(layout) => format!("{}  {}", shape(&layout.dims), type_text(layout)),
            Err(problem) => problem.to_string(),
        }
    };
    let summary = ArchiveSummary {
        kind: "archive",
        arrays: arrays
            .iter()
            .map(|a| ArraySummary {
                key: &a.key,
                dims: a.layout.as_ref().ok().map(|l| l.dims.as_slice()),
                dtype: a.layout.as_ref().ok().map(|l| l.dtype.name()),
                problem: a.layout.as_ref().err().map(ToString::to_string),
            })
            .collect(),
        input: &args.file,
    };
    report.write(&summary, || {
        let mut out = String::new();
        line(&mut out, "archive", format!("{}, {} arrays", args.file, arrays.len()));
        let keys: Vec<String> = arrays.iter().map(|a| shown(&a.key)).collect();
        let width = keys.iter().map(|key| key.chars().count()).max().unwrap_or(0);
        for (listed, key) in arrays.iter().zip(keys) {
            let key = format!("{key:<width$}");
            line(&mut out, "", format!("{key}  {}", about(listed)));
        }
        out
    })?;
    Ok(Exit::Done)
}
