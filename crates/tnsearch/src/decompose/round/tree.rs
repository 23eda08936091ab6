//! Rounding onto a tree: orthogonal towards a root, truncated from the leaves.

use super::fill::{Ranks, Spectra, at_most, tail, ways_down};
use super::part::{Order, Part};
use super::{Aim, RoundGoal, Rounded, core_labels, modes_at, network, parts};
use crate::SettingError;
use crate::decompose::{DecomposeError, Limits};
use crate::graph::{GraphError, Structure, Template};
use crate::network::Network;
use crate::tensor::{Scalar, Tensor};

/// What rounding adds to the error of a network of 64-bit numbers, relative to its norm.
const ROUNDING: f64 = 1e-14;
/// The sum of the tails is an upper bound: what is lost may be less, so more is tried by these factors.
const BEYOND: [f64; 5] = [1.3, 2.0, 3.0, 5.0, 8.0];
/// And then this many places between what was enough and what was too much.
const HALVINGS: usize = 4;

/// A spanning tree that has every edge wider than 1, hung up in its middle.
#[derive(Debug, Clone)]
pub(super) struct Spanning {
    root: usize,
    /// The edge from each vertex towards the root, and the vertex at its other end.
    parent: Vec<Option<(usize, usize)>>,
    /// The vertices, children before parents.
    order: Vec<usize>,
    /// The edges from each vertex away from the root, with the vertices there.
    children: Vec<Vec<(usize, usize)>>,
}

impl Spanning {
    /// None where the edges wider than 1 have a cycle.
    pub fn of(structure: &Structure) -> Option<Self> {
        let template = structure.template();
        let vertices = template.vertices();
        let mut part: Vec<usize> = (0..vertices).collect();
        let mut join = |u: usize, v: usize| {
            let (p, q) = (part[u], part[v]);
            part.iter_mut().filter(|x| **x == q).for_each(|x| *x = p);
            p != q
        };
        let mut used = Vec::new();
        for wide in [true, false] {
            for (e, &(u, v)) in template.edges().iter().enumerate() {
                if (structure.ranks()[e] > 1) != wide {
                    continue;
                }
                match join(u, v) {
                    true => used.push(e),
                    false if wide => return None,
                    false => {}
                }
            }
        }
        let mut joined = vec![Vec::new(); vertices];
        for &e in &used {
            let (u, v) = template.edges()[e];
            joined[u].push((e, v));
            joined[v].push((e, u));
        }
        let any = Self::hung(&joined, 0);
        // No branch has more than half of the modes.
        let mut below: Vec<usize> = (0..vertices).map(|v| modes_at(structure, v).len()).collect();
        let mut heaviest = vec![0; vertices];
        for &v in &any.order {
            if let Some((_, up)) = any.parent[v] {
                below[up] += below[v];
                heaviest[up] = heaviest[up].max(below[v]);
            }
        }
        let branch = |v: usize| heaviest[v].max(below[0] - below[v]);
        let root = (0..vertices).min_by_key(|&v| branch(v)).unwrap_or(0);
        Some(Self::hung(&joined, root))
    }

    fn hung(joined: &[Vec<(usize, usize)>], root: usize) -> Self {
        let mut parent = vec![None; joined.len()];
        let mut children = vec![Vec::new(); joined.len()];
        let mut order = vec![root];
        let mut next = 0;
        while next < order.len() {
            let v = order[next];
            next += 1;
            for &(e, w) in &joined[v] {
                if parent[v].is_none_or(|(up, _)| up != e) {
                    parent[w] = Some((e, v));
                    children[v].push((e, w));
                    order.push(w);
                }
            }
        }
        order.reverse();
        Spanning { root, parent, order, children }
    }
}

/// A network on a tree, all cores but the root's orthonormal. Labels are those of the target's cores, then the edges of
/// the network it was made from, the modes on their way, and one for what is being moved.
#[derive(Debug, Clone)]
pub(super) struct Built<T> {
    target: Structure,
    dims: Vec<usize>,
    tree: Spanning,
    parts: Vec<Part<T>>,
    lengths: Vec<usize>,
    exponent: i64,
}

impl<T: Scalar> Built<T> {
    /// Carries a network onto the tree of a structure (whose ranks do not matter), exactly.
    pub fn new(
        from: &Network,
        like: &Tensor<T>,
        target: &Structure,
        tree: Spanning,
        limits: &Limits,
    ) -> Result<Self, DecomposeError> {
        let (source, dims) = (from.structure(), from.dims().to_vec());
        let (edges, modes) = (target.template().edges().len(), dims.len());
        let inner = source.template().edges().len();
        let (carried, links) = (edges + modes, edges + modes + inner);
        let mut lengths = vec![1; edges];
        lengths.extend(dims.iter().chain(source.ranks()).chain(&dims));
        lengths.push(1);
        let host = hosts(source, target);
        let mut hosted: Vec<Vec<Part<T>>> = vec![Vec::new(); target.template().vertices()];
        for (v, mut part) in parts(from, like).into_iter().enumerate() {
            for label in &mut part.labels {
                *label = match label.checked_sub(inner) {
                    None => carried + *label,
                    Some(n) if target.permutation()[n] == host[v] => edges + n,
                    Some(n) => {
                        let there = &mut hosted[target.permutation()[n]];
                        there.push(Part::identity(edges + n, links + n, dims[n]));
                        links + n
                    }
                };
            }
            hosted[host[v]].push(part);
        }
        let mut built =
            Built { target: target.clone(), dims, tree, parts: Vec::new(), lengths, exponent: 0 };
        built.gather(hosted, limits)?;
        Ok(built)
    }

    /// From the leaves to the root: what belongs to a vertex, with what comes from its branches, in two.
    fn gather(
        &mut self,
        mut hosted: Vec<Vec<Part<T>>>,
        limits: &Limits,
    ) -> Result<(), DecomposeError> {
        let kept = self.target.template().edges().len() + self.dims.len();
        self.parts = vec![Part::one(); hosted.len()];
        for v in self.tree.order.clone() {
            limits.check_stop()?;
            let list = std::mem::take(&mut hosted[v]);
            let labels: Vec<Vec<usize>> = list.iter().map(|p| p.labels.clone()).collect();
            let order = Order::find(&labels, &self.lengths);
            order.check::<T>(limits)?;
            let (mut part, exponent) = order.run(list, &self.lengths);
            self.exponent += exponent + part.normalise();
            if let Some((edge, up)) = self.tree.parent[v] {
                let away: Vec<usize> = part.labels.iter().copied().filter(|&l| l >= kept).collect();
                limits.check_entries::<T>(6.0 * part.data.len() as f64)?;
                let halves = part.split(&away, edge, usize::MAX, &mut self.lengths)?;
                hosted[up].push(halves.right);
                part = halves.left;
            }
            self.parts[v] = part;
        }
        Ok(())
    }

    /// Goes through the whole tree with the centre of orthogonality and back to the root. On the way out nothing is
    /// lost and the singular values of each edge are read; on the way back edges are cut down to these ranks. The share
    /// of the squared norm that was lost.
    fn tour(
        &mut self,
        ranks: Option<&[usize]>,
        limits: &Limits,
    ) -> Result<(Spectra, f64), DecomposeError> {
        let mut spectra = vec![Vec::new(); self.target.template().edges().len()];
        let mut lost = 0.0;
        // The way: out along an edge, or back.
        let mut steps: Vec<(usize, usize, usize, bool)> = Vec::new();
        let push = |steps: &mut Vec<_>, tree: &Spanning, v: usize| {
            for &(e, c) in tree.children[v].iter().rev() {
                steps.push((v, e, c, true));
            }
        };
        push(&mut steps, &self.tree, self.tree.root);
        while let Some((v, e, c, out)) = steps.pop() {
            limits.check_stop()?;
            if out {
                spectra[e] = relative(self.pass(v, e, c, usize::MAX)?.0);
                steps.push((v, e, c, false));
                push(&mut steps, &self.tree, c);
            } else {
                let most = ranks.map_or(usize::MAX, |r| r[e]);
                let (squares, rank) = self.pass(c, e, v, most)?;
                lost += (1.0 - lost) * tail(&relative(squares), rank);
            }
        }
        Ok((spectra, lost))
    }

    /// Moves the centre from one end of an edge to the other, at most so wide; the squared singular values there and how
    /// many were kept.
    fn pass(
        &mut self,
        from: usize,
        edge: usize,
        to: usize,
        most: usize,
    ) -> Result<(Vec<f64>, usize), DecomposeError> {
        let bond = self.lengths.len() - 1;
        let halves = self.parts[from].split(&[edge], bond, most, &mut self.lengths)?;
        let moved = halves.right.times(&self.parts[to], &self.lengths);
        self.lengths[edge] = halves.rank;
        self.parts[from] = halves.left.renamed(bond, edge);
        self.parts[to] = moved.renamed(bond, edge);
        self.exponent += self.parts[to].normalise();
        Ok((halves.squares, halves.rank))
    }

    /// Cut down to these ranks, and what was lost.
    fn truncated(&self, ranks: &[usize], limits: &Limits) -> Result<(Self, f64), DecomposeError> {
        let mut cut = self.clone();
        let (_, lost) = cut.tour(Some(ranks), limits)?;
        Ok((cut, lost))
    }

    fn network(mut self) -> Result<Network, DecomposeError> {
        // Edges of rank 1 that the tree has no use for are axes all the same.
        for (v, part) in self.parts.iter_mut().enumerate() {
            for label in core_labels(&self.target, v) {
                if !part.labels.contains(&label) {
                    part.labels.push(label);
                }
            }
        }
        network(&self.target, &self.dims, &self.parts, &self.lengths, self.exponent)
    }
}

fn relative(mut squares: Vec<f64>) -> Vec<f64> {
    let all: f64 = squares.iter().rev().sum();
    if all > 0.0 {
        squares.iter_mut().for_each(|s| *s /= all);
    }
    squares
}

/// Truncates a network on a tree to what was asked for.
pub(super) fn round<T: Scalar>(
    mut built: Built<T>,
    goal: &RoundGoal,
    limits: &Limits,
) -> Result<Rounded, DecomposeError> {
    let edges = built.target.template().edges().len();
    let (spectra, _) = built.tour(None, limits)?;
    let most = match &goal.0 {
        Aim::Ranks(ranks) => ranks.clone(),
        _ => vec![usize::MAX; edges],
    };
    // Only what was kept counts: the rest cannot be told from zero.
    let seen: Spectra =
        spectra.iter().zip(&built.lengths).map(|(s, &l)| s[..s.len().min(l)].to_vec()).collect();
    let ways = ways_down(&built.target, &built.dims, &seen, &most);
    let (cut, rse) = match goal.0 {
        Aim::Ranks(_) => built.truncated(&ways[0].ranks, limits)?,
        Aim::MaxParams(params) => {
            let chosen = at_most(&ways, params).ok_or_else(|| too_few(params, &ways))?;
            built.truncated(&chosen.ranks, limits)?
        }
        Aim::MaxRse(eps) => {
            let budget = (eps.sqrt() - T::KIND.tolerance(ROUNDING)).max(0.0).powi(2);
            smallest(&built, &ways, budget, limits)?
        }
    };
    let network = cut.network()?;
    let floor = T::KIND.epsilon().powi(2) * 100.0;
    Ok(Rounded { network, rse, floor, sweeps: 0, interrupted: false })
}

/// The smallest network whose tails add up to the budget, or to more as long as no more than the budget is lost.
fn smallest<T: Scalar>(
    built: &Built<T>,
    ways: &[Ranks],
    budget: f64,
    limits: &Limits,
) -> Result<(Built<T>, f64), DecomposeError> {
    let place = |budget: f64| ways.partition_point(|w| w.tails <= budget).max(1) - 1;
    // The last way known to lose no more than the budget, and the first known to lose more.
    let (mut good, mut bad) = (place(budget), ways.len());
    let mut best = built.truncated(&ways[good].ranks, limits)?;
    let bold = BEYOND.iter().map(|factor| Some(place(budget * factor)));
    for next in bold.chain([None; HALVINGS]) {
        let next = match next {
            Some(next) if bad == ways.len() => next,
            Some(_) => continue,
            None => good + (bad - good) / 2,
        };
        if next <= good || next >= bad || limits.stop.is_set() {
            continue;
        }
        let (cut, lost) = built.truncated(&ways[next].ranks, limits)?;
        match lost <= budget {
            true => (good, best) = (next, (cut, lost)),
            false => bad = next,
        }
    }
    Ok(best)
}

/// The refusal of a budget below any network.
pub(super) fn too_few(params: u128, ways: &[Ranks]) -> DecomposeError {
    let least = ways.last().map_or(0, |w| w.params);
    let expected = format!("the smallest network of this graph, with all ranks 1, has {least}");
    SettingError::new("max-params", params, expected).into()
}

/// The vertex of the target at which each core of the source is taken up: its own where both are one, else that of its
/// first mode; cores without a mode go with the neighbour they are joined to most widely.
fn hosts(source: &Structure, target: &Structure) -> Vec<usize> {
    let vertices = source.template().vertices();
    if source.template() == target.template() && source.permutation() == target.permutation() {
        return (0..vertices).collect();
    }
    let mut host: Vec<Option<usize>> = (0..vertices)
        .map(|v| modes_at(source, v).first().map(|&n| target.permutation()[n]))
        .collect();
    while host.contains(&None) {
        let ends = source.template().edges().iter().zip(source.ranks());
        let open = ends.flat_map(|(&(u, v), &r)| [(u, v, r), (v, u, r)]);
        let next = open
            .filter(|&(u, v, _)| host[u].is_none() && host[v].is_some())
            .max_by_key(|&(_, _, r)| r);
        let Some((u, v, _)) = next else { break };
        host[u] = host[v];
    }
    host.into_iter().map(|h| h.unwrap_or(0)).collect()
}

/// The placements on a template that are worth a try: the modes in order, and in that order along the network in which
/// the fewest wide edges are open at a time.
pub(super) fn placements(
    source: &Structure,
    template: &Template,
) -> Result<Vec<Vec<usize>>, GraphError> {
    let order = source.permutation().len();
    template.check_order(order)?;
    let vertices = source.template().vertices();
    let edges: Vec<(usize, usize, f64)> = source
        .template()
        .edges()
        .iter()
        .zip(source.ranks())
        .map(|(&(u, v), &r)| (u, v, (r as f64).ln()))
        .collect();
    // The logarithm of the product of the ranks that leave a set of vertices.
    let open = |inside: &[bool]| -> f64 {
        edges.iter().filter(|e| inside[e.0] != inside[e.1]).map(|e| e.2).sum()
    };
    let mut best: Option<(f64, Vec<usize>)> = None;
    for start in 0..vertices {
        let mut inside = vec![false; vertices];
        let (mut walk, mut cost) = (Vec::new(), 0.0);
        let mut next = Some(start);
        while let Some(v) = next {
            inside[v] = true;
            walk.push(v);
            cost += open(&inside).exp();
            next = (0..vertices).filter(|&w| !inside[w]).min_by(|&a, &b| {
                let with = |w: usize| {
                    let mut more = inside.clone();
                    more[w] = true;
                    open(&more)
                };
                with(a).total_cmp(&with(b))
            });
        }
        if best.as_ref().is_none_or(|b| cost < b.0) {
            best = Some((cost, walk));
        }
    }
    let external = template.external_vertices();
    let walk = best.map_or(Vec::new(), |b| b.1);
    let modes: Vec<usize> = walk.iter().flat_map(|&v| modes_at(source, v)).collect();
    let mut walked = vec![0; order];
    for (&mode, &vertex) in modes.iter().zip(&external) {
        walked[mode] = vertex;
    }
    let mut all = vec![walked, external];
    all.dedup();
    Ok(all)
}
