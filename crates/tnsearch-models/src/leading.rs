//! The leading singular values and vectors of a rearranged matrix, by subspace iteration.
//!
//! Y has orthonormal columns and `X = R' Y`, so `||R - Y X'||^2 = ||R||^2 - ||X||^2` holds exactly, however far the iteration
//! has come. With a metric C on the columns (plain pairing only) the same holds for `||A||_C^2 = tr(A C A')`: the best
//! `W'` with columns in the span of Y is `Y Y' W`, whatever C is, and the values are those of `Y' W C W' Y`.

use super::metric::Metric;
use super::pairing::Pairing;
use rayon::prelude::*;
use tnsearch::linalg::{Factor, eigen, matmul};
use tnsearch::problem::Stop;
use tnsearch::rng::{Rng, stream};
use tnsearch::tensor::Scalar;

/// Rows that are multiplied at a time.
const ROWS: usize = 1 << 10;

/// The leading part of a matrix, `Y X'`.
#[derive(Debug, Clone)]
pub struct Leading<T> {
    /// What each column holds of the squared norm, falling.
    pub squares: Vec<f64>,
    /// `left x k`, row-major, orthonormal columns.
    pub y: Vec<T>,
    /// `right x k`, row-major.
    pub x: Vec<T>,
}

impl<T: Scalar> Leading<T> {
    /// Its columns.
    pub fn len(&self) -> usize {
        self.squares.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.squares.is_empty()
    }

    /// The first columns alone.
    pub fn truncated(&self, rank: usize) -> (Vec<T>, Vec<T>) {
        (columns(&self.y, self.len(), rank), columns(&self.x, self.len(), rank))
    }
}

/// The first columns of a row-major matrix.
fn columns<T: Scalar>(matrix: &[T], k: usize, rank: usize) -> Vec<T> {
    if k == 0 || rank == 0 {
        return Vec::new();
    }
    matrix.chunks_exact(k).flat_map(|row| row[..rank].iter().copied()).collect()
}

/// The leading part of R with about `k` columns, after some rounds from a start (`right x .`, with its number of columns)
/// that is filled up with random columns. None where it was stopped, or a factorisation failed.
pub fn leading<T: Scalar>(
    (w, pairing): (&[T], &Pairing),
    metric: Option<&Metric<T>>,
    k: usize,
    start: Option<(&[T], usize)>,
    rounds: usize,
    seed: u64,
    stop: &Stop,
) -> Option<Leading<T>> {
    let right = pairing.right();
    let k = k.min(pairing.left()).min(right);
    let mut rng = stream(seed, b"leading");
    let mut x = begin(start, right, k, &mut rng);
    let mut y = Vec::new();
    let mut of = x.len() / right;
    for _ in 0..rounds.max(1) {
        if stop.is_set() {
            return None;
        }
        orthonormalise(&mut x, right, &mut of)?;
        if of == 0 {
            return Some(Leading { squares: Vec::new(), y: Vec::new(), x: Vec::new() });
        }
        y = pairing.times(w, &x, of);
        orthonormalise(&mut y, pairing.left(), &mut of)?;
        if of == 0 {
            return Some(Leading { squares: Vec::new(), y: Vec::new(), x: Vec::new() });
        }
        drop(std::mem::take(&mut x));
        x = pairing.transposed(w, &y, of);
        if let Some(metric) = metric {
            x = metric.times(&x, of);
        }
    }
    // x is C R' Y here; what goes with Y is R' Y.
    let (own, gram) = match metric {
        None => {
            let gram = inner(&x, &x, of);
            (x, gram)
        }
        Some(_) => {
            let own = pairing.transposed(w, &y, of);
            let gram = inner(&own, &x, of);
            (own, gram)
        }
    };
    let (values, vectors) = eigen(&gram, of)?;
    // Falling, as columns of a row-major matrix.
    let turn: Vec<T> = (0..of * of)
        .map(|p| T::from_parts(vectors[(of - 1 - p % of) * of + p / of], 0.0))
        .collect();
    let squares = values.into_iter().rev().map(|v| v.max(0.0)).collect();
    Some(Leading { squares, y: product(&y, &turn, of), x: product(&own, &turn, of) })
}

/// The start, filled up with random columns.
fn begin<T: Scalar>(start: Option<(&[T], usize)>, right: usize, k: usize, rng: &mut Rng) -> Vec<T> {
    let (given, have) = start.filter(|s| s.1 > 0).unwrap_or((&[], 0));
    let keep = have.min(k);
    let mut x = Vec::with_capacity(right * k);
    // Random columns as long as those that are given, so that rounding treats them alike.
    let norm: f64 = given.iter().map(|v| v.abs_squared()).sum();
    let scale = if have > 0 { (norm / (right * have) as f64).sqrt() } else { 1.0 };
    for row in 0..right {
        if keep > 0 {
            x.extend_from_slice(&given[row * have..row * have + keep]);
        }
        x.extend((keep..k).map(|_| T::normal(rng).scale(scale.max(f64::MIN_POSITIVE))));
    }
    x
}

/// `A' B` of two row-major matrices of k columns, in 64 bits, column-major.
fn inner<T: Scalar>(a: &[T], b: &[T], k: usize) -> Vec<f64> {
    let parts: Vec<Vec<T>> = a
        .par_chunks(ROWS * k)
        .zip(b.par_chunks(ROWS * k))
        .map(|(a, b)| {
            let mut part = vec![T::ZERO; k * k];
            let rows = a.len() / k;
            matmul(
                (k, k, rows),
                &mut part,
                Factor::row_major(a, k).transposed(),
                Factor::row_major(b, k),
            );
            part
        })
        .collect();
    let mut sum = vec![0.0; k * k];
    for part in parts {
        sum.iter_mut().zip(&part).for_each(|(s, p)| *s += p.re());
    }
    // Symmetric but for rounding.
    for i in 0..k {
        for j in 0..i {
            let mean = 0.5 * (sum[i * k + j] + sum[j * k + i]);
            (sum[i * k + j], sum[j * k + i]) = (mean, mean);
        }
    }
    sum
}

/// `A B` with B k x k, both row-major.
fn product<T: Scalar>(a: &[T], b: &[T], k: usize) -> Vec<T> {
    let mut out = vec![T::ZERO; a.len()];
    out.par_chunks_mut(ROWS * k).zip(a.par_chunks(ROWS * k)).for_each(|(out, a)| {
        matmul((a.len() / k, k, k), out, Factor::row_major(a, k), Factor::row_major(b, k));
    });
    out
}

/// Makes the k columns of a row-major matrix orthonormal; those that add nothing go. None where a factorisation fails.
fn orthonormalise<T: Scalar>(a: &mut Vec<T>, side: usize, k: &mut usize) -> Option<()> {
    // Columns of one length first, so that the Gram matrix knows the short ones as well as the long.
    for pass in 0..3 {
        if *k == 0 {
            return Some(());
        }
        let gram = inner(a, a, *k);
        let off = (0..*k * *k).map(|p| (gram[p] - f64::from(u8::from(p % (*k + 1) == 0))).abs());
        if pass > 0 && off.fold(0.0, f64::max) < 50.0 * T::KIND.epsilon() {
            return Some(());
        }
        let scale: Vec<f64> = (0..*k)
            .map(|i| gram[i * *k + i])
            .map(|v| if v > 0.0 && v.is_finite() { 1.0 / v.sqrt() } else { 0.0 })
            .collect();
        let scaled: Vec<f64> =
            (0..*k * *k).map(|p| gram[p] * scale[p % *k] * scale[p / *k]).collect();
        let (values, vectors) = eigen(&scaled, *k)?;
        let largest = values.last().copied().unwrap_or(0.0);
        // Columns that rounding hides are made of rounding at first, and of what the next product makes of that later:
        // nothing is lost by keeping them.
        let least = largest * (*k as f64) * T::KIND.epsilon();
        let keep = |v: f64| largest > 0.0 && (pass < 2 || v > 0.1);
        let kept: Vec<usize> = (0..*k).rev().filter(|&j| keep(values[j])).collect();
        let count = kept.len();
        // Rows of the turn: the old columns.
        let mut turn = vec![T::ZERO; *k * count];
        for (c, &j) in kept.iter().enumerate() {
            for i in 0..*k {
                let v = scale[i] * vectors[j * *k + i] / values[j].max(least).sqrt();
                turn[i * count + c] = T::from_parts(v, 0.0);
            }
        }
        let mut out = vec![T::ZERO; side * count];
        if count > 0 {
            let old = *k;
            out.par_chunks_mut(ROWS * count).zip(a.par_chunks(ROWS * old)).for_each(|(out, a)| {
                let rows = a.len() / old;
                matmul(
                    (rows, count, old),
                    out,
                    Factor::row_major(a, old),
                    Factor::row_major(&turn, count),
                );
            });
        }
        (*a, *k) = (out, count);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::linalg::singular_values;

    /// A matrix with singular values that fall as a power.
    fn falling<T: Scalar>(m: usize, n: usize) -> Vec<T> {
        let mut rng = stream(4, b"falling");
        let mut w = vec![T::ZERO; m * n];
        for k in 0..m.min(n) {
            let u: Vec<T> = (0..m).map(|_| T::normal(&mut rng)).collect();
            let v: Vec<T> = (0..n).map(|_| T::normal(&mut rng)).collect();
            let scale = 1.0 / ((k + 1) as f64).powi(2);
            for i in 0..m {
                for j in 0..n {
                    w[i * n + j] += (u[i] * v[j]).scale(scale);
                }
            }
        }
        w
    }

    fn values_are_those_of_an_svd<T: Scalar>() {
        let (m, n) = (40, 70);
        let w = falling::<T>(m, n);
        let exact = singular_values(&w, m, n).unwrap();
        let all: f64 = exact.iter().map(|s| s * s).sum();
        let plain = Pairing::plain(m, n);
        let found = leading((&w, &plain), None, 12, None, 4, 0, &Stop::new()).unwrap();
        assert_eq!(found.len(), 12);
        for (square, s) in found.squares.iter().zip(&exact).take(8) {
            assert!((square - s * s).abs() < 1e-5 * all, "{} {square} {}", T::KIND, s * s);
        }
        // What is left is what the squares say, at every rank.
        for rank in [0, 3, 12] {
            let (y, x) = found.truncated(rank);
            let mut rest = w.clone();
            plain.add(&mut rest, &y, &x, rank, -1.0);
            let left: f64 = rest.iter().map(|v| v.abs_squared()).sum();
            let want = all - found.squares[..rank].iter().sum::<f64>();
            assert!((left - want).abs() < 200.0 * T::KIND.epsilon() * all, "{rank}: {left} {want}");
        }
    }

    #[test]
    fn the_squares_say_what_is_left() {
        values_are_those_of_an_svd::<f64>();
        values_are_those_of_an_svd::<f32>();
    }

    #[test]
    fn a_metric_weighs_columns_and_needs_no_inverse() {
        let (m, n) = (20, 30);
        let w = falling::<f64>(m, n);
        let mut rng = stream(9, b"samples");
        let samples: Vec<f64> =
            (0..50 * n).map(|p| f64::normal(&mut rng) / (1 + p % n) as f64).collect();
        let metric = Metric::of_samples(&samples, n);
        let plain = Pairing::plain(m, n);
        let found = leading((&w, &plain), Some(&metric), 8, None, 12, 0, &Stop::new()).unwrap();
        // The singular values of W A', A the samples, are the answer.
        let mut wa = vec![0.0; m * 50];
        matmul(
            (m, 50, n),
            &mut wa,
            Factor::row_major(&w, n),
            Factor::row_major(&samples, n).transposed(),
        );
        let exact = singular_values(&wa, m, 50).unwrap();
        let all: f64 = exact.iter().map(|s| s * s).sum();
        for (square, s) in found.squares.iter().zip(exact).take(5) {
            assert!((50.0 * square - s * s).abs() < 1e-8 * all, "{} {}", 50.0 * square, s * s);
        }
        let (y, x) = found.truncated(5);
        let mut rest = w.clone();
        plain.add(&mut rest, &y, &x, 5, -1.0);
        let want = metric.norm_squared(&w) - found.squares[..5].iter().sum::<f64>();
        assert!((metric.norm_squared(&rest) - want).abs() < 1e-10 * all);
    }

    #[test]
    fn ranks_that_are_not_there_are_not_found() {
        let (m, n) = (9, 8);
        let w: Vec<f64> = (0..m * n).map(|p| (p / n) as f64 * (1.0 + (p % n) as f64)).collect();
        let found =
            leading((&w, &Pairing::plain(m, n)), None, 5, None, 2, 0, &Stop::new()).unwrap();
        let all: f64 = w.iter().map(|x| x * x).sum();
        assert!((found.squares[0] - all).abs() < 1e-9 * all);
        assert!(found.squares[1..].iter().all(|s| *s < 1e-12 * all));
        let zeros = vec![0.0f32; m * n];
        let none =
            leading((&zeros, &Pairing::plain(m, n)), None, 5, None, 2, 0, &Stop::new()).unwrap();
        assert_eq!(none.len(), 0);
        let stop = Stop::new();
        stop.set();
        assert!(leading((&w, &Pairing::plain(m, n)), None, 5, None, 2, 0, &stop).is_none());
    }
}
