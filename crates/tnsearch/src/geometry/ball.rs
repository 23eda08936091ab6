//! What lies around a structure: the sets I_d and N_D of the paper's equation 7, and what swaps of any two
//! modes reach.

use super::{GeometryError, Placements};
use crate::graph::ModeGraph;
use num_bigint::BigUint;
use std::collections::{BTreeMap, HashSet};

/// Permutations held at a time.
const MAX_HELD: u64 = 1_000_000;

/// Structures (as graphs on the modes), each with a permutation that writes it.
pub type Reached = BTreeMap<ModeGraph, Vec<usize>>;

impl Placements {
    /// I_0, I_1, ..., I_d around a permutation's structure (equation 7): what exactly so many swaps of modes
    /// on consecutive vertices make of any way of writing it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::geometry::{Internal, Placements};
    /// use tnsearch::graph::Template;
    /// let ring = Placements::new(Arc::new(Template::ring(6).unwrap()), Internal::Free).unwrap();
    /// let sizes: Vec<usize> = ring.spheres(&[0, 1, 2, 3, 4, 5], 1).unwrap().iter().map(|s| s.len()).collect();
    /// assert_eq!(sizes, [1, 6]);
    /// ```
    pub fn spheres(&self, centre: &[usize], d: usize) -> Result<Vec<Reached>, GeometryError> {
        let centre = self.numbered(centre)?;
        let written = self.automorphisms().elements(MAX_HELD)?.map(|p| {
            let p = self.on_modes(&p);
            centre.iter().map(|&v| p[v] as u16).collect::<Vec<u16>>()
        });
        let mut held: HashSet<Vec<u16>> = written.collect();
        let mut spheres = vec![self.found(&held)?];
        for _ in 0..d {
            let mut next = HashSet::new();
            for permutation in &held {
                // The modes on vertices v and v + 1 change places.
                for v in 1..centre.len() as u16 {
                    let swapped = permutation.iter().map(|&w| match w {
                        _ if w == v => v - 1,
                        _ if w + 1 == v => v,
                        _ => w,
                    });
                    next.insert(swapped.collect::<Vec<u16>>());
                }
                check_held(next.len())?;
            }
            held = next;
            spheres.push(self.found(&held)?);
        }
        Ok(spheres)
    }

    /// N_D around a permutation's structure: the union of I_0 to I_D, which is all that is at most D away
    /// (Lemma 3.3).
    pub fn ball(&self, centre: &[usize], d: usize) -> Result<Reached, GeometryError> {
        Ok(self.spheres(centre, d)?.into_iter().flatten().collect())
    }

    /// What exactly 0, 1, ..., d swaps of any two modes reach: all that Algorithm 1 can return with each radius.
    pub fn swap_spheres(&self, centre: &[usize], d: usize) -> Result<Vec<Reached>, GeometryError> {
        let start = Reached::from([(self.graph(centre)?, centre.to_vec())]);
        let mut spheres = vec![start];
        for k in 0..d {
            let mut next = Reached::new();
            for permutation in spheres[k].values() {
                for i in 0..permutation.len() {
                    for j in 0..i {
                        let mut swapped = permutation.clone();
                        swapped.swap(i, j);
                        next.entry(self.graph(&swapped)?).or_insert(swapped);
                    }
                }
                check_held(next.len())?;
            }
            spheres.push(next);
        }
        Ok(spheres)
    }

    fn found(&self, held: &HashSet<Vec<u16>>) -> Result<Reached, GeometryError> {
        let mut found = Reached::new();
        for permutation in held {
            let numbers: Vec<usize> = permutation.iter().map(|&v| usize::from(v)).collect();
            let named = self.named(&numbers);
            // The least permutation, so that nothing depends on the order of a hash set.
            let entry = found.entry(self.graph(&named)?).or_insert_with(|| named.clone());
            if named < *entry {
                *entry = named;
            }
        }
        Ok(found)
    }
}

fn check_held(held: usize) -> Result<(), GeometryError> {
    if held as u64 > MAX_HELD {
        return Err(GeometryError::too_many("permutations", &BigUint::from(held), MAX_HELD));
    }
    Ok(())
}
