//! The starts of a fit: from given or random cores, scouted where that is asked for; the best counts.

use super::control::Control;
use super::lm::Lm;
use super::plan::Plan;
use super::workspace::Workspace;
use super::{FitError, FitSettings, Fitted, Improve, Method, Task, adam, als, check_bytes};
use crate::SettingError;
use crate::graph::ModeGraph;
use crate::problem::Stop;
use crate::rng;
use crate::tensor::{AnyTensor, Scalar, Tensor, power};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sweeps (or iterations) of a scout.
const SCOUT_SWEEPS: usize = 10;

/// Floating-point operations that are made also where the time is up: a tenth of a second or so.
pub(super) const LITTLE: f64 = 3e9;

/// One start's outcome.
struct Start<T> {
    cores: Vec<Tensor<T>>,
    rse: f64,
    sweeps: usize,
}

/// All that the starts of one fit share.
pub(super) struct Starts<'s, T: Scalar> {
    pub plan: Plan<'s, T>,
    method: &'static dyn Improve<T>,
    settings: &'s FitSettings,
    seed: u64,
    warm: Option<Vec<&'s Tensor<T>>>,
    /// The caller's stop.
    stop: &'s Stop,
    /// The same with the time limit of the fit.
    limit: &'s Stop,
    winner: AtomicUsize,
    /// The power of two that the cores are multiplied by in all, so that they give X and not the scaled tensor.
    exponent: i64,
    /// About how many bytes one start takes.
    bytes: f64,
    /// And the tensor itself.
    held: u64,
}

impl<'s, T: Scalar> Starts<'s, T> {
    pub fn new(request: Task<'s, T>, limit: &'s Stop) -> Result<Self, FitError> {
        let Task { target, x, graph, settings, seed, warm, stop } = request;
        if settings.method == Method::Lm && T::KIND.is_complex() {
            let expected =
                format!("it fits real numbers only, and these are {}; use als or adam", T::KIND);
            return Err(SettingError::new("method", "lm", expected).into());
        }
        let method: &'static dyn Improve<T> = match settings.method {
            Method::Als => &als::Als,
            Method::Adam => &adam::Adam,
            Method::Lm => &Lm,
        };
        let plan =
            Plan::new_until((target, x), graph, method.walk(), settings.max_bytes, Some(limit))?;
        let bytes = plan.bytes + T::KIND.bytes() as f64 * method.extra_entries(&plan);
        check_bytes(bytes + target.held_bytes() as f64, settings.max_bytes)?;
        if stop.remaining().is_some() && !stop.is_set() && !stop.has_time_for(plan.sweep_flops()) {
            return Err(FitError::Time);
        }
        let warm = warm.map(|cores| checked_cores(graph, target.dims(), cores)).transpose()?;
        Ok(Starts {
            plan,
            method,
            settings,
            seed,
            warm,
            stop,
            limit,
            winner: AtomicUsize::new(usize::MAX),
            exponent: target.exponent(),
            bytes,
            held: target.held_bytes(),
        })
    }

    /// Makes start number `index`; nothing if it was interrupted before its first sweep ended.
    fn make(&self, index: usize) -> Option<Start<T>> {
        let control = Control { stop: self.limit, winner: &self.winner, start: index };
        if control.stopped() && (index > 0 || self.stop.is_set()) {
            return None;
        }
        let mut ws = Workspace::new(&self.plan);
        ws.obey(Some(self.limit));
        let mut sweeps = 0;
        match &self.warm {
            Some(cores) if index == 0 => {
                ws.set_cores_of(cores, self.exponent);
            }
            _ => sweeps += self.scout(&mut ws, index, &control),
        }
        if sweeps == 0 || !control.stopped() {
            sweeps += self.method.improve(&mut ws, self.settings, &control);
        }
        // What was cut short in its first sweep is worth no more than the time that its error takes.
        let cut_short = ws.halted() && sweeps <= 1;
        if cut_short && self.stop.is_set() && self.plan.residual_flops() > LITTLE {
            return None;
        }
        ws.obey(None);
        ws.refresh_blocks();
        let mut rse = ws.rse();
        // A start that blew up is worth less than the zero network, which every structure has.
        if rse.is_nan() || rse > 1.0 {
            ws.set_zero();
            rse = 1.0;
        }
        if self.enough(rse) {
            self.winner.fetch_min(index, Ordering::Relaxed);
        }
        let mut cores = ws.cores();
        power::spread(&mut cores, self.exponent);
        Some(Start { cores, rse, sweeps })
    }

    /// Random cores for start `index`: the best of several after a few sweeps, where scouts are asked for. The
    /// number of sweeps made.
    fn scout(&self, ws: &mut Workspace<T>, index: usize, control: &Control) -> usize {
        let mut label = self.plan.graph.to_bytes();
        label.extend(format!("/{} {index}", self.settings.method).bytes());
        let mut rng = rng::stream(self.seed, &label);
        ws.randomise(&mut rng, self.settings.sigma);
        if self.settings.scouts == 1 {
            return 0;
        }
        let short = scouts_of(self.settings);
        let mut best = vec![T::ZERO; self.plan.core_lens().iter().sum()];
        let (mut best_rse, mut scale, mut sweeps) = (f64::INFINITY, 1.0, 0);
        for scout in 0..self.settings.scouts {
            if scout > 0 {
                ws.randomise(&mut rng, self.settings.sigma);
            }
            sweeps += self.method.improve(ws, &short, control);
            if control.stopped() && best_rse < f64::INFINITY {
                break;
            }
            ws.refresh();
            // One that blew up, or was cut short, is no number.
            let rse = if ws.halted() { f64::MAX } else { ws.rse().min(f64::MAX) };
            if rse < best_rse {
                (best_rse, scale) = (rse, ws.scale);
                ws.copy_cores_to(&mut best);
            }
            if self.enough(rse) || control.stopped() {
                break;
            }
        }
        ws.set_cores_between(&best, &best, 0.0);
        ws.scale = scale;
        sweeps
    }

    pub fn enough(&self, rse: f64) -> bool {
        self.settings.is_enough(rse)
    }

    pub fn in_turn(&self) -> Result<Fitted, FitError> {
        let starts = (0..self.settings.restarts).map(|index| self.make(index));
        self.best_of(starts)
    }

    /// One start alone.
    pub fn only(&self, index: usize) -> Result<Fitted, FitError> {
        self.best_of(std::iter::once(self.make(index)))
    }

    pub fn in_parallel(&self) -> Result<Fitted, FitError> {
        use rayon::prelude::*;
        let at_once = rayon::current_num_threads().min(self.settings.restarts) as f64;
        let held = self.held as f64;
        if self.settings.max_bytes.is_some_and(|max| held + at_once * self.bytes > max as f64) {
            return self.in_turn();
        }
        let starts: Vec<Option<Start<T>>> =
            (0..self.settings.restarts).into_par_iter().map(|index| self.make(index)).collect();
        self.best_of(starts.into_iter())
    }

    /// The best start, counting no start after the first that was good enough.
    fn best_of(&self, starts: impl Iterator<Item = Option<Start<T>>>) -> Result<Fitted, FitError> {
        let mut best: Option<Start<T>> = None;
        let (mut sweeps, mut restarts) = (0, 0);
        for start in starts {
            let Some(start) = start else { continue };
            sweeps += start.sweeps;
            restarts += 1;
            let done = self.enough(start.rse);
            if best.as_ref().is_none_or(|b| start.rse < b.rse) {
                best = Some(start);
            }
            if done {
                break;
            }
        }
        let best = best.ok_or(FitError::Interrupted)?;
        let interrupted = self.stop.is_set();
        let Start { cores, rse, .. } = best;
        let cores = cores.into_iter().map(AnyTensor::from).collect();
        Ok(Fitted { cores, error: rse, sweeps, restarts, rescued: false, interrupted, graph: None })
    }
}

/// The settings of a scout.
pub(super) fn scouts_of(settings: &FitSettings) -> FitSettings {
    let max_sweeps = settings.max_sweeps.min(SCOUT_SWEEPS);
    FitSettings { max_sweeps, ..settings.clone() }
}

/// The cores of a warm start, of the right kind and shape.
pub(super) fn checked_cores<'c, T: Scalar>(
    graph: &ModeGraph,
    dims: &[usize],
    cores: &'c [AnyTensor],
) -> Result<Vec<&'c Tensor<T>>, FitError> {
    let checked = (0..graph.vertices()).map(|vertex| {
        let expected = graph.core_dims(vertex, dims);
        let Some(core) = cores.get(vertex).filter(|c| c.dims() == expected) else {
            let found = cores.get(vertex).map_or(Vec::new(), |c| c.dims().to_vec());
            return Err(FitError::WarmStart { vertex, found, expected });
        };
        let (found, expected) = (core.kind(), T::KIND);
        core.typed().ok_or(FitError::WarmKind { vertex, found, expected })
    });
    checked.collect()
}
