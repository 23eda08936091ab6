//! Networks joined by one hyperedge: `Z[i, j, ...] = sum over r of A[r, i] B[r, j] ...`. The hub is never made.

use super::Network;
use crate::dispatch;
use crate::linalg::{Factor, matmul};
use crate::tensor::{AnyTensor, Scalar, Tensor, power};
use rayon::prelude::*;

/// Entries are computed so many at a time by one thread.
const ROWS: usize = 1024;

/// The rows `a_r (x) b_r (x) ...` of some factors, each R x d: a matrix of R rows, row-major.
pub(crate) fn products<T: Scalar>(factors: &[&[T]], rank: usize) -> Vec<T> {
    let mut made = vec![T::ONE; rank];
    for factor in factors {
        let (width, dim) = (made.len() / rank, factor.len() / rank);
        let mut next = Vec::with_capacity(made.len() * dim);
        for (row, own) in made.chunks_exact(width).zip(factor.chunks_exact(dim)) {
            next.extend(row.iter().flat_map(|&a| own.iter().map(move |&b| a * b)));
        }
        made = next;
    }
    made
}

/// After how many modes a tensor of these dimensions falls into two halves, each of at least one: the place where the larger
/// is smallest.
pub(crate) fn middle(dims: &[usize]) -> usize {
    let size = |dims: &[usize]| dims.iter().map(|&d| d as f64).product::<f64>();
    let larger = |k: usize| size(&dims[..k]).max(size(&dims[k..]));
    let places = 1..dims.len().max(2);
    places.min_by(|&a, &b| larger(a).total_cmp(&larger(b))).unwrap_or(1)
}

/// The dense tensor of factors R x d, row-major.
pub(crate) fn dense<T: Scalar>(factors: &[&[T]], dims: &[usize], rank: usize) -> Vec<T> {
    let half = middle(dims);
    let (left, right) = (products(&factors[..half], rank), products(&factors[half..], rank));
    let (m, n) = (left.len() / rank, right.len() / rank);
    let mut made = vec![T::ZERO; m * n];
    let (a, b) = (Factor::row_major(&left, m).transposed(), Factor::row_major(&right, n));
    matmul((m, n, rank), &mut made, a, b);
    made
}

/// Numbers that [`dense`] holds at a time.
pub(crate) fn dense_entries(dims: &[usize], rank: usize) -> f64 {
    let size = |dims: &[usize]| dims.iter().map(|&d| d as f64).product::<f64>();
    let half = middle(dims);
    size(dims) + 2.0 * rank as f64 * (size(&dims[..half]) + size(&dims[half..]))
}

/// The core of a hub: the diagonal, all ones.
pub(super) fn ones(like: &AnyTensor, shape: Vec<usize>) -> AnyTensor {
    dispatch!(like, like => ones_like(like, shape).into())
}

fn ones_like<T: Scalar>(_like: &Tensor<T>, shape: Vec<usize>) -> Tensor<T> {
    let count = shape.iter().product();
    Tensor::new(shape, vec![T::ONE; count]).unwrap_or_else(|e| unreachable!("{e}"))
}

/// Whether a core is that of a hub.
pub(super) fn is_hub(core: &AnyTensor) -> bool {
    dispatch!(core, core => core.data().iter().all(|x| is_one(*x)))
}

fn is_one<T: Scalar>(x: T) -> bool {
    x == T::ONE
}

impl Network {
    /// Entries at some indices, the rows of a matrix, of a network that is joined by one hyperedge.
    pub(super) fn cp_values<T: Scalar>(&self, indices: &[usize], _like: &Tensor<T>) -> Vec<T> {
        let (order, rank) = (self.dims.len(), self.structure.ranks()[0]);
        // By mode, each d x R, so that an index is a row.
        let at = self.structure.permutation().iter().map(|&v| &self.cores[v]);
        let typed = at.map(|core| core.typed::<T>().expect("all cores are of one kind").clone());
        let mut factors: Vec<Tensor<T>> = typed.collect();
        let exponent = if power::is_extreme(&factors) { power::normalise(&mut factors) } else { 0 };
        let factors: Vec<Vec<T>> =
            factors.iter().map(|core| core.permuted(&[1, 0]).into_data()).collect();
        let mut values = vec![T::ZERO; indices.len() / order];
        values.par_chunks_mut(ROWS).zip(indices.par_chunks(ROWS * order)).for_each(
            |(values, rows)| {
                let mut terms = vec![T::ONE; rank];
                for (value, row) in values.iter_mut().zip(rows.chunks_exact(order)) {
                    terms.fill(T::ONE);
                    for ((factor, &i), &d) in factors.iter().zip(row).zip(&self.dims) {
                        assert!(i < d, "an entry there is");
                        let own = &factor[i * rank..(i + 1) * rank];
                        terms.iter_mut().zip(own).for_each(|(t, &a)| *t *= a);
                    }
                    *value = terms.iter().copied().sum();
                }
            },
        );
        power::multiply(&mut values, exponent);
        values
    }

    /// The same network with some modes summed over times matrices, K x M each: the factor of the mode is multiplied.
    pub(super) fn cp_times(&self, matrices: &[(usize, AnyTensor)]) -> Network {
        let mut made = self.clone();
        for (mode, matrix) in matrices {
            let v = self.structure.permutation()[*mode];
            let (rank, dim, columns) =
                (self.structure.ranks()[0], self.dims[*mode], matrix.dims()[1]);
            assert_eq!(matrix.dims()[0], dim, "as many rows as the mode is long");
            made.cores[v] = dispatch!(matrix, matrix => {
                let core = made.cores[v].typed().unwrap_or_else(|| unreachable!("all of one kind"));
                times(core, matrix, (rank, dim, columns)).into()
            });
            made.dims[*mode] = columns;
        }
        made
    }
}

fn times<T: Scalar>(
    core: &Tensor<T>,
    matrix: &Tensor<T>,
    (rank, dim, columns): (usize, usize, usize),
) -> Tensor<T> {
    let mut data = vec![T::ZERO; rank * columns];
    let (a, b) = (Factor::row_major(core.data(), dim), Factor::row_major(matrix.data(), columns));
    matmul((rank, columns, dim), &mut data, a, b);
    Tensor::new(vec![rank, columns], data).unwrap_or_else(|e| unreachable!("{e}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Structure, Template};
    use crate::network::NetworkError;
    use crate::rng::{Rng, stream};
    use crate::tensor::{Complex, unflatten};
    use std::sync::Arc;

    /// A random network: on vertices in another order than the modes.
    pub(crate) fn random<T: Scalar>(dims: &[usize], rank: usize, rng: &mut Rng) -> Network {
        let n = dims.len();
        let permutation: Vec<usize> = (0..n).map(|k| (k + 1) % n).collect();
        let cp = Arc::new(Template::cp(n).unwrap());
        let structure = Structure::new(cp, permutation, vec![rank; n]).unwrap();
        let cores = (0..=n).map(|v| {
            let shape = structure.core_dims(v, dims);
            let len = shape.iter().product();
            let data = (0..len).map(|_| if v == n { T::ONE } else { T::normal(rng) }).collect();
            Tensor::new(shape, data).unwrap()
        });
        Network::new(structure.clone(), dims.to_vec(), cores.collect()).unwrap()
    }

    /// By the definition.
    fn entry(network: &Network, index: &[usize]) -> Complex<f64> {
        let rank = network.structure().ranks()[0];
        let term = |r: usize| -> Complex<f64> {
            let at = network.structure().permutation().iter().zip(index).zip(network.dims());
            at.map(|((&v, &i), &d)| network.cores()[v].entry(r * d + i)).product()
        };
        (0..rank).map(term).sum()
    }

    fn all_ways<T: Scalar>() {
        let mut rng = stream(1, b"cp networks");
        for dims in [vec![3, 2, 4], vec![2, 2], vec![1, 3, 1, 2], vec![2; 5], vec![1, 1]] {
            for rank in [1, 2, 7] {
                let network = random::<T>(&dims, rank, &mut rng);
                assert_eq!(network.params(), (rank * dims.iter().sum::<usize>()) as u128);
                let dense = network.to_tensor(Some(1 << 20)).unwrap();
                let rows: Vec<usize> = (0..dense.len()).flat_map(|k| unflatten(k, &dims)).collect();
                let single = network.entries(&rows);
                let scale = 1e-5 * (1.0 + dense.norm_squared().sqrt());
                for (k, row) in rows.chunks(dims.len()).enumerate() {
                    let want = entry(&network, row);
                    assert!((dense.entry(k) - want).norm() <= scale);
                    assert!((single.entry(k) - want).norm() <= scale);
                }
                // There and back by the canonical form.
                let (graph, cores) = network.to_mode_graph();
                assert_eq!(graph.to_string().parse(), Ok(graph.clone()));
                let back = Network::from_fitted(network.structure().clone(), dims.clone(), cores);
                assert_eq!(back.unwrap(), network);
                // A part, and sums over a mode.
                let picks: Vec<Vec<usize>> = dims.iter().map(|&d| vec![d - 1, 0]).collect();
                let part = network.select(None, &picks, None).unwrap();
                let first: Vec<usize> = picks.iter().map(|p| p[0]).collect();
                assert!((part.entry(0) - entry(&network, &first)).norm() <= scale);
                let row = Tensor::new(vec![dims[1], 1], vec![T::ONE; dims[1]]).unwrap();
                let sums = network.applied(None, &[(1, row.into())], None).unwrap();
                assert_eq!(sums.dims()[1], 1);
                let mut want = Complex::new(0.0, 0.0);
                for i in 0..dims[1] {
                    let mut at = vec![0; dims.len()];
                    at[1] = i;
                    want += entry(&network, &at);
                }
                assert!((sums.entry(0) - want).norm() <= scale * dims[1] as f64);
            }
        }
    }

    #[test]
    fn all_ways_to_read_it_agree_with_the_definition() {
        all_ways::<f64>();
        all_ways::<f32>();
        all_ways::<Complex<f64>>();
        all_ways::<Complex<f32>>();
    }

    #[test]
    fn a_hub_has_no_entries_of_its_own() {
        let cp = Arc::new(Template::cp(3).unwrap());
        let structure = Structure::identity(cp, vec![2; 3]).unwrap();
        let mut cores: Vec<Tensor> =
            (0..4).map(|_| Tensor::new(vec![2, 2], vec![1.0; 4]).unwrap()).collect();
        cores[3] = Tensor::new(vec![2], vec![1.0, 0.5]).unwrap();
        let refused = Network::new(structure.clone(), vec![2; 3], cores.clone()).unwrap_err();
        assert_eq!(refused, NetworkError::Hub { vertex: 3 });
        assert!(refused.to_string().contains("entries are all 1"), "{refused}");
        // Never R^N numbers.
        cores[3] = Tensor::new(vec![2, 2, 2], vec![1.0; 8]).unwrap();
        assert!(Network::new(structure, vec![2; 3], cores).is_err());
        let many = random::<f64>(&[2; 20], 30, &mut stream(2, b"cp networks"));
        assert!(many.to_tensor(Some(1 << 16)).is_err(), "it is counted before it is made");
        assert_eq!(many.entries(&[1; 20]).len(), 1);
    }
}
