use super::*;
use crate::problem::Mask;
use crate::tensor::{Complex, Tensor};

fn target(x: Vec<f64>) -> Target {
    Target::new(Tensor::new(vec![x.len(), 1], x).unwrap()).unwrap()
}

fn all() -> Vec<Arc<dyn Loss>> {
    let x = target(vec![0.0, 1.0, 2.0, 5.0, 9.0]);
    let named =
        losses().into_iter().map(|d| d.name.parse::<LossSpec>().unwrap().for_target(&x).unwrap());
    named.chain(["huber:0.7".parse::<LossSpec>().unwrap().for_target(&x).unwrap()]).collect()
}

/// `cosh(x - z) - 1`, without a second derivative of its own.
#[derive(Debug)]
struct Steep(ModelDomain);

impl Loss for Steep {
    fn measure(&self) -> Measure {
        Measure::new("steep", "steep", "cosh of the difference, less 1", None)
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        (x - z).cosh() - 1.0
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        (z - x).sinh()
    }

    fn model(&self) -> ModelDomain {
        self.0
    }
}

#[test]
fn derivatives_agree_with_finite_differences() {
    let own = [ModelDomain::Real, ModelDomain::NonNegative].map(|d| Arc::new(Steep(d)) as _);
    for loss in all().into_iter().chain(own) {
        let name = loss.measure().name;
        for x in [0.0, 1.0, 3.0, 4.5] {
            // Between the places where second derivatives jump.
            for z in [0.013, 0.41, 1.3, 2.9, 4.4, 8.0] {
                let h = 1e-6;
                let slope = (loss.value(x, z + h) - loss.value(x, z - h)) / (2.0 * h);
                let found = loss.derivative(x, z);
                assert!(
                    (slope - found).abs() < 1e-6 * (1.0 + slope.abs()),
                    "{name} {x} {z}: {slope} {found}"
                );
                let bend = (loss.derivative(x, z + h) - loss.derivative(x, z - h)) / (2.0 * h);
                let found = loss.second_derivative(x, z);
                assert!(
                    (bend - found).abs() < 1e-5 * (1.0 + bend.abs()),
                    "{name} {x} {z}: {bend} {found}"
                );
            }
            assert_eq!(loss.value(x, x), 0.0, "{name}");
            assert!(loss.value(x, x + 0.5) > 0.0 && loss.value(x, (x - 0.5).abs()) > 0.0, "{name}");
        }
    }
}

#[test]
fn a_network_that_knows_nothing_has_the_error_1() {
    let x = [0.0, 1.0, 2.0, 5.0, 9.0];
    for loss in all() {
        let knows_nothing = match loss.model() {
            ModelDomain::NonNegative => 3.4,
            ModelDomain::Real => 0.0,
        };
        let error: f64 = x.iter().map(|&x| loss.value(x, knows_nothing)).sum();
        assert!((error / loss.baseline(&x) - 1.0).abs() < 1e-12, "{:?}", loss.measure());
        // No constant network is better, where it is the mean.
        if loss.model() == ModelDomain::NonNegative {
            for z in [3.3, 3.5] {
                assert!(x.iter().map(|&x| loss.value(x, z)).sum::<f64>() > error);
            }
        }
        assert!(loss.measure().check().is_ok());
    }
    assert_eq!(KlDivergence.baseline(&[2.0; 3]), 6.0);
    assert_eq!(PoissonDeviance.baseline(&[2.0; 3]), 12.0);
}

#[test]
fn near_its_minimum_a_divergence_is_a_square() {
    // x log(x / z) - x + z by its series; the plain formula has no digit left here.
    let (x, d) = (3.0f64, 1e-9);
    let exact = d * d / (2.0 * x) - d.powi(3) / (3.0 * x * x);
    assert!((KlDivergence.value(x, x + d) / exact - 1.0).abs() < 1e-6);
}

#[test]
fn data_outside_the_domain_is_refused_with_its_place() {
    let said = |spec: &str, x: &Target| {
        spec.parse::<LossSpec>().unwrap().for_target(x).unwrap_err().to_string()
    };
    let negative =
        Target::new(Tensor::new(vec![2, 3], vec![1.0, 0.0, 2.0, 3.0, 4.0, -0.5]).unwrap()).unwrap();
    assert!(
        said("kl", &negative)
            .starts_with("entry [1, 2] is -0.5; KL divergence is for entries of at least 0")
    );
    assert!(
        said("poisson", &negative)
            .starts_with("entry [1, 2] is -0.5; Poisson deviance is for counts")
    );
    let half = target(vec![3.0, 1.5]);
    assert!(
        said("poisson", &half).starts_with("entry [1, 0] is 1.5;")
            && said("poisson", &half).ends_with("use --loss kl")
    );
    assert!("kl".parse::<LossSpec>().unwrap().for_target(&half).is_ok());
    // What is not known is not asked.
    let mask = Mask::new(vec![2, 3], vec![true, true, true, true, true, false]).unwrap();
    let x = Tensor::new(vec![2, 3], vec![1.0, 0.0, 2.0, 3.0, 4.0, -0.5]).unwrap();
    let holes = Target::with_holes(x, &mask).unwrap();
    assert!("kl".parse::<LossSpec>().unwrap().for_target(&holes).is_ok());
    let complex = Tensor::new(vec![1, 2], vec![Complex::new(1.0, 1.0); 2]).unwrap();
    let complex = Target::new(complex).unwrap();
    assert_eq!(
        said("kl", &complex),
        "loss is KL; it is fitted to f64 only, and these are complex128; use --dtype f64"
    );
    assert!(LossSpec::default().for_target(&complex).is_ok());
}

#[test]
fn names_and_numbers_are_checked() {
    let said = |text: &str| text.parse::<LossSpec>().unwrap_err().to_string();
    assert_eq!(said("l1"), "loss is 'l1'; use squared, kl, poisson, huber");
    assert_eq!(said("kl:2"), "loss is 'kl:2'; kl takes no number");
    for bad in ["huber:", "huber:x", "huber:0", "huber:-1", "huber:inf"] {
        assert!(said(bad).ends_with("what follows huber: must be a positive number"), "{bad}");
    }
    assert_eq!("huber:0.5".parse::<LossSpec>().unwrap().to_string(), "huber:0.5");
    assert!(LossSpec::default().is_default() && !"kl".parse::<LossSpec>().unwrap().is_default());
    assert!(losses().into_iter().all(|d| loss_list().contains(d.summary)));
}

#[test]
fn the_delta_of_huber_follows_from_the_data() {
    // More than half of the entries are the same.
    assert!((Huber::delta_for(&target(vec![1.0, 1.0, 1.0, 5.0])) - 0.1345).abs() < 1e-12);
    assert_eq!(Huber::delta_for(&target(vec![2.0; 4])), 1.0);
    // In units of the data, also where that is scaled inside.
    let far = target(vec![1e9, 2e9, 3e9, 4e9, 5e9]);
    assert!((Huber::delta_for(&far) / (0.1345 * 1.4826e9) - 1.0).abs() < 1e-12);
}

/// Errors are relative to the zero network's: of a delta far below the data they are those of the sum of distances, whatever
/// it is, to the smallest number there is.
#[test]
fn a_tiny_delta_loses_no_digits() {
    let x = [0.0, 1.0, -2.0, 5.25, 0.3];
    let z = [0.1, 0.9, -2.5, 5.0, -0.3];
    let distances = |z: &[f64]| x.iter().zip(z).map(|(x, z)| (x - z).abs()).sum::<f64>();
    let expected = distances(&z) / distances(&[0.0; 5]);
    for delta in [1e-30, 1e-139, 1e-141, 1e-200, 1e-300, f64::MIN_POSITIVE, 1e-310, 3e-322, 5e-324]
    {
        let loss = Huber::new(delta);
        let value = |z: &[f64]| x.iter().zip(z).map(|(x, z)| loss.value(*x, *z)).sum::<f64>();
        let found = value(&z) / loss.baseline(&x);
        assert!((found / expected - 1.0).abs() < 1e-12, "{delta}: {found} {expected}");
        assert_eq!(loss.value(2.0, 2.0), 0.0);
        for (x, z) in [(1.0, 2.0), (1.0, -1.0), (1.0, 1.0)] {
            assert!(loss.derivative(x, z).is_finite() && loss.second_derivative(x, z).is_finite());
            assert_eq!(loss.derivative(x, z) > 0.0, z > x, "{delta}");
        }
        // Slopes and values are in the same units.
        let slope = loss.value(1.0, 3.0) - loss.value(1.0, 2.0);
        assert!((slope / loss.derivative(1.0, 2.5) - 1.0).abs() < 1e-12, "{delta}");
    }
}
