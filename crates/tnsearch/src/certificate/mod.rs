//! Certificates that anybody can check: the cuts of the tensor that a lower bound rests on, and a tree of cases that goes
//! through all structures.
//!
//! Whatever is near enough to the tensor has an unfolding of at least some rank at each cut, so the ranks across it have
//! a product of at least that *width*. From these widths alone a tree of cases shows that every structure has at least so
//! many parameters: a case is parted by where a mode sits, or by the rank of an edge, until each part is ruled out. How
//! the tree was found does not matter to who checks it; `docs/bounds.md` says why it is a proof, `docs/formats.md`
//! what stands where, and `docs/check_certificate.py` checks it with numpy.

mod branch;
mod case;
mod symmetry;

use self::branch::Branching;
use self::case::{Price, Space};
use crate::bound::{ALL_TREES, CutBound, ModeSet, Spectra, Spectrum, TreeBound};
use crate::graph::{Template, TemplateRef};
use crate::problem::{LowerBound, Objective, Stop};
use crate::tensor::size;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use thiserror::Error;

/// The most modes whose cuts are all listed.
const MOST_MODES: usize = ALL_TREES;
/// The most edges of a graph, and the most vertices without a mode.
const MOST_EDGES: usize = 128;
const MOST_INTERNAL: usize = 12;

/// Why there is no certificate.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum NoCertificate {
    /// Nothing was proven.
    #[error("there is no certificate: nothing was proven that it could be about")]
    NothingProven,
    /// There are too many modes.
    #[error("there is no certificate for {0} modes; the most is {MOST_MODES}")]
    Modes(usize),
    /// The graph is too large.
    #[error(
        "there is no certificate for this template: it has {edges} edges (at most {MOST_EDGES}) and {internal} vertices \
         without a mode (at most {MOST_INTERNAL})"
    )]
    Graph {
        /// Its edges.
        edges: usize,
        /// Its vertices without a mode.
        internal: usize,
    },
    /// The cuts do not say so much.
    #[error("there is no certificate: the cuts that are known do not prove the bound")]
    NotProven,
    /// The tree would be too large.
    #[error("there is no certificate of at most {0} cases; allow more with --certificate-cases")]
    Cases(usize),
    /// It was told to stop.
    #[error("there is no certificate: it was interrupted, or the time was up")]
    Stopped,
}

/// What is to be proven: every structure of a template with ranks up to `max_rank` and an RSE of at most `max_rse` has at least
/// `params` parameters; or every structure has a loss phi + lambda * RSE of at least so much.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Claim {
    /// The template; for all trees one that [says so](Template::is_any_tree).
    pub template: Arc<Template>,
    /// The largest rank of an edge; of no meaning for all trees.
    pub max_rank: usize,
    /// The error.
    pub max_rse: f64,
    /// The parameters; none: there is no such structure.
    pub params: Option<u64>,
    /// Instead of both: lambda, and the loss.
    pub priced: Option<(f64, f64)>,
}

impl Claim {
    /// That whatever has so small an error has at least so many parameters; none: that there is nothing.
    pub fn at_error(
        template: &Arc<Template>,
        max_rank: usize,
        max_rse: f64,
        params: Option<u64>,
    ) -> Self {
        Claim { template: template.clone(), max_rank, max_rse, params, priced: None }
    }

    /// That no loss phi + lambda * RSE is smaller.
    pub fn of_loss(template: &Arc<Template>, max_rank: usize, lambda: f64, loss: f64) -> Self {
        let priced = Some((lambda, loss));
        Claim { template: template.clone(), max_rank, max_rse: 0.0, params: None, priced }
    }

    /// What a lower bound says; `impossible` where it is proven that no structure is what was asked for.
    pub fn new(
        template: &Arc<Template>,
        max_rank: usize,
        objective: Objective,
        bound: Option<LowerBound>,
        impossible: bool,
    ) -> Result<Self, NoCertificate> {
        let whole = |params: u128| u64::try_from(params).map_err(|_| NoCertificate::NothingProven);
        let (max_rse, params) = match (objective, bound) {
            (Objective::Lambda(lambda), Some(LowerBound { loss: Some(loss), .. }))
                if loss > 0.0 =>
            {
                return Ok(Claim::of_loss(template, max_rank, lambda, loss * (1.0 - 1e-12)));
            }
            (Objective::MaxError(eps), None) if impossible => (eps, None),
            (Objective::MaxError(eps), Some(LowerBound { params: Some(params), .. })) => {
                (eps, Some(whole(params)?))
            }
            // No structure of so few parameters has a smaller error: whatever has one, has more.
            (Objective::MaxParams(most), Some(LowerBound { error: Some(error), .. }))
                if error > 0.0 =>
            {
                (error * (1.0 - 1e-12), Some(whole(most.saturating_add(1))?))
            }
            _ => return Err(NoCertificate::NothingProven),
        };
        Ok(Claim::at_error(template, max_rank, max_rse, params))
    }
}

/// A proof: what is claimed, the cuts, and the cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Certificate {
    /// The class of structures: a graph, or `any-tree`.
    pub template: TemplateRef,
    /// The largest rank of an edge; none: any.
    pub max_rank: Option<usize>,
    /// The error.
    pub max_rse: f64,
    /// The parameters; none: there is no such structure.
    pub params: Option<u64>,
    /// Instead of both, where losses are bounded: what that says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priced: Option<Priced>,
    /// What the tensor whose cuts were computed misses of the one given, relative to its norm squared.
    pub lost: f64,
    /// The cuts that are used.
    pub cuts: Vec<Cut>,
    /// The cases, each before those made of it.
    pub tree: Vec<Node>,
}

/// No structure has a smaller loss phi + lambda * RSE.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Priced {
    /// What an error costs.
    pub lambda: f64,
    /// The loss.
    pub loss: f64,
    /// For all trees: errors, growing. Trees whose error lies between two of them have the params that follow from the larger.
    pub errors: Vec<f64>,
}

/// A cut, and the width that every structure must have there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Cut {
    /// The modes on the side without mode 0.
    pub modes: Vec<usize>,
    /// The rank of the unfolding, at least, of whatever is near enough.
    pub width: u64,
    /// The part of the tensor beyond its `width - 1` largest singular values.
    pub tail: f64,
    /// How much of that may be rounding, or was not computed.
    pub slack: f64,
}

/// A case: what cuts say about it, and what it is parted by; by nothing where it is ruled out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Node {
    /// Cuts that raise ranks: the number of each, and the internal vertices on the side of its modes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<(usize, Vec<usize>)>,
    /// A mode is placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// This vertex gets a mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<usize>,
    /// This edge has at most that rank, or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<(usize, u64)>,
}

/// Where a mode is placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The mode.
    pub mode: usize,
    /// The vertices that are looked at.
    pub on: Vec<usize>,
    /// Symmetries that take every other free vertex to one of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<Vec<usize>>,
}

/// Makes a certificate of at most so many cases.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
/// use tnsearch::certificate::{Claim, prove};
/// use tnsearch::graph::Template;
/// use tnsearch::problem::{Objective, Stop, Target};
/// use tnsearch::tensor::Tensor;
/// let target = Target::new(Tensor::new(vec![2, 2], vec![2.0, 0.0, 0.0, 1.0]).unwrap()).unwrap();
/// let (path, goal) = (Arc::new(Template::path(2).unwrap()), Objective::MaxError(0.1));
/// // Rank 1 has an error of 0.2, so it takes two matrices of rank 2.
/// let claim = Claim::new(&path, 7, goal, Some(goal.lower_bound(8.0)), false).unwrap();
/// let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
/// let made = prove(&claim, &bound, 100, &Stop::new()).unwrap();
/// assert_eq!((made.cuts[0].width, made.tree.len()), (2, 1));
/// ```
pub fn prove(
    claim: &Claim,
    bound: &CutBound,
    cases: usize,
    stop: &Stop,
) -> Result<Certificate, NoCertificate> {
    let spectra = bound.spectra();
    let order = spectra.order();
    if order > MOST_MODES {
        return Err(NoCertificate::Modes(order));
    }
    let any_tree = claim.template.is_any_tree();
    let (edges, vertices) = (claim.template.edges().len(), claim.template.vertices());
    let internal = vertices - claim.template.order();
    if !any_tree && (edges > MOST_EDGES || internal > MOST_INTERNAL || vertices > 64) {
        return Err(NoCertificate::Graph { edges, internal });
    }
    let trees = TreeBound::new(spectra, stop);
    let errors = match claim.priced {
        Some((lambda, loss)) if any_tree => {
            trees.steps(lambda, loss).ok_or(NoCertificate::NotProven)?
        }
        _ => Vec::new(),
    };
    let cuts = match claim.priced {
        None => cuts(spectra, stop, &|s: &Spectrum| [s.rank(claim.max_rse)].into())?,
        // What is as wide as an error of the list asks for.
        Some(_) if any_tree => cuts(spectra, stop, &|s: &Spectrum| {
            errors.iter().map(|error| s.rank(error.next_down())).collect()
        })?,
        // All that may matter: what is narrower and has the fewest params beyond which nothing is asked has the loss.
        Some((lambda, loss)) => {
            let entries = size(spectra.target().full_dims()) as f64;
            let left = loss - ((loss * entries).ceil() - 1.0) / entries;
            let least = (left / lambda).max(0.0);
            cuts(spectra, stop, &|s: &Spectrum| (2..=s.rank(least)).collect())?
        }
    };
    if claim.priced.is_some() && cuts.len() > cases {
        return Err(NoCertificate::Cases(cases));
    }
    let mut made = Certificate {
        template: match any_tree {
            true => claim.template.to_ref(),
            false => graph_of(&claim.template),
        },
        max_rank: (!any_tree).then_some(claim.max_rank),
        max_rse: claim.max_rse,
        params: claim.params,
        priced: claim.priced.map(|(lambda, loss)| Priced { lambda, loss, errors }),
        lost: spectra.target().lost(),
        cuts: Vec::new(),
        tree: Vec::new(),
    };
    if any_tree {
        // Who checks it goes through all sets.
        made.cuts = cuts.into_iter().map(|(_, cut)| cut).collect();
        return Ok(made);
    }
    let dims = spectra.target().full_dims();
    let widths = cuts.iter().map(|(set, cut)| (*set, cut.width)).collect();
    let tails = cuts.iter().map(|(_, cut)| cut.tail - cut.slack).collect();
    let price = claim.priced.map(|(lambda, loss)| Price::new(lambda, loss, dims, tails));
    let goal = match &price {
        None => claim.params,
        Some(price) => Some(price.goal()),
    };
    let space = Space::new(&claim.template, dims, claim.max_rank as u64, widths, goal, price);
    made.tree = Branching::new(&space).tree(cases, stop)?;
    made.keep(cuts, order);
    Ok(made)
}

impl Certificate {
    /// Keeps the cuts that the cases name, and those of single modes, which every case counts with.
    fn keep(&mut self, cuts: Vec<(ModeSet, Cut)>, order: usize) {
        let mut number: Vec<Option<usize>> = vec![None; cuts.len()];
        let named = self.tree.iter().flat_map(|node| &node.cuts).map(|(cut, _)| *cut);
        for k in named {
            number[k] = Some(0);
        }
        for (k, (_, cut)) in cuts.into_iter().enumerate() {
            let alone = cut.modes.len() == 1 || cut.modes.len() + 1 == order;
            if alone || number[k].is_some() {
                number[k] = Some(self.cuts.len());
                self.cuts.push(cut);
            }
        }
        for (cut, _) in self.tree.iter_mut().flat_map(|node| &mut node.cuts) {
            *cut = number[*cut].unwrap_or(*cut);
        }
    }
}

/// The template by its graph.
fn graph_of(template: &Template) -> TemplateRef {
    let vertices = (0..template.vertices())
        .map(|v| crate::graph::VertexFile { mode: template.is_external(v) })
        .collect();
    TemplateRef::Graph { vertices, edges: template.edges().iter().map(|&(u, v)| [u, v]).collect() }
}

/// All cuts that need a width of two or more, for each of the widths asked for.
fn cuts(
    spectra: &Spectra,
    stop: &Stop,
    widths: &dyn Fn(&Spectrum) -> BTreeSet<usize>,
) -> Result<Vec<(ModeSet, Cut)>, NoCertificate> {
    let order = spectra.order();
    let mut found = Vec::new();
    for half in 1..1u64 << (order - 1) {
        if stop.is_set() {
            return Err(NoCertificate::Stopped);
        }
        let set: ModeSet = half << 1;
        let Some(spectrum) = spectra.of(set) else { continue };
        for width in widths(spectrum).into_iter().filter(|w| *w >= 2) {
            let modes = (0..order).filter(|m| set >> m & 1 == 1).collect();
            let (tail, mut slack) = (spectrum.tail(width - 1), spectrum.slack(width - 1));
            // Rounding must not bring it below what is certain.
            while tail - slack < spectrum.bound(width - 1) && slack > 0.0 {
                slack = slack.next_down();
            }
            found.push((set, Cut { modes, width: width as u64, tail, slack }));
        }
    }
    Ok(found)
}
