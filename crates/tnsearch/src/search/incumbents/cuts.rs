//! What each cut of a tensor loses at each rank, within a budget of work.

use crate::bound::{ModeSet, Spectra, SpectraSettings, needs_svd};
use crate::decompose::Limits;
use crate::decompose::compress::shrink_limits;
use crate::decompose::water::Curve;
use crate::problem::{Objective, Target};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

/// Operations that spectra may take in all: some seconds.
const WORK: f64 = 6e10;
/// Tensors with more entries are made smaller first, where their modes allow it.
const LARGE: usize = 1 << 15;
/// The error taken for that where none is asked for.
const ERROR: f64 = 1e-3;

/// The cuts of a tensor. What is asked for decides what is computed, never what happens to be known already: so the
/// answers are the same whenever they are asked for.
pub(super) struct Cuts<'c> {
    spectra: Source<'c>,
    left: Cell<f64>,
    known: RefCell<HashMap<ModeSet, Option<Arc<Curve>>>>,
    limits: &'c Limits,
}

/// Spectra that are given, or made here.
enum Source<'c> {
    Given(&'c Spectra),
    Own(Box<Spectra>),
}

impl<'c> Cuts<'c> {
    /// The cuts of a tensor of whose error `eps` matters.
    pub fn new(target: &Target, given: &'c Spectra, eps: Option<f64>, limits: &'c Limits) -> Self {
        let small = match target.entries() > LARGE {
            // A tenth of the error, of which shrinking takes a hundredth.
            true => {
                let eps = Objective::MaxError(eps.unwrap_or(ERROR) / 10.0);
                target.shrink(eps, &shrink_limits(limits))
            }
            false => None,
        };
        let own = small.map(|core| {
            let svd = eps.is_some_and(|eps| needs_svd(Objective::MaxError(eps)));
            let spectra =
                Spectra::new(&core, SpectraSettings { svd, ..SpectraSettings::default() });
            Source::Own(Box::new(spectra.stoppable(&limits.stop)))
        });
        let spectra = own.unwrap_or(Source::Given(given));
        Cuts { spectra, left: Cell::new(WORK), known: RefCell::new(HashMap::new()), limits }
    }

    fn spectra(&self) -> &Spectra {
        match &self.spectra {
            Source::Given(spectra) => spectra,
            Source::Own(spectra) => spectra,
        }
    }

    /// Whether work is to end.
    pub fn stopped(&self) -> bool {
        self.limits.stop.is_set()
    }

    /// What a cut loses at each rank; none where that is too much work. Nothing for the cut that has all modes on one
    /// side.
    pub fn curve(&self, set: ModeSet) -> Option<Arc<Curve>> {
        let set = self.spectra().normal(set);
        if let Some(known) = self.known.borrow().get(&set) {
            return known.clone();
        }
        let curve = match set {
            0 => Some(Arc::new(Curve::new([].into_iter()))),
            _ if self.afford(set) => {
                let spectrum = self.spectra().of_few(set, &self.limits.stop);
                spectrum.map(|s| Arc::new(Curve::new(s.values().into_iter())))
            }
            _ => None,
        };
        self.known.borrow_mut().insert(set, curve.clone());
        curve
    }

    /// Takes the work of a cut off the budget.
    fn afford(&self, set: ModeSet) -> bool {
        let dims = self.spectra().target().dims();
        let length = |inside: bool| -> f64 {
            let modes = (0..dims.len()).filter(|n| (set >> n & 1 == 1) == inside);
            modes.map(|n| dims[n] as f64).product()
        };
        let side = length(true).min(length(false));
        let work = 2.0 * length(true) * length(false) * (side + 20.0) + 10.0 * side.powi(3);
        let left = self.left.get() - work;
        if left >= 0.0 {
            self.left.set(left);
        }
        left >= 0.0
    }

    /// The entropy of a cut, `- sum of p ln p` over its squared singular values p relative to their sum.
    pub fn entropy(&self, set: ModeSet) -> Option<f64> {
        let curve = self.curve(set)?;
        Some(entropy((0..curve.full()).map(|k| curve.tail(k) - curve.tail(k + 1))))
    }
}

/// `- sum of p ln p` of numbers that are divided by their sum.
fn entropy(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let all: f64 = values.clone().sum();
    values.filter(|&p| p > 1e-15 * all).map(|p| -(p / all) * (p / all).ln()).sum::<f64>().max(0.0)
}
