//! The fit methods against independent dense computations.

mod properties;
mod stops;

use super::plan::{Plan, Walk};
use super::*;
use crate::network::contract;
use crate::problem::Stop;
use crate::rng;
use crate::tensor::{Complex, Scalar, Tensor, unflatten};

pub(super) fn random_cores<T: Scalar>(
    graph: &ModeGraph,
    dims: &[usize],
    seed: u64,
) -> Vec<Tensor<T>> {
    let mut rng = rng::stream(seed, b"cores");
    (0..graph.vertices())
        .map(|v| {
            let shape = graph.core_dims(v, dims);
            let n = shape.iter().product();
            Tensor::new(shape, (0..n).map(|_| T::normal(&mut rng)).collect()).unwrap()
        })
        .collect()
}

pub(super) fn erased<T: Scalar>(cores: Vec<Tensor<T>>) -> Vec<AnyTensor> {
    cores.into_iter().map(AnyTensor::from).collect()
}

pub(super) fn typed<T: Scalar>(cores: &[AnyTensor]) -> Vec<Tensor<T>> {
    cores.iter().map(|core| core.typed().unwrap().clone()).collect()
}

/// `Z[i] = sum over all edge indices of the product of core entries`, straight from the definition.
fn einsum<T: Scalar>(graph: &ModeGraph, dims: &[usize], cores: &[Tensor<T>]) -> Tensor<T> {
    let ranks: Vec<usize> = graph.edges().iter().map(|e| e.2).collect();
    let (n, inner): (usize, usize) = (dims.iter().product(), ranks.iter().product());
    let data = (0..n).map(|flat| {
        let i = unflatten(flat, dims);
        let term = |s: usize| -> T {
            let e = unflatten(s, &ranks);
            (0..graph.vertices())
                .map(|v| {
                    let mut at: Vec<usize> = graph.incident(v).map(|k| e[k]).collect();
                    if v < graph.modes() {
                        at.push(i[v]);
                    }
                    cores[v].at(&at)
                })
                .fold(T::ONE, |a, b| a * b)
        };
        (0..inner).map(term).sum()
    });
    Tensor::new(dims.to_vec(), data.collect()).unwrap()
}

fn random<T: Scalar>(dims: &[usize], seed: u64) -> Target {
    let mut rng = rng::stream(seed, b"target");
    let n = dims.iter().product();
    let data: Vec<T> = (0..n).map(|_| T::normal(&mut rng)).collect();
    Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
}

fn random_target(dims: &[usize], seed: u64) -> Target {
    random::<f64>(dims, seed)
}

fn rse<T: Scalar>(target: &Target, z: &Tensor<T>) -> f64 {
    let x = target.tensor().typed::<T>().unwrap().data().iter();
    x.zip(z.data()).map(|(x, z)| (*x - *z).abs_squared()).sum::<f64>() / target.norm_squared()
}

pub(super) fn fit_of(
    target: &Target,
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
) -> Result<Fitted, FitError> {
    fit(target, &Request::new(graph.clone(), settings.clone(), seed), &Run::default())
}

fn checked(settings: FitSettings) -> CheckedFit {
    settings.check().unwrap()
}

#[test]
fn als_and_lm_find_a_hidden_ring() {
    let dims = [3; 6];
    let graph = ModeGraph::new(
        6,
        0,
        vec![(0, 3, 2), (1, 3, 3), (1, 4, 2), (2, 4, 4), (2, 5, 2), (0, 5, 3)],
    );
    let hidden = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 5));
    let target = Target::new(hidden).unwrap();
    for method in [Method::Als, Method::Lm] {
        let settings = checked(FitSettings { restarts: 8, ..FitSettings::of(method) });
        let fitted = fit_of(&target, &graph, &settings, 1).unwrap();
        assert!(fitted.error < 1e-10, "{method}: {}", fitted.error);
        let request = Request::new(graph.clone(), settings, 1);
        let again = fit(&target, &request, &Run::default().in_parallel()).unwrap();
        assert_eq!(fitted, again, "{method}");
    }
}

/// A hidden ring is found to what the kind's precision allows, by every method that takes the kind.
fn finds_a_hidden_ring<T: Scalar>(below: f64) {
    let dims = [3; 5];
    let graph = ModeGraph::new(5, 0, vec![(0, 3, 2), (1, 3, 3), (1, 4, 2), (2, 4, 3), (0, 2, 2)]);
    let hidden = contract(&graph, &dims, &random_cores::<T>(&graph, &dims, 5));
    let target = Target::new(hidden).unwrap();
    for method in Method::ALL.into_iter().filter(|&m| m != Method::Lm || !T::KIND.is_complex()) {
        let settings = FitSettings { restarts: 8, learning_rate: 0.01, ..FitSettings::of(method) };
        let fitted = fit_of(&target, &graph, &checked(settings), 1).unwrap();
        let below = if method == Method::Adam { 1e-6 } else { below };
        assert!(fitted.error < below, "{method} {}: {}", T::KIND, fitted.error);
    }
}

#[test]
fn every_kind_finds_a_hidden_ring() {
    finds_a_hidden_ring::<f32>(2e-9);
    finds_a_hidden_ring::<Complex<f32>>(2e-9);
    finds_a_hidden_ring::<Complex<f64>>(1e-10);
}

#[test]
fn numbers_of_half_the_size_take_half_the_memory() {
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 3, 4)]);
    fn bytes<T: Scalar>(graph: &ModeGraph) -> f64 {
        let target = random::<T>(&[4; 4], 1);
        let x = target.tensor().typed::<T>().unwrap();
        Plan::new((&target, x), graph, Walk::Changing, None).unwrap().bytes
    }
    let real = bytes::<f64>(&graph);
    assert_eq!(bytes::<f32>(&graph), real / 2.0);
    assert_eq!(bytes::<Complex<f32>>(&graph), real);
    assert_eq!(bytes::<Complex<f64>>(&graph), 2.0 * real);
}

#[test]
fn entries_far_from_one_are_fitted_like_any_others() {
    let dims = [3; 4];
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]);
    let hidden = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 5));
    for factor in [1e-300, 1e-200, 1e-40, 1e40, 1e300] {
        let data = hidden.data().iter().map(|x| x * factor).collect();
        let scaled = Tensor::new(dims.to_vec(), data).unwrap();
        let target = Target::new(scaled.clone()).unwrap();
        for method in [Method::Als, Method::Lm] {
            let settings = checked(FitSettings { restarts: 6, ..FitSettings::of(method) });
            let fitted = fit_of(&target, &graph, &settings, 1).unwrap();
            assert!(fitted.error < 1e-10, "{method} {factor}: {}", fitted.error);
            let z = contract(&graph, &dims, &typed::<f64>(&fitted.cores));
            assert!(target.rse_of(&z.clone().into()) < 1e-9, "{method} {factor}");
            let (x, z) = (scaled.data()[7], z.data()[7]);
            assert!((x / z - 1.0).abs() < 1e-2, "{method} {factor}: {x} {z}");
        }
    }
}

#[test]
fn no_fit_is_worse_than_the_zero_network() {
    let target = random_target(&[3, 3, 3], 1);
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 2), (1, 2, 2), (0, 2, 2)]);
    let settings =
        FitSettings { learning_rate: 50.0, max_sweeps: 20, ..FitSettings::of(Method::Adam) };
    let fitted = fit_of(&target, &graph, &checked(settings), 1).unwrap();
    assert!(fitted.error <= 1.0 && fitted.cores.iter().all(|c| c.first_not_finite().is_none()));
}

#[test]
fn adam_lowers_the_error_of_a_hidden_ring() {
    let dims = [3; 4];
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]);
    let hidden = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 5));
    let target = Target::new(hidden).unwrap();
    let settings =
        FitSettings { learning_rate: 0.01, restarts: 4, ..FitSettings::of(Method::Adam) };
    let fitted = fit_of(&target, &graph, &checked(settings), 1).unwrap();
    assert!(fitted.error < 1e-6, "{}", fitted.error);
}

#[test]
fn a_warm_start_at_the_solution_stays_there() {
    let dims = [2, 3, 2];
    let graph = ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 2), (2, 3, 2)]);
    let cores = random_cores::<f64>(&graph, &dims, 9);
    let target = Target::new(contract(&graph, &dims, &cores)).unwrap();
    let cores = erased(cores);
    let settings = checked(FitSettings { restarts: 1, ..FitSettings::default() });
    let from = |cores: &[AnyTensor]| {
        let request = Request::new(graph.clone(), settings.clone(), 1);
        fit(&target, &request.beginning_at(cores.to_vec()), &Run::default())
    };
    let fitted = from(&cores).unwrap();
    assert!(fitted.error < 1e-20 && fitted.sweeps == 1, "{fitted:?}");
    let wrong = from(&cores[..2]);
    assert!(matches!(wrong, Err(FitError::WarmStart { vertex: 2, .. })), "{wrong:?}");
    let other: Vec<_> = cores.into_iter().map(|c| c.to_kind(Kind::C64).unwrap()).collect();
    let wrong = from(&other).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "warm start: core 0 is of kind complex128, the tensor of kind f64"
    );
}

#[test]
fn too_large_a_fit_is_refused_with_a_figure() {
    let target = random_target(&[4, 4, 4, 4], 1);
    let edges = vec![(0, 1, 200), (1, 2, 200), (2, 3, 200), (0, 3, 200)];
    let graph = ModeGraph::new(4, 0, edges);
    let settings = checked(FitSettings { max_bytes: Some(1_000_000), ..FitSettings::default() });
    let refused = fit_of(&target, &graph, &settings, 1).unwrap_err();
    assert!(
        matches!(refused, FitError::Memory(ref m) if m.limit <= 1e6 && m.needed > 100e6),
        "{refused}"
    );
}

#[test]
fn an_interrupt_before_the_start_is_an_error() {
    let target = random_target(&[2, 2, 2], 1);
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 2)]);
    let interrupt = Stop::new();
    interrupt.set();
    let request = Request::new(graph, checked(FitSettings::default()), 1);
    let stopped = fit(&target, &request, &Run::until(&interrupt));
    assert_eq!(stopped, Err(FitError::Interrupted));
}

#[test]
fn ranks_of_no_use_change_nothing_but_the_shapes() {
    let dims = [2, 3, 2, 3];
    // The edge 0-1 carries 2 * 2 at most; 3-4 ends at a vertex that has nothing else.
    let wide = ModeGraph::new(4, 1, vec![(0, 1, 9), (0, 3, 2), (1, 2, 2), (2, 3, 3), (3, 4, 5)]);
    let narrow = ModeGraph::new(4, 1, vec![(0, 1, 4), (0, 3, 2), (1, 2, 2), (2, 3, 3)]);
    let target = random_target(&dims, 3);
    for method in [Method::Als, Method::Lm] {
        let settings = checked(FitSettings::of(method));
        let of = |graph| fit_of(&target, graph, &settings, 7).unwrap();
        let (whole, cut) = (of(&wide), of(&narrow));
        assert_eq!((whole.error, whole.sweeps), (cut.error, cut.sweeps));
        assert_eq!(whole.cores[1].dims(), wide.core_dims(1, &dims));
        let explicit = rse(&target, &einsum(&wide, &dims, &typed::<f64>(&whole.cores)));
        assert!((explicit - whole.error).abs() < 1e-12, "{explicit} {}", whole.error);
    }
    assert_eq!(sweep_cost(&wide, &dims), sweep_cost(&narrow, &dims));
    // What comes back must have room, too.
    let wide = ModeGraph::new(4, 0, vec![(0, 1, 1 << 40)]);
    let settings = checked(FitSettings { max_bytes: Some(1 << 30), ..FitSettings::default() });
    let refused = fit_of(&target, &wide, &settings, 1).unwrap_err();
    assert!(matches!(refused, FitError::Memory(_)), "{refused}");
}

#[test]
fn scouts_find_more_than_starts_alone() {
    let dims = [3; 6];
    let found = |scouts: usize| {
        let settings = checked(FitSettings { restarts: 1, scouts, ..FitSettings::default() });
        let of = |seed: u64| {
            let ranks = [3, 2, 4, 2, 3, 4];
            let edges = (0..6).map(|v| (v, (v + 1) % 6, ranks[v])).collect();
            let graph = ModeGraph::new(6, 0, edges);
            let hidden = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, seed));
            let target = Target::new(hidden).unwrap();
            fit_of(&target, &graph, &settings, seed).unwrap()
        };
        (0..20).map(of).filter(|f| f.error < 1e-8).count()
    };
    let (alone, scouted) = (found(1), found(8));
    assert!(scouted > alone + 1, "{scouted} of 20 with scouts, {alone} without");
    let settings = FitSettings { scouts: 2, ..FitSettings::of(Method::Adam) };
    assert_eq!(settings.check().unwrap_err().to_string(), "scouts is 2; adam takes 1 only");
    // Settings written before there were scouts are read, and written the same.
    let written = serde_json::to_string(&FitSettings::default()).unwrap();
    assert!(!written.contains("scouts"));
    assert_eq!(serde_json::from_str::<FitSettings>(&written).unwrap(), FitSettings::default());
}

#[test]
fn a_fit_that_is_stopped_in_a_sweep_has_cores_with_the_error_it_says() {
    let mut rng = rng::stream(5, b"stopped");
    let dims = [3, 4, 3, 4];
    let data: Vec<f64> = (0..144).map(|_| f64::normal(&mut rng)).collect();
    let target = Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap();
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]);
    let settings = FitSettings { tolerance: 0.0, max_sweeps: 20, ..FitSettings::default() };
    let settings = settings.check().unwrap();
    let mut last = 1.0;
    for looks in 0..40 {
        let stop = Stop::after_looks(looks);
        match fit(&target, &Request::new(graph.clone(), settings.clone(), 1), &Run::until(&stop)) {
            Ok(fitted) => {
                assert!(fitted.interrupted && fitted.sweeps <= looks as usize / 4 + 1);
                let error = error_of(&target, &graph, &fitted.cores, None).unwrap();
                assert!((error - fitted.error).abs() < 1e-13, "{looks}: {error}");
                assert!(fitted.error <= last + 1e-13, "later is no worse");
                last = fitted.error;
            }
            Err(e) => assert_eq!((e, last), (FitError::Interrupted, 1.0), "{looks}"),
        }
    }
    assert!(last < 0.9);
}

#[test]
fn a_fit_that_cannot_make_a_sweep_in_time_is_refused() {
    let target = Target::new(Tensor::new(vec![2, 3], vec![1.0; 6]).unwrap()).unwrap();
    let graph = ModeGraph::new(2, 0, vec![(0, 1, 2)]);
    let settings = FitSettings::default().check().unwrap();
    let free = Stop::new();
    let request = Request::new(graph, settings, 1);
    let of = |stop: &Stop| fit(&target, &request, &Run::until(stop)).map(|f| f.error);
    // Only known, the end stops nothing; but what cannot be done by then is not begun.
    assert_eq!(of(&free.knowing(&free.within_seconds(0.0))), Err(FitError::Time));
    assert_eq!(of(&free.knowing(&free.within_seconds(1e9))), of(&free));
    assert_eq!(of(&free.within_seconds(0.0)), Err(FitError::Interrupted));
}
