//! Truncated SVD: an orthonormal basis of the leading left singular vectors of a matrix.

use super::{DecomposeError, Limits};
use crate::linalg::{self, Factor, matmul};
use crate::problem::Stop;
use crate::tensor::{Scalar, sum_of_squares};

/// A given rank is taken from the Gram matrix only if its last squared singular value is at least this
/// fraction of all: then what rounding adds to the error is below 1e-24 of the whole. 1e5 ulp where that is more.
const CLEAR: f64 = 1e-6;
/// What is lost by so many ulp of `||A||` is lost by rounding: the matrix has that rank.
const EXACT: f64 = 8.0;
/// Entries of a residual that are computed at a time.
const STRIPE: usize = 1 << 18;

/// How many singular vectors to keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Keep {
    /// This many, or as many as there are; any basis of their space will do.
    Rank(usize),
    /// This many singular vectors themselves, in their order.
    Leading(usize),
    /// As few as lose at most this much of the sum of squares.
    Within(f64),
}

/// The leading left singular vectors of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Basis<T> {
    /// `U`, rows x rank, row-major.
    pub u: Vec<T>,
    /// The number of columns.
    pub rank: usize,
    /// An upper bound on `||A - U U^H A||^2`, the squares of the singular values left out.
    pub lost: f64,
    /// The squares of the singular values, falling; none where they were not needed.
    pub squares: Vec<f64>,
}

/// The leading left singular vectors of `a` (m x n, row-major).
///
/// Where the rows are few and the accuracy allows it they come from the Gram matrix `A A^H`, which knows each
/// squared singular value to a few ulp of `||A||^2`; its rounding is counted as lost. Else from an SVD, which knows each
/// singular value to a few ulp of the largest; what such a basis loses is computed entry by entry.
pub(super) fn left_basis<T: Scalar>(
    a: &[T],
    (m, n): (usize, usize),
    keep: Keep,
    limits: &Limits,
) -> Result<Basis<T>, DecomposeError> {
    if let Keep::Rank(r) = keep
        && r >= m
        && m <= n
    {
        return Ok(Basis { u: identity(m), rank: m, lost: 0.0, squares: Vec::new() });
    }
    // "A few ulp" as for the spectra of cuts: 4 times the number of values and the root of the length.
    let eta = 4.0 * (m.min(n) as f64 + (m.max(n) as f64).sqrt()) * T::KIND.epsilon();
    let clear = CLEAR.max(1e5 * T::KIND.epsilon());
    let all = sum_of_squares(a);
    let precise = match keep {
        Keep::Rank(_) | Keep::Leading(_) => true,
        Keep::Within(budget) => budget >= 100.0 * eta * all,
    };
    if m <= n
        && precise
        && let Some((squares, vectors)) = gram_evd(a, m, n, limits)?
    {
        let (rank, lost) = choose(&squares, keep, |tail| tail + eta * all, 0.0);
        if matches!(keep, Keep::Within(_)) || squares[rank - 1] >= clear * all {
            // Eigenvectors come in the order of rising eigenvalues.
            let column = |j: usize| &vectors[(m - 1 - j) * m..(m - j) * m];
            let basis = Basis { u: from_columns(m, rank, column), rank, lost, squares };
            // Of a given rank what is lost may be less than squares tell apart.
            let unseen = !matches!(keep, Keep::Within(_)) && lost > 0.0 && lost < 100.0 * eta * all;
            let lost = if unseen { outside(a, &basis, (m, n)) } else { lost };
            return Ok(Basis { lost, ..basis });
        }
    }
    if !precise && matches!(keep, Keep::Within(budget) if budget > 0.0) {
        return precise_basis(a, (m, n), keep, limits);
    }
    let (values, vectors) = thin_svd(a, m, n, limits)?;
    let squares: Vec<f64> = values.iter().map(|s| s * s).collect();
    let count = squares.len() as f64;
    // Every value is off by eta ||A|| at most; what is no larger is zero for all that is known.
    let error = eta * all.sqrt();
    let round = |tail: f64| tail + 2.0 * error * (count * tail).sqrt() + count * error * error;
    let (rank, lost) = choose(&squares, keep, round, error * error);
    let u = from_columns(m, rank, |j| &vectors[j * m..(j + 1) * m]);
    let basis = Basis { u, rank, lost, squares };
    // The kernels' SVD of a long matrix takes what is below `16 n` ulp for zero.
    let blind = (16.0 * m.max(n) as f64 * T::KIND.epsilon()).powi(2) * all;
    if matches!(keep, Keep::Within(_)) || lost == 0.0 || lost > 100.0 * blind {
        return Ok(basis);
    }
    let lost = outside(a, &basis, (m, n));
    match lost <= (EXACT * T::KIND.epsilon()).powi(2) * all {
        true => Ok(Basis { lost, ..basis }),
        false => precise_basis(a, (m, n), keep, limits),
    }
}

/// The same by an SVD that is right to a few ulp of the largest singular value, with 64 bits; what is lost is that of the
/// basis as it is.
fn precise_basis<T: Scalar>(
    a: &[T],
    (m, n): (usize, usize),
    keep: Keep,
    limits: &Limits,
) -> Result<Basis<T>, DecomposeError> {
    let (values, vectors) = precise_svd(a, (m, n), limits)?;
    let squares: Vec<f64> = values.iter().map(|s| s * s).collect();
    let narrow = |x: &T::Wide| T::from_parts(x.re(), x.im());
    let of_rank = |rank: usize| {
        let columns: Vec<T> = vectors[..rank * m].iter().map(narrow).collect();
        let u = from_columns(m, rank, |j| &columns[j * m..(j + 1) * m]);
        let basis = Basis { u, rank, lost: 0.0, squares: squares.clone() };
        let lost = if rank == squares.len() { 0.0 } else { outside(a, &basis, (m, n)) };
        Basis { lost, ..basis }
    };
    let (mut rank, mut tail) = choose(&squares, keep, |tail| tail, 0.0);
    let mut basis = of_rank(rank);
    let Keep::Within(budget) = keep else { return Ok(basis) };
    // Beyond what rounding alone loses, one more vector may be needed.
    while basis.lost > budget && rank < squares.len() && tail > 0.01 * basis.lost {
        limits.check_stop()?;
        rank += 1;
        tail = squares[rank..].iter().rev().sum();
        basis = of_rank(rank);
    }
    Ok(basis)
}

/// `||A - U U^H A||^2`, entry by entry, some columns at a time.
fn outside<T: Scalar>(a: &[T], basis: &Basis<T>, (m, n): (usize, usize)) -> f64 {
    let rank = basis.rank;
    let u = Factor::row_major(&basis.u, rank);
    let step = (STRIPE / m).clamp(1, n);
    let stripe = |from: usize| {
        let columns = step.min(n - from);
        let part = Factor::row_major(&a[from..], n);
        let mut inner = vec![T::ZERO; rank * columns];
        matmul((rank, columns, m), &mut inner, u.transposed().conj(), part);
        let mut z = vec![T::ZERO; m * columns];
        matmul((m, columns, rank), &mut z, u, Factor::row_major(&inner, columns));
        for (i, z) in z.chunks_exact_mut(columns).enumerate() {
            z.iter_mut().zip(&a[i * n + from..]).for_each(|(z, a)| *z = *a - *z);
        }
        sum_of_squares(&z)
    };
    (0..n).step_by(step).map(stripe).sum()
}

/// The rank to keep and what is lost with it, from squared singular values in falling order. `round` adds the
/// rounding to a tail; values up to `zero` are dropped in any case if no rank was given.
fn choose(squares: &[f64], keep: Keep, round: impl Fn(f64) -> f64, zero: f64) -> (usize, f64) {
    let tail = |r: usize| squares[r..].iter().rev().sum::<f64>();
    let rank = match keep {
        Keep::Rank(r) | Keep::Leading(r) => r.min(squares.len()),
        Keep::Within(budget) => {
            let mut rank = squares.len();
            let mut lost = 0.0;
            while rank > 1 {
                lost += squares[rank - 1];
                if round(lost) > budget && squares[rank - 1] > zero {
                    break;
                }
                rank -= 1;
            }
            rank
        }
    }
    .max(1);
    (rank, if rank == squares.len() { 0.0 } else { round(tail(rank)) })
}

/// Singular values, or their squares, and vectors.
type Values<T> = (Vec<f64>, Vec<T>);

/// Squared singular values in falling order, and left singular vectors (column-major, in rising order), from
/// the Gram matrix of the rows. None if the eigenvalues did not converge.
fn gram_evd<T: Scalar>(
    a: &[T],
    m: usize,
    n: usize,
    limits: &Limits,
) -> Result<Option<Values<T>>, DecomposeError> {
    // The matrix and what it comes from, the Gram matrix and the basis.
    let eigen = linalg::eigen_bytes::<T>(m) / T::KIND.bytes() as f64;
    limits.check_entries::<T>(2.0 * (a.len() as f64) + 2.0 * (m * m) as f64 + eigen)?;
    // Eigenvectors of m rows take about as long as 25 m^3 operations of a product.
    let flops = 25.0 * (m as f64).powi(3);
    limits.check_time(2.0 * (a.len() * m) as f64 + flops)?;
    let gram = linalg::gram_until(a, m, n, Some(&|| limits.stop.is_set()));
    let gram = gram.ok_or(DecomposeError::Interrupted)?;
    let found = limits.stop.wait_for(flops, move || linalg::eigen(&gram, m));
    let Some((values, vectors)) = found.ok_or(DecomposeError::Interrupted)? else {
        return Ok(None);
    };
    let squares = values.iter().rev().map(|v| v.max(0.0)).collect();
    Ok(Some((squares, vectors)))
}

/// Singular values in falling order and left singular vectors (column-major) of a row-major matrix.
fn thin_svd<T: Scalar>(
    a: &[T],
    m: usize,
    n: usize,
    limits: &Limits,
) -> Result<Values<T>, DecomposeError> {
    let side = m.min(n);
    // The matrix, what it comes from, a copy of it, and the basis.
    let svd = linalg::left_singular_bytes::<T>(m, n) / T::KIND.bytes() as f64;
    limits.check_entries::<T>(3.0 * (m as f64) * n as f64 + (m * side) as f64 + svd)?;
    let flops = 10.0 * (a.len() * side) as f64 + 25.0 * (side as f64).powi(3);
    limits.check_time(flops)?;
    if flops < Stop::SHORT {
        let found = linalg::left_singular(a, m, n);
        return found.ok_or(DecomposeError::NoConvergence { rows: m, columns: n });
    }
    let own = a.to_vec();
    let found = limits.stop.wait_for(flops, move || linalg::left_singular(&own, m, n));
    found
        .ok_or(DecomposeError::Interrupted)?
        .ok_or(DecomposeError::NoConvergence { rows: m, columns: n })
}

/// The same with 64 bits, each value to a few ulp of the largest.
fn precise_svd<T: Scalar>(
    a: &[T],
    (m, n): (usize, usize),
    limits: &Limits,
) -> Result<Values<T::Wide>, DecomposeError> {
    let side = m.min(n);
    // The matrix and what it comes from, the basis twice, and what is beside them.
    let own = linalg::precise_bytes::<T>(m, n) / T::KIND.bytes() as f64;
    limits.check_entries::<T>(2.0 * (m as f64) * n as f64 + 2.0 * (m * side) as f64 + own)?;
    let flops = 25.0 * (side as f64).powi(3);
    limits.check_time(4.0 * (a.len() * side) as f64 + flops)?;
    let stopped = || limits.stop.is_set();
    let found = match m <= n {
        true => {
            let triangle = linalg::triangle_until(a, (m, n), Some(&stopped));
            let triangle = triangle.ok_or(DecomposeError::Interrupted)?;
            limits.stop.wait_for(flops, move || linalg::left_singular(&triangle, m, m))
        }
        false => Some(linalg::precise_left_singular(a, (m, n), None)),
    };
    found
        .ok_or(DecomposeError::Interrupted)?
        .ok_or(DecomposeError::NoConvergence { rows: m, columns: n })
}

/// Row-major m x rank from columns.
fn from_columns<'c, T: Scalar>(m: usize, rank: usize, column: impl Fn(usize) -> &'c [T]) -> Vec<T> {
    let mut u = vec![T::ZERO; m * rank];
    for j in 0..rank {
        for (i, x) in column(j).iter().enumerate() {
            u[i * rank + j] = *x;
        }
    }
    u
}

impl<T: Scalar> Basis<T> {
    /// The first vectors alone, of a basis in the order of its singular values.
    pub fn leading(&self, rank: usize) -> Self {
        let rank = rank.min(self.rank);
        let rows = self.u.chunks_exact(self.rank).flat_map(|row| &row[..rank]);
        let tail: f64 = self.squares[rank.min(self.squares.len())..].iter().rev().sum();
        let lost = if rank == self.rank { self.lost } else { self.lost.max(tail) };
        Basis { u: rows.copied().collect(), rank, lost, squares: self.squares.clone() }
    }

    /// Turns every vector so that its largest entry is real and positive (the first of equal ones): singular vectors
    /// have no sign or phase of their own.
    pub fn with_signs(mut self) -> Self {
        for j in 0..self.rank {
            let column = self.u.iter().skip(j).step_by(self.rank);
            let largest = column.fold(T::ZERO, |m, &x| if x.abs() > m.abs() { x } else { m });
            let vector = self.u.iter_mut().skip(j).step_by(self.rank);
            if T::KIND.is_complex() {
                let turn = largest.conj().unscale(largest.abs().max(f64::MIN_POSITIVE));
                vector.for_each(|x| *x *= turn);
            } else if largest.re() < 0.0 {
                vector.for_each(|x| *x = -*x);
            }
        }
        self
    }
}

fn identity<T: Scalar>(m: usize) -> Vec<T> {
    let mut u = vec![T::ZERO; m * m];
    u.iter_mut().step_by(m + 1).for_each(|x| *x = T::ONE);
    u
}

/// `U^H A`, rank x n.
pub(super) fn project<T: Scalar>(basis: &Basis<T>, a: &[T], (m, n): (usize, usize)) -> Vec<T> {
    let mut out = vec![T::ZERO; basis.rank * n];
    let u = Factor::row_major(&basis.u, basis.rank).transposed().conj();
    matmul((basis.rank, n, m), &mut out, u, Factor::row_major(a, n));
    out
}

/// `U C`, m x n: what a projection kept, back in the full space.
pub(super) fn expand<T: Scalar>(basis: &Basis<T>, c: &[T], (m, n): (usize, usize)) -> Vec<T> {
    let mut out = vec![T::ZERO; m * n];
    let u = Factor::row_major(&basis.u, basis.rank);
    matmul((m, n, basis.rank), &mut out, u, Factor::row_major(c, n));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::Complex;
    use rand_distr::{Distribution, StandardNormal};

    fn normal(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, b"truncate");
        (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()
    }

    fn distance(a: &[f64], basis: &Basis<f64>, shape: (usize, usize)) -> f64 {
        let z = expand(basis, &project(basis, a, shape), shape);
        sum_of_squares(&a.iter().zip(&z).map(|(x, z)| x - z).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_lost_is_the_tail_of_an_independent_svd() {
        for (k, (m, n)) in [(7, 40), (40, 7), (12, 12), (1, 9), (9, 1)].into_iter().enumerate() {
            let a = normal(m * n, k as u64);
            let values = faer::Mat::from_fn(m, n, |i, j| a[i * n + j]).singular_values().unwrap();
            let tails: Vec<f64> =
                (0..=m.min(n)).map(|r| values[r..].iter().map(|s| s * s).sum()).collect();
            for r in 1..=m.min(n) {
                let basis = left_basis(&a, (m, n), Keep::Rank(r), &Limits::none()).unwrap();
                assert_eq!(basis.rank, r);
                assert!((distance(&a, &basis, (m, n)) - tails[r]).abs() < 1e-12 * tails[0]);
                assert!(basis.lost >= tails[r] * (1.0 - 1e-13), "{} {}", basis.lost, tails[r]);
                // Just enough for rank r, and just too little.
                for (factor, want) in [(1.0 + 1e-9, r), (1.0 - 1e-9, r + 1)] {
                    let keep = Keep::Within(tails[r] * factor);
                    let basis = left_basis(&a, (m, n), keep, &Limits::none()).unwrap();
                    if r < m.min(n) {
                        assert_eq!(basis.rank, want.min(m.min(n)), "{m}x{n} {r} {factor}");
                    }
                    assert!(distance(&a, &basis, (m, n)) <= tails[r] * factor + 1e-26 * tails[0]);
                }
            }
        }
    }

    #[test]
    fn small_singular_values_are_seen_where_the_gram_matrix_is_blind() {
        // diag(1, 1e-9, 1e-20): squares 1, 1e-18, 1e-40.
        let mut a = vec![0.0; 3 * 5];
        (a[0], a[6], a[12]) = (1.0, 1e-9, 1e-20);
        let rank = |keep| left_basis(&a, (3, 5), keep, &Limits::none()).unwrap().rank;
        assert_eq!(rank(Keep::Within(1e-10)), 1);
        assert_eq!(rank(Keep::Within(1e-19)), 2);
        assert_eq!(rank(Keep::Within(0.0)), 2, "1e-20 cannot be told from zero");
        let two = left_basis(&a, (3, 5), Keep::Rank(2), &Limits::none()).unwrap();
        assert!(distance(&a, &two, (3, 5)) < 1e-34);
    }

    /// `x_ij = 1 / (1 + i + j)` with its columns in a row that is much longer than it is high: its singular values fall by
    /// a factor of 20 or so each, down to rounding.
    fn hilbert<T: Scalar>(m: usize, n: usize) -> Vec<T> {
        let entry = |k: usize| 1.0 / (1.0 + (k / n) as f64 / m as f64 + (k % n) as f64 / n as f64);
        (0..m * n).map(|k| T::from_parts(entry(k), 0.1 * entry(k) * entry(k))).collect()
    }

    fn every_budget_is_kept<T: Scalar>() {
        // What vectors that are rounded to their kind lose.
        let rounding = (8.0 * T::KIND.epsilon()).powi(2);
        for (m, n) in [(20, 3000), (20, 25), (3000, 20)] {
            let a = hilbert::<T>(m, n);
            let all = sum_of_squares(&a);
            let exact = linalg::precise_singular_values(&a, (m, n), None).unwrap();
            let tail = |r: usize| exact[r..].iter().map(|s| s * s).sum::<f64>() / all;
            for digits in 1..15 {
                let eps = 10f64.powi(-2 * digits);
                if eps < 4.0 * rounding {
                    break;
                }
                let keep = Keep::Within(eps * all);
                let basis = left_basis(&a, (m, n), keep, &Limits::none()).unwrap();
                let lost = outside(&a, &basis, (m, n)) / all;
                assert!(lost <= eps, "{} {m}x{n} 1e-{digits}: {lost}", T::KIND);
                assert!(basis.lost / all >= 0.9 * lost - rounding && basis.lost <= eps * all);
                // As few as there can be, up to what rounding adds to a tail right at the budget.
                let least = (1..).find(|&r| tail(r) <= 0.8 * eps - rounding).unwrap();
                assert!(basis.rank <= least, "{} {m}x{n} 1e-{digits}", T::KIND);
                // The same by its rank.
                let ranked = left_basis(&a, (m, n), Keep::Rank(basis.rank), &Limits::none());
                let ranked = outside(&a, &ranked.unwrap(), (m, n)) / all;
                assert!(ranked <= 1.01 * lost + rounding, "{} {m}x{n} 1e-{digits}", T::KIND);
            }
        }
    }

    #[test]
    fn budgets_down_to_rounding_are_kept_with_the_fewest_vectors() {
        every_budget_is_kept::<f32>();
        every_budget_is_kept::<f64>();
        every_budget_is_kept::<Complex<f32>>();
        every_budget_is_kept::<Complex<f64>>();
    }

    #[test]
    fn the_basis_is_orthonormal() {
        for (m, n) in [(30, 200), (30, 31), (31, 30), (200, 6)] {
            let a = normal(m * n, 3);
            let basis =
                left_basis(&a, (m, n), Keep::Within(0.3 * sum_of_squares(&a)), &Limits::none());
            let Basis { u, rank, .. } = basis.unwrap();
            for (i, j) in (0..rank).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                let dot: f64 = (0..m).map(|k| u[k * rank + i] * u[k * rank + j]).sum();
                assert!((dot - f64::from(i == j)).abs() < 1e-13);
            }
        }
    }

    #[test]
    fn memory_is_refused_with_a_figure() {
        let a = vec![1.0; 200 * 300];
        let limits = Limits { max_bytes: Some(100_000), ..Limits::none() };
        let error = left_basis(&a, (200, 300), Keep::Rank(3), &limits).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the decomposition needs about 4 MB of memory, but the limit is 1 MB"
        );
    }
}
