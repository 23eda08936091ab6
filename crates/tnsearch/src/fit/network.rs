//! A network from one structure: a fit with all that a search would leave to its engine.

use super::{CheckedFit, FitError, FitSettings, Fitted, Request, Run, fit, sweep_cost};
use crate::graph::Structure;
use crate::network::{Network, NetworkError};
use crate::problem::{Measure, Stop, Target};
use thiserror::Error;

/// Why no network could be fitted.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum NetworkFitError {
    /// The fit could not be made.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The cores make no network, or one too large to be contracted.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(String),
}

/// LM starts by default where one structure is fitted alone: it is worth the time.
pub const RESCUE_ALONE: usize = 8;

/// A network that was fitted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FittedNetwork {
    /// The network.
    pub network: Network,
    /// Its error by the loss it was fitted by.
    pub error: f64,
    /// Its RSE.
    pub rse: f64,
    /// Sweeps (ALS), steps (Adam) or iterations (LM), over all starts made.
    pub sweeps: usize,
    /// Starts made.
    pub restarts: usize,
    /// Whether an interrupt cut the fit short: this is then the best so far.
    pub interrupted: bool,
}

/// Multiply-adds of a sweep that is made also where the time is up: a tenth of a second or so.
const LITTLE: f64 = 1e9;

/// Fits the network of one structure by the loss and until the stop of a [`Run`], on so many threads (none: one per
/// processor).
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::fit::{FitSettings, Run, fit_network};
/// use tnsearch::graph::{Structure, Template};
/// use tnsearch::problem::Target;
/// use tnsearch::tensor::Tensor;
/// let target = Target::new(Tensor::new(vec![2, 2], vec![2.0, 0.0, 0.0, 1.0]).unwrap()).unwrap();
/// let path = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![1]).unwrap();
/// let settings = FitSettings::default().check().unwrap();
/// let fitted = fit_network(&target, &path, &settings, 0, None, &Run::default()).unwrap();
/// assert!((fitted.rse - 0.2).abs() < 1e-9);
/// ```
pub fn fit_network(
    target: &Target,
    structure: &Structure,
    settings: &CheckedFit,
    seed: u64,
    threads: Option<usize>,
    run: &Run<'_>,
) -> Result<FittedNetwork, NetworkFitError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map_err(|e| NetworkFitError::Threads(e.to_string()))?;
    let graph = structure.canonical().graph;
    let fit = |settings: CheckedFit, stop: Stop| {
        let run = Run { stop, parallel: true, ..run.clone() };
        pool.install(|| fit(target, &Request::new(graph.clone(), settings, seed), &run))
    };
    let stop = &run.stop;
    let fitted = match settings.max_seconds {
        None => fit(settings.clone(), stop.clone())?,
        Some(seconds) => {
            // A limit that ends the fit is an interruption.
            let untimed = FitSettings { max_seconds: None, ..FitSettings::clone(settings) };
            let untimed = untimed.check().map_err(FitError::from)?;
            match fit(untimed, stop.within_seconds(seconds)) {
                // What takes no time to speak of has an answer also where there is none.
                Err(FitError::Time | FitError::Interrupted)
                    if !stop.is_set() && sweep_cost(&graph, target.dims()) < LITTLE =>
                {
                    Fitted { interrupted: true, ..fit(settings.clone(), stop.clone())? }
                }
                fitted => fitted?,
            }
        }
    };
    let network = Network::from_fitted(structure.clone(), target.dims().to_vec(), fitted.cores)?;
    let rse = match run.loss.is_none_or(|loss| loss.measure() == Measure::RSE) {
        true => fitted.error,
        false => target.rse_of_network(&network, settings.max_bytes)?,
    };
    Ok(FittedNetwork {
        network,
        error: fitted.error,
        rse,
        sweeps: fitted.sweeps,
        restarts: fitted.restarts,
        interrupted: fitted.interrupted,
    })
}
