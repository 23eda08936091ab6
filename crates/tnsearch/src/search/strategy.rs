//! The interface of a search strategy.

use crate::graph::Structure;
use serde::{Deserialize, Serialize};

/// Proposes structures and learns from what became of them; the [`super::Runner`] does the rest.
///
/// One ask is one generation. The runner answers every generation with one tell, one outcome a
/// structure, in the same order; then it asks again. A strategy must be a pure function of its settings,
/// its seed and what it was told, never of time: that is what makes a resumed search end like an
/// uninterrupted one.
pub trait Strategy: Send {
    /// The strategy's name on the command line and in reports.
    fn name(&self) -> &'static str;

    /// The next generation; none when the strategy has finished, or while it is [`Strategy::thinking`].
    fn ask(&mut self) -> Vec<Structure>;

    /// Whether an empty ask only means that it needs more time: it is told of an empty generation and asked
    /// again. So a strategy that computes for long lets the runner look at its clock and report progress.
    fn thinking(&self) -> bool {
        false
    }

    /// What became of the structures of the last ask, in its order.
    fn tell(&mut self, outcomes: &[Outcome]);

    /// How much work the fits of the last ask are worth. A structure that was fitted quickly is fitted again
    /// where it is proposed with full effort.
    fn effort(&self) -> Effort {
        Effort::Full
    }

    /// The structure from whose cores the fits of the last ask begin: one that was fitted before in this run,
    /// with the same template and permutation and no larger ranks. None (the default): from random cores. Fits
    /// that are only quick have no parent. A structure keeps the result of its first full fit in a run, whatever
    /// parent a later ask names.
    fn parent(&self) -> Option<&Structure> {
        None
    }

    /// Where only a loss below this matters to the strategy, and of those of one generation only the
    /// smallest: the runner may then prune what a bound rules out, and the strategy's way stays the same.
    /// None (the default): every loss matters.
    fn only_below(&self) -> Option<f64> {
        None
    }

    /// What no structure can go below, where the strategy has proven it: a number of parameters (`MaxError`), a
    /// loss (`Lambda`) or an RSE (`MaxParams`).
    fn lower_bound(&self) -> Option<f64> {
        None
    }

    /// How many structures it will propose in all, where it knows (for progress bars).
    fn planned_samples(&self) -> Option<u64> {
        None
    }
}

impl<S: Strategy + ?Sized> Strategy for Box<S> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn ask(&mut self) -> Vec<Structure> {
        (**self).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        (**self).tell(outcomes);
    }

    fn thinking(&self) -> bool {
        (**self).thinking()
    }

    fn effort(&self) -> Effort {
        (**self).effort()
    }

    fn parent(&self) -> Option<&Structure> {
        (**self).parent()
    }

    fn only_below(&self) -> Option<f64> {
        (**self).only_below()
    }

    fn lower_bound(&self) -> Option<f64> {
        (**self).lower_bound()
    }

    fn planned_samples(&self) -> Option<u64> {
        (**self).planned_samples()
    }
}

/// How much work a fit is worth.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// One start, to sort out what is easy.
    Quick,
    /// All the starts that the fit's settings ask for.
    #[default]
    Full,
}

impl Effort {
    /// Whether it is [`Effort::Full`].
    pub fn is_full(&self) -> bool {
        *self == Effort::Full
    }
}

/// What became of a proposed structure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// The number to minimise ([`super::CheckedObjective::loss`]). Where the structure was not fitted,
    /// a value that it cannot go below (pruned), or that of the zero network (refused).
    pub loss: f64,
    /// The RSE of its fit, where there was one.
    pub rse: Option<f64>,
    /// Its number of parameters.
    pub params: u128,
    /// How the loss was obtained.
    pub source: Source,
}

/// How the loss of a structure was obtained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The structure was fitted: an evaluation.
    Evaluated,
    /// The same structure had been proposed before in this run.
    Cached,
    /// It is known without a fit that it cannot be the answer.
    Pruned,
    /// It is too large to be fitted.
    Refused,
}
