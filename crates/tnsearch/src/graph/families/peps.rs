//! Lattices: projected entangled pair states.

use super::{Family, FamilyDescription, Graph, IN_ORDER, Layout, MAX_SIDES};
use crate::graph::{GraphError, Template};

pub(super) static PEPS: FamilyDescription = FamilyDescription {
    name: "peps",
    sides: &["R", "C"],
    summary: "lattice; vertex r*C+c is at row r, column c",
    graph: lattice,
    words: |sides| format!("{} × {} lattice (PEPS)", sides[0], sides[1]),
    placement: IN_ORDER,
    copies: false,
    layout: |sides| Layout::Grid { columns: sides[1] },
};

fn lattice(sides: &[usize], n: usize) -> Result<Graph, String> {
    let (rows, cols) = (sides[0], sides[1]);
    if rows.checked_mul(cols) != Some(n) {
        let carries = rows.saturating_mul(cols);
        return Err(format!("a lattice of {rows} rows and {cols} columns carries {carries}"));
    }
    let right = |v: usize| (!(v + 1).is_multiple_of(cols)).then_some((v, v + 1));
    let below = |v: usize| (v + cols < n).then_some((v, v + cols));
    Ok((n, (0..n).flat_map(|v| [right(v), below(v)]).flatten().collect()))
}

impl Template {
    /// The `rows` x `cols` lattice: vertex `r * cols + c` is joined to its right and lower neighbour.
    pub fn peps(rows: usize, cols: usize) -> Result<Self, GraphError> {
        let mut sides = [0; MAX_SIDES];
        sides[..2].copy_from_slice(&[rows, cols]);
        Family { description: &PEPS, sides }.build(rows.saturating_mul(cols))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_joined_to_their_neighbours() {
        let peps = Template::peps(2, 3).unwrap();
        assert_eq!(peps.edges(), [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]);
    }

    #[test]
    fn other_orders_are_refused() {
        let error = Template::parse("peps:2x3", 5).unwrap_err().to_string();
        assert_eq!(
            error,
            "template 'peps:2x3' cannot carry 5 modes: a lattice of 2 rows and 3 columns carries 6"
        );
        assert!(Template::peps(usize::MAX, 2).is_err());
        assert!(Template::peps(0, 2).is_err());
    }
}
