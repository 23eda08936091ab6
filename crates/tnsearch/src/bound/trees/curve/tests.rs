use super::super::brute::noisy;
use super::*;
use crate::bound::SpectraSettings;
use crate::problem::Target;
use crate::tensor::Tensor;

/// A matrix with these squares of singular values.
fn diagonal(squares: &[f64]) -> Spectra {
    let n = squares.len();
    let mut x = Tensor::<f64>::zeros(vec![n, n]);
    squares.iter().enumerate().for_each(|(k, s)| x.data_mut()[k * n + k] = s.sqrt());
    Spectra::new(&Target::new(x).unwrap(), SpectraSettings::default())
}

fn ranks(choices: &[Choice]) -> Vec<usize> {
    choices.iter().map(|c| c.0).collect()
}

#[test]
fn ranks_are_looked_at_from_the_first_that_is_affordable_to_the_last_that_pays() {
    // Of 255 parts 128, 64, ..., 1: at a price of 100 the sixth gains 100 * 4 / 255, less than two parameters.
    let spectra = diagonal(&[128.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0]);
    let pricing = |eps| Pricing::new(&spectra, eps, &Stop::new());
    let found = pricing(None).choices(0b10, 100.0, 1e3);
    assert_eq!(ranks(&found), [1, 2, 3, 4, 5]);
    for &(rank, cost) in &found {
        let beyond = f64::from((1u32 << (8 - rank)) - 1);
        assert!((cost - 100.0 * beyond / 255.0).abs() < 1e-9, "{rank}: {cost}");
    }
    // All that cost at most 20: 100 * 31 / 255 is the first.
    assert_eq!(ranks(&pricing(None).choices(0b10, 100.0, 20.0)), [3, 4, 5]);
    // And none that cannot reach the error: 15 / 255 < 0.1 < 31 / 255.
    assert_eq!(ranks(&pricing(Some(0.1)).choices(0b10, 100.0, 1e3)), [4, 5]);
    // At a high price all of them pay, at a low one none does.
    assert_eq!(ranks(&pricing(None).choices(0b10, 1e5, 1e9)), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(ranks(&pricing(None).choices(0b10, 1.0, 1e9)), [1]);
    // The empty cut has no edge.
    assert!(pricing(None).choices(0, 100.0, 1e3).is_empty());
}

#[test]
fn of_many_ranks_some_are_looked_at_closer_where_they_are_small() {
    // 40 equal values, of which at least 11 must be kept: 30 ranks are possible. The steps are 30^(k/11).
    let spectra = diagonal(&[1.0; 40]);
    let pricing = Pricing::new(&spectra, None, &Stop::new());
    let found = pricing.choices(0b10, 1000.0, 1000.0 * 29.5 / 40.0);
    assert_eq!(ranks(&found), [11, 12, 13, 14, 16, 18, 21, 26, 32, 40]);
    // Twelve are not many.
    let spectra = diagonal(&[1.0; 12]);
    let pricing = Pricing::new(&spectra, None, &Stop::new());
    assert_eq!(ranks(&pricing.choices(0b10, 1000.0, 1e9)), (1..=12).collect::<Vec<_>>());
}

#[test]
fn twisted_prices_differ_from_cut_to_cut_by_up_to_a_factor_of_two() {
    let target = noisy(&[2, 3, 2, 3, 2, 2, 2], 1, 0.1);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let plain = Pricing::new(&spectra, None, &Stop::new());
    let twisted = Pricing::new(&spectra, None, &Stop::new()).twisted(5);
    let other = Pricing::new(&spectra, None, &Stop::new()).twisted(6);
    let all: ModeSet = (1 << 7) - 1;
    let factors: Vec<f64> = (1..all).map(|set| twisted.price(set, 1000.0) / 1000.0).collect();
    assert!(factors.iter().all(|f| (0.5..=2.0).contains(f)), "{factors:?}");
    let (least, most) = (factors.iter().copied().fold(9.0, f64::min), factors.iter().copied());
    assert!(least < 0.6 && most.fold(0.0, f64::max) > 1.7, "{factors:?}");
    for set in 1..all {
        assert_eq!(twisted.price(set, 7.0), twisted.price(all & !set, 7.0), "one cut, two names");
        assert_eq!(plain.price(set, 7.0), 7.0);
    }
    assert!((1..all).any(|set| twisted.price(set, 7.0) != other.price(set, 7.0)));
    // Other trees come out.
    let prices = (0..40).map(|k| 10f64.powf(f64::from(k) / 10.0));
    let different = prices.filter(|&p| plain.tree(p) != twisted.tree(p)).count();
    assert!(different > 0);
}

#[test]
fn the_spectra_of_all_arcs_are_computed_in_advance() {
    let target = noisy(&[2; 15], 3, 1e-3);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let pricing = Pricing::new(&spectra, None, &Stop::new());
    let Sets::Arcs { order, .. } = &pricing.sets else { panic!("more modes than all trees have") };
    for from in 0..15 {
        for to in from + 1..=15 {
            let set = order[from..to].iter().map(|n| 1 << n).sum::<ModeSet>();
            assert!(to - from == 15 || spectra.known(set).is_some(), "{from} {to}");
        }
    }
    // Up to order 14 a cut is computed when it is asked for.
    let spectra = diagonal(&[2.0, 1.0]);
    Pricing::new(&spectra, None, &Stop::new());
    assert!(spectra.known(0b10).is_none());
}

/// The trees of many prices, from one parameter for all of the error on.
fn swept(pricing: &Pricing) -> Vec<Priced> {
    (0..700).filter_map(|k| pricing.tree(10f64.powf(f64::from(k) / 50.0))).collect()
}

#[test]
fn prices_are_found_for_budgets_of_error_and_of_parameters() {
    let dims = [3, 4, 2, 3];
    let mut several = 0;
    for seed in 0..4 {
        let target = noisy(&dims, seed, 0.4);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let pricing = Pricing::new(&spectra, None, &Stop::new());
        let all = swept(&pricing);
        for budget in [1e-5, 1e-3, 0.05, 0.3, 0.7] {
            let found = pricing.within(budget).unwrap();
            assert!(found.tails <= budget, "{seed} {budget}");
            assert_eq!(pricing.priced(found.tree.clone()), Some(found.clone()));
            let least = all.iter().filter(|p| p.tails <= budget).map(|p| p.params).min();
            assert!(found.params <= least.unwrap(), "{seed} {budget}: {} {least:?}", found.params);
        }
        assert_eq!(pricing.within(0.0).map(|p| (p.params, p.tails)), Some((72, 0.0)));
        for most in [14, 20, 30, 45, 71] {
            let found = pricing.affordable(most);
            assert!(found.iter().all(|p| p.params <= most) && found.len() <= 4);
            assert!(found.is_sorted_by(|a, b| a.tails <= b.tails));
            let twice = |k: usize| found[..k].iter().any(|p| p.tree == found[k].tree);
            assert!(!(0..found.len()).any(twice), "{seed} {most}");
            several += usize::from(found.len() > 1);
            // The dearest that is affordable, grown into what room is left.
            let dearest = all.iter().rev().find(|p| p.params <= most).unwrap();
            let grown = pricing.grown(dearest, most);
            assert!(
                found[0].tails <= grown.tails,
                "{seed} {most}: {} {}",
                found[0].tails,
                grown.tails
            );
        }
        // Fewer parameters than any network has.
        assert!(pricing.affordable(3).is_empty());
    }
    assert!(several > 5, "{several}");
}

#[test]
fn without_a_limit_to_the_error_every_rank_goes_down_to_one() {
    let target = noisy(&[3, 4, 2, 3], 1, 0.4);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let pricing = Pricing::new(&spectra, None, &Stop::new());
    let from = pricing.tree(100.0).unwrap();
    assert!(from.tree.edges.iter().any(|e| e.2 > 1));
    let trimmed = pricing.trimmed(&from, 100.0);
    assert!(trimmed.tree.edges.iter().all(|e| e.2 == 1), "{trimmed:?}");
    // And with all parameters, up to where nothing is lost.
    let grown = pricing.grown(&from, u128::MAX);
    assert_eq!(grown.tails, 0.0);
    let sides = grown.tree.splits().into_iter().map(|set| spectra.side(set));
    assert!(sides.zip(&grown.tree.edges).all(|(side, e)| e.2 <= side), "{grown:?}");
}

#[test]
fn a_curve_is_of_trees_for_budgets_that_rise_evenly() {
    let target = noisy(&[3, 4, 2, 3], 2, 0.3);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let pricing = Pricing::new(&spectra, None, &Stop::new());
    let at = |budget: f64| pricing.trimmed(&pricing.within(budget).unwrap(), budget);
    let found = pricing.curve(1e-3, 0.1, 3);
    assert_eq!(found, [at(1e-3), at(1e-2), at(0.1)]);
    assert_eq!(pricing.curve(1e-2, 0.1, 1), [at(1e-2)]);
    // What comes out twice stands once.
    assert_eq!(pricing.curve(1e-2, 1.0001e-2, 3), [at(1e-2)]);
    let stop = Stop::new();
    stop.set();
    let stopped = Pricing::new(&spectra, None, &stop);
    assert_eq!(stopped.curve(1e-3, 0.1, 3), [at(1e-3)], "it looks at the stop after each");
}

/// The tree after one step of a rank, the best by a rate; none where no step is allowed.
fn stepped(
    pricing: &Pricing,
    at: &Priced,
    up: bool,
    allowed: impl Fn(&Priced) -> bool,
) -> Option<Priced> {
    let mut best: Option<(f64, Priced)> = None;
    for e in 0..at.tree.edges.len() {
        let mut tree = at.tree.clone();
        tree.edges[e].2 = if up { tree.edges[e].2 + 1 } else { tree.edges[e].2 - 1 };
        if tree.edges[e].2 == 0 {
            continue;
        }
        let next = pricing.priced(tree).unwrap();
        // Error per parameter: as much as possible on the way up, as little on the way down.
        let rate = (at.tails - next.tails) / (next.params as f64 - at.params as f64);
        let better = best.as_ref().is_none_or(|(r, _)| if up { rate >= *r } else { rate < *r });
        if allowed(&next) && better {
            best = Some((rate, next));
        }
    }
    best.map(|b| b.1)
}

#[test]
fn of_many_edges_that_is_changed_which_is_worth_most() {
    let modes = vec![1, 2, 4, 8, 16];
    let path = ModeTree { modes, edges: vec![(0, 1, 2), (1, 2, 3), (2, 3, 3), (3, 4, 2)] };
    let mut steps = 0;
    for seed in 0..6 {
        let target = noisy(&[5, 2, 4, 3, 6], seed, 0.6);
        let spectra = Spectra::new(&target, SpectraSettings::default());
        let pricing = Pricing::new(&spectra, None, &Stop::new());
        let from = pricing.priced(path.clone()).unwrap();
        for room in [20, 60, 150] {
            let most = from.params + room;
            let mut at = from.clone();
            while let Some(next) =
                stepped(&pricing, &at, true, |p| p.params <= most && p.tails < at.tails)
            {
                at = next;
                steps += 1;
            }
            assert_eq!(pricing.grown(&from, most), at, "{seed} {room}");
        }
        for budget in [1.1, 1.5, 3.0].map(|b| b * from.tails) {
            let mut at = from.clone();
            while let Some(next) = stepped(&pricing, &at, false, |p| p.tails <= budget) {
                at = next;
                steps += 1;
            }
            assert_eq!(pricing.trimmed(&from, budget), at, "{seed} {budget}");
        }
    }
    assert!(steps > 60, "{steps}");
}
