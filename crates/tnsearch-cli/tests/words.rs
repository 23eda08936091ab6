//! What the command says follows from what it found.

mod common;

use common::{Place, timeless};
use serde_json::{Value, json};

/// The text behind a name in a summary.
fn said<'a>(text: &'a str, name: &str) -> &'a str {
    let line = text.lines().find(|l| l.split_whitespace().next() == Some(name));
    line.unwrap_or_else(|| panic!("no line '{name}' in\n{text}"))[12..].trim_end()
}

#[test]
fn max_re_is_the_root_of_max_rse() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let (code, root) = place.json("search x.npy --max-re 0.01");
    let (_, square) = place.json("search x.npy --max-rse 1e-4");
    assert_eq!((code, &root["objective"]), (0, &json!({"max_rse": 1e-4})));
    assert_eq!(timeless(root), timeless(square));
    let (_, root) = place.json("certify x.npy --max-re 0.5");
    let (_, square) = place.json("certify x.npy --max-rse 0.25");
    assert_eq!((&root["objective"], &root["params"]), (&square["objective"], &square["params"]));
    for command in ["search", "certify"] {
        for other in ["--max-rse 0.1", "--lambda 5", "--max-params 90"] {
            place.refuses(&format!("{command} x.npy --max-re 0.1 {other}"), "cannot be used with");
        }
        for bad in ["0", "1", "-0.1", "nan", "2", "1e-300"] {
            place.refuses(&format!("{command} x.npy --max-re {bad}"), "max-re is ");
        }
    }
}

#[test]
fn the_goal_and_the_answer_are_said_as_rse_and_re() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let text = place.run("search x.npy --max-re 0.1").stdout;
    assert!(
        said(&text, "asked").starts_with("fewest params with RSE <= 1e-2 (RE <= 1e-1); ring"),
        "{text}"
    );
    assert!(
        said(&text, "error").contains("RSE ") && said(&text, "error").contains("RE "),
        "{text}"
    );
    assert!(
        !said(&text, "found").contains("loss") && said(&text, "found").contains(" params, RE "),
        "{text}"
    );
    assert!(!text.contains("square:"), "no hint where the error itself was given: {text}");
    let text = place.run("search x.npy --max-rse 0.1").stdout;
    let hint = said(&text, "mind");
    assert!(hint.contains("relative error of 0.316") && hint.contains("--max-re 0.1"), "{hint}");
    assert!(place.run("certify x.npy --max-rse 0.1").stdout.contains(hint));
    assert!(!place.run("search x.npy --max-rse 1e-4").stdout.contains("square:"));
    // The loss is said where it is what was minimised.
    let text = place.run("search x.npy --lambda 5").stdout;
    assert!(said(&text, "found").starts_with("loss "), "{text}");
}

#[test]
fn the_impossible_is_said_with_the_rank_needed() {
    let place = Place::new();
    place.ring("x.npy", 5, 1);
    // Every mode of the hidden ring has two edges of rank 2 and dimension 3.
    let (code, report) = place.json("search x.npy --max-re 1e-4 --max-rank 1");
    assert_eq!((code, &report["proven_impossible"]), (1, &json!(true)));
    let needed = &report["needed_rank"];
    assert_eq!(needed["rank"], 2, "{needed}");
    assert!(needed["width"].as_u64().unwrap() >= 3, "{needed}");
    for command in ["search", "certify"] {
        let text = place.run(&format!("{command} x.npy --max-re 1e-4 --max-rank 1")).stdout;
        let proof = said(&text, if command == "search" { "proof" } else { "proven" });
        assert!(proof.starts_with("no ring with ranks up to 1 reaches RE 1.00e-4: "), "{text}");
        assert!(proof.ends_with("rank 2; use --max-rank 2 or more"), "{text}");
        assert!(!text.contains("bound nothing") && !text.contains("few enough"), "{text}");
    }
    // It is said before the fits, too, unless nothing is to be said.
    let at_once = place.run("search x.npy --max-re 1e-4 --max-rank 1").stderr;
    assert!(
        at_once.starts_with("note: no ring with ranks up to 1 reaches RE 1.00e-4: "),
        "{at_once}"
    );
    assert_eq!(place.run("search x.npy --max-re 1e-4 --max-rank 1 -q").stderr, "");
    assert_eq!(place.run("search x.npy --max-re 1e-4 --max-rank 2").stderr, "");
    let (_, report) = place.json("search x.npy --max-re 1e-4 --max-rank 2");
    assert_eq!((&report["needed_rank"], &report["target_reached"]), (&Value::Null, &json!(true)));
}

#[test]
fn ranks_at_their_cap_are_said() {
    let place = Place::new();
    place.ring("x.npy", 5, 1);
    let args = "search x.npy --strategy tnls --lambda 50 --iterations 3 --samples 10 --max-rank 2 --certificate-nodes 0";
    let (_, report) = place.json(args);
    let text = place.run(args).stdout;
    match report["edges_at_max_rank"].as_u64().unwrap() {
        0 => assert!(!text.contains("at --max-rank"), "{text}"),
        1 => assert!(text.contains("1 of 5 edges is at --max-rank 2;"), "{text}"),
        n => assert!(
            text.contains(&format!("{n} of 5 edges are at --max-rank 2; a larger one may give")),
            "{text}"
        ),
    }
    // Proven best with these ranks: a larger one is another question, and no advice follows.
    let text = place.run("search x.npy --max-re 1e-3 --max-rank 7").stdout;
    assert!(text.contains("optimal") && !text.contains("at --max-rank"), "{text}");
}

#[test]
fn a_bound_of_nothing_is_called_nothing() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let text = place.run("search x.npy --max-params 500 --certificate-nodes 0").stdout;
    assert!(!text.contains(">= 0\n") && !text.contains("at least 0\n"), "{text}");
    let text = place.run("certify x.npy --max-params 500").stdout;
    assert!(said(&text, "proven").starts_with("nothing: the cuts"), "{text}");
    // Nodes are advised only where they ran out.
    let text = place.run("certify x.npy --nodes 2").stdout;
    assert!(text.contains("more --nodes may prove more"), "{text}");
    let text = place.run("certify x.npy --nodes 1000000").stdout;
    assert!(
        said(&text, "searched").contains("solved") && !text.contains("may prove more"),
        "{text}"
    );
}

#[test]
fn one_template_makes_no_list_of_formats() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let (_, report) = place.json("search x.npy --max-re 0.01");
    assert_eq!((&report["formats"], &report["chosen"]), (&json!([]), &Value::Null));
    assert!(!place.run("search x.npy --max-re 0.01").stdout.contains("\nformats"));
}
