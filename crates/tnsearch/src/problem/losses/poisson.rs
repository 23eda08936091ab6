//! The Poisson deviance of counts.

use super::kl::{baseline, divergence, ratio};
use super::{Description, Loss, Measure, ModelDomain};
use std::sync::Arc;

pub(super) const POISSON: Description = Description {
    name: "poisson",
    summary: "Poisson deviance of counts from a non-negative network",
    parameter: None,
    make: |_, _| Ok(Arc::new(PoissonDeviance)),
};

/// `2 sum x log(x / z) - (x - z)`, the deviance of counts whose means are the network's entries, relative to that of the
/// best constant network (as [`KlDivergence`](super::KlDivergence), which has the same minimisers and takes any
/// non-negative number).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoissonDeviance;

impl Loss for PoissonDeviance {
    fn measure(&self) -> Measure {
        let meaning = "Poisson deviance, relative to that of the best constant network";
        Measure::new("poisson", "deviance", meaning, None)
    }

    fn spec(&self) -> Option<String> {
        Some(POISSON.name.to_owned())
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        2.0 * divergence(x, z)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        2.0 * (1.0 - ratio(x, z))
    }

    fn second_derivative(&self, x: f64, z: f64) -> f64 {
        2.0 * ratio(ratio(x, z), z)
    }

    fn baseline(&self, x: &[f64]) -> f64 {
        2.0 * baseline(x)
    }

    fn refuses(&self, x: f64) -> Option<&str> {
        match x {
            x if x < 0.0 => Some("Poisson deviance is for counts; use --loss squared or huber"),
            x if x.fract() != 0.0 => {
                Some("Poisson deviance is for counts, which are whole; use --loss kl")
            }
            _ => None,
        }
    }

    fn model(&self) -> ModelDomain {
        ModelDomain::NonNegative
    }

    fn is_divergence(&self) -> bool {
        true
    }
}
