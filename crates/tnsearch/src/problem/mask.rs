//! Which entries of a tensor are known.

use crate::rng;
use crate::tensor::unflatten;
use rand::Rng as _;
use std::sync::Arc;
use thiserror::Error;

/// Why a mask cannot be used.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum MaskError {
    /// Another shape than the tensor's.
    #[error("the mask has shape {found:?}, the tensor {expected:?}")]
    Shape {
        /// The mask's.
        found: Vec<usize>,
        /// The tensor's.
        expected: Vec<usize>,
    },
    /// Nothing is known.
    #[error("every entry is missing; at least one must be observed")]
    Nothing,
    /// A share that is none.
    #[error("{name} is {value}; it must be above 0 and below 1")]
    Share {
        /// What it is a share of.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// More folds than entries.
    #[error("folds is {folds}, but {observed} entries are observed; it must be at most {observed}")]
    Folds {
        /// Folds asked for.
        folds: usize,
        /// Entries observed.
        observed: usize,
    },
    /// Too few entries to take some away.
    #[error("{observed} entries are observed; taking {taken} away leaves none")]
    TooFew {
        /// Entries observed.
        observed: usize,
        /// Entries that would be taken.
        taken: usize,
    },
}

/// A set of entries of a tensor, such as those that were observed. Clones share it.
///
/// ```
/// use tnsearch::problem::Mask;
/// let mask = Mask::new(vec![2, 3], vec![true, true, false, false, false, false]).unwrap();
/// assert_eq!((mask.count(), mask.contains(1), mask.contains(2)), (2, true, false));
/// // Nothing was observed in the last row, nor in the last column.
/// assert_eq!(mask.empty_slices(), [(0, 1), (1, 2)]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    dims: Vec<usize>,
    inside: Arc<Vec<bool>>,
    count: usize,
}

impl Mask {
    /// The entries whose value is true, in row-major order; there must be one.
    pub fn new(dims: Vec<usize>, inside: Vec<bool>) -> Result<Self, MaskError> {
        if dims.iter().map(|&d| d as u128).product::<u128>() != inside.len() as u128 {
            return Err(MaskError::Shape { found: vec![inside.len()], expected: dims });
        }
        let count = inside.iter().filter(|&&inside| inside).count();
        match count {
            0 => Err(MaskError::Nothing),
            _ => Ok(Mask { dims, inside: Arc::new(inside), count }),
        }
    }

    /// All entries.
    pub fn all(dims: &[usize]) -> Result<Self, MaskError> {
        Mask::new(dims.to_vec(), vec![true; dims.iter().product()])
    }

    /// The shape of the tensor.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// How many entries are in it.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether the entry at a position in row-major order is in it.
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn contains(&self, flat: usize) -> bool {
        self.inside[flat]
    }

    /// One truth value per entry, row-major.
    pub fn as_slice(&self) -> &[bool] {
        &self.inside
    }

    /// Whether it is every entry.
    pub fn is_all(&self) -> bool {
        self.count == self.inside.len()
    }

    /// The positions in it, in row-major order.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.inside.iter().enumerate().filter_map(|(k, &inside)| inside.then_some(k))
    }

    /// The slices without an entry in it: pairs of a mode and an index.
    pub fn empty_slices(&self) -> Vec<(usize, usize)> {
        let mut seen: Vec<Vec<bool>> = self.dims.iter().map(|&d| vec![false; d]).collect();
        for k in self.positions() {
            for (seen, i) in seen.iter_mut().zip(unflatten(k, &self.dims)) {
                seen[i] = true;
            }
        }
        let empty = |(mode, seen): (usize, &Vec<bool>)| -> Vec<(usize, usize)> {
            let unseen = seen.iter().enumerate().filter(|(_, seen)| !**seen);
            unseen.map(|(index, _)| (mode, index)).collect()
        };
        seen.iter().enumerate().flat_map(empty).collect()
    }

    /// A share of its entries taken away at random: what is left, and what was taken. The number taken is the share
    /// rounded, at least one; which ones follows from the seed.
    ///
    /// ```
    /// use tnsearch::problem::Mask;
    /// let (left, taken) = Mask::all(&[4, 5]).unwrap().without(0.9, 1).unwrap();
    /// assert_eq!((left.count(), taken.count()), (2, 18));
    /// assert!((0..20).all(|k| left.contains(k) != taken.contains(k)));
    /// ```
    pub fn without(&self, share: f64, seed: u64) -> Result<(Mask, Mask), MaskError> {
        if !(share > 0.0 && share < 1.0) {
            return Err(MaskError::Share { name: "the share taken away", value: share });
        }
        let taken = ((share * self.count as f64).round() as usize).max(1);
        self.split(0..taken, seed)
    }

    /// Its entries in as many parts of (nearly) one size as there are folds, by seed: fold `k` as what is left without
    /// that part, and the part.
    ///
    /// # Panics
    /// If there is no fold `k`.
    pub fn fold(&self, k: usize, folds: usize, seed: u64) -> Result<(Mask, Mask), MaskError> {
        assert!(k < folds, "a fold there is");
        if folds > self.count {
            return Err(MaskError::Folds { folds, observed: self.count });
        }
        let (begin, end) = (k * self.count / folds, (k + 1) * self.count / folds);
        self.split(begin..end, seed)
    }

    /// The entries in these places of a random order, and the others.
    fn split(&self, places: std::ops::Range<usize>, seed: u64) -> Result<(Mask, Mask), MaskError> {
        if places.is_empty() || places.len() >= self.count {
            return Err(MaskError::TooFew { observed: self.count, taken: places.len() });
        }
        let (mut left, mut taken) = (self.inside.to_vec(), vec![false; self.inside.len()]);
        let mut take = |k: usize| (left[k], taken[k]) = (false, true);
        // Short numbers where they do.
        match u32::try_from(self.inside.len()) {
            Ok(_) => {
                let order = shuffled(self.positions().map(|k| k as u32).collect(), seed);
                order[places].iter().for_each(|&k| take(k as usize));
            }
            Err(_) => {
                shuffled(self.positions().collect(), seed)[places].iter().for_each(|&k| take(k))
            }
        }
        Ok((Mask::new(self.dims.clone(), left)?, Mask::new(self.dims.clone(), taken)?))
    }

    /// Another view of the same entries: `position(k)` is where the new entry k was.
    pub(super) fn rearranged(&self, dims: Vec<usize>, position: &[usize]) -> Mask {
        let inside = position.iter().map(|&k| self.inside[k]).collect();
        Mask { dims, inside: Arc::new(inside), count: self.count }
    }
}

/// The same in a random order.
fn shuffled<N>(mut order: Vec<N>, seed: u64) -> Vec<N> {
    let mut rng = rng::stream(seed, b"mask");
    for k in (1..order.len()).rev() {
        let other = (rng.next_u64() % (k as u64 + 1)) as usize;
        order.swap(k, other);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_parts_of_the_whole() {
        let (whole, _) = Mask::all(&[3, 4, 5]).unwrap().without(0.3, 7).unwrap();
        let mut times = vec![0; 60];
        for k in 0..4 {
            let (left, part) = whole.fold(k, 4, 9).unwrap();
            assert_eq!(left.count() + part.count(), whole.count());
            assert!(part.positions().all(|k| whole.contains(k) && !left.contains(k)));
            part.positions().for_each(|k| times[k] += 1);
        }
        assert!((0..60).all(|k| times[k] == usize::from(whole.contains(k))));
    }

    #[test]
    fn the_seed_decides_what_is_taken() {
        let all = Mask::all(&[10, 10]).unwrap();
        assert_eq!(all.without(0.5, 1), all.without(0.5, 1));
        assert_ne!(all.without(0.5, 1), all.without(0.5, 2));
    }

    #[test]
    fn says_what_is_wrong() {
        let all = Mask::all(&[2]).unwrap();
        assert!(matches!(all.without(1.0, 0), Err(MaskError::Share { .. })));
        assert!(matches!(all.without(0.99, 0), Err(MaskError::TooFew { .. })));
        assert_eq!(all.fold(0, 3, 0), Err(MaskError::Folds { folds: 3, observed: 2 }));
        assert!(all.fold(0, 2, 0).is_ok());
        assert_eq!(Mask::new(vec![2], vec![false; 2]), Err(MaskError::Nothing));
        assert!(matches!(Mask::new(vec![3], vec![true; 2]), Err(MaskError::Shape { .. })));
    }
}
