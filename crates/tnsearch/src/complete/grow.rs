//! Ranks that grow, and modes that move, as long as entries held out are predicted better.

use super::{CheckedComplete, CompleteError, HeldOut, Step};
use crate::fit::{CheckedFit, FitError, FitSettings, Request, Run, fit};
use crate::graph::{ModeGraph, Structure, Template};
use crate::network::Network;
use crate::problem::{DataError, Mask, Stop, Target};
use crate::search::{carried, grown};
use crate::tensor::{AnyTensor, Tensor, power};
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

/// A growth that lowers the error by less than this fraction is none.
const GAIN: f64 = 2e-3;
/// Growths of all ranks without a gain after which a format is left.
const IDLE: usize = 2;
/// Sweeps of a fit on the way; the last has as many as the settings say.
const SWEEPS: usize = 15;
/// Sweeps of a fit that tries a move.
const TRIAL_SWEEPS: usize = 4;
/// Moves that get more sweeps: those that predict best after a trial.
const PROMISING: usize = 4;
/// Starts of the first fit, which is small.
const FIRST_STARTS: usize = 4;
/// Ridges are compared for the first time when the largest rank is this.
const EARLY: usize = 3;
/// The factor between two ridges that are tried.
const RIDGES: f64 = 8.0;
/// The least ridge that is tried, beside none.
const LEAST_RIDGE: f64 = 1e-10;

/// Networks of one structure, one for each fold, and the error on the entries that these held out.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grown {
    pub networks: Vec<Network>,
    pub error: f64,
    /// The ridge they were fitted with.
    pub ridge: f64,
}

/// The data with entries held out, once for each fold.
struct Folds {
    targets: Vec<Target>,
    /// The sum of the squares of the entries that each fold holds out.
    norms: Vec<f64>,
    seed: u64,
}

/// The cores of the tensor whose entries are all the mean of the observed ones, where these are about that large.
fn constant(target: &Target, graph: &ModeGraph) -> Option<Vec<AnyTensor>> {
    let fitted = target.fitted()?;
    let sum: f64 = fitted.positions().map(|k| target.tensor().entry(k).re).sum();
    let (mean, squares) = (sum / fitted.count() as f64, target.norm_squared());
    if mean * mean < 0.01 * squares / fitted.count() as f64 {
        return None;
    }
    // As many equal terms as there are combinations of the ranks.
    let terms: f64 = graph.edges().iter().map(|e| e.2 as f64).product();
    let share = (mean.abs() / terms).powf(1.0 / graph.vertices() as f64);
    let cores = (0..graph.vertices()).map(|v| {
        let dims = graph.core_dims(v, target.dims());
        let sign = if v == 0 { mean.signum() } else { 1.0 };
        let mut core = Tensor::<f64>::zeros(dims);
        core.data_mut().fill(sign * share);
        core
    });
    let mut cores: Vec<Tensor> = cores.collect();
    power::spread(&mut cores, target.exponent());
    let cores = cores.into_iter().map(|core| AnyTensor::from(core).to_kind(target.kind()).ok());
    cores.collect()
}

/// Fits structures to the folds of the data.
pub(super) struct Grower<'g> {
    folds: Folds,
    /// The same with fewer entries to be fitted, where there are many.
    few: Option<Folds>,
    max_rank: usize,
    settings: FitSettings,
    tell: &'g mut dyn FnMut(Step),
    best: Option<(f64, u128)>,
    pub structures: usize,
    pub sweeps: usize,
}

impl Folds {
    fn new(targets: Vec<Target>, seed: u64) -> Self {
        let squares = |t: &Target| t.held().map_or(0.0, |held| t.squares_on(held));
        let norms = targets.iter().map(squares).collect();
        Folds { targets, norms, seed }
    }

    /// The same with at most so many entries to be fitted in each fold; none where no fold has more.
    fn with_entries(&self, most: usize) -> Result<Option<Self>, CompleteError> {
        let count = |t: &Target| t.fitted().map_or(0, Mask::count);
        if self.targets.iter().all(|target| count(target) <= most) {
            return Ok(None);
        }
        let fewer = |target: &Target| -> Result<Target, DataError> {
            let (Some(fitted), Some(held)) = (target.fitted(), target.held()) else {
                return Ok(target.clone());
            };
            let share = 1.0 - most as f64 / fitted.count() as f64;
            let (few, _) = match share > 0.0 {
                true => fitted.without(share, self.seed)?,
                false => return Ok(target.clone()),
            };
            target.fitting_only(&few, held)
        };
        let targets = self.targets.iter().map(fewer).collect::<Result<_, _>>()?;
        Ok(Some(Folds::new(targets, self.seed)))
    }

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
        let (settings, run) = (Arc::new(settings.clone()), Run { parallel, ..Run::until(until) });
        let graph = structure.canonical().graph;
        for (k, target) in self.targets.iter().enumerate() {
            let seed = crate::rng::derived_seed(self.seed, k);
            // From the zero network nothing grows.
            let warm = match from.filter(|from| from.error < 1.0) {
                Some(from) if from.networks[k].structure() == structure => {
                    Some(from.networks[k].to_mode_graph().1)
                }
                // Only larger ranks, or anything else.
                Some(from) => {
                    let parent = &from.networks[k];
                    grown(parent, structure, seed).or_else(|| carried(parent, structure, seed))
                }
                None => constant(target, &graph),
            };
            let request = Request::new(graph.clone(), settings.clone(), seed);
            let request = Request { warm: warm.map(Arc::new), ..request };
            let fitted = match fit(target, &request, &run) {
                Err(FitError::Interrupted | FitError::Time) => return Ok(None),
                Err(FitError::Memory(_)) if from.is_some() => return Ok(None),
                fitted => fitted?,
            };
            lost += fitted.error * self.norms[k];
            sweeps += fitted.sweeps;
            let dims = target.dims().to_vec();
            networks.push(Network::from_fitted(structure.clone(), dims, fitted.cores)?);
        }
        let error = lost / self.norms.iter().sum::<f64>();
        Ok(Some((Grown { networks, error, ridge: settings.ridge }, sweeps)))
    }
}

impl<'g> Grower<'g> {
    pub fn new(
        targets: Vec<Target>,
        settings: &CheckedComplete,
        tell: &'g mut dyn FnMut(Step),
    ) -> Result<Self, CompleteError> {
        let folds = Folds::new(targets, settings.seed);
        let few = folds.with_entries(settings.first_entries)?;
        let (max_rank, settings, best) = (settings.max_rank, settings.fit.clone(), None);
        Ok(Grower { folds, few, max_rank, settings, tell, best, structures: 0, sweeps: 0 })
    }

    /// The settings of a fit with this ridge and at most so many sweeps.
    fn with(&self, ridge: f64, max_sweeps: usize) -> Result<CheckedFit, CompleteError> {
        let max_sweeps = max_sweeps.min(self.settings.max_sweeps);
        Ok(FitSettings { ridge, max_sweeps, ..self.settings.clone() }.check()?)
    }

    fn dims(&self) -> &[usize] {
        self.folds.targets[0].dims()
    }

    /// Grows all ranks of a format alike, until the entries held out are predicted no better: on few entries first,
    /// where there are many.
    pub fn grow(
        &mut self,
        template: &Arc<Template>,
        other: Option<&Grown>,
        until: &Stop,
    ) -> Result<Option<Grown>, CompleteError> {
        let mut begun = None;
        if let Some(few) = self.few.take() {
            let all = std::mem::replace(&mut self.folds, few);
            let found = self.first(template, other, until)?;
            if let Some(first) = found {
                begun = Some(self.grow_from(first, None, &until.within_part(0.5))?);
            }
            self.few = Some(std::mem::replace(&mut self.folds, all));
        }
        let first = match begun {
            Some(begun) => {
                let structure = begun.networks[0].structure();
                let way = (begun.ridge, SWEEPS);
                // Where no time is left for all, what few entries gave is something.
                Some(self.fit(structure, Some(&begun), way, until)?.unwrap_or(begun))
            }
            None => self.first(template, other, until)?,
        };
        first.map(|first| self.grow_from(first, other, until)).transpose()
    }

    /// The fit with ranks 1.
    fn first(
        &mut self,
        template: &Arc<Template>,
        other: Option<&Grown>,
        until: &Stop,
    ) -> Result<Option<Grown>, CompleteError> {
        let ridge = other.map_or(self.settings.ridge, |other| other.ridge);
        let structure = Structure::identity(template.clone(), vec![1; template.edges().len()])?;
        let restarts = std::mem::replace(&mut self.settings.restarts, FIRST_STARTS);
        let first = self.fit(&structure, None, (ridge, SWEEPS), until);
        self.settings.restarts = restarts;
        first
    }

    /// Grows all ranks alike from these. A format that predicts worse than the best of another with twice its params
    /// is left.
    fn grow_from(
        &mut self,
        mut now: Grown,
        other: Option<&Grown>,
        until: &Stop,
    ) -> Result<Grown, CompleteError> {
        let mut best = now.clone();
        let mut idle = 0;
        while idle < IDLE && !until.is_set() {
            let worse = |other: &Grown| {
                best.error > other.error
                    && now.networks[0].params() > 2 * other.networks[0].params()
            };
            if other.is_some_and(worse) {
                break;
            }
            // One more while they are small, an eighth more later.
            let like = now.networks[0].structure();
            let more: Vec<usize> = like.ranks().iter().map(|r| r + 1 + r / 8).collect();
            let structure = self.useful(like, &more)?;
            if structure.ranks() == like.ranks() {
                break;
            }
            let way = (best.ridge, SWEEPS);
            let Some(next) = self.fit(&structure, Some(&now), way, until)? else { break };
            if next.error < (1.0 - GAIN) * best.error {
                (best, idle) = (next.clone(), 0);
                let early = next.networks[0].structure().ranks().iter().max() == Some(&EARLY);
                if let Some(tuned) = early.then(|| self.tune(&best, until)).transpose()?.flatten() {
                    (now, best) = (tuned.clone(), tuned);
                    continue;
                }
            } else {
                idle += 1;
                if let Some(tuned) = self.tune(&best, until)?.filter(|_| idle == 1) {
                    (now, best, idle) = (tuned.clone(), tuned, 0);
                    continue;
                }
            }
            now = next;
        }
        Ok(best)
    }

    /// The same ranks with another ridge, as long as that gains; none where it does not.
    fn tune(&mut self, from: &Grown, until: &Stop) -> Result<Option<Grown>, CompleteError> {
        let mut best: Option<Grown> = None;
        loop {
            let now = best.as_ref().unwrap_or(from);
            let structure = now.networks[0].structure();
            let ridges = [now.ridge / RIDGES, now.ridge * RIDGES];
            let ridges = ridges.map(|r| if r < LEAST_RIDGE { 0.0 } else { r });
            let tried = ridges
                .into_iter()
                .filter(|ridge| *ridge != now.ridge)
                .map(|ridge| Ok((structure, now, self.with(ridge, SWEEPS)?)))
                .collect::<Result<Vec<_>, CompleteError>>()?;
            let found = self.race(tried, until)?.into_iter().next();
            match found.filter(|f| f.error < (1.0 - GAIN) * now.error) {
                Some(found) => best = Some(found),
                None => return Ok(best),
            }
        }
    }

    /// Fits structures from networks, each on a thread of its own; the best first.
    fn race(
        &mut self,
        tried: Vec<(&Structure, &Grown, CheckedFit)>,
        until: &Stop,
    ) -> Result<Vec<Grown>, CompleteError> {
        let folds = &self.folds;
        let fits: Vec<_> = tried
            .into_par_iter()
            .map(|(structure, from, settings)| {
                folds.fit(structure, Some(from), &settings, false, until)
            })
            .collect();
        let mut found = Vec::new();
        for fitted in fits {
            let Some((fitted, sweeps)) = fitted? else { continue };
            self.count(&fitted, sweeps);
            found.push(fitted);
        }
        found.sort_by(|a, b| a.error.total_cmp(&b.error));
        Ok(found)
    }

    /// A structure with other ranks, cut down to what an end of their edge can carry, and to the largest allowed.
    fn useful(&self, like: &Structure, ranks: &[usize]) -> Result<Structure, CompleteError> {
        let cut = ranks.iter().map(|&r| r.min(self.max_rank)).collect();
        let (template, at) = (like.template().clone(), like.permutation().to_vec());
        Ok(Structure::new(template, at, cut)?.without_useless_ranks(self.dims()))
    }

    /// Tries every move from the best (one more or one less rank of an edge, two modes exchanged), and other ridges;
    /// takes the one that predicts best as long as one gains, and then sweeps over it for as long as the settings say.
    pub fn polish(&mut self, mut best: Grown, until: &Stop) -> Result<Grown, CompleteError> {
        // Of many moves one gains by chance, and the fewer entries are held out the more.
        let gain = GAIN.max(1.0 / self.held_out(&best).entries.max(1) as f64);
        while !until.is_set() {
            let moves = self.moves(best.networks[0].structure())?;
            let trial = self.with(best.ridge, TRIAL_SWEEPS)?;
            let tried = moves.iter().map(|structure| (structure, &best, trial.clone())).collect();
            let mut tried = self.race(tried, until)?;
            tried.truncate(PROMISING);
            let more = self.with(best.ridge, SWEEPS)?;
            let again = tried.iter().map(|t| (t.networks[0].structure(), t, more.clone()));
            let found = self.race(again.collect(), until)?.into_iter().chain(tried);
            let found = found.min_by(|a, b| a.error.total_cmp(&b.error));
            match found.filter(|found| found.error < (1.0 - gain) * best.error) {
                Some(found) => best = found,
                None => match self.tune(&best, until)? {
                    Some(tuned) => best = tuned,
                    None => break,
                },
            }
        }
        let structure = best.networks[0].structure().clone();
        let way = (best.ridge, usize::MAX);
        let swept = self.fit(&structure, Some(&best), way, until)?;
        Ok(swept.filter(|swept| swept.error < best.error).unwrap_or(best))
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
                all.push(self.useful(from, &other)?);
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
        (ridge, sweeps): (f64, usize),
        until: &Stop,
    ) -> Result<Option<Grown>, CompleteError> {
        let settings = self.with(ridge, sweeps)?;
        let Some((found, sweeps)) = self.folds.fit(structure, from, &settings, true, until)? else {
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
        let mut rmse = [(lost / entries.max(1) as f64).sqrt()];
        power::multiply(&mut rmse, targets[0].exponent());
        let [rmse] = rmse;
        HeldOut { entries, folds: targets.len(), rse: found.error, rmse }
    }
}
