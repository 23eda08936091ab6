//! The cuts that a proof may use: all of them, or each when it is first asked for.

use super::{Cut, NoCertificate};
use crate::bound::{ModeSet, Spectra, Spectrum};
use crate::problem::Stop;
use std::cell::{Ref, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// Cuts by their numbers, in the order in which they were found.
pub(super) struct Cuts<'a> {
    spectra: &'a Spectra,
    /// The widths of a cut that may matter.
    widths: &'a dyn Fn(&Spectrum) -> BTreeSet<usize>,
    stop: &'a Stop,
    found: RefCell<Vec<(ModeSet, Cut)>>,
    /// By the side without mode 0.
    numbers: RefCell<HashMap<ModeSet, Rc<Vec<usize>>>>,
}

impl<'a> Cuts<'a> {
    /// None yet.
    pub fn new(
        spectra: &'a Spectra,
        widths: &'a dyn Fn(&Spectrum) -> BTreeSet<usize>,
        stop: &'a Stop,
    ) -> Self {
        let (found, numbers) = (RefCell::default(), RefCell::default());
        Cuts { spectra, widths, stop, found, numbers }
    }

    /// What they are of.
    pub fn spectra(&self) -> &'a Spectra {
        self.spectra
    }

    /// Finds all that need a width of two or more.
    pub fn find_all(&self) -> Result<(), NoCertificate> {
        for half in 1..1u64 << (self.spectra.order() - 1) {
            if self.stop.is_set() {
                return Err(NoCertificate::Stopped);
            }
            self.add(half << 1, self.spectra.of(half << 1));
        }
        Ok(())
    }

    /// Those between some modes and the others, the narrowest first.
    pub fn of(&self, set: ModeSet) -> Rc<Vec<usize>> {
        let set = self.spectra.normal(set);
        if let Some(known) = self.numbers.borrow().get(&set) {
            return known.clone();
        }
        self.add(set, self.spectra.of_few(set, self.stop))
    }

    fn add(&self, set: ModeSet, spectrum: Option<&Spectrum>) -> Rc<Vec<usize>> {
        let mut numbers = Vec::new();
        let widths = spectrum.map(self.widths).unwrap_or_default();
        for (spectrum, width) in spectrum.iter().flat_map(|s| widths.iter().map(move |w| (s, *w))) {
            if width < 2 {
                continue;
            }
            let modes = (0..self.spectra.order()).filter(|m| set >> m & 1 == 1).collect();
            let (tail, mut slack) = (spectrum.tail(width - 1), spectrum.slack(width - 1));
            // Rounding must not bring it below what is certain.
            while tail - slack < spectrum.bound(width - 1) && slack > 0.0 {
                slack = slack.next_down();
            }
            let mut found = self.found.borrow_mut();
            numbers.push(found.len());
            found.push((set, Cut { modes, width: width as u64, tail, slack }));
        }
        let numbers = Rc::new(numbers);
        self.numbers.borrow_mut().insert(set, numbers.clone());
        numbers
    }

    /// How many there are by now.
    pub fn len(&self) -> usize {
        self.found.borrow().len()
    }

    /// The side without mode 0.
    pub fn set(&self, cut: usize) -> ModeSet {
        self.at(cut).0
    }

    pub fn width(&self, cut: usize) -> u64 {
        self.at(cut).1.width
    }

    /// What a structure that is narrower misses at least.
    pub fn certain(&self, cut: usize) -> f64 {
        let at = self.at(cut);
        at.1.tail - at.1.slack
    }

    fn at(&self, cut: usize) -> Ref<'_, (ModeSet, Cut)> {
        Ref::map(self.found.borrow(), |found| &found[cut])
    }

    /// All that were found.
    pub fn into_found(self) -> Vec<(ModeSet, Cut)> {
        self.found.into_inner()
    }
}
