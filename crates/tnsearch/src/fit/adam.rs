//! Adam on all cores at once: the paper's evaluator.

use super::FitSettings;
use super::control::{Control, Progress};
use super::dense::Improve;
use super::plan::Walk;
use super::workspace::{Visit, Workspace};
use crate::tensor::Scalar;

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;
/// Steps over which the error must fall by the tolerance.
const WINDOW: usize = 500;

/// Adam (Kingma and Ba 2014) on `RSE`, whose gradient at core v is `2 (H g - t) / ||X||^2`. Of complex numbers the
/// real and imaginary parts are parameters of their own: the gradient's parts are the derivatives with respect to
/// them, and each has its own moments.
pub(super) struct Adam;

impl<T: Scalar> Improve<T> for Adam {
    fn walk(&self) -> Walk {
        Walk::Reading
    }

    fn improve(&self, ws: &mut Workspace<T>, settings: &FitSettings, control: &Control) -> usize {
        let sizes = ws.plan().core_lens();
        let mut gradient: Vec<Vec<T>> = sizes.iter().map(|&n| vec![T::ZERO; n]).collect();
        let mut moments = Moments::new(&sizes);
        let mut progress = Progress::with_window(settings, WINDOW);
        for step in 1..=settings.max_sweeps {
            let rse = rse_and_gradient(ws, &mut gradient);
            if control.stopped() || progress.finished(rse) {
                return step;
            }
            moments.step(ws, &gradient, |_| settings.learning_rate);
        }
        settings.max_sweeps
    }
}

/// Cores that can be moved.
pub(super) trait Cores<T> {
    /// The core of a vertex as `[mode, edges]`.
    fn core_mut(&mut self, vertex: usize) -> &mut [T];
}

impl<T: Scalar> Cores<T> for Workspace<'_, T> {
    fn core_mut(&mut self, vertex: usize) -> &mut [T] {
        Workspace::core_mut(self, vertex)
    }
}

/// The running means of gradients and their squares.
pub(super) struct Moments<T> {
    first: Vec<Vec<T>>,
    second: Vec<Vec<T>>,
    power1: f64,
    power2: f64,
}

impl<T: Scalar> Moments<T> {
    /// For cores of these sizes.
    pub fn new(sizes: &[usize]) -> Self {
        let zeros = || -> Vec<Vec<T>> { sizes.iter().map(|&n| vec![T::ZERO; n]).collect() };
        Moments { first: zeros(), second: zeros(), power1: 1.0, power2: 1.0 }
    }

    /// Moves the cores against their gradient, each at its rate.
    pub fn step(
        &mut self,
        cores: &mut impl Cores<T>,
        gradient: &[Vec<T>],
        rate: impl Fn(&[T]) -> f64,
    ) {
        self.power1 *= BETA1;
        self.power2 *= BETA2;
        let correction = 1.0 / (1.0 - self.power2);
        for (v, gradient) in gradient.iter().enumerate() {
            let core = cores.core_mut(v);
            let rate = rate(core) / (1.0 - self.power1);
            let moments = self.first[v].iter_mut().zip(&mut self.second[v]);
            for ((x, g), (m, s)) in core.iter_mut().zip(gradient).zip(moments) {
                let part = |g: f64, m: f64, s: f64| {
                    let m = BETA1 * m + (1.0 - BETA1) * g;
                    let s = BETA2 * s + (1.0 - BETA2) * g * g;
                    (m, s, rate * m / ((s * correction).sqrt() + EPSILON))
                };
                let re = part(g.re(), m.re(), s.re());
                let im = match T::KIND.is_complex() {
                    true => part(g.im(), m.im(), s.im()),
                    false => (0.0, 0.0, 0.0),
                };
                *m = T::from_parts(re.0, im.0);
                *s = T::from_parts(re.1, im.1);
                *x -= T::from_parts(re.2, im.2);
            }
        }
    }
}

/// The RSE of the cores and its gradient with respect to each (as `[mode, edges]`).
pub(super) fn rse_and_gradient<T: Scalar>(ws: &mut Workspace<T>, gradient: &mut [Vec<T>]) -> f64 {
    let norm_squared = ws.plan().norm_squared;
    let mut rse = None;
    ws.refresh();
    ws.walk(|Visit { vertex, core, rhs, gram, width, .. }| {
        let out = &mut gradient[vertex];
        let mut energy = 0.0;
        let columns = out.chunks_exact_mut(width).zip(core.chunks_exact(width));
        for ((out, g), t) in columns.zip(rhs.chunks_exact(width)) {
            for (i, out) in out.iter_mut().enumerate() {
                let row = &gram[i * width..(i + 1) * width];
                let hg: T = row.iter().zip(g).map(|(h, g)| *h * *g).sum();
                *out = (hg - t[i]).scale(2.0).unscale(norm_squared);
                energy += (g[i].conj() * (hg - t[i].scale(2.0))).re();
            }
        }
        rse.get_or_insert((norm_squared + energy) / norm_squared);
    });
    rse.unwrap_or(1.0)
}
