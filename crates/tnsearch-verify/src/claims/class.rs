//! Which structures a bound is about, and whether a network is one of them.

use crate::certificate::{Class, Graph, Vertex};
use crate::{Network, family};
use serde_json::Value;

/// The sum of products of vectors: one hyperedge.
pub(crate) const CP: &str = "cp";

/// The hub of a network on this template, whose vertices may carry modes or not: the one that may not, of a cp.
pub(crate) fn hub_of(template: &Value, external: &[bool]) -> Option<usize> {
    external.iter().position(|mode| !mode).filter(|_| *template == CP)
}

/// Steps after which a subgraph is not looked for any longer.
const STEPS: usize = 1_000_000;

/// The class that a template in JSON stands for: a graph, the name of one, or `any-tree`. `other` knows further names.
pub(crate) fn class_of(
    template: &Value,
    order: usize,
    other: &dyn Fn(&str) -> Option<Graph>,
) -> Option<Class> {
    match template {
        Value::String(name) if name == "any-tree" || name == CP => Some(Class::Named(name.clone())),
        Value::String(name) => {
            let known = family(name, order).map(|(external, edges)| {
                let vertices = external.into_iter().map(|mode| Vertex { mode }).collect();
                Graph { vertices, edges }
            });
            known.or_else(|| other(name)).map(Class::Graph)
        }
        graph => serde_json::from_value(graph.clone()).ok().map(Class::Graph),
    }
}

/// Whether two classes are the same: graphs vertex by vertex.
pub(crate) fn same_class(a: &Class, b: &Class) -> bool {
    match (a, b) {
        (Class::Graph(a), Class::Graph(b)) => {
            a.vertices == b.vertices && same_edges(&a.edges, &b.edges)
        }
        (a, b) => a == b,
    }
}

/// Whether two lists name the same edges.
pub(crate) fn same_edges(a: &[[usize; 2]], b: &[[usize; 2]]) -> bool {
    let sorted = |edges: &[[usize; 2]]| {
        let mut edges: Vec<[usize; 2]> =
            edges.iter().map(|e| [e[0].min(e[1]), e[0].max(e[1])]).collect();
        edges.sort_unstable();
        edges
    };
    sorted(a) == sorted(b)
}

/// Whether a network has the graph of a class, its ranks aside: its edges of rank 1 deleted, it is a part of the graph under
/// some permutation, or a tree. None where that takes too long to find out.
pub(crate) fn has_graph(network: &Network, class: &Class) -> Option<bool> {
    let edges: Vec<[usize; 2]> =
        network.edges.iter().filter(|e| e[2] > 1).map(|e| [e[0], e[1]]).collect();
    let hyperedge = network.hub.is_some() && !edges.is_empty();
    match class {
        Class::Named(name) if name == CP => {
            // Between two modes a hyperedge is an edge.
            let pair = network.dims.len() == 2 && network.external.len() == 2;
            Some(hyperedge || edges.is_empty() || pair)
        }
        _ if hyperedge => Some(false),
        Class::Named(_) => Some(is_forest(network.external.len(), &edges)),
        Class::Graph(graph) => {
            let all: Vec<[usize; 2]> = network.edges.iter().map(|e| [e[0], e[1]]).collect();
            let external = graph.vertices.iter().map(|v| v.mode);
            if !network.one_mode_each() {
                return Some(false);
            }
            if external.eq(network.external.iter().copied()) && same_edges(&all, &graph.edges) {
                return Some(true);
            }
            embeds(network, &edges, graph)
        }
    }
}

/// Whether a network has no cycle of edges wider than 1.
pub(crate) fn is_tree(network: &Network) -> bool {
    has_graph(network, &Class::Named("any-tree".to_owned())) == Some(true)
}

/// The largest rank of a network.
pub(crate) fn widest(network: &Network) -> u64 {
    network.edges.iter().map(|e| e[2] as u64).max().unwrap_or(1)
}

/// Whether edges make no cycle.
fn is_forest(vertices: usize, edges: &[[usize; 2]]) -> bool {
    let mut root: Vec<usize> = (0..vertices).collect();
    for [u, v] in edges {
        let (a, b) = (root[*u], root[*v]);
        if a == b {
            return false;
        }
        root.iter_mut().filter(|r| **r == a).for_each(|r| *r = b);
    }
    true
}

/// Whether the vertices of a network that have edges or modes go to those of a graph, one to one, edges to edges.
fn embeds(network: &Network, edges: &[[usize; 2]], graph: &Graph) -> Option<bool> {
    let n = network.external.len();
    let degree = |v: usize| edges.iter().filter(|e| e.contains(&v)).count();
    let mut left: Vec<usize> = (0..n).filter(|&v| network.external[v] || degree(v) > 0).collect();
    // The next is always one with the most neighbours before it.
    let mut order: Vec<usize> = Vec::new();
    while !left.is_empty() {
        let beside = |v: usize| {
            edges.iter().filter(|e| e.contains(&v) && e.iter().any(|u| order.contains(u))).count()
        };
        let best = left.iter().copied().max_by_key(|&v| (beside(v), degree(v), n - v))?;
        left.retain(|&v| v != best);
        order.push(best);
    }
    let mut search = Embedding { network, edges, graph, image: vec![None; n], steps: 0 };
    search.extend(&order)
}

struct Embedding<'a> {
    network: &'a Network,
    edges: &'a [[usize; 2]],
    graph: &'a Graph,
    image: Vec<Option<usize>>,
    steps: usize,
}

impl Embedding<'_> {
    fn extend(&mut self, order: &[usize]) -> Option<bool> {
        let Some((&v, rest)) = order.split_first() else { return Some(true) };
        self.steps += 1;
        if self.steps > STEPS {
            return None;
        }
        for w in 0..self.graph.vertices.len() {
            if self.fits(v, w) {
                self.image[v] = Some(w);
                if self.extend(rest)? {
                    return Some(true);
                }
                self.image[v] = None;
            }
        }
        Some(false)
    }

    fn fits(&self, v: usize, w: usize) -> bool {
        let joined =
            |a: usize, b: usize| self.graph.edges.iter().any(|e| *e == [a, b] || *e == [b, a]);
        let neighbours = self.edges.iter().filter(|e| e.contains(&v));
        self.graph.vertices[w].mode == self.network.external[v]
            && !self.image.contains(&Some(w))
            && neighbours
                .map(|e| if e[0] == v { e[1] } else { e[0] })
                .all(|u| self.image[u].is_none_or(|to| joined(to, w)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(external: &[bool], at: &[usize], edges: &[[usize; 3]]) -> Network {
        let (external, at, edges) = (external.to_vec(), at.to_vec(), edges.to_vec());
        Network { dims: vec![2; at.len()], external, at, edges, hub: None, cores: Vec::new() }
    }

    fn graph(name: &str, order: usize) -> Class {
        class_of(&Value::from(name), order, &|_| None).unwrap()
    }

    #[test]
    fn a_network_is_in_a_class_up_to_a_permutation_and_edges_of_rank_one() {
        let four = [true; 4];
        let at = [0, 1, 2, 3];
        let path = network(&four, &at, &[[0, 2, 2], [2, 1, 3], [1, 3, 2]]);
        let star = network(&four, &at, &[[0, 1, 2], [0, 2, 2], [0, 3, 2]]);
        let ring = network(&four, &at, &[[0, 1, 2], [1, 2, 2], [2, 3, 2], [0, 3, 2]]);
        let nearly = network(&four, &at, &[[0, 1, 2], [1, 2, 2], [2, 3, 2], [0, 3, 1]]);
        let cases = [
            (&path, [true, true, false, true]),
            (&star, [false, false, true, true]),
            (&ring, [false, true, false, false]),
            (&nearly, [true, true, false, true]),
        ];
        for (net, expected) in cases {
            let found = ["path", "ring", "star", "any-tree"].map(|c| has_graph(net, &graph(c, 4)));
            assert_eq!(found, expected.map(Some), "{net:?}");
        }
        // The graph itself needs no search; vertices with several modes are in no graph, and in some tree.
        assert_eq!(has_graph(&ring, &graph("complete", 4)), Some(true));
        let grouped = network(&[true, true], &[0, 1, 0], &[[0, 1, 3]]);
        assert_eq!(has_graph(&grouped, &graph("path", 3)), Some(false));
        assert_eq!(has_graph(&grouped, &graph("any-tree", 3)), Some(true));
        assert_eq!((widest(&path), widest(&grouped)), (3, 3));
        // Modes sit on vertices with a mode only.
        let tucker =
            network(&[true, true, true, false], &[0, 1, 2], &[[0, 3, 2], [1, 3, 2], [2, 3, 2]]);
        assert_eq!(has_graph(&tucker, &graph("tucker", 3)), Some(true));
        assert_eq!(has_graph(&tucker, &graph("complete", 3)), Some(false));
        let short = network(&[true, true, true, false], &[0, 1, 2], &[[0, 1, 2], [1, 2, 2]]);
        assert_eq!(has_graph(&short, &graph("ring", 3)), Some(true));
        assert_eq!(has_graph(&short, &graph("tucker", 3)), Some(false));
    }

    #[test]
    fn classes_are_graphs_by_name_or_in_full() {
        let own =
            serde_json::json!({"vertices": [{"mode": true}, {"mode": true}], "edges": [[1, 0]]});
        let own = class_of(&own, 2, &|_| None).unwrap();
        assert!(same_class(&own, &graph("path", 2)) && !same_class(&own, &graph("any-tree", 2)));
        assert!(!same_class(&graph("path", 3), &graph("ring", 3)));
        assert!(class_of(&Value::from("mera"), 4, &|_| None).is_none());
        assert!(class_of(&Value::from(3), 4, &|_| None).is_none());
        let known = |name: &str| {
            (name == "mera").then(|| Graph { vertices: Vec::new(), edges: Vec::new() })
        };
        assert!(class_of(&Value::from("mera"), 4, &known).is_some());
    }
}
