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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::tensor::Tensor;
    use std::sync::Arc;

    #[test]
    fn small_tensors_are_bounded_to_errors_that_squares_do_not_see() {
        // Squares 1 and 1e-18: in a Gram matrix the second drowns.
        let target = Target::new(Tensor::new(vec![2, 2], vec![1.0, 0.0, 0.0, 1e-9]).unwrap());
        let path = Structure::identity(Arc::new(Template::path(2).unwrap()), vec![1]).unwrap();
        let limits = BoundLimits::default();
        let found = bound_structure(&target.unwrap(), &path, &limits, &Stop::new()).unwrap();
        assert!(found.rse > 0.99e-18 && found.rse <= 1e-18, "{}", found.rse);
        assert_eq!((found.cuts.len(), found.used), (1, 1));
    }

    #[test]
    fn cuts_bind_where_no_edge_can_be_narrower() {
        // Unfoldings of ranks 3 (mode 0), 2 (mode 1) and 4 (mode 2), with equal singular values each.
        let mut x = Tensor::<f64>::zeros(vec![3, 2, 4]);
        for (a, b, c) in [(0, 0, 0), (0, 1, 1), (1, 0, 2), (2, 1, 3)] {
            x.data_mut()[(a * 2 + b) * 4 + c] = 1.0;
        }
        let target = Target::new(x).unwrap();
        let bound = CutBound::new(Spectra::within(&target, true, &BoundLimits::default()).unwrap());
        let path = |ranks: Vec<usize>| {
            Structure::identity(Arc::new(Template::path(3).unwrap()), ranks).unwrap()
        };
        let binding = |ranks, objective| {
            let cuts = binding(&bound, &path(ranks), objective);
            cuts.into_iter().map(|c| (c.modes, c.width, c.needed)).collect::<Vec<_>>()
        };
        let exact = Objective::MaxError(1e-12);
        let last = || (vec![2], 4.0, Some(4));
        let ends = (vec![1, 2], 3.0, Some(3));
        assert_eq!(binding(vec![3, 4], exact), [ends, last()]);
        // An edge wider than it must be does not bind: 4 * 5 / 6 < 4 would, 6 * 5 / 6 = 5 does not.
        assert_eq!(binding(vec![6, 4], exact), [last()]);
        // Nor does one that could just be narrower: 4 * 3 / 4 is what is needed.
        assert_eq!(binding(vec![4, 4], exact), [last()]);
        assert!(binding(vec![6, 6], exact).is_empty());
        // The narrowest for what it needs comes first: 2 of 3 before 4 of 4, 3 of 4 before 3 of 3.
        let modes = |ranks, objective| {
            binding(ranks, objective).into_iter().map(|c| c.0).collect::<Vec<_>>()
        };
        assert_eq!(modes(vec![2, 4], exact), [vec![1, 2], vec![2]]);
        assert_eq!(modes(vec![3, 3], exact), [vec![2], vec![1, 2]]);
        // Where rank 1 will do, nothing binds.
        assert!(binding(vec![1, 2], Objective::MaxError(0.9)).is_empty());
        // For other objectives: what the bound on the error rests on.
        assert_eq!(binding(vec![3, 3], Objective::MaxParams(100)), [(vec![2], 3.0, None)]);
        assert!(binding(vec![3, 4], Objective::MaxParams(100)).is_empty());
        // Rank 2 on both: mode 2 lacks half, modes 1 and 2 together a quarter.
        assert_eq!(binding(vec![2, 2], Objective::Lambda(1.0)), [(vec![2], 2.0, None)]);
    }

    #[test]
    fn of_cuts_that_bind_alike_those_of_few_modes_come_first() {
        let data: Vec<f64> = (0..16).map(|k| f64::from(k * k % 11) + 0.1 * f64::from(k)).collect();
        let target = Target::new(Tensor::new(vec![2; 4], data).unwrap()).unwrap();
        let bound = CutBound::new(Spectra::within(&target, true, &BoundLimits::default()).unwrap());
        let path =
            Structure::identity(Arc::new(Template::path(4).unwrap()), vec![2, 4, 2]).unwrap();
        let found = binding(&bound, &path, Objective::MaxError(1e-9));
        let modes: Vec<Vec<usize>> = found.into_iter().map(|cut| cut.modes).collect();
        assert_eq!(modes, [vec![3], vec![1, 2, 3], vec![1, 2], vec![2, 3]]);
    }

    #[test]
    fn reports_name_modes_and_limits_go_on() {
        let needed = NeededRank { rank: 3, modes: 0b1010, width: 9, edges: 2, alone: true };
        let report = NeededReport::new(needed);
        assert_eq!((report.rank, report.modes, report.width), (3, vec![1, 3], 9));
        let stop = Stop::new();
        stop.set();
        let limits = BoundLimits { max_bytes: Some(7), threads: Some(3) }.for_shrinking(&stop);
        assert_eq!(
            (limits.max_bytes, limits.threads, limits.stop.is_set()),
            (Some(7), Some(3), true)
        );
    }
}
