//! What a search can prove, and what it says of it at its end.

use super::{Best, Driver, StoppedBy};
use crate::bound::NeededRank;
use crate::problem::{Known, LowerBound, Needed, Over, Statement, Unproven};

/// What the bounds of a search speak of ([`Engine::grounds`](super::Engine::grounds)).
#[derive(Default)]
pub struct Grounds<'a> {
    /// The structures that bounds are about; none: those of the strategy.
    pub over: Option<Over>,
    /// Whether the search itself may use larger ranks than the bounds are about.
    pub wider: bool,
    /// The largest rank that the answer may have, where it was told one.
    pub max_rank: Option<usize>,
    /// Why nothing can be proven, where that is known before the search.
    pub unproven: Option<Unproven>,
    /// The rank that the structures need at least, where it is above the largest allowed.
    pub needed: Option<Box<dyn Fn() -> Option<NeededRank> + 'a>>,
}

impl From<NeededRank> for Needed {
    fn from(needed: NeededRank) -> Self {
        Needed { rank: needed.rank, because: needed.because() }
    }
}

impl Driver<'_, '_> {
    /// What is proven, from the best bound and whether it shows that nothing is what was asked for; and the rank that it
    /// would take.
    pub(super) fn statement(
        &self,
        (bound, impossible): (Option<LowerBound>, bool),
        best: Option<&Best>,
        stopped_by: StoppedBy,
    ) -> (Statement, Option<NeededRank>) {
        let Grounds { over, wider, unproven, needed, .. } = &self.engine.grounds;
        let objective = self.engine.rules.objective;
        let reached = |best: &&Best| objective.reached(best.score.params, best.score.error);
        let answer = best.filter(reached).map(|best| (&best.structure, best.score));
        // What is proven for ranks up to the largest says nothing about larger ones, which walks take.
        let larger = impossible && (*wider || answer.is_some());
        let rank = needed.as_ref().filter(|_| impossible && objective.max_error().is_some());
        let rank = rank.and_then(|needed| needed());
        let unproven = match (unproven, stopped_by) {
            _ if larger => Unproven::LargerRanks(rank.map(Needed::from)),
            (Some(why), _) => why.clone(),
            (None, StoppedBy::Interrupted) => Unproven::Interrupted,
            (None, StoppedBy::MaxSeconds) => Unproven::TimeUp,
            (None, _) => Unproven::Unknown,
        };
        let statement = Statement::of(Known {
            over: over.clone(),
            objective: objective.get(),
            measure: &self.engine.measure,
            bound,
            impossible: (impossible && !larger).then(|| rank.map(Needed::from)),
            unproven,
            answer,
        });
        (statement, rank.filter(|_| impossible && !larger))
    }
}
