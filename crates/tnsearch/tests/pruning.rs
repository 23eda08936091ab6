//! Pruning by cut bounds changes nothing but the number of evaluations.

use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
use tnsearch::fit::FitSettings;
use tnsearch::graph::{ModeGraph, Template};
use tnsearch::network::contract;
use tnsearch::problem::Objective;
use tnsearch::problem::Target;
use tnsearch::rng::stream;
use tnsearch::search::{
    FitEvaluator, Outcome, Runner, RunnerSettings, SearchResult, Strategy, Tnls, TnlsSettings,
};
use tnsearch::tensor::Tensor;

use rand_distr::{Distribution, StandardNormal};

/// A TNLS that writes down its centres.
struct Watched<'w> {
    tnls: Tnls,
    centres: &'w std::sync::Mutex<Vec<(ModeGraph, f64)>>,
}

impl Strategy for Watched<'_> {
    fn name(&self) -> &'static str {
        "watched"
    }

    fn ask(&mut self) -> Vec<tnsearch::graph::Structure> {
        self.tnls.ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.tnls.tell(outcomes);
        let (structure, loss) = self.tnls.centre().unwrap();
        self.centres.lock().unwrap().push((structure.canonical().graph, loss));
    }

    fn only_below(&self) -> Option<f64> {
        self.tnls.only_below()
    }
}

/// A hidden ring with a little noise.
fn hidden(order: usize, noise: f64, seed: u64) -> Target {
    let mut rng = stream(seed, b"pruning");
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let edges = (0..order).map(|v| (v, (v + 1) % order, 2 + (v + seed as usize) % 2)).collect();
    let graph = ModeGraph::new(order, 0, edges);
    let dims = vec![3; order];
    let cores: Vec<Tensor> = (0..order)
        .map(|v| {
            let shape = graph.core_dims(v, &dims);
            let n = shape.iter().product();
            Tensor::new(shape, (0..n).map(|_| normal()).collect()).unwrap()
        })
        .collect();
    let mut x = contract(&graph, &dims, &cores);
    let level = noise * (x.norm_squared() / x.len() as f64).sqrt();
    x.data_mut().iter_mut().for_each(|x| *x += level * normal());
    Target::new(x).unwrap()
}

type Centres = Vec<(ModeGraph, f64)>;

fn search(
    target: &Target,
    objective: Objective,
    seed: u64,
    prune: bool,
    threads: usize,
) -> (SearchResult, Centres) {
    let template = Arc::new(Template::ring(target.dims().len()).unwrap());
    let settings = FitSettings { restarts: 2, max_sweeps: 50, ..FitSettings::default() };
    let evaluator = FitEvaluator { target, settings: settings.check().unwrap() };
    let bound = CutBound::new(Spectra::new(target, SpectraSettings::default()));
    let tnls = TnlsSettings { iterations: 12, samples: 20, max_rank: 5, ..TnlsSettings::default() };
    let tnls = tnls.check().unwrap();
    let centres = std::sync::Mutex::new(Vec::new());
    let mut runner = Runner::new(target.dims(), objective.check().unwrap(), &evaluator)
        .runs(seed, 2, |seed| Watched {
            tnls: Tnls::new(template.clone(), tnls.clone(), seed),
            centres: &centres,
        })
        .settings(RunnerSettings { threads: Some(threads), ..Default::default() }.check().unwrap());
    if prune {
        runner = runner.prune(&bound);
    }
    let result = runner.search().unwrap();
    (result, centres.into_inner().unwrap())
}

#[test]
fn the_walk_and_the_answer_are_the_same_with_and_without() {
    let objectives =
        [Objective::Lambda(200.0), Objective::MaxError(1e-3), Objective::MaxParams(90)];
    for (order, noise, seed) in [(4, 0.0, 1), (5, 0.02, 2), (6, 0.0, 3), (5, 0.0, 4), (4, 0.1, 5)] {
        let target = hidden(order, noise, seed);
        for objective in objectives {
            let (plain, way) = search(&target, objective, seed, false, 2);
            let (pruned, same_way) = search(&target, objective, seed, true, 2);
            assert_eq!(way, same_way, "{objective:?} order {order}");
            assert_eq!(plain.best, pruned.best, "{objective:?} order {order}");
            assert!(pruned.counts.evaluations < plain.counts.evaluations, "{:?}", pruned.counts);
            assert_eq!(plain.counts.samples, pruned.counts.samples);
            let (again, _) = search(&target, objective, seed, true, 1);
            assert_eq!((again.best, again.counts), (pruned.best, pruned.counts), "threads");
        }
    }
}
