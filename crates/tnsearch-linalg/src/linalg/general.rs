//! Matrices that are not Hermitian: their eigenvectors, and systems of equations with them.

use super::apart::apart;
use crate::tensor::Scalar;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::{MatMut, MatRef, Par};
use num_complex::Complex;

type C64 = Complex<f64>;

/// The eigenvalues and (right) eigenvectors, the columns, of a square matrix (n x n, column-major). None if they did not
/// converge, or are no numbers.
///
/// ```
/// use tnsearch_linalg::linalg::general_eigen;
/// use tnsearch_linalg::tensor::Complex;
/// // [[2, 1], [0, 3]]: 2 with (1, 0), 3 with (1, 1).
/// let matrix = [2.0, 0.0, 1.0, 3.0].map(|x| Complex::new(x, 0.0));
/// let (values, vectors) = general_eigen(&matrix, 2).unwrap();
/// for (value, v) in values.iter().zip(vectors.chunks(2)) {
///     let image = [v[0] * 2.0 + v[1], v[1] * 3.0];
///     assert!((0..2).all(|k| (image[k] - value * v[k]).norm() < 1e-12));
/// }
/// ```
pub fn general_eigen(matrix: &[C64], n: usize) -> Option<(Vec<C64>, Vec<C64>)> {
    let (mut values, mut vectors) = (vec![C64::ZERO; n], vec![C64::ZERO; n * n]);
    let (no, yes) = (ComputeEigenvectors::No, ComputeEigenvectors::Yes);
    let scratch = evd::evd_scratch::<C64>(n, no, yes, Par::Seq, Default::default());
    let found = apart(n, || {
        evd::evd_cplx(
            MatRef::from_column_major_slice(matrix, n, n),
            DiagMut::from_slice_mut(&mut values),
            None,
            Some(MatMut::from_column_major_slice_mut(&mut vectors, n, n)),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
    });
    found.ok()?;
    let finite = values.iter().chain(&vectors).all(|x| x.is_finite());
    finite.then_some((values, vectors))
}

/// Puts the solution of `A X = B` in the place of B (n x k, row-major), by elimination with the largest pivot of each column;
/// A (n x n, row-major) is used up. False where A is singular.
///
/// ```
/// use tnsearch_linalg::linalg::eliminate;
/// let (mut a, mut b) = ([0.0, 2.0, 1.0, 1.0], [4.0, 5.0]);
/// assert!(eliminate(&mut a, &mut b, 2));
/// assert_eq!(b, [3.0, 2.0]);
/// assert!(!eliminate(&mut [1.0, 2.0, 2.0, 4.0], &mut b, 2));
/// ```
///
/// # Panics
/// If the slices are too short, or n is 0.
pub fn eliminate<T: Scalar>(a: &mut [T], b: &mut [T], n: usize) -> bool {
    let k = b.len() / n;
    for column in 0..n {
        let size = |row: usize| a[row * n + column].abs();
        let pivot = (column..n).max_by(|&r, &s| size(r).total_cmp(&size(s)));
        let Some(pivot) = pivot.filter(|&r| size(r) > 0.0 && size(r).is_finite()) else {
            return false;
        };
        if pivot != column {
            (0..n).for_each(|j| a.swap(pivot * n + j, column * n + j));
            (0..k).for_each(|j| b.swap(pivot * k + j, column * k + j));
        }
        let inverse = reciprocal(a[column * n + column]);
        for row in 0..n {
            let factor = a[row * n + column] * inverse;
            if row == column || factor == T::ZERO {
                continue;
            }
            for j in column..n {
                let above = a[column * n + j];
                a[row * n + j] -= factor * above;
            }
            for j in 0..k {
                let above = b[column * k + j];
                b[row * k + j] -= factor * above;
            }
        }
    }
    for row in 0..n {
        let inverse = reciprocal(a[row * n + row]);
        b[row * k..(row + 1) * k].iter_mut().for_each(|x| *x *= inverse);
    }
    true
}

/// `1 / x`.
pub fn reciprocal<T: Scalar>(x: T) -> T {
    let size = x.abs();
    x.conj().unscale(size).unscale(size)
}
