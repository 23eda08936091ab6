//! A compressed model as dense weights again: names, types and order as they were, one tensor at a time.

use super::error::ModelError;
use super::job::dense_bytes;
use super::manifest::{KEY, Manifest, Stored, StoredTerm};
use super::term::Term;
use std::io::Write;
use std::path::Path;
use tnsearch::problem::Stop;
use tnsearch::tensor::{Scalar, Tensor};
use tnsearch_io::weights::{Entry, PartFile, WeightsFile, header_bytes};
use tnsearch_io::{Dtype, Problem};

/// Writes the dense weights of a compressed model; tells each tensor that has cores. What was written when it is stopped goes.
pub fn restore(
    file: &WeightsFile,
    output: &Path,
    max_bytes: u64,
    stop: &Stop,
    tell: &mut dyn FnMut(&Stored),
) -> Result<Manifest, ModelError> {
    let manifest = Manifest::read(file)?;
    check_memory(&manifest, max_bytes)?;
    let mut entries = Vec::new();
    let mut at = 0;
    for stored in &manifest.tensors {
        let bytes = match (&stored.terms, stored.float()) {
            (Some(_), Some(dtype)) => {
                let count: u64 = stored.shape.iter().map(|&d| d as u64).product();
                count * dtype.bytes() as u64
            }
            _ => file.find(&stored.name).map_or(0, |k| file.entries()[k].bytes()),
        };
        // Where the tensor, or the first of its cores, stands in the header.
        let first = stored.terms.iter().flatten().flat_map(|t| &t.cores).next();
        let place = file.find(first.unwrap_or(&stored.name)).map_or(0, |k| file.entries()[k].place);
        let (name, dtype, shape) =
            (stored.name.clone(), stored.dtype.clone(), stored.shape.clone());
        entries.push(Entry::new(name, dtype, shape, at, bytes).at_place(place));
        at += bytes;
    }
    let mut notes = file.notes().clone();
    notes.remove(KEY);
    let mut part = PartFile::begin(output, &header_bytes(&entries, &notes))?;
    let written = fill(file, &manifest, &mut part, stop, tell);
    match written {
        Ok(()) => part.finish()?,
        Err(e) => {
            part.discard();
            return Err(e);
        }
    }
    Ok(manifest)
}

/// Refuses a tensor that would take too much memory: a few small cores can stand for any number of entries.
fn check_memory(manifest: &Manifest, limit: u64) -> Result<(), ModelError> {
    for stored in manifest.tensors.iter().filter(|t| t.terms.is_some()) {
        let entries: f64 = stored.shape.iter().map(|&d| d as f64).product();
        // The sum of its terms, one of them, and its bytes.
        let wide = stored.float() == Some(Dtype::F64);
        let needed = entries * if wide { 24.0 } else { 12.0 };
        if needed > limit as f64 {
            let layer = tnsearch_io::weights::shown(&stored.name);
            return Err(ModelError::Memory { layer, needed: needed as u64, limit });
        }
    }
    Ok(())
}

fn fill(
    file: &WeightsFile,
    manifest: &Manifest,
    part: &mut PartFile,
    stop: &Stop,
    tell: &mut dyn FnMut(&Stored),
) -> Result<(), ModelError> {
    for stored in &manifest.tensors {
        if stop.is_set() {
            return Err(ModelError::Interrupted);
        }
        match (&stored.terms, stored.float()) {
            (Some(terms), Some(dtype)) => {
                tell(stored);
                let entries = stored.shape.iter().product();
                let bytes = match dtype {
                    Dtype::F64 => dense_bytes(&read::<f64>(file, terms)?, entries, dtype)?,
                    _ => dense_bytes(&read::<f32>(file, terms)?, entries, dtype)?,
                };
                part.write_all(&bytes).map_err(|e| part.failed(&e))?;
            }
            _ => {
                if let Some(k) = file.find(&stored.name) {
                    file.copy(k, part).map_err(|e| ModelError::reading(file, e))?;
                }
            }
        }
    }
    Ok(())
}

/// The terms of a tensor.
fn read<T: Scalar>(file: &WeightsFile, terms: &[StoredTerm]) -> Result<Vec<Term<T>>, ModelError> {
    let core = |name: &String| -> Result<Tensor<T>, ModelError> {
        let missing = || Problem::Damaged(format!("core '{name}' is missing")).of(file.path());
        let k = file.find(name).ok_or_else(missing)?;
        let shape = file.entries()[k].shape.clone();
        let data = file.read(k)?;
        Tensor::new(shape, data).map_err(|e| Problem::from(e).of(file.path()).into())
    };
    let term = |t: &StoredTerm| -> Result<Term<T>, ModelError> {
        let cores = t.cores.iter().map(core).collect::<Result<_, _>>()?;
        Ok(Term { modes: t.modes.clone(), einsum: t.einsum.clone(), cores, pairing: None })
    };
    terms.iter().map(term).collect()
}
