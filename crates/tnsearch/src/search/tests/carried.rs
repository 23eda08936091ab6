//! Fits that begin at the cores of what they were drawn around, and are given up.

use super::*;
use crate::problem::Target;
use crate::search::StrategySpec;
use crate::tensor::Tensor;

/// No network of small ranks gives it exactly.
fn target() -> Target {
    let dims = vec![3, 2, 4, 3, 2];
    let entry = |k: usize| ((k * k % 97) as f64 / 97.0 + (k as f64 / 9.0).sin()).abs().sqrt();
    Target::new(Tensor::new(dims.clone(), (0..144).map(entry).collect()).unwrap()).unwrap()
}

fn search(
    strategy: &StrategySpec,
    carry: bool,
    threads: usize,
    records: Vec<Evaluation>,
) -> (SearchResult, Vec<Evaluation>) {
    let mut told = Vec::new();
    let mut listener = |event: &Event<'_>| {
        if let Event::Evaluated(evaluation) = event {
            told.push((*evaluation).clone());
        }
    };
    let mut settings = SearchSettings::default().with(|s| {
        s.objective = Objective::Lambda(5.0);
        s.strategy = strategy.clone();
        s.max_rank = Some(4);
    });
    (settings.direct, settings.shrink, settings.certificate_nodes) = (false, false, 0);
    (settings.fit.carry, settings.fit.restarts, settings.seed) = (carry, 2, 7);
    settings.budget.threads = Some(threads);
    let result = crate::Search::new(&target())
        .template(Template::ring(5).unwrap())
        .settings(settings)
        .resume(records)
        .listen(&mut listener)
        .run()
        .unwrap();
    (timeless(result), told)
}

#[test]
fn carried_fits_are_the_same_on_any_number_of_workers_and_after_a_resume() {
    let tnls = StrategySpec::new("tnls").set("iterations", 5).set("samples", 20);
    let (one, told) = search(&tnls, true, 1, Vec::new());
    let best = one.best.as_ref().unwrap();
    assert!(told.len() > 20, "{}", told.len());
    let (three, _) = search(&tnls, true, 3, Vec::new());
    assert_eq!((&one.counts, best), (&three.counts, three.best.as_ref().unwrap()));
    for kept in [1, told.len() / 2, told.len()] {
        let (resumed, more) = search(&tnls, true, 2, told[..kept].to_vec());
        let again = resumed.best.as_ref().unwrap();
        assert_eq!((&best.structure, &best.fitted), (&again.structure, &again.fitted), "{kept}");
        assert_eq!(more.len(), told.len() - kept);
    }
    // One start each, most of which are given up: far fewer sweeps than two starts to the end.
    let (whole, all) = search(&tnls, false, 1, Vec::new());
    let mean = |told: &[Evaluation]| {
        told.iter().map(|e| e.sweeps).sum::<usize>() as f64 / told.len() as f64
    };
    assert!(2.0 * mean(&told) < mean(&all), "{} {}", mean(&told), mean(&all));
    let loss = |result: &SearchResult| result.best.as_ref().unwrap().score.loss;
    assert!(loss(&one) < 1.1 * loss(&whole), "{} {}", loss(&one), loss(&whole));
}

#[test]
fn a_genetic_search_gives_up_what_will_be_no_parent() {
    let tnga = StrategySpec::new("tnga-plus")
        .set("generations", 5)
        .set("population", 20)
        .set("alpha", 4.0);
    let (one, told) = search(&tnga, true, 1, Vec::new());
    let (two, _) = search(&tnga, true, 2, Vec::new());
    assert_eq!(one.best, two.best);
    // The first generation has nothing to be compared with; later ones end sooner.
    let (_, all) = search(&tnga, false, 1, Vec::new());
    assert_eq!(told[0].sweeps, all[0].sweeps);
    let sweeps = |told: &[Evaluation]| told.iter().map(|e| e.sweeps).sum::<usize>();
    assert!(sweeps(&told) < sweeps(&all), "{} {}", sweeps(&told), sweeps(&all));
}
