//! Which ranks to take: where they save most parameters for what they lose.

use crate::graph::Structure;

/// The squared singular values of each edge, falling, relative to the squared norm.
pub(super) type Spectra = Vec<Vec<f64>>;

/// Ranks, and what they are known to lose at most: the sum of the tails.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranks {
    pub ranks: Vec<usize>,
    pub tails: f64,
    pub params: u128,
}

/// The ways down from full ranks, one singular value at a time: always the one that saves most parameters for what it
/// loses. Ends where all ranks are 1.
pub(super) fn ways_down(
    structure: &Structure,
    dims: &[usize],
    spectra: &Spectra,
    most: &[usize],
) -> Vec<Ranks> {
    let mut ranks: Vec<usize> =
        spectra.iter().zip(most).map(|(s, &m)| s.len().min(m).max(1)).collect();
    let mut tails: f64 = spectra.iter().zip(&ranks).map(|(s, &r)| tail(s, r)).sum();
    let mut ways =
        vec![Ranks { params: params(structure, dims, &ranks), ranks: ranks.clone(), tails }];
    loop {
        let sizes = sizes(structure, dims, &ranks);
        // Fewer by one: each end of the edge loses a slice.
        let saved = |e: usize| {
            let (u, v) = structure.template().edges()[e];
            (sizes[u] + sizes[v]) / ranks[e] as f64
        };
        let cost =
            |e: usize| spectra[e].get(ranks[e] - 1).copied().unwrap_or(0.0).max(1e-300) / saved(e);
        let open = (0..ranks.len()).filter(|&e| ranks[e] > 1);
        let Some(e) = open.min_by(|&a, &b| cost(a).total_cmp(&cost(b))) else { return ways };
        ranks[e] -= 1;
        tails += spectra[e].get(ranks[e]).copied().unwrap_or(0.0);
        ways.push(Ranks { params: params(structure, dims, &ranks), ranks: ranks.clone(), tails });
    }
}

/// The last of the ways that loses at most so much.
pub(super) fn within(ways: &[Ranks], budget: f64) -> &Ranks {
    let last = ways.partition_point(|w| w.tails <= budget).max(1);
    &ways[last - 1]
}

/// The first that has at most so many parameters.
pub(super) fn at_most(ways: &[Ranks], params: u128) -> Option<&Ranks> {
    ways.iter().find(|w| w.params <= params)
}

/// The squares beyond a rank.
pub(super) fn tail(squares: &[f64], rank: usize) -> f64 {
    squares.iter().skip(rank).rev().sum()
}

fn sizes(structure: &Structure, dims: &[usize], ranks: &[usize]) -> Vec<f64> {
    let mut size = vec![1.0; structure.template().vertices()];
    for (n, &v) in structure.permutation().iter().enumerate() {
        size[v] *= dims[n] as f64;
    }
    for (&(u, v), &r) in structure.template().edges().iter().zip(ranks) {
        size[u] *= r as f64;
        size[v] *= r as f64;
    }
    size
}

fn params(structure: &Structure, dims: &[usize], ranks: &[usize]) -> u128 {
    sizes(structure, dims, ranks).into_iter().fold(0, |sum, s| sum + s as u128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use std::sync::Arc;

    #[test]
    fn the_way_down_takes_what_costs_least() {
        let path = Arc::new(Template::path(3).unwrap());
        let structure = Structure::identity(path, vec![1; 2]).unwrap();
        let spectra = vec![vec![0.5, 0.1, 0.001], vec![0.9, 0.01]];
        let ways = ways_down(&structure, &[3, 4, 2], &spectra, &[9, 9]);
        let ranks: Vec<Vec<usize>> = ways.iter().map(|w| w.ranks.clone()).collect();
        assert_eq!(ranks, [[3, 2], [2, 2], [2, 1], [1, 1]]);
        assert_eq!(ways[0].params, 9 + 24 + 4);
        assert!((ways[3].tails - 0.111).abs() < 1e-15);
        assert_eq!(within(&ways, 0.012).ranks, [2, 1]);
        assert_eq!(within(&ways, 0.0).ranks, [3, 2]);
        assert_eq!(at_most(&ways, 16).map(|w| w.params), Some(2 * 3 + 2 * 4 + 2));
        assert_eq!(at_most(&ways, 8), None);
    }
}
