//! The Kullback-Leibler divergence of a non-negative network from non-negative data.

use super::{Description, Loss, Measure, ModelDomain};
use std::sync::Arc;

pub(super) const KL: Description = Description {
    name: "kl",
    summary: "KL divergence of a non-negative network from non-negative data",
    parameter: None,
    make: |_, _| Ok(Arc::new(KlDivergence)),
};

/// `sum x log(x / z) - x + z`, relative to that of the best constant network, which is the mean of the data: so a
/// network that knows nothing but the mean has the error 1. (The zero network would be infinitely far away.) Where the
/// data is constant, relative to its sum.
///
/// ```
/// use tnsearch::problem::{KlDivergence, Loss};
/// assert_eq!(KlDivergence.value(3.0, 3.0), 0.0);
/// assert_eq!((KlDivergence.value(0.0, 2.0), KlDivergence.value(2.0, 0.0)), (2.0, f64::INFINITY));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KlDivergence;

impl Loss for KlDivergence {
    fn measure(&self) -> Measure {
        let meaning = "KL divergence, relative to that of the best constant network";
        Measure::new("kl", "KL", meaning, None)
    }

    fn spec(&self) -> Option<String> {
        Some(KL.name.to_owned())
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        divergence(x, z)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        1.0 - ratio(x, z)
    }

    fn second_derivative(&self, x: f64, z: f64) -> f64 {
        ratio(ratio(x, z), z)
    }

    fn baseline(&self, x: &[f64]) -> f64 {
        baseline(x)
    }

    fn refuses(&self, x: f64) -> Option<&str> {
        (x < 0.0)
            .then_some("KL divergence is for entries of at least 0; use --loss squared or huber")
    }

    fn model(&self) -> ModelDomain {
        ModelDomain::NonNegative
    }

    fn is_divergence(&self) -> bool {
        true
    }
}

/// `x log(x / z) - x + z`, exact where both are near.
pub(super) fn divergence(x: f64, z: f64) -> f64 {
    let away = (z - x) / x;
    match () {
        // Where x is nothing beside z, what is left is z.
        () if x <= 0.0 || away >= f64::MAX => z,
        // The plain logarithm is several times faster, and has digits enough where both are not too near.
        () if away.abs() > 1e-3 => x * (away - (z / x).ln()),
        () => x * (away - away.ln_1p()),
    }
}

/// `x / z`, nothing of nothing.
pub(super) fn ratio(x: f64, z: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / z.max(f64::MIN_POSITIVE) }
}

/// The divergence of the mean of the data, or the sum of data that is constant.
pub(super) fn baseline(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    let mean = sum / x.len().max(1) as f64;
    let away: f64 = x.iter().map(|&x| divergence(x, mean)).sum();
    if away > 1e-12 * sum { away } else { sum }
}
