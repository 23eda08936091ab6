//! Certificates against brute force: the smallest structure that no cut rules out is proven, and nothing more, however
//! a proof is tampered with.

mod common;

use common::{MAX_RANK, all, brute, closes, document, holds, least_of, templates, tensor};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng as StdRng;
use serde_json::{Value, json};
use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
use tnsearch::certificate::{Claim, NoCertificate, prove};
use tnsearch::graph::Template;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::tensor::Tensor;
use tnsearch_verify::{Array, Certificate, Limits};

fn claim(template: &Arc<Template>, eps: f64, params: Option<u128>) -> Claim {
    let goal = Objective::MaxError(eps);
    let bound = params.map(|p| goal.lower_bound(p as f64));
    Claim::new(template, MAX_RANK, goal, bound, params.is_none()).unwrap()
}

#[test]
fn what_is_proven_is_what_trying_all_finds_and_no_more() {
    let (mut proven, mut impossible, mut cases) = (0, 0, 0);
    for (k, dims) in [vec![2, 3, 4], vec![4, 2, 3], vec![3, 2, 4, 2]].into_iter().enumerate() {
        let (target, x) = tensor(&dims, k as u64);
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        for template in templates(dims.len()) {
            // Four modes with few edges, three with more.
            if template.edges().len() > if dims.len() == 3 { 6 } else { 4 } {
                continue;
            }
            let template = Arc::new(template);
            let all = all(&template, &bound, &dims);
            for eps in [0.4, 0.2, 0.1, 0.05, 0.02, 1e-9] {
                let least = least_of(&all, eps);
                let made = prove(&claim(&template, eps, least), &bound, 100_000, &Stop::new());
                let made =
                    made.unwrap_or_else(|e| panic!("{} {dims:?} {eps}: {e}", template.name()));
                let text = document(&made, &x);
                assert!(holds(&text, &x), "{} {dims:?} {eps} {least:?}", template.name());
                let Some(least) = least else {
                    impossible += 1;
                    continue;
                };
                // One more is not true, and is not proven.
                let more = claim(&template, eps, Some(least + 1));
                let refused = prove(&more, &bound, 100_000, &Stop::new());
                assert_eq!(refused, Err(NoCertificate::NotProven), "{} {eps}", template.name());
                proven += 1;
                cases += made.tree.len();
            }
        }
    }
    assert!(proven > 50 && impossible > 5 && cases > 200, "{proven} {impossible} {cases}");
}

/// Changes one thing in the tree: a number, a node, or a list.
fn tampered(tree: &mut Vec<Value>, rng: &mut StdRng) {
    let k = rng.random_range(0..tree.len());
    match rng.random_range(0..6) {
        0 => drop(tree.remove(k)),
        1 => tree.insert(k, tree[rng.random_range(0..tree.len())].clone()),
        2 => tree[k] = json!({}),
        3 => {
            let other = rng.random_range(0..tree.len());
            tree.swap(k, other);
        }
        _ => {
            // Some number in it, one up or down.
            let mut places = Vec::new();
            numbers(&tree[k], &mut Vec::new(), &mut places);
            if places.is_empty() {
                return;
            }
            let pointer = &places[rng.random_range(0..places.len())];
            let number = tree[k].pointer_mut(pointer).unwrap();
            let by = if rng.random_bool(0.5) { 1 } else { -1 };
            *number = json!((number.as_i64().unwrap() + by).max(0));
        }
    }
}

/// Where numbers stand.
fn numbers(value: &Value, path: &mut Vec<String>, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.iter().map(|p| format!("/{p}")).collect()),
        Value::Array(items) => {
            for (k, item) in items.iter().enumerate() {
                path.push(k.to_string());
                numbers(item, path, found);
                path.pop();
            }
        }
        Value::Object(fields) => {
            for (name, item) in fields {
                path.push(name.clone());
                numbers(item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

#[test]
fn no_tampered_tree_proves_what_is_not_true() {
    let dims = [3, 2, 3, 2];
    let (target, x) = tensor(&dims, 1);
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    let mut rng = StdRng::seed_from_u64(5);
    let (mut tried, mut still) = (0, 0);
    for name in ["path", "ring", "tucker"] {
        let template = Arc::new(Template::parse(name, dims.len()).unwrap());
        let eps = 0.1;
        let Some(least) = brute(&template, &bound, &dims, eps) else { continue };
        let made = prove(&claim(&template, eps, Some(least)), &bound, 100_000, &Stop::new());
        let good = document(&made.unwrap(), &x);
        assert!(closes(&good));
        for _ in 0..2000 {
            let mut bad = good.clone();
            let tree = bad["tree"].as_array_mut().unwrap();
            (0..rng.random_range(1..3)).for_each(|_| tampered(tree, &mut rng));
            still += u32::from(closes(&bad));
            bad["params"] = json!(least as u64 + 1);
            assert!(!closes(&bad), "{name}: {bad}");
            tried += 1;
        }
    }
    // Some changes leave a proof of what is true; most do not.
    assert!(tried >= 4000 && still < tried / 2, "{tried} {still}");
}

#[test]
fn numbers_that_are_not_the_tensors_are_refused() {
    let dims = [3, 2, 3, 2];
    let (target, x) = tensor(&dims, 1);
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    let template = Arc::new(Template::ring(4).unwrap());
    let eps = 0.1;
    let least = brute(&template, &bound, &dims, eps);
    let made = prove(&claim(&template, eps, least), &bound, 100_000, &Stop::new()).unwrap();
    let good = document(&made, &x);
    assert!(holds(&good, &x));
    let changed = |pointer: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        assert_ne!(bad, good, "{pointer}");
        assert!(!holds(&bad, &x), "{pointer}");
    };
    changed("/params", json!(least.unwrap() as u64 + 1));
    changed("/params", Value::Null);
    changed("/max_rse", json!(0.9));
    changed("/max_rse", json!(-0.1));
    changed("/lost", json!(1.5));
    changed("/max_rank", json!(0));
    changed("/max_rank", Value::Null);
    changed("/version", json!(2));
    changed("/format", json!("other"));
    changed("/template", json!("any-tree"));
    changed("/template", json!("ring"));
    changed("/template/vertices/0/mode", json!(false));
    changed("/template/edges/0/0", json!(7));
    changed("/data/dims/0", json!(2));
    changed("/data/norm", json!(1.0));
    changed("/data/sha256", json!("0".repeat(64)));
    changed("/data/dtype", json!("f32"));
    for k in 0..made.cuts.len() {
        let cut = &made.cuts[k];
        changed(&format!("/cuts/{k}/width"), json!(cut.width + 1));
        changed(&format!("/cuts/{k}/width"), json!(1));
        changed(&format!("/cuts/{k}/tail"), json!(cut.tail + 3.0 * cut.slack + 1e-12));
        changed(&format!("/cuts/{k}/tail"), json!(eps));
        changed(&format!("/cuts/{k}/slack"), json!(cut.tail));
        changed(&format!("/cuts/{k}/slack"), json!(-1.0));
        changed(&format!("/cuts/{k}/modes"), json!([0, 1, 2, 3]));
        changed(&format!("/cuts/{k}/modes"), json!([1, 1]));
        changed(&format!("/cuts/{k}/modes/0"), json!(9));
    }
    // Another tensor.
    let mut y = x.clone();
    y.re[3] += 1e-9;
    assert!(!holds(&good, &y));
}

#[test]
fn all_trees_are_bounded_by_the_dynamic_programme() {
    let dims = [3, 4, 2, 3];
    let (target, x) = tensor(&dims, 3);
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    let template = Arc::new(Template::any_tree(4).unwrap());
    for eps in [0.3, 0.05, 1e-6] {
        let trees = tnsearch::bound::TreeBound::new(bound.spectra(), &Stop::new());
        let least = trees.params(eps);
        let made = prove(&claim(&template, eps, Some(least)), &bound, 10, &Stop::new()).unwrap();
        let good = document(&made, &x);
        assert!(holds(&good, &x), "{eps} {least}");
        let mut bad = good.clone();
        bad["params"] = json!(least as u64 + 1);
        assert!(!holds(&bad, &x), "{eps} {least}");
        for k in 0..made.cuts.len() {
            let mut fewer = good.clone();
            fewer["cuts"].as_array_mut().unwrap().remove(k);
            fewer["params"] = json!(least as u64 + 1);
            assert!(!holds(&fewer, &x));
        }
    }
}

#[test]
fn a_small_error_is_bounded_by_values_that_squares_would_lose() {
    // Singular values 1 and 1e-7: at an RSE of 1e-15 rank 1 is too little.
    let data = vec![1.0, 0.0, 0.0, 1e-7];
    let x = Array::real(vec![2, 2], data.clone()).unwrap();
    let target = Target::new(Tensor::new(vec![2, 2], data).unwrap()).unwrap();
    let mut settings = SpectraSettings::default();
    settings.svd = true;
    let bound = CutBound::new(Spectra::new(&target, settings));
    let path = Arc::new(Template::path(2).unwrap());
    let made = prove(&claim(&path, 1e-15, Some(8)), &bound, 10, &Stop::new()).unwrap();
    let text = document(&made, &x);
    let limits = Limits { bytes: u64::MAX, stop: &|| false };
    let said = Certificate::parse(&text.to_string()).unwrap().check(&x, "f64", &limits).unwrap();
    assert_eq!(said.map(|s| s.unchecked), Ok(Vec::new()));
}

#[test]
fn a_budget_of_cases_and_a_stop_are_obeyed() {
    let dims = [3, 2, 3, 2];
    let (target, _) = tensor(&dims, 1);
    let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
    let template = Arc::new(Template::ring(4).unwrap());
    let asked = claim(&template, 0.1, brute(&template, &bound, &dims, 0.1));
    assert_eq!(prove(&asked, &bound, 2, &Stop::new()), Err(NoCertificate::Cases(2)));
    let stop = Stop::new();
    stop.set();
    assert_eq!(prove(&asked, &bound, 1000, &stop), Err(NoCertificate::Stopped));
    let goal = Objective::Lambda(5.0);
    let lambda = Claim::new(&template, 3, goal, Some(goal.lower_bound(1.0)), false);
    // Of a loss the cuts are many: they are counted, too.
    let lambda = lambda.unwrap();
    assert_eq!(lambda.priced, Some((5.0, 1.0 - 1e-12)));
    assert_eq!(prove(&lambda, &bound, 2, &Stop::new()), Err(NoCertificate::Cases(2)));
    let none = Claim::new(&template, 3, goal, Some(goal.lower_bound(0.0)), false);
    assert_eq!(none, Err(NoCertificate::NothingProven));
}

#[test]
fn losses_are_proven_up_to_the_least_and_no_further() {
    let (mut proven, mut cases) = (0, 0);
    for (k, dims) in [vec![2, 3, 4], vec![3, 2, 4, 2]].into_iter().enumerate() {
        let (target, x) = tensor(&dims, 7 + k as u64);
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        let entries = x.re.len() as f64;
        for template in templates(dims.len()) {
            if template.edges().len() > if dims.len() == 3 { 6 } else { 4 } {
                continue;
            }
            let template = Arc::new(template);
            let all = all(&template, &bound, &dims);
            for lambda in [0.5, 3.0, 20.0, 300.0] {
                let losses = all.iter().map(|(p, rse)| *p as f64 / entries + lambda * rse);
                let least = losses.fold(f64::INFINITY, f64::min);
                let prove_at = |loss: f64| {
                    let claim = Claim::of_loss(&template, MAX_RANK, lambda, loss);
                    prove(&claim, &bound, 100_000, &Stop::new())
                };
                let made = prove_at(least * (1.0 - 1e-12));
                let made =
                    made.unwrap_or_else(|e| panic!("{} {dims:?} {lambda}: {e}", template.name()));
                let good = document(&made, &x);
                assert!(holds(&good, &x), "{} {dims:?} {lambda}", template.name());
                proven += 1;
                cases += made.tree.len();
                // A little more is not proven, neither by us nor by a changed file.
                let more = least * (1.0 + 1e-6);
                assert_eq!(prove_at(more), Err(NoCertificate::NotProven), "{}", template.name());
                let mut bad = good.clone();
                bad["loss"] = json!(more);
                assert!(!closes(&bad), "{} {dims:?} {lambda}", template.name());
                // Tails that are not those of the tensor.
                if !good["cuts"].as_array().unwrap().is_empty() {
                    let mut bad = good.clone();
                    let tail = bad["cuts"][0]["tail"].as_f64().unwrap();
                    bad["cuts"][0]["tail"] = json!((tail * 1.01).min(0.999) + 1e-6);
                    assert!(!holds(&bad, &x));
                    let mut bad = good.clone();
                    bad["cuts"][0]["width"] = json!(bad["cuts"][0]["width"].as_u64().unwrap() + 1);
                    assert!(!holds(&bad, &x));
                }
                // A mixture of both versions is none.
                for (name, value) in
                    [("max_rse", json!(0.1)), ("params", json!(3)), ("version", json!(1))]
                {
                    let mut bad = good.clone();
                    bad[name] = value;
                    assert!(!holds(&bad, &x), "{name}");
                }
            }
        }
    }
    assert!(proven > 40 && cases > 200, "{proven} {cases}");
}

#[test]
fn the_losses_of_all_trees_are_proven_interval_by_interval() {
    use tnsearch::bound::TreeBound;
    for (k, dims) in [vec![2, 3, 4], vec![3, 2, 4, 2], vec![2, 3, 2, 2, 3]].into_iter().enumerate()
    {
        let (target, x) = tensor(&dims, 20 + k as u64);
        let bound = CutBound::new(Spectra::new(&target, SpectraSettings::default()));
        let trees = Arc::new(Template::any_tree(dims.len()).unwrap());
        for lambda in [0.5, 3.0, 20.0, 300.0] {
            let least = TreeBound::new(bound.spectra(), &Stop::new()).loss(lambda);
            let made =
                prove(&Claim::of_loss(&trees, 1, lambda, least), &bound, 100_000, &Stop::new());
            let good = document(&made.unwrap(), &x);
            assert!(holds(&good, &x), "{dims:?} {lambda}: {good}");
            let more = Claim::of_loss(&trees, 1, lambda, least * 1.001);
            assert_eq!(prove(&more, &bound, 100_000, &Stop::new()), Err(NoCertificate::NotProven));
            for change in 0..4 {
                let mut bad = good.clone();
                match change {
                    0 => bad["loss"] = json!(least * 1.001),
                    1 => bad["errors"] = json!([]),
                    2 => {
                        let errors = bad["errors"].as_array_mut().unwrap();
                        errors.reverse();
                        errors.push(json!(0.5));
                    }
                    _ => bad["cuts"] = json!([]),
                }
                assert!(!holds(&bad, &x), "{dims:?} {lambda} {change}");
            }
        }
    }
}
