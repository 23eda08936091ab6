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
use super::door::Task;
use super::starts::{Attempt, LITTLE, Needs, Starts, check_kind, checked_cores, with_rescue};
use super::{FitError, FitSettings, Fitted, Method};
use crate::dispatch;
use crate::graph::ModeGraph;
use crate::problem::{Stop, Target};
use crate::rng::Rng;
use crate::tensor::{AnyTensor, Scalar, Tensor, power};
use plan::Plan;
use state::{Errors, State};

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
    let plan = Plan::new((target, x), graph, settings.max_bytes)?;
    let lm = settings.method == Method::Lm;
    let extra = if lm { lm::extra_entries(&plan) } else { 0.0 };
    let bytes = plan.bytes + T::KIND.bytes() as f64 * extra;
    let needs = Needs { bytes, held: target.held_bytes(), flops: 2.0 * plan.cost };
    let (exponent, stop) = (target.exponent(), &task.run.stop);
    let fitted = Starts::new(task, limit, needs)?.run(|spread| {
        let mut state = State::new(&plan, spread);
        state.obey(Some(limit));
        Observed { state, errors: Errors::UNKNOWN, exponent, stop }
    })?;
    Ok((fitted, 2.0 * lm::cost(&plan)))
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

/// One start.
struct Observed<'o, T: Scalar> {
    state: State<'o, T>,
    /// Those of its cores, where they are known.
    errors: Errors,
    /// The power of two that the cores are multiplied by in all.
    exponent: i64,
    /// The caller's stop.
    stop: &'o Stop,
}

impl<T: Scalar> Observed<'_, T> {
    /// Computes the errors of the cores, whatever was halted before; false where a stop was asked for, and cores are worth no
    /// more than a little time.
    fn look(&mut self) -> bool {
        if self.stop.is_set() && self.state.plan.cost > LITTLE {
            return false;
        }
        self.state.obey(None);
        self.state.refresh();
        self.errors = self.state.errors();
        true
    }
}

impl<T: Scalar> Attempt<T> for Observed<'_, T> {
    fn take(&mut self, cores: &[&Tensor<T>], _: &mut Rng) {
        self.state.set_cores_of(cores, self.exponent);
    }

    fn randomise(&mut self, rng: &mut Rng, sigma: f64) {
        self.state.randomise(rng, sigma);
        self.state.rescale_to_target();
    }

    fn sweep(&mut self, settings: &FitSettings, control: &Control) -> usize {
        let improve = match settings.method {
            Method::Als => als::improve,
            Method::Adam => gradient::adam,
            Method::Lm => lm::improve,
        };
        let (errors, made) = improve(&mut self.state, settings, control);
        self.errors = errors;
        made
    }

    /// Cores that predict held-out entries better than all that came after are the answer; so are those that a stop left
    /// nothing better of.
    fn improve(&mut self, settings: &FitSettings, control: &Control) -> usize {
        self.state.refresh();
        self.errors = self.state.errors();
        if self.state.halted() {
            return 0;
        }
        let (begun, errors) = (self.kept(), self.errors);
        let made = self.sweep(settings, control);
        let cut_short = self.state.halted() && self.errors.measured.is_nan();
        if cut_short {
            self.look();
        }
        let better = self.errors.measured <= errors.measured;
        if (self.state.plan.holds_out() || cut_short) && !better {
            self.put_back(&begun);
            self.errors = errors;
        }
        made
    }

    fn scouted(&mut self) -> f64 {
        self.errors.measured
    }

    fn kept(&self) -> (Vec<T>, f64) {
        (self.state.flat(), self.state.scale)
    }

    fn put_back(&mut self, (cores, scale): &(Vec<T>, f64)) {
        self.state.set_between(cores, cores, 0.0);
        (self.state.scale, self.errors) = (*scale, Errors::UNKNOWN);
    }

    fn finish(&mut self, _: usize) -> Option<f64> {
        // Nothing is known of any cores yet.
        if self.errors.measured.is_nan() && !self.look() {
            return None;
        }
        let error = self.errors.measured;
        // A start that blew up is worth less than the zero network, which every structure has.
        if error.is_nan() || error > 1.0 {
            (0..self.state.plan.leaves.len()).for_each(|v| self.state.core_mut(v).fill(T::ZERO));
            return Some(1.0);
        }
        Some(error)
    }

    fn cores(&self) -> Vec<Tensor<T>> {
        let mut cores = self.state.cores();
        power::spread(&mut cores, self.exponent);
        cores
    }
}

#[cfg(test)]
mod tests;
