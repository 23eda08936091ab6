//! Requests and results are values that can be sent: JSON keeps every bit.

use super::*;
use crate::fit::{Effort, Method};
use crate::tensor::{AnyTensor, Tensor};
use proptest::prelude::{any, prop, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as Values;
use serde::Serialize;
use serde::de::DeserializeOwned;

fn sent<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn bits(cores: &[AnyTensor]) -> Vec<(Vec<usize>, Vec<u64>)> {
    let entries = |t: &AnyTensor| t.as_f64().unwrap().data().iter().map(|x| x.to_bits()).collect();
    let bits = |t: &AnyTensor| (t.dims().to_vec(), entries(t));
    cores.iter().map(bits).collect()
}

/// Numbers that are easily changed on the way: zeros with a sign, the ends of the range, thirds.
fn number() -> impl Values<Value = f64> {
    let hard = [-0.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, f64::MIN, 0.1 + 0.2, 1.0 / 3.0, 1e23];
    prop_oneof![
        prop::sample::select(hard.to_vec()),
        prop::num::f64::NORMAL,
        prop::num::f64::SUBNORMAL
    ]
}

fn cores() -> impl Values<Value = Vec<AnyTensor>> {
    prop::collection::vec(number(), 24).prop_map(|data| {
        let tensor =
            |dims: Vec<usize>, data: &[f64]| Tensor::new(dims, data.to_vec()).unwrap().into();
        vec![tensor(vec![2, 3], &data[..6]), tensor(vec![3, 2, 3], &data[6..])]
    })
}

proptest! {
    #[test]
    fn a_request_survives_json_bit_for_bit(
        ranks in prop::collection::vec(1usize..5, 5),
        seed in any::<u64>(),
        quick in any::<bool>(),
        warm in prop::option::of(cores()),
        method in prop::sample::select(Method::ALL.to_vec()),
        tolerance in 0.0..1.0f64,
        max_bytes in prop::option::of(any::<u64>()),
        data in prop::option::of("[0-9a-f]{8}"),
    ) {
        let structure = Structure::identity(Arc::new(Template::ring(5).unwrap()), ranks).unwrap();
        let settings = FitSettings { tolerance, max_bytes, ..FitSettings::of(method) };
        let settings = Arc::new(settings.check().unwrap());
        let mut request = Request::new(structure.canonical().graph, settings, seed);
        request.effort = if quick { Effort::Quick } else { Effort::Full };
        (request.warm, request.data) = (warm.map(Arc::new), data);
        let same = sent(&request);
        prop_assert_eq!(same.settings.tolerance.to_bits(), tolerance.to_bits());
        let of = |r: &Request| r.warm.as_ref().map(|cores| bits(cores));
        prop_assert_eq!(of(&same), of(&request));
        prop_assert_eq!(same, request);
    }

    #[test]
    fn a_result_survives_json_bit_for_bit(
        cores in cores(),
        error in number(),
        (sweeps, restarts) in any::<(usize, usize)>(),
        (rescued, interrupted) in any::<(bool, bool)>(),
    ) {
        let fitted = Fitted { cores, error, sweeps, restarts, rescued, interrupted, graph: None };
        let same = sent(&fitted);
        prop_assert_eq!(bits(&same.cores), bits(&fitted.cores));
        prop_assert_eq!(same.error.to_bits(), fitted.error.to_bits());
        prop_assert_eq!(same, fitted);
    }
}

/// Sent there and back, requests and results give the same search.
#[test]
fn a_search_over_json_is_the_same_search() {
    struct Remote(Formula);
    impl Evaluator for Remote {
        fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
            self.0.evaluate(&sent(request), stop).map(|fitted| sent(&fitted))
        }
    }
    for objective in OBJECTIVES {
        let search = |mut local: Local| {
            timeless(engine(objective).runs(5, 2, tnls).run(&mut local).unwrap())
        };
        let remote = Local::new(Arc::new(Remote(Formula::default())), 3).unwrap();
        assert_eq!(search(remote), search(workers(&Arc::default(), 3)));
    }
}
