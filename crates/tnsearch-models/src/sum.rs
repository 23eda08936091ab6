//! A layer as a sum of Kronecker products of several pairings, the plain SVD among them.
//!
//! For a price p, `||W - sum_s Z_s||^2 + p sum_s cost_s rank(Z_s)` is lowered one Z_s at a time, which is a truncated SVD of the
//! rearranged rest: singular values whose square is below `p cost_s` go. Prices fall by steps, each from where the last one
//! ended. Every step gives a family of sums: its Kronecker products, and the plain SVD of the rest at every rank.

use super::leading::{Leading, leading};
use super::metric::{Metric, norm_squared};
use super::pairing::Pairing;
use super::weighted;
use serde::{Deserialize, Serialize};
use tnsearch::problem::Stop;
use tnsearch::tensor::Scalar;

/// Price steps at most, and the factor between two.
const STEPS: usize = 24;
const STEP: f64 = 0.45;
/// Rounds over the blocks at a price.
const ROUNDS: usize = 2;
/// Rounds over the blocks of the sum that is written.
const LAST_ROUNDS: usize = 12;
/// Matrices with a side up to this are decomposed whole.
const WHOLE: usize = 256;
/// Rounds of subspace iteration at a number of columns.
const ITERATIONS: usize = 3;
/// Of larger matrices one less, and one round over the blocks at a price.
pub(super) const LARGE: usize = 1 << 22;

/// A family of sums: Kronecker products, and the plain SVD of what they leave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Family {
    /// The step of the prices it was found at; 0 for the plain SVD alone.
    pub step: usize,
    /// The Kronecker products and how many of each.
    pub products: Vec<(Pairing, usize)>,
    /// The squared error of these alone.
    pub base: f64,
    /// By how much each further rank of the plain SVD lowers it.
    pub squares: Vec<f64>,
}

/// What a term costs for each rank.
pub type Rate<'a> = &'a (dyn Fn(&Pairing) -> f64 + Sync);

/// What sums are looked for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The cost of a rank.
    pub rate: Rate<'a>,
    /// Sums that cost more are of no use.
    pub most: f64,
    /// Nor is a squared error below this.
    pub enough: f64,
    /// Random numbers.
    pub seed: u64,
}

/// Factors of a pairing: `Y X'`, rearranged.
#[derive(Debug, Clone)]
pub struct Product<T> {
    /// The pairing.
    pub pairing: Pairing,
    /// `left x rank`.
    pub y: Vec<T>,
    /// `right x rank`.
    pub x: Vec<T>,
    /// How many.
    pub rank: usize,
}

/// A term of the sum under way.
struct Block<T> {
    pairing: Pairing,
    found: Leading<T>,
    rank: usize,
}

/// A sum under way. The matrix itself becomes what the sum leaves.
pub struct Sum<'a, T> {
    rest: Vec<T>,
    metric: Option<&'a Metric<T>>,
    /// The plain one first.
    blocks: Vec<Block<T>>,
    wanted: Wanted<'a>,
    stop: &'a Stop,
    /// The most ranks of the plain SVD.
    cap: usize,
}

impl<'a, T: Scalar> Sum<'a, T> {
    /// An empty sum for a matrix.
    pub fn new(
        w: Vec<T>,
        (rows, columns): (usize, usize),
        pairings: &[Pairing],
        metric: Option<&'a Metric<T>>,
        wanted: Wanted<'a>,
        stop: &'a Stop,
    ) -> Self {
        let none = |pairing: Pairing| {
            let found = Leading { squares: Vec::new(), y: Vec::new(), x: Vec::new() };
            Block { pairing, found, rank: 0 }
        };
        let plain = Pairing::plain(rows, columns);
        let blocks = std::iter::once(plain).chain(pairings.iter().copied()).map(none).collect();
        let cap = most_ranks(&plain, wanted.rate, wanted.most);
        Sum { rest: w, metric, blocks, wanted, stop, cap }
    }

    /// All families, from the dearest price downwards. None where it was stopped.
    pub fn families(&mut self) -> Option<Vec<Family>> {
        let mut families = Vec::new();
        self.until(usize::MAX, |family| families.push(family))?;
        Some(families)
    }

    /// Makes the steps up to one, and tells the families on the way.
    fn until(&mut self, last: usize, mut tell: impl FnMut(Family)) -> Option<()> {
        let whole = norm_squared(&self.rest, self.metric);
        let enough = self.wanted.enough;
        self.update(0, |squares| whole - squares.iter().sum::<f64>() <= enough)?;
        self.settle(0, 0);
        tell(self.family(0));
        if self.blocks.len() == 1 || last == 0 || whole == 0.0 {
            return Some(());
        }
        let rate = self.wanted.rate;
        let first = self.blocks[0].found.squares.first().copied().unwrap_or(0.0);
        let mut highest = first / rate(&self.blocks[0].pairing);
        for b in 1..self.blocks.len() {
            let block = &self.blocks[b];
            let (seed, stop) = (self.wanted.seed, self.stop);
            let found = leading((&self.rest, &block.pairing), None, 4, None, 2, seed, stop)?;
            let first = found.squares.first().copied().unwrap_or(0.0) * self.weight();
            highest = highest.max(first / rate(&block.pairing));
        }
        for step in 1..=STEPS.min(last) {
            let price = highest * STEP.powi(step as i32);
            for _ in 0..if self.rest.len() > LARGE { 1 } else { ROUNDS } {
                self.round(price)?;
            }
            let family = self.family(step);
            let ranks =
                family.squares.iter().take_while(|s| **s >= price * rate(&self.blocks[0].pairing));
            let kept: f64 = ranks.clone().sum();
            let cost = self.cost(ranks.count());
            let error = family.base - kept;
            if family.products.iter().any(|p| p.1 > 0) {
                tell(family);
            }
            if cost >= self.wanted.most || error <= enough {
                break;
            }
        }
        Some(())
    }

    /// What a unit of the plain squared norm weighs in the metric, about.
    fn weight(&self) -> f64 {
        match self.metric {
            None => 1.0,
            Some(_) => {
                let plain = norm_squared(&self.rest, None);
                if plain > 0.0 { norm_squared(&self.rest, self.metric) / plain } else { 1.0 }
            }
        }
    }

    /// One round over the blocks at a price, the Kronecker products first.
    fn round(&mut self, price: f64) -> Option<()> {
        for b in (1..self.blocks.len()).chain([0]) {
            let least = price * (self.wanted.rate)(&self.blocks[b].pairing);
            match b {
                0 => {
                    self.update(0, |squares| squares.last().is_none_or(|s| *s < least))?;
                    let kept = self.blocks[0].found.squares.iter().take_while(|s| **s >= least);
                    self.settle(0, kept.count());
                }
                _ => self.update_product(b, least)?,
            }
        }
        Some(())
    }

    /// Gives a block's part back to the rest.
    fn restore(&mut self, b: usize) -> (Vec<T>, Vec<T>, usize) {
        let Block { pairing, found, rank } = &mut self.blocks[b];
        let (y, x) = found.truncated(*rank);
        pairing.add(&mut self.rest, &y, &x, *rank, 1.0);
        let rank = std::mem::take(rank);
        (y, x, rank)
    }

    /// Computes a block anew, with more columns until `done` with their squares; it takes nothing of the rest.
    fn update(&mut self, b: usize, done: impl Fn(&[f64]) -> bool) -> Option<()> {
        let (_, _, rank) = self.restore(b);
        let old = std::mem::replace(
            &mut self.blocks[b].found,
            Leading { squares: Vec::new(), y: Vec::new(), x: Vec::new() },
        );
        let pairing = self.blocks[b].pairing;
        let cap = self.cap.min(pairing.left()).min(pairing.right()).max(1);
        let side = pairing.left().min(pairing.right());
        // The whole SVD of a small matrix takes no longer than a part of it, and is exact.
        let small = side <= WHOLE;
        let cap = if small { side } else { cap };
        let mut k = if small { side } else { (rank + rank / 8 + 8).max(16).min(cap) };
        let mut start = old.x;
        let mut have = old.squares.len();
        let metric = self.metric.filter(|_| b == 0);
        let rounds = if self.rest.len() > LARGE { ITERATIONS - 1 } else { ITERATIONS };
        loop {
            let from = (have > 0).then_some((&start[..], have));
            let seed = self.wanted.seed.wrapping_add(k as u64);
            let found = leading((&self.rest, &pairing), metric, k, from, rounds, seed, self.stop)?;
            if found.len() < k || k >= cap || done(&found.squares) {
                self.blocks[b].found = found;
                return Some(());
            }
            (start, have) = (found.x, found.squares.len());
            k = (2 * k).min(cap);
        }
    }

    /// Takes the first ranks of a block from the rest.
    fn settle(&mut self, b: usize, rank: usize) {
        let block = &mut self.blocks[b];
        let (y, x) = block.found.truncated(rank);
        block.pairing.add(&mut self.rest, &y, &x, rank, -1.0);
        block.rank = rank;
    }

    /// A Kronecker block at a least square; in a metric its factors are improved there, and it goes where it does not pay.
    fn update_product(&mut self, b: usize, least: f64) -> Option<()> {
        let weight = self.weight();
        self.update(b, |squares| squares.last().is_none_or(|s| *s * weight < least))?;
        let kept =
            self.blocks[b].found.squares.iter().take_while(|s| **s * weight >= least).count();
        self.place(b, kept, Some(least))
    }

    /// Takes so many products from the rest.
    fn place(&mut self, b: usize, rank: usize, least: Option<f64>) -> Option<()> {
        let Some(metric) = self.metric.filter(|_| rank > 0) else {
            self.settle(b, rank);
            return Some(());
        };
        let before = metric.norm_squared(&self.rest);
        let pairing = self.blocks[b].pairing;
        let (mut y, mut x) = self.blocks[b].found.truncated(rank);
        let improved = weighted::improve(&self.rest, &pairing, metric, (&mut y, &mut x), rank, 3);
        if improved.is_some() {
            self.blocks[b].found = Leading { squares: vec![0.0; rank], y, x };
            self.settle(b, rank);
            let gain = before - metric.norm_squared(&self.rest);
            if least.is_none_or(|least| gain >= least * rank as f64) {
                return Some(());
            }
            self.restore(b);
        }
        self.blocks[b].found = Leading { squares: Vec::new(), y: Vec::new(), x: Vec::new() };
        Some(())
    }

    fn cost(&self, plain: usize) -> f64 {
        let rate = self.wanted.rate;
        let products = self.blocks[1..].iter().map(|b| rate(&b.pairing) * b.rank as f64);
        products.sum::<f64>() + rate(&self.blocks[0].pairing) * plain as f64
    }

    /// What has been found: the rest is that without the plain part.
    fn family(&self, step: usize) -> Family {
        let plain = &self.blocks[0];
        let taken: f64 = plain.found.squares[..plain.rank].iter().sum();
        Family {
            step,
            products: self.blocks[1..].iter().map(|b| (b.pairing, b.rank)).collect(),
            base: norm_squared(&self.rest, self.metric) + taken,
            squares: plain.found.squares.clone(),
        }
    }

    /// The terms of a family with this rank of the plain SVD. The sum is made again as it was found, then its blocks in turn
    /// at their ranks for as long as that helps. None where it was stopped.
    pub fn terms(mut self, step: usize, rank: usize) -> Option<Vec<Product<T>>> {
        self.until(step, |_| ())?;
        self.restore(0);
        let rank = rank.min(self.blocks[0].found.len());
        self.settle(0, rank);
        let mut last = norm_squared(&self.rest, self.metric);
        let several = self.blocks.iter().filter(|b| b.rank > 0).count() > 1;
        for _ in 0..if several { LAST_ROUNDS } else { 0 } {
            for b in 0..self.blocks.len() {
                let rank = self.blocks[b].rank;
                if rank == 0 {
                    continue;
                }
                self.update(b, |squares| squares.len() >= rank)?;
                let rank = rank.min(self.blocks[b].found.len());
                match b {
                    0 => self.settle(b, rank),
                    _ => self.place(b, rank, None)?,
                }
            }
            let now = norm_squared(&self.rest, self.metric);
            if now > last * (1.0 - 1e-4) {
                break;
            }
            last = now;
        }
        let term = |Block { pairing, found, rank }: Block<T>| {
            let (y, x) = found.truncated(rank);
            Product { pairing, y, x, rank }.balanced()
        };
        Some(self.blocks.into_iter().filter(|b| b.rank > 0).map(term).collect())
    }
}

/// The most ranks of a pairing that a cost allows.
pub fn most_ranks(pairing: &Pairing, rate: Rate<'_>, most: f64) -> usize {
    let afford = (most / rate(pairing)).floor();
    (afford.max(1.0) as usize).min(pairing.left()).min(pairing.right())
}

impl<T: Scalar> Product<T> {
    /// The same with both columns of each rank equally long, so that neither is lost in numbers of few bits.
    fn balanced(mut self) -> Self {
        for j in 0..self.rank {
            let length = |v: &[T]| -> f64 {
                v.iter().skip(j).step_by(self.rank).map(|v| v.abs_squared()).sum::<f64>().sqrt()
            };
            let (a, b) = (length(&self.y), length(&self.x));
            if a > 0.0 && b > 0.0 {
                let by = (b / a).sqrt();
                self.y.iter_mut().skip(j).step_by(self.rank).for_each(|v| *v = v.scale(by));
                self.x.iter_mut().skip(j).step_by(self.rank).for_each(|v| *v = v.unscale(by));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::screen;
    use super::*;
    use tnsearch::rng::stream;

    fn normals(n: usize, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, b"sum");
        (0..n).map(|_| f64::normal(&mut rng)).collect()
    }

    fn params(p: &Pairing) -> f64 {
        p.entries() as f64
    }

    /// Two ranks of a plain SVD, one Kronecker product, and a little noise.
    fn planted(m: usize, n: usize, p: &Pairing) -> Vec<f64> {
        let mut w: Vec<f64> = normals(m * n, 1).iter().map(|x| 1e-3 * x).collect();
        Pairing::plain(m, n).add(&mut w, &normals(m * 2, 2), &normals(n * 2, 3), 2, 1.0);
        p.add(&mut w, &normals(p.left(), 4), &normals(p.right(), 5), 1, 1.0);
        w
    }

    fn error(w: &[f64], terms: &[Product<f64>], metric: Option<&Metric<f64>>) -> f64 {
        let mut rest = w.to_vec();
        for t in terms {
            t.pairing.add(&mut rest, &t.y, &t.x, t.rank, -1.0);
        }
        norm_squared(&rest, metric)
    }

    #[test]
    fn a_sum_that_was_planted_is_found() {
        let (m, n) = (24, 36);
        let p = Pairing { r1: 4, c1: 6, r2: 6, c2: 6 };
        let w = planted(m, n, &p);
        let (stop, all) = (Stop::new(), norm_squared(&w, None));
        let wanted = Wanted { rate: &params, most: 400.0, enough: 1e-5 * all, seed: 0 };
        let pairings = screen(&mut w.clone(), (m, n), wanted, &stop).unwrap();
        assert_eq!(pairings[0], p);
        let sum = || Sum::new(w.clone(), (m, n), &pairings, None, wanted, &stop);
        let families = sum().families().unwrap();
        assert!(families[0].products.iter().all(|(_, rank)| *rank == 0));
        let found = families
            .iter()
            .find(|f| f.squares.len() >= 2 && f.base - f.squares[0] - f.squares[1] < 1e-4 * all);
        let found = found.expect("the planted sum");
        let terms = sum().terms(found.step, 2).unwrap();
        let count: usize = terms.iter().map(|t| t.rank * t.pairing.entries()).sum();
        assert!(count <= 2 * (m + n) + p.entries(), "{count}");
        let predicted = found.base - found.squares[0] - found.squares[1];
        let measured = error(&w, &terms, None);
        assert!(
            measured <= predicted * (1.0 + 1e-9) && measured < 1e-4 * all,
            "{measured} {predicted}"
        );
        // The plain SVD of as many entries is far off.
        let plain = &families[0];
        let ranks = count / (m + n);
        assert!(plain.base - plain.squares[..ranks].iter().sum::<f64>() > 100.0 * measured);
    }

    #[test]
    fn the_plain_family_is_what_its_terms_lose() {
        let (m, n) = (20, 15);
        let w = normals(m * n, 8);
        let stop = Stop::new();
        let samples = normals(60 * n, 9);
        let metric = Metric::of_samples(&samples, n);
        for metric in [None, Some(&metric)] {
            let wanted = Wanted { rate: &params, most: 300.0, enough: 0.0, seed: 3 };
            let sum = || Sum::new(w.clone(), (m, n), &[], metric, wanted, &stop);
            let families = sum().families().unwrap();
            assert_eq!((families.len(), families[0].squares.len()), (1, n));
            for rank in [1, 5] {
                let terms = sum().terms(0, rank).unwrap();
                let want = families[0].base - families[0].squares[..rank].iter().sum::<f64>();
                let measured = error(&w, &terms, metric);
                assert!((measured - want).abs() < 1e-9 * families[0].base, "{measured} {want}");
            }
        }
    }

    #[test]
    fn in_a_metric_products_are_chosen_by_what_they_gain_there() {
        let (m, n) = (24, 36);
        let p = Pairing { r1: 4, c1: 6, r2: 6, c2: 6 };
        let w = planted(m, n, &p);
        let samples: Vec<f64> =
            normals(100 * n, 6).iter().enumerate().map(|(k, x)| x / (1 + k % n) as f64).collect();
        let metric = Metric::of_samples(&samples, n);
        let (stop, all) = (Stop::new(), metric.norm_squared(&w));
        let wanted = Wanted { rate: &params, most: 400.0, enough: 1e-5 * all, seed: 0 };
        let sum = || Sum::new(w.clone(), (m, n), &[p], Some(&metric), wanted, &stop);
        let families = sum().families().unwrap();
        let best = families.iter().filter(|f| f.step > 0 && f.squares.len() >= 2);
        let left = |f: &Family| f.base - f.squares[0] - f.squares[1];
        let best = best.min_by(|a, b| left(a).total_cmp(&left(b))).unwrap();
        let terms = sum().terms(best.step, 2).unwrap();
        let measured = error(&w, &terms, Some(&metric));
        assert!(measured <= left(best) * (1.0 + 1e-9) && measured < 1e-3 * all, "{measured} {all}");
    }

    #[test]
    fn noise_has_no_pairing_and_a_stop_is_obeyed() {
        let w = normals(64 * 64, 11);
        let wanted = Wanted { rate: &params, most: 4096.0, enough: 0.0, seed: 0 };
        assert!(screen(&mut w.clone(), (64, 64), wanted, &Stop::new()).unwrap().is_empty());
        let stop = Stop::new();
        stop.set();
        assert!(screen(&mut w.clone(), (64, 64), wanted, &stop).is_none());
        assert!(Sum::new(w, (64, 64), &[], None, wanted, &stop).families().is_none());
    }
}
