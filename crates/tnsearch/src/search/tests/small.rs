//! Tensors so small that a network can be a single vertex, no smaller than they are, or both; whatever is asked of them.

use super::*;
use crate::bound::{Spectra, SpectraSettings};
use crate::fit::{self, Adapt, Request, Run};
use crate::problem::Target;
use crate::tensor::Tensor;

/// Whole numbers from -1 to 1, not all 0; of these seeds, some with rows of zeros or of the same.
fn whole_numbers(dims: &[usize], seed: u64) -> Target {
    let mut rng = rng::stream(seed, b"small");
    let len: usize = dims.iter().product();
    let mut data: Vec<f64> = (0..len).map(|_| f64::from(rng.random_range(-1..=1))).collect();
    if data.iter().all(|x| *x == 0.0) {
        data[len / 2] = 1.0;
    }
    Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
}

/// The errors at which a cut needs one rank less, exactly.
fn tails(target: &Target) -> Vec<f64> {
    let spectra = Spectra::new(target, SpectraSettings::default());
    let cuts = 1u64..1 << (target.dims().len() - 1);
    let spectrum = |cut: u64| spectra.of(cut << 1);
    let tails = cuts.filter_map(spectrum).flat_map(|s| (0..4).map(|k| s.tail(k)));
    let mut all: Vec<f64> = tails.filter(|t| *t > 1e-9 && *t < 1.0).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// The error of the answer is that of its network, and what it says of it is so.
fn check(target: &Target, result: &SearchResult, objective: Objective, what: &str) {
    let Some(best) = &result.best else { return };
    let network = best.network(target.dims()).unwrap();
    let error = target.rse_of_network(&network, None).unwrap();
    assert!((error - best.score.error).abs() < 1e-9, "{what}: {error} {}", best.score.error);
    assert_eq!(best.score.params, network.params(), "{what}");
    if let Some(eps) = objective.max_error() {
        assert_eq!(result.target_reached, best.score.error <= eps, "{what}");
    }
}

fn settings(objective: Objective, strategy: &str, max_phi: f64) -> SearchSettings {
    SearchSettings::default().with(|s| {
        s.objective = objective;
        s.strategy = StrategySpec::new(strategy);
        (s.max_phi, s.max_rank) = (Some(max_phi), Some(3));
        s.fit = FitSettings { max_sweeps: 30, restarts: 1, ..FitSettings::default() };
        s.certificate_nodes = 1000;
        s.budget.threads = Some(1);
        s.budget.max_evaluations = Some(12);
    })
}

/// Walks began at a single vertex here, which is a network as any other.
#[test]
fn no_small_tensor_is_too_small() {
    let shapes: [&[usize]; 9] =
        [&[3, 3], &[2, 3], &[2, 2], &[4, 1], &[1, 3], &[1, 1], &[2, 1, 3], &[1, 1, 2], &[2, 2, 2]];
    let mut single = 0;
    for (k, dims) in shapes.into_iter().enumerate() {
        let order = dims.len();
        for seed in 0..2 {
            let target = whole_numbers(dims, 10 * k as u64 + seed);
            let size = target.entries() as u128;
            let mut objectives: Vec<Objective> =
                tails(&target).into_iter().take(2).map(Objective::MaxError).collect();
            objectives.extend([Objective::MaxError(1e-9), Objective::Lambda(3.0)]);
            let least = dims.iter().sum::<usize>() as u128;
            objectives.extend([least, size.max(least)].map(Objective::MaxParams));
            for (at, objective) in objectives.into_iter().enumerate() {
                let max_phi = [0.5, 1.0, 1.5, 2.0, 20.0][(at + seed as usize) % 5];
                for (template, strategy) in [
                    ("formats", "auto"),
                    ("any-tree", "trees"),
                    ("any", "walk"),
                    ("path", "auto"),
                    ("path", "walk"),
                ] {
                    let what = format!("{dims:?} {seed} {objective:?} {max_phi} {template}");
                    let template = Template::parse(template, order).unwrap();
                    let grouped = template.is_formats() || template.is_any_tree();
                    let settings = settings(objective, strategy, max_phi);
                    let search = crate::Search::new(&target).template(template).settings(settings);
                    let result = search.run().unwrap_or_else(|e| panic!("{what}: {e}"));
                    check(&target, &result, objective, &what);
                    single += usize::from(
                        result
                            .best
                            .as_ref()
                            .is_some_and(|best| best.structure.template().vertices() == 1),
                    );
                    if grouped && max_phi >= 1.0 && objective.max_error().is_some() {
                        assert!(result.best.is_some(), "{what}: nothing");
                    }
                }
            }
        }
    }
    assert!(single > 5, "{single} answers of one vertex");
}

/// The case that was reported, and the same with another error and complex numbers.
#[test]
fn a_walk_may_begin_at_a_single_vertex() {
    let data = vec![0.0, 0.0, 0.0, -1.0, -1.0, -1.0, 1.0, 0.0, 0.0];
    let target = Target::new(Tensor::new(vec![3, 3], data).unwrap()).unwrap();
    let graph = ModeGraph::grouped(vec![vec![0, 1]], 0, vec![]);
    let merged = target.merged(&graph.groups());
    let fit = FitSettings::default().check().unwrap();
    for steps in [0, 20] {
        let by = Adapt { steps, ..Adapt::new(Objective::MaxError(0.1464), 4, Vec::new()) };
        let request = Request::new(graph.plain().into_owned(), fit.clone(), 1);
        let request = Request { adapt: Some(by.into()), ..request };
        let found = fit::fit(&merged, &request, &Run::default()).unwrap();
        assert_eq!((found.error, found.cores.len()), (0.0, 1));
        assert_eq!(found.cores[0].dims(), [9]);
    }
    for eps in [0.14644660940672619, 0.5, 1e-12] {
        let settings = settings(Objective::MaxError(eps), "auto", 2.0);
        let settings = settings.with(|s| s.budget.max_evaluations = None);
        let template = Template::formats(2).unwrap();
        let result =
            crate::Search::new(&target).template(template).settings(settings).run().unwrap();
        assert!(result.target_reached, "{eps}");
    }
}

/// What has one mode that is not of length 1, or is 2 x 2, cannot be made smaller: it is the answer.
#[test]
fn what_nothing_is_smaller_than_is_its_own_answer() {
    for dims in [&[16, 1][..], &[1, 16], &[4, 1, 4], &[1, 1, 1], &[2, 2], &[6, 6]] {
        // Of the others something smaller may have come nearer than nothing.
        let alone = dims.iter().sum::<usize>() >= dims.iter().product();
        let mut rng = rng::stream(3, b"ket");
        let data = (0..dims.iter().product()).map(|_| rng.random_range(-1.0..1.0)).collect();
        let target = Target::new(Tensor::<f64>::new(dims.to_vec(), data).unwrap()).unwrap();
        let size = target.entries() as u128;
        for template in ["formats", "any-tree"] {
            let template = Template::parse(template, dims.len()).unwrap();
            let mut settings = settings(Objective::MaxError(1e-8), "auto", 1.0);
            settings.budget.max_evaluations = None;
            let result =
                crate::Search::new(&target).template(template).settings(settings).run().unwrap();
            let best = result.best.as_ref().unwrap();
            assert!(!alone || result.target_reached, "{dims:?}");
            assert!(best.score.params <= size + 2, "{dims:?}");
            assert!(!alone || result.certified_optimal, "{dims:?}: {}", best.score.params);
            check(&target, &result, Objective::MaxError(1e-8), "whole");
        }
    }
    // Where as much is refused by the user, there is none.
    let target = whole_numbers(&[3, 3], 1);
    let template = Template::formats(2).unwrap();
    let settings = settings(Objective::MaxError(1e-8), "auto", 0.5);
    let result = crate::Search::new(&target).template(template).settings(settings).run().unwrap();
    assert!(result.best.is_none_or(|best| best.phi < 0.5));
}
