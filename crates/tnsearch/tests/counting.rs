//! How many structures there are, against brute force; and the paper's bounds and Table 1 against the counts.
//! `cargo test -p tnsearch --test counting -- --nocapture` prints what the checks find.

mod census;

use census::permutations;
use num_bigint::BigUint;
use std::collections::HashSet;
use std::f64::consts::LN_10;
use std::sync::Arc;
use tnsearch::geometry::{
    Degrees, Internal, Placements, Space, connected_graphs, factorial, gamma, krasikov_ln,
    lemma_ln, ln_factorial, log10, theorem_ln,
};
use tnsearch::graph::{Structure, Template};

const BOTH: [Internal; 2] = [Internal::Free, Internal::Fixed];

fn external(edges: Vec<(usize, usize)>, n: usize) -> Arc<Template> {
    Arc::new(Template::from_graph("graph", vec![true; n], edges).unwrap())
}

fn families(order: usize) -> Vec<Template> {
    let mut all: Vec<Template> =
        ["path", "ring", "star", "tree", "complete", "tucker", "ht", "mera"]
            .iter()
            .map(|spec| Template::parse(spec, order).unwrap())
            .collect();
    for rows in (2..=order / 2).filter(|r| order.is_multiple_of(*r)) {
        all.push(Template::peps(rows, order / rows).unwrap());
    }
    all
}

#[test]
fn placements_are_counted_as_they_are_told_apart() {
    for order in 2..=6 {
        for template in families(order) {
            for internal in BOTH {
                let placements = Placements::new(Arc::new(template.clone()), internal).unwrap();
                let seen: HashSet<_> =
                    permutations(order).iter().map(|p| placements.graph(p).unwrap()).collect();
                let space = Space::of(&placements, 3).unwrap();
                let name = template.name();
                assert_eq!(
                    space.structures,
                    BigUint::from(seen.len()),
                    "{name} {order} {internal:?}"
                );
            }
        }
    }
}

/// With ranks from 2 to R + 1 no edge vanishes, and the cache tells exactly |L| structures apart.
#[test]
fn the_search_space_is_what_the_cache_tells_apart() {
    // Twin internal vertices between two modes, and a pair of pairs: symmetries that move no mode.
    let twins = [(0, 2), (2, 1), (0, 3), (3, 1)].to_vec();
    let twins = Template::from_graph("twins", vec![true, true, false, false], twins).unwrap();
    let three: Vec<_> = (2..5).flat_map(|v| [(0, v), (v, 1)]).collect();
    let three =
        Template::from_graph("three", vec![true, true, false, false, false], three).unwrap();
    let mut templates = vec![(twins, 3), (three, 2)];
    templates.extend((2..=4).flat_map(families).map(|t| (t, 2)));
    for (template, max_rank) in templates {
        let template = Arc::new(template);
        let space = Space::new(template.clone(), max_rank, Internal::Free).unwrap();
        let (n, edges) = (template.order(), template.edges().len());
        let (mut seen, mut thin) = (HashSet::new(), HashSet::new());
        for p in permutations(n) {
            for code in 0..max_rank.pow(edges as u32) {
                let rank = |e: usize| code / max_rank.pow(e as u32) % max_rank;
                for (set, least) in [(&mut seen, 2), (&mut thin, 1)] {
                    let ranks = (0..edges).map(|e| least + rank(e)).collect();
                    let s = Structure::new(template.clone(), p.clone(), ranks).unwrap();
                    set.insert(s.canonical().graph);
                }
            }
        }
        assert_eq!(space.size, Some(seen.len().into()), "{}", template.name());
        assert!((space.log10_size - (seen.len() as f64).log10()).abs() < 1e-12);
        // With ranks from 1, edges vanish and some coincide: |L| counts them apart.
        assert!(thin.len() <= seen.len());
        println!(
            "{} {n}, R = {max_rank}: |L| = {}, different networks {}",
            template.name(),
            seen.len(),
            thin.len()
        );
    }
}

/// Must show 1: Table 1 of the paper, and where it is loose or wrong.
#[test]
fn the_families_of_table_1() {
    let count = |template: Template| {
        let space = Space::new(Arc::new(template), 2, Internal::Free).unwrap();
        (space.automorphisms, space.structures)
    };
    for n in 4..=40 {
        let all = factorial(n);
        assert_eq!(count(Template::path(n).unwrap()), (2u32.into(), &all / 2u32));
        assert_eq!(count(Template::ring(n).unwrap()), ((2 * n).into(), factorial(n - 1) / 2u32));
        assert_eq!(count(Template::star(n).unwrap()), (factorial(n - 1), n.into()));
        assert_eq!(count(Template::complete(n).unwrap()), (all.clone(), 1u32.into()));
        for rows in (2..=n / 2).filter(|r| n.is_multiple_of(*r)) {
            let square = rows * rows == n;
            let lattice = Template::peps(rows, n / rows).unwrap();
            let edges = lattice.edges().len();
            let (aut, structures) = count(lattice);
            assert_eq!(aut, (if square { 8u32 } else { 4 }).into());
            assert_eq!(structures, &all / &aut);
            // Table 1 says |E| <= N and |Aut| <= N: the first holds for 2 x 2 alone, the second fails there.
            assert_eq!(edges <= n, n == 4, "{rows} x {}", n / rows);
            assert_eq!(aut > n.into(), n == 4);
        }
    }
    let ring = count(Template::ring(8).unwrap());
    assert_eq!((ring.0, ring.1), (16u32.into(), 2520u32.into()));
    let path = count(Template::path(8).unwrap());
    assert_eq!((path.0, path.1), (2u32.into(), 20160u32.into()));
    assert_eq!(count(Template::tree(7).unwrap()).0, 8u32.into());
}

/// Table 1 says |Aut| >= 2 and |G0 class| <= N!/2 for trees: trees without symmetries are counterexamples.
#[test]
fn trees_of_table_1() {
    let (mut trees, mut without) = (Vec::new(), Vec::new());
    for n in 4..=8 {
        let all: Vec<_> =
            connected_graphs(n).unwrap().into_iter().filter(|e| e.len() == n - 1).collect();
        trees.push(all.len());
        for edges in all {
            let space = Space::new(external(edges.clone(), n), 2, Internal::Free).unwrap();
            assert!(space.automorphisms <= factorial(n - 1) && space.structures >= n.into());
            if space.automorphisms == 1u32.into() {
                assert_eq!(space.structures, factorial(n));
                println!("a tree on {n} vertices without symmetries: {edges:?}");
                without.push(n);
            }
        }
    }
    // OEIS A000055 and A000220.
    assert_eq!(trees, [2, 3, 6, 11, 23]);
    assert_eq!(without, [7, 8]);
    // The spider with legs of 1, 2 and 3 vertices.
    let spider = external(vec![(0, 1), (0, 2), (2, 3), (0, 4), (4, 5), (5, 6)], 7);
    let space = Space::new(spider, 2, Internal::Free).unwrap();
    assert_eq!((space.automorphisms, space.structures), (1u32.into(), factorial(7)));
}

/// ln of a count.
fn ln(n: &BigUint) -> f64 {
    log10(n) * LN_10
}

/// Lemma 3.2, Krasikov's bound and Theorem 3.1 on every connected graph from 2 to 8 vertices.
#[test]
fn the_bounds_hold_on_every_connected_graph() {
    let mut graphs = 0;
    let mut slack = Vec::new();
    let (mut sharp, mut low_gap, mut high_gap) = (0, Vec::new(), Vec::new());
    for n in 2..=8 {
        for edges in connected_graphs(n).unwrap() {
            graphs += 1;
            let template = external(edges.clone(), n);
            let space = Space::new(template, 10, Internal::Free).unwrap();
            let aut = ln(&space.automorphisms);
            let lemma = lemma_ln(n, space.degrees.largest).unwrap();
            let krasikov = krasikov_ln(n, space.degrees.largest).unwrap();
            assert!(aut <= krasikov + 1e-9, "Krasikov: {edges:?}");
            assert!(krasikov <= lemma + 1e-9, "the lemma's derivation: {edges:?}");
            assert!(aut <= lemma, "Lemma 3.2: {edges:?}");
            sharp += usize::from((aut - krasikov).abs() < 1e-9);
            slack.push((lemma - aut, n, edges.clone()));
            let (low, high) = space.log10_bounds.unwrap();
            assert!(low <= space.log10_size && space.log10_size <= high, "Theorem 3.1: {edges:?}");
            low_gap.push(space.log10_size - low);
            high_gap.push(high - space.log10_size);
        }
    }
    assert_eq!(graphs, 12_112);
    slack.sort_by(|a: &(f64, _, _), b| a.0.total_cmp(&b.0));
    let median = |v: &mut Vec<f64>| {
        v.sort_by(f64::total_cmp);
        (v[0], v[v.len() / 2], v[v.len() - 1])
    };
    let factor =
        |k: usize| format!("{:.4} on {} vertices {:?}", slack[k].0.exp(), slack[k].1, slack[k].2);
    println!(
        "Lemma 3.2 and Theorem 3.1 hold on {graphs} graphs; Krasikov's bound is met by {sharp}"
    );
    println!("bound / |Aut|: least {}, then {}", factor(0), factor(1));
    println!("median {:.1}, largest {}", slack[graphs / 2].0.exp(), factor(graphs - 1));
    println!(
        "log10 |L| - lower bound, R = 10: least, median, largest {:.2?}",
        median(&mut low_gap)
    );
    println!(
        "upper bound - log10 |L|, R = 10: least, median, largest {:.2?}",
        median(&mut high_gap)
    );
    // The single edge is where the lemma is tightest (its proof needs Delta >= 2, but it holds).
    assert_eq!(slack[0].2, [(0, 1)]);
    assert!(slack[0].0.exp() < 1.003);
}

/// The lemma needs its assumption: without connectedness it fails at once.
#[test]
fn the_lemma_fails_for_graphs_that_are_not_connected() {
    // Two separate edges: 8 symmetries, and the bound with N = 4, Delta = 1 says 3.93.
    let group = census::coloured(vec![0; 4], &[(0, 1), (2, 3)]).automorphisms().unwrap();
    assert_eq!(*group.order(), 8u32.into());
    let bound = lemma_ln(4, 1).unwrap().exp();
    assert!((bound - 3.93).abs() < 0.01, "{bound}");
    // And it says nothing where there is no edge, or no second vertex.
    assert_eq!((lemma_ln(1, 0), lemma_ln(4, 0), lemma_ln(4, 4)), (None, None, None));
    assert_eq!((krasikov_ln(1, 0), krasikov_ln(0, 0)), (None, None));
}

#[test]
fn the_bounds_hold_on_the_families_to_large_orders() {
    for n in 2..=64 {
        for template in families(n) {
            let name = template.name().to_owned();
            let space = Space::new(Arc::new(template), 10, Internal::Free).unwrap();
            let (low, high) = space.log10_bounds.unwrap();
            assert!(low <= space.log10_size && space.log10_size <= high, "{name} {n}");
            let lemma = lemma_ln(space.vertices, space.degrees.largest).unwrap() / LN_10;
            assert!(log10(&space.automorphisms) <= lemma, "{name} {n}");
            if [8, 16, 64].contains(&n) {
                let size = space.log10_size;
                println!("{name} {n}, R = 10: {low:.1} <= {size:.1} <= {high:.1}");
            }
        }
    }
}

/// Paths, rings and stars of hundreds of vertices.
#[test]
fn the_bounds_hold_far_beyond_the_named_orders() {
    for n in [100, 300, 600] {
        let path: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
        let ring = path.iter().copied().chain([(0, n - 1)]).collect();
        let star = (1..n).map(|v| (0, v)).collect();
        for (edges, symmetries) in
            [(path, 2u32.into()), (ring, BigUint::from(2 * n)), (star, factorial(n - 1))]
        {
            let space = Space::new(external(edges, n), 10, Internal::Free).unwrap();
            assert_eq!(space.automorphisms, symmetries);
            let lemma = lemma_ln(n, space.degrees.largest).unwrap();
            assert!(ln(&symmetries) <= lemma);
            let (low, high) = space.log10_bounds.unwrap();
            assert!(low <= space.log10_size && space.log10_size <= high);
        }
    }
}

#[test]
fn the_formulas_are_the_papers() {
    // Against a direct evaluation of (8) without logarithms.
    for (n, degree) in [(2, 1), (6, 2), (8, 3), (12, 11)] {
        let d = n as f64 / degree as f64;
        let factorial: f64 = (1..=n).map(|k| k as f64).product();
        let rhs = factorial * (-gamma(d) * n as f64).exp() * d.sqrt() * (1.0f64 / 24.0).exp();
        assert!((lemma_ln(n, degree).unwrap().exp() / rhs - 1.0).abs() < 1e-12);
    }
    // (7) for a ring of 8 and R = 7: R^8 e^(8 gamma(4) - log(4)/2 - 1/24) and R^8 8!.
    let (low, high) = theorem_ln(8, 8, Degrees { least: 2, largest: 2 }, 7).unwrap();
    let ranks = 7f64.powi(8);
    let expected = ranks * (8.0 * (4f64.ln() + 0.25 - 1.0)).exp() / 2.0 * (-1.0f64 / 24.0).exp();
    assert!((low.exp() / expected - 1.0).abs() < 1e-12);
    assert!((high.exp() / (ranks * 40320.0) - 1.0).abs() < 1e-12);
    assert_eq!(gamma(1.0), 0.0);
    assert!((1..100).all(|k| gamma(1.0 + k as f64 / 10.0) > gamma(1.0 + (k - 1) as f64 / 10.0)));
    assert!((ln_factorial(20) - (2_432_902_008_176_640_000f64).ln()).abs() < 1e-12);
}

#[test]
fn logarithms_of_large_numbers() {
    assert_eq!(log10(&BigUint::from(1000u32)), 3.0);
    assert_eq!(log10(&BigUint::ZERO), f64::NEG_INFINITY);
    let large = BigUint::from(10u32).pow(5000);
    assert!((log10(&large) - 5000.0).abs() < 1e-9);
    assert!((log10(&factorial(100)) - ln_factorial(100) / LN_10).abs() < 1e-10);
}

#[test]
fn nothing_overflows() {
    let space = Space::new(Arc::new(Template::complete(64).unwrap()), usize::MAX, Internal::Free);
    let space = space.unwrap();
    assert_eq!(space.structures, 1u32.into());
    assert!((space.log10_size - 2016.0 * 64.0 * 2f64.log10()).abs() < 1e-6);
    assert_eq!(space.size.map(|s| s.bits()), Some(2016 * 64));
    // Graphs of the user's own. Beyond a million bits the size is not written out.
    let path = external((1..1500).map(|v| (v - 1, v)).collect(), 1500);
    let space = Space::new(path, usize::MAX, Internal::Free).unwrap();
    assert_eq!((space.structures, space.size.is_some()), (factorial(1500) / 2u32, true));
    let pairs = (0..200).flat_map(|u| (u + 1..200).map(move |v| (u, v))).collect();
    let space = Space::new(external(pairs, 200), usize::MAX, Internal::Free).unwrap();
    assert_eq!(
        (space.size, space.log10_size as usize),
        (None, (19_900.0 * 64.0 * 2f64.log10()) as usize)
    );
    // 20 twin internal vertices: 20! symmetries that move no mode.
    let edges = (2..22).flat_map(|v| [(0, v), (v, 1)]).collect();
    let twins = Template::from_graph("twins", (0..22).map(|v| v < 2).collect(), edges).unwrap();
    let error = Space::new(Arc::new(twins.clone()), 3, Internal::Free).unwrap_err().to_string();
    assert!(error.starts_with("symmetries of internal vertices alone"), "{error}");
    let fixed = Space::new(Arc::new(twins), 3, Internal::Fixed).unwrap();
    assert_eq!(fixed.size, Some(BigUint::from(3u32).pow(40)));
}
