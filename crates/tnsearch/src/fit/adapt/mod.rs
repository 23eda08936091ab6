//! Fits that choose their ranks: a walk over ranks, edges and the places of modes, from one network.
//!
//! Two moves carry it. **Pairs**: the cores of two vertices are solved as one block `B` (the least-squares problem whose
//! Gram matrix H and right-hand side come from all other cores), and `B` is split in two again by an SVD after
//! whitening with the two marginal Grams of H; the rank is the one of least
//! `r (w_u + w_v) / |X| + weight * tail(r)`, and both cores are then improved in turn in the metric of H itself. The
//! error of what comes out is exact: `||X||^2 + b^H H b - 2 Re b^H t`. A pair that is not joined gets an edge in the
//! same way, and the block can be split with its two modes exchanged, which is a swap of neighbours for the price of one
//! SVD. **Steps**: one rank more or less, or two modes that swap their vertices, a few ordinary sweeps for all, more for
//! what looks well; taken where the loss falls (`walk.rs`).
//!
//! The weight of the error is the objective's lambda, or follows what is missing until the error or the number of
//! parameters that was asked for is met (`price.rs`).

mod net;
mod pair;
mod price;
mod sweep;
mod walk;

use super::door::{Run, Task};
use super::starts::{LITTLE, checked_cores};
use super::{FitError, FitSettings, Fitted, Method};
use crate::graph::ModeGraph;
use crate::problem::{Objective, Stop};
use crate::tensor::{AnyTensor, Scalar, Tensor, power, size};
use crate::{SettingError, dispatch, rng};
use net::Net;
use price::Goal;
use serde::{Deserialize, Serialize};
use sweep::Pairs;
use walk::{OFTEN, SELDOM, State, Walk};

/// What a fit that chooses its ranks may do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Adapt {
    /// What decides which ranks are better.
    pub objective: Objective,
    /// The largest rank of an edge.
    pub max_rank: usize,
    /// Pairs of vertices of the mode graph that may be joined.
    pub joins: Vec<(usize, usize)>,
    /// Whether modes may swap their vertices.
    pub swaps: bool,
    /// Steps of the walk.
    pub steps: usize,
    /// Whether ranks grow together, from where they are to the largest one little by little.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gently: bool,
    /// Graphs are not entered whose sweep takes more multiply-adds per entry of the tensor.
    pub max_cost: Option<f64>,
}

impl Adapt {
    /// Ranks up to a largest one on these pairs of vertices, the modes where they are, and no walk.
    pub fn new(objective: Objective, max_rank: usize, joins: Vec<(usize, usize)>) -> Self {
        Adapt { objective, max_rank, joins, swaps: false, steps: 0, gently: false, max_cost: None }
    }
}

/// The prices of error, relative to the objective's, of the first sweeps over pairs from random cores: ranks grow from
/// small ones, while changes of order are cheap.
const RISING: [f64; 9] = [0.05, 0.1, 0.1, 0.2, 0.4, 0.7, 1.0, 1.0, 1.0];

/// Ordinary sweeps at the end.
const LAST_SWEEPS: usize = 30;

/// The same where ranks have grown and are to grow on.
const BEFORE_MORE: usize = 10;

/// Sweeps over pairs in which the price of error rises until what was asked for is met.
const MOST_RAISES: usize = 30;

/// Fits a network whose ranks (and, where `adapt` allows it, whose edges and order of modes) are chosen by an objective,
/// from the task's cores or from random ones. [`Fitted::graph`] is the graph of the cores found; their error comes from an
/// explicit residual. The result is a pure function of the arguments but for a stop and `max_seconds`.
pub(super) fn adapt(task: Task<'_>, adapt: &Adapt) -> Result<Fitted, FitError> {
    let Task { target, graph, settings, run, .. } = task;
    if graph.modes() != target.dims().len() {
        return Err(FitError::Modes { structure: graph.modes(), tensor: target.dims().len() });
    }
    if let Some(loss) = task.loss() {
        let expected = "ranks are adapted along the way by the squared error only";
        return Err(SettingError::new("loss", loss.measure().name, expected).into());
    }
    if !target.is_whole() {
        return Err(FitError::Holes("its ranks cannot be adapted along the way".into()));
    }
    // A single vertex has no rank to choose: the tensor itself is its core.
    if graph.vertices() == 1 {
        let fitted = super::grouped::fit_single(target, graph)?;
        return Ok(Fitted { graph: Some(graph.clone()), ..fitted });
    }
    let stop = &run.stop;
    let limit = settings.max_seconds.map(|s| stop.within_seconds(s));
    let limit = limit.as_ref().unwrap_or(stop);
    let (graph, cores, sweeps) = dispatch!(target.tensor(), x => walked(task, x, adapt, limit))?;
    // The answer has ordinary sweeps of its own, and a residual.
    let last = FitSettings {
        method: Method::Als,
        restarts: 1,
        scouts: 1,
        rescue: 0,
        max_sweeps: LAST_SWEEPS,
        tolerance: 1e-4,
        max_seconds: None,
        ..FitSettings::clone(settings)
    };
    // What a stop cuts short has a sweep and a residual too, so that there is an answer; the residual alone where a sweep
    // takes long.
    let stopped = stop.is_set();
    if stopped && super::sweep_cost(&graph, target.dims()) > LITTLE {
        let error = super::error_of(target, &graph, &cores, settings.max_bytes)?;
        let (restarts, interrupted, graph) = (1, true, Some(graph));
        let fitted = Fitted::without_work(cores, error);
        return Ok(Fitted { sweeps, restarts, interrupted, graph, ..fitted });
    }
    let max_sweeps = match stopped {
        true => 1,
        false if adapt.gently && adapt.steps == 0 => BEFORE_MORE,
        false => LAST_SWEEPS,
    };
    let last = &FitSettings { max_sweeps, ..last }.check()?;
    let run = &if stopped { Run::default() } else { Run::until(stop) };
    let (warm, start) = (Some(&cores[..]), None);
    let fitted = Task { graph: &graph, settings: last, warm, start, run, ..task }.fit()?;
    let interrupted = stopped || fitted.interrupted;
    let sweeps = fitted.sweeps + sweeps;
    Ok(Fitted { sweeps, interrupted, graph: Some(graph), ..fitted })
}

/// What a walk found: the graph, its cores and the sweeps made.
type Found = (ModeGraph, Vec<AnyTensor>, usize);

fn walked<T: Scalar>(
    task: Task<'_>,
    x: &Tensor<T>,
    adapt: &Adapt,
    stop: &Stop,
) -> Result<Found, FitError> {
    let Task { target, graph, settings, seed, warm, .. } = task;
    let dims = x.dims();
    let mut label = graph.to_bytes();
    label.extend(b"/adapt");
    let mut rng = rng::stream(seed, &label);
    // The cores of X divided by its scale.
    let exponent = target.exponent();
    let mut net = match warm {
        Some(cores) => {
            let cores = checked_cores(graph, dims, cores)?;
            match exponent {
                0 => Net::new(graph, dims, &cores),
                _ => {
                    let near = power::divided(&cores, exponent);
                    Net::new(graph, dims, &near.iter().collect::<Vec<_>>())
                }
            }
        }
        None => Net::random(graph, dims, &mut rng),
    };
    let full = target.full_dims().iter().zip(dims);
    net.stretch = full.map(|(&full, &small)| full as f64 / small as f64).collect();
    // What was lost when the tensor was shrunk is not there to be fitted.
    let objective = match adapt.objective {
        Objective::MaxError(eps) => Objective::MaxError(target.net(eps)),
        other => other,
    };
    let number = T::KIND.bytes() as f64;
    let room = target.left_of(settings.max_bytes).map_or(f64::INFINITY, |b| b as f64 / number);
    let mut joins: Vec<(usize, usize)> =
        adapt.joins.iter().map(|&(u, v)| (u.min(v), u.max(v))).collect();
    joins.extend(graph.edges().iter().map(|&(u, v, _)| (u, v)));
    joins.sort_unstable();
    joins.dedup();
    joins.retain(|&(u, v)| u < v && v < graph.vertices());
    let mut walk = Walk {
        target,
        x,
        pairs: Pairs::new((x.data(), target.norm_squared()), room, stop),
        joins,
        goal: Goal::new(objective, size(target.full_dims()) as f64),
        max_rank: adapt.max_rank.max(1),
        swaps: adapt.swaps,
        sweeping: if adapt.gently { OFTEN } else { SELDOM },
        max_bytes: settings.max_bytes,
        max_cost: adapt.max_cost.unwrap_or(f64::INFINITY),
        rng,
        stop,
        sweeps: 0,
    };
    let mut state = State { net, error: 1.0 };
    if !walk.als(&mut state, |sweep, _| sweep < 2) {
        // Too large to be swept over: the caller hears why.
        return Err(stopped_or_too_large(task, x, stop));
    }
    if warm.is_none() {
        for factor in RISING {
            walk.pair_sweep(&mut state, factor);
        }
    }
    match adapt.gently {
        true => {
            walk.grow(&mut state);
            walk.trim(&mut state);
        }
        false => walk.raise(&mut state, MOST_RAISES),
    }
    let best = walk.walk(state, adapt.steps);
    let net = best.net;
    let mut cores = net.to_cores();
    power::spread(&mut cores, exponent);
    let cores = cores.into_iter().map(AnyTensor::from).collect();
    Ok((net.graph(), cores, walk.sweeps))
}

fn stopped_or_too_large<T: Scalar>(task: Task<'_>, x: &Tensor<T>, stop: &Stop) -> FitError {
    let Task { target, graph, settings, .. } = task;
    let walk = super::plan::Walk::Changing;
    if stop.is_set() {
        return FitError::Interrupted;
    }
    match super::plan::Plan::new((target, x), graph, walk, settings.max_bytes) {
        _ if stop.is_set() => FitError::Interrupted,
        Err(error) => error,
        Ok(plan) if !stop.has_time_for(plan.sweep_flops()) => FitError::Time,
        Ok(_) => FitError::NoSweep,
    }
}

#[cfg(test)]
mod tests;
