//! The experiments, one file each: which tensors, which methods, how often, and the tables of what comes out.

mod completion;
mod compression;
mod convergence;
mod cover;
mod lambda;
mod table2;
mod table3;
mod tgp;

use super::table::Done;
use super::tasks::TaskList;
use super::{Method, ReproduceError};

/// An experiment.
pub(super) struct Description {
    pub name: &'static str,
    /// Collects the results it needs, with further methods where it compares methods.
    pub plan: fn(&mut TaskList, Vec<Method>) -> Result<(), ReproduceError>,
    /// Its tables of the results there are, in Markdown.
    pub tables: fn(&[Done]) -> String,
    /// Its figure.
    pub figure: fn(&[Done]) -> String,
    /// Every result, a line each.
    pub csv: fn(&[Done]) -> String,
}

/// The experiments there are.
pub(super) const EXPERIMENTS: [&Description; 8] = [
    &table2::TABLE2,
    &table3::TABLE3,
    &cover::COVER,
    &convergence::CONVERGENCE,
    &lambda::LAMBDA_WEIGHT,
    &compression::COMPRESSION,
    &completion::COMPLETION,
    &tgp::TGP,
];
