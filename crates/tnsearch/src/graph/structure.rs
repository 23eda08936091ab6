//! A structure: template, permutation, ranks.

use super::{GraphError, ModeGraph, Template, VertexFile};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A template, the vertex each mode sits on, and the rank of each edge. A vertex may carry several modes.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::{Structure, Template};
/// let ring = Arc::new(Template::ring(3).unwrap());
/// // Mode 0 on vertex 2, mode 1 on vertex 0, mode 2 on vertex 1; edges (0,1), (0,2), (1,2).
/// let structure = Structure::new(ring, vec![2, 0, 1], vec![4, 3, 1]).unwrap();
/// assert_eq!(structure.params(&[5, 6, 7]), 3 * 5 + 4 * 3 * 6 + 4 * 7);
/// assert_eq!(structure.canonical().graph.to_string(), "3+0:0-1x3,1-2x4");
/// // Modes 0 and 2 on one vertex, mode 1 on another.
/// let two = Structure::from_groups("mine", &[vec![0, 2], vec![1]], &[(0, 1, 3)]).unwrap();
/// assert_eq!(two.params(&[5, 6, 7]), 3 * 5 * 7 + 3 * 6);
/// assert_eq!(two.core_dims(0, &[5, 6, 7]), [3, 5, 7]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Structure {
    template: Arc<Template>,
    permutation: Vec<usize>,
    ranks: Vec<usize>,
}

/// The JSON form of a structure (`docs/formats.md`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructureFile {
    /// A template's name or graph.
    pub template: TemplateRef,
    /// The vertex of mode 0, of mode 1, ...
    pub permutation: Vec<usize>,
    /// `[u, v, rank]`; edges of the template that are left out have rank 1.
    pub edges: Vec<[usize; 3]>,
}

/// How a file names a template.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum TemplateRef {
    /// By name: `"ring"`, `"peps:2x3"`.
    Name(String),
    /// By its graph.
    Graph {
        /// Its vertices.
        vertices: Vec<VertexFile>,
        /// Its edges `[u, v]`.
        edges: Vec<[usize; 2]>,
    },
}

impl Structure {
    /// A structure from its parts: `permutation[n]` is the vertex of mode `n`, `ranks[e]` the rank of
    /// edge `e` of the template. Every external vertex carries a mode, and may carry several.
    pub fn new(
        template: Arc<Template>,
        permutation: Vec<usize>,
        ranks: Vec<usize>,
    ) -> Result<Self, GraphError> {
        let mut named = permutation.clone();
        named.sort_unstable();
        named.dedup();
        let external = template.external_vertices();
        if named != external {
            let often = match permutation.len() <= external.len() {
                true => "once",
                false => "at least once, and no other vertex",
            };
            return Err(GraphError::BadPermutation {
                permutation,
                reason: format!("it must name each of the external vertices {external:?} {often}"),
            });
        }
        if ranks.len() != template.edges().len() {
            return Err(GraphError::BadRank(format!(
                "{} ranks for {} edges",
                ranks.len(),
                template.edges().len()
            )));
        }
        if let Some(e) = ranks.iter().position(|&r| r == 0) {
            let (u, v) = template.edges()[e];
            return Err(GraphError::BadRank(format!(
                "edge [{u},{v}] has rank 0; ranks are at least 1"
            )));
        }
        if template.copy_vertex().is_some() {
            if permutation.len() != external.len() {
                let reason = "each vertex of a cp carries one mode".to_owned();
                return Err(GraphError::BadPermutation { permutation, reason });
            }
            if ranks.iter().any(|&r| r != ranks[0]) {
                return Err(GraphError::BadRank(format!(
                    "the edges of a cp all have one rank, not {ranks:?}"
                )));
            }
        }
        Ok(Structure { template, permutation, ranks })
    }

    /// A structure in which mode `n` sits on the `n`-th external vertex.
    pub fn identity(template: Arc<Template>, ranks: Vec<usize>) -> Result<Self, GraphError> {
        let permutation = template.external_vertices();
        Self::new(template, permutation, ranks)
    }

    /// A structure with a graph of its own: the modes of each vertex (none, one or several), and the edges
    /// `(u, v, rank)` between the vertices. The graph must hang together; one vertex with all modes will do.
    pub fn from_groups(
        name: &str,
        modes_of_vertex: &[Vec<usize>],
        edges: &[(usize, usize, usize)],
    ) -> Result<Self, GraphError> {
        let bad = |reason: String| {
            Err(GraphError::BadGroups { groups: modes_of_vertex.to_vec(), reason })
        };
        let order = modes_of_vertex.iter().map(Vec::len).sum();
        let mut vertex = vec![None; order];
        for (v, &n) in
            modes_of_vertex.iter().enumerate().flat_map(|(v, g)| g.iter().map(move |n| (v, n)))
        {
            let Some(slot) = vertex.get_mut(n) else {
                return bad(format!("mode {n} is there, but not all below it"));
            };
            if slot.replace(v).is_some() {
                return bad(format!("mode {n} stands twice"));
            }
        }
        let external = modes_of_vertex.iter().map(|g| !g.is_empty()).collect();
        let pairs = edges.iter().map(|&(u, v, _)| (u, v)).collect();
        let template = Template::from_graph(name, external, pairs)?;
        let mut sorted: Vec<_> = edges.iter().map(|&(u, v, r)| (u.min(v), u.max(v), r)).collect();
        sorted.sort_unstable();
        let ranks = sorted.into_iter().map(|e| e.2).collect();
        Self::new(Arc::new(template), vertex.into_iter().flatten().collect(), ranks)
    }

    /// A structure with this canonical form, on the graph itself; parts that hang together by nothing are joined to
    /// vertex 0 by edges of rank 1.
    ///
    /// ```
    /// use tnsearch::graph::{ModeGraph, Structure};
    /// let graph: ModeGraph = "4+0/0.2,1,3:0-2x5".parse().unwrap();
    /// let structure = Structure::of_graph(&graph).unwrap();
    /// assert_eq!(structure.edges(), [[0, 1, 1], [0, 2, 5]]);
    /// assert_eq!(structure.permutation(), [0, 1, 0, 2]);
    /// ```
    pub fn of_graph(graph: &ModeGraph) -> Result<Self, GraphError> {
        if let Some(rank) = graph.rank_of_cp() {
            let template = Arc::new(Template::cp(graph.modes())?);
            return Self::identity(template, vec![rank; graph.modes()]);
        }
        let mut part: Vec<usize> = (0..graph.vertices()).collect();
        let mut join = |u: usize, v: usize| {
            let (p, q) = (part[u], part[v]);
            part.iter_mut().filter(|x| **x == q).for_each(|x| *x = p);
            p != q
        };
        let mut edges = graph.edges().to_vec();
        for &(u, v, _) in graph.edges() {
            join(u, v);
        }
        edges.extend((1..graph.vertices()).filter(|&v| join(0, v)).map(|v| (0, v, 1)));
        let groups: Vec<Vec<usize>> = (0..graph.vertices()).map(|v| graph.modes_at(v)).collect();
        Self::from_groups("graph", &groups, &edges)
    }

    /// The template.
    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// The vertex of mode 0, of mode 1, ...
    pub fn permutation(&self) -> &[usize] {
        &self.permutation
    }

    /// The rank of each of the template's edges.
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// The edges `[u, v, rank]` between the template's vertices.
    pub fn edges(&self) -> Vec<[usize; 3]> {
        let edges = self.template.edges().iter().zip(&self.ranks);
        edges.map(|(&(u, v), &r)| [u, v, r]).collect()
    }

    /// The modes at each vertex, in increasing order (none at internal vertices).
    pub fn groups(&self) -> Vec<Vec<usize>> {
        let mut modes = vec![Vec::new(); self.template.vertices()];
        for (n, &v) in self.permutation.iter().enumerate() {
            modes[v].push(n);
        }
        modes
    }

    /// The modes at a vertex, in increasing order.
    pub fn modes_at(&self, vertex: usize) -> Vec<usize> {
        (0..self.permutation.len()).filter(|&n| self.permutation[n] == vertex).collect()
    }

    /// Whether some vertex carries several modes.
    pub fn is_grouped(&self) -> bool {
        self.permutation.len() != self.template.order()
    }

    /// Checks that the structure carries as many modes as a tensor of `order` has.
    pub fn check_order(&self, order: usize) -> Result<(), GraphError> {
        match self.permutation.len() {
            modes if modes == order => Ok(()),
            modes if self.is_grouped() => Err(GraphError::GroupedModes { modes, order }),
            _ => self.template.check_order(order),
        }
    }

    /// The shape of the core at a vertex: its edges in the template's order (rank-1 edges included),
    /// then one axis for each of its modes in increasing order. At a copy vertex the diagonal alone: one axis.
    pub fn core_dims(&self, vertex: usize, dims: &[usize]) -> Vec<usize> {
        let copies = self.template.copy_vertex() == Some(vertex);
        let edges = self.template.incident(vertex).map(|e| self.ranks[e]);
        // One index for all.
        let edges = edges.take(if copies { 1 } else { usize::MAX });
        edges.chain(self.modes_at(vertex).into_iter().map(|n| dims[n])).collect()
    }

    /// The number of entries of all cores (saturating); a copy vertex has none of its own.
    ///
    /// # Panics
    /// If `dims` has fewer entries than there are modes.
    pub fn params(&self, dims: &[usize]) -> u128 {
        let mut size = vec![1u128; self.template.vertices()];
        for (n, &v) in self.permutation.iter().enumerate() {
            size[v] = size[v].saturating_mul(dims[n] as u128);
        }
        for (&(u, v), &r) in self.template.edges().iter().zip(&self.ranks) {
            size[u] = size[u].saturating_mul(r as u128);
            size[v] = size[v].saturating_mul(r as u128);
        }
        size.truncate(self.template.copy_vertex().unwrap_or(usize::MAX));
        size.into_iter().fold(0, u128::saturating_add)
    }

    /// The same structure with its ranks cut down to what the ends of each edge can carry: every tensor of this one is one
    /// of that, see [`ModeGraph::useful_ranks`](super::ModeGraph::useful_ranks).
    pub fn without_useless_ranks(&self, dims: &[usize]) -> Structure {
        let (template, mut ranks) = (&self.template, self.ranks.clone());
        let sizes = self.groups().into_iter().map(|modes| modes.iter().map(|&n| dims[n]).product());
        let sizes: Vec<usize> = sizes.collect();
        if let Some(hub) = template.copy_vertex() {
            let most = super::most_terms(&sizes[..hub]);
            ranks.iter_mut().for_each(|r| *r = (*r).min(most));
            return Structure { ranks, ..self.clone() };
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (v, &size) in sizes.iter().enumerate() {
                for e in template.incident(v) {
                    let others = template.incident(v).filter(|&f| f != e);
                    let held = others.fold(size, |held, f| held.saturating_mul(ranks[f]));
                    if held < ranks[e] {
                        ranks[e] = held;
                        changed = true;
                    }
                }
            }
        }
        Structure { ranks, ..self.clone() }
    }

    /// phi = params / product of the dimensions, the paper's complexity term.
    pub fn phi(&self, dims: &[usize]) -> f64 {
        self.params(dims) as f64 / crate::tensor::size(dims) as f64
    }

    /// The JSON form: every edge of the template with its rank, rank 1 included. The template goes by its graph
    /// where a vertex carries several modes (a name stands for one mode at each).
    pub fn to_file(&self) -> StructureFile {
        let template =
            if self.is_grouped() { self.template.to_graph() } else { self.template.to_ref() };
        StructureFile { template, permutation: self.permutation.clone(), edges: self.edges() }
    }

    /// The structure a file describes; edges it leaves out have rank 1.
    ///
    /// ```
    /// use tnsearch::graph::{Structure, StructureFile};
    /// let text = r#"{"template":"ring","permutation":[2,0,1],"edges":[[0,1,4],[2,0,3]]}"#;
    /// let file: StructureFile = serde_json::from_str(text).unwrap();
    /// let structure = Structure::from_file(&file).unwrap();
    /// assert_eq!(structure.edges(), [[0, 1, 4], [0, 2, 3], [1, 2, 1]]);
    /// ```
    pub fn from_file(file: &StructureFile) -> Result<Self, GraphError> {
        let order = file.permutation.len();
        let template = match &file.template {
            TemplateRef::Name(name) => Template::parse(name, order)?,
            TemplateRef::Graph { vertices, edges } => {
                Template::from_vertices("graph", vertices, edges)?
            }
        };
        // More modes than vertices to carry them: several at one.
        if template.order() > order {
            template.check_order(order)?;
        }
        let template = Arc::new(template);
        let mut ranks = vec![None; template.edges().len()];
        for &[u, v, rank] in &file.edges {
            let bad = |reason| Err(GraphError::BadEdge { u, v, reason });
            let Ok(e) = template.edges().binary_search(&(u.min(v), u.max(v))) else {
                return bad(not_in(&template, u, v));
            };
            if ranks[e].replace(rank).is_some() {
                return bad("it stands twice".into());
            }
        }
        let ranks = ranks.into_iter().map(|r| r.unwrap_or(1)).collect();
        Self::new(template, file.permutation.clone(), ranks)
    }
}

/// Why an edge is not one of the template's, with those that are at the same vertex.
fn not_in(template: &Template, u: usize, v: usize) -> String {
    let name = template.name();
    let last = template.vertices() - 1;
    if u.max(v) > last {
        return format!("template '{name}' has the vertices 0 to {last}");
    }
    let edges = template.incident(u).map(|e| template.edges()[e]);
    let others: Vec<usize> = edges.map(|(a, b)| if a == u { b } else { a }).collect();
    format!("template '{name}' has no such edge; it joins vertex {u} to {others:?}")
}

#[cfg(test)]
mod tests {
    use super::super::testing::{all, random};
    use super::*;
    use crate::rng::stream;

    fn read(text: &str) -> Result<Structure, GraphError> {
        Structure::from_file(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn files_round_trip() {
        let mut rng = stream(1, b"structure");
        for order in 2..=10 {
            for template in all(order) {
                let external = (0..template.vertices()).map(|v| template.is_external(v)).collect();
                let edges = template.edges().to_vec();
                let own = Template::from_graph("graph", external, edges).unwrap();
                for template in [template, own] {
                    let s = random(&Arc::new(template), 5, &mut rng);
                    let json = serde_json::to_string(&s.to_file()).unwrap();
                    assert_eq!(read(&json).unwrap(), s);
                    // Leaving the rank-1 edges out changes nothing.
                    let mut file = s.to_file();
                    file.edges.retain(|e| e[2] > 1);
                    assert_eq!(Structure::from_file(&file).unwrap(), s);
                }
            }
        }
    }

    #[test]
    fn bad_files_are_refused() {
        let cases = [
            (
                r#""ring","permutation":[0,1,2,3],"edges":[[0,2,3]]"#,
                "bad edge [0,2]: template 'ring' has no such edge; it joins vertex 0 to [1, 3]",
            ),
            (
                r#""ring","permutation":[0,1,2,3],"edges":[[0,4,3]]"#,
                "bad edge [0,4]: template 'ring' has the vertices 0 to 3",
            ),
            (r#""ring","permutation":[0,1,2,3],"edges":[[1,1,3]]"#, "no such edge"),
            (
                r#""ring","permutation":[0,1,2,3],"edges":[[0,1,3],[1,0,3]]"#,
                "bad edge [1,0]: it stands twice",
            ),
            (r#""ring","permutation":[0,1,2,3],"edges":[[0,1,0]]"#, "edge [0,1] has rank 0"),
            (r#""ring","permutation":[0,1,1,3],"edges":[]"#, "bad permutation [0, 1, 1, 3]"),
            (r#""ring","permutation":[0,1,4,3],"edges":[]"#, "each of the external vertices"),
            (r#""ring","permutation":[0],"edges":[]"#, "cannot carry 1 modes"),
            (r#""wheel","permutation":[0,1],"edges":[]"#, "unknown template 'wheel'"),
            (r#""peps:2x3","permutation":[0,1],"edges":[]"#, "carries 6"),
            (
                r#"{"vertices":[{"mode":true},{"mode":true}],"edges":[[0,1]]},"permutation":[0,1,2],"edges":[]"#,
                "it must name each of the external vertices [0, 1] at least once, and no other vertex",
            ),
            (
                r#"{"vertices":[{"mode":true},{"mode":true}],"edges":[[0,1]]},"permutation":[0],"edges":[]"#,
                "2 external vertices",
            ),
            (
                r#"{"vertices":[{"mode":true},{"mode":true}],"edges":[]},"permutation":[0,1],"edges":[]"#,
                "not connected",
            ),
        ];
        for (body, reason) in cases {
            let error = read(&format!("{{\"template\":{body}}}")).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let unknown = r#"{"template":"ring","permutation":[0,1],"edges":[],"rank":3}"#;
        assert!(serde_json::from_str::<StructureFile>(unknown).is_err());
    }

    #[test]
    fn params_are_the_entries_of_the_cores() {
        let mut rng = stream(2, b"structure");
        for order in 2..=10 {
            for template in all(order) {
                let s = random(&Arc::new(template), 4, &mut rng);
                let dims: Vec<usize> = (1..=order).collect();
                let cores = (0..s.template().vertices()).map(|v| s.core_dims(v, &dims));
                let entries: usize = cores.map(|c| c.iter().product::<usize>()).sum();
                assert_eq!(s.params(&dims), entries as u128);
            }
        }
        // Eq. of the ring: the sum of r(k-1) I_k r(k).
        let ring = Arc::new(Template::ring(3).unwrap());
        let s = Structure::identity(ring, vec![2, 3, 4]).unwrap();
        assert_eq!(s.params(&[5, 6, 7]), 2 * 3 * 5 + 2 * 4 * 6 + 3 * 4 * 7);
        assert_eq!(s.phi(&[5, 6, 7]), 162.0 / 210.0);
        assert_eq!(s.core_dims(1, &[5, 6, 7]), [2, 4, 6]);
    }

    #[test]
    fn huge_ranks_saturate() {
        let complete = Arc::new(Template::complete(16).unwrap());
        let ranks = vec![usize::MAX; complete.edges().len()];
        let s = Structure::identity(complete, ranks).unwrap();
        assert_eq!(s.params(&[2; 16]), u128::MAX);
        assert_eq!(s.canonical().graph.params(&[2; 16]), u128::MAX);
    }
}
