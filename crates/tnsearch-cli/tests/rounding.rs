//! Networks made smaller, and points of the Pareto front made networks.

mod common;

use common::{Place, entries};
use serde_json::{Value, json};

/// The squared distance of two networks relative to the first, from their dense tensors.
fn distance(place: &Place, a: &str, b: &str) -> f64 {
    let dense = |net: &str| {
        assert_eq!(place.run(&format!("reconstruct {net} -o z.npy -q")).code, 0);
        entries(&place.read("z.npy"))
    };
    let (a, b) = (dense(a), dense(b));
    let off: f64 = a.iter().zip(&b).map(|(x, y)| (x - y) * (x - y)).sum();
    off / a.iter().map(|x| x * x).sum::<f64>()
}

#[test]
fn networks_are_rounded_to_what_is_asked() {
    let place = Place::new();
    place.ring("x.npy", 5, 1);
    for method in ["tt-svd", "ht-svd", "tr-svd"] {
        let made =
            format!("decompose x.npy --method {method} --max-rse 1e-10 -o net.safetensors -q");
        assert_eq!(place.run(&made).code, 0);
        let (_, before) = place.json("info net.safetensors");
        for goal in ["--max-re 0.3", "--max-rse 0.01", "--max-params 60", "--ranks 2"] {
            let (code, made) =
                place.json(&format!("round net.safetensors {goal} -o small.safetensors"));
            assert_eq!(code, 0, "{method} {goal}: {made}");
            let rse = made["rse"].as_f64().unwrap();
            let off = distance(&place, "net.safetensors", "small.safetensors");
            assert!((off - rse).abs() < 1e-9, "{method} {goal}: {off} {rse}");
            assert_eq!(made["params_before"], before["params"]);
            assert!(made["params"].as_u64() <= before["params"].as_u64());
            match goal {
                "--max-re 0.3" => assert!(rse <= 0.09),
                "--max-rse 0.01" => assert!(rse <= 0.01),
                "--max-params 60" => assert!(made["params"].as_u64().unwrap() <= 60),
                _ => assert!(
                    made["edges"].as_array().unwrap().iter().all(|e| e[2].as_u64() <= Some(2))
                ),
            }
            // The file says what it can be against the tensor at most.
            let (_, info) = place.json("info small.safetensors");
            assert_eq!(info["rse"], made["rse_tensor_at_most"]);
        }
    }
    let onto = "round net.safetensors --max-re 1e-6 --template path -o train.safetensors";
    let (code, made) = place.json(onto);
    assert_eq!((code, &made["template"]), (0, &json!("path")));
    assert!(distance(&place, "net.safetensors", "train.safetensors") <= 1e-12);
}

#[test]
fn what_cannot_be_rounded() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let made = "decompose x.npy --method tr-als --ranks 2 -o ring.safetensors -q";
    assert_eq!(place.run(made).code, 0);
    place.write("s.json", r#"{"template":"ring","permutation":[0,1,2,3],"edges":[]}"#);
    for (args, words) in [
        ("ring.safetensors", "the following required arguments were not provided"),
        ("ring.safetensors --max-re 0.1 --max-params 9", "cannot be used with"),
        ("ring.safetensors --max-re 1.5", "max-re is 1.5; it must be at least 0 and below 1"),
        ("ring.safetensors --max-re -1", "max-re is -1"),
        ("ring.safetensors --max-rse 1e-20", "differences of norms"),
        ("ring.safetensors --max-params 3", "with all ranks 1, has 12"),
        ("ring.safetensors --ranks 2,2,2", "--ranks has 3 numbers; template 'ring' has 4 edges"),
        ("ring.safetensors --max-re 0.1 --template ring", "'ring' is no tree"),
        ("ring.safetensors --max-re 0.1 --template rong", "unknown template 'rong'"),
        ("ring.safetensors --max-re 0.1 --template path --perm 0,1,2", "bad permutation"),
        ("ring.safetensors --max-re 0.1 --max-memory 500B", "memory"),
        ("ring.safetensors --max-re 0.1 --max-seconds 0", "max-seconds is 0"),
        ("ring.safetensors --max-re 0.1 -o ring.safetensors", "are the same file"),
        ("x.npy --max-re 0.1", "x.npy: not a network"),
        ("s.json --max-re 0.1", "s.json: not a"),
        ("nothing --max-re 0.1", "nothing: no such file"),
    ] {
        place.refuses(&format!("round {args}"), words);
    }
}

fn files(place: &Place, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(place.path(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_front_is_there_as_networks() {
    let place = Place::new();
    place.ring("x.npy", 5, 2);
    for strategy in ["tnls --iterations 3 --samples 8", "greedy", "auto"] {
        let search = format!(
            "search x.npy --no-direct --max-rse 1e-6 --seed 3 --runs 2 --strategy {strategy} --journal run.jsonl"
        );
        let (_, out) = place.json(&format!("{search} --pareto front"));
        let points = out["pareto"].as_array().unwrap().clone();
        assert_eq!(files(&place, "front").len(), points.len(), "{strategy}");
        for point in &points {
            let name = format!("front/params-{}.safetensors", point["params"]);
            let (_, info) = place.json(&format!("info {name}"));
            for field in ["params", "rse", "permutation", "edges"] {
                assert_eq!(info[field], point[field], "{strategy}: {field}");
            }
        }
        // Without the option the answers are the same, and from a journal the front is fitted again.
        place.write("out.json", out.to_string());
        let kept: Vec<Vec<u8>> =
            files(&place, "front").iter().map(|f| place.read(&format!("front/{f}"))).collect();
        std::fs::remove_dir_all(place.path("front")).unwrap();
        let (_, again) = place.json(&format!("{search} --resume --pareto front"));
        assert_eq!(again["pareto"], out["pareto"], "{strategy}");
        let now: Vec<Vec<u8>> =
            files(&place, "front").iter().map(|f| place.read(&format!("front/{f}"))).collect();
        assert!(now == kept, "{strategy}: other networks after a resume");

        // One point at a time, from the summary and from the journal.
        let middle = &points[points.len() / 2];
        let (params, re) = (&middle["params"], middle["rse"].as_f64().unwrap().sqrt() * 1.0000001);
        for source in ["out.json", "run.jsonl"] {
            for which in [format!("--params {params}"), format!("--max-re {re}")] {
                let (_, picked) = place.json(&format!("pick {source} {which} -o p.safetensors"));
                assert_eq!(&picked["params"], params, "{strategy} {source} {which}");
                assert_eq!(picked["rse_recorded"], middle["rse"], "{strategy} {source}");
                if strategy != "greedy" {
                    assert_eq!(picked["rse"], middle["rse"], "{strategy} {source}");
                }
                let (_, info) = place.json("info p.safetensors");
                assert_eq!(info["rse"], picked["rse"]);
            }
        }
        std::fs::remove_dir_all(place.path("front")).unwrap();
        std::fs::remove_file(place.path("run.jsonl")).unwrap();
    }
}

#[test]
fn points_that_are_not_there() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    place.ring("y.npy", 4, 2);
    place.ring("z.npy", 5, 1);
    let search = "search x.npy --max-rse 1e-6 --journal run.jsonl --json out.json -q";
    assert_eq!(place.run(search).code, 0);
    let out: Value = serde_json::from_slice(&place.read("out.json")).unwrap();
    let mut old = out.clone();
    old["pareto"] = json!([{"params": 3, "rse": 0.5}]);
    place.write("old.json", old.to_string());
    let mut none = out;
    none["pareto"] = json!([]);
    place.write("none.json", none.to_string());
    place.write("file", "");
    for (args, words) in [
        ("pick out.json", "the following required arguments were not provided"),
        ("pick out.json --params 5 --max-re 0.1", "cannot be used with"),
        ("pick out.json --params 1", "params is 1; the smallest network of the search has"),
        ("pick out.json --max-re 1e-40", "so small an error; the smallest is RSE"),
        ("pick out.json --max-re 0", "max-re is 0; it must be above 0"),
        (
            "pick out.json --max-re 0.9 --x z.npy",
            "is for a tensor 3 x 3 x 3 x 3, not 3 x 3 x 3 x 3 x 3",
        ),
        ("pick run.jsonl --max-re 0.9 --x y.npy", "is not the tensor of the journal"),
        ("pick old.json --max-re 0.9", "its points have no structures"),
        ("pick none.json --max-re 0.9", "the search has no points"),
        ("pick x.npy --max-re 0.9", "x.npy: "),
        ("pick nothing.json --max-re 0.9", "nothing.json: no such file"),
        ("search x.npy --pareto file", "file: it is no folder"),
        ("fit x.npy --structure run.jsonl", "this is a journal; 'tnsearch pick'"),
    ] {
        place.refuses(args, words);
    }
}
