//! Every strategy on tensors with a known structure, with real fits.

use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
use tnsearch::fit::FitSettings;
use tnsearch::graph::Template;
use tnsearch::problem::Objective;
use tnsearch::problem::Target;
use tnsearch::search::{
    Annealing, AnnealingSettings, EvaluationRecord, FitEvaluator, Greedy, GreedySettings,
    RandomSearch, RandomSettings, Runner, RunnerSettings, SearchResult, Strategy, Tnale,
    TnaleSettings, Tnga, TngaSettings,
};
use tnsearch_lab::Synthetic;

/// The strategies whose walk is the same with pruning.
const PRUNED: [&str; 4] = ["random", "annealing", "tnale", "greedy"];

struct Case {
    template: Arc<Template>,
    target: Target,
    /// The parameters of the hidden structure.
    params: u128,
}

/// A tensor of equal dimensions, one more than its largest rank.
fn hidden(template: Template, ranks: (usize, usize), seed: u64) -> Case {
    hidden_of(ranks.1 + 1, template, ranks, seed)
}

fn hidden_of(dim: usize, template: Template, ranks: (usize, usize), seed: u64) -> Case {
    let template = Arc::new(template);
    let dims = vec![dim; template.order()];
    let made = Synthetic::new(template.clone(), dims.clone(), ranks).generate(seed).unwrap();
    let params = made.structure().params(&dims);
    Case { template, target: Target::new(made.tensor).unwrap(), params }
}

impl Case {
    fn strategy(&self, name: &str, objective: Objective, seed: u64) -> Box<dyn Strategy> {
        let (template, dims) = (self.template.clone(), self.target.dims());
        let objective = objective.check().unwrap();
        let (order, max_rank) = (dims.len(), 4);
        match name {
            "random" => {
                let settings = RandomSettings { max_rank, ..Default::default() };
                Box::new(RandomSearch::new(template, settings.check().unwrap(), seed))
            }
            "annealing" => {
                let settings = AnnealingSettings { max_rank, ..Default::default() };
                Box::new(Annealing::new(template, settings.check().unwrap(), seed))
            }
            "tnga-plus" | "tnga-star" => {
                let settings = TngaSettings { generations: 15, max_rank, ..Default::default() };
                let settings = settings.check().unwrap();
                Box::new(match name {
                    "tnga-plus" => Tnga::plus(template, settings, seed),
                    _ => Tnga::star(order, settings, seed).unwrap(),
                })
            }
            "tnale" => {
                let settings = TnaleSettings { max_rank, ..Default::default() };
                Box::new(Tnale::new(&template, dims, objective, settings.check().unwrap(), seed))
            }
            "greedy" => {
                let settings = GreedySettings { max_rank }.check().unwrap();
                Box::new(Greedy::new(order, objective, settings).unwrap())
            }
            _ => panic!("no strategy {name}"),
        }
    }

    fn search(
        &self,
        name: &str,
        objective: Objective,
        (prune, runs): (bool, usize),
        records: Vec<EvaluationRecord>,
        threads: usize,
        journal: &mut Vec<EvaluationRecord>,
    ) -> SearchResult {
        let settings = FitSettings { restarts: 3, max_sweeps: 60, ..FitSettings::default() };
        let evaluator = FitEvaluator { target: &self.target, settings: settings.check().unwrap() };
        let bound = CutBound::new(Spectra::new(&self.target, SpectraSettings::default()));
        let limits = RunnerSettings {
            threads: Some(threads),
            max_phi: 1.0,
            max_cost: Some(1000.0),
            ..Default::default()
        };
        let mut runner = Runner::new(self.target.dims(), objective.check().unwrap(), &evaluator)
            .runs(1, runs, |seed| self.strategy(name, objective, seed))
            .settings(limits.check().unwrap())
            .resume(records)
            .journal(journal);
        if prune {
            runner = runner.prune(&bound);
        }
        let mut result = runner.search().unwrap();
        result.seconds = 0.0;
        result.history.iter_mut().for_each(|p| p.seconds = 0.0);
        result
    }
}

/// The best of five runs is as small as what was hidden.
fn finds(name: &str, case: &Case) {
    let objective = Objective::MaxError(1e-4);
    let result = case.search(name, objective, (true, 5), vec![], 2, &mut vec![]);
    let best = result.best.unwrap();
    let what = format!("{name} on {}: {:?}, {:?}", case.template.name(), best.score, result.counts);
    assert!(
        result.target_reached && best.score.params <= case.params,
        "{what}; hidden {}",
        case.params
    );
    if best.structure.template().name() == case.template.name() {
        assert_eq!(case.template.holds(&best.graph), Some(true), "{what}");
    }
}

#[test]
fn find_a_hidden_ring() {
    let case = hidden(Template::ring(4).unwrap(), (2, 3), 3);
    for name in ["random", "annealing", "tnga-plus", "tnga-star", "tnale"] {
        finds(name, &case);
    }
}

#[test]
fn find_a_hidden_tree() {
    let case = hidden(Template::tree(5).unwrap(), (2, 3), 2);
    for name in ["annealing", "tnga-plus", "tnale"] {
        finds(name, &case);
    }
}

/// Greedy finds what can be reached by best single steps; these can, two of the paper's rings.
#[test]
fn greedy_finds_a_hidden_ring() {
    for seed in [1, 3] {
        finds("greedy", &hidden_of(3, Template::ring(6).unwrap(), (1, 4), seed));
    }
}

#[test]
fn pruning_changes_no_walk() {
    for (case, objective) in [
        (hidden(Template::ring(5).unwrap(), (2, 2), 1), Objective::Lambda(200.0)),
        (hidden(Template::ring(5).unwrap(), (2, 2), 2), Objective::MaxError(1e-3)),
        (hidden(Template::ring(4).unwrap(), (2, 2), 3), Objective::MaxParams(50)),
    ] {
        for name in PRUNED {
            let plain = case.search(name, objective, (false, 1), vec![], 2, &mut vec![]);
            let pruned = case.search(name, objective, (true, 1), vec![], 2, &mut vec![]);
            assert_eq!(plain.best, pruned.best, "{name} {objective:?}");
            assert_eq!(plain.counts.samples, pruned.counts.samples, "{name} {objective:?}");
            let (fewer, all) = (pruned.counts.evaluations, plain.counts.evaluations);
            // Within so small a budget there may be nothing to prune.
            let least = usize::from(!matches!(objective, Objective::MaxParams(_))) as u64;
            assert!(fewer + least <= all, "{name} {objective:?}: {fewer}, {all}");
        }
    }
}

/// Warm starts come from fits that a resumed search has only on record.
#[test]
fn a_greedy_search_is_resumed_to_the_bit() {
    let case = hidden(Template::ring(5).unwrap(), (2, 2), 4);
    for (objective, prune) in [(Objective::MaxError(1e-4), false), (Objective::Lambda(200.0), true)]
    {
        let mut records = Vec::new();
        let whole = case.search("greedy", objective, (prune, 1), vec![], 1, &mut records);
        assert!(records.len() > 10, "{}", records.len());
        for n in [0, 1, 2, records.len() / 3, records.len() / 2, records.len() - 1, records.len()] {
            let mut more = Vec::new();
            let kept = records[..n].to_vec();
            let resumed = case.search("greedy", objective, (prune, 1), kept, 2, &mut more);
            assert_eq!(resumed, whole, "after {n} of {}", records.len());
            assert_eq!(more.len(), records.len() - n);
        }
    }
}

/// The warm start is what makes greedy's error fall at every step.
#[test]
fn greedy_fits_from_the_structure_before() {
    let case = hidden(Template::ring(5).unwrap(), (2, 2), 4);
    let mut records = Vec::new();
    case.search("greedy", Objective::MaxError(1e-4), (false, 1), vec![], 2, &mut records);
    let ranks = |r: &EvaluationRecord| r.ranks.iter().sum::<usize>();
    let steps = records.iter().map(ranks).max().unwrap();
    let least = |sum| {
        let of_sum = records.iter().filter(|r| ranks(r) == sum).map(|r| r.rse);
        of_sum.fold(f64::INFINITY, f64::min)
    };
    for sum in 11..=steps {
        assert!(least(sum) <= least(sum - 1) * (1.0 + 1e-9), "{} {}", least(sum), least(sum - 1));
    }
}
