//! Fits by other losses than the squared error: down the gradient, from the least-squares fit.
//!
//! With `L = sum of l(x, z) / baseline`, the gradient at core v is `<D, dZ/dG_v>`, where D holds the derivatives
//! `l'(x, z) / baseline` entry by entry. That is the right-hand side of a least-squares fit to D, so one walk of the
//! plan with D in the place of X gives the gradient of every core. Z is formed in stripes, D is held whole.

use super::control::Progress;
use super::plan::{Plan, Walk};
use super::workspace::{Visit, Workspace};
use super::{CheckedFit, FitError, FitSettings, Fitted, check_bytes, fit, grouped};
use crate::SettingError;
use crate::fit::adam::Moments;
use crate::graph::ModeGraph;
use crate::problem::{Loss, Stop, Target};
use crate::tensor::AnyTensor;

/// Steps over which the error must fall by the tolerance.
const WINDOW: usize = 50;
/// A step in units of the root mean square of a core's entries.
const STEP: f64 = 0.02;
/// Steps at most, where the settings are those of another method than Adam.
const STEPS: usize = 2000;

/// Fits the cores of a graph so that `sum of l(x, z) / baseline` is small: least squares as the settings say, then
/// Adam along the derivative of the loss, the best cores on the way. With `warm`, the first start of the least-squares
/// fit begins at those cores. Real numbers of 64 bits only.
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
    let Some(x) = target.tensor().as_f64() else {
        let expected =
            format!("it is fitted to f64 only, and these are {}; use --dtype f64", target.kind());
        return Err(SettingError::new("loss", loss.measure().name, expected).into());
    };
    if graph.is_grouped() {
        let make = || grouped::merged(target, graph, settings.max_bytes);
        return grouped::fit_merged(graph, target.dims(), warm, make, |target, graph, warm| {
            fit_loss((target, loss), graph, settings, seed, warm, stop)
        });
    }
    if graph.vertices() == 1 {
        let error = grouped::loss_of_itself(target, loss);
        return Ok(Fitted { error, ..grouped::fit_single(target, graph)? });
    }
    // How near least squares comes to the error asked for says nothing about this one.
    let first = FitSettings { enough_rse: settings.stop_rse, ..FitSettings::clone(settings) };
    let limit = settings.max_seconds.map(|s| stop.within_seconds(s));
    let limit = limit.as_ref().unwrap_or(stop);
    let near = fit(target, graph, &first.check()?, seed, warm, stop)?;
    let plan = Plan::new((target, x), graph, Walk::Reading, settings.max_bytes)?;
    check_bytes(plan.bytes + 8.0 * x.len() as f64, settings.max_bytes)?;
    let mut ws = Workspace::new(&plan);
    let cores: Vec<_> = near.cores.iter().filter_map(AnyTensor::as_f64).collect();
    ws.set_cores(&cores);
    let mut descent = Descent::new(loss, &plan, target.scale());
    check_baseline(loss, descent.baseline)?;
    let (error, steps) = descent.run(&mut ws, settings, limit);
    let cores = ws.cores().into_iter().map(AnyTensor::from).collect();
    let interrupted = near.interrupted || stop.is_set();
    Ok(Fitted { cores, error, sweeps: near.sweeps + steps, interrupted, ..near })
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

/// A loss on its way down.
pub(super) struct Descent<'l> {
    loss: &'l dyn Loss,
    baseline: f64,
    /// What the plan's X was divided by.
    scale: f64,
    derivatives: Vec<f64>,
    pub gradient: Vec<Vec<f64>>,
}

impl<'l> Descent<'l> {
    pub fn new(loss: &'l dyn Loss, plan: &Plan<'_, f64>, scale: f64) -> Self {
        let original: Vec<f64> = plan.x.iter().map(|x| x * scale).collect();
        let gradient = plan.core_lens().iter().map(|&n| vec![0.0; n]).collect();
        let baseline = loss.baseline(&original);
        Descent { loss, baseline, scale, derivatives: original, gradient }
    }

    /// Goes down until nothing is gained; leaves the best cores, and gives their error and the steps made.
    fn run(
        &mut self,
        ws: &mut Workspace<f64>,
        settings: &FitSettings,
        stop: &Stop,
    ) -> (f64, usize) {
        let entries: usize = ws.plan().core_lens().iter().sum();
        let steps =
            if settings.method == super::Method::Adam { settings.max_sweeps } else { STEPS };
        let mut best = vec![0.0; entries];
        let mut best_error = f64::INFINITY;
        let mut moments = Moments::new(&ws.plan().core_lens());
        let mut progress = Progress::with_window(settings, WINDOW);
        let mut made = 0;
        for step in 1..=steps {
            let error = self.error_and_gradient(ws);
            if error < best_error {
                best_error = error;
                ws.copy_cores_to(&mut best);
            }
            if stop.is_set() || progress.finished(best_error) {
                break;
            }
            made = step;
            // Smaller steps towards the end.
            let rate = STEP * (1.0 - step as f64 / (steps + 1) as f64);
            moments.step(ws, &self.gradient, |core| {
                rate * (core.iter().map(|g| g * g).sum::<f64>() / core.len().max(1) as f64).sqrt()
            });
        }
        ws.set_cores_between(&best, &best, 0.0);
        (best_error, made)
    }

    /// The error of the cores, and its gradient with respect to each (as `[mode, edges]`). The network is X itself,
    /// not the scaled tensor.
    pub fn error_and_gradient(&mut self, ws: &mut Workspace<f64>) -> f64 {
        ws.refresh();
        let (loss, scale, baseline) = (self.loss, self.scale, self.baseline);
        let mut total = 0.0;
        let mut derivatives = std::mem::take(&mut self.derivatives);
        ws.each_entry(&mut derivatives, |x, z| {
            total += loss.value(x * scale, z);
            loss.derivative(x * scale, z) / baseline
        });
        let gradient = &mut self.gradient;
        self.derivatives = ws.walk_with(derivatives, |Visit { vertex, rhs, .. }| {
            gradient[vertex].copy_from_slice(rhs);
        });
        total / baseline
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::FitSettings;
    use crate::fit::tests::random_cores;
    use crate::network::contract;
    use crate::problem::{Measure, SquaredError};
    use crate::tensor::Tensor;

    /// `cosh(x - z) - 1`: smooth, and no square.
    #[derive(Debug)]
    struct Steep;

    impl Loss for Steep {
        fn measure(&self) -> Measure {
            Measure::new("steep", "steep", "cosh of the difference, less 1", None)
        }

        fn value(&self, x: f64, z: f64) -> f64 {
            (x - z).cosh() - 1.0
        }

        fn derivative(&self, x: f64, z: f64) -> f64 {
            (z - x).sinh()
        }
    }

    fn graphs() -> [ModeGraph; 3] {
        [
            ModeGraph::new(3, 0, vec![(0, 1, 2), (1, 2, 3), (0, 2, 2)]),
            ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 2), (2, 3, 3)]),
            ModeGraph::new(4, 0, vec![(0, 2, 2), (1, 2, 2), (1, 3, 2)]),
        ]
    }

    fn data(graph: &ModeGraph, seed: u64) -> (Target, Vec<usize>) {
        let dims: Vec<usize> = (0..graph.modes()).map(|m| 2 + m % 3).collect();
        let cores = random_cores(graph, &dims, seed);
        let mut x: Tensor = contract(graph, &dims, &cores);
        x.data_mut().iter_mut().enumerate().for_each(|(n, x)| *x = (*x + n as f64).sin());
        (Target::new(x).unwrap(), dims)
    }

    #[test]
    fn gradients_agree_with_finite_differences() {
        for (seed, graph) in graphs().iter().enumerate() {
            let (target, dims) = data(graph, seed as u64);
            let x = target.tensor().as_f64().unwrap();
            let plan = Plan::new((&target, x), graph, Walk::Reading, None).unwrap();
            let cores: Vec<Tensor> = random_cores(graph, &dims, 7);
            let mut ws = Workspace::new(&plan);
            ws.set_cores(&cores.iter().collect::<Vec<_>>());
            ws.multiply_cores(1e-2);
            let mut descent = Descent::new(&Steep, &plan, 1.0);
            descent.error_and_gradient(&mut ws);
            let gradient = descent.gradient.clone();
            for (v, gradient) in gradient.iter().enumerate() {
                for (p, exact) in gradient.iter().enumerate() {
                    let h = 1e-5;
                    let mut at = |by: f64| {
                        ws.core_mut(v)[p] += by;
                        descent.error_and_gradient(&mut ws)
                    };
                    let (up, down) = (at(h), at(-2.0 * h));
                    at(h);
                    let slope = (up - down) / (2.0 * h);
                    assert!(
                        (slope - exact).abs() < 1e-6 * (1.0 + slope.abs()),
                        "{v} {p}: {slope} {exact}"
                    );
                }
            }
        }
    }

    #[test]
    fn it_ends_no_worse_than_least_squares_and_says_the_error_of_its_cores() {
        let settings = FitSettings { restarts: 2, max_sweeps: 50, ..FitSettings::default() };
        let settings = settings.check().unwrap();
        for (seed, graph) in graphs().iter().enumerate() {
            let (target, dims) = data(graph, seed as u64);
            let x = target.tensor().as_f64().unwrap().data();
            let steep = |z: &[f64]| {
                let all = x.iter().zip(z).map(|(x, z)| Steep.value(*x, *z)).sum::<f64>();
                all / Steep.baseline(x)
            };
            let dense = |fitted: &Fitted| {
                let cores: Vec<Tensor> =
                    fitted.cores.iter().map(|c| c.as_f64().unwrap().clone()).collect();
                contract(graph, &dims, &cores).into_data()
            };
            let squares = fit(&target, graph, &settings, 1, None, &Stop::new()).unwrap();
            let fitted =
                fit_loss((&target, &Steep), graph, &settings, 1, None, &Stop::new()).unwrap();
            assert!((steep(&dense(&fitted)) - fitted.error).abs() < 1e-9, "{}", fitted.error);
            assert!(fitted.error <= steep(&dense(&squares)) * (1.0 + 1e-9));
            let same = fit_loss((&target, &SquaredError), graph, &settings, 1, None, &Stop::new());
            assert_eq!(same.unwrap(), squares);
        }
    }

    #[test]
    fn complex_data_is_refused_in_a_line() {
        let graph = ModeGraph::new(2, 0, vec![(0, 1, 2)]);
        let entries = vec![crate::tensor::Complex::new(1.0, 1.0); 4];
        let target = Target::new(Tensor::new(vec![2, 2], entries).unwrap()).unwrap();
        let settings = FitSettings::default().check().unwrap();
        let refused = fit_loss((&target, &Steep), &graph, &settings, 1, None, &Stop::new());
        let text = refused.unwrap_err().to_string();
        assert!(text.starts_with("loss is steep; it is fitted to f64 only"), "{text}");
    }
}
