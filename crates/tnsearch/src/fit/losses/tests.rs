use super::*;
use crate::fit::tests::{fit_of, random_cores};
use crate::fit::{self, CheckedFit, Request, Run};
use crate::network::contract;
use crate::problem::{Huber, KlDivergence, Mask, Measure, PoissonDeviance, SquaredError};

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

/// Squares, by networks without negative entries.
#[derive(Debug)]
struct PositiveSquares;

impl Loss for PositiveSquares {
    fn measure(&self) -> Measure {
        Measure::new("squares", "squares", "squared error without negative entries", None)
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        (x - z).powi(2)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        2.0 * (z - x)
    }

    fn model(&self) -> ModelDomain {
        ModelDomain::NonNegative
    }
}

static HUBER: Huber = Huber::new(0.3);

const LOSSES: [&dyn Loss; 5] = [&Steep, &HUBER, &KlDivergence, &PoissonDeviance, &PositiveSquares];

fn graphs() -> [ModeGraph; 3] {
    [
        ModeGraph::new(3, 0, vec![(0, 1, 2), (1, 2, 3), (0, 2, 2)]),
        ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 2), (2, 3, 3)]),
        ModeGraph::new(4, 0, vec![(0, 2, 2), (1, 2, 2), (1, 3, 2)]),
    ]
}

fn dims(graph: &ModeGraph) -> Vec<usize> {
    (0..graph.modes()).map(|m| 2 + m % 3).collect()
}

/// Data that the loss is defined for and no small network fits.
fn tensor(graph: &ModeGraph, loss: &dyn Loss, seed: u64) -> Tensor {
    let dims = dims(graph);
    let mut x: Tensor = contract(graph, &dims, &random_cores(graph, &dims, seed));
    for (n, x) in x.data_mut().iter_mut().enumerate() {
        let wild = (*x + n as f64).sin();
        *x = match loss.model() {
            ModelDomain::Real => wild,
            ModelDomain::NonNegative => (4.0 * wild.abs() + seed as f64).floor(),
        };
    }
    x
}

/// With a fifth of the entries missing, and a sixth of the rest held out.
fn with_holes(x: &Tensor) -> Target {
    let (left, _) = Mask::all(x.dims()).unwrap().without(0.2, 1).unwrap();
    let (_, held) = left.without(1.0 / 6.0, 2).unwrap();
    Target::with_holes(x.clone(), &left).unwrap().holding_out(&held).unwrap()
}

fn positive(graph: &ModeGraph, dims: &[usize], seed: u64) -> Vec<Tensor> {
    let mut cores: Vec<Tensor> = random_cores(graph, dims, seed);
    cores.iter_mut().flat_map(|c| c.data_mut()).for_each(|g| *g = 0.05 + g.abs());
    cores
}

/// The loss of some entries by its definition.
fn by_definition(loss: &dyn Loss, x: &Tensor, z: &[f64], inside: Option<&Mask>) -> f64 {
    let used = (0..z.len()).filter(|&k| inside.is_none_or(|inside| inside.contains(k)));
    let used: Vec<usize> = used.collect();
    let total: f64 = used.iter().map(|&k| loss.value(x.data()[k], z[k])).sum();
    total / loss.baseline(&used.iter().map(|&k| x.data()[k]).collect::<Vec<_>>())
}

fn dense(graph: &ModeGraph, dims: &[usize], fitted: &Fitted) -> Vec<f64> {
    let cores: Vec<Tensor> = fitted.cores.iter().map(|c| c.as_f64().unwrap().clone()).collect();
    contract(graph, dims, &cores).into_data()
}

fn fit_by(
    (target, loss): (&Target, &dyn Loss),
    graph: &ModeGraph,
    settings: &CheckedFit,
) -> Result<Fitted, FitError> {
    let request = Request::new(graph.clone(), settings.clone(), 1);
    fit::fit(target, &request, &Run::default().by(loss))
}

fn settings() -> CheckedFit {
    FitSettings { restarts: 2, max_sweeps: 50, ..FitSettings::default() }.check().unwrap()
}

#[test]
fn gradients_agree_with_finite_differences() {
    for (seed, graph) in graphs().iter().enumerate() {
        for loss in LOSSES {
            let x = tensor(graph, loss, seed as u64);
            for target in [Target::new(x.clone()).unwrap(), with_holes(&x)] {
                let dims = dims(graph);
                let data = target.tensor().as_f64().unwrap();
                let plan = Plan::new((&target, data), graph, Walk::Reading, None).unwrap();
                let mut ws = Workspace::new(&plan);
                let cores = positive(graph, &dims, 7);
                ws.set_cores(&cores.iter().collect::<Vec<_>>());
                ws.multiply_cores(1e-2);
                let mut entries = Entries::new(&target, loss, &plan);
                let losses = entries.losses(&mut ws);
                // The losses are those of the definition.
                let cores: Vec<Tensor> = ws.cores();
                let z = contract(graph, &dims, &cores).into_data();
                for (found, mask) in
                    [(losses.fitted, target.fitted()), (losses.measured, target.measured())]
                {
                    let expected = by_definition(loss, &x, &z, mask);
                    assert!((found - expected).abs() < 1e-12 * expected, "{found} {expected}");
                }
                let mut gradient = vec![0.0; plan.core_lens().iter().sum()];
                entries.gradient(&mut ws, &mut gradient);
                let mut place = 0;
                for (v, len) in plan.core_lens().into_iter().enumerate() {
                    for p in 0..len {
                        let h = 1e-5 * ws.core_mut(v)[p];
                        let mut at = |by: f64| {
                            ws.core_mut(v)[p] += by;
                            entries.losses(&mut ws).fitted
                        };
                        let (up, down) = (at(h), at(-2.0 * h));
                        at(h);
                        let slope = (up - down) / (2.0 * h);
                        let exact = gradient[place];
                        let scale = 1.0 + slope.abs();
                        assert!((slope - exact).abs() < 1e-5 * scale, "{v} {p}: {slope} {exact}");
                        place += 1;
                    }
                }
            }
        }
    }
}

#[test]
fn every_round_of_updates_lowers_a_divergence() {
    for (seed, graph) in graphs().iter().enumerate() {
        for loss in [&KlDivergence as &dyn Loss, &PoissonDeviance] {
            let x = tensor(graph, loss, seed as u64);
            for target in [Target::new(x.clone()).unwrap(), with_holes(&x)] {
                let data = target.tensor().as_f64().unwrap();
                let plan = Plan::new((&target, data), graph, Walk::Reading, None).unwrap();
                let mut ws = Workspace::new(&plan);
                let cores = positive(graph, &dims(graph), 3);
                ws.set_cores(&cores.iter().collect::<Vec<_>>());
                let mut entries = Entries::new(&target, loss, &plan);
                let updates = Multiplicative::new(graph).unwrap();
                let falls: Vec<f64> = updates.with(|updates| {
                    let mut fall = || updates.round(&mut ws, &mut entries, true).unwrap().fitted;
                    (0..60).map(|_| fall()).collect()
                });
                for pair in falls.windows(2) {
                    assert!(pair[1] <= pair[0] * (1.0 + 1e-12), "{pair:?}");
                }
                assert!(falls[59] < 0.9 * falls[0], "{falls:?}");
                // A round leaves the network with the sum of the data, where there are no holes.
                if target.is_whole() {
                    let z: f64 = contract(graph, &dims(graph), &ws.cores()).data().iter().sum();
                    let sum: f64 = x.data().iter().sum();
                    assert!((z - sum).abs() < 1e-9 * sum, "{z} {sum}");
                }
            }
        }
    }
}

#[test]
fn steps_never_raise_the_loss() {
    for (seed, graph) in graphs().iter().enumerate() {
        for loss in LOSSES {
            let x = tensor(graph, loss, seed as u64);
            let target = Target::new(x).unwrap();
            let data = target.tensor().as_f64().unwrap();
            let plan = Plan::new((&target, data), graph, Walk::Reading, None).unwrap();
            let mut ws = Workspace::new(&plan);
            let cores = positive(graph, &dims(graph), 5);
            let mut entries = Entries::new(&target, loss, &plan);
            let mut last = f64::INFINITY;
            for steps in [0, 1, 2, 3, 5, 10, 30] {
                ws.set_cores(&cores.iter().collect::<Vec<_>>());
                let descent = QuasiNewton::new(&plan, loss.model());
                let (error, made) =
                    descent.run(&mut ws, &mut entries, &settings(), steps, &Stop::new());
                assert!(error <= last && made <= steps, "{error} {last}");
                assert_eq!(entries.losses(&mut ws).measured, error);
                last = error;
            }
        }
    }
}

#[test]
fn the_error_is_that_of_the_cores_and_no_worse_than_least_squares() {
    for (seed, graph) in graphs().iter().enumerate() {
        for loss in LOSSES {
            let x = tensor(graph, loss, seed as u64);
            let target = Target::new(x.clone()).unwrap();
            let fitted = fit_by((&target, loss), graph, &settings());
            let fitted = fitted.unwrap();
            let z = dense(graph, &dims(graph), &fitted);
            let expected = by_definition(loss, &x, &z, None);
            assert!((expected - fitted.error).abs() < 1e-9, "{} {expected}", fitted.error);
            match loss.model() {
                ModelDomain::Real => {
                    let squares = fit_of(&target, graph, &settings(), 1).unwrap();
                    let squares =
                        by_definition(loss, &x, &dense(graph, &dims(graph), &squares), None);
                    assert!(fitted.error <= squares * (1.0 + 1e-9));
                }
                ModelDomain::NonNegative => {
                    let entries = fitted.cores.iter().flat_map(|c| c.as_f64().unwrap().data());
                    assert!(entries.into_iter().all(|g| *g >= 0.0));
                    assert!(fitted.error < 1.0, "better than a constant: {}", fitted.error);
                }
            }
            // It begins where it is told to, and gets no worse.
            let again = Request::new(graph.clone(), settings(), 1).beginning_at(fitted.cores);
            let again = fit::fit(&target, &again, &Run::default().by(loss));
            assert!(again.unwrap().error <= fitted.error * (1.0 + 2e-2));
        }
        let target = Target::new(tensor(graph, &Steep, 1)).unwrap();
        let squares = fit_of(&target, graph, &settings(), 1).unwrap();
        let same = fit_by((&target, &SquaredError), graph, &settings());
        assert_eq!(same.unwrap(), squares);
    }
}

#[test]
fn a_hidden_network_is_fitted_exactly_and_holes_are_filled() {
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]);
    let dims = [5, 4, 5, 4];
    let x: Tensor = contract(&graph, &dims, &positive(&graph, &dims, 11));
    let settings = FitSettings { max_sweeps: 400, tolerance: 1e-3, ..FitSettings::default() };
    let settings = settings.check().unwrap();
    let whole = Target::new(x.clone()).unwrap();
    let data = (&whole, &KlDivergence as &dyn Loss);
    let fitted = fit_by(data, &graph, &settings).unwrap();
    assert!(fitted.error < 1e-8, "{}", fitted.error);
    assert_eq!(fit_by(data, &graph, &settings).unwrap(), fitted);
    // What is missing is not seen, whatever it holds.
    let (left, taken) = Mask::all(&dims).unwrap().without(0.3, 1).unwrap();
    let mut spoiled = x.clone();
    taken.positions().for_each(|k| spoiled.data_mut()[k] = f64::NAN);
    let holes = Target::with_holes(spoiled, &left).unwrap();
    let data = (&holes, &KlDivergence as &dyn Loss);
    let fitted = fit_by(data, &graph, &settings).unwrap();
    assert!(fitted.error < 1e-6, "{}", fitted.error);
    let z = dense(&graph, &dims, &fitted);
    let missing = by_definition(&KlDivergence, &x, &z, Some(&taken));
    assert!(missing < 1e-3, "{missing}");
}

#[test]
fn entries_held_out_are_not_fitted_and_say_the_error() {
    for (seed, graph) in graphs().iter().enumerate() {
        for loss in LOSSES.into_iter().filter(|l| l.model() == ModelDomain::NonNegative) {
            let x = tensor(graph, loss, seed as u64);
            let target = with_holes(&x);
            let fitted = fit_by((&target, loss), graph, &settings());
            let fitted = fitted.unwrap();
            let z = dense(graph, &dims(graph), &fitted);
            let expected = by_definition(loss, &x, &z, target.held());
            assert!((expected - fitted.error).abs() < 1e-9 * expected, "{}", fitted.error);
            // Their values change the error, and not the way there.
            let mut other = x.clone();
            target.held().unwrap().positions().for_each(|k| other.data_mut()[k] += 1.0);
            let steps = |x: &Tensor| {
                let target = with_holes(x);
                let data = target.tensor().as_f64().unwrap();
                let plan = Plan::new((&target, data), graph, Walk::Reading, None).unwrap();
                let mut ws = Workspace::new(&plan);
                let cores = positive(graph, &dims(graph), 5);
                ws.set_cores(&cores.iter().collect::<Vec<_>>());
                let mut entries = Entries::new(&target, loss, &plan);
                entries.losses(&mut ws);
                let mut gradient = vec![0.0; plan.core_lens().iter().sum()];
                entries.gradient(&mut ws, &mut gradient);
                gradient
            };
            assert_eq!(steps(&x), steps(&other));
        }
    }
}

#[test]
fn a_single_vertex_knows_no_more_than_what_is_fitted() {
    let graph = ModeGraph::grouped(vec![vec![0, 1, 2]], 0, vec![]);
    let x = tensor(&graphs()[0], &KlDivergence, 2);
    let target = with_holes(&x);
    let data = (&target, &KlDivergence as &dyn Loss);
    let fitted = fit_by(data, &graph, &settings()).unwrap();
    let z = fitted.cores[0].as_f64().unwrap().data().to_vec();
    let expected = by_definition(&KlDivergence, &x, &z, target.held());
    assert!(fitted.error > 0.1 && (expected - fitted.error).abs() < 1e-12);
}

#[test]
fn what_cannot_be_fitted_is_refused_in_a_line() {
    let graph = ModeGraph::new(2, 0, vec![(0, 1, 2)]);
    let entries = vec![crate::tensor::Complex::new(1.0, 1.0); 4];
    let target = Target::new(Tensor::new(vec![2, 2], entries).unwrap()).unwrap();
    let refused = fit_by((&target, &Steep), &graph, &settings());
    let text = refused.unwrap_err().to_string();
    assert!(text.starts_with("loss is steep; it is fitted to f64 only"), "{text}");
    let target = Target::new(Tensor::new(vec![2, 2], vec![1.0, 2.0, -3.0, 4.0]).unwrap()).unwrap();
    let refused = fit_by((&target, &KlDivergence), &graph, &settings());
    assert!(refused.unwrap_err().to_string().starts_with("entry [1, 0] is -3; KL divergence"));
}
