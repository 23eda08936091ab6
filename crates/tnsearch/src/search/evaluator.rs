//! The interface to what fits a structure.

use crate::bound::CutBound;
use crate::fit::{self, CheckedFit, FitError, Fitted, Interrupt, Target};
use crate::graph::ModeGraph;

/// Fits structures. Called from several threads at once.
///
/// The result must be a pure function of the graph and the seed. [`FitError::Memory`] says that this
/// structure is too large (the search goes on without it), [`FitError::Interrupted`] that the flag was
/// seen; every other error ends the search.
pub trait Evaluator: Sync {
    /// Fits the cores of one structure.
    fn evaluate(
        &self,
        graph: &ModeGraph,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<Fitted, FitError>;
}

/// Fits on this machine's processors, with [`fit::fit`].
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
        interrupt: &Interrupt,
    ) -> Result<Fitted, FitError> {
        fit::fit(self.target, graph, &self.settings, seed, None, interrupt)
    }
}

/// Bounds the error of structures from below.
pub trait RseBound: Sync {
    /// A number that no fit of the structure can go below. May stop looking once it has reached `enough`.
    fn rse(&self, graph: &ModeGraph, enough: f64) -> f64;
}

impl RseBound for CutBound<'_> {
    fn rse(&self, graph: &ModeGraph, enough: f64) -> f64 {
        CutBound::rse(self, graph, enough)
    }
}
