//! Some entries of a network, without its dense tensor.

use super::contraction::{Contraction, Label, Scratch};
use super::tree::{EXACT_OFTEN, Node, Tree};
use super::{AxisMap, Labels, Network, NetworkError};
use crate::tensor::{AnyTensor, Reshape, Scalar, Tensor, power, unflatten};
use crate::{MemoryError, dispatch};
use rayon::prelude::*;

/// Where the entries asked for lie in a block of up to so many times as many, the block is contracted.
const SPARSE: u128 = 4;
/// Entries are computed so many at a time by one thread.
const ROWS: usize = 256;
/// Indices are written down for so many entries at a time.
const AT_A_TIME: usize = 1 << 16;

impl Network {
    /// The network of a part of the tensor: of each mode the indices given, in that order.
    ///
    /// # Panics
    /// If there is not one list of at least one index per mode, or an index that there is none of.
    pub fn sliced(&self, picks: &[Vec<usize>]) -> Network {
        assert_eq!(picks.len(), self.dims.len(), "one list per mode");
        assert!(picks.iter().all(|p| !p.is_empty()), "at least one index per mode");
        let cores = self.cores.iter().enumerate().map(|(v, core)| {
            let modes = self.structure.modes_at(v);
            let first = core.order() - modes.len();
            let axes = modes.iter().zip(first..);
            axes.fold(core.clone(), |core, (&mode, axis)| gathered(core, axis, &picks[mode]))
        });
        Network {
            structure: self.structure.clone(),
            dims: picks.iter().map(Vec::len).collect(),
            cores: cores.collect(),
        }
    }

    /// The entries of the tensor at the products of some indices, in its own shape where it was reshaped before: the dense
    /// tensor of all is not formed. Refused where even this part takes more than `max_bytes`.
    ///
    /// # Panics
    /// If there is not one list of at least one index per mode, or an index that there is none of.
    pub fn select(
        &self,
        reshape: Option<&Reshape>,
        picks: &[Vec<usize>],
        max_bytes: Option<u64>,
    ) -> Result<AnyTensor, NetworkError> {
        let Some(reshape) = reshape else { return self.part(picks, max_bytes) };
        if picks.iter().zip(reshape.from()).all(|(p, &d)| p.iter().copied().eq(0..d)) {
            return Ok(reshape.undo(self.to_tensor(max_bytes)?));
        }
        let lens: Vec<usize> = picks.iter().map(Vec::len).collect();
        let count: u128 = lens.iter().map(|&n| n as u128).product();
        let bytes = count as f64 * self.kind().bytes() as f64;
        MemoryError::check("the entries asked for", bytes, max_bytes)?;
        let count = count as usize;
        let index = |k: usize| -> Vec<usize> {
            let own = unflatten(k, &lens).into_iter().zip(picks).map(|(i, p)| p[i]);
            reshape.index_of(&own.collect::<Vec<_>>())
        };
        // Of each mode of the network the indices that occur.
        let mut seen: Vec<Vec<bool>> = self.dims.iter().map(|&d| vec![false; d]).collect();
        for k in 0..count {
            seen.iter_mut().zip(index(k)).for_each(|(seen, i)| seen[i] = true);
        }
        let used: Vec<Vec<usize>> =
            seen.iter().map(|s| (0..s.len()).filter(|&i| s[i]).collect()).collect();
        let block: u128 = used.iter().map(|u| u.len() as u128).product();
        let tensor = if block <= SPARSE * count as u128 {
            let sides: Vec<usize> = used.iter().map(Vec::len).collect();
            let place: Vec<Vec<usize>> =
                used.iter().zip(&self.dims).map(|(u, &d)| places(u, d)).collect();
            let part = self.part(&used, max_bytes)?;
            let at = |k: usize| {
                let index = index(k).into_iter().zip(&place).map(|(i, place)| place[i]);
                index.zip(&sides).fold(0, |flat, (i, side)| flat * side + i)
            };
            dispatch!(&part, t => {
                let data = (0..count).map(|k| t.data()[at(k)]).collect();
                made(lens, data)
            })
        } else {
            let row = |k: usize| index(k);
            let starts = (0..count).step_by(AT_A_TIME);
            dispatch!(&self.cores[0], like => {
                let mut data = Vec::with_capacity(count);
                for start in starts {
                    let rows: Vec<usize> = (start..count.min(start + AT_A_TIME)).flat_map(row).collect();
                    data.extend(self.values(&rows, like));
                }
                made(lens, data)
            })
        };
        Ok(tensor)
    }

    /// The dense tensor of a part. The order of many contractions is not worth the time that the best of all takes.
    fn part(
        &self,
        picks: &[Vec<usize>],
        max_bytes: Option<u64>,
    ) -> Result<AnyTensor, NetworkError> {
        let part = self.sliced(picks);
        let cp = self.structure.template().copy_vertex().is_some();
        match cp || self.cores.len() <= EXACT_OFTEN {
            true => part.to_tensor(max_bytes),
            false => part.applied(None, &[], max_bytes),
        }
    }

    /// The entries at some indices, which are the rows of a matrix with one column per mode.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::graph::{Structure, Template};
    /// use tnsearch::{network::Network, tensor::Tensor};
    /// let path = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![1]).unwrap();
    /// let u = Tensor::new(vec![1, 2], vec![1.0, 2.0]).unwrap();
    /// let v = Tensor::new(vec![1, 3], vec![3.0, 4.0, 5.0]).unwrap();
    /// let network = Network::new(path, vec![2, 3], vec![u, v]).unwrap();
    /// assert_eq!(network.entries(&[0, 2, 1, 1]).as_f64().unwrap().data(), [5.0, 8.0]);
    /// ```
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn entries(&self, indices: &[usize]) -> AnyTensor {
        let count = indices.len() / self.dims.len();
        dispatch!(&self.cores[0], like => made(vec![count], self.values(indices, like)))
    }

    fn values<T: Scalar>(&self, indices: &[usize], like: &Tensor<T>) -> Vec<T> {
        let order = self.dims.len();
        assert_eq!(indices.len() % order, 0, "whole rows");
        if self.structure.template().copy_vertex().is_some() {
            return self.cp_values(indices, like);
        }
        let walk = Walk::new(self, like);
        let mut values = vec![T::ZERO; indices.len() / order];
        values.par_chunks_mut(ROWS).zip(indices.par_chunks(ROWS * order)).for_each(
            |(values, rows)| {
                let mut held = Held::default();
                for (value, row) in values.iter_mut().zip(rows.chunks_exact(order)) {
                    *value = walk.entry(row, &mut held);
                }
            },
        );
        power::multiply(&mut values, walk.exponent);
        values
    }
}

/// Where each index is in a list; of those that are not, anything.
fn places(used: &[usize], dim: usize) -> Vec<usize> {
    let mut place = vec![0; dim];
    used.iter().enumerate().for_each(|(k, &i)| place[i] = k);
    place
}

fn made<T: Scalar>(dims: Vec<usize>, data: Vec<T>) -> AnyTensor {
    Tensor::new(dims, data).unwrap_or_else(|e| unreachable!("{e}")).into()
}

/// Some indices of an axis.
fn gathered(core: AnyTensor, axis: usize, picks: &[usize]) -> AnyTensor {
    let side = core.dims()[axis];
    if picks.iter().copied().eq(0..side) {
        return core;
    }
    let mut dims = core.dims().to_vec();
    let inner: usize = dims[axis + 1..].iter().product();
    dims[axis] = picks.len();
    dispatch!(&core, t => {
        let blocks = t.data().chunks_exact(side * inner);
        let taken = blocks.flat_map(|block| {
            picks.iter().flat_map(move |&i| block[i * inner..(i + 1) * inner].iter().copied())
        });
        made(dims, taken.collect())
    })
}

/// A network ready to give single entries: the contraction is planned once.
struct Walk<T> {
    leaves: Vec<Leaf<T>>,
    nodes: Vec<Step>,
    /// The power of two that entries are multiplied by at the end.
    exponent: i64,
}

/// The core of a vertex, its modes first: an index of them is one block.
struct Leaf<T> {
    data: Vec<T>,
    /// The modes, and how far apart their indices are, in blocks.
    modes: Vec<(usize, usize)>,
    dims: Vec<usize>,
    block: usize,
}

enum Step {
    Leaf(usize),
    Pair(usize, usize, Box<Contraction>),
}

/// What one thread works with.
struct Held<T> {
    parts: Vec<Vec<T>>,
    scratch: Scratch<T>,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Held { parts: Vec::new(), scratch: Scratch::default() }
    }
}

impl<T: Scalar> Walk<T> {
    fn new(network: &Network, like: &Tensor<T>) -> Self {
        let map = AxisMap::new(&network.structure);
        let (graph, ones) = (&map.graph, vec![1; network.dims.len()]);
        let leaf = |(v, core): (usize, Tensor<T>)| {
            let (modes, axes) = (graph.modes_at(v), core.dims().len());
            let edges = axes - modes.len();
            let order: Vec<usize> = (edges..axes).chain(0..edges).collect();
            let block = core.dims()[..edges].iter().product();
            let (mut stride, mut strides) = (1, Vec::new());
            for (k, &mode) in modes.iter().enumerate().rev() {
                strides.push((mode, stride));
                stride *= core.dims()[edges + k];
            }
            let dims = strides.iter().map(|&(mode, _)| network.dims[mode]).collect();
            Leaf { data: core.permuted(&order).into_data(), modes: strides, dims, block }
        };
        let mut cores = network.on_modes(&map, like);
        let extreme = cores.len() > 1 && power::is_extreme(&cores);
        let exponent = if extreme { power::normalise(&mut cores) } else { 0 };
        let leaves = cores.into_iter().enumerate().map(leaf).collect();
        let tree = Tree::best(&graph.plain(), &graph.merged_dims(&ones), EXACT_OFTEN);
        let labels = Labels::new(graph, &ones);
        let mut open: Vec<Vec<Label>> = Vec::new();
        let nodes = tree.nodes.iter().map(|node| match *node {
            Node::Leaf(v) => {
                open.push(labels.edges_at(graph, v));
                Step::Leaf(v)
            }
            Node::Pair(b, c) => {
                let plan = Contraction::plan(&open[b], &open[c], &labels.lengths, None);
                open.push(plan.labels().to_vec());
                Step::Pair(b, c, Box::new(plan))
            }
        });
        let nodes = nodes.collect();
        Walk { leaves, nodes, exponent }
    }

    fn entry(&self, index: &[usize], held: &mut Held<T>) -> T {
        let Held { parts, scratch } = held;
        parts.resize_with(self.nodes.len(), Vec::new);
        for (k, node) in self.nodes.iter().enumerate() {
            let mut made = std::mem::take(&mut parts[k]);
            match node {
                Step::Leaf(v) => {
                    let leaf = &self.leaves[*v];
                    let at = |(&(mode, stride), &dim): (&(usize, usize), &usize)| {
                        assert!(index[mode] < dim, "an entry there is");
                        index[mode] * stride
                    };
                    let start =
                        leaf.modes.iter().zip(&leaf.dims).map(at).sum::<usize>() * leaf.block;
                    made.clear();
                    made.extend_from_slice(&leaf.data[start..start + leaf.block]);
                }
                Step::Pair(b, c, plan) => {
                    made.resize(plan.result_len(), T::ZERO);
                    scratch.reserve(plan);
                    plan.run(&parts[*b], &parts[*c], &mut made, scratch);
                }
            }
            parts[k] = made;
        }
        parts.last().and_then(|root| root.first()).copied().unwrap_or(T::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::random_network;
    use super::*;

    #[test]
    fn parts_are_those_of_the_dense_tensor() {
        for (seed, network) in (0..).zip(random_network()) {
            let dense = network.to_tensor(None).unwrap();
            let picks: Vec<Vec<usize>> = network
                .dims()
                .iter()
                .enumerate()
                .map(|(n, &d)| (0..d).filter(|i| (i + n + seed) % 2 == 0 || d == 1).collect())
                .map(|p: Vec<usize>| if p.is_empty() { vec![0] } else { p })
                .collect();
            let part = network.select(None, &picks, None).unwrap();
            let rows: Vec<usize> = (0..part.len())
                .flat_map(|k| {
                    let at = unflatten(k, part.dims());
                    at.into_iter().zip(&picks).map(|(i, p)| p[i]).collect::<Vec<_>>()
                })
                .collect();
            let single = network.entries(&rows);
            let scale = dense.norm_squared().sqrt();
            for (k, row) in rows.chunks(network.dims().len()).enumerate() {
                let flat = row.iter().zip(network.dims()).fold(0, |f, (i, d)| f * d + i);
                for got in [part.entry(k), single.entry(k)] {
                    assert!(
                        (got - dense.entry(flat)).norm() <= 1e-5 * scale,
                        "{:?}",
                        network.structure()
                    );
                }
            }
        }
    }
}
