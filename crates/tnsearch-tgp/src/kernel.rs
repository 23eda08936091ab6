//! The product kernel on the grid: `K = signal^2 K_1 x ... x K_d`, `K_k(a, b) = exp(-(a - b)^2 / (2 length_k^2))`.

use super::TgpError;
use super::grid::Grid;
use serde::{Deserialize, Serialize};
use tnsearch::linalg::cholesky;

/// What is added to the diagonal of every `K_k`, which would be singular to rounding.
pub const JITTER: f64 = 1e-8;

/// The hyperparameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Kernel {
    /// The length of each feature, in standardised units.
    pub lengths: Vec<f64>,
    /// The standard deviation of the function.
    pub signal: f64,
    /// The standard deviation of the noise.
    pub noise: f64,
}

impl Kernel {
    /// Those given.
    pub fn new(lengths: Vec<f64>, signal: f64, noise: f64) -> Self {
        Kernel { lengths, signal, noise }
    }

    /// Their logarithms: lengths, signal, noise. What is learnt.
    pub fn logs(&self) -> Vec<f64> {
        self.lengths.iter().chain([&self.signal, &self.noise]).map(|x| x.ln()).collect()
    }

    /// From the logarithms, kept within what numbers can be computed with.
    pub fn from_logs(logs: &[f64]) -> Self {
        let of = |x: &f64, low: f64, high: f64| x.clamp(low, high).exp();
        let d = logs.len() - 2;
        Kernel {
            lengths: logs[..d].iter().map(|x| of(x, -4.0, 5.0)).collect(),
            signal: of(&logs[d], -7.0, 5.0),
            noise: of(&logs[d + 1], -7.0, 2.0),
        }
    }
}

/// The matrix of a feature on its grid and its factor.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// The number of points m.
    pub points: usize,
    /// `K_k`, row-major, without jitter.
    pub kernel: Vec<f64>,
    /// Its derivative by log length.
    pub slope: Vec<f64>,
    /// The lower factor L of `K_k + jitter I = L L^T`, row-major, zeros above the diagonal.
    pub factor: Vec<f64>,
}

impl Side {
    /// Of a grid and a length.
    pub fn new(grid: &Grid, length: f64) -> Result<Side, TgpError> {
        let m = grid.points;
        let (mut kernel, mut slope) = (vec![0.0; m * m], vec![0.0; m * m]);
        for i in 0..m {
            for j in 0..m {
                let apart = (i as f64 - j as f64) * grid.step / length;
                let k = (-0.5 * apart * apart).exp();
                kernel[i * m + j] = k;
                slope[i * m + j] = k * apart * apart;
            }
        }
        let mut columns = kernel.clone();
        (0..m).for_each(|i| columns[i * m + i] += JITTER);
        if !cholesky(&mut columns, m) {
            return Err(TgpError::Numbers("the kernel of a grid is not positive definite"));
        }
        let mut factor = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                factor[i * m + j] = columns[j * m + i];
            }
        }
        Ok(Side { points: m, kernel, slope, factor })
    }

    /// The derivative of something by log length, from that by the factor L (row-major; only the lower triangle counts):
    /// with `P = tril(L^T Lbar)`, its diagonal halved, it is `<L^-T sym(P) L^-1, dK>`.
    pub fn length_slope(&self, by_factor: &[f64]) -> f64 {
        let (m, l) = (self.points, &self.factor);
        // L^-1 dK L^-T; then tril with a halved diagonal is L^-1 dL.
        let half = self.solve_lower(&self.slope);
        let both = self.solve_lower(&transposed(&half, m));
        let mut total = 0.0;
        for i in 0..m {
            for j in 0..=i {
                // dL_ij = sum_c L_ic Phi_cj, c from j to i.
                let moved: f64 = (j..=i)
                    .map(|c| l[i * m + c] * both[c * m + j] * if c == j { 0.5 } else { 1.0 })
                    .sum();
                total += by_factor[i * m + j] * moved;
            }
        }
        total
    }

    /// `L^-1 A` for a row-major m x n matrix.
    pub fn solve_lower(&self, a: &[f64]) -> Vec<f64> {
        let m = self.points;
        let n = a.len() / m;
        let mut x = a.to_vec();
        for i in 0..m {
            let (done, rest) = x.split_at_mut(i * n);
            let row = &mut rest[..n];
            for j in 0..i {
                let factor = self.factor[i * m + j];
                row.iter_mut().zip(&done[j * n..]).for_each(|(x, d)| *x -= factor * d);
            }
            row.iter_mut().for_each(|x| *x /= self.factor[i * m + i]);
        }
        x
    }
}

/// The transposed n x n matrix.
fn transposed(a: &[f64], n: usize) -> Vec<f64> {
    (0..n * n).map(|k| a[k % n * n + k / n]).collect()
}

/// The sides of all features.
pub fn sides(grids: &[Grid], kernel: &Kernel) -> Result<Vec<Side>, TgpError> {
    grids.iter().zip(&kernel.lengths).map(|(grid, &length)| Side::new(grid, length)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_and_their_slopes_are_right() {
        let grid = Grid::over(-1.0, 1.0, 5);
        let side = Side::new(&grid, 0.7).unwrap();
        let points: Vec<f64> = grid.at().collect();
        for i in 0..5 {
            for j in 0..5 {
                let dot: f64 =
                    (0..5).map(|c| side.factor[i * 5 + c] * side.factor[j * 5 + c]).sum();
                let k = (-(points[i] - points[j]).powi(2) / (2.0 * 0.49)).exp();
                assert!((dot - k - if i == j { JITTER } else { 0.0 }).abs() < 1e-12);
            }
        }
        // Any linear function of L, by finite differences.
        let by: Vec<f64> = (0..25).map(|k| (k as f64 * 1.7).sin()).collect();
        let value = |log: f64| -> f64 {
            let side = Side::new(&grid, log.exp()).unwrap();
            side.factor.iter().zip(&by).map(|(l, b)| l * b).sum()
        };
        let (at, h) = (0.7f64.ln(), 1e-5);
        let want = (value(at + h) - value(at - h)) / (2.0 * h);
        assert!((side.length_slope(&by) - want).abs() < 1e-6 * want.abs().max(1.0));
    }
}
