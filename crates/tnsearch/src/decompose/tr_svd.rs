//! Tensor ring by SVDs (Zhao et al. 2016, algorithm 1).

use super::compress::compressed;
use super::error::check_whole;
use super::goal::{Aim, Budget, Shares, keeping};
use super::ring::{along_ring, modes_along, ring_network};
use super::spend::{Choice, FINE, Made, passes, smaller_of, spend};
use super::truncate::{Basis, Keep, expand, left_basis, project};
use super::water::{Curve, Water};
use super::{DecomposeError, Decomposition, Goal, Limits, tree_svd};
use crate::SettingError;
use crate::dispatch;
use crate::graph::{Structure, Template};
use crate::network::Network;
use crate::problem::Target;
use crate::tensor::{AxisPlan, Scalar, Tensor, power, sum_of_squares};
use std::sync::Arc;

/// Tensor ring by TR-SVD. `permutation[n]` is the vertex of mode `n` along the ring.
///
/// The unfolding "mode at vertex 0 x the rest" is truncated to a rank that is split in two, `r_0 r_1`, as evenly
/// as its divisors allow: the ranks of the two edges at vertex 0. What is left is a tensor with one more mode
/// `r_0` at its end and is taken apart as a tensor train. All truncations are orthogonal projections, so their
/// errors add up. With a largest RSE several ranks of the first are tried, and the others chosen as [`tree_svd`] does;
/// with [`Shares::Equal`] the first may lose two N-th parts of it, each of the others one (and what the earlier ones did
/// not use). The signs (phases) of the first singular vectors are those that make the largest entry of
/// each positive, since the rest depends on them.
///
/// The two ranks at vertex 0 multiply to its dimension at most: where a mode is short, the ring is hardly more
/// than a train. Order 2 is a single edge, a truncated SVD.
///
/// ```
/// use tnsearch::decompose::{Goal, Limits, ring_ranks, tr_svd};
/// use tnsearch::{problem::Target, tensor::Tensor};
/// let entries = (0..4 * 3 * 3).map(|k| (k as f64).sin()).collect();
/// let x = Target::new(Tensor::new(vec![4, 3, 3], entries).unwrap()).unwrap();
/// let ring = tr_svd(&x, &[0, 1, 2], &Goal::max_rse(1e-10).unwrap(), &Limits::none()).unwrap();
/// assert!(ring.rse <= 1e-10);
/// ```
pub fn tr_svd(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    check_whole(target, "TR-SVD")?;
    let template = ring_template(target, permutation)?;
    if target.dims().len() == 2 {
        return tree_svd(target, &template, permutation, goal, limits);
    }
    keeping(goal, limits, |goal| {
        if let (Aim::MaxRse(eps), Shares::Optimal) = (&goal.aim, goal.shares) {
            return compressed(target, *eps, limits, |small, eps| {
                let (target, dims) = small;
                dispatch!(target.tensor(), x => {
                    let ring = Opened::new((target, x), &template, permutation, 0, limits)?;
                    let taken = ring.smallest(dims, eps, |rank| vec![balanced(rank)])?;
                    Ok(Decomposition { interrupted: limits.stop.is_set(), ..ring.finish(taken) })
                })
            });
        }
        dispatch!(target.tensor(), x => {
            take_apart(goal, Opened::new((target, x), &template, permutation, 0, limits)?)
        })
    })
}

/// TR-SVD of a ring opened at vertex 0.
fn take_apart<T: Scalar>(
    goal: &Goal,
    ring: Opened<'_, T>,
) -> Result<Decomposition, DecomposeError> {
    let edges = ring.template.edges().len();
    let along = goal.ranks_for(edges)?.map(along_ring);
    let taken = match (&goal.aim, along) {
        (Aim::MaxRse(eps), _) => {
            let first = ring.first(Keep::Within(ring.budget(*eps).share(2)))?;
            let split = balanced(first.rank);
            let mut budget = ring.budget(*eps);
            budget.spend(first.lost, 2);
            ring.rest(&first, split, &mut Choice::Shares(budget))?
        }
        (Aim::Ranks(_), along) => {
            let along = along.unwrap_or_default();
            let (left, right, dim) = (along[edges - 1], along[0], ring.dims[0]);
            if left.saturating_mul(right) > dim.min(ring.data.len() / dim) {
                let value = format!("{left} and {right} at vertex 0");
                let expected = format!(
                    "for TR-SVD their product must not be larger than its mode's dimension, {dim}, \
                     nor than the entries of the others"
                );
                return Err(SettingError::new("ranks", value, expected).into());
            }
            let first = ring.first(Keep::Leading(left * right))?;
            ring.rest(&first, (left, right), &mut Choice::Ranks(&along[1..edges - 1]))?
        }
    };
    Ok(ring.finish(taken))
}

/// The ring for a tensor, the permutation checked.
pub(super) fn ring_template(
    target: &Target,
    permutation: &[usize],
) -> Result<Arc<Template>, DecomposeError> {
    let template = Arc::new(Template::ring(target.dims().len())?);
    let ranks = vec![1; template.edges().len()];
    Structure::new(template.clone(), permutation.to_vec(), ranks)?;
    Ok(template)
}

/// The two factors of a number that are nearest to each other, the smaller first.
fn balanced(rank: usize) -> (usize, usize) {
    let small = (1..=rank).take_while(|d| d * d <= rank).filter(|d| rank.is_multiple_of(*d)).last();
    let small = small.unwrap_or(1);
    (small, rank / small)
}

/// Ranks of the first truncation that are worth a try: those that lose less and less of a budget, and the next ones
/// that split more evenly.
fn first_ranks<T>(first: &Basis<T>, budget: f64) -> Vec<usize> {
    let curve = Curve::new(first.squares.iter().take(first.rank).copied());
    let mut ranks = Vec::new();
    for part in [0.7, 0.4, 0.2, 0.1, 0.03, 0.0] {
        let rank = curve.rank_within(part * budget);
        let root = (rank as f64).sqrt() as usize;
        let even = [root, root + 1].map(|side| side.max(1) * rank.div_ceil(side.max(1)));
        ranks.extend([rank, even[0], even[1]].iter().filter(|&&r| r <= first.rank));
    }
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// A ring opened at one of its vertices: the tensor with its modes along it.
pub(super) struct Opened<'s, T> {
    target: &'s Target,
    template: &'s Arc<Template>,
    permutation: &'s [usize],
    start: usize,
    limits: &'s Limits,
    /// The dimensions along the ring.
    pub dims: Vec<usize>,
    data: Vec<T>,
}

/// A ring taken apart: the basis of every truncation, and what is left at the end.
pub(super) struct Taken<T> {
    split: (usize, usize),
    first: Basis<T>,
    bases: Vec<Basis<T>>,
    last: Vec<T>,
    /// The squared norm of the whole.
    all: f64,
}

impl<T> Made for Taken<T> {
    fn lost(&self) -> f64 {
        let rest: f64 = self.bases.iter().map(|basis| basis.lost).sum();
        (self.first.lost + rest) / self.all
    }

    fn ranks(&self) -> Vec<usize> {
        self.bases.iter().map(|basis| basis.rank).collect()
    }
}

impl<T> Taken<T> {
    /// How the ranks of the chain can be chosen, by the singular values met here; `sizes` are the dimensions along it.
    fn water(&self, sizes: &[f64]) -> Water {
        let (split, n) = (self.split, sizes.len());
        let mut sizes = sizes.to_vec();
        sizes[0] *= (split.0 * split.1) as f64;
        sizes[1] *= split.1 as f64;
        sizes[n - 1] *= split.0 as f64;
        let curves = self.bases.iter().map(|basis| {
            let squares = basis.squares.iter().take(basis.rank).map(|s| s / self.all);
            Arc::new(Curve::new(squares))
        });
        let ends: Vec<(usize, usize)> = (1..n - 1).map(|v| (v, v + 1)).collect();
        Water::new(&ends, sizes, &curves.collect::<Vec<_>>(), usize::MAX)
    }

    /// The same where the modes along the ring have these dimensions.
    pub fn params_with(&self, sizes: &[f64]) -> u128 {
        let water = self.water(sizes);
        water.params(&water.of_choices(&self.ranks())) as u128
    }

    /// The number of entries of all cores.
    pub fn params(&self) -> usize {
        self.first.u.len() + self.bases.iter().map(|b| b.u.len()).sum::<usize>() + self.last.len()
    }
}

impl<'s, T: Scalar> Opened<'s, T> {
    /// Opens the ring of three or more vertices at `start`.
    pub fn new(
        (target, x): (&'s Target, &Tensor<T>),
        template: &'s Arc<Template>,
        permutation: &'s [usize],
        start: usize,
        limits: &'s Limits,
    ) -> Result<Self, DecomposeError> {
        // The reordered tensor, what is left of it twice, and the network's tensor.
        limits.check_entries::<T>(4.0 * x.len() as f64)?;
        let modes = modes_along(permutation, start);
        let reordered = x.permuted(&modes);
        let dims = reordered.dims().to_vec();
        let data = reordered.into_data();
        Ok(Opened { target, template, permutation, start, limits, dims, data })
    }

    /// The budget of an error: the first truncation counts twice.
    pub fn budget(&self, eps: f64) -> Budget {
        let eps = self.target.net(eps);
        Budget::new(eps, self.target.norm_squared(), self.dims.len(), T::KIND)
    }

    /// Dimensions in the order of the ring.
    pub fn counted(&self, dims: &[usize]) -> Vec<f64> {
        modes_along(self.permutation, self.start).iter().map(|&n| dims[n] as f64).collect()
    }

    fn first_shape(&self) -> (usize, usize) {
        (self.dims[0], self.data.len() / self.dims[0])
    }

    /// The first truncation. Its singular vectors are laid out over two edges, so what the later truncations
    /// find depends on their signs.
    pub fn first(&self, keep: Keep) -> Result<Basis<T>, DecomposeError> {
        Ok(left_basis(&self.data, self.first_shape(), keep, self.limits)?.with_signs())
    }

    /// All others, given how the first rank is split: edge 0 of the choice is the one from vertex 1 on.
    pub fn rest(
        &self,
        first: &Basis<T>,
        split: (usize, usize),
        choice: &mut Choice<'_>,
    ) -> Result<Taken<T>, DecomposeError> {
        let n = self.first_shape().1;
        let c = project(first, &self.data, self.first_shape());
        // [r_0, r_1, rest] -> [r_1, rest, r_0].
        let mut rest = vec![T::ZERO; c.len()];
        AxisPlan::new(&[split.0, split.1 * n], &[1, 0]).apply(&c, &mut rest);
        drop(c);
        let mut left = split.1;
        let mut bases = Vec::with_capacity(self.dims.len() - 2);
        for k in 1..self.dims.len() - 1 {
            self.limits.check_stop()?;
            let rows = left * self.dims[k];
            let shape = (rows, rest.len() / rows);
            let basis =
                left_basis(&rest, shape, choice.keep(k - 1, (rows, rest.len())), self.limits)?;
            choice.spend(basis.lost);
            rest = project(&basis, &rest, shape);
            left = basis.rank;
            bases.push(basis);
        }
        let all = self.target.norm_squared();
        Ok(Taken { split, first: first.clone(), bases, last: rest, all })
    }

    /// The ring with the fewest parameters found, those counted with the dimensions given, over several ranks of the
    /// first truncation and the given ways to split each.
    pub fn smallest(
        &self,
        dims: &[usize],
        eps: f64,
        splits: impl Fn(usize) -> Vec<(usize, usize)>,
    ) -> Result<Taken<T>, DecomposeError> {
        let all = self.target.norm_squared();
        let budget = self.budget(eps);
        let first = self.first(Keep::Within(budget.part(FINE).share(2)))?;
        let sizes = self.counted(dims);
        let mut best: Option<(f64, Taken<T>, Water)> = None;
        for rank in first_ranks(&first, budget.left()) {
            let first = first.leading(rank);
            for split in splits(rank) {
                let mut chain = budget.clone();
                chain.spend(first.lost, 2);
                let taken = match self.rest(&first, split, &mut Choice::fine(&chain)) {
                    // The best so far stands.
                    Err(DecomposeError::Interrupted) if best.is_some() => break,
                    taken => taken?,
                };
                let water = taken.water(&sizes);
                let ranks = water.quickly_within(chain.left() / all);
                let ranks = ranks.unwrap_or_else(|| water.of_choices(&taken.ranks()));
                let params = water.params(&ranks);
                if best.as_ref().is_none_or(|b| params < b.0) {
                    best = Some((params, taken, water));
                }
            }
        }
        let (_, taken, water) = best.ok_or(DecomposeError::Interrupted)?;
        let (first, split) = (taken.first.clone(), taken.split);
        let mut chain = budget.clone();
        chain.spend(first.lost, 2);
        let equal = self.rest(&first, split, &mut Choice::Shares(chain));
        let taken = smaller_of(&water, taken, equal)?;
        let eps = budget.left() / all;
        spend(
            &water,
            (eps, eps - first.lost / all),
            passes(self.data.len()),
            taken,
            self.limits,
            |ranks| self.rest(&first, split, &mut Choice::Ranks(ranks)),
        )
    }

    /// The network and its error.
    pub fn finish(&self, taken: Taken<T>) -> Decomposition {
        let rse = self.rse(&taken);
        let network = self.network(taken);
        Decomposition { network, rse, sweeps: 0, interrupted: false }
    }

    /// The error, by undoing the truncations one after the other.
    fn rse(&self, taken: &Taken<T>) -> f64 {
        let mut z = taken.last.clone();
        for basis in taken.bases.iter().rev() {
            let shape = (basis.u.len() / basis.rank, z.len() / basis.rank);
            z = expand(basis, &z, shape);
        }
        let mut c = vec![T::ZERO; z.len()];
        AxisPlan::new(&[z.len() / taken.split.0, taken.split.0], &[1, 0]).apply(&z, &mut c);
        let mut residual = expand(&taken.first, &c, self.first_shape());
        residual.iter_mut().zip(&self.data).for_each(|(z, x)| *z = *x - *z);
        self.target.relative(sum_of_squares(&residual))
    }

    fn network(&self, taken: Taken<T>) -> Network {
        let Taken { split, first, bases, last, .. } = taken;
        let tensor = |dims: Vec<usize>, data: Vec<T>| {
            Tensor::new(dims, data).unwrap_or_else(|e| unreachable!("{e}"))
        };
        // Columns of the first basis are (r_0, r_1).
        let head = tensor(vec![self.dims[0], split.0, split.1], first.u).permuted(&[1, 0, 2]);
        let mut chain = vec![head];
        let mut left = split.1;
        for (k, basis) in bases.into_iter().enumerate() {
            chain.push(tensor(vec![left, self.dims[k + 1], basis.rank], basis.u));
            left = basis.rank;
        }
        chain.push(tensor(vec![left, self.dims[self.dims.len() - 1], split.0], last));
        power::spread(&mut chain, self.target.exponent());
        ring_network(self.template, self.permutation, self.target.dims(), self.start, chain)
    }
}
