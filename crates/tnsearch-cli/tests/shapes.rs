//! Tensors in another shape, and outputs given as inputs.

mod common;

use common::{Place, doubles, entries, npy};
use serde_json::json;

/// A matrix of 16 x 8 whose entries are a sum of two products over its bits, so that splits have small ranks.
fn matrix(place: &Place, name: &str) {
    let entry = |k: usize| {
        let bits = |n: usize| (0..7).map(move |b| (k >> b & 1) * (b + n));
        1.1f64.powi(bits(1).sum::<usize>() as i32) + 0.9f64.powi(bits(2).sum::<usize>() as i32)
    };
    let data: Vec<f64> = (0..128).map(entry).collect();
    place.write(name, npy("<f8", &[16, 8], &doubles(&data)));
}

const QUICK: &str = "--max-rse 1e-8 --template path --max-rank 4";

#[test]
fn a_split_comes_back_in_the_original_shape() {
    let place = Place::new();
    matrix(&place, "x.npy");
    let cases = [
        ("--split primes", json!([2, 2, 2, 2, 2, 2, 2]), "m0.0 m0.1 m0.2 m0.3 m1.0 m1.1 m1.2"),
        ("--split 4", json!([4, 4, 4, 2]), "m0.0 m0.1 m1.0 m1.1"),
        ("--split 2x8,8", json!([2, 8, 8]), "m0.0 m0.1 m1"),
        ("--split auto", json!([4, 4, 8]), "m0.0 m0.1 m1"),
        ("--reshape 2^4x8", json!([2, 2, 2, 2, 8]), "m0.0 m0.1 m0.2 m0.3 m1"),
        ("--reshape 4^3x2 --column-major", json!([4, 4, 4, 2]), "m0.0 m0.1 m1.0 m1.1"),
        ("--reshape 8x16", json!([8, 16]), "m0+1.0 m0+1.1"),
    ];
    for (options, to, names) in cases {
        let run = format!("search x.npy {options} {QUICK} -o net.safetensors");
        let (code, found) = place.json(&run);
        assert_eq!(code, 0, "{options}: {found}");
        assert_eq!(found["reshaped"]["from"], json!([16, 8]), "{options}");
        assert_eq!(found["reshaped"]["to"], to, "{options}");
        assert_eq!(found["dims"], to, "{options}");
        let said: Vec<&str> = names.split(' ').collect();
        assert_eq!(found["reshaped"]["names"], json!(said), "{options}");
        assert_eq!(found["reshaped"]["column_major"], options.contains("column"), "{options}");

        let text = place.run("info net.safetensors").stdout;
        assert!(text.contains("16 x 8") && text.contains(said[1]), "{options}: {text}");
        assert_eq!(place.run("reconstruct net.safetensors -o z.npy").code, 0);
        let (x, z) = (entries(&place.read("x.npy")), entries(&place.read("z.npy")));
        let norm: f64 = x.iter().map(|a| a * a).sum();
        let off: f64 = x.iter().zip(&z).map(|(a, b)| (a - b) * (a - b)).sum();
        assert!(off <= 1.01e-8 * norm, "{options}: {}", off / norm);
        let (_, made) = place.json("reconstruct net.safetensors -o z.npy");
        assert_eq!(made["dims"], json!([16, 8]));

        // The network alone says how the tensor was split.
        let (code, fitted) = place.json("fit x.npy --structure net.safetensors");
        assert_eq!((code, &fitted["reshaped"]), (0, &found["reshaped"]), "{options}");
        assert!(fitted["rse"].as_f64().unwrap() <= 1e-8);
    }
}

#[test]
fn a_vector_can_be_searched_once_it_is_split() {
    let place = Place::new();
    let wave: Vec<f64> = (0..64).map(|k| (k as f64 / 5.0).sin()).collect();
    place.write("v.npy", npy("<f8", &[64], &doubles(&wave)));
    // A sine has rank 2 across every split.
    let (code, found) = place.json("search v.npy --split 4 --template path --max-rse 1e-12");
    assert_eq!((code, &found["edges"]), (0, &json!([[0, 1, 2], [1, 2, 2]])));
}

#[test]
fn splits_that_cannot_be() {
    let place = Place::new();
    matrix(&place, "x.npy");
    let many = 1usize << 13;
    place.write("long.npy", npy("<f8", &[many, 1], &doubles(&vec![1.0; many])));
    place.write("s.json", r#"{"template":"path","permutation":[0,1],"edges":[[0,1,2]]}"#);
    for (options, words) in [
        ("--split 4x4,9", "--split 4x4,9: mode 1 has side 8, but 9 = 9"),
        ("--split 4x5,8", "--split 4x5,8: mode 0 has side 16, but 4 x 5 = 20"),
        ("--split 4x4", "1 entries for 2 modes of shape 16 x 8"),
        ("--split halves", "--split: unknown split 'halves'; use auto, primes"),
        ("--split 0", "unknown split '0'"),
        ("--reshape 4^4", "shape 4 x 4 x 4 x 4 has 256 entries, but the tensor, 16 x 8, has 128"),
        ("--reshape four", "--reshape: unknown shape 'four'; use sides such as 4^8"),
        ("--reshape 1^40x128", "41 modes after splitting; at most 32 are possible"),
        ("--column-major", "it needs --split or --reshape"),
        ("--split 4 --reshape 4^3x2", "cannot be used with"),
    ] {
        for command in [
            "search",
            "certify",
            "decompose --method tt-svd",
            "fit --structure s.json",
            "bound --structure s.json",
        ] {
            let (command, rest) = command.split_once(' ').unwrap_or((command, ""));
            place.refuses(&format!("{command} x.npy {rest} {options}"), words);
        }
    }
    place.refuses("search long.npy --split 2x2,1", "mode 0 has side 8192, but 2 x 2 = 4");
    let ones = "1x".repeat(20);
    place.refuses(
        &format!("search long.npy --split 2^13,{ones}1"),
        "34 modes after splitting; at most 32 are possible",
    );
}

#[test]
fn a_journal_knows_its_split() {
    let place = Place::new();
    matrix(&place, "x.npy");
    let search = |options: &str| format!("search x.npy {options} {QUICK} --journal run.jsonl -q");
    assert_eq!(place.run(&search("--split 4")).code, 0);
    let journal = place.read("run.jsonl");
    for options in ["", "--split primes", "--split 4 --column-major"] {
        let ended = place.run(&format!("{} --resume", search(options)));
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.stderr.contains("it was made with reshaped"), "{}", ended.stderr);
        assert_eq!(place.read("run.jsonl"), journal);
    }
    assert_eq!(place.run(&format!("{} --resume", search("--split 4"))).code, 0);
    // The page reads the tensor as it was searched, and calls the modes by their factors.
    assert_eq!(place.run("report run.jsonl --x x.npy -o page.html").code, 0);
    let page = String::from_utf8(place.read("page.html")).unwrap();
    assert!(page.contains(">m0.1<") && page.contains("m1.0"));
    matrix(&place, "y.npy");
    place.write("y.npy", npy("<f8", &[16, 8], &doubles(&[1.0; 128])));
    place.refuses("report run.jsonl --x y.npy -o other.html", "is not the tensor of the journal");
}

#[test]
fn outputs_are_inputs() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    place.ring("y.npy", 5, 1);
    let search = "search x.npy --max-rse 1e-8 --seed 1 -o net.safetensors --json out.json -q";
    assert_eq!(place.run(search).code, 0);
    let (_, info) = place.json("info net.safetensors");
    let bare = json!({
        "template": info["template"], "permutation": info["permutation"], "edges": info["edges"],
    });
    place.write("s.json", bare.to_string());
    let same = |run: &str, fields: &[&str]| {
        let all: Vec<_> = ["net.safetensors", "out.json", "s.json"]
            .map(|file| place.json(&run.replace("FILE", file)))
            .into_iter()
            .collect();
        for (file, (code, answer)) in ["network", "summary"].iter().zip(&all) {
            assert_eq!(*code, all[2].0, "{run} with a {file}");
            for field in fields {
                assert_eq!(answer[field], all[2].1[field], "{run} with a {file}: {field}");
            }
        }
        all.into_iter().map(|(_, answer)| answer).collect::<Vec<_>>()
    };
    same("bound x.npy --structure FILE", &["params", "rse", "edges"]);
    same("fit x.npy --structure FILE", &["params", "rse", "edges"]);
    same("distance FILE s.json", &["distance", "same_network"]);
    let known = same("info FILE", &["template", "order", "permutation", "edges"]);
    let kinds: Vec<_> = known.iter().map(|a| a["kind"].clone()).collect();
    assert_eq!(kinds, ["network", "summary", "structure"]);
    assert_eq!((&known[1]["params"], &known[2]["params"]), (&info["params"], &json!(null)));
    let certified = same("certify x.npy --max-rse 1e-6 --net FILE", &["lower_bound"]);
    for answer in &certified {
        assert_eq!(answer["net"]["params"], info["params"]);
        assert_eq!(answer["net"]["reaches"], true);
    }

    // A tensor of another shape: both shapes in one line.
    for file in ["net.safetensors", "out.json"] {
        for run in ["fit y.npy --structure", "bound y.npy --structure", "certify y.npy --net"] {
            place.refuses(
                &format!("{run} {file}"),
                "is for a tensor 3 x 3 x 3 x 3, not 3 x 3 x 3 x 3 x 3",
            );
        }
    }
    place.write(
        "nothing.json",
        json!({"dims": [3, 3], "template": "ring", "permutation": null, "edges": null}).to_string(),
    );
    place.refuses("fit x.npy --structure nothing.json", "it has no structure: nothing was found");
    place.refuses("fit x.npy --structure x.npy", "it is no safetensors file");
    place.write(
        "liar.json",
        json!({"dims": [3, 3], "template": "ring", "permutation": [0, 1, 2], "edges": []})
            .to_string(),
    );
    place.refuses("fit x.npy --structure liar.json", "contradict each other");
    place.refuses("info nowhere.json", "nowhere.json: no such file");
}
