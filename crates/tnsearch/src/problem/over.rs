//! The structures that a proof is about.

use crate::graph::{GraphError, Structure, Template, TemplateRef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The structures that a proof is about.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Over {
    /// All trees: of any topology and any ranks, with any number of modes at a vertex.
    Trees,
    /// Those of a template: one mode at each external vertex, in any order, ranks up to the largest.
    Template {
        /// The template.
        template: Arc<Template>,
        /// The largest rank.
        max_rank: usize,
    },
}

/// The same as files hold it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OverFile {
    /// The template, `any-tree` for trees of any topology.
    pub template: TemplateRef,
    /// The largest rank of an edge; none: any.
    pub max_rank: Option<usize>,
}

/// How a structure stands to a set of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// It is one of them.
    Inside,
    /// They are trees, and it has a cycle.
    Cyclic,
    /// It has an edge of this rank, which is larger than theirs.
    Ranks(usize),
    /// It is of another graph.
    Elsewhere,
    /// That could not be decided.
    Undecided,
}

impl Place {
    /// Whether it is one of them.
    pub fn is_inside(self) -> bool {
        self == Place::Inside
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Place::Inside => "inside",
            Place::Cyclic => "cyclic",
            Place::Ranks(_) => "ranks",
            Place::Elsewhere => "elsewhere",
            Place::Undecided => "undecided",
        }
    }
}

impl Over {
    /// The structures that bounds of a template speak of: all trees, where it stands for those or for several formats.
    pub fn new(template: &Arc<Template>, max_rank: usize) -> Self {
        match template.is_any_tree() || template.is_formats() {
            true => Over::Trees,
            false => Over::Template { template: template.clone(), max_rank },
        }
    }

    /// Those of a search, by what its journal says: the template asked for and the graph whose structures were proposed. None
    /// where these differ: nothing is bounded then.
    pub fn of_search(
        template: &Arc<Template>,
        searched: &Template,
        max_rank: Option<u64>,
    ) -> Option<Self> {
        let most = max_rank.and_then(|rank| usize::try_from(rank).ok());
        match Over::new(template, most.unwrap_or(usize::MAX)) {
            Over::Template { .. } if **template != *searched => None,
            over => Some(over),
        }
    }

    /// As files hold it.
    pub fn to_file(&self) -> OverFile {
        match self {
            Over::Trees => {
                OverFile { template: TemplateRef::Name("any-tree".to_owned()), max_rank: None }
            }
            Over::Template { template, max_rank } => OverFile {
                template: template.to_ref(),
                max_rank: Some(*max_rank).filter(|r| *r < usize::MAX),
            },
        }
    }

    /// From a file, for a tensor of `order` modes.
    pub fn from_file(file: &OverFile, order: usize) -> Result<Self, GraphError> {
        let template = Arc::new(Template::from_ref(&file.template, order)?);
        Ok(Over::new(&template, file.max_rank.unwrap_or(usize::MAX)))
    }

    /// How a structure stands to them.
    pub fn place(&self, structure: &Structure) -> Place {
        let (template, max_rank) = match self {
            Over::Trees => {
                return match structure.canonical().graph.rank_of_cp() {
                    Some(_) => Place::Elsewhere,
                    None if is_forest(structure) => Place::Inside,
                    None => Place::Cyclic,
                };
            }
            Over::Template { template, max_rank } => (template, *max_rank),
        };
        let ranks = |widest: Option<usize>| match widest.filter(|r| *r > max_rank) {
            Some(rank) => Place::Ranks(rank),
            None => Place::Inside,
        };
        let own = structure.template();
        if (Arc::ptr_eq(own, template) || own == template) && !structure.is_grouped() {
            return ranks(structure.ranks().iter().copied().max());
        }
        let graph = structure.canonical().graph;
        match template.holds(&graph) {
            Some(true) => ranks(graph.edges().iter().map(|e| e.2).max()),
            Some(false) => Place::Elsewhere,
            None => Place::Undecided,
        }
    }

    /// Whether a structure is one of them, as far as that can be decided.
    pub fn holds(&self, structure: &Structure) -> bool {
        self.place(structure).is_inside()
    }

    /// What one of them is called, to stand after "every" and "no": "ring with ranks up to 7".
    pub fn class(&self) -> String {
        let Over::Template { template, max_rank } = self else {
            return "tree of any topology and ranks over these modes".to_owned();
        };
        let ranks = match *max_rank {
            usize::MAX => "the ranks allowed".to_owned(),
            most => format!("ranks up to {most}"),
        };
        let name = template.name();
        // Rank 1 is no edge: all graphs on the modes are in the complete one.
        let every = template.is_any() || name == "complete" && template.family().is_some();
        match name {
            _ if every => format!("network with one vertex per mode and {ranks}"),
            _ if template.family().is_none() => format!("network on the graph given with {ranks}"),
            "cp" if *max_rank == usize::MAX => "CP of any rank".to_owned(),
            "cp" => format!("CP of rank up to {max_rank}"),
            "ring" | "path" | "star" => format!("{name} with {ranks}"),
            // Not any tree.
            "tree" => format!("network of template tree with {ranks}"),
            _ => format!("{name} network with {ranks}"),
        }
    }
}

/// Whether the edges of a structure make no cycle; those of rank 1 are none.
fn is_forest(structure: &Structure) -> bool {
    let mut part: Vec<usize> = (0..structure.template().vertices()).collect();
    structure.edges().iter().filter(|e| e[2] > 1).all(|&[u, v, _]| {
        let (p, q) = (part[u], part[v]);
        part.iter_mut().filter(|x| **x == q).for_each(|x| *x = p);
        p != q
    })
}
