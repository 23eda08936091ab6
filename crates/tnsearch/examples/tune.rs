//! scratch
use std::sync::Arc;
use std::time::Instant;
use rand::RngExt;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};
use tnsearch::fit::*;
use tnsearch::graph::*;
use tnsearch::network::contract;
use tnsearch::rng::stream;
use tnsearch::search::*;
use tnsearch::tensor::Tensor;

fn hidden(order: usize, seed: u64) -> (Target, Structure) {
    let mut rng = stream(seed, b"hidden");
    let template = Arc::new(Template::ring(order).unwrap());
    let mut p: Vec<usize> = (0..order).collect();
    p.shuffle(&mut rng);
    let ranks = (0..order).map(|_| rng.random_range(1..=4usize)).collect();
    let s = Structure::new(template, p, ranks).unwrap();
    let g = s.canonical().graph;
    let dims = vec![3; order];
    let cores: Vec<Tensor> = (0..order).map(|v| { let d = g.core_dims(v, &dims); let n = d.iter().product(); Tensor::new(d, (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()).unwrap() }).collect();
    (Target::new(contract(&g, &dims, &cores)).unwrap(), s)
}

fn main() {
    let mode = std::env::args().nth(1).unwrap();
    let order: usize = std::env::args().nth(2).unwrap().parse().unwrap();
    let count: u64 = std::env::args().nth(3).unwrap().parse().unwrap();
    let tol: f64 = std::env::args().nth(4).unwrap().parse().unwrap();
    let sweeps: usize = std::env::args().nth(5).unwrap().parse().unwrap();
    let restarts: usize = std::env::args().nth(6).unwrap().parse().unwrap();
    let fs = FitSettings { tolerance: tol, max_sweeps: sweeps, restarts, ..FitSettings::default() };
    let (mut ok, mut okall, mut total, mut evals) = (0, 0, 0.0, 0);
    let mut sweeps_total = 0;
    for seed in 0..count {
        let (target, s) = hidden(order, seed);
        let truth = s.params(target.dims());
        let t = Instant::now();
        if mode == "fit" {
            let g = s.canonical().graph;
            for k in 0..16 {
                let f = fit(&target, &g, &FitSettings{restarts:1,..fs.clone()}.check().unwrap(), k, None, &Interrupt::new()).unwrap();
                ok += (f.rse < 1e-8) as usize; okall += 1; sweeps_total += f.sweeps;
            }
        } else {
            let ev = FitEvaluator { target: &target, settings: fs.clone().check().unwrap() };
            let template = s.template().clone();
            let r = Runner::new(target.dims(), Objective::Lambda(200.0).check().unwrap(), &ev)
                .runs(seed + 100, 1, |seed| Tnls::new(template.clone(), TnlsSettings::default().check().unwrap(), seed)).search().unwrap();
            let b = r.best.unwrap();
            let good = b.score.rse <= 1e-4 && b.score.params <= truth;
            ok += good as usize; okall += 1; evals += r.counts.evaluations;
            println!("seed {seed}: truth {truth} found {} rse {:.2e} eff {:.2} evals {} cached {} refused {} {:.1}s {}", b.score.params, b.score.rse, truth as f64 / b.score.params as f64, r.counts.evaluations, r.counts.cached, r.counts.refused, t.elapsed().as_secs_f64(), good);
        }
        total += t.elapsed().as_secs_f64();
    }
    println!("{mode} order {order} tol {tol} sweeps {sweeps} restarts {restarts}: ok {ok}/{okall} time {total:.2}s evals {evals} sweeps {sweeps_total}");
}
