use super::*;
use crate::decompose::{Goal, tree_svd, tt_svd};
use crate::graph::testing::random;
use crate::linalg::singular_values;
use crate::problem::{Stop, Target};
use crate::rng::{Rng, stream};
use crate::tensor::{AnyTensor, Complex};
use rand::RngExt as _;

fn made<T: Scalar>(structure: &Structure, dims: &[usize], rng: &mut Rng) -> Network {
    let core = |v: usize| {
        let shape = structure.core_dims(v, dims);
        let data = (0..shape.iter().product()).map(|_| T::normal(rng)).collect();
        Tensor::<T>::new(shape, data).unwrap()
    };
    let cores = (0..structure.template().vertices()).map(core).collect();
    Network::new(structure.clone(), dims.to_vec(), cores).unwrap()
}

/// `a Z + b W` by the definition: cores side by side, ranks added (all but rank-1 edges of both).
fn sum<T: Scalar>(z: &Network, w: &Network, b: f64) -> Network {
    let (s, t) = (z.structure(), w.structure());
    let dims = z.dims();
    let ranks: Vec<usize> = s.ranks().iter().zip(t.ranks()).map(|(a, b)| a + b).collect();
    let both =
        Structure::new(s.template().clone(), s.permutation().to_vec(), ranks.clone()).unwrap();
    let cores = (0..s.template().vertices()).map(|v| {
        let (first, second) = (z.core::<T>(v).unwrap(), w.core::<T>(v).unwrap());
        let incident: Vec<usize> = s.template().incident(v).collect();
        let mut core = Tensor::<T>::zeros(both.core_dims(v, dims));
        for (source, offset, by) in
            [(first, false, 1.0), (second, true, if v == 0 { b } else { 1.0 })]
        {
            for flat in 0..source.len() {
                let mut at = crate::tensor::unflatten(flat, source.dims());
                for (axis, &e) in incident.iter().enumerate() {
                    at[axis] += if offset { s.ranks()[e] } else { 0 };
                }
                let place = at.iter().zip(core.dims()).fold(0, |p, (i, d)| p * d + i);
                core.data_mut()[place] = source.data()[flat].scale(by);
            }
        }
        core
    });
    let cores: Vec<Tensor<T>> = cores.collect();
    Network::new(both, dims.to_vec(), cores).unwrap()
}

/// The squared distance of two networks, relative, from their dense tensors.
fn distance(a: &Network, b: &Network) -> f64 {
    let x = Target::new(a.to_tensor(None).unwrap()).unwrap();
    x.rse_of(&b.to_tensor(None).unwrap())
}

fn rse(eps: f64) -> RoundGoal {
    RoundGoal::max_rse(eps).unwrap()
}

/// The tails of the unfolding at an edge of a tree, from the dense tensor.
fn tails(net: &Network, edge: usize) -> Vec<f64> {
    let structure = net.structure();
    let (u, _) = structure.template().edges()[edge];
    let mut side = vec![u];
    let mut next = 0;
    while next < side.len() {
        for e in structure.template().incident(side[next]).filter(|&e| e != edge) {
            let (a, b) = structure.template().edges()[e];
            for w in [a, b] {
                if !side.contains(&w) {
                    side.push(w);
                }
            }
        }
        next += 1;
    }
    let (rows, columns): (Vec<usize>, Vec<usize>) =
        (0..net.dims().len()).partition(|&n| side.contains(&structure.permutation()[n]));
    let axes: Vec<usize> = rows.iter().chain(&columns).copied().collect();
    let dense = net.to_tensor(None).unwrap().permuted(&axes);
    let m = rows.iter().map(|&n| net.dims()[n]).product();
    let values = dispatch!(&dense, t => singular_values(t.data(), m, t.len() / m).unwrap());
    let all: f64 = values.iter().map(|s| s * s).sum();
    (0..=values.len()).map(|r| values[r..].iter().map(|s| s * s).sum::<f64>() / all).collect()
}

fn trees<T: Scalar>() {
    let mut rng = stream(5, b"round");
    for spec in ["path", "star", "ht", "tree"] {
        let template = Arc::new(Template::parse(spec, 5).unwrap());
        let structure = random(&template, 4, &mut rng);
        let dims = [3, 2, 4, 3, 2];
        let net = made::<T>(&structure, &dims, &mut rng);
        for eps in [0.0, 1e-3, 0.1, 0.5] {
            let found = round(&net, &rse(eps), &Limits::none()).unwrap();
            let off = distance(&net, &found.network);
            let ulp = 1e3 * T::KIND.epsilon();
            assert!(
                (off.sqrt() - found.rse.sqrt()).abs() < ulp,
                "{spec} {eps}: {off} {}",
                found.rse
            );
            assert!(found.rse <= eps, "{spec} {eps}: {}", found.rse);
            assert!(found.network.params() <= net.params());
            // No more than what is lost at each edge alone, and at least the most of one.
            let lost: Vec<f64> = (0..template.edges().len())
                .map(|e| tails(&net, e)[found.network.structure().ranks()[e]])
                .collect();
            assert!(found.rse <= lost.iter().sum::<f64>() + ulp, "{spec} {eps}");
            assert!(found.rse >= lost.iter().fold(0.0, |a, &b| f64::max(a, b)) - ulp);
            // The dense decomposition with the same ranks is no better than such a bound allows.
            let ranks = found.network.structure().ranks().to_vec();
            let x = Target::new(net.to_tensor(None).unwrap()).unwrap();
            let goal = Goal::ranks(ranks.clone()).unwrap();
            let dense = tree_svd(&x, &template, structure.permutation(), &goal, &Limits::none());
            let edges = template.edges().len() as f64;
            assert!(found.rse <= edges * dense.unwrap().rse + ulp, "{spec} {eps}");
            let again = round(&net, &RoundGoal::ranks(ranks).unwrap(), &Limits::none()).unwrap();
            assert!((again.rse - found.rse).abs() <= ulp);
        }
        for params in [20, 40, 60] {
            let found = round(&net, &RoundGoal::max_params(params), &Limits::none()).unwrap();
            assert!(found.network.params() <= params, "{spec} {params}");
            assert!((distance(&net, &found.network) - found.rse).abs() < 1e3 * T::KIND.epsilon());
        }
        let least = round(&net, &RoundGoal::max_params(3), &Limits::none()).unwrap_err();
        assert!(least.to_string().contains("with all ranks 1, has "), "{least}");
    }
}

#[test]
fn trees_lose_what_they_say_and_no_more_than_they_may() {
    trees::<f64>();
    trees::<Complex<f64>>();
    trees::<f32>();
}

#[test]
fn edges_of_rank_one_make_a_ring_a_path() {
    let mut rng = stream(6, b"round");
    let ring = Arc::new(Template::ring(4).unwrap());
    let structure = Structure::new(ring, vec![2, 0, 3, 1], vec![3, 1, 4, 2]).unwrap();
    let net = made::<f64>(&structure, &[3, 4, 2, 3], &mut rng);
    let found = round(&net, &rse(0.05), &Limits::none()).unwrap();
    assert_eq!(found.sweeps, 0);
    assert_eq!(found.network.structure().ranks()[1], 1);
    assert!((distance(&net, &found.network) - found.rse).abs() < 1e-12);
}

fn hidden<T: Scalar>(template: &Arc<Template>, order: usize, seed: u64) {
    let mut rng = stream(seed, b"hidden");
    let edges = template.edges().len();
    let dims: Vec<usize> = (0..order).map(|n| 3 + n % 2).collect();
    let small = Structure::identity(template.clone(), vec![2; edges]).unwrap();
    let (z, w) = (made::<T>(&small, &dims, &mut rng), made::<T>(&small, &dims, &mut rng));
    let net = sum::<T>(&z, &w, 1e-3);
    let found = round(&net, &rse(1e-4), &Limits::none()).unwrap();
    let off = distance(&net, &found.network);
    assert!(off <= 1e-4 && (off - found.rse).abs() < 1e-10, "{off} {}", found.rse);
    assert!(found.network.params() <= z.params(), "{:?}", found.network.structure().ranks());
    let ranks = RoundGoal::ranks(vec![2; edges]).unwrap();
    let found = round(&net, &ranks, &Limits::none()).unwrap();
    assert!((distance(&net, &found.network) - found.rse).abs() < 1e-10);
    assert!(found.rse < 1e-4, "{}", found.rse);
    let found = round(&net, &RoundGoal::max_params(z.params()), &Limits::none()).unwrap();
    assert!(found.network.params() <= z.params() && found.rse < 1e-3, "{}", found.rse);
}

#[test]
fn cycles_come_down_to_what_is_in_them() {
    for (spec, order) in [("ring", 5), ("peps:2x3", 6), ("complete", 4)] {
        let template = Arc::new(Template::parse(spec, order).unwrap());
        hidden::<f64>(&template, order, 1);
        hidden::<Complex<f64>>(&template, order, 2);
    }
}

#[test]
fn errors_that_cannot_be_seen_are_refused_on_cycles() {
    let ring = Arc::new(Template::ring(4).unwrap());
    let structure = Structure::identity(ring, vec![2; 4]).unwrap();
    let net = made::<f64>(&structure, &[3; 4], &mut stream(7, b"round"));
    let refused = round(&net, &rse(1e-20), &Limits::none()).unwrap_err().to_string();
    assert!(
        refused.contains("max-rse is 0.00000000000000000001") || refused.contains("1e-20"),
        "{refused}"
    );
    assert!(refused.contains("differences of norms"), "{refused}");
    let wrong = RoundGoal::ranks(vec![2; 3]).unwrap();
    assert!(round(&net, &wrong, &Limits::none()).unwrap_err().to_string().contains("4 edges"));
    assert!(RoundGoal::ranks(vec![0]).is_err() && RoundGoal::max_rse(1.0).is_err());
}

#[test]
fn a_network_goes_onto_another_tree_exactly() {
    let mut rng = stream(8, b"round");
    for spec in ["ring", "path", "ht", "peps:2x3", "star", "complete"] {
        let template = Arc::new(Template::parse(spec, 6).unwrap());
        let structure = random(&template, 2, &mut rng);
        let dims = [2, 3, 2, 2, 3, 2];
        let net = made::<Complex<f64>>(&structure, &dims, &mut rng);
        let dense = Target::new(net.to_tensor(None).unwrap()).unwrap();
        for onto in ["path", "ht", "star"] {
            let onto = Arc::new(Template::parse(onto, 6).unwrap());
            let found = round_onto(&net, &onto, None, &rse(1e-24), &Limits::none()).unwrap();
            assert!(distance(&net, &found.network) < 1e-22, "{spec} {}", onto.name());
            // The ranks are those of the dense tensor's unfoldings.
            let placed = found.network.structure().permutation().to_vec();
            let goal = Goal::max_rse(1e-20).unwrap();
            let direct = tree_svd(&dense, &onto, &placed, &goal, &Limits::none()).unwrap();
            assert_eq!(found.network.structure().ranks(), direct.ranks(), "{spec}");
            let rough = round_onto(&net, &onto, Some(&placed), &rse(0.1), &Limits::none()).unwrap();
            assert!(rough.rse <= 0.1 && (distance(&net, &rough.network) - rough.rse).abs() < 1e-12);
        }
        let path: Vec<usize> = (0..6).collect();
        let train = Arc::new(Template::path(6).unwrap());
        let found = round_onto(&net, &train, Some(&path), &rse(0.05), &Limits::none()).unwrap();
        let direct = tt_svd(&dense, &path, &Goal::max_rse(0.05).unwrap(), &Limits::none()).unwrap();
        assert!(found.network.params() as f64 <= 1.3 * direct.network.params() as f64);
    }
    let ring = Arc::new(Template::ring(3).unwrap());
    let net =
        made::<f64>(&Structure::identity(ring.clone(), vec![2; 3]).unwrap(), &[2; 3], &mut rng);
    let refused = round_onto(&net, &ring, None, &rse(0.1), &Limits::none()).unwrap_err();
    assert!(refused.to_string().contains("'ring' is no tree"));
}

/// Two networks of forty modes, one a thousandth of the other: their sum is rounded to the larger.
fn forty(spec: &str, scale: f64) -> (Network, Network) {
    let mut rng = stream(9, spec.as_bytes());
    let template = Arc::new(Template::parse(spec, 40).unwrap());
    let small = Structure::identity(template.clone(), vec![3; template.edges().len()]).unwrap();
    let dims = vec![4; 40];
    let mut close = |spread: f64| {
        let cores = (0..template.vertices()).map(|v| {
            let shape = small.core_dims(v, &dims);
            let data = (0..shape.iter().product())
                .map(|_| scale * (1.0 + spread * rng.random_range(-1.0..1.0)));
            Tensor::<f64>::new(shape.clone(), data.collect()).unwrap()
        });
        let cores: Vec<Tensor> = cores.collect();
        Network::new(small.clone(), dims.clone(), cores).unwrap()
    };
    let (z, w) = (close(0.5), close(0.5));
    (sum::<f64>(&z, &w, 1e-3), z)
}

#[test]
fn networks_whose_tensor_cannot_exist() {
    for scale in [1.0, 1e30] {
        let (net, z) = forty("path", scale);
        let found = round(&net, &rse(1e-4), &Limits::none()).unwrap();
        assert!(found.rse <= 1e-4 && found.network.params() <= z.params(), "{}", found.rse);
        assert!(found.network.cores().iter().all(|c| c.first_not_finite().is_none()));
        // Rounded once more, exactly: nothing is left to lose, and the norm is the same.
        let again = round(&found.network, &rse(0.0), &Limits::none()).unwrap();
        assert!(again.rse < 1e-26, "{}", again.rse);
    }
    let (net, z) = forty("ring", 1.0);
    let found = round(&net, &rse(1e-4), &Limits::none()).unwrap();
    assert!(found.rse <= 1e-4 && found.network.params() <= z.params(), "{}", found.rse);
    let train = Arc::new(Template::path(40).unwrap());
    let path = round_onto(&found.network, &train, None, &rse(1e-8), &Limits::none()).unwrap();
    assert!(path.rse <= 1e-8 && path.network.params() < found.network.params() * 30);
}

#[test]
fn limits_hold() {
    let (net, _) = forty("ring", 1.0);
    let small = Limits::none().with(|l| l.max_bytes = Some(10_000));
    let refused = round(&net, &rse(1e-4), &small).unwrap_err();
    assert!(matches!(refused, DecomposeError::Memory(_)), "{refused}");
    let stop = Stop::new();
    stop.set();
    let stopped = Limits::none().with(|l| l.stop = stop.clone());
    assert_eq!(round(&net, &rse(1e-4), &stopped).unwrap_err(), DecomposeError::Interrupted);
    let (path, _) = forty("path", 1.0);
    assert_eq!(round(&path, &rse(1e-4), &stopped).unwrap_err(), DecomposeError::Interrupted);
}

#[test]
fn numbers_of_32_bits_are_rounded_in_64_where_it_matters() {
    let ring = Arc::new(Template::ring(4).unwrap());
    let structure = Structure::identity(ring, vec![2; 4]).unwrap();
    let mut rng = stream(10, b"round");
    let (z, w) =
        (made::<f32>(&structure, &[3; 4], &mut rng), made::<f32>(&structure, &[3; 4], &mut rng));
    let net = sum::<f32>(&z, &w, 1e-3);
    let found = round(&net, &rse(1e-4), &Limits::none()).unwrap();
    assert_eq!(found.network.kind(), Kind::F32);
    assert!(found.network.params() <= z.params());
    assert!((distance(&net, &found.network) - found.rse).abs() < 1e-7);
    let _: &AnyTensor = &found.network.cores()[0];
}

#[test]
fn vertices_may_carry_several_modes() {
    let mut rng = stream(11, b"round");
    let groups = [vec![0, 3], vec![1], vec![], vec![2, 4]];
    let dims = [2, 3, 2, 3, 2];
    let tree = Structure::from_groups("tree", &groups, &[(0, 2, 4), (1, 2, 3), (2, 3, 4)]).unwrap();
    let net = made::<f64>(&tree, &dims, &mut rng);
    let found = round(&net, &rse(0.1), &Limits::none()).unwrap();
    assert!(found.rse <= 0.1 && (distance(&net, &found.network) - found.rse).abs() < 1e-12);
    assert!(found.network.params() < net.params());
    // Modes of one vertex go to different ones.
    for onto in ["path", "ht"] {
        let onto = Arc::new(Template::parse(onto, 5).unwrap());
        let found = round_onto(&net, &onto, None, &rse(1e-24), &Limits::none()).unwrap();
        assert!(distance(&net, &found.network) < 1e-22, "{}", onto.name());
    }
    let edges = [(0, 1, 2), (0, 2, 2), (1, 2, 2), (2, 3, 2)];
    let cycle = Structure::from_groups("cycle", &groups, &edges).unwrap();
    let (z, w) = (made::<f64>(&cycle, &dims, &mut rng), made::<f64>(&cycle, &dims, &mut rng));
    let net = sum::<f64>(&z, &w, 1e-3);
    let found = round(&net, &rse(1e-4), &Limits::none()).unwrap();
    assert!(found.rse <= 1e-4 && (distance(&net, &found.network) - found.rse).abs() < 1e-10);
    assert!(found.network.params() <= z.params());
}
