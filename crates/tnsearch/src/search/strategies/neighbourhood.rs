//! Sampling structures: anywhere in the search space, and around another one (Algorithm 1 of the paper).

use crate::graph::{Structure, Template};
use crate::rng::Rng;
use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_distr::StandardNormal;
use std::sync::Arc;

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

/// A uniform member of the search space: a random permutation, and ranks in `1..=max_rank`.
pub(super) fn sample_anywhere(
    template: &Arc<Template>,
    max_rank: usize,
    rng: &mut Rng,
) -> Structure {
    let mut permutation = template.external_vertices();
    permutation.shuffle(rng);
    let ranks = template.edges().iter().map(|_| rng.random_range(1..=max_rank)).collect();
    structure(template, permutation, ranks)
}

/// How far a sample lies from its centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// The standard deviation of a rank step.
    pub std_dev: f64,
    /// The probability that two modes swap their vertices.
    pub swap: f64,
}

impl Spread {
    /// That of TNLS after `m` iterations: variance `c1^m`, probability `c2^m`.
    pub(super) fn after(m: usize, c1: f64, c2: f64) -> Self {
        let m = m as f64;
        Spread { std_dev: c1.powf(m).sqrt(), swap: c2.powf(m) }
    }
}

/// A structure around a centre: each rank from `N(r, std_dev^2)`, rounded to the nearest whole number and
/// pulled back into `[1, max_rank]`; with probability `swap` two modes swap their vertices.
pub(super) fn sample_around(
    centre: &Structure,
    spread: Spread,
    max_rank: usize,
    rng: &mut Rng,
) -> Structure {
    let step = |&r: &usize| {
        let drawn = r as f64 + spread.std_dev * rng.sample::<f64, _>(StandardNormal);
        drawn.round().clamp(1.0, max_rank as f64) as usize
    };
    let ranks = centre.ranks().iter().map(step).collect();
    let radius = usize::from(rng.random_bool(spread.swap));
    let permutation = sample_neighbour(centre.permutation(), radius, rng);
    structure(centre.template(), permutation, ranks)
}

/// A structure from parts that a sampler has drawn.
pub(super) fn structure(
    template: &Arc<Template>,
    permutation: Vec<usize>,
    ranks: Vec<usize>,
) -> Structure {
    Structure::new(template.clone(), permutation, ranks)
        .expect("a reordering of the external vertices and one rank of at least 1 per edge")
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
