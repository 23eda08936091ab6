//! Races of walks: many begin small, few go on.
//!
//! On a graph with cycles, what direct methods give is an answer in hand and no place to walk from: its ranks are large and
//! uneven, and a sweep costs their sixth power. So walks begin at rank 1 in several orders of the modes, with a low cap on
//! their ranks; the better ones go on with a higher cap and more steps, and the last of a race for as long as it gets
//! better (successive halving). Then the next race begins, in other orders. The cap is the rank of the uniform structure
//! with as many parameters as the answer in hand, and rises where the best of a race is held down by it.

use super::walk::CheckedWalk;
use super::{Ask, CheckedObjective, Generation, Outcome, Strategy};
use crate::graph::{Structure, Template};
use crate::problem::{Objective, Score};
use crate::rng::{self, Rng};
use crate::search::strategy::{Adapting, Found, WalkId};
use rand::seq::SliceRandom as _;
use std::sync::Arc;

/// How many walks each level of a race has; the last stands for all that follow.
const WALKS: [usize; 3] = [8, 4, 2];

/// The steps of their walks, in parts of those that walks have.
const STEPS: [f64; 3] = [0.0, 0.25, 0.5];

/// The rank that walks begin with, relative to the uniform rank of the answer in hand.
const SMALL: f64 = 0.4;

/// The same where the error is not given, and more parameters may pay.
const SMALL_WHERE_FREE: f64 = 1.2;

/// The largest rank of walks without a race, relative to the uniform rank, and the least.
const LOW: f64 = 1.2;
const LEAST_CAP: usize = 14;

/// How much the cap rises from level to level.
const RAISE: f64 = 1.25;

/// The least uniform rank that races are for: below it, walks are quick wherever they begin.
const LEAST: usize = 8;

/// Up to this rank walks have all their steps.
const QUICK: f64 = 16.0;

/// The first of a race goes on while it gets better by this part.
const PROGRESS: f64 = 2e-3;

/// A race ends where its first promises so many times what the first of another race did on that level.
const FAR: f64 = 1.05;

/// The rank of the uniform structure of a template with about so many parameters: `sum_v d_v R^deg(v) = params`.
fn uniform_rank(template: &Template, dims: &[usize], params: u128) -> usize {
    // A vertex has a mode: which one does not matter much, so all have the mean dimension.
    let mean = dims.iter().sum::<usize>() as f64 / dims.len().max(1) as f64;
    let degrees: Vec<i32> =
        (0..template.vertices()).map(|v| template.incident(v).count() as i32).collect();
    let of = |rank: usize| degrees.iter().map(|&d| mean * (rank as f64).powi(d)).sum::<f64>();
    (1..).take_while(|&rank| of(rank) <= params as f64).last().unwrap_or(1)
}

/// The strategy.
pub struct Race {
    template: Arc<Template>,
    objective: CheckedObjective,
    settings: CheckedWalk,
    /// The uniform rank of the answer in hand.
    uniform: usize,
    /// The largest rank as it is now.
    cap: usize,
    /// Whether it was raised for what is being fitted.
    raised: bool,
    /// Orders in which walks of the first race begin.
    orders: Vec<Vec<usize>>,
    level: usize,
    /// Those still in the race, the best first.
    field: Vec<Runner>,
    /// The best of all races.
    best: Option<Runner>,
    /// The best that the first of each level promised, over all races.
    marks: [f64; WALKS.len()],
    /// Whether this race has brought a new best.
    won: bool,
    /// Races in turn that have not.
    idle: usize,
    found: Vec<Option<Found>>,
    rng: Rng,
}

#[derive(Debug, Clone)]
struct Runner {
    score: Score,
    structure: Structure,
    walk: WalkId,
}

impl Race {
    /// Races over a template with cycles, with an answer in hand, whose order and those of the others are tried too. None
    /// where there is nothing to race for: no answer in hand, no cycle, or ranks so small that walks are quick.
    pub fn new(
        template: &Arc<Template>,
        dims: &[usize],
        objective: CheckedObjective,
        settings: &CheckedWalk,
        in_hand: &[Structure],
        seed: u64,
    ) -> Option<Self> {
        let cyclic = template.edges().len() >= template.vertices();
        if !cyclic || template.vertices() != template.order() {
            return None;
        }
        let own: Vec<&Structure> = in_hand.iter().filter(|s| s.template() == template).collect();
        let uniform = uniform_rank(template, dims, own.first()?.params(dims));
        if uniform.min(settings.max_rank) < LEAST {
            return None;
        }
        let mut orders = vec![template.external_vertices()];
        for structure in own {
            if orders.iter().all(|known| known != structure.permutation()) {
                orders.push(structure.permutation().to_vec());
            }
        }
        orders.truncate(WALKS[0] / 2);
        let mut race = Race {
            template: template.clone(),
            objective,
            settings: settings.clone(),
            uniform,
            cap: 0,
            raised: false,
            orders,
            level: 0,
            field: Vec::new(),
            best: None,
            marks: [f64::INFINITY; WALKS.len()],
            won: false,
            idle: 0,
            found: Vec::new(),
            rng: rng::stream(seed, b"race"),
        };
        race.begin();
        Some(race)
    }

    /// The rank of the uniform structure that is as large as the answer in hand.
    pub fn uniform(&self) -> usize {
        self.uniform
    }

    /// A largest rank for walks that begin with nothing: somewhat above the uniform one.
    pub fn low_cap(&self) -> usize {
        let low = (LOW * self.uniform as f64).ceil() as usize;
        low.max(LEAST_CAP).min(self.settings.max_rank)
    }

    /// A race begins.
    fn begin(&mut self) {
        (self.level, self.won, self.raised) = (0, false, false);
        let small = if self.objective.max_error().is_some() { SMALL } else { SMALL_WHERE_FREE };
        self.cap = ((self.uniform as f64 * small).ceil() as usize).min(self.settings.max_rank);
        self.field.clear();
    }

    /// The largest rank rises; whether it could.
    fn raise(&mut self) -> bool {
        let before = self.cap;
        self.cap = ((self.cap as f64 * RAISE).ceil() as usize).min(self.settings.max_rank);
        self.cap > before
    }

    /// How good a walk is that may not be there yet: the parameters it would have at the error asked for, if its error
    /// fell as one over them.
    fn promise(&self, score: &Score) -> f64 {
        match self.objective.get() {
            Objective::Lambda(_) => score.loss,
            Objective::MaxError(eps) => score.params as f64 * (score.error / eps).max(1.0),
            Objective::MaxParams(most) => {
                score.error * (score.params as f64 / most as f64).max(1.0)
            }
        }
    }

    /// Structures of rank 1: in the orders that are left, then in random ones.
    fn fresh(&mut self) -> Vec<(Structure, Option<WalkId>)> {
        let mut starts = Vec::new();
        for _ in 0..WALKS[0] {
            let order = self.orders.pop().unwrap_or_else(|| {
                let mut random = self.template.external_vertices();
                random.shuffle(&mut self.rng);
                random
            });
            let ranks = vec![1; self.template.edges().len()];
            starts.extend(Structure::new(self.template.clone(), order, ranks).ok());
        }
        starts.into_iter().map(|s| (s, None)).collect()
    }

    /// What the next generation of the race is.
    fn next(&mut self) -> Ask {
        let level = self.level.min(WALKS.len() - 1);
        // Until the error is reached, growth is what brings it nearer.
        let missed = self.field.first().is_none_or(|r| self.is_missed(&r.score));
        let steps = match missed {
            true => 0,
            // A sweep over larger ranks takes longer, by their sixth power where all is matrix products.
            false => {
                let slower = (QUICK / self.cap as f64).powi(3).min(1.0);
                (self.settings.steps as f64 * STEPS[level] * slower).ceil() as usize
            }
        };
        let starts = match self.level {
            0 => self.fresh(),
            _ => {
                self.field.truncate(WALKS[level]);
                let on = self.field.iter().map(|r| (r.structure.clone(), Some(r.walk)));
                on.cycle().take(WALKS[level]).collect()
            }
        };
        let mut adapting = Adapting::new(self.cap, steps);
        adapting.gently = true;
        Generation::walks(starts, adapting).ask()
    }

    /// The race is over: the next one begins.
    fn over(&mut self) {
        self.idle = if self.won { 0 } else { self.idle + 1 };
        self.begin();
    }

    /// Whether there is an error to be reached, and it is not.
    fn is_missed(&self, score: &Score) -> bool {
        self.objective.max_error().is_some_and(|eps| score.error > eps)
    }

    /// Whether more may come of larger ranks: some rank is as large as it may be, or the error is missed.
    fn is_held_down(&self, runner: &Runner) -> bool {
        self.is_missed(&runner.score) || runner.structure.ranks().iter().any(|&r| r >= self.cap)
    }
}

impl Strategy for Race {
    fn name(&self) -> &str {
        "walk"
    }

    fn ask(&mut self) -> Ask {
        if self.idle >= self.settings.patience {
            return Ask::Done;
        }
        self.next()
    }

    fn tell_found(&mut self, found: &[Option<Found>]) {
        self.found = found.to_vec();
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        // What an error that is missed promises is a guess: nothing stands by it.
        let before = self.field.first().filter(|r| !self.is_missed(&r.score));
        let before = before.map(|r| self.promise(&r.score));
        let mut field = Vec::new();
        for (found, outcome) in std::mem::take(&mut self.found).into_iter().zip(outcomes) {
            let (Some(found), Some(error)) = (found, outcome.error) else { continue };
            let score = Score { loss: outcome.loss, error, params: outcome.params };
            field.push(Runner { score, structure: found.structure, walk: found.walk });
        }
        field.sort_by(|a, b| self.promise(&a.score).total_cmp(&self.promise(&b.score)));
        for runner in &field {
            let better = |best: &Runner| self.objective.better(&runner.score, &best.score);
            if self.best.as_ref().is_none_or(better) {
                self.best = Some(runner.clone());
                self.won = true;
            }
        }
        self.field = field;
        let Some(first) = self.field.first().cloned() else { return self.over() };
        let now = self.promise(&first.score);
        let far = self.marks.get_mut(self.level).is_some_and(|mark| {
            *mark = mark.min(now);
            now > FAR * *mark
        });
        let last = self.level + 1 >= WALKS.len();
        let missed = self.is_missed(&first.score);
        let stands = before.is_some_and(|before| now > before * (1.0 - PROGRESS));
        let held = self.is_held_down(&first);
        // What stands at a cap goes on at a higher one, once.
        let goes_on = !last || !stands || (held && (missed || !self.raised));
        if far || !goes_on {
            return self.over();
        }
        self.level += 1;
        self.raised = (!last || missed || (stands && held)) && self.raise();
        // With the largest ranks there are, an error is reached or not.
        if missed && last && !self.raised {
            self.over();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::WalkSettings;
    use crate::search::strategy::Source;

    const DIMS: [usize; 6] = [4; 6];

    fn ring(rank: usize) -> Structure {
        let ring = Arc::new(Template::ring(6).unwrap());
        Structure::identity(ring, vec![rank; 6]).unwrap()
    }

    fn race(objective: Objective, in_hand: &[Structure]) -> Option<Race> {
        let settings = WalkSettings { max_rank: 30, patience: 2, ..WalkSettings::default() };
        let ring = Arc::new(Template::ring(6).unwrap());
        let settings = settings.check().unwrap();
        Race::new(&ring, &DIMS, objective.check().unwrap(), &settings, in_hand, 1)
    }

    /// Tells a race that its walks ended with these ranks and the error that goes with them; the generation.
    fn round(
        race: &mut Race,
        generation: u64,
        end: impl Fn(usize) -> (usize, f64),
    ) -> Option<Generation> {
        let Ask::Generation(asked) = race.ask() else { return None };
        let ends = (0..asked.structures.len()).map(|index| {
            let (rank, error) = end(index);
            let walk = WalkId { generation, index };
            let ranks = vec![rank; 6];
            let order = asked.structures[index].permutation().to_vec();
            let structure = Structure::new(race.template.clone(), order, ranks).unwrap();
            let params = structure.params(&DIMS);
            let loss = race.objective.loss(params, params as f64 / 4096.0, error);
            let outcome = Outcome { loss, error: Some(error), params, source: Source::Evaluated };
            (Some(Found { structure, walk }), outcome)
        });
        let (found, outcomes): (Vec<_>, Vec<_>) = ends.unzip();
        race.tell_found(&found);
        race.tell(&outcomes);
        Some(asked)
    }

    #[test]
    fn the_uniform_rank_has_no_more_parameters() {
        let ring = Template::ring(6).unwrap();
        for rank in 1..20 {
            let params = 6 * 4 * (rank * rank) as u128;
            assert_eq!(uniform_rank(&ring, &DIMS, params), rank);
            assert_eq!(uniform_rank(&ring, &DIMS, params + 1), rank);
            assert_eq!(uniform_rank(&ring, &DIMS, params - 1), (rank - 1).max(1));
        }
    }

    #[test]
    fn there_is_no_race_where_walks_are_quick() {
        let objective = Objective::MaxError(0.01);
        assert!(race(objective, &[ring(LEAST)]).is_some());
        assert!(race(objective, &[ring(LEAST - 1)]).is_none());
        assert!(race(objective, &[]).is_none(), "nothing is in hand");
        let path = Arc::new(Template::path(6).unwrap());
        let train = Structure::identity(path.clone(), vec![20; 5]).unwrap();
        let settings = WalkSettings { max_rank: 30, ..WalkSettings::default() }.check().unwrap();
        let objective = objective.check().unwrap();
        assert!(Race::new(&path, &DIMS, objective, &settings, &[train], 1).is_none(), "no cycle");
    }

    #[test]
    fn many_begin_and_the_best_go_on_until_the_error_is_reached() {
        let mut race = race(Objective::MaxError(0.01), &[ring(20)]).unwrap();
        let first = round(&mut race, 1, |k| (8, 0.1 + k as f64 / 100.0)).unwrap();
        assert_eq!(first.structures.len(), 8);
        assert!(first.structures.iter().all(|s| s.ranks().iter().all(|&r| r == 1)));
        let own = first.structures.iter().any(|s| s.permutation() == [0, 1, 2, 3, 4, 5]);
        assert!(own, "the order of the tensor is one of them");
        let cap = |g: &Generation| g.adapt.unwrap().max_rank;
        let second = round(&mut race, 2, |k| (10, 0.05 + k as f64 / 100.0)).unwrap();
        let from = |g: &Generation| -> Vec<usize> {
            g.from.iter().flatten().map(|walk| walk.index).collect()
        };
        assert_eq!(from(&second), [0, 1, 2, 3]);
        assert!(cap(&second) > cap(&first));
        // Ranks grow as long as the error is missed.
        let mut before = second;
        for (generation, rank) in (3..).zip([12, 15]) {
            let next = round(&mut race, generation, |k| (rank, 0.02 + k as f64 / 100.0)).unwrap();
            assert_eq!(from(&next), [0, 1]);
            assert!(cap(&next) > cap(&before));
            before = next;
        }
        // Reached: it goes on as long as it gets smaller, then the next race begins.
        round(&mut race, 5, |_| (18, 0.009)).unwrap();
        let on = round(&mut race, 6, |_| (17, 0.009)).unwrap();
        assert_eq!(cap(&on), race.cap);
        let last = round(&mut race, 7, |_| (17, 0.009)).unwrap();
        assert_eq!(from(&last).len(), 2);
        let again = round(&mut race, 8, |_| (8, 0.1)).unwrap();
        assert_eq!((again.structures.len(), cap(&again)), (8, cap(&first)));
        assert_ne!(again.structures, first.structures);
    }

    #[test]
    fn a_race_that_is_far_behind_is_given_up_and_idle_ones_end_it() {
        let mut race = race(Objective::Lambda(1.0), &[ring(10)]).unwrap();
        let mut generation = 0;
        let mut next = |race: &mut Race, error: f64| {
            generation += 1;
            round(race, generation, |_| (9, error)).map(|g| g.structures.len())
        };
        let lens: Vec<_> = (0..4).map(|_| next(&mut race, 0.1).unwrap()).collect();
        assert_eq!(lens, [8, 4, 2, 8], "what stands and is not held down is over");
        // On the first level it is far behind, twice.
        assert_eq!(next(&mut race, 0.5), Some(4));
        let lens: Vec<_> = std::iter::from_fn(|| next(&mut race, 0.9)).collect();
        assert_eq!(lens.first(), Some(&8));
        assert!(lens.len() <= 4, "{lens:?}");
        assert_eq!(race.ask(), Ask::Done);
    }
}
