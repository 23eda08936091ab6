//! Products that are made in parts of their rows, so that the kernels copy little of them, against the kernels in one piece.

use tnsearch_linalg::linalg::{Factor, Strides, matmul};
use tnsearch_linalg::rng::stream;
use tnsearch_linalg::tensor::{Complex, Scalar};

fn parts_are_the_whole<T: Scalar>((m, n, k): (usize, usize, usize), transposed: bool) {
    let mut rng = stream(11, b"parts");
    let a: Vec<T> = (0..m * k).map(|_| T::normal(&mut rng)).collect();
    let b: Vec<T> = (0..k * n).map(|_| T::normal(&mut rng)).collect();
    let sa = if transposed { Strides { rows: 1, cols: m } } else { Strides::row_major(k) };
    let (mut made, mut whole) = (vec![T::ZERO; m * n], vec![T::ZERO; m * n]);
    matmul((m, n, k), &mut made, Factor::new(&a, sa), Factor::row_major(&b, n));
    // SAFETY: the slices have as many entries as the shapes say, and the result overlaps neither factor.
    unsafe {
        gemm::gemm(
            n,
            m,
            k,
            whole.as_mut_ptr(),
            n as isize,
            1,
            false,
            b.as_ptr(),
            n as isize,
            1,
            a.as_ptr(),
            sa.rows as isize,
            sa.cols as isize,
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
    let bits = |x: &T| (x.re().to_bits(), x.im().to_bits());
    assert!(made.iter().map(bits).eq(whole.iter().map(bits)), "{} {m} {n} {k}", T::KIND);
}

#[test]
fn products_in_parts_are_the_same_bit_for_bit() {
    // Just beyond one part, few columns, one more than a power of two; deep ones, beyond 512 and 1024.
    for (shape, transposed) in [
        ((1101, 17, 1030), false),
        ((2049, 65, 520), true),
        ((5000, 3, 300), false),
        ((1100, 130, 1537), true),
        ((70_001, 2, 33), false),
        ((4097, 64, 513), false),
    ] {
        parts_are_the_whole::<f64>(shape, transposed);
        parts_are_the_whole::<Complex<f64>>(shape, transposed);
        parts_are_the_whole::<Complex<f32>>(shape, transposed);
    }
    parts_are_the_whole::<f32>((2300, 65, 1100), false);
}
