//! Fits over observed entries against independent dense computations.

use super::*;
use crate::fit::tests::{erased, fit_of, random_cores, typed};
use crate::fit::{self, CheckedFit, Request, Run, error_of};
use crate::linalg::{Cholesky, Route};
use crate::network::contract;
use crate::problem::{Mask, Target};
use crate::rng;
use crate::tensor::{Complex, sum_of_squares, unflatten};
use gradient::errors_and_gradient;

fn checked(change: impl FnOnce(&mut FitSettings)) -> CheckedFit {
    let mut settings = FitSettings::default();
    change(&mut settings);
    settings.check().unwrap()
}

/// A ring, a star with an internal vertex, a tree with one between, a graph with a chord.
fn graphs() -> [ModeGraph; 4] {
    [
        ModeGraph::new(3, 0, vec![(0, 1, 2), (1, 2, 3), (0, 2, 2)]),
        ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 2), (2, 3, 3)]),
        ModeGraph::new(4, 1, vec![(0, 4, 2), (1, 4, 3), (2, 4, 2), (2, 3, 2)]),
        ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 3), (0, 3, 2), (0, 2, 2)]),
    ]
}

fn dims_of(graph: &ModeGraph) -> Vec<usize> {
    (0..graph.modes()).map(|m| 3 + m % 3).collect()
}

/// A network plus noise, of which a share is missing; some of the rest may be held out.
fn data<T: Scalar>(graph: &ModeGraph, noise: f64, missing: f64, held: Option<f64>) -> Target {
    let dims = dims_of(graph);
    let mut x = contract(graph, &dims, &random_cores::<T>(graph, &dims, 3));
    let mut rng = rng::stream(5, b"noise");
    x.data_mut().iter_mut().for_each(|x| *x += T::normal(&mut rng).scale(noise));
    let (known, _) = Mask::all(&dims).unwrap().without(missing, 7).unwrap();
    // What is missing must not matter.
    for (k, x) in x.data_mut().iter_mut().enumerate() {
        if !known.contains(k) {
            *x = T::from_parts(f64::NAN, 0.0);
        }
    }
    let target = Target::with_holes(x, &known).unwrap();
    match held {
        Some(share) => target.holding_out(&known.without(share, 9).unwrap().1).unwrap(),
        None => target,
    }
}

fn dense<T: Scalar>(graph: &ModeGraph, dims: &[usize], cores: &[Tensor<T>]) -> AnyTensor {
    contract(graph, dims, cores).into()
}

/// Every row `a_k` of a core from its definition: Z with that core replaced by unit tensors.
fn design<T: Scalar>(
    graph: &ModeGraph,
    dims: &[usize],
    cores: &[Tensor<T>],
    v: usize,
) -> Vec<Vec<T>> {
    let columns = (0..cores[v].len()).map(|p| {
        let mut unit: Vec<Tensor<T>> = cores.to_vec();
        unit[v].data_mut().fill(T::ZERO);
        unit[v].data_mut()[p] = T::ONE;
        contract(graph, dims, &unit).into_data()
    });
    columns.collect()
}

fn one_sweep_is_that_of_dense_normal_equations<T: Scalar>() {
    for graph in graphs() {
        let (dims, target) = (dims_of(&graph), data::<T>(&graph, 0.3, 0.4, None));
        let x = target.tensor().typed::<T>().unwrap();
        let known = target.fitted().unwrap();
        let plan = Plan::new((&target, x), &graph, None).unwrap();
        let mut state = State::new(&plan, false);
        let mut cores = random_cores::<T>(&graph, &dims, 11);
        state.set_cores(&cores.iter().collect::<Vec<_>>());
        state.refresh();
        // The cores are visited in some order; each is compared with the dense solution from those before.
        let ridge = 1e-3;
        let (values, mut order) = (plan.x.clone(), Vec::new());
        state.walk(true, &mut |state::Visit { vertex, leaf, core, rows, .. }| {
            als::solve(leaf, core, rows, &values, (ridge, false, &halt::Halt::default()));
            order.push(vertex);
            true
        });
        assert_eq!(order.len(), graph.vertices());
        for v in order {
            let a = design(&graph, &dims, &cores, v);
            let n = a.len();
            let (edges, dim) = (plan.leaves[v].width, plan.leaves[v].dim);
            // The centre is the mean of the old slices; the ridge is relative to the mean diagonal entry.
            assert!((0..dim).all(|i| !plan.leaves[v].slice(i).is_empty()));
            let mut trace = 0.0;
            let mut gram = vec![T::ZERO; n * n];
            let mut right = vec![T::ZERO; n];
            for k in known.positions() {
                for p in 0..n {
                    trace += a[p][k].abs_squared();
                    right[p] += a[p][k].conj() * x.data()[k];
                    for q in 0..n {
                        gram[q * n + p] += a[p][k].conj() * a[q][k];
                    }
                }
            }
            let mean = trace / (dim * edges) as f64;
            let pull = mean * 1e-10f64.max(1e3 * T::KIND.epsilon());
            let old = cores[v].data().to_vec();
            for p in 0..n {
                let alike = (0..n).filter(|&q| q / dim == p / dim && (dim > 1 || p == q));
                let centre = alike.map(|q| old[q]).sum::<T>().unscale(dim as f64);
                gram[p * n + p] += T::from_parts(ridge * mean + pull, 0.0);
                right[p] += centre.scale(ridge * mean) + old[p].scale(pull);
            }
            let mut cholesky = Cholesky::new::<T>(n, 1);
            assert!(cholesky.factor(&mut gram, n, Route::Blocked));
            cholesky.solve(&gram, &mut right, n, Route::Blocked);
            cores[v].data_mut().copy_from_slice(&right);
            let found = &state.cores()[v];
            let norm = sum_of_squares(&right).sqrt();
            for (f, w) in found.data().iter().zip(&right) {
                let off = (*f - *w).abs() / norm;
                assert!(off < 1e6 * T::KIND.epsilon(), "{graph} {v}: {f} {w}");
            }
        }
    }
}

#[test]
fn each_core_solves_its_dense_normal_equations() {
    one_sweep_is_that_of_dense_normal_equations::<f64>();
    one_sweep_is_that_of_dense_normal_equations::<Complex<f64>>();
    one_sweep_is_that_of_dense_normal_equations::<f32>();
}

#[test]
fn wide_cores_have_the_gram_matrix_of_the_definition() {
    // More columns than are computed at a time, and more rows than are laid out at a time.
    let dims = [40, 30, 2];
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 10), (1, 2, 2), (0, 2, 10)]);
    let x = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 3));
    let (known, _) = Mask::all(&dims).unwrap().without(0.2, 7).unwrap();
    let target = Target::with_holes(x, &known).unwrap();
    let x = target.tensor().typed::<f64>().unwrap();
    let plan = Plan::new((&target, x), &graph, None).unwrap();
    let mut state = State::new(&plan, false);
    state.randomise(&mut rng::stream(1, b"start"), 1.0);
    state.refresh();
    state.walk(false, &mut |state::Visit { leaf, rows, .. }| {
        let (width, wide) = (leaf.width, leaf.width + 1);
        let laid = leaf.entries.iter().map(|&(row, entry)| {
            let mut out = vec![0.0; wide];
            join::lay_out(
                &rows[row as usize * width..][..width],
                leaf.order.as_deref(),
                &mut out[..width],
            );
            out[width] = plan.x[entry as usize];
            out
        });
        let laid: Vec<Vec<f64>> = laid.collect();
        let mut found = Vec::new();
        let whole = (false, &halt::Halt::default());
        assert!(als::gram(leaf, &leaf.entries, (rows, &plan.x), whole, &mut found));
        for i in 0..wide {
            for j in 0..=i {
                let want: f64 = laid.iter().map(|a| a[i] * a[j]).sum();
                let off = (found[i * wide + j] - want).abs();
                assert!(off < 1e-9 * (1.0 + want.abs()), "{i} {j}: {want}");
            }
        }
        true
    });
}

#[test]
fn predictions_are_those_of_the_dense_network() {
    for graph in graphs() {
        let (dims, target) = (dims_of(&graph), data::<f64>(&graph, 0.3, 0.5, Some(0.3)));
        let cores = random_cores::<f64>(&graph, &dims, 1);
        let z = dense(&graph, &dims, &cores);
        let error = error_of(&target, &graph, &erased(cores), None).unwrap();
        assert!((error - target.rse_of(&z)).abs() < 1e-10 * error, "{graph}");
    }
}

#[test]
fn without_a_ridge_the_error_falls_with_every_sweep() {
    for graph in graphs() {
        let target = data::<f64>(&graph, 0.5, 0.5, None);
        let x = target.tensor().typed::<f64>().unwrap();
        let plan = Plan::new((&target, x), &graph, None).unwrap();
        let mut state = State::new(&plan, false);
        state.randomise(&mut rng::stream(1, b"start"), 1.0);
        state.refresh();
        let mut last = f64::INFINITY;
        for _ in 0..30 {
            assert!(als::sweep(&mut state, 0.0, || false));
            let error = state.errors().fitted;
            assert!(error <= last * (1.0 + 1e-9), "{graph}: {last} {error}");
            last = error;
        }
        assert!(last < 0.5);
    }
}

fn finds_a_hidden_ring<T: Scalar>(below: f64) {
    let dims = [4; 5];
    let graph = ModeGraph::new(5, 0, vec![(0, 3, 2), (1, 3, 2), (1, 4, 2), (2, 4, 2), (0, 2, 2)]);
    let hidden = contract(&graph, &dims, &random_cores::<T>(&graph, &dims, 5));
    let (known, missing) = Mask::all(&dims).unwrap().without(0.6, 3).unwrap();
    let target = Target::with_holes(hidden.clone(), &known).unwrap();
    for method in Method::ALL.into_iter().filter(|&m| m != Method::Lm || !T::KIND.is_complex()) {
        let settings =
            FitSettings { restarts: 8, ridge: 0.0, learning_rate: 0.03, ..FitSettings::of(method) };
        let settings = FitSettings { max_sweeps: settings.max_sweeps.min(4000), ..settings };
        let fitted = fit_of(&target, &graph, &settings.check().unwrap(), 1).unwrap();
        let below = if method == Method::Adam { below.max(1e-6) } else { below };
        assert!(fitted.error < below, "{method} {}: {}", T::KIND, fitted.error);
        // The entries that nobody was shown.
        let whole = Target::new(hidden.clone()).unwrap();
        let z = dense(&graph, &dims, &typed::<T>(&fitted.cores));
        let unseen = whole.rse_on(&missing, &z);
        assert!(unseen < 10.0 * below, "{method} {}: {unseen}", T::KIND);
    }
}

#[test]
fn a_hidden_ring_is_found_from_two_fifths_of_its_entries() {
    finds_a_hidden_ring::<f64>(1e-10);
}

#[test]
fn so_it_is_for_every_kind() {
    finds_a_hidden_ring::<f32>(2e-9);
    finds_a_hidden_ring::<Complex<f64>>(1e-10);
    finds_a_hidden_ring::<Complex<f32>>(2e-9);
}

#[test]
fn a_mask_that_misses_one_entry_changes_little() {
    for graph in graphs() {
        let dims: Vec<usize> = dims_of(&graph).iter().map(|d| 2 * d).collect();
        let mut x = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 3));
        let mut rng = rng::stream(6, b"noise");
        x.data_mut().iter_mut().for_each(|x| *x += f64::normal(&mut rng).scale(0.5));
        let mut inside = vec![true; x.len()];
        inside[5] = false;
        let mask = Mask::new(dims.clone(), inside).unwrap();
        let settings = checked(|s| (s.tolerance, s.max_sweeps, s.ridge) = (1e-6, 1000, 0.0));
        let whole = fit_of(&Target::new(x.clone()).unwrap(), &graph, &settings, 1);
        let holed = Target::with_holes(x, &mask).unwrap();
        let holed = fit_of(&holed, &graph, &settings, 1);
        let (whole, holed) = (whole.unwrap().error, holed.unwrap().error);
        assert!((whole - holed).abs() < 0.1 * whole, "{graph}: {whole} {holed}");
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    for graph in graphs() {
        let (dims, target) = (dims_of(&graph), data::<f64>(&graph, 0.3, 0.5, Some(0.2)));
        let x = target.tensor().typed::<f64>().unwrap();
        let plan = Plan::new((&target, x), &graph, None).unwrap();
        let mut state = State::new(&plan, false);
        let cores = random_cores::<f64>(&graph, &dims, 7);
        state.set_cores(&cores.iter().collect::<Vec<_>>());
        let mut gradient: Vec<Vec<f64>> = plan.core_lens().iter().map(|&n| vec![0.0; n]).collect();
        errors_and_gradient(&mut state, &mut gradient);
        for (v, gradient) in gradient.iter().enumerate() {
            for (p, exact) in gradient.iter().enumerate() {
                let mut at = |by: f64| {
                    state.core_mut(v)[p] += by;
                    state.refresh();
                    state.errors().fitted
                };
                let (up, down) = (at(1e-5), at(-2e-5));
                at(1e-5);
                let slope = (up - down) / 2e-5;
                assert!((slope - exact).abs() < 1e-6 * (1.0 + slope.abs()), "{slope} {exact}");
            }
        }
    }
}

#[test]
fn threads_change_no_bit() {
    // More entries in a slice than are summed as one part.
    let dims = [2, 150, 100];
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 2), (1, 2, 3), (0, 2, 2)]);
    let x = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 3));
    let (known, _) = Mask::all(&dims).unwrap().without(0.1, 7).unwrap();
    let target = Target::with_holes(x, &known).unwrap();
    let held = known.without(0.1, 1).unwrap().1;
    for target in [target.clone(), target.holding_out(&held).unwrap()] {
        for method in Method::ALL {
            let settings = FitSettings { max_sweeps: 3, restarts: 2, ..FitSettings::of(method) };
            let settings = settings.check().unwrap();
            let alone = fit_of(&target, &graph, &settings, 1).unwrap();
            for threads in [1, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let many = pool.install(|| {
                    let request = Request::new(graph.clone(), settings.clone(), 1);
                    fit::fit(&target, &request, &Run::default().in_parallel()).unwrap()
                });
                assert_eq!(alone, many, "{method} {threads}");
            }
        }
    }
}

#[test]
fn starts_put_together_are_the_fit() {
    let graph = &graphs()[0];
    let target = data::<f64>(graph, 0.3, 0.5, Some(0.2));
    let settings = checked(|s| s.restarts = 3);
    let whole = fit_of(&target, graph, &settings, 1).unwrap();
    let starts: Vec<Fitted> = (0..3)
        .map(|k| {
            let request = Request::new(graph.clone(), settings.clone(), 1);
            let request = Request { start: Some(k), ..request };
            fit::fit(&target, &request, &Run::default()).unwrap()
        })
        .collect();
    assert_eq!(Fitted::best_of(&starts).unwrap(), whole);
}

#[test]
fn held_out_entries_decide_which_cores_are_kept() {
    // Noise that a rich network can learn by heart.
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 3), (1, 2, 3), (0, 2, 3)]);
    let target = data::<f64>(&graph, 3.0, 0.3, Some(0.3));
    let settings = checked(|s| (s.tolerance, s.max_sweeps, s.restarts) = (0.0, 300, 1));
    let fitted = fit_of(&target, &graph, &settings, 1).unwrap();
    assert!(fitted.sweeps < 300, "{}", fitted.sweeps);
    let again = error_of(&target, &graph, &fitted.cores, None).unwrap();
    assert!((again - fitted.error).abs() < 1e-9, "{again} {}", fitted.error);
    // Going on from there predicts no better, and the cores stay the best seen.
    let request = Request::new(graph.clone(), settings, 1).beginning_at(fitted.cores.clone());
    let warm = fit::fit(&target, &request, &Run::default()).unwrap();
    assert!(warm.error <= fitted.error * (1.0 + 1e-9));
}

#[test]
fn a_slice_without_entries_is_the_mean_of_the_others() {
    let graph = &graphs()[1];
    let dims = dims_of(graph);
    let x = contract(graph, &dims, &random_cores::<f64>(graph, &dims, 3));
    let inside: Vec<bool> = (0..x.len()).map(|k| unflatten(k, &dims)[1] != 2).collect();
    let mask = Mask::new(dims.clone(), inside).unwrap();
    assert_eq!(mask.empty_slices(), [(1, 2)]);
    let target = Target::with_holes(x, &mask).unwrap();
    let fitted = fit_of(&target, graph, &checked(|_| ()), 1).unwrap();
    assert!(fitted.error < 1e-6);
    let core = &typed::<f64>(&fitted.cores)[1];
    for edge in 0..2 {
        let mean = (0..4).filter(|&i| i != 2).map(|i| core.at(&[edge, i])).sum::<f64>() / 3.0;
        assert!((core.at(&[edge, 2]) - mean).abs() < 1e-9 * (1.0 + mean.abs()));
    }
}

#[test]
fn merged_modes_and_single_vertices_have_holes_too() {
    let dims = [2, 3, 2, 3];
    let graph =
        ModeGraph::grouped(vec![vec![0, 2], vec![1], vec![3]], 0, vec![(0, 1, 2), (1, 2, 2)]);
    let x = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 3));
    let (known, missing) = Mask::all(&dims).unwrap().without(0.2, 4).unwrap();
    let target = Target::with_holes(x.clone(), &known).unwrap();
    let settings = checked(|s| s.ridge = 0.0);
    let fitted = fit_of(&target, &graph, &settings, 1).unwrap();
    assert!(fitted.error < 1e-10, "{}", fitted.error);
    let z = dense(&graph, &dims, &typed::<f64>(&fitted.cores));
    assert!(Target::new(x.clone()).unwrap().rse_on(&missing, &z) < 1e-8);
    // A single vertex knows nothing about what it was not shown.
    let single = ModeGraph::grouped(vec![vec![0, 1, 2, 3]], 0, vec![]);
    let alone = fit_of(&target, &single, &settings, 1).unwrap();
    assert_eq!(alone.error, 0.0);
    let mean = known.positions().map(|k| x.data()[k]).sum::<f64>() / known.count() as f64;
    let core = alone.cores[0].as_f64().unwrap();
    assert!(missing.positions().all(|k| (core.data()[k] - mean).abs() < 1e-12));
}

#[test]
fn what_needs_every_entry_is_refused() {
    let graph = &graphs()[0];
    let target = data::<f64>(graph, 0.3, 0.5, None);
    let request = Request::new(graph.clone(), checked(|_| ()), 1);
    let adapt = fit::Adapt::new(crate::problem::Objective::MaxError(0.1), 3, vec![]);
    let refused =
        fit::fit(&target, &Request { adapt: Some(adapt.into()), ..request }, &Run::default());
    let text = refused.unwrap_err().to_string();
    assert!(text.ends_with("cuts of a tensor with holes bound nothing"), "{text}");
    let tight = checked(|s| s.max_bytes = Some(1000));
    let refused = fit_of(&target, graph, &tight, 1);
    assert!(matches!(refused, Err(FitError::Memory(_))));
}

#[test]
fn a_stop_is_looked_at_within_a_sweep_and_the_answer_is_what_it_says() {
    let graph = ModeGraph::new(3, 0, vec![(0, 1, 10), (1, 2, 10)]);
    let dims = [40, 12, 30];
    let x = contract(&graph, &dims, &random_cores::<f64>(&graph, &dims, 3));
    let (known, _) = Mask::all(&dims).unwrap().without(0.3, 7).unwrap();
    let target = Target::with_holes(x, &known).unwrap();
    for method in [Method::Als, Method::Adam, Method::Lm] {
        // One sweep, from cores that are given.
        let one = checked(|s| (s.method, s.restarts, s.max_sweeps) = (method, 1, 1));
        let warm = erased(random_cores::<f64>(&graph, &dims, 5));
        let made = |looks: u64| {
            let stop = Stop::after_looks(looks);
            let request = Request::new(graph.clone(), one.clone(), 0).beginning_at(warm.clone());
            (fit::fit(&target, &request, &Run::until(&stop)), looks - stop.looks_left())
        };
        let (whole, looks) = made(1 << 40);
        let whole = whole.unwrap();
        assert!(looks > 8 || method == Method::Adam, "{method}: {looks} looks");
        for at in (0..looks + 3).step_by(1 + looks as usize / 40) {
            let (fitted, looked) = made(at);
            // A few more to see that it is over, whatever was left to do.
            assert!(looked <= at + 12, "{method}: stopped at {at}, {looked} looks");
            match fitted {
                Ok(fitted) => {
                    let error = error_of(&target, &graph, &fitted.cores, None).unwrap();
                    assert!((fitted.error - error).abs() < 1e-9, "{method} {at}: {error}");
                    assert!(fitted.interrupted || fitted == whole);
                }
                Err(e) => assert!(matches!(e, FitError::Interrupted | FitError::Time), "{e}"),
            }
        }
    }
}
