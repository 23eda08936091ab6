//! A good order of the modes along a path, for tensors with too many cuts to look at all of them.
//!
//! The tensor is taken apart once, into a train far more exact than what is asked for. Two neighbours change places by
//! one SVD of their two cores, which gives the singular values of the one cut that is new; all others stay. So a
//! mode is carried along the train at the price of a small SVD for each place, and put down where the train is smallest.

use super::truncate::{Keep, left_basis, project};
use super::{DecomposeError, Limits};
use crate::MemoryError;
use crate::linalg::{Factor, left_singular, matmul};
use crate::problem::Target;
use crate::tensor::{AnyTensor, AxisPlan, Kind, Scalar, Tensor};

/// The part of a bond's error that the train itself may lose at each step.
const FINER: f64 = 1e-2;
/// Copies of the tensor that are held at once: one with 64 bits, one in order, and what is left of it.
const COPIES: usize = 3;
/// Wider trains are left as they are: an SVD would take a second.
const WIDEST: usize = 400;
/// Operations that all SVDs may take: some seconds.
const WORK: f64 = 2e11;
/// What an SVD of an m x n matrix takes, in units of `m n min(m, n)`.
const SVD: f64 = 20.0;
/// A place where the train is this many times as large as where the mode came from ends the way there.
const TOO_LARGE: f64 = 3.0;
/// Less is no gain.
const GAIN: f64 = 1e-3;

/// An order of the modes along a path that needs few parameters for an RSE of `eps`: `start`, improved by carrying single
/// modes to other places as long as that helps. `start` itself where its train is too wide to work with.
pub(crate) fn path_order(
    target: &Target,
    start: &[usize],
    eps: f64,
    limits: &Limits,
) -> Result<Vec<usize>, DecomposeError> {
    let wide = if target.kind().is_complex() { Kind::C64 } else { Kind::F64 };
    let bytes = (COPIES * wide.bytes()) as f64 * target.entries() as f64;
    MemoryError::check("the order of the modes", bytes, limits.max_bytes)?;
    // Singular values are computed with 64 bits.
    match target.tensor() {
        AnyTensor::F64(x) => improved(x, start, eps, limits),
        AnyTensor::C64(x) => improved(x, start, eps, limits),
        narrow => match narrow.clone().to_kind(wide)? {
            AnyTensor::F64(x) => improved(&x, start, eps, limits),
            AnyTensor::C64(x) => improved(&x, start, eps, limits),
            _ => Ok(start.to_vec()),
        },
    }
}

fn improved<T: Scalar>(
    x: &Tensor<T>,
    start: &[usize],
    eps: f64,
    limits: &Limits,
) -> Result<Vec<usize>, DecomposeError> {
    if start.len() < 3 {
        return Ok(start.to_vec());
    }
    let Some(mut train) = Train::new(x, start, eps, limits)? else { return Ok(start.to_vec()) };
    let mut moved = true;
    while moved {
        moved = false;
        // Each mode once, wherever it stands by then.
        for mode in train.modes.clone() {
            let place = train.modes.iter().position(|&n| n == mode).unwrap_or(0);
            if let Some(better) = train.carried(place, limits) {
                (train, moved) = (better, true);
            }
        }
    }
    Ok(train.modes)
}

/// A train whose cores are orthonormal on either side of one of them, the centre.
#[derive(Debug, Clone)]
struct Train<T> {
    /// The mode at each place, and its length.
    modes: Vec<usize>,
    lengths: Vec<usize>,
    /// `ranks[k] x lengths[k] x ranks[k + 1]`, row-major.
    cores: Vec<Vec<T>>,
    ranks: Vec<usize>,
    /// The squared singular values between each place and the next, falling.
    squares: Vec<Vec<f64>>,
    centre: usize,
    /// What a bond may lose.
    share: f64,
    /// Operations so far.
    work: f64,
}

impl<T: Scalar> Train<T> {
    /// The train of a tensor with its modes in this order; none where it is too wide.
    fn new(
        x: &Tensor<T>,
        order: &[usize],
        eps: f64,
        limits: &Limits,
    ) -> Result<Option<Self>, DecomposeError> {
        let n = order.len();
        let lengths: Vec<usize> = order.iter().map(|&k| x.dims()[k]).collect();
        let share = eps * x.norm_squared() / (n - 1) as f64;
        let mut rest = vec![T::ZERO; x.len()];
        AxisPlan::new(x.dims(), order).apply(x.data(), &mut rest);
        let (mut cores, mut ranks) = (Vec::with_capacity(n), vec![1]);
        for (k, &length) in lengths[..n - 1].iter().enumerate() {
            limits.check_stop()?;
            let rows = ranks[k] * length;
            let shape = (rows, rest.len() / rows);
            let basis = left_basis(&rest, shape, Keep::Within(FINER * share), limits)?;
            if basis.rank > WIDEST {
                return Ok(None);
            }
            rest = project(&basis, &rest, shape);
            ranks.push(basis.rank);
            cores.push(basis.u);
        }
        cores.push(rest);
        ranks.push(1);
        let (squares, modes) = (vec![Vec::new(); n - 1], order.to_vec());
        let (centre, work) = (n - 1, 0.0);
        let mut train = Train { modes, lengths, cores, ranks, squares, centre, share, work };
        // On the way back every bond is seen.
        for k in (0..n - 1).rev() {
            if train.renew(k, false, false, limits).is_none() {
                return Ok(None);
            }
        }
        Ok(Some(train))
    }

    /// Makes the cores at places k and k + 1 anew, the modes exchanged if asked for, the centre on the side asked for. It
    /// must be at one of the two. None, and nothing is changed, where that takes more than the work or the time left, or
    /// the SVD does not converge.
    fn renew(&mut self, k: usize, exchange: bool, to_right: bool, limits: &Limits) -> Option<()> {
        let (r, s, t) = (self.ranks[k], self.ranks[k + 1], self.ranks[k + 2]);
        let (a, b) = (self.lengths[k], self.lengths[k + 1]);
        let (m, n) = if exchange { (r * b, a * t) } else { (r * a, b * t) };
        let cost = SVD * m as f64 * n as f64 * m.min(n) as f64;
        if self.work + cost > WORK || !limits.stop.has_time_for(cost) {
            return None;
        }
        self.work += cost;
        let mut block = vec![T::ZERO; r * a * b * t];
        let left = Factor::row_major(&self.cores[k], s);
        let right = Factor::row_major(&self.cores[k + 1], b * t);
        matmul((r * a, b * t, s), &mut block, left, right);
        if exchange {
            let mut turned = vec![T::ZERO; block.len()];
            AxisPlan::new(&[r, a, b, t], &[0, 2, 1, 3]).apply(&block, &mut turned);
            block = turned;
        }
        // The orthonormal side is made of singular vectors: of the block, or of the transposed one.
        let (rows, columns) = if to_right { (m, n) } else { (n, m) };
        let turned;
        let matrix = match to_right {
            true => &block,
            false => {
                let mut t = vec![T::ZERO; block.len()];
                AxisPlan::new(&[m, n], &[1, 0]).apply(&block, &mut t);
                turned = t;
                &turned
            }
        };
        let (values, vectors) = left_singular(matrix, rows, columns)?;
        if exchange {
            self.modes.swap(k, k + 1);
            self.lengths.swap(k, k + 1);
        }
        let squares: Vec<f64> = values.iter().map(|s| s * s).collect();
        let rank = within(&squares, FINER * self.share);
        // Singular vectors lie column after column.
        let u = &vectors[..rows * rank];
        let by_columns = Factor::row_major(u, rows);
        if to_right {
            let mut basis = vec![T::ZERO; rows * rank];
            AxisPlan::new(&[rank, rows], &[1, 0]).apply(u, &mut basis);
            let mut rest = vec![T::ZERO; rank * n];
            matmul((rank, n, m), &mut rest, by_columns.conj(), Factor::row_major(&block, n));
            (self.cores[k], self.cores[k + 1], self.centre) = (basis, rest, k + 1);
        } else {
            let mut rest = vec![T::ZERO; m * rank];
            let vectors = by_columns.conj().transposed();
            matmul((m, rank, n), &mut rest, Factor::row_major(&block, n), vectors);
            (self.cores[k], self.cores[k + 1], self.centre) = (rest, u.to_vec(), k);
        }
        self.ranks[k + 1] = rank;
        self.squares[k] = squares;
        Some(())
    }

    /// Brings the centre to a place.
    fn centre_to(&mut self, place: usize, limits: &Limits) -> Option<()> {
        while self.centre < place {
            self.renew(self.centre, false, true, limits)?;
        }
        while self.centre > place {
            self.renew(self.centre - 1, false, false, limits)?;
        }
        Some(())
    }

    /// The train with one mode put down where that makes it smallest; none where it stands best as it is.
    fn carried(&mut self, place: usize, limits: &Limits) -> Option<Self> {
        self.centre_to(place, limits)?;
        let here = self.cost();
        let (mut least, mut best) = (here * (1.0 - GAIN), None::<Self>);
        for to_right in [false, true] {
            let mut at = self.clone();
            let places = if to_right { self.modes.len() - 1 - place } else { place };
            for step in 0..places {
                let k = if to_right { place + step } else { place - 1 - step };
                if at.renew(k, true, to_right, limits).is_none() {
                    break;
                }
                let cost = at.cost();
                if cost < least {
                    (least, best) = (cost, Some(at.clone()));
                }
                if cost > TOO_LARGE * here {
                    break;
                }
            }
            self.work = at.work;
        }
        best.map(|best| Train { work: self.work, ..best })
    }

    /// The parameters, with ranks that change smoothly with the singular values.
    fn cost(&self) -> f64 {
        let widths: Vec<f64> = self.squares.iter().map(|s| width(s, self.share)).collect();
        let width = |k: usize| if k == 0 { 1.0 } else { widths.get(k - 1).copied().unwrap_or(1.0) };
        let core = |(k, &length): (usize, &usize)| width(k) * length as f64 * width(k + 1);
        self.lengths.iter().enumerate().map(core).sum()
    }
}

/// The least number of singular values that leaves out at most so much.
fn within(squares: &[f64], lost: f64) -> usize {
    let mut left_out = 0.0;
    let beyond = squares.iter().rev().take_while(|square| {
        left_out += **square;
        left_out <= lost
    });
    (squares.len() - beyond.count()).max(1)
}

/// The same as a number between two ranks: as near to the smaller one as the logarithm of its tail is to the limit.
fn width(squares: &[f64], lost: f64) -> f64 {
    let rank = within(squares, lost);
    let tail = |rank: usize| squares[rank.min(squares.len())..].iter().sum::<f64>();
    let (above, below) = (tail(rank - 1), tail(rank).max(1e-4 * lost));
    let part = ((above / lost).ln() / (above / below).ln()).clamp(0.0, 1.0);
    if rank == 1 || !part.is_finite() { rank as f64 } else { (rank - 1) as f64 + part }
}

#[cfg(test)]
mod tests {
    use super::super::{Goal, tt_svd};
    use super::*;
    use crate::graph::{Structure, Template};
    use crate::network::Network;
    use crate::rng;
    use std::sync::Arc;

    /// A train of random cores whose modes were shuffled, and the order they stood in.
    fn shuffled<T: Scalar>(dims: &[usize], rank: usize, seed: u64) -> (Target, Vec<usize>) {
        let n = dims.len();
        let mut rng = rng::stream(seed, b"shuffled");
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&k| (k * 5 + seed as usize) % n);
        let mut place = vec![0; n];
        order.iter().enumerate().for_each(|(k, &mode)| place[mode] = k);
        let template = Arc::new(Template::path(n).unwrap());
        let structure = Structure::new(template, place, vec![rank; n - 1]).unwrap();
        let cores: Vec<Tensor<T>> = (0..n)
            .map(|v| {
                let shape = structure.core_dims(v, dims);
                let entries = shape.iter().product();
                Tensor::new(shape, (0..entries).map(|_| T::normal(&mut rng)).collect()).unwrap()
            })
            .collect();
        let network = Network::new(structure, dims.to_vec(), cores).unwrap();
        (Target::new(network.to_tensor(None).unwrap()).unwrap(), order)
    }

    /// The parameters of a TT-SVD with the modes in this order.
    fn params(target: &Target, order: &[usize], eps: f64) -> u128 {
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, &mode)| place[mode] = k);
        let goal = Goal::max_rse(eps).unwrap();
        tt_svd(target, &place, &goal, &Limits::none()).unwrap().network.params()
    }

    fn a_hidden_order_is_found<T: Scalar>(dims: &[usize], eps: f64) {
        for seed in 0..4 {
            let (target, hidden) = shuffled::<T>(dims, 3, seed);
            let given: Vec<usize> = (0..dims.len()).collect();
            let found = path_order(&target, &given, eps, &Limits::none()).unwrap();
            let mut sorted = found.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, given, "each mode once");
            let (found, hidden) = (params(&target, &found, eps), params(&target, &hidden, eps));
            assert!(found <= hidden, "{found} against {hidden} in the hidden order, seed {seed}");
            assert!(hidden < params(&target, &given, eps), "it was hidden");
        }
    }

    #[test]
    fn hidden_orders_are_found() {
        a_hidden_order_is_found::<f64>(&[2; 9], 1e-8);
        a_hidden_order_is_found::<num_complex::Complex<f64>>(&[2; 8], 1e-8);
        a_hidden_order_is_found::<f32>(&[3, 2, 4, 2, 3, 2, 3], 1e-6);
    }

    #[test]
    fn a_train_stays_the_same_tensor_as_its_modes_change_places() {
        let (target, _) = shuffled::<f64>(&[2, 3, 4, 2, 3], 2, 1);
        let x = target.tensor().as_f64().unwrap();
        let given = [0, 1, 2, 3, 4];
        let mut train = Train::new(x, &given, 1e-12, &Limits::none()).unwrap().unwrap();
        for (k, to_right) in [(0, true), (1, true), (2, false), (1, false), (0, true), (1, true)] {
            train.renew(k, true, to_right, &Limits::none()).unwrap();
            // Each bond's singular values are those of its unfolding.
            let left = &train.modes[..=k];
            let axes: Vec<usize> =
                left.iter().copied().chain((0..5).filter(|n| !left.contains(n))).collect();
            let rows: usize = left.iter().map(|&n| x.dims()[n]).product();
            let values =
                crate::linalg::singular_values(x.permuted(&axes).data(), rows, x.len() / rows);
            for (square, value) in train.squares[k].iter().zip(values.unwrap()) {
                assert!((square - value * value).abs() < 1e-9 * x.norm_squared(), "{k}");
            }
        }
    }

    #[test]
    fn nothing_is_done_where_nothing_can_be() {
        let (target, _) = shuffled::<f64>(&[4, 5], 2, 1);
        assert_eq!(path_order(&target, &[1, 0], 1e-3, &Limits::none()).unwrap(), [1, 0]);
        let (target, _) = shuffled::<f64>(&[2; 6], 2, 1);
        let limits = Limits::none();
        limits.stop.set();
        let error = path_order(&target, &[0, 1, 2, 3, 4, 5], 1e-3, &limits).unwrap_err();
        assert_eq!(error, DecomposeError::Interrupted);
    }
}
