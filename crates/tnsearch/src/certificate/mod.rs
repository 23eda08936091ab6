//! Certificates that anybody can check: the cuts of the tensor that a lower bound rests on, and a tree of cases that goes
//! through all structures.
//!
//! Whatever is near enough to the tensor has an unfolding of at least some rank at each cut, so the ranks across it have
//! a product of at least that *width*. From these widths alone a tree of cases shows that every structure has at least so
//! many parameters: a case is parted by where a mode sits, or by the rank of an edge, until each part is ruled out. How
//! the tree was found does not matter to who checks it; `docs/bounds.md` says why it is a proof, `docs/formats.md`
//! what stands where, and `docs/check_certificate.py` checks it with numpy.

//!
//! Of more than 14 modes there are too many cuts to look at all: of a graph those are that few edges make, each when a
//! case asks for it, and where no proof of the claim is found so, one of less ([`Certificate::short_of`]); for all trees some modes
//! are contracted ([`Certificate::contracted`]).

mod branch;
mod case;
mod cuts;
mod graph;
mod part;
mod sides;
mod symmetry;

use self::cuts::Cuts;
use self::graph::{Looked, Widths, check_graph, made, of_less, tree_of, widths};
use crate::bound::{ALL_TREES, CutBound, LEFT, Spectra, Spectrum, TreeBound};
use crate::graph::{Template, TemplateRef};
use crate::problem::{LowerBound, Objective, Stop};
use serde::Serialize;
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
    #[error(
        "there is no certificate for {0} modes of this template: the cuts of so many are not computed"
    )]
    Modes(usize),
    /// Of so many modes not all cuts are looked at.
    #[error(
        "there is no certificate: of {0} modes not all cuts are looked at, and those that are do not prove the bound"
    )]
    Part(usize),
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

    /// What it says, for a sentence.
    fn what(&self) -> String {
        match (self.priced, self.params) {
            (Some((_, loss)), _) => format!("a loss of {loss}"),
            (None, Some(params)) => format!("{params} params"),
            (None, None) => "that there is no such structure".to_owned(),
        }
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
    /// For all trees of very many modes: those that are contracted, one after the other; the cuts are of what is left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contracted: Vec<Contracted>,
    /// The cuts that are used.
    pub cuts: Vec<Cut>,
    /// The cases, each before those made of it.
    pub tree: Vec<Node>,
    /// What was to be proven, where this is a proof of less.
    #[serde(skip)]
    pub short_of: Option<String>,
}

/// A mode, and the vector whose conjugate it is contracted with.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Contracted {
    /// The mode.
    pub mode: usize,
    /// The vector: real parts, and where the numbers are complex imaginary ones.
    pub re: Vec<f64>,
    /// See `re`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub im: Vec<f64>,
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
    match bound.spectra().order() > MOST_MODES {
        true => prove_beyond(claim, bound, cases, LEFT, stop),
        false => prove_whole(claim, bound.spectra(), cases, stop),
    }
}

/// As [`prove`] does beyond 14 modes, however many there are: with so many of them left where some are contracted. For tests:
/// what it proves of few modes can be compared with all structures.
#[doc(hidden)]
pub fn prove_beyond(
    claim: &Claim,
    bound: &CutBound,
    cases: usize,
    left: usize,
    stop: &Stop,
) -> Result<Certificate, NoCertificate> {
    let spectra = bound.spectra();
    if claim.template.is_any_tree() {
        return part::prove(claim, spectra, left, stop);
    }
    if spectra.left_out().too_many_modes {
        return Err(NoCertificate::Modes(spectra.order()));
    }
    check_graph(&claim.template, usize::MAX)?;
    let widths = widths(claim, spectra);
    let cuts = Cuts::new(spectra, &*widths, stop);
    let (tree, claim, short_of) = match tree_of(claim, &cuts, Looked::Asked, cases, stop) {
        Ok(tree) => (tree, claim.clone(), None),
        Err(why) => {
            let (tree, less) = of_less(claim, &cuts, cases, stop).ok_or(why)?;
            (tree, less, Some(claim.what()))
        }
    };
    Ok(made(&claim, spectra, cuts, tree, short_of))
}

/// From all cuts.
fn prove_whole(
    claim: &Claim,
    spectra: &Spectra,
    cases: usize,
    stop: &Stop,
) -> Result<Certificate, NoCertificate> {
    let any_tree = claim.template.is_any_tree();
    if !any_tree {
        check_graph(&claim.template, MOST_INTERNAL)?;
    }
    let errors = match claim.priced {
        Some((lambda, loss)) if any_tree => {
            let trees = TreeBound::new(spectra, stop);
            trees.steps(lambda, loss).ok_or(NoCertificate::NotProven)?
        }
        _ => Vec::new(),
    };
    // What is as wide as an error of the list asks for.
    let of_errors = |s: &Spectrum| errors.iter().map(|error| s.rank(error.next_down())).collect();
    let widths = match claim.priced {
        Some(_) if any_tree => Box::new(of_errors) as Widths<'_>,
        _ => widths(claim, spectra),
    };
    let cuts = Cuts::new(spectra, &*widths, stop);
    cuts.find_all()?;
    if claim.priced.is_some() && cuts.len() > cases {
        return Err(NoCertificate::Cases(cases));
    }
    if !any_tree {
        let tree = tree_of(claim, &cuts, Looked::All, cases, stop)?;
        return Ok(made(claim, spectra, cuts, tree, None));
    }
    // Who checks it goes through all sets.
    let cuts = cuts.into_found().into_iter().map(|(_, cut)| cut).collect();
    drop(widths);
    Ok(Certificate {
        template: claim.template.to_ref(),
        max_rank: None,
        max_rse: claim.max_rse,
        params: claim.params,
        priced: claim.priced.map(|(lambda, loss)| Priced { lambda, loss, errors }),
        lost: spectra.target().lost(),
        contracted: Vec::new(),
        cuts,
        tree: Vec::new(),
        short_of: None,
    })
}
