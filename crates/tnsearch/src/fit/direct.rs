//! Fits that begin where truncated SVDs end.

use super::door::Task;
use super::{FitError, FitSettings, Fitted, sweep_cost};
use crate::decompose::{Limits, forest_svd, spanning_svd};
use crate::rng;
use rand::RngExt as _;
use rand_distr::StandardNormal;

/// Sweeps that polish a structure without cycles.
const POLISH: usize = 30;

/// Multiply-adds that all sweeps together may take: some seconds.
const WORK: f64 = 5e10;
/// Fewer sweeps than this are of no use.
const FEWEST: usize = 4;

/// The standard deviation of the entries that an edge beyond the forest gets, in units of the root mean square of those
/// that the SVDs gave. Much smaller ones leave a ring at a saddle point.
const FILL: f64 = 0.1;

/// One start; of a structure without cycles the truncated SVDs, improved only where they do not reach the error.
pub(super) fn fit_quick(task: Task<'_>) -> Result<Fitted, FitError> {
    let quick = FitSettings::clone(task.settings);
    let settings = FitSettings { restarts: 1, scouts: 1, rescue: 0, ..quick };
    // Where the SVDs take too much memory, or a stop came, a start is made as for any other graph.
    let svd = forest_svd(task.target, task.graph, &limits(task)).ok().flatten();
    let svd = svd.map(|(cores, error)| Fitted::without_work(cores, error));
    if let Some(found) = svd.as_ref().filter(|found| settings.is_enough(found.error)) {
        return Ok(found.clone());
    }
    let warm = svd.as_ref().map(|found| &found.cores[..]);
    let fitted = Task { settings: &settings.check()?, warm, ..task }.fit()?;
    // Near rounding, sweeps may spoil what SVDs gave.
    Ok(match svd {
        Some(found) if found.error < fitted.error => {
            let Fitted { sweeps, restarts, interrupted, .. } = fitted;
            Fitted { sweeps, restarts, interrupted, ..found }
        }
        _ => fitted,
    })
}

/// Fits a structure from the truncated SVDs of a forest in it ([`spanning_svd`]). Without cycles it is polished by a
/// few sweeps where the SVDs do not reach the error; with cycles, whose other edges begin small, it is fitted as the
/// settings say, that start the first of several, where sweeps are cheap enough for that. Where even a few sweeps would
/// take long there are none. Never worse than the forest alone.
pub(super) fn fit_direct(task: Task<'_>) -> Result<Fitted, FitError> {
    let Task { target, graph, settings, seed, run, .. } = task;
    let forest = {
        let mut label = graph.to_bytes();
        label.extend(b"/direct");
        let mut rng = rng::stream(seed, &label);
        spanning_svd(target, graph, &limits(task), |rms| {
            FILL * rms * rng.sample::<f64, _>(StandardNormal)
        })
    };
    let cycles = !graph.is_forest();
    let settings = FitSettings { scouts: 1, rescue: 0, ..FitSettings::clone(settings) };
    let affordable = (WORK / sweep_cost(graph, target.dims())) as usize;
    let settings = match cycles {
        true => {
            let max_sweeps = settings.max_sweeps.min(affordable.max(FEWEST));
            let restarts = (affordable / max_sweeps).clamp(1, settings.restarts);
            FitSettings { restarts, max_sweeps, ..settings }
        }
        false => {
            let max_sweeps = settings.max_sweeps.min(POLISH).min(affordable.max(FEWEST));
            FitSettings { restarts: 1, max_sweeps, ..settings }
        }
    };
    let settings = &settings.check()?;
    // Where the SVDs take too much memory, or a stop came, a start is made as for any other graph.
    let Ok((warm, error)) = forest else { return Task { settings, ..task }.fit() };
    let alone = |interrupted: bool| {
        let cores = spanning_svd(target, graph, &Limits::none(), |_| 0.0);
        let cores = cores.map_or_else(|_| warm.clone(), |found| found.0);
        Fitted { interrupted, ..Fitted::without_work(cores, error) }
    };
    if settings.is_enough(error) || affordable < FEWEST {
        return Ok(alone(false));
    }
    match (Task { settings, warm: Some(&warm), ..task }.fit()) {
        Ok(fitted) if fitted.error <= error => Ok(fitted),
        Ok(Fitted { sweeps, restarts, interrupted, .. }) => {
            Ok(Fitted { sweeps, restarts, ..alone(interrupted) })
        }
        Err(FitError::Interrupted | FitError::Memory(_) | FitError::Time) => {
            Ok(alone(run.stop.is_set()))
        }
        Err(error) => Err(error),
    }
}

/// What the SVDs may take.
fn limits(task: Task<'_>) -> Limits {
    let max_bytes = task.target.left_of(task.settings.max_bytes);
    Limits { max_bytes, stop: task.run.stop.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Effort, Request, Run, fit};
    use crate::graph::ModeGraph;
    use crate::problem::Target;
    use crate::tensor::{Complex, Scalar, Tensor};

    fn noise<T: Scalar>(dims: &[usize]) -> Target {
        let mut rng = rng::stream(4, b"direct");
        let data = (0..dims.iter().product()).map(|_| T::normal(&mut rng)).collect();
        Target::new(Tensor::<T>::new(dims.to_vec(), data).unwrap()).unwrap()
    }

    fn never_worse<T: Scalar>() {
        let target = noise::<T>(&[3, 2, 3, 2, 2]);
        for edges in [
            vec![(0, 1, 2), (1, 2, 3), (2, 3, 2), (3, 4, 2)],
            vec![(0, 1, 2), (3, 4, 2)],
            vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (3, 4, 2), (0, 4, 2)],
            vec![(0, 1, 7), (1, 2, 2)],
        ] {
            let graph = ModeGraph::new(5, 0, edges);
            let settings = FitSettings { max_sweeps: 20, restarts: 2, ..FitSettings::default() };
            let mut request = Request::new(graph.clone(), settings.check().unwrap(), 1);
            request.effort = Effort::Direct;
            let fitted = fit(&target, &request, &Run::default()).unwrap();
            assert_eq!(fitted, fit(&target, &request, &Run::default()).unwrap());
            let (_, forest) = spanning_svd(&target, &graph, &Limits::none(), |_| 0.0).unwrap();
            assert!(fitted.error <= forest * (1.0 + 1e-6), "{graph}: {} {forest}", fitted.error);
            if let Some((_, svd)) = forest_svd(&target, &graph, &Limits::none()).unwrap() {
                assert!(fitted.error <= svd * (1.0 + 1e-6), "{graph}: {} {svd}", fitted.error);
            }
            // It is the error of its cores.
            let settings = FitSettings { restarts: 1, max_sweeps: 1, ..FitSettings::default() };
            let again = Request::new(graph, settings.check().unwrap(), 1);
            let again = again.beginning_at(fitted.cores);
            let again = fit(&target, &again, &Run::default()).unwrap();
            assert!(again.error <= fitted.error * (1.0 + 1e-3));
        }
    }

    #[test]
    fn it_is_never_worse_than_the_svds_it_begins_with() {
        never_worse::<f64>();
        never_worse::<f32>();
        never_worse::<Complex<f64>>();
    }

    #[test]
    fn an_error_that_the_svds_reach_is_enough() {
        let target = noise::<f64>(&[3, 2, 3]);
        let graph = ModeGraph::new(3, 0, vec![(0, 1, 2), (1, 2, 2)]);
        let (_, svd) = forest_svd(&target, &graph, &Limits::none()).unwrap().unwrap();
        for (enough, sweeps) in [(1.01 * svd, false), (0.9 * svd, true)] {
            let settings = FitSettings { enough_rse: enough, ..FitSettings::default() };
            let mut request = Request::new(graph.clone(), settings.check().unwrap(), 1);
            request.effort = Effort::Direct;
            let fitted = fit(&target, &request, &Run::default()).unwrap();
            assert_eq!(fitted.sweeps > 0, sweeps);
        }
    }
}
