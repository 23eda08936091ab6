//! The leading singular values of a large matrix from a sketch, with what they miss.
//!
//! A randomised block range finder (Halko, Martinsson, Tropp 2011): Q spans `A Omega`, `B = Q^H A`. The singular values
//! of B are at most those of A, and `E = A - Q B` has `||E||^2 = ||A||^2 - ||B||^2`. Since
//! `A^H A = B^H B + E^H E`, the k largest squares of A sum to at most those of B and `||E||^2`: so tails are
//! bounded from both sides whatever the random numbers were.

use crate::linalg::{Factor, eigenvalues, gram, matmul, precise_singular_values};
use crate::rng;
use crate::tensor::{Scalar, sum_of_squares};
use rand::Rng as _;

/// The columns of the first sketch; each further one doubles their number.
pub(super) const FIRST: usize = 16;
/// A column that keeps less than this of its length adds nothing to the basis.
const GONE: f64 = 1e-10;
/// Entries of the residual that are computed at a time.
const STRIPE: usize = 1 << 18;

/// What a sketch knows of a matrix.
pub(super) struct Sketch {
    /// The squares of the leading singular values, from below, falling.
    pub squares: Vec<f64>,
    /// The energy it misses.
    pub missed: f64,
}

/// Sketches a row-major `side x long` matrix, doubling the basis until `enough` says so. Ends without an answer where
/// `most` columns are not enough, or a factorisation fails. A precise one goes without squares: what it misses is that of
/// the residual, and singular values come from an SVD.
pub(super) fn sketch<T: Scalar>(
    a: &[T],
    (side, long): (usize, usize),
    seed: u64,
    most: usize,
    precise: bool,
    mut enough: impl FnMut(&Sketch) -> bool,
) -> Option<Sketch> {
    let mut rng = rng::stream(seed, b"sketch");
    let all = sum_of_squares(a);
    // The columns of Q, and the rows of B.
    let (mut q, mut b): (Vec<T>, Vec<T>) = (Vec::new(), Vec::new());
    let mut missed = all;
    loop {
        let have = q.len() / side;
        let columns = have.max(FIRST).min(most.saturating_sub(have));
        if columns == 0 {
            return None;
        }
        let signs: Vec<T> = signs(&mut rng, columns * long);
        let mut y = vec![T::ZERO; columns * side];
        let rows = Factor::row_major(a, long);
        matmul((columns, side, long), &mut y, Factor::row_major(&signs, long), rows.transposed());
        drop(signs);
        let added = orthonormal(&mut y, &q, side);
        y.truncate(added * side);
        if added > 0 {
            let start = b.len();
            b.resize(start + added * long, T::ZERO);
            let block = &mut b[start..];
            matmul((added, long, side), block, Factor::row_major(&y, side).conj(), rows);
            missed -= sum_of_squares(block);
            q.extend(y);
        }
        let count = q.len() / side;
        if precise {
            missed = outside(a, (side, long), &q, &b);
            let values = match count {
                0 => Vec::new(),
                _ => precise_singular_values(&b, (count, long), None)?,
            };
            let found = Sketch { squares: values.iter().map(|s| s * s).collect(), missed };
            match enough(&found) || count == side || missed == 0.0 {
                true => return Some(found),
                // What is left is too small for columns to show, and may still matter.
                false if added < columns => return None,
                false => continue,
            }
        }
        let squares = match count {
            0 => Vec::new(),
            _ => eigenvalues(&gram(&b, count, long), count)?,
        };
        let squares = squares.into_iter().rev().map(|v| v.max(0.0)).collect();
        let found = Sketch { squares, missed: missed.max(0.0) };
        if added < columns || count == side || enough(&found) {
            return Some(found);
        }
    }
}

/// `||A - Q B||^2`, entry by entry: a difference of squares would lose what is small in rounding.
fn outside<T: Scalar>(a: &[T], (side, long): (usize, usize), q: &[T], b: &[T]) -> f64 {
    let count = q.len() / side;
    if count == 0 {
        return sum_of_squares(a);
    }
    let step = (STRIPE / long).clamp(1, side);
    let stripe = |from: usize| {
        let rows = step.min(side - from);
        let mut z = vec![T::ZERO; rows * long];
        let q = Factor::row_major(&q[from..], side).transposed();
        matmul((rows, long, count), &mut z, q, Factor::row_major(b, long));
        z.iter_mut().zip(&a[from * long..]).for_each(|(z, a)| *z = *a - *z);
        sum_of_squares(&z)
    };
    (0..side).step_by(step).map(stripe).sum()
}

/// Random signs.
fn signs<T: Scalar>(rng: &mut rng::Rng, count: usize) -> Vec<T> {
    let mut signs = Vec::with_capacity(count);
    while signs.len() < count {
        let bits = rng.next_u64();
        let some = (0..64.min(count - signs.len())).map(|k| bits >> k & 1 == 1);
        signs.extend(some.map(|up| if up { T::ONE } else { T::ZERO - T::ONE }));
    }
    signs
}

/// Makes the columns orthonormal to a basis and to each other; those that add nothing go. How many are left, in front.
fn orthonormal<T: Scalar>(y: &mut [T], basis: &[T], side: usize) -> usize {
    let (columns, have) = (y.len() / side, basis.len() / side);
    let length = |v: &[T]| sum_of_squares(v).sqrt();
    let before: Vec<f64> = y.chunks_exact(side).map(length).collect();
    // Twice is enough.
    for _ in 0..2 {
        if have > 0 {
            let q = Factor::row_major(basis, side);
            let mut along = vec![T::ZERO; columns * have];
            let rows = Factor::row_major(y, side);
            matmul((columns, have, side), &mut along, rows, q.transposed().conj());
            let mut inside = vec![T::ZERO; columns * side];
            matmul((columns, side, have), &mut inside, Factor::row_major(&along, have), q);
            y.iter_mut().zip(inside).for_each(|(y, inside)| *y -= inside);
        }
    }
    let mut kept = 0;
    for (k, &before) in before.iter().enumerate() {
        y.copy_within(k * side..(k + 1) * side, kept * side);
        let (done, rest) = y.split_at_mut(kept * side);
        let column = &mut rest[..side];
        for _ in 0..2 {
            for u in done.chunks_exact(side) {
                let dot: T = u.iter().zip(&*column).map(|(u, c)| u.conj() * *c).sum();
                column.iter_mut().zip(u).for_each(|(c, u)| *c -= *u * dot);
            }
        }
        let left = length(column);
        if left > GONE * before {
            column.iter_mut().for_each(|c| *c = c.unscale(left));
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::singular_values;
    use crate::tensor::Complex;

    /// A matrix with singular values that fall by `fall` each, plus nothing else.
    fn falling<T: Scalar>(side: usize, long: usize, fall: f64) -> Vec<T> {
        let mut rng = rng::stream(3, b"falling");
        let terms = side.min(40);
        let mut a = vec![T::ZERO; side * long];
        for k in 0..terms {
            let u: Vec<T> = (0..side).map(|_| T::normal(&mut rng)).collect();
            let v: Vec<T> =
                (0..long).map(|_| T::normal(&mut rng).scale(fall.powi(k as i32))).collect();
            for i in 0..side {
                for j in 0..long {
                    a[i * long + j] += u[i] * v[j];
                }
            }
        }
        a
    }

    fn bounds_tails<T: Scalar>(precise: bool) {
        let (side, long) = (90, 130);
        for (fall, part) in [(0.5, 1e-3), (0.5, 1e-9), (0.9, 0.05), (0.0, 1e-12)] {
            let a = falling::<T>(side, long, fall);
            let all = sum_of_squares(&a);
            let enough = |s: &Sketch| s.missed <= part * all;
            let found = sketch(&a, (side, long), 1, 60, precise, enough).unwrap();
            let values = singular_values(&a, side, long).unwrap();
            assert!(found.missed <= part * all + 1e-13 * all);
            let rounding = 1e3 * T::KIND.epsilon() * all;
            for k in 0..=found.squares.len() {
                let tail: f64 = values[k..].iter().map(|s| s * s).sum();
                let above = all - found.squares[..k].iter().sum::<f64>();
                assert!(tail <= above + rounding, "{} {k}: {tail} {above}", T::KIND);
                assert!(tail >= above - found.missed - rounding, "{} {k}: {tail} {above}", T::KIND);
            }
        }
    }

    #[test]
    fn tails_lie_between_the_two_sides() {
        for precise in [false, true] {
            bounds_tails::<f64>(precise);
            bounds_tails::<Complex<f64>>(precise);
        }
    }

    #[test]
    fn a_precise_sketch_sees_below_the_rounding_of_squares() {
        // Squares fall to 1e-26 of the largest within 44 terms; a difference of squares sees nothing below 1e-16.
        let (side, long) = (90, 130);
        let a = falling::<f64>(side, long, 0.25);
        let all = sum_of_squares(&a);
        let values = singular_values(&a, side, long).unwrap();
        let enough = |s: &Sketch| s.missed <= 1e-22 * all;
        let found = sketch(&a, (side, long), 1, 60, true, enough).unwrap();
        assert!(found.missed <= 1e-22 * all && found.missed > 0.0);
        for k in 0..18 {
            let tail: f64 = values[k..].iter().map(|s| s * s).sum();
            let below: f64 = found.squares[k..].iter().sum();
            assert!(below <= tail * (1.0 + 1e-2) && tail <= (below + found.missed) * 1.01, "{k}");
        }
    }

    #[test]
    fn columns_become_orthonormal_and_those_that_add_nothing_go() {
        // Of any size, also tiny; the third is the sum of the first two, the fourth lies in the basis.
        for size in [1e-8, 1.0, 1e8] {
            let basis = [0.0, 0.0, 0.0, 0.0, 1.0];
            let columns = [
                [1.0, 0.0, 0.0, 0.0, 2.0],
                [1.0, 1.0, 0.0, 0.0, 3.0],
                [2.0, 1.0, 0.0, 0.0, 7.0],
                [0.0, 0.0, 0.0, 0.0, 4.0],
                [1.0, 2.0, 3.0, 0.0, 1.0],
            ];
            let mut y: Vec<f64> = columns.concat().iter().map(|v| v * size).collect();
            assert_eq!(orthonormal(&mut y, &basis, 5), 3);
            // Gram-Schmidt by hand: the first three unit vectors.
            for (k, column) in y.chunks_exact(5).take(3).enumerate() {
                for (i, v) in column.iter().enumerate() {
                    let want = if i == k { 1.0 } else { 0.0 };
                    assert!((v - want).abs() < 1e-12, "{size} {k}: {column:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_sketched_exactly() {
        for precise in [false, true] {
            let zeros = [0.0f64; 40 * 50];
            let found = sketch(&zeros, (40, 50), 1, 20, precise, |_| false).unwrap();
            assert_eq!((found.squares.len(), found.missed), (0, 0.0));
        }
    }

    #[test]
    fn what_a_sketch_cannot_reach_is_not_answered() {
        let a = falling::<f64>(60, 60, 0.99);
        let all = sum_of_squares(&a);
        for precise in [false, true] {
            assert!(sketch(&a, (60, 60), 1, 20, precise, |s| s.missed <= 1e-6 * all).is_none());
        }
        // The exact rank ends it, with nothing missed.
        let exact = falling::<f64>(60, 60, 0.0);
        let exact = sketch(&exact, (60, 60), 1, 20, false, |_| false).unwrap();
        assert!(exact.squares.len() <= 2 && exact.missed < 1e-12 * all);
    }
}
