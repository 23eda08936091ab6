//! Contraction of small networks by repeatedly joining the cheapest pair of cores.

use tnsearch::network::Network;
use tnsearch::tensor::{Tensor, size};

/// A tensor whose axes are named: edges by their index, mode `n` by `edges + n`.
struct Named {
    axes: Vec<usize>,
    tensor: Tensor,
}

/// The dense tensor of a network; none if an intermediate result has more than `limit` entries.
pub(crate) fn contract(network: &Network, limit: u128) -> Option<Tensor> {
    let structure = network.structure();
    let template = structure.template();
    let edges = template.edges().len();
    let modes = structure.modes();
    let mut parts: Vec<Named> = network
        .cores()
        .iter()
        .enumerate()
        .map(|(v, core)| {
            let axes = template.incident(v).chain(modes[v].map(|n| edges + n)).collect();
            Named { axes, tensor: core.clone() }
        })
        .collect();
    while parts.len() > 1 {
        // The pair whose joint result is smallest compared with what it replaces.
        let mut best: Option<(i128, usize, usize)> = None;
        for i in 0..parts.len() {
            for j in i + 1..parts.len() {
                let entries = joint_size(&parts[i], &parts[j]);
                if entries <= limit {
                    let before = parts[i].tensor.len() + parts[j].tensor.len();
                    let growth = entries as i128 - before as i128;
                    best = best.min(Some((growth, i, j))).or(Some((growth, i, j)));
                }
            }
        }
        let (_, i, j) = best?;
        let b = parts.swap_remove(j);
        let a = parts.swap_remove(i);
        parts.push(join(&a, &b));
    }
    let last = parts.pop()?;
    let at = |n: usize| last.axes.iter().position(|&a| a == edges + n);
    let order: Vec<usize> = (0..network.dims().len()).filter_map(at).collect();
    Some(last.tensor.permuted(&order))
}

/// The number of entries of the contraction of two tensors.
fn joint_size(a: &Named, b: &Named) -> u128 {
    let free = |x: &Named, y: &Named| -> Vec<usize> {
        let kept = x.axes.iter().zip(x.tensor.dims()).filter(|(n, _)| !y.axes.contains(n));
        kept.map(|(_, &d)| d).collect()
    };
    size(&free(a, b)).saturating_mul(size(&free(b, a)))
}

/// Sums over the axes that both have: one product of two matrices.
fn join(a: &Named, b: &Named) -> Named {
    let find = |x: &Named, name: usize| x.axes.iter().position(|&n| n == name);
    let shared: Vec<usize> = a.axes.iter().copied().filter(|n| b.axes.contains(n)).collect();
    let free_a: Vec<usize> = a.axes.iter().copied().filter(|n| !shared.contains(n)).collect();
    let free_b: Vec<usize> = b.axes.iter().copied().filter(|n| !shared.contains(n)).collect();
    let moved = |x: &Named, names: &[usize], then: &[usize]| {
        let order: Vec<usize> = names.iter().chain(then).filter_map(|&n| find(x, n)).collect();
        x.tensor.permuted(&order)
    };
    let left = moved(a, &free_a, &shared);
    let right = moved(b, &shared, &free_b);
    let dims: Vec<usize> =
        left.dims()[..free_a.len()].iter().chain(&right.dims()[shared.len()..]).copied().collect();
    let inner: usize = right.dims()[..shared.len()].iter().product();
    let cols = right.len() / inner;
    let mut out = Tensor::zeros(dims);
    for (row, from) in out.data_mut().chunks_exact_mut(cols).zip(left.data().chunks_exact(inner)) {
        for (x, line) in from.iter().zip(right.data().chunks_exact(cols)) {
            for (z, y) in row.iter_mut().zip(line) {
                *z += x * y;
            }
        }
    }
    Named { axes: free_a.into_iter().chain(free_b).collect(), tensor: out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Generated, Synthetic};
    use std::sync::Arc;
    use tnsearch::graph::Template;
    use tnsearch::tensor::unflatten;

    /// One entry by the definition: the sum over all values of all edges.
    fn entry(network: &Network, at: &[usize]) -> f64 {
        let (s, modes) = (network.structure(), network.structure().modes());
        let terms: usize = s.ranks().iter().product();
        let term = |t: usize| {
            let on = unflatten(t, s.ranks());
            let factor = |v: usize| {
                let index: Vec<usize> = s
                    .template()
                    .incident(v)
                    .map(|e| on[e])
                    .chain(modes[v].map(|n| at[n]))
                    .collect();
                network.cores()[v].at(&index)
            };
            (0..network.cores().len()).map(factor).product::<f64>()
        };
        (0..terms).map(term).sum()
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut checked = 0;
        for order in 2..=8 {
            for spec in ["path", "ring", "star", "tree", "complete", "ht", "mera"] {
                let template = Arc::new(Template::parse(spec, order).unwrap());
                let dims: Vec<usize> = (0..order).map(|n| n % 3 + 1).collect();
                let recipe = Synthetic::new(template, dims, (1, 3));
                // The first seeds whose definition has few enough terms.
                let made = (0..).map(|seed| recipe.generate(seed).unwrap());
                let terms = |m: &Generated| m.structure().ranks().iter().product::<usize>();
                for made in made.take(50).filter(|m| terms(m) <= 20_000).take(2) {
                    let x = &made.tensor;
                    for flat in (0..x.len()).step_by(1 + x.len() / 7) {
                        let at = unflatten(flat, x.dims());
                        let expected = entry(&made.network, &at);
                        let error = (x.at(&at) - expected).abs();
                        assert!(error <= 1e-11 * (1.0 + expected.abs()), "{spec} {order}");
                        checked += 1;
                    }
                }
            }
        }
        assert!(checked > 500, "{checked}");
    }

    #[test]
    fn the_papers_mera_stays_small() {
        let mera = Arc::new(Template::mera(8).unwrap());
        let made = Synthetic::new(mera, vec![3; 8], (4, 4)).generate(1).unwrap();
        assert!(contract(&made.network, 70_000).is_some());
        assert!(contract(&made.network, 6_000).is_none());
    }
}
