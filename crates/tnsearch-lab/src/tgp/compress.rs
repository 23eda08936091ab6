//! A smaller network for the mean of a trained model, at most so much worse on the validation rows.
//!
//! First the tensor of the mean is searched ([`super::plain`]), as in the paper. Then, unless that is turned off, structures are
//! searched whose cores are fitted to the training rows themselves ([`super::fitter`]), from rank 1 on, one rank at a time on the
//! edge that helps most; what is too much is taken away again. The smallest that is good enough on the validation rows is the
//! answer. Nothing is learnt or chosen from the test rows.

use super::TgpError;
use super::bound::{Posterior, Problem};
use super::contract::Contraction;
use super::fitter::{Fit, Fitter, entries};
use super::kernel::Side;
use super::model::{Figures, Model};
use super::plain::{self, Metric, Plain, PlainSettings};
use super::rows::Rows;
use super::train::{Prepared, same_table, some_rows};
use serde::Serialize;
use std::sync::Arc;
use tnsearch::graph::{ModeGraph, Structure, Template};
use tnsearch::network::Network;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::search::{Search, SearchSettings, StrategySpec};
use tnsearch_io::Table;

/// Training rows that structures are compared on; the answer is fitted to all.
const SEARCH_ROWS: usize = 6000;
/// The sweeps of a fit during the search, and of the last one.
const SWEEPS: (usize, usize) = (6, 20);

/// The settings of a compression.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CompressSettings {
    /// How much the mean squared error on the validation rows may rise, standardised.
    pub max_mse_loss: f64,
    /// Whether cores are fitted to the data; else the mean is reparameterised as it is.
    pub tune: bool,
    /// The template that is searched; none: any graph.
    pub template: Option<Arc<Template>>,
    /// The largest rank.
    pub max_rank: usize,
    /// Entries count as the data do in the search of the tensor; else as in the paper, all alike.
    pub by_data: bool,
    /// The seed of the searches.
    pub seed: u64,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
    /// The part of the time that the search of the tensor gets, where there is a limit.
    pub plain_part: f64,
}

impl Default for CompressSettings {
    fn default() -> Self {
        CompressSettings {
            max_mse_loss: 0.01,
            tune: true,
            template: None,
            max_rank: 14,
            by_data: true,
            seed: 0,
            threads: None,
            plain_part: 0.4,
        }
    }
}

impl CompressSettings {
    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// A network that nothing smaller that was tried is as good as.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FrontPoint {
    /// Its params.
    pub params: u128,
    /// The error it was judged by: on the validation rows or, where that is more, on the training rows, raised by the
    /// difference that the model before has.
    pub mse: f64,
}

/// A model made smaller.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Compressed {
    /// The smaller model, with its figures; the one that was given where nothing smaller is good enough.
    pub model: Model,
    /// The figures of the model that was given.
    pub before: Figures,
    /// What the search of the tensor gave, where it gave anything, and its figures.
    pub plain: Option<(Plain, Figures)>,
    /// Whether the answer's cores were fitted to the data.
    pub tuned: bool,
    /// Params against error of everything that was fitted to the data, and of the answers.
    pub front: Vec<FrontPoint>,
    /// Structures fitted to the data.
    pub evaluations: u64,
    /// Whether a stop cut it short.
    pub stopped: bool,
}

/// What was found on the way.
struct Candidate {
    structure: Structure,
    fit: Fit,
}

/// Makes a model smaller. The table is the one it was trained with.
pub fn compress(
    model: &Model,
    table: &Table,
    settings: &CompressSettings,
    stop: &Stop,
    heard: &mut dyn FnMut(&str),
) -> Result<Compressed, TgpError> {
    if !(settings.max_mse_loss > 0.0 && settings.max_mse_loss.is_finite()) {
        let (name, value) = ("max-mse-loss", settings.max_mse_loss.to_string());
        return Err(TgpError::Setting {
            name,
            value,
            expected: "it must be a positive number, in standardised units",
        });
    }
    same_table(model, table)?;
    let data = Prepared::new(table, &model.shares, &model.standard, &model.grids)?;
    let measure = |model: &Model| -> Result<Figures, TgpError> {
        let sides = model.sides()?;
        let (plan, cores) = model.whitened(&sides)?;
        let at = Posterior { cores, roots: model.whitened_roots(&sides) };
        let (kernel, weight) = (&model.kernel, data.train.len() as f64);
        let problem = Problem {
            rows: &data.train,
            sides: &sides,
            kernel,
            plan: &plan,
            weight,
            parallel: true,
        };
        data.figures(model, problem.bound(&at).bound)
    };
    let before = measure(model)?;
    let limit = before.validation_mse + settings.max_mse_loss;
    let judged =
        |f: &Figures| f.validation_mse.max(f.train_mse + before.validation_mse - before.train_mse);
    heard(&format!(
        "{} params, MSE {:.4} on the validation rows; {limit:.4} is allowed",
        before.params, before.validation_mse
    ));
    let (plain, networks) = {
        let search = plain_settings(settings, model.grids.len())?;
        let part = if settings.tune { stop.within_part(settings.plain_part) } else { stop.clone() };
        plain::search(
            model,
            (&data.train, &data.validation),
            before.validation_mse,
            limit,
            &search,
            &part,
        )?
    };
    let mut front: Vec<FrontPoint> =
        vec![FrontPoint { params: before.params, mse: before.validation_mse }];
    let mut best = model.clone();
    let mut with_figures = None;
    if let Some(found) = plain {
        let made = model.with_mean(found.mean.clone());
        let figures = measure(&made)?;
        heard(&format!(
            "reparameterised: {} params, MSE {:.4} on the validation rows",
            figures.params, figures.validation_mse
        ));
        front.push(FrontPoint { params: figures.params, mse: judged(&figures) });
        if figures.params < best.mean.params() {
            best = made;
        }
        with_figures = Some((found, figures));
    }
    let (mut tuned, mut evaluations) = (false, 0);
    if settings.tune && !stop.is_set() {
        let run = Tune { model, data: &data, settings, limit, stop, sides: model.sides()? };
        let (found, count) = run.search(networks, &mut front, heard)?;
        evaluations = count;
        if let Some(smaller) = found.filter(|m| m.mean.params() <= best.mean.params()) {
            (best, tuned) = (smaller, true);
        }
    }
    best.figures = Some(measure(&best)?);
    if let Some(f) = &best.figures {
        front.push(FrontPoint { params: f.params, mse: judged(f) });
    }
    Ok(Compressed {
        model: best,
        before,
        plain: with_figures,
        tuned,
        front: pareto(front),
        evaluations,
        stopped: stop.is_set(),
    })
}

/// Those that nothing is better than in both.
fn pareto(mut points: Vec<FrontPoint>) -> Vec<FrontPoint> {
    points.sort_by(|a, b| a.params.cmp(&b.params).then(a.mse.total_cmp(&b.mse)));
    let mut out: Vec<FrontPoint> = Vec::new();
    for point in points {
        if out.last().is_none_or(|last| point.mse < last.mse) {
            out.push(point);
        }
    }
    out
}

fn plain_settings(settings: &CompressSettings, order: usize) -> Result<PlainSettings, TgpError> {
    let template = match &settings.template {
        Some(template) => template.clone(),
        None => Arc::new(Template::parse("formats", order)?),
    };
    let mut search = SearchSettings::default();
    search.seed = settings.seed;
    search.max_rank = settings.max_rank;
    search.budget.threads = settings.threads;
    Ok(PlainSettings {
        template,
        search,
        by_data: settings.by_data,
        rounds: 4,
        looser: if settings.tune { 3 } else { 0 },
    })
}

struct Tune<'a> {
    model: &'a Model,
    data: &'a Prepared,
    settings: &'a CompressSettings,
    limit: f64,
    stop: &'a Stop,
    sides: Vec<Side>,
}

impl Tune<'_> {
    fn fitter(&self, train: Rows, sweeps: usize, parallel: bool) -> Result<Fitter, TgpError> {
        let (validation, sides) = (self.data.validation.clone(), self.sides.clone());
        Fitter::new(train, validation, sides, self.model.kernel.clone(), sweeps, parallel)
            .against(self.model)
    }

    /// The smallest model whose cores are fitted to the data, and how many structures were fitted: first from the networks of
    /// the tensor, then from rank 1 on.
    fn search(
        &self,
        networks: Vec<Network>,
        front: &mut Vec<FrontPoint>,
        heard: &mut dyn FnMut(&str),
    ) -> Result<(Option<Model>, u64), TgpError> {
        let (model, sides) = (self.model, &self.sides);
        let full = self.fitter(self.data.train.clone(), SWEEPS.1, true)?;
        let dims = &full.dims;
        let mut evaluations = 0;
        let mut candidates = Vec::new();
        for network in networks {
            let structure = network.structure().clone();
            let (_, cores) = model.with_mean(network).whitened(sides)?;
            candidates
                .push(Candidate { structure, fit: Fit { cores, error: f64::INFINITY, sweeps: 0 } });
        }
        let mut best = self.smallest(&full, candidates, &mut evaluations, front, heard)?;
        if !self.stop.is_set() {
            let most = best.as_ref().map_or(model.mean.params(), |b| b.structure.params(dims));
            let (grown, count) = self.grow(most, front)?;
            evaluations += count;
            let grown = self.smallest(&full, grown, &mut evaluations, front, heard)?;
            let params = |c: &Candidate| c.structure.params(dims);
            if grown.as_ref().is_some_and(|g| best.as_ref().is_none_or(|b| params(g) < params(b))) {
                best = grown;
            }
        }
        let Some(made) = best else { return Ok((None, evaluations)) };
        let plan = Contraction::new(&made.structure.canonical().graph, dims)?;
        let at = Posterior { cores: made.fit.cores, roots: model.whitened_roots(sides) };
        Ok((Some(model.with_posterior(&made.structure, &plan, &at, sides)?), evaluations))
    }

    /// Structures that grow from rank 1 on and have fewer params than `most`, the smallest that are about good enough, with
    /// their cores; and how many were fitted.
    fn grow(
        &self,
        most: u128,
        front: &mut Vec<FrontPoint>,
    ) -> Result<(Vec<Candidate>, u64), TgpError> {
        let Tune { model, data, settings, limit, stop, .. } = self;
        let few = some_rows(&data.train, SEARCH_ROWS, settings.seed, b"tgp compress");
        let quick = Arc::new(self.fitter(few, SWEEPS.0, false)?);
        let target = Target::new(Metric::new(model, None)?.tensor(&model.mean)?)?;
        let mut search = SearchSettings::default();
        search.objective = Objective::MaxError(limit.min(0.999));
        search.seed = settings.seed;
        search.max_rank = settings.max_rank;
        (search.direct, search.prune, search.shrink, search.certificate_nodes) =
            (false, false, false, 0);
        (search.max_cost, search.max_phi) = (Some(1e15), most as f64 / target.entries() as f64);
        search.budget.threads = settings.threads;
        let (template, strategy) = match &settings.template {
            Some(t) if !(t.is_any() || t.is_formats() || t.is_any_tree()) => {
                (t.clone(), StrategySpec::new("tnls").set("samples", 20).set("iterations", 10))
            }
            _ => (Arc::new(Template::any(model.grids.len())?), StrategySpec::new("greedy")),
        };
        search.strategy = strategy;
        let search = Search::new(&target, template).settings(search).evaluator(quick);
        let result = search.front(true).stop(stop).run()?;
        front.extend(result.pareto.iter().map(|p| FrontPoint { params: p.params, mse: p.error }));
        // The best, and what is nearly good enough and smaller: on all rows it may be.
        let near =
            result.front.iter().chain(&result.best).filter(|b| b.score.error <= limit * 1.03);
        let candidates = near.filter_map(|b| {
            let fit = Fit { cores: entries(&b.fitted.cores)?, error: b.score.error, sweeps: 0 };
            // Without the edges of rank 1, which the complete graph has many of.
            let structure = match b.graph.internal() {
                0 => Structure::of_graph(&b.graph).ok()?,
                _ => b.structure.clone(),
            };
            Some(Candidate { structure, fit })
        });
        Ok((candidates.collect(), result.counts.evaluations))
    }

    /// The smallest candidate that is good enough when it is fitted to all rows, less what it does not need.
    fn smallest(
        &self,
        full: &Fitter,
        mut candidates: Vec<Candidate>,
        evaluations: &mut u64,
        front: &mut Vec<FrontPoint>,
        heard: &mut dyn FnMut(&str),
    ) -> Result<Option<Candidate>, TgpError> {
        candidates.sort_by_key(|c| c.structure.params(&full.dims));
        candidates.dedup_by_key(|c| c.structure.canonical().graph);
        for candidate in candidates {
            if self.stop.is_set() {
                break;
            }
            let made = self.finish(full, candidate, evaluations, front, heard)?;
            if made.is_some() {
                return Ok(made);
            }
        }
        Ok(None)
    }

    /// Fits a candidate to all rows; where it is good enough, takes ranks away as long as it stays so.
    fn finish(
        &self,
        full: &Fitter,
        candidate: Candidate,
        evaluations: &mut u64,
        front: &mut Vec<FrontPoint>,
        heard: &mut dyn FnMut(&str),
    ) -> Result<Option<Candidate>, TgpError> {
        let (dims, stop, seed) = (&full.dims, self.stop, self.settings.seed);
        let fit = |structure: &Structure, warm: Option<Vec<Vec<f64>>>| -> Result<Fit, TgpError> {
            let plan = Contraction::new(&structure.canonical().graph, dims)?;
            full.fit(&plan, warm, seed, stop)
        };
        let mut best = Candidate {
            fit: fit(&candidate.structure, Some(candidate.fit.cores))?,
            structure: candidate.structure,
        };
        *evaluations += 1;
        let point =
            |c: &Candidate| FrontPoint { params: c.structure.params(dims), mse: c.fit.error };
        front.push(point(&best));
        heard(&format!(
            "fitted to the data: {} params, MSE {:.4}",
            point(&best).params,
            best.fit.error
        ));
        if best.fit.error > self.limit {
            return Ok(None);
        }
        while !stop.is_set() {
            let mut found: Option<Candidate> = None;
            for smaller in narrower(&best.structure, dims)? {
                let made = fit(&smaller, None)?;
                *evaluations += 1;
                let made = Candidate { structure: smaller, fit: made };
                front.push(point(&made));
                let better = |f: &Candidate| {
                    let key = |c: &Candidate| (c.structure.params(dims), c.fit.error);
                    key(&made) < key(f)
                };
                if made.fit.error <= self.limit
                    && found.as_ref().is_none_or(better)
                    && !stop.is_set()
                {
                    found = Some(made);
                }
            }
            let Some(next) = found else { break };
            best = next;
            heard(&format!("less: {} params, MSE {:.4}", point(&best).params, best.fit.error));
        }
        Ok(Some(best))
    }
}

/// The structures with one rank less on one edge.
fn narrower(structure: &Structure, dims: &[usize]) -> Result<Vec<Structure>, TgpError> {
    let graph: ModeGraph = structure.canonical().graph;
    let mut out = Vec::new();
    for (e, &(u, v, rank)) in graph.edges().iter().enumerate() {
        let mut edges = graph.edges().to_vec();
        edges[e] = (u, v, rank - 1);
        edges.retain(|edge| edge.2 > 1);
        out.push(Structure::of_graph(&graph.with_edges(edges))?);
    }
    out.sort_by_key(|s| s.params(dims));
    Ok(out)
}
