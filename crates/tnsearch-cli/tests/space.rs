//! `tnsearch space` and `tnsearch distance`.

mod common;

use common::Place;
use serde_json::{Value, json};

#[test]
fn the_size_of_a_search() {
    let place = Place::new();
    let (code, ring) = place.json("space --template ring --order 8 --max-rank 7");
    assert_eq!(code, 0);
    assert_eq!((&ring["automorphisms"], &ring["structures"]), (&json!("16"), &json!("2520")));
    assert_eq!(ring["search_space"], "14527298520");
    assert_eq!((&ring["rate"], &ring["log10_exhaustive_seconds"]), (&Value::Null, &Value::Null));
    let number = |v: &Value, name: &str| v[name].as_f64().unwrap();
    assert!((number(&ring, "log10_search_space") - 14_527_298_520f64.log10()).abs() < 1e-12);
    assert!(number(&ring, "log10_lower_bound") < number(&ring, "log10_search_space"));
    assert!(number(&ring, "log10_search_space") < number(&ring, "log10_upper_bound"));
    let (_, path) = place.json("space --template path --order 8");
    assert_eq!((&path["automorphisms"], &path["structures"]), (&json!("2"), &json!("20160")));
    // Internal vertices: free or fixed.
    let (_, free) = place.json("space --template ht --order 8");
    let (_, fixed) = place.json("space --template ht --order 8 --internal fixed");
    assert_eq!((&free["structures"], &fixed["structures"]), (&json!("315"), &json!("2520")));
    let text = place.run("space --template ring --order 8").stdout;
    assert!(text.contains("14527298520 (1.45e10) with ranks up to 7"), "{text}");
}

#[test]
fn a_large_order_is_counted_and_not_gone_through() {
    let place = Place::new();
    let (code, ring) = place.json("space --template ring --order 60 --max-rank 10");
    assert_eq!((code, &ring["automorphisms"]), (0, &json!("120")));
    // 59! / 2 and 10^60 times that.
    let digits = ring["structures"].as_str().unwrap();
    assert!(digits.starts_with("693415592728449178689695098601947031729514383863437162704106"));
    assert_eq!(ring["search_space"], format!("{digits}{}", "0".repeat(60)));
    for args in [
        "complete --order 64 --max-rank 18446744073709551615",
        "star --order 64",
        "mera --order 64",
    ] {
        let (code, json) = place.json(&format!("space --template {args}"));
        assert_eq!(code, 0);
        assert!(json["log10_search_space"].as_f64().unwrap().is_finite());
    }
}

#[test]
fn small_orders_and_graphs_that_are_none() {
    let place = Place::new();
    for (order, structures, space) in [(2, "1", "7"), (3, "1", "343"), (4, "3", "7203")] {
        let (code, json) = place.json(&format!("space --template ring --order {order}"));
        let found = (code, &json["structures"], &json["search_space"]);
        assert_eq!(found, (0, &json!(structures), &json!(space)));
    }
    let graph = |edges: &str| {
        let vertices = ["{\"mode\":true}"; 4].join(",");
        format!("{{\"vertices\":[{vertices}],\"edges\":{edges}}}")
    };
    place.write("apart.json", graph("[[0,1],[2,3]]"));
    place.write("paw.json", graph("[[0,1],[1,2],[0,2],[2,3]]"));
    place.write("none.json", "{\"vertices\":[],\"edges\":[]}");
    let (_, paw) = place.json("space --template paw.json");
    assert_eq!((&paw["automorphisms"], &paw["structures"]), (&json!("2"), &json!("12")));
    place.ring("x.npy", 5, 1);
    for (args, words) in [
        ("--order 0", "cannot carry 0 modes: a network needs at least 2"),
        ("--order 1", "cannot carry 1 modes: a network needs at least 2"),
        ("--order 65", "at most 64 are possible"),
        ("--order -3", "it must be a whole number"),
        ("", "template 'ring' has any order; give one with --order N"),
        ("--order 4 --max-rank 0", "it must be a whole number of at least 1"),
        ("--template apart.json", "apart.json: bad graph: it is not connected"),
        ("--template none.json", "0 vertices"),
        ("--template gone.json", "gone.json: no such file"),
        ("--template paw.json --order 5", "has 4 external vertices, but the order is 5"),
        ("--template wheel --order 5", "unknown template 'wheel'"),
        ("--x x.npy --order 4", "--order is 4, but the tensor has 5 modes"),
        ("--x x.npy --template peps:2x3", "cannot carry 5 modes"),
        ("--x gone.npy", "gone.npy: no such file"),
        ("--order 4 -o table.md", "--output is for --table and --figure"),
        ("--figure bounds", "--output <FILE>"),
        ("--figure ring -o x.svg", "invalid value 'ring'"),
        ("--order 4 --internal loose", "invalid value 'loose'"),
        ("--table --json -", "cannot be used with"),
    ] {
        place.refuses(&format!("space {args}"), words);
    }
}

#[test]
fn the_time_to_try_all_is_measured() {
    let place = Place::new();
    place.ring("x.npy", 4, 1);
    let (code, json) = place.json("space --x x.npy --max-rank 3");
    let rate = &json["rate"];
    let number = |name: &str| rate[name].as_f64().unwrap();
    assert_eq!((code, &json["order"], &json["search_space"]), (0, &json!(4), &json!("243")));
    assert!(number("samples") >= number("evaluations") && number("evaluations") > 0.0);
    assert!((number("per_second") - number("samples") / number("seconds")).abs() < 1e-6);
    let expected = (243.0 / number("per_second")).log10();
    assert!((json["log10_exhaustive_seconds"].as_f64().unwrap() - expected).abs() < 1e-9);
}

#[test]
fn the_table_and_the_figures() {
    let place = Place::new();
    let table = place.run("space --table").stdout;
    for row in [
        "| 8 | ring | 2 | 2 | 8 | 16 | 2520 |  |",
        "| 8 | path | 1 | 2 | 7 | 2 | 20160 |  |",
        "| 6 | peps:2x3 | 2 | 3 | 7 | 4 | 180 | edges <= N |",
        "| 4 | peps:2x2 | 2 | 2 | 4 | 8 | 3 | symmetries <= N |",
        "| 12 | star | 1 | 11 | 11 | 39916800 | 12 |  |",
        "| 7 | 11 | 1 to 720 | 7 to 5040 | 1 |",
        "| 8 | 23 | 1 to 5040 | 8 to 40320 | 1 |",
    ] {
        assert!(table.contains(row), "{row}");
    }
    let ended = place.run("space --table -o table.md -q");
    assert_eq!((ended.code, ended.stdout.as_str()), (0, ""));
    assert_eq!(place.read("table.md"), table.as_bytes());
    for figure in ["bounds", "space"] {
        let ended = place.run(&format!("space --figure {figure} -o {figure}.svg"));
        assert_eq!(ended.stdout, format!("written     {figure}.svg\n"));
        assert!(place.read(&format!("{figure}.svg")).starts_with(b"<svg "));
    }
}

#[test]
fn distances() {
    let place = Place::new();
    let file = |name: &str, permutation: &str, edges: &str| {
        let text = format!(r#"{{"template":"ring","permutation":{permutation},"edges":{edges}}}"#);
        place.write(name, text);
    };
    file("a.json", "[0,1,2,3,4]", "[[0,1,2],[1,2,3],[2,3,4],[3,4,5],[0,4,6]]");
    file("turned.json", "[1,2,3,4,0]", "[[1,2,2],[2,3,3],[3,4,4],[0,4,5],[0,1,6]]");
    file("swapped.json", "[1,0,2,3,4]", "[[0,1,2],[1,2,3],[2,3,4],[3,4,5],[0,4,9]]");
    file("thin.json", "[0,1,2,3,4]", "[[0,1,2]]");
    file("thin2.json", "[0,1,3,2,4]", "[[0,1,2]]");
    file("six.json", "[0,1,2,3,4,5]", "[[0,1,2]]");
    place.write("path.json", r#"{"template":"path","permutation":[0,1,2,3,4],"edges":[]}"#);
    let about = |a: &str, b: &str| {
        let (code, json) = place.json(&format!("distance {a}.json {b}.json"));
        assert_eq!(code, 0);
        let fields = ["distance", "swaps", "rank_distance", "same_network"];
        Value::from(fields.map(|f| json[f].clone()).to_vec())
    };
    assert_eq!(about("a", "turned"), json!([0, 0, 0.0, true]));
    assert_eq!(about("a", "swapped"), json!([1, 1, 3.0, false]));
    assert_eq!(about("thin", "thin2"), json!([1, 1, 0.0, true]));
    let text = place.run("distance a.json turned.json").stdout;
    assert!(text.contains("the same structure"), "{text}");
    for (b, words) in [
        ("path.json", "different templates, 'ring' of order 5 and 'path' of order 5"),
        ("six.json", "different templates, 'ring' of order 5 and 'ring' of order 6"),
        ("gone.json", "gone.json: no such file"),
        ("a.json --json a.json", "are the same file"),
    ] {
        place.refuses(&format!("distance a.json {b}"), words);
    }
}
