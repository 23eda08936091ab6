//! Which Kronecker products are worth looking for in a layer.

use super::leading::{Leading, leading};
use super::metric::norm_squared;
use super::pairing::Pairing;
use super::sum::{LARGE, Product, Wanted};
use rayon::prelude::*;
use tnsearch::problem::Stop;
use tnsearch::tensor::Scalar;

/// Pairings that are compared, and those of large matrices: the ones of fewest entries.
const PAIRINGS: usize = 1000;
const FEW_PAIRINGS: usize = 64;
/// Entries of W that are looked at for each, and rows of the rearranged matrix at least.
const SAMPLED: usize = 1 << 19;
const LEAST_ROWS: usize = 16;
/// Pairings that are used together.
const TOGETHER: usize = 3;
/// Pairings that are looked at again when the best is taken away.
const NEXT: usize = 8;
/// Ranks of a plain SVD that are taken away before pairings are compared.
const PLAIN: usize = 64;
/// How far above noise the first value of a pairing must be.
const ABOVE_NOISE: f64 = 1.3;
/// How far above the next rank of the plain SVD, for its cost.
const ABOVE_SVD: f64 = 1.5;

/// The pairings that tell more of a matrix than noise would, the best first, each of what those before it leave.
///
/// The matrix is given back as it was, but for rounding.
pub fn screen<T: Scalar>(
    w: &mut [T],
    (rows, columns): (usize, usize),
    wanted: Wanted<'_>,
    stop: &Stop,
) -> Option<Vec<Pairing>> {
    let all = norm_squared(w, None);
    if all == 0.0 {
        return Some(Vec::new());
    }
    // What a plain SVD says best is no sign of a product: pairings near the plain one would only say it again.
    let plain = Pairing::plain(rows, columns);
    let found = leading((w, &plain), None, PLAIN, None, 2, wanted.seed, stop)?;
    let plain = above_noise(w, plain, &found);
    plain.pairing.add(w, &plain.y, &plain.x, plain.rank, -1.0);
    // And a product must tell more for its cost than the next rank of the SVD.
    let found =
        leading((w, &plain.pairing), None, 4, None, 2, wanted.seed, stop).and_then(|next| {
            let next = next.squares.first().copied().unwrap_or(0.0);
            let floor = ABOVE_SVD * next / (wanted.rate)(&plain.pairing);
            screen_rest(w, (rows, columns), floor, wanted, stop)
        });
    plain.pairing.add(w, &plain.y, &plain.x, plain.rank, 1.0);
    found
}

/// The square of the largest singular value of noise of variance one: that of the sum of the roots of its sides.
fn noise(left: usize, right: usize) -> f64 {
    ((left as f64).sqrt() + (right as f64).sqrt()).powi(2)
}

fn screen_rest<T: Scalar>(
    w: &mut [T],
    (rows, columns): (usize, usize),
    floor: f64,
    wanted: Wanted<'_>,
    stop: &Stop,
) -> Option<Vec<Pairing>> {
    let small = |p: &Pairing| 4 * p.entries() <= w.len() && (wanted.rate)(p) <= wanted.most;
    let most = if w.len() > LARGE { FEW_PAIRINGS } else { PAIRINGS };
    let mut left: Vec<Pairing> =
        Pairing::all(rows, columns).into_iter().filter(small).take(most).collect();
    let mut chosen: Vec<Product<T>> = Vec::new();
    let mut stopped = false;
    while chosen.len() < TOGETHER && !left.is_empty() {
        let best = scores(w, &left, wanted, stop).and_then(|scores| {
            left = scores.iter().skip(1).take(NEXT).map(|s| s.0).collect();
            let best = scores.first().filter(|s| s.1 >= floor);
            let Some((pairing, _)) = best else { return Some(None) };
            let found = leading((w, pairing), None, 4, None, 2, wanted.seed, stop)?;
            Some(Some(above_noise(w, *pairing, &found)))
        });
        match best {
            Some(Some(product)) if product.rank > 0 => {
                product.pairing.add(w, &product.y, &product.x, product.rank, -1.0);
                chosen.push(product);
            }
            Some(Some(_)) => {}
            Some(None) => break,
            None => {
                stopped = true;
                break;
            }
        }
    }
    chosen.iter().for_each(|p| p.pairing.add(w, &p.y, &p.x, p.rank, 1.0));
    if stopped { None } else { Some(chosen.into_iter().map(|p| p.pairing).collect()) }
}

/// The part of a matrix's leading columns that is above noise.
fn above_noise<T: Scalar>(w: &[T], pairing: Pairing, found: &Leading<T>) -> Product<T> {
    let least = ABOVE_NOISE * noise(pairing.left(), pairing.right()) * norm_squared(w, None)
        / w.len() as f64;
    let rank = found.squares.iter().take_while(|s| **s >= least).count();
    let (y, x) = found.truncated(rank);
    Product { pairing, y, x, rank }
}

/// The pairings whose first product is above noise, with what it gains for its cost, the best first. Looked at are some
/// rows of the rearranged matrix, evenly spread: the product is in all of them.
fn scores<T: Scalar>(
    w: &[T],
    pairings: &[Pairing],
    wanted: Wanted<'_>,
    stop: &Stop,
) -> Option<Vec<(Pairing, f64)>> {
    let score = |p: &Pairing| -> Option<Option<(Pairing, f64)>> {
        let (left, right) = (p.left(), p.right());
        let count = (SAMPLED / right).clamp(LEAST_ROWS.min(left), left);
        let mut some = Vec::with_capacity(count * right);
        (0..count).for_each(|k| p.row(w, k * left / count, &mut some));
        let found =
            leading((&some, &Pairing::plain(count, right)), None, 4, None, 2, wanted.seed, stop)?;
        let first = found.squares.first().copied().unwrap_or(0.0);
        let least =
            ABOVE_NOISE * noise(count, right) * norm_squared(&some, None) / some.len() as f64;
        let gain = first * left as f64 / count as f64;
        Some((first > 0.0 && first >= least).then(|| (*p, gain / (wanted.rate)(p))))
    };
    let scores: Option<Vec<_>> = pairings.par_iter().map(score).collect();
    let mut scores: Vec<(Pairing, f64)> = scores?.into_iter().flatten().collect();
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    Some(scores)
}
