//! The named templates: one file per family, each with one description, and the list of them.
//!
//! A new family is a new file and a line in [`FAMILIES`]: parsing, messages, help texts, drawings and tests follow.

mod complete;
mod cp;
mod ht;
mod mera;
mod path;
mod peps;
mod ring;
mod star;
mod tree;
mod tucker;

use super::{GraphError, Template};
use std::fmt;
use std::hash::{Hash, Hasher};

/// The largest order of a named template. A dense tensor of more modes than this, each of dimension
/// 2 or more, cannot be addressed.
pub const MAX_ORDER: usize = 64;

/// The families there are, in the order in which they are listed to people.
pub static FAMILIES: [&FamilyDescription; 10] = [
    &path::PATH,
    &ring::RING,
    &star::STAR,
    &tree::TREE,
    &complete::COMPLETE,
    &peps::PEPS,
    &tucker::TUCKER,
    &ht::HT,
    &mera::MERA,
    &cp::CP,
];

/// The most sides that a family can ask for.
const MAX_SIDES: usize = 3;
/// Where modes sit, for families that have no better words.
const IN_ORDER: &str = "On the vertices in their order stand {}.";

/// A graph: the number of its vertices, of which the first carry the modes, and its edges.
type Graph = (usize, Vec<(usize, usize)>);

/// All that is to be known about a family.
pub struct FamilyDescription {
    /// Its name.
    pub name: &'static str,
    /// The letters of the sides that stand behind the name, as in `peps:RxC`; none for most.
    pub sides: &'static [&'static str],
    /// Its graph, in a line.
    pub summary: &'static str,
    /// Its graph with these sides and this many modes, or why there is none.
    graph: fn(&[usize], usize) -> Result<Graph, String>,
    /// What such a network is called in a sentence, after "a".
    words: fn(&[usize]) -> String,
    /// A sentence that says where modes sit; braces stand for them in the order of the vertices.
    placement: &'static str,
    /// Whether its last vertex is a copy vertex ([`Template::copy_vertex`]).
    copies: bool,
    /// How it is drawn.
    layout: fn(&[usize]) -> Layout,
}

/// How the vertices of a template stand in a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// On a line.
    Line,
    /// On a circle, each joined to its neighbours there.
    Circle,
    /// On a circle, with edges across.
    Chords,
    /// Vertex 0 in the middle of the others.
    Hub,
    /// The last vertex in the middle of the others.
    Core,
    /// A tree below its root, vertex 0.
    Rooted,
    /// The modes on the bottom line, each internal vertex above its neighbours of lower number.
    Layers,
    /// Row by row.
    Grid {
        /// The vertices of a row.
        columns: usize,
    },
}

impl FamilyDescription {
    /// How a user writes it: `ring`, `peps:RxC`.
    pub fn written(&self) -> String {
        match self.sides {
            [] => self.name.to_owned(),
            sides => format!("{}:{}", self.name, sides.join("x")),
        }
    }

    /// The families in it that carry an order: one, or one for each choice of its sides.
    pub fn of_order(&'static self, order: usize) -> Vec<Family> {
        let family = |chosen: &[usize]| {
            let mut sides = [0; MAX_SIDES];
            sides[..chosen.len()].copy_from_slice(chosen);
            Family { description: self, sides }
        };
        choices(self.sides.len(), order).iter().map(|chosen| family(chosen)).collect()
    }

    /// Whether its graphs are trees.
    pub fn is_tree(&'static self) -> bool {
        let templates = self.of_order(8).into_iter().filter_map(|family| family.build(8).ok());
        templates.into_iter().all(|t| t.is_tree())
    }
}

impl fmt::Debug for FamilyDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written())
    }
}

/// The families as people are told them: `path, ring, ..., peps:RxC, tucker, ht, mera, cp`.
pub fn family_list() -> String {
    FAMILIES.iter().map(|family| family.written()).collect::<Vec<_>>().join(", ")
}

/// A named template, before its order is known.
///
/// ```
/// use tnsearch::graph::{Family, Layout};
/// let lattice = Family::parse("peps:2x3").unwrap();
/// assert_eq!((lattice.order(), lattice.to_string()), (Some(6), "peps:2x3".to_owned()));
/// assert_eq!(lattice.layout(), Layout::Grid { columns: 3 });
/// assert_eq!(Family::parse("ring").unwrap().words(), "tensor ring");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Family {
    description: &'static FamilyDescription,
    /// Zero beyond those that the family has.
    sides: [usize; MAX_SIDES],
}

impl Family {
    /// Reads a name from [`FAMILIES`], with the sides where it has some.
    pub fn parse(spec: &str) -> Result<Self, GraphError> {
        let (name, rest) = match spec.split_once(':') {
            Some((name, rest)) => (name, rest.split('x').map(side).collect::<Option<Vec<_>>>()),
            None => (spec, Some(Vec::new())),
        };
        let description = FAMILIES.into_iter().find(|family| family.name == name);
        let Some((description, given)) =
            description.zip(rest).filter(|(d, given)| d.sides.len() == given.len())
        else {
            return Err(GraphError::UnknownTemplate(spec.to_owned()));
        };
        let mut sides = [0; MAX_SIDES];
        sides[..given.len()].copy_from_slice(&given);
        Ok(Family { description, sides })
    }

    /// Every family that carries an order, with all choices of sides.
    pub fn all(order: usize) -> impl Iterator<Item = Family> {
        FAMILIES.into_iter().flat_map(move |family| family.of_order(order))
    }

    /// What is known about it.
    pub fn description(&self) -> &'static FamilyDescription {
        self.description
    }

    /// Its sides, where it has some.
    pub fn sides(&self) -> &[usize] {
        &self.sides[..self.description.sides.len()]
    }

    /// The order that its sides leave; none where any goes.
    pub fn order(&self) -> Option<usize> {
        self.sides().iter().copied().reduce(usize::saturating_mul)
    }

    /// What such a network is called in a sentence, after "a".
    pub fn words(&self) -> String {
        (self.description.words)(self.sides())
    }

    /// How it is drawn.
    pub fn layout(&self) -> Layout {
        (self.description.layout)(self.sides())
    }

    /// A sentence that says where modes sit, which are given by their names in the order of the vertices.
    pub fn placement(&self, modes: &[String]) -> String {
        self.description.placement.replace("{}", &modes.join(", "))
    }

    /// The template of this family that carries `order` modes.
    pub fn build(self, order: usize) -> Result<Template, GraphError> {
        let graph = match order {
            0 | 1 => Err("a network needs at least 2".into()),
            _ if order > MAX_ORDER => Err(format!("at most {MAX_ORDER} are possible")),
            _ => (self.description.graph)(self.sides(), order),
        };
        match graph {
            Ok((vertices, edges)) => {
                let external = (0..vertices).map(|v| v < order).collect();
                let template = Template::from_graph(&self.to_string(), external, edges)?;
                Ok(if self.description.copies { template.copying() } else { template })
            }
            Err(reason) => Err(GraphError::Order { template: self.to_string(), order, reason }),
        }
    }
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        (self.description.name, self.sides) == (other.description.name, other.sides)
    }
}

impl Eq for Family {}

impl Hash for Family {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.description.name, self.sides).hash(state);
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description.name)?;
        for (k, side) in self.sides().iter().enumerate() {
            write!(f, "{}{side}", if k == 0 { ':' } else { 'x' })?;
        }
        Ok(())
    }
}

impl Template {
    /// The template of a family without sides.
    fn of(description: &'static FamilyDescription, order: usize) -> Result<Self, GraphError> {
        Family { description, sides: [0; MAX_SIDES] }.build(order)
    }

    /// What such a network is called in a sentence, after "a".
    pub fn words(&self) -> String {
        self.family().map_or_else(|| "network on your own graph".to_owned(), |f| f.words())
    }

    /// How it is drawn; none for a graph of the user's own.
    pub fn layout(&self) -> Option<Layout> {
        self.family().map(|family| family.layout())
    }

    /// A sentence that says where modes sit, which are given by their names in the order of the vertices.
    pub fn placement(&self, modes: &[String]) -> String {
        match self.family() {
            Some(family) => family.placement(modes),
            None => IN_ORDER.replace("{}", &modes.join(", ")),
        }
    }
}

/// A side: a number of vertices.
fn side(text: &str) -> Option<usize> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| digits && (1..=MAX_ORDER).contains(n))
}

/// All lists of so many numbers whose product is `order`; the empty one where none are asked for.
fn choices(sides: usize, order: usize) -> Vec<Vec<usize>> {
    match sides {
        0 => vec![Vec::new()],
        1 => vec![vec![order]],
        _ => {
            let divisors = (1..=order).filter(|d| order.is_multiple_of(*d));
            let with = |d: usize| {
                let rest = choices(sides - 1, order / d).into_iter();
                rest.map(move |rest| [vec![d], rest].concat())
            };
            divisors.flat_map(with).collect()
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Every template of an order.
    pub(crate) fn all(order: usize) -> Vec<Template> {
        let templates = Family::all(order).map(|family| family.build(order).unwrap());
        // A copy vertex asks for equal ranks, and has tests of its own.
        templates.filter(|t| t.copy_vertex().is_none()).collect()
    }

    pub(super) fn degrees(t: &Template) -> Vec<usize> {
        (0..t.vertices()).map(|v| t.incident(v).count()).collect()
    }

    /// Vertices and edges.
    pub(super) fn count(t: Result<Template, GraphError>) -> (usize, usize) {
        let t = t.unwrap();
        (t.vertices(), t.edges().len())
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
    fn the_list_is_the_one_that_documents_and_messages_show() {
        assert_eq!(
            family_list(),
            "path, ring, star, tree, complete, peps:RxC, tucker, ht, mera, cp"
        );
        let error = GraphError::UnknownTemplate("x".into()).to_string();
        assert_eq!(error, format!("unknown template 'x'; use {} or a JSON file", family_list()));
        let trees = FAMILIES.into_iter().filter(|f| f.is_tree()).map(|f| f.name);
        assert_eq!(trees.collect::<Vec<_>>(), ["path", "star", "tree", "tucker", "ht"]);
        let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/templates.md");
        // In a package of the crate alone there are no documents.
        let Ok(docs) = std::fs::read_to_string(docs) else { return };
        let rows: Vec<&str> = docs.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(rows.len(), FAMILIES.len());
        for (family, row) in FAMILIES.iter().zip(rows) {
            let start = format!("| `{}` | {}", family.written(), family.summary);
            assert!(row.starts_with(&start), "{row} does not begin with {start}");
        }
    }

    #[test]
    fn impossible_orders_are_refused() {
        let sides = |f: &FamilyDescription| match f.sides.len() {
            0 => f.name.to_owned(),
            n => format!("{}:{}", f.name, vec!["1"; n].join("x")),
        };
        for spec in FAMILIES.map(sides) {
            for order in [0, 1, MAX_ORDER + 1] {
                let error = Template::parse(&spec, order).unwrap_err();
                assert!(matches!(error, GraphError::Order { .. }), "{spec} {order}: {error}");
            }
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        for spec in [
            "",
            "Ring",
            "ring:",
            "ring:3",
            "peps",
            "peps:",
            "peps:2",
            "peps:0x3",
            "peps:2x",
            "peps:2x3x1",
            "peps:-1x3",
            "peps:+1x3",
            "peps:99999999999999999999x1",
            "ht ",
            "rings",
        ] {
            let error = Template::parse(spec, 6).unwrap_err();
            assert_eq!(error, GraphError::UnknownTemplate(spec.into()));
        }
    }
}
