//! Canonical form: the same graph for every way of writing a structure.

use super::{ModeGraph, Structure};
use canonical_form::Canonize;

/// A structure's canonical form and how its template's vertices map onto it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// The edge-labelled graph on the modes.
    pub graph: ModeGraph,
    /// For each vertex of the template its vertex in `graph`; none for an internal vertex that lost
    /// all its edges (its core is a single number).
    pub vertex: Vec<Option<usize>>,
}

impl Structure {
    /// The canonical form: the edge-labelled graph on the modes without rank-1 edges and without the
    /// internal vertices that these leave alone, internal vertices numbered canonically. Two
    /// structures have equal `graph`s exactly when they are equal up to the names of the internal
    /// vertices.
    pub fn canonical(&self) -> Canonical {
        let mut vertex = vec![None; self.template().vertices()];
        if let Some(hub) = self.template().copy_vertex() {
            let graph = ModeGraph::cp(self.permutation().len(), self.ranks()[0]);
            self.permutation().iter().enumerate().for_each(|(n, &v)| vertex[v] = Some(n));
            vertex[hub] = graph.rank_of_cp().map(|_| graph.modes());
            return Canonical { graph, vertex };
        }
        let groups = self.number_external(&mut vertex);
        let external = self.template().order();
        let internal = self.number_internal(&mut vertex);
        let mut edges = Vec::with_capacity(self.ranks().len());
        for (&(u, v), &rank) in self.template().edges().iter().zip(self.ranks()) {
            if let (true, Some(u), Some(v)) = (rank > 1, vertex[u], vertex[v]) {
                edges.push((u.min(v), u.max(v), rank));
            }
        }
        edges.sort_unstable();
        let modes = self.permutation().len();
        let graph = ModeGraph::from_sorted((modes, groups), internal, edges);
        // A single internal vertex has only one name.
        if internal < 2 {
            return Canonical { graph, vertex };
        }
        let labelled = Labelled { vertices: graph.vertices(), edges: graph.edges().to_vec() };
        let name = labelled.morphism_to_canonical_typed(external);
        for v in vertex.iter_mut().flatten() {
            *v = name[*v];
        }
        let edges = labelled.apply_morphism(&name).edges;
        Canonical { graph: graph.with_sorted(edges), vertex }
    }

    /// Numbers the external vertices by the smallest mode that each carries; the modes of each where some carry
    /// several, else nothing.
    fn number_external(&self, vertex: &mut [Option<usize>]) -> Vec<Vec<usize>> {
        let grouped = self.is_grouped();
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut next = 0;
        for (n, &v) in self.permutation().iter().enumerate() {
            let k = *vertex[v].get_or_insert_with(|| {
                next += 1;
                next - 1
            });
            if grouped {
                groups.resize_with(next, Vec::new);
                groups[k].push(n);
            }
        }
        groups
    }

    /// Gives the internal vertices that have an edge of rank 2 or more the numbers after the external ones,
    /// in the template's order; returns how many there are.
    fn number_internal(&self, vertex: &mut [Option<usize>]) -> usize {
        let external = self.template().order();
        if vertex.len() == external {
            return 0;
        }
        let mut linked = vec![false; vertex.len()];
        for (&(u, v), &rank) in self.template().edges().iter().zip(self.ranks()) {
            if rank > 1 {
                (linked[u], linked[v]) = (true, true);
            }
        }
        let mut next = external;
        for (slot, linked) in vertex.iter_mut().zip(linked) {
            if slot.is_none() && linked {
                *slot = Some(next);
                next += 1;
            }
        }
        next - external
    }
}

/// An edge-labelled graph in the terms of the canonical-form crate, which tells vertices apart by
/// colour refinement with the ranks as edge colours and tries the rest one by one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Labelled {
    vertices: usize,
    edges: Vec<(usize, usize, usize)>,
}

impl Canonize for Labelled {
    fn size(&self) -> usize {
        self.vertices
    }

    fn apply_morphism(&self, p: &[usize]) -> Self {
        let renamed = self.edges.iter().map(|&(u, v, r)| (p[u].min(p[v]), p[u].max(p[v]), r));
        let mut edges: Vec<_> = renamed.collect();
        edges.sort_unstable();
        Labelled { vertices: self.vertices, edges }
    }

    fn invariant_neighborhood(&self, w: usize) -> impl Iterator<Item = (usize, u64)> {
        self.edges.iter().filter_map(move |&(u, v, r)| match w {
            _ if w == u => Some((v, r as u64)),
            _ if w == v => Some((u, r as u64)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{all, random, shuffled};
    use super::super::{Template, families};
    use super::*;
    use crate::rng::{Rng, stream};
    use rand::RngExt as _;
    use std::collections::HashMap;
    use std::sync::Arc;

    /// The structure with the template's internal vertices renamed, which is the same structure.
    fn renamed(s: &Structure, rng: &mut Rng) -> Structure {
        let t = s.template();
        let internal: Vec<usize> = (0..t.vertices()).filter(|&v| !t.is_external(v)).collect();
        let order = shuffled(internal.len(), rng);
        let mut name: Vec<usize> = (0..t.vertices()).collect();
        for (&v, &k) in internal.iter().zip(&order) {
            name[v] = internal[k];
        }
        rename(s, &name)
    }

    /// The structure with vertex `v` of the template called `name[v]`.
    fn rename(s: &Structure, name: &[usize]) -> Structure {
        let t = s.template();
        let mut external = vec![false; t.vertices()];
        for v in t.external_vertices() {
            external[name[v]] = true;
        }
        let edges = t.edges().iter().map(|&(u, v)| (name[u], name[v])).collect();
        let new = Arc::new(Template::from_graph("renamed", external, edges).unwrap());
        let mut ranks = vec![0; s.ranks().len()];
        for (&(u, v), &r) in t.edges().iter().zip(s.ranks()) {
            let (a, b) = (name[u].min(name[v]), name[u].max(name[v]));
            ranks[new.edges().binary_search(&(a, b)).unwrap()] = r;
        }
        let permutation = s.permutation().iter().map(|&v| name[v]).collect();
        Structure::new(new, permutation, ranks).unwrap()
    }

    /// The least edge list over all names of the internal vertices: canonical by definition.
    fn brute_force(g: &ModeGraph) -> Vec<(usize, usize, usize)> {
        let labelled = Labelled { vertices: g.vertices(), edges: g.edges().to_vec() };
        let mut name: Vec<usize> = (0..g.vertices()).collect();
        let mut best = labelled.edges.clone();
        visit(&mut name, g.external(), &mut |p| {
            best = best.clone().min(labelled.apply_morphism(p).edges)
        });
        best
    }

    fn visit(p: &mut [usize], from: usize, f: &mut impl FnMut(&[usize])) {
        if from == p.len() {
            return f(p);
        }
        for k in from..p.len() {
            p.swap(from, k);
            visit(p, from + 1, f);
            p.swap(from, k);
        }
    }

    /// `vertex` maps the structure's edges of rank 2 and more onto those of `graph`.
    fn check_map(s: &Structure, c: &Canonical) {
        for (n, &v) in s.permutation().iter().enumerate() {
            assert_eq!(c.vertex[v], Some(n));
        }
        let mut used: Vec<usize> = c.vertex.iter().flatten().copied().collect();
        used.sort_unstable();
        assert_eq!(used, (0..c.graph.vertices()).collect::<Vec<_>>());
        let edges = s.edges().into_iter().filter(|e| e[2] > 1);
        let mapped = edges.map(|[u, v, r]| (c.vertex[u].unwrap(), c.vertex[v].unwrap(), r));
        let rebuilt = ModeGraph::new(s.permutation().len(), c.graph.internal(), mapped.collect());
        assert_eq!(rebuilt, c.graph);
    }

    /// A random connected graph, its first vertices external.
    fn random_template(
        modes: usize,
        internal: usize,
        density: f64,
        rng: &mut Rng,
    ) -> Arc<Template> {
        let n = modes + internal;
        loop {
            let pairs = (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)));
            let edges = pairs.filter(|_| rng.random_bool(density)).collect();
            let external = (0..n).map(|v| v < modes).collect();
            if let Ok(t) = Template::from_graph("random", external, edges) {
                return Arc::new(t);
            }
        }
    }

    #[test]
    fn names_of_internal_vertices_do_not_matter() {
        let mut rng = stream(1, b"canonical");
        for order in 2..=10 {
            for template in all(order) {
                let template = Arc::new(template);
                for max_rank in [1, 2, 4] {
                    let s = random(&template, max_rank, &mut rng);
                    let c = s.canonical();
                    check_map(&s, &c);
                    let other = renamed(&s, &mut rng);
                    assert_eq!(other.canonical().graph, c.graph, "{}", template.name());
                }
            }
        }
    }

    #[test]
    fn equal_exactly_when_brute_force_says_so() {
        let mut rng = stream(2, b"canonical");
        for (modes, internal) in [(2, 2), (2, 3), (3, 3), (2, 4), (3, 4), (2, 5), (4, 5)] {
            let mut key_of = HashMap::new();
            let mut class_of = HashMap::new();
            for round in 0..150 {
                let density = [0.3, 0.5, 0.8][round % 3];
                let template = random_template(modes, internal, density, &mut rng);
                let s = random(&template, 2, &mut rng);
                let c = s.canonical();
                check_map(&s, &c);
                assert_eq!(renamed(&s, &mut rng).canonical().graph, c.graph);
                let class = (c.graph.internal(), brute_force(&c.graph));
                assert_eq!(
                    key_of.entry(class.clone()).or_insert_with(|| c.graph.clone()),
                    &c.graph
                );
                assert_eq!(class_of.entry(c.graph).or_insert_with(|| class.clone()), &class);
            }
        }
    }

    #[test]
    fn symmetric_internal_parts_are_canonical() {
        let mut rng = stream(3, b"canonical");
        // Two modes joined through k twin vertices; an internal cycle, a clique and the cube hanging
        // on two modes: the internal vertices are hard or impossible to tell apart.
        let mut graphs: Vec<(usize, Vec<(usize, usize)>)> = Vec::new();
        for k in 2..=7 {
            graphs.push((k, (2..2 + k).flat_map(|v| [(0, v), (1, v)]).collect()));
        }
        for k in 3..=8 {
            let cycle = (0..k).map(|i| (2 + i, 2 + (i + 1) % k));
            graphs.push((k, cycle.clone().chain([(0, 2), (1, 2)]).collect()));
            graphs.push((k, cycle.chain((0..k).map(|i| (0, 2 + i))).chain([(0, 1)]).collect()));
        }
        let clique = (2..8).flat_map(|u| (u + 1..8).map(move |v| (u, v)));
        graphs.push((6, clique.chain([(0, 2), (0, 1)]).collect()));
        let cube = (0..8).flat_map(|v: usize| [1, 2, 4].map(|b| (v, v ^ b))).filter(|e| e.0 < e.1);
        graphs.push((8, cube.map(|(u, v)| (u + 2, v + 2)).chain([(0, 2), (0, 1)]).collect()));
        for (internal, edges) in graphs {
            let external = (0..internal + 2).map(|v| v < 2).collect();
            let template = Arc::new(Template::from_graph("symmetric", external, edges).unwrap());
            for max_rank in [2, 2, 3] {
                let mut s = random(&template, max_rank, &mut rng);
                if max_rank == 3 {
                    // All edges alike: the full symmetry.
                    s = Structure::identity(template.clone(), vec![3; s.ranks().len()]).unwrap();
                }
                let c = s.canonical();
                check_map(&s, &c);
                for _ in 0..10 {
                    assert_eq!(renamed(&s, &mut rng).canonical().graph, c.graph);
                }
            }
        }
    }

    #[test]
    fn permutations_that_write_the_same_ring_are_one() {
        let ring = Arc::new(Template::ring(4).unwrap());
        // Edges (0,1) (0,3) (1,2) (2,3).
        let a = Structure::new(ring.clone(), vec![0, 1, 2, 3], vec![2, 5, 3, 4]).unwrap();
        let b = Structure::new(ring.clone(), vec![1, 2, 3, 0], vec![5, 4, 2, 3]).unwrap();
        let c = Structure::new(ring, vec![1, 0, 2, 3], vec![2, 5, 3, 4]).unwrap();
        assert_eq!(a.canonical().graph, b.canonical().graph);
        assert_ne!(a.canonical().graph, c.canonical().graph);
        assert_eq!(a.canonical().graph.to_string(), "4+0:0-1x2,0-3x5,1-2x3,2-3x4");
    }

    #[test]
    fn counts_parameters_as_the_structure_does() {
        let mut rng = stream(4, b"canonical");
        for order in 2..=10 {
            for template in families::tests::all(order) {
                let s = random(&Arc::new(template), 4, &mut rng);
                let dims: Vec<usize> = (0..order).map(|_| rng.random_range(1..6)).collect();
                let c = s.canonical();
                let dropped = c.vertex.iter().filter(|v| v.is_none()).count();
                assert_eq!(c.graph.params(&dims) + dropped as u128, s.params(&dims));
            }
        }
    }
}
