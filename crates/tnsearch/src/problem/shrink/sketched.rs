//! The basis of the first mode of a large tensor from a sketch: its Gram matrix would take as many operations for each entry
//! as the mode is long.
//!
//! With orthonormal columns Q and `B = Q^H X`, what is outside of Q is measured entry by entry, and `||X - Q U U^H B||^2`
//! for the leading r left singular vectors U of B is that and the sum of the squares beyond r.

use super::{Allowance, along::Along};
use crate::linalg;
use crate::problem::Stop;
use crate::range::Range;
use crate::tensor::{Scalar, Tensor};

/// Smaller tensors have their Gram matrices soon enough.
const MIN_ENTRIES: usize = 1 << 20;
/// So do shorter modes.
const MIN_LEN: usize = 128;
/// Columns of the first sketch; each further one doubles their number.
const FIRST: usize = 16;
/// A basis of more than one column in so many would not make the tensor much smaller.
const PART: usize = 4;
/// What differences of squares in 32 bits do not tell apart, relative to all.
const COARSE: f64 = 1e-6;

/// Whether the first mode of a tensor of these dimensions is sketched, where an error is asked for.
pub(super) fn is_sketched(dims: &[usize]) -> bool {
    let entries: usize = dims.iter().product();
    entries >= MIN_ENTRIES && dims[0] >= MIN_LEN && entries / dims[0] >= MIN_LEN
}

/// The leading vectors of the first mode, I_0 x d_0, within its share; none where a sketch of a part of its length does not
/// show them, or there is no time or memory (`room`, in bytes) for it.
pub(super) fn basis<T: Scalar>(
    x: &Tensor<T>,
    allowance: &mut Allowance,
    norm_squared: f64,
    (stop, room): (&Stop, f64),
) -> Option<Tensor<T>> {
    let along = Along::new(x.dims(), 0);
    let (len, rest) = (along.len(), along.rest());
    let share = allowance.share();
    let most = len.min(rest) / PART;
    let coarse = if T::KIND.epsilon() > f64::EPSILON { COARSE } else { 0.0 };
    let mut range = Range::<T>::knowing(norm_squared, (len, rest), 0);
    loop {
        let more = range.count().max(FIRST).min(most.saturating_sub(range.count()));
        // The sketch, what it leaves, and both once more in 64 bits.
        let bytes = 3 * T::Wide::KIND.bytes() * (range.count() + more) * rest;
        if more == 0 || !stop.has_time_for(8.0 * (x.len() * more) as f64) || bytes as f64 > room {
            return None;
        }
        let added = range.grow(x.data(), more);
        if range.missed() <= (0.5 * share + coarse) * norm_squared {
            break;
        }
        if added < more {
            return None;
        }
    }
    let count = range.count();
    let (q, b) = range.into_parts();
    // Columns one after the other become rows.
    let columns: Vec<T> = (0..len * count).map(|k| q[k % count * len + k / count]).collect();
    let outside = along.outside(x.data(), &columns, stop)? / norm_squared;
    if outside > 0.5 * share {
        return None;
    }
    let wide: Vec<T::Wide> = b.iter().map(|b| b.widen()).collect();
    let (rising, vectors) = linalg::eigen(&linalg::gram(&wide, count, rest), count)?;
    let mut rank = count;
    let mut lost = outside;
    for square in &rising[..count - 1] {
        let more = square.max(0.0) / norm_squared;
        if lost + more > share {
            break;
        }
        lost += more;
        rank -= 1;
    }
    allowance.spend(lost);
    // The vectors come with rising eigenvalues, one after the other.
    let entry = |k: usize| {
        let (i, j) = (k / rank, count - 1 - k % rank);
        let products = columns[i * count..][..count].iter().zip(&vectors[j * count..][..count]);
        T::narrow(products.map(|(q, u)| q.widen() * *u).sum())
    };
    Tensor::new(vec![len, rank], (0..len * rank).map(entry).collect()).ok()
}
