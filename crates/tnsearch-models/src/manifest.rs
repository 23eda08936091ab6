//! What the cores in a compressed model are.

use super::front::TermShape;
use super::layer::Layer;
use serde::{Deserialize, Serialize};
use tnsearch_io::weights::{Entry, WeightsFile, shown};
use tnsearch_io::{Dtype, FileError, Problem};

/// The entry of the metadata that holds it.
pub const KEY: &str = "tnsearch_model";

/// What the cores in a file are, in the order of the model's tensors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this description.
    pub version: u32,
    /// The program that wrote it.
    pub tnsearch: String,
    /// Every tensor of the model, in its order.
    pub tensors: Vec<Stored>,
}

/// A tensor of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Its name.
    pub name: String,
    /// Its type in the model.
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// What it is the sum of; none: it is in the file as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<Vec<StoredTerm>>,
}

/// A term: `einsum(text, cores).reshape(shape)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTerm {
    /// The factors of rows, then of columns: the shape of the einsum's result.
    pub modes: Vec<usize>,
    /// What the axes of the cores are, as NumPy reads it.
    pub einsum: String,
    /// The names of the cores in the file.
    pub cores: Vec<String>,
}

impl Manifest {
    /// The manifest, and the entries of the file: layers by their terms (none: as it is), everything else copied.
    pub fn plan(file: &WeightsFile, layers: &[(&Layer, Vec<TermShape>)]) -> (Manifest, Vec<Entry>) {
        let taken = |name: &str| file.find(name).is_some();
        let mut at = 0;
        let (mut tensors, mut entries) = (Vec::new(), Vec::new());
        for (k, entry) in file.entries().iter().enumerate() {
            let (name, dtype, shape) =
                (entry.name.clone(), entry.stored.clone(), entry.shape.clone());
            let layer = layers.iter().find(|(l, terms)| l.index == k && !terms.is_empty());
            let Some((layer, terms)) = layer else {
                entries.push(
                    Entry::new(name.clone(), dtype.clone(), shape.clone(), at, entry.bytes())
                        .at_place(entry.place),
                );
                at += entry.bytes();
                tensors.push(Stored { name, dtype, shape, terms: None });
                continue;
            };
            let (mut stored, mut number) = (Vec::new(), 0);
            for term in terms {
                let mut cores = Vec::new();
                for shape in &term.cores {
                    // A name that no tensor of the model has.
                    let mut core = format!("{name}.core.{number}");
                    while taken(&core) {
                        core.push('_');
                    }
                    let count: u64 = shape.iter().map(|&d| d as u64).product();
                    let bytes = count * layer.cores.bytes() as u64;
                    entries.push(
                        Entry::new(
                            core.clone(),
                            layer.cores.stored().into(),
                            shape.clone(),
                            at,
                            bytes,
                        )
                        .at_place(entry.place),
                    );
                    at += bytes;
                    number += 1;
                    cores.push(core);
                }
                let (modes, einsum) = (term.modes.clone(), term.einsum.clone());
                stored.push(StoredTerm { modes, einsum, cores });
            }
            tensors.push(Stored { name, dtype, shape, terms: Some(stored) });
        }
        let tnsearch = env!("CARGO_PKG_VERSION").to_owned();
        (Manifest { version: 1, tnsearch, tensors }, entries)
    }

    /// That of a compressed model, checked against the tensors of its file.
    pub fn read(file: &WeightsFile) -> Result<Manifest, FileError> {
        let problem = |text: String| Problem::Damaged(text).of(file.path());
        let Some(text) = file.notes().get(KEY) else {
            let what = "a model written by 'compress-model'".to_owned();
            return Err(Problem::Format(what).of(file.path()));
        };
        let manifest: Manifest =
            serde_json::from_str(text).map_err(|e| problem(format!("bad manifest: {e}")))?;
        if manifest.version != 1 {
            let text = format!("its manifest is of version {}, not 1", manifest.version);
            return Err(problem(text));
        }
        for stored in &manifest.tensors {
            let missing = |name: &str| problem(format!("tensor '{}' is missing", shown(name)));
            let entries = stored.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
            let name = shown(&stored.name);
            let Some(terms) = &stored.terms else {
                let k = file.find(&stored.name).ok_or_else(|| missing(&stored.name))?;
                let Entry { stored: dtype, shape, .. } = &file.entries()[k];
                if (dtype, shape) != (&stored.dtype, &stored.shape) {
                    return Err(problem(format!("'{name}' is not what the manifest says")));
                }
                continue;
            };
            if terms.is_empty() {
                return Err(problem(format!("'{name}' has no cores")));
            }
            if stored.float().is_none() {
                return Err(problem(format!("'{name}' of type {} has no cores", stored.dtype)));
            }
            for term in terms {
                let modes = term.modes.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
                if modes != entries || entries.is_none() {
                    return Err(problem(format!("a term of '{name}' has another size")));
                }
                for core in &term.cores {
                    file.find(core).ok_or_else(|| missing(core))?;
                }
            }
        }
        Ok(manifest)
    }
}

impl Stored {
    /// Its type, where it is one of weights.
    pub fn float(&self) -> Option<Dtype> {
        let entry = Entry::new(String::new(), self.dtype.clone(), Vec::new(), 0, 0);
        entry.dtype().filter(|d| tnsearch_io::weights::is_float(*d))
    }
}
