//! What the tests of strategies share.

use super::{Ask, Generation, Outcome, Source, Strategy};
use crate::graph::Structure;

/// The outcome of a fit with this loss.
pub(super) fn told(loss: f64) -> Outcome {
    Outcome { loss, error: Some(loss), params: 1, source: Source::Evaluated }
}

/// The structures a strategy asks for; none where it has ended.
pub(super) fn asked(strategy: &mut impl Strategy) -> Vec<Structure> {
    let ask = strategy.ask();
    assert_ne!(ask, Ask::Thinking);
    ask.structures().to_vec()
}

/// The generation a strategy asks for.
pub(super) fn generation(strategy: &mut impl Strategy) -> Generation {
    match strategy.ask() {
        Ask::Generation(generation) => generation,
        other => panic!("{other:?}"),
    }
}
