//! Filling the holes of a tensor: the structure is chosen by observed entries that were held out.
//!
//! A share of the observed entries is set aside by seed. From ranks 1 on, the ranks of each of several formats grow,
//! every fit beginning at the cores of the one before and keeping the cores that predict the entries held out best
//! (`grow.rs`). The structure that predicts them best is fitted once more, to all observed entries. Nothing is proven:
//! cuts of a tensor with holes bound nothing.

mod grow;
mod method;
mod settings;

pub use method::{CompleteMethod, Filled, OneRank};
pub use settings::{CheckedComplete, CompleteSettings};

use crate::SettingError;
use crate::decompose::DecomposeError;
use crate::fit::{self, FitError, FitSettings, Request, Run};
use crate::graph::{GraphError, Template};
use crate::network::{Network, NetworkError};
use crate::problem::{DataError, Mask, Stop, Target};
use grow::{Grower, Grown};
use serde::Serialize;
use std::sync::Arc;
use thiserror::Error;

/// Why the holes of a tensor could not be filled.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CompleteError {
    /// A setting is out of range.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Not enough entries are observed.
    #[error(
        "{observed} entries are observed; at least {least} are needed to hold some out and fit the others"
    )]
    TooFew {
        /// Entries observed.
        observed: usize,
        /// Entries needed.
        least: usize,
    },
    /// A template cannot be used.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A network could not be made.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A fit could not be made.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// A decomposition could not be made.
    #[error(transparent)]
    Decompose(#[from] DecomposeError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(String),
    /// Options do not go together.
    #[error("{0}")]
    Asked(&'static str),
}

/// What the entries held out say about predictions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeldOut {
    /// Entries held out, over all folds.
    pub entries: usize,
    /// How many times some were held out.
    pub folds: usize,
    /// The RSE of their predictions.
    pub rse: f64,
    /// The root of the mean squared error of their predictions, in the units of the data.
    pub rmse: f64,
}

/// The best of one format.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FormatTried {
    /// The template's name.
    pub template: String,
    /// The ranks that predicted best.
    pub ranks: Vec<usize>,
    /// Their parameters.
    pub params: u128,
    /// The RSE on entries held out.
    pub rse: f64,
}

/// A network that fills the holes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Completion {
    /// The network, fitted to all observed entries.
    pub network: Network,
    /// Its RSE on the observed entries.
    pub rse: f64,
    /// How well the structure predicts entries that it was not fitted to.
    pub held_out: HeldOut,
    /// The ridge that predicted best.
    pub ridge: f64,
    /// The best of each format, in the order tried.
    pub formats: Vec<FormatTried>,
    /// Structures fitted.
    pub structures: usize,
    /// Sweeps over the cores, of all fits.
    pub sweeps: usize,
    /// Whether time ran out or an interrupt came: this is then the best so far.
    pub interrupted: bool,
}

/// What happens on the way: the structure just fitted, and the best so far.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Step {
    /// Structures fitted so far.
    pub structures: usize,
    /// The RSE of the best on entries held out.
    pub rse: f64,
    /// Its parameters.
    pub params: u128,
}

/// The least number of observed entries: one is held out, one is fitted.
const LEAST: usize = 20;

/// Where fewer entries than this would be held out, there are folds.
const FEW: f64 = 40.0;
/// As many, unless more are asked for.
const FOLDS: usize = 5;

/// Fills the holes of a tensor, or of a whole one predicts entries held out. Uses the current pool of threads; `tell`
/// hears of every structure fitted. The result is a pure function of the arguments but for `stop` and the limit in
/// seconds.
///
/// ```
/// use tnsearch::complete::{CompleteSettings, complete};
/// use tnsearch::problem::{Mask, Stop, Target};
/// use tnsearch::tensor::Tensor;
/// // x_ijk = i + 2 j + 4 k, of which a third is missing.
/// let entry = |n: usize| (n / 36 + 2 * (n / 6 % 6) + 4 * (n % 6)) as f64;
/// let x = Tensor::new(vec![6; 3], (0..216).map(entry).collect()).unwrap();
/// let (known, missing) = Mask::all(&[6; 3]).unwrap().without(0.33, 1).unwrap();
/// let target = Target::with_holes(x.clone(), &known).unwrap();
/// let settings = CompleteSettings::default().check().unwrap();
/// let found = complete(&target, &settings, &Stop::new(), &mut |_| ()).unwrap();
/// let z = found.network.to_tensor(None).unwrap();
/// assert!(Target::new(x).unwrap().rse_on(&missing, &z) < 1e-4);
/// ```
pub fn complete(
    target: &Target,
    settings: &CheckedComplete,
    stop: &Stop,
    tell: &mut dyn FnMut(Step),
) -> Result<Completion, CompleteError> {
    let late = stop.within_seconds(settings.max_seconds.unwrap_or(f64::INFINITY));
    let known = match target.known() {
        Some(known) => known,
        None => Mask::all(target.dims()).map_err(DataError::from)?,
    };
    if known.count() < LEAST {
        return Err(CompleteError::TooFew { observed: known.count(), least: LEAST });
    }
    let folds = held_out(target, &known, settings)?;
    let templates = match &settings.template {
        Some(template) => vec![template.clone()],
        None => formats(target.dims().len())?,
    };
    let mut grower = Grower::new(folds, settings, tell)?;
    let mut formats = Vec::new();
    let mut best: Option<Grown> = None;
    let count = templates.len();
    for (k, template) in templates.into_iter().enumerate() {
        // Half of the time is for the formats, the same for each; the rest for the ranks of the best.
        let until = late.within_part(0.6 / (count - k) as f64);
        let Some(found) = grower.grow(&template, best.as_ref(), &until)? else { continue };
        formats.push(tried(&found, target.dims()));
        if best.as_ref().is_none_or(|best| found.error < best.error) {
            best = Some(found);
        }
        if late.is_set() {
            break;
        }
    }
    let mut best = best.ok_or(FitError::Interrupted)?;
    best = grower.polish(best, &late)?;
    let (structures, sweeps) = (grower.structures, grower.sweeps);
    let (held_out, ridge) = (grower.held_out(&best), best.ridge);
    let (network, rse, more) = refit(target, &known, best, settings, stop)?;
    let (sweeps, interrupted) = (sweeps + more, late.is_set());
    Ok(Completion { network, rse, held_out, ridge, formats, structures, sweeps, interrupted })
}

fn tried(found: &Grown, dims: &[usize]) -> FormatTried {
    let structure = found.networks[0].structure();
    FormatTried {
        template: structure.template().name().to_owned(),
        ranks: structure.ranks().to_vec(),
        params: structure.params(dims),
        rse: found.error,
    }
}

/// The formats that are tried where none is named.
fn formats(order: usize) -> Result<Vec<Arc<Template>>, GraphError> {
    Ok(match order {
        2 => vec![Arc::new(Template::path(2)?)],
        _ => vec![Arc::new(Template::ring(order)?), Arc::new(crate::decompose::tucker(order)?)],
    })
}

/// The data with some of its entries held out, once for each fold.
fn held_out(
    target: &Target,
    known: &Mask,
    settings: &CheckedComplete,
) -> Result<Vec<Target>, CompleteError> {
    // A dozen entries say little: then every one is held out once.
    let few = settings.held_out * (known.count() as f64) < FEW;
    let folds = if settings.folds == 1 && few { FOLDS } else { settings.folds };
    let fold = |k: usize| -> Result<Target, DataError> {
        let (_, held) = match folds {
            1 => known.without(settings.held_out, settings.seed)?,
            folds => known.fold(k, folds, settings.seed)?,
        };
        target.holding_out(&held)
    };
    Ok((0..folds).map(fold).collect::<Result<_, _>>()?)
}

/// The network fitted to all observed entries, from the cores that predicted best: its RSE, and the sweeps made.
fn refit(
    target: &Target,
    known: &Mask,
    best: Grown,
    settings: &CheckedComplete,
    stop: &Stop,
) -> Result<(Network, f64, usize), CompleteError> {
    let all = match target.held() {
        None => target.clone(),
        Some(_) => {
            Target::with_holes(whole_tensor(target), known)?.standing_beside(target.held_bytes())
        }
    };
    let network = best.networks[0].clone();
    let (graph, cores) = network.to_mode_graph();
    let last = FitSettings {
        restarts: 1,
        scouts: 1,
        rescue: 0,
        max_sweeps: settings.last_sweeps.max(1),
        ridge: best.ridge,
        ..settings.fit.clone()
    };
    let last = last.check()?;
    if settings.last_sweeps == 0 {
        let rse = fit::error_of(&all, &graph, &cores, settings.fit.max_bytes)?;
        return Ok((network, rse, 0));
    }
    let request = Request::new(graph.clone(), last, settings.seed).beginning_at(cores.clone());
    match fit::fit(&all, &request, &Run::until(stop).in_parallel()) {
        Ok(fitted) => {
            let structure = network.structure().clone();
            let dims = network.dims().to_vec();
            let network = Network::from_fitted(structure, dims, fitted.cores)?;
            Ok((network, fitted.error, fitted.sweeps))
        }
        Err(FitError::Interrupted | FitError::Time) => {
            let rse = fit::error_of(&all, &graph, &cores, settings.fit.max_bytes)?;
            Ok((network, rse, 0))
        }
        Err(e) => Err(e.into()),
    }
}

/// The tensor itself, without the scale.
fn whole_tensor(target: &Target) -> crate::tensor::AnyTensor {
    target.tensor().clone().times_power_of_two(target.exponent())
}

#[cfg(test)]
mod tests;
