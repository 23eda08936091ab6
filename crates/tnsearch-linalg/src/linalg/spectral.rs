//! Eigenvalues of Hermitian matrices and singular values, with or without vectors.

use super::apart::{apart, copied_bytes};
use super::{Factor, matmul_until};
use crate::tensor::Scalar;
use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::svd::{self, ComputeSvdVectors};
use faer::traits::ComplexField;
use faer::{MatMut, MatRef, Par};

/// `A A^H` of a row-major m x n matrix, column-major.
pub fn gram<T: Scalar>(a: &[T], m: usize, n: usize) -> Vec<T> {
    gram_until(a, m, n, None).unwrap_or_else(|| unreachable!("nothing stops it"))
}

/// The same, bit for bit; none where `stopped` ended it.
pub fn gram_until<T: Scalar>(
    a: &[T],
    m: usize,
    n: usize,
    stopped: Option<&dyn Fn() -> bool>,
) -> Option<Vec<T>> {
    let mut gram = vec![T::ZERO; m * m];
    // Row-major conj(A) A^T is column-major A A^H.
    let a = Factor::row_major(a, n);
    matmul_until((m, m, n), &mut gram, a.conj(), a.transposed(), stopped).then_some(gram)
}

/// The eigenvalues of a Hermitian matrix (n x n, column-major; only its lower triangle is read), rising. None if
/// they did not converge.
pub fn eigenvalues<T: Scalar>(matrix: &[T], n: usize) -> Option<Vec<f64>> {
    T::eigen(matrix, n, None)
}

/// The eigenvalues, rising, and eigenvectors (the columns, column-major) of a Hermitian matrix, as [`eigenvalues`].
pub fn eigen<T: Scalar>(matrix: &[T], n: usize) -> Option<(Vec<f64>, Vec<T>)> {
    let mut vectors = vec![T::ZERO; n * n];
    let values = T::eigen(matrix, n, Some(&mut vectors))?;
    Some((values, vectors))
}

/// [`eigen`] for one kind of number.
pub(super) fn evd<T: Scalar + ComplexField>(
    matrix: &[T],
    n: usize,
    vectors: Option<&mut [T]>,
) -> Option<Vec<f64>> {
    let mut values = vec![T::ZERO; n];
    let with = match vectors {
        Some(_) => ComputeEigenvectors::Yes,
        None => ComputeEigenvectors::No,
    };
    let scratch = evd::self_adjoint_evd_scratch::<T>(n, with, Par::Seq, Default::default());
    let found = apart(n, || {
        evd::self_adjoint_evd(
            MatRef::from_column_major_slice(matrix, n, n),
            DiagMut::from_slice_mut(&mut values),
            vectors.map(|v| MatMut::from_column_major_slice_mut(v, n, n)),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
    });
    found.ok()?;
    Some(values.into_iter().map(Scalar::re).collect())
}

/// Bytes that [`eigen`] takes beside the matrix, its result included.
pub fn eigen_bytes<T: Scalar>(n: usize) -> f64 {
    let number = T::KIND.bytes();
    T::eigen_scratch(n) as f64 + number as f64 * (n as f64).powi(2) + copied_bytes(n, number)
}

/// What [`evd`] takes for itself.
pub(super) fn evd_scratch<T: ComplexField>(n: usize) -> usize {
    let with = ComputeEigenvectors::Yes;
    evd::self_adjoint_evd_scratch::<T>(n, with, Par::Seq, Default::default())
        .unaligned_bytes_required()
}

/// Bytes that [`left_singular`] takes beside the matrix, its result included; [`singular_values`] takes less.
pub fn left_singular_bytes<T: Scalar>(m: usize, n: usize) -> f64 {
    let vectors = m as f64 * m.min(n) as f64;
    T::singular_scratch(m, n) as f64 + T::KIND.bytes() as f64 * vectors
}

/// What [`right_svd`] takes for itself.
pub(super) fn svd_scratch<T: ComplexField>(m: usize, n: usize) -> usize {
    let (no, thin) = (ComputeSvdVectors::No, ComputeSvdVectors::Thin);
    svd::svd_scratch::<T>(n, m, no, thin, Par::Seq, Default::default()).unaligned_bytes_required()
}

/// The singular values of a row-major m x n matrix, falling. None if they did not converge.
pub fn singular_values<T: Scalar>(a: &[T], m: usize, n: usize) -> Option<Vec<f64>> {
    T::singular(a, m, n, None)
}

/// The singular values, falling, and the left singular vectors U (m x min(m, n), column-major) of a row-major
/// m x n matrix `A = U S V^H`. None if they did not converge.
pub fn left_singular<T: Scalar>(a: &[T], m: usize, n: usize) -> Option<(Vec<f64>, Vec<T>)> {
    let mut vectors = vec![T::ZERO; m * m.min(n)];
    let values = T::singular(a, m, n, Some(&mut vectors))?;
    if T::KIND.is_complex() {
        vectors.iter_mut().for_each(|x| *x = x.conj());
    }
    Some((values, vectors))
}

/// The SVD of `A^T`, which is what a row-major A is to faer: `A^T = conj(V) S conj(U)^H`, so its right vectors are
/// the conjugated left ones of A.
pub(super) fn right_svd<T: Scalar + ComplexField>(
    a: &[T],
    m: usize,
    n: usize,
    vectors: Option<&mut [T]>,
) -> Option<Vec<f64>> {
    let side = m.min(n);
    let (no, thin) = (ComputeSvdVectors::No, ComputeSvdVectors::Thin);
    let right = if vectors.is_some() { thin } else { no };
    let mut values = vec![T::ZERO; side];
    let scratch = svd::svd_scratch::<T>(n, m, no, right, Par::Seq, Default::default());
    let found = apart(side, || {
        svd::svd(
            MatRef::from_column_major_slice(a, n, m),
            DiagMut::from_slice_mut(&mut values),
            None,
            vectors.map(|v| MatMut::from_column_major_slice_mut(v, m, side)),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(scratch)),
            Default::default(),
        )
    });
    found.ok()?;
    Some(values.into_iter().map(Scalar::re).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::Complex;

    /// `||A - U U^H A||^2` for the first `rank` columns of U.
    fn lost<T: Scalar>(
        a: &[T],
        (m, n): (usize, usize),
        column: impl Fn(usize) -> Vec<T>,
        rank: usize,
    ) -> f64 {
        let mut rest = a.to_vec();
        for k in 0..rank {
            let u = column(k);
            for j in 0..n {
                let dot: T = (0..m).map(|i| u[i].conj() * a[i * n + j]).sum();
                (0..m).for_each(|i| rest[i * n + j] -= u[i] * dot);
            }
        }
        rest.iter().map(|x| x.abs_squared()).sum()
    }

    fn all_routes_agree<T: Scalar>() {
        for (m, n) in [(1, 1), (3, 7), (7, 3), (8, 8), (30, 41)] {
            let mut rng = stream(m as u64, b"spectral");
            let a: Vec<T> = (0..m * n).map(|_| T::normal(&mut rng)).collect();
            let all: f64 = a.iter().map(|x| x.abs_squared()).sum();
            let tolerance = 100.0 * T::KIND.epsilon() * all;
            let (singular, u) = left_singular(&a, m, n).unwrap();
            let values = singular_values(&a, m, n).unwrap();
            let (rising, vectors) = eigen(&gram(&a, m, n), m).unwrap();
            let squares = eigenvalues(&gram(&a, m, n), m).unwrap();
            for k in 0..m.min(n) {
                let square = singular[k] * singular[k];
                assert!((values[k] - singular[k]).abs() < tolerance);
                assert!((square - rising[m - 1 - k]).abs() < tolerance, "{m} {n} {k}");
                assert!((square - squares[m - 1 - k]).abs() < tolerance);
                let tail: f64 = singular[k + 1..].iter().map(|s| s * s).sum();
                let by_svd = lost(&a, (m, n), |j| u[j * m..(j + 1) * m].to_vec(), k + 1);
                let by_evd =
                    lost(&a, (m, n), |j| vectors[(m - 1 - j) * m..(m - j) * m].to_vec(), k + 1);
                assert!((by_svd - tail).abs() < tolerance, "{} {by_svd} {tail}", T::KIND);
                assert!((by_evd - tail).abs() < tolerance, "{} {by_evd} {tail}", T::KIND);
            }
        }
    }

    #[test]
    fn vectors_span_what_the_values_say() {
        all_routes_agree::<f32>();
        all_routes_agree::<f64>();
        all_routes_agree::<Complex<f32>>();
        all_routes_agree::<Complex<f64>>();
    }
}
