//! Which tensors are searched in another shape by default, and that this never makes an answer larger.

use super::*;
use crate::problem::{Mask, PoissonDeviance, Target};
use crate::tensor::{Complex, Scalar, Tensor};

/// Entries by a formula of the coordinates in [0, 1].
fn grid<T: Scalar>(dims: &[usize], f: impl Fn(&[f64]) -> T) -> Tensor<T> {
    let entry = |mut flat: usize| {
        let mut at = vec![0.0; dims.len()];
        for (x, &d) in at.iter_mut().zip(dims).rev() {
            *x = (flat % d) as f64 / (d - 1).max(1) as f64;
            flat /= d;
        }
        f(&at)
    };
    let len: usize = dims.iter().product();
    Tensor::new(dims.to_vec(), (0..len).map(entry).collect()).unwrap()
}

fn waves(x: &[f64]) -> f64 {
    (25.0 * x[0] * x[1]).sin() / (1.0 + x[0] + x[1] * x[1])
}

/// What the default chooses, and its search with few evaluations.
fn split_of(x: &Tensor<impl Scalar>, re: f64) -> Option<SplitSummary> {
    let target = Target::new(x.clone()).unwrap();
    Search::new(&target).max_re(re).check().unwrap().split().cloned()
}

fn noise<T: Scalar>(dims: &[usize]) -> Tensor<T> {
    let mut rng = rng::stream(3, b"splits");
    let len: usize = dims.iter().product();
    Tensor::new(dims.to_vec(), (0..len).map(|_| T::normal(&mut rng)).collect()).unwrap()
}

#[test]
fn smooth_tensors_of_composite_sides_are_split() {
    let matrices: [(&[usize], f64); 4] =
        [(&[256, 256], 1e-4), (&[192, 320], 1e-3), (&[128, 512], 1e-4), (&[243, 256], 1e-3)];
    for (dims, re) in matrices {
        let split = split_of(&grid(dims, waves), re).unwrap_or_else(|| panic!("{dims:?}"));
        assert!(split.params < split.own, "{dims:?}");
        assert_eq!(split.reshape.from(), dims);
    }
    // A smooth 64^3 at 1e-3 was expected here and is not split. Other kinds of number.
    let single = grid(&[256, 256], |x| waves(x) as f32);
    assert!(split_of(&single, 0.01).is_some());
    let wave = |x: &[f64]| Complex::<f64>::from_parts(0.0, 30.0 * x[0] * x[1]).exp();
    assert!(split_of(&grid(&[256, 256], wave), 1e-3).is_some());
}

#[test]
fn what_is_better_as_it_is_stays_so() {
    // Sides without factors, small sides, noise, and a rank that only the own shape has.
    assert!(split_of(&grid(&[251, 257], waves), 1e-4).is_none());
    assert!(split_of(&grid(&[48, 60], waves), 1e-4).is_none());
    assert!(split_of(&noise::<f64>(&[64, 64]), 0.1).is_none());
    assert!(split_of(&noise::<Complex<f64>>(&[64, 16, 4]), 0.3).is_none());
    let (u, v) = (noise::<f64>(&[128]), noise::<f64>(&[64]));
    let outer = u.data().iter().flat_map(|u| v.data().iter().map(move |v| u * v)).collect();
    assert!(split_of(&Tensor::new(vec![128, 64], outer).unwrap(), 1e-3).is_none());
}

#[test]
fn nothing_is_split_where_something_is_said_about_it() {
    let x = grid(&[256, 256], |x| 2.0 + waves(x));
    let target = Target::new(x.clone()).unwrap();
    let is_split = |search: Search<'_>| search.check().unwrap().split().is_some();
    let search = || Search::new(&target).max_re(1e-4);
    assert!(is_split(search()));
    assert!(!is_split(search().split(false)));
    assert!(!is_split(search().template(Template::path(2).unwrap())));
    assert!(!is_split(search().max_rank(8)));
    assert!(!is_split(search().objective(Objective::MaxParams(4000))));
    assert!(!is_split(search().objective(Objective::Lambda(5.0))));
    assert!(!is_split(search().strategy(StrategySpec::new("tnls"))));
    let counts = Target::new(grid(&[256, 256], |x| (20.0 * (2.0 + waves(x))).round())).unwrap();
    assert!(!is_split(Search::new(&counts).max_re(1e-2).loss(PoissonDeviance)));
    let known = (0..256 * 256).map(|n| n % 7 != 0).collect();
    let mask = Mask::new(vec![256, 256], known).unwrap();
    let holed = Target::with_holes(x, &mask).unwrap();
    assert!(!is_split(Search::new(&holed).max_re(1e-4)));
}

#[test]
fn the_answer_is_the_tensor_again_and_not_larger() {
    let x = grid(&[128, 64], waves);
    let target = Target::new(x.clone()).unwrap();
    let search = |split: bool| {
        let few = |b: &mut Budget| b.max_evaluations = Some(1);
        let run = Search::new(&target).max_re(1e-3).split(split).budget(few).run();
        run.unwrap()
    };
    let (own, found) = (search(false), search(true));
    let split = found.split.as_ref().unwrap();
    assert!(own.split.is_none() && found.target_reached);
    let best = found.best.as_ref().unwrap();
    assert!(best.score.params <= split.params);
    assert!(best.score.params < own.best.as_ref().unwrap().score.params);
    assert!(own.best.as_ref().unwrap().score.params >= split.own);
    let network = best.network(split.reshape.to()).unwrap();
    let back = split.reshape.undo(network.to_tensor(None).unwrap());
    assert!((target.rse_of(&back) - best.score.error).abs() < 1e-12);
    // The same again, with another number of threads.
    let again = Search::new(&target).max_re(1e-3).budget(|b| {
        b.max_evaluations = Some(1);
        b.threads = Some(3);
    });
    assert_eq!(again.run().unwrap().best.unwrap().fitted.cores, best.fitted.cores);
}

/// A stop that is set before anything was fitted leaves the first answer, with its true error.
#[test]
fn there_is_always_an_answer_for_many_entries() {
    let stop = Stop::new();
    stop.set();
    for dims in [&[2; 20][..], &[1024, 1024], &[128, 64, 128]] {
        let target = Target::new(noise::<f32>(dims)).unwrap();
        for objective in [Objective::MaxError(1e-4), Objective::MaxParams(50_000)] {
            let found = Search::new(&target).objective(objective).stop(&stop).run().unwrap();
            let best = found.best.as_ref().unwrap();
            assert_eq!(found.target_reached, objective.max_error().is_none(), "{dims:?}");
            let network = best.network(dims).unwrap();
            let rse = target.rse_of_network(&network, None).unwrap();
            assert!((rse - best.score.error).abs() < 1e-6, "{dims:?}: {rse}");
        }
    }
}

/// Large tensors are shrunk by sketches: nothing more is lost than may be.
#[test]
fn a_sketch_shrinks_a_large_tensor() {
    let smooth = |x: &[f64]| ((3.0 * x[0] * x[1] + x[2]).cos() + 1.0 / (2.0 + x[0] * x[2])) as f32;
    let target = Target::new(grid(&[256, 64, 64], smooth)).unwrap();
    let limits = crate::problem::ShrinkLimits::default();
    for eps in [1e-3, 1e-5, 1e-7] {
        let small = target.shrink(Objective::MaxError(eps), &limits).unwrap();
        assert!(small.lost() <= 0.01 * eps && small.dims()[0] <= 16, "{:?}", small.dims());
    }
}
