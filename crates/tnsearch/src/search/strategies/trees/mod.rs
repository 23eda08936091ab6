//! All trees: topology, placement and ranks at once.
//!
//! The spectra of the tensor's cuts say of every tree what its SVDs lose at most, and what no fit of it can go below
//! ([`crate::bound::Pricing`], [`crate::bound::TreeBound`]). So the search
//!
//! 1. begins with the smallest tree whose SVDs are sure to do, and the smallest that no cut rules out: where a fit confirms
//!    the second, it is proven best;
//! 2. looks between the two, along trees whose sum of tails is some times the error (a fit does better than
//!    its SVDs): by bisection;
//! 3. improves the best by small changes of its ranks, and by other trees of the same promise ([`polish`]);
//! 4. tries what is left in the order of the parameters, from the bound upwards, as far as it is promising.

mod polish;

use self::polish::{FittedTree, Polish};
use super::{
    Ask, CheckedObjective, Effort, Formats, Generation, GoOn, Outcome, SettingError, Strategy, Walk,
};
use crate::bound::{CutBound, ModeTree, Priced, Pricing, TreeBound};
use crate::graph::Structure;
use crate::problem::{Objective, Score, Stop};
use crate::search::SearchError;
use crate::search::description::OptionKind::Count;
use crate::search::description::{
    Bounds, Context, Description, Graphs, OptionDescription, Plan, option, settings_from,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::ops::Deref;

/// Trees that are looked at between the sure one and the bound.
const CURVE: usize = 12;
/// The sum of tails goes up to so many times the error.
const FURTHEST: f64 = 12.0;
/// Trees at the bound that are tried at first (several may have as few parameters).
const TIES: usize = 4;
/// Fits in one ask.
const AT_ONCE: usize = 4;
/// Trees in order from the bound upwards that are looked at.
const IN_ORDER: usize = 400;
/// Fits with full effort of trees that came near.
const RETRIES: usize = 8;
/// How near: times the error.
const NEAR: f64 = 1.1;

/// The settings of a search over all trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TreesSettings {
    /// Not used: ranks are as large as they need be.
    pub max_rank: usize,
    /// Trees that may be proposed in all.
    pub trees: usize,
}

impl Default for TreesSettings {
    fn default() -> Self {
        TreesSettings { max_rank: 7, trees: 400 }
    }
}

impl TreesSettings {
    /// Checks every setting.
    pub fn check(self) -> Result<CheckedTrees, SettingError> {
        super::settings::count("trees", self.trees)?;
        Ok(CheckedTrees(self))
    }
}

/// Settings that were checked; reads like [`TreesSettings`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CheckedTrees(TreesSettings);

impl Deref for CheckedTrees {
    type Target = TreesSettings;

    fn deref(&self) -> &TreesSettings {
        &self.0
    }
}

/// All trees at once.
pub(crate) const TREES: Description = Description {
    options: &OPTIONS,
    graphs: Graphs::Trees,
    bounds: Bounds::Needed,
    finds_ranks: true,
    ..Description::new(
        "trees",
        "all trees at once; the strategy of template any-tree",
        |options, plan| {
            Ok(Box::new(settings_from::<TreesSettings>(options, plan.max_rank)?.check()?))
        },
    )
};

const OPTIONS: [OptionDescription; 1] =
    [option("trees", "N", Count, "Trees that may be proposed in all")];

impl Plan for CheckedTrees {
    fn settings(&self) -> Value {
        json!(self.0)
    }

    fn strategy(&self, context: &Context<'_>, seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        let bound = context.bound.ok_or(SearchError::NoBounds)?;
        let (objective, widest) = (context.objective, context.widest_rank);
        let trees = Trees::new(bound, objective, self.clone(), context.stop);
        let go_on: GoOn = Box::new(move |best| {
            Some(Box::new(Walk::polish(best?.0, objective, widest, seed).ok()?))
        });
        Ok(Box::new(Formats::new(objective, vec![Box::new(trees)], go_on)))
    }
}

/// A tree that was or is to be fitted.
#[derive(Debug, Clone)]
struct Candidate {
    tree: ModeTree,
    /// The sum of its tails; infinite where it is not known.
    tails: f64,
}

/// Where the search stands.
enum Stage {
    /// Nothing is known.
    Begin,
    /// Between the sure tree and the bound: the trees by rising sum of tails, the last known to do, the first
    /// known not to.
    Between {
        trees: Vec<Candidate>,
        good: usize,
        bad: usize,
    },
    /// Small changes of the best.
    Polish(Polish),
    /// From the bound upwards.
    InOrder {
        trees: VecDeque<Candidate>,
    },
    /// Those that came near, with full effort.
    Again {
        trees: VecDeque<Candidate>,
    },
    Done,
}

/// The strategy.
pub struct Trees {
    bound: CutBound,
    objective: CheckedObjective,
    settings: CheckedTrees,
    stop: Stop,
    stage: Stage,
    asked: Vec<Candidate>,
    effort: Effort,
    seen: HashSet<ModeTree>,
    proposed: usize,
    proven: Option<f64>,
    /// The best answer so far.
    best: Option<FittedTree>,
    /// What did not do, with its error.
    missed: Vec<(f64, Candidate)>,
    /// The least error of a fit in units of its tree's sum of tails.
    ratio: f64,
}

impl Trees {
    /// The strategy for a tensor of which these are the cuts.
    pub fn new(
        bound: &CutBound,
        objective: CheckedObjective,
        settings: CheckedTrees,
        stop: &Stop,
    ) -> Self {
        Trees {
            bound: bound.clone(),
            objective,
            settings,
            stop: stop.clone(),
            stage: Stage::Begin,
            asked: Vec::new(),
            effort: Effort::Quick,
            seen: HashSet::new(),
            proposed: 0,
            proven: None,
            best: None,
            missed: Vec::new(),
            ratio: 1.0,
        }
    }

    fn pricing(&self) -> Pricing<'_> {
        Pricing::new(self.bound.spectra(), self.objective.max_error(), &self.stop)
    }

    fn tree_bound(&self) -> TreeBound<'_> {
        TreeBound::new(self.bound.spectra(), &self.stop)
    }

    fn dims(&self) -> Vec<usize> {
        crate::bound::counted(self.bound.spectra().target()).to_vec()
    }

    fn entries(&self) -> f64 {
        crate::tensor::size(&self.dims()) as f64
    }

    /// Whether the best is as good as can be.
    fn is_proven(&self) -> bool {
        let (Some(best), Some(proven)) = (&self.best, self.proven) else { return false };
        self.value(best.params, best.error)
            .is_some_and(|value| value <= proven + self.objective.margin(proven))
    }

    fn value(&self, params: u128, error: f64) -> Option<f64> {
        let score: Score = self.objective.score(params, params as f64 / self.entries(), error);
        self.objective.value(&score)
    }

    /// Notes a tree to be asked for, unless it was.
    fn propose(&mut self, candidate: Candidate) {
        if self.proposed < self.settings.trees && self.seen.insert(candidate.tree.clone()) {
            self.proposed += 1;
            self.asked.push(candidate);
        }
    }

    fn candidate(&self, tree: ModeTree) -> Candidate {
        let tails = tree.tails(self.bound.spectra()).unwrap_or(f64::INFINITY);
        Candidate { tree, tails }
    }

    /// The first trees, by the objective.
    fn begin(&mut self) {
        let dims = self.dims();
        self.proven = self.tree_bound().value(self.objective.get());
        let all = (1u64 << dims.len()) - 1;
        let whole = ModeTree { modes: vec![all], edges: Vec::new() };
        let mut first: Vec<ModeTree> = Vec::new();
        match self.objective.get() {
            Objective::MaxError(eps) => {
                let pricing = self.pricing();
                let sure = pricing.within(eps).map(|tree| pricing.trimmed(&tree, eps));
                first.push(sure.map_or(whole, |sure| sure.tree));
                let below = first[0].params(&dims);
                let ties = self.tree_bound().several(eps, TIES, below);
                let least = ties.first().map(|t| t.0);
                first.extend(ties.into_iter().filter(|t| Some(t.0) == least).map(|t| t.1));
            }
            Objective::MaxParams(most) => {
                let found = self.pricing().affordable(most);
                first.extend(found.into_iter().map(|p| p.tree));
                if first.is_empty() {
                    first.push(polish::alone(dims.len()));
                }
            }
            Objective::Lambda(lambda) => {
                let price = lambda * self.entries();
                let pricing = self.pricing();
                let prices = [1.0, 0.7, 0.5, 0.35, 0.25].map(|part| pricing.tree(part * price));
                first.extend(prices.into_iter().flatten().map(|p| p.tree));
                if first.is_empty() {
                    first.push(whole);
                }
            }
        }
        for tree in first {
            let candidate = self.candidate(tree);
            self.propose(candidate);
        }
    }

    /// Trees between the sure one and the bound.
    fn between(&mut self) -> Stage {
        let (Some(eps), Some(best)) = (self.objective.max_error(), &self.best) else {
            return self.polish();
        };
        let most = best.params;
        let curve = self.pricing().curve(1.25 * eps, FURTHEST * eps, CURVE);
        let mut trees: Vec<Candidate> = curve
            .into_iter()
            .filter(|p| p.params < most)
            .map(|Priced { tree, tails, .. }| Candidate { tree, tails })
            .collect();
        trees.sort_by(|a, b| a.tails.total_cmp(&b.tails));
        let bad = trees.len();
        // The sure one stands before them all.
        let sure = Candidate { tree: best.tree.clone(), tails: best.tails };
        trees.insert(0, sure);
        Stage::Between { trees, good: 0, bad: bad + 1 }
    }

    fn polish(&self) -> Stage {
        match &self.best {
            Some(best) => Stage::Polish(Polish::new(best.clone(), self.objective, self.entries())),
            None => self.in_order(),
        }
    }

    /// What is left between the bound and the best, the fewest parameters first.
    fn in_order(&self) -> Stage {
        let mut trees = VecDeque::new();
        if let (Some(eps), Some(best)) = (self.objective.max_error(), &self.best) {
            let several = self.tree_bound().several(eps, IN_ORDER, best.params);
            let candidates = several.into_iter().map(|(_, tree)| self.candidate(tree));
            trees = candidates.filter(|c| 0.95 * self.ratio * c.tails <= eps).collect();
        }
        Stage::InOrder { trees }
    }

    fn again(&mut self) -> Stage {
        let (Some(eps), Some(best)) = (self.objective.max_error(), &self.best) else {
            return Stage::Done;
        };
        let (most, dims) = (best.params, self.dims());
        let mut near = std::mem::take(&mut self.missed);
        near.retain(|(error, c)| *error <= NEAR * eps && c.tree.params(&dims) < most);
        near.sort_by(|a, b| a.0.total_cmp(&b.0));
        Stage::Again { trees: near.into_iter().take(RETRIES).map(|(_, c)| c).collect() }
    }

    /// Fills what is asked for from the stage at hand; moves on where it has nothing more.
    fn advance(&mut self) {
        while self.asked.is_empty() && !self.is_proven() && !self.stop.is_set() {
            self.effort = Effort::Quick;
            let dims = self.dims();
            let most = self.best.as_ref().map_or(u128::MAX, |best| best.params);
            let stage = std::mem::replace(&mut self.stage, Stage::Done);
            self.stage = match stage {
                Stage::Begin => {
                    self.begin();
                    Stage::Between { trees: Vec::new(), good: 0, bad: 0 }
                }
                Stage::Between { trees, .. } if trees.is_empty() => self.between(),
                Stage::Between { trees, good, bad } if bad - good <= 1 => {
                    drop(trees);
                    self.polish()
                }
                Stage::Between { trees, good, bad } => {
                    let third = ((bad - good) / 3).max(1);
                    for at in [good + third, bad - third] {
                        self.propose(trees[at.clamp(good + 1, bad - 1)].clone());
                    }
                    match self.asked.is_empty() {
                        // They were asked for before: what is known of them is known.
                        true => self.polish(),
                        false => Stage::Between { trees, good, bad },
                    }
                }
                Stage::Polish(mut polish) => {
                    let bound = self.bound.clone();
                    let next = polish.next(bound.spectra(), &dims, &self.seen, AT_ONCE, &self.stop);
                    match next.is_empty() {
                        true => self.in_order(),
                        false => {
                            next.into_iter().for_each(|(tree, tails)| {
                                self.propose(Candidate { tree, tails });
                            });
                            Stage::Polish(polish)
                        }
                    }
                }
                Stage::InOrder { mut trees } => {
                    while self.asked.len() < 2 * AT_ONCE
                        && let Some(next) = trees.pop_front()
                    {
                        if next.tree.params(&dims) < most {
                            self.propose(next);
                        }
                    }
                    match self.asked.is_empty() {
                        true => self.again(),
                        false => Stage::InOrder { trees },
                    }
                }
                Stage::Again { mut trees } => {
                    self.effort = Effort::Full;
                    while self.asked.len() < AT_ONCE
                        && let Some(next) = trees.pop_front()
                    {
                        if next.tree.params(&dims) < most {
                            self.asked.push(next);
                        }
                    }
                    match self.asked.is_empty() {
                        true => return,
                        false => Stage::Again { trees },
                    }
                }
                Stage::Done => return,
            };
            if self.proposed >= self.settings.trees && self.asked.is_empty() {
                return;
            }
        }
    }
}

impl Strategy for Trees {
    fn name(&self) -> &str {
        "trees"
    }

    fn ask(&mut self) -> Ask {
        self.asked.clear();
        self.advance();
        let mut structures: Vec<Structure> = Vec::new();
        let mut kept = Vec::new();
        for candidate in std::mem::take(&mut self.asked) {
            if let Ok(structure) = candidate.tree.structure() {
                structures.push(structure);
                kept.push(candidate);
            }
        }
        self.asked = kept;
        Generation::new(structures).effort(self.effort).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let asked = std::mem::take(&mut self.asked);
        let mut told = Vec::new();
        for (Candidate { tree, tails }, outcome) in asked.into_iter().zip(outcomes) {
            let Some(error) = outcome.error else { continue };
            if tails > 0.0 && tails.is_finite() {
                self.ratio = self.ratio.min(error / tails);
            }
            let found = FittedTree { tree, tails, params: outcome.params, error };
            told.push(found.clone());
            let reached = self.objective.reached(found.params, found.error);
            let better = |best: &FittedTree| {
                let value = |f: &FittedTree| self.value(f.params, f.error).unwrap_or(f64::INFINITY);
                value(&found) < value(best)
                    || (value(&found) == value(best) && found.error < best.error)
            };
            if reached && self.best.as_ref().is_none_or(better) {
                self.best = Some(found);
            } else if !reached {
                let FittedTree { tree, tails, error, .. } = found;
                self.missed.push((error, Candidate { tree, tails }));
            }
        }
        match &mut self.stage {
            Stage::Between { trees, good, bad } => {
                for found in &told {
                    let Some(at) = trees.iter().position(|c| c.tree == found.tree) else {
                        continue;
                    };
                    match self.objective.reached(found.params, found.error) {
                        true => *good = (*good).max(at),
                        false => *bad = (*bad).min(at),
                    }
                }
                *bad = (*bad).max(*good + 1);
            }
            Stage::Polish(polish) => polish.learn(&told, self.bound.spectra()),
            _ => {}
        }
    }

    fn lower_bound(&self) -> Option<f64> {
        self.proven
    }
}
