//! Gaussian processes from outside: train, predict, compress, resume, refusals.

mod common;

use common::Place;
use serde_json::Value;

/// A table of a smooth function of three features; every other number of it is odd enough to look measured.
fn table(rows: usize) -> String {
    let mut text = "a,b,c,y\n".to_owned();
    for k in 0..rows {
        let at = |m: usize| ((k * m) % 101) as f64 / 50.0 - 1.0;
        let (a, b, c) = (at(37), at(59), at(83));
        let noise = ((k * 7919) % 100) as f64 / 1000.0;
        text +=
            &format!("{a},{b},{c},{}\n", 10.0 + 3.0 * ((2.0 * a).sin() * (1.0 + b) + c + noise));
    }
    text
}

fn trained(place: &Place) -> Value {
    place.write("t.csv", table(400));
    let (code, report) = place.json(
        "tgp train t.csv --inducing 6 --tt-rank 4 --evidence-rows 120 -o m.safetensors --seed 3",
    );
    assert_eq!(code, 0);
    report
}

/// The numbers of a CSV file, without its header.
fn rows(place: &Place, name: &str) -> Vec<Vec<f64>> {
    let text = String::from_utf8(place.read(name)).unwrap();
    text.lines().skip(1).map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect()
}

#[test]
fn a_model_is_trained_and_predicts_in_the_units_of_the_response() {
    let place = Place::new();
    let report = trained(&place);
    assert_eq!(report["params"], 6 * 4 + 4 * 6 * 4 + 4 * 6);
    assert_eq!(
        (report["dims"].clone(), report["rows"].clone()),
        (serde_json::json!([6, 6, 6]), serde_json::json!([288, 32, 80]))
    );
    let mse = report["test_mse"].as_f64().unwrap();
    assert!(mse < 0.01 && report["validation_mse"].as_f64().unwrap() < 0.01, "{report}");
    let (code, predicted) = place.json("tgp predict m.safetensors t.csv -o p.csv");
    assert_eq!((code, &predicted["rows"]), (0, &400.into()));
    let (made, given) = (rows(&place, "p.csv"), rows(&place, "t.csv"));
    let squares: f64 = made.iter().zip(&given).map(|(p, g)| (p[0] - g[3]).powi(2)).sum();
    let own = predicted["mse"].as_f64().unwrap();
    assert!((squares / 400.0 / own - 1.0).abs() < 1e-9 && own < 0.1, "{own}");
    assert!(made.iter().all(|p| p[1] > 0.0 && p[1] < 3.0));
    // Columns are found by their names, in any order, and the response need not be there.
    let turned: String = table(400)
        .lines()
        .map(|l| {
            let c: Vec<&str> = l.split(',').collect();
            format!("{},{},{}\n", c[2], c[0], c[1])
        })
        .collect();
    place.write("turned.csv", turned);
    let (_, other) = place.json("tgp predict m.safetensors turned.csv -o q.csv");
    assert_eq!((rows(&place, "q.csv"), &other["mse"]), (made, &Value::Null));
}

#[test]
fn the_same_seed_gives_the_same_file_at_any_number_of_threads() {
    let place = Place::new();
    let first = trained(&place);
    let train = "tgp train t.csv --inducing 6 --tt-rank 4 --evidence-rows 120 --seed 3 --quiet";
    for threads in [1, 3] {
        assert_eq!(place.run(&format!("{train} --threads {threads} -o n.safetensors")).code, 0);
        assert_eq!(place.read("n.safetensors"), place.read("m.safetensors"), "{threads}");
    }
    assert_eq!(place.run(&format!("{train} --bound-steps 2 -o b.safetensors")).code, 0);
    // It goes on with what is there, and refuses what it cannot go on with.
    let (code, more) =
        place.json("tgp train t.csv --inducing 6 --tt-rank 4 --seed 3 --resume -o n.safetensors");
    assert_eq!(code, 0);
    let validation = |v: &Value| v["validation_mse"].as_f64().unwrap();
    assert!(validation(&more) <= validation(&first), "{more} {first}");
    place.refuses(
        "tgp train t.csv --inducing 5 --tt-rank 4 --seed 3 --resume -o n.safetensors",
        "resume is a model of other settings",
    );
}

#[test]
fn a_smaller_model_is_found_and_both_figures_are_reported() {
    let place = Place::new();
    let before = trained(&place);
    let (code, small) = place.json(
        "tgp compress m.safetensors t.csv --max-mse-loss 0.005 --max-seconds 500 -o s.safetensors",
    );
    assert_eq!((code, &small["target_reached"]), (0, &true.into()), "{small}");
    let params = |v: &Value| v["params"].as_u64().unwrap();
    assert!(params(&small) < 100 && params(&small) < params(&before), "{small}");
    let mse = |v: &Value| v["validation_mse"].as_f64().unwrap();
    assert!(mse(&small) <= mse(&before) + 0.005 && mse(&small["plain"]) <= mse(&before) + 0.005);
    assert_eq!(mse(&small["before"]), mse(&before));
    let bound = small["plain"]["lower_bound"]["params"].as_u64().unwrap();
    assert!(0 < bound && bound <= params(&small["plain"]), "{small}");
    let front = small["pareto"].as_array().unwrap();
    assert!(
        front
            .windows(2)
            .all(|p| params(&p[0]) < params(&p[1]) && p[0]["mse"].as_f64() > p[1]["mse"].as_f64())
    );
    let (_, predicted) = place.json("tgp predict s.safetensors t.csv -o p.csv");
    assert!(predicted["mse_standardised"].as_f64().unwrap() < 0.02);
    // As in the paper: a ring for the tensor, all inducing points alike.
    let (code, ring) = place.json("tgp compress m.safetensors t.csv --no-tune --plain-metric --template ring --max-mse-loss 0.005 --max-seconds 500 -o r.safetensors");
    assert_eq!(
        (code, &ring["tuned"], &ring["evaluations"]),
        (0, &false.into(), &0.into()),
        "{ring}"
    );
    assert!(params(&ring) < params(&before));
    // Nothing is smaller and as good as can be told apart: the model itself, and exit code 1.
    let (code, same) = place.json(
        "tgp compress s.safetensors t.csv --max-mse-loss 1e-13 --max-seconds 500 -o t.safetensors",
    );
    let reached = params(&same) < params(&small);
    assert_eq!((code, &same["target_reached"]), (i32::from(!reached), &reached.into()), "{same}");
    assert!(params(&same) <= params(&small) && mse(&same) <= mse(&small) + 1e-13, "{same}");
}

#[test]
fn bad_tables_and_settings_are_named() {
    let place = Place::new();
    trained(&place);
    let bad = |text: &str, words: &str| {
        place.write("bad.csv", text);
        place.refuses("tgp train bad.csv -o x.safetensors", words);
    };
    bad("a,y\n1,2\nhello,4\n", "row 2, column 'a': 'hello' is no finite number");
    bad("a,y\n1,2\n3,\n", "row 2, column 'y': the cell is empty");
    bad("a,y\n1,2\n3,NaN\n", "row 2, column 'y': 'NaN' is no finite number");
    bad("a,a\n1,2\n", "two columns are called 'a'");
    bad("1,2\n3,4\n", "the first line must name the columns");
    bad("a,b,y\n1,2,3\n", "the table has 1 row; at least 10 are needed");
    bad("y\n1\n2\n", "the table has one column, 'y'");
    let flat: String = (0..50).map(|k| format!("{k},7,{}\n", k * k)).collect();
    bad(&format!("a,flat,y\n{flat}"), "feature 'flat' is constant (7 in every row to learn from)");
    bad(
        &format!(
            "a,y,flat\n{}",
            flat.replace(",7,", ",8,")
                .lines()
                .map(|l| l.rsplit_once(',').unwrap().0.to_owned() + ",1\n")
                .collect::<String>()
        ),
        "constant",
    );
    place.refuses(
        "tgp train t.csv --inducing 1 -o x.safetensors",
        "inducing is 1; a feature needs at least 2 points",
    );
    place.refuses(
        "tgp train t.csv --inducing 289 -o x.safetensors",
        "inducing is 289, more than the 288 rows to learn from",
    );
    place.refuses("tgp train t.csv --inducing 4,5 -o x.safetensors", "inducing has 2 numbers");
    place.refuses(
        "tgp train t.csv --inducing 100 --tt-rank 50 -o x.safetensors",
        "a core would have 250000 params",
    );
    place.refuses("tgp train t.csv --max-memory 1MB -o x.safetensors", "training needs about");
    place.refuses("tgp train none.csv -o x.safetensors", "none.csv: no such file");
    place.write("other.csv", "a,b,y\n1,2,3\n");
    place.refuses(
        "tgp predict m.safetensors other.csv -o p.csv",
        "the table has no column 'c', which the model was trained with; it has 'a', 'b', 'y'",
    );
    place.refuses("tgp predict t.csv t.csv -o p.csv", "t.csv");
    if cfg!(unix) {
        place.refuses("tgp train /dev/zero -o x.safetensors", "a pipe or a device");
    }
    let one: String = (0..50).map(|k| format!("{k},{}\n", k * k)).collect();
    bad(&format!("a,y\n{one}"), "the table has 1 feature before the response; from 2 to 64");
    place.refuses("tgp train t.csv --evidence-rows 1 -o x.safetensors", "evidence-rows is 1;");
    // Columns that the model does not use may hold words.
    place.write("words.csv", "note,a,b,c\nhello,0.5,0.1,0.2\n,0.1,0.2,0.3\n");
    assert_eq!(place.json("tgp predict m.safetensors words.csv -o p.csv").0, 0);
    place.write("less.csv", table(300));
    place.refuses(
        "tgp compress m.safetensors less.csv -o p.safetensors",
        "this is not the table that the model was trained with (400 rows then, 300 now)",
    );
    place.refuses(
        "tgp compress m.safetensors t.csv --max-mse-loss 0 -o p.safetensors",
        "max-mse-loss is 0",
    );
}
