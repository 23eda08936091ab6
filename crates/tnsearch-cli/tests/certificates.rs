//! Bounds and certificates: what is proven, what follows for a network, and the words for it.

mod common;

use common::Place;
use serde_json::{Value, json};

/// The structure in a summary, as a structure file.
fn structure(summary: &Value) -> String {
    json!({"template": summary["template"], "permutation": summary["permutation"],
           "edges": summary["edges"]})
    .to_string()
}

/// A tensor x.npy of order 6 and its optimal ring, net.safetensors.
fn searched() -> (Place, Value) {
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let (code, found) = place.json("search x.npy --max-rse 1e-4 -o net.safetensors");
    assert_eq!((code, &found["certified_optimal"]), (0, &json!(true)));
    (place, found)
}

#[test]
fn no_fit_goes_below_the_bound_of_its_structure() {
    let place = Place::new();
    place.ring("x.npy", 5, 3);
    for (edges, exact) in [
        ("[[0,1,2],[1,2,1],[2,3,2],[3,4,1],[0,4,2]]", false),
        ("[[0,1,9],[1,2,27],[2,3,9],[3,4,3]]", true),
    ] {
        let file = format!(r#"{{"template":"ring","permutation":[0,2,1,4,3],"edges":{edges}}}"#);
        place.write("s.json", file);
        let (code, bound) = place.json("bound x.npy --structure s.json");
        let (_, fitted) = place.json("fit x.npy --structure s.json");
        assert_eq!(code, 0);
        for field in ["template", "order", "dims", "permutation", "edges", "params", "phi"] {
            assert_eq!(bound[field], fitted[field], "{field}");
        }
        let rse = bound["rse"].as_f64().unwrap();
        assert_eq!(bound["re"].as_f64().unwrap(), rse.sqrt());
        assert!(rse <= fitted["rse"].as_f64().unwrap() + 1e-12, "{bound} {fitted}");
        let cuts = bound["cuts"].as_array().unwrap();
        assert_eq!(cuts.len(), 10, "the worst of 15");
        assert_eq!(cuts[0]["rse"], bound["rse"]);
        let errors: Vec<f64> = cuts.iter().map(|c| c["rse"].as_f64().unwrap()).collect();
        assert!(errors.is_sorted_by(|a, b| a >= b));
        assert!(cuts.iter().all(|c| c["width"].as_f64().unwrap() >= 1.0));
        let text = place.run("bound x.npy --structure s.json").stdout;
        if exact {
            assert_eq!(rse, 0.0);
            assert!(text.contains("no cut rules out an exact network"), "{text}");
        } else {
            assert!(rse > 1e-3);
            assert!(text.contains("every network of this structure has RSE >= 0."), "{text}");
            assert!(text.contains(" against mode") && text.contains("rank at most"), "{text}");
        }
    }
}

#[test]
fn a_tail_is_what_numpy_would_say() {
    // diag(4, 3): of rank 1 at best, the error is 9 / 25.
    let place = Place::new();
    place.write("x.npy", common::npy("<f8", &[2, 2], &common::doubles(&[4., 0., 0., 3.])));
    place.write("s.json", r#"{"template":"path","permutation":[0,1],"edges":[[0,1,1]]}"#);
    let (_, bound) = place.json("bound x.npy --structure s.json");
    assert!((bound["rse"].as_f64().unwrap() - 0.36).abs() < 1e-12, "{bound}");
    let [cut] = bound["cuts"].as_array().unwrap().as_slice() else { panic!("{bound}") };
    assert_eq!((&cut["modes"], &cut["width"]), (&json!([1]), &json!(1.0)));
    // Right at the threshold rank 1 stays possible; clearly below it rank 2 is needed.
    for (eps, params) in [("0.36", 4), ("0.359999", 8)] {
        let (code, json) = place.json(&format!("certify x.npy --template path --max-rse {eps}"));
        assert_eq!((code, &json["lower_bound"]["params"]), (0, &json!(params)), "{json}");
    }
}

#[test]
fn an_optimal_network_is_certified() {
    let (place, found) = searched();
    let (code, json) = place.json("certify x.npy --template ring --net net.safetensors");
    assert_eq!(code, 0);
    let expected = json!({"params": found["params"], "rse": null, "loss": null});
    assert_eq!(json["lower_bound"], expected);
    assert_eq!(json["objective"], json!({"max_rse": 1e-4}));
    assert_eq!((&json["max_rank"], &json["order"]), (&json!(7), &json!(6)));
    assert_eq!((&json["complete"], &json["proven_impossible"]), (&json!(true), &json!(false)));
    assert!(json["nodes"].as_u64().unwrap() > 0 && json["seconds"].is_number());
    let net = &json["net"];
    assert_eq!((&net["params"], &net["gap"]), (&found["params"], &json!(1.0)));
    assert_eq!((&net["certified_optimal"], &net["reaches"]), (&json!(true), &json!(true)));
    let (told, computed) = (found["rse"].as_f64().unwrap(), net["rse"].as_f64().unwrap());
    assert!((told - computed).abs() < 1e-12, "{told} {computed}");
    // The hidden ring has ranks 2: a single mode needs its whole dimension, an arc of more modes 4.
    let cuts = json["binding_cuts"].as_array().unwrap();
    assert!(!cuts.is_empty());
    for cut in cuts {
        let (width, needed) = (cut["width"].as_f64().unwrap(), cut["needed"].as_f64().unwrap());
        assert!(needed <= width && width / 2.0 < needed, "{cut}");
    }
    // The relaxed optimum is a structure, and what it may not go below is the bound.
    place.write("s.json", structure(&json));
    let (_, bound) = place.json("bound x.npy --structure s.json");
    assert_eq!(bound["params"], json["lower_bound"]["params"]);
    assert!(bound["rse"].as_f64().unwrap() <= 1e-4);
    let text = place.run("certify x.npy --net net.safetensors").stdout;
    for words in [
        "every ring with ranks up to 7 that reaches the error has at least 72 params",
        "optimal: no ring with ranks up to 7 is better",
        " needs rank 4, and has 4",
        "no edge across these cuts can be any narrower",
    ] {
        assert!(text.contains(words), "'{words}' is not in\n{text}");
    }
}

#[test]
fn a_larger_network_has_a_gap_and_a_worse_one_does_not_reach() {
    let (place, found) = searched();
    let wide = structure(&found).replacen(",2]", ",3]", 1);
    place.write("wide.json", &wide);
    assert_eq!(place.run("fit x.npy --structure wide.json -o wide -q").code, 0);
    let (code, json) = place.json("certify x.npy --net wide");
    assert_eq!((code, &json["net"]["certified_optimal"]), (0, &json!(false)));
    assert_eq!(json["net"]["gap"], json!(84.0 / 72.0));
    assert!(place.run("certify x.npy --net wide").stdout.contains("1.167 times the bound"));
    let narrow = structure(&found).replacen(",2]", ",1]", 1);
    place.write("narrow.json", &narrow);
    assert_eq!(place.run("fit x.npy --structure narrow.json -o narrow -q").code, 0);
    let ended = place.run("certify x.npy --net narrow");
    assert_eq!(ended.code, 1);
    assert!(ended.stdout.contains("it does NOT reach the target"), "{}", ended.stdout);
    let (code, json) = place.json("certify x.npy --net narrow");
    assert_eq!(
        (code, &json["net"]["reaches"], &json["net"]["gap"]),
        (1, &json!(false), &Value::Null)
    );
    // The stored error is not believed: another tensor of the same shape is not reached.
    place.ring("y.npy", 6, 6);
    let (code, json) = place.json("certify y.npy --net net.safetensors");
    assert_eq!(code, 1);
    assert!(json["net"]["rse"].as_f64().unwrap() > 0.1);
}

#[test]
fn other_objectives_and_templates() {
    let (place, found) = searched();
    let (code, json) = place.json("certify x.npy --lambda 200 --net net.safetensors");
    let loss = json["lower_bound"]["loss"].as_f64().unwrap();
    assert_eq!(code, 0);
    assert!(loss > 0.0 && loss <= found["phi"].as_f64().unwrap() + 1e-6);
    assert!(json["net"]["gap"].as_f64().unwrap() >= 1.0 - 1e-9);
    let (code, json) = place.json("certify x.npy --max-params 40 --net net.safetensors");
    assert_eq!((code, &json["net"]["reaches"]), (1, &json!(false)), "72 params are more than 40");
    assert!(json["lower_bound"]["rse"].as_f64().unwrap() > 0.01);
    assert!(!json["binding_cuts"].as_array().unwrap().is_empty());
    // A path has one edge where a ring has two: it needs rank 4 there, and more params.
    let (code, json) = place.json("certify x.npy --template path --net net.safetensors");
    assert_eq!((code, &json["template"]), (0, &json!("path")));
    assert!(json["lower_bound"]["params"].as_u64().unwrap() > 72);
    // A ring is no path: there is no gap between the two, and it is not optimal among paths.
    assert_eq!(
        (&json["net"]["gap"], &json["net"]["certified_optimal"]),
        (&Value::Null, &json!(false))
    );
    assert_eq!(json["statement"]["answer"], "elsewhere");
    let (code, json) = place.json("certify x.npy --max-rank 1");
    assert_eq!((code, &json["proven_impossible"]), (0, &json!(true)));
    assert_eq!((&json["lower_bound"], &json["permutation"]), (&Value::Null, &Value::Null));
    assert!(place.run("certify x.npy --max-rank 1").stdout.contains("use --max-rank 2 or more"));
}

#[test]
fn fewer_nodes_give_a_weaker_bound() {
    let (place, _) = searched();
    let mut last = 0;
    for nodes in [1, 20, 150, 100_000] {
        let (code, json) = place.json(&format!("certify x.npy --nodes {nodes}"));
        assert_eq!(code, 0);
        let params = json["lower_bound"]["params"].as_u64().unwrap();
        assert!(params >= last && params <= 72, "{nodes}: {params}");
        last = params;
        let complete = json["complete"].as_bool().unwrap();
        assert!(complete == (params == 72) || !complete, "{nodes}: {json}");
        assert_eq!(json["permutation"].is_null(), !complete);
        assert!(json["nodes"].as_u64().unwrap() <= nodes);
        assert!(!complete || nodes > 1, "one node cannot solve it");
    }
    assert_eq!(last, 72);
}

#[cfg(unix)]
#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn ctrl_c_ends_the_preparation() {
    let place = Place::new();
    assert_eq!(place.run("generate --order 6 -o x.npy --json hidden.json --quiet").code, 0);
    let hidden: Value = serde_json::from_slice(&place.read("hidden.json")).unwrap();
    place.write("s.json", structure(&hidden));
    for (args, finds) in [
        ("search x.npy --json out.json -o net", true),
        ("search x.npy --strategy tnls --json out.json -o net", true),
        ("certify x.npy --json out.json", true),
        ("bound x.npy --structure s.json --json out.json", false),
    ] {
        // The spectra are not computed before the signal; what leaves the hold is the flag that ends them.
        let held = common::Held::at(&place, "preparation", args);
        held.signal("-INT");
        assert_eq!(held.end().code(), Some(130), "{args}");
        assert!(!place.path("net").exists(), "{args}: no fit was made");
        assert_eq!(place.path("out.json").exists(), finds, "{args}");
        if finds {
            let json: Value = serde_json::from_slice(&place.read("out.json")).unwrap();
            assert_eq!(json["params"], Value::Null);
            if args.starts_with("search") {
                assert_eq!(json["stopped_by"], "interrupted", "{args}");
                assert_eq!(json["evaluations"], json!(0));
            } else {
                assert_eq!((&json["complete"], &json["nodes"]), (&json!(false), &json!(0)));
            }
            // No more is proven than that a network has entries: 3 for each of the 6 modes.
            let proven = json["lower_bound"]["params"].as_u64();
            assert!(proven.is_none_or(|params| params == 18), "{args}: {proven:?}");
            std::fs::remove_file(place.path("out.json")).unwrap();
        }
    }
}

#[test]
fn trees_are_found_without_iteration() {
    for (template, order) in [("path", 5), ("tree", 7), ("star", 5), ("ht", 6)] {
        let place = Place::new();
        let make = format!("generate --template {template} --order {order} --seed 3 -o x.npy");
        let (_, made) = place.json(&make);
        let search = format!(
            "search x.npy --template {template} --max-rank 4 --strategy exact --max-rse 1e-6 \
             --no-direct --journal run.jsonl"
        );
        let (code, found) = place.json(&search);
        assert_eq!((code, &found["certified_optimal"]), (0, &json!(true)), "{template}");
        assert!(found["params"].as_u64() <= made["params"].as_u64(), "{template}");
        assert!(found["rse"].as_f64().unwrap() <= 1e-6, "{template}");
        let journal = String::from_utf8(place.read("run.jsonl")).unwrap();
        let line = journal.lines().rfind(|l| l.starts_with("{\"run\"")).unwrap();
        let last: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&last["sweeps"], &last["effort"]), (&json!(0), &json!("quick")), "{template}");
    }
}

#[test]
fn where_the_cuts_promise_too_much_the_search_climbs_to_an_answer() {
    // Few nodes: the best first structures are never reached, and what the beam ends in does not fit.
    let place = Place::new();
    place.ring("x.npy", 6, 5);
    let (code, found) =
        place.json("search x.npy --strategy exact --nodes 1 --max-rse 1e-12 --seed 2");
    assert_eq!((code, &found["target_reached"]), (0, &json!(true)), "{found}");
    assert!(found["rse"].as_f64().unwrap() <= 1e-12);
    assert!(found["lower_bound"]["params"].as_u64() <= found["params"].as_u64());
}

#[test]
#[cfg_attr(not(debug_assertions), ignore = "only builds with debug assertions can be held")]
fn a_time_limit_holds_for_the_spectra_too() {
    let place = Place::new();
    assert_eq!(place.run("generate --order 8 --seed 1 -o x.npy --quiet").code, 0);
    // The time is up at the first look. Nothing but the limit ends the hold before the spectra, nor the spectra.
    let args = "search x.npy --max-rse 1e-4 --max-seconds 1e-9 --json out.json";
    let held = common::Held::at(&place, "preparation", args);
    assert_eq!(held.end().code(), Some(1));
    let found: Value = serde_json::from_slice(&place.read("out.json")).unwrap();
    assert_eq!(found["stopped_by"], "max_seconds", "{found}");
    // What other commands have by then is printed: nothing but that networks have entries.
    let (code, proven) = place.json("certify x.npy --max-seconds 1e-9");
    assert_eq!((code, &proven["lower_bound"]["params"]), (0, &json!(24)));
    assert_eq!(proven["complete"], false);
    place.write("s.json", r#"{"template":"ring","permutation":[0,1,2,3,4,5,6,7],"edges":[]}"#);
    let (code, proven) = place.json("bound x.npy --structure s.json --max-seconds 1e-9");
    assert_eq!((code, &proven["rse"]), (0, &json!(0.0)));
    let (_, whole) = place.json("bound x.npy --structure s.json");
    assert!(whole["rse"].as_f64().unwrap() > 0.1);
    for command in ["certify x.npy", "bound x.npy --structure s.json"] {
        let refused = place.run(&format!("{command} --max-seconds 0"));
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.contains("max-seconds is 0; it must be a positive number"));
    }
}

#[test]
fn a_proof_from_before_does_not_stand_for_one_that_could_not_be_made() {
    let place = Place::new();
    place.ring("x.npy", 4, 5);
    place.run("certify x.npy --template ring --max-rse 1e-2 --certificate c.json");
    assert!(place.path("c.json").exists());
    // One case is not enough.
    let ended = place.run(
        "certify x.npy --template ring --max-rse 1e-2 --certificate c.json --certificate-cases 1",
    );
    assert!(!place.path("c.json").exists());
    assert!(ended.stderr.contains("c.json, from before, was removed"), "{}", ended.stderr);
    // Where there was none, there is none to be spoken of.
    let ended = place.run(
        "certify x.npy --template ring --max-rse 1e-2 --certificate c.json --certificate-cases 1",
    );
    assert!(ended.stderr.contains("no certificate") && !ended.stderr.contains("removed"));
}
