//! Properties on random graphs, for every kind of number.

use super::*;
use crate::fit::adam::{Adam, rse_and_gradient};
use crate::fit::als::{Swept, als_sweep};
use crate::fit::dense::Improve;
use crate::fit::lm::NormalEquations;
use crate::fit::solve::Solver;
use proptest::prelude::*;

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

/// A tolerance measured with 64-bit numbers, or a few thousand ulp.
fn within<T: Scalar>(of_f64: f64) -> f64 {
    of_f64.max(3e3 * T::KIND.epsilon())
}

fn contraction_agrees<T: Scalar>(case: &Case) -> Outcome {
    let (graph, dims, seed) = case;
    let cores = random_cores::<T>(graph, dims, *seed);
    let (got, want) = (contract(graph, dims, &cores), einsum(graph, dims, &cores));
    let size = want.norm_squared().sqrt() + 1.0;
    for (g, w) in got.data().iter().zip(want.data()) {
        prop_assert!((*g - *w).abs() < within::<T>(1e-11) * size, "{}", T::KIND);
    }
    Ok(())
}

fn reported_error_agrees<T: Scalar>(case: &Case) -> Outcome {
    let (graph, dims, seed) = case;
    let target = random::<T>(dims, *seed);
    for method in Method::ALL {
        let settings = FitSettings { max_sweeps: 5, restarts: 2, ..FitSettings::of(method) };
        let fitted = fit_of(&target, graph, &checked(settings), *seed);
        if method == Method::Lm && T::KIND.is_complex() {
            let refused = fitted.unwrap_err().to_string();
            prop_assert!(refused.ends_with("use als or adam"), "{refused}");
            continue;
        }
        let fitted = fitted.unwrap();
        let explicit = rse(&target, &einsum(graph, dims, &typed::<T>(&fitted.cores)));
        prop_assert!(
            (explicit - fitted.error).abs() < within::<T>(1e-9) * (1.0 + fitted.error),
            "{method} {}: {explicit} {}",
            T::KIND,
            fitted.error
        );
    }
    Ok(())
}

fn sweeps_lower_the_error<T: Scalar>(case: &Case) -> Outcome {
    let (graph, dims, seed) = case;
    let target = random::<T>(dims, *seed);
    let x = target.tensor().typed::<T>().unwrap();
    let plan = Plan::new((&target, x), graph, Walk::Changing, None).unwrap();
    let mut ws = Workspace::new(&plan);
    ws.set_cores(&random_cores(graph, dims, *seed).iter().collect::<Vec<_>>());
    ws.refresh();
    let mut solver = Solver::new(plan.leaves.iter().map(|l| l.width).max().unwrap(), 4);
    let mut last = f64::INFINITY;
    for _ in 0..4 {
        let Swept { rse: estimate, doubt } = als_sweep(&mut ws, &mut solver, || false);
        let explicit = ws.residual() / target.norm_squared();
        // In a swamp the cores grow and cancel, and 32 bits have no digits to spare for that.
        let narrow = T::KIND.epsilon() > f64::EPSILON;
        let tolerance = if narrow { 0.1f64.max(10.0 * doubt) } else { 1e-8 };
        prop_assert!((estimate - explicit).abs() < tolerance, "{}: {estimate} {explicit}", T::KIND);
        prop_assert!(explicit <= last + tolerance, "{}: {explicit} {last}", T::KIND);
        last = explicit;
    }
    Ok(())
}

/// The gradient by finite differences of both parts.
fn gradients_agree<T: Scalar>(case: &Case) -> Outcome {
    let (graph, dims, seed) = case;
    let target = random::<T>(dims, *seed);
    let x = target.tensor().typed::<T>().unwrap();
    let walk = Improve::<T>::walk(&Adam);
    let plan = Plan::new((&target, x), graph, walk, None).unwrap();
    let cores = random_cores::<T>(graph, dims, *seed);
    let mut ws = Workspace::new(&plan);
    ws.set_cores(&cores.iter().collect::<Vec<_>>());
    let mut gradient: Vec<Vec<T>> = plan.core_lens().iter().map(|&n| vec![T::ZERO; n]).collect();
    let at_cores = rse_and_gradient(&mut ws, &mut gradient);
    let explicit = rse(&target, &einsum(graph, dims, &cores));
    prop_assert!((at_cores - explicit).abs() < 1e-9 * (1.0 + explicit));
    let mut unused = gradient.clone();
    let parts = if T::KIND.is_complex() { &[(1.0, 0.0), (0.0, 1.0)][..] } else { &[(1.0, 0.0)] };
    for (v, gradient) in gradient.iter().enumerate() {
        for (p, &exact) in gradient.iter().enumerate().take(6) {
            for &(re, im) in parts {
                let h = 1e-5;
                let mut shifted = |by: f64| {
                    ws.core_mut(v)[p] += T::from_parts(re * by, im * by);
                    rse_and_gradient(&mut ws, &mut unused)
                };
                let (up, down) = (shifted(h), shifted(-2.0 * h));
                shifted(h);
                let slope = (up - down) / (2.0 * h);
                let exact = re * exact.re() + im * exact.im();
                prop_assert!(
                    (slope - exact).abs() < 1e-5 * (1.0 + explicit + slope.abs()),
                    "{} core {v} entry {p} part ({re}, {im}): {slope} {exact}",
                    T::KIND
                );
            }
        }
    }
    Ok(())
}

type Case = (ModeGraph, Vec<usize>, u64);
type Outcome = Result<(), TestCaseError>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn contraction_agrees_with_the_definition(case in graphs()) {
        contraction_agrees::<f32>(&case)?;
        contraction_agrees::<f64>(&case)?;
        contraction_agrees::<Complex<f32>>(&case)?;
        contraction_agrees::<Complex<f64>>(&case)?;
    }

    #[test]
    fn reported_error_is_that_of_the_returned_cores(case in graphs()) {
        reported_error_agrees::<f32>(&case)?;
        reported_error_agrees::<f64>(&case)?;
        reported_error_agrees::<Complex<f32>>(&case)?;
        reported_error_agrees::<Complex<f64>>(&case)?;
    }

    #[test]
    fn each_sweep_lowers_the_error(case in graphs()) {
        sweeps_lower_the_error::<f32>(&case)?;
        sweeps_lower_the_error::<f64>(&case)?;
        sweeps_lower_the_error::<Complex<f32>>(&case)?;
        sweeps_lower_the_error::<Complex<f64>>(&case)?;
    }

    #[test]
    fn gradients_agree_with_finite_differences(case in graphs()) {
        gradients_agree::<f64>(&case)?;
        gradients_agree::<Complex<f64>>(&case)?;
    }

    #[test]
    fn the_normal_matrix_is_the_jacobian_squared((graph, dims, seed) in graphs()) {
        let target = random_target(&dims, seed);
        let x = target.tensor().as_f64().unwrap();
        let plan = Plan::new((&target, x), &graph, Walk::Reading, None).unwrap();
        let cores = random_cores::<f64>(&graph, &dims, seed);
        let mut ws = Workspace::new(&plan);
        ws.set_cores(&cores.iter().collect::<Vec<_>>());
        ws.refresh();
        let mut normal = NormalEquations::new(&plan);
        prop_assume!(normal.params <= 120);
        normal.assemble(&ws);
        // Z is linear in each entry: the difference of two contractions is a column of J.
        let params = normal.params;
        let dense = |ws: &Workspace<f64>| einsum(&graph, &dims, &ws.cores());
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
