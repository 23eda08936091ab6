//! Cholesky factors `A = L L^H` of positive definite matrices: solves without allocation, and inverses.

use super::apart::apart;
use crate::tensor::Scalar;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::{matmul::matmul, triangular_solve};
use faer::traits::ComplexField;
use faer::{Accum, Mat, MatMut, MatRef, Par, prelude::*};

/// Systems up to this size are factored by a plain loop, larger ones by faer.
const PLAIN: usize = 20;
/// Systems above this size look at a stop while they are factored: the others take a fraction of a second.
const LONG: usize = 1536;
/// The columns that are factored at a time, which are those of faer's own blocks.
const PANEL: usize = 128;
/// Entries of the rest that are brought up to date between two looks.
const STRIP: usize = 1 << 22;
/// Right-hand sides that are solved at a time, at least.
const SIDES: usize = 16;

/// How a matrix is factored. A factor must be used the way it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// By a plain loop: fastest for the smallest.
    Plain,
    /// Block by block.
    Blocked,
}

impl Route {
    /// The faster one for this many unknowns.
    pub fn of_size(n: usize) -> Self {
        if n > PLAIN { Route::Blocked } else { Route::Plain }
    }
}

/// The workspace of factorisations and solves: nothing is allocated after it was made.
pub struct Cholesky {
    stack: MemBuffer,
}

impl Cholesky {
    /// Room for systems of up to `width` unknowns and `columns` right-hand sides.
    pub fn new<T: Scalar>(width: usize, columns: usize) -> Self {
        Cholesky { stack: T::cholesky_room(width, columns) }
    }

    /// Puts L in the place of A (n x n, column-major; only the lower triangle is read and written). False if A is
    /// not positive definite; what is left there then is of no use.
    pub fn factor<T: Scalar>(&mut self, a: &mut [T], n: usize, route: Route) -> bool {
        match route {
            Route::Plain => factor_plainly(a, n),
            Route::Blocked => T::cholesky(a, n, &mut self.stack),
        }
    }

    /// Whether a system of this size looks at a stop on the way.
    pub fn looks(&self, n: usize, route: Route) -> bool {
        n > LONG && route == Route::Blocked
    }

    /// As [`Cholesky::factor`] by blocks, bit for bit; ends when `stopped` says so. None where it did: what is left there then
    /// is of no use.
    pub fn factor_until<T: Scalar>(
        &mut self,
        a: &mut [T],
        n: usize,
        route: Route,
        stopped: &dyn Fn() -> bool,
    ) -> Option<bool> {
        if n <= LONG || route == Route::Plain {
            return Some(self.factor(a, n, route));
        }
        T::cholesky_until(a, n, &mut self.stack, stopped)
    }

    /// As [`Cholesky::solve`], some columns after the other; false where `stopped` ended it between them.
    pub fn solve_until<T: Scalar>(
        &mut self,
        l: &[T],
        b: &mut [T],
        n: usize,
        route: Route,
        stopped: &dyn Fn() -> bool,
    ) -> bool {
        if n <= LONG || route == Route::Plain {
            self.solve(l, b, n, route);
            return true;
        }
        let columns = b.len() / n;
        let at_once = (STRIP * PANEL / (n * n)).max(SIDES);
        let blocks = (columns / at_once).max(1);
        let mut rest = b;
        for block in 0..blocks {
            if stopped() {
                return false;
            }
            let here = (block + 1) * columns / blocks - block * columns / blocks;
            let (now, later) = rest.split_at_mut(here * n);
            self.solve(l, now, n, route);
            rest = later;
        }
        true
    }

    /// Puts the solution of `L L^H x = b` in the place of every column of `b`.
    pub fn solve<T: Scalar>(&mut self, l: &[T], b: &mut [T], n: usize, route: Route) {
        match route {
            Route::Plain => solve_plainly(l, b, n),
            Route::Blocked => T::cholesky_solve(l, b, n, &mut self.stack),
        }
    }
}

/// Room for systems of up to `width` unknowns and `columns` right-hand sides.
pub(super) fn room<T: ComplexField>(width: usize, columns: usize) -> MemBuffer {
    let factor = llt::factor::cholesky_in_place_scratch::<T>(width, Par::Seq, Default::default());
    let solve = llt::solve::solve_in_place_scratch::<T>(width, columns, Par::Seq);
    MemBuffer::new(factor.or(solve))
}

/// L in the place of A, by faer's blocks.
pub(super) fn factor_in_blocks<T: ComplexField>(
    a: &mut [T],
    n: usize,
    room: &mut MemBuffer,
) -> bool {
    // A thread pays from twice the size of an eigendecomposition on.
    let factored = apart(n / 2, || {
        llt::factor::cholesky_in_place(
            MatMut::from_column_major_slice_mut(a, n, n),
            Default::default(),
            Par::Seq,
            MemStack::new(room),
            Default::default(),
        )
    });
    factored.is_ok()
}

/// The same, bit for bit, with looks at a stop between strips of the rest.
pub(super) fn factor_in_strips<T: Scalar + ComplexField>(
    a: &mut [T],
    n: usize,
    room: &mut MemBuffer,
    stopped: &dyn Fn() -> bool,
) -> Option<bool> {
    let mut whole = MatMut::from_column_major_slice_mut(a, n, n);
    for from in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - from);
        let (mut head, _, mut below, mut rest) =
            whole.rb_mut().submatrix_mut(from, from, n - from, n - from).split_at_mut(width, width);
        let stack = MemStack::new(room);
        let (par, params) = (Par::Seq, Default::default());
        if llt::factor::cholesky_in_place(head.rb_mut(), Default::default(), par, stack, params)
            .is_err()
        {
            return Some(false);
        }
        if stopped() {
            return None;
        }
        triangular_solve::solve_lower_triangular_in_place(
            head.rb().conjugate(),
            below.rb_mut().transpose_mut(),
            par,
        );
        // The rest, a strip of rows after the other: what is left of the diagonal, and the triangle at it.
        let (left, below) = (rest.nrows(), below.rb());
        let strip = (STRIP / left.max(1)).clamp(PANEL, left.max(PANEL));
        for top in (0..left).step_by(strip) {
            if stopped() {
                return None;
            }
            let height = strip.min(left - top);
            let rows = below.subrows(top, height);
            if top > 0 {
                matmul(
                    rest.rb_mut().submatrix_mut(top, 0, height, top),
                    Accum::Add,
                    rows,
                    below.subrows(0, top).adjoint(),
                    -<T as Scalar>::ONE,
                    par,
                );
            }
            triangular::matmul(
                rest.rb_mut().submatrix_mut(top, top, height, height),
                BlockStructure::TriangularLower,
                Accum::Add,
                rows,
                BlockStructure::Rectangular,
                rows.adjoint(),
                BlockStructure::Rectangular,
                -<T as Scalar>::ONE,
                par,
            );
        }
    }
    Some(true)
}

/// The solutions of `L L^H x = b`, by faer's blocks.
pub(super) fn solve_in_blocks<T: ComplexField>(
    l: &[T],
    b: &mut [T],
    n: usize,
    room: &mut MemBuffer,
) {
    let columns = b.len() / n;
    apart(n.min(columns), || {
        llt::solve::solve_in_place(
            MatRef::from_column_major_slice(l, n, n),
            MatMut::from_column_major_slice_mut(b, n, columns),
            Par::Seq,
            MemStack::new(room),
        );
    });
}

fn factor_plainly<T: Scalar>(a: &mut [T], n: usize) -> bool {
    for k in 0..n {
        let pivot = a[k * n + k].re();
        if pivot.is_nan() || pivot <= 0.0 {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        let (done, rest) = a.split_at_mut((k + 1) * n);
        let column = &mut done[k * n + k..];
        column.iter_mut().for_each(|x| *x = x.scale(inverse));
        for j in k + 1..n {
            let factor = column[j - k].conj();
            let target = &mut rest[(j - k - 1) * n + j..(j - k) * n];
            for (t, c) in target.iter_mut().zip(&column[j - k..]) {
                *t -= factor * *c;
            }
        }
    }
    true
}

fn solve_plainly<T: Scalar>(l: &[T], b: &mut [T], n: usize) {
    for x in b.chunks_exact_mut(n) {
        for k in 0..n {
            let column = &l[k * n + k..(k + 1) * n];
            let (head, tail) = x[k..].split_at_mut(1);
            head[0] = head[0].unscale(column[0].re());
            for (t, c) in tail.iter_mut().zip(&column[1..]) {
                *t -= head[0] * *c;
            }
        }
        for k in (0..n).rev() {
            let column = &l[k * n + k..(k + 1) * n];
            let (head, tail) = x[k..].split_at_mut(1);
            let dot: T = tail.iter().zip(&column[1..]).map(|(t, c)| *t * c.conj()).sum();
            head[0] = (head[0] - dot).unscale(column[0].re());
        }
    }
}

/// Puts L of `A = L L^H` in the place of A (n x n, column-major; only the lower triangle is read and written). False if A is
/// not positive definite; what is left there then is of no use.
///
/// ```
/// use tnsearch_linalg::linalg::{cholesky, cholesky_solve};
/// let mut a = [4.0, 2.0, 0.0, 2.0];
/// assert!(cholesky(&mut a, 2));
/// assert_eq!(a, [2.0, 1.0, 0.0, 1.0]);
/// let mut b = [8.0, 5.0];
/// cholesky_solve(&a, &mut b, 2);
/// assert_eq!(b, [1.5, 1.0]);
/// ```
pub fn cholesky<T: Scalar>(a: &mut [T], n: usize) -> bool {
    Cholesky::new::<T>(n, 1).factor(a, n, Route::of_size(n))
}

/// Puts the solution of `L L^H x = b` in the place of every column of `b`, L as [`cholesky`] makes it.
pub fn cholesky_solve<T: Scalar>(l: &[T], b: &mut [T], n: usize) {
    Cholesky::new::<T>(n, b.len() / n).solve(l, b, n, Route::of_size(n));
}

/// The inverse of a positive definite matrix given by its entries (i, j), in the lower triangle of the result
/// (column-major); none
/// if it is not positive definite.
pub fn inverse(n: usize, entry: impl FnMut(usize, usize) -> f64) -> Option<Vec<f64>> {
    inverted(Mat::from_fn(n, n, entry)).map(|out| {
        let entry = |k: usize| out[(k % n, k / n)];
        (0..n * n).map(entry).collect()
    })
}

fn inverted(mut matrix: Mat<f64>) -> Option<Mat<f64>> {
    let n = matrix.nrows();
    let factor = llt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
    let invert = llt::inverse::inverse_scratch::<f64>(n, Par::Seq);
    let mut memory = MemBuffer::new(factor.or(invert));
    let stack = MemStack::new(&mut memory);
    let (none, tuning) = (Default::default(), Default::default());
    llt::factor::cholesky_in_place(matrix.as_mut(), none, Par::Seq, stack, tuning).ok()?;
    let mut out = Mat::zeros(n, n);
    llt::inverse::inverse(out.as_mut(), matrix.as_ref(), Par::Seq, stack);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::Complex;

    fn strips_are_the_whole<T: Scalar>() {
        let n = LONG + 150;
        let mut rng = stream(1, b"strips");
        let entry = |p: usize, x: T| match p / n == p % n {
            true => T::from_parts(4.0 * n as f64, 0.0),
            false => x,
        };
        let a: Vec<T> = (0..n * n).map(|p| entry(p, T::normal(&mut rng))).collect();
        let (mut whole, mut strips) = (a.clone(), a.clone());
        let mut cholesky = Cholesky::new::<T>(n, 1);
        let looks = std::cell::Cell::new(0);
        let count = || {
            looks.set(looks.get() + 1);
            false
        };
        assert!(cholesky.factor(&mut whole, n, Route::Blocked));
        let factored = cholesky.factor_until(&mut strips, n, Route::Blocked, &count);
        assert_eq!(factored, Some(true));
        assert!(looks.get() >= 2 * (n / PANEL));
        let bits = |x: T| (x.re().to_bits(), x.im().to_bits());
        for j in 0..n {
            for i in j..n {
                let at = j * n + i;
                assert_eq!(bits(whole[at]), bits(strips[at]), "{} ({i}, {j})", T::KIND);
            }
        }
        // Not positive definite: said, not factored.
        let mut bad = a;
        bad[(n - 1) * n + n - 1] = T::from_parts(-1.0, 0.0);
        assert_eq!(cholesky.factor_until(&mut bad, n, Route::Blocked, &count), Some(false));
    }

    #[test]
    fn long_factorisations_look_at_a_stop_and_are_the_same_bit_for_bit() {
        strips_are_the_whole::<f64>();
        strips_are_the_whole::<Complex<f32>>();
    }

    fn solves<T: Scalar>(n: usize, route: Route) {
        let mut rng = stream(n as u64, b"cholesky");
        let a: Vec<T> = (0..n * n).map(|_| T::normal(&mut rng)).collect();
        // Column-major entry (i, j) of A A^H + n I.
        let entry = |i: usize, j: usize| -> T {
            let dot: T = (0..n).map(|k| a[i * n + k] * a[j * n + k].conj()).sum();
            if i == j { dot + T::from_parts(n as f64, 0.0) } else { dot }
        };
        let mut matrix: Vec<T> = (0..n * n).map(|p| entry(p % n, p / n)).collect();
        let want: Vec<T> = (0..2 * n).map(|_| T::normal(&mut rng)).collect();
        let product = |x: &[T], i: usize| -> T { (0..n).map(|j| entry(i, j) * x[j]).sum() };
        let mut b: Vec<T> =
            (0..2 * n).map(|p| product(&want[p / n * n..(p / n + 1) * n], p % n)).collect();
        let rhs = b.clone();
        let mut workspace = Cholesky::new::<T>(n, 2);
        assert!(workspace.factor(&mut matrix, n, route));
        workspace.solve(&matrix, &mut b, n, route);
        let tolerance = 300.0 * n as f64 * T::KIND.epsilon();
        for (b, w) in b.iter().zip(&want) {
            assert!((*b - *w).abs() < tolerance, "{} {n}: {b} {w}", T::KIND);
        }
        if !T::KIND.is_complex() {
            let inverse = inverse(n, |i, j| entry(i, j).re()).unwrap();
            for (i, w) in want[..n].iter().enumerate() {
                let of = |j: usize| inverse[i.min(j) * n + i.max(j)];
                let got: f64 = (0..n).map(|j| of(j) * rhs[j].re()).sum();
                assert!((got - w.re()).abs() < tolerance, "{} {n}: {got} {w}", T::KIND);
            }
        }
        // Less a multiple of the identity it is not positive definite.
        let mut not: Vec<T> = (0..n * n).map(|p| T::ZERO - entry(p % n, p / n)).collect();
        assert!(!workspace.factor(&mut not, n, route));
    }

    #[test]
    fn both_routes_solve_to_rounding() {
        for n in [1, 2, 5, 20, 21, 40] {
            for route in [Route::Plain, Route::Blocked] {
                solves::<f32>(n, route);
                solves::<f64>(n, route);
                solves::<Complex<f32>>(n, route);
                solves::<Complex<f64>>(n, route);
            }
        }
    }
}
