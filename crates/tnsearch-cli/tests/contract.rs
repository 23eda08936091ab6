//! What other programs rely on: JSON fields, exit codes, files, and what goes where.

mod common;

use common::{Held, Place, entries};
use serde_json::{Value, json};

/// Settings for a search of a fraction of a second.
const SMALL: &str = "--strategy tnls --iterations 6 --samples 20 --seed 1";

#[test]
fn the_summary_of_a_search() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let args = format!("search x.npy --template ring --max-rank 4 --lambda 200 {SMALL}");
    let (code, json) = place.json(&format!("{args} -o net.safetensors"));
    assert_eq!(code, 0);
    for field in [
        "strategy",
        "template",
        "order",
        "dims",
        "seed",
        "permutation",
        "edges",
        "params",
        "phi",
        "log10_cr",
        "rse",
        "re",
        "loss",
        "samples",
        "evaluations",
        "pruned",
        "cached",
        "seconds",
        "stopped_by",
        "lower_bound",
        "certified_optimal",
        "proven_impossible",
        "format_preserved",
        "history",
        "pareto",
    ] {
        assert!(json.get(field).is_some(), "no {field}");
    }
    assert_eq!(json["strategy"], "tnls");
    assert_eq!(json["template"], "ring");
    assert_eq!(json["dims"], json!([3, 3, 3, 3]));
    assert_eq!((&json["order"], &json["seed"]), (&json!(4), &json!(1)));
    assert_eq!(json["stopped_by"], "finished");
    let bound = json["lower_bound"].as_object().unwrap();
    assert_eq!((&bound["params"], &bound["rse"]), (&Value::Null, &Value::Null));
    let (low, loss) = (bound["loss"].as_f64().unwrap(), json["loss"].as_f64().unwrap());
    assert!(0.0 < low && low <= loss + 1e-9, "{low} {loss}");
    assert_eq!(json["certified_optimal"], loss <= low + 1e-9);
    assert_eq!(json["proven_impossible"], false);
    let (_, unproven) = place.json(&format!("{args} --certificate-nodes 0 --no-prune"));
    assert_eq!((&unproven["lower_bound"], &unproven["pruned"]), (&Value::Null, &json!(0)));
    assert_eq!(unproven["certified_optimal"], false);
    assert_eq!(unproven["edges"], json["edges"], "neither proof nor pruning changes the answer");
    let number = |name: &str| json[name].as_f64().unwrap();
    assert_eq!(number("samples"), 121.0);
    assert_eq!(number("samples"), number("evaluations") + number("cached") + number("pruned"));
    assert_eq!(number("phi"), number("params") / 81.0);
    assert!((number("log10_cr") + number("phi").log10()).abs() < 1e-12);
    assert!((number("re") - number("rse").sqrt()).abs() < 1e-15);
    assert!((number("loss") - number("phi") - 200.0 * number("rse")).abs() < 1e-12);
    let mut vertices: Vec<u64> = serde_json::from_value(json["permutation"].clone()).unwrap();
    vertices.sort();
    assert_eq!(vertices, [0, 1, 2, 3]);
    assert_eq!(json["edges"].as_array().unwrap().len(), 4);
    for field in ["evaluations", "samples", "loss", "rse", "params", "seconds"] {
        assert!(json["history"][0].get(field).is_some(), "no {field} in the history");
    }
    let pareto: Vec<(f64, f64)> = json["pareto"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| (p["params"].as_f64().unwrap(), p["rse"].as_f64().unwrap()))
        .collect();
    assert!(pareto.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 > w[1].1));
}

#[test]
fn standard_output_is_json_and_nothing_else() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let ended = place.run(&format!("search x.npy {SMALL} --json - -o net.safetensors"));
    assert!(serde_json::from_str::<Value>(&ended.stdout).is_ok(), "{}", ended.stdout);
    assert_eq!(ended.stderr, "", "quiet when not on a terminal");
    let ended = place.run("search x.npy --no-direct --seed 1 --json out.json");
    let json: Value = serde_json::from_slice(&place.read("out.json")).unwrap();
    assert_eq!(json["strategy"], "exact", "what auto chose");
    assert!(ended.stdout.contains("params") && ended.stdout.contains("(m0:3)"));
    let ended = place.run(&format!("search x.npy {SMALL} --quiet"));
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    assert_eq!(place.names(), ["net.safetensors", "out.json", "x.npy"]);
}

#[test]
fn progress_only_if_asked() {
    let place = Place::new();
    place.ring("x.npy", 6, 1);
    let args =
        "search x.npy --strategy tnls --no-prune --lambda 200 --iterations 100000 --progress";
    let mut child = Held::start(&place, args);
    // It goes on until a fit is done and a line says so.
    let told = || place.stderr().lines().any(|l| l.contains("best loss") && l.contains(" left"));
    let ended = child.until(told);
    child.kill();
    let said = place.stderr();
    assert!(!ended && said.lines().all(|line| line.starts_with("progress: ")), "{said}");
}

#[test]
fn a_target_out_of_reach_is_exit_code_1() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let args = format!("search x.npy --max-rank 1 --max-rse 1e-6 {SMALL} -o net.safetensors");
    let (code, json) = place.json(&args);
    assert_eq!(code, 1);
    assert_eq!(json["target_reached"], false);
    assert_eq!((&json["proven_impossible"], &json["lower_bound"]), (&json!(true), &Value::Null));
    assert_eq!(json["params"], 12);
    assert!(place.path("net.safetensors").exists(), "the best so far is written");
    let (code, json) = place.json(&format!("search x.npy --max-params 30 {SMALL}"));
    assert_eq!(code, 0);
    assert!(json["params"].as_u64().unwrap() <= 30);
    let args = "search x.npy --no-prune --lambda 5 --max-evaluations 7";
    let (code, json) = place.json(&format!("{args} {SMALL}"));
    assert_eq!((code, &json["stopped_by"]), (0, &json!("max_evaluations")));
    assert_eq!(json["evaluations"], 7);
}

#[test]
fn a_network_gives_the_tensor_back() {
    let place = Place::new();
    place.ring("x.npy", 5, 3);
    let args = format!("search x.npy --max-rank 4 --lambda 200 {SMALL} -o net.safetensors");
    let (_, found) = place.json(&args);
    let (code, json) = place.json("reconstruct net.safetensors -o z.npy");
    assert_eq!((code, &json["dims"]), (0, &json!([3, 3, 3, 3, 3])));
    let (x, z) = (entries(&place.read("x.npy")), entries(&place.read("z.npy")));
    assert_eq!((x.len(), z.len()), (243, 243));
    let squares = |v: &mut dyn Iterator<Item = f64>| v.map(|d| d * d).sum::<f64>();
    let rse = squares(&mut x.iter().zip(&z).map(|(a, b)| a - b)) / squares(&mut x.iter().copied());
    let said = found["rse"].as_f64().unwrap();
    assert!((rse - said).abs() <= 1e-6 * said + 1e-15, "{rse} {said}");

    let (code, info) = place.json("info net.safetensors");
    assert_eq!(code, 0);
    for field in ["template", "dims", "permutation", "edges", "params", "phi", "log10_cr", "rse"] {
        assert_eq!(info[field], found[field], "{field}");
    }
    assert_eq!(info["kind"], "network");
    let (_, core) = place.json("info net.safetensors:core.0");
    assert_eq!((&core["kind"], &core["dtype"]), (&json!("tensor"), &json!("f64")));
}

#[test]
fn fitting_a_given_structure() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let (_, found) = place.json(&format!("search x.npy --lambda 200 {SMALL}"));
    let structure = json!({"template": found["template"], "permutation": found["permutation"],
                           "edges": found["edges"]});
    place.write("s.json", structure.to_string());
    for method in ["als", "lm"] {
        let args = format!("fit x.npy --structure s.json --method {method} --restarts 8 --seed 3");
        let (code, json) = place.json(&args);
        assert_eq!(code, 0);
        assert!(json["rse"].as_f64().unwrap() < 1e-6, "{json}");
        for field in ["re", "params", "phi", "log10_cr", "sweeps", "restarts", "seconds"] {
            assert!(json[field].is_number(), "no {field}");
        }
        assert_eq!((&json["method"], &json["params"]), (&json!(method), &found["params"]));
    }
    let args = "fit x.npy --structure s.json --method adam --max-sweeps 50 --restarts 1";
    let (code, json) = place.json(args);
    assert_eq!((code, &json["method"], &json["restarts"]), (0, &json!("adam"), &json!(1)));
    let threads = |n: usize| {
        let name = format!("net{n}");
        let args = format!("fit x.npy --structure s.json --seed 5 --threads {n} -o {name}");
        assert_eq!(place.run(&args).code, 0);
        place.read(&name)
    };
    assert_eq!(threads(1), threads(3), "the same bytes at any number of threads");
}

#[test]
fn results_do_not_depend_on_threads() {
    let place = Place::new();
    place.ring("x.npy", 5, 2);
    let search = |threads: usize| {
        let args = format!("search x.npy --max-rse 1e-4 {SMALL} --runs 2 --threads {threads}");
        let (_, json) = place.json(&format!("{args} -o net{threads}"));
        (common::timeless(json), place.read(&format!("net{threads}")))
    };
    assert_eq!(search(1), search(4));
}

#[test]
fn a_json_template_with_an_internal_vertex() {
    let place = Place::new();
    place.ring("x.npy", 3, 1);
    let graph = r#"{"vertices":[{"mode":true},{"mode":false},{"mode":true},{"mode":true}],
                    "edges":[[0,1],[1,2],[1,3]]}"#;
    place.write("tucker.json", graph);
    let args = format!("search x.npy --template tucker.json --lambda 200 {SMALL} -o net");
    let (code, json) = place.json(&args);
    assert_eq!(code, 0);
    assert_eq!(json["template"]["vertices"][1]["mode"], false);
    let structure = json!({"template": json["template"], "permutation": json["permutation"],
                           "edges": json["edges"]});
    place.write("s.json", structure.to_string());
    assert_eq!(place.run("fit x.npy --structure s.json").code, 0);
    assert_eq!(place.run("reconstruct net -o z.npy").code, 0);
    assert!(place.run("info net").stdout.contains("[i1]"));
}

#[test]
fn the_demo_finds_what_it_hid() {
    let place = Place::new();
    let ended = place.run("demo");
    assert_eq!(ended.code, 0);
    assert!(ended.stdout.contains("hidden:") && ended.stdout.contains("found:"));
    assert!(ended.stdout.contains("the hidden structure itself"), "{}", ended.stdout);
    let svg = String::from_utf8(place.read("tnsearch-demo.svg")).unwrap();
    assert!(svg.starts_with("<svg"));
    std::fs::create_dir(place.path("out")).unwrap();
    let (code, json) = place.json("demo -o out");
    assert_eq!(code, 0);
    assert!(json["efficiency"].as_f64().unwrap() >= 1.0 && json["rse"].as_f64().unwrap() <= 1e-4);
    assert_eq!(place.run("info out/tnsearch-demo.safetensors").code, 0);
    assert_eq!(place.run("info out/tnsearch-demo.npy").code, 0);
    place.refuses("demo -o none", "there is no directory none");
}

#[test]
fn help_and_completions() {
    let place = Place::new();
    for command in ["search", "fit", "bound", "certify", "reconstruct", "info"] {
        let ended = place.run(&format!("{command} --help"));
        assert_eq!(ended.code, 0);
        assert!(ended.stdout.contains("Example"), "{command}");
    }
    assert!(place.run("--version").stdout.contains(env!("CARGO_PKG_VERSION")));
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.run(&format!("completions {shell}")).stdout.contains("reconstruct"));
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let binary = assert_cmd::cargo::cargo_bin("tnsearch");
    let script = format!(
        "{} search x.npy --template ring {SMALL} | true; {} --help | true",
        binary.display(),
        binary.display()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(place.dir())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_search_that_leaves_the_template_says_whether_it_kept_the_format() {
    let place = Place::new();
    place.ring("x.npy", 5, 2);
    let greedy = "search x.npy --strategy greedy --max-rse 1e-4 --seed 1";
    let (code, json) = place.json(&format!("{greedy} -o net.safetensors"));
    assert_eq!((code, &json["strategy"]), (0, &json!("greedy")));
    assert_eq!(json["template"], "complete", "the graph that the edges are of");
    let preserved = json["format_preserved"].as_bool().unwrap();
    // A ring has no vertex of three edges; and every graph is a part of the complete one.
    let edges = json["edges"].as_array().unwrap().iter().filter(|e| e[2].as_u64() > Some(1));
    let mut degree = [0; 5];
    for edge in edges {
        degree[edge[0].as_u64().unwrap() as usize] += 1;
        degree[edge[1].as_u64().unwrap() as usize] += 1;
    }
    assert!(!preserved || degree.iter().all(|&d| d <= 2), "{json}");
    let (_, json) = place.json(&format!("{greedy} --template complete"));
    assert_eq!(json["format_preserved"], true);
    assert_eq!((&json["lower_bound"], &json["certified_optimal"]), (&Value::Null, &json!(false)));
    let text = place.run(greedy).stdout;
    let words = if preserved { "format      preserved" } else { "format      not preserved" };
    assert!(text.contains(words), "{text}");
    assert_eq!(place.run("info net.safetensors").code, 0);
    let (_, json) = place.json("search x.npy --strategy tnale --seed 1 --iterations 2");
    assert_eq!((&json["template"], &json["format_preserved"]), (&json!("ring"), &json!(true)));
}
