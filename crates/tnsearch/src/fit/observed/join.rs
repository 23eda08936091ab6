//! The product of two tables: one small matrix product per pair of rows, many at a time.

use super::halt::{Halt, Pace};
use super::index::{Pairs, Rows};
use crate::linalg::{Factor, matmul};
use crate::tensor::Scalar;
use rayon::prelude::*;

/// About how many entries of the stacked table are laid out at a time: they stay in the cache.
const STRIPE: usize = 1 << 14;

/// What the rows of a table are: products over the ranks of these edges, in this order.
pub(super) type Edges = Vec<usize>;

/// The product of two tables over the edges that they share: `C[p, q] = A[p] B[q]` for the pairs of rows that occur,
/// A[p] as a matrix of its other edges x the shared ones, B[q] likewise.
#[derive(Debug)]
pub(super) struct Join {
    pairs: Pairs,
    /// How a row of the stacked table is laid out as [own edges, shared edges]; none: it lies so.
    stacked: Option<Vec<u32>>,
    /// How a row of the fixed table is laid out as [shared edges, own edges].
    fixed: Option<Vec<u32>>,
    /// Own ranks of the stacked table, shared ranks, own ranks of the fixed one.
    shape: (usize, usize, usize),
    /// Parts of the work: the fixed row, the stacked rows `begin..end`.
    parts: Vec<(usize, usize, usize)>,
}

impl Join {
    /// Plans the product for the pairs among the first `entries` entries; its rows and edges.
    pub fn new(
        (left, left_edges): (&Rows, &Edges),
        (right, right_edges): (&Rows, &Edges),
        ranks: &[usize],
        entries: usize,
    ) -> (Self, Rows, Edges) {
        let (pairs, rows) = Pairs::new(left, right, entries);
        let (fixed_edges, stacked_edges) = match pairs.left_is_fixed {
            true => (left_edges, right_edges),
            false => (right_edges, left_edges),
        };
        let of = |edges: &Edges, shared: bool, other: &Edges| -> Edges {
            edges.iter().copied().filter(|e| other.contains(e) == shared).collect()
        };
        let shared = of(stacked_edges, true, fixed_edges);
        let own_stacked = of(stacked_edges, false, fixed_edges);
        let own_fixed = of(fixed_edges, false, stacked_edges);
        let size = |edges: &Edges| edges.iter().map(|&e| ranks[e]).product::<usize>();
        let shape = (size(&own_stacked), size(&shared), size(&own_fixed));
        let stacked = order(stacked_edges, &[&own_stacked[..], &shared].concat(), ranks);
        let fixed = order(fixed_edges, &[&shared[..], &own_fixed].concat(), ranks);
        let height = (STRIPE / (shape.0 * shape.1)).max(1);
        let ends = pairs.groups.iter().skip(1).map(|g| g.1 as usize).chain([pairs.stacked.len()]);
        let mut parts = Vec::new();
        for (&(fixed, begin), end) in pairs.groups.iter().zip(ends) {
            for begin in (begin as usize..end).step_by(height) {
                parts.push((fixed as usize, begin, end.min(begin + height)));
            }
        }
        let edges = own_stacked.into_iter().chain(own_fixed).collect();
        (Join { pairs, stacked, fixed, shape, parts }, rows, edges)
    }

    /// Multiply-adds of one run.
    pub fn cost(&self) -> f64 {
        let (a, b, c) = self.shape;
        self.pairs.stacked.len() as f64 * a as f64 * b as f64 * c as f64
    }

    /// Entries of the result.
    pub fn len(&self) -> usize {
        self.pairs.stacked.len() * self.shape.0 * self.shape.2
    }

    /// Computes the product into `out`, on several threads where `spread` says so. Same bits either way. Where it is halted, what is
    /// there then is of no use.
    pub fn run<T: Scalar>(
        &self,
        left: &[T],
        right: &[T],
        out: &mut Vec<T>,
        (spread, halt): (bool, &Halt),
    ) {
        let (own, shared, other) = self.shape;
        let (fixed, stacked) = if self.pairs.left_is_fixed { (left, right) } else { (right, left) };
        out.clear();
        out.resize(self.len(), T::ZERO);
        let mut rest = &mut out[..];
        let mut work = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let (head, tail) = rest.split_at_mut((part.2 - part.1) * own * other);
            work.push((part, head));
            rest = tail;
        }
        let work_of = |rows: usize| rows as f64 * (own * shared) as f64 * other as f64;
        let room = || (Vec::new(), vec![T::ZERO; shared * other], halt.pace());
        let step =
            |(laid, matrix, pace): &mut (Vec<T>, Vec<T>, Pace<'_>),
             (&(row, begin, end), out): (&(usize, usize, usize), &mut [T])| {
                if pace.halted(work_of(end - begin)) {
                    return;
                }
                lay_out(
                    &fixed[row * shared * other..][..shared * other],
                    self.fixed.as_deref(),
                    matrix,
                );
                laid.resize((end - begin) * own * shared, T::ZERO);
                let rows = &self.pairs.stacked[begin..end];
                for (to, &row) in laid.chunks_exact_mut(own * shared).zip(rows) {
                    lay_out(
                        &stacked[row as usize * own * shared..][..own * shared],
                        self.stacked.as_deref(),
                        to,
                    );
                }
                matmul(
                    ((end - begin) * own, other, shared),
                    out,
                    Factor::row_major(laid, shared),
                    Factor::row_major(matrix, other),
                );
            };
        match spread {
            true => work.into_par_iter().for_each_init(room, step),
            false => {
                let mut room = room();
                work.into_iter().for_each(|work| step(&mut room, work));
            }
        }
    }
}

/// Where each entry of a row goes from, so that its edges come in another order; none where they are in it.
pub(super) fn order(from: &[usize], to: &[usize], ranks: &[usize]) -> Option<Vec<u32>> {
    if from == to {
        return None;
    }
    let stride = |edge: usize| -> usize {
        from.iter().rev().take_while(|&&e| e != edge).map(|&e| ranks[e]).product()
    };
    let mut places = vec![0u32];
    for &edge in to {
        let stride = stride(edge) as u32;
        places = places
            .iter()
            .flat_map(|&place| (0..ranks[edge] as u32).map(move |k| place + k * stride))
            .collect();
    }
    Some(places)
}

/// Copies a row in another order.
pub(super) fn lay_out<T: Copy>(row: &[T], order: Option<&[u32]>, out: &mut [T]) {
    match order {
        None => out.copy_from_slice(row),
        Some(order) => {
            out.iter_mut().zip(order).for_each(|(out, &place)| *out = row[place as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        let ranks = [2, 3, 2];
        // A has edges (1, 0), B has (2, 1): C[p, q][e0, e2] = sum over e1.
        let left = Rows { of_entry: vec![0, 1, 2, 0, 2], count: 3 };
        let right = Rows { of_entry: vec![0, 0, 1, 1, 0], count: 2 };
        let a: Vec<f64> = (0..18).map(|k| (k * k % 7) as f64).collect();
        let b: Vec<f64> = (0..12).map(|k| (k * 5 % 11) as f64 - 3.0).collect();
        let (join, rows, edges) = Join::new((&left, &vec![1, 0]), (&right, &vec![2, 1]), &ranks, 5);
        for spread in [false, true] {
            let mut out = Vec::new();
            join.run(&a, &b, &mut out, (spread, &Halt::default()));
            let place =
                |e0: usize, e2: usize| if edges == [0, 2] { e0 * 2 + e2 } else { e2 * 2 + e0 };
            for k in 0..5 {
                let (p, q) = (left.of_entry[k] as usize, right.of_entry[k] as usize);
                for (e0, e2) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                    let want: f64 =
                        (0..3).map(|e1| a[p * 6 + e1 * 2 + e0] * b[q * 6 + e2 * 3 + e1]).sum();
                    let row = rows.of_entry[k] as usize;
                    assert_eq!(out[row * 4 + place(e0, e2)], want);
                }
            }
        }
    }
}
