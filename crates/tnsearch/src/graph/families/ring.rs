//! Rings: closed tensor trains.

use super::{FamilyDescription, Layout};
use crate::graph::{GraphError, Template};

pub(super) static RING: FamilyDescription = FamilyDescription {
    name: "ring",
    sides: &[],
    summary: "the path closed by the edge 0-(n-1): tensor ring",
    graph: |_, n| Ok((n, edges(n))),
    words: |_| "tensor ring".to_owned(),
    placement: "Round the ring stand {}.",
    copies: false,
    layout: |_| Layout::Circle,
};

fn edges(n: usize) -> Vec<(usize, usize)> {
    let closing = (n > 2).then_some((0, n - 1));
    (1..n).map(|v| (v - 1, v)).chain(closing).collect()
}

impl Template {
    /// The cycle 0-1-...-(n-1)-0: tensor ring. For n = 2 it is the single edge 0-1, because a simple
    /// graph has no double edge.
    pub fn ring(n: usize) -> Result<Self, GraphError> {
        Template::of(&RING, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::count;
    use super::*;

    #[test]
    fn it_is_closed_from_order_3_on() {
        for n in 2..=16 {
            assert_eq!(count(Template::ring(n)), (n, if n == 2 { 1 } else { n }));
        }
    }
}
