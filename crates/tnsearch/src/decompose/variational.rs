//! The variational posterior of a Bayesian tensor ring.

use super::ring::modes_along;
use super::{DecomposeError, Limits};
use crate::dispatch;
use crate::linalg::{Factor, inverse, matmul};
use crate::network::contraction::{Contraction, Label, Scratch};
use crate::problem::Target;
use crate::rng::stream;
use crate::tensor::{AxisPlan, Scalar, Tensor, power};
use rand_distr::{Distribution, StandardNormal};

/// Shape and rate of the Gamma priors: flat.
const PRIOR: f64 = 1e-6;
/// Sweeps with all lambdas held where they start, so that no index is dropped before it could learn anything.
const WARM_UP: usize = 20;
/// An index is dropped when it carries less than this fraction of the edge's strongest.
const PRUNE: f64 = 1e-2;
/// The quietest noise: below it everything is lost in rounding.
const QUIETEST: f64 = 1e-12;
/// Sweeps over which nothing may change at the end.
const STEADY: usize = 30;

/// Means, covariances and precisions. Core k is at vertex k of the ring, edge k before it.
pub(super) struct Posterior {
    /// X with its modes along the ring, of mean square 1, and what it was divided by.
    x: Vec<f64>,
    rms: f64,
    /// That of the target's scale.
    exponent: i64,
    dims: Vec<usize>,
    /// Rank of the edge before each core; edge 0 closes the ring.
    ranks: Vec<usize>,
    /// `[mode, left, right]`.
    means: Vec<Vec<f64>>,
    /// One covariance for all indices of the mode, `[left, right]` twice.
    covariance: Vec<Vec<f64>>,
    lambda: Vec<Vec<f64>>,
    /// The precision of the noise.
    tau: f64,
}

impl Posterior {
    /// Random means at the full ranks, no uncertainty yet. `noise` is that of the noise, relative to `||X||^2`.
    pub fn new(
        target: &Target,
        permutation: &[usize],
        max_rank: usize,
        noise: f64,
        seed: u64,
        limits: &Limits,
    ) -> Result<Self, DecomposeError> {
        let modes = modes_along(permutation, 0);
        let n = modes.len();
        let (entries, r) = (target.entries() as f64, max_rank as f64);
        // X and a copy in use; the two chains around a core; the transfer matrices and their products.
        limits.check_entries::<f64>(
            3.0 * entries + 2.0 * entries * r * r + 3.0 * n as f64 * r.powi(4),
        )?;
        // Inference is made with 64-bit numbers, whatever the tensor has.
        let x: Tensor<f64> = dispatch!(target.tensor(), x => x.permuted(&modes).converted())?;
        let dims = x.dims().to_vec();
        let rms = (target.norm_squared() / entries).sqrt();
        let x: Vec<f64> = x.into_data().iter().map(|x| x / rms).collect();
        let mut ranks = vec![max_rank; n];
        if n == 2 {
            ranks[0] = 1;
        }
        // Such that the ring has mean square 1 too.
        let log_terms: f64 = ranks.iter().map(|&r| (r as f64).ln()).sum();
        let sigma = (-log_terms / (2 * n) as f64).exp();
        let mut rng = stream(seed, b"bayes-tr");
        let width = |k: usize| ranks[k] * ranks[(k + 1) % n];
        let means = (0..n).map(|k| {
            let core = (0..width(k) * dims[k]).map(|_| {
                let normal: f64 = StandardNormal.sample(&mut rng);
                sigma * normal
            });
            core.collect()
        });
        let means = means.collect();
        let covariance = (0..n).map(|k| vec![0.0; width(k) * width(k)]).collect();
        let lambda = ranks.iter().map(|&r| vec![1.0; r]).collect();
        let tau = 1.0 / noise.max(QUIETEST);
        Ok(Posterior {
            x,
            rms,
            exponent: target.exponent(),
            dims,
            ranks,
            means,
            covariance,
            lambda,
            tau,
        })
    }

    /// Sweeps until ranks and error stay where they are; how many were made.
    pub fn infer(&mut self, max_sweeps: usize, limits: &Limits) -> usize {
        let mut history: Vec<(Vec<usize>, f64)> = Vec::new();
        for sweep in 1..=max_sweeps {
            let error = self.update_cores();
            if sweep > WARM_UP {
                self.update_lambda();
                self.prune();
            }
            history.push((self.ranks.clone(), error));
            let steady = sweep > WARM_UP + STEADY && {
                let last = &history[history.len() - STEADY..];
                last.iter().all(|h| h.0 == self.ranks) && (last[0].1 - error).abs() < 1e-3 * error
            };
            if steady || limits.stop.is_set() {
                return sweep;
            }
        }
        max_sweeps
    }

    /// The means as cores `[left, mode, right]` of X itself.
    pub fn into_means<T: Scalar>(self) -> Vec<Tensor<T>> {
        let n = self.dims.len();
        let share = self.rms.powf(1.0 / n as f64);
        let cores = self.means.into_iter().enumerate().map(|(k, mean)| {
            let dims = vec![self.dims[k], self.ranks[k], self.ranks[(k + 1) % n]];
            let mean = mean.into_iter().map(|x| T::from_parts(x * share, 0.0)).collect();
            Tensor::new(dims, mean).unwrap_or_else(|e| unreachable!("{e}")).permuted(&[1, 0, 2])
        });
        let mut cores: Vec<Tensor<T>> = cores.collect();
        power::spread(&mut cores, self.exponent);
        cores
    }

    fn next(&self, k: usize) -> usize {
        (k + 1) % self.dims.len()
    }

    /// Ranks before and after a core.
    fn sides(&self, k: usize) -> (usize, usize) {
        (self.ranks[k], self.ranks[self.next(k)])
    }

    /// One update of every core's posterior; the expected squared error `E ||X - Z||^2` after it.
    ///
    /// `cov_k = (tau E[H_k] + diag(lambda_k x lambda_{k+1}))^-1`, `mean_k(i) = tau cov_k t_k(i)`, with H_k the
    /// Gram matrix of the ring without core k and `t_k` X contracted with the means of the others.
    fn update_cores(&mut self) -> f64 {
        let n = self.dims.len();
        let lengths: Vec<usize> = self.dims.iter().chain(&self.ranks).copied().collect();
        // The ring to the right of each core: its means, and its doubled network.
        let mut right: Vec<Option<(Block, Matrix)>> = (0..n).map(|_| None).collect();
        for k in (0..n - 1).rev() {
            let (mean, transfer) = (self.block(k + 1), self.transfer(k + 1));
            right[k] = Some(match &right[k + 1] {
                None => (mean, transfer),
                Some((block, matrix)) => {
                    (mean.times(block, &lengths, None), transfer.times(matrix))
                }
            });
        }
        let x = Block { labels: (0..n).collect(), data: std::mem::take(&mut self.x) };
        let mut left: Option<(Block, Matrix)> = None;
        let (mut inner, mut norm) = (0.0, 0.0);
        for (k, here) in right.into_iter().enumerate() {
            let want = [k, n + k, n + self.next(k)];
            let (t, around) = match (&here, &left) {
                (Some((r, rm)), None) => (x.times(r, &lengths, Some(&want)), rm.clone()),
                (None, Some((l, lm))) => (x.times(l, &lengths, Some(&want)), lm.clone()),
                (Some((r, rm)), Some((l, lm))) => {
                    (x.times(r, &lengths, None).times(l, &lengths, Some(&want)), rm.times(lm))
                }
                (None, None) => unreachable!("a ring has two vertices or more"),
            };
            let gram = self.environment(k, &around);
            self.solve(k, &gram, &t.data);
            let (mean, transfer) = (self.block(k), self.transfer(k));
            if k + 1 == n {
                inner = self.means[k].iter().zip(&t.data).map(|(m, t)| m * t).sum();
                norm = transfer.times(&around).trace();
            } else {
                left = Some(match left {
                    None => (mean, transfer),
                    Some((block, matrix)) => {
                        (block.times(&mean, &lengths, None), matrix.times(&transfer))
                    }
                });
            }
        }
        self.x = x.data;
        let entries = self.x.len() as f64;
        (entries - 2.0 * inner + norm).max(1e-14 * entries)
    }

    /// The means of a core with its labels: modes `0..n`, edges `n..2n`.
    fn block(&self, k: usize) -> Block {
        let n = self.dims.len();
        Block { labels: vec![k, n + k, n + self.next(k)], data: self.means[k].clone() }
    }

    /// `E_k[(a,a'),(b,b')] = sum over i of E[G(a,i,b) G(a',i,b')]`.
    fn transfer(&self, k: usize) -> Matrix {
        let (a, b) = self.sides(k);
        let (w, dim) = (a * b, self.dims[k]);
        let mut second = vec![0.0; w * w];
        let mean = Factor::row_major(&self.means[k], w);
        matmul((w, w, dim), &mut second, mean.transposed(), mean);
        for (s, v) in second.iter_mut().zip(&self.covariance[k]) {
            *s += dim as f64 * v;
        }
        let mut data = vec![0.0; w * w];
        AxisPlan::new(&[a, b, a, b], &[0, 2, 1, 3]).apply(&second, &mut data);
        Matrix { rows: a * a, columns: b * b, data }
    }

    /// `E[H_k]` as a matrix over (left, right), from the doubled network around the core.
    fn environment(&self, k: usize, around: &Matrix) -> Vec<f64> {
        let (a, b) = self.sides(k);
        let mut gram = vec![0.0; a * b * a * b];
        AxisPlan::new(&[b, b, a, a], &[2, 0, 3, 1]).apply(&around.data, &mut gram);
        gram
    }

    fn solve(&mut self, k: usize, gram: &[f64], t: &[f64]) {
        let (a, b) = self.sides(k);
        let (w, dim) = (a * b, self.dims[k]);
        let next = self.next(k);
        let prior = |p: usize| self.lambda[k][p / b] * self.lambda[next][p % b];
        let precision = |i: usize, j: usize, shift: f64| {
            let sym = self.tau * (gram[i * w + j] + gram[j * w + i]) / 2.0;
            if i == j { sym + prior(i) + shift } else { sym }
        };
        let mean_diagonal = (0..w).map(|i| precision(i, i, 0.0)).sum::<f64>() / w as f64;
        // The precision is positive definite but for rounding.
        for shift in [0.0, 1e-13, 1e-11, 1e-9] {
            let precision = |i, j| precision(i, j, shift * mean_diagonal);
            let Some(inverse) = inverse(w, precision) else { continue };
            for (p, v) in self.covariance[k].iter_mut().enumerate() {
                // The lower triangle holds it.
                let (i, j) = (p / w, p % w);
                *v = inverse[i.min(j) * w + i.max(j)];
            }
            let (t, covariance) =
                (Factor::row_major(t, w), Factor::row_major(&self.covariance[k], w));
            matmul((dim, w, w), &mut self.means[k], t, covariance);
            self.means[k].iter_mut().for_each(|m| *m *= self.tau);
            return;
        }
    }

    /// `E[lambda_k(a)]` = shape / rate, from the second moments of the two cores at the edge.
    fn update_lambda(&mut self) {
        let n = self.dims.len();
        // Sums over the mode of E[G^2], `[left, right]`.
        let second: Vec<Vec<f64>> = (0..n)
            .map(|k| {
                let (a, b) = self.sides(k);
                let w = a * b;
                let own = |p: usize| self.dims[k] as f64 * self.covariance[k][p * w + p];
                let mean = |p: usize| self.means[k].iter().skip(p).step_by(w).map(|m| m * m);
                (0..w).map(|p| own(p) + mean(p).sum::<f64>()).collect()
            })
            .collect();
        for k in 0..n {
            let before = (k + n - 1) % n;
            let ((r, b), (a, _)) = (self.sides(k), self.sides(before));
            let count = self.dims[k] * b + self.dims[before] * a;
            let (after, other) = (&self.lambda[self.next(k)], &self.lambda[before]);
            let updated = (0..r).map(|q| {
                let here: f64 = (0..b).map(|j| second[k][q * b + j] * after[j]).sum();
                let there: f64 = (0..a).map(|i| second[before][i * r + q] * other[i]).sum();
                (PRIOR + count as f64 / 2.0) / (PRIOR + (here + there) / 2.0)
            });
            self.lambda[k] = updated.collect();
        }
    }

    /// Drops the indices that carry next to nothing.
    fn prune(&mut self) {
        let n = self.dims.len();
        for k in 0..n {
            let before = (k + n - 1) % n;
            let ((r, b), (a, _)) = (self.sides(k), self.sides(before));
            let mut energy = vec![0.0; r];
            for (p, m) in self.means[k].iter().enumerate() {
                energy[p / b % r] += m * m;
            }
            let mut other = vec![0.0; r];
            for (p, m) in self.means[before].iter().enumerate() {
                other[p % r] += m * m;
            }
            energy.iter_mut().zip(&other).for_each(|(e, o)| *e = (*e * o).sqrt());
            let largest = energy.iter().copied().fold(0.0, f64::max);
            let keep: Vec<bool> = energy.iter().map(|&e| e >= PRUNE * largest).collect();
            let kept = keep.iter().filter(|&&k| k).count();
            if kept == r || kept == 0 {
                continue; // None is left only if the numbers have overflowed.
            }
            let only = |data: &mut Vec<f64>, keeps: &dyn Fn(usize) -> bool| {
                let mut place = 0;
                data.retain(|_| {
                    place += 1;
                    keeps(place - 1)
                });
            };
            // Left axis of core k, right axis of the one before; for two cores they are different edges.
            let (w, v) = (r * b, a * r);
            only(&mut self.means[k], &|p| keep[p / b % r]);
            only(&mut self.covariance[k], &|p| keep[p / w / b] && keep[p % w / b]);
            only(&mut self.means[before], &|p| keep[p % r]);
            only(&mut self.covariance[before], &|p| keep[p / v % r] && keep[p % v % r]);
            only(&mut self.lambda[k], &|p| keep[p]);
            self.ranks[k] = kept;
        }
    }
}

/// A tensor whose axes have labels.
struct Block {
    labels: Vec<Label>,
    data: Vec<f64>,
}

impl Block {
    /// The sum over all labels that both have.
    fn times(&self, other: &Block, lengths: &[usize], want: Option<&[Label]>) -> Block {
        let plan = Contraction::plan(&self.labels, &other.labels, lengths, want);
        let mut scratch = Scratch::default();
        scratch.reserve(&plan);
        let mut data = vec![0.0; plan.result_len()];
        plan.run(&self.data, &other.data, &mut data, &mut scratch);
        Block { labels: plan.labels().to_vec(), data }
    }
}

/// A row-major matrix.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    fn times(&self, other: &Matrix) -> Matrix {
        let (m, n, k) = (self.rows, other.columns, self.columns);
        let mut data = vec![0.0; m * n];
        let (left, right) = (Factor::row_major(&self.data, k), Factor::row_major(&other.data, n));
        matmul((m, n, k), &mut data, left, right);
        Matrix { rows: m, columns: n, data }
    }

    fn trace(&self) -> f64 {
        self.data.iter().step_by(self.columns + 1).sum()
    }
}

#[cfg(test)]
mod tests;
