//! Searches of a smaller tensor in the place of a large one: as good, with answers for the large one.

use tnsearch::network::Network;
use tnsearch::prelude::*;
use tnsearch::problem::ShrinkLimits;
use tnsearch::search::{Evaluation, Event, SearchResult};
use tnsearch::tensor::unflatten;

const DIMS: [usize; 4] = [20, 24, 28, 16];

/// Blobs in four dimensions and a ripple: smooth, of no exact rank.
fn field() -> Target {
    let entry = |flat: usize| -> f64 {
        let at = unflatten(flat, &DIMS);
        let x: Vec<f64> = at.iter().zip(&DIMS).map(|(&i, &d)| i as f64 / (d - 1) as f64).collect();
        let blob = |centre: [f64; 4], width: f64| -> f64 {
            let square: f64 = x.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum();
            (-square / (2.0 * width * width)).exp()
        };
        blob([0.3, 0.6, 0.4, 0.5], 0.25)
            + 0.8 * blob([0.7, 0.3, 0.6, 0.2], 0.3)
            + 0.05 * (3.0 * (x[0] + 0.7 * x[1]) + 2.0 * x[2] * x[3]).sin()
    };
    let entries = (0..DIMS.iter().product()).map(entry).collect();
    Target::new(Tensor::new(DIMS.to_vec(), entries).unwrap()).unwrap()
}

fn search<'a>(x: &Target, template: &str, shrink: bool) -> Search<'a> {
    let template = Template::parse(template, 4).unwrap();
    let search =
        Search::new(x).template(template).max_error(1e-3).max_rank(6).seed(1).shrink(shrink);
    search.budget(|b| b.threads = Some(2))
}

/// The answer is a network for the full tensor, and has the error it says.
fn checked(x: &Target, result: &SearchResult) -> Network {
    let best = result.best.as_ref().expect("an answer");
    let network = best.network(&DIMS).expect("full cores");
    assert_eq!(network.params(), best.score.params);
    assert_eq!(best.structure.phi(&DIMS), best.phi);
    let error = x.rse_of(&network.to_tensor(None).unwrap());
    assert!((error - best.score.error).abs() < 1e-13, "{error} {}", best.score.error);
    assert_eq!(best.fitted.error, best.score.error);
    network
}

#[test]
fn a_shrunk_search_finds_as_good_an_answer() {
    let x = field();
    for template in ["path", "ring"] {
        let small = search(&x, template, true).run().unwrap();
        let full = search(&x, template, false).run().unwrap();
        let shrunk = small.shrunk.as_ref().expect("smooth modes");
        assert!(shrunk.dims.iter().all(|&d| d <= 10), "{shrunk:?}");
        assert!(shrunk.lost > 0.0 && shrunk.lost <= 1e-5 && full.shrunk.is_none());
        for result in [&small, &full] {
            checked(&x, result);
            assert!(result.target_reached, "{template}");
        }
        let params = |r: &SearchResult| r.best.as_ref().unwrap().score.params as f64;
        assert!(params(&small) <= 1.02 * params(&full), "{} {}", params(&small), params(&full));
        // Its proof is weaker at most by what was lost.
        let proven = |r: &SearchResult| r.lower_bound.unwrap().params.unwrap() as f64;
        assert!(proven(&small) <= proven(&full) && proven(&small) >= 0.9 * proven(&full));
        assert!(proven(&full) <= params(&small));
    }
}

#[test]
fn every_objective_is_asked_of_the_full_tensor() {
    let x = field();
    // With ranks up to 3 every path is within the budget.
    for objective in [Objective::Lambda(0.01), Objective::MaxParams(600)] {
        let of = |shrink: bool| {
            let search = search(&x, "path", shrink).objective(objective).max_rank(3);
            search.strategy(StrategySpec::new("tnls").set("iterations", 2).set("samples", 4))
        };
        let small = of(true).run().unwrap();
        checked(&x, &small);
        assert!(small.target_reached);
        assert!(small.shrunk.is_some() || objective == Objective::MaxParams(600));
        // What is lost matters at most in the second digit.
        let full = of(false).run().unwrap();
        let loss = |r: &SearchResult| r.best.as_ref().unwrap().score.loss;
        assert!(loss(&small) <= 1.05 * loss(&full), "{} {}", loss(&small), loss(&full));
    }
}

#[test]
fn a_resumed_search_ends_where_the_whole_one_does() {
    let x = field();
    let mut records: Vec<Evaluation> = Vec::new();
    let mut keep = |event: &Event<'_>| {
        if let Event::Evaluated(evaluation) = event {
            records.push((*evaluation).clone());
        }
    };
    let tnls = || StrategySpec::new("tnls").set("iterations", 3).set("samples", 6);
    let whole = search(&x, "ring", true).strategy(tnls()).listen(&mut keep).run().unwrap();
    assert!(whole.shrunk.is_some() && records.len() > 3);
    // All of it on record: the answer is fitted again and expanded.
    for count in [records.len(), records.len() / 2] {
        let resumed = search(&x, "ring", true).strategy(tnls());
        let resumed = resumed.resume(records[..count].iter().cloned()).run().unwrap();
        assert_eq!(resumed.best.as_ref().unwrap().fitted, whole.best.as_ref().unwrap().fitted);
        assert_eq!(resumed.counts, whole.counts);
        checked(&x, &resumed);
    }
}

#[test]
fn a_stop_before_shrinking_leaves_the_tensor_as_it_is() {
    let x = field();
    let limits = ShrinkLimits::default();
    limits.stop.set();
    assert!(x.shrink(Objective::MaxError(1e-3), &limits).is_none());
}
