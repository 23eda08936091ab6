//! Thirty small tensors of twelve kinds, each with an error.

use std::sync::Arc;
use tnsearch::graph::Template;
use tnsearch::problem::Target;
use tnsearch::tensor::Tensor;
use tnsearch_app::Synthetic;

/// A tensor, and the relative error at which methods are compared.
pub struct Case {
    pub name: String,
    pub target: Target,
    pub re: f64,
}

/// Numbers that look random, in -1..1 (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// About normal.
    fn normal(&mut self) -> f64 {
        (0..6).map(|_| self.next()).sum::<f64>() / 2f64.sqrt()
    }
}

fn numbers(seed: u64) -> Numbers {
    let mut numbers =
        Numbers(0x9E37_79B9_7F4A_7C15 ^ (seed + 1).wrapping_mul(0xD1B5_4A32_D192_ED03));
    for _ in 0..8 {
        numbers.next();
    }
    numbers
}

/// The tensor of a function of the indices.
fn of(dims: &[usize], mut entry: impl FnMut(&[usize]) -> f64) -> Tensor<f64> {
    let mut at = vec![0; dims.len()];
    let size = dims.iter().product();
    let mut data = Vec::with_capacity(size);
    for flat in 0..size {
        let mut rest: usize = flat;
        for (k, d) in dims.iter().enumerate().rev() {
            at[k] = rest % d;
            rest /= d;
        }
        data.push(entry(&at));
    }
    Tensor::new(dims.to_vec(), data).unwrap()
}

fn noisy(mut x: Tensor<f64>, part: f64, seed: u64) -> Tensor<f64> {
    let mut numbers = numbers(seed);
    let size = (x.norm_squared() / x.len() as f64).sqrt();
    x.data_mut().iter_mut().for_each(|x| *x += part * size * numbers.normal());
    x
}

/// A network of random cores on a template, its modes shuffled by the seed.
fn hidden(template: Template, dims: &[usize], rank: usize, noise: f64, seed: u64) -> Tensor<f64> {
    let made = Synthetic::new(Arc::new(template), dims.to_vec(), (rank, rank)).generate(seed);
    noisy(made.unwrap().tensor, noise, seed)
}

/// A sum of so many products of vectors.
fn cp(dims: &[usize], rank: usize, seed: u64) -> Tensor<f64> {
    let mut numbers = numbers(seed);
    let factors: Vec<Vec<Vec<f64>>> = (0..rank)
        .map(|_| dims.iter().map(|&d| (0..d).map(|_| numbers.normal()).collect()).collect())
        .collect();
    let term =
        |f: &Vec<Vec<f64>>, at: &[usize]| at.iter().zip(f).map(|(&i, v)| v[i]).product::<f64>();
    of(dims, |at| factors.iter().map(|f| term(f, at)).sum())
}

/// The ground state of a short transverse Ising chain, about: powers of `shift - H` on a random start.
fn spins(sites: usize, field: f64, shuffle: usize) -> Tensor<f64> {
    let size = 1usize << sites;
    let place = |k: usize| k * shuffle % sites;
    let mut numbers = numbers(7);
    let mut state: Vec<f64> = (0..size).map(|_| 1.0 + 0.1 * numbers.next()).collect();
    let shift = sites as f64 * (1.0 + field);
    for _ in 0..80 {
        let mut next = vec![0.0; size];
        for (s, &amplitude) in state.iter().enumerate() {
            let bit = |k: usize| s >> (sites - 1 - place(k)) & 1;
            let bonds: f64 =
                (0..sites - 1).map(|k| if bit(k) == bit(k + 1) { 1.0 } else { -1.0 }).sum();
            next[s] += (shift + bonds) * amplitude;
            (0..sites).for_each(|k| next[s ^ (1 << k)] += field * amplitude);
        }
        let norm = next.iter().map(|x| x * x).sum::<f64>().sqrt();
        state = next.into_iter().map(|x| x / norm).collect();
    }
    Tensor::new(vec![2; sites], state).unwrap()
}

pub fn thirty() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    let mut add = |name: &str, x: Tensor<f64>, re: f64| {
        let name = format!("{name} {:?}", x.dims());
        all.push(Case { name, target: Target::new(x).unwrap(), re });
    };
    // Noise.
    for (seed, dims, re) in
        [(1, vec![5, 4, 6], 0.3), (2, vec![3, 3, 3, 3], 0.5), (3, vec![2; 7], 0.4)]
    {
        let mut numbers = numbers(seed);
        add("noise", of(&dims, |_| numbers.normal()), re);
    }
    // Trains of low rank, shuffled.
    for (seed, dims, rank) in
        [(4, vec![3, 4, 3, 4, 3], 2), (5, vec![4, 4, 4, 4], 3), (6, vec![2; 8], 2)]
    {
        let path = Template::path(dims.len()).unwrap();
        add("train", hidden(path, &dims, rank, 1e-3, seed), 0.01);
    }
    // Rings.
    for (seed, dims, noise) in [(7, vec![4; 4], 1e-3), (8, vec![3; 5], 0.0), (9, vec![3; 6], 1e-3)]
    {
        let ring = Template::ring(dims.len()).unwrap();
        add("ring", hidden(ring, &dims, 2, noise, seed), 0.01);
    }
    // Trees.
    for (seed, template, dims) in [
        (10, Template::tree(5).unwrap(), vec![4, 3, 4, 3, 3]),
        (11, Template::star(4).unwrap(), vec![5, 4, 4, 5]),
        (12, Template::ht(4).unwrap(), vec![5; 4]),
    ] {
        add("tree", hidden(template, &dims, 2, 1e-3, seed), 0.01);
    }
    // Sums of few products.
    add("products", cp(&[6, 5, 7], 2, 13), 0.01);
    add("products", cp(&[4, 4, 4, 4], 3, 14), 0.05);
    add("products", noisy(cp(&[5, 4, 5, 4], 2, 19), 0.01, 19), 0.03);
    // Smooth functions.
    let smooth = |at: &[usize]| 1.0 / (1.0 + at.iter().map(|&i| i as f64).sum::<f64>() / 4.0);
    add("smooth", of(&[6, 5, 6, 5], smooth), 0.01);
    let wave =
        |at: &[usize]| (0.3 * (at[0] * at[1]) as f64 + 0.2 * (at[2] + at[3]) as f64).sin() + 1.2;
    add("smooth", of(&[6, 6, 5, 5], wave), 0.02);
    let bump =
        |at: &[usize]| (-at.iter().map(|&i| (i as f64 - 2.0).powi(2)).sum::<f64>().sqrt()).exp();
    add("smooth", of(&[5, 5, 5, 5], bump), 0.05);
    // Steps.
    let step = |at: &[usize]| if at[0] + 2 * at[1] > 3 * at[2] { 1.0 } else { 0.2 * at[3] as f64 };
    add("steps", of(&[7, 6, 5, 4], step), 0.2);
    let ball = |at: &[usize]| f64::from(u8::from(at.iter().map(|&i| i * i).sum::<usize>() < 30));
    add("steps", of(&[6, 6, 6], ball), 0.1);
    // Matrices.
    let hilbert = |at: &[usize]| 1.0 / (1 + at[0] + at[1]) as f64;
    add("matrix", of(&[14, 9], hilbert), 0.01);
    let mut of_noise = numbers(15);
    add("matrix", of(&[8, 10], |_| of_noise.normal()), 0.4);
    // Counts, and something like a picture.
    let mut of_counts = numbers(16);
    let rate = |at: &[usize]| 3.0 + (at[0] as f64).sin() * at[1] as f64 + (at[2] % 2) as f64;
    add("counts", of(&[6, 7, 6], |at| (rate(at) + of_counts.normal()).round().max(0.0)), 0.15);
    let pixel = |at: &[usize]| {
        let (row, column) = (4 * at[0] + at[2], 4 * at[1] + at[3]);
        let edge = if row + column > 14 { 0.6 } else { 0.1 };
        edge + 0.2 * ((row * 7 + column * 3) % 5) as f64 / 5.0 + 0.02 * row as f64
    };
    add("picture", of(&[4, 4, 4, 4], pixel), 0.15);
    // Symmetric.
    let symmetric = |at: &[usize]| {
        ((at.iter().sum::<usize>() as f64) * 0.4).cos() + at.iter().product::<usize>() as f64 / 20.0
    };
    add("symmetric", of(&[5; 4], symmetric), 0.02);
    let maximum = |at: &[usize]| 1.0 / (1 + at.iter().max().unwrap()) as f64;
    add("symmetric", of(&[4; 5], maximum), 0.05);
    // A constant with noise.
    add("constant", noisy(of(&[5, 6, 5, 3], |_| 2.0), 0.1, 17), 0.12);
    add("constant", noisy(of(&[6, 7, 8], |_| -1.0), 0.3, 18), 0.25);
    // States of spins, one with its sites shuffled.
    add("spins", spins(8, 1.0, 1), 0.01);
    add("spins", spins(9, 0.7, 2), 0.01);
    all
}
