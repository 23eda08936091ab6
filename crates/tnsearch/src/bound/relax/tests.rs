use super::*;
use crate::bound::{Spectra, SpectraSettings};
use crate::problem::{Objective, Target};
use crate::rng::stream;
use crate::tensor::Tensor;
use rand_distr::{Distribution, StandardNormal};

/// A relaxed problem of some thousand nodes.
fn relaxed(stop: &Stop, hurry: &Stop) -> Relaxation {
    let mut rng = stream(1, b"relaxed");
    let data: Vec<f64> = (0..3usize.pow(5)).map(|_| StandardNormal.sample(&mut rng)).collect();
    let target = Target::new(Tensor::new(vec![3; 5], data).unwrap()).unwrap();
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    bound.spectra().prepare(&Stop::new());
    let ring = Arc::new(Template::ring(5).unwrap());
    let objective = Objective::MaxError(0.4).check().unwrap();
    Relaxation::stoppable(ring, objective, &bound, 6, stop, hurry)
}

fn best(relaxation: &mut Relaxation) -> Candidate {
    match relaxation.next(u64::MAX) {
        Next::Candidate(candidate) => candidate,
        other => panic!("{other:?}"),
    }
}

#[test]
fn whenever_the_time_is_up_the_bound_holds_and_nothing_is_lost() {
    let never = Stop::new();
    let whole = best(&mut relaxed(&never, &never));
    let mut within_a_node = 0;
    for looks in (0..60).chain([200, 1000, 5000]) {
        // The looks while it is made are not of interest here.
        let mut relaxation = relaxed(&never, &never);
        relaxation.hurry = Stop::after_looks(looks);
        match relaxation.next(u64::MAX) {
            Next::Spent(floor) => assert!(floor <= whole.value, "{looks}: {floor}"),
            Next::Candidate(candidate) => assert_eq!(candidate, whole),
            Next::Nothing => panic!("{looks}: something is left"),
        }
        within_a_node += usize::from(relaxation.made > 0 && relaxation.open.len() == 1);
        // With time again it goes on to where it would have come.
        relaxation.hurry = Stop::new();
        assert_eq!(best(&mut relaxation).value, whole.value, "{looks}");
    }
    assert!(within_a_node > 0, "no expansion was cut short");
}

#[test]
fn the_beam_ends_with_the_time_and_its_structures_are_whole() {
    let never = Stop::new();
    let all = relaxed(&never, &never).promising();
    assert!(!all.is_empty());
    let mut sizes = Vec::new();
    for looks in (0..40).map(|k| 25 * k).chain([1_000_000]) {
        let mut relaxation = relaxed(&never, &never);
        relaxation.stop = Stop::after_looks(looks);
        let found = relaxation.promising();
        assert!(found.windows(2).all(|w| w[0].value <= w[1].value));
        assert!(found.iter().all(|c| c.structure.params(&[3; 5]) as f64 == c.value));
        sizes.push(found.len());
    }
    assert_eq!(sizes.last(), Some(&all.len()));
    // Without any time at all, the best of each depth leads somewhere.
    assert!(sizes[0] > 0 && sizes[0] < all.len(), "{sizes:?}");
    assert!(sizes.iter().any(|&n| n > sizes[0] && n < all.len()), "{sizes:?}");
}
