//! Fits by other losses than the squared error, holes included: `L = sum of l(x, z) / baseline` over the entries that
//! are fitted.
//!
//! - A network of any numbers begins at two least-squares fits, one of the data and one of the data without its outliers
//!   (`tamed`), since what least squares make of outliers may be far from the best; quasi-Newton steps go down from there.
//!   The other starts go down from random cores.
//! - One without negative numbers begins at random cores. A divergence is lowered by multiplicative updates first, which
//!   need no step length and never raise it; quasi-Newton steps in the roots of the entries go on from there, since
//!   updates alone take thousands of rounds to end.

mod entries;
mod multiplicative;
mod quasi_newton;
#[cfg(test)]
mod tests;

use super::plan::{Plan, Walk};
use super::reduce::Reduced;
use super::starts::checked_cores;
use super::workspace::Workspace;
use super::{CheckedFit, FitError, FitSettings, Fitted, Method, check_bytes, fit, grouped};
use crate::SettingError;
use crate::graph::ModeGraph;
use crate::problem::{Loss, ModelDomain, Stop, Target, check_domain};
use crate::rng::{self, Rng};
use crate::tensor::{AnyTensor, Tensor};
use entries::Entries;
use multiplicative::Multiplicative;
use quasi_newton::QuasiNewton;
use rand::RngExt as _;

/// Quasi-Newton steps for each sweep that the settings allow: a step costs less than a sweep, and gains less.
const STEPS_PER_SWEEP: usize = 5;

/// Fits the cores of a graph so that `sum of l(x, z) / baseline` over the fitted entries is small; the error is that of
/// the entries it is measured on ([`Target::measured`]), and where these were held out, the fit ends where it no longer
/// falls on them. With `warm`, the first start begins at those cores. Real numbers of 64 bits only.
///
/// The result is a pure function of all arguments but the last.
pub fn fit_loss(
    (target, loss): (&Target, &dyn Loss),
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
    warm: Option<&[AnyTensor]>,
    stop: &Stop,
) -> Result<Fitted, FitError> {
    if loss.is_squared_error() {
        return fit(target, graph, settings, seed, warm, stop);
    }
    check_domain(target, loss)?;
    fit_checked((target, loss), graph, settings, seed, warm, stop)
}

fn fit_checked(
    (target, loss): (&Target, &dyn Loss),
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
    warm: Option<&[AnyTensor]>,
    stop: &Stop,
) -> Result<Fitted, FitError> {
    if graph.is_grouped() {
        let make = || grouped::merged(target, graph, settings.max_bytes);
        return grouped::fit_merged(graph, target.dims(), warm, make, |target, graph, warm| {
            fit_checked((target, loss), graph, settings, seed, warm, stop)
        });
    }
    if graph.vertices() == 1 {
        return fit_single((target, loss), graph);
    }
    let dims = target.dims();
    let task = Task { target, loss, settings, seed, stop };
    if warm.is_some() || graph.modes() != dims.len() {
        return task.fit(graph, warm);
    }
    let reduced = Reduced::new(graph, dims);
    let bytes = 8.0 * graph.params(dims) as f64;
    check_bytes(bytes, settings.max_bytes.filter(|_| reduced.differs()))?;
    let fitted = task.fit(&reduced.graph, None)?;
    Ok(Fitted { cores: reduced.restore(fitted.cores, dims), ..fitted })
}

/// What is to be fitted, and how.
struct Task<'t> {
    target: &'t Target,
    loss: &'t dyn Loss,
    settings: &'t CheckedFit,
    seed: u64,
    stop: &'t Stop,
}

impl Task<'_> {
    fn fit(&self, graph: &ModeGraph, warm: Option<&[AnyTensor]>) -> Result<Fitted, FitError> {
        let Task { target, loss, settings, stop, .. } = *self;
        let Some(x) = target.tensor().as_f64() else { unreachable!("checked to be of f64") };
        let limit = settings.max_seconds.map(|s| stop.within_seconds(s));
        let limit = limit.as_ref().unwrap_or(stop);
        let plan = Plan::new((target, x), graph, Walk::Reading, settings.max_bytes)?;
        let params: usize = plan.core_lens().iter().sum();
        let extra = 9.0 * x.len() as f64 + 8.0 * QuasiNewton::vectors() as f64 * params as f64;
        check_bytes(plan.bytes + extra, settings.max_bytes)?;
        if stop.remaining().is_some()
            && !stop.is_set()
            && !stop.has_time_for(3.0 * plan.walk_flops())
        {
            return Err(FitError::Time);
        }
        let mut entries = Entries::new(target, loss, &plan);
        check_baseline(loss, entries.baseline())?;
        let mut ws = Workspace::new(&plan);
        match loss.model() {
            ModelDomain::Real => self.by_least_squares(&mut ws, &mut entries, warm, limit),
            ModelDomain::NonNegative => self.by_positive_starts(&mut ws, &mut entries, warm, limit),
        }
    }

    /// Down from the cores that are given, from those of least squares, and from random ones, as many starts as the
    /// settings say; the best counts.
    fn by_least_squares(
        &self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        warm: Option<&[AnyTensor]>,
        limit: &Stop,
    ) -> Result<Fitted, FitError> {
        let Task { target, settings, seed, stop, .. } = *self;
        let mut first: Option<Fitted> = None;
        if let Some(cores) = warm {
            ws.set_cores(&checked_cores::<f64>(ws.plan().graph, target.dims(), cores)?);
            let (error, sweeps) = self.descend(ws, entries, f64::INFINITY, limit);
            let cores = ws.cores().into_iter().map(AnyTensor::from).collect();
            let (interrupted, restarts) = (stop.is_set(), 1);
            let from_given =
                Fitted { cores, error, sweeps, restarts, rescued: false, interrupted, graph: None };
            let enough = error <= settings.stop_rse.max(settings.enough_rse);
            if enough || interrupted || settings.restarts == 1 {
                return Ok(from_given);
            }
            first = Some(from_given);
        }
        // How near least squares comes to the error asked for says nothing about this one.
        let near = FitSettings { enough_rse: settings.stop_rse, ..FitSettings::clone(settings) };
        let near = near.check()?;
        let mut starts: Vec<Fitted> = first.into_iter().collect();
        for data in [Some(target.clone()), target.tamed()].into_iter().flatten() {
            let rival = starts.iter().map(|start| start.error).fold(f64::INFINITY, f64::min);
            let near = fit(&data, ws.plan().graph, &near, seed, warm, stop)?;
            let cores: Vec<_> = near.cores.iter().filter_map(AnyTensor::as_f64).collect();
            ws.set_cores(&cores);
            let (error, steps) = self.descend(ws, entries, rival, limit);
            let cores = ws.cores().into_iter().map(AnyTensor::from).collect();
            let sweeps = near.sweeps + steps;
            starts.push(Fitted { cores, error, sweeps, ..near });
            if stop.is_set() {
                break;
            }
        }
        let enough = settings.stop_rse.max(settings.enough_rse);
        for index in starts.len()..settings.restarts {
            let rival = starts.iter().map(|start| start.error).fold(f64::INFINITY, f64::min);
            if limit.is_set() || rival <= enough {
                break;
            }
            ws.randomise(&mut self.stream(ws.plan().graph, index), 1.0);
            ws.rescale_to_target();
            ws.multiply_cores(target.scale());
            let (error, sweeps) = self.descend(ws, entries, rival, limit);
            let cores = ws.cores().into_iter().map(AnyTensor::from).collect();
            let (rescued, interrupted) = (false, stop.is_set());
            let graph = None;
            starts.push(Fitted { cores, error, sweeps, restarts: 1, rescued, interrupted, graph });
        }
        let best = Fitted::best_of(&starts).ok_or(FitError::Interrupted)?;
        Ok(Fitted { interrupted: stop.is_set(), ..best })
    }

    /// The best of several starts without negative entries, one after the other, until one is good enough.
    fn by_positive_starts(
        &self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        warm: Option<&[AnyTensor]>,
        limit: &Stop,
    ) -> Result<Fitted, FitError> {
        let Task { target, loss, settings, stop, .. } = *self;
        let graph = ws.plan().graph;
        let warm =
            warm.map(|cores| checked_cores::<f64>(graph, target.dims(), cores)).transpose()?;
        let updates = Multiplicative::new(graph)?;
        let enough = settings.stop_rse.max(settings.enough_rse);
        let mut best: Option<(Vec<Tensor>, f64)> = None;
        let (mut sweeps, mut restarts) = (0, 0);
        // Without an edge there is one minimum, and updates end in it.
        let starts = if graph.edges().is_empty() { 1 } else { settings.restarts };
        for index in 0..starts {
            if limit.is_set() && best.is_some() {
                break;
            }
            let mut rng = self.stream(graph, index);
            match &warm {
                Some(cores) if index == 0 => {
                    ws.set_cores(cores);
                    if cores.iter().all(|core| core.data().iter().all(|g| *g >= 0.0)) {
                        best = Some((ws.cores(), entries.losses(ws).measured));
                    }
                    make_positive(ws, &mut rng);
                }
                _ => randomise(ws, &mut rng),
            }
            entries.match_mean(ws);
            if loss.is_divergence() {
                sweeps += updates.with(|updates| updates.run(ws, entries, limit));
            }
            let rival = best.as_ref().map_or(f64::INFINITY, |best| best.1);
            let (error, steps) = self.descend(ws, entries, rival, limit);
            sweeps += steps;
            restarts += 1;
            if best.as_ref().is_none_or(|best| error < best.1) {
                best = Some((ws.cores(), error));
            }
            if error <= enough {
                break;
            }
        }
        let (cores, error) = best.ok_or(FitError::Interrupted)?;
        let cores = cores.into_iter().map(AnyTensor::from).collect();
        let interrupted = stop.is_set();
        Ok(Fitted { cores, error, sweeps, restarts, rescued: false, interrupted, graph: None })
    }

    fn descend(
        &self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        rival: f64,
        limit: &Stop,
    ) -> (f64, usize) {
        let FitSettings { method, max_sweeps, .. } = **self.settings;
        let steps = match method {
            Method::Adam => max_sweeps,
            _ => max_sweeps.saturating_mul(STEPS_PER_SWEEP),
        };
        let descent = QuasiNewton::new(ws.plan(), self.loss.model()).beside(rival);
        descent.run(ws, entries, self.settings, steps, limit)
    }

    fn stream(&self, graph: &ModeGraph, index: usize) -> Rng {
        let mut label = graph.to_bytes();
        label.extend(format!("/loss {index}").bytes());
        rng::stream(self.seed, &label)
    }
}

/// The fit of a single vertex: its core is the tensor itself, with the mean of the entries that are fitted where nothing is.
fn fit_single((target, loss): (&Target, &dyn Loss), graph: &ModeGraph) -> Result<Fitted, FitError> {
    let single = grouped::fit_single(target, graph)?;
    let Some(x) = target.tensor().as_f64() else { unreachable!("checked to be of f64") };
    let x: Vec<f64> = x.data().iter().map(|x| x * target.scale()).collect();
    let fitted = |k: usize| target.fitted().is_none_or(|fitted| fitted.contains(k));
    let known: Vec<f64> = (0..x.len()).filter(|&k| fitted(k)).map(|k| x[k]).collect();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    let z: Vec<f64> = (0..x.len()).map(|k| if fitted(k) { x[k] } else { mean }).collect();
    let inside = |k: &usize| target.measured().is_none_or(|measured| measured.contains(*k));
    let measured: Vec<usize> = (0..x.len()).filter(inside).collect();
    let total: f64 = measured.iter().map(|&k| loss.value(x[k], z[k])).sum();
    let baseline = loss.baseline(&measured.iter().map(|&k| x[k]).collect::<Vec<_>>());
    check_baseline(loss, baseline)?;
    let cores = vec![Tensor::new(target.dims().to_vec(), z)?.into()];
    Ok(Fitted { cores, error: total / baseline, ..single })
}

/// Refuses a loss whose errors would mean nothing: one that is divided by zero, by infinity or by a negative number.
fn check_baseline(loss: &dyn Loss, baseline: f64) -> Result<(), SettingError> {
    match baseline.is_finite() && baseline > 0.0 {
        true => Ok(()),
        false => {
            let name = format!("baseline of {}", loss.measure().name);
            Err(SettingError::new(name, baseline, "it must be a positive number for this data"))
        }
    }
}

/// Cores with entries from 0.1 to 1: positive, and of all directions that positive ones have.
fn randomise(ws: &mut Workspace<f64>, rng: &mut Rng) {
    ws.scale = 1.0;
    for v in 0..ws.plan().leaves.len() {
        ws.core_mut(v).iter_mut().for_each(|g| *g = 0.1 + 0.9 * rng.random::<f64>());
    }
}

/// Cores without their signs. What is zero could never grow, so it becomes small and random.
fn make_positive(ws: &mut Workspace<f64>, rng: &mut Rng) {
    /// In units of the mean of a core.
    const LEAST: f64 = 0.02;
    for v in 0..ws.plan().leaves.len() {
        let core = ws.core_mut(v);
        let mean = core.iter().map(|g| g.abs()).sum::<f64>() / core.len().max(1) as f64;
        let mean = if mean > 0.0 { mean } else { 1.0 };
        core.iter_mut().for_each(|g| *g = g.abs().max(LEAST * mean * rng.random::<f64>()));
    }
}
