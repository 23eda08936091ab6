//! Reordering the axes of a dense tensor.

/// A planned reordering of axes: `dst[..] = src[..]` with the axes of `src` taken in another order.
///
/// The destination is written in order; the source position is a sum of two table look-ups and a
/// stride, so that applying a plan needs no index arithmetic and allocates nothing.
#[derive(Debug, Clone)]
pub struct AxisPlan {
    outer: Vec<usize>,
    middle: Vec<usize>,
    inner: usize,
    stride: usize,
    identity: bool,
}

impl AxisPlan {
    /// Plans the move: axis `k` of the destination is axis `axes[k]` of a source of dimensions `dims`.
    ///
    /// # Panics
    /// If `axes` is not a permutation of the axes.
    pub fn new(dims: &[usize], axes: &[usize]) -> Self {
        assert_eq!(dims.len(), axes.len(), "one axis each");
        let mut strides = vec![1usize; dims.len()];
        for k in (0..dims.len().saturating_sub(1)).rev() {
            strides[k] = strides[k + 1] * dims[k + 1];
        }
        // Destination axes as (length, source stride), merged where the source runs on.
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for &a in axes {
            let (d, s) = (dims[a], strides[a]);
            if d == 1 {
                continue;
            }
            match merged.last_mut() {
                Some(last) if last.1 == d * s => *last = (last.0 * d, s),
                _ => merged.push((d, s)),
            }
        }
        let identity = merged.is_empty() || (merged.len() == 1 && merged[0].1 == 1);
        let (inner, stride) = merged.pop().unwrap_or((1, 1));
        let half = split_evenly(&merged);
        AxisPlan {
            outer: offsets(&merged[..half]),
            middle: offsets(&merged[half..]),
            inner,
            stride,
            identity,
        }
    }

    /// Whether the entries stay where they are.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// Moves the entries. Both slices have the number of entries the plan was made for.
    ///
    /// # Panics
    /// If a slice has another length than planned.
    pub fn apply<T: Copy>(&self, src: &[T], dst: &mut [T]) {
        self.apply_until(src, dst, None);
    }

    /// The same; where it is long it ends when `stopped` says so. False where it did: then what was written is of no use.
    ///
    /// # Panics
    /// If a slice has another length than planned.
    pub fn apply_until<T: Copy>(
        &self,
        src: &[T],
        dst: &mut [T],
        stopped: Option<&dyn Fn() -> bool>,
    ) -> bool {
        /// Entries that are moved between two looks.
        const APART: usize = 1 << 22;
        let n = self.outer.len() * self.middle.len() * self.inner;
        assert!(src.len() == n && dst.len() == n, "planned for {n} entries");
        let mut rows = dst.chunks_exact_mut(self.inner);
        let mut since = 0;
        for &o in &self.outer {
            since += self.middle.len() * self.inner;
            if since > APART {
                since = 0;
                if stopped.is_some_and(|stopped| stopped()) {
                    return false;
                }
            }
            for &m in &self.middle {
                let Some(row) = rows.next() else { return true };
                let from = &src[o + m..];
                if self.stride == 1 {
                    row.copy_from_slice(&from[..self.inner]);
                } else {
                    for (d, s) in row.iter_mut().zip(from.iter().step_by(self.stride)) {
                        *d = *s;
                    }
                }
            }
        }
        true
    }

    /// As [`AxisPlan::apply`], each entry put through `f` on its way.
    ///
    /// # Panics
    /// If a slice has another length than planned.
    pub fn apply_map<T: Copy, U>(&self, src: &[T], dst: &mut [U], f: impl Fn(T) -> U) {
        let n = self.outer.len() * self.middle.len() * self.inner;
        assert!(src.len() == n && dst.len() == n, "planned for {n} entries");
        let rows = self.outer.iter().flat_map(|o| self.middle.iter().map(move |m| o + m));
        for (row, from) in dst.chunks_exact_mut(self.inner).zip(rows) {
            for (d, s) in row.iter_mut().zip(src[from..].iter().step_by(self.stride)) {
                *d = f(*s);
            }
        }
    }
}

/// Where to split the axes so that both tables are short.
fn split_evenly(axes: &[(usize, usize)]) -> usize {
    let total: f64 = axes.iter().map(|a| (a.0 as f64).ln()).sum();
    let mut seen = 0.0;
    for (k, a) in axes.iter().enumerate() {
        seen += (a.0 as f64).ln();
        if seen >= total / 2.0 {
            return k + 1;
        }
    }
    axes.len()
}

/// The source offset of every combination of indices of these axes, in row-major order.
fn offsets(axes: &[(usize, usize)]) -> Vec<usize> {
    let mut table = vec![0];
    for &(d, s) in axes {
        table = table.iter().flat_map(|&o| (0..d).map(move |i| o + i * s)).collect();
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Tensor, unflatten};

    #[test]
    fn long_moves_look_at_a_stop() {
        let (rows, columns) = (3000, 3000);
        let plan = AxisPlan::new(&[rows, columns], &[1, 0]);
        let src: Vec<u32> = (0..(rows * columns) as u32).collect();
        let (mut whole, mut looked) = (vec![0; src.len()], vec![0; src.len()]);
        plan.apply(&src, &mut whole);
        let looks = std::cell::Cell::new(0);
        let count = |until: u32| {
            looks.set(looks.get() + 1);
            looks.get() == until
        };
        assert!(plan.apply_until(&src, &mut looked, Some(&|| count(0))));
        assert!(looks.get() >= 2 && looked == whole, "{looks:?}");
        looks.set(0);
        assert!(!plan.apply_until(&src, &mut looked, Some(&|| count(2))));
        assert_eq!(looks.get(), 2);
    }

    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_definition(
            dims in prop::collection::vec(1usize..5, 1..6),
            shuffle in any::<prop::sample::Index>(),
        ) {
            let n: usize = dims.iter().product();
            let x = Tensor::new(dims.clone(), (0..n).map(|i| i as f64).collect()).unwrap();
            let mut axes: Vec<usize> = (0..dims.len()).collect();
            let k = shuffle.index(dims.len());
            axes.rotate_left(k);
            axes.swap(0, k);
            let y = x.permuted(&axes);
            for flat in 0..n {
                let to = unflatten(flat, y.dims());
                let mut from = vec![0; dims.len()];
                for (k, &a) in axes.iter().enumerate() { from[a] = to[k]; }
                prop_assert_eq!(y.at(&to), x.at(&from));
            }
            let mut mapped = vec![0i64; n];
            AxisPlan::new(&dims, &axes).apply_map(x.data(), &mut mapped, |v| 2 * v as i64);
            prop_assert!(mapped.iter().zip(y.data()).all(|(m, y)| *m as f64 == 2.0 * y));
        }
    }

    #[test]
    fn knows_the_identity() {
        assert!(AxisPlan::new(&[2, 3, 4], &[0, 1, 2]).is_identity());
        assert!(AxisPlan::new(&[2, 1, 4], &[1, 0, 2]).is_identity());
        assert!(!AxisPlan::new(&[2, 3, 4], &[1, 0, 2]).is_identity());
    }
}
