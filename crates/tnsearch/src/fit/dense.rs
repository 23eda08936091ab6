//! Fits by the squared error of all entries: `RSE = ||X - Z||^2 / ||X||^2`.

use super::control::Control;
use super::door::Task;
use super::lm::Lm;
use super::plan::{Plan, Walk};
use super::starts::{Attempt, LITTLE, Needs, Starts, check_kind, with_rescue};
use super::workspace::Workspace;
use super::{FitError, FitSettings, Fitted, Method, adam, als};
use crate::dispatch;
use crate::problem::Stop;
use crate::rng::Rng;
use crate::tensor::{Scalar, Tensor, power};

/// A method that improves the cores of a workspace until they are good enough or stall.
pub(super) trait Improve<T: Scalar>: Sync {
    /// Whether the method changes each core as it is visited.
    fn walk(&self) -> Walk;

    /// Entries the method needs beside the plan's buffers.
    fn extra_entries(&self, _plan: &Plan<T>) -> f64 {
        0.0
    }

    /// Improves the cores in place; the number of sweeps made.
    fn improve(&self, ws: &mut Workspace<T>, settings: &FitSettings, control: &Control) -> usize;
}

/// Fits as the settings say, and again with Levenberg-Marquardt where that is asked for and needed.
pub(super) fn fit(task: Task<'_>) -> Result<Fitted, FitError> {
    dispatch!(task.target.tensor(), x => with_rescue(task, |task, limit| starts(task, x, limit)))
}

fn starts<T: Scalar>(
    task: Task<'_>,
    x: &Tensor<T>,
    limit: &Stop,
) -> Result<(Fitted, f64), FitError> {
    let Task { target, graph, settings, .. } = task;
    check_kind::<T>(settings.method)?;
    let method: &'static dyn Improve<T> = match settings.method {
        Method::Als => &als::Als,
        Method::Adam => &adam::Adam,
        Method::Lm => &Lm,
    };
    let plan = Plan::new_until((target, x), graph, method.walk(), settings.max_bytes, Some(limit))?;
    let bytes = plan.bytes + T::KIND.bytes() as f64 * method.extra_entries(&plan);
    let needs = Needs { bytes, held: target.held_bytes(), flops: plan.sweep_flops() };
    let (exponent, stop) = (target.exponent(), &task.run.stop);
    let fitted = Starts::new(task, limit, needs)?.run(|_| {
        let mut ws = Workspace::new(&plan);
        ws.obey(Some(limit));
        Dense { ws, method, exponent, stop }
    })?;
    Ok((fitted, Lm::iteration_flops(&plan)))
}

/// One start.
struct Dense<'d, T: Scalar> {
    ws: Workspace<'d, T>,
    method: &'static dyn Improve<T>,
    /// The power of two that the cores are multiplied by in all, so that they give X and not the scaled tensor.
    exponent: i64,
    /// The caller's stop.
    stop: &'d Stop,
}

impl<T: Scalar> Attempt<T> for Dense<'_, T> {
    fn take(&mut self, cores: &[&Tensor<T>], _: &mut Rng) {
        self.ws.set_cores_of(cores, self.exponent);
    }

    fn randomise(&mut self, rng: &mut Rng, sigma: f64) {
        self.ws.randomise(rng, sigma);
    }

    fn sweep(&mut self, settings: &FitSettings, control: &Control) -> usize {
        self.method.improve(&mut self.ws, settings, control)
    }

    fn scouted(&mut self) -> f64 {
        self.ws.refresh();
        // One that blew up, or was cut short, is no number.
        if self.ws.halted() { f64::MAX } else { self.ws.rse().min(f64::MAX) }
    }

    fn kept(&self) -> (Vec<T>, f64) {
        self.ws.kept()
    }

    fn put_back(&mut self, kept: &(Vec<T>, f64)) {
        self.ws.put_back(kept);
    }

    fn finish(&mut self, sweeps: usize) -> Option<f64> {
        let ws = &mut self.ws;
        // What was cut short in its first sweep is worth no more than the time that its error takes.
        let cut_short = ws.halted() && sweeps <= 1;
        if cut_short && self.stop.is_set() && ws.plan().residual_flops() > LITTLE {
            return None;
        }
        ws.obey(None);
        ws.refresh_blocks();
        let rse = ws.rse();
        // A start that blew up is worth less than the zero network, which every structure has.
        if rse.is_nan() || rse > 1.0 {
            ws.set_zero();
            return Some(1.0);
        }
        Some(rse)
    }

    fn cores(&self) -> Vec<Tensor<T>> {
        let mut cores = self.ws.cores();
        power::spread(&mut cores, self.exponent);
        cores
    }
}
