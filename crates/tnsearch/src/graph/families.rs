//! The named templates and the exact graph of each.

use super::{GraphError, Template};
use std::fmt;

/// The largest order of a named template. A dense tensor of more modes than this, each of dimension
/// 2 or more, cannot be addressed.
pub const MAX_ORDER: usize = 64;

/// A named template, before its order is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// Tensor train: 0-1-...-(n-1).
    Path,
    /// Tensor ring: the path closed by an edge; a single edge for order 2.
    Ring,
    /// Vertex 0 joined to all others.
    Star,
    /// Complete binary tree in heap order: the parent of `v` is `(v - 1) / 2`.
    Tree,
    /// Every pair of vertices joined (FCTN).
    Complete,
    /// A rectangular lattice; vertex `r * cols + c` is at row `r`, column `c`.
    Peps {
        /// Rows of the lattice.
        rows: usize,
        /// Columns of the lattice.
        cols: usize,
    },
    /// Hierarchical Tucker: external leaves under a binary tree of internal vertices.
    Ht,
    /// Binary one-dimensional MERA with open boundary.
    Mera,
}

impl Family {
    /// Reads `path`, `ring`, `star`, `tree`, `complete`, `peps:RxC`, `ht` or `mera`.
    pub fn parse(spec: &str) -> Result<Self, GraphError> {
        Ok(match spec {
            "path" => Family::Path,
            "ring" => Family::Ring,
            "star" => Family::Star,
            "tree" => Family::Tree,
            "complete" => Family::Complete,
            "ht" => Family::Ht,
            "mera" => Family::Mera,
            _ => lattice(spec).ok_or_else(|| GraphError::UnknownTemplate(spec.to_owned()))?,
        })
    }

    /// The template of this family that carries `order` modes.
    pub fn build(self, order: usize) -> Result<Template, GraphError> {
        let refuse =
            |reason: String| Err(GraphError::Order { template: self.to_string(), order, reason });
        if order < 2 {
            return refuse("a network needs at least 2".into());
        }
        if order > MAX_ORDER {
            return refuse(format!("at most {MAX_ORDER} are possible"));
        }
        let n = order;
        let mut vertices = n;
        let mut edges: Vec<(usize, usize)> = Vec::new();
        match self {
            Family::Path | Family::Ring => {
                edges.extend((1..n).map(|v| (v - 1, v)));
                if self == Family::Ring && n > 2 {
                    edges.push((0, n - 1));
                }
            }
            Family::Star => edges.extend((1..n).map(|v| (0, v))),
            Family::Tree => edges.extend((1..n).map(|v| ((v - 1) / 2, v))),
            Family::Complete => edges.extend((0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v)))),
            Family::Peps { rows, cols } => {
                if rows.checked_mul(cols) != Some(n) {
                    let carries = rows.saturating_mul(cols);
                    return refuse(format!(
                        "a lattice of {rows} rows and {cols} columns carries {carries}"
                    ));
                }
                for v in 0..n {
                    if !(v + 1).is_multiple_of(cols) {
                        edges.push((v, v + 1));
                    }
                    if v + cols < n {
                        edges.push((v, v + cols));
                    }
                }
            }
            Family::Ht => {
                join_leaves(0..n, &mut vertices, &mut edges);
            }
            Family::Mera => mera(n, &mut vertices, &mut edges),
        }
        let external = (0..vertices).map(|v| v < n).collect();
        Template::from_graph(&self.to_string(), external, edges)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Path => "path",
            Family::Ring => "ring",
            Family::Star => "star",
            Family::Tree => "tree",
            Family::Complete => "complete",
            Family::Peps { rows, cols } => return write!(f, "peps:{rows}x{cols}"),
            Family::Ht => "ht",
            Family::Mera => "mera",
        })
    }
}

fn lattice(spec: &str) -> Option<Family> {
    let (rows, cols) = spec.strip_prefix("peps:")?.split_once('x')?;
    let side = |s: &str| {
        let digits = s.bytes().all(|b| b.is_ascii_digit());
        s.parse().ok().filter(|&n: &usize| digits && n > 0 && n <= MAX_ORDER)
    };
    Some(Family::Peps { rows: side(rows)?, cols: side(cols)? })
}

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

fn mera(n: usize, vertices: &mut usize, edges: &mut Vec<(usize, usize)>) {
    // The vertex whose open edge each site is.
    let mut sites: Vec<usize> = (0..n).collect();
    let mut join = |below: &[usize]| {
        let v = *vertices;
        *vertices += 1;
        edges.extend(below.iter().map(|&b| (b, v)));
        v
    };
    while sites.len() > 4 {
        // Disentanglers on the sites (1,2), (3,4), ...; each hands both of its sites on.
        for pair in sites[1..].chunks_exact_mut(2) {
            let u = join(pair);
            pair.fill(u);
        }
        // Isometries on (0,1), (2,3), ...; an odd last site passes through.
        sites = sites.chunks(2).map(|c| if c.len() == 2 { join(c) } else { c[0] }).collect();
    }
    join(&sites);
}

impl Template {
    /// The path 0-1-...-(n-1): tensor train.
    pub fn path(n: usize) -> Result<Self, GraphError> {
        Family::Path.build(n)
    }

    /// The cycle 0-1-...-(n-1)-0: tensor ring. For n = 2 it is the single edge 0-1, because a simple
    /// graph has no double edge.
    pub fn ring(n: usize) -> Result<Self, GraphError> {
        Family::Ring.build(n)
    }

    /// Vertex 0 is the centre, joined to each of the others; all carry a mode.
    pub fn star(n: usize) -> Result<Self, GraphError> {
        Family::Star.build(n)
    }

    /// The complete binary tree in heap order (the parent of vertex `v` is `(v - 1) / 2`), all
    /// vertices external. For n = 7 both children of the root have two leaves each.
    pub fn tree(n: usize) -> Result<Self, GraphError> {
        Family::Tree.build(n)
    }

    /// The complete graph: every pair of vertices is joined (FCTN).
    pub fn complete(n: usize) -> Result<Self, GraphError> {
        Family::Complete.build(n)
    }

    /// The `rows` x `cols` lattice: vertex `r * cols + c` is joined to its right and lower neighbour.
    pub fn peps(rows: usize, cols: usize) -> Result<Self, GraphError> {
        Family::Peps { rows, cols }.build(rows.saturating_mul(cols))
    }

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
        Family::Ht.build(n)
    }

    /// Binary one-dimensional MERA with open boundary.
    ///
    /// The vertices 0..n carry the modes and are the sites at the bottom. While more than 4 sites
    /// remain, a layer is put on top: first *disentanglers* (degree 4) on the neighbouring sites
    /// (1,2), (3,4), ..., then *isometries* (degree 3) on (0,1), (2,3), ..., each of which makes one
    /// site of two. A site at the boundary without a partner passes through. The *top tensor* joins
    /// the 2 to 4 sites that remain. Vertices are numbered in this order, so the top is the last.
    ///
    /// For order 8 (the paper's case), 16 vertices and 18 edges:
    ///
    /// ```text
    ///                  15                   top tensor
    ///         /     /      \     \
    ///       11     12      13     14        isometries
    ///      /  \   /  \    /  \   /  \
    ///     |     8      9       10    |      disentanglers
    ///     |    / \    / \     /  \   |
    ///     0   1   2  3   4   5    6  7      modes
    /// ```
    ///
    /// ```
    /// let mera = tnsearch::graph::Template::mera(8).unwrap();
    /// assert_eq!((mera.order(), mera.vertices(), mera.edges().len()), (8, 16, 18));
    /// ```
    pub fn mera(n: usize) -> Result<Self, GraphError> {
        Family::Mera.build(n)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every template of an order.
    pub(crate) fn all(order: usize) -> Vec<Template> {
        let mut all: Vec<Template> = ["path", "ring", "star", "tree", "complete", "ht", "mera"]
            .iter()
            .map(|spec| Template::parse(spec, order).unwrap())
            .collect();
        for rows in (1..=order).filter(|r| order.is_multiple_of(*r)) {
            all.push(Template::peps(rows, order / rows).unwrap());
        }
        all
    }

    fn degrees(t: &Template) -> Vec<usize> {
        (0..t.vertices()).map(|v| t.incident(v).count()).collect()
    }

    #[test]
    fn every_template_has_its_order_and_name() {
        for order in 2..=MAX_ORDER {
            for t in all(order) {
                // from_graph has checked that it is simple and connected.
                assert_eq!(t.order(), order, "{}", t.name());
                assert_eq!(t.external_vertices(), (0..order).collect::<Vec<_>>());
                assert_eq!(Template::parse(t.name(), order).unwrap(), t);
                assert_eq!(t.family(), Some(Family::parse(t.name()).unwrap()));
            }
        }
    }

    #[test]
    fn sizes_are_those_of_the_formats() {
        for n in 2..=16 {
            let count = |t: Result<Template, GraphError>| {
                let t = t.unwrap();
                (t.vertices(), t.edges().len())
            };
            assert_eq!(count(Template::path(n)), (n, n - 1));
            assert_eq!(count(Template::ring(n)), (n, if n == 2 { 1 } else { n }));
            assert_eq!(count(Template::star(n)), (n, n - 1));
            assert_eq!(count(Template::tree(n)), (n, n - 1));
            assert_eq!(count(Template::complete(n)), (n, n * (n - 1) / 2));
            assert_eq!(count(Template::ht(n)), (2 * n - 1, 2 * n - 2));
        }
        let peps = Template::peps(2, 3).unwrap();
        assert_eq!(peps.edges(), [(0, 1), (0, 3), (1, 2), (1, 4), (2, 5), (3, 4), (4, 5)]);
        let tree = Template::tree(7).unwrap();
        assert_eq!(tree.edges(), [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6)]);
        assert_eq!(degrees(&Template::star(5).unwrap()), [4, 1, 1, 1, 1]);
    }

    #[test]
    fn ht_is_a_balanced_binary_tree() {
        for n in 2..=16 {
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

    #[test]
    fn mera_has_the_documented_graph() {
        let t = Template::mera(8).unwrap();
        let mut edges = vec![(0, 11), (7, 14)];
        edges.extend([(1, 8), (2, 8), (3, 9), (4, 9), (5, 10), (6, 10)]);
        edges.extend([(8, 11), (8, 12), (9, 12), (9, 13), (10, 13), (10, 14)]);
        edges.extend((11..15).map(|v| (v, 15)));
        edges.sort_unstable();
        assert_eq!(t.edges(), edges);
        for n in 2..=MAX_ORDER {
            let t = Template::mera(n).unwrap();
            let d = degrees(&t);
            assert!(d[..n].iter().all(|&k| k == 1), "order {n}");
            assert!(d[n..].iter().all(|&k| (2..=4).contains(&k)), "order {n}");
        }
    }

    #[test]
    fn impossible_orders_are_refused() {
        for spec in ["path", "ring", "star", "tree", "complete", "ht", "mera", "peps:1x1"] {
            for order in [0, 1, MAX_ORDER + 1] {
                let error = Template::parse(spec, order).unwrap_err();
                assert!(matches!(error, GraphError::Order { .. }), "{spec} {order}: {error}");
            }
        }
        let error = Template::parse("peps:2x3", 5).unwrap_err().to_string();
        assert_eq!(
            error,
            "template 'peps:2x3' cannot carry 5 modes: a lattice of 2 rows and 3 columns carries 6"
        );
        assert!(Template::peps(usize::MAX, 2).is_err());
        assert!(Template::peps(0, 2).is_err());
    }

    #[test]
    fn unknown_names_are_refused() {
        for spec in [
            "",
            "Ring",
            "peps",
            "peps:",
            "peps:2",
            "peps:0x3",
            "peps:2x",
            "peps:2x3x1",
            "peps:-1x3",
            "peps:99999999999999999999x1",
            "ht ",
            "rings",
        ] {
            let error = Template::parse(spec, 6).unwrap_err();
            assert_eq!(error, GraphError::UnknownTemplate(spec.into()));
        }
    }
}
