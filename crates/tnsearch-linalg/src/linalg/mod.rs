//! Dense linear algebra on slices, for every kind of number: the only place that calls matrix kernels and
//! factorisations.
//!
//! Everything runs on one thread, so that no result depends on their number: products ([`matmul`]), eigenvalues of
//! Hermitian matrices and singular values ([`eigenvalues`], [`eigen`], [`singular_values`], [`left_singular`]),
//! and Cholesky factors ([`cholesky`], [`cholesky_solve`]). What fits do in their inner loop takes a workspace and allocates nothing.

mod apart;
mod cholesky;
mod general;
mod kernels;
mod narrow;
#[cfg(any(miri, test))]
mod plain;
mod product;
mod spectral;
mod triangle;

pub use cholesky::{Cholesky, Route, cholesky, cholesky_solve, inverse};
pub use general::{eliminate, general_eigen, reciprocal};
#[doc(hidden)]
pub use kernels::Kernels;
pub use narrow::narrowed;
#[cfg(miri)]
use plain::plain_product;
pub use product::{Factor, Strides, matmul, matmul_until};
pub use spectral::{eigen, eigenvalues, gram, gram_until, left_singular, singular_values};
pub use spectral::{eigen_bytes, left_singular_bytes};
pub use triangle::{
    columns_at_a_time, precise_bytes, precise_left_singular, precise_singular_values, triangle,
    triangle_until,
};
