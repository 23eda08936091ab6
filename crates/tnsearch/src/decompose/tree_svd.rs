//! Hierarchical SVD on any tree: truncations from the leaves to the root, no iteration.

use super::goal::Budget;
use super::rooted::Rooted;
use super::truncate::{Basis, Keep, expand, left_basis, project};
use super::{DecomposeError, Decomposition, Goal, Limits, multiply};
use crate::dispatch;
use crate::graph::{Structure, Template};
use crate::network::Network;
use crate::problem::Target;
use crate::tensor::{AxisPlan, Scalar, Tensor, sum_of_squares};
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
/// With a largest RSE, each truncation may lose its share of what the earlier ones have left of `eps ||X||^2`.
/// Among the networks with the same ranks the error is at most (number of edges) times the least one.
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
    let placed = place(target, template, permutation)?;
    let mut dim = vec![1; template.vertices()];
    for (&v, &d) in permutation.iter().zip(target.dims()) {
        dim[v] *= d;
    }
    let rooted = Rooted::at_centre(template, &dim)?;
    dispatch!(target.tensor(), x => Sweep::new((target, x), &placed, &rooted, limits)?.run(goal))
}

/// Tensor train by TT-SVD, from the first vertex of the path to the last: [`tree_svd`] hung up at its end, in
/// the order of the textbook. `permutation[n]` is the place of mode `n` along the train.
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
    let rooted = Rooted::at(&template, template.vertices() - 1)?;
    dispatch!(target.tensor(), x => Sweep::new((target, x), &placed, &rooted, limits)?.run(goal))
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

/// The checked placement: a structure whose ranks are yet to be found.
fn place(
    target: &Target,
    template: &Arc<Template>,
    permutation: &[usize],
) -> Result<Structure, DecomposeError> {
    let order = target.dims().len();
    if template.order() > order {
        template.check_order(order)?;
    }
    let ranks = vec![1; template.edges().len()];
    let structure = Structure::new(template.clone(), permutation.to_vec(), ranks)?;
    structure.check_order(order)?;
    Ok(structure)
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
        })
    }

    fn run(mut self, goal: &Goal) -> Result<Decomposition, DecomposeError> {
        let edges = self.template.edges().len();
        let ranks = goal.ranks_for(edges)?;
        let (eps, all) = (self.target.net(goal.rse().unwrap_or(0.0)), self.target.norm_squared());
        let mut budget = Budget::new(eps, all, edges, T::KIND);
        let mut rest: Cow<[T]> = Cow::Borrowed(self.x.data());
        let mut axes: Vec<Axis> = (0..self.target.dims().len()).collect();
        while let Some((vertex, edge)) = self.next() {
            self.limits.check_stop()?;
            let rows = self.core_axes(vertex, Some(edge));
            let columns = axes.iter().filter(|a| !rows.contains(a));
            let unfolded: Vec<Axis> = rows.iter().chain(columns).copied().collect();
            let shape = (self.size(&rows), self.size(&unfolded[rows.len()..]));
            let matrix = self.reorder(rest, &axes, &unfolded);
            let keep = match ranks {
                Some(ranks) => Keep::Rank(ranks[edge]),
                None => Keep::Within(budget.share(1)),
            };
            let basis = left_basis(&matrix, shape, keep, self.limits)?;
            budget.spend(basis.lost, 1);
            rest = Cow::Owned(project(&basis, &matrix, shape));
            let axis = self.edge_axis(edge);
            self.lengths[axis] = basis.rank;
            let after = [axis].into_iter().chain(unfolded[rows.len()..].iter().copied()).collect();
            let before = std::mem::replace(&mut axes, after);
            self.finish(vertex);
            self.steps.push(Step { vertex, basis, shape, before, unfolded });
        }
        let rse = self.rse(&rest, &axes);
        let network = self.network(rest, &axes)?;
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
    fn finish(&mut self, vertex: usize) {
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
        let dims: Vec<usize> = from.iter().map(|&a| self.lengths[a]).collect();
        let place = |a: &Axis| from.iter().position(|b| b == a).unwrap_or(usize::MAX);
        let plan = AxisPlan::new(&dims, &to.iter().map(place).collect::<Vec<_>>());
        if plan.is_identity() {
            return data;
        }
        let mut out = vec![T::ZERO; data.len()];
        plan.apply(&data, &mut out);
        Cow::Owned(out)
    }

    /// The error, by undoing the truncations one after the other.
    fn rse(&self, rest: &[T], axes: &[Axis]) -> f64 {
        let mut z: Cow<[T]> = Cow::Borrowed(rest);
        let mut now = axes;
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
    fn network(&self, rest: Cow<[T]>, axes: &[Axis]) -> Result<Network, DecomposeError> {
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
        cores[root] = self.reorder(rest, axes, &self.core_axes(root, None)).into_owned();
        let shaped = cores.into_iter().enumerate().map(|(v, data)| {
            let core = Tensor::new(structure.core_dims(v, dims), data);
            core.unwrap_or_else(|e| unreachable!("{e}"))
        });
        let mut cores: Vec<Tensor<T>> = shaped.collect();
        multiply(&mut cores, self.target.scale());
        Ok(Network::new(structure, dims.to_vec(), cores)?)
    }
}
