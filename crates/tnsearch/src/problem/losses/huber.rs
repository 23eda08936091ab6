//! The Huber loss: outliers count by their distance, not by its square.

use super::{Description, Loss, Measure};
use crate::error::positive;
use crate::problem::Target;
use crate::problem::data::robust;
use std::sync::Arc;

pub(super) const HUBER: Description = Description {
    name: "huber",
    summary: "Huber loss: errors beyond D, in units of the data, count by their size only",
    parameter: Some("D"),
    make: |parameter, target| {
        let delta = parameter.unwrap_or_else(|| Huber::delta_for(target));
        positive("delta of huber", delta)?;
        Ok(Arc::new(Huber::new(delta)))
    },
};

/// The part of the data's spread from which on an error is an outlier's.
const PART: f64 = 0.1;

/// Below this delta, products with it leave the range of normal numbers, and digits are lost.
const TINY: f64 = 1e-140;

/// The largest second derivative that is told: of a tiny delta it would be no number.
const BENT: f64 = 1e100;

/// `e^2 / 2` of errors e up to delta, `delta (|e| - delta / 2)` beyond, relative to that of the zero network.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Huber {
    delta: f64,
}

impl Huber {
    /// With a delta above 0, in units of the data.
    pub const fn new(delta: f64) -> Self {
        Huber { delta }
    }

    /// Where squares end.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// What values are counted in: 1, or a tiny delta. Errors are relative to the zero network's, so it changes none.
    fn unit(&self) -> f64 {
        if self.delta < TINY { self.delta } else { 1.0 }
    }

    /// The delta where none is given: a tenth of 1.345 times the robust standard deviation of the known entries, which is
    /// 1.4826 times the median distance from their median (their mean distance, where that is 0; 1 for constant data).
    /// A function of the data alone, so that all structures are measured alike.
    ///
    /// ```
    /// use tnsearch::{problem::{Huber, Target}, tensor::Tensor};
    /// let x = Tensor::new(vec![5], vec![1.0, 2.0, 3.0, 4.0, 1e6]);
    /// # let x = Tensor::new(vec![5, 1], x.unwrap().into_data());
    /// let delta = Huber::delta_for(&Target::new(x.unwrap()).unwrap());
    /// assert!((delta - 0.1 * 1.345 * 1.4826).abs() < 1e-12);
    /// ```
    pub fn delta_for(target: &Target) -> f64 {
        let known = target.known();
        let inside = |k: &usize| known.as_ref().is_none_or(|known| known.contains(*k));
        let x = (0..target.entries()).filter(inside).map(|k| target.tensor().entry(k).re);
        let x: Vec<f64> = x.map(|x| x * target.scale()).collect();
        let (middle, spread) = robust(x.iter().copied());
        let mean = x.iter().map(|x| (x - middle).abs()).sum::<f64>() / x.len().max(1) as f64;
        match spread {
            spread if spread > 0.0 => PART * 1.345 * spread,
            _ if mean > 0.0 => PART * 1.345 * mean,
            _ => 1.0,
        }
    }
}

impl Loss for Huber {
    fn measure(&self) -> Measure {
        let delta = self.delta;
        let mut measure = Measure::new("huber", "Huber", "Huber loss", None);
        measure.meaning =
            format!("Huber loss with delta {delta:.6e}, relative to that of the zero network")
                .into();
        measure
    }

    fn spec(&self) -> Option<String> {
        Some(format!("{}:{}", HUBER.name, self.delta))
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        let e = (x - z).abs();
        let (delta, unit) = (self.delta, self.unit());
        if e <= delta { 0.5 * e * (e / unit) } else { (delta / unit) * (e - 0.5 * delta) }
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        (z - x).clamp(-self.delta, self.delta) / self.unit()
    }

    fn second_derivative(&self, x: f64, z: f64) -> f64 {
        if (x - z).abs() <= self.delta { (1.0 / self.unit()).min(BENT) } else { 0.0 }
    }
}
