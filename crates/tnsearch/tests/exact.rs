//! Exact search against brute force: every permutation, every rank.
//!
//! `TNSEARCH_CASES=200 cargo test -p tnsearch --test exact` runs more cases than the default.

mod hidden;

use hidden::{Entry, Hidden, cases, every_structure, json_graph, structure};
use rand::RngExt as _;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use tnsearch::bound::{CutBound, Next, Relaxation, Spectra, SpectraSettings};
use tnsearch::fit::{CheckedFit, FitError, FitSettings, Fitted, Request, Run, fit};
use tnsearch::graph::{ModeGraph, Template};
use tnsearch::problem::Objective;
use tnsearch::problem::Stop;
use tnsearch::rng::stream;
use tnsearch::search::{
    Ask, Engine, Evaluator, Exact, ExactSettings, FitEvaluator, Local, SearchResult, Strategy,
};

/// A small problem: order 3 to 5, dimensions 2 and 3, ranks up to 3.
struct Case {
    number: u64,
    template: Arc<Template>,
    max_rank: usize,
    hidden: Hidden,
    /// Above what the hidden structure reaches.
    eps: f64,
}

impl Case {
    fn new(number: u64) -> Case {
        let mut rng = stream(number, b"exact case");
        let order = 3 + (number / 5 % 3) as usize;
        let (template, max_rank) = match number % 5 {
            0 => (Template::ring(order).unwrap(), 3),
            1 => (Template::path(order).unwrap(), 3),
            2 => (Template::star(order).unwrap(), 3),
            3 => (Template::tree(order).unwrap(), 3),
            _ => (json_graph(order), if order == 3 { 3 } else { 2 }),
        };
        let template = Arc::new(template);
        let dims: Vec<usize> = (0..order).map(|_| rng.random_range(2..=3)).collect();
        let noise = [0.0, 0.003, 0.0, 0.03, 0.0, 0.2, 0.0][number as usize % 7];
        let structure = structure(&template, max_rank, &mut rng);
        let hidden = Hidden::new(structure, &dims, 1.0, noise, &mut rng);
        let eps = if noise == 0.0 { 1e-4 } else { 1.1 * hidden.rse };
        Case { number, template, max_rank, hidden, eps }
    }

    fn dims(&self) -> &[usize] {
        self.hidden.target.dims()
    }

    fn bound(&self) -> CutBound {
        CutBound::new(Spectra::new(&self.hidden.target, SpectraSettings::default()))
    }

    fn every_structure(&self) -> Vec<Entry> {
        every_structure(&self.template, self.max_rank, self.dims())
    }

    fn relaxation(&self, objective: Objective, bound: &CutBound) -> Relaxation {
        Relaxation::new(self.template.clone(), objective.check().unwrap(), bound, self.max_rank)
    }

    fn search(
        &self,
        objective: Objective,
        evaluator: Arc<dyn Evaluator>,
        fit: &CheckedFit,
    ) -> SearchResult {
        let bound = self.bound();
        let checked = objective.check().unwrap();
        let settings = ExactSettings::default().with(|s| s.candidates = 100_000);
        let settings = settings.check().unwrap();
        Engine::new(self.dims(), checked, fit.clone())
            .runs(self.number, 1, |_| {
                Exact::new(self.relaxation(objective, &bound), checked, settings.clone())
            })
            .max_phi(1e9)
            .run(&mut Local::new(evaluator, 1).unwrap())
            .unwrap()
    }

    fn about(&self) -> String {
        let (n, x) = (self.number, &self.hidden);
        format!(
            "case {n}: {} {:?} {} eps {:.3e}",
            self.template.name(),
            self.dims(),
            x.graph,
            self.eps
        )
    }
}

/// Fits with many starts, and each structure once, so that search and brute force see the same errors. The
/// hidden structure also starts from its own cores: it is known to reach what it reaches.
struct ManyStarts {
    case: Arc<Case>,
    settings: CheckedFit,
    known: Mutex<HashMap<ModeGraph, Fitted>>,
}

impl ManyStarts {
    fn new(case: &Arc<Case>, enough_rse: f64) -> Arc<Self> {
        let settings = FitSettings::default().with(|s| {
            s.restarts = 12;
            s.rescue = 8;
            s.enough_rse = enough_rse;
        });
        let settings = settings.check().unwrap();
        Arc::new(ManyStarts { case: case.clone(), settings, known: Mutex::default() })
    }

    fn rse(&self, graph: &ModeGraph) -> f64 {
        self.fitted(graph, &Stop::new()).unwrap().error
    }

    fn fitted(&self, graph: &ModeGraph, stop: &Stop) -> Result<Fitted, FitError> {
        if let Some(fitted) = self.known.lock().unwrap().get(graph) {
            return Ok(fitted.clone());
        }
        let hidden = &self.case.hidden;
        let warm = (*graph == hidden.graph).then(|| hidden.erased());
        let request = Request::new(graph.clone(), self.settings.clone(), self.case.number);
        let request = Request { warm: warm.map(Arc::new), ..request };
        let fitted = fit(&hidden.target, &request, &Run::until(stop))?;
        self.known.lock().unwrap().insert(graph.clone(), fitted.clone());
        Ok(fitted)
    }

    fn search(self: &Arc<Self>, objective: Objective) -> SearchResult {
        self.case.search(objective, self.clone(), &self.settings)
    }
}

impl Evaluator for ManyStarts {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        self.fitted(&request.graph, stop)
    }
}

/// The fewest params with which a fit reaches the error. Small cases fit whatever is smaller, the others
/// only what the cuts leave.
fn fewest_params(case: &Case, fits: &ManyStarts) -> u128 {
    let bound = case.bound();
    let fit_all = case.dims().len() == 3;
    let feasible = |entry: &Entry| {
        (fit_all || bound.rse(&entry.graph, f64::INFINITY) <= case.eps)
            && fits.rse(&entry.graph) <= case.eps
    };
    case.every_structure().iter().find(|&entry| feasible(entry)).unwrap().params
}

#[test]
fn the_answer_is_that_of_brute_force() {
    let (mut certified, n) = (0, cases(60));
    for case in (0..n).map(Case::new).map(Arc::new) {
        let fits = ManyStarts::new(&case, case.eps);
        let truth = fewest_params(&case, &fits);
        assert!(truth <= case.hidden.structure.params(case.dims()), "{}", case.about());
        let result = fits.search(Objective::MaxError(case.eps));
        let found = result.best.as_ref().unwrap().score;
        assert!(result.target_reached, "{}", case.about());
        assert_eq!(found.params, truth, "{}", case.about());
        let low = result.lower_bound.unwrap().params.unwrap();
        assert!(low <= truth, "{}: bound {low}, truth {truth}", case.about());
        assert_eq!(result.certified_optimal, low == truth, "{}", case.about());
        certified += u64::from(result.certified_optimal);
    }
    println!("certified {certified} of {n}");
    assert!(2 * certified > n, "certified {certified} of {n}");
}

#[test]
fn the_commands_own_fits_mostly_find_the_same() {
    let (mut same, n) = (0, cases(60));
    for case in (0..n).map(Case::new).map(Arc::new) {
        let objective = Objective::MaxError(case.eps);
        let truth = ManyStarts::new(&case, case.eps).search(objective).best.unwrap().score;
        let settings = FitSettings::default().with(|s| {
            s.rescue = 4;
            s.enough_rse = case.eps;
        });
        let settings = settings.check().unwrap();
        let evaluator = Arc::new(FitEvaluator::new(&case.hidden.target));
        let result = case.search(objective, evaluator, &settings);
        let found = result.best.unwrap().score;
        match found.params == truth.params && result.target_reached {
            true => same += 1,
            false => println!("{}: {} not {}", case.about(), found.params, truth.params),
        }
        assert!(!result.certified_optimal || found.params <= truth.params, "{}", case.about());
    }
    println!("the same in {same} of {n}");
    assert!(100 * same >= 95 * n, "the same in {same} of {n}");
}

/// The value of a structure in the relaxed problem, by its definition; none where it is ruled out.
fn relaxed_value(objective: Objective, entry: &Entry, size: f64, rse: f64) -> Option<f64> {
    let params = entry.params as f64;
    match objective {
        Objective::MaxError(eps) => (rse <= eps).then_some(params),
        Objective::MaxParams(budget) => (entry.params <= budget).then_some(rse),
        Objective::Lambda(lambda) => Some(params / size + lambda * rse),
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn the_relaxation_hands_out_every_structure_not_ruled_out_the_best_first() {
    for case in (0..cases(60)).map(Case::new) {
        let bound = case.bound();
        let size: f64 = case.dims().iter().map(|&d| d as f64).product();
        let budget = case.hidden.structure.params(case.dims());
        for objective in
            [Objective::MaxError(case.eps), Objective::MaxParams(budget), Objective::Lambda(20.0)]
        {
            let about = format!("{objective:?} {}", case.about());
            let mut values: HashMap<ModeGraph, f64> = HashMap::new();
            for entry in case.every_structure() {
                let rse = bound.rse(&entry.graph, f64::INFINITY);
                if let Some(value) = relaxed_value(objective, &entry, size, rse) {
                    values.insert(entry.graph, value);
                }
            }
            let least = values.values().copied().fold(f64::INFINITY, f64::min);
            let mut relaxation = case.relaxation(objective, &bound);
            let mut seen = HashSet::new();
            let mut last = f64::NEG_INFINITY;
            loop {
                let floor = relaxation.floor();
                let candidate = match relaxation.next(u64::MAX) {
                    Next::Candidate(candidate) => candidate,
                    Next::Nothing => break,
                    Next::Spent(_) => panic!("spent: {about}"),
                };
                let graph = candidate.structure.canonical().graph;
                assert!(floor.unwrap() <= candidate.value && last <= candidate.value, "{about}");
                let expected = values.get(&graph).unwrap_or_else(|| panic!("{graph} {about}"));
                assert!((candidate.value - expected).abs() <= 1e-12 * expected, "{graph} {about}");
                if seen.is_empty() {
                    assert!((candidate.value - least).abs() <= 1e-12 * least, "{about}");
                }
                last = candidate.value;
                seen.insert(graph);
            }
            assert_eq!(seen.len(), values.len(), "{about}");
        }
    }
}

#[test]
fn losses_and_budgets_agree_with_brute_force() {
    let (mut certified, mut searches) = (0, 0);
    // Orders 3 and 4: here a structure cannot be skipped for its size alone.
    for case in (0..cases(60)).map(Case::new).filter(|c| c.dims().len() < 5).map(Arc::new) {
        let bound = case.bound();
        let all = case.every_structure();
        let size: f64 = case.dims().iter().map(|&d| d as f64).product();
        let budget = case.hidden.structure.params(case.dims());
        let sum: usize = case.dims().iter().sum();
        let less = (budget * 3 / 4).max(sum as u128 + 1);
        for objective in
            [Objective::Lambda(1.0), Objective::Lambda(200.0), Objective::MaxParams(less)]
        {
            let about = format!("{objective:?} {}", case.about());
            let fits = ManyStarts::new(&case, 1e-12);
            let value = |entry: &Entry, rse| relaxed_value(objective, entry, size, rse);
            let mut truth = f64::INFINITY;
            for entry in &all {
                let low = value(entry, bound.rse(&entry.graph, f64::INFINITY));
                if low.is_some_and(|low| low < truth) {
                    let rse = fits.rse(&entry.graph);
                    truth = truth.min(value(entry, rse).unwrap());
                }
            }
            let result = fits.search(objective);
            let found = result.best.as_ref().unwrap().score;
            let (found, low) = match objective {
                Objective::MaxParams(_) => (found.error, result.lower_bound.unwrap().error),
                _ => (found.loss, result.lower_bound.unwrap().loss),
            };
            let close = 1e-9 * truth.max(1.0);
            assert!((found - truth).abs() <= close, "{about}: {found} not {truth}");
            assert!(low.unwrap() <= truth + close, "{about}: bound {low:?}, truth {truth}");
            searches += 1;
            certified += usize::from(result.certified_optimal);
        }
    }
    println!("certified {certified} of {searches}");
    assert!(5 * certified > searches, "certified {certified} of {searches}");
}

/// Where the preparation took all the time there was for proofs, something is fitted all the same.
#[test]
fn hurried_from_the_start_it_still_proposes_structures() {
    let hurry = Stop::new();
    hurry.set();
    for number in 0..15 {
        let case = Case::new(number);
        let (bound, objective) = (case.bound(), Objective::MaxError(case.eps).check().unwrap());
        let (template, never) = (case.template.clone(), Stop::new());
        let relaxation =
            Relaxation::stoppable(template, objective, &bound, case.max_rank, &never, &hurry);
        let settings = ExactSettings::default().check().unwrap();
        let mut exact = Exact::new(relaxation, objective, settings);
        let Ask::Generation(generation) = exact.ask() else { panic!("{}", case.about()) };
        assert!(!generation.structures.is_empty(), "{}", case.about());
    }
}
