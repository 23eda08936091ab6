use super::*;
use rand::RngExt as _;
use tnsearch::network::contract;
use tnsearch::rng::stream;
use tnsearch::tensor::Tensor;

/// Graphs of all sorts: a train, a ring, no edges, a complete graph, an internal vertex, groups of modes, one mode.
pub fn graphs() -> Vec<(ModeGraph, Vec<usize>)> {
    vec![
        (ModeGraph::new(4, 0, vec![(0, 1, 2), (1, 2, 3), (2, 3, 2)]), vec![3, 2, 4, 3]),
        (ModeGraph::new(4, 0, vec![(0, 1, 2), (0, 3, 2), (1, 2, 3), (2, 3, 2)]), vec![3, 2, 4, 3]),
        (ModeGraph::new(3, 0, vec![]), vec![3, 2, 4]),
        (ModeGraph::new(3, 0, vec![(0, 1, 2), (0, 2, 3), (1, 2, 2)]), vec![3, 2, 4]),
        (ModeGraph::new(3, 1, vec![(0, 3, 2), (1, 3, 2), (2, 3, 3)]), vec![3, 2, 4]),
        (
            ModeGraph::grouped(vec![vec![0, 2], vec![1], vec![3]], 0, vec![(0, 1, 2), (1, 2, 3)]),
            vec![3, 2, 2, 3],
        ),
        (ModeGraph::new(2, 0, vec![(0, 1, 2)]), vec![3, 2]),
        (ModeGraph::new(1, 0, vec![]), vec![5]),
    ]
}

pub fn random(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = stream(seed, b"tgp test");
    (0..n).map(|_| rng.random_range(-1.0..1.0)).collect()
}

pub fn random_cores(plan: &Contraction, seed: u64) -> Vec<Vec<f64>> {
    plan.vertices().iter().enumerate().map(|(v, x)| random(x.params(), seed + v as u64)).collect()
}

pub fn dense(graph: &ModeGraph, dims: &[usize], cores: &[Vec<f64>]) -> Tensor {
    let shaped = |(v, core): (usize, &Vec<f64>)| {
        Tensor::new(graph.core_dims(v, dims), core.clone()).unwrap()
    };
    let cores: Vec<Tensor> = cores.iter().enumerate().map(shaped).collect();
    contract(graph, dims, &cores)
}

#[test]
fn values_norms_and_surroundings_are_those_of_the_dense_tensor() {
    for (graph, dims) in graphs() {
        let plan = Contraction::new(&graph, &dims).unwrap();
        let mut cores = random_cores(&plan, 1);
        let rows = 3;
        let phi: Vec<Vec<f64>> =
            dims.iter().enumerate().map(|(k, &m)| random(rows * m, 50 + k as u64)).collect();
        let slices: Vec<&[f64]> = phi.iter().map(Vec::as_slice).collect();
        let tensor = dense(&graph, &dims, &cores);
        let value = |tensor: &Tensor, row: usize| -> f64 {
            let entry = |(flat, x): (usize, &f64)| {
                let at = tnsearch::tensor::unflatten(flat, &dims);
                at.iter().enumerate().fold(*x, |x, (k, &i)| x * phi[k][row * dims[k] + i])
            };
            tensor.data().iter().enumerate().map(entry).sum()
        };
        let vertices = plan.vertices().len();
        let vectors: Vec<Vec<f64>> =
            (0..vertices).map(|v| plan.vectors(v, &slices, rows)).collect();
        let locals = |cores: &[Vec<f64>]| -> Vec<Vec<f64>> {
            (0..vertices).map(|v| plan.local(v, &cores[v], &vectors[v], rows)).collect()
        };
        let all = locals(&cores);
        for v in 0..vertices {
            let around = plan.around(v, &all, rows);
            let width = plan.vertices()[v].width;
            for row in 0..rows {
                let pair =
                    around[row * width..].iter().zip(&all[v][row * width..(row + 1) * width]);
                let got: f64 = pair.map(|(a, b)| a * b).sum();
                assert!((got - value(&tensor, row)).abs() < 1e-12, "{graph}, vertex {v}");
            }
            let around = plan.norm_around(v, &cores);
            let got = plan.norm_with(v, &cores[v], &around);
            assert!((got / tensor.norm_squared() - 1.0).abs() < 1e-12, "{graph}, vertex {v}");
        }
        for from in 0..vertices {
            for to in 0..vertices {
                plan.shift(from, to, &mut cores);
            }
        }
        let after = dense(&graph, &dims, &cores);
        let apart: f64 = after.data().iter().zip(tensor.data()).map(|(a, b)| (a - b).powi(2)).sum();
        assert!(apart < 1e-20 * tensor.norm_squared(), "{graph}: {apart}");
    }
}

#[test]
fn contractions_that_would_take_all_memory_are_refused() {
    let edges = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b, 10))).collect();
    let graph = ModeGraph::new(8, 0, edges);
    assert!(matches!(Contraction::new(&graph, &[4; 8]), Err(TgpError::Contraction { .. })));
}
