//! A sum over an index of few values, with fewer of them.

use super::{eigen, gram};
use crate::tensor::{Scalar, power};

/// Two factors `a` (`now` x n) and `b` (`now` x m), row-major, of a product `a^T b`: those of its best approximation
/// with `rank` rows each. None where it is no number, or zero.
pub fn narrowed<T: Scalar>(a: &[T], b: &[T], now: usize, rank: usize) -> Option<(Vec<T>, Vec<T>)> {
    let (size_a, size_b) = (power::exponent(a)?, power::exponent(b)?);
    let most = if T::KIND.epsilon() > 1e-10 { 30 } else { 250 };
    if size_a.abs().max(size_b.abs()) <= most {
        return narrowed_near_one(a, b, now, rank);
    }
    // Squares of such numbers may be none.
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    power::multiply(&mut a, -size_a);
    power::multiply(&mut b, -size_b);
    let (mut a, mut b) = narrowed_near_one(&a, &b, now, rank)?;
    let mut by = power::shares(size_a + size_b, 2);
    power::multiply(&mut a, by.next()?);
    power::multiply(&mut b, by.next()?);
    Some((a, b))
}

fn narrowed_near_one<T: Scalar>(
    a: &[T],
    b: &[T],
    now: usize,
    rank: usize,
) -> Option<(Vec<T>, Vec<T>)> {
    // Keep the leading directions of conj(a a^H)^(1/2) b.
    let (values, vectors) = eigen(&gram(a, now, a.len() / now), now)?;
    let largest = values.last().copied().filter(|v| *v > 0.0)?;
    let scale: Vec<f64> = values.iter().map(|v| v.max(1e-14 * largest).sqrt()).collect();
    // a = Q S w with w orthonormal rows; so a^T b = w^T S Q^T b.
    let turned = |data: &[T], conj: bool, by: &dyn Fn(usize) -> f64| -> Vec<T> {
        let n = data.len() / now;
        let mut out = vec![T::ZERO; data.len()];
        for k in 0..now {
            for i in 0..now {
                let q = vectors[k * now + i];
                let q = if conj { q.conj() } else { q }.scale(by(k));
                for j in 0..n {
                    out[k * n + j] += q * data[i * n + j];
                }
            }
        }
        out
    };
    let a = turned(a, true, &|k| 1.0 / scale[k]);
    let b = turned(b, false, &|k| scale[k]);
    let (_, vectors) = eigen(&gram(&b, now, b.len() / now), now)?;
    let keep = |data: &[T], conj: bool| -> Vec<T> {
        let n = data.len() / now;
        let mut out = vec![T::ZERO; rank * n];
        for r in 0..rank {
            for i in 0..now {
                let q = vectors[(now - 1 - r) * now + i];
                let q = if conj { q.conj() } else { q };
                for j in 0..n {
                    out[r * n + j] += q * data[i * n + j];
                }
            }
        }
        out
    };
    Some((keep(&a, false), keep(&b, true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng;
    use crate::tensor::Tensor;

    #[test]
    fn what_is_left_is_the_best_of_its_rank() {
        // The lost part of a^T b is what its smallest singular values weigh, here of a matrix built from them.
        let mut rng = rng::stream(3, b"narrow");
        let (now, n, m) = (4, 6, 5);
        let draw = |len: usize, rng: &mut rng::Rng| -> Vec<f64> {
            (0..len).map(|_| f64::normal(rng)).collect()
        };
        let (a, b) = (draw(now * n, &mut rng), draw(now * m, &mut rng));
        let product = |a: &[f64], b: &[f64], r: usize| -> Vec<f64> {
            let at = |i: usize, j: usize| (0..r).map(|k| a[k * n + i] * b[k * m + j]).sum();
            (0..n * m).map(|k| at(k / m, k % m)).collect()
        };
        let whole = product(&a, &b, now);
        let values = crate::linalg::eigenvalues(&gram(&whole, n, m), n).unwrap();
        for rank in 1..=now {
            let (a, b) = narrowed(&a, &b, now, rank).unwrap();
            let lost = Tensor::new(
                vec![n * m],
                whole.iter().zip(product(&a, &b, rank)).map(|(x, z)| x - z).collect(),
            );
            // Rising: the n - rank first are lost.
            let expected: f64 = values[..n - rank].iter().map(|v| v.max(0.0)).sum();
            let lost = lost.unwrap().norm_squared();
            assert!((lost - expected).abs() < 1e-9 * values[n - 1], "{rank}: {lost} {expected}");
        }
        assert!(narrowed(&[0.0; 8], &[0.0; 8], 2, 1).is_none());
    }
}
