//! The ring as a closed chain: which edge and which core axis is which.

use crate::graph::{Structure, Template};
use crate::network::Network;
use crate::tensor::{AnyTensor, Scalar, Tensor};
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

/// A network on the ring from cores `[left, mode, right]` along it, the first at vertex `start`. Two vertices
/// have a single edge: the closing ranks are then 1.
///
/// # Panics
/// If the cores do not fit together or the permutation is none.
pub(super) fn ring_network<T: Scalar>(
    template: &Arc<Template>,
    permutation: &[usize],
    dims: &[usize],
    start: usize,
    mut chain: Vec<Tensor<T>>,
) -> Network {
    let n = chain.len();
    chain.rotate_right(start);
    let mut along: Vec<usize> = chain.iter().map(|core| core.dims()[2]).collect();
    along.truncate(template.edges().len());
    let structure = Structure::new(template.clone(), permutation.to_vec(), ring_ranks(&along));
    let place = |(v, core): (usize, &Tensor<T>)| {
        let mut placed = core.permuted(&core_order(v, n));
        if n == 2 {
            let dims = vec![placed.dims()[0], placed.dims()[2]];
            placed = Tensor::new(dims, placed.into_data()).unwrap_or_else(|e| unreachable!("{e}"));
        }
        placed
    };
    let placed: Vec<Tensor<T>> = chain.iter().enumerate().map(place).collect();
    structure
        .map_err(Into::into)
        .and_then(|structure| Network::new(structure, dims.to_vec(), placed))
        .unwrap_or_else(|e| unreachable!("{e}"))
}

/// The cores of a network on the ring as `[left, mode, right]`: the inverse of [`ring_network`] at vertex 0.
pub(super) fn ring_chain(network: &Network) -> Vec<AnyTensor> {
    let n = network.cores().len();
    let place = |(v, core): (usize, &AnyTensor)| {
        let (mut core, order) = (core.clone(), core_order(v, n));
        if n == 2 {
            let dims = vec![core.dims()[0], 1, core.dims()[1]];
            core = core.reshaped(dims).unwrap_or_else(|e| unreachable!("{e}"));
        }
        let mut back = [0; 3];
        order.iter().enumerate().for_each(|(k, &axis)| back[axis] = k);
        core.permuted(&back)
    };
    network.cores().iter().enumerate().map(place).collect()
}

/// The order in which a core of the ring has the axes `[left, mode, right]`: the edges stand in the template's
/// order, in which the closing one is second at vertex 0 and first at the last vertex.
fn core_order(vertex: usize, n: usize) -> [usize; 3] {
    if vertex == 0 || (n > 2 && vertex + 1 == n) { [2, 0, 1] } else { [0, 2, 1] }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_and_networks_are_inverse() {
        for n in 2..6 {
            let template = Arc::new(Template::ring(n).unwrap());
            let ranks: Vec<usize> =
                (0..n).map(|k| if n == 2 && k == 1 { 1 } else { k + 2 }).collect();
            let dims = [3, 2, 4, 2, 3];
            let chain: Vec<Tensor> = (0..n)
                .map(|v| {
                    let shape = vec![ranks[(v + n - 1) % n], dims[v], ranks[v]];
                    let entries =
                        (0..shape.iter().product()).map(|k: usize| (k + v) as f64).collect();
                    Tensor::new(shape, entries).unwrap()
                })
                .collect();
            let places: Vec<usize> = (0..n).collect();
            let network = ring_network(&template, &places, &dims[..n], 0, chain.clone());
            assert_eq!(ring_chain(&network), chain);
            let along = along_ring(network.structure().ranks());
            assert_eq!(along, ranks[..along.len()]);
            // Entry 0: the trace of the product of the first slices.
            let slice = |core: &Tensor| {
                let (l, r) = (core.dims()[0], core.dims()[2]);
                faer::Mat::from_fn(l, r, |a, b| core.at(&[a, 0, b]))
            };
            let mut product = faer::Mat::<f64>::identity(ranks[n - 1], ranks[n - 1]);
            for core in &chain {
                product = product * slice(core);
            }
            let trace: f64 = (0..product.nrows()).map(|k| product[(k, k)]).sum();
            let z = network.to_tensor(None).unwrap();
            assert!((z.entry(0).re / trace - 1.0).abs() < 1e-12);
        }
    }
}
