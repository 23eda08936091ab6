//! Times one ALS sweep against the machine's matrix-product rate, with each kind of number against f64, and a
//! generation of TNLS on two threads against one; prints one JSON line.
//!
//! `cargo bench -p tnsearch --bench sweep_speed`

use std::sync::Arc;
use std::time::Instant;
use tnsearch::fit::{FitError, FitSettings, Request, Run, fit, sweep_flops};
use tnsearch::graph::{ModeGraph, Template};
use tnsearch::linalg::{Factor, matmul};
use tnsearch::problem::Objective;
use tnsearch::problem::Target;
use tnsearch::rng::stream;
use tnsearch::search::{Engine, FitEvaluator, Local, Tnls, TnlsSettings};
use tnsearch::tensor::{AnyTensor, Complex, Kind, Tensor};

fn main() {
    let gemm = gemm_rate();
    let (large, large_flops) = sweep(4, 8, 6, 20);
    let (small, small_flops) = sweep(3, 6, 3, 2000);
    let kinds: Vec<(String, f64)> = [6, 8, 10].into_iter().flat_map(kinds).collect();
    let numbers = [
        ("sweep_ms", large * 1e3),
        ("sweep_3_6_us", small * 1e6),
        ("gemm512_gflops", gemm / 1e9),
        ("gemm_fraction", large_flops / large / gemm),
        ("gemm_fraction_3_6", small_flops / small / gemm),
        ("two_threads_speedup", two_threads()),
    ];
    let numbers = numbers.into_iter().map(|(k, v)| (k.to_owned(), v)).chain(kinds).chain(memory());
    let fields: Vec<String> = numbers.map(|(k, v)| format!("\"{k}\":{v:.4}")).collect();
    println!("{{{}}}", fields.join(","));
}

/// How much faster two threads evaluate a generation of 60 structures (order 8, dimension 3) than one:
/// the median of alternating pairs.
fn two_threads() -> f64 {
    let target = Target::new(random(vec![3; 8])).expect("a fine tensor");
    let template = Arc::new(Template::ring(8).expect("a ring"));
    let settings = FitSettings::default().with(|s| {
        s.restarts = 1;
        s.max_sweeps = 60;
        s.tolerance = 0.0;
    });
    let fit = settings.check().expect("good settings");
    let evaluator = Arc::new(FitEvaluator::new(&target));
    let time = |threads| {
        let tnls =
            TnlsSettings::default().with(|s| s.iterations = 1).check().expect("good settings");
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

/// The time of a 4^8 sweep of a ring with all these ranks with each kind of number, relative to that with f64: runs
/// of all kinds alternate.
fn kinds(rank: usize) -> Vec<(String, f64)> {
    let n = if rank < 8 { 20 } else { 8 };
    let targets = Kind::ALL.map(|kind| {
        let x = AnyTensor::from(random(vec![4; 8])).to_kind(kind).expect("real numbers");
        let turn = Complex::new(0.6, 0.8);
        // A phase, so that imaginary parts are not zero.
        let x = match x {
            AnyTensor::C32(t) => {
                let turn = Complex::new(turn.re as f32, turn.im as f32);
                Tensor::new(vec![4; 8], t.data().iter().map(|x| x * turn).collect())
                    .expect("right length")
                    .into()
            }
            AnyTensor::C64(t) => {
                Tensor::new(vec![4; 8], t.data().iter().map(|x| x * turn).collect())
                    .expect("right length")
                    .into()
            }
            real => real,
        };
        Target::new(x).expect("a fine tensor")
    });
    let graph = ring(8, rank);
    let mut times = vec![Vec::new(); targets.len()];
    for _ in 0..7 {
        for (target, times) in targets.iter().zip(&mut times) {
            let (long, short) = (time(target, &graph, 3 * n), time(target, &graph, n));
            times.push((long - short) / (2 * n) as f64);
        }
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    let medians: Vec<f64> = times.iter_mut().map(median).collect();
    let of = |kind: Kind| medians[Kind::ALL.iter().position(|&k| k == kind).expect("listed")];
    Kind::ALL
        .into_iter()
        .filter(|&kind| kind != Kind::F64)
        .map(|kind| (format!("sweep_{rank}_{kind}"), of(kind) / of(Kind::F64)))
        .chain([(format!("sweep_{rank}_ms"), of(Kind::F64) * 1e3)])
        .collect()
}

/// What a fit of 64^4, a ring of ranks 8, is estimated to take, in MB: the figure in the refusal of one that may take
/// nothing.
fn memory() -> Vec<(String, f64)> {
    let graph = ring(4, 8);
    let of = |kind: Kind| {
        let x = AnyTensor::from(random(vec![64; 4])).to_kind(kind).expect("real numbers");
        let target = Target::new(x).expect("a fine tensor");
        let settings = FitSettings::default().with(|s| s.max_bytes = Some(1));
        let settings = settings.check().expect("good settings");
        match fit(&target, &Request::new(graph.clone(), settings, 1), &Run::default()) {
            Err(FitError::Memory(refused)) => {
                (format!("memory_64_4_{kind}_mb"), refused.needed / 1e6)
            }
            other => panic!("{other:?}"),
        }
    };
    vec![of(Kind::F32), of(Kind::F64)]
}

fn random(dims: Vec<usize>) -> Tensor {
    use rand::RngExt;
    let mut rng = stream(1, b"sweep speed");
    let n = dims.iter().product();
    Tensor::new(dims, (0..n).map(|_| rng.random::<f64>() - 0.5).collect()).expect("right length")
}

fn ring(order: usize, rank: usize) -> ModeGraph {
    let mut edges: Vec<_> = (1..order).map(|v| (v - 1, v, rank)).collect();
    edges.push((0, order - 1, rank));
    ModeGraph::new(order, 0, edges)
}

/// Seconds of a fit of one start with exactly that many sweeps.
fn time(target: &Target, graph: &ModeGraph, max_sweeps: usize) -> f64 {
    let settings = FitSettings::default().with(|s| {
        s.restarts = 1;
        s.max_sweeps = max_sweeps;
        s.tolerance = 0.0;
        s.stop_rse = 0.0;
    });
    let request = Request::new(graph.clone(), settings.check().expect("good settings"), 1);
    let start = Instant::now();
    let fitted = fit(target, &request, &Run::default()).expect("a fit");
    assert_eq!(fitted.sweeps, max_sweeps);
    start.elapsed().as_secs_f64()
}

/// Seconds per sweep, the median over repetitions of (time of 3n sweeps - time of n sweeps) / 2n, and
/// its floating-point operations.
fn sweep(dim: usize, order: usize, rank: usize, n: usize) -> (f64, f64) {
    let target = Target::new(random(vec![dim; order])).expect("a fine tensor");
    let graph = ring(order, rank);
    let time = |max_sweeps| time(&target, &graph, max_sweeps);
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
        matmul((n, n, n), &mut c, Factor::row_major(a.data(), n), Factor::row_major(b.data(), n));
        start.elapsed().as_secs_f64()
    });
    2.0 * (n as f64).powi(3) / best.fold(f64::INFINITY, f64::min)
}
