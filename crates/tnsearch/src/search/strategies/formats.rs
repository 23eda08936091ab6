//! Several formats in one search: a strategy for each, in turn, and one more that goes on from the best of all.

use super::cp::Cp;
use super::trees::{Trees, TreesSettings};
use super::walk::{Walk, WalkSettings};
use super::{Ask, CheckedObjective, Outcome, Race, SettingError, Strategy};
use crate::graph::{Structure, Template};
use crate::problem::Score;
use crate::search::SearchError;
use crate::search::description::OptionKind::{Count, Whole};
use crate::search::description::{
    Bounds, Context, Description, Graphs, OptionDescription, Plan, option, settings_from,
};
use crate::search::strategy::{Found, WalkId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// Tensors with more entries are not walked over: a step takes seconds.
const MOST_ENTRIES: usize = 1 << 21;

/// Tensors of more modes are not walked over on all graphs.
const MOST_MODES: usize = 12;

/// Generations of walks in turn that may bring nothing, where there are other formats.
const PATIENCE: usize = 3;

/// The most terms of a CP, unless others are asked for.
const MOST_TERMS: usize = 65536;

/// A format whose best has this many times the loss of one that is proven best of all trees is given up.
const FAR: f64 = 2.0;

/// The settings of a search over formats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FormatsSettings {
    /// The largest rank of what is proven about templates; walks go further.
    pub max_rank: usize,
    /// Trees that may be proposed in all.
    pub trees: usize,
    /// Steps of one walk.
    pub steps: usize,
    /// Generations of walks in turn that may bring nothing.
    pub patience: usize,
    /// The most terms of a CP; 0: none is tried.
    #[serde(default = "most_terms")]
    pub terms: usize,
}

fn most_terms() -> usize {
    MOST_TERMS
}

impl Default for FormatsSettings {
    fn default() -> Self {
        let (trees, walk) = (TreesSettings::default(), WalkSettings::default());
        FormatsSettings {
            max_rank: 7,
            trees: trees.trees,
            steps: walk.steps,
            patience: PATIENCE,
            terms: MOST_TERMS,
        }
    }
}

const OPTIONS: [OptionDescription; 4] = [
    option("trees", "N", Count, "Trees that may be proposed in all"),
    option("steps", "N", Count, "Steps of one walk"),
    option("patience", "N", Count, "Generations of walks in turn that may bring nothing"),
    option("terms", "N", Whole, "The most terms of a CP; 0: none is tried"),
];

/// Several formats: all trees, CP, rings, then all graphs from the best.
pub(crate) const FORMATS: Description = Description {
    options: &OPTIONS,
    graphs: Graphs::Formats,
    bounds: Bounds::Useful,
    max_cost: Some(super::greedy::MAX_COST),
    finds_ranks: true,
    ..Description::new(
        "formats",
        "all trees, cp, rings, then all graphs from the best; the strategy where no template is named",
        |options, plan| {
            let settings = settings_from::<FormatsSettings>(options, plan.max_rank)?;
            super::settings::count("trees", settings.trees)?;
            super::settings::count("steps", settings.steps)?;
            super::settings::count("patience", settings.patience)?;
            Ok(Box::new(settings))
        },
    )
};

impl FormatsSettings {
    fn walk(&self, widest: usize) -> Result<super::CheckedWalk, SettingError> {
        let mut walk = WalkSettings::default();
        (walk.max_rank, walk.steps, walk.patience) = (widest, self.steps, self.patience);
        walk.check()
    }
}

impl Plan for FormatsSettings {
    fn settings(&self) -> Value {
        json!(self)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        let (order, objective) = (context.dims.len(), context.objective);
        let walk = self.walk(context.widest_rank)?;
        let walked = context.entries <= MOST_ENTRIES;
        let mut parts: Vec<Box<dyn Strategy>> = Vec::new();
        if let Some(bound) = context.bound {
            let mut settings = TreesSettings::default();
            (settings.max_rank, settings.trees) = (self.max_rank, self.trees);
            parts.push(Box::new(Trees::new(bound, objective, settings.check()?, context.stop)));
        }
        if order >= 3 && self.terms > 0 {
            parts.push(Box::new(Cp::new(context, self.terms)?.cheap()));
        }
        let ring = Arc::new(Template::ring(order.max(3))?);
        if walked && order >= 3 {
            let starts = context.starts.unwrap_or_default();
            parts.push(match Race::new(&ring, context.dims, objective, &walk, starts, seed) {
                Some(race) => Box::new(race),
                None => {
                    let starts = starts.iter().filter(|s| *s.template() == ring).cloned().collect();
                    Box::new(Walk::new(ring, objective, walk.clone(), starts, seed))
                }
            });
        }
        let any = Arc::new(Template::any(order)?);
        let free = walked && (3..=MOST_MODES).contains(&order);
        let go_on: GoOn = Box::new(move |best| {
            let (best, cores) = best?;
            let graph = best.canonical().graph;
            if let Some(start) = Structure::in_template(&any, &graph).filter(|_| free) {
                let walk = Walk::new(any, objective, walk, vec![start], seed);
                return Some(Box::new(walk.going_on(cores)));
            }
            Some(Box::new(Walk::polish(best, objective, walk.max_rank, seed).ok()?))
        });
        Ok(Box::new(Formats::new(objective, parts, go_on)))
    }
}

/// Makes the strategy that goes on from the best structure, and from the walk that found it, if one did; none where nothing
/// was fitted.
pub type GoOn =
    Box<dyn FnOnce(Option<(&Structure, Option<WalkId>)>) -> Option<Box<dyn Strategy>> + Send>;

/// Strategies that search different formats. The one that has proposed the fewest structures is asked next, so that
/// each has its share of whatever time there is; when all are done, the last goes on from the best of them.
pub struct Formats {
    objective: CheckedObjective,
    parts: Vec<Part>,
    go_on: Option<GoOn>,
    /// Whose structures are being fitted.
    turn: usize,
    /// The best of all.
    lead: Option<Score>,
    /// The best that walks can go on from.
    best: Option<(Score, Structure, Option<WalkId>)>,
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
        let parts = parts.into_iter().map(Part::new).collect();
        Formats { objective, parts, go_on: Some(go_on), turn: 0, lead: None, best: None }
    }

    /// Whether nothing can be better than the best: a bound that is proven is met.
    fn proven(&self) -> bool {
        let Some(best) = &self.lead else { return false };
        let bound = self.lower_bound().filter(|bound| bound.is_finite());
        bound.is_some_and(|bound| self.objective.lower_bound(bound).is_met_by(best))
    }

    /// Where the best meets a bound over all trees, formats that were tried and are far behind it are given up: they have
    /// little chance, and the answer is proven best of all others. Those that end by themselves do so soon.
    fn give_up_what_is_far(&mut self) {
        let Some(best) = self.lead.map(|best| best.loss).filter(|_| self.proven()) else {
            return;
        };
        for part in &mut self.parts {
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
        let go_on = self.go_on.take()?;
        if self.proven() {
            return None;
        }
        let best = self.best.as_ref().map(|(_, structure, walk)| (structure, *walk));
        let strategy = go_on(best)?;
        self.parts.push(Part::new(strategy));
        Some(self.parts.len() - 1)
    }
}

impl Strategy for Formats {
    /// The strategy at work.
    fn name(&self) -> &str {
        self.parts.get(self.turn).map_or("formats", |part| part.strategy.name())
    }

    fn ask(&mut self) -> Ask {
        while let Some(k) = self.next() {
            self.turn = k;
            let part = &mut self.parts[k];
            if let Some(best) = &self.lead {
                part.strategy.hear(best);
            }
            match part.strategy.ask() {
                Ask::Done => part.done = true,
                asked => {
                    part.asked = asked.structures().iter().map(|s| (s.clone(), None)).collect();
                    part.proposed += part.asked.len() as u64;
                    return asked;
                }
            }
        }
        Ask::Done
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let Some(part) = self.parts.get_mut(self.turn) else { return };
        let asked = std::mem::take(&mut part.asked).into_iter();
        for ((structure, walk), outcome) in asked.zip(outcomes) {
            let Some(error) = outcome.error else { continue };
            let score = Score { loss: outcome.loss, error, params: outcome.params };
            part.least = part.least.min(score.loss);
            if self.lead.is_none_or(|lead| self.objective.better(&score, &lead)) {
                self.lead = Some(score);
            }
            let walked = structure.template().copy_vertex().is_none();
            if walked
                && self.best.as_ref().is_none_or(|(best, ..)| self.objective.better(&score, best))
            {
                self.best = Some((score, structure, walk));
            }
        }
        part.strategy.tell(outcomes);
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
        self.parts.iter().find_map(|part| part.strategy.lower_bound())
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
    fn nothing_is_asked_of_none() {
        let objective = Objective::Lambda(1.0).check().unwrap();
        let mut formats = Formats::new(objective, Vec::new(), Box::new(|_| None));
        assert_eq!(formats.ask(), Ask::Done);
        formats.tell(&[]);
        assert_eq!(formats.lower_bound(), None);
    }
}
