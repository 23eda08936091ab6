use super::*;
use crate::problem::Objective;
use crate::search::Source;
use crate::search::testing::{asked, generation};

const DIMS: [usize; 4] = [3; 4];

fn tnale(ranks: [usize; 4], settings: TnaleSettings) -> Tnale {
    let ring = Arc::new(Template::ring(4).unwrap());
    let start = Structure::identity(ring, ranks.to_vec()).unwrap();
    let objective = Objective::Lambda(1.0).check().unwrap();
    Tnale::starting_at(start, &DIMS, objective, settings.check().unwrap(), 1)
}

fn main_only() -> TnaleSettings {
    TnaleSettings { init_iterations: 0, ..TnaleSettings::default() }
}

fn told(s: &Structure, error: f64) -> Outcome {
    let params = s.params(&DIMS);
    let loss = s.phi(&DIMS) + error;
    Outcome { loss, error: Some(error), params, source: Source::Evaluated }
}

/// Runs it to its end; the sizes of its generations and all it proposed.
fn walk(t: &mut Tnale, error: impl Fn(&Structure) -> f64) -> (Vec<usize>, Vec<Structure>) {
    let (mut sizes, mut all) = (Vec::new(), Vec::new());
    loop {
        let asked = asked(t);
        if asked.is_empty() {
            return (sizes, all);
        }
        sizes.push(asked.len());
        t.tell(&asked.iter().map(|s| told(s, error(s))).collect::<Vec<_>>());
        all.extend(asked);
    }
}

#[test]
fn refuses_settings_that_mean_nothing() {
    let bad = TnaleSettings { radius: 0, ..TnaleSettings::default() };
    assert_eq!(bad.check().unwrap_err().to_string(), "radius is 0; it must be at least 1");
    let bad = TnaleSettings { init_radius: 0, ..TnaleSettings::default() };
    assert!(bad.check().unwrap_err().to_string().starts_with("init-radius is 0"));
}

#[test]
fn windows_keep_their_width_at_the_bounds() {
    let t = tnale([1, 2, 4, 7], TnaleSettings::default());
    assert_eq!([0, 1, 2, 3].map(|e| t.window(e)), [1..=5, 1..=5, 2..=6, 3..=7]);
    let t = tnale([1, 2, 4, 7], main_only());
    assert_eq!([0, 1, 2, 3].map(|e| t.window(e)), [1..=3, 1..=3, 3..=5, 5..=7]);
    let t = tnale([1, 2, 2, 1], TnaleSettings { max_rank: 2, ..TnaleSettings::default() });
    assert_eq!([0, 1, 2, 3].map(|e| t.window(e)), [1..=2, 1..=2, 1..=2, 1..=2]);
}

/// A flat error: fewer parameters always win, so each round takes every rank down by one, from 3 to 1.
#[test]
fn the_main_rounds_propose_what_is_counted_by_hand() {
    let three = TnaleSettings { iterations: 3, ..main_only() };
    let (sizes, all) = walk(&mut tnale([3; 4], three), |_| 0.0);
    // Round 1: the start is not known, so the first rank has 3 values; then 2 each; 6 swaps of 4 modes; the
    // way back 2 each. Its end is rank 2 everywhere. Round 2 ends at rank 1, in windows 1..=3; round 3 has
    // the same windows, and changes nothing.
    let first = [3, 2, 2, 2, 6, 2, 2, 2, 2];
    let further = [2, 2, 2, 2, 6, 2, 2, 2, 2];
    assert_eq!(sizes, [first, further, further].concat());
    assert_eq!(all.len(), 23 + 22 + 22);
    assert!(all.iter().all(|s| s.ranks().iter().all(|r| (1..=4).contains(r))));
    let (sizes, _) =
        walk(&mut tnale([3; 4], TnaleSettings { iterations: 1, ..main_only() }), |_| 0.0);
    assert_eq!(sizes, first);
}

/// After a round that has not improved on its centre, the next begins elsewhere in its neighbourhood.
#[test]
fn a_round_in_vain_is_followed_by_one_from_a_random_member() {
    let mut starts = std::collections::HashSet::new();
    for seed in 0..50 {
        let mut t = tnale([1; 4], TnaleSettings { iterations: 2, ..main_only() });
        t.rng = rng::stream(seed, b"tnale");
        for _ in 0..9 {
            let asked = asked(&mut t);
            t.tell(&asked.iter().map(|s| told(s, 0.0)).collect::<Vec<_>>());
        }
        assert_eq!((t.centre.ranks(), t.known, t.rounds), (&[1; 4][..], None, 1));
        assert_ne!(t.current, t.centre);
        assert!(t.current.ranks().iter().all(|r| (1..=3).contains(r)), "in the windows");
        let moved = t.current.permutation().iter().enumerate().filter(|(n, v)| n != *v).count();
        assert!(moved == 0 || moved == 2);
        starts.insert(t.current.ranks().to_vec());
        // It is not known, so it is one of those proposed first.
        let Generation { structures, only_below, .. } = generation(&mut t);
        assert!(structures.contains(&t.current) && structures.len() == 3);
        assert_eq!(only_below, Some(f64::INFINITY));
        walk(&mut t, |_| 0.0);
        assert_eq!(t.centre.ranks(), [1; 4], "nothing is better");
    }
    assert!(starts.len() > 20, "{}", starts.len());
}

/// With estimates, 3 of the 5 ranks of a window are fitted.
#[test]
fn the_initial_rounds_propose_what_is_counted_by_hand() {
    let settings = TnaleSettings { init_iterations: 1, iterations: 1, ..TnaleSettings::default() };
    // Rank 2 is best for every edge, of the window 1..=5 whose fitted ranks are 1, 3 and 5.
    let rse = |s: &Structure| s.ranks().iter().map(|&r| if r < 2 { 9.0 } else { 0.0 }).sum::<f64>();
    let mut t = tnale([3; 4], settings);
    let Generation { structures: first, only_below, .. } = generation(&mut t);
    assert_eq!(first.iter().map(|s| s.ranks()[0]).collect::<Vec<_>>(), [1, 3, 5]);
    assert_eq!(only_below, None, "every error counts");
    t.tell(&first.iter().map(|s| told(s, rse(s))).collect::<Vec<_>>());
    // Rank 2 is estimated as 4.5 + phi, rank 4 as phi: rank 3 stays, as fitted.
    assert_eq!((t.current.ranks(), t.known.is_some()), (&[3, 3, 3, 3][..], true));
    let (sizes, _) = walk(&mut t, rse);
    // The walk stands on a fitted middle: 2 more each; 6 swaps; back 2 each. Then a main round: at rank 3, whose
    // windows 2..=4 have rank 2 in them, all 2 but known.
    assert_eq!(sizes, [vec![2, 2, 2, 6, 2, 2, 2, 2], vec![2, 2, 2, 2, 6, 2, 2, 2, 2]].concat());
    assert_eq!(t.centre.ranks(), [2; 4]);
}

#[test]
fn the_walk_goes_to_an_estimate_and_fits_it_later() {
    let dims = [10; 4];
    let ring = Arc::new(Template::ring(4).unwrap());
    let start = Structure::identity(ring, vec![4, 1, 1, 1]).unwrap();
    let objective = Objective::MaxError(0.1).check().unwrap();
    let settings = TnaleSettings { init_radius: 3, ..TnaleSettings::default() };
    let mut t = Tnale::starting_at(start, &dims, objective, settings.check().unwrap(), 1);
    let told = |s: &Structure| {
        let rse = if s.ranks()[0] < 4 { 0.3 } else { 0.0 };
        let (params, phi) = (s.params(&dims), s.phi(&dims));
        let loss = objective.loss(params, phi, rse);
        Outcome { loss, error: Some(rse), params, source: Source::Evaluated }
    };
    let asked = generation(&mut t).structures;
    assert_eq!(asked.iter().map(|s| s.ranks()[0]).collect::<Vec<_>>(), [1, 4, 7]);
    t.tell(&asked.iter().map(told).collect::<Vec<_>>());
    // A rank more costs 0.002. Fitted: rank 1 has 0.02 * (0.3 / 0.1 - 1) = 0.04 for its error, rank 4 has 0 and
    // 0.006 more params. Estimated: rank 2 has an RSE of 0.2, so 0.02 + 0.002; rank 3 one of 0.1, so 0.004.
    assert_eq!((t.current.ranks(), t.known), (&[3, 1, 1, 1][..], None));
    // Its fit is one of the next window, where it turns out to be worse than it seemed.
    let asked = generation(&mut t).structures;
    assert_eq!(
        asked.iter().map(|s| s.ranks()[..2].to_vec()).collect::<Vec<_>>(),
        [vec![3, 1], vec![3, 4], vec![3, 7]]
    );
    t.tell(&asked.iter().map(told).collect::<Vec<_>>());
    assert!(t.known.is_some_and(|k| k.error == Some(0.3)));
}

#[test]
fn an_estimate_is_interpolated_linearly() {
    let points = [(1, 0.9), (3, 0.5), (6, 0.2)];
    for (rank, value) in [(1, 0.9), (2, 0.7), (3, 0.5), (4, 0.4), (5, 0.3), (6, 0.2)] {
        assert!((interpolate(&points, rank).unwrap() - value).abs() < 1e-12, "{rank}");
    }
    assert_eq!(interpolate(&points[1..], 2), None);
    assert_eq!(interpolate(&points, 7), None);
    assert_eq!(interpolate(&[], 1), None);
}

#[test]
fn ranks_that_were_refused_take_no_part_in_estimates() {
    let mut t = tnale([3; 4], TnaleSettings::default());
    let asked = generation(&mut t).structures;
    let mut outcomes: Vec<Outcome> = asked.iter().map(|s| told(s, 0.0)).collect();
    // Ranks 1 and 5 are refused: only rank 3 is left, and nothing is known of 2 and 4.
    for k in [0, 2] {
        outcomes[k] = Outcome { loss: 99.0, error: None, source: Source::Refused, ..outcomes[k] };
    }
    t.tell(&outcomes);
    assert_eq!(t.current.ranks(), [3; 4]);
    assert!(t.known.is_some());
}

#[test]
fn finds_the_least_of_a_valley_by_swaps_too() {
    // The error wants modes 0 and 2 side by side with rank 3 between them.
    let rse = |s: &Structure| {
        let g = s.canonical().graph;
        let rank = g.edges().iter().find(|e| (e.0, e.1) == (0, 2)).map_or(1, |e| e.2);
        3usize.saturating_sub(rank) as f64
    };
    for start in [[7, 7, 7, 7], [2, 5, 1, 3]] {
        let mut t = tnale(start, TnaleSettings::default());
        walk(&mut t, rse);
        assert_eq!(t.centre.canonical().graph.to_string(), "4+0:0-2x3", "{start:?}");
    }
}
