//! The bound against finite differences, and against exact Gaussian process regression by dense matrices.

mod training;

use super::als::{energy, sweep, values};
use super::bound::{Posterior, Problem};
use super::contract::Contraction;
use super::contract::tests::{graphs, random, random_cores};
use super::evidence::evidence;
use super::grid::Grid;
use super::kernel::{JITTER, Kernel, sides};
use super::rows::Rows;
use tnsearch::graph::ModeGraph;
use tnsearch::linalg::{cholesky, cholesky_solve};
use tnsearch::problem::Stop;

/// A smooth function of the features and a little of something else.
fn response(features: &[f64], d: usize) -> Vec<f64> {
    let noise = random(features.len() / d, 77);
    let value = |x: &[f64]| {
        x.iter().enumerate().map(|(k, x)| (x * (1.0 + k as f64)).sin()).product::<f64>() + x[0]
    };
    features.chunks_exact(d).zip(noise).map(|(x, e)| value(x) + 0.1 * e).collect()
}

fn rows(points: &[usize], count: usize) -> (Vec<Grid>, Vec<f64>, Rows) {
    let features = random(count * points.len(), 5);
    let grids: Vec<Grid> = points.iter().map(|&m| Grid::over(-1.0, 1.0, m)).collect();
    let y = response(&features, points.len());
    let rows = Rows::new(&grids, &features, y);
    (grids, features, rows)
}

fn kernel(d: usize) -> Kernel {
    Kernel::new((0..d).map(|k| 0.5 + 0.2 * k as f64).collect(), 1.3, 0.4)
}

/// Lower factors with a positive diagonal.
fn roots(points: &[usize]) -> Vec<Vec<f64>> {
    let root = |(k, &m): (usize, &usize)| {
        let entries = random(m * m, 200 + k as u64);
        let entry = |at: usize| match (at / m).cmp(&(at % m)) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 0.7 + 0.2 * entries[at],
            std::cmp::Ordering::Greater => 0.3 * entries[at],
        };
        (0..m * m).map(entry).collect()
    };
    points.iter().enumerate().map(root).collect()
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a}, not {b}");
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    for (graph, dims) in graphs() {
        let (grids, _, rows) = rows(&dims, 40);
        let plan = Contraction::new(&graph, &dims).unwrap();
        let kernel = kernel(dims.len());
        let at = Posterior { cores: random_cores(&plan, 9), roots: roots(&dims) };
        let bound = |kernel: &Kernel, at: &Posterior| {
            let sides = sides(&grids, kernel).unwrap();
            Problem { weight: 100.0, ..Problem::new(&rows, &sides, kernel, &plan) }.bound(at).bound
        };
        let sides = sides(&grids, &kernel).unwrap();
        let problem = Problem { weight: 100.0, ..Problem::new(&rows, &sides, &kernel, &plan) };
        let (value, gradient) = problem.gradient(&at);
        assert_eq!(value.bound, bound(&kernel, &at));
        let h = 1e-5;
        let slope = |change: &dyn Fn(&mut Posterior, f64)| {
            let at = |step: f64| {
                let mut at = at.clone();
                change(&mut at, step);
                bound(&kernel, &at)
            };
            (at(h) - at(-h)) / (2.0 * h)
        };
        for v in 0..plan.vertices().len() {
            for e in (0..at.cores[v].len()).step_by(3) {
                let want = slope(&|at, h| at.cores[v][e] += h);
                close(gradient.cores[v][e], want, 1e-6, &format!("{graph} core {v} {e}"));
            }
        }
        for (k, &m) in dims.iter().enumerate() {
            for e in (0..m * m).filter(|e| e / m >= e % m) {
                let want = slope(&|at, h| at.roots[k][e] += h);
                close(gradient.roots[k][e], want, 1e-6, &format!("{graph} root {k} {e}"));
            }
        }
        for e in 0..dims.len() + 2 {
            let at = |step: f64| {
                let mut logs = kernel.logs();
                logs[e] += step;
                bound(&Kernel::from_logs(&logs), &at)
            };
            let want = (at(h) - at(-h)) / (2.0 * h);
            close(gradient.logs[e], want, 1e-5, &format!("{graph} hyperparameter {e}"));
        }
    }
}

/// The bound by its definition, with the grid formed: u, K and the covariance as dense matrices.
fn dense_bound(
    rows: &Rows,
    grids: &[Grid],
    kernel: &Kernel,
    cores: &[Vec<f64>],
    roots: &[Vec<f64>],
    graph: &ModeGraph,
) -> f64 {
    let dims: Vec<usize> = grids.iter().map(|g| g.points).collect();
    let sides = sides(grids, kernel).unwrap();
    let c = super::contract::tests::dense(graph, &dims, cores);
    let cells = c.len();
    let at = |flat: usize| tnsearch::tensor::unflatten(flat, &dims);
    let kron = |of: &dyn Fn(usize, usize, usize) -> f64, a: usize, b: usize| -> f64 {
        at(a).iter().zip(at(b)).enumerate().map(|(k, (&i, j))| of(k, i, j)).product()
    };
    let l = |a: usize, b: usize| kron(&|k, i, j| sides[k].factor[i * dims[k] + j], a, b);
    let s = |a: usize, b: usize| kron(&|k, i, j| roots[k][i * dims[k] + j], a, b);
    // Sigma of v, and w^T L of every row.
    let sigma: Vec<f64> = (0..cells * cells)
        .map(|p| (0..cells).map(|q| s(p / cells, q) * s(p % cells, q)).sum())
        .collect();
    let mut data = 0.0;
    for i in 0..rows.len() {
        let w = |flat: usize| -> f64 {
            let point = |(k, &p): (usize, &usize)| {
                let w = &rows.weights[k][i];
                p.checked_sub(w.first as usize)
                    .and_then(|q| w.weights.get(q))
                    .copied()
                    .unwrap_or(0.0)
            };
            at(flat).iter().enumerate().map(point).product()
        };
        let phi: Vec<f64> =
            (0..cells).map(|q| (0..cells).map(|p| w(p) * l(p, q)).sum::<f64>()).collect();
        let f = kernel.signal * phi.iter().zip(c.data()).map(|(a, b)| a * b).sum::<f64>();
        let variance: f64 =
            (0..cells * cells).map(|p| phi[p / cells] * sigma[p] * phi[p % cells]).sum();
        let noise = kernel.noise.powi(2);
        data -= 0.5 * (2.0 * std::f64::consts::PI * noise).ln();
        data -= ((rows.y[i] - f).powi(2) + kernel.signal.powi(2) * variance) / (2.0 * noise);
    }
    let mut factor = sigma.clone();
    assert!(cholesky(&mut factor, cells));
    let log_det: f64 = (0..cells).map(|p| 2.0 * factor[p * cells + p].ln()).sum();
    let trace: f64 = (0..cells).map(|p| sigma[p * cells + p]).sum();
    data - 0.5 * (c.norm_squared() + trace - cells as f64 - log_det)
}

#[test]
fn the_bound_is_that_of_dense_matrices() {
    for (graph, dims) in graphs() {
        let (grids, _, rows) = rows(&dims, 7);
        let plan = Contraction::new(&graph, &dims).unwrap();
        let kernel = kernel(dims.len());
        let at = Posterior { cores: random_cores(&plan, 3), roots: roots(&dims) };
        let sides = sides(&grids, &kernel).unwrap();
        let problem = Problem::new(&rows, &sides, &kernel, &plan);
        let want = dense_bound(&rows, &grids, &kernel, &at.cores, &at.roots, &graph);
        close(problem.bound(&at).bound, want, 1e-10, &graph.to_string());
    }
}

/// Exact regression with a covariance of the function: the mean at the rows, and the log evidence.
fn exact(y: &[f64], noise: f64, k: &dyn Fn(usize, usize) -> f64) -> (Vec<f64>, f64) {
    let n = y.len();
    let mut c: Vec<f64> = (0..n * n).map(|p| k(p % n, p / n)).collect();
    (0..n).for_each(|i| c[i * n + i] += noise * noise);
    assert!(cholesky(&mut c, n));
    let mut alpha = y.to_vec();
    cholesky_solve(&c, &mut alpha, n);
    let mean = (0..n).map(|i| (0..n).map(|j| k(i, j) * alpha[j]).sum()).collect();
    let fit: f64 = y.iter().zip(&alpha).map(|(y, a)| y * a).sum();
    let log_det: f64 = (0..n).map(|i| c[i * n + i].ln()).sum();
    (mean, -0.5 * fit - log_det - 0.5 * n as f64 * (2.0 * std::f64::consts::PI).ln())
}

/// The interpolated kernel of two rows, by its definition.
fn interpolated(rows: &Rows, grids: &[Grid], kernel: &Kernel, i: usize, j: usize) -> f64 {
    let along = |k: usize| -> f64 {
        let points: Vec<f64> = grids[k].at().collect();
        let weight = |row: usize, p: usize| -> f64 {
            let w = &rows.weights[k][row];
            p.checked_sub(w.first as usize).and_then(|q| w.weights.get(q)).copied().unwrap_or(0.0)
        };
        let m = points.len();
        let term = |p: usize| {
            let (a, b) = (p / m, p % m);
            let apart = (points[a] - points[b]) / kernel.lengths[k];
            let jitter = if a == b { JITTER } else { 0.0 };
            weight(i, a) * weight(j, b) * ((-0.5 * apart * apart).exp() + jitter)
        };
        (0..m * m).map(term).sum()
    };
    kernel.signal.powi(2) * (0..grids.len()).map(along).product::<f64>()
}

/// Sweeps until nothing changes; the mean of f at the rows.
fn swept(problem: &Problem<'_>, cores: &mut [Vec<f64>], sweeps: usize) -> Vec<f64> {
    let phi = problem.rows.vectors(problem.sides);
    let mut last = f64::INFINITY;
    for k in 0..sweeps {
        sweep(problem, cores, &phi, k % 2 == 1, &Stop::new()).unwrap();
        let now =
            energy(problem, cores, &values(problem.plan, cores, &phi, problem.rows.len(), true));
        assert!(now <= last * (1.0 + 1e-9), "the bound fell: {last} {now}");
        last = now;
    }
    let g = values(problem.plan, cores, &phi, problem.rows.len(), true);
    g.into_iter().map(|g| problem.kernel.signal * g).collect()
}

#[test]
fn one_feature_is_exact_regression_bound_included() {
    let (grids, features, rows) = rows(&[240], 60);
    let kernel = Kernel::new(vec![0.4], 1.2, 0.3);
    let plan = Contraction::new(&ModeGraph::new(1, 0, vec![]), &[240]).unwrap();
    let sides = sides(&grids, &kernel).unwrap();
    let problem = Problem::new(&rows, &sides, &kernel, &plan);
    let mut at = Posterior { cores: random_cores(&plan, 1), roots: roots(&[240]) };
    let mean = swept(&problem, &mut at.cores, 1);
    problem.improve_roots(&mut at.roots).unwrap();
    let (want, log) =
        exact(&rows.y, kernel.noise, &|i, j| interpolated(&rows, &grids, &kernel, i, j));
    mean.iter().zip(&want).for_each(|(a, b)| close(*a, *b, 1e-8, "mean"));
    close(problem.bound(&at).bound, log, 1e-8, "bound");
    close(evidence(&rows, &grids, &kernel).unwrap().0, log, 1e-9, "evidence");
    // The grid is fine: it is regression with the kernel itself, too.
    let rbf =
        |i: usize, j: usize| 1.44 * (-0.5 * ((features[i] - features[j]) / 0.4).powi(2)).exp();
    let (want, log) = exact(&rows.y, kernel.noise, &rbf);
    mean.iter().zip(&want).for_each(|(a, b)| close(*a, *b, 1e-6, "mean of the kernel itself"));
    close(problem.bound(&at).bound, log, 1e-4, "evidence of the kernel itself");
}

#[test]
fn two_and_three_features_of_full_rank_have_the_exact_mean() {
    let full = [
        (vec![9, 8], ModeGraph::new(2, 0, vec![(0, 1, 8)])),
        (vec![4, 5, 4], ModeGraph::new(3, 0, vec![(0, 1, 4), (1, 2, 4)])),
    ];
    for (dims, graph) in full {
        let (grids, _, rows) = rows(&dims, 50);
        let kernel = kernel(dims.len());
        let plan = Contraction::new(&graph, &dims).unwrap();
        let sides = sides(&grids, &kernel).unwrap();
        let problem = Problem::new(&rows, &sides, &kernel, &plan);
        let mut cores = random_cores(&plan, 1);
        let mean = swept(&problem, &mut cores, 400);
        let (want, log) =
            exact(&rows.y, kernel.noise, &|i, j| interpolated(&rows, &grids, &kernel, i, j));
        mean.iter().zip(&want).for_each(|(a, b)| close(*a, *b, 1e-6, &graph.to_string()));
        // A Kronecker product is not the exact covariance: less than the evidence, and rising to where it stays.
        let mut at = Posterior { cores, roots: roots(&dims) };
        let mut last = f64::NEG_INFINITY;
        for _ in 0..30 {
            problem.improve_roots(&mut at.roots).unwrap();
            let now = problem.bound(&at).bound;
            assert!(now >= last - 1e-9 * now.abs() && now <= log, "{last} {now} {log}");
            last = now;
        }
        let (_, gradient) = problem.gradient(&at);
        let steepest = gradient.roots.iter().flatten().fold(0.0f64, |a, b| a.max(b.abs()));
        assert!(steepest < 1e-2 * last.abs(), "{steepest}");
    }
}

#[test]
fn the_interpolated_kernel_comes_near_the_kernel_as_grids_get_finer() {
    let worst = |m: usize| {
        let (grids, features, rows) = rows(&[m, m], 20);
        let kernel = kernel(2);
        let rbf = |i: usize, j: usize| rbf(&features, &kernel, i, j);
        let error = |p: usize| {
            (interpolated(&rows, &grids, &kernel, p / 20, p % 20) - rbf(p / 20, p % 20)).abs()
        };
        (0..400).map(error).fold(0.0, f64::max)
    };
    let errors = [10, 20, 40, 80].map(worst);
    assert!(errors.windows(2).all(|e| e[1] < e[0] / 5.0), "{errors:?}");
    assert!(errors[3] < 2e-5, "{errors:?}");
}

#[test]
fn the_evidence_and_its_gradient_are_right() {
    let (grids, _, rows) = rows(&[6, 5, 4], 30);
    let kernel = kernel(3);
    let (log, gradient) = evidence(&rows, &grids, &kernel).unwrap();
    let (_, want) =
        exact(&rows.y, kernel.noise, &|i, j| interpolated(&rows, &grids, &kernel, i, j));
    close(log, want, 1e-10, "evidence");
    let h = 1e-5;
    for (e, &slope) in gradient.iter().enumerate() {
        let at = |step: f64| {
            let mut logs = kernel.logs();
            logs[e] += step;
            evidence(&rows, &grids, &Kernel::from_logs(&logs)).unwrap().0
        };
        close(slope, (at(h) - at(-h)) / (2.0 * h), 1e-6, &format!("hyperparameter {e}"));
    }
}

/// The kernel itself of two rows.
fn rbf(features: &[f64], kernel: &Kernel, i: usize, j: usize) -> f64 {
    let d = kernel.lengths.len();
    let apart = |(k, l): (usize, &f64)| ((features[d * i + k] - features[d * j + k]) / l).powi(2);
    kernel.signal.powi(2) * (-0.5 * kernel.lengths.iter().enumerate().map(apart).sum::<f64>()).exp()
}

#[test]
fn on_fine_grids_two_and_three_features_are_regression_with_the_kernel_itself() {
    // Cores of full rank would be too large on such grids; for kernels so long rank 4 is enough.
    let cases = [
        (vec![100, 100], vec![1.5, 1.7], vec![(0, 1, 4)]),
        (vec![48; 3], vec![3.0, 3.2, 3.4], vec![(0, 1, 4), (1, 2, 4)]),
    ];
    for (dims, lengths, edges) in cases {
        let (grids, features, rows) = rows(&dims, 20);
        let kernel = Kernel::new(lengths, 1.3, 0.4);
        let plan = Contraction::new(&ModeGraph::new(dims.len(), 0, edges), &dims).unwrap();
        let sides = sides(&grids, &kernel).unwrap();
        let problem = Problem::new(&rows, &sides, &kernel, &plan);
        let (mut cores, phi) = (random_cores(&plan, 1), rows.vectors(&sides));
        for k in 0..20 {
            sweep(&problem, &mut cores, &phi, k % 2 == 1, &Stop::new()).unwrap();
        }
        let g = values(&plan, &cores, &phi, rows.len(), true);
        let (want, _) = exact(&rows.y, kernel.noise, &|i, j| rbf(&features, &kernel, i, j));
        g.iter().zip(&want).for_each(|(g, f)| close(kernel.signal * g, *f, 1e-6, "mean"));
    }
}

#[test]
fn the_divergence_of_large_grids_is_not_lost_in_rounding() {
    // Factors (1 + h) I: KL = M (exp(x) - 1 - x) / 2 with x = 2 d ln(1 + h), for a mean of 0.
    let h = 2f64.powi(-24);
    for (d, known) in [(16usize, true), (30, false)] {
        let dims = vec![8; d];
        let (grids, _, rows) = rows(&dims, 5);
        let kernel = kernel(d);
        let edges = (1..d).map(|v| (v - 1, v, 1)).collect();
        let plan = Contraction::new(&ModeGraph::new(d, 0, edges), &dims).unwrap();
        let sides = sides(&grids, &kernel).unwrap();
        let root = (0..64).map(|k| if k % 9 == 0 { 1.0 + h } else { 0.0 }).collect();
        let cores = plan.vertices().iter().map(|v| vec![0.0; v.params()]).collect();
        let at = Posterior { cores, roots: vec![root; d] };
        let found = Problem::new(&rows, &sides, &kernel, &plan).bound(&at);
        let x = 2.0 * d as f64 * h.ln_1p();
        let want = 8f64.powi(d as i32) * x * x / 4.0 * (1.0 + x / 3.0);
        close(found.divergence / want, 1.0, 1e-6, "divergence");
        assert_eq!(found.reported, known.then_some(found.bound));
    }
}
