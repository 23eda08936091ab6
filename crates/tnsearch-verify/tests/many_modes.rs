//! Certificates as they are made beyond 14 modes: with few modes they are compared with all structures, with many with what
//! the tensor was made of; and what is tampered with is refused.

mod common;

use common::{MAX_RANK, all, closes, document, holds, least_of, templates, tensor};
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng as StdRng;
use rand_distr::{Distribution as _, StandardNormal};
use serde_json::{Value, json};
use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, SpectraSettings, TreeBound};
use tnsearch::certificate::{Certificate, Claim, NoCertificate, prove, prove_beyond};
use tnsearch::graph::Template;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::tensor::Tensor;
use tnsearch_verify::Array;

fn bound_of(target: &Target) -> CutBound {
    CutBound::new(Spectra::new(target, SpectraSettings::default()))
}

/// A proof as of many modes, of a tensor with few.
fn forced(claim: &Claim, bound: &CutBound, left: usize) -> Result<Certificate, NoCertificate> {
    prove_beyond(claim, bound, 20_000, left, &Stop::new())
}

#[test]
fn a_part_of_the_cuts_proves_nothing_that_all_structures_contradict() {
    let (mut exact, mut less, mut none) = (0, 0, 0);
    for (k, dims) in [vec![2, 3, 4], vec![3, 2, 4, 2]].into_iter().enumerate() {
        let (target, x) = tensor(&dims, 40 + k as u64);
        let bound = bound_of(&target);
        for template in templates(dims.len()) {
            if template.edges().len() > if dims.len() == 3 { 6 } else { 4 } {
                continue;
            }
            let template = Arc::new(template);
            let all = all(&template, &bound, &dims);
            for eps in [0.4, 0.2, 0.1, 0.02] {
                let least = least_of(&all, eps).map(|p| p as u64);
                let true_of = |made: &Certificate| match (made.params, least) {
                    (_, None) => true,
                    (Some(params), Some(least)) => params <= least,
                    (None, Some(_)) => false,
                };
                for more in [0, 1, 1000] {
                    let claimed = least.map(|p| p + more);
                    let claim = Claim::at_error(&template, MAX_RANK, eps, claimed);
                    let Ok(made) = forced(&claim, &bound, 2) else {
                        none += 1;
                        continue;
                    };
                    let name = template.name();
                    assert!(true_of(&made), "{name} {dims:?} {eps} {least:?} {:?}", made.params);
                    assert!(holds(&document(&made, &x), &x), "{name} {dims:?} {eps}");
                    // It says so where it proves less than was claimed, and only there.
                    assert_eq!(made.short_of.is_some(), made.params != claimed, "{name} {eps}");
                    assert!(least.is_none() || more == 0 || made.short_of.is_some());
                    exact += usize::from(made.short_of.is_none());
                    less += usize::from(made.short_of.is_some());
                }
            }
        }
    }
    assert!(exact > 30 && less > 30, "{exact} {less} {none}");
}

#[test]
fn losses_are_proven_from_a_part_of_the_cuts_and_no_further() {
    let dims = [2, 3, 4];
    let (target, x) = tensor(&dims, 7);
    let bound = bound_of(&target);
    let (mut exact, mut tried) = (0, 0);
    for template in templates(3).into_iter().filter(|t| t.edges().len() <= 6) {
        let template = Arc::new(template);
        let all = all(&template, &bound, &dims);
        for lambda in [0.5, 3.0, 20.0] {
            let losses = all.iter().map(|(p, rse)| *p as f64 / 24.0 + lambda * rse);
            let least = losses.fold(f64::INFINITY, f64::min);
            for claimed in [least * (1.0 - 1e-12), least * 1.5] {
                let claim = Claim::of_loss(&template, MAX_RANK, lambda, claimed);
                tried += 1;
                let Ok(made) = forced(&claim, &bound, 2) else { continue };
                let proven = made.priced.as_ref().unwrap().loss;
                assert!(proven <= least, "{} {lambda}: {proven} {least}", template.name());
                assert!(holds(&document(&made, &x), &x), "{} {lambda}", template.name());
                assert_eq!(made.short_of.is_some(), proven != claimed);
                exact += usize::from(made.short_of.is_none());
            }
        }
    }
    assert!(exact > 5 && tried > 20, "{exact} {tried}");
}

#[test]
fn contracted_modes_leave_a_bound_that_holds_for_all_trees() {
    let mut gained = 0;
    for (k, dims) in [vec![3, 2, 4], vec![3, 4, 2, 3], vec![2, 3, 2, 2, 3]].into_iter().enumerate()
    {
        let (target, x) = tensor(&dims, 60 + k as u64);
        let bound = bound_of(&target);
        let (spectra, stop) = (bound.spectra(), Stop::new());
        let whole = TreeBound::new(spectra, &stop);
        let trees = Arc::new(Template::any_tree(dims.len()).unwrap());
        let entries: usize = dims.iter().sum();
        for left in 2..dims.len() {
            for eps in [0.3, 0.1, 0.02, 1e-6] {
                let most = whole.params(eps) as u64;
                let made = |params: u64| {
                    forced(&Claim::at_error(&trees, 1, eps, Some(params)), &bound, left)
                };
                // The most that is proven so: no more than no tree goes below.
                let found = (1..=most + 40).rev().find_map(|p| made(p).ok().map(|made| (p, made)));
                let (params, found) = found.unwrap();
                assert!(params <= most && params >= entries as u64, "{dims:?} {left} {eps}");
                assert_eq!((found.contracted.len(), found.max_rank), (dims.len() - left, None));
                let good = document(&found, &x);
                assert!(holds(&good, &x), "{dims:?} {left} {eps} {params}");
                assert_eq!(made(params + 1), Err(NoCertificate::Part(dims.len())));
                let mut bad = good.clone();
                bad["params"] = json!(params + 1);
                assert!(!holds(&bad, &x), "{dims:?} {left} {eps} {params}");
                gained += usize::from(params > entries as u64);
            }
            for lambda in [0.5, 20.0] {
                let least = whole.loss(lambda);
                let made =
                    |loss: f64| forced(&Claim::of_loss(&trees, 1, lambda, loss), &bound, left);
                assert!(made(least * 1.001).is_err(), "{dims:?} {left} {lambda}");
                let proven = (0..60).map(|k| least * 0.95f64.powi(k)).find_map(|l| made(l).ok());
                let good = document(&proven.unwrap(), &x);
                assert!(holds(&good, &x), "{dims:?} {left} {lambda}");
                let mut bad = good.clone();
                bad["loss"] = json!(least * 1.001);
                assert!(!holds(&bad, &x));
            }
        }
    }
    assert!(gained > 10, "{gained}");
}

/// A certificate of version 3, its tensor, and its parts.
fn of_part() -> (Value, Array, Certificate) {
    let dims = [3, 4, 2, 3];
    let (target, x) = tensor(&dims, 61);
    let bound = bound_of(&target);
    let trees = Arc::new(Template::any_tree(4).unwrap());
    let made = |p: u64| forced(&Claim::at_error(&trees, 1, 0.02, Some(p)), &bound, 3).ok();
    let made = (1..200).rev().find_map(made).unwrap();
    (document(&made, &x), x, made)
}

#[test]
fn each_number_of_a_contraction_is_checked() {
    let (good, x, made) = of_part();
    assert!(holds(&good, &x) && made.contracted.len() == 1 && !made.cuts.is_empty());
    let mode = made.contracted[0].mode;
    let changed = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        assert_ne!(bad, good, "{pointer}");
        assert!(!holds(&bad, &x), "{pointer}");
    };
    // Older versions know no contraction, and this one nothing else.
    changed("/version", json!(1));
    changed("/version", json!(2));
    changed("/version", json!(4));
    changed("/contracted", json!([]));
    changed("/contracted", json!([good["contracted"][0], good["contracted"][0]]));
    changed("/contracted/0/mode", json!((mode + 1) % 4));
    changed("/contracted/0/mode", json!(4));
    changed("/contracted/0/re", json!([]));
    changed("/contracted/0/re", json!(vec![0.0; x.dims[mode]]));
    changed("/contracted/0/re", json!(vec![1.0; x.dims[mode] + 1]));
    // Another vector is another tensor, whose tails are others.
    let first = good["contracted"][0]["re"][0].as_f64().unwrap();
    changed("/contracted/0/re/0", json!(first + 0.5));
    changed("/max_rank", json!(3));
    changed("/template", json!("path"));
    changed("/max_rse", json!(0.9));
    changed("/params", json!(good["params"].as_u64().unwrap() + 1));
    changed("/params", Value::Null);
    changed("/tree", json!([{}]));
    for (k, cut) in made.cuts.iter().enumerate() {
        changed(&format!("/cuts/{k}/width"), json!(cut.width + 1));
        changed(&format!("/cuts/{k}/tail"), json!(cut.tail + 3.0 * cut.slack + 1e-9));
        changed(&format!("/cuts/{k}/slack"), json!(cut.tail));
        // A mode that is contracted is in no cut.
        changed(&format!("/cuts/{k}/modes"), json!([mode]));
        changed(&format!("/cuts/{k}/modes"), json!([]));
    }
    let mut bad = good.clone();
    bad["contracted"][0]["im"] = json!([1.0]);
    assert!(!holds(&bad, &x));
    // The length of a vector is of no matter, nor is its sign.
    let mut same = good.clone();
    for entry in same["contracted"][0]["re"].as_array_mut().unwrap() {
        *entry = json!(entry.as_f64().unwrap() * -3.0);
    }
    assert!(holds(&same, &x));
    // For a graph nothing is contracted.
    let mut bad = good.clone();
    bad["template"] =
        json!({"vertices": vec![json!({"mode": true}); 4], "edges": [[0, 1], [1, 2], [2, 3]]});
    assert!(!holds(&bad, &x));
    // No other version has it.
    let mut bad = good.clone();
    bad.as_object_mut().unwrap().remove("contracted");
    assert!(!holds(&bad, &x));
}

/// A path of modes of dimension 2 and ranks 2, and its params.
fn path(order: usize, seed: u64) -> (Target, Array, u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut data = vec![1.0f64, 0.0];
    // Rows of two numbers, one row for each index so far.
    for _ in 0..order {
        let core: Vec<f64> = (0..8).map(|_| StandardNormal.sample(&mut rng)).collect();
        data = data
            .chunks(2)
            .flat_map(|row| {
                let core = &core;
                (0..4).map(move |k| row[0] * core[k] + row[1] * core[4 + k])
            })
            .collect();
    }
    let data: Vec<f64> = data.chunks(2).map(|row| row[0]).collect();
    let x = Array::real(vec![2; order], data.clone()).unwrap();
    let target = Target::new(Tensor::new(vec![2; order], data).unwrap()).unwrap();
    (target, x, 8 * (order as u64 - 2) + 8)
}

#[test]
fn graphs_of_15_to_18_modes_have_certificates() {
    for (order, name) in
        [(15, "ring"), (16, "path"), (16, "ht"), (17, "star"), (18, "ring"), (18, "tree")]
    {
        let (target, x, own) = path(order, order as u64);
        let bound = bound_of(&target);
        let template = Arc::new(Template::parse(name, order).unwrap());
        // Far more than can be proven in so few cases: what is proven is less, and says so.
        let claim = Claim::at_error(&template, 4, 1e-6, Some(100_000));
        let made = prove(&claim, &bound, 300, &Stop::new()).unwrap();
        let params = made.params.unwrap();
        assert!(made.short_of.is_some() && made.contracted.is_empty() && made.tree.len() <= 300);
        // Every mode needs rank 2, and so four entries.
        assert!(params >= 4 * order as u64, "{order} {name}: {params}");
        // The tensor is a path, and so a ring.
        assert!(params <= own || !["path", "ring"].contains(&name), "{order} {name}: {params}");
        let good = document(&made, &x);
        assert!(holds(&good, &x), "{order} {name}");
        let mut bad = good.clone();
        bad["params"] = json!(100_000);
        assert!(!closes(&bad), "{order} {name}");
        // What is proven can be claimed.
        let claim = Claim::at_error(&template, 4, 1e-6, Some(params));
        let again = prove(&claim, &bound, 300, &Stop::new()).unwrap();
        assert_eq!((again.params, again.short_of), (Some(params), None));
    }
}

#[test]
fn no_path_or_ring_of_16_modes_is_smaller_than_what_the_tensor_was_made_of() {
    let (target, x, own) = path(16, 3);
    let bound = bound_of(&target);
    for name in ["path", "ring"] {
        let template = Arc::new(Template::parse(name, 16).unwrap());
        for claimed in [own + 1, 2 * own] {
            let claim = Claim::at_error(&template, 3, 1e-8, Some(claimed));
            let made = prove(&claim, &bound, 2000, &Stop::new()).unwrap();
            assert!(made.params.unwrap() <= own, "{name}");
            assert!(closes(&document(&made, &x)), "{name}");
        }
    }
}

#[test]
fn trees_of_16_modes_have_certificates() {
    let (target, x, own) = path(16, 5);
    let bound = bound_of(&target);
    let trees = Arc::new(Template::any_tree(16).unwrap());
    let least = TreeBound::new(bound.spectra(), &Stop::new()).params(1e-6);
    assert!(least > 40 && least <= u128::from(own), "{least} {own}");
    let goal = Objective::MaxError(1e-6);
    let claim = Claim::new(&trees, 7, goal, Some(goal.lower_bound(least as f64)), false).unwrap();
    let made = prove(&claim, &bound, 10, &Stop::new()).unwrap();
    assert_eq!((made.contracted.len(), made.params), (4, Some(least as u64)));
    let good = document(&made, &x);
    assert!(holds(&good, &x));
    let mut bad = good.clone();
    bad["params"] = json!(least as u64 + 1);
    assert!(!closes(&bad));
    let more = Claim::at_error(&trees, 7, 1e-6, Some(least as u64 + 1));
    assert_eq!(prove(&more, &bound, 10, &Stop::new()), Err(NoCertificate::Part(16)));
    let stop = Stop::new();
    stop.set();
    assert_eq!(prove(&claim, &bound_of(&target), 10, &stop), Err(NoCertificate::Stopped));
}
