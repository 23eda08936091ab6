//! MERA networks.

use super::{FamilyDescription, IN_ORDER, Layout};
use crate::graph::{GraphError, Template};

pub(super) static MERA: FamilyDescription = FamilyDescription {
    name: "mera",
    sides: &[],
    summary: "binary 1-D MERA, open boundary",
    graph: |_, n| {
        let (mut vertices, mut edges) = (n, Vec::new());
        mera(n, &mut vertices, &mut edges);
        Ok((vertices, edges))
    },
    words: |_| "MERA network".to_owned(),
    placement: IN_ORDER,
    copies: false,
    layout: |_| Layout::Layers,
};

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
        Template::of(&MERA, n)
    }
}

#[cfg(test)]
mod tests {
    use super::super::MAX_ORDER;
    use super::super::tests::degrees;
    use super::*;

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
}
