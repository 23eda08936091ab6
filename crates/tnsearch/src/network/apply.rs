//! A network applied to vectors and matrices, without its dense tensor.

use super::contraction::Label;
use super::parts::{Order, Part};
use super::{Network, NetworkError};
use crate::tensor::{AnyTensor, Fine, Kind, Reshape, Scalar, Tensor, power};
use crate::{MemoryError, dispatch};

impl Network {
    /// Sums the tensor, in its own shape where it was reshaped before, over some modes times matrices: where mode n comes with
    /// the K x M matrix A, index i of it becomes `sum over i of Z[..., i, ...] A[i, m]`, of length M. The dense tensor is not
    /// formed, unless it was reshaped in a way in which modes and network have no finer modes in common. The matrices are of
    /// one kind, in which the sums are made. Refused where that takes more than `max_bytes`.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::graph::{Structure, Template};
    /// use tnsearch::{network::Network, tensor::Tensor};
    /// let path = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![1]).unwrap();
    /// let u = Tensor::new(vec![1, 2], vec![1.0, 2.0]).unwrap();
    /// let v = Tensor::new(vec![1, 3], vec![3.0, 4.0, 5.0]).unwrap();
    /// let network = Network::new(path, vec![2, 3], vec![u, v]).unwrap();
    /// let ones = Tensor::new(vec![3, 1], vec![1.0; 3]).unwrap().into();
    /// let sums = network.applied(None, &[(1, ones)], None).unwrap();
    /// assert_eq!((sums.dims(), sums.as_f64().unwrap().data()), (&[2, 1][..], &[12.0, 24.0][..]));
    /// ```
    ///
    /// # Panics
    /// If there is no such mode, a mode comes twice, or a matrix does not have as many rows as its mode is long.
    pub fn applied(
        &self,
        reshape: Option<&Reshape>,
        matrices: &[(usize, AnyTensor)],
        max_bytes: Option<u64>,
    ) -> Result<AnyTensor, NetworkError> {
        let kind = matrices.first().map_or(self.kind(), |m| m.1.kind());
        let cp = self.structure.template().copy_vertex().is_some();
        if cp && reshape.is_none() {
            let cores = self.of_kind(kind)?;
            let own = Network { cores, ..self.clone() };
            return own.cp_times(matrices).to_tensor(max_bytes);
        }
        let fine = match reshape {
            None => Some(Fine::same(&self.dims)),
            // A hyperedge has no part in contractions of pairs.
            Some(reshape) => reshape.fine().filter(|_| !cp),
        };
        let (own, padded) = match reshape {
            None => (&self.dims[..], &self.dims[..]),
            Some(reshape) => (reshape.from(), reshape.padded_shape()),
        };
        let shape = Shape { own, padded };
        let made = match fine {
            Some(fine) => {
                let cores = self.of_kind(kind)?;
                dispatch!(&cores[0], like => {
                    let parts = self.parts(&cores, &fine, like);
                    contracted(parts, self.structure.ranks(), &fine, shape, matrices, max_bytes)?
                })
            }
            None => {
                let dense = self.to_tensor(max_bytes)?;
                let dense = reshape.map_or(dense.clone(), |r| r.undo(dense));
                let dense = dense.to_kind(kind).map_err(|_| self.wrong_kind(kind))?;
                let (fine, shape) = (Fine::same(own), Shape { own, padded: own });
                dispatch!(dense, t => {
                    let whole = Part::new((0..own.len()).collect(), t.into_data());
                    contracted(vec![whole], &[], &fine, shape, matrices, max_bytes)?
                })
            }
        };
        Ok(made)
    }

    fn wrong_kind(&self, expected: Kind) -> NetworkError {
        NetworkError::CoreKind { vertex: 0, found: self.kind(), expected }
    }

    fn of_kind(&self, kind: Kind) -> Result<Vec<AnyTensor>, NetworkError> {
        let cores = self.cores.iter().map(|core| core.clone().to_kind(kind));
        cores.collect::<Result<_, _>>().map_err(|_| self.wrong_kind(kind))
    }

    /// The cores with the labels of finer modes, then those of edges.
    fn parts<T: Scalar>(
        &self,
        cores: &[AnyTensor],
        fine: &Fine,
        _like: &Tensor<T>,
    ) -> Vec<Part<T>> {
        let edges = fine.lengths.len();
        let part = |(v, core): (usize, &AnyTensor)| {
            let core = core.typed::<T>().unwrap_or_else(|| unreachable!("all of one kind"));
            let mut labels: Vec<Label> =
                self.structure.template().incident(v).map(|e| edges + e).collect();
            for mode in self.structure.modes_at(v) {
                labels.extend(&fine.other[mode]);
            }
            Part::new(labels, core.data().to_vec())
        };
        cores.iter().enumerate().map(part).collect()
    }
}

/// The shape of the tensor, and that after its last entries were repeated.
#[derive(Clone, Copy)]
struct Shape<'a> {
    own: &'a [usize],
    padded: &'a [usize],
}

fn contracted<T: Scalar>(
    mut parts: Vec<Part<T>>,
    ranks: &[usize],
    fine: &Fine,
    shape: Shape<'_>,
    matrices: &[(usize, AnyTensor)],
    max_bytes: Option<u64>,
) -> Result<AnyTensor, NetworkError> {
    let mut lengths: Vec<usize> = fine.lengths.iter().chain(ranks).copied().collect();
    let (mut open, mut sides) = (fine.own.clone(), shape.padded.to_vec());
    let mut cut = shape.own.to_vec();
    for (mode, matrix) in matrices {
        let columns = matrix.dims()[1];
        assert_eq!(matrix.dims()[0], shape.own[*mode], "as many rows as the mode is long");
        let rows = matrix.typed::<T>().unwrap_or_else(|| unreachable!("all of one kind"));
        let mut data = rows.data().to_vec();
        // What was repeated is not there.
        data.resize(shape.padded[*mode] * columns, T::ZERO);
        let label = lengths.len();
        lengths.push(columns);
        let labels = std::mem::replace(&mut open[*mode], vec![label]);
        parts.push(Part::new(labels.into_iter().chain([label]).collect(), data));
        (sides[*mode], cut[*mode]) = (columns, columns);
    }
    let labels: Vec<Vec<Label>> = parts.iter().map(|part| part.labels.clone()).collect();
    let order = Order::find(&labels, &lengths);
    let bytes = 2.0 * order.peak * T::KIND.bytes() as f64;
    MemoryError::check("applying the network", bytes, max_bytes)?;
    let (made, exponent) = order.run(parts, &lengths);
    let mut made = made.ordered(&open.concat(), &lengths);
    power::multiply(&mut made.data, exponent);
    let tensor = Tensor::new(sides, made.data).unwrap_or_else(|e| unreachable!("{e}"));
    Ok(shortened(tensor, &cut).into())
}

/// The first entries along each mode.
fn shortened<T: Scalar>(tensor: Tensor<T>, to: &[usize]) -> Tensor<T> {
    if tensor.dims() == to {
        return tensor;
    }
    let sides = tensor.dims();
    let data = (0..to.iter().product()).map(|k| {
        let index = crate::tensor::unflatten(k, to);
        tensor.data()[index.iter().zip(sides).fold(0, |flat, (i, side)| flat * side + i)]
    });
    Tensor::new(to.to_vec(), data.collect()).unwrap_or_else(|e| unreachable!("{e}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::random_network;
    use super::*;
    use crate::tensor::{Complex, unflatten};

    /// By the definition, entry by entry.
    fn expected(dense: &AnyTensor, mode: usize, matrix: &AnyTensor) -> Vec<Complex<f64>> {
        let columns = matrix.dims()[1];
        let mut dims = dense.dims().to_vec();
        dims[mode] = columns;
        let mut sums = vec![Complex::new(0.0, 0.0); dims.iter().product()];
        for k in 0..dense.len() {
            let mut at = unflatten(k, dense.dims());
            let i = at[mode];
            for m in 0..columns {
                at[mode] = m;
                let flat = at.iter().zip(&dims).fold(0, |f, (i, d)| f * d + i);
                sums[flat] += dense.entry(k) * matrix.entry(i * columns + m);
            }
        }
        sums
    }

    #[test]
    fn sums_are_those_of_the_dense_tensor() {
        for (seed, network) in random_network().into_iter().enumerate() {
            let dense = network.to_tensor(None).unwrap();
            let mode = seed % network.dims().len();
            let (rows, columns) = (network.dims()[mode], 1 + seed % 3);
            let entries = (0..rows * columns).map(|k| (k as f64 + seed as f64).sin());
            let matrix =
                AnyTensor::from(Tensor::new(vec![rows, columns], entries.collect()).unwrap());
            let matrix = matrix.to_kind(network.kind()).unwrap();
            let made = network.applied(None, &[(mode, matrix.clone())], None).unwrap();
            let scale = dense.norm_squared().sqrt() + 1e-30;
            for (k, want) in expected(&dense, mode, &matrix).into_iter().enumerate() {
                assert!((made.entry(k) - want).norm() <= 1e-5 * scale);
            }
        }
    }
}
