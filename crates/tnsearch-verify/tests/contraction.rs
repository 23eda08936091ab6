//! Networks contracted entry by entry, against the plain sum over all indices.

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng as StdRng;
use tnsearch_verify::{Array, Limits, Malformed, Network, Unchecked, rse};

fn limits(bytes: u64) -> Limits<'static> {
    Limits { bytes, stop: &|| false }
}

/// A network of random cores.
fn made(
    external: Vec<bool>,
    at: Vec<usize>,
    edges: Vec<[usize; 3]>,
    dims: Vec<usize>,
    complex: bool,
    seed: u64,
) -> Network {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut network = Network { dims, external, at, edges, hub: None, cores: Vec::new() };
    for v in 0..network.external.len() {
        let dims = network.core_dims(v);
        let size = dims.iter().product();
        let mut numbers = || (0..size).map(|_| rng.random_range(-1.0..1.0)).collect::<Vec<f64>>();
        let core = match complex {
            true => Array::complex(dims, numbers(), numbers()),
            false => Array::real(dims, numbers()),
        };
        network.cores.push(core.unwrap());
    }
    network
}

/// One entry: the sum over all values of all edges of the products of all cores.
fn entry(network: &Network, index: &[usize]) -> (f64, f64) {
    let ranks: Vec<usize> = network.edges.iter().map(|e| e[2]).collect();
    let (mut re, mut im) = (0.0, 0.0);
    for code in 0..ranks.iter().product::<usize>() {
        let mut rest = code;
        let values: Vec<usize> = ranks.iter().map(|r| (rest % r, rest /= r).0).collect();
        let (mut a, mut b) = (1.0, 0.0);
        for v in 0..network.external.len() {
            let edges = network.edges_at(v).map(|e| values[e]);
            let place: Vec<usize> = edges.chain(network.modes(v).map(|m| index[m])).collect();
            let core = &network.cores[v];
            let flat = place.iter().zip(&core.dims).fold(0, |flat, (i, d)| flat * d + i);
            let (c, d) = (core.re[flat], core.im.get(flat).copied().unwrap_or(0.0));
            (a, b) = (a * c - b * d, a * d + b * c);
        }
        re += a;
        im += b;
    }
    (re, im)
}

#[test]
fn every_entry_is_the_sum_over_all_indices() {
    let ring = vec![[0, 1, 2], [1, 2, 3], [2, 3, 2], [0, 3, 2]];
    let inner = vec![[0, 3, 2], [1, 3, 3], [2, 4, 2], [3, 4, 3], [0, 1, 1]];
    for (complex, seed) in [(false, 1), (true, 2)] {
        let networks = [
            made(vec![true; 4], vec![2, 0, 3, 1], ring.clone(), vec![2, 3, 2, 4], complex, seed),
            // Vertices without a mode, and one with two.
            made(
                vec![true, true, true, false, false],
                vec![1, 0, 1, 2],
                inner.clone(),
                vec![2, 3, 2, 4],
                complex,
                seed,
            ),
            made(vec![true], vec![0, 0], vec![], vec![3, 2], complex, seed),
        ];
        for network in networks {
            network.check().unwrap();
            let z = network.contract(&limits(u64::MAX)).unwrap().into_array();
            assert_eq!(z.dims, network.dims);
            for k in 0..z.re.len() {
                let mut rest = k;
                let mut index: Vec<usize> =
                    network.dims.iter().rev().map(|d| (rest % d, rest /= d).0).collect();
                index.reverse();
                let (re, im) = entry(&network, &index);
                let found = (z.re[k], z.im.get(k).copied().unwrap_or(0.0));
                assert!(
                    (found.0 - re).abs() < 1e-13 && (found.1 - im).abs() < 1e-13,
                    "{k}: {found:?} {re} {im}"
                );
            }
        }
    }
}

#[test]
fn cores_of_any_size_are_contracted() {
    // 1e200 * 1e-250 * 1e60: no product of two of them need be a number.
    let edges = vec![[0, 1, 2], [1, 2, 2]];
    let plain = made(vec![true; 3], vec![0, 1, 2], edges, vec![2, 2, 2], false, 3);
    let mut scaled = plain.clone();
    for (core, scale) in scaled.cores.iter_mut().zip([1e200, 1e-250, 1e60]) {
        core.re.iter_mut().for_each(|x| *x *= scale);
    }
    let mut x = plain.contract(&limits(u64::MAX)).unwrap().into_array();
    x.re.iter_mut().for_each(|x| *x *= 1e10);
    let found = rse(&x, None, &scaled.contract(&limits(u64::MAX)).unwrap()).unwrap();
    assert!(found < 1e-28, "{found}");
}

#[test]
fn what_is_no_network_is_named() {
    let good =
        made(vec![true; 3], vec![0, 1, 2], vec![[0, 1, 2], [1, 2, 2]], vec![2, 2, 2], false, 3);
    let bad = |change: &dyn Fn(&mut Network)| {
        let mut network = good.clone();
        change(&mut network);
        network.check().unwrap_err()
    };
    assert_eq!(bad(&|n| n.at[0] = 5), Malformed::Place { mode: 0, vertex: 5, why: "is not there" });
    assert_eq!(bad(&|n| n.at[0] = 1), Malformed::Bare(0));
    assert_eq!(
        bad(&|n| n.external[2] = false),
        Malformed::Place { mode: 2, vertex: 2, why: "carries no mode" }
    );
    assert_eq!(bad(&|n| n.edges[0] = [0, 0, 2]), Malformed::Edge(0, 0, 2));
    assert_eq!(bad(&|n| n.edges[0] = [2, 1, 2]), Malformed::Edge(1, 2, 2));
    assert_eq!(bad(&|n| n.edges[0][2] = 0), Malformed::Edge(0, 1, 0));
    assert!(matches!(bad(&|n| n.edges[0][2] = 3), Malformed::Shape { vertex: 0, .. }));
    assert_eq!(bad(&|n| drop(n.cores.pop())), Malformed::Cores { found: 2, expected: 3 });
    assert_eq!(bad(&|n| n.at.truncate(2)), Malformed::Modes { found: 2, expected: 3 });
    assert_eq!(
        bad(&|n| n.cores[1].re[3] = f64::INFINITY),
        Malformed::NotFinite { vertex: 1, entry: 3 }
    );
    assert_eq!(good.params(), Some(4 + 8 + 4));
}

#[test]
fn memory_and_stops_come_first() {
    let network =
        made(vec![true; 3], vec![0, 1, 2], vec![[0, 1, 9], [1, 2, 9]], vec![9, 9, 9], false, 3);
    assert!(matches!(network.contract(&limits(1000)), Err(Unchecked::Memory { .. })));
    let stopped = Limits { bytes: u64::MAX, stop: &|| true };
    assert_eq!(network.contract(&stopped), Err(Unchecked::Stopped));
}
