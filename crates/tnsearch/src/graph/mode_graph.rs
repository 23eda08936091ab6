//! The canonical form of a structure: an edge-labelled graph on the modes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A structure written on the modes themselves: vertex `n < modes` carries mode `n`, the vertices
/// `modes..modes + internal` carry none, edges are `(u, v, rank)` with `u < v` and `rank >= 2`, sorted.
///
/// Where some vertices carry several modes, the modes fall into *groups*, ordered by their smallest mode, and vertex
/// `k < external` carries group `k`: the graph is a plain one on the groups ([`ModeGraph::plain`]), each of them one
/// mode as long as its modes together ([`ModeGraph::merged_dims`]).
///
/// Two structures are equal when their mode graphs are; this is the key of caches and journals, and
/// the form in which a structure is fitted, so that every way of writing a structure gives the same
/// cores.
///
/// ```
/// use tnsearch::graph::ModeGraph;
/// // Modes 0 and 2 on one vertex, mode 1 on another.
/// let graph = ModeGraph::grouped(vec![vec![0, 2], vec![1]], 0, vec![(0, 1, 3)]);
/// assert_eq!(graph.to_string(), "3+0/0.2,1:0-1x3");
/// assert_eq!(graph.core_dims(0, &[5, 6, 7]), [3, 5, 7]);
/// assert_eq!((graph.plain().to_string().as_str(), graph.merged_dims(&[5, 6, 7])), ("2+0:0-1x3", vec![35, 6]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModeGraph {
    modes: usize,
    internal: usize,
    edges: Vec<(usize, usize, usize)>,
    /// The modes of each external vertex; empty where each carries the mode of its own number.
    groups: Vec<Vec<usize>>,
    /// Whether the one internal vertex is a copy vertex, joined to every mode.
    copies: bool,
}

impl ModeGraph {
    /// A mode graph from its edges, which are brought into order; edges of rank 1 are dropped.
    ///
    /// # Panics
    /// If an edge names a vertex that is not there, or a vertex twice, or has rank 0.
    pub fn new(modes: usize, internal: usize, edges: Vec<(usize, usize, usize)>) -> Self {
        let copies = false;
        ModeGraph { modes, internal, edges: Vec::new(), groups: Vec::new(), copies }
            .with_edges(edges)
    }

    /// A mode graph whose vertex `k` carries the modes `groups[k]`, and from `groups.len()` on none. The groups are
    /// brought into order, and the vertices with them.
    ///
    /// # Panics
    /// If the groups are not each mode once, one is empty, or the edges are as [`ModeGraph::new`] refuses them.
    pub fn grouped(
        groups: Vec<Vec<usize>>,
        internal: usize,
        edges: Vec<(usize, usize, usize)>,
    ) -> Self {
        let modes = groups.iter().map(Vec::len).sum();
        let mut ordered: Vec<(Vec<usize>, usize)> = groups.into_iter().zip(0..).collect();
        ordered.iter_mut().for_each(|(group, _)| group.sort_unstable());
        ordered.sort_unstable();
        let external = ordered.len();
        let name = |v: usize| ordered.iter().position(|(_, old)| *old == v).unwrap_or(v);
        let edges = edges.into_iter().map(|(u, v, r)| (name(u), name(v), r)).collect();
        let groups: Vec<Vec<usize>> = ordered.into_iter().map(|(group, _)| group).collect();
        assert!(is_partition(&groups, modes), "bad groups {groups:?}");
        let groups = if external == modes { Vec::new() } else { groups };
        let copies = false;
        ModeGraph { modes, internal, edges: Vec::new(), groups, copies }.with_edges(edges)
    }

    /// The same vertices with other edges, which are brought into order; edges of rank 1 are dropped.
    ///
    /// # Panics
    /// As [`ModeGraph::new`].
    pub fn with_edges(&self, edges: Vec<(usize, usize, usize)>) -> Self {
        let mut edges: Vec<_> = edges
            .into_iter()
            .filter(|e| e.2 != 1)
            .map(|(u, v, r)| (u.min(v), u.max(v), r))
            .collect();
        edges.sort_unstable();
        for &(u, v, r) in &edges {
            assert!(u < v && v < self.vertices() && r > 1, "bad edge ({u}, {v}, {r})");
        }
        assert!(
            edges.windows(2).all(|w| (w[0].0, w[0].1) != (w[1].0, w[1].1)),
            "an edge stands twice"
        );
        self.with_sorted(edges)
    }

    /// A mode graph from groups (none: one mode each) and edges that are in order already.
    pub(super) fn from_sorted(
        (modes, groups): (usize, Vec<Vec<usize>>),
        internal: usize,
        edges: Vec<(usize, usize, usize)>,
    ) -> Self {
        debug_assert!(groups.is_empty() || is_partition(&groups, modes));
        let graph = ModeGraph { modes, internal, edges, groups, copies: false };
        debug_assert!(graph.edges.iter().all(|&(u, v, r)| u < v && v < graph.vertices() && r > 1));
        debug_assert!(graph.edges.windows(2).all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1)));
        graph
    }

    /// The same vertices with other edges that are in order already.
    pub(super) fn with_sorted(&self, edges: Vec<(usize, usize, usize)>) -> Self {
        let graph = Self::from_sorted((self.modes, self.groups.clone()), self.internal, edges);
        ModeGraph { copies: self.copies, ..graph }
    }

    /// All modes joined by one hyperedge of rank R, which is drawn as a hub ([`Template::copy_vertex`](super::Template)):
    /// `Z[i, j, ...] = sum over r of A[r, i] B[r, j] ...`. Between two modes that is an edge, and with R = 1 nothing.
    ///
    /// ```
    /// use tnsearch::graph::ModeGraph;
    /// let cp = ModeGraph::cp(4, 3);
    /// assert_eq!((cp.to_string().as_str(), cp.rank_of_cp()), ("4+0:0-1-2-3x3", Some(3)));
    /// assert_eq!((cp.params(&[5; 4]), ModeGraph::cp(2, 3)), (60, ModeGraph::new(2, 0, vec![(0, 1, 3)])));
    /// ```
    ///
    /// # Panics
    /// If there are fewer than two modes, or the rank is 0.
    pub fn cp(modes: usize, rank: usize) -> Self {
        assert!(modes > 1 && rank > 0, "bad cp of {modes} modes and rank {rank}");
        match modes {
            _ if rank == 1 => ModeGraph::new(modes, 0, Vec::new()),
            2 => ModeGraph::new(2, 0, vec![(0, 1, rank)]),
            _ => {
                let edges = (0..modes).map(|n| (n, modes, rank)).collect();
                ModeGraph { copies: true, ..ModeGraph::new(modes, 1, edges) }
            }
        }
    }

    /// The rank of the hyperedge, where the modes are joined by one. (Not where it is a plain edge, or none.)
    pub fn rank_of_cp(&self) -> Option<usize> {
        self.edges.first().filter(|_| self.copies).map(|e| e.2)
    }

    /// The number of modes.
    pub fn modes(&self) -> usize {
        self.modes
    }

    /// The number of vertices with a mode: that of the modes, unless some carry several.
    pub fn external(&self) -> usize {
        if self.groups.is_empty() { self.modes } else { self.groups.len() }
    }

    /// The number of vertices without a mode.
    pub fn internal(&self) -> usize {
        self.internal
    }

    /// All vertices: those with a mode first.
    pub fn vertices(&self) -> usize {
        self.external() + self.internal
    }

    /// Whether some vertex carries several modes.
    pub fn is_grouped(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Whether no edges make a cycle; a hyperedge is none of a forest's.
    pub fn is_forest(&self) -> bool {
        if self.copies {
            return false;
        }
        let mut part: Vec<usize> = (0..self.vertices()).collect();
        self.edges().iter().all(|&(u, v, _)| {
            let (p, q) = (part[u], part[v]);
            part.iter_mut().filter(|x| **x == q).for_each(|x| *x = p);
            p != q
        })
    }

    /// The modes of each vertex that carries some, in increasing order.
    pub fn groups(&self) -> Vec<Vec<usize>> {
        (0..self.external()).map(|v| self.modes_at(v)).collect()
    }

    /// The modes of a vertex, in increasing order.
    pub fn modes_at(&self, vertex: usize) -> Vec<usize> {
        match self.groups.get(vertex) {
            Some(group) => group.clone(),
            None if vertex < self.external() => vec![vertex],
            None => Vec::new(),
        }
    }

    /// The vertex of each mode.
    pub fn vertex_of_modes(&self) -> Vec<usize> {
        let mut vertex: Vec<usize> = (0..self.modes).collect();
        for (v, group) in self.groups.iter().enumerate() {
            group.iter().for_each(|&n| vertex[n] = v);
        }
        vertex
    }

    /// The graph with each group as one mode: what is fitted, on a tensor of [`ModeGraph::merged_dims`].
    pub fn plain(&self) -> Cow<'_, ModeGraph> {
        match self.is_grouped() {
            false => Cow::Borrowed(self),
            true => Cow::Owned(ModeGraph {
                modes: self.groups.len(),
                internal: self.internal,
                edges: self.edges.clone(),
                groups: Vec::new(),
                copies: self.copies,
            }),
        }
    }

    /// A plain graph on the groups of this one, as [`ModeGraph::plain`] is, with its modes as groups again.
    ///
    /// # Panics
    /// If it has another number of modes than this one has external vertices.
    pub fn regrouped(&self, plain: &ModeGraph) -> ModeGraph {
        assert_eq!(plain.modes, self.external(), "one mode for each group");
        ModeGraph { modes: self.modes, groups: self.groups.clone(), ..plain.clone() }
    }

    /// The dimension of each vertex with modes: the product of theirs (saturating).
    ///
    /// # Panics
    /// If `dims` has fewer entries than there are modes.
    pub fn merged_dims(&self, dims: &[usize]) -> Vec<usize> {
        match self.is_grouped() {
            false => dims[..self.modes].to_vec(),
            true => {
                let held =
                    |g: &Vec<usize>| g.iter().fold(1usize, |d, &n| d.saturating_mul(dims[n]));
                self.groups.iter().map(held).collect()
            }
        }
    }

    /// The edges `(u, v, rank)`, `u < v`, `rank >= 2`, sorted.
    pub fn edges(&self) -> &[(usize, usize, usize)] {
        &self.edges
    }

    /// The edges at a vertex, as indices into [`ModeGraph::edges`], in order.
    pub fn incident(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.edges.len())
            .filter(move |&e| self.edges[e].0 == vertex || self.edges[e].1 == vertex)
    }

    /// The shape of the core at a vertex: its edges in order, then one axis for each of its modes. At the hub of a hyperedge
    /// the diagonal alone, which is one axis of ones.
    pub fn core_dims(&self, vertex: usize, dims: &[usize]) -> Vec<usize> {
        let copies = self.copies && vertex == self.modes;
        let edges = self.incident(vertex).map(|e| self.edges[e].2);
        // One index for all.
        let edges = edges.take(if copies { 1 } else { usize::MAX });
        edges.chain(self.modes_at(vertex).into_iter().map(|n| dims[n])).collect()
    }

    /// The ranks that are of use, in the order of the edges. At a vertex of dimension d (1 without a mode) whose
    /// other edges have the ranks s, t, ..., an edge cannot carry more than `d s t ...`: any tensor of this graph
    /// is one of the same graph with the rank cut down to that, and so on until nothing changes.
    pub fn useful_ranks(&self, dims: &[usize]) -> Vec<usize> {
        let dims = self.merged_dims(dims);
        if let Some(rank) = self.rank_of_cp() {
            return vec![rank.min(super::most_terms(&dims)); self.edges.len()];
        }
        let mut ranks: Vec<usize> = self.edges.iter().map(|e| e.2).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for vertex in 0..self.vertices() {
                let dim = dims.get(vertex).copied().unwrap_or(1);
                for edge in self.incident(vertex) {
                    let others = self.incident(vertex).filter(|&e| e != edge);
                    let held = others.fold(dim, |held, e| held.saturating_mul(ranks[e]));
                    if held < ranks[edge] {
                        ranks[edge] = held;
                        changed = true;
                    }
                }
            }
        }
        ranks
    }

    /// The number of entries of all cores (saturating); internal vertices that lost all their edges
    /// are not in the graph and not counted.
    ///
    /// # Panics
    /// If `dims` has fewer entries than there are modes.
    pub fn params(&self, dims: &[usize]) -> u128 {
        let mut size = vec![1u128; self.vertices()];
        let dims = &dims[..self.modes];
        match self.is_grouped() {
            false => size.iter_mut().zip(dims).for_each(|(s, &d)| *s = d as u128),
            true => {
                for (s, group) in size.iter_mut().zip(&self.groups) {
                    *s = group.iter().fold(1, |s, &n| u128::saturating_mul(s, dims[n] as u128));
                }
            }
        }
        for &(u, v, r) in &self.edges {
            size[u] = size[u].saturating_mul(r as u128);
            size[v] = size[v].saturating_mul(r as u128);
        }
        if self.copies {
            size.truncate(self.modes);
        }
        size.into_iter().fold(0, u128::saturating_add)
    }

    /// The graph as bytes: equal graphs, equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

impl fmt::Display for ModeGraph {
    /// `4+0:0-1x3,0-3x2,...`: modes, internal vertices, edges with their ranks. Where vertices carry several modes,
    /// `4+0/0.2,1,3:0-1x3,...`: the modes of each vertex after the internal ones. A hyperedge of all modes is
    /// `4+0:0-1-2-3x5`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rank) = self.rank_of_cp() {
            write!(f, "{}+0:0", self.modes)?;
            (1..self.modes).try_for_each(|n| write!(f, "-{n}"))?;
            return write!(f, "x{rank}");
        }
        write!(f, "{}+{}", self.modes, self.internal)?;
        for (k, group) in self.groups.iter().enumerate() {
            f.write_str(if k == 0 { "/" } else { "," })?;
            for (k, n) in group.iter().enumerate() {
                write!(f, "{}{n}", if k == 0 { "" } else { "." })?;
            }
        }
        f.write_str(":")?;
        for (k, (u, v, r)) in self.edges.iter().enumerate() {
            write!(f, "{}{u}-{v}x{r}", if k == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl FromStr for ModeGraph {
    type Err = String;

    /// Reads what [`ModeGraph`] writes; the message says what is wrong.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("'{text}' is no mode graph such as 3+0:0-1x2,1-2x4");
        let number = |word: &str| word.parse::<usize>().map_err(|_| bad());
        let (head, tail) = text.split_once(':').ok_or_else(bad)?;
        let (modes, internal) = head.split_once('+').ok_or_else(bad)?;
        let (internal, groups) = match internal.split_once('/') {
            None => (internal, Vec::new()),
            Some((internal, groups)) => {
                let group = |word: &str| word.split('.').map(number).collect();
                (internal, groups.split(',').map(group).collect::<Result<Vec<_>, _>>()?)
            }
        };
        let (modes, internal) = (number(modes)?, number(internal)?);
        let grouped = groups.len() < modes && is_partition(&groups, modes);
        if !groups.is_empty() && !grouped {
            return Err(bad());
        }
        let external = if groups.is_empty() { modes } else { groups.len() };
        let vertices = external.checked_add(internal).ok_or_else(bad)?;
        if let Some((ends, rank)) = tail.split_once('x').filter(|t| t.0.matches('-').count() > 1) {
            let ends: Vec<usize> = ends.split('-').map(number).collect::<Result<_, _>>()?;
            let rank = number(rank)?;
            let all = ends.into_iter().eq(0..modes) && groups.is_empty() && internal == 0;
            return if all && rank > 1 { Ok(ModeGraph::cp(modes, rank)) } else { Err(bad()) };
        }
        let mut edges: Vec<(usize, usize, usize)> = Vec::new();
        for word in tail.split(',').filter(|word| !word.is_empty()) {
            let (ends, rank) = word.split_once('x').ok_or_else(bad)?;
            let (u, v) = ends.split_once('-').ok_or_else(bad)?;
            let edge = (number(u)?, number(v)?, number(rank)?);
            let in_order = edges.last().is_none_or(|last| (last.0, last.1) < (edge.0, edge.1));
            if !(edge.0 < edge.1 && edge.1 < vertices && edge.2 > 1 && in_order) {
                return Err(bad());
            }
            edges.push(edge);
        }
        Ok(ModeGraph { modes, internal, edges, groups, copies: false })
    }
}

/// Whether the groups are each of the modes once, each in increasing order and all by their smallest mode.
fn is_partition(groups: &[Vec<usize>], modes: usize) -> bool {
    let increasing = groups.iter().all(|g| !g.is_empty() && g.windows(2).all(|w| w[0] < w[1]));
    let mut seen: Vec<usize> = groups.concat();
    seen.sort_unstable();
    increasing && groups.windows(2).all(|w| w[0][0] < w[1][0]) && seen.into_iter().eq(0..modes)
}

impl Serialize for ModeGraph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModeGraph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_is_read_as_it_is_written() {
        let graph = ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 12), (0, 1, 5)]);
        assert_eq!(graph.to_string().parse(), Ok(graph.clone()));
        assert_eq!("2+0:".parse(), Ok(ModeGraph::new(2, 0, vec![])));
        assert_eq!("3+0:0-1-2x4".parse(), Ok(ModeGraph::cp(3, 4)));
        let grouped =
            ModeGraph::grouped(vec![vec![3, 1], vec![2, 0]], 1, vec![(0, 1, 5), (0, 2, 3)]);
        assert_eq!(grouped.to_string(), "4+1/0.2,1.3:0-1x5,1-2x3");
        assert_eq!(grouped.to_string().parse(), Ok(grouped));
        assert_eq!("3+0/0.1.2:".parse(), Ok(ModeGraph::grouped(vec![vec![0, 1, 2]], 0, vec![])));
        let json = serde_json::to_string(&graph).unwrap();
        assert_eq!(serde_json::from_str::<ModeGraph>(&json).unwrap(), graph);
        for bad in
            ["", "3", "3+0", "2+0:0-1", "2+0:0-2x3", "2+0:1-0x3", "2+0:0-1x1", "3+0:1-2x2,0-1x2"]
                .into_iter()
                .chain([
                    "3+0/:",
                    "3+0/0.1:",
                    "3+0/0,1,2:",
                    "3+0/0.1,1.2:",
                    "3+0/1,0.2:",
                    "3+0/2.0,1:",
                ])
                .chain([
                    "3+0:0-1-2x1",
                    "3+1:0-1-2x2",
                    "4+0:0-1-2x2",
                    "3+0:0-2-1x2",
                    "3+0:0-1-2x2,0-1x2",
                ])
                .chain(["3+0/0.3,1:", "3+0/0,,1.2:", "3+0/0.1,2:1-2x3", "0+0/:", "3+0/0.1,2/:"])
        {
            assert!(bad.parse::<ModeGraph>().is_err(), "{bad}");
        }
    }
}
