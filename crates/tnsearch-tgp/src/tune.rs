//! The search of structures whose cores are fitted to the training rows: from the networks of the tensor, and from rank 1 on.

use super::TgpError;
use super::bound::Posterior;
use super::compress::{CompressSettings, FrontPoint};
use super::contract::Contraction;
use super::fitter::{Fit, Fitter, entries};
use super::kernel::Side;
use super::model::Model;
use super::plain::Metric;
use super::rows::Rows;
use super::train::{Prepared, some_rows};
use std::sync::Arc;
use tnsearch::graph::{ModeGraph, Structure, Template};
use tnsearch::network::Network;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::search::{Search, SearchSettings, StrategySpec};

/// Training rows that structures are compared on; the answer is fitted to all.
const SEARCH_ROWS: usize = 6000;
/// The sweeps of a fit during the search, and of the last one.
const SWEEPS: (usize, usize) = (6, 20);

/// What was found on the way.
struct Candidate {
    structure: Structure,
    fit: Fit,
}

/// Structures whose cores are fitted to the rows.
pub(super) struct Tune<'a> {
    pub model: &'a Model,
    pub data: &'a Prepared,
    pub settings: &'a CompressSettings,
    pub limit: f64,
    pub stop: &'a Stop,
    pub sides: Vec<Side>,
}

impl Tune<'_> {
    fn fitter(&self, train: Rows, sweeps: usize, parallel: bool) -> Result<Fitter, TgpError> {
        let (validation, sides) = (self.data.validation.clone(), self.sides.clone());
        Fitter::new(train, validation, sides, self.model.kernel.clone(), sweeps, parallel)
            .against(self.model)
    }

    /// The smallest model whose cores are fitted to the data, and how many structures were fitted: first from the networks of
    /// the tensor, then from rank 1 on.
    pub fn search(
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
        search.max_rank = Some(settings.max_rank);
        (search.direct, search.prune, search.shrink, search.certificate_nodes) =
            (false, false, false, 0);
        search.max_cost = Some(1e15);
        search.max_phi = Some(most as f64 / target.entries() as f64);
        search.budget.threads = settings.threads;
        let (template, strategy) = match &settings.template {
            Some(t) if !(t.is_any() || t.is_formats() || t.is_any_tree()) => {
                (t.clone(), StrategySpec::new("tnls").set("samples", 20).set("iterations", 10))
            }
            _ => (Arc::new(Template::any(model.grids.len())?), StrategySpec::new("greedy")),
        };
        search.strategy = strategy;
        let search = Search::new(&target).template(template).settings(search).evaluator(quick);
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
