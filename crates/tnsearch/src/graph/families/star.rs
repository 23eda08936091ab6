//! Stars.

use super::{FamilyDescription, IN_ORDER, Layout};
use crate::graph::{GraphError, Template};

pub(super) static STAR: FamilyDescription = FamilyDescription {
    name: "star",
    sides: &[],
    summary: "vertex 0 joined to all others",
    graph: |_, n| Ok((n, (1..n).map(|v| (0, v)).collect())),
    words: |_| "star network".to_owned(),
    placement: IN_ORDER,
    copies: false,
    layout: |_| Layout::Hub,
};

impl Template {
    /// Vertex 0 is the centre, joined to each of the others; all carry a mode.
    pub fn star(n: usize) -> Result<Self, GraphError> {
        Template::of(&STAR, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::count;
    use super::*;

    #[test]
    fn all_edges_meet_in_the_centre() {
        for n in 2..=16 {
            assert_eq!(count(Template::star(n)), (n, n - 1));
        }
        let star = Template::star(5).unwrap();
        assert_eq!(super::super::tests::degrees(&star), [4, 1, 1, 1, 1]);
    }
}
