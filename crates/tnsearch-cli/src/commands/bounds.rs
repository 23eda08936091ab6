//! What the commands that bound structures share: cut spectra within the limits, and cuts in words.

use crate::files::MemoryLimit;
use crate::hold;
use crate::text::bytes;
use anyhow::{anyhow, bail};
use serde::Serialize;
use tnsearch::bound::{CutBound, CutReport, ModeSet, Spectra, SpectraSettings};
use tnsearch::fit::Target;
use tnsearch::graph::Template;
use tnsearch::search::Objective;

/// Cut spectra are computed in advance where that takes at most this many operations (about a minute); else
/// when they are asked for.
const PREPARE_FLOPS: f64 = 5e12;

/// Below this error the squares of singular values drown in rounding.
const GRAM_RSE: f64 = 1e-10;

/// The relaxed problem knows sets of this many vertices.
const MAX_VERTICES: usize = 64;

/// Whether an objective needs singular values themselves, not their squares.
pub fn needs_svd(objective: Objective) -> bool {
    matches!(objective, Objective::MaxRse(eps) if eps < GRAM_RSE)
}

/// The spectra of a tensor's cuts, none computed yet; refused where one cut alone would take more than half
/// the memory allowed.
pub fn spectra(target: &Target, svd: bool, limit: MemoryLimit) -> anyhow::Result<Spectra<'_>> {
    let spectra = Spectra::new(target, SpectraSettings { svd, ..SpectraSettings::default() });
    if cuts_at_a_time(&spectra, limit) == 0 {
        bail!(
            "bounding the error of structures needs {} of memory, but only half of {} may be used \
             for it; see --max-memory",
            bytes(spectra.bytes() as u128),
            bytes(limit.bytes().into())
        );
    }
    Ok(spectra)
}

/// Refuses templates too large for the relaxed problem.
pub fn check_template(template: &Template) -> anyhow::Result<()> {
    let vertices = template.vertices();
    if vertices > MAX_VERTICES {
        bail!(
            "template '{}' has {vertices} vertices; bounds over all structures need at most \
             {MAX_VERTICES}",
            template.name()
        );
    }
    Ok(())
}

/// How many cuts may be computed at a time.
fn cuts_at_a_time(spectra: &Spectra<'_>, limit: MemoryLimit) -> usize {
    (limit.bytes() as f64 / 2.0 / spectra.bytes()) as usize
}

/// Whether all spectra can be computed in about a minute.
pub fn affordable(spectra: &Spectra<'_>) -> bool {
    spectra.prepare_flops() <= PREPARE_FLOPS
}

/// Computes the spectra in parallel, where that is affordable; ends early when it is told to.
pub fn prepare(
    spectra: &Spectra<'_>,
    threads: Option<usize>,
    limit: MemoryLimit,
    stop: impl Fn() -> bool + Sync + Send,
) -> anyhow::Result<()> {
    if !affordable(spectra) {
        return Ok(());
    }
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.unwrap_or_else(processors).min(cuts_at_a_time(spectra, limit));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads.max(1))
        .build()
        .map_err(|e| anyhow!("cannot start the threads: {e}"))?;
    pool.install(|| {
        spectra.prepare(|| {
            hold::at("preparation", &stop);
            stop()
        })
    });
    Ok(())
}

/// A cut in the JSON of a command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cut {
    /// The modes of the side without mode 0.
    pub modes: Vec<usize>,
    /// The largest rank that the unfolding of a network can have.
    pub width: f64,
    /// The least rank with which the error asked for is not ruled out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed: Option<usize>,
    /// No network has a smaller RSE, because of this cut alone.
    pub rse: f64,
}

impl Cut {
    /// What a bound says about a cut.
    pub fn new(cut: &CutReport) -> Self {
        Cut { modes: members(cut.modes), width: cut.width, needed: None, rse: cut.rse }
    }

    /// Which modes stand against which, the smaller side first.
    pub fn sides(&self, order: usize) -> String {
        let others: Vec<usize> = (0..order).filter(|m| !self.modes.contains(m)).collect();
        let (small, large) = match self.modes.len() <= others.len() {
            true => (&self.modes, &others),
            false => (&others, &self.modes),
        };
        let text = |modes: &[usize]| {
            let noun = if modes.len() == 1 { "mode" } else { "modes" };
            let list: Vec<String> = modes.iter().map(usize::to_string).collect();
            format!("{noun} {}", list.join(","))
        };
        format!("{} against {}", text(small), text(large))
    }
}

fn members(set: ModeSet) -> Vec<usize> {
    (0..ModeSet::BITS as usize).filter(|&m| set >> m & 1 == 1).collect()
}

/// The cuts that hold a structure where it is, the tightest first. For an error to be reached: those whose
/// width is so near the rank they need that no edge across them can be any narrower. For other objectives:
/// those on which the bound on the error rests.
pub fn binding(
    bound: &CutBound<'_>,
    structure: &tnsearch::graph::Structure,
    objective: Objective,
) -> Vec<Cut> {
    let cuts = bound.cuts(&structure.canonical().graph);
    let Objective::MaxRse(eps) = objective else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tnsearch::graph::Structure;
    use tnsearch_lab::Synthetic;

    #[test]
    fn cuts_in_words_name_the_smaller_side_first() {
        let cut = |set| Cut::new(&CutReport { modes: set, width: 4.0, rse: 0.5 }).sides(4);
        assert_eq!(cut(0b0100), "mode 2 against modes 0,1,3");
        assert_eq!(cut(0b1110), "mode 0 against modes 1,2,3");
        assert_eq!(cut(0b1010), "modes 1,3 against modes 0,2");
    }

    #[test]
    fn binding_cuts_are_those_without_room() {
        let path = Arc::new(Template::path(4).unwrap());
        let made = Synthetic::new(path.clone(), vec![3; 4], (2, 2)).generate(1).unwrap();
        let permutation = made.structure().permutation().to_vec();
        let target = Target::new(made.tensor).unwrap();
        let limit = MemoryLimit::new(Some(1 << 30));
        let bound = CutBound::new(spectra(&target, false, limit).unwrap());
        let of = |ranks: Vec<usize>, objective| {
            let s = Structure::new(path.clone(), permutation.clone(), ranks).unwrap();
            binding(&bound, &s, objective)
        };
        // Each edge of the hidden path is a cut that needs rank 2, and so is each mode.
        let tight = of(vec![2; 3], Objective::MaxRse(1e-8));
        let exact = tight.iter().filter(|c| c.needed == Some(2) && c.width == 2.0).count();
        assert_eq!(exact, 3, "{tight:?}");
        assert_eq!(tight[0].width, tight[0].needed.unwrap() as f64);
        // Twice as wide, no cut is tight: nothing holds the structure.
        assert_eq!(of(vec![4; 3], Objective::MaxRse(1e-8)), []);
        // Half as wide, the worst cut bounds the error.
        let worst = of(vec![1; 3], Objective::Lambda(1.0));
        assert_eq!(worst.len(), 1);
        assert!(worst[0].rse > 0.01 && worst[0].needed.is_none());
        assert!(!needs_svd(Objective::Lambda(1.0)) && needs_svd(Objective::MaxRse(1e-12)));
    }

    #[test]
    fn spectra_beyond_memory_are_refused() {
        let made = Synthetic::new(Arc::new(Template::ring(4).unwrap()), vec![3; 4], (2, 2));
        let target = Target::new(made.generate(1).unwrap().tensor).unwrap();
        let error = spectra(&target, false, MemoryLimit::new(Some(2000))).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("2.0 kB"), "{error}");
    }
}
