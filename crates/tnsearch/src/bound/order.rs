//! In which order a relaxation places the vertices of a template, and which cuts are settled when.

use crate::geometry::{ColouredGraph, Internal};
use crate::graph::Template;

/// Cuts looked at for each vertex placed.
const MAX_CUTS: usize = 64;

/// One step of a relaxation: a vertex is placed, with its mode and the ranks of its edges.
#[derive(Debug, Clone)]
pub(super) struct PlacedVertex {
    /// The vertex.
    pub vertex: usize,
    /// Whether it carries a mode.
    pub external: bool,
    /// Its edges whose rank is chosen here: those to vertices not placed yet.
    pub new_edges: Vec<usize>,
    /// All its edges: its core is their product (times its mode).
    pub edges: Vec<usize>,
    /// Cuts whose edges all have ranks from here on and that hold this vertex.
    pub cuts: Vec<Cut>,
}

/// A connected set of placed vertices against the rest.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    /// The external vertices inside.
    pub external: Vec<usize>,
    /// The edges that leave it.
    pub edges: Vec<usize>,
}

/// The places of a template: always the vertex that asks for the fewest new ranks, near those placed.
pub(super) fn places(template: &Template) -> Vec<PlacedVertex> {
    let v = template.vertices();
    let edges = template.edges();
    let mut placed = vec![false; v];
    let mut order: Vec<PlacedVertex> = Vec::with_capacity(v);
    while order.len() < v {
        let known = |u: usize| {
            template.incident(u).filter(|&e| placed[edges[e].0] || placed[edges[e].1]).count()
        };
        let key = |u: usize| (template.incident(u).count() - known(u), usize::MAX - known(u), u);
        let Some(vertex) = (0..v).filter(|&u| !placed[u]).min_by_key(|&u| key(u)) else { break };
        let incident: Vec<usize> = template.incident(vertex).collect();
        let other = |e: usize| if edges[e].0 == vertex { edges[e].1 } else { edges[e].0 };
        let new_edges = incident.iter().copied().filter(|&e| !placed[other(e)]).collect();
        placed[vertex] = true;
        let cuts = cuts_with(template, vertex, &placed);
        let external = template.is_external(vertex);
        order.push(PlacedVertex { vertex, external, new_edges, edges: incident, cuts });
    }
    order
}

/// Connected sets of placed vertices that hold `vertex`, those with few edges out first.
fn cuts_with(template: &Template, vertex: usize, placed: &[bool]) -> Vec<Cut> {
    let edges = template.edges();
    let mut sets: Vec<u64> = vec![1 << vertex];
    let mut next = 0;
    while next < sets.len() && sets.len() < 4 * MAX_CUTS {
        let set = sets[next];
        next += 1;
        for &(a, b) in edges {
            let joins = (set >> a & 1) != (set >> b & 1);
            let grown = set | 1 << a | 1 << b;
            if joins && placed[a] && placed[b] && !sets.contains(&grown) {
                sets.push(grown);
            }
        }
    }
    let all = template.order();
    let mut cuts: Vec<Cut> = sets
        .into_iter()
        .map(|set| Cut {
            external: (0..template.vertices())
                .filter(|&u| set >> u & 1 == 1 && template.is_external(u))
                .collect(),
            edges: (0..edges.len())
                .filter(|&e| (set >> edges[e].0 & 1) != (set >> edges[e].1 & 1))
                .collect(),
        })
        .filter(|cut| !cut.external.is_empty() && cut.external.len() < all)
        .collect();
    cuts.sort_by_key(|cut| (cut.edges.len(), cut.external.len()));
    cuts.truncate(MAX_CUTS);
    cuts
}

/// For each vertex the lowest vertex that a symmetry of the template maps it to. Where the symmetries are too
/// hard to find, each vertex stands for itself, which only costs the relaxation time.
pub(super) fn orbits(template: &Template) -> Vec<usize> {
    match ColouredGraph::of_template(template, Internal::Free).automorphisms() {
        Ok(group) => group.orbits().to_vec(),
        Err(_) => (0..template.vertices()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orbits_of_the_families() {
        assert_eq!(orbits(&Template::ring(6).unwrap()), [0; 6]);
        assert_eq!(orbits(&Template::path(5).unwrap()), [0, 1, 2, 1, 0]);
        assert_eq!(orbits(&Template::star(4).unwrap()), [0, 1, 1, 1]);
        assert_eq!(orbits(&Template::peps(2, 3).unwrap()), [0, 1, 0, 0, 1, 0]);
        assert_eq!(orbits(&Template::tree(7).unwrap()), [0, 1, 1, 3, 3, 3, 3]);
    }

    /// Whether vertices hang together by edges among themselves.
    fn hangs_together(template: &Template, set: u64) -> bool {
        let mut reached = set & set.wrapping_neg();
        for _ in 0..template.vertices() {
            for &(a, b) in template.edges() {
                let both = 1 << a | 1 << b;
                if set & both == both && reached & both != 0 {
                    reached |= both;
                }
            }
        }
        reached == set
    }

    #[test]
    fn vertices_are_placed_by_the_fewest_new_ranks_and_with_all_cuts_that_are_settled() {
        for spec in ["ring", "path", "star", "tree", "complete", "tucker", "ht", "mera"] {
            for order in [4, 5] {
                let Ok(template) = Template::parse(spec, order) else { continue };
                let (v, edges) = (template.vertices(), template.edges());
                let degree = |set: u64, u: usize| {
                    let near = edges.iter().filter(|e| e.0 == u || e.1 == u);
                    near.filter(|e| set >> (if e.0 == u { e.1 } else { e.0 }) & 1 == 1).count()
                };
                let mut placed = 0u64;
                for place in places(&template) {
                    let free = (0..v).filter(|u| placed >> u & 1 == 0);
                    let best = free.min_by_key(|&u| {
                        let known = degree(placed, u);
                        (degree(!placed, u), std::cmp::Reverse(known), u)
                    });
                    assert_eq!(best, Some(place.vertex), "{spec} {order}");
                    assert_eq!(place.new_edges.len(), degree(!placed, place.vertex));
                    assert_eq!(place.external, template.is_external(place.vertex));
                    placed |= 1 << place.vertex;
                    let mut want: Vec<(Vec<usize>, Vec<usize>)> = (1u64..1 << v)
                        .filter(|s| s & !placed == 0 && s >> place.vertex & 1 == 1)
                        .filter(|&s| hangs_together(&template, s))
                        .map(|s| {
                            let inside = (0..v).filter(|u| s >> u & 1 == 1);
                            let crosses =
                                |&e: &usize| (s >> edges[e].0 & 1) + (s >> edges[e].1 & 1) == 1;
                            let external = inside.filter(|&u| template.is_external(u)).collect();
                            (external, (0..edges.len()).filter(crosses).collect())
                        })
                        .filter(|(inside, _): &(Vec<usize>, Vec<usize>)| {
                            !inside.is_empty() && inside.len() < order
                        })
                        .collect();
                    let keys = place.cuts.iter().map(|c| (c.edges.len(), c.external.len()));
                    assert!(keys.is_sorted(), "{spec} {order}");
                    let mut found: Vec<(Vec<usize>, Vec<usize>)> =
                        place.cuts.iter().map(|c| (c.external.clone(), c.edges.clone())).collect();
                    want.sort();
                    found.sort();
                    if want.len() <= MAX_CUTS {
                        assert_eq!(found, want, "{spec} {order}");
                    }
                    assert!(found.len() == want.len().min(MAX_CUTS), "{spec} {order}");
                }
            }
        }
    }

    #[test]
    fn every_edge_gets_its_rank_once_and_cuts_are_settled() {
        for spec in ["ring", "path", "star", "tree", "complete", "tucker", "ht", "mera"] {
            let template = Template::parse(spec, 6).unwrap();
            let places = places(&template);
            assert_eq!(places.len(), template.vertices());
            let mut ranked: Vec<usize> = places.iter().flat_map(|p| p.new_edges.clone()).collect();
            for (k, place) in places.iter().enumerate() {
                let known: Vec<usize> =
                    places[..=k].iter().flat_map(|p| p.new_edges.clone()).collect();
                assert!(place.edges.iter().all(|e| known.contains(e)), "{spec}");
                assert!(
                    place.cuts.iter().flat_map(|c| &c.edges).all(|e| known.contains(e)),
                    "{spec}"
                );
            }
            ranked.sort_unstable();
            assert_eq!(ranked, (0..template.edges().len()).collect::<Vec<_>>(), "{spec}");
        }
        // Around a ring, one new rank per vertex, and the arcs that end there.
        let ring = places(&Template::ring(6).unwrap());
        assert_eq!(ring[3].new_edges.len(), 1);
        assert_eq!(ring[3].cuts.len(), 4);
    }
}
