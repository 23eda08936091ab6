//! Cut spectra within limits of time and memory.

use super::trees::ALL_TREES;
use super::{CutBound, MAX_MODES, Spectra, SpectraSettings};
use crate::graph::Template;
use crate::problem::{Objective, Stop, Target};
use thiserror::Error;

/// Cut spectra are computed in advance where that takes at most this many operations (about a minute); else
/// when they are asked for.
const PREPARE_FLOPS: f64 = 5e12;

/// Below this error the squares of singular values drown in rounding.
const GRAM_RSE: f64 = 1e-10;

/// The relaxed problem knows sets of this many vertices.
const MAX_VERTICES: usize = 64;

/// Why structures cannot be bounded.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BoundError {
    /// The tensor has too many modes.
    #[error("the tensor has {order} modes; cuts are known for at most {MAX_MODES}")]
    Modes {
        /// Its modes.
        order: usize,
    },
    /// The tensor has holes.
    #[error("cuts of a tensor with holes bound nothing")]
    Holes,
    /// The template has too many vertices for the relaxed problem.
    #[error(
        "template '{template}' has {vertices} vertices; bounds over all structures need at most {MAX_VERTICES}"
    )]
    Vertices {
        /// The template's name.
        template: String,
        /// Its vertices.
        vertices: usize,
    },
    /// One cut alone would take more than half the memory allowed.
    #[error(
        "bounding the error of structures needs {} of memory, but only half of {} may be used for it; \
         see --max-memory",
        megabytes(*needed), megabytes(*limit)
    )]
    Memory {
        /// What a cut takes, in bytes.
        needed: f64,
        /// The limit, in bytes.
        limit: f64,
    },
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(String),
}

fn megabytes(bytes: f64) -> String {
    match bytes {
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}

/// What computing bounds may use.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct BoundLimits {
    /// Bytes of memory; cuts take at most half of them. None: no limit.
    pub max_bytes: Option<u64>,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
}

impl BoundLimits {
    fn bytes(&self) -> f64 {
        self.max_bytes.map_or(f64::INFINITY, |bytes| bytes as f64)
    }

    /// How many cuts may be computed at a time.
    fn cuts_at_a_time(&self, spectra: &Spectra) -> usize {
        let held = spectra.target().held_bytes() as f64;
        ((self.bytes() / 2.0).min(self.bytes() - held) / spectra.bytes()) as usize
    }
}

/// Refuses templates too large for the relaxed problem.
pub fn check_template(template: &Template) -> Result<(), BoundError> {
    match template.vertices() {
        vertices if vertices > MAX_VERTICES => {
            Err(BoundError::Vertices { template: template.name().to_owned(), vertices })
        }
        _ => Ok(()),
    }
}

/// Whether an objective needs singular values themselves, not their squares.
pub fn needs_svd(objective: Objective) -> bool {
    objective.max_error().is_some_and(|eps| eps < GRAM_RSE)
}

/// The error that spectra are compared with; none where it may be any.
pub fn matters(objective: Objective) -> Option<f64> {
    objective.max_error().or(objective.lambda().map(|lambda| 0.01 / lambda.max(1.0)))
}

impl Spectra {
    /// The spectra of a tensor's cuts, none computed yet; refused where they cannot be.
    pub fn within(target: &Target, svd: bool, limits: &BoundLimits) -> Result<Spectra, BoundError> {
        if !target.is_whole() {
            return Err(BoundError::Holes);
        }
        let order = target.dims().len();
        if order > MAX_MODES {
            return Err(BoundError::Modes { order });
        }
        let spectra = Spectra::new(target, SpectraSettings { svd, ..SpectraSettings::default() });
        if limits.cuts_at_a_time(&spectra) == 0 {
            return Err(BoundError::Memory { needed: spectra.bytes(), limit: limits.bytes() });
        }
        let held = target.held_bytes() as f64;
        Ok(spectra.with_room((limits.bytes() - held) / 2.0))
    }

    /// Whether all spectra can be computed in about a minute.
    pub fn affordable(&self) -> bool {
        self.prepare_flops() <= PREPARE_FLOPS
    }

    /// Computes the spectra in parallel, where that is affordable, until it is told to stop.
    pub fn prepare_within(&self, limits: &BoundLimits, stop: &Stop) -> Result<(), BoundError> {
        if !self.affordable() {
            return Ok(());
        }
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = limits.threads.unwrap_or_else(processors).min(limits.cuts_at_a_time(self));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .build()
            .map_err(|e| BoundError::Threads(e.to_string()))?;
        pool.install(|| self.prepare(stop));
        Ok(())
    }
}

impl CutBound {
    /// The bound of a tensor for searches of a template: spectra computed until `hurry`, and none after `stop`.
    pub fn prepared(
        target: &Target,
        template: &Template,
        objective: Objective,
        limits: &BoundLimits,
        (stop, hurry): (&Stop, &Stop),
    ) -> Result<CutBound, BoundError> {
        check_template(template)?;
        let spectra = Spectra::within(target, needs_svd(objective), limits)?.stoppable(stop);
        let spectra = spectra.mattering(matters(objective));
        // Of the cuts of very many modes a search over all trees needs few.
        if !template.is_any_tree() || template.order() <= ALL_TREES {
            spectra.prepare_within(limits, hurry)?;
        }
        Ok(CutBound::new(spectra))
    }
}
