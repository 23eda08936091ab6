//! Steps of all factors at once: Levenberg-Marquardt. Sweeps creep where terms lean on each other; these steps do not.
//!
//! The derivative of Z by entry i of term r of mode n is `e_i` in the place of that vector, times the term's other vectors.
//! So the Gram matrix H of all derivatives comes from R x R matrices alone, `G_k[r, s] = <A_k[r], A_k[s]>`:
//!
//! - `H[(n, r, i), (n, s, j)] = [i = j] W[r, s]`, W the product of all `G_k` but that of n,
//! - `H[(n, r, i), (m, s, j)] = W[r, s] A_n[s, i] conj(A_m[r, j])`, W the product of all but those of n and m.
//!
//! A step is `(H + mu) y = J^H (X - Z)`, with every unknown in units of the length of its derivative. H has rounding errors
//! of the squares, but the right-hand side is made of the residual itself, so that a step corrects what the ones before it
//! left: errors of 1e-14 are reached, as by a triangle of J (measured: docs/fitting.md), for far fewer operations.

use super::sweep::Problem;
use crate::linalg::{cholesky, cholesky_solve};
use crate::problem::Stop;
use crate::tensor::{Scalar, sum_of_squares};

/// Operations of one step at most, and of all steps of a start.
const STEP: f64 = 5e8;
const WORK: f64 = 1e10;
/// The most steps of a start.
const STEPS: usize = 100;
/// The first damping, the least, and the one at which nothing can be gained.
const FIRST: f64 = 1e-3;
const LEAST: f64 = 1e-15;
const MOST: f64 = 1e8;
/// Derivatives shorter than this part of the longest count as so long.
const SHORT: f64 = 1e-3;

/// The unknowns of so many terms.
fn unknowns(dims: &[usize], rank: usize) -> f64 {
    rank as f64 * dims.iter().map(|&d| d as f64).sum::<f64>()
}

/// How many steps a start can make; none where one of them would take too long.
pub(super) fn steps(dims: &[usize], rank: usize) -> usize {
    let entries: f64 = dims.iter().map(|&d| d as f64).product();
    let unknowns = unknowns(dims, rank);
    let flops = unknowns.powi(3) / 3.0 + 4.0 * unknowns.powi(2) + 8.0 * rank as f64 * entries;
    if flops <= STEP { ((WORK / flops) as usize).min(STEPS) } else { 0 }
}

/// Numbers that steps hold at a time: H and its factor, G of all modes, two residuals.
pub(super) fn numbers(dims: &[usize], rank: usize) -> f64 {
    let entries: f64 = dims.iter().map(|&d| d as f64).product();
    let grams = (dims.len() as f64 + 1.0) * (rank as f64).powi(2);
    match steps(dims, rank) {
        0 => 0.0,
        _ => 2.0 * unknowns(dims, rank) * (unknowns(dims, rank) + 4.0) + grams + 2.0 * entries,
    }
}

/// `(H + mu) y = b`, every unknown in units of the length of its derivative.
struct Equations<W> {
    /// The lower triangle of H, column-major.
    gram: Vec<W>,
    right: Vec<W>,
    lengths: Vec<f64>,
}

impl<W: Scalar<Wide = W>> Equations<W> {
    /// y in units of the unknowns, and by how much the squared residual falls where Z is as flat as it seems; none where
    /// rounding lets nothing be solved.
    fn step(&self, damping: f64, room: &mut Vec<W>) -> Option<(Vec<W>, f64)> {
        let unknowns = self.right.len();
        room.clone_from(&self.gram);
        for k in 0..unknowns {
            room[k * unknowns + k] += W::ONE.scale(damping);
        }
        if !cholesky(room, unknowns) {
            return None;
        }
        let mut y = self.right.clone();
        cholesky_solve(room, &mut y, unknowns);
        let falls = |(y, b): (&W, &W)| (y.conj() * (*b + y.scale(damping))).re();
        let fall: f64 = y.iter().zip(&self.right).map(falls).sum();
        y.iter_mut().zip(&self.lengths).for_each(|(y, &length)| *y = y.unscale(length));
        (fall > 0.0 && y.iter().all(|x| x.is_finite())).then_some((y, fall))
    }
}

impl<W: Scalar<Wide = W>> Problem<W> {
    /// Steps until `ends` says so, the limit is set or nothing is gained. The error, by `relative` from the squared
    /// residual, and the steps made. Factors never become worse.
    pub fn newton(
        &self,
        factors: &mut Vec<Vec<W>>,
        max_steps: usize,
        relative: &dyn Fn(f64) -> f64,
        ends: &mut dyn FnMut(f64) -> bool,
        limit: &Stop,
    ) -> (f64, usize) {
        self.balance(factors);
        let mut left = self.left_by(factors);
        let mut least = sum_of_squares(&left);
        let (mut damping, mut more, mut made) = (FIRST, 2.0, 0);
        let (mut equations, mut room) = (None, Vec::new());
        while made < max_steps && damping <= MOST && !limit.is_set() {
            if equations.is_none() {
                equations = self.equations(factors, &left, limit);
            }
            let Some(known) = &equations else { break };
            made += 1;
            let tried = known.step(damping, &mut room).map(|(y, fall)| {
                let near = self.moved(factors, &y);
                let left = self.left_by(&near);
                (sum_of_squares(&left), fall, near, left)
            });
            match tried {
                Some((now, fall, near, rest)) if now < least => {
                    let gain = (least - now) / fall;
                    damping *= (1.0 - (2.0 * gain - 1.0).powi(3)).max(0.1);
                    (damping, more) = (damping.max(LEAST), 2.0);
                    (*factors, left, least, equations) = (near, rest, now, None);
                }
                _ => (damping, more) = (damping * more, more * 2.0),
            }
            if ends(relative(least)) {
                break;
            }
        }
        (relative(least), made)
    }

    /// Factors a step further, their terms balanced.
    fn moved(&self, factors: &[Vec<W>], step: &[W]) -> Vec<Vec<W>> {
        let (mut near, mut step) = (factors.to_vec(), step.iter());
        for x in near.iter_mut().flatten() {
            *x += step.next().copied().unwrap_or(W::ZERO);
        }
        self.balance(&mut near);
        near
    }

    /// The equations of a step from factors that leave this of X; none where the limit ended it.
    fn equations(&self, factors: &[Vec<W>], left: &[W], limit: &Stop) -> Option<Equations<W>> {
        let (rank, order) = (self.rank_of(factors), self.dims.len());
        let mut right = self.sums(factors, left, limit)?.concat();
        let unknowns = right.len();
        let grams: Vec<Vec<W>> = (0..order).map(|m| self.gram(factors, m)).collect();
        let mut gram = vec![W::ZERO; unknowns * unknowns];
        let mut column = 0;
        for m in 0..order {
            let mut row = column;
            for n in m..order {
                if limit.is_set() {
                    return None;
                }
                let mut weights = vec![W::ONE; rank * rank];
                for (_, own) in grams.iter().enumerate().filter(|(k, _)| *k != n && *k != m) {
                    weights.iter_mut().zip(own).for_each(|(w, g)| *w *= *g);
                }
                let block = &mut gram[column * unknowns + row..];
                self.block(factors, (n, m), &weights, block, unknowns);
                row += rank * self.dims[n];
            }
            column += rank * self.dims[m];
        }
        let longest = |k: usize| gram[k * unknowns + k].re().max(0.0).sqrt();
        let mut lengths: Vec<f64> = (0..unknowns).map(longest).collect();
        let least = SHORT * lengths.iter().copied().fold(0.0, f64::max);
        if least <= 0.0 || !least.is_finite() {
            return None;
        }
        lengths.iter_mut().for_each(|length| *length = length.max(least));
        for (column, by) in gram.chunks_exact_mut(unknowns).zip(&lengths) {
            column.iter_mut().zip(&lengths).for_each(|(g, own)| *g = g.unscale(own * by));
        }
        right.iter_mut().zip(&lengths).for_each(|(b, &length)| *b = b.unscale(length));
        Some(Equations { gram, right, lengths })
    }

    /// The block of H of modes n (rows) and m (columns), columns one after the other, `stride` apart.
    fn block(
        &self,
        factors: &[Vec<W>],
        (n, m): (usize, usize),
        weights: &[W],
        block: &mut [W],
        stride: usize,
    ) {
        let (high, wide) = (self.dims[n], self.dims[m]);
        let rank = self.rank_of(factors);
        for s in 0..rank {
            let own = &factors[n][s * high..(s + 1) * high];
            for j in 0..wide {
                let column = &mut block[(s * wide + j) * stride..][..rank * high];
                for (r, part) in column.chunks_exact_mut(high).enumerate() {
                    let weight = weights[s * rank + r];
                    if n == m {
                        part[j] = weight;
                        continue;
                    }
                    let weight = weight * factors[m][r * wide + j].conj();
                    part.iter_mut().zip(own).for_each(|(h, &a)| *h = weight * a);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::cp::dense;
    use crate::rng::stream;
    use crate::tensor::{Complex, Tensor};

    /// H and the right-hand side against derivatives entry by entry.
    fn equations_are_those_of_derivatives<W: Scalar<Wide = W>>() {
        let mut rng = stream(3, b"newton");
        for (dims, rank) in [(vec![3, 2, 4], 2), (vec![2, 3, 1, 2], 3), (vec![4, 3], 2)] {
            let mut random = |len: usize| (0..len).map(|_| W::normal(&mut rng)).collect::<Vec<W>>();
            let x = Tensor::new(dims.clone(), random(dims.iter().product())).unwrap();
            let factors: Vec<Vec<W>> = dims.iter().map(|&d| random(rank * d)).collect();
            let problem = Problem::new(&x, rank, 0.0);
            let left = problem.left_by(&factors);
            let made = problem.equations(&factors, &left, &Stop::new()).unwrap();
            // Z is linear in each entry of a factor.
            let all = |f: &[Vec<W>]| -> Vec<W> {
                dense(&f.iter().map(|f| &f[..]).collect::<Vec<_>>(), &dims, rank)
            };
            let z = all(&factors);
            let mut derivatives = Vec::new();
            for n in 0..dims.len() {
                for k in 0..factors[n].len() {
                    let mut near = factors.clone();
                    near[n][k] += W::ONE;
                    let d = all(&near).into_iter().zip(&z).map(|(a, b)| a - *b);
                    derivatives.push(d.collect::<Vec<W>>());
                }
            }
            let dot = |a: &[W], b: &[W]| -> W { a.iter().zip(b).map(|(a, b)| a.conj() * *b).sum() };
            let unknowns = derivatives.len();
            for (q, b) in derivatives.iter().enumerate() {
                let (by, right) = (made.lengths[q], made.right[q]);
                assert!((right.scale(by) - dot(b, &left)).abs() < 1e-10, "{dims:?} {q}");
                for (p, a) in derivatives.iter().enumerate().skip(q) {
                    let h = made.gram[q * unknowns + p].scale(by * made.lengths[p]);
                    assert!((h - dot(a, b)).abs() < 1e-10, "{dims:?} {p} {q}");
                }
            }
        }
    }

    #[test]
    fn equations_come_from_small_matrices() {
        equations_are_those_of_derivatives::<f64>();
        equations_are_those_of_derivatives::<Complex<f64>>();
    }

    #[test]
    fn steps_end_at_a_stop_and_where_there_is_nothing_to_gain() {
        let x = Tensor::new(vec![2, 2, 2], vec![0.0; 8]).unwrap();
        let problem = Problem::new(&x, 2, 0.0);
        let stopped = Stop::new();
        stopped.set();
        for stop in [stopped, Stop::new()] {
            for begin in [0.0, 1.0] {
                let mut factors = vec![vec![begin; 4]; 3];
                let (rse, _) = problem.newton(&mut factors, 50, &|r| r, &mut |_| false, &stop);
                assert!(rse.is_finite() && factors.iter().flatten().all(|x| x.is_finite()));
            }
        }
    }
}
