//! The evidence lower bound and its gradient, by Kronecker and network algebra: the grid is never formed.
//!
//! The prior is the interpolated process `f(x) = w(x)^T u`, `u ~ N(0, K)`, `K = signal^2 K_1 x ... x K_d`. With
//! `K_k = L_k L_k^T` and `u = signal (L_1 x ... x L_d) v` the prior of v is N(0, I), and
//!
//! `f(x) = signal <v, phi_1 x ... x phi_d>`, `phi_k = L_k^T w_k(x)`.
//!
//! Of `q(v) = N(c, S_1 S_1^T x ... x S_d S_d^T)`, c a network, M the product of the points `m_k`, with noise s:
//!
//! `bound = sum_i [-log(2 pi s^2) / 2 - ((y_i - signal g_i)^2 + signal^2 a_i) / (2 s^2)] - KL`,
//! `g_i = <c, phi_i>`, `a_i = prod_k |S_k^T phi_ik|^2`,
//! `KL = (<c, c> + prod_k |S_k|_F^2 - M - sum_k (M / m_k) log det S_k S_k^T) / 2`.
//!
//! The last three terms are as large as M each, their sum is not: `factors.rs` computes it.

use super::TgpError;
use super::contract::Contraction;
use super::factors::{beyond_line, inverse_root, logs, spread, squared};
use super::grid::NEAR;
use super::kernel::{Kernel, Side};
use super::rows::{Rows, each_part, parts};

/// Sums of this many parts.
const PARTS: usize = 16;

/// What is learnt about the function: in whitened coordinates, v.
#[derive(Debug, Clone, PartialEq)]
pub struct Posterior {
    /// The cores of the mean c, shaped as the contraction says.
    pub cores: Vec<Vec<f64>>,
    /// The lower factors S_k, row-major.
    pub roots: Vec<Vec<f64>>,
}

/// The bound and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The bound, over all rows.
    pub bound: f64,
    /// The same where M is so small that rounding does not hide it: factors are known to an ulp, the divergence to M of them.
    pub reported: Option<f64>,
    /// Its KL divergence.
    pub divergence: f64,
    /// The mean of `(y - f)^2`, standardised.
    pub mse: f64,
    /// The mean of the variances of f.
    pub variance: f64,
}

/// The gradient of the bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradient {
    /// By the cores.
    pub cores: Vec<Vec<f64>>,
    /// By the factors, lower triangles.
    pub roots: Vec<Vec<f64>>,
    /// By the logarithms of lengths, signal and noise.
    pub logs: Vec<f64>,
}

/// A problem: rows on grids, the kernel's sides, a graph.
pub struct Problem<'a> {
    /// The rows.
    pub rows: &'a Rows,
    /// The sides of the kernel, for its hyperparameters.
    pub sides: &'a [Side],
    /// The hyperparameters.
    pub kernel: &'a Kernel,
    /// The graph of the mean.
    pub plan: &'a Contraction,
    /// How many rows these stand for: all, where they are a batch of them.
    pub weight: f64,
    /// Whether all threads take part; the result is the same.
    pub parallel: bool,
}

/// What a part of the rows adds.
#[derive(Clone)]
struct Sums {
    squares: f64,
    variances: f64,
    /// The sum of `signal (y - f) g`.
    pull: f64,
    cores: Vec<Vec<f64>>,
    /// `sum_i (a_i / a_ik) phi_ik phi_ik^T`.
    moments: Vec<Vec<f64>>,
    /// The derivative by `L_k` but for the part of the variance, times s^2; and `sum_i (a_i / a_ik) w_ik phi_ik^T`.
    factors: Vec<Vec<f64>>,
    crossed: Vec<Vec<f64>>,
}

impl Sums {
    fn zero(plan: &Contraction, points: &[usize]) -> Self {
        let squares = || points.iter().map(|m| vec![0.0; m * m]).collect();
        let cores = plan.vertices().iter().map(|v| vec![0.0; v.params()]).collect();
        let (moments, factors, crossed) = (squares(), squares(), squares());
        Sums { squares: 0.0, variances: 0.0, pull: 0.0, cores, moments, factors, crossed }
    }

    fn add(mut self, other: Sums) -> Sums {
        self.squares += other.squares;
        self.variances += other.variances;
        self.pull += other.pull;
        let pairs = self.cores.iter_mut().zip(other.cores);
        let pairs = pairs.chain(self.moments.iter_mut().zip(other.moments));
        let pairs = pairs.chain(self.factors.iter_mut().zip(other.factors));
        for (mine, theirs) in pairs.chain(self.crossed.iter_mut().zip(other.crossed)) {
            mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        }
        self
    }
}

/// The products of all numbers but one, for each of them.
fn others(values: &[f64]) -> Vec<f64> {
    let mut out = vec![1.0; values.len()];
    let (mut before, mut after) = (1.0, 1.0);
    for k in 0..values.len() {
        out[k] *= before;
        before *= values[k];
        let back = values.len() - 1 - k;
        out[back] *= after;
        after *= values[back];
    }
    out
}

impl<'a> Problem<'a> {
    /// That of all the rows, on all threads.
    pub fn new(
        rows: &'a Rows,
        sides: &'a [Side],
        kernel: &'a Kernel,
        plan: &'a Contraction,
    ) -> Self {
        Problem { rows, sides, kernel, plan, weight: rows.len() as f64, parallel: true }
    }

    /// The bound at a posterior.
    pub fn bound(&self, at: &Posterior) -> Bound {
        self.sums(at, false).0
    }

    /// The bound and its gradient.
    pub fn gradient(&self, at: &Posterior) -> (Bound, Gradient) {
        let (bound, sums) = self.sums(at, true);
        let (signal, noise) = (self.kernel.signal, self.kernel.noise);
        let per_noise = 1.0 / (noise * noise);
        let scale = self.weight / self.rows.len() as f64;
        let data = scale * signal * per_noise;
        let cores = sums.cores.iter().enumerate().map(|(v, sum)| {
            let around = self.plan.norm_around(v, &at.cores);
            let prior = self.plan.times_around(v, &at.cores[v], &around);
            sum.iter().zip(prior).map(|(s, p)| data * s - p).collect()
        });
        let cores = cores.collect();
        let of_variance = -scale * signal * signal * per_noise;
        let (traces, cells) = self.traces(at);
        let rest = others(&traces);
        let roots = at.roots.iter().enumerate().map(|(k, root)| {
            let m = self.sides[k].points;
            let mut out = vec![0.0; m * m];
            for i in 0..m {
                for j in 0..=i {
                    let moved: f64 =
                        (j..m).map(|c| sums.moments[k][i * m + c] * root[c * m + j]).sum();
                    out[i * m + j] = of_variance * moved - rest[k] * root[i * m + j];
                }
                out[i * m + i] += cells / m as f64 / root[i * m + i];
            }
            out
        });
        let roots = roots.collect();
        let lengths = self.sides.iter().enumerate().map(|(k, side)| {
            let m = side.points;
            let mut by: Vec<f64> = sums.factors[k].iter().map(|f| data * f).collect();
            let covariance = squared(&at.roots[k], m);
            for i in 0..m {
                for j in 0..m {
                    let moved: f64 =
                        (0..m).map(|c| sums.crossed[k][i * m + c] * covariance[c * m + j]).sum();
                    by[i * m + j] += of_variance * moved;
                }
            }
            side.length_slope(&by)
        });
        let variances = signal * signal * sums.variances;
        let by_signal = scale * per_noise * (sums.pull - variances);
        let by_noise = scale * (per_noise * (sums.squares + variances) - self.rows.len() as f64);
        let logs = lengths.chain([by_signal, by_noise]).collect();
        (bound, Gradient { cores, roots, logs })
    }

    /// `|S_k|_F^2` of every feature, and the product of all points.
    fn traces(&self, at: &Posterior) -> (Vec<f64>, f64) {
        let traces = at.roots.iter().map(|s| s.iter().map(|x| x * x).sum()).collect();
        (traces, self.sides.iter().map(|s| s.points as f64).product())
    }

    fn sums(&self, at: &Posterior, slopes: bool) -> (Bound, Sums) {
        let phi = self.rows.vectors(self.sides);
        let points: Vec<usize> = self.sides.iter().map(|s| s.points).collect();
        let part = |range: std::ops::Range<usize>| {
            let mut sums = Sums::zero(self.plan, &points);
            let mut from = range.start;
            while from < range.end {
                let to = range.end.min(from + self.plan.rows_together());
                self.add(&mut sums, at, &phi, from..to, slopes);
                from = to;
            }
            sums
        };
        let made = each_part(parts(self.rows.len(), PARTS), self.parallel, part);
        let sums =
            made.into_iter().reduce(Sums::add).unwrap_or_else(|| Sums::zero(self.plan, &points));
        let (signal, noise, n) = (self.kernel.signal, self.kernel.noise, self.rows.len() as f64);
        let variances = signal * signal * sums.variances;
        let log = (2.0 * std::f64::consts::PI * noise * noise).ln();
        let data = -0.5 * n * log - (sums.squares + variances) / (2.0 * noise * noise);
        let (_, cells) = self.traces(at);
        let logs = at.roots.iter().zip(&points).map(|(s, &m)| logs(s, m));
        let (ratio, rest) = logs.fold((0.0, 0.0), |(t, r), (t_k, r_k)| (t + t_k, r + r_k));
        let norm = self.plan.norm_squared(&at.cores);
        let divergence = 0.5 * (norm + cells * (beyond_line(ratio) + rest));
        let bound = self.weight / n * data - divergence;
        let bound = Bound {
            bound,
            reported: (cells * f64::EPSILON <= 1.0).then_some(bound),
            divergence,
            mse: sums.squares / n,
            variance: variances / n,
        };
        (bound, sums)
    }

    /// What some rows add to the sums.
    fn add(
        &self,
        sums: &mut Sums,
        at: &Posterior,
        phi: &[Vec<f64>],
        range: std::ops::Range<usize>,
        slopes: bool,
    ) {
        let (plan, signal) = (self.plan, self.kernel.signal);
        let rows = range.len();
        let phi: Vec<&[f64]> = phi
            .iter()
            .zip(self.sides)
            .map(|(p, s)| &p[range.start * s.points..range.end * s.points])
            .collect();
        let vertices = plan.vertices();
        let vectors: Vec<Vec<f64>> =
            (0..vertices.len()).map(|v| plan.vectors(v, &phi, rows)).collect();
        let locals: Vec<Vec<f64>> =
            (0..vertices.len()).map(|v| plan.local(v, &at.cores[v], &vectors[v], rows)).collect();
        let mut residuals = Vec::with_capacity(rows);
        let values = plan.around(0, &locals, rows);
        let width = vertices[0].width;
        for (i, (e, l)) in values.chunks_exact(width).zip(locals[0].chunks_exact(width)).enumerate()
        {
            let g: f64 = e.iter().zip(l).map(|(a, b)| a * b).sum();
            let residual = self.rows.y[range.start + i] - signal * g;
            sums.squares += residual * residual;
            sums.pull += signal * residual * g;
            residuals.push(residual);
        }
        for i in 0..rows {
            let of = |k: usize| &phi[k][i * self.sides[k].points..(i + 1) * self.sides[k].points];
            let spreads: Vec<f64> = (0..phi.len()).map(|k| spread(&at.roots[k], of(k))).collect();
            sums.variances += spreads.iter().product::<f64>();
            if !slopes {
                continue;
            }
            for (k, rest) in others(&spreads).into_iter().enumerate() {
                let (x, m) = (of(k), self.sides[k].points);
                for (a, row) in x.iter().zip(sums.moments[k].chunks_exact_mut(m)) {
                    row.iter_mut().zip(x).for_each(|(s, b)| *s += rest * a * b);
                }
                let w = &self.rows.weights[k][range.start + i];
                for (j, c) in w.weights.iter().enumerate().take(NEAR.min(m)) {
                    let row = &mut sums.crossed[k][(w.first as usize + j) * m..][..m];
                    row.iter_mut().zip(x).for_each(|(s, b)| *s += rest * c * b);
                }
            }
        }
        if !slopes {
            return;
        }
        for (v, vertex) in vertices.iter().enumerate() {
            let around = plan.around(v, &locals, rows);
            for i in 0..rows {
                let (e, x) = (
                    &around[i * vertex.width..][..vertex.width],
                    &vectors[v][i * vertex.span..][..vertex.span],
                );
                for (e, row) in e.iter().zip(sums.cores[v].chunks_exact_mut(vertex.span)) {
                    row.iter_mut().zip(x).for_each(|(s, x)| *s += residuals[i] * e * x);
                }
                // By the vectors of its modes: the core contracted with the surroundings, and the other modes.
                let mut pulled = vec![0.0; vertex.span];
                for (e, row) in e.iter().zip(at.cores[v].chunks_exact(vertex.span)) {
                    pulled.iter_mut().zip(row).for_each(|(p, c)| *p += residuals[i] * e * c);
                }
                self.pull(&mut sums.factors, &vertex.modes, &pulled, &phi, (i, range.start + i));
            }
        }
    }

    /// Adds the derivative by `L_k`, `w_k (d by phi_k)^T`, of each mode of a vertex.
    fn pull(
        &self,
        factors: &mut [Vec<f64>],
        modes: &[usize],
        pulled: &[f64],
        phi: &[&[f64]],
        (here, row): (usize, usize),
    ) {
        for (place, &k) in modes.iter().enumerate() {
            let m = self.sides[k].points;
            let inner: usize = modes[place + 1..].iter().map(|&n| self.sides[n].points).product();
            let mut by = vec![0.0; m];
            for (flat, p) in pulled.iter().enumerate() {
                let (mut rest, mut product) = (flat, *p);
                for &n in modes.iter().rev() {
                    let points = self.sides[n].points;
                    if n != k {
                        product *= phi[n][here * points + rest % points];
                    }
                    rest /= points;
                }
                by[flat / inner % m] += product;
            }
            let w = &self.rows.weights[k][row];
            for (j, c) in w.weights.iter().enumerate().take(NEAR.min(m)) {
                let row = &mut factors[k][(w.first as usize + j) * m..][..m];
                row.iter_mut().zip(&by).for_each(|(s, b)| *s += c * b);
            }
        }
    }

    /// The best factors for the others, one after the other: `S_k S_k^T` is the inverse of
    /// `(m_k / M) (signal^2 / s^2 sum_i (a_i / a_ik) phi_ik phi_ik^T + prod_(j /= k) |S_j|_F^2 I)`.
    /// The bound never falls. With one feature it is the exact covariance.
    pub fn improve_roots(&self, roots: &mut [Vec<f64>]) -> Result<(), TgpError> {
        let phi = self.rows.vectors(self.sides);
        let scale = self.weight / self.rows.len() as f64;
        let ratio = scale * (self.kernel.signal / self.kernel.noise).powi(2);
        let cells: f64 = self.sides.iter().map(|s| s.points as f64).product();
        for k in 0..roots.len() {
            let m = self.sides[k].points;
            let fixed: &[Vec<f64>] = roots;
            let part = |range: std::ops::Range<usize>| {
                let mut sum = vec![0.0; m * m];
                for i in range {
                    let of = |j: usize| &phi[j][i * self.sides[j].points..][..self.sides[j].points];
                    let rest =
                        (0..fixed.len()).filter(|&j| j != k).map(|j| spread(&fixed[j], of(j)));
                    let (rest, x) = (rest.product::<f64>(), of(k));
                    for (a, row) in x.iter().zip(sum.chunks_exact_mut(m)) {
                        row.iter_mut().zip(x).for_each(|(s, b)| *s += rest * a * b);
                    }
                }
                sum
            };
            let sums = each_part(parts(self.rows.len(), PARTS), self.parallel, part);
            let mut matrix = vec![0.0; m * m];
            for sum in sums {
                matrix.iter_mut().zip(sum).for_each(|(a, b)| *a += b);
            }
            let rest = (0..fixed.len())
                .filter(|&j| j != k)
                .map(|j| fixed[j].iter().map(|x| x * x).sum::<f64>());
            let rest = rest.product::<f64>();
            matrix.iter_mut().for_each(|x| *x *= ratio * m as f64 / cells);
            (0..m).for_each(|i| matrix[i * m + i] += rest * m as f64 / cells);
            roots[k] = inverse_root(matrix, m)
                .ok_or(TgpError::Numbers("a covariance is not positive definite"))?;
        }
        Ok(())
    }
}
