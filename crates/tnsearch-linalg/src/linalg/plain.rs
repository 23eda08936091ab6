//! What Miri runs in the place of the kernels, whose instructions it does not know: so it sees which entries our pointers lead to.

use crate::tensor::Scalar;

/// `C = A B` by plain loops over the same pointers and strides as the kernels take.
///
/// # Safety
/// Every entry the shape and the strides lead to must be there, and C must overlap neither factor.
pub(crate) unsafe fn plain_product<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    (c, (c_rows, c_cols)): (*mut T, (isize, isize)),
    (a, (a_rows, a_cols)): (*const T, (isize, isize)),
    (b, (b_rows, b_cols)): (*const T, (isize, isize)),
    conj: (bool, bool),
) {
    let own = |x: T, yes: bool| if yes { x.conj() } else { x };
    for i in 0..m as isize {
        for j in 0..n as isize {
            // SAFETY: the caller's: every one of these places is there.
            unsafe {
                let term = |l: isize| {
                    let x = a.offset(i * a_rows + l * a_cols);
                    let y = b.offset(l * b_rows + j * b_cols);
                    own(x.read(), conj.0) * own(y.read(), conj.1)
                };
                let sum: T = (0..k as isize).map(term).sum();
                c.offset(i * c_rows + j * c_cols).write(sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Factor, matmul};
    use crate::rng::stream;
    use crate::tensor::Complex;

    fn as_the_kernels<T: Scalar>((m, n, k): (usize, usize, usize), conj: (bool, bool)) {
        let mut rng = stream(11, b"plain");
        let a: Vec<T> = (0..m * k).map(|_| T::normal(&mut rng)).collect();
        let b: Vec<T> = (0..k * n).map(|_| T::normal(&mut rng)).collect();
        let (mut plain, mut kernel) = (vec![T::ZERO; m * n], vec![T::ZERO; m * n]);
        let left = Factor { conj: conj.0, ..Factor::row_major(&a, k) };
        let right = Factor { conj: conj.1, ..Factor::row_major(&b, n) };
        matmul((m, n, k), &mut kernel, left, right);
        let by_rows = |n: usize| (n as isize, 1);
        // SAFETY: row-major matrices of these shapes, each as long as its slice, and apart.
        unsafe {
            let c = (plain.as_mut_ptr(), by_rows(n));
            plain_product((m, n, k), c, (a.as_ptr(), by_rows(k)), (b.as_ptr(), by_rows(n)), conj);
        }
        let near = |(x, y): (&T, &T)| (*x - *y).abs() < 30.0 * T::KIND.epsilon() * (k as f64 + 1.0);
        assert!(plain.iter().zip(&kernel).all(near), "{} {m} {n} {k} {conj:?}", T::KIND);
    }

    #[test]
    fn plain_loops_do_what_the_kernels_do() {
        for (shape, conj) in
            [((3, 4, 5), (false, false)), ((1, 7, 2), (true, false)), ((9, 1, 8), (true, true))]
        {
            as_the_kernels::<f64>(shape, conj);
            as_the_kernels::<f32>(shape, conj);
            as_the_kernels::<Complex<f64>>(shape, conj);
            as_the_kernels::<Complex<f32>>(shape, conj);
        }
    }
}
