//! Fits to tensors with holes: the squared error of the entries that were observed, and no other.
//!
//! No dense Z is made: along a contraction tree, tables hold rows for those combinations of indices only that occur
//! among the entries ([`plan`]). One sweep costs about `n w^2` multiply-adds for each core, n entries, w the product of
//! its ranks, and the products of the tables. Where entries are held out, a start keeps the cores that predict them
//! best, and ends when that has not improved for some sweeps.

mod als;
mod gradient;
mod halt;
mod index;
mod join;
mod keep;
mod lm;
mod plan;
mod state;

use super::control::Control;
use super::starts::{LITTLE, checked_cores, scouts_of};
use super::{FitError, FitSettings, Fitted, Method, RESCUE_FLOPS, Task, check_bytes};
use crate::graph::ModeGraph;
use crate::problem::{Stop, Target};
use crate::tensor::{AnyTensor, Scalar, Tensor, power};
use crate::{SettingError, dispatch, rng};
use plan::Plan;
use rayon::prelude::*;
use state::{Errors, State};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which starts are made, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    /// All, one after the other on this thread.
    InTurn,
    /// All, and the work of each, on the current pool of threads.
    Parallel,
    /// One alone.
    Only(usize),
}

/// Fits as the settings say, and again with Levenberg-Marquardt where that is asked for and needed.
pub(super) fn fit<T: Scalar>(task: Task<'_, T>, which: Which) -> Result<Fitted, FitError> {
    let Task { settings, stop, .. } = task;
    let limit = settings.max_seconds.map(|s| stop.within_seconds(s));
    let limit = limit.as_ref().unwrap_or(stop);
    let plan = Plan::new((task.target, task.x), task.graph, settings.max_bytes)?;
    let starts = Starts::new(task, &plan, settings, limit)?;
    let first = starts.run(which)?;
    let rescue = settings.rescue > 0
        && settings.method == Method::Als
        && !matches!(which, Which::Only(_))
        && !T::KIND.is_complex()
        && !starts.enough(first.error)
        && !first.interrupted
        && !limit.is_set()
        && 2.0 * lm::cost(&plan) <= RESCUE_FLOPS;
    if !rescue {
        return Ok(first);
    }
    let lm = FitSettings {
        method: Method::Lm,
        restarts: settings.rescue,
        scouts: 1,
        max_sweeps: settings.max_sweeps.min(200),
        tolerance: settings.tolerance.min(1e-3),
        ..FitSettings::clone(settings)
    };
    let starts = Starts::new(Task { warm: None, ..task }, &plan, &lm, limit);
    let second = match starts.and_then(|s| s.run(which)) {
        Ok(second) => Fitted { rescued: true, ..second },
        // Too large after all, or interrupted: the first answer stands.
        Err(_) => return Ok(first),
    };
    let (sweeps, restarts) = (first.sweeps + second.sweeps, first.restarts + second.restarts);
    let interrupted = second.interrupted;
    let best = if second.error < first.error { second } else { first };
    Ok(Fitted { sweeps, restarts, interrupted, ..best })
}

/// The error of given cores on the entries that errors are measured on.
pub(super) fn error_of(
    target: &Target,
    graph: &ModeGraph,
    cores: &[AnyTensor],
    max_bytes: Option<u64>,
) -> Result<f64, FitError> {
    dispatch!(target.tensor(), x => {
        let plan = Plan::new((target, x), graph, max_bytes)?;
        let mut state = State::new(&plan, false);
        state.set_cores_of(&checked_cores(graph, target.dims(), cores)?, target.exponent());
        state.refresh();
        Ok(state.errors().measured)
    })
}

/// The fit of a single vertex: the observed entries themselves, and their mean elsewhere.
pub(super) fn fit_single(target: &Target, core: &mut AnyTensor) -> f64 {
    let Some(fitted) = target.fitted() else { return 0.0 };
    dispatch!(&mut *core, core => fill(core, fitted.as_slice()));
    target.rse_in_units(core)
}

fn fill<T: Scalar>(core: &mut Tensor<T>, known: &[bool]) {
    let entries = core.data().iter().zip(known).filter(|(_, known)| **known);
    let mean = entries.map(|(x, _)| *x).sum::<T>();
    let mean = mean.unscale(known.iter().filter(|known| **known).count() as f64);
    let holes = core.data_mut().iter_mut().zip(known).filter(|(_, known)| !**known);
    holes.for_each(|(x, _)| *x = mean);
}

/// About how many multiply-adds one ALS sweep takes, times two.
pub(super) fn sweep_flops(target: &Target, graph: &ModeGraph) -> Result<f64, FitError> {
    dispatch!(target.tensor(), x => Ok(2.0 * Plan::new((target, x), graph, None)?.cost))
}

/// All that the starts of one fit share.
struct Starts<'s, T: Scalar> {
    plan: &'s Plan<'s, T>,
    settings: &'s FitSettings,
    seed: u64,
    warm: Option<Vec<&'s Tensor<T>>>,
    stop: &'s Stop,
    limit: &'s Stop,
    winner: AtomicUsize,
    exponent: i64,
    bytes: f64,
    /// And the tensor itself.
    held: u64,
}

/// One start's outcome.
struct Start<T> {
    cores: Vec<Tensor<T>>,
    error: f64,
    sweeps: usize,
}

impl<'s, T: Scalar> Starts<'s, T> {
    fn new(
        task: Task<'s, T>,
        plan: &'s Plan<'s, T>,
        settings: &'s FitSettings,
        limit: &'s Stop,
    ) -> Result<Self, FitError> {
        let Task { target, graph, seed, warm, stop, .. } = task;
        let lm = settings.method == Method::Lm;
        if lm && T::KIND.is_complex() {
            let expected =
                format!("it fits real numbers only, and these are {}; use als or adam", T::KIND);
            return Err(SettingError::new("method", "lm", expected).into());
        }
        let extra = if lm { lm::extra_entries(plan) } else { 0.0 };
        let bytes = plan.bytes + T::KIND.bytes() as f64 * extra;
        check_bytes(bytes + target.held_bytes() as f64, settings.max_bytes)?;
        if stop.remaining().is_some() && !stop.is_set() && !stop.has_time_for(2.0 * plan.cost) {
            return Err(FitError::Time);
        }
        let warm = warm.map(|cores| checked_cores(graph, target.dims(), cores)).transpose()?;
        let (winner, exponent) = (AtomicUsize::new(usize::MAX), target.exponent());
        let held = target.held_bytes();
        Ok(Starts { plan, settings, seed, warm, stop, limit, winner, exponent, bytes, held })
    }

    fn enough(&self, error: f64) -> bool {
        error <= self.settings.stop_rse.max(self.settings.enough_rse)
    }

    /// Whether the errors of cores may still be computed: where a stop was asked for, cores are worth no more than a little time.
    fn has_time(&self) -> bool {
        !self.stop.is_set() || self.plan.cost <= LITTLE
    }

    fn improve(
        &self,
        state: &mut State<T>,
        settings: &FitSettings,
        control: &Control,
    ) -> (Errors, usize) {
        match settings.method {
            Method::Als => als::improve(state, settings, control),
            Method::Adam => gradient::adam(state, settings, control),
            Method::Lm => lm::improve(state, settings, control),
        }
    }

    /// Makes start number `index`; nothing if it was interrupted before its first sweep ended.
    fn make(&self, index: usize, spread: bool) -> Option<Start<T>> {
        let control = Control { stop: self.limit, winner: &self.winner, start: index };
        if control.stopped() && (index > 0 || self.stop.is_set()) {
            return None;
        }
        let mut state = State::new(self.plan, spread);
        state.obey(Some(self.limit));
        let mut sweeps = 0;
        match &self.warm {
            Some(cores) if index == 0 => {
                state.set_cores_of(cores, self.exponent);
            }
            _ => sweeps += self.scout(&mut state, index, &control),
        }
        state.refresh();
        let mut errors = state.errors();
        if !state.halted() && (sweeps == 0 || !control.stopped()) {
            let begun = (errors, state.flat(), state.scale);
            let (found, made) = self.improve(&mut state, self.settings, &control);
            sweeps += made;
            errors = found;
            let cut_short = state.halted() && errors.measured.is_nan();
            if cut_short && self.has_time() {
                errors = whole_errors(&mut state);
            }
            // Cores that predict held-out entries better than all that came after are the answer; so are those that a stop left
            // nothing better of.
            let better = errors.measured <= begun.0.measured;
            if (self.plan.holds_out() || cut_short) && !better {
                state.set_between(&begun.1, &begun.1, 0.0);
                (errors, state.scale) = (begun.0, begun.2);
            }
        }
        if state.halted() && errors.measured.is_nan() {
            // Nothing is known of any cores yet.
            if !self.has_time() {
                return None;
            }
            errors = whole_errors(&mut state);
        }
        let mut error = errors.measured;
        // A start that blew up is worth less than the zero network, which every structure has.
        if error.is_nan() || error > 1.0 {
            (0..self.plan.leaves.len()).for_each(|v| state.core_mut(v).fill(T::ZERO));
            error = 1.0;
        }
        if self.enough(error) {
            self.winner.fetch_min(index, Ordering::Relaxed);
        }
        let mut cores = state.cores();
        power::spread(&mut cores, self.exponent);
        Some(Start { cores, error, sweeps })
    }

    /// Random cores for start `index`: the best of several after a few sweeps, where scouts are asked for. The number of
    /// sweeps made.
    fn scout(&self, state: &mut State<T>, index: usize, control: &Control) -> usize {
        let mut label = self.plan.graph.to_bytes();
        label.extend(format!("/{} {index}", self.settings.method).bytes());
        let mut rng = rng::stream(self.seed, &label);
        state.randomise(&mut rng, self.settings.sigma);
        state.rescale_to_target();
        if self.settings.scouts == 1 {
            return 0;
        }
        let short = scouts_of(self.settings);
        let mut best = (f64::INFINITY, state.flat(), state.scale);
        let mut sweeps = 0;
        for scout in 0..self.settings.scouts {
            if scout > 0 {
                state.randomise(&mut rng, self.settings.sigma);
                state.rescale_to_target();
            }
            let (errors, made) = self.improve(state, &short, control);
            sweeps += made;
            if errors.measured < best.0 {
                best = (errors.measured, state.flat(), state.scale);
            }
            if self.enough(errors.measured) || control.stopped() {
                break;
            }
        }
        state.set_between(&best.1, &best.1, 0.0);
        state.scale = best.2;
        sweeps
    }

    fn run(&self, which: Which) -> Result<Fitted, FitError> {
        let restarts = self.settings.restarts;
        let at_once = rayon::current_num_threads().min(restarts) as f64;
        let held = self.held as f64;
        let room =
            self.settings.max_bytes.is_none_or(|max| held + at_once * self.bytes <= max as f64);
        let starts: Vec<Option<Start<T>>> = match which {
            Which::Only(index) => vec![self.make(index, false)],
            Which::Parallel if room => {
                (0..restarts).into_par_iter().map(|index| self.make(index, true)).collect()
            }
            Which::InTurn | Which::Parallel => {
                let spread = which == Which::Parallel;
                let mut starts = Vec::new();
                for index in 0..restarts {
                    let start = self.make(index, spread);
                    let done = start.as_ref().is_some_and(|start| self.enough(start.error));
                    starts.push(start);
                    if done {
                        break;
                    }
                }
                starts
            }
        };
        self.best_of(starts)
    }

    /// The best start, counting no start after the first that was good enough.
    fn best_of(&self, starts: Vec<Option<Start<T>>>) -> Result<Fitted, FitError> {
        let mut best: Option<Start<T>> = None;
        let (mut sweeps, mut restarts) = (0, 0);
        for start in starts.into_iter().flatten() {
            sweeps += start.sweeps;
            restarts += 1;
            let done = self.enough(start.error);
            if best.as_ref().is_none_or(|b| start.error < b.error) {
                best = Some(start);
            }
            if done {
                break;
            }
        }
        let Start { cores, error, .. } = best.ok_or(FitError::Interrupted)?;
        let cores = cores.into_iter().map(AnyTensor::from).collect();
        let interrupted = self.stop.is_set();
        Ok(Fitted { cores, error, sweeps, restarts, rescued: false, interrupted, graph: None })
    }
}

/// The errors of the cores, whatever was halted before.
fn whole_errors<T: Scalar>(state: &mut State<T>) -> Errors {
    state.obey(None);
    state.refresh();
    state.errors()
}

#[cfg(test)]
mod tests;
