//! Orders of the modes in which neighbours belong together.
//!
//! Two modes belong together by what their entropies share, `I(a, b) = S(a) + S(b) - S(a b)`, where S is the entropy of
//! the squared singular values of an unfolding. The Gram matrices of pairs are partial traces of those of larger sets,
//! so that few passes over the tensor give all of them.

use super::super::Spectra;
use super::super::compressed::grouped;
use crate::decompose::{Limits, path_order};
use crate::dispatch;
use crate::linalg::{eigenvalues, gram};
use crate::problem::Stop;
use crate::tensor::{AxisPlan, Kind, Scalar, Tensor};
use crate::threads;

/// Where the density of a pair of modes would be larger, the given order is taken for a good one.
const LARGEST: usize = 4096;

/// A good order of the modes: what belongs together by the entropies that pairs share, then improved along a path
/// ([`path_order`]).
pub(crate) fn order<'s>(spectra: &'s Spectra, stop: &Stop) -> &'s [usize] {
    spectra.good_order.get_or_init(|| found(spectra, stop))
}

fn found(spectra: &Spectra, stop: &Stop) -> Vec<usize> {
    let given: Vec<usize> = (0..spectra.order()).collect();
    let mut dims = spectra.target().dims().to_vec();
    dims.sort_unstable();
    let wide = if spectra.target().kind().is_complex() { Kind::C64 } else { Kind::F64 };
    let copy = (spectra.target().entries() * wide.bytes()) as f64;
    if dims.iter().rev().take(2).product::<usize>() > LARGEST || copy > spectra.room {
        return given;
    }
    let at_once = (spectra.room / copy) as usize;
    let shared = dispatch!(spectra.target().tensor(), x => shared(x, at_once, stop));
    let Some(shared) = shared else { return given };
    let chain = chain(&shared);
    // How far apart what belongs together stands; the given order is taken where it is about as good.
    let spread = |order: &[usize]| -> f64 {
        let places = (0..order.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        places.map(|(i, j)| shared[order[i]][order[j]] * (i - j) as f64).sum()
    };
    let start = if spread(&given) <= 1.02 * spread(&chain) { given } else { chain };
    let max_bytes = spectra.room.is_finite().then_some(spectra.room as u64);
    let limits = Limits { stop: stop.clone(), max_bytes };
    path_order(spectra.target(), &start, spectra.matters(), &limits).unwrap_or(start)
}

/// What each two modes share, with at most so many copies of the tensor at once; none if it was told to stop.
fn shared<T: Scalar>(x: &Tensor<T>, at_once: usize, stop: &Stop) -> Option<Vec<Vec<f64>>> {
    let dims = x.dims();
    let blocks = grouped(dims, &(0..dims.len()).collect::<Vec<_>>());
    let pairs: Vec<(usize, usize)> = match blocks.len() {
        1 => vec![(0, 0)],
        n => (0..n).flat_map(|a| (0..a).map(move |b| (b, a))).collect(),
    };
    let of_pair = |(a, b): (usize, usize)| {
        let mut modes = blocks[a].clone();
        if a != b {
            modes.extend(&blocks[b]);
        }
        if stop.is_set() { Vec::new() } else { entropies(x, &modes) }
    };
    let found: Vec<Vec<(usize, usize, f64)>> = match at_once < threads::count() {
        true => pairs.into_iter().map(of_pair).collect(),
        false => threads::each(pairs, of_pair),
    };
    if stop.is_set() {
        return None;
    }
    let n = dims.len();
    let mut entropy = vec![vec![0.0; n]; n];
    for (a, b, value) in found.into_iter().flatten() {
        (entropy[a][b], entropy[b][a]) = (value, value);
    }
    let shared = |a: usize, b: usize| entropy[a][a] + entropy[b][b] - entropy[a][b];
    Some(
        (0..n).map(|a| (0..n).map(|b| if a == b { 0.0 } else { shared(a, b) }).collect()).collect(),
    )
}

/// The entropies of the modes among these, one by one `(a, a, S)` and two by two `(a, b, S)`.
fn entropies<T: Scalar>(x: &Tensor<T>, modes: &[usize]) -> Vec<(usize, usize, f64)> {
    let others = (0..x.dims().len()).filter(|n| !modes.contains(n));
    let axes: Vec<usize> = modes.iter().copied().chain(others).collect();
    let mut copy = vec![T::Wide::ZERO; x.len()];
    AxisPlan::new(x.dims(), &axes).apply_map(x.data(), &mut copy, Scalar::widen);
    let dims: Vec<usize> = modes.iter().map(|&n| x.dims()[n]).collect();
    let side: usize = dims.iter().product();
    let matrix = gram(&copy, side, x.len() / side);
    drop(copy);
    let mut found = Vec::new();
    for a in 0..modes.len() {
        for b in 0..=a {
            let keep: Vec<usize> = if a == b { vec![a] } else { vec![b, a] };
            if let Some(entropy) = entropy(&traced(&matrix, &dims, &keep)) {
                found.push((modes[a], modes[b], entropy));
            }
        }
    }
    found
}

/// The partial trace of a matrix over all axes but some.
fn traced<T: Scalar>(matrix: &[T], dims: &[usize], keep: &[usize]) -> Vec<T> {
    let side: usize = dims.iter().product();
    let small: usize = keep.iter().map(|&k| dims[k]).product();
    let place = |flat: usize| {
        let (mut rest, mut kept, mut weight) = (flat, 0, 1);
        let mut others = 0;
        let mut other_weight = 1;
        for (k, &d) in dims.iter().enumerate().rev() {
            let digit = rest % d;
            rest /= d;
            if keep.contains(&k) {
                kept += digit * weight;
                weight *= d;
            } else {
                others += digit * other_weight;
                other_weight *= d;
            }
        }
        (kept, others)
    };
    let places: Vec<(usize, usize)> = (0..side).map(place).collect();
    let mut out = vec![T::ZERO; small * small];
    for (j, &(kept_j, other_j)) in places.iter().enumerate() {
        for (i, &(kept_i, other_i)) in places.iter().enumerate() {
            if other_i == other_j {
                out[kept_j * small + kept_i] += matrix[j * side + i];
            }
        }
    }
    out
}

/// The entropy of a matrix's eigenvalues relative to their sum.
fn entropy<T: Scalar>(matrix: &[T]) -> Option<f64> {
    let side = matrix.len().isqrt();
    let values = eigenvalues(matrix, side)?;
    let all: f64 = values.iter().sum();
    let term = |v: &f64| {
        let p = (v / all).max(0.0);
        if p > 0.0 { -p * p.ln() } else { 0.0 }
    };
    Some(values.iter().map(term).sum())
}

/// An order that begins with the two modes that share most, and goes on at either end with the mode that shares most
/// with what stands there (nearer ones count more).
fn chain(shared: &[Vec<f64>]) -> Vec<usize> {
    let n = shared.len();
    let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (b, a)));
    let first = pairs.max_by(|p, q| shared[p.0][p.1].total_cmp(&shared[q.0][q.1]));
    let Some((a, b)) = first else { return (0..n).collect() };
    let mut order = std::collections::VecDeque::from([a, b]);
    loop {
        let pull = |m: usize, front: bool| -> f64 {
            let near = |k: usize| if front { order[k] } else { order[order.len() - 1 - k] };
            (0..order.len()).map(|k| shared[m][near(k)] * 0.5f64.powi(k as i32)).sum()
        };
        let free = (0..n).filter(|m| !order.contains(m));
        let ends = free.flat_map(|m| [(m, true), (m, false)]);
        let best = ends.max_by(|p, q| pull(p.0, p.1).total_cmp(&pull(q.0, q.1)));
        match best {
            Some((m, true)) => order.push_front(m),
            Some((m, false)) => order.push_back(m),
            None => return order.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::brute;
    use super::*;
    use crate::bound::SpectraSettings;
    use crate::problem::Target;
    use crate::tensor::unflatten;

    #[test]
    fn entropies_are_those_of_the_unfoldings() {
        let target = brute::noisy(&[2, 3, 2, 2, 3, 2], 5, 1.0);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let entropy = |set| {
            let values = spectra.of(set).unwrap().values();
            values.iter().map(|p| if *p > 0.0 { -p * p.ln() } else { 0.0 }).sum::<f64>()
        };
        let shared = shared(target.tensor().as_f64().unwrap(), 1, &Stop::new()).unwrap();
        for (a, row) in shared.iter().enumerate() {
            for (b, found) in row.iter().enumerate().take(a) {
                let want = entropy(1 << a) + entropy(1 << b) - entropy(1 << a | 1 << b);
                assert!((found - want).abs() < 1e-10, "{a} {b}");
            }
        }
    }

    /// A product of matrices between pairs of modes, with this beside their diagonals.
    fn paired(modes: usize, pairs: &[(usize, usize)], apart: f64) -> Spectra {
        let dims = vec![2; modes];
        let entry = |k: usize| {
            let at = unflatten(k, &dims);
            let share = |&(a, b): &(usize, usize)| if at[a] == at[b] { 1.0 } else { apart };
            pairs.iter().map(share).product::<f64>()
        };
        let data = (0..1 << modes).map(entry).collect();
        let target = Target::new(Tensor::<f64>::new(dims, data).unwrap()).unwrap();
        Spectra::new(&target, SpectraSettings::default())
    }

    #[test]
    fn what_belongs_together_comes_to_stand_together() {
        // However little that is.
        for apart in [0.3, 0.8] {
            let spectra = paired(6, &[(0, 3), (1, 4), (2, 5)], apart);
            let found = order(&spectra, &Stop::new());
            let place = |n: usize| found.iter().position(|&m| m == n).unwrap();
            for (a, b) in [(0, 3), (1, 4), (2, 5)] {
                assert_eq!(place(a).abs_diff(place(b)), 1, "{found:?}");
            }
        }
        // The given order stays where it is as good, and where there is no time for another.
        let given = [0, 1, 2, 3, 4, 5];
        assert_eq!(order(&paired(6, &[(0, 1), (2, 3), (4, 5)], 0.3), &Stop::new()), given);
        let stop = Stop::new();
        stop.set();
        assert_eq!(order(&paired(6, &[(0, 3), (1, 4), (2, 5)], 0.3), &stop), given);
    }

    #[test]
    fn a_chain_is_found_again() {
        // Neighbours of a line share most, those two apart a little.
        let place = [3usize, 0, 4, 1, 5, 2];
        let share = |a: usize, b: usize| match place[a].abs_diff(place[b]) {
            0 => 0.0,
            d => 0.3f64.powi(d as i32) * (1.0 + 0.01 * (place[a] + place[b]) as f64),
        };
        let shared: Vec<Vec<f64>> = (0..6).map(|a| (0..6).map(|b| share(a, b)).collect()).collect();
        let found: Vec<usize> = chain(&shared).iter().map(|&m| place[m]).collect();
        assert!(found.windows(2).all(|w| w[0].abs_diff(w[1]) == 1), "{found:?}");
    }
    /// Where there is no room for a copy of the tensor, the given order stays; with room for one it is found.
    #[test]
    fn the_order_is_looked_for_where_there_is_room() {
        let pairs = [(0, 3), (1, 4), (2, 5)];
        let found = |room: f64| {
            let spectra = paired(6, &pairs, 0.3).with_room(room);
            order(&spectra, &Stop::new()).to_vec()
        };
        let given = [0, 1, 2, 3, 4, 5];
        // 64 entries of 8 bytes.
        assert_eq!(found(511.0), given);
        for room in [512.0, 2048.0, f64::INFINITY] {
            let order = found(room);
            let place = |n: usize| order.iter().position(|&m| m == n).unwrap();
            assert!(pairs.iter().all(|&(a, b)| place(a).abs_diff(place(b)) == 1), "{order:?}");
        }
    }

    /// What pairs share is the same on one thread and on many.
    #[test]
    fn what_is_shared_does_not_depend_on_threads() {
        let target = brute::noisy(&[2; 9], 5, 1.0);
        let x = target.tensor().as_f64().unwrap();
        let one = shared(x, 1, &Stop::new()).unwrap();
        assert_eq!(one, shared(x, 1000, &Stop::new()).unwrap());
    }

    /// Two modes so long that their density is too large: the given order.
    #[test]
    fn modes_that_are_too_long_stay_as_they_are() {
        // The matrix between modes 0 and 2 is the identity: they belong together.
        let order_of = |d: usize| {
            let dims = vec![d, 2, d, 2];
            let entry = |k: usize| {
                let at = unflatten(k, &dims);
                let same = |a: usize, b: usize| if at[a] == at[b] { 1.0 } else { 0.1 };
                same(0, 2) * same(1, 3)
            };
            let data = (0..4 * d * d).map(entry).collect();
            let target = Target::new(Tensor::<f64>::new(dims.clone(), data).unwrap()).unwrap();
            let spectra = Spectra::new(&target, SpectraSettings::default());
            order(&spectra, &Stop::new()).to_vec()
        };
        assert_ne!(order_of(8), [0, 1, 2, 3]);
        assert_eq!(order_of(65), [0, 1, 2, 3]);
    }
}
