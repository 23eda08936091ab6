//! The automorphism group of a graph, by individualisation and refinement.
//!
//! Vertices are told apart one after the other until all are (the *base*). From the deepest level up, each
//! vertex that looks like the level's base vertex is tried as its image; a symmetry found becomes a generator,
//! and what known generators reach is not tried again. The sizes of the orbits multiply to the group's order
//! (orbit-stabiliser theorem). Every generator is checked against the graph, so fingerprints that collide
//! cannot make a wrong one; exhausting the other choices makes the order exact.

use super::partition::Partition;
use super::{ColouredGraph, Elements, GeometryError};
use num_bigint::BigUint;

/// Graphs with more vertices are refused (some n^2 numbers are held).
const MAX_VERTICES: usize = 2048;

/// Vertices told apart in one search; graphs of networks need a few thousand.
const MAX_STEPS: usize = 500_000;

/// The symmetries of a graph.
///
/// ```
/// use tnsearch::geometry::{ColouredGraph, Internal};
/// use tnsearch::graph::Template;
/// let ring = ColouredGraph::of_template(&Template::ring(8).unwrap(), Internal::Free);
/// let group = ring.automorphisms().unwrap();
/// assert_eq!(group.order().to_string(), "16");
/// assert!(group.contains(&[1, 2, 3, 4, 5, 6, 7, 0]));
/// assert_eq!(group.elements(100).unwrap().count(), 16);
/// ```
#[derive(Debug, Clone)]
pub struct Automorphisms {
    graph: ColouredGraph,
    order: BigUint,
    /// Base vertices whose orbit is larger than 1.
    base: Vec<usize>,
    /// Generators with the number of base vertices that each fixes.
    generators: Vec<(usize, Vec<usize>)>,
    orbit: Vec<usize>,
}

impl ColouredGraph {
    /// Finds the graph's symmetries.
    pub fn automorphisms(&self) -> Result<Automorphisms, GeometryError> {
        let vertices = self.vertices();
        if vertices > MAX_VERTICES {
            return Err(GeometryError::TooLarge { vertices, limit: MAX_VERTICES });
        }
        let mut search = Search::new(self);
        let mut joined = Joined::new(vertices);
        let mut order = BigUint::from(1u32);
        let mut generators: Vec<(usize, Vec<usize>)> = Vec::new();
        for level in (0..search.levels.len()).rev() {
            let Level { base, cell, .. } = search.levels[level];
            let candidates = search.levels[level].partition.cell(cell).to_vec();
            let mut failed: Vec<usize> = Vec::new();
            for v in candidates.into_iter().map(|v| v as usize) {
                let root = joined.root(v);
                let known = root == joined.root(base);
                if known || failed.iter().any(|&u| joined.root(u) == root) {
                    continue;
                }
                match search.symmetry(level, v)? {
                    Some(p) => {
                        (0..vertices).for_each(|u| joined.join(u, p[u]));
                        generators.push((level, p));
                    }
                    None => failed.push(v),
                }
            }
            order *= joined.size(base);
        }
        // Levels whose base vertex cannot move say nothing.
        let moving: Vec<usize> =
            (0..search.levels.len()).filter(|l| generators.iter().any(|g| g.0 == *l)).collect();
        let base = moving.iter().map(|&l| search.levels[l].base).collect();
        for (level, _) in &mut generators {
            *level = moving.iter().take_while(|m| *m < level).count();
        }
        let orbit = joined.lowest();
        Ok(Automorphisms { graph: self.clone(), order, base, generators, orbit })
    }
}

impl Automorphisms {
    /// The number of symmetries, |Aut(G)|.
    pub fn order(&self) -> &BigUint {
        &self.order
    }

    /// Symmetries from which all others are composed; vertex `v` goes to `p[v]`.
    pub fn generators(&self) -> impl Iterator<Item = &[usize]> {
        self.generators.iter().map(|(_, p)| p.as_slice())
    }

    /// Whether a map of the vertices is a symmetry.
    pub fn contains(&self, p: &[usize]) -> bool {
        self.graph.is_automorphism(p)
    }

    /// For each vertex the lowest vertex that a symmetry maps it to.
    pub fn orbits(&self) -> &[usize] {
        &self.orbit
    }

    /// All symmetries, one after the other; refused where there are more than `limit`.
    pub fn elements(&self, limit: u64) -> Result<Elements, GeometryError> {
        if self.order > BigUint::from(limit) {
            return Err(GeometryError::too_many("symmetries", &self.order, limit));
        }
        Ok(Elements::new(self.graph.vertices(), &self.base, &self.generators))
    }
}

struct Level {
    /// The partition before `base` is told apart.
    partition: Partition,
    base: usize,
    /// The name of its cell.
    cell: usize,
    /// The fingerprint of telling it apart.
    print: u64,
}

struct Search<'g> {
    graph: &'g ColouredGraph,
    levels: Vec<Level>,
    /// All vertices told apart.
    discrete: Partition,
    steps: usize,
}

impl<'g> Search<'g> {
    fn new(graph: &'g ColouredGraph) -> Search<'g> {
        let mut partition = Partition::new(graph);
        let mut levels = Vec::new();
        while let Some(cell) = partition.target() {
            let base = partition.cell(cell).iter().map(|&v| v as usize).min().unwrap_or(0);
            let before = partition.clone();
            let print = partition.individualise(graph, base);
            levels.push(Level { partition: before, base, cell, print });
        }
        Search { graph, levels, discrete: partition, steps: 0 }
    }

    /// A symmetry that fixes the base before `level` and maps the base vertex there to `image`.
    fn symmetry(
        &mut self,
        level: usize,
        image: usize,
    ) -> Result<Option<Vec<usize>>, GeometryError> {
        let partition = self.levels[level].partition.clone();
        self.try_image(level, &partition, image)
    }

    fn try_image(
        &mut self,
        level: usize,
        partition: &Partition,
        image: usize,
    ) -> Result<Option<Vec<usize>>, GeometryError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let vertices = self.graph.vertices();
            return Err(GeometryError::TooHard { vertices, steps: MAX_STEPS });
        }
        let mut partition = partition.clone();
        if partition.individualise(self.graph, image) != self.levels[level].print {
            return Ok(None);
        }
        let next = level + 1;
        let left = self.levels.get(next).map_or(&self.discrete, |l| &l.partition);
        // Mostly what is not told apart yet may as well stay where it is.
        if let Some(map) = left.map_to(&partition)
            && self.graph.is_automorphism(&map)
        {
            return Ok(Some(map));
        }
        let Some(Level { base, cell, .. }) = self.levels.get(next) else { return Ok(None) };
        let (base, mut images) = (*base, partition.cell(*cell).to_vec());
        images.sort_unstable_by_key(|&v| (v as usize != base, v));
        for v in images {
            if let Some(map) = self.try_image(next, &partition, v as usize)? {
                return Ok(Some(map));
            }
        }
        Ok(None)
    }
}

/// Sets that are joined: the orbits.
struct Joined {
    parent: Vec<usize>,
    size: Vec<usize>,
}

impl Joined {
    fn new(n: usize) -> Joined {
        Joined { parent: (0..n).collect(), size: vec![1; n] }
    }

    fn root(&mut self, mut v: usize) -> usize {
        while self.parent[v] != v {
            self.parent[v] = self.parent[self.parent[v]];
            v = self.parent[v];
        }
        v
    }

    fn join(&mut self, u: usize, v: usize) {
        let (u, v) = (self.root(u), self.root(v));
        if u != v {
            let (u, v) = (u.min(v), u.max(v));
            self.parent[v] = u;
            self.size[u] += self.size[v];
        }
    }

    fn size(&mut self, v: usize) -> usize {
        let root = self.root(v);
        self.size[root]
    }

    /// The lowest member of each one's set (the root, since the lower root stays).
    fn lowest(mut self) -> Vec<usize> {
        (0..self.parent.len()).map(|v| self.root(v)).collect()
    }
}
