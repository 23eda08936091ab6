//! A tree on the modes of a tensor.

use super::super::{ModeSet, Spectra};
use crate::graph::{GraphError, Structure};

/// A tree: the modes at each vertex, and its edges `(u, v, rank)`.
///
/// ```
/// use tnsearch::bound::ModeTree;
/// // Modes 0 and 2 on one vertex, modes 1 and 3 on their own, joined by a vertex without a mode.
/// let edges = vec![(0, 3, 2), (1, 3, 3), (2, 3, 4)];
/// let tree = ModeTree { modes: vec![0b0101, 0b0010, 0b1000, 0], edges };
/// assert_eq!(tree.params(&[5, 6, 7, 8]), 5 * 7 * 2 + 6 * 3 + 8 * 4 + 2 * 3 * 4);
/// assert_eq!(tree.splits(), [0b0101, 0b0010, 0b1000]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModeTree {
    /// The modes of each vertex.
    pub modes: Vec<ModeSet>,
    /// The edges with their ranks.
    pub edges: Vec<(usize, usize, usize)>,
}

impl ModeTree {
    /// The number of entries of all cores (saturating).
    pub fn params(&self, dims: &[usize]) -> u128 {
        let size = |&set: &ModeSet| {
            let inside = (0..dims.len()).filter(|n| set >> n & 1 == 1);
            inside.fold(1u128, |size, n| size.saturating_mul(dims[n] as u128))
        };
        let mut sizes: Vec<u128> = self.modes.iter().map(size).collect();
        for &(u, v, r) in &self.edges {
            sizes[u] = sizes[u].saturating_mul(r as u128);
            sizes[v] = sizes[v].saturating_mul(r as u128);
        }
        sizes.into_iter().fold(0, u128::saturating_add)
    }

    /// The modes on the first vertex's side of each edge.
    pub fn splits(&self) -> Vec<ModeSet> {
        let side = |e: usize| {
            let mut seen = vec![false; self.modes.len()];
            let mut stack = vec![self.edges[e].0];
            let mut set = 0;
            while let Some(v) = stack.pop() {
                if std::mem::replace(&mut seen[v], true) {
                    continue;
                }
                set |= self.modes[v];
                for (k, &(a, b, _)) in self.edges.iter().enumerate() {
                    if k != e && (a == v || b == v) {
                        stack.push(if a == v { b } else { a });
                    }
                }
            }
            set
        };
        (0..self.edges.len()).map(side).collect()
    }

    /// The sum of the tails of all edges (and what shrinking lost): what truncated SVDs lose at most, as an RSE. None where a cut that is
    /// narrower than both of its sides has no known spectrum.
    pub fn tails(&self, spectra: &Spectra) -> Option<f64> {
        let splits = self.splits();
        let tail = |(&set, &(_, _, r)): (&ModeSet, &(usize, usize, usize))| -> Option<f64> {
            if r >= spectra.side(set) {
                return Some(0.0);
            }
            Some(spectra.of(set)?.tail(r))
        };
        let tails: Option<f64> = splits.iter().zip(&self.edges).map(tail).sum();
        Some(spectra.target().lost() + tails?)
    }

    /// The tree as a structure on a graph of its own.
    pub fn structure(&self) -> Result<Structure, GraphError> {
        let list = |&set: &ModeSet| (0..64).filter(|n| set >> n & 1 == 1).collect();
        let modes: Vec<Vec<usize>> = self.modes.iter().map(list).collect();
        Structure::from_groups("any-tree", &modes, &self.edges)
    }

    /// The same tree with one rank changed.
    pub fn with_rank(&self, edge: usize, rank: usize) -> ModeTree {
        let mut tree = self.clone();
        tree.edges[edge].2 = rank;
        tree
    }

    /// The same tree without vertices of no use: those that carry no mode and have fewer than three edges, and edges
    /// between which nothing is to choose (a rank as large as all else at one of its vertices: the two are one).
    pub fn simplified(mut self, dims: &[usize]) -> ModeTree {
        while let Some((e, keep)) = self.useless(dims) {
            self.contract(e, keep);
        }
        self
    }

    /// An edge whose contraction makes the tree no larger, and the vertex that stays.
    fn useless(&self, dims: &[usize]) -> Option<(usize, usize)> {
        let all = self.params(dims);
        (0..self.edges.len()).find_map(|e| {
            let (u, v, _) = self.edges[e];
            let mut merged = self.clone();
            merged.contract(e, u.min(v));
            (merged.params(dims) <= all).then_some((e, u.min(v)))
        })
    }

    /// Makes one vertex of the two of an edge.
    fn contract(&mut self, e: usize, keep: usize) {
        let (u, v, _) = self.edges.remove(e);
        let gone = if keep == u { v } else { u };
        self.modes[keep] |= self.modes[gone];
        self.modes.remove(gone);
        let moved = |x: usize| if x == gone { keep } else { x };
        let down = |x: usize| if x > gone { x - 1 } else { x };
        for (a, b, _) in &mut self.edges {
            (*a, *b) = (down(moved(*a)), down(moved(*b)));
        }
    }
}
