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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Objective, Proven};
    use crate::search::Engine;
    use crate::search::engine::testing::{DIMS, Listing, TestExecutor};

    fn needed() -> NeededRank {
        NeededRank { rank: 12, modes: 0b100, width: 12, edges: 1, alone: true }
    }

    /// What is said where a bound was proven, or that nothing is what was asked for.
    fn said(
        objective: Objective,
        (wider, unproven): (bool, Option<Unproven>),
        proven: (Option<f64>, bool),
        stopped_by: StoppedBy,
        error: Option<f64>,
    ) -> (Proven, Option<NeededRank>) {
        let fit = crate::fit::FitSettings::default().check().unwrap();
        let objective = objective.check().unwrap();
        let needed = Some(Box::new(|| Some(needed())) as Box<dyn Fn() -> Option<NeededRank>>);
        let grounds = Grounds { wider, unproven, needed, ..Grounds::default() };
        let make = || Engine::new(&DIMS, objective, fit.clone()).max_phi(1e9);
        let make = || make().runs(5, 1, |_| Listing::of([7]));
        let mut bench = TestExecutor::new(1).replying(move |_, request, _| {
            let error = error.unwrap_or(0.5);
            Some(Ok(crate::search::engine::testing::fitted(&request.graph, error)))
        });
        let best = make().run(&mut bench).unwrap().best.filter(|_| error.is_some());
        let driver = Driver::new(make().grounds(grounds), &mut bench);
        let proven = (proven.0.map(|value| objective.lower_bound(value)), proven.1);
        let (statement, rank) = driver.statement(proven, best.as_ref(), stopped_by);
        (statement.proven, rank)
    }

    #[test]
    fn why_nothing_is_proven_is_what_was_known_or_what_ended_it() {
        use StoppedBy::{Finished, Interrupted, MaxEvaluations, MaxSeconds};
        let eps = Objective::MaxError(0.1);
        for (by, why) in [
            (Finished, Unproven::Unknown),
            (MaxEvaluations, Unproven::Unknown),
            (MaxSeconds, Unproven::TimeUp),
            (Interrupted, Unproven::Interrupted),
        ] {
            let nothing = |known| said(eps, (false, known), (None, false), by, Some(0.05));
            assert_eq!(nothing(None), (Proven::Nothing(why), None));
            let holes = Some(Unproven::Holes);
            assert_eq!(nothing(holes), (Proven::Nothing(Unproven::Holes), None));
        }
    }

    #[test]
    fn what_is_impossible_is_so_for_the_ranks_that_were_looked_at() {
        let eps = Objective::MaxError(0.1);
        let rank = || Some(Needed::from(needed()));
        let of = |objective, wider, error| {
            said(objective, (wider, None), (None, true), StoppedBy::Finished, error)
        };
        // Nothing found, or nothing that is near enough.
        for error in [None, Some(0.5)] {
            assert_eq!(of(eps, false, error), (Proven::Impossible(rank()), Some(needed())));
        }
        // The search went further than the proof, or found it there.
        let larger = Proven::Nothing(Unproven::LargerRanks(rank()));
        assert_eq!(of(eps, true, None), (larger.clone(), None));
        assert_eq!(of(eps, false, Some(0.05)), (larger, None));
        // Ranks are asked for by an error alone.
        let params = Objective::MaxParams(90_000);
        assert_eq!(of(params, false, None), (Proven::Impossible(None), None));
    }

    #[test]
    fn a_bound_is_told_with_an_answer_that_meets_it() {
        let eps = Objective::MaxError(0.1);
        let of = |bound| {
            let said = |error| {
                let all = (Some(bound), false);
                said(eps, (false, None), all, StoppedBy::Finished, error).0
            };
            (said(Some(0.05)), said(Some(0.5)))
        };
        let bound = |value| eps.check().unwrap().lower_bound(value);
        assert_eq!(of(1.0), (Proven::AtLeast(bound(1.0)), Proven::AtLeast(bound(1.0))));
        // One that misses the error meets nothing.
        let (met, missed) = of(1e6);
        assert_eq!((met, missed), (Proven::Optimal(bound(1e6)), Proven::AtLeast(bound(1e6))));
    }
}
