//! Functions on grids.

use rand::RngExt as _;
use rand_distr::{Distribution, StandardNormal};
use tnsearch::rng::stream;
use tnsearch::tensor::{Tensor, size};

/// Calls a function at every point of a grid on [0, 1] to the power of the order, the last mode fastest.
fn on_grid(dims: &[usize], mut value: impl FnMut(&[f64]) -> f64) -> Tensor {
    let entries = usize::try_from(size(dims)).unwrap_or(usize::MAX);
    let mut at = vec![0usize; dims.len()];
    let mut point = vec![0.0; dims.len()];
    let mut data = Vec::with_capacity(entries);
    for _ in 0..entries {
        data.push(value(&point));
        for n in (0..dims.len()).rev() {
            at[n] = (at[n] + 1) % dims[n];
            point[n] = at[n] as f64 / (dims[n] - 1) as f64;
            if at[n] > 0 {
                break;
            }
        }
    }
    Tensor::new(dims.to_vec(), data).unwrap_or_else(|e| unreachable!("{e}"))
}

/// Smooth but for a kink, and no two modes alike.
pub(super) fn smooth(dims: &[usize]) -> Tensor {
    on_grid(dims, |x| {
        let peak = 1.0 / (0.2 + (x[0] - x[3]).powi(2));
        peak + (6.0 * x[1] * x[4] + x[2]).sin() + (-3.0 * (x[2] - x[0] * x[1]).abs()).exp()
    })
}

/// Blobs that move through a box while time (the last mode) passes, a wave, and noise of a thousandth.
pub(super) fn field(dims: &[usize], seed: u64) -> Tensor {
    let mut rng = stream(seed, b"field");
    let blobs: Vec<([f64; 3], [f64; 3], f64, f64)> = (0..6)
        .map(|_| {
            let centre = std::array::from_fn(|_| rng.random::<f64>());
            let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
            let speed = std::array::from_fn(|_| 0.3 * normal());
            let weight = normal();
            (centre, speed, 0.15 + 0.2 * rng.random::<f64>(), weight)
        })
        .collect();
    let mut field = on_grid(dims, |x| {
        let t = x[3];
        let blob = |(centre, speed, width, weight): &([f64; 3], [f64; 3], f64, f64)| {
            let far: f64 = (0..3).map(|k| (x[k] - centre[k] - speed[k] * t).powi(2)).sum();
            weight * (-far / (width * width)).exp()
        };
        blobs.iter().map(blob).sum::<f64>() + 0.3 * (4.0 * x[0] * x[1] + 3.0 * x[2] * t).sin()
    });
    add_noise(&mut field, 1e-3, seed);
    field
}

/// A smooth signal of `2^order` samples on [0, 1), with noise of 0.2 %.
pub(super) fn signal(order: usize, seed: u64) -> Vec<f64> {
    let samples = 1usize << order;
    let value = |k: usize| {
        let x = k as f64 / samples as f64;
        let peak = 0.5 / (1.0 + 25.0 * (x - 0.5).powi(2));
        (12.0 * x).sin() + (-3.0 * x).exp() * (40.0 * x).cos() + peak
    };
    let data = (0..samples).map(value).collect();
    let mut signal = Tensor::new(vec![samples], data).unwrap_or_else(|e| unreachable!("{e}"));
    add_noise(&mut signal, 2e-3, seed);
    signal.into_data()
}

/// `sum over k of u_k v_k' / sqrt(k)` with normal vectors, up to a third of the smaller side, and noise as loud.
pub(super) fn weights(rows: usize, columns: usize, seed: u64) -> Tensor {
    let terms = (rows.min(columns) / 3).max(1);
    let mut rng = stream(seed, b"weights");
    let mut normals = |n: usize, scale: f64| -> Vec<f64> {
        let normal = |_| {
            let normal: f64 = StandardNormal.sample(&mut rng);
            scale * normal
        };
        (0..n).map(normal).collect()
    };
    let mut w = normals(rows * columns, (1..=terms).map(|k| 1.0 / k as f64).sum::<f64>().sqrt());
    for k in 1..=terms {
        let (u, v) = (normals(rows, 1.0 / (k as f64).sqrt()), normals(columns, 1.0));
        for (row, u) in w.chunks_exact_mut(columns).zip(u) {
            row.iter_mut().zip(&v).for_each(|(w, v)| *w += u * v);
        }
    }
    Tensor::new(vec![rows, columns], w).unwrap_or_else(|e| unreachable!("{e}"))
}

/// `P / ||P|| + K / ||K||` with `P = sum over k of u_k v_k' / k`, normal vectors, and `K = A (x) B`, normal entries; the sides of
/// A are the largest divisors of the matrix's that are at most their roots.
pub(super) fn layer(rows: usize, columns: usize, seed: u64) -> Tensor {
    let mut rng = stream(seed, b"layer");
    let mut normals =
        |n: usize| -> Vec<f64> { (0..n).map(|_| StandardNormal.sample(&mut rng)).collect() };
    let mut w = vec![0.0; rows * columns];
    for k in 1..=rows.min(columns) {
        let (u, v) = (normals(rows), normals(columns));
        for (row, u) in w.chunks_exact_mut(columns).zip(u) {
            let u = u / k as f64;
            row.iter_mut().zip(&v).for_each(|(w, v)| *w += u * v);
        }
    }
    let root = |n: usize| (1..=n.isqrt()).rev().find(|d| n.is_multiple_of(*d)).unwrap_or(1);
    let (r1, c1) = (root(rows), root(columns));
    let (r2, c2) = (rows / r1, columns / c1);
    let (a, b) = (normals(r1 * c1), normals(r2 * c2));
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (low, product) = (norm(&w), norm(&a) * norm(&b));
    for (p, w) in w.iter_mut().enumerate() {
        let (i, j) = (p / columns, p % columns);
        let k = a[i / r2 * c1 + j / c2] * b[i % r2 * c2 + j % c2];
        *w = *w / low + k / product;
    }
    Tensor::new(vec![rows, columns], w).unwrap_or_else(|e| unreachable!("{e}"))
}

/// Adds white noise of this part of the root mean square.
fn add_noise(tensor: &mut Tensor, part: f64, seed: u64) {
    let mut rng = stream(seed, b"example noise");
    let level = part * (tensor.norm_squared() / tensor.len() as f64).sqrt();
    for x in tensor.data_mut() {
        let normal: f64 = StandardNormal.sample(&mut rng);
        *x += level * normal;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_runs_from_0_to_1_with_the_last_mode_fastest() {
        let sums = on_grid(&[3, 2], |x| 10.0 * x[0] + x[1]);
        assert_eq!(sums.data(), [0.0, 1.0, 5.0, 6.0, 10.0, 11.0]);
    }

    #[test]
    fn noise_is_as_loud_as_said() {
        let clean = Tensor::new(vec![100, 100], vec![3.0; 10_000]).unwrap();
        let mut noisy = clean.clone();
        add_noise(&mut noisy, 0.01, 5);
        let noise: f64 = noisy.data().iter().map(|x| (x - 3.0).powi(2)).sum();
        assert!((noise / clean.norm_squared() / 1e-4 - 1.0).abs() < 0.1);
    }
}
