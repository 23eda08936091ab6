//! Matrix products on slices: one entry for tiny and large sizes.

use crate::tensor::Scalar;

/// Products up to this many multiply-adds go to the small-matrix kernels, which have no set-up cost;
/// larger ones to the packing kernels (measured: level at about 36^3, see `docs/benchmarks.md`).
///
/// Miri takes minutes for as many: there this and the blocks below are smaller, so that it goes every way.
const SMALL: usize = if cfg!(miri) { 6 * 6 * 6 } else { 40 * 40 * 40 };

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

    /// The place of the last entry of a matrix of this shape (at least 1 x 1); none beyond what can be addressed.
    fn last(self, rows: usize, cols: usize) -> Option<usize> {
        let (down, along) =
            ((rows - 1).checked_mul(self.rows)?, (cols - 1).checked_mul(self.cols)?);
        down.checked_add(along)
    }

    /// As the kernels want them; none beyond what can be addressed.
    fn signed(self) -> Option<(isize, isize)> {
        Some((isize::try_from(self.rows).ok()?, isize::try_from(self.cols).ok()?))
    }
}

/// A factor of a product: a matrix in a slice, or its complex conjugate.
#[derive(Debug, Clone, Copy)]
pub struct Factor<'f, T> {
    /// The slice it lies in.
    pub entries: &'f [T],
    /// Where its entries are.
    pub strides: Strides,
    /// Whether every entry is conjugated (nothing happens to real ones).
    pub conj: bool,
}

impl<'f, T> Factor<'f, T> {
    /// A matrix as it lies.
    pub fn new(entries: &'f [T], strides: Strides) -> Self {
        Factor { entries, strides, conj: false }
    }

    /// A row-major matrix with rows of length `n`.
    pub fn row_major(entries: &'f [T], n: usize) -> Self {
        Factor::new(entries, Strides::row_major(n))
    }

    /// The transposed matrix.
    pub fn transposed(self) -> Self {
        Factor { strides: self.strides.transposed(), ..self }
    }

    /// The conjugated matrix.
    pub fn conj(self) -> Self {
        Factor { conj: !self.conj, ..self }
    }
}

/// `C = A B` with `A` m x k and `B` k x n, `C` row-major m x n. Single-threaded, so that its result
/// does not depend on the machine's load.
///
/// ```
/// use tnsearch_linalg::linalg::{Factor, matmul};
/// let (a, b) = ([1.0, 2.0, 3.0, 4.0], [1.0, 10.0]);
/// let mut c = [0.0; 2];
/// matmul((2, 1, 2), &mut c, Factor::row_major(&a, 2), Factor::row_major(&b, 1));
/// assert_eq!(c, [21.0, 43.0]);
/// ```
///
/// # Panics
/// If a dimension is zero or a slice is too short for its shape and strides.
pub fn matmul<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    c: &mut [T],
    a: Factor<'_, T>,
    b: Factor<'_, T>,
) {
    matmul_until((m, n, k), c, a, b, None);
}

/// Multiply-adds between two looks at a stop: some tens of milliseconds.
const BLOCK: f64 = if cfg!(miri) { 2e3 } else { 3e8 };
/// Rows or columns of a block at least: so many are computed as all are (up to 64 the kernels sum in other steps).
const LEAST: usize = 65;

/// Bytes that the packing kernels may copy a factor into. Left alone they take most of the last cache, on every thread:
/// 30 MiB on one machine, hundreds on another.
const PACKED: usize = if cfg!(miri) { 1 << 10 } else { 4 << 20 };
/// How many columns of a factor they copy at a time, at most.
const DEEP: usize = 1024;

/// As [`matmul`], bit for bit; where the product is long it is made block by block, and ends when `stopped` says so. False
/// where it did: then C holds nothing of use.
///
/// # Panics
/// As [`matmul`].
#[inline]
pub fn matmul_until<T: Scalar>(
    shape: (usize, usize, usize),
    c: &mut [T],
    a: Factor<'_, T>,
    b: Factor<'_, T>,
    stopped: Option<&dyn Fn() -> bool>,
) -> bool {
    T::multiply(shape, c, a, b, stopped)
}

/// [`matmul_until`] for one kind of number.
pub(super) fn multiply<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    c: &mut [T],
    a: Factor<'_, T>,
    b: Factor<'_, T>,
    stopped: Option<&dyn Fn() -> bool>,
) -> bool {
    assert!(m > 0 && n > 0 && k > 0, "a product needs entries");
    let room = m.checked_mul(n).is_some_and(|needed| needed <= c.len());
    assert!(room, "the result needs {m} x {n} entries");
    let covers = |f: &Factor<'_, T>, rows, cols| {
        f.strides.last(rows, cols).is_some_and(|last| last < f.entries.len())
    };
    assert!(covers(&a, m, k), "the left factor is too short");
    assert!(covers(&b, k, n), "the right factor is too short");
    // The kernels think in columns: C^T = B^T A^T, so their left factor is our B.
    let (Some(at), Some(bt)) = (a.strides.transposed().signed(), b.strides.transposed().signed())
    else {
        panic!("strides beyond what can be addressed");
    };
    // A row of C fits in it.
    let row = n as isize;
    let small = (m * n).saturating_mul(k) <= SMALL && b.strides.cols == 1;
    let c_start = c.as_mut_ptr();
    // Along the longer side, all blocks of about one size: what is summed up to an entry stays the same.
    let work = m as f64 * n as f64 * k as f64;
    let blocks = match stopped {
        Some(_) => ((work / BLOCK).ceil() as usize).clamp(1, (m.max(n) / LEAST).max(1)),
        None => 1,
    };
    if blocks > 1 {
        let side = m.max(n);
        return (0..blocks).all(|block| {
            let (from, to) = (block * side / blocks, (block + 1) * side / blocks);
            if stopped.is_some_and(|stopped| stopped()) {
                return false;
            }
            // SAFETY: the three slices cover every entry of the whole product, checked above without overflow, and a
            // block is a part of it; `c` is exclusively borrowed, so it overlaps neither factor.
            unsafe {
                let (shape, c, a_from, b_from) = match m >= n {
                    true => ((to - from, n, k), from * n, from * a.strides.rows, 0),
                    false => ((m, to - from, k), from, 0, from * b.strides.cols),
                };
                large_product(
                    shape,
                    c_start.add(c),
                    row,
                    (a.entries.as_ptr().add(a_from), at, a.conj),
                    (b.entries.as_ptr().add(b_from), bt, b.conj),
                );
            }
            true
        });
    }
    // SAFETY: the three slices cover every entry the kernels touch, checked above without overflow; `c` is
    // exclusively borrowed, so it overlaps neither factor.
    unsafe {
        if small {
            T::small_product(
                (n, m, k),
                c_start,
                (1, row),
                b.entries.as_ptr(),
                bt,
                a.entries.as_ptr(),
                at,
                (b.conj, a.conj),
            );
        } else {
            let (a, b) = ((a.entries.as_ptr(), at, a.conj), (b.entries.as_ptr(), bt, b.conj));
            large_product((m, n, k), c_start, row, a, b);
        }
    }
    true
}

/// A factor as the kernels take it: its first entry, its strides transposed, whether it is conjugated.
type Raw<T> = (*const T, (isize, isize), bool);

/// How many parts of the rows a product is made in, so that what the kernels copy of the left factor is bounded. What
/// is summed up to an entry stays the same, bit for bit.
fn parts<T>(m: usize, k: usize) -> usize {
    let rows = PACKED / (k.min(DEEP) * size_of::<T>());
    // Half of it is still more than the least.
    m.div_ceil(rows.max(4 * LEAST))
}

/// `C = A B` by the packing kernels, C with rows that far apart.
///
/// # Safety
/// Every entry the shape and the strides lead to must be there, and C must overlap neither factor.
unsafe fn large_product<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    c: *mut T,
    row: isize,
    (a, at, conj_a): Raw<T>,
    (b, bt, conj_b): Raw<T>,
) {
    let parts = parts::<T>(m, k);
    for part in 0..parts {
        let (from, to) = (part * m / parts, (part + 1) * m / parts);
        // SAFETY: the caller's; the rows of a part are among all rows.
        unsafe {
            let (c, a) = (c.offset(from as isize * row), a.offset(from as isize * at.1));
            packed((n, to - from, k), (c, row), (b, bt, conj_b), (a, at, conj_a));
        }
    }
}

/// One call of the packing kernels, which think in columns.
///
/// # Safety
/// As [`large_product`].
#[cfg(not(miri))]
unsafe fn packed<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    (c, row): (*mut T, isize),
    (lhs, left, conj_lhs): Raw<T>,
    (rhs, right, conj_rhs): Raw<T>,
) {
    let (zero, one) = (T::ZERO, T::ONE);
    // SAFETY: the caller's.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c,
            row,
            1,
            false,
            lhs,
            left.1,
            left.0,
            rhs,
            right.1,
            right.0,
            zero,
            one,
            false,
            conj_lhs,
            conj_rhs,
            gemm::Parallelism::None,
        );
    }
}

/// The same by plain loops: what Miri is to see is which entries the pointers lead to, not how the kernels sum.
#[cfg(miri)]
unsafe fn packed<T: Scalar>(
    shape: (usize, usize, usize),
    (c, row): (*mut T, isize),
    (lhs, left, conj_lhs): Raw<T>,
    (rhs, right, conj_rhs): Raw<T>,
) {
    let conj = (conj_lhs, conj_rhs);
    // SAFETY: the caller's.
    unsafe { super::plain_product(shape, (c, (1, row)), (lhs, left), (rhs, right), conj) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::{Complex, Kind};
    use proptest::prelude::*;

    /// All layouts and conjugations of a product against the definition.
    fn agrees<T: Scalar>(
        (m, n, k): (usize, usize, usize),
        (ta, tb): (bool, bool),
        (ca, cb): (bool, bool),
        seed: u64,
    ) -> Result<(), TestCaseError> {
        let mut rng = stream(seed, b"product");
        let a: Vec<T> = (0..m * k).map(|_| T::normal(&mut rng)).collect();
        let b: Vec<T> = (0..k * n).map(|_| T::normal(&mut rng)).collect();
        let sa = if ta { Strides { rows: 1, cols: m } } else { Strides::row_major(k) };
        let sb = if tb { Strides { rows: 1, cols: k } } else { Strides::row_major(n) };
        let (fa, fb) = (Factor::new(&a, sa), Factor::new(&b, sb));
        let mut c = vec![T::from_parts(f64::NAN, f64::NAN); m * n];
        let (fa, fb) = (if ca { fa.conj() } else { fa }, if cb { fb.conj() } else { fb });
        matmul((m, n, k), &mut c, fa, fb);
        let conj = |x: T, yes: bool| if yes { x.conj() } else { x };
        for i in 0..m {
            for j in 0..n {
                let term = |l: usize| {
                    conj(a[i * sa.rows + l * sa.cols], ca) * conj(b[l * sb.rows + j * sb.cols], cb)
                };
                let want: T = (0..k).map(term).sum();
                let off = (c[i * n + j] - want).abs();
                prop_assert!(
                    off < 30.0 * T::KIND.epsilon() * (k as f64 + 1.0),
                    "{}: {off}",
                    T::KIND
                );
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        #[cfg_attr(miri, ignore = "minutes; the small ones go the same ways")]
        fn agrees_with_the_definition(
            m in 1usize..50, n in 1usize..50, k in 1usize..50,
            t in any::<(bool, bool)>(), c in any::<(bool, bool)>(), seed in any::<u64>(),
        ) {
            agrees::<f32>((m, n, k), t, c, seed)?;
            agrees::<f64>((m, n, k), t, c, seed)?;
            agrees::<Complex<f32>>((m, n, k), t, c, seed)?;
            agrees::<Complex<f64>>((m, n, k), t, c, seed)?;
        }
    }

    fn blocks_are_the_whole<T: Scalar>(shape: (usize, usize, usize), transposed: bool) {
        let (m, n, k) = shape;
        let mut rng = stream(9, b"blocks");
        let a: Vec<T> = (0..m * k).map(|_| T::normal(&mut rng)).collect();
        let b: Vec<T> = (0..k * n).map(|_| T::normal(&mut rng)).collect();
        let fa = match transposed {
            true => Factor::new(&a, Strides { rows: 1, cols: m }),
            false => Factor::row_major(&a, k),
        };
        let fb = Factor::row_major(&b, n).conj();
        let (mut whole, mut parts) = (vec![T::ZERO; m * n], vec![T::ZERO; m * n]);
        matmul(shape, &mut whole, fa, fb);
        let looks = std::cell::Cell::new(0);
        let go_on = || {
            looks.set(looks.get() + 1);
            false
        };
        assert!(matmul_until(shape, &mut parts, fa, fb, Some(&go_on)));
        assert!(looks.get() > 1, "{shape:?}: {} looks", looks.get());
        let same = |(a, b): (&T, &T)| {
            (a.re().to_bits(), a.im().to_bits()) == (b.re().to_bits(), b.im().to_bits())
        };
        assert!(whole.iter().zip(&parts).all(same), "{} {shape:?}", T::KIND);
        // Told to end at the second look, it does not come to the third.
        looks.set(0);
        let twice = || {
            looks.set(looks.get() + 1);
            looks.get() == 2
        };
        assert!(!matmul_until(shape, &mut parts, fa, fb, Some(&twice)));
        assert_eq!(looks.get(), 2);
    }

    #[test]
    #[cfg_attr(miri, ignore = "minutes; the small ones go the same ways")]
    fn long_products_look_at_a_stop_and_are_the_same_bit_for_bit() {
        for (shape, transposed) in [((900, 700, 1100), false), ((300, 2100, 1300), true)] {
            blocks_are_the_whole::<f64>(shape, transposed);
            blocks_are_the_whole::<f32>(shape, transposed);
        }
        blocks_are_the_whole::<Complex<f64>>((1200, 500, 700), false);
        blocks_are_the_whole::<Complex<f32>>((500, 1200, 700), true);
    }

    #[test]
    fn small_products_go_every_way_in_bounds() {
        // For Miri, which sees every entry that is touched: small and packing kernels, parts and blocks, both layouts.
        let shapes =
            [(2, 3, 4), (7, 8, 9), (1, 1, 300), (300, 1, 1), (1, 300, 2), (540, 2, 3), (2, 140, 9)];
        for (shape, t) in shapes.into_iter().zip([(false, true), (true, false)].into_iter().cycle())
        {
            agrees::<f64>(shape, t, (false, false), 3).unwrap();
            agrees::<f32>(shape, t, (false, false), 4).unwrap();
            agrees::<Complex<f64>>(shape, t, (true, false), 5).unwrap();
            agrees::<Complex<f32>>(shape, t, (false, true), 6).unwrap();
        }
        let (a, b, mut c) = (vec![1.0; 280 * 5], vec![2.0; 5 * 3], vec![0.0; 280 * 3]);
        let factors = (Factor::row_major(&a, 5), Factor::row_major(&b, 3));
        assert!(matmul_until((280, 3, 5), &mut c, factors.0, factors.1, Some(&|| false)));
        assert!(c.iter().all(|&x| x == 10.0));
    }

    #[test]
    #[cfg(not(miri))]
    fn parts_are_neither_tiny_nor_more_than_is_packed() {
        for (m, k) in [(1, 1), (64, 5000), (300, 5000), (5_000_000, 7), (100_000, 1024)] {
            let parts = parts::<Complex<f64>>(m, k);
            let rows = m.div_ceil(parts);
            assert!(rows * k.min(DEEP) * 16 <= PACKED + 16 * DEEP * 4, "{m} {k}: {rows}");
            assert!(parts == 1 || m / parts > 2 * 64, "{m} {k}: {}", m / parts);
        }
    }

    #[test]
    fn strides_that_wrap_are_refused() {
        let a = [1.0; 4];
        let refused = |shape: (usize, usize, usize), strides: Strides| {
            let outcome = std::panic::catch_unwind(|| {
                let mut c = [0.0; 4];
                matmul(shape, &mut c, Factor::new(&a, strides), Factor::row_major(&a, shape.1));
            });
            assert!(outcome.is_err(), "{shape:?} {strides:?}");
        };
        // (2 - 1) * rows + (2 - 1) * cols wraps to 0; (3 - 1) * 2^63 as well.
        refused((2, 2, 2), Strides { rows: usize::MAX, cols: 1 });
        refused((3, 1, 1), Strides { rows: 1 << 63, cols: 1 });
        refused((1, 1, 3), Strides { rows: 1, cols: 1 << 63 });
        refused((1, 1, 1), Strides { rows: usize::MAX, cols: 1 });
        refused((1 << 32, 1 << 32, 1), Strides { rows: 0, cols: 0 });
        assert_eq!(Kind::F64.bytes(), size_of_val(&a[0]));
    }
}
