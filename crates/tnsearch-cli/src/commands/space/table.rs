//! The paper's Table 1 with exact values, and where it does not hold.

use std::fmt::Write as _;
use std::sync::Arc;
use tnsearch::geometry::{GeometryError, Internal, Space, connected_graphs, factorial, log10};
use tnsearch::graph::{GraphError, Template};

/// The orders of the table, and of the table of all trees.
const ORDERS: std::ops::RangeInclusive<usize> = 4..=12;
const TREES: std::ops::RangeInclusive<usize> = 4..=8;

/// Both tables as Markdown.
pub fn table() -> Result<String, GeometryError> {
    let mut out = "Symmetries and placements of the families of Table 1, exactly. The last column \
                   names what the paper's table says otherwise.\n\n"
        .to_owned();
    out += "| N | template | least degree | largest degree | edges | symmetries | placements | \
            not as in Table 1 |\n";
    out += "| ---: | --- | ---: | ---: | ---: | ---: | ---: | --- |\n";
    for n in ORDERS {
        for template in families(n)? {
            let name = template.name().to_owned();
            let lattice = name.starts_with("peps");
            let space = Space::new(Arc::new(template), 1, Internal::Free)?;
            let mut wrong = Vec::new();
            if lattice && space.edges > n {
                wrong.push("edges <= N");
            }
            if lattice && space.automorphisms > n.into() {
                wrong.push("symmetries <= N");
            }
            let _ = writeln!(
                out,
                "| {n} | {name} | {} | {} | {} | {} | {} | {} |",
                space.degrees.least,
                space.degrees.largest,
                space.edges,
                space.automorphisms,
                space.structures,
                wrong.join(", ")
            );
        }
    }
    out += "\nAll trees (each kind once). Table 1 says 2 to (N-1)! symmetries, N to N!/2 \
            placements.\n\n";
    out += "| N | trees | symmetries | placements | without symmetries (N! placements) |\n";
    out += "| ---: | ---: | ---: | ---: | ---: |\n";
    for n in TREES {
        let mut all = Vec::new();
        for edges in connected_graphs(n)?.into_iter().filter(|edges| edges.len() == n - 1) {
            let tree = Arc::new(Template::from_graph("tree", vec![true; n], edges)?);
            all.push(Space::new(tree, 1, Internal::Free)?);
        }
        all.sort_by(|a, b| a.automorphisms.cmp(&b.automorphisms));
        let without = all.iter().filter(|s| s.structures == factorial(n)).count();
        let (Some(first), Some(last)) = (all.first(), all.last()) else { continue };
        let _ = writeln!(
            out,
            "| {n} | {} | {} to {} | {} to {} | {without} |",
            all.len(),
            first.automorphisms,
            last.automorphisms,
            last.structures,
            first.structures
        );
    }
    out += &bounds()?;
    Ok(out)
}

/// Paths, rings, stars, complete binary trees and lattices of an order.
fn families(n: usize) -> Result<Vec<Template>, GraphError> {
    let mut all =
        vec![Template::path(n)?, Template::ring(n)?, Template::star(n)?, Template::tree(n)?];
    for rows in (2..n).filter(|r| n.is_multiple_of(*r) && r * r <= n) {
        all.push(Template::peps(rows, n / rows)?);
    }
    Ok(all)
}

/// How far Lemma 3.2 and Theorem 3.1 are from the exact numbers.
fn bounds() -> Result<String, GeometryError> {
    let mut out = "\nThe paper's bounds on log10 of the number of symmetries (Lemma 3.2) and of \
                   structures with ranks up to 10 (Theorem 3.1).\n\n"
        .to_owned();
    out += "| N | template | symmetries | Lemma 3.2 | lower bound | structures | upper bound |\n";
    out += "| ---: | --- | ---: | ---: | ---: | ---: | ---: |\n";
    for n in [4, 8, 12, 64] {
        for template in families(n)? {
            let name = template.name().to_owned();
            let space = Space::new(Arc::new(template), 10, Internal::Free)?;
            let lemma = tnsearch::geometry::lemma_ln(n, space.degrees.largest);
            let (Some(lemma), Some((low, high))) = (lemma, space.log10_bounds) else { continue };
            let (aut, lemma) = (log10(&space.automorphisms), lemma / std::f64::consts::LN_10);
            let size = space.log10_size;
            let _ = writeln!(
                out,
                "| {n} | {name} | {aut:.2} | {lemma:.2} | {low:.2} | {size:.2} | {high:.2} |"
            );
        }
    }
    Ok(out)
}
