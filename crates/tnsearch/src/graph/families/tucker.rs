//! Tucker networks.

use super::{FamilyDescription, IN_ORDER, Layout};
use crate::graph::{GraphError, Template};

pub(super) static TUCKER: FamilyDescription = FamilyDescription {
    name: "tucker",
    sides: &[],
    summary: "one core without a mode, joined to a factor for each mode",
    graph: |_, n| Ok((n + 1, (0..n).map(|v| (v, n)).collect())),
    words: |_| "Tucker network".to_owned(),
    placement: IN_ORDER,
    copies: false,
    layout: |_| Layout::Core,
};

impl Template {
    /// Tucker (1966): the factors 0..n carry the modes, each joined to the core, vertex n, which carries none.
    ///
    /// ```
    /// let tucker = tnsearch::graph::Template::tucker(3).unwrap();
    /// assert_eq!((tucker.order(), tucker.vertices()), (3, 4));
    /// assert_eq!(tucker.edges(), [(0, 3), (1, 3), (2, 3)]);
    /// ```
    pub fn tucker(n: usize) -> Result<Self, GraphError> {
        Template::of(&TUCKER, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{count, degrees};
    use super::*;

    #[test]
    fn all_factors_meet_in_the_core() {
        for n in 2..=16 {
            assert_eq!(count(Template::tucker(n)), (n + 1, n));
            let tucker = Template::tucker(n).unwrap();
            assert!(!tucker.is_external(n));
            assert_eq!(degrees(&tucker)[n], n);
        }
        assert_eq!(Template::tucker(2).unwrap().edges(), Template::ht(2).unwrap().edges());
    }
}
