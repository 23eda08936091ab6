//! The semi-metric, the sets around a structure and Algorithm 1, against definitions carried out literally.
//! `cargo test -p tnsearch --test distances -- --nocapture` prints what the checks find.

mod census;

use census::permutations;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use tnsearch::geometry::{GeometryError, Internal, Placements, Reached, word_length, word_metric};
use tnsearch::graph::{ModeGraph, Structure, Template};
use tnsearch::rng::stream;
use tnsearch::search::sample_neighbour;

fn placements(spec: &str, order: usize) -> Placements {
    let template = Arc::new(Template::parse(spec, order).unwrap());
    Placements::new(template, Internal::Free).unwrap()
}

/// The templates of an order that have more than one structure.
fn small(order: usize) -> Vec<Placements> {
    let mut specs = vec!["path", "ring", "star", "tree", "ht", "mera"];
    match order {
        4 => specs.push("peps:2x2"),
        6 => specs.push("peps:2x3"),
        _ => {}
    }
    specs.iter().map(|spec| placements(spec, order)).collect()
}

/// Equation 6 to the letter: the least word metric over all ways of writing the two structures. A way of
/// writing is `g`, the mode on each vertex.
fn literal(a: &[Vec<usize>], b: &[Vec<usize>]) -> u64 {
    a.iter().flat_map(|x| b.iter().map(move |y| word_metric(x, y))).min().unwrap()
}

type Ways = HashMap<ModeGraph, Vec<Vec<usize>>>;

/// Every structure with all its ways of writing (as `g`: vertex to mode) and one as a permutation.
fn every(p: &Placements) -> (Ways, Reached) {
    let (mut ways, mut one) = (HashMap::<_, Vec<_>>::new(), BTreeMap::new());
    for g in permutations(p.template().order()) {
        let mut permutation = vec![0; g.len()];
        g.iter().enumerate().for_each(|(v, &mode)| permutation[mode] = v);
        let graph = p.graph(&permutation).unwrap();
        ways.entry(graph.clone()).or_default().push(g);
        one.entry(graph).or_insert(permutation);
    }
    (ways, one)
}

#[test]
fn the_word_metric_counts_adjacent_swaps() {
    // Breadth first over the Cayley graph of S_5: the definition.
    let start: Vec<usize> = (0..5).collect();
    let mut steps = HashMap::from([(start.clone(), 0u64)]);
    let mut queue = std::collections::VecDeque::from([start.clone()]);
    while let Some(p) = queue.pop_front() {
        for k in 1..5 {
            // p t: the images of k - 1 and k change places.
            let mut q = p.clone();
            q.swap(k - 1, k);
            if !steps.contains_key(&q) {
                steps.insert(q.clone(), steps[&p] + 1);
                queue.push_back(q);
            }
        }
    }
    assert_eq!(steps.len(), 120);
    for (p, &d) in &steps {
        assert_eq!((word_length(p), word_metric(&start, p), word_metric(p, &start)), (d, d, d));
    }
    // More than 64 numbers go another way.
    let reversed: Vec<usize> = (0..80).rev().collect();
    assert_eq!(word_length(&reversed), 80 * 79 / 2);
    assert_eq!(word_length(&reversed[16..]), 64 * 63 / 2);
}

/// Every pair of structures: the value is that of the definition, it separates, and it is symmetric.
#[test]
fn the_semi_metric_is_equation_6() {
    for order in 2..=5 {
        for p in small(order) {
            let (ways, one) = every(&p);
            for (a, pa) in &one {
                for (b, pb) in &one {
                    let d = p.semi_metric(pa, pb).unwrap();
                    let name = p.template().name();
                    assert_eq!(d, literal(&ways[a], &ways[b]), "{name} {pa:?} {pb:?}");
                    assert_eq!(d == 0, a == b);
                    assert_eq!(d, p.semi_metric(pb, pa).unwrap());
                }
            }
        }
    }
}

proptest! {
    /// Separation and symmetry (Lemma 3.3), and nothing depends on the way of writing, at larger orders.
    #[test]
    fn separation_and_symmetry(
        order in 4usize..=10, kind in 0usize..5, seed in any::<u64>(), turn in any::<u64>()
    ) {
        let p = placements(["path", "ring", "tree", "ht", "mera"][kind], order);
        let identity: Vec<usize> = (0..order).collect();
        let (mut x, mut y) = (stream(seed, b"x"), stream(seed, b"y"));
        let (a, b) =
            (sample_neighbour(&identity, 20, &mut x), sample_neighbour(&identity, 3, &mut y));
        let d = p.semi_metric(&a, &b).unwrap();
        prop_assert_eq!(d, p.semi_metric(&b, &a).unwrap());
        prop_assert_eq!(d == 0, p.graph(&a).unwrap() == p.graph(&b).unwrap());
        // Another way of writing b.
        let elements: Vec<_> = p.automorphisms().elements(100_000).unwrap().collect();
        let q = &elements[(turn % elements.len() as u64) as usize];
        let turned: Vec<usize> = b.iter().map(|&v| q[v]).collect();
        prop_assert_eq!(p.semi_metric(&b, &turned).unwrap(), 0);
        prop_assert_eq!(p.semi_metric(&a, &turned).unwrap(), d);
    }
}

/// Groups too large for pairs: branch and bound. A star is told by the mode in its middle, so any two
/// different ones are one swap apart; a complete graph has one structure.
#[test]
fn large_groups() {
    for order in [9, 12, 20] {
        let identity: Vec<usize> = (0..order).collect();
        let mut other = identity.clone();
        other.rotate_left(order / 2);
        assert_eq!(placements("star", order).semi_metric(&identity, &other).unwrap(), 1);
        other[1..].reverse();
        assert_eq!(placements("complete", order).semi_metric(&identity, &other).unwrap(), 0);
        let last = placements("star", order).semi_metric(&other, &other).unwrap();
        assert_eq!(last, 0);
    }
    // Two stars joined at their centres: 4! 4! 2 symmetries by pairs, and the same by branch and bound.
    let legs = (2..6).map(|v| (0, v)).chain((6..10).map(|v| (1, v))).chain([(0, 1)]).collect();
    let double = Arc::new(Template::from_graph("double", vec![true; 10], legs).unwrap());
    let p = Placements::new(double, Internal::Free).unwrap();
    assert_eq!(p.automorphisms().order().to_string(), "1152");
    let a: Vec<usize> = (0..10).collect();
    // The leaf 5 of one and the leaf 6 of the other are neighbours by number; a centre and its own leaf are
    // one swap, too, up to symmetry.
    assert_eq!(p.semi_metric(&a, &[0, 1, 2, 3, 4, 6, 5, 7, 8, 9]).unwrap(), 1);
    assert_eq!(p.semi_metric(&a, &[9, 1, 2, 3, 4, 5, 6, 7, 8, 0]).unwrap(), 1);
    // What neither settles is refused.
    let tree = placements("tree", 63);
    let (a, mut rng) = ((0..63).collect::<Vec<_>>(), stream(1, b"far"));
    let b = sample_neighbour(&a, 200, &mut rng);
    let error = tree.semi_metric(&a, &b).unwrap_err();
    assert!(matches!(error, GeometryError::TooMany { .. }), "{error}");
}

/// Three structures and the distances of the first two, the last two, and the first and the last.
type Triangle = ([Vec<usize>; 3], [u64; 3]);

/// The triples `(G1, G2, G3)` with d(G1, G3) > d(G1, G2) + d(G2, G3), out of all with the same first; the worst of
/// them with its three distances; and how far structures are apart at most. Renaming the modes moves any
/// structure to the first, and keeps distances: one row of the table says all.
fn triangles(p: &Placements) -> (usize, Option<Triangle>, u64) {
    let (_, one) = every(p);
    let first = one.values().next().unwrap();
    let from: HashMap<&ModeGraph, u64> =
        one.iter().map(|(graph, q)| (graph, p.semi_metric(first, q).unwrap())).collect();
    let (mut count, mut worst) = (0, None);
    let mut excess = 0;
    for (graph_b, b) in &one {
        // The mode that has the place which mode m has in the first.
        let rename: Vec<usize> =
            first.iter().map(|v| b.iter().position(|w| w == v).unwrap()).collect();
        for (graph_c, c) in &one {
            let renamed: Vec<usize> = rename.iter().map(|&m| c[m]).collect();
            let sides = [from[graph_b], from[&p.graph(&renamed).unwrap()], from[graph_c]];
            if sides[2] > sides[0] + sides[1] {
                count += 1;
                if sides[2] - sides[0] - sides[1] > excess {
                    excess = sides[2] - sides[0] - sides[1];
                    worst = Some(([first.clone(), b.clone(), c.clone()], sides));
                }
            }
        }
    }
    (count, worst, *from.values().max().unwrap())
}

#[test]
fn the_triangle_inequality_fails() {
    let mut broken = Vec::new();
    for order in 3..=6 {
        for p in small(order) {
            let (count, worst, diameter) = triangles(&p);
            let name = format!("{} {order}", p.template().name());
            println!("{name}: diameter {diameter}, {count} triples break it; worst {worst:?}");
            if let Some(([a, b, c], sides)) = worst {
                assert_eq!(p.semi_metric(&a, &b).unwrap(), sides[0]);
                assert_eq!(p.semi_metric(&b, &c).unwrap(), sides[1]);
                assert_eq!(p.semi_metric(&a, &c).unwrap(), sides[2]);
                broken.push(name);
            }
        }
    }
    let expected = ["tree 4", "tree 5", "ht 5", "mera 5", "tree 6", "ht 6", "mera 6", "peps:2x3 6"];
    assert_eq!(broken, expected);
    // The example of docs/theory.md.
    let tree = placements("tree", 4);
    let d = |a: &[usize], b: &[usize]| tree.semi_metric(a, b).unwrap();
    let [a, b, c] = [[1, 0, 3, 2], [1, 3, 0, 2], [3, 2, 1, 0]];
    assert_eq!((d(&a, &b), d(&b, &c), d(&a, &c)), (1, 1, 4));
}

/// Rings keep it up to order 7, and not at order 8. (Paths always keep it: turning a path round keeps lengths.)
#[test]
fn the_triangle_inequality_of_rings() {
    assert_eq!(triangles(&placements("ring", 7)).0, 0);
    let ring = placements("ring", 8);
    let d = |a: &[usize], b: &[usize]| ring.semi_metric(a, b).unwrap();
    let a = [7, 6, 0, 5, 1, 4, 2, 3];
    let [b, c] = [[7, 6, 0, 5, 1, 4, 3, 2], [7, 4, 2, 1, 5, 6, 0, 3]];
    assert_eq!((d(&a, &b), d(&b, &c), d(&a, &c)), (1, 7, 9));
}

#[test]
#[ignore = "takes some ten seconds"]
fn the_triangle_inequality_of_rings_of_8() {
    let (count, worst, diameter) = triangles(&placements("ring", 8));
    println!("ring 8: diameter {diameter}, {count} triples break it; worst {worst:?}");
    assert_eq!((count, diameter), (194, 9));
}

/// I_d to the letter: q t_1 ... t_d G0 over all q in g Aut and all words; N_D is what is at most D away.
#[test]
fn spheres_and_balls_are_equation_7() {
    for order in 2..=5 {
        for p in small(order) {
            let (ways, one) = every(&p);
            let external = p.template().external_vertices();
            let back: HashMap<Vec<usize>, &ModeGraph> = ways
                .iter()
                .flat_map(|(graph, gs)| gs.iter().map(move |g| (g.clone(), graph)))
                .collect();
            let centre = one.values().last().unwrap();
            let graph = p.graph(centre).unwrap();
            let spheres = p.spheres(centre, 4).unwrap();
            // All words, one letter at a time.
            let mut words: BTreeSet<Vec<usize>> = ways[&graph].iter().cloned().collect();
            for (d, sphere) in spheres.iter().enumerate() {
                let expected: BTreeSet<&ModeGraph> = words.iter().map(|g| back[g]).collect();
                assert_eq!(sphere.keys().collect::<BTreeSet<_>>(), expected);
                let ball = p.ball(centre, d).unwrap();
                for (other, permutation) in &one {
                    let d = d as u64;
                    let within = p.semi_metric(centre, permutation).unwrap() <= d;
                    assert_eq!(ball.contains_key(other), within, "Lemma 3.3");
                    assert_eq!(p.in_ball(centre, permutation, d).unwrap(), within);
                    let inside = p.in_sphere(centre, permutation, d).unwrap();
                    assert_eq!(sphere.contains_key(other), inside);
                }
                for (graph, permutation) in sphere {
                    assert_eq!(p.graph(permutation).unwrap(), *graph);
                    assert!(permutation.iter().all(|v| external.contains(v)));
                }
                words = words
                    .iter()
                    .flat_map(|g| {
                        (1..order).map(|k| {
                            let mut h = g.clone();
                            h.swap(k - 1, k);
                            h
                        })
                    })
                    .collect();
            }
        }
    }
}

/// Theorem 3.4: what d swaps of any two modes can reach holds all of I_d; and how much more it is.
#[test]
fn algorithm_1_covers_every_sphere() {
    for order in 2..=7 {
        for p in small(order) {
            let centre = p.template().external_vertices();
            let spheres = p.spheres(&centre, 4).unwrap();
            let swaps = p.swap_spheres(&centre, 4).unwrap();
            for (d, (sphere, reached)) in spheres.iter().zip(&swaps).enumerate() {
                assert!(sphere.keys().all(|g| reached.contains_key(g)), "{d}");
            }
            if order > 5 {
                let sizes =
                    |s: &[Reached]| -> Vec<usize> { s[1..].iter().map(BTreeMap::len).collect() };
                println!(
                    "{} {order}: I_1..I_4 {:?}, by swaps {:?}",
                    p.template().name(),
                    sizes(&spheres),
                    sizes(&swaps)
                );
            }
        }
    }
}

/// The fewest swaps of any two modes: what the sets that swaps reach say; and it keeps the triangle inequality,
/// since a transposition stays one whatever it is conjugated with.
#[test]
fn the_number_of_swaps_is_a_metric() {
    for order in 3..=5 {
        for p in small(order) {
            let (_, one) = every(&p);
            let ranks = vec![2; p.template().edges().len()];
            let structure = |permutation: &Vec<usize>| {
                Structure::new(p.template().clone(), permutation.clone(), ranks.clone()).unwrap()
            };
            let all: Vec<Structure> = one.values().map(structure).collect();
            let apart = |a, b| p.distance(a, b).unwrap().swaps.unwrap();
            let table: Vec<Vec<usize>> =
                all.iter().map(|a| all.iter().map(|b| apart(a, b)).collect()).collect();
            let reached = p.swap_spheres(all[0].permutation(), order).unwrap();
            for (b, graph) in one.keys().enumerate() {
                let first = reached.iter().position(|sphere| sphere.contains_key(graph));
                assert_eq!(Some(table[0][b]), first);
            }
            for a in &table {
                for (b, row) in table.iter().enumerate() {
                    assert!((0..all.len()).all(|c| a[c] <= a[b] + row[c]));
                }
            }
        }
    }
}

/// The sampler itself draws every member of I_d, as often as counting says: chi-square at a fixed seed.
#[test]
fn algorithm_1_draws_what_counting_says() {
    for (spec, order, d) in [
        ("ring", 5, 1),
        ("ring", 6, 1),
        ("path", 5, 1),
        ("peps:2x3", 6, 1),
        ("ht", 5, 1),
        ("ring", 6, 2),
        ("tree", 5, 2),
    ] {
        let p = placements(spec, order);
        let centre = p.template().external_vertices();
        // Every sequence of d pairs is equally likely.
        let mut exact = BTreeMap::from([(centre.clone(), 1.0)]);
        for _ in 0..d {
            let mut next = BTreeMap::new();
            for (permutation, &chance) in &exact {
                for i in 0..order {
                    for j in 0..i {
                        let mut swapped: Vec<usize> = permutation.clone();
                        swapped.swap(i, j);
                        *next.entry(swapped).or_insert(0.0) +=
                            chance * 2.0 / (order * (order - 1)) as f64;
                    }
                }
            }
            exact = next;
        }
        let mut expected: BTreeMap<ModeGraph, f64> = BTreeMap::new();
        for (permutation, chance) in &exact {
            *expected.entry(p.graph(permutation).unwrap()).or_default() += chance;
        }
        assert!((expected.values().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut rng = stream(2022, b"Theorem 3.4");
        let draws = 20_000;
        let mut seen: BTreeMap<ModeGraph, f64> = BTreeMap::new();
        for _ in 0..draws {
            let near = sample_neighbour(&centre, d, &mut rng);
            *seen.entry(p.graph(&near).unwrap()).or_default() += 1.0;
        }
        let sphere = p.spheres(&centre, d).unwrap().pop().unwrap();
        assert!(sphere.keys().all(|g| seen.contains_key(g)), "every member of I_{d} was drawn");
        assert!(seen.keys().all(|g| expected.contains_key(g)));
        let term = |(g, chance): (&ModeGraph, &f64)| {
            let mean = chance * draws as f64;
            (seen.get(g).unwrap_or(&0.0) - mean).powi(2) / mean
        };
        let statistic: f64 = expected.iter().map(term).sum();
        let freedom = (expected.len() - 1) as f64;
        // Wilson and Hilferty: the cube root is close to normal; 3.09 standard deviations are p = 0.001.
        let spread = 2.0 / (9.0 * freedom);
        let z = ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
        println!(
            "{spec} {order}, d = {d}: chi-square {statistic:.1}, {freedom} degrees of freedom, z = {z:.2}"
        );
        assert!(z < 3.09, "{spec}: {statistic} with {freedom} degrees of freedom");
    }
}

#[test]
fn distances_of_structures() {
    let ring = Arc::new(Template::ring(5).unwrap());
    let p = Placements::new(ring.clone(), Internal::Free).unwrap();
    // Edges (0,1) (0,4) (1,2) (2,3) (3,4).
    let s = |permutation: &[usize], ranks: &[usize]| {
        Structure::new(ring.clone(), permutation.to_vec(), ranks.to_vec()).unwrap()
    };
    let a = s(&[0, 1, 2, 3, 4], &[2, 3, 4, 5, 6]);
    // The same, turned by one vertex: (1,2) (0,1) (2,3) (3,4) (0,4) in the order of the ranks of `a`.
    let turned = s(&[1, 2, 3, 4, 0], &[3, 6, 2, 4, 5]);
    assert_eq!(a.canonical().graph, turned.canonical().graph);
    let d = p.distance(&a, &turned).unwrap();
    assert_eq!((d.semi_metric, d.swaps, d.ranks), (0, Some(0), Some(0.0)));
    let wider = s(&[1, 2, 3, 4, 0], &[3, 6, 2, 7, 9]);
    assert_eq!(p.distance(&a, &wider).unwrap().ranks, Some(5.0));
    let path = Arc::new(Template::path(5).unwrap());
    let trains = Placements::new(path.clone(), Internal::Free).unwrap();
    let path = Structure::identity(path, vec![2; 4]).unwrap();
    let ends = Structure::new(path.template().clone(), vec![2, 1, 0, 3, 4], vec![2; 4]).unwrap();
    let d = trains.distance(&path, &ends).unwrap();
    assert_eq!((d.semi_metric, d.swaps, d.ranks), (3, Some(1), Some(0.0)));
    let error = p.distance(&a, &path).unwrap_err().to_string();
    assert!(
        error.contains("different templates, 'ring' of order 5 and 'path' of order 5"),
        "{error}"
    );
    let error = p.semi_metric(&[0, 1, 2, 3, 3], &[0, 1, 2, 3, 4]).unwrap_err().to_string();
    assert!(error.contains("bad permutation [0, 1, 2, 3, 3]"), "{error}");
}
