//! An axis: what it measures and how far it reaches.

use super::scale::{Mapping, Scale, domain};
use super::ticks::{self, Tick};

/// An axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    whole: bool,
    include: Vec<f64>,
    range: Option<(f64, f64)>,
    names: Option<Vec<String>>,
}

impl Axis {
    fn new(label: &str, scale: Scale) -> Self {
        let label = label.to_owned();
        Axis { label, scale, whole: false, include: Vec::new(), range: None, names: None }
    }

    /// An axis with evenly spread values.
    pub fn linear(label: &str) -> Self {
        Axis::new(label, Scale::Linear)
    }

    /// A linear axis whose ticks are whole numbers.
    pub fn whole(label: &str) -> Self {
        Axis { whole: true, ..Axis::new(label, Scale::Linear) }
    }

    /// A logarithmic axis. Values of zero and below stand at its lower end.
    pub fn log(label: &str) -> Self {
        Axis::new(label, Scale::Log)
    }

    /// An axis of names: the k-th stands at the value k.
    pub fn names(label: &str, names: Vec<String>) -> Self {
        Axis { names: Some(names), ..Axis::new(label, Scale::Linear) }
    }

    /// Makes the axis reach a value, whatever the data.
    pub fn include(mut self, value: f64) -> Self {
        self.include.push(value);
        self
    }

    /// Sets the range, whatever the data. A range that is none, or goes below zero on a logarithmic axis,
    /// is left aside.
    pub fn range(mut self, lo: f64, hi: f64) -> Self {
        let sound = lo < hi && lo.is_finite() && hi.is_finite();
        self.range = (sound && (self.scale == Scale::Linear || lo > 0.0)).then_some((lo, hi));
        self
    }

    /// The same axis over pixels, for these data.
    pub(crate) fn mapping(&self, data: impl Iterator<Item = f64>, from: f64, to: f64) -> Mapping {
        let (lo, hi) = match (&self.names, self.range) {
            (Some(names), _) => (-0.5, names.len().max(1) as f64 - 0.5),
            (None, Some(range)) => range,
            (None, None) => domain(data.chain(self.include.iter().copied()), self.scale),
        };
        Mapping { scale: self.scale, lo, hi, from, to }
    }

    /// The ticks over a range.
    pub(crate) fn ticks(&self, map: &Mapping, wanted: usize) -> Vec<Tick> {
        if let Some(names) = &self.names {
            // Too many names: every second, third, ...
            let skip = names.len().div_ceil(wanted.max(1)).max(1);
            let named = names.iter().enumerate().filter(|(k, _)| k.is_multiple_of(skip));
            return named.map(|(k, n)| Tick { value: k as f64, label: n.clone() }).collect();
        }
        match self.scale {
            Scale::Linear => ticks::linear(map.lo, map.hi, wanted, self.whole),
            Scale::Log => ticks::log(map.lo, map.hi, wanted),
        }
    }
}
