//! Where the vertices of a template stand in a picture: as people draw it.

use super::{stress, tree};
use std::f64::consts::TAU;
use tnsearch::graph::{Layout, Template};

/// The distance between neighbouring vertices of a small network.
pub(super) const STEP: f64 = 100.0;
/// That of a large one: two vertices, and an edge with its label between them.
const TIGHT: f64 = 78.0;
/// Vertices in a row of a path; a longer one turns back, as text that is ploughed.
const ROW: usize = 8;
/// Beyond this many vertices a graph without a form of its own stands on a circle.
const MAX_STRESS: usize = 300;

/// The places of the vertices: x to the right, y down, the smallest coordinates 0.
///
/// A line for paths, a circle for rings and graphs with most of their edges, a hub for stars and Tucker networks, layers for
/// trees, HT and MERA, a grid for lattices. Graphs of the user's own are looked at: a cycle is drawn as a
/// ring, a tree as a tree; for others the distances on paper follow those in the graph.
pub(super) fn layout(template: &Template) -> Vec<(f64, f64)> {
    let n = template.vertices();
    let place = match template.layout() {
        Some(Layout::Line) => path(n),
        Some(Layout::Grid { columns }) if columns == 1 || columns == n => path(n),
        Some(Layout::Grid { columns }) => {
            let step = if n > 12 { 0.92 * STEP } else { STEP };
            let at = |v: usize| ((v % columns) as f64 * step, (v / columns) as f64 * step);
            (0..n).map(at).collect()
        }
        Some(Layout::Hub) => {
            let mut place = vec![(0.0, 0.0)];
            place.extend(circle(n - 1, 1.2 * STEP));
            place
        }
        Some(Layout::Core) => {
            let mut place = circle(n - 1, 1.2 * STEP);
            place.push((0.0, 0.0));
            place
        }
        Some(Layout::Rooted) => tree::rooted(template, 0),
        Some(Layout::Layers) => layers(template),
        Some(Layout::Circle) => circle(n, 0.9 * STEP),
        Some(Layout::Chords) => circle(n, 0.2 * n as f64 * STEP),
        _ => general(template),
    };
    from_origin(place)
}

/// A graph of the user's own.
fn general(template: &Template) -> Vec<(f64, f64)> {
    let (n, edges) = (template.vertices(), template.edges().len());
    if edges == n - 1 {
        return tree::rooted(template, tree::centre(template));
    }
    if let Some(order) = cycle(template) {
        let round = circle(n, 0.9 * STEP);
        let mut place = vec![(0.0, 0.0); n];
        order.iter().zip(round).for_each(|(&v, at)| place[v] = at);
        return place;
    }
    if n > MAX_STRESS || 10 * edges > 7 * n * (n - 1) / 2 {
        return circle(n, 0.2 * n as f64 * STEP);
    }
    stress::places(template, if n > 12 { 1.15 } else { 1.3 } * STEP, 0.8 * STEP)
}

/// The vertices of a graph that is one cycle, in its order.
fn cycle(template: &Template) -> Option<Vec<usize>> {
    let n = template.vertices();
    if n < 3 || template.edges().len() != n || (0..n).any(|v| template.incident(v).count() != 2) {
        return None;
    }
    let mut order = vec![0];
    while order.len() < n {
        let (last, before) = (order[order.len() - 1], order.iter().rev().nth(1).copied());
        let next = neighbours(template, last).find(|&w| Some(w) != before)?;
        order.push(next);
    }
    Some(order)
}

/// The neighbours of a vertex, in order.
pub(super) fn neighbours(template: &Template, v: usize) -> impl Iterator<Item = usize> + '_ {
    template.incident(v).map(move |e| {
        let (a, b) = template.edges()[e];
        if a == v { b } else { a }
    })
}

/// A line; a long one in rows, every second from right to left.
fn path(n: usize) -> Vec<(f64, f64)> {
    let rows = n.div_ceil(ROW).max(1);
    let per_row = n.div_ceil(rows);
    let at = |v: usize| {
        let (row, k) = (v / per_row, v % per_row);
        let column = if row.is_multiple_of(2) { k } else { per_row - 1 - k };
        (column as f64 * STEP, row as f64 * STEP)
    };
    (0..n).map(at).collect()
}

/// `n` places on a circle of at least a radius, the first at the top.
fn circle(n: usize, least: f64) -> Vec<(f64, f64)> {
    if n <= 2 {
        // On a line: a star of order 2 or 3, a ring of order 2.
        return [(-STEP, 0.0), (STEP, 0.0)][..n].to_vec();
    }
    let step = if n > 12 { TIGHT } else { STEP };
    let radius = (n as f64 * step / TAU).max(least.min(n as f64 * STEP / TAU * 1.25));
    let angle = |k: usize| k as f64 / n as f64 * TAU;
    (0..n).map(|k| (radius * angle(k).sin(), -radius * angle(k).cos())).collect()
}

/// Modes on the bottom line, each internal vertex above the middle of those it was built on. In HT and
/// MERA templates these are its neighbours of lower number.
fn layers(template: &Template) -> Vec<(f64, f64)> {
    let order = template.order();
    let wide = if order > 12 { 0.58 } else { 0.8 } * STEP;
    let mut place: Vec<(f64, f64)> = (0..order).map(|v| (v as f64 * wide, 0.0)).collect();
    for v in order..template.vertices() {
        let below: Vec<(f64, f64)> =
            template.edges().iter().filter(|e| e.1 == v).map(|e| place[e.0]).collect();
        let x = below.iter().map(|p| p.0).sum::<f64>() / below.len().max(1) as f64;
        let y = below.iter().map(|p| p.1).fold(0.0, f64::min) - 0.84 * STEP;
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
pub(super) mod tests {
    use super::*;
    use tnsearch::graph::Family;

    /// Templates of an order: the named ones, and graphs of the user's own.
    pub(in super::super) fn all(order: usize) -> Vec<Template> {
        let mut all: Vec<Template> = Family::all(order).map(|f| f.build(order).unwrap()).collect();
        let own = |edges: Vec<(usize, usize)>, n: usize| {
            Template::from_graph("own", (0..n).map(|v| v < order).collect(), edges).unwrap()
        };
        all.push(own((1..order).map(|v| (0, v)).collect(), order));
        if order >= 3 {
            // A cycle in a shuffled order, and one with chords.
            let at = |k: usize| (k * 5 + k / 5) % order;
            let mut order_of: Vec<usize> = (0..order).collect();
            order_of.sort_by_key(|&k| at(k));
            let ring: Vec<_> =
                (0..order).map(|k| (order_of[k], order_of[(k + 1) % order])).collect();
            all.push(own(ring.clone(), order));
            let mut chords = ring;
            let has =
                |list: &[(usize, usize)], a, b| list.contains(&(a, b)) || list.contains(&(b, a));
            for v in 0..order / 2 {
                let w = (v + order / 2) % order;
                if v != w && !has(&chords, v, w) {
                    chords.push((v, w));
                }
            }
            all.push(own(chords, order));
        }
        if order >= 4 {
            // A prism with an internal vertex on every second mode.
            let half = order / 2;
            let mut edges: Vec<_> = (0..half).map(|v| (v, v + half)).collect();
            edges.extend((1..half).flat_map(|v| [(v - 1, v), (half + v - 1, half + v)]));
            edges.extend((2 * half..order).map(|v| (v - 1, v)));
            edges.extend((0..half).flat_map(|k| [(k, order + k)]));
            all.push(own(edges, order + half));
        }
        all
    }

    #[test]
    fn vertices_stand_apart() {
        for order in 2..=24 {
            for template in all(order) {
                let place = layout(&template);
                assert_eq!(place.len(), template.vertices());
                for (v, a) in place.iter().enumerate() {
                    assert!(a.0 >= 0.0 && a.1 >= 0.0 && a.0.is_finite() && a.1.is_finite());
                    for b in &place[..v] {
                        let apart = (a.0 - b.0).hypot(a.1 - b.1);
                        assert!(apart > 50.0, "{} {order}: {apart}", template.name());
                    }
                }
                assert!(
                    place.iter().all(|p| p.0 <= 1600.0 && p.1 <= 2400.0),
                    "{}",
                    template.name()
                );
            }
        }
    }

    #[test]
    fn a_cycle_is_found_in_any_order_of_its_vertices() {
        let edges = vec![(0, 3), (3, 1), (1, 4), (4, 2), (2, 0)];
        let own = Template::from_graph("own", vec![true; 5], edges).unwrap();
        let place = layout(&own);
        let far = |a: usize, b: usize| {
            let (p, q): ((f64, f64), (f64, f64)) = (place[a], place[b]);
            (p.0 - q.0).hypot(p.1 - q.1)
        };
        let sides: Vec<f64> = own.edges().iter().map(|&(a, b)| far(a, b)).collect();
        assert!(sides.iter().all(|s| (s - sides[0]).abs() < 1e-9), "{sides:?}");
        assert!(far(0, 1) > 1.3 * sides[0]);
    }
}
