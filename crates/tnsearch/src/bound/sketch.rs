//! The leading singular values of a large matrix from a sketch, with what they miss.
//!
//! A randomised block range finder (Halko, Martinsson, Tropp 2011): Q spans `A Omega`, `B = Q^H A`. The singular values
//! of B are at most those of A, and `E = A - Q B` has `||E||^2 = ||A||^2 - ||B||^2`. Since
//! `A^H A = B^H B + E^H E`, the k largest squares of A sum to at most those of B and `||E||^2`: so tails are
//! bounded from both sides whatever the random numbers were.

use crate::linalg::{Factor, eigenvalues, gram, matmul, precise_singular_values};
use crate::range::Range;
use crate::tensor::{Scalar, sum_of_squares};

/// The columns of the first sketch; each further one doubles their number.
pub(super) const FIRST: usize = 16;
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
    let mut range = Range::new(a, (side, long), seed);
    loop {
        let have = range.count();
        let columns = have.max(FIRST).min(most.saturating_sub(have));
        if columns == 0 {
            return None;
        }
        let added = range.grow(a, columns);
        let count = range.count();
        let (b, missed) = (range.rows(), range.missed());
        if precise {
            let missed = outside(a, (side, long), range.columns(), b);
            let values = match count {
                0 => Vec::new(),
                _ => precise_singular_values(b, (count, long), None)?,
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
            _ => eigenvalues(&gram(b, count, long), count)?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::singular_values;
    use crate::rng;
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
        // Where squares are not enough, what rounding leaves is no answer: no further column would show it.
        let exact = falling::<f64>(60, 60, 0.0);
        assert!(sketch(&exact, (60, 60), 1, 20, true, |_| false).is_none());
    }
    /// What a basis leaves out is the same whether it is computed at once or row by row.
    fn leaves_out<T: Scalar>() {
        for (side, long, count) in [(4, 6, 2), (5, 100_000, 3), (3, STRIPE + 7, 2), (4, 6, 0)] {
            let mut rng = rng::stream(5, b"outside");
            let mut random = |n: usize| (0..n).map(|_| T::normal(&mut rng)).collect::<Vec<T>>();
            let (a, q, b) = (random(side * long), random(count * side), random(count * long));
            let entry = |k: usize| {
                let (i, j) = (k / long, k % long);
                let inside: T = (0..count).map(|c| q[c * side + i] * b[c * long + j]).sum();
                sum_of_squares(&[a[k] - inside])
            };
            let want: f64 = (0..side * long).map(entry).sum();
            let found = outside(&a, (side, long), &q, &b);
            assert!((found - want).abs() < 1e-10 * want, "{side} {long}: {found} {want}");
        }
    }

    #[test]
    fn what_is_left_out_is_the_sum_over_all_entries() {
        leaves_out::<f64>();
        leaves_out::<Complex<f64>>();
    }

    /// With as many columns as there are rows everything is known, whatever is enough.
    #[test]
    fn a_basis_of_all_rows_is_an_answer() {
        for precise in [false, true] {
            for side in [10, 16, 32] {
                let a = falling::<f64>(side, 50, 0.99);
                let found = sketch(&a, (side, 50), 1, side, precise, |_| false).unwrap();
                let values = singular_values(&a, side, 50).unwrap();
                assert_eq!(found.squares.len(), side);
                let all = sum_of_squares(&a);
                assert!(found.missed < 1e-12 * all);
                for (square, value) in found.squares.iter().zip(&values) {
                    assert!((square - value * value).abs() < 1e-12 * all, "{precise} {side}");
                }
            }
        }
    }
}
