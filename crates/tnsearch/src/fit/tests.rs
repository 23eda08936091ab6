//! The fit methods against independent dense computations.

use super::adam::{Adam, rse_and_gradient};
use super::als::als_sweep;
use super::lm::NormalEquations;
use super::plan::{Plan, Walk};
use super::solve::Solver;
use super::workspace::Workspace;
use super::*;
use crate::network::contract;
use crate::rng;
use crate::tensor::unflatten;
use proptest::prelude::*;
use rand_distr::{Distribution, StandardNormal};

/// A random simple graph on modes and internal vertices, not always connected.
fn graphs() -> impl Strategy<Value = (ModeGraph, Vec<usize>, u64)> {
    (2usize..6, 0usize..3, any::<u64>()).prop_flat_map(|(modes, internal, seed)| {
        let v = modes + internal;
        let pairs: Vec<(usize, usize)> = (0..v).flat_map(|b| (0..b).map(move |a| (a, b))).collect();
        let ranks = prop::collection::vec(1usize..4, pairs.len());
        let keep = prop::collection::vec(prop::bool::weighted(0.5), pairs.len());
        let dims = prop::collection::vec(1usize..4, modes);
        (ranks, keep, dims).prop_map(move |(ranks, keep, dims)| {
            let edges = pairs.iter().zip(&ranks).zip(&keep).filter(|(_, k)| **k);
            let edges: Vec<_> = edges.map(|((&(a, b), &r), _)| (a, b, r)).take(7).collect();
            (ModeGraph::new(modes, internal, edges), dims, seed)
        })
    })
}

pub(super) fn random_cores(graph: &ModeGraph, dims: &[usize], seed: u64) -> Vec<Tensor> {
    let mut rng = rng::stream(seed, b"cores");
    (0..graph.vertices())
        .map(|v| {
            let shape = graph.core_dims(v, dims);
            let n = shape.iter().product();
            Tensor::new(shape, (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()).unwrap()
        })
        .collect()
}

/// `Z[i] = sum over all edge indices of the product of core entries`, straight from the definition.
fn einsum(graph: &ModeGraph, dims: &[usize], cores: &[Tensor]) -> Tensor {
    let ranks: Vec<usize> = graph.edges().iter().map(|e| e.2).collect();
    let (n, inner): (usize, usize) = (dims.iter().product(), ranks.iter().product());
    let data = (0..n).map(|flat| {
        let i = unflatten(flat, dims);
        let term = |s: usize| -> f64 {
            let e = unflatten(s, &ranks);
            (0..graph.vertices())
                .map(|v| {
                    let mut at: Vec<usize> = graph.incident(v).map(|k| e[k]).collect();
                    if v < graph.modes() {
                        at.push(i[v]);
                    }
                    cores[v].at(&at)
                })
                .product()
        };
        (0..inner).map(term).sum()
    });
    Tensor::new(dims.to_vec(), data.collect()).unwrap()
}

fn random_target(dims: &[usize], seed: u64) -> Target {
    let mut rng = rng::stream(seed, b"target");
    let n = dims.iter().product();
    let data = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
    Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
}

fn rse(target: &Target, z: &Tensor) -> f64 {
    let x = target.tensor().data().iter();
    x.zip(z.data()).map(|(x, z)| (x - z).powi(2)).sum::<f64>() / target.norm_squared()
}

fn checked(settings: FitSettings) -> CheckedFit {
    settings.check().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn contraction_agrees_with_the_definition((graph, dims, seed) in graphs()) {
        let cores = random_cores(&graph, &dims, seed);
        let (got, want) = (contract(&graph, &dims, &cores), einsum(&graph, &dims, &cores));
        let size = want.norm_squared().sqrt() + 1.0;
        for (g, w) in got.data().iter().zip(want.data()) {
            prop_assert!((g - w).abs() < 1e-11 * size);
        }
    }

    #[test]
    fn reported_error_is_that_of_the_returned_cores((graph, dims, seed) in graphs()) {
        let target = random_target(&dims, seed);
        for method in Method::ALL {
            let settings = FitSettings { max_sweeps: 5, restarts: 2, ..FitSettings::of(method) };
            let fitted = fit(&target, &graph, &checked(settings), seed, None, &Stop::new()).unwrap();
            let z = einsum(&graph, &dims, &fitted.cores);
            prop_assert!((rse(&target, &z) - fitted.error).abs() < 1e-9 * (1.0 + fitted.error), "{method}");
        }
    }

    #[test]
    fn each_sweep_lowers_the_error((graph, dims, seed) in graphs()) {
        let target = random_target(&dims, seed);
        let plan = Plan::new(&target, &graph, Walk::Changing, None).unwrap();
        let mut ws = Workspace::new(&plan);
        ws.set_cores(&random_cores(&graph, &dims, seed));
        ws.refresh();
        let mut solver = Solver::new(plan.leaves.iter().map(|l| l.width).max().unwrap(), 4);
        let mut last = f64::INFINITY;
        for _ in 0..4 {
            let estimate = als_sweep(&mut ws, &mut solver);
            let explicit = ws.residual() / target.norm_squared();
            prop_assert!((estimate - explicit).abs() < 1e-8, "{estimate} {explicit}");
            prop_assert!(explicit <= last + 1e-8);
            last = explicit;
        }
    }

    #[test]
    fn gradients_agree_with_finite_differences((graph, dims, seed) in graphs()) {
        let target = random_target(&dims, seed);
        let plan = Plan::new(&target, &graph, Adam.walk(), None).unwrap();
        let cores = random_cores(&graph, &dims, seed);
        let mut ws = Workspace::new(&plan);
        ws.set_cores(&cores);
        let mut gradient: Vec<Vec<f64>> = plan.core_lens().iter().map(|&n| vec![0.0; n]).collect();
        let at_cores = rse_and_gradient(&mut ws, &mut gradient);
        let explicit = rse(&target, &einsum(&graph, &dims, &cores));
        prop_assert!((at_cores - explicit).abs() < 1e-9 * (1.0 + explicit));
        let mut unused = gradient.clone();
        for (v, gradient) in gradient.iter().enumerate() {
            for (p, &exact) in gradient.iter().enumerate().take(6) {
                let h = 1e-5;
                let mut shifted = |by: f64| {
                    ws.core_mut(v)[p] += by;
                    rse_and_gradient(&mut ws, &mut unused)
                };
                let (up, down) = (shifted(h), shifted(-2.0 * h));
                shifted(h);
                let slope = (up - down) / (2.0 * h);
                prop_assert!(
                    (slope - exact).abs() < 1e-5 * (1.0 + explicit + slope.abs()),
                    "core {v} entry {p}: {slope} {exact}"
                );
            }
        }
    }

    #[test]
    fn the_normal_matrix_is_the_jacobian_squared((graph, dims, seed) in graphs()) {
        let target = random_target(&dims, seed);
        let plan = Plan::new(&target, &graph, Walk::Reading, None).unwrap();
        let cores = random_cores(&graph, &dims, seed);
        let mut ws = Workspace::new(&plan);
        ws.set_cores(&cores);
        ws.refresh();
        let mut normal = NormalEquations::new(&plan);
        prop_assume!(normal.params <= 120);
        normal.assemble(&ws);
        // Z is linear in each entry: the difference of two contractions is a column of J.
        let params = normal.params;
        let dense = |ws: &Workspace| einsum(&graph, &dims, &ws.cores());
        let base = dense(&ws);
        let mut unit = vec![0.0; params];
        let jacobian: Vec<Vec<f64>> = (0..params)
            .map(|p| {
                unit[p] = 1.0;
                ws.add_to_cores(&unit, 1.0);
                let column = dense(&ws).data().iter().zip(base.data()).map(|(a, b)| a - b).collect();
                ws.add_to_cores(&unit, -1.0);
                unit[p] = 0.0;
                column
            })
            .collect();
        for p in 0..params {
            for q in 0..params {
                let want: f64 = jacobian[p].iter().zip(&jacobian[q]).map(|(a, b)| a * b).sum();
                let got = normal.matrix[p * params + q];
                prop_assert!((got - want).abs() < 1e-8 * (1.0 + want.abs() + base.norm_squared()), "{p} {q}: {got} {want}");
            }
        }
    }
}

#[test]
fn als_and_lm_find_a_hidden_ring() {
    let dims = [3; 6];
    let graph = ModeGraph::new(
        6,
        0,
        vec![(0, 3, 2), (1, 3, 3), (1, 4, 2), (2, 4, 4), (2, 5, 2), (0, 5, 3)],
    );
    let hidden = contract(&graph, &dims, &random_cores(&graph, &dims, 5));
    let target = Target::new(hidden).unwrap();
    for method in [Method::Als, Method::Lm] {
        let settings = checked(FitSettings { restarts: 8, ..FitSettings::of(method) });
        let fitted = fit(&target, &graph, &settings, 1, None, &Stop::new()).unwrap();
        assert!(fitted.error < 1e-10, "{method}: {}", fitted.error);
        let again = fit_parallel(&target, &graph, &settings, 1, None, &Stop::new()).unwrap();
        assert_eq!(fitted, again, "{method}");
    }
}

#[test]
fn entries_far_from_one_are_fitted_like_any_others() {
    let dims = [3; 4];
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]);
    let hidden = contract(&graph, &dims, &random_cores(&graph, &dims, 5));
    for factor in [1e-300, 1e-200, 1e-40, 1e40, 1e300] {
        let data = hidden.data().iter().map(|x| x * factor).collect();
        let scaled = Tensor::new(dims.to_vec(), data).unwrap();
        let target = Target::new(scaled.clone()).unwrap();
        for method in [Method::Als, Method::Lm] {
            let settings = checked(FitSettings { restarts: 6, ..FitSettings::of(method) });
            let fitted = fit(&target, &graph, &settings, 1, None, &Stop::new()).unwrap();
            assert!(fitted.error < 1e-10, "{method} {factor}: {}", fitted.error);
            let z = contract(&graph, &dims, &fitted.cores);
            assert!(target.rse_of(&z) < 1e-9, "{method} {factor}");
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
    let fitted = fit(&target, &graph, &checked(settings), 1, None, &Stop::new()).unwrap();
    assert!(
        fitted.error <= 1.0 && fitted.cores.iter().flat_map(|c| c.data()).all(|x| x.is_finite())
    );
}

#[test]
fn adam_lowers_the_error_of_a_hidden_ring() {
    let dims = [3; 4];
    let graph = ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 2), (2, 3, 2), (0, 3, 2)]);
    let hidden = contract(&graph, &dims, &random_cores(&graph, &dims, 5));
    let target = Target::new(hidden).unwrap();
    let settings =
        FitSettings { learning_rate: 0.01, restarts: 4, ..FitSettings::of(Method::Adam) };
    let fitted = fit(&target, &graph, &checked(settings), 1, None, &Stop::new()).unwrap();
    assert!(fitted.error < 1e-6, "{}", fitted.error);
}

#[test]
fn a_warm_start_at_the_solution_stays_there() {
    let dims = [2, 3, 2];
    let graph = ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 2), (2, 3, 2)]);
    let cores = random_cores(&graph, &dims, 9);
    let target = Target::new(contract(&graph, &dims, &cores)).unwrap();
    let settings = checked(FitSettings { restarts: 1, ..FitSettings::default() });
    let fitted = fit(&target, &graph, &settings, 1, Some(&cores), &Stop::new()).unwrap();
    assert!(fitted.error < 1e-20 && fitted.sweeps == 1, "{fitted:?}");
    let wrong = fit(&target, &graph, &settings, 1, Some(&cores[..2]), &Stop::new());
    assert!(matches!(wrong, Err(FitError::WarmStart { vertex: 2, .. })), "{wrong:?}");
}

#[test]
fn too_large_a_fit_is_refused_with_a_figure() {
    let target = random_target(&[4, 4, 4, 4], 1);
    let edges = vec![(0, 1, 200), (1, 2, 200), (2, 3, 200), (0, 3, 200)];
    let graph = ModeGraph::new(4, 0, edges);
    let settings = checked(FitSettings { max_bytes: Some(1_000_000), ..FitSettings::default() });
    let refused = fit(&target, &graph, &settings, 1, None, &Stop::new()).unwrap_err();
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
    let stopped = fit(&target, &graph, &checked(FitSettings::default()), 1, None, &interrupt);
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
        let of = |graph| fit(&target, graph, &settings, 7, None, &Stop::new()).unwrap();
        let (whole, cut) = (of(&wide), of(&narrow));
        assert_eq!((whole.error, whole.sweeps), (cut.error, cut.sweeps));
        assert_eq!(whole.cores[1].dims(), wide.core_dims(1, &dims));
        let explicit = rse(&target, &einsum(&wide, &dims, &whole.cores));
        assert!((explicit - whole.error).abs() < 1e-12, "{explicit} {}", whole.error);
    }
    assert_eq!(sweep_cost(&wide, &dims), sweep_cost(&narrow, &dims));
    // What comes back must have room, too.
    let wide = ModeGraph::new(4, 0, vec![(0, 1, 1 << 40)]);
    let settings = checked(FitSettings { max_bytes: Some(1 << 30), ..FitSettings::default() });
    let refused = fit(&target, &wide, &settings, 1, None, &Stop::new()).unwrap_err();
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
            let hidden = contract(&graph, &dims, &random_cores(&graph, &dims, seed));
            let target = Target::new(hidden).unwrap();
            fit(&target, &graph, &settings, seed, None, &Stop::new()).unwrap()
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
