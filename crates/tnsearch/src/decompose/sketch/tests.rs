use super::*;
use crate::problem::Stop;
use crate::rng;
use crate::tensor::Complex;

/// A sum of products whose weights fall by a tenth each, times a number.
fn falling<T: Scalar>(dims: &[usize], size: f64) -> Target {
    let mut rng = rng::stream(5, b"train");
    let mut data = vec![T::ZERO; dims.iter().product()];
    for term in 0..6 {
        let factors: Vec<Vec<T>> =
            dims.iter().map(|&d| (0..d).map(|_| T::normal(&mut rng)).collect()).collect();
        for (flat, x) in data.iter_mut().enumerate() {
            let (mut rest, mut product) = (flat, T::ONE);
            for (factor, &d) in factors.iter().zip(dims).rev() {
                product *= factor[rest % d];
                rest /= d;
            }
            *x += product.scale(size * 0.1f64.powi(term));
        }
    }
    Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
}

fn noise(dims: &[usize]) -> Target {
    let mut rng = rng::stream(6, b"train");
    let data = (0..dims.iter().product()).map(|_| f64::normal(&mut rng)).collect();
    Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
}

const WIDE: Widths = Widths { max_rank: 1000, most: 64, must_reach: false };

fn made(target: &Target, along: &[usize], objective: Objective, widths: Widths) -> Decomposition {
    let objective = objective.check().unwrap();
    let made = sketched_train(target, along, objective, widths, &Limits::none()).unwrap();
    // It is always the true error.
    let rse = target.rse_of_network(&made.network, None).unwrap();
    assert!((made.rse - rse).abs() <= 1e-5 * rse + 1e-12, "{} {rse}", made.rse);
    made
}

fn reaches_its_error<T: Scalar>(size: f64) {
    for (dims, along) in [
        (&[30, 20, 24][..], &[0, 1, 2][..]),
        (&[30, 20, 24], &[2, 0, 1]),
        (&[60, 70], &[0, 1]),
        (&[3, 2, 5, 4, 3, 2, 4], &[0, 1, 2, 3, 4, 5, 6]),
    ] {
        let target = falling::<T>(dims, size);
        for eps in [0.05, 1e-3, 1e-5] {
            let found = made(&target, along, Objective::MaxError(eps), WIDE);
            assert!(found.rse <= eps, "{dims:?} {along:?} {eps}: {}", found.rse);
            assert!(found.ranks().iter().all(|&r| r <= 6), "{dims:?}: {:?}", found.ranks());
        }
    }
}

#[test]
fn an_error_is_reached_with_few_ranks_whatever_the_numbers() {
    reaches_its_error::<f64>(1.0);
    reaches_its_error::<f64>(1e200);
    reaches_its_error::<f32>(1.0);
    reaches_its_error::<Complex<f64>>(1e-150);
}

#[test]
fn what_cannot_be_reached_is_still_an_answer() {
    let target = noise(&[40, 30, 50]);
    let eps = Objective::MaxError(1e-4);
    let few = Widths { most: 16, ..WIDE };
    let found = made(&target, &[0, 1, 2], eps, few);
    assert!(found.rse > 0.5 && found.rse < 1.0 && found.ranks() == [16, 16]);
    let must = Widths { must_reach: true, ..few };
    let objective = eps.check().unwrap();
    assert!(sketched_train(&target, &[0, 1, 2], objective, must, &Limits::none()).is_err());
    // A stop that is set leaves the first sketch of each step.
    let stop = Stop::new();
    stop.set();
    let limits = Limits { stop, ..Limits::none() };
    let stopped = sketched_train(&target, &[0, 1, 2], objective, WIDE, &limits).unwrap();
    assert_eq!(stopped.network, found.network);
}

#[test]
fn ranks_and_params_are_kept_to() {
    let target = noise(&[20, 20, 20]);
    let narrow = Widths { max_rank: 3, ..WIDE };
    let found = made(&target, &[0, 1, 2], Objective::MaxError(1e-4), narrow);
    assert_eq!(found.ranks(), [3, 3]);
    let found = made(&target, &[0, 1, 2], Objective::MaxParams(600), WIDE);
    assert!(found.network.params() <= 600 && found.network.params() > 300);
    let priced = |lambda| made(&target, &[0, 1, 2], Objective::Lambda(lambda), WIDE).rse;
    assert!(priced(100.0) < priced(0.01));
}

#[test]
fn too_little_memory_is_said() {
    let target = noise(&[40, 30, 50]);
    let objective = Objective::MaxError(1e-4).check().unwrap();
    let limits = Limits { max_bytes: Some(1000), ..Limits::none() };
    let refused = sketched_train(&target, &[0, 1, 2], objective, WIDE, &limits);
    assert!(matches!(refused, Err(DecomposeError::Memory(_))));
}
