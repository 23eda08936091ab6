//! What is compiled once for each kind of number, here: products, eigenvalues, singular values, Cholesky factors.
//!
//! The functions of [`super`] are generic and only call these, so that the crates above compile no kernel again.
//! Eigenvalues and singular values of 32-bit numbers go through 64 bits: that is more precise, and half the code.

use super::{Factor, cholesky, product, spectral};
use crate::tensor::{Complex, Scalar};
use faer::dyn_stack::MemBuffer;

/// The kernels of one kind of number; keeps [`Scalar`] closed.
#[doc(hidden)]
pub trait Kernels: Sized {
    /// `C = A B` by the small-matrix kernels, which have no set-up cost.
    ///
    /// # Safety
    /// As that of `nano_gemm::planless`: every entry the strides lead to must be there.
    #[allow(clippy::too_many_arguments)]
    unsafe fn small_product(
        shape: (usize, usize, usize),
        dst: *mut Self,
        dst_strides: (isize, isize),
        lhs: *const Self,
        lhs_strides: (isize, isize),
        rhs: *const Self,
        rhs_strides: (isize, isize),
        conj: (bool, bool),
    );

    /// [`super::matmul_until`].
    fn multiply(
        shape: (usize, usize, usize),
        c: &mut [Self],
        a: Factor<'_, Self>,
        b: Factor<'_, Self>,
        stopped: Option<&dyn Fn() -> bool>,
    ) -> bool;

    /// The eigenvalues of a Hermitian matrix, rising, and its eigenvectors where there is room for them.
    fn eigen(matrix: &[Self], n: usize, vectors: Option<&mut [Self]>) -> Option<Vec<f64>>;

    /// Bytes that it takes for itself.
    fn eigen_scratch(n: usize) -> usize;

    /// The singular values of a row-major matrix, falling, and its conjugated left vectors where there is room.
    fn singular(a: &[Self], m: usize, n: usize, vectors: Option<&mut [Self]>) -> Option<Vec<f64>>;

    /// Bytes that it takes for itself.
    fn singular_scratch(m: usize, n: usize) -> usize;

    /// Room for Cholesky factors and solves.
    fn cholesky_room(width: usize, columns: usize) -> MemBuffer;

    /// L in the place of A, by blocks.
    fn cholesky(a: &mut [Self], n: usize, room: &mut MemBuffer) -> bool;

    /// The same, looking at a stop.
    fn cholesky_until(
        a: &mut [Self],
        n: usize,
        room: &mut MemBuffer,
        stopped: &dyn Fn() -> bool,
    ) -> Option<bool>;

    /// The solutions of `L L^H x = b`, by blocks.
    fn cholesky_solve(l: &[Self], b: &mut [Self], n: usize, room: &mut MemBuffer);
}

/// What every kind has of its own.
macro_rules! own {
    ($t:ty, $execute:ident) => {
        #[inline(always)]
        unsafe fn small_product(
            (m, n, k): (usize, usize, usize),
            dst: *mut Self,
            dst_strides: (isize, isize),
            lhs: *const Self,
            lhs_strides: (isize, isize),
            rhs: *const Self,
            rhs_strides: (isize, isize),
            conj: (bool, bool),
        ) {
            // SAFETY: the caller's.
            #[cfg(not(miri))]
            unsafe {
                nano_gemm::planless::$execute(
                    m,
                    n,
                    k,
                    dst,
                    dst_strides.0,
                    dst_strides.1,
                    lhs,
                    lhs_strides.0,
                    lhs_strides.1,
                    rhs,
                    rhs_strides.0,
                    rhs_strides.1,
                    Self::ZERO,
                    Self::ONE,
                    conj.0,
                    conj.1,
                );
            }
            // SAFETY: the caller's. The kernels are other people's vector instructions; the same pointers by plain loops.
            #[cfg(miri)]
            unsafe {
                let (lhs, rhs) = ((lhs, lhs_strides), (rhs, rhs_strides));
                super::plain_product((m, n, k), (dst, dst_strides), lhs, rhs, conj);
            }
        }

        fn multiply(
            shape: (usize, usize, usize),
            c: &mut [Self],
            a: Factor<'_, Self>,
            b: Factor<'_, Self>,
            stopped: Option<&dyn Fn() -> bool>,
        ) -> bool {
            product::multiply(shape, c, a, b, stopped)
        }

        fn cholesky_room(width: usize, columns: usize) -> MemBuffer {
            cholesky::room::<$t>(width, columns)
        }

        fn cholesky(a: &mut [Self], n: usize, room: &mut MemBuffer) -> bool {
            cholesky::factor_in_blocks(a, n, room)
        }

        fn cholesky_until(
            a: &mut [Self],
            n: usize,
            room: &mut MemBuffer,
            stopped: &dyn Fn() -> bool,
        ) -> Option<bool> {
            cholesky::factor_in_strips(a, n, room, stopped)
        }

        fn cholesky_solve(l: &[Self], b: &mut [Self], n: usize, room: &mut MemBuffer) {
            cholesky::solve_in_blocks(l, b, n, room)
        }
    };
}

/// Numbers of 64 bits are factorised as they are.
macro_rules! precise {
    ($t:ty, $execute:ident) => {
        impl Kernels for $t {
            own!($t, $execute);

            fn eigen(matrix: &[Self], n: usize, vectors: Option<&mut [Self]>) -> Option<Vec<f64>> {
                spectral::evd(matrix, n, vectors)
            }

            fn eigen_scratch(n: usize) -> usize {
                spectral::evd_scratch::<$t>(n)
            }

            fn singular(
                a: &[Self],
                m: usize,
                n: usize,
                vectors: Option<&mut [Self]>,
            ) -> Option<Vec<f64>> {
                spectral::right_svd(a, m, n, vectors)
            }

            fn singular_scratch(m: usize, n: usize) -> usize {
                spectral::svd_scratch::<$t>(m, n)
            }
        }
    };
}

/// Those of 32 bits through copies of 64.
macro_rules! short {
    ($t:ty, $execute:ident) => {
        impl Kernels for $t {
            own!($t, $execute);

            fn eigen(matrix: &[Self], n: usize, vectors: Option<&mut [Self]>) -> Option<Vec<f64>> {
                let matrix = widened(matrix);
                through_wide(vectors, |vectors| Kernels::eigen(&matrix, n, vectors))
            }

            fn eigen_scratch(n: usize) -> usize {
                // The matrix and its vectors once more.
                <$t as Scalar>::Wide::eigen_scratch(n) + 4 * n * n * size_of::<$t>()
            }

            fn singular(
                a: &[Self],
                m: usize,
                n: usize,
                vectors: Option<&mut [Self]>,
            ) -> Option<Vec<f64>> {
                let a = widened(a);
                through_wide(vectors, |vectors| Kernels::singular(&a, m, n, vectors))
            }

            fn singular_scratch(m: usize, n: usize) -> usize {
                let copies = 2 * m * (n + m.min(n)) * size_of::<$t>();
                <$t as Scalar>::Wide::singular_scratch(m, n) + copies
            }
        }
    };
}

fn widened<T: Scalar>(entries: &[T]) -> Vec<T::Wide> {
    entries.iter().map(|x| x.widen()).collect()
}

/// Has vectors computed with 64 bits, and rounds them.
fn through_wide<T: Scalar>(
    vectors: Option<&mut [T]>,
    compute: impl FnOnce(Option<&mut [T::Wide]>) -> Option<Vec<f64>>,
) -> Option<Vec<f64>> {
    let Some(vectors) = vectors else { return compute(None) };
    let mut wide = vec![T::Wide::ZERO; vectors.len()];
    let values = compute(Some(&mut wide))?;
    vectors.iter_mut().zip(wide).for_each(|(v, w)| *v = T::narrow(w));
    Some(values)
}

precise!(f64, execute_f64);
precise!(Complex<f64>, execute_c64);
short!(f32, execute_f32);
short!(Complex<f32>, execute_c32);
