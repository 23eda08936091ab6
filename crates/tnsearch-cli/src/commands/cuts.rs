//! Cuts in words, for the commands that bound structures.

use super::describe::MEASURE;
use tnsearch::bound::{BoundLimits, Cut};
use tnsearch::problem::at_most;
use tnsearch::tensor::ModeNames;
use tnsearch_io::MemoryLimit;

/// What computing bounds may use.
pub fn limits(threads: Option<usize>, limit: MemoryLimit) -> BoundLimits {
    BoundLimits::default().with(|l| {
        l.threads = threads;
        l.max_bytes = Some(limit.bytes());
    })
}

/// Cuts in words.
pub trait Words {
    /// Why no error can be smaller.
    fn bound_text(&self, order: usize, names: ModeNames<'_>) -> String;

    /// Which modes stand against which, the smaller side first.
    fn sides(&self, order: usize, names: ModeNames<'_>) -> String;
}

impl Words for Cut {
    fn bound_text(&self, order: usize, names: ModeNames<'_>) -> String {
        let (sides, least) = (self.sides(order, names), at_most(self.rse));
        format!("{sides}: rank at most {}, so {} >= {least}", self.width, MEASURE.name)
    }

    fn sides(&self, order: usize, names: ModeNames<'_>) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tnsearch::bound::{CutBound, CutReport, Spectra, SpectraSettings, binding};
    use tnsearch::graph::{Structure, Template};
    use tnsearch::problem::{Objective, Target};
    use tnsearch_app::Synthetic;

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
    fn no_error_is_said_to_be_more_than_a_cut_proves() {
        let cut = Cut::new(&CutReport { modes: 1, width: 4.0, rse: 0.012399 });
        let said = cut.bound_text(3, ModeNames::default());
        assert_eq!(said, "mode 0 against modes 1,2: rank at most 4, so RSE >= 0.0123");
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
