//! Completions of small made data.

use super::*;
use crate::graph::ModeGraph;
use crate::network::contract;
use crate::rng;
use crate::tensor::{AnyTensor, Scalar, Tensor};

/// A ring of ranks 2 with noise of that standard deviation.
fn ring(dims: &[usize], noise: f64) -> Tensor {
    let order = dims.len();
    let edges = (0..order).map(|v| (v.min((v + 1) % order), v.max((v + 1) % order), 2));
    let graph = ModeGraph::new(order, 0, edges.collect());
    let mut rng = rng::stream(3, b"ring");
    let cores: Vec<Tensor> = (0..order)
        .map(|v| {
            let shape = graph.core_dims(v, dims);
            let n = shape.iter().product();
            // Around one, so that there is a mean to be found.
            let data = (0..n).map(|_| 1.0 + f64::normal(&mut rng)).collect();
            Tensor::new(shape, data).unwrap()
        })
        .collect();
    let mut x = contract(&graph, dims, &cores);
    x.data_mut().iter_mut().for_each(|x| *x += noise * f64::normal(&mut rng));
    x
}

fn settings(change: impl FnOnce(&mut CompleteSettings)) -> CheckedComplete {
    CompleteSettings::default().with(change).check().unwrap()
}

#[test]
fn a_noisy_ring_is_predicted_nearly_to_its_noise() {
    let dims = [5, 6, 5, 6];
    let (clean, noisy) = (ring(&dims, 0.0), ring(&dims, 1.0));
    let (known, missing) = Mask::all(&dims).unwrap().without(0.4, 1).unwrap();
    let target = Target::with_holes(noisy, &known).unwrap();
    let mut told = Vec::new();
    let found = complete(&target, &settings(|_| ()), &Stop::new(), &mut |s| told.push(s)).unwrap();
    let z = found.network.to_tensor(None).unwrap();
    let clean = Target::new(clean).unwrap();
    let off = clean.rse_on(&missing, &z) * clean.norm_squared();
    let rms = (off / dims.iter().product::<usize>() as f64).sqrt();
    assert!(rms < 1.5, "{rms}");
    // What is said about it is about right: noise and error together.
    assert!((0.7..2.5).contains(&found.held_out.rmse), "{:?}", found.held_out);
    assert_eq!(found.held_out.entries, (0.1 * known.count() as f64).round() as usize);
    assert_eq!(told.len(), found.structures);
    assert!(told.windows(2).all(|w| w[1].rse <= w[0].rse));
    let best = found.formats.iter().map(|f| f.rse).fold(f64::INFINITY, f64::min);
    assert!(found.held_out.rse <= best);
}

#[test]
fn ranks_that_begin_on_few_entries_go_on_growing_on_all() {
    let dims = [7, 8, 7, 8];
    let (clean, noisy) = (Target::new(ring(&dims, 0.0)).unwrap(), ring(&dims, 0.5));
    let (known, missing) = Mask::all(&dims).unwrap().without(0.2, 1).unwrap();
    let target = Target::with_holes(noisy, &known).unwrap();
    let ring = Arc::new(Template::ring(4).unwrap());
    let off = |first: usize| {
        let settings = settings(|s| (s.first_entries, s.template) = (first, Some(ring.clone())));
        let found = complete(&target, &settings, &Stop::new(), &mut |_| ()).unwrap();
        assert_eq!(found, complete(&target, &settings, &Stop::new(), &mut |_| ()).unwrap());
        // The network is fitted to all that is known.
        let z = found.network.to_tensor(None).unwrap();
        assert!((target.rse_on(&known, &z) - found.rse).abs() < 1e-9);
        clean.rse_on(&missing, &z)
    };
    let (few, all) = (off(200), off(usize::MAX));
    assert!(few < 1.5 * all && all < 1e-3, "{few} {all}");
}

#[test]
fn positive_data_of_many_modes_is_not_lost_at_the_first_fit() {
    let dims = [3; 8];
    let value = |k: usize| 1.0 + 0.2 * (k as f64 / 300.0).sin() + 0.1 * (k % 9) as f64;
    let x = Tensor::new(dims.to_vec(), (0..6561).map(value).collect()).unwrap();
    let (known, _) = Mask::all(&dims).unwrap().without(0.8, 1).unwrap();
    let target = Target::with_holes(x, &known).unwrap();
    let settings = settings(|s| (s.max_rank, s.seed) = (2, 4));
    let found = complete(&target, &settings, &Stop::new(), &mut |_| ()).unwrap();
    // The mean alone has 0.03.
    assert!(found.held_out.rse < 0.02, "{:?}", found.held_out);
}

#[test]
fn folds_hold_out_every_entry_once() {
    let dims = [4, 5, 4];
    let (known, _) = Mask::all(&dims).unwrap().without(0.3, 1).unwrap();
    let target = Target::with_holes(ring(&dims, 0.1), &known).unwrap();
    let settings = settings(|s| s.folds = 3);
    let found = complete(&target, &settings, &Stop::new(), &mut |_| ()).unwrap();
    assert_eq!((found.held_out.folds, found.held_out.entries), (3, known.count()));
    let again = complete(&target, &settings, &Stop::new(), &mut |_| ()).unwrap();
    assert_eq!(found, again);
}

#[test]
fn a_stop_gives_what_there_is() {
    let dims = [4, 5, 4];
    let (known, _) = Mask::all(&dims).unwrap().without(0.3, 1).unwrap();
    let target = Target::with_holes(ring(&dims, 0.1), &known).unwrap();
    let stop = Stop::new();
    let found = complete(&target, &settings(|_| ()), &stop, &mut |_| stop.set()).unwrap();
    assert!(found.interrupted && found.structures == 1);
    stop.set();
    let nothing = complete(&target, &settings(|_| ()), &stop, &mut |_| ());
    assert_eq!(nothing, Err(CompleteError::Fit(FitError::Interrupted)));
}

#[test]
fn data_of_any_size_and_kind_is_filled() {
    let dims = [8, 9, 8];
    let (known, missing) = Mask::all(&dims).unwrap().without(0.3, 1).unwrap();
    let mut x = ring(&dims, 0.0);
    // So large that it is scaled inside.
    x.data_mut().iter_mut().for_each(|x| *x *= 1e20);
    for kind in [crate::tensor::Kind::F64, crate::tensor::Kind::C64] {
        let x = AnyTensor::from(x.clone()).to_kind(kind).unwrap();
        let target = Target::with_holes(x.clone(), &known).unwrap();
        let settings = settings(|s| s.max_rank = 3);
        let found = complete(&target, &settings, &Stop::new(), &mut |_| ()).unwrap();
        assert!(found.rse < 1e-3, "{}", found.rse);
        let z = found.network.to_tensor(None).unwrap();
        let unseen = Target::new(x).unwrap().rse_on(&missing, &z);
        assert!(unseen < 0.1, "{kind}: {unseen}");
    }
}

#[test]
fn says_what_is_wrong() {
    let refused = |change: fn(&mut CompleteSettings)| {
        CompleteSettings::default().with(change).check().unwrap_err().to_string()
    };
    assert_eq!(refused(|s| s.held_out = 1.0), "held-out is 1; it must be above 0 and below 1");
    assert_eq!(refused(|s| s.folds = 0), "folds is 0; it must be at least 1");
    assert_eq!(refused(|s| s.max_rank = 0), "max-rank is 0; it must be at least 1");
    let x = Tensor::new(vec![3, 3], (1..10).map(f64::from).collect()).unwrap();
    let few = complete(&Target::new(x).unwrap(), &settings(|_| ()), &Stop::new(), &mut |_| ());
    assert_eq!(few, Err(CompleteError::TooFew { observed: 9, least: 20 }));
}
