//! The entries of the data beside those of the network: the loss, its derivatives, and the gradient of every core.
//!
//! The gradient at core v is `<D, dZ/dG_v>`, where D holds the derivatives `l'(x, z) / baseline` entry by entry, zero
//! where nothing is to be fitted. That is the right-hand side of a least-squares fit to D, so one walk of the plan with D
//! in the place of X gives the gradient of every core. Z is formed in stripes, D is held whole.

use crate::fit::plan::Plan;
use crate::fit::workspace::{Visit, Workspace};
use crate::problem::{Loss, Target};
use crate::tensor::Tensor;

/// What an entry is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Nothing is known about it.
    Hole,
    /// The network is fitted to it.
    Fitted,
    /// It was held out.
    Held,
}

/// The loss of all entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Losses {
    /// On the entries that are fitted, relative to their baseline.
    pub fitted: f64,
    /// On those that errors are measured on: the same, where none were held out.
    pub measured: f64,
}

/// A loss on its data, in the plan's order of entries.
pub(super) struct Entries<'l> {
    loss: &'l dyn Loss,
    /// What the plan's X was divided by.
    scale: f64,
    /// None: all are fitted.
    uses: Option<Vec<Use>>,
    baselines: Losses,
    /// The mean of the fitted entries.
    mean: f64,
    /// D, or what else takes the place of X in a walk.
    instead: Vec<f64>,
}

impl<'l> Entries<'l> {
    pub fn new(target: &Target, loss: &'l dyn Loss, plan: &Plan<'_, f64>) -> Self {
        let scale = target.scale();
        let uses = target.fitted().map(|fitted| {
            let held = target.held();
            let code = |k: usize| match () {
                () if fitted.contains(k) => 1.0,
                () if held.is_some_and(|held| held.contains(k)) => 2.0,
                () => 0.0,
            };
            let codes = (0..target.entries()).map(code).collect();
            let codes = Tensor::new(target.dims().to_vec(), codes);
            let codes = codes.unwrap_or_else(|e| unreachable!("as many entries: {e}"));
            let root = plan.tree.nodes.len() - 1;
            let modes = plan.tree.leaves(root).into_iter().filter(|&v| v < plan.graph.modes());
            let codes = codes.permuted(&modes.collect::<Vec<_>>());
            let read = |code: &f64| match *code as u8 {
                0 => Use::Hole,
                1 => Use::Fitted,
                _ => Use::Held,
            };
            codes.data().iter().map(read).collect::<Vec<_>>()
        });
        let of = |wanted: Use| -> Vec<f64> {
            let inside = |k: &usize| uses.as_ref().map_or(Use::Fitted, |uses| uses[*k]) == wanted;
            (0..plan.x.len()).filter(inside).map(|k| plan.x[k] * scale).collect()
        };
        let x = of(Use::Fitted);
        let mean = x.iter().sum::<f64>() / x.len().max(1) as f64;
        let fitted = loss.baseline(&x);
        let measured = match target.held() {
            Some(_) => loss.baseline(&of(Use::Held)),
            None => fitted,
        };
        let instead = vec![0.0; plan.x.len()];
        Entries { loss, scale, uses, baselines: Losses { fitted, measured }, mean, instead }
    }

    /// What errors are divided by, the smallest.
    pub fn baseline(&self) -> f64 {
        let Losses { fitted, measured } = self.baselines;
        fitted.min(measured)
    }

    /// Whether errors are measured on entries that are not fitted.
    pub fn holds_out(&self) -> bool {
        self.uses.as_ref().is_some_and(|uses| uses.contains(&Use::Held))
    }

    /// Fills what takes the place of X from the data and the network, whose blocks must be fresh, and gives the losses.
    fn fill(
        &mut self,
        ws: &Workspace<f64>,
        hole: f64,
        mut fitted: impl FnMut(f64, f64) -> f64,
    ) -> Losses {
        let (loss, scale) = (self.loss, self.scale);
        let (mut on_fitted, mut on_held) = (0.0, 0.0);
        let uses = self.uses.as_deref();
        let mut k = 0;
        ws.each_entry(&mut self.instead, |x, z| {
            let used = uses.map_or(Use::Fitted, |uses| uses[k]);
            k += 1;
            let x = x * scale;
            match used {
                Use::Hole => hole,
                Use::Held => {
                    on_held += loss.value(x, z);
                    hole
                }
                Use::Fitted => {
                    on_fitted += loss.value(x, z);
                    fitted(x, z)
                }
            }
        });
        let fitted = on_fitted / self.baselines.fitted;
        let held = on_held / self.baselines.measured;
        Losses { fitted, measured: if self.holds_out() { held } else { fitted } }
    }

    /// The losses of the cores; the derivatives are ready for [`Entries::gradient`].
    pub fn losses(&mut self, ws: &mut Workspace<f64>) -> Losses {
        ws.refresh();
        let (loss, baseline) = (self.loss, self.baselines.fitted);
        self.fill(ws, 0.0, |x, z| loss.derivative(x, z) / baseline)
    }

    /// The gradient of the loss of the fitted entries with respect to each core (as `[mode, edges]`), one after the
    /// other, at the cores whose losses were asked for last.
    pub fn gradient(&mut self, ws: &mut Workspace<f64>, out: &mut [f64]) {
        let mut begin = vec![0; ws.plan().leaves.len() + 1];
        for (v, len) in ws.plan().core_lens().into_iter().enumerate() {
            begin[v + 1] = begin[v] + len;
        }
        self.walk(ws, |Visit { vertex, rhs, .. }| {
            out[begin[vertex]..begin[vertex + 1]].copy_from_slice(rhs);
        });
    }

    /// The losses of the cores where they are to be `measured` (logarithms take most of the time), and `<x / z, dZ/dG_v>`
    /// of every core v, with 1 in the place of x / z where nothing is to be fitted.
    pub fn ratios(
        &mut self,
        ws: &mut Workspace<f64>,
        measured: bool,
        mut take: impl FnMut(usize, &[f64], &[f64]),
    ) -> Option<Losses> {
        ws.refresh();
        let ratio = |x: f64, z: f64| if x == 0.0 { 0.0 } else { x / z.max(f64::MIN_POSITIVE) };
        let losses = match measured {
            true => Some(self.fill(ws, 1.0, ratio)),
            false => {
                let (scale, uses) = (self.scale, self.uses.as_deref());
                let mut k = 0;
                ws.each_entry(&mut self.instead, |x, z| {
                    let fitted = uses.is_none_or(|uses| uses[k] == Use::Fitted);
                    k += 1;
                    if fitted { ratio(x * scale, z) } else { 1.0 }
                });
                None
            }
        };
        self.walk(ws, |Visit { vertex, core, rhs, .. }| take(vertex, core, rhs));
        losses
    }

    fn walk(&mut self, ws: &mut Workspace<f64>, visit: impl FnMut(Visit<'_, f64>)) {
        let instead = std::mem::take(&mut self.instead);
        self.instead = ws.walk_with(instead, visit);
    }

    /// How the loss bends along a change of the network from where the losses were asked for last, to the cores of the
    /// workspace: `sum of l''(x, z) (z' - z)^2 / baseline` over the fitted entries. The derivatives are lost.
    pub fn curvature(&mut self, ws: &mut Workspace<f64>, here: &[f64], there: &[f64]) -> f64 {
        let mut now = vec![0.0; self.instead.len()];
        ws.set_cores_between(here, here, 0.0);
        ws.refresh();
        ws.each_entry(&mut now, |_, z| z);
        ws.set_cores_between(there, there, 0.0);
        ws.refresh();
        let (loss, scale, uses) = (self.loss, self.scale, self.uses.as_deref());
        let (mut k, mut total) = (0, 0.0);
        ws.each_entry(&mut self.instead, |x, z| {
            if uses.is_none_or(|uses| uses[k] == Use::Fitted) {
                total += loss.second_derivative(x * scale, now[k]) * (z - now[k]).powi(2);
            }
            k += 1;
            0.0
        });
        total / self.baselines.fitted
    }

    /// Scales the cores so that the mean of the network is that of the data.
    pub fn match_mean(&mut self, ws: &mut Workspace<f64>) {
        ws.refresh();
        let mut total = 0.0;
        ws.each_entry(&mut self.instead, |_, z| {
            total += z;
            0.0
        });
        let factor = self.mean * self.instead.len() as f64 / total;
        if factor.is_finite() && factor > 0.0 {
            ws.multiply_cores(factor);
        }
    }
}
