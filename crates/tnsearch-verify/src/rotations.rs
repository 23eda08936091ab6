//! Singular values of a real matrix, written here and nowhere else: Householder reflections, then one-sided Jacobi
//! rotations; for large matrices the Gram matrix, made tridiagonal, and QL steps.

use crate::sums::{dot, squares};
use crate::{Limits, Unchecked};

/// Rotations end after so many sweeps; ten are usual.
const SWEEPS: usize = 60;

/// The squared singular values of a matrix given by its rows, falling. There must be no more rows than columns.
pub(crate) fn by_rotations(
    rows: Vec<Vec<f64>>,
    limits: &Limits<'_>,
) -> Result<Vec<f64>, Unchecked> {
    let v = rotated(triangle(rows, limits)?, SWEEPS, limits)?;
    let mut values: Vec<f64> = v.iter().map(|row| squares(row)).collect();
    values.sort_unstable_by(|a, b| b.total_cmp(a));
    Ok(values)
}

/// Rows turned by rotations until each is at right angles to every other.
fn rotated(
    mut v: Vec<Vec<f64>>,
    sweeps: usize,
    limits: &Limits<'_>,
) -> Result<Vec<Vec<f64>>, Unchecked> {
    let n = v.len();
    let all: f64 = v.iter().map(|row| squares(row)).sum();
    for _ in 0..sweeps {
        let mut turned = false;
        for p in 0..n {
            limits.poll()?;
            for q in p + 1..n {
                let (a, b, c) = (squares(&v[p]), squares(&v[q]), dot(&v[p], &v[q]));
                // What is nothing beside the whole needs no direction of its own.
                if c.abs() <= 1e-15 * (a * b).sqrt() || a.min(b) <= 1e-38 * all {
                    continue;
                }
                turned = true;
                let zeta = (b - a) / (2.0 * c);
                let t = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
                let cos = 1.0 / t.hypot(1.0);
                let sin = cos * t;
                let (first, second) = v.split_at_mut(q);
                for (x, y) in first[p].iter_mut().zip(&mut second[0]) {
                    (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
                }
            }
        }
        if !turned {
            return Ok(v);
        }
    }
    Err(Unchecked::Unsettled)
}

/// A square matrix with the singular values of another: its triangle after Householder reflections.
fn triangle(mut a: Vec<Vec<f64>>, limits: &Limits<'_>) -> Result<Vec<Vec<f64>>, Unchecked> {
    let n = a.len();
    for k in 0..n {
        limits.poll()?;
        let (done, rest) = a.split_at_mut(k + 1);
        let head = &mut done[k];
        let norm = squares(&head[k..]).sqrt();
        if norm == 0.0 {
            continue;
        }
        let diagonal = if head[k] > 0.0 { -norm } else { norm };
        let mut mirror = head[k..].to_vec();
        mirror[0] -= diagonal;
        let length = squares(&mirror);
        head[k..].fill(0.0);
        head[k] = diagonal;
        for row in rest {
            let by = 2.0 * dot(&row[k..], &mirror) / length;
            row[k..].iter_mut().zip(&mirror).for_each(|(x, m)| *x -= by * m);
        }
    }
    // Row i of the matrix is now that of a lower triangle; its columns converge faster.
    Ok((0..n).map(|k| (0..n).map(|i| if i >= k { a[i][k] } else { 0.0 }).collect()).collect())
}

/// The same from the matrix of inner products: each is known to about a part in 10^15 of the sum of all.
pub(crate) fn by_products(rows: &[Vec<f64>], limits: &Limits<'_>) -> Result<Vec<f64>, Unchecked> {
    let n = rows.len();
    let mut a = vec![vec![0.0; n]; n];
    for i in 0..n {
        limits.poll()?;
        for j in 0..=i {
            a[i][j] = dot(&rows[i], &rows[j]);
        }
    }
    let (mut diagonal, mut beside) = tridiagonal(a, limits)?;
    turn(&mut diagonal, &mut beside, SWEEPS, limits)?;
    diagonal.iter_mut().for_each(|x| *x = x.max(0.0));
    diagonal.sort_unstable_by(|a, b| b.total_cmp(a));
    Ok(diagonal)
}

/// A symmetric matrix (its lower half) by reflections as a diagonal and what stands beside it: entry k beside k - 1.
fn tridiagonal(
    mut a: Vec<Vec<f64>>,
    limits: &Limits<'_>,
) -> Result<(Vec<f64>, Vec<f64>), Unchecked> {
    let n = a.len();
    let mut beside = vec![0.0; n];
    for k in (1..n).rev() {
        limits.poll()?;
        // The last row of what is left, up to its diagonal.
        let mut mirror = a[k][..k].to_vec();
        let norm = squares(&mirror).sqrt();
        if norm == 0.0 {
            continue;
        }
        let target = if mirror[k - 1] > 0.0 { -norm } else { norm };
        beside[k] = target;
        mirror[k - 1] -= target;
        let length = squares(&mirror);
        if length == 0.0 {
            continue;
        }
        // A -> H A H with H = 1 - 2 m m' / |m|^2.
        let mut p = vec![0.0; k];
        for i in 0..k {
            p[i] += dot(&a[i][..i], &mirror[..i]) + a[i][i] * mirror[i];
            for j in 0..i {
                p[j] += a[i][j] * mirror[i];
            }
        }
        p.iter_mut().for_each(|x| *x *= 2.0 / length);
        let by = dot(&p, &mirror) / length;
        let q: Vec<f64> = p.iter().zip(&mirror).map(|(p, m)| p - by * m).collect();
        for i in 0..k {
            for j in 0..=i {
                a[i][j] -= mirror[i] * q[j] + q[i] * mirror[j];
            }
        }
    }
    Ok(((0..n).map(|k| a[k][k]).collect(), beside))
}

/// The eigenvalues of a tridiagonal matrix by implicit QL steps, on its diagonal.
fn turn(
    d: &mut [f64],
    beside: &mut [f64],
    steps: usize,
    limits: &Limits<'_>,
) -> Result<(), Unchecked> {
    let n = d.len();
    // Entry k beside k + 1 from here on.
    beside.rotate_left(1.min(n));
    let e = beside;
    for l in 0..n {
        let mut left = steps;
        loop {
            limits.poll()?;
            let small = |m: &usize| e[*m].abs() <= f64::EPSILON * (d[*m].abs() + d[*m + 1].abs());
            let m = (l..n - 1).find(small).unwrap_or(n - 1);
            if m == l {
                break;
            }
            left = left.checked_sub(1).ok_or(Unchecked::Unsettled)?;
            let g = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let mut g = d[m] - d[l] + e[l] / (g + g.hypot(1.0).copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut broken = false;
            for i in (l..m).rev() {
                let (f, b) = (s * e[i], c * e[i]);
                let r = f.hypot(g);
                e[i + 1] = r;
                if r == 0.0 {
                    d[i + 1] -= p;
                    e[m] = 0.0;
                    broken = true;
                    break;
                }
                s = f / r;
                c = g / r;
                let h = d[i + 1] - p;
                let t = (d[i] - h) * s + 2.0 * c * b;
                p = s * t;
                d[i + 1] = h + p;
                g = c * t - b;
            }
            if !broken {
                d[l] -= p;
                e[l] = g;
                e[m] = 0.0;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits<'static> {
        Limits { bytes: u64::MAX, stop: &|| false }
    }

    /// Numbers that look random.
    fn numbers(seed: u64, n: usize) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        std::iter::repeat_with(next).take(n).collect()
    }

    /// `sum_k s_k u_k v_k'` with orthonormal u and v, by Gram-Schmidt.
    fn made(rows: usize, columns: usize, values: &[f64]) -> Vec<Vec<f64>> {
        let orthonormal = |seed: u64, length: usize| {
            let mut found: Vec<Vec<f64>> = Vec::new();
            for k in 0..values.len() {
                let mut v = numbers(seed + k as u64, length);
                for _ in 0..2 {
                    for u in &found {
                        let by = dot(u, &v);
                        v.iter_mut().zip(u).for_each(|(x, y)| *x -= by * y);
                    }
                }
                let norm = squares(&v).sqrt();
                found.push(v.iter().map(|x| x / norm).collect());
            }
            found
        };
        let (u, v) = (orthonormal(3, rows), orthonormal(1000, columns));
        let entry = |i: usize, j: usize| {
            (0..values.len()).map(|k| values[k] * u[k][i] * v[k][j]).sum::<f64>()
        };
        (0..rows).map(|i| (0..columns).map(|j| entry(i, j)).collect()).collect()
    }

    #[test]
    fn values_that_were_put_in_come_out() {
        let values = [3.0, 2.0, 2.0, 0.5, 1e-4, 1e-9];
        for (rows, columns) in [(6, 6), (6, 40), (9, 11)] {
            let a = made(rows, columns, &values);
            let found = by_rotations(a.clone(), &limits()).unwrap();
            for (k, s) in found.iter().enumerate() {
                let expected: f64 = values.get(k).copied().unwrap_or(0.0);
                assert!((s.sqrt() - expected).abs() < 2e-15, "{k}: {} {expected}", s.sqrt());
            }
            let found = by_products(&a, &limits()).unwrap();
            for (k, s) in found.iter().enumerate() {
                let expected: f64 = values.get(k).copied().unwrap_or(0.0);
                assert!((s - expected * expected).abs() < 2e-14, "{k}: {s} {expected}");
            }
        }
    }

    #[test]
    fn both_ways_agree_on_noise_and_on_blocks() {
        for n in [1, 2, 3, 17, 40] {
            let data = numbers(n as u64, n * (n + 3));
            let mut a: Vec<Vec<f64>> = data.chunks(n + 3).map(<[f64]>::to_vec).collect();
            if n > 3 {
                // Rows that are zero, or equal, split the matrix.
                a[1].fill(0.0);
                a[2] = a[0].clone();
            }
            let (one, two) =
                (by_rotations(a.clone(), &limits()).unwrap(), by_products(&a, &limits()).unwrap());
            let all: f64 = a.iter().map(|row| squares(row)).sum();
            assert!((one.iter().sum::<f64>() - all).abs() < 1e-13 * all);
            for (x, y) in one.iter().zip(&two) {
                assert!((x - y).abs() < 1e-13 * all, "{n}: {x} {y}");
            }
        }
    }

    #[test]
    fn values_that_are_not_found_are_no_values() {
        let a: Vec<Vec<f64>> = (0..12).map(|k| numbers(k, 12)).collect();
        // Two sweeps are too few for noise; what needs none is found in one.
        assert_eq!(rotated(a.clone(), 2, &limits()), Err(Unchecked::Unsettled));
        assert!(rotated(a.clone(), SWEEPS, &limits()).is_ok());
        assert!(rotated(vec![vec![2.0, 0.0], vec![0.0, 1.0]], 1, &limits()).is_ok());
        let beside = [0.0, 1.0, 1.0, 1.0];
        let turned = |steps| turn(&mut [1.0, 2.0, 3.0, 4.0], &mut beside.clone(), steps, &limits());
        assert_eq!((turned(1), turned(SWEEPS)), (Err(Unchecked::Unsettled), Ok(())));
        // Nor are those of what is no number.
        let mut a = a;
        a[3][4] = f64::NAN;
        assert_eq!(by_rotations(a.clone(), &limits()), Err(Unchecked::Unsettled));
        assert_eq!(by_products(&a, &limits()), Err(Unchecked::Unsettled));
    }

    #[test]
    fn a_stop_is_obeyed() {
        let asked = std::cell::Cell::new(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        let limits = Limits { bytes: u64::MAX, stop: &stop };
        let a: Vec<Vec<f64>> = (0..20).map(|k| numbers(k, 20)).collect();
        assert_eq!(by_rotations(a.clone(), &limits), Err(Unchecked::Stopped));
        assert_eq!(asked.get(), 4);
        asked.set(0);
        assert_eq!(by_products(&a, &limits), Err(Unchecked::Stopped));
    }
}
