//! Paths: tensor trains.

use super::{FamilyDescription, Layout};
use crate::graph::{GraphError, Template};

pub(super) static PATH: FamilyDescription = FamilyDescription {
    name: "path",
    sides: &[],
    summary: "0-1-...-(n-1): tensor train",
    graph: |_, n| Ok((n, (1..n).map(|v| (v - 1, v)).collect())),
    words: |_| "tensor train (path)".to_owned(),
    placement: "Along the train stand {}.",
    copies: false,
    layout: |_| Layout::Line,
};

impl Template {
    /// The path 0-1-...-(n-1): tensor train.
    pub fn path(n: usize) -> Result<Self, GraphError> {
        Template::of(&PATH, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::count;
    use super::*;

    #[test]
    fn it_has_one_edge_less_than_vertices() {
        for n in 2..=16 {
            assert_eq!(count(Template::path(n)), (n, n - 1));
        }
    }
}
