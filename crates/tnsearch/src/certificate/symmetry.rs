//! Symmetries of a case: maps of the vertices that change nothing about it.

use super::case::{Case, Space};

/// Steps of the search for one.
const STEPS: usize = 20_000;

/// A symmetry of a case that takes a vertex to another; none where there is none, or where it was not found soon.
pub(super) fn symmetry(
    space: &Space<'_>,
    case: &Case,
    from: usize,
    to: usize,
) -> Option<Vec<usize>> {
    let n = space.external.len();
    // What the edge between two vertices is, if there is one.
    let mut bounds = vec![None; n * n];
    for (e, &(u, v)) in space.edges.iter().enumerate() {
        let label = Some((case.least[e], case.most[e]));
        (bounds[u * n + v], bounds[v * n + u]) = (label, label);
    }
    let mut image: Vec<Option<usize>> = (0..n).map(|v| case.has(v).then_some(v)).collect();
    if image[from].is_some() || image[to].is_some() {
        return None;
    }
    let mut search = Search { space, bounds, n, steps: 0 };
    if !search.fits(&image, from, to) {
        return None;
    }
    image[from] = Some(to);
    search.extend(&mut image).then(|| image.into_iter().flatten().collect())
}

struct Search<'a> {
    space: &'a Space<'a>,
    bounds: Vec<Option<(u64, u64)>>,
    n: usize,
    steps: usize,
}

impl Search<'_> {
    /// Whether a vertex may go there, as far as others have gone.
    fn fits(&self, image: &[Option<usize>], v: usize, w: usize) -> bool {
        let (n, bounds) = (self.n, &self.bounds);
        self.space.external[v] == self.space.external[w]
            && !image.contains(&Some(w))
            && (0..n).all(|u| image[u].is_none_or(|to| bounds[v * n + u] == bounds[w * n + to]))
    }

    fn extend(&mut self, image: &mut Vec<Option<usize>>) -> bool {
        self.steps += 1;
        if self.steps > STEPS {
            return false;
        }
        // A vertex beside those that have gone leaves the fewest ways.
        let beside = |v: usize| {
            (0..self.n)
                .filter(|&u| image[u].is_some() && self.bounds[v * self.n + u].is_some())
                .count()
        };
        let next =
            (0..self.n).filter(|&v| image[v].is_none()).max_by_key(|&v| (beside(v), self.n - v));
        let Some(v) = next else { return true };
        for w in 0..self.n {
            if self.fits(image, v, w) {
                image[v] = Some(w);
                if self.extend(image) {
                    return true;
                }
                image[v] = None;
            }
        }
        false
    }
}
