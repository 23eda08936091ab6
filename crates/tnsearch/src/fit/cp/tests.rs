//! Against the definition, on small tensors of every kind.

use crate::fit::{Effort, FitError, FitSettings, Request, Run, error_of, fit};
use crate::graph::ModeGraph;
use crate::network::contract;
use crate::problem::{Mask, Target};
use crate::rng::stream;
use crate::tensor::{AnyTensor, Complex, Scalar, Tensor};

fn target<T: Scalar>(dims: &[usize], rank: usize, noise: f64, seed: u64) -> Target {
    let mut rng = stream(seed, b"cp fits");
    let graph = ModeGraph::cp(dims.len(), rank);
    let cores: Vec<Tensor<T>> = (0..graph.vertices())
        .map(|v| {
            let shape = graph.core_dims(v, dims);
            let len = shape.iter().product();
            let hub = graph.rank_of_cp().is_some() && v == dims.len();
            let data = (0..len).map(|_| if hub { T::ONE } else { T::normal(&mut rng) }).collect();
            Tensor::new(shape, data).unwrap()
        })
        .collect();
    let mut x = contract(&graph, dims, &cores);
    x.data_mut().iter_mut().for_each(|x| *x += T::normal(&mut rng).scale(noise));
    Target::new(x).unwrap()
}

fn request(dims: &[usize], rank: usize, seed: u64) -> Request {
    let settings = FitSettings::default().check().unwrap();
    Request::new(ModeGraph::cp(dims.len(), rank), settings, seed)
}

/// The error by the definition, entry by entry.
fn brute(target: &Target, cores: &[AnyTensor], rank: usize) -> f64 {
    let dims = target.dims();
    let (mut lost, mut all) = (0.0, 0.0);
    for k in 0..target.entries() {
        let index = crate::tensor::unflatten(k, dims);
        let term = |r: usize| -> Complex<f64> {
            (0..dims.len()).map(|n| cores[n].entry(r * dims[n] + index[n])).product()
        };
        let z: Complex<f64> = (0..rank).map(term).sum();
        let x = target.tensor().entry(k) * target.scale();
        lost += (x - z).norm_sqr();
        all += x.norm_sqr();
    }
    lost / all
}

fn finds_what_is_there<T: Scalar>(most: f64) {
    for (dims, rank) in [
        (vec![4, 3, 5], 2),
        (vec![3, 4, 3], 3),
        (vec![3; 4], 3),
        (vec![2, 3, 1, 4], 2),
        (vec![6, 5, 3], 3),
        (vec![6, 5, 2], 3),
        (vec![6, 5, 2], 4),
    ] {
        let target = target::<T>(&dims, rank, 0.0, 5);
        let mut asked = request(&dims, rank, 1);
        let settings = FitSettings { enough_rse: most, ..FitSettings::default() };
        asked.settings = std::sync::Arc::new(settings.check().unwrap());
        let fitted = fit(&target, &asked, &Run::default()).unwrap();
        assert!(fitted.error <= most, "{dims:?} {rank}: {:e}", fitted.error);
        assert!((brute(&target, &fitted.cores, rank) - fitted.error).abs() <= most);
        // Bit for bit again, and on several threads.
        let again = fit(&target, &asked, &Run::default().in_parallel()).unwrap();
        assert_eq!(again, fitted);
    }
}

#[test]
fn sums_of_few_products_are_found_by_every_kind() {
    finds_what_is_there::<f64>(1e-20);
    finds_what_is_there::<Complex<f64>>(1e-20);
    finds_what_is_there::<f32>(1e-9);
    finds_what_is_there::<Complex<f32>>(1e-9);
}

#[test]
fn more_terms_are_no_worse_and_errors_are_those_of_the_cores() {
    let dims = [4, 3, 5];
    let target = target::<f64>(&dims, 4, 0.5, 7);
    let mut last = 1.0;
    // Up to more terms than any dimension, and than any tensor needs.
    for rank in [1, 2, 3, 4, 6, 9, 12, 20] {
        let fitted = fit(&target, &request(&dims, rank, 3), &Run::default()).unwrap();
        let graph = ModeGraph::cp(3, rank);
        let error = error_of(&target, &graph, &fitted.cores, None).unwrap();
        assert!((error - fitted.error).abs() <= 1e-12 * (1.0 + error));
        assert!((brute(&target, &fitted.cores, rank) - error).abs() <= 1e-10);
        assert!(fitted.error <= last * 1.05 + 1e-12, "rank {rank}: {} after {last}", fitted.error);
        last = fitted.error;
    }
    assert!(last < 1e-6, "{last}");
}

/// `a a b + a b a + b a a` is a limit of sums of two products, and none itself: the terms grow without end.
#[test]
fn a_tensor_of_border_rank_two_ends_cleanly() {
    let mut data = vec![0.0; 27];
    for k in [1, 3, 9] {
        data[k] = 1.0;
    }
    let target = Target::new(Tensor::new(vec![3; 3], data).unwrap()).unwrap();
    let errors: Vec<f64> = [1, 2, 3]
        .map(|rank| {
            let fitted = fit(&target, &request(&[3; 3], rank, 0), &Run::default()).unwrap();
            assert!(fitted.cores.iter().all(|core| core.first_not_finite().is_none()));
            fitted.error
        })
        .to_vec();
    assert!(errors[1] < 0.05 && errors[2] < 1e-9 && errors[0] > 0.3, "{errors:?}");
}

#[test]
fn a_fit_begins_at_given_cores() {
    let dims = [4, 3, 5];
    let target = target::<f64>(&dims, 3, 0.3, 11);
    let fitted = fit(&target, &request(&dims, 3, 1), &Run::default()).unwrap();
    let mut again = request(&dims, 3, 2).beginning_at(fitted.cores.clone());
    again.effort = Effort::Quick;
    let again = fit(&target, &again, &Run::default()).unwrap();
    assert!(again.error <= fitted.error * (1.0 + 1e-9) && again.restarts == 1);
    let mut wrong = fitted.cores;
    wrong[0] = wrong[1].clone();
    let refused = fit(&target, &request(&dims, 3, 2).beginning_at(wrong), &Run::default());
    assert!(matches!(refused, Err(FitError::WarmStart { vertex: 0, .. })));
}

#[test]
fn what_is_not_possible_is_refused() {
    let dims = [3, 3, 3];
    let target = target::<f64>(&dims, 2, 0.0, 1);
    let mut small = request(&dims, 2, 0);
    small.settings = std::sync::Arc::new(
        FitSettings { max_bytes: Some(100), ..FitSettings::default() }.check().unwrap(),
    );
    assert!(matches!(fit(&target, &small, &Run::default()), Err(FitError::Memory(_))));
    let mask = Mask::new(vec![3; 3], (0..27).map(|k| k % 2 == 0).collect()).unwrap();
    let holes = Target::with_holes(target.tensor().clone(), &mask).unwrap();
    let refused = fit(&holes, &request(&dims, 2, 0), &Run::default()).unwrap_err();
    assert_eq!(refused, FitError::Hyperedge);
    let other = request(&[3; 4], 2, 0);
    assert!(matches!(fit(&target, &other, &Run::default()), Err(FitError::Modes { .. })));
}

/// Normal equations, which large tensors are fitted by, against triangles.
#[test]
fn both_ways_to_solve_lead_to_the_same() {
    use super::sweep::Problem;
    let dims = [30, 40, 35];
    let target = target::<f64>(&dims, 3, 0.01, 2);
    let x = target.tensor().as_f64().unwrap();
    let mut rng = stream(9, b"both ways");
    let begin: Vec<Vec<f64>> =
        dims.iter().map(|&d| (0..3 * d).map(|_| f64::normal(&mut rng)).collect()).collect();
    let errors = [Some(f64::INFINITY), None].map(|precise| {
        let problem = Problem::solving(x, 3, precise);
        let mut factors = begin.clone();
        let stop = crate::problem::Stop::new();
        problem.improve(&mut factors, 60, &|r| target.relative(r), &mut |_| false, &stop).0
    });
    assert!((errors[0] - errors[1]).abs() <= 1e-6 * errors[0], "{errors:?}");
}

/// The tensor of a function of the indices, each divided by the largest.
fn sampled(dims: &[usize], f: impl Fn(&[f64]) -> f64) -> Target {
    let entry = |k: usize| {
        let at = crate::tensor::unflatten(k, dims);
        f(&at.iter().zip(dims).map(|(&i, &d)| i as f64 / (d - 1) as f64).collect::<Vec<_>>())
    };
    let len = dims.iter().product();
    Target::new(Tensor::new(dims.to_vec(), (0..len).map(entry).collect()).unwrap()).unwrap()
}

/// Terms lean on each other there: sweeps end far above these errors, or need more terms.
#[test]
fn smooth_functions_reach_tight_errors_with_few_terms() {
    let inverse = |x: &[f64]| 1.0 / (1.0 + x.iter().sum::<f64>());
    let root = |x: &[f64]| (0.1 + x.iter().sum::<f64>()).sqrt();
    let log = |x: &[f64]| (1.0 + x.iter().sum::<f64>()).ln();
    type Case<'f> = (Vec<usize>, usize, f64, &'f dyn Fn(&[f64]) -> f64);
    let cases: [Case; 6] = [
        (vec![14; 3], 7, 1e-10, &inverse),
        (vec![14; 3], 10, 2e-13, &inverse),
        (vec![9; 4], 8, 1e-10, &inverse),
        (vec![14; 3], 10, 1e-10, &root),
        (vec![14; 3], 14, 3e-13, &root),
        (vec![9; 4], 7, 1e-10, &log),
    ];
    for (dims, rank, re, f) in cases {
        let target = sampled(&dims, f);
        let mut asked = request(&dims, rank, 1);
        let settings = FitSettings { enough_rse: re * re, ..FitSettings::default() };
        asked.settings = std::sync::Arc::new(settings.check().unwrap());
        let error = fit(&target, &asked, &Run::default()).unwrap().error.sqrt();
        assert!(error <= re, "{dims:?} {rank}: {error:e} for {re:e}");
    }
}

/// Three terms at once end at RE 0.09, from fewer they come to 0.015.
#[test]
fn terms_grow_where_all_at_once_end_in_a_bad_place() {
    let dims = [5; 4];
    let target = sampled(&dims, |x| {
        (1.6 * x.iter().sum::<f64>()).cos() + 256.0 * x.iter().product::<f64>() / 20.0
    });
    let fitted = fit(&target, &request(&dims, 3, 1), &Run::default()).unwrap();
    assert!(fitted.error.sqrt() <= 0.02, "{}", fitted.error.sqrt());
}

/// Triangles of a large tensor take a minute where normal equations take a second.
#[test]
fn sweeps_of_a_large_tensor_are_made_of_normal_equations() {
    let x = Tensor::new(vec![16; 5], vec![1.0; 1 << 20]).unwrap();
    let problem = super::sweep::Problem::new(&x, 3, 1e-12);
    assert!(problem.sweep_flops() <= 1e8, "{:e}", problem.sweep_flops());
    assert!(super::newton::steps(&[16; 5], 3) > 0);
}

/// A start that is good already is not lost to sweeps by normal equations, which cannot follow it.
#[test]
fn sweeps_never_end_above_their_start() {
    use super::sweep::Problem;
    let dims = [30, 40, 35];
    let target = target::<f64>(&dims, 3, 1e-9, 2);
    let x = target.tensor().as_f64().unwrap();
    let fitted = fit(&target, &request(&dims, 3, 1), &Run::default()).unwrap();
    let begin: Vec<Vec<f64>> = fitted.cores[..3]
        .iter()
        .map(|core| core.as_f64().unwrap().data().iter().map(|x| x * 1e-3).collect())
        .collect();
    // Far from the optimum, and near it: never worse than what was given.
    for factors in
        [begin.clone(), begin.iter().map(|f| f.iter().map(|x| x * 1e3).collect()).collect()]
    {
        let problem = Problem::solving(x, 3, None);
        let relative = |r: f64| target.relative(r);
        let before = relative(crate::tensor::sum_of_squares(&problem.left_by(&factors)));
        let (mut factors, stop) = (factors, crate::problem::Stop::new());
        let after = problem.improve(&mut factors, 7, &relative, &mut |_| false, &stop).0;
        assert!(after <= before, "{before:e} {after:e}");
    }
}
