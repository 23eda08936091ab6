//! Hierarchical Tucker networks.

use super::{FamilyDescription, IN_ORDER, Layout};
use crate::graph::{GraphError, Template};

pub(super) static HT: FamilyDescription = FamilyDescription {
    name: "ht",
    sides: &[],
    summary: "hierarchical Tucker: leaves 0..n-1 carry the modes",
    graph: |_, n| {
        let (mut vertices, mut edges) = (n, Vec::new());
        join_leaves(0..n, &mut vertices, &mut edges);
        Ok((vertices, edges))
    },
    words: |_| "hierarchical Tucker network".to_owned(),
    placement: IN_ORDER,
    copies: false,
    layout: |_| Layout::Layers,
};

/// Joins leaves under a balanced binary tree and returns its top; new vertices get the next numbers,
/// children before parents.
fn join_leaves(
    leaves: std::ops::Range<usize>,
    vertices: &mut usize,
    edges: &mut Vec<(usize, usize)>,
) -> usize {
    if leaves.len() == 1 {
        return leaves.start;
    }
    let middle = leaves.start + leaves.len().div_ceil(2);
    let left = join_leaves(leaves.start..middle, vertices, edges);
    let right = join_leaves(middle..leaves.end, vertices, edges);
    let top = *vertices;
    *vertices += 1;
    edges.extend([(left, top), (right, top)]);
    top
}

impl Template {
    /// Hierarchical Tucker (Hackbusch & Kuehn 2009): the leaves 0..n carry the modes, the vertices
    /// n..2n-1 are internal and form a balanced binary tree.
    ///
    /// A range of leaves is halved (the left half gets the odd one) until single leaves remain; each
    /// range of two or more has one internal vertex, joined to those of its halves. Internal
    /// vertices are numbered children first, so the root is vertex 2n-2. The root has degree 2, all
    /// other internal vertices degree 3. Order 2 is leaf - root - leaf (a Tucker matrix
    /// factorisation); order 3 has one more internal vertex, over leaves 0 and 1.
    ///
    /// ```
    /// let ht = tnsearch::graph::Template::ht(6).unwrap();
    /// assert_eq!((ht.order(), ht.vertices()), (6, 11));
    /// // ((0,1),2) and ((3,4),5) under the root 10.
    /// assert_eq!(ht.edges(), [(0, 6), (1, 6), (2, 7), (3, 8), (4, 8), (5, 9), (6, 7), (7, 10), (8, 9), (9, 10)]);
    /// ```
    pub fn ht(n: usize) -> Result<Self, GraphError> {
        Template::of(&HT, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{count, degrees};
    use super::*;

    #[test]
    fn ht_is_a_balanced_binary_tree() {
        for n in 2..=16 {
            assert_eq!(count(Template::ht(n)), (2 * n - 1, 2 * n - 2));
            let t = Template::ht(n).unwrap();
            let d = degrees(&t);
            assert!(d[..n].iter().all(|&k| k == 1));
            assert!(d[n..2 * n - 2].iter().all(|&k| k == 3));
            assert_eq!(d[2 * n - 2], 2);
            // No leaf is deeper than ceil(log2 n).
            for leaf in 0..n {
                let (mut v, mut depth) = (leaf, 0);
                while let Some(&(_, up)) = t.edges().iter().find(|e| e.0 == v) {
                    (v, depth) = (up, depth + 1);
                }
                assert_eq!(v, 2 * n - 2);
                assert!(1usize << (depth - 1) < n, "depth {depth} at order {n}");
            }
        }
    }
}
