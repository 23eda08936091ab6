//! Certificates: what no structure of a template can go below, and how near a network comes.

use crate::bound::{
    ALL_TREES, BoundError, BoundLimits, Candidate, Cut, CutBound, NeededRank, Next, Relaxation,
    Spectra, TreeBound, binding, check_template, matters, needed_rank, needs_svd,
};
use crate::certificate::{self, Claim, NoCertificate};
use crate::fit::{FitError, FitSettings, Request, Run, fit};
use crate::graph::{Structure, Template};
use crate::network::{Network, NetworkError};
use crate::problem::{
    CheckedObjective, Known, LowerBound, Measure, Needed, Objective, Over, Reason, Score,
    Statement, Stop, Target, Unproven,
};
use serde::Serialize;
use std::sync::Arc;
use thiserror::Error;

/// Why nothing could be certified.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CertifyError {
    /// Nothing can be bounded.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// The structure given could not be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// The network given could not be contracted.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The network given is none.
    #[error("the network's entries are not all finite")]
    NotFinite,
}

/// How a proof is made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CertifySettings {
    /// The largest rank of an edge.
    pub max_rank: usize,
    /// Nodes of the branch and bound that may be expanded.
    pub nodes: u64,
    /// Whether a smaller tensor may stand in the place of X where that will do.
    pub shrink: bool,
    /// Make a [certificate](certificate::Certificate) of at most so many cases.
    pub cases: Option<usize>,
    /// What may be used.
    pub limits: BoundLimits,
}

impl Default for CertifySettings {
    fn default() -> Self {
        let limits = BoundLimits::default();
        CertifySettings { max_rank: 7, nodes: 5_000_000, shrink: true, cases: None, limits }
    }
}

/// What is compared with the bound.
#[derive(Debug, Clone, Copy)]
pub enum Compared<'a> {
    /// A network: its error is computed from its cores.
    Network(&'a Network),
    /// A structure with the error that is on record.
    Recorded(&'a Structure, f64),
    /// A structure, which is fitted.
    Structure(&'a Structure),
}

impl<'a> Compared<'a> {
    fn structure(self) -> &'a Structure {
        match self {
            Compared::Network(network) => network.structure(),
            Compared::Recorded(structure, _) | Compared::Structure(structure) => structure,
        }
    }
}

/// A network against the bound.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NetReport {
    /// Its parameters.
    pub params: u128,
    /// Computed from the cores; of a summary as it says, of a bare structure fitted.
    pub rse: f64,
    /// What was found over what is proven; none where nothing, or zero, is proven, or the network is none of those that
    /// the bound is about.
    pub gap: Option<f64>,
    /// Whether it is one of the structures that the bound is about, and none of them is better.
    pub certified_optimal: bool,
    /// Whether it is what was asked for.
    pub reaches: bool,
}

/// What the relaxed problem gave.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Certificate {
    /// What is proven, over which structures, and how the network given stands to it.
    pub statement: Statement,
    /// What no structure of the template is better than; none where none is possible.
    pub bound: Option<LowerBound>,
    /// The best structure that no cut rules out.
    pub relaxed: Option<Structure>,
    /// Nodes that were expanded.
    pub nodes: u64,
    /// Whether it was solved: more nodes would change nothing.
    pub complete: bool,
    /// Whether there was no room for more open nodes.
    pub full: bool,
    /// Whether no structure of the template can do what was asked for.
    pub impossible: bool,
    /// The rank that it would take, where the largest allowed is too small.
    pub needed: Option<NeededRank>,
    /// The cuts that hold the relaxed structure where it is, the tightest first.
    pub binding: Vec<Cut>,
    /// The network given, compared.
    pub net: Option<NetReport>,
    /// The dimensions of the tensor that stood in the place of X, and what that loses.
    pub shrunk: Option<(Vec<usize>, f64)>,
    /// What was left out, in words.
    pub left_out: Option<String>,
    /// The proof for others, where it was asked for.
    pub certificate: Option<Result<certificate::Certificate, NoCertificate>>,
}

/// Proves how good a structure of a template can be at best, and compares a network with that.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::certify::{CertifySettings, certify};
/// use tnsearch::graph::Template;
/// use tnsearch::problem::{Objective, Stop, Target};
/// use tnsearch::tensor::Tensor;
/// let target = Target::new(Tensor::new(vec![2, 2], vec![2.0, 0.0, 0.0, 1.0]).unwrap()).unwrap();
/// let (path, goal) = (Arc::new(Template::path(2).unwrap()), Objective::MaxError(0.1).check().unwrap());
/// let made = certify(&target, &path, goal, &CertifySettings::default(), None, &Stop::new()).unwrap();
/// // Rank 1 has an error of 0.2, so it takes two matrices of rank 2.
/// assert_eq!(made.bound.unwrap().params, Some(8));
/// ```
pub fn certify(
    target: &Target,
    template: &Arc<Template>,
    objective: CheckedObjective,
    settings: &CertifySettings,
    net: Option<Compared<'_>>,
    stop: &Stop,
) -> Result<Certificate, CertifyError> {
    check_template(template)?;
    let limits = &settings.limits;
    let score = match net.map(|net| score(net, target, objective, limits, stop)).transpose() {
        // What is proven is said also where the network could not be fitted in time.
        Err(CertifyError::Fit(FitError::Interrupted | FitError::Time)) => None,
        score => score?,
    };
    let shrunk = match settings.shrink {
        true => target.shrink(objective.get(), &limits.for_shrinking(stop)),
        false => None,
    };
    let searched = shrunk.as_ref().unwrap_or(target);
    let spectra = Spectra::within(searched, needs_svd(objective.get()), limits)?.stoppable(stop);
    let trees = template.is_any_tree();
    let spectra = spectra.mattering(matters(objective.get()).filter(|_| trees));
    // Some time is for what follows from them. Of very many modes the bound over all trees needs few cuts.
    let many = searched.dims().len() > ALL_TREES;
    // Of very many modes branch and bound takes all the time there is: some is for the certificate.
    let until = if many && settings.cases.is_some() { stop.within_part(0.5) } else { stop.clone() };
    if !(trees && many) {
        spectra.prepare_within(limits, &until.within_part(0.8))?;
    }
    let bound = CutBound::new(spectra);
    let room = limits.max_bytes.map_or(f64::INFINITY, |bytes| bytes as f64 / 2.0);
    let relaxation = || {
        Relaxation::stoppable(
            template.clone(),
            objective,
            &bound,
            settings.max_rank,
            &until,
            &until,
        )
        .within(room)
    };
    let proof = match trees {
        true => prove_trees(&bound, objective.get(), stop),
        false => prove(&mut relaxation(), objective.get(), settings.nodes, &until),
    };
    let relaxed = proof.relaxed.map(|candidate| candidate.structure);
    let needed = objective.max_error().filter(|_| proof.impossible);
    let needed = needed.and_then(|eps| needed_rank(template, bound.spectra(), eps));
    let by = bound.spectra().target();
    let needed = needed.filter(|needed| needed.rank > settings.max_rank);
    let reached = |score: &Score| objective.reached(score.params, score.error);
    let answer = score.zip(net).filter(|(score, _)| reached(score));
    let statement = Statement::of(Known {
        over: Some(Over::new(template, settings.max_rank)),
        objective: objective.get(),
        measure: &Measure::RSE,
        bound: proof.bound,
        impossible: proof.impossible.then(|| needed.map(Needed::from)),
        unproven: if stop.reason() == Some(Reason::Asked) {
            Unproven::Interrupted
        } else {
            Unproven::TimeUp
        },
        answer: answer.map(|(score, net)| (net.structure(), score)),
    });
    let certificate = settings.cases.map(|cases| {
        let (max_rank, objective) = (settings.max_rank, objective.get());
        let claim = Claim::new(template, max_rank, objective, proof.bound, proof.impossible)?;
        certificate::prove(&claim, &bound, cases, stop)
    });
    Ok(Certificate {
        certificate,
        binding: relaxed.as_ref().map_or(Vec::new(), |s| binding(&bound, s, objective.get())),
        net: score.map(|score| NetReport {
            params: score.params,
            rse: score.error,
            gap: statement.gap(),
            certified_optimal: statement.is_optimal(),
            reaches: reached(&score),
        }),
        statement,
        bound: proof.bound,
        relaxed,
        nodes: proof.nodes,
        complete: proof.complete,
        full: proof.full,
        impossible: proof.impossible,
        needed,
        shrunk: by.shrunk().map(|_| (by.dims().to_vec(), by.lost())),
        left_out: bound.spectra().left_out().text(),
    })
}

/// How the relaxed problem ended.
struct Proof {
    bound: Option<LowerBound>,
    relaxed: Option<Candidate>,
    nodes: u64,
    complete: bool,
    full: bool,
    impossible: bool,
}

/// The numbers of a network, its error computed from its cores; where there are none, that on record or of a fit.
fn score(
    net: Compared<'_>,
    target: &Target,
    objective: CheckedObjective,
    limits: &BoundLimits,
    stop: &Stop,
) -> Result<Score, CertifyError> {
    let (structure, rse) = match net {
        Compared::Network(network) => {
            (network.structure(), target.rse_of_network(network, limits.max_bytes)?)
        }
        Compared::Recorded(structure, rse) => (structure, rse),
        Compared::Structure(structure) => {
            let settings = FitSettings::default().with(|s| s.max_bytes = limits.max_bytes);
            let checked = settings.check().map_err(FitError::from)?;
            let request = Request::new(structure.canonical().graph, checked, 0);
            (structure, fit(target, &request, &Run::until(stop))?.error)
        }
    };
    if !rse.is_finite() {
        return Err(CertifyError::NotFinite);
    }
    let dims = target.dims();
    Ok(objective.score(structure.params(dims), structure.phi(dims), rse))
}

/// Solves the relaxed problem as far as the nodes go. The bound is valid whenever it ends.
fn prove(relaxation: &mut Relaxation, objective: Objective, nodes: u64, stop: &Stop) -> Proof {
    // Node by node, to see Ctrl-C and the time.
    let next = loop {
        let before = relaxation.expanded();
        let next = relaxation.next(1.min(nodes - before));
        // Where none was expanded, there was no room for more.
        let stuck = relaxation.expanded() == before;
        if !matches!(next, Next::Spent(_)) || stuck || stop.is_set() {
            break next;
        }
    };
    let nodes = relaxation.expanded();
    let ended =
        Proof { bound: None, relaxed: None, nodes, complete: true, full: false, impossible: false };
    let bound = |value| Some(objective.lower_bound(value));
    match next {
        Next::Candidate(c) => Proof { bound: bound(c.value), relaxed: Some(c), ..ended },
        Next::Spent(value) => {
            let full = relaxation.is_full();
            Proof { bound: bound(value), complete: false, full, ..ended }
        }
        Next::Nothing => Proof { impossible: true, ..ended },
    }
}

/// The bound over all trees; what it relaxes to is a tree that no cut rules out.
fn prove_trees(bound: &CutBound, objective: Objective, stop: &Stop) -> Proof {
    let trees = TreeBound::new(bound.spectra(), stop);
    let value = trees.value(objective);
    let tree = objective.max_error().and_then(|eps| trees.tree(eps)?.structure().ok());
    let relaxed = tree.zip(value).map(|(structure, value)| {
        let rse = bound.rse(&structure.canonical().graph, f64::INFINITY);
        Candidate { structure, value, rse }
    });
    let complete = trees.is_whole() && !stop.is_set();
    let bound = value.map(|value| objective.lower_bound(value));
    Proof { bound, relaxed, nodes: 0, complete, impossible: false, full: false }
}
