//! Complete graphs: fully connected networks.

use super::{FamilyDescription, Layout};
use crate::graph::{GraphError, Template};

pub(super) static COMPLETE: FamilyDescription = FamilyDescription {
    name: "complete",
    sides: &[],
    summary: "every pair joined: FCTN",
    graph: |_, n| Ok((n, (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).collect())),
    words: |_| "fully connected network".to_owned(),
    placement: "Every mode may be joined to every other.",
    copies: false,
    layout: |_| Layout::Chords,
};

impl Template {
    /// The complete graph: every pair of vertices is joined (FCTN).
    pub fn complete(n: usize) -> Result<Self, GraphError> {
        Template::of(&COMPLETE, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::count;
    use super::*;

    #[test]
    fn every_pair_is_joined() {
        for n in 2..=16 {
            assert_eq!(count(Template::complete(n)), (n, n * (n - 1) / 2));
        }
    }
}
