//! How far apart two structures are: the word metric and the semi-metric of the paper's equation 6.

use super::elements::inverse;
use super::{GeometryError, Placements, nearest};
use crate::graph::{Structure, Template};
use num_bigint::BigUint;

/// Pairs of symmetries that are gone through one by one; beyond it branch and bound is used.
const MAX_PAIRS: u64 = 10_000_000;

/// Symmetries that are gone through one by one.
const MAX_ELEMENTS: u64 = 1_000_000;

/// How far apart two structures of one template are.
#[derive(Debug, Clone, PartialEq)]
pub struct Distance {
    /// d_G0 (equation 6): the fewest swaps of modes on consecutive vertices that lead from a way of writing
    /// one to a way of writing the other. Vertices are consecutive in the template's numbering.
    pub semi_metric: u64,
    /// The fewest swaps of any two modes (Algorithm 1) that lead from one to the other; none where the
    /// symmetries are too many to go through.
    pub swaps: Option<usize>,
    /// The Euclidean distance of the ranks, the smallest over the ways of writing the two at which their
    /// distance is `semi_metric`; none where the symmetries are too many to go through.
    pub ranks: Option<f64>,
}

/// The length of a permutation as a word in adjacent transpositions: its number of inversions.
///
/// ```
/// assert_eq!(tnsearch::geometry::word_length(&[2, 1, 0]), 3);
/// ```
pub fn word_length(p: &[usize]) -> u64 {
    if p.len() > 64 {
        let later = |k: usize| p[k + 1..].iter().filter(|&&v| v < p[k]).count() as u64;
        return (0..p.len()).map(later).sum();
    }
    let mut seen = 0u64;
    let mut inversions = 0;
    for &v in p {
        inversions += u64::from((seen >> v).count_ones());
        seen |= 1 << v;
    }
    inversions
}

/// The word metric of the symmetric group: the fewest adjacent transpositions that turn one permutation into
/// the other, multiplied from the right: `d(p, q)` is the length of `p^-1 q`.
///
/// # Panics
/// If they are no permutations of the same numbers 0..n.
pub fn word_metric(p: &[usize], q: &[usize]) -> u64 {
    assert_eq!(p.len(), q.len(), "permutations of the same numbers");
    let back = inverse(p);
    word_length(&q.iter().map(|&v| back[v]).collect::<Vec<_>>())
}

impl Placements {
    /// The semi-metric d_G0 between two permutations (the vertex of each mode), equation 6.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::geometry::{Internal, Placements};
    /// use tnsearch::graph::Template;
    /// let ring = Placements::new(Arc::new(Template::ring(5).unwrap()), Internal::Free).unwrap();
    /// // Turned by one vertex, a ring is the same; with two neighbours swapped it is not.
    /// assert_eq!(ring.semi_metric(&[0, 1, 2, 3, 4], &[1, 2, 3, 4, 0]).unwrap(), 0);
    /// assert_eq!(ring.semi_metric(&[0, 1, 2, 3, 4], &[0, 2, 1, 3, 4]).unwrap(), 1);
    /// ```
    pub fn semi_metric(&self, a: &[usize], b: &[usize]) -> Result<u64, GeometryError> {
        let h = self.between(a, b)?;
        match self.lengths(&h)? {
            Some([even, odd]) => Ok(even.min(odd)),
            None => nearest::least_length(self, &h),
        }
    }

    /// Whether a permutation's structure is in I_d of another's (equation 7): reached by exactly `d` swaps of
    /// modes on consecutive vertices. A swap can be undone, so a shorter way of the same parity will do.
    pub fn in_sphere(
        &self,
        centre: &[usize],
        other: &[usize],
        d: u64,
    ) -> Result<bool, GeometryError> {
        let h = self.between(centre, other)?;
        let lengths = self.lengths(&h)?.ok_or_else(|| self.too_symmetric())?;
        Ok(lengths[(d % 2) as usize] <= d)
    }

    /// Whether a permutation's structure is in N_D of another's: at most `d` away (Lemma 3.3).
    pub fn in_ball(
        &self,
        centre: &[usize],
        other: &[usize],
        d: u64,
    ) -> Result<bool, GeometryError> {
        Ok(self.semi_metric(centre, other)? <= d)
    }

    /// How far apart two structures of the template are.
    pub fn distance(&self, a: &Structure, b: &Structure) -> Result<Distance, GeometryError> {
        for s in [a, b] {
            let (here, there) = (self.template(), s.template());
            // By the graph, whatever its name.
            let same = (here.external_vertices(), here.vertices(), here.edges())
                == (there.external_vertices(), there.vertices(), there.edges());
            if !same {
                let about = |t: &Template| format!("'{}' of order {}", t.name(), t.order());
                return Err(GeometryError::TemplatesDiffer(about(here), about(there)));
            }
        }
        let h = self.between(a.permutation(), b.permutation())?;
        let semi_metric = self.semi_metric(a.permutation(), b.permutation())?;
        let ranks = match self.few_pairs() {
            true => Some(self.rank_distance(a, b, &h, semi_metric)?),
            false => None,
        };
        Ok(Distance { semi_metric, swaps: self.swaps(&h)?, ranks })
    }

    fn few_pairs(&self) -> bool {
        let order = self.automorphisms().order();
        order * order <= BigUint::from(MAX_PAIRS)
    }

    fn too_symmetric(&self) -> GeometryError {
        let order = self.automorphisms().order();
        GeometryError::too_many(
            "an exact distance compares pairs of symmetries",
            &(order * order),
            MAX_PAIRS,
        )
    }

    /// What the symmetries do to the numbers of the external vertices, without repetition.
    fn moves(&self) -> Result<Vec<Vec<usize>>, GeometryError> {
        let elements = self.automorphisms().elements(MAX_ELEMENTS)?;
        let mut moves: Vec<Vec<usize>> = elements.map(|p| self.on_modes(&p)).collect();
        moves.sort_unstable();
        moves.dedup();
        Ok(moves)
    }

    /// The least even and the least odd length in the double coset `Aut h Aut` (`u64::MAX`: there is none);
    /// none where the symmetries are too many to go through.
    fn lengths(&self, h: &[usize]) -> Result<Option<[u64; 2]>, GeometryError> {
        if !self.few_pairs() {
            return Ok(None);
        }
        let moves = self.moves()?;
        let mut least = [u64::MAX; 2];
        let mut x = vec![0; h.len()];
        for b in &moves {
            let hb: Vec<usize> = b.iter().map(|&k| h[k]).collect();
            for a in &moves {
                x.iter_mut().zip(&hb).for_each(|(x, &k)| *x = a[k]);
                let length = word_length(&x);
                let slot = &mut least[(length % 2) as usize];
                *slot = length.min(*slot);
            }
        }
        Ok(Some(least))
    }

    /// The fewest transpositions that `h` is a product of, up to symmetries: N minus the number of cycles. It is
    /// the same for `a h b` and its conjugate `b a h`, so one symmetry is enough.
    fn swaps(&self, h: &[usize]) -> Result<Option<usize>, GeometryError> {
        if *self.automorphisms().order() > BigUint::from(MAX_ELEMENTS) {
            return Ok(None);
        }
        let length = |a: &Vec<usize>| {
            let mut seen = vec![false; h.len()];
            let mut cycles = 0;
            for first in 0..h.len() {
                cycles += usize::from(!seen[first]);
                let mut k = first;
                while !std::mem::replace(&mut seen[k], true) {
                    k = a[h[k]];
                }
            }
            h.len() - cycles
        };
        Ok(self.moves()?.iter().map(length).min())
    }

    /// The smallest Euclidean distance of ranks over the ways of writing the two that are `length` apart.
    fn rank_distance(
        &self,
        a: &Structure,
        b: &Structure,
        h: &[usize],
        length: u64,
    ) -> Result<f64, GeometryError> {
        let elements: Vec<_> = self.automorphisms().elements(MAX_ELEMENTS)?.collect();
        // Writing a structure as g p instead of g, the edge e has the rank that p(e) had.
        let written = |s: &Structure, p: &[usize]| -> Vec<f64> {
            let edges = self.template().edges();
            let rank = |&(u, v): &(usize, usize)| {
                let (u, v) = (p[u].min(p[v]), p[u].max(p[v]));
                edges.binary_search(&(u, v)).map_or(0.0, |e| s.ranks()[e] as f64)
            };
            edges.iter().map(rank).collect()
        };
        let left: Vec<_> =
            elements.iter().map(|p| (inverse(&self.on_modes(p)), written(a, p))).collect();
        let mut least = f64::INFINITY;
        for p in &elements {
            let hb: Vec<usize> = self.on_modes(p).iter().map(|&k| h[k]).collect();
            let right = written(b, p);
            for (back, ranks) in &left {
                let x: Vec<usize> = hb.iter().map(|&k| back[k]).collect();
                if word_length(&x) == length {
                    let squares = ranks.iter().zip(&right).map(|(r, s)| (r - s).powi(2));
                    least = least.min(squares.sum());
                }
            }
        }
        Ok(least.sqrt())
    }
}
