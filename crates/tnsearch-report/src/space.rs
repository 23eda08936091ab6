//! Pictures of the size of the search space.

use crate::plot::{Axis, Figure, Layer, Panel, Point};
use std::f64::consts::LN_10;
use std::sync::Arc;
use tnsearch::geometry::{GeometryError, Internal, Space, log10, theorem_at_ln};
use tnsearch::graph::{FAMILIES, Family, FamilyDescription, Layout, Template};

/// The bounds of Theorem 3.1 and exact numbers over d, N and R: the paper's figure "bounds with varying d, N
/// and R".
///
/// Left: 16 modes and ranks up to 10, all vertices of the same degree 16 / d. Middle: degree 2, which is the ring,
/// as the modes become more. Right: a ring of 16 modes as the ranks become more.
pub fn bounds_figure() -> Result<String, GeometryError> {
    const N: usize = 16;
    const R: usize = 10;
    let y = || Axis::linear("log10 of the number of structures").include(0.0);
    let bounds = |at: &dyn Fn(f64) -> (f64, f64), xs: &[f64]| {
        let side = |pick: fn((f64, f64)) -> f64| -> Vec<Point> {
            xs.iter().map(|&x| (x, pick(at(x)) / LN_10)).collect()
        };
        [Layer::line("upper bound", side(|b| b.1)), Layer::line("lower bound", side(|b| b.0))]
    };
    let by_degree: Vec<f64> = (0..=140).map(|k| 1.0 + k as f64 / 20.0).skip(2).collect();
    let circulants = (1..=7).map(|steps| {
        let space = Space::new(Arc::new(circulant(N, steps)?), R, Internal::Free)?;
        Ok((N as f64 / (2 * steps) as f64, space.log10_size))
    });
    let circulants = circulants.collect::<Result<Vec<Point>, GeometryError>>()?;
    let left = Panel::new("Degree 16 / d (16 modes, R = 10)", Axis::linear("d = N / degree"), y())
        .add_all(bounds(&|d| theorem_at_ln(N, d, d, R as f64), &by_degree))
        .add(Layer::dots("exact (circulants)", circulants));

    let orders: Vec<f64> = (4..=40).map(f64::from).collect();
    let at_order = |n: f64| theorem_at_ln(n as usize, n / 2.0, n / 2.0, R as f64);
    let rings = (4..=40).step_by(4).map(|n| Ok((n as f64, ring(n, R)?.log10_size)));
    let rings = rings.collect::<Result<Vec<Point>, GeometryError>>()?;
    let middle = Panel::new("Modes (degree 2, R = 10)", Axis::whole("modes N"), y())
        .add_all(bounds(&at_order, &orders))
        .add(Layer::dots("exact (rings)", rings));

    let ranks: Vec<f64> = (2..=50).map(f64::from).collect();
    let d = N as f64 / 2.0;
    let exact = (2..=50).step_by(4).map(|r| Ok((r as f64, ring(N, r)?.log10_size)));
    let exact = exact.collect::<Result<Vec<Point>, GeometryError>>()?;
    let right = Panel::new("Ranks (degree 2, 16 modes)", Axis::whole("largest rank R"), y())
        .add_all(bounds(&|r| theorem_at_ln(N, d, d, r), &ranks))
        .add(Layer::dots("exact (rings)", exact));

    let panels = [left, middle, right].map(|panel| panel.size(400.0, 320.0));
    Ok(Figure::new("The number of structures and the bounds of Theorem 3.1")
        .columns(3)
        .panels(panels)
        .svg())
}

/// How the search space of every template grows with the order: the placements of the modes alone, and with
/// ranks up to `max_rank`.
pub fn growth_figure(max_rank: usize) -> Result<String, GeometryError> {
    const ORDERS: std::ops::RangeInclusive<usize> = 3..=16;
    let y = || Axis::linear("log10 of their number").include(0.0);
    let mut placements = Panel::new("Placements of the modes", Axis::whole("modes N"), y());
    let title = format!("Structures with ranks up to {max_rank}");
    let mut structures = Panel::new(&title, Axis::whole("modes N"), y());
    let mut families = Vec::new();
    for description in FAMILIES {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let mut last = None;
        for n in ORDERS {
            let Some(family) = nearest_to_square(description, n) else { continue };
            let template = Arc::new(family.build(n)?);
            // Nothing to place, and one rank.
            if template.copy_vertex().is_some() {
                continue;
            }
            let space = Space::new(template, max_rank, Internal::Free)?;
            left.push((n as f64, log10(&space.structures)));
            right.push((n as f64, space.log10_size));
            last = Some((space.edges, space.log10_size, family.layout()));
        }
        families.extend(last.map(|last| (description, last, left, right)));
    }
    // Those with the most edges first, of equal ones the largest.
    families.sort_by(|(_, a, ..), (_, b, ..)| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    for (description, (_, _, layout), left, right) in families {
        let name = match description.sides {
            [] => description.name.to_owned(),
            _ => format!("{} (nearest to square)", description.name),
        };
        let drawn = |points| match layout {
            // Rings, paths and trees lie close together.
            Layout::Line | Layout::Rooted => Layer::line(&name, points).dashed(),
            _ => Layer::line(&name, points),
        };
        placements = placements.add(drawn(left));
        structures = structures.add(drawn(right));
    }
    let panels = [placements, structures].map(|panel| panel.size(520.0, 420.0));
    Ok(Figure::new("How large the search space of each template is").panels(panels).svg())
}

fn ring(n: usize, max_rank: usize) -> Result<Space, GeometryError> {
    Space::new(Arc::new(Template::ring(n)?), max_rank, Internal::Free)
}

/// The ring with edges to the next `steps` vertices on either side.
fn circulant(n: usize, steps: usize) -> Result<Template, GeometryError> {
    let edges = (0..n).flat_map(|v| (1..=steps).map(move |s| (v, (v + s) % n))).collect();
    Ok(Template::from_graph("circulant", vec![true; n], edges)?)
}

/// The family of an order; of several the one with the sides nearest to each other, if none of them is 1.
fn nearest_to_square(description: &'static FamilyDescription, n: usize) -> Option<Family> {
    let families = description.of_order(n).into_iter();
    let short = |family: &Family| family.sides().iter().min().copied().unwrap_or(n);
    families.filter(|f| f.sides().is_sorted() && short(f) > 1).max_by_key(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_numbers_lie_between_the_bounds() {
        for steps in 1..=7 {
            let space = Space::new(Arc::new(circulant(16, steps).unwrap()), 10, Internal::Free);
            let size = space.unwrap().log10_size;
            let d = 16.0 / (2 * steps) as f64;
            let (low, high) = theorem_at_ln(16, d, d, 10.0);
            assert!(low / LN_10 <= size && size <= high / LN_10, "{steps}");
        }
        let peps = FAMILIES.into_iter().find(|f| f.name == "peps").unwrap();
        let rows = |n| nearest_to_square(peps, n).map(|f| f.sides()[0]);
        assert_eq!([4, 5, 6, 12, 16].map(rows), [Some(2), None, Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn figures_are_whole_and_the_same_every_time() {
        let pictures = || [bounds_figure().unwrap(), growth_figure(7).unwrap()];
        assert_eq!(pictures(), pictures());
        for (svg, panels) in pictures().iter().zip([3, 2]) {
            assert!(svg.starts_with("<svg ") && !svg.contains("NaN") && !svg.contains("inf"));
            assert_eq!(svg.matches(">modes N<").count(), if panels == 3 { 1 } else { 2 });
        }
        for family in FAMILIES.into_iter().filter(|family| family.name != "cp") {
            assert!(pictures()[1].contains(family.name), "{family:?}");
        }
    }
}
