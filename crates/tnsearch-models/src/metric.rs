//! How errors of a layer are measured: by the covariance of its inputs.
//!
//! With `y = W x` the expected squared error of the outputs is `E ||(W - W') x||^2 = tr((W - W') C (W - W')')`,
//! `C = E x x'`, which is `||(W - W') C^(1/2)||^2`.

use rayon::prelude::*;
use tnsearch::linalg::{Factor, matmul};
use tnsearch::tensor::Scalar;

/// Rows that are multiplied at a time.
const ROWS: usize = 256;

/// The covariance C of the inputs, n x n.
#[derive(Debug, Clone)]
pub struct Metric<T> {
    c: Vec<T>,
    n: usize,
}

impl<T: Scalar> Metric<T> {
    /// From a covariance, row-major; what is not symmetric about it is taken half from either side.
    pub fn of_covariance(c: &[T], n: usize) -> Self {
        let at = |i: usize, j: usize| (c[i * n + j] + c[j * n + i]).scale(0.5);
        Metric { c: (0..n * n).map(|p| at(p / n, p % n)).collect(), n }
    }

    /// From inputs, one to a row: `C = A' A / samples`.
    pub fn of_samples(samples: &[T], n: usize) -> Self {
        let count = (samples.len() / n).max(1);
        let mut c = vec![T::ZERO; n * n];
        let a = Factor::row_major(samples, n);
        if !samples.is_empty() {
            matmul((n, n, count), &mut c, a.transposed(), a);
        }
        c.iter_mut().for_each(|x| *x = x.scale(1.0 / count as f64));
        Metric { c, n }
    }

    /// The number of inputs.
    pub fn inputs(&self) -> usize {
        self.n
    }

    /// Entry (i, j).
    pub fn at(&self, i: usize, j: usize) -> T {
        self.c[i * self.n + j]
    }

    /// Whether it weighs anything, and nothing negatively on its diagonal.
    pub fn is_sound(&self) -> bool {
        let diagonal = (0..self.n).map(|i| self.at(i, i).re());
        let finite = self.c.iter().all(|x| x.is_finite());
        let mut total = 0.0;
        finite && diagonal.inspect(|d| total += d).all(|d| d >= 0.0) && total > 0.0
    }

    /// The same with some of the mean weight added to every input, so that none is free.
    pub fn with_ridge(mut self, part: f64) -> Self {
        let mean = (0..self.n).map(|i| self.at(i, i).re()).sum::<f64>() / self.n.max(1) as f64;
        for i in 0..self.n {
            self.c[i * self.n + i] += T::from_parts(part * mean, 0.0);
        }
        self
    }

    /// `C X`, X row-major n x k.
    pub fn times(&self, x: &[T], k: usize) -> Vec<T> {
        let mut out = vec![T::ZERO; self.n * k];
        let rows = out.par_chunks_mut(ROWS * k).zip(self.c.par_chunks(ROWS * self.n));
        rows.for_each(|(out, c)| {
            let count = out.len() / k;
            matmul((count, k, self.n), out, Factor::row_major(c, self.n), Factor::row_major(x, k));
        });
        out
    }

    /// `W C` for some rows of W.
    pub fn rows_times(&self, rows: &[T]) -> Vec<T> {
        let mut out = vec![T::ZERO; rows.len()];
        out.par_chunks_mut(ROWS * self.n).zip(rows.par_chunks(ROWS * self.n)).for_each(
            |(out, w)| {
                let count = w.len() / self.n;
                matmul(
                    (count, self.n, self.n),
                    out,
                    Factor::row_major(w, self.n),
                    Factor::row_major(&self.c, self.n),
                );
            },
        );
        out
    }

    /// `tr(W C W')`.
    pub fn norm_squared(&self, w: &[T]) -> f64 {
        let parts: Vec<f64> = w
            .par_chunks(ROWS * self.n)
            .map(|w| {
                let wc = {
                    let mut out = vec![T::ZERO; w.len()];
                    let (a, b) = (Factor::row_major(w, self.n), Factor::row_major(&self.c, self.n));
                    matmul((w.len() / self.n, self.n, self.n), &mut out, a, b);
                    out
                };
                w.iter().zip(&wc).map(|(a, b)| a.re() * b.re()).sum()
            })
            .collect();
        parts.into_iter().sum::<f64>().max(0.0)
    }
}

/// `||W||^2` in a metric, or as it is.
pub fn norm_squared<T: Scalar>(w: &[T], metric: Option<&Metric<T>>) -> f64 {
    match metric {
        Some(metric) => metric.norm_squared(w),
        None => {
            let parts: Vec<f64> =
                w.par_chunks(1 << 16).map(|c| c.iter().map(|x| x.abs_squared()).sum()).collect();
            parts.into_iter().sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_measure_outputs() {
        let samples = [1.0, 2.0, 3.0, 0.0, 1.0, -1.0];
        let metric = Metric::of_samples(&samples, 3);
        let w = [1.0, -1.0, 2.0, 0.5, 0.0, 1.0];
        // The mean of ||W x||^2 over the two inputs.
        let out = |x: &[f64]| -> f64 {
            w.chunks(3).map(|r| r.iter().zip(x).map(|(a, b)| a * b).sum::<f64>().powi(2)).sum()
        };
        let want = (out(&samples[..3]) + out(&samples[3..])) / 2.0;
        assert!((metric.norm_squared(&w) - want).abs() < 1e-12);
        assert!((norm_squared(&w, None) - 7.25).abs() < 1e-12);
        let same =
            Metric::of_covariance(&(0..9).map(|p| metric.at(p / 3, p % 3)).collect::<Vec<_>>(), 3);
        assert!((same.norm_squared(&w) - want).abs() < 1e-12);
        assert!(same.is_sound() && !Metric::of_covariance(&[0.0f32; 4], 2).is_sound());
        assert!(!Metric::of_covariance(&[1.0, 0.0, 0.0, -1.0], 2).is_sound());
    }
}
