//! Parts of networks as rounding needs them: split by SVDs, contracted within limits.

use super::super::{DecomposeError, Limits};
use crate::linalg;
use crate::network::contraction::Label;
pub(super) use crate::network::parts::{Order, Part, entries};
use crate::tensor::Scalar;

/// No contraction makes a block of more entries than this, whatever memory there is.
const MOST_ENTRIES: f64 = 1e13;

impl<T: Scalar> Part<T> {
    /// `A = U C` with A the matrix "other labels x these", U orthonormal with at most `most` columns: U with the
    /// new label in the place of the others' company, C with the new label and these. With the squared singular
    /// values of A, falling. Columns that are zero for all that is known are left out.
    pub(super) fn split(
        &self,
        columns: &[Label],
        bond: Label,
        most: usize,
        lengths: &mut [usize],
    ) -> Result<Halves<T>, DecomposeError> {
        let rows: Vec<Label> =
            self.labels.iter().copied().filter(|l| !columns.contains(l)).collect();
        let order: Vec<Label> = rows.iter().chain(columns).copied().collect();
        let (m, n) = (entries(&rows, lengths), entries(columns, lengths));
        let a = self.ordered(&order, lengths);
        let found = linalg::left_singular(&a.data, m, n);
        let (values, u) = found.ok_or(DecomposeError::NoConvergence { rows: m, columns: n })?;
        let squares: Vec<f64> = values.iter().map(|s| s * s).collect();
        let zero = (8.0 + (m.max(n) as f64).sqrt()) * T::KIND.epsilon() * values[0];
        let rank = values.iter().filter(|&&s| s > zero).count().min(most).max(1);
        let mut left = vec![T::ZERO; m * rank];
        for j in 0..rank {
            (0..m).for_each(|i| left[i * rank + j] = u[j * m + i]);
        }
        let mut right = vec![T::ZERO; rank * n];
        let basis = linalg::Factor::row_major(&left, rank).transposed().conj();
        linalg::matmul((rank, n, m), &mut right, basis, linalg::Factor::row_major(&a.data, n));
        lengths[bond] = rank;
        let mut labels = rows;
        labels.push(bond);
        let right_labels = std::iter::once(bond).chain(columns.iter().copied()).collect();
        let (left, right) = (Part::new(labels, left), Part::new(right_labels, right));
        Ok(Halves { left, right, squares, rank })
    }
}

/// A part in two, [`Part::split`].
pub(super) struct Halves<T> {
    pub left: Part<T>,
    pub right: Part<T>,
    pub squares: Vec<f64>,
    pub rank: usize,
}

impl Order {
    /// Refuses what takes too much memory.
    pub fn check<T: Scalar>(&self, limits: &Limits) -> Result<(), DecomposeError> {
        let capped = Limits {
            max_bytes: Some(
                limits
                    .max_bytes
                    .unwrap_or(u64::MAX)
                    .min((MOST_ENTRIES * T::KIND.bytes() as f64) as u64),
            ),
            ..limits.clone()
        };
        // Reordered copies stand beside the blocks.
        capped.check_entries::<T>(2.0 * self.peak)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::Complex;

    fn random<T: Scalar>(labels: &[Label], lengths: &[usize], seed: u64) -> Part<T> {
        let mut rng = stream(seed, b"part");
        let data = (0..entries(labels, lengths)).map(|_| T::normal(&mut rng)).collect();
        Part::new(labels.to_vec(), data)
    }

    #[test]
    fn a_split_multiplies_back() {
        let mut lengths = vec![3, 4, 2, 5, 1];
        let a = random::<Complex<f64>>(&[0, 1, 2, 3], &lengths, 1);
        let halves = a.split(&[3, 1], 4, 99, &mut lengths).unwrap();
        assert_eq!((halves.rank, lengths[4]), (6, 6));
        let back = halves.left.times(&halves.right, &lengths).ordered(&a.labels, &lengths);
        for (x, y) in a.data.iter().zip(&back.data) {
            assert!((x - y).norm() < 1e-12);
        }
        let all: f64 = a.data.iter().map(|x| x.norm_sqr()).sum();
        assert!((halves.squares.iter().sum::<f64>() - all).abs() < 1e-12 * all);
    }

    #[test]
    fn large_contractions_are_refused() {
        let order = Order::find(&[vec![0, 1], vec![1, 2]], &[2, 3, 4]);
        let limits = Limits { max_bytes: Some(100), ..Limits::none() };
        assert!(
            order.check::<f64>(&limits).is_err() && order.check::<f64>(&Limits::none()).is_ok()
        );
    }
}
