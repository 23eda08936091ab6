use super::*;
use crate::fit::tests::{erased, random_cores};
use crate::fit::{CheckedFit, Request, fit};
use crate::network::contract;
use crate::problem::Target;
use crate::tensor::Complex;

fn all_pairs(n: usize) -> Vec<(usize, usize)> {
    (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect()
}

fn settings() -> CheckedFit {
    FitSettings::default().check().unwrap()
}

fn adapt(
    x: &Target,
    graph: &ModeGraph,
    by: &Adapt,
    seed: u64,
    stop: &Stop,
) -> Result<Fitted, FitError> {
    let request = Request::new(graph.clone(), settings(), seed);
    let request = Request { adapt: Some(by.clone().into()), ..request };
    fit(x, &request, &Run::until(stop))
}

/// The tensor of a random network of a graph.
fn target<T: Scalar>(graph: &ModeGraph, dims: &[usize], seed: u64) -> Target {
    Target::new(contract(graph, dims, &random_cores::<T>(graph, dims, seed))).unwrap()
}

/// The error that is reported is that of the cores that are given.
fn checked(target: &Target, fitted: &Fitted) {
    let graph = fitted.graph.as_ref().unwrap();
    let error = dispatch!(&fitted.cores[0], first => {
        let cores = typed_like(first, &fitted.cores);
        target.rse_of(&contract(graph, target.dims(), &cores).into())
    });
    assert!((error - fitted.error).abs() <= 1e-9 + 1e-4 * error, "{error} {}", fitted.error);
}

fn typed_like<T: Scalar>(_: &Tensor<T>, cores: &[AnyTensor]) -> Vec<Tensor<T>> {
    cores.iter().map(|c| c.typed::<T>().unwrap().clone()).collect()
}

fn tree_recovers<T: Scalar>(eps: f64) {
    let dims = [3, 4, 3, 4, 3];
    let tree = ModeGraph::new(5, 0, vec![(0, 1, 2), (1, 2, 3), (1, 3, 2), (3, 4, 3)]);
    let x = target::<T>(&tree, &dims, 1);
    let joins: Vec<_> = tree.edges().iter().map(|e| (e.0, e.1)).collect();
    for wrong in [2, 4] {
        let edges = joins.iter().map(|&(u, v)| (u, v, wrong)).collect();
        let graph = ModeGraph::new(5, 0, edges);
        let by = Adapt { steps: 60, ..Adapt::new(Objective::MaxError(eps), 6, joins.clone()) };
        let fitted = adapt(&x, &graph, &by, 1, &Stop::new()).unwrap();
        checked(&x, &fitted);
        assert!(fitted.error <= eps, "{}", fitted.error);
        assert_eq!(fitted.graph, Some(tree.clone()), "{} from {wrong}", T::KIND);
    }
}

#[test]
fn a_tree_of_every_kind_gets_its_own_ranks_back() {
    tree_recovers::<f64>(1e-8);
    tree_recovers::<f32>(1e-5);
    tree_recovers::<Complex<f64>>(1e-8);
    tree_recovers::<Complex<f32>>(1e-5);
}

fn ring_recovers<T: Scalar>(eps: f64) {
    let dims = [4, 4, 4, 4, 4];
    let ring = ModeGraph::new(5, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 3), (3, 4, 2), (0, 4, 2)]);
    let x = target::<T>(&ring, &dims, 3);
    let joins: Vec<_> = ring.edges().iter().map(|e| (e.0, e.1)).collect();
    let by = Adapt { steps: 100, ..Adapt::new(Objective::MaxError(eps), 5, joins) };
    let graph = ModeGraph::new(5, 0, by.joins.iter().map(|&(u, v)| (u, v, 2)).collect());
    let fitted = adapt(&x, &graph, &by, 2, &Stop::new()).unwrap();
    checked(&x, &fitted);
    assert!(fitted.error <= eps, "{} {}", T::KIND, fitted.error);
    // It need not find the smallest: a path reaches the error, too.
    assert!(fitted.graph.unwrap().edges().iter().all(|e| e.2 <= 5));
}

#[test]
fn the_error_of_a_ring_is_reached_from_other_ranks() {
    ring_recovers::<f64>(1e-6);
    ring_recovers::<f32>(1e-5);
}

#[test]
fn objectives_and_the_largest_rank_are_kept() {
    let dims = [3; 6];
    let graph = ModeGraph::new(6, 0, all_pairs(6).into_iter().map(|(u, v)| (u, v, 2)).collect());
    let x = target::<f64>(&graph, &dims, 5);
    let ring = ModeGraph::new(6, 0, (0..6).map(|k| (k, (k + 1) % 6, 2)).collect());
    for objective in [Objective::Lambda(3.0), Objective::MaxParams(150), Objective::MaxError(0.6)] {
        for (joins, swaps) in [(Vec::new(), true), (all_pairs(6), false)] {
            let by = Adapt { swaps, steps: 30, ..Adapt::new(objective, 4, joins.clone()) };
            let run = || adapt(&x, &ring, &by, 3, &Stop::new()).unwrap();
            let fitted = run();
            checked(&x, &fitted);
            assert_eq!(fitted, run(), "the same every time");
            let found = fitted.graph.unwrap();
            assert!(found.edges().iter().all(|e| e.2 <= 4), "{found}");
            match objective {
                Objective::MaxParams(most) => assert!(found.params(&dims) <= most, "{found}"),
                Objective::MaxError(eps) => assert!(fitted.error <= eps, "{}", fitted.error),
                _ => {}
            }
            if joins.is_empty() {
                let ring = crate::graph::Template::ring(6).unwrap();
                assert_eq!(ring.holds(&found), Some(true), "{found}");
            }
        }
    }
}

#[test]
fn given_cores_are_where_it_begins() {
    let dims = [3, 3, 3, 3];
    let path = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 3), (2, 3, 2)]);
    let cores = random_cores::<f64>(&path, &dims, 8);
    // Far from 1, so that it is scaled.
    let mut z = contract(&path, &dims, &cores);
    z.data_mut().iter_mut().for_each(|x| *x *= 1e9);
    let x = Target::new(z).unwrap();
    let mut cores = cores;
    cores[0].data_mut().iter_mut().for_each(|x| *x *= 1e9);
    let by = Adapt::new(Objective::MaxError(1e-8), 5, Vec::new());
    let warm = erased(cores);
    let request = Request::new(path.clone(), settings(), 1).beginning_at(warm);
    let request = Request { adapt: Some(by.into()), ..request };
    let fitted = fit(&x, &request, &Run::default()).unwrap();
    checked(&x, &fitted);
    assert!(fitted.error < 1e-20 && fitted.graph == Some(path), "{}", fitted.error);
}

#[test]
fn a_stop_ends_it() {
    let dims = [3; 5];
    let ring = ModeGraph::new(5, 0, (0..5).map(|k| (k, (k + 1) % 5, 2)).collect());
    let x = target::<f64>(&ring, &dims, 1);
    let stop = Stop::new();
    stop.set();
    let by = Adapt { steps: 1_000_000, ..Adapt::new(Objective::Lambda(5.0), 5, Vec::new()) };
    let fitted = adapt(&x, &ring, &by, 1, &stop).unwrap();
    checked(&x, &fitted);
    assert!(fitted.interrupted);
}

#[test]
fn a_start_that_costs_too_much_is_refused_and_not_said_to_be_interrupted() {
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 2), (1, 2, 2), (0, 2, 2)]);
    let x = target::<f64>(&graph, &[3, 3, 3], 1);
    let walk = |max_cost: f64, stop: &Stop| {
        let by = Adapt::new(Objective::Lambda(10.0), 4, all_pairs(3));
        let by = Adapt { max_cost: Some(max_cost), ..by };
        adapt(&x, &graph, &by, 1, stop)
    };
    assert_eq!(walk(1e-300, &Stop::new()), Err(FitError::NoSweep));
    assert!(walk(1e300, &Stop::new()).is_ok());
    let stopped = Stop::new();
    stopped.set();
    assert_eq!(walk(1e-300, &stopped), Err(FitError::Interrupted));
}

#[test]
fn a_stop_is_looked_at_within_a_sweep_over_pairs_and_the_answer_is_what_it_says() {
    let dims = [30, 24, 20, 18];
    let ring = ModeGraph::new(4, 0, vec![(0, 1, 3), (1, 2, 3), (2, 3, 3), (0, 3, 3)]);
    let x = target::<f64>(&ring, &dims, 2);
    let joins: Vec<_> = ring.edges().iter().map(|e| (e.0, e.1)).collect();
    let by = Adapt { steps: 2, ..Adapt::new(Objective::Lambda(20.0), 5, joins) };
    let made = |looks: u64| {
        let stop = Stop::after_looks(looks);
        (adapt(&x, &ring, &by, 1, &stop), looks - stop.looks_left())
    };
    let (whole, looks) = made(1 << 40);
    checked(&x, &whole.unwrap());
    // Pairs take long products; each sweep has four of them, and there are nine sweeps and more.
    assert!(looks > 100, "{looks} looks");
    let mut answers = 0;
    for at in (0..looks).step_by(looks as usize / 24) {
        match made(at).0 {
            Ok(fitted) => {
                checked(&x, &fitted);
                assert!(fitted.interrupted, "{at}");
                answers += 1;
            }
            Err(e) => assert_eq!(e, FitError::Interrupted, "{at}"),
        }
    }
    assert!(answers > 10, "{answers}");
}

#[test]
fn pairs_take_no_more_memory_than_they_may() {
    let dims = [12, 10, 11, 9];
    let ring = ModeGraph::new(4, 0, vec![(0, 1, 3), (1, 2, 3), (2, 3, 3), (0, 3, 3)]);
    let x = target::<f64>(&ring, &dims, 2);
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]);
    let entries = x.tensor().as_f64().unwrap().data();
    let terms = sweep::Terms {
        price: Goal::new(Objective::Lambda(1e6), entries.len() as f64).price(),
        max_rank: 9,
        swaps: false,
        rank: None,
        enough: 0.0,
    };
    let solved = |room: f64| {
        let stop = Stop::new();
        let mut net = Net::<f64>::random(&graph, &dims, &mut rng::stream(1, b"pairs"));
        let before = net.to_cores();
        let mut pairs = Pairs::new((entries, x.norm_squared()), room, &stop);
        let error = pairs.sweep(&mut net, &|_, _| true, &terms, &stop);
        assert!(error.is_some() || net.to_cores() == before);
        (error.is_some(), net.params())
    };
    // None where the merged blocks alone are too many, small ones before large ones, all in the end.
    let (_, merged) = Net::<f64>::random(&graph, &dims, &mut rng::stream(1, b"pairs")).tree();
    assert!(!solved(0.99 * merged).0);
    let (tight, free) = (solved(8.0 * merged), solved(f64::INFINITY));
    assert!(tight.0 && free.0 && tight.1 <= free.1, "{tight:?} {free:?}");
}
