//! From data to pixels.

/// How an axis spreads its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm; zero and below stand at the lower end.
    Log,
}

/// On a logarithmic axis anything smaller is zero.
const TINY: f64 = 1e-290;

/// A range of values spread over a range of pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mapping {
    pub(crate) scale: Scale,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Mapping {
    /// Where a value stands. Values far off the axis stay within sight of it, so that a path to them has a
    /// slope; what is not a number stands at the lower end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.lo) / (self.hi - self.lo),
            Scale::Log if value < TINY => 0.0,
            Scale::Log => (value / self.lo).ln() / (self.hi / self.lo).ln(),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(-10.0, 10.0) };
        self.from + share * (self.to - self.from)
    }
}

/// The range that shows these values with some room around them; something sensible where there are none.
pub(crate) fn domain(values: impl Iterator<Item = f64>, scale: Scale) -> (f64, f64) {
    let usable = |v: &f64| v.is_finite() && (scale == Scale::Linear || *v >= TINY);
    let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut below = false;
    for v in values {
        if usable(&v) {
            (lo, hi) = (lo.min(v), hi.max(v));
        } else {
            below |= v.is_finite();
        }
    }
    match scale {
        _ if lo > hi => match scale {
            Scale::Linear => (0.0, 1.0),
            Scale::Log => (0.1, 1.0),
        },
        Scale::Linear if hi - lo <= 1e-9 * lo.abs().max(hi.abs()) => {
            let room = if lo == 0.0 { 1.0 } else { 0.1 * lo.abs() };
            (lo - room, hi + room)
        }
        Scale::Linear => (lo - 0.04 * (hi - lo), hi + 0.04 * (hi - lo)),
        Scale::Log => {
            // Zeros need a place of their own below the smallest value.
            let floor = if below { lo / 10.0 } else { lo };
            let room = (hi / floor).powf(0.05).max(1.06);
            // Within what a float can be.
            ((floor / room).max(f64::MIN_POSITIVE), (hi * room).min(f64::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_value_has_a_place_on_the_axis(values in prop::collection::vec(any::<f64>(), 0..20), log in any::<bool>()) {
            // Sums of the largest floats overflow; nobody plots them.
            let values: Vec<f64> = values.into_iter().map(|v| v % 1e150).collect();
            let scale = if log { Scale::Log } else { Scale::Linear };
            let (lo, hi) = domain(values.iter().copied(), scale);
            prop_assert!(lo.is_finite() && hi.is_finite() && lo < hi, "{lo} {hi}");
            prop_assert!(!log || lo > 0.0);
            let map = Mapping { scale, lo, hi, from: 300.0, to: 20.0 };
            for v in values.into_iter().filter(|v| v.is_finite()) {
                let at = map.at(v);
                prop_assert!((20.0..=300.0).contains(&at), "{v} at {at} of {lo}..{hi}");
            }
        }
    }

    #[test]
    fn logs_are_even_in_ratios() {
        let map = Mapping { scale: Scale::Log, lo: 1e-4, hi: 1.0, from: 0.0, to: 100.0 };
        assert!((map.at(1e-2) - 50.0).abs() < 1e-9 && (map.at(1e-3) - 25.0).abs() < 1e-9);
        assert_eq!((map.at(0.0), map.at(-1.0), map.at(f64::NAN)), (0.0, 0.0, 0.0));
        assert_eq!(domain([3.0, 3.0].into_iter(), Scale::Linear), (2.7, 3.3));
        assert_eq!(domain(std::iter::empty(), Scale::Log), (0.1, 1.0));
    }
}
