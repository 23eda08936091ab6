//! The least length in a double coset of a large group, by branch and bound.
//!
//! Looked for is the least number of inversions of `x = a h b` over symmetries a and b. Positions 0, 1, ... get
//! their values one after the other; the inversions that a position makes with later ones are the unused
//! smaller values (its entry of the Lehmer code), so they only add up, and what is placed bounds the whole.

use super::{GeometryError, Placements, word_length};
use crate::graph::Template;

/// Choices looked at before giving up: some seconds.
const MAX_CHOICES: u64 = 20_000_000;

/// The least length in `Aut h Aut`.
pub(super) fn least_length(placements: &Placements, h: &[usize]) -> Result<u64, GeometryError> {
    let template = placements.template();
    let external = template.external_vertices();
    let orbits = placements.automorphisms().orbits();
    let mut search = Search {
        placements,
        h,
        apart: distances(template, &external),
        kind: external.iter().map(|&v| orbits[v]).collect(),
        right: Vec::new(),
        left: Vec::new(),
        free_position: vec![true; h.len()],
        free_value: vec![true; h.len()],
        best: word_length(h),
        choices: 0,
    };
    search.place(0)?;
    Ok(search.best)
}

struct Search<'p> {
    placements: &'p Placements,
    h: &'p [usize],
    /// Steps between external vertices; symmetries keep them.
    apart: Vec<Vec<usize>>,
    /// The orbit of each external vertex.
    kind: Vec<usize>,
    /// b(0), b(1), ... and for each k the value a(h(b(k))).
    right: Vec<usize>,
    left: Vec<usize>,
    free_position: Vec<bool>,
    free_value: Vec<bool>,
    /// The least length so far.
    best: u64,
    choices: u64,
}

impl Search<'_> {
    fn place(&mut self, length: u64) -> Result<(), GeometryError> {
        let (k, n) = (self.right.len(), self.h.len());
        if k == n {
            if length < self.best && self.are_symmetries()? {
                self.best = length;
            }
            return Ok(());
        }
        let mut smaller = 0;
        for value in 0..n {
            if !self.free_value[value] {
                continue;
            }
            if length + smaller >= self.best {
                break;
            }
            for v in 0..n {
                self.choices += 1;
                if self.choices > MAX_CHOICES {
                    let order = self.placements.automorphisms().order();
                    let what = "an exact distance compares pairs of symmetries";
                    return Err(GeometryError::too_many(what, &(order * order), MAX_CHOICES));
                }
                if self.free_position[v] && self.fits(v, value) {
                    (self.free_position[v], self.free_value[value]) = (false, false);
                    self.right.push(v);
                    self.left.push(value);
                    let placed = self.place(length + smaller);
                    self.right.pop();
                    self.left.pop();
                    (self.free_position[v], self.free_value[value]) = (true, true);
                    placed?;
                }
            }
            smaller += 1;
        }
        Ok(())
    }

    /// Whether b may send the next position to `v`, and a `h(v)` to `value`: orbits and steps are kept.
    fn fits(&self, v: usize, value: usize) -> bool {
        let k = self.right.len();
        self.kind[k] == self.kind[v]
            && self.kind[self.h[v]] == self.kind[value]
            && (0..k).all(|j| {
                let (w, x) = (self.right[j], self.left[j]);
                self.apart[k][j] == self.apart[v][w]
                    && self.apart[self.h[v]][self.h[w]] == self.apart[value][x]
            })
    }

    /// Whether the two complete maps are symmetries of the template, internal vertices and all: the graph on
    /// the modes stays the same.
    fn are_symmetries(&self) -> Result<bool, GeometryError> {
        let n = self.h.len();
        let mut a = vec![0; n];
        for (&v, &value) in self.right.iter().zip(&self.left) {
            a[self.h[v]] = value;
        }
        let identity: Vec<usize> = (0..n).collect();
        let graph = |p: &[usize]| self.placements.graph(&self.placements.named(p));
        let same = graph(&identity)?;
        Ok(graph(&self.right)? == same && graph(&a)? == same)
    }
}

/// The number of edges on the shortest way between external vertices.
fn distances(template: &Template, external: &[usize]) -> Vec<Vec<usize>> {
    let mut near = vec![Vec::new(); template.vertices()];
    for &(u, v) in template.edges() {
        near[u].push(v);
        near[v].push(u);
    }
    let from = |&start: &usize| {
        let mut steps = vec![usize::MAX; near.len()];
        steps[start] = 0;
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(v) = queue.pop_front() {
            for &u in &near[v] {
                if steps[u] == usize::MAX {
                    steps[u] = steps[v] + 1;
                    queue.push_back(u);
                }
            }
        }
        external.iter().map(|&v| steps[v]).collect()
    };
    external.iter().map(from).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Internal, Placements};
    use super::*;
    use crate::graph::testing::{all, shuffled};
    use crate::rng::stream;
    use std::sync::Arc;

    #[test]
    fn branch_and_bound_finds_what_pairs_of_symmetries_say() {
        let mut rng = stream(1, b"nearest");
        for order in 2..=6 {
            for template in all(order) {
                let template = Arc::new(template);
                for internal in [Internal::Free, Internal::Fixed] {
                    let placements = Placements::new(template.clone(), internal).unwrap();
                    for _ in 0..10 {
                        let (a, b) = (shuffled(order, &mut rng), shuffled(order, &mut rng));
                        let h = placements.between(&a, &b).unwrap();
                        let expected = placements.semi_metric(&a, &b).unwrap();
                        let found = least_length(&placements, &h).unwrap();
                        assert_eq!(found, expected, "{} {order} {h:?}", template.name());
                    }
                }
            }
        }
    }
}
