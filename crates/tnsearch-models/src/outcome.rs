//! A model as it was compressed: its layers, what each lost, what the whole costs.

use super::job::Trial;
use super::layer::{Layer, LeftAlone, MOST_LOST};

/// A layer as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The layer.
    pub layer: Layer,
    /// What it is called that it is now.
    pub format: String,
    /// Whether it has cores.
    pub compressed: bool,
    /// Numbers that are stored.
    pub params: u64,
    /// Multiply-adds of applying it.
    pub multiply_adds: u64,
    /// Its relative error as written.
    pub re: f64,
    /// The same in its metric, where it has one.
    pub weighted_re: Option<f64>,
}

impl Written {
    /// Its relative error as the goal counts it: in its metric, where it has one.
    pub fn counted_re(&self) -> f64 {
        self.weighted_re.unwrap_or(self.re)
    }

    /// Whether most of what the layer was is lost.
    pub fn is_mostly_lost(&self) -> bool {
        self.counted_re() > MOST_LOST
    }
}

/// Whether an error is within what is allowed, but for rounding.
pub(super) fn within(re: f64, most: f64) -> bool {
    re <= most * (1.0 + 1e-6)
}

/// A compressed model.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its layers.
    pub layers: Vec<Written>,
    /// What was left alone.
    pub alone: Vec<LeftAlone>,
    /// The relative error of all layers together, as the goal counts it.
    pub re: f64,
    /// The largest relative error that a layer may have; none: any.
    pub layer_cap: Option<f64>,
    /// Numbers before and after, of all tensors.
    pub params: (u64, u64),
    /// Bytes of the numbers before and after.
    pub bytes: (u64, u64),
    /// Multiply-adds of all layers before and after.
    pub multiply_adds: (u64, u64),
    /// Whether the goal was reached.
    pub reached: bool,
    /// Bytes that the largest layer needs.
    pub memory_needed: u64,
    /// The models that were measured.
    pub trials: Vec<Trial>,
}
