//! `verify`: claims that are true hold, and whatever is changed does not.

mod common;

use common::Place;
use serde_json::{Value, json};

/// A search for a hidden ring: x.npy, net.safetensors and out.json.
fn searched(more: &str) -> (Place, Value) {
    let place = Place::new();
    place.ring("x.npy", 4, 5);
    let ended = place
        .run(&format!("search x.npy --max-rse 1e-4 -o net.safetensors --json out.json {more}"));
    assert_eq!(ended.code, 0, "{ended:?}");
    let out = serde_json::from_slice(&place.read("out.json")).unwrap();
    (place, out)
}

/// The verdict on each claim, and the exit code.
fn verdicts(place: &Place, args: &str) -> (i32, Vec<(String, String)>) {
    let (code, report) = place.json(&format!("verify {args}"));
    let claims = report["claims"].as_array().unwrap();
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let claims: Vec<_> = claims.iter().map(|c| (text(&c["claim"]), text(&c["verdict"]))).collect();
    let any = |verdict: &str| claims.iter().any(|(_, v)| v == verdict);
    let (wrong, left) = (any("does_not_hold"), any("not_checked"));
    let expected = if wrong {
        1
    } else if left {
        3
    } else {
        0
    };
    assert_eq!((report["holds"].as_bool().unwrap(), code), (!wrong, expected), "{report}");
    (code, claims)
}

fn all_hold(place: &Place, args: &str) -> usize {
    let (code, claims) = verdicts(place, args);
    let held = |v: &str| v == "holds" || v == "recorded";
    assert!(code == 0 && claims.iter().all(|(_, v)| held(v)), "{args}: {claims:?}");
    claims.len()
}

fn fails(place: &Place, args: &str, claim: &str) {
    let (code, claims) = verdicts(place, args);
    let failed = claims.iter().any(|(c, v)| c == claim && v == "does_not_hold");
    assert!(code == 1 && failed, "{args}: {claim} should fail: {claims:?}");
}

#[test]
fn a_search_holds_and_a_changed_summary_does_not() {
    let (place, out) = searched("--template ring");
    assert!(all_hold(&place, "x.npy net.safetensors out.json") > 15);
    let params = out["params"].as_u64().unwrap();
    let changes: Vec<(&str, &str, Value)> = vec![
        ("/params", "params", json!(params - 1)),
        ("/phi", "phi", json!(0.5)),
        ("/log10_cr", "log10_cr", json!(3.0)),
        ("/rse", "rse", json!(1e-5)),
        ("/re", "re", json!(1e-2)),
        ("/loss", "loss", json!(1e-9)),
        ("/target_reached", "target_reached", json!(false)),
        ("/permutation", "permutation", json!([0, 1, 2, 3])),
        ("/edges/0/2", "edges", json!(1)),
        ("/dims/0", "dims", json!(4)),
        ("/order", "order", json!(5)),
        ("/template", "template", json!("complete")),
        ("/lower_bound/params", "lower_bound", json!(params + 1)),
        ("/lower_bound/params", "certified_optimal", json!(params - 1)),
        ("/pareto/0/params", "pareto", json!(1)),
    ];
    for (pointer, claim, value) in changes {
        let mut bad = out.clone();
        *bad.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        assert_ne!(bad, out, "{pointer}");
        place.write("bad.json", bad.to_string());
        fails(&place, "x.npy net.safetensors bad.json", claim);
    }
}

#[test]
fn what_a_summary_leaves_out_or_asks_for_proves_nothing() {
    let (place, out) = searched("--template ring");
    let with = |change: &dyn Fn(&mut Value)| {
        let mut bad = out.clone();
        change(&mut bad);
        place.write("bad.json", bad.to_string());
    };
    // An error of nothing at all is asked for: parameters do not follow from that.
    with(&|bad| {
        bad["objective"]["max_rse"] = json!(0.0);
        bad["lower_bound"]["params"] = json!(1_000_000_000);
    });
    let (_, claims) = verdicts(&place, "x.npy net.safetensors bad.json");
    let held = claims.iter().any(|(c, v)| c == "lower_bound" && v == "holds");
    assert!(!held, "{claims:?}");
    // A network that misses the error is not optimal, whether the summary says that it does or not.
    place.run("search x.npy --max-rse 0.5 --template ring -o wide.safetensors --json wide.json");
    let mut bad = out.clone();
    let wide: Value = serde_json::from_slice(&place.read("wide.json")).unwrap();
    for field in
        ["params", "rse", "re", "phi", "loss", "log10_cr", "permutation", "edges", "pareto"]
    {
        bad[field] = wide[field].clone();
    }
    bad["lower_bound"]["params"] = wide["params"].clone();
    bad.as_object_mut().unwrap().remove("target_reached");
    place.write("bad.json", bad.to_string());
    fails(&place, "x.npy wide.safetensors bad.json", "certified_optimal");
}

#[test]
fn a_changed_network_does_not_hold() {
    let (place, _) = searched("--template ring");
    let good = place.read("net.safetensors");
    let header = 8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    for (at, value) in [(header, 3.5f64), (header + 16, f64::INFINITY), (good.len() - 8, f64::NAN)]
    {
        let mut bad = good.clone();
        bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
        place.write("bad.safetensors", &bad);
        let ended = place.run("verify x.npy bad.safetensors out.json");
        // An entry that is no number is refused by whoever reads the file, or found here.
        assert!(ended.code == 1 || (ended.code == 2 && !value.is_finite()), "{value}: {ended:?}");
    }
    // Another tensor of the same shape.
    place.ring("y.npy", 4, 6);
    fails(&place, "y.npy net.safetensors out.json", "rse");
    fails(&place, "y.npy net.safetensors out.json", "certified_optimal");
}

#[test]
fn every_command_that_writes_a_network_holds() {
    let place = Place::new();
    place.ring("x.npy", 4, 5);
    let structure =
        r#"{"template":"path","permutation":[0,1,2,3],"edges":[[0,1,2],[1,2,3],[2,3,2]]}"#;
    place.write("s.json", structure);
    let runs = [
        ("fit x.npy --structure s.json -o n --json o", ""),
        ("fit x.npy --structure s.json --loss huber:0.5 -o n --json o", "--loss huber:0.5"),
        ("fit x.npy --structure s.json --dtype f32 -o n --json o", ""),
        ("decompose x.npy --method tt-svd --max-re 0.1 -o n --json o", ""),
        ("decompose x.npy --split 3,3,3,3 --method tt-svd --max-re 0.1 -o n --json o", ""),
        ("complete x.npy --missing 0.2 --seed 3 --network n --json o", "--missing 0.2 --seed 3"),
        ("search x.npy --max-params 30 --template ring -o n --json o", ""),
        ("search x.npy --max-rse 1e-3 --template any-tree -o n --json o", ""),
        (
            "search x.npy --max-rse 1e-3 --template path --max-rank 1 --max-seconds 600 -o n --json o",
            "",
        ),
        ("round n --max-re 0.2 -o n2 --json o", ""),
    ];
    for (run, options) in runs {
        let ended = place.run_as_it_is(run);
        assert!(ended.code < 2, "{run}: {ended:?}");
        let net = if run.starts_with("round") { "n2" } else { "n" };
        assert!(all_hold(&place, &format!("x.npy {net} o {options}")) > 8, "{run}");
    }
    // A loss of both has a certificate of its own.
    place.run_as_it_is("search x.npy --lambda 20 --template ring -o n --json o --certificate c");
    assert!(all_hold(&place, "x.npy n o") > 15);
    assert!(all_hold(&place, "x.npy n o --certificate c") > 15);
    assert_eq!(all_hold(&place, "x.npy --certificate c"), 1);
}

#[test]
fn the_bound_of_a_network_and_its_gap_are_checked() {
    let (place, _) = searched("--template ring");
    let ended =
        place.run("certify x.npy --max-rse 1e-4 --template ring --net net.safetensors --json c");
    assert_eq!(ended.code, 0);
    all_hold(&place, "x.npy net.safetensors c");
    let good: Value = serde_json::from_slice(&place.read("c")).unwrap();
    for (pointer, claim, value) in [
        ("/net/params", "params", json!(1)),
        ("/net/rse", "rse", json!(1e-2)),
        ("/net/gap", "gap", json!(2.0)),
        ("/net/reaches", "target_reached", json!(false)),
        ("/lower_bound/params", "lower_bound", json!(1000)),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        place.write("bad", bad.to_string());
        fails(&place, "x.npy net.safetensors bad", claim);
    }
}

#[test]
fn sizes_at_the_ends_of_the_range_are_checked_too() {
    let place = Place::new();
    let digit = |k: i32, place: i32| f64::from(k / 3i32.pow(place as u32) % 3);
    let product = |k| (0..4).map(|place| 1.0 + digit(k, place)).product::<f64>();
    let data: Vec<f64> = (0..81).map(|k| product(k) / 81.0 + 0.1 * digit(k * 7 + 1, 1)).collect();
    for scale in [1e-310, 1e-300, 1e300, 1e306] {
        let entries: Vec<f64> = data.iter().map(|x| x * scale).collect();
        place.write("x.npy", common::npy("<f8", &[3, 3, 3, 3], &common::doubles(&entries)));
        let ended = place.run("search x.npy --max-rse 0.05 --template path -o n --json o");
        assert_eq!(ended.code, 0);
        all_hold(&place, "x.npy n o");
    }
}

#[test]
fn what_is_not_checked_is_said_with_its_reason() {
    let (place, out) = searched("--template ring --certificate c.json");
    all_hold(&place, "x.npy net.safetensors out.json --certificate c.json");
    // Too few cases, and a summary that does not say what its bound is about.
    let ended = place.run("verify x.npy net.safetensors out.json --max-cases 1");
    assert!(
        ended.code == 3
            && ended.stdout.contains("not checked: there is no certificate of at most 1"),
        "{ended:?}"
    );
    let mut old = out.clone();
    for field in ["bound_over", "statement"] {
        old.as_object_mut().unwrap().remove(field);
    }
    place.write("old.json", old.to_string());
    let (_, claims) = verdicts(&place, "x.npy net.safetensors old.json");
    assert!(claims.contains(&("lower_bound".into(), "not_checked".into())), "{claims:?}");
    all_hold(&place, "x.npy net.safetensors old.json --template ring --max-rank 7");
    // A certificate of other structures is a true statement, but none of this summary, whose bound is proven without it.
    place.run("certify x.npy --max-rse 1e-2 --template path --certificate other.json");
    let args = "x.npy net.safetensors out.json --certificate other.json";
    fails(&place, args, "certificate of the summary");
    let (_, claims) = verdicts(&place, args);
    assert!(claims.contains(&("certificate".into(), "holds".into())), "{claims:?}");
    assert!(claims.contains(&("lower_bound".into(), "holds".into())), "{claims:?}");
}

#[test]
fn bad_input_is_refused_in_one_line() {
    let (place, _) = searched("--template ring");
    place.write("list.json", "[1, 2]");
    place.write("bare.json", "{}");
    place.refuses("verify x.npy", "what is to be checked");
    place.refuses("verify x.npy out.json", "this is a summary");
    place.refuses("verify x.npy net.safetensors list.json", "no summary");
    place.refuses("verify x.npy net.safetensors bare.json", "no summary");
    place.refuses("verify x.npy net.safetensors missing.json", "missing.json");
    place.refuses("verify x.npy --certificate out.json", "no certificate");
    place.refuses("verify missing.npy net.safetensors", "missing.npy");
    place.ring("z.npy", 5, 5);
    place.refuses("verify z.npy net.safetensors", "is for a tensor");
    place.refuses("verify x.npy net.safetensors --json x.npy", "same file");
}
