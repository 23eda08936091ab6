//! Pruning by cut bounds changes nothing but the number of evaluations.

use std::sync::{Arc, Mutex};
use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
use tnsearch::fit::FitSettings;
use tnsearch::graph::{ModeGraph, Template};
use tnsearch::network::contract;
use tnsearch::problem::Objective;
use tnsearch::problem::Target;
use tnsearch::rng::stream;
use tnsearch::search::{
    Ask, Engine, FitEvaluator, Local, Outcome, SearchResult, Strategy, Tnls, TnlsSettings,
};
use tnsearch::tensor::Tensor;

use rand_distr::{Distribution, StandardNormal};

/// A TNLS that writes down its centres.
struct Watched {
    tnls: Tnls,
    run: usize,
    centres: Arc<Mutex<Centres>>,
}

impl Strategy for Watched {
    fn name(&self) -> &str {
        "watched"
    }

    fn ask(&mut self) -> Ask {
        self.tnls.ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.tnls.tell(outcomes);
        let (structure, loss) = self.tnls.centre().unwrap();
        self.centres.lock().unwrap()[self.run].push((structure.canonical().graph, loss));
    }

    /// A copy writes nothing down.
    fn fork(&self) -> Option<Box<dyn Strategy>> {
        self.tnls.fork()
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

/// The centres of each run: runs advance independently, so their order among each other means nothing.
type Centres = [Vec<(ModeGraph, f64)>; 2];

fn search(
    target: &Target,
    objective: Objective,
    seed: u64,
    prune: bool,
    threads: usize,
) -> (SearchResult, Centres) {
    let template = Arc::new(Template::ring(target.dims().len()).unwrap());
    let settings = FitSettings::default().with(|s| {
        s.restarts = 2;
        s.max_sweeps = 50;
    });
    let bound = CutBound::new(Spectra::new(target, SpectraSettings::default()));
    let tnls = TnlsSettings::default().with(|s| {
        s.iterations = 12;
        s.samples = 20;
        s.max_rank = 5;
    });
    let tnls = tnls.check().unwrap();
    let (centres, mut run) = (Arc::new(Mutex::new(Centres::default())), 0..);
    let fit = settings.check().unwrap();
    let mut engine =
        Engine::new(target.dims(), objective.check().unwrap(), fit).runs(seed, 2, |seed| Watched {
            tnls: Tnls::new(template.clone(), tnls.clone(), seed),
            run: run.next().unwrap(),
            centres: centres.clone(),
        });
    if prune {
        engine = engine.prune(bound);
    }
    let mut local = Local::new(Arc::new(FitEvaluator::new(target)), threads).unwrap();
    let mut result = engine.run(&mut local).unwrap();
    // All that the clock says of the best.
    result.best.iter_mut().for_each(|best| best.evaluation.seconds = 0.0);
    let centres = centres.lock().unwrap().clone();
    (result, centres)
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
