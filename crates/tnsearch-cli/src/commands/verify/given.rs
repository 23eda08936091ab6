//! What is handed to the checks: plain numbers, out of files.

use crate::commands::data::{Data, Wanted};
use crate::commands::options::read_text;
use anyhow::anyhow;
use std::path::Path;
use tnsearch::network::Network;
use tnsearch::problem::Target;
use tnsearch::tensor::{AnyTensor, Kind, Reshape};
use tnsearch_io::{MemoryLimit, text::shown};
use tnsearch_verify::{Array, Certificate};

/// The numbers of a tensor, times a power of two.
pub fn array(tensor: &AnyTensor, scale: f64) -> Array {
    let dims = tensor.dims().to_vec();
    let entries = || (0..tensor.len()).map(|k| tensor.entry(k));
    let re = entries().map(|x| x.re * scale).collect();
    let made = match tensor.kind().is_complex() {
        true => Array::complex(dims, re, entries().map(|x| x.im * scale).collect()),
        false => Array::real(dims, re),
    };
    made.unwrap_or_else(|| unreachable!("a tensor has as many entries as its shape says"))
}

/// The tensor as it was read.
pub fn tensor(target: &Target) -> Array {
    array(target.tensor(), target.scale())
}

/// Which entries errors are measured on; none: all.
pub fn known(target: &Target) -> Option<Vec<bool>> {
    target.measured().map(|mask| mask.as_slice().to_vec())
}

/// A network, number by number.
pub fn network(given: &Network) -> tnsearch_verify::Network {
    let structure = given.structure();
    let template = structure.template();
    tnsearch_verify::Network {
        dims: given.dims().to_vec(),
        external: (0..template.vertices()).map(|v| template.is_external(v)).collect(),
        at: structure.permutation().to_vec(),
        edges: structure.edges(),
        cores: given.cores().iter().map(|core| array(core, 1.0)).collect(),
    }
}

/// A certificate.
pub fn read_certificate(path: &Path) -> anyhow::Result<Certificate> {
    Certificate::parse(&read_text(path)?)
        .map_err(|e| anyhow!("{}: {}", path.display(), shown(&e.to_string())))
}

/// The tensor in the shape that a certificate says, unless another is asked for.
pub fn load_as(
    wanted: &Wanted,
    name: &str,
    dtype: Option<Kind>,
    certificate: &Certificate,
    limit: MemoryLimit,
) -> anyhow::Result<Data> {
    let reshape: Option<Reshape> = serde_json::from_value(certificate.reshaped.clone())
        .map_err(|e| anyhow!("the certificate's 'reshaped': {e}"))?;
    wanted.load_as(name, dtype, reshape.as_ref(), limit)
}
