//! Graphs without a form of their own: distances on paper that follow those in the graph.
//!
//! Minimises the stress `sum over pairs of (|p_i - p_j| - d_ij)^2 / d_ij^2`, d the lengths of shortest
//! paths, by majorisation (Gansner, Koren, North 2004), from the principal axes of the distances. No random
//! numbers: the same graph, the same picture.

use super::layout::neighbours;
use std::collections::VecDeque;
use tnsearch::graph::Template;

type Point = (f64, f64);

/// Steps of the power iteration, of the majorisation, and of pushing vertices apart.
const POWER: usize = 60;
const MAJOR: usize = 200;
const PUSH: usize = 100;

/// The places of the vertices: neighbours about `step` apart, no two vertices closer than `least`.
pub(super) fn places(template: &Template, step: f64, least: f64) -> Vec<Point> {
    let n = template.vertices();
    let d: Vec<Vec<f64>> = (0..n)
        .map(|v| distances(template, v).into_iter().map(|k| k as f64 * step).collect())
        .collect();
    let starts = [principal(&d), round(n, step)];
    let best = starts
        .into_iter()
        .map(|start| majorise(start, &d))
        .min_by(|a, b| stress(a, &d).total_cmp(&stress(b, &d)));
    let mut place = best.unwrap_or_default();
    upright(&mut place);
    apart(&mut place, template.edges(), least);
    place
}

/// The lengths of shortest paths from a vertex.
pub(super) fn distances(template: &Template, from: usize) -> Vec<usize> {
    let mut far = vec![usize::MAX; template.vertices()];
    far[from] = 0;
    let mut queue = VecDeque::from([from]);
    while let Some(v) = queue.pop_front() {
        for w in neighbours(template, v) {
            if far[w] == usize::MAX {
                far[w] = far[v] + 1;
                queue.push_back(w);
            }
        }
    }
    far
}

fn round(n: usize, step: f64) -> Vec<Point> {
    let radius = n as f64 * step / std::f64::consts::TAU;
    let angle = |k: usize| k as f64 / n as f64 * std::f64::consts::TAU;
    (0..n).map(|k| (radius * angle(k).sin(), -radius * angle(k).cos())).collect()
}

/// The two main axes of the doubly centred squared distances (classical scaling).
fn principal(d: &[Vec<f64>]) -> Vec<Point> {
    let n = d.len();
    let row: Vec<f64> = d.iter().map(|r| r.iter().map(|x| x * x).sum::<f64>() / n as f64).collect();
    let all = row.iter().sum::<f64>() / n as f64;
    let b = |i: usize, j: usize| -0.5 * (d[i][j] * d[i][j] - row[i] - row[j] + all);
    let mut axes: Vec<Vec<f64>> = Vec::new();
    for axis in 0..2 {
        // No symmetry of a graph leaves such a start alone.
        let mut x: Vec<f64> = (0..n).map(|k| ((k * (axis + 2) + 1) as f64).sin()).collect();
        let mut length = 0.0;
        for _ in 0..POWER {
            for other in &axes {
                let norm: f64 = other.iter().map(|a| a * a).sum();
                let dot: f64 = other.iter().zip(&x).map(|(a, b)| a * b).sum();
                let share = if norm > 0.0 { dot / norm } else { 0.0 };
                x.iter_mut().zip(other).for_each(|(a, o)| *a -= share * o);
            }
            let y: Vec<f64> = (0..n).map(|i| (0..n).map(|j| b(i, j) * x[j]).sum()).collect();
            length = y.iter().map(|a| a * a).sum::<f64>().sqrt();
            if length <= f64::MIN_POSITIVE {
                break;
            }
            x = y.into_iter().map(|a| a / length).collect();
        }
        x.iter_mut().for_each(|a| *a *= length.sqrt());
        axes.push(x);
    }
    (0..n).map(|k| (axes[0][k], axes[1][k])).collect()
}

fn stress(place: &[Point], d: &[Vec<f64>]) -> f64 {
    let mut sum = 0.0;
    for i in 0..place.len() {
        for j in 0..i {
            let far = (place[i].0 - place[j].0).hypot(place[i].1 - place[j].1);
            sum += ((far - d[i][j]) / d[i][j]).powi(2);
        }
    }
    sum
}

fn majorise(mut place: Vec<Point>, d: &[Vec<f64>]) -> Vec<Point> {
    let n = place.len();
    for _ in 0..MAJOR {
        let before = place.clone();
        let mut moved = 0.0f64;
        for i in 0..n {
            let (mut x, mut y, mut weights) = (0.0, 0.0, 0.0);
            for j in (0..n).filter(|&j| j != i) {
                let (dx, dy) = (place[i].0 - place[j].0, place[i].1 - place[j].1);
                let far = dx.hypot(dy).max(1e-6);
                let weight = 1.0 / (d[i][j] * d[i][j]);
                x += weight * (place[j].0 + d[i][j] * dx / far);
                y += weight * (place[j].1 + d[i][j] * dy / far);
                weights += weight;
            }
            if weights > 0.0 {
                place[i] = (x / weights, y / weights);
            }
            moved = moved.max((place[i].0 - before[i].0).hypot(place[i].1 - before[i].1));
        }
        if moved < 0.05 {
            break;
        }
    }
    place
}

/// Turns the picture so that its longer side lies along x.
fn upright(place: &mut [Point]) {
    let n = place.len() as f64;
    let (x, y) = place.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0 / n, s.1 + p.1 / n));
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for p in place.iter() {
        let (dx, dy) = (p.0 - x, p.1 - y);
        (xx, xy, yy) = (xx + dx * dx, xy + dx * dy, yy + dy * dy);
    }
    let (sin, cos) = (0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
    for p in place.iter_mut() {
        let (dx, dy) = (p.0 - x, p.1 - y);
        *p = (cos * dx + sin * dy, cos * dy - sin * dx);
    }
}

/// Pushes vertices apart that are closer than `least`, and off edges that are not theirs; where that does not
/// help, stretches the picture.
fn apart(place: &mut [Point], edges: &[(usize, usize)], least: f64) {
    let n = place.len();
    for _ in 0..PUSH {
        let mut close = false;
        for i in 0..n {
            for j in 0..i {
                let (dx, dy) = (place[i].0 - place[j].0, place[i].1 - place[j].1);
                let far = dx.hypot(dy);
                if far >= least {
                    continue;
                }
                close = true;
                let (dx, dy) = direction(dx, dy, i);
                let push = 0.5 * (least * 1.01 - far);
                place[i] = (place[i].0 + push * dx, place[i].1 + push * dy);
                place[j] = (place[j].0 - push * dx, place[j].1 - push * dy);
            }
        }
        for &(u, v) in edges {
            for i in (0..n).filter(|&i| i != u && i != v) {
                let ((ax, ay), (bx, by), (x, y)) = (place[u], place[v], place[i]);
                let (ex, ey) = (bx - ax, by - ay);
                let along = ((x - ax) * ex + (y - ay) * ey) / (ex * ex + ey * ey).max(1e-9);
                if !(0.0..=1.0).contains(&along) {
                    continue;
                }
                let (dx, dy) = (x - ax - along * ex, y - ay - along * ey);
                let (far, off) = (dx.hypot(dy), 0.5 * least);
                if far >= off {
                    continue;
                }
                close = true;
                let (dx, dy) =
                    if far < 1e-6 { direction(-ey, ex, i) } else { direction(dx, dy, i) };
                let push = 0.3 * (off * 1.02 - far);
                place[i] = (x + push * dx, y + push * dy);
                place[u] = (ax - (1.0 - along) * push * dx, ay - (1.0 - along) * push * dy);
                place[v] = (bx - along * push * dx, by - along * push * dy);
            }
        }
        if !close {
            return;
        }
    }
    let mut nearest = f64::INFINITY;
    for i in 0..n {
        for j in 0..i {
            nearest = nearest.min((place[i].0 - place[j].0).hypot(place[i].1 - place[j].1));
        }
    }
    if nearest > 0.0 && nearest < least {
        let factor = (least / nearest).min(4.0);
        place.iter_mut().for_each(|p| *p = (p.0 * factor, p.1 * factor));
    }
}

/// A vector of length one; for none, one that depends on the vertex.
fn direction(dx: f64, dy: f64, vertex: usize) -> Point {
    let length = dx.hypot(dy);
    if length < 1e-6 {
        return ((vertex as f64).cos(), (vertex as f64).sin());
    }
    (dx / length, dy / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lattice_comes_out_as_one() {
        let grid = Template::peps(3, 4).unwrap();
        let place = places(&grid, 100.0, 70.0);
        for &(u, v) in grid.edges() {
            let far = (place[u].0 - place[v].0).hypot(place[u].1 - place[v].1);
            assert!((75.0..130.0).contains(&far), "{u}-{v}: {far}");
        }
        // Opposite corners are farthest.
        let far = |a: usize, b: usize| (place[a].0 - place[b].0).hypot(place[a].1 - place[b].1);
        assert!(far(0, 11) > 2.5 * far(0, 1));
        assert_eq!(place, places(&grid, 100.0, 70.0));
    }
}
