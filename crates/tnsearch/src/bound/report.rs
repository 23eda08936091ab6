//! What bounds say about cuts, for reports: which hold a structure where it is, and how wide they would have to be.

use super::{BoundError, BoundLimits, CutBound, CutReport, ModeSet, NeededRank, Spectra};
use crate::graph::Structure;
use crate::problem::{Objective, ShrinkLimits, Stop, Target};
use serde::Serialize;

/// Up to this order a structure needs all cuts, so they are computed in parallel; beyond it only some.
const ALL_CUTS: usize = 10;
/// Up to this many entries the slower, more accurate route takes a few seconds at most.
const SVD_ENTRIES: usize = 100_000;
/// What a larger tensor loses where it is shrunk first, a hundredth of this, is what the other route rounds to.
const LOSSLESS: Objective = Objective::MaxError(1e-12);

/// A cut in a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cut {
    /// The modes of the side without mode 0.
    pub modes: Vec<usize>,
    /// The largest rank that the unfolding of a network can have.
    pub width: f64,
    /// The least rank with which the error asked for is not ruled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<usize>,
    /// No network has a smaller error, because of this cut alone.
    pub rse: f64,
}

impl Cut {
    /// What a bound says about a cut.
    pub fn new(cut: &CutReport) -> Self {
        Cut { modes: members(cut.modes), width: cut.width, needed: None, rse: cut.rse }
    }
}

/// The rank that a template needs at least, in a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeededReport {
    /// The rank.
    pub rank: usize,
    /// The modes on one side of the cut that needs it.
    pub modes: Vec<usize>,
    /// The width needed there.
    pub width: usize,
}

impl NeededReport {
    /// What a bound says about a template.
    pub fn new(needed: NeededRank) -> Self {
        let NeededRank { rank, modes, width, .. } = needed;
        NeededReport { rank, modes: members(modes), width }
    }
}

fn members(set: ModeSet) -> Vec<usize> {
    (0..ModeSet::BITS as usize).filter(|&m| set >> m & 1 == 1).collect()
}

/// The cuts that hold a structure where it is, the tightest first. For an error to be reached: those whose
/// width is so near the rank they need that no edge across them can be any narrower. For other objectives:
/// those on which the bound on the error rests.
pub fn binding(bound: &CutBound, structure: &Structure, objective: Objective) -> Vec<Cut> {
    let cuts = bound.cuts(&structure.canonical().graph);
    let Some(eps) = objective.max_error() else {
        let worst = cuts.first().map_or(0.0, |cut| cut.rse);
        let holds = |cut: &&CutReport| cut.rse > 0.0 && cut.rse >= worst * (1.0 - 1e-9);
        return cuts.iter().take_while(holds).map(Cut::new).collect();
    };
    // An edge of the largest rank R leaves (R - 1) / R of the width when it loses one; others leave less.
    let largest = structure.ranks().iter().copied().max().unwrap_or(1) as f64;
    let mut binding: Vec<(f64, Cut)> = Vec::new();
    for cut in &cuts {
        let Some(needed) = bound.spectra().of(cut.modes).map(|s| s.rank(eps)) else { continue };
        if needed > 1 && cut.width * (largest - 1.0) / largest < needed as f64 {
            let ratio = cut.width / needed as f64;
            binding.push((ratio, Cut { needed: Some(needed), ..Cut::new(cut) }));
        }
    }
    let small = |cut: &Cut| cut.modes.len().min(bound.spectra().order() - cut.modes.len());
    binding.sort_by(|(p, a), (q, b)| p.total_cmp(q).then_with(|| small(a).cmp(&small(b))));
    binding.into_iter().map(|(_, cut)| cut).collect()
}

/// What no fit of a structure can go below.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StructureBound {
    /// The bound on the RSE.
    pub rse: f64,
    /// All cuts, the worst first.
    pub cuts: Vec<CutReport>,
    /// How many of them were computed: the others were too large, or not done in time.
    pub used: usize,
}

/// Bounds the error of a structure by the cuts of the tensor.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::bound::{BoundLimits, bound_structure};
/// use tnsearch::graph::{Structure, Template};
/// use tnsearch::{problem::{Stop, Target}, tensor::Tensor};
/// let target = Target::new(Tensor::new(vec![2, 2], vec![2.0, 0.0, 0.0, 1.0]).unwrap()).unwrap();
/// let path = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![1]).unwrap();
/// let bound = bound_structure(&target, &path, &BoundLimits::default(), &Stop::new()).unwrap();
/// assert!((bound.rse - 0.2).abs() < 1e-12);
/// ```
pub fn bound_structure(
    target: &Target,
    structure: &Structure,
    limits: &BoundLimits,
    stop: &Stop,
) -> Result<StructureBound, BoundError> {
    let precise = target.entries() <= SVD_ENTRIES;
    let shrunk = match precise {
        true => None,
        false => target.shrink(LOSSLESS, &limits.for_shrinking(stop)),
    };
    let spectra = Spectra::within(shrunk.as_ref().unwrap_or(target), precise, limits)?;
    let spectra = spectra.stoppable(stop);
    if target.dims().len() <= ALL_CUTS {
        spectra.prepare_within(limits, stop)?;
    }
    let bound = CutBound::new(spectra);
    let cuts = bound.cuts(&structure.canonical().graph);
    let used = cuts.iter().filter(|cut| bound.spectra().of(cut.modes).is_some()).count();
    Ok(StructureBound { rse: cuts.first().map_or(0.0, |cut| cut.rse), cuts, used })
}

impl BoundLimits {
    /// What shrinking the tensor before may use.
    pub fn for_shrinking(&self, stop: &Stop) -> ShrinkLimits {
        ShrinkLimits::default().with(|l| {
            l.max_bytes = self.max_bytes;
            l.threads = self.threads;
            l.stop = stop.clone();
        })
    }
}
