//! Cuts in words, for the commands that bound structures.

use super::describe::MEASURE;
use crate::text::number;
use serde::Serialize;
use tnsearch::bound::{BoundLimits, CutBound, CutReport, ModeSet, NeededRank};
use tnsearch::problem::{Measure, Objective, ShrinkLimits, Stop};
use tnsearch::tensor::ModeNames;
use tnsearch_io::MemoryLimit;

/// What computing bounds may use.
pub fn limits(threads: Option<usize>, limit: MemoryLimit) -> BoundLimits {
    BoundLimits::default().with(|l| {
        l.threads = threads;
        l.max_bytes = Some(limit.bytes());
    })
}

/// What shrinking the tensor before may use.
pub fn shrink_limits(limits: &BoundLimits, stop: &Stop) -> ShrinkLimits {
    ShrinkLimits::default().with(|l| {
        l.max_bytes = limits.max_bytes;
        l.threads = limits.threads;
        l.stop = stop.clone();
    })
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
    /// No network has a smaller error, because of this cut alone.
    pub rse: f64,
}

impl Cut {
    /// What a bound says about a cut.
    pub fn new(cut: &CutReport) -> Self {
        Cut { modes: members(cut.modes), width: cut.width, needed: None, rse: cut.rse }
    }

    /// Why no error can be smaller.
    pub fn bound_text(&self, order: usize, names: ModeNames<'_>) -> String {
        let (sides, least) = (self.sides(order, names), number(self.rse));
        format!("{sides}: rank at most {}, so {} >= {least}", self.width, MEASURE.name)
    }

    /// Which modes stand against which, the smaller side first.
    pub fn sides(&self, order: usize, names: ModeNames<'_>) -> String {
        let others: Vec<usize> = (0..order).filter(|m| !self.modes.contains(m)).collect();
        let (small, large) = match self.modes.len() <= others.len() {
            true => (&self.modes, &others),
            false => (&others, &self.modes),
        };
        let text = |modes: &[usize]| {
            let noun = if modes.len() == 1 { "mode" } else { "modes" };
            let list: Vec<_> = modes.iter().map(|&m| names.bare(m)).collect();
            format!("{noun} {}", list.join(","))
        };
        format!("{} against {}", text(small), text(large))
    }
}

/// The rank that a template needs at least, in the JSON of a command.
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

/// That nothing of a class reaches an error, why, and what to do about it.
pub fn impossible(class: &str, measure: &Measure, eps: f64, needed: Option<NeededRank>) -> String {
    let error = match &measure.root {
        Some(root) => format!("{} {}", root.name, number(eps.sqrt())),
        None => format!("{} {}", measure.name, number(eps)),
    };
    let more = match needed {
        Some(needed) => {
            format!(": {}; use --max-rank {} or more", needed.because(), needed.rank)
        }
        None => "; it takes a larger --max-rank or another template".to_owned(),
    };
    format!("no {class} reaches {error}{more}")
}

fn members(set: ModeSet) -> Vec<usize> {
    (0..ModeSet::BITS as usize).filter(|&m| set >> m & 1 == 1).collect()
}

/// The cuts that hold a structure where it is, the tightest first. For an error to be reached: those whose
/// width is so near the rank they need that no edge across them can be any narrower. For other objectives:
/// those on which the bound on the error rests.
pub fn binding(
    bound: &CutBound,
    structure: &tnsearch::graph::Structure,
    objective: Objective,
) -> Vec<Cut> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tnsearch::bound::{Spectra, SpectraSettings};
    use tnsearch::graph::{Structure, Template};
    use tnsearch::problem::Target;
    use tnsearch_lab::Synthetic;

    #[test]
    fn cuts_in_words_name_the_smaller_side_first() {
        let cut = |set| {
            Cut::new(&CutReport { modes: set, width: 4.0, rse: 0.5 }).sides(4, ModeNames::default())
        };
        assert_eq!(cut(0b0100), "mode 2 against modes 0,1,3");
        assert_eq!(cut(0b1110), "mode 0 against modes 1,2,3");
        assert_eq!(cut(0b1010), "modes 1,3 against modes 0,2");
        let split = tnsearch::tensor::Reshape::shape(&[6, 4], vec![2, 3, 4], false).unwrap();
        let cut = Cut::new(&CutReport { modes: 0b110, width: 4.0, rse: 0.5 });
        let names = ModeNames::new(split.as_ref());
        assert_eq!(cut.sides(3, names), "mode 0.0 against modes 0.1,1");
    }

    #[test]
    fn the_impossible_is_said_with_the_rank_it_would_take() {
        let needed = NeededRank { rank: 12, modes: 0b100, width: 12, edges: 1, alone: true };
        assert_eq!(
            impossible("ring with ranks up to 7", &MEASURE, 1e-4, Some(needed)),
            "no ring with ranks up to 7 reaches RE 0.0100: mode 2 alone needs rank 12; use --max-rank 12 or more"
        );
        let said = impossible("ring with ranks up to 7", &MEASURE, 1e-4, None);
        assert!(said.ends_with("it takes a larger --max-rank or another template"), "{said}");
        let json = serde_json::json!(NeededReport::new(needed));
        assert_eq!(json, serde_json::json!({"rank": 12, "modes": [2], "width": 12}));
    }

    #[test]
    fn binding_cuts_are_those_without_room() {
        let path = Arc::new(Template::path(4).unwrap());
        let made = Synthetic::new(path.clone(), vec![3; 4], (2, 2)).generate(1).unwrap();
        let permutation = made.structure().permutation().to_vec();
        let target = Target::new(made.tensor).unwrap();
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        let of = |ranks: Vec<usize>, objective| {
            let s = Structure::new(path.clone(), permutation.clone(), ranks).unwrap();
            binding(&bound, &s, objective)
        };
        // Each edge of the hidden path is a cut that needs rank 2, and so is each mode.
        let tight = of(vec![2; 3], Objective::MaxError(1e-8));
        let exact = tight.iter().filter(|c| c.needed == Some(2) && c.width == 2.0).count();
        assert_eq!(exact, 3, "{tight:?}");
        assert_eq!(tight[0].width, tight[0].needed.unwrap() as f64);
        // Twice as wide, no cut is tight: nothing holds the structure.
        assert_eq!(of(vec![4; 3], Objective::MaxError(1e-8)), []);
        // Half as wide, the worst cut bounds the error.
        let worst = of(vec![1; 3], Objective::Lambda(1.0));
        assert_eq!(worst.len(), 1);
        assert!(worst[0].rse > 0.01 && worst[0].needed.is_none());
    }
}
