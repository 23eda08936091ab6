//! A tensor seen from one of its modes: the spectrum of its unfolding, and products along it.

use crate::linalg::{self, Factor, matmul};
use crate::problem::Stop;
use crate::tensor::{Scalar, sum_of_squares};
use rayon::prelude::*;

/// Entries of an unfolding that are worked on at a time, about.
const BLOCK: usize = 1 << 16;
/// Blocks that are added up one after the other, whoever computes them.
const GROUP: usize = 8;
/// Up to this length it is looked at every now and then whether a mode has to stay as it is.
const LOOKS: usize = 128;
/// Blocks of longer modes are large, and fewer are worked on at a time.
const LONG: usize = 256;

/// A mode of a tensor: entry (o, i, j) lies at `(o * len + i) * inner + j`, i along the mode.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Along {
    outer: usize,
    len: usize,
    inner: usize,
}

/// The singular values and vectors of an unfolding.
pub(super) enum Spread<T> {
    /// Even the last direction holds more than may be lost.
    Whole,
    /// The squares of the singular values, falling, and the left singular vectors, one after the other.
    Known { squares: Vec<f64>, vectors: Vec<T> },
}

impl Along {
    /// A mode of a tensor of these dimensions.
    pub fn new(dims: &[usize], mode: usize) -> Self {
        let (outer, inner) = (dims[..mode].iter().product(), dims[mode + 1..].iter().product());
        Along { outer, len: dims[mode], inner }
    }

    /// The mode's length.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of columns of the unfolding.
    pub fn rest(&self) -> usize {
        self.outer * self.inner
    }

    /// The spectrum by the Gram matrix of the mode, with 64 bits whatever the tensor has. With `most`, it is given up
    /// once the last direction holds more than that: further columns only add to it. None where a stop came first.
    pub fn spread<T: Scalar>(
        &self,
        x: &[T],
        most: Option<f64>,
        stop: &Stop,
    ) -> Option<Spread<T::Wide>> {
        let len = self.len;
        let columns = (BLOCK / len).max(256).min(self.rest());
        let blocks = self.rest().div_ceil(columns);
        let mut gram = vec![T::Wide::ZERO; len * len];
        for (group, first) in (0..blocks).step_by(GROUP).enumerate() {
            if stop.is_set() {
                return None;
            }
            let block = |k: usize| {
                let to = ((k + 1) * columns).min(self.rest());
                linalg::gram(&self.columns(x, k * columns, to), len, to - k * columns)
            };
            let parts: Vec<Vec<T::Wide>> =
                (first..blocks.min(first + GROUP)).into_par_iter().map(block).collect();
            for part in parts {
                gram.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
            }
            let look = (group + 1).is_power_of_two() && len <= LOOKS;
            if let Some(most) = most.filter(|_| look)
                && linalg::eigenvalues(&gram, len)?[0] > most
            {
                return Some(Spread::Whole);
            }
        }
        let flops = 25.0 * (len as f64).powi(3);
        let (mut squares, vectors) = stop.wait_for(flops, move || linalg::eigen(&gram, len))??;
        squares.reverse();
        squares.iter_mut().for_each(|s| *s = s.max(0.0));
        // They come with rising eigenvalues.
        let falling = vectors.chunks_exact(len).rev().flatten().copied().collect();
        Some(Spread::Known { squares, vectors: falling })
    }

    /// The spectrum of a mode that is longer than the rest of the tensor, by an SVD.
    pub fn spread_of_tall<T: Scalar>(&self, x: &[T]) -> Option<Spread<T::Wide>> {
        let unfolded: Vec<T::Wide> = self.columns(x, 0, self.rest());
        let (values, vectors) = linalg::left_singular(&unfolded, self.len, self.rest())?;
        let squares = values.iter().map(|s| s * s).collect();
        Some(Spread::Known { squares, vectors })
    }

    /// The same for either shape without squares: each singular value is known to a few ulp of the largest, where the
    /// Gram matrix knows its square to a few ulp of the sum of all. None where a stop came first.
    pub fn precise_spread<T: Scalar>(&self, x: &[T], stop: &Stop) -> Option<Spread<T::Wide>> {
        let (len, rest) = (self.len, self.rest());
        let found = if len > rest {
            let unfolded: Vec<T::Wide> = self.columns(x, 0, rest);
            linalg::precise_left_singular(&unfolded, (len, rest), Some(&|| stop.is_set()))?
        } else {
            let columns = linalg::columns_at_a_time(len).min(rest);
            let blocks = rest.div_ceil(columns);
            let mut triangle: Vec<T::Wide> = Vec::new();
            let group = if len > LONG { 2 } else { GROUP };
            for first in (0..blocks).step_by(group) {
                if stop.is_set() {
                    return None;
                }
                let block = |k: usize| {
                    let to = ((k + 1) * columns).min(rest);
                    let count = to - k * columns;
                    let part = self.columns(x, k * columns, to);
                    linalg::triangle(&[], part.chunks_exact(count), count)
                };
                let parts: Vec<Vec<T::Wide>> =
                    (first..blocks.min(first + group)).into_par_iter().map(block).collect();
                // All side by side.
                let row = |i: usize| parts.iter().flat_map(move |p| &p[i * len..(i + 1) * len]);
                let rows: Vec<Vec<T::Wide>> = (0..len).map(|i| row(i).copied().collect()).collect();
                let rows = rows.iter().map(|row| &row[..]);
                triangle = linalg::triangle(&triangle, rows, parts.len() * len);
            }
            let flops = 25.0 * (len as f64).powi(3);
            stop.wait_for(flops, move || linalg::left_singular(&triangle, len, len))??
        };
        let (values, vectors) = found;
        let squares = values.iter().map(|s| s * s).collect();
        Some(Spread::Known { squares, vectors })
    }

    /// `||X - U U^H X||^2` along the mode for a basis U (len x rank, row-major), entry by entry, with 64 bits. None where a
    /// stop came first.
    pub fn outside<T: Scalar>(&self, x: &[T], basis: &[T], stop: &Stop) -> Option<f64> {
        let (len, rank) = (self.len, basis.len() / self.len);
        let u: Vec<T::Wide> = basis.iter().map(|u| u.widen()).collect();
        let u = Factor::row_major(&u, rank);
        let columns = (BLOCK / len).max(256).min(self.rest());
        let block = |k: usize| {
            let to = ((k + 1) * columns).min(self.rest());
            let count = to - k * columns;
            if stop.is_set() {
                return None;
            }
            let mut rest: Vec<T::Wide> = self.columns(x, k * columns, to);
            let mut inner = vec![T::Wide::ZERO; rank * count];
            let whole = Factor::row_major(&rest, count);
            matmul((rank, count, len), &mut inner, u.transposed().conj(), whole);
            let mut inside = vec![T::Wide::ZERO; len * count];
            matmul((len, count, rank), &mut inside, u, Factor::row_major(&inner, count));
            rest.iter_mut().zip(inside).for_each(|(x, z)| *x -= z);
            Some(sum_of_squares(&rest))
        };
        let blocks = 0..self.rest().div_ceil(columns);
        let parts: Vec<Option<f64>> = blocks.into_par_iter().map(block).collect();
        parts.into_iter().sum()
    }

    /// Some columns of the unfolding, len x count, row-major.
    fn columns<T: Scalar>(&self, x: &[T], from: usize, to: usize) -> Vec<T::Wide> {
        let Along { len, inner, .. } = *self;
        let count = to - from;
        let mut out = vec![T::Wide::ZERO; len * count];
        let mut at = from;
        while at < to {
            // A run of columns lies together for each i.
            let (o, j) = (at / inner, at % inner);
            let run = (inner - j).min(to - at);
            for i in 0..len {
                let source = &x[(o * len + i) * inner + j..][..run];
                let target = &mut out[i * count + at - from..][..run];
                target.iter_mut().zip(source).for_each(|(t, s)| *t = s.widen());
            }
            at += run;
        }
        out
    }

    /// `U^H` along the mode, for a basis U (len x rank, row-major).
    pub fn project<T: Scalar>(&self, x: &[T], basis: &[T]) -> Vec<T> {
        let Along { len, inner, .. } = *self;
        let rank = basis.len() / len;
        let mut out = vec![T::ZERO; self.outer * rank * inner];
        let u = Factor::row_major(basis, rank).conj();
        let slabs = self.slabs();
        let pairs = out.par_chunks_mut(slabs * rank * inner).zip(x.par_chunks(slabs * len * inner));
        pairs.for_each(|(out, x)| match inner {
            1 => matmul((x.len() / len, rank, len), out, Factor::row_major(x, len), u),
            _ => {
                for (out, x) in out.chunks_mut(rank * inner).zip(x.chunks(len * inner)) {
                    matmul((rank, inner, len), out, u.transposed(), Factor::row_major(x, inner));
                }
            }
        });
        out
    }

    /// `U` along the mode, for a basis U (len x rank, row-major); c is as long as the rank there.
    pub fn expand<T: Scalar>(&self, c: &[T], basis: &[T]) -> Vec<T> {
        let Along { len, inner, .. } = *self;
        let rank = basis.len() / len;
        let mut out = vec![T::ZERO; self.outer * len * inner];
        let u = Factor::row_major(basis, rank);
        let slabs = self.slabs();
        let pairs = out.par_chunks_mut(slabs * len * inner).zip(c.par_chunks(slabs * rank * inner));
        pairs.for_each(|(out, c)| match inner {
            1 => {
                matmul((c.len() / rank, len, rank), out, Factor::row_major(c, rank), u.transposed())
            }
            _ => {
                for (out, c) in out.chunks_mut(len * inner).zip(c.chunks(rank * inner)) {
                    matmul((len, inner, rank), out, u, Factor::row_major(c, inner));
                }
            }
        });
        out
    }

    /// How many of the outer indices are worked on at a time.
    fn slabs(&self) -> usize {
        (BLOCK / (self.len * self.inner)).max(1)
    }
}
