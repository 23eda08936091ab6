//! Every kind of number, from the tensor to the network: fits, bounds and decompositions against dense computations.

use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
use tnsearch::decompose::{
    BayesSettings, Decomposition, Goal, Limits, bayes_tr, ht_svd, tr_als, tr_lm, tr_svd, tree_svd,
    tt_svd,
};
use tnsearch::fit::{FitSettings, Request, Run, fit};
use tnsearch::graph::{Structure, Template};
use tnsearch::network::{Network, contract};
use tnsearch::problem::Target;
use tnsearch::rng::{Rng, stream};
use tnsearch::tensor::{Complex, Kind, Scalar, Tensor};

fn normal<T: Scalar>(dims: Vec<usize>, rng: &mut Rng) -> Tensor<T> {
    let n = dims.iter().product();
    Tensor::new(dims, (0..n).map(|_| T::normal(rng)).collect()).unwrap()
}

/// A tensor of a ring with its modes shuffled, and noise of that relative size.
fn hidden<T: Scalar>(ranks: Vec<usize>, noise: f64, seed: u64) -> (Structure, Target) {
    let mut rng = stream(seed, b"kinds");
    let ring = Arc::new(Template::ring(ranks.len()).unwrap());
    let permutation = (0..ranks.len()).map(|n| (n * 3) % ranks.len()).collect();
    let structure = Structure::new(ring, permutation, ranks).unwrap();
    let graph = structure.canonical().graph;
    let dims = vec![3; graph.modes()];
    let core = |v: usize| normal::<T>(graph.core_dims(v, &dims), &mut rng);
    let cores: Vec<Tensor<T>> = (0..graph.vertices()).map(core).collect();
    let mut x = contract(&graph, &dims, &cores);
    let level = noise * (x.norm_squared() / x.len() as f64).sqrt();
    x.data_mut().iter_mut().for_each(|x| *x += T::normal(&mut rng).scale(level));
    (structure, Target::new(x).unwrap())
}

/// The RSE of a network from 64-bit copies of its cores and of the tensor.
fn true_rse(target: &Target, network: &Network) -> f64 {
    let wide = |t: &tnsearch::tensor::AnyTensor| t.clone().to_kind(Kind::C64).unwrap();
    let (graph, cores) = network.to_mode_graph();
    let cores: Vec<Tensor<Complex<f64>>> =
        cores.iter().map(|c| wide(c).into_typed().unwrap()).collect();
    let z = contract(&graph, network.dims(), &cores);
    target.rse_of(&z.into())
}

fn reaches<T: Scalar>(target: &Target, found: &Decomposition, eps: f64, name: &str) {
    assert_eq!(found.network.kind(), T::KIND, "{name}");
    assert!(found.rse <= eps, "{name} {}: {} > {eps}", T::KIND, found.rse);
    let rse = true_rse(target, &found.network);
    let tolerance = 1e3 * T::KIND.epsilon() * rse.sqrt() + (1e3 * T::KIND.epsilon()).powi(2);
    assert!((rse - found.rse).abs() < tolerance, "{name} {}: {rse} {}", T::KIND, found.rse);
}

fn decompositions<T: Scalar>() {
    let mut rng = stream(3, b"decompositions");
    let place = [2, 0, 3, 1];
    let noise = Target::new(normal::<T>(vec![4, 3, 2, 5], &mut rng)).unwrap();
    let ring = hidden::<T>(vec![2, 2, 3, 2], 1e-2, 5).1;
    let star = Arc::new(Template::star(4).unwrap());
    for target in [&noise, &ring] {
        for eps in [0.3, 1e-2, 1e-5] {
            let goal = Goal::max_rse(eps).unwrap();
            let none = Limits::none();
            let check = |found: &Decomposition, name| reaches::<T>(target, found, eps, name);
            check(&tt_svd(target, &place, &goal, &none).unwrap(), "tt-svd");
            check(&ht_svd(target, &place, &goal, &none).unwrap(), "ht-svd");
            check(&tree_svd(target, &star, &place, &goal, &none).unwrap(), "tree-svd");
            check(&tr_lm(target, &place, &goal, &none).unwrap(), "tr-lm");
            let by_svd = tr_svd(target, &place, &goal, &none).unwrap();
            check(&by_svd, "tr-svd");
            // Phases and signs are chosen: the same bits again.
            assert_eq!(tr_svd(target, &place, &goal, &none).unwrap(), by_svd);
        }
        // Truncations to given ranks lose what their tails say: a tensor train of one cut is optimal.
        let goal = Goal::ranks(vec![usize::MAX, 3, usize::MAX]).unwrap();
        let cut = tt_svd(target, &[0, 1, 2, 3], &goal, &Limits::none()).unwrap();
        let spectra = Spectra::new(target, SpectraSettings::default().with(|s| s.svd = true));
        let tail = spectra.of(0b0011).unwrap().tail(3);
        assert!((cut.rse - tail).abs() < 1e4 * T::KIND.epsilon(), "{}: {tail}", T::KIND);
    }
    let als = FitSettings::default().check().unwrap();
    let goal = Goal::max_rse(1e-3).unwrap();
    let found = tr_als(&ring, &[0, 2, 1, 3], &goal, &als, 1, &Limits::none()).unwrap();
    reaches::<T>(&ring, &found, 1e-3, "tr-als");
    let settings = BayesSettings::default().check().unwrap();
    let bayes = bayes_tr(&ring, &[0, 2, 1, 3], &goal, &settings, &als, 1, &Limits::none());
    match T::KIND.is_complex() {
        false => reaches::<T>(&ring, &bayes.unwrap(), 1e-3, "bayes-tr"),
        true => assert_eq!(
            bayes.unwrap_err().to_string(),
            format!(
                "method is bayes-tr; its model is of real numbers, and these are {}; use tr-als",
                T::KIND
            )
        ),
    }
}

#[test]
fn decompositions_of_every_kind_reach_their_error() {
    decompositions::<f32>();
    decompositions::<f64>();
    decompositions::<Complex<f32>>();
    decompositions::<Complex<f64>>();
}

/// No fit goes below the bound of its structure, whatever was rounded on the way, and where the structure is the
/// hidden one the bound is no larger than the noise.
fn bounds_hold<T: Scalar>() {
    for seed in 0..12 {
        let noise = [0.0, 1e-4, 1e-2][seed as usize % 3];
        let (structure, target) = hidden::<T>(vec![2, 3, 2, 2, 3], noise, seed);
        let fewer = structure.ranks().iter().map(|&r| if seed % 2 == 0 { r } else { r - 1 });
        let structure = Structure::new(
            structure.template().clone(),
            structure.permutation().to_vec(),
            fewer.collect(),
        );
        let graph = structure.unwrap().canonical().graph;
        let settings = FitSettings::default().with(|s| {
            s.restarts = 2;
            s.stop_rse = 0.0;
            s.enough_rse = 0.0;
        });
        let fitted = fit(
            &target,
            &Request::new(graph.clone(), settings.check().unwrap(), seed),
            &Run::default(),
        )
        .unwrap();
        for svd in [false, true] {
            let spectra = Spectra::new(&target, SpectraSettings::default().with(|s| s.svd = svd));
            let bound = CutBound::new(spectra).rse(&graph, f64::INFINITY);
            assert!(bound <= fitted.error, "{} {seed}: {bound} > {}", T::KIND, fitted.error);
            if seed % 2 == 1 {
                assert!(bound > 1e-3, "{} {seed}: {bound} says nothing", T::KIND);
            }
        }
    }
}

#[test]
fn no_fit_of_any_kind_beats_its_bound() {
    bounds_hold::<f32>();
    bounds_hold::<f64>();
    bounds_hold::<Complex<f32>>();
    bounds_hold::<Complex<f64>>();
}
