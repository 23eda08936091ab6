//! CP as a user sees it: decomposed, searched for, verified, refused where it does not go.

mod common;

use common::{Place, doubles, entries, npy};
use serde_json::json;

/// `exp(-i - j - k) + (i + 1)(j + 1)(k + 1)` on 5 x 4 x 6: two terms, and no fewer.
fn two_terms(place: &Place) -> Vec<f64> {
    let entry = |n: usize| {
        let (i, j, k) = ((n / 24) as f64, (n / 6 % 4) as f64, (n % 6) as f64);
        (-i - j - k).exp() * 20.0 + (i + 1.0) * (j + 1.0) * (k + 1.0)
    };
    let x: Vec<f64> = (0..120).map(entry).collect();
    place.write("X.npy", npy("<f8", &[5, 4, 6], &doubles(&x)));
    x
}

#[test]
fn two_terms_are_found_proven_and_verified() {
    let place = Place::new();
    let x = two_terms(&place);
    let edges = json!([[0, 3, 2], [1, 3, 2], [2, 3, 2]]);
    for line in [
        "decompose X.npy --method cp-als --ranks 2",
        "decompose X.npy --method cp-als --max-re 1e-6",
        "search X.npy --template cp --max-re 1e-6",
        "search X.npy --template cp --max-params 40",
        "search X.npy --template cp --lambda 100",
    ] {
        let (code, report) = place.json(&format!("{line} -o net.safetensors"));
        assert_eq!((code, &report["template"]), (0, &json!("cp")), "{line}");
        assert_eq!((&report["edges"], &report["params"]), (&edges, &json!(30)), "{line}");
        assert!(report["re"].as_f64().unwrap() < 1e-6, "{line}");
        assert_eq!(place.run("reconstruct net.safetensors -o Z.npy").code, 0);
        let z = entries(&place.read("Z.npy"));
        assert!(x.iter().zip(&z).all(|(x, z)| (x - z).abs() < 1e-4), "{line}");
    }
    let (_, report) = place.json("search X.npy --template cp --max-re 1e-6 -o net.safetensors");
    assert_eq!(
        (&report["lower_bound"]["params"], &report["certified_optimal"]),
        (&json!(30), &json!(true))
    );
    assert_eq!(report["statement"]["text"], "optimal: no CP of any rank is better");
    place.write("found.json", report.to_string());
    let verified = place.run("verify X.npy net.safetensors found.json");
    assert!(verified.code == 0 || verified.code == 3, "{verified:?}");
    assert!(place.run("info net.safetensors").stdout.contains('*'));
}

#[test]
fn the_default_search_takes_it_where_it_is_smaller() {
    let place = Place::new();
    two_terms(&place);
    let ended = place.run_as_it_is("search X.npy --max-re 1e-6 --json -");
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&report["template"], &report["params"]), (&json!("cp"), &json!(30)), "{report}");
    assert!(report["formats"].as_array().unwrap().iter().any(|f| f["format"] == "cp"));
    // The bound over trees is none over CPs, and says so.
    assert_eq!(report["certified_optimal"], json!(false));
    let said = report["statement"]["text"].as_str().unwrap();
    assert!(said.ends_with("the answer is none of these: it has another format, and is smaller than any of these can be"), "{said}");
    let without = place.run_as_it_is("search X.npy --max-re 1e-6 --terms 0 --json -");
    let without: serde_json::Value = serde_json::from_str(&without.stdout).unwrap();
    assert!(without["params"].as_u64() > Some(30) && without["template"] != "cp");
}

#[test]
fn what_it_does_not_go_with_is_refused() {
    let place = Place::new();
    two_terms(&place);
    place.refuses(
        "search X.npy --template cp --max-re 0.1 --strategy tnls",
        "template cp has one rank to choose",
    );
    place.refuses(
        "decompose X.npy --method cp-als --ranks 2,3,2",
        "the edges of a cp all have one rank",
    );
    place.refuses("decompose X.npy --method tree-svd --template cp", "cp-als");
    place.refuses("space --template cp --order 4", "all orders of the modes of a cp are the same");
    place.write(
        "s.json",
        r#"{"template":"cp","permutation":[0,1,2],"edges":[[0,3,2],[1,3,3],[2,3,2]]}"#,
    );
    place.refuses("fit X.npy --structure s.json", "the edges of a cp all have one rank");
    assert_eq!(place.run("decompose X.npy --method cp-als --ranks 2 -o net.safetensors").code, 0);
    place.refuses(
        "round net.safetensors --max-re 0.1 -o small.safetensors",
        "no cores that truncated SVDs could give",
    );
}
