//! The updates against the free energy by its definition.

use super::*;
use crate::tensor::unflatten;

/// `E ||X - Z||^2` by the definition: a sum over all entries and all pairs of paths around the ring.
fn expected_error(q: &Posterior) -> f64 {
    let n = q.dims.len();
    let paths: usize = q.ranks.iter().product();
    let place = |k: usize, path: &[usize]| path[k] * q.ranks[q.next(k)] + path[q.next(k)];
    let mut total = 0.0;
    for (flat, x) in q.x.iter().enumerate() {
        let at = unflatten(flat, &q.dims);
        let width = |k: usize| q.ranks[k] * q.ranks[q.next(k)];
        let mean = |k: usize, p: usize| q.means[k][at[k] * width(k) + p];
        let (mut first, mut second) = (0.0, 0.0);
        for a in 0..paths {
            let a = unflatten(a, &q.ranks);
            first += (0..n).map(|k| mean(k, place(k, &a))).product::<f64>();
            for b in 0..paths {
                let b = unflatten(b, &q.ranks);
                let pair = (0..n).map(|k| {
                    let (p, r) = (place(k, &a), place(k, &b));
                    mean(k, p) * mean(k, r) + q.covariance[k][p * width(k) + r]
                });
                second += pair.product::<f64>();
            }
        }
        total += x * x - 2.0 * x * first + second;
    }
    total
}

/// The part of the free energy that depends on the mean and the covariance of core k, without the
/// logarithm of its determinant.
fn energy(q: &Posterior, k: usize) -> f64 {
    let (a, b) = q.sides(k);
    let prior = (0..a * b).map(|p| {
        let means = q.means[k].iter().skip(p).step_by(a * b).map(|m| m * m).sum::<f64>();
        let spread = q.dims[k] as f64 * q.covariance[k][p * a * b + p];
        q.lambda[k][p / b] * q.lambda[q.next(k)][p % b] * (means + spread)
    });
    0.5 * (q.tau * expected_error(q) + prior.sum::<f64>())
}

#[test]
fn a_sweep_ends_at_the_minimum_of_the_free_energy() {
    let dims = vec![3, 2, 2];
    let x = (0..12).map(|k| (1.7 * f64::from(k)).sin()).collect();
    let target = Target::new(Tensor::new(dims, x).unwrap()).unwrap();
    let mut q = Posterior::new(&target, &[1, 0, 2], 2, 0.05, 3, &Limits::none()).unwrap();
    (q.lambda[0][1], q.lambda[1][0], q.lambda[2][1]) = (3.0, 0.5, 2.0);
    for _ in 0..3 {
        let error = q.update_cores();
        assert!((error / expected_error(&q) - 1.0).abs() < 1e-11);
    }
    // The last core updated: no step of its mean helps.
    let last = 2;
    for p in 0..q.means[last].len() {
        let (m, step) = (q.means[last][p], 1e-4);
        let mut at = |x: f64| {
            q.means[last][p] = x;
            energy(&q, last)
        };
        let (up, down, here) = (at(m + step), at(m - step), at(m));
        assert!(((up - down) / (2.0 * step)).abs() < 1e-6 * here, "{p}");
        assert!(up > here && down > here);
    }
    // Nor does a scaling of its covariance: d/ds of the energy at (1 + s) V is I W / 2.
    let (a, b) = q.sides(last);
    let with = energy(&q, last);
    let without = {
        q.covariance[last].fill(0.0);
        energy(&q, last)
    };
    let want = (q.dims[last] * a * b) as f64 / 2.0;
    assert!(((with - without) / want - 1.0).abs() < 1e-9, "{} {want}", with - without);
}

#[test]
fn pruning_keeps_the_other_indices() {
    let x: Vec<f64> = (0..24).map(|k| (0.9 * f64::from(k)).cos()).collect();
    let target = Target::new(Tensor::new(vec![2, 3, 4], x).unwrap()).unwrap();
    let mut q = Posterior::new(&target, &[0, 1, 2], 3, 0.01, 1, &Limits::none()).unwrap();
    q.update_cores();
    // Switch off index 1 of edge 2: the end of core 1 and the beginning of core 2.
    for (p, m) in q.means[1].iter_mut().enumerate() {
        *m = if p % 3 == 1 { 0.0 } else { *m };
    }
    for k in [1, 2] {
        let w = 9;
        let off = |p: usize| if k == 1 { p % 3 == 1 } else { p / 3 == 1 };
        for (p, v) in q.covariance[k].iter_mut().enumerate() {
            *v = if off(p / w) || off(p % w) { 0.0 } else { *v };
        }
    }
    let before = expected_error(&q);
    q.prune();
    assert_eq!(q.ranks, [3, 3, 2]);
    assert!((expected_error(&q) / before - 1.0).abs() < 1e-12);
}
