//! The least-squares solve of one core: a small positive definite system with several right-hand sides.

use crate::linalg::{Cholesky, Route};
use crate::tensor::Scalar;

/// The least regularisation, relative to the mean diagonal entry; 4 ulp where that is more.
const FLOOR: f64 = 1e-13;

/// Entries of H that are copied between two looks at a stop.
const MOVED: usize = 1 << 22;

/// Solves `(H + d I) g = t + d g_old`, with `d` a small fraction of H's mean diagonal entry: the pull
/// towards the old core keeps singular systems solvable and leaves every fixed point where it is.
pub(super) struct Solver<T> {
    factor: Vec<T>,
    cholesky: Cholesky,
}

impl<T: Scalar> Solver<T> {
    /// Room for systems up to `width` unknowns and `columns` right-hand sides.
    pub fn new(width: usize, columns: usize) -> Self {
        let cholesky = Cholesky::new::<T>(width, columns);
        Solver { factor: vec![T::ZERO; width * width], cholesky }
    }

    /// Overwrites `g` (the old core; columns of `n` entries) with the new one.
    pub fn solve(&mut self, gram: &[T], rhs: &[T], g: &mut [T], n: usize, damping: f64) {
        self.solve_until((gram, rhs), g, n, damping, &|| false);
    }

    /// The same; where `stopped` ends it, `g` stays as it was.
    pub fn solve_until(
        &mut self,
        (gram, rhs): (&[T], &[T]),
        g: &mut [T],
        n: usize,
        damping: f64,
        stopped: &dyn Fn() -> bool,
    ) {
        let mean = (0..n).map(|i| gram[i * n + i].re()).sum::<f64>() / n as f64;
        if !(mean > 0.0 && mean.is_finite()) {
            return; // The environment is zero (or has overflowed): no core is better than another.
        }
        let floor = FLOOR.max(4.0 * T::KIND.epsilon());
        let mut shift = mean * damping.max(floor);
        let route = Route::of_size(n);
        let looks = self.cholesky.looks(n, route);
        for _ in 0..8 {
            let factor = &mut self.factor[..n * n];
            // Row-major conj(H) is column-major H; to move gigabytes takes seconds.
            for (factor, gram) in factor.chunks_mut(MOVED).zip(gram.chunks(MOVED)) {
                if looks && stopped() {
                    return;
                }
                factor.iter_mut().zip(gram).for_each(|(f, h)| *f = h.conj());
            }
            for i in 0..n {
                factor[i * n + i] += T::from_parts(shift, 0.0);
            }
            match self.cholesky.factor_until(factor, n, route, stopped) {
                None => return,
                Some(true) => {}
                Some(false) => {
                    shift *= 100.0;
                    continue;
                }
            }
            let old = looks.then(|| g.to_vec());
            for (g, t) in g.iter_mut().zip(rhs) {
                *g = *t + g.scale(shift);
            }
            let whole = self.cholesky.solve_until(factor, g, n, route, stopped);
            if let Some(old) = old.filter(|_| !whole) {
                g.copy_from_slice(&old);
            }
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;
    use crate::tensor::Complex;

    fn solves<T: Scalar>() {
        for n in [1, 2, 5, 9, 20, 21, 36, 70] {
            let mut rng = stream(n as u64, b"solve");
            let a: Vec<T> = (0..n * n).map(|_| T::normal(&mut rng)).collect();
            let gram: Vec<T> = (0..n * n)
                .map(|p| (0..n).map(|k| a[(p / n) * n + k] * a[(p % n) * n + k].conj()).sum::<T>())
                .enumerate()
                .map(|(p, v)| if p / n == p % n { v + T::from_parts(n as f64, 0.0) } else { v })
                .collect();
            let want: Vec<T> = (0..3 * n).map(|_| T::normal(&mut rng)).collect();
            let rhs: Vec<T> = (0..3 * n)
                .map(|p| (0..n).map(|k| gram[(p % n) * n + k] * want[(p / n) * n + k]).sum())
                .collect();
            let mut g = vec![T::ZERO; 3 * n];
            Solver::new(n, 3).solve(&gram, &rhs, &mut g, n, 0.0);
            for (g, w) in g.iter().zip(&want) {
                let off = (*g - *w).abs();
                assert!(off < 4e6 * T::KIND.epsilon().min(1e-9), "{} {n}: {g} {w}", T::KIND);
            }
        }
    }

    #[test]
    fn solves_to_rounding_at_every_size() {
        solves::<f32>();
        solves::<f64>();
        solves::<Complex<f32>>();
        solves::<Complex<f64>>();
    }

    #[test]
    fn a_system_that_rounding_made_indefinite_is_solved_with_more_of_the_pull() {
        // Eigenvalues 2 + d and -d: the first pull that is larger than d is 1e-9, to be made larger twice at least.
        for d in [1e-12, 1e-10, 2e-9] {
            let gram = [1.0, 1.0 + d, 1.0 + d, 1.0];
            let mut g = vec![0.0; 2];
            Solver::new(2, 1).solve(&gram, &[2.0 + d, 2.0 + d], &mut g, 2, 0.0);
            assert!(g.iter().all(|g| (g - 1.0).abs() < 1e-6), "{d}: {g:?}");
        }
    }

    #[test]
    fn singular_systems_keep_a_solution_that_is_there() {
        // H = diag(1, 0): the second entry is free and stays where it was.
        let mut g = vec![5.0, 7.0];
        Solver::new(2, 1).solve(&[1.0, 0.0, 0.0, 0.0], &[3.0, 0.0], &mut g, 2, 0.0);
        assert!((g[0] - 3.0).abs() < 1e-9 && (g[1] - 7.0).abs() < 1e-9, "{g:?}");
    }
    #[test]
    fn the_pull_to_the_old_core_is_that_part_of_the_mean_diagonal_entry() {
        // H = diag(1, 3), whose mean is 2: with a damping of a half the pull is 1.
        let mut g = vec![5.0, 7.0];
        Solver::new(2, 1).solve(&[1.0, 0.0, 0.0, 3.0], &[3.0, 9.0], &mut g, 2, 0.5);
        assert!((g[0] - (3.0 + 5.0) / 2.0).abs() < 1e-12, "{g:?}");
        assert!((g[1] - (9.0 + 7.0) / 4.0).abs() < 1e-12, "{g:?}");
    }

    #[test]
    fn where_nothing_can_be_said_the_old_core_stays() {
        for entry in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let mut g = vec![5.0, 7.0];
            Solver::new(2, 1).solve(&[entry, 0.0, 0.0, entry], &[3.0, 1.0], &mut g, 2, 1e-3);
            assert_eq!(g, [5.0, 7.0], "{entry}");
        }
    }

    #[test]
    fn small_systems_are_solved_to_their_end() {
        let mut g = vec![0.0, 0.0];
        let system = (&[1.0, 0.0, 0.0, 2.0][..], &[3.0, 8.0][..]);
        Solver::new(2, 1).solve_until(system, &mut g, 2, 0.0, &|| true);
        assert!((g[0] - 3.0).abs() < 1e-9 && (g[1] - 4.0).abs() < 1e-9, "{g:?}");
    }
}
