//! A matrix seen as a sum of Kronecker products (Van Loan and Pitsianis 1993).
//!
//! With `m = r1 r2` rows and `n = c1 c2` columns, W is rearranged into the matrix R of `r1 c1` rows and `r2 c2` columns,
//! `R[(i1, j1), (i2, j2)] = W[i1 r2 + i2, j1 c2 + j2]`. Then `||W - sum_k A_k (x) B_k|| = ||R - sum_k vec(A_k) vec(B_k)'||`, so
//! the best sum of k products is the truncated SVD of R. The plain SVD of W is the case `r2 = c1 = 1`.
//!
//! R is never formed: it is gathered in bands of W, some at a time.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tnsearch::linalg::{Factor, matmul};
use tnsearch::tensor::Scalar;

/// Entries of W that are gathered at a time.
const BAND: usize = 1 << 18;
/// Bands whose products are added up at a time, in their order: the sum does not depend on the number of threads.
const AT_ONCE: usize = 4;

/// The factors of rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pairing {
    /// Rows of the first factor.
    pub r1: usize,
    /// Columns of the first factor.
    pub c1: usize,
    /// Rows of the second factor.
    pub r2: usize,
    /// Columns of the second factor.
    pub c2: usize,
}

impl Pairing {
    /// That of the plain SVD.
    pub fn plain(rows: usize, columns: usize) -> Self {
        Pairing { r1: rows, c1: 1, r2: 1, c2: columns }
    }

    /// All pairs of factors of a shape other than the plain one and its mirror, those of fewest entries first; both
    /// factors have at least four.
    pub fn all(rows: usize, columns: usize) -> Vec<Self> {
        let divisors = |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
        let mut all: Vec<Pairing> = Vec::new();
        for r1 in divisors(rows) {
            for c1 in divisors(columns) {
                let it = Pairing { r1, c1, r2: rows / r1, c2: columns / c1 };
                let is_plain = it.is_plain() || (r1 == 1 && it.c2 == 1);
                if !is_plain && it.left() >= 4 && it.right() >= 4 {
                    all.push(it);
                }
            }
        }
        all.sort_by_key(|p| (p.entries(), p.r1, p.c1));
        all
    }

    /// Whether it is that of the plain SVD.
    pub fn is_plain(&self) -> bool {
        self.r2 == 1 && self.c1 == 1
    }

    /// Entries of the first factor.
    pub fn left(&self) -> usize {
        self.r1 * self.c1
    }

    /// Entries of the second factor.
    pub fn right(&self) -> usize {
        self.r2 * self.c2
    }

    /// Entries of both.
    pub fn entries(&self) -> usize {
        self.left() + self.right()
    }

    fn columns(&self) -> usize {
        self.c1 * self.c2
    }

    /// Values of i1 in a band.
    fn group(&self) -> usize {
        (BAND / (self.r2 * self.columns())).clamp(1, self.r1)
    }

    /// Values of j1 that are gathered at a time in a band of one i1.
    fn piece(&self) -> usize {
        match self.group() {
            1 => (BAND / self.right()).clamp(1, self.c1),
            _ => self.c1,
        }
    }

    /// Copies the rows (i1, j1) of R from a band of W, for j1 from `from` to `to`.
    fn gather<T: Scalar>(&self, band: &[T], (from, to): (usize, usize), out: &mut Vec<T>) {
        let n = self.columns();
        out.clear();
        for block in band.chunks_exact(self.r2 * n) {
            for j1 in from..to {
                for i2 in 0..self.r2 {
                    let at = i2 * n + j1 * self.c2;
                    out.extend_from_slice(&block[at..at + self.c2]);
                }
            }
        }
    }

    /// Appends a row of R.
    pub fn row<T: Scalar>(&self, w: &[T], row: usize, out: &mut Vec<T>) {
        let (n, i1, j1) = (self.columns(), row / self.c1, row % self.c1);
        for i2 in 0..self.r2 {
            let at = (i1 * self.r2 + i2) * n + j1 * self.c2;
            out.extend_from_slice(&w[at..at + self.c2]);
        }
    }

    /// Calls a function with the rows of R of a band, and where they lie among the band's.
    fn pieces<T: Scalar>(&self, band: &[T], mut take: impl FnMut(&[T], usize)) {
        if self.is_plain() {
            return take(band, 0);
        }
        let (piece, mut rows) = (self.piece(), Vec::new());
        for from in (0..self.c1).step_by(piece) {
            let to = (from + piece).min(self.c1);
            self.gather(band, (from, to), &mut rows);
            take(&rows, from);
        }
    }

    /// `R X`: W row-major, X `right x k` and the result `left x k`, row-major.
    pub fn times<T: Scalar>(&self, w: &[T], x: &[T], k: usize) -> Vec<T> {
        let (group, right) = (self.group(), self.right());
        let mut y = vec![T::ZERO; self.left() * k];
        let bands = w.par_chunks(group * self.r2 * self.columns());
        y.par_chunks_mut(group * self.c1 * k).zip(bands).for_each(|(y, band)| {
            self.pieces(band, |rows, from| {
                let count = rows.len() / right;
                let y = &mut y[from * k..(from + count) * k];
                matmul(
                    (count, k, right),
                    y,
                    Factor::row_major(rows, right),
                    Factor::row_major(x, k),
                );
            });
        });
        y
    }

    /// `R' Y`: Y `left x k` and the result `right x k`, row-major.
    pub fn transposed<T: Scalar>(&self, w: &[T], y: &[T], k: usize) -> Vec<T> {
        let (group, right) = (self.group(), self.right());
        let (long, tall) = (group * self.r2 * self.columns(), group * self.c1 * k);
        let mut sum = vec![T::ZERO; right * k];
        let one = |(band, y): (&[T], &[T])| {
            let mut part = vec![T::ZERO; right * k];
            let mut more = Vec::new();
            self.pieces(band, |rows, from| {
                let count = rows.len() / right;
                let y = Factor::row_major(&y[from * k..(from + count) * k], k);
                let rows = Factor::row_major(rows, right).transposed();
                if from == 0 {
                    matmul((right, k, count), &mut part, rows, y);
                } else {
                    more.resize(right * k, T::ZERO);
                    matmul((right, k, count), &mut more, rows, y);
                    part.iter_mut().zip(&more).for_each(|(p, m)| *p += *m);
                }
            });
            part
        };
        let bands: Vec<(&[T], &[T])> = w.chunks(long).zip(y.chunks(tall)).collect();
        for some in bands.chunks(AT_ONCE) {
            let parts: Vec<Vec<T>> = some.par_iter().map(|&b| one(b)).collect();
            for part in parts {
                sum.iter_mut().zip(&part).for_each(|(s, p)| *s += *p);
            }
        }
        sum
    }

    /// Adds `sign * Y X'`, rearranged back, to W.
    pub fn add<T: Scalar>(&self, w: &mut [T], y: &[T], x: &[T], k: usize, sign: f64) {
        if k == 0 {
            return;
        }
        let (group, right, n) = (self.group(), self.right(), self.columns());
        let bands = w.par_chunks_mut(group * self.r2 * n);
        bands.zip(y.par_chunks(group * self.c1 * k)).for_each(|(band, y)| {
            let blocks = band.chunks_exact_mut(self.r2 * n).zip(y.chunks_exact(self.c1 * k));
            let piece = (BAND / right).clamp(1, self.c1);
            let mut rows = vec![T::ZERO; piece * right];
            for (block, y) in blocks {
                for (step, y) in y.chunks(piece * k).enumerate() {
                    let count = y.len() / k;
                    let (y, x) = (Factor::row_major(y, k), Factor::row_major(x, k).transposed());
                    matmul((count, right, k), &mut rows, y, x);
                    for (j, row) in rows[..count * right].chunks_exact(right).enumerate() {
                        let j1 = step * piece + j;
                        for (i2, part) in row.chunks_exact(self.c2).enumerate() {
                            let at = i2 * n + j1 * self.c2;
                            let place = &mut block[at..at + self.c2];
                            place.iter_mut().zip(part).for_each(|(w, p)| *w += p.scale(sign));
                        }
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::rng::stream;

    fn normals(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, b"pairing");
        (0..n).map(|_| f64::normal(&mut rng)).collect()
    }

    #[test]
    fn products_are_those_of_the_rearranged_matrix() {
        let (m, n, k) = (12, 10, 3);
        let w = normals(m * n, 1);
        let all = Pairing::all(m, n);
        assert!(all.len() > 10 && all.iter().all(|p| p.r1 * p.r2 == m && p.c1 * p.c2 == n));
        for p in all.into_iter().chain([Pairing::plain(m, n)]) {
            let at = |i: usize, j: usize| {
                let (i1, j1, i2, j2) = (i / p.c1, i % p.c1, j / p.c2, j % p.c2);
                w[(i1 * p.r2 + i2) * n + j1 * p.c2 + j2]
            };
            let (x, y) = (normals(p.right() * k, 2), normals(p.left() * k, 3));
            let rx = p.times(&w, &x, k);
            let ry = p.transposed(&w, &y, k);
            for c in 0..k {
                for i in 0..p.left() {
                    let want: f64 = (0..p.right()).map(|j| at(i, j) * x[j * k + c]).sum();
                    assert!((rx[i * k + c] - want).abs() < 1e-12, "{p:?}");
                }
                for j in 0..p.right() {
                    let want: f64 = (0..p.left()).map(|i| at(i, j) * y[i * k + c]).sum();
                    assert!((ry[j * k + c] - want).abs() < 1e-12, "{p:?}");
                }
            }
            let mut rows = Vec::new();
            (0..p.left()).for_each(|i| p.row(&w, i, &mut rows));
            let whole = (0..p.left() * p.right()).map(|k| at(k / p.right(), k % p.right()));
            assert!(rows.iter().copied().eq(whole), "{p:?}");
            // Adding one product gives the Kronecker product of its factors.
            let (a, b) = (normals(p.left(), 4), normals(p.right(), 5));
            let mut z = vec![0.0; m * n];
            p.add(&mut z, &a, &b, 1, -2.0);
            for i in 0..m {
                for j in 0..n {
                    let a = a[i / p.r2 * p.c1 + j / p.c2];
                    let b = b[i % p.r2 * p.c2 + j % p.c2];
                    assert!((z[i * n + j] + 2.0 * a * b).abs() < 1e-12, "{p:?}");
                }
            }
        }
    }

    #[test]
    fn bands_do_not_change_what_is_computed() {
        // Large enough for several bands, and for pieces of a band.
        let (m, n, k) = (1024, 1024, 2);
        let w: Vec<f32> = normals(m * n, 7).into_iter().map(|x| x as f32).collect();
        for (r1, c1) in [(1, 256), (512, 2), (32, 32), (1024, 1)] {
            let p = Pairing { r1, c1, r2: m / r1, c2: n / c1 };
            let y: Vec<f32> = normals(p.left() * k, 8).into_iter().map(|x| x as f32).collect();
            let x: Vec<f32> = normals(p.right() * k, 9).into_iter().map(|x| x as f32).collect();
            let dot =
                |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
            // <Y, R X> = <R' Y, X>.
            let (one, other) = (dot(&y, &p.times(&w, &x, k)), dot(&p.transposed(&w, &y, k), &x));
            assert!((one - other).abs() < 1e-3 * (m * n) as f64, "{p:?}: {one} {other}");
            let mut z = w.clone();
            p.add(&mut z, &y, &x, k, 1.0);
            p.add(&mut z, &y, &x, k, -1.0);
            assert!(z.iter().zip(&w).all(|(z, w)| (z - w).abs() < 1e-4), "{p:?}");
        }
    }
}
