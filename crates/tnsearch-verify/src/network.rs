//! A network as plain numbers, and whether it is one.

use crate::Array;
use thiserror::Error;

/// A tensor network: a graph, the vertex of each mode, the rank of each edge, and the cores.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    /// The tensor's dimensions.
    pub dims: Vec<usize>,
    /// Whether each vertex may carry modes.
    pub external: Vec<bool>,
    /// The vertex of each mode.
    pub at: Vec<usize>,
    /// Each edge with its rank.
    pub edges: Vec<[usize; 3]>,
    /// The hub of a hyperedge, where there is one: it is 1 where the indices of all its edges agree, else 0. It carries no mode,
    /// every other vertex has one edge, to it, and all have one rank. Its core is the diagonal, a vector of ones.
    pub hub: Option<usize>,
    /// The core of each vertex: an axis for each of its edges, in their order, then one for each of its modes, in
    /// increasing order.
    pub cores: Vec<Array>,
}

/// Why something is no network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Not one vertex for each mode.
    #[error("{found} modes have a vertex; the tensor has {expected}")]
    Modes {
        /// Modes that have one.
        found: usize,
        /// Modes of the tensor.
        expected: usize,
    },
    /// A mode sits where none may.
    #[error("mode {mode} sits on vertex {vertex}, which {why}")]
    Place {
        /// The mode.
        mode: usize,
        /// Its vertex.
        vertex: usize,
        /// What is wrong with that.
        why: &'static str,
    },
    /// A vertex that may carry a mode has none.
    #[error("vertex {0} carries no mode")]
    Bare(usize),
    /// An edge that is none.
    #[error(
        "edge [{0},{1},{2}] is none: its ends are two vertices, its rank at least 1, and it stands once"
    )]
    Edge(usize, usize, usize),
    /// A hub that is none.
    #[error(
        "vertex {0} is no hub of a cp: it has no mode, an edge of one rank to every other vertex, and ones"
    )]
    Hub(usize),
    /// Not one core for each vertex.
    #[error("there are {found} cores for {expected} vertices")]
    Cores {
        /// Cores there are.
        found: usize,
        /// Vertices.
        expected: usize,
    },
    /// A core of another shape.
    #[error("the core of vertex {vertex} is {found:?}; its ranks and modes ask for {expected:?}")]
    Shape {
        /// The vertex.
        vertex: usize,
        /// The shape it has.
        found: Vec<usize>,
        /// The one it should have.
        expected: Vec<usize>,
    },
    /// An entry that is no number.
    #[error("entry {entry} of the core of vertex {vertex} is not finite")]
    NotFinite {
        /// The vertex.
        vertex: usize,
        /// The entry, row-major.
        entry: usize,
    },
}

impl Network {
    /// Checks that it is a network: every mode on a vertex that may carry it, every such vertex with a mode, edges
    /// between vertices, and cores of the shapes that follow, all finite.
    pub fn check(&self) -> Result<(), Malformed> {
        self.check_structure()?;
        let vertices = self.external.len();
        if self.cores.len() != vertices {
            return Err(Malformed::Cores { found: self.cores.len(), expected: vertices });
        }
        for (vertex, core) in self.cores.iter().enumerate() {
            let expected = self.core_dims(vertex);
            if core.dims != expected {
                let found = core.dims.clone();
                return Err(Malformed::Shape { vertex, found, expected });
            }
            if let Some(entry) = core.not_finite() {
                return Err(Malformed::NotFinite { vertex, entry });
            }
            let ones = core.re.iter().all(|x| *x == 1.0) && core.im.iter().all(|x| *x == 0.0);
            if self.hub == Some(vertex) && !ones {
                return Err(Malformed::Hub(vertex));
            }
        }
        Ok(())
    }

    /// The same without a look at the cores.
    pub fn check_structure(&self) -> Result<(), Malformed> {
        let vertices = self.external.len();
        if self.at.len() != self.dims.len() {
            return Err(Malformed::Modes { found: self.at.len(), expected: self.dims.len() });
        }
        for (mode, &vertex) in self.at.iter().enumerate() {
            let why = match self.external.get(vertex) {
                None => "is not there",
                Some(false) => "carries no mode",
                Some(true) => continue,
            };
            return Err(Malformed::Place { mode, vertex, why });
        }
        let bare = |v: &usize| self.external[*v] && !self.at.contains(v);
        if let Some(vertex) = (0..vertices).find(bare) {
            return Err(Malformed::Bare(vertex));
        }
        for (k, &[u, v, r]) in self.edges.iter().enumerate() {
            let twice =
                self.edges[..k].iter().any(|e| (e[0], e[1]) == (u, v) || (e[0], e[1]) == (v, u));
            if u == v || u >= vertices || v >= vertices || r == 0 || twice {
                return Err(Malformed::Edge(u, v, r));
            }
        }
        match self.hub {
            Some(hub) if !self.is_hub(hub) => Err(Malformed::Hub(hub)),
            _ => Ok(()),
        }
    }

    fn is_hub(&self, hub: usize) -> bool {
        let others = (0..self.external.len()).filter(|&v| v != hub);
        let joined = |v: usize| self.edges_at(v).count() == 1;
        self.external.get(hub) == Some(&false)
            && self.one_mode_each()
            && others.clone().all(|v| self.external[v] && joined(v))
            && self.edges.len() == others.count()
            && self.edges.iter().all(|e| e[..2].contains(&hub) && e[2] == self.edges[0][2])
    }

    /// Whether every vertex that may carry modes carries one.
    pub fn one_mode_each(&self) -> bool {
        (0..self.external.len()).all(|v| self.at.iter().filter(|&&at| at == v).count() <= 1)
    }

    /// The modes of a vertex, in increasing order.
    pub fn modes(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.at.len()).filter(move |&m| self.at[m] == vertex)
    }

    /// The edges of a vertex, in their order.
    pub fn edges_at(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.edges.len()).filter(move |&e| self.edges[e][..2].contains(&vertex))
    }

    /// The shape of a core.
    pub fn core_dims(&self, vertex: usize) -> Vec<usize> {
        let axes = if self.hub == Some(vertex) { 1 } else { usize::MAX };
        let ranks = self.edges_at(vertex).map(|e| self.edges[e][2]).take(axes);
        ranks.chain(self.modes(vertex).map(|m| self.dims[m])).collect()
    }

    /// The entries of all cores but a hub's, as ranks and dimensions say; none beyond 2^128.
    pub fn params(&self) -> Option<u128> {
        (0..self.external.len()).filter(|v| self.hub != Some(*v)).try_fold(0u128, |sum, v| {
            let size =
                self.core_dims(v).into_iter().try_fold(1u128, |n, d| n.checked_mul(d as u128))?;
            sum.checked_add(size)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> Network {
        let (dims, external, at) = (vec![2, 3, 4], vec![true; 3], vec![0, 1, 2]);
        Network {
            dims,
            external,
            at,
            edges: vec![[0, 1, 5], [1, 2, 7]],
            hub: None,
            cores: Vec::new(),
        }
    }

    #[test]
    fn edges_join_two_vertices_that_are_there_once() {
        assert_eq!(path().check_structure(), Ok(()));
        for [u, v, r] in
            [[0, 3, 1], [3, 0, 1], [1, 1, 1], [0, 1, 1], [1, 0, 1], [2, 1, 1], [0, 2, 0]]
        {
            let mut network = path();
            network.edges.push([u, v, r]);
            assert_eq!(network.check_structure(), Err(Malformed::Edge(u, v, r)));
        }
        let mut ring = path();
        ring.edges.push([0, 2, 1]);
        assert_eq!(ring.check_structure(), Ok(()));
        // A vertex that may carry no mode needs none.
        ring.external.push(false);
        assert_eq!((ring.check_structure(), ring.one_mode_each()), (Ok(()), true));
        ring.external[3] = true;
        assert_eq!(ring.check_structure(), Err(Malformed::Bare(3)));
        ring.external.pop();
        (ring.dims, ring.at) = (vec![2; 4], vec![0, 1, 2, 1]);
        assert_eq!((ring.check_structure(), ring.one_mode_each()), (Ok(()), false));
    }

    #[test]
    fn a_hub_has_no_entries_of_its_own() {
        let ones = Array::real(vec![2], vec![1.0; 2]).unwrap();
        let factor = |dim: usize| Array::real(vec![2, dim], vec![0.5; 2 * dim]).unwrap();
        let cp = Network {
            dims: vec![2, 3, 4],
            external: vec![true, true, true, false],
            at: vec![1, 0, 2],
            edges: vec![[0, 3, 2], [1, 3, 2], [2, 3, 2]],
            hub: Some(3),
            cores: vec![factor(3), factor(2), factor(4), ones],
        };
        assert_eq!((cp.check(), cp.params()), (Ok(()), Some(2 * 9)));
        let refused = |change: &dyn Fn(&mut Network)| {
            let mut other = cp.clone();
            change(&mut other);
            assert_eq!(other.check(), Err(Malformed::Hub(3)), "{other:?}");
        };
        refused(&|n| n.edges[1][2] = 3);
        refused(&|n| n.edges[1] = [0, 1, 2]);
        refused(&|n| n.cores[3].re[0] = 2.0);
        // Without its mark it would be a core of eight entries.
        let plain = Network { hub: None, ..cp };
        assert!(matches!(plain.check(), Err(Malformed::Shape { vertex: 3, .. })));
    }

    #[test]
    fn params_are_counted_up_to_the_largest_number() {
        assert_eq!(path().params(), Some(5 * 2 + 5 * 7 * 3 + 7 * 4));
        let of = |dims: &[usize], at: &[usize], vertices: usize| {
            let (dims, at, external) = (dims.to_vec(), at.to_vec(), vec![true; vertices]);
            Network { dims, external, at, edges: Vec::new(), hub: None, cores: Vec::new() }.params()
        };
        let most = usize::MAX;
        assert_eq!(of(&[most, most], &[0, 0], 1), Some((most as u128) * (most as u128)));
        assert_eq!(of(&[most, most, 2], &[0, 0, 0], 1), None);
        assert_eq!(of(&[most, most, most, most], &[0, 0, 1, 1], 2), None);
    }
}
