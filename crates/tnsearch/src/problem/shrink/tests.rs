use super::*;
use crate::bound::{CutBound, Spectra, SpectraSettings};
use crate::fit::{FitSettings, Request, Run, error_of, fit};
use crate::graph::{Structure, testing};
use crate::network::{Network, expand_cores};
use crate::rng::stream;
use crate::tensor::{Complex, unflatten};

fn shrink(target: &Target, objective: Objective) -> Option<Target> {
    target.shrink(objective, &ShrinkLimits::default())
}

/// Mode ranks of at most 3, and noise of that relative size in all of the entries.
fn low<T: Scalar>(dims: &[usize], noise: f64, seed: u64) -> Target {
    let mut rng = stream(seed, b"shrink");
    let factors: Vec<Vec<T>> =
        dims.iter().map(|&d| (0..3 * d).map(|_| T::normal(&mut rng)).collect()).collect();
    let entry = |flat: usize| -> T {
        let at = unflatten(flat, dims);
        let term = |k: usize| {
            let mut product = T::ONE;
            at.iter().zip(&factors).for_each(|(&i, f)| product *= f[3 * i + k]);
            product
        };
        (0..3).map(term).sum()
    };
    let mut x: Vec<T> = (0..dims.iter().product()).map(entry).collect();
    let rms = (sum_of_squares(&x) / x.len() as f64).sqrt();
    x.iter_mut().for_each(|x| *x += T::normal(&mut rng).scale(noise * rms));
    Target::new(Tensor::new(dims.to_vec(), x).unwrap()).unwrap()
}

/// `lost + rest` against the residual of the expanded network, entry by entry.
fn accounts_for_everything<T: Scalar>() {
    let dims = [9, 12, 6, 10];
    let x = low::<T>(&dims, 0.03, 1);
    let small = shrink(&x, Objective::MaxError(0.1)).unwrap();
    assert!(small.entries() <= x.entries() / 2 && small.lost() > 1e-4 && small.lost() <= 1e-3);
    assert_eq!((small.full_dims(), small.norm_squared()), (&dims[..], x.norm_squared()));
    let settings = FitSettings { max_sweeps: 4, restarts: 1, ..FitSettings::default() };
    let settings = settings.check().unwrap();
    let tolerance = 10.0 * T::KIND.epsilon();
    let mut rng = stream(2, b"structures");
    for template in testing::all(4) {
        let structure = testing::random(&template.into(), 3, &mut rng);
        let graph = structure.canonical().graph;
        let request = Request::new(graph.clone(), settings.clone(), 3);
        let fitted = fit(&small, &request, &Run::default()).unwrap();
        let on_small = Network::from_fitted(structure, small.dims().to_vec(), fitted.cores.clone());
        let on_small = on_small.unwrap();
        let network = on_small.expanded(&small).unwrap();
        assert_eq!(network.dims(), dims);
        let z = network.to_tensor(None).unwrap();
        let rest = |k: usize| (x.tensor().entry(k) - z.entry(k) / x.scale()).norm_sqr();
        let explicit = (0..x.entries()).map(rest).sum::<f64>() / x.norm_squared();
        assert!((explicit - fitted.error).abs() < tolerance, "{} {explicit} {graph}", T::KIND);
        // The same by the other ways of telling it.
        let cores = expand_cores(&small, &graph, fitted.cores.clone());
        for error in [
            error_of(&x, &graph, &cores, None).unwrap(),
            error_of(&small, &graph, &fitted.cores, None).unwrap(),
            small.rse_of(&on_small.to_tensor(None).unwrap()),
        ] {
            assert!((explicit - error).abs() < tolerance, "{} {explicit} {error}", T::KIND);
        }
    }
}

#[test]
fn vertices_with_several_modes_are_expanded_along_each() {
    let x = low::<f64>(&[9, 12, 6, 10], 0.03, 3);
    let small = shrink(&x, Objective::MaxError(0.1)).unwrap();
    let settings = FitSettings { max_sweeps: 4, ..FitSettings::default() }.check().unwrap();
    let groups = [vec![0, 2], vec![1], vec![3]];
    let path = Structure::from_groups("pair", &groups, &[(0, 1, 3), (1, 2, 2)]).unwrap();
    let whole = Structure::from_groups("whole", &[vec![0, 1, 2, 3]], &[]).unwrap();
    for structure in [path, whole] {
        let graph = structure.canonical().graph;
        let request = Request::new(graph.clone(), settings.clone(), 1);
        let fitted = fit(&small, &request, &Run::default()).unwrap();
        let network = Network::from_fitted(structure, small.dims().to_vec(), fitted.cores.clone());
        let z = network.unwrap().expanded(&small).unwrap().to_tensor(None).unwrap();
        let cores = expand_cores(&small, &graph, fitted.cores);
        for error in [x.rse_of(&z), error_of(&x, &graph, &cores, None).unwrap()] {
            assert!((error - fitted.error).abs() < 1e-13, "{graph} {error} {}", fitted.error);
        }
        assert!(fitted.error >= small.lost() && small.lost() > 1e-4);
    }
}

#[test]
fn errors_are_those_of_the_full_tensor_for_every_kind() {
    accounts_for_everything::<f32>();
    accounts_for_everything::<f64>();
    accounts_for_everything::<Complex<f32>>();
    accounts_for_everything::<Complex<f64>>();
}

#[test]
fn bounds_of_the_small_tensor_hold_for_the_full_one_and_miss_no_more_than_was_lost() {
    let x = low::<f64>(&[9, 12, 6, 10], 0.03, 4);
    let small = shrink(&x, Objective::MaxError(0.1)).unwrap();
    let of = |target: &Target| CutBound::new(Spectra::new(target, SpectraSettings::default()));
    let (of_x, of_small) = (of(&x), of(&small));
    let mut strict = 0;
    for set in 1..15 {
        let (full, less) = (of_x.spectra().of(set).unwrap(), of_small.spectra().of(set).unwrap());
        for k in 0..40 {
            assert!(less.tail(k) <= full.tail(k) + 1e-14, "{set} {k}");
            assert!(full.tail(k) <= less.tail(k) + small.lost() + 1e-14, "{set} {k}");
            strict += usize::from(less.tail(k) + 1e-6 < full.tail(k));
        }
    }
    assert!(strict > 0, "something was lost");
    let mut rng = stream(5, b"bounds");
    for template in testing::all(4) {
        let graph = testing::random(&template.into(), 2, &mut rng).canonical().graph;
        assert!(of_small.rse(&graph, 1.0) <= of_x.rse(&graph, 1.0) + 1e-14, "{graph}");
    }
}

#[test]
fn bases_are_orthonormal_and_exact_ranks_are_found_at_any_error() {
    // Also a mode that is longer than all others together.
    for dims in [vec![9, 12, 6, 10], vec![700, 4, 5]] {
        let x = low::<f64>(&dims, 0.0, 6);
        for objective in
            [Objective::MaxError(1e-20), Objective::Lambda(200.0), Objective::MaxParams(60_000)]
        {
            let small = shrink(&x, objective).unwrap();
            let want: Vec<usize> = vec![3; dims.len()];
            assert_eq!(small.dims(), want, "{objective:?}");
            assert!(small.lost() < 1e-26, "{}", small.lost());
            for (mode, &len) in dims.iter().enumerate() {
                let basis = small.shrunk().unwrap().basis(mode).unwrap();
                assert_eq!(basis.dims(), [len, 3]);
                for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
                    let products =
                        (0..len).map(|k| basis.entry(3 * k + i) * basis.entry(3 * k + j));
                    let dot = products.sum::<Complex<f64>>().re;
                    assert!((dot - f64::from(i == j)).abs() < 1e-13, "{dot}");
                }
            }
        }
    }
}

/// `1 / (1 + x + y + z)`, whose singular values fall to rounding, and of complex kinds a phase on it.
fn smooth<T: Scalar>(dims: [usize; 3]) -> Target {
    let at = |n: usize| {
        let at = unflatten(n, &dims).into_iter().zip(dims).map(|(i, d)| i as f64 / d as f64);
        at.sum::<f64>()
    };
    let entry = |n: usize| T::from_parts(1.0 / (1.0 + at(n)), 0.3 * at(n) / (2.0 + at(n)));
    let x = (0..dims.iter().product()).map(entry).collect();
    Target::new(Tensor::<T>::new(dims.to_vec(), x).unwrap()).unwrap()
}

/// At every error: nothing is shrunk, or at most a hundredth of it is lost, and the small tensor is small.
fn loses_a_hundredth_at_most<T: Scalar>() {
    // The last one has a mode that is longer than the others together.
    for dims in [[24, 30, 36], [600, 5, 6]] {
        let x = smooth::<T>(dims);
        for digits in 1..15 {
            let eps = 10f64.powi(-2 * digits);
            let small = shrink(&x, Objective::MaxError(eps));
            let Some(small) = small else {
                // Near rounding only, or where the short modes keep all they have.
                let near = eps.sqrt() < 100.0 * T::KIND.epsilon();
                assert!(near || dims[0] == 600, "{} {dims:?} 1e-{digits}", T::KIND);
                continue;
            };
            let most = (PART * eps).max((ROUNDING * f64::EPSILON).powi(2));
            assert!(small.lost() <= most, "{} 1e-{digits}: {}", T::KIND, small.lost());
        }
        // Of objectives without an error nothing but rounding is lost where everything can matter.
        for objective in [Objective::MaxParams(1 << 40), Objective::Lambda(1e40)] {
            let Some(small) = shrink(&x, objective) else { continue };
            let rounding = (40.0 * T::KIND.epsilon()).powi(2);
            assert!(small.lost() <= rounding, "{} {objective:?}: {}", T::KIND, small.lost());
        }
    }
}

#[test]
fn a_hundredth_of_the_error_is_lost_at_most_down_to_rounding() {
    loses_a_hundredth_at_most::<f32>();
    loses_a_hundredth_at_most::<f64>();
    loses_a_hundredth_at_most::<Complex<f32>>();
    loses_a_hundredth_at_most::<Complex<f64>>();
}

#[test]
fn what_may_be_lost_is_small_beside_what_can_matter() {
    let x = low::<f64>(&[16, 20, 24], 1e-4, 7);
    // The noise has an RSE of 1e-8: a hundredth of 1e-5 is more, a hundredth of 1e-8 is not.
    let eps = 1e-5;
    let small = shrink(&x, Objective::MaxError(eps)).unwrap();
    assert_eq!(small.dims(), [3, 3, 3]);
    assert!(small.lost() > 1e-9 && small.lost() <= eps / 100.0);
    assert!(shrink(&x, Objective::MaxError(1e-8)).is_none());
    // With ranks of 2 and less an RSE of a few percent remains, with larger ones the noise matters.
    let few = shrink(&x, Objective::MaxParams(24 * 2)).unwrap();
    assert_eq!(few.dims(), [3, 3, 3]);
    assert!(shrink(&x, Objective::MaxParams(24 * 4)).is_none());
    // A loss of phi >= 24 * 1 / 7680 or more: against it lambda = 1 forgives the noise, 1e6 does not.
    assert_eq!(shrink(&x, Objective::Lambda(1.0)).unwrap().dims(), [3, 3, 3]);
    assert!(shrink(&x, Objective::Lambda(1e6)).is_none());
}

#[test]
fn nothing_is_shrunk_where_it_does_not_pay_or_may_not() {
    let objective = Objective::MaxError(1e-2);
    assert!(shrink(&low::<f64>(&[9, 12, 6, 10], 1.0, 8), objective).is_none(), "full ranks");
    assert!(shrink(&low::<f64>(&[9, 12, 6], 0.0, 8), objective).is_none(), "few entries");
    assert!(shrink(&low::<f64>(&[3; 9], 0.0, 8), objective).is_none(), "short modes");
    let x = low::<f64>(&[9, 12, 6, 10], 0.0, 8);
    let tight = ShrinkLimits { max_bytes: Some(100_000), ..ShrinkLimits::default() };
    assert!(x.shrink(objective, &tight).is_none());
    let stopped = ShrinkLimits::default();
    stopped.stop.set();
    assert!(x.shrink(objective, &stopped).is_none());
    let once = shrink(&x, objective).unwrap();
    assert!(shrink(&once, objective).is_none());
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let x = low::<f64>(&[40, 50, 60], 1e-3, 9);
    let of = |threads| {
        let limits = ShrinkLimits { threads: Some(threads), ..ShrinkLimits::default() };
        let small = x.shrink(Objective::MaxError(1e-2), &limits).unwrap();
        (small.tensor().clone(), small.shrunk().unwrap().clone())
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn scales_of_entries_far_from_one_are_kept() {
    let dims = [9, 12, 6, 10];
    let x = low::<f64>(&dims, 0.0, 10);
    let huge: Vec<f64> = x.tensor().as_f64().unwrap().data().iter().map(|x| x * 1e150).collect();
    let huge = Target::new(Tensor::new(dims.to_vec(), huge).unwrap()).unwrap();
    let small = shrink(&huge, Objective::MaxError(1e-4)).unwrap();
    assert_eq!(small.scale(), huge.scale());
    let structure = testing::random(&testing::all(4).remove(0).into(), 3, &mut stream(1, b"s"));
    let graph = structure.canonical().graph;
    let settings = FitSettings::default().check().unwrap();
    let request = Request::new(graph.clone(), settings.clone(), 1);
    let fitted = fit(&small, &request, &Run::default()).unwrap();
    let cores = expand_cores(&small, &graph, fitted.cores);
    let explicit = error_of(&huge, &graph, &cores, None).unwrap();
    assert!((explicit - fitted.error).abs() < 1e-12, "{explicit} {}", fitted.error);
}
