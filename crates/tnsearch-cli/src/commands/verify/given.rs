//! What is handed to the checks, out of files.

use crate::commands::data::{Data, Wanted};
use crate::commands::options::read_text;
use crate::commands::structures::{Source, load_structure};
use anyhow::anyhow;
use std::path::Path;
use tnsearch::network::Network;
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_io::verify::array;
use tnsearch_io::{MemoryLimit, text::shown};
use tnsearch_verify::{Array, Certificate};

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

/// The network that a summary of `round` names.
pub fn named_network(name: &str, limit: MemoryLimit) -> Result<Network, String> {
    if !Path::new(name).exists() {
        return Err(format!("the network before, '{name}', is not there"));
    }
    match load_structure(Path::new(name), limit).map_err(|e| e.to_string())?.source {
        Source::Network(before) => Ok(*before),
        _ => Err(format!("'{name}' is no network")),
    }
}

/// All entries, and those of them that were removed on purpose, in the shape in which the tensor was taken.
pub fn removed(data: &Data) -> Option<(Array, Vec<bool>)> {
    let holed = data.holed.as_ref()?;
    let removed = holed.removed.as_ref()?;
    // Where entries change their places, what was removed is elsewhere.
    if data.reshape.as_ref().is_some_and(Reshape::copies) {
        return None;
    }
    let mut whole = array(&holed.whole, 1.0);
    whole.dims = data.target.dims().to_vec();
    Some((whole, removed.as_slice().to_vec()))
}
