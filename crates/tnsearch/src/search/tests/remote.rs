//! Searches whose fits are made by workers elsewhere give the answers of this machine's threads, bit for bit.

use super::*;
use crate::network::contract;
use crate::problem::{Huber, LossSpec, Mask, Target};
use crate::rng::Rng;
use crate::search::wire::{Asked, Job, Worker, answer_to_bytes};
use crate::tensor::{Complex, Kind, Scalar, Tensor};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A tensor of a ring with ranks 2, and a little noise.
fn ring<T: Scalar>(dims: &[usize], noise: f64) -> Tensor<T> {
    let n = dims.len();
    let edges = (0..n).map(|v| (v.min((v + 1) % n), v.max((v + 1) % n), 2)).collect();
    let graph = ModeGraph::new(n, 0, edges);
    let mut rng = rng::stream(11, b"remote");
    let cores = (0..n).map(|v| {
        let dims = graph.core_dims(v, dims);
        let data = (0..dims.iter().product()).map(|_| T::normal(&mut rng)).collect();
        Tensor::<T>::new(dims, data).unwrap()
    });
    let mut x = contract(&graph, dims, &cores.collect::<Vec<_>>());
    for x in x.data_mut() {
        let e = T::normal(&mut rng);
        *x += T::from_parts(noise * e.re(), noise * e.im());
    }
    x
}

/// What a cluster of so many workers does: those free take the requests that wait in any order, some are lost and done
/// again, some answers come twice, and what was cancelled comes back all the same.
fn cluster(workers: usize, to: &Receiver<ToWorkers>, from: &Sender<FromWorkers>, rng: &mut Rng) {
    let Ok(ToWorkers::Job(job)) = to.recv() else { panic!("the job comes first") };
    let mut made: Vec<Worker> = Vec::new();
    let mut waiting: Vec<(Ticket, Vec<u8>)> = Vec::new();
    loop {
        let message = match waiting.is_empty() {
            true => to.recv().ok(),
            false => to.try_recv().ok(),
        };
        match message {
            Some(ToWorkers::Submit(ticket, bytes)) => waiting.push((ticket, bytes)),
            Some(ToWorkers::Cancel(_)) => {}
            Some(ToWorkers::Job(_)) => panic!("the job comes once"),
            None if waiting.is_empty() => return,
            None => {
                let (ticket, request) = waiting.swap_remove(rng.random_range(0..waiting.len()));
                if made.len() < workers {
                    made.push(Worker::new(job.header(), job.entries()).unwrap());
                }
                let worker = &made[rng.random_range(0..made.len())];
                if rng.random_range(0..9) == 0 {
                    // Its worker was lost; another one begins anew.
                    waiting.push((ticket, request));
                    continue;
                }
                let answer = worker.run(&request, 0.0, &Stop::new()).unwrap();
                let sent = from.send(FromWorkers::Answer(ticket, answer.clone()));
                if rng.random_range(0..5) == 0 {
                    let _ = from.send(FromWorkers::Answer(ticket, answer));
                }
                if sent.is_err() {
                    return;
                }
            }
        }
    }
}

/// The result with what depends on the clock left out.
fn outcome(search: Search<'_>) -> SearchResult {
    let mut result = timeless(search.run().unwrap());
    if let Some(shrunk) = &mut result.shrunk {
        shrunk.seconds = 0.0;
    }
    result
}

fn elsewhere(search: Search<'_>, workers: usize) -> SearchResult {
    let (to, requests) = channel();
    let (answers, from) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut rng = rng::stream(workers as u64, b"cluster");
            cluster(workers, &requests, &answers, &mut rng);
        });
        outcome(search.executor_for(move |target, loss| {
            Ok(Box::new(Remote::new(Job::new(target, &**loss)?, workers, to, from)))
        }))
    })
}

/// The same search here and by 1, 2 and 7 workers.
fn same<'a>(what: &str, search: impl Fn() -> Search<'a>) -> SearchResult {
    let result = outcome(search());
    assert!(result.best.is_some() && result.counts.evaluations > 0, "{what}");
    for workers in [1, 2, 7] {
        assert_eq!(elsewhere(search(), workers), result, "{what} by {workers}");
    }
    result
}

fn little(spec: &str) -> StrategySpec {
    const LESS: [(&str, usize); 7] = [
        ("iterations", 2),
        ("samples", 8),
        ("generations", 2),
        ("population", 8),
        ("nodes", 40),
        ("steps", 3),
        ("patience", 1),
    ];
    let mut strategy = StrategySpec::new(spec);
    if let Ok(description) = strategy.clone().description() {
        for (option, value) in LESS {
            // Not what it would refuse.
            let taken = |o: &&OptionDescription| {
                o.name == option && strategy.clone().set(option, value).check(3.into()).is_ok()
            };
            if description.options.iter().any(|o| taken(&o)) {
                strategy = strategy.set(option, value);
            }
        }
    }
    strategy
}

fn small<'a>(x: &Target, template: Template, strategy: &str) -> Search<'a> {
    let fit = FitSettings { max_sweeps: 30, restarts: 2, ..FitSettings::default() };
    // So small a tensor is smaller than most networks.
    let settings = SearchSettings::default().with(|s| s.max_phi = Some(10.0));
    Search::new(x)
        .template(template)
        .settings(settings)
        .max_error(1e-4)
        .max_rank(3)
        .seed(3)
        .strategy(little(strategy))
        .fit(fit)
}

#[test]
fn every_strategy_gives_the_local_answer() {
    let x = Target::new(ring::<f64>(&[3, 2, 3, 2], 1e-3)).unwrap();
    for description in all_strategies() {
        let template = match description.name {
            "trees" => "any-tree",
            "formats" => "formats",
            "walk" | "greedy" => "any",
            _ => "ring",
        };
        let template = || Template::parse(template, 4).unwrap();
        same(description.name, || small(&x, template(), description.name).runs(2));
    }
}

#[test]
fn every_kind_of_number_and_objective_gives_the_local_answer() {
    let kinds = [
        Target::new(ring::<f32>(&[3, 2, 3, 2], 1e-3)),
        Target::new(ring::<Complex<f64>>(&[3, 2, 3, 2], 1e-3)),
        Target::new(ring::<Complex<f32>>(&[3, 2, 3, 2], 1e-3)),
    ];
    for (x, objective) in kinds.into_iter().zip(OBJECTIVES) {
        let x = x.unwrap();
        let ring = || Template::ring(4).unwrap();
        same(x.kind().name(), || small(&x, ring(), "tnls").objective(objective));
    }
}

#[test]
fn a_tensor_that_is_shrunk_is_shrunk_elsewhere_too() {
    let x = Target::new(ring::<f64>(&[9, 8, 9, 8], 1e-6)).unwrap();
    assert_eq!(x.kind(), Kind::F64);
    let found = same("shrunk", || small(&x, Template::ring(4).unwrap(), "tnls"));
    let shrunk = found.shrunk.expect("it pays");
    assert!(shrunk.dims.iter().product::<usize>() < x.entries() / 2);
    assert!(found.best.unwrap().network(x.dims()).is_ok(), "its cores are those of X");
}

#[test]
fn holes_and_losses_give_the_local_answer() {
    let dims = vec![3, 4, 3, 2];
    let x = ring::<f64>(&dims, 1e-3);
    let mask =
        |keep: fn(usize) -> bool| Mask::new(dims.clone(), (0..72).map(keep).collect()).unwrap();
    let holes = Target::with_holes(x.clone(), &mask(|k| k % 5 != 0)).unwrap();
    let held = holes.holding_out(&mask(|k| k % 6 == 1)).unwrap();
    let ring = || Template::ring(4).unwrap();
    for (what, x) in [("holes", &holes), ("held", &held)] {
        same(what, || small(x, ring(), "tnls").max_error(1e-2));
    }
    let x = Target::new(x).unwrap();
    same("huber", || small(&x, ring(), "tnls").max_error(1e-2).loss(Huber::new(0.3)));
    let counts = Tensor::new(dims.clone(), (0..72).map(|k| f64::from(k * k % 7)).collect());
    let counts = Target::new(counts.unwrap()).unwrap();
    for name in ["kl", "poisson"] {
        let loss = || name.parse::<LossSpec>().unwrap().for_target(&counts).unwrap();
        same(name, || small(&counts, ring(), "tnls").max_error(0.3).loss(loss()));
    }
}

#[test]
fn a_request_that_cannot_be_evaluated_ends_the_search_with_its_reason() {
    let x = Target::new(ring::<f64>(&[3, 2, 3, 2], 1e-3)).unwrap();
    let failing = |fail: fn(Ticket, &[u8]) -> Option<FromWorkers>| {
        let ((to, requests), (answers, from)) = (channel(), channel());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for message in requests {
                    let ToWorkers::Submit(ticket, request) = message else { continue };
                    let Some(answer) = fail(ticket, &request) else { return };
                    if answers.send(answer).is_err() {
                        return;
                    }
                }
            });
            let search = small(&x, Template::ring(4).unwrap(), "tnls");
            let search = search.executor_for(move |target, loss| {
                Ok(Box::new(Remote::new(Job::new(target, &**loss)?, 2, to, from)))
            });
            search.run().unwrap_err().to_string()
        })
    };
    let failed = failing(|ticket, _| Some(FromWorkers::Failed(ticket, "no luck".into())));
    assert_eq!(failed, "no luck");
    let failed = failing(|ticket, _| Some(FromWorkers::Answer(ticket, vec![1, 2, 3])));
    assert!(failed.contains("no answer of tnsearch"), "{failed}");
    let failed = failing(|ticket, request| {
        let order = Asked::from_bytes(request).unwrap().request.graph.modes();
        let error = FitError::Modes { structure: order, tensor: 9 };
        Some(FromWorkers::Answer(ticket, answer_to_bytes(&Err(error))))
    });
    assert_eq!(failed, "the structure has 4 modes, but the tensor has 9");
    assert_eq!(failing(|_, _| None), "the workers are gone");
}

/// Nobody answers: a stop ends the search all the same.
#[test]
fn a_stop_does_not_wait_for_workers() {
    let x = Target::new(ring::<f64>(&[3, 2, 3, 2], 1e-3)).unwrap();
    let ((to, requests), (answers, from)) = (channel(), channel());
    let stop = Stop::new();
    let result = std::thread::scope(|scope| {
        let stopper = stop.clone();
        let heard = scope.spawn(move || {
            let mut heard = Vec::new();
            for message in requests {
                if let ToWorkers::Submit(ticket, _) = message {
                    heard.push(ticket);
                    stopper.set();
                } else if let ToWorkers::Cancel(ticket) = message {
                    heard.retain(|under_way| *under_way != ticket);
                }
            }
            drop(answers);
            heard
        });
        let search = small(&x, Template::ring(4).unwrap(), "tnls").stop(&stop);
        let search = search.executor_for(move |target, loss| {
            Ok(Box::new(Remote::new(Job::new(target, &**loss)?, 2, to, from)))
        });
        let result = search.run().unwrap();
        assert!(heard.join().unwrap().is_empty(), "what is under way is cancelled");
        result
    });
    assert_eq!(result.stopped_by, StoppedBy::Interrupted);
    assert!(result.best.is_none());
}
