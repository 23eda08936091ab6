use super::*;
use crate::bound::{Spectra, SpectraSettings};
use crate::problem::{Objective, Target};
use crate::rng::stream;
use crate::tensor::Tensor;
use rand_distr::{Distribution, StandardNormal};
use std::collections::HashSet;

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
    let names =
        |c: &Candidate| format!("{:?} {:?}", c.structure.permutation(), c.structure.ranks());
    assert_eq!(all.iter().map(names).collect::<HashSet<_>>().len(), all.len(), "none comes twice");
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

/// A node of a relaxation with these modes and ranks.
fn node(relaxation: &Relaxation, depth: usize, chosen: &[(usize, u16)], ranks: &[u16]) -> Node {
    let mut modes = vec![NO_MODE; relaxation.template.vertices()];
    chosen.iter().for_each(|&(v, mode)| modes[v] = mode);
    let chosen = [&modes, ranks].concat().into();
    Node { value: 0.0, depth, number: 0, params: 0.0, rse: 0.0, chosen }
}

#[test]
fn nodes_are_taken_by_value_then_depth_then_number() {
    let never = Stop::new();
    let plain = node(&relaxed(&never, &never), 2, &[], &[0; 5]);
    let worse = Node { value: 1.0, ..plain.clone() };
    let deeper = Node { depth: 3, ..plain.clone() };
    let later = Node { number: 1, ..plain.clone() };
    assert!(worse < plain && later < plain && plain < deeper && worse < later);
    assert!(plain == plain.clone() && plain != worse && plain != deeper && plain != later);
}

#[test]
fn what_is_left_costs_at_least_a_core_for_each_mode_and_each_vertex() {
    let data: Vec<f64> = (0..24).map(|k| f64::from(k * k % 17)).collect();
    let target = Target::new(Tensor::new(vec![2, 3, 4], data).unwrap()).unwrap();
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    // Three vertices with a mode and an edge each to one without a mode.
    let tucker = Arc::new(Template::parse("tucker", 3).unwrap());
    let objective = Objective::MaxParams(1000).check().unwrap();
    let relaxation = Relaxation::new(tucker, objective, &bound, 5);
    let outer: Vec<&PlacedVertex> = relaxation.places.iter().filter(|p| p.external).collect();
    let ranks = |of: [u16; 3]| {
        let mut ranks = vec![0; 3];
        outer.iter().zip(of).for_each(|(place, r)| ranks[place.edges[0]] = r);
        ranks
    };
    let least = |depth, chosen: &[(usize, u16)], of| {
        relaxation.remaining(&node(&relaxation, depth, chosen, &ranks(of)))
    };
    // The core, and the modes; or the smallest mode at each vertex with its rank, where that is more.
    assert_eq!(least(0, &[], [0, 0, 0]), 1.0 + (2.0 + 3.0 + 4.0));
    assert_eq!(least(0, &[], [3, 0, 5]), 15.0 + (3.0 + 1.0 + 5.0) * 2.0);
    // Mode 0 on the first vertex: 3 and 4 are left.
    assert!(relaxation.places[0].external);
    let first = (relaxation.places[0].vertex, 0);
    assert_eq!(least(1, &[first], [3, 0, 0]), 3.0 + (3.0 + 4.0));
    assert_eq!(least(1, &[first], [3, 0, 5]), 15.0 + (1.0 + 5.0) * 3.0);
    assert_eq!((relaxation.max_rank(), relaxation.size), (5, 24.0));
    assert_eq!(relaxation.least_core, [2.0, 3.0, 4.0]);
}

#[test]
fn an_expansion_makes_no_more_nodes_than_counted() {
    let never = Stop::new();
    let mut relaxation = relaxed(&never, &never);
    let children = |depth| relaxation.children(&node(&relaxation, depth, &[], &[0; 5]));
    // Around the ring: two new ranks of up to 6, then one each, the last none.
    assert_eq!([0, 1, 4, 5].map(children), [5.0 * 36.0, 4.0 * 6.0, 1.0, 0.0]);
    let eps = relaxation.objective.max_error().unwrap();
    for n in 0..5 {
        let rank = relaxation.bound.spectra().of(1 << n).unwrap().rank(eps);
        assert_eq!(relaxation.least_core[n], (3 * rank.max(1)) as f64);
    }
    assert!(!relaxation.is_full() && relaxation.expanded() == 0 && !relaxation.hurried());
    relaxation.next(2);
    assert_eq!(relaxation.expanded(), 2);
    // A node, two bytes for each of five vertices and five edges, its box; and half as much again.
    let bytes = 1.5 * (size_of::<Node>() + 20 + 16) as f64;
    assert_eq!(relaxed(&never, &never).within(1e5).max_open, 1e5 / bytes);
    assert_eq!(relaxed(&never, &never).within(1e18).max_open, MAX_OPEN);
    let mut full = relaxed(&Stop::new(), &Stop::new()).within(1.0);
    let floor = full.floor().unwrap();
    assert_eq!(full.next(9), Next::Spent(floor));
    assert!(full.is_full() && !full.interrupted() && !full.hurried());
    assert_eq!(full.expanded(), 0);
    full.hurry.set();
    assert!(full.hurried() && !full.interrupted());
    full.stop.set();
    assert!(full.interrupted());
}

/// All orders of so many modes.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let longer =
        |p: Vec<usize>| (0..count).map(move |at| [&p[..at], &[count - 1], &p[at..]].concat());
    orders(count - 1).into_iter().flat_map(longer).collect()
}

#[test]
fn what_comes_out_is_all_that_no_cut_rules_out() {
    let dims = [2, 3, 2, 3];
    let mut rng = stream(6, b"exhaustive");
    let data: Vec<f64> = (0..36).map(|_| StandardNormal.sample(&mut rng)).collect();
    let target = Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap();
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    for (spec, eps) in [("ring", 0.1), ("ring", 0.3), ("path", 0.3), ("star", 0.2), ("tucker", 0.3)]
    {
        let template = Arc::new(Template::parse(spec, 4).unwrap());
        let external = template.external_vertices();
        let edges = template.edges().len() as u32;
        // Every order of the modes and every rank up to 3.
        let (mut want, mut ruled_out) = (HashSet::new(), 0);
        for order in orders(4) {
            for code in 0..3usize.pow(edges) {
                let ranks = (0..edges).map(|e| code / 3usize.pow(e) % 3 + 1).collect();
                let permutation = order.iter().map(|&k| external[k]).collect();
                let structure = Structure::new(template.clone(), permutation, ranks).unwrap();
                let graph = structure.canonical().graph;
                match bound.rse(&graph, f64::INFINITY) <= eps {
                    true => drop(want.insert((structure.params(&dims), format!("{graph}")))),
                    false => ruled_out += 1,
                }
            }
        }
        assert!(!want.is_empty() && ruled_out > 0, "{spec}");
        let objective = Objective::MaxError(eps).check().unwrap();
        let mut relaxation = Relaxation::new(template.clone(), objective, &bound, 3);
        let (mut found, mut last) = (HashSet::new(), 0.0);
        while let Next::Candidate(candidate) = relaxation.next(u64::MAX) {
            let graph = candidate.structure.canonical().graph;
            assert_eq!(candidate.rse, bound.rse(&graph, f64::INFINITY));
            assert!(candidate.value >= last, "{spec}: the smallest first");
            last = candidate.value;
            found.insert((candidate.value as u128, format!("{graph}")));
        }
        assert_eq!(found, want, "{spec} {eps}");
    }
}
