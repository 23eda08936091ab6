//! A randomised range finder (Halko, Martinsson, Tropp 2011): `A = Q B + E` with orthonormal columns Q, `B = Q^H A` and
//! `||E||^2 = ||A||^2 - ||B||^2`, grown column by column.

use crate::linalg::{Factor, matmul};
use crate::rng;
use crate::tensor::{Scalar, sum_of_squares};
use rand::Rng as _;
use rayon::prelude::*;

/// A column that keeps less than this of its length adds nothing to the basis.
const GONE: f64 = 1e-10;

/// Products with so many entries are made in parts, by the current pool of threads; the parts do not depend on it.
const LARGE: usize = 1 << 21;
const PARTS: usize = 16;

/// What a sketch of a row-major `side x long` matrix A knows of it.
pub(crate) struct Range<T> {
    side: usize,
    long: usize,
    rng: rng::Rng,
    /// The columns of Q, one after the other.
    q: Vec<T>,
    /// The rows of B.
    b: Vec<T>,
    missed: f64,
}

impl<T: Scalar> Range<T> {
    /// Without columns yet.
    pub fn new(a: &[T], shape: (usize, usize), seed: u64) -> Self {
        Range::knowing(sum_of_squares(a), shape, seed)
    }

    /// The same where `||A||^2` is known: it takes a pass over all entries.
    pub fn knowing(squares: f64, (side, long): (usize, usize), seed: u64) -> Self {
        let rng = rng::stream(seed, b"sketch");
        Range { side, long, rng, q: Vec::new(), b: Vec::new(), missed: squares }
    }

    /// The number of columns.
    pub fn count(&self) -> usize {
        self.q.len() / self.side
    }

    /// The columns of Q, one after the other.
    pub fn columns(&self) -> &[T] {
        &self.q
    }

    /// The rows of B, one after the other.
    pub fn rows(&self) -> &[T] {
        &self.b
    }

    /// Q, column after column, and B, row after row.
    pub fn into_parts(self) -> (Vec<T>, Vec<T>) {
        (self.q, self.b)
    }

    /// `||E||^2` as a difference of squares: known to a few ulp of `||A||^2`.
    pub fn missed(&self) -> f64 {
        self.missed
    }

    /// Adds columns that span A times random signs, those that add something; how many these are.
    pub fn grow(&mut self, a: &[T], columns: usize) -> usize {
        let Range { side, long, .. } = *self;
        let signs: Vec<T> = signs(&mut self.rng, columns * long);
        let mut y = vec![T::ZERO; columns * side];
        let rows = Factor::row_major(a, long);
        let parts = if a.len() < LARGE { 1 } else { PARTS.min(side).min(long) };
        if parts == 1 {
            let signs = Factor::row_major(&signs, long);
            matmul((columns, side, long), &mut y, signs, rows.transposed());
        } else {
            let products = (0..parts).into_par_iter().map(|part| {
                let (from, to) = (part * side / parts, (part + 1) * side / parts);
                let mut y = vec![T::ZERO; columns * (to - from)];
                let rows = Factor::row_major(&a[from * long..], long).transposed();
                let signs = Factor::row_major(&signs, long);
                matmul((columns, to - from, long), &mut y, signs, rows);
                y
            });
            put_together(&mut y, side, &products.collect::<Vec<_>>(), columns);
        }
        drop(signs);
        let added = orthonormal(&mut y, &self.q, side);
        y.truncate(added * side);
        if added > 0 {
            let start = self.b.len();
            self.b.resize(start + added * long, T::ZERO);
            let block = &mut self.b[start..];
            let y_rows = Factor::row_major(&y, side).conj();
            if parts == 1 {
                matmul((added, long, side), block, y_rows, rows);
            } else {
                let products = (0..parts).into_par_iter().map(|part| {
                    let (from, to) = (part * long / parts, (part + 1) * long / parts);
                    let mut b = vec![T::ZERO; added * (to - from)];
                    let rows = Factor::row_major(&a[from..], long);
                    matmul((added, to - from, side), &mut b, y_rows, rows);
                    b
                });
                put_together(block, long, &products.collect::<Vec<_>>(), added);
            }
            self.missed -= sum_of_squares(block);
            self.q.extend(y);
        }
        added
    }
}

/// Puts parts of rows side by side: `count` rows of that length.
fn put_together<T: Scalar>(whole: &mut [T], length: usize, parts: &[Vec<T>], count: usize) {
    let mut at = 0;
    for part in parts {
        let width = part.len() / count;
        for (whole, part) in whole.chunks_exact_mut(length).zip(part.chunks_exact(width)) {
            whole[at..at + width].copy_from_slice(part);
        }
        at += width;
    }
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
}
