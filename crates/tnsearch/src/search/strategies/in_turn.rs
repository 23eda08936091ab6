//! Several strategies in one search: each in its turn, then others that go on from the best of all.

use super::{Ask, CheckedObjective, Outcome, Strategy};
use crate::graph::Structure;
use crate::problem::Score;
use crate::search::strategy::{Found, WalkId};
use std::collections::VecDeque;

/// A format whose best has this many times the loss of one that is proven best of all trees is given up.
const FAR: f64 = 2.0;

/// Makes the strategy that goes on from the best structure, and from the walk that found it, if one did; none where nothing
/// was fitted.
pub type GoOn =
    Box<dyn FnOnce(Option<(&Structure, Option<WalkId>)>) -> Option<Box<dyn Strategy>> + Send>;

/// Strategies that search different formats. The one that has proposed the fewest structures is asked next, so that
/// each has its share of whatever time there is; when all are done, others go on from the best of them.
pub struct Formats {
    objective: CheckedObjective,
    parts: Vec<Part>,
    /// How many of these were there from the beginning: what they prove is about all that is searched.
    first: usize,
    /// What goes on when all are done, one after the other.
    go_on: VecDeque<Further>,
    knows_first: bool,
    /// Whose structures are being fitted.
    turn: usize,
    /// The best of all.
    lead: Option<Score>,
    /// The best that walks can go on from.
    best: Option<(Score, Structure, Option<WalkId>)>,
}

/// A strategy to come, and whether it is asked also where the best is proven: the bound may be about fewer structures.
struct Further {
    go_on: GoOn,
    always: bool,
}

struct Part {
    strategy: Box<dyn Strategy>,
    /// What is being fitted, and by which walk it was found.
    asked: Vec<(Structure, Option<WalkId>)>,
    proposed: u64,
    /// The least loss of what it has proposed.
    least: f64,
    done: bool,
}

impl Part {
    fn new(strategy: Box<dyn Strategy>) -> Self {
        Part { strategy, asked: Vec::new(), proposed: 0, least: f64::INFINITY, done: false }
    }
}

impl Formats {
    /// The strategies in the order of their first turn.
    pub fn new(objective: CheckedObjective, parts: Vec<Box<dyn Strategy>>, go_on: GoOn) -> Self {
        let parts: Vec<Part> = parts.into_iter().map(Part::new).collect();
        let (first, go_on) = (parts.len(), VecDeque::from([Further { go_on, always: false }]));
        Formats {
            objective,
            parts,
            first,
            go_on,
            knows_first: false,
            turn: 0,
            lead: None,
            best: None,
        }
    }

    /// The same where another strategy goes on after those there are.
    pub fn then(mut self, go_on: GoOn) -> Self {
        self.go_on.push_back(Further { go_on, always: false });
        self
    }

    /// The same where another strategy goes on after those there are, also where the best is proven.
    pub fn always(mut self, go_on: GoOn) -> Self {
        self.go_on.push_back(Further { go_on, always: true });
        self
    }

    /// The same where what direct methods gave counts among what was found: it may be better than all that comes.
    pub fn knowing_first(mut self) -> Self {
        self.knows_first = true;
        self
    }

    /// Keeps the best.
    fn note(&mut self, structure: Structure, walk: Option<WalkId>, outcome: &Outcome) {
        let Some(error) = outcome.error else { return };
        let score = Score { loss: outcome.loss, error, params: outcome.params };
        if self.lead.is_none_or(|lead| self.objective.better(&score, &lead)) {
            self.lead = Some(score);
        }
        let walked = structure.template().copy_vertex().is_none();
        let best = self.best.as_ref();
        if walked && best.is_none_or(|(best, ..)| self.objective.better(&score, best)) {
            self.best = Some((score, structure, walk));
        }
    }

    /// The bound that is proven, where the best meets it.
    fn bound_met(&self) -> Option<f64> {
        let best = self.lead.filter(|best| self.objective.reached(best.params, best.error))?;
        let bound = self.lower_bound().filter(|bound| bound.is_finite())?;
        self.objective.lower_bound(bound).is_met_by(&best).then_some(bound)
    }

    /// Whether nothing can be better than the best. One that is below the bound is of a format that the bound is not about.
    fn proven(&self) -> bool {
        let Some((bound, best)) = self.bound_met().zip(self.lead) else { return false };
        let least = bound - self.objective.margin(bound);
        self.objective.value(&best).is_some_and(|value| value >= least)
    }

    /// Where the best meets a bound over all trees, formats that were tried and are far behind it are given up: they have
    /// little chance, and the answer is proven best of all others. Those that end by themselves do so soon.
    fn give_up_what_is_far(&mut self) {
        let Some(best) = self.lead.map(|best| best.loss).filter(|_| self.bound_met().is_some())
        else {
            return;
        };
        for part in &mut self.parts[..self.first] {
            let far = part.proposed > 0 && part.least > FAR * best;
            part.done |= far && !part.strategy.ends_itself();
        }
    }

    /// The strategy that is asked next; none when all are done.
    fn next(&mut self) -> Option<usize> {
        self.give_up_what_is_far();
        let waiting = self.parts.iter().enumerate().filter(|(_, part)| !part.done);
        if let Some((k, _)) = waiting.min_by_key(|(_, part)| part.proposed) {
            return Some(k);
        }
        while let Some(Further { go_on, always }) = self.go_on.pop_front() {
            if !always && self.proven() {
                continue;
            }
            let best = self.best.as_ref().map(|(_, structure, walk)| (structure, *walk));
            if let Some(strategy) = go_on(best) {
                self.parts.push(Part::new(strategy));
                return Some(self.parts.len() - 1);
            }
        }
        None
    }
}

impl Strategy for Formats {
    /// The strategy whose structures were fitted last.
    fn name(&self) -> &str {
        self.parts.get(self.turn).map_or("formats", |part| part.strategy.name())
    }

    fn ask(&mut self) -> Ask {
        while let Some(k) = self.next() {
            let part = &mut self.parts[k];
            if let Some(best) = &self.lead {
                part.strategy.hear(best);
            }
            match part.strategy.ask() {
                Ask::Done => part.done = true,
                Ask::Thinking => return Ask::Thinking,
                asked => {
                    self.turn = k;
                    part.asked = asked.structures().iter().map(|s| (s.clone(), None)).collect();
                    part.proposed += part.asked.len() as u64;
                    return asked;
                }
            }
        }
        Ask::Done
    }

    fn tell_first(&mut self, structures: &[Structure], outcomes: &[Outcome]) {
        let told = structures.iter().zip(outcomes).filter(|_| self.knows_first);
        for (structure, outcome) in told.collect::<Vec<_>>() {
            self.note(structure.clone(), None, outcome);
        }
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let Some(part) = self.parts.get_mut(self.turn) else { return };
        let asked = std::mem::take(&mut part.asked);
        let losses = outcomes.iter().filter(|o| o.error.is_some()).map(|o| o.loss);
        part.least = losses.fold(part.least, f64::min);
        part.strategy.tell(outcomes);
        for ((structure, walk), outcome) in asked.into_iter().zip(outcomes) {
            self.note(structure, walk, outcome);
        }
    }

    fn tell_found(&mut self, found: &[Option<Found>]) {
        let Some(part) = self.parts.get_mut(self.turn) else { return };
        // What was asked for is where the walks began.
        for (asked, found) in part.asked.iter_mut().zip(found) {
            if let Some(found) = found {
                *asked = (found.structure.clone(), Some(found.walk));
            }
        }
        part.strategy.tell_found(found);
    }

    fn lower_bound(&self) -> Option<f64> {
        self.parts[..self.first].iter().find_map(|part| part.strategy.lower_bound())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::problem::Objective;
    use crate::search::{Generation, Source};
    use std::sync::Arc;

    /// Proposes so many structures of rank r at a time, so often.
    struct Scripted {
        rank: usize,
        width: usize,
        left: usize,
    }

    impl Strategy for Scripted {
        fn name(&self) -> &str {
            "scripted"
        }

        fn ask(&mut self) -> Ask {
            if self.left == 0 {
                return Ask::Done;
            }
            self.left -= 1;
            Generation::new(vec![path(self.rank); self.width]).ask()
        }

        fn tell(&mut self, outcomes: &[Outcome]) {
            assert_eq!(outcomes.len(), self.width, "its own outcomes");
        }
    }

    fn path(rank: usize) -> Structure {
        Structure::identity(Arc::new(Template::path(3).unwrap()), vec![rank; 2]).unwrap()
    }

    fn part(rank: usize, width: usize, left: usize) -> Box<dyn Strategy> {
        Box::new(Scripted { rank, width, left })
    }

    #[test]
    fn each_has_its_turn_and_the_last_goes_on_from_the_best() {
        let objective = Objective::Lambda(1.0).check().unwrap();
        let go_on: GoOn = Box::new(|best| {
            let rank = best.unwrap().0.ranks()[0];
            Some(part(10 * rank, 1, 1))
        });
        let mut formats = Formats::new(objective, vec![part(2, 3, 2), part(3, 1, 4)], go_on);
        let mut seen = Vec::new();
        while let Ask::Generation(generation) = formats.ask() {
            let rank = generation.structures[0].ranks()[0];
            seen.push(rank);
            // Rank 3 is the best.
            let loss = if rank == 3 { 0.1 } else { 1.0 };
            let told = Outcome { loss, error: Some(0.0), params: 1, source: Source::Evaluated };
            formats.tell(&vec![told; generation.structures.len()]);
        }
        assert_eq!(seen, [2, 3, 3, 3, 2, 3, 30]);
    }

    /// Says from the beginning that nothing is below a value.
    struct Proven(Scripted, f64);

    impl Strategy for Proven {
        fn name(&self) -> &str {
            "proven"
        }

        fn ask(&mut self) -> Ask {
            self.0.ask()
        }

        fn tell(&mut self, outcomes: &[Outcome]) {
            self.0.tell(outcomes);
        }

        fn lower_bound(&self) -> Option<f64> {
            Some(self.1)
        }
    }

    #[test]
    fn what_is_far_behind_an_answer_at_the_bound_is_given_up() {
        // The loss of the second format, and how often it is asked.
        for (loss, asked) in [(0.1, 5), (0.19, 5), (0.21, 1), (7.0, 1)] {
            for bound in [0.1, 0.05] {
                let objective = Objective::Lambda(1.0).check().unwrap();
                let first = Proven(Scripted { rank: 2, width: 1, left: 1 }, bound);
                let parts: Vec<Box<dyn Strategy>> = vec![Box::new(first), part(3, 1, 5)];
                let mut formats = Formats::new(objective, parts, Box::new(|_| None));
                let mut seen = 0;
                while let Ask::Generation(generation) = formats.ask() {
                    let second = generation.structures[0].ranks()[0] == 3;
                    seen += usize::from(second);
                    let loss = if second { loss } else { 0.1 };
                    let source = Source::Evaluated;
                    formats.tell(&[Outcome { loss, error: Some(0.0), params: 1, source }]);
                }
                // Without a proof all go on.
                assert_eq!(seen, if bound == 0.1 { asked } else { 5 }, "{loss} {bound}");
            }
        }
    }

    #[test]
    fn what_goes_on_is_asked_where_nothing_is_proven_or_always() {
        // The loss of the first, beside a bound of 0.1: at it, below it (so of another format), above it.
        for (loss, expected) in [(0.1, vec![2, 4]), (0.05, vec![2, 3, 4]), (0.2, vec![2, 3, 4])] {
            let objective = Objective::Lambda(1.0).check().unwrap();
            let first = Proven(Scripted { rank: 2, width: 1, left: 1 }, 0.1);
            let parts: Vec<Box<dyn Strategy>> = vec![Box::new(first)];
            let mut formats = Formats::new(objective, parts, Box::new(|_| Some(part(3, 1, 1))))
                .always(Box::new(|_| Some(part(4, 1, 1))));
            let mut seen = Vec::new();
            while let Ask::Generation(generation) = formats.ask() {
                let rank = generation.structures[0].ranks()[0];
                seen.push(rank);
                // What goes on begins far behind, and is not given up for it.
                let loss = if rank == 2 { loss } else { 9.0 };
                let source = Source::Evaluated;
                formats.tell(&[Outcome { loss, error: Some(0.0), params: 1, source }]);
            }
            assert_eq!(seen, expected, "{loss}");
        }
    }

    #[test]
    fn nothing_is_asked_of_none() {
        let objective = Objective::Lambda(1.0).check().unwrap();
        let mut formats = Formats::new(objective, Vec::new(), Box::new(|_| None));
        assert_eq!(formats.ask(), Ask::Done);
        formats.tell(&[]);
        assert_eq!(formats.lower_bound(), None);
    }
}
