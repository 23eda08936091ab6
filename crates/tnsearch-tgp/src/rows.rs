//! Rows of data on the grids: the weights of every number, and the response.

use super::grid::{Grid, Weights};
use super::kernel::Side;
use rayon::prelude::*;

/// Rows with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The weights of each feature, row after row.
    pub weights: Vec<Vec<Weights>>,
    /// The response, standardised; empty where it is not known.
    pub y: Vec<f64>,
    count: usize,
}

impl Rows {
    /// Of standardised features, row after row, and the response.
    pub fn new(grids: &[Grid], features: &[f64], y: Vec<f64>) -> Self {
        let d = grids.len();
        let along =
            |k: usize| features.iter().skip(k).step_by(d).map(move |&x| grids[k].weights(x));
        let weights = (0..d).map(|k| along(k).collect()).collect();
        Rows { weights, y, count: features.len() / d }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Some of them.
    pub fn some(&self, which: &[usize]) -> Rows {
        let of = |w: &Vec<Weights>| which.iter().map(|&i| w[i]).collect();
        let y =
            if self.y.is_empty() { Vec::new() } else { which.iter().map(|&i| self.y[i]).collect() };
        Rows { weights: self.weights.iter().map(of).collect(), y, count: which.len() }
    }

    /// `w^T A` for every row: the weights of feature k times a matrix with a row for each point and `columns` columns.
    pub fn times(&self, k: usize, a: &[f64], columns: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.count * columns];
        for (out, w) in out.chunks_exact_mut(columns).zip(&self.weights[k]) {
            let near = a[w.first as usize * columns..].chunks_exact(columns);
            for (c, row) in w.weights.iter().zip(near) {
                out.iter_mut().zip(row).for_each(|(o, r)| *o += c * r);
            }
        }
        out
    }

    /// `phi_k = L_k^T w_k` for every feature and row.
    pub fn vectors(&self, sides: &[Side]) -> Vec<Vec<f64>> {
        let of = |(k, side): (usize, &Side)| self.times(k, &side.factor, side.points);
        sides.iter().enumerate().map(of).collect()
    }
}

/// What each part gives, in their order: on all threads, or on this one where others are busy with other fits.
pub fn each_part<T: Send>(
    parts: Vec<std::ops::Range<usize>>,
    parallel: bool,
    make: impl Fn(std::ops::Range<usize>) -> T + Sync + Send,
) -> Vec<T> {
    match parallel {
        true => parts.into_par_iter().map(make).collect(),
        false => parts.into_iter().map(make).collect(),
    }
}

/// The parts of `0..count` that sums are made over, one after the other: the same at any number of threads.
pub fn parts(count: usize, most: usize) -> Vec<std::ops::Range<usize>> {
    let parts = most.min(count.div_ceil(64)).max(1);
    (0..parts).map(|p| count * p / parts..count * (p + 1) / parts).collect()
}
