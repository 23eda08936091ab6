//! Sweeps: each factor in turn gets its optimal value, the others held fixed.
//!
//! With `K` the R x M matrix of the products of the other factors ([`products`]) and `X_n` the tensor's unfolding, d x M, the
//! factor of a mode is the `A` (R x d) with the least `||X_n - A^T K||`. Where that is cheap, from the triangle of
//! `[K; X_n] = L Q`: the digits of a Gram matrix's squares are not lost. Else from normal equations ([`super::normal`]), and
//! from triangles only near the end, where a small error is asked for and no steps of all factors at once
//! ([`super::newton`]) follow.

use super::{LARGEST, PLAIN, newton};
use crate::linalg::{reciprocal, triangle_until};
use crate::network::cp::products;
use crate::problem::Stop;
use crate::tensor::{Scalar, Tensor, sum_of_squares};

/// Operations of a sweep up to which triangles are made in any case, and near the end.
const CHEAP: f64 = 5e7;
const PRECISE: f64 = 4e9;
/// Normal equations come no nearer than this; triangles take their place a little before.
const SMALL: f64 = 1e-9;
const NEAR: f64 = 1e-7;
/// The pull towards the old factor, relative to products of length 1.
const PULL: f64 = 1e-15;

/// The tensor and the number of terms.
pub(super) struct Problem<W> {
    pub dims: Vec<usize>,
    pub rank: usize,
    pub x: Vec<W>,
    /// The unfoldings X_n, where triangles are made, and the error from which on they are.
    unfoldings: Option<(Vec<Vec<W>>, f64)>,
}

/// Operations of a sweep with triangles.
fn triangle_flops(dims: &[usize], rank: usize) -> f64 {
    let entries: f64 = dims.iter().map(|&d| d as f64).product();
    dims.iter().map(|&d| 2.0 * entries / d as f64 * ((rank + d) as f64).powi(2)).sum()
}

/// The error from which on triangles are made; none where they never are.
fn triangles_from(dims: &[usize], rank: usize, asked: f64) -> Option<f64> {
    let flops = triangle_flops(dims, rank);
    let late = asked < SMALL && flops <= PRECISE && newton::steps(dims, rank) == 0;
    if flops <= CHEAP { Some(f64::INFINITY) } else { late.then_some(NEAR) }
}

/// Copies of the tensor beside one that triangles take at most.
pub(super) fn copies(dims: &[usize], rank: usize) -> f64 {
    if triangles_from(dims, rank, 0.0).is_none() { 0.0 } else { dims.len() as f64 + 2.0 }
}

impl<W: Scalar<Wide = W>> Problem<W> {
    pub fn new<T: Scalar<Wide = W>>(x: &Tensor<T>, rank: usize, asked: f64) -> Self {
        Self::solving(x, rank, triangles_from(x.dims(), rank, asked))
    }

    /// The same by triangles from an error on, or by normal equations.
    pub fn solving<T: Scalar<Wide = W>>(x: &Tensor<T>, rank: usize, precise: Option<f64>) -> Self {
        let dims = x.dims().to_vec();
        let wide: Vec<W> = x.data().iter().map(|x| x.widen()).collect();
        let unfoldings = precise.map(|from| {
            let whole = Tensor::new(dims.clone(), wide.clone());
            let whole = whole.unwrap_or_else(|e| unreachable!("{e}"));
            let unfold = |n: usize| {
                let others = (0..dims.len()).filter(|&m| m != n);
                whole.permuted(&std::iter::once(n).chain(others).collect::<Vec<_>>()).into_data()
            };
            ((0..dims.len()).map(unfold).collect(), from)
        });
        Problem { dims, rank, x: wide, unfoldings }
    }

    /// Operations of a sweep.
    pub fn sweep_flops(&self) -> f64 {
        match self.unfoldings {
            Some((_, f64::INFINITY)) => triangle_flops(&self.dims, self.rank),
            _ => 6.0 * self.x.len() as f64 * self.rank as f64,
        }
    }

    /// The number of terms of some factors, which may have fewer.
    pub fn rank_of(&self, factors: &[Vec<W>]) -> usize {
        factors[0].len() / self.dims[0]
    }

    /// Sweeps until `ends` says so or the limit is set, with extrapolation between them: in a swamp each takes a small step in
    /// nearly the same direction. A sweep that ends worse than the best is taken back. The error, by `relative` from the
    /// squared residual, and the sweeps made.
    pub fn improve(
        &self,
        factors: &mut Vec<Vec<W>>,
        max_sweeps: usize,
        relative: &dyn Fn(f64) -> f64,
        ends: &mut dyn FnMut(f64) -> bool,
        limit: &Stop,
    ) -> (f64, usize) {
        let (mut best, mut before) = (factors.clone(), factors.clone());
        // A good start is not given up for a sweep that comes less near.
        let begun = relative(sum_of_squares(&self.left_by(factors)));
        let mut least = if begun.is_finite() { begun } else { f64::INFINITY };
        let (mut step, mut made) = (0.5, 0);
        if least <= 1.0 && ends(least) {
            return (least, made);
        }
        for sweep in 1..=max_sweeps {
            let Some(residual) = self.sweep(factors, least, limit) else { break };
            made = sweep;
            let rse = relative(residual);
            let better = rse <= least;
            if better {
                std::mem::swap(&mut best, &mut before);
                best.clone_from(factors);
                least = rse;
            }
            if ends(least) {
                break;
            }
            if !better {
                step = f64::max(0.25 * step, 0.1);
                factors.clone_from(&best);
            } else if sweep > PLAIN {
                step = f64::min(1.5 * step, LARGEST);
                for (x, (b, a)) in factors
                    .iter_mut()
                    .flatten()
                    .zip(best.iter().flatten().zip(before.iter().flatten()))
                {
                    *x = *b + (*b - *a).scale(step);
                }
            }
        }
        *factors = best;
        (least, made)
    }

    /// One sweep from factors of about this error; the squared residual after it. None where the limit ended it.
    fn sweep(&self, factors: &mut [Vec<W>], rse: f64, limit: &Stop) -> Option<f64> {
        match &self.unfoldings {
            Some((unfoldings, from)) if rse <= *from => {
                let mut residual = f64::INFINITY;
                for (n, unfolding) in unfoldings.iter().enumerate() {
                    if limit.is_set() {
                        return None;
                    }
                    residual = self.solve_exactly(factors, n, unfolding)?;
                    self.balance(factors);
                }
                Some(residual)
            }
            _ => self.sweep_halves(factors, limit),
        }
    }

    /// The factor of mode n from the triangle; the squared residual.
    fn solve_exactly(&self, factors: &mut [Vec<W>], n: usize, unfolding: &[W]) -> Option<f64> {
        let (rank, dim) = (self.rank_of(factors), self.dims[n]);
        let others: Vec<&[W]> =
            factors.iter().enumerate().filter(|&(m, _)| m != n).map(|(_, f)| &f[..]).collect();
        let mut k = products(&others, rank);
        let width = k.len() / rank;
        let lengths: Vec<f64> = k.chunks_exact(width).map(length).collect();
        for (row, &length) in k.chunks_exact_mut(width).zip(&lengths) {
            row.iter_mut().for_each(|x| *x = x.unscale(length));
        }
        // A column for each term pulls it towards what it was.
        let columns = width + rank;
        let mut rows = vec![W::ZERO; (rank + dim) * columns];
        for (r, (row, k)) in rows.chunks_exact_mut(columns).zip(k.chunks_exact(width)).enumerate() {
            row[..width].copy_from_slice(k);
            row[width + r] = W::ONE.scale(PULL);
        }
        for (i, row) in rows.chunks_exact_mut(columns).skip(rank).enumerate() {
            row[..width].copy_from_slice(&unfolding[i * width..(i + 1) * width]);
            for r in 0..rank {
                row[width + r] = factors[n][r * dim + i].scale(PULL * lengths[r]);
            }
        }
        let side = rank + dim;
        let l = triangle_until(&rows, (side, columns), None)?;
        let mut residual = Vec::with_capacity(dim * dim);
        for i in 0..dim {
            let row = &l[(rank + i) * side..(rank + i + 1) * side];
            residual.extend_from_slice(&row[rank..]);
            // a L = l, from the last on.
            let mut a = row[..rank].to_vec();
            for j in (0..rank).rev() {
                let done: W = (j + 1..rank).map(|k| a[k] * l[k * side + j]).sum();
                let diagonal = l[j * side + j];
                a[j] = if diagonal == W::ZERO {
                    W::ZERO
                } else {
                    (a[j] - done) * reciprocal(diagonal)
                };
            }
            for (r, a) in a.into_iter().enumerate() {
                factors[n][r * dim + i] = a.unscale(lengths[r]);
            }
        }
        Some(sum_of_squares(&residual))
    }

    /// Gives the vectors of each term one length.
    pub fn balance(&self, factors: &mut [Vec<W>]) {
        let rank = self.rank_of(factors);
        for r in 0..rank {
            let row = |f: &[W], d: usize| length(&f[r * d..(r + 1) * d]);
            let lengths: Vec<f64> =
                factors.iter().zip(&self.dims).map(|(f, &d)| row(f, d)).collect();
            let logs = lengths.iter().map(|l| l.ln()).sum::<f64>() / lengths.len() as f64;
            for ((factor, &d), length) in factors.iter_mut().zip(&self.dims).zip(lengths) {
                let by = logs.exp() / length;
                if by.is_finite() && by > 0.0 {
                    factor[r * d..(r + 1) * d].iter_mut().for_each(|x| *x = x.scale(by));
                }
            }
        }
    }
}

/// The length of a vector; 1 of none.
fn length<W: Scalar>(v: &[W]) -> f64 {
    let length = sum_of_squares(v).sqrt();
    if length > 0.0 && length.is_finite() { length } else { 1.0 }
}
