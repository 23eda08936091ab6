//! `tnsearch decompose` as a user sees it: exit codes, the summary, the file it writes, what it refuses.

mod common;

use common::{Place, doubles, entries, npy};
use serde_json::json;

const METHODS: [&str; 9] = [
    "tt-svd",
    "tr-svd",
    "tr-lm",
    "ht-svd",
    "hosvd",
    "tree-svd --template star",
    "tr-als",
    "tr-als-ar",
    "bayes-tr",
];

#[test]
fn every_method_reaches_its_error_and_writes_the_network() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    let x = entries(&place.read("X.npy"));
    let norm: f64 = x.iter().map(|x| x * x).sum();
    for method in METHODS {
        let line = format!("decompose X.npy --method {method} --max-rse 0.01 -o net.safetensors");
        let (code, report) = place.json(&line);
        assert_eq!(code, 0, "{method}");
        assert_eq!(report["method"], method.split(' ').next().unwrap());
        assert_eq!((&report["target_reached"], &report["max_rse"]), (&json!(true), &json!(0.01)));
        let rse = report["rse"].as_f64().unwrap();
        assert!(rse <= 0.01, "{method}: {rse}");
        assert!((report["re"].as_f64().unwrap() - rse.sqrt()).abs() < 1e-15);
        let sweeps = report["sweeps"].as_u64().unwrap();
        assert_eq!(sweeps > 0, method.contains("als") || method.contains("bayes"), "{method}");
        // The file holds that network, in the original order of the modes.
        assert_eq!(place.run("reconstruct net.safetensors -o Z.npy").code, 0);
        let z = entries(&place.read("Z.npy"));
        let error: f64 = x.iter().zip(&z).map(|(x, z)| (x - z).powi(2)).sum::<f64>() / norm;
        assert!((error.sqrt() - rse.sqrt()).abs() < 1e-13, "{method}: {error} {rse}");
    }
}

#[test]
fn ranks_run_along_the_ring() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    let edges = |args: &str| {
        let (code, report) = place.json(&format!("decompose X.npy {args}"));
        assert_eq!(code, 0, "{args}");
        assert_eq!((&report["max_rse"], &report["target_reached"]), (&json!(null), &json!(true)));
        (report["edges"].clone(), report["permutation"].clone())
    };
    let ring = json!([[0, 1, 2], [0, 3, 1], [1, 2, 3], [2, 3, 2]]);
    for method in ["tr-svd", "tr-als"] {
        let (found, _) = edges(&format!("--method {method} --ranks 2,3,2,1"));
        assert_eq!(found, ring, "{method}");
    }
    let (found, permutation) = edges("--method tt-svd --ranks 2 --perm 3,1,0,2");
    assert_eq!(found, json!([[0, 1, 2], [1, 2, 2], [2, 3, 2]]));
    assert_eq!(permutation, json!([3, 1, 0, 2]));
}

#[test]
fn a_target_that_is_not_reached_is_code_1() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    let line = "decompose X.npy --method bayes-tr --max-rank 1 --max-rse 1e-6 -o net.safetensors";
    let ended = place.run(line);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert!(ended.stdout.contains("not reached RSE <= 1e-6; this is the best found"));
    assert_eq!(place.run("info net.safetensors").code, 0);
}

#[test]
fn bad_usage_is_refused() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    place.write("zero.npy", npy("<f8", &[2, 3], &[0; 48]));
    place.write("vector.npy", npy("<f8", &[2], &doubles(&[1., 2.])));
    for (args, words) in [
        ("X.npy --method qr", "use tt-svd, tr-svd, tr-lm, ht-svd, hosvd, tree-svd, tr-als,"),
        ("X.npy", "--method <METHOD>"),
        ("X.npy --method tt-svd --max-rse 1", "max-rse is 1; it must be at least 0 and below 1"),
        ("X.npy --method tt-svd --max-rse -1", "max-rse is -1"),
        ("X.npy --method tt-svd --ranks 2 --max-rse 0.1", "cannot be used with"),
        ("X.npy --method tt-svd --ranks 2,2", "--ranks has 2 numbers; template 'path' has 3"),
        ("X.npy --method tt-svd --ranks 0", "at least 1"),
        ("X.npy --method tr-svd --ranks 2", "ranks is 2 and 2 at vertex 0; for TR-SVD"),
        ("X.npy --method tr-lm --ranks 2", "chooses the ranks itself"),
        ("X.npy --method bayes-tr --ranks 2", "chooses the ranks itself"),
        ("X.npy --method tt-svd --perm 0,1,2", "bad permutation [0, 1, 2]"),
        ("X.npy --method tt-svd --perm 0,1,2,x", "a list of vertices such as 0,2,1,3"),
        ("X.npy --method tree-svd", "needs --template"),
        ("X.npy --method tree-svd --template ring", "template 'ring' is no tree"),
        ("X.npy --method tree-svd --template rong", "unknown template 'rong'"),
        ("X.npy --method tt-svd --template star", "--template does not go with --method tt-svd"),
        ("X.npy --method tr-svd --restarts 2", "--restarts does not go with --method tr-svd"),
        ("X.npy --method tr-als --max-rank 2", "it is an option of bayes-tr"),
        ("X.npy --method tr-als --tolerance 2", "tolerance is 2"),
        ("X.npy --method tt-svd --max-memory 1kB", "memory"),
        ("X.npy --method tr-als --max-memory 1kB", "memory"),
        ("X.npy --method tt-svd -o X.npy", "are the same file"),
        ("zero.npy --method tt-svd", "every entry is zero"),
        ("vector.npy --method tt-svd", "a network needs at least 2"),
        ("nothing.npy --method tt-svd", "no such file"),
    ] {
        place.refuses(&format!("decompose {args}"), words);
    }
}

#[test]
fn an_error_may_be_given_as_its_root_and_be_shared_out_equally() {
    let place = Place::new();
    place.ring("X.npy", 5, 3);
    let (code, by_re) = place.json("decompose X.npy --method tt-svd --max-re 0.1");
    let (_, by_rse) = place.json("decompose X.npy --method tt-svd --max-rse 0.01");
    let (_, equal) = place.json("decompose X.npy --method tt-svd --max-re 0.1 --shares equal");
    assert_eq!((code, &by_re["params"], &by_re["rse"]), (0, &by_rse["params"], &by_rse["rse"]));
    assert!(by_re["re"].as_f64().unwrap() <= 0.1);
    assert!(by_re["params"].as_u64().unwrap() <= equal["params"].as_u64().unwrap());
    for (args, words) in [
        ("--max-re 1", "max-re is 1"),
        ("--shares some", "use optimal or equal"),
        ("--max-seconds 0", "max-seconds is 0"),
    ] {
        place.refuses(&format!("decompose X.npy --method tt-svd {args}"), words);
    }
    let late = place.run("decompose X.npy --method tt-svd --max-seconds 1e-9 -o late.safetensors");
    assert_eq!(late.code, 1);
    assert!(late.stderr.contains("the time was up before there was a result"), "{}", late.stderr);
}

#[test]
fn generate_places_modes_and_writes_the_hidden_network() {
    let place = Place::new();
    let line = "generate --template ht --dims 3,4,2 --ranks 2..2 --perm 2,0,1 --sigma 0.1 -o X.npy \
                --structure s.json --network hidden.safetensors";
    let (code, report) = place.json(line);
    assert_eq!((code, &report["permutation"]), (0, &json!([2, 0, 1])));
    assert_eq!(place.run("reconstruct hidden.safetensors -o Z.npy").code, 0);
    for (x, z) in entries(&place.read("X.npy")).iter().zip(entries(&place.read("Z.npy"))) {
        assert!((x - z).abs() < 1e-15);
    }
    place.refuses("generate --order 4 --perm 0,1,2,2 -o Y.npy", "bad permutation [0, 1, 2, 2]");
    place.refuses("generate --order 4 -o Y.npy --network Y.npy", "are the same file");
}

#[test]
fn generate_makes_examples() {
    let place = Place::new();
    let (code, made) = place.json("generate --example heisenberg --order 6 --seed 3 -o X.npy");
    assert_eq!(
        (code, &made["example"], &made["dims"]),
        (0, &json!("heisenberg"), &json!(vec![2; 6]))
    );
    assert!((made["norm"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    place.refuses(
        "generate --example heat -o Y.npy",
        "use heisenberg, smooth, field, signal, weights, layer",
    );
    place.refuses("generate --example smooth --order 4 -o Y.npy", "five modes of at least size 2");
    place.refuses("generate --example field --ranks 1..2 -o Y.npy", "cannot be used with");
}
