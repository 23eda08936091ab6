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
