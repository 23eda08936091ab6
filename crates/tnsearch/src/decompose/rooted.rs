//! A tree-shaped template hung up at one of its vertices.

use super::DecomposeError;
use crate::graph::Template;

/// A tree and the way from each vertex to the root.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rooted {
    /// The root.
    pub root: usize,
    /// The edge from each vertex towards the root, and the vertex at its other end.
    pub parent: Vec<Option<(usize, usize)>>,
    /// The vertices, children before parents; the root is the last.
    pub order: Vec<usize>,
}

impl Rooted {
    /// Hangs the template up at `root`. Refused if it has a cycle.
    pub fn at(template: &Template, root: usize) -> Result<Self, DecomposeError> {
        let (edges, vertices) = (template.edges().len(), template.vertices());
        if edges + 1 != vertices {
            let template = template.name().to_owned();
            return Err(DecomposeError::NotATree { template, edges, vertices });
        }
        let mut parent = vec![None; vertices];
        let mut order = vec![root];
        let mut next = 0;
        while next < order.len() {
            let v = order[next];
            next += 1;
            for e in template.incident(v) {
                let (a, b) = template.edges()[e];
                let w = if a == v { b } else { a };
                if parent[v].is_none_or(|(_, up)| up != w) {
                    parent[w] = Some((e, v));
                    order.push(w);
                }
            }
        }
        order.reverse();
        Ok(Rooted { root, parent, order })
    }

    /// Hangs the template up where no branch carries more than half of the modes' entries (the weighted
    /// centroid): every truncation then works on the smaller side of its unfolding. `dim[v]` is the dimension
    /// of the mode at a vertex, 1 where there is none.
    pub fn at_centre(template: &Template, dim: &[usize]) -> Result<Self, DecomposeError> {
        let any = Self::at(template, 0)?;
        let mut below: Vec<f64> = dim.iter().map(|&d| (d as f64).ln()).collect();
        let mut heaviest = vec![0.0f64; dim.len()];
        for &v in &any.order {
            if let Some((_, up)) = any.parent[v] {
                below[up] += below[v];
                heaviest[up] = heaviest[up].max(below[v]);
            }
        }
        let total = below[any.root];
        let branch = |v: usize| heaviest[v].max(total - below[v]);
        let root = (0..dim.len()).min_by(|&u, &v| branch(u).total_cmp(&branch(v))).unwrap_or(0);
        Self::at(template, root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_halves_the_tensor() {
        let path = Template::path(5).unwrap();
        assert_eq!(Rooted::at_centre(&path, &[3; 5]).unwrap().root, 2);
        assert_eq!(Rooted::at_centre(&path, &[2, 2, 2, 2, 100]).unwrap().root, 4);
        let ht = Template::ht(6).unwrap();
        let dims: Vec<usize> = (0..11).map(|v| if v < 6 { 3 } else { 1 }).collect();
        // 7 has a branch of three leaves as well: the first of the equal ones is taken.
        let rooted = Rooted::at_centre(&ht, &dims).unwrap();
        assert_eq!(rooted.root, 7);
        assert_eq!(rooted.order.len(), 11);
        let place = |v| rooted.order.iter().position(|&u| u == v).unwrap();
        for v in 0..11 {
            assert!(rooted.parent[v].is_none_or(|(_, up)| place(v) < place(up)));
        }
    }

    #[test]
    fn cycles_are_refused() {
        let error = Rooted::at(&Template::ring(4).unwrap(), 0).unwrap_err();
        assert!(error.to_string().starts_with("template 'ring' is no tree (4 edges between 4"));
    }
}
