//! Quasi-Newton steps on all cores at once: L-BFGS (Liu and Nocedal 1989) with a line search, so that the loss never
//! rises. Networks without negative entries are moved in the roots of these, `G = H^2`, where no step leaves them.

use super::entries::{Entries, Losses};
use crate::fit::FitSettings;
use crate::fit::control::Progress;
use crate::fit::plan::Plan;
use crate::fit::workspace::Workspace;
use crate::problem::{ModelDomain, Stop};
use std::collections::VecDeque;

/// Pairs of steps and changes of the gradient that are remembered.
const MEMORY: usize = 12;
/// Steps over which the error must fall by the tolerance.
const WINDOW: usize = 50;
/// Steps after which a start is compared with its rival.
const RACE: usize = 20;
/// Steps without a fall on the entries held out, after which a fit ends.
const PATIENCE: usize = 20;
/// The part of the fall that the slope promises which a step must bring.
const ARMIJO: f64 = 1e-4;
/// Halvings of a step at most.
const HALVINGS: usize = 20;
/// A start behind a rival must lower its loss to this part in a window, or it is given up.
const CATCH_UP: f64 = 0.5;
/// A root keeps this part of itself in a step at least: a divergence hardly sees that an entry of the network is nearly
/// zero where it should not be, but its gradient sees nothing else then.
const KEPT: f64 = 0.2;
/// A step that promises less than this part of the loss is not made.
const PROMISE: f64 = 1e-8;

/// A descent and its memory.
pub(super) struct QuasiNewton {
    model: ModelDomain,
    /// The parameters: the cores one after the other, or their roots.
    at: Vec<f64>,
    gradient: Vec<f64>,
    /// Steps, changes of the gradient, and one over their products.
    pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
    cores: Vec<f64>,
    /// The parameters a step further.
    trial: Vec<f64>,
    /// The error of another start.
    rival: f64,
}

impl QuasiNewton {
    pub fn new(plan: &Plan<'_, f64>, model: ModelDomain) -> Self {
        let zeros = || vec![0.0; plan.core_lens().iter().sum()];
        let (at, gradient, cores, trial) = (zeros(), zeros(), zeros(), zeros());
        let (pairs, rival) = (VecDeque::new(), f64::INFINITY);
        QuasiNewton { model, at, gradient, pairs, cores, trial, rival }
    }

    /// The same beside another start of this error, to which it is not to lose time.
    pub fn beside(self, rival: f64) -> Self {
        QuasiNewton { rival, ..self }
    }

    /// The vectors of parameters that are held at a time, at most.
    pub fn vectors() -> usize {
        2 * MEMORY + 9
    }

    /// Goes down from the workspace's cores until nothing is gained; leaves the best cores, and gives their error (on
    /// the entries it is measured on) and the steps made.
    pub fn run(
        mut self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        settings: &FitSettings,
        steps: usize,
        stop: &Stop,
    ) -> (f64, usize) {
        self.take(ws);
        let mut now = self.look(ws, entries);
        let mut best = (now.measured, self.at.clone(), 0);
        let holds_out = entries.holds_out();
        let mut progress = Progress::with_window(settings, WINDOW);
        let mut made = 0;
        let mut mark = now.measured;
        while made < steps && !stop.is_set() && !progress.finished(now.fitted) {
            made += 1;
            let Some(next) = self.step(ws, entries, now.fitted) else { break };
            now = next;
            if made.is_multiple_of(RACE) {
                if now.measured > self.rival && now.measured > CATCH_UP * mark {
                    break;
                }
                mark = now.measured;
            }
            if now.measured < best.0 {
                best = (now.measured, self.at.clone(), made);
            } else if holds_out && made - best.2 >= PATIENCE {
                break;
            }
        }
        self.at = best.1;
        self.put(ws, None);
        (best.0, made)
    }

    /// Reads the parameters off the cores.
    fn take(&mut self, ws: &mut Workspace<f64>) {
        let factor = ws.scale;
        ws.scale = 1.0;
        ws.multiply_cores(factor);
        ws.copy_cores_to(&mut self.at);
        if self.model == ModelDomain::NonNegative {
            self.at.iter_mut().for_each(|g| *g = g.max(0.0).sqrt());
        }
    }

    /// Writes the cores of the parameters, or of those a step further.
    fn put(&mut self, ws: &mut Workspace<f64>, step: Option<(&[f64], f64)>) {
        self.cores.copy_from_slice(&self.at);
        if let Some((direction, length)) = step {
            let moved = self.cores.iter_mut().zip(direction);
            match self.model {
                ModelDomain::NonNegative => {
                    moved.for_each(|(h, d)| *h = (*h + length * d).max(KEPT * *h));
                }
                ModelDomain::Real => moved.for_each(|(h, d)| *h += length * d),
            }
            self.trial.copy_from_slice(&self.cores);
        }
        if self.model == ModelDomain::NonNegative {
            self.cores.iter_mut().for_each(|h| *h *= *h);
        }
        ws.set_cores_between(&self.cores, &self.cores, 0.0);
    }

    /// The losses and the gradient at the parameters.
    fn look(&mut self, ws: &mut Workspace<f64>, entries: &mut Entries<'_>) -> Losses {
        self.put(ws, None);
        let losses = entries.losses(ws);
        self.read_gradient(ws, entries);
        losses
    }

    /// The gradient with respect to the parameters, at cores whose losses were asked for last.
    fn read_gradient(&mut self, ws: &mut Workspace<f64>, entries: &mut Entries<'_>) {
        entries.gradient(ws, &mut self.gradient);
        if self.model == ModelDomain::NonNegative {
            self.gradient.iter_mut().zip(&self.at).for_each(|(g, h)| *g *= 2.0 * h);
        }
    }

    /// One step that lowers the loss; none where no such step is found.
    fn step(
        &mut self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        now: f64,
    ) -> Option<Losses> {
        let mut direction = self.direction();
        let mut slope = dot(&direction, &self.gradient);
        if slope.is_nan() || slope >= 0.0 {
            // What is remembered is of no use here.
            self.pairs.clear();
            direction = self.gradient.iter().map(|g| -g).collect();
            slope = -dot(&self.gradient, &self.gradient);
        }
        if slope == 0.0 || !slope.is_finite() {
            return None;
        }
        let mut length = match self.pairs.is_empty() {
            true => self.first_length(ws, entries, &direction, slope),
            false => 1.0,
        };
        let halvings = match !self.pairs.is_empty() && -slope * length <= PROMISE * now {
            true => 0,
            false => HALVINGS,
        };
        for _ in 0..halvings {
            self.put(ws, Some((&direction, length)));
            let losses = entries.losses(ws);
            let moved = self.trial.iter().zip(&self.at).zip(&self.gradient);
            let promised: f64 = moved.map(|((to, from), g)| (to - from) * g).sum();
            if promised < 0.0 && losses.fitted <= now + ARMIJO * promised {
                self.arrive(ws, entries);
                return Some(losses);
            }
            // The minimum of the parabola through both, where that is a number in reach.
            let bend = losses.fitted - now - length * slope;
            let parabola = -0.5 * slope * length * length / bend;
            let good = parabola > 0.1 * length && parabola < 0.5 * length;
            length = if good { parabola } else { 0.25 * length };
        }
        if self.pairs.is_empty() {
            return None;
        }
        // Once more, straight down.
        self.pairs.clear();
        self.look(ws, entries);
        self.step(ws, entries, now)
    }

    /// Takes the step that was tried last, and what it says about the curvature.
    fn arrive(&mut self, ws: &mut Workspace<f64>, entries: &mut Entries<'_>) {
        let before = self.gradient.clone();
        let direction: Vec<f64> =
            self.trial.iter().zip(&self.at).map(|(to, from)| to - from).collect();
        self.at.copy_from_slice(&self.trial);
        self.read_gradient(ws, entries);
        let change: Vec<f64> =
            self.gradient.iter().zip(&before).map(|(new, old)| new - old).collect();
        let product = dot(&direction, &change);
        if product > 1e-10 * dot(&change, &change).sqrt() * dot(&direction, &direction).sqrt() {
            if self.pairs.len() == MEMORY {
                self.pairs.pop_front();
            }
            self.pairs.push_back((direction, change, 1.0 / product));
        }
    }

    /// `-H g` with the inverse Hessian that the pairs say (the two-loop recursion).
    fn direction(&self) -> Vec<f64> {
        let mut d: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let mut along = vec![0.0; self.pairs.len()];
        for ((s, y, over), a) in self.pairs.iter().zip(&mut along).rev() {
            *a = over * dot(s, &d);
            d.iter_mut().zip(y).for_each(|(d, y)| *d -= *a * y);
        }
        if let Some((_, y, over)) = self.pairs.back() {
            let scale = 1.0 / (over * dot(y, y));
            d.iter_mut().for_each(|d| *d *= scale);
        }
        for ((s, y, over), a) in self.pairs.iter().zip(&along) {
            let b = over * dot(y, &d);
            d.iter_mut().zip(s).for_each(|(d, s)| *d += (a - b) * s);
        }
        d
    }

    /// The length of a step straight down: where the loss, bent as its second derivatives say, is least.
    fn first_length(
        &mut self,
        ws: &mut Workspace<f64>,
        entries: &mut Entries<'_>,
        direction: &[f64],
        slope: f64,
    ) -> f64 {
        /// The change of the parameters, relative, over which the network is compared.
        const REACH: f64 = 1e-4;
        let (size, step) = (dot(&self.at, &self.at).sqrt(), dot(direction, direction).sqrt());
        let little = REACH * size / step;
        self.put(ws, None);
        let here = self.cores.clone();
        self.put(ws, Some((direction, little)));
        let there = self.cores.clone();
        let bend = entries.curvature(ws, &here, &there) / (little * little);
        let length = -slope / bend;
        // Never further than the parameters are large. A few entries that bend without bound (of a divergence: where
        // almost nothing is predicted) are left to the line search.
        let most = size / step;
        if length.is_finite() { length.clamp(0.01 * most, most) } else { 0.01 * most }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
