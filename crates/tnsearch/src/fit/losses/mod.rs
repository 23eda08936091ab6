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

use super::control::Control;
use super::door::Task;
use super::plan::{Plan, Walk};
use super::starts::{Attempt, Begin, Needs, Starts, with_rescue};
use super::workspace::Workspace;
use super::{FitError, FitSettings, Fitted, Method, grouped};
use crate::SettingError;
use crate::graph::ModeGraph;
use crate::problem::{Loss, ModelDomain, Stop, Target};
use crate::rng::Rng;
use crate::tensor::Tensor;
use entries::Entries;
use multiplicative::Multiplicative;
use quasi_newton::QuasiNewton;
use rand::RngExt as _;

/// Quasi-Newton steps for each sweep that the settings allow: a step costs less than a sweep, and gains less.
const STEPS_PER_SWEEP: usize = 5;

/// Fits by a loss whose domain the data is in.
pub(super) fn fit(task: Task<'_>, loss: &dyn Loss) -> Result<Fitted, FitError> {
    with_rescue(task, |task, limit| Ok((starts(task, loss, limit)?, f64::INFINITY)))
}

fn starts(task: Task<'_>, loss: &dyn Loss, limit: &Stop) -> Result<Fitted, FitError> {
    let Task { target, graph, settings, .. } = task;
    let Some(x) = target.tensor().as_f64() else { unreachable!("checked to be of f64") };
    let plan = Plan::new((target, x), graph, Walk::Reading, settings.max_bytes)?;
    let params: usize = plan.core_lens().iter().sum();
    let extra = 9.0 * x.len() as f64 + 8.0 * QuasiNewton::vectors() as f64 * params as f64;
    let needs = Needs { bytes: plan.bytes + extra, held: 0, flops: 3.0 * plan.walk_flops() };
    let mut starts = Starts::new(task, limit, needs)?;
    (starts.label, starts.scouts) = ("loss".to_string(), 1);
    let entries = || Entries::new(target, loss, &plan);
    check_baseline(loss, entries().baseline())?;
    let updates = match loss.model() {
        // Down from the cores that are given, from those of least squares, and from random ones.
        ModelDomain::Real => {
            if task.warm.is_none() || settings.restarts > 1 {
                let data = [Some(target.clone()), target.tamed()].into_iter().flatten();
                starts.begin.extend(data.map(Begin::Squares));
            }
            starts.count = starts.count.max(starts.begin.len());
            None
        }
        ModelDomain::NonNegative => {
            // Without an edge there is one minimum, and updates end in it.
            if graph.edges().is_empty() {
                starts.count = 1;
            }
            if let (Some(cores), Some(Begin::At(typed))) = (task.warm, starts.begin.first())
                && typed.iter().all(|core| core.data().iter().all(|g| *g >= 0.0))
            {
                let mut ws = Workspace::new(&plan);
                ws.set_cores(typed);
                let error = entries().losses(&mut ws).measured;
                starts.given = Some(Fitted::without_work(cores.to_vec(), error));
            }
            Some(Multiplicative::new(graph)?)
        }
    };
    starts.run(|_| {
        let (ws, entries, updates) = (Workspace::new(&plan), entries(), updates.as_ref());
        Descent { scale: target.scale(), loss, ws, entries, updates, error: f64::NAN }
    })
}

/// One start.
struct Descent<'d> {
    /// What the plan's X was divided by.
    scale: f64,
    loss: &'d dyn Loss,
    ws: Workspace<'d, f64>,
    entries: Entries<'d>,
    /// Where no entry may be negative.
    updates: Option<&'d Multiplicative<'d>>,
    /// The error of the cores it left.
    error: f64,
}

impl Attempt<f64> for Descent<'_> {
    fn take(&mut self, cores: &[&Tensor], rng: &mut Rng) {
        self.ws.set_cores(cores);
        if self.updates.is_some() {
            make_positive(&mut self.ws, rng);
        }
    }

    fn randomise(&mut self, rng: &mut Rng, _: f64) {
        if self.updates.is_some() {
            return randomise(&mut self.ws, rng);
        }
        self.ws.randomise(rng, 1.0);
        self.ws.rescale_to_target();
        self.ws.multiply_cores(self.scale);
    }

    fn sweep(&mut self, settings: &FitSettings, control: &Control) -> usize {
        let Descent { loss, ws, entries, .. } = self;
        let mut sweeps = 0;
        if let Some(updates) = self.updates {
            entries.match_mean(ws);
            if loss.is_divergence() {
                sweeps += updates.with(|updates| updates.run(ws, entries, control.stop));
            }
        }
        let steps = match settings.method {
            Method::Adam => settings.max_sweeps,
            _ => settings.max_sweeps.saturating_mul(STEPS_PER_SWEEP),
        };
        let descent = QuasiNewton::new(ws.plan(), loss.model()).beside(control.rival);
        let (error, made) = descent.run(ws, entries, settings, steps, control.stop);
        self.error = error;
        sweeps + made
    }

    fn scouted(&mut self) -> f64 {
        self.error
    }

    fn kept(&self) -> (Vec<f64>, f64) {
        self.ws.kept()
    }

    fn put_back(&mut self, kept: &(Vec<f64>, f64)) {
        self.ws.put_back(kept);
    }

    fn finish(&mut self, _: usize) -> Option<f64> {
        Some(self.error)
    }

    fn cores(&self) -> Vec<Tensor> {
        self.ws.cores()
    }
}

/// The fit of a single vertex: its core is the tensor itself, with the mean of the entries that are fitted where nothing is.
pub(super) fn fit_single(
    (target, loss): (&Target, &dyn Loss),
    graph: &ModeGraph,
) -> Result<Fitted, FitError> {
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
