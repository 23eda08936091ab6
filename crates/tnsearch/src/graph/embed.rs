//! Whether a mode graph has the format of a template.

use super::{ModeGraph, Structure, Template};
use std::sync::Arc;

/// Vertices tried before the question is given up.
const STEPS: u64 = 10_000_000;

impl Template {
    /// Whether a mode graph (which has no rank-1 edges) is a subgraph of the template under some permutation:
    /// its modes on external vertices, its internal vertices on internal ones, every edge on an edge. None
    /// where that could not be decided in ten million steps (it is a hard question for large lattices). A graph with
    /// several modes at a vertex is in no template, whose vertices carry one each.
    ///
    /// ```
    /// use tnsearch::graph::{ModeGraph, Template};
    /// let ring = Template::ring(4).unwrap();
    /// let path = ModeGraph::new(4, 0, vec![(0, 2, 3), (2, 1, 2), (1, 3, 2)]);
    /// let star = ModeGraph::new(4, 0, vec![(0, 1, 2), (0, 2, 2), (0, 3, 2)]);
    /// assert_eq!((ring.holds(&path), ring.holds(&star)), (Some(true), Some(false)));
    /// ```
    pub fn holds(&self, graph: &ModeGraph) -> Option<bool> {
        self.places(graph).map(|places| places.is_some())
    }

    /// The template's vertex of each vertex of a mode graph, under the first permutation that goes; `Some(None)` where none
    /// does.
    fn places(&self, graph: &ModeGraph) -> Option<Option<Vec<usize>>> {
        let cp = graph.rank_of_cp().is_some();
        if self.copy_vertex().is_some() {
            let same = graph.modes() == self.order() && !graph.is_grouped();
            // Between two modes a hyperedge is an edge, and of rank 1 it is none.
            let is_cp = cp || graph.edges().is_empty() && graph.internal() == 0;
            let is_cp = is_cp || graph.vertices() == 2;
            return Some((same && is_cp).then(|| (0..graph.vertices()).collect()));
        }
        if cp {
            return Some(None);
        }
        let internal = self.vertices() - self.order();
        if graph.is_grouped() || graph.modes() != self.order() || graph.internal() > internal {
            return Some(None);
        }
        let mut near = vec![vec![false; self.vertices()]; self.vertices()];
        for &(u, v) in self.edges() {
            (near[u][v], near[v][u]) = (true, true);
        }
        let mut neighbours = vec![Vec::new(); graph.vertices()];
        for &(u, v, _) in graph.edges() {
            neighbours[u].push(v);
            neighbours[v].push(u);
        }
        let order = connected_order(&neighbours);
        let mut search = Embedding {
            template: self,
            near,
            modes: graph.modes(),
            neighbours,
            place: vec![None; graph.vertices()],
            used: vec![false; self.vertices()],
            steps: 0,
        };
        let found = search.place_all(&order)?;
        Some(found.then(|| search.place.into_iter().flatten().collect()))
    }
}

impl Structure {
    /// The structure of a template that has this canonical form; none where there is none, or none was found in ten
    /// million steps.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::graph::{ModeGraph, Structure, Template};
    /// let ring = Arc::new(Template::ring(4).unwrap());
    /// let path = ModeGraph::new(4, 0, vec![(0, 2, 3), (1, 2, 2), (1, 3, 5)]);
    /// let structure = Structure::in_template(&ring, &path).unwrap();
    /// assert_eq!(structure.canonical().graph, path);
    /// ```
    pub fn in_template(template: &Arc<Template>, graph: &ModeGraph) -> Option<Structure> {
        Self::placed_in(template, graph).map(|(structure, _)| structure)
    }

    /// The same, and the template's vertex of each vertex of the graph. Of a graph with several modes at a vertex the
    /// groups are placed as one mode each.
    pub(crate) fn placed_in(
        template: &Arc<Template>,
        graph: &ModeGraph,
    ) -> Option<(Structure, Vec<usize>)> {
        let places = template.places(&graph.plain()).flatten()?;
        if template.copy_vertex().is_some() {
            let rank = graph.edges().first().map_or(1, |e| e.2);
            let ranks = vec![rank; template.edges().len()];
            return Some((Structure::identity(template.clone(), ranks).ok()?, places));
        }
        let mut ranks = vec![1; template.edges().len()];
        for &(u, v, rank) in graph.edges() {
            let (a, b) = (places[u].min(places[v]), places[u].max(places[v]));
            ranks[template.edges().binary_search(&(a, b)).ok()?] = rank;
        }
        let mut permutation = vec![0; graph.modes()];
        for (vertex, &place) in places.iter().enumerate().take(graph.external()) {
            graph.modes_at(vertex).into_iter().for_each(|n| permutation[n] = place);
        }
        Some((Structure::new(template.clone(), permutation, ranks).ok()?, places))
    }

    /// The edges of the template between the vertices of the canonical form: those that the structure's ranks could join.
    pub fn joins(&self) -> Vec<(usize, usize)> {
        let vertex = self.canonical().vertex;
        let edges = self.template().edges().iter();
        let joins = edges.filter_map(|&(u, v)| Some((vertex[u]?, vertex[v]?)));
        joins.map(|(u, v)| (u.min(v), u.max(v))).collect()
    }
}

/// The vertices, those of most edges first, each joined to an earlier one where it can be: so that misfits show
/// early.
fn connected_order(neighbours: &[Vec<usize>]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::with_capacity(neighbours.len());
    let mut joined = vec![0usize; neighbours.len()];
    while order.len() < neighbours.len() {
        let left = (0..neighbours.len()).filter(|v| !order.contains(v));
        let best = left.max_by_key(|&v| (joined[v], neighbours[v].len()));
        let next = best.unwrap_or_else(|| unreachable!("some are left"));
        neighbours[next].iter().for_each(|&w| joined[w] += 1);
        order.push(next);
    }
    order
}

struct Embedding<'t> {
    template: &'t Template,
    near: Vec<Vec<bool>>,
    modes: usize,
    neighbours: Vec<Vec<usize>>,
    /// The template's vertex of each vertex placed so far.
    place: Vec<Option<usize>>,
    used: Vec<bool>,
    steps: u64,
}

impl Embedding<'_> {
    /// Places these vertices after those that stand; none where the steps are spent.
    fn place_all(&mut self, order: &[usize]) -> Option<bool> {
        let Some((&v, rest)) = order.split_first() else { return Some(true) };
        for at in 0..self.template.vertices() {
            if self.used[at] || self.template.is_external(at) != (v < self.modes) {
                continue;
            }
            self.steps += 1;
            if self.steps > STEPS {
                return None;
            }
            let mut placed = self.neighbours[v].iter().filter_map(|&w| self.place[w]);
            if !placed.all(|other| self.near[at][other]) {
                continue;
            }
            (self.place[v], self.used[at]) = (Some(at), true);
            let found = self.place_all(rest);
            if found != Some(false) {
                return found;
            }
            (self.place[v], self.used[at]) = (None, false);
            // A vertex without edges fits one place as well as another.
            if self.neighbours[v].is_empty() {
                return Some(false);
            }
        }
        Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{all, random, shuffled};
    use super::*;
    use crate::rng::stream;
    use rand::RngExt as _;

    #[test]
    fn every_structure_of_a_template_has_its_format() {
        let mut rng = stream(1, b"embed");
        for order in 2..=8 {
            for template in all(order).into_iter().map(std::sync::Arc::new) {
                for _ in 0..5 {
                    let graph = random(&template, 3, &mut rng).canonical().graph;
                    assert_eq!(template.holds(&graph), Some(true), "{} {graph}", template.name());
                }
            }
        }
    }

    #[test]
    fn agrees_with_trying_every_permutation() {
        let mut rng = stream(2, b"embed");
        let (mut yes, mut no) = (0, 0);
        for _ in 0..300 {
            let order = rng.random_range(3..=6);
            let templates = all(order);
            let template = &templates[rng.random_range(0..templates.len())];
            if template.vertices() > order {
                continue;
            }
            let pairs = (0..order).flat_map(|u| (u + 1..order).map(move |v| (u, v, 2)));
            let edges: Vec<_> = pairs.filter(|_| rng.random_bool(0.4)).collect();
            let graph = ModeGraph::new(order, 0, edges);
            let fits = |p: &[usize]| {
                graph.edges().iter().all(|e| {
                    let (u, v) = (p[e.0].min(p[e.1]), p[e.0].max(p[e.1]));
                    template.edges().contains(&(u, v))
                })
            };
            let mut found = false;
            visit(&mut shuffled(order, &mut rng), 0, &mut |p| found |= fits(p));
            assert_eq!(template.holds(&graph), Some(found), "{} {graph}", template.name());
            *(if found { &mut yes } else { &mut no }) += 1;
        }
        assert!(yes > 30 && no > 30, "{yes}, {no}");
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

    #[test]
    fn another_order_or_more_internal_vertices_do_not_fit() {
        let ring = Template::ring(4).unwrap();
        assert_eq!(ring.holds(&ModeGraph::new(3, 0, vec![])), Some(false));
        assert_eq!(ring.holds(&ModeGraph::new(4, 1, vec![(0, 4, 2)])), Some(false));
        assert_eq!(ring.holds(&ModeGraph::new(4, 0, vec![])), Some(true));
        // Large and without edges: no search among all orders of equal vertices.
        let lattice = Template::peps(8, 8).unwrap();
        assert_eq!(lattice.holds(&ModeGraph::new(64, 0, vec![(0, 1, 2)])), Some(true));
        assert_eq!(
            lattice.holds(&ModeGraph::new(64, 0, vec![(0, 1, 2), (1, 2, 2), (0, 2, 2)])),
            Some(false)
        );
    }
}
