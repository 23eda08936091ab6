//! Where the labels of edges stand.

/// Places along an edge where a label may stand, the nicest first.
const ALONG: [f64; 9] = [0.5, 0.42, 0.58, 0.35, 0.65, 0.29, 0.71, 0.24, 0.76];
/// A label with this much room around it stands well.
const ROOM: f64 = 19.0;
/// A label with less is better left out: it would hide another.
const LEAST: f64 = 10.0;

type Point = (f64, f64);

/// A place for the label of each edge, clear of vertices, of other labels and of other edges as far as
/// possible; none where there is no room.
pub(super) fn places(ends: &[(Point, Point)], vertices: &[(Point, f64)]) -> Vec<Option<Point>> {
    let mut placed: Vec<Point> = Vec::new();
    let mut out = Vec::with_capacity(ends.len());
    for (k, &(from, to)) in ends.iter().enumerate() {
        let candidates =
            ALONG.map(|t| (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1)));
        let room = |at: Point| {
            let labels = placed.iter().map(|p| far(*p, at));
            let bodies = vertices.iter().map(|(p, radius)| far(*p, at) - radius + 4.0);
            labels.chain(bodies).fold(f64::INFINITY, f64::min)
        };
        let crossing = |at: Point| {
            let others = ends.iter().enumerate().filter(|(j, _)| *j != k);
            others.map(|(_, e)| beside(at, e.0, e.1)).fold(f64::INFINITY, f64::min)
        };
        // On a place where edges cross nobody knows whose label it is.
        let clear = candidates.into_iter().find(|&c| room(c) >= ROOM && crossing(c) >= 9.0);
        let best = clear.or_else(|| {
            candidates
                .into_iter()
                .map(|c| (room(c).min(1.5 * crossing(c) + 6.0), c))
                .reduce(|a, b| if b.0 > a.0 { b } else { a })
                .filter(|(_, c)| room(*c) >= LEAST)
                .map(|(_, c)| c)
        });
        placed.extend(best);
        out.push(best);
    }
    out
}

fn far(a: Point, b: Point) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

/// The distance of a point from a line between two others.
fn beside(at: Point, from: Point, to: Point) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx * dx + dy * dy;
    let t = if length > 0.0 { ((at.0 - from.0) * dx + (at.1 - from.1) * dy) / length } else { 0.0 };
    let t = t.clamp(0.0, 1.0);
    far(at, (from.0 + t * dx, from.1 + t * dy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_off_crossings_and_each_other() {
        // The two diagonals of a square.
        let ends = [((0.0, 0.0), (200.0, 200.0)), ((200.0, 0.0), (0.0, 200.0))];
        let places: Vec<Point> = places(&ends, &[]).into_iter().map(Option::unwrap).collect();
        assert!(far(places[0], places[1]) >= ROOM);
        assert!(places.iter().all(|&p| far(p, (100.0, 100.0)) > 9.0), "{places:?}");
        assert_eq!(super::places(&ends[..1], &[])[0], Some((100.0, 100.0)));
    }

    #[test]
    fn a_label_without_room_is_left_out() {
        let ends = [((0.0, 0.0), (30.0, 0.0))];
        assert_eq!(super::places(&ends, &[((0.0, 0.0), 20.0), ((30.0, 0.0), 20.0)]), [None]);
    }
}
