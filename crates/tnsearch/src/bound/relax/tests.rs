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

#[test]
fn the_beam_holds_no_more_nodes_than_it_uses() {
    let node = |k: u64| Node {
        value: ((k * 7919) % 100_003) as f64,
        depth: 1,
        number: k,
        params: 0.0,
        rse: 0.0,
        chosen: Box::new([]),
    };
    let (mut level, mut most) = (Vec::new(), 0);
    for k in 0..200_000 {
        keep_best(&mut level, node(k));
        most = most.max(level.len());
    }
    assert!(most <= 2 * BEAM as usize, "{most}");
    let mut all: Vec<Node> = (0..200_000).map(node).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    level.sort_unstable_by(|a, b| b.cmp(a));
    let numbers = |nodes: &[Node]| nodes.iter().map(|n| n.number).collect::<Vec<_>>();
    assert_eq!(numbers(&level[..BEAM as usize]), numbers(&all[..BEAM as usize]));
}

#[test]
fn a_complete_structure_is_not_begun_without_a_look() {
    let never = Stop::new();
    let mut relaxation = relaxed(&never, &never);
    // The ring without its last vertex: every child is complete.
    while relaxation.open.peek().is_some_and(|node| node.depth + 1 < relaxation.places.len()) {
        relaxation.next(1);
    }
    let node = relaxation.open.pop().unwrap();
    // The stop is looked at once now, and would not be again for many nodes.
    let watch = Watch::new([Stop::after_looks(1)]);
    assert!(!watch.is_set());
    let mut made = 0;
    let whole = relaxation.expand(&node, &watch, &mut |_| made += 1);
    assert!(!whole && made == 0, "{made}");
}
