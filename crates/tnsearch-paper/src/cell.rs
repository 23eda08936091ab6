//! One result: a method on a tensor.

use super::method::{By, Decompose, Kind, Method};
use super::processes::Ready;
use super::{ReproduceError, Trial};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tnsearch::complete::{CompleteSettings, complete};
use tnsearch::decompose::{DecomposeError, Goal, Limits};
use tnsearch::fit::{CheckedFit, FitSettings, Method as Fit};
use tnsearch::graph::Template;
use tnsearch::network::Network;
use tnsearch::problem::{CheckedObjective, Score, Stop};
use tnsearch::search::{
    Graphs, HistoryPoint, SearchError, SearchResult, SearchSettings, StoppedBy,
};
use tnsearch::{Search, SettingError};
use tnsearch_io::Picture;
use tnsearch_io::lines::Record;
use tnsearch_tgp::CompressSettings;

/// The part of a validation error by which it may rise and be the same to two digits.
const SAME: f64 = 0.005;
/// The smallest rise that is asked for.
const LEAST_LOSS: f64 = 0.001;
/// How long ours may take to make a model smaller.
const MODEL_SECONDS: f64 = 120.0;

/// What all methods of an experiment share.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Setup {
    /// How structures are fitted.
    pub fit: CheckedFit,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
    /// Ends the task under way.
    pub stop: Stop,
}

impl Setup {
    /// A setup whose fits use a method with its usual settings, four starts each as in the paper, and so many
    /// scouts for each of them (1: none).
    pub fn new(
        method: Fit,
        scouts: usize,
        threads: Option<usize>,
        stop: Stop,
    ) -> Result<Self, ReproduceError> {
        let fit = FitSettings::of(method).with(|s| s.scouts = scouts);
        Ok(Setup { fit: fit.check()?, threads, stop })
    }
}

/// What a method found on a tensor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cell {
    /// The task it is the result of.
    pub key: String,
    /// Parameters of the hidden structure; of a picture, its entries.
    pub hidden_params: u128,
    /// Parameters of the structure found; none where nothing was found.
    pub params: Option<u128>,
    /// Its RSE.
    pub rse: Option<f64>,
    /// Its loss, for searches.
    pub loss: Option<f64>,
    /// Its relative error on the entries that were removed, where any were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_re: Option<f64>,
    /// The error of the model with this mean on its test rows, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_mse: Option<f64>,
    /// Whether the error asked for was reached (always for other objectives).
    pub reached: bool,
    /// Whether the structure found has the template's format; none where that was not decided.
    pub format_preserved: Option<bool>,
    /// Structures fitted, in all; none for methods that do not search.
    pub evaluations: Option<u64>,
    /// Structures fitted when the answer was found: what the paper counts.
    pub to_best: Option<u64>,
    /// Structures that bounds ruled out.
    pub pruned: u64,
    /// Structures that were too large or too costly to be fitted.
    #[serde(default)]
    pub refused: u64,
    /// Whether the answer is proven to be optimal.
    pub certified: bool,
    /// The proven lower bound on the parameters.
    pub bound: Option<u128>,
    /// The ranks found, in the order of the template's edges.
    pub ranks: Vec<usize>,
    /// How the best loss fell, for the figures that show it.
    pub curve: Vec<(u64, f64)>,
    /// Seconds it took.
    pub seconds: f64,
}

impl Record for Cell {
    fn check(&self) -> Result<(), String> {
        let numbers = [self.rse, self.missing_re, self.test_mse, Some(self.seconds)];
        if let Some(bad) = numbers.into_iter().flatten().find(|x| !(x.is_finite() && *x >= 0.0)) {
            return Err(format!("no error or time is {bad}"));
        }
        if self.hidden_params == 0 || self.params == Some(0) {
            return Err("no structure has 0 params".to_owned());
        }
        match (self.params, self.bound) {
            (Some(params), Some(bound)) if self.reached && params < bound => {
                Err(format!("{params} params are below the bound {bound}"))
            }
            _ => Ok(()),
        }
    }
}

impl Cell {
    /// Eff.: parameters of the hidden structure / of the one found; none where the error was not reached.
    pub fn eff(&self) -> Option<f64> {
        let params = self.params.filter(|_| self.reached)?;
        Some(self.hidden_params as f64 / params as f64)
    }
}

/// A result and what else comes of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Made {
    /// The result.
    pub cell: Cell,
    /// Of a picture: the original, what was left of it where something was removed, and what the network makes of it.
    pub pictures: Option<Shown>,
}

/// Pictures beside each other.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Shown {
    /// The picture as it was.
    pub original: Picture,
    /// With what was removed in black.
    pub holes: Option<Picture>,
    /// From the network.
    pub found: Picture,
}

/// What makes one cell.
pub(super) struct Attempt<'a> {
    pub key: &'a str,
    pub method: &'a Method,
    pub trial: &'a Trial,
    pub objective: CheckedObjective,
    pub seed: u64,
    /// Whether the fall of the loss is kept.
    pub curve: bool,
    pub setup: &'a Setup,
}

/// A cell, and the network it is about.
type Measured = (Cell, Option<Network>);

impl Attempt<'_> {
    /// Runs the method on the tensor.
    pub fn run(&self) -> Result<Made, ReproduceError> {
        let begun = std::time::Instant::now();
        let (mut cell, network) = match &self.method.kind {
            Kind::Decompose(decompose) => self.decompose(decompose)?,
            Kind::Search(by) => self.search(by)?,
            Kind::Complete => self.complete()?,
            Kind::Given => self.given()?,
            Kind::Compress(loss, tune) => self.compress(*loss, *tune)?,
        };
        cell.seconds = begun.elapsed().as_secs_f64();
        if let Some((process, mean)) = self.trial.process.as_ref().zip(network.as_ref()) {
            cell.test_mse = Some(process.test_mse(mean)?);
        }
        let Some((scene, network)) = self.trial.scene.as_ref().zip(network) else {
            return Ok(Made { cell, pictures: None });
        };
        let z = network.to_tensor(None)?;
        cell.missing_re = scene.missing_re(&z);
        let (original, holes) = (scene.picture.clone(), scene.with_holes());
        let pictures = scene.seen(&z).map(|found| Shown { original, holes, found });
        Ok(Made { cell, pictures })
    }

    fn decompose(&self, decompose: &Decompose) -> Result<Measured, ReproduceError> {
        let Some(eps) = self.objective.max_error() else {
            let value = format!("{:?}", self.objective.get());
            return Err(SettingError::new(
                "objective",
                value,
                "a decomposition needs a largest error",
            )
            .into());
        };
        let limits = Limits::none().with(|l| l.stop = self.setup.stop.clone());
        let goal = Goal::max_rse(eps)?;
        let found = decompose(&self.trial.target, &goal, self.seed, &limits);
        let found = found.map_err(|e| match e {
            DecomposeError::Interrupted => ReproduceError::Interrupted,
            other => other.into(),
        })?;
        if found.interrupted {
            return Err(ReproduceError::Interrupted);
        }
        let cell = Cell {
            params: Some(found.network.params()),
            rse: Some(found.rse),
            reached: found.rse <= eps,
            format_preserved: Some(true),
            ranks: found.ranks().to_vec(),
            ..self.empty()
        };
        Ok((cell, Some(found.network)))
    }

    /// Fills holes by a structure that is chosen by entries held out, on a pool of the threads asked for.
    fn complete(&self) -> Result<Measured, ReproduceError> {
        let settings = CompleteSettings::default()
            .with(|s| (s.seed, s.max_rank) = (self.seed, self.method.max_rank))
            .check()?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(self.setup.threads.unwrap_or(0));
        let pool = pool.build().map_err(|e| SearchError::Threads(e.to_string()))?;
        let (target, stop) = (&self.trial.target, &self.setup.stop);
        let found = pool.install(|| complete(target, &settings, stop, &mut |_| ()))?;
        if found.interrupted {
            return Err(ReproduceError::Interrupted);
        }
        let (network, rse) = (found.network, found.rse);
        let (params, phi) = (network.params(), network.phi());
        let cell = Cell {
            params: Some(params),
            rse: Some(rse),
            loss: Some(self.objective.loss(params, phi, rse)),
            reached: true,
            evaluations: Some(found.structures as u64),
            ranks: network.structure().ranks().to_vec(),
            ..self.empty()
        };
        Ok((cell, Some(network)))
    }

    /// The mean as it is.
    fn given(&self) -> Result<Measured, ReproduceError> {
        let process = self.process()?;
        let mean = process.model.mean.clone();
        let cell =
            Cell { params: Some(mean.params()), rse: Some(0.0), reached: true, ..self.empty() };
        Ok((cell, Some(mean)))
    }

    /// A smaller mean for so much more of the validation error.
    fn compress(&self, loss: Option<f64>, tune: bool) -> Result<Measured, ReproduceError> {
        let process = self.process()?;
        let part =
            || process.model.figures.map_or(0.01, |f| (SAME * f.validation_mse).max(LEAST_LOSS));
        let loss = loss.unwrap_or_else(part);
        let settings = CompressSettings::default().with(|s| {
            (s.max_mse_loss, s.tune) = (loss, tune);
            (s.seed, s.threads) = (self.seed, self.setup.threads);
        });
        let stop = self.setup.stop.within_seconds(MODEL_SECONDS);
        let found = process.compressed(&settings, &stop)?;
        if self.setup.stop.is_set() {
            return Err(ReproduceError::Interrupted);
        }
        let mean = found.model.mean;
        let plain = found.plain.as_ref().map(|(plain, _)| plain);
        let searched = plain.map_or(0, |p| p.evaluations);
        let bound = plain.and_then(|p| p.lower_bound).and_then(|b| b.params).filter(|_| !tune);
        let cell = Cell {
            params: Some(mean.params()),
            rse: plain.filter(|_| !found.tuned).map(|p| p.rse),
            reached: mean.params() < found.before.params,
            evaluations: Some(found.evaluations + searched),
            bound,
            certified: plain.is_some_and(|p| !found.tuned && p.certified_optimal),
            ranks: mean.structure().ranks().to_vec(),
            ..self.empty()
        };
        Ok((cell, Some(mean)))
    }

    fn process(&self) -> Result<&Ready, ReproduceError> {
        let expected = "it is for the means of models";
        let none =
            || SettingError::new("method", format!("'{}'", self.method.name), expected).into();
        self.trial.process.as_deref().ok_or_else(none)
    }

    fn search(&self, by: &By) -> Result<Measured, ReproduceError> {
        let &Attempt { method, trial, objective, seed, setup, .. } = self;
        // Without an error to be reached, a fit goes on to the end.
        let fit = (method.fit)(FitSettings::clone(&setup.fit)).with(|s| s.enough_rse = 0.0);
        let mut settings = SearchSettings::default();
        settings.objective = objective.get();
        settings.max_rank = Some(method.max_rank);
        // As in the paper: from random starts, on the tensor as it is.
        (settings.direct, settings.shrink) = (method.direct, false);
        settings.seed = seed;
        settings.prune = method.prune;
        settings.certificate_nodes = 0;
        settings.fit = fit;
        settings.rescue = Some(method.rescue);
        settings.max_phi = Some(method.max_phi);
        settings.max_cost = method.max_cost;
        settings.budget.threads = setup.threads;
        settings.budget.max_evaluations = method.most;
        let template = match method.any_graph {
            true => Arc::new(Template::any(trial.target.dims().len())?),
            false => trial.template.clone(),
        };
        let search = Search::new(&trial.target).template(template).stop(&setup.stop);
        let result = match by {
            By::Named(spec) => {
                settings.strategy = spec.clone();
                search.settings(settings).run()?
            }
            By::Own(make) => {
                search.settings(settings).own_strategy(Graphs::Template, &**make).run()?
            }
        };
        match result.stopped_by {
            StoppedBy::Interrupted => Err(ReproduceError::Interrupted),
            _ => {
                let dims = trial.target.dims();
                let network = result.best.as_ref().map(|b| b.network(dims)).transpose()?;
                Ok((self.found(&result), network))
            }
        }
    }

    fn empty(&self) -> Cell {
        Cell {
            key: self.key.to_owned(),
            hidden_params: self.trial.hidden_params,
            params: None,
            rse: None,
            loss: None,
            missing_re: None,
            test_mse: None,
            reached: false,
            format_preserved: None,
            evaluations: None,
            to_best: None,
            pruned: 0,
            refused: 0,
            certified: false,
            bound: None,
            ranks: Vec::new(),
            curve: Vec::new(),
            seconds: 0.0,
        }
    }

    fn found(&self, result: &SearchResult) -> Cell {
        let best = result.best.as_ref();
        let to_best = |score: &Score| {
            let same = |p: &&HistoryPoint| p.params == score.params && p.error == score.error;
            result.history.iter().find(same).map(|p| p.evaluations)
        };
        Cell {
            params: best.map(|b| b.score.params),
            rse: best.map(|b| b.score.error),
            loss: best.map(|b| b.score.loss),
            reached: result.target_reached,
            format_preserved: best.and_then(|b| self.trial.template.holds(&b.graph)),
            evaluations: Some(result.counts.evaluations),
            to_best: best.and_then(|b| to_best(&b.score)),
            pruned: result.counts.pruned,
            refused: result.counts.refused,
            certified: result.certified_optimal,
            bound: result.lower_bound.and_then(|b| b.params),
            ranks: best.map_or(Vec::new(), |b| b.structure.ranks().to_vec()),
            curve: match self.curve {
                true => result.history.iter().map(|p| (p.evaluations, p.loss)).collect(),
                false => Vec::new(),
            },
            ..self.empty()
        }
    }
}
