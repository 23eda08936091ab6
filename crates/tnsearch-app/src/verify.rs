//! What was claimed, computed anew along another path: what is handed to `tnsearch-verify`, out of files and arrays.

use crate::load::{Data, LoadError};
use crate::structures::{Source, load_structure};
use serde_json::Value;
use std::path::Path;
use tnsearch::MemoryError;
use tnsearch::network::Network;
use tnsearch::problem::Stop;
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_io::verify::{self as numbers, Prover, array};
use tnsearch_io::{MemoryLimit, small, text::shown};
use tnsearch_verify::claims::{self, Findings, Given};
use tnsearch_verify::{Array, Certificate, Limits};

/// What is checked, beside the tensor.
#[derive(Debug, Default)]
pub struct Claims<'a> {
    /// The network, how its tensor was reshaped, and its error on record.
    pub network: Option<(&'a Network, Option<&'a Reshape>, Option<f64>)>,
    /// The summary of a command.
    pub summary: Option<&'a Value>,
    /// A certificate.
    pub certificate: Option<&'a Certificate>,
    /// The loss, where it is another than the squared error.
    pub loss: Option<String>,
    /// What the lower bound is about, where the summary does not say it.
    pub template: Option<Value>,
    /// The largest rank that it is about.
    pub max_rank: Option<u64>,
}

impl Claims<'_> {
    /// The kind of number that the tensor was taken as, as far as what is given says it.
    pub fn kind(&self) -> Option<Kind> {
        let said = self.summary.and_then(|s| s["dtype"].as_str());
        let said = said.or(self.certificate.map(|c| &*c.data.dtype));
        let kind = |name: &str| Kind::ALL.into_iter().find(|k| k.name() == name);
        said.and_then(kind).or(self.network.map(|(network, ..)| network.kind()))
    }

    /// How the tensor was reshaped: as the network says, or a certificate that goes without one.
    pub fn reshape(&self) -> Result<Option<Reshape>, LoadError> {
        match (&self.network, self.certificate) {
            (Some((_, reshape, _)), _) => Ok(reshape.cloned()),
            (None, Some(certificate)) => serde_json::from_value(certificate.reshaped.clone())
                .map_err(|e| LoadError::of("the certificate's 'reshaped'", e)),
            (None, None) => Ok(None),
        }
    }

    /// Checks every claim; a proof that is made for one may have so many cases.
    pub fn verify(self, data: &Data, cases: usize, stop: &Stop) -> Result<Findings, LoadError> {
        let (target, limit) = (&data.target, data.limit);
        // The checks have a copy of their own, of 64-bit parts, and what they take comes on top of both.
        let own = if target.kind().is_complex() { Kind::C64 } else { Kind::F64 };
        let taken = target.held_bytes() + (own.bytes() * target.entries()) as u64;
        MemoryError::check("checking it", taken as f64, Some(limit.bytes()))?;
        let asks = || stop.is_set();
        let limits = Limits { bytes: limit.bytes() - taken, stop: &asks };
        let read = |name: &str| named_network(name, limit);
        let reshape = data.reshape.as_ref();
        let prover = Prover { target, reshape, cases, limit, stop, read: &read };
        let json = |e: serde_json::Error| LoadError::Asked(e.to_string());
        let stored = |(network, reshape, rse)| numbers::stored(network, reshape, rse);
        let (x, known) = (numbers::tensor(target), numbers::known(target));
        let given = Given {
            x: &x,
            known: known.as_deref(),
            dtype: target.kind().name(),
            reshaped: numbers::reshaped(reshape).map_err(json)?,
            network: self.network.map(stored).transpose().map_err(json)?,
            summary: self.summary,
            certificate: self.certificate,
            removed: removed(data),
            loss: self.loss.as_deref(),
            template: self.template,
            max_rank: self.max_rank,
        };
        Ok(claims::verify(&given, &prover, &limits))
    }
}

/// A certificate in a file.
pub fn read_certificate(path: &Path) -> Result<Certificate, LoadError> {
    Certificate::parse(&small::read_text(path)?)
        .map_err(|e| LoadError::of(path.display(), shown(&e.to_string())))
}

/// The summary of a command in a file.
pub fn read_summary(path: &Path) -> Result<Value, LoadError> {
    let named = |e: &dyn std::fmt::Display| LoadError::of(path.display(), e.to_string());
    let value: Value = serde_json::from_str(&small::read_text(path)?)
        .map_err(|e| named(&format_args!("{e}; a summary is what '--json' writes")))?;
    if !value.is_object() || (value.get("dims").is_none() && value.get("params").is_none()) {
        return Err(named(&"it is no summary of a search, a fit or a decomposition"));
    }
    Ok(value)
}

/// The network that a summary of `round` names.
fn named_network(name: &str, limit: MemoryLimit) -> Result<Network, String> {
    if !Path::new(name).exists() {
        return Err(format!("the network before, '{name}', is not there"));
    }
    match load_structure(Path::new(name), limit).map_err(|e| e.to_string())?.source {
        Source::Network(before) => Ok(*before),
        _ => Err(format!("'{name}' is no network")),
    }
}

/// All entries, and those of them that were removed on purpose, in the shape in which the tensor was taken.
fn removed(data: &Data) -> Option<(Array, Vec<bool>)> {
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
