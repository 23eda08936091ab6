//! Entries of tensors with the shape of pictures: sides made longer or shorter, digits of rows and columns merged.

use super::{AnyTensor, Scalar, Tensor};
use crate::dispatch;
use serde::{Deserialize, Serialize};

/// What was done to a picture before it became a tensor. None of it is undone on the way back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PictureSteps {
    /// Colours were made grey: `0.299 R + 0.587 G + 0.114 B`.
    #[serde(default)]
    pub grey: bool,
    /// Rows and columns it was resized to.
    #[serde(default)]
    pub resize: Option<[usize; 2]>,
    /// Rows and columns of its middle, which was cut out after that.
    #[serde(default)]
    pub crop: Option<[usize; 2]>,
}

/// The tensor with every axis made as long as asked: what is too long is cut off, and where there is too little the
/// last entry is repeated.
pub(super) fn resized(tensor: AnyTensor, to: &[usize]) -> AnyTensor {
    if tensor.dims() == to {
        return tensor;
    }
    dispatch!(tensor, t => with_sides(&t, to).into())
}

fn with_sides<T: Scalar>(tensor: &Tensor<T>, to: &[usize]) -> Tensor<T> {
    let from = tensor.dims();
    let mut steps = vec![1; from.len()];
    for k in (1..from.len()).rev() {
        steps[k - 1] = steps[k] * from[k];
    }
    let mut result = Tensor::zeros(to.to_vec());
    let mut index = vec![0; to.len()];
    for x in result.data_mut() {
        let place = index.iter().zip(from).zip(&steps);
        *x = tensor.data()[place.map(|((&i, &d), s)| i.min(d - 1) * s).sum::<usize>()];
        for (i, &d) in index.iter_mut().zip(to).rev() {
            *i += 1;
            if *i < d {
                break;
            }
            *i = 0;
        }
    }
    result
}

/// The first two modes as digits, `i = (i_1 i_2 ... i_K)` and `j = (j_1 ... j_K)`, most significant first, and mode k
/// made of digit k of both: `i_k b_k + j_k`, where digit k of the first mode takes `a_k` values and that of the second
/// `b_k`. The other modes stay.
pub(super) fn interleaved(tensor: AnyTensor, digits: &[[usize; 2]], to: &[usize]) -> AnyTensor {
    let rest = &tensor.dims()[2..];
    let split: Vec<usize> = sides(digits, 0).chain(sides(digits, 1)).chain(rest.to_vec()).collect();
    let count = digits.len();
    let axes: Vec<usize> =
        (0..count).flat_map(|k| [k, count + k]).chain(2 * count..split.len()).collect();
    moved(tensor, split, &axes, to)
}

/// Undoes [`interleaved`]: `to` is the shape before it.
pub(super) fn separated(tensor: AnyTensor, digits: &[[usize; 2]], to: &[usize]) -> AnyTensor {
    let rest = &to[2..];
    let split: Vec<usize> = digits.iter().flatten().chain(rest).copied().collect();
    let count = digits.len();
    let axes: Vec<usize> = (0..count)
        .map(|k| 2 * k)
        .chain((0..count).map(|k| 2 * k + 1))
        .chain(2 * count..split.len())
        .collect();
    moved(tensor, split, &axes, to)
}

fn sides(digits: &[[usize; 2]], of: usize) -> impl Iterator<Item = usize> {
    digits.iter().map(move |d| d[of])
}

fn moved(tensor: AnyTensor, split: Vec<usize>, axes: &[usize], to: &[usize]) -> AnyTensor {
    let reshaped = |tensor: AnyTensor, dims| {
        tensor.reshaped(dims).unwrap_or_else(|e| unreachable!("as many entries: {e}"))
    };
    reshaped(reshaped(tensor, split).permuted(axes), to.to_vec())
}
