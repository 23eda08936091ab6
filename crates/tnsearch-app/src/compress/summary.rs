//! What is said about a tensor that was compressed.

use super::Compressed;
use serde::Serialize;
use tnsearch::search::StoppedBy;
use tnsearch_io::network::Origin;
use tnsearch_io::{Dtype, Precision};

/// What is said about a tensor that was compressed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CompressSummary {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its type.
    pub dtype: Dtype,
    /// Whether it is a picture.
    pub picture: bool,
    /// The entries of all cores.
    pub params: u128,
    /// The logarithm of how many times fewer they are.
    pub log10_cr: f64,
    /// The squared relative error of the file.
    pub rse: f64,
    /// Its root.
    pub re: f64,
    /// That before the cores were rounded.
    pub re_unrounded: f64,
    /// The PSNR in dB.
    pub psnr: f64,
    /// What it refers to.
    pub peak: f64,
    /// The numbers in the file.
    pub cores: String,
    /// The bytes of what was compressed.
    pub bytes_before: u64,
    /// The bytes of the file.
    pub bytes: u64,
    /// Whether the file is what was asked for.
    pub target_reached: bool,
    /// Why the search ended.
    pub stopped_by: StoppedBy,
    /// How long it took.
    pub seconds: f64,
    /// The seed.
    pub seed: u64,
}

/// What a summary says that the network does not.
#[derive(Debug, Clone, Copy)]
pub struct Beside {
    /// What was compressed.
    pub origin: Origin,
    /// The numbers in the file.
    pub cores: Precision,
    /// The bytes of what was compressed; none: those of an array of its type.
    pub bytes_before: Option<u64>,
    /// The bytes of the file.
    pub bytes: u64,
    /// How long it took.
    pub seconds: f64,
    /// The seed.
    pub seed: u64,
}

impl Compressed {
    /// What is said about it.
    pub fn summary(&self, beside: Beside) -> CompressSummary {
        let entries: usize = self.shape.iter().product();
        let (params, dtype) = (self.network.params(), beside.origin.dtype);
        CompressSummary {
            shape: self.shape.clone(),
            dtype,
            picture: beside.origin.picture,
            params,
            log10_cr: (entries as f64 / params as f64).log10(),
            rse: self.rse,
            re: self.rse.sqrt(),
            re_unrounded: self.unrounded.sqrt(),
            psnr: self.psnr,
            peak: self.scale.peak,
            cores: beside.cores.to_string(),
            bytes_before: beside.bytes_before.unwrap_or((entries * dtype.bytes()) as u64),
            bytes: beside.bytes,
            target_reached: self.target_reached,
            stopped_by: self.stopped_by,
            seconds: beside.seconds,
            seed: beside.seed,
        }
    }
}
