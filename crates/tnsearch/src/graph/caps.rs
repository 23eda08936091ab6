//! Which ranks of a structure stand at the largest that was allowed.

use super::Structure;

impl Structure {
    /// How many edges have the largest rank allowed and could use a larger one: across an edge of rank r at a core of
    /// n entries nothing beyond n / r is of use.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::graph::{Structure, Template};
    /// let path = Arc::new(Template::path(3).unwrap());
    /// let structure = Structure::identity(path, vec![2, 2]).unwrap();
    /// // Mode 0 has two values: its edge cannot use more than rank 2.
    /// assert_eq!(structure.edges_at(2, &[2, 9, 9]), 1);
    /// assert_eq!(structure.edges_at(3, &[2, 9, 9]), 0);
    /// ```
    pub fn edges_at(&self, max_rank: usize, dims: &[usize]) -> usize {
        let entries = |vertex: usize| {
            let core = self.core_dims(vertex, dims);
            core.into_iter().fold(1u128, |n, d| n.saturating_mul(d as u128))
        };
        let capped = self.edges().into_iter().filter(|&[u, v, rank]| {
            let useful = entries(u).min(entries(v)) / rank as u128;
            rank >= max_rank && useful > rank as u128
        });
        capped.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use std::sync::Arc;

    #[test]
    fn edges_that_can_use_no_more_are_not_capped() {
        let ring = Arc::new(Template::ring(4).unwrap());
        let of = |ranks: Vec<usize>| Structure::identity(ring.clone(), ranks).unwrap();
        assert_eq!(of(vec![4; 4]).edges_at(4, &[3; 4]), 4);
        assert_eq!(of(vec![4, 4, 3, 4]).edges_at(4, &[3; 4]), 3);
        // Where one neighbour is narrow and short, the other edge at it can use no more.
        assert_eq!(of(vec![1, 2, 2, 2]).edges_at(2, &[2, 9, 9, 9]), 2);
        assert_eq!(of(vec![1; 4]).edges_at(2, &[3; 4]), 0);
    }
}
