//! Structures with several modes at a vertex, through the commands.

mod common;

use common::Place;
use serde_json::json;

/// Modes 1 and 3 on vertex 0, an internal vertex, and modes 0 and 2 on two others.
const STRUCTURE: &str = r#"{"template":{"vertices":[{"mode":true},{"mode":false},{"mode":true},{"mode":true}],
    "edges":[[0,1],[1,2],[1,3]]},"permutation":[2,0,3,0],"edges":[[0,1,3],[1,2,2],[1,3,2]]}"#;

#[test]
fn they_are_fitted_bounded_shown_and_reconstructed() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    place.write("s.json", STRUCTURE);
    let (code, fitted) = place.json("fit x.npy --structure s.json -o net");
    assert_eq!((code, &fitted["permutation"]), (0, &json!([2, 0, 3, 0])));
    assert_eq!(fitted["params"], json!(3 * 9 + 3 * 2 * 2 + 2 * 3 + 2 * 3));
    let rse = fitted["rse"].as_f64().unwrap();
    let (_, bound) = place.json("bound x.npy --structure s.json");
    assert!(bound["rse"].as_f64().unwrap() <= rse * (1.0 + 1e-9) && rse < 1.0);
    // Each cut leaves modes 1 and 3 together.
    let cuts = bound["cuts"].as_array().unwrap();
    assert_eq!(cuts.len(), 3);
    for cut in cuts {
        let modes = cut["modes"].as_array().unwrap();
        assert_eq!(modes.contains(&json!(1)), modes.contains(&json!(3)), "{cut}");
    }
    let info = place.run("info net");
    assert!(info.stdout.contains("modes 1, 3 on vertex 0; mode 0 on vertex 2"), "{}", info.stdout);
    assert!(info.stdout.contains("(m1:3 m3:3)"), "{}", info.stdout);
    assert_eq!(place.run("reconstruct net -o z.npy").code, 0);
    let (code, again) = place.json("certify x.npy --net net --template ring --max-rse 0.9");
    assert_eq!(code, 0, "{again}");
    assert!((again["net"]["rse"].as_f64().unwrap() - rse).abs() < 1e-12);
}

#[test]
fn what_does_not_know_them_says_so() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    place.ring("y.npy", 5, 1);
    place.write("s.json", STRUCTURE);
    assert_eq!(place.run("fit x.npy --structure s.json -o net -q").code, 0);
    place.write("t.json", STRUCTURE);
    let several = "some vertex";
    place.refuses("certify x.npy --net net", several);
    place.refuses("distance s.json t.json", several);
    let modes = "the structure carries 4 modes, but the tensor has 5 modes";
    place.refuses("fit y.npy --structure s.json", modes);
    place.refuses("bound y.npy --structure s.json", modes);
    place.write("one.json", r#"{"vertices":[{"mode":true}],"edges":[]}"#);
    place.refuses("search x.npy --template one.json", "at least 2 must carry one");
}
