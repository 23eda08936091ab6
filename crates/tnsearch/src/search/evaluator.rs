//! The interface to what fits a structure.

use super::Effort;
use crate::bound::CutBound;
use crate::decompose::{Limits, forest_svd};
use crate::fit::{self, CheckedFit, FitError, FitSettings, Fitted};
use crate::graph::ModeGraph;
use crate::problem::{Stop, Target};
use crate::tensor::AnyTensor;

/// Fits structures. Called from several threads at once.
///
/// The result must be a pure function of its arguments but the last. [`FitError::Memory`] says that this
/// structure is too large (the search goes on without it), [`FitError::Interrupted`] that the flag was
/// seen; every other error ends the search.
pub trait Evaluator: Sync {
    /// Fits the cores of one structure.
    fn evaluate(
        &self,
        graph: &ModeGraph,
        seed: u64,
        effort: Effort,
        interrupt: &Stop,
    ) -> Result<Fitted, FitError>;

    /// As [`Evaluator::evaluate`] with full effort, the first start beginning at these cores (shaped for the
    /// graph). The default makes no use of them.
    fn evaluate_from(
        &self,
        graph: &ModeGraph,
        seed: u64,
        _cores: &[AnyTensor],
        interrupt: &Stop,
    ) -> Result<Fitted, FitError> {
        self.evaluate(graph, seed, Effort::Full, interrupt)
    }
}

/// Fits on this machine's processors, with [`fit::fit`]; a quick fit of a structure without cycles is made by
/// truncated SVDs, and improved only where they do not reach the error.
#[derive(Debug, Clone)]
pub struct FitEvaluator<'a> {
    /// The tensor.
    pub target: &'a Target,
    /// How it is fitted.
    pub settings: CheckedFit,
}

impl Evaluator for FitEvaluator<'_> {
    fn evaluate(
        &self,
        graph: &ModeGraph,
        seed: u64,
        effort: Effort,
        interrupt: &Stop,
    ) -> Result<Fitted, FitError> {
        if effort.is_full() {
            return fit::fit(self.target, graph, &self.settings, seed, None, interrupt);
        }
        let quick = FitSettings::clone(&self.settings);
        let settings = FitSettings { restarts: 1, scouts: 1, rescue: 0, ..quick };
        let limits = Limits { max_bytes: settings.max_bytes, stop: interrupt.clone() };
        // Where the SVDs take too much memory, or an interrupt came, a start is made as for any other graph.
        let svd = forest_svd(self.target, graph, &limits).ok().flatten();
        let warm = match svd {
            Some((cores, rse)) if rse <= settings.enough_rse.max(settings.stop_rse) => {
                return Ok(Fitted {
                    cores,
                    rse,
                    sweeps: 0,
                    restarts: 0,
                    rescued: false,
                    interrupted: false,
                });
            }
            other => other.map(|(cores, _)| cores),
        };
        fit::fit(self.target, graph, &settings.check()?, seed, warm.as_deref(), interrupt)
    }

    fn evaluate_from(
        &self,
        graph: &ModeGraph,
        seed: u64,
        cores: &[AnyTensor],
        interrupt: &Stop,
    ) -> Result<Fitted, FitError> {
        fit::fit(self.target, graph, &self.settings, seed, Some(cores), interrupt)
    }
}

/// Bounds the error of structures from below.
pub trait RseBound: Sync {
    /// A number that no fit of the structure can go below. May stop looking once it has reached `enough`.
    fn rse(&self, graph: &ModeGraph, enough: f64) -> f64;
}

impl RseBound for CutBound {
    fn rse(&self, graph: &ModeGraph, enough: f64) -> f64 {
        CutBound::rse(self, graph, enough)
    }
}
