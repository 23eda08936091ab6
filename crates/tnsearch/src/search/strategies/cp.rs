//! The number of terms of a CP: all that there is to choose. Whatever is cut, R terms have rank R at most, so R is at least
//! the rank of every unfolding at the error asked for.

use super::{Ask, CheckedObjective, Effort, Generation, Outcome, Strategy};
use crate::bound::CutBound;
use crate::decompose::Fewest;
use crate::fit::sweep_cost;
use crate::graph::{ModeGraph, Structure, Template, most_terms};
use crate::problem::Score;
use crate::search::SearchError;
use crate::search::description::Context;
use crate::tensor::size;
use std::sync::Arc;

/// Multiply-adds that all sweeps of a fit may take where a CP is one of several formats: a second or two.
const WORK: f64 = 4e9;
/// Sweeps of a quick fit, and of one with all its starts.
const QUICK: f64 = 60.0;
const FULL: f64 = 1000.0;
/// Where the most terms that are worth it have this many times the error asked for, no fewer are fitted.
const FAR: f64 = 100.0;
/// The most terms that are looked at.
const MOST: usize = 1 << 16;

/// The strategy: what `auto` is on template `cp`, and a part of a search over formats.
pub struct Cp {
    template: Arc<Template>,
    dims: Vec<usize>,
    /// Those of the tensor that is fitted.
    entries: f64,
    objective: CheckedObjective,
    bound: Option<CutBound>,
    /// The most terms.
    most: usize,
    /// Whether it is one of several formats, and is not to take long.
    cheap: bool,
    way: Way,
    /// What is being fitted.
    asked: Vec<usize>,
    /// What was fitted: terms and score.
    known: Vec<(usize, Score)>,
    /// The best that others have.
    rival: Option<Score>,
    lower_bound: Option<f64>,
}

/// What is to be found.
enum Way {
    /// The fewest terms that reach an error.
    Fewest(Fewest),
    /// The terms with the least loss, which are so many give or take this, or fewer.
    Least {
        step: usize,
    },
    Done,
}

impl Cp {
    /// A search for a context, with up to so many terms.
    pub fn new(context: &Context<'_>, max_rank: usize) -> Result<Self, SearchError> {
        let dims = context.dims.to_vec();
        let sum: usize = dims.iter().sum();
        let whole = usize::try_from(size(&dims) / sum as u128).unwrap_or(usize::MAX);
        let most = most_terms(&dims).min(whole.max(1)).min(max_rank).clamp(1, MOST);
        let mut cp = Cp {
            template: Arc::new(Template::cp(dims.len())?),
            dims,
            entries: context.entries as f64,
            objective: context.objective,
            bound: context.bound.cloned(),
            most,
            cheap: false,
            way: Way::Done,
            asked: Vec::new(),
            known: Vec::new(),
            rival: None,
            lower_bound: None,
        };
        cp.begin();
        Ok(cp)
    }

    /// The same as one of several formats: no more terms than can be fitted soon, and nothing is proven.
    pub fn cheap(mut self) -> Self {
        let dear = |terms: usize| QUICK * self.sweep(terms) > WORK;
        let mut most = self.most;
        while most > 1 && dear(most) {
            most = most * 3 / 4;
        }
        let none = dear(most);
        self.most = most;
        if none {
            self.way = Way::Done;
        }
        (self.cheap, self.lower_bound) = (true, None);
        self
    }

    fn sweep(&self, terms: usize) -> f64 {
        // The entries of the tensor at hand, as one of as many modes.
        let side = self.entries.powf(1.0 / self.dims.len() as f64).ceil() as usize;
        sweep_cost(&ModeGraph::cp(self.dims.len(), terms), &vec![side; self.dims.len()])
    }

    /// Where to begin, and what is proven.
    fn begin(&mut self) {
        let (objective, most) = (self.objective, self.most);
        if let Some(eps) = objective.max_error() {
            let reaches = |terms: usize| self.error(terms, eps) <= eps;
            let low = least(most, &reaches);
            self.lower_bound = self.bound.as_ref().map(|_| self.params(low.unwrap_or(most + 1)));
            // Where not even the most do, more are needed than are looked at.
            let Some(low) = low else { return };
            self.way = Way::Fewest(Fewest::new(low, most));
            return;
        }
        if let Some(budget) = objective.max_params() {
            let terms = usize::try_from(budget / self.params(1) as u128).unwrap_or(usize::MAX);
            self.most = terms.min(most);
            if self.most > 0 {
                let bound = self.bound.as_ref().map(|_| self.error(terms, f64::INFINITY));
                (self.lower_bound, self.asked) = (bound, vec![self.most]);
                self.way = Way::Least { step: 0 };
            }
            return;
        }
        // Errors fall and parameters grow: the value can rise and fall, but is no less than that of parameters alone.
        let (mut first, mut value) = (1, f64::INFINITY);
        for terms in 1..=most {
            let phi = self.params(terms) / size(&self.dims) as f64;
            if phi >= value {
                break;
            }
            let now = self.value(terms);
            if now < value {
                (first, value) = (terms, now);
            }
        }
        // More terms than are looked at have at least their own parameters.
        let beyond = self.params(most + 1) / size(&self.dims) as f64;
        self.lower_bound = self.bound.as_ref().map(|_| value.min(beyond));
        self.asked = vec![first];
        self.way = Way::Least { step: (first / 2).max(1) };
    }

    fn params(&self, terms: usize) -> f64 {
        terms as f64 * self.dims.iter().map(|&d| d as f64).sum::<f64>()
    }

    /// What no fit of so many terms can go below.
    fn error(&self, terms: usize, enough: f64) -> f64 {
        let graph = ModeGraph::cp(self.dims.len(), terms);
        self.bound.as_ref().map_or(0.0, |bound| bound.rse(&graph, enough.next_up()))
    }

    /// The loss that it cannot go below.
    fn value(&self, terms: usize) -> f64 {
        let (params, entries) = (self.params(terms), size(&self.dims) as f64);
        self.objective.loss(params as u128, params / entries, self.error(terms, f64::INFINITY))
    }

    /// Whether so many terms can be better than the best there is.
    fn can_win(&self, terms: usize) -> bool {
        let own = self.known.iter().map(|(_, score)| score);
        let Some(best) = own.chain(&self.rival).min_by(|a, b| self.objective.compare(a, b)) else {
            return true;
        };
        match self.objective.max_error() {
            Some(eps) => best.error > eps || self.params(terms) < best.params as f64,
            None => self.value(terms) < best.loss,
        }
    }

    /// The terms to be fitted next.
    fn next(&mut self) -> Vec<usize> {
        match &self.way {
            Way::Done => Vec::new(),
            Way::Fewest(fewest) => {
                // What misses the error itself says nothing about how many are worth it.
                let eps = self.objective.max_error().unwrap_or(0.0);
                let worth = self
                    .rival
                    .filter(|rival| rival.error <= eps)
                    .map(|_| (1..=self.most).rev().find(|&terms| self.can_win(terms)).unwrap_or(0));
                let fits = |&terms: &usize| terms <= self.most && self.can_win(terms);
                fewest.next(worth).filter(fits).into_iter().collect()
            }
            Way::Least { .. } if !self.asked.is_empty() => {
                let first = std::mem::take(&mut self.asked);
                first.into_iter().filter(|&terms| self.can_win(terms)).collect()
            }
            &Way::Least { step } => {
                let best = self.known.iter().min_by(|a, b| self.objective.compare(&a.1, &b.1));
                let Some(&(at, _)) = best else { return Vec::new() };
                let mut step = step;
                while step > 0 {
                    let near = [at.saturating_sub(step), at + step];
                    let new = |t: &usize| {
                        (1..=self.most).contains(t) && self.known.iter().all(|k| k.0 != *t)
                    };
                    let near: Vec<usize> =
                        near.into_iter().filter(new).filter(|&t| self.can_win(t)).collect();
                    if !near.is_empty() {
                        self.way = Way::Least { step };
                        return near;
                    }
                    step /= 2;
                }
                Vec::new()
            }
        }
    }
}

/// The fewest terms up to some that are enough, where more always are; none where not even those are.
fn least(most: usize, enough: &dyn Fn(usize) -> bool) -> Option<usize> {
    if !enough(most) {
        return None;
    }
    let (mut few, mut many) = (0, most);
    while many - few > 1 {
        let middle = few.midpoint(many);
        *(if enough(middle) { &mut many } else { &mut few }) = middle;
    }
    Some(many)
}

impl Strategy for Cp {
    fn name(&self) -> &str {
        "cp"
    }

    fn ask(&mut self) -> Ask {
        let terms = self.next();
        let structure = |&terms: &usize| {
            Structure::identity(self.template.clone(), vec![terms; self.dims.len()]).ok()
        };
        let structures: Vec<Structure> = terms.iter().filter_map(structure).collect();
        let long = terms.iter().any(|&t| FULL * self.sweep(t) > WORK);
        let effort = if self.cheap && long { Effort::Quick } else { Effort::Full };
        self.asked = terms;
        Generation::new(structures).effort(effort).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let asked = std::mem::take(&mut self.asked);
        let mut better = false;
        for (terms, outcome) in asked.into_iter().zip(outcomes) {
            let eps = self.objective.max_error();
            if let Way::Fewest(fewest) = &mut self.way {
                let (error, eps) = (outcome.error.unwrap_or(f64::INFINITY), eps.unwrap_or(0.0));
                let last = fewest.tell(terms, error <= eps);
                // Too many to fit; or the most that are worth it missed it by far: fewer do, too.
                if outcome.error.is_none() || last && error > FAR * eps {
                    self.way = Way::Done;
                }
            }
            let Some(error) = outcome.error else { continue };
            let score = Score { loss: outcome.loss, error, params: outcome.params };
            better |= self.known.iter().all(|(_, known)| self.objective.better(&score, known));
            self.known.push((terms, score));
        }
        if let Way::Least { step } = &mut self.way
            && !better
        {
            *step /= 2;
        }
    }

    fn hear(&mut self, best: &Score) {
        self.rival = Some(*best);
    }

    fn ends_itself(&self) -> bool {
        matches!(self.way, Way::Fewest(_))
    }

    fn lower_bound(&self) -> Option<f64> {
        self.lower_bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{Spectra, SpectraSettings};
    use crate::problem::{Objective, Stop, Target};
    use crate::search::Source;
    use crate::tensor::Tensor;

    /// The strategy for a sum of two products plus a little, by an objective.
    fn strategy(objective: Objective, with: impl FnOnce(Cp) -> Cp) -> Cp {
        let entry = |n: usize| {
            let (i, j, k) = ((n / 16) as f64, (n / 4 % 4) as f64, (n % 4) as f64);
            (i + 1.0) * (j + 2.0) * (k + 1.0) + (0.7 * i).sin() * (0.9 * j).cos() * k
        };
        let x =
            Target::new(Tensor::new(vec![4; 3], (0..64).map(entry).collect()).unwrap()).unwrap();
        let bound = CutBound::new(Spectra::new(&x, SpectraSettings::default()));
        let template = Arc::new(Template::cp(3).unwrap());
        let stop = Stop::new();
        let context = Context {
            template: &template,
            dims: x.dims(),
            objective: objective.check().unwrap(),
            bound: Some(&bound),
            starts: None,
            widest_rank: 16,
            entries: 64,
            stop: &stop,
            relaxation: &|_| unreachable!("nothing is relaxed"),
        };
        with(Cp::new(&context, 16).unwrap())
    }

    /// The terms asked for where a fit has this error.
    fn asked(mut cp: Cp, error: impl Fn(usize) -> f64) -> Vec<Vec<usize>> {
        let mut seen = Vec::new();
        while let Ask::Generation(generation) = cp.ask() {
            let terms: Vec<usize> = generation.structures.iter().map(|s| s.ranks()[0]).collect();
            let outcome = |&terms: &usize| {
                let params = 12 * terms as u128;
                let (error, phi) = (error(terms), params as f64 / 64.0);
                let loss = cp.objective.loss(params, phi, error);
                Outcome { loss, error: Some(error), params, source: Source::Evaluated }
            };
            let outcomes: Vec<Outcome> = terms.iter().map(outcome).collect();
            cp.tell(&outcomes);
            seen.push(terms);
            assert!(seen.len() < 50, "it ends");
        }
        seen
    }

    #[test]
    fn the_fewest_terms_begin_at_what_cuts_need() {
        let eps = Objective::MaxError(1e-12);
        let cp = strategy(eps, |cp| cp);
        assert_eq!(cp.lower_bound(), Some(24.0));
        assert_eq!(asked(cp, |_| 0.0), [[2]]);
        // Reached with five terms only.
        let late = asked(strategy(eps, |cp| cp), |terms| if terms < 5 { 0.1 } else { 0.0 });
        assert_eq!(late, [[2], [3], [4], [5]]);
        let never = asked(strategy(eps, |cp| cp), |_| 0.1);
        assert_eq!(never.last().unwrap(), &[5], "no more than the tensor has entries");
    }

    #[test]
    fn beside_others_it_ends_where_it_cannot_win() {
        let eps = Objective::MaxError(1e-12);
        let rival = |params| {
            move |mut cp: Cp| {
                cp.hear(&Score { loss: 0.1, error: 0.0, params });
                cp.cheap()
            }
        };
        assert!(asked(strategy(eps, rival(24)), |_| 0.0).is_empty());
        assert_eq!(asked(strategy(eps, rival(25)), |_| 0.0), [[2]]);
        // The most that could win, and no others where that fails.
        assert_eq!(asked(strategy(eps, rival(55)), |_| 0.1), [[2], [4]]);
        let third = asked(strategy(eps, rival(55)), |t| if t < 3 { 0.1 } else { 0.0 });
        assert_eq!(third, [[2], [4], [3]]);
        // Fewer may do where it fails by little.
        let near = asked(strategy(eps, rival(55)), |t| if t == 3 { 0.0 } else { 2e-12 });
        assert_eq!(near, [[2], [4], [3]]);
        // What others have missed is no measure.
        let missed = |mut cp: Cp| {
            cp.hear(&Score { loss: 9.0, error: 0.1, params: 10 });
            cp.cheap()
        };
        let late = asked(strategy(eps, missed), |t| if t < 4 { 0.1 } else { 0.0 });
        assert_eq!(late, [[2], [3], [4]]);
        assert_eq!(
            strategy(eps, rival(25)).lower_bound(),
            None,
            "it is about one format of several"
        );
    }

    #[test]
    fn a_budget_is_spent_and_a_loss_is_followed() {
        let budget = strategy(Objective::MaxParams(40), |cp| cp);
        assert!(budget.lower_bound().unwrap() <= 1e-9);
        assert_eq!(asked(budget, |_| 0.1), [[3]]);
        assert!(asked(strategy(Objective::MaxParams(11), |cp| cp), |_| 0.1).is_empty());
        let error = |terms: usize| 0.5f64.powi(terms as i32);
        let seen = asked(strategy(Objective::Lambda(10.0), |cp| cp), error);
        let loss = |terms: usize| 12.0 * terms as f64 / 64.0 + 10.0 * error(terms);
        let best = (1..=5).min_by(|&a, &b| loss(a).total_cmp(&loss(b))).unwrap();
        assert!(seen.iter().flatten().any(|&terms| terms == best), "{seen:?} {best}");
    }
}
