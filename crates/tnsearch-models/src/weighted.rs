//! Kronecker products in a metric: alternating least squares with one small system for each factor.
//!
//! Row i1 of all A_j enters `sum_j A_j (x) B_j` in the rows (i1, .) of W alone, so for fixed B the unknowns `A_j[i1, a]` of every i1
//! solve the same system: `N[(a,j),(a',j')] = sum_{b,b'} G_jj'[b,b'] C[(a,b),(a',b')]` with `G_jj'[b,b'] = sum_i2 B_j[i2,b] B_j'[i2,b']`,
//! and the right-hand sides are the rearranged `W C` times B. The same with the roles exchanged.

use super::metric::Metric;
use super::pairing::Pairing;
use tnsearch::linalg::{Factor, eigen, matmul};
use tnsearch::tensor::Scalar;

/// Systems of more unknowns are not solved.
pub const MOST: usize = 512;

/// Improves the factors Y (`left x q`) and X (`right x q`) of W in a metric by some rounds. None where a system is too
/// large or cannot be solved.
pub fn improve<T: Scalar>(
    w: &[T],
    pairing: &Pairing,
    metric: &Metric<T>,
    (y, x): (&mut Vec<T>, &mut Vec<T>),
    q: usize,
    rounds: usize,
) -> Option<()> {
    if q * pairing.c1.max(pairing.c2) > MOST {
        return None;
    }
    let wc = metric.rows_times(w);
    let (c1, c2) = (pairing.c1, pairing.c2);
    for _ in 0..rounds {
        let system = normal(x, c2, c1, q, |a, b, a2, b2| metric.at(a * c2 + b, a2 * c2 + b2).re());
        *y = solved(&system, &pairing.times(&wc, x, q), c1 * q)?;
        let system = normal(y, c1, c2, q, |b, a, b2, a2| metric.at(a * c2 + b, a2 * c2 + b2).re());
        *x = solved(&system, &pairing.transposed(&wc, y, q), c2 * q)?;
    }
    Some(())
}

/// `N[(u,j),(u',j')] = sum_{v,v'} G_jj'[v,v'] C(u, v, u', v')` for the fixed factors (rows of `inner` entries of q each).
fn normal<T: Scalar>(
    fixed: &[T],
    inner: usize,
    outer: usize,
    q: usize,
    c: impl Fn(usize, usize, usize, usize) -> f64,
) -> Vec<f64> {
    let (side, rows) = (inner * q, fixed.len() / (inner * q));
    // G, with an index (v, j) on either side.
    let mut g = vec![T::ZERO; side * side];
    let f = Factor::row_major(fixed, side);
    matmul((side, side, rows), &mut g, f.transposed(), f);
    let size = outer * q;
    let mut n = vec![0.0; size * size];
    for u in 0..outer {
        for u2 in 0..=u {
            let mut block = vec![0.0; q * q];
            for v in 0..inner {
                for v2 in 0..inner {
                    let weight = c(u, v, u2, v2);
                    for j in 0..q {
                        for j2 in 0..q {
                            block[j * q + j2] += weight * g[(v * q + j) * side + v2 * q + j2].re();
                        }
                    }
                }
            }
            for j in 0..q {
                for j2 in 0..q {
                    n[(u * q + j) * size + u2 * q + j2] = block[j * q + j2];
                    n[(u2 * q + j2) * size + u * q + j] = block[j * q + j2];
                }
            }
        }
    }
    n
}

/// The rows of the right-hand sides times the inverse of a symmetric matrix, without its directions of no weight.
fn solved<T: Scalar>(system: &[f64], rhs: &[T], size: usize) -> Option<Vec<T>> {
    let (values, vectors) = eigen(system, size)?;
    let least = values.last()? * 1e-10;
    let rows = rhs.len() / size;
    let rhs: Vec<f64> = rhs.iter().map(|v| v.re()).collect();
    let v = Factor::row_major(&vectors, size);
    let mut along = vec![0.0; rhs.len()];
    matmul((rows, size, size), &mut along, Factor::row_major(&rhs, size), v.transposed());
    for row in along.chunks_exact_mut(size) {
        row.iter_mut().zip(&values).for_each(|(r, v)| *r = if *v > least { *r / v } else { 0.0 });
    }
    let mut out = vec![0.0; rhs.len()];
    matmul((rows, size, size), &mut out, Factor::row_major(&along, size), v);
    Some(out.into_iter().map(|v| T::from_parts(v, 0.0)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::rng::stream;

    #[test]
    fn no_nearby_factors_are_better() {
        let (m, n, q) = (12, 12, 2);
        let mut rng = stream(5, b"weighted");
        let mut normals =
            |count: usize| -> Vec<f64> { (0..count).map(|_| f64::normal(&mut rng)).collect() };
        let w = normals(m * n);
        let samples: Vec<f64> =
            normals(40 * n).iter().enumerate().map(|(p, x)| x / (1 + p % n) as f64).collect();
        let metric = Metric::of_samples(&samples, n);
        let p = Pairing { r1: 3, c1: 4, r2: 4, c2: 3 };
        let (mut y, mut x) = (normals(p.left() * q), normals(p.right() * q));
        let error = |y: &[f64], x: &[f64]| {
            let mut rest = w.clone();
            p.add(&mut rest, y, x, q, -1.0);
            metric.norm_squared(&rest)
        };
        let mut last = error(&y, &x);
        for _ in 0..300 {
            improve(&w, &p, &metric, (&mut y, &mut x), q, 1).unwrap();
            let now = error(&y, &x);
            assert!(now <= last * (1.0 + 1e-9), "{now} {last}");
            last = now;
        }
        // Finite differences: the gradient is zero in every entry.
        let step = 1e-5;
        for k in 0..y.len() {
            let moved = |by: f64| {
                let mut other = y.clone();
                other[k] += by;
                error(&other, &x)
            };
            assert!((moved(step) - moved(-step)).abs() / (2.0 * step) < 1e-3 * last, "y {k}");
        }
        for k in 0..x.len() {
            let moved = |by: f64| {
                let mut other = x.clone();
                other[k] += by;
                error(&y, &other)
            };
            assert!((moved(step) - moved(-step)).abs() / (2.0 * step) < 1e-3 * last, "x {k}");
        }
    }
}
