//! Matrix products on slices: one entry for tiny and large sizes.

/// Products up to this many multiply-adds go to the small-matrix kernels, which have no set-up cost;
/// larger ones to the packing kernels (measured: level at about 36^3, see `docs/benchmarks.md`).
const SMALL: usize = 40 * 40 * 40;

/// A matrix inside a slice: entry (i, j) at `i * rows + j * cols`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strides {
    /// Distance between rows.
    pub rows: usize,
    /// Distance between columns.
    pub cols: usize,
}

impl Strides {
    /// Row-major with rows of length `n`.
    pub fn row_major(n: usize) -> Self {
        Strides { rows: n, cols: 1 }
    }

    /// The transposed matrix.
    pub fn transposed(self) -> Self {
        Strides { rows: self.cols, cols: self.rows }
    }

    fn last(self, rows: usize, cols: usize) -> usize {
        (rows - 1) * self.rows + (cols - 1) * self.cols
    }
}

/// `C = A B` with `A` m x k and `B` k x n, `C` row-major m x n. Single-threaded, so that its result
/// does not depend on the machine's load.
///
/// # Panics
/// If a dimension is zero or a slice is too short for its shape.
pub fn matmul(
    (m, n, k): (usize, usize, usize),
    c: &mut [f64],
    a: &[f64],
    a_strides: Strides,
    b: &[f64],
    b_strides: Strides,
) {
    assert!(m > 0 && n > 0 && k > 0, "a product needs entries");
    assert!(c.len() >= m * n, "the result needs {m} x {n} entries");
    assert!(a_strides.last(m, k) < a.len(), "the left factor is too short");
    assert!(b_strides.last(k, n) < b.len(), "the right factor is too short");
    // The kernels think in columns: C^T = B^T A^T, so their left factor is our B.
    let s = |x: usize| x as isize;
    let (bt, at) = (b_strides.transposed(), a_strides.transposed());
    let small = m * n * k <= SMALL && b_strides.cols == 1;
    // SAFETY: the three slices cover every entry the kernels touch, checked above; `c` is exclusively
    // borrowed, so it overlaps neither factor.
    unsafe {
        if small {
            nano_gemm::planless::execute_f64(
                n,
                m,
                k,
                c.as_mut_ptr(),
                1,
                s(n),
                b.as_ptr(),
                s(bt.rows),
                s(bt.cols),
                a.as_ptr(),
                s(at.rows),
                s(at.cols),
                0.0,
                1.0,
                false,
                false,
            );
        } else {
            gemm::gemm(
                n,
                m,
                k,
                c.as_mut_ptr(),
                s(n),
                1,
                false,
                b.as_ptr(),
                s(bt.cols),
                s(bt.rows),
                a.as_ptr(),
                s(at.cols),
                s(at.rows),
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_the_definition(
            m in 1usize..50, n in 1usize..50, k in 1usize..50,
            ta in any::<bool>(), tb in any::<bool>(), seed in any::<u64>(),
        ) {
            let value = |i: usize| ((i as u64 ^ seed).wrapping_mul(0x9e3779b97f4a7c15) >> 40) as f64 / 1e7 - 0.8;
            let a: Vec<f64> = (0..m * k).map(value).collect();
            let b: Vec<f64> = (0..k * n).map(|i| value(i + 7919)).collect();
            let sa = if ta { Strides { rows: 1, cols: m } } else { Strides::row_major(k) };
            let sb = if tb { Strides { rows: 1, cols: k } } else { Strides::row_major(n) };
            let mut c = vec![f64::NAN; m * n];
            matmul((m, n, k), &mut c, &a, sa, &b, sb);
            for i in 0..m {
                for j in 0..n {
                    let want: f64 = (0..k)
                        .map(|l| a[i * sa.rows + l * sa.cols] * b[l * sb.rows + j * sb.cols])
                        .sum();
                    prop_assert!((c[i * n + j] - want).abs() < 1e-12 * (k as f64 + 1.0));
                }
            }
        }
    }
}
