//! The least-squares solve of one core: a small positive definite system with several right-hand sides.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::{MatMut, MatRef, Par};

/// Systems up to this size are factored by a plain loop, larger ones by faer.
const PLAIN: usize = 20;
/// The least regularisation, relative to the mean diagonal entry.
const FLOOR: f64 = 1e-13;

/// Solves `(H + d I) g = t + d g_old`, with `d` a small fraction of H's mean diagonal entry: the pull
/// towards the old core keeps singular systems solvable and leaves every fixed point where it is.
pub(super) struct Solver {
    factor: Vec<f64>,
    stack: MemBuffer,
}

impl Solver {
    /// Room for systems up to `width` unknowns and `columns` right-hand sides.
    pub fn new(width: usize, columns: usize) -> Self {
        let factor =
            llt::factor::cholesky_in_place_scratch::<f64>(width, Par::Seq, Default::default());
        let solve = llt::solve::solve_in_place_scratch::<f64>(width, columns, Par::Seq);
        Solver { factor: vec![0.0; width * width], stack: MemBuffer::new(factor.or(solve)) }
    }

    /// Overwrites `g` (the old core; columns of `n` entries) with the new one.
    pub fn solve(&mut self, gram: &[f64], rhs: &[f64], g: &mut [f64], n: usize, damping: f64) {
        let mean = (0..n).map(|i| gram[i * n + i]).sum::<f64>() / n as f64;
        if !(mean > 0.0 && mean.is_finite()) {
            return; // The environment is zero (or has overflowed): no core is better than another.
        }
        let mut shift = mean * damping.max(FLOOR);
        for _ in 0..8 {
            let factor = &mut self.factor[..n * n];
            factor.copy_from_slice(gram);
            for i in 0..n {
                factor[i * n + i] += shift;
            }
            if !factorise(factor, n, &mut self.stack) {
                shift *= 100.0;
                continue;
            }
            for (g, t) in g.iter_mut().zip(rhs) {
                *g = t + shift * *g;
            }
            substitute(factor, g, n, &mut self.stack);
            return;
        }
    }
}

/// Cholesky in place (lower triangle, column-major); false if H is not positive definite.
fn factorise(a: &mut [f64], n: usize, stack: &mut MemBuffer) -> bool {
    if n > PLAIN {
        let matrix = MatMut::from_column_major_slice_mut(a, n, n);
        let stack = MemStack::new(stack);
        return llt::factor::cholesky_in_place(
            matrix,
            Default::default(),
            Par::Seq,
            stack,
            Default::default(),
        )
        .is_ok();
    }
    for k in 0..n {
        let pivot = a[k * n + k];
        if !(pivot > 0.0) {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        let (done, rest) = a.split_at_mut((k + 1) * n);
        let column = &mut done[k * n + k..];
        column.iter_mut().for_each(|x| *x *= inverse);
        for j in k + 1..n {
            let factor = column[j - k];
            let target = &mut rest[(j - k - 1) * n + j..(j - k) * n];
            for (t, c) in target.iter_mut().zip(&column[j - k..]) {
                *t -= factor * c;
            }
        }
    }
    true
}

/// Solves `L L^T x = b` for every column of `b`.
fn substitute(l: &[f64], b: &mut [f64], n: usize, stack: &mut MemBuffer) {
    if n > PLAIN {
        let columns = b.len() / n;
        let factor = MatRef::from_column_major_slice(l, n, n);
        let b = MatMut::from_column_major_slice_mut(b, n, columns);
        llt::solve::solve_in_place(factor, b, Par::Seq, MemStack::new(stack));
        return;
    }
    for x in b.chunks_exact_mut(n) {
        for k in 0..n {
            let column = &l[k * n + k..(k + 1) * n];
            let (head, tail) = x[k..].split_at_mut(1);
            head[0] /= column[0];
            for (t, c) in tail.iter_mut().zip(&column[1..]) {
                *t -= head[0] * c;
            }
        }
        for k in (0..n).rev() {
            let column = &l[k * n + k..(k + 1) * n];
            let (head, tail) = x[k..].split_at_mut(1);
            let dot: f64 = tail.iter().zip(&column[1..]).map(|(t, c)| t * c).sum();
            head[0] = (head[0] - dot) / column[0];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn solves_to_rounding_at_every_size() {
        for n in [1, 2, 5, 9, 20, 21, 36, 70] {
            let mut rng = stream(n as u64, b"solve");
            let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
            let a: Vec<f64> = (0..n * n).map(|_| normal()).collect();
            let gram: Vec<f64> = (0..n * n)
                .map(|p| (0..n).map(|k| a[(p / n) * n + k] * a[(p % n) * n + k]).sum::<f64>())
                .enumerate()
                .map(|(p, v)| if p / n == p % n { v + n as f64 } else { v })
                .collect();
            let want: Vec<f64> = (0..3 * n).map(|_| normal()).collect();
            let rhs: Vec<f64> = (0..3 * n)
                .map(|p| (0..n).map(|k| gram[(p % n) * n + k] * want[(p / n) * n + k]).sum())
                .collect();
            let mut g = vec![0.0; 3 * n];
            Solver::new(n, 3).solve(&gram, &rhs, &mut g, n, 0.0);
            for (g, w) in g.iter().zip(&want) {
                assert!((g - w).abs() < 1e-9, "{n}: {g} {w}");
            }
        }
    }

    #[test]
    fn singular_systems_keep_a_solution_that_is_there() {
        // H = diag(1, 0): the second entry is free and stays where it was.
        let mut g = vec![5.0, 7.0];
        Solver::new(2, 1).solve(&[1.0, 0.0, 0.0, 0.0], &[3.0, 0.0], &mut g, 2, 0.0);
        assert!((g[0] - 3.0).abs() < 1e-9 && (g[1] - 7.0).abs() < 1e-9, "{g:?}");
    }
}
