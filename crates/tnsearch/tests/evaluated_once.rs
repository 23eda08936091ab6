//! Structures that differ by a symmetry of the template are fitted once: by the cache, whatever a strategy
//! proposes, and by exact search, which never proposes the second.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use tnsearch::bound::{CutBound, Next, Relaxation, Spectra, SpectraSettings};
use tnsearch::fit::{Effort, FitError, FitSettings, Fitted, Request};
use tnsearch::geometry::{Internal, Placements};
use tnsearch::graph::{ModeGraph, Structure, Template};
use tnsearch::problem::Objective;
use tnsearch::problem::{Stop, Target};
use tnsearch::search::{
    Ask, Engine, Evaluator, Exact, ExactSettings, FitEvaluator, Generation, Local, Outcome, Source,
    Strategy,
};
use tnsearch_app::Synthetic;

/// Proposes all ways of writing a structure, half of them in each of two generations.
struct EveryWay {
    ways: Vec<Structure>,
    sources: Arc<Mutex<Vec<Source>>>,
}

impl Strategy for EveryWay {
    fn name(&self) -> &str {
        "every-way"
    }

    fn ask(&mut self) -> Ask {
        let half = self.ways.len().div_ceil(2);
        Generation::new(self.ways.drain(..half).collect()).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        assert!(outcomes.windows(2).all(|w| w[0].loss == w[1].loss));
        self.sources.lock().unwrap().extend(outcomes.iter().map(|o| o.source));
    }
}

/// The structure with its vertices moved by each symmetry of the template.
fn ways(structure: &Structure) -> Vec<Structure> {
    let template = structure.template();
    let placements = Placements::new(template.clone(), Internal::Free).unwrap();
    let moved = |p: Vec<usize>| {
        let permutation = structure.permutation().iter().map(|&v| p[v]).collect();
        let mut ranks = vec![0; structure.ranks().len()];
        for (&(u, v), &rank) in template.edges().iter().zip(structure.ranks()) {
            let edge = (p[u].min(p[v]), p[u].max(p[v]));
            ranks[template.edges().binary_search(&edge).unwrap()] = rank;
        }
        Structure::new(template.clone(), permutation, ranks).unwrap()
    };
    placements.automorphisms().elements(1000).unwrap().map(moved).collect()
}

fn tensor(template: &Arc<Template>, dim: usize, ranks: (usize, usize)) -> (Target, Structure) {
    let made = Synthetic::new(template.clone(), vec![dim; template.order()], ranks);
    let made = made.generate(3).unwrap();
    (Target::new(made.tensor.clone()).unwrap(), made.structure().clone())
}

#[test]
fn the_cache_answers_every_other_way_of_writing_a_structure() {
    for (spec, symmetries) in [("ring", 12), ("path", 2), ("peps:2x3", 4), ("ht", 8), ("star", 120)]
    {
        let template = Arc::new(Template::parse(spec, 6).unwrap());
        let (target, structure) = tensor(&template, 2, (1, 3));
        let ways = ways(&structure);
        assert_eq!(ways.len(), symmetries, "{spec}");
        assert!(ways[1..].iter().all(|w| *w != structure), "each is written differently");
        let settings = FitSettings::default().with(|s| s.restarts = 1).check().unwrap();
        let mut threads = Local::new(Arc::new(FitEvaluator::new(&target)), 2).unwrap();
        let sources = Arc::new(Mutex::new(Vec::new()));
        let objective = Objective::Lambda(200.0).check().unwrap();
        let result = Engine::new(target.dims(), objective, settings)
            .runs(1, 1, |_| EveryWay { ways: ways.clone(), sources: sources.clone() })
            .run(&mut threads)
            .unwrap();
        let counts = &result.counts;
        assert_eq!((counts.evaluations, counts.cached), (1, symmetries as u64 - 1), "{spec}");
        let sources = sources.lock().unwrap();
        assert_eq!(sources[0], Source::Evaluated);
        assert!(sources[1..].iter().all(|s| *s == Source::Cached), "{spec}");
    }
}

/// Counts how often each structure is fitted, and says of every fit that it failed: exact search then goes
/// on up its list.
struct Failing {
    inner: FitEvaluator,
    fits: Mutex<HashMap<(ModeGraph, Effort), usize>>,
}

impl Evaluator for Failing {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        let key = (request.graph.clone(), request.effort);
        *self.fits.lock().unwrap().entry(key).or_default() += 1;
        Ok(Fitted { error: 1.0, ..self.inner.evaluate(request, stop)? })
    }
}

/// Quickly first, and the nearest to the error once more with full effort; never one under another name.
#[test]
fn exact_search_fits_no_structure_twice() {
    const FITS: usize = 60;
    for spec in ["ring", "path", "star", "ht"] {
        let template = Arc::new(Template::parse(spec, 4).unwrap());
        let (target, _) = tensor(&template, 3, (2, 3));
        let settings = FitSettings::default().with(|s| {
            s.restarts = 1;
            s.max_sweeps = 2;
        });
        let inner = FitEvaluator::new(&target);
        let evaluator = Arc::new(Failing { inner, fits: Mutex::default() });
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        let objective = Objective::MaxError(0.5).check().unwrap();
        let relaxation = || Relaxation::new(template.clone(), objective, &bound, 3);
        let exact = ExactSettings::default().with(|s| {
            s.candidates = FITS;
            s.growth = 0;
        });
        let exact = exact.check().unwrap();
        let result = Engine::new(target.dims(), objective, settings.check().unwrap())
            .runs(1, 1, |_| Exact::new(relaxation(), objective, exact.clone()))
            .max_phi(1e9)
            .run(&mut Local::new(evaluator.clone(), 2).unwrap())
            .unwrap();
        let fits = evaluator.fits.lock().unwrap();
        let quick = fits.keys().filter(|(_, effort)| !effort.is_full()).count();
        assert_eq!(quick, FITS, "{spec}");
        assert!(fits.values().all(|&n| n == 1), "{spec}");
        // Nor does it propose one twice: the cache has nothing to answer.
        let counts = &result.counts;
        assert_eq!((counts.cached, counts.evaluations), (0, fits.len() as u64), "{spec}");
        // The relaxed problem alone does hand out ways of writing the same structure (a ring turned over).
        let mut relaxation = relaxation();
        let mut graphs = HashMap::<ModeGraph, usize>::new();
        while graphs.len() < FITS
            && let Next::Candidate(candidate) = relaxation.next(u64::MAX)
        {
            *graphs.entry(candidate.structure.canonical().graph).or_default() += 1;
        }
        assert!(graphs.values().any(|&n| n > 1), "{spec}");
    }
}
