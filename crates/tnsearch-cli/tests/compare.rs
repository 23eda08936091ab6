//! `tnsearch compare` as a user sees it: the table, the JSON, exit codes, what it refuses.

mod common;

use common::{Held, Place};
use serde_json::{Value, json};

const SOME: &str = "--methods default,tt-svd,hosvd,tr-als,tnls --max-evaluations 20";

fn methods(report: &Value) -> Vec<&str> {
    report["rows"].as_array().unwrap().iter().map(|r| r["method"].as_str().unwrap()).collect()
}

#[test]
fn rows_that_reach_the_error_stand_first_by_params_and_the_least_has_won() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    let (code, report) = place.json(&format!("compare X.npy --max-re 0.1 {SOME}"));
    assert_eq!(code, 0);
    assert_eq!(report["objective"], json!({"max_rse": 0.1f64 * 0.1}));
    assert_eq!((&report["max_evaluations"], &report["max_seconds"]), (&json!(20), &json!(null)));
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    let mut last = 0;
    for row in rows {
        let (params, re) = (row["params"].as_u64().unwrap(), row["re"].as_f64().unwrap());
        assert_eq!(row["target_reached"], json!(re <= 0.1), "{row}");
        assert!(params >= last, "{row}");
        last = params;
        assert_eq!(row["won"], json!(row["params"] == rows[0]["params"]));
        assert_eq!((&row["reason"], row["seconds"].is_number()), (&json!(null), true));
    }
    assert_eq!(rows[0]["won"], json!(true));
    // The default is never larger.
    let default = rows.iter().find(|r| r["method"] == "default").unwrap();
    assert_eq!((&default["won"], &default["sort"]), (&json!(true), &json!("default")));
}

#[test]
fn each_row_is_what_the_command_of_that_name_gives() {
    let place = Place::new();
    place.ring("X.npy", 4, 5);
    let (_, report) = place.json(&format!("compare X.npy --max-re 0.05 {SOME}"));
    for row in report["rows"].as_array().unwrap() {
        let line = match (row["sort"].as_str().unwrap(), row["method"].as_str().unwrap()) {
            ("decompose", method) => format!("decompose X.npy --method {method} --max-re 0.05"),
            ("default", _) => "search X.npy --max-re 0.05 --max-evaluations 20".to_owned(),
            (_, name) => {
                format!("search X.npy --strategy {name} --max-re 0.05 --max-evaluations 20")
            }
        };
        let ended = place.run_as_it_is(&format!("{line} --json -"));
        let alone: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!((&row["params"], &row["rse"]), (&alone["params"], &alone["rse"]), "{line}");
    }
}

#[test]
fn within_a_number_of_params_the_smallest_error_stands_first() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    let (code, report) = place.json(&format!("compare X.npy --max-params 40 {SOME}"));
    assert_eq!(code, 0);
    let rows = report["rows"].as_array().unwrap();
    let errors: Vec<f64> = rows.iter().map(|r| r["rse"].as_f64().unwrap()).collect();
    assert!(rows.iter().all(|r| r["params"].as_u64().unwrap() <= 40), "{report}");
    assert!(errors.is_sorted() && errors[errors.len() - 1] < 1.0, "{errors:?}");
}

#[test]
fn a_method_that_fails_is_a_row_with_the_reason() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    let line = "compare X.npy --max-params 5 --methods default,tt-svd --max-evaluations 5";
    let (code, report) = place.json(line);
    assert_eq!((code, methods(&report)), (1, vec!["tt-svd", "default"]));
    let [svd, default] = [&report["rows"][0], &report["rows"][1]];
    assert_eq!((&svd["target_reached"], &svd["reason"]), (&json!(false), &json!(null)));
    assert_eq!((&default["params"], &default["won"]), (&json!(null), &json!(false)));
    assert!(default["reason"].as_str().unwrap().contains("12"), "{default}");
    let ended = place.run(&format!("{line} --progress"));
    assert_eq!(ended.code, 1);
    assert!(ended.stdout.contains("failed: ") && ended.stdout.contains("no method reached it"));
    assert!(ended.stderr.contains("progress: tt-svd: 12 params"), "{ended:?}");
}

#[test]
#[cfg(unix)]
fn ctrl_c_gives_the_table_so_far() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    let line = "compare X.npy --max-re 0.1 --methods tt-svd,hosvd,tr-als --json out.json";
    let held = Held::at(&place, "method 3", line);
    held.signal("-INT");
    assert_eq!(held.end().code(), Some(130));
    let report: Value = serde_json::from_slice(&place.read("out.json")).unwrap();
    assert_eq!(report["interrupted"], json!(true));
    let mut found = methods(&report);
    found.sort_unstable();
    assert_eq!(found, ["hosvd", "tt-svd"]);
}

#[test]
fn bad_usage_is_refused() {
    let place = Place::new();
    place.ring("X.npy", 4, 3);
    for (args, words) in [
        ("X.npy --max-re 0", "max-re is 0"),
        ("X.npy --max-re 2", "max-re is 2"),
        ("X.npy --max-re 0.1 --max-params 3", "cannot be used with"),
        ("X.npy --methods tt-svd,als", "methods is 'als'; use default, tt-svd, tr-svd,"),
        ("X.npy --max-seconds 0", "max-seconds is 0"),
        ("X.npy --lambda 3", "unexpected argument"),
        ("nothing.npy", "no such file"),
        ("X.npy --json X.npy", "are the same file"),
    ] {
        place.refuses(&format!("compare {args}"), words);
    }
}
