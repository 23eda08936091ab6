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

fn gen_t(template: &Arc<Template>, seed: u64) -> (Structure, Target) {
    let mut rng = stream(seed, b"hidden");
    let mut permutation = template.external_vertices();
    permutation.shuffle(&mut rng);
    let ranks = template.edges().iter().map(|_| rng.random_range(1..=4usize)).collect();
    let structure = Structure::new(template.clone(), permutation, ranks).unwrap();
    let graph = structure.canonical().graph;
    let dims = vec![3; graph.modes()];
    let cores: Vec<Tensor> = (0..graph.vertices()).map(|v| { let shape = graph.core_dims(v, &dims); let n = shape.iter().product(); Tensor::new(shape, (0..n).map(|_| StandardNormal.sample(&mut rng)).collect()).unwrap() }).collect();
    (structure, Target::new(contract(&graph, &dims, &cores)).unwrap())
}
fn templates() {
    let method: Method = std::env::args().nth(2).unwrap().parse().unwrap();
    let tol: f64 = std::env::args().nth(3).unwrap().parse().unwrap();
    let sweeps: usize = std::env::args().nth(4).unwrap().parse().unwrap();
    let list = ["ring4","complete","kite","peps","mera","ht","tree","star","ring6"];
    for name in list {
        let t = Arc::new(match name { "ring4" => Template::ring(4).unwrap(), "complete" => Template::complete(4).unwrap(), "peps" => Template::peps(2,3).unwrap(), "mera" => Template::mera(8).unwrap(), "ht" => Template::ht(6).unwrap(), "tree" => Template::tree(7).unwrap(), "star" => Template::star(5).unwrap(), "ring6" => Template::ring(6).unwrap(),
            _ => Template::from_graph("kite", vec![true, true, true, true, false], vec![(0, 1), (1, 2), (0, 2), (0, 4), (1, 4), (2, 4), (3, 4)]).unwrap() });
        let (mut ok, mut all, mut any, mut sw) = (0, 0, 0, 0);
        let clock = Instant::now();
        for seed in 0..20 {
            let (s, target) = gen_t(&t, seed);
            let g = s.canonical().graph;
            let mut won = 0;
            for k in 0..8 {
                let f = fit(&target, &g, &FitSettings{restarts:1, tolerance: tol, max_sweeps: sweeps, ..FitSettings::of(method)}.check().unwrap(), k, None, &Interrupt::new()).unwrap();
                won += (f.rse < 1e-8) as usize; all += 1; sw += f.sweeps;
            }
            ok += won; any += (won > 0) as usize;
        }
        println!("{name:10} {method} starts {ok}/{all} tensors {any}/20 sweeps/start {} ms/start {:.2}", sw / all, clock.elapsed().as_secs_f64() * 1e3 / all as f64);
    }
}

fn main() {
    if std::env::args().nth(1).unwrap() == "temp" { return templates(); }
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
