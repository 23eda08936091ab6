//! Algorithm 1 of the paper: sampling the neighbourhood of a permutation.

use crate::rng::Rng;
use rand::RngExt as _;

/// A random permutation at distance `radius` or less: `radius` times, two distinct modes are drawn
/// uniformly and swap their vertices (the paper's Algorithm 1 over `I_d(G)`, proven there to draw every
/// member with positive probability). With fewer than two modes there is nothing to swap.
///
/// ```
/// let mut rng = tnsearch::rng::stream(1, b"example");
/// let near = tnsearch::search::sample_neighbour(&[0, 1, 2, 3], 1, &mut rng);
/// assert_eq!(near.iter().enumerate().filter(|(n, v)| n != *v).count(), 2);
/// ```
pub fn sample_neighbour(permutation: &[usize], radius: usize, rng: &mut Rng) -> Vec<usize> {
    let mut near = permutation.to_vec();
    let n = near.len();
    if n < 2 {
        return near;
    }
    for _ in 0..radius {
        let i = rng.random_range(0..n);
        // Uniform over the n - 1 modes other than i.
        let j = (i + 1 + rng.random_range(0..n - 1)) % n;
        near.swap(i, j);
    }
    near
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use std::collections::HashMap;

    #[test]
    fn every_pair_is_swapped_equally_often() {
        let mut rng = stream(5, b"pairs");
        let mut seen: HashMap<Vec<usize>, usize> = HashMap::new();
        let draws = 20_000;
        for _ in 0..draws {
            *seen.entry(sample_neighbour(&[4, 7, 1, 0, 2], 1, &mut rng)).or_default() += 1;
        }
        assert_eq!(seen.len(), 10, "the pairs of 5 modes");
        for (permutation, count) in seen {
            // 2000 expected, standard deviation 42.
            assert!((1800..2200).contains(&count), "{permutation:?}: {count}");
        }
    }

    #[test]
    fn a_radius_reaches_everything_within_it() {
        let mut rng = stream(6, b"radius");
        let mut seen: Vec<Vec<usize>> =
            (0..2000).map(|_| sample_neighbour(&[0, 1, 2, 3], 2, &mut rng)).collect();
        seen.sort();
        seen.dedup();
        // Products of two swaps: all 12 even permutations of 4 modes.
        assert_eq!(seen.len(), 12);
        assert_eq!(sample_neighbour(&[3], 4, &mut rng), [3]);
        assert_eq!(sample_neighbour(&[1, 0], 0, &mut rng), [1, 0]);
    }
}
