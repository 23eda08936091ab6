//! The ring as a closed chain: which edge and which core axis is which.

use crate::graph::{Structure, Template};
use crate::network::Network;
use crate::tensor::Tensor;
use std::sync::Arc;

/// The ranks of a ring's edges in the order of [`Template::ring`]'s edges, from those along the ring:
/// `along[k]` is the rank between vertex `k` and the next one, the last closes the ring.
///
/// ```
/// // The edges are (0,1), (0,3), (1,2), (2,3).
/// assert_eq!(tnsearch::decompose::ring_ranks(&[2, 3, 4, 5]), [2, 5, 3, 4]);
/// ```
pub fn ring_ranks(along: &[usize]) -> Vec<usize> {
    let mut ranks = along.to_vec();
    if ranks.len() > 2 {
        ranks[1..].rotate_right(1);
    }
    ranks
}

/// The inverse of [`ring_ranks`].
pub(super) fn along_ring(ranks: &[usize]) -> Vec<usize> {
    let mut along = ranks.to_vec();
    if along.len() > 2 {
        along[1..].rotate_left(1);
    }
    along
}

/// A network on the ring of three or more vertices from cores `[left, mode, right]` along it, the first at
/// vertex `start`.
///
/// # Panics
/// If the cores do not fit together or the permutation is none.
pub(super) fn ring_network(
    template: &Arc<Template>,
    permutation: &[usize],
    dims: &[usize],
    start: usize,
    mut chain: Vec<Tensor>,
) -> Network {
    let n = chain.len();
    chain.rotate_right(start);
    let along: Vec<usize> = chain.iter().map(|core| core.dims()[2]).collect();
    let structure = Structure::new(template.clone(), permutation.to_vec(), ring_ranks(&along));
    // Edges stand in the template's order at each vertex: the closing one is second.
    let placed = chain.iter().enumerate().map(|(v, core)| match v == 0 || v + 1 == n {
        true => core.permuted(&[2, 0, 1]),
        false => core.permuted(&[0, 2, 1]),
    });
    let placed = placed.collect();
    structure
        .map_err(Into::into)
        .and_then(|structure| Network::new(structure, dims.to_vec(), placed))
        .unwrap_or_else(|e| unreachable!("{e}"))
}

/// The vertices along the ring from `start`, each with its mode.
pub(super) fn modes_along(permutation: &[usize], start: usize) -> Vec<usize> {
    let n = permutation.len();
    let mut modes = vec![0; n];
    for (mode, &v) in permutation.iter().enumerate() {
        modes[(v + n - start) % n] = mode;
    }
    modes
}
