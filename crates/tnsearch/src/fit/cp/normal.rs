//! Normal equations: for large tensors the factors of a sweep, and what steps of all factors at once need.

use super::sweep::Problem;
use crate::linalg::{Factor, cholesky, cholesky_solve, matmul, matmul_until};
use crate::network::cp::{dense, middle, products};
use crate::problem::Stop;
use crate::tensor::{Scalar, sum_of_squares};

/// The pull towards the old factor, relative to products of length 1.
const RIDGE: f64 = 1e-13;

impl<W: Scalar<Wide = W>> Problem<W> {
    /// Every factor from its normal equations: `A` with `G A = B`, `G[r, s] = prod over m of <A_m[r], A_m[s]>`.
    pub fn sweep_halves(&self, factors: &mut [Vec<W>], limit: &Stop) -> Option<f64> {
        let half = middle(&self.dims);
        for left in [true, false] {
            let own = if left { 0..half } else { half..self.dims.len() };
            let half_done = self.half(factors, &self.x, left, limit)?;
            for n in own.clone() {
                self.solve_normal(factors, n, (own.start, own.end), &half_done);
                self.balance(factors);
            }
        }
        Some(sum_of_squares(&self.left_by(factors)))
    }

    /// What factors leave of the tensor.
    pub fn left_by(&self, factors: &[Vec<W>]) -> Vec<W> {
        let all: Vec<&[W]> = factors.iter().map(|f| &f[..]).collect();
        let mut left = dense(&all, &self.dims, self.rank_of(factors));
        left.iter_mut().zip(&self.x).for_each(|(z, x)| *z = *x - *z);
        left
    }

    /// A tensor `x` summed against the conjugated terms of all modes outside of a half, the left or the right one: R rows of
    /// the half's entries. None where the limit ended it.
    fn half(&self, factors: &[Vec<W>], x: &[W], left: bool, limit: &Stop) -> Option<Vec<W>> {
        let (rank, half) = (self.rank_of(factors), middle(&self.dims));
        let given = if left { half..self.dims.len() } else { 0..half };
        let given: Vec<&[W]> = factors[given].iter().map(|f| &f[..]).collect();
        let k = products(&given, rank);
        let (inner, outer) = (k.len() / rank, x.len() / (k.len() / rank));
        let mut done = vec![W::ZERO; rank * outer];
        let x = Factor::row_major(x, if left { inner } else { outer });
        let x = if left { x.transposed() } else { x };
        let a = Factor::row_major(&k, inner).conj();
        let stopped = || limit.is_set();
        matmul_until((rank, outer, inner), &mut done, a, x, Some(&stopped)).then_some(done)
    }

    /// A tensor summed against the conjugated terms of all modes but one, for each mode: R x d.
    pub fn sums(&self, factors: &[Vec<W>], x: &[W], limit: &Stop) -> Option<Vec<Vec<W>>> {
        let half = middle(&self.dims);
        let mut sums = Vec::with_capacity(self.dims.len());
        for (left, own) in [(true, 0..half), (false, half..self.dims.len())] {
            let done = self.half(factors, x, left, limit)?;
            let places = (own.start, own.end);
            sums.extend(own.map(|n| self.sum(factors, n, places, &done)));
        }
        Some(sums)
    }

    /// The same for mode n, from what [`Self::half`] made of its half.
    fn sum(&self, factors: &[Vec<W>], n: usize, half: (usize, usize), done: &[W]) -> Vec<W> {
        let (rank, dim) = (self.rank_of(factors), self.dims[n]);
        let size = |dims: &[usize]| dims.iter().product::<usize>();
        let (before, after) = (size(&self.dims[half.0..n]), size(&self.dims[n + 1..half.1]));
        let conj = |f: &[Vec<W>]| -> Vec<W> {
            let f: Vec<&[W]> = f.iter().map(|f| &f[..]).collect();
            products(&f, rank).into_iter().map(W::conj).collect()
        };
        let (first, last) = (conj(&factors[half.0..n]), conj(&factors[n + 1..half.1]));
        let mut b = vec![W::ZERO; rank * dim];
        let width = before * dim * after;
        for r in 0..rank {
            let (block, own) = (&done[r * width..(r + 1) * width], &mut b[r * dim..(r + 1) * dim]);
            let last = &last[r * after..(r + 1) * after];
            for (p, &weight) in first[r * before..(r + 1) * before].iter().enumerate() {
                for (i, sum) in own.iter_mut().enumerate() {
                    let row = &block[(p * dim + i) * after..][..after];
                    *sum += weight * row.iter().zip(last).map(|(&x, &w)| x * w).sum::<W>();
                }
            }
        }
        b
    }

    /// `<A_m[r], A_m[s]>` of a mode, r conjugated, at `s R + r`.
    pub fn gram(&self, factors: &[Vec<W>], m: usize) -> Vec<W> {
        let rank = self.rank_of(factors);
        let mut gram = vec![W::ZERO; rank * rank];
        let a = Factor::row_major(&factors[m], self.dims[m]);
        matmul((rank, rank, self.dims[m]), &mut gram, a, a.conj().transposed());
        gram
    }

    /// The factor of mode n, from the tensor summed over the modes outside of a half.
    fn solve_normal(&self, factors: &mut [Vec<W>], n: usize, half: (usize, usize), done: &[W]) {
        let (rank, dim) = (self.rank_of(factors), self.dims[n]);
        let b = self.sum(factors, n, half, done);
        let mut gram = vec![W::ONE; rank * rank];
        for m in (0..self.dims.len()).filter(|&m| m != n) {
            gram.iter_mut().zip(self.gram(factors, m)).for_each(|(g, own)| *g *= own);
        }
        let lengths: Vec<f64> =
            (0..rank).map(|r| gram[r * rank + r].re().max(0.0).sqrt()).collect();
        let lengths: Vec<f64> =
            lengths.into_iter().map(|l| if l > 0.0 { l } else { 1.0 }).collect();
        for r in 0..rank {
            for s in 0..rank {
                let g = gram[r * rank + s];
                gram[r * rank + s] = g.unscale(lengths[r]).unscale(lengths[s]);
            }
            gram[r * rank + r] += W::ONE.scale(RIDGE);
        }
        // The unknowns of one index are a column of the right-hand side.
        let mut columns: Vec<W> = Vec::with_capacity(rank * dim);
        for i in 0..dim {
            let pull = |r: usize| factors[n][r * dim + i].scale(RIDGE * lengths[r]);
            columns.extend((0..rank).map(|r| b[r * dim + i].unscale(lengths[r]) + pull(r)));
        }
        if !cholesky(&mut gram, rank) {
            return;
        }
        cholesky_solve(&gram, &mut columns, rank);
        if columns.iter().any(|x| !x.is_finite()) {
            return;
        }
        for (i, column) in columns.chunks_exact(rank).enumerate() {
            for (r, &a) in column.iter().enumerate() {
                factors[n][r * dim + i] = a.unscale(lengths[r]);
            }
        }
    }
}
