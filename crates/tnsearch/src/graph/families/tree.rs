//! Complete binary trees.

use super::{FamilyDescription, IN_ORDER, Layout};
use crate::graph::{GraphError, Template};

pub(super) static TREE: FamilyDescription = FamilyDescription {
    name: "tree",
    sides: &[],
    summary: "complete binary tree in heap order: the parent of v is (v-1)/2",
    graph: |_, n| Ok((n, (1..n).map(|v| ((v - 1) / 2, v)).collect())),
    words: |_| "tree network".to_owned(),
    placement: IN_ORDER,
    copies: false,
    layout: |_| Layout::Rooted,
};

impl Template {
    /// The complete binary tree in heap order (the parent of vertex `v` is `(v - 1) / 2`), all
    /// vertices external. For n = 7 both children of the root have two leaves each.
    pub fn tree(n: usize) -> Result<Self, GraphError> {
        Template::of(&TREE, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::count;
    use super::*;

    #[test]
    fn it_is_a_heap() {
        for n in 2..=16 {
            assert_eq!(count(Template::tree(n)), (n, n - 1));
        }
        let tree = Template::tree(7).unwrap();
        assert_eq!(tree.edges(), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]);
    }
}
