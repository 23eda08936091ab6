//! A fingerprint of the arithmetic of this machine: the bits of some products and factorisations.
//!
//! How a sum is rounded depends on the width of the processor's vectors, on the blocking of large products (by
//! the sizes of its caches) and on the mathematical functions of its C library. The libraries are called here as
//! the engine calls them, one thread each, but not through the engine: a change of the engine leaves the
//! fingerprint alone.

use faer::{Mat, Par, Side};
use sha2::{Digest, Sha256};

/// Rows, columns and inner dimension of products by the small-matrix kernels.
const SMALL: [(usize, usize, usize); 6] =
    [(2, 3, 4), (3, 9, 27), (7, 5, 81), (16, 16, 16), (9, 81, 12), (36, 36, 36)];

/// The same of products by the packing kernels.
const LARGE: [(usize, usize, usize); 5] =
    [(48, 48, 48), (120, 90, 110), (6, 243, 2000), (200, 30, 729), (33, 1024, 513)];

/// The fingerprint, as 64 hexadecimal digits.
pub fn fingerprint() -> String {
    faer::set_global_parallelism(Par::Seq);
    let mut hash = Sha256::new();
    let mut add =
        |values: &[f64]| values.iter().for_each(|v| hash.update(v.to_bits().to_le_bytes()));
    SMALL.iter().for_each(|&size| add(&product(size, true)));
    LARGE.iter().for_each(|&size| add(&product(size, false)));
    for n in [3, 9, 27, 81, 110] {
        let a = Mat::from_fn(n, n, |i, j| value(n * i.min(j) + i.max(j)));
        let eigen = a.self_adjoint_eigen(Side::Lower).unwrap();
        eigen.U().col_iter().for_each(|c| c.iter().for_each(|v| add(&[*v])));
        eigen.S().column_vector().iter().for_each(|v| add(&[*v]));
        let wide = Mat::from_fn(n, 2 * n + 1, |i, j| value(31 * i + 7 * j + n));
        let svd = wide.thin_svd().unwrap();
        svd.U().col_iter().for_each(|c| c.iter().for_each(|v| add(&[*v])));
        svd.V().col_iter().for_each(|c| c.iter().for_each(|v| add(&[*v])));
        let gram = &wide * wide.transpose() + Mat::<f64>::identity(n, n);
        let factor = gram.llt(Side::Lower).unwrap();
        factor.L().col_iter().for_each(|c| c.iter().for_each(|v| add(&[*v])));
    }
    // Normal numbers, losses and temperatures are made of these.
    for k in 0..1000 {
        let x = value(k) + 1.5;
        add(&[x.ln(), x.exp(), x.log10(), x.powf(0.37), x.sin(), x.sqrt()]);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// Numbers between -1 and 1 without a pattern.
fn value(i: usize) -> f64 {
    let mixed = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A product of row-major matrices, called as `tensor::matmul` calls it.
fn product((m, n, k): (usize, usize, usize), small: bool) -> Vec<f64> {
    let a: Vec<f64> = (0..m * k).map(value).collect();
    let b: Vec<f64> = (0..k * n).map(|i| value(i + 7919)).collect();
    let mut c = vec![0.0; m * n];
    let (row, inner) = (n as isize, k as isize);
    // SAFETY: the slices have as many entries as the shapes say, and `c` overlaps neither factor.
    unsafe {
        if small {
            nano_gemm::planless::execute_f64(
                n,
                m,
                k,
                c.as_mut_ptr(),
                1,
                row,
                b.as_ptr(),
                1,
                row,
                a.as_ptr(),
                1,
                inner,
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
                row,
                1,
                false,
                b.as_ptr(),
                row,
                1,
                a.as_ptr(),
                inner,
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                gemm::Parallelism::None,
            );
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_products_are_products_and_the_fingerprint_is_one() {
        for (size, small) in SMALL.map(|s| (s, true)).into_iter().chain(LARGE.map(|s| (s, false))) {
            let (m, n, k) = size;
            let want: f64 =
                (0..k).map(|l| value((m - 1) * k + l) * value(l * n + n - 1 + 7919)).sum();
            let c = product(size, small);
            assert!((c[m * n - 1] - want).abs() < 1e-11, "{size:?}");
        }
        assert_eq!(fingerprint(), fingerprint());
    }
}
