//! Where the vertices of a template stand in a picture.

use std::f64::consts::TAU;
use tnsearch::graph::{Family, Template};

/// The distance between neighbouring vertices.
const STEP: f64 = 110.0;

/// The places of the vertices, and how far along an edge its label stands.
pub(crate) struct Layout {
    /// x to the right, y down; the smallest coordinates are 0.
    pub(crate) place: Vec<(f64, f64)>,
    /// Between 0 (at the edge's first vertex) and 1.
    pub(crate) label_at: f64,
}

/// A line for paths, a circle for rings, layers for trees, HT and MERA, a grid for lattices, a hub
/// for stars; any other graph stands on a circle.
pub(crate) fn layout(template: &Template) -> Layout {
    let n = template.vertices();
    let mut label_at = 0.5;
    let place = match template.family() {
        Some(Family::Path) => (0..n).map(|v| (v as f64 * STEP, 0.0)).collect(),
        Some(Family::Peps { cols, .. }) => {
            (0..n).map(|v| ((v % cols) as f64 * STEP, (v / cols) as f64 * STEP)).collect()
        }
        Some(Family::Star) => {
            let mut place = vec![(0.0, 0.0)];
            place.extend(circle(n - 1, 1.2 * STEP));
            place
        }
        Some(Family::Tree) => heap(n),
        Some(Family::Ht | Family::Mera) => layers(template),
        Some(Family::Ring) => circle(n, 0.9 * STEP),
        _ => {
            // Off the middle, where diagonals cross.
            label_at = 0.36;
            circle(n, 0.3 * n as f64 * STEP)
        }
    };
    Layout { place: from_origin(place), label_at }
}

/// `n` places on a circle of at least a radius, the first at the top.
fn circle(n: usize, least: f64) -> Vec<(f64, f64)> {
    if n <= 2 {
        // On a line: a star of order 2 or 3, a ring of order 2.
        return [(-STEP, 0.0), (STEP, 0.0)][..n].to_vec();
    }
    let radius = (n as f64 * STEP / TAU).max(least);
    let angle = |k: usize| k as f64 / n as f64 * TAU;
    (0..n).map(|k| (radius * angle(k).sin(), -radius * angle(k).cos())).collect()
}

/// A binary tree in heap order: depth downwards, in-order to the right.
fn heap(n: usize) -> Vec<(f64, f64)> {
    let mut place = vec![(0.0, 0.0); n];
    let mut next = 0.0;
    // Go left as far as possible, place a vertex, then do the same from its right child.
    let mut stack: Vec<usize> = Vec::new();
    let mut v = 0;
    while v < n || !stack.is_empty() {
        while v < n {
            stack.push(v);
            v = 2 * v + 1;
        }
        let Some(w) = stack.pop() else { break };
        place[w] = (next * 0.6 * STEP, (w + 1).ilog2() as f64 * STEP);
        next += 1.0;
        v = 2 * w + 2;
    }
    place
}

/// Modes on the bottom line, each internal vertex above the middle of those it was built on. In HT and
/// MERA templates these are its neighbours of lower number.
fn layers(template: &Template) -> Vec<(f64, f64)> {
    let order = template.order();
    let mut place: Vec<(f64, f64)> = (0..order).map(|v| (v as f64 * 0.8 * STEP, 0.0)).collect();
    for v in order..template.vertices() {
        let below: Vec<(f64, f64)> =
            template.edges().iter().filter(|e| e.1 == v).map(|e| place[e.0]).collect();
        let x = below.iter().map(|p| p.0).sum::<f64>() / below.len().max(1) as f64;
        let y = below.iter().map(|p| p.1).fold(0.0, f64::min) - 0.8 * STEP;
        place.push((x, y));
    }
    place
}

fn from_origin(mut place: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let left = place.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let top = place.iter().map(|p| p.1).fold(f64::INFINITY, f64::min);
    place.iter_mut().for_each(|p| *p = (p.0 - left, p.1 - top));
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_stand_apart() {
        for order in 2..=16 {
            let specs = ["path", "ring", "star", "tree", "complete", "ht", "mera"];
            let mut all: Vec<Template> =
                specs.iter().map(|s| Template::parse(s, order).unwrap()).collect();
            all.extend(
                (1..=order)
                    .filter(|r| order.is_multiple_of(*r))
                    .map(|rows| Template::peps(rows, order / rows).unwrap()),
            );
            let edges = (1..order).map(|v| (0, v)).collect();
            all.push(Template::from_graph("own", vec![true; order], edges).unwrap());
            for template in all {
                let place = layout(&template).place;
                assert_eq!(place.len(), template.vertices());
                for (v, a) in place.iter().enumerate() {
                    assert!(a.0 >= 0.0 && a.1 >= 0.0 && a.0.is_finite() && a.1.is_finite());
                    for b in &place[..v] {
                        let apart = (a.0 - b.0).hypot(a.1 - b.1);
                        assert!(apart > 0.5 * STEP, "{} {order}: {apart}", template.name());
                    }
                }
            }
        }
    }
}
