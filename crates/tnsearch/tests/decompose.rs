//! Decompositions by SVDs: errors kept, exact on exact data, equal to independent computations.

use proptest::prelude::*;
use rand_distr::{Distribution, StandardNormal};
use std::sync::Arc;
use tnsearch::bound::{Spectra, SpectraSettings};
use tnsearch::decompose::{
    DecomposeError, Decomposition, Goal, Limits, ht_svd, ring_ranks, tr_lm, tr_svd, tree_svd,
    tt_svd,
};
use tnsearch::graph::Template;
use tnsearch::problem::{Stop, Target};
use tnsearch::rng::stream;
use tnsearch::tensor::{Tensor, TensorError};
use tnsearch_app::Synthetic;

fn noise(dims: &[usize], seed: u64) -> Tensor {
    let mut rng = stream(seed, b"decompose tests");
    let data = (0..dims.iter().product()).map(|_| StandardNormal.sample(&mut rng)).collect();
    Tensor::new(dims.to_vec(), data).unwrap()
}

/// Entries with quickly falling spectra, as of real data: noise weighted towards small indices.
fn smooth(dims: &[usize], seed: u64) -> Target {
    let mut x = noise(dims, seed);
    let order = dims.len();
    for (k, entry) in x.data_mut().iter_mut().enumerate() {
        let index = tnsearch::tensor::unflatten(k, dims);
        *entry *= (-1.5 * index.iter().sum::<usize>() as f64 / order as f64).exp();
    }
    Target::new(x).unwrap()
}

fn trees(order: usize) -> Vec<Arc<Template>> {
    let mut all = vec![
        Template::path(order).unwrap(),
        Template::star(order).unwrap(),
        Template::tree(order).unwrap(),
        Template::ht(order).unwrap(),
    ];
    if order == 4 {
        // An internal leaf, and an internal vertex of degree 4.
        let text = r#"{"vertices":[{"mode":false},{"mode":true},{"mode":true},{"mode":false},
            {"mode":true},{"mode":true}],"edges":[[0,1],[1,3],[2,3],[3,4],[3,5]]}"#;
        all.push(Template::from_json("mine", text).unwrap());
    }
    all.into_iter().map(Arc::new).collect()
}

/// The reported error is that of the network, contracted by other code.
fn check_rse(target: &Target, found: &Decomposition) {
    let z = found.network.to_tensor(None).unwrap();
    let rse = target.rse_of(&z);
    assert!((rse.sqrt() - found.rse.sqrt()).abs() < 1e-13, "{rse} {}", found.rse);
}

fn shuffled(template: &Template, seed: u64) -> Vec<usize> {
    let mut places = template.external_vertices();
    let mut order: Vec<u64> = (0..places.len() as u64).collect();
    order.sort_by_key(|k| (k + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    places = order.iter().map(|&k| places[k as usize]).collect();
    places
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_error_asked_for_is_kept(
        dims in prop::collection::vec(1usize..6, 2..6),
        eps in prop::sample::select(vec![0.0, 1e-28, 1e-20, 1e-12, 1e-8, 1e-4, 0.01, 0.1, 0.7]),
        seed in 0u64..1000,
    ) {
        let target = smooth(&dims, seed);
        let goal = Goal::max_rse(eps).unwrap();
        // Exact fits are exact to rounding.
        let allowed = if eps < 1e-26 { 1e-26 } else { eps };
        for template in trees(dims.len()) {
            let permutation = shuffled(&template, seed);
            let found = tree_svd(&target, &template, &permutation, &goal, &Limits::none()).unwrap();
            prop_assert!(found.rse <= allowed, "{} {eps}: {}", template.name(), found.rse);
            check_rse(&target, &found);
        }
        let ring = Template::ring(dims.len()).unwrap();
        let permutation = shuffled(&ring, seed);
        let train = tt_svd(&target, &permutation, &goal, &Limits::none()).unwrap();
        let ring = tr_svd(&target, &permutation, &goal, &Limits::none()).unwrap();
        let small = tr_lm(&target, &permutation, &goal, &Limits::none()).unwrap();
        for found in [&train, &ring, &small] {
            prop_assert!(found.rse <= allowed, "{eps}: {}", found.rse);
            check_rse(&target, found);
        }
        prop_assert!(small.network.params() <= ring.network.params());
    }

    #[test]
    fn given_ranks_lose_at_most_the_tails_and_at_least_the_largest(
        dims in prop::collection::vec(1usize..6, 2..6),
        seed in 0u64..1000,
    ) {
        let target = smooth(&dims, seed);
        let spectra = Spectra::new(&target, SpectraSettings::default().with(|s| s.svd = true));
        for template in trees(dims.len()) {
            let permutation = shuffled(&template, seed);
            let ranks: Vec<usize> =
                (0..template.edges().len()).map(|e| 1 + (seed as usize + e) % 3).collect();
            let goal = Goal::ranks(ranks).unwrap();
            let found = tree_svd(&target, &template, &permutation, &goal, &Limits::none()).unwrap();
            check_rse(&target, &found);
            let (mut sum, mut largest) = (0.0, 0.0f64);
            for (e, &rank) in found.ranks().iter().enumerate() {
                let below = side(&template, e);
                let inside = permutation.iter().enumerate().filter(|(_, v)| below.contains(v));
                let set = inside.fold(0u64, |set, (n, _)| set | 1 << n);
                let tail = spectra.of(set).map_or(0.0, |s| s.tail(rank));
                sum += tail;
                largest = largest.max(tail);
            }
            prop_assert!(found.rse <= sum * (1.0 + 1e-9) + 1e-26, "{} {sum}", found.rse);
            prop_assert!(found.rse >= largest * (1.0 - 1e-9) - 1e-26, "{} {largest}", found.rse);
        }
    }
}

/// The vertices on one side of an edge of a tree.
fn side(template: &Template, edge: usize) -> Vec<usize> {
    let mut seen = vec![template.edges()[edge].0];
    let mut next = 0;
    while next < seen.len() {
        for e in template.incident(seen[next]).filter(|&e| e != edge) {
            let (a, b) = template.edges()[e];
            for w in [a, b] {
                if !seen.contains(&w) {
                    seen.push(w);
                }
            }
        }
        next += 1;
    }
    seen
}

#[test]
fn exact_networks_are_found_again_with_their_ranks() {
    for order in [3, 4, 5, 6] {
        for template in trees(order) {
            let recipe = Synthetic::new(template.clone(), vec![4; order], (1, 2));
            for seed in 0..4 {
                let made = recipe.generate(seed).unwrap();
                let target = Target::new(made.tensor.clone()).unwrap();
                for eps in [0.0, 1e-18, 1e-10] {
                    let permutation = made.structure().permutation();
                    let goal = Goal::max_rse(eps).unwrap();
                    let found =
                        tree_svd(&target, &template, permutation, &goal, &Limits::none()).unwrap();
                    assert!(found.rse < 1e-26, "{} {seed}: {}", template.name(), found.rse);
                    assert!(
                        found.network.params() <= made.network.params(),
                        "{} {seed}: {:?} {:?}",
                        template.name(),
                        found.ranks(),
                        made.structure().ranks()
                    );
                }
            }
        }
    }
}

#[test]
fn tr_lm_finds_the_best_start_and_split() {
    // A train that begins at vertex 2 of the ring: opened there, its ranks are found exactly.
    let path = Arc::new(Template::path(5).unwrap());
    let made = Synthetic::new(path, vec![6, 5, 4, 5, 6], (2, 2)).generate(3).unwrap();
    let target = Target::new(made.tensor.clone()).unwrap();
    let shifted: Vec<usize> = made.structure().permutation().iter().map(|v| (v + 2) % 5).collect();
    let goal = Goal::max_rse(1e-12).unwrap();
    let plain = tr_svd(&target, &shifted, &goal, &Limits::none()).unwrap();
    let small = tr_lm(&target, &shifted, &goal, &Limits::none()).unwrap();
    assert_eq!(small.network.params(), made.network.params());
    assert!(plain.network.params() > small.network.params());
    let ranks = Goal::ranks(vec![2; 5]).unwrap();
    let error = tr_lm(&target, &shifted, &ranks, &Limits::none()).unwrap_err();
    assert!(error.to_string().contains("tr-lm chooses the ranks itself"));
}

/// TT-SVD written down once more with whole matrices; the squared error of its tensor.
fn textbook_tt(x: &Tensor, ranks: &[usize]) -> f64 {
    use faer::Mat;
    let dims = x.dims();
    let mut rest = Mat::from_fn(1, x.len(), |_, j| x.data()[j]);
    // The network's tensor so far: (entries of the modes done) x rank.
    let mut done = Mat::<f64>::identity(1, 1);
    for k in 0..dims.len() - 1 {
        let (rows, columns) = (rest.nrows() * dims[k], rest.ncols() / dims[k]);
        let a = Mat::from_fn(rows, columns, |i, j| rest[(i / dims[k], i % dims[k] * columns + j)]);
        let svd = a.thin_svd().unwrap();
        let r = ranks[k].min(rows).min(columns);
        let u = svd.U().subcols(0, r).to_owned();
        rest = u.transpose() * &a;
        let before = u.nrows() / dims[k];
        let wide = Mat::from_fn(before, dims[k] * r, |i, j| u[(i * dims[k] + j / r, j % r)]);
        let grown = &done * wide;
        done = Mat::from_fn(grown.nrows() * dims[k], r, |i, j| {
            grown[(i / dims[k], i % dims[k] * r + j)]
        });
    }
    let z = done * rest;
    let n = dims[dims.len() - 1];
    (0..x.len()).map(|k| (x.data()[k] - z[(k / n, k % n)]).powi(2)).sum()
}

#[test]
fn tt_svd_is_that_of_the_textbook() {
    for (dims, ranks, seed) in [
        (vec![4, 5, 3, 4], vec![2, 4, 2], 1),
        (vec![3; 6], vec![3, 5, 7, 4, 2], 2),
        (vec![2, 9], vec![1], 3),
        (vec![6, 1, 5, 1], vec![3, 2, 1], 4),
        (vec![3, 3, 3], vec![100, 100], 5),
    ] {
        let x = noise(&dims, seed);
        let target = Target::new(x.clone()).unwrap();
        let identity: Vec<usize> = (0..dims.len()).collect();
        let goal = Goal::ranks(ranks.clone()).unwrap();
        let found = tt_svd(&target, &identity, &goal, &Limits::none()).unwrap();
        let want = textbook_tt(&x, &ranks) / x.norm_squared();
        assert!((found.rse - want).abs() < 1e-13, "{} {want}", found.rse);
        check_rse(&target, &found);
        for (a, b) in found.ranks().iter().zip(&ranks) {
            assert!(a <= b);
        }
        // Modes at other places: the same as reordering the tensor first.
        let permutation = shuffled(&Template::path(dims.len()).unwrap(), 7);
        let mut axes = vec![0; dims.len()];
        permutation.iter().enumerate().for_each(|(mode, &v)| axes[v] = mode);
        let found = tt_svd(&target, &permutation, &goal, &Limits::none()).unwrap();
        let want = textbook_tt(&x.permuted(&axes), &ranks) / x.norm_squared();
        assert!((found.rse - want).abs() < 1e-13, "{} {want}", found.rse);
    }
}

#[test]
fn a_ring_with_one_trivial_edge_is_a_train() {
    let target = smooth(&[3, 4, 5, 2], 1);
    let (ring, path) = (Goal::ranks(ring_ranks(&[2, 3, 2, 1])), Goal::ranks(vec![2, 3, 2]));
    let identity = [0, 1, 2, 3];
    let ring = tr_svd(&target, &identity, &ring.unwrap(), &Limits::none()).unwrap();
    let path = tt_svd(&target, &identity, &path.unwrap(), &Limits::none()).unwrap();
    assert!((ring.rse - path.rse).abs() < 1e-15);
    assert_eq!(ring.ranks(), ring_ranks(&[2, 3, 2, 1]));
    // A true ring: ranks 2 and 2 at a mode of dimension 4 take all of it.
    let target = smooth(&[4, 3, 3, 3], 2);
    let goal = Goal::ranks(ring_ranks(&[2, 6, 6, 2])).unwrap();
    let ring = tr_svd(&target, &identity, &goal, &Limits::none()).unwrap();
    assert!(ring.rse < 1e-28);
    check_rse(&target, &ring);
}

#[test]
fn constants_scales_and_flat_modes() {
    for (scale, dims) in [
        (1.0, vec![3, 4, 2]),
        (1e300, vec![3, 4, 2]),
        (1e-300, vec![2, 2, 2, 2]),
        (5e-324, vec![3, 2, 2]),
        (1.0, vec![1, 1, 1]),
        (-7.0, vec![1, 5]),
    ] {
        let n: usize = dims.iter().product();
        let target = Target::new(Tensor::new(dims.clone(), vec![scale; n]).unwrap()).unwrap();
        let identity: Vec<usize> = (0..dims.len()).collect();
        let goal = Goal::max_rse(0.0).unwrap();
        for found in [
            tt_svd(&target, &identity, &goal, &Limits::none()).unwrap(),
            tr_svd(&target, &identity, &goal, &Limits::none()).unwrap(),
            ht_svd(&target, &identity, &goal, &Limits::none()).unwrap(),
        ] {
            assert!(found.ranks().iter().all(|&r| r == 1), "{:?}", found.ranks());
            assert!(found.rse < 1e-28, "{}", found.rse);
            assert!(found.network.cores().iter().all(|c| c.first_not_finite().is_none()));
        }
    }
    // A tensor near the end of the range comes back.
    let x = Tensor::new(vec![2, 2, 2], (1..9).map(|k| f64::from(k) * 1e307).collect()).unwrap();
    let target = Target::new(x.clone()).unwrap();
    let goal = Goal::max_rse(1e-20).unwrap();
    let found = tt_svd(&target, &[0, 1, 2], &goal, &Limits::none()).unwrap();
    assert_eq!(found.ranks(), [2, 2]);
    check_rse(&target, &found);
}

#[test]
fn bad_input_is_refused() {
    assert_eq!(Target::new(Tensor::<f64>::zeros(vec![3, 3])).unwrap_err(), TensorError::Zero);
    let one = Target::new(Tensor::new(vec![3], vec![1.0; 3]).unwrap()).unwrap_err();
    assert!(matches!(one, TensorError::Order { order: 1, .. }));

    let target = smooth(&[3, 4, 2, 3], 1);
    let goal = Goal::max_rse(0.1).unwrap();
    let identity = [0, 1, 2, 3];
    let refusal = |r: Result<Decomposition, DecomposeError>| r.unwrap_err().to_string();
    let none = Limits::none();
    let ring = Arc::new(Template::ring(4).unwrap());
    assert!(refusal(tree_svd(&target, &ring, &identity, &goal, &none)).contains("is no tree"));
    let path = Arc::new(Template::path(3).unwrap());
    let error = refusal(tree_svd(&target, &path, &[0, 1, 2], &goal, &none));
    assert!(error.contains("the tensor has 4 modes"), "{error}");
    assert!(refusal(tt_svd(&target, &[0, 1, 2, 2], &goal, &none)).contains("bad permutation"));
    let ranks = |r: &[usize]| Goal::ranks(r.to_vec()).unwrap();
    let error = refusal(tt_svd(&target, &identity, &ranks(&[2, 2]), &none));
    assert!(error.contains("the template has 3 edges"), "{error}");
    let error = refusal(tr_svd(&target, &identity, &ranks(&[2, 2, 2, 2]), &none));
    assert!(error.contains("ranks is 2 and 2 at vertex 0"), "{error}");
    for eps in [-0.1, 1.0, f64::NAN, f64::INFINITY] {
        assert!(Goal::max_rse(eps).is_err());
    }

    let small = Limits::none().with(|l| l.max_bytes = Some(1000));
    let error = refusal(tt_svd(&target, &identity, &goal, &small));
    assert!(error.contains("needs about 1 MB of memory"), "{error}");
    let interrupt = Stop::new();
    interrupt.set();
    let stopped = Limits::none().with(|l| l.stop = interrupt.clone());
    assert_eq!(tr_svd(&target, &identity, &goal, &stopped), Err(DecomposeError::Interrupted));
    assert_eq!(ht_svd(&target, &identity, &goal, &stopped), Err(DecomposeError::Interrupted));
}
