//! Ranks that grow, and modes that move, as long as entries held out are predicted better.

use super::{CheckedComplete, CompleteError, HeldOut, Step, squares};
use crate::fit::{self, CheckedFit, FitError, FitSettings};
use crate::graph::{Structure, Template};
use crate::network::Network;
use crate::problem::{Mask, Stop, Target};
use crate::search::{carried, grown};
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

/// A growth that lowers the error by less than this fraction is none.
const GAIN: f64 = 2e-3;
/// Growths of all ranks without a gain after which a format is left.
const IDLE: usize = 2;
/// Sweeps of a fit that tries a move, of which the best ones get the second number.
const TRIAL_SWEEPS: [usize; 2] = [4, 12];
/// Moves that get more sweeps.
const PROMISING: usize = 4;

/// Networks of one structure, one for each fold, and the error on the entries that these held out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grown {
    pub networks: Vec<Network>,
    pub error: f64,
}

/// The data with entries held out, once for each fold.
struct Folds {
    targets: Vec<Target>,
    /// The sum of the squares of the entries that each fold holds out.
    norms: Vec<f64>,
    seed: u64,
}

/// Fits structures to the folds of the data.
pub(super) struct Grower<'g> {
    folds: Folds,
    max_rank: usize,
    fit: CheckedFit,
    trials: [CheckedFit; 2],
    tell: &'g mut dyn FnMut(Step),
    best: Option<(f64, u128)>,
    pub structures: usize,
    pub sweeps: usize,
}

impl Folds {
    /// Fits a structure to every fold; none where a stop came first or it would take too much memory.
    fn fit(
        &self,
        structure: &Structure,
        from: Option<&Grown>,
        settings: &CheckedFit,
        parallel: bool,
        until: &Stop,
    ) -> Result<Option<(Grown, usize)>, CompleteError> {
        let (mut networks, mut lost, mut sweeps) = (Vec::new(), 0.0, 0);
        let graph = structure.canonical().graph;
        for (k, target) in self.targets.iter().enumerate() {
            let seed = crate::rng::derived_seed(self.seed, k);
            let warm = from.and_then(|from| {
                let parent = &from.networks[k];
                match parent.structure() == structure {
                    true => Some(parent.to_mode_graph().1),
                    // Only larger ranks, or anything else.
                    false => {
                        grown(parent, structure, seed).or_else(|| carried(parent, structure, seed))
                    }
                }
            });
            let run = if parallel { fit::fit_parallel } else { fit::fit };
            let fitted = match run(target, &graph, settings, seed, warm.as_deref(), until) {
                Err(FitError::Interrupted | FitError::Time | FitError::Memory(_)) => {
                    return Ok(None);
                }
                fitted => fitted?,
            };
            lost += fitted.error * self.norms[k];
            sweeps += fitted.sweeps;
            let dims = target.dims().to_vec();
            networks.push(Network::from_fitted(structure.clone(), dims, fitted.cores)?);
        }
        let error = lost / self.norms.iter().sum::<f64>();
        Ok(Some((Grown { networks, error }, sweeps)))
    }
}

impl<'g> Grower<'g> {
    pub fn new(
        targets: Vec<Target>,
        settings: &CheckedComplete,
        tell: &'g mut dyn FnMut(Step),
    ) -> Result<Self, CompleteError> {
        let squares = |t: &Target| t.held().map_or(0.0, |held| squares(t, held));
        let norms = targets.iter().map(squares).collect();
        let folds = Folds { targets, norms, seed: settings.seed };
        let fit = settings.fit.clone().check()?;
        let trial = |sweeps: usize| {
            let max_sweeps = sweeps.min(fit.max_sweeps);
            FitSettings { max_sweeps, restarts: 1, scouts: 1, rescue: 0, ..settings.fit.clone() }
                .check()
        };
        let [short, long] = TRIAL_SWEEPS;
        let (trials, max_rank) = ([trial(short)?, trial(long)?], settings.max_rank);
        let best = None;
        Ok(Grower { folds, max_rank, fit, trials, tell, best, structures: 0, sweeps: 0 })
    }

    fn dims(&self) -> &[usize] {
        self.folds.targets[0].dims()
    }

    /// Grows all ranks of a format alike, until the entries held out are predicted no better.
    pub fn grow(
        &mut self,
        template: &Arc<Template>,
        until: &Stop,
    ) -> Result<Option<Grown>, CompleteError> {
        let edges = template.edges().len();
        let mut ranks = vec![1; edges];
        let structure = Structure::identity(template.clone(), ranks.clone())?;
        let Some(mut now) = self.fit(&structure, None, until)? else { return Ok(None) };
        let mut best = now.clone();
        let mut idle = 0;
        while idle < IDLE && !until.is_set() {
            // One more while they are small, an eighth more later.
            let more: Vec<usize> = ranks.iter().map(|r| r + 1 + r / 8).collect();
            let more = self.useful(template, &more)?;
            if more == ranks {
                break;
            }
            let structure = Structure::identity(template.clone(), more.clone())?;
            let Some(next) = self.fit(&structure, Some(&now), until)? else { break };
            idle = if next.error < (1.0 - GAIN) * best.error { 0 } else { idle + 1 };
            if next.error < best.error {
                best = next.clone();
            }
            (now, ranks) = (next, more);
        }
        Ok(Some(best))
    }

    /// Ranks cut down to what an end of their edge can carry, and to the largest allowed.
    fn useful(
        &self,
        template: &Arc<Template>,
        ranks: &[usize],
    ) -> Result<Vec<usize>, CompleteError> {
        let cut = ranks.iter().map(|&r| r.min(self.max_rank)).collect();
        let structure = Structure::identity(template.clone(), cut)?;
        Ok(structure.without_useless_ranks(self.dims()).ranks().to_vec())
    }

    /// Tries every move from the best: one more or one less rank of an edge, two modes exchanged. Takes the one that
    /// predicts best as long as one gains, and sweeps over it.
    pub fn polish(&mut self, mut best: Grown, until: &Stop) -> Result<Grown, CompleteError> {
        while !until.is_set() {
            let [short, long] = self.trials.clone();
            let moves = self.moves(best.networks[0].structure())?;
            let from = moves.iter().map(|structure| (structure, &best)).collect();
            let mut tried = self.race(from, &short, until)?;
            tried.sort_by(|a, b| a.error.total_cmp(&b.error));
            tried.truncate(PROMISING);
            let from = tried.iter().map(|t| (t.networks[0].structure(), t)).collect();
            let found = self.race(from, &long, until)?.into_iter().chain(tried);
            let found = found.min_by(|a, b| a.error.total_cmp(&b.error));
            let Some(found) = found.filter(|f| f.error < (1.0 - GAIN) * best.error) else { break };
            // The one that was taken has as many sweeps as it needs.
            let structure = found.networks[0].structure().clone();
            let swept = self.fit(&structure, Some(&found), until)?;
            best = swept.filter(|swept| swept.error < found.error).unwrap_or(found);
        }
        Ok(best)
    }

    /// Fits structures at the same time, each from a network; those that could be, in their order.
    fn race(
        &mut self,
        from: Vec<(&Structure, &Grown)>,
        settings: &CheckedFit,
        until: &Stop,
    ) -> Result<Vec<Grown>, CompleteError> {
        let folds = &self.folds;
        let one = |(structure, from)| folds.fit(structure, Some(from), settings, false, until);
        let fitted: Vec<_> = from.into_par_iter().map(one).collect();
        let mut found = Vec::new();
        for fitted in fitted {
            let Some((fitted, sweeps)) = fitted? else { continue };
            self.count(&fitted, sweeps);
            found.push(fitted);
        }
        Ok(found)
    }

    /// The structures one move away, each network once.
    fn moves(&self, from: &Structure) -> Result<Vec<Structure>, CompleteError> {
        let (template, ranks, at) = (from.template(), from.ranks(), from.permutation());
        let mut all = Vec::new();
        for edge in 0..ranks.len() {
            let step = 1 + ranks[edge] / 8;
            for rank in [ranks[edge] + step, ranks[edge].saturating_sub(step).max(1)] {
                let mut other = ranks.to_vec();
                other[edge] = rank;
                let other = self.useful(template, &other)?;
                all.push(Structure::new(template.clone(), at.to_vec(), other)?);
            }
        }
        for (a, b) in (0..at.len()).flat_map(|a| (a + 1..at.len()).map(move |b| (a, b))) {
            let mut other = at.to_vec();
            other.swap(a, b);
            all.push(Structure::new(template.clone(), other, ranks.to_vec())?);
        }
        let mut seen = HashSet::from([from.canonical().graph]);
        all.retain(|structure| seen.insert(structure.canonical().graph));
        Ok(all)
    }

    fn fit(
        &mut self,
        structure: &Structure,
        from: Option<&Grown>,
        until: &Stop,
    ) -> Result<Option<Grown>, CompleteError> {
        let Some((found, sweeps)) = self.folds.fit(structure, from, &self.fit, true, until)? else {
            return Ok(None);
        };
        self.count(&found, sweeps);
        Ok(Some(found))
    }

    fn count(&mut self, found: &Grown, sweeps: usize) {
        self.structures += 1;
        self.sweeps += sweeps;
        let params = found.networks[0].params();
        if self.best.is_none_or(|(error, _)| found.error < error) {
            self.best = Some((found.error, params));
        }
        if let Some((rse, params)) = self.best {
            (self.tell)(Step { structures: self.structures, rse, params });
        }
    }

    /// What the entries held out say about a structure.
    pub fn held_out(&self, found: &Grown) -> HeldOut {
        let Folds { targets, norms, .. } = &self.folds;
        let entries = targets.iter().filter_map(|t| t.held().map(Mask::count)).sum::<usize>();
        let lost = found.error * norms.iter().sum::<f64>();
        let rmse = (lost / entries.max(1) as f64).sqrt() * targets[0].scale();
        HeldOut { entries, folds: targets.len(), rse: found.error, rmse }
    }
}
