//! The evidence of exact Gaussian process regression with the interpolated kernel, on some of the rows: where hyperparameters
//! begin.
//!
//! `k(x, x') = signal^2 prod_k w_k(x)^T (K_k + jitter I) w_k(x')`, and with `C = (k(x_i, x_j)) + s^2 I`
//!
//! `log p(y) = -y^T C^-1 y / 2 - log det C / 2 - n log(2 pi) / 2`,
//! `d log p(y) = tr((C^-1 y y^T C^-1 - C^-1) dC) / 2`.

use super::TgpError;
use super::adam::Adam;
use super::grid::Grid;
use super::kernel::{JITTER, Kernel, Side, sides};
use super::rows::Rows;
use rayon::prelude::*;
use tnsearch::linalg::{cholesky, cholesky_solve};
use tnsearch::problem::Stop;

/// The log evidence and its gradient by the logarithms of the hyperparameters.
pub fn evidence(rows: &Rows, grids: &[Grid], kernel: &Kernel) -> Result<(f64, Vec<f64>), TgpError> {
    let n = rows.len();
    let sides = sides(grids, kernel)?;
    let (signal, noise) = (kernel.signal.powi(2), kernel.noise.powi(2));
    // w^T K and w^T dK of every row, to be met with the weights of another.
    let jittered = |side: &Side| {
        let mut k = side.kernel.clone();
        (0..side.points).for_each(|i| k[i * side.points + i] += JITTER);
        k
    };
    let along = |of: &dyn Fn(&Side) -> Vec<f64>| -> Vec<Vec<f64>> {
        sides.iter().enumerate().map(|(k, side)| rows.times(k, &of(side), side.points)).collect()
    };
    let (values, slopes) = (along(&jittered), along(&|side: &Side| side.slope.clone()));
    let met = |of: &[Vec<f64>], k: usize, i: usize, j: usize| -> f64 {
        let (m, w) = (sides[k].points, &rows.weights[k][j]);
        let row = &of[k][i * m..(i + 1) * m];
        w.weights.iter().zip(&row[w.first as usize..]).map(|(w, x)| w * x).sum()
    };
    let d = sides.len();
    // The lower triangle, column by column.
    let covariance: Vec<f64> = (0..n)
        .into_par_iter()
        .flat_map_iter(|j| {
            let product = |i: usize| (0..d).map(|k| met(&values, k, i, j)).product::<f64>();
            let entry = |i: usize| if i < j { 0.0 } else { signal * product(i) };
            (0..n).map(entry).collect::<Vec<_>>()
        })
        .collect();
    let mut factor = covariance.clone();
    (0..n).for_each(|i| factor[i * n + i] += noise);
    if !cholesky(&mut factor, n) {
        return Err(TgpError::Numbers("the covariance of the rows is not positive definite"));
    }
    let mut alpha = rows.y.clone();
    cholesky_solve(&factor, &mut alpha, n);
    let mut inverse = vec![0.0; n * n];
    (0..n).for_each(|i| inverse[i * n + i] = 1.0);
    inverse.par_chunks_mut(n * 64).for_each(|columns| cholesky_solve(&factor, columns, n));
    let log_det: f64 = (0..n).map(|i| factor[i * n + i].ln()).sum();
    let fit: f64 = rows.y.iter().zip(&alpha).map(|(y, a)| y * a).sum();
    let log = -0.5 * fit - log_det - 0.5 * n as f64 * (2.0 * std::f64::consts::PI).ln();
    // Column by column, each off the diagonal twice.
    let column = |j: usize| {
        let mut sums = vec![0.0; d + 2];
        for i in j..n {
            let twice = if i == j { 0.5 } else { 1.0 };
            let weight = twice * (alpha[i] * alpha[j] - inverse[j * n + i]);
            let each: Vec<f64> = (0..d).map(|k| met(&values, k, i, j)).collect();
            for (k, sum) in sums.iter_mut().enumerate().take(d) {
                let rest: f64 = (0..d).filter(|&l| l != k).map(|l| each[l]).product();
                *sum += weight * signal * rest * met(&slopes, k, i, j);
            }
            sums[d] += weight * 2.0 * covariance[j * n + i];
            if i == j {
                sums[d + 1] += weight * 2.0 * noise;
            }
        }
        sums
    };
    let columns: Vec<Vec<f64>> = (0..n).into_par_iter().map(column).collect();
    let mut gradient = vec![0.0; d + 2];
    for column in columns {
        gradient.iter_mut().zip(column).for_each(|(g, c)| *g += c);
    }
    Ok((log, gradient))
}

/// Hyperparameters of the largest evidence on these rows, from those given, by so many steps of Adam.
pub fn learn(
    rows: &Rows,
    grids: &[Grid],
    from: &Kernel,
    steps: usize,
    stop: &Stop,
    heard: &mut dyn FnMut(usize, f64),
) -> Result<Kernel, TgpError> {
    let mut logs = from.logs();
    let mut adam = Adam::new(logs.len());
    let mut best = (f64::NEG_INFINITY, from.clone());
    for step in 0..steps {
        if stop.is_set() {
            break;
        }
        let kernel = Kernel::from_logs(&logs);
        let (log, gradient) = match evidence(rows, grids, &kernel) {
            Ok(found) => found,
            // A step too far: go on from the best, more carefully.
            Err(_) => break,
        };
        if log > best.0 {
            best = (log, kernel.clone());
        }
        heard(step, log);
        logs = kernel.logs();
        let rate = 0.15 * (1.0 - step as f64 / steps as f64) + 0.01;
        adam.step(&mut logs, &gradient, rate);
    }
    Ok(best.1)
}
