//! Hierarchical SVD on any tree: truncations from the leaves to the root, no iteration.

use super::compress::compressed;
use super::error::check_whole;
use super::goal::{Aim, Budget, Shares, keeping};
use super::rooted::Rooted;
use super::spend::{Choice, Made, passes, smaller_of, spend};
use super::truncate::{Basis, expand, left_basis, project};
use super::water::{Curve, Water};
use super::{DecomposeError, Decomposition, Goal, Limits};
use crate::dispatch;
use crate::graph::{GraphError, Structure, Template};
use crate::network::Network;
use crate::problem::Target;
use crate::tensor::{AxisPlan, Scalar, Tensor, power, sum_of_squares};
use std::borrow::Cow;
use std::sync::Arc;

/// The network of a tree-shaped template by truncated SVDs (TT-SVD of Oseledets 2011, HSVD of Grasedyck 2010,
/// for any tree). `permutation[n]` is the vertex of mode `n`; a vertex may carry several.
///
/// From the leaves to the root, the unfolding "branch below an edge x the rest" of what is left of the tensor is
/// projected onto its leading left singular vectors; they are the core at the branch's top. The projections are
/// orthogonal and nested, so their errors add up exactly, and none is larger than the tail of the edge's split
/// of X itself:
///
/// `RSE = sum over edges of lost_e / ||X||^2 <= sum over edges of tau_e(r_e) / ||X||^2`.
///
/// With a largest RSE, the ranks are those that need the fewest parameters with a sum of tails of at most eps; since less
/// than that is lost, they are then lowered for as long as the error is kept. With [`Shares::Equal`] each truncation may
/// lose its share of what the earlier ones have left of `eps ||X||^2`. Among the networks with the same ranks the error is at most (number of edges) times the least one.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::decompose::{Goal, Limits, tree_svd};
/// use tnsearch::{problem::Target, graph::Template, tensor::Tensor};
/// // x_ijk = i + j + k has rank 2 in every unfolding.
/// let sum = |n: usize| (n / 16 + n / 4 % 4 + n % 4) as f64;
/// let x = Target::new(Tensor::new(vec![4; 3], (0..64).map(sum).collect()).unwrap()).unwrap();
/// let star = Arc::new(Template::star(3).unwrap());
/// let goal = Goal::max_rse(1e-12).unwrap();
/// let found = tree_svd(&x, &star, &[0, 1, 2], &goal, &Limits::none()).unwrap();
/// assert_eq!(found.ranks(), [2, 2]);
/// assert!(found.rse < 1e-28);
/// ```
pub fn tree_svd(
    target: &Target,
    template: &Arc<Template>,
    permutation: &[usize],
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    if template.copy_vertex().is_some() {
        return Err(DecomposeError::Hyperedge);
    }
    let placed = place(target, template, permutation)?;
    let rooted = Rooted::at_centre(template, &placed_dims(target.dims(), &placed))?;
    keeping(goal, limits, |goal| take_apart(target, &placed, &rooted, goal, limits))
}

/// The dimension of the modes at each vertex together, 1 where there are none.
fn placed_dims(dims: &[usize], placed: &Structure) -> Vec<usize> {
    placed.groups().iter().map(|modes| modes.iter().map(|&n| dims[n]).product()).collect()
}

/// Tensor train by TT-SVD. With given ranks or equal shares from the first vertex of the path to the last, in the order
/// of the textbook; else as [`tree_svd`]. `permutation[n]` is the place of mode `n` along the train.
///
/// ```
/// use tnsearch::decompose::{Goal, Limits, tt_svd};
/// use tnsearch::{problem::Target, tensor::Tensor};
/// let x = Target::new(Tensor::new(vec![2, 2, 2], (1..9).map(f64::from).collect()).unwrap()).unwrap();
/// let train = tt_svd(&x, &[0, 1, 2], &Goal::max_rse(1e-12).unwrap(), &Limits::none()).unwrap();
/// assert_eq!(train.ranks(), [2, 2]);
/// ```
pub fn tt_svd(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let template = Arc::new(Template::path(target.dims().len())?);
    let placed = place(target, &template, permutation)?;
    let rooted = match (&goal.aim, goal.shares) {
        (Aim::MaxRse(_), Shares::Optimal) => {
            Rooted::at_centre(&template, &placed_dims(target.dims(), &placed))?
        }
        _ => Rooted::at(&template, template.vertices() - 1)?,
    };
    keeping(goal, limits, |goal| take_apart(target, &placed, &rooted, goal, limits))
}

/// Hierarchical Tucker by HSVD: [`tree_svd`] on [`Template::ht`]. `permutation[n]` is the leaf of mode `n`.
pub fn ht_svd(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let template = Arc::new(Template::ht(target.dims().len())?);
    tree_svd(target, &template, permutation, goal, limits)
}

/// Tucker by the sequentially truncated HOSVD (Vannieuwenhoven et al. 2012): a core without a mode, joined to a basis for
/// each mode. [`tree_svd`] on a star whose centre, the last vertex, carries no mode. `permutation[n]` is the vertex of
/// mode `n`.
///
/// ```
/// use tnsearch::decompose::{Goal, Limits, hosvd};
/// use tnsearch::{problem::Target, tensor::Tensor};
/// let sum = |n: usize| (n / 16 + n / 4 % 4 + n % 4) as f64;
/// let x = Target::new(Tensor::new(vec![4; 3], (0..64).map(sum).collect()).unwrap()).unwrap();
/// let found = hosvd(&x, &[0, 1, 2], &Goal::max_rse(1e-12).unwrap(), &Limits::none()).unwrap();
/// assert_eq!(found.network.params(), 3 * 4 * 2 + 2 * 2 * 2);
/// ```
pub fn hosvd(
    target: &Target,
    permutation: &[usize],
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let template = Arc::new(tucker(target.dims().len())?);
    tree_svd(target, &template, permutation, goal, limits)
}

/// The template of the Tucker format: the modes' vertices, then the core.
pub fn tucker(order: usize) -> Result<Template, GraphError> {
    let external = (0..=order).map(|v| v < order).collect();
    Template::from_graph("tucker", external, (0..order).map(|v| (v, order)).collect())
}

/// The checked placement: a structure whose ranks are yet to be found.
fn place(
    target: &Target,
    template: &Arc<Template>,
    permutation: &[usize],
) -> Result<Structure, DecomposeError> {
    check_whole(target, "truncated SVDs")?;
    let order = target.dims().len();
    if template.order() > order {
        template.check_order(order)?;
    }
    let ranks = vec![1; template.edges().len()];
    let structure = Structure::new(template.clone(), permutation.to_vec(), ranks)?;
    structure.check_order(order)?;
    Ok(structure)
}

/// The network of a placement whose tree is hung up somewhere.
fn take_apart(
    target: &Target,
    placed: &Structure,
    rooted: &Rooted,
    goal: &Goal,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let edges = placed.template().edges().len();
    let ranks = goal.ranks_for(edges)?;
    let budget = Budget::new(
        target.net(goal.rse().unwrap_or(0.0)),
        target.norm_squared(),
        edges,
        target.kind(),
    );
    let (Aim::MaxRse(eps), Shares::Optimal) = (&goal.aim, goal.shares) else {
        let mut shares = ranks.map_or(Choice::Shares(budget), Choice::Ranks);
        return dispatch!(target.tensor(), x => {
            Sweep::new((target, x), placed, rooted, limits)?.run(&mut shares)?.finish()
        });
    };
    compressed(
        target,
        *eps,
        limits,
        |small, eps| dispatch!(small.0.tensor(), x => smallest(small, x, placed, rooted, eps, limits)),
    )
}

/// The network with the fewest parameters found, those counted with the dimensions given.
fn smallest<T: Scalar>(
    (target, dims): (&Target, &[usize]),
    x: &Tensor<T>,
    placed: &Structure,
    rooted: &Rooted,
    eps: f64,
    limits: &Limits,
) -> Result<Decomposition, DecomposeError> {
    let template = placed.template();
    let edges = template.edges().len();
    let all = target.norm_squared();
    let budget = Budget::new(eps, all, edges, T::KIND);
    let mut choice = Choice::fine(&budget);
    let first = Sweep::new((target, x), placed, rooted, limits)?.run(&mut choice)?;
    let none = Arc::new(Curve::new([].into_iter()));
    let mut curves: Vec<Arc<Curve>> = (0..edges).map(|_| none.clone()).collect();
    for step in &first.steps {
        let Some((edge, _)) = rooted.parent[step.vertex] else { continue };
        let squares = step.basis.squares.iter().take(step.basis.rank).map(|s| s / all);
        curves[edge] = Arc::new(Curve::new(squares));
    }
    let sizes = placed_dims(dims, placed).into_iter().map(|d| d as f64).collect();
    let water = Water::new(template.edges(), sizes, &curves, usize::MAX);
    let most = passes(x.len());
    let equal =
        Sweep::new((target, x), placed, rooted, limits)?.run(&mut Choice::Shares(budget.clone()));
    let first = smaller_of(&water, first, equal)?;
    let eps = budget.left() / all;
    let best = spend(&water, (eps, eps), most, first, limits, |ranks| {
        Sweep::new((target, x), placed, rooted, limits)?.run(&mut Choice::Ranks(ranks))
    })?;
    Ok(Decomposition { interrupted: limits.stop.is_set(), ..best.finish()? })
}

/// An axis of what is left of the tensor: mode `n` is `n`, edge `e` is `order + e`.
type Axis = usize;

/// A truncation that was made.
struct Step<T> {
    vertex: usize,
    basis: Basis<T>,
    shape: (usize, usize),
    /// The axes of what was left before it, and the same with those of the branch's top first.
    before: Vec<Axis>,
    unfolded: Vec<Axis>,
}

/// One pass over the edges, from the leaves to the root.
struct Sweep<'s, T> {
    target: &'s Target,
    /// Its tensor.
    x: &'s Tensor<T>,
    template: Arc<Template>,
    structure: &'s Structure,
    rooted: &'s Rooted,
    limits: &'s Limits,
    modes: Vec<Vec<usize>>,
    /// The length of each axis; that of an edge is known once it was truncated.
    lengths: Vec<usize>,
    /// How many branches of each vertex are still to be cut off; none once it was itself.
    waits_for: Vec<Option<usize>>,
    steps: Vec<Step<T>>,
    /// What is left at the root, once all truncations were made, and its axes.
    rest: Vec<T>,
    axes: Vec<Axis>,
}

impl<T: Scalar> Made for Sweep<'_, T> {
    fn lost(&self) -> f64 {
        self.steps.iter().map(|step| step.basis.lost).sum::<f64>() / self.target.norm_squared()
    }

    fn ranks(&self) -> Vec<usize> {
        self.lengths[self.target.dims().len()..].to_vec()
    }
}

impl<'s, T: Scalar> Sweep<'s, T> {
    fn new(
        (target, x): (&'s Target, &'s Tensor<T>),
        structure: &'s Structure,
        rooted: &'s Rooted,
        limits: &'s Limits,
    ) -> Result<Self, DecomposeError> {
        // What is left, reordered, and projected; later the network's tensor.
        limits.check_entries::<T>(3.0 * x.len() as f64)?;
        let mut lengths = target.dims().to_vec();
        lengths.resize(lengths.len() + structure.template().edges().len(), 1);
        let mut waits_for = vec![Some(0); structure.template().vertices()];
        for (_, up) in rooted.parent.iter().flatten() {
            waits_for[*up] = waits_for[*up].map(|n| n + 1);
        }
        Ok(Sweep {
            target,
            x,
            template: structure.template().clone(),
            structure,
            rooted,
            limits,
            modes: structure.groups(),
            lengths,
            waits_for,
            steps: Vec::new(),
            rest: Vec::new(),
            axes: Vec::new(),
        })
    }

    /// Makes the truncations.
    fn run(mut self, choice: &mut Choice<'_>) -> Result<Self, DecomposeError> {
        let mut rest: Cow<[T]> = Cow::Borrowed(self.x.data());
        let mut axes: Vec<Axis> = (0..self.target.dims().len()).collect();
        while let Some((vertex, edge)) = self.next() {
            self.limits.check_stop()?;
            let rows = self.core_axes(vertex, Some(edge));
            let columns = axes.iter().filter(|a| !rows.contains(a));
            let unfolded: Vec<Axis> = rows.iter().chain(columns).copied().collect();
            let shape = (self.size(&rows), self.size(&unfolded[rows.len()..]));
            let stopped = || self.limits.stop.is_set();
            let matrix = self.reorder_until(rest, (&axes, &unfolded), Some(&stopped));
            let matrix = matrix.ok_or(DecomposeError::Interrupted)?;
            let basis = left_basis(
                &matrix,
                shape,
                choice.keep(edge, (shape.0, matrix.len())),
                self.limits,
            )?;
            choice.spend(basis.lost);
            rest = Cow::Owned(project(&basis, &matrix, shape));
            let axis = self.edge_axis(edge);
            self.lengths[axis] = basis.rank;
            let after = [axis].into_iter().chain(unfolded[rows.len()..].iter().copied()).collect();
            let before = std::mem::replace(&mut axes, after);
            self.cut_off(vertex);
            self.steps.push(Step { vertex, basis, shape, before, unfolded });
        }
        (self.rest, self.axes) = (rest.into_owned(), axes);
        Ok(self)
    }

    /// The network that the truncations give, and its error.
    fn finish(self) -> Result<Decomposition, DecomposeError> {
        let rse = self.rse();
        let network = self.network()?;
        Ok(Decomposition { network, rse, sweeps: 0, interrupted: false })
    }

    /// The vertex to cut off next, of those whose branches were: the one with the fewest rows.
    fn next(&self) -> Option<(usize, usize)> {
        let rows = |&(v, edge): &(usize, usize)| self.size(&self.core_axes(v, Some(edge)));
        let up = |&v: &usize| self.rooted.parent[v].map(|(edge, _)| (v, edge));
        let ready = self.rooted.order.iter().filter(|&&v| self.waits_for[v] == Some(0));
        ready.filter_map(up).min_by_key(rows)
    }

    /// Notes that a vertex was cut off.
    fn cut_off(&mut self, vertex: usize) {
        self.waits_for[vertex] = None;
        if let Some((_, up)) = self.rooted.parent[vertex] {
            self.waits_for[up] = self.waits_for[up].map(|n| n - 1);
        }
    }

    fn edge_axis(&self, edge: usize) -> Axis {
        self.target.dims().len() + edge
    }

    /// The axes of a core as [`Structure::core_dims`] has them, without one of its edges.
    fn core_axes(&self, vertex: usize, without: Option<usize>) -> Vec<Axis> {
        let edges = self.template.incident(vertex).filter(|&e| Some(e) != without);
        edges.map(|e| self.edge_axis(e)).chain(self.modes[vertex].iter().copied()).collect()
    }

    fn size(&self, axes: &[Axis]) -> usize {
        axes.iter().map(|&a| self.lengths[a]).product()
    }

    /// The data with its axes in another order.
    fn reorder<'d>(&self, data: Cow<'d, [T]>, from: &[Axis], to: &[Axis]) -> Cow<'d, [T]> {
        let done = self.reorder_until(data, (from, to), None);
        done.unwrap_or_else(|| unreachable!("nothing stops it"))
    }

    /// The same; none where `stopped` ended it.
    fn reorder_until<'d>(
        &self,
        data: Cow<'d, [T]>,
        (from, to): (&[Axis], &[Axis]),
        stopped: Option<&dyn Fn() -> bool>,
    ) -> Option<Cow<'d, [T]>> {
        let dims: Vec<usize> = from.iter().map(|&a| self.lengths[a]).collect();
        let place = |a: &Axis| from.iter().position(|b| b == a).unwrap_or(usize::MAX);
        let plan = AxisPlan::new(&dims, &to.iter().map(place).collect::<Vec<_>>());
        if plan.is_identity() {
            return Some(data);
        }
        let mut out = vec![T::ZERO; data.len()];
        plan.apply_until(&data, &mut out, stopped).then_some(Cow::Owned(out))
    }

    /// The error, by undoing the truncations one after the other.
    fn rse(&self) -> f64 {
        let mut z: Cow<[T]> = Cow::Borrowed(&self.rest);
        let mut now = &self.axes;
        for step in self.steps.iter().rev() {
            debug_assert_eq!(z.len(), self.size(now));
            z = Cow::Owned(expand(&step.basis, &z, step.shape));
            z = self.reorder(z, &step.unfolded, &step.before);
            now = &step.before;
        }
        let mut residual = z.into_owned();
        residual.iter_mut().zip(self.x.data()).for_each(|(z, x)| *z = *x - *z);
        self.target.relative(sum_of_squares(&residual))
    }

    /// The cores, each brought into its order.
    fn network(&self) -> Result<Network, DecomposeError> {
        let edges = 0..self.template.edges().len();
        let ranks = edges.map(|e| self.lengths[self.edge_axis(e)]).collect();
        let permutation = self.structure.permutation().to_vec();
        let structure = Structure::new(self.template.clone(), permutation, ranks)?;
        let dims = self.target.dims();
        let mut cores = vec![Vec::new(); self.template.vertices()];
        for step in &self.steps {
            let Some((edge, _)) = self.rooted.parent[step.vertex] else { continue };
            let mut from = self.core_axes(step.vertex, Some(edge));
            from.push(self.edge_axis(edge));
            let u = Cow::Borrowed(&step.basis.u[..]);
            let core = self.reorder(u, &from, &self.core_axes(step.vertex, None));
            cores[step.vertex] = core.into_owned();
        }
        let root = self.rooted.root;
        let rest = Cow::Borrowed(&self.rest[..]);
        cores[root] = self.reorder(rest, &self.axes, &self.core_axes(root, None)).into_owned();
        let shaped = cores.into_iter().enumerate().map(|(v, data)| {
            let core = Tensor::new(structure.core_dims(v, dims), data);
            core.unwrap_or_else(|e| unreachable!("{e}"))
        });
        let mut cores: Vec<Tensor<T>> = shaped.collect();
        power::spread(&mut cores, self.target.exponent());
        Ok(Network::new(structure, dims.to_vec(), cores)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_ends_the_reordering_of_many_entries() {
        let (m, n) = (2100, 2101);
        let x = Tensor::new(vec![m, n], vec![1.0f32; m * n]).unwrap();
        let target = Target::new(x.clone()).unwrap();
        let path = Arc::new(Template::path(2).unwrap());
        let placed = place(&target, &path, &[0, 1]).unwrap();
        let rooted = Rooted::at(&path, 0).unwrap();
        let limits = Limits::none();
        let sweep = Sweep::new((&target, &x), &placed, &rooted, &limits).unwrap();
        let reordered = |to: &[Axis], stopped: bool| {
            let stopped = || stopped;
            sweep.reorder_until(Cow::Borrowed(x.data()), (&[0, 1], to), Some(&stopped)).is_some()
        };
        assert!(reordered(&[1, 0], false) && !reordered(&[1, 0], true));
        // What stays in its place takes no time.
        assert!(reordered(&[0, 1], true));
    }
}
