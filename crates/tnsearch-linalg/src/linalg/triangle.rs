//! Singular values and vectors near rounding: Householder QR in blocks, and the SVD of the triangle it leaves.
//!
//! A Gram matrix squares the singular values: those below the root of an ulp of the largest drown. And the SVD of the
//! kernels begins with a QR, where one side is much longer, that takes a column for dependent on the others once
//! `16 n` ulp of its length are left. Here every reflection is made, so each singular value is off by a few ulp of the
//! largest, however long the matrix is. Long matrices are gone through in blocks: only a triangle is kept.

use super::{Factor, Strides, left_singular, matmul, singular_values};
use crate::tensor::{Scalar, sum_of_squares};

/// Reflections that are applied together.
const PANEL: usize = 32;
/// Entries of a block, about.
const BLOCK: usize = 1 << 16;

/// `L` (m x m, row-major, lower triangular) of a row-major m x n matrix `A = L Q` with orthonormal rows of Q, with 64
/// bits whatever A has: A and L have the same singular values and left singular vectors. None where `stopped` ended it.
pub fn triangle_until<T: Scalar>(
    a: &[T],
    (m, n): (usize, usize),
    stopped: Option<&dyn Fn() -> bool>,
) -> Option<Vec<T::Wide>> {
    let columns = columns_at_a_time(m).min(n);
    let mut l = Vec::new();
    for from in (0..n).step_by(columns) {
        if stopped.is_some_and(|stopped| stopped()) {
            return None;
        }
        let to = n.min(from + columns);
        let rows = (0..m).map(|i| &a[i * n + from..i * n + to]);
        l = triangle(&l, rows, to - from);
    }
    Some(l)
}

/// How many columns of m rows make a block.
pub fn columns_at_a_time(m: usize) -> usize {
    (BLOCK / m).max(2 * m)
}

/// The triangle of `[L A]`: L m x m as [`triangle_until`] gives it, or nothing; A by its m rows of this length.
pub fn triangle<'r, T: Scalar>(
    l: &[T::Wide],
    rows: impl ExactSizeIterator<Item = &'r [T]>,
    columns: usize,
) -> Vec<T::Wide> {
    let m = rows.len();
    let before = l.len() / m;
    let n = (before + columns).max(m);
    // Row-major A is column-major A^T = Q R, and R^T = L.
    let mut b = vec![T::Wide::ZERO; n * m];
    for (i, row) in rows.enumerate() {
        let column = &mut b[i * n..(i + 1) * n];
        column[..before].copy_from_slice(&l[i * before..(i + 1) * before]);
        column[before..before + columns].iter_mut().zip(row).for_each(|(b, a)| *b = a.widen());
    }
    factor(&mut b, n, m);
    let entry = |k: usize| if k % m <= k / m { b[k / m * n + k % m] } else { T::Wide::ZERO };
    (0..m * m).map(entry).collect()
}

/// The singular values, falling, and the left singular vectors (m x min(m, n), column-major) of a row-major matrix, each
/// value to a few ulp of the largest, with 64 bits whatever the matrix has. None if they did not converge, or where
/// `stopped` ended it.
pub fn precise_left_singular<T: Scalar>(
    a: &[T],
    (m, n): (usize, usize),
    stopped: Option<&dyn Fn() -> bool>,
) -> Option<(Vec<f64>, Vec<T::Wide>)> {
    if m <= n {
        return left_singular(&triangle_until(a, (m, n), stopped)?, m, m);
    }
    // A = Q R, and the vectors are Q times those of R.
    let mut b = vec![T::Wide::ZERO; m * n];
    for (k, x) in a.iter().enumerate() {
        b[k % n * m + k / n] = x.widen();
    }
    let turns = factor(&mut b, m, n);
    let entry = |k: usize| if k / n <= k % n { b[k % n * m + k / n] } else { T::Wide::ZERO };
    let r: Vec<T::Wide> = (0..n * n).map(entry).collect();
    let (values, inner) = left_singular(&r, n, n)?;
    let mut u = vec![T::Wide::ZERO; m * n];
    for (column, inner) in u.chunks_exact_mut(m).zip(inner.chunks_exact(n)) {
        column[..n].copy_from_slice(inner);
    }
    for (k, turn) in turns.iter().enumerate().rev() {
        let from = k * PANEL;
        let v = reflectors(&b, (m, n), from, (n - from).min(PANEL));
        reflect(&mut u[from..], (m, n), &v, turn, false);
    }
    Some((values, u))
}

/// The singular values alone, falling.
pub fn precise_singular_values<T: Scalar>(
    a: &[T],
    (m, n): (usize, usize),
    stopped: Option<&dyn Fn() -> bool>,
) -> Option<Vec<f64>> {
    let side = m.min(n);
    if m <= n {
        return singular_values(&triangle_until(a, (m, n), stopped)?, side, side);
    }
    let mut turned = vec![T::ZERO; a.len()];
    for (k, x) in a.iter().enumerate() {
        turned[k % n * m + k / n] = *x;
    }
    singular_values(&triangle_until(&turned, (n, m), stopped)?, side, side)
}

/// Bytes that [`precise_left_singular`] takes beside the matrix, about, its result included.
pub fn precise_bytes<T: Scalar>(m: usize, n: usize) -> f64 {
    let side = m.min(n);
    let own = if m <= n { 3 * m * (m + columns_at_a_time(m).min(n)) } else { 4 * m * n };
    super::left_singular_bytes::<T::Wide>(side, side)
        + T::Wide::KIND.bytes() as f64 * (own + 2 * side * side) as f64
}

/// Householder QR of a column-major n x m matrix with n >= m, in place: R in and above the diagonal, the reflectors
/// `I - tau v v^H` below it, each v with a 1 that is not stored. For each panel of reflectors its `T` (row-major), their
/// product `I - V T V^H`.
fn factor<T: Scalar>(b: &mut [T], n: usize, m: usize) -> Vec<Vec<T>> {
    let mut turns = Vec::with_capacity(m.div_ceil(PANEL));
    for from in (0..m).step_by(PANEL) {
        let width = (m - from).min(PANEL);
        let taus: Vec<T> = (from..from + width)
            .map(|j| {
                let (done, rest) = b.split_at_mut((j + 1) * n);
                let column = &mut done[j * n + j..];
                let tau = reflector(column);
                for other in rest[..(from + width - j - 1) * n].chunks_exact_mut(n) {
                    apply(column, tau.conj(), &mut other[j..]);
                }
                tau
            })
            .collect();
        let v = reflectors(b, (n, m), from, width);
        let turn = product_of(&v, &taus);
        if from + width < m {
            let rest = (n, m - from - width);
            reflect(&mut b[(from + width) * n + from..], rest, &v, &turn, true);
        }
        turns.push(turn);
    }
    turns
}

/// Makes a column its own reflector: `(I - tau v v^H)^H x = beta e_1`, beta in the first place, v after it; gives tau.
fn reflector<T: Scalar>(x: &mut [T]) -> T {
    let alpha = x[0];
    let rest = sum_of_squares(&x[1..]);
    let norm = (alpha.abs_squared() + rest).sqrt();
    if (rest == 0.0 && alpha.im() == 0.0) || norm < 1e-150 {
        return T::ZERO;
    }
    let beta = if alpha.re() > 0.0 { -norm } else { norm };
    let first = alpha - T::from_parts(beta, 0.0);
    let by = first.conj().unscale(first.abs_squared());
    x[1..].iter_mut().for_each(|x| *x *= by);
    x[0] = T::from_parts(beta, 0.0);
    (T::from_parts(beta, 0.0) - alpha).unscale(beta)
}

/// `(I - tau v v^H) x` for a reflector as [`reflector`] leaves it.
fn apply<T: Scalar>(v: &[T], tau: T, x: &mut [T]) {
    let (head, tail) = x.split_at_mut(1);
    let dot: T = head[0] + v[1..].iter().zip(&*tail).map(|(v, x)| v.conj() * *x).sum::<T>();
    let by = tau * dot;
    head[0] -= by;
    tail.iter_mut().zip(&v[1..]).for_each(|(x, v)| *x -= by * *v);
}

/// The reflectors of a panel, one after the other, from the row of the first one on.
fn reflectors<T: Scalar>(b: &[T], (n, _): (usize, usize), from: usize, width: usize) -> Vec<T> {
    let long = n - from;
    let mut v = vec![T::ZERO; width * long];
    for (k, v) in v.chunks_exact_mut(long).enumerate() {
        v[k] = T::ONE;
        v[k + 1..].copy_from_slice(&b[(from + k) * n + from + k + 1..(from + k + 1) * n]);
    }
    v
}

/// The upper triangular `T` with `I - V T V^H` the product of the reflectors.
fn product_of<T: Scalar>(v: &[T], taus: &[T]) -> Vec<T> {
    let width = taus.len();
    let long = v.len() / width;
    let mut turn = vec![T::ZERO; width * width];
    for (i, &tau) in taus.iter().enumerate() {
        let own = &v[i * long..(i + 1) * long];
        let dots: Vec<T> = v[..i * long]
            .chunks_exact(long)
            .map(|v| v[i..].iter().zip(&own[i..]).map(|(v, x)| v.conj() * *x).sum())
            .collect();
        for row in 0..i {
            let sum: T = (row..i).map(|k| turn[row * width + k] * dots[k]).sum();
            turn[row * width + i] = -tau * sum;
        }
        turn[i * width + i] = tau;
    }
    turn
}

/// The product of a panel's reflectors, or its adjoint, on columns that lie `stride` apart and begin where V does.
fn reflect<T: Scalar>(
    c: &mut [T],
    (stride, columns): (usize, usize),
    v: &[T],
    turn: &[T],
    adjoint: bool,
) {
    let width = (turn.len() as f64).sqrt() as usize;
    let long = v.len() / width;
    let rows = Factor::row_major(v, long);
    // All transposed: the columns of C are rows that lie one after the other.
    let mut dots = vec![T::ZERO; columns * width];
    let entries = Factor::new(&*c, Strides { rows: stride, cols: 1 });
    matmul((columns, width, long), &mut dots, entries, rows.transposed().conj());
    let turn = Factor::row_major(turn, width);
    // (T^H W)^T = W^T conj(T), and (T W)^T = W^T T^T.
    let turn = if adjoint { turn.conj() } else { turn.transposed() };
    let mut along = vec![T::ZERO; columns * width];
    matmul((columns, width, width), &mut along, Factor::row_major(&dots, width), turn);
    let mut change = vec![T::ZERO; columns * long];
    matmul((columns, long, width), &mut change, Factor::row_major(&along, width), rows);
    for (k, change) in change.chunks_exact(long).enumerate() {
        let column = &mut c[k * stride..k * stride + long];
        column.iter_mut().zip(change).for_each(|(c, d)| *c -= *d);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::Complex;

    /// A matrix with singular values that fall from 1 to 1e-18, and their exact values as far as rounding lets them be.
    fn falling<T: Scalar>(m: usize, n: usize) -> (Vec<T>, Vec<f64>) {
        let mut rng = stream((m * n) as u64, b"triangle");
        let side = m.min(n);
        let mut side_of = |len: usize| {
            let a: Vec<T> = (0..len * side).map(|_| T::normal(&mut rng)).collect();
            // Column-major len x side with orthonormal columns.
            left_singular(&a, len, side).unwrap().1
        };
        let (u, v) = (side_of(m), side_of(n));
        let values: Vec<f64> =
            (0..side).map(|k| 10f64.powf(-18.0 * k as f64 / side as f64)).collect();
        let mut a = vec![T::ZERO; m * n];
        for (k, s) in values.iter().enumerate() {
            for i in 0..m {
                for j in 0..n {
                    a[i * n + j] += (u[k * m + i] * v[k * n + j].conj()).scale(*s);
                }
            }
        }
        (a, values)
    }

    /// `||A - U U^H A||` for the first columns of U.
    fn left<T: Scalar>(a: &[T], (m, n): (usize, usize), u: &[T], rank: usize) -> f64 {
        let mut rest = a.to_vec();
        for u in u.chunks_exact(m).take(rank) {
            for j in 0..n {
                let dot: T = (0..m).map(|i| u[i].conj() * rest[i * n + j]).sum();
                (0..m).for_each(|i| rest[i * n + j] -= u[i] * dot);
            }
        }
        sum_of_squares(&rest).sqrt()
    }

    fn sees_down_to_rounding<T: Scalar<Wide = T>>() {
        for (m, n) in [(1, 1), (1, 9), (9, 1), (12, 700), (40, 41), (41, 40), (70, 3000), (900, 37)]
        {
            let (a, values) = falling::<T>(m, n);
            let (found, u) = precise_left_singular(&a, (m, n), None).unwrap();
            let alone = precise_singular_values(&a, (m, n), None).unwrap();
            for k in 0..values.len() {
                assert!((found[k] - values[k]).abs() < 1e-14, "{m}x{n} {k}: {}", found[k]);
                assert!((alone[k] - values[k]).abs() < 1e-14, "{m}x{n} {k}: {}", alone[k]);
                let tail = values[k + 1..].iter().map(|s| s * s).sum::<f64>().sqrt();
                let lost = left(&a, (m, n), &u, k + 1);
                assert!((lost - tail).abs() < 1e-14, "{} {m}x{n} {k}: {lost} {tail}", T::KIND);
            }
            for (i, u_i) in u.chunks_exact(m).enumerate() {
                for (j, u_j) in u.chunks_exact(m).enumerate() {
                    let dot: T = u_i.iter().zip(u_j).map(|(a, b)| a.conj() * *b).sum();
                    let off = (dot - T::from_parts(f64::from(i == j), 0.0)).abs();
                    assert!(off < 1e-13, "{m}x{n} {i} {j}");
                }
            }
        }
    }

    #[test]
    fn values_and_vectors_are_right_to_a_few_ulp_of_the_largest() {
        sees_down_to_rounding::<f64>();
        sees_down_to_rounding::<Complex<f64>>();
    }

    fn blocks<T: Scalar>() {
        // More columns than a block has, and zeros, and a matrix of rank 1.
        let mut rng = stream(1, b"blocks");
        let (m, n) = (5, 3 * columns_at_a_time(5) + 7);
        let a: Vec<T> = (0..m * n).map(|_| T::normal(&mut rng)).collect();
        for a in [a.clone(), vec![T::ZERO; m * n], vec![a[0]; m * n]] {
            let l = triangle_until(&a, (m, n), None).unwrap();
            let all = sum_of_squares(&a);
            for (i, j) in (0..m).flat_map(|i| (0..m).map(move |j| (i, j))) {
                let product = |row: usize, other: usize| -> T::Wide {
                    (0..n).map(|k| a[row * n + k].widen() * a[other * n + k].widen().conj()).sum()
                };
                let of_l: T::Wide = (0..m).map(|k| l[i * m + k] * l[j * m + k].conj()).sum();
                // The sum of so many products rounds, too.
                let rounding = 2.0 * f64::EPSILON * n as f64 * all;
                assert!((product(i, j) - of_l).abs() <= rounding, "{} {i} {j}", T::KIND);
                assert!(j <= i || l[i * m + j].abs() == 0.0);
            }
        }
        assert!(triangle_until(&a, (m, n), Some(&|| true)).is_none());
    }

    #[test]
    fn blocks_make_the_triangle_of_the_whole_in_every_kind() {
        blocks::<f32>();
        blocks::<f64>();
        blocks::<Complex<f32>>();
        blocks::<Complex<f64>>();
    }
}
