//! A tensor train from sketches: a first answer for tensors of many entries, in a few passes over them.
//!
//! From the first mode of the train to the last, what is left of X is taken as a matrix A of (rank so far times this mode)
//! rows, and `A = Q B + E` by a randomised range finder: Q is the core, B what is left. All Q are orthonormal, so the
//! errors of the steps add up, `||X - Z||^2 = sum ||E||^2`, and what is left of the error asked for is spent by rounding
//! the train, which needs no pass over X. The error that is told is measured on all entries in the end.

use super::{DecomposeError, Decomposition, Limits, RoundGoal, round};
use crate::graph::{Structure, Template};
use crate::linalg::{Factor, matmul};
use crate::network::Network;
use crate::problem::{CheckedObjective, Objective, Target};
use crate::range::Range;
use crate::tensor::{AnyTensor, Scalar, Tensor, size};
use crate::{MemoryError, dispatch};
use rayon::prelude::*;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Columns of the first sketch of a step; each further one doubles their number. Matrices of no more rows are left whole.
const FIRST: usize = 16;
/// The part of the error asked for that the sketches may miss; the rest is for rounding.
const PART: f64 = 0.25;
/// What rounding is asked for, of what is left: sums and differences round, too.
const CLOSE: f64 = 0.999;
/// What ranks of no use lose at most.
const NOTHING: f64 = 1e-14;
/// Errors that are tried where none is asked for.
const ERRORS: [f64; 8] = [0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];
/// Entries of the residual that are computed at a time.
const STRIPE: usize = 1 << 16;
/// The seed of the random signs.
const SEED: u64 = 0;

/// How wide a sketched train may become.
#[derive(Debug, Clone, Copy)]
pub struct Widths {
    /// The largest rank.
    pub max_rank: usize,
    /// The most columns of a sketch.
    pub most: usize,
    /// Whether it is given up where so many columns miss more of the error asked for than they may.
    pub must_reach: bool,
}

/// A train by sketches with the modes in an order, `along[k]` being the mode at place k, for an objective.
/// Where the error asked for is not reached that way, it is what it is:
/// the error is always the true one. A stop only ends the growth of the sketches: of each there is a first one. Refused
/// where memory does not suffice.
///
/// ```
/// use tnsearch::decompose::{Limits, Widths, sketched_train};
/// use tnsearch::{problem::{Objective, Target}, tensor::Tensor};
/// // x_ijk = i + j + k has rank 2 in every unfolding.
/// let sum = |n: usize| (n / 1600 + n / 40 % 40 + n % 40) as f64;
/// let x = Target::new(Tensor::new(vec![40; 3], (0..64_000).map(sum).collect()).unwrap()).unwrap();
/// let objective = Objective::MaxError(1e-12).check().unwrap();
/// let widths = Widths { max_rank: 64, most: 64, must_reach: false };
/// let train = sketched_train(&x, &[0, 1, 2], objective, widths, &Limits::none()).unwrap();
/// assert_eq!(train.ranks(), [2, 2]);
/// assert!(train.rse < 1e-24);
/// ```
pub fn sketched_train(
    target: &Target,
    along: &[usize],
    objective: CheckedObjective,
    widths: Widths,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    super::error::check_whole(target, "a sketched train")?;
    if along.len() < 2 {
        let said = "a sketched train needs a tensor of two modes or more".to_owned();
        return Err(DecomposeError::Asked(said));
    }
    dispatch!(target.tensor(), x => {
        match along.iter().copied().eq(0..along.len()) {
            true => train((target, x), along, objective, widths, limits),
            false => {
                let copy = (target.kind().bytes() * x.len()) as f64;
                MemoryError::check("the decomposition", copy, limits.max_bytes)?;
                let x = x.permuted(along);
                train((target, &x), along, objective, widths, limits)
            }
        }
    })
}

/// The same for a tensor whose modes are in the train's order.
fn train<T: Scalar>(
    (target, x): (&Target, &Tensor<T>),
    along: &[usize],
    objective: CheckedObjective,
    widths: Widths,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let all = target.norm_squared();
    let eps = objective.max_error().map(|eps| target.net(eps));
    let allowed = PART * eps.unwrap_or(0.0) * all;
    let Widths { max_rank, most, must_reach } = widths;
    let most = most.min(max_rank).max(1);
    let (cores, lost) = steps((x, all), (allowed, must_reach), most, limits)?;
    let template = Arc::new(Template::path(along.len())?);
    let ranks: Vec<usize> = cores.iter().skip(1).map(|core| core.before).collect();
    let mut places = vec![0; along.len()];
    along.iter().enumerate().for_each(|(place, &mode)| places[mode] = place);
    let structure = Structure::new(template, places, ranks)?;
    let network = Network::new(
        structure,
        target.dims().to_vec(),
        cores.into_iter().map(Core::into_tensor).collect(),
    )?;
    let left = |eps: f64| CLOSE * (eps * all - lost) / (all - lost).max(f64::MIN_POSITIVE);
    // A train is small: no stop comes between.
    let limits = &Limits { max_bytes: limits.max_bytes, ..Limits::none() };
    let rounded =
        |goal: RoundGoal| Ok::<_, DecomposeError>(round(&network, &goal, limits)?.network);
    let within = |eps: f64| RoundGoal::max_rse(left(eps).clamp(NOTHING, 0.999));
    let mut made = match objective.get() {
        // Where the sketches miss it, nothing is given away.
        Objective::MaxError(eps) => rounded(within(target.net(eps))?)?,
        Objective::MaxParams(params) => rounded(RoundGoal::max_params(params))?,
        Objective::Lambda(_) => {
            let mut best: Option<(f64, Network)> = None;
            for eps in ERRORS {
                let made = rounded(within(eps)?)?;
                let loss = objective.loss(made.params(), made.phi(), eps);
                if best.as_ref().is_none_or(|b| loss < b.0) {
                    best = Some((loss, made));
                }
            }
            best.map_or(network, |b| b.1)
        }
    };
    if made.structure().ranks().iter().any(|&r| r > max_rank) {
        let ranks = made.structure().ranks().iter().map(|&r| r.min(max_rank)).collect();
        made = round(&made, &RoundGoal::ranks(ranks)?, limits)?.network;
    }
    let rse = target.relative(residual(x, &made)?);
    let made = in_units(made, target.exponent())?;
    Ok(Decomposition { network: made, rse, sweeps: 0, interrupted: false })
}

/// The network times a power of two.
fn in_units(network: Network, exponent: i64) -> Result<Network, DecomposeError> {
    if exponent == 0 {
        return Ok(network);
    }
    let mut cores = network.cores().to_vec();
    cores[0] = cores[0].clone().times_power_of_two(exponent);
    Ok(Network::new(network.structure().clone(), network.dims().to_vec(), cores)?)
}

/// A core of a train: before x dim x after, row-major.
struct Core<T> {
    before: usize,
    dim: usize,
    after: usize,
    data: Vec<T>,
    /// Whether it is the first, the last: those have one edge.
    ends: (bool, bool),
}

impl<T: Scalar> Core<T> {
    /// As networks have it: its edges, then its mode.
    fn into_tensor(self) -> AnyTensor {
        let Core { before, dim, after, data, ends } = self;
        let whole =
            Tensor::new(vec![before, dim, after], data).unwrap_or_else(|e| unreachable!("{e}"));
        let edges_first = AnyTensor::from(whole).permuted(&[0, 2, 1]);
        let dims = match ends {
            (true, true) => vec![dim],
            (true, false) => vec![after, dim],
            (false, true) => vec![before, dim],
            (false, false) => vec![before, after, dim],
        };
        edges_first.reshaped(dims).unwrap_or_else(|e| unreachable!("{e}"))
    }
}

/// The cores of a train, and what the sketches missed: at most `allowed` where `most` columns suffice for that.
fn steps<T: Scalar>(
    (x, all): (&Tensor<T>, f64),
    (allowed, must_reach): (f64, bool),
    most: usize,
    limits: &Limits,
) -> Result<(Vec<Core<T>>, f64), DecomposeError> {
    let dims = x.dims();
    let order = dims.len();
    let (mut rank, mut lost) = (1, 0.0);
    let mut rest = std::borrow::Cow::Borrowed(x.data());
    let mut cores = Vec::with_capacity(order);
    for (n, &dim) in dims.iter().enumerate() {
        let ends = (n == 0, n + 1 == order);
        let rows = rank * dim;
        if n + 1 == order {
            let data = rest.into_owned();
            cores.push(Core { before: rank, dim, after: 1, data, ends });
            break;
        }
        let columns = rest.len() / rows;
        if rows <= FIRST.min(columns) {
            let mut one = vec![T::ZERO; rows * rows];
            one.iter_mut().step_by(rows + 1).for_each(|x| *x = T::ONE);
            cores.push(Core { before: rank, dim, after: rows, data: one, ends });
            rank = rows;
            continue;
        }
        let share = (allowed - lost).max(0.0) / (order - 1 - n) as f64;
        let range = ranged(&rest, (rows, columns), (all - lost, share), most, limits)?;
        lost += range.missed().max(0.0);
        if must_reach && lost > allowed {
            return Err(DecomposeError::Interrupted);
        }
        let count = range.count();
        let (q, b) = range.into_parts();
        // Columns one after the other become rows x count.
        let data = (0..rows * count).map(|k| q[k % count * rows + k / count]).collect();
        cores.push(Core { before: rank, dim, after: count, data, ends });
        rank = count;
        rest = std::borrow::Cow::Owned(b);
    }
    Ok((cores, lost))
}

/// A sketch that misses at most a share of the squares, which are known, or has `most` columns, or those that there was time for.
fn ranged<T: Scalar>(
    a: &[T],
    (rows, columns): (usize, usize),
    (squares, share): (f64, f64),
    most: usize,
    limits: &Limits,
) -> Result<Range<T>, DecomposeError> {
    let full = rows.min(columns);
    let mut range = Range::knowing(squares, (rows, columns), SEED);
    loop {
        let have = range.count();
        let more = have.max(FIRST).min(most.min(full).saturating_sub(have));
        // The first is what there is time for in any case.
        let time = have == 0 || limits.stop.has_time_for(4.0 * (a.len() * more) as f64);
        if more == 0 || !time {
            break;
        }
        let memory = (have + more) * (rows + columns) + more * columns;
        limits.check_entries::<T>(memory as f64)?;
        let added = range.grow(a, more);
        if range.missed() <= share || added < more {
            break;
        }
    }
    // Of zeros there is no range.
    if range.count() == 0 { Err(DecomposeError::Interrupted) } else { Ok(range) }
}

/// `||X - Z||^2` over all entries, for a train in the order of the modes of X: both halves of the train become matrices,
/// whose product is compared with X stripe by stripe.
fn residual<T: Scalar>(x: &Tensor<T>, train: &Network) -> Result<f64, DecomposeError> {
    let dims = x.dims();
    let order = dims.len();
    let before = |cut: usize| size(&dims[..cut]).max(size(&dims[cut..]));
    let cut = (1..order).min_by_key(|&cut| before(cut)).unwrap_or(1);
    let cores = (0..order).map(|v| core_of::<T>(train, v, order)).collect::<Vec<_>>();
    let (left, right) = (joined(&cores[..cut]), joined(&cores[cut..]));
    let rank = cores[cut].before;
    let (m, n) = (left.len() / rank, right.len() / rank);
    let step = (STRIPE / n).clamp(1, m);
    let stripe = |z: &mut Vec<T>, (x, left): (&[T], &[T])| {
        let rows = x.len() / n;
        z.resize(rows * n, T::ZERO);
        matmul((rows, n, rank), z, Factor::row_major(left, rank), Factor::row_major(&right, n));
        let squares = |(x, z): (&T, &T)| (x.widen() - z.widen()).abs_squared();
        x.iter().zip(&*z).map(squares).sum::<f64>()
    };
    let stripes = x.data().par_chunks(step * n).zip(left.par_chunks(step * rank));
    // Added up in their order, whoever computed them.
    let parts: Vec<f64> = stripes.map_init(Vec::new, stripe).collect();
    Ok(parts.into_iter().sum())
}

/// The core at a place of a train.
fn core_of<T: Scalar>(train: &Network, place: usize, order: usize) -> Core<T> {
    let core = &train.cores()[place];
    let dims = core.dims();
    let ends = (place == 0, place + 1 == order);
    let (before, after, dim) = match ends {
        (true, true) => (1, 1, dims[0]),
        (true, false) => (1, dims[0], dims[1]),
        (false, true) => (dims[0], 1, dims[1]),
        (false, false) => (dims[0], dims[1], dims[2]),
    };
    let edges_first = core.clone().reshaped(vec![before, after, dim]);
    let core = edges_first.unwrap_or_else(|e| unreachable!("{e}")).permuted(&[0, 2, 1]);
    let core = core.into_typed::<T>().unwrap_or_else(|_| unreachable!("of the tensor's kind"));
    Core { before, dim, after, data: core.data().to_vec(), ends }
}

/// Some cores of a train as one tensor: (first rank) x modes x (last rank), row-major.
fn joined<T: Scalar>(cores: &[Core<T>]) -> Vec<T> {
    let mut all = cores[0].data.clone();
    for core in &cores[1..] {
        let (rows, columns) = (all.len() / core.before, core.dim * core.after);
        let mut next = vec![T::ZERO; rows * columns];
        let (a, b) = (Factor::row_major(&all, core.before), Factor::row_major(&core.data, columns));
        matmul((rows, columns, core.before), &mut next, a, b);
        all = next;
    }
    all
}
