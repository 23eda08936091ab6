//! What holds for all runs of a search: what is asked, what is not fitted, what an outcome is worth.

use super::run::{Job, Parent, Resolved, Slot};
use crate::fit::{Effort, Fitted, sweep_cost};
use crate::graph::{GraphError, ModeGraph, Structure};
use crate::network::Network;
use crate::problem::CheckedObjective;
use crate::search::{Outcome, Source};
use crate::tensor::size;
use std::sync::Arc;

/// Bounds the error of structures from below.
pub trait ErrorBound: Send + Sync {
    /// A number that no fit of the structure can go below. May stop looking once it has reached `enough`.
    fn error(&self, graph: &ModeGraph, enough: f64) -> f64;
}

impl ErrorBound for crate::bound::CutBound {
    fn error(&self, graph: &ModeGraph, enough: f64) -> f64 {
        self.rse(graph, enough)
    }
}

pub(super) struct Rules {
    /// The dimensions that parameters are counted with.
    pub dims: Vec<usize>,
    /// Those of the tensor that is fitted, which may be smaller.
    pub data_dims: Vec<usize>,
    pub objective: CheckedObjective,
    /// What prunes, if anything does.
    pub bound: Option<Arc<dyn ErrorBound>>,
    pub max_phi: f64,
    /// Whether fits begin at the cores of what they were drawn around.
    pub carry: bool,
    pub max_cost: Option<f64>,
    /// Whether a budget of evaluations cuts in the order of proposal: without pruning, fits are made in that order.
    pub cuts_in_order: bool,
}

impl Rules {
    pub fn job(
        &self,
        place: Slot,
        structure: Structure,
        effort: Effort,
        parent: Option<Arc<Parent>>,
        bounded: bool,
    ) -> Result<Job, GraphError> {
        let dims = &self.dims;
        structure.check_order(dims.len())?;
        let (params, phi) = (structure.params(dims), structure.phi(dims));
        let graph = structure.canonical().graph;
        let bound = self.bound.as_ref().filter(|_| bounded);
        let error = bound.map_or(0.0, |bound| bound.error(&graph, f64::INFINITY));
        let at_best = self.objective.score(params, phi, error);
        Ok(Job {
            place,
            effort,
            structure,
            parent,
            far: None,
            walk: None,
            asked: None,
            graph,
            params,
            phi,
            at_best,
        })
    }

    /// What a walk ended at, as a job at its place with its cores in their canonical order; none where that is no
    /// structure of the template.
    pub fn found_by(&self, job: &Job, fitted: Fitted) -> Option<(Job, Fitted)> {
        let Some(graph) = &fitted.graph else {
            return Some((self.found(job, job.structure.clone())?, fitted));
        };
        let (structure, places) = Structure::placed_in(job.structure.template(), graph)?;
        let found = self.found(job, structure.clone())?;
        if *graph == found.graph && graph.internal() == 0 {
            return Some((found, fitted));
        }
        let on = (graph, &places[..]);
        let network =
            Network::from_placed(structure, self.data_dims.clone(), on, fitted.cores).ok()?;
        let (graph, cores) = network.to_mode_graph();
        Some((found, Fitted { cores, graph: Some(graph), ..fitted }))
    }

    /// The same for its structure.
    pub fn found(&self, job: &Job, structure: Structure) -> Option<Job> {
        let found = self.job(job.place, structure, job.effort, None, false).ok()?;
        Some(Job { walk: job.walk.clone(), asked: Some(job.graph.clone()), ..found })
    }

    /// The outcome of a structure that need not be fitted whatever else is: one beyond the parameter budget,
    /// or too large for any use. (What bounds rule out depends on what else was found.)
    pub fn verdict_without_fit(&self, job: &Job) -> Option<Outcome> {
        let outcome = |loss, source| Outcome { loss, error: None, params: job.params, source };
        if let Some(loss) = self.objective.loss_beyond_budget(job.params) {
            return Some(outcome(loss, Source::Pruned));
        }
        let costs =
            |limit: f64| sweep_cost(&job.graph, &self.data_dims) > limit * size(&self.dims) as f64;
        // Without cycles, truncated SVDs take the place of sweeps; direct starts make no more than they can afford.
        let swept = match job.effort {
            Effort::Direct => false,
            effort => effort.is_full() || !job.graph.is_forest(),
        };
        let too_large = job.phi >= self.max_phi || swept && self.max_cost.is_some_and(costs);
        too_large.then(|| outcome(self.as_zero(job), Source::Refused))
    }

    /// The loss of the zero network.
    fn as_zero(&self, job: &Job) -> f64 {
        self.objective.loss(job.params, job.phi, 1.0)
    }

    /// What a strategy is told of a job.
    pub fn outcome(&self, job: &Job, resolved: &Resolved) -> Outcome {
        let (loss, error, source) = match resolved {
            Resolved::Evaluated(e) => {
                let loss = self.objective.loss(job.params, job.phi, e.error);
                let direct = job.effort == Effort::Direct;
                (loss, Some(e.error), if direct { Source::Direct } else { Source::Evaluated })
            }
            Resolved::Found(found, e) => {
                let outcome = Outcome {
                    loss: e.loss,
                    error: Some(e.error),
                    params: found.params,
                    source: Source::Evaluated,
                };
                return outcome;
            }
            Resolved::Refused => (self.as_zero(job), None, Source::Refused),
            Resolved::Pruned => (job.at_best.loss, None, Source::Pruned),
        };
        Outcome { loss, error, params: job.params, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{CutBound, Spectra, SpectraSettings};
    use crate::graph::Template;
    use crate::problem::{Objective, Target};
    use crate::rng::stream;
    use crate::tensor::{Scalar, Tensor};

    /// Powers of two, so that a cost is so many times the entries to the last bit.
    const DIMS: [usize; 4] = [2, 4, 2, 4];

    fn rules(max_phi: f64, max_cost: Option<f64>) -> Rules {
        Rules {
            dims: DIMS.to_vec(),
            data_dims: DIMS.to_vec(),
            objective: Objective::Lambda(1.0).check().unwrap(),
            bound: None,
            max_phi,
            carry: true,
            max_cost,
            cuts_in_order: false,
        }
    }

    fn job(template: &str, ranks: &[usize], effort: Effort) -> Job {
        let template = Arc::new(Template::parse(template, 4).unwrap());
        let structure = Structure::identity(template, ranks.to_vec()).unwrap();
        let place = Slot { generation: 1, run: 0, index: 0 };
        rules(9.0, None).job(place, structure, effort, None, false).unwrap()
    }

    #[test]
    fn a_structure_is_refused_where_a_sweep_takes_more_than_it_may() {
        let (ring, path) = (|e| job("ring", &[2, 3, 2, 3], e), |e| job("path", &[2, 3, 2], e));
        let per_entry = |job: &Job| sweep_cost(&job.graph, &DIMS) / 64.0;
        for effort in [Effort::Full, Effort::Quick, Effort::Direct] {
            for (job, is_path) in [(ring(effort), false), (path(effort), true)] {
                // Direct starts cost what they can afford, quick ones of trees are SVDs.
                let swept = effort == Effort::Full || effort == Effort::Quick && !is_path;
                let verdict = |cost: f64| rules(9.0, Some(cost)).verdict_without_fit(&job);
                let exactly = per_entry(&job);
                assert_eq!(verdict(exactly), None);
                let less = verdict(exactly * (1.0 - 1e-12));
                assert_eq!(
                    less.map(|o| (o.source, o.error)),
                    swept.then_some((Source::Refused, None))
                );
            }
        }
    }

    #[test]
    fn a_structure_is_refused_from_the_largest_phi_on() {
        let job = job("ring", &[2, 2, 2, 2], Effort::Full);
        assert_eq!((job.params, job.phi), (48, 0.75));
        assert_eq!(rules(0.76, None).verdict_without_fit(&job), None);
        let refused = rules(0.75, None).verdict_without_fit(&job).unwrap();
        // Worth as much as the zero network.
        assert_eq!((refused.loss, refused.source), (0.75 + 1.0, Source::Refused));
    }

    #[test]
    fn a_cut_bound_is_a_bound_on_errors() {
        let mut rng = stream(1, b"cut bound");
        let data = (0..64).map(|_| f64::normal(&mut rng)).collect();
        let target = Target::new(Tensor::new(DIMS.to_vec(), data).unwrap()).unwrap();
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        let graph = job("ring", &[1, 1, 1, 1], Effort::Full).graph;
        let error = ErrorBound::error(&bound, &graph, f64::INFINITY);
        assert!(error > 0.1 && error < 1.0, "{error}");
        assert_eq!(error, bound.rse(&graph, f64::INFINITY));
    }
    /// A walk may number internal vertices as it likes: what it ended at comes back in canonical form, the same tensor.
    #[test]
    fn what_a_walk_ended_at_is_brought_to_its_canonical_form() {
        let edges = vec![(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)];
        let inner = vec![true, true, true, true, false, false];
        let template = Arc::new(Template::from_graph("mine", inner, edges).unwrap());
        let structure = Structure::identity(template, vec![2; 5]).unwrap();
        let place = Slot { generation: 1, run: 0, index: 0 };
        let began = rules(9.0, None).job(place, structure, Effort::Adapt, None, false).unwrap();
        assert_eq!(began.graph.internal(), 2);
        for swapped in [false, true] {
            let other = |v: usize| if v < 4 || !swapped { v } else { 9 - v };
            let edges = began.graph.edges().iter().map(|&(a, b, r)| (other(a), other(b), r));
            let edges = edges.map(|(a, b, r)| (a.min(b), a.max(b), r)).collect();
            let graph = ModeGraph::new(4, 2, edges);
            let mut rng = stream(3, b"walk");
            let cores = (0..6).map(|v| {
                let shape = graph.core_dims(v, &DIMS);
                let entries = (0..shape.iter().product()).map(|_| f64::normal(&mut rng)).collect();
                crate::tensor::AnyTensor::from(Tensor::new(shape, entries).unwrap())
            });
            let cores: Vec<_> = cores.collect();
            let ended =
                Fitted { graph: Some(graph.clone()), ..Fitted::without_work(cores.clone(), 0.5) };
            let (found, fitted) = rules(9.0, None).found_by(&began, ended).unwrap();
            assert_eq!(fitted.graph.as_ref(), Some(&found.graph));
            assert_eq!(found.asked.as_ref(), Some(&began.graph));
            let network =
                Network::from_fitted(found.structure.clone(), DIMS.to_vec(), fitted.cores).unwrap();
            let (structure, places) =
                Structure::placed_in(began.structure.template(), &graph).unwrap();
            let on = (&graph, &places[..]);
            let given = Network::from_placed(structure, DIMS.to_vec(), on, cores).unwrap();
            let (x, z) = (given.to_tensor(None).unwrap(), network.to_tensor(None).unwrap());
            assert!((0..x.len()).all(|k| (x.entry(k) - z.entry(k)).re.abs() < 1e-10));
        }
    }
}
