//! CP: sums of products of vectors.

use super::{FamilyDescription, IN_ORDER, Layout};
use crate::graph::{GraphError, Template};

pub(super) static CP: FamilyDescription = FamilyDescription {
    name: "cp",
    sides: &[],
    summary: "a factor for each mode, all joined by one hyperedge (a hub without parameters)",
    graph: |_, n| Ok((n + 1, (0..n).map(|v| (v, n)).collect())),
    words: |_| "sum of products (CP)".to_owned(),
    placement: IN_ORDER,
    copies: true,
    layout: |_| Layout::Core,
};

impl Template {
    /// CP (Hitchcock 1927): the factors 0..n carry the modes, each joined to the hub, vertex n, by an edge of the same rank
    /// R. The hub is a copy vertex: 1 where all its indices agree, else 0, and no parameter. So
    /// `Z[i, j, ...] = sum over r of A[r, i] B[r, j] ...`, with `R (d_1 + ... + d_n)` parameters.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tnsearch::graph::{Structure, Template};
    /// let cp = Arc::new(Template::cp(3).unwrap());
    /// assert_eq!((cp.vertices(), cp.copy_vertex()), (4, Some(3)));
    /// let structure = Structure::identity(cp.clone(), vec![5; 3]).unwrap();
    /// assert_eq!(structure.params(&[2, 3, 4]), 5 * (2 + 3 + 4));
    /// assert_eq!(structure.canonical().graph.to_string(), "3+0:0-1-2x5");
    /// assert!(Structure::identity(cp, vec![5, 5, 4]).is_err());
    /// ```
    pub fn cp(n: usize) -> Result<Self, GraphError> {
        Template::of(&CP, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cp_is_no_tucker_network() {
        for n in 2..=16 {
            let (cp, tucker) = (Template::cp(n).unwrap(), Template::tucker(n).unwrap());
            assert_eq!((cp.edges(), cp.order()), (tucker.edges(), n));
            assert_eq!((cp.copy_vertex(), tucker.copy_vertex()), (Some(n), None));
            assert!(!cp.is_tree() && tucker.is_tree() && cp != tucker);
            assert_eq!(cp.family().unwrap().to_string(), "cp");
        }
    }
}
