//! A network contracted to its tensor: two cores at a time, by plain loops with compensated sums.

use crate::arrays::scaled;
use crate::sums::{Sum, dot};
use crate::{Array, Limits, Network, Unchecked};

/// A tensor times a power of two.
#[derive(Debug, Clone, PartialEq)]
pub struct Contracted {
    /// The tensor, scaled.
    pub array: Array,
    /// The exponent of the power of two it is to be multiplied by.
    pub power: i64,
}

impl Contracted {
    /// The tensor itself; entries that no number holds are infinite, or zero.
    pub fn into_array(self) -> Array {
        let Contracted { mut array, power } = self;
        array.re.iter_mut().chain(&mut array.im).for_each(|x| *x = scaled(*x, power));
        array
    }
}

/// Some cores that are one by now, with the name of each axis: a mode, or the order plus an edge.
struct Piece {
    axes: Vec<usize>,
    array: Array,
}

/// More multiplications than this are not begun.
const MOST: f64 = 1e13;

impl Network {
    /// The tensor that it stands for, its modes in their order. It must have been [checked](Network::check).
    pub fn contract(&self, limits: &Limits<'_>) -> Result<Contracted, Unchecked> {
        let axes = |v: usize| {
            let edges = self.edges_at(v).map(|e| self.dims.len() + e);
            edges.chain(self.modes(v)).collect::<Vec<usize>>()
        };
        if let Some(hub) = self.hub {
            return self.contract_around(hub, limits);
        }
        let all: Vec<Vec<usize>> = (0..self.external.len()).map(axes).collect();
        let parts = if self.cores.iter().any(Array::is_complex) { 16 } else { 8 };
        let steps = self.plan(all.clone(), parts, limits)?;
        let mut pieces: Vec<Option<Piece>> = all
            .into_iter()
            .zip(&self.cores)
            .map(|(axes, core)| Some(Piece { axes, array: core.clone() }))
            .collect();
        let mut power = 0;
        for piece in pieces.iter_mut().flatten() {
            power += piece.array.normalise();
        }
        for (a, b) in steps {
            let (Some(first), Some(second)) = (pieces[a].take(), pieces[b].take()) else {
                continue;
            };
            let mut made = multiplied(&first, &second, limits)?;
            power += made.array.normalise();
            pieces[a] = Some(made);
        }
        let last = pieces.into_iter().flatten().next();
        let last = last.unwrap_or_else(|| unreachable!("a network has a vertex"));
        let order: Vec<usize> = (0..self.dims.len())
            .map(|m| last.axes.iter().position(|&a| a == m))
            .map(|at| at.unwrap_or_else(|| unreachable!("every mode is an axis")))
            .collect();
        Ok(Contracted { array: last.array.reordered(&order), power })
    }

    /// The same where one hyperedge joins all: `sum over r of the products of the rows r`. The modes are taken together in two
    /// halves, whose products are summed over at the end. The hub is never made.
    fn contract_around(&self, hub: usize, limits: &Limits<'_>) -> Result<Contracted, Unchecked> {
        let (order, rank) = (self.dims.len(), self.edges.first().map_or(1, |e| e[2]) as f64);
        let size = |modes: std::ops::Range<usize>| -> f64 {
            self.dims[modes].iter().map(|&d| d as f64).product()
        };
        let most = |half: usize| size(0..half).max(size(half..order));
        let half = (1..order.max(2)).min_by(|&a, &b| most(a).total_cmp(&most(b))).unwrap_or(1);
        let work = rank * size(0..order);
        if work > MOST {
            return Err(Unchecked::Long { operations: work });
        }
        let parts = if self.cores.iter().any(Array::is_complex) { 16.0 } else { 8.0 };
        let held = 4.0 * rank * (size(0..half) + size(half..order)) + 3.0 * size(0..order);
        limits.check((parts * held) as u128)?;
        let mut power = 0;
        // The terms come last, under one name.
        let mut halves = Vec::new();
        for modes in [0..half, half..order] {
            let mut made: Option<Piece> = None;
            for mode in modes {
                limits.poll()?;
                debug_assert_ne!(self.at[mode], hub);
                let mut array = self.cores[self.at[mode]].reordered(&[1, 0]);
                power += array.normalise();
                let own = Piece { axes: vec![mode, order], array };
                made = Some(match made {
                    None => own,
                    Some(before) => {
                        let mut both = termwise(&before, &own);
                        power += both.array.normalise();
                        both
                    }
                });
            }
            halves.extend(made);
        }
        let [left, right] = &halves[..] else { unreachable!("a cp has two modes or more") };
        let Piece { array, .. } = multiplied(left, right, limits)?;
        Ok(Contracted { array, power })
    }

    /// Which two to contract when: always the pair that grows least. Refuses what would take too much.
    fn plan(
        &self,
        mut axes: Vec<Vec<usize>>,
        number: u128,
        limits: &Limits<'_>,
    ) -> Result<Vec<(usize, usize)>, Unchecked> {
        let order = self.dims.len();
        let length = |a: &usize| if *a < order { self.dims[*a] } else { self.edges[*a - order][2] };
        let size = |axes: &[usize]| axes.iter().map(|a| length(a) as f64).product::<f64>();
        let mut live: Vec<usize> = (0..axes.len()).collect();
        // The piece that each vertex is in.
        let mut piece = live.clone();
        let mut steps = Vec::with_capacity(live.len());
        let (mut held, mut peak, mut work) =
            (axes.iter().map(|a| size(a)).sum::<f64>(), 0.0f64, 0.0);
        // The last is brought into the order of the modes, with a table of positions.
        peak = peak.max(3.0 * self.dims.iter().map(|&d| d as f64).product::<f64>());
        while live.len() > 1 {
            limits.poll()?;
            // Two pieces with an edge between them; where there is none left, any two.
            let mut best: Option<(f64, usize, usize)> = None;
            for &[u, v, _] in &self.edges {
                let (a, b) = (piece[u].min(piece[v]), piece[u].max(piece[v]));
                if a != b {
                    let grown = size(&joined(&axes[a], &axes[b])) - size(&axes[a]) - size(&axes[b]);
                    if best.is_none_or(|best| (grown, a, b) < best) {
                        best = Some((grown, a, b));
                    }
                }
            }
            let (_, a, b) = best.unwrap_or((0.0, live[0], live[1]));
            piece.iter_mut().filter(|p| **p == b).for_each(|p| *p = a);
            let made = joined(&axes[a], &axes[b]);
            let (two, new) = (size(&axes[a]) + size(&axes[b]), size(&made));
            let inner: Vec<usize> =
                axes[a].iter().filter(|x| axes[b].contains(x)).copied().collect();
            work += new * size(&inner);
            // Both, reordered copies of both with tables of positions, and what comes of them.
            peak = peak.max(held + 2.0 * two + new);
            held += new - two;
            axes[a] = made;
            live.retain(|&x| x != b);
            steps.push((a, b));
        }
        if work > MOST {
            return Err(Unchecked::Long { operations: work });
        }
        limits.check((peak * number as f64) as u128)?;
        Ok(steps)
    }
}

/// The axes that one of two pieces has and the other has not.
fn joined(a: &[usize], b: &[usize]) -> Vec<usize> {
    let only =
        |x: &[usize], y: &[usize]| x.iter().filter(|k| !y.contains(k)).copied().collect::<Vec<_>>();
    [only(a, b), only(b, a)].concat()
}

/// Two pieces whose last axis is the same: every entry of one with every entry of the other, term by term.
fn termwise(a: &Piece, b: &Piece) -> Piece {
    let terms = a.array.dims.last().copied().unwrap_or(1);
    let complex = a.array.is_complex() || b.array.is_complex();
    let at = |part: &[f64], k: usize| part.get(k).copied().unwrap_or(0.0);
    let (mut re, mut im) = (Vec::new(), Vec::new());
    for i in 0..a.array.re.len() / terms {
        for j in 0..b.array.re.len() / terms {
            for r in 0..terms {
                let (k, l) = (i * terms + r, j * terms + r);
                let (p, q) = (a.array.re[k], at(&a.array.im, k));
                let (s, t) = (b.array.re[l], at(&b.array.im, l));
                re.push(p * s - q * t);
                if complex {
                    im.push(p * t + q * s);
                }
            }
        }
    }
    let free = |x: &[usize]| x[..x.len() - 1].to_vec();
    let dims = [free(&a.array.dims), b.array.dims.clone()].concat();
    let axes = [free(&a.axes), b.axes.clone()].concat();
    Piece { axes, array: Array { dims, re, im } }
}

/// Two pieces, summed over the axes they share.
fn multiplied(a: &Piece, b: &Piece, limits: &Limits<'_>) -> Result<Piece, Unchecked> {
    let shared: Vec<usize> = a.axes.iter().filter(|x| b.axes.contains(x)).copied().collect();
    let laid = |piece: &Piece| {
        let free = piece.axes.iter().filter(|x| !shared.contains(x)).chain(&shared);
        let at = free.map(|x| piece.axes.iter().position(|y| y == x).unwrap_or_default());
        piece.array.reordered(&at.collect::<Vec<usize>>())
    };
    let (left, right) = (laid(a), laid(b));
    let inner: usize = left.dims[left.dims.len() - shared.len()..].iter().product();
    let (rows, columns) = (left.re.len() / inner.max(1), right.re.len() / inner.max(1));
    let complex = left.is_complex() || right.is_complex();
    let mut re = Vec::with_capacity(rows * columns);
    let mut im = Vec::with_capacity(if complex { rows * columns } else { 0 });
    let row = |part: &'_ [f64], k: usize| -> std::ops::Range<usize> {
        if part.is_empty() { 0..0 } else { k * inner..(k + 1) * inner }
    };
    for i in 0..rows {
        limits.poll()?;
        let (ar, ai) = (&left.re[row(&left.re, i)], &left.im[row(&left.im, i)]);
        for j in 0..columns {
            let (br, bi) = (&right.re[row(&right.re, j)], &right.im[row(&right.im, j)]);
            if !complex {
                re.push(dot(ar, br));
                continue;
            }
            let at = |part: &[f64], k: usize| part.get(k).copied().unwrap_or(0.0);
            let (mut real, mut imaginary) = (Sum::default(), Sum::default());
            for k in 0..inner {
                let (p, q, r, s) = (ar[k], at(ai, k), br[k], at(bi, k));
                real.add(p * r);
                real.add(-q * s);
                imaginary.add(p * s);
                imaginary.add(q * r);
            }
            re.push(real.value());
            im.push(imaginary.value());
        }
    }
    let free = |array: &Array| array.dims[..array.dims.len() - shared.len()].to_vec();
    let dims = [free(&left), free(&right)].concat();
    Ok(Piece { axes: joined(&a.axes, &b.axes), array: Array { dims, re, im } })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network without its cores: what is planned, not done.
    fn planned(
        dims: &[usize],
        at: &[usize],
        edges: &[[usize; 3]],
        bytes: u64,
    ) -> Result<Contracted, Unchecked> {
        let external = (0..=*at.iter().max().unwrap()).map(|v| at.contains(&v)).collect();
        let (dims, at, edges) = (dims.to_vec(), at.to_vec(), edges.to_vec());
        let network = Network { dims, external, at, edges, hub: None, cores: Vec::new() };
        network.contract(&Limits { bytes, stop: &|| false })
    }

    #[test]
    fn the_pair_that_grows_least_is_first_and_its_memory_is_known_before() {
        // The cores of 10, 105 and 35 entries. First those of 10 and 105, which leave 42: all cores, twice both and what
        // comes of them are 150 + 230 + 42. The other pair would leave 75.
        let needed = |dims: &[usize], at: &[usize], edges: &[[usize; 3]]| match planned(
            dims, at, edges, 1,
        ) {
            Err(Unchecked::Memory { needed }) => needed,
            other => panic!("{other:?}"),
        };
        let one = [0, 1, 2];
        assert_eq!(needed(&[2, 3, 5], &one, &[[0, 1, 5], [1, 2, 7]]), 8 * 422);
        assert_eq!(needed(&[5, 3, 2], &one, &[[0, 1, 7], [1, 2, 5]]), 8 * 422);
        assert_eq!(needed(&[5, 3, 2], &one, &[[1, 2, 5], [0, 1, 7]]), 8 * 422);
        // The last step takes 21 + 42 + 80; the tensor of 80 with its table and its copy takes more.
        assert_eq!(needed(&[4, 4, 5], &one, &[[0, 1, 1], [1, 2, 1]]), 8 * 240);
        assert_eq!(needed(&[3, 3], &[0, 1], &[[0, 1, 6]]), 8 * (36 + 72 + 9));
        // Nothing to contract, and nothing between two.
        assert_eq!(needed(&[6, 6], &[0, 0], &[]), 8 * 3 * 36);
        assert_eq!(needed(&[2, 3], &[0, 1], &[]), 8 * (5 + 10 + 6));
    }

    #[test]
    fn a_hyperedge_sums_products_of_rows() {
        // Complex: every part of a product counts.
        let core = |dim: usize, k: f64| {
            let numbers = |k: f64| (0..2 * dim).map(move |n| (k + n as f64).sin()).collect();
            Array::complex(vec![2, dim], numbers(k), numbers(k + 9.0)).unwrap()
        };
        let cp = Network {
            dims: vec![2, 3, 2, 2],
            external: vec![true, true, true, true, false],
            at: vec![1, 0, 3, 2],
            edges: (0..4).map(|v| [v, 4, 2]).collect(),
            hub: Some(4),
            cores: vec![
                core(3, 1.0),
                core(2, 2.0),
                core(2, 3.0),
                core(2, 4.0),
                Array::real(vec![2], vec![1.0; 2]).unwrap(),
            ],
        };
        assert_eq!(cp.check(), Ok(()));
        let found = cp.contract(&Limits { bytes: 1 << 20, stop: &|| false }).unwrap().into_array();
        for k in 0..24 {
            let index = [k / 12, k / 4 % 3, k / 2 % 2, k % 2];
            let (mut re, mut im) = (0.0, 0.0);
            for r in 0..2 {
                let (mut a, mut b) = (1.0, 0.0);
                for (n, i) in index.into_iter().enumerate() {
                    let core = &cp.cores[cp.at[n]];
                    let at = r * cp.dims[n] + i;
                    (a, b) = (a * core.re[at] - b * core.im[at], a * core.im[at] + b * core.re[at]);
                }
                (re, im) = (re + a, im + b);
            }
            assert!((found.re[k] - re).abs() < 1e-14 && (found.im[k] - im).abs() < 1e-14, "{k}");
        }
        let few = cp.contract(&Limits { bytes: 100, stop: &|| false });
        assert!(matches!(few, Err(Unchecked::Memory { .. })));
    }

    #[test]
    fn what_takes_too_long_is_not_begun() {
        let wide = 100_000;
        let of = |rank: usize| planned(&[wide, wide], &[0, 1], &[[0, 1, rank]], 1);
        assert_eq!(of(2000), Err(Unchecked::Long { operations: 2e13 }));
        assert_eq!(of(1000), Err(Unchecked::Memory { needed: 8 * 30_000_000_000 }));
        // All steps together.
        let all = planned(&[10_000; 3], &[0, 1, 2], &[[0, 1, 10], [1, 2, 10]], 1);
        assert_eq!(all, Err(Unchecked::Long { operations: 1.001e13 }));
    }

    #[test]
    fn real_cores_beside_complex_ones_are_complex_together() {
        // (1, 2) times ((1 + i, 3), (i, 2 - i)).
        let left = Array::real(vec![2, 1], vec![1.0, 2.0]).unwrap();
        let right = Array::complex(vec![2, 2], vec![1.0, 3.0, 0.0, 2.0], vec![1.0, 0.0, 1.0, -1.0])
            .unwrap();
        let mut network = Network {
            dims: vec![1, 2],
            external: vec![true, true],
            at: vec![0, 1],
            edges: vec![[0, 1, 2]],
            hub: None,
            cores: vec![left.clone(), right.clone()],
        };
        let limits = Limits { bytes: 16 * (6 + 12 + 2), stop: &|| false };
        let found = network.contract(&limits).unwrap().into_array();
        assert_eq!((found.dims, found.re, found.im), (vec![1, 2], vec![1.0, 7.0], vec![3.0, -2.0]));
        let few = Limits { bytes: limits.bytes - 1, stop: &|| false };
        assert_eq!(
            network.contract(&few),
            Err(Unchecked::Memory { needed: u128::from(limits.bytes) })
        );
        // The other way round.
        network.at = vec![1, 0];
        network.cores = vec![right, left];
        let found = network.contract(&limits).unwrap().into_array();
        assert_eq!((found.re, found.im), (vec![1.0, 7.0], vec![3.0, -2.0]));
    }
}
