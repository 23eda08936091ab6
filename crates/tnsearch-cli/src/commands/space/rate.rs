//! How many structures can be tried in a second, measured on a tensor.

use anyhow::anyhow;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;
use std::time::Instant;
use tnsearch::fit::{FitError, FitSettings, Request, Run, fit};
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::Target;
use tnsearch::rng::{Rng, stream};
use tnsearch::search::Resolved;
use tnsearch_io::MemoryLimit;

/// Structures are tried for about so long, and no more than so many.
const SECONDS: f64 = 2.0;
const SAMPLES: usize = 1000;

/// What was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rate {
    /// Random structures tried.
    pub samples: usize,
    /// Those that were fitted; the others are too large, which is seen at once.
    pub evaluations: usize,
    /// The time it took.
    pub seconds: f64,
    /// Structures a second.
    pub per_second: f64,
}

/// Fits random structures (uniform permutation and ranks) as a search does, on all threads.
pub fn measure(
    target: &Target,
    template: &Arc<Template>,
    max_rank: usize,
    threads: Option<usize>,
    limit: MemoryLimit,
) -> anyhow::Result<Rate> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| anyhow!("cannot start the threads: {e}"))?;
    let settings = FitSettings::default().with(|s| s.max_bytes = Some(limit.bytes()));
    let settings = settings.check()?;
    let max_phi = Resolved::PAPER_PHI;
    let mut rng = stream(0, b"space rate");
    let (mut samples, mut evaluations) = (0, 0);
    let begun = Instant::now();
    // At least once, however slow the machine.
    while samples == 0 || samples < SAMPLES && begun.elapsed().as_secs_f64() < SECONDS {
        let batch: Vec<Structure> = (0..pool.current_num_threads())
            .map(|_| random(template, max_rank, &mut rng))
            .collect::<Result<_, _>>()?;
        let tried: Vec<Result<bool, FitError>> = pool.install(|| {
            batch
                .par_iter()
                .map(|s| {
                    if s.phi(target.dims()) >= max_phi {
                        return Ok(false);
                    }
                    let request = Request::new(s.canonical().graph, settings.clone(), 0);
                    match fit(target, &request, &Run::default()) {
                        Err(FitError::Memory(_)) => Ok(false),
                        fitted => fitted.map(|_| true),
                    }
                })
                .collect()
        });
        for fitted in tried {
            samples += 1;
            evaluations += usize::from(fitted?);
        }
    }
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    Ok(Rate { samples, evaluations, seconds, per_second: samples as f64 / seconds })
}

fn random(
    template: &Arc<Template>,
    max_rank: usize,
    rng: &mut Rng,
) -> Result<Structure, tnsearch::graph::GraphError> {
    let mut permutation = template.external_vertices();
    permutation.shuffle(rng);
    let ranks = template.edges().iter().map(|_| rng.random_range(1..=max_rank)).collect();
    Structure::new(template.clone(), permutation, ranks)
}
