use super::*;
use serde_json::{Value, json};

fn limits() -> Limits<'static> {
    Limits { bytes: u64::MAX, stop: &|| false }
}

/// Singular values 4 and 3.
fn matrix() -> Array {
    let mut entries = vec![0.0; 20];
    (entries[0], entries[6]) = (4.0, 3.0);
    Array::real(vec![4, 5], entries).unwrap()
}

/// Every matrix with an RSE of at most 0.1 has 18 parameters: rank 1 leaves 0.36.
fn plain() -> Value {
    json!({
        "format": "tnsearch-certificate", "version": 1, "tnsearch": "0", "says": "", "reshaped": null,
        "data": {"dims": [4, 5], "dtype": "f64", "sha256": fingerprint(&matrix(), "f64"), "norm": 5.0},
        "template": "any-tree", "max_rank": null, "max_rse": 0.1, "params": 18, "lost": 0.0,
        "cuts": [{"modes": [1], "width": 2, "tail": 0.36, "slack": 1e-9}], "tree": [],
    })
}

/// No loss phi + 10 RSE is below 0.9: 18 / 20 with rank 2, 9 / 20 + 3.6 with rank 1.
fn priced() -> Value {
    let mut made = plain();
    ["max_rse", "params"].iter().for_each(|name| drop(made.as_object_mut().unwrap().remove(*name)));
    let more = json!({"version": 2, "lambda": 10.0, "loss": 0.9, "errors": [0.36 - 1e-9]});
    made.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    made
}

fn changed(base: &Value, pointer: &str, value: Value) -> Value {
    let mut made = base.clone();
    let (part, name) = pointer.rsplit_once('/').unwrap();
    made.pointer_mut(part).unwrap()[name] = value;
    made
}

fn parses(value: &Value) -> bool {
    Certificate::parse(&value.to_string()).is_ok()
}

fn check(value: &Value) -> Result<Statement, Refused> {
    Certificate::parse(&value.to_string()).unwrap().check(&matrix(), "f64", &limits()).unwrap()
}

#[test]
fn a_form_is_of_one_version_and_its_numbers_are_in_range() {
    assert!(parses(&plain()) && parses(&priced()));
    for (pointer, value) in [
        ("/max_rse", json!(0.0)),
        ("/lost", json!(0.5)),
        ("/data/dims", json!(vec![2; 63])),
        ("/params", json!(null)),
    ] {
        assert!(parses(&changed(&plain(), pointer, value.clone())), "{pointer} {value}");
    }
    for (pointer, value) in [
        ("/max_rse", json!(1.0)),
        ("/max_rse", json!(-0.1)),
        ("/lost", json!(1.0)),
        ("/lost", json!(-0.1)),
        ("/data/dims", json!([2])),
        ("/data/dims", json!(vec![2; 64])),
        ("/data/dims", json!([2, 0])),
        ("/version", json!(0)),
        ("/version", json!(2)),
        ("/version", json!(3)),
        ("/format", json!("tnsearch")),
        ("/errors", json!([])),
        ("/lambda", json!(1.0)),
        ("/loss", json!(1.0)),
        ("/unknown", json!(1.0)),
    ] {
        assert!(!parses(&changed(&plain(), pointer, value.clone())), "{pointer} {value}");
    }
    for (pointer, value) in [
        ("/max_rse", json!(0.1)),
        ("/params", json!(8)),
        ("/lambda", json!(0.0)),
        ("/lambda", json!(-1.0)),
        ("/lambda", json!(null)),
        ("/loss", json!(0.0)),
        ("/loss", json!(null)),
        ("/version", json!(1)),
    ] {
        assert!(!parses(&changed(&priced(), pointer, value.clone())), "{pointer} {value}");
    }
    for name in ["max_rse", "params"] {
        let mut bad = plain();
        bad.as_object_mut().unwrap().remove(name);
        assert!(!parses(&bad), "{name}");
    }
}

#[test]
fn a_cut_has_two_sides_and_says_more_than_the_error() {
    assert_eq!(check(&plain()), Ok(Statement { nodes: 0, cuts: 1, unchecked: Vec::new() }));
    let refused =
        |pointer: &str, value: Value| match check(&changed(&plain(), pointer, value.clone())) {
            Err(Refused::Cut { cut: 0, why, .. }) => why,
            other => panic!("{pointer} {value}: {other:?}"),
        };
    let sides = "one side has some modes, each once, and not all";
    for modes in [json!([]), json!([0, 1]), json!([1, 1]), json!([0, 0, 1])] {
        assert_eq!(refused("/cuts/0/modes", modes), sides);
    }
    assert_eq!(refused("/cuts/0/modes", json!([2])), "there is no such mode");
    let numbers = "its width is at least 2, its tail and slack from 0 to 1";
    assert_eq!(refused("/cuts/0/width", json!(1)), numbers);
    assert_eq!(refused("/cuts/0/tail", json!(1.0)), numbers);
    assert_eq!(refused("/cuts/0/slack", json!(-1e-12)), numbers);
    assert_eq!(refused("/cuts/0/slack", json!(1.0)), numbers);
    let low = "its tail less its slack is not above the error";
    assert_eq!(refused("/cuts/0/slack", json!(0.26)), low);
    assert_eq!(refused("/cuts/0/tail", json!(0.1)), low);
    // Exactly at the error.
    let mut exact = changed(&plain(), "/cuts/0/slack", json!(0.0));
    exact["max_rse"] = json!(0.36);
    assert!(matches!(check(&exact), Err(Refused::Cut { why, .. }) if why == low));
    // What the cut is of the tensor, up to its slack and what was lost before.
    assert!(refused("/cuts/0/width", json!(3)).starts_with("rank 2 leaves"));
    assert!(refused("/cuts/0/tail", json!(0.36 + 3e-9)).starts_with("its tail is"));
    assert!(refused("/cuts/0/tail", json!(0.36 - 3e-9)).starts_with("its tail is"));
    assert!(check(&changed(&plain(), "/cuts/0/tail", json!(0.36 + 5e-10))).is_ok());
    let mut lost = changed(&plain(), "/cuts/0/tail", json!(0.36 - 3e-9));
    lost["lost"] = json!(2.5e-9);
    assert!(check(&lost).is_ok());
    lost["lost"] = json!(1.5e-9);
    assert!(check(&lost).is_err());
}

#[test]
fn the_tensor_is_the_one_that_is_named() {
    let refused = |pointer: &str, value: Value| {
        matches!(check(&changed(&plain(), pointer, value)), Err(Refused::Data(_)))
    };
    assert!(refused("/data/dims", json!([4, 6])) && refused("/data/dtype", json!("f32")));
    assert!(refused("/data/norm", json!(5.0 + 2e-8)) && refused("/data/norm", json!(5.0 - 2e-8)));
    assert!(refused("/data/sha256", json!("00")));
    assert!(!refused("/data/norm", json!(5.0 + 2e-9)) && !refused("/data/norm", json!(null)));
    // Imaginary parts count.
    let (mut re, mut im) = (vec![0.0; 20], vec![0.0; 20]);
    (re[0], im[7]) = (4.0, 3.0);
    let y = Array::complex(vec![4, 5], re, im).unwrap();
    let mut of = changed(&plain(), "/data/dtype", json!("complex128"));
    of["data"]["sha256"] = json!(fingerprint(&y, "complex128"));
    let made = Certificate::parse(&of.to_string()).unwrap();
    assert_eq!(made.check_data(&y, "complex128"), Ok(()));
}

#[test]
fn trees_are_bounded_and_nothing_more() {
    let refused =
        |base: &Value, pointer: &str, value: Value| match check(&changed(base, pointer, value)) {
            Err(refused) => refused.to_string(),
            Ok(found) => panic!("{pointer}: {found:?}"),
        };
    assert_eq!(
        refused(&plain(), "/params", json!(19)),
        "the cuts prove 18 params over all trees, not 19"
    );
    assert!(check(&changed(&plain(), "/params", json!(17))).is_ok());
    assert!(refused(&plain(), "/params", json!(null)).contains("there always is some tree"));
    assert!(refused(&plain(), "/max_rank", json!(2)).contains("any ranks"));
    assert!(refused(&plain(), "/tree", json!([{}])).contains("any ranks"));
    assert!(refused(&plain(), "/template", json!("ring")).contains("no class"));
    // Losses: up to the least of them, with the errors between.
    assert_eq!(check(&priced()), Ok(Statement { nodes: 0, cuts: 1, unchecked: Vec::new() }));
    assert!(refused(&priced(), "/loss", json!(0.9 + 1e-9)).contains("trees beyond error 0"));
    assert!(refused(&priced(), "/errors", json!([])).contains("trees beyond error 0"));
    // Beyond the error rank 1 has a loss of 0.45 + 1.2 * 0.36.
    let low = changed(&priced(), "/lambda", json!(1.2));
    assert!(matches!(check(&low), Err(Refused::Form(why)) if why.contains("trees beyond error 1")));
    assert!(check(&changed(&low, "/loss", json!(0.88))).is_ok());
    // They grow, and are numbers above 0.
    for errors in [json!([0.2, 0.2]), json!([0.3, 0.2]), json!([0.0]), json!([-0.1])] {
        assert!(refused(&priced(), "/errors", errors).contains("do not grow"));
    }
    assert!(check(&changed(&priced(), "/errors", json!([0.2, 0.36 - 1e-9]))).is_ok());
    // What the cut leaves is less than it says.
    let more = changed(&priced(), "/cuts/0/tail", json!(0.4));
    assert!(check(&more).is_err());
    let short =
        changed(&changed(&priced(), "/cuts/0/slack", json!(0.0)), "/cuts/0/tail", json!(0.3601));
    assert!(matches!(check(&short), Err(Refused::Cut { .. })));
}

#[test]
fn what_is_not_computed_is_said() {
    let made = Certificate::parse(&plain().to_string()).unwrap();
    let few = Limits { bytes: 100, stop: &|| false };
    let found = made.check_cuts(&matrix(), &few).unwrap();
    assert_eq!(found, [(0, Unchecked::Memory { needed: 8 * (80 + 32) })]);
    let stopped = Limits { bytes: u64::MAX, stop: &|| true };
    assert_eq!(made.check(&matrix(), "f64", &stopped), Err(Unchecked::Stopped));
}
