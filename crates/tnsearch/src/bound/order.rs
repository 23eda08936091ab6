//! In which order a relaxation places the vertices of a template, and which cuts are settled when.

use crate::graph::Template;

/// Cuts looked at for each vertex placed.
const MAX_CUTS: usize = 64;

/// One step of a relaxation: a vertex is placed, with its mode and the ranks of its edges.
#[derive(Debug, Clone)]
pub(super) struct Place {
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
pub(super) fn places(template: &Template) -> Vec<Place> {
    let v = template.vertices();
    let edges = template.edges();
    let mut placed = vec![false; v];
    let mut order: Vec<Place> = Vec::with_capacity(v);
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
        order.push(Place { vertex, external, new_edges, edges: incident, cuts });
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

/// For each vertex the lowest vertex that a symmetry of the template maps it to.
pub(super) fn orbits(template: &Template) -> Vec<usize> {
    let v = template.vertices();
    let mut adjacent = vec![0u64; v];
    for &(a, b) in template.edges() {
        adjacent[a] |= 1 << b;
        adjacent[b] |= 1 << a;
    }
    let mut orbit: Vec<usize> = (0..v).collect();
    for u in 0..v {
        let earlier = (0..u).find(|&w| orbit[w] == w && automorphism(template, &adjacent, w, u));
        orbit[u] = earlier.unwrap_or(u);
    }
    orbit
}

/// Whether a symmetry maps `from` to `to`: backtracking over the vertices in connected order. Gives up
/// (no symmetry found) after many steps, which only costs the relaxation time.
fn automorphism(template: &Template, adjacent: &[u64], from: usize, to: usize) -> bool {
    let v = template.vertices();
    let mut order = vec![from];
    let mut seen = 1u64 << from;
    while order.len() < v {
        let near = |u: &usize| order.iter().any(|&w| adjacent[w] >> u & 1 == 1);
        let next = (0..v).filter(|u| seen >> u & 1 == 0).find(near);
        let Some(next) = next else { return false };
        seen |= 1 << next;
        order.push(next);
    }
    let alike = |a: usize, b: usize| {
        template.is_external(a) == template.is_external(b)
            && adjacent[a].count_ones() == adjacent[b].count_ones()
    };
    if !alike(from, to) {
        return false;
    }
    let mut image = vec![to];
    let mut steps = 0;
    extend(&order, adjacent, &alike, &mut image, &mut steps)
}

fn extend(
    order: &[usize],
    adjacent: &[u64],
    alike: &dyn Fn(usize, usize) -> bool,
    image: &mut Vec<usize>,
    steps: &mut usize,
) -> bool {
    let k = image.len();
    if k == order.len() {
        return true;
    }
    *steps += 1;
    if *steps > 100_000 {
        return false;
    }
    for candidate in 0..order.len() {
        let fits = !image.contains(&candidate)
            && alike(order[k], candidate)
            && (0..k).all(|j| {
                (adjacent[order[k]] >> order[j] & 1) == (adjacent[candidate] >> image[j] & 1)
            });
        if fits {
            image.push(candidate);
            if extend(order, adjacent, alike, image, steps) {
                return true;
            }
            image.pop();
        }
    }
    false
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

    #[test]
    fn every_edge_gets_its_rank_once_and_cuts_are_settled() {
        for spec in ["ring", "path", "star", "tree", "complete", "ht", "mera"] {
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
        // Around a ring, one new rank a vertex, and the arcs that end there.
        let ring = places(&Template::ring(6).unwrap());
        assert_eq!(ring[3].new_edges.len(), 1);
        assert_eq!(ring[3].cuts.len(), 4);
    }
}
