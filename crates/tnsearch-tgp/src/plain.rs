//! The mean as a tensor, searched for a smaller network: reparameterisation, as in the paper.
//!
//! The paper searches the values at the inducing points. What counts is the function where the data are: with weights
//! `w_k(x)` and `C_k = E[w_k w_k^T]` over the rows, the mean square of a change D of the mean is about
//! `|(C_1 x ... x C_d)^(1/2) D|^2` (as if features were independent). So the tensor that is searched here is
//! `(R_1 x ... x R_d) mean`, `R_k^T R_k = C_k`, unless the paper's way is asked for, and its error, times its square, is about
//! what the mean squared error rises by.

use super::TgpError;
use super::model::{Model, along, times};
use super::rows::Rows;
use std::sync::Arc;
use tnsearch::decompose::{Goal, Limits, tt_svd};
use tnsearch::graph::Template;
use tnsearch::network::Network;
use tnsearch::problem::{LowerBound, Statement, Stop, Target};
use tnsearch::search::{Search, SearchResult, SearchSettings};
use tnsearch::tensor::{AnyTensor, Tensor, size};

/// Entries that a mean may have to be formed.
pub(super) const MOST_ENTRIES: usize = 1 << 24;
/// What is added to `C_k`, relative to its largest entry on the diagonal: points without data count a little.
const RIDGE: f64 = 1e-4;

/// The smallest error that is searched with.
const LEAST: f64 = 1e-12;

/// How the tensor of the mean is searched.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PlainSettings {
    /// The graphs that are searched.
    pub template: Arc<Template>,
    /// Everything else; its objective is set here.
    pub search: SearchSettings,
    /// Whether entries count as the data do; else as in the paper, all alike.
    pub by_data: bool,
    /// Searches at most, each with another error.
    pub rounds: usize,
    /// Further searches with larger errors, whose networks may be good enough when they are fitted to the data.
    pub looser: usize,
}

/// The smallest network found so, and what is proven.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plain {
    /// The mean.
    pub mean: Network,
    /// Its mean squared error on the validation rows.
    pub validation_mse: f64,
    /// The error it was searched with, relative to the tensor that was searched.
    pub max_rse: f64,
    /// Its own.
    pub rse: f64,
    /// What is proven, over which structures.
    pub statement: Statement,
    /// What is proven about every network of that error among these.
    pub lower_bound: Option<LowerBound>,
    /// Whether it is one of these, and none of them is smaller.
    pub certified_optimal: bool,
    /// Structures fitted, in all searches.
    pub evaluations: u64,
}

/// `R_k` of every feature, row-major, and their inverses.
pub(super) struct Metric {
    roots: Vec<Vec<f64>>,
    inverses: Vec<Vec<f64>>,
}

impl Metric {
    /// From the rows, or all points alike.
    pub fn new(model: &Model, rows: Option<&Rows>) -> Result<Self, TgpError> {
        let mut metric = Metric { roots: Vec::new(), inverses: Vec::new() };
        for (k, grid) in model.grids.iter().enumerate() {
            let m = grid.points;
            let identity: Vec<f64> =
                (0..m * m).map(|p| f64::from(u8::from(p / m == p % m))).collect();
            let Some(rows) = rows else {
                metric.roots.push(identity.clone());
                metric.inverses.push(identity);
                continue;
            };
            let mut moment = vec![0.0; m * m];
            for w in rows.times(k, &identity, m).chunks_exact(m) {
                for (a, row) in w.iter().zip(moment.chunks_exact_mut(m)) {
                    row.iter_mut().zip(w).for_each(|(s, b)| *s += a * b / rows.len() as f64);
                }
            }
            let largest = (0..m).map(|i| moment[i * m + i]).fold(0.0, f64::max);
            (0..m).for_each(|i| moment[i * m + i] += RIDGE * largest);
            let (values, vectors) = tnsearch::linalg::eigen(&moment, m)
                .ok_or(TgpError::Numbers("the weights of the rows"))?;
            let power = |p: f64| -> Vec<f64> {
                let entry = |at: usize| {
                    (0..m)
                        .map(|c| {
                            vectors[c * m + at / m] * values[c].powf(p) * vectors[c * m + at % m]
                        })
                        .sum()
                };
                (0..m * m).map(entry).collect()
            };
            metric.roots.push(power(0.5));
            metric.inverses.push(power(-0.5));
        }
        Ok(metric)
    }

    /// A network with a matrix along each mode.
    fn applied(network: &Network, matrices: &[Vec<f64>]) -> Result<Network, TgpError> {
        let structure = network.structure();
        let mut cores = Vec::new();
        for (v, core) in network.cores().iter().enumerate() {
            let modes = structure.modes_at(v);
            let dims = core.dims().to_vec();
            let mut data = core
                .as_f64()
                .map(|t| t.data().to_vec())
                .ok_or(TgpError::Numbers("the mean is not real"))?;
            for (place, &k) in modes.iter().enumerate() {
                let axis = dims.len() - modes.len() + place;
                data = along(&data, &dims, axis, &|x| times(&matrices[k], dims[axis], x));
            }
            cores.push(Tensor::new(dims, data)?);
        }
        Ok(Network::new(structure.clone(), network.dims().to_vec(), cores)?)
    }

    /// The tensor that is searched.
    pub fn tensor(&self, mean: &Network) -> Result<AnyTensor, TgpError> {
        let entries = size(mean.dims());
        if entries > MOST_ENTRIES as u128 {
            return Err(TgpError::Large { entries: entries as f64 });
        }
        Ok(Metric::applied(mean, &self.roots)?.to_tensor(None)?)
    }

    /// The mean of what was found for that tensor.
    pub fn back(&self, found: &Network) -> Result<Network, TgpError> {
        Metric::applied(found, &self.inverses)
    }
}

/// Searches the tensor of a model's mean for the smallest network whose error on the validation rows is at most `limit`:
/// the error that is searched with is adjusted until that is nearly reached. None where nothing smaller was found. Beside it
/// all networks that were found.
pub(super) fn search(
    model: &Model,
    (train, validation): (&Rows, &Rows),
    before: f64,
    limit: f64,
    settings: &PlainSettings,
    stop: &Stop,
) -> Result<(Option<Plain>, Vec<Network>), TgpError> {
    let metric = Metric::new(model, settings.by_data.then_some(train))?;
    let tensor = metric.tensor(&model.mean)?;
    let norm = tensor.norm_squared() / if settings.by_data { 1.0 } else { tensor.len() as f64 };
    let target = Target::new(tensor)?;
    let allowed = (limit - before).max(1e-12);
    let mut eps = (allowed / norm.max(1e-300)).clamp(LEAST, 0.5);
    // Features depend on each other, so the metric may be far off: what errors do is first seen on trains by SVDs.
    let order: Vec<usize> = (0..target.dims().len()).collect();
    let limits = Limits::none().with(|l| l.stop = stop.clone());
    while eps > LEAST && !stop.is_set() {
        let Ok(train) = tt_svd(&target, &order, &Goal::max_rse(eps)?, &limits) else { break };
        let mse = model.with_mean(metric.back(&train.network)?).mse(validation)?;
        if mse <= limit {
            break;
        }
        eps *= 0.3;
    }
    let mut best: Option<Plain> = None;
    let (mut evaluations, mut tried): (u64, Vec<f64>) = (0, Vec::new());
    let mut networks = Vec::new();
    let all = settings.rounds + settings.looser;
    for _ in 0..settings.rounds {
        if stop.is_set() {
            break;
        }
        let part = 1.0 / (all - tried.len()) as f64;
        let result = run(&target, eps, settings, &stop.within_part(part))?;
        evaluations += result.counts.evaluations;
        tried.push(eps);
        let Some(found) = &result.best else { break };
        let mean = metric.back(&found.network(target.dims())?)?;
        networks.push(mean.clone());
        let validation_mse = model.with_mean(mean.clone()).mse(validation)?;
        let rise = validation_mse - before;
        let smaller = best.as_ref().is_none_or(|b| mean.params() < b.mean.params());
        let within = validation_mse <= limit && result.target_reached;
        if within && smaller {
            best = Some(Plain {
                mean,
                validation_mse,
                max_rse: eps,
                rse: found.score.error,
                statement: result.statement.clone(),
                lower_bound: result.lower_bound,
                certified_optimal: result.certified_optimal,
                evaluations: 0,
            });
        }
        if within && rise > 0.8 * allowed {
            break;
        }
        // About in proportion, and never as before.
        let factor = (0.9 * allowed / rise.max(0.02 * allowed)).clamp(0.02, 20.0);
        let next = (eps * factor).clamp(LEAST, 0.5);
        if tried.iter().any(|t| (t / next - 1.0).abs() < 0.05) {
            break;
        }
        eps = next;
    }
    let mut eps = best.as_ref().map_or(eps, |b| b.max_rse);
    for left in (1..=settings.looser).rev() {
        eps *= 4.0;
        if stop.is_set() || eps > 0.5 {
            break;
        }
        let result = run(&target, eps, settings, &stop.within_part(1.0 / left as f64))?;
        evaluations += result.counts.evaluations;
        if let Some(found) = &result.best {
            networks.push(metric.back(&found.network(target.dims())?)?);
        }
    }
    Ok((best.map(|b| Plain { evaluations, ..b }), networks))
}

fn run(
    target: &Target,
    eps: f64,
    settings: &PlainSettings,
    stop: &Stop,
) -> Result<SearchResult, TgpError> {
    let mut search = settings.search.clone();
    search.objective = tnsearch::problem::Objective::MaxError(eps);
    if let Some(left) = stop.remaining() {
        search.budget.max_seconds = Some(left.as_secs_f64().max(0.1));
    }
    Ok(Search::new(target).template(settings.template.clone()).settings(search).stop(stop).run()?)
}
