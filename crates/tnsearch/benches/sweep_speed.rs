//! Times one ALS sweep against the machine's matrix-product rate, and a generation of TNLS on two threads
//! against one; prints one JSON line.
//!
//! `cargo bench -p tnsearch --bench sweep_speed`

use std::sync::Arc;
use std::time::Instant;
use tnsearch::fit::{FitSettings, fit, sweep_flops};
use tnsearch::graph::{ModeGraph, Template};
use tnsearch::problem::Objective;
use tnsearch::problem::{Stop, Target};
use tnsearch::rng::stream;
use tnsearch::search::{Engine, FitEvaluator, Local, Tnls, TnlsSettings};
use tnsearch::tensor::Tensor;
use tnsearch::tensor::matmul::{Strides, matmul};

fn main() {
    let gemm = gemm_rate();
    let (large, large_flops) = sweep(4, 8, 6, 20);
    let (small, small_flops) = sweep(3, 6, 3, 2000);
    let numbers = [
        ("sweep_ms", large * 1e3),
        ("sweep_3_6_us", small * 1e6),
        ("gemm512_gflops", gemm / 1e9),
        ("gemm_fraction", large_flops / large / gemm),
        ("gemm_fraction_3_6", small_flops / small / gemm),
        ("two_threads_speedup", two_threads()),
    ];
    let fields: Vec<String> = numbers.iter().map(|(k, v)| format!("\"{k}\":{v:.4}")).collect();
    println!("{{{}}}", fields.join(","));
}

/// How much faster two threads evaluate a generation of 60 structures (order 8, dimension 3) than one:
/// the median of alternating pairs.
fn two_threads() -> f64 {
    let target = Target::new(random(vec![3; 8])).expect("a fine tensor");
    let template = Arc::new(Template::ring(8).expect("a ring"));
    let settings =
        FitSettings { restarts: 1, max_sweeps: 60, tolerance: 0.0, ..Default::default() };
    let fit = settings.check().expect("good settings");
    let evaluator = Arc::new(FitEvaluator::new(&target));
    let time = |threads| {
        let tnls =
            TnlsSettings { iterations: 1, ..Default::default() }.check().expect("good settings");
        let mut pool = Local::new(evaluator.clone(), threads).expect("threads");
        let objective = Objective::Lambda(1.0).check().expect("fine");
        let start = Instant::now();
        let found = Engine::new(target.dims(), objective, fit.clone())
            .runs(1, 1, |seed| Tnls::new(template.clone(), tnls.clone(), seed))
            .run(&mut pool)
            .expect("a search");
        assert!(found.counts.evaluations >= 50, "{:?}", found.counts);
        start.elapsed().as_secs_f64()
    };
    let mut ratios: Vec<f64> = (0..7).map(|_| time(1) / time(2)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn random(dims: Vec<usize>) -> Tensor {
    use rand::RngExt;
    let mut rng = stream(1, b"sweep speed");
    let n = dims.iter().product();
    Tensor::new(dims, (0..n).map(|_| rng.random::<f64>() - 0.5).collect()).expect("right length")
}

/// Seconds a sweep, the median over repetitions of (time of 3n sweeps - time of n sweeps) / 2n, and
/// its floating-point operations.
fn sweep(dim: usize, order: usize, rank: usize, n: usize) -> (f64, f64) {
    let target = Target::new(random(vec![dim; order])).expect("a fine tensor");
    let mut edges: Vec<_> = (1..order).map(|v| (v - 1, v, rank)).collect();
    edges.push((0, order - 1, rank));
    let graph = ModeGraph::new(order, 0, edges);
    let time = |max_sweeps| {
        let settings = FitSettings {
            restarts: 1,
            max_sweeps,
            tolerance: 0.0,
            stop_rse: 0.0,
            ..FitSettings::default()
        };
        let settings = settings.check().expect("good settings");
        let start = Instant::now();
        let fitted = fit(&target, &graph, &settings, 1, None, &Stop::new()).expect("a fit");
        assert_eq!(fitted.sweeps, max_sweeps);
        start.elapsed().as_secs_f64()
    };
    let mut rates: Vec<f64> = (0..15).map(|_| (time(3 * n) - time(n)) / (2 * n) as f64).collect();
    rates.sort_by(f64::total_cmp);
    (rates[rates.len() / 2], sweep_flops(&target, &graph).expect("a plan"))
}

/// Flops a second of a 512 x 512 x 512 product, the best of several.
fn gemm_rate() -> f64 {
    let n = 512;
    let (a, b) = (random(vec![n, n]), random(vec![n, n]));
    let mut c = vec![0.0; n * n];
    let best = (0..10).map(|_| {
        let start = Instant::now();
        let s = Strides::row_major(n);
        matmul((n, n, n), &mut c, a.data(), s, b.data(), s);
        start.elapsed().as_secs_f64()
    });
    2.0 * (n as f64).powi(3) / best.fold(f64::INFINITY, f64::min)
}
