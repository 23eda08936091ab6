//! Template graphs: the formats a tensor network can have.

use super::{Family, GraphError, TemplateRef};
use serde::{Deserialize, Serialize};

/// A simple connected graph whose *external* vertices carry the modes, one each unless a structure says otherwise.
///
/// ```
/// use tnsearch::graph::Template;
/// let ring = Template::parse("ring", 4).unwrap();
/// assert_eq!(ring.edges(), [(0, 1), (0, 3), (1, 2), (2, 3)]);
/// let error = Template::parse("peps:2x3", 4).unwrap_err();
/// assert!(error.to_string().contains("2 rows and 3 columns"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    name: String,
    external: Vec<bool>,
    edges: Vec<(usize, usize)>,
    /// Whether the last vertex is a copy vertex.
    copies: bool,
}

/// What stands for all trees.
const ANY_TREE: &str = "any-tree";

/// The name under which all graphs are asked for.
const ANY: &str = "any";

/// The name under which several formats are asked for.
const FORMATS: &str = "formats";

/// A vertex of a JSON template: `{"mode": true}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VertexFile {
    /// Whether the vertex carries a mode.
    pub mode: bool,
}

/// A JSON template, read by itself for error messages that name the field.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GraphFile {
    vertices: Vec<VertexFile>,
    edges: Vec<[usize; 2]>,
}

impl Template {
    /// The template a user names, one of [`FAMILIES`](super::FAMILIES), for a tensor of `order` modes.
    pub fn parse(spec: &str, order: usize) -> Result<Self, GraphError> {
        match spec {
            ANY_TREE => Self::any_tree(order),
            ANY => Self::any(order),
            FORMATS => Self::formats(order),
            _ => Family::parse(spec)?.build(order),
        }
    }

    /// All trees, of any topology and with any number of modes at a vertex: no graph of its own, but what a search over all
    /// of them is asked for with. (It stands there as a path.)
    pub fn any_tree(order: usize) -> Result<Self, GraphError> {
        Ok(Template { name: ANY_TREE.to_owned(), ..Self::path(order)? })
    }

    /// Whether this stands for all trees.
    pub fn is_any_tree(&self) -> bool {
        self.name == ANY_TREE && Self::any_tree(self.order()).as_ref() == Ok(self)
    }

    /// All graphs on the modes: the complete graph, some of whose edges may have rank 1.
    pub fn any(order: usize) -> Result<Self, GraphError> {
        Ok(Template { name: ANY.to_owned(), ..Self::complete(order)? })
    }

    /// Whether this stands for all graphs.
    pub fn is_any(&self) -> bool {
        self.name == ANY && Self::any(self.order()).as_ref() == Ok(self)
    }

    /// Several formats at once, for a search that chooses between them: no graph of its own. (It stands there as a path.)
    pub fn formats(order: usize) -> Result<Self, GraphError> {
        Ok(Template { name: FORMATS.to_owned(), ..Self::path(order)? })
    }

    /// Whether this stands for several formats.
    pub fn is_formats(&self) -> bool {
        self.name == FORMATS && Self::formats(self.order()).as_ref() == Ok(self)
    }

    /// A template from its vertices (whether each carries modes) and edges. A single vertex with a mode is one
    /// that can only carry all modes of a tensor.
    pub fn from_graph(
        name: &str,
        external: Vec<bool>,
        edges: Vec<(usize, usize)>,
    ) -> Result<Self, GraphError> {
        let n = external.len();
        if !external.contains(&true) {
            return Err(too_few(n, 0));
        }
        let mut sorted = Vec::with_capacity(edges.len());
        for &(u, v) in &edges {
            if u >= n || v >= n {
                return Err(GraphError::BadGraph(format!(
                    "edge [{u},{v}] names a vertex that is not there (vertices are 0 to {})",
                    n - 1
                )));
            }
            if u == v {
                return Err(GraphError::BadGraph(format!(
                    "edge [{u},{v}] joins a vertex to itself"
                )));
            }
            sorted.push((u.min(v), u.max(v)));
        }
        sorted.sort_unstable();
        if let Some(w) = sorted.windows(2).find(|w| w[0] == w[1]) {
            return Err(GraphError::BadGraph(format!("edge [{},{}] stands twice", w[0].0, w[0].1)));
        }
        let template = Template { name: name.to_owned(), external, edges: sorted, copies: false };
        if let Some(v) = template.unreachable_vertex() {
            return Err(GraphError::BadGraph(format!(
                "it is not connected: vertex {v} cannot be reached from vertex 0"
            )));
        }
        Ok(template)
    }

    /// A template from JSON text, `{"vertices":[{"mode":true},...],"edges":[[0,1],...]}`.
    ///
    /// ```
    /// use tnsearch::graph::Template;
    /// let text = r#"{"vertices":[{"mode":true},{"mode":false},{"mode":true}],"edges":[[0,1],[1,2]]}"#;
    /// let template = Template::from_json("mine", text).unwrap();
    /// assert_eq!((template.order(), template.vertices()), (2, 3));
    /// ```
    pub fn from_json(name: &str, text: &str) -> Result<Self, GraphError> {
        let file: GraphFile = serde_json::from_str(text).map_err(|e| {
            GraphError::BadGraph(format!(
                "{e}; a graph is {{\"vertices\":[{{\"mode\":true}},...],\"edges\":[[0,1],...]}}"
            ))
        })?;
        let template = Self::from_vertices(name, &file.vertices, &file.edges)?;
        match template.order() {
            1 => Err(too_few(template.vertices(), 1)),
            _ => Ok(template),
        }
    }

    /// The template a file names, for a tensor of `order` modes.
    pub fn from_ref(reference: &TemplateRef, order: usize) -> Result<Self, GraphError> {
        let template = match reference {
            TemplateRef::Name(name) => Self::parse(name, order)?,
            TemplateRef::Graph { vertices, edges } => {
                Self::from_vertices("graph", vertices, edges)?
            }
        };
        template.check_order(order)?;
        Ok(template)
    }

    /// A template from the parts of a file.
    pub(super) fn from_vertices(
        name: &str,
        vertices: &[VertexFile],
        edges: &[[usize; 2]],
    ) -> Result<Self, GraphError> {
        let n = vertices.len();
        if n > MAX_VERTICES {
            return Err(GraphError::BadGraph(format!(
                "it has {n} vertices; at most {MAX_VERTICES} can be planned for"
            )));
        }
        let external = vertices.iter().map(|v| v.mode).collect();
        Self::from_graph(name, external, edges.iter().map(|&[u, v]| (u, v)).collect())
    }

    /// How a file names this template: by name if it is a named one, else by its graph.
    pub fn to_ref(&self) -> TemplateRef {
        if self.family().is_some() || self.is_any_tree() || self.is_any() || self.is_formats() {
            return TemplateRef::Name(self.name.clone());
        }
        self.to_graph()
    }

    /// The template by its graph.
    pub(super) fn to_graph(&self) -> TemplateRef {
        TemplateRef::Graph {
            vertices: self.external.iter().map(|&mode| VertexFile { mode }).collect(),
            edges: self.edges.iter().map(|&(u, v)| [u, v]).collect(),
        }
    }

    /// Which of the named templates this is; none for a graph of the user's own.
    pub fn family(&self) -> Option<Family> {
        let family = Family::parse(&self.name).ok()?;
        (family.build(self.order()).as_ref() == Ok(self)).then_some(family)
    }

    /// Checks that the template carries as many modes as a tensor of `order` has.
    pub fn check_order(&self, order: usize) -> Result<(), GraphError> {
        let external = self.order();
        if external != order {
            let template = self.name.clone();
            return Err(GraphError::ModeCount { template, external, order });
        }
        Ok(())
    }

    /// The template's name, as the user wrote it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of modes it carries (its external vertices).
    pub fn order(&self) -> usize {
        self.external.iter().filter(|&&e| e).count()
    }

    /// The number of vertices, internal ones included.
    pub fn vertices(&self) -> usize {
        self.external.len()
    }

    /// Whether a vertex carries a mode.
    pub fn is_external(&self, vertex: usize) -> bool {
        self.external[vertex]
    }

    /// The same whose last vertex, which carries no mode, is a copy vertex.
    pub(super) fn copying(self) -> Self {
        Template { copies: true, ..self }
    }

    /// The *copy* vertex, where there is one: a hub whose core is 1 where all its indices agree and 0 elsewhere. It has no
    /// parameters, all its edges have one rank, and together they are one hyperedge. Only `cp` has one.
    pub fn copy_vertex(&self) -> Option<usize> {
        self.copies.then(|| self.vertices() - 1)
    }

    /// Whether it is a tree of cores: without cycles, and without a copy vertex, which is none.
    pub fn is_tree(&self) -> bool {
        self.edges.len() + 1 == self.vertices() && !self.copies
    }

    /// The external vertices in increasing order: the identity permutation.
    pub fn external_vertices(&self) -> Vec<usize> {
        (0..self.vertices()).filter(|&v| self.external[v]).collect()
    }

    /// The edges `(u, v)`, `u < v`, sorted.
    pub fn edges(&self) -> &[(usize, usize)] {
        &self.edges
    }

    /// The edges at a vertex, as indices into [`Template::edges`], in order.
    pub fn incident(&self, vertex: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.edges.len())
            .filter(move |&e| self.edges[e].0 == vertex || self.edges[e].1 == vertex)
    }

    fn unreachable_vertex(&self) -> Option<usize> {
        let mut neighbours = vec![Vec::new(); self.vertices()];
        for &(u, v) in &self.edges {
            neighbours[u].push(v);
            neighbours[v].push(u);
        }
        let mut seen = vec![false; self.vertices()];
        let mut stack = vec![0];
        while let Some(v) = stack.pop() {
            if !std::mem::replace(&mut seen[v], true) {
                stack.extend(&neighbours[v]);
            }
        }
        seen.iter().position(|s| !s)
    }
}

/// The most vertices of a graph in a file: plans of more take longer than anything that could come of them.
const MAX_VERTICES: usize = 1024;

/// Refuses a graph that carries fewer modes than any tensor has.
fn too_few(vertices: usize, modes: usize) -> GraphError {
    GraphError::BadGraph(format!(
        "it has {vertices} vertices, {modes} of them with a mode; at least 2 must carry one"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::families::tests::all;
    use super::*;

    fn refusal(vertices: &str, edges: &str) -> String {
        let text = format!("{{\"vertices\":{vertices},\"edges\":{edges}}}");
        Template::from_json("mine", &text).unwrap_err().to_string()
    }

    #[test]
    fn bad_json_graphs_are_refused() {
        const THREE: &str = r#"[{"mode":true},{"mode":true},{"mode":false}]"#;
        let cases = [
            (THREE, "[[0,1],[1,3]]", "edge [1,3] names a vertex that is not there"),
            (THREE, "[[0,1],[1,1]]", "joins a vertex to itself"),
            (THREE, "[[0,1],[1,2],[1,0]]", "edge [0,1] stands twice"),
            (THREE, "[[0,1]]", "not connected: vertex 2"),
            (THREE, "[[0,2]]", "not connected: vertex 1"),
            ("[]", "[]", "0 vertices"),
            (r#"[{"mode":false},{"mode":false}]"#, "[[0,1]]", "0 of them with a mode"),
            (r#"[{"mode":true},{"mode":false}]"#, "[[0,1]]", "1 of them with a mode"),
            (r#"[{"mode":1}]"#, "[]", "invalid type"),
            (r#"[{"dim":3}]"#, "[]", "unknown field `dim`"),
            (THREE, "[[0,1,2]]", "a graph is"),
            (THREE, "[[0,-1]]", "invalid value"),
        ];
        for (vertices, edges, reason) in cases {
            let error = refusal(vertices, edges);
            assert!(error.contains(reason), "{error}");
        }
        let many = |n: usize| {
            let vertices = vec![r#"{"mode":true}"#; n].join(",");
            let edges: Vec<String> = (1..n).map(|v| format!("[{},{v}]", v - 1)).collect();
            Template::from_json(
                "mine",
                &format!("{{\"vertices\":[{vertices}],\"edges\":[{}]}}", edges.join(",")),
            )
        };
        assert!(many(MAX_VERTICES).is_ok());
        let refused = many(5000).unwrap_err().to_string();
        assert_eq!(refused, "bad graph: it has 5000 vertices; at most 1024 can be planned for");
        assert!(Template::from_json("mine", "{\"edges\":[]}").is_err());
        assert!(Template::from_json("mine", "").is_err());
    }

    #[test]
    fn references_round_trip() {
        for order in 2..=10 {
            for t in all(order) {
                let json = serde_json::to_string(&t.to_ref()).unwrap();
                assert_eq!(json, format!("\"{}\"", t.name()));
                let back: TemplateRef = serde_json::from_str(&json).unwrap();
                assert_eq!(Template::from_ref(&back, order).unwrap(), t);
                // The same graph under a name of its own goes by its graph.
                let own =
                    Template::from_graph("graph", t.external.clone(), t.edges.clone()).unwrap();
                let json = serde_json::to_string(&own.to_ref()).unwrap();
                let back: TemplateRef = serde_json::from_str(&json).unwrap();
                assert_eq!(Template::from_ref(&back, order).unwrap(), own);
                assert_eq!(Template::from_json("graph", &json).unwrap(), own);
                let error = Template::from_ref(&back, order + 1).unwrap_err();
                assert!(matches!(error, GraphError::ModeCount { .. }));
            }
        }
    }

    #[test]
    fn a_graph_with_a_borrowed_name_is_no_family() {
        let t = Template::from_graph("ring", vec![true; 3], vec![(0, 1), (1, 2)]).unwrap();
        assert_eq!(t.family(), None);
        assert!(matches!(t.to_ref(), TemplateRef::Graph { .. }));
    }
}
