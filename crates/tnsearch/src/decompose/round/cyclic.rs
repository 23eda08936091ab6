//! Rounding on a graph with cycles: whitened truncation, then alternating least squares between networks.

use super::fill::{Ranks, Spectra, at_most, ways_down, within};
use super::part::{Order, Part, entries};
use super::tree::too_few;
use super::{Aim, RoundGoal, Rounded, core_labels, network, parts};
use crate::SettingError;
use crate::decompose::{DecomposeError, Limits};
use crate::graph::Structure;
use crate::linalg::{self, Cholesky, Factor, Route, matmul};
use crate::network::Network;
use crate::tensor::{Scalar, Tensor};

/// Errors are differences of norms: below this many ulp of the squared norm nothing is seen.
const FLOOR: f64 = 64.0;
/// Sweeps for one choice of ranks at most; fewer where the error falls by less than this share in one.
const SWEEPS: usize = 40;
const SLOW: f64 = 1e-3;
/// Choices of ranks that are tried for an error.
const TRIALS: usize = 10;

/// The network given and its size.
struct Problem<'p, T> {
    structure: &'p Structure,
    dims: &'p [usize],
    /// The cores, each of norm about 1.
    z: Vec<Part<T>>,
    exponent: i64,
    norm_squared: f64,
    /// `norm_squared` is in units of 2^this.
    unit: i64,
    limits: &'p Limits,
}

/// A network near it: cores with labels moved by `shift`, and the length of all labels.
#[derive(Clone)]
struct Near<T> {
    cores: Vec<Part<T>>,
    lengths: Vec<usize>,
    rse: f64,
    /// How the two environments of each vertex are contracted.
    orders: Vec<Option<[Order; 2]>>,
}

pub(super) fn round<T: Scalar>(
    given: &Network,
    like: &Tensor<T>,
    goal: &RoundGoal,
    limits: &Limits,
) -> Result<Rounded, DecomposeError> {
    let floor = FLOOR * T::KIND.epsilon();
    if let Aim::MaxRse(eps) = goal.0
        && eps < floor
    {
        let expected = format!(
            "of a network with cycles errors below {floor:.1e} are not seen (they are differences of norms); \
             use a larger one, or a tree with --template"
        );
        return Err(SettingError::new("max-rse", eps, expected).into());
    }
    let problem = Problem::new(given, like, limits)?;
    let gauge = problem.gauge()?;
    let most = match &goal.0 {
        Aim::Ranks(ranks) => ranks.clone(),
        _ => vec![usize::MAX; gauge.spectra.len()],
    };
    let ways = ways_down(problem.structure, problem.dims, &gauge.spectra, &most);
    let mut sweeps = 0;
    let near = match goal.0 {
        Aim::Ranks(_) => problem.near(&gauge, &ways[0], 0.0, &mut sweeps)?,
        Aim::MaxParams(params) => {
            let chosen = at_most(&ways, params).ok_or_else(|| too_few(params, &ways))?;
            problem.near(&gauge, chosen, 0.0, &mut sweeps)?
        }
        Aim::MaxRse(eps) => match problem.smallest(&gauge, &ways, eps, &mut sweeps)? {
            Some(near) => near,
            // Nothing smaller was found near enough: the network itself is.
            None => {
                let network = given.clone();
                let interrupted = limits.stop.is_set();
                return Ok(Rounded { network, rse: 0.0, floor, sweeps, interrupted });
            }
        },
    };
    let network = problem.network(&near)?;
    Ok(Rounded { network, rse: near.rse, floor, sweeps, interrupted: limits.stop.is_set() })
}

/// What each edge can lose: factors of the Gram matrices on both its sides, and the share of the squared norm that each
/// further value of the edge holds.
struct Gauge<T> {
    sides: Vec<[Vec<T>; 2]>,
    spectra: Spectra,
}

impl<'p, T: Scalar> Problem<'p, T> {
    fn new(
        given: &'p Network,
        like: &Tensor<T>,
        limits: &'p Limits,
    ) -> Result<Self, DecomposeError> {
        let mut z = parts(given, like);
        let exponent = z.iter_mut().map(Part::normalise).sum();
        let (structure, dims) = (given.structure(), given.dims());
        let mut problem =
            Problem { structure, dims, z, exponent, norm_squared: 0.0, unit: 0, limits };
        let lengths = problem.lengths(structure.ranks());
        let (norm, unit) = problem.number(&problem.z, 0, &lengths)?;
        (problem.norm_squared, problem.unit) = (norm, unit);
        if norm <= 0.0 || !norm.is_finite() {
            return Err(crate::tensor::TensorError::Zero.into());
        }
        Ok(problem)
    }

    fn edges(&self) -> usize {
        self.structure.ranks().len()
    }

    /// Labels: Z's edges, the modes, the edges of the network near it, and those of its conjugate.
    fn lengths(&self, ranks: &[usize]) -> Vec<usize> {
        let own = self.structure.ranks().iter().chain(self.dims);
        // One more for what is being moved.
        own.chain(ranks).chain(ranks).copied().chain([1]).collect()
    }

    /// How far edge labels of the network near it are from Z's; twice as far for its conjugate.
    fn shift(&self) -> usize {
        self.edges() + self.dims.len()
    }

    /// A rule for labels: edges move, modes stay.
    fn moved(&self, by: usize) -> impl Fn(usize) -> usize + '_ {
        let (edges, shift) = (self.edges(), self.shift());
        move |l| match l {
            _ if l < edges => l + by,
            _ if l >= shift && l < shift + edges => l + by,
            _ => l,
        }
    }

    /// `Re <bra, ket>`, the bra being cores whose edges are to be moved by `by`: the number and its unit.
    fn inner(
        &self,
        bra: &[Part<T>],
        by: usize,
        ket: &[Part<T>],
        lengths: &[usize],
    ) -> Result<(f64, i64), DecomposeError> {
        let all: Vec<Part<T>> =
            bra.iter().map(|p| p.conjugated(self.moved(by))).chain(ket.iter().cloned()).collect();
        let (number, exponent) = self.contracted(all, lengths)?;
        Ok((number.data[0].re(), exponent))
    }

    /// `||N||^2` of cores with Z's labels (`from` 0) or those of the network near it.
    fn number(
        &self,
        cores: &[Part<T>],
        from: usize,
        lengths: &[usize],
    ) -> Result<(f64, i64), DecomposeError> {
        let by = if from == 0 { self.shift() } else { self.edges() };
        self.inner(cores, by, cores, lengths)
    }

    fn contracted(
        &self,
        all: Vec<Part<T>>,
        lengths: &[usize],
    ) -> Result<(Part<T>, i64), DecomposeError> {
        Ok(self.order(&all, lengths)?.run(all, lengths))
    }

    fn order(&self, all: &[Part<T>], lengths: &[usize]) -> Result<Order, DecomposeError> {
        let labels: Vec<Vec<usize>> = all.iter().map(|p| p.labels.clone()).collect();
        let order = Order::find(&labels, lengths);
        order.check::<T>(self.limits)?;
        Ok(order)
    }

    /// The doubled network with one edge cut says what that edge can lose. Let `M_ij` be Z with the value i at the one end of
    /// the edge and j at the other, so that `Z = sum_i M_ii`, and `N = <M_i'j', M_ij>`. The Gram matrices of both sides
    /// are `L = sum_j N` and `R = sum_i N`, and a matrix T in the place of the identity changes Z by
    /// `||sum_ij (T - 1)_ij M_ij||^2 = (T - 1)^H N (T - 1)`: exactly what a truncation of that edge alone loses.
    fn gauge(&self) -> Result<Gauge<T>, DecomposeError> {
        let ranks = self.structure.ranks();
        let mut gauge = Gauge { sides: Vec::new(), spectra: Vec::new() };
        for (e, &r) in ranks.iter().enumerate() {
            self.limits.check_stop()?;
            if r == 1 {
                gauge.sides.push([vec![T::ONE], vec![T::ONE]]);
                gauge.spectra.push(vec![1.0]);
                continue;
            }
            let (n, unit) = self.cut(e)?;
            let (mut l, mut s) = (vec![T::ZERO; r * r], vec![T::ZERO; r * r]);
            for (at, x) in n.iter().enumerate() {
                // N is [i, i', j, j'].
                let (ii, jj) = (at / (r * r), at % (r * r));
                if jj / r == jj % r {
                    l[ii] += *x;
                }
                if ii / r == ii % r {
                    s[jj] += *x;
                }
            }
            let (x, y) =
                (root(&l, r).ok_or_else(|| no_root(r))?, root(&s, r).ok_or_else(|| no_root(r))?);
            let share = 2f64.powi((unit - self.unit).clamp(-1000, 1000) as i32) / self.norm_squared;
            // The whole edge may be useless; what is zero for all that is known is not kept.
            let m = between(&x, &y, r);
            let values = linalg::singular_values(&m, r, r).ok_or_else(|| no_root(r))?;
            let clear = 1e3 * T::KIND.epsilon() * values[0];
            let most = values.iter().filter(|&&v| v > clear).count().max(1);
            let mut losses = vec![1.0];
            for keep in 1..=most {
                let (left, right) = projectors(&x, &y, r, keep).ok_or_else(|| no_root(r))?;
                losses.push((lost(&n, &left, &right, r, keep) * share).clamp(0.0, 1.0));
            }
            // What is lost never grows with the rank.
            for k in (1..losses.len()).rev() {
                losses[k - 1] = losses[k - 1].max(losses[k]);
            }
            gauge.spectra.push(losses.windows(2).map(|w| w[0] - w[1]).collect());
            gauge.sides.push([x, y]);
        }
        Ok(gauge)
    }

    /// `N[i, i', j, j']` of an edge, and its unit.
    fn cut(&self, edge: usize) -> Result<(Vec<T>, i64), DecomposeError> {
        let (_, second) = self.structure.template().edges()[edge];
        let mut lengths = self.lengths(self.structure.ranks());
        let (ket, bra) = (lengths.len(), lengths.len() + 1);
        lengths.extend([lengths[edge]; 2]);
        let mut all = Vec::new();
        for (v, core) in self.z.iter().enumerate() {
            let mut own = core.clone();
            let mut conj = core.conjugated(self.moved(self.shift()));
            if v == second {
                own = own.renamed(edge, ket);
                conj = conj.renamed(edge + self.shift(), bra);
            }
            all.extend([own, conj]);
        }
        let (n, unit) = self.contracted(all, &lengths)?;
        Ok((n.ordered(&[edge, edge + self.shift(), ket, bra], &lengths).data, unit))
    }

    /// Z with its edges cut down by whitened SVDs, then swept until the error is `enough` or falls no more.
    fn near(
        &self,
        gauge: &Gauge<T>,
        ranks: &Ranks,
        enough: f64,
        sweeps: &mut usize,
    ) -> Result<Near<T>, DecomposeError> {
        let (edges, own) = (self.structure.template().edges(), self.structure.ranks());
        let mut lengths = self.lengths(own);
        let temp = lengths.len() - 1;
        let mut cores = self.z.clone();
        for (e, &(u, v)) in edges.iter().enumerate() {
            let (r, keep) = (own[e], ranks.ranks[e]);
            if keep >= r {
                continue;
            }
            let [x, y] = &gauge.sides[e];
            let (left, right) = projectors(x, y, r, keep).ok_or_else(|| no_root(r))?;
            lengths[temp] = keep;
            cores[u] = cores[u].times(&Part::new(vec![e, temp], left), &lengths).renamed(temp, e);
            cores[v] = cores[v].times(&Part::new(vec![temp, e], right), &lengths).renamed(temp, e);
            lengths[e] = keep;
        }
        let lengths = self.lengths(&ranks.ranks);
        let moved = self.moved(self.shift());
        for core in &mut cores {
            core.labels.iter_mut().for_each(|l| *l = moved(*l));
            core.normalise();
        }
        let orders = vec![None; cores.len()];
        let mut near = Near { cores, lengths, rse: f64::INFINITY, orders };
        let mut before = f64::INFINITY;
        for _ in 0..SWEEPS {
            for vertex in 0..near.cores.len() {
                if self.limits.stop.is_set() && near.rse.is_finite() {
                    break;
                }
                self.update(&mut near, vertex)?;
            }
            *sweeps += 1;
            if near.rse <= 0.9 * enough
                || near.rse > (1.0 - SLOW) * before
                || near.rse <= FLOOR * T::KIND.epsilon()
                || self.limits.stop.is_set()
            {
                break;
            }
            before = near.rse;
        }
        near.rse = self.rse(&near)?;
        Ok(near)
    }

    /// The best core of one vertex, the others given: `G c = b` with `G = <Z'|Z'>` and `b = <Z'|Z>` without that core.
    fn update(&self, near: &mut Near<T>, vertex: usize) -> Result<(), DecomposeError> {
        let bras = || {
            let others = near.cores.iter().enumerate().filter(|(w, _)| *w != vertex);
            others.map(|(_, p)| p.conjugated(self.moved(self.edges())))
        };
        let kets = near.cores.iter().enumerate().filter(|(w, _)| *w != vertex);
        let gram: Vec<Part<T>> = bras().chain(kets.map(|(_, p)| p.clone())).collect();
        let rest: Vec<Part<T>> = bras().chain(self.z.iter().cloned()).collect();
        let own = near.cores[vertex].labels.clone();
        let modes: Vec<usize> = own.iter().copied().filter(|&l| l < self.shift()).collect();
        let ket: Vec<usize> = own.iter().copied().filter(|&l| l >= self.shift()).collect();
        let bra: Vec<usize> = ket.iter().map(|&l| l + self.edges()).collect();
        let (width, columns) = (entries(&ket, &near.lengths), entries(&modes, &near.lengths));
        if near.orders[vertex].is_none() {
            near.orders[vertex] =
                Some([self.order(&gram, &near.lengths)?, self.order(&rest, &near.lengths)?]);
        }
        let Some([g_order, b_order]) = &near.orders[vertex] else { unreachable!("made above") };
        let (g, g_unit) = g_order.run(gram, &near.lengths);
        let (b, b_unit) = b_order.run(rest, &near.lengths);
        // Column-major G: its entry (bra, ket) at ket * width + bra.
        let g_labels: Vec<usize> = ket.iter().chain(&bra).copied().collect();
        let b_labels: Vec<usize> = modes.iter().chain(&bra).copied().collect();
        let g = g.ordered(&g_labels, &near.lengths).data;
        let b = b.ordered(&b_labels, &near.lengths).data;
        let Some(c) = solved(&g, &b, width) else { return Ok(()) };
        // At the best core ||Z - Z'||^2 = ||Z||^2 - Re <c, b>, all in one unit.
        let dot: f64 = c.iter().zip(&b).map(|(x, y)| (x.conj() * *y).re()).sum();
        let power = 2 * b_unit - g_unit - self.unit;
        near.rse = positive(1.0 - dot / self.norm_squared * 2f64.powi(power as i32));
        debug_assert_eq!(c.len(), width * columns);
        let by = 2f64.powi((b_unit - g_unit) as i32);
        let data = c.iter().map(|x| x.scale(by)).collect();
        let labels = modes.iter().chain(&ket).copied().collect();
        near.cores[vertex] = Part::<T>::new(labels, data).ordered(&own, &near.lengths);
        Ok(())
    }

    /// `||Z - Z'||^2 / ||Z||^2` from three contractions.
    fn rse(&self, near: &Near<T>) -> Result<f64, DecomposeError> {
        let (own, unit) = self.number(&near.cores, self.shift(), &near.lengths)?;
        let (cross, cross_unit) = self.inner(&near.cores, 0, &self.z, &near.lengths)?;
        let scaled = |x: f64, unit: i64| {
            x / self.norm_squared * 2f64.powi((unit - self.unit).clamp(-2000, 1000) as i32)
        };
        Ok(positive(1.0 - 2.0 * scaled(cross, cross_unit) + scaled(own, unit)))
    }

    /// The smallest network within an error, among ranks chosen for more and less of it.
    fn smallest(
        &self,
        gauge: &Gauge<T>,
        ways: &[Ranks],
        eps: f64,
        sweeps: &mut usize,
    ) -> Result<Option<Near<T>>, DecomposeError> {
        let mut best: Option<(usize, Near<T>)> = None;
        // Places along the way down: the last known to be near enough, the first known not to be.
        let (mut good, mut bad) = (0, ways.len());
        let place = |budget: f64| {
            let chosen = within(ways, budget);
            ways.iter().position(|w| w == chosen).unwrap_or(0)
        };
        let mut next = place(eps);
        for _ in 0..TRIALS {
            if bad <= good + 1 && best.is_some() || self.limits.stop.is_set() {
                break;
            }
            let near = self.near(gauge, &ways[next], eps, sweeps)?;
            if near.rse <= eps {
                good = next;
                best = Some((next, near));
            } else if next == 0 {
                break;
            } else {
                bad = next;
            }
            // Bold steps down while all goes well, then halves.
            let bold = place(ways[next].tails.max(eps / 100.0) * 3.0);
            next = match bad == ways.len() {
                true if bold > good => bold,
                true => good + 1,
                false => good + (bad - good) / 2,
            };
            if next >= ways.len() {
                break;
            }
        }
        Ok(best.map(|b| b.1))
    }

    fn network(&self, near: &Near<T>) -> Result<Network, DecomposeError> {
        let back = |l: usize| if l >= self.shift() { l - self.shift() } else { l };
        let cores: Vec<Part<T>> = near
            .cores
            .iter()
            .map(|p| Part::new(p.labels.iter().map(|&l| back(l)).collect(), p.data.clone()))
            .collect();
        let mut lengths = near.lengths.clone();
        let edges = self.edges();
        lengths.copy_within(self.shift()..self.shift() + edges, 0);
        debug_assert!((0..cores.len()).all(|v| {
            core_labels(self.structure, v).iter().all(|l| cores[v].labels.contains(l))
        }));
        network(self.structure, self.dims, &cores, &lengths, self.exponent)
    }
}

/// An error that rounding may have made negative; what is no number is no error to be had.
fn positive(rse: f64) -> f64 {
    if rse.is_finite() { rse.max(0.0) } else { f64::INFINITY }
}

/// `(T - 1)^H N (T - 1)` with `T = left right`.
fn lost<T: Scalar>(n: &[T], left: &[T], right: &[T], r: usize, keep: usize) -> f64 {
    let mut t = vec![T::ZERO; r * r];
    matmul((r, r, keep), &mut t, Factor::row_major(left, keep), Factor::row_major(right, r));
    (0..r).for_each(|i| t[i * r + i] -= T::ONE);
    let mut sum = 0.0;
    for i in 0..r {
        for k in 0..r {
            for j in 0..r {
                let row = &n[((i * r + k) * r + j) * r..][..r];
                let other: T = row.iter().enumerate().map(|(l, x)| *x * t[k * r + l].conj()).sum();
                sum += (t[i * r + j] * other).re();
            }
        }
    }
    sum
}

fn no_root(r: usize) -> DecomposeError {
    DecomposeError::NoConvergence { rows: r, columns: r }
}

/// X with `M = X X^H` of a Hermitian matrix (row-major), X row-major.
fn root<T: Scalar>(matrix: &[T], r: usize) -> Option<Vec<T>> {
    // Read by columns, the conjugate of a Hermitian matrix is that matrix.
    let conj: Vec<T> = matrix.iter().map(|x| x.conj()).collect();
    let (values, vectors) = linalg::eigen(&conj, r)?;
    let mut x = vec![T::ZERO; r * r];
    for (k, value) in values.iter().enumerate() {
        let scale = value.max(0.0).sqrt();
        (0..r).for_each(|i| x[i * r + k] = vectors[k * r + i].scale(scale));
    }
    Some(x)
}

/// `X^T Y`, row-major.
fn between<T: Scalar>(x: &[T], y: &[T], r: usize) -> Vec<T> {
    let mut made = vec![T::ZERO; r * r];
    matmul((r, r, r), &mut made, Factor::row_major(x, r).transposed(), Factor::row_major(y, r));
    made
}

/// The best identity of rank `keep` between two sides with the Gram factors X and Y: with `X^T Y = U S V^H`,
/// `Y V S^(-1/2)` and `S^(-1/2) U^H X^T`, both row-major.
fn projectors<T: Scalar>(x: &[T], y: &[T], r: usize, keep: usize) -> Option<(Vec<T>, Vec<T>)> {
    let m = between(x, y, r);
    let (values, u) = linalg::left_singular(&m, r, r)?;
    // U^H M = S V^H, so V = M^H U S^-1.
    let (mut left, mut right) = (vec![T::ZERO; r * keep], vec![T::ZERO; keep * r]);
    for k in 0..keep {
        let s = values[k].max(f64::MIN_POSITIVE);
        let column = &u[k * r..(k + 1) * r];
        let v: Vec<T> = (0..r)
            .map(|j| (0..r).map(|i| m[i * r + j].conj() * column[i]).sum::<T>().unscale(s))
            .collect();
        for i in 0..r {
            let a: T = (0..r).map(|j| y[i * r + j] * v[j]).sum();
            left[i * keep + k] = a.unscale(s.sqrt());
            let b: T = (0..r).map(|j| column[j].conj() * x[i * r + j]).sum();
            right[k * r + i] = b.unscale(s.sqrt());
        }
    }
    Some((left, right))
}

/// The solution of `G c = b` for every column of b, G being positive (column-major), a little of its trace added where
/// it is singular.
fn solved<T: Scalar>(g: &[T], b: &[T], n: usize) -> Option<Vec<T>> {
    let trace: f64 = (0..n).map(|i| g[i * n + i].re()).sum();
    let mut solver = Cholesky::new::<T>(n, b.len() / n);
    let route = Route::of_size(n);
    for ridge in [0.0, 4.0, 1e3, 1e6].map(|ulps| ulps * T::KIND.epsilon() * trace / n as f64) {
        let mut factor = g.to_vec();
        (0..n).for_each(|i| factor[i * n + i] += T::from_parts(ridge, 0.0));
        if solver.factor(&mut factor, n, route) {
            let mut c = b.to_vec();
            solver.solve(&factor, &mut c, n, route);
            if c.iter().all(|x| Scalar::is_finite(*x)) {
                return Some(c);
            }
        }
    }
    None
}
