//! A structure, from whatever file has one: a network, the JSON of a command, or a structure file.

use crate::load::{LoadError, check_shape};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use tnsearch::graph::{Structure, StructureFile};
use tnsearch::network::Network;
use tnsearch::tensor::{ModeNames, Reshape};
use tnsearch_io::{FileError, MemoryLimit, network, small};

/// What the file was that a structure came from.
#[derive(Debug)]
pub enum Source {
    /// A network.
    Network(Box<Network>),
    /// The JSON summary of a command.
    Summary,
    /// A structure file.
    File,
}

/// A structure that was read, and what its file says about the tensor it is for.
#[derive(Debug)]
pub struct Loaded {
    /// The structure.
    pub structure: Structure,
    /// The dimensions of its modes, where the file has them.
    pub dims: Option<Vec<usize>>,
    /// How the tensor was reshaped before.
    pub reshape: Option<Reshape>,
    /// The error on that tensor, where it is on record.
    pub rse: Option<f64>,
    /// Where it comes from.
    pub source: Source,
    path: PathBuf,
}

impl Loaded {
    /// Refuses a tensor that the structure is not for.
    pub fn check_shape(&self, dims: &[usize]) -> Result<(), LoadError> {
        if let Some(known) = &self.dims {
            let what = match self.source {
                Source::Network(_) => "the network",
                _ => "the structure",
            };
            // Whoever has not split the tensor thinks of its own shape.
            let known = match &self.reshape {
                Some(r) if r.to() != dims && r.to().len() != dims.len() => r.from(),
                _ => known,
            };
            check_shape(&self.path, what, known, dims)?;
        }
        Ok(self.structure.check_order(dims.len())?)
    }

    /// What the modes are called.
    pub fn names(&self) -> ModeNames<'_> {
        ModeNames::new(self.reshape.as_ref())
    }
}

/// The part of a command's JSON that says which structure it is about.
#[derive(Deserialize)]
struct Summary {
    dims: Vec<usize>,
    template: Value,
    permutation: Option<Vec<usize>>,
    edges: Option<Value>,
    #[serde(default)]
    reshaped: Option<Reshape>,
    rse: Option<f64>,
}

/// Reads a structure: a network that 'search', 'fit' or 'decompose' wrote, the JSON summary of one of them, or a
/// structure file.
pub fn load_structure(path: &Path, limit: MemoryLimit) -> Result<Loaded, LoadError> {
    if is_binary(path)? {
        let stored = network::read(path, limit)?;
        return Ok(Loaded {
            structure: stored.network.structure().clone(),
            dims: Some(stored.network.dims().to_vec()),
            reshape: stored.reshape,
            rse: Some(stored.rse),
            source: Source::Network(Box::new(stored.network)),
            path: path.to_owned(),
        });
    }
    let text = small::read_text(path)?;
    let named = |e: &dyn std::fmt::Display| LoadError::of(path.display(), e.to_string());
    let first = text.lines().next().unwrap_or_default();
    if is_journal(first) {
        return Err(named(&"this is a journal; 'tnsearch pick' makes a network from it"));
    }
    let value: Value = serde_json::from_str(&text).map_err(|e| named(&what_is(&e)))?;
    if value.get("dims").is_none() {
        // Read once more from the text: errors then name the line.
        let file: StructureFile = serde_json::from_str(&text).map_err(|e| named(&what_is(&e)))?;
        let structure = Structure::from_file(&file).map_err(|e| named(&e))?;
        let path = path.to_owned();
        let source = Source::File;
        return Ok(Loaded { structure, dims: None, reshape: None, rse: None, source, path });
    }
    let summary: Summary = serde_json::from_value(value).map_err(|e| named(&what_is(&e)))?;
    let (Some(permutation), Some(edges)) = (summary.permutation, summary.edges) else {
        return Err(named(&"it has no structure: nothing was found"));
    };
    let file = serde_json::json!({
        "template": summary.template, "permutation": permutation, "edges": edges,
    });
    let file: StructureFile = serde_json::from_value(file).map_err(|e| named(&what_is(&e)))?;
    let structure = Structure::from_file(&file).map_err(|e| named(&e))?;
    let wrong = summary.reshaped.as_ref().is_some_and(|r| r.to() != summary.dims);
    if wrong || structure.permutation().len() != summary.dims.len() {
        return Err(named(&"its dims, its structure and its reshape contradict each other"));
    }
    Ok(Loaded {
        structure,
        dims: Some(summary.dims),
        reshape: summary.reshaped,
        rse: summary.rse,
        source: Source::Summary,
        path: path.to_owned(),
    })
}

fn what_is(e: &serde_json::Error) -> String {
    format!(
        "{e}; a structure is {{\"template\":\"ring\",\"permutation\":[0,1,...],\
         \"edges\":[[0,1,2],...]}}, the JSON of a search, or a network"
    )
}

/// Whether a line is the first of a journal.
pub fn is_journal(line: &str) -> bool {
    let value: Option<Value> = serde_json::from_str(line).ok();
    value.is_some_and(|v| v.get("format").and_then(Value::as_str) == Some("tnsearch-journal"))
}

/// Whether a file is no text: a safetensors file begins with a length of eight bytes.
pub fn is_binary(path: &Path) -> Result<bool, FileError> {
    // What comes through a pipe is text: it can be read once only.
    let start = small::start(path, 8)?.unwrap_or_default();
    Ok(start.iter().any(|&b| b == 0 || b == 0x93))
}
