//! Whether a tensor is searched in another shape: its large modes split into factors.
//!
//! Trains of the split tensor, by sketches, say what a split gives. It is taken only where such a train is smaller than
//! *every* network of the tensor's own modes: a network Z with the error asked for has rank at least `r_n`, the rank of
//! mode n's unfolding at that error, in each of them, so a vertex that carries mode n alone has at least `c_n = I_n r_n`
//! entries; one that carries a set S has at least the product of its dimensions, and at least every `c_n` of its modes,
//! since `rank({n}) <= rank(S)` times the other dimensions. The least sum over all partitions of the modes is what nothing
//! goes below. So a split never makes the answer larger.

use crate::decompose::{Decomposition, Limits, Widths, sketched_train};
use crate::dispatch;
use crate::linalg::{eigen, gram};
use crate::problem::{CheckedObjective, Target};
use crate::range::Range;
use crate::tensor::{Reshape, Scalar, Split, Tensor};

/// Modes from this length on are split.
const LARGE: usize = 64;
/// Larger tensors take too long to look at.
const MAX_ENTRIES: usize = 1 << 27;
/// Operations that looking at splits takes for each entry, about: where there is no time for it, none are looked at.
const WORK: f64 = 2000.0;
/// Of tensors with more entries only the first splits and orders are looked at.
const MANY: usize = 1 << 24;
/// Tensors of more modes than this have few long ones.
const MAX_ORDER: usize = 8;
/// The most columns of sketches: of trains, and of unfoldings.
const TRAIN: usize = 96;
const UNFOLDING: usize = 256;
/// The columns of the first sketch of an unfolding.
const FIRST: usize = 16;
/// What a sketch may miss of the error asked for.
const MISSED: f64 = 0.05;
/// What sums of squares do not tell apart, relative to all: in 64 bits, and in 32.
const ROUNDING: (f64, f64) = (1e-13, 1e-6);
/// Up to so many modes all trees are searched: a split into more is to be better by this.
const ALL_TREES: usize = 12;
const BETTER: f64 = 0.9;

/// A split that is better than anything in the tensor's own shape.
pub(super) struct Chosen {
    /// The tensor in the new shape.
    pub target: Target,
    /// A train of it that reaches the error.
    pub train: Decomposition,
    pub summary: SplitSummary,
}

/// The split in which a tensor was searched because it is better than its own shape.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SplitSummary {
    /// From the tensor's own modes to those of the answer.
    pub reshape: Reshape,
    /// The params of a train of the split tensor that reaches the error: the answer has no more.
    pub params: u128,
    /// What no network of the tensor's own modes goes below.
    pub own: u128,
}

impl SplitSummary {
    /// Why, in words.
    pub fn text(&self) -> String {
        let by = |dims: &[usize]| dims.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let (from, to) = (by(self.reshape.from()), by(self.reshape.to()));
        format!(
            "searched as {to}: a train has {} params there, and no network of its own modes, {from}, less than {}; \
             --split none keeps them",
            self.params, self.own
        )
    }
}

/// The split in which a tensor is searched; none where its own shape may be better, or nothing is known.
pub(super) fn chosen(
    target: &Target,
    objective: CheckedObjective,
    (limits, threads): (&Limits, usize),
) -> Option<Chosen> {
    let dims = target.dims();
    let eps = objective.max_error()?;
    let large = dims.iter().any(|&d| d >= LARGE);
    if !large || dims.len() > MAX_ORDER || target.entries() > MAX_ENTRIES {
        return None;
    }
    if !limits.stop.has_time_for(WORK * target.entries() as f64) {
        return None;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok()?;
    pool.install(|| {
        let (reshape, split, train) = smallest(target, objective, limits)?;
        let params = train.network.params();
        let own = nothing_below(target, eps, limits)?;
        let summary = SplitSummary { reshape, params, own };
        (params < own).then_some(Chosen { target: split, train, summary })
    })
}

/// The smallest train within the error of all splits and orders that are tried.
fn smallest(
    target: &Target,
    objective: CheckedObjective,
    limits: &Limits,
) -> Option<(Reshape, Target, Decomposition)> {
    let many = target.entries() > MANY;
    let splits = [Split::Each(4), Split::Auto, Split::Primes];
    let mut tried: Vec<Vec<usize>> = Vec::new();
    let mut best: Option<(f64, Reshape, Target, Decomposition)> = None;
    for split in splits {
        let Ok(Some(reshape)) = Reshape::split(target.dims(), &split, false) else { continue };
        if tried.iter().any(|to| to == reshape.to()) || (many && !tried.is_empty()) {
            continue;
        }
        tried.push(reshape.to().to_vec());
        let Some(split) = target.in_shape(reshape.to(), limits.max_bytes) else { continue };
        for along in orders(&reshape) {
            if limits.stop.is_set() {
                break;
            }
            let widths = Widths { max_rank: usize::MAX, most: TRAIN, must_reach: true };
            let made = sketched_train(&split, &along, objective, widths, limits);
            let Some(made) = made.ok().filter(|m| objective.reached(m.network.params(), m.rse))
            else {
                continue;
            };
            let searched = if reshape.to().len() <= ALL_TREES { BETTER } else { 1.0 };
            let value = searched * made.network.params() as f64;
            if best.as_ref().is_none_or(|b| value < b.0) {
                best = Some((value, reshape.clone(), split.clone(), made));
            }
        }
    }
    best.map(|(_, reshape, split, made)| (reshape, split, made))
}

/// Orders of the modes of a split: one tensor mode after the other; the first of them backwards, so that what is coarse
/// in it is next to what is coarse in the second; and all scales together, coarse to fine.
fn orders(reshape: &Reshape) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut at = 0;
    for &side in reshape.from() {
        let (first, mut product) = (at, 1);
        while product < side {
            product *= reshape.to()[at];
            at += 1;
        }
        // A mode of side 1 stays one.
        if at == first {
            at += 1;
        }
        parts.push((first..at).collect());
    }
    let own: Vec<usize> = parts.concat();
    let mut orders = vec![own];
    if parts.len() > 1 {
        let mirrored = parts[0].iter().rev().chain(parts[1..].iter().flatten());
        orders.push(mirrored.copied().collect());
        let longest = parts.iter().map(Vec::len).max().unwrap_or(0);
        let scale = |k: usize| parts.iter().filter_map(move |part| part.get(k).copied());
        orders.push((0..longest).flat_map(scale).collect());
    }
    orders.dedup();
    orders
}

/// Params that no network of the tensor's own modes within the error goes below.
fn nothing_below(target: &Target, eps: f64, limits: &Limits) -> Option<u128> {
    let dims = target.dims();
    let least = (0..dims.len()).map(|mode| {
        let rank = dispatch!(target.tensor(), x => rank_from_below(x, mode, target, eps, limits))?;
        Some((dims[mode] as u128, dims[mode] as u128 * rank as u128))
    });
    let least: Option<Vec<(u128, u128)>> = least.collect();
    Some(partitioned(&least?, &mut Vec::new()))
}

/// The least sum over all partitions of what remains, given the groups so far: (product of dimensions, largest `c_n`).
fn partitioned(rest: &[(u128, u128)], groups: &mut Vec<(u128, u128)>) -> u128 {
    let Some((&(dim, cost), rest)) = rest.split_first() else {
        return groups.iter().map(|&(product, cost)| product.max(cost)).sum();
    };
    groups.push((dim, cost));
    let mut best = partitioned(rest, groups);
    groups.pop();
    for k in 0..groups.len() {
        let before = groups[k];
        groups[k] = (before.0.saturating_mul(dim), before.1.max(cost));
        best = best.min(partitioned(rest, groups));
        groups[k] = before;
    }
    best
}

/// A rank that the unfolding of a mode has at least in every tensor within the error: from a sketch, by
/// `tau(k) >= ||X||^2 - sum_{j<=k} s_j^2 - ||E||^2`.
fn rank_from_below<T: Scalar>(
    x: &Tensor<T>,
    mode: usize,
    target: &Target,
    eps: f64,
    limits: &Limits,
) -> Option<usize> {
    let dims = x.dims();
    let (len, rest) = (dims[mode], x.len() / dims[mode]);
    let axes: Vec<usize> =
        [mode].into_iter().chain((0..dims.len()).filter(|&n| n != mode)).collect();
    let moved = (mode > 0).then(|| x.permuted(&axes));
    let a = moved.as_ref().unwrap_or(x).data();
    let all = target.norm_squared();
    let mut range = Range::<T>::knowing(all, (len, rest), 0);
    loop {
        let have = range.count();
        let most = UNFOLDING.min(len).min(rest);
        let more = have.max(FIRST).min(most.saturating_sub(have));
        if more == 0 || have > 0 && !limits.stop.has_time_for(4.0 * (a.len() * more) as f64) {
            break;
        }
        if range.grow(a, more) < more || range.missed() <= MISSED * eps * all {
            break;
        }
    }
    let count = range.count();
    if count == 0 {
        return Some(1);
    }
    let missed = range.missed().max(0.0);
    let wide: Vec<T::Wide> = range.rows().iter().map(|b| b.widen()).collect();
    let (rising, _) = eigen(&gram(&wide, count, rest), count)?;
    let fine = T::KIND.epsilon() <= f64::EPSILON;
    let rounding = if fine { ROUNDING.0 } else { ROUNDING.1 };
    // What is beyond k, from below.
    let mut beyond = all * (1.0 - rounding) - missed;
    let mut rank = 0;
    for square in rising.iter().rev() {
        if beyond <= eps * all {
            break;
        }
        rank += 1;
        beyond -= square.max(0.0);
    }
    Some(rank.max(1))
}
