//! No forged summary is called true: every field of honest summaries is changed in turn.
//!
//! The summaries are made by the program, the checks are those that `verify` runs, called here without a process for each.

mod common;

use common::Place;
use serde_json::{Value, json};
use tnsearch::problem::{Holed, Stop, Target};
use tnsearch::tensor::Reshape;
use tnsearch_io::verify::{self, Prover};
use tnsearch_io::{MemoryLimit, network, read_tensor};
use tnsearch_verify::claims::{self, Findings, Given, Outcome, RECORDS};
use tnsearch_verify::{Certificate, Limits, Verdict};

/// Parts of a search that are compared with the answer, but cannot be computed anew.
const TRIED: [&str; 3] = ["history", "pareto", "runs"];

/// A run of the program: its network, its summary, its certificate.
struct Run {
    command: String,
    network: String,
    summary: Value,
    certificate: Option<String>,
    missing: Option<(f64, u64)>,
}

fn run(place: &Place, name: &str, command: &str) -> Run {
    let proof = if command.starts_with("search") {
        format!(" --certificate {name}.c")
    } else {
        String::new()
    };
    let output = match command.split(' ').next() {
        Some("complete" | "generate") => "--network",
        Some("certify") => "--net",
        _ => "-o",
    };
    let network = match output {
        "--net" => "net0".to_owned(),
        _ => format!("{name}.net"),
    };
    let ended =
        place.run_as_it_is(&format!("{command} {output} {network} --json {name}.json{proof}"));
    assert!(ended.code < 2, "{command}: {ended:?}");
    let missing = command.contains("--missing").then_some((0.2, 3));
    let certificate = std::fs::read_to_string(place.path(&format!("{name}.c"))).ok();
    let summary = serde_json::from_slice(&place.read(&format!("{name}.json"))).unwrap();
    Run { command: command.to_owned(), network, summary, certificate, missing }
}

/// Every command that writes a network, with every template and objective.
fn runs(place: &Place) -> Vec<Run> {
    place.ring("x.npy", 4, 5);
    let structure =
        r#"{"template":"path","permutation":[0,1,2,3],"edges":[[0,1,2],[1,2,3],[2,3,2]]}"#;
    place.write("s.json", structure);
    let first = run(place, "net0", "search x.npy --max-rse 1e-4 --template ring");
    std::fs::copy(place.path("net0.net"), place.path("net0")).unwrap();
    let mut made = vec![first];
    let commands = [
        "search x.npy --max-rse 1e-4",
        "search x.npy --max-rse 1e-3 --template path",
        "search x.npy --max-rse 1e-3 --template any-tree",
        "search x.npy --max-rse 1e-2 --template star",
        "search x.npy --max-rse 1e-2 --template tucker",
        "search x.npy --max-rse 1e-3 --template path --max-rank 1",
        "search x.npy --max-params 30 --template ring",
        "search x.npy --lambda 20 --template ring",
        "search x.npy --lambda 2 --template any-tree",
        "search x.npy --max-rse 1e-3 --template ring --strategy greedy",
        "search x.npy --max-rse 1e-3 --template ring --runs 2 --strategy tnls --iterations 2 --samples 4",
        "search x.npy --max-rse 1e-3 --template path --split 3,3,3,3 --dtype f32",
        "fit x.npy --structure s.json",
        "decompose x.npy --method tt-svd --max-re 0.1",
        "complete x.npy --missing 0.2 --seed 3 --method trals --rank 2",
        "certify x.npy --max-rse 1e-4 --template ring",
        "certify x.npy --max-rse 1e-4 --template path --max-rank 1",
    ];
    for (k, command) in commands.iter().enumerate() {
        made.push(run(place, &format!("r{k}"), command));
    }
    made
}

/// What comes of a summary beside the network and the certificate of runs.
fn checked(
    place: &Place,
    run: &Run,
    summary: &Value,
    other: &Run,
    proof: Option<&str>,
) -> Findings {
    let limit = MemoryLimit::new(None);
    let stored = network::read(&place.path(&other.network), limit).unwrap();
    let kind = stored.network.kind();
    let name = place.path("x.npy");
    let tensor = read_tensor(name.to_str().unwrap(), Some(kind), limit).unwrap().tensor;
    let reshape: Option<&Reshape> = stored.reshape.as_ref();
    let (target, removed) = match run.missing {
        Some(remove) => {
            let holed = Holed::new(tensor, None, false, Some(remove)).unwrap();
            let which = holed.removed.as_ref().unwrap().as_slice().to_vec();
            let whole = verify::array(&holed.whole, 1.0);
            (holed.target(reshape).unwrap(), Some((whole, which)))
        }
        None => {
            let tensor = reshape.map_or(tensor.clone(), |r| r.apply(tensor));
            (Target::new(tensor).unwrap(), None)
        }
    };
    let certificate = proof.map(|text| Certificate::parse(text).unwrap());
    let (x, known) = (verify::tensor(&target), verify::known(&target));
    let given = Given {
        x: &x,
        known: known.as_deref(),
        dtype: target.kind().name(),
        reshaped: verify::reshaped(reshape).unwrap(),
        network: Some(verify::stored(&stored.network, reshape, Some(stored.rse)).unwrap()),
        summary: Some(summary),
        certificate: certificate.as_ref(),
        removed,
        loss: None,
        template: None,
        max_rank: None,
    };
    let (stop, read) = (Stop::new(), |_: &str| Err(String::new()));
    let prover =
        Prover { target: &target, reshape, cases: 20_000, limit, stop: &stop, read: &read };
    let limits = Limits { bytes: u64::MAX, stop: &|| false };
    claims::verify(&given, &prover, &limits)
}

/// The paths of all values of a summary that have no parts.
fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, v)| leaves(v, format!("{path}/{name}"), found));
        }
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(k, v)| leaves(v, format!("{path}/{k}"), found));
        }
        _ => found.push(path),
    }
}

/// Other values in the place of one.
fn forged(value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(b) => vec![json!(!b)],
        Value::Number(n) if n.is_u64() => {
            let n = n.as_u64().unwrap();
            vec![json!(n + 1), json!(n + 1000), json!(-1)]
        }
        Value::Number(n) => {
            let x = n.as_f64().unwrap();
            vec![json!(x * 1.5 + 1e-9), json!(x * 0.5), json!(7.25)]
        }
        Value::String(s) if s == "ring" => vec![json!("path"), json!("any-tree"), json!("forged")],
        Value::String(s) if s == "path" => vec![json!("ring"), json!("complete")],
        Value::String(s) => vec![json!(format!("{s}-forged"))],
        Value::Null => vec![json!(1), json!(true), json!({"params": 2, "rse": null, "loss": null})],
        _ => vec![json!([[0, 0]])],
    }
}

#[test]
fn no_forged_field_is_called_true() {
    let place = Place::new();
    let runs = runs(&place);
    let mut passed = Vec::new();
    let mut forgeries = 0;
    for run in &runs {
        let honest = checked(&place, run, &run.summary, run, None);
        let wrong: Vec<_> = honest.iter().filter(|f| f.verdict == Verdict::DoesNotHold).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}", run.command);
        // Which template was asked for is not in the summary of a strategy that leaves it.
        let known = |claim: &str| run.command.contains("greedy") && claim == "format_preserved";
        let left = honest.iter().filter(|f| f.verdict == Verdict::NotChecked && !known(&f.claim));
        let left: Vec<_> = left.collect();
        assert!(left.is_empty(), "{}: {left:?}", run.command);
        let mut paths = Vec::new();
        leaves(&run.summary, String::new(), &mut paths);
        for path in paths {
            let field = path[1..].split('/').next().unwrap().to_owned();
            let old = run.summary.pointer(&path).unwrap().clone();
            for new in forged(&old) {
                if new == old {
                    continue;
                }
                let mut bad = run.summary.clone();
                *bad.pointer_mut(&path).unwrap() = new.clone();
                let found = checked(&place, run, &bad, run, None);
                forgeries += 1;
                // What is on record only is not called checked where that is asked for.
                assert_ne!(found.outcome(true), Outcome::Holds, "{}: {path} {new}", run.command);
                let record = RECORDS.iter().any(|(name, _)| *name == field)
                    || TRIED.contains(&&*field)
                    || ["/statement/text", "/statement/needed/because"].contains(&&*path);
                // Some changes leave it true: a bound that says less, another cut that is as wide.
                let less = path.starts_with("/lower_bound/") && new.as_f64() < old.as_f64();
                let alike = path.starts_with("/needed_rank/modes");
                if less || alike {
                    continue;
                }
                if !record && found.outcome(false) == Outcome::Holds {
                    passed.push(format!("{}: {path} {old} -> {new}", run.command));
                }
            }
        }
        for field in ["params", "phi", "rse", "re", "loss", "permutation", "edges", "dims", "order"]
        {
            // Of `certify` these are about the best structure there can be, if there is one.
            if run.summary.get(field).is_none() || run.command.starts_with("certify") {
                continue;
            }
            let mut bad = run.summary.clone();
            bad[field] = Value::Null;
            let found = checked(&place, run, &bad, run, None);
            if found.outcome(false) == Outcome::Holds {
                passed.push(format!("{}: {field} -> null", run.command));
            }
        }
        // A field that nobody knows is said.
        let mut more = run.summary.clone();
        more["guaranteed_best"] = json!(true);
        let found = checked(&place, run, &more, run, None);
        assert!(found.is("guaranteed_best", Verdict::NotChecked), "{}", run.command);
        assert_eq!(found.outcome(false), Outcome::NotChecked, "{}", run.command);
    }
    assert!(passed.is_empty(), "{} of {forgeries} pass:\n{}", passed.len(), passed.join("\n"));
    assert!(forgeries > 2000, "{forgeries}");
}

#[test]
fn files_of_other_runs_are_not_taken_for_the_proof_or_the_network() {
    let place = Place::new();
    let runs: Vec<Run> = runs(&place)
        .into_iter()
        .filter(|r| r.command.starts_with("search") && r.summary["reshaped"].is_null())
        .collect();
    for a in &runs {
        for b in &runs {
            let same = a.command == b.command;
            if let Some(proof) =
                b.certificate.as_deref().filter(|_| a.summary["dtype"] == b.summary["dtype"])
            {
                let found = checked(&place, a, &a.summary, a, Some(proof));
                let about = |run: &Run| {
                    (run.summary["bound_over"].clone(), run.summary["objective"].clone())
                };
                let outcome = found.outcome(false);
                match same {
                    true => assert_eq!(outcome, Outcome::Holds, "{}: {found:?}", a.command),
                    false if about(a) != about(b) => {
                        // One that says more proves less, too; all others are refused.
                        let follows = found.is("certificate of the summary", Verdict::Holds);
                        assert_eq!(
                            outcome == Outcome::Holds,
                            follows,
                            "{} {}",
                            a.command,
                            b.command
                        );
                        let template = |run: &Run| run.summary["bound_over"]["template"].clone();
                        assert!(
                            !follows || template(a) == template(b),
                            "{} {}",
                            a.command,
                            b.command
                        );
                    }
                    false => {}
                }
            }
            let nets = (place.read(&a.network), place.read(&b.network));
            if nets.0 != nets.1 {
                let found = checked(&place, a, &a.summary, b, None);
                assert_ne!(found.outcome(false), Outcome::Holds, "{} {}", a.command, b.command);
            }
        }
    }
}

#[test]
fn claims_that_contradict_each_other_are_refused() {
    let place = Place::new();
    place.ring("x.npy", 4, 5);
    let ring = run(&place, "a", "search x.npy --max-rse 1e-4 --template ring");
    let default = run(&place, "b", "search x.npy --max-rse 1e-4");
    let path = run(&place, "c", "search x.npy --max-rse 1e-4 --template path");
    let refused = |run: &Run, claim: &str, change: &dyn Fn(&mut Value), proof: Option<&str>| {
        let mut bad = run.summary.clone();
        change(&mut bad);
        assert_ne!(bad, run.summary, "{claim}");
        let found = checked(&place, run, &bad, run, proof);
        assert!(found.is(claim, Verdict::DoesNotHold), "{claim}: {found:?}");
        assert_eq!(found.outcome(false), Outcome::DoesNotHold);
    };
    let params = ring.summary["params"].as_u64().unwrap();
    // A bound that the network itself refutes, with a certificate about paths beside it.
    let higher = |s: &mut Value| s["lower_bound"]["params"] = json!(params + 20);
    refused(&ring, "lower_bound", &higher, path.certificate.as_deref());
    refused(&ring, "lower_bound", &higher, ring.certificate.as_deref());
    // A ring that beats a bound over trees is not optimal by it.
    assert_eq!(default.summary["bound_over"]["template"], "any-tree");
    refused(&default, "certified_optimal", &|s| s["certified_optimal"] = json!(true), None);
    refused(&ring, "certified_optimal", &|s| s["certified_optimal"] = json!(false), None);
    // Out of reach, and reached.
    let impossible = |s: &mut Value| {
        s["proven_impossible"] = json!(true);
        s["lower_bound"] = Value::Null;
        s["certified_optimal"] = json!(false);
    };
    refused(&ring, "proven_impossible", &impossible, None);
    refused(&ring, "proven_impossible", &|s| s["proven_impossible"] = json!(true), None);
    // Optimal without a bound, a bound of nothing, a bound of another kind.
    let bare = |s: &mut Value| {
        s["lower_bound"] = Value::Null;
        s["bound_over"] = Value::Null;
    };
    refused(&ring, "certified_optimal", &bare, None);
    refused(&ring, "bound_over", &|s| s["bound_over"] = Value::Null, None);
    refused(&ring, "bound_over", &|s| s["lower_bound"] = Value::Null, None);
    refused(&ring, "bound_over", &|s| s["bound_over"]["max_rank"] = Value::Null, None);
    refused(
        &ring,
        "lower_bound",
        &|s| s["lower_bound"] = json!({"params": null, "rse": 0.5, "loss": null}),
        None,
    );
    refused(
        &ring,
        "needed_rank",
        &|s| s["needed_rank"] = json!({"rank": 9, "modes": [1], "width": 9}),
        None,
    );
    // What is said in one word.
    let stated = |proven: &str| json!({"proven": proven, "over": ring.summary["bound_over"], "text": "optimal"});
    for proven in ["nothing", "lower_bound", "impossible"] {
        refused(&ring, "statement", &|s| s["statement"] = stated(proven), None);
    }
    refused(
        &ring,
        "statement",
        &|s| s["statement"] = json!({"proven": "optimal", "over": null, "text": "t"}),
        None,
    );
    // The record against the answer.
    refused(&ring, "samples", &|s| s["cached"] = json!(s["cached"].as_u64().unwrap() + 1), None);
    refused(&ring, "history", &|s| s["history"][0]["loss"] = json!(1e-9), None);
    refused(&ring, "runs", &|s| s["run_seed"] = json!(77), None);
    refused(&ring, "pareto", &|s| s["pareto"][0]["edges"][0][2] = json!(9), None);
    refused(&ring, "edges_at_max_rank", &|s| s["edges_at_max_rank"] = json!(3), None);
    refused(&ring, "format_preserved", &|s| s["format_preserved"] = json!(false), None);
    refused(&default, "format_preserved", &|s| s["format_preserved"] = json!(true), None);
    let other = json!({"from": [9, 9], "to": [3, 3, 3, 3], "names": ["a", "b", "c", "d"], "column_major": false});
    refused(&ring, "reshaped", &|s| s["reshaped"] = other.clone(), None);
}
