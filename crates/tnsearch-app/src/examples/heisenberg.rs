//! The ground state of the periodic spin-1/2 Heisenberg chain by the Lanczos method.

use rand_distr::{Distribution, StandardNormal};
use tnsearch::rng::stream;

/// Lanczos steps at most; a chain of 16 sites takes about 60.
const STEPS: usize = 300;
/// It ends when the residual `||H v - E v||` is below this.
const RESIDUAL: f64 = 1e-12;

/// The lowest eigenvector of `H = sum over i of S_i . S_(i+1)` (periodic), of norm 1; site 0 is the slowest index.
pub(super) fn ground_state(sites: usize) -> Vec<f64> {
    let size = 1usize << sites;
    let mut rng = stream(0, b"lanczos");
    let mut basis: Vec<Vec<f64>> = Vec::new();
    // The ground state of an even chain has no total spin along z, so the walk stays where as many are up as down (an
    // odd chain: one more).
    let inside = |k: &usize| k.count_ones() as usize == sites / 2;
    let mut v = vec![0.0; size];
    (0..size).filter(inside).for_each(|k| v[k] = StandardNormal.sample(&mut rng));
    normalise(&mut v);
    let (mut alpha, mut beta): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
    loop {
        let mut w = apply(sites, &v);
        alpha.push(dot(&w, &v));
        basis.push(v);
        // Twice: rounding would bring lower vectors back.
        for _ in 0..2 {
            for b in &basis {
                let along = dot(&w, b);
                w.iter_mut().zip(b).for_each(|(w, b)| *w -= along * b);
            }
        }
        let norm = dot(&w, &w).sqrt();
        let (_, lowest) = lowest_pair(&alpha, &beta);
        let residual = norm * lowest[lowest.len() - 1].abs();
        if residual < RESIDUAL || basis.len() == STEPS || norm < 1e-14 {
            let mut state = vec![0.0; size];
            for (c, b) in lowest.iter().zip(&basis) {
                state.iter_mut().zip(b).for_each(|(s, b)| *s += c * b);
            }
            normalise(&mut state);
            return state;
        }
        beta.push(norm);
        w.iter_mut().for_each(|x| *x /= norm);
        v = w;
    }
}

/// `H v`: a bond of equal spins gives 1/4, one of different spins -1/4 and half of what they become exchanged.
fn apply(sites: usize, v: &[f64]) -> Vec<f64> {
    let bond = |i: usize| 1usize << i | 1usize << ((i + 1) % sites);
    let bonds: Vec<usize> = (0..sites).map(bond).collect();
    let row = |k: usize| {
        bonds.iter().fold(0.0, |sum, &bond| match (k & bond).count_ones() {
            1 => sum - 0.25 * v[k] + 0.5 * v[k ^ bond],
            _ => sum + 0.25 * v[k],
        })
    };
    (0..v.len()).map(row).collect()
}

/// The lowest eigenvalue and eigenvector of a symmetric tridiagonal matrix: bisection by Sturm's count, then inverse
/// iteration.
fn lowest_pair(alpha: &[f64], beta: &[f64]) -> (f64, Vec<f64>) {
    let n = alpha.len();
    let reach = |k: usize| {
        let left = if k > 0 { beta[k - 1].abs() } else { 0.0 };
        left + if k + 1 < n { beta[k].abs() } else { 0.0 }
    };
    let (mut lo, mut hi) = (f64::INFINITY, f64::INFINITY);
    for (k, &a) in alpha.iter().enumerate() {
        lo = lo.min(a - reach(k));
        hi = hi.min(a);
    }
    // The lowest is between the Gershgorin bound and the least diagonal entry.
    for _ in 0..200 {
        let middle = 0.5 * (lo + hi);
        let mut below = false;
        let mut pivot = 1.0;
        for k in 0..n {
            let off = if k > 0 { beta[k - 1] * beta[k - 1] / pivot } else { 0.0 };
            pivot = alpha[k] - middle - off;
            if pivot == 0.0 {
                pivot = f64::EPSILON;
            }
            below |= pivot < 0.0;
        }
        if below { hi = middle } else { lo = middle }
    }
    let shift = lo - 1e-13 * lo.abs().max(1.0);
    let mut x = vec![1.0; n];
    for _ in 0..4 {
        x = solve(alpha, beta, shift, &x);
        normalise(&mut x);
    }
    (lo, x)
}

/// Solves `(T - shift) x = b` for a symmetric tridiagonal T that is definite after the shift.
fn solve(alpha: &[f64], beta: &[f64], shift: f64, b: &[f64]) -> Vec<f64> {
    let n = alpha.len();
    let (mut pivots, mut x) = (vec![0.0; n], b.to_vec());
    for k in 0..n {
        pivots[k] = alpha[k] - shift;
        if k > 0 {
            let factor = beta[k - 1] / pivots[k - 1];
            pivots[k] -= factor * beta[k - 1];
            x[k] -= factor * x[k - 1];
        }
        if pivots[k].abs() < f64::MIN_POSITIVE {
            pivots[k] = f64::EPSILON;
        }
    }
    for k in (0..n).rev() {
        if k + 1 < n {
            x[k] -= beta[k] * x[k + 1];
        }
        x[k] /= pivots[k];
    }
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn normalise(v: &mut [f64]) {
    let norm = dot(v, v).sqrt();
    v.iter_mut().for_each(|x| *x /= norm);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energy(sites: usize, v: &[f64]) -> f64 {
        dot(&apply(sites, v), v)
    }

    #[test]
    fn energies_are_the_known_ones() {
        // By NumPy's `eigvalsh` of the whole matrix.
        for (sites, per_site) in
            [(4, -0.5), (6, -0.467_129_272_955), (8, -0.456_386_676_117), (10, -0.451_544_635_449)]
        {
            let v = ground_state(sites);
            let found = energy(sites, &v) / sites as f64;
            assert!((found - per_site).abs() < 1e-9, "{sites}: {found}");
        }
    }

    #[test]
    fn it_is_an_eigenvector() {
        for sites in [3, 5, 9, 12] {
            let v = ground_state(sites);
            let e = energy(sites, &v);
            let rest: f64 = apply(sites, &v).iter().zip(&v).map(|(h, v)| (h - e * v).powi(2)).sum();
            assert!(rest.sqrt() < 1e-10 && (dot(&v, &v) - 1.0).abs() < 1e-12, "{sites}: {rest}");
        }
    }
}
