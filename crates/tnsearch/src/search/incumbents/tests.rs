//! Incumbents against tensors whose structure is known.

use super::mutual::{circle, line, mutual};
use super::*;
use crate::bound::SpectraSettings;
use crate::decompose::{Goal, forest_svd, hosvd, ht_svd, tr_svd, tt_svd};
use crate::graph::Family;
use crate::network::Network;
use crate::rng;
use crate::tensor::{Scalar as _, Tensor};

fn spectra(target: &Target) -> Spectra {
    Spectra::new(target, SpectraSettings::default())
}

/// The tensor of random cores on a template, with a little noise.
fn hidden(
    template: Template,
    permutation: Vec<usize>,
    dim: usize,
    rank: usize,
    seed: u64,
) -> Target {
    let template = Arc::new(template);
    let dims = vec![dim; template.order()];
    let ranks = vec![rank; template.edges().len()];
    let structure = Structure::new(template.clone(), permutation, ranks).unwrap();
    let mut rng = rng::stream(seed, b"incumbents");
    let cores = (0..template.vertices()).map(|v| {
        let shape = structure.core_dims(v, &dims);
        let data = (0..shape.iter().product()).map(|_| f64::normal(&mut rng)).collect();
        Tensor::new(shape, data).unwrap()
    });
    let cores: Vec<Tensor<f64>> = cores.collect();
    let network = Network::new(structure, dims, cores).unwrap();
    let mut x = network.to_tensor(None).unwrap().into_f64().unwrap();
    let size = (x.norm_squared() / x.len() as f64).sqrt();
    x.data_mut().iter_mut().for_each(|x| *x += 1e-4 * size * f64::normal(&mut rng));
    Target::new(x).unwrap()
}

/// Whether two orders are one chain, read from either end; around a ring, from any vertex.
fn same_chain(a: &[usize], b: &[usize], closed: bool) -> bool {
    let n = a.len();
    let turns = if closed { n } else { 1 };
    (0..turns).any(|t| {
        let turned: Vec<usize> = (0..n).map(|k| b[(k + t) % n]).collect();
        turned == a || turned.iter().rev().eq(a)
    })
}

#[test]
fn modes_of_a_product_share_nothing() {
    let vectors = [vec![1.0, 2.0], vec![0.5, -1.0, 3.0], vec![1.0, 1.0], vec![2.0, 0.1]];
    let mut data = vec![1.0];
    for v in &vectors {
        data = data.iter().flat_map(|x| v.iter().map(move |y| x * y)).collect();
    }
    let target = Target::new(Tensor::new(vec![2, 3, 2, 2], data).unwrap()).unwrap();
    let (spectra, limits) = (spectra(&target), Limits::none());
    let cuts = Cuts::new(&target, &spectra, None, &limits);
    let all = mutual(&cuts, 4).unwrap();
    assert!(all.iter().flatten().all(|i| *i < 1e-9), "{all:?}");
}

#[test]
fn two_modes_that_are_one_share_all() {
    // x_ijk = 1 where i = k: the entropy of mode 0 and of mode 2 is ln 3, that of both 0.
    let entry = |n: usize| f64::from(u8::from(n / 6 == n % 3));
    let target =
        Target::new(Tensor::new(vec![3, 2, 3], (0..18).map(entry).collect()).unwrap()).unwrap();
    let (spectra, limits) = (spectra(&target), Limits::none());
    let cuts = Cuts::new(&target, &spectra, None, &limits);
    let all = mutual(&cuts, 3).unwrap();
    assert!((all[0][2] - 2.0 * 3f64.ln()).abs() < 1e-9 && all[0][1] < 1e-9, "{all:?}");
}

#[test]
fn the_order_of_a_shuffled_chain_is_found() {
    for seed in 0..3 {
        let places = vec![3, 6, 0, 5, 2, 7, 1, 4];
        let mut order = vec![0; 8];
        places.iter().enumerate().for_each(|(n, &v)| order[v] = n);
        let target = hidden(Template::path(8).unwrap(), places.clone(), 3, 2, seed);
        let limits = Limits::none();
        let spectra = spectra(&target);
        let path = Arc::new(Template::path(8).unwrap());
        let objective = Objective::MaxError(1e-6);
        let found = incumbents(&target, &spectra, &path, objective, 9, &limits);
        let mut along = vec![0; 8];
        found[0].permutation().iter().enumerate().for_each(|(n, &v)| along[v] = n);
        assert!(same_chain(&along, &order, false), "{seed}: {along:?} {order:?}");
        assert_eq!(found[0].ranks(), [2; 7]);
        let ring = hidden(Template::ring(8).unwrap(), places, 3, 2, seed);
        let spectra = Spectra::new(&ring, SpectraSettings::default());
        let template = Arc::new(Template::ring(8).unwrap());
        let found = incumbents(&ring, &spectra, &template, objective, 9, &limits);
        let least = found.iter().min_by_key(|s| s.params(&[3; 8])).unwrap();
        let mut along = vec![0; 8];
        least.permutation().iter().enumerate().for_each(|(n, &v)| along[v] = n);
        assert!(same_chain(&along, &order, true), "{seed}: {along:?} {order:?}");
        assert_eq!(least.ranks(), [2; 8]);
    }
}

#[test]
fn the_order_of_a_shuffled_chain_of_many_modes_is_found() {
    let places: Vec<usize> = (0..16).map(|n| n * 7 % 16).collect();
    let target = hidden(Template::path(16).unwrap(), places, 2, 2, 4);
    let template = Arc::new(Template::path(16).unwrap());
    let (spectra, limits) = (spectra(&target), Limits::none());
    let objective = Objective::MaxError(1e-6);
    let found = incumbents(&target, &spectra, &template, objective, 99, &limits);
    assert_eq!(found[0].ranks(), [2; 15]);
}

#[test]
fn chains_with_all_their_information_between_neighbours_are_put_in_order() {
    let order = [4, 1, 5, 0, 3, 2, 6];
    for closed in [false, true] {
        let mut near = vec![vec![0.0; 7]; 7];
        for k in 0..if closed { 7 } else { 6 } {
            let (a, b) = (order[k], order[(k + 1) % 7]);
            (near[a][b], near[b][a]) = (1.0 + 0.1 * k as f64, 1.0 + 0.1 * k as f64);
        }
        let found = if closed { circle(&near) } else { line(&near) };
        assert!(same_chain(&found, &order, closed), "{found:?}");
    }
}

#[test]
fn every_template_gets_structures_within_its_limits() {
    let target = hidden(Template::tree(6).unwrap(), vec![0, 3, 1, 4, 2, 5], 3, 2, 5);
    let (spectra, limits) = (spectra(&target), Limits::none());
    let objectives = [Objective::MaxError(1e-3), Objective::MaxParams(90), Objective::Lambda(5.0)];
    for family in Family::all(6) {
        let template = Arc::new(family.build(6).unwrap());
        for objective in objectives {
            let found = incumbents(&target, &spectra, &template, objective, 6, &limits);
            let again = incumbents(&target, &spectra, &template, objective, 6, &limits);
            assert_eq!(found, again);
            assert!(found.len() <= MOST);
            // The terms of a CP are searched, not predicted.
            if objective.max_error().is_none() && template.copy_vertex().is_none() {
                assert!(!found.is_empty(), "{} {objective:?}", template.name());
            }
            for s in &found {
                assert_eq!(**s.template(), *template);
                assert!(s.ranks().iter().all(|&r| r <= 6));
                let graph = s.canonical().graph;
                let ranks: Vec<usize> = graph.edges().iter().map(|e| e.2).collect();
                assert_eq!(graph.useful_ranks(target.dims()), ranks);
                assert!(objective.max_params().is_none_or(|p| s.params(target.dims()) <= p));
            }
        }
    }
}

#[test]
fn those_of_trees_reach_the_error_by_svds_alone() {
    let target = hidden(Template::ht(6).unwrap(), vec![5, 0, 3, 1, 4, 2], 3, 3, 9);
    let (spectra, limits) = (spectra(&target), Limits::none());
    for spec in ["path", "star", "tree", "ht"] {
        let template = Arc::new(Template::parse(spec, 6).unwrap());
        for eps in [1e-4, 1e-2, 0.2] {
            let objective = Objective::MaxError(eps);
            let found = incumbents(&target, &spectra, &template, objective, 100, &limits);
            let fitted = forest_svd(&target, &found[0].canonical().graph, &limits).unwrap();
            assert!(fitted.is_some_and(|(_, rse)| rse <= eps), "{spec} {eps}");
        }
    }
}

#[test]
fn large_tensors_are_taken_apart_as_they_are() {
    let target = hidden(Template::path(6).unwrap(), vec![0, 3, 1, 4, 2, 5], 2, 2, 1);
    let good = [0, 2, 4, 1, 3, 5];
    for (objective, spec) in [
        (Objective::MaxError(1e-3), "path"),
        (Objective::MaxParams(40), "ht"),
        (Objective::Lambda(5.0), "ring"),
    ] {
        let template = Arc::new(Template::parse(spec, 6).unwrap());
        let limits = Limits::none();
        let found = sequential::found(&target, &template, objective, &good, 4, &limits);
        assert!(!found.is_empty());
        for f in found {
            assert!(f.structure.ranks().iter().all(|&r| r <= 4));
        }
    }
}

#[test]
fn a_stop_ends_it_with_what_there_is() {
    let target = hidden(Template::ring(6).unwrap(), vec![0, 3, 1, 4, 2, 5], 3, 2, 1);
    let limits = Limits::none();
    limits.stop.set();
    let ring = Arc::new(Template::ring(6).unwrap());
    let spectra = Spectra::new(&target, SpectraSettings::default()).stoppable(&limits.stop);
    let found = incumbents(&target, &spectra, &ring, Objective::MaxError(1e-3), 9, &limits);
    assert!(found.is_empty());
}

#[test]
fn no_direct_method_is_smaller_than_the_starts() {
    let dims = vec![7, 6, 5, 4];
    let of = |f: &dyn Fn([f64; 4]) -> f64| {
        let entry = |k: usize| {
            let at = crate::tensor::unflatten(k, &dims);
            f(std::array::from_fn(|n| at[n] as f64 / (dims[n] - 1) as f64))
        };
        Target::new(Tensor::new(dims.clone(), (0..840).map(entry).collect()).unwrap()).unwrap()
    };
    let step = of(&|[x, y, z, w]| f64::from(u8::from(x + y > z + w)));
    let smooth = of(&|[x, y, z, w]| (-(x - y) * (x - y) - z * w).exp());
    let wave =
        of(&|[x, y, z, w]| (4.0 * x * z).sin() + y * w + 0.01 * (97.0 * (x + 3.0 * y)).sin());
    let formats = usual_formats(4);
    let (own, limits) = ([0, 1, 2, 3], Limits::none());
    for target in [step, smooth, wave] {
        for eps in [1e-8, 1e-4, 1e-2, 0.04] {
            let objective = Objective::MaxError(eps).check().unwrap();
            let found = starts(&target, None, (&formats, true), objective, 99, &limits);
            let least = found.iter().map(|s| s.params(&dims)).min().unwrap();
            let goal = Goal::max_rse(eps).unwrap();
            for method in [tt_svd, tr_svd, ht_svd, hosvd] {
                let made = method(&target, &own, &goal, &limits).unwrap().network.params();
                // As large as the tensor itself is no network.
                assert!(least <= made || made >= 840, "{least} against {made} at {eps}");
            }
        }
    }
}

#[test]
fn the_svd_of_an_unfolding_is_a_start() {
    // A matrix of rank 3, 12 x 20, both sides split: noise in every other unfolding.
    let mut rng = crate::rng::stream(5, b"unfolded");
    let (u, v): (Vec<f64>, Vec<f64>) = (
        (0..36).map(|_| f64::normal(&mut rng)).collect(),
        (0..60).map(|_| f64::normal(&mut rng)).collect(),
    );
    let entry = |k: usize| (0..3).map(|r| u[k / 20 * 3 + r] * v[k % 20 * 3 + r]).sum::<f64>();
    let x = Tensor::new(vec![3, 4, 5, 4], (0..240).map(entry).collect()).unwrap();
    let x = Target::new(x).unwrap();
    let groups = vec![vec![0, 1], vec![2, 3]];
    for (objective, rank) in [
        (Objective::MaxError(1e-9), 3),
        (Objective::MaxParams(96), 3),
        (Objective::MaxParams(95), 2),
        (Objective::Lambda(100.0), 3),
    ] {
        let objective = objective.check().unwrap();
        let found = starts(&x, None, (&[], true), objective, 9, &Limits::none());
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].groups(), found[0].ranks()), (groups.clone(), &[rank][..]));
    }
    // What is not allowed is not proposed.
    let objective = Objective::MaxError(1e-9).check().unwrap();
    assert!(starts(&x, None, (&[], true), objective, 2, &Limits::none()).is_empty());
    assert!(starts(&x, None, (&[], false), objective, 9, &Limits::none()).is_empty());
}

/// A preparation that was given up for lack of time leaves most cuts out; direct methods ask for few, and get them.
#[test]
fn direct_methods_have_their_cuts_also_where_the_preparation_was_given_up() {
    let places = vec![3, 6, 0, 5, 2, 7, 1, 4];
    for (template, dim) in [(Template::path(8).unwrap(), 3), (Template::ring(8).unwrap(), 2)] {
        let target = hidden(template.clone(), places.clone(), dim, 2, 1);
        let template = Arc::new(template);
        let (fresh, abandoned) = (spectra(&target), spectra(&target));
        let stop = crate::problem::Stop::new();
        stop.set();
        abandoned.prepare(&stop);
        assert!(abandoned.of(0b10).is_none(), "given up");
        let limits = Limits::none();
        let objective = Objective::MaxError(1e-6);
        let of = |s: &Spectra| incumbents(&target, s, &template, objective, 9, &limits);
        assert_eq!(of(&abandoned), of(&fresh));
        // Their own time is kept.
        let late = Limits { stop, ..Limits::none() };
        let none = spectra(&target);
        incumbents(&target, &none, &template, objective, 9, &late);
        assert!((1..128).all(|cut| none.known(cut << 1).is_none()));
    }
}
